// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks, the part of every node: who holds, who waits here, who comes next.
 *
 * The token stays where it was last used. It leaves only after a release of all that this node
 * wrote is done, and takes along the knowledge that the next node lacks. A hand-over within the
 * node needs neither (lazy_local, protocol.md 1.3 rule 6): a free token may lie in a slot, where
 * processes take it and give it back without asking. Every event that looks at such a lock takes
 * it out of the slot first. Never decides the order between nodes: the manager does.
 */
#include "lock.h"
#include "interval.h"
#include "release.h"
#include "slot.h"

/* Cached tokens in use that are passed over in search for one that nobody uses. */
#define CAP_CHANCES 8

static bool same_owner(const struct dsm_lock_owner *a, const struct dsm_lock_owner *b)
{
	return a->file == b->file && a->tgid == b->tgid;
}

/**
 * dsm_lock_find() - the object of a key, if there is one
 * @e:      engine
 * @region: region id
 * @key:    key
 *
 * Context: engine lock held.
 * Return: lock or NULL.
 */
struct dsm_lock *dsm_lock_find(struct dsm_engine *e, u32 region, u64 key)
{
	struct dsm_lock *l;

	hlist_for_each_entry(l, dsm_key_bucket(e, e->locks, region, key), by_key)
		if (l->key == key && l->region == region)
			return l;
	return NULL;
}

/**
 * dsm_lock_get() - the object of a key, made if need be
 * @e:   engine
 * @s:   region
 * @key: key
 *
 * Idle keys have no object: at the manager that means "token here, free",
 * elsewhere "no token".
 *
 * Context: engine lock held.
 * Return: lock, in no slot; never NULL, the pool is full at the start of a step.
 */
struct dsm_lock *dsm_lock_get(struct dsm_engine *e, struct dsm_space *s, u64 key)
{
	struct dsm_lock *l = dsm_lock_find(e, s->id, key);

	if (l) {
		dsm_lock_recall(e, l);
		return l;
	}
	l = dsm_pool_take(e, DSM_POOL_LOCK);
	memset(l, 0, sizeof(*l));
	l->key = key;
	l->region = s->id;
	l->manager = dsm_manager(s, DSM_MSG_LOCK_REQ, key);
	l->next = DSM_NO_NODE;
	l->token = DSM_NO_NODE;
	l->tail = l->manager;
	l->n_order = 1;
	l->order[0] = l->manager;
	l->state = l->manager == e->self ? DSM_LOCK_CACHED : DSM_LOCK_NONE;
	INIT_LIST_HEAD(&l->list);
	INIT_LIST_HEAD(&l->cont.link);
	INIT_LIST_HEAD(&l->waiters);
	INIT_LIST_HEAD(&l->queued);
	hlist_add_head(&l->by_key, dsm_key_bucket(e, e->locks, s->id, key));
	e->n_locks++;
	return l;
}

static void set_state(struct dsm_engine *e, struct dsm_lock *l, enum dsm_lock_state state)
{
	if (!list_empty(&l->list)) {
		if (l->state == DSM_LOCK_CACHED)
			e->n_cached--;
		list_del_init(&l->list);
	}
	l->state = state;
	if (state == DSM_LOCK_HELD) {
		list_add_tail(&l->list, &e->held);
	} else if (state == DSM_LOCK_CACHED && l->manager != e->self) {
		list_add_tail(&l->list, &e->cached);
		e->n_cached++;
	}
}

/**
 * dsm_lock_recall() - take a lock out of its slot
 * @e: engine
 * @l: lock
 *
 * If a process has it, that becomes known here, as if it had asked for it. If the slot was
 * overwritten, nobody knows who had it: the next holder is told EOWNERDEAD.
 *
 * Context: engine lock held.
 */
