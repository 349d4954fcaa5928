// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Sending: message buffers, the queues of messages that wait for credit or for
 * room, posting and completions. Never sleeps for the network and never looks
 * into a body.
 *
 * A message waits in its peer's backlog of its class until dsm_send_push()
 * finds a credit and a free entry in the send queue; arriving credits and
 * completions push. Forwards go before requests: they are what a manager has
 * promised somebody else.
 */
#include <linux/mempool.h>
#include <linux/slab.h>

#include "net.h"

/*
 * Buffers kept for when memory is short. A message in a backlog is given back
 * at the latest when its peer is lost, so a wait for one ends.
 */
#define RESERVE 64

static struct kmem_cache *tx_cache;
static struct kmem_cache *buf_cache;
static mempool_t *tx_pool;

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
		tx_pool = mempool_create(RESERVE, pool_alloc, pool_free, NULL);
	if (tx_pool)
		return 0;
	dsm_send_exit();
	return -ENOMEM;
}

/**
 * dsm_send_exit() - free the caches; every message has been given back
 *
 * Context: process.
 */
void dsm_send_exit(void)
{
	mempool_destroy(tx_pool);
	tx_pool = NULL;
	kmem_cache_destroy(buf_cache);
	kmem_cache_destroy(tx_cache);
}

static struct dsm_net_tx *to_tx(struct dsm_msgbuf *msg)
{
	return container_of(msg, struct dsm_net_tx, msg);
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
	mempool_free(tx, tx_pool);
}

static void tx_done(struct ib_cq *cq, struct ib_wc *wc);

static struct dsm_net_tx *tx_alloc(gfp_t gfp)
{
	/* The pool sees to it itself, and tries without reclaim first. */
	struct dsm_net_tx *tx = mempool_alloc(tx_pool, gfp & ~__GFP_NOFAIL);
	u8 *data;

	if (!tx)
		return NULL;
	data = tx->msg.data;
	memset(tx, 0, sizeof(*tx));
	memset(data, 0, DSM_HDR_BYTES);
	tx->msg.data = data;
	tx->msg.len = DSM_HDR_BYTES;
	tx->msg.dst = DSM_NO_NODE;
	tx->cqe.done = tx_done;
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
	struct dsm_net_tx *tx = tx_alloc(gfp);

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
 * @type: message type
 *
 * Context: process, sleeps.
 * Return: the message, or NULL.
 */
struct dsm_net_tx *dsm_send_tx_keep(u8 type)
{
	struct dsm_net_tx *tx = tx_alloc(GFP_KERNEL);

