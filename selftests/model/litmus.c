// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The litmus programs of protocol.md 5.2 that apply to hlrc by messages, and some of our own. What a load may
 * return is the oracle's business; a program adds only what the oracle cannot see.
 */
#include "model.h"

#define A 0
#define B 1
#define C 2
#define D 3
#define END { OP_END, 0, 0, 0 }
#define ARRAY (LITMUS_ARRAY | LITMUS_FAIR | LITMUS_WALK_ONLY)
#define PROG(name, ...) static const struct op name[] = { __VA_ARGS__, END }

static s8 reg(u32 thread, u32 r)
{
	return w.thread[thread].reg[r];
}

/* L1: what was written under a lock is seen under it. */
PROG(l1_a, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l1_b, LOAD(0, 0, 1), HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0));

/* A free lock looks as it did before, but its last holder has written meanwhile. */
PROG(l1_again, LOCK(0), INC(0, 0), UNLOCK(0), TELL(0), HEAR(1), LOCK(0), UNLOCK(0), TELL(2), EARLY, LOOP(9, 9), LOCK(0),
	INC(0, 0), UNLOCK(0));
PROG(l1_behind, HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0), TELL(1), HEAR(2), LOCK(0), LOAD(0, 0, 0), UNLOCK(0));

/* L2: plain spin loop, unrolled: no order is promised, but each value is one that was written. */
PROG(l2_a, STORE(0, 0, 1), STORE(1, 1, 1), RELEASE);
PROG(l2_b, LOAD(1, 1, 0), LOAD(0, 0, 1), ACQUIRE, LOAD(1, 1, 2), LOAD(0, 0, 3));

/* L3: flags. */
PROG(l3_a, STORE(0, 0, 1), SET(0));
PROG(l3_b, LOAD(0, 0, 1), WAIT(0), LOAD(0, 0, 0));

/* L6: a reader never sees a location go back. */
PROG(l6_a, STORE(0, 0, 1), RELEASE, STORE(0, 0, 2), RELEASE);
PROG(l6_b, LOAD(0, 0, 0), LOAD(0, 0, 1), LOAD(0, 0, 2), LOAD(0, 0, 3));
PROG(l6_b2, ACQUIRE, ACQUIRE);

static const char *l6_final(void)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (reg(1, i) > reg(1, i + 1))
			return "a location went backwards";
	if (reg(1, 0) < reg(1, 3))
		reach(REACH_NEWER);
	return NULL;
}

/* L7: neighbours within one word. */
PROG(l7_a, STORE(0, 0, 1), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 1, 1), BARRIER(0, 3));
PROG(l7_b, STORE(0, 1, 1), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 1, 1), BARRIER(0, 3));
PROG(l7_c, STORE(0, 2, 1), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 1, 1), BARRIER(0, 3));

/* L8: a counter under a lock. */
PROG(l8_t, LOCK(0), INC(0, 0), UNLOCK(0), LOOP(1, 0), BARRIER(0, 6), LOAD(0, 0, 0), BARRIER(0, 6));
PROG(l8_s, LOCK(0), INC(0, 0), UNLOCK(0), BARRIER(0, 3), LOAD(0, 0, 0), BARRIER(0, 3));

static const char *l8_final(void)
{
	return reg(0, 0) == 12 ? NULL : "the counter lost an increment";
}

/* Each lock twice, mostly with none of them the word's manager: a break may leave any of them in doubt. */
PROG(doubt_t, LOCK(0), INC(0, 0), UNLOCK(0), LOCK(0), INC(0, 0), LOAD(0, 0, 0), UNLOCK(0));

/* Who had the lock last saw all that the others did. */
static const char *doubt_final(void)
{
	u32 i;

	for (i = 0; i < 3; i++)
		if (reg(i, 0) == 6)
			return NULL;
	return "the counter lost an increment";
}

static const char *l8_small_final(void)
{
	return reg(0, 0) == 3 ? NULL : "the counter lost an increment";
}

/* L9: two writers of one page, two locks, a sharer that follows one of them. */
PROG(l9_a, LOCK(0), STORE(0, 0, 1), UNLOCK(0));
PROG(l9_b, LOCK(1), STORE(0, 1, 1), UNLOCK(1), TELL(0));
PROG(l9_c, LOAD(0, 1, 1), HEAR(0), LOCK(1), LOAD(0, 1, 0), UNLOCK(1));

/* L10: a release waits for its siblings' releases. */
PROG(l10_a1, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l10_a2, LOCK(1), STORE(0, 1, 1), UNLOCK(1), TELL(1));
PROG(l10_b, LOAD(0, 0, 1), HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0));
PROG(l10_c, LOAD(0, 1, 1), HEAR(1), LOCK(1), LOAD(0, 1, 0), UNLOCK(1));
PROG(l10_flag_a1, STORE(0, 0, 1), SET(0));
PROG(l10_flag_a2, STORE(0, 1, 1), SET(1));
PROG(l10_flag_b, LOAD(0, 0, 1), WAIT(0), LOAD(0, 0, 0));
PROG(l10_flag_c, LOAD(0, 1, 1), WAIT(1), LOAD(0, 1, 0));

/* L11: an acquire waits for its siblings' acquires. */
PROG(l11_b, LOCK(0), LOCK(1), STORE(0, 0, 1), UNLOCK(0), UNLOCK(1), TELL(0));
PROG(l11_a1, LOAD(0, 0, 1), HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0));
PROG(l11_a2, LOAD(0, 0, 1), HEAR(0), LOCK(1), LOAD(0, 0, 0), UNLOCK(1));

/* L12: transitive. */
PROG(l12_a, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l12_b, HEAR(0), LOCK(0), STORE(1, 1, 1), UNLOCK(0), LOCK(1), UNLOCK(1), TELL(1));
PROG(l12_c, LOAD(0, 0, 2), LOAD(1, 1, 3), HEAR(1), LOCK(1), LOAD(1, 1, 0), LOAD(0, 0, 1), UNLOCK(1));

/* L13: the first link is a hand-over within a node. */
PROG(l13_a1, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l13_a2, HEAR(0), LOCK(0), STORE(1, 1, 1), UNLOCK(0), LOCK(1), UNLOCK(1), TELL(1));
PROG(l13_b, LOAD(0, 0, 2), LOAD(1, 1, 3), HEAR(1), LOCK(1), LOAD(0, 0, 0), LOAD(1, 1, 1), UNLOCK(1));

