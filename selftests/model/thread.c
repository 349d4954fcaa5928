// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Threads: programs, and the way through the kernel's shell that each
 * operation takes, cut where another processor can get between.
 */
#include "thread.h"
#include "barrier.h"
#include "flag.h"
#include "live.h"
#include "rlock.h"
#include "release.h"

const char *thread_name(const struct thread *t)
{
	static char name[4][4];
	static u32 turn;
	char *s = name[turn++ & 3];
	u32 i, nth = 1;

	for (i = 0; i < t->id; i++)
		nth += w.thread[i].node == t->node;
	s[0] = 'A' + t->node;
	s[1] = '0' + nth;
	s[2] = 0;
	return s;
}

void thread_next_op(struct thread *t)
{
	t->pc++;
	t->state = t->killed ? TS_DYING : TS_OP;
}

void thread_give_up(struct thread *t, int status)
{
	say("%s fails with %d", thread_name(t), status);
	/* Without a loss, or a thread that was killed, a call has no reason to fail but a flag that is set already. */
	if (!(w.l->flags & LITMUS_ERRORS) || (!w.loss && !w.killed && status != -EALREADY))
		fail("%s gets error %d from operation %u", thread_name(t), status, t->pc);
	t->status = status;
	t->state = TS_DYING;
}

void thread_begin_wait(struct thread *t)
{
	dsm_waiter_init(&t->w);
	t->w.owner = owner_of(t);
	t->woken = false;
}

void thread_block(struct thread *t, enum block_kind kind)
{
	t->state = TS_BLOCKED;
	t->block = kind;
}

/* ---- waiting operations ---- */

static void start_acquire(struct thread *t)
{
	t->state = TS_ACQ;
}

static void taken(struct thread *t, int ret)
{
	const struct op *op = op_of(t);
	struct oracle *o = &w.o;

	if (o->holder[op->a])
		fail("lock %u is given to %s while %s holds it", op->a, thread_name(t),
		     thread_name(&w.thread[o->holder[op->a] - 1]));
	if ((ret == -EOWNERDEAD) != o->dead_holder[op->a] && !w.loss)
		fail("lock %u is taken by %s with result %d", op->a, thread_name(t), ret);
	if (op->kind == OP_TRY)
		reach(REACH_TRIED);
	if (ret == -EOWNERDEAD)
		reach(REACH_DEAD);
	o->holder[op->a] = t->id + 1;
	o->sections[t->id]++;
	o->node_sections[op->a][t->node]++;
	clock_join(&t->clock, &o->lock[op->a]);
}

void thread_lock_result(struct thread *t, int ret)
{
	const struct op *op = op_of(t);
	struct oracle *o = &w.o;

	if (ret == -EINPROGRESS) {
		thread_block(t, BLOCK_LOCK);
		return;
	}
	say("%s lock %u: %d", thread_name(t), op->a, ret);
	if (ret == -EBUSY)
		reach(REACH_REFUSED);
	/* Who has a time limit is patient with losses, too, and may come again. */
	if (ret == -EBUSY || ret == -ETIMEDOUT || (ret == -EHOSTDOWN && w.loss && op->kind == OP_TIMED)) {
		t->pc += op->v;
		thread_next_op(t);
		return;
	}
	if (ret && ret != -EOWNERDEAD) {
		thread_give_up(t, ret);
		return;
	}
	taken(t, ret);
	if (ret == -EOWNERDEAD) {
		struct dsm_lock_owner owner = owner_of(t);

		o->dead_holder[op->a] = false;
		ret = dsm_anylock_consistent(&node_of(t)->e, &node_of(t)->space, w.lock_key[op->a], &owner);
		if (ret)
			fail("consistent says %d", ret);
	}
	start_acquire(t);
}

