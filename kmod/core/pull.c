// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Pulls: getting what a peer knows, and going on with what waits for it.
 *
 * At most one pull per peer is under way. Each brings something new or is the last one, or the peer breaks the protocol
 * (I37): so whoever waits for knowledge waits for an answer of a living peer, never for an interval. Never
 * looks into the log; interval.c does.
 */
#include "interval.h"

static void send_pull(struct dsm_engine *e, u16 peer, struct dsm_actions *acts)
{
	struct dsm_msgbuf *m =
		dsm_msg_new(e, peer, DSM_CLASS_REQ, DSM_MSG_INTERVAL_PULL, 0, ++e->next_xid);

	dsm_know_put_time(e, m, e->self);
	e->pull[peer].learned = e->learned;
	dsm_act_send(acts, m);
}

/**
 * dsm_pull() - get all that a peer knows, then go on with something
 * @e:    engine
 * @peer: who knows
 * @c:    what waits for it
 * @kind: how to go on
 * @acts: actions
 *
 * A pull that is under way may have been answered before the peer learned what
 * we need: a newcomer waits for the next one.
 *
 * Context: engine lock held.
 */
void dsm_pull(struct dsm_engine *e, u16 peer, struct dsm_cont *c, u8 kind, struct dsm_actions *acts)
{
	struct dsm_pull *pull = &e->pull[peer];

	if (peer == e->self || !dsm_engine_alive(e, peer)) {
		dsm_ready(e, acts, c, kind);
		return;
	}
	c->kind = kind;
	if (pull->busy) {
		list_add_tail(&c->link, &pull->then);
		return;
	}
	pull->busy = true;
	list_add_tail(&c->link, &pull->now);
	send_pull(e, peer, acts);
}

/**
 * dsm_pull_ahead() - get all that a peer knows, although nobody waits for it
 * @e:    engine
 * @peer: who knows, alive
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_pull_ahead(struct dsm_engine *e, u16 peer, struct dsm_actions *acts)
{
	if (e->pull[peer].busy)
		return;
	e->pull[peer].busy = true;
	send_pull(e, peer, acts);
}

static void ready_all(struct dsm_engine *e, struct list_head *conts, struct dsm_actions *acts)
{
	struct dsm_cont *c, *tmp;

	list_for_each_entry_safe(c, tmp, conts, link) {
		list_del(&c->link);
		dsm_ready(e, acts, c, c->kind);
	}
}

/**
 * dsm_know_on_intervals() - message INTERVALS: the answer to a pull
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * It brings all above what was asked from, or the first of it: who answers that it knows more and has nothing to
 * bring names intervals that never were, and asking again would go on for ever (I37).
 *
 * Context: engine lock held.
 * Return: 0; -EPROTO nobody asked, or nothing came of it.
 */
int dsm_know_on_intervals(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			  struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_pull *pull = &e->pull[from];

	if (!pull->busy)
		return -EPROTO;
	if (!dsm_know_take(e, from, from, hdr->flags, r, acts)) {
		if (pull->learned == e->learned)
			return -EPROTO;
		send_pull(e, from, acts);
		return 0;
	}
	ready_all(e, &pull->now, acts);
	list_splice_tail_init(&pull->then, &pull->now);
	pull->busy = !list_empty(&pull->now);
	if (pull->busy)
		send_pull(e, from, acts);
	return 0;
}

/**
 * dsm_know_peer_lost() - what a lost node knew can't be had: invalidate everything instead
 * @e:    engine
 * @node: the lost node
 * @acts: actions
 *
 * Every diff it named was acknowledged by its home before, so refetching gives at least that.
 *
 * Context: engine lock held.
 */
void dsm_know_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts)
{
	e->inval_all = true;
	e->pull[node].busy = false;
	ready_all(e, &e->pull[node].now, acts);
	ready_all(e, &e->pull[node].then, acts);
}
