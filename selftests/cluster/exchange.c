// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * exchange COUNT STRIDE REGION...: in every region each rank stores to its word of COUNT places,
 * STRIDE bytes apart, and after a barrier reads those of all ranks; words that nobody stored to are zero.
 * Used for sparse, for many, and for differently homed regions.
 */
#include "common.h"

#define BARRIER_KEY 7
#define PLACE_WORDS 64

static long count, stride;

static uint64_t value(const char *region, long place, long rank, long round)
{
	uint64_t v = 14695981039346656037ull;

	while (*region)
		v = (v ^ (uint8_t)*region++) * 1099511628211ull;
	return v + (uint64_t)(place * 1000 + rank * 10 + round);
}

static volatile uint64_t *at(struct dsm *d, long place)
{
	volatile char *base = dsm_base(d);

	return (volatile uint64_t *)(base + place * stride);
}

static void check(struct dsm *d, const char *name, long round)
{
	long place, word;

	for (place = 0; place < count; place++)
		for (word = 0; word < PLACE_WORDS; word++) {
			uint64_t want = word < dsm_ranks(d) ? value(name, place, word, round) : 0;

			CHECK(at(d, place)[word] == want, "%s, place %ld, word %ld: %#lx, not %#lx",
			      name, place, word, at(d, place)[word], want);
		}
}

static void use(const char *name)
{
	struct dsm *d = open_region(name);
	unsigned int ranks = (unsigned int)dsm_ranks(d);
	long round, place;

	CHECK(ranks < PLACE_WORDS, "too many ranks");
	CHECK((uint64_t)(count - 1) * (uint64_t)stride + PLACE_WORDS * 8 <= dsm_size(d),
	      "%ld places do not fit into %s", count, name);
	for (round = 0; round < 2; round++) {
		for (place = 0; place < count; place++)
			at(d, place)[dsm_rank(d)] = value(name, place, dsm_rank(d), round);
		barrier(d, BARRIER_KEY, ranks);
		check(d, name, round);
		barrier(d, BARRIER_KEY, ranks);
	}
	must(dsm_close(d), "close");
}

int main(int argc, char **argv)
{
	int i;

	CHECK(argc >= 4, "usage: exchange COUNT STRIDE REGION...");
	count = number(argv[1], 1, 1000000);
	stride = number(argv[2], PLACE_WORDS * 8, 1l << 40);
	for (i = 3; i < argc; i++)
		use(argv[i]);
	return 0;
}
