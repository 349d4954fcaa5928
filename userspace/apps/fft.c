// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * FFT: a one-dimensional complex transform in six steps.
 *
 * D. Bailey, "FFTs in external or hierarchical memory", Journal of Supercomputing 4, 1990 (the
 * six-step method): the points are a square matrix; transpose, transform each row, multiply by
 * roots of unity, transpose, transform each row, transpose; here divided by the root of the number
 * of points. A worker owns a block of rows; only transposing reads what others wrote, a square
 * patch at a time, beginning with the patches of the next worker. Rows lie in memory in pieces of a
 * page, the same piece of all rows in order, so that what a worker reads of another's rows is a few
 * long ranges.
 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"

#define PATCH 8
#define PARTS 3	/* of a transform: each a transposition */
#define PIECE (APP_PAGE_BYTES / sizeof(double complex))

static long log2_points, transforms;

static struct state {
	double complex *a, *b;		/* from one to the other and back */
	double complex *twiddle;
} s;

static double complex *roots;	/* of order side(), half of them; each process has its own */

static const struct app_option options[] = {
	{ "log2-points", "logarithm of the points, even", &log2_points, 4, 30, { 14, 20, 22 } },
	/* Four are the identity: of as many, doing nothing would be right. */
	{ "transforms", "each of what the one before gave", &transforms, 1, 100000, { 2, 26, 1 } },
	{ 0 }
};

