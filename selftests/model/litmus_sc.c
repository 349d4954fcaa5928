// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Litmus programs for consistency=sc: plain loads, stores and atomic additions. Whether what was read is
 * sequentially consistent is decided for each run by history.c; a program adds only what it is for.
 */
#include "model.h"

#define A 0
#define B 1
#define C 2
#define END { OP_END, 0, 0, 0 }
#define PROG(name, ...) static const struct op name[] = { __VA_ARGS__, END }
#define LAST (DSM_PAGE_BYTES - 1)

static s8 reg(u32 thread, u32 r)
{
	return w.thread[thread].reg[r];
}

/* L4, store buffering: not both see nothing. */
PROG(sb_a, STORE(0, 0, 1), LOAD(1, 0, 0));
PROG(sb_b, STORE(1, 0, 1), LOAD(0, 0, 0));

static const char *sb_final(void)
{
	return reg(0, 0) || reg(1, 0) ? NULL : "both read 0";
}

/* L2, message passing, in one page and in two; the reader waits. */
PROG(mp_a, STORE(0, 0, 1), STORE(1, 0, 1));
PROG(mp_b, LOAD(1, 0, 0), LOAD(0, 0, 1));
PROG(mp_spin, LOOK, LOAD(1, 0, 0), IF(0, 1, 4), SPIN(0), LOAD(0, 0, 1));

static const char *mp_final(void)
{
	return reg(1, 1) == 1 ? NULL : "the flag was seen, the data not";
}

/*
 * L26: the data in a region with hlrc, the flag in one with sc. The flag alone promises nothing of the data; with a release before
 * and an acquire behind it, it is seen.
 */
PROG(mixed_a, STORE(0, 0, 1), STORE(1, 0, 1));
PROG(mixed_b, LOAD(0, 0, 2), LOOK, LOAD(1, 0, 0), IF(0, 1, 5), SPIN(1), LOAD(0, 0, 1));
PROG(mixed_sync_a, STORE(0, 0, 1), RELEASE, STORE(1, 0, 1));
PROG(mixed_sync_b, LOAD(0, 0, 2), LOOK, LOAD(1, 0, 0), IF(0, 1, 5), SPIN(1), ACQUIRE, LOAD(0, 0, 1));

static const char *mixed_final(void)
{
	return reg(1, 0) == 1 ? NULL : "the flag was not seen";
}

/* Load buffering, coherence of one location, 2+2W, WRC, R and S. */
PROG(lb_a, LOAD(0, 0, 0), STORE(1, 0, 1));
PROG(lb_b, LOAD(1, 0, 0), STORE(0, 0, 1));
PROG(corr_w, STORE(0, 0, 1), STORE(0, 0, 2));
PROG(corr_r, LOAD(0, 0, 0), LOAD(0, 0, 1), LOAD(0, 0, 2));
PROG(ww_a, STORE(0, 0, 1), STORE(1, 0, 2), LOAD(0, 0, 0));
PROG(ww_b, STORE(1, 0, 1), STORE(0, 0, 2), LOAD(1, 0, 0));
PROG(wrc_a, STORE(0, 0, 1));
PROG(wrc_b, LOAD(0, 0, 0), STORE(1, 0, 1));
PROG(wrc_c, LOAD(1, 0, 0), LOAD(0, 0, 1));
PROG(r_a, STORE(0, 0, 1), STORE(1, 0, 1));
PROG(r_b, STORE(1, 0, 2), LOAD(0, 0, 0));
PROG(s_a, STORE(0, 0, 2), STORE(1, 0, 1));
PROG(s_b, LOAD(1, 0, 0), STORE(0, 0, 1), LOAD(0, 0, 1));

/* L5, IRIW: two readers agree on the order of two writers. */
PROG(iriw_x, STORE(0, 0, 1));
PROG(iriw_y, STORE(1, 0, 1));
PROG(iriw_r, LOAD(0, 0, 0), LOAD(1, 0, 1));
PROG(iriw_s, LOAD(1, 0, 0), LOAD(0, 0, 1));

