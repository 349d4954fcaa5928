// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * PING and PONG: messages that mean nothing, to measure what a message costs by each mechanism and
 * on each connection. Nothing depends on them, so what has no memory or no room is not answered.
 *
 * Flow control is that of all messages. A PING's slot is free again as soon as its handler returns,
 * while the PONG may still wait for credit; so PONGs that wait are counted, and beyond twice the window
 * (what an honest peer may have after a run was given up) there are no more. On P a handler may not wait and normally sends
 * nothing; this one sends without waiting, which keeps P drained.
 */
#include <linux/sched/signal.h>

#include "ping.h"

/* An answer that takes longer is not worth spinning for. */
#define SPIN_NS (3 * NSEC_PER_MSEC)

/* How long to wait for one answer. */
#define ANSWER_MS 2000

/* Bounds of a run: it ends by itself within a minute even if each message waits out its gap. */
#define COUNT_MAX 4096
#define GAP_MAX_NS (10 * NSEC_PER_MSEC)

#define BODY_MAX (DSM_MSG_BYTES - DSM_HDR_BYTES)

/* ---- answering ---- */

static bool is_sane(const struct dsm_wire_ping *ping, enum dsm_vc vc)
{
	u32 bytes = le16_to_cpu(ping->bytes);

	if (ping->mech > DSM_NET_GATHER || ping->answer > DSM_PING_HIGH)
		return false;
	if (ping->answer == DSM_PING_LOW && vc != DSM_VC_Q)
		return false;
	return !ping->answer || (bytes >= sizeof(*ping) && bytes <= BODY_MAX);
}

static struct dsm_net_tx *message(struct dsm_net *net, u8 type, u32 xid, const struct dsm_wire_ping *body, u32 bytes,
				  gfp_t gfp)
{
	struct dsm_net_tx *tx = dsm_send_tx_new(net, gfp);

	if (!tx)
		return NULL;
	dsm_wire_begin(&tx->msg, type, 0, xid);
	memset(tx->msg.data + DSM_HDR_BYTES, 0, bytes);
	memcpy(tx->msg.data + DSM_HDR_BYTES, body, sizeof(*body));
	tx->msg.len = DSM_HDR_BYTES + bytes;
	return tx;
}

/**
 * dsm_ping_recv() - handle a PING
 * @qp:  connection Q or P it came on
 * @msg: message, its header checked
 * @len: its length in bytes
 * @xid: its number
 *
 * Context: as handlers of messages; does not sleep.
 * Return: NULL, or the rule that it breaks.
 */
const char *dsm_ping_recv(struct dsm_qp *qp, const u8 *msg, u32 len, u32 xid)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_wire_ping ping;
	struct dsm_net_tx *tx;

	if (len < DSM_HDR_BYTES + sizeof(ping))
		return "malformed message: ping too short";
	memcpy(&ping, msg + DSM_HDR_BYTES, sizeof(ping));
	if (!is_sane(&ping, qp->vc))
		return "malformed message: ping asks for what there is not";
	if (ping.answer == DSM_PING_NONE)
		return NULL;
	tx = message(qp->peer->net, DSM_MSG_PONG, xid, &ping, le16_to_cpu(ping.bytes), GFP_NOWAIT | __GFP_NOWARN);
	if (!tx)
		return NULL;
	tx->mech = ping.mech;
	tx->msg.class = ping.answer == DSM_PING_LOW ? DSM_CLASS_FWD : DSM_CLASS_RSP;
	spin_lock_bh(&peer->lock);
	if (peer->state == DSM_PEER_UP && peer->pongs < 2 * DSM_PINGS_MAX) {
		peer->pongs++;
		dsm_send_queue(peer, tx);
		dsm_send_push(peer, false);
		tx = NULL;
	}
	spin_unlock_bh(&peer->lock);
	if (tx)
		dsm_send_tx_free(tx);
	return NULL;
}

/**
 * dsm_ping_answered() - handle a PONG
 * @qp:  connection Q or P it came on
 * @msg: message, its header checked
 * @len: its length in bytes
 * @xid: number of the run that it answers; those of a run that was given up are ignored
 *
 * Context: as handlers of messages; does not sleep.
 * Return: NULL, or the rule that it breaks.
 */
