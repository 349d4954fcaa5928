// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Gauss: a system of linear equations by elimination and back-substitution, rows dealt out to
 * workers.
 *
 * G. Golub, C. Van Loan, "Matrix Computations", 3rd edition, sections 3.1 (column oriented back
 * substitution) and 3.2 (outer product elimination); no pivoting, the matrix needs none. Rows are
 * dealt out one by one, or in blocks of some. A flag for each block tells that its rows are pivots,
 * a second one that its unknowns are known. Who owns the next block brings that one up to date
 * first, and who does not waits for it, and asks for its rows, in the middle of the work with the block
 * before, so that nobody waits for the rest.
 */
#include <math.h>
#include <string.h>

#include "app.h"

static long n, block_rows;

static struct state {
	double *a;		/* rows, each from a new page on */
	double *right_hand;	/* by owner, so that no page has two writers */
	double *x;		/* likewise */
} s;

static size_t workers;		/* of the shared run, also while one does it again */

static const struct app_option options[] = {
	{ "n", "equations", &n, 1, 16384, { 160, 1920, 2048 } },
	{ "block", "rows that are dealt out together", &block_rows, 1, 1024, { 2, 32, 1 } },
	{ 0 }
};

static size_t round_up(size_t count)
{
	const size_t per_page = APP_PAGE_BYTES / sizeof(double);

	return (count + per_page - 1) / per_page * per_page;
}

static size_t order(void)
{
	return (size_t)n;
}

static size_t blocks(void)
{
	return (size_t)((n + block_rows - 1) / block_rows);
}

static size_t begin_of(size_t block)
{
	return block * (size_t)block_rows;
}

static size_t end_of(size_t block)
{
	return block + 1 < blocks() ? begin_of(block + 1) : order();
}

static double *row_of(size_t i)
{
	return s.a + i * round_up(order());
}

/* Places of a worker in right_hand and x. */
static size_t part(void)
{
	return round_up((blocks() / workers + 1) * (size_t)block_rows);
}

/* Place of row @i there. */
static size_t place(size_t i)
{
	size_t block = i / (size_t)block_rows;

	return block % workers * part() + block / workers * (size_t)block_rows +
	       i % (size_t)block_rows;
}

static const char *check(unsigned int count)
{
	workers = count;
	return NULL;
}

static void layout(void)
{
	s.a = app_alloc(order(), round_up(order()) * sizeof(double));
	s.right_hand = app_alloc(workers, part() * sizeof(double));
	s.x = app_alloc(workers, part() * sizeof(double));
	app_flags(2 * blocks());
}

/* The diagonal is larger than the rest of its row: every pivot is large enough. */
static double initial(size_t i, size_t j)
{
	return i == j ? (double)n : app_random(1, i * order() + j) - 0.5;
}

static double initial_right_hand(size_t i)
{
	return app_random(2, i);
}

static void fill(const struct app_worker *w)
{
	size_t block, i, j;

	for (block = w->id; block < blocks(); block += w->count) {
		for (i = begin_of(block); i < end_of(block); i++) {
			for (j = 0; j < order(); j++)
				row_of(i)[j] = initial(i, j);
			s.right_hand[place(i)] = initial_right_hand(i);
		}
		app_progress(w, (long)block + 1, (long)blocks());
	}
}

static size_t flag_pivots(size_t block)
{
	return block;
}

static size_t flag_known(size_t block)
{
	return blocks() + block;
}

static bool is_own(const struct app_worker *w, size_t block)
{
	return block % w->count == w->id;
}

static void eliminate(size_t k, size_t i)
{
	const double *restrict pivot = row_of(k);
	double *restrict row = row_of(i);
	double m = row[k] / pivot[k];
	size_t j;

	row[k] = 0;
	for (j = k + 1; j < order(); j++)
		row[j] -= m * pivot[j];
	s.right_hand[place(i)] -= m * s.right_hand[place(k)];
}

/* Takes the unknowns of the rows of @from out of those of @to; of one block, out of later rows. */
static void eliminate_block(size_t from, size_t to)
{
	size_t k, i;

	for (k = begin_of(from); k < end_of(from); k++)
		for (i = from == to ? k + 1 : begin_of(to); i < end_of(to); i++)
			eliminate(k, i);
}

