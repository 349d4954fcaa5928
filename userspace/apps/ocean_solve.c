// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Elliptic equations on a square by multigrid.
 *
 * A. Brandt, "Multi-level adaptive solutions to boundary-value problems", Mathematics of
 * Computation 31, 1977; W. Press et al., "Numerical Recipes in C", 2nd edition, section 19.6:
 * V-cycles with red-black relaxation, full weighting down and bilinear interpolation up. A barrier
 * follows each colour and each change of grid. The coarsest grids are too small to be shared
 * (--alone): each worker computes all of them, with the same result.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ocean.h"

#define LOCK_WORST 0
#define SWEEPS_DOWN 2
#define SWEEPS_UP 1
#define CYCLES_MAX 50
#define TURNS 3

/* Who computes alone does not wait for anybody. */
static const struct app_worker one = { .count = 1, .ranks = 1, .threads = 1, .alone = true };

long ocean_strips, ocean_contiguous, ocean_alone;
unsigned int ocean_workers;

/* Of so many workers' parts. */
static unsigned int part_rows(unsigned int workers)
{
	unsigned int rows;

	if (ocean_strips)
		return workers;
	/* As many rows of rectangles as columns, or the next divisor above. */
	rows = (unsigned int)ceil(sqrt((double)workers));
	while (workers % rows)
		rows++;
	return rows;
}

struct part ocean_part(const struct app_worker *w, size_t n)
{
	unsigned int rows = part_rows(w->count), cols = w->count / rows;
	struct part p;

	app_share(n - 1, w->id / cols, rows, &p.row, &p.row_end);
	app_share(n - 1, w->id % cols, cols, &p.col, &p.col_end);
	p.row++;
	p.row_end++;
	p.col++;
	p.col_end++;
	return p;
}

struct part ocean_coast(struct part p, size_t n)
{
	/* With more workers than rows some have none. */
	if (p.row == p.row_end || p.col == p.col_end)
		return p;
	if (p.row == 1)
		p.row = 0;
	if (p.col == 1)
		p.col = 0;
	if (p.row_end == n)
		p.row_end = n + 1;
	if (p.col_end == n)
		p.col_end = n + 1;
	return p;
}

unsigned int ocean_bands(void)
{
	return ocean_contiguous ? ocean_workers / part_rows(ocean_workers) : 1;
}

/* Columns of a band, those of the coast too. */
static void band_columns(size_t n, unsigned int band, size_t *first, size_t *end)
{
	app_share(n - 1, band, ocean_bands(), first, end);
	*first += band ? 1 : 0;
	*end += band + 1 < ocean_bands() ? 1 : 2;
}

struct part ocean_piece(struct part p, size_t n, unsigned int band)
{
	size_t first, end;

	band_columns(n, band, &first, &end);
	p.band = band;
	if (p.col < first)
		p.col = first;
	if (p.col_end > end)
		p.col_end = end;
	if (p.col >= p.col_end)
		p.row_end = p.row;
	return p;
}

double *ocean_line_of_band(double *grid, size_t n, unsigned int band, size_t row)
{
	size_t first, end;

	band_columns(n, band, &first, &end);
	/* May be an address before the grid; only columns of the band are looked at. */
	return grid + first * (n + 1) + row * (end - first) - first;
}

size_t ocean_place(size_t n, size_t row, size_t col)
{
	size_t first, end;
	unsigned int band = 0;

	if (!ocean_contiguous)
		return row * (n + 1) + col;
	for (band_columns(n, band, &first, &end); col >= end; band_columns(n, ++band, &first, &end))
		;
	return first * (n + 1) + row * (end - first) + col - first;
}

const double *ocean_look_at_bands(const double *grid, size_t n, size_t row, size_t first, size_t end, double *room)
{
	unsigned int band;

	for (band = 0; band < ocean_bands(); band++) {
		struct part all = { .row = row, .row_end = row + 1, .col = first, .col_end = end };
		struct part p = ocean_piece(all, n, band);

		if (p.row < p.row_end)
			memcpy(room + p.col, ocean_line((double *)grid, n, band, row) + p.col,
			       (p.col_end - p.col) * sizeof(*room));
	}
	return room;
}

