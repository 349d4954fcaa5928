/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Diffs of pages, byte exact: making, checking, applying, merging. Pure
 * functions on buffers; never look at protocol state.
 */
#ifndef DSM_CORE_DIFF_H
#define DSM_CORE_DIFF_H

#include "wire.h"

/* Longest record: header, bitmap of one bit a byte, every byte (messaging.md 2.2). */
#define DSM_DIFF_RECORD_MAX(page_bytes) \
	(sizeof(struct dsm_wire_record) + (page_bytes) / 8 + (page_bytes) + 8)

/*
 * @page_bytes is a multiple of 4 from 4 to DSM_PAGE_BYTES
 * in all of them. No buffer needs an alignment.
 */

/*
 * Encode how @page differs from @twin; 0 if it does not.
 * Exact: fails only if the record itself is longer than @cap.
 */
int dsm_diff_make_grain(const u8 *page, u8 *twin, u32 page_bytes, u32 idx, u32 grain_log2,
			bool refresh, u8 *dst, u32 cap);

/* The same with the exact grain. */
static inline int dsm_diff_make(const u8 *page, u8 *twin, u32 page_bytes, u32 idx, bool refresh,
				u8 *dst, u32 cap)
{
	return dsm_diff_make_grain(page, twin, page_bytes, idx, 0, refresh, dst, cap);
}

/* A run of changed bytes. */
struct dsm_piece {
	u32 off;
	u32 len;
};

/*
 * Name the changed runs and bring @twin up to the page there, each byte loaded once. -E2BIG: there
 * are more than @max, or a record says it shorter, or @max is 0 and nothing changed; @twin is
 * unchanged then.
 */
int dsm_diff_take(const u8 *page, u8 *twin, u32 page_bytes, u32 grain_log2,
		  struct dsm_piece *piece, u32 max);

/* Check the record at the front of @src completely without applying it. */
int dsm_diff_check(const u8 *src, u32 len, u32 page_bytes, u32 *idx);

/* Apply a checked record: stores exactly the bytes it names, never a neighbour (mm.md 2.3). */
void dsm_diff_apply(const u8 *src, u8 *page, u32 page_bytes);

/* Two-way merge (protocol.md 3.3) of a fetched page into one that was written here. */
u32 dsm_diff_merge(u8 *frame, u8 *twin, const u8 *in, u32 page_bytes);

#endif
