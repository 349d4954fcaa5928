/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks of regions with sync=rdma: a queue between nodes, built by atomics on one word at the key's
 * manager and handed along by signals (protocol.md 3.8 with decisions.md P1). rlock.c is what
 * threads, signals and losses do to a lock at a node, rlock_get.c how the node gets it, rlock_give.c
 * how it gives it away; rlock_doubt.c finds out whether an atomic took place; rlock_manager.c gives out words and makes
 * a broken queue void.
 */
#ifndef DSM_CORE_RLOCK_H
#define DSM_CORE_RLOCK_H

#include "engine.h"
#include "lock.h"
#include "rsync.h"

/*
 * The word: what it says, the last node in the queue (or the last that had the lock) plus one,
 * 0: nobody ever, and the epoch of the queue. It is 0 before its first use and never again.
 */
#define DSM_RWORD_FREE 0ull		/* nobody has it */
#define DSM_RWORD_HELD 1ull		/* a queue; its end is named */
#define DSM_RWORD_LOST 2ull		/* a queue that is void: who has the lock gives it back */
#define DSM_RWORD_STATE 3ull
#define DSM_RWORD_DEAD 4ull		/* FREE: the last holder ended while holding it */
#define DSM_RWORD_NODE_SHIFT 8
#define DSM_RWORD_EPOCH_SHIFT 32

static inline u64 dsm_rword(u64 state, u16 node, u32 epoch)
{
	return state | (u64)(node + 1) << DSM_RWORD_NODE_SHIFT | (u64)epoch << DSM_RWORD_EPOCH_SHIFT;
}

static inline u64 dsm_rword_state(u64 word)
{
	return word & DSM_RWORD_STATE;
}

/* The node that it names, or DSM_NO_NODE. */
static inline u16 dsm_rword_node(u64 word)
{
	return (u16)(word >> DSM_RWORD_NODE_SHIFT) - 1;
}

static inline u32 dsm_rword_epoch(u64 word)
{
	return word >> DSM_RWORD_EPOCH_SHIFT;
}

/*
 * Values of signals: in the highest four bits what it is, then five bits of the queue's epoch, the
 * manager, and the number of the word. Signals that speak of no lock begin with other bits.
 */
#define DSM_SIGNAL_SHIFT 28
#define DSM_SIGNAL_NEXT 0x1u		/* the sender comes after the receiver */
#define DSM_SIGNAL_GRANT 0x8u		/* the receiver has the lock, */
#define DSM_SIGNAL_GRANT_DEAD 0x1u	/* whose last holder ended, */
#define DSM_SIGNAL_GRANT_BOARD 0x2u	/* and the sender's board is in its inbox */
#define DSM_SIGNAL_EPOCH_SHIFT 23
#define DSM_SIGNAL_EPOCH_MASK 31u

static_assert(DSM_RSYNC_WORDS * DSM_MAX_NODES <= 1u << DSM_SIGNAL_EPOCH_SHIFT);

/* A word in the cluster. */
static inline u32 dsm_rlock_handle(u16 manager, u32 word)
{
	return manager << DSM_RSYNC_WORDS_LOG2 | word;
}

/**
 * enum dsm_rlock_state - local part
 * @DSM_RLOCK_NONE:      not in the queue
 * @DSM_RLOCK_OPENING:   the manager was asked for the word
 * @DSM_RLOCK_QUEUEING:  an atomic that puts this node at the end of the queue is under way
 * @DSM_RLOCK_WAITING:   behind another node
 * @DSM_RLOCK_LEARNING:  the lock is here; what its last holder knew is being fetched
 * @DSM_RLOCK_HELD:      a thread of this node holds it
 * @DSM_RLOCK_RELEASING: given back here; a release is under way
 * @DSM_RLOCK_FREEING:   an atomic that says "free" is under way
 * @DSM_RLOCK_PASSING:   it is the next node's, which has not said yet who it is
 * @DSM_RLOCK_PAUSING:   algo=array: another node had it, try again later
 */
