// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Flags and the bare release.
 *
 * The manager answers with all it knows: more than the setter knew is always legal, and a flag
 * needs no vector time of its own. It logs, it does not apply. Never blocks: a wait is a queued
 * request. Nobody knows who will set a flag: a wait fails when any user of the region is lost,
 * unless the caller was told of that loss before.
 */
#include "flag.h"
#include "interval.h"
#include "letter.h"

static struct dsm_flag *find(struct dsm_engine *e, u32 region, u64 key)
{
	struct dsm_flag *f;

	hlist_for_each_entry(f, dsm_key_bucket(e, e->flags, region, key), by_key)
		if (f->key == key && f->region == region)
			return f;
	return NULL;
}

static struct dsm_flag *get(struct dsm_engine *e, u32 region, u64 key)
{
	struct dsm_flag *f = find(e, region, key);

	if (f)
		return f;
	f = dsm_pool_take(e, DSM_POOL_FLAG);
	memset(f, 0, sizeof(*f));
	f->key = key;
	f->region = region;
	INIT_LIST_HEAD(&f->waiters);
	hlist_add_head(&f->by_key, dsm_key_bucket(e, e->flags, region, key));
	return f;
}

static void put(struct dsm_engine *e, struct dsm_flag *f)
{
	if (f->set || !list_empty(&f->waiters))
		return;
	hlist_del(&f->by_key);
	dsm_pool_give(e, DSM_POOL_FLAG, f);
}

static void reply(struct dsm_engine *e, struct dsm_request *q, int status, struct dsm_actions *acts)
{
	struct dsm_wire_flag body = {
		.key = cpu_to_le64(q->key),
		.op = q->op,
		.status = cpu_to_le32(-status),
	};
	u8 type = q->type == DSM_MSG_FLAG_OP ? DSM_MSG_FLAG_REPLY : DSM_MSG_SYNC_REPLY;
	struct dsm_waiter *w;
	struct dsm_msgbuf *m;

	if (q->node == e->self) {
		w = dsm_request_find(e, q->xid);
		if (w)
			dsm_act_wake(e, acts, w, status);
	} else if (dsm_engine_alive(e, q->node)) {
		m = dsm_msg_new(e, q->node, DSM_CLASS_RSP, type, q->region, q->xid);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_letter_prefer(e, m);
		dsm_know_put(e, m, q->node);
		dsm_letter_send(e, m, acts);
	}
	dsm_served_free(e, q);
}

static void set(struct dsm_engine *e, struct dsm_flag *f, struct dsm_request *q,
		struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, f->region);
	struct dsm_request *waiter, *tmp;

	if (f->set) {
		reply(e, q, -EALREADY, acts);
		return;
	}
	/* Nobody has to wait for it, or to clear it: each stays for as long as the region. */
	if (!s || s->flags_set >= e->flag_cap) {
		reply(e, q, -EDQUOT, acts);
		return;
	}
	s->flags_set++;
	f->set = true;
	dsm_count(e, s, flags);
	list_for_each_entry_safe(waiter, tmp, &f->waiters, cont.link) {
		list_del(&waiter->cont.link);
		/* Answered below even if the flag is cleared at once. */
		waiter->op = DSM_FLAG_CANCEL;
		dsm_ready(e, acts, &waiter->cont, DSM_CONT_REQUEST);
	}
	reply(e, q, 0, acts);
}

static void clear(struct dsm_engine *e, struct dsm_flag *f)
{
	struct dsm_space *s = dsm_space_find(e, f->region);

	if (f->set && s)
		s->flags_set--;
	f->set = false;
}

static void note_early(struct dsm_early_cancels *early, u64 key, u32 xid)
{
	u32 i = early->n++ % DSM_EARLY_CANCELS;

	early->key[i] = key;
	early->xid[i] = xid;
}

/* It was given up before it came. */
static bool is_given_up(struct dsm_early_cancels *early, u64 key, u32 xid)
{
	u32 i;

	for (i = 0; i < DSM_EARLY_CANCELS; i++)
		if (early->xid[i] == xid && early->key[i] == key) {
			early->xid[i] = 0;
			return true;
		}
	return false;
}

static struct dsm_request *wait_of(struct dsm_flag *f, u16 node, u32 xid)
{
	struct dsm_request *q;

	list_for_each_entry(q, &f->waiters, cont.link)
		if (q->node == node && q->xid == xid)
			return q;
	return NULL;
}

static void cancel(struct dsm_engine *e, u32 region, u64 key, u16 node, u32 xid)
{
	struct dsm_flag *f = find(e, region, key);
	struct dsm_request *q = dsm_pull_find(e, DSM_MSG_FLAG_OP, node, xid);

	/* It waits itself for the knowledge that came with it, or has just got it. */
	if (q && q->op == DSM_FLAG_WAIT) {
		list_del(&q->cont.link);
		dsm_served_free(e, q);
		return;
	}
	q = f ? wait_of(f, node, xid) : NULL;
	if (q) {
		list_del(&q->cont.link);
		dsm_served_free(e, q);
		put(e, f);
	} else {
		/* Its answer is on the way, or it was overtaken. */
		note_early(&e->early[node], key, xid);
	}
}

