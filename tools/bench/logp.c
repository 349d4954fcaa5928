// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: what a message costs, by the module's own messages that mean nothing. LogP parameters as
 * Culler and others define them, times per message by the number sent, bandwidth by size, and
 * a call without arguments. By mechanism and connection; needs root. Never judges a number.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../uapi/dsm.h"
#include "../local_node.h"
#include "bench.h"

#define BURST 32u
#define BODY_MAX 8160u
#define NAME_BYTES 64
#define PAUSE_US 1000u
/* In front of each message. */
#define DSM_HEADER 32u

/* Length of a message with the diff of a whole page, behind its header; and most in one slot of a ring. */
#define DIFF_BODY 4192u
#define TRAIN_MOST 15u

/* batch: messages handed over together. requests: only they go by it, answers are sent. */
static const struct mechanism {
	const char *name;
	unsigned int mechanism;
	unsigned int batch;
	bool requests;
} mechanisms[] = {
	{ "inline", DSM_LOGP_INLINE, 1, false },
	{ "gather", DSM_LOGP_GATHER, 1, false },
	{ "batch", DSM_LOGP_GATHER, 16, false },
	{ "bulk", DSM_LOGP_BULK, 16, true },
};

static const struct {
	const char *name;
	unsigned int priority;
} priorities[] = {
	{ "low", DSM_LOGP_LOW },
	{ "high", DSM_LOGP_HIGH },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The module's own device, and whom to send to. */
static int control;
static unsigned int target;

static struct dsm_ioc_logp run_of(const struct mechanism *m, unsigned int priority,
				  unsigned int bytes, unsigned int count)
{
	struct dsm_ioc_logp a = {
		.size = sizeof(a),
		.flags = DSM_LOGP_SPIN,
		.node = (unsigned short)target,
		.mechanism = (unsigned char)m->mechanism,
		.priority = (unsigned char)priority,
		.bytes = bytes,
		.answer_bytes = bytes,
		.count = count,
		.window = BURST,
		.batch = m->batch < count ? m->batch : count,
	};

	return a;
}

/* False: the device does not take messages of that length inline. */
static bool try_run(struct dsm_ioc_logp *a)
{
	if (!ioctl(control, DSM_IOC_LOGP, a))
		return true;
	if (errno == EMSGSIZE)
		return false;
	fprintf(stderr, "dsm-bench: DSM_IOC_LOGP: %s\n", strerror(errno));
	exit(EXIT_FAILURE);
}

static double whole(const struct dsm_ioc_logp *a)
{
	return (double)a->total_ns / 1e3;
}

/*
 * o_s: one message handed over. o_r: one answer handled. g: time per message of a long burst. L: what
 * half a round trip takes beyond o_s and o_r.
 */
static void signature(const struct bench *b, const struct mechanism *m, unsigned int p,
		      unsigned int bytes)
{
	static const char * const what[] = { "o_s", "o_r", "g", "L" };
	long trials = bench_trials(b, 12), i;
	char name[COUNT(what)][NAME_BYTES];
	struct series s[COUNT(what)];
	struct dsm_ioc_logp a;
	double o_s, o_r;
	size_t k;

	a = run_of(m, priorities[p].priority, bytes, 1);
	if (!try_run(&a))
		return;
	for (k = 0; k < COUNT(what); k++) {
		snprintf(name[k], NAME_BYTES, "logp_%s_%s_%u_%s", m->name, priorities[p].name, bytes,
			 what[k]);
		series_init(&s[k], name[k], "us", trials, NULL);
	}
	for (i = 0; i < trials; i++) {
		a = run_of(m, priorities[p].priority, bytes, m->batch);
		try_run(&a);
		o_s = (double)a.busy_ns / 1e3 / m->batch;
		o_r = (double)a.recv_ns / 1e3 / m->batch;
		series_add(&s[0], o_s);
		series_add(&s[1], o_r);
		a = run_of(m, priorities[p].priority, bytes, 4 * BURST);
		try_run(&a);
		series_add(&s[2], whole(&a) / (4 * BURST));
		a = run_of(m, priorities[p].priority, bytes, 1);
		try_run(&a);
		series_add(&s[3], whole(&a) / 2 - o_s - o_r);
	}
	for (k = 0; k < COUNT(what); k++)
		series_print(&s[k], b);
}

/* Time per message of bursts of m, with a pause of d us behind each message. */
static void curve(const struct bench *b, const struct mechanism *m, unsigned int bytes, unsigned int d)
{
	long trials = bench_trials(b, 8), i;
	char name[NAME_BYTES];
	struct dsm_ioc_logp a;
	struct series s;
	unsigned int n;

	for (n = 1; n <= BURST; n *= 2) {
		snprintf(name, sizeof(name), "burst_%s_%u_pause_%u_of_%u", m->name, bytes, d, n);
		series_init(&s, name, "us", trials, NULL);
		for (i = 0; i < trials; i++) {
			a = run_of(m, m->requests ? DSM_LOGP_CALL : DSM_LOGP_HIGH, bytes, n);
			a.gap_ns = d * 1000;
			if (try_run(&a))
				series_add(&s, whole(&a) / n);
		}
		series_print(&s, b);
	}
}

/* MiB/s until @bytes are answered for, in one direction, or as much in both at once; in messages as long as may be. */
static void bandwidth(const struct bench *b, const struct mechanism *m, unsigned int bytes, bool both)
{
	long trials = bench_trials(b, 8), i;
	unsigned int most = m->mechanism == DSM_LOGP_INLINE ? 480 : BODY_MAX;
	unsigned int part = bytes < most ? bytes : most;
	char name[NAME_BYTES];
	struct dsm_ioc_logp a;
	struct series s;

	snprintf(name, sizeof(name), "bandwidth_%s_%s_%u", both ? "exchange" : "one_way", m->name, bytes);
	series_init(&s, name, "MiB/s", trials, NULL);
	for (i = 0; i < trials; i++) {
		a = run_of(m, DSM_LOGP_LOW, part, (bytes + part - 1) / part);
		if (!both) {
			a.flags |= DSM_LOGP_ONE_WAY;
			a.answer_bytes = 0;
		}
		if (try_run(&a))
			series_add(&s, (double)bytes * (both ? 2 : 1) / (1 << 20) /
				       ((double)a.total_ns / 1e9));
	}
	series_print(&s, b);
}

/* A call without arguments or result: one after the other, and as many as go at once. */
static void calls(const struct bench *b, const struct mechanism *m)
{
	long trials = bench_trials(b, 100), i;
	char name[2][NAME_BYTES];
	struct dsm_ioc_logp a;
	struct series s[2];

	snprintf(name[0], NAME_BYTES, "call_blocking_%s", m->name);
	snprintf(name[1], NAME_BYTES, "call_pipelined_%s", m->name);
	series_init(&s[0], name[0], "us", trials, NULL);
	series_init(&s[1], name[1], "us", trials, NULL);
	for (i = 0; i < trials; i++) {
		a = run_of(m, DSM_LOGP_CALL, 8, 1);
		try_run(&a);
		series_add(&s[0], whole(&a));
		if (i % 8)
			continue;
		a = run_of(m, DSM_LOGP_CALL, 8, 4 * BURST);
		try_run(&a);
		series_add(&s[1], whole(&a) / (4 * BURST));
	}
	series_print(&s[0], b);
	series_print(&s[1], b);
}

/*
 * As many messages as one slot of a ring holds, handed over together, until the last is answered: by
 * each mechanism, in turn. From what number on the ring is not slower than a chain: 0: never.
 */
static void trains(const struct bench *b, unsigned int bytes)
{
	static const unsigned int numbers[] = { TRAIN_MOST, 8, 4, 2, 1 };
	long trials = bench_trials(b, 20), i;
	unsigned int even = 0;
	bool gains = true;
	char name[NAME_BYTES];
	size_t n, k;

	for (n = 0; n < COUNT(numbers); n++) {
		char names[COUNT(mechanisms)][NAME_BYTES];
		struct series s[COUNT(mechanisms)];
		double median[COUNT(mechanisms)] = { 0 };

		for (k = 0; k < COUNT(mechanisms); k++) {
			snprintf(names[k], NAME_BYTES, "train_%s_%u_of_%u", mechanisms[k].name, numbers[n],
				 bytes);
			series_init(&s[k], names[k], "us", trials, NULL);
		}
		for (i = 0; i < trials * (long)COUNT(mechanisms); i++) {
			struct dsm_ioc_logp a;

			k = (size_t)i % COUNT(mechanisms);
			a = run_of(&mechanisms[k], DSM_LOGP_LOW, bytes, numbers[n]);
			a.flags |= DSM_LOGP_ONE_WAY;
			a.answer_bytes = 0;
			a.window = numbers[n];
			if (try_run(&a))
				series_add(&s[k], whole(&a));
		}
		for (k = 0; k < COUNT(mechanisms); k++) {
			if (s[k].n)
				median[k] = series_median(&s[k]);
			series_print(&s[k], b);
		}
		/* The last two. */
		gains &= median[COUNT(mechanisms) - 1] <= median[COUNT(mechanisms) - 2];
		if (gains)
			even = numbers[n];
	}
	snprintf(name, sizeof(name), "break_even_bulk_of_%u", bytes);
	bench_print_value(name, "count", even, b->rank);
}

static const unsigned int sizes[] = { 16, 64, 256, 1024 };

static void measure(const struct bench *b)
{
	static const unsigned int transfers[] = { 8, 64, 512, 4096, 32768, 262144, 1048576 };
	size_t i, k, p;

	for (i = 0; i < COUNT(mechanisms); i++) {
		const struct mechanism *m = &mechanisms[i];

		for (p = 0; p < (m->requests ? 1 : COUNT(priorities)); p++)
			for (k = 0; k < COUNT(sizes); k++)
				signature(b, m, p, sizes[k]);
		curve(b, m, sizes[0], 0);
		curve(b, m, sizes[0], PAUSE_US);
		for (k = 0; k < COUNT(transfers); k++) {
			/* A run has at most 4096 messages. */
			if (m->mechanism == DSM_LOGP_INLINE && transfers[k] > 262144)
				continue;
			bandwidth(b, m, transfers[k], false);
			bandwidth(b, m, transfers[k], true);
		}
		calls(b, m);
	}
	trains(b, 256 - DSM_HEADER);
	trains(b, DIFF_BODY);
}

/* Those of the sizes that measure() leaves out. */
static void measure_curves(const struct bench *b)
{
	size_t i, k;

	for (i = 0; i < COUNT(mechanisms); i++) {
		for (k = 1; k < COUNT(sizes); k++) {
			curve(b, &mechanisms[i], sizes[k], 0);
			curve(b, &mechanisms[i], sizes[k], PAUSE_US);
		}
	}
}

static int by_rank_1(struct bench *b, void (*run)(const struct bench *b))
{
	if (b->rank == 1) {
		control = open(control_path(), O_RDWR | O_CLOEXEC);
		if (control < 0) {
			fprintf(stderr, "dsm-bench: %s: %s\n", control_path(), strerror(errno));
			exit(EXIT_FAILURE);
		}
		target = dsm_node(b->d) == 0;
		run(b);
		close(control);
	}
	bench_barrier(b);
	return 0;
}

int test_logp(struct bench *b)
{
	return by_rank_1(b, measure);
}

int test_curves(struct bench *b)
{
	return by_rank_1(b, measure_curves);
}
