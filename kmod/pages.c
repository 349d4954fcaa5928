// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Touched pages of a region: their structures and frames, made at the first touch and kept until
 * the region goes. Knows no states.
 */
#include <linux/slab.h>
#include "core/page.h"
#include "shell.h"

/* For what nobody needs yet: only if there is memory to spare. */
#define GFP_SPARE (GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT)

/**
 * dsm_env_page_find() - the core asks for a page it may have touched
 * @s:   region
 * @idx: page index
 *
 * Context: engine lock held.
 * Return: page, or NULL: never touched here.
 */
struct dsm_page *dsm_env_page_find(struct dsm_space *s, u32 idx)
{
	struct dsm_region *r = s->shell;

	return xa_load(&r->table, idx);
}

static struct kmem_cache *page_cache;	/* of all nodes */

static struct dsm_page *page_add(struct dsm_region *r, u32 idx, gfp_t gfp)
{
	struct dsm_node *n = r->node;
	struct dsm_page *p, *old;

	p = kmem_cache_zalloc(page_cache, gfp);
	if (!p)
		return ERR_PTR(-ENOMEM);
	spin_lock(&n->lock);
	dsm_page_init(n->engine, r->space, p, idx);
	spin_unlock(&n->lock);
	old = xa_cmpxchg(&r->table, idx, NULL, p, gfp);
	if (!old)
		return p;
	kmem_cache_free(page_cache, p);
	return xa_is_err(old) ? ERR_PTR(xa_err(old)) : old;
}

static int frame_add(struct dsm_region *r, struct dsm_page *p, gfp_t gfp)
{
	struct dsm_node *n = r->node;
	struct page *frame = dsm_mm_frame_alloc(r->mm, p->idx, gfp | __GFP_ZERO);

	if (!frame)
		return -ENOMEM;
	spin_lock(&n->lock);
	if (!p->frame) {
		p->frame = frame;
		frame = NULL;
	}
	spin_unlock(&n->lock);
	if (frame)
		dsm_mm_frame_free(frame);
	else
		dsm_chunk_frame(r, p->idx, gfp);
	return 0;
}

static struct dsm_page *get(struct dsm_region *r, u32 idx, bool frame, gfp_t gfp)
{
	struct dsm_page *p = xa_load(&r->table, idx);
	int err;

	if (!p) {
		p = page_add(r, idx, gfp);
		if (IS_ERR(p))
			return p;
	}
	/* Set once under the engine lock and never changed: seen NULL, frame_add() looks again. */
	if (frame && !READ_ONCE(p->frame)) {
		err = frame_add(r, p, gfp);
		if (err)
			return ERR_PTR(err);
	}
	return p;
}

/**
 * dsm_shell_page() - a page's structure, made if need be
 * @r:     region, its members fixed
 * @idx:   page index below its length
 * @frame: the frame is needed too
 *
 * Context: process, no lock held; sleeps.
 * Return: page or ERR_PTR(-ENOMEM).
 */
struct dsm_page *dsm_shell_page(struct dsm_region *r, u32 idx, bool frame)
{
	return get(r, idx, frame, GFP_KERNEL_ACCOUNT);
}

/**
 * dsm_shell_page_served() - a page that a peer's message needs
 * @r:     region, its members fixed
 * @idx:   page index below its length
 * @frame: the frame is needed too
 *
 * Whatever thread serves a peer has no part in it: what it pays for, and may have, does not count. Nor can it be
 * refused: the peer has done nothing wrong.
 *
 * Context: process, no lock held; sleeps until there is memory.
 * Return: page.
 */
struct dsm_page *dsm_shell_page_served(struct dsm_region *r, u32 idx, bool frame)
{
	return get(r, idx, frame, GFP_KERNEL | __GFP_NOFAIL);
}

/**
 * dsm_shell_page_spare() - a page's structure and frame, if that costs nobody his memory
 * @r:   region, its members fixed
 * @idx: page index below its length
 *
 * Context: process, no lock held; does not wait for memory.
 * Return: page or ERR_PTR(-ENOMEM).
 */
struct dsm_page *dsm_shell_page_spare(struct dsm_region *r, u32 idx)
{
	return get(r, idx, true, GFP_SPARE);
}

/**
 * dsm_shell_page_free() - forget a page's structure
 * @p: page that nothing refers to any more
 *
 * Context: any.
 */
void dsm_shell_page_free(struct dsm_page *p)
{
	kmem_cache_free(page_cache, p);
}

/**
 * dsm_pages_init() - at module load
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int dsm_pages_init(void)
{
	page_cache = kmem_cache_create("dsm_page", sizeof(struct dsm_page), 0, 0, NULL);
	return page_cache ? 0 : -ENOMEM;
}

/**
 * dsm_pages_exit() - at module unload: no region is left
 *
 * Context: process.
 */
void dsm_pages_exit(void)
{
	kmem_cache_destroy(page_cache);
}
