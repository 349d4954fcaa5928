// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The network device below a connection. rdma_cm's own messages go out over queue pair 1, which all connections of
 * an RDMA device share. soft-RoCE of Linux 6.12 puts that one into the error state, for good, when a packet cannot be
 * handed to the network: between the loss of a carrier and the moment at which the neighbours behind it are
 * forgotten, and while the device is down. So nothing is said to rdma_cm then. Knows nothing of verbs.
 */
#include <linux/netdevice.h>
#include <net/net_namespace.h>

#include "net.h"

/* How often the device is looked at; also long enough for neighbours to be forgotten. */
#define LOOK_MS 50

static bool carries(const struct rdma_cm_id *id)
{
	const struct net_device *dev;
	bool up;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(&init_net, id->route.addr.dev_addr.bound_dev_if);
	/* None that is known: nothing to wait for. */
	up = !dev || (netif_running(dev) && netif_carrier_ok(dev));
	rcu_read_unlock();
	return up;
}

static bool is_up(const struct dsm_peer *peer)
{
	int i;

	for (i = 0; i < DSM_VC_COUNT; i++)
		if (peer->qp[i].id)
			return carries(peer->qp[i].id);
	return true;
}

/**
 * dsm_link_await() - wait until the network below a peer's connections carries packets
 * @peer:  peer, whose ids nobody else adds or removes
 * @bound: jiffies, at most
 *
 * Ends early when the peer's state changes.
 *
 * Context: process, sleeps.
 */
void dsm_link_await(struct dsm_peer *peer, long bound)
{
	const enum dsm_peer_state state = READ_ONCE(peer->state);
	const unsigned long end = jiffies + bound;

	while (!is_up(peer) && time_before(jiffies, end))
		if (wait_event_timeout(peer->wait, READ_ONCE(peer->state) != state, msecs_to_jiffies(LOOK_MS)))
			break;
}
