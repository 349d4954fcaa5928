// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Reminders: the node that was connected to cannot make connections anew, but it may be the only one
 * that knows that they broke, since the word of that can be lost with the link. So it asks for
 * C itself, as if it had connected first. The other side never grants that; its refusal says
 * "I am coming" or "I know of no such session". Makes no connection and posts nothing.
 */
#include "hello.h"

/* How long one reminder may take; a lost packet costs no more. */
#define BOUND_MS 300

/**
 * struct reminder - a request to connect that is to be refused
 * @peer: whom it reminds
 * @err:  what it says; 0: nothing yet
 */
struct reminder {
	struct dsm_peer *peer;
	int err;
};

static int ask(struct rdma_cm_id *id, const struct reminder *r)
{
	struct dsm_hello hello;
	/* No queue pair stands behind it. */
	struct rdma_conn_param param = { .private_data = &hello, .private_data_len = sizeof(hello) };

	dsm_hello_fill(&hello, &r->peer->qp[DSM_VC_C]);
	return rdma_connect_locked(id, &param);
}

static int answer(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	u8 len = 0;
	const void *data = rdma_consumer_reject_data(id, event, &len);
	u16 version;
	int err = dsm_refusal_read(data, len, &version);

	return dsm_refusal_is_bare(err, event) ? -EAGAIN : err;
}

static int reminder_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct reminder *r = id->context;
	int err;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = rdma_resolve_route(id, BOUND_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = ask(id, r);
		break;
	case RDMA_CM_EVENT_REJECTED:
		err = answer(id, event);
		break;
	default:
		err = -EAGAIN;
		break;
	}
	if (err) {
		WRITE_ONCE(r->err, err);
		wake_up(&r->peer->wait);
	}
	return 0;
}

static bool is_over(struct dsm_peer *peer, const struct reminder *r)
{
	return READ_ONCE(r->err) || READ_ONCE(peer->qp[DSM_VC_C].id) ||
	       READ_ONCE(peer->state) != DSM_PEER_UP;
}

/**
 * dsm_remind() - let the peer connect again
 * @peer: passive peer whose connections are drained
 *
 * Context: process; sleeps, bounded. Ends early when the peer connects.
 * Return: what the peer refuses with: -EAGAIN, or -ESTALE if it knows of no such session,
 *         -ECONNREFUSED if nobody is there; -EAGAIN too if there was no answer.
 */
int dsm_remind(struct dsm_peer *peer)
{
	struct sockaddr_in src = peer->net->cfg.listen;
	struct reminder r = { .peer = peer };
	struct rdma_cm_id *id;
	int err;

	src.sin_port = 0;
	id = rdma_create_id(&init_net, reminder_event, &r, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return -EAGAIN;
	err = rdma_resolve_addr(id, (struct sockaddr *)&src, (struct sockaddr *)&peer->addr,
				BOUND_MS);
	if (!err)
		wait_event_timeout(peer->wait, is_over(peer, &r), msecs_to_jiffies(BOUND_MS));
	/* No handler of it runs afterwards. */
	rdma_destroy_id(id);
	return READ_ONCE(r.err) ?: -EAGAIN;
}