/* L14: writing back the old value after a merge. */
PROG(l14_a1, HEAR(0), LOCK(0), STORE(0, 0, 0), UNLOCK(0), TELL(1));
PROG(l14_a2, STORE(0, 2, 5), STORE(0, 3, 6));
PROG(l14_b, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l14_c, HEAR(1), LOCK(0), LOAD(0, 0, 0), UNLOCK(0));

/* L15: a sibling stores all the time while a notice is applied and merged. */
PROG(l15_a1, LOAD(0, 0, 1), HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0), BARRIER(0, 3), LOAD(0, 2, 2), LOAD(0, 3, 3),
	BARRIER(0, 3));
PROG(l15_a2, STORE(0, 2, 1), STORE(0, 3, 1), STORE(0, 2, 2), STORE(0, 3, 2), STORE(0, 2, 3), BARRIER(0, 3),
	LOAD(0, 2, 2), BARRIER(0, 3));
PROG(l15_b, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0), BARRIER(0, 3), LOAD(0, 2, 0), LOAD(0, 3, 1), BARRIER(0, 3));

/* The same with flushes all the time. */
PROG(l15_early, EARLY, EARLY, EARLY, BARRIER(0, 3), LOAD(0, 1, 1), LOAD(0, 2, 2), LOAD(0, 3, 3), BARRIER(0, 3));
PROG(l15_store, STORE(0, 1, 1), STORE(0, 2, 1), STORE(0, 3, 1), STORE(0, 1, 2), BARRIER(0, 3), BARRIER(0, 3));
PROG(l15_read, LOAD(0, 0, 0), BARRIER(0, 3), LOAD(0, 1, 1), LOAD(0, 2, 2), LOAD(0, 3, 3), BARRIER(0, 3));

/* L15write: a value that was there only while the bytes of the interval before were under way. */
PROG(l15_twice, LOAD(0, 0, 0), STORE(0, 1, 1), EARLY, STORE(0, 1, 2), STORE(0, 1, 1), BARRIER(0, 2), LOAD(0, 1, 1),
	BARRIER(0, 2));
PROG(l15_once, BARRIER(0, 2), LOAD(0, 1, 1), BARRIER(0, 2));

/* kept: a page that two threads write in every interval, each releasing it for itself. */
#define ROUND(byte, v) STORE(0, byte, v), RELEASE
PROG(kept_a1, ROUND(0, 1), ROUND(0, 2), ROUND(0, 3), ROUND(0, 4), ROUND(0, 5), BARRIER(0, 3), BARRIER(0, 3));
PROG(kept_a2, ROUND(1, 1), ROUND(1, 2), STORE(0, 1, 5), SET(0), BARRIER(0, 3), BARRIER(0, 3));
PROG(kept_b, STORE(0, 2, 9), WAIT(0), LOAD(0, 1, 1), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 1, 1), BARRIER(0, 3));

/* alone: a home that writes in every interval, and others who look now and then. */
PROG(alone_a, ROUND(0, 1), STORE(0, 0, 2), STORE(1, 0, 1), BARRIER(0, 3), STORE(0, 0, 3), STORE(0, 1, 1), SET(0),
	STORE(0, 0, 4), STORE(0, 2, 1), BARRIER(0, 3), LOAD(0, 3, 3), STORE(0, 0, 5), BARRIER(0, 3));
PROG(alone_b, LOAD(0, 0, 0), BARRIER(0, 3), LOAD(0, 0, 0), WAIT(0), LOAD(0, 1, 1), STORE(0, 3, 7), BARRIER(0, 3), LOAD(0, 2, 2),
	BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 3, 3));
PROG(alone_c, PREFETCH(0), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(1, 0, 1), BARRIER(0, 3), LOAD(0, 2, 2), BARRIER(0, 3), LOAD(0, 0, 0));

/* L16: a fetch under way when a notice is applied. */
PROG(l16_a, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l16_b1, HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0));
PROG(l16_b2, PREFETCH(0), LOAD(0, 1, 0));

/* L17: own diff on its way when a notice makes us fetch. */
PROG(l17_a, LOCK(0), STORE(0, 0, 1), UNLOCK(0), EARLY, HEAR(0), LOCK(1), LOAD(0, 0, 0), LOAD(0, 1, 1), STORE(0, 2, 3),
	UNLOCK(1), BARRIER(0, 2), LOAD(0, 2, 2), BARRIER(0, 2));
PROG(l17_b, LOCK(1), STORE(0, 1, 2), UNLOCK(1), TELL(0), BARRIER(0, 2), LOAD(0, 0, 0), LOAD(0, 2, 1), BARRIER(0, 2));

/* L23: phases. */
#define PHASE(me, value) STORE(0, me, value), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 1, 1), LOAD(0, 2, 2), BARRIER(0, 3)
PROG(l23_a, PHASE(0, 1), PHASE(0, 2));
PROG(l23_b, PHASE(1, 1), PHASE(1, 2));
PROG(l23_c, PHASE(2, 1), PHASE(2, 2));

/* The same on four nodes, with a tree from the third episode on. */
#define PHASE4(me, value) STORE(0, me, value), BARRIER(0, 4), LOAD(0, 0, 0), LOAD(0, 1, 1), LOAD(0, 2, 2), LOAD(0, 3, 3), \
	BARRIER(0, 4)
PROG(tree_a, PHASE4(0, 1), PHASE4(0, 2));
PROG(tree_b, PHASE4(1, 1), PHASE4(1, 2));
PROG(tree_c, PHASE4(2, 1), PHASE4(2, 2));
PROG(tree_d, PHASE4(3, 1), PHASE4(3, 2));

/* L24: a READ of one half while the other is written; then that half. */
PROG(l24_h, LOCK(0), STORE(0, 0, 1), STORE(0, 1, 1), UNLOCK(0), TELL(0), LOCK(0), STORE(0, 0, 2), STORE(0, 1, 2), UNLOCK(0),
	TELL(1));
PROG(l24_b, LOCK(1), LOAD(0, 2, 2), UNLOCK(1), HEAR(0), LOCK(0), UNLOCK(0), LOCK(1), LOAD(0, 3, 2), UNLOCK(1), HEAR(1),
	LOCK(0), LOAD(0, 0, 0), LOAD(0, 1, 1), UNLOCK(0));

