// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks, the part of a key's manager: the order of the queue between nodes.
 *
 * The manager knows who asked in which order, not how far the token has come. It tells the last
 * in the queue who comes next; the token then travels directly. When a node of the queue is
 * lost, or two neighbours there have lost each other, it asks all who has the token, and builds
 * the queue anew; it never makes a second token. Messages of both parts are dispatched here.
 */
#include "lock.h"
#include "interval.h"

static void refuse(struct dsm_engine *e, struct dsm_lock *l, u16 node, int err,
		   struct dsm_actions *acts)
{
	if (node != e->self)
		dsm_lock_send(e, node, DSM_CLASS_RSP, DSM_MSG_LOCK_REFUSED, l, DSM_NO_NODE, 0, -err,
			      acts);
	else if (l->state == DSM_LOCK_WAITING)
		dsm_lock_refused(e, l, err, acts);
}

/* In the queue, from 0; -1: it is not there. */
static int place_of(const struct dsm_lock *l, u16 node)
{
	int i;

	for (i = 0; i < l->n_order; i++)
		if (l->order[i] == node)
			return i;
	return -1;
}

/*
 * A node that asks again has had the token and passed it
 * on: it and all before it have been served.
 */
static void order_add(struct dsm_lock *l, u16 node)
{
	u8 i, n = 0;

	for (i = place_of(l, node) + 1; i < l->n_order; i++)
		l->order[n++] = l->order[i];
	l->order[n++] = node;
	l->n_order = n;
	l->tail = node;
}

/* Who comes right behind a node that it has lost gets no token from it: that node is told, and if it is dead, its loss will tell. */
static void enqueue(struct dsm_engine *e, struct dsm_lock *l, u16 node, u64 lost, struct dsm_actions *acts)
{
	u16 prev = l->tail;

	order_add(l, node);
	if (prev == e->self)
		dsm_lock_pass(e, l, node, false, acts);
	else
		dsm_lock_send(e, prev, DSM_CLASS_FWD, DSM_MSG_LOCK_PASS, l, node, lost >> prev & 1, 0, acts);
}

static void try_enqueue(struct dsm_engine *e, struct dsm_lock *l, u16 node, u64 lost,
			struct dsm_actions *acts)
{
	if (l->tail != e->self && lost >> l->tail & 1) {
		refuse(e, l, node, -EBUSY, acts);
	} else if (l->tail != e->self) {
		l->flags |= DSM_LOCKF_TRY_OUT;
		l->trying = node;
		dsm_lock_send(e, l->tail, DSM_CLASS_FWD, DSM_MSG_LOCK_TRY_PASS, l, node, 0, 0,
			      acts);
	} else if (node != e->self && dsm_lock_try_here(e, l, node, acts)) {
		order_add(l, node);
	} else {
		refuse(e, l, node, -EBUSY, acts);
	}
}

/**
 * dsm_lockman_request() - a node wants the lock
 * @e:    engine
 * @l:    lock managed here
 * @node: who
 * @try:  only if it is free
 * @lost: bitmap of the nodes that did not reach @node when it asked
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards if @node is this one.
 */
void dsm_lockman_request(struct dsm_engine *e, struct dsm_lock *l, u16 node, bool try, u64 lost,
			 struct dsm_actions *acts)
{
	struct dsm_request *q;

