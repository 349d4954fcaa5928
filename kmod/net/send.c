// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Sending: message buffers, and the queues of messages that wait for credit or for room. Never
 * sleeps for the network and never looks into a body.
 *
 * A message waits in its peer's backlog of its class until dsm_send_push() finds a credit and a
 * free entry in the send queue; arriving credits and completions push. What may go at one time is
 * posted as one chain. Replies go first, on a connection of their own, so no request delays them, and
 * those that bring a page behind the others, few of them at a time: no more than those few are in front of a
 * grant. Forwards go before requests: they are what a manager has promised somebody else.
 */
#include <linux/mempool.h>
#include <linux/slab.h>

#include "fault.h"
#include "net.h"
#include "sq.h"
#include "tune.h"
#include "xfer.h"

/* So many answers may go before a page that waits. */
#define PASS_MOST 32

/*
 * Pages that the device may have to send at once, in chains of half as many: an answer by one work request has no more
 * (DSM_SINK_FRAMES). With 16 it was not kept busy. What is here is in front of a grant (performance.rst).
 */
#define PAGES_MOST 32

/*
 * Answers that may wait for one peer: a peer that takes none is not given credits for more requests, else it could fill
 * our memory. Half as many, and it gets them again.
 */
#define ANSWERS_MOST 512
#define ANSWERS_FEW 48

static struct kmem_cache *tx_cache;
static struct kmem_cache *buf_cache;

static void *pool_alloc(gfp_t gfp, void *unused)
{
	struct dsm_net_tx *tx = kmem_cache_alloc(tx_cache, gfp);

	if (!tx)
		return NULL;
	tx->msg.data = kmem_cache_alloc(buf_cache, gfp);
	if (!tx->msg.data) {
		kmem_cache_free(tx_cache, tx);
		return NULL;
	}
	return tx;
}

static void pool_free(void *element, void *unused)
{
	struct dsm_net_tx *tx = element;

	kmem_cache_free(buf_cache, tx->msg.data);
	kmem_cache_free(tx_cache, tx);
}

/*
 * Constructors, so that a buffer never carries what was in its memory before.
 * They also keep the caches from being merged with others of their size: a leak
 * shows under our name.
 */
static void tx_construct(void *tx)
{
	memset(tx, 0, sizeof(struct dsm_net_tx));
}

static void buf_construct(void *buf)
{
	memset(buf, 0, DSM_MSG_BYTES);
}

/**
 * dsm_send_init() - make the caches of message buffers
 *
 * Context: process.
 * Return: 0, or -ENOMEM.
 */
int dsm_send_init(void)
{
	tx_cache = kmem_cache_create("dsm_net_tx", sizeof(struct dsm_net_tx), 0, 0,
				     tx_construct);
	buf_cache = kmem_cache_create("dsm_net_buf", DSM_MSG_BYTES, 0, 0, buf_construct);
	if (tx_cache && buf_cache)
		return 0;
	dsm_send_exit();
	return -ENOMEM;
}

/**
 * dsm_send_pool() - a transport's message buffers
 *
 * Context: process.
 * Return: pool, or NULL; for mempool_destroy() when every message has been given back.
 */
mempool_t *dsm_send_pool(void)
{
	return mempool_create(DSM_NET_MSGS_KEPT, pool_alloc, pool_free, NULL);
}

/**
 * dsm_send_exit() - free the caches; every message has been given back
 *
 * Context: process.
 */
void dsm_send_exit(void)
{
	kmem_cache_destroy(buf_cache);
	kmem_cache_destroy(tx_cache);
}

static struct dsm_net_tx *to_tx(struct dsm_msgbuf *msg)
{
	return container_of(msg, struct dsm_net_tx, msg);
}

/**
 * dsm_send_frame_put() - a request that waited is staged: a sink that was lent has a reference of its own
 * @tx: message
 *
 * Context: any.
 */
void dsm_send_frame_put(struct dsm_net_tx *tx)
{
	if (tx->frame)
		put_page(tx->frame);
	tx->frame = NULL;
}

/**
 * dsm_send_tx_free() - free a message and drop its page
 * @tx: message that the device does not own
 *
 * Context: any.
 */
void dsm_send_tx_free(struct dsm_net_tx *tx)
{
	if (tx->msg.page)
		put_page(tx->msg.page);
	dsm_send_frame_put(tx);
	mempool_free(tx, tx->pool);
}

/*
 * What is gathered goes, and a completion follows all that was posted: that gives the buffers back. The caller, who may be
 * the handler of the requests whose answers are gathered, has let it be known that it is short.
 */
