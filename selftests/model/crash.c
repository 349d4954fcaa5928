// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Loss of a node: it stops in the middle of anything, its messages may or may not arrive,
 * and each survivor learns of it in its own time, in as many steps as the kernel's shell takes.
 */
#include "model.h"

void crash_node(u32 node)
{
	struct node *n = &w.node[node];
	u32 i;

	say("node %c is gone", 'A' + node);
	n->dead = true;
	for (i = 0; i < MAX_PAGES; i++)
		w.o.lost_page[i] = w.set.home[i] == node ||
				   (n->exists[i] && n->page[i].home == node);
	w.crashed = node;
	n->recaller.state = RS_IDLE;
	for (i = 0; i < MAX_FLUSHERS; i++)
		n->flusher[i].state = FS_IDLE;
	for (i = w.n_flying; i--;)
		if (w.flying[i].m->dst == node || w.flying[i].posted)
			if (w.flying[i].m->dst == node || w.flying[i].src == node)
				flying_forget(i);
	signals_forget(-1, node);
	for (i = 0; i < MAX_KEYS; i++)
		if (w.o.holder[i] && w.thread[w.o.holder[i] - 1].node == node)
			w.o.holder[i] = 0;
}

bool lose_enabled(const struct node *n)
{
	return w.crashed >= 0 && !n->dead && (!(n->lost & 1u << w.crashed) || n->losing >= 0);
}

/* Messages of the lost node that are still under way are not looked at any more. */
static void drop_messages(struct node *n)
{
	u32 i;

	for (i = w.n_flying; i--;)
		if (w.flying[i].src == w.crashed && w.flying[i].m->dst == node_id(n))
			flying_forget(i);
	signals_forget(w.crashed, node_id(n));
}

static u64 key_of_step(struct node *n, int step, u32 *bucket)
{
	u32 k = (step / 3) % MAX_KEYS;
	u64 key = step % 3 == 0 ? w.lock_key[k] : step % 3 == 1 ? w.barrier_key[k] : w.flag_key[k];

	*bucket = dsm_key_bucket(n->tables, n->space.id, key) - n->tables;
	return key;
}

static bool bucket_done(struct node *n, int step, u32 bucket)
{
	u32 other;
	int i;

	for (i = 0; i < step; i++) {
		key_of_step(n, i, &other);
		if (other == bucket)
			return true;
	}
	return false;
}

void lose_step(struct node *n)
{
	struct dsm_actions acts;
	u32 bucket, k;
	bool more;
	int step;

	/* Before the loss is told, what was under way comes back. */
	for (k = 0; n->losing < 0 && k < w.n_reading; k++)
		if (w.reading[k].node == node_id(n) && w.reading[k].x->dst == w.crashed) {
			reading_done(k, -EHOSTDOWN);
			return;
		}
	step_begin(n, &acts);
	if (n->losing < 0) {
		n->keys &= ~(1u << w.crashed);
		say("%c learns that %c is lost", 'A' + node_id(n), 'A' + w.crashed);
		n->lost |= 1u << w.crashed;
		n->losing = 0;
		drop_messages(n);
		dsm_engine_peer_lost(&n->e, w.crashed, &acts);
		n->e.losses++;
		step_end(n, &acts);
		return;
	}
	step = n->losing++;
	if (step < MAX_PAGES) {
		say("%c: page %u after the loss", 'A' + node_id(n), step);
		if (n->exists[step])
			dsm_page_peer_lost(&n->e, &n->page[step], w.crashed, &acts);
		step_end(n, &acts);
		return;
	}
	step -= MAX_PAGES;
	step_end(n, &acts);
	if (step == 3 * MAX_KEYS) {
		dsm_moves_peer_lost(&n->e, w.crashed);
		n->losing = -1;
		return;
	}
	key_of_step(n, step, &bucket);
	if (bucket_done(n, step, bucket))
		return;
	say("%c: keys of bucket %u after the loss", 'A' + node_id(n), bucket);
	do {
		step_begin(n, &acts);
		more = dsm_engine_lose_key(&n->e, w.crashed, n->e.losses, bucket, &acts);
		step_end(n, &acts);
	} while (more);
}