/**
 * dsm_flag_serve() - a request whose knowledge is in our log
 * @e:    engine
 * @q:    request, consumed
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_flag_serve(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts)
{
	struct dsm_flag *f;

	if (q->type == DSM_MSG_SYNC_PUSH || q->op == DSM_FLAG_CANCEL) {
		reply(e, q, -(int)q->value, acts);
		return;
	}
	f = get(e, q->region, q->key);
	switch (q->op) {
	case DSM_FLAG_SET:
		set(e, f, q, acts);
		break;
	case DSM_FLAG_CLEAR:
		clear(e, f);
		reply(e, q, 0, acts);
		break;
	case DSM_FLAG_WAIT:
		if (f->set) {
			reply(e, q, 0, acts);
		} else if (dsm_space_lost(e, q->region) & ~q->told) {
			reply(e, q, -EHOSTDOWN, acts);
		} else {
			list_add_tail(&q->cont.link, &f->waiters);
			return;
		}
		break;
	default:
		reply(e, q, f->set ? 0 : -EAGAIN, acts);
	}
	put(e, f);
}

/* Serve a request, now or when all that its node knew is known here. */
static void accept(struct dsm_engine *e, const struct dsm_wire_flag *body, u8 type, u32 region,
		   u16 node, u32 xid, bool complete, struct dsm_actions *acts)
{
	struct dsm_request *q = dsm_served_new(e, &(struct dsm_request){
		.type = type,
		.op = body->op,
		.node = node,
		.region = region,
		.xid = xid,
		.key = le64_to_cpu(body->key),
		.told = dsm_engine_told(e, region, le64_to_cpu(body->told)),
	});

	if (dsm_served_too_many(e, q))
		reply(e, q, -EDQUOT, acts);
	else if (complete)
		dsm_flag_serve(e, q, acts);
	else
		dsm_pull(e, node, &q->cont, DSM_CONT_REQUEST, acts);
}

/**
 * dsm_flag_start() - a local thread sets, clears, tests or waits for a flag
 * @e:    engine
 * @s:    region, its members fixed
 * @key:  any
 * @op:   enum dsm_flag_op
 * @w:    waiter
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0 queued, -EHOSTDOWN the manager is lost.
 */
int dsm_flag_start(struct dsm_engine *e, struct dsm_space *s, u64 key, u8 op, struct dsm_waiter *w,
		   struct dsm_actions *acts)
{
	struct dsm_wire_flag body = {
		.key = cpu_to_le64(key),
		.op = op,
		.told = cpu_to_le64(op == DSM_FLAG_WAIT ? w->told & dsm_space_lost(e, s->id) : 0),
	};
	u16 manager = dsm_manager(s, DSM_MSG_FLAG_OP, key);
	struct dsm_msgbuf *m;

	if (!dsm_engine_alive(e, manager))
		return -EHOSTDOWN;
	dsm_request_add(e, w, manager);
	if (manager == e->self) {
		accept(e, &body, DSM_MSG_FLAG_OP, s->id, manager, w->xid, true, acts);
		return 0;
	}
	m = dsm_msg_new(e, manager, DSM_CLASS_REQ, DSM_MSG_FLAG_OP, s->id, w->xid);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_letter_prefer(e, m);
	dsm_know_put(e, m, manager);
	dsm_letter_send(e, m, acts);
	return 0;
}

/**
 * dsm_flag_cancel() - a waiting thread gives up
 * @e:    engine
 * @s:    region
 * @key:  key
 * @w:    waiter
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: true: forgotten; false: it was woken already.
 */
bool dsm_flag_cancel(struct dsm_engine *e, struct dsm_space *s, u64 key, struct dsm_waiter *w,
		     struct dsm_actions *acts)
{
	struct dsm_wire_flag body = { .key = cpu_to_le64(key), .op = DSM_FLAG_CANCEL };
	u16 manager = w->peer;
	u32 xid = w->xid;
	struct dsm_msgbuf *m;

	if (!dsm_waiter_cancel(e, w))
		return false;
	if (manager == e->self) {
		cancel(e, s->id, key, manager, xid);
	} else if (dsm_engine_alive(e, manager)) {
		m = dsm_msg_new(e, manager, DSM_CLASS_REQ, DSM_MSG_FLAG_OP, s->id, xid);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_letter_prefer(e, m);
		dsm_know_put_time(e, m, e->self);
		dsm_letter_send(e, m, acts);
	}
	return true;
}

static u16 sync_manager(const struct dsm_space *s)
{
	return dsm_manager(s, DSM_MSG_SYNC_PUSH, 0);
}

/**
 * dsm_sync_push() - bring what this node knows to the region's sync manager
 * @e:    engine
 * @s:    region, its members fixed
 * @w:    waiter
 * @acts: actions
 *
 * Context: engine lock held; the release is done.
 * Return: 0 it has it all, -EINPROGRESS queued, -EHOSTDOWN.
 */