static void lock_op(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = node_of(t);
	struct dsm_actions acts;
	int ret;

	thread_begin_wait(t);
	t->w.try_only = op->kind == OP_TRY;
	say("%s %s lock %u", thread_name(t), t->w.try_only ? "tries" : "wants", op->a);
	step_begin(n, &acts);
	ret = dsm_anylock_acquire(&n->e, &n->space, w.lock_key[op->a], &t->w, &acts);
	step_end(n, &acts);
	thread_lock_result(t, ret);
}

/* As in the library: what a thread reads of the slot, and later its exchange. */
static bool slot_read(struct thread *t)
{
	struct dsm_slot *slot = node_of(t)->slot;

	t->word = slot->word;
	return w.set.fast && slot->key == w.lock_key[op_of(t)->a];
}

static bool slot_exchange(struct thread *t, u64 bits)
{
	struct dsm_slot *slot = node_of(t)->slot;

	if (slot->word != t->word)
		return false;
	slot->word = (t->word & DSM_SLOT_GEN_MASK) | bits;
	return true;
}

static void take(struct thread *t)
{
	if (!slot_exchange(t, t->self)) {
		lock_op(t);
		return;
	}
	say("%s takes lock %u in its slot", thread_name(t), op_of(t)->a);
	reach(REACH_SLOT);
	node_of(t)->slot->uses++;
	taken(t, 0);
	thread_next_op(t);
}

static void start_take(struct thread *t)
{
	u64 state;

	if (!slot_read(t)) {
		lock_op(t);
		return;
	}
	state = t->word & DSM_SLOT_STATE_MASK;
	if (state == DSM_SLOT_FREE)
		t->state = TS_TAKE;
	else if (state == DSM_SLOT_HELD && op_of(t)->kind == OP_TRY)
		thread_lock_result(t, -EBUSY);
	else
		lock_op(t);
}

static void given(struct thread *t)
{
	const struct op *op = op_of(t);

	say("%s unlocks %u", thread_name(t), op->a);
	w.o.holder[op->a] = 0;
	clock_join(&w.o.lock[op->a], &t->clock);
	oracle_tick(t);
}

static void give_lock(struct thread *t)
{
	const struct op *op = op_of(t);
	struct dsm_lock_owner owner = owner_of(t);
	struct node *n = node_of(t);
	struct dsm_actions acts;
	int ret;

	given(t);
	step_begin(n, &acts);
	ret = dsm_anylock_release(&n->e, &n->space, w.lock_key[op->a], &owner, &acts);
	step_end(n, &acts);
	if (ret < 0)
		fail("%s may not unlock %u: %d", thread_name(t), op->a, ret);
	thread_next_op(t);
}

static void release_op(struct thread *t);

/* Where notices are eager locks are released before they are given back. */
static void unlock_op(struct thread *t)
{
	if (dsm_policy_tells(&node_of(t)->space.policy))
		release_op(t);
	else
		give_lock(t);
}

static void give(struct thread *t)
{
	if (!slot_exchange(t, DSM_SLOT_FREE)) {
		unlock_op(t);
		return;
	}
	given(t);
	thread_next_op(t);
}

static void start_give(struct thread *t)
{
	if (slot_read(t) && (t->word & ~DSM_SLOT_GEN_MASK) == t->self)
		t->state = TS_GIVE;
	else
		unlock_op(t);
}

static void release_op(struct thread *t)
{
	struct node *n = node_of(t);
	struct dsm_actions acts;
	int status = 0;
	u64 target;
	bool done;

	thread_begin_wait(t);
	step_begin(n, &acts);
	target = dsm_rel_request(&n->e, &acts);
	done = dsm_rel_wait(&n->e, target, &t->w, &status);
	step_end(n, &acts);
	say("%s releases, number %llu%s", thread_name(t), (unsigned long long)target, done ? ", done" : "");
	if (!done)
		thread_block(t, BLOCK_REL);
	else if (status)
		thread_give_up(t, status);
	else
		t->state = TS_REL_DONE;
}

