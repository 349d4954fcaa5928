// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * A page of a region with consistency=sc at its home: who has a copy, and whose turn it is
 * (protocol.md 3.7).
 *
 * One request of a page is served at a time, from the recalls that it needs to the asker's word that it
 * has the grant; so every node has at most one thing about the page under way, and nothing depends on
 * the order of messages. The home's own threads ask like any other node's. While nobody may write, the
 * home's frame is the page.
 */
#include "sc.h"

/* dsm_page.asker: who is being served; this: a node that is lost by now. */
#define NOBODY 0xffu

#define SERVING (DSM_SCF_BUSY | DSM_SCF_WRITE | DSM_SCF_GRANTED | DSM_SCF_QUEUED)

static u64 bit(u16 node)
{
	return 1ull << node;
}

static struct dsm_request *first_queued(const struct dsm_page *p)
{
	return p->sc.queue;
}

static struct dsm_request *next_queued(const struct dsm_page *p, const struct dsm_request *q)
{
	struct dsm_request *next = list_entry(q->cont.link.next, struct dsm_request, cont.link);

	return next == p->sc.queue ? NULL : next;
}

static void enqueue(struct dsm_engine *e, struct dsm_page *p, u16 node, bool write)
{
	struct dsm_request *q = dsm_pool_take(e, DSM_POOL_REQUEST);

	*q = (struct dsm_request){
		.type = DSM_MSG_SC_GET,
		.op = write,
		.node = node,
		.region = p->space->id,
		.value = p->idx,
	};
	if (p->sc.queue) {
		list_add_tail(&q->cont.link, &p->sc.queue->cont.link);
	} else {
		INIT_LIST_HEAD(&q->cont.link);
		p->sc.queue = q;
	}
}

static void dequeue(struct dsm_engine *e, struct dsm_page *p, struct dsm_request *q)
{
	if (q == p->sc.queue)
		p->sc.queue = next_queued(p, q);
	list_del(&q->cont.link);
	dsm_pool_give(e, DSM_POOL_REQUEST, q);
}

/* ---- serving ---- */

static void answer(struct dsm_engine *e, struct dsm_page *p, u16 to, u8 status,
		   struct dsm_actions *acts)
{
	const struct dsm_wire_sc body = { .status = status };

	dsm_sc_send(e, p, to, DSM_MSG_SC_GRANT, &body, acts);
}

static void grant(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	u32 held_us = p->flags & DSM_SCF_QUEUED ? U32_MAX : p->xid;
	bool write = p->flags & DSM_SCF_WRITE;
	u16 to = p->asker;
	struct dsm_wire_sc body = {
		.right = write ? DSM_SC_MAY_WRITE : DSM_SC_MAY_READ,
		.held_us = cpu_to_le32(held_us),
	};

	/* Or it is lost, and the page is about to be told so: it would be lost along with the owner that it never had. */
	if (to == NOBODY || !dsm_engine_alive(e, to)) {
		p->flags &= ~SERVING;
		return;
	}
	if (p->sc.set & bit(to))
		body.status = DSM_SC_PLAIN;
	else
		body.status = p->frame ? DSM_SC_DATA : DSM_SC_ZERO;
	if (write) {
		/* I22 */
		dsm_assert(!(p->sc.set & ~bit(to)));
		p->sc.set = bit(to);
		p->flags |= DSM_SCF_OWNED;
	} else {
		p->sc.set |= bit(to);
	}
	if (to == e->self) {
		p->flags &= ~SERVING;
		dsm_sc_granted(e, p, write, held_us, acts);
		return;
	}
	p->flags |= DSM_SCF_GRANTED;
	dsm_count(e, p->space, fetches_served);
	dsm_count_many(e, p->space, pages_sent, body.status != DSM_SC_PLAIN);
	dsm_sc_send(e, p, to, DSM_MSG_SC_GRANT, &body, acts);
}

