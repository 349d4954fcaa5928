// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Memory for the words of regions with metadata=rdma: made and registered with the region, taken back when no node has
 * anything under way to it. What the words say is the core's business.
 */
#include <linux/vmalloc.h>
#include "core/dir.h"
#include "shell.h"

static_assert(DSM_DIR_PAGES * sizeof(u64) / PAGE_SIZE <= DSM_MR_PAGES);

/**
 * dsm_dir_make() - a region appears: words for its pages
 * @r: region, nobody else knows it yet; the memory for one-sided transfers is there
 *
 * Context: process; sleeps until the device has registered them. Not from a function that net calls.
 * Return: 0; -ENOMEM; -EOPNOTSUPP the device has no atomics; -EHOSTDOWN, -ENODEV it is gone.
 */
int dsm_dir_make(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	struct dsm_dir *d = &r->space->dir;
	struct dsm_mr *mr;

	d->late = r->late;
	d->word = vzalloc(PAGE_ALIGN(r->pages * sizeof(u64)));
	if (!d->word)
		return -ENOMEM;
	mr = dsm_rsync_offer(n, d->word, PAGE_ALIGN(r->pages * sizeof(u64)), DSM_MR_ATOMIC,
			     &d->own);
	if (IS_ERR(mr)) {
		vfree(d->word);
		d->word = NULL;
		return PTR_ERR(mr);
	}
	r->dir_mr = mr;
	return 0;
}

/**
 * dsm_dir_free() - a region goes: its words too
 * @r: region; no node has a transfer of it under way or will start one, nobody else refers to it
 *
 * Context: process; sleeps.
 */
void dsm_dir_free(struct dsm_region *r)
{
	if (r->dir_mr)
		dsm_net_mr_free(r->dir_mr);
	r->dir_mr = NULL;
	vfree(r->space->dir.word);
	r->space->dir.word = NULL;
}
