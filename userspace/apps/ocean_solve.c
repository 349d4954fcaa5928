// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Elliptic equations on a square by multigrid.
 *
 * A. Brandt, "Multi-level adaptive solutions to boundary-value problems", Mathematics of
 * Computation 31, 1977; W. Press et al., "Numerical Recipes in C", 2nd edition, section 19.6:
 * V-cycles with red-black relaxation, full weighting down and bilinear interpolation up. A barrier
 * follows each colour and each change of grid. The coarsest grids are too small to be shared
 * (--alone); the first worker does them.
 */
#include <math.h>
#include <string.h>

#include "ocean.h"

#define LOCK_WORST 0
#define SWEEPS_DOWN 2
#define SWEEPS_UP 1
#define CYCLES_MAX 50

/* Who computes alone does not wait for anybody. */
static const struct app_worker one = { .count = 1, .ranks = 1, .threads = 1, .alone = true };

long ocean_strips, ocean_alone;
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

/* The row in the middle at which another worker's part begins is at the beginning of a page. */
double *ocean_grid(size_t n)
{
	const size_t per_page = APP_PAGE_BYTES / sizeof(double);
	unsigned int rows = part_rows(ocean_workers);
	size_t middle, end;

	app_share(n - 1, rows / 2, rows, &middle, &end);
	return (double *)app_alloc((n + 1) * (n + 1) + per_page, sizeof(double)) +
	       (per_page - (middle + 1) * (n + 1) % per_page) % per_page;
}

void ocean_solver_layout(struct solver *s, size_t n)
{
	memset(s, 0, sizeof(*s));
	for (; n >= 2; n /= 2) {
		struct level *l = &s->level[s->count];

		l->n = n;
		l->rest = ocean_grid(n);
		if (s->count++) {
			l->u = ocean_grid(n);
			l->f = ocean_grid(n);
		}
	}
	s->worst = app_alloc(2, sizeof(double));
}

static bool is_alone(const struct level *l)
{
	return l->n <= (size_t)ocean_alone;
}

static void clear(double *grid, size_t n, struct part p)
{
	size_t row;

	for (row = p.row; grid && row < p.row_end; row++)
		memset(grid + row * (n + 1) + p.col, 0, (p.col_end - p.col) * sizeof(*grid));
}

/*
 * Whoever writes points touches them first. Of grids that one worker computes, all make the right hand
 * of the finest.
 */
void ocean_solver_fill(const struct solver *s, const struct app_worker *w)
{
	int i;

	for (i = 0; i < s->count; i++) {
		const struct level *l = &s->level[i];
		struct part own = ocean_coast(ocean_part(w, l->n), l->n);
		struct part computed = own;

		if (is_alone(l))
			computed = w->id ? (struct part){ 0 } : ocean_coast(ocean_part(&one, l->n), l->n);
		clear(l->rest, l->n, computed);
		clear(l->u, l->n, computed);
		clear(l->f, l->n, i && !is_alone(l - 1) ? own : computed);
	}
	if (!w->id)
		memset(s->worst, 0, 2 * sizeof(*s->worst));
}

static void relax_row(const struct level *l, struct part p, double stiff, size_t colour, size_t row)
{
	double square = 1 / (double)(l->n * l->n);
	double by = 1 / (4 + square * stiff);
	size_t width = l->n + 1;
	double *u = l->u + row * width;
	const double *f = l->f + row * width;
	size_t col;

	for (col = p.col + (row + p.col + colour) % 2; col < p.col_end; col += 2)
		u[col] = by * (u[col - 1] + u[col + 1] + (u - width)[col] + (u + width)[col] -
			       square * f[col]);
}

/* What others wrote before the barrier may still be on its way; it is wanted in the outer rows. */
static void relax_colour(const struct level *l, struct part p, double stiff, size_t colour)
{
	size_t row;

	for (row = p.row + 1; row + 1 < p.row_end; row++)
		relax_row(l, p, stiff, colour, row);
	if (p.row < p.row_end)
		relax_row(l, p, stiff, colour, p.row);
	if (p.row + 1 < p.row_end)
		relax_row(l, p, stiff, colour, p.row_end - 1);
}

static void relax(const struct app_worker *w, const struct level *l, double stiff, int sweeps)
{
	struct part p = ocean_part(w, l->n);
	int i;

	for (i = 0; i < 2 * sweeps; i++) {
		relax_colour(l, p, stiff, (size_t)i % 2);
		app_barrier(w);
	}
}