	/* Asked again for a probe, and then the token came after all: it has been served. */
	if (node == l->tail && node != e->self &&
	    !(l->flags & (DSM_LOCKF_LOST | DSM_LOCKF_TRY_OUT | DSM_LOCKF_PROBING)))
		return;
	if (l->flags & DSM_LOCKF_LOST) {
		refuse(e, l, node, -EHOSTDOWN, acts);
	} else if (l->flags & (DSM_LOCKF_TRY_OUT | DSM_LOCKF_PROBING)) {
		/*
		 * A node has one request under way. More would all be answered in one
		 * step, beyond the messages that a step may send.
		 */
		list_for_each_entry(q, &l->queued, cont.link)
			if (q->node == node)
				return;
		q = dsm_pool_take(e, DSM_POOL_REQUEST);
		*q = (struct dsm_request){
			.type = try ? DSM_MSG_LOCK_TRY : DSM_MSG_LOCK_REQ,
			.node = node,
			.told = lost,
		};
		list_add_tail(&q->cont.link, &l->queued);
	} else if (e->n_locks > e->lock_max && node != e->self && l->tail == e->self && l->state == DSM_LOCK_CACHED) {
		/* Free, and here: with a peer it would have to be remembered for as long as that likes. */
		refuse(e, l, node, -EDQUOT, acts);
	} else if (try) {
		try_enqueue(e, l, node, lost | e->apart[node], acts);
	} else {
		enqueue(e, l, node, lost | e->apart[node], acts);
	}
}

/* What queued up behind a try or a probe; at most one request per node. */
static void serve_queued(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts)
{
	struct dsm_request *q;

	while (!list_empty(&l->queued) && !(l->flags & (DSM_LOCKF_TRY_OUT | DSM_LOCKF_PROBING))) {
		u64 lost;
		u16 node;
		bool try;

		q = list_first_entry(&l->queued, struct dsm_request, cont.link);
		node = q->node;
		lost = q->told;
		try = q->type == DSM_MSG_LOCK_TRY;
		list_del(&q->cont.link);
		dsm_pool_give(e, DSM_POOL_REQUEST, q);
		dsm_lockman_request(e, l, node, try, lost, acts);
	}
}

/* ---- a node of the queue is lost ---- */

/**
 * dsm_lockman_found() - the token is at its manager again, and the queue is empty
 * @e: engine
 * @l: lock managed here
 *
 * Context: engine lock held.
 */
void dsm_lockman_found(struct dsm_engine *e, struct dsm_lock *l)
{
	l->flags &= ~DSM_LOCKF_LOST;
	l->n_order = 1;
	l->order[0] = e->self;
	l->tail = e->self;
}

static void drop_queued(struct dsm_engine *e, struct dsm_lock *l, u64 nodes)
{
	struct dsm_request *q, *tmp;

	list_for_each_entry_safe(q, tmp, &l->queued, cont.link) {
		if (!(nodes & 1ull << q->node))
			continue;
		list_del(&q->cont.link);
		dsm_pool_give(e, DSM_POOL_REQUEST, q);
	}
}

/* All have answered. Those that wait have asked anew; that may still be on its way. */
static void rebuild(struct dsm_engine *e, struct dsm_lock *l, struct dsm_actions *acts)
{
	l->flags &= ~DSM_LOCKF_PROBING;
	/* The token died with its node: every request fails until it turns up after all. */
	if (l->token == DSM_NO_NODE)
		l->flags |= DSM_LOCKF_LOST;
	l->tail = l->token == DSM_NO_NODE ? e->self : l->token;
	l->n_order = 1;
	l->order[0] = l->tail;
	drop_queued(e, l, 1ull << e->self);
	if (l->state == DSM_LOCK_WAITING && !dsm_lock_has_token(l))
		dsm_lockman_request(e, l, e->self, l->flags & DSM_LOCKF_TRYING, 0, acts);
	serve_queued(e, l, acts);
}

/* @refused: waits behind a node that it cannot reach, or none; its probe tells it to fail instead of asking anew. */
static void start_probe(struct dsm_engine *e, struct dsm_lock *l, u16 lost, u16 refused,
			struct dsm_actions *acts)
{
	u64 nodes = 0;
	u16 node;
	u8 i;

