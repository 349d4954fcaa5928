// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * counter REGION THREADS ITERATIONS LOCKS: counters under locks, by all ranks and threads.
 *
 * Each counter is kept twice, next to the others and on a page of its own: inside the lock both
 * must agree. In the end each rank checks every total. Never touches a counter outside its lock.
 */
#include "common.h"

#define BARRIER_KEY 1
#define LOCK_KEY 1000

static struct dsm *d;
static long threads, iterations, locks;
static volatile uint64_t *near, *far;
static uint64_t far_step = PAGE_BYTES / sizeof(uint64_t);

static void add(long i)
{
	uint64_t a, b;

	lock(d, (uint64_t)(LOCK_KEY + i));
	a = near[i];
	b = far[(uint64_t)i * far_step];
	CHECK(a == b, "counter %ld: %lu next to the others, %lu on its page", i, a, b);
	near[i] = a + 1;
	far[(uint64_t)i * far_step] = b + 1;
	unlock(d, (uint64_t)(LOCK_KEY + i));
}

static void *work(void *thread)
{
	long first = (long)thread + dsm_rank(d), i;

	for (i = 0; i < iterations; i++)
		add((first + i) % locks);
	return NULL;
}

/* How often @counter was the one to add to. */
static uint64_t expected(long counter)
{
	uint64_t total = 0;
	long rank, thread, i;

	for (rank = 0; rank < dsm_ranks(d); rank++)
		for (thread = 0; thread < threads; thread++)
			for (i = 0; i < iterations; i++)
				total += (rank + thread + i) % locks == counter;
	return total;
}

int main(int argc, char **argv)
{
	long i;

	CHECK(argc == 5, "usage: counter REGION THREADS ITERATIONS LOCKS");
	threads = number(argv[2], 1, 64);
	iterations = number(argv[3], 1, 1000000);
	locks = number(argv[4], 1, 512);
	d = open_region(argv[1]);
	near = dsm_base(d);
	far = near + far_step;
	barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
	run_threads(threads, work);
	barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
	for (i = 0; i < locks; i++) {
		CHECK(near[i] == expected(i), "counter %ld is %lu, not %lu", i, near[i], expected(i));
		CHECK(far[(uint64_t)i * far_step] == expected(i), "far counter %ld is %lu, not %lu", i,
		      far[(uint64_t)i * far_step], expected(i));
	}
	must(dsm_close(d), "close");
	return 0;
}
