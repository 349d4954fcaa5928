// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * LU factorisation by square tiles, without pivoting, of a matrix that needs none.
 *
 * G. Golub, C. Van Loan, "Matrix Computations", 3rd edition, section 3.2 (block outer product
 * form); S. Woo et al., "The SPLASH-2 programs", ISCA 1995, on LU (who owns which tile). Columns are
 * contiguous in memory, in LU whole columns of the matrix; a line is such a column, or with --rows 1 a row.
 * A column of tiles belongs to one worker, so that where columns are contiguous pages have writers on several nodes
 * only where two columns of tiles meet, and in LU not even there with --pad 1. Its owner finishes a column as soon as
 * it can, and a barrier in the middle of each step tells that the column of the next one is there. --scatter 1 deals
 * tiles out to all workers in two dimensions, with two barriers a step, as SPLASH-2 does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lu.h"

long lu_n, lu_tile, lu_scatter, lu_rows, lu_pad;

struct lu lu;

/* Columns lie in memory one after the other, with --rows 1 rows. */
struct tile {
	double *at;
	size_t rows, cols;
	size_t stride;	/* from line to line */
};

static size_t tiles(void)
{
	return (size_t)((lu_n + lu_tile - 1) / lu_tile);
}

static size_t extent(size_t i)
{
	size_t rest = (size_t)lu_n - i * (size_t)lu_tile;

	return rest < (size_t)lu_tile ? rest : (size_t)lu_tile;
}

/* Numbers that a line of the matrix has room for. */
static size_t line_room(void)
{
	const size_t per_page = APP_PAGE_BYTES / sizeof(double);
	size_t unit = per_page;

	if (!lu_pad)
		return (size_t)lu_n;
	/* The least multiple of which the columns of a tile fill whole pages. */
	while (!lu_rows && unit % 2 == 0 && unit / 2 * (size_t)lu_tile % per_page == 0)
		unit /= 2;
	return ((size_t)lu_n + unit - 1) / unit * unit;
}

static struct tile tile(size_t row, size_t col)
{
	size_t b = (size_t)lu_tile;
	struct tile t = { .rows = extent(row), .cols = extent(col) };

	if (lu_contiguous()) {
		t.at = lu.a + (col * tiles() + row) * b * b;
		t.stride = b;
	} else {
		t.at = lu.a + (lu_rows ? row : col) * b * line_room() + (lu_rows ? col : row) * b;
		t.stride = line_room();
	}
	return t;
}

static double *place(struct tile t, size_t row, size_t col)
{
	return lu_rows ? t.at + row * t.stride + col : t.at + col * t.stride + row;
}

static double *element(size_t row, size_t col)
{
	struct tile t = tile(row / (size_t)lu_tile, col / (size_t)lu_tile);

	return place(t, row % (size_t)lu_tile, col % (size_t)lu_tile);
}

/* Of @count workers, the greatest divisor that is at most its square root. */
static size_t worker_rows(unsigned int count)
{
	size_t rows = (size_t)sqrt((double)count);

	while (count % rows)
		rows--;
	return rows;
}

static bool is_own(const struct app_worker *w, size_t row, size_t col)
{
	size_t rows = worker_rows(w->count);

	if (lu_scatter)
		return row % rows * (w->count / rows) + col % (w->count / rows) == w->id;
	return col % w->count == w->id;
}

void lu_layout(void)
{
	size_t side = tiles() * (size_t)lu_tile;

	if (lu_contiguous())
		lu.a = app_alloc(side, side * sizeof(double));
	else
		lu.a = app_alloc((size_t)lu_n, line_room() * sizeof(double));
}

/* The diagonal is larger than the rest of its row and column: every pivot is large enough. */
static double initial(size_t row, size_t col)
{
	return row == col ? (double)lu_n : app_random(1, row * (size_t)lu_n + col);
}

void lu_fill(const struct app_worker *w)
{
	size_t b = (size_t)lu_tile;
	size_t row, col, i, j;

	for (row = 0; row < tiles(); row++) {
		for (col = 0; col < tiles(); col++) {
			struct tile t = tile(row, col);

			if (!is_own(w, row, col))
				continue;
			for (j = 0; j < t.cols; j++)
				for (i = 0; i < t.rows; i++)
					*place(t, i, j) = initial(row * b + i, col * b + j);
		}
		app_progress(w, (long)row + 1, (long)tiles());
	}
}

/* @count numbers from @to on, less @m times those from @from on. */
static void subtract(double *restrict to, double m, const double *restrict from, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		to[i] -= m * from[i];
}

/*
 * Four steps for tiles. Those of rows do for each element the same in the same order as those of columns.
 */

static void factor_rows(struct tile d)
{
	size_t i, k;

	for (k = 0; k < d.rows; k++) {
		const double *from = d.at + k * d.stride;

		for (i = k + 1; i < d.rows; i++) {
			double *to = d.at + i * d.stride;

			to[k] /= from[k];
			subtract(to + k + 1, to[k], from + k + 1, d.cols - k - 1);
		}
	}
}

