/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Rings into which peers write requests that wait together (bulk.c).
 */
#ifndef DSM_NET_BULK_H
#define DSM_NET_BULK_H

#include <rdma/ib_verbs.h>

#include "credit.h"
#include "transport.h"

struct dsm_net_tx;
struct dsm_peer;
struct dsm_rx;

/* Most requests in one slot of a ring: a transfer has no more segments. */
#define DSM_BULK_MESSAGES DSM_XFER_SEGS

/**
 * struct dsm_bulk - rings for requests, ours and the peer's
 * @sg:       pages that the peer writes into, slot after slot, each mapped; fixed, as the next two
 * @mr:       registration of all; NULL: there is no ring
 * @message:  the message that is handled, copied out of its slot; handler of Q, as the next four
 * @slot:     slot that is handled, or that the peer uses next
 * @at:       where its next message begins
 * @len:      bytes that were written
 * @count:    messages copied out of it
 * @tell:     message that tells the peer of the ring, until it is sent; peer lock, as all that follows
 * @told:     the peer has told of its ring
 * @addr:     that ring
 * @rkey:     registration of it; 0: not known, or there is none
 * @next_out: slot that is used next
 * @busy:     bitmap of slots that the peer has not handled yet
 * @sent:     requests sent when a slot was used, its own WRITE included
 * @sge:      messages in a slot
 */
struct dsm_bulk {
	struct scatterlist *sg;
	struct ib_mr *mr;
	u8 *message;
	u32 slot;
	u32 at;
	u32 len;
	u32 count;
	struct dsm_net_tx *tell;
	bool told;
	u64 addr;
	u32 rkey;
	u32 next_out;
	unsigned long busy;
	u16 sent[DSM_BULK_SLOTS];
	struct ib_sge sge[DSM_BULK_SLOTS][DSM_BULK_MESSAGES];
};

void dsm_bulk_reserve(struct dsm_peer *peer);
void dsm_bulk_announce(struct dsm_peer *peer);
void dsm_bulk_offer(struct dsm_peer *peer, struct ib_reg_wr *reg);
void dsm_bulk_purge(struct dsm_peer *peer);
const char *dsm_bulk_learn(struct dsm_peer *peer, const u8 *body, u32 len);
void dsm_bulk_refresh(struct dsm_peer *peer);
u32 dsm_bulk_count(const struct dsm_peer *peer, const struct dsm_msgbuf *msg);
bool dsm_bulk_waits(const struct dsm_peer *peer, const struct dsm_msgbuf *msg);
struct ib_sge *dsm_bulk_take_slot(struct dsm_peer *peer, struct ib_rdma_wr *rdma);
const char *dsm_bulk_begin(struct dsm_peer *peer, u32 imm, u32 len);
const char *dsm_bulk_next(struct dsm_peer *peer, struct dsm_rx *one, bool *last);

#endif
