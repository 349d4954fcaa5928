// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers: the objects of keys, and which of them are kept. One that nobody is inside may be forgotten at any time; then
 * the next episode begins as the first one did.
 */
#include "barrier.h"

/**
 * dsm_barrier_find() - look a key up
 * @e:      engine
 * @region: region id
 * @key:    key
 *
 * Context: engine lock held.
 * Return: barrier or NULL.
 */
struct dsm_barrier *dsm_barrier_find(struct dsm_engine *e, u32 region, u64 key)
{
	struct dsm_barrier *b;

	hlist_for_each_entry(b, dsm_key_bucket(e, e->barriers, region, key), by_key)
		if (b->key == key && b->region == region)
			return b;
	return NULL;
}

/* What has failed is remembered for longer, as keys come and go. */
static u32 idle_list(const struct dsm_barrier *b)
{
	return b->broken ? 1 : 0;
}

static void drop(struct dsm_engine *e, struct dsm_barrier *b)
{
	/* Who is forgotten here may still hold arrivals back: see begin(). */
	e->barriers_dropped |= b->holders;
	hlist_del(&b->by_key);
	dsm_barrier_busy(e, b);
	dsm_pool_give(e, DSM_POOL_BARRIER, b);
}

/**
 * dsm_barrier_idle() - nobody is inside any more
 * @e: engine
 * @b: barrier; may be gone afterwards
 *
 * Context: engine lock held.
 */
void dsm_barrier_idle(struct dsm_engine *e, struct dsm_barrier *b)
{
	u32 i = idle_list(b);

	b->seen = 0;
	list_add_tail(&b->idle, &e->idle_barriers[i]);
	if (++e->n_idle_barriers[i] > DSM_BARRIER_IDLE_MAX)
		drop(e, list_first_entry(&e->idle_barriers[i], struct dsm_barrier, idle));
}

/**
 * dsm_barrier_busy() - somebody is inside
 * @e: engine
 * @b: idle barrier
 *
 * Context: engine lock held.
 */
void dsm_barrier_busy(struct dsm_engine *e, struct dsm_barrier *b)
{
	list_del_init(&b->idle);
	e->n_idle_barriers[idle_list(b)]--;
}

/**
 * dsm_barrier_get() - look a key up, make it if need be
 * @e:      engine
 * @region: region id
 * @key:    key
 *
 * Context: engine lock held.
 * Return: barrier.
 */
struct dsm_barrier *dsm_barrier_get(struct dsm_engine *e, u32 region, u64 key)
{
	struct dsm_barrier *b = dsm_barrier_find(e, region, key);

	if (b)
		return b;
	b = dsm_pool_take(e, DSM_POOL_BARRIER);
	memset(b, 0, sizeof(*b));
	b->key = key;
	b->region = region;
	b->via = DSM_NO_NODE;
	INIT_LIST_HEAD(&b->arrivals);
	hlist_add_head(&b->by_key, dsm_key_bucket(e, e->barriers, region, key));
	dsm_barrier_idle(e, b);
	return b;
}
