// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The cluster's multicast group: datagrams to all nodes at once, which may be lost, and are not answered. One UD queue
 * pair, buffers that are made with it, and no others: what finds none is lost. rdma_cm joins the group; its id has
 * no queue pair, since it takes none of the kernel's there. Knows a datagram's head only to cut a page into parts.
 */
#include <linux/bitmap.h>
#include <linux/jhash.h>
#include <linux/slab.h>

#include "../core/bcast.h"
#include "fault.h"
#include "link.h"

/* Two pages per datagram of 1024 bytes wait for their completion, or for their handler. */
#define SEND_SLOTS 64
#define RECV_SLOTS 128

/* In front of what was received; the device writes it. */
#define GRH_BYTES 40u
#define SLOT_BYTES 4096u

#define JOIN_MS 5000
#define DRAIN_MS 2000

/* 239.192.0.0/14: an organisation's own. */
#define GROUPS 0xefc00000u
#define GROUPS_MASK 0x3ffffu

/* A buffer of one datagram; @at: its place in the sends. */
struct slot {
	struct ib_cqe cqe;
	struct dsm_mcast *mc;
	u32 at;
	u8 *buf;
	u64 dma;
};

/**
 * struct dsm_mcast - the group
 * @net:    transport
 * @id:     joined it
 * @joined: completed when rdma_cm has answered
 * @status: what it said
 * @way:    address handle's attributes
 * @ah:     the handle
 * @gid:    of the group
 * @qkey:   of the group
 * @cq:     of sends and receives
 * @qp:     the queue pair
 * @attached: it gets the group's datagrams
 * @closing: receives are not posted again
 * @posted: receives that the device has, or whose handler runs
 * @idle:   woken when there is none
 * @part:   bytes of a page in one datagram
 * @lock:   guards @busy
 * @busy:   sends that the device has
 * @drop:   debug builds: of so many datagrams received one is lost; 0: none
 * @seen:   datagrams received
 * @send:   buffers of sends
 * @recv:   buffers of receives
 */
struct dsm_mcast {
	struct dsm_net *net;
	struct rdma_cm_id *id;
	struct completion joined;
	int status;
	struct rdma_ah_attr way;
	struct ib_ah *ah;
	union ib_gid gid;
	u32 qkey;
	struct ib_cq *cq;
	struct ib_qp *qp;
	bool attached;
	bool closing;
	atomic_t posted;
	wait_queue_head_t idle;
	u32 part;
	spinlock_t lock;
	DECLARE_BITMAP(busy, SEND_SLOTS);
	u32 drop;
	u32 seen;
	struct slot send[SEND_SLOTS];
	struct slot recv[RECV_SLOTS];
};

/* Guards the making and taking apart of dsm_net.mcast. */
static DEFINE_MUTEX(mcast_lock);

/* ---- receiving ---- */

static int post_recv(struct slot *s)
{
	int err;
	struct ib_sge sge = { .addr = s->dma, .length = SLOT_BYTES, .lkey = s->mc->net->pd_ctl->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &s->cqe, .sg_list = &sge, .num_sge = 1 };

	atomic_inc(&s->mc->posted);
	err = ib_post_recv(s->mc->qp, &wr, NULL);
	if (err && atomic_dec_and_test(&s->mc->posted))
		wake_up(&s->mc->idle);
	return err;
}

static bool is_to_drop(struct dsm_mcast *mc)
{
	u32 drop = READ_ONCE(mc->drop);

	mc->seen++;
	return drop && mc->seen % drop == 0;
}

static void handle(struct slot *s, u32 len)
{
	struct dsm_net *net = s->mc->net;

	ib_dma_sync_single_for_cpu(net->dev, s->dma, SLOT_BYTES, DMA_FROM_DEVICE);
	if (len > GRH_BYTES && len <= SLOT_BYTES && !is_to_drop(s->mc))
		net->ops->datagram(net->ctx, s->buf + GRH_BYTES, len - GRH_BYTES);
	ib_dma_sync_single_for_device(net->dev, s->dma, SLOT_BYTES, DMA_FROM_DEVICE);
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *s = container_of(wc->wr_cqe, struct slot, cqe);

	if (wc->status == IB_WC_SUCCESS) {
		handle(s, wc->byte_len);
		if (!READ_ONCE(s->mc->closing))
			post_recv(s);
	}
	if (atomic_dec_and_test(&s->mc->posted))
		wake_up(&s->mc->idle);
}

