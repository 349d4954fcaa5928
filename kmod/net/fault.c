// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Debug builds only: makes things go wrong between this node and another:
 *
 *   break VC          connection VC (0: C, 1: Q, 2: P, 3: B) goes into error
 *   corrupt AT MASK   bits MASK of byte AT of the next message that is so long are changed; of a count of the
 *                     credit word, of the next one on the connection that returns it
 *   body TYPE SEED    a byte of the next message of that type that has a body is changed, behind its
 *                     header; SEED chooses which and how. The bytes of pages stay.
 *                   TYPE 0: of the immediate of the next brief answer
 *   repeat            acknowledgements are ignored until connections are made anew, also of
 *                     transfers, and then some messages that the other node has are sent again
 *   deaf VC           only those of connection VC are, and nothing is sent again that the other node has
 *   lie               when a connection is made anew, the other node is told that we have what it
 *                     never sent
 *   withhold ON       credits are not given back while ON is 1
 *   overrun ON        messages go out without credit while ON is 1
 *   few ON            few answers may wait for the other node while ON is 1: then it gets no credits for requests
 *   datagrams N       of N multicast datagrams received, of anybody, one is lost; 0: none
 *
 * Changes nothing by itself: what follows is the doing of the code that is tested.
 */
#include <linux/hash.h>

#include "fault.h"

static int break_one(struct dsm_peer *peer, u32 vc)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct dsm_qp *qp;
	int err = -ENOTCONN;

	if (vc >= DSM_VC_COUNT)
		return -EINVAL;
	qp = &peer->qp[vc];
	mutex_lock(&peer->setup);
	/* One that is being replaced keeps its id until it is drained, and is destroyed later. */
	if (qp->id && qp->id->qp && READ_ONCE(qp->established))
		err = ib_modify_qp(qp->id->qp, &attr, IB_QP_STATE);
	mutex_unlock(&peer->setup);
	return err;
}

static void give_withheld(struct dsm_peer *peer)
{
	int i;

	spin_lock_bh(&peer->lock);
	clear_bit(DSM_FAULT_WITHHOLD, &peer->faults.set);
	for (i = 0; i < DSM_CREDIT_COUNT; i++) {
		while (peer->faults.withheld[i]) {
			peer->faults.withheld[i]--;
			dsm_credit_repost(&peer->credit, i);
		}
	}
	dsm_send_push(peer, true);
	spin_unlock_bh(&peer->lock);
}

static void corrupt(struct dsm_peer *peer, u32 at, u8 mask)
{
	spin_lock_bh(&peer->lock);
	peer->faults.at = at;
	peer->faults.mask = mask;
	set_bit(DSM_FAULT_CORRUPT, &peer->faults.set);
	spin_unlock_bh(&peer->lock);
}

static void change_body(struct dsm_peer *peer, u32 type, u32 seed)
{
	spin_lock_bh(&peer->lock);
	peer->faults.seed = seed;
	__set_bit(type, peer->faults.bodies);
	spin_unlock_bh(&peer->lock);
}

static u32 dice_of(const struct dsm_peer *peer, u32 type)
{
	return hash_32(peer->faults.seed * 256 + type, 32);
}

/**
 * dsm_fault_change_brief() - change a byte of a brief answer
 * @peer: receiver
 * @imm:  the answer
 *
 * Says so in the log.
 *
 * Context: peer lock held; any.
 */
void dsm_fault_change_brief(struct dsm_peer *peer, u32 *imm)
{
	u32 dice = dice_of(peer, DSM_FAULT_BRIEF), at = dice % sizeof(*imm);
	u8 mask = 1 + (dice >> 16) % 255;

	*imm ^= (u32)mask << (8 * at);
	__clear_bit(DSM_FAULT_BRIEF, peer->faults.bodies);
	pr_info("dsm: fault: to node %u: type %u, byte %u of %zu changed by 0x%02x\n", peer->node,
		DSM_FAULT_BRIEF, at, sizeof(*imm), mask);
}

/**
 * dsm_fault_matters() - does a message have this byte, and does its receiver look at it
 * @vc:  connection it goes over
 * @msg: message about to be posted
 * @at:  number of the byte; those of a credit count matter on one connection only (credit.c)
 *
 * Context: any.
 * Return: true if so.
 */
bool dsm_fault_matters(enum dsm_vc vc, const struct dsm_msgbuf *msg, u32 at)
{
	u32 credit = offsetof(struct dsm_wire_hdr, credit);

	if (at < credit || at >= DSM_HDR_BYTES)
		return at < msg->len;
	return dsm_credit_carrier((at - credit) / sizeof(__le16)) == vc;
}

/**
 * dsm_fault_body() - change a byte of a message's body, if it has one
 * @peer: receiver
 * @msg:  message about to be posted, of a type that is to be changed
 *
 * Says so in the log.
 *
 * Context: peer lock held; any.
 */
void dsm_fault_body(struct dsm_peer *peer, struct dsm_msgbuf *msg)
{
	u32 type = msg->data[0], dice = dice_of(peer, type);
	u32 bytes = msg->len - DSM_HDR_BYTES, at;
	u8 mask = 1 + (dice >> 16) % 255;

	if (!bytes)
		return;
	at = DSM_HDR_BYTES + (dice & 0xffff) % bytes;
	msg->data[at] ^= mask;
	__clear_bit(type, peer->faults.bodies);
	pr_info("dsm: fault: to node %u: type %u, byte %u of %u changed by 0x%02x\n", peer->node,
		type, at, msg->len, mask);
}

static void turn(struct dsm_peer *peer, enum dsm_fault fault, bool on)
{
	spin_lock_bh(&peer->lock);
	__assign_bit(fault, &peer->faults.set, on);
	dsm_send_push(peer, false);
	spin_unlock_bh(&peer->lock);
}

/**
 * dsm_net_fault() - let something go wrong
 * @net:  transport
 * @node: peer
 * @what: name of a fault
 * @a:    its first argument
 * @b:    its second argument
 *
 * Context: process, sleeps.
 * Return: 0; -ENOENT if there is no such peer, -EINVAL for an unknown fault, -ENOTCONN if a
 *         connection that is to break does not stand.
 */
int dsm_net_fault(struct dsm_net *net, u16 node, const char *what, u32 a, u32 b)
{
	struct dsm_peer *peer = dsm_peer_find(net, node);
	int err = 0;

	if (!peer)
		return -ENOENT;
	if (!strcmp(what, "break"))
		err = break_one(peer, a);
	else if (!strcmp(what, "corrupt"))
		corrupt(peer, a, b);
	else if (!strcmp(what, "body") && a < 256)
		change_body(peer, a, b);
	else if (!strcmp(what, "repeat"))
		set_bit(DSM_FAULT_REPEAT, &peer->faults.set);
	else if (!strcmp(what, "deaf") && a < DSM_VC_COUNT)
		set_bit(a, &peer->faults.deaf);
	else if (!strcmp(what, "lie"))
		set_bit(DSM_FAULT_LIE, &peer->faults.set);
	else if (!strcmp(what, "withhold") && a)
		set_bit(DSM_FAULT_WITHHOLD, &peer->faults.set);
	else if (!strcmp(what, "withhold"))
		give_withheld(peer);
	else if (!strcmp(what, "overrun"))
		turn(peer, DSM_FAULT_OVERRUN, a);
	else if (!strcmp(what, "few"))
		turn(peer, DSM_FAULT_FEW, a);
	else if (!strcmp(what, "datagrams"))
		err = dsm_mcast_drop(net, a);
	else
		err = -EINVAL;
	dsm_peer_put(peer);
	return err;
}
