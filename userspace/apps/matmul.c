// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * MatMul: C = A B of square matrices in single precision, distributed by columns.
 *
 * G. Golub, C. Van Loan, "Matrix Computations", 3rd edition, section 1.1 (gaxpy form): each column
 * of C is a sum of columns of A, weighted by a column of B. A worker owns a block of columns of all
 * three and reads all of A. Blocks of rows by columns of A stay in the cache while columns of C
 * pass by.
 */
#include <math.h>
#include <string.h>

#include "app.h"

#define BLOCK_ROWS 1024
#define BLOCK_COLS 32

static long n;

static struct {
	float *a, *b, *c;	/* by columns */
} s;

static const struct app_option options[] = {
	{ "n", "rows and columns", &n, 1, 65536, { 160, 1408, 1024 } },
	{ 0 }
};

static size_t order(void)
{
	return (size_t)n;
}

static const char *check(unsigned int workers)
{
	return (long)workers > n ? "there are more workers than columns" : NULL;
}

static void layout(void)
{
	s.a = app_alloc(order(), order() * sizeof(float));
	s.b = app_alloc(order(), order() * sizeof(float));
	s.c = app_alloc(order(), order() * sizeof(float));
}

static void fill(const struct app_worker *w)
{
	size_t col, end, i;

	app_share(order(), w->id, w->count, &col, &end);
	for (; col < end; col++) {
		for (i = col * order(); i < (col + 1) * order(); i++) {
			s.a[i] = (float)app_random(1, i) - 0.5f;
			s.b[i] = (float)app_random(2, i) - 0.5f;
			s.c[i] = 0;
		}
		app_progress(w, (long)col + 1, (long)end);
	}
}

/* Rows [row, row_end) of column @j of C, with columns [k, k_end) of A. */
static void add_columns(size_t j, size_t k, size_t k_end, size_t row, size_t row_end)
{
	float *restrict c = s.c + j * order();
	size_t i;

	for (; k < k_end; k++) {
		const float *restrict a = s.a + k * order();
		float b = s.b[j * order() + k];

		for (i = row; i < row_end; i++)
			c[i] += a[i] * b;
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void work(const struct app_worker *w)
{
	size_t first, end, row, row_end, k, k_end, j;

	app_share(order(), w->id, w->count, &first, &end);
	for (k = 0; k < order(); k = k_end) {
		k_end = least(k + BLOCK_COLS, order());
		for (row = 0; row < order(); row = row_end) {
			row_end = least(row + BLOCK_ROWS, order());
			for (j = first; j < end; j++)
				add_columns(j, k, k_end, row, row_end);
		}
		app_progress(w, (long)k_end, n);
	}
}

/*
 * Entries are from [-1/2, 1/2), so that products deviate by 1/12 and a sum of k of them by sqrt(k) / 12. Each
 * is rounded to 2^-24 of itself, a third of that in the mean of squares: n of them deviate by 2^-24 n / 29,
 * and n such sums with random signs by 2^-24 n^1.5 / 29. Allowed are 14 deviations, and what a few roundings make
 * where n is small.
 */
static double allowed(void)
{
	return 0x1p-24 * (0.5 * (double)n * sqrt((double)n) + 4);
}

/* R. Freivalds, "Probabilistic machines can use less running time", 1977: C x = A (B x), x random. */
static const char *right(void)
{
	double *x = app_private(order(), sizeof(*x));
	double *bx = app_private(order(), sizeof(*bx));
	double *rest = app_private(order(), sizeof(*rest));
	double worst = 0;
	size_t i, j;

	memset(bx, 0, order() * sizeof(*bx));
	memset(rest, 0, order() * sizeof(*rest));
	for (j = 0; j < order(); j++) {
		x[j] = app_random_bits(3, j) % 2 ? 1 : -1;
		for (i = 0; i < order(); i++)
			bx[i] += s.b[j * order() + i] * x[j];
	}
	for (j = 0; j < order(); j++)
		for (i = 0; i < order(); i++)
			rest[i] += s.c[j * order() + i] * x[j] - s.a[j * order() + i] * bx[j];
	for (i = 0; i < order(); i++)
		worst = app_worst(worst, rest[i]);
	return worst <= allowed() ? NULL :
	       app_text("C x and A (B x) differ by %g", worst);
}

static const char *same(const void *shared)
{
	float *const *theirs = shared;	/* a, b, c */

	return memcmp(theirs[2], s.c, order() * order() * sizeof(float)) ? "C differs" : NULL;
}

static uint64_t sum(void)
{
	return app_sum(0, s.c, order() * order() * sizeof(float));
}

const struct app_program app_program = {
	.name = "matmul",
	.what = "The product of two square matrices in single precision.",
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