/* L and U of one tile, in its place; L has ones on its diagonal. */
static void factor(struct tile d)
{
	size_t i, j, k;

	if (lu_rows) {
		factor_rows(d);
		return;
	}
	for (k = 0; k < d.cols; k++) {
		double *from = d.at + k * d.stride;

		for (i = k + 1; i < d.rows; i++)
			from[i] /= from[k];
		for (j = k + 1; j < d.cols; j++) {
			double *to = d.at + j * d.stride;

			subtract(to + k + 1, to[k], from + k + 1, d.rows - k - 1);
		}
	}
}

static void divide_right_rows(struct tile t, struct tile d)
{
	size_t i, k;

	for (i = 0; i < t.rows; i++) {
		double *row = t.at + i * t.stride;

		for (k = 0; k < t.cols; k++) {
			row[k] /= d.at[k * d.stride + k];
			subtract(row + k + 1, row[k], d.at + k * d.stride + k + 1, t.cols - k - 1);
		}
	}
}

/* @t times the inverse of the upper factor of @d. */
static void divide_right(struct tile t, struct tile d)
{
	size_t i, j, k;

	if (lu_rows) {
		divide_right_rows(t, d);
		return;
	}
	for (k = 0; k < t.cols; k++) {
		double *from = t.at + k * t.stride;

		for (i = 0; i < t.rows; i++)
			from[i] /= d.at[k * d.stride + k];
		for (j = k + 1; j < t.cols; j++)
			subtract(t.at + j * t.stride, d.at[j * d.stride + k], from, t.rows);
	}
}

/* The inverse of the lower factor of @d times @t. */
static void divide_left(struct tile t, struct tile d)
{
	size_t i, j, k;

	if (lu_rows) {
		for (k = 0; k < t.rows; k++)
			for (i = k + 1; i < t.rows; i++)
				subtract(t.at + i * t.stride, d.at[i * d.stride + k],
					 t.at + k * t.stride, t.cols);
		return;
	}
	for (j = 0; j < t.cols; j++) {
		double *col = t.at + j * t.stride;

		for (k = 0; k < t.rows; k++)
			subtract(col + k + 1, col[k], d.at + k * d.stride + k + 1, t.rows - k - 1);
	}
}

/* @t minus @left times @up. */
static void update(struct tile t, struct tile left, struct tile up)
{
	size_t i, j, k;

	if (lu_rows) {
		for (i = 0; i < t.rows; i++)
			for (k = 0; k < left.cols; k++)
				subtract(t.at + i * t.stride, left.at[i * left.stride + k],
					 up.at + k * up.stride, t.cols);
		return;
	}
	for (j = 0; j < t.cols; j++)
		for (k = 0; k < left.cols; k++)
			subtract(t.at + j * t.stride, up.at[j * up.stride + k], left.at + k * left.stride,
				 t.rows);
}

static void divide_perimeter(const struct app_worker *w, size_t k)
{
	struct tile d = tile(k, k);
	size_t i;

	for (i = k + 1; i < tiles(); i++) {
		if (is_own(w, i, k))
			divide_right(tile(i, k), d);
		if (is_own(w, k, i))
			divide_left(tile(k, i), d);
	}
}

static void update_interior(const struct app_worker *w, size_t k)
{
	size_t row, col;

	for (col = k + 1; col < tiles(); col++)
		for (row = k + 1; row < tiles(); row++)
			if (is_own(w, row, col))
				update(tile(row, col), tile(row, k), tile(k, col));
}

static void work_on_tiles(const struct app_worker *w)
{
	size_t k;

	for (k = 0; k < tiles(); k++) {
		if (is_own(w, k, k))
			factor(tile(k, k));
		app_barrier(w);
		divide_perimeter(w, k);
		app_barrier(w);
		update_interior(w, k);
		app_progress(w, (long)k + 1, (long)tiles());
	}
}

/* All that is left to do of column @k of tiles in step @k. */
static void finish_column(size_t k)
{
	size_t row;

	factor(tile(k, k));
	for (row = k + 1; row < tiles(); row++)
		divide_right(tile(row, k), tile(k, k));
}

/*
 * Column @k of tiles from the diagonal on, in @room, and in the order in which it lies in memory. Tile
 * 0 of it; the next ones lie below.
 */
static struct tile pack_column(double *room, size_t k)
{
	size_t above = k * (size_t)lu_tile, rows = (size_t)lu_n - above;
	struct tile t = { .at = room, .rows = extent(k), .cols = extent(k), .stride = rows };
	size_t i, j;

