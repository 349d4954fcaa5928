// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Flag and barrier requests that a manager keeps, counted by the node that asks, so that no peer
 * can make them grow without limit. Does not know what they wait for.
 */
#include "engine.h"

/* Fetches and lock requests are few by their nature and not counted. */
static bool is_counted(const struct dsm_request *q)
{
	return q->type == DSM_MSG_FLAG_OP || q->type == DSM_MSG_SYNC_PUSH ||
	       q->type == DSM_MSG_BAR_ARRIVE || q->type == DSM_MSG_BAR_DEPART;
}

/**
 * dsm_served_new() - keep a flag or barrier request of a node
 * @e:    engine
 * @init: its contents
 *
 * Context: engine lock held.
 * Return: the request, from the pool; to be given back by dsm_served_free().
 */
struct dsm_request *dsm_served_new(struct dsm_engine *e, const struct dsm_request *init)
{
	struct dsm_request *q = dsm_pool_take(e, DSM_POOL_REQUEST);

	*q = *init;
	dsm_assert(is_counted(q));
	e->served[q->node]++;
	return q;
}

/**
 * dsm_served_free() - a request is answered or of no use any more
 * @e: engine
 * @q: request of any type, in no list
 *
 * Context: engine lock held.
 */
void dsm_served_free(struct dsm_engine *e, struct dsm_request *q)
{
	if (is_counted(q))
		e->served[q->node]--;
	dsm_pool_give(e, DSM_POOL_REQUEST, q);
}

/**
 * dsm_served_too_many() - must a new request be refused?
 * @e: engine
 * @q: request, counted already
 *
 * What wakes others (a SET) has room of its own, or a node whose threads all wait could never
 * go on.
 *
 * Context: engine lock held.
 * Return: true: its node has too many here; counted as refused.
 */
bool dsm_served_too_many(struct dsm_engine *e, const struct dsm_request *q)
{
	bool waits = q->type == DSM_MSG_BAR_ARRIVE ||
		     (q->type == DSM_MSG_FLAG_OP && q->op == DSM_FLAG_WAIT);

	if (e->served[q->node] <= (waits ? e->request_cap : 2 * e->request_cap))
		return false;
	e->stats.requests_refused++;
	return true;
}