/* L25: a write and its version land before, within or after a READ that is under way, then its notice is applied. */
PROG(l25_a, LOCK(0), STORE(0, 0, 1), STORE(0, 3, 1), UNLOCK(0), TELL(0), LOCK(0), STORE(0, 0, 2), STORE(0, 3, 2),
	UNLOCK(0), TELL(1));
PROG(l25_b, LOAD(0, 1, 2), HEAR(0), LOCK(0), UNLOCK(0), AHEAD, HEAR(1), LOCK(0), LOAD(0, 0, 0), LOAD(0, 3, 1), UNLOCK(0));
PROG(l25_b2, LOAD(0, 1, 0), STORE(0, 2, 7), LOAD(0, 1, 0));
PROG(l25_merge, STORE(0, 2, 1), HEAR(0), LOCK(0), STORE(0, 1, 1), UNLOCK(0), PREFETCH(0), HEAR(1), LOCK(0), LOAD(0, 0, 0),
	LOAD(0, 3, 1), LOAD(0, 2, 2), UNLOCK(0));

/* L25 where chance need not see to it: what B reads gets a new version between its halves, and B is told of that at once. */
PROG(halves_a, LOCK(0), STORE(0, 0, 1), STORE(0, 3, 1), UNLOCK(0), TELL(0), HEAR(2), STORE(0, 0, 2), STORE(0, 3, 2), RELEASE, TELL(3));
PROG(halves_b, LOAD(0, 1, 2), HEAR(0), LOCK(0), UNLOCK(0), TELL(2), AHEAD, HEAR(3), ACQUIRE, LOAD(0, 0, 0), LOAD(0, 3, 1));
PROG(halves_merge, STORE(0, 2, 1), HEAR(0), LOCK(0), UNLOCK(0), TELL(2), PREFETCH(0), HEAR(3), ACQUIRE, LOAD(0, 0, 0),
	LOAD(0, 3, 1), LOAD(0, 2, 2));

/* A page that nobody told of is zero, until somebody tells. */
PROG(untold_a, LOCK(0), STORE(0, 0, 1), STORE(1, 1, 1), UNLOCK(0), TELL(0), LOCK(0), STORE(1, 0, 2), UNLOCK(0), TELL(1));
PROG(untold_b, HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0), HEAR(1), LOCK(0), LOAD(1, 0, 1), LOAD(1, 1, 2), UNLOCK(0));
PROG(untold_c, STORE(0, 1, 5), STORE(1, 2, 6), AHEAD, HEAR(1), LOCK(0), LOAD(0, 0, 0), LOAD(1, 0, 1), UNLOCK(0));

/* L27: flushed early, not written again. */
PROG(l27_a, STORE(0, 0, 1), EARLY, LOCK(0), UNLOCK(0), TELL(0));
PROG(l27_b, LOAD(0, 0, 1), HEAR(0), LOCK(0), LOAD(0, 0, 0), UNLOCK(0));

/* L28: two homes, one slow; the grant comes from a third node's lock. */
PROG(l28_a, LOCK(0), STORE(0, 0, 1), STORE(1, 0, 1), UNLOCK(0), TELL(0));
PROG(l28_b, LOAD(0, 0, 2), LOAD(1, 0, 3), HEAR(0), LOCK(0), LOAD(0, 0, 0), LOAD(1, 0, 1), UNLOCK(0));

/* L30: first touch by several at once. */
PROG(l30_a, STORE(0, 0, 1), BARRIER(0, 3), LOAD(0, 1, 0), LOAD(0, 2, 1), BARRIER(0, 3));
PROG(l30_b, STORE(0, 1, 2), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 2, 1), BARRIER(0, 3));
PROG(l30_c, STORE(0, 2, 3), BARRIER(0, 3), LOAD(0, 1, 0), LOAD(0, 0, 1), BARRIER(0, 3));

/* Looking ahead claims nothing, whoever touches later. */
PROG(look_a, AHEAD, BARRIER(0, 3), LOAD(0, 1, 0), LOAD(0, 2, 1), AHEAD, BARRIER(0, 3));
PROG(look_b, STORE(0, 1, 2), AHEAD, BARRIER(0, 3), LOAD(0, 2, 1), BARRIER(0, 3));
PROG(look_c, AHEAD, STORE(0, 2, 3), BARRIER(0, 3), LOAD(0, 1, 0), BARRIER(0, 3));

/* A first-touch manager that homes the neighbour is not taken for the home of a page that it only manages. */
PROG(l30_manager, LOAD(1, 0, 0), BARRIER(0, 3), BARRIER(0, 3));
PROG(l30_home, STORE(0, 0, 1), BARRIER(0, 3), BARRIER(0, 3));
PROG(l30_reader, BARRIER(0, 3), LOAD(1, 0, 0), LOAD(0, 0, 1), BARRIER(0, 3));

/* L33: a node that loops on a lock lets the others have their turn; see check.c. */
PROG(l33_a, LOCK(0), UNLOCK(0), LOOP(23, 0));
PROG(l33_b, LOCK(0), UNLOCK(0));

/* L34: pages that nobody writes any more are not asked for again, whatever is acquired. */
#define READ2 LOAD(0, 0, 0), LOAD(1, 1, 1)
PROG(l34_w, STORE(0, 0, 1), STORE(1, 1, 2), BARRIER(0, 3), READ2, STILL, BARRIER(0, 3), READ2, LOCK(0), READ2, UNLOCK(0), READ2,
	BARRIER(0, 3), READ2);
PROG(l34_r, LOAD(0, 2, 2), BARRIER(0, 3), READ2, STILL, LOCK(0), READ2, UNLOCK(0), BARRIER(0, 3), READ2, BARRIER(0, 3), READ2);

static const char *l34_final(void)
{
	/* Whose log is too short has to forget what it has. */
	return w.o.asked_again && w.set.log_cap > 2 ? "a page that nobody wrote is asked for again" : NULL;
}

/* L35: two unsynchronised writers of one byte; the neighbours stay whole. */
PROG(l35_a, STORE(0, 1, 5), STORE(0, 0, 1), STORE(0, 2, 6), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 3, 1), BARRIER(0, 3));
PROG(l35_b, STORE(0, 3, 7), STORE(0, 0, 2), BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 1, 1), LOAD(0, 2, 2), BARRIER(0, 3));
PROG(l35_c, BARRIER(0, 3), LOAD(0, 0, 0), LOAD(0, 1, 1), LOAD(0, 3, 2), BARRIER(0, 3));