void dsm_lock_recall(struct dsm_engine *e, struct dsm_lock *l)
{
	struct dsm_slots *slots = l->slots;
	struct dsm_lock_owner owner;
	u32 uses;

	if (!slots)
		return;
	l->slots = NULL;
	switch (dsm_slot_clear(slots, l->slot, &owner, &uses)) {
	case DSM_SLOT_FREE:
		break;
	case DSM_SLOT_HELD:
		set_state(e, l, DSM_LOCK_HELD);
		l->owner = owner;
		l->flags |= DSM_LOCKF_FAST;
		break;
	default:
		l->flags |= DSM_LOCKF_DEAD;
	}
	dsm_count_many(e, dsm_space_find(e, l->region), locks_local, uses);
}

/**
 * dsm_lock_put() - free an object that says nothing
 * @e: engine
 * @l: lock
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_lock_put(struct dsm_engine *e, struct dsm_lock *l)
{
	bool idle = l->manager == e->self ? l->state == DSM_LOCK_CACHED && l->tail == e->self
					  : l->state == DSM_LOCK_NONE;

	/* After a loss both sides must remember which messages are void. */
	if (!idle || l->epoch || l->flags || l->next != DSM_NO_NODE || !list_empty(&l->waiters) ||
	    !list_empty(&l->queued) || l->slots)
		return;
	hlist_del(&l->by_key);
	list_del_init(&l->list);
	e->n_locks--;
	dsm_pool_give(e, DSM_POOL_LOCK, l);
}

/**
 * dsm_lock_send() - send a lock message
 * @e:      engine
 * @dst:    receiver
 * @class:  message class
 * @type:   enum dsm_msg_type
 * @l:      lock
 * @node:   node the message is about, or DSM_NO_NODE
 * @state:  token flags, lock state or answer
 * @status: positive errno or 0
 * @acts:   actions
 *
 * Context: engine lock held. Adds the knowledge that the type carries, and who does not reach this node.
 */
void dsm_lock_send(struct dsm_engine *e, u16 dst, u8 class, u8 type, const struct dsm_lock *l,
		   u16 node, u8 state, u32 status, struct dsm_actions *acts)
{
	const bool asks = type == DSM_MSG_LOCK_REQ || type == DSM_MSG_LOCK_TRY;
	struct dsm_wire_lock body = {
		.key = cpu_to_le64(l->key),
		.node = cpu_to_le16(node),
		.state = state,
		.status = cpu_to_le32(status),
		.serial = cpu_to_le64(l->epoch),
		.lost = cpu_to_le64(asks ? ~e->alive : 0),
	};
	struct dsm_msgbuf *m = dsm_msg_new(e, dst, class, type, l->region, dsm_xid_next(e));

	dsm_wire_put(m, &body, sizeof(body));
	if (type == DSM_MSG_LOCK_GRANT || type == DSM_MSG_LOCK_RETURN)
		dsm_know_put(e, m, dst);
	else if (asks)
		dsm_know_put_time(e, m, e->self);
	else if (type == DSM_MSG_LOCK_PASS || type == DSM_MSG_LOCK_TRY_PASS)
		dsm_know_put_time(e, m, node);
	dsm_act_send(acts, m);
}

/**
 * dsm_lock_ask() - ask the manager for the token
 * @e:    engine
 * @l:    lock, its token elsewhere
 * @try:  only if it is free
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_lock_ask(struct dsm_engine *e, struct dsm_lock *l, bool try, struct dsm_actions *acts)
{
	set_state(e, l, DSM_LOCK_WAITING);
	l->flags = (l->flags & ~DSM_LOCKF_LOCAL) | (try ? DSM_LOCKF_TRYING : 0);
	if (l->manager == e->self)
		dsm_lockman_request(e, l, e->self, try, 0, acts);
	else if (dsm_engine_alive(e, l->manager))
		dsm_lock_send(e, l->manager, DSM_CLASS_REQ, try ? DSM_MSG_LOCK_TRY : DSM_MSG_LOCK_REQ, l,
			      DSM_NO_NODE, 0, 0, acts);
	else
		dsm_lock_refused(e, l, -EHOSTDOWN, acts);
}

static void wait_release(struct dsm_engine *e, struct dsm_lock *l, u8 kind, struct dsm_actions *acts)
{
	l->target = dsm_rel_request(e, acts);
	if (e->rel_done >= l->target) {
		dsm_ready(e, acts, &l->cont, kind);
		return;
	}
	l->cont.kind = kind;
	list_add_tail(&l->cont.link, &e->rel_conts);
}

static void start_granting(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts)
{
	set_state(e, l, DSM_LOCK_GRANTING);
	wait_release(e, l, DSM_CONT_RELEASED, acts);
}

/**
 * dsm_lock_enforce_cap() - too many idle tokens here: the one used longest ago goes home (decisions.md, lock keys)
 * @e:    engine
 * @all:  whatever is in use, and wherever in the list
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: true if one goes.
 */
