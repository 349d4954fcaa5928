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
 * Grids are arrays of rows. A worker owns a rectangle of each, so that pages have several writers,
 * or with --strips 1 a strip of rows, which is contiguous in memory.
 */
#include <math.h>
#include <string.h>

#include "ocean.h"

#define LAYERS 2
#define STIFF 100.0	/* square of the basin by the radius of deformation */
#define BETA 1.0	/* northward change of the earth's rotation */
#define WIND 0.05
#define DRAG 0.05	/* of the bottom */
#define VISCOSITY 1e-5
#define EDDIES 0.01	/* psi at the start */

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
	{ "n", "intervals of the grid, a power of two", &n, 4, 8192, { 32, 1024, 512 } },
	{ "steps", "time steps", &steps, 1, 1000000, { 2, 8, 6 } },
	{ "strips", "1: strips of rows, contiguous in memory; 0: rectangles", &ocean_strips, 0, 1,
	  { 0, 0, 0 } },
	{ "alone", "grids up to this are too small to be shared", &ocean_alone, 2, 8192,
	  { 16, 128, 16 } },
	{ 0 }
};

static const char *check(unsigned int workers)
{
	ocean_workers = workers;
	return n & (n - 1) ? "--n must be a power of two" : NULL;
}

static void layout(void)
{
	double **grids[] = {
		&s.q[0], &s.q[1], &s.psi[0], &s.psi[1], &s.curl[0], &s.curl[1], &s.change[0][0],
		&s.change[0][1], &s.change[1][0], &s.change[1][1], &s.mean, &s.difference,
		&s.mean_f, &s.difference_f,
	};
	size_t i;

	for (i = 0; i < sizeof(grids) / sizeof(grids[0]); i++)
		*grids[i] = ocean_grid((size_t)n);
	ocean_solver_layout(&s.solver, (size_t)n);
}

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
	size_t at = place(row, col);
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

	for (row = p.row; row < p.row_end; row++)
		for (col = p.col; col < p.col_end; col++)
			fill_point(row, col);
	ocean_solver_fill(&s.solver, w);
}

/* J(p, q), which conserves the integrals of q, q^2 and the energy: Arakawa's mean of three forms. */
static double jacobian(const double *p, const double *q, size_t at)
{
	const size_t width = (size_t)n + 1;
	const double *ps = p + at - width, *pm = p + at, *pn = p + at + width;
	const double *qs = q + at - width, *qm = q + at, *qn = q + at + width;
	double plain = (pm[1] - pm[-1]) * (qn[0] - qs[0]) - (pn[0] - ps[0]) * (qm[1] - qm[-1]);
	double flux_p = pm[1] * (qn[1] - qs[1]) - pm[-1] * (qn[-1] - qs[-1]) -
			pn[0] * (qn[1] - qn[-1]) + ps[0] * (qs[1] - qs[-1]);
	double flux_q = qn[0] * (pn[1] - pn[-1]) - qs[0] * (ps[1] - ps[-1]) -
			qm[1] * (pn[1] - ps[1]) + qm[-1] * (pn[-1] - ps[-1]);

	return (plain + flux_p + flux_q) * (double)(n * n) / 12;
}

static void find_curl(struct part p)
{
	size_t row, col;
	int layer;

	for (layer = 0; layer < LAYERS; layer++)
		for (row = p.row; row < p.row_end; row++)
			for (col = p.col; col < p.col_end; col++)
				s.curl[layer][place(row, col)] =
					ocean_laplace(s.psi[layer], place(row, col), (size_t)n);
}

static void find_change(struct part p, double *const change[LAYERS])
{
	size_t row, col, at;
	int layer;

	for (layer = 0; layer < LAYERS; layer++) {
		const double *psi = s.psi[layer];

		for (row = p.row; row < p.row_end; row++) {
			double force = layer ? 0 : -WIND * sin(M_PI * (double)row / (double)n);

			for (col = p.col; col < p.col_end; col++) {
				at = place(row, col);
				change[layer][at] = force - jacobian(psi, s.q[layer], at) -
					BETA * (psi[at + 1] - psi[at - 1]) * (double)n / 2 +
					VISCOSITY * ocean_laplace(s.curl[layer], at, (size_t)n) -
					(layer ? DRAG * s.curl[layer][at] : 0);
			}
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
		for (col = p.col; col < p.col_end; col++) {
			at = place(row, col);
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
		for (col = p.col; col < p.col_end; col++) {
			at = place(row, col);
			s.psi[0][at] = s.mean[at] + depth[1] * s.difference[at];
			s.psi[1][at] = s.mean[at] - depth[0] * s.difference[at];
		}
	}
}

static void work(const struct app_worker *w)
{
	struct part p = ocean_part(w, (size_t)n);
	unsigned long turn = 0;
	long step;

	for (step = 0; step < steps; step++) {
		find_curl(p);
		app_barrier(w);
		find_change(p, s.change[step % 2]);
		app_barrier(w);
		advance(p, s.change[step % 2], s.change[(step + 1) % 2], !step);
		ocean_solve(&s.solver, w, 0, s.mean, s.mean_f, &turn);
		ocean_solve(&s.solver, w, STIFF, s.difference, s.difference_f, &turn);
		find_psi(p);
		app_barrier(w);
		app_progress(w, step + 1, steps);
	}
}

/* The stream functions have the potential vorticity that was carried about. */
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
				off = fmax(off, fabs(vorticity(layer, laplacian, s.psi[0][at], s.psi[1][at]) -
						     s.q[layer][at]));
				most = fmax(most, fabs(s.q[layer][at]));
			}
		}
	}
	return off <= 10 * OCEAN_TOLERANCE * most && most < 1000 ? NULL :
	       app_text("potential vorticity is up to %g, off by up to %g", most, off);
}

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
	.right = right,
	.same = same,
};
