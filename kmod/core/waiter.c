// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Threads that wait for the engine: the table of requests under way, by request id. Does not know
 * what they wait for, and never wakes one for a reason of its own but the loss of a node.
 */
#include "engine.h"

/**
 * dsm_waiter_init() - prepare a waiter
 * @w: waiter
 *
 * Context: any.
 */
void dsm_waiter_init(struct dsm_waiter *w)
{
	memset(w, 0, sizeof(*w));
	INIT_LIST_HEAD(&w->cont.link);
	INIT_LIST_HEAD(&w->link);
	INIT_HLIST_NODE(&w->by_xid);
	w->peer = DSM_NO_NODE;
	w->via = DSM_NO_NODE;
}

/**
 * dsm_request_bucket() - hash chain of a request id
 * @e:   engine
 * @xid: any number
 *
 * Context: engine lock held.
 * Return: head of the chain of struct dsm_waiter; other ids may be in it.
 */
struct hlist_head *dsm_request_bucket(struct dsm_engine *e, u32 xid)
{
	return &e->requests[xid % ARRAY_SIZE(e->requests)];
}

/**
 * dsm_request_add() - give a waiter a request id
 * @e:    engine
 * @w:    waiter
 * @peer: node that will answer
 *
 * Context: engine lock held.
 */
void dsm_request_add(struct dsm_engine *e, struct dsm_waiter *w, u16 peer)
{
	dsm_request_share(e, w, peer, dsm_xid_next(e));
}

/**
 * dsm_request_share() - give a waiter the request id that others have
 * @e:    engine
 * @w:    waiter
 * @peer: node that will answer
 * @xid:  id, of a waiter that still waits
 *
 * Context: engine lock held.
 */
void dsm_request_share(struct dsm_engine *e, struct dsm_waiter *w, u16 peer, u32 xid)
{
	w->xid = xid;
	w->peer = peer;
	hlist_add_head(&w->by_xid, dsm_request_bucket(e, w->xid));
}

/**
 * dsm_request_find() - waiter of a request id
 * @e:   engine
 * @xid: any number
 *
 * Context: engine lock held.
 * Return: waiter or NULL: given up or never sent.
 */
struct dsm_waiter *dsm_request_find(struct dsm_engine *e, u32 xid)
{
	struct dsm_waiter *w;

	hlist_for_each_entry(w, dsm_request_bucket(e, xid), by_xid)
		if (w->xid == xid)
			return w;
	return NULL;
}

/**
 * dsm_waiter_cancel() - a thread gives up
 * @e: engine
 * @w: its waiter
 *
 * Context: engine lock held.
 * Return: true: forgotten; false: its wake is on the way and must be waited for.
 */
bool dsm_waiter_cancel(struct dsm_engine *e, struct dsm_waiter *w)
{
	if (w->done)
		return false;
	/* An earlier release failed, and only this thread was to be told. */
	if (w->target && w->status)
		e->rel_err = w->status;
	if (w->xid)
		hlist_del_init(&w->by_xid);
	w->xid = 0;
	list_del_init(&w->link);
	list_del_init(&w->cont.link);
	return true;
}

/**
 * dsm_request_peer_lost() - wake who waits for an answer that cannot come any more
 * @e:    engine
 * @node: lost peer
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_request_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts)
{
	struct hlist_node *tmp;
	struct dsm_waiter *w;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(e->requests); i++)
		hlist_for_each_entry_safe(w, tmp, &e->requests[i], by_xid)
			if ((w->peer == node || w->above & 1ull << node) &&
			    list_empty(&w->cont.link))
				dsm_act_wake(e, acts, w, -EHOSTDOWN);
}