/* What is left of the right hand; the largest of it. */
static double find_rest(const struct app_worker *w, const struct level *l, double stiff)
{
	struct part p = ocean_part(w, l->n);
	double worst = 0;
	size_t row, col, at;

	for (row = p.row; row < p.row_end; row++) {
		for (col = p.col; col < p.col_end; col++) {
			at = row * (l->n + 1) + col;
			l->rest[at] = l->f[at] - ocean_laplace(l->u, at, l->n) + stiff * l->u[at];
			worst = fmax(worst, fabs(l->rest[at]));
		}
	}
	return worst;
}

/* The remainder of the finer grid is the right hand of the coarser one. */
static void restrict_rest(const struct app_worker *w, const struct level *fine, const struct level *coarse)
{
	struct part p = ocean_part(w, coarse->n);
	size_t width = fine->n + 1;
	size_t row, col;

	for (row = p.row; row < p.row_end; row++) {
		for (col = p.col; col < p.col_end; col++) {
			const double *r = fine->rest + 2 * row * width + 2 * col;
			const double *up = r - width, *down = r + width;
			size_t at = row * (coarse->n + 1) + col;

			coarse->f[at] = (4 * r[0] + 2 * (r[-1] + r[1] + up[0] + down[0]) +
					 up[-1] + up[1] + down[-1] + down[1]) / 16;
			/* The one who computes it alone clears it. */
			if (!is_alone(coarse) || w->alone)
				coarse->u[at] = 0;
		}
	}
}

static void add_interpolated(const struct app_worker *w, const struct level *fine,
			     const struct level *coarse)
{
	struct part p = ocean_part(w, fine->n);
	size_t width = coarse->n + 1;
	size_t row, col;

	for (row = p.row; row < p.row_end; row++) {
		const double *low = coarse->u + row / 2 * width;
		const double *high = coarse->u + (row + 1) / 2 * width;

		for (col = p.col; col < p.col_end; col++)
			fine->u[row * (fine->n + 1) + col] +=
				(low[col / 2] + low[(col + 1) / 2] + high[col / 2] +
				 high[(col + 1) / 2]) / 4;
	}
}

static void cycle(const struct solver *s, const struct app_worker *w, double stiff, int number)
{
	const struct level *l = &s->level[number];

	if (is_alone(l) && w != &one) {
		if (!w->id) {
			if (number)
				memset(l->u, 0, (l->n + 1) * (l->n + 1) * sizeof(*l->u));
			cycle(s, &one, stiff, number);
		}
		app_barrier(w);
		return;
	}
	/* One point inside is solved by one sweep. */
	relax(w, l, stiff, SWEEPS_DOWN);
	if (number == s->count - 1)
		return;
	find_rest(w, l, stiff);
	app_barrier(w);
	restrict_rest(w, l, l + 1);
	app_barrier(w);
	cycle(s, w, stiff, number + 1);
	add_interpolated(w, l, l + 1);
	app_barrier(w);
	relax(w, l, stiff, SWEEPS_UP);
}

/*
 * The largest of what all workers have. Two places by turns: between two reductions there are other
 * barriers, so the place of the last one is not read any more.
 */
static double reduce(const struct solver *s, const struct app_worker *w, double value, unsigned long *turn)
{
	double *worst = &s->worst[*turn % 2];

	if (!w->id)
		s->worst[++*turn % 2] = 0;
	else
		++*turn;
	app_lock(w, LOCK_WORST);
	*worst = fmax(*worst, value);
	app_unlock(w, LOCK_WORST);
	app_barrier(w);
	return *worst;
}

static double largest(const struct app_worker *w, const double *f, size_t n)
{
	struct part p = ocean_part(w, n);
	double worst = 0;
	size_t row, col;

	for (row = p.row; row < p.row_end; row++)
		for (col = p.col; col < p.col_end; col++)
			worst = fmax(worst, fabs(f[row * (n + 1) + col]));
	return worst;
}

void ocean_solve(const struct solver *s, const struct app_worker *w, double stiff, double *u, double *f,
		 unsigned long *turn)
{
	struct solver own = *s;
	struct level *finest = &own.level[0];
	double allowed;
	int i;

	finest->u = u;
	finest->f = f;
	app_barrier(w);
	allowed = OCEAN_TOLERANCE * reduce(s, w, largest(w, f, finest->n), turn);
	for (i = 0; i < CYCLES_MAX; i++) {
		cycle(&own, w, stiff, 0);
		if (reduce(s, w, find_rest(w, finest, stiff), turn) <= allowed)
			return;
	}
	app_die("no solution after %d cycles", CYCLES_MAX);
}
