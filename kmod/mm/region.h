/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the shell sees of the mm side: one address space per region, frames, page-table walks
 * over all mappings of the node. mm decides nothing about coherence: it asks the shell for
 * rights and re-reads them under the page lock.
 */
#ifndef DSM_MM_REGION_H
#define DSM_MM_REGION_H

#include <linux/fs.h>
#include <linux/mm.h>
#include "../core/types.h"

struct dsm_mm;		/* the mm side of one region */

/**
 * enum dsm_right - what a node may do with its frame of a page
 * @DSM_RIGHT_NONE:  nothing yet: wait (dsm_mm_ops.wait) and ask again
 * @DSM_RIGHT_READ:  map read-only
 * @DSM_RIGHT_WRITE: map writable
 */
enum dsm_right { DSM_RIGHT_NONE, DSM_RIGHT_READ, DSM_RIGHT_WRITE };

/**
 * struct dsm_mm_ops - questions of the fault path to the shell
 * @fault: a thread wants to read or write page @idx. Starts a fetch if one is needed, never
 *         waits for the network. Return: enum dsm_right (>= what was asked, or NONE: wait), or
 *         -ENOMEM, -EHOSTDOWN (home lost), -EBUSY (it cannot be had now). On READ/WRITE *@frame is the page's frame,
 *         stable for the region's life.
 * @right: the right as of now, no side effects; called under the page lock.
 * @wait:  wait until a NONE may have changed. @write: of @fault. @killable: only fatal signals end it, else any
 *         signal does. 0, -EINTR/-ERESTARTSYS. Bounded by the death of the peer it depends on.
 * @around: which of the @n pages behind @idx may be mapped for reading along with it: @frames gets
 *         the frame of each or NULL. Return: how many places of @frames count
 * @around_again: clears the places of @frames of which that is not true any more; called under the
 *         locks of these frames
 */
struct dsm_mm_ops {
	int (*fault)(void *ctx, u32 idx, bool write, struct page **frame);
	enum dsm_right (*right)(void *ctx, u32 idx);
	int (*wait)(void *ctx, u32 idx, bool write, bool killable);
	u32 (*around)(void *ctx, u32 idx, u32 n, struct page **frames);
	void (*around_again)(void *ctx, u32 idx, u32 n, struct page **frames);
};

/* A run of pages, @first .. @first + @count - 1. */
struct dsm_run {
	u32 first;
	u32 count;
};

int dsm_mm_init(void);
void dsm_mm_exit(void);

struct dsm_mm *dsm_mm_create(const struct dsm_mm_ops *ops, void *ctx, u64 pages);
/* read() copies what the page was at one moment at which this node had the right to it. */
void dsm_mm_read_exactly(struct dsm_mm *mm);
/* Children do not inherit mappings. */
void dsm_mm_keep_own(struct dsm_mm *mm);
/* Only when no file is open and no mapping left. Frames have been freed by their owner before. */
void dsm_mm_destroy(struct dsm_mm *mm);

/* file_operations helpers: the region's device file calls these. dsm_mm_open sets f_mapping. */
void dsm_mm_open(struct dsm_mm *mm, struct file *file);
int dsm_mm_mmap(struct dsm_mm *mm, struct file *file, struct vm_area_struct *vma);
/* Zeroed memory that files open for writing map at DSM_LOCK_TABLE_OFFSET; freed with @mm. */
void *dsm_mm_table_make(struct dsm_mm *mm, u32 bytes);
/*
 * Through the frames, not through a mapping; the user
 * buffer may itself be DSM memory. pos in bytes.
 */
ssize_t dsm_mm_read_iter(struct dsm_mm *mm, struct kiocb *iocb, struct iov_iter *to);
ssize_t dsm_mm_write_iter(struct dsm_mm *mm, struct kiocb *iocb, struct iov_iter *from);

/*
 * Frames: page->mapping and index set, so that futexes and
 * GUP work (mm.md 1.2). Zeroed and sleeping if @gfp says so.
 */
struct page *dsm_mm_frame_alloc(struct dsm_mm *mm, u32 idx, gfp_t gfp);
/*
 * Unmapped before (dsm_mm_zap or no mapping left); clears
 * page->mapping, drops the module's reference.
 */
void dsm_mm_frame_free(struct page *frame);

/*
 * Take rights away (after the state was changed). Both first take and drop the page lock of
 * every frame that exists (@frame_of gives it or NULL), waiting out faults that passed the
 * check, then walk each run once, with one TLB flush per run and VMA. On return every CPU is
 * past its flush. @runs ascending, disjoint. Process context, no locks held.
 */
void dsm_mm_zap(struct dsm_mm *mm, const struct dsm_run *runs, u32 n,
		struct page *(*frame_of)(void *ctx, u32 idx), void *ctx);
void dsm_mm_wrprotect(struct dsm_mm *mm, const struct dsm_run *runs, u32 n,
		      struct page *(*frame_of)(void *ctx, u32 idx), void *ctx);

/*
 * Somebody else (O_DIRECT, process_vm_*) may still write
 * the frame; valid after dsm_mm_wrprotect (mm.md 1.8).
 */
bool dsm_mm_frame_pinned(struct page *frame);

/* The fault path's own counters. */
struct dsm_mm_stats {
	u64 faults_read;
	u64 faults_write;
	u64 sigbus;
	u64 wrprotect_runs;
	u64 zap_runs;
	u64 ns_page_lock;	/* of faults, for page locks that others held */
};
void dsm_mm_stats(struct dsm_mm *mm, struct dsm_mm_stats *out);

#endif
