// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Receiving: checks every header, handles beats, credits and farewells, and
 * hands everything else to the shell. Believes nothing a peer sends, and posts
 * a slot again only when its message was handled.
 *
 * One thread at a time serves a completion queue, so the messages of one queue
 * pair are handled one after the other. Messages that arrive before the shell
 * was told of the peer are parked in their slots; dsm_recv_open() handles them
 * first, in order.
 */
#include "fault.h"
#include "ping.h"
#include "../core/seq.h"

/*
 * Class of each message type plus one, 0: no such type. JOIN_DONE is
 * reserved and may not be sent; CREDIT is of the class of its connection.
 */
#define IS(class) (DSM_CLASS_##class + 1)
static const u8 type_class[DSM_MSG_TYPE_END] = {
	[DSM_MSG_RING] = IS(REQ),
	[DSM_MSG_FETCH] = IS(REQ),
	[DSM_MSG_PAGE] = IS(RSP),
	[DSM_MSG_DIFF] = IS(REQ),
	[DSM_MSG_DIFF_ACK] = IS(RSP),
	[DSM_MSG_DIFF_DIRECT] = IS(REQ),
	[DSM_MSG_DIFF_BACK] = IS(RSP),
	[DSM_MSG_INTERVALS] = IS(RSP),
	[DSM_MSG_LOCK_REQ] = IS(REQ),
	[DSM_MSG_LOCK_PASS] = IS(FWD),
	[DSM_MSG_LOCK_GRANT] = IS(RSP),
	[DSM_MSG_LOCK_RETURN] = IS(REQ),
	[DSM_MSG_BAR_ARRIVE] = IS(REQ),
	[DSM_MSG_BAR_DEPART] = IS(RSP),
	[DSM_MSG_FLAG_OP] = IS(REQ),
	[DSM_MSG_FLAG_REPLY] = IS(RSP),
	[DSM_MSG_HEARTBEAT] = IS(CTL),
	[DSM_MSG_BYE] = IS(CTL),
	[DSM_MSG_CONTROL] = IS(REQ),
	[DSM_MSG_CONTROL_REPLY] = IS(RSP),
	[DSM_MSG_INTERVAL_PULL] = IS(REQ),
	[DSM_MSG_LOCK_TRY] = IS(REQ),
	[DSM_MSG_LOCK_TRY_PASS] = IS(FWD),
	[DSM_MSG_LOCK_TRY_DONE] = IS(RSP),
	[DSM_MSG_LOCK_REFUSED] = IS(RSP),
	[DSM_MSG_LOCK_RETURN_ACK] = IS(RSP),
	[DSM_MSG_LOCK_PROBE] = IS(REQ),
	[DSM_MSG_LOCK_STATE] = IS(RSP),
	[DSM_MSG_LOCK_APART] = IS(RSP),
	[DSM_MSG_BAR_ABORT] = IS(REQ),
	[DSM_MSG_SYNC_PUSH] = IS(REQ),
	[DSM_MSG_SYNC_PULL] = IS(REQ),
	[DSM_MSG_SYNC_REPLY] = IS(RSP),
	[DSM_MSG_BAR_ASK] = IS(FWD),
	[DSM_MSG_RLOCK] = IS(REQ),
	[DSM_MSG_RLOCK_REPLY] = IS(RSP),
	[DSM_MSG_RSYNC_KEY] = IS(REQ),
	[DSM_MSG_CSM_NOTICE] = IS(REQ),
	[DSM_MSG_CSM_NOTICE_ACK] = IS(RSP),
	[DSM_MSG_CSM_DROP] = IS(REQ),
	[DSM_MSG_CSM_DROP_ACK] = IS(RSP),
	[DSM_MSG_CSM_WHERE] = IS(REQ),
	[DSM_MSG_CSM_HERE] = IS(RSP),
	[DSM_MSG_CSM_UPGRADE] = IS(REQ),
	[DSM_MSG_CSM_GRANT] = IS(RSP),
	[DSM_MSG_CSM_BREAK] = IS(FWD),
	[DSM_MSG_CSM_BACK] = IS(RSP),
	[DSM_MSG_CSM_BACK_ACK] = IS(RSP),
	[DSM_MSG_SC_GET] = IS(REQ),
	[DSM_MSG_SC_RECALL] = IS(FWD),
	[DSM_MSG_SC_BACK] = IS(RSP),
	[DSM_MSG_SC_GRANT] = IS(RSP),
	[DSM_MSG_SC_DONE] = IS(RSP),
};

