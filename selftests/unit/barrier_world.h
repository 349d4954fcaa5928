/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the tests of barriers share: a key managed by A, arrivals, aborts.
 */
#ifndef DSM_SELFTESTS_BARRIER_WORLD_H
#define DSM_SELFTESTS_BARRIER_WORLD_H

#include "world.h"

#define A 0
#define B 1
#define C 2

#define D 3

static u64 K;
static u64 told;	/* lost nodes that who arrives has heard of */
static u64 opened;	/* when the file was opened by which threads arrive */

static inline void start_nodes(u32 nodes)
{
	world_start(nodes);
	told = 0;
	opened = 0;
	K = world_key(DSM_MSG_BAR_ARRIVE, A, 0);
}

static inline int start3(void **state)
{
	start_nodes(3);
	return 0;
}

static inline int stop(void **state)
{
	world_stop();
	return 0;
}

static inline int arrive_at(u16 node, u64 key, u32 parties, struct dsm_waiter *waiter)
{
	int err;

	dsm_waiter_init(waiter);
	waiter->told = told;
	waiter->opened = opened;
	err = dsm_barrier_arrive(world_engine(node), &w.node[node].space, key, parties, waiter, world_begin(node));
	world_end(node);
	return err;
}

static inline void arrive(u16 node, u32 parties, struct dsm_waiter *waiter)
{
	assert_int_equal(arrive_at(node, K, parties, waiter), 0);
}

static inline bool abort_at(u16 node, struct dsm_waiter *waiter)
{
	bool gone = dsm_barrier_abort(world_engine(node), &w.node[node].space, K, waiter, world_begin(node));

	world_end(node);
	return gone;
}

static inline struct dsm_barrier *at_manager(void)
{
	struct dsm_barrier *b;

	hlist_for_each_entry(b, dsm_key_bucket(world_engine(A), world_engine(A)->barriers, WORLD_REGION, K), by_key)
		if (b->key == K)
			return b;
	return NULL;
}

/* Deliver everything; the number of messages of barriers. */
static inline u32 run_counting(void)
{
	static const u8 types[] = { DSM_MSG_BAR_ARRIVE, DSM_MSG_BAR_DEPART, DSM_MSG_BAR_ASK, DSM_MSG_BAR_ABORT };
	u32 i, steps = 0, sent = 0;

	for (;;) {
		for (i = 0; i < ARRAY_SIZE(types) && world_find(types[i]) < 0; i++)
			;
		if (i < ARRAY_SIZE(types)) {
			world_deliver(types[i]);
			sent++;
		} else if (!world_one()) {
			return sent;
		}
		unit_require(++steps < 10000, "goes on for ever");
	}
}

#define require_status(waiter, want) \
	unit_require((waiter).done && (waiter).status == (want), "done %d status %d", (waiter).done, (waiter).status)

/* One episode in which node i comes with threads[i]; the number of messages. */
static inline u32 episode_of(const u8 *threads)
{
	u32 n, k, all = 0, parties = 0, sent;
	struct dsm_waiter waiter[32];

	for (n = 0; n < w.nodes; n++)
		parties += threads[n];
	unit_require(parties <= ARRAY_SIZE(waiter), "%u threads", parties);
	for (n = 0; n < w.nodes; n++)
		for (k = 0; k < threads[n]; k++)
			arrive(n, parties, &waiter[all++]);
	sent = run_counting();
	for (k = 0; k < all; k++)
		require_status(waiter[k], 0);
	return sent;
}

static inline u32 episode(u8 a, u8 b, u8 c)
{
	const u8 threads[WORLD_NODES] = { a, b, c };

	return episode_of(threads);
}

#endif
