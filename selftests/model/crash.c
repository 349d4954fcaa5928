// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Loss of a node: it stops in the middle of anything, its messages may or may not arrive,
 * and each survivor learns of it in its own time, in as many steps as the kernel's shell takes. Or two nodes lose each other,
 * each in its own time, and live: what one sends arrives until the other has learned of the loss, or is lost then.
 */
#include "model.h"

void crash_node(u32 node)
{
	struct node *n = &w.node[node];
	u32 i;

	say("node %c is gone", 'A' + node);
	n->dead = true;
	for (i = 0; i < MAX_PAGES; i++)
		w.o.lost_page[i] |= w.set.home[i] == node ||
				    (n->exists[i] && n->page[i].home == node);
	w.crashed = node;
	w.loss = true;
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

void part_nodes(u32 one, u32 other)
{
	u32 i;

	say("%c and %c are to lose each other", 'A' + one, 'A' + other);
	w.node[one].cut |= 1u << other;
	w.node[other].cut |= 1u << one;
	/* What is written there by the other may be lost, and the writer is told; what it will write, too (oracle_store()). */
	for (i = 0; i < MAX_PAGES; i++)
		w.o.lost_page[i] |= (w.set.home[i] == one && oracle_wrote(other, i)) ||
				    (w.set.home[i] == other && oracle_wrote(one, i));
	w.parted++;
	w.loss = true;
}

/* Losses are told of one after the other. */
bool lose_enabled(const struct node *n, u32 node)
{
	if (n->dead)
		return false;
	return n->losing < 0 ? node != node_id(n) && is_cut(n, node) && !(n->lost & 1u << node) : n->loses == node;
}

/* What comes from the lost node is not looked at any more; what has not left for it, stays. */
static void drop_messages(struct node *n, u32 node)
{
	u32 i, id = node_id(n);

	for (i = w.n_flying; i--;) {
		const struct flying *f = &w.flying[i];

		if (f->src == node && f->m->dst == id) {
			if (f->m->data[0] == DSM_MSG_LOCK_GRANT && n->cut & 1u << node)
				reach(REACH_ASUNDER);
			flying_forget(i);
		} else if (f->src == id && f->m->dst == node && f->posted) {
			flying_forget(i);
		}
	}
	signals_forget(node, id);
}

static u64 key_of_step(struct node *n, int step, u32 *bucket)
{
	u32 k = (step / 3) % MAX_KEYS;
	u64 key = step % 3 == 0 ? w.lock_key[k] : step % 3 == 1 ? w.barrier_key[k] : w.flag_key[k];

	*bucket = dsm_key_bucket(&n->e, n->tables, n->space.id, key) - n->tables;
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

/* One bucket of keys, or one page, in the shell's order. False: there is no such step. */
static bool lose_part(struct node *n, u32 node, u32 step)
{
	struct dsm_actions acts;
	u32 bucket;
	bool more;

	if (step < 3 * MAX_KEYS) {
		key_of_step(n, step, &bucket);
		if (bucket_done(n, step, bucket))
			return true;
		say("%c: keys of bucket %u after the loss", 'A' + node_id(n), bucket);
		do {
			step_begin(n, &acts);
			more = dsm_engine_lose_key(&n->e, node, n->e.losses, bucket, &acts);
			step_end(n, &acts);
		} while (more);
		return true;
	}
	step -= 3 * MAX_KEYS;
	if (step == MAX_PAGES)
		return false;
	say("%c: page %u after the loss", 'A' + node_id(n), step);
	if (n->exists[step]) {
		step_begin(n, &acts);
		dsm_page_peer_lost(&n->e, &n->page[step], node, &acts);
		step_end(n, &acts);
	}
	return true;
}

void lose_step(struct node *n, u32 node)
{
	struct dsm_actions acts;
	u32 k;

	n->gone |= 1u << node;
	/* Before the loss is told, what was under way comes back. */
	for (k = 0; n->losing < 0 && k < w.n_reading; k++)
		if (w.reading[k].node == node_id(n) && w.reading[k].x->dst == node) {
			reading_done(k, -EHOSTDOWN);
			return;
		}
	if (n->losing < 0) {
		say("%c learns that %c is lost", 'A' + node_id(n), 'A' + node);
		step_begin(n, &acts);
		n->keys &= ~(1u << node);
		n->lost |= 1u << node;
		n->loses = node;
		n->losing = 0;
		drop_messages(n, node);
		dsm_engine_peer_lost(&n->e, node, &acts);
		n->e.losses++;
		step_end(n, &acts);
		return;
	}
	if (lose_part(n, node, n->losing++))
		return;
	dsm_moves_peer_lost(&n->e, node);
	n->losing = -1;
}