	/* A try under way may have got the token: it is asked, and concerned by what is lost before all have answered. */
	if (l->flags & DSM_LOCKF_TRY_OUT)
		order_add(l, l->trying);
	for (i = 0; i < l->n_order; i++)
		nodes |= 1ull << l->order[i];
	nodes &= e->alive & ~(1ull << e->self);
	l->flags = (l->flags & ~DSM_LOCKF_TRY_OUT) | DSM_LOCKF_PROBING;
	l->epoch++;
	l->next = DSM_NO_NODE;
	l->token = dsm_lock_has_token(l) ? e->self : DSM_NO_NODE;
	l->probe = nodes;
	/* What earlier probes made void may be under way, and stays so: who was asked then is told, too, but not waited for. */
	l->asked = (l->asked & e->alive) | nodes;
	/* They ask anew. */
	drop_queued(e, l, l->asked);
	for (node = 0; node < e->n_nodes; node++)
		if (l->asked & 1ull << node)
			dsm_lock_send(e, node, DSM_CLASS_REQ, DSM_MSG_LOCK_PROBE, l, lost, 0,
				      node == refused ? EHOSTDOWN : 0, acts);
	if (!l->probe)
		rebuild(e, l, acts);
}

/**
 * dsm_lockman_peer_lost() - a node is lost: the manager's part
 * @e:    engine
 * @l:    lock managed here
 * @node: lost node
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_lockman_peer_lost(struct dsm_engine *e, struct dsm_lock *l, u16 node,
			   struct dsm_actions *acts)
{
	bool concerned;

	drop_queued(e, l, 1ull << node);
	/* Who has its number later knows of no probe. */
	l->asked &= ~(1ull << node);
	/* The answer to a try may have sent the token to the lost node. */
	concerned = l->flags & DSM_LOCKF_TRY_OUT && l->trying == node;
	/* Its answer is waited for, though the queue may be of one again, the token having come meanwhile. */
	concerned |= l->flags & DSM_LOCKF_PROBING && l->probe & 1ull << node;
	concerned |= place_of(l, node) >= 0;
	if (!concerned || l->flags & DSM_LOCKF_LOST)
		return;
	start_probe(e, l, node, DSM_NO_NODE, acts);
}

/* ---- messages ---- */

/* Does @node come right behind @from, or may @from wait for it? */
static bool next_to(const struct dsm_lock *l, u16 from, u16 node, bool behind)
{
	int at = place_of(l, from), other = place_of(l, node);

	/* Its try may have been granted; that has not been said yet. */
	if (!behind && l->flags & DSM_LOCKF_TRY_OUT && l->trying == from && l->tail == node)
		return true;
	if (at < 0 || other < 0)
		return false;
	if (behind)
		return other == at + 1;
	/* Who granted the first one its token may have asked again, and is behind it by now. */
	return !at || other == at - 1;
}

/*
 * Two nodes have lost each other, and this one neither. Whoever is behind the other in the queue does not get the lock; and
 * a token that was on its way between them is lost, which the probe finds out. If the node is dead, a second probe follows.
 */
static void on_apart(struct dsm_engine *e, struct dsm_lock *l, u16 from, u16 node, bool behind, struct dsm_actions *acts)
{
	if (!dsm_engine_alive(e, node))
		return;
	/* Its request may come after this, and says nothing of the loss. */
	e->apart[from] |= 1ull << node;
	if (l->flags & (DSM_LOCKF_LOST | DSM_LOCKF_PROBING) || !next_to(l, from, node, behind))
		return;
	start_probe(e, l, node, behind ? node : DSM_NO_NODE, acts);
}

static void take_return(struct dsm_engine *e, struct dsm_lock *l, u16 from, u8 state, int complete,
			struct dsm_actions *acts)
{
	bool taken = (l->tail == from || l->flags & DSM_LOCKF_LOST) &&
		     !(l->flags & (DSM_LOCKF_TRY_OUT | DSM_LOCKF_PROBING)) &&
		     l->state == DSM_LOCK_NONE;

