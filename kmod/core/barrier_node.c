// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers, at the nodes whose threads come.
 *
 * Reports arrivals to the key's manager and wakes who may go. Holds arrivals back until there
 * are as many as departed last time, so that a node sends one message; never longer than the
 * manager allows, and never when anything is different from last time.
 */
#include "barrier.h"
#include "interval.h"
#include "letter.h"

static struct dsm_msgbuf *begin_report(struct dsm_engine *e, u16 to, u32 region,
				       const struct dsm_wire_arrive *head)
{
	struct dsm_msgbuf *m = dsm_msg_new(e, to, DSM_CLASS_REQ, DSM_MSG_BAR_ARRIVE, region, 0);

	dsm_wire_put(m, head, sizeof(*head));
	return m;
}

static void put_ticket(struct dsm_msgbuf *m, u16 node, u16 up, u32 xid, u32 count, u16 flags)
{
	struct dsm_wire_ticket ticket = {
		.node = cpu_to_le16(node),
		.up = cpu_to_le16(up),
		.xid = cpu_to_le32(xid),
		.count = cpu_to_le32(count),
		.flags = cpu_to_le16(flags),
	};

	dsm_wire_put(m, &ticket, sizeof(ticket));
}

/* Behind the tickets: what this node proposes, with a report of its own that goes to the manager itself. */
static void put_moves(struct dsm_msgbuf *m, struct dsm_space *s)
{
	struct dsm_wire_arrive *head = (struct dsm_wire_arrive *)(m->data + DSM_HDR_BYTES);

	head->moves = cpu_to_le32(s->moves.n);
	dsm_moves_put(m, s);
	s->moves.n = 0;
}

static void end_report(struct dsm_engine *e, struct dsm_msgbuf *m, struct dsm_actions *acts)
{
	dsm_letter_prefer(e, m);
	dsm_know_put(e, m, m->dst);
	dsm_letter_send(e, m, acts);
}

/* Report all that is here to @to; what comes now goes to the manager, until a departure says more. */
static void report(struct dsm_engine *e, struct dsm_barrier *b, u16 to, u16 root,
		   struct dsm_actions *acts)
{
	struct dsm_wire_arrive head = {
		.key = cpu_to_le64(b->key),
		.parties = cpu_to_le32(b->parties),
		.count = cpu_to_le32(b->n_below + (b->seen ? 1 : 0)),
		.told = cpu_to_le64(b->told),
		.episode = cpu_to_le64(b->episode),
		.broken = cpu_to_le32(b->knows),
	};
	struct dsm_space *s = dsm_space_find(e, b->region);
	struct dsm_request *q, *tmp;
	struct dsm_waiter *w;
	struct dsm_msgbuf *m;
	u16 quiet = 0;

	b->quota = 0;
	b->below = 0;
	if (!head.count)
		return;
	m = begin_report(e, to, b->region, &head);
	if (b->seen && s && to == root)
		quiet = dsm_moves_quiet(e, s, root, b->ticket);
	if (b->seen) {
		put_ticket(m, e->self, to, b->ticket, b->seen, quiet);
		hlist_for_each_entry(w, dsm_request_bucket(e, b->ticket), by_xid)
			if (w->xid == b->ticket && to != root) {
				w->via = to;
				w->above = dsm_tree_above(&b->tree, e->self);
			}
	}
	list_for_each_entry_safe(q, tmp, &b->arrivals, cont.link) {
		put_ticket(m, q->node, q->up, q->xid, q->count, 0);
		list_del(&q->cont.link);
		dsm_served_free(e, q);
	}
	if (quiet)
		put_moves(m, s);
	end_report(e, m, acts);
	b->n_below = 0;
	b->via = to == root ? DSM_NO_NODE : to;
	dsm_barrier_idle(e, b);
}

static void report_held(struct dsm_engine *e, struct dsm_barrier *b, u16 root,
			struct dsm_actions *acts)
{
	report(e, b, root, root, acts);
}

static bool is_empty(const struct dsm_barrier *b)
{
	return !b->seen && !b->n_below;
}

