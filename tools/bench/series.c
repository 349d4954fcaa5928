// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: trials, their medians and the traffic that belongs to them. Never judges a number.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../../uapi/dsm.h"
#include "bench.h"

#define BARRIER_KEY 0xbe0001u

double bench_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void bench_check(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "dsm-bench: %s: %s\n", what, dsm_error());
	exit(EXIT_FAILURE);
}

void bench_barrier(const struct bench *b)
{
	bench_check(dsm_barrier(b->d, BARRIER_KEY, (unsigned int)b->ranks), "barrier");
}

void bench_stats(const struct bench *b, uint64_t *values, unsigned int count)
{
	struct dsm_ioc_stats arg = {
		.size = sizeof(arg),
		.count = count,
		.values = (uintptr_t)values,
	};

	memset(values, 0, count * sizeof(*values));
	if (ioctl(dsm_fd(b->d), DSM_IOC_STATS, &arg)) {
		fprintf(stderr, "dsm-bench: counters: %s\n", strerror(errno));
		exit(EXIT_FAILURE);
	}
}

uint64_t bench_stat(const struct bench *b, unsigned int which)
{
	uint64_t v[DSM_STAT_COUNT];

	bench_stats(b, v, DSM_STAT_COUNT);
	return v[which];
}

long bench_trials(const struct bench *b, long usual)
{
	if (b->n)
		return b->n;
	if (!b->quick)
		return usual;
	return usual < 50 ? (usual + 4) / 5 : (usual + 9) / 10;
}

void bench_shuffle(unsigned int *order, unsigned int n)
{
	uint64_t x = 88172645463325252ull;
	unsigned int i;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n; i > 1; i--) {
		unsigned int j, swap;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		j = (unsigned int)(x % i);
		swap = order[i - 1];
		order[i - 1] = order[j];
		order[j] = swap;
	}
}

static struct traffic traffic_now(const struct bench *b)
{
	uint64_t v[DSM_STAT_COUNT];

	bench_stats(b, v, DSM_STAT_COUNT);
	return (struct traffic){
		.sent = v[DSM_STAT_MSGS_SENT],
		.received = v[DSM_STAT_MSGS_RECEIVED],
		.bytes = v[DSM_STAT_BYTES_SENT] + v[DSM_STAT_BYTES_RECEIVED],
		.transfers = v[DSM_STAT_XFER_READS] + v[DSM_STAT_XFER_WRITES] + v[DSM_STAT_XFER_ATOMICS] +
			     v[DSM_STAT_SIGNALS_SENT],
		.signals = v[DSM_STAT_SIGNALS_RECEIVED],
		.moved = v[DSM_STAT_XFER_BYTES] + v[DSM_STAT_PAGE_WRITES] * BENCH_PAGE_BYTES,
	};
}

static void *room(long n, size_t size)
{
	void *p = calloc((size_t)n, size);

	if (!p) {
		fprintf(stderr, "dsm-bench: no memory for %ld trials\n", n);
		exit(EXIT_FAILURE);
	}
	/* A fault on it must not fall into a trial. */
	memset(p, 0xff, (size_t)n * size);
	memset(p, 0, (size_t)n * size);
	return p;
}

void series_init(struct series *s, const char *name, const char *unit, long cap,
		 const struct bench *b)
{
	*s = (struct series){ .name = name, .unit = unit, .cap = cap, .counted = b };
	s->value = room(cap, sizeof(*s->value));
	if (b)
		s->at = room(cap + 1, sizeof(*s->at));
}

void series_start(struct series *s, const struct bench *b)
{
	if (s->counted)
		s->at[s->n] = traffic_now(b);
	s->begin = bench_now_ns();
}

void series_stop(struct series *s)
{
	double ns = bench_now_ns() - s->begin;

	series_add(s, strcmp(s->unit, "us") ? ns : ns / 1e3);
}

void series_add(struct series *s, double value)
{
	if (s->n < s->cap)
		s->value[s->n++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, long n, double q)
{
	double at = q * (double)(n - 1);
	long low = (long)at;

	if (low + 1 >= n)
		return sorted[n - 1];
	return sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]);
}

double series_median(struct series *s)
{
	qsort(s->value, (size_t)s->n, sizeof(*s->value), compare);
	return quantile(s->value, s->n, 0.5);
}

/*
 * The median over the trials of what one trial moved, from its start to the start of the next,
 * so that replies which come after its end are counted, and a heartbeat in one of many is not.
 */
static double per_trial(const struct series *s, size_t field)
{
	double *v = room(s->n, sizeof(*v)), median;
	long i;

	for (i = 0; i < s->n; i++) {
		const char *a = (const char *)&s->at[i], *z = (const char *)&s->at[i + 1];

		v[i] = (double)(*(const uint64_t *)(z + field) - *(const uint64_t *)(a + field));
	}
	qsort(v, (size_t)s->n, sizeof(*v), compare);
	median = v[s->n / 2];
	free(v);
	return median;
}

void series_print(struct series *s, const struct bench *b)
{
	double median;

	if (s->n) {
		if (s->counted)
			s->at[s->n] = traffic_now(b);
		median = series_median(s);
		printf("{\"name\":\"%s\",\"rank\":%d,\"unit\":\"%s\",\"n\":%ld,\"median\":%.3f,"
		       "\"p10\":%.3f,\"p90\":%.3f,\"min\":%.3f,\"max\":%.3f",
		       s->name, b ? b->rank : 0, s->unit, s->n, median,
		       quantile(s->value, s->n, 0.1), quantile(s->value, s->n, 0.9), s->value[0],
		       s->value[s->n - 1]);
		if (s->counted)
			printf(",\"sent\":%.0f,\"received\":%.0f,\"bytes\":%.0f,\"transfers\":%.0f,"
			       "\"signals\":%.0f,\"moved\":%.0f",
			       per_trial(s, offsetof(struct traffic, sent)),
			       per_trial(s, offsetof(struct traffic, received)),
			       per_trial(s, offsetof(struct traffic, bytes)),
			       per_trial(s, offsetof(struct traffic, transfers)),
			       per_trial(s, offsetof(struct traffic, signals)),
			       per_trial(s, offsetof(struct traffic, moved)));
		puts("}");
		fflush(stdout);
	}
	free(s->value);
	free(s->at);
	*s = (struct series){ .name = NULL };
}

void bench_print_value(const char *name, const char *unit, double value, int rank)
{
	printf("{\"name\":\"%s\",\"rank\":%d,\"unit\":\"%s\",\"n\":1,\"median\":%.3f}\n", name, rank,
	       unit, value);
	fflush(stdout);
}