static void ask_back(struct dsm_net *net)
{
	struct dsm_peer *peer;

	spin_lock(&net->lock);
	list_for_each_entry(peer, &net->peers, link) {
		spin_lock_bh(&peer->lock);
		peer->gathering = false;
		if (peer->state == DSM_PEER_UP)
			dsm_send_push(peer, false);
		spin_unlock_bh(&peer->lock);
		dsm_send_flush(peer);
	}
	spin_unlock(&net->lock);
}

/**
 * dsm_send_tx_new() - get an empty message
 * @net: transport
 * @gfp: how hard to try; with __GFP_DIRECT_RECLAIM it sleeps until it has one
 *
 * Context: as @gfp.
 * Return: the message (header zero, no page), or NULL if there is no memory.
 */
struct dsm_net_tx *dsm_send_tx_new(struct dsm_net *net, gfp_t gfp)
{
	struct dsm_net_tx *tx = mempool_alloc(net->messages, gfp & ~(__GFP_NOFAIL | __GFP_DIRECT_RECLAIM));
	u8 *data;

	if (!tx && gfp & __GFP_DIRECT_RECLAIM) {
		dsm_cq_short_begin(net);
		ask_back(net);
		/* The pool sees to it itself that there is one in the end. */
		tx = mempool_alloc(net->messages, gfp & ~__GFP_NOFAIL);
		dsm_cq_short_end(net);
	}
	if (!tx)
		return NULL;
	data = tx->msg.data;
	memset(tx, 0, sizeof(*tx));
	memset(data, 0, DSM_HDR_BYTES);
	tx->pool = net->messages;
	tx->msg.data = data;
	tx->msg.len = DSM_HDR_BYTES;
	tx->msg.dst = DSM_NO_NODE;
	return tx;
}

/**
 * dsm_net_msg_alloc() - get a message buffer
 * @net: transport
 * @gfp: how hard to try; with __GFP_DIRECT_RECLAIM it sleeps until it has one
 *
 * Context: as @gfp.
 * Return: an empty message (header zero, no page), or NULL if there is no memory.
 */
struct dsm_msgbuf *dsm_net_msg_alloc(struct dsm_net *net, gfp_t gfp)
{
	struct dsm_net_tx *tx = dsm_send_tx_new(net, gfp);

	return tx ? &tx->msg : NULL;
}

/**
 * dsm_net_msg_free() - give an unsent message back
 * @net: transport
 * @msg: message; its page reference is dropped. NULL is allowed
 *
 * Context: any.
 */
void dsm_net_msg_free(struct dsm_net *net, struct dsm_msgbuf *msg)
{
	if (msg)
		dsm_send_tx_free(to_tx(msg));
}

/**
 * dsm_send_tx_keep() - a header-only message that belongs to a peer for good
 * @net:  transport
 * @type: message type
 *
 * Context: process, sleeps.
 * Return: the message, or NULL.
 */
struct dsm_net_tx *dsm_send_tx_keep(struct dsm_net *net, u8 type)
{
	struct dsm_net_tx *tx = dsm_send_tx_new(net, GFP_KERNEL);

	if (tx) {
		dsm_wire_begin(&tx->msg, type, 0, 0);
		tx->keep = true;
	}
	return tx;
}

static void backlog_add(struct dsm_backlog *b, struct dsm_msgbuf *msg)
{
	msg->next = NULL;
	*b->tail = msg;
	b->tail = &msg->next;
	b->n++;
}

static struct dsm_msgbuf *backlog_take(struct dsm_backlog *b)
{
	struct dsm_msgbuf *msg = b->head;

	b->head = msg->next;
	if (!b->head)
		b->tail = &b->head;
	b->n--;
	msg->next = NULL;
	return msg;
}

static struct dsm_backlog *backlog_of(struct dsm_peer *peer, const struct dsm_msgbuf *msg)
{
	return &peer->backlog[msg->class == DSM_CLASS_RSP && dsm_msg_brings_page(msg) ?
			      DSM_BACKLOG_PAGES : msg->class];
}

/**
 * dsm_send_queue() - put a message behind those of its class
 * @peer: peer that is up
 * @tx:   message; the peer's from here on
 *
 * Context: peer lock held; any. The caller calls dsm_send_push() before it drops the lock.
 */
void dsm_send_queue(struct dsm_peer *peer, struct dsm_net_tx *tx)
{
	lockdep_assert_held(&peer->lock);
	backlog_add(backlog_of(peer, &tx->msg), &tx->msg);
}

static u32 answers_most(const struct dsm_peer *peer)
{
	return dsm_fault_is_set(peer, DSM_FAULT_FEW) ? ANSWERS_FEW : ANSWERS_MOST;
}