/* As last time, so far: may wait here for the rest. */
static bool may_hold(const struct dsm_barrier *b, u32 parties, u64 told, u32 knows)
{
	return b && b->quota && b->parties == parties && (is_empty(b) || (b->told == told && b->knows == knows));
}

static bool way_is_open(const struct dsm_engine *e, const struct dsm_barrier *b)
{
	return !(dsm_tree_above(&b->tree, e->self) & ~e->alive);
}

static void check_full(struct dsm_engine *e, struct dsm_barrier *b, u16 root,
		       struct dsm_actions *acts)
{
	u16 to = dsm_tree_parent(&b->tree, e->self, root);

	if (b->seen >= b->quota && b->n_below >= b->below)
		report(e, b, way_is_open(e, b) ? to : root, root, acts);
}

static void hold(struct dsm_engine *e, struct dsm_barrier *b, u16 root, struct dsm_waiter *w, u32 knows,
		 struct dsm_actions *acts)
{
	if (is_empty(b)) {
		dsm_barrier_busy(e, b);
		b->told = w->told;
		b->knows = knows;
	}
	if (!b->seen) {
		dsm_request_add(e, w, root);
		b->ticket = w->xid;
	} else {
		dsm_request_share(e, w, root, b->ticket);
	}
	b->seen++;
	check_full(e, b, root, acts);
}

/**
 * dsm_barrier_arrive() - a local thread arrives
 * @e:       engine
 * @s:       region, its members fixed
 * @key:     any
 * @parties: callers in the whole cluster, at least 1
 * @w:       waiter
 * @acts:    actions
 *
 * Context: engine lock held. The thread's release is done.
 * Return: 0 queued, -EHOSTDOWN the manager is lost.
 */
int dsm_barrier_arrive(struct dsm_engine *e, struct dsm_space *s, u64 key, u32 parties,
		       struct dsm_waiter *w, struct dsm_actions *acts)
{
	u16 root = dsm_manager(s, DSM_MSG_BAR_ARRIVE, key);
	struct dsm_wire_arrive head = {
		.key = cpu_to_le64(key),
		.parties = cpu_to_le32(parties),
		.count = cpu_to_le32(1),
	};
	struct dsm_barrier *b;
	struct dsm_msgbuf *m;
	u16 quiet;
	u32 knows;

	if (!dsm_engine_alive(e, root))
		return -EHOSTDOWN;
	/* Not of who had the number of a lost node before. */
	w->told &= dsm_space_lost(e, s->id);
	w->space = s;
	b = dsm_barrier_find(e, s->id, key);
	knows = dsm_barrier_broken_before(b, w->opened);
	head.told = cpu_to_le64(w->told);
	head.broken = cpu_to_le32(knows);
	if (root == e->self) {
		dsm_request_add(e, w, root);
		dsm_barrier_accept(e, &(struct dsm_request){
			.type = DSM_MSG_BAR_ARRIVE,
			.node = root,
			.up = root,
			.via = root,
			.region = s->id,
			.xid = w->xid,
			.value = parties,
			.key = key,
			.told = w->told,
			.count = 1,
			.chunk = knows,
			.op = dsm_moves_quiet(e, s, root, w->xid),
		}, true, true, acts);
		return 0;
	}
	if (may_hold(b, parties, w->told, knows) && b->seen < b->quota) {
		hold(e, b, root, w, knows, acts);
		return 0;
	}
	if (b) {
		head.episode = cpu_to_le64(b->episode);
		report_held(e, b, root, acts);
	}
	dsm_request_add(e, w, root);
	m = begin_report(e, root, s->id, &head);
	quiet = dsm_moves_quiet(e, s, root, w->xid);
	put_ticket(m, e->self, root, w->xid, 1, quiet);
	if (quiet)
		put_moves(m, s);
	end_report(e, m, acts);
	return 0;
}

/* Thread of a ticket that went to @to is gone. */
static void send_abort(struct dsm_engine *e, u16 to, u32 region, u64 key, u16 node, u32 xid,
		       struct dsm_actions *acts)
{
	struct dsm_wire_arrive head = { .key = cpu_to_le64(key), .count = cpu_to_le32(1) };
	struct dsm_msgbuf *m;

