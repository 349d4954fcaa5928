// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks by atomics, the part of every node.
 *
 * A node puts itself at the end of the queue by a compare-and-swap of the key's word, again and
 * again until nobody was quicker. If the word was free, the lock is its own, and it learns what the
 * last holder knew from that node's board before anybody here enters: the word of a free lock
 * always names him (decisions.md P1, mutant M21). Otherwise it signals the node that it displaced,
 * which hands the lock on by a signal when its threads are through and its release is done.
 *
 * Unlike a token, the lock leaves the node as soon as nobody here wants it: what was written is
 * released then, and the next node needs no processor but its own. Within a node it is handed on
 * as in lock.c. No rule relies on the order of signals, nor on that of signals and messages.
 */
#include "rlock.h"
#include "interval.h"

static bool same_owner(const struct dsm_lock_owner *a, const struct dsm_lock_owner *b)
{
	return a->file == b->file && a->tgid == b->tgid;
}

/* ---- objects ---- */

/**
 * dsm_rlock_find() - the object of a key, if there is one
 * @e:      engine
 * @region: region id
 * @key:    key
 *
 * Context: engine lock held.
 * Return: lock or NULL.
 */
struct dsm_rlock *dsm_rlock_find(struct dsm_engine *e, u32 region, u64 key)
{
	struct dsm_rlock *l;

	hlist_for_each_entry(l, dsm_key_bucket(e, e->rlocks, region, key), by_key)
		if (l->key == key && l->region == region)
			return l;
	return NULL;
}

static struct hlist_head *word_bucket(struct dsm_engine *e, u32 handle)
{
	return &e->rlock_words[handle % DSM_WORD_BUCKETS];
}

static struct dsm_rlock *find_word(struct dsm_engine *e, u32 handle)
{
	struct dsm_rlock *l;

	hlist_for_each_entry(l, word_bucket(e, handle), by_word)
		if (l->handle == handle)
			return l;
	return NULL;
}

/**
 * dsm_rlock_get() - the object of a key, made if need be
 * @e:   engine
 * @s:   region
 * @key: key
 *
 * Context: engine lock held.
 * Return: lock; never NULL.
 */
struct dsm_rlock *dsm_rlock_get(struct dsm_engine *e, struct dsm_space *s, u64 key)
{
	struct dsm_rlock *l = dsm_rlock_find(e, s->id, key);

	if (l)
		return l;
	l = dsm_pool_take(e, DSM_POOL_RLOCK);
	memset(l, 0, sizeof(*l));
	l->key = key;
	l->region = s->id;
	l->manager = dsm_manager(s, DSM_MSG_LOCK_REQ, key);
	l->before = DSM_NO_NODE;
	dsm_rlock_forget_next(l);
	l->flags = s->policy.algo == DSM_ALGO_ARRAY ? DSM_RLOCKF_ARRAY : 0;
	INIT_LIST_HEAD(&l->list);
	INIT_LIST_HEAD(&l->cont.link);
	INIT_LIST_HEAD(&l->sure.link);
	INIT_LIST_HEAD(&l->waiters);
	hlist_add_head(&l->by_key, dsm_key_bucket(e, e->rlocks, s->id, key));
	return l;
}

/**
 * dsm_rlock_forget() - the region goes
 * @e: engine
 * @l: lock; gone afterwards
 *
 * Context: engine lock held; nothing of it is under way at any node.
 */
void dsm_rlock_forget(struct dsm_engine *e, struct dsm_rlock *l)
{
	if (l->flags & DSM_RLOCKF_OPEN) {
		hlist_del(&l->by_word);
		if (l->manager == e->self)
			dsm_rsync_word_put(e, l->handle % DSM_RSYNC_WORDS);
	}
	hlist_del(&l->by_key);
	list_del_init(&l->list);
	list_del_init(&l->cont.link);
	list_del_init(&l->sure.link);
	dsm_pool_give(e, DSM_POOL_RLOCK, l);
}

