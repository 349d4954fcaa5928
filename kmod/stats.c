// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Counters of this node, and of a region at this node: gathered from core, shell, mm and net when somebody asks. Counts nothing
 * itself.
 */
#include <linux/slab.h>
#include "core/ring.h"
#include "shell.h"

/**
 * dsm_shell_add_traffic() - add a peer's counters to the node's
 * @s:   counters of one peer
 * @out: by enum dsm_stat
 *
 * Context: any.
 */
void dsm_shell_add_traffic(const struct dsm_net_peer_stats *s, u64 *out)
{
	int c;

	for (c = 0; c < DSM_CLASS_COUNT; c++) {
		out[DSM_STAT_MSGS_SENT] += s->tx_msgs[c];
		out[DSM_STAT_MSGS_RECEIVED] += s->rx_msgs[c];
	}
	out[DSM_STAT_HEARTBEATS] += s->heartbeats;
	out[DSM_STAT_CREDITS] += s->credit_msgs;
	out[DSM_STAT_ANSWERS_FIRST] += s->answers_first;
	out[DSM_STAT_XFERS_FIRST] += s->xfers_first;
	for (c = 0; c < DSM_NET_SIZES; c++)
		out[DSM_STAT_MSGS_BELOW_256 + c] += s->tx_sized[c];
	out[DSM_STAT_BYTES_SENT] += s->tx_bytes;
	out[DSM_STAT_BYTES_RECEIVED] += s->rx_bytes;
	out[DSM_STAT_CREDIT_STALLS] += s->credit_stalls;
	out[DSM_STAT_INVALID_MSGS] += s->invalid_msgs;
	out[DSM_STAT_XFER_READS] += s->xfers[DSM_XFER_READ];
	out[DSM_STAT_XFER_WRITES] += s->xfers[DSM_XFER_WRITE];
	out[DSM_STAT_XFER_ATOMICS] += s->xfers[DSM_XFER_CAS] + s->xfers[DSM_XFER_ADD];
	out[DSM_STAT_SIGNALS_SENT] += s->xfers[DSM_XFER_SIGNAL];
	out[DSM_STAT_SIGNALS_RECEIVED] += s->rx_signals;
	out[DSM_STAT_XFER_BYTES] += s->xfer_bytes;
	out[DSM_STAT_DOORBELLS] += s->doorbells;
	out[DSM_STAT_WORK_REQUESTS] += s->wrs;
	out[DSM_STAT_SIGNALLED] += s->signalled;
	out[DSM_STAT_SENDS_INLINE] += s->sends_inline;
	out[DSM_STAT_SENDS_BATCHED] += s->sends_batched;
	out[DSM_STAT_SENDS_SIGNALLED] += s->sends_signalled;
	out[DSM_STAT_BULKS] += s->bulks;
	out[DSM_STAT_SENDS_BULK] += s->sends_bulk;
	out[DSM_STAT_SENDS_BRIEF] += s->sends_brief;
	out[DSM_STAT_SINKS_LENT] += s->sinks_lent;
	out[DSM_STAT_SINK_MISSES] += s->sink_misses;
	out[DSM_STAT_RESUMES] += s->resumes;
	out[DSM_STAT_DUPLICATES] += s->duplicates;
	out[DSM_STAT_CREDITS_HELD] += s->credits_held;
}

static void add_peers(struct dsm_node *n, u64 *out)
{
	struct dsm_net_peer_stats s;
	u16 node;

	for (node = 0; node < DSM_MAX_NODES; node++) {
		if (n->counted & BIT_ULL(node) && !dsm_net_peer_stats(n->net, node, &s))
			dsm_shell_add_traffic(&s, out);
	}
}