	if (!dsm_engine_alive(e, to))
		return;
	m = dsm_msg_new(e, to, DSM_CLASS_REQ, DSM_MSG_BAR_ABORT, region, 0);
	dsm_wire_put(m, &head, sizeof(head));
	put_ticket(m, node, to, xid, 1, 0);
	dsm_letter_send(e, m, acts);
}

/**
 * dsm_barrier_abort() - an arrived thread ends before the barrier is full
 * @e:    engine
 * @s:    region
 * @key:  key
 * @w:    its waiter
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: true: forgotten here, the others will get -EOWNERDEAD; false: it was woken already.
 */
bool dsm_barrier_abort(struct dsm_engine *e, struct dsm_space *s, u64 key, struct dsm_waiter *w,
		       struct dsm_actions *acts)
{
	u16 root = w->peer, to;
	u32 xid = w->xid;
	struct dsm_barrier *b;

	if (!dsm_waiter_cancel(e, w))
		return false;
	if (root == e->self) {
		dsm_barrier_abort_at_manager(e, s->id, key, root, xid, acts);
	} else if (dsm_engine_alive(e, root)) {
		/* It has come, and will be missed: both must be known. */
		b = dsm_barrier_find(e, s->id, key);
		if (b && b->seen && b->ticket == xid)
			report_held(e, b, root, acts);
		to = w->via == DSM_NO_NODE ? root : w->via;
		send_abort(e, to, s->id, key, e->self, xid, acts);
	}
	return true;
}

/**
 * dsm_barrier_wake() - wake threads of one ticket
 * @e:      engine
 * @from:   who says so; ignored unless it is the key's manager or passes on the report
 * @xid:    ticket
 * @count:  how many at most; fewer if some have given up
 * @status: their result
 * @about:  node that knows more than is known here, to be pulled first, or DSM_NO_NODE
 * @acts:   actions
 *
 * Context: engine lock held.
 * Return: true if any of them waits for @from's word.
 */
bool dsm_barrier_wake(struct dsm_engine *e, u16 from, u32 xid, u32 count, int status, u16 about,
		      struct dsm_actions *acts)
{
	struct hlist_node *tmp;
	struct dsm_waiter *w;
	bool found = false;

	hlist_for_each_entry_safe(w, tmp, dsm_request_bucket(e, xid), by_xid) {
		if (!count)
			break;
		if (w->xid != xid || (w->peer != from && !(w->above & 1ull << from)) ||
		    !list_empty(&w->cont.link))
			continue;
		found = true;
		count--;
		w->status = status;
		if (!status)
			dsm_count(e, w->space, barriers);
		if (about == DSM_NO_NODE || status)
			dsm_act_wake(e, acts, w, status);
		else
			dsm_pull(e, about, &w->cont, DSM_CONT_WAITER, acts);
	}
	return found;
}

/**
 * dsm_barrier_relay() - another node's report came here, to be passed on
 * @e:    engine
 * @q:    ticket whose knowledge is in our log; consumed
 * @root: the key's manager
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_relay(struct dsm_engine *e, struct dsm_request *q, u16 root,
		       struct dsm_actions *acts)
{
	struct dsm_barrier *b = dsm_barrier_find(e, q->region, q->key);
	struct dsm_wire_arrive head = {
		.key = cpu_to_le64(q->key),
		.parties = cpu_to_le32(q->value),
		.count = cpu_to_le32(1),
		.told = cpu_to_le64(q->told),
		.episode = cpu_to_le64(q->episode),
		.broken = cpu_to_le32(q->chunk),
	};
	struct dsm_msgbuf *m;

	if (may_hold(b, q->value, q->told, q->chunk) && q->episode == b->episode &&
	    b->n_below < b->below && !q->gone) {
		if (is_empty(b)) {
			dsm_barrier_busy(e, b);
			b->told = q->told;
			b->knows = q->chunk;
		}
		list_add_tail(&q->cont.link, &b->arrivals);
		b->n_below++;
		check_full(e, b, root, acts);
		return;
	}
	/* Not as last time. Who waited for this one here must not wait for ever. */
	if (b && dsm_engine_alive(e, root)) {
		report_held(e, b, root, acts);
		b->via = DSM_NO_NODE;
	}
	/* What a lost node knew cannot be had; who came by it is told of the loss. */
	if (dsm_engine_alive(e, root) && dsm_engine_alive(e, q->via) &&
	    dsm_engine_alive(e, q->node)) {
		m = begin_report(e, root, q->region, &head);
		/* As if it had come straight: that differs from what the manager counts on. */
		put_ticket(m, q->node, root, q->xid, q->count, 0);
		end_report(e, m, acts);
		if (q->gone)
			send_abort(e, root, q->region, q->key, q->node, q->xid, acts);
	}
	dsm_served_free(e, q);
}

