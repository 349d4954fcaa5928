/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Threads that wait for the engine, and what goes on once knowledge or a release is complete.
 */
#ifndef DSM_CORE_WAITER_H
#define DSM_CORE_WAITER_H

#include "types.h"

struct dsm_actions;
struct dsm_engine;
struct dsm_space;

/* What to do once knowledge is complete (a pull ended) or a release is done. */
enum dsm_cont_kind {
	DSM_CONT_WAITER,	/* wake a thread */
	DSM_CONT_GRANTED,	/* a token arrived: struct dsm_lock */
	DSM_CONT_RELEASED,	/* REL done, hand the token on: struct dsm_lock */
	DSM_CONT_RETURNED,	/* REL done, token goes home: struct dsm_lock */
	DSM_CONT_REQUEST,	/* serve a remote request: struct dsm_request */
	DSM_CONT_RLOCK_LEARNED,	/* a lock and what came with it are here: struct dsm_rlock */
	DSM_CONT_RLOCK_RELEASED,	/* REL done, let the lock go: struct dsm_rlock */
	DSM_CONT_RLOCK_SURE,	/* tell who asked where this node is in the queue: struct dsm_rlock.sure */
};

struct dsm_cont {
	struct list_head link;
	u8 kind;
};

/* One process through one open file, and its thread. */
struct dsm_lock_owner {
	u64 file;
	s32 tgid;
	s32 tid;
};

/**
 * struct dsm_waiter - a thread that waits for the engine; lives on its stack
 * @cont:   queued while knowledge is pulled
 * @link:   in a lock's queue, the list of release waiters or acquire waiters
 * @by_xid: in the table of requests under way
 * @wake:   link of the wake list in the actions
 * @xid:    request id; 0 = not in the table
 * @peer:   node whose answer is awaited, or DSM_NO_NODE
 * @via:    at a barrier: node that the report went to, or DSM_NO_NODE: the manager
 * @above:  likewise: all nodes that pass on the report or the answer
 * @target: release number awaited
 * @status: result, valid once woken
 * @try_only: for locks: do not queue
 * @silent: for releases: is told when, and not whether it went well
 * @done:   set when it is put on the wake list; from then on the engine has forgotten it
 * @owner:  who takes the lock
 * @told:   for flag waits and barriers: bitmap of lost nodes that the caller was told of before
 * @opened: at a barrier: @opens of the region when the caller's file was opened, this one included
 * @space:  at a barrier: region, which the thread keeps open
 */
struct dsm_waiter {
	struct dsm_cont cont;
	struct list_head link;
	struct hlist_node by_xid;
	struct dsm_waiter *wake;
	u32 xid;
	u16 peer;
	u16 via;
	u64 above;
	u64 target;
	int status;
	bool try_only;
	bool silent;
	bool done;
	struct dsm_lock_owner owner;
	u64 told;
	u64 opened;
	struct dsm_space *space;
};

/* A peer's waits for flags that it gave up before they came, the last few: messages may overtake each other. */
#define DSM_EARLY_CANCELS 16u
struct dsm_early_cancels {
	u64 key[DSM_EARLY_CANCELS];
	u32 xid[DSM_EARLY_CANCELS];	/* 0: none */
	u32 n;				/* how many there have been */
};

void dsm_waiter_init(struct dsm_waiter *w);
void dsm_request_add(struct dsm_engine *e, struct dsm_waiter *w, u16 peer);
void dsm_request_share(struct dsm_engine *e, struct dsm_waiter *w, u16 peer, u32 xid);
struct hlist_head *dsm_request_bucket(struct dsm_engine *e, u32 xid);
struct dsm_waiter *dsm_request_find(struct dsm_engine *e, u32 xid);
void dsm_request_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts);

/* A thread gives up (signal, timeout): true if it was still waiting and is now forgotten. */
bool dsm_waiter_cancel(struct dsm_engine *e, struct dsm_waiter *w);

#endif
