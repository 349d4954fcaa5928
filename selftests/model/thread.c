// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Threads: programs, and the way through the kernel's shell that each
 * operation takes, cut where another processor can get between.
 */
#include "model.h"
#include "barrier.h"
#include "flag.h"
#include "interval.h"
#include "lock.h"
#include "release.h"

static struct node *home_of(const struct thread *t)
{
	return &w.node[t->node];
}

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

static const struct op *op_of(const struct thread *t)
{
	return &t->prog[t->pc];
}

static void next_op(struct thread *t)
{
	t->pc++;
	t->state = t->killed ? TS_DYING : TS_OP;
}

static struct dsm_lock_owner owner_of(const struct thread *t)
{
	return (struct dsm_lock_owner){ .file = 100 + t->id, .tgid = 200 + t->id, .tid = 300 + t->id };
}

/* The call failed: the program ends here, as one would that gets SIGBUS or checks results. */
static void give_up(struct thread *t, int status)
{
	say("%s fails with %d", thread_name(t), status);
	if (!(w.l->flags & LITMUS_ERRORS))
		fail("%s gets error %d from operation %u", thread_name(t), status, t->pc);
	t->status = status;
	t->state = TS_DYING;
}

static void begin_wait(struct thread *t)
{
	dsm_waiter_init(&t->w);
	t->w.owner = owner_of(t);
	t->woken = false;
}

static void block(struct thread *t, enum block_kind kind)
{
	t->state = TS_BLOCKED;
	t->block = kind;
}

/* ---- memory ---- */

static void do_access(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = home_of(t);
	s8 value;

	switch (op->kind) {
	case OP_LOAD:
		value = n->frame[op->a][op->b];
		say("%s reads p%u[%u] = %d", thread_name(t), op->a, op->b, value);
		t->reg[op->v] = value;
		oracle_load(t, op->a, op->b, value);
		break;
	case OP_PIN:
		say("%s pins p%u", thread_name(t), op->a);
		n->pins[op->a]++;
		break;
	default:
		value = op->kind == OP_STORE ? op->v : t->reg[0] + op->v;
		say("%s writes p%u[%u] = %d", thread_name(t), op->a, op->b, value);
		n->frame[op->a][op->b] = value;
		oracle_store(t, op->a, op->b, value);
	}
	next_op(t);
}

static void memory_op(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = home_of(t);

	t->want = op->kind == OP_LOAD ? DSM_PAGE_READABLE : DSM_PAGE_WRITABLE;
	if (n->pte[t->mm][op->a] >= t->want) {
		do_access(t);
		return;
	}
	t->mkwrite = n->pte[t->mm][op->a] == DSM_PAGE_READABLE;
	t->state = TS_FAULT;
	say("%s faults on p%u for %s", thread_name(t), op->a, t->want == DSM_PAGE_READABLE ? "reading" : "writing");
}

/* A write fault on a present entry may not wait: the entry goes, and the access comes back as a full fault. */
static void fault_again(struct thread *t)
{
	if (t->mkwrite)
		zap(home_of(t), op_of(t)->a);
	t->state = t->mkwrite ? TS_OP : TS_FAULT;
}

static void fault(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = home_of(t);
	struct dsm_actions acts;
	struct dsm_page *p;
	int right;

	p = touch_page(n, op->a, true);
	step_begin(n, &acts);
	right = dsm_page_fault(&n->e, p, t->want == DSM_PAGE_WRITABLE, &acts);
	step_end(n, &acts);
	say("%s fault on p%u: right %d, state %s", thread_name(t), op->a, right, page_state_name(p->state));
	if (op->kind == OP_PREFETCH) {
		next_op(t);
	} else if (right < 0) {
		give_up(t, right);
	} else if (right >= t->want) {
		t->state = TS_PAGE_LOCK;
	} else if (t->mkwrite) {
		fault_again(t);
	} else {
		t->bucket_seq = n->bucket_seq[dsm_page_bucket(p)];
		t->state = TS_PAGE_WAIT;
		if (!dsm_page_busy(&n->e, p))
			fail("%s must wait for p%u, which is not busy", thread_name(t), op->a);
	}
}

/* Woken: is there still something to wait for? */
static void page_wait(struct thread *t)
{
	struct node *n = home_of(t);
	struct dsm_page *p = &n->page[op_of(t)->a];

	if (dsm_page_busy(&n->e, p))
		t->bucket_seq = n->bucket_seq[dsm_page_bucket(p)];
	else
		t->state = TS_OP;
}