static void recall(struct dsm_engine *e, struct dsm_page *p, u16 node, struct dsm_actions *acts)
{
	bool keep = !(p->flags & DSM_SCF_WRITE);
	const struct dsm_wire_sc body = { .right = keep ? DSM_SC_MAY_READ : DSM_SC_NOTHING };

	if (node == e->self)
		dsm_sc_recall(e, p, keep, acts);
	else
		dsm_sc_send(e, p, node, DSM_MSG_SC_RECALL, &body, acts);
}

static void serve(struct dsm_engine *e, struct dsm_page *p, u16 node, bool write, bool queued,
		  struct dsm_actions *acts)
{
	u64 from = 0;
	u16 k;

	p->flags |= DSM_SCF_BUSY | (write ? DSM_SCF_WRITE : 0) | (queued ? DSM_SCF_QUEUED : 0);
	p->asker = node;
	p->xid = 0;
	if (write || p->flags & DSM_SCF_OWNED)
		from = p->sc.set & ~bit(node);
	p->sc.acks = from;
	if (!from)
		grant(e, p, acts);
	for (k = 0; k < DSM_MAX_NODES; k++)
		if (from & bit(k))
			recall(e, p, k, acts);
}

/* A grant to this node is taken at once; whatever else is served ends later. */
static void serve_next(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	while (p->sc.queue && !(p->flags & DSM_SCF_BUSY)) {
		struct dsm_request *q = first_queued(p);
		u16 node = q->node;
		bool write = q->op;

		dequeue(e, p, q);
		serve(e, p, node, write, true, acts);
	}
}

static bool is_asking(const struct dsm_page *p, u16 node)
{
	const struct dsm_request *q;

	if (p->flags & DSM_SCF_BUSY && p->asker == node && !(p->flags & DSM_SCF_GRANTED))
		return true;
	for (q = first_queued(p); q; q = next_queued(p, q))
		if (q->node == node)
			return true;
	return false;
}

/**
 * dsm_sc_home_ask() - a node wants a right
 * @e:     engine
 * @p:     page homed here
 * @from:  node, perhaps this one
 * @write: to write
 * @acts:  actions
 *
 * A request may come before the word that the same node's last one is done: it waits.
 *
 * Context: engine lock held.
 * Return: 0; -EPROTO it asks already, or has what it asks for.
 */
int dsm_sc_home_ask(struct dsm_engine *e, struct dsm_page *p, u16 from, bool write,
		    struct dsm_actions *acts)
{
	if (p->state == DSM_SC_LOST) {
		answer(e, p, from, DSM_SC_GONE, acts);
		return 0;
	}
	if (is_asking(p, from))
		return -EPROTO;
	if (p->flags & DSM_SCF_BUSY) {
		enqueue(e, p, from, write);
		return 0;
	}
	if (p->sc.set & bit(from) && (!write || p->flags & DSM_SCF_OWNED))
		return -EPROTO;
	serve(e, p, from, write, false, acts);
	return 0;
}

/**
 * dsm_sc_home_back() - a node has given up what it was asked for, or could not
 * @e:    engine
 * @p:    page homed here
 * @from: node, perhaps this one
 * @body: its message
 * @data: the bytes, if they may have changed; NULL: they are in the frame already
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO it was not asked, or for something else.
 */
int dsm_sc_home_back(struct dsm_engine *e, struct dsm_page *p, u16 from,
		     const struct dsm_wire_sc *body, const u8 *data, struct dsm_actions *acts)
{
	bool keep = !(p->flags & DSM_SCF_WRITE), owned = p->flags & DSM_SCF_OWNED;
	u16 to = p->asker;

	if (p->state == DSM_SC_LOST)
		return 0;
	if (!(p->flags & DSM_SCF_BUSY) || !(p->sc.acks & bit(from)) ||
	    (body->status != DSM_SC_PLAIN) != owned)
		return -EPROTO;
	if (body->status == DSM_SC_BUSY) {
		p->sc.acks = 0;
		p->flags &= ~SERVING;
		if (to == e->self)
			dsm_sc_refused(e, p, acts);
		else if (to != NOBODY)
			answer(e, p, to, DSM_SC_BUSY, acts);
		serve_next(e, p, acts);
		return 0;
	}
	if (body->right != (keep ? DSM_SC_MAY_READ : DSM_SC_NOTHING))
		return -EPROTO;
	if (data)
		memcpy(dsm_env_bytes(p->frame), data, DSM_PAGE_BYTES);
	p->xid = max(p->xid, le32_to_cpu(body->held_us));
	p->flags &= ~DSM_SCF_OWNED;
	p->sc.acks &= ~bit(from);
	if (!keep)
		p->sc.set &= ~bit(from);
	if (!p->sc.acks) {
		grant(e, p, acts);
		serve_next(e, p, acts);
	}
	return 0;
}