	if (tx) {
		dsm_wire_begin(&tx->msg, type, 0, 0);
		tx->keep = true;
	}
	return tx;
}

static void tx_unmap(struct dsm_net_tx *tx)
{
	struct ib_device *dev = tx->qp->peer->net->dev;

	ib_dma_unmap_single(dev, tx->sge[0].addr, tx->sge[0].length, DMA_TO_DEVICE);
	if (tx->msg.page)
		ib_dma_unmap_page(dev, tx->sge[1].addr, tx->sge[1].length, DMA_TO_DEVICE);
}

static int tx_map(struct dsm_net_tx *tx)
{
	struct dsm_net *net = tx->qp->peer->net;
	u32 lkey = (tx->qp->vc == DSM_VC_C ? net->pd_ctl : net->pd_data)->local_dma_lkey;

	tx->sge[0].addr = ib_dma_map_single(net->dev, tx->msg.data, tx->msg.len, DMA_TO_DEVICE);
	tx->sge[0].length = tx->msg.len;
	tx->sge[0].lkey = lkey;
	if (ib_dma_mapping_error(net->dev, tx->sge[0].addr))
		return -ENOMEM;
	if (!tx->msg.page)
		return 0;
	tx->sge[1].addr = ib_dma_map_page(net->dev, tx->msg.page, 0, DSM_PAGE_BYTES, DMA_TO_DEVICE);
	tx->sge[1].length = DSM_PAGE_BYTES;
	tx->sge[1].lkey = lkey;
	if (ib_dma_mapping_error(net->dev, tx->sge[1].addr)) {
		ib_dma_unmap_single(net->dev, tx->sge[0].addr, tx->sge[0].length, DMA_TO_DEVICE);
		return -ENOMEM;
	}
	return 0;
}

static u32 tx_bytes(const struct dsm_net_tx *tx)
{
	return tx->msg.len + (tx->msg.page ? DSM_PAGE_BYTES : 0);
}

static void fill_header(struct dsm_net_tx *tx)
{
	struct dsm_peer *peer = tx->qp->peer;
	struct dsm_wire_hdr hdr;

	memcpy(&hdr, tx->msg.data, sizeof(hdr));
	hdr.len = cpu_to_le16(tx_bytes(tx));
	hdr.epoch = 0;
	hdr.src = cpu_to_le32(peer->self);
	hdr.seq = cpu_to_le32(++tx->qp->tx_seq);
	hdr.credit = cpu_to_le64(dsm_credit_word(peer, tx->qp->vc));
	memcpy(tx->msg.data, &hdr, sizeof(hdr));
}

/*
 * Hand a message to the device. Whatever fails here is the end of the
 * connection: the header already promised credits and took a number.
 */
static void tx_post(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	struct dsm_peer *peer = qp->peer;
	struct ib_send_wr wr = {
		.wr_cqe = &tx->cqe,
		.sg_list = tx->sge,
		.num_sge = tx->msg.page ? 2 : 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int err;

	lockdep_assert_held(&peer->lock);
	tx->qp = qp;
	tx->busy = true;
	fill_header(tx);
	err = tx_map(tx);
	if (!err) {
		qp->sq_used++;
		peer->stats.tx_msgs[tx->msg.class]++;
		peer->stats.tx_bytes += tx_bytes(tx);
		peer->stats.doorbells++;
		peer->stats.wrs++;
		peer->stats.signalled++;
		err = ib_post_send(qp->id->qp, &wr, NULL);
		if (!err)
			return;
		qp->sq_used--;
		tx_unmap(tx);
	}
	tx->busy = false;
	if (!tx->keep)
		dsm_send_tx_free(tx);
	dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ECONNRESET, "cannot post a send");
}

static void tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dsm_net_tx *tx = container_of(wc->wr_cqe, struct dsm_net_tx, cqe);
	struct dsm_qp *qp = tx->qp;
	struct dsm_peer *peer = qp->peer;

	tx_unmap(tx);
	if (unlikely(wc->status != IB_WC_SUCCESS))
		dsm_qp_error(qp, wc->status);

	spin_lock_bh(&peer->lock);
	qp->sq_used--;
	tx->busy = false;
	dsm_send_push(peer, false);
	if (!qp->sq_used)
		wake_up(&peer->wait);
	spin_unlock_bh(&peer->lock);
	if (!tx->keep)
		dsm_send_tx_free(tx);
}

static void backlog_add(struct dsm_backlog *b, struct dsm_msgbuf *msg)
{
	msg->next = NULL;
	*b->tail = msg;
	b->tail = &msg->next;
}

static struct dsm_msgbuf *backlog_take(struct dsm_backlog *b)
{
	struct dsm_msgbuf *msg = b->head;

	b->head = msg->next;
	if (!b->head)
		b->tail = &b->head;
	msg->next = NULL;
	return msg;
}

/* Post the next waiting message of a class, if it may go. */
static bool push_one(struct dsm_qp *qp, enum dsm_class class)
{
	struct dsm_peer *peer = qp->peer;

	if (!peer->backlog[class].head || !dsm_credit_may_send(peer, class))
		return false;
	peer->credit[class].sent++;
	tx_post(qp, to_tx(backlog_take(&peer->backlog[class])));
	return true;
}

