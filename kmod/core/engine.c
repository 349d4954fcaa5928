// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The engine's frame: set-up, the request table, dispatching of messages, the
 * ready queue, loss of a peer. Holds no protocol rule of its own.
 */
#include "engine.h"
#include "barrier.h"
#include "csm.h"
#include "dir.h"
#include "direct.h"
#include "fetch.h"
#include "flag.h"
#include "interval.h"
#include "lock.h"
#include "move.h"
#include "page.h"
#include "release.h"
#include "rlock.h"
#include "sc.h"

#define LOG_CAP 65536u		/* records of 128 bytes: 8 MiB */
#define LOCK_CAP 65536u		/* cached tokens: about 16 MiB */
/* What peers can make this node remember of keys: programs of 70,000 locks are known, of flags none with so many. */
#define LOCK_MAX (1u << 22)
#define FLAG_CAP (1u << 20)

/**
 * dsm_actions_init() - empty actions for the next step
 * @acts: actions
 *
 * Context: any.
 */
void dsm_actions_init(struct dsm_actions *acts)
{
	*acts = (struct dsm_actions){ .send_last = &acts->send, .xfer_last = &acts->xfer };
}

/**
 * dsm_engine_init() - an engine without peers and regions
 * @e:      memory of the engine
 * @tables: DSM_KEY_TABLES * DSM_KEY_BUCKETS zeroed list heads
 *
 * Context: any; nobody else uses @e yet.
 */
void dsm_engine_init(struct dsm_engine *e, struct hlist_head *tables)
{
	u32 i;

	memset(e, 0, sizeof(*e));
	e->self = DSM_NO_NODE;
	e->log_cap = LOG_CAP;
	e->lock_cap = LOCK_CAP;
	e->lock_max = LOCK_MAX;
	e->flag_cap = FLAG_CAP;
	e->request_cap = DSM_REQUESTS_PER_NODE;
	e->barrier_fanout = DSM_MAX_NODES;
	e->locks = tables;
	e->barriers = tables + DSM_KEY_BUCKETS;
	e->flags = tables + 2 * DSM_KEY_BUCKETS;
	e->rlocks = tables + 3 * DSM_KEY_BUCKETS;
	INIT_LIST_HEAD(&e->rel_waiters);
	INIT_LIST_HEAD(&e->rel_conts);
	INIT_LIST_HEAD(&e->acq_waiters);
	INIT_LIST_HEAD(&e->ready);
	INIT_LIST_HEAD(&e->deferred);
	INIT_LIST_HEAD(&e->held);
	INIT_LIST_HEAD(&e->cached);
	INIT_LIST_HEAD(&e->rlocks_held);
	INIT_LIST_HEAD(&e->arrays_pausing);
	INIT_LIST_HEAD(&e->idle_barriers[0]);
	INIT_LIST_HEAD(&e->idle_barriers[1]);
	INIT_LIST_HEAD(&e->sc_recalls);
	dsm_csm_init(e);
	for (i = 0; i < DSM_REL_SLOTS; i++)
		INIT_LIST_HEAD(&e->rel[i].notes);
	for (i = 0; i < DSM_MAX_NODES; i++) {
		INIT_LIST_HEAD(&e->log[i]);
		INIT_LIST_HEAD(&e->pull[i].now);
		INIT_LIST_HEAD(&e->pull[i].then);
	}
}

/**
 * dsm_xid_next() - an id for a request or a transfer
 * @e: engine
 *
 * Context: engine lock held.
 * Return: never 0, which says that nothing is under way.
 */
u32 dsm_xid_next(struct dsm_engine *e)
{
	if (!++e->next_xid)
		++e->next_xid;
	return e->next_xid;
}

/**
 * dsm_engine_set_self() - the node id is known
 * @e:    engine
 * @self: id below DSM_MAX_NODES; each peer tells it again
 *
 * Context: engine lock held, the first time before the first region.
 */
void dsm_engine_set_self(struct dsm_engine *e, u16 self)
{
	/* As a peer that comes up it would be forgotten as a user of its regions. */
	if (e->self == self)
		return;
	e->self = self;
	dsm_engine_peer_up(e, self);
}

static void forget_user(struct dsm_engine *e, u16 node)
{
	struct dsm_space *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(e->spaces); i++)
		hlist_for_each_entry(s, &e->spaces[i], link)
			s->users &= ~(1ull << node);
}

