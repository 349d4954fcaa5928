// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Ocean: eddies and currents in two layers of a square basin, driven by wind.
 *
 * W. Holland, "The role of mesoscale eddies in the general circulation of the ocean", Journal of
 * Physical Oceanography 8, 1978 (two layers, quasi-geostrophic); A. Arakawa, "Computational design
 * for long-term numerical integration of the equations of fluid motion", Journal of Computational
 * Physics 1, 1966 (the Jacobian). Potential vorticity q is carried by the flow; the stream function
 * psi follows from it by one Poisson and one Helmholtz equation for the mean and the difference of
 * the layers (ocean_solve.c). The unit of length is the basin; its coast is psi = 0.
 *
 * A worker owns a rectangle of each grid, or with --strips 1 a strip of rows. Grids are arrays of rows, so that
 * pages have several writers where rectangles lie side by side (of two workers they do not), or with
 * --contiguous 1 as SPLASH-2's contiguous partitions: each rectangle is contiguous. With n intervals there are n + 1
 * points in each direction, the coast among them; the papers' 514 are 512 and the coast, which halving does not
 * give.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ocean.h"

#define LAYERS 2
#define STIFF 100.0	/* square of the basin by the radius of deformation */
#define BETA 1.0	/* northward change of the earth's rotation */
#define WIND 0.05
#define DRAG 0.05	/* of the bottom */
#define VISCOSITY 1e-5
#define EDDIES 0.01	/* psi at the start */
#define STEPS_MAX 1000	/* the wind drives the small basins' water; at some 5000 steps it outruns a step */

static const double depth[LAYERS] = { 0.25, 0.75 };	/* of the whole */

static long n, steps;

static struct state {
	double *q[LAYERS], *psi[LAYERS];
	double *curl[LAYERS];			/* laplacian of psi */
	double *change[2][LAYERS];		/* of q, in this step and the last by turns */
	double *mean, *difference;		/* of the layers' psi */
	double *mean_f, *difference_f;		/* right hands for them */
	struct solver solver;
} s;

static const struct app_option options[] = {
	{ "n", "intervals of the grid, a power of two; there is a point more", &n, 4, 8192, { 32, 1024, 512 } },
	{ "steps", "time steps", &steps, 1, STEPS_MAX, { 2, 8, 6 } },
	{ "strips", "1: a worker has a strip of rows; 0: a rectangle", &ocean_strips, 0, 1, { 0, 0, 0 } },
	{ "contiguous", "1: such a rectangle is contiguous in memory; 0: a grid is an array of rows",
	  &ocean_contiguous, 0, 1, { 0, 0, 0 } },
	{ "alone", "grids up to this are too small to be shared: each worker computes them for itself", &ocean_alone, 2, 8192,
	  { 16, 128, 16 } },
	{ 0 }
};

static const char *check(unsigned int workers)
{
	ocean_workers = workers;
	return n & (n - 1) ? "--n must be a power of two" : NULL;
}

static double **const grids[] = {
	&s.q[0], &s.q[1], &s.psi[0], &s.psi[1], &s.curl[0], &s.curl[1], &s.change[0][0], &s.change[0][1],
	&s.change[1][0], &s.change[1][1], &s.mean, &s.difference, &s.mean_f, &s.difference_f,
};

#define GRIDS (sizeof(grids) / sizeof(grids[0]))

static void layout(void)
{
	size_t i;

	for (i = 0; i < GRIDS; i++)
		*grids[i] = ocean_grid((size_t)n);
	ocean_solver_layout(&s.solver, (size_t)n);
}

/* In an array of rows; see right_by_rows(). */
static size_t place(size_t row, size_t col)
{
	return row * ((size_t)n + 1) + col;
}

/* Potential vorticity that goes with the stream functions. */
static double vorticity(int layer, double laplacian, double upper, double lower)
{
	double apart = STIFF * (upper - lower);

	return layer ? laplacian + depth[0] * apart : laplacian - depth[1] * apart;
}

static bool is_coast(size_t row, size_t col)
{
	return !row || !col || row == (size_t)n || col == (size_t)n;
}

static double eddy(int layer, size_t row, size_t col)
{
	double x = M_PI * (double)col / (double)n, y = M_PI * (double)row / (double)n;

	if (is_coast(row, col))
		return 0;
	return EDDIES * (layer ? sin(x) * sin(2 * y) : sin(3 * x) * sin(2 * y) + sin(2 * x) * sin(3 * y));
}

