// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Send queues of C, Q and P: puts messages into work requests, posts these as chains, and takes
 * back what the device is done with. Chooses no message and waits for nothing.
 *
 * Work requests are entries of a ring that is made with the queue pair, so that nothing is allocated
 * to post one and a completion always finds what it names. A message goes by one of two mechanisms:
 *
 *   inline   the work request itself holds the bytes. Nothing is mapped, and the buffer is free as
 *            soon as the request was posted: the ring keeps a copy, in case it has to go again.
 *   gathered the device reads the bytes from the buffer, which is ours again with a completion.
 *
 * Either may be one of a chain that one doorbell posts. A completion tells that all that was posted
 * before it is done too, so the last of a chain speaks for all of it; and if no message of it was
 * gathered nobody misses a completion but the ring, which is content with every sixteenth.
 *
 * A peer's count of credits is not taken for a completion, although it proves that a message was
 * received: as long as the device has not seen the acknowledgement it may send again from the buffer.
 */
#include <linux/slab.h>

#include "fault.h"
#include "net.h"
#include "sq.h"
#include "tune.h"

static void entry_done(struct ib_cq *cq, struct ib_wc *wc);

/**
 * dsm_sq_alloc() - make a connection's ring
 * @qp: connection C, Q or P
 *
 * Context: process, sleeps; peer's setup mutex held.
 * Return: 0, or -ENOMEM.
 */
int dsm_sq_alloc(struct dsm_qp *qp)
{
	u32 i;

	if (qp->sq)
		return 0;
	qp->sq = kvcalloc(qp->sq_room, sizeof(*qp->sq), GFP_KERNEL);
	if (!qp->sq)
		return -ENOMEM;
	for (i = 0; i < qp->sq_room; i++) {
		qp->sq[i].cqe.done = entry_done;
		qp->sq[i].qp = qp;
	}
	return 0;
}

/**
 * dsm_sq_free() - free a connection's ring
 * @qp: connection whose queue pair is destroyed, or was never made
 *
 * Context: process.
 */
void dsm_sq_free(struct dsm_qp *qp)
{
	kvfree(qp->sq);
	qp->sq = NULL;
}

/**
 * dsm_sq_has_room() - may one more message be staged
 * @qp: connection C, Q or P
 *
 * Context: peer lock held.
 * Return: true if so. One that was never made has none: this node has only B with itself.
 */
bool dsm_sq_has_room(const struct dsm_qp *qp)
{
	return qp->sq && qp->sq_used + DSM_SQ_PER_MESSAGE <= qp->sq_room;
}

static u32 after(const struct dsm_qp *qp, u32 i)
{
	return i + 1 < qp->sq_room ? i + 1 : 0;
}

/* ---- mapping ---- */

static u32 tx_bytes(const struct dsm_net_tx *tx)
{
	return tx->msg.len + (tx->msg.page && !tx->msg.rkey ? DSM_PAGE_BYTES : 0);
}

static void unmap(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	struct ib_device *dev = qp->peer->net->dev;

	ib_dma_unmap_single(dev, tx->sge[0].addr, tx->sge[0].length, DMA_TO_DEVICE);
	if (tx->msg.page)
		ib_dma_unmap_page(dev, tx->sge[1].addr, tx->sge[1].length, DMA_TO_DEVICE);
}

