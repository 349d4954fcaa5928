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

static u64 K;
static u64 told;	/* lost nodes that who arrives has heard of */

static inline int start3(void **state)
{
	world_start(3);
	told = 0;
	K = world_key(DSM_MSG_BAR_ARRIVE, A, 0);
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

	hlist_for_each_entry(b, dsm_key_bucket(world_engine(A)->barriers, WORLD_REGION, K), by_key)
		if (b->key == K)
			return b;
	return NULL;
}

#define require_status(waiter, want) \
	unit_require((waiter).done && (waiter).status == (want), "done %d status %d", (waiter).done, (waiter).status)

#endif
