// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * SOR: Laplace's equation on a plate by red-black successive over-relaxation.
 *
 * W. Press et al., "Numerical Recipes in C", 2nd edition, section 19.5 (odd-even ordering). Points
 * of one colour need those of the other only, so each worker relaxes a block of rows, and a barrier
 * follows each colour. Red and black points are kept apart: a half-sweep writes one array and reads
 * the other, and workers share the rows at the edges of their blocks, which they relax last.
 */
#include <stdlib.h>
#include <string.h>

#include "app.h"

#define OMEGA 1.25f
#define UNDO (OMEGA / (OMEGA - 1))	/* relaxes a point back to what it was before, if its neighbours are as then */
#define UNDONE 10			/* half-sweeps; UNDO - 1 times as much rounding with each */

static long rows, cols, iterations;

static struct {
	float *colour[2];	/* rows + 2 rows of cols / 2 points each */
} s;

static const struct app_option options[] = {
	{ "rows", "inner rows", &rows, 1, 1 << 20, { 96, 3072, 3072 } },
	{ "cols", "columns, an even number", &cols, 4, 1 << 20, { 512, 4096, 4096 } },
	{ "iterations", "sweeps over both colours", &iterations, 1, 1000000, { 20, 80, 100 } },
	{ 0 }
};

static float *row_of(int colour, size_t row)
{
	return s.colour[colour] + row * (size_t)(cols / 2);
}

/* Column of the first point of a colour in a row. */
static size_t shift(int colour, size_t row)
{
	return (row + (size_t)colour) % 2;
}

static const char *check(unsigned int workers)
{
	if (cols % 2)
		return "--cols must be even";
	if ((long)workers > rows)
		return "there are more workers than rows";
	return NULL;
}

static void layout(void)
{
	s.colour[0] = app_alloc((size_t)rows + 2, (size_t)cols / 2 * sizeof(float));
	s.colour[1] = app_alloc((size_t)rows + 2, (size_t)cols / 2 * sizeof(float));
}

/* A hot edge above; the rest is anything, so that no page stays zero. */
static float initial(size_t row, size_t col)
{
	if (!row)
		return 100;
	return (float)app_random(1, row * (size_t)cols + col);
}

static void fill_row(size_t row)
{
	size_t k;
	int colour;

	for (colour = 0; colour < 2; colour++)
		for (k = 0; k < (size_t)cols / 2; k++)
			row_of(colour, row)[k] = initial(row, 2 * k + shift(colour, row));
}

static void fill(const struct app_worker *w)
{
	size_t row, end;

	app_share((size_t)rows, w->id, w->count, &row, &end);
	for (; row < end; row++) {
		fill_row(row + 1);
		app_progress(w, (long)row + 1, (long)end);
	}
	if (w->id == 0)
		fill_row(0);
	if (w->id == w->count - 1)
		fill_row((size_t)rows + 1);
}

/* The first and last columns are edges of the plate and keep their values. */
static void relax_row(int colour, size_t row, float factor)
{
	size_t shifted = shift(colour, row);
	size_t end = (size_t)cols / 2 - shifted;
	float *at = row_of(colour, row);
	const float *left = row_of(!colour, row) + shifted - 1;
	const float *up = row_of(!colour, row - 1);
	const float *down = row_of(!colour, row + 1);
	size_t k;

	for (k = 1 - shifted; k < end; k++)
		at[k] += factor * (0.25f * (left[k] + left[k + 1] + up[k] + down[k]) - at[k]);
}

/* What others wrote before the barrier may still be on its way; it is wanted at the edges. */
static void relax_block(int colour, size_t first, size_t end)
{
	size_t row;

	for (row = first + 1; row + 1 < end; row++)
		relax_row(colour, row, OMEGA);
	relax_row(colour, first, OMEGA);
	if (first + 1 < end)
		relax_row(colour, end - 1, OMEGA);
}

