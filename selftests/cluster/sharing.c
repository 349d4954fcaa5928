// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * sharing REGION PAGES ROUNDS: false sharing at neighbouring bytes.
 *
 * Of each 8-byte word, each rank stores to the byte with its number only. Between two barriers
 * all bytes of all ranks must be those of the round. A sibling thread releases all the time, so
 * that pages are downgraded and compared while they are being written.
 */
#include <stdatomic.h>

#include "common.h"

#define WORD_BYTES 8
#define BARRIER_KEY 2

static struct dsm *d;
static atomic_bool stop;

static uint8_t value(long rank, long at, long round)
{
	return (uint8_t)(1 + (rank * 37 + at * 11 + round * 59) % 255);
}

static void *releaser(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop))
		must(dsm_release(d), "release");
	return NULL;
}

static void check(const volatile uint8_t *bytes, long words, long round)
{
	long ranks = dsm_ranks(d), rank, w;

	for (w = 0; w < words; w++)
		for (rank = 0; rank < ranks; rank++)
			CHECK(bytes[w * WORD_BYTES + rank] == value(rank, w, round),
			      "round %ld, word %ld, byte of rank %ld is %u, not %u", round, w, rank,
			      bytes[w * WORD_BYTES + rank], value(rank, w, round));
}

int main(int argc, char **argv)
{
	volatile uint8_t *bytes;
	long words, rounds, round, w;
	pthread_t sibling;

	CHECK(argc == 4, "usage: sharing REGION PAGES ROUNDS");
	words = number(argv[2], 1, 1024) * PAGE_BYTES / WORD_BYTES;
	rounds = number(argv[3], 1, 10000);
	d = open_region(argv[1]);
	CHECK(dsm_ranks(d) <= WORD_BYTES, "at most %d ranks", WORD_BYTES);
	bytes = dsm_base(d);
	CHECK(!pthread_create(&sibling, NULL, releaser, NULL), "no thread");
	for (round = 0; round < rounds; round++) {
		barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
		for (w = 0; w < words; w++)
			bytes[w * WORD_BYTES + dsm_rank(d)] = value(dsm_rank(d), w, round);
		barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
		check(bytes, words, round);
	}
	atomic_store(&stop, true);
	pthread_join(sibling, NULL);
	must(dsm_close(d), "close");
	return 0;
}