/**
 * dsm_rlock_put() - free an object that says nothing
 * @e: engine
 * @l: lock; may be gone afterwards
 *
 * Context: engine lock held.
 */
void dsm_rlock_put(struct dsm_engine *e, struct dsm_rlock *l)
{
	if (l->state == DSM_RLOCK_NONE && !(l->flags & DSM_RLOCKF_OPEN))
		dsm_rlock_forget(e, l);
}

/**
 * dsm_rlock_busy() - something began or ended
 * @e:   engine
 * @l:   lock
 * @was: dsm_rlock_is_busy() before
 *
 * Context: engine lock held.
 */
void dsm_rlock_busy(struct dsm_engine *e, struct dsm_rlock *l, bool was)
{
	struct dsm_space *s = dsm_space_find(e, l->region);
	bool is = dsm_rlock_is_busy(l);

	if (s && is != was)
		s->busy += is ? 1 : -1;
}

/**
 * dsm_rlock_set_state() - the one place where it changes
 * @e:     engine
 * @l:     lock
 * @state: new state
 *
 * Context: engine lock held.
 */
void dsm_rlock_set_state(struct dsm_engine *e, struct dsm_rlock *l, enum dsm_rlock_state state)
{
	bool was = dsm_rlock_is_busy(l);

	list_del_init(&l->list);
	l->state = state;
	if (state == DSM_RLOCK_HELD)
		list_add_tail(&l->list, &e->rlocks_held);
	dsm_rlock_busy(e, l, was);
}

/* ---- what goes out ---- */

/**
 * dsm_rlock_cas() - compare and swap the word
 * @e:      engine
 * @l:      lock whose word is known
 * @expect: old value
 * @put:    new value; the same as @expect only looks
 * @xid:    out: number of the transfer
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_cas(struct dsm_engine *e, struct dsm_rlock *l, u64 expect, u64 put, u32 *xid,
		   struct dsm_actions *acts)
{
	struct dsm_xfer *x = dsm_rsync_xfer(e, DSM_XFER_CAS, DSM_XFER_KIND_RLOCK, l->manager,
					    l->region);

	x->rkey = l->word.rkey;
	x->remote = l->word.addr;
	x->compare = expect;
	x->operand = put;
	x->idx = l->handle;
	*xid = x->xid;
	dsm_act_xfer(acts, x);
}

/**
 * dsm_rlock_swap() - compare and swap the word, for the local part
 * @e:      engine
 * @l:      lock, QUEUEING or FREEING
 * @expect: old value
 * @put:    new value
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_swap(struct dsm_engine *e, struct dsm_rlock *l, u64 expect, u64 put,
		    struct dsm_actions *acts)
{
	l->expect = expect;
	l->put = put;
	dsm_rlock_cas(e, l, expect, put, &l->xid, acts);
}

/**
 * dsm_rlock_signal() - say something to a node of the queue
 * @e:    engine
 * @l:    lock
 * @dst:  the node, alive
 * @what: DSM_SIGNAL_*; a grant brings our board along if possible
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_signal(struct dsm_engine *e, struct dsm_rlock *l, u16 dst, u32 what,
		      struct dsm_actions *acts)
{
	struct dsm_xfer *x = dsm_rsync_xfer(e, DSM_XFER_SIGNAL, DSM_XFER_KIND_RLOCK, dst,
					    l->region);

	if (what & DSM_SIGNAL_GRANT && dsm_rsync_enclose(e, x))
		what |= DSM_SIGNAL_GRANT_BOARD;
	x->idx = l->handle;
	x->imm = what << DSM_SIGNAL_SHIFT |
		 (l->epoch & DSM_SIGNAL_EPOCH_MASK) << DSM_SIGNAL_EPOCH_SHIFT | l->handle;
	dsm_act_xfer(acts, x);
}

/**
 * dsm_rlock_send() - message RLOCK
 * @e:    engine
 * @l:    lock
 * @dst:  its manager
 * @op:   enum dsm_rlock_op
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_send(struct dsm_engine *e, struct dsm_rlock *l, u16 dst, u8 op,
		    struct dsm_actions *acts)
{
	struct dsm_wire_rlock body = { .key = cpu_to_le64(l->key), .op = op };
	struct dsm_msgbuf *m = dsm_msg_new(e, dst, DSM_CLASS_REQ, DSM_MSG_RLOCK, l->region,
					   dsm_xid_next(e));

	dsm_wire_put(m, &body, sizeof(body));
	dsm_act_send(acts, m);
}

/**
 * dsm_rlock_report_broken() - the queue leads to a node that this one cannot reach
 * @e:    engine
 * @l:    lock
 * @acts: actions
 *
 * Whoever else can reach it, the queue is to be made void.
 *
 * Context: engine lock held.
 */