/**
 * dsm_barrier_mark_gone() - a thread ended whose report waits for its knowledge, or has just come
 * @e:    engine
 * @node: its node
 * @xid:  its ticket
 *
 * Context: engine lock held.
 * Return: true: found; it will be counted as gone.
 */
bool dsm_barrier_mark_gone(struct dsm_engine *e, u16 node, u32 xid)
{
	struct dsm_request *q = dsm_pull_find(e, DSM_MSG_BAR_ARRIVE, node, xid);

	if (!q || q->gone == q->count)
		return false;
	q->gone++;
	return true;
}

/**
 * dsm_barrier_relay_abort() - a thread ended whose report was to be passed on here
 * @e:      engine
 * @region: region id
 * @root:   the key's manager
 * @body:   head of the message
 * @ticket: its ticket
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_relay_abort(struct dsm_engine *e, u32 region, u16 root,
			     const struct dsm_wire_arrive *body,
			     const struct dsm_wire_ticket *ticket, struct dsm_actions *acts)
{
	u64 key = le64_to_cpu(body->key);
	struct dsm_barrier *b = dsm_barrier_find(e, region, key);
	u32 xid = le32_to_cpu(ticket->xid);
	u16 node = le16_to_cpu(ticket->node), to = root;
	struct dsm_request *q;

	if (dsm_barrier_mark_gone(e, node, xid))
		return;
	if (b && b->via != DSM_NO_NODE)
		to = b->via;
	if (b)
		list_for_each_entry(q, &b->arrivals, cont.link)
			if (q->node == node && q->xid == xid) {
				report_held(e, b, root, acts);
				to = root;
				break;
			}
	send_abort(e, to, region, key, node, xid, acts);
}

/* What may be held back from now on, and whose reports. */
static void take_hold(struct dsm_engine *e, u32 region, u16 root,
		      const struct dsm_wire_depart *body, const struct dsm_wire_ticket *ticket,
		      struct dsm_actions *acts)
{
	u64 key = le64_to_cpu(body->key), episode = le64_to_cpu(body->episode);
	struct dsm_barrier *b;

	if (!episode || !ticket->hold) {
		b = dsm_barrier_find(e, region, key);
		if (b)
			report_held(e, b, root, acts);
		return;
	}
	b = dsm_barrier_get(e, region, key);
	if (episode <= b->episode)
		return;
	report_held(e, b, root, acts);
	b->episode = episode;
	b->parties = le32_to_cpu(body->parties);
	b->tree.nodes = le64_to_cpu(body->tree);
	b->tree.fanout = le16_to_cpu(body->fanout);
	/* Asked before this came: the question was for the episode that begins now. */
	if (b->asked >= episode || !way_is_open(e, b))
		return;
	b->quota = min_t(u32, le16_to_cpu(ticket->hold), DSM_BARRIER_HOLD_MAX);
	b->below = dsm_tree_below(&b->tree, e->self);
}

/* By which node a ticket goes on to @node: down the way that its report came up. */
static u16 next_hop(const struct dsm_engine *e, const u16 *up, u16 node)
{
	u16 hop = node;
	u32 steps;

	for (steps = 0; steps < DSM_MAX_NODES && up[hop] != DSM_NO_NODE; steps++) {
		if (up[hop] == e->self)
			return hop;
		hop = up[hop];
	}
	return node;
}

