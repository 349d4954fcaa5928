/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Debug builds: what can be made to go wrong, and where. In other builds all of this is nothing.
 */
#ifndef DSM_NET_FAULT_H
#define DSM_NET_FAULT_H

#include "net.h"

/**
 * enum dsm_fault - what is to go wrong with a peer
 * @DSM_FAULT_CORRUPT:  the next message to it has a changed byte; once
 * @DSM_FAULT_REPEAT:   acknowledgements are ignored, and when the connections are made anew,
 *                      messages that the peer has go out again; once
 * @DSM_FAULT_LIE:      the peer is told, when a connection is made anew, that we have messages
 *                      that it never sent
 * @DSM_FAULT_WITHHOLD: credits are not given back
 * @DSM_FAULT_OVERRUN:  messages go out without credit
 * @DSM_FAULT_FEW:      few answers may wait for it before it is not given back credits for requests
 */
enum dsm_fault {
	DSM_FAULT_CORRUPT, DSM_FAULT_REPEAT, DSM_FAULT_LIE, DSM_FAULT_WITHHOLD, DSM_FAULT_OVERRUN, DSM_FAULT_FEW,
};

/* In the place of a message's type, which none has: a brief answer, see sink.c. */
#define DSM_FAULT_BRIEF 0

/* More would not fit into the slots that are posted beside what is missing. */
#define DSM_FAULT_REPEATS 4u

#ifdef DSM_DEBUG
/* forge.c */
void dsm_forge_message(struct dsm_msgbuf *msg);
void dsm_forge_bulk(struct ib_rdma_wr *rdma);
void dsm_forge_brief(u32 *imm);

/* mcast.c */
int dsm_mcast_drop(struct dsm_net *net, u32 of);

/* fault.c */
bool dsm_fault_matters(enum dsm_vc vc, const struct dsm_msgbuf *msg, u32 at);
void dsm_fault_body(struct dsm_peer *peer, struct dsm_msgbuf *msg);
void dsm_fault_change_brief(struct dsm_peer *peer, u32 *imm);

static inline bool dsm_fault_is_set(const struct dsm_peer *peer, enum dsm_fault fault)
{
	return test_bit(fault, &peer->faults.set);
}

/* A message is about to be posted, header and all; peer lock held. */
static inline void dsm_fault_corrupt(struct dsm_qp *qp, struct dsm_msgbuf *msg)
{
	struct dsm_peer *peer = qp->peer;

	if (test_bit(msg->data[0], peer->faults.bodies))
		dsm_fault_body(peer, msg);
	if (dsm_fault_matters(qp->vc, msg, peer->faults.at) &&
	    test_and_clear_bit(DSM_FAULT_CORRUPT, &peer->faults.set))
		msg->data[peer->faults.at] ^= peer->faults.mask;
}

/* May an answer be brief? One of a type that is to be changed says all. Peer lock held. */
static inline bool dsm_fault_allows_brief(const struct dsm_peer *peer, const struct dsm_msgbuf *msg)
{
	return !test_bit(msg->data[0], peer->faults.bodies);
}

/* A brief answer is about to be posted; peer lock held. */
static inline void dsm_fault_brief(struct dsm_peer *peer, u32 *imm)
{
	dsm_forge_brief(imm);
	if (test_bit(DSM_FAULT_BRIEF, peer->faults.bodies))
		dsm_fault_change_brief(peer, imm);
}

/* How many messages go out again of so many @held, if @missing have to. */
static inline u32 dsm_fault_repeat(struct dsm_peer *peer, u32 missing, u32 held)
{
	if (!dsm_fault_is_set(peer, DSM_FAULT_REPEAT))
		return missing;
	return min(missing + DSM_FAULT_REPEATS, held);
}

static inline void dsm_fault_repeated(struct dsm_peer *peer)
{
	clear_bit(DSM_FAULT_REPEAT, &peer->faults.set);
	WRITE_ONCE(peer->faults.deaf, 0);
}

/* Is what the device says it has done ignored? Of C only on demand: without beats the peer would be lost first. */
static inline bool dsm_fault_is_deaf(const struct dsm_qp *qp)
{
	return (dsm_fault_is_set(qp->peer, DSM_FAULT_REPEAT) && qp->vc != DSM_VC_C) ||
	       test_bit(qp->vc, &qp->peer->faults.deaf);
}

/* What the peer is told that we have received. */
static inline u32 dsm_fault_lie(struct dsm_peer *peer, u32 received)
{
	return dsm_fault_is_set(peer, DSM_FAULT_LIE) ? received + 1000 : received;
}

/* A credit is about to be given back; peer lock held. */
static inline bool dsm_fault_withhold(struct dsm_peer *peer, enum dsm_class class)
{
	if (!dsm_fault_is_set(peer, DSM_FAULT_WITHHOLD))
		return false;
	peer->faults.withheld[class]++;
	return true;
}
#else
static inline void dsm_forge_message(struct dsm_msgbuf *msg) {}
static inline void dsm_forge_bulk(struct ib_rdma_wr *rdma) {}
static inline bool dsm_fault_is_set(const struct dsm_peer *peer, enum dsm_fault fault)
{
	return false;
}

static inline void dsm_fault_corrupt(struct dsm_qp *qp, struct dsm_msgbuf *msg) {}
static inline bool dsm_fault_allows_brief(const struct dsm_peer *peer, const struct dsm_msgbuf *msg)
{
	return true;
}

static inline void dsm_fault_brief(struct dsm_peer *peer, u32 *imm) {}
static inline u32 dsm_fault_repeat(struct dsm_peer *peer, u32 missing, u32 held)
{
	return missing;
}

static inline void dsm_fault_repeated(struct dsm_peer *peer) {}
static inline bool dsm_fault_is_deaf(const struct dsm_qp *qp)
{
	return false;
}

static inline u32 dsm_fault_lie(struct dsm_peer *peer, u32 received)
{
	return received;
}

static inline bool dsm_fault_withhold(struct dsm_peer *peer, enum dsm_class class)
{
	return false;
}
#endif

#endif
