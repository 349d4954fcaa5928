/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Layout of the heap inside a region, as every process on every node sees it.
 *
 *   page 0       struct heap_head: constant once written; its second half is parmacs.h's
 *   page 1       struct heap_runs: free runs of pages        lock KEY_RUNS
 *   page 2..15   struct heap_class, one page per size class  lock KEY_CLASS + class
 *   page 16..    struct heap_entry[pages]: what each page of the region is
 *   first..      the memory that is given out
 *
 * Nothing of the allocator is kept between or inside the blocks given out, so a program that writes
 * past a block harms its neighbour but never the heap. A page of the table is touched only once
 * one of the 64 pages that it describes is used.
 *
 * Who may write what: a page's tag under KEY_RUNS; a tag that says SPAN of class c also needs
 * that class's lock to come or go, so it can be relied on under that lock alone. The other fields
 * of a span's first entry are under its class's lock, those of a free run's under KEY_RUNS.
 * Lock order: class, then runs.
 *
 * A process may be killed between any two stores. The tags alone therefore tell what is free: each step
 * changes the meaning of a run by one store of its first tag, after the other tags are right.
 * Lists, tails and counters are rebuilt from tags and bitmaps by the next holder, whom the
 * module tells with -EOWNERDEAD.
 */
#ifndef DSM_HEAP_H
#define DSM_HEAP_H

#include "internal.h"

#define HEAP_MAGIC 0x70616568206d7364ull	/* "dsm heap" */
#define HEAP_VERSION 1u
#define HEAP_PAGE 4096ull			/* whatever the page size of the machine */
#define HEAP_CLASSES 14
#define HEAP_BINS 64
#define HEAP_ROOT_OFFSET 2048			/* of struct parmacs_root */
#define HEAP_RUNS_PAGE 1
#define HEAP_CLASS_PAGE 2
#define HEAP_TABLE_PAGE 16
#define HEAP_SLOTS_MAX 256			/* blocks of a span */

#define HEAP_KEY_INIT (DSM_KEY_RESERVED + 0)
#define HEAP_KEY_RUNS (DSM_KEY_RESERVED + 1)
#define HEAP_KEY_CLASS (DSM_KEY_RESERVED + 16)
#define HEAP_KEY_ALIVE (DSM_KEY_RESERVED + 0x10000)	/* and a rank: see parmacs.c */

struct heap_head {
	uint64_t magic;		/* written last */
	uint32_t version;
	uint32_t entry_bytes;
	uint64_t pages;		/* of the region */
	uint64_t first;		/* first page given out */
};

struct heap_runs {
	uint64_t top;		/* pages from here on are in no run */
	uint64_t fresh;		/* pages from here on were never given out: all zero */
	uint64_t nonempty;	/* bitmap of bins */
	uint64_t bin[HEAP_BINS];	/* first free run of that size, 0 = none */
};

struct heap_class {
	uint64_t partial;	/* first span with a free block, 0 = none */
};

enum heap_kind {
	HEAP_NONE,		/* inside of a run, or above the top */
	HEAP_FREE,		/* first page of a free run of len pages */
	HEAP_TAIL,		/* maybe the last page of a free run of len pages */
	HEAP_RUN,		/* first page of a block of len pages */
	HEAP_SPAN,		/* first page of a span of len pages with blocks of one class */
	HEAP_PART,		/* len pages after the first page of a span */
};

struct heap_entry {
	uint64_t tag;		/* kind in bits 0..7, class in 8..15, len from bit 16 on */
	uint64_t next, prev;	/* page numbers, 0 = none */
	uint64_t free_slots;
	uint64_t used[HEAP_SLOTS_MAX / 64];	/* bit = block given out */
};

_Static_assert(sizeof(struct heap_entry) == 64, "layout is shared by all nodes");
_Static_assert(sizeof(struct heap_runs) <= HEAP_PAGE, "one page");

static inline uint64_t heap_tag(enum heap_kind kind, unsigned int class, uint64_t len)
{
	return (uint64_t)kind | (uint64_t)class << 8 | len << 16;
}

static inline enum heap_kind heap_tag_kind(uint64_t tag)
{
	return (enum heap_kind)(tag & 0xff);
}

static inline unsigned int heap_tag_class(uint64_t tag)
{
	return tag >> 8 & 0xff;
}

static inline uint64_t heap_tag_len(uint64_t tag)
{
	return tag >> 16;
}

static inline char *heap_page(const struct dsm *d, uint64_t page)
{
	return (char *)d->base + page * HEAP_PAGE;
}

static inline struct heap_head *heap_head(const struct dsm *d)
{
	return (struct heap_head *)d->base;
}

static inline struct heap_runs *heap_runs(const struct dsm *d)
{
	return (struct heap_runs *)heap_page(d, HEAP_RUNS_PAGE);
}

static inline struct heap_class *heap_class(const struct dsm *d, unsigned int class)
{
	return (struct heap_class *)heap_page(d, HEAP_CLASS_PAGE + class);
}

static inline struct heap_entry *heap_entry(const struct dsm *d, uint64_t page)
{
	return (struct heap_entry *)heap_page(d, HEAP_TABLE_PAGE) + page;
}

/* Tags are read without a lock by dsm_free, and a killed process must leave them whole. */
static inline uint64_t heap_tag_get(const struct dsm *d, uint64_t page)
{
	return __atomic_load_n(&heap_entry(d, page)->tag, __ATOMIC_ACQUIRE);
}

static inline void heap_tag_set(const struct dsm *d, uint64_t page, uint64_t tag)
{
	__atomic_store_n(&heap_entry(d, page)->tag, tag, __ATOMIC_RELEASE);
}

/* heap.c: 0; 1: taken from a holder that ended inside, repair; or a negative errno. */
DSM_HIDDEN int dsm_heap_lock(struct dsm *d, uint64_t key);

/* runs.c: under the runs lock, which dsm_heap_runs_lock takes and repairs. */
DSM_HIDDEN void dsm_heap_runs_init(struct dsm *d);
DSM_HIDDEN int dsm_heap_runs_lock(struct dsm *d);
DSM_HIDDEN void dsm_heap_runs_unlock(struct dsm *d);
DSM_HIDDEN uint64_t dsm_heap_runs_take(struct dsm *d, uint64_t pages, uint64_t align_pages,
				       uint64_t tag, bool *fresh);
DSM_HIDDEN void dsm_heap_runs_give(struct dsm *d, uint64_t page, uint64_t pages);

/* spans.c: small blocks. */
DSM_HIDDEN int dsm_heap_class_for(size_t bytes, size_t align);
DSM_HIDDEN void *dsm_heap_span_alloc(struct dsm *d, unsigned int class, int *ret);
DSM_HIDDEN int dsm_heap_span_free(struct dsm *d, uint64_t page, void *p);

#endif
