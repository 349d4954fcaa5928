// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Loads and stores of a thread: through an installed entry, else the fault path of the
 * kernel in its steps (ask, wait, page lock, look again, install). Never calls the engine but to ask for a right.
 */
#include "thread.h"

/* A store that lies across two pages needs both at once. */
static u8 page_missing(const struct thread *t, u8 want)
{
	const struct op *op = op_of(t);

	if (op->kind == OP_ACROSS && node_of(t)->pte[t->mm][0] >= want)
		return 1;
	return op->a;
}

static void load(struct thread *t, s8 value)
{
	const struct op *op = op_of(t);

	if (page_is_sc(op->a))
		history_load(t, op->a, op->b, value);
	if (!page_is_sc(op->a) || w.l->flags & LITMUS_ORDERED)
		oracle_load(t, op->a, op->b, value);
}

static void store(struct thread *t, u32 p, u32 byte, s8 value)
{
	say("%s writes p%u[%u] = %d", thread_name(t), p, byte, value);
	node_of(t)->frame[p][byte] = value;
	if (page_is_sc(p))
		history_store(t, p, byte, value);
	if (!page_is_sc(p) || w.l->flags & LITMUS_ORDERED)
		oracle_store(t, p, byte, value);
}

static void do_access(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = node_of(t);
	s8 value;

	switch (op->kind) {
	case OP_LOAD:
		value = n->frame[op->a][op->b];
		say("%s reads p%u[%u] = %d", thread_name(t), op->a, op->b, value);
		t->reg[op->v] = value;
		load(t, value);
		break;
	case OP_PIN:
		say("%s pins p%u", thread_name(t), op->a);
		n->pins[op->a]++;
		break;
	case OP_ADD:
		value = n->frame[op->a][op->b]++;
		say("%s adds to p%u[%u], which was %d", thread_name(t), op->a, op->b, value);
		t->reg[op->v] = value;
		history_add(t, op->a, op->b, value);
		break;
	case OP_ACROSS:
		store(t, 0, DSM_PAGE_BYTES - 1, op->v);
		store(t, 1, 0, op->v);
		break;
	default:
		store(t, op->a, op->b, op->kind == OP_STORE ? op->v : t->reg[0] + op->v);
	}
	thread_next_op(t);
}

void access_start(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = node_of(t);

	t->want = op->kind == OP_LOAD ? DSM_PAGE_READABLE : DSM_PAGE_WRITABLE;
	t->at = page_missing(t, t->want);
	if (n->pte[t->mm][t->at] >= t->want) {
		do_access(t);
		return;
	}
	t->mkwrite = n->pte[t->mm][t->at] == DSM_PAGE_READABLE;
	t->state = TS_FAULT;
	say("%s faults on p%u for %s", thread_name(t), t->at, t->want == DSM_PAGE_READABLE ? "reading" : "writing");
}

/* A write fault on a present entry may not wait: the entry goes, and the access comes back as a full fault. */
static void fault_again(struct thread *t)
{
	if (t->mkwrite)
		zap(node_of(t), t->at);
	t->state = t->mkwrite ? TS_OP : TS_FAULT;
}

void access_fault(struct thread *t)
{
	const struct op *op = op_of(t);
	struct node *n = node_of(t);
	struct dsm_actions acts;
	struct dsm_page *p;
	int right;
	u64 seq;

	if (op->kind == OP_PREFETCH)
		t->at = op->a;
	p = touch_page(n, t->at, true);
	seq = n->bucket_seq[dsm_page_bucket(p)];
	step_begin(n, &acts);
	right = dsm_page_fault(&n->e, p, t->want == DSM_PAGE_WRITABLE, &acts);
	step_end(n, &acts);
	say("%s fault on p%u: right %d, state %s", thread_name(t), t->at, right, page_state_name(p->state));
	if (op->kind == OP_PREFETCH) {
		thread_next_op(t);
	} else if (right < 0) {
		thread_give_up(t, right);
	} else if (right >= t->want) {
		t->state = TS_PAGE_LOCK;
	} else if (t->mkwrite) {
		fault_again(t);
	} else {
		t->bucket_seq = seq;
		t->state = TS_PAGE_WAIT;
		/* What cannot be posted, since its node is lost, is back already and has woken all who wait. */
		if (!dsm_page_busy(&n->e, p) && n->bucket_seq[dsm_page_bucket(p)] == seq)
			fail("%s must wait for p%u, which is not busy", thread_name(t), t->at);
	}
}

/* Woken: is there still something to wait for? */
void access_wait(struct thread *t)
{
	struct node *n = node_of(t);
	struct dsm_page *p = &n->page[t->at];

	if (dsm_page_busy(&n->e, p))
		t->bucket_seq = n->bucket_seq[dsm_page_bucket(p)];
	else
		t->state = TS_OP;
}

void access_page_lock(struct thread *t)
{
	struct node *n = node_of(t);
	u32 p = t->at;

	if (dsm_page_is_sc(&n->page[p]) && dsm_page_right(&n->page[p]))
		dsm_sc_used(&n->e, &n->page[p]);
	if (dsm_page_right(&n->page[p]) < t->want) {
		say("%s lost the right to p%u before its page lock", thread_name(t), p);
		fault_again(t);
		return;
	}
	n->lock_of[p] = t->id + 1;
	t->state = TS_INSTALL;
	say("%s locks page %u", thread_name(t), p);
}

void access_install(struct thread *t)
{
	struct node *n = node_of(t);
	u32 p = t->at;
	u8 *pte = &n->pte[t->mm][p];

	/* Backs off if the entry changed meanwhile. */
	if (*pte == (t->mkwrite ? DSM_PAGE_READABLE : DSM_PAGE_NONE))
		*pte = t->want;
	n->lock_of[p] = 0;
	t->state = TS_OP;
	say("%s installs p%u, entry %d", thread_name(t), p, *pte);
}
