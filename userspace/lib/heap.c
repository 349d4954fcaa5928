// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm_malloc and its family: first use of a heap, and the choice between small blocks and whole
 * pages. Never keeps anything outside the region but the fact that its header was seen.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "heap.h"

#define MIN_ALIGN 16

int dsm_heap_lock(struct dsm *d, uint64_t key)
{
	int ret;

	/* A signal must not make an allocation fail. */
	do {
		ret = dsm_lock(d, key);
	} while (ret == -EINTR);
	return ret == -EOWNERDEAD ? 1 : ret;
}

/* Writes the header of an empty heap; the region is all zero, or another one died in here. */
static int format(struct dsm *d)
{
	struct heap_head *head = heap_head(d);
	uint64_t pages = d->bytes / HEAP_PAGE;
	uint64_t table_bytes = pages * sizeof(struct heap_entry);
	uint64_t first = HEAP_TABLE_PAGE + (table_bytes + HEAP_PAGE - 1) / HEAP_PAGE;

	if (first >= pages)
		return dsm_error_set(ENOMEM, "dsm_malloc: %s with %zu bytes is too small for a heap",
				     d->path, d->bytes);
	head->version = HEAP_VERSION;
	head->entry_bytes = sizeof(struct heap_entry);
	head->pages = pages;
	head->first = first;
	dsm_heap_runs_init(d);
	__atomic_store_n(&head->magic, HEAP_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

static int check_header(struct dsm *d)
{
	struct heap_head *head = heap_head(d);

	if (!head->magic)
		return format(d);
	if (head->magic != HEAP_MAGIC || head->pages != d->bytes / HEAP_PAGE ||
	    head->entry_bytes != sizeof(struct heap_entry))
		return dsm_error_set(EINVAL, "dsm_malloc: %s does not begin with a heap's header: "
				     "something wrote over it; dsmctl region destroy it, and create it with heap=on", d->path);
	if (head->version != HEAP_VERSION)
		return dsm_error_set(EINVAL, "dsm_malloc: the heap of %s has format %" PRIu32
				     ", this library knows %u", d->path, head->version,
				     HEAP_VERSION);
	return 0;
}

/* Makes sure that there is a heap. */
static int ready(struct dsm *d, const char *who)
{
	int dead, ret;

	if (__atomic_load_n(&d->heap_ready, __ATOMIC_ACQUIRE))
		return 0;
	if (!d->heap)
		return dsm_error_set(EINVAL, "%s: %s has no heap: dsmctl region create NAME SIZE "
				     "heap=on, or use the region \"heap\"", who, d->path);
	if (d->flags & DSM_RDONLY)
		return dsm_error_set(EACCES, "%s: %s is open read-only", who, d->path);
	dead = dsm_heap_lock(d, HEAP_KEY_INIT);
	if (dead < 0)
		return dead;
	ret = check_header(d);
	if (!ret && dead)
		ret = dsm_lock_consistent(d, HEAP_KEY_INIT);
	dsm_unlock_own(d, HEAP_KEY_INIT);
	if (!ret)
		__atomic_store_n(&d->heap_ready, 1, __ATOMIC_RELEASE);
	return ret;
}

static void *take_pages(struct dsm *d, size_t n, size_t align, bool *fresh, int *ret)
{
	uint64_t pages = n / HEAP_PAGE + !!(n % HEAP_PAGE);
	uint64_t align_pages = align > HEAP_PAGE ? align / HEAP_PAGE : 1;
	uint64_t page;

	/* Aligned as an address, not only within the region. */
	if (align > HEAP_PAGE && (uintptr_t)d->base % align) {
		*ret = -EINVAL;
		return NULL;
	}
	*ret = dsm_heap_runs_lock(d);
	if (*ret)
		return NULL;
	page = dsm_heap_runs_take(d, pages, align_pages, heap_tag(HEAP_RUN, 0, pages), fresh);
	dsm_heap_runs_unlock(d);
	if (!page)
		*ret = -ENOMEM;
	return page ? heap_page(d, page) : NULL;
}

static void *allocate(struct dsm *d, const char *who, size_t n, size_t align, bool *fresh)
{
	void *p = NULL;
	int class;
	int ret = ready(d, who);

	*fresh = false;
	if (ret) {
		errno = -ret;
		return NULL;
	}
	if (!n)
		n = 1;
	ret = -ENOMEM;
	if (n <= d->bytes && align <= d->bytes) {
		class = dsm_heap_class_for(n, align);
		if (class >= 0)
			p = dsm_heap_span_alloc(d, (unsigned int)class, &ret);
		else
			p = take_pages(d, n, align, fresh, &ret);
	}
	if (!p) {
		dsm_error_set(-ret, "%s: %zu bytes, aligned to %zu, from %s, which has %zu in all%s", who, n, align, d->path,
			      d->bytes, ret == -ENOMEM ? "; dsmctl region create NAME SIZE heap=on home=first-touch makes a larger one" : "");
		errno = -ret;
	}
	return p;
}

void *dsm_malloc(struct dsm *d, size_t n)
{
	bool fresh;

	return allocate(d, "dsm_malloc", n, MIN_ALIGN, &fresh);
}

void *dsm_calloc(struct dsm *d, size_t n, size_t size)
{
	size_t bytes;
	bool fresh;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = -dsm_error_set(ENOMEM, "dsm_calloc: %zu times %zu bytes", n, size);
		return NULL;
	}
	p = allocate(d, "dsm_calloc", bytes, MIN_ALIGN, &fresh);
	/* Pages that were never given out are zero, and stay untouched until they are used. */
	if (p && !fresh)
		memset(p, 0, bytes);
	return p;
}

void *dsm_aligned_alloc(struct dsm *d, size_t align, size_t n)
{
	bool fresh;

	if (!align || align & (align - 1)) {
		errno = -dsm_error_set(EINVAL, "dsm_aligned_alloc: %zu is no power of two", align);
		return NULL;
	}
	return allocate(d, "dsm_aligned_alloc", n, align < MIN_ALIGN ? MIN_ALIGN : align, &fresh);
}

static int free_pages(struct dsm *d, uint64_t page, void *p)
{
	uint64_t tag;
	int ret = dsm_heap_runs_lock(d);

	if (ret)
		return ret;
	tag = heap_tag_get(d, page);
	if (heap_tag_kind(tag) == HEAP_RUN && (char *)p == heap_page(d, page))
		dsm_heap_runs_give(d, page, heap_tag_len(tag));
	else
		ret = -EINVAL;
	dsm_heap_runs_unlock(d);
	return ret;
}

int dsm_free(struct dsm *d, void *p)
{
	uintptr_t offset = (uintptr_t)p - (uintptr_t)d->base;
	uint64_t page = offset / HEAP_PAGE;
	enum heap_kind kind;
	int ret;

	if (!p)
		return 0;
	ret = ready(d, "dsm_free");
	if (ret)
		return ret;
	ret = -EINVAL;
	if ((uintptr_t)p >= (uintptr_t)d->base && page >= heap_head(d)->first &&
	    page < heap_head(d)->pages) {
		kind = heap_tag_kind(heap_tag_get(d, page));
		if (kind == HEAP_SPAN || kind == HEAP_PART)
			ret = dsm_heap_span_free(d, page, p);
		else if (kind == HEAP_RUN)
			ret = free_pages(d, page, p);
	}
	if (ret == -EINVAL)
		return dsm_error_set(EINVAL, "dsm_free: %p is no block of %s, or was freed before",
				     p, d->path);
	if (ret)
		return dsm_error_set(-ret, "dsm_free: %p of %s", p, d->path);
	return 0;
}