static void fill_point(size_t row, size_t col)
{
	size_t at = ocean_place((size_t)n, row, col);
	double upper = eddy(0, row, col), lower = eddy(1, row, col);
	int layer;

	for (layer = 0; layer < LAYERS; layer++) {
		double laplacian = is_coast(row, col) ? 0 :
			eddy(layer, row, col - 1) + eddy(layer, row, col + 1) +
			eddy(layer, row - 1, col) + eddy(layer, row + 1, col) -
			4 * eddy(layer, row, col);

		s.psi[layer][at] = layer ? lower : upper;
		s.q[layer][at] = vorticity(layer, laplacian * (double)(n * n), upper, lower);
		s.curl[layer][at] = 0;
		s.change[0][layer][at] = 0;
		s.change[1][layer][at] = 0;
	}
	s.mean[at] = depth[0] * upper + depth[1] * lower;
	s.difference[at] = upper - lower;
	s.mean_f[at] = 0;
	s.difference_f[at] = 0;
}

static void fill(const struct app_worker *w)
{
	struct part p = ocean_coast(ocean_part(w, (size_t)n), (size_t)n);
	size_t row, col;

	for (row = p.row; row < p.row_end; row++) {
		for (col = p.col; col < p.col_end; col++)
			fill_point(row, col);
		app_progress(w, (long)row + 1, (long)p.row_end);
	}
	ocean_solver_fill(&s.solver, w);
}

/* J(p, q), which conserves the integrals of q, q^2 and the energy: Arakawa's mean of three forms. */
static double jacobian(const double *const p[3], const double *const q[3], size_t col)
{
	const double *ps = p[0] + col, *pm = p[1] + col, *pn = p[2] + col;
	const double *qs = q[0] + col, *qm = q[1] + col, *qn = q[2] + col;
	double plain = (pm[1] - pm[-1]) * (qn[0] - qs[0]) - (pn[0] - ps[0]) * (qm[1] - qm[-1]);
	double flux_p = pm[1] * (qn[1] - qs[1]) - pm[-1] * (qn[-1] - qs[-1]) -
			pn[0] * (qn[1] - qn[-1]) + ps[0] * (qs[1] - qs[-1]);
	double flux_q = qn[0] * (pn[1] - pn[-1]) - qs[0] * (ps[1] - ps[-1]) -
			qm[1] * (pn[1] - ps[1]) + qm[-1] * (pn[-1] - ps[-1]);

	return (plain + flux_p + flux_q) * (double)(n * n) / 12;
}

/* In one band, as all that follow. */
static void find_curl(struct part p, double *room)
{
	const size_t of = (size_t)n;
	const double *psi[3];
	size_t i, row, col;
	int layer;

	for (layer = 0; layer < LAYERS; layer++) {
		for (i = 0; i < p.row_end - p.row; i++) {
			double *curl;

			row = ocean_row(p, i);
			curl = ocean_line(s.curl[layer], of, p.band, row);
			ocean_look_around(s.psi[layer], of, row, p, room, psi);
			for (col = p.col; col < p.col_end; col++)
				curl[col] = ocean_laplace_at(psi, col, of);
		}
	}
}

static void find_change_of_row(struct part p, int layer, size_t row, double *change, double *room)
{
	const size_t of = (size_t)n;
	double force = layer ? 0 : -WIND * sin(M_PI * (double)row / (double)n);
	const double *psi[3], *q[3], *curl[3];
	size_t col;

	ocean_look_around(s.psi[layer], of, row, p, room, psi);
	ocean_look_around(s.q[layer], of, row, p, room + 3 * (of + 1), q);
	ocean_look_around(s.curl[layer], of, row, p, room + 6 * (of + 1), curl);
	for (col = p.col; col < p.col_end; col++)
		change[col] = force - jacobian(psi, q, col) -
			BETA * (psi[1][col + 1] - psi[1][col - 1]) * (double)n / 2 +
			VISCOSITY * ocean_laplace_at(curl, col, of) - (layer ? DRAG * curl[1][col] : 0);
}

static void find_change(struct part p, double *const change[LAYERS], double *room)
{
	size_t i, row;
	int layer;

	for (layer = 0; layer < LAYERS; layer++) {
		for (i = 0; i < p.row_end - p.row; i++) {
			row = ocean_row(p, i);
			find_change_of_row(p, layer, row, ocean_line(change[layer], (size_t)n, p.band, row), room);
		}
	}
}

/* Adams and Bashforth's formula of second order; the first step is Euler's. */
static void advance(struct part p, double *const now[LAYERS], double *const last[LAYERS], bool first)
{
	const double dt = 1 / (double)n;
	const double new = first ? dt : 1.5 * dt, old = first ? 0 : -0.5 * dt;
	size_t row, col, at;
	int layer;

	for (row = p.row; row < p.row_end; row++) {
		at = ocean_place((size_t)n, row, p.col);
		for (col = p.col; col < p.col_end; col++, at++) {
			for (layer = 0; layer < LAYERS; layer++)
				s.q[layer][at] += new * now[layer][at] + old * last[layer][at];
			s.mean_f[at] = depth[0] * s.q[0][at] + depth[1] * s.q[1][at];
			s.difference_f[at] = s.q[0][at] - s.q[1][at];
		}
	}
}