/* L37: an acknowledgement with others' diffs in between does not raise the label. */
PROG(l37_a, STORE(0, 0, 1), RELEASE, HEAR(0), LOCK(0), LOAD(0, 1, 0), UNLOCK(0));
PROG(l37_c, LOCK(0), STORE(0, 1, 1), UNLOCK(0), RELEASE, TELL(0));

/* L40: what reached a barrier's party by a lock reaches the others by the barrier. */
PROG(l40_d, LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(0));
PROG(l40_a, HEAR(0), LOCK(0), UNLOCK(0), BARRIER(0, 2));
PROG(l40_b, LOAD(0, 0, 1), BARRIER(0, 2), LOAD(0, 0, 0));

/* L41: two barriers of two. */
PROG(l41_a, STORE(0, 0, 1), BARRIER(0, 2), BARRIER(1, 2));
PROG(l41_b, BARRIER(0, 2), LOAD(0, 0, 0));
PROG(l41_c, LOAD(0, 0, 1), BARRIER(1, 2), LOAD(0, 0, 0));

/* Slots: two locks that share one, threads of one node, and another node that wants both. */
PROG(slot_1, LOCK(0), INC(0, 0), UNLOCK(0), LOCK(0), INC(0, 0), UNLOCK(0), LOCK(1), INC(0, 1), UNLOCK(1), LOCK(0),
	INC(0, 0), UNLOCK(0), BARRIER(0, 4), LOAD(0, 0, 0), LOAD(0, 1, 1), BARRIER(0, 4));
PROG(slot_2, LOCK(1), INC(0, 1), UNLOCK(1), LOCK(1), INC(0, 1), UNLOCK(1), LOCK(0), INC(0, 0), UNLOCK(0), LOCK(0),
	INC(0, 0), UNLOCK(0), BARRIER(0, 4), LOAD(0, 0, 0), LOAD(0, 1, 1), BARRIER(0, 4));
PROG(slot_k, LOCK(0), INC(0, 0), UNLOCK(0), LOOP(2, 0), LOCK(1), INC(0, 1), UNLOCK(1), LOOP(1, 5));

static const char *slot_final(void)
{
	return reg(0, 0) == 10 && reg(0, 1) == 6 ? NULL : "a counter lost an increment";
}
/* P4: three callers each time, and each time from other nodes. Nobody may wait for a report that does not come. */
PROG(move_a1, STORE(0, 0, 1), BARRIER(0, 3), BARRIER(0, 3), BARRIER(0, 3), LOAD(0, 1, 0), LOAD(0, 2, 1), BARRIER(0, 3));
PROG(move_a2, BARRIER(0, 3), TELL(0));
PROG(move_b1, BARRIER(0, 3), LOAD(0, 0, 0), BARRIER(0, 3), STORE(0, 1, 2), BARRIER(0, 3), BARRIER(0, 3), LOAD(0, 3, 1));
PROG(move_b2, MISS(0), HEAR(0), STORE(0, 2, 3), BARRIER(0, 3), TELL(1));
PROG(move_c1, MISS(0), MISS(0), HEAR(1), BARRIER(0, 3), LOAD(0, 1, 0), LOAD(0, 2, 1), STORE(0, 3, 4), BARRIER(0, 3));
/* The same two threads of a node, twice; then both elsewhere. */
PROG(stay_t, BARRIER(0, 4), BARRIER(0, 4), BARRIER(0, 4), TELL(0));
PROG(stay_u, BARRIER(0, 4), BARRIER(0, 4), BARRIER(0, 4), BARRIER(0, 4), LOAD(0, 0, 0));
PROG(stay_v, MISS(0), MISS(0), MISS(0), HEAR(0), STORE(0, 0, 1), BARRIER(0, 4));
PROG(stay_w, BARRIER(0, 4), BARRIER(0, 4), BARRIER(0, 4), TELL(1));
PROG(stay_x, MISS(0), MISS(0), MISS(0), HEAR(1), BARRIER(0, 4));

/* A node has fewer than last time, and may hear of that before it hears that last time is over. */
PROG(fewer_a1, BARRIER(0, 3), BARRIER(0, 3), LOAD(0, 0, 0));
PROG(fewer_a2, BARRIER(0, 3));
PROG(fewer_b1, BARRIER(0, 3), TELL(0), BARRIER(0, 3));
PROG(fewer_b2, MISS(0), HEAR(0), STORE(0, 0, 1), BARRIER(0, 3));
/* In between another number of callers, none of them there. */
PROG(other_a1, BARRIER(0, 3), BARRIER(0, 1), TELL(0), BARRIER(0, 3));
PROG(other_a2, MISS(0), MISS(0), HEAR(0), BARRIER(0, 3));
PROG(other_b1, BARRIER(0, 3), MISS(0), HEAR(0), BARRIER(0, 3));
PROG(other_b2, BARRIER(0, 3));

/* L42: time limits and kills anywhere. */
PROG(l42_t, TIMED(0, 3), INC(0, 0), UNLOCK(0), LOCK(0), INC(0, 0), UNLOCK(0));
PROG(l42_k, LOCK(0), INC(0, 0), UNLOCK(0), LOCK(1), UNLOCK(1), LOCK(0), INC(0, 0), UNLOCK(0));
PROG(l42_b, INC(0, 0), RELEASE, LOOP(4, 0), BARRIER(0, 3));
PROG(l42_h, BARRIER(0, 4), BARRIER(0, 4));
PROG(l42_f, STORE(0, 0, 1), SET(0), WAIT(1));
PROG(l42_w, WAIT(1), WAIT(0));
PROG(l42_g, SET(1), WAIT(0), LOAD(0, 0, 0));

/* L43: bare release and acquire. */
PROG(l43_a, STORE(0, 0, 1), RELEASE, TELL(0));
PROG(l43_b, LOAD(0, 0, 1), HEAR(0), ACQUIRE, LOAD(0, 0, 0));

/* Tries. */
PROG(try_t, TRY(0, 3), INC(0, 0), UNLOCK(0), TRY(0, 3), INC(0, 0), UNLOCK(0), BARRIER(0, 4), LOAD(0, 0, 0),
	BARRIER(0, 4));
PROG(try_l, LOCK(0), INC(0, 0), UNLOCK(0), BARRIER(0, 4), LOAD(0, 0, 0), BARRIER(0, 4));

static const char *try_final(void)
{
	u32 sum = 0, i;

	for (i = 0; i < MAX_THREADS; i++)
		sum += w.o.sections[i];
	return reg(0, 0) == (s8)sum ? NULL : "the counter lost an increment";
}