bool dsm_lock_enforce_cap(struct dsm_engine *e, bool all, struct dsm_actions *acts)
{
	u32 chances = all ? e->n_cached : CAP_CHANCES;
	struct dsm_lock *l;

	while (e->n_cached > e->lock_cap) {
		l = list_first_entry(&e->cached, struct dsm_lock, list);
		/* Nobody takes it; it goes with its region. */
		if (!dsm_engine_alive(e, l->manager)) {
			if (!chances--)
				break;
			list_move_tail(&l->list, &e->cached);
			continue;
		}
		/* Its place in the list knows nothing of what happened in the slot. */
		if (l->slots && chances && !all && dsm_slot_used(l->slots, l->slot)) {
			chances--;
			list_move_tail(&l->list, &e->cached);
			continue;
		}
		dsm_lock_recall(e, l);
		if (l->state != DSM_LOCK_CACHED)
			continue;	/* held: not idle, one less in the list */
		set_state(e, l, DSM_LOCK_RETURNING);
		wait_release(e, l, DSM_CONT_RETURNED, acts);
		return true;
	}
	return false;
}

static int take(struct dsm_engine *e, struct dsm_lock *l, const struct dsm_lock_owner *o)
{
	set_state(e, l, DSM_LOCK_HELD);
	l->owner = *o;
	return l->flags & DSM_LOCKF_DEAD ? -EOWNERDEAD : 0;
}

/* The token is here and free: first a local waiter, else the next node, else keep it. */
static void settle(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts)
{
	struct dsm_waiter *w;

	if (!list_empty(&l->waiters) && (l->next == DSM_NO_NODE || l->run < DSM_LOCK_LOCAL_RUN)) {
		w = list_first_entry(&l->waiters, struct dsm_waiter, link);
		list_del_init(&w->link);
		l->run++;
		dsm_act_wake(e, acts, w, take(e, l, &w->owner));
	} else if (l->next != DSM_NO_NODE) {
		start_granting(e, l, acts);
	} else {
		set_state(e, l, DSM_LOCK_CACHED);
		dsm_lock_enforce_cap(e, false, acts);
		dsm_lock_put(e, l);
	}
}

/*
 * A lock that was just given back and that nobody waits for may go into a slot. Not one that
 * something is to be said about: a holder there is told nothing. Its last holder has applied all
 * that came with the token, so the next one on this node need not.
 */
static void offer(struct dsm_engine *e, struct dsm_slots *slots, struct dsm_lock *l, struct dsm_actions *acts)
{
	u32 i = dsm_slot_choose(slots, l->key);
	struct dsm_lock *other = slots->lock[i];

	if (other) {
		dsm_lock_recall(e, other);
		dsm_lock_put(e, other);
	}
	set_state(e, l, DSM_LOCK_CACHED);
	l->slots = slots;
	l->slot = i;
	dsm_slot_fill(slots, i, l->key, l);
	dsm_lock_enforce_cap(e, false, acts);
}

/**
 * dsm_lock_acquire() - take a lock or queue for it
 * @e:    engine
 * @s:    region, its members fixed
 * @key:  any
 * @w:    waiter with @owner and @try_only set; must stay until woken or cancelled
 * @acts: actions
 *
 * Context: engine lock held. A successful caller then runs an acquire.
 * Return: 0 or -EOWNERDEAD taken; -EINPROGRESS queued; -EBUSY try failed here; -EDEADLK
 * this thread holds it; -EHOSTDOWN the manager is lost.
 */
