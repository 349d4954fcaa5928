// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Connections: what rdma_cm tells and asks, for the listening id and for each
 * connection of a peer. Never carries messages, and never destroys an id: that
 * is the peer's free work.
 *
 * The connecting node makes C first; its answer names both nodes and a session
 * number. Q, P and B follow and name the session, as do all four when they are made anew because
 * they broke (resume.c). The shell is asked on C only, and only once, from a work item, because
 * rdma_cm's handler holds up all other connections.
 */
#include <rdma/ib_cm.h>

#include "hello.h"
#include "xfer.h"

/* Requests that may wait for the listening id. */
#define BACKLOG 64

#define ROUTE_TIMEOUT_MS 2000

static void timing_set(struct dsm_net *net, struct rdma_cm_id *id)
{
	/* Both can fail on a device that lacks them only, where its own timing holds. */
	rdma_set_ack_timeout(id, net->ack_timeout);
	rdma_set_min_rnr_timer(id, IB_RNR_TIMER_000_32);
}

static u8 reads_in(const struct dsm_net *net)
{
	return min(DSM_READS, net->dev->attrs.max_qp_rd_atom);
}

/* READs and atomics, and with them the right to do them, are for B alone. */
static void param_fill(const struct dsm_qp *qp, struct rdma_conn_param *param, const void *data,
		       u8 len)
{
	const struct dsm_net *net = qp->peer->net;

	*param = (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = len,
		.responder_resources = qp->vc == DSM_VC_B ? reads_in(net) : 0,
		.initiator_depth = qp->vc == DSM_VC_B ? dsm_xfer_reads(net) : 0,
		/* 7 would mean "for ever" to some devices, soft-RoCE among them. */
		.retry_count = net->retries,
		/* Credits see to it that a slot is always posted. */
		.rnr_retry_count = 6,
	};
}

static void refuse(struct rdma_cm_id *id, int err)
{
	struct dsm_refusal refusal;

	dsm_refusal_fill(&refusal, err);
	rdma_reject(id, &refusal, sizeof(refusal), IB_CM_REJ_CONSUMER_DEFINED);
}

static bool is_in_setup(struct dsm_peer *peer)
{
	return READ_ONCE(peer->state) == DSM_PEER_SETUP;
}

static bool may_connect(struct dsm_peer *peer)
{
	return is_in_setup(peer) || dsm_resume_is_ready(peer);
}

/* What ends a peer that is being set up, and an attempt of one that is being resumed. */
static void conn_failed(struct dsm_peer *peer, int err, const char *reason)
{
	if (!dsm_resume_refused(peer, err))
		dsm_peer_fail(peer, DSM_WHY_CAUSE, err, reason);
}

/* A READ or an atomic to who serves none would wait for ever, and all that is behind it. */
static bool serves_reads(const struct dsm_qp *qp, u8 reads)
{
	return reads || qp->vc != DSM_VC_B || !qp->peer->net->one_sided;
}

/*
 * Make the queue pair of a request and accept it; handler and setup mutex held. READs out are
 * bounded by what the other side serves, and the other way round; it learns both numbers.
 */
static int accept(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	struct rdma_conn_param param;
	struct dsm_answer answer;
	int err;

	timing_set(peer->net, qp->id);
	if (!serves_reads(qp, qp->reads_out))
		return -EPROTO;
	err = dsm_qp_create(qp);
	if (err)
		return err;
	dsm_answer_fill(&answer, qp);
	param_fill(qp, &param, &answer, sizeof(answer));
	param.initiator_depth = min(param.initiator_depth, qp->reads_out);
	param.responder_resources = min(param.responder_resources, qp->reads_in);
	return rdma_accept(qp->id, &param);
}

static int connect(struct dsm_qp *qp)
{
	struct rdma_conn_param param;
	struct dsm_hello hello;
	int err;

	err = dsm_qp_create(qp);
	if (err)
		return err;
	dsm_hello_fill(&hello, qp);
	param_fill(qp, &param, &hello, sizeof(hello));
	return rdma_connect_locked(qp->id, &param);
}