static void work(const struct app_worker *w)
{
	size_t first, end;
	int colour;
	long i;

	app_share((size_t)rows, w->id, w->count, &first, &end);
	for (i = 0; i < iterations; i++) {
		for (colour = 0; colour < 2; colour++) {
			relax_block(colour, first + 1, end + 1);
			app_barrier(w);
		}
		app_progress(w, i + 1, iterations);
	}
}

static float result(size_t row, size_t col)
{
	return row_of((int)((row + col) % 2), row)[col / 2];
}

/* Over all neighbours, the squares of their differences. */
static double energy(float (*value)(size_t row, size_t col))
{
	double sum = 0;
	size_t row, col;

	for (row = 0; row <= (size_t)rows; row++) {
		for (col = 0; col < (size_t)cols - 1; col++) {
			double right = value(row, col) - value(row, col + 1);
			double down = value(row, col) - value(row + 1, col);

			sum += right * right + down * down;
		}
	}
	return sum;
}

/*
 * Each relaxation with a factor between 0 and 2 lowers the energy (A. Ostrowski, 1954): one that moves a point
 * by d takes 4 (2 / OMEGA - 1) d^2. Those of the first colour find the input; what they take.
 */
static double first_fall(void)
{
	double sum = 0, d;
	size_t row, col;

	for (row = 1; row <= (size_t)rows; row++) {
		for (col = row % 2 ? 1 : 2; col < (size_t)cols - 1; col += 2) {
			d = OMEGA * ((initial(row, col - 1) + initial(row, col + 1) + initial(row - 1, col) +
				      initial(row + 1, col)) / 4 - initial(row, col));
			sum += 4 * (2 / OMEGA - 1) * d * d;
		}
	}
	return sum;
}

/*
 * Of what the result was some half-sweeps before, but after those that first_fall() is about: what is wrong with a
 * point has become as much larger as rounding has, of which there is little.
 */
static double earlier_energy(void)
{
	const size_t points = ((size_t)rows + 2) * (size_t)cols / 2;
	const long undone = 2 * iterations - 2 < UNDONE ? 2 * iterations - 2 : UNDONE;
	float *kept[2];
	double sum;
	size_t row;
	long i;
	int colour;

	for (colour = 0; colour < 2; colour++) {
		kept[colour] = s.colour[colour];
		s.colour[colour] = app_private(points, sizeof(float));
		memcpy(s.colour[colour], kept[colour], points * sizeof(float));
	}
	for (i = 1; i <= undone; i++)
		for (row = 1; row <= (size_t)rows; row++)
			relax_row((int)(i % 2), row, UNDO);
	sum = energy(result);
	for (colour = 0; colour < 2; colour++) {
		free(s.colour[colour]);
		s.colour[colour] = kept[colour];
	}
	return sum;
}

static const char *right(void)
{
	double before = energy(initial), fall = first_fall();
	double after = earlier_energy();

	return after >= 0 && after <= before - fall ? NULL :
	       app_text("the energy went from %g to %g, at most %g is right", before, after, before - fall);
}

static const char *same(const void *shared)
{
	const float *const *theirs = shared;
	size_t points = ((size_t)rows + 2) * (size_t)cols / 2;
	int colour;
	size_t i;

	for (colour = 0; colour < 2; colour++)
		for (i = 0; i < points; i++)
			if (memcmp(&theirs[colour][i], &s.colour[colour][i], sizeof(float)))
				return app_text("row %zu differs", i / ((size_t)cols / 2));
	return NULL;
}

static uint64_t sum(void)
{
	size_t bytes = ((size_t)rows + 2) * (size_t)cols / 2 * sizeof(float);

	return app_sum(app_sum(0, s.colour[0], bytes), s.colour[1], bytes);
}

const struct app_program app_program = {
	.name = "sor",
	.what = "Red-black successive over-relaxation on a plate.",
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
	.sum = sum,
};