/* The same with copies from before. */
PROG(sb_warm_a, LOAD(1, 0, 1), STORE(0, 0, 1), LOAD(1, 0, 0));
PROG(sb_warm_b, LOAD(0, 0, 1), STORE(1, 0, 1), LOAD(0, 0, 0));
PROG(mp_warm, LOAD(0, 0, 2), LOAD(1, 0, 0), LOAD(0, 0, 1));
PROG(mp_warm2, LOAD(0, 0, 2), LOAD(1, 0, 0), LOAD(0, 0, 1), LOAD(1, 0, 0), LOAD(0, 0, 1));
PROG(iriw_warm_r, LOAD(0, 0, 0), LOAD(1, 0, 1), LOAD(0, 0, 0), LOAD(1, 0, 1));
PROG(iriw_warm_s, LOAD(1, 0, 0), LOAD(0, 0, 1), LOAD(1, 0, 0), LOAD(0, 0, 1));

static const char *iriw_final(void)
{
	bool first = reg(2, 0) == 1 && reg(2, 1) == 0, second = reg(3, 0) == 1 && reg(3, 1) == 0;

	reach((first ? REACH_FIRST : 0) | (second ? REACH_SECOND : 0));
	return first && second ? "the readers disagree on the order of the writes" : NULL;
}

/* L7, L35: neighbours in one page. */
PROG(near_a, STORE(0, 0, 1), LOAD(0, 1, 0), STORE(0, 2, 3), LOAD(0, 3, 1));
PROG(near_b, STORE(0, 1, 2), LOAD(0, 0, 0), STORE(0, 3, 4), LOAD(0, 2, 1));

/* L31: atomic additions by everybody. */
PROG(add_t, ADD(0, 0, 0), ADD(1, LAST, 1), ADD(0, 0, 0), LOAD(1, LAST, 2));
PROG(add_1, ADD(0, 0, 0), ADD(0, 0, 0));

/* L32: stores across two pages, and readers of both. */
PROG(across_a, ACROSS(1), ACROSS(2), LOAD(0, LAST, 0), LOAD(1, 0, 1));
PROG(across_b, ACROSS(3), LOAD(1, 0, 0), ACROSS(4));
PROG(across_c, LOAD(0, LAST, 0), LOAD(1, 0, 1), LOAD(0, LAST, 2));

/* L6: a reader never sees a location go back. */
PROG(mono_r, LOAD(0, 0, 0), LOAD(0, 0, 1), LOAD(0, 0, 2), LOAD(0, 0, 3));
PROG(mono_w, STORE(0, 0, 1), STORE(0, 0, 2), STORE(0, 0, 3));

static const char *mono_final(void)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (reg(1, i) > reg(1, i + 1))
			return "a location went backwards";
	if (reg(1, 0) < reg(1, 3))
		reach(REACH_NEWER);
	return NULL;
}

/* Peterson's lock: want[0] and want[1] in page 0 and 1, the turn in page 0; a plain counter inside. */
#define PETERSON(me, wp, op, other)								\
	STORE(wp, 1, 1), STORE(0, 2, other),							\
	LOOK, LOAD(op, 1, 1), IF(1, 0, 8), LOAD(0, 2, 1), IF(1, me, 8), SPIN(2),			\
	LOAD(1, 3, 0), { OP_STORE_REG, 1, 3, 1 }, STORE(wp, 1, 0)
/* want[] of A in page 0, of B in page 1; me is the value of the turn that lets this one go. */
PROG(peterson_a, PETERSON(1, 0, 1, 2), LOOP(1, 0));
PROG(peterson_b, PETERSON(2, 1, 0, 1), LOOP(1, 0));

/* Ticket lock: next in page 0, serving in page 1, a plain counter beside them. */
PROG(ticket_t, ADD(0, 0, 1), LOOK, LOAD(1, 0, 2), IF_REGS(1, 2, 5), SPIN(1), LOAD(0, 1, 0), { OP_STORE_REG, 0, 1, 1 },
	ADD(1, 0, 3));

static const char *counted(s8 want)
{
	u32 p = want == 4 ? 1 : 0, byte = want == 4 ? 3 : 1, i;

	/* Whoever has the page now; the history has been checked already. */
	for (i = 0; i < w.l->nodes; i++)
		if (w.node[i].exists[p] && (w.node[i].page[p].state == DSM_SC_M || w.node[i].page[p].state == DSM_SC_S))
			return w.node[i].frame[p][byte] == want ? NULL : "the counter lost an increment";
	return NULL;
}

