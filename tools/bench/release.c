// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: releases. Rank 1 writes into pages homed at rank 0's node and releases them; faults
 * and twins are made before the time starts. Never has two writers of one page.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../uapi/dsm.h"
#include "bench.h"

#define PAGES_MOST 256u
#define TOGETHER_PAGES 64ul
#define BULK_MIN "/sys/class/dsm/dsm/tunables/bulk_min"

/* Change @runs runs of @bytes in each of @pages pages, different from what is there. */
static void dirty(const struct bench *b, unsigned int pages, unsigned int runs, size_t bytes)
{
	static unsigned char value;
	size_t step = BENCH_PAGE_BYTES / runs;
	unsigned int i, r;

	if (!++value)
		value = 1;
	for (i = 0; i < pages; i++)
		for (r = 0; r < runs; r++)
			memset(b->base + i * BENCH_PAGE_BYTES + r * step, value, bytes);
}

/* One that only warms up is not in @s. */
static void release(const struct bench *b, struct series *s, bool counts)
{
	if (counts)
		series_start(s, b);
	bench_check(dsm_release(b->d), "release");
	if (counts)
		series_stop(s);
}

static void timed(const struct bench *b, const char *name, long trials, unsigned int pages,
		  unsigned int runs, size_t bytes)
{
	struct series s;
	long i;

	if (b->rank == 1) {
		series_init(&s, name, "us", trials, b);
		for (i = -1; i < trials; i++) {
			dirty(b, pages, runs, bytes);
			release(b, &s, i >= 0);
		}
		series_print(&s, b);
	}
	bench_barrier(b);
}

/* Every page has been written at its home, and is mapped at rank 1. */
static void prepare(const struct bench *b)
{
	unsigned int i;

	if (!b->rank)
		for (i = 0; i < PAGES_MOST; i++)
			b->base[i * BENCH_PAGE_BYTES] = 1;
	bench_barrier(b);
	if (b->rank == 1)
		for (i = 0; i < PAGES_MOST; i++)
			(void)*(volatile char *)(b->base + i * BENCH_PAGE_BYTES);
	bench_barrier(b);
}

/*
 * A bare release tells the region's synchronisation manager, which a hash of the region chooses;
 * more than the diff and its acknowledgement say that it is not rank 1's node.
 */
int test_manager(struct bench *b)
{
	uint64_t v[2][DSM_STAT_COUNT], moved;
	int i, least = -1;

	prepare(b);
	for (i = 0; b->rank == 1 && i < 5; i++) {
		dirty(b, 1, 1, 8);
		bench_stats(b, v[0], DSM_STAT_COUNT);
		bench_check(dsm_release(b->d), "release");
		bench_stats(b, v[1], DSM_STAT_COUNT);
		moved = v[1][DSM_STAT_MSGS_SENT] - v[0][DSM_STAT_MSGS_SENT];
		if (least < 0 || (int)moved < least)
			least = (int)moved;
	}
	if (b->rank == 1)
		bench_print_value("manager_elsewhere", "count", least > 1, 1);
	bench_barrier(b);
	return 0;
}

int test_release(struct bench *b)
{
	struct series s;
	long i, trials = bench_trials(b, 200);

	prepare(b);
	if (b->rank == 1) {
		series_init(&s, "release_nothing", "us", trials, b);
		for (i = 0; i < trials; i++)
			release(b, &s, true);
		series_print(&s, b);
	}
	bench_barrier(b);
	timed(b, "release_1_word", trials, 1, 1, 8);
	timed(b, "release_8_words", bench_trials(b, 60), 8, 1, 8);
	timed(b, "release_128_words", bench_trials(b, 30), 128, 1, 8);
	timed(b, "release_64_pages", bench_trials(b, 15), 64, 1, BENCH_PAGE_BYTES);
	timed(b, "release_256_pages", bench_trials(b, 12), 256, 1, BENCH_PAGE_BYTES);
	return 0;
}

int test_diff(struct bench *b)
{
	static const size_t bytes[] = { 8, 64, 256, 1024, 2048, 4096 };
	char name[32];
	size_t i;

	prepare(b);
	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		snprintf(name, sizeof(name), "diff_%zu_bytes", bytes[i]);
		timed(b, name, bench_trials(b, 60), 1, 1, bytes[i]);
	}
	return 0;
}

int test_runs(struct bench *b)
{
	static const unsigned int runs[] = { 1, 2, 3, 4, 8, 16, 32 };
	char name[32];
	size_t i;

	prepare(b);
	for (i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		snprintf(name, sizeof(name), "runs_%u", runs[i]);
		timed(b, name, bench_trials(b, 20), 16, runs[i], 8);
	}
	return 0;
}