static void arrive(struct thread *t, struct node *n)
{
	const struct op *op = op_of(t);
	u32 episode = t->episode[op->a];
	struct dsm_actions acts;
	int ret;

	if (episode >= MAX_EPISODES)
		fail("model: too many episodes");
	say("%s arrives at barrier %u", thread_name(t), op->a);
	clock_join(&w.o.barrier[op->a][episode], &t->clock);
	oracle_tick(t);
	w.o.arrived[op->a][episode]++;
	step_begin(n, &acts);
	ret = dsm_barrier_arrive(&n->e, &n->space, w.barrier_key[op->a], op->b, &t->w, &acts);
	step_end(n, &acts);
	if (ret)
		thread_give_up(t, ret);
	else
		thread_block(t, BLOCK_BARRIER);
}

static void flag_op(struct thread *t, struct node *n)
{
	const struct op *op = op_of(t);
	u8 what = op->kind == OP_SET ? DSM_FLAG_SET : op->kind == OP_WAIT ? DSM_FLAG_WAIT : DSM_FLAG_CLEAR;
	struct dsm_actions acts;
	int ret;

	say("%s flag %u operation %u", thread_name(t), op->a, what);
	if (what == DSM_FLAG_SET) {
		clock_join(&w.o.flag[op->a], &t->clock);
		oracle_tick(t);
		w.o.set[op->a] = true;
	}
	thread_begin_wait(t);
	step_begin(n, &acts);
	ret = dsm_flag_start(&n->e, &n->space, w.flag_key[op->a], what, &t->w, &acts);
	step_end(n, &acts);
	if (ret)
		thread_give_up(t, ret);
	else
		thread_block(t, BLOCK_FLAG);
}

static void pushed(struct thread *t)
{
	clock_join(&w.o.sync, &t->clock);
	oracle_tick(t);
	thread_next_op(t);
}

static void push(struct thread *t, struct node *n)
{
	struct dsm_actions acts;
	int ret;

	thread_begin_wait(t);
	step_begin(n, &acts);
	ret = dsm_sync_push(&n->e, &n->space, &t->w, &acts);
	step_end(n, &acts);
	say("%s pushes: %d", thread_name(t), ret);
	if (ret == -EINPROGRESS)
		thread_block(t, BLOCK_SYNC);
	else if (ret)
		thread_give_up(t, ret);
	else
		pushed(t);
}

static void pull(struct thread *t)
{
	struct node *n = node_of(t);
	struct dsm_actions acts;
	int ret;

	/* What was released before this call started must be seen. */
	clock_join(&t->clock, &w.o.sync);
	thread_begin_wait(t);
	step_begin(n, &acts);
	ret = dsm_sync_pull(&n->e, &n->space, &t->w, &acts);
	step_end(n, &acts);
	say("%s pulls: %d", thread_name(t), ret);
	if (ret == -EINPROGRESS)
		thread_block(t, BLOCK_SYNC);
	else if (ret)
		thread_give_up(t, ret);
	else
		start_acquire(t);
}

static void after_release(struct thread *t)
{
	struct node *n = node_of(t);

	thread_begin_wait(t);
	switch (op_of(t)->kind) {
	case OP_UNLOCK:
		give_lock(t);
		break;
	case OP_BARRIER:
		arrive(t, n);
		break;
	case OP_SET:
		flag_op(t, n);
		break;
	default:
		push(t, n);
	}
}

static void departed(struct thread *t)
{
	const struct op *op = op_of(t);
	u32 episode = t->episode[op->a]++;

	/* I18 */
	if (w.o.arrived[op->a][episode] < op->b)
		fail("%s leaves barrier %u after %u of %u arrivals", thread_name(t), op->a,
		     w.o.arrived[op->a][episode], op->b);
	clock_join(&t->clock, &w.o.barrier[op->a][episode]);
	start_acquire(t);
}