/* One message, with as many tickets of @hop and of those below it as there is room for. Returns those looked at. */
static u32 pass_to(struct dsm_engine *e, u32 region, const struct dsm_wire_depart *body, struct dsm_reader *tickets,
		   u32 left, const u16 *up, u16 hop, struct dsm_actions *acts)
{
	u16 about = le16_to_cpu(body->about);
	struct dsm_wire_ticket ticket;
	u32 head_at, looked, mine = 0;
	struct dsm_msgbuf *m;

	m = dsm_msg_new(e, hop, DSM_CLASS_RSP, DSM_MSG_BAR_DEPART, region, 0);
	head_at = m->len;
	dsm_wire_put(m, body, sizeof(*body));
	/* The vector time must fit behind them: who sent this one may have more tickets in it than anybody honest. */
	for (looked = 0; looked < left && (!mine || dsm_wire_room(m) >= DSM_MAX_NODES * 8 + 64); looked++) {
		dsm_reader_take(tickets, &ticket, sizeof(ticket));
		if (le16_to_cpu(ticket.node) == e->self || next_hop(e, up, le16_to_cpu(ticket.node)) != hop)
			continue;
		dsm_wire_put(m, &ticket, sizeof(ticket));
		mine++;
	}
	((struct dsm_wire_depart *)(m->data + head_at))->count = cpu_to_le32(mine);
	dsm_letter_prefer(e, m);
	/* What is still to be pulled here is pulled there as well, from where it is. */
	if (about == e->self)
		dsm_know_put(e, m, hop);
	else
		dsm_know_put_time(e, m, about);
	dsm_letter_send(e, m, acts);
	return looked;
}

/* Departures of others go on first: they do not depend on what is done here. */
static void pass_on(struct dsm_engine *e, u32 region, struct dsm_wire_depart body,
		    const struct dsm_reader *tickets, u16 about, struct dsm_actions *acts)
{
	u32 count = le32_to_cpu(body.count), i;
	struct dsm_wire_ticket ticket;
	u16 up[DSM_MAX_NODES], hop;
	struct dsm_reader r;
	u64 hops = 0;

	memset(up, 0xff, sizeof(up));
	for (i = 0, r = *tickets; i < count; i++) {
		dsm_reader_take(&r, &ticket, sizeof(ticket));
		up[le16_to_cpu(ticket.node)] = le16_to_cpu(ticket.up);
	}
	for (hop = 0; hop < DSM_MAX_NODES; hop++)
		if (hop != e->self && up[hop] != DSM_NO_NODE)
			hops |= 1ull << next_hop(e, up, hop);
	body.about = cpu_to_le16(about == DSM_NO_NODE ? e->self : about);
	for (hop = 0; hop < e->n_nodes; hop++) {
		if (!(hops & 1ull << hop) || !dsm_engine_alive(e, hop))
			continue;
		for (i = 0, r = *tickets; i < count;)
			i += pass_to(e, region, &body, &r, count - i, up, hop, acts);
	}
}

static int status_of(u32 wire)
{
	switch (wire) {
	case 0:
		return 0;
	case EOWNERDEAD:
		return -EOWNERDEAD;
	case EINVAL:
		return -EINVAL;
	case EDQUOT:
		return -EDQUOT;
	default:
		return -EHOSTDOWN;
	}
}