/* P9: a device stores into a page after a sibling's release has flushed it. */
PROG(dma_a1, PIN(0), DMA(0, 0, 1), DMA(0, 1, 2), UNPIN(0), LOCK(0), UNLOCK(0), TELL(0));
PROG(dma_a2, STORE(0, 2, 3), EARLY, EARLY, RELEASE);
PROG(dma_b, LOAD(0, 0, 1), ACQUIRE, STORE(0, 3, 1), HEAR(0), LOCK(0), LOAD(0, 0, 0), LOAD(0, 1, 1), UNLOCK(0));

/* Flags set, cleared and set again between barriers. */
PROG(clear_a, STORE(0, 0, 1), SET(0), BARRIER(0, 2), CLEAR(0), STORE(0, 0, 2), BARRIER(0, 2), SET(0));
PROG(clear_b, WAIT(0), LOAD(0, 0, 0), BARRIER(0, 2), BARRIER(0, 2), WAIT(0), LOAD(0, 0, 1));

/* Letters: more records under way to one node than it has places, in both directions, and again in the same places. */
PROG(letter_a1, STORE(0, 0, 1), SET(0), BARRIER(0, 5), CLEAR(0), BARRIER(1, 5), STORE(0, 0, 2), SET(0), BARRIER(1, 5));
PROG(letter_a2, STORE(0, 1, 1), SET(1), BARRIER(0, 5), BARRIER(1, 5), BARRIER(1, 5), LOAD(0, 0, 0));
PROG(letter_w, WAIT(0), LOAD(0, 0, 0), WAIT(1), LOAD(0, 1, 1), BARRIER(0, 5), BARRIER(1, 5), WAIT(0), LOAD(0, 0, 2),
	BARRIER(1, 5));

/* Two pages, two locks, threads on all nodes. */
PROG(mix_1, LOCK(0), INC(0, 0), INC(1, 0), UNLOCK(0), LOCK(1), INC(0, 1), UNLOCK(1), BARRIER(0, 4), LOAD(0, 0, 0),
	LOAD(0, 1, 1), LOAD(1, 0, 2), BARRIER(0, 4));
PROG(mix_2, LOCK(1), INC(0, 1), UNLOCK(1), LOCK(0), INC(1, 0), INC(0, 0), UNLOCK(0), BARRIER(0, 4), LOAD(0, 0, 0),
	LOAD(0, 1, 1), LOAD(1, 0, 2), BARRIER(0, 4));

static const char *mix_final(void)
{
	return reg(0, 0) == 4 && reg(0, 1) == 4 && reg(0, 2) == 4 ? NULL : "a counter lost an increment";
}

/* Loss of a node while everything is in use. */
PROG(crash_t, LOCK(0), INC(0, 0), UNLOCK(0), BARRIER(0, 3), LOCK(1), INC(1, 0), UNLOCK(1), RELEASE, ACQUIRE, LOAD(0, 0, 0));
PROG(crash_l, LOCK(0), INC(0, 0), UNLOCK(0), TRY(0, 3), INC(0, 0), UNLOCK(0), LOCK(1), INC(1, 1), UNLOCK(1), LOCK(0),
	INC(0, 0), UNLOCK(0));
/* A lock and nothing else: a token from the lost node meets the probe and what was asked anew. */
PROG(crash_k, LOCK(0), UNLOCK(0), LOCK(0), UNLOCK(0), LOCK(0), UNLOCK(0));
/* Who is asked names a home that is lost. */
PROG(crash_touch, AHEAD, STORE(0, 0, 1), LOAD(1, 0, 0), AHEAD, ACQUIRE, LOAD(0, 0, 0), LOAD(1, 0, 1));
/* Different values: a store that races with another and changes nothing is not seen (memory-model.rst). */
PROG(crash_f, STORE(0, 0, 1), SET(0), WAIT(1), LOAD(1, 0, 0));
PROG(crash_g, STORE(1, 0, 1), SET(1), WAIT(0), LOAD(0, 0, 0));
PROG(crash_f2, STORE(0, 0, 2), SET(0), WAIT(1), LOAD(1, 0, 0));
PROG(crash_g2, STORE(1, 0, 2), SET(1), WAIT(0), LOAD(0, 0, 0));
/* One setter; it may be gone before it sets, before or after the others begin to wait. */
PROG(crash_s, STORE(0, 0, 1), SET(0));
PROG(crash_w, WAIT(0), LOAD(0, 0, 0));
/* Again and again: a loss between two episodes, or on the way through a tree. */
PROG(crash_e, BARRIER(0, 3), LOOP(4, 0));
PROG(crash_e4, BARRIER(0, 4), LOOP(4, 0));
PROG(crash_b, STORE(0, 0, 1), BARRIER(0, 4), STORE(0, 1, 1), BARRIER(0, 4), LOAD(0, 1, 1), BARRIER(1, 4));

/* Two nodes lose each other, and live. Nobody waits for ever, whoever asks when, and no two have the lock. */
PROG(part_l, TIMED(0, 1), UNLOCK(0), LOOP(2, 0));
PROG(part_o, LOCK(0), UNLOCK(0));
PROG(part_t, TRY(0, 1), UNLOCK(0), TIMED(0, 1), UNLOCK(0), LOOP(1, 0));
PROG(part_b, TIMED(0, 3), INC(0, 0), UNLOCK(0), LOOP(2, 0));
PROG(part_p, TIMED(0, 3), INC(0, 0), UNLOCK(0), LOOP(1, 0), TIMED(0, 3), INC(1, 1), UNLOCK(0));

/* More intervals than fit a message: who is told of them asks for the rest, and who knows it is lost. */
PROG(chain_a, LOCK(0), STORE(1, 1, 1), RELEASE, STORE(1, 1, 2), RELEASE, STORE(1, 1, 3), RELEASE, STORE(1, 1, 4), RELEASE,
	STORE(0, 0, 1), UNLOCK(0));
PROG(chain_b, LOCK(0), UNLOCK(0));
PROG(chain_c, LOAD(0, 0, 0), LOCK(0), LOAD(0, 0, 1), UNLOCK(0));
PROG(chain_t, LOCK(0), STORE(1, 1, 1), RELEASE, STORE(1, 1, 2), RELEASE, STORE(1, 1, 3), RELEASE, STORE(0, 0, 1), UNLOCK(0),
	TELL(0));