static const char *peterson_final(void)
{
	return counted(4);
}

static const char *ticket_final(void)
{
	return counted(3);
}

/*
 * A ring of one slot: the producer waits until the consumer has counted what it took, the consumer until
 * there is more.
 */
PROG(ring_p, STORE(0, 1, 5), STORE(0, 0, 1), LOOK, LOAD(1, 0, 0), IF(0, 1, 6), SPIN(2), STORE(0, 1, 6), STORE(0, 0, 2));
PROG(ring_c, LOOK, LOAD(0, 0, 0), IF(0, 1, 4), SPIN(0), LOAD(0, 1, 1), STORE(1, 0, 1), LOOK, LOAD(0, 0, 0), IF(0, 2, 10),
	SPIN(6), LOAD(0, 1, 2));

static const char *ring_final(void)
{
	return reg(1, 1) == 5 && reg(1, 2) == 6 ? NULL : "the consumer took something else";
}

/* Written by a device while the page is wanted elsewhere (decisions.md, P9). */
PROG(dma_a, PIN(0), DMA(0, 0, 1), DMA(0, 1, 2), UNPIN(0), STORE(1, 0, 1));
PROG(dma_b, LOOK, LOAD(1, 0, 0), IF(0, 1, 4), SPIN(0), LOAD(0, 0, 1), LOAD(0, 1, 2));
PROG(dma_c, STORE(0, 2, 3), LOAD(0, 0, 0), LOAD(0, 2, 1));

/* A device still writes pages that others have asked for when all programs end, and the region is removed. */
PROG(goes_a, STORE(0, 0, 1), PIN(0), DMA(0, 1, 2), LOAD(1, 0, 0));
PROG(goes_b, STORE(1, 0, 1), PREFETCH(0));
PROG(goes_c, PREFETCH(0), PREFETCH(1));

/* Nobody reads a page that was never written from anywhere but as zeroes. */
PROG(zero_r, LOAD(0, 0, 0), LOAD(1, 0, 1), STORE(0, 0, 1), LOAD(1, 1, 2));

/* A node is lost while everybody uses everything. */
PROG(crash_a, STORE(0, 0, 1), LOAD(1, 0, 0), ADD(0, 1, 1), LOAD(0, 0, 2), STORE(1, 1, 2), ADD(1, 2, 3));
PROG(crash_b, STORE(1, 0, 1), LOAD(0, 0, 0), ADD(0, 1, 1), STORE(0, LAST, 3), LOAD(1, 1, 2), ADD(1, 2, 3));
PROG(crash_c, LOAD(0, 1, 0), LOAD(1, 2, 1), ADD(0, 1, 1), LOAD(1, 0, 2), ADD(1, 2, 3), LOAD(0, 0, 0));

/* Both pages were seen as the lost node left one of them. */
PROG(crash_mp, STORE(0, 0, 1), LOAD(0, 0, 0), STORE(0, 0, 2), STORE(1, 0, 1), STORE(0, 0, 3));
PROG(crash_see, LOAD(0, 0, 0), LOAD(1, 0, 1), LOAD(0, 0, 2));
PROG(crash_across, ACROSS(1), LOAD(0, LAST, 0), ACROSS(2));