void dsm_rlock_report_broken(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	if (l->manager == e->self)
		dsm_rlockman_judge(e, l, true, acts);
	else if (dsm_engine_alive(e, l->manager))
		dsm_rlock_send(e, l, l->manager, DSM_RLOCK_BROKEN, acts);
}

/* ---- waiting threads ---- */

/**
 * dsm_rlock_fail_waiters() - wake threads that wait here in vain
 * @e:     engine
 * @l:     lock
 * @err:   what they are told
 * @tries: only those that try
 * @acts:  actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_fail_waiters(struct dsm_engine *e, struct dsm_rlock *l, int err, bool tries,
			    struct dsm_actions *acts)
{
	struct dsm_waiter *w, *tmp;

	list_for_each_entry_safe(w, tmp, &l->waiters, link) {
		if (tries && !w->try_only)
			continue;
		list_del_init(&w->link);
		dsm_act_wake(e, acts, w, err);
	}
}

/**
 * dsm_rlock_refused() - whoever waits here does so in vain
 * @e:    engine
 * @l:    lock that is not here
 * @err:  -EHOSTDOWN or -ENOSPC
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_rlock_refused(struct dsm_engine *e, struct dsm_rlock *l, int err,
		       struct dsm_actions *acts)
{
	dsm_rlock_forget_next(l);
	dsm_rlock_set_state(e, l, DSM_RLOCK_NONE);
	dsm_rlock_fail_waiters(e, l, err, false, acts);
	dsm_rlock_put(e, l);
}

/**
 * dsm_rlock_opened() - the word is known
 * @e:      engine
 * @l:      lock
 * @word:   the word at its manager
 * @handle: its number in the cluster
 *
 * Context: engine lock held.
 */
void dsm_rlock_opened(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_key *word,
		      u32 handle)
{
	l->word = *word;
	l->handle = handle;
	l->flags |= DSM_RLOCKF_OPEN;
	hlist_add_head(&l->by_word, word_bucket(e, handle));
}

static int start(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	int err = 0;

	if (!(l->flags & DSM_RLOCKF_OPEN) && l->manager != e->self) {
		dsm_rlock_set_state(e, l, DSM_RLOCK_OPENING);
		dsm_rlock_send(e, l, l->manager, DSM_RLOCK_OPEN, acts);
		return 0;
	}
	if (!(l->flags & DSM_RLOCKF_OPEN))
		err = dsm_rlockman_open(e, l);
	if (!err)
		dsm_rlock_queue(e, l, acts);
	return err;
}

/**
 * dsm_rlock_acquire() - take a lock or queue for it
 * @e:    engine with its memory
 * @s:    region, its members fixed
 * @key:  any
 * @w:    waiter with @owner and @try_only set; must stay until woken or cancelled
 * @acts: actions
 *
 * Context: engine lock held. A successful caller then runs an acquire.
 * Return: 0 or -EOWNERDEAD taken; -EINPROGRESS queued; -EBUSY try failed here; -EDEADLK
 * this thread holds it; -EHOSTDOWN the manager is lost; -ENOSPC it has no word left.
 */
int dsm_rlock_acquire(struct dsm_engine *e, struct dsm_space *s, u64 key, struct dsm_waiter *w,
		      struct dsm_actions *acts)
{
	struct dsm_rlock *l = dsm_rlock_get(e, s, key);
	int err = 0;

