/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Flow control with one peer as plain counts, so that host tests drive the very code. Knows no
 * verbs, no lock and no message.
 */
#ifndef DSM_NET_CREDIT_H
#define DSM_NET_CREDIT_H

#include "../core/types.h"

/*
 * Receive slots a node gives each peer, per class; one credit is one slot. 48
 * requests keep one node's fetches and a diff train in flight, forwards are
 * rarer, and 64 replies match what 48 + 16 requests can ask for. 128 slots of
 * 8 KiB are 1 MiB per peer.
 */
#define DSM_SLOTS_REQ 48
#define DSM_SLOTS_FWD 16
#define DSM_SLOTS_RSP 64

/* Signals that a peer may have under way; they carry nothing, so their slots cost nothing. */
#define DSM_SLOTS_SIGNAL 64

/*
 * Slots of the ring that a node keeps for each peer's requests, and the bytes of one: 15 messages of
 * a whole page's diff. Four, so that some are written while one is worked on and one comes back.
 */
#define DSM_BULK_SLOTS 4
#define DSM_BULK_BYTES 65536u

/* Class CTL has no credits; its place in the credit word counts signals. */
#define DSM_CREDIT_SIGNAL DSM_CLASS_CTL
#define DSM_CREDIT_COUNT 4

/* What returns credits of requests only, and without a header, returns no more at once. */
#define DSM_CREDIT_BRIEF_MAX 63

/**
 * enum dsm_vc - the four connections of a pair of nodes
 * @DSM_VC_C: class CTL; comes first, carries who is who
 * @DSM_VC_Q: classes REQ and FWD
 * @DSM_VC_P: class RSP
 * @DSM_VC_B: one-sided transfers, their signals and registrations
 * @DSM_VC_COUNT: number of connections
 *
 * Transfers have a connection of their own for three reasons: a queue pair works off its send
 * queue in order, so a request behind a train of 64 KiB READs would wait for all of it; a device
 * stops a queue pair whose READs have reached their depth, sends included; and a fence would hold
 * up requests that have nothing to do with it. It costs a queue pair per peer.
 */
enum dsm_vc { DSM_VC_C, DSM_VC_Q, DSM_VC_P, DSM_VC_B, DSM_VC_COUNT };

/**
 * struct dsm_credit - flow control of one class with one peer; 16-bit counts, wrapping
 * @limit:      messages the peer allows us in all
 * @sent:       messages sent
 * @granted:    messages we allow the peer in all: slots posted for this class
 * @advertised: the part of @granted that a posted header carried
 * @received:   messages received
 * @slots:      window
 *
 * Guarded by the peer's lock. @limit - @sent and @advertised - @received are within 0 and @slots.
 */
struct dsm_credit {
	u16 limit;
	u16 sent;
	u16 granted;
	u16 advertised;
	u16 received;
	u16 slots;
};

/**
 * struct dsm_credits - all that is counted with one peer
 * @of:    enum dsm_class and DSM_CREDIT_SIGNAL
 * @bulks: slots of its ring (bulk.c) that are free again, since a posted header said so
 * @held:  slots of requests that are posted again, but not granted yet: too many answers wait
 */
struct dsm_credits {
	struct dsm_credit of[DSM_CREDIT_COUNT];
	u16 bulks;
	u16 held;
};

void dsm_credit_init(struct dsm_credits *c);
enum dsm_vc dsm_credit_carrier(enum dsm_class class);
bool dsm_credit_may_send(const struct dsm_credits *c, enum dsm_class class);
bool dsm_credit_may_return(const struct dsm_credits *c, enum dsm_vc vc, bool idle);
void dsm_credit_use(struct dsm_credits *c, enum dsm_class class);
bool dsm_credit_return_due(const struct dsm_credits *c, enum dsm_vc vc, bool idle);
u64 dsm_credit_word(struct dsm_credits *c, enum dsm_vc vc);
int dsm_credit_brief(struct dsm_credits *c);
u64 dsm_credit_brief_word(const struct dsm_credits *c, u32 requests);
bool dsm_credit_take(struct dsm_credits *c, enum dsm_vc vc, u64 word);
bool dsm_credit_receive(struct dsm_credits *c, enum dsm_class class);
void dsm_credit_repost(struct dsm_credits *c, enum dsm_class class);
bool dsm_credit_receive_bulk(struct dsm_credits *c);
void dsm_credit_repost_bulk(struct dsm_credits *c);
void dsm_credit_withhold(struct dsm_credits *c);
void dsm_credit_release(struct dsm_credits *c);

#endif
