// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The region of interest of a PARMACS program, on all ranks: any worker may begin and end it, some programs let
 * one do so, some all. Each rank has a thread that does its part, since the one that takes commands may
 * be waiting for workers, of whom one is here.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "parmacs.h"

static const struct {
	enum dsm_stat stat;
	const char *name;
} shown[] = {
	{ DSM_STAT_READ_FAULTS, "read_faults" },
	{ DSM_STAT_WRITE_FAULTS, "write_faults" },
	{ DSM_STAT_PAGE_TRANSFERS, "page_transfers" },
	{ DSM_STAT_INVALIDATIONS, "invalidations" },
	{ DSM_STAT_DIFFS, "diffs" },
	{ DSM_STAT_LOCKS_LOCAL, "locks_local" },
	{ DSM_STAT_LOCKS_REMOTE, "locks_remote" },
	{ DSM_STAT_BARRIERS, "barriers" },
	{ DSM_STAT_MSGS_SENT, "messages" },
	{ DSM_STAT_BYTES_SENT, "message_bytes" },
};

#define SHOWN (sizeof(shown) / sizeof(shown[0]))

/**
 * struct share - a rank's part
 * @asked: to begin or to end
 * @node:  of the rank; the counters are the node's
 * @us:    microseconds, at the beginning since some time, at the end since the beginning
 * @count: by number in shown[]
 */
struct share {
	struct dsm_sem asked;
	int64_t node;
	uint64_t us;
	uint64_t count[SHOWN];
};

/**
 * struct parmacs_roi - in shared memory; its address is the key of the lock for who begins or ends
 * @inside:   it has begun; what ranks that are asked bring about
 * @answered: ranks that have done so
 * @share:    by rank
 */
struct parmacs_roi {
	uint64_t inside;
	struct dsm_sem answered;
	struct share share[];
};

static struct dsm *d;
static struct parmacs_roi *roi;
static int rank, ranks;

static void must(int ret)
{
	if (ret)
		dsm_parmacs_die("%s", dsm_error());
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000ull + (uint64_t)t.tv_nsec / 1000;
}

static void take_part(struct share *own)
{
	size_t i;

	if (roi->inside) {
		must(dsm_roi_begin(d, (unsigned int)ranks));
		own->us = now_us();
		return;
	}
	own->us = now_us() - own->us;
	must(dsm_roi_end(d));
	own->node = dsm_node(d);
	for (i = 0; i < SHOWN; i++)
		own->count[i] = dsm_roi_count(d, shown[i].stat);
}

static void *serve(void *unused)
{
	struct share *own = &roi->share[rank];

	(void)unused;
	for (;;) {
		must(dsm_sem_wait(d, &own->asked));
		take_part(own);
		must(dsm_sem_post(d, &roi->answered));
	}
	return NULL;
}

uint64_t dsm_parmacs_roi_make(struct dsm *dsm, int count)
{
	struct parmacs_roi *made = dsm_parmacs_take(sizeof(*made) + (size_t)count * sizeof(made->share[0]));
	int i;

	must(dsm_sem_init(dsm, &made->answered, 0));
	for (i = 0; i < count; i++)
		must(dsm_sem_init(dsm, &made->share[i].asked, 0));
	return (uintptr_t)made;
}

void dsm_parmacs_roi_join(struct dsm *dsm, uint64_t made, int number, int count)
{
	pthread_t thread;

	d = dsm;
	roi = (struct parmacs_roi *)(uintptr_t)made;
	rank = number;
	ranks = count;
	if (ranks > 1)
		dsm_parmacs_start_thread(&thread, serve, NULL, "the region of interest");
}

void dsm_parmacs_roi_free(void)
{
	must(dsm_free(d, roi));
}

/*
 * With the lock, which is kept until the shares have been read. True if this call was the one that changed it: then all
 * ranks have done their part.
 */
static bool change(bool inside)
{
	int i;

	if (roi->inside == inside)
		return false;
	roi->inside = inside;
	if (ranks == 1)
		take_part(&roi->share[0]);
	for (i = 0; i < ranks && ranks > 1; i++)
		must(dsm_sem_post(d, &roi->share[i].asked));
	for (i = 0; i < ranks && ranks > 1; i++)
		must(dsm_sem_wait(d, &roi->answered));
	return true;
}

static void print(const uint64_t *count)
{
	size_t i;

	for (i = 0; i < SHOWN; i++)
		fprintf(stderr, " %s=%" PRIu64, shown[i].name, count[i]);
	fputc('\n', stderr);
}

static bool is_first_of_node(int number)
{
	int i;

	for (i = 0; i < number; i++)
		if (roi->share[i].node == roi->share[number].node)
			return false;
	return true;
}

static void print_all(void)
{
	uint64_t sum[SHOWN] = { 0 };
	int i, nodes = 0;
	size_t k;

	for (i = 0; i < ranks; i++) {
		if (!is_first_of_node(i))
			continue;
		nodes++;
		fprintf(stderr, "parmacs: node %" PRId64 ":", roi->share[i].node);
		print(roi->share[i].count);
		for (k = 0; k < SHOWN; k++)
			sum[k] += roi->share[i].count[k];
	}
	fprintf(stderr, "parmacs: region of interest: us=%" PRIu64 " nodes=%d", roi->share[0].us, nodes);
	print(sum);
}

void dsm_parmacs_roi_begin(void)
{
	dsm_parmacs_take_lock((uintptr_t)roi);
	change(true);
	must(dsm_unlock(d, (uintptr_t)roi));
}

void dsm_parmacs_roi_end(void)
{
	dsm_parmacs_take_lock((uintptr_t)roi);
	if (change(false))
		print_all();
	must(dsm_unlock(d, (uintptr_t)roi));
}
