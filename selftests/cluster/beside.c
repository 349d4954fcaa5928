// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * beside REGION PAGES ROUNDS: stores beside merges.
 *
 * In each process one thread takes the lock, checks what all others wrote under it, and writes; a sibling that never
 * acquires stores into its own bytes of the same words all the time, and must find there what it stored. Of each 8-byte
 * word rank R has byte R for the lock's holder and byte 4 + R for the sibling.
 */
#include <stdatomic.h>

#include "common.h"

#define WORD_BYTES 8
#define HALF 4
#define LOCK_KEY 3
#define BARRIER_KEY 4

static struct dsm *d;
static volatile uint8_t *bytes;
static long words;
static atomic_bool stop;

static uint8_t value(long who, long at, long round)
{
	return (uint8_t)(1 + (who * 37 + at * 11 + round * 59) % 255);
}

/* Behind these pages: how often each rank has written under the lock, and its sibling in all. */
static volatile uint64_t *rounds_of(void)
{
	return (volatile uint64_t *)(bytes + words * WORD_BYTES);
}

static void check(long who, long byte, long round)
{
	long w;

	for (w = 0; w < words; w++)
		CHECK(bytes[w * WORD_BYTES + byte] == (round ? value(who, w, round) : 0),
		      "word %ld, byte %ld is %u, not %u of round %ld", w, byte, bytes[w * WORD_BYTES + byte],
		      round ? value(who, w, round) : 0, round);
}

static void fill(long who, long byte, long round)
{
	long w;

	for (w = 0; w < words; w++)
		bytes[w * WORD_BYTES + byte] = value(who, w, round);
}

/* Returns how often it went through its bytes. */
static void *sibling(void *unused)
{
	long own = HALF + dsm_rank(d), round = 0;

	(void)unused;
	do {
		check(own, own, round);
		fill(own, own, ++round);
	} while (!atomic_load(&stop));
	return (void *)round;
}

int main(int argc, char **argv)
{
	long rounds, round, rank;
	void *stores;
	pthread_t t;

	CHECK(argc == 4, "usage: beside REGION PAGES ROUNDS");
	words = number(argv[2], 1, 1024) * PAGE_BYTES / WORD_BYTES;
	rounds = number(argv[3], 1, 10000);
	d = open_region(argv[1]);
	CHECK(dsm_ranks(d) <= HALF, "at most %d ranks", HALF);
	bytes = dsm_base(d);
	barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
	CHECK(!pthread_create(&t, NULL, sibling, NULL), "no thread");
	for (round = 1; round <= rounds; round++) {
		lock(d, LOCK_KEY);
		for (rank = 0; rank < dsm_ranks(d); rank++)
			check(rank, rank, (long)rounds_of()[rank]);
		fill(dsm_rank(d), dsm_rank(d), round);
		rounds_of()[dsm_rank(d)] = (uint64_t)round;
		unlock(d, LOCK_KEY);
	}
	atomic_store(&stop, true);
	pthread_join(t, &stores);
	rounds_of()[HALF + dsm_rank(d)] = (uint64_t)(long)stores;
	barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
	for (rank = 0; rank < dsm_ranks(d); rank++) {
		check(rank, rank, rounds);
		check(HALF + rank, HALF + rank, (long)rounds_of()[HALF + rank]);
	}
	if (!dsm_rank(d))
		printf("a sibling stored %ld times\n", (long)stores);
	must(dsm_close(d), "close");
	return 0;
}