static void tell_pivots(const struct app_worker *w, size_t block)
{
	eliminate_block(block, block);
	app_flag_set(w, flag_pivots(block));
}

/* Somebody else's pivots: they will be wanted when the work at hand is done. */
static void await_pivots(const struct app_worker *w, size_t block)
{
	size_t first = begin_of(block);

	if (is_own(w, block))
		return;
	app_flag_wait(w, flag_pivots(block));
	app_hint_rows(w, row_of(first) + first, (order() - first) * sizeof(double), round_up(order()) * sizeof(double),
		      end_of(block) - first);
}

static void eliminate_all(const struct app_worker *w)
{
	size_t from, to, middle;

	if (is_own(w, 0))
		tell_pivots(w, 0);
	await_pivots(w, 0);
	for (from = 0; from + 1 < blocks(); from++) {
		middle = from + 1 + (blocks() - from) / 2;
		for (to = from + 1; to < blocks(); to++) {
			if (to == middle)
				await_pivots(w, from + 1);
			if (!is_own(w, to))
				continue;
			eliminate_block(from, to);
			if (to == from + 1)
				tell_pivots(w, to);
		}
		if (middle >= blocks())
			await_pivots(w, from + 1);
		app_progress(w, (long)from + 1, (long)blocks());
	}
}

/* Puts what is known of the unknowns of @from into the rows of @to, or into those above in its own. */
static void substitute_block(size_t from, size_t to)
{
	size_t k, i;

	for (k = end_of(from); k-- > begin_of(from);) {
		if (from == to)
			s.x[place(k)] = s.right_hand[place(k)] / row_of(k)[k];
		for (i = begin_of(to); i < (from == to ? k : end_of(to)); i++)
			s.right_hand[place(i)] -= row_of(i)[k] * s.x[place(k)];
	}
}

static void tell_known(const struct app_worker *w, size_t block)
{
	substitute_block(block, block);
	app_flag_set(w, flag_known(block));
}

static void substitute_back(const struct app_worker *w)
{
	size_t from, to;

	if (is_own(w, blocks() - 1))
		tell_known(w, blocks() - 1);
	for (from = blocks() - 1; from; from--) {
		if (!is_own(w, from))
			app_flag_wait(w, flag_known(from));
		for (to = from; to-- > 0;) {
			if (!is_own(w, to))
				continue;
			substitute_block(from, to);
			if (to == from - 1)
				tell_known(w, to);
		}
	}
}

static void work(const struct app_worker *w)
{
	eliminate_all(w);
	substitute_back(w);
}

/*
 * N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, theorem 9.4: what is left is
 * at most 3 n u |L| |U| |x| with u = 2^-53. Diagonals are at least twice the rest of their row and column
 * in all steps, so |x| is at most 2 / n, |U| |x| about 3 and |L| (|U| |x|) about 6. Finding out what is left adds
 * n u |A| |x|, that is 3 n u. Roundings of either sign cancel, and 1e-14 is left of 2048 equations: what that
 * bound allows of more than 430 is not needed.
 */
static double allowed(void)
{
	return fmin(1e-12, 21 * (double)n * 0x1p-53);
}

static const char *right(void)
{
	double worst = 0;
	size_t i, j;

	for (i = 0; i < order(); i++) {
		double rest = -initial_right_hand(i);

		for (j = 0; j < order(); j++)
			rest += initial(i, j) * s.x[place(j)];
		worst = app_worst(worst, rest);
	}
	return worst <= allowed() ? NULL : app_text("A x and the right hand differ by %g", worst);
}

static const char *same(const void *shared)
{
	const struct state *theirs = shared;
	size_t i;

	for (i = 0; i < order(); i++)
		if (memcmp(&theirs->x[place(i)], &s.x[place(i)], sizeof(double)))
			return app_text("unknown %zu differs", i);
	return NULL;
}

static uint64_t sum(void)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < order(); i++)
		all = app_sum(all, &s.x[place(i)], sizeof(double));
	return all;
}

const struct app_program app_program = {
	.name = "gauss",
	.what = "Gaussian elimination and back-substitution.",
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
