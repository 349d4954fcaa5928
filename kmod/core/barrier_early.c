// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Threads of which a barrier's manager hears that they are gone before it hears that they came: nothing depends on the order in
 * which messages arrive. Most of what is noted here is late, and never asked for: its episode is over.
 */
#include "barrier.h"

/**
 * dsm_barrier_early_note() - a thread is gone whose report is not here
 * @b:    barrier managed here
 * @node: its node
 * @xid:  its ticket
 *
 * Context: engine lock held.
 */
void dsm_barrier_early_note(struct dsm_barrier *b, u16 node, u32 xid)
{
	u32 i = b->n_early++ % DSM_BARRIER_EARLY;

	b->early[i].node = node;
	b->early[i].xid = xid;
}

/**
 * dsm_barrier_early_take() - a report came
 * @b: barrier managed here
 * @q: report
 *
 * Context: engine lock held.
 * Return: how many of its threads are gone; they are not noted any more.
 */
u32 dsm_barrier_early_take(struct dsm_barrier *b, const struct dsm_request *q)
{
	u32 i, n = 0;

	for (i = 0; i < min_t(u32, b->n_early, DSM_BARRIER_EARLY) && n < q->count; i++) {
		if (b->early[i].node != q->node || b->early[i].xid != q->xid)
			continue;
		b->early[i].node = DSM_NO_NODE;
		n++;
	}
	return n;
}

/**
 * dsm_barrier_early_forget() - a node is lost
 * @b:    barrier managed here
 * @node: lost node; who has its number later counts its requests from the beginning
 *
 * Context: engine lock held.
 */
void dsm_barrier_early_forget(struct dsm_barrier *b, u16 node)
{
	u32 i;

	for (i = 0; i < DSM_BARRIER_EARLY; i++)
		if (b->early[i].node == node)
			b->early[i].node = DSM_NO_NODE;
}