int dsm_lock_acquire(struct dsm_engine *e, struct dsm_space *s, u64 key, struct dsm_waiter *w,
		     struct dsm_actions *acts)
{
	struct dsm_lock *l = dsm_lock_get(e, s, key);

	if (l->state == DSM_LOCK_CACHED) {
		dsm_count(e, s, locks_local);
		l->run = 0;
		return take(e, l, &w->owner);
	}
	if (l->state == DSM_LOCK_NONE && !dsm_engine_alive(e, l->manager)) {
		dsm_lock_put(e, l);
		return -EHOSTDOWN;
	}
	if (l->state == DSM_LOCK_HELD && same_owner(&l->owner, &w->owner) &&
	    l->owner.tid == w->owner.tid)
		return -EDEADLK;
	if (w->try_only && l->state != DSM_LOCK_NONE)
		return -EBUSY;
	w->status = -EINPROGRESS;
	list_add_tail(&w->link, &l->waiters);
	if (l->state == DSM_LOCK_NONE) {
		dsm_count(e, s, locks_remote);
		dsm_lock_ask(e, l, w->try_only, acts);
	} else {
		dsm_count(e, s, locks_local);
	}
	return -EINPROGRESS;
}

static struct dsm_lock *held_by(struct dsm_engine *e, struct dsm_space *s, u64 key,
				const struct dsm_lock_owner *o)
{
	struct dsm_lock *l = dsm_lock_find(e, s->id, key);

	if (l)
		dsm_lock_recall(e, l);
	return l && l->state == DSM_LOCK_HELD && same_owner(&l->owner, o) ? l : NULL;
}

static int counted(struct dsm_lock *l)
{
	bool fast = l->flags & DSM_LOCKF_FAST;

	l->flags &= ~DSM_LOCKF_FAST;
	return fast ? DSM_LOCK_UNCOUNTED : DSM_LOCK_COUNTED;
}

/**
 * dsm_lock_release() - unlock
 * @e:    engine
 * @s:    region
 * @key:  key
 * @o:    caller
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: DSM_LOCK_COUNTED; DSM_LOCK_UNCOUNTED if it was taken in a slot; -EPERM if the caller's
 * process does not hold it.
 */
int dsm_lock_release(struct dsm_engine *e, struct dsm_space *s, u64 key,
		     const struct dsm_lock_owner *o, struct dsm_actions *acts)
{
	struct dsm_lock *l = held_by(e, s, key, o);
	int ret;

	if (!l)
		return -EPERM;
	ret = counted(l);
	if (s->slots && !l->flags && l->next == DSM_NO_NODE && list_empty(&l->waiters))
		offer(e, s->slots, l, acts);
	else
		settle(e, l, acts);
	return ret;
}

/**
 * dsm_lock_consistent() - the holder repaired what a dead holder left
 * @e:   engine
 * @s:   region
 * @key: key
 * @o:   caller
 *
 * Context: engine lock held.
 * Return: 0, -EPERM not held by the caller, -EINVAL the last holder did not die.
 */
int dsm_lock_consistent(struct dsm_engine *e, struct dsm_space *s, u64 key, const struct dsm_lock_owner *o)
{
	struct dsm_lock *l = held_by(e, s, key, o);

	if (!l)
		return -EPERM;
	if (!(l->flags & DSM_LOCKF_DEAD))
		return -EINVAL;
	l->flags &= ~DSM_LOCKF_DEAD;
	return 0;
}

/**
 * dsm_lock_cancel() - a waiting thread gives up (signal, timeout)
 * @e: engine
 * @w: waiter
 *
 * The node's own request stays: a token that comes without a waiter is cached or
 * passed on (decisions.md P5, L42).
 *
 * Context: engine lock held.
 * Return: true: forgotten; false: it was woken already.
 */
bool dsm_lock_cancel(struct dsm_engine *e, struct dsm_waiter *w)
{
	if (w->done)
		return false;
	list_del_init(&w->link);
	return true;
}