/* ---- sending ---- */

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct slot *s = container_of(wc->wr_cqe, struct slot, cqe);

	if (wc->status != IB_WC_SUCCESS && !READ_ONCE(s->mc->closing))
		pr_warn_ratelimited("dsm: %s: no multicasts any more (%s), pages come one by one; leave and join\n",
				    s->mc->net->dev_name, ib_wc_status_msg(wc->status));
	spin_lock(&s->mc->lock);
	__clear_bit(s->at, s->mc->busy);
	spin_unlock(&s->mc->lock);
}

static struct slot *take_send(struct dsm_mcast *mc)
{
	struct slot *s = NULL;
	u32 at;

	spin_lock(&mc->lock);
	at = find_first_zero_bit(mc->busy, SEND_SLOTS);
	if (at < SEND_SLOTS) {
		__set_bit(at, mc->busy);
		s = &mc->send[at];
	}
	spin_unlock(&mc->lock);
	return s;
}

static void post_send(struct slot *s, u32 len)
{
	struct dsm_mcast *mc = s->mc;
	struct ib_sge sge = { .addr = s->dma, .length = len, .lkey = mc->net->pd_ctl->local_dma_lkey };
	struct ib_ud_wr wr = {
		.wr = { .wr_cqe = &s->cqe, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED },
		.ah = mc->ah,
		.remote_qpn = IB_MULTICAST_QPN,
		.remote_qkey = mc->qkey,
	};
	struct ib_wc lost = { .wr_cqe = &s->cqe };

	ib_dma_sync_single_for_device(mc->net->dev, s->dma, SLOT_BYTES, DMA_TO_DEVICE);
	if (ib_post_send(mc->qp, &wr.wr, NULL))
		send_done(mc->cq, &lost);
}

static void send_parts(struct dsm_mcast *mc, const struct dsm_msgbuf *msg)
{
	const u8 *page = msg->data + sizeof(struct dsm_wire_cast);
	struct dsm_wire_cast head;
	u32 off, len;

	/* A queue pair whose sending fails sends and receives no more. What is not multicast is asked for. */
	if (!dsm_link_carries(mc->id, false))
		return;
	memcpy(&head, msg->data, sizeof(head));
	for (off = 0; off < DSM_PAGE_BYTES; off += len) {
		struct slot *s = take_send(mc);

		if (!s)
			return;
		len = min(mc->part, DSM_PAGE_BYTES - off);
		head.off = cpu_to_le16(off);
		head.len = cpu_to_le16(len);
		memcpy(s->buf, &head, sizeof(head));
		memcpy(s->buf + sizeof(head), page + off, len);
		post_send(s, sizeof(head) + len);
	}
}

/**
 * dsm_net_cast() - multicast a page
 * @net: transport
 * @msg: one struct dsm_wire_cast and a page; consumed
 *
 * Context: process; does not sleep.
 */
void dsm_net_cast(struct dsm_net *net, struct dsm_msgbuf *msg)
{
	if (!dsm_net_hold(net)) {
		/* It goes only when nobody holds the transport, or calls this; it may come at any time, complete. */
		struct dsm_mcast *mc = smp_load_acquire(&net->mcast);

		if (mc)
			send_parts(mc, msg);
		dsm_net_release(net);
	}
	dsm_net_msg_free(net, msg);
}

/* ---- set-up ---- */

static int on_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dsm_mcast *mc = id->context;

	if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN && event->event != RDMA_CM_EVENT_MULTICAST_ERROR)
		return 0;
	/* An error later on is one more way to lose datagrams. */
	if (completion_done(&mc->joined))
		return 0;
	mc->status = event->event == RDMA_CM_EVENT_MULTICAST_JOIN ? event->status : event->status ?: -EIO;
	if (!mc->status) {
		rdma_copy_ah_attr(&mc->way, &event->param.ud.ah_attr);
		mc->qkey = event->param.ud.qkey;
	}
	complete_all(&mc->joined);
	return 0;
}

