/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: what its parts share. Times are taken with CLOCK_MONOTONIC and printed as medians;
 * nothing here says what is good.
 */
#ifndef DSM_BENCH_H
#define DSM_BENCH_H

#include <dsm.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_PAGE_BYTES 4096ul

/**
 * struct bench - this process and its region
 * @d:     the region
 * @base:  its first byte
 * @rank:  this process
 * @ranks: all processes, one a node
 * @quick: 1 = a fraction of the trials
 * @n:     trials asked for, 0 = each test's own number
 */
struct bench {
	struct dsm *d;
	char *base;
	int rank, ranks;
	bool quick;
	long n;
};

/*
 * Traffic of this node up to a moment, from the module's counters: messages, and their bytes behind the headers; transfers,
 * which whoever began them counts, signals of others, and the bytes that both of them and answers written into a frame moved.
 */
struct traffic {
	uint64_t sent, received, bytes;
	uint64_t transfers, signals, moved;
};

/**
 * struct series - the trials of one operation
 * @name:    what the line is called
 * @unit:    "us" or "ns"
 * @at:      traffic of the node when a trial began; one more than trials
 * @value:   the trials' times in @unit
 * @n:       trials so far
 * @cap:     room for trials
 * @begin:   start of the running trial, ns
 * @counted: @at is kept
 */
struct series {
	const char *name;
	const char *unit;
	struct traffic *at;
	double *value;
	long n, cap;
	double begin;
	bool counted;
};

double bench_now_ns(void);
/* The series of a test on a region; @b = NULL keeps no traffic. Ends the program without memory. */
void series_init(struct series *s, const char *name, const char *unit, long cap,
		 const struct bench *b);
void series_start(struct series *s, const struct bench *b);
void series_stop(struct series *s);
/* A trial measured elsewhere, in the series' unit. */
void series_add(struct series *s, double value);
/* Median of the trials so far; sorts them. */
double series_median(struct series *s);
/* Prints the series as one line of JSON and frees it. An empty one prints nothing. */
void series_print(struct series *s, const struct bench *b);
/* One number that is no time. */
void bench_print_value(const char *name, const char *unit, double value, int rank);

/* Ends the program with dsm_error() and @what if @ret is not 0. */
void bench_check(int ret, const char *what);
void bench_barrier(const struct bench *b);
void bench_stats(const struct bench *b, uint64_t *values, unsigned int count);
/* One of them, DSM_STAT_... of this node. */
uint64_t bench_stat(const struct bench *b, unsigned int which);
/* The number of trials: what was asked for, else @usual, or a tenth of it in a quick run. */
long bench_trials(const struct bench *b, long usual);
/* Numbers 0 to @n - 1 in an order that looks random and is always the same. */
void bench_shuffle(unsigned int *order, unsigned int n);

int test_floor(struct bench *b);
int test_fetch(struct bench *b);
int test_sequential(struct bench *b);
int test_lock(struct bench *b);
int test_ring(struct bench *b);
int test_barrier(struct bench *b);
int test_manager(struct bench *b);
int test_release(struct bench *b);
int test_diff(struct bench *b);
int test_runs(struct bench *b);
int test_together(struct bench *b);
int test_packs(struct bench *b);
int test_logp(struct bench *b);
int test_curves(struct bench *b);

#endif