/* Return credits by a message of their own, which itself uses one of @class. */
static bool push_credit(struct dsm_qp *qp, enum dsm_class class, bool idle)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_net_tx *tx = peer->credit_tx[qp->vc];

	if (tx->busy || !dsm_credit_return_due(peer, qp->vc, idle) ||
	    !dsm_credit_may_send(peer, class))
		return false;
	peer->credit[class].sent++;
	tx->msg.class = class;
	tx_post(qp, tx);
	return true;
}

static bool has_room(const struct dsm_qp *qp)
{
	const struct dsm_peer *peer = qp->peer;

	return (peer->state == DSM_PEER_UP || peer->leaving) && qp->sq_used < qp->sq_room;
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
	while (has_room(p) && push_one(p, DSM_CLASS_RSP))
		;
	while (has_room(q) && (push_one(q, DSM_CLASS_FWD) || push_one(q, DSM_CLASS_REQ)))
		;
	if (has_room(p))
		push_credit(p, DSM_CLASS_RSP, idle);
	if (has_room(q))
		push_credit(q, DSM_CLASS_REQ, idle);
	if (peer->xfer_wait.head)
		dsm_xfer_push(peer);
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
	if (tx->busy || c->sq_used >= c->sq_room)
		return;
	dsm_wire_begin(&tx->msg, tx->msg.data[0], 0, xid);
	tx->msg.class = DSM_CLASS_CTL;
	tx_post(c, tx);
}

/* Is this a message that our own shell may send? */
static bool tx_is_sane(const struct dsm_msgbuf *msg)
{
	return msg->class < DSM_CLASS_CTL && msg->dst < DSM_MAX_NODES &&
	       msg->len >= DSM_HDR_BYTES &&
	       msg->len + (msg->page ? DSM_PAGE_BYTES : 0) <= DSM_MSG_BYTES &&
	       dsm_recv_class(msg->data[0]) == msg->class;
}

/**
 * dsm_net_send() - send a message
 * @net: transport
 * @msg: message; consumed in every case
 *
 * Context: process; takes the peer's lock, never waits for the network.
 * Return: 0; -EHOSTDOWN if the peer is not up; -EINVAL if class, length and
 *         type do not fit together, which is a bug of the caller.
 */
int dsm_net_send(struct dsm_net *net, struct dsm_msgbuf *msg)
{
	enum dsm_class class = msg->class;
	struct dsm_peer *peer;
	bool up;

	if (WARN_ON_ONCE(!tx_is_sane(msg))) {
		dsm_send_tx_free(to_tx(msg));
		return -EINVAL;
	}
	peer = dsm_peer_find(net, msg->dst);
	if (!peer) {
		dsm_send_tx_free(to_tx(msg));
		return -EHOSTDOWN;
	}
	spin_lock_bh(&peer->lock);
	up = peer->state == DSM_PEER_UP;
	if (up) {
		backlog_add(&peer->backlog[class], msg);
		dsm_send_push(peer, false);
		if (peer->backlog[class].head)
			peer->stats.credit_stalls++;
	}
	spin_unlock_bh(&peer->lock);
	dsm_peer_put(peer);
	if (up)
		return 0;
	dsm_send_tx_free(to_tx(msg));
	return -EHOSTDOWN;
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
	idle &= !peer->xfer_wait.head;
	for (i = 0; i < DSM_CLASS_CTL; i++)
		idle &= !peer->backlog[i].head;
	for (i = 0; i < DSM_VC_COUNT; i++)
		idle &= !peer->qp[i].sq_used;
	spin_unlock_bh(&peer->lock);
	return idle;
}

/**
 * dsm_send_purge() - free what waited for a lost peer
 * @peer: peer, not up any more: nothing is added
 *
 * Context: process.
 */
void dsm_send_purge(struct dsm_peer *peer)
{
	int i;

	for (i = 0; i < DSM_CLASS_CTL; i++) {
		struct dsm_backlog *b = &peer->backlog[i];

		while (b->head)
			dsm_send_tx_free(to_tx(backlog_take(b)));
	}
}