/**
 * dsm_lock_owner_gone() - a process ended while holding locks
 * @e:      engine
 * @region: region id
 * @file:   open file
 * @tgid:   process, 0 = any process of that file
 * @acts:   actions
 *
 * Context: engine lock held.
 * Return: DSM_LOCK_COUNTED or DSM_LOCK_UNCOUNTED if a lock was found and handed on: call again
 * for the next; 0 if there was none.
 */
int dsm_lock_owner_gone(struct dsm_engine *e, u32 region, u64 file, s32 tgid, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, region);
	struct dsm_lock *l;
	int ret;

	if (s && s->slots)
		dsm_slots_owner_gone(e, s->slots, file, tgid);
	list_for_each_entry(l, &e->held, list) {
		if (l->region != region || l->owner.file != file || (tgid && l->owner.tgid != tgid))
			continue;
		/* The search for the next goes on from here: those of others before it are not looked at again for each. */
		list_move_tail(&e->held, &l->list);
		ret = counted(l);
		l->flags |= DSM_LOCKF_DEAD;
		settle(e, l, acts);
		return ret;
	}
	return 0;
}

/**
 * dsm_lock_pass() - the manager names the node that comes after us
 * @e:    engine
 * @l:    lock, in this node's queue
 * @node: that node
 * @deaf: nothing reaches it from here, whether this node knows or not
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_lock_pass(struct dsm_engine *e, struct dsm_lock *l, u16 node, bool deaf, struct dsm_actions *acts)
{
	if (deaf || !dsm_engine_alive(e, node)) {
		dsm_lock_apart(e, l, node, true, acts);
		return;
	}
	l->next = node;
	if (l->state == DSM_LOCK_CACHED)
		start_granting(e, l, acts);
}

/**
 * dsm_lock_has_token() - is the token at this node?
 * @l: lock
 *
 * Context: engine lock held.
 * Return: true if it is, or if only its notices are still missing.
 */
bool dsm_lock_has_token(const struct dsm_lock *l)
{
	return l->state != DSM_LOCK_NONE && (l->state != DSM_LOCK_WAITING || !list_empty(&l->cont.link));
}

/**
 * dsm_lock_stray() - a token came after this node had been told that it was lost
 * @e:        engine
 * @l:        lock, state NONE
 * @from:     who had it
 * @complete: all that @from knows came with it
 * @acts:     actions
 *
 * Context: engine lock held.
 */
void dsm_lock_stray(struct dsm_engine *e, struct dsm_lock *l, u16 from, bool complete,
		    struct dsm_actions *acts)
{
	bool mine = l->manager == e->self;

	if (mine)
		dsm_lockman_found(e, l);
	if (!complete) {
		/* A thread of this node may be the next to have it, or the knowledge goes on with it. */
		set_state(e, l, mine ? DSM_LOCK_WAITING : DSM_LOCK_RETURNING);
		dsm_pull(e, from, &l->cont, mine ? DSM_CONT_GRANTED : DSM_CONT_RETURNED, acts);
	} else if (mine) {
		dsm_lock_granted(e, l, acts);
	} else {
		set_state(e, l, DSM_LOCK_RETURNING);
		wait_release(e, l, DSM_CONT_RETURNED, acts);
	}
}

/**
 * dsm_lock_granted() - the token is here, with all notices that belong to it
 * @e:    engine
 * @l:    lock
 * @acts: actions
 *
 * Context: engine lock held. Rows "W | Grant" with and without local waiters (decisions.md P5).
 */
void dsm_lock_granted(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts)
{
	if (l->flags & DSM_LOCKF_LATE) {
		l->next = l->manager;
		start_granting(e, l, acts);
		return;
	}
	l->flags &= ~DSM_LOCKF_TRYING;
	l->run = 0;
	settle(e, l, acts);
}

/**
 * dsm_lock_fail() - wake local waiters with an error
 * @e:        engine
 * @l:        lock
 * @err:      what they are told
 * @try_only: only those that try
 * @acts:     actions
 *
 * Context: engine lock held.
 */
void dsm_lock_fail(struct dsm_engine *e, struct dsm_lock *l, int err, bool try_only,
		   struct dsm_actions *acts)
{
	struct dsm_waiter *w, *tmp;