static u32 answers(const struct dsm_peer *peer)
{
	return peer->backlog[DSM_CLASS_RSP].n + peer->backlog[DSM_BACKLOG_PAGES].n;
}

/**
 * dsm_send_is_flooded() - is a peer to ask for less, since many answers to it wait?
 * @peer: peer
 *
 * Context: peer lock held; any.
 * Return: true if so.
 */
bool dsm_send_is_flooded(const struct dsm_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	return answers(peer) >= answers_most(peer);
}

/* Stage the message that waits first in a backlog, if it may go. */
static bool stage_one(struct dsm_qp *qp, unsigned int backlog)
{
	enum dsm_class class = backlog == DSM_BACKLOG_PAGES ? DSM_CLASS_RSP : backlog;
	struct dsm_peer *peer = qp->peer;
	struct dsm_msgbuf *msg;

	msg = peer->backlog[backlog].head;
	if (!msg)
		return false;
	if (backlog == DSM_BACKLOG_PAGES && dsm_sq_joins(qp, to_tx(msg))) {
		backlog_take(&peer->backlog[backlog]);
		return dsm_sq_join(qp, to_tx(msg));
	}
	if (!dsm_credit_may_send(&peer->credit, class) &&
	    !dsm_fault_is_set(peer, DSM_FAULT_OVERRUN))
		return false;
	/* It waits for a slot of the ring. */
	if (to_tx(msg)->mech == DSM_NET_BULK || (backlog == DSM_CLASS_REQ && dsm_bulk_waits(peer, msg)))
		return false;
	dsm_credit_use(&peer->credit, class);
	backlog_take(&peer->backlog[backlog]);
	if (msg->data[0] == DSM_MSG_PONG)
		peer->pongs--;
	return dsm_sq_stage(qp, to_tx(msg));
}

/*
 * Stage an answer. What brings a page waits for the others, but not for ever, and not they for it; and for those to
 * requests that came with its own.
 */
static bool stage_answer(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	bool waits = peer->backlog[DSM_BACKLOG_PAGES].head;
	bool page = waits && !peer->gathering && qp->pages < PAGES_MOST;

	if ((!page || peer->passed < PASS_MOST) && stage_one(qp, DSM_CLASS_RSP)) {
		peer->passed += page;
		peer->stats.answers_first += waits;
		return true;
	}
	if (!page || !stage_one(qp, DSM_BACKLOG_PAGES))
		return false;
	peer->passed = 0;
	/* A chain tells of its end only: others may go when half are done. */
	if (!(qp->pages % (PAGES_MOST / 2)))
		dsm_sq_post(qp);
	return true;
}

/* Stage requests that wait together as one, if they may go and are worth it. */
static bool stage_bulk(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_backlog *b = &peer->backlog[DSM_CLASS_REQ];
	struct dsm_msgbuf *list = b->head, **tail = &list;
	u32 n = dsm_bulk_count(peer, b->head);

	if (!n || !dsm_credit_may_send(&peer->credit, DSM_CLASS_REQ))
		return false;
	dsm_credit_use(&peer->credit, DSM_CLASS_REQ);
	while (n--) {
		*tail = backlog_take(b);
		tail = &(*tail)->next;
	}
	return dsm_sq_stage_bulk(qp, list);
}

/* Return credits by a message of their own, which itself uses one of @class. */
static void stage_credit(struct dsm_qp *qp, enum dsm_class class, bool idle)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_net_tx *tx = peer->credit_tx[qp->vc];

	if (tx->busy || !dsm_credit_may_return(&peer->credit, qp->vc, idle))
		return;
	dsm_credit_use(&peer->credit, class);
	tx->msg.class = class;
	dsm_sq_stage(qp, tx);
}

static bool may_stage(const struct dsm_qp *qp)
{
	const struct dsm_peer *peer = qp->peer;

	return (peer->state == DSM_PEER_UP || peer->leaving) && !peer->resume.broken &&
	       dsm_sq_has_room(qp);
}

/* A chain is posted when it is as long as it may be; the device works while the next is built. */
static void post_full(struct dsm_qp *qp)
{
	if (qp->staged >= dsm_tune(DSM_NET_BATCH_MAX))
		dsm_sq_post(qp);
}

/* While there are answers still, which tell of it; more than may go by one immediate. */
static void release_if_few(struct dsm_peer *peer)
{
	if (peer->credit.held && answers(peer) <= answers_most(peer) / 2)
		dsm_credit_release(&peer->credit);
}

