// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks of a node that leaves: the tokens that it keeps go home, or the managers would take them for lost.
 * Does not wait, and knows nothing of locks with sync=rdma, which keep no token.
 */
#include "lock.h"

/**
 * dsm_lock_send_home() - as this node leaves: an idle token goes back to its manager
 * @e:    engine; its cap is 0 from now on, so that tokens that come later go too
 * @acts: actions
 *
 * Context: engine lock held, once a step.
 * Return: true if there may be more.
 */
bool dsm_lock_send_home(struct dsm_engine *e, struct dsm_actions *acts)
{
	e->lock_cap = 0;
	return dsm_lock_enforce_cap(e, true, acts);
}

/**
 * dsm_lock_all_home() - is no token on its way from here?
 * @e: engine
 *
 * Requests of this node do not count: their tokens are elsewhere.
 *
 * Context: engine lock held.
 * Return: true if none is.
 */
bool dsm_lock_all_home(const struct dsm_engine *e)
{
	const struct dsm_lock *l;
	u32 i;

	for (i = 0; i < DSM_KEY_BUCKETS; i++)
		hlist_for_each_entry(l, &e->locks[i], by_key)
			if (l->state == DSM_LOCK_RETURNING || l->state == DSM_LOCK_GRANTING)
				return false;
	return true;
}
