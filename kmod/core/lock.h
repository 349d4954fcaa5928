/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks: distributed queue, token cached at its last holder (protocol.md 3.8, sync=msg). lock.c
 * is the local part of every node, lock_loss.c what it does after a loss, lock_home.c before it leaves,
 * lock_manager.c the part of a key's manager.
 */
#ifndef DSM_CORE_LOCK_H
#define DSM_CORE_LOCK_H

#include "engine.h"

/**
 * enum dsm_lock_state - local part
 * @DSM_LOCK_NONE:      no token, nothing asked
 * @DSM_LOCK_WAITING:   asked, or the token is here but its notices are being pulled
 * @DSM_LOCK_HELD:      a thread of this node holds it
 * @DSM_LOCK_CACHED:    token here, free
 * @DSM_LOCK_GRANTING:  release under way, then the token goes to @next
 * @DSM_LOCK_RETURNING: release under way or return sent; then the token is the manager's
 */
enum dsm_lock_state {
	DSM_LOCK_NONE,
	DSM_LOCK_WAITING,
	DSM_LOCK_HELD,
	DSM_LOCK_CACHED,
	DSM_LOCK_GRANTING,
	DSM_LOCK_RETURNING,
};

/* the last holder ended while holding it (travels with the token) */
#define DSM_LOCKF_DEAD 0x01u
#define DSM_LOCKF_TRYING 0x02u	/* WAITING for the answer to a try */
#define DSM_LOCKF_LOST 0x04u	/* manager: the token was on a lost node */
#define DSM_LOCKF_TRY_OUT 0x08u	/* manager: a try is at the tail, requests queue up */
#define DSM_LOCKF_PROBING 0x10u	/* manager: finding the token after a node was lost */
#define DSM_LOCKF_SENT 0x20u	/* RETURNING: the return is on the wire */
#define DSM_LOCKF_FAST 0x40u	/* HELD by who took it in a slot; no quota counts it */
#define DSM_LOCKF_LATE 0x80u	/* a token for a void request goes on; a newer one is under way */
#define DSM_LOCKF_LOCAL (DSM_LOCKF_TRYING | DSM_LOCKF_SENT)

/* Hand-overs within the node before a waiting node gets its turn (protocol.md 3.8, bound). */
#define DSM_LOCK_LOCAL_RUN 16

/**
 * struct dsm_lock - one key at this node
 * @by_key:  in the key table
 * @heard:   last loss that it was told of: &struct dsm_engine.losses
 * @list:    held list or cached list (LRU), else empty
 * @cont:    waits for a pull or a release
 * @waiters: local threads, oldest first
 * @queued:  manager: struct dsm_request that wait for a try or a probe
 * @owner:   while HELD
 * @key:     as the callers gave it; fixed
 * @target:  release that must be done before the token leaves
 * @region:  region id; fixed
 * @next:    node that gets the token after us, or DSM_NO_NODE
 * @run:     local hand-overs since the token came
 * @manager: node
 * @tail:    manager: last in the queue; self when the token is here or queued to come here
 * @state:   enum dsm_lock_state
 * @flags:   DSM_LOCKF_*
 * @n_order: manager: entries of @order in use
 * @order:   manager: nodes that may hold or wait, in the order of the queue
 * @probe:   manager: nodes whose answer is awaited
 * @asked:   manager: nodes that were told of the latest probe; their older requests are void
 * @token:   manager, probing: who has the token
 * @trying:  manager: node whose try is at the tail
 * @epoch:   grows with each probe; a PASS, REFUSED, APART, request or try of an older epoch is void
 * @slots:   CACHED only: offered to the processes in slot @slot of these, which may have taken
 *           it; else NULL
 * @slot:    index
 *
 * Guarded by the engine lock.
 */
struct dsm_lock {
	struct hlist_node by_key;
	u32 heard;
	struct list_head list;
	struct dsm_cont cont;
	struct list_head waiters;
	struct list_head queued;
	struct dsm_lock_owner owner;
	u64 key;
	u64 target;
	u64 probe;
	u64 asked;
	u32 region;
	u16 next;
	u16 run;
	u16 manager;
	u16 tail;
	u16 token;
	u16 trying;
	u32 epoch;
	u8 state;
	u8 flags;
	u8 n_order;
	u8 order[DSM_MAX_NODES];
	struct dsm_slots *slots;
	u32 slot;
};

/* ---- for the shell ---- */
/*
 * Take or queue. Return: 0 taken, -EOWNERDEAD taken from a dead holder, -EINPROGRESS w is
 * queued, -EBUSY (try), -EDEADLK, -EHOSTDOWN.
 */
int dsm_lock_acquire(struct dsm_engine *e, struct dsm_space *s, u64 key, struct dsm_waiter *w,
		     struct dsm_actions *acts);
/* What dsm_lock_release() and dsm_lock_owner_gone() say of a lock that the quota counts or not. */
#define DSM_LOCK_COUNTED 1
#define DSM_LOCK_UNCOUNTED 2
/* DSM_LOCK_COUNTED or _UNCOUNTED, -EPERM: not held by this process (through this file). */
int dsm_lock_release(struct dsm_engine *e, struct dsm_space *s, u64 key,
		     const struct dsm_lock_owner *o, struct dsm_actions *acts);