static size_t side(void)
{
	return (size_t)1 << log2_points / 2;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t piece(void)
{
	return least(side(), PIECE);
}

/* Of a matrix, up to the end of the piece. */
static size_t place(size_t row, size_t col)
{
	return (col / piece() * side() + row) * piece() + col % piece();
}

static const char *check(unsigned int workers)
{
	if (log2_points % 2)
		return "--log2-points must be even";
	return workers > side() ? "there are more workers than rows" : NULL;
}

static double complex root(double part)
{
	return cos(2 * M_PI * part) - I * sin(2 * M_PI * part);
}

static void layout(void)
{
	s.a = app_alloc(side() * side(), sizeof(*s.a));
	s.b = app_alloc(side() * side(), sizeof(*s.b));
	s.twiddle = app_alloc(side() * side(), sizeof(*s.twiddle));
}

static void make_roots(void)
{
	size_t i;

	free(roots);
	roots = app_private(side() / 2, sizeof(*roots));
	for (i = 0; i < side() / 2; i++)
		roots[i] = root((double)i / (double)side());
}

static double complex initial(size_t i)
{
	return app_random(1, i) - 0.5 + I * (app_random(2, i) - 0.5);
}

static void fill(const struct app_worker *w)
{
	double points = (double)(side() * side());
	size_t row, end, i;

	app_share(side(), w->id, w->count, &row, &end);
	for (; row < end; row++) {
		for (i = 0; i < side(); i++) {
			s.a[place(row, i)] = initial(row * side() + i);
			s.twiddle[place(row, i)] = root((double)(row * i) / points) / (double)side();
		}
		app_progress(w, (long)row + 1, (long)end);
	}
}

/* Own rows of @to from the columns of @from, in patches from row @begin of @from to @end. */
static void transpose_part(const double complex *from, double complex *to, size_t first, size_t last,
			   size_t begin, size_t end)
{
	size_t row, col, i, j;

	for (row = first; row < last; row += PATCH)
		for (col = begin; col < end; col += PATCH)
			for (i = row; i < least(row + PATCH, last); i++)
				for (j = col; j < least(col + PATCH, end); j++)
					to[place(i, j)] = from[place(j, i)];
}

/* Columns @first to @last of rows @begin to @end, in the order in which they will be read. */
static void hint_part(const struct app_worker *w, const double complex *from, size_t first, size_t last,
		      size_t begin, size_t end)
{
	size_t col;

	for (col = first / piece() * piece(); col < last; col += piece())
		app_hint(w, from + place(begin, col), (end - begin) * piece() * sizeof(*from));
}

static void transpose(const struct app_worker *w, const double complex *from, double complex *to)
{
	size_t first, last, begin, end;
	unsigned int i;

	app_share(side(), w->id, w->count, &first, &last);
	for (i = 1; i < w->count; i++) {
		app_share(side(), (w->id + i) % w->count, w->count, &begin, &end);
		hint_part(w, from, first, last, begin, end);
	}
	/* One's own part while the others' come. */
	for (i = 0; i < w->count; i++) {
		app_share(side(), (w->id + i) % w->count, w->count, &begin, &end);
		transpose_part(from, to, first, last, begin, end);
	}
}

static void reverse_bits(double complex *row)
{
	size_t i, bit, j = 0;

	for (i = 0; i < side(); i++) {
		if (i < j) {
			double complex x = row[i];

			row[i] = row[j];
			row[j] = x;
		}
		for (bit = side() / 2; bit && j & bit; bit /= 2)
			j ^= bit;
		j |= bit;
	}
}

/*
 * J. Cooley, J. Tukey, 1965, decimation in time. The product is written out: C's own complex
 * product asks whether anything is infinite.
 */
static void transform(double complex *row)
{
	size_t half, group, k;

	reverse_bits(row);
	for (half = 1; half < side(); half *= 2) {
		size_t step = side() / (2 * half);

		for (group = 0; group < side(); group += 2 * half) {
			double complex *a = row + group, *b = a + half;

			for (k = 0; k < half; k++) {
				double re = creal(roots[k * step]), im = cimag(roots[k * step]);
				double complex x = CMPLX(re * creal(b[k]) - im * cimag(b[k]),
							 re * cimag(b[k]) + im * creal(b[k]));

				b[k] = a[k] - x;
				a[k] += x;
			}
		}
	}
}

/* The pieces of a row, one after the other. */
static void gather(double complex *line, const double complex *matrix, size_t row)
{
	size_t col;

	for (col = 0; col < side(); col += piece())
		memcpy(line + col, matrix + place(row, col), piece() * sizeof(*line));
}

static void scatter(const double complex *line, double complex *matrix, size_t row)
{
	size_t col;

	for (col = 0; col < side(); col += piece())
		memcpy(matrix + place(row, col), line + col, piece() * sizeof(*line));
}

static void twiddle_row(double complex *line, size_t row)
{
	size_t i;

	for (i = 0; i < side(); i++) {
		double complex t = s.twiddle[place(row, i)];
		double re = creal(t), im = cimag(t);

		line[i] = CMPLX(re * creal(line[i]) - im * cimag(line[i]),
				re * cimag(line[i]) + im * creal(line[i]));
	}
}

static void transform_rows(const struct app_worker *w, double complex *matrix, bool twiddle)
{
	double complex *line = app_private(side(), sizeof(*line));
	size_t row, end;

	app_share(side(), w->id, w->count, &row, &end);
	for (; row < end; row++) {
		gather(line, matrix, row);
		transform(line);
		if (twiddle)
			twiddle_row(line, row);
		scatter(line, matrix, row);
	}
	free(line);
}

/* A transposition, and rows transformed after it; the parts of all transforms are counted for who waits. */
static void part(const struct app_worker *w, long number, double complex *from, double complex *to)
{
	transpose(w, from, to);
	if (number % PARTS < PARTS - 1)
		transform_rows(w, to, number % PARTS == 0);
	app_barrier(w);
	app_progress(w, number + 1, transforms * PARTS);
}

static void work(const struct app_worker *w)
{
	long i;

	for (i = 0; i < transforms * PARTS; i++)
		part(w, i, i % 2 ? s.b : s.a, i % 2 ? s.a : s.b);
}

static const double complex *result(const struct state *state)
{
	return transforms % 2 ? state->b : state->a;
}

/* Two transforms reverse the order of all points but the first. */
static double complex expected(size_t k)
{
	const size_t n = side() * side();
	double complex x = 0;
	size_t i;

	if (transforms % 4 >= 2)
		k = (n - k) % n;
	if (transforms % 2 == 0)
		return initial(k);
	for (i = 0; i < n; i++)
		x += initial(i) * root((double)(i * k % n) / (double)n);
	return x / (double)side();
}

/* Parseval's theorem over all points, and some points by the definition of the transform. */
static const char *right(void)
{
	const size_t n = side() * side();
	const double complex *to = result(&s);
	double before = 0, after = 0;
	size_t i, trial;

	for (i = 0; i < n; i++) {
		double complex x = initial(i), y = to[place(i / side(), i % side())];

		before += creal(x) * creal(x) + cimag(x) * cimag(x);
		after += creal(y) * creal(y) + cimag(y) * cimag(y);
	}
	/* It drifts with each. */
	if (!(app_distance(before, after, 0) < 1e-12 + 4e-17 * (double)transforms))
		return app_text("the sum of squares is %g, not %g", after, before);
	for (trial = 0; trial < 4; trial++) {
		size_t k = app_random_bits(3, trial) % n;
		double off = cabs(expected(k) - to[place(k / side(), k % side())]);

		if (!(off < 1e-10))
			return app_text("point %zu is off by %g", k, off);
	}
	return NULL;
}

static const char *same(const void *shared)
{
	return memcmp(result(shared), result(&s), side() * side() * sizeof(*s.a)) ?
	       "a point differs" : NULL;
}

static uint64_t sum(void)
{
	return app_sum(0, result(&s), side() * side() * sizeof(*s.a));
}

const struct app_program app_program = {
	.name = "fft",
	.what = "A complex one-dimensional Fourier transform in six steps.",
	.options = options,
	.state = &s,
	.state_bytes = sizeof(s),
	.agrees = "equal to the sequential run, bit for bit",
	.check = check,
	.layout = layout,
	.tables = make_roots,
	.fill = fill,
	.work = work,
	.right = right,
	.same = same,
	.sum = sum,
};