static int join(struct dsm_mcast *mc)
{
	struct sockaddr_in own = mc->net->cfg.listen, group = { .sin_family = AF_INET };
	u64 cluster = dsm_net_cluster(mc->net);
	int err;

	own.sin_port = 0;
	group.sin_addr.s_addr = htonl(GROUPS | (jhash_2words(cluster, cluster >> 32, 0) & GROUPS_MASK));
	mc->id = rdma_create_id(&init_net, on_event, mc, RDMA_PS_UDP, IB_QPT_UD);
	if (IS_ERR(mc->id)) {
		err = PTR_ERR(mc->id);
		mc->id = NULL;
		return err;
	}
	err = rdma_bind_addr(mc->id, (struct sockaddr *)&own);
	if (!err && mc->id->device != mc->net->dev)
		err = -ENODEV;
	if (!err)
		err = rdma_join_multicast(mc->id, (struct sockaddr *)&group, BIT(FULLMEMBER_JOIN), NULL);
	if (err)
		return err;
	if (!wait_for_completion_timeout(&mc->joined, msecs_to_jiffies(JOIN_MS)))
		return -ETIMEDOUT;
	return mc->status;
}

static int to_rts(struct dsm_mcast *mc)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = mc->id->port_num, .qkey = mc->qkey };
	int err;

	err = ib_modify_qp(mc->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	attr.qp_state = IB_QPS_RTR;
	err = err ?: ib_modify_qp(mc->qp, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	return err ?: ib_modify_qp(mc->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static int make_qp(struct dsm_mcast *mc)
{
	struct ib_device *dev = mc->net->dev;
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_UD,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = SEND_SLOTS, .max_recv_wr = RECV_SLOTS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_port_attr port;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_ah *ah;
	int err;

	err = ib_query_port(dev, mc->id->port_num, &port);
	if (err)
		return err;
	mc->part = min_t(u32, ib_mtu_enum_to_int(port.active_mtu), SLOT_BYTES - GRH_BYTES) -
		   sizeof(struct dsm_wire_cast);
	mc->part = rounddown(mc->part, DSM_CAST_UNIT);
	cq = ib_alloc_cq_any(dev, mc, SEND_SLOTS + RECV_SLOTS, IB_POLL_WORKQUEUE);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	mc->cq = cq;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(mc->net->pd_ctl, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	mc->qp = qp;
	err = to_rts(mc);
	if (err)
		return err;
	ah = rdma_create_ah(mc->net->pd_ctl, &mc->way, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah))
		return PTR_ERR(ah);
	mc->ah = ah;
	memcpy(mc->gid.raw, rdma_ah_read_grh(&mc->way)->dgid.raw, sizeof(mc->gid.raw));
	err = ib_attach_mcast(qp, &mc->gid, rdma_ah_get_dlid(&mc->way));
	mc->attached = !err;
	return err;
}

static int make_slot(struct dsm_mcast *mc, struct slot *s, u32 at, enum dma_data_direction dir,
		     void (*done)(struct ib_cq *cq, struct ib_wc *wc))
{
	s->mc = mc;
	s->at = at;
	s->cqe.done = done;
	s->buf = kzalloc(SLOT_BYTES, GFP_KERNEL);
	if (!s->buf)
		return -ENOMEM;
	s->dma = ib_dma_map_single(mc->net->dev, s->buf, SLOT_BYTES, dir);
	if (!ib_dma_mapping_error(mc->net->dev, s->dma))
		return 0;
	kfree(s->buf);
	s->buf = NULL;
	return -ENOMEM;
}

static void free_slot(struct dsm_mcast *mc, struct slot *s, enum dma_data_direction dir)
{
	if (!s->buf)
		return;
	ib_dma_unmap_single(mc->net->dev, s->dma, SLOT_BYTES, dir);
	kfree(s->buf);
}

static int make_slots(struct dsm_mcast *mc)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < SEND_SLOTS; i++)
		err = make_slot(mc, &mc->send[i], i, DMA_TO_DEVICE, send_done);
	for (i = 0; !err && i < RECV_SLOTS; i++)
		err = make_slot(mc, &mc->recv[i], i, DMA_FROM_DEVICE, recv_done);
	return err;
}

/* What was never made is skipped. A destroyed queue pair has no buffer, and a freed queue no handler. */
static void destroy(struct dsm_mcast *mc)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	u32 i;

	if (mc->attached)
		ib_detach_mcast(mc->qp, &mc->gid, rdma_ah_get_dlid(&mc->way));
	if (mc->qp) {
		/* No handler may post any more; ib_drain_qp() cannot do that for datagrams. */
		WRITE_ONCE(mc->closing, true);
		ib_modify_qp(mc->qp, &attr, IB_QP_STATE);
		if (!wait_event_timeout(mc->idle, !atomic_read(&mc->posted), msecs_to_jiffies(DRAIN_MS)))
			pr_warn("dsm: %s gives receives of multicasts not back\n", mc->net->dev_name);
		ib_destroy_qp(mc->qp);
	}
	if (mc->cq)
		ib_free_cq(mc->cq);
	if (mc->ah)
		rdma_destroy_ah(mc->ah, RDMA_DESTROY_AH_SLEEPABLE);
	/* No event after this. */
	if (mc->id)
		rdma_destroy_id(mc->id);
	if (completion_done(&mc->joined) && !mc->status)
		rdma_destroy_ah_attr(&mc->way);
	for (i = 0; i < SEND_SLOTS; i++)
		free_slot(mc, &mc->send[i], DMA_TO_DEVICE);
	for (i = 0; i < RECV_SLOTS; i++)
		free_slot(mc, &mc->recv[i], DMA_FROM_DEVICE);
	kvfree(mc);
}

