// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Threads that give up: time limits, kills, and what the kernel does when a process ends.
 */
#include "thread.h"
#include "barrier.h"
#include "flag.h"
#include "rlock.h"

/* The lock is on its way to this node, or has just come. */
static bool lock_comes(struct node *n, u64 key)
{
	const struct dsm_rlock *rl = dsm_rlock_find(&n->e, n->space.id, key);
	const struct dsm_lock *l = dsm_lock_find(&n->e, n->space.id, key);
	u32 i;

	for (i = 0; i < w.n_signals && rl; i++)
		if (w.signal[i].to == node_id(n) && w.signal[i].imm >> DSM_SIGNAL_SHIFT & DSM_SIGNAL_GRANT &&
		    (w.signal[i].imm & ((1u << DSM_SIGNAL_EPOCH_SHIFT) - 1)) == rl->handle)
			return true;
	/* algo=array: it comes with the attempt that is under way, or with none. */
	if (rl)
		return rl->state == DSM_RLOCK_LEARNING || (rl->flags & DSM_RLOCKF_ARRAY && rl->state == DSM_RLOCK_QUEUEING);
	return message_in_flight(MAX_NODES, node_id(n), DSM_MSG_LOCK_GRANT, key, -1) ||
	       (l && l->state == DSM_LOCK_WAITING && !list_empty(&l->cont.link));
}

/* What a thread waits for has happened, and it does not know yet. */
static bool has_happened(const struct thread *t)
{
	const struct op *op = op_of(t);
	u32 i;

	switch (t->block) {
	case BLOCK_LOCK:
		return lock_comes(node_of(t), w.lock_key[op->a]);
	case BLOCK_FLAG:
		return op->kind == OP_WAIT && w.o.set[op->a];
	case BLOCK_BARRIER:
		for (i = 0; i < w.l->threads; i++)
			if (w.thread[i].episode[op->a] > t->episode[op->a])
				return true;
		return false;
	default:
		return false;
	}
}

bool thread_can_time_out(const struct thread *t)
{
	return t->state == TS_BLOCKED && t->block == BLOCK_LOCK && op_of(t)->kind == OP_TIMED && !t->woken;
}

void thread_time_out(struct thread *t)
{
	say("%s's time is up", thread_name(t));
	if (has_happened(t))
		reach(REACH_LATE);
	if (dsm_lock_cancel(&node_of(t)->e, &t->w))
		thread_lock_result(t, -ETIMEDOUT);
}

bool thread_can_be_killed(const struct thread *t)
{
	if (t->killed || t->state == TS_DONE || t->state == TS_DYING || w.killed)
		return false;
	if (w.l->flags & LITMUS_LAST && op_of(t)[1].kind != OP_END)
		return false;
	if (w.l->flags & LITMUS_INSIDE)
		return t->state == TS_BLOCKED && !t->woken &&
		       (t->block == BLOCK_BARRIER || (t->block == BLOCK_FLAG && op_of(t)->kind == OP_WAIT));
	return t->state == TS_OP || t->state == TS_PAGE_WAIT || t->state == TS_TAKE || t->state == TS_GIVE ||
	       (t->state == TS_BLOCKED && t->block != BLOCK_TURN && !t->woken);
}

static bool cancel(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = node_of(t);
	struct dsm_actions acts;
	bool forgotten = false;

	step_begin(n, &acts);
	switch (t->block) {
	case BLOCK_LOCK:
		forgotten = dsm_lock_cancel(&n->e, &t->w);
		break;
	case BLOCK_BARRIER:
		forgotten = dsm_barrier_abort(&n->e, &n->space, w.barrier_key[op->a], &t->w, &acts);
		break;
	case BLOCK_FLAG:
		if (op->kind == OP_WAIT)
			forgotten = dsm_flag_cancel(&n->e, &n->space, w.flag_key[op->a], &t->w, &acts);
		else
			forgotten = dsm_waiter_cancel(&n->e, &t->w);
		break;
	default:
		forgotten = dsm_waiter_cancel(&n->e, &t->w);
	}
	step_end(n, &acts);
	return forgotten;
}

void thread_kill(struct thread *t)
{
	say("%s is killed", thread_name(t));
	if (t->state == TS_BLOCKED && has_happened(t))
		reach(REACH_LATE);
	t->killed = true;
	w.killed = true;
	if (t->state == TS_BLOCKED && !cancel(t))
		return;		/* too late: it is woken and dies at the end of the call */
	t->state = TS_DYING;
}

static bool is_held(struct node *n, u64 key, u64 file)
{
	struct dsm_rlock *rl = dsm_rlock_find(&n->e, n->space.id, key);
	struct dsm_lock *l = dsm_lock_find(&n->e, n->space.id, key);

	return (l && l->state == DSM_LOCK_HELD && l->owner.file == file) ||
	       (rl && rl->state == DSM_RLOCK_HELD && rl->owner.file == file);
}

/* One lock a step; the process's writes are flushed as any others. */
void thread_die(struct thread *t)
{
	struct dsm_lock_owner o = owner_of(t);
	struct node *n = node_of(t);
	struct dsm_actions acts;
	u32 k, held = 0;
	bool found;

	for (k = 0; k < MAX_KEYS; k++)
		held += w.o.holder[k] == t->id + 1;
	step_begin(n, &acts);
	found = dsm_anylock_owner_gone(&n->e, &n->space, o.file, o.tgid, &acts);
	if (found) {
		for (k = 0; k < MAX_KEYS; k++) {
			if (w.o.holder[k] != t->id + 1 || is_held(n, w.lock_key[k], o.file))
				continue;
			w.o.holder[k] = 0;
			w.o.dead_holder[k] = true;
			clock_join(&w.o.lock[k], &t->clock);
			held--;
		}
	}
	step_end(n, &acts);
	say("%s dies%s", thread_name(t), found ? ", a lock is given up" : "");
	if (found)
		return;
	if (held)
		fail("%s died, but a lock it held stays", thread_name(t));
	t->state = TS_DONE;
}