static int map(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	struct dsm_net *net = qp->peer->net;
	u32 lkey = (qp->vc == DSM_VC_C ? net->pd_ctl : net->pd_data)->local_dma_lkey;

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

/* ---- staging ---- */

static void fill_header(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_wire_hdr hdr;

	memcpy(&hdr, tx->msg.data, sizeof(hdr));
	hdr.len = cpu_to_le16(tx_bytes(tx));
	hdr.epoch = 0;
	hdr.src = cpu_to_le32(peer->self);
	hdr.seq = cpu_to_le32(++qp->tx_seq);
	hdr.credit = cpu_to_le64(dsm_credit_word(&peer->credit, qp->vc));
	memcpy(tx->msg.data, &hdr, sizeof(hdr));
}

static bool goes_inline(const struct dsm_qp *qp, const struct dsm_net_tx *tx)
{
	if (tx->msg.page || tx->msg.len > qp->inline_bytes)
		return false;
	if (tx->mech != DSM_NET_AUTO)
		return tx->mech == DSM_NET_INLINE;
	return tx->msg.len <= dsm_tune(DSM_NET_INLINE_MAX);
}

/* The next entry, at the end of the chain. */
static struct dsm_sq_entry *entry_add(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	struct dsm_sq_entry *e = &qp->sq[qp->sq_next];

	e->tx = tx;
	e->pages = 0;
	memset(&e->rdma, 0, sizeof(e->rdma));
	e->wr.wr_cqe = &e->cqe;
	if (qp->staged)
		qp->sq[dsm_sq_before(qp, qp->sq_next, 1)].wr.next = &e->wr;
	qp->sq_next = after(qp, qp->sq_next);
	qp->sq_used++;
	qp->staged++;
	qp->unsignalled++;
	return e;
}

/* Of enum dsm_stat's four. */
static unsigned int size_class(u32 bytes)
{
	static const u32 bound[DSM_NET_SIZES - 1] = { 256, 1024, 4096 };
	unsigned int i = 0;

	while (i < ARRAY_SIZE(bound) && bytes >= bound[i])
		i++;
	return i;
}

/* False: it is not counted among messages. */
static bool count_message(struct dsm_peer *peer, const struct dsm_net_tx *tx, bool inlined)
{
	struct dsm_net_peer_stats *stats = &peer->stats;

	switch (tx->msg.data[0]) {
	case DSM_MSG_PING:
	case DSM_MSG_PONG:
		return false;
	case DSM_MSG_HEARTBEAT:
		stats->heartbeats++;
		return false;
	case DSM_MSG_CREDIT:
		stats->credit_msgs++;
		return false;
	}
	stats->tx_msgs[tx->msg.class]++;
	stats->tx_sized[size_class(tx_bytes(tx))]++;
	stats->tx_bytes += tx_bytes(tx);
	if (inlined)
		stats->sends_inline++;
	return true;
}

static void give_back(struct dsm_net_tx *tx)
{
	tx->busy = false;
	if (!tx->keep)
		dsm_send_tx_free(tx);
}

/*
 * In front of a request: what makes its sink, or the ring that it tells of, valid. Changes the
 * request, so it is not mapped yet.
 */
static void add_reg(struct dsm_qp *qp, struct ib_reg_wr *reg)
{
	struct dsm_sq_entry *e = entry_add(qp, NULL);

	reg->wr.wr_cqe = &e->cqe;
	e->reg = *reg;
}

static void stage_reg(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	struct dsm_msgbuf *msg = &tx->msg;
	struct ib_reg_wr reg;
	bool made = true;

	if (msg->data[0] == DSM_MSG_RING)
		dsm_bulk_offer(qp->peer, &reg);
	else
		made = msg->sink && dsm_sink_lend(qp->peer, &msg, 1, &reg);
	dsm_send_frame_put(tx);
	if (made)
		add_reg(qp, &reg);
}

/* Likewise for those that go together: one sink for all that want one. */
static void stage_shared_reg(struct dsm_qp *qp, struct dsm_msgbuf *list)
{
	struct dsm_msgbuf *msg[DSM_BULK_MESSAGES];
	struct ib_reg_wr reg;
	u32 n = 0;

	for (; list; list = list->next)
		if (list->sink)
			msg[n++] = list;
	if (n && dsm_sink_lend(qp->peer, msg, n, &reg))
		add_reg(qp, &reg);
	while (n)
		dsm_send_frame_put(container_of(msg[--n], struct dsm_net_tx, msg));
}

/* The last work request of an answer that brings a page. */
static void count_page(struct dsm_qp *qp, struct dsm_sq_entry *e)
{
	e->pages++;
	qp->pages++;
}

static void fill_write(struct dsm_sq_entry *e, struct dsm_net_tx *tx)
{
	e->wr.opcode = IB_WR_RDMA_WRITE;
	e->wr.sg_list = &tx->sge[1];
	e->wr.num_sge = 1;
	e->rdma.remote_addr = dsm_sink_address(&tx->msg);
	e->rdma.rkey = tx->msg.rkey;
}

/* In front of an answer: its page, which is mapped. */
static void stage_write(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	if (tx->msg.rkey && tx->msg.page)
		fill_write(entry_add(qp, NULL), tx);
}

static bool map_or_fail(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	if (!map(qp, tx))
		return true;
	give_back(tx);
	dsm_peer_fail_locked(qp->peer, DSM_WHY_CAUSE, -ECONNRESET, "cannot map a message");
	return false;
}

/* One of the answers that go with @e, and are a page each and an immediate; numbered as if it had a header. */
static void add_brief(struct dsm_qp *qp, struct dsm_sq_entry *e, struct dsm_net_tx *tx, u32 imm)
{
	struct dsm_net_peer_stats *stats = &qp->peer->stats;

	qp->tx_seq++;
	tx->busy = true;
	stats->tx_msgs[tx->msg.class]++;
	stats->sends_brief++;
	e->frames[e->wr.num_sge++] = tx->sge[1];
	e->wr.ex.imm_data = cpu_to_be32(imm);
	count_page(qp, e);
}

static bool stage_brief(struct dsm_qp *qp, struct dsm_net_tx *tx, u32 imm)
{
	struct dsm_sq_entry *e;

	if (!map_or_fail(qp, tx))
		return false;
	tx->msg.next = NULL;
	e = entry_add(qp, tx);
	fill_write(e, tx);
	e->wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	e->wr.sg_list = e->frames;
	e->wr.num_sge = 0;
	add_brief(qp, e, tx, imm);
	qp->held++;
	return true;
}

/* The answer that was staged last, if another one can go with it; @imm: out: of both. */
static struct dsm_sq_entry *joined(struct dsm_qp *qp, const struct dsm_net_tx *tx, u32 *imm)
{
	struct dsm_sq_entry *e = &qp->sq[dsm_sq_before(qp, qp->sq_next, 1)];

	if (!qp->staged || e->wr.opcode != IB_WR_RDMA_WRITE_WITH_IMM)
		return NULL;
	*imm = be32_to_cpu(e->wr.ex.imm_data);
	return dsm_sink_joins(qp->peer, &tx->msg, e->rdma.rkey, imm) ? e : NULL;
}

/**
 * dsm_sq_joins() - may an answer go with the one that was staged last?
 * @qp: connection P
 * @tx: answer that brings a page
 *
 * Context: peer lock held; any.
 * Return: true if so: it needs no credit, and dsm_sq_join() follows.
 */
bool dsm_sq_joins(struct dsm_qp *qp, const struct dsm_net_tx *tx)
{
	u32 imm;

	lockdep_assert_held(&qp->peer->lock);
	return joined(qp, tx, &imm);
}

/**
 * dsm_sq_join() - add an answer to the one that was staged last
 * @qp: connection P
 * @tx: answer that may; the connection's from here on
 *
 * Context: as dsm_sq_stage().
 * Return: false if it could not be mapped: the peer is lost.
 */
bool dsm_sq_join(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	struct dsm_sq_entry *e;
	u32 imm;

	lockdep_assert_held(&qp->peer->lock);
	if (!map_or_fail(qp, tx))
		return false;
	e = joined(qp, tx, &imm);
	tx->msg.next = &e->tx->msg;
	e->tx = tx;
	add_brief(qp, e, tx, imm);
	return true;
}

/**
 * dsm_sq_stage_inv() - add what takes a key away to the chain that is being built
 * @qp:   connection Q with room
 * @rkey: key; dsm_sink_ended() follows
 *
 * Context: as dsm_sq_stage().
 */
void dsm_sq_stage_inv(struct dsm_qp *qp, u32 rkey)
{
	struct dsm_sq_entry *e = entry_add(qp, NULL);

	e->wr.opcode = IB_WR_LOCAL_INV;
	e->wr.ex.invalidate_rkey = rkey;
	/* A frame waits for it, which its page may give up or have written back. */
	qp->held++;
}

/**
 * dsm_sq_stage() - add a message to the chain that is being built
 * @qp: connection C, Q or P with room
 * @tx: message that may go; the connection's from here on
 *
 * Its header is filled here, so it cannot be taken back: whatever fails is the end of the connection.
 *
 * Context: peer lock held; any. The caller calls dsm_sq_post() before it drops the lock.
 * Return: false if it could not be mapped: the peer is lost.
 */
bool dsm_sq_stage(struct dsm_qp *qp, struct dsm_net_tx *tx)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_sq_entry *e;
	bool inlined;
	u32 imm;

	lockdep_assert_held(&peer->lock);
	if (dsm_sink_brief(peer, &tx->msg, &imm))
		return stage_brief(qp, tx, imm);
	inlined = goes_inline(qp, tx);
	fill_header(qp, tx);
	stage_reg(qp, tx);
	dsm_fault_corrupt(qp, &tx->msg);
	if (!inlined && !map_or_fail(qp, tx))
		return false;
	tx->busy = true;
	tx->msg.next = NULL;
	count_message(peer, tx, inlined);
	stage_write(qp, tx);
	e = entry_add(qp, inlined ? NULL : tx);
	if (dsm_msg_brings_page(&tx->msg))
		count_page(qp, e);
	e->wr.opcode = IB_WR_SEND;
	e->wr.sg_list = tx->sge;
	e->wr.num_sge = tx->msg.page && !tx->msg.rkey ? 2 : 1;
	/* An answer ends the sink even if it brings no page, unless others share it. */
	if (tx->msg.rkey && !dsm_sink_shares(&tx->msg)) {
		e->wr.opcode = IB_WR_SEND_WITH_INV;
		e->wr.ex.invalidate_rkey = tx->msg.rkey;
	}
	if (inlined) {
		memcpy(e->bytes, tx->msg.data, tx->msg.len);
		/* Not an address for the device: its driver copies from there. */
		e->sge = (struct ib_sge){ .addr = (uintptr_t)e->bytes, .length = tx->msg.len };
		e->wr.sg_list = &e->sge;
		e->wr.send_flags = IB_SEND_INLINE;
		tx->msg.next = qp->staged_inline;
		qp->staged_inline = &tx->msg;
	} else {
		qp->held++;
	}
	return true;
}