	if (l->state == DSM_RLOCK_RELEASING && list_empty(&l->waiters) && dsm_rlock_may_stay(l)) {
		dsm_count(e, s, locks_local);
		return dsm_rlock_take(e, l, &w->owner);
	}
	if (l->state == DSM_RLOCK_NONE && !dsm_engine_alive(e, l->manager)) {
		dsm_rlock_put(e, l);
		return -EHOSTDOWN;
	}
	if (l->state == DSM_RLOCK_HELD && same_owner(&l->owner, &w->owner) &&
	    l->owner.tid == w->owner.tid)
		return -EDEADLK;
	/* Free in a moment: then nobody was quicker yet. */
	if (w->try_only && l->state != DSM_RLOCK_NONE &&
	    (l->state != DSM_RLOCK_FREEING || !list_empty(&l->waiters)))
		return -EBUSY;
	w->status = -EINPROGRESS;
	list_add_tail(&w->link, &l->waiters);
	/* As with tokens: does another node's device or processor take part? */
	if (l->state == DSM_RLOCK_NONE && l->manager != e->self)
		dsm_count(e, s, locks_remote);
	else
		dsm_count(e, s, locks_local);
	if (l->state == DSM_RLOCK_NONE)
		err = start(e, l, acts);
	if (!err)
		return -EINPROGRESS;
	list_del_init(&w->link);
	dsm_rlock_put(e, l);
	return err;
}

static struct dsm_rlock *held_by(struct dsm_engine *e, struct dsm_space *s, u64 key,
				 const struct dsm_lock_owner *o)
{
	struct dsm_rlock *l = dsm_rlock_find(e, s->id, key);

	return l && l->state == DSM_RLOCK_HELD && same_owner(&l->owner, o) ? l : NULL;
}

/**
 * dsm_rlock_release() - unlock
 * @e:    engine
 * @s:    region
 * @key:  key
 * @o:    caller
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: DSM_LOCK_COUNTED; -EPERM if the caller's process does not hold it.
 */
int dsm_rlock_release(struct dsm_engine *e, struct dsm_space *s, u64 key,
		      const struct dsm_lock_owner *o, struct dsm_actions *acts)
{
	struct dsm_rlock *l = held_by(e, s, key, o);

	if (!l)
		return -EPERM;
	dsm_rlock_settle(e, l, acts);
	return DSM_LOCK_COUNTED;
}

/**
 * dsm_rlock_consistent() - the holder repaired what a dead holder left
 * @e:   engine
 * @s:   region
 * @key: key
 * @o:   caller
 *
 * Context: engine lock held.
 * Return: 0, -EPERM not held by the caller, -EINVAL the last holder did not die.
 */
int dsm_rlock_consistent(struct dsm_engine *e, struct dsm_space *s, u64 key,
			 const struct dsm_lock_owner *o)
{
	struct dsm_rlock *l = held_by(e, s, key, o);

	if (!l)
		return -EPERM;
	if (!(l->flags & DSM_RLOCKF_DEAD))
		return -EINVAL;
	l->flags &= ~DSM_RLOCKF_DEAD;
	return 0;
}

/**
 * dsm_rlock_owner_gone() - a process ended while holding locks
 * @e:      engine
 * @region: region id
 * @file:   open file
 * @tgid:   process, 0 = any process of that file
 * @acts:   actions
 *
 * Context: engine lock held.
 * Return: DSM_LOCK_COUNTED if a lock was found and handed on: call again for the next; 0 if there
 * was none.
 */
int dsm_rlock_owner_gone(struct dsm_engine *e, u32 region, u64 file, s32 tgid,
			 struct dsm_actions *acts)
{
	struct dsm_rlock *l;

	list_for_each_entry(l, &e->rlocks_held, list) {
		if (l->region != region || l->owner.file != file || (tgid && l->owner.tgid != tgid))
			continue;
		/* As in dsm_lock_owner_gone(). */
		list_move_tail(&e->rlocks_held, &l->list);
		l->flags |= DSM_RLOCKF_DEAD;
		dsm_rlock_settle(e, l, acts);
		return DSM_LOCK_COUNTED;
	}
	return 0;
}

