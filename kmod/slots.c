// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Lock tables: the memory behind the slots of a region, made when the first process asks, and the
 * numbers of the processes that use it. Which lock is in which slot is the core's business.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "core/slot.h"
#include "shell.h"

/* The core knows no uapi header. */
static_assert(sizeof(struct dsm_slot) == sizeof(struct dsm_lock_slot));
static_assert(offsetof(struct dsm_slot, key) == offsetof(struct dsm_lock_slot, key));
static_assert(offsetof(struct dsm_slot, word) == offsetof(struct dsm_lock_slot, word));
static_assert(offsetof(struct dsm_slot, uses) == offsetof(struct dsm_lock_slot, uses));
static_assert(DSM_SLOT_SETS_LOG2 == DSM_LOCK_SETS_LOG2 && DSM_SLOT_WAYS == DSM_LOCK_WAYS);
static_assert(DSM_SLOTS * sizeof(struct dsm_slot) == DSM_LOCK_TABLE_BYTES);
static_assert((int)DSM_SLOT_FREE == (int)DSM_LOCK_WORD_FREE &&
	      (int)DSM_SLOT_HELD == (int)DSM_LOCK_WORD_HELD);
static_assert(DSM_SLOT_TID_SHIFT == DSM_LOCK_TID_SHIFT &&
	      DSM_SLOT_OWNER_SHIFT == DSM_LOCK_OWNER_SHIFT &&
	      DSM_SLOT_GEN_MASK == DSM_LOCK_GEN_MASK);

static int make(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	struct dsm_slots *slots = kvzalloc(sizeof(*slots), GFP_KERNEL_ACCOUNT);
	void *shared = slots ? dsm_mm_table_make(r->mm, DSM_LOCK_TABLE_BYTES) : NULL;

	if (!shared) {
		kvfree(slots);
		return -ENOMEM;
	}
	dsm_slots_init(slots, shared);
	spin_lock(&n->lock);
	r->space->slots = slots;
	spin_unlock(&n->lock);
	return 0;
}

/**
 * dsm_node_lock_table() - the caller wants to take locks of a region in its lock table
 * @r: region
 * @o: caller
 *
 * Context: process; sleeps.
 * Return: number that the caller writes into words, > 0; -EOPNOTSUPP locks of this region do not
 * stay at a node; -ENOSPC too many processes; -ENOMEM.
 */
int dsm_node_lock_table(struct dsm_region *r, const struct dsm_owner *o)
{
	struct dsm_node *n = r->node;
	int ret = 0;

	/* Where a release tells who has copies, one comes before a lock is given back. */
	if (r->space->policy.sync != DSM_SYNC_MSG || dsm_policy_tells(&r->space->policy))
		return -EOPNOTSUPP;
	mutex_lock(&n->regions_lock);
	if (!r->space->slots)
		ret = make(r);
	mutex_unlock(&n->regions_lock);
	if (ret)
		return ret;
	spin_lock(&n->lock);
	ret = dsm_slots_register(r->space->slots, o->file, o->tgid);
	spin_unlock(&n->lock);
	return ret;
}

/**
 * dsm_slots_free() - free what dsm_node_lock_table() made, but the shared memory
 * @r: region, out of the engine and not open
 *
 * Context: process.
 */
void dsm_slots_free(struct dsm_region *r)
{
	kvfree(r->space->slots);
}

/**
 * dsm_slots_locks() - locks taken in a region's table that no other counter has
 * @r: region
 *
 * Context: engine lock held.
 * Return: count.
 */
u64 dsm_slots_locks(const struct dsm_region *r)
{
	return r->space->slots ? dsm_slots_uses(r->space->slots) : 0;
}