	if (lu_rows) {
		t.stride = t.cols;
		for (i = 0; i < rows; i++)
			memcpy(room + i * t.cols, lu.a + (above + i) * line_room() + above,
			       t.cols * sizeof(*room));
		return t;
	}
	for (j = 0; j < t.cols; j++)
		memcpy(room + j * rows, lu.a + (above + j) * line_room() + above, rows * sizeof(*room));
	return t;
}

/* Of column @k of tiles, which is @packed unless tiles are contiguous. */
static struct tile finished_tile(struct tile packed, size_t row, size_t k)
{
	if (lu_contiguous())
		return tile(row, k);
	packed.at += (row - k) * (size_t)lu_tile * (lu_rows ? packed.stride : 1);
	packed.rows = extent(row);
	return packed;
}

/* Step @k for column @col of tiles. */
static void update_column(struct tile packed, size_t k, size_t col)
{
	struct tile up = tile(k, col);
	size_t row;

	divide_left(up, finished_tile(packed, k, k));
	for (row = k + 1; row < tiles(); row++)
		update(tile(row, col), finished_tile(packed, row, k), up);
}

/* Column @k of tiles is finished, and will be wanted when the work at hand is done. */
static void await_column(const struct app_worker *w, size_t k)
{
	size_t above = k * (size_t)lu_tile;

	app_barrier(w);
	if (is_own(w, k, k))
		return;
	if (lu_contiguous()) {
		app_hint(w, tile(k, k).at, (tiles() - k) * (size_t)lu_tile * (size_t)lu_tile * sizeof(double));
		return;
	}
	/* Its pages have other columns too, of which others write while this one is waited for. */
	if (lu_rows)
		return;
	app_hint_rows(w, lu.a + above * line_room() + above, ((size_t)lu_n - above) * sizeof(double),
		      line_room() * sizeof(double), extent(k));
}

static void work_on_columns(const struct app_worker *w)
{
	double *room = app_private((size_t)lu_n, (size_t)lu_tile * sizeof(*room));
	struct tile packed = { 0 };
	size_t k, col, middle;

	if (is_own(w, 0, 0))
		finish_column(0);
	await_column(w, 0);
	for (k = 0; k + 1 < tiles(); k++) {
		if (!lu_contiguous())
			packed = pack_column(room, k);
		middle = k + 2 + (tiles() - k - 2) / 2;
		for (col = k + 1; col < middle; col++) {
			if (!is_own(w, 0, col))
				continue;
			update_column(packed, k, col);
			if (col == k + 1)
				finish_column(col);
		}
		await_column(w, k + 1);
		for (; col < tiles(); col++)
			if (is_own(w, 0, col))
				update_column(packed, k, col);
		app_progress(w, (long)k + 1, (long)tiles());
	}
	free(room);
}

void lu_work(const struct app_worker *w)
{
	if (lu_scatter)
		work_on_tiles(w);
	else
		work_on_columns(w);
}

/* A x = L (U x) for a vector of signs that look random. */
const char *lu_right(void)
{
	size_t order = (size_t)lu_n;
	double *x = app_private(order, sizeof(*x));
	double *ux = app_private(order, sizeof(*ux));
	double worst = 0;
	size_t i, j;

	for (i = 0; i < order; i++)
		x[i] = app_random_bits(2, i) % 2 ? 1 : -1;
	for (i = 0; i < order; i++) {
		ux[i] = 0;
		for (j = i; j < order; j++)
			ux[i] += *element(i, j) * x[j];
	}
	for (i = 0; i < order; i++) {
		double rest = ux[i];

		for (j = 0; j < i; j++)
			rest += *element(i, j) * ux[j];
		for (j = 0; j < order; j++)
			rest -= initial(i, j) * x[j];
		worst = app_worst(worst, rest);
	}
	/*
	 * N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, theorem 9.3: A - L U is at
	 * most n u |L| |U|, u = 2^-53. A row of |L| sums up to at most 2, since its entries but one are below
	 * 1 / n, one of |U| to 2 n: 4 n^2 u. The three products found here add 2, 4 and 2 of it.
	 */
	return worst <= 12 * (double)lu_n * (double)lu_n * 0x1p-53 ? NULL :
	       app_text("A x and L (U x) differ by %g", worst);
}

const char *lu_same(const void *shared)
{
	const struct lu *theirs = shared;
	size_t i, j;

	for (i = 0; i < (size_t)lu_n; i++)
		for (j = 0; j < (size_t)lu_n; j++)
			if (memcmp(theirs->a + (element(i, j) - lu.a), element(i, j), sizeof(double)))
				return app_text("row %zu, column %zu differ", i, j);
	return NULL;
}

/* However the matrix lies in memory, it is the same. */
uint64_t lu_sum(void)
{
	uint64_t all = 0;
	size_t i, j;

	for (j = 0; j < (size_t)lu_n; j++)
		for (i = 0; i < (size_t)lu_n; i++)
			all = app_sum(all, element(i, j), sizeof(double));
	return all;
}
