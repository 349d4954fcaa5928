// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Workers on many nodes in one region of dsm: threads, barriers, locks, flags, and the module's
 * counters over the region of interest.
 *
 * The region begins with one record for each rank, where it leaves its counters in the end.
 */
#include <dsm.h>
#include <errno.h>
#include <linux/dsm.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define KEY_WORKERS 1	/* barrier of all workers */
#define KEY_RANKS 2	/* barrier of all ranks */

struct record {
	int node;
	uint64_t count[DSM_STAT_COUNT];
};

union record_page {
	struct record record;
	char page[APP_PAGE_BYTES];
};

static const struct {
	enum dsm_stat stat;
	const char *name;
} counters[] = {
	{ DSM_STAT_READ_FAULTS, "read_faults" },
	{ DSM_STAT_WRITE_FAULTS, "write_faults" },
	{ DSM_STAT_PAGE_TRANSFERS, "page_transfers" },
	{ DSM_STAT_PAGE_WRITES, "page_writes" },
	{ DSM_STAT_INVALIDATIONS, "invalidations" },
	{ DSM_STAT_TWINS, "twins" },
	{ DSM_STAT_DIFFS, "diffs" },
	{ DSM_STAT_DIFF_BYTES, "diff_bytes" },
	{ DSM_STAT_INTERVALS, "intervals" },
	{ DSM_STAT_RELEASES, "releases" },
	{ DSM_STAT_LOCKS_LOCAL, "locks_local" },
	{ DSM_STAT_LOCKS_REMOTE, "locks_remote" },
	{ DSM_STAT_BARRIERS, "barriers" },
	{ DSM_STAT_FLAGS, "flags" },
	{ DSM_STAT_MSGS_SENT, "messages" },
	{ DSM_STAT_BYTES_SENT, "message_bytes" },
	{ DSM_STAT_XFER_BYTES, "transfer_bytes" },
	{ DSM_STAT_RACE_CONFLICTS, "race_conflicts" },
	{ DSM_STAT_NS_PROTOCOL, "ns_protocol" },
	{ DSM_STAT_NS_MESSAGE, "ns_message" },
	{ DSM_STAT_NS_WAIT_PAGE, "ns_wait_page" },
	{ DSM_STAT_NS_WAIT_RELEASE, "ns_wait_release" },
	{ DSM_STAT_NS_WAIT_LOCK, "ns_wait_lock" },
	{ DSM_STAT_NS_WAIT_BARRIER, "ns_wait_barrier" },
	{ DSM_STAT_NS_WAIT_FLAG, "ns_wait_flag" },
	{ DSM_STAT_NS_WAIT_PAGE_LOCK, "ns_wait_page_lock" },
	{ DSM_STAT_NS_MESSAGE_WAIT, "ns_message_wait" },
	{ DSM_STAT_MIGRATIONS, "migrations" },
	{ DSM_STAT_MIGRATION_ATTEMPTS, "migration_attempts" },
	{ DSM_STAT_MSGS_BELOW_256, "msgs_below_256" },
	{ DSM_STAT_MSGS_BELOW_1K, "msgs_below_1k" },
	{ DSM_STAT_MSGS_BELOW_4K, "msgs_below_4k" },
	{ DSM_STAT_MSGS_LARGER, "msgs_larger" },
};

static struct dsm *d;
static union record_page *records;
static size_t records_bytes;
static size_t flags;
static void (*worker_body)(const struct app_worker *w);

static void must(int ret)
{
	if (ret)
		app_die("%s", dsm_error());
}

bool memory_is_shared(void)
{
	return true;
}

void memory_open(const char *region, struct app_worker *first)
{
	d = dsm_open(region, 0);
	if (!d)
		app_die("%s", dsm_error());
	/* What its allocator has, and those who allocated, would be overwritten. */
	if (dsm_has_heap(d))
		app_usage("region '%s' is a heap, which this program would overwrite: name another by -r or $DSM_REGION",
			  region ? region : "/dev/dsm");
	first->rank = (unsigned int)dsm_rank(d);
	first->ranks = (unsigned int)dsm_ranks(d);
	records = dsm_base(d);
	records_bytes = first->ranks * sizeof(*records);
}

void *memory_at(size_t offset, size_t bytes)
{
	(void)bytes;
	return (void *)((uintptr_t)records + records_bytes + offset);
}

