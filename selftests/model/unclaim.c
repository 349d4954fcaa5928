// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * A thread has the pages that its node homes claimed anew (kmod/homes.c): at once, or in steps, if others have to forget
 * first that the node ever answered as a home.
 */
#include "thread.h"
#include "move.h"
#include "moves.h"
#include "release.h"

static void mark_unclaimed(struct node *n)
{
	u32 p;

	for (p = 0; p < MAX_PAGES; p++)
		if (n->exists[p] && dsm_move_unclaim(&n->e, &n->page[p]))
			zap(n, p);
}

/* False: it is done. */
bool unclaim_begin(struct thread *t)
{
	struct node *n = node_of(t);

	if (!dsm_policy_settles(&n->space.policy)) {
		mark_unclaimed(n);
		return false;
	}
	n->space.moves.unclaiming++;
	t->at = 0;
	t->state = TS_FORGET;
	return true;
}

/* What a node does that another asks. */
void unclaim_forget(struct thread *t)
{
	struct node *n = &w.node[t->at];
	struct dsm_actions acts;
	u32 p;

	t->target[t->at] = 0;
	if (t->at != t->node) {
		say("%c forgets that %s is at a home", 'A' + t->at, thread_name(t));
		for (p = 0; p < MAX_PAGES; p++)
			if (n->exists[p])
				dsm_moves_forget(&n->page[p], t->node);
		step_begin(n, &acts);
		t->target[t->at] = dsm_rel_request(&n->e, &acts);
		step_end(n, &acts);
	}
	if (++t->at == w.l->nodes)
		t->state = TS_FORGOTTEN;
}

bool unclaim_have_forgotten(const struct thread *t)
{
	u32 k;

	for (k = 0; k < w.l->nodes; k++)
		if (k != t->node && !w.node[k].dead && w.node[k].e.rel_done < t->target[k])
			return false;
	return true;
}

void unclaim_forgotten(struct thread *t)
{
	struct node *n = node_of(t);

	say("%s knows that all have forgotten", thread_name(t));
	mark_unclaimed(n);
	n->space.moves.unclaiming--;
	thread_next_op(t);
}