static int route_resolved(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	int err = -ESHUTDOWN;

	mutex_lock(&peer->setup);
	if (may_connect(peer))
		err = connect(qp);
	mutex_unlock(&peer->setup);
	return err;
}

static int established(struct dsm_qp *qp, const struct rdma_conn_param *param)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_answer answer;
	int err;

	if (peer->active) {
		err = serves_reads(qp, param->initiator_depth) ? 0 : -EPROTO;
		if (!err)
			err = dsm_answer_check(param->private_data, param->private_data_len, peer, &answer);
		if (!err)
			err = dsm_resume_take(qp, le32_to_cpu(answer.received));
		if (!err && qp->vc == DSM_VC_C && is_in_setup(peer)) {
			dsm_answer_take(&answer, peer);
			err = dsm_peer_claim(peer, le16_to_cpu(answer.node));
		}
		if (err)
			return err;
	}
	dsm_peer_established(qp);
	return 0;
}

static int rejected(struct dsm_qp *qp, struct rdma_cm_event *event)
{
	u8 len = 0;
	const void *data = rdma_consumer_reject_data(qp->id, event, &len);
	u16 version;
	int err;

	/* The far end still knows our last connection; it will forget it. */
	if (!data && event->status == IB_CM_REJ_STALE_CONN)
		return -EAGAIN;
	err = dsm_refusal_read(data, len, &version);
	if (err == -EPROTONOSUPPORT)
		pr_warn("dsm: %pISpc speaks protocol version %u, this node %u: not connected; load the same dsm.ko on both\n",
			&qp->peer->addr, version, DSM_WIRE_VERSION);
	qp->peer->version = version;
	if (dsm_refusal_is_bare(err, event) && !is_in_setup(qp->peer))
		err = -EAGAIN;
	return err;
}

/* Status of an event that ends a connection attempt, as the caller of connect knows it. */
static int attempt_error(const struct rdma_cm_event *event)
{
	switch (event->status) {
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -ENODEV:
	case -ENOMEM:
		return event->status;
	default:
		return -ETIMEDOUT;
	}
}

