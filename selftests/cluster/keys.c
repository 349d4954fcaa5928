// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * keys REGION FIRST COUNT THREADS: takes and gives up COUNT different lock keys, once each, shared
 * out among the threads. REGION "-" is /dev/dsm. Never looks at memory: the driver looks at what the keys left behind.
 */
#include "common.h"

static struct dsm *d;
static uint64_t first, count;
static long threads;

static void *work(void *thread)
{
	uint64_t i;

	for (i = (uint64_t)(long)thread; i < count; i += (uint64_t)threads) {
		/* Spread over all 64 bits. */
		uint64_t key = (first + i) * 0x9e3779b97f4a7c15ull;

		lock(d, key);
		unlock(d, key);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	CHECK(argc == 5, "usage: keys REGION FIRST COUNT THREADS");
	d = open_region(strcmp(argv[1], "-") ? argv[1] : NULL);
	first = (uint64_t)number(argv[2], 0, 1l << 60);
	count = (uint64_t)number(argv[3], 1, 1l << 30);
	threads = number(argv[4], 1, 64);
	run_threads(threads, work);
	must(dsm_close(d), "close");
	return 0;
}