static struct dsm_net_tx *to_tx(struct dsm_msgbuf *msg)
{
	return container_of(msg, struct dsm_net_tx, msg);
}

/**
 * dsm_sq_give_back() - a list of messages that the device does not read any more
 * @list: linked by next; whose nobody waits for are freed
 *
 * Context: peer lock held, or the peer drained.
 */
void dsm_sq_give_back(struct dsm_msgbuf *list)
{
	while (list) {
		struct dsm_net_tx *tx = to_tx(list);

		list = tx->msg.next;
		give_back(tx);
	}
}

/* The messages of a work request, in any order, onto a list: the device is done with them. */
static void take_all(struct dsm_qp *qp, struct dsm_net_tx *tx, struct dsm_msgbuf **list)
{
	struct dsm_msgbuf *m, *next;

	for (m = tx ? &tx->msg : NULL; m; m = next) {
		next = m->next;
		unmap(qp, to_tx(m));
		m->next = *list;
		*list = m;
	}
}

/* Headers and mappings of a list; all or none is mapped. */
static bool map_all(struct dsm_qp *qp, struct dsm_msgbuf *list)
{
	struct dsm_msgbuf *m, *mapped;

	for (m = list; m; m = m->next) {
		fill_header(qp, to_tx(m));
		dsm_forge_message(m);
		if (map(qp, to_tx(m)))
			break;
	}
	if (!m)
		return true;
	for (mapped = list; mapped != m; mapped = mapped->next)
		unmap(qp, to_tx(mapped));
	return false;
}

