// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Two-way diffs, as in Cashmere-2L (Stets and others, SOSP 1997, section 2): what others wrote goes into a page that
 * threads of this node go on writing. There who acquires unmaps it for itself, and the others keep their page tables;
 * threads share one, so here who acquires waits for the bytes instead. The others see old ones until then, which they
 * may: they have not acquired. Never unmaps.
 */
#include "fetch.h"
#include "live.h"
#include "page.h"

/**
 * dsm_live_merge() - ask for what changed in a page that was written here, without unmapping it
 * @e:    engine
 * @p:    page whose right a notice has taken
 * @acts: actions
 *
 * Context: engine lock held, within an acquire, before its entries are removed.
 * Return: true if it is on its way; false if the page has no twin, its region ends, or its home is lost or has yet to
 * acknowledge what it was told of it.
 */
bool dsm_live_merge(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (dsm_fetch_is_over(p))
		return false;
	if (p->space->policy.merge != DSM_MERGE_LIVE || p->state != DSM_PAGE_WRS ||
	    dsm_fetch_start(e, p, false, acts) != DSM_PAGE_NONE || p->state != DSM_PAGE_WRF)
		return false;
	dsm_count(e, p->space, merges_live);
	return true;
}

/**
 * dsm_live_merged() - may the entries of such a page stay?
 * @p: page that dsm_live_merge() said true of, and that nobody waits for any more
 *
 * Context: engine lock held.
 * Return: true if it has what the notices named, and whoever changed it since then took care of its entries.
 */
bool dsm_live_merged(const struct dsm_page *p)
{
	return dsm_page_right(p) != DSM_PAGE_NONE;
}