/* ---- what comes in ---- */

/**
 * dsm_rlock_swapped() - it is known what the local part's atomic has done
 * @e:    engine
 * @l:    lock, QUEUEING or FREEING
 * @x:    the atomic
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_swapped(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x, struct dsm_actions *acts)
{
	if (l->state == DSM_RLOCK_QUEUEING)
		dsm_rlock_queued(e, l, x, acts);
	else
		dsm_rlock_freed(e, l, x, acts);
	/* Not here: an answer may have told, and it must not wait for credit for another one (I21). */
	if (l->askers && l->state != DSM_RLOCK_QUEUEING && list_empty(&l->sure.link))
		dsm_ready(e, acts, &l->sure, DSM_CONT_RLOCK_SURE);
}

/**
 * dsm_rlock_on_xfer() - a transfer is back
 * @e:    engine
 * @x:    transfer of kind RLOCK; stays the shell's
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_on_xfer(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts)
{
	struct dsm_rlock *l = find_word(e, x->idx);

	if (!l || x->op == DSM_XFER_SIGNAL)
		return;
	if (x->op == DSM_XFER_WRITE)
		return;
	if (x->op == DSM_XFER_READ && l->flags & DSM_RLOCKF_ARRAY && l->state == DSM_RLOCK_QUEUEING)
		dsm_array_on_read(e, l, x, acts);
	else if (x->op == DSM_XFER_READ)
		dsm_rlock_board_read(e, l, x, acts);
	else if (l->flags & DSM_RLOCKF_JUDGING && x->xid == l->judge_xid)
		dsm_rlockman_judged(e, l, x, acts);
	else if (x->xid != l->xid || (l->state != DSM_RLOCK_QUEUEING && l->state != DSM_RLOCK_FREEING))
		return;
	else if (x->status == DSM_XFER_IN_DOUBT)
		dsm_rlock_doubt(e, l, acts);
	else if (l->flags & DSM_RLOCKF_DOUBT)
		dsm_rlock_looked(e, l, x, acts);
	else
		dsm_rlock_swapped(e, l, x, acts);
}

static void granted(struct dsm_engine *e, struct dsm_rlock *l, u32 what, struct dsm_actions *acts)
{
	l->flags |= what & DSM_SIGNAL_GRANT_DEAD ? DSM_RLOCKF_DEAD : 0;
	dsm_rlock_set_state(e, l, DSM_RLOCK_LEARNING);
	if (what & DSM_SIGNAL_GRANT_BOARD &&
	    dsm_rsync_take(e, l->before, &e->rsync->mail->inbox[l->before]))
		dsm_rlock_learned(e, l, acts);
	else
		dsm_pull(e, l->before, &l->cont, DSM_CONT_RLOCK_LEARNED, acts);
}

static void on_grant(struct dsm_engine *e, struct dsm_rlock *l, u16 from, u32 what,
		     struct dsm_actions *acts)
{
	if (from != l->before)
		return;
	if (l->state == DSM_RLOCK_WAITING) {
		granted(e, l, what, acts);
	} else if (l->flags & DSM_RLOCKF_OWED) {
		/* Given up here, but nobody else may have it: give it back. */
		l->flags &= ~DSM_RLOCKF_OWED;
		if (l->state == DSM_RLOCK_NONE) {
			granted(e, l, what, acts);
		} else if (l->state == DSM_RLOCK_QUEUEING) {
			l->flags |= DSM_RLOCKF_CAME |
				    (what & DSM_SIGNAL_GRANT_DEAD ? DSM_RLOCKF_DEAD : 0);
		}
	}
}

static int on_next(struct dsm_engine *e, struct dsm_rlock *l, u16 from, struct dsm_actions *acts)
{
	if (l->state < DSM_RLOCK_QUEUEING || l->next == from)
		return 0;
	if (l->next != DSM_NO_NODE)
		return -EPROTO;
	l->next = from;
	if (l->state == DSM_RLOCK_PASSING)
		dsm_rlock_hand_on(e, l, acts);
	return 0;
}

