/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers: any key, any number of callers in the whole cluster, counted at the
 * key's manager (protocol.md 3.9 with decisions.md P3, P4). Every arrival is
 * reported at once and carries all that its node knows.
 */
#ifndef DSM_CORE_BARRIER_H
#define DSM_CORE_BARRIER_H

#include "engine.h"

/**
 * struct dsm_barrier - one key at its manager
 * @by_key:       in the key table
 * @idle:         in the list of idle barriers while @seen is 0, oldest first
 * @arrivals:     struct dsm_request: arrived, not departed
 * @key:          as the callers gave it; fixed
 * @region:       region id; fixed
 * @parties:      callers that the episode under way waits for
 * @seen:         arrivals of this episode, ended ones included; 0 = no episode
 * @status:       0, or why this episode fails: -EOWNERDEAD, -EHOSTDOWN
 * @members:      nodes that arrived in this episode
 * @last_members: nodes of the last complete episode; a lost one among them will be missed
 * @last_parties: its number of callers
 *
 * Guarded by the engine lock.
 */
struct dsm_barrier {
	struct hlist_node by_key;
	struct list_head idle;
	struct list_head arrivals;
	u64 key;
	u32 region;
	u32 parties;
	u32 seen;
	int status;
	u64 members;
	u64 last_members;
	u32 last_parties;
};

/* Idle barriers remembered for their members. */
#define DSM_BARRIER_IDLE_MAX 1024

/*
 * Arrive (after a release). @w is woken when all have; then
 * acquire. The first time with so many parties it fails with -EHOSTDOWN once a user of the region
 * is lost that is not in @w->told. 0, or -EHOSTDOWN: manager lost, w not queued.
 */
int dsm_barrier_arrive(struct dsm_engine *e, struct dsm_space *s, u64 key, u32 parties,
		       struct dsm_waiter *w, struct dsm_actions *acts);
/* An arrived thread is gone for good. False: too late, it was woken. */
bool dsm_barrier_abort(struct dsm_engine *e, struct dsm_space *s, u64 key, struct dsm_waiter *w,
		       struct dsm_actions *acts);

void dsm_barrier_serve(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts);
int dsm_barrier_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			   struct dsm_reader *r, struct dsm_actions *acts);
void dsm_barrier_peer_lost(struct dsm_engine *e, struct dsm_barrier *b, u16 node,
			   struct dsm_actions *acts);

#endif
