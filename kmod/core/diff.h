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
 * Encode how @page differs from @twin as one page record at @dst. If @refresh, every differing word is
 * loaded once and that value goes into the record and into @twin (flush-update, protocol.md 3.2 keep=1): siblings may
 * keep storing to @page.
 * Return: bytes used (a multiple of 8), 0 if equal (nothing written), -ENOSPC if @cap is too small
 * (then @dst is undefined and @twin unchanged).
 */
int dsm_diff_make(const u8 *page, u8 *twin, u32 page_bytes, u32 idx, bool refresh, u8 *dst, u32 cap);

/*
 * Check the record at the front of @src completely (encoding, bounds, order, padding, sums) without applying it.
 * Return: bytes of the record, or -EPROTO. *@idx is its page.
 */
int dsm_diff_check(const u8 *src, u32 len, u32 page_bytes, u32 *idx);

/* Apply a checked record: stores exactly the bytes it names, never a neighbour (mm.md 2.3). */
void dsm_diff_apply(const u8 *src, u8 *page, u32 page_bytes);

/*
 * Two-way merge (protocol.md 3.3): for each byte with in != twin: frame takes it unless the
 * frame differs from the twin there; the twin takes it always.
 * Return: number of bytes that both sides changed (race conflicts).
 */
u32 dsm_diff_merge(u8 *frame, u8 *twin, const u8 *in, u32 page_bytes);

#endif
