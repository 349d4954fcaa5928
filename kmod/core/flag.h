/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Flags (protocol.md 3.10) and the bare release (decisions.md P12): requests that a manager
 * answers when it has the requester's knowledge, or when the flag is set.
 */
#ifndef DSM_CORE_FLAG_H
#define DSM_CORE_FLAG_H

#include "engine.h"

/**
 * struct dsm_flag - one key at its manager; exists while set or waited for
 * @by_key:  in the key table
 * @heard:   last loss that it was told of: &struct dsm_engine.losses
 * @waiters: struct dsm_request: WAIT requests, oldest first
 * @key:     as the callers gave it; fixed
 * @region:  region id; fixed
 * @set:     a SET came after the last CLEAR
 *
 * Guarded by the engine lock.
 */
struct dsm_flag {
	struct hlist_node by_key;
	u32 heard;
	struct list_head waiters;
	u64 key;
	u32 region;
	bool set;
};

/*
 * Start @op (enum dsm_flag_op; SET after a release). @w is woken with 0, -EALREADY (SET),
 * -EAGAIN (TEST), -EDQUOT, -EHOSTDOWN; an acquire follows a WAIT, which fails with -EHOSTDOWN once
 * a user of the region is lost that is not in @w->told. 0 queued, -EHOSTDOWN manager lost.
 */
int dsm_flag_start(struct dsm_engine *e, struct dsm_space *s, u64 key, u8 op, struct dsm_waiter *w,
		   struct dsm_actions *acts);
/* Give up a wait. False: it was woken. */
bool dsm_flag_cancel(struct dsm_engine *e, struct dsm_space *s, u64 key, struct dsm_waiter *w,
		     struct dsm_actions *acts);

/*
 * Bare release, second half: bring what we know to the region's sync manager. Return: 0 nothing
 * to bring, done; -EINPROGRESS @w is queued; -EHOSTDOWN.
 */
int dsm_sync_push(struct dsm_engine *e, struct dsm_space *s, struct dsm_waiter *w,
		  struct dsm_actions *acts);
/* Bare acquire, first half: get what the sync manager knows. 0 done, -EINPROGRESS, -EHOSTDOWN. */
int dsm_sync_pull(struct dsm_engine *e, struct dsm_space *s, struct dsm_waiter *w,
		  struct dsm_actions *acts);

void dsm_flag_serve(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts);
int dsm_flag_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			struct dsm_reader *r, struct dsm_actions *acts);
void dsm_flag_peer_lost(struct dsm_engine *e, struct dsm_flag *f, u16 node,
			struct dsm_actions *acts);

#endif