static void page_lock(struct thread *t)
{
	struct node *n = home_of(t);
	u32 p = op_of(t)->a;

	if (dsm_page_right(&n->page[p]) < t->want) {
		say("%s lost the right to p%u before its page lock", thread_name(t), p);
		fault_again(t);
		return;
	}
	n->lock_of[p] = t->id + 1;
	t->state = TS_INSTALL;
	say("%s locks page %u", thread_name(t), p);
}

static void install(struct thread *t)
{
	struct node *n = home_of(t);
	u32 p = op_of(t)->a;
	u8 *pte = &n->pte[t->mm][p];

	/* Backs off if the entry changed meanwhile. */
	if (*pte == (t->mkwrite ? DSM_PAGE_READABLE : DSM_PAGE_NONE))
		*pte = t->want;
	n->lock_of[p] = 0;
	t->state = TS_OP;
	say("%s installs p%u, entry %d", thread_name(t), p, *pte);
}

/* ---- waiting operations ---- */

static void start_acquire(struct thread *t)
{
	t->state = TS_ACQ;
}

static void lock_result(struct thread *t, int ret)
{
	const struct op *op = op_of(t);
	struct oracle *o = &w.o;

	if (ret == -EINPROGRESS) {
		block(t, BLOCK_LOCK);
		return;
	}
	say("%s lock %u: %d", thread_name(t), op->a, ret);
	if (ret == -EBUSY || ret == -ETIMEDOUT) {
		t->pc += op->v;
		next_op(t);
		return;
	}
	if (ret && ret != -EOWNERDEAD) {
		give_up(t, ret);
		return;
	}
	if (o->holder[op->a])
		fail("lock %u is given to %s while %s holds it", op->a, thread_name(t),
		     thread_name(&w.thread[o->holder[op->a] - 1]));
	if ((ret == -EOWNERDEAD) != o->dead_holder[op->a] && w.crashed < 0)
		fail("lock %u is taken by %s with result %d", op->a, thread_name(t), ret);
	o->holder[op->a] = t->id + 1;
	o->sections[t->id]++;
	o->node_sections[op->a][t->node]++;
	clock_join(&t->clock, &o->lock[op->a]);
	if (ret == -EOWNERDEAD) {
		struct dsm_lock_owner owner = owner_of(t);

		o->dead_holder[op->a] = false;
		ret = dsm_lock_consistent(&home_of(t)->e, &home_of(t)->space, w.lock_key[op->a], &owner);
		if (ret)
			fail("consistent says %d", ret);
	}
	start_acquire(t);
}

static void lock_op(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = home_of(t);
	struct dsm_actions acts;
	int ret;

	begin_wait(t);
	t->w.try_only = op->kind == OP_TRY;
	say("%s %s lock %u", thread_name(t), t->w.try_only ? "tries" : "wants", op->a);
	step_begin(n, &acts);
	ret = dsm_lock_acquire(&n->e, &n->space, w.lock_key[op->a], &t->w, &acts);
	step_end(n, &acts);
	lock_result(t, ret);
}

static void unlock_op(struct thread *t)
{
	const struct op *op = op_of(t);
	struct dsm_lock_owner owner = owner_of(t);
	struct node *n = home_of(t);
	struct dsm_actions acts;
	int ret;

	say("%s unlocks %u", thread_name(t), op->a);
	w.o.holder[op->a] = 0;
	clock_join(&w.o.lock[op->a], &t->clock);
	oracle_tick(t);
	step_begin(n, &acts);
	ret = dsm_lock_release(&n->e, &n->space, w.lock_key[op->a], &owner, &acts);
	step_end(n, &acts);
	if (ret)
		fail("%s may not unlock %u: %d", thread_name(t), op->a, ret);
	next_op(t);
}

static void release_op(struct thread *t)
{
	struct node *n = home_of(t);
	struct dsm_actions acts;
	int status = 0;
	u64 target;
	bool done;

	begin_wait(t);
	step_begin(n, &acts);
	target = dsm_rel_request(&n->e, &acts);
	done = dsm_rel_wait(&n->e, target, &t->w, &status);
	step_end(n, &acts);
	say("%s releases, number %llu%s", thread_name(t), (unsigned long long)target, done ? ", done" : "");
	if (!done)
		block(t, BLOCK_REL);
	else if (status)
		give_up(t, status);
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
		give_up(t, ret);
	else
		block(t, BLOCK_BARRIER);
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
	begin_wait(t);
	step_begin(n, &acts);
	ret = dsm_flag_start(&n->e, &n->space, w.flag_key[op->a], what, &t->w, &acts);
	step_end(n, &acts);
	if (ret)
		give_up(t, ret);
	else
		block(t, BLOCK_FLAG);
}

