// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Debug builds only: breaks the rules for bulk and brief answers, once, so that tests see what the
 * receiver says of it. Changes nothing unless it was asked to.
 */
#include "fault.h"
#include "net.h"

enum forgery { NONE, SLOT, TURN, EMPTY, CUT, FAR, CLASS, OVERLAP, KEY, FRAME, MORE, NUMBER };

static const char * const names[] = {
	[NONE] = "none", [SLOT] = "slot", [TURN] = "turn", [EMPTY] = "empty", [CUT] = "cut",
	[FAR] = "far", [CLASS] = "class", [OVERLAP] = "overlap", [KEY] = "key", [FRAME] = "frame",
	[MORE] = "more", [NUMBER] = "number",
};

static atomic_t next = ATOMIC_INIT(NONE);

/**
 * dsm_net_forge() - what the next bulk or brief answer is to get wrong
 * @what: slot: it names none; turn: not the next one; empty: it brings no bytes; cut: its end is
 *        missing; far: it goes beyond the ring; class: it holds what is no request; overlap: its
 *        first message goes on into the second; answers: key: it names one that was not lent; frame: one
 *        that is not awaited; more: it says that it brings more than it does; number: there is none;
 *        none: what was asked for before and did not happen is not to happen any more
 *
 * Context: any.
 * Return: 0, or -EINVAL: no such word.
 */
int dsm_net_forge(const char *what)
{
	int i;

	for (i = NONE; i <= NUMBER; i++) {
		if (!strcmp(what, names[i])) {
			atomic_set(&next, i);
			return 0;
		}
	}
	return -EINVAL;
}

/**
 * dsm_forge_message() - a message of a bulk is complete
 * @msg: message
 *
 * Context: any.
 */
void dsm_forge_message(struct dsm_msgbuf *msg)
{
	struct dsm_wire_hdr hdr;

	if (atomic_cmpxchg(&next, CLASS, NONE) == CLASS) {
		msg->data[0] = DSM_MSG_LOCK_PASS;
	} else if (msg->next && atomic_cmpxchg(&next, OVERLAP, NONE) == OVERLAP) {
		memcpy(&hdr, msg->data, sizeof(hdr));
		le16_add_cpu(&hdr.len, sizeof(hdr));
		memcpy(msg->data, &hdr, sizeof(hdr));
	}
}

/**
 * dsm_forge_bulk() - a bulk is complete
 * @rdma: its work request
 *
 * Context: any.
 */
void dsm_forge_bulk(struct ib_rdma_wr *rdma)
{
	u32 imm = be32_to_cpu(rdma->wr.ex.imm_data);
	int what = atomic_read(&next);

	/* Those are for dsm_forge_message() and dsm_forge_brief(). */
	if (what >= CLASS || atomic_cmpxchg(&next, what, NONE) != what)
		return;
	switch (what) {
	case SLOT:
		rdma->wr.ex.imm_data = cpu_to_be32(imm | DSM_BULK_SLOTS);
		break;
	case TURN:
		rdma->wr.ex.imm_data = cpu_to_be32(imm ^ 1);
		break;
	case EMPTY:
		rdma->wr.num_sge = 0;
		break;
	case CUT:
		rdma->wr.sg_list[rdma->wr.num_sge - 1].length -= 8;
		break;
	case FAR:
		rdma->remote_addr += DSM_BULK_SLOTS * DSM_BULK_BYTES;
		break;
	}
}

/**
 * dsm_forge_brief() - a brief answer is complete
 * @imm: its immediate
 *
 * Context: any.
 */
void dsm_forge_brief(u32 *imm)
{
	if (atomic_cmpxchg(&next, KEY, NONE) == KEY)
		*imm ^= 0x80;
	else if (atomic_cmpxchg(&next, FRAME, NONE) == FRAME)
		*imm |= 0xf << 14;
	else if (atomic_cmpxchg(&next, MORE, NONE) == MORE)
		*imm += 1 << 18;
	else if (atomic_cmpxchg(&next, NUMBER, NONE) == NUMBER)
		*imm &= 0x3fff;
}