/* Nobody else writes this rank's pages, some at the node of each other rank; their twins are kept. */
static void dirty_everywhere(const struct bench *b, long value)
{
	size_t share = dsm_size(b->d) / (size_t)b->ranks;
	unsigned int i;
	int home;

	for (home = 0; home < b->ranks; home++) {
		char *own = b->base + (size_t)home * share + (size_t)b->rank * TOGETHER_PAGES * BENCH_PAGE_BYTES;

		for (i = 0; home != b->rank && i < TOGETHER_PAGES; i++)
			*(volatile long *)(own + i * BENCH_PAGE_BYTES) = value;
	}
}

/* All ranks release to all homes at the same time. */
int test_together(struct bench *b)
{
	long trials = bench_trials(b, 60), i;
	struct series s;
	char name[32];

	snprintf(name, sizeof(name), "release_together_%d", b->ranks);
	series_init(&s, name, "us", trials, b);
	for (i = -2; i < trials; i++) {
		bench_barrier(b);
		dirty_everywhere(b, i);
		release(b, &s, i >= 0);
	}
	series_print(&s, b);
	bench_barrier(b);
	return 0;
}

static char usual[32];	/* bulk_min before the first change, or "" */

static void set_bulk_min(const char *value)
{
	FILE *f = fopen(BULK_MIN, "w");

	if (f && fputs(value, f) >= 0 && !fclose(f))
		return;
	fprintf(stderr, "dsm-bench: %s: %s\n", BULK_MIN, strerror(errno));
	exit(EXIT_FAILURE);
}

static void get_bulk_min(char *value, int size)
{
	FILE *f = fopen(BULK_MIN, "r");

	if (f && fgets(value, size, f) && !fclose(f))
		return;
	fprintf(stderr, "dsm-bench: %s: %s\n", BULK_MIN, strerror(errno));
	exit(EXIT_FAILURE);
}

/* What a release took from rank 1's device, on average. */
static void counted(const char *name, long trials, const uint64_t *before, const uint64_t *after)
{
	static const struct {
		const char *name;
		int stat;
	} counts[] = {
		{ "doorbells", DSM_STAT_DOORBELLS }, { "work_requests", DSM_STAT_WORK_REQUESTS },
		{ "completions", DSM_STAT_SIGNALLED }, { "bulks", DSM_STAT_BULKS },
		{ "in_bulks", DSM_STAT_SENDS_BULK },
	};
	char text[96];
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		snprintf(text, sizeof(text), "%s_%s", name, counts[i].name);
		bench_print_value(text, "count",
				  (double)(after[counts[i].stat] - before[counts[i].stat]) /
				  (double)trials, 1);
	}
}

/* One kind of diffs, sent one by one and written into the ring. */
static void packs(const struct bench *b, const char *what, unsigned int pages, unsigned int runs,
		  size_t bytes)
{
	static const char * const least[] = { "0", "1", "4" };
	uint64_t v[2][DSM_STAT_COUNT];
	long trials = bench_trials(b, 20);
	char name[64];
	size_t i;

	for (i = 0; i < sizeof(least) / sizeof(least[0]); i++) {
		snprintf(name, sizeof(name), "packs_%s_bulk_min_%s", what, least[i]);
		if (b->rank == 1) {
			set_bulk_min(least[i]);
			bench_stats(b, v[0], DSM_STAT_COUNT);
		}
		timed(b, name, trials, pages, runs, bytes);
		if (b->rank == 1) {
			bench_stats(b, v[1], DSM_STAT_COUNT);
			/* One goes before the trials. */
			counted(name, trials + 1, v[0], v[1]);
		}
	}
}

/* However the program ends: others use this machine's node too. Also in a handler of signals. */
static void put_back(void)
{
	static const char failed[] = "dsm-bench: " BULK_MIN " is not as it was before\n";
	int fd;

	if (!*usual)
		return;
	fd = open(BULK_MIN, O_WRONLY);
	if ((fd < 0 || write(fd, usual, strlen(usual)) < 0) && write(STDERR_FILENO, failed, sizeof(failed) - 1) < 0)
		_exit(EXIT_FAILURE);
	if (fd >= 0)
		close(fd);
	*usual = '\0';
}

static void end(int sig)
{
	put_back();
	signal(sig, SIG_DFL);
	raise(sig);
}

int test_packs(struct bench *b)
{
	if (b->rank == 1) {
		get_bulk_min(usual, sizeof(usual));
		atexit(put_back);
		signal(SIGHUP, end);
		signal(SIGINT, end);
		signal(SIGPIPE, end);
		signal(SIGQUIT, end);
		signal(SIGTERM, end);
	}
	prepare(b);
	packs(b, "64_pages_of_32_runs", 64, 32, 8);
	packs(b, "256_pages_of_128_runs", 256, 128, 8);
	packs(b, "64_whole_pages", 64, 1, BENCH_PAGE_BYTES);
	put_back();
	return 0;
}
