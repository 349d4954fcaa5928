/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Knowledge: vector times, the log of interval records, pulling what is missing, and the
 * acquire transaction that applies it. Never touches page bytes.
 *
 * Two vector times per node: known[] (records are in the log, we can hand them on) and
 * applied[] (their notices reached our pages). An acquire applies everything known: more than
 * its grant demands is always legal, and no sync object needs a vector time of its own.
 */
#ifndef DSM_CORE_INTERVAL_H
#define DSM_CORE_INTERVAL_H

#include "engine.h"

/*
 * Append own vector time and the records that @peer lacks,
 * as many as fit; sets MORE, INVAL_ALL in the header.
 */
void dsm_know_put(struct dsm_engine *e, struct dsm_msgbuf *m, u16 peer);
/* Append only a vector time: own (@node = self) or what @node is known to have. */
void dsm_know_put_time(struct dsm_engine *e, struct dsm_msgbuf *m, u16 node);
/* Structure of the tail is sound (used before the step). */
bool dsm_know_check(struct dsm_reader *r);
/*
 * Take the tail of a message from @peer: it describes @about (the peer itself, or the requester
 * in a PASS).
 * Return: 1 all that the vector time names is in our log, 0 something is missing (pull), -EPROTO.
 */
int dsm_know_take(struct dsm_engine *e, u16 peer, u16 about, u8 flags, struct dsm_reader *r);

/* What a board shows (rsync.h): its records, then its vector time. */
struct dsm_board_record;
bool dsm_know_board_record(struct dsm_engine *e, const struct dsm_board_record *rec);
bool dsm_know_board_time(struct dsm_engine *e, u16 peer, const u64 *times);

/* Pull from @peer, then put @c on the ready queue as @kind. */
void dsm_pull(struct dsm_engine *e, u16 peer, struct dsm_cont *c, u8 kind,
	      struct dsm_actions *acts);
/* A request that waits for a pull, or is about to be served; or NULL. */
struct dsm_request *dsm_pull_find(struct dsm_engine *e, u8 type, u16 node, u32 xid);
int dsm_know_on_pull(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts);
int dsm_know_on_intervals(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			  struct dsm_reader *r, struct dsm_actions *acts);
void dsm_know_lacks(struct dsm_engine *e);
void dsm_know_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts);

/* First record of @node's log above @seq, or NULL. */
struct dsm_interval *dsm_log_above(struct dsm_engine *e, u16 node, u64 seq);
/* Add closed records of our own (list of struct dsm_interval without numbers). */
void dsm_log_append_own(struct dsm_engine *e, struct list_head *notes);
/* Does @peer lack anything that we know? */
bool dsm_know_ahead_of(const struct dsm_engine *e, u16 peer);

/* ---- acquire transaction: one at a time, in order (L11) ---- */
/* Anything to apply or to wait for? */
bool dsm_acq_needed(const struct dsm_engine *e);
/* True: go on. False: another acquire is under way; @w is woken when it is our turn. */
bool dsm_acq_begin(struct dsm_engine *e, struct dsm_waiter *w);
/* Who waits for its turn gives up. False: it has its turn. */
bool dsm_acq_cancel(struct dsm_waiter *w);
/*
 * Apply records; each page that lost a right goes to @out (room for @max, at least
 * DSM_NOTICES_PER_RECORD).
 * Return: entries written; *more: call again. -EUCLEAN: first call dsm_page_invalidate() on
 * every page of every region and unmap those, then call again.
 */
int dsm_acq_next(struct dsm_engine *e, struct dsm_page **out, u32 max, bool *more);
/* Everything is unmapped. */
void dsm_acq_end(struct dsm_engine *e, struct dsm_actions *acts);

#endif
