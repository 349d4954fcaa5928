// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: fetching pages. Rank 0 homes and writes them, rank 1 reads. The time runs from
 * before the load that faults to after it. Never touches pages outside the first quarter.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../uapi/dsm.h"
#include "bench.h"

#define WARM_EVERY 8u		/* of these pages, one is read before the trials */
#define SEQUENTIAL_BYTES (16ul << 20)
#define SMALLEST_RANGE 1024u

static volatile char *page_at(const struct bench *b, unsigned int page)
{
	return b->base + page * BENCH_PAGE_BYTES;
}

static void write_pages(const struct bench *b, unsigned int n, unsigned int value)
{
	unsigned int i;

	if (b->rank)
		return;
	for (i = 0; i < n; i++)
		*page_at(b, i) = (char)(value + i % 7);
}

static void read_one(const struct bench *b, struct series *s, unsigned int page, char expected)
{
	char got;

	series_start(s, b);
	got = *page_at(b, page);
	series_stop(s);
	if (got == expected)
		return;
	fprintf(stderr, "dsm-bench: page %u holds %d instead of %d\n", page, got, expected);
	exit(EXIT_FAILURE);
}

static void read_pages(const struct bench *b, const char *name, const unsigned int *order,
		       unsigned int pages, unsigned int value, long trials, bool warm)
{
	struct series s;
	unsigned int i;

	if (b->rank != 1)
		return;
	for (i = 0; warm && i < pages; i += WARM_EVERY)
		(void)*page_at(b, i);
	series_init(&s, name, "us", trials, b);
	for (i = 0; i < pages && s.n < trials; i++)
		if (order[i] % WARM_EVERY)
			read_one(b, &s, order[i], (char)(value + order[i] % 7));
	series_print(&s, b);
}

static uint64_t zero_pages(const struct bench *b)
{
	return bench_stat(b, DSM_STAT_ZERO_REPLIES) + bench_stat(b, DSM_STAT_ZERO_LOCAL);
}

/* Pages that nobody has written; of those that this node had before, or that hold something, no time is kept. */
static void read_zero_pages(const struct bench *b, unsigned int first, unsigned int n, long trials)
{
	struct series s;
	unsigned int i;

	if (b->rank != 1)
		return;
	series_init(&s, "fetch_zero", "us", trials, b);
	for (i = 0; i < n && s.n < trials; i++) {
		uint64_t before = zero_pages(b);
		double us;

		series_start(&s, b);
		(void)*page_at(b, first + i);
		us = (bench_now_ns() - s.begin) / 1e3;
		if (zero_pages(b) != before)
			series_add(&s, us);
	}
	series_print(&s, b);
}

/* Fetches that rank 0's node served as home in all trials of a test. */
static uint64_t served(const struct bench *b)
{
	return bench_stat(b, DSM_STAT_FETCHES_SERVED);
}

int test_fetch(struct bench *b)
{
	long trials = bench_trials(b, 600);
	unsigned int pages = SMALLEST_RANGE, *order;
	uint64_t before;

	while (pages - pages / WARM_EVERY < trials && pages < 4096)
		pages *= 2;
	if (trials > pages - pages / WARM_EVERY)
		trials = pages - pages / WARM_EVERY;
	order = malloc(pages * sizeof(*order));
	if (!order)
		return -1;
	bench_shuffle(order, pages);
	write_pages(b, pages, 1);
	bench_barrier(b);
	read_pages(b, "fetch_cold", order, pages, 1, trials, true);
	bench_barrier(b);
	read_zero_pages(b, pages, pages < 4096 ? pages : 0, trials);
	bench_barrier(b);
	write_pages(b, pages, 51);
	bench_barrier(b);
	before = served(b);
	read_pages(b, "fetch_again", order, pages, 51, trials, false);
	bench_barrier(b);
	if (!b->rank)
		bench_print_value("fetch_again_home_handlers", "count",
				  (double)(served(b) - before) / (double)trials, 0);
	free(order);
	return 0;
}

static uint64_t read_all(const struct bench *b)
{
	const volatile uint64_t *word = (const volatile uint64_t *)b->base;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < SEQUENTIAL_BYTES / sizeof(*word); i++)
		sum += word[i];
	return sum;
}

int test_sequential(struct bench *b)
{
	long trials = bench_trials(b, 2), i;
	const unsigned int pages = SEQUENTIAL_BYTES / BENCH_PAGE_BYTES;
	struct series s, local;

	series_init(&s, "sequential_16MiB", "us", trials, b);
	series_init(&local, "sequential_16MiB_present", "us", trials, NULL);
	for (i = 0; i < trials; i++) {
		uint64_t first = 0, second;

		write_pages(b, pages, 11 + (unsigned int)i);
		bench_barrier(b);
		if (b->rank == 1) {
			series_start(&s, b);
			first = read_all(b);
			series_stop(&s);
			series_start(&local, b);
			second = read_all(b);
			series_stop(&local);
			if (first != second || !first) {
				fprintf(stderr, "dsm-bench: two reads differ\n");
				return -1;
			}
		}
		bench_barrier(b);
	}
	series_print(&s, b);
	series_print(&local, b);
	return 0;
}
