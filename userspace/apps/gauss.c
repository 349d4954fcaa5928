// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Gauss: a system of linear equations by elimination and back-substitution, rows dealt out to workers.
 *
 * G. Golub, C. Van Loan, "Matrix Computations", 3rd edition, sections 3.1 (column oriented back
 * substitution) and 3.2 (outer product elimination); no pivoting, the matrix needs none. A flag for
 * each row tells that it is a pivot row, a second one that its unknown is known. Who owns the next
 * row brings that one up to date first, so that nobody waits for the rest.
 */
#include <math.h>
#include <string.h>

#include "app.h"

static long n;

static struct state {
	double *a;		/* rows, each from a new page on */
	double *right_hand;	/* by owner, so that no page has two writers */
	double *x;		/* likewise */
} s;

static size_t workers;		/* of the shared run, also while one does it again */

static const struct app_option options[] = {
	{ "n", "equations", &n, 1, 16384, { 160, 1920, 2048 } },
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

static double *row_of(size_t i)
{
	return s.a + i * round_up(order());
}

/* Place of row @i in right_hand and x. */
static size_t place(size_t i)
{
	return i % workers * round_up(order() / workers + 1) + i / workers;
}

static const char *check(unsigned int count)
{
	workers = count;
	return NULL;
}

static void layout(void)
{
	size_t part = round_up(order() / workers + 1);

	s.a = app_alloc(order(), round_up(order()) * sizeof(double));
	s.right_hand = app_alloc(workers, part * sizeof(double));
	s.x = app_alloc(workers, part * sizeof(double));
	app_flags(2 * order());
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
	size_t i, j;

	for (i = w->id; i < order(); i += w->count) {
		for (j = 0; j < order(); j++)
			row_of(i)[j] = initial(i, j);
		s.right_hand[place(i)] = initial_right_hand(i);
	}
}

static size_t flag_pivot(size_t row)
{
	return row;
}

static size_t flag_known(size_t row)
{
	return order() + row;
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

/* The first row from @k on that @w owns. */
static size_t first_own(const struct app_worker *w, size_t k)
{
	return k + (w->id + w->count - k % w->count) % w->count;
}

static void eliminate_all(const struct app_worker *w)
{
	size_t k, i;

	if (!w->id)
		app_flag_set(w, flag_pivot(0));
	for (k = 0; k < order() - 1; k++) {
		if (k % w->count != w->id)
			app_flag_wait(w, flag_pivot(k));
		for (i = first_own(w, k + 1); i < order(); i += w->count) {
			eliminate(k, i);
			if (i == k + 1)
				app_flag_set(w, flag_pivot(i));
		}
		app_progress(w, (long)k + 1, n);
	}
}

static void tell_unknown(const struct app_worker *w, size_t k)
{
	s.x[place(k)] = s.right_hand[place(k)] / row_of(k)[k];
	app_flag_set(w, flag_known(k));
}

static void substitute_back(const struct app_worker *w)
{
	const long count = (long)w->count;
	long k, i;

	if ((n - 1) % count == (long)w->id)
		tell_unknown(w, order() - 1);
	for (k = n - 1; k > 0; k--) {
		double x;

		if (k % count != (long)w->id)
			app_flag_wait(w, flag_known((size_t)k));
		x = s.x[place((size_t)k)];
		/* Own rows from the last one before k on. */
		for (i = k - 1 - (k - 1 + count - (long)w->id) % count; i >= 0; i -= count) {
			s.right_hand[place((size_t)i)] -= row_of((size_t)i)[k] * x;
			if (i == k - 1)
				tell_unknown(w, (size_t)i);
		}
	}
}

static void work(const struct app_worker *w)
{
	eliminate_all(w);
	substitute_back(w);
}

static const char *right(void)
{
	double worst = 0;
	size_t i, j;

	for (i = 0; i < order(); i++) {
		double rest = -initial_right_hand(i);

		for (j = 0; j < order(); j++)
			rest += initial(i, j) * s.x[place(j)];
		worst = fmax(worst, fabs(rest));
	}
	return worst < 1e-12 ? NULL : app_text("A x and the right hand differ by %g", worst);
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
};