const struct litmus litmus_sc_list[] = {
	{ "sc-SB", 3, 2, { A, B }, LITMUS_SC, { sb_a, sb_b }, sb_final },
	{ "sc-SBsibling", 2, 3, { A, B, A }, LITMUS_SC, { sb_a, sb_b, corr_r }, sb_final },
	{ "sc-MP", 3, 2, { A, B }, LITMUS_SC, { mp_a, mp_b }, NULL },
	{ "sc-MPspin", 3, 2, { A, B }, LITMUS_SC, { mp_a, mp_spin }, mp_final },
	{ "sc-L26", 3, 2, { A, B }, LITMUS_SC | LITMUS_MIXED, { mixed_a, mixed_b }, mixed_final },
	{ "sc-L26sync", 3, 2, { A, B }, LITMUS_SC | LITMUS_MIXED, { mixed_sync_a, mixed_sync_b }, mp_final },
	{ "sc-LB", 3, 2, { A, B }, LITMUS_SC, { lb_a, lb_b }, NULL },
	{ "sc-CoRR", 3, 4, { A, B, B, C }, LITMUS_SC, { corr_w, corr_r, corr_r, corr_r }, NULL },
	{ "sc-2+2W", 3, 3, { A, B, C }, LITMUS_SC, { ww_a, ww_b, iriw_r }, NULL },
	{ "sc-WRC", 3, 3, { A, B, C }, LITMUS_SC, { wrc_a, wrc_b, wrc_c }, NULL },
	{ "sc-R", 3, 3, { A, B, C }, LITMUS_SC, { r_a, r_b, iriw_s }, NULL },
	{ "sc-S", 3, 3, { A, B, C }, LITMUS_SC, { s_a, s_b, iriw_r }, NULL },
	{ "sc-IRIW", 3, 4, { A, B, C, B }, LITMUS_SC,
	  { iriw_x, iriw_y, iriw_r, iriw_s }, iriw_final, REACH_FIRST | REACH_SECOND },
	{ "sc-SBwarm", 3, 2, { A, B }, LITMUS_SC, { sb_warm_a, sb_warm_b }, sb_final },
	{ "sc-MPwarm", 3, 3, { A, B, C }, LITMUS_SC, { mp_a, mp_warm, mp_warm2 }, NULL },
	{ "sc-IRIWwarm", 3, 4, { A, B, C, B }, LITMUS_SC,
	  { iriw_x, iriw_y, iriw_warm_r, iriw_warm_s }, iriw_final, REACH_FIRST | REACH_SECOND },
	{ "sc-near", 3, 4, { A, B, C, A }, LITMUS_SC, { near_a, near_b, near_a, near_b }, NULL },
	{ "sc-L6", 3, 3, { A, B, C }, LITMUS_SC, { mono_w, mono_r, mono_r }, mono_final, REACH_NEWER },
	{ "sc-add", 3, 4, { A, B, C, A }, LITMUS_SC, { add_t, add_t, add_1, add_1 }, NULL },
	{ "sc-across", 3, 3, { A, B, C }, LITMUS_SC | LITMUS_FAIR | LITMUS_WALK_ONLY, { across_a, across_b, across_c }, NULL },
	{ "sc-peterson", 3, 2, { A, B }, LITMUS_SC, { peterson_a, peterson_b }, peterson_final },
	{ "sc-ticket", 3, 3, { A, B, C }, LITMUS_SC, { ticket_t, ticket_t, ticket_t }, ticket_final },
	{ "sc-ring", 3, 2, { A, B }, LITMUS_SC, { ring_p, ring_c }, ring_final },
	{ "sc-dma", 3, 3, { A, B, C }, LITMUS_SC, { dma_a, dma_b, dma_c }, NULL },
	{ "sc-goes", 3, 3, { A, B, C }, LITMUS_SC | LITMUS_GOES, { goes_a, goes_b, goes_c }, NULL },
	{ "sc-zero", 3, 3, { A, B, C }, LITMUS_SC, { zero_r, zero_r, zero_r }, NULL },
	{ "sc-crash", 3, 4, { A, B, C, A }, LITMUS_SC | LITMUS_CRASH | LITMUS_ERRORS, { crash_a, crash_b, crash_c, crash_b },
	  NULL },
	{ "sc-crash2", 3, 3, { A, B, C }, LITMUS_SC | LITMUS_CRASH | LITMUS_ERRORS, { add_t, add_t, crash_c }, NULL },
	{ "sc-crashMP", 3, 3, { A, B, C }, LITMUS_SC | LITMUS_CRASH | LITMUS_ERRORS, { crash_mp, crash_see, crash_see }, NULL },
	{ "sc-crash-across", 3, 3, { A, B, C }, LITMUS_SC | LITMUS_CRASH | LITMUS_ERRORS | LITMUS_FAIR | LITMUS_WALK_ONLY,
	  { crash_across, crash_across, crash_see }, NULL },
};
const u32 litmus_sc_count = ARRAY_SIZE(litmus_sc_list);