int dsm_sync_push(struct dsm_engine *e, struct dsm_space *s, struct dsm_waiter *w,
		  struct dsm_actions *acts)
{
	u16 manager = sync_manager(s);
	struct dsm_wire_flag body = {};
	struct dsm_msgbuf *m;

	if (manager == e->self)
		return 0;
	if (!dsm_engine_alive(e, manager))
		return -EHOSTDOWN;
	if (!dsm_know_ahead_of(e, manager))
		return 0;
	dsm_request_add(e, w, manager);
	m = dsm_msg_new(e, manager, DSM_CLASS_REQ, DSM_MSG_SYNC_PUSH, s->id, w->xid);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_letter_prefer(e, m);
	dsm_know_put(e, m, manager);
	dsm_letter_send(e, m, acts);
	return -EINPROGRESS;
}

/**
 * dsm_sync_pull() - get what the region's sync manager knows
 * @e:    engine
 * @s:    region, its members fixed
 * @w:    waiter
 * @acts: actions
 *
 * Context: engine lock held; an acquire follows.
 * Return: 0 we are it, -EINPROGRESS queued, -EHOSTDOWN.
 */
int dsm_sync_pull(struct dsm_engine *e, struct dsm_space *s, struct dsm_waiter *w,
		  struct dsm_actions *acts)
{
	u16 manager = sync_manager(s);

	if (manager == e->self)
		return 0;
	if (!dsm_engine_alive(e, manager))
		return -EHOSTDOWN;
	w->peer = manager;
	w->status = 0;
	dsm_pull(e, manager, &w->cont, DSM_CONT_WAITER, acts);
	return -EINPROGRESS;
}

static int on_reply(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		    struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_flag body;
	struct dsm_waiter *w;
	int complete;

	dsm_reader_take(r, &body, sizeof(body));
	complete = dsm_know_take(e, from, from, hdr->flags, r);
	if (complete < 0)
		return -EPROTO;
	w = dsm_request_find(e, le32_to_cpu(hdr->xid));
	if (!w || w->peer != from || !list_empty(&w->cont.link))
		return 0;	/* given up meanwhile */
	switch (le32_to_cpu(body.status)) {
	case 0:
		w->status = 0;
		break;
	case EALREADY:
		w->status = -EALREADY;
		break;
	case EAGAIN:
		w->status = -EAGAIN;
		break;
	case EDQUOT:
		w->status = -EDQUOT;
		break;
	default:
		w->status = -EHOSTDOWN;
	}
	if (complete)
		dsm_act_wake(e, acts, w, w->status);
	else
		dsm_pull(e, from, &w->cont, DSM_CONT_WAITER, acts);
	return 0;
}

/**
 * dsm_flag_on_message() - FLAG_OP, FLAG_REPLY, SYNC_PUSH, SYNC_REPLY
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the peer broke a rule.
 */
int dsm_flag_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));
	u32 xid = le32_to_cpu(hdr->xid);
	struct dsm_wire_flag body;
	int complete;

	if (hdr->type == DSM_MSG_FLAG_REPLY || hdr->type == DSM_MSG_SYNC_REPLY)
		return on_reply(e, from, hdr, r, acts);
	dsm_reader_take(r, &body, sizeof(body));
	if (!s || !s->n_members ||
	    (hdr->type == DSM_MSG_FLAG_OP &&
	     dsm_manager(s, DSM_MSG_FLAG_OP, le64_to_cpu(body.key)) != e->self))
		return -EPROTO;
	complete = dsm_know_take(e, from, from, hdr->flags, r);
	if (complete < 0)
		return -EPROTO;
	if (hdr->type == DSM_MSG_FLAG_OP && body.op == DSM_FLAG_CANCEL) {
		cancel(e, s->id, le64_to_cpu(body.key), from, xid);
		return 0;
	}
	if (hdr->type == DSM_MSG_FLAG_OP && body.op == DSM_FLAG_WAIT &&
	    is_given_up(&e->early[from], le64_to_cpu(body.key), xid))
		return 0;
	accept(e, &body, hdr->type, s->id, from, xid, complete, acts);
	return 0;
}

/**
 * dsm_flag_peer_lost() - forget the waits of a lost node; fail those that may have waited for it
 * @e:    engine
 * @f:    flag
 * @node: lost node
 * @acts: actions
 *
 * Context: engine lock held; @f may be gone afterwards.
 */
void dsm_flag_peer_lost(struct dsm_engine *e, struct dsm_flag *f, u16 node,
			struct dsm_actions *acts)
{
	u64 lost = dsm_space_lost(e, f->region) & 1ull << node;
	struct dsm_request *q, *tmp;

	list_for_each_entry_safe(q, tmp, &f->waiters, cont.link) {
		if (q->node == node) {
			list_del(&q->cont.link);
			dsm_served_free(e, q);
		} else if (lost & ~q->told) {
			list_del(&q->cont.link);
			q->op = DSM_FLAG_CANCEL;
			q->value = EHOSTDOWN;
			dsm_ready(e, acts, &q->cont, DSM_CONT_REQUEST);
		}
	}
	put(e, f);
}