/**
 * dsm_recv_class() - class of a message type
 * @type: from a header, not checked
 *
 * Context: any.
 * Return: enum dsm_class, or -1 for an unknown type and for CREDIT, PING and PONG, whose class
 *         depends on their connection.
 */
int dsm_recv_class(u8 type)
{
	return type < DSM_MSG_TYPE_END ? type_class[type] - 1 : -1;
}

/* Connection that carries a class. */
static enum dsm_vc class_vc(enum dsm_class class)
{
	if (class == DSM_CLASS_CTL)
		return DSM_VC_C;
	return class == DSM_CLASS_RSP ? DSM_VC_P : DSM_VC_Q;
}

static int type_class_on(u8 type, enum dsm_vc vc)
{
	int class = dsm_recv_class(type);

	if ((type == DSM_MSG_CREDIT || type == DSM_MSG_PING) && vc != DSM_VC_C)
		return vc == DSM_VC_Q ? DSM_CLASS_REQ : DSM_CLASS_RSP;
	if (type == DSM_MSG_PONG && vc != DSM_VC_C)
		return vc == DSM_VC_Q ? DSM_CLASS_FWD : DSM_CLASS_RSP;
	return class >= 0 && class_vc(class) == vc ? class : -1;
}

/**
 * struct header - a received header in host order, as far as net reads it
 * @type:   message type
 * @class:  its class, -1: not allowed on this connection
 * @len:    length it claims
 * @epoch:  membership epoch
 * @src:    sender it claims
 * @region: answers: of the request
 * @xid:    likewise; beats: messages on C that the peer has received
 * @seq:    number on this queue pair
 * @credit: credit word
 */
struct header {
	u8 type;
	int class;
	u32 len;
	u32 epoch;
	u32 src;
	u32 region;
	u32 xid;
	u32 seq;
	u64 credit;
};

static void read_header(const struct dsm_rx *rx, struct header *h)
{
	struct dsm_wire_hdr hdr;

	memcpy(&hdr, rx->buf, sizeof(hdr));
	h->type = hdr.type;
	h->class = type_class_on(hdr.type, rx->qp->vc);
	h->len = le16_to_cpu(hdr.len);
	h->epoch = le32_to_cpu(hdr.epoch);
	h->src = le32_to_cpu(hdr.src);
	h->region = le32_to_cpu(hdr.region);
	h->xid = le32_to_cpu(hdr.xid);
	h->seq = le32_to_cpu(hdr.seq);
	h->credit = le64_to_cpu(hdr.credit);
}

static bool is_ping(const struct header *h)
{
	return h->type == DSM_MSG_PING || h->type == DSM_MSG_PONG;
}

/* Messages that net handles itself have no body, but for PING and PONG. */
static bool is_bare(const struct header *h)
{
	return h->class == DSM_CLASS_CTL || h->type == DSM_MSG_CREDIT;
}

/* Which rule a header breaks; NULL if none. @again: it was here before the connection broke. */
static const char *check_header(const struct dsm_rx *rx, const struct header *h, bool *again)
{
	const struct dsm_qp *qp = rx->qp;
	enum dsm_seq_verdict verdict = dsm_seq_judge(h->seq, qp->rx_seq, qp->rx_told, qp->rx_again);

	*again = verdict == DSM_SEQ_AGAIN;

	if (h->len != rx->len)
		return "malformed message: length";
	if (h->class < 0)
		return "malformed message: type";
	if (h->src != qp->peer->node)
		return "malformed message: sender";
	if (verdict == DSM_SEQ_WRONG)
		return "malformed message: sequence";
	if (*again && rx->invalidated)
		return "malformed message: comes again and takes a key away";
	if (h->epoch)
		return "malformed message: epoch";
	if (is_bare(h) && h->len != DSM_HDR_BYTES)
		return "malformed message: body where none belongs";
	return NULL;
}

