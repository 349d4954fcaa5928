// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The acquire of a thread in steps: its turn, notices, merges, waiting out faults, unmapping, waiting
 * for the merges. Ends the operation it belongs to.
 */
#include "thread.h"
#include "interval.h"
#include "live.h"

void acquire_begin(struct thread *t)
{
	struct node *n = node_of(t);

	thread_begin_wait(t);
	if (!dsm_acq_needed(&n->e)) {
		say("%s has nothing to acquire", thread_name(t));
		thread_next_op(t);
	} else if (dsm_acq_begin(&n->e, &t->w)) {
		say("%s begins to acquire", thread_name(t));
		t->state = TS_ACQ_NEXT;
	} else {
		say("%s waits for its turn to acquire", thread_name(t));
		thread_block(t, BLOCK_TURN);
	}
}

static void after_batch(struct thread *t)
{
	t->n_out = 0;
	if (t->n_live)
		t->state = TS_ACQ_LIVE;
	else
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

void acquire_next(struct thread *t)
{
	struct node *n = node_of(t);
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
		t->i_out = 0;
		if (t->n_out && w.set.live)
			t->state = TS_ACQ_MERGE;
		else
			will_zap(t);
	}
}

void acquire_merge(struct thread *t)
{
	struct node *n = node_of(t);
	struct dsm_page *p = t->out[t->i_out];
	struct dsm_actions acts;
	bool live;

	step_begin(n, &acts);
	live = dsm_live_merge(&n->e, p, &acts);
	step_end(n, &acts);
	if (live) {
		say("%s has p%u merged", thread_name(t), page_number(p));
		t->live[t->n_live++] = p;
		t->out[t->i_out] = t->out[--t->n_out];
	} else {
		t->i_out++;
	}
	if (t->i_out == t->n_out)
		will_zap(t);
}

void acquire_live(struct thread *t)
{
	struct node *n = node_of(t);
	struct dsm_page *p = t->live[--t->n_live];
	bool merged = dsm_live_merged(p);

	say("%s finds p%u %s", thread_name(t), page_number(p), merged ? "merged" : "not merged");
	if (merged)
		n->walks[page_number(p)]--;
	else
		t->out[t->n_out++] = p;
	if (!t->n_live)
		will_zap(t);
}

void acquire_invalidate(struct thread *t)
{
	struct node *n = node_of(t);
	u32 p = t->i_out++;

	if (n->exists[p] && dsm_page_invalidate(&n->e, &n->page[p])) {
		t->out[t->n_out++] = &n->page[p];
		n->walks[p]++;
		say("%s invalidates p%u", thread_name(t), p);
	}
	if (t->i_out == MAX_PAGES)
		will_zap(t);
}

void acquire_zap(struct thread *t)
{
	struct node *n = node_of(t);
	u32 p = page_number(t->out[t->i_out]);

	say("%s unmaps p%u", thread_name(t), p);
	zap(n, p);
	n->walks[p]--;
	if (++t->i_out == t->n_out)
		after_batch(t);
}

void acquire_end(struct thread *t)
{
	struct node *n = node_of(t);
	struct dsm_actions acts;

	check_acquired(n);
	step_begin(n, &acts);
	dsm_acq_end(&n->e, &acts);
	step_end(n, &acts);
	say("%s has acquired", thread_name(t));
	thread_next_op(t);
}
