/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the tests of flags share: a key that is managed by A, and operations on it.
 */
#ifndef DSM_SELFTESTS_FLAG_WORLD_H
#define DSM_SELFTESTS_FLAG_WORLD_H

#include "world.h"

#define A 0
#define B 1
#define C 2

static u64 K;
static u64 told;	/* lost nodes that who waits has heard of */

static inline int start3(void **state)
{
	world_start(3);
	told = 0;
	K = world_key(DSM_MSG_FLAG_OP, A, 0);
	return 0;
}

static inline int stop(void **state)
{
	world_stop();
	return 0;
}

static inline int begin(u16 node, u8 op, struct dsm_waiter *waiter)
{
	int err;

	dsm_waiter_init(waiter);
	waiter->told = told;
	err = dsm_flag_start(world_engine(node), &w.node[node].space, K, op, waiter, world_begin(node));
	world_end(node);
	return err;
}

static inline int flag(u16 node, u8 op)
{
	struct dsm_waiter waiter;
	int err = begin(node, op, &waiter);

	if (err)
		return err;
	world_run();
	unit_require(waiter.done, "operation %u of node %u is not answered", op, node);
	return waiter.status;
}

static inline bool exists(void)
{
	return dsm_key_bucket(world_engine(A), world_engine(A)->flags, WORLD_REGION, K)->first;
}

#endif
