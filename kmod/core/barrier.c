// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers, central form.
 *
 * The manager collects arrivals (node, ticket) until as many have come as the callers say, then
 * sends each node one departure with its tickets and the knowledge it lacks. A party that ends
 * inside makes the episode fail for all others, those who come later included. Never counts
 * threads per node: nobody knows how many will come, nor, the first time, from where.
 */
#include "barrier.h"
#include "interval.h"

static struct dsm_barrier *find(struct dsm_engine *e, u32 region, u64 key)
{
	struct dsm_barrier *b;

	hlist_for_each_entry(b, dsm_key_bucket(e->barriers, region, key), by_key)
		if (b->key == key && b->region == region)
			return b;
	return NULL;
}

static void drop(struct dsm_engine *e, struct dsm_barrier *b)
{
	hlist_del(&b->by_key);
	list_del(&b->idle);
	e->n_idle_barriers--;
	dsm_pool_give(e, DSM_POOL_BARRIER, b);
}

static void become_idle(struct dsm_engine *e, struct dsm_barrier *b)
{
	b->seen = 0;
	list_add_tail(&b->idle, &e->idle_barriers);
	if (++e->n_idle_barriers > DSM_BARRIER_IDLE_MAX)
		drop(e, list_first_entry(&e->idle_barriers, struct dsm_barrier, idle));
}

static struct dsm_barrier *get(struct dsm_engine *e, u32 region, u64 key)
{
	struct dsm_barrier *b = find(e, region, key);

	if (b)
		return b;
	b = dsm_pool_take(e, DSM_POOL_BARRIER);
	memset(b, 0, sizeof(*b));
	b->key = key;
	b->region = region;
	INIT_LIST_HEAD(&b->arrivals);
	hlist_add_head(&b->by_key, dsm_key_bucket(e->barriers, region, key));
	list_add_tail(&b->idle, &e->idle_barriers);
	e->n_idle_barriers++;
	return b;
}

static void wake_local(struct dsm_engine *e, u32 xid, int status, struct dsm_actions *acts)
{
	struct dsm_waiter *w = dsm_request_find(e, xid);

	if (!w)
		return;
	if (!status)
		e->stats.barriers++;
	dsm_act_wake(e, acts, w, status);
}

/* One departure for all arrivals of @node in @list, as many as fit. */
static void depart_node(struct dsm_engine *e, struct list_head *list, u16 node, u32 region, u64 key,
			int status, struct dsm_actions *acts)
{
	struct dsm_wire_depart body = { .key = cpu_to_le64(key), .status = cpu_to_le32(-status) };
	struct dsm_request *q, *tmp;
	struct dsm_msgbuf *m;
	u32 head_at, count = 0;
	__le32 pad = 0;

	m = dsm_msg_new(e, node, DSM_CLASS_RSP, DSM_MSG_BAR_DEPART, region, 0);
	head_at = m->len;
	dsm_wire_put(m, &body, sizeof(body));
	list_for_each_entry_safe(q, tmp, list, cont.link) {
		__le32 ticket = cpu_to_le32(q->xid);

		/* The vector time must fit behind the tickets. */
		if (q->node != node || dsm_wire_room(m) < DSM_MAX_NODES * 8 + 64)
			continue;
		dsm_wire_put(m, &ticket, sizeof(ticket));
		count++;
		list_del(&q->cont.link);
		dsm_served_free(e, q);
	}
	if (count & 1)
		dsm_wire_put(m, &pad, sizeof(pad));
	((struct dsm_wire_depart *)(m->data + head_at))->count = cpu_to_le32(count);
	dsm_know_put(e, m, node);
	dsm_act_send(acts, m);
}

/* Local ones are woken; of each other node one message's worth goes now, a rest in later steps. */
static void depart_list(struct dsm_engine *e, struct list_head *list, u32 region, u64 key,
			int status, struct dsm_actions *acts)
{
	struct dsm_request *q, *tmp;
	u64 told = 0;

	list_for_each_entry_safe(q, tmp, list, cont.link) {
		if (q->node != e->self)
			continue;
		list_del(&q->cont.link);
		wake_local(e, q->xid, status, acts);
		dsm_served_free(e, q);
	}
	while (!list_empty(list)) {
		q = list_first_entry(list, struct dsm_request, cont.link);
		if (told & 1ull << q->node || !dsm_engine_alive(e, q->node)) {
			list_del(&q->cont.link);
			q->type = DSM_MSG_BAR_DEPART;
			q->value = -status;
			dsm_ready(e, acts, &q->cont, DSM_CONT_REQUEST);
			continue;
		}
		told |= 1ull << q->node;
		depart_node(e, list, q->node, region, key, status, acts);
	}
}

