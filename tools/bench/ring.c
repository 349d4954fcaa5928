// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: a lock that comes through io_uring while its thread computes, against one after the
 * other. Rank 1 takes keys that nobody has used, whose tokens are free at rank 0's node or here;
 * the latter are not counted. Writes nothing under any lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dsm_uring.h>
#include "bench.h"

#define FRESH_KEYS 0x20000000ull
#define COMPUTE_NS 2e6
#define TRIES 20	/* for each trial; half of the keys are free here */

static volatile double sink;

static void compute(long steps)
{
	double sum = 0;
	long k;

	for (k = 0; k < steps; k++)
		sum += (k % 2 ? -4.0 : 4.0) / (double)(2 * k + 1);
	sink = sum;
}

/* So many steps that they take about COMPUTE_NS here: work, which others' interrupts make longer. */
static long enough_steps(void)
{
	long steps = 1000;
	double begin;

	for (;; steps *= 2) {
		begin = bench_now_ns();
		compute(steps);
		if (bench_now_ns() - begin > COMPUTE_NS)
			return steps;
	}
}

static void lock_then_compute(const struct bench *b, struct io_uring *ring, uint64_t key, long steps)
{
	(void)ring;
	bench_check(dsm_lock(b->d, key), "lock");
	compute(steps);
}

static void lock_while_computing(const struct bench *b, struct io_uring *ring, uint64_t key,
				 long steps)
{
	struct io_uring_cqe *cqe;
	int ret;

	dsm_prep_lock(io_uring_get_sqe(ring), b->d, key);
	io_uring_submit(ring);
	compute(steps);
	ret = io_uring_wait_cqe(ring, &cqe);
	if (!ret)
		ret = cqe->res;
	if (ret) {
		fprintf(stderr, "dsm-bench: lock by io_uring: %s\n", strerror(-ret));
		exit(EXIT_FAILURE);
	}
	io_uring_cqe_seen(ring, cqe);
}

/* One trial with the next key; not added if that was free here. */
static void trial(const struct bench *b, struct io_uring *ring, struct series *s, long steps,
		  void (*way)(const struct bench *, struct io_uring *, uint64_t, long))
{
	static uint64_t next = FRESH_KEYS;
	uint64_t key = next++, before = bench_stat(b, DSM_STAT_LOCKS_REMOTE);
	double us;

	series_start(s, b);
	way(b, ring, key, steps);
	us = (bench_now_ns() - s->begin) / 1e3;
	if (bench_stat(b, DSM_STAT_LOCKS_REMOTE) != before)
		series_add(s, us);
	bench_check(dsm_unlock(b->d, key), "unlock");
}

static void all_ways(const struct bench *b, struct io_uring *ring)
{
	long trials = bench_trials(b, 200), steps = enough_steps(), tries;
	struct series alone, after, beside;

	series_init(&alone, "compute_alone", "us", trials, NULL);
	series_init(&after, "lock_then_compute", "us", trials, b);
	series_init(&beside, "lock_while_computing", "us", trials, b);
	for (tries = 0; beside.n < trials && tries < TRIES * trials; tries++) {
		series_start(&alone, NULL);
		compute(steps);
		series_stop(&alone);
		trial(b, ring, &after, steps, lock_then_compute);
		trial(b, ring, &beside, steps, lock_while_computing);
	}
	series_print(&alone, b);
	series_print(&after, b);
	series_print(&beside, b);
}

int test_ring(struct bench *b)
{
	struct io_uring ring;
	int ret = 0;

	bench_barrier(b);
	if (b->rank == 1) {
		ret = io_uring_queue_init(4, &ring, 0);
		if (ret)
			fprintf(stderr, "dsm-bench: io_uring_queue_init: %s\n", strerror(-ret));
	}
	if (b->rank == 1 && !ret) {
		all_ways(b, &ring);
		io_uring_queue_exit(&ring);
	}
	bench_barrier(b);
	return ret;
}