void ocean_look_around(const double *grid, size_t n, size_t row, struct part p, double *room, const double *around[3])
{
	size_t i;

	for (i = 0; i < 3; i++)
		around[i] = ocean_look(grid, n, row + i - 1, p.col - 1, p.col_end + 1, room + i * (n + 1));
}

/* The row in the middle at which another worker's part begins is at the beginning of a page, in the first band. */
double *ocean_grid(size_t n)
{
	const size_t per_page = APP_PAGE_BYTES / sizeof(double);
	unsigned int rows = part_rows(ocean_workers);
	size_t middle, first, width, end;

	app_share(n - 1, rows / 2, rows, &middle, &end);
	band_columns(n, 0, &first, &width);
	return (double *)app_alloc((n + 1) * (n + 1) + per_page, sizeof(double)) +
	       (per_page - (middle + 1) * width % per_page) % per_page;
}

static bool is_alone(const struct level *l)
{
	return l->n <= (size_t)ocean_alone;
}

void ocean_solver_layout(struct solver *s, size_t n)
{
	memset(s, 0, sizeof(*s));
	for (; n >= 2; n /= 2) {
		struct level *l = &s->level[s->count];

		l->n = n;
		if (!is_alone(l)) {
			l->rest = ocean_grid(n);
			l->u = s->count ? ocean_grid(n) : NULL;
			l->f = s->count ? ocean_grid(n) : NULL;
		} else if (s->count && !is_alone(l - 1)) {
			l->given = ocean_grid(n);
		}
		s->count++;
	}
	s->worst = app_alloc(TURNS, sizeof(double));
}

static size_t grid_bytes(const struct level *l)
{
	return (l->n + 1) * (l->n + 1) * sizeof(double);
}

struct solver ocean_solver_begin(const struct solver *shared)
{
	struct solver s = *shared;
	int i;

	for (i = 0; i < s.count; i++) {
		struct level *l = &s.level[i];

		if (!is_alone(l))
			continue;
		l->rest = app_private(1, grid_bytes(l));
		if (!i)
			continue;
		l->f = app_private(1, grid_bytes(l));
		l->u = app_private(1, grid_bytes(l));
		memset(l->u, 0, grid_bytes(l));
	}
	s.room = app_private(OCEAN_ROOM * (s.level[0].n + 1), sizeof(*s.room));
	return s;
}

void ocean_solver_end(struct solver *s)
{
	int i;

	for (i = 0; i < s->count; i++) {
		struct level *l = &s->level[i];

		if (!is_alone(l))
			continue;
		free(l->rest);
		if (!i)
			continue;
		free(l->f);
		free(l->u);
	}
	free(s->room);
}

static void clear(double *grid, size_t n, struct part part)
{
	unsigned int band;
	size_t row;

	for (band = 0; grid && band < ocean_bands(); band++) {
		struct part p = ocean_piece(part, n, band);

		for (row = p.row; row < p.row_end; row++)
			memset(ocean_line(grid, n, band, row) + p.col, 0, (p.col_end - p.col) * sizeof(*grid));
	}
}

/* Whoever writes points touches them first. */
void ocean_solver_fill(const struct solver *s, const struct app_worker *w)
{
	int i;

	for (i = 0; i < s->count; i++) {
		const struct level *l = &s->level[i];
		struct part own = ocean_coast(ocean_part(w, l->n), l->n);

		clear(l->rest, l->n, own);
		clear(l->u, l->n, own);
		clear(l->f, l->n, own);
		clear(l->given, l->n, own);
	}
	if (!w->id)
		memset(s->worst, 0, TURNS * sizeof(*s->worst));
}