/* Count a checked message and apply what its header tells. NULL, or the rule it breaks. */
static const char *account(struct dsm_qp *qp, const struct header *h, bool in_bulk)
{
	struct dsm_peer *peer = qp->peer;

	lockdep_assert_held(&peer->lock);
	qp->rx_seq = h->seq;
	qp->rx_again = 0;
	if (!is_ping(h) && !is_bare(h)) {
		peer->stats.rx_msgs[h->class]++;
		peer->stats.rx_bytes += h->len;
	}
	if (h->class == DSM_CLASS_CTL) {
		if (h->type != DSM_MSG_HEARTBEAT)
			return NULL;
		if (h->xid - peer->beats_acked > qp->tx_seq - peer->beats_acked)
			return "malformed message: beats acknowledged";
		peer->beats_acked = h->xid;
		return NULL;
	}
	if (!in_bulk && !dsm_credit_receive(&peer->credit, h->class))
		return "malformed message: sent without credit";
	if (!dsm_credit_take(&peer->credit, qp->vc, h->credit))
		return "malformed message: credits";
	/* What a CREDIT lets go is to return the CREDIT's own slot, perhaps the only one that is given back: repost() pushes. */
	if (h->type != DSM_MSG_CREDIT)
		dsm_send_push(peer, false);
	return NULL;
}

static void drop_peer(struct dsm_rx *rx, const struct header *h, const char *rule)
{
	struct dsm_peer *peer = rx->qp->peer;

	spin_lock_bh(&peer->lock);
	peer->stats.invalid_msgs++;
	spin_unlock_bh(&peer->lock);
	pr_warn_ratelimited("dsm: node %u: %s (type %u, %u bytes): connection dropped\n",
			    peer->node, rule, h->type, rx->len);
	dsm_peer_fail(peer, DSM_WHY_CAUSE, -EPROTO, rule);
}

/*
 * Post a slot; peer lock held. False: nobody needs it any more. When connections are made anew
 * all slots are posted, so between break and drain none may be: it would come back as an error of
 * the new connection.
 */
static bool post_slot(struct dsm_rx *rx)
{
	struct dsm_peer *peer = rx->qp->peer;

	lockdep_assert_held(&peer->lock);
	if (peer->state != DSM_PEER_UP && !peer->leaving)
		return false;
	if (peer->resume.broken && !peer->resume.ready)
		return true;
	if (!dsm_qp_post_recv(rx->qp, rx))
		return true;
	dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ECONNRESET, "cannot post a receive");
	return false;
}

/* Post a slot again and let the peer know, by and by. @asks: a request was in it, and no CREDIT. */
static void repost(struct dsm_rx *rx, enum dsm_class class, bool asks)
{
	struct dsm_qp *qp = rx->qp;
	struct dsm_peer *peer = qp->peer;
	/* Once posted it may be filled again. */
	bool bulk = rx->bulk;

	spin_lock_bh(&peer->lock);
	if (!post_slot(rx) || qp->vc == DSM_VC_C)
		goto unlock;
	if (!dsm_fault_withhold(peer, class)) {
		if (asks && dsm_send_is_flooded(peer)) {
			dsm_credit_withhold(&peer->credit);
			peer->stats.credits_held++;
		} else if (bulk) {
			dsm_credit_repost_bulk(&peer->credit);
		} else {
			dsm_credit_repost(&peer->credit, class);
		}
		if (dsm_credit_return_due(&peer->credit, dsm_credit_carrier(class), true))
			queue_delayed_work(peer->net->beat_wq, &peer->idle_work,
					   msecs_to_jiffies(20));
	}
	dsm_send_push(peer, false);
unlock:
	spin_unlock_bh(&peer->lock);
}