	list_for_each_entry_safe(w, tmp, &l->waiters, link) {
		if (try_only && !w->try_only)
			continue;
		list_del_init(&w->link);
		dsm_act_wake(e, acts, w, err);
	}
}

/**
 * dsm_lock_refused() - the request failed: busy (try), token or manager lost
 * @e:    engine
 * @l:    lock, WAITING
 * @err:  -EBUSY, -EDQUOT or -EHOSTDOWN
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_lock_refused(struct dsm_engine *e, struct dsm_lock *l, int err, struct dsm_actions *acts)
{
	l->flags &= ~DSM_LOCKF_LOCAL;
	set_state(e, l, DSM_LOCK_NONE);
	dsm_lock_fail(e, l, err, err == -EBUSY, acts);
	if (!list_empty(&l->waiters))
		dsm_lock_ask(e, l, false, acts);	/* others queued up behind the try */
	else
		dsm_lock_put(e, l);
}

/**
 * dsm_lock_released() - the release before a hand-over is done
 * @e:    engine
 * @l:    lock, GRANTING
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_lock_released(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts)
{
	u16 next = l->next;

	if (next == DSM_NO_NODE || !dsm_engine_alive(e, next)) {
		dsm_lock_apart(e, l, next, true, acts);	/* lost meanwhile, if there was one */
		l->next = DSM_NO_NODE;
		settle(e, l, acts);
		return;
	}
	l->next = DSM_NO_NODE;
	dsm_lock_send(e, next, DSM_CLASS_RSP, DSM_MSG_LOCK_GRANT, l, DSM_NO_NODE,
		      l->flags & DSM_LOCKF_DEAD, 0, acts);
	l->flags &= ~DSM_LOCKF_DEAD;
	if (l->flags & DSM_LOCKF_LATE) {
		set_state(e, l, DSM_LOCK_WAITING);
		return;
	}
	set_state(e, l, DSM_LOCK_NONE);
	if (!list_empty(&l->waiters))
		dsm_lock_ask(e, l, false, acts);
	else
		dsm_lock_put(e, l);
}

/**
 * dsm_lock_return_ready() - the release before a return is done
 * @e:    engine
 * @l:    lock, RETURNING
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_lock_return_ready(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts)
{
	if (l->next != DSM_NO_NODE || !list_empty(&l->waiters) || !dsm_engine_alive(e, l->manager)) {
		settle(e, l, acts);
		return;
	}
	l->flags |= DSM_LOCKF_SENT;
	dsm_lock_send(e, l->manager, DSM_CLASS_REQ, DSM_MSG_LOCK_RETURN, l, DSM_NO_NODE,
		      l->flags & DSM_LOCKF_DEAD, 0, acts);
}

/**
 * dsm_lock_return_acked() - the manager's answer to a return
 * @e:     engine
 * @l:     lock, RETURNING
 * @taken: the token is the manager's; else a pass to us was or will be received
 * @acts:  actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_lock_return_acked(struct dsm_engine *e, struct dsm_lock *l, bool taken,
			   struct dsm_actions *acts)
{
	l->flags &= ~DSM_LOCKF_SENT;
	if (!taken) {
		settle(e, l, acts);
		return;
	}
	l->flags &= ~DSM_LOCKF_DEAD;
	set_state(e, l, DSM_LOCK_NONE);
	if (!list_empty(&l->waiters))
		dsm_lock_ask(e, l, false, acts);
	else
		dsm_lock_put(e, l);
}

/**
 * dsm_lock_try_here() - a try reached the last node in the queue
 * @e:    engine
 * @l:    lock
 * @node: who tries
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: true: the token is free and will go to @node.
 */
bool dsm_lock_try_here(struct dsm_engine *e, struct dsm_lock *l, u16 node, struct dsm_actions *acts)
{
	if (l->state != DSM_LOCK_CACHED || l->next != DSM_NO_NODE || !dsm_engine_alive(e, node))
		return false;
	l->next = node;
	start_granting(e, l, acts);
	return true;
}