	dsm_lock_send(e, from, DSM_CLASS_RSP, DSM_MSG_LOCK_RETURN_ACK, l, DSM_NO_NODE, taken, 0,
		      acts);
	if (!taken)
		return;
	dsm_lockman_found(e, l);
	l->flags |= state & DSM_LOCKF_DEAD;
	l->state = DSM_LOCK_WAITING;
	if (complete)
		dsm_lock_granted(e, l, acts);
	else
		dsm_pull(e, from, &l->cont, DSM_CONT_GRANTED, acts);
}

/* Sent before the node heard of the latest probe: it asked again then. */
static bool is_void(const struct dsm_lock *l, u16 from, u64 epoch)
{
	return epoch < l->epoch && l->asked & 1ull << from;
}

static int on_manager_message(struct dsm_engine *e, u16 from, u8 type,
			      const struct dsm_wire_lock *body, struct dsm_lock *l, int complete,
			      struct dsm_actions *acts)
{
	u64 epoch = le64_to_cpu(body->serial);

	switch (type) {
	case DSM_MSG_LOCK_REQ:
	case DSM_MSG_LOCK_TRY:
		if (!is_void(l, from, epoch))
			dsm_lockman_request(e, l, from, type == DSM_MSG_LOCK_TRY, le64_to_cpu(body->lost), acts);
		return 0;
	case DSM_MSG_LOCK_RETURN:
		take_return(e, l, from, body->state, complete, acts);
		return 0;
	case DSM_MSG_LOCK_TRY_DONE:
		if (!(l->flags & DSM_LOCKF_TRY_OUT) || from != l->tail || epoch < l->epoch)
			return 0;	/* the probe after a loss has settled it */
		l->flags &= ~DSM_LOCKF_TRY_OUT;
		if (body->state)
			order_add(l, l->trying);
		else
			refuse(e, l, l->trying, -EBUSY, acts);
		serve_queued(e, l, acts);
		return 0;
	case DSM_MSG_LOCK_APART:
		if (le16_to_cpu(body->node) == e->self || le16_to_cpu(body->node) == from)
			return -EPROTO;
		if (!is_void(l, from, epoch))
			on_apart(e, l, from, le16_to_cpu(body->node), body->state, acts);
		return 0;
	default:	/* DSM_MSG_LOCK_STATE */
		if (!(l->flags & DSM_LOCKF_PROBING) || !(l->probe & 1ull << from) ||
		    epoch != l->epoch)
			return 0;
		l->probe &= ~(1ull << from);
		if (body->state != DSM_LOCK_NONE)
			l->token = from;
		if (!l->probe)
			rebuild(e, l, acts);
		return 0;
	}
}

static void on_grant(struct dsm_engine *e, u16 from, const struct dsm_wire_lock *body,
		     struct dsm_lock *l, int complete, struct dsm_actions *acts)
{
	l->flags |= body->state & DSM_LOCKF_DEAD;
	/* It left before it was asked: nobody has said so. */
	if (l->flags & DSM_LOCKF_PROBING)
		l->token = e->self;
	if (l->state != DSM_LOCK_WAITING) {
		dsm_lock_stray(e, l, from, complete, acts);
		return;
	}
	dsm_lock_came(e, l, le64_to_cpu(body->serial));
	if (complete)
		dsm_lock_granted(e, l, acts);
	else
		dsm_pull(e, from, &l->cont, DSM_CONT_GRANTED, acts);
}

static int refusal(u32 status)
{
	switch (status) {
	case EBUSY:
		return -EBUSY;
	case EDQUOT:
		return -EDQUOT;
	default:
		return -EHOSTDOWN;
	}
}

static int on_node_message(struct dsm_engine *e, u16 from, u8 type,
			   const struct dsm_wire_lock *body, struct dsm_lock *l, int complete,
			   struct dsm_actions *acts)
{
	u16 node = le16_to_cpu(body->node);
	u32 epoch = le64_to_cpu(body->serial);