const char *dsm_ping_answered(struct dsm_qp *qp, const u8 *msg, u32 len, u32 xid)
{
	struct dsm_peer *peer = qp->peer;
	const char *rule = NULL;
	struct dsm_wire_ping pong;
	u32 seq;

	if (len < DSM_HDR_BYTES + sizeof(pong))
		return "malformed message: pong too short";
	memcpy(&pong, msg + DSM_HDR_BYTES, sizeof(pong));
	seq = le32_to_cpu(pong.seq);
	spin_lock_bh(&peer->lock);
	if (peer->ping.active && xid == peer->ping.xid) {
		/* One connection keeps the order, so an answer speaks for all before it. */
		if (seq < peer->ping.answered || seq >= peer->ping.sent)
			rule = "malformed message: pong for no ping";
		else
			WRITE_ONCE(peer->ping.answered, seq + 1);
		wake_up(&peer->wait);
	}
	spin_unlock_bh(&peer->lock);
	return rule;
}

/**
 * dsm_ping_received() - count the time that a message took
 * @peer: its sender
 * @ns:   from its completion until its slot was posted again
 *
 * Context: any but with the peer's lock held.
 */
void dsm_ping_received(struct dsm_peer *peer, u64 ns)
{
	spin_lock_bh(&peer->lock);
	peer->ping.recv_ns += ns;
	spin_unlock_bh(&peer->lock);
}

/* ---- asking ---- */

static bool is_over(struct dsm_peer *peer)
{
	return READ_ONCE(peer->state) != DSM_PEER_UP;
}

static bool is_answered(struct dsm_peer *peer, u32 need)
{
	return READ_ONCE(peer->ping.answered) >= need;
}

static void spin_until(struct dsm_peer *peer, u32 need, u64 end)
{
	dsm_net_spin_begin(peer->net);
	while (!is_answered(peer, need) && !is_over(peer) && !signal_pending(current) &&
	       ktime_get_ns() < end)
		if (!dsm_net_poll(peer->net, peer->node))
			yield();
	dsm_net_spin_end(peer->net);
}

/* Until the first @need PINGs are answered. */
static int await(struct dsm_peer *peer, const struct dsm_net_ping *p, u32 need)
{
	long left;

	if (p->spin)
		spin_until(peer, need, ktime_get_ns() + SPIN_NS);
	left = wait_event_killable_timeout(peer->wait, is_answered(peer, need) || is_over(peer),
					   msecs_to_jiffies(ANSWER_MS));
	if (left < 0)
		return -EINTR;
	if (is_answered(peer, need))
		return 0;
	return is_over(peer) ? -EHOSTDOWN : -ETIMEDOUT;
}

/* PING number @seq; of a one-way run every @window-th and the last one are answered. */
static struct dsm_net_tx *ping_new(struct dsm_peer *peer, const struct dsm_net_ping *p, u32 seq)
{
	bool last = seq + 1 == p->count || (seq + 1) % p->window == 0;
	struct dsm_wire_ping ping = {
		.seq = cpu_to_le32(seq),
		.bytes = cpu_to_le16(p->one_way ? sizeof(ping) : p->answer_bytes),
		.answer = p->priority == DSM_NET_LOW ? DSM_PING_LOW : DSM_PING_HIGH,
		/* Only requests go by the ring. */
		.mech = p->mech == DSM_NET_BULK ? DSM_NET_AUTO : p->mech,
	};
	struct dsm_net_tx *tx;

	if (p->one_way && !last)
		ping.answer = DSM_PING_NONE;
	tx = message(peer->net, DSM_MSG_PING, peer->ping.xid, &ping, p->bytes, GFP_KERNEL);
	tx->mech = p->mech;
	tx->msg.class = p->priority == DSM_NET_HIGH ? DSM_CLASS_RSP : DSM_CLASS_REQ;
	return tx;
}

/* @n PINGs from number @seq on, with one doorbell if credits allow. */
static int send_some(struct dsm_peer *peer, const struct dsm_net_ping *p, u32 seq, u32 n)
{
	struct dsm_msgbuf *list = NULL, **tail = &list;
	struct dsm_net_tx *tx;
	u32 i;
	int err = 0;

	for (i = 0; i < n; i++) {
		tx = ping_new(peer, p, seq + i);
		*tail = &tx->msg;
		tail = &tx->msg.next;
	}
	*tail = NULL;
	spin_lock_bh(&peer->lock);
	if (peer->state == DSM_PEER_UP) {
		WRITE_ONCE(peer->ping.sent, seq + n);
		while (list) {
			tx = container_of(list, struct dsm_net_tx, msg);
			list = list->next;
			dsm_send_queue(peer, tx);
		}
		dsm_send_push(peer, false);
	} else {
		err = -EHOSTDOWN;
	}
	spin_unlock_bh(&peer->lock);
	while (list) {
		tx = container_of(list, struct dsm_net_tx, msg);
		list = list->next;
		dsm_send_tx_free(tx);
	}
	return err;
}