/**
 * dsm_send_push() - post all that credits and room allow
 * @peer: peer
 * @idle: return credits early
 *
 * Context: peer lock held; any.
 */
void dsm_send_push(struct dsm_peer *peer, bool idle)
{
	struct dsm_qp *q = &peer->qp[DSM_VC_Q];
	struct dsm_qp *p = &peer->qp[DSM_VC_P];

	lockdep_assert_held(&peer->lock);
	for (release_if_few(peer); may_stage(p) && stage_answer(p); release_if_few(peer))
		post_full(p);
	if (may_stage(p))
		stage_credit(p, DSM_CLASS_RSP, idle);
	dsm_sq_post(p);
	dsm_bulk_refresh(peer);
	while (may_stage(q) && (stage_one(q, DSM_CLASS_FWD) || stage_bulk(q) ||
				stage_one(q, DSM_CLASS_REQ)))
		post_full(q);
	if (may_stage(q))
		stage_credit(q, DSM_CLASS_REQ, idle);
	if (may_stage(q))
		dsm_sink_end(peer, false);
	dsm_sq_post(q);
	if (dsm_xfer_waits(peer))
		dsm_xfer_push(peer);
}

/**
 * dsm_send_idle_credits() - return credits that no message has carried for a while
 * @work: idle_work of a peer
 *
 * Context: process.
 */
void dsm_send_idle_credits(struct work_struct *work)
{
	struct dsm_peer *peer = container_of(to_delayed_work(work), struct dsm_peer, idle_work);

	spin_lock_bh(&peer->lock);
	dsm_send_push(peer, true);
	spin_unlock_bh(&peer->lock);
}

/**
 * dsm_send_beat() - what must not wait for long for something to go with
 * @peer: peer that is up
 *
 * Context: peer lock held; any.
 */
void dsm_send_beat(struct dsm_peer *peer)
{
	struct dsm_qp *q = &peer->qp[DSM_VC_Q];

	lockdep_assert_held(&peer->lock);
	if (may_stage(q))
		dsm_sink_end(peer, true);
	dsm_sq_post(q);
}

/**
 * dsm_send_ctl() - post one of the peer's own messages on C
 * @peer: peer, up or closing in good order
 * @tx:   beat or farewell; nothing happens if it is still on its way
 * @xid:  for the header
 *
 * Context: peer lock held; any.
 */
void dsm_send_ctl(struct dsm_peer *peer, struct dsm_net_tx *tx, u32 xid)
{
	struct dsm_qp *c = &peer->qp[DSM_VC_C];

	lockdep_assert_held(&peer->lock);
	if (tx->busy || peer->resume.broken || !dsm_sq_has_room(c))
		return;
	dsm_wire_begin(&tx->msg, tx->msg.data[0], 0, xid);
	tx->msg.class = DSM_CLASS_CTL;
	dsm_sq_stage(c, tx);
	dsm_sq_post(c);
}

/* Is this a message that our own shell may send? */
static bool tx_is_sane(const struct dsm_msgbuf *msg)
{
	return msg->class < DSM_CLASS_CTL && msg->dst < DSM_MAX_NODES &&
	       msg->len >= DSM_HDR_BYTES &&
	       msg->len + (msg->page ? DSM_PAGE_BYTES : 0) <= DSM_MSG_BYTES &&
	       (!msg->sink || msg->len >= DSM_HDR_BYTES + sizeof(struct dsm_wire_sink)) &&
	       dsm_recv_class(msg->data[0]) == msg->class;
}

/* Take the first message off a list, and all others to the same node, in order. */
static struct dsm_msgbuf *take_same(struct dsm_msgbuf **list)
{
	struct dsm_msgbuf *m, *same = NULL, **same_tail = &same, **rest_tail = list;
	u16 dst = (*list)->dst;

	for (m = *list; m; m = m->next) {
		if (m->dst == dst) {
			*same_tail = m;
			same_tail = &m->next;
		} else {
			*rest_tail = m;
			rest_tail = &m->next;
		}
	}
	*same_tail = NULL;
	*rest_tail = NULL;
	return same;
}

static void queue_all(struct dsm_peer *peer, struct dsm_msgbuf *list)
{
	struct dsm_backlog *b;
	struct dsm_msgbuf *next;
	u32 added = 0;
	int i;

	for (; list; list = next) {
		next = list->next;
		if (list->sink) {
			to_tx(list)->frame = list->sink;
			get_page(to_tx(list)->frame);
		}
		b = backlog_of(peer, list);
		added |= BIT(b - peer->backlog);
		backlog_add(b, list);
	}
	dsm_send_push(peer, false);
	for (i = 0; i < DSM_BACKLOGS; i++) {
		if (!(added & BIT(i)) || !peer->backlog[i].head)
			continue;
		/* Pages also wait for others. */
		if (i != DSM_BACKLOG_PAGES || !dsm_credit_may_send(&peer->credit, DSM_CLASS_RSP))
			peer->stats.credit_stalls++;
	}
}