/**
 * dsm_engine_peer_up() - a node can be reached from now on
 * @e:    engine
 * @node: id below DSM_MAX_NODES
 *
 * Context: engine lock held.
 */
void dsm_engine_peer_up(struct dsm_engine *e, u16 node)
{
	u16 i;

	e->alive |= 1ull << node;
	e->left &= ~(1ull << node);
	e->n_nodes = max_t(u16, e->n_nodes, node + 1);
	memset(e->peer_known[node], 0, sizeof(e->peer_known[node]));
	e->mail_key[node] = (struct dsm_key){};
	e->letters[node] = (struct dsm_letters){};
	e->early[node] = (struct dsm_early_cancels){};
	/* Who had this id before is another. */
	e->apart[node] = 0;
	for (i = 0; i < DSM_MAX_NODES; i++)
		e->apart[i] &= ~(1ull << node);
	forget_user(e, node);
}

/**
 * dsm_engine_peer_left() - a node says goodbye; its loss follows
 * @e:    engine
 * @node: its id
 *
 * It had no region open, so nobody there can set a flag or come to a barrier.
 *
 * Context: engine lock held.
 */
void dsm_engine_peer_left(struct dsm_engine *e, u16 node)
{
	e->left |= 1ull << node;
	forget_user(e, node);
}

/**
 * dsm_engine_alive() - can @node be reached?
 * @e:    engine
 * @node: any number
 *
 * Context: engine lock held.
 * Return: true if it can, this node included.
 */
bool dsm_engine_alive(const struct dsm_engine *e, u16 node)
{
	return node < DSM_MAX_NODES && e->alive & 1ull << node;
}

/**
 * dsm_space_add() - a region appears
 * @e: engine
 * @s: region, filled; stays until dsm_space_del()
 *
 * Context: engine lock held.
 */
void dsm_space_add(struct dsm_engine *e, struct dsm_space *s)
{
	hlist_add_head(&s->link, &e->spaces[s->id % ARRAY_SIZE(e->spaces)]);
	e->csm.dirs |= s->policy.metadata == DSM_METADATA_RDMA;
}

/**
 * dsm_space_del() - a region goes
 * @e: engine
 * @s: region; none of its pages is in a release any more
 *
 * Context: engine lock held.
 */
void dsm_space_del(struct dsm_engine *e, struct dsm_space *s)
{
	hlist_del(&s->link);
}

/**
 * dsm_space_find() - region by id
 * @e:      engine
 * @region: id, any number
 *
 * Context: engine lock held.
 * Return: region or NULL.
 */
struct dsm_space *dsm_space_find(struct dsm_engine *e, u32 region)
{
	struct dsm_space *s;

	hlist_for_each_entry(s, &e->spaces[region % ARRAY_SIZE(e->spaces)], link)
		if (s->id == region)
			return s;
	return NULL;
}

/**
 * dsm_space_lost() - users of a region that are lost
 * @e:      engine
 * @region: id, any number
 *
 * Context: engine lock held.
 * Return: bitmap of nodes; 0 for an unknown region.
 */
u64 dsm_space_lost(struct dsm_engine *e, u32 region)
{
	struct dsm_space *s = dsm_space_find(e, region);

	return s ? s->users & ~e->alive : 0;
}

/* ---- helpers of the units ---- */

/**
 * dsm_msg_new() - start a message
 * @e:      engine
 * @dst:    receiver, alive
 * @class:  enum dsm_class
 * @type:   enum dsm_msg_type
 * @region: region id or 0
 * @xid:    request id
 *
 * Context: engine lock held.
 * Return: the message, not sent yet; never NULL, the pool is full at the start of a step.
 */
struct dsm_msgbuf *dsm_msg_new(struct dsm_engine *e, u16 dst, u8 class, u8 type, u32 region,
			       u32 xid)
{
	struct dsm_msgbuf *m = dsm_pool_take(e, DSM_POOL_MSG);

	m->next = NULL;
	m->dst = dst;
	m->class = class;
	dsm_wire_begin(m, type, region, xid);
	return m;
}

/**
 * dsm_act_send() - leave a message for the shell
 * @acts: actions
 * @m:    message
 *
 * Context: engine lock held.
 */
void dsm_act_send(struct dsm_actions *acts, struct dsm_msgbuf *m)
{
	*acts->send_last = m;
	acts->send_last = &m->next;
}

/**
 * dsm_act_xfer() - leave a one-sided transfer for the shell
 * @acts: actions
 * @x:    transfer
 *
 * Context: engine lock held.
 */
