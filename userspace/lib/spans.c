// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Small blocks of a heap: spans of 1 to 4 pages, each cut into blocks of one size class, with a
 * bitmap of those given out. Never writes into a block.
 */
#include <errno.h>
#include <stdint.h>

#include "heap.h"

static const struct {
	uint16_t bytes;
	uint8_t pages;		/* of a span */
} classes[HEAP_CLASSES] = {
	{ 16, 1 },  { 32, 1 },	{ 48, 1 },  { 64, 1 },	 { 96, 1 },   { 128, 1 },  { 192, 1 },
	{ 256, 1 }, { 384, 1 }, { 512, 1 }, { 768, 3 }, { 1024, 2 }, { 1536, 3 }, { 2048, 4 },
};

_Static_assert(HEAP_CLASS_PAGE + HEAP_CLASSES <= HEAP_TABLE_PAGE, "layout");

static unsigned int slots_of(unsigned int class)
{
	return (unsigned int)(classes[class].pages * HEAP_PAGE / classes[class].bytes);
}

/* The class for @bytes at a multiple of @align (a power of two); -1: whole pages. */
int dsm_heap_class_for(size_t bytes, size_t align)
{
	for (int class = 0; class < HEAP_CLASSES; class++)
		if (classes[class].bytes >= bytes && classes[class].bytes % align == 0)
			return class;
	return -1;
}

static void link_span(struct dsm *d, unsigned int class, uint64_t page)
{
	struct heap_class *c = heap_class(d, class);
	struct heap_entry *e = heap_entry(d, page);

	e->prev = 0;
	e->next = c->partial;
	if (e->next)
		heap_entry(d, e->next)->prev = page;
	c->partial = page;
}

static void unlink_span(struct dsm *d, unsigned int class, uint64_t page)
{
	struct heap_entry *e = heap_entry(d, page);

	if (e->next)
		heap_entry(d, e->next)->prev = e->prev;
	if (e->prev)
		heap_entry(d, e->prev)->next = e->next;
	else
		heap_class(d, class)->partial = e->next;
}

static unsigned int count_free(const struct heap_entry *e, unsigned int class)
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < HEAP_SLOTS_MAX / 64; i++)
		used += (unsigned int)__builtin_popcountll(e->used[i]);
	return slots_of(class) - used;
}

/* Finds all spans of a class by the tags, after a holder of its lock was killed. */
static int repair(struct dsm *d, unsigned int class)
{
	uint64_t page = heap_head(d)->first;
	int ret = dsm_heap_runs_lock(d);

	if (ret)
		return ret;
	heap_class(d, class)->partial = 0;
	while (page < heap_runs(d)->top) {
		uint64_t tag = heap_tag_get(d, page);

		if (!heap_tag_len(tag))
			break;
		if (heap_tag_kind(tag) == HEAP_SPAN && heap_tag_class(tag) == class) {
			struct heap_entry *e = heap_entry(d, page);

			e->free_slots = count_free(e, class);
			if (e->free_slots)
				link_span(d, class, page);
		}
		page += heap_tag_len(tag);
	}
	dsm_heap_runs_unlock(d);
	return 0;
}

static int class_lock(struct dsm *d, unsigned int class)
{
	uint64_t key = HEAP_KEY_CLASS + class;
	int ret = dsm_heap_lock(d, key);

	if (ret > 0) {
		ret = repair(d, class);
		if (!ret)
			ret = dsm_lock_consistent(d, key);
		if (ret)
			dsm_unlock_own(d, key);
	}
	return ret;
}

