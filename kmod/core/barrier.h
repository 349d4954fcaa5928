/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers: any key, any number of callers in the whole cluster, counted at the key's manager
 * (protocol.md 3.9 with decisions.md P3, P4). Every report carries all that its node knows.
 *
 * Two units: barrier.c is the manager, barrier_node.c the nodes whose threads come. A node
 * that departed with n threads holds the next arrivals back and reports n of them at once,
 * until the manager, or anything unusual, asks it to report one by one. Once the parties have been
 * the same twice, and the nodes are more than the fan-out, reports and departures go
 * through other nodes on the way: a tree.
 */
#ifndef DSM_CORE_BARRIER_H
#define DSM_CORE_BARRIER_H

#include "engine.h"
#include "tree.h"

/* Threads of one key that end while their report is on its way, at most. */
#define DSM_BARRIER_EARLY 8

/**
 * struct dsm_barrier - one key, at its manager or at a node whose threads come
 * @by_key:       in the key table
 * @heard:        last loss that it was told of: &struct dsm_engine.losses
 * @idle:         in the list of idle barriers while nobody is inside, oldest first; else empty
 * @arrivals:     struct dsm_request: manager: arrived, not departed; elsewhere: reports of
 *                others, to be passed on
 * @key:          as the callers gave it; fixed
 * @region:       region id; fixed
 * @parties:      callers that the episode under way waits for; elsewhere: of the last one
 * @seen:         manager: arrivals of this episode, ended ones included; 0 = no episode.
 *                Elsewhere: arrivals held back
 * @status:       0, or why this episode fails: -EOWNERDEAD, -EHOSTDOWN; manager
 * @members:      nodes that arrived in this episode; manager
 * @last_members: nodes of the last complete episode; a lost one among them will be missed
 * @last_parties: its number of callers
 * @shut:         one of @last_members is lost: as many callers never come together again; manager
 * @episode:      number of the episode under way or to come, rising with each of all keys;
 *                elsewhere: the one for which @quota holds
 * @holders:      nodes that may hold arrivals back; manager
 * @strays:       a report of this episode came by nodes that we do not know; manager
 * @moving:       its departures name the pages that may move; manager, within a step
 * @count:        by node: arrivals of this episode; manager
 * @last:         by node: arrivals of the last one, as told to the holders; manager
 * @asked:        highest episode in which we were asked to report at once; not manager
 * @quota:        arrivals to hold until there are so many; 0 = report each; not manager
 * @ticket:       request id that those held share; not manager
 * @told:         lost nodes that all callers held were told of; not manager
 * @via:          where the last report went, if not to the manager, or DSM_NO_NODE; not manager
 * @below:        length that @arrivals must have before all are here; not manager
 * @n_below:      its length; not manager
 * @tree:         by which the holders report; elsewhere: of the last departure
 * @early:        threads that are gone whose report was not there, the last few: it may still come; manager
 * @n_early:      how many there have been
 * @broken:       number of the last episode that failed since a party ended, or that we were told of; 0: none. Fixed while idle
 * @broken_opens: @opens of the region then
 * @broken_before: the one before, whose number a program has that goes on after @broken
 * @broken_before_opens: likewise
 * @broken_told:  nodes that were to be told of it; manager
 * @broken_news:  of these, who is still to be told; manager, within a step
 * @owed:         parties of failed episodes that have not come, another episode having begun; manager
 * @owed_broken:  number of the last of those
 * @owed_told:    nodes that were to be told of one of them
 * @knows:        @broken as all callers held report it: of an episode that had failed before their files were opened; not manager
 *
 * Guarded by the engine lock.
 */
