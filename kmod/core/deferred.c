// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Fetches that have to wait at a page: for its own fetch, or until nobody else may write it. All that their answers
 * need to know of them is kept. Never decides who waits.
 */
#include "page.h"
#include "bcast.h"

static bool is_deferred(struct dsm_engine *e, const struct dsm_page *p, u16 from)
{
	struct dsm_request *q;

	list_for_each_entry(q, &e->deferred, cont.link)
		if (q->region == p->space->id && q->value == p->idx && q->node == from)
			return true;
	return false;
}

/**
 * dsm_page_defer() - keep a fetch until it can be answered
 * @e:  engine
 * @p:  page
 * @to: who asks
 *
 * At most one per node: a node has one fetch of a page under way.
 *
 * Context: engine lock held.
 * Return: false if there is one of this node already.
 */
bool dsm_page_defer(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to)
{
	struct dsm_request *q;

	if (is_deferred(e, p, to->node))
		return false;
	q = dsm_pool_take(e, DSM_POOL_REQUEST);
	*q = (struct dsm_request){
		.type = DSM_MSG_FETCH,
		.op = to->want,
		.node = to->node,
		.region = p->space->id,
		.xid = to->xid,
		.value = p->idx,
		.key = to->raddr,
		.told = to->have,
		.gone = to->cast,
		.count = to->rkey,
		.chunk = to->chunk,
		.episode = to->need,
	};
	list_add_tail(&q->cont.link, &e->deferred);
	p->flags |= DSM_PF_DEFERRED;
	dsm_bcast_queued(e, p, to->node);
	return true;
}

/**
 * dsm_page_asker() - who asked
 * @q: fetch that had to wait
 *
 * Context: any.
 * Return: what an answer needs to know of it; undoes dsm_page_defer().
 */
struct dsm_asker dsm_page_asker(const struct dsm_request *q)
{
	return (struct dsm_asker){
		.node = q->node,
		.owner = DSM_NO_NODE,
		.want = q->op,
		.cast = q->gone,
		.have = q->told,
		.xid = q->xid,
		.raddr = q->key,
		.rkey = q->count,
		.chunk = q->chunk,
		.need = q->episode,
	};
}

/**
 * dsm_page_replay() - answer the fetches that waited for a page
 * @e:    engine
 * @p:    page; nothing that they waited for is under way any more
 * @acts: actions
 *
 * Each in a step of its own: they may be as many as there are nodes, and of as many pages as one READ brings, and a
 * step has memory for a few messages.
 *
 * Context: engine lock held.
 */
void dsm_page_replay(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	struct dsm_request *q, *tmp;

	if (!(p->flags & DSM_PF_DEFERRED))
		return;
	p->flags &= ~DSM_PF_DEFERRED;
	list_for_each_entry_safe(q, tmp, &e->deferred, cont.link) {
		if (q->region != p->space->id || q->value != p->idx)
			continue;
		list_del(&q->cont.link);
		dsm_ready(e, acts, &q->cont, DSM_CONT_REQUEST);
	}
}

/**
 * dsm_page_deferred_peer_lost() - a node does not wait for its answers any more
 * @e:    engine
 * @node: lost node
 *
 * Who has its number later is another, and knows nothing of them.
 *
 * Context: engine lock held.
 */
void dsm_page_deferred_peer_lost(struct dsm_engine *e, u16 node)
{
	struct dsm_request *q, *tmp;
	struct dsm_cont *c, *next;

	list_for_each_entry_safe(q, tmp, &e->deferred, cont.link) {
		if (q->node != node)
			continue;
		list_del(&q->cont.link);
		dsm_pool_give(e, DSM_POOL_REQUEST, q);
	}
	list_for_each_entry_safe(c, next, &e->ready, link) {
		q = container_of(c, struct dsm_request, cont);
		if (c->kind != DSM_CONT_REQUEST || q->type != DSM_MSG_FETCH || q->node != node)
			continue;
		list_del(&c->link);
		dsm_pool_give(e, DSM_POOL_REQUEST, q);
	}
}

/**
 * dsm_page_serve_deferred() - a fetch that had to wait is answered
 * @e:    engine
 * @q:    request, in no list; consumed
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_page_serve_deferred(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts)
{
	struct dsm_page *p = dsm_page_find(e, q->region, q->value);
	const struct dsm_asker to = dsm_page_asker(q);

	dsm_pool_give(e, DSM_POOL_REQUEST, q);
	if (!p)
		return;
	dsm_bcast_unqueued(e, p, to.node);
	if (dsm_engine_alive(e, to.node))
		dsm_page_serve(e, p, &to, acts);
}
