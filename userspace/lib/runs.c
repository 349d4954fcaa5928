// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Runs of whole pages of a heap: best bin first, split, and merged with both neighbours when freed.
 * Never looks into a run; see heap.h for the layout and for what a killed process may leave.
 */
#include "heap.h"

#define EXACT_BINS 32	/* bin k below this: runs of exactly k pages */

static unsigned int bin_of(uint64_t pages)
{
	unsigned int log2 = 63 - (unsigned int)__builtin_clzll(pages);

	return pages < EXACT_BINS ? (unsigned int)pages : EXACT_BINS + log2 - 5;
}

static void link_run(struct dsm *d, uint64_t page, uint64_t pages)
{
	struct heap_runs *runs = heap_runs(d);
	struct heap_entry *e = heap_entry(d, page);
	unsigned int bin = bin_of(pages);

	if (pages > 1)
		heap_tag_set(d, page + pages - 1, heap_tag(HEAP_TAIL, 0, pages));
	e->prev = 0;
	e->next = runs->bin[bin];
	if (e->next)
		heap_entry(d, e->next)->prev = page;
	runs->bin[bin] = page;
	runs->nonempty |= 1ull << bin;
}

static void unlink_run(struct dsm *d, uint64_t page, uint64_t pages)
{
	struct heap_runs *runs = heap_runs(d);
	struct heap_entry *e = heap_entry(d, page);
	unsigned int bin = bin_of(pages);

	if (e->next)
		heap_entry(d, e->next)->prev = e->prev;
	if (e->prev)
		heap_entry(d, e->prev)->next = e->next;
	else
		runs->bin[bin] = e->next;
	if (!runs->bin[bin])
		runs->nonempty &= ~(1ull << bin);
}

static bool is_free(struct dsm *d, uint64_t page, uint64_t *pages)
{
	uint64_t tag = heap_tag_get(d, page);

	*pages = heap_tag_len(tag);
	return heap_tag_kind(tag) == HEAP_FREE;
}

/* Makes the lists again from the tags, after a holder of the lock was killed. */
static void repair(struct dsm *d)
{
	struct heap_runs *runs = heap_runs(d);
	uint64_t page = heap_head(d)->first;
	uint64_t last = 0, last_pages = 0;	/* the free run that ends at @page, if any */

	runs->nonempty = 0;
	for (unsigned int bin = 0; bin < HEAP_BINS; bin++)
		runs->bin[bin] = 0;
	while (page < runs->top) {
		uint64_t pages;
		bool unused = is_free(d, page, &pages);

		if (!pages)	/* no run starts here: what follows was not given out yet */
			break;
		if (unused) {
			for (uint64_t i = 1; i < pages; i++)
				if (heap_tag_get(d, page + i))
					heap_tag_set(d, page + i, 0);
			if (last) {
				heap_tag_set(d, last, heap_tag(HEAP_FREE, 0, last_pages + pages));
				heap_tag_set(d, page, 0);
				last_pages += pages;
			} else {
				last = page;
				last_pages = pages;
			}
		}
		page += pages;
		if (last && (!unused || page >= runs->top)) {
			link_run(d, last, last_pages);
			last = 0;
		}
	}
	if (last)
		link_run(d, last, last_pages);
}

void dsm_heap_runs_init(struct dsm *d)
{
	struct heap_runs *runs = heap_runs(d);

	runs->top = heap_head(d)->first;
	runs->fresh = runs->top;
}

int dsm_heap_runs_lock(struct dsm *d)
{
	int ret = dsm_heap_lock(d, HEAP_KEY_RUNS);

	if (ret > 0) {
		repair(d);
		ret = dsm_lock_consistent(d, HEAP_KEY_RUNS);
		if (ret)
			dsm_unlock_own(d, HEAP_KEY_RUNS);
	}
	return ret;
}

void dsm_heap_runs_unlock(struct dsm *d)
{
	dsm_unlock_own(d, HEAP_KEY_RUNS);
}

static uint64_t align_up(uint64_t page, uint64_t align_pages)
{
	return (page + align_pages - 1) & ~(align_pages - 1);
}

