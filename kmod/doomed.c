// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * doomed.c: a region whose creation fails at another node while a program opens it here.
 *
 * What was made is unmade, but not below a program that has it open; and that waits for the coordinator, which makes and unmakes
 * regions one after the other. So nobody waits: the program is told that there is no such region, and with its
 * file the region goes.
 */
#include <linux/workqueue.h>
#include "shell.h"

static void remove_doomed(struct work_struct *work)
{
	struct dsm_region *r = container_of(work, struct dsm_region, going);
	bool claimed = atomic_cmpxchg(&r->opens, DSM_OPENS_ENDING, DSM_OPENS_GOING) == DSM_OPENS_ENDING;

	/* The work's reference; the table's stays until it is removed, here or by who has claimed it. */
	dsm_node_region_put(r);
	if (claimed)
		dsm_region_remove(r);
}

/**
 * dsm_region_doom() - a region that is open goes when it is not
 * @r: region that no other node will have
 *
 * Context: process; one caller at a time.
 */
void dsm_region_doom(struct dsm_region *r)
{
	if (!READ_ONCE(r->doomed)) {
		INIT_WORK(&r->going, remove_doomed);
		smp_store_release(&r->doomed, true);	/* Pairs with the acquire in dsm_region_closed(). */
	}
	/* Who closes it reads @doomed after it has counted: one of both finds the other. */
	smp_mb();
	dsm_region_closed(r);
}

/**
 * dsm_region_closed() - perhaps nobody has a region open any more
 * @r: region
 *
 * Context: any.
 */
void dsm_region_closed(struct dsm_region *r)
{
	/* Pairs with the release in dsm_region_doom(). */
	if (!smp_load_acquire(&r->doomed) || atomic_cmpxchg(&r->opens, 0, DSM_OPENS_ENDING))
		return;
	/* Whoever claims it now finds nothing to cancel yet: it waits for the work instead. */
	kref_get(&r->ref);
	queue_work(r->node->control_wq, &r->going);
}

/**
 * dsm_region_claim() - the caller is going to remove a region
 * @r: region that nobody has open
 *
 * Context: process; sleeps.
 * Return: false if remove_doomed() is removing it.
 */
bool dsm_region_claim(struct dsm_region *r)
{
	if (atomic_xchg(&r->opens, DSM_OPENS_GOING) == DSM_OPENS_GOING)
		return false;
	/* It may still be queued, and finds that it is too late. */
	if (smp_load_acquire(&r->doomed) && cancel_work_sync(&r->going))	/* Pairs with the release in dsm_region_doom(). */
		dsm_node_region_put(r);
	return true;
}
