// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * IS: ranks of integer keys, by counting into buckets that all share.
 *
 * D. Bailey et al., "The NAS parallel benchmarks", RNR-94-007, 1994, kernel IS: each iteration
 * changes two keys and ranks all anew. H. Lu et al., "Message passing versus distributed shared
 * memory on networks of workstations", Supercomputing 1995, on IS: a worker counts its keys in
 * private buckets and adds these to the shared ones under one lock; after a barrier it reads all of
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "app.h"

#define LOCK_BUCKETS 0

static long log2_keys, log2_buckets, iterations;

static struct state {
	uint32_t *key;
	uint32_t *rank;		/* by key's place: how many keys are less */
	uint32_t *bucket;	/* how many keys have that value */
} s;

static const struct app_option options[] = {
	{ "log2-keys", "logarithm of the keys", &log2_keys, 1, 31, { 15, 22, 23 } },
	{ "log2-buckets", "logarithm of the largest key", &log2_buckets, 1, 28, { 11, 17, 19 } },
	{ "iterations", "times that all keys are ranked", &iterations, 1, 1000, { 5, 800, 16 } },
	{ 0 }
};

static size_t keys(void)
{
	return (size_t)1 << log2_keys;
}

static size_t buckets(void)
{
	return (size_t)1 << log2_buckets;
}

static const char *check(unsigned int workers)
{
	(void)workers;
	if (2 * (size_t)iterations > keys())
		return "there are too many iterations for so few keys";
	return (size_t)iterations > buckets() ? "there are more iterations than buckets" : NULL;
}

static void layout(void)
{
	s.key = app_alloc(keys(), sizeof(*s.key));
	s.rank = app_alloc(keys(), sizeof(*s.rank));
	s.bucket = app_alloc(buckets(), sizeof(*s.bucket));
}

/* The mean of four random numbers, as in the benchmark. */
static uint32_t initial(size_t i)
{
	double sum = 0;
	int k;

	for (k = 0; k < 4; k++)
		sum += app_random(1, 4 * i + (size_t)k);
	return (uint32_t)(sum / 4 * (double)buckets());
}

static void fill(const struct app_worker *w)
{
	size_t i, end;

	app_share(keys(), w->id, w->count, &i, &end);
	for (; i < end; i++) {
		s.key[i] = initial(i);
		if ((i + 1) % APP_INPUT_STEP == 0)
			app_progress(w, (long)i + 1, (long)end);
	}
}

static void clear_buckets(const struct app_worker *w)
{
	size_t first, end;

	app_share(buckets(), w->id, w->count, &first, &end);
	memset(s.bucket + first, 0, (end - first) * sizeof(*s.bucket));
}

static void change_key(size_t i, uint32_t value, size_t first, size_t end)
{
	if (i >= first && i < end)
		s.key[i] = value;
}

static void work(const struct app_worker *w)
{
	uint32_t *own = app_private(buckets(), sizeof(*own));
	size_t first, end, i;
	long iteration;

	app_share(keys(), w->id, w->count, &first, &end);
	for (iteration = 0; iteration < iterations; iteration++) {
		change_key((size_t)iteration, (uint32_t)iteration, first, end);
		change_key((size_t)(iteration + iterations), (uint32_t)(buckets() - 1 - (size_t)iteration),
			   first, end);
		clear_buckets(w);
		memset(own, 0, buckets() * sizeof(*own));
		for (i = first; i < end; i++)
			own[s.key[i]]++;
		app_barrier(w);

		app_lock(w, LOCK_BUCKETS);
		for (i = 0; i < buckets(); i++)
			s.bucket[i] += own[i];
		app_unlock(w, LOCK_BUCKETS);
		app_barrier(w);

		own[0] = 0;
		for (i = 1; i < buckets(); i++)
			own[i] = own[i - 1] + s.bucket[i - 1];
		for (i = first; i < end; i++)
			s.rank[i] = own[s.key[i]];
		app_barrier(w);
		app_progress(w, iteration + 1, iterations);
	}
	free(own);
}

/*
 * Put in the place of its rank, or one of the next where its equals are, each key has one, all are in
 * order, and those with a rank in common, and no others, are equal.
 */
static const char *right(void)
{
	uint32_t *sorted = app_private(keys(), sizeof(*sorted));
	uint32_t *taken = app_private(keys(), sizeof(*taken));
	const char *wrong = NULL;
	size_t i;

	memset(taken, 0, keys() * sizeof(*taken));
	for (i = 0; i < keys() && !wrong; i++) {
		size_t at = s.rank[i];

		if (at >= keys() || at + taken[at] >= keys())
			wrong = app_text("key %zu has rank %zu", i, at);
		else
			sorted[at + taken[at]++] = s.key[i];
	}
	for (i = 0; i < keys() && !wrong; i += taken[i])
		if (!taken[i])
			wrong = app_text("no key has rank %zu", i);
	for (i = 1; i < keys() && !wrong; i++)
		if (taken[i] ? sorted[i] <= sorted[i - 1] : sorted[i] != sorted[i - 1])
			wrong = app_text("the keys in places %zu and %zu do not have their ranks", i - 1, i);
	free(taken);
	free(sorted);
	return wrong;
}

static const char *same(const void *shared)
{
	const struct state *theirs = shared;

	return memcmp(theirs->rank, s.rank, keys() * sizeof(*s.rank)) ? "a rank differs" : NULL;
}

static uint64_t sum(void)
{
	return app_sum(0, s.rank, keys() * sizeof(*s.rank));
}

const struct app_program app_program = {
	.name = "is",
	.what = "Ranks of integers by bucket sort.",
	.options = options,
	.state = &s,
	.state_bytes = sizeof(s),
	.agrees = "in order, equal to the sequential run",
	.check = check,
	.layout = layout,
	.fill = fill,
	.work = work,
	.right = right,
	.same = same,
	.sum = sum,
};