int dsm_lock_consistent(struct dsm_engine *e, struct dsm_space *s, u64 key,
			const struct dsm_lock_owner *o);
/* Give up waiting. False: too late, the wake is on its way and w->status tells. */
bool dsm_lock_cancel(struct dsm_engine *e, struct dsm_waiter *w);
/*
 * A process (tgid) or file (tgid 0) is gone: release one lock it held as OWNERDEAD.
 * DSM_LOCK_COUNTED or _UNCOUNTED: call again; 0: there was none.
 */
int dsm_lock_owner_gone(struct dsm_engine *e, u32 region, u64 file, s32 tgid,
			 struct dsm_actions *acts);

/* As this node leaves, an idle token goes back to its manager. True: once more, in a step of its own. */
bool dsm_lock_send_home(struct dsm_engine *e, struct dsm_actions *acts);
bool dsm_lock_all_home(const struct dsm_engine *e);

/* ---- between the units ---- */
/* One of the idle tokens beyond the cap goes home. */
bool dsm_lock_enforce_cap(struct dsm_engine *e, bool all, struct dsm_actions *acts);
/* Taken out of its slot. */
struct dsm_lock *dsm_lock_get(struct dsm_engine *e, struct dsm_space *s, u64 key);
/* As it is. */
struct dsm_lock *dsm_lock_find(struct dsm_engine *e, u32 region, u64 key);
/* Free the object if it says nothing that a new one would not say. */
void dsm_lock_put(struct dsm_engine *e, struct dsm_lock *l);
/* @node comes after us in the queue; @deaf: and has lost us. */
void dsm_lock_pass(struct dsm_engine *e, struct dsm_lock *l, u16 node, bool deaf, struct dsm_actions *acts);
/* The token is here, or is on its way to this node's waiters with its notices still missing. */
bool dsm_lock_has_token(const struct dsm_lock *l);
/* Out of its slot, if it is in one; its state says whether a process holds it. */
void dsm_lock_recall(struct dsm_engine *e, struct dsm_lock *l);
/* The token came although nobody here waits: hand it back to the manager. */
void dsm_lock_stray(struct dsm_engine *e, struct dsm_lock *l, u16 from, bool complete,
		    struct dsm_actions *acts);
/* The token and all its notices are here. */
void dsm_lock_granted(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts);
void dsm_lock_refused(struct dsm_engine *e, struct dsm_lock *l, int err, struct dsm_actions *acts);
void dsm_lock_released(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts);
void dsm_lock_return_ready(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts);
void dsm_lock_return_acked(struct dsm_engine *e, struct dsm_lock *l, bool taken,
			   struct dsm_actions *acts);
/* Try on behalf of @node at the node that is last in the queue: true if the token will go there. */
bool dsm_lock_try_here(struct dsm_engine *e, struct dsm_lock *l, u16 node,
		       struct dsm_actions *acts);
void dsm_lock_ask(struct dsm_engine *e, struct dsm_lock *l, bool try, struct dsm_actions *acts);
void dsm_lock_fail(struct dsm_engine *e, struct dsm_lock *l, int err, bool try_only,
		   struct dsm_actions *acts);
void dsm_lock_send(struct dsm_engine *e, u16 dst, u8 class, u8 type, const struct dsm_lock *l,
		   u16 node, u8 state, u32 status, struct dsm_actions *acts);

/* lock_manager.c */
void dsm_lockman_request(struct dsm_engine *e, struct dsm_lock *l, u16 node, bool try, u64 lost,
			 struct dsm_actions *acts);
/* The token is back at the manager, with nobody in the queue. */
void dsm_lockman_found(struct dsm_engine *e, struct dsm_lock *l);
void dsm_lockman_peer_lost(struct dsm_engine *e, struct dsm_lock *l, u16 node,
			   struct dsm_actions *acts);

int dsm_lock_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			struct dsm_reader *r, struct dsm_actions *acts);

/* lock_loss.c */
/* The manager asks who has the token: what it told us before is void. Waiters ask anew. */
void dsm_lock_probed(struct dsm_engine *e, struct dsm_lock *l, u32 epoch, bool gone, struct dsm_actions *acts);
/* A token came from a node that had heard of probe @epoch: marks the one for a void request. */
void dsm_lock_came(struct dsm_engine *e, struct dsm_lock *l, u32 epoch);
void dsm_lock_answered(struct dsm_engine *e, struct dsm_lock *l, int err, struct dsm_actions *acts);
void dsm_lock_peer_lost(struct dsm_engine *e, struct dsm_lock *l, u16 node,
			struct dsm_actions *acts);
/* This node has lost @node, which is behind it in the queue, or may have sent it the token: the manager is to know. */
void dsm_lock_apart(struct dsm_engine *e, struct dsm_lock *l, u16 node, bool behind, struct dsm_actions *acts);

#endif