/* A message that was here before took a slot, but no credit. They come in order, each once. */
static void discard(struct dsm_rx *rx, u32 seq)
{
	struct dsm_peer *peer = rx->qp->peer;

	spin_lock_bh(&peer->lock);
	peer->stats.duplicates++;
	rx->qp->rx_again = rx->qp->rx_told - seq;
	post_slot(rx);
	spin_unlock_bh(&peer->lock);
}

/* A signal: what came before it on B has landed. */
static void handle_signal(struct dsm_rx *rx)
{
	struct dsm_peer *peer = rx->qp->peer;
	struct dsm_net *net = peer->net;
	struct header none = {};
	const char *rule = NULL;
	bool deliver;

	spin_lock_bh(&peer->lock);
	if (!dsm_credit_receive(&peer->credit, DSM_CREDIT_SIGNAL))
		rule = "malformed signal: sent without credit";
	peer->stats.rx_signals++;
	rx->qp->rx_seq++;
	deliver = peer->state == DSM_PEER_UP || peer->bye;
	spin_unlock_bh(&peer->lock);
	if (!rule && deliver && net->ops->signal(net->ctx, peer->node, rx->imm))
		rule = "malformed signal: value";
	if (rule)
		drop_peer(rx, &none, rule);
	else
		repost(rx, DSM_CREDIT_SIGNAL, false);
}

/* What a checked message means, if anything. NULL, or the rule that its body breaks. */
static const char *deliver_message(struct dsm_rx *rx, const struct header *h)
{
	struct dsm_peer *peer = rx->qp->peer;
	struct dsm_net *net = peer->net;

	if (is_bare(h))
		return NULL;
	if (h->type == DSM_MSG_RING)
		return dsm_bulk_learn(peer, rx->buf + DSM_HDR_BYTES, rx->len - DSM_HDR_BYTES);
	if (h->type == DSM_MSG_PING)
		return dsm_ping_recv(rx->qp, rx->buf, rx->len, h->xid);
	if (h->type == DSM_MSG_PONG)
		return dsm_ping_answered(rx->qp, rx->buf, rx->len, h->xid);
	if (net->ops->recv(net->ctx, peer->node, h->class, rx->buf, rx->len))
		return "malformed message: body";
	return NULL;
}

/* One message whose header is right, in order. NULL, or the rule it breaks. */
static const char *receive(struct dsm_rx *rx, const struct header *h, bool in_bulk)
{
	struct dsm_qp *qp = rx->qp;
	struct dsm_peer *peer = qp->peer;
	const char *rule;
	bool deliver;

	spin_lock_bh(&peer->lock);
	rule = dsm_sink_answered(peer, rx, h->type, h->region, h->xid);
	if (!rule)
		rule = account(qp, h, in_bulk);
	deliver = peer->state == DSM_PEER_UP || peer->bye;
	if (h->type == DSM_MSG_BYE) {
		peer->bye = true;
		dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ESHUTDOWN, "closed by the peer");
	}
	spin_unlock_bh(&peer->lock);
	return !rule && deliver ? deliver_message(rx, h) : rule;
}

static void handle_message(struct dsm_rx *rx)
{
	const char *rule;
	struct header h;
	bool again;

	read_header(rx, &h);
	rule = check_header(rx, &h, &again);
	if (!rule && !again)
		rule = receive(rx, &h, false);
	if (rule)
		drop_peer(rx, &h, rule);
	else if (again)
		discard(rx, h.seq);
	else
		repost(rx, h.class, h.class == DSM_CLASS_REQ && !is_bare(&h));
}

/* The next message of a slot of the ring. NULL, or the rule it breaks. */
static const char *receive_bulk(struct dsm_rx *one, struct header *h)
{
	const char *rule;
	bool again;

	read_header(one, h);
	rule = check_header(one, h, &again);
	if (!rule && h->class != DSM_CLASS_REQ)
		rule = "malformed bulk: class";
	/* Slots are used in turn, so what is written again is what was not here. */
	if (!rule && again)
		rule = "malformed bulk: message that was here before";
	return rule ?: receive(one, h, true);
}