void dsm_act_xfer(struct dsm_actions *acts, struct dsm_xfer *x)
{
	x->next = NULL;
	*acts->xfer_last = x;
	acts->xfer_last = &x->next;
}

/**
 * dsm_act_wake() - leave a wake for the shell
 * @e:      engine
 * @acts:   actions
 * @w:      waiter, taken out of every list
 * @status: its result
 *
 * Context: engine lock held. Once per wait.
 */
void dsm_act_wake(struct dsm_engine *e, struct dsm_actions *acts, struct dsm_waiter *w, int status)
{
	(void)e;
	dsm_assert(!w->done);
	if (w->xid)
		hlist_del_init(&w->by_xid);
	list_del_init(&w->link);
	list_del_init(&w->cont.link);
	w->xid = 0;
	w->status = status;
	w->done = true;
	w->wake = acts->wake;
	acts->wake = w;
}

/**
 * dsm_ready() - put something on the ready queue
 * @e:    engine
 * @acts: actions
 * @c:    what
 * @kind: how to go on
 *
 * Context: engine lock held.
 */
void dsm_ready(struct dsm_engine *e, struct dsm_actions *acts, struct dsm_cont *c, u8 kind)
{
	c->kind = kind;
	list_add_tail(&c->link, &e->ready);
	acts->run = true;
}

/**
 * dsm_manager() - node that manages a key
 * @s:    region, its members fixed
 * @kind: a message type of the kind of object: locks, barriers and flags are separate spaces
 * @key:  key
 *
 * Context: any.
 * Return: node id, one of the region's members; it may be lost by now.
 */
u16 dsm_manager(const struct dsm_space *s, u8 kind, u64 key)
{
	return s->members[hash_64(key * 0x9e3779b97f4a7c15ull + s->id + kind, 32) % s->n_members];
}

/**
 * dsm_key_bucket() - hash chain of a key
 * @e:      engine
 * @table:  DSM_KEY_BUCKETS heads
 * @region: region id
 * @key:    key
 *
 * Context: engine lock held.
 * Return: head of the chain; keys of other regions may be in it.
 */
struct hlist_head *dsm_key_bucket(const struct dsm_engine *e, struct hlist_head *table, u32 region, u64 key)
{
	return &table[dsm_env_keyed_hash(e->hash_secret, region, key) % DSM_KEY_BUCKETS];
}

/* ---- messages ---- */

/**
 * dsm_engine_recv() - the step of a message
 * @e:    engine
 * @from: sender
 * @msg:  message that passed dsm_engine_check()
 * @len:  its length in bytes
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0; -EPROTO if the sender broke a rule of the protocol: it must be dropped; -ENOENT there is no such region:
 * it may have gone since the message was checked.
 */
int dsm_engine_recv(struct dsm_engine *e, u16 from, const u8 *msg, u32 len,
		    struct dsm_actions *acts)
{
	struct dsm_reader r = dsm_reader_init(msg, len);
	struct dsm_wire_hdr hdr;