static void end_episode(struct dsm_engine *e, struct dsm_barrier *b, struct dsm_actions *acts)
{
	int status = b->status;
	struct list_head list;

	INIT_LIST_HEAD(&list);
	list_splice_tail_init(&b->arrivals, &list);
	if (b->seen == b->parties) {
		b->last_members = b->members;
		b->last_parties = b->parties;
		b->status = 0;
		b->members = 0;
		depart_list(e, &list, b->region, b->key, status, acts);
		become_idle(e, b);
		return;
	}
	depart_list(e, &list, b->region, b->key, status, acts);
}

static void refuse(struct dsm_engine *e, struct dsm_request *q, int status,
		   struct dsm_actions *acts)
{
	struct list_head one;

	INIT_LIST_HEAD(&one);
	list_add_tail(&q->cont.link, &one);
	depart_list(e, &one, q->region, q->key, status, acts);
}

/**
 * dsm_barrier_serve() - an arrival whose knowledge is in our log, or a departure left over
 * @e:    engine
 * @q:    request, consumed
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_serve(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts)
{
	struct dsm_barrier *b;

	if (q->type == DSM_MSG_BAR_DEPART) {
		if (dsm_engine_alive(e, q->node))
			refuse(e, q, -(int)q->value, acts);
		else
			dsm_served_free(e, q);
		return;
	}
	b = get(e, q->region, q->key);
	if (!b->seen && b->last_parties == q->value && b->last_members & ~e->alive) {
		refuse(e, q, -EHOSTDOWN, acts);	/* a party of last time will never come */
		return;
	}
	if (b->seen && b->parties != q->value) {
		refuse(e, q, -EINVAL, acts);
		return;
	}
	if (!b->status && b->last_parties != q->value && dsm_space_lost(e, q->region) & ~q->told &&
	    !q->op && dsm_engine_alive(e, q->node)) {
		refuse(e, q, -EHOSTDOWN, acts);	/* a lost user may be a party: nobody can say */
		return;
	}
	if (!b->seen) {
		list_del_init(&b->idle);
		e->n_idle_barriers--;
		b->parties = q->value;
	}
	b->seen++;
	b->members |= 1ull << q->node;
	if (q->op || !dsm_engine_alive(e, q->node)) {	/* gone before its arrival was counted */
		b->status = q->op ? -EOWNERDEAD : -EHOSTDOWN;
		dsm_served_free(e, q);
	} else {
		list_add_tail(&q->cont.link, &b->arrivals);
	}
	if (b->status || b->seen == b->parties)
		end_episode(e, b, acts);
}

/* Count an arrival, now or when all that its node knew is known here. */
static void accept(struct dsm_engine *e, const struct dsm_wire_arrive *body, u32 region, u16 node,
		   u32 xid, bool complete, struct dsm_actions *acts)
{
	struct dsm_request *q = dsm_served_new(e, &(struct dsm_request){
		.type = DSM_MSG_BAR_ARRIVE,
		.node = node,
		.region = region,
		.xid = xid,
		.value = le32_to_cpu(body->parties),
		.key = le64_to_cpu(body->key),
		.told = le64_to_cpu(body->told),
	});

	if (dsm_served_too_many(e, q))
		refuse(e, q, -EDQUOT, acts);
	else if (complete)
		dsm_barrier_serve(e, q, acts);
	else
		dsm_pull(e, node, &q->cont, DSM_CONT_REQUEST, acts);
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
		.told = cpu_to_le64(w->told),
	};
	u16 root = dsm_manager(s, DSM_MSG_BAR_ARRIVE, key);
	struct dsm_msgbuf *m;

	if (!dsm_engine_alive(e, root))
		return -EHOSTDOWN;
	dsm_request_add(e, w, root);
	if (root == e->self) {
		accept(e, &body, s->id, root, w->xid, true, acts);
		return 0;
	}
	m = dsm_msg_new(e, root, DSM_CLASS_REQ, DSM_MSG_BAR_ARRIVE, s->id, w->xid);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_know_put(e, m, root);
	dsm_act_send(acts, m);
	return 0;
}

static void mark_gone(struct list_head *conts, u16 node, u32 xid)
{
	struct dsm_request *q;
	struct dsm_cont *c;

	list_for_each_entry(c, conts, link) {
		if (c->kind != DSM_CONT_REQUEST)
			continue;
		q = container_of(c, struct dsm_request, cont);
		if (q->type == DSM_MSG_BAR_ARRIVE && q->node == node && q->xid == xid)
			q->op = 1;
	}
}

static void abort_at_manager(struct dsm_engine *e, u32 region, u64 key, u16 node, u32 xid,
			     struct dsm_actions *acts)
{
	struct dsm_barrier *b = find(e, region, key);
	struct dsm_request *q, *tmp;

