// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * EM3D: electric and magnetic fields on a graph.
 *
 * D. Culler et al., "Parallel programming in Split-C", Supercomputing 1993, on EM3D: a graph with
 * two kinds of nodes, E and H. In turn, the value of each node of one kind is lessened by a
 * weighted sum of its neighbours, which are of the other kind. A worker owns a block of nodes of
 * each kind. Neighbours lie near by number; some lie farther away, so that they mostly belong to
 * the next worker.
 */
#include <stdlib.h>
#include <string.h>

#include "app.h"

static long nodes, degree, far_percent, iterations;
static unsigned int workers;

enum { E, H, KINDS };

static struct state {
	double *value[KINDS];
	uint32_t *neighbour[KINDS];	/* degree for each node */
	double *weight[KINDS];		/* likewise */
} s;

/* Values grow by 1.64 in each at most, as weights of a node add up to less than half; they must stay numbers. */
#define STEPS_MAX 1000

static const struct app_option options[] = {
	{ "nodes", "nodes, half of them of each kind", &nodes, 4, 1 << 26, { 8000, 100000, 64000 } },
	{ "degree", "neighbours of a node", &degree, 1, 1000, { 8, 60, 64 } },
	{ "far", "percentage of neighbours that lie far away", &far_percent, 0, 100, { 10, 10, 10 } },
	{ "iterations", "steps of both fields", &iterations, 1, STEPS_MAX, { 10, 400, 100 } },
	{ 0 }
};

static size_t per_kind(void)
{
	return (size_t)nodes / 2;
}

static const char *check(unsigned int count)
{
	workers = count;
	return count > per_kind() ? "there are more workers than nodes of a kind" : NULL;
}

/* The node in the middle at which another worker's begin is at the beginning of a page. */
static double *make_values(void)
{
	const size_t per_page = APP_PAGE_BYTES / sizeof(double);
	size_t middle, end;

	app_share(per_kind(), workers / 2, workers, &middle, &end);
	return (double *)app_alloc(per_kind() + per_page, sizeof(double)) + (per_page - middle % per_page) % per_page;
}

static void layout(void)
{
	int kind;

	for (kind = 0; kind < KINDS; kind++) {
		s.value[kind] = make_values();
		s.neighbour[kind] = app_alloc(per_kind() * (size_t)degree, sizeof(uint32_t));
		s.weight[kind] = app_alloc(per_kind() * (size_t)degree, sizeof(double));
	}
}

/* Nodes further away than that are nobody's neighbours; the numbers form a ring. */
static size_t reach_far(void)
{
	return per_kind() / 8;
}

/* Up to 1/128 of all nodes away if near. */
static uint32_t find_neighbour(int kind, size_t edge)
{
	size_t n = per_kind();
	size_t reach = app_random(2, 2 * edge + (size_t)kind) * 100 < (double)far_percent ? reach_far() : n / 128;
	size_t away = (size_t)(app_random(3, 2 * edge + (size_t)kind) * (double)(2 * reach + 1));

	return (uint32_t)((edge / (size_t)degree + n + away - reach) % n);
}

static void fill(const struct app_worker *w)
{
	size_t i, k, edge, end;
	int kind;

	for (kind = 0; kind < KINDS; kind++) {
		app_share(per_kind(), w->id, w->count, &i, &end);
		for (; i < end; i++) {
			s.value[kind][i] = app_random(1, 2 * i + (size_t)kind);
			for (k = 0; k < (size_t)degree; k++) {
				edge = i * (size_t)degree + k;
				s.neighbour[kind][edge] = find_neighbour(kind, edge);
				s.weight[kind][edge] = (app_random(4, 2 * edge + (size_t)kind) - 0.5) /
						       (double)degree;
			}
			app_progress(w, (long)i + 1, (long)end);
		}
	}
}

static void update(int kind, size_t i, size_t end)
{
	const double *other = s.value[!kind];
	size_t k;

	for (; i < end; i++) {
		const uint32_t *neighbour = s.neighbour[kind] + i * (size_t)degree;
		const double *weight = s.weight[kind] + i * (size_t)degree;
		double sum = 0;

		for (k = 0; k < (size_t)degree; k++)
			sum += weight[k] * other[neighbour[k]];
		s.value[kind][i] -= sum;
	}
}

/* @count nodes from @first on, in the ring. */
static void hint(const struct app_worker *w, const double *value, size_t first, size_t count)
{
	size_t rest = per_kind() - first;

	app_hint(w, value + first, (count < rest ? count : rest) * sizeof(*value));
	if (count > rest)
		app_hint(w, value, (count - rest) * sizeof(*value));
}

/* Nodes in the middle first: what others wrote before the barrier is on its way meanwhile. */
static void step(const struct app_worker *w, int kind)
{
	size_t n = per_kind(), reach = reach_far(), first, end;

	app_share(n, w->id, w->count, &first, &end);
	if (w->count == 1 || end - first <= 2 * reach) {
		update(kind, first, end);
	} else {
		hint(w, s.value[!kind], (first + n - reach) % n, reach);
		hint(w, s.value[!kind], end % n, reach);
		update(kind, first + reach, end - reach);
		update(kind, first, first + reach);
		update(kind, end - reach, end);
	}
	app_barrier(w);
}

static void work(const struct app_worker *w)
{
	long i;

	for (i = 0; i < iterations; i++) {
		step(w, E);
		step(w, H);
		app_progress(w, i + 1, iterations);
	}
}

/* The steps of the adjoint, in reverse order: what a weight moves forward, it moves back. */
static void step_back(double *const weigher[KINDS], int kind)
{
	size_t edge;

	for (edge = 0; edge < per_kind() * (size_t)degree; edge++)
		weigher[!kind][s.neighbour[kind][edge]] -=
			s.weight[kind][edge] * weigher[kind][edge / (size_t)degree];
}

/*
 * Each step is linear. So a weighted sum of the results is that sum of the inputs for which the
 * weights went through all steps backwards.
 */
static const char *right(void)
{
	double *weigher[KINDS];
	double before = 0, after = 0;
	size_t i;
	long k;
	int kind;

	for (kind = 0; kind < KINDS; kind++) {
		weigher[kind] = app_private(per_kind(), sizeof(double));
		for (i = 0; i < per_kind(); i++) {
			weigher[kind][i] = app_random(5, 2 * i + (size_t)kind);
			after += weigher[kind][i] * s.value[kind][i];
		}
	}
	for (k = 0; k < iterations; k++) {
		step_back(weigher, H);
		step_back(weigher, E);
		app_progress(NULL, k + 1, iterations);
	}
	for (kind = 0; kind < KINDS; kind++) {
		for (i = 0; i < per_kind(); i++)
			before += weigher[kind][i] * app_random(1, 2 * i + (size_t)kind);
		free(weigher[kind]);
	}
	return app_distance(before, after, 1) < 1e-9 ? NULL :
	       app_text("a weighted sum is %g, not %g", after, before);
}

static const char *same(const void *shared)
{
	const struct state *theirs = shared;
	int kind;

	for (kind = 0; kind < KINDS; kind++)
		if (memcmp(theirs->value[kind], s.value[kind], per_kind() * sizeof(double)))
			return app_text("a value of kind %d differs", kind);
	return NULL;
}

static uint64_t sum(void)
{
	uint64_t all = 0;
	int kind;

	for (kind = 0; kind < KINDS; kind++)
		all = app_sum(all, s.value[kind], per_kind() * sizeof(double));
	return all;
}

const struct app_program app_program = {
	.name = "em3d",
	.what = "Electric and magnetic fields on a graph.",
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