void memory_need(size_t bytes)
{
	bytes += records_bytes;
	if (bytes > dsm_size(d))
		app_die("needs %zu KiB of shared memory, the region has %zu KiB: choose a smaller size or a larger region",
			bytes / 1024, dsm_size(d) / 1024);
}

void app_flags(size_t count)
{
	flags = count;
}

void memory_hint(const void *at, size_t bytes, size_t stride, size_t rows)
{
	must(dsm_prefetch_rows(d, at, bytes, stride, rows));
}

/* A run that was ended before its time may have left flags set. */
static void clear_flags(unsigned int rank, unsigned int ranks)
{
	size_t i, end;

	app_share(flags, rank, ranks, &i, &end);
	for (; i < end; i++)
		must(dsm_flag_clear(d, i));
}

static void *run_worker(void *w)
{
	worker_body(w);
	return NULL;
}

void memory_run(const struct app_worker *first, void (*body)(const struct app_worker *w))
{
	struct app_worker *workers = app_private(first->threads, sizeof(*workers));
	pthread_t *threads = app_private(first->threads, sizeof(*threads));
	unsigned int i;
	int err;

	clear_flags(first->rank, first->ranks);
	must(dsm_barrier(d, KEY_RANKS, first->ranks));
	worker_body = body;
	for (i = 0; i < first->threads; i++) {
		workers[i] = *first;
		workers[i].id += i;
		workers[i].thread = i;
	}
	for (i = 1; i < first->threads; i++) {
		err = pthread_create(&threads[i], NULL, run_worker, &workers[i]);
		if (err)
			app_die("thread %u: %s", i, strerror(err));
	}
	body(&workers[0]);
	for (i = 1; i < first->threads; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(workers);
	clear_flags(first->rank, first->ranks);
}

void memory_roi_begin(const struct app_worker *w)
{
	must(dsm_roi_begin(d, w->ranks));
}

void memory_roi_end(const struct app_worker *w)
{
	struct record *r = &records[w->rank].record;
	unsigned int i;

	must(dsm_roi_end(d));
	r->node = dsm_node(d);
	for (i = 0; i < DSM_STAT_COUNT; i++)
		r->count[i] = dsm_roi_count(d, i);
}

/* The counters are a node's, so of its ranks only the first counts. */
static bool is_first_of_node(unsigned int rank)
{
	unsigned int i;

	for (i = 0; i < rank; i++)
		if (records[i].record.node == records[rank].record.node)
			return false;
	return true;
}

void memory_roi_print(const char *name, unsigned int ranks)
{
	uint64_t sum;
	unsigned int rank;
	size_t i;

	printf("%s: counters:", name);
	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		sum = 0;
		for (rank = 0; rank < ranks; rank++)
			if (is_first_of_node(rank))
				sum += records[rank].record.count[counters[i].stat];
		printf(" %s=%llu", counters[i].name, (unsigned long long)sum);
	}
	putchar('\n');
}

void memory_meet(const struct app_worker *first)
{
	must(dsm_barrier(d, KEY_RANKS, first->ranks));
}

void memory_close(void)
{
	must(dsm_close(d));
}

void app_barrier(const struct app_worker *w)
{
	if (!w->alone)
		must(dsm_barrier(d, KEY_WORKERS, w->count));
}

void app_lock(const struct app_worker *w, uint64_t key)
{
	int ret;

	if (w->alone)
		return;
	do {
		ret = dsm_lock(d, key);
	} while (ret == -EINTR);
	/* Of a run that was ended before its time. A worker of this one that ends is missed at the next barrier. */
	if (ret == -EOWNERDEAD)
		ret = dsm_lock_consistent(d, key);
	must(ret);
}

void app_unlock(const struct app_worker *w, uint64_t key)
{
	if (!w->alone)
		must(dsm_unlock(d, key));
}

void app_flag_set(const struct app_worker *w, size_t flag)
{
	if (!w->alone)
		must(dsm_flag_set(d, flag));
}

void app_flag_wait(const struct app_worker *w, size_t flag)
{
	int ret;

	if (w->alone)
		return;
	do {
		ret = dsm_flag_wait(d, flag);
	} while (ret == -EINTR);
	must(ret);
}
