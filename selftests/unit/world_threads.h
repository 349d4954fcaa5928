/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What threads of world.h's nodes do: faults, loads and stores, releases, acquires, locks. Part of world.h, which
 * includes it. Each call runs the world until it is done, unless its name ends in _begin.
 */
#ifndef DSM_SELFTESTS_WORLD_THREADS_H
#define DSM_SELFTESTS_WORLD_THREADS_H

static inline int world_fault(u16 node, u32 idx, bool write)
{
	struct dsm_page *p = world_page(node, idx);
	int right = dsm_page_fault(world_engine(node), p, write, world_begin(node));

	world_end(node);
	return right;
}

static inline int world_access(u16 node, u32 idx, bool write)
{
	u32 tries;
	int right;

	for (tries = 0; tries < 20; tries++) {
		right = world_fault(node, idx, write);
		if (right < 0 || right >= (write ? DSM_PAGE_WRITABLE : DSM_PAGE_READABLE))
			return right;
		world_run();
	}
	unit_require(false, "node %u gets no right to page %u", node, idx);
	return -1;
}

static inline void world_store(u16 node, u32 idx, u32 at, u8 value)
{
	if (!w.alone && !dsm_page_is_csm(world_page(node, idx)))
		world_page(node, idx)->csm &= ~DSM_CSM_SOLE;
	assert_int_equal(world_access(node, idx, true), DSM_PAGE_WRITABLE);
	((u8 *)world_page(node, idx)->frame)[at] = value;
}

static inline u8 world_load(u16 node, u32 idx, u32 at)
{
	assert_true(world_access(node, idx, false) >= DSM_PAGE_READABLE);
	return ((u8 *)world_page(node, idx)->frame)[at];
}

static inline u64 world_release_begin(u16 node)
{
	u64 target = dsm_rel_request(world_engine(node), world_begin(node));

	world_end(node);
	return target;
}

static inline int world_release(u16 node)
{
	u64 target = world_release_begin(node);
	struct dsm_waiter waiter;
	int status = 1;

	world_run();
	dsm_waiter_init(&waiter);
	unit_require(dsm_rel_wait(world_engine(node), target, &waiter, &status), "release %llu is not done", target);
	return status;
}

/* The whole acquire of one thread; number of pages that were unmapped. */
static inline u32 world_acquire(u16 node)
{
	struct dsm_engine *e = world_engine(node);
	struct dsm_page *out[DSM_NOTICES_PER_RECORD];
	struct dsm_waiter waiter;
	bool more = true;
	u32 i, lost = 0;
	int n;

	dsm_waiter_init(&waiter);
	assert_true(dsm_acq_begin(e, &waiter));
	while (more) {
		n = dsm_acq_next(e, out, ARRAY_SIZE(out), &more);
		if (n == -EUCLEAN)
			for (i = 0; i < WORLD_PAGES; i++)
				lost += w.node[node].page[i] && dsm_page_invalidate(e, w.node[node].page[i]);
		else
			lost += n;
	}
	dsm_acq_end(e, world_begin(node));
	world_end(node);
	return lost;
}

static inline void world_waiter(struct dsm_waiter *waiter, s32 tid)
{
	dsm_waiter_init(waiter);
	waiter->owner = (struct dsm_lock_owner){ .file = 1, .tgid = tid / 10, .tid = tid };
}

static inline int world_lock_begin(u16 node, u64 key, struct dsm_waiter *waiter, s32 tid, bool try_only)
{
	int err;

	world_waiter(waiter, tid);
	waiter->try_only = try_only;
	err = dsm_lock_acquire(world_engine(node), &w.node[node].space, key, waiter, world_begin(node));
	world_end(node);
	return err;
}

static inline int world_lock(u16 node, u64 key, s32 tid)
{
	struct dsm_waiter waiter;
	int err = world_lock_begin(node, key, &waiter, tid, false);

	if (err == -EINPROGRESS) {
		world_run();
		unit_require(waiter.done, "node %u does not get lock %llu", node, key);
		err = waiter.status;
	}
	if (!err || err == -EOWNERDEAD)
		world_acquire(node);
	return err;
}

static inline int world_try(u16 node, u64 key, s32 tid)
{
	struct dsm_waiter waiter;
	int err = world_lock_begin(node, key, &waiter, tid, true);

	if (err != -EINPROGRESS)
		return err;
	world_run();
	unit_require(waiter.done, "try of node %u for lock %llu is not answered", node, key);
	return waiter.status;
}

static inline int world_unlock(u16 node, u64 key, s32 tid)
{
	struct dsm_lock_owner o = { .file = 1, .tgid = tid / 10, .tid = tid };
	int err = dsm_lock_release(world_engine(node), &w.node[node].space, key, &o, world_begin(node));

	world_end(node);
	return min(err, 0);
}

/* State of a lock at a node; -1 if it has no object. */
static inline int world_lock_state(u16 node, u64 key)
{
	struct dsm_lock *l = dsm_lock_find(world_engine(node), WORLD_REGION, key);

	return l ? l->state : -1;
}

/* The @nth key of @kind that @manager manages. */
static inline u64 world_key(u8 kind, u16 manager, u32 nth)
{
	u64 key = 0;

	while (dsm_manager(&w.node[0].space, kind, key) != manager || nth--)
		key++;
	return key;
}

#endif
