/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the tests of locks share: three nodes and one key whose manager is the first.
 */
#ifndef LOCK_WORLD_H
#define LOCK_WORLD_H

#include "unit.h"
#include "world.h"

#define A 0
#define B 1
#define C 2

/* Threads: process 1x at A, 2x at B, 3x at C. */
static u64 K;

static inline int start3(void **state)
{
	world_start(3);
	K = world_key(DSM_MSG_LOCK_REQ, A, 0);
	return 0;
}

static inline int stop(void **state)
{
	world_stop();
	return 0;
}

static inline struct dsm_lock *lock_at(u16 node)
{
	struct dsm_lock *l = dsm_lock_find(world_engine(node), WORLD_REGION, K);

	unit_require(l, "node %u has no lock object", node);
	return l;
}

static inline bool cancel(u16 node, struct dsm_waiter *waiter)
{
	return dsm_lock_cancel(world_engine(node), waiter);
}

static inline bool owner_gone(u16 node, u64 file, s32 tgid)
{
	bool gone = dsm_lock_owner_gone(world_engine(node), WORLD_REGION, file, tgid, world_begin(node));

	world_end(node);
	return gone;
}

static inline int consistent(u16 node, s32 tid)
{
	struct dsm_lock_owner o = { .file = 1, .tgid = tid / 10, .tid = tid };

	return dsm_lock_consistent(world_engine(node), &w.node[node].space, K, &o);
}

/* More knowledge than one message holds. */
static inline void write_much(u16 node)
{
	u32 i;

	for (i = 0; i < 300; i++) {
		world_store(node, node, 0, i);
		assert_int_equal(world_release(node), 0);
	}
}

/* The oldest one that is under way. */
static inline void deliver_request_of(u16 node)
{
	u32 i;

	for (i = 0; i < w.n_fly; i++)
		if (w.fly[i].src == node && w.fly[i].m->data[0] == DSM_MSG_LOCK_REQ) {
			assert_int_equal(world_deliver_at(i), 0);
			return;
		}
	unit_require(false, "no request of node %u is under way", node);
}

/* A test with its world. */
#define T(name) cmocka_unit_test_setup_teardown(name, start3, stop)

#endif
