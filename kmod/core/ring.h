/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Write notices of regions with metadata=rdma: each node keeps a ring for each other one, which writes its notices
 * there; the receiver's processor has no part in it until it acquires. Knows nothing of who is to be told.
 */
#ifndef DSM_CORE_RING_H
#define DSM_CORE_RING_H

#include "engine.h"

/* Places of a ring. */
#ifndef DSM_RING_NOTICES
#define DSM_RING_NOTICES 248u
#endif

/**
 * struct dsm_ring - notices of one node to another
 * @tail:   so many were written, from the first on; written after them
 * @notice: notice k is in place k modulo the places
 */
struct dsm_ring {
	__le64 tail;
	struct dsm_wire_notice notice[DSM_RING_NOTICES];
};

/* With room to spare, so that none crosses a page. */
union dsm_ring_slot {
	struct dsm_ring ring;
	u8 room[4096];
};
static_assert(sizeof(struct dsm_ring) <= sizeof(union dsm_ring_slot));

/* ---- telling ---- */
/* A notice for @to, of p->rel_cur's release. False: there is no ring, or no place: tell by message. */
bool dsm_ring_put(struct dsm_engine *e, u16 to, const struct dsm_page *p, u64 ver);
/* What this step has put goes out. */
void dsm_ring_post(struct dsm_engine *e, struct dsm_actions *acts);
/* A transfer of kind RING is back; it stays the shell's. */
void dsm_ring_done(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts);
/* @to says that it has taken @taken notices. -EPROTO: so many were never written. */
int dsm_ring_taken(struct dsm_engine *e, u16 to, u64 taken);

/* ---- being told ---- */
/* Is there anything in a ring that was not taken? */
bool dsm_ring_waits(const struct dsm_engine *e);
/* How many notices that is. */
u64 dsm_ring_waiting(const struct dsm_engine *e, const struct dsm_space *space);
/* An acquire takes all: pages that lost a right. *@more: call again. */
u32 dsm_ring_apply(struct dsm_engine *e, struct dsm_page **out, u32 max, bool *more);
/* From one ring into the inbox. */
void dsm_ring_drain(struct dsm_engine *e, u16 from);
/* Does a notice that was not taken name a newer version of @p than it has? */
bool dsm_ring_names(const struct dsm_engine *e, const struct dsm_page *p);

void dsm_ring_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts);

#endif