static int on_depart(struct dsm_engine *e, u16 from, struct dsm_space *s, u8 flags,
		     struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_move moves[DSM_MOVES_TOLD];
	struct dsm_wire_depart body;
	struct dsm_reader tickets;
	int complete, status;
	u16 root, about;
	u32 count, n_moves, i;
	bool ours;

	dsm_reader_take(r, &body, sizeof(body));
	count = le32_to_cpu(body.count);
	n_moves = le32_to_cpu(body.moves);
	about = le16_to_cpu(body.about);
	tickets = dsm_reader_init(r->pos, count * sizeof(struct dsm_wire_ticket));
	dsm_reader_skip(r, count * sizeof(struct dsm_wire_ticket));
	dsm_reader_take(r, moves, n_moves * sizeof(moves[0]));
	if (about == e->self)
		return -EPROTO;
	complete = dsm_know_take(e, about, about, flags, r);
	if (complete < 0)
		return -EPROTO;
	if (complete)
		about = DSM_NO_NODE;
	status = status_of(le32_to_cpu(body.status));
	if (!status && !complete && !dsm_engine_alive(e, about))
		status = -EHOSTDOWN;	/* nobody left to pull from */
	root = dsm_manager(s, DSM_MSG_BAR_ARRIVE, le64_to_cpu(body.key));
	body.moves = 0;		/* who is told by way of us has promised nothing */
	if (body.broken && from == root)
		dsm_barrier_broken_learn(e, dsm_barrier_get(e, s->id, le64_to_cpu(body.key)), le32_to_cpu(body.broken));
	if (le64_to_cpu(body.episode))
		pass_on(e, s->id, body, &tickets, about, acts);
	for (i = 0; i < count; i++) {
		struct dsm_wire_ticket ticket;

		dsm_reader_take(&tickets, &ticket, sizeof(ticket));
		if (le16_to_cpu(ticket.node) != e->self)
			continue;
		dsm_moves_depart(e, s, from, le32_to_cpu(ticket.xid), moves, n_moves);
		ours = dsm_barrier_wake(e, from, le32_to_cpu(ticket.xid), le32_to_cpu(ticket.count),
					status, about, acts);
		/* Whoever else says how many to hold back would have us wait for ever. */
		if (root != e->self && dsm_engine_alive(e, root) && (from == root || ours))
			take_hold(e, s->id, root, &body, &ticket, acts);
	}
	return 0;
}

static void on_ask(struct dsm_engine *e, u16 from, u32 region, const struct dsm_wire_arrive *body,
		   struct dsm_actions *acts)
{
	struct dsm_barrier *b = dsm_barrier_get(e, region, le64_to_cpu(body->key));
	u64 episode = le64_to_cpu(body->episode);

	if (episode >= b->episode) {	/* else it is over */
		b->asked = max(b->asked, episode);
		report_held(e, b, from, acts);
	}
	dsm_barrier_broken_learn(e, b, le32_to_cpu(body->broken));
}

/**
 * dsm_barrier_on_node_message() - BAR_DEPART, BAR_ASK
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the peer broke a rule.
 */
int dsm_barrier_on_node_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
				struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));
	struct dsm_wire_arrive body;

	if (!s || !s->n_members)
		return 0;	/* destroyed meanwhile: nobody waits */
	if (hdr->type == DSM_MSG_BAR_DEPART)
		return on_depart(e, from, s, hdr->flags, r, acts);
	dsm_reader_take(r, &body, sizeof(body));
	if (dsm_manager(s, DSM_MSG_BAR_ARRIVE, le64_to_cpu(body.key)) != from)
		return -EPROTO;
	on_ask(e, from, s->id, &body, acts);
	return 0;
}

/**
 * dsm_barrier_node_peer_lost() - a node is lost: nothing is as last time
 * @e:    engine
 * @b:    barrier that another node manages
 * @node: lost node
 * @root: the manager
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_node_peer_lost(struct dsm_engine *e, struct dsm_barrier *b, u16 node, u16 root,
				struct dsm_actions *acts)
{
	struct dsm_request *q, *tmp;

	if (node != root) {
		if (dsm_engine_alive(e, root))
			report_held(e, b, root, acts);
		return;
	}
	/* Its threads were woken; who has its number later begins anew. */
	list_for_each_entry_safe(q, tmp, &b->arrivals, cont.link) {
		list_del(&q->cont.link);
		dsm_served_free(e, q);
	}
	if (!list_empty(&b->idle))
		dsm_barrier_busy(e, b);
	b->episode = 0;
	b->asked = 0;
	b->broken = 0;
	b->broken_before = 0;
	b->quota = 0;
	b->below = 0;
	b->n_below = 0;
	dsm_barrier_idle(e, b);
}
