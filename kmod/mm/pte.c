// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * Takes rights out of the page tables: of every mapping of the region, in
 * every process of this node, one walk and one TLB flush per run and mapping.
 * Mappings of files opened read-only can only lose all.
 *
 * Write-protecting has to survive mprotect() (mm.md 1.3). The batch helper of the kernel leaves
 * the dirty bit in a protected entry, and mprotect() makes a read-only dirty entry of a shared
 * mapping writable again without asking anybody. So the first mprotect() that gives write
 * permission marks the region and cleans the range; from then on each downgrade cleans too, and
 * finishes with a per-page pass that protects and cleans in one step the entries which raced.
 * Regions without mprotect() pay nothing.
 *
 * Never decides which right a page has and never touches contents.
 */
#include <linux/bitmap.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/rmap.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "mm.h"
#include "pte.h"

/*
 * A walk blocks faults that need the same page-table locks and mmap()s of the region: bounded
 * to 2 MiB. The flush of such a range is one flush of the whole address space anyway.
 */
#define WALK_PAGES 512u

/*
 * Runs closer than this are write-protected by one walk: a page in the gap that
 * loses its write bit takes a fault, which is far cheaper than one more flush on all CPUs.
 */
#define GAP_PAGES 8u

/* Dirty bits cleaned per walk in mprotect(): a bitmap of 8 KiB, entries for 256 MiB. */
#define CLEAN_PAGES 65536u

/* Runs of the caller that are handled by one sequence of walks, @end one past the last page. */
struct span {
	u64 first;
	u64 end;
};

/*
 * Waits out the faults that have seen the old right: they hold the page
 * lock until their entry is installed.
 */
static void wait_out_faults(const struct dsm_run *runs, u32 n,
			    struct page *(*frame_of)(void *ctx, u32 idx), void *ctx)
{
	struct page *frame;
	u64 idx, end;
	u32 i;

	for (i = 0; i < n; i++) {
		end = (u64)runs[i].first + runs[i].count;
		for (idx = runs[i].first; idx < end; idx++) {
			frame = frame_of(ctx, idx);
			if (!frame)
				continue;
			lock_page(frame);
			unlock_page(frame);
			cond_resched();
		}
	}
}

/* Protects and cleans in one step per entry; flushes only for those that were writable or dirty. */
static void mkclean_pages(u64 first, u64 end,
			  struct page *(*frame_of)(void *ctx, u32 idx), void *ctx)
{
	struct page *frame;
	u64 idx;

	for (idx = first; idx < end; idx++) {
		frame = frame_of(ctx, idx);
		if (!frame)
			continue;
		lock_page(frame);
		folio_mkclean(page_folio(frame));
		unlock_page(frame);
		cond_resched();
	}
}

#ifdef CONFIG_MAPPING_DIRTY_HELPERS

static void clean_pages(struct dsm_mm *mm, pgoff_t first, pgoff_t count,
			unsigned long *bitmap)
{
	pgoff_t start = 0, end = 0;

	/* The helper wants to tell which entries were dirty; nobody asks. */
	clean_record_shared_mapping_range(mm->inode->i_mapping, first, count, first,
					  bitmap, &start, &end);
}

static void protect_pages(struct dsm_mm *mm, u64 first, u64 end,
			  struct page *(*frame_of)(void *ctx, u32 idx), void *ctx)
{
	DECLARE_BITMAP(bitmap, WALK_PAGES);

	wp_shared_mapping_range(mm->inode->i_mapping, first, end - first);
	smp_mb();	/* pairs with dsm_pte_mprotect(): protect, then read the mark */
	if (likely(!READ_ONCE(mm->mprotect_used)))
		return;
	clean_pages(mm, first, end - first, bitmap);
	mkclean_pages(first, end, frame_of, ctx);
}

/**
 * dsm_pte_mprotect() - ->mprotect of a mapping, called before the change
 * @vma:      mapping, or the part of it after a split
 * @start:    first address
 * @end:      one past the last address
 * @newflags: VM_* after the change
 *
 * Context: mmap_lock held for write. Sleeps.
 * Return: 0; -ENOMEM: no memory for a bitmap, then the call fails unchanged.
 */