static void flag_answered(struct thread *t)
{
	const struct op *op = op_of(t);

	if (op->kind != OP_WAIT) {
		thread_next_op(t);
		return;
	}
	/* I19 */
	if (!w.o.set[op->a])
		fail("%s sees flag %u set, which it is not", thread_name(t), op->a);
	clock_join(&t->clock, &w.o.flag[op->a]);
	start_acquire(t);
}

static void unblocked(struct thread *t)
{
	int status = t->w.status;

	say("%s is woken: %d", thread_name(t), status);
	if (t->block == BLOCK_TURN) {
		t->state = TS_ACQ_NEXT;
		return;
	}
	if (t->block == BLOCK_LOCK) {
		if (!status || status == -EOWNERDEAD)
			reach(REACH_GRANT);
		thread_lock_result(t, status);
		return;
	}
	if (status) {
		thread_give_up(t, status);
		return;
	}
	switch (t->block) {
	case BLOCK_REL:
		t->state = TS_REL_DONE;
		break;
	case BLOCK_BARRIER:
		departed(t);
		break;
	case BLOCK_FLAG:
		flag_answered(t);
		break;
	default:
		if (op_of(t)->kind == OP_RELEASE)
			pushed(t);
		else
			start_acquire(t);
	}
}

/* ---- operations ---- */

static void local_op(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = node_of(t);
	struct dsm_page *page[MAX_PAGES];
	struct dsm_actions acts;
	u32 p;

	switch (op->kind) {
	case OP_EARLY:
		say("%s starts a release", thread_name(t));
		step_begin(n, &acts);
		dsm_rel_request(&n->e, &acts);
		step_end(n, &acts);
		break;
	case OP_AHEAD:
		for (p = 0; p < MAX_PAGES; p++)
			page[p] = touch_page(n, p, true);
		if (page[0]->idx > page[1]->idx)
			swap(page[0], page[1]);
		say("%s fetches ahead", thread_name(t));
		step_begin(n, &acts);
		dsm_fetch_ahead(&n->e, page, MAX_PAGES, &acts);
		step_end(n, &acts);
		break;
	case OP_AROUND:
		say("%s maps what is here", thread_name(t));
		for (p = 0; p < MAX_PAGES; p++) {
			if (!n->exists[p] || !n->frame[p] || n->lock_of[p] || n->pte[t->mm][p] != DSM_PAGE_NONE ||
			    dsm_page_right(&n->page[p]) < DSM_PAGE_READABLE)
				continue;
			dsm_csm_mapped(&n->e, &n->page[p]);
			n->pte[t->mm][p] = DSM_PAGE_READABLE;
		}
		break;
	case OP_UNCLAIM:
		say("%s wants pages to be claimed anew", thread_name(t));
		if (unclaim_begin(t))
			return;
		break;
	case OP_TELL:
		w.pipe[op->a] = true;
		break;
	case OP_DMA:
		say("%s's device writes p%u[%u] = %d", thread_name(t), op->a, op->b, op->v);
		n->frame[op->a][op->b] = op->v;
		if (page_is_sc(op->a))
			history_store(t, op->a, op->b, op->v);
		if (!page_is_sc(op->a) || w.l->flags & LITMUS_ORDERED)
			oracle_store(t, op->a, op->b, op->v);
		break;
	case OP_UNPIN:
		say("%s unpins p%u", thread_name(t), op->a);
		n->pins[op->a]--;
		break;
	case OP_STILL:
		w.o.has_all |= 1u << t->node;
		break;
	case OP_MISS:
		t->episode[op->a]++;
		break;
	case OP_IF:
	case OP_IF_REGS:
		if (t->reg[op->a] == (op->kind == OP_IF ? op->v : t->reg[op->v]))
			t->pc = op->b - 1;
		break;
	case OP_LOOK:
		t->seen = recaller_view(t);
		break;
	case OP_SPIN:
		t->pc = op->b - 1;
		break;
	case OP_LOOP:
		if (!t->looping) {
			t->looping = true;
			t->loops = op->a;
		}
		if (t->loops--)
			t->pc = op->b - 1;
		else
			t->looping = false;
		break;
	}
	thread_next_op(t);
}