	dsm_reader_take(&r, &hdr, sizeof(hdr));
	/* A message that was under way when its sender was declared lost. */
	if (!dsm_engine_alive(e, from) || from == e->self)
		return 0;
	if (hdr.region && !dsm_space_find(e, le32_to_cpu(hdr.region)))
		return -ENOENT;
	switch (hdr.type) {
	case DSM_MSG_FETCH:
		return dsm_page_on_fetch(e, from, &hdr, &r, acts);
	case DSM_MSG_PAGE:
		return dsm_fetch_on_reply(e, from, &hdr, &r, acts);
	case DSM_MSG_DIFF:
		return dsm_page_on_diff(e, from, &hdr, &r, acts);
	case DSM_MSG_DIFF_DIRECT:
		return dsm_direct_on_message(e, from, &hdr, &r, acts);
	case DSM_MSG_DIFF_ACK:
		return dsm_page_on_diff_ack(e, from, &hdr, &r, acts);
	case DSM_MSG_DIFF_BACK:
		return dsm_move_on_back(e, from, &hdr, &r, acts);
	case DSM_MSG_INTERVAL_PULL:
		return dsm_know_on_pull(e, from, &hdr, &r, acts);
	case DSM_MSG_INTERVALS:
		return dsm_know_on_intervals(e, from, &hdr, &r, acts);
	case DSM_MSG_BAR_ARRIVE:
	case DSM_MSG_BAR_ABORT:
		return dsm_barrier_on_message(e, from, &hdr, &r, acts);
	case DSM_MSG_BAR_DEPART:
	case DSM_MSG_BAR_ASK:
		return dsm_barrier_on_node_message(e, from, &hdr, &r, acts);
	case DSM_MSG_FLAG_OP:
	case DSM_MSG_FLAG_REPLY:
	case DSM_MSG_SYNC_PUSH:
	case DSM_MSG_SYNC_REPLY:
		return dsm_flag_on_message(e, from, &hdr, &r, acts);
	case DSM_MSG_RLOCK:
		return dsm_rlock_on_request(e, from, &hdr, &r, acts);
	case DSM_MSG_RLOCK_REPLY:
		return dsm_rlock_on_reply(e, from, &hdr, &r, acts);
	case DSM_MSG_RSYNC_KEY:
		return dsm_rsync_on_key(e, from, &r);
	case DSM_MSG_CSM_NOTICE:
		return dsm_csm_on_notice(e, from, &hdr, &r, acts);
	case DSM_MSG_CSM_NOTICE_ACK:
		return dsm_csm_on_notice_ack(e, from, &hdr, &r, acts);
	case DSM_MSG_CSM_UPGRADE:
	case DSM_MSG_CSM_BACK:
	case DSM_MSG_CSM_DROP:
		return dsm_csm_on_home_message(e, from, &hdr, &r, acts);
	case DSM_MSG_CSM_GRANT:
	case DSM_MSG_CSM_BREAK:
	case DSM_MSG_CSM_BACK_ACK:
	case DSM_MSG_CSM_DROP_ACK:
		return dsm_csm_on_copy_message(e, from, &hdr, &r, acts);
	case DSM_MSG_CSM_WHERE:
		return dsm_dir_on_where(e, from, &hdr, &r, acts);
	case DSM_MSG_CSM_HERE:
		return dsm_dir_on_here(e, from, &hdr, &r, acts);
	case DSM_MSG_SC_GET:
	case DSM_MSG_SC_BACK:
	case DSM_MSG_SC_DONE:
		return dsm_sc_home_on_message(e, from, &hdr, &r, acts);
	case DSM_MSG_SC_RECALL:
	case DSM_MSG_SC_GRANT:
		return dsm_sc_on_message(e, from, &hdr, &r, acts);
	default:
		return dsm_lock_on_message(e, from, &hdr, &r, acts);
	}
}

static void run_cont(struct dsm_engine *e, struct dsm_cont *c, struct dsm_actions *acts)
{
	struct dsm_waiter *w;
	struct dsm_request *q;

	switch (c->kind) {
	case DSM_CONT_WAITER:
		w = container_of(c, struct dsm_waiter, cont);
		dsm_act_wake(e, acts, w, w->status);
		break;
	case DSM_CONT_GRANTED:
		dsm_lock_granted(e, container_of(c, struct dsm_lock, cont), acts);
		break;
	case DSM_CONT_RELEASED:
		dsm_lock_released(e, container_of(c, struct dsm_lock, cont), acts);
		break;
	case DSM_CONT_RETURNED:
		dsm_lock_return_ready(e, container_of(c, struct dsm_lock, cont), acts);
		break;
	case DSM_CONT_RLOCK_LEARNED:
		dsm_rlock_learned(e, container_of(c, struct dsm_rlock, cont), acts);
		break;
	case DSM_CONT_RLOCK_RELEASED:
		dsm_rlock_released(e, container_of(c, struct dsm_rlock, cont), acts);
		break;
	case DSM_CONT_RLOCK_SURE:
		dsm_rlock_sure(e, container_of(c, struct dsm_rlock, sure), acts);
		break;
	default:
		q = container_of(c, struct dsm_request, cont);
		if (q->type == DSM_MSG_FETCH)
			dsm_page_serve_deferred(e, q, acts);
		else if (q->type == DSM_MSG_BAR_ARRIVE || q->type == DSM_MSG_BAR_DEPART)
			dsm_barrier_serve(e, q, acts);
		else
			dsm_flag_serve(e, q, acts);
	}
}

static u64 target_of(struct dsm_cont *c)
{
	return c->kind == DSM_CONT_RLOCK_RELEASED ? container_of(c, struct dsm_rlock, cont)->target :
						    container_of(c, struct dsm_lock, cont)->target;
}