/**
 * dsm_sq_stage_bulk() - add requests to the chain as one WRITE into the peer's ring
 * @qp:   connection Q with room, its peer's next slot free
 * @list: as many messages as dsm_bulk_count() allows; the connection's from here on
 *
 * Context: as dsm_sq_stage().
 * Return: false if one could not be mapped: the peer is lost.
 */
bool dsm_sq_stage_bulk(struct dsm_qp *qp, struct dsm_msgbuf *list)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_sq_entry *e;
	struct dsm_msgbuf *m;
	struct ib_sge *sge;
	u32 counted = 0;

	lockdep_assert_held(&peer->lock);
	stage_shared_reg(qp, list);
	if (!map_all(qp, list)) {
		dsm_sq_give_back(list);
		dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ECONNRESET, "cannot map a message");
		return false;
	}
	e = entry_add(qp, to_tx(list));
	sge = dsm_bulk_take_slot(peer, &e->rdma);
	for (m = list; m; m = m->next) {
		to_tx(m)->busy = true;
		counted += count_message(peer, to_tx(m), false);
		sge[e->wr.num_sge++] = to_tx(m)->sge[0];
	}
	dsm_forge_bulk(&e->rdma);
	peer->stats.bulks += !!counted;
	peer->stats.sends_bulk += counted;
	qp->held++;
	return true;
}

