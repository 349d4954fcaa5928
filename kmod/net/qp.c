// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Queue pairs: makes one with its completion queue and receive slots, and takes
 * it apart. Never connects, and never looks at what is received.
 */
#include <linux/slab.h>

#include "net.h"
#include "sq.h"
#include "xfer.h"

/* ib_drain_qp() needs one entry of its own in each queue. */
#define DRAIN_SPARE 1

/*
 * May be called with interrupts off. A message that overtook the connection
 * manager's last packet says that the connection stands; an event that ends the
 * queue pair shows in its completions.
 */
static void qp_event(struct ib_event *event, void *context)
{
	struct dsm_qp *qp = context;
	/* NULL: the queue pair is an old one, which is being replaced. */
	struct rdma_cm_id *id = READ_ONCE(qp->id);

	if (event->event == IB_EVENT_COMM_EST && id)
		rdma_notify(id, IB_EVENT_COMM_EST);
}

/**
 * dsm_qp_post_recv() - hand a slot to the device
 * @qp: queue pair
 * @rx: slot, not with the device
 *
 * Context: any.
 * Return: 0, or what ib_post_recv() says.
 */
int dsm_qp_post_recv(struct dsm_qp *qp, struct dsm_rx *rx)
{
	struct dsm_net *net = qp->peer->net;
	struct ib_sge sge = {
		.addr = rx->dma,
		.length = qp->slot_bytes,
		.lkey = (qp->vc == DSM_VC_C ? net->pd_ctl : net->pd_data)->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &rx->cqe, .sg_list = &sge, .num_sge = 1 };

	if (!qp->slot_bytes) {
		wr.num_sge = 0;
		return ib_post_recv(qp->id->qp, &wr, NULL);
	}
	ib_dma_sync_single_for_device(net->dev, rx->dma, qp->slot_bytes, DMA_FROM_DEVICE);
	return ib_post_recv(qp->id->qp, &wr, NULL);
}

static void slots_free(struct dsm_qp *qp)
{
	struct ib_device *dev = qp->peer->net->dev;
	u32 i;

	for (i = 0; qp->rx && i < qp->slots; i++) {
		struct dsm_rx *rx = &qp->rx[i];

		if (!rx->buf)
			break;
		ib_dma_unmap_single(dev, rx->dma, qp->slot_bytes, DMA_FROM_DEVICE);
		kfree(rx->buf);
	}
	kvfree(qp->rx);
	qp->rx = NULL;
}

static int slots_alloc(struct dsm_qp *qp)
{
	struct ib_device *dev = qp->peer->net->dev;
	u32 i;

	if (qp->rx)
		return 0;
	qp->rx = kvcalloc(qp->slots, sizeof(*qp->rx), GFP_KERNEL);
	if (!qp->rx)
		return -ENOMEM;
	for (i = 0; i < qp->slots; i++) {
		struct dsm_rx *rx = &qp->rx[i];
		u8 *buf;

		rx->qp = qp;
		rx->cqe.done = dsm_recv_done;
		if (!qp->slot_bytes)
			continue;
		buf = kmalloc(qp->slot_bytes, GFP_KERNEL);
		if (!buf)
			return -ENOMEM;
		rx->dma = ib_dma_map_single(dev, buf, qp->slot_bytes, DMA_FROM_DEVICE);
		if (ib_dma_mapping_error(dev, rx->dma)) {
			kfree(buf);
			return -ENOMEM;
		}
		rx->buf = buf;
	}
	return 0;
}

static int slots_post(struct dsm_qp *qp)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < qp->slots; i++)
		err = dsm_qp_post_recv(qp, &qp->rx[i]);
	return err;
}

/*
 * Handlers of messages, signals and transfers take mutexes and allocate, so they run in process
 * context. Completions of sends only free buffers and post what waits: any context will do.
 */
static int cqs_create(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	bool spun = qp->vc == DSM_VC_P || qp->vc == DSM_VC_B;
	int cqes = qp->slots + DRAIN_SPARE;
	int err = 0;

	if (!peer->tx_cq.cq)
		err = dsm_cq_create(&peer->tx_cq, 2 * DSM_SQ_DEPTH + DSM_SQ_DEPTH_CTL +
				    DSM_VC_COUNT * DRAIN_SPARE, true, true);
	if (qp->vc == DSM_VC_B)
		cqes += qp->sq_room + DRAIN_SPARE;
	if (err || qp->rx_cq.cq)
		return err;
	return dsm_cq_create(&qp->rx_cq, cqes, spun, false);
}

/*
 * No device tells how much a work request can hold: ask for less until it agrees, and believe what it then says that it gives:
 * mlx4 agrees, and gives nothing to queue pairs of the kernel. B's hold no bytes.
 */
