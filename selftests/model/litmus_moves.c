// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Programs for home=migrate@barrier: pages that one node writes between barriers, and others who read and write them
 * remotely as long as they may. With hlrc and with cashmere.
 */
#include "model.h"

#define A 0
#define B 1
#define C 2
#define END { OP_END, 0, 0, 0 }
#define PROG(name, ...) static const struct op name[] = { __VA_ARGS__, END }
#define ALL BARRIER(0, 3)

/* A's page is written by B alone and moves there; C, who read it at A, writes it then. */
PROG(moved_a, STORE(0, 0, 1), ALL, ALL, LOAD(0, 1, 0), ALL, ALL, LOAD(0, 1, 0), LOAD(0, 2, 1), ALL, LOAD(0, 2, 1), LOAD(0, 3, 2),
	STORE(0, 0, 2), ALL, LOAD(0, 1, 0), ALL);
PROG(moved_b, ALL, STORE(0, 1, 1), ALL, STORE(0, 1, 2), ALL, STORE(0, 1, 3), ALL, LOAD(0, 2, 1), STORE(0, 1, 4), ALL, LOAD(0, 3, 2), ALL,
	LOAD(0, 0, 3), ALL);
PROG(moved_c, ALL, LOAD(0, 0, 0), ALL, LOAD(0, 1, 1), ALL, STORE(0, 2, 5), ALL, STORE(0, 3, 6), LOAD(0, 1, 1), ALL, LOAD(0, 1, 1),
	LOAD(0, 2, 2), ALL, LOAD(0, 0, 0), ALL);

/* To and fro: who had the page has it again, and both remember each other as its home. */
#define TURN(p, v) STORE(p, 1, v), ALL, STORE(p, 1, v + 1), ALL, STORE(p, 1, v + 2), ALL
#define WATCH(p) LOAD(p, 1, 0), ALL, LOAD(p, 1, 0), ALL, LOAD(p, 1, 0), ALL
PROG(fro_a, STORE(0, 0, 1), ALL, WATCH(0), TURN(0, 10), LOAD(0, 2, 2), ALL);
PROG(fro_b, ALL, TURN(0, 1), WATCH(0), LOAD(0, 1, 1), LOAD(0, 2, 2), ALL);
PROG(fro_c, ALL, LOAD(0, 0, 1), ALL, LOAD(0, 1, 1), ALL, STORE(0, 2, 3), ALL, LOAD(0, 1, 1), ALL, STORE(0, 2, 4), ALL, STORE(0, 2, 5), ALL,
	LOAD(0, 1, 1), ALL);

/* A thread that comes to no barrier, at the node that reads or writes: nobody is quiet for its sake. */
#define COUNT3 LOCK(0), INC(0, 3), UNLOCK(0)
PROG(busy_a, STORE(0, 0, 1), ALL, ALL, ALL, ALL, LOAD(0, 1, 0), LOAD(0, 2, 1));
PROG(busy_b, ALL, STORE(0, 1, 1), ALL, STORE(0, 1, 2), ALL, STORE(0, 1, 3), ALL, COUNT3, LOAD(0, 2, 1));
PROG(busy_c, ALL, LOAD(0, 0, 0), ALL, LOAD(0, 1, 1), ALL, STORE(0, 2, 5), ALL, LOAD(0, 1, 1));
PROG(busy_t, COUNT3, LOOP(4, 0));
PROG(busy_u, LOCK(0), STORE(1, 0, 7), INC(0, 3), UNLOCK(0), LOAD(0, 0, 0), LOAD(0, 2, 1), LOOP(2, 0));

static const char *busy_final(void)
{
	return w.thread[0].reg[0] == 3 && w.thread[0].reg[1] == 5 ? NULL : "a byte of before the last barrier is lost";
}

/* Two barriers, each for one thread of all nodes; a page for each. */
PROG(keys_a0, STORE(0, 0, 1), BARRIER(0, 3), BARRIER(0, 3), BARRIER(0, 3), LOAD(0, 1, 1), LOAD(0, 2, 2));
PROG(keys_b0, BARRIER(0, 3), STORE(0, 1, 1), BARRIER(0, 3), STORE(0, 1, 2), BARRIER(0, 3), STORE(0, 1, 3));
PROG(keys_c0, BARRIER(0, 3), LOAD(0, 0, 1), BARRIER(0, 3), STORE(0, 2, 2), BARRIER(0, 3), STORE(0, 3, 3));
PROG(keys_a1, BARRIER(1, 3), STORE(1, 1, 1), BARRIER(1, 3), STORE(1, 1, 2), BARRIER(1, 3), STORE(1, 1, 3));
PROG(keys_b1, STORE(1, 0, 1), BARRIER(1, 3), BARRIER(1, 3), BARRIER(1, 3), LOAD(1, 1, 1), LOAD(1, 2, 2));
PROG(keys_c1, BARRIER(1, 3), LOAD(1, 0, 1), BARRIER(1, 3), STORE(1, 2, 2), BARRIER(1, 3), STORE(1, 3, 3));

