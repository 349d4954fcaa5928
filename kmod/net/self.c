// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The connection of this node with itself: transfers to memory of our own that peers change by
 * atomics. A device promises atomicity between its own operations only, so the processor may read
 * such a word, but must change it the way the peers do.
 *
 * It is a peer without messages: of its connections only B is made, a queue pair that is its own
 * other end. Since both ends are known, rdma_cm has nothing to agree on; its id is here for the
 * device, the address, and the queue pair's life. Never told to the shell as a peer.
 */
#include <rdma/ib_cache.h>

#include "net.h"

/* Sequence number of the first packet, each way. */
#define FIRST_PSN 1

/* The device goes, or the address: transfers come back with an error. */
static int id_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dsm_qp *qp = id->context;

	dsm_peer_fail(qp->peer, DSM_WHY_CAUSE, -ECONNRESET, rdma_event_msg(event->event));
	return 0;
}

static void way_fill(const struct rdma_cm_id *id, const struct ib_port_attr *port,
		     struct rdma_ah_attr *ah)
{
	const struct rdma_dev_addr *addr = &id->route.addr.dev_addr;

	ah->type = rdma_ah_find_type(id->device, id->port_num);
	rdma_ah_set_port_num(ah, id->port_num);
	rdma_ah_set_sl(ah, 0);
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE) {
		union ib_gid gid = addr->sgid_attr->gid;

		rdma_ah_set_grh(ah, &gid, 0, addr->sgid_attr->index, 1, 0);
		memcpy(ah->roce.dmac, addr->src_dev_addr, ETH_ALEN);
	} else {
		rdma_ah_set_dlid(ah, port->lid);
	}
}

static u8 reads(const struct ib_device *dev)
{
	return min3(DSM_READS, dev->attrs.max_qp_rd_atom, dev->attrs.max_qp_init_rd_atom);
}

/* The queue pair is in INIT: it becomes its own peer. */
static int connect(struct dsm_qp *b)
{
	struct dsm_net *net = b->peer->net;
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.dest_qp_num = b->id->qp->qp_num,
		.rq_psn = FIRST_PSN,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_ATOMIC,
		.max_dest_rd_atomic = reads(net->dev),
		.min_rnr_timer = IB_RNR_TIMER_000_32,
	};
	struct ib_port_attr port;
	int err;

	err = ib_query_port(net->dev, b->id->port_num, &port);
	if (err)
		return err;
	if (!b->id->route.addr.dev_addr.sgid_attr && rdma_protocol_roce(net->dev, b->id->port_num))
		return -ENODEV;
	way_fill(b->id, &port, &attr.ah_attr);
	attr.path_mtu = port.active_mtu;
	err = ib_modify_qp(b->id->qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			   IB_QP_MIN_RNR_TIMER | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr = (struct ib_qp_attr){
		.qp_state = IB_QPS_RTS,
		.sq_psn = FIRST_PSN,
		.timeout = net->ack_timeout,
		.retry_cnt = net->retries,
		.rnr_retry = 6,
		.max_rd_atomic = reads(net->dev),
	};
	return ib_modify_qp(b->id->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_MAX_QP_RD_ATOMIC);
}

static int make(struct dsm_peer *peer)
{
	struct dsm_qp *b = &peer->qp[DSM_VC_B];
	struct sockaddr_in addr = peer->net->cfg.listen;
	struct rdma_cm_id *id;
	int err;

	/* Any port: nobody connects to it. */
	addr.sin_port = 0;
	id = rdma_create_id(&init_net, id_event, b, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = rdma_bind_addr(id, (struct sockaddr *)&addr);
	mutex_lock(&peer->setup);
	if (!err && READ_ONCE(peer->state) != DSM_PEER_SETUP)
		err = -ESHUTDOWN;
	if (!err) {
		/* From here on the id is the peer's, whatever happens. */
		b->id = id;
		id = NULL;
		err = dsm_qp_create(b);
	}
	if (!err)
		err = connect(b);
	mutex_unlock(&peer->setup);
	if (id)
		rdma_destroy_id(id);
	return err;
}

/**
 * dsm_net_self_open() - let transfers to this node's own id work
 * @net: transport whose own id is known
 *
 * Stays until the transport is stopped or its device is removed.
 *
 * Context: process, sleeps; one caller at a time. Not from one of the shell's functions.
 * Return: 0; -EOPNOTSUPP (device without transfers), -EEXIST (it is open), -ENOMEM, -ENODEV,
 *         -ESHUTDOWN, or what the device says.
 */
int dsm_net_self_open(struct dsm_net *net)
{
	struct dsm_peer *peer;
	int err;

	if (!net->one_sided)
		return -EOPNOTSUPP;
	peer = dsm_peer_new(net, true);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	peer->self = dsm_net_self(net);
	err = make(peer);
	err = err ?: dsm_peer_stand_alone(peer);
	if (err)
		dsm_peer_fail(peer, DSM_WHY_CAUSE, err, "the connection to this node itself failed");
	dsm_peer_put(peer);
	return err;
}
