/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Counters of the core: of a node, and of each region at it. Never read by the protocol.
 */
#ifndef DSM_CORE_STATS_H
#define DSM_CORE_STATS_H

#include "env.h"

/*
 * By the names of enum dsm_stat in the uapi; the shell has further ones. In a region those of intervals, releases, logs that were cut, notices
 * that were read or dropped, stale replies and refused requests stay 0: they are the node's.
 */
struct dsm_core_stats {
	u64 page_transfers, zero_replies, fetches_served, invalidations, twins, diffs;
	u64 diffs_applied, merges, merges_live, race_conflicts, intervals, inval_all;
	u64 notices_sent, notices_received, notices_read, notices_dropped, notices_written;
	u64 releases, locks_local, locks_remote, barriers, flags, stale_replies;
	u64 requests_refused;
	/* Pages: granted without asking, read, written into the frame; fetched ahead. */
	u64 pages_sent, pages_dropped;
	u64 zero_local, page_reads, page_writes, ahead_issued, ahead_hits, ahead_wasted;
	u64 sc_grants, sc_recalls, sc_refusals, pages_lost;
	u64 letters, letters_by_message;
	u64 dir_changes, dir_looks, atomics_doubted;
	u64 bcast_pages, bcast_hits, bcast_lost;
	u64 excl_enters, excl_breaks, migrations, migration_attempts, predictions, prediction_hits;
};

/* Count for a node and for a region at it; the former outlives the latter, which may be gone (NULL) already. */
#define dsm_count_many(e, space, what, many) do {		\
	struct dsm_space *_s = (space);				\
	u64 _n = (many);					\
								\
	(e)->stats.what += _n;					\
	if (_s)							\
		_s->stats.what += _n;				\
} while (0)

#define dsm_count(e, space, what) dsm_count_many(e, space, what, 1)

#endif