static int new_span(struct dsm *d, unsigned int class)
{
	uint64_t pages = classes[class].pages;
	struct heap_entry *e;
	uint64_t page;
	bool fresh;
	int ret = dsm_heap_runs_lock(d);

	if (ret)
		return ret;
	page = dsm_heap_runs_take(d, pages, 1, heap_tag(HEAP_RUN, 0, pages), &fresh);
	if (page) {
		e = heap_entry(d, page);
		for (unsigned int i = 0; i < HEAP_SLOTS_MAX / 64; i++)
			e->used[i] = 0;
		e->free_slots = slots_of(class);
		for (uint64_t i = 1; i < pages; i++)
			heap_tag_set(d, page + i, heap_tag(HEAP_PART, class, i));
		heap_tag_set(d, page, heap_tag(HEAP_SPAN, class, pages));
		link_span(d, class, page);
	}
	dsm_heap_runs_unlock(d);
	return page ? 0 : -ENOMEM;
}

static unsigned int take_slot(struct heap_entry *e)
{
	unsigned int word = 0;
	unsigned int bit;

	while (e->used[word] == ~0ull)
		word++;
	bit = (unsigned int)__builtin_ctzll(~e->used[word]);
	e->used[word] |= 1ull << bit;
	e->free_slots--;
	return word * 64 + bit;
}

void *dsm_heap_span_alloc(struct dsm *d, unsigned int class, int *ret)
{
	struct heap_entry *e;
	unsigned int slot;
	uint64_t page;

	*ret = class_lock(d, class);
	if (*ret)
		return NULL;
	if (!heap_class(d, class)->partial)
		*ret = new_span(d, class);
	if (*ret) {
		dsm_unlock_own(d, HEAP_KEY_CLASS + class);
		return NULL;
	}
	page = heap_class(d, class)->partial;
	e = heap_entry(d, page);
	slot = take_slot(e);
	if (!e->free_slots)
		unlink_span(d, class, page);
	dsm_unlock_own(d, HEAP_KEY_CLASS + class);
	return heap_page(d, page) + slot * classes[class].bytes;
}

/* Gives an empty span back unless it is the class's last one with room: that one is kept. */
static void drop_span(struct dsm *d, unsigned int class, uint64_t page)
{
	struct heap_entry *e = heap_entry(d, page);
	uint64_t pages = classes[class].pages;

	if (!e->next && !e->prev)
		return;
	/* Without the runs the span just stays: the block is free either way. */
	if (dsm_heap_runs_lock(d))
		return;
	unlink_span(d, class, page);
	/* Who is killed from here on loses a block of these pages, and no span without its parts is left. */
	heap_tag_set(d, page, heap_tag(HEAP_RUN, 0, pages));
	for (uint64_t i = 1; i < pages; i++)
		heap_tag_set(d, page + i, 0);
	dsm_heap_runs_give(d, page, pages);
	dsm_heap_runs_unlock(d);
}

/* @page: the span's page that holds @p. -EINVAL: no block given out starts at @p. */
int dsm_heap_span_free(struct dsm *d, uint64_t page, void *p)
{
	uint64_t tag = heap_tag_get(d, page);
	unsigned int class = heap_tag_class(tag);
	uint64_t first = page - (heap_tag_kind(tag) == HEAP_PART ? heap_tag_len(tag) : 0);
	struct heap_entry *e;
	uint64_t offset, slot, bit;
	int ret;

	if (class >= HEAP_CLASSES || first > page || first < heap_head(d)->first)
		return -EINVAL;
	ret = class_lock(d, class);
	if (ret)
		return ret;
	offset = (uint64_t)((char *)p - heap_page(d, first));
	slot = offset / classes[class].bytes;
	bit = 1ull << slot % 64;
	e = heap_entry(d, first);
	if (heap_tag_get(d, first) != heap_tag(HEAP_SPAN, class, classes[class].pages) ||
	    slot >= slots_of(class) || offset % classes[class].bytes ||
	    !(e->used[slot / 64] & bit)) {
		dsm_unlock_own(d, HEAP_KEY_CLASS + class);
		return -EINVAL;
	}
	e->used[slot / 64] &= ~bit;
	if (!e->free_slots++)
		link_span(d, class, first);
	if (e->free_slots == slots_of(class))
		drop_span(d, class, first);
	dsm_unlock_own(d, HEAP_KEY_CLASS + class);
	return 0;
}
