// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * Frames: the pages of memory that hold this node's copies.
 *
 * A frame is an ordinary page that carries the region's address_space and its
 * page number, which futexes, get_user_pages() and the reverse map need, but it
 * is in no page cache and on no LRU list: nobody reclaims, migrates or writes it back.
 * Never decides when a frame may go.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include "../compat.h"
#include "mm.h"

/**
 * dsm_mm_frame_alloc() - allocate the frame of a page
 * @mm:  mm side of the region
 * @idx: page number within the region
 * @gfp: how hard to try; with __GFP_ACCOUNT the page is charged to the calling task's memory
 *       cgroup; __GFP_ZERO if contents matter
 *
 * The caller owns one reference and gives it to dsm_mm_frame_free().
 *
 * Context: process. Sleeps if @gfp says so.
 * Return: the frame, or NULL if there is no memory.
 */
struct page *dsm_mm_frame_alloc(struct dsm_mm *mm, u32 idx, gfp_t gfp)
{
	struct page *frame = alloc_page(gfp);

	if (!frame)
		return NULL;
	frame->mapping = mm->inode->i_mapping;
	frame->index = idx;
	SetPageUptodate(frame);
	return frame;
}

/**
 * dsm_mm_frame_free() - drop the module's reference to a frame
 * @frame: from dsm_mm_frame_alloc(), mapped nowhere
 *
 * Somebody who still pins the page keeps the memory, not the region.
 *
 * Context: process, sleeps.
 */
void dsm_mm_frame_free(struct page *frame)
{
	/* Who marks a pinned page dirty looks at its mapping under this lock. */
	lock_page(frame);
	ClearPageDirty(frame);
	frame->mapping = NULL;
	unlock_page(frame);
	put_page(frame);
}

/**
 * dsm_mm_frame_pinned() - may somebody still write a frame behind our back?
 * @frame: a frame, write-protected by dsm_mm_wrprotect() or zapped before
 *
 * Device I/O takes pins or plain references, depending on the kernel. One reference is the
 * module's, one belongs to each page-table entry; any other counts as a pin. A thread in the
 * middle of a fault and a message that still carries the frame count too, which costs the
 * caller no more than keeping the twin. So does an entry that comes or goes meanwhile: it changes
 * two numbers, which are not read at once.
 *
 * Context: any.
 * Return: true if the frame may be written by others than the CPUs' page tables.
 */
bool dsm_mm_frame_pinned(struct page *frame)
{
	int entries, references;

	/*
	 * Pairs with the barrier in the kernel's lockless get_user_pages(): that one takes its
	 * reference, then reads the entry again; we changed the entry, then read the
	 * references.
	 */
	smp_mb();
	if (folio_maybe_dma_pinned(page_folio(frame)))
		return true;
	entries = dsm_compat_mapcount(frame);
	smp_rmb();	/* an entry that comes is in the references first, one that goes is in them longer */
	references = page_count(frame);
	smp_rmb();	/* what went between the two made room for somebody else's */
	return references > entries + 1 || dsm_compat_mapcount(frame) != entries;
}