enum dsm_rlock_state {
	DSM_RLOCK_NONE,
	DSM_RLOCK_OPENING,
	DSM_RLOCK_QUEUEING,
	DSM_RLOCK_WAITING,
	DSM_RLOCK_LEARNING,
	DSM_RLOCK_HELD,
	DSM_RLOCK_RELEASING,
	DSM_RLOCK_FREEING,
	DSM_RLOCK_PASSING,
	DSM_RLOCK_PAUSING,
};

#define DSM_RLOCKF_OPEN 0x01u		/* the word is known */
#define DSM_RLOCKF_DEAD 0x02u		/* the last holder ended while holding it */
#define DSM_RLOCKF_READING 0x04u	/* a READ of the board of @before is under way */
#define DSM_RLOCKF_OWED 0x08u		/* given up while WAITING: the lock may come nevertheless */
#define DSM_RLOCKF_CAME 0x10u		/* and it came, in QUEUEING */
#define DSM_RLOCKF_VOID 0x20u		/* the queue of @void_epoch was made void */
#define DSM_RLOCKF_JUDGING 0x40u	/* manager: an atomic of dsm_rlockman_judge() is under way */
#define DSM_RLOCKF_AGAIN 0x80u		/* and another node was lost meanwhile */
#define DSM_RLOCKF_ARRAY 0x100u		/* algo=array: no word, no queue; fixed */
#define DSM_RLOCKF_DOUBT 0x200u		/* QUEUEING, FREEING: did the atomic take place? rlock_doubt.c */
#define DSM_RLOCKF_BROKEN 0x400u	/* manager: any queue that is found may have lost a node */

/**
 * struct dsm_rlock - one key at a node that uses or manages it; stays as long as its region
 * @by_key:  in the key table
 * @heard:   last loss that it was told of: &struct dsm_engine.losses
 * @by_word: in the table of words, once the word is known
 * @list:    held list, or empty
 * @cont:    waits for a pull or a release
 * @sure:    @askers can be answered
 * @waiters: local threads, oldest first
 * @owner:   while HELD
 * @key:     as the callers gave it; fixed
 * @target:  release that must be done before the lock leaves; PAUSING: time of the next attempt
 * @seen:    the word as last seen or set by this node
 * @expect:  QUEUEING, FREEING: what the atomic under way expects
 * @put:     and what it puts there; algo=array: our entry while we do not want the lock
 * @region:  region id; fixed
 * @handle:  number of the word in the cluster
 * @word:    the word
 * @xid:     of the atomic under way
 * @read:    of the READ
 * @epoch:   of the queue that this node is in, or was in last
 * @void_epoch: see DSM_RLOCKF_VOID
 * @manager: node
 * @before:  who had it, or has to give it to us
 * @next:    node that gets it after us, or DSM_NO_NODE
 * @next_lost: it was lost since it said so
 * @run:     local hand-overs since it came
 * @state:   enum dsm_rlock_state
 * @attempts: algo=array: in a row that failed
 * @flags:   DSM_RLOCKF_*
 * @asked:   algo=array: READs behind our entry that are under way
 * @witness: DOUBT: node that was asked whom it waits for; this one: the manager is to judge; or DSM_NO_NODE
 * @asked_of: DOUBT: nodes that were asked since the word was looked at
 * @askers:  QUEUEING: nodes that want to know where this one is in the queue
 * @users:   manager: nodes that know the word
 * @reporters: manager: nodes that wait for what dsm_rlockman_judge() finds
 * @judged:  manager: the word as last seen by dsm_rlockman_judge()
 * @judge_put: manager: what its atomic puts there
 * @judge_xid: manager: number of its atomic
 *
 * Guarded by the engine lock.
 */
struct dsm_rlock {
	struct hlist_node by_key;
	u32 heard;
	struct hlist_node by_word;
	struct list_head list;
	struct dsm_cont cont;
	struct dsm_cont sure;
	struct list_head waiters;
	struct dsm_lock_owner owner;
	u64 key;
	u64 target;
	u64 seen;
	u64 expect;
	u64 put;
	struct dsm_key word;
	u32 region;
	u32 handle;
	u32 xid;
	u32 read;
	u32 epoch;
	u32 void_epoch;
	u16 manager;
	u16 before;
	u16 next;
	bool next_lost;
	u16 run;
	u8 state;
	u8 attempts;
	u16 flags;
	u16 asked;
	u16 witness;
	u32 judge_xid;
	u64 asked_of;
	u64 askers;
	u64 users;
	u64 reporters;
	u64 judged;
	u64 judge_put;
};