static void relax_row(const struct level *l, struct part p, double stiff, size_t colour, size_t row, double *room)
{
	double square = 1 / (double)(l->n * l->n);
	double by = 1 / (4 + square * stiff);
	const double *up = ocean_line(l->u, l->n, p.band, row - 1);
	const double *down = ocean_line(l->u, l->n, p.band, row + 1);
	const double *f = ocean_line(l->f, l->n, p.band, row);
	double *u = ocean_line(l->u, l->n, p.band, row);
	size_t col = p.col + (row + p.col + colour) % 2;
	const double *beside;

	if (col >= p.col_end)
		return;
	/* Not what others write now: points of this colour beside the part. */
	beside = ocean_look(l->u, l->n, row, col - 1, p.col_end + (p.col_end - col) % 2, room);
	for (; col < p.col_end; col += 2)
		u[col] = by * (beside[col - 1] + beside[col + 1] + up[col] + down[col] - square * f[col]);
}

static void relax_colour(const struct level *l, struct part p, double stiff, size_t colour, double *room)
{
	size_t i;

	for (i = 0; i < p.row_end - p.row; i++)
		relax_row(l, p, stiff, colour, ocean_row(p, i), room);
}

static void relax(const struct app_worker *w, const struct level *l, double stiff, int sweeps, double *room)
{
	struct part p = ocean_part(w, l->n);
	unsigned int band;
	int i;

	for (i = 0; i < 2 * sweeps; i++) {
		for (band = 0; band < ocean_bands(); band++)
			relax_colour(l, ocean_piece(p, l->n, band), stiff, (size_t)i % 2, room);
		app_barrier(w);
	}
}

/* What is left of the right hand; the largest of it. Without @keeps no grid has it then. */
static double find_rest_of(const struct level *l, struct part p, double stiff, bool keeps, double *room)
{
	double worst = 0;
	size_t i, col;

	for (i = 0; i < p.row_end - p.row; i++) {
		size_t row = ocean_row(p, i);
		const double *f = ocean_line(l->f, l->n, p.band, row);
		double *rest = keeps ? ocean_line(l->rest, l->n, p.band, row) : room + 3 * (l->n + 1);
		const double *u[3];

		ocean_look_around(l->u, l->n, row, p, room, u);
		for (col = p.col; col < p.col_end; col++) {
			rest[col] = f[col] - ocean_laplace_at(u, col, l->n) + stiff * u[1][col];
			worst = app_worst(worst, rest[col]);
		}
	}
	return worst;
}

static double find_rest(const struct app_worker *w, const struct level *l, double stiff, bool keeps, double *room)
{
	struct part p = ocean_part(w, l->n);
	double worst = 0;
	unsigned int band;

	for (band = 0; band < ocean_bands(); band++)
		worst = app_worst(worst, find_rest_of(l, ocean_piece(p, l->n, band), stiff, keeps, room));
	return worst;
}

/* The remainder of the finer grid is the right hand of the coarser one. */
static void restrict_row(const struct level *fine, const struct level *coarse, struct part p, size_t row, double *room)
{
	double *f = ocean_line(coarse->given ? coarse->given : coarse->f, coarse->n, p.band, row);
	double *u = ocean_line(coarse->u, coarse->n, p.band, row);
	const double *from[3];
	size_t col, i;

	for (i = 0; i < 3; i++)
		from[i] = ocean_look(fine->rest, fine->n, 2 * row + i - 1, 2 * p.col - 1, 2 * p.col_end,
				     room + i * (fine->n + 1));
	for (col = p.col; col < p.col_end; col++) {
		const double *r = from[1] + 2 * col, *up = from[0] + 2 * col, *down = from[2] + 2 * col;

		f[col] = (4 * r[0] + 2 * (r[-1] + r[1] + up[0] + down[0]) +
			  up[-1] + up[1] + down[-1] + down[1]) / 16;
		/* Else cycle() does. */
		if (!coarse->given)
			u[col] = 0;
	}
}

static void restrict_rest(const struct app_worker *w, const struct level *fine, const struct level *coarse,
			  double *room)
{
	unsigned int band;
	size_t i;

	for (band = 0; band < ocean_bands(); band++) {
		struct part p = ocean_piece(ocean_part(w, coarse->n), coarse->n, band);

		for (i = 0; i < p.row_end - p.row; i++)
			restrict_row(fine, coarse, p, ocean_row(p, i), room);
	}
}

