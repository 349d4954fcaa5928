/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Grids of the ocean and the solver of its elliptic equations (ocean_solve.c); ocean.c is the
 * model.
 *
 * A grid has n + 1 points in each direction, of which the outermost are the coast and stay as they
 * are. In memory it is an array of rows, or with --contiguous 1 one such array for each band of columns:
 * a band is as wide as the rectangle that a worker owns, which so is contiguous.
 */
#ifndef APP_OCEAN_H
#define APP_OCEAN_H

#include "app.h"

#define OCEAN_LEVELS 16

/* The points of a grid that a worker computes, or what of them lies in one band. */
struct part {
	size_t row, row_end, col, col_end;
	unsigned int band;
};

/**
 * struct level - one grid of the solver
 * @n:     intervals in each direction
 * @u:     what is looked for; on the finest level the caller's
 * @f:     the right hand; likewise
 * @rest:  what is left of it
 * @given: the right hand as all workers make it, if each computes this grid for itself and the next finer one is shared
 */
struct level {
	size_t n;
	double *u, *f, *rest, *given;
};

/**
 * struct solver - what a worker solves with
 * @level: the finest first; those that are not shared are its own
 * @count: levels
 * @worst: largest remainders, of three reductions by turns; in shared memory
 * @turn:  reductions so far
 * @room:  for OCEAN_ROOM rows
 */
struct solver {
	struct level level[OCEAN_LEVELS];
	int count;
	double *worst;
	unsigned long turn;
	double *room;
};

/* 1: grids are dealt out in strips of rows; 0: in rectangles. */
extern long ocean_strips;
/* 1: a grid has a band for each column of rectangles; 0: one band. */
extern long ocean_contiguous;
/* Grids of up to so many intervals each worker computes for itself. */
extern long ocean_alone;
/* Of the shared run, set before its grids are made. */
extern unsigned int ocean_workers;

struct part ocean_part(const struct app_worker *w, size_t n);
/* With the points of the coast next to them. */
struct part ocean_coast(struct part p, size_t n);
double *ocean_grid(size_t n);

unsigned int ocean_bands(void);
/* What of @p lies in a band. */
struct part ocean_piece(struct part p, size_t n, unsigned int band);
/* A row of one band: [col] of it is column col of the grid. */
double *ocean_line_of_band(double *grid, size_t n, unsigned int band, size_t row);
static inline double *ocean_line(double *grid, size_t n, unsigned int band, size_t row)
{
	return ocean_contiguous ? ocean_line_of_band(grid, n, band, row) : grid + row * (n + 1);
}

/* Where a point is in a grid. */
size_t ocean_place(size_t n, size_t row, size_t col);
/* Columns @first to @end of a row, likewise; of several bands in @room, which is for n + 1. */
const double *ocean_look_at_bands(const double *grid, size_t n, size_t row, size_t first, size_t end, double *room);
static inline const double *ocean_look(const double *grid, size_t n, size_t row, size_t first, size_t end,
				       double *room)
{
	return ocean_contiguous ? ocean_look_at_bands(grid, n, row, first, end, room) : grid + row * (n + 1);
}

/* The rows before @row, @row and after it, with one column more than @p at each side; @room for 3 (n + 1). */
void ocean_look_around(const double *grid, size_t n, size_t row, struct part p, double *room, const double *around[3]);
#define OCEAN_ROOM 9	/* rows of the finest grid, as many as a worker looks at together */

/* The @i-th row that a worker computes: what its outer rows need of others may still be on its way, so they are the last. */
static inline size_t ocean_row(struct part p, size_t i)
{
	return p.row + (i + 1) % (p.row_end - p.row);
}

/* What all workers share of it. */
void ocean_solver_layout(struct solver *s, size_t n);
void ocean_solver_fill(const struct solver *s, const struct app_worker *w);
/* A worker's, until ocean_solver_end(). */
struct solver ocean_solver_begin(const struct solver *shared);
void ocean_solver_end(struct solver *s);
/*
 * By all workers: laplacian(@u) - @stiff * @u = @f, from the @u that is there, until the largest
 * remainder is OCEAN_TOLERANCE of the largest @f. Up to its first barrier it looks at this worker's points alone.
 */
#define OCEAN_TOLERANCE 1e-7
void ocean_solve(struct solver *s, const struct app_worker *w, double stiff, double *u, double *f);

/* The sum of the four neighbours less four times the point, by h^2; of three rows. */
static inline double ocean_laplace_at(const double *const around[3], size_t col, size_t n)
{
	return (around[1][col - 1] + around[1][col + 1] + around[0][col] + around[2][col] - 4 * around[1][col]) *
	       (double)(n * n);
}

/* The same in an array of rows. */
static inline double ocean_laplace(const double *u, size_t at, size_t n)
{
	const double *const around[3] = { u + at - (n + 1), u + at, u + at + n + 1 };

	return ocean_laplace_at(around, 0, n);
}

#endif