/* Pauses, in which a spinning run takes what answers there are. */
static void pause_for(struct dsm_peer *peer, const struct dsm_net_ping *p)
{
	u64 end = ktime_get_ns() + p->gap_ns;

	if (p->spin)
		dsm_net_spin_begin(peer->net);
	while (ktime_get_ns() < end && !is_over(peer) && !fatal_signal_pending(current)) {
		if (p->spin)
			dsm_net_poll(peer->net, peer->node);
		cond_resched();
	}
	if (p->spin)
		dsm_net_spin_end(peer->net);
}

static int run(struct dsm_peer *peer, struct dsm_net_ping *p)
{
	/* In a one-way run one window may be under way while the next is sent. */
	u32 ahead = p->one_way ? 2 * p->window : p->window;
	u64 start = ktime_get_ns(), now = start;
	u32 sent = 0, n;
	int err = 0;

	p->busy_ns = 0;
	while (!err && sent < p->count) {
		n = min(p->batch, p->count - sent);
		if (sent + n > ahead)
			err = await(peer, p, sent + n - ahead);
		if (err)
			break;
		now = ktime_get_ns();
		err = send_some(peer, p, sent, n);
		p->busy_ns += ktime_get_ns() - now;
		sent += n;
		if (p->gap_ns && sent < p->count)
			pause_for(peer, p);
	}
	p->send_ns = ktime_get_ns() - start;
	if (!err)
		err = await(peer, p, p->count);
	p->total_ns = ktime_get_ns() - start;
	return err;
}

/* The peer's one run begins. */
static int claim(struct dsm_peer *peer)
{
	int err = 0;

	spin_lock_bh(&peer->lock);
	if (peer->state != DSM_PEER_UP) {
		err = -EHOSTDOWN;
	} else if (peer->ping.active) {
		err = -EBUSY;
	} else {
		peer->ping.active = true;
		peer->ping.xid++;
		peer->ping.sent = 0;
		peer->ping.answered = 0;
		peer->ping.recv_ns = 0;
	}
	spin_unlock_bh(&peer->lock);
	return err;
}

static void unclaim(struct dsm_peer *peer, struct dsm_net_ping *p)
{
	spin_lock_bh(&peer->lock);
	peer->ping.active = false;
	p->recv_ns = peer->ping.recv_ns;
	spin_unlock_bh(&peer->lock);
}

static bool is_possible(const struct dsm_net_ping *p)
{
	return p->mech <= DSM_NET_BULK && p->priority <= DSM_NET_CALL &&
	       !(p->mech == DSM_NET_BULK && p->priority == DSM_NET_HIGH) &&
	       p->bytes >= sizeof(struct dsm_wire_ping) && p->bytes <= BODY_MAX &&
	       (p->one_way || (p->answer_bytes >= sizeof(struct dsm_wire_ping) &&
			       p->answer_bytes <= BODY_MAX)) &&
	       p->count && p->count <= COUNT_MAX && p->window && p->window <= DSM_PINGS_MAX &&
	       p->batch && p->batch <= p->window && p->gap_ns <= GAP_MAX_NS;
}

/**
 * dsm_net_ping() - send PINGs to a node and wait for the answers
 * @net: transport, held by the caller
 * @p:   what to send; filled with the times it took
 *
 * Context: process, no lock held; sleeps, killable. At most 2 s for any one answer.
 * Return: 0; -EINVAL: something of @p out of its bounds; -EMSGSIZE: too long to go inline;
 *         -EOPNOTSUPP: the node keeps no ring, or the device cannot write to it;
 *         -EHOSTDOWN: the node is not up, or was lost; -EBUSY: another run to it is going on;
 *         -ETIMEDOUT: no answer; -EINTR: killed.
 */
int dsm_net_ping(struct dsm_net *net, struct dsm_net_ping *p)
{
	struct dsm_peer *peer;
	u32 longest;
	int err;

	if (!is_possible(p))
		return -EINVAL;
	peer = dsm_peer_find(net, p->node);
	if (!peer)
		return -EHOSTDOWN;
	err = claim(peer);
	if (err)
		goto out;
	longest = max(p->bytes, p->one_way ? 0 : p->answer_bytes) + DSM_HDR_BYTES;
	/* Once known the key is not forgotten. */
	if (p->mech == DSM_NET_BULK && !(net->one_sided && READ_ONCE(peer->bulk.rkey)))
		err = -EOPNOTSUPP;
	else if (p->mech == DSM_NET_INLINE &&
	    longest > min(peer->qp[DSM_VC_Q].inline_bytes, peer->qp[DSM_VC_P].inline_bytes))
		err = -EMSGSIZE;
	else
		err = run(peer, p);
	unclaim(peer, p);
out:
	dsm_peer_put(peer);
	return err;
}