/* Events of a peer's connection; rdma_cm holds the id's handler mutex. */
static int conn_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct dsm_qp *qp = id->context;
	struct dsm_peer *peer = qp->peer;
	int err = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		timing_set(peer->net, id);
		err = rdma_resolve_route(id, ROUTE_TIMEOUT_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = route_resolved(qp);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		err = established(qp, &event->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		err = rejected(qp, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		err = attempt_error(event);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		/* Of a connection that stands: the kernel's entry of the neighbour is another one now, or has failed. */
		if (READ_ONCE(qp->established))
			dsm_resume_break(peer, DSM_WHY_DISCONNECT, -ECONNRESET,
					 "the neighbour's hardware address changed");
		else
			err = attempt_error(event);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		dsm_resume_break(peer, DSM_WHY_DISCONNECT, -ECONNRESET, "this node's hardware address changed");
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		dsm_resume_break(peer, DSM_WHY_DISCONNECT, -ECONNRESET, "connection closed");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		dsm_peer_fail(peer, DSM_WHY_CAUSE, -ECONNRESET, rdma_event_msg(event->event));
		break;
	default:
		break;
	}
	if (err)
		conn_failed(peer, err, rdma_event_msg(event->event));
	return 0;
}

/* Events of a connection that was put aside. */
static int old_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/**
 * dsm_cm_retire() - a connection is to be replaced: its peer hears nothing more of it
 * @id: connection
 *
 * Context: process, sleeps.
 */
void dsm_cm_retire(struct rdma_cm_id *id)
{
	rdma_lock_handler(id);
	id->event_handler = old_event;
	rdma_unlock_handler(id);
}

/* Make a request's id the peer's. -ESHUTDOWN: too late, -EEXIST: it has one. Setup mutex held. */
static int id_adopt(struct dsm_qp *qp, struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	lockdep_assert_held(&qp->peer->setup);
	if (!may_connect(qp->peer))
		return -ESHUTDOWN;
	if (qp->id)
		return -EEXIST;
	qp->id = id;
	qp->reads_out = param->initiator_depth;
	qp->reads_in = param->responder_resources;
	id->context = qp;
	id->event_handler = conn_event;
	return 0;
}

/**
 * dsm_cm_admit() - ask the shell about a node that connects, then accept or refuse it
 * @work: admit_work of a passive peer
 *
 * Context: process.
 */
void dsm_cm_admit(struct work_struct *work)
{
	struct dsm_peer *peer = container_of(work, struct dsm_peer, admit_work);
	struct dsm_qp *qp = &peer->qp[DSM_VC_C];
	struct dsm_net *net = peer->net;
	u16 assigned = DSM_NO_NODE;
	int err;

	err = net->ops->admit(net->ctx, &peer->hello, &assigned);
	if (!err) {
		peer->self = dsm_net_self(net);
		peer->cluster = dsm_net_cluster(net);
		err = peer->self == DSM_NO_NODE ? -EBUSY : dsm_peer_claim(peer, assigned);
		/* Two nodes were given the same free id: the second asks again. */
		if (err == -EEXIST && peer->hello.node == DSM_NO_NODE)
			err = -EAGAIN;
	}
	if (!err) {
		rdma_lock_handler(qp->id);
		mutex_lock(&peer->setup);
		err = is_in_setup(peer) ? accept(qp) : -ESHUTDOWN;
		mutex_unlock(&peer->setup);
		rdma_unlock_handler(qp->id);
	}
	if (!err)
		return;
	refuse(qp->id, err);
	dsm_peer_fail(peer, DSM_WHY_CAUSE, err, "not admitted");
}

/* A node asks for C: make a peer and let the shell decide. */
static int request_c(struct dsm_net *net, struct rdma_cm_id *id, const struct dsm_hello *hello,
		     const struct rdma_conn_param *param)
{
	const struct sockaddr_in *src = (const struct sockaddr_in *)&id->route.addr.dst_addr;
	struct dsm_peer *peer;
	int err;

	/* It would be told to everybody as its address. */
	if (src->sin_family != AF_INET || ntohl(src->sin_addr.s_addr) != le32_to_cpu(hello->addr))
		return -EPROTO;
	peer = dsm_peer_new(net, false);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	peer->hello.node = le16_to_cpu(hello->node);
	peer->hello.cluster = le64_to_cpu(hello->cluster);
	peer->hello.addr.sin_family = AF_INET;
	peer->hello.addr.sin_addr = src->sin_addr;
	peer->hello.addr.sin_port = htons(le16_to_cpu(hello->port));
	err = dsm_peer_claim_addr(peer, &peer->hello.addr);
	mutex_lock(&peer->setup);
	if (!err)
		err = id_adopt(&peer->qp[DSM_VC_C], id, param);
	if (!err)
		queue_work(net->slow_wq, &peer->admit_work);
	mutex_unlock(&peer->setup);
	if (err)
		dsm_peer_fail(peer, DSM_WHY_CAUSE, err, "not admitted");
	dsm_peer_put(peer);
	return err;
}

/* Does a request belong to this peer? */
static bool is_from(const struct dsm_peer *peer, const struct rdma_cm_id *id,
		    const struct dsm_hello *hello)
{
	const struct sockaddr_in *src = (const struct sockaddr_in *)&id->route.addr.dst_addr;

	return le32_to_cpu(hello->session) == peer->session &&
	       src->sin_addr.s_addr == peer->addr.sin_addr.s_addr;
}

/*
 * A node that has C asks for Q, P or B, or asks anew for a connection that broke, or, if it was we who
 * connected, reminds us of doing that.
 */
static int request_qp(struct dsm_net *net, struct rdma_cm_id *id, const struct dsm_hello *hello,
		      const struct rdma_conn_param *param)
{
	struct dsm_peer *peer = dsm_peer_find(net, le16_to_cpu(hello->node));
	struct dsm_qp *qp;
	int err = 0;

	if (!peer)
		return -ESTALE;
	qp = &peer->qp[hello->vc];
	mutex_lock(&peer->setup);
	if (!is_from(peer, id, hello))
		err = -ESTALE;
	else if (peer->active)
		err = dsm_resume_reminded(peer);
	else if (!is_in_setup(peer))
		err = dsm_resume_asked(qp);
	err = err ?: id_adopt(qp, id, param);
	/* Too late for this attempt; there may be another. */
	if (err == -ESHUTDOWN && READ_ONCE(peer->state) == DSM_PEER_UP)
		err = -EAGAIN;
	if (!err) {
		/* From here on the id is the peer's, whatever happens. */
		err = dsm_resume_take(qp, le32_to_cpu(hello->received));
		err = err ?: accept(qp);
		if (err) {
			refuse(id, err);
			conn_failed(peer, err, "not accepted");
			err = 0;
		}
	}
	mutex_unlock(&peer->setup);
	dsm_peer_put(peer);
	return err;
}

static int connect_request(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	struct dsm_net *net = id->context;
	struct dsm_hello hello;
	u16 version;
	int err;

	err = dsm_hello_check(param->private_data, param->private_data_len, &hello, &version);
	if (err == -EPROTONOSUPPORT)
		pr_warn_ratelimited("dsm: %pISpc speaks protocol version %u, this node %u: refused; load the same dsm.ko on both\n",
				    &id->route.addr.dst_addr, version, DSM_WIRE_VERSION);
	else if (err)
		pr_warn_ratelimited("dsm: %pISpc sent a malformed request to connect: refused\n",
				    &id->route.addr.dst_addr);
	else if (hello.vc == DSM_VC_C && !hello.session)
		err = request_c(net, id, &hello, param);
	else
		err = request_qp(net, id, &hello, param);
	if (err)
		refuse(id, err);
	return err;
}

/* Events of the listening id. Non-zero: rdma_cm destroys the id of a refused request. */
static int listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return connect_request(id, &event->param.conn);
	return 0;
}