/* Messages to one node. Returns how many were freed unsent. */
static u32 send_same(struct dsm_net *net, struct dsm_msgbuf *list)
{
	struct dsm_peer *peer = dsm_peer_find(net, list->dst);
	struct dsm_msgbuf *next;
	bool up = false;
	u32 freed = 0;

	if (peer) {
		spin_lock_bh(&peer->lock);
		up = peer->state == DSM_PEER_UP;
		if (up)
			queue_all(peer, list);
		spin_unlock_bh(&peer->lock);
		dsm_peer_put(peer);
	}
	for (; !up && list; list = next, freed++) {
		next = list->next;
		dsm_send_tx_free(to_tx(list));
	}
	return freed;
}

/* Take what is not sane off a list, which is a bug of ours. */
static struct dsm_msgbuf *sane_only(struct dsm_msgbuf *list, u32 *freed)
{
	struct dsm_msgbuf **link = &list, *m;

	while ((m = *link)) {
		if (!WARN_ON_ONCE(!tx_is_sane(m))) {
			link = &m->next;
			continue;
		}
		*link = m->next;
		dsm_send_tx_free(to_tx(m));
		(*freed)++;
	}
	return list;
}

/**
 * dsm_net_send_list() - send messages
 * @net:  transport
 * @list: messages to any nodes; consumed in every case. Those of one class to one node keep their
 *        order, but answers that bring a page may fall behind others; all to one node are posted together
 *
 * Context: process; takes the peers' locks, never waits for the network.
 * Return: how many were freed unsent, since their node is not up, or since class, length and type
 *         of one do not fit together, which is a bug of the caller.
 */
u32 dsm_net_send_list(struct dsm_net *net, struct dsm_msgbuf *list)
{
	u32 freed = 0;

	list = sane_only(list, &freed);
	while (list)
		freed += send_same(net, take_same(&list));
	return freed;
}

/**
 * dsm_net_send() - send a message
 * @net: transport
 * @msg: message; consumed in every case
 *
 * Context: process; takes the peer's lock, never waits for the network.
 * Return: 0; -EHOSTDOWN if the peer is not up, or if class, length and type do not fit together,
 *         which is a bug of the caller.
 */
int dsm_net_send(struct dsm_net *net, struct dsm_msgbuf *msg)
{
	msg->next = NULL;
	return dsm_net_send_list(net, msg) ? -EHOSTDOWN : 0;
}

/**
 * dsm_send_flush() - see to it that it shows when all that was posted is done
 * @peer: peer that is left, or whose buffers somebody waits for
 *
 * Context: any but with the peer's lock held.
 */
void dsm_send_flush(struct dsm_peer *peer)
{
	int vc;

	spin_lock_bh(&peer->lock);
	for (vc = DSM_VC_C; dsm_sq_is_awaited(peer) && vc <= DSM_VC_P; vc++)
		dsm_sq_flush(&peer->qp[vc]);
	spin_unlock_bh(&peer->lock);
}

/**
 * dsm_send_is_idle() - has everything been sent and acknowledged
 * @peer: peer
 *
 * Context: any but with the peer's lock held.
 * Return: true if nothing waits and nothing is on its way.
 */
bool dsm_send_is_idle(struct dsm_peer *peer)
{
	bool idle = true;
	int i;

	spin_lock_bh(&peer->lock);
	idle &= !dsm_xfer_waits(peer);
	for (i = 0; i < DSM_BACKLOGS; i++)
		idle &= !peer->backlog[i].head;
	for (i = 0; i < DSM_VC_COUNT; i++)
		idle &= !peer->qp[i].sq_used;
	spin_unlock_bh(&peer->lock);
	return idle;
}

/**
 * dsm_send_purge() - free what a lost peer did not get
 * @peer: peer, not up any more and drained: nothing is added, the device has nothing
 *
 * Context: process.
 */
void dsm_send_purge(struct dsm_peer *peer)
{
	int i;

	for (i = DSM_VC_C; i <= DSM_VC_P; i++)
		dsm_sq_purge(&peer->qp[i]);
	for (i = 0; i < DSM_BACKLOGS; i++) {
		struct dsm_backlog *b = &peer->backlog[i];

		while (b->head)
			dsm_send_tx_free(to_tx(backlog_take(b)));
	}
}