/**
 * dsm_net_has_mcast() - does the device have datagrams and multicast?
 * @net: transport
 *
 * Context: any.
 * Return: true if dsm_net_mcast_open() may succeed.
 */
bool dsm_net_has_mcast(struct dsm_net *net)
{
	bool has;

	/* The device stays as long. */
	if (dsm_net_hold(net))
		return false;
	has = rdma_ib_or_roce(net->dev, 1) && net->dev->attrs.max_mcast_grp;
	dsm_net_release(net);
	return has;
}

static int open(struct dsm_net *net)
{
	struct dsm_mcast *mc = kvzalloc(sizeof(*mc), GFP_KERNEL);
	int err;
	u32 i;

	if (!mc)
		return -ENOMEM;
	mc->net = net;
	spin_lock_init(&mc->lock);
	init_completion(&mc->joined);
	init_waitqueue_head(&mc->idle);
	err = make_slots(mc);
	err = err ?: join(mc);
	err = err ?: make_qp(mc);
	for (i = 0; !err && i < RECV_SLOTS; i++)
		err = post_recv(&mc->recv[i]);
	if (err)
		destroy(mc);
	else
		smp_store_release(&net->mcast, mc);	/* pairs with dsm_net_cast() */
	return err;
}

/**
 * dsm_net_mcast_open() - join the cluster's group
 * @net: transport whose cluster id is known
 *
 * Datagrams come until dsm_net_mcast_close(), or until the transport is stopped or its device is removed.
 *
 * Context: process, sleeps. Not from one of the shell's functions.
 * Return: 0, also if it is open; -EOPNOTSUPP (device without), -ENOMEM, -ETIMEDOUT, -ESHUTDOWN, -ENODEV, or what
 *         rdma_cm or the device says.
 */
int dsm_net_mcast_open(struct dsm_net *net)
{
	int err = dsm_net_hold(net);

	if (err)
		return err;
	mutex_lock(&mcast_lock);
	if (!dsm_net_has_mcast(net))
		err = -EOPNOTSUPP;
	else if (!net->mcast)
		err = open(net);
	mutex_unlock(&mcast_lock);
	dsm_net_release(net);
	return err;
}

/**
 * dsm_net_mcast_close() - leave the group
 * @net: transport; nobody is inside dsm_net_cast(), or will be
 *
 * Context: process, sleeps until no datagram is being handled.
 */
void dsm_net_mcast_close(struct dsm_net *net)
{
	mutex_lock(&mcast_lock);
	if (net->mcast)
		destroy(net->mcast);
	net->mcast = NULL;
	mutex_unlock(&mcast_lock);
}

#ifdef DSM_DEBUG
/**
 * dsm_mcast_drop() - debug builds: lose datagrams
 * @net: transport
 * @of:  of so many received one is lost; 0: none
 *
 * Context: process.
 * Return: 0, -ENOTCONN if the group is not open.
 */
int dsm_mcast_drop(struct dsm_net *net, u32 of)
{
	int err = 0;

	mutex_lock(&mcast_lock);
	if (net->mcast)
		WRITE_ONCE(net->mcast->drop, of);
	else
		err = -ENOTCONN;
	mutex_unlock(&mcast_lock);
	return err;
}
#endif
