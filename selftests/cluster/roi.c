// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * roi REGION PAGES MOVES: rank 0 fills all pages, then each rank works on PAGES pages of its own.
 *
 * One rank per node. Behind dsm_roi_begin() each rank is the first to touch its pages: with MOVES 1 it becomes their
 * home, so that it writes them without twins and diffs; with MOVES 0 homes stay. All bytes must be there either way.
 */
#include <linux/dsm.h>

#include "common.h"

#define ROUNDS 5
#define KEY 1000u

static struct dsm *d;
static long pages;

static volatile uint64_t *word(long rank, long page, unsigned int i)
{
	volatile uint64_t *words = dsm_base(d);

	return &words[(rank * pages + page) * (long)(PAGE_BYTES / sizeof(*words)) + i];
}

static void work(void)
{
	long page, round;

	/* Half of them are read first. */
	for (page = 0; page < pages; page += 2)
		CHECK(*word(dsm_rank(d), page, 0), "page %ld is empty", page);
	for (round = 1; round <= ROUNDS; round++) {
		for (page = 0; page < pages; page++)
			*word(dsm_rank(d), page, 1) = (uint64_t)round;
		barrier(d, KEY, (unsigned int)dsm_ranks(d));
	}
}

static void check_all(void)
{
	long rank, page;

	for (rank = 0; rank < dsm_ranks(d); rank++)
		for (page = 0; page < pages; page++) {
			CHECK(*word(rank, page, 0) == (uint64_t)(rank * pages + page + 1),
			      "page %ld of rank %ld lost what it was filled with", page, rank);
			CHECK(*word(rank, page, 1) == ROUNDS, "page %ld of rank %ld shows round %lu", page, rank,
			      *word(rank, page, 1));
		}
}

int main(int argc, char **argv)
{
	uint64_t moved, twins;
	long i;

	CHECK(argc == 4, "usage: roi REGION PAGES MOVES");
	pages = number(argv[2], 1, 1000);
	d = open_region(argv[1]);
	if (!dsm_rank(d))
		for (i = 0; i < pages * dsm_ranks(d); i++)
			*word(0, i, 0) = (uint64_t)i + 1;
	must(dsm_roi_begin(d, (unsigned int)dsm_ranks(d)), "dsm_roi_begin");
	work();
	must(dsm_roi_end(d), "dsm_roi_end");
	moved = dsm_roi_count(d, DSM_STAT_MIGRATIONS);
	twins = dsm_roi_count(d, DSM_STAT_TWINS);
	if (number(argv[3], 0, 1)) {
		CHECK(moved == (dsm_rank(d) ? (uint64_t)pages : 0), "%lu pages moved to rank %d", moved, dsm_rank(d));
		CHECK(!twins, "%lu twins at rank %d", twins, dsm_rank(d));
	} else {
		CHECK(!moved, "%lu pages moved to rank %d", moved, dsm_rank(d));
	}
	CHECK(dsm_roi_end(d) < 0, "dsm_roi_end() without a begin");
	check_all();
	must(dsm_close(d), "close");
	return 0;
}
