/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Grids of the ocean and the solver of its elliptic equations (ocean_solve.c); ocean.c is the
 * model.
 *
 * A grid has n + 1 points in each direction, of which the outermost are the coast and stay as they
 * are.
 */
#ifndef APP_OCEAN_H
#define APP_OCEAN_H

#include "app.h"

#define OCEAN_LEVELS 16

/* The points of a grid that a worker computes. */
struct part {
	size_t row, row_end, col, col_end;
};

/**
 * struct level - one grid of the solver
 * @n:    intervals in each direction
 * @u:    what is looked for; on the finest level the caller's
 * @f:    the right hand; likewise
 * @rest: what is left of it
 */
struct level {
	size_t n;
	double *u, *f, *rest;
};

/**
 * struct solver - shared by all workers
 * @level: the finest first
 * @count: levels
 * @worst: largest remainders, of two reductions by turns; in shared memory
 */
struct solver {
	struct level level[OCEAN_LEVELS];
	int count;
	double *worst;
};

/* 1: grids are dealt out in strips of rows; 0: in rectangles. */
extern long ocean_strips;
/* Grids of up to so many intervals are computed by one worker. */
extern long ocean_alone;
/* Of the shared run, set before its grids are made. */
extern unsigned int ocean_workers;

struct part ocean_part(const struct app_worker *w, size_t n);
/* With the points of the coast next to them. */
struct part ocean_coast(struct part p, size_t n);
double *ocean_grid(size_t n);

void ocean_solver_layout(struct solver *s, size_t n);
void ocean_solver_fill(const struct solver *s, const struct app_worker *w);
/*
 * By all workers: laplacian(@u) - @stiff * @u = @f, from the @u that is there, until the largest
 * remainder is OCEAN_TOLERANCE of the largest @f. @turn counts the reductions of a run.
 */
#define OCEAN_TOLERANCE 1e-7
void ocean_solve(const struct solver *s, const struct app_worker *w, double stiff, double *u, double *f,
		 unsigned long *turn);

/* The sum of the four neighbours less four times the point, by h^2. */
static inline double ocean_laplace(const double *u, size_t at, size_t n)
{
	return (u[at - 1] + u[at + 1] + u[at - n - 1] + u[at + n + 1] - 4 * u[at]) *
	       (double)(n * n);
}

#endif