static void find_psi(struct part p)
{
	size_t row, col, at;

	for (row = p.row; row < p.row_end; row++) {
		at = ocean_place((size_t)n, row, p.col);
		for (col = p.col; col < p.col_end; col++, at++) {
			s.psi[0][at] = s.mean[at] + depth[1] * s.difference[at];
			s.psi[1][at] = s.mean[at] - depth[0] * s.difference[at];
		}
	}
}

static void work(const struct app_worker *w)
{
	const unsigned int bands = ocean_bands();
	struct solver solver = ocean_solver_begin(&s.solver);
	struct part *own = app_private(bands, sizeof(*own));
	unsigned int i;
	long step;

	for (i = 0; i < bands; i++)
		own[i] = ocean_piece(ocean_part(w, (size_t)n), (size_t)n, i);
	for (step = 0; step < steps; step++) {
		for (i = 0; i < bands; i++)
			find_curl(own[i], solver.room);
		app_barrier(w);
		for (i = 0; i < bands; i++)
			find_change(own[i], s.change[step % 2], solver.room);
		app_barrier(w);
		for (i = 0; i < bands; i++)
			advance(own[i], s.change[step % 2], s.change[(step + 1) % 2], !step);
		ocean_solve(&solver, w, 0, s.mean, s.mean_f);
		ocean_solve(&solver, w, STIFF, s.difference, s.difference_f);
		for (i = 0; i < bands; i++)
			find_psi(own[i]);
		app_barrier(w);
		app_progress(w, step + 1, steps);
	}
	free(own);
	ocean_solver_end(&solver);
}

/*
 * The stream functions have the potential vorticity that was carried about. The solver leaves OCEAN_TOLERANCE
 * of the largest right hand, which is at most q for the mean and 2 q for the difference of the layers, and the layers
 * have all of the first and at most 0.75 of the second: 2.5 times the tolerance; the rest is for roundings.
 */
static const char *right(void)
{
	double off = 0, most = 0;
	size_t row, col, at;
	int layer;

	for (layer = 0; layer < LAYERS; layer++) {
		for (row = 1; row < (size_t)n; row++) {
			for (col = 1; col < (size_t)n; col++) {
				double laplacian;

				at = place(row, col);
				laplacian = ocean_laplace(s.psi[layer], at, (size_t)n);
				off = app_worst(off, vorticity(layer, laplacian, s.psi[0][at], s.psi[1][at]) -
						     s.q[layer][at]);
				most = app_worst(most, s.q[layer][at]);
			}
		}
	}
	return off <= 3 * OCEAN_TOLERANCE * most && most > 0 && most < 1000 ? NULL :
	       app_text("potential vorticity is up to %g, off by up to %g", most, off);
}

/* Looks at the result as an array of rows. */
static const char *right_by_rows(void)
{
	const size_t points = place((size_t)n, (size_t)n) + 1;
	double *by_rows[GRIDS];
	struct state theirs = s;
	const char *wrong;
	size_t i, row;

	if (!ocean_contiguous)
		return right();
	for (i = 0; i < GRIDS; i++) {
		by_rows[i] = app_private(points, sizeof(**by_rows));
		for (row = 0; row <= (size_t)n; row++)
			ocean_look(*grids[i], (size_t)n, row, 0, (size_t)n + 1, by_rows[i] + place(row, 0));
		*grids[i] = by_rows[i];
	}
	wrong = right();
	s = theirs;
	for (i = 0; i < GRIDS; i++)
		free(by_rows[i]);
	return wrong;
}

/* Both lie in memory alike. */
static const char *same(const void *shared)
{
	const struct state *theirs = shared;
	size_t bytes = place((size_t)n, (size_t)n) * sizeof(double);
	int layer;

	for (layer = 0; layer < LAYERS; layer++)
		if (memcmp(theirs->psi[layer], s.psi[layer], bytes) ||
		    memcmp(theirs->q[layer], s.q[layer], bytes))
			return app_text("layer %d differs", layer);
	return NULL;
}

/* However grids lie in memory, it is the same. */
static uint64_t sum(void)
{
	const size_t points = (size_t)n + 1;
	double *room = app_private(points, sizeof(*room));
	uint64_t all = 0;
	size_t row;
	int i;

	for (i = 0; i < 2 * LAYERS; i++) {
		const double *grid = i % 2 ? s.q[i / 2] : s.psi[i / 2];

		for (row = 0; row < points; row++)
			all = app_sum(all, ocean_look(grid, (size_t)n, row, 0, points, room), points * sizeof(*room));
	}
	free(room);
	return all;
}

const struct app_program app_program = {
	.name = "ocean",
	.what = "Eddies and currents of a basin, with a multigrid solver.",
	.options = options,
	.state = &s,
	.state_bytes = sizeof(s),
	.agrees = "equal to the sequential run, bit for bit",
	.check = check,
	.layout = layout,
	.fill = fill,
	.work = work,
	.right = right_by_rows,
	.same = same,
	.sum = sum,
};