/* A barrier of some: who is not there may use the page remotely. */
#define SOME BARRIER(0, 2)
PROG(some_a, STORE(0, 0, 1), SET(0), SOME, SOME, SOME, SOME, LOAD(0, 1, 0), LOCK(0), LOAD(0, 2, 1), UNLOCK(0));
PROG(some_b, SOME, STORE(0, 1, 1), SOME, STORE(0, 1, 2), SOME, STORE(0, 1, 3), SOME, LOCK(0), LOAD(0, 2, 1), UNLOCK(0));
PROG(some_c, WAIT(0), LOAD(0, 0, 0), LOCK(0), INC(0, 2), UNLOCK(0), LOOP(4, 2));

/* A diff of C is on its way to A while B takes the page; C's other thread is at the barrier. */
PROG(late_a, STORE(0, 0, 1), ALL, WAIT(0), ALL, WAIT(1), LOAD(0, 3, 0));
PROG(late_b, ALL, STORE(0, 1, 1), RELEASE, SET(0), ALL, STORE(0, 1, 2), RELEASE);
PROG(late_c, ALL, ALL);
PROG(late_t, WAIT(0), LOAD(0, 1, 1), STORE(0, 3, 5), RELEASE, SET(1));

static const char *late_final(void)
{
	return w.thread[0].reg[0] == 5 ? NULL : "a diff is lost";
}

/* The manager is lost when it has let A and B go: C has promised something that nobody will ask for. */
#define FOUR BARRIER(0, 4)
PROG(orphan_a, STORE(0, 0, 1), FOUR, WAIT(0), FOUR);
PROG(orphan_b, FOUR, STORE(0, 1, 1), RELEASE, SET(0), FOUR, STORE(0, 1, 2), RELEASE, STORE(0, 1, 3), RELEASE);
PROG(orphan_c, FOUR, FOUR);
PROG(orphan_t, WAIT(0), LOAD(0, 1, 1), STORE(0, 3, 1), RELEASE, STORE(0, 3, 2), RELEASE, STORE(0, 3, 3), RELEASE, STORE(0, 3, 4), RELEASE);

/* Who is killed in a barrier may have been the one whose report said that its node is quiet. */
PROG(kill_t, BARRIER(1, 2));

const struct litmus litmus_moves_list[] = {
	{ "L19", 3, 3, { A, B, C }, 0, { moved_a, moved_b, moved_c }, NULL, REACH_MOVE },
	{ "fro", 3, 3, { A, B, C }, 0, { fro_a, fro_b, fro_c }, NULL, REACH_MOVE },
	{ "busy", 3, 5, { A, B, C, C, B }, 0, { busy_a, busy_b, busy_c, busy_t, busy_u }, busy_final, REACH_MOVE },
	{ "keys", 3, 6, { A, B, C, A, B, C }, LITMUS_WALK_ONLY,
	  { keys_a0, keys_b0, keys_c0, keys_a1, keys_b1, keys_c1 }, NULL, REACH_MOVE },
	{ "some", 3, 3, { A, B, C }, 0, { some_a, some_b, some_c }, NULL },
	{ "late", 3, 4, { A, B, C, C }, 0, { late_a, late_b, late_c, late_t }, late_final, REACH_MOVE },
	{ "orphan", 4, 5, { A, B, C, 3, C }, LITMUS_CRASH | LITMUS_ERRORS,
	  { orphan_a, orphan_b, orphan_c, orphan_c, orphan_t }, NULL, REACH_MOVE },
	{ "move-kill", 3, 5, { A, B, C, C, A }, LITMUS_KILL | LITMUS_INSIDE | LITMUS_LAST | LITMUS_ERRORS,
	  { moved_a, moved_b, moved_c, kill_t, kill_t }, NULL, REACH_MOVE },
	{ "move-crash", 3, 3, { A, B, C }, LITMUS_CRASH | LITMUS_ERRORS, { moved_a, moved_b, moved_c }, NULL, REACH_MOVE },
};
const u32 litmus_moves_count = ARRAY_SIZE(litmus_moves_list);
