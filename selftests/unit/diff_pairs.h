/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the tests of core/diff.c share: pages and twins with known differences, and a byte-by-byte
 * model of a diff that shares no code with it.
 */
#ifndef DIFF_PAIRS_H
#define DIFF_PAIRS_H

#include "unit.h"
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include "diff.h"


#define HEAD 16u			/* struct dsm_wire_record */

static const u32 page_sizes[] = {
	4, 8, 12, 16, 20, 60, 64, 68, 124, 128, 132, 256, 1000, 4096, 16384, 65536,
};

/* Out of 1000 bytes, how many change. */
static const u32 densities[] = { 1, 5, 30, 125, 250, 500, 750, 950, 999 };

/* The sizes that this build of the core can do. */
#define for_each_size(size, i)						\
	for (i = 0; i < ARRAY_SIZE(page_sizes) && (size = page_sizes[i]) <= DSM_PAGE_BYTES; i++)

static inline u32 align8(u32 n)
{
	return (n + 7) / 8 * 8;
}

/**
 * struct pair - a page and its twin with a buffer for their diff
 * @bytes: size of @page and @twin
 * @page:  contents after the changes
 * @twin:  contents before
 * @rec:   DSM_DIFF_RECORD_MAX() bytes
 */
struct pair {
	u32 bytes;
	u8 *page;
	u8 *twin;
	u8 *rec;
};

static inline struct pair pair_new(u32 bytes)
{
	return (struct pair){
		.bytes = bytes,
		.page = unit_alloc(bytes),
		.twin = unit_alloc(bytes),
		.rec = unit_alloc(DSM_DIFF_RECORD_MAX(bytes)),
	};
}

static inline void pair_free(struct pair *p)
{
	free(p->page);
	free(p->twin);
	free(p->rec);
}

static inline void pair_equal(struct pair *p, struct unit_random *r)
{
	unit_random_fill(r, p->twin, p->bytes);
	memcpy(p->page, p->twin, p->bytes);
}

/* Change bytes in bursts of up to @burst so that @density of 1000 change; at least one. */
static inline void pair_mutate(struct pair *p, struct unit_random *r, u32 density, u32 burst)
{
	u32 changes = 1 + (u64)p->bytes * density / 1000 / ((burst + 1) / 2 + 1);
	u32 at = 0, n;

	while (changes--) {
		at = unit_random_below(r, p->bytes);
		for (n = 1 + unit_random_below(r, burst); n && at < p->bytes; n--, at++)
			p->page[at] ^= 1 + unit_random_below(r, 255);
	}
	if (!memcmp(p->page, p->twin, p->bytes))
		p->page[at % p->bytes] ^= 0x80;
}

static inline int pair_make(struct pair *p, bool refresh)
{
	return dsm_diff_make(p->page, p->twin, p->bytes, 77, refresh, p->rec,
			     DSM_DIFF_RECORD_MAX(p->bytes));
}

/**
 * struct model - what a diff must say, counted byte by byte
 * @changed: bytes that differ
 * @runs:    groups of adjacent bytes that differ
 * @zero:    the page is all zeros
 */
struct model {
	u32 changed;
	u32 runs;
	bool zero;
};

static inline struct model model_of(const struct pair *p)
{
	struct model m = { .zero = true };
	bool before = false, now;
	u32 i;

	for (i = 0; i < p->bytes; i++) {
		now = p->page[i] != p->twin[i];
		m.changed += now;
		m.runs += now && !before;
		before = now;
		if (p->page[i])
			m.zero = false;
	}
	return m;
}

static inline u32 model_length(const struct pair *p)
{
	struct model m = model_of(p);
	u32 runs = align8(4 * m.runs) + align8(m.changed);
	u32 map = align8((p->bytes + 7) / 8 + m.changed);

	if (!m.changed)
		return 0;
	if (m.changed == p->bytes)
		return HEAD + (m.zero ? 0 : align8(p->bytes));
	return HEAD + (runs < map ? runs : map);
}

static inline struct dsm_wire_record head_of(const u8 *rec)
{
	struct dsm_wire_record h;

	memcpy(&h, rec, sizeof(h));
	return h;
}

#endif
