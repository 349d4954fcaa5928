// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Pools: free objects that a step may take, filled by the shell between
 * steps. Never allocates and never runs empty within the limits of a step (I30).
 */
#include "engine.h"
#include "barrier.h"
#include "flag.h"
#include "lock.h"
#include "dir.h"
#include "rlock.h"

/**
 * dsm_engine_wants() - how many objects to add before the next step
 * @e:    engine
 * @kind: pool
 *
 * Context: engine lock held.
 * Return: number missing.
 */
u32 dsm_engine_wants(const struct dsm_engine *e, enum dsm_pool_kind kind)
{
	u32 want = DSM_STEP_OTHERS;

	if (kind == DSM_POOL_MSG)
		want = DSM_STEP_MSGS + e->n_nodes;
	else if (kind == DSM_POOL_REQUEST)
		want = DSM_STEP_OTHERS + e->n_nodes;	/* a report passed on for all */
	else if (kind == DSM_POOL_INTERVAL)
		want = DSM_STEP_INTERVALS;
	else if (kind == DSM_POOL_XFER)
		/* A letter to each; what is written into each ring. */
		want = DSM_STEP_XFERS + (e->rsync ? e->n_nodes : 0) +
		       (e->csm.dirs ? DSM_STEP_DIR + 2 * e->n_nodes : 0);
	return want - min(want, e->pool[kind].count);
}

/**
 * dsm_pool_give() - add a free object
 * @e:    engine
 * @kind: pool
 * @obj:  object; its first word becomes a link
 *
 * Context: engine lock held.
 */
void dsm_pool_give(struct dsm_engine *e, enum dsm_pool_kind kind, void *obj)
{
	struct dsm_pool *pool = &e->pool[kind];
	void **link = kind == DSM_POOL_TWIN ? (void **)dsm_env_bytes(obj) : obj;

	*link = pool->head;
	pool->head = obj;
	pool->count++;
}

/**
 * dsm_pool_take() - take a free object
 * @e:    engine
 * @kind: pool
 *
 * Context: engine lock held. I30: the shell filled the pools before the step, so this never
 * fails within its limits.
 * Return: object, contents undefined; NULL if the pool is empty.
 */
void *dsm_pool_take(struct dsm_engine *e, enum dsm_pool_kind kind)
{
	struct dsm_pool *pool = &e->pool[kind];
	void *obj = pool->head;

	dsm_assert(obj);
	if (!obj)
		return NULL;
	pool->head = kind == DSM_POOL_TWIN ? *(void **)dsm_env_bytes(obj) : *(void **)obj;
	pool->count--;
	return obj;
}

/**
 * dsm_pool_object_bytes() - size of the objects of a pool
 * @kind: pool
 *
 * Context: any.
 * Return: bytes; 0 for messages, twins and transfers, which are the shell's own.
 */
size_t dsm_pool_object_bytes(enum dsm_pool_kind kind)
{
	switch (kind) {
	case DSM_POOL_INTERVAL:
		return sizeof(struct dsm_interval);
	case DSM_POOL_LOCK:
		return sizeof(struct dsm_lock);
	case DSM_POOL_BARRIER:
		return sizeof(struct dsm_barrier);
	case DSM_POOL_FLAG:
		return sizeof(struct dsm_flag);
	case DSM_POOL_REQUEST:
		return sizeof(struct dsm_request);
	case DSM_POOL_RLOCK:
		return sizeof(struct dsm_rlock);
	default:
		return 0;
	}
}
