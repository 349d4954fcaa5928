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

static void send_report(struct dsm_engine *e, u16 root, u32 region, u32 xid,
			const struct dsm_wire_arrive *body, struct dsm_actions *acts)
{
	struct dsm_msgbuf *m = dsm_msg_new(e, root, DSM_CLASS_REQ, DSM_MSG_BAR_ARRIVE, region, xid);

	dsm_wire_put(m, body, sizeof(*body));
	dsm_know_put(e, m, root);
	dsm_act_send(acts, m);
}

/* Report what is held; what comes now is reported at once, until a departure allows to hold. */
static void report_held(struct dsm_engine *e, struct dsm_barrier *b, u16 root,
			struct dsm_actions *acts)
{
	struct dsm_wire_arrive body = {
		.key = cpu_to_le64(b->key),
		.parties = cpu_to_le32(b->parties),
		.count = cpu_to_le32(b->seen),
		.told = cpu_to_le64(b->told),
		.episode = cpu_to_le64(b->episode),
	};

	b->quota = 0;
	if (!b->seen)
		return;
	send_report(e, root, b->region, b->ticket, &body, acts);
	dsm_barrier_idle(e, b);
}

static void hold(struct dsm_engine *e, struct dsm_barrier *b, u16 root, struct dsm_waiter *w,
		 struct dsm_actions *acts)
{
	if (!b->seen) {
		dsm_barrier_busy(e, b);
		dsm_request_add(e, w, root);
		b->ticket = w->xid;
		b->told = w->told;
	} else {
		dsm_request_share(e, w, root, b->ticket);
	}
	if (++b->seen >= b->quota)
		report_held(e, b, root, acts);
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
	struct dsm_wire_arrive body = {
		.key = cpu_to_le64(key),
		.parties = cpu_to_le32(parties),
		.count = cpu_to_le32(1),
		.told = cpu_to_le64(w->told),
	};
	u16 root = dsm_manager(s, DSM_MSG_BAR_ARRIVE, key);
	struct dsm_barrier *b;

	if (!dsm_engine_alive(e, root))
		return -EHOSTDOWN;
	if (root == e->self) {
		dsm_request_add(e, w, root);
		dsm_barrier_accept(e, &body, s->id, root, w->xid, true, acts);
		return 0;
	}
	b = dsm_barrier_find(e, s->id, key);
	if (b && b->quota && b->parties == parties && (!b->seen || b->told == w->told)) {
		hold(e, b, root, w, acts);
		return 0;
	}
	if (b) {
		body.episode = cpu_to_le64(b->episode);
		report_held(e, b, root, acts);
	}
	dsm_request_add(e, w, root);
	send_report(e, root, s->id, w->xid, &body, acts);
	return 0;
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
	struct dsm_wire_arrive body = { .key = cpu_to_le64(key) };
	u16 root = w->peer;
	u32 xid = w->xid;
	struct dsm_barrier *b;
	struct dsm_msgbuf *m;

	if (!dsm_waiter_cancel(e, w))
		return false;
	if (root == e->self) {
		dsm_barrier_abort_at_manager(e, s->id, key, root, xid, acts);
	} else if (dsm_engine_alive(e, root)) {
		/* It has come, and will be missed: both must be known. */
		b = dsm_barrier_find(e, s->id, key);
		if (b && b->seen && b->ticket == xid)
			report_held(e, b, root, acts);
		m = dsm_msg_new(e, root, DSM_CLASS_REQ, DSM_MSG_BAR_ABORT, s->id, xid);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_act_send(acts, m);
	}
	return true;
}

/**
 * dsm_barrier_wake() - wake threads of one ticket
 * @e:        engine
 * @root:     the key's manager
 * @xid:      ticket
 * @count:    how many at most; fewer if some have given up
 * @status:   their result
 * @complete: what the manager knows is known here; else it is pulled first
 * @acts:     actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_wake(struct dsm_engine *e, u16 root, u32 xid, u32 count, int status,
		      bool complete, struct dsm_actions *acts)
{
	struct hlist_node *tmp;
	struct dsm_waiter *w;

	hlist_for_each_entry_safe(w, tmp, dsm_request_bucket(e, xid), by_xid) {
		if (!count)
			return;
		if (w->xid != xid || w->peer != root || !list_empty(&w->cont.link))
			continue;
		count--;
		w->status = status;
		if (!status)
			e->stats.barriers++;
		if (complete || status)
			dsm_act_wake(e, acts, w, status);
		else
			dsm_pull(e, root, &w->cont, DSM_CONT_WAITER, acts);
	}
}

/* What may be held back from now on. */
static void take_hold(struct dsm_engine *e, u32 region, u16 root,
		      const struct dsm_wire_depart *body, struct dsm_actions *acts)
{
	u64 key = le64_to_cpu(body->key), episode = le64_to_cpu(body->episode);
	struct dsm_barrier *b;

	if (!episode) {
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
	/* Asked before this came: the question was for the episode that begins now. */
	if (b->asked < episode)
		b->quota = min(le32_to_cpu(body->hold), DSM_BARRIER_HOLD_MAX);
}

static int on_depart(struct dsm_engine *e, u16 from, const struct dsm_space *s, u8 flags,
		     struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_depart body;
	struct dsm_reader tickets;
	int complete, status;
	u32 count, i;

	dsm_reader_take(r, &body, sizeof(body));
	count = le32_to_cpu(body.count);
	tickets = dsm_reader_init(r->pos, count * sizeof(struct dsm_wire_ticket));
	dsm_reader_skip(r, count * sizeof(struct dsm_wire_ticket));
	complete = dsm_know_take(e, from, from, flags, r);
	if (complete < 0)
		return -EPROTO;
	switch (le32_to_cpu(body.status)) {
	case 0:
		status = 0;
		break;
	case EOWNERDEAD:
		status = -EOWNERDEAD;
		break;
	case EINVAL:
		status = -EINVAL;
		break;
	case EDQUOT:
		status = -EDQUOT;
		break;
	default:
		status = -EHOSTDOWN;
	}
	for (i = 0; i < count; i++) {
		struct dsm_wire_ticket ticket;

		dsm_reader_take(&tickets, &ticket, sizeof(ticket));
		dsm_barrier_wake(e, from, le32_to_cpu(ticket.xid), le32_to_cpu(ticket.count),
				 status, complete, acts);
	}
	if (dsm_manager(s, DSM_MSG_BAR_ARRIVE, le64_to_cpu(body.key)) == from)
		take_hold(e, s->id, from, &body, acts);
	return 0;
}

static void on_ask(struct dsm_engine *e, u16 from, u32 region, const struct dsm_wire_arrive *body,
		   struct dsm_actions *acts)
{
	struct dsm_barrier *b = dsm_barrier_get(e, region, le64_to_cpu(body->key));
	u64 episode = le64_to_cpu(body->episode);

	if (episode < b->episode)
		return;		/* of an episode that is over */
	b->asked = max(b->asked, episode);
	report_held(e, b, from, acts);
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
	if (node != root) {
		if (dsm_engine_alive(e, root))
			report_held(e, b, root, acts);
		return;
	}
	/* Its threads were woken; who has its number later begins anew. */
	if (b->seen)
		dsm_barrier_idle(e, b);
	b->episode = 0;
	b->asked = 0;
	b->quota = 0;
}
