// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks by atomics: a lock that is here goes to a thread of this node, to the next node, or nowhere.
 *
 * It leaves the node only when all that was written here is at its homes and the board says so.
 * Never asks for a lock but on behalf of threads that came meanwhile.
 */
#include "rlock.h"
#include "release.h"

/**
 * dsm_rlock_take() - a thread of this node has it from now on
 * @e: engine
 * @l: lock that is here
 * @o: the thread
 *
 * Context: engine lock held.
 * Return: 0, -EOWNERDEAD.
 */
int dsm_rlock_take(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_lock_owner *o)
{
	list_del_init(&l->cont.link);
	dsm_rlock_set_state(e, l, DSM_RLOCK_HELD);
	l->owner = *o;
	l->run++;
	return l->flags & DSM_RLOCKF_DEAD ? -EOWNERDEAD : 0;
}

static void start_release(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	dsm_rlock_set_state(e, l, DSM_RLOCK_RELEASING);
	l->target = dsm_rel_request(e, acts);
	if (e->rel_done >= l->target) {
		dsm_ready(e, acts, &l->cont, DSM_CONT_RLOCK_RELEASED);
		return;
	}
	l->cont.kind = DSM_CONT_RLOCK_RELEASED;
	list_add_tail(&l->cont.link, &e->rel_conts);
}

/**
 * dsm_rlock_may_stay() - may one more thread of this node have it?
 * @l: lock that is here
 *
 * Context: engine lock held.
 * Return: false if another node's turn has come.
 */
bool dsm_rlock_may_stay(const struct dsm_rlock *l)
{
	/* With algo=array nobody knows whether another node waits. */
	return (l->next == DSM_NO_NODE && !(l->flags & DSM_RLOCKF_ARRAY)) ||
	       l->run < DSM_LOCK_LOCAL_RUN;
}

/**
 * dsm_rlock_settle() - the lock is here and nobody has it: a thread that waits here, or away with it
 * @e:    engine
 * @l:    lock
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_settle(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	struct dsm_waiter *w;

	if (list_empty(&l->waiters) || !dsm_rlock_may_stay(l)) {
		start_release(e, l, acts);
		return;
	}
	w = list_first_entry(&l->waiters, struct dsm_waiter, link);
	list_del_init(&w->link);
	dsm_act_wake(e, acts, w, dsm_rlock_take(e, l, &w->owner));
}

/* It is not here any more. Who came meanwhile asks for it anew. */
static void leave(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	l->flags &= ~DSM_RLOCKF_DEAD;
	dsm_rlock_forget_next(l);
	dsm_rlock_set_state(e, l, DSM_RLOCK_NONE);
	if (list_empty(&l->waiters))
		return;
	if (!dsm_engine_alive(e, l->manager))
		dsm_rlock_fail_waiters(e, l, -EHOSTDOWN, false, acts);
	else if (l->flags & DSM_RLOCKF_ARRAY)
		dsm_array_pause(e, l, acts);	/* another node's turn */
	else
		dsm_rlock_queue(e, l, acts);
}

/**
 * dsm_rlock_free_word() - make the word free, if nobody has come
 * @e:      engine
 * @l:      lock that is here
 * @expect: what the word should say
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_free_word(struct dsm_engine *e, struct dsm_rlock *l, u64 expect,
			 struct dsm_actions *acts)
{
	u32 epoch = dsm_rword_epoch(expect);

	/* Whoever is still in a void queue must not be taken for one of the next. */
	if (dsm_rword_state(expect) == DSM_RWORD_LOST)
		epoch++;
	dsm_rlock_set_state(e, l, DSM_RLOCK_FREEING);
	dsm_rlock_swap(e, l, expect, dsm_rword(DSM_RWORD_FREE, e->self, epoch) |
		  (l->flags & DSM_RLOCKF_DEAD ? DSM_RWORD_DEAD : 0), acts);
}

/**
 * dsm_rlock_hand_on() - the next node has it from now on
 * @e:    engine
 * @l:    lock that is here, its release done, the next node known and alive
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_hand_on(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	dsm_rlock_signal(e, l, l->next, DSM_SIGNAL_GRANT |
	       (l->flags & DSM_RLOCKF_DEAD ? DSM_SIGNAL_GRANT_DEAD : 0), acts);
	leave(e, l, acts);
}

/**
 * dsm_rlock_released() - what was written here is at its homes
 * @e:    engine
 * @l:    lock, RELEASING
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_released(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	if (!list_empty(&l->waiters) && dsm_rlock_may_stay(l)) {
		dsm_rlock_settle(e, l, acts);
		return;
	}
	if (!dsm_engine_alive(e, l->manager)) {
		leave(e, l, acts);	/* those behind us have been told */
		return;
	}
	dsm_rsync_publish(e);
	if (l->flags & DSM_RLOCKF_ARRAY) {
		dsm_array_give(e, l, acts);
		leave(e, l, acts);
		return;
	}
	if (dsm_rlock_can_pass(e, l))
		dsm_rlock_hand_on(e, l, acts);
	else
		dsm_rlock_free_word(e, l, dsm_rword(DSM_RWORD_HELD, e->self, l->epoch), acts);
}

/**
 * dsm_rlock_freed() - the atomic that says "free" is back
 * @e:    engine
 * @l:    lock, FREEING
 * @x:    the atomic
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_freed(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
		     struct dsm_actions *acts)
{
	u64 old = x->result;

	if (x->status) {
		/* Nobody knows whether it is free; usually its manager is lost anyway. */
		dsm_rlock_report_broken(e, l, acts);
		leave(e, l, acts);
	} else if (old == l->expect) {
		l->seen = l->put;
		leave(e, l, acts);
	} else if (dsm_rword_state(old) == DSM_RWORD_LOST) {
		dsm_rlock_free_word(e, l, old, acts);
	} else if (l->flags & DSM_RLOCKF_VOID && l->void_epoch == l->epoch) {
		dsm_rlock_free_word(e, l, l->expect, acts);	/* it says LOST by now */
	} else if (l->next == DSM_NO_NODE) {
		l->seen = old;
		dsm_rlock_set_state(e, l, DSM_RLOCK_PASSING);
	} else if (dsm_rlock_can_pass(e, l)) {
		l->seen = old;
		dsm_rlock_hand_on(e, l, acts);
	} else {
		/* Who comes after the lost one, only the manager can find out. */
		dsm_rlock_set_state(e, l, DSM_RLOCK_PASSING);
		dsm_rlock_report_broken(e, l, acts);
	}
}