static void start_op(struct thread *t)
{
	switch (op_of(t)->kind) {
	case OP_END:
		t->state = TS_DONE;
		break;
	case OP_LOAD:
	case OP_STORE:
	case OP_STORE_REG:
	case OP_PIN:
	case OP_ADD:
	case OP_ACROSS:
		access_start(t);
		break;
	case OP_PREFETCH:
		t->want = DSM_PAGE_READABLE;
		access_fault(t);
		break;
	case OP_LOCK:
	case OP_TRY:
	case OP_TIMED:
		start_take(t);
		break;
	case OP_UNLOCK:
		start_give(t);
		break;
	case OP_BARRIER:
	case OP_SET:
	case OP_RELEASE:
		release_op(t);
		break;
	case OP_WAIT:
	case OP_CLEAR:
		flag_op(t, node_of(t));
		break;
	case OP_ACQUIRE:
		pull(t);
		break;
	default:
		local_op(t);
	}
}

/* ---- steps ---- */

bool thread_enabled(const struct thread *t)
{
	const struct node *n = node_of(t);

	switch (t->state) {
	case TS_OP:
		if (op_of(t)->kind == OP_SPIN)
			return t->seen != recaller_view(t);
		/* Who would have told may be lost. */
		return op_of(t)->kind != OP_HEAR || w.pipe[op_of(t)->a] || w.loss;
	case TS_PAGE_WAIT:
		return t->bucket_seq != n->bucket_seq[dsm_page_bucket(&n->page[t->at])];
	case TS_PAGE_LOCK:
		return !n->lock_of[t->at];
	case TS_BLOCKED:
		return t->woken;
	case TS_ACQ_LIVE:
		return w.set.live > 1 || !dsm_page_busy(&n->e, t->live[t->n_live - 1]);
	case TS_ACQ_LOCK:
		return !n->lock_of[page_number(t->out[t->i_out])];
	case TS_FORGOTTEN:
		return unclaim_have_forgotten(t);
	case TS_DONE:
		return false;
	default:
		return true;
	}
}

void thread_step(struct thread *t)
{
	switch (t->state) {
	case TS_OP:
		start_op(t);
		break;
	case TS_PAGE_WAIT:
		access_wait(t);
		break;
	case TS_FAULT:
		access_fault(t);
		break;
	case TS_PAGE_LOCK:
		access_page_lock(t);
		break;
	case TS_INSTALL:
		access_install(t);
		break;
	case TS_TAKE:
		take(t);
		break;
	case TS_GIVE:
		give(t);
		break;
	case TS_BLOCKED:
		unblocked(t);
		break;
	case TS_REL_DONE:
		after_release(t);
		break;
	case TS_ACQ:
		acquire_begin(t);
		break;
	case TS_ACQ_NEXT:
		acquire_next(t);
		break;
	case TS_ACQ_MERGE:
		acquire_merge(t);
		break;
	case TS_ACQ_LIVE:
		acquire_live(t);
		break;
	case TS_ACQ_INVAL:
		acquire_invalidate(t);
		break;
	case TS_ACQ_LOCK:
		say("%s page %u: faults waited out", thread_name(t), page_number(t->out[t->i_out]));
		if (++t->i_out == t->n_out) {
			t->i_out = 0;
			t->state = TS_ACQ_ZAP;
		}
		break;
	case TS_ACQ_ZAP:
		acquire_zap(t);
		break;
	case TS_ACQ_END:
		acquire_end(t);
		break;
	case TS_FORGET:
		unclaim_forget(t);
		break;
	case TS_FORGOTTEN:
		unclaim_forgotten(t);
		break;
	default:
		thread_die(t);
	}
}