static void add_interpolated_row(const struct level *fine, const struct level *coarse, struct part p, size_t row,
				 double *room)
{
	size_t first = p.col / 2, end = p.col_end / 2 + 1;
	const double *low = ocean_look(coarse->u, coarse->n, row / 2, first, end, room);
	const double *high = ocean_look(coarse->u, coarse->n, (row + 1) / 2, first, end, room + fine->n + 1);
	double *u = ocean_line(fine->u, fine->n, p.band, row);
	size_t col;

	for (col = p.col; col < p.col_end; col++)
		u[col] += (low[col / 2] + low[(col + 1) / 2] + high[col / 2] + high[(col + 1) / 2]) / 4;
}

static void add_interpolated(const struct app_worker *w, const struct level *fine, const struct level *coarse,
			     double *room)
{
	unsigned int band;
	size_t row;

	for (band = 0; band < ocean_bands(); band++) {
		struct part p = ocean_piece(ocean_part(w, fine->n), fine->n, band);

		for (row = p.row; row < p.row_end; row++)
			add_interpolated_row(fine, coarse, p, row, room);
	}
}

static void cycle(const struct solver *s, const struct app_worker *w, double stiff, int number)
{
	const struct level *l = &s->level[number];

	if (l->given && w != &one) {
		memcpy(l->f, l->given, grid_bytes(l));
		memset(l->u, 0, grid_bytes(l));
		cycle(s, &one, stiff, number);
		return;
	}
	/* One point inside is solved by one sweep. */
	relax(w, l, stiff, SWEEPS_DOWN, s->room);
	if (number == s->count - 1)
		return;
	find_rest(w, l, stiff, true, s->room);
	app_barrier(w);
	restrict_rest(w, l, l + 1, s->room);
	app_barrier(w);
	cycle(s, w, stiff, number + 1);
	add_interpolated(w, l, l + 1, s->room);
	app_barrier(w);
	relax(w, l, stiff, SWEEPS_UP, s->room);
}

/* All of it by one worker, if no grid is shared. */
static void solve_once(const struct solver *s, const struct app_worker *w, double stiff)
{
	if (!is_alone(&s->level[0])) {
		cycle(s, w, stiff, 0);
		return;
	}
	if (!w->id)
		cycle(s, &one, stiff, 0);
	app_barrier(w);
}

/*
 * The largest of what all workers have. Between two reductions there may be no other barrier, so that the place of the last one
 * is still read, and that of this one is written: a third is cleared.
 */
static double reduce(struct solver *s, const struct app_worker *w, double value)
{
	double *worst = &s->worst[s->turn++ % TURNS];

	if (!w->id)
		s->worst[s->turn % TURNS] = 0;
	app_lock(w, LOCK_WORST);
	*worst = app_worst(*worst, value);
	app_unlock(w, LOCK_WORST);
	app_barrier(w);
	return *worst;
}

static double largest(const struct app_worker *w, const double *f, size_t n, double *room)
{
	struct part p = ocean_part(w, n);
	double worst = 0;
	size_t row, col;

	for (row = p.row; row < p.row_end; row++) {
		const double *line = ocean_look(f, n, row, p.col, p.col_end, room);

		for (col = p.col; col < p.col_end; col++)
			worst = app_worst(worst, line[col]);
	}
	return worst;
}

void ocean_solve(struct solver *s, const struct app_worker *w, double stiff, double *u, double *f)
{
	struct level *finest = &s->level[0];
	double allowed;
	int i;

	finest->u = u;
	finest->f = f;
	allowed = OCEAN_TOLERANCE * reduce(s, w, largest(w, f, finest->n, s->room));
	if (!isfinite(allowed))
		app_die("the right hand has what is no number");
	for (i = 0; i < CYCLES_MAX; i++) {
		solve_once(s, w, stiff);
		if (reduce(s, w, find_rest(w, finest, stiff, false, s->room)) <= allowed)
			return;
	}
	app_die("no solution after %d cycles", CYCLES_MAX);
}