struct dsm_barrier {
	struct hlist_node by_key;
	u32 heard;
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
	u32 quota;
	u32 ticket;
	u64 episode;
	u64 holders;
	bool shut;
	bool strays;
	bool moving;
	u64 asked;
	u64 told;
	u16 via;
	u16 below;
	u16 n_below;
	struct dsm_tree tree;
	struct {
		u16 node;
		u32 xid;
	} early[DSM_BARRIER_EARLY];
	u32 n_early;
	u32 broken;
	u64 broken_opens;
	u32 broken_before;
	u64 broken_before_opens;
	u64 broken_told;
	u64 broken_news;
	u64 owed_told;
	u32 owed;
	u32 owed_broken;
	u32 knows;
	u16 count[DSM_MAX_NODES];
	u16 last[DSM_MAX_NODES];
};

/* Idle barriers remembered for their members. */
#define DSM_BARRIER_IDLE_MAX 1024

/* More threads of one node than this are reported one by one. */
#define DSM_BARRIER_HOLD_MAX 4096u

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
int dsm_barrier_on_node_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
				struct dsm_reader *r, struct dsm_actions *acts);
void dsm_barrier_peer_lost(struct dsm_engine *e, struct dsm_barrier *b, u16 node,
			   struct dsm_actions *acts);

/* ---- between the two units ---- */
struct dsm_barrier *dsm_barrier_find(struct dsm_engine *e, u32 region, u64 key);
struct dsm_barrier *dsm_barrier_get(struct dsm_engine *e, u32 region, u64 key);
/* barrier_early.c: aborts that are there before the arrival. */
void dsm_barrier_early_note(struct dsm_barrier *b, u16 node, u32 xid);
u32 dsm_barrier_early_take(struct dsm_barrier *b, const struct dsm_request *q);
void dsm_barrier_early_forget(struct dsm_barrier *b, u16 node);
/* barrier_broken.c: episodes that fail since a party ended; who belongs to one, and who comes later. */
void dsm_barrier_fail(struct dsm_engine *e, struct dsm_barrier *b, int status);
void dsm_barrier_broken_learn(struct dsm_engine *e, struct dsm_barrier *b, u32 number);
u32 dsm_barrier_broken_before(const struct dsm_barrier *b, u64 opened);
bool dsm_barrier_is_later(const struct dsm_barrier *b, const struct dsm_request *q);
bool dsm_barrier_is_owed(const struct dsm_barrier *b, const struct dsm_request *q);
void dsm_barrier_abandon(struct dsm_engine *e, struct dsm_barrier *b);
void dsm_barrier_broken_forget(struct dsm_barrier *b, u16 node);

/* Somebody is inside, or nobody any more (@b may be gone afterwards). */
void dsm_barrier_busy(struct dsm_engine *e, struct dsm_barrier *b);
void dsm_barrier_idle(struct dsm_engine *e, struct dsm_barrier *b);
void dsm_barrier_accept(struct dsm_engine *e, const struct dsm_request *init, bool complete,
			bool alone, struct dsm_actions *acts);
void dsm_barrier_abort_at_manager(struct dsm_engine *e, u32 region, u64 key, u16 node, u32 xid,
				  struct dsm_actions *acts);
/* Wake up to @count threads of ticket @xid, as @from says; first pull from @about, or DSM_NO_NODE. */
bool dsm_barrier_wake(struct dsm_engine *e, u16 from, u32 xid, u32 count, int status, u16 about,
		      struct dsm_actions *acts);
bool dsm_barrier_mark_gone(struct dsm_engine *e, u16 node, u32 xid);
/* At a node that is not the manager. */
void dsm_barrier_relay(struct dsm_engine *e, struct dsm_request *q, u16 root,
		       struct dsm_actions *acts);
void dsm_barrier_relay_abort(struct dsm_engine *e, u32 region, u16 root,
			     const struct dsm_wire_arrive *body,
			     const struct dsm_wire_ticket *ticket, struct dsm_actions *acts);
void dsm_barrier_node_peer_lost(struct dsm_engine *e, struct dsm_barrier *b, u16 node, u16 root,
				struct dsm_actions *acts);

#endif