/**
 * dsm_cm_listen() - bind to the listening address and find its device
 * @net: transport; @listen and @dev are set
 *
 * Context: process. Requests may come in at once after dsm_cm_serve().
 * Return: 0; -EADDRNOTAVAIL if the address is not this machine's, -ENODEV if no
 *         RDMA device serves it, -EADDRINUSE, or what rdma_cm says.
 */
int dsm_cm_listen(struct dsm_net *net)
{
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(&init_net, listen_event, net, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = rdma_bind_addr(id, (struct sockaddr *)&net->cfg.listen);
	if (!err && !id->device)
		err = -ENODEV;
	if (err) {
		rdma_destroy_id(id);
		return err;
	}
	net->listen = id;
	net->dev = id->device;
	return 0;
}

/**
 * dsm_cm_serve() - let nodes connect
 * @net: transport, ready for peers
 *
 * Context: process.
 * Return: 0, or what rdma_cm says.
 */
int dsm_cm_serve(struct dsm_net *net)
{
	return rdma_listen(net->listen, BACKLOG);
}

/**
 * dsm_cm_unlisten() - take no more requests
 * @net: transport
 *
 * Context: process; returns when no handler of the listening id runs any more.
 */
void dsm_cm_unlisten(struct dsm_net *net)
{
	if (net->listen)
		rdma_destroy_id(net->listen);
	net->listen = NULL;
}

/**
 * dsm_cm_start() - begin to make one connection
 * @peer:       active peer
 * @vc:         which
 * @timeout_ms: for finding the address
 *
 * Context: process. The outcome is told by dsm_peer_established() or dsm_peer_fail().
 * Return: 0; -ESHUTDOWN if the peer is being closed, or what rdma_cm says.
 */
int dsm_cm_start(struct dsm_peer *peer, enum dsm_vc vc, u32 timeout_ms)
{
	struct sockaddr_in src = peer->net->cfg.listen;
	struct dsm_qp *qp = &peer->qp[vc];
	struct rdma_cm_id *id;
	int err = -ESHUTDOWN;

	src.sin_port = 0;
	mutex_lock(&peer->setup);
	if (!may_connect(peer))
		goto out;
	id = rdma_create_id(&init_net, conn_event, qp, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		err = PTR_ERR(id);
		goto out;
	}
	qp->id = id;
	err = rdma_resolve_addr(id, (struct sockaddr *)&src, (struct sockaddr *)&peer->addr,
				timeout_ms);
out:
	mutex_unlock(&peer->setup);
	return err;
}