/* ---- for the shell: as dsm_lock_*() in lock.h ---- */
int dsm_rlock_acquire(struct dsm_engine *e, struct dsm_space *s, u64 key, struct dsm_waiter *w,
		      struct dsm_actions *acts);
int dsm_rlock_release(struct dsm_engine *e, struct dsm_space *s, u64 key,
		      const struct dsm_lock_owner *o, struct dsm_actions *acts);
int dsm_rlock_consistent(struct dsm_engine *e, struct dsm_space *s, u64 key,
			 const struct dsm_lock_owner *o);
int dsm_rlock_owner_gone(struct dsm_engine *e, u32 region, u64 file, s32 tgid,
			 struct dsm_actions *acts);
/* A transfer of kind RLOCK is back; it stays the shell's. */
void dsm_rlock_on_xfer(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts);
/* A signal of kind NEXT or GRANT. -EPROTO: the sender broke a rule. */
int dsm_rlock_on_signal(struct dsm_engine *e, u16 from, u32 imm, struct dsm_actions *acts);

/* ---- between the units ---- */
struct dsm_rlock *dsm_rlock_find(struct dsm_engine *e, u32 region, u64 key);
struct dsm_rlock *dsm_rlock_get(struct dsm_engine *e, struct dsm_space *s, u64 key);
/* Free the object if it says nothing: its word was not to be had. */
void dsm_rlock_put(struct dsm_engine *e, struct dsm_rlock *l);
void dsm_rlock_released(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_rlock_peer_lost(struct dsm_engine *e, struct dsm_rlock *l, u16 node,
			 struct dsm_actions *acts);
void dsm_rlock_forget(struct dsm_engine *e, struct dsm_rlock *l);
/* The word is known. */
void dsm_rlock_opened(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_key *word,
		      u32 handle);
/* It can't be had. */
void dsm_rlock_refused(struct dsm_engine *e, struct dsm_rlock *l, int err,
		       struct dsm_actions *acts);
/* The queue of @word's epoch is void; the word says so. */
void dsm_rlock_void(struct dsm_engine *e, struct dsm_rlock *l, u64 word, struct dsm_actions *acts);
/* Something of it is under way here, so its region must stay. */
void dsm_rlock_busy(struct dsm_engine *e, struct dsm_rlock *l, bool was);
static inline void dsm_rlock_forget_next(struct dsm_rlock *l)
{
	l->next = DSM_NO_NODE;
	l->next_lost = false;
}

/* Is the next node known, and there? */
static inline bool dsm_rlock_can_pass(const struct dsm_engine *e, const struct dsm_rlock *l)
{
	return !l->next_lost && dsm_engine_alive(e, l->next);
}

static inline bool dsm_rlock_is_busy(const struct dsm_rlock *l)
{
	return l->state != DSM_RLOCK_NONE || l->flags & DSM_RLOCKF_JUDGING;
}
void dsm_rlock_set_state(struct dsm_engine *e, struct dsm_rlock *l, enum dsm_rlock_state state);
void dsm_rlock_swap(struct dsm_engine *e, struct dsm_rlock *l, u64 expect, u64 put,
		    struct dsm_actions *acts);
void dsm_rlock_swapped(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x, struct dsm_actions *acts);
void dsm_rlock_signal(struct dsm_engine *e, struct dsm_rlock *l, u16 dst, u32 what,
		      struct dsm_actions *acts);
void dsm_rlock_report_broken(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_rlock_fail_waiters(struct dsm_engine *e, struct dsm_rlock *l, int err, bool tries,
			    struct dsm_actions *acts);
void dsm_rlock_cas(struct dsm_engine *e, struct dsm_rlock *l, u64 expect, u64 put, u32 *xid,
		   struct dsm_actions *acts);
void dsm_rlock_send(struct dsm_engine *e, struct dsm_rlock *l, u16 dst, u8 op,
		    struct dsm_actions *acts);
void dsm_rlock_reply(struct dsm_engine *e, struct dsm_rlock *l, u16 dst, u32 xid, struct dsm_wire_rlock *body,
		     struct dsm_actions *acts);

/* rlock_get.c */
/* Ask for the lock, the word being known. */
void dsm_rlock_queue(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_rlock_queued(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
		      struct dsm_actions *acts);
void dsm_rlock_board_read(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
			  struct dsm_actions *acts);
void dsm_rlock_learned(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_rlock_learn(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);

/* rlock_give.c */
int dsm_rlock_take(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_lock_owner *o);
bool dsm_rlock_may_stay(const struct dsm_rlock *l);
void dsm_rlock_settle(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_rlock_free_word(struct dsm_engine *e, struct dsm_rlock *l, u64 expect,
			 struct dsm_actions *acts);
void dsm_rlock_hand_on(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_rlock_freed(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
		     struct dsm_actions *acts);

/* rlock_doubt.c */
void dsm_rlock_doubt(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_rlock_looked(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x, struct dsm_actions *acts);
void dsm_rlock_on_before(struct dsm_engine *e, struct dsm_rlock *l, u16 from, u32 epoch, struct dsm_actions *acts);
void dsm_rlock_on_place(struct dsm_engine *e, struct dsm_rlock *l, u16 from, u32 place, u16 before,
			struct dsm_actions *acts);
/* @askers can be answered. */
void dsm_rlock_sure(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
/* The manager has judged, or cannot. */
void dsm_rlock_doubt_judged(struct dsm_engine *e, struct dsm_rlock *l, int err, struct dsm_actions *acts);
void dsm_rlock_doubt_lost(struct dsm_engine *e, struct dsm_rlock *l, u16 node, struct dsm_actions *acts);

/* rlock_manager.c */
/* Give the key a word, if it has none: 0 or -ENOSPC. */
int dsm_rlockman_open(struct dsm_engine *e, struct dsm_rlock *l);
/* A queue that lost a node, which with @broken any queue may have, is void from now on. */
void dsm_rlockman_judge(struct dsm_engine *e, struct dsm_rlock *l, bool broken, struct dsm_actions *acts);
void dsm_rlockman_judged(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
			 struct dsm_actions *acts);
int dsm_rlock_on_request(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			 struct dsm_reader *r, struct dsm_actions *acts);
int dsm_rlock_on_reply(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		       struct dsm_reader *r, struct dsm_actions *acts);

/* ---- both kinds of locks ---- */
static inline int dsm_anylock_acquire(struct dsm_engine *e, struct dsm_space *s, u64 key,
				      struct dsm_waiter *w, struct dsm_actions *acts)
{
	return s->policy.sync == DSM_SYNC_RDMA ? dsm_rlock_acquire(e, s, key, w, acts) :
						 dsm_lock_acquire(e, s, key, w, acts);
}

static inline int dsm_anylock_release(struct dsm_engine *e, struct dsm_space *s, u64 key,
				      const struct dsm_lock_owner *o, struct dsm_actions *acts)
{
	return s->policy.sync == DSM_SYNC_RDMA ? dsm_rlock_release(e, s, key, o, acts) :
						 dsm_lock_release(e, s, key, o, acts);
}

static inline int dsm_anylock_consistent(struct dsm_engine *e, struct dsm_space *s, u64 key,
					 const struct dsm_lock_owner *o)
{
	return s->policy.sync == DSM_SYNC_RDMA ? dsm_rlock_consistent(e, s, key, o) :
						 dsm_lock_consistent(e, s, key, o);
}

static inline int dsm_anylock_owner_gone(struct dsm_engine *e, struct dsm_space *s, u64 file,
					 s32 tgid, struct dsm_actions *acts)
{
	return s->policy.sync == DSM_SYNC_RDMA ? dsm_rlock_owner_gone(e, s->id, file, tgid, acts) :
						 dsm_lock_owner_gone(e, s->id, file, tgid, acts);
}

#endif