static int create_qp(struct dsm_qp *qp, const struct ib_qp_init_attr *wanted)
{
	struct dsm_net *net = qp->peer->net;
	struct ib_pd *pd = qp->vc == DSM_VC_C ? net->pd_ctl : net->pd_data;
	u32 bytes = qp->vc == DSM_VC_B ? 0 : DSM_INLINE_BYTES;
	int err;

	for (;;) {
		struct ib_qp_init_attr attr = *wanted;

		attr.cap.max_inline_data = bytes;
		err = rdma_create_qp(qp->id, pd, &attr);
		if (!err)
			qp->inline_bytes = min(bytes, attr.cap.max_inline_data);
		if (err != -EINVAL || !bytes)
			return err;
		bytes = bytes > DSM_HDR_BYTES ? bytes / 2 : 0;
	}
}

/**
 * dsm_qp_create() - make the queue pair of a connection and post its slots
 * @qp: connection whose @id has a device
 *
 * When a connection is made anew, its completion queues and slots are those of the former one. It
 * is drained then, so every slot is here.
 *
 * Context: process, sleeps; peer's setup mutex held. What was made when a step
 * fails is taken apart by dsm_qp_destroy().
 * Return: 0, -ENODEV if the id sits on another device than the transport, -ENOMEM, or what the
 * device says.
 */
int dsm_qp_create(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_net *net = peer->net;
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.event_handler = qp_event,
		.qp_context = qp,
	};
	int err;

	lockdep_assert_held(&peer->setup);
	if (qp->id->device != net->dev)
		return -ENODEV;
	err = cqs_create(qp);
	if (err)
		return err;
	attr.send_cq = qp->vc == DSM_VC_B ? qp->rx_cq.cq : peer->tx_cq.cq;
	attr.recv_cq = qp->rx_cq.cq;
	attr.cap.max_send_wr = qp->sq_room + DRAIN_SPARE;
	attr.cap.max_recv_wr = qp->slots + DRAIN_SPARE;
	/* Transfers, bulk, and brief answers that go together. */
	attr.cap.max_send_sge = qp->vc != DSM_VC_C && net->one_sided ? dsm_xfer_segs(net) : 2;
	attr.cap.max_recv_sge = 1;
	err = slots_alloc(qp);
	if (err)
		return err;
	if (qp->vc != DSM_VC_B)
		err = dsm_sq_alloc(qp);
	qp->rx_told = qp->rx_seq;
	qp->rx_again = READ_ONCE(peer->state) == DSM_PEER_UP ? qp->slots : 0;
	if (!err)
		err = create_qp(qp, &attr);
	if (err)
		return err;
	return slots_post(qp);
}

/**
 * dsm_qp_destroy() - free a drained queue pair, its id and its slots
 * @qp: connection; what was never made is skipped
 *
 * Context: process, sleeps; not from a handler of the id.
 */
void dsm_qp_destroy(struct dsm_qp *qp)
{
	if (qp->id) {
		if (qp->id->qp)
			rdma_destroy_qp(qp->id);
		rdma_destroy_id(qp->id);
		qp->id = NULL;
	}
	dsm_cq_destroy(&qp->rx_cq);
	dsm_sq_free(qp);
	slots_free(qp);
}

/**
 * dsm_qp_error() - a completion with an error: the connection is over
 * @qp:     queue pair
 * @status: anything but success
 *
 * A flushed request says only that the queue pair is in error; if its cause is
 * still to come in another completion, that one replaces it. What a link or a peer that is slow
 * can do may be mended; a request that was refused would be refused again.
 *
 * Context: any.
 */
void dsm_qp_error(struct dsm_qp *qp, enum ib_wc_status status)
{
	struct dsm_peer *peer = qp->peer;

	spin_lock_bh(&peer->lock);
	switch (status) {
	case IB_WC_WR_FLUSH_ERR:
		/* Before that, rdma_cm knows why and says so. */
		if (qp->established)
			dsm_resume_break_locked(peer, DSM_WHY_FLUSH, -ECONNRESET,
						"connection failed");
		break;
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		dsm_resume_break_locked(peer, DSM_WHY_CAUSE, -EHOSTDOWN,
					"messages are not acknowledged");
		break;
	case IB_WC_LOC_QP_OP_ERR:
		/* How soft-RoCE tells that it could not send, its link being down. */
		dsm_resume_break_locked(peer, DSM_WHY_CAUSE, -ECONNRESET, ib_wc_status_msg(status));
		break;
	default:
		dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ECONNRESET, ib_wc_status_msg(status));
	}
	spin_unlock_bh(&peer->lock);
}