static void add_core(const struct dsm_core_stats *c, u64 *out)
{
	out[DSM_STAT_PAGE_TRANSFERS] = c->page_transfers;
	out[DSM_STAT_ZERO_REPLIES] = c->zero_replies;
	out[DSM_STAT_FETCHES_SERVED] = c->fetches_served;
	out[DSM_STAT_INVALIDATIONS] = c->invalidations;
	out[DSM_STAT_TWINS] = c->twins;
	out[DSM_STAT_DIFFS] = c->diffs;
	out[DSM_STAT_DIFFS_APPLIED] = c->diffs_applied;
	out[DSM_STAT_MERGES] = c->merges;
	out[DSM_STAT_MERGES_LIVE] = c->merges_live;
	out[DSM_STAT_PAGES_SENT] = c->pages_sent;
	out[DSM_STAT_PAGES_DROPPED] = c->pages_dropped;
	out[DSM_STAT_NOTICES_READ] = c->notices_read;
	out[DSM_STAT_NOTICES_DROPPED] = c->notices_dropped;
	out[DSM_STAT_RACE_CONFLICTS] = c->race_conflicts;
	out[DSM_STAT_INTERVALS] = c->intervals;
	out[DSM_STAT_NOTICES_SENT] = c->notices_sent;
	out[DSM_STAT_NOTICES_RECEIVED] = c->notices_received;
	out[DSM_STAT_INVAL_ALL] = c->inval_all;
	out[DSM_STAT_RELEASES] = c->releases;
	out[DSM_STAT_LOCKS_LOCAL] = c->locks_local;
	out[DSM_STAT_LOCKS_REMOTE] = c->locks_remote;
	out[DSM_STAT_BARRIERS] = c->barriers;
	out[DSM_STAT_FLAGS] = c->flags;
	out[DSM_STAT_REQUESTS_REFUSED] = c->requests_refused;
	out[DSM_STAT_ZERO_LOCAL] = c->zero_local;
	out[DSM_STAT_PAGE_READS] = c->page_reads;
	out[DSM_STAT_PAGE_WRITES] = c->page_writes;
	out[DSM_STAT_SC_GRANTS] = c->sc_grants;
	out[DSM_STAT_SC_RECALLS] = c->sc_recalls;
	out[DSM_STAT_SC_REFUSALS] = c->sc_refusals;
	out[DSM_STAT_PAGES_LOST] = c->pages_lost;
	out[DSM_STAT_LETTERS] = c->letters;
	out[DSM_STAT_LETTERS_BY_MESSAGE] = c->letters_by_message;
	out[DSM_STAT_EXCL_ENTERS] = c->excl_enters;
	out[DSM_STAT_EXCL_BREAKS] = c->excl_breaks;
	out[DSM_STAT_MIGRATIONS] = c->migrations;
	out[DSM_STAT_MIGRATION_ATTEMPTS] = c->migration_attempts;
	out[DSM_STAT_PREDICTIONS] = c->predictions;
	out[DSM_STAT_PREDICTION_HITS] = c->prediction_hits;
	out[DSM_STAT_DIR_CHANGES] = c->dir_changes;
	out[DSM_STAT_DIR_LOOKS] = c->dir_looks;
	out[DSM_STAT_ATOMICS_DOUBTED] = c->atomics_doubted;
	out[DSM_STAT_NOTICES_WRITTEN] = c->notices_written;
	out[DSM_STAT_BCAST_PAGES] = c->bcast_pages;
	out[DSM_STAT_BCAST_HITS] = c->bcast_hits;
	out[DSM_STAT_BCAST_LOST] = c->bcast_lost;
	out[DSM_STAT_PREFETCH_ISSUED] = c->ahead_issued;
	out[DSM_STAT_PREFETCH_HITS] = c->ahead_hits;
	out[DSM_STAT_PREFETCH_WASTED] = c->ahead_wasted;
}

/* What is counted where it happens, and read from the region that is still there. */
static void add_live(struct dsm_region *r, u64 *out)
{
	struct dsm_mm_stats mm;

	dsm_mm_stats(r->mm, &mm);
	out[DSM_STAT_READ_FAULTS] += mm.faults_read;
	out[DSM_STAT_WRITE_FAULTS] += mm.faults_write;
	out[DSM_STAT_SIGBUS] += mm.sigbus;
	out[DSM_STAT_WRPROTECT_RUNS] += mm.wrprotect_runs;
	out[DSM_STAT_ZAP_RUNS] += mm.zap_runs;
	out[DSM_STAT_NS_WAIT_PAGE_LOCK] += mm.ns_page_lock;
}

/**
 * dsm_node_stats() - all counters of this node
 * @n:   node
 * @out: by enum dsm_stat
 *
 * Context: process.
 */