	if (b) {
		list_for_each_entry_safe(q, tmp, &b->arrivals, cont.link) {
			if (q->node != node || q->xid != xid)
				continue;
			list_del(&q->cont.link);
			dsm_served_free(e, q);
			b->status = -EOWNERDEAD;
			end_episode(e, b, acts);
			return;
		}
	}
	/* Its knowledge is still being pulled, or has just come: it will be counted as gone. */
	mark_gone(&e->pull[node].now, node, xid);
	mark_gone(&e->pull[node].then, node, xid);
	mark_gone(&e->ready, node, xid);
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
	struct dsm_msgbuf *m;

	if (!dsm_waiter_cancel(e, w))
		return false;
	if (root == e->self) {
		abort_at_manager(e, s->id, key, root, xid, acts);
	} else if (dsm_engine_alive(e, root)) {
		m = dsm_msg_new(e, root, DSM_CLASS_REQ, DSM_MSG_BAR_ABORT, s->id, xid);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_act_send(acts, m);
	}
	return true;
}

static int on_depart(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_depart body;
	struct dsm_reader tickets;
	u32 count, i;
	int complete, status;

	dsm_reader_take(r, &body, sizeof(body));
	count = le32_to_cpu(body.count);
	tickets = dsm_reader_init(r->pos, count * 4);
	dsm_reader_skip(r, (count + (count & 1)) * 4);
	complete = dsm_know_take(e, from, from, hdr->flags, r);
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
		struct dsm_waiter *w;
		__le32 ticket;

		dsm_reader_take(&tickets, &ticket, sizeof(ticket));
		w = dsm_request_find(e, le32_to_cpu(ticket));
		if (!w || w->peer != from || !list_empty(&w->cont.link))
			continue;	/* given up meanwhile */
		w->status = status;
		if (!status)
			e->stats.barriers++;
		if (complete || status)
			dsm_act_wake(e, acts, w, status);
		else
			dsm_pull(e, from, &w->cont, DSM_CONT_WAITER, acts);
	}
	return 0;
}

/**
 * dsm_barrier_on_message() - BAR_ARRIVE, BAR_ABORT, BAR_DEPART
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the peer broke a rule.
 */
int dsm_barrier_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			   struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));
	u32 xid = le32_to_cpu(hdr->xid);
	struct dsm_wire_arrive body;
	int complete;

	if (hdr->type == DSM_MSG_BAR_DEPART)
		return on_depart(e, from, hdr, r, acts);
	dsm_reader_take(r, &body, sizeof(body));
	if (!s || !s->n_members ||
	    dsm_manager(s, DSM_MSG_BAR_ARRIVE, le64_to_cpu(body.key)) != e->self)
		return -EPROTO;
	if (hdr->type == DSM_MSG_BAR_ABORT) {
		abort_at_manager(e, s->id, le64_to_cpu(body.key), from, xid, acts);
		return 0;
	}
	complete = dsm_know_take(e, from, from, hdr->flags, r);
	if (complete < 0 || !body.parties)
		return -EPROTO;
	accept(e, &body, s->id, from, xid, complete, acts);
	return 0;
}

/**
 * dsm_barrier_peer_lost() - a node is lost: does the episode under way need it?
 * @e:    engine
 * @b:    barrier
 * @node: lost node
 * @acts: actions
 *
 * It does if it arrived, or if it took part the last time. If there was no last time to compare
 * with it may, provided that it used the region; those who were told of its loss before they came
 * do not count on it.
 *
 * Context: engine lock held.
 */
void dsm_barrier_peer_lost(struct dsm_engine *e, struct dsm_barrier *b, u16 node,
			   struct dsm_actions *acts)
{
	u64 bit = 1ull << node;
	struct dsm_request *q, *tmp;
	bool untold = b->status, guess;

	if (!b->seen)
		return;
	list_for_each_entry_safe(q, tmp, &b->arrivals, cont.link) {
		if (q->node == node) {
			list_del(&q->cont.link);
			dsm_served_free(e, q);
		} else if (!(q->told & bit)) {
			untold = true;
		}
	}
	guess = !(b->members & bit) && b->last_parties != b->parties;
	if (guess && !(untold && dsm_space_lost(e, b->region) & bit))
		return;
	if (!guess && !((b->members | b->last_members) & bit))
		return;
	b->status = -EHOSTDOWN;
	b->seen = b->parties;	/* the rest of it is refused at the door, see dsm_barrier_serve() */
	b->members |= bit;
	end_episode(e, b, acts);
	/* Perhaps it was no party: who has heard of the loss may try again with as many. */
	if (guess)
		b->last_parties = 0;
}