static void pushed(struct thread *t)
{
	clock_join(&w.o.sync, &t->clock);
	oracle_tick(t);
	next_op(t);
}

static void push(struct thread *t, struct node *n)
{
	struct dsm_actions acts;
	int ret;

	begin_wait(t);
	step_begin(n, &acts);
	ret = dsm_sync_push(&n->e, &n->space, &t->w, &acts);
	step_end(n, &acts);
	say("%s pushes: %d", thread_name(t), ret);
	if (ret == -EINPROGRESS)
		block(t, BLOCK_SYNC);
	else if (ret)
		give_up(t, ret);
	else
		pushed(t);
}

static void pull(struct thread *t)
{
	struct node *n = home_of(t);
	struct dsm_actions acts;
	int ret;

	/* What was released before this call started must be seen. */
	clock_join(&t->clock, &w.o.sync);
	begin_wait(t);
	step_begin(n, &acts);
	ret = dsm_sync_pull(&n->e, &n->space, &t->w, &acts);
	step_end(n, &acts);
	say("%s pulls: %d", thread_name(t), ret);
	if (ret == -EINPROGRESS)
		block(t, BLOCK_SYNC);
	else if (ret)
		give_up(t, ret);
	else
		start_acquire(t);
}

static void after_release(struct thread *t)
{
	struct node *n = home_of(t);

	begin_wait(t);
	switch (op_of(t)->kind) {
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
		next_op(t);
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
		lock_result(t, status);
		return;
	}
	if (status) {
		give_up(t, status);
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

/* ---- acquire ---- */

static void acquire_begin(struct thread *t)
{
	struct node *n = home_of(t);

	begin_wait(t);
	if (!dsm_acq_needed(&n->e)) {
		say("%s has nothing to acquire", thread_name(t));
		next_op(t);
	} else if (dsm_acq_begin(&n->e, &t->w)) {
		say("%s begins to acquire", thread_name(t));
		t->state = TS_ACQ_NEXT;
	} else {
		say("%s waits for its turn to acquire", thread_name(t));
		block(t, BLOCK_TURN);
	}
}

static void after_batch(struct thread *t)
{
	t->state = t->more ? TS_ACQ_NEXT : TS_ACQ_END;
}

static void will_zap(struct thread *t)
{
	t->i_out = 0;
	if (t->n_out)
		t->state = TS_ACQ_LOCK;
	else
		after_batch(t);
}

static void acquire_next(struct thread *t)
{
	struct node *n = home_of(t);
	int i;

	t->n_out = dsm_acq_next(&n->e, t->out, DSM_NOTICES_PER_RECORD, &t->more);
	say("%s applies notices: %d%s", thread_name(t), t->n_out, t->more ? ", more" : "");
	if (t->n_out == -EUCLEAN) {
		t->n_out = 0;
		t->i_out = 0;
		t->state = TS_ACQ_INVAL;
	} else {
		for (i = 0; i < t->n_out; i++)
			n->walks[page_number(t->out[i])]++;
		will_zap(t);
	}
}

static void acquire_invalidate(struct thread *t)
{
	struct node *n = home_of(t);
	u32 p = t->i_out++;

	if (n->exists[p] && dsm_page_invalidate(&n->e, &n->page[p])) {
		t->out[t->n_out++] = &n->page[p];
		n->walks[p]++;
		say("%s invalidates p%u", thread_name(t), p);
	}
	if (t->i_out == MAX_PAGES)
		will_zap(t);
}

static void acquire_zap(struct thread *t)
{
	struct node *n = home_of(t);
	u32 p = page_number(t->out[t->i_out]);

	say("%s unmaps p%u", thread_name(t), p);
	zap(n, p);
	n->walks[p]--;
	if (++t->i_out == t->n_out)
		after_batch(t);
}

static void acquire_end(struct thread *t)
{
	struct node *n = home_of(t);
	struct dsm_actions acts;

	check_acquired(n);
	step_begin(n, &acts);
	dsm_acq_end(&n->e, &acts);
	step_end(n, &acts);
	say("%s has acquired", thread_name(t));
	next_op(t);
}

/* ---- operations ---- */

static void local_op(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = home_of(t);
	struct dsm_actions acts;

	switch (op->kind) {
	case OP_EARLY:
		say("%s starts a release", thread_name(t));
		step_begin(n, &acts);
		dsm_rel_request(&n->e, &acts);
		step_end(n, &acts);
		break;
	case OP_TELL:
		w.pipe[op->a] = true;
		break;
	case OP_DMA:
		say("%s's device writes p%u[%u] = %d", thread_name(t), op->a, op->b, op->v);
		n->frame[op->a][op->b] = op->v;
		oracle_store(t, op->a, op->b, op->v);
		break;
	case OP_UNPIN:
		say("%s unpins p%u", thread_name(t), op->a);
		n->pins[op->a]--;
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
	next_op(t);
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
		memory_op(t);
		break;
	case OP_PREFETCH:
		t->want = DSM_PAGE_READABLE;
		fault(t);
		break;
	case OP_LOCK:
	case OP_TRY:
	case OP_TIMED:
		lock_op(t);
		break;
	case OP_UNLOCK:
		unlock_op(t);
		break;
	case OP_BARRIER:
	case OP_SET:
	case OP_RELEASE:
		release_op(t);
		break;
	case OP_WAIT:
	case OP_CLEAR:
		flag_op(t, home_of(t));
		break;
	case OP_ACQUIRE:
		pull(t);
		break;
	default:
		local_op(t);
	}
}

/* ---- giving up ---- */

bool thread_can_time_out(const struct thread *t)
{
	return t->state == TS_BLOCKED && t->block == BLOCK_LOCK && op_of(t)->kind == OP_TIMED && !t->woken;
}

void thread_time_out(struct thread *t)
{
	say("%s's time is up", thread_name(t));
	if (dsm_lock_cancel(&home_of(t)->e, &t->w))
		lock_result(t, -ETIMEDOUT);
}

bool thread_can_be_killed(const struct thread *t)
{
	if (t->killed || t->state == TS_DONE || t->state == TS_DYING || w.killed)
		return false;
	if (w.l->flags & LITMUS_INSIDE)
		return t->state == TS_BLOCKED && !t->woken &&
		       (t->block == BLOCK_BARRIER || (t->block == BLOCK_FLAG && op_of(t)->kind == OP_WAIT));
	return t->state == TS_OP || t->state == TS_PAGE_WAIT ||
	       (t->state == TS_BLOCKED && t->block != BLOCK_TURN && !t->woken);
}

static bool cancel(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = home_of(t);
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
	t->killed = true;
	w.killed = true;
	if (t->state == TS_BLOCKED && !cancel(t))
		return;		/* too late: it is woken and dies at the end of the call */
	t->state = TS_DYING;
}

/* One lock a step; the process's writes are flushed as any others. */
static void die(struct thread *t)
{
	struct dsm_lock_owner o = owner_of(t);
	struct node *n = home_of(t);
	struct dsm_actions acts;
	u32 k, held = 0;
	bool found;

	for (k = 0; k < MAX_KEYS; k++)
		held += w.o.holder[k] == t->id + 1;
	step_begin(n, &acts);
	found = dsm_lock_owner_gone(&n->e, n->space.id, o.file, o.tgid, &acts);
	if (found) {
		for (k = 0; k < MAX_KEYS; k++) {
			struct dsm_lock *l = dsm_lock_find(&n->e, n->space.id, w.lock_key[k]);

			if (w.o.holder[k] != t->id + 1 ||
			    (l && l->state == DSM_LOCK_HELD && l->owner.file == o.file))
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

/* ---- steps ---- */

bool thread_enabled(const struct thread *t)
{
	const struct node *n = home_of(t);

	switch (t->state) {
	case TS_OP:
		return op_of(t)->kind != OP_HEAR || w.pipe[op_of(t)->a];
	case TS_PAGE_WAIT:
		return t->bucket_seq != n->bucket_seq[dsm_page_bucket(&n->page[op_of(t)->a])];
	case TS_PAGE_LOCK:
		return !n->lock_of[op_of(t)->a];
	case TS_BLOCKED:
		return t->woken;
	case TS_ACQ_LOCK:
		return !n->lock_of[page_number(t->out[t->i_out])];
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
		page_wait(t);
		break;
	case TS_FAULT:
		fault(t);
		break;
	case TS_PAGE_LOCK:
		page_lock(t);
		break;
	case TS_INSTALL:
		install(t);
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
	default:
		die(t);
	}
}
