// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The network device below a connection. rdma_cm's own messages go out over queue pair 1, which all connections of
 * an RDMA device share. soft-RoCE of Linux 6.12 puts that one into the error state, for good, when a packet cannot be
 * handed to the network: between the loss of a carrier and the moment at which the neighbours behind it are
 * forgotten, and while the device is down. So connections are taken apart when it carries. Knows nothing of verbs.
 */
#include <linux/netdevice.h>
#include <net/net_namespace.h>
#include <net/sch_generic.h>

#include "link.h"

/**
 * dsm_link_carries() - can the network device of an id send?
 * @id:   bound to an address of this machine
 * @here: the other end is on this machine too: packets do not leave it, and need no carrier
 *
 * Context: any.
 * Return: false if it cannot; true also if it is not known.
 */
bool dsm_link_carries(const struct rdma_cm_id *id, bool here)
{
	const struct net_device *dev;
	bool up;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(&init_net, id->route.addr.dev_addr.bound_dev_if);
	up = !dev || (READ_ONCE(dev->flags) & IFF_UP &&
		      (here || (netif_carrier_ok(dev) && !qdisc_tx_is_noop(dev))));
	rcu_read_unlock();
	return up;
}

/**
 * dsm_link_is_up() - can this machine send to a peer?
 * @peer: peer, whose ids nobody else adds or removes
 *
 * Context: any.
 * Return: false if its network device cannot send; true also if there is no connection.
 */
bool dsm_link_is_up(const struct dsm_peer *peer)
{
	const bool here = dsm_peer_is_self(peer) ||
			  peer->addr.sin_addr.s_addr == peer->net->cfg.listen.sin_addr.s_addr;
	int i;

	for (i = 0; i < DSM_VC_COUNT; i++)
		if (peer->qp[i].id && peer->qp[i].id->qp)
			return dsm_link_carries(peer->qp[i].id, here);
	return true;
}

/**
 * dsm_link_await() - wait until this machine can send to a peer again
 * @peer: peer that is up, whose ids nobody else adds or removes
 * @end:  jiffies until when
 *
 * Ends early when the peer is up no more.
 *
 * Context: process, sleeps.
 * Return: dsm_link_is_up().
 */
bool dsm_link_await(struct dsm_peer *peer, unsigned long end)
{
	while (!dsm_link_is_up(peer)) {
		if (time_after_eq(jiffies, end))
			return false;
		if (wait_event_timeout(peer->wait, READ_ONCE(peer->state) != DSM_PEER_UP,
				       msecs_to_jiffies(DSM_LINK_LOOK_MS)))
			return dsm_link_is_up(peer);
	}
	return true;
}