/* A slot of the ring: requests behind each other, with one credit for all. The pages that they ask for go together too. */
static void handle_bulk(struct dsm_rx *rx)
{
	struct dsm_peer *peer = rx->qp->peer;
	struct dsm_rx one = { .qp = rx->qp, .len = rx->len };
	struct header h = {};
	const char *rule;
	bool last = false;

	spin_lock_bh(&peer->lock);
	rule = dsm_bulk_begin(peer, rx->imm, rx->len);
	peer->gathering = !rule;
	spin_unlock_bh(&peer->lock);
	while (!rule && !last) {
		rule = dsm_bulk_next(peer, &one, &last);
		if (last)
			repost(rx, DSM_CLASS_REQ, true);
		rule = rule ?: receive_bulk(&one, &h);
	}
	spin_lock_bh(&peer->lock);
	peer->gathering = false;
	dsm_send_push(peer, false);
	spin_unlock_bh(&peer->lock);
	if (rule)
		drop_peer(&one, &h, rule);
}

/* The messages that a brief answer stands for are made up in its slot. NULL, or the rule it breaks. */
static const char *deliver_brief(struct dsm_rx *rx, const struct dsm_briefly *b)
{
	struct dsm_peer *peer = rx->qp->peer;
	struct dsm_net *net = peer->net;
	u32 i;

	for (i = 0; i < b->n; i++) {
		int len = dsm_sink_expand(peer, b, i, rx->buf);

		if (len < 0 || net->ops->recv(net->ctx, peer->node, DSM_CLASS_RSP, rx->buf, len))
			return "malformed brief answer: number";
	}
	return NULL;
}

/* Answers that are a page each, and an immediate for all. */
static void handle_brief(struct dsm_rx *rx)
{
	struct dsm_peer *peer = rx->qp->peer;
	struct header h = { .type = DSM_MSG_PAGE, .class = DSM_CLASS_RSP };
	struct dsm_briefly b;
	const char *rule;
	bool deliver, named;

	spin_lock_bh(&peer->lock);
	rule = dsm_sink_answered_briefly(peer, rx->imm, rx->len, &b);
	named = !rule;
	if (named) {
		h.seq = rx->qp->rx_seq + b.n;
		h.credit = dsm_credit_brief_word(&peer->credit, dsm_sink_brief_credits(rx->imm));
		rule = account(rx->qp, &h, false);
		/* It has counted one. */
		peer->stats.rx_msgs[h.class] += b.n - 1;
	}
	deliver = peer->state == DSM_PEER_UP || peer->bye;
	spin_unlock_bh(&peer->lock);
	if (!rule && deliver)
		rule = deliver_brief(rx, &b);
	if (named) {
		spin_lock_bh(&peer->lock);
		dsm_sink_used(peer, &b);
		spin_unlock_bh(&peer->lock);
	}
	if (rule)
		drop_peer(rx, &h, rule);
	else
		repost(rx, h.class, false);
}

static void handle(struct dsm_rx *rx)
{
	if (rx->qp->vc == DSM_VC_B)
		handle_signal(rx);
	else if (rx->brief)
		handle_brief(rx);
	else if (rx->bulk)
		handle_bulk(rx);
	else
		handle_message(rx);
}

/* Keep a message until the shell knows the peer. False: it is time to handle it. */
static bool park(struct dsm_rx *rx)
{
	struct dsm_qp *qp = rx->qp;
	struct dsm_peer *peer = qp->peer;
	bool parked = false;

	spin_lock_bh(&peer->lock);
	if (!qp->rx_open) {
		list_add_tail(&rx->park, &qp->parked);
		parked = true;
	}
	spin_unlock_bh(&peer->lock);
	return parked;
}

