// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Timing of messages for user space: hands a run of PINGs to the transport. Measures and judges
 * nothing itself.
 */
#include "shell.h"

static_assert((int)DSM_LOGP_INLINE == DSM_NET_INLINE && (int)DSM_LOGP_GATHER == DSM_NET_GATHER);
static_assert((int)DSM_LOGP_BULK == DSM_NET_BULK);
static_assert((int)DSM_LOGP_HIGH == DSM_NET_HIGH && (int)DSM_LOGP_CALL == DSM_NET_CALL);

/* The transport, kept from being freed; or NULL. */
static struct dsm_net *net_hold(struct dsm_node *n)
{
	struct dsm_net *net;

	down_read(&n->net_lock);
	net = n->net;
	if (net && dsm_net_hold(net))
		net = NULL;
	up_read(&n->net_lock);
	return net;
}

/**
 * dsm_node_logp() - time messages to a node
 * @n: node
 * @a: what to send, flags checked; filled with the times
 *
 * Context: process; sleeps, killable.
 * Return: 0; -ENOTCONN: not joined, or leaving; else as dsm_net_ping().
 */
int dsm_node_logp(struct dsm_node *n, struct dsm_ioc_logp *a)
{
	struct dsm_net_ping p = {
		.node = a->node,
		.mech = a->mechanism,
		.priority = a->priority,
		.one_way = a->flags & DSM_LOGP_ONE_WAY,
		.spin = a->flags & DSM_LOGP_SPIN,
		.bytes = a->bytes,
		.answer_bytes = a->answer_bytes,
		.count = a->count,
		.window = a->window,
		.batch = a->batch,
		.gap_ns = a->gap_ns,
	};
	struct dsm_net *net = net_hold(n);
	int err;

	if (!net)
		return -ENOTCONN;
	err = dsm_net_ping(net, &p);
	dsm_net_release(net);
	a->busy_ns = p.busy_ns;
	a->recv_ns = p.recv_ns;
	a->send_ns = p.send_ns;
	a->total_ns = p.total_ns;
	return err;
}