static struct dsm_cont *next_ready(struct dsm_engine *e)
{
	struct dsm_cont *c;

	if (!list_empty(&e->ready))
		return list_first_entry(&e->ready, struct dsm_cont, link);
	list_for_each_entry(c, &e->rel_conts, link)
		if (target_of(c) <= e->rel_done)
			return c;
	return NULL;
}

/**
 * dsm_engine_run() - carry on with one thing that became possible
 * @e:    engine
 * @acts: actions; @acts->run says whether to call again
 *
 * One at a time, so that the pools of one step suffice.
 *
 * Context: engine lock held.
 */
void dsm_engine_run(struct dsm_engine *e, struct dsm_actions *acts)
{
	struct dsm_cont *c = next_ready(e);

	if (!c)
		return;
	list_del_init(&c->link);
	run_cont(e, c, acts);
	acts->run = next_ready(e);
}

/**
 * dsm_engine_told() - losses that who waits has heard of, as far as they count here
 * @e:      engine
 * @region: region
 * @told:   bitmap of lost nodes, from another node
 *
 * A number that is another node's here already may not be so there yet.
 *
 * Context: engine lock held.
 * Return: bitmap.
 */
u64 dsm_engine_told(struct dsm_engine *e, u32 region, u64 told)
{
	const struct dsm_space *s = dsm_space_find(e, region);

	return s ? told & ~(e->alive & s->gone) : told;
}

/* Who has its number later is another. */
static void note_gone(struct dsm_engine *e, u16 node)
{
	struct dsm_space *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(e->spaces); i++)
		hlist_for_each_entry(s, &e->spaces[i], link)
			s->gone |= 1ull << node;
}

/**
 * dsm_engine_peer_lost() - a peer is gone
 * @e:    engine
 * @node: peer
 * @acts: actions
 *
 * What needs it fails with -EHOSTDOWN, the rest goes on (decisions.md, extent of a peer loss).
 *
 * Context: engine lock held. Pages and key objects follow in steps of their own.
 */
void dsm_engine_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts)
{
	e->alive &= ~(1ull << node);
	note_gone(e, node);
	e->mail_key[node] = (struct dsm_key){};
	e->letters[node] = (struct dsm_letters){};
	e->early[node] = (struct dsm_early_cancels){};
	dsm_page_deferred_peer_lost(e, node);
	dsm_dir_peer_lost(e, node);
	dsm_know_peer_lost(e, node, acts);
	dsm_pipe_peer_lost(e, node, acts);
	dsm_csm_peer_lost(e, node, acts);
	dsm_request_peer_lost(e, node, acts);
}

/* Told of this loss from now on, and for the first time. */
static bool hears(u32 *heard, u32 loss)
{
	bool first = *heard != loss;

	*heard = loss;
	return first;
}

/**
 * dsm_engine_lose_key() - a peer is gone: one object of a hash chain
 * @e:      engine
 * @node:   peer
 * @loss:   &struct dsm_engine.losses, counted up by the caller for this loss
 * @bucket: 0 to DSM_KEY_BUCKETS - 1, in this order
 * @acts:   actions
 *
 * Objects come and go between two calls, so none has a place in the chain: each remembers what it was told of last. So losses
 * are told of one after the other.
 *
 * Context: engine lock held, after dsm_engine_peer_lost().
 * Return: false if all objects of the chain had been told before.
 */
bool dsm_engine_lose_key(struct dsm_engine *e, u16 node, u32 loss, u32 bucket, struct dsm_actions *acts)
{
	struct dsm_barrier *b;
	struct dsm_rlock *rl;
	struct dsm_lock *l;
	struct dsm_flag *f;

	hlist_for_each_entry(l, &e->locks[bucket], by_key)
		if (hears(&l->heard, loss)) {
			dsm_lock_peer_lost(e, l, node, acts);
			return true;
		}
	hlist_for_each_entry(b, &e->barriers[bucket], by_key)
		if (hears(&b->heard, loss)) {
			dsm_barrier_peer_lost(e, b, node, acts);
			return true;
		}
	hlist_for_each_entry(f, &e->flags[bucket], by_key)
		if (hears(&f->heard, loss)) {
			dsm_flag_peer_lost(e, f, node, acts);
			return true;
		}
	hlist_for_each_entry(rl, &e->rlocks[bucket], by_key)
		if (hears(&rl->heard, loss)) {
			dsm_rlock_peer_lost(e, rl, node, acts);
			return true;
		}
	return false;
}