/* ---- posting ---- */

static void count_post(struct dsm_qp *qp, bool signalled)
{
	struct dsm_net_peer_stats *stats = &qp->peer->stats;

	stats->doorbells++;
	stats->wrs += qp->staged;
	if (qp->staged > 1)
		stats->sends_batched += qp->staged;
	if (signalled) {
		stats->signalled++;
		stats->sends_signalled++;
	}
}

/* Must the device tell when the chain is done? */
static bool wants_completion(const struct dsm_qp *qp)
{
	return qp->held || qp->unsignalled >= min_t(u32, DSM_SIGNAL_INTERVAL, qp->sq_room / 4) ||
	       dsm_sq_is_awaited(qp->peer);
}

/* The work requests from @bad to the end of the chain were not taken. */
static void unpost(struct dsm_qp *qp, const struct ib_send_wr *bad)
{
	struct dsm_msgbuf *list = NULL;
	struct dsm_sq_entry *e;

	do {
		qp->sq_next = dsm_sq_before(qp, qp->sq_next, 1);
		qp->sq_used--;
		e = &qp->sq[qp->sq_next];
		qp->pages -= e->pages;
		take_all(qp, e->tx, &list);
	} while (&e->wr != bad);
	dsm_sq_give_back(list);
}

/**
 * dsm_sq_post() - hand the chain to the device, with one doorbell
 * @qp: connection C, Q or P; nothing happens if nothing is staged
 *
 * Context: peer lock held; any.
 */