/* After a local decision to drop the peer nothing more of it is read. */
static bool is_deaf(struct dsm_peer *peer)
{
	bool deaf;

	spin_lock_bh(&peer->lock);
	deaf = peer->state >= DSM_PEER_CLOSING && !peer->bye && !peer->leaving &&
	       peer->why == DSM_WHY_CAUSE;
	spin_unlock_bh(&peer->lock);
	return deaf;
}

/* Is this what belongs on its connection? Takes length or value. */
static bool take(struct dsm_rx *rx, const struct ib_wc *wc)
{
	rx->len = wc->byte_len;
	rx->invalidated = wc->wc_flags & IB_WC_WITH_INVALIDATE;
	if (rx->invalidated)
		rx->rkey = wc->ex.invalidate_rkey;
	rx->bulk = wc->opcode == IB_WC_RECV_RDMA_WITH_IMM && rx->qp->vc == DSM_VC_Q;
	rx->brief = wc->opcode == IB_WC_RECV_RDMA_WITH_IMM && rx->qp->vc == DSM_VC_P;
	if (rx->qp->vc != DSM_VC_B && !rx->bulk && !rx->brief)
		return wc->opcode == IB_WC_RECV && rx->len >= DSM_HDR_BYTES &&
		       rx->len <= rx->qp->slot_bytes;
	rx->imm = be32_to_cpu(wc->ex.imm_data);
	return wc->opcode == IB_WC_RECV_RDMA_WITH_IMM && wc->wc_flags & IB_WC_WITH_IMM;
}

/*
 * The other side sends nothing before all connections stand there. Of each the last packet of the connection manager may
 * have been lost, and comes again only after seconds: what was received says as much. Who holds @setup at the moment is
 * making or ending some; then the next message will do.
 */
static void all_must_stand(struct dsm_peer *peer)
{
	int i;

	if (!mutex_trylock(&peer->setup))
		return;
	for (i = 0; i < DSM_VC_COUNT; i++)
		if (peer->qp[i].id && !READ_ONCE(peer->qp[i].established))
			rdma_notify(peer->qp[i].id, IB_EVENT_COMM_EST);
	mutex_unlock(&peer->setup);
}

/**
 * dsm_recv_done() - completion of a receive
 * @cq: completion queue of one queue pair
 * @wc: completion
 *
 * Context: whoever serves the completion queue, one thread at a time; may sleep.
 */
void dsm_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct dsm_rx *rx = container_of(wc->wr_cqe, struct dsm_rx, cqe);
	struct dsm_qp *qp = rx->qp;
	struct dsm_peer *peer = qp->peer;
	u64 start = READ_ONCE(peer->ping.active) ? ktime_get_ns() : 0;
	struct header none = {};

	if (rx->buf)
		ib_dma_sync_single_for_cpu(peer->net->dev, rx->dma, qp->slot_bytes,
					   DMA_FROM_DEVICE);
	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		dsm_qp_error(qp, wc->status);
		return;
	}
	WRITE_ONCE(peer->last_rx, jiffies);
	if (unlikely(READ_ONCE(peer->state) == DSM_PEER_SETUP || READ_ONCE(peer->resume.broken)) && !peer->active)
		all_must_stand(peer);
	if (is_deaf(peer))
		return;
	if (!take(rx, wc)) {
		drop_peer(rx, &none, "malformed message: too short or out of place");
		return;
	}
	if (!park(rx))
		handle(rx);
	if (start)
		dsm_ping_received(peer, ktime_get_ns() - start);
}

/**
 * dsm_recv_open() - handle the parked messages, then let the worker handle the rest
 * @qp: queue pair of a peer that the shell knows
 *
 * Context: the peer's up work; sleeps as handlers do. New messages are parked behind
 * the others until none is left, so their order holds.
 */
void dsm_recv_open(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_rx *rx;

	for (;;) {
		spin_lock_bh(&peer->lock);
		rx = list_first_entry_or_null(&qp->parked, struct dsm_rx, park);
		if (rx)
			list_del(&rx->park);
		else
			qp->rx_open = true;
		spin_unlock_bh(&peer->lock);
		if (!rx)
			return;
		if (!is_deaf(peer))
			handle(rx);
	}
}