void dsm_node_stats(struct dsm_node *n, u64 out[DSM_STAT_COUNT])
{
	struct dsm_shell_stats *s = &n->stats;
	struct dsm_core_stats core;
	struct dsm_region *r;
	unsigned long at;
	u32 id = 0, i;

	memset(out, 0, DSM_STAT_COUNT * sizeof(*out));
	mutex_lock(&n->regions_lock);
	/* Both at once: a lock that leaves its slot takes its count from one to the other. */
	spin_lock(&n->lock);
	core = n->engine->stats;
	/* Written here already; this node has not looked. */
	core.notices_received += dsm_ring_waiting(n->engine, NULL);
	xa_for_each(&n->regions, at, r)
		core.locks_local += dsm_slots_locks(r);
	spin_unlock(&n->lock);
	add_core(&core, out);
	out[DSM_STAT_READ_FAULTS] = atomic64_read(&s->old_faults_read);
	out[DSM_STAT_WRITE_FAULTS] = atomic64_read(&s->old_faults_write);
	out[DSM_STAT_SIGBUS] = atomic64_read(&s->old_sigbus);
	out[DSM_STAT_WRPROTECT_RUNS] = atomic64_read(&s->old_wrprotect_runs);
	out[DSM_STAT_ZAP_RUNS] = atomic64_read(&s->old_zap_runs);
	out[DSM_STAT_NS_WAIT_PAGE_LOCK] = atomic64_read(&s->ns_wait_page_lock);
	for (;;) {
		r = dsm_node_region_get(n, id, true);
		if (IS_ERR(r))
			break;
		id = r->id;
		add_live(r, out);
		dsm_node_region_put(r);
	}
	mutex_unlock(&n->regions_lock);
	out[DSM_STAT_DIFF_BYTES] = atomic64_read(&s->diff_bytes);
	out[DSM_STAT_ACQUIRES] = atomic64_read(&s->acquires);
	out[DSM_STAT_CHUNKS] = atomic64_read(&s->chunks);
	out[DSM_STAT_DIRECT_PAGES] = atomic64_read(&s->direct_pages);
	out[DSM_STAT_DIRECT_RUNS] = atomic64_read(&s->direct_runs);
	out[DSM_STAT_NS_PROTOCOL] = atomic64_read(&s->ns_protocol);
	out[DSM_STAT_NS_WAIT_LOCK] = atomic64_read(&s->ns_wait_lock);
	out[DSM_STAT_NS_WAIT_BARRIER] = atomic64_read(&s->ns_wait_barrier);
	out[DSM_STAT_NS_WAIT_FLAG] = atomic64_read(&s->ns_wait_flag);
	out[DSM_STAT_NS_WAIT_PAGE] = atomic64_read(&s->ns_wait_page);
	out[DSM_STAT_NS_WAIT_RELEASE] = atomic64_read(&s->ns_wait_release);
	out[DSM_STAT_NS_MESSAGE] = atomic64_read(&s->ns_message);
	out[DSM_STAT_NS_MESSAGE_WAIT] = atomic64_read(&s->ns_message_wait);
	down_read(&n->net_lock);
	out[DSM_STAT_INVALID_MSGS] = atomic64_read(&s->invalid_msgs);
	out[DSM_STAT_REQUESTS_REFUSED] += atomic64_read(&s->requests_refused);
	for (i = 0; i < DSM_STAT_COUNT; i++)
		out[i] += n->old_traffic[i];
	if (n->net)
		add_peers(n, out);
	up_read(&n->net_lock);
}

/**
 * dsm_region_stats() - counters of a region at this node, since it is known here
 * @n:   node
 * @id:  region id
 * @out: by enum dsm_stat; 0 for what is counted for the node only
 *
 * Context: process.
 * Return: 0, -ENOENT no such region.
 */
int dsm_region_stats(struct dsm_node *n, u32 id, u64 out[DSM_STAT_COUNT])
{
	struct dsm_region *r = dsm_node_region_get(n, id, false);
	struct dsm_core_stats core;

	if (IS_ERR(r))
		return PTR_ERR(r);
	memset(out, 0, DSM_STAT_COUNT * sizeof(*out));
	spin_lock(&n->lock);
	core = r->space->stats;
	core.notices_received += dsm_ring_waiting(n->engine, r->space);
	core.locks_local += dsm_slots_locks(r);
	spin_unlock(&n->lock);
	add_core(&core, out);
	add_live(r, out);
	out[DSM_STAT_DIFF_BYTES] = atomic64_read(&r->counts.diff_bytes);
	out[DSM_STAT_DIRECT_PAGES] = atomic64_read(&r->counts.direct_pages);
	out[DSM_STAT_DIRECT_RUNS] = atomic64_read(&r->counts.direct_runs);
	out[DSM_STAT_NS_WAIT_LOCK] = atomic64_read(&r->counts.ns_wait_lock);
	out[DSM_STAT_NS_WAIT_BARRIER] = atomic64_read(&r->counts.ns_wait_barrier);
	out[DSM_STAT_NS_WAIT_FLAG] = atomic64_read(&r->counts.ns_wait_flag);
	out[DSM_STAT_NS_WAIT_PAGE] = atomic64_read(&r->counts.ns_wait_page);
	out[DSM_STAT_NS_WAIT_PAGE_LOCK] += atomic64_read(&r->counts.ns_wait_page_lock);
	dsm_node_region_put(r);
	return 0;
}