	switch (type) {
	case DSM_MSG_LOCK_PASS:
		/*
		 * Void if older than a probe that we answered,
		 * or if the token has left us since.
		 */
		if (epoch < l->epoch || l->state == DSM_LOCK_NONE)
			return 0;
		l->epoch = epoch;
		dsm_lock_pass(e, l, node, body->state, acts);
		return 0;
	case DSM_MSG_LOCK_TRY_PASS:
		if (epoch < l->epoch)
			return 0;
		l->epoch = epoch;
		dsm_lock_send(e, from, DSM_CLASS_RSP, DSM_MSG_LOCK_TRY_DONE, l, node,
			      dsm_lock_try_here(e, l, node, acts), 0, acts);
		return 0;
	case DSM_MSG_LOCK_GRANT:
		if (dsm_lock_has_token(l))
			return -EPROTO;		/* I17: there is one token */
		on_grant(e, from, body, l, complete, acts);
		return 0;
	case DSM_MSG_LOCK_REFUSED:
		/* Void if older than a probe, for which it has asked anew. */
		if (epoch < l->epoch)
			return 0;
		dsm_lock_answered(e, l, refusal(le32_to_cpu(body->status)), acts);
		return 0;
	case DSM_MSG_LOCK_RETURN_ACK:
		if (l->state != DSM_LOCK_RETURNING || !(l->flags & DSM_LOCKF_SENT))
			return -EPROTO;
		dsm_lock_return_acked(e, l, body->state, acts);
		return 0;
	default:	/* DSM_MSG_LOCK_PROBE */
		dsm_lock_probed(e, l, epoch, body->status, acts);
		return 0;
	}
}

/**
 * dsm_lock_on_message() - any LOCK_* message
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the peer broke a rule.
 */
int dsm_lock_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));
	struct dsm_wire_lock body;
	struct dsm_lock *l;
	int complete = 1, err;
	bool to_manager;
	u16 manager;
	u64 key;

	dsm_reader_take(r, &body, sizeof(body));
	key = le64_to_cpu(body.key);
	if (!s || !s->n_members)
		return -EPROTO;
	to_manager = hdr->type == DSM_MSG_LOCK_REQ || hdr->type == DSM_MSG_LOCK_TRY ||
		     hdr->type == DSM_MSG_LOCK_RETURN || hdr->type == DSM_MSG_LOCK_TRY_DONE ||
		     hdr->type == DSM_MSG_LOCK_STATE || hdr->type == DSM_MSG_LOCK_APART;
	manager = dsm_manager(s, DSM_MSG_LOCK_REQ, key);
	/* A token may come from any node; of the rest one end is the manager. */
	if (hdr->type != DSM_MSG_LOCK_GRANT && manager != (to_manager ? e->self : from))
		return -EPROTO;
	if (hdr->type == DSM_MSG_LOCK_PASS || hdr->type == DSM_MSG_LOCK_TRY_PASS) {
		u16 node = le16_to_cpu(body.node);

		if (node >= DSM_MAX_NODES || node == e->self ||
		    dsm_know_take(e, from, node, 0, r) < 0)
			return -EPROTO;
	} else if (dsm_reader_left(r)) {
		complete = dsm_know_take(e, from, from, hdr->flags, r);
		if (complete < 0)
			return -EPROTO;
	}
	/* A key of which its manager had lost a holder is remembered for good (dsm_lock_put()): nobody honest asks of so many. */
	if (!to_manager && e->n_locks / 2 >= e->lock_max && !dsm_lock_find(e, s->id, key))
		return -EPROTO;
	l = dsm_lock_get(e, s, key);
	if (to_manager)
		err = on_manager_message(e, from, hdr->type, &body, l, complete, acts);
	else
		err = on_node_message(e, from, hdr->type, &body, l, complete, acts);
	/* The step may have freed it; what is left and idle goes now. */
	l = dsm_lock_find(e, s->id, key);
	if (l)
		dsm_lock_put(e, l);
	return err;
}