int dsm_pte_mprotect(struct vm_area_struct *vma, unsigned long start,
		     unsigned long end, unsigned long newflags)
{
	struct dsm_mm *mm = vma->vm_private_data;
	pgoff_t first = vma->vm_pgoff + ((start - vma->vm_start) >> PAGE_SHIFT);
	pgoff_t left = (end - start) >> PAGE_SHIFT;
	unsigned long *bitmap;
	pgoff_t count;

	if (!(newflags & VM_WRITE))
		return 0;
	WRITE_ONCE(mm->mprotect_used, true);
	smp_mb();	/* pairs with protect_pages(): mark, then clean */

	bitmap = bitmap_alloc(min_t(pgoff_t, left, CLEAN_PAGES), GFP_KERNEL);
	if (!bitmap)
		return -ENOMEM;
	for (; left; first += count, left -= count) {
		count = min_t(pgoff_t, left, CLEAN_PAGES);
		clean_pages(mm, first, count, bitmap);
		cond_resched();
	}
	bitmap_free(bitmap);
	return 0;
}

#else /* without the batch helpers (6.1 cloud kernels) every page goes the exact way */

static void protect_pages(struct dsm_mm *mm, u64 first, u64 end,
			  struct page *(*frame_of)(void *ctx, u32 idx), void *ctx)
{
	mkclean_pages(first, end, frame_of, ctx);
}

int dsm_pte_mprotect(struct vm_area_struct *vma, unsigned long start,
		     unsigned long end, unsigned long newflags)
{
	return 0;
}

#endif

/* The runs from @runs[*i] on that one walk may cover; moves *@i behind them. */
static struct span next_span(const struct dsm_run *runs, u32 n, u32 *i, u32 gap)
{
	struct span s = {
		.first = runs[*i].first,
		.end = (u64)runs[*i].first + runs[*i].count,
	};

	for (++*i; *i < n; ++*i) {
		if (runs[*i].first < s.end || runs[*i].first - s.end > gap)
			break;
		s.end = (u64)runs[*i].first + runs[*i].count;
	}
	return s;
}

/**
 * dsm_pte_unmap() - remove the page-table entries of some pages from all mappings
 * @mm:    mm side of the region
 * @first: first page
 * @count: number of pages
 *
 * Context: process. Sleeps.
 */
void dsm_pte_unmap(struct dsm_mm *mm, pgoff_t first, pgoff_t count)
{
	unmap_mapping_pages(mm->inode->i_mapping, first, count, false);
	unmap_mapping_pages(mm->views->i_mapping, first, count, false);
}

/**
 * dsm_mm_zap() - remove the page-table entries of some pages everywhere
 * @mm:       mm side of the region
 * @runs:     pages, ascending and disjoint; their rights are NONE already
 * @n:        number of @runs
 * @frame_of: gives the frame of a page, or NULL if it has none
 * @ctx:      first argument of @frame_of
 *
 * On return no CPU can load or store through an older entry, and no fault
 * that has seen the old right is under way.
 *
 * Context: process, no lock held. Sleeps, but not for other nodes.
 */
void dsm_mm_zap(struct dsm_mm *mm, const struct dsm_run *runs, u32 n,
		struct page *(*frame_of)(void *ctx, u32 idx), void *ctx)
{
	struct span s;
	u64 first, end;
	u32 i = 0;

	wait_out_faults(runs, n, frame_of, ctx);
	while (i < n) {
		s = next_span(runs, n, &i, 0);
		for (first = s.first; first < s.end; first = end) {
			end = min_t(u64, s.end, first + WALK_PAGES);
			dsm_pte_unmap(mm, first, end - first);
			cond_resched();
		}
		dsm_mm_count(mm, zap_runs);
	}
}

/**
 * dsm_mm_wrprotect() - make the page-table entries of some pages read-only everywhere
 * @mm:       mm side of the region
 * @runs:     pages, ascending and disjoint; their rights are READ or less already
 * @n:        number of @runs
 * @frame_of: gives the frame of a page, or NULL if it has none
 * @ctx:      first argument of @frame_of
 *
 * On return every store through an older entry is visible to this CPU, and
 * the next one faults. Neighbours of a run may lose their write bit too.
 *
 * Context: process, no lock held. Sleeps, but not for other nodes.
 */
void dsm_mm_wrprotect(struct dsm_mm *mm, const struct dsm_run *runs, u32 n,
		      struct page *(*frame_of)(void *ctx, u32 idx), void *ctx)
{
	struct span s;
	u64 first, end;
	u32 i = 0;

	wait_out_faults(runs, n, frame_of, ctx);
	while (i < n) {
		s = next_span(runs, n, &i, GAP_PAGES);
		for (first = s.first; first < s.end; first = end) {
			end = min_t(u64, s.end, first + WALK_PAGES);
			protect_pages(mm, first, end, frame_of, ctx);
			cond_resched();
		}
		dsm_mm_count(mm, wrprotect_runs);
	}
}
