// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Send queues of C, Q and P after a break: which messages the peer lacks, and posting those again
 * on the new connection. Decides nothing about connections.
 */
#include "fault.h"
#include "sq.h"
#include "../core/seq.h"

/* Messages that a work request brings: the peer gets all of them or none. */
static u32 messages_of(const struct dsm_sq_entry *e)
{
	switch (e->wr.opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
		return 1;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return e->wr.num_sge;
	default:
		return 0;
	}
}

/**
 * dsm_sq_messages() - messages that are not known to be received
 * @qp: drained connection C, Q or P
 *
 * Context: peer lock held.
 * Return: their number.
 */
u32 dsm_sq_messages(const struct dsm_qp *qp)
{
	u32 i, n = 0;

	lockdep_assert_held(&qp->peer->lock);
	for (i = 1; i <= qp->sq_used; i++)
		n += messages_of(&qp->sq[dsm_sq_before(qp, qp->sq_next, i)]);
	return n;
}

/* Nothing happens when the device does it, but it keeps its place. */
static void make_void(struct dsm_sq_entry *e)
{
	memset(&e->rdma, 0, sizeof(e->rdma));
	e->wr.wr_cqe = &e->cqe;
	e->wr.opcode = IB_WR_RDMA_WRITE;
}

static void clear_end(struct dsm_qp *qp, struct dsm_msgbuf *msg)
{
	const u32 bytes = sizeof(struct dsm_wire_sink);
	struct ib_device *dev = qp->peer->net->dev;
	struct ib_sge *sge = &container_of(msg, struct dsm_net_tx, msg)->sge[0];

	ib_dma_sync_single_for_cpu(dev, sge->addr, sge->length, DMA_TO_DEVICE);
	memset(msg->data + msg->len - bytes, 0, bytes);
	ib_dma_sync_single_for_device(dev, sge->addr, sge->length, DMA_TO_DEVICE);
}

static_assert(sizeof(struct dsm_wire_ring) == sizeof(struct dsm_wire_sink));

/* The ends of requests that go together say that they name no frames; that of RING, that there is none. */
static void clear_sinks(struct dsm_qp *qp, struct dsm_sq_entry *e)
{
	const u32 bytes = sizeof(struct dsm_wire_sink);
	struct dsm_msgbuf *m;

	if (!e->tx)
		memset(e->bytes + e->sge.length - bytes, 0, bytes);
	for (m = e->tx ? &e->tx->msg : NULL; m; m = m->next)
		if (m->sink || m->data[0] == DSM_MSG_RING)
			clear_end(qp, m);
}

/**
 * dsm_sq_take_sinks() - requests that the peer lacks shall not name frames any more
 * @qp:       drained connection Q; what the peer has was checked
 * @doubtful: their sinks are put there, for dsm_sink_renew()
 *
 * Of a request that it has, the registration took place before.
 *
 * Context: peer lock held; any.
 */
void dsm_sq_take_sinks(struct dsm_qp *qp, struct list_head *doubtful)
{
	u32 missing = dsm_seq_missing(qp->tx_seq, dsm_sq_messages(qp), qp->tx_told);
	struct dsm_sq_entry *e, *request = NULL;
	u32 i, n;

	lockdep_assert_held(&qp->peer->lock);
	/* Nobody knows whether a key that was to be taken away is valid. */
	for (i = 1; i <= qp->sq_used; i++) {
		e = &qp->sq[dsm_sq_before(qp, qp->sq_next, i)];
		if (e->wr.opcode == IB_WR_LOCAL_INV)
			make_void(e);
	}
	list_splice_tail_init(&qp->peer->sinks_answered, doubtful);
	qp->peer->sinks_due = 0;
	for (i = 1; i <= qp->sq_used; i++) {
		e = &qp->sq[dsm_sq_before(qp, qp->sq_next, i)];
		n = messages_of(e);
		if (n > missing)
			return;
		missing -= n;
		if (n) {
			request = e;
		} else if (e->wr.opcode == IB_WR_REG_MR) {
			clear_sinks(qp, request);
			dsm_sink_doubt(qp->peer, e->reg.mr, doubtful);
			make_void(e);
		}
	}
}

/**
 * dsm_sq_again() - post again what the peer lacks, on a new connection
 * @qp: connection C, Q or P; what the peer has was checked, and requests name no frames
 *
 * A flush that the watchdog asked for goes again too, and brings nothing. Numbers, headers and mappings
 * are those of the first time: the peer sees the same bytes in the same order, a bulk in the same slot, but for requests
 * that name no frame now. An answer's WRITE goes again with it, since its key is good until the answer is received.
 *
 * Context: peer lock held; any.
 */
void dsm_sq_again(struct dsm_qp *qp)
{
	u32 messages = dsm_sq_messages(qp);
	u32 missing = dsm_seq_missing(qp->tx_seq, messages, qp->tx_told);
	struct dsm_sq_entry *e, *last = NULL;
	struct dsm_msgbuf *list = NULL;
	u32 repeated, i, n;

	repeated = dsm_fault_repeat(qp->peer, missing, messages);
	for (; messages > repeated; qp->sq_used--) {
		e = dsm_sq_retire(qp, &list);
		messages -= messages_of(e);
		qp->pages -= e->pages;
	}
	dsm_sq_give_back(list);
	if (messages < missing) {
		dsm_peer_fail_locked(qp->peer, DSM_WHY_CAUSE, -EPROTO,
				     "malformed request to resume: part of a bulk");
		return;
	}
	for (i = qp->sq_used; i; i--, last = e) {
		e = &qp->sq[dsm_sq_before(qp, qp->sq_next, i)];
		n = messages_of(e);
		/* What goes again although the peer has it (fault.h) registers and overwrites nothing. */
		if (e->wr.opcode == IB_WR_REG_MR ||
		    (e->wr.opcode == IB_WR_RDMA_WRITE_WITH_IMM && messages > missing))
			make_void(e);
		messages -= n;
		e->wr.next = NULL;
		e->wr.send_flags &= ~IB_SEND_SIGNALED;
		if (last)
			last->wr.next = &e->wr;
	}
	qp->staged = qp->sq_used;
	/* Nothing was told of any of them. */
	qp->unsignalled = DSM_SIGNAL_INTERVAL;
	qp->moved = jiffies;
	dsm_sq_post(qp);
}