/**
 * dsm_rlock_on_signal() - a node of the queue says something
 * @e:    engine
 * @from: sender
 * @imm:  value, not checked
 * @acts: actions
 *
 * What belongs to a queue that is over, or to a region that is gone, says nothing.
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the sender broke a rule.
 */
int dsm_rlock_on_signal(struct dsm_engine *e, u16 from, u32 imm, struct dsm_actions *acts)
{
	struct dsm_rlock *l = find_word(e, imm & (DSM_MAX_NODES * DSM_RSYNC_WORDS - 1));
	u32 epoch = imm >> DSM_SIGNAL_EPOCH_SHIFT & DSM_SIGNAL_EPOCH_MASK;
	u32 what = imm >> DSM_SIGNAL_SHIFT;

	if (l && l->flags & DSM_RLOCKF_ARRAY)
		return -EPROTO;
	if (!l || epoch != (l->epoch & DSM_SIGNAL_EPOCH_MASK) || !dsm_engine_alive(e, from))
		return 0;
	if (what == DSM_SIGNAL_NEXT)
		return on_next(e, l, from, acts);
	on_grant(e, l, from, what, acts);
	return 0;
}

/**
 * dsm_rlock_void() - the manager has made the queue void
 * @e:    engine
 * @l:    lock
 * @word: its word now
 * @acts: actions
 *
 * Who waits gives up. Who has the lock keeps it; giving it back begins the next epoch.
 *
 * Context: engine lock held.
 */
void dsm_rlock_void(struct dsm_engine *e, struct dsm_rlock *l, u64 word, struct dsm_actions *acts)
{
	u32 epoch = dsm_rword_epoch(word);

	if (epoch < l->epoch)
		return;
	l->flags |= DSM_RLOCKF_VOID;
	l->void_epoch = epoch;
	if (epoch != l->epoch)
		return;
	if (l->state == DSM_RLOCK_WAITING) {
		l->flags |= DSM_RLOCKF_OWED;
		l->seen = word;
		dsm_rlock_refused(e, l, -EHOSTDOWN, acts);
	} else if (l->state == DSM_RLOCK_PASSING) {
		dsm_rlock_free_word(e, l, word, acts);
	}
}

/**
 * dsm_rlock_peer_lost() - a node is lost
 * @e:    engine
 * @l:    lock
 * @node: lost node
 * @acts: actions
 *
 * Transfers to it are back. Without its manager the lock is at an end; otherwise the manager finds
 * out whether there is a queue, which only the lost node may have known. One that left in good order is in none, but where
 * others kept a lock for too long: then its neighbours say so, or the word names it.
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_rlock_peer_lost(struct dsm_engine *e, struct dsm_rlock *l, u16 node,
			 struct dsm_actions *acts)
{
	l->askers &= ~(1ull << node);
	l->reporters &= ~(1ull << node);
	dsm_rlock_doubt_lost(e, l, node, acts);
	/* Who has its number later did not ask for this lock; but that somebody came after us stays known (rlock_doubt.c). */
	l->next_lost |= l->next == node;
	if (l->flags & DSM_RLOCKF_ARRAY) {
		dsm_array_peer_lost(e, l, node, acts);
	} else if (l->manager == node) {
		if (l->state == DSM_RLOCK_OPENING || l->state == DSM_RLOCK_WAITING ||
		    l->state == DSM_RLOCK_PASSING)
			dsm_rlock_refused(e, l, -EHOSTDOWN, acts);
	} else if (l->manager == e->self) {
		if (l->users & 1ull << node) {
			l->users &= ~(1ull << node);
			dsm_rlockman_judge(e, l, !(e->left & 1ull << node), acts);
		}
	} else if (l->state == DSM_RLOCK_WAITING && l->before == node) {
		dsm_rlock_report_broken(e, l, acts);
	}
}
