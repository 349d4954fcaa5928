// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The part of the shell that gives up pages of regions with consistency=sc, in the steps that others can
 * get between: take, wait out a fault, walk, ask whether pinned, report. Time passes as is convenient: a page is
 * held until its granted right was used, except for a number of times that the setting says.
 */
#include "model.h"
#include "thread.h"

/* Everything that a spin loop of this thread could notice. */
u64 recaller_view(const struct thread *t)
{
	const struct node *n = node_of(t);
	u64 view = n->zaps + 1;
	u32 p, i;

	for (p = 0; p < MAX_PAGES; p++) {
		view = view * 31 + n->pte[t->mm][p];
		for (i = 0; i < DSM_PAGE_BYTES && n->frame[p]; i++)
			view = view * 0x100000001b3ull + n->frame[p][i] + 1;
	}
	return view;
}

static struct dsm_request *recall_of(struct node *n, u32 p)
{
	struct dsm_request *q;

	list_for_each_entry(q, &n->e.sc_recalls, cont.link)
		if (q->value == w.idx_of[p])
			return q;
	return NULL;
}

static bool accesses(const struct thread *t, u32 p)
{
	const struct op *op = op_of(t);

	switch (op->kind) {
	case OP_LOAD:
	case OP_STORE:
	case OP_STORE_REG:
	case OP_ADD:
	case OP_PIN:
		return op->a == p;
	case OP_ACROSS:
		return true;
	default:
		return false;
	}
}

/* A thread here is about to use it. */
static bool in_use(const struct node *n, u32 p)
{
	u32 i;

	for (i = 0; i < w.l->threads; i++) {
		const struct thread *t = &w.thread[i];

		if (t->node != node_id(n) || !accesses(t, p))
			continue;
		switch (t->state) {
		case TS_OP:
			if (n->page[p].flags & DSM_SCF_FRESH ||
			    n->pte[t->mm][p] >= (op_of(t)->kind == OP_LOAD ? DSM_PAGE_READABLE : DSM_PAGE_WRITABLE))
				return true;
			break;
		case TS_PAGE_WAIT:
			if (t->at == p && n->page[p].flags & DSM_SCF_FRESH)
				return true;
			break;
		case TS_FAULT:
		case TS_PAGE_LOCK:
		case TS_INSTALL:
			if (t->at == p)
				return true;
		}
	}
	return false;
}

bool recaller_enabled(struct node *n, u32 p)
{
	const struct recaller *r = &n->recaller;

	if (r->state == RS_IDLE) {
		if (!recall_of(n, p))
			return false;
		/* A page that a device writes: nothing changes before it stops. */
		if (n->page[p].flags & DSM_SCF_LOWER && n->page[p].state == DSM_SC_M && is_pinned(n, p))
			return false;
		return n->page[p].state == DSM_SC_LOST || n->page[p].flags & DSM_SCF_LOWER || r->hasty || !in_use(n, p);
	}
	if (page_number(r->page) != p)
		return false;
	return r->state != RS_LOCK || !n->lock_of[p];
}

static void take(struct node *n, u32 p)
{
	struct recaller *r = &n->recaller;
	struct dsm_request *q = recall_of(n, p);
	u64 next;

	if (n->page[p].state != DSM_SC_LOST && !(n->page[p].flags & DSM_SCF_LOWER) && in_use(n, p))
		r->hasty--;
	/* The time has come for this one. */
	list_del(&q->cont.link);
	list_add(&q->cont.link, &n->e.sc_recalls);
	n->page[p].sc.until = min(n->page[p].sc.until, n->e.now_ns);
	q->told = min(q->told, n->e.now_ns);
	r->q = dsm_sc_take(&n->e, &r->page, &next);
	if (r->q != q)
		fail("%c.recall does not get p%u", 'A' + node_id(n), p);
	say("%c.recall takes p%u in %s%s", 'A' + node_id(n), p, page_state_name(r->page->state),
	    dsm_sc_keeps(r->page) ? ", which may be read on" : "");
	r->state = RS_LOCK;
}

static void down(struct node *n, u32 p)
{
	struct recaller *r = &n->recaller;
	struct dsm_actions acts;

	step_begin(n, &acts);
	dsm_sc_lowered(&n->e, r->page, r->q, is_pinned(n, p), &acts);
	step_end(n, &acts);
	say("%c.recall p%u is now %s", 'A' + node_id(n), p, page_state_name(r->page->state));
	r->state = RS_IDLE;
}

void recaller_step(struct node *n, u32 p)
{
	struct recaller *r = &n->recaller;

	switch (r->state) {
	case RS_IDLE:
		take(n, p);
		break;
	case RS_LOCK:
		say("%c.recall page %u: faults waited out", 'A' + node_id(n), p);
		r->state = RS_WALK;
		break;
	case RS_WALK:
		if (dsm_sc_keeps(r->page))
			wrprotect(n, p);
		else
			zap(n, p);
		say("%c.recall p%u %s", 'A' + node_id(n), p, dsm_sc_keeps(r->page) ? "write-protected" : "unmapped");
		r->state = RS_DOWN;
		break;
	default:
		down(n, p);
	}
}