/* The first free run that holds @pages aligned ones: from the smallest bin that may have one. */
static uint64_t find_run(struct dsm *d, uint64_t pages, uint64_t align_pages, uint64_t *found_pages)
{
	struct heap_runs *runs = heap_runs(d);
	uint64_t bins = runs->nonempty & ~0ull << bin_of(pages);

	for (; bins; bins &= bins - 1) {
		uint64_t page = runs->bin[__builtin_ctzll(bins)];

		for (; page; page = heap_entry(d, page)->next) {
			uint64_t have;

			if (is_free(d, page, &have) &&
			    align_up(page, align_pages) + pages <= page + have) {
				*found_pages = have;
				return page;
			}
		}
	}
	return 0;
}

/*
 * Takes @pages pages aligned to @align_pages (a power of two) and gives their first page @tag. *@fresh: they
 * are zero. Returns the first page, or 0 if there is no room.
 */
uint64_t dsm_heap_runs_take(struct dsm *d, uint64_t pages, uint64_t align_pages, uint64_t tag,
			    bool *fresh)
{
	struct heap_runs *runs = heap_runs(d);
	uint64_t limit = heap_head(d)->pages;
	uint64_t have, at, end;
	uint64_t page = find_run(d, pages, align_pages, &have);

	*fresh = false;
	if (page) {
		at = align_up(page, align_pages);
		end = page + have;
		unlink_run(d, page, have);
		if (at + pages < end)
			heap_tag_set(d, at + pages, heap_tag(HEAP_FREE, 0, end - at - pages));
		heap_tag_set(d, at, tag);
		if (at > page) {
			heap_tag_set(d, page, heap_tag(HEAP_FREE, 0, at - page));
			link_run(d, page, at - page);
		}
		if (at + pages < end)
			link_run(d, at + pages, end - at - pages);
		return at;
	}
	page = runs->top;
	at = align_up(page, align_pages);
	if (at < page || at >= limit || pages > limit - at)
		return 0;
	heap_tag_set(d, at, tag);
	if (at > page)
		heap_tag_set(d, page, heap_tag(HEAP_FREE, 0, at - page));
	*fresh = at >= runs->fresh;
	if (runs->fresh < at + pages)
		runs->fresh = at + pages;
	__atomic_store_n(&runs->top, at + pages, __ATOMIC_RELEASE);
	if (at > page)
		link_run(d, page, at - page);
	return at;
}

/* The free run that ends just below @page: its first page, or 0. */
static uint64_t free_below(struct dsm *d, uint64_t page, uint64_t *pages)
{
	uint64_t tag, len, first;

	if (page <= heap_head(d)->first)
		return 0;
	tag = heap_tag_get(d, page - 1);
	len = heap_tag_len(tag);
	if (heap_tag_kind(tag) == HEAP_FREE && len == 1) {
		*pages = 1;
		return page - 1;
	}
	if (heap_tag_kind(tag) != HEAP_TAIL || len > page - heap_head(d)->first)
		return 0;
	/* Tails are not wiped when their run is used; the first page's tag decides. */
	first = page - len;
	return is_free(d, first, pages) && *pages == len ? first : 0;
}

void dsm_heap_runs_give(struct dsm *d, uint64_t page, uint64_t pages)
{
	struct heap_runs *runs = heap_runs(d);
	uint64_t more, below;

	heap_tag_set(d, page, heap_tag(HEAP_FREE, 0, pages));
	if (page + pages < runs->top && is_free(d, page + pages, &more)) {
		unlink_run(d, page + pages, more);
		heap_tag_set(d, page, heap_tag(HEAP_FREE, 0, pages + more));
		heap_tag_set(d, page + pages, 0);
		pages += more;
	}
	below = free_below(d, page, &more);
	if (below) {
		unlink_run(d, below, more);
		heap_tag_set(d, below, heap_tag(HEAP_FREE, 0, more + pages));
		heap_tag_set(d, page, 0);
		page = below;
		pages += more;
	}
	if (page + pages == runs->top) {
		__atomic_store_n(&runs->top, page, __ATOMIC_RELEASE);
		heap_tag_set(d, page, 0);
	} else {
		link_run(d, page, pages);
	}
}