PROG(chain_h, LOAD(0, 0, 0), HEAR(0), LOCK(0), LOAD(0, 0, 1), UNLOCK(0));
PROG(chain_s, STORE(1, 1, 1), RELEASE, STORE(1, 1, 2), RELEASE, STORE(1, 1, 3), RELEASE, STORE(1, 1, 4), RELEASE,
	STORE(0, 0, 1), SET(0));
PROG(chain_w, LOAD(0, 0, 0), WAIT(0), LOAD(0, 0, 1));
PROG(chain_r, STORE(1, 1, 1), RELEASE, STORE(1, 1, 2), RELEASE, STORE(1, 1, 3), RELEASE, STORE(1, 1, 4), RELEASE,
	STORE(0, 0, 1), BARRIER(0, 2));
PROG(chain_v, LOAD(0, 0, 0), BARRIER(0, 2), LOAD(0, 0, 1));

/* A home loses a node that reads its page, and a third node writes it, then gives the reader a lock. */
PROG(part_w, HEAR(0), LOCK(0), STORE(0, 0, 1), UNLOCK(0), TELL(1));
PROG(part_r, LOAD(0, 0, 0), TELL(0), HEAR(1), LOCK(0), LOAD(0, 0, 1), UNLOCK(0));

const struct litmus litmus_list[] = {
	{ "L1", 3, 2, { A, B }, 0, { l1_a, l1_b }, NULL },
	{ "L2", 3, 2, { A, B }, 0, { l2_a, l2_b }, NULL },
	{ "L3", 3, 3, { A, B, C }, 0, { l3_a, l3_b, l3_b }, NULL },
	{ "L6", 2, 3, { A, B, B }, 0, { l6_a, l6_b, l6_b2 }, l6_final, REACH_NEWER },
	{ "L7", 3, 3, { A, B, C }, LITMUS_QUIET, { l7_a, l7_b, l7_c }, NULL },
	{ "L8", 3, 6, { A, A, B, B, C, C }, LITMUS_QUIET | LITMUS_WALK_ONLY, { l8_t, l8_t, l8_t, l8_t, l8_t, l8_t },
	  l8_final },
	{ "L8small", 3, 3, { A, B, C }, LITMUS_QUIET, { l8_s, l8_s, l8_s }, l8_small_final },
	{ "L9", 3, 3, { A, B, C }, 0, { l9_a, l9_b, l9_c }, NULL },
	{ "L10", 3, 4, { A, A, B, C }, 0, { l10_a1, l10_a2, l10_b, l10_c }, NULL },
	{ "L10flag", 3, 4, { A, A, B, C }, 0, { l10_flag_a1, l10_flag_a2, l10_flag_b, l10_flag_c }, NULL },
	{ "L11", 2, 3, { B, A, A }, 0, { l11_b, l11_a1, l11_a2 }, NULL },
	{ "L12", 3, 3, { A, B, C }, 0, { l12_a, l12_b, l12_c }, NULL },
	{ "L13", 2, 3, { A, A, B }, 0, { l13_a1, l13_a2, l13_b }, NULL },
	{ "L14", 3, 4, { A, A, B, C }, 0, { l14_a1, l14_a2, l14_b, l14_c }, NULL },
	{ "L15", 2, 3, { A, A, B }, LITMUS_QUIET, { l15_a1, l15_a2, l15_b }, NULL },
	{ "L15flush", 2, 3, { A, A, B }, LITMUS_QUIET, { l15_early, l15_store, l15_read }, NULL },
	{ "L15write", 2, 2, { A, B }, LITMUS_QUIET, { l15_twice, l15_once }, NULL },
	{ "L16", 2, 3, { A, B, B }, 0, { l16_a, l16_b1, l16_b2 }, NULL },
	{ "L17", 2, 2, { A, B }, LITMUS_QUIET, { l17_a, l17_b }, NULL },
	{ "L23", 3, 3, { A, B, C }, LITMUS_QUIET, { l23_a, l23_b, l23_c }, NULL },
	{ "tree", 4, 4, { A, B, C, D }, LITMUS_QUIET, { tree_a, tree_b, tree_c, tree_d }, NULL },
	{ "L24", 3, 2, { A, B }, LITMUS_READ, { l24_h, l24_b }, NULL },
	{ "L25", 3, 3, { A, B, B }, LITMUS_READ, { l25_a, l25_b, l25_b2 }, NULL },
	{ "L25msg", 3, 3, { A, B, B }, 0, { l25_a, l25_b, l25_b2 }, NULL },
	{ "L25merge", 3, 2, { A, B }, LITMUS_READ, { l25_a, l25_merge }, NULL },
	{ "L25halves", 3, 2, { A, B }, LITMUS_READ | LITMUS_HALVES, { halves_a, halves_b }, NULL, REACH_BETWEEN },
	{ "L25halves-merge", 3, 2, { A, B }, LITMUS_READ | LITMUS_HALVES, { halves_a, halves_merge }, NULL, REACH_BETWEEN },
	{ "untold", 3, 3, { A, B, C }, LITMUS_UNTOLD, { untold_a, untold_b, untold_c }, NULL },
	{ "L27", 2, 2, { A, B }, 0, { l27_a, l27_b }, NULL },
	{ "L28", 3, 2, { A, B }, 0, { l28_a, l28_b }, NULL },
	{ "L30", 3, 3, { A, B, C }, LITMUS_QUIET | LITMUS_FIRST_TOUCH, { l30_a, l30_b, l30_c }, NULL },
	{ "L30read", 3, 3, { A, B, C }, LITMUS_QUIET | LITMUS_FIRST_TOUCH | LITMUS_READ,
	  { l30_manager, l30_home, l30_reader }, NULL },
	{ "look", 3, 3, { A, B, C }, LITMUS_QUIET | LITMUS_FIRST_TOUCH, { look_a, look_b, look_c }, NULL },
	{ "L33", 2, 3, { A, A, B }, LITMUS_WALK_ONLY, { l33_a, l33_a, l33_b }, NULL, REACH_TURN },
	{ "L34", 3, 3, { A, B, C }, LITMUS_QUIET, { l34_w, l34_r, l34_r }, l34_final },
	{ "L35", 3, 3, { A, B, C }, LITMUS_QUIET, { l35_a, l35_b, l35_c }, NULL },
	{ "L37", 3, 2, { A, C }, 0, { l37_a, l37_c }, NULL },
	{ "L40", 3, 3, { C, A, B }, 0, { l40_d, l40_a, l40_b }, NULL },
	{ "L41", 3, 3, { A, B, C }, 0, { l41_a, l41_b, l41_c }, NULL },
	{ "slot", 2, 4, { A, A, A, B }, LITMUS_QUIET, { slot_1, slot_1, slot_2, slot_2 }, slot_final, REACH_SLOT },
	{ "slot-kill", 2, 4, { A, A, A, B }, LITMUS_KILL | LITMUS_ERRORS,
	  { slot_k, slot_k, slot_k, slot_k }, NULL, REACH_SLOT | REACH_LATE | REACH_DEAD },
	{ "move", 3, 5, { A, A, B, B, C }, 0, { move_a1, move_a2, move_b1, move_b2, move_c1 }, NULL },
	{ "stay", 3, 6, { A, A, B, B, C, C }, 0, { stay_t, stay_w, stay_u, stay_u, stay_v, stay_x }, NULL },
	{ "fewer", 3, 4, { A, A, B, B }, 0, { fewer_a1, fewer_a2, fewer_b1, fewer_b2 }, NULL },
	{ "other", 3, 4, { A, A, B, B }, 0, { other_a1, other_a2, other_b1, other_b2 }, NULL },
	{ "L1rdma", 3, 2, { A, B }, LITMUS_RDMA, { l1_a, l1_b }, NULL },
	{ "L1again", 2, 2, { A, B }, LITMUS_RDMA, { l1_again, l1_behind }, NULL },
	{ "doubt", 4, 3, { A, B, C }, LITMUS_RDMA, { doubt_t, doubt_t, doubt_t }, doubt_final, REACH_DONE | REACH_UNDONE },
	{ "L8rdma", 3, 6, { A, A, B, B, C, C }, LITMUS_RDMA | LITMUS_QUIET | LITMUS_WALK_ONLY,
	  { l8_t, l8_t, l8_t, l8_t, l8_t, l8_t }, l8_final },
	{ "L12rdma", 3, 3, { A, B, C }, LITMUS_RDMA, { l12_a, l12_b, l12_c }, NULL },
	{ "L42rdma", 3, 4, { A, A, B, C }, LITMUS_RDMA | LITMUS_KILL | LITMUS_ERRORS,
	  { l42_k, l42_k, l42_k, l42_k }, NULL, REACH_GRANT | REACH_LATE | REACH_DEAD },
	{ "try-rdma", 3, 4, { A, A, B, C }, LITMUS_RDMA | LITMUS_QUIET,
	  { try_t, try_t, try_t, try_l }, try_final, REACH_TRIED | REACH_REFUSED },
	{ "L3rdma", 3, 3, { A, B, C }, LITMUS_RDMA, { l3_a, l3_b, l3_b }, NULL },
	{ "L23rdma", 3, 3, { A, B, C }, LITMUS_RDMA | LITMUS_QUIET, { l23_a, l23_b, l23_c }, NULL },
	{ "L33rdma", 2, 3, { A, A, B }, LITMUS_WALK_ONLY | LITMUS_RDMA, { l33_a, l33_a, l33_b }, NULL, REACH_TURN },
	{ "letters", 3, 5, { A, A, B, C, C }, LITMUS_RDMA | LITMUS_WALK_ONLY,
	  { letter_a1, letter_a2, letter_w, letter_w, letter_w }, NULL },
	{ "letters-kill", 3, 4, { A, A, B, B }, LITMUS_RDMA | LITMUS_KILL | LITMUS_INSIDE | LITMUS_LAST | LITMUS_ERRORS,
	  { l42_h, l42_h, l42_h, l42_h }, NULL, REACH_LATE },
	{ "letters-flag", 3, 4, { A, A, B, C }, LITMUS_RDMA | LITMUS_KILL | LITMUS_INSIDE | LITMUS_ERRORS,
	  { l42_f, l42_w, l42_g, l42_w }, NULL, REACH_LATE },
	{ "letters-crash", 3, 3, { A, B, C }, LITMUS_RDMA | LITMUS_CRASH | LITMUS_ERRORS, { crash_e, crash_e, crash_e }, NULL },
	{ "L1array", 3, 2, { A, B }, ARRAY, { l1_a, l1_b }, NULL },
	{ "L1array-again", 2, 2, { A, B }, ARRAY, { l1_again, l1_behind }, NULL },
	{ "L8array", 3, 3, { A, B, C }, ARRAY | LITMUS_QUIET, { l8_s, l8_s, l8_s }, l8_small_final },
	{ "L8array-many", 2, 6, { A, A, A, B, B, B }, ARRAY | LITMUS_QUIET, { l8_t, l8_t, l8_t, l8_t, l8_t, l8_t }, l8_final },
	{ "L12array", 3, 3, { A, B, C }, ARRAY, { l12_a, l12_b, l12_c }, NULL },
	{ "L42array", 3, 4, { A, A, B, C }, ARRAY | LITMUS_KILL | LITMUS_ERRORS,
	  { l42_k, l42_k, l42_k, l42_k }, NULL, REACH_GRANT | REACH_LATE },
	{ "try-array", 3, 4, { A, A, B, C }, ARRAY | LITMUS_QUIET,
	  { try_t, try_t, try_t, try_l }, try_final, REACH_TRIED | REACH_REFUSED },
	{ "crash-array", 3, 4, { A, A, B, C }, ARRAY | LITMUS_CRASH | LITMUS_ERRORS, { crash_l, crash_l, crash_l, crash_l },
	  NULL },
	{ "crash-rdma", 3, 4, { A, A, B, C }, LITMUS_RDMA | LITMUS_CRASH | LITMUS_ERRORS,
	  { crash_l, crash_l, crash_l, crash_l }, NULL },
	{ "L42time", 3, 4, { A, A, B, C }, 0, { l42_t, l42_t, l42_t, l42_t }, NULL, REACH_GRANT | REACH_LATE },
	{ "L42kill", 3, 4, { A, A, B, C }, LITMUS_KILL | LITMUS_ERRORS,
	  { l42_k, l42_k, l42_k, l42_k }, NULL, REACH_GRANT | REACH_LATE | REACH_DEAD },
	{ "L42barrier", 3, 3, { A, B, C }, LITMUS_KILL | LITMUS_INSIDE | LITMUS_ERRORS,
	  { l42_b, l42_b, l42_b }, NULL, REACH_LATE },
	{ "L42hold", 3, 4, { A, A, B, B }, LITMUS_KILL | LITMUS_INSIDE | LITMUS_LAST | LITMUS_ERRORS,
	  { l42_h, l42_h, l42_h, l42_h }, NULL, REACH_LATE },
	{ "L42flag", 3, 2, { A, B }, LITMUS_KILL | LITMUS_INSIDE | LITMUS_ERRORS, { l42_f, l42_g }, NULL, REACH_LATE },
	{ "L43", 3, 2, { A, B }, 0, { l43_a, l43_b }, NULL },
	{ "try", 3, 4, { A, A, B, C }, LITMUS_QUIET, { try_t, try_t, try_t, try_l }, try_final, REACH_TRIED | REACH_REFUSED },
	{ "kept", 2, 3, { A, A, B }, LITMUS_QUIET, { kept_a1, kept_a2, kept_b }, NULL },
	{ "alone", 3, 3, { A, B, C }, LITMUS_QUIET, { alone_a, alone_b, alone_c }, NULL },
	{ "alone-untold", 3, 3, { A, B, C }, LITMUS_QUIET | LITMUS_UNTOLD, { alone_a, alone_b, alone_c }, NULL },
	{ "dma", 2, 3, { A, A, B }, 0, { dma_a1, dma_a2, dma_b }, NULL },
	{ "clear", 3, 2, { A, B }, 0, { clear_a, clear_b }, NULL },
	{ "mix", 3, 4, { A, B, B, C }, LITMUS_QUIET | LITMUS_WALK_ONLY, { mix_1, mix_2, mix_1, mix_2 }, mix_final },
	{ "crash-lock", 3, 4, { A, A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { crash_l, crash_l, crash_l, crash_l }, NULL },
	{ "crash-late", 3, 3, { A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { crash_k, crash_k, crash_k }, NULL },
	{ "crash-all", 3, 3, { A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { crash_t, crash_t, crash_t }, NULL },
	{ "crash-touch", 3, 3, { A, B, C }, LITMUS_CRASH | LITMUS_ERRORS | LITMUS_FIRST_TOUCH,
	  { crash_touch, crash_touch, crash_touch }, NULL },
	{ "crash-flag", 3, 4, { A, A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { crash_f, crash_g, crash_g2, crash_f2 }, NULL },
	{ "crash-setter", 3, 4, { A, B, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { crash_s, crash_w, crash_w, crash_w }, NULL },
	{ "crash-again", 3, 3, { A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { crash_e, crash_e, crash_e }, NULL },
	{ "crash-tree", 4, 4, { A, B, C, D }, LITMUS_CRASH | LITMUS_ERRORS, { crash_e4, crash_e4, crash_e4, crash_e4 }, NULL },
	{ "crash-barrier", 3, 4, { A, A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { crash_b, crash_b, crash_b, crash_b },
	  NULL },
	{ "chain", 4, 3, { A, B, C }, LITMUS_CRASH | LITMUS_PULLED | LITMUS_ERRORS, { chain_a, chain_b, chain_c }, NULL },
	{ "chain-back", 4, 2, { A, C }, LITMUS_CRASH | LITMUS_PULLED | LITMUS_ERRORS, { chain_t, chain_h }, NULL },
	{ "chain-flag", 4, 2, { A, C }, LITMUS_CRASH | LITMUS_PULLED | LITMUS_ERRORS, { chain_s, chain_w }, NULL },
	{ "chain-barrier", 4, 2, { A, C }, LITMUS_CRASH | LITMUS_PULLED | LITMUS_ERRORS, { chain_r, chain_v }, NULL },
	{ "part", 3, 3, { A, B, C }, LITMUS_PART | LITMUS_ERRORS, { part_l, part_l, part_l }, NULL, REACH_ASUNDER },
	{ "part-turns", 3, 6, { A, A, B, B, C, C }, LITMUS_PART | LITMUS_ERRORS,
	  { part_l, part_l, part_l, part_l, part_l, part_l }, NULL, REACH_ASUNDER },
	{ "part-queue", 4, 4, { A, B, C, D }, LITMUS_PART | LITMUS_ERRORS, { part_l, part_l, part_l, crash_k }, NULL, REACH_ASUNDER },
	{ "part-try", 4, 4, { A, B, C, D }, LITMUS_PART | LITMUS_ERRORS, { part_t, part_t, part_t, part_t }, NULL,
	  REACH_ASUNDER | REACH_TRIED | REACH_REFUSED },
	{ "part-told", 3, 2, { B, C }, LITMUS_PART | LITMUS_ERRORS, { part_w, part_r }, NULL },
	{ "part-pages", 3, 4, { A, A, B, C }, LITMUS_PART | LITMUS_ERRORS, { part_p, part_p, part_p, part_p }, NULL, REACH_ASUNDER },
	{ "part-kill", 3, 4, { A, B, B, C }, LITMUS_PART | LITMUS_KILL | LITMUS_ERRORS, { part_l, part_t, part_l, part_l }, NULL,
	  REACH_ASUNDER },
	{ "part-once", 4, 4, { A, B, C, D }, LITMUS_PART | LITMUS_PARTS | LITMUS_ERRORS, { part_o, part_o, part_o, part_o }, NULL,
	  REACH_ASUNDER },
	{ "part-twice", 4, 4, { A, B, C, D }, LITMUS_PART | LITMUS_PARTS | LITMUS_ERRORS, { crash_k, crash_k, crash_k, crash_k }, NULL,
	  REACH_ASUNDER },
	{ "part-twice-try", 4, 4, { A, B, C, D }, LITMUS_PART | LITMUS_PARTS | LITMUS_ERRORS, { part_l, part_t, part_l, part_t }, NULL,
	  REACH_ASUNDER },
	{ "part-boards", 4, 3, { A, B, C }, LITMUS_PART | LITMUS_RDMA | LITMUS_ERRORS, { part_b, part_b, part_b }, NULL },
	{ "part-doubt", 3, 3, { A, B, C }, LITMUS_PART | LITMUS_RDMA | LITMUS_ERRORS, { part_l, part_l, part_l }, NULL },
	{ "part-crash", 4, 4, { A, B, C, D }, LITMUS_PART | LITMUS_CRASH | LITMUS_ERRORS, { part_l, part_l, part_t, part_l }, NULL,
	  REACH_ASUNDER },
};
const u32 litmus_count = ARRAY_SIZE(litmus_list);
