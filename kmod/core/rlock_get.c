// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks by atomics: a node becomes the end of the queue, and learns what the last holder knew.
 *
 * No thread gets the lock before that. Never waits: each function is a step between two transfers.
 */
#include "rlock.h"
#include "interval.h"

static bool only_tries(const struct dsm_rlock *l)
{
	const struct dsm_waiter *w;

	list_for_each_entry(w, &l->waiters, link)
		if (!w->try_only)
			return false;
	return true;
}

/**
 * dsm_rlock_learned() - the lock and all that its last holder knew are here
 * @e:    engine
 * @l:    lock, LEARNING
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_learned(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	l->run = 0;
	dsm_rlock_settle(e, l, acts);
}

/**
 * dsm_rlock_learn() - the lock is ours; @l->before had it last
 * @e:    engine
 * @l:    lock; a READ of that node's board may be under way already
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_learn(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	struct dsm_xfer *x;

	dsm_rlock_set_state(e, l, DSM_RLOCK_LEARNING);
	if (l->before == DSM_NO_NODE || l->before == e->self) {
		dsm_rlock_learned(e, l, acts);
		return;
	}
	if (l->flags & DSM_RLOCKF_READING)
		return;
	x = dsm_rsync_read(e, l->before, DSM_XFER_KIND_RLOCK, l->region);
	if (!x) {
		dsm_pull(e, l->before, &l->cont, DSM_CONT_RLOCK_LEARNED, acts);
		return;
	}
	x->idx = l->handle;
	l->read = x->xid;
	l->flags |= DSM_RLOCKF_READING;
	dsm_act_xfer(acts, x);
}

/**
 * dsm_rlock_board_read() - a READ of a board is back
 * @e:    engine
 * @l:    lock
 * @x:    the READ
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_board_read(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
			  struct dsm_actions *acts)
{
	if (!(l->flags & DSM_RLOCKF_READING) || x->xid != l->read)
		return;		/* of an attempt that came too late */
	l->flags &= ~DSM_RLOCKF_READING;
	if (l->state != DSM_RLOCK_LEARNING)
		return;
	if (!x->status && dsm_rsync_take(e, l->before, &e->rsync->landing[l->before]))
		dsm_rlock_learned(e, l, acts);
	else
		/* Also if the node is lost: then the pull ends at once. */
		dsm_pull(e, l->before, &l->cont, DSM_CONT_RLOCK_LEARNED, acts);
}

/**
 * dsm_rlock_queue() - try to become the end of the queue
 * @e:    engine
 * @l:    lock, not here, its word known
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_queue(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	u64 state = dsm_rword_state(l->seen), put;
	struct dsm_xfer *x;
	u16 last = dsm_rword_node(l->seen);

	if (l->flags & DSM_RLOCKF_ARRAY) {
		dsm_array_try(e, l, acts);
		return;
	}
	l->epoch = dsm_rword_epoch(l->seen);
	dsm_rlock_forget_next(l);
	l->flags &= ~DSM_RLOCKF_READING;
	put = dsm_rword(DSM_RWORD_HELD, e->self, l->epoch);
	/* Only look: there is nothing to come behind. */
	if (state == DSM_RWORD_LOST || (state == DSM_RWORD_HELD && only_tries(l)))
		put = l->seen;
	dsm_rlock_set_state(e, l, DSM_RLOCK_QUEUEING);
	dsm_rlock_swap(e, l, l->seen, put, acts);
	/* Where the manager had it last, its board comes right behind the word. */
	if (state != DSM_RWORD_FREE || last != l->manager || last == e->self)
		return;
	x = dsm_rsync_read(e, last, DSM_XFER_KIND_RLOCK, l->region);
	if (!x)
		return;
	x->fence = true;
	x->idx = l->handle;
	l->read = x->xid;
	l->flags |= DSM_RLOCKF_READING;
	dsm_act_xfer(acts, x);
}

/* Somebody was quicker, or we only looked. */
static void not_queued(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	u64 state = dsm_rword_state(l->seen);

	if (state == DSM_RWORD_LOST) {
		dsm_rlock_refused(e, l, -EHOSTDOWN, acts);
		return;
	}
	if (state == DSM_RWORD_HELD)
		dsm_rlock_fail_waiters(e, l, -EBUSY, true, acts);
	if (list_empty(&l->waiters))
		dsm_rlock_set_state(e, l, DSM_RLOCK_NONE);
	else
		dsm_rlock_queue(e, l, acts);
}

/**
 * dsm_rlock_queued() - the atomic that puts this node at the end of the queue is back
 * @e:    engine
 * @l:    lock, QUEUEING
 * @x:    the atomic
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_rlock_queued(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
		      struct dsm_actions *acts)
{
	u64 old = x->result;

	if (x->status) {
		/* Nobody knows whether we are in the queue; usually its manager is lost anyway. */
		dsm_rlock_report_broken(e, l, acts);
		l->flags &= ~(DSM_RLOCKF_CAME | DSM_RLOCKF_OWED);
		dsm_rlock_refused(e, l, -EHOSTDOWN, acts);
		return;
	}
	l->seen = old;
	if (l->flags & DSM_RLOCKF_CAME) {
		/* The void queue's: nobody else could have changed the word meanwhile. */
		l->flags &= ~(DSM_RLOCKF_CAME | DSM_RLOCKF_READING);
		dsm_rlock_learn(e, l, acts);
		return;
	}
	if (old != l->expect || l->put == l->expect) {
		not_queued(e, l, acts);
		return;
	}
	l->seen = l->put;
	l->flags &= ~DSM_RLOCKF_OWED;	/* of an epoch that is over */
	l->before = dsm_rword_node(old);
	if (dsm_rword_state(old) == DSM_RWORD_FREE) {
		l->flags |= old & DSM_RWORD_DEAD ? DSM_RLOCKF_DEAD : 0;
		dsm_rlock_learn(e, l, acts);
		return;
	}
	l->flags &= ~DSM_RLOCKF_READING;
	/* Or a later queue, too: the atomic has been under way for long. */
	if (l->flags & DSM_RLOCKF_VOID && l->void_epoch >= l->epoch) {
		dsm_rlock_refused(e, l, -EHOSTDOWN, acts);	/* nobody knows that we are in it */
		return;
	}
	dsm_rlock_set_state(e, l, DSM_RLOCK_WAITING);
	if (dsm_engine_alive(e, l->before))
		dsm_rlock_signal(e, l, l->before, DSM_SIGNAL_NEXT, acts);
	else
		dsm_rlock_report_broken(e, l, acts);
}