void dsm_sq_post(struct dsm_qp *qp)
{
	struct ib_send_wr *first, *last;
	const struct ib_send_wr *bad;
	bool signalled;
	int err;

	lockdep_assert_held(&qp->peer->lock);
	if (!qp->staged)
		return;
	first = &qp->sq[dsm_sq_before(qp, qp->sq_next, qp->staged)].wr;
	last = &qp->sq[dsm_sq_before(qp, qp->sq_next, 1)].wr;
	signalled = wants_completion(qp);
	if (!dsm_sq_awaits(qp) && (signalled || qp->sq_used == qp->staged))
		qp->moved = jiffies;
	if (signalled) {
		last->send_flags |= IB_SEND_SIGNALED;
		qp->unsignalled = 0;
		qp->held = 0;
	}
	count_post(qp, signalled);
	qp->staged = 0;
	bad = first;
	err = ib_post_send(qp->id->qp, first, &bad);
	while (qp->staged_inline) {
		struct dsm_net_tx *tx = container_of(qp->staged_inline, struct dsm_net_tx, msg);

		qp->staged_inline = tx->msg.next;
		give_back(tx);
	}
	if (err) {
		unpost(qp, bad);
		dsm_peer_fail_locked(qp->peer, DSM_WHY_CAUSE, -ECONNRESET, "cannot post a send");
	}
}

/**
 * dsm_sq_flush() - see to it that a completion follows everything that was posted
 * @qp: connection C, Q or P
 *
 * By a WRITE of no bytes, which needs no registration and tells the other side nothing.
 *
 * Context: peer lock held; any.
 */
void dsm_sq_flush(struct dsm_qp *qp)
{
	struct dsm_sq_entry *e;

	lockdep_assert_held(&qp->peer->lock);
	if (!qp->unsignalled || !dsm_sq_has_room(qp))
		return;
	e = entry_add(qp, NULL);
	e->wr.opcode = IB_WR_RDMA_WRITE;
	qp->unsignalled = DSM_SIGNAL_INTERVAL;
	dsm_sq_post(qp);
}

/* ---- completion ---- */

/**
 * dsm_sq_retire() - the oldest entry is done with
 * @qp:   connection C, Q or P
 * @list: its messages, if it held any, go there
 *
 * Context: who serves completions, or who drained the connection.
 * Return: the entry.
 */
struct dsm_sq_entry *dsm_sq_retire(struct dsm_qp *qp, struct dsm_msgbuf **list)
{
	struct dsm_sq_entry *e = &qp->sq[qp->sq_done];

	qp->sq_done = after(qp, qp->sq_done);
	take_all(qp, e->tx, list);
	return e;
}

/*
 * One thread at a time serves the queue of completions, and only it moves @sq_done, or who drained
 * it. With an error the peer may have the messages or not: they stay where they are, to go again
 * when the connection is made anew, or to be freed with the peer.
 */
static void entry_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dsm_sq_entry *e = container_of(wc->wr_cqe, struct dsm_sq_entry, cqe);
	struct dsm_qp *qp = e->qp;
	struct dsm_peer *peer = qp->peer;
	struct dsm_msgbuf *list = NULL;
	struct dsm_sq_entry *done;
	u32 n = 0, ended = 0, pages = 0;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		dsm_qp_error(qp, wc->status);
		return;
	}
	if (dsm_fault_is_deaf(qp))
		return;
	do {
		done = dsm_sq_retire(qp, &list);
		ended += done->wr.opcode == IB_WR_LOCAL_INV;
		pages += done->pages;
		n++;
	} while (done != e);

	spin_lock_bh(&peer->lock);
	qp->sq_used -= n;
	qp->pages -= pages;
	qp->moved = jiffies;
	dsm_sink_ended(peer, ended);
	dsm_sq_give_back(list);
	dsm_send_push(peer, false);
	if (dsm_sq_is_awaited(peer))
		dsm_sq_flush(qp);
	if (!qp->sq_used)
		wake_up(&peer->wait);
	spin_unlock_bh(&peer->lock);
}

/**
 * dsm_sq_purge() - take back what no completion told of
 * @qp: drained connection of a peer that is not up any more, in any state of being made
 *
 * Context: process.
 */
void dsm_sq_purge(struct dsm_qp *qp)
{
	struct dsm_msgbuf *list = NULL;

	for (; qp->sq_used; qp->sq_used--)
		dsm_sq_retire(qp, &list);
	qp->pages = 0;
	dsm_sq_give_back(list);
}