/**
 * dsm_sc_home_on_message() - messages SC_GET, SC_BACK and SC_DONE
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if this is not the page's home or the sender may not send this now.
 */
int dsm_sc_home_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			   struct dsm_reader *r, struct dsm_actions *acts)
{
	const u8 *data = NULL;
	struct dsm_wire_sc body;
	struct dsm_page *p;

	dsm_reader_take(r, &body, sizeof(body));
	p = dsm_page_find(e, le32_to_cpu(hdr->region), le32_to_cpu(body.idx));
	if (!p || !dsm_page_is_sc(p) || p->home != e->self)
		return -EPROTO;
	if (hdr->type == DSM_MSG_SC_GET)
		return dsm_sc_home_ask(e, p, from, body.right == DSM_SC_MAY_WRITE, acts);
	if (hdr->type == DSM_MSG_SC_BACK) {
		if (body.status == DSM_SC_DATA)
			data = dsm_reader_skip(r, DSM_PAGE_BYTES);
		return dsm_sc_home_back(e, p, from, &body, data, acts);
	}
	if (!(p->flags & DSM_SCF_GRANTED) || p->asker != from)
		return p->state == DSM_SC_LOST ? 0 : -EPROTO;
	p->flags &= ~SERVING;
	serve_next(e, p, acts);
	return 0;
}

/* ---- losses ---- */

/* The only copy was at a node that is gone: what the home has is older than what others saw. */
static void lose(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	u16 to = p->asker;

	if (p->flags & DSM_SCF_BUSY && !(p->flags & DSM_SCF_GRANTED) && to != NOBODY &&
	    to != e->self && dsm_engine_alive(e, to))
		answer(e, p, to, DSM_SC_GONE, acts);
	while (p->sc.queue) {
		to = first_queued(p)->node;
		dequeue(e, p, first_queued(p));
		if (to != e->self)
			answer(e, p, to, DSM_SC_GONE, acts);
	}
	p->flags &= ~(SERVING | DSM_SCF_OWNED);
	p->sc.acks = 0;
	p->sc.set = 0;
	dsm_sc_lost(e, p, acts);
}

/**
 * dsm_sc_home_peer_lost() - a node is gone that may have a copy, or want one
 * @e:    engine
 * @p:    page homed here
 * @node: the lost node
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_sc_home_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node,
			   struct dsm_actions *acts)
{
	bool owner = p->flags & DSM_SCF_OWNED && p->sc.set == bit(node);
	struct dsm_request *q, *next;

	for (q = first_queued(p); q; q = next) {
		next = next_queued(p, q);
		if (q->node == node)
			dequeue(e, p, q);
	}
	p->sc.set &= ~bit(node);
	if (owner) {
		lose(e, p, acts);
		return;
	}
	if (!(p->flags & DSM_SCF_BUSY))
		return;
	if (p->asker == node) {
		p->asker = NOBODY;
		if (p->flags & DSM_SCF_GRANTED)
			p->flags &= ~SERVING;
	}
	if (p->sc.acks & bit(node)) {
		p->sc.acks &= ~bit(node);
		if (!p->sc.acks)
			grant(e, p, acts);
	}
	serve_next(e, p, acts);
}

/**
 * dsm_sc_forget_page() - drop the requests that wait at a page
 * @e: engine
 * @p: page that is about to be freed
 *
 * Context: engine lock held; the region is gone.
 */
void dsm_sc_forget_page(struct dsm_engine *e, struct dsm_page *p)
{
	while (dsm_page_is_sc(p) && p->sc.queue)
		dequeue(e, p, p->sc.queue);
}
