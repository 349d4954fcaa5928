// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * barriers REGION THREADS ROUNDS: the whole cluster, subsets of it, and several keys at once.
 *
 * Thread T of every rank uses keys of its own. Before a barrier each party stores the round into its
 * slot; behind it the slots of all parties must show it. Odd rounds use subsets: even and odd ranks
 * apart, so that the set of parties of a thread's barriers changes all the time.
 */
#include "common.h"

#define KEY_WHOLE 10000u
#define KEY_SUBSET 20000u
#define SLOTS 64	/* of one thread number; ranks at most */

static struct dsm *d;
static long rounds;

static volatile uint64_t *slot(long thread, long rank)
{
	volatile uint64_t *slots = dsm_base(d);

	return &slots[thread * SLOTS + rank];
}

/* One step by the ranks @first, @first + @step, ... */
static void meet(long thread, uint64_t key, long first, long step, uint64_t value)
{
	long ranks = dsm_ranks(d), rank;
	unsigned int parties = (unsigned int)((ranks - first + step - 1) / step);

	*slot(thread, dsm_rank(d)) = value;
	barrier(d, key, parties);
	for (rank = first; rank < ranks; rank += step)
		CHECK(*slot(thread, rank) == value,
		      "thread %ld: rank %ld shows %lu behind barrier %lu of step %lu", thread, rank,
		      *slot(thread, rank), key, value);
	/* Nobody stores the next value before all have looked. */
	barrier(d, key, parties);
}

static void *work(void *arg)
{
	long thread = (long)arg, side = dsm_rank(d) & 1, round;

	for (round = 1; round <= rounds; round++) {
		if (round & 1)
			meet(thread, KEY_SUBSET + (uint64_t)(2 * thread + side), side, 2,
			     (uint64_t)round);
		else
			meet(thread, KEY_WHOLE + (uint64_t)thread, 0, 1, (uint64_t)round);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc == 4, "usage: barriers REGION THREADS ROUNDS");
	rounds = number(argv[3], 1, 100000);
	d = open_region(argv[1]);
	CHECK(dsm_ranks(d) <= SLOTS, "at most %d ranks", SLOTS);
	run_threads(number(argv[2], 1, 32), work);
	must(dsm_close(d), "close");
	return 0;
}
