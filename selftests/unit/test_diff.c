// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/diff.c: by table, by property against a byte-by-byte model that
 * shares no code with it, and with a sibling that stores meanwhile.
 */
#include "diff_pairs.h"

static void diff_of_equal_pages_is_empty(void **state)
{
	struct unit_random r = unit_random_init(1);
	struct pair p;
	u32 bytes, i;
	u8 *before;

	for_each_size(bytes, i) {
		p = pair_new(bytes);
		pair_equal(&p, &r);
		memset(p.rec, 0xee, DSM_DIFF_RECORD_MAX(bytes));
		before = unit_copy(p.rec, DSM_DIFF_RECORD_MAX(bytes));
		assert_int_equal(pair_make(&p, false), 0);
		assert_int_equal(pair_make(&p, true), 0);
		assert_int_equal(dsm_diff_make(p.page, p.twin, bytes, 0, false, p.rec, 0), 0);
		assert_memory_equal(p.rec, before, DSM_DIFF_RECORD_MAX(bytes));
		free(before);
		pair_free(&p);
	}
}

/* Records as they are on the wire: messaging.md 2.2. Twins are all 0x11. */
struct known {
	const char *name;
	u32 page_bytes;
	u32 at[8];			/* changed bytes, ended by STOP */
	u8 to;				/* they get to, to + 1, ... */
	u32 len;
	u8 rec[48];
};

#define STOP 0xffffffffu
#define REC(enc, runs, bytes) 0x04, 0x03, 0x02, 0x01, enc, 0, runs, 0, bytes, 0, 0, 0, 0, 0, 0, 0

static const struct known known[] = {
	{
		"one byte of a small page", 16, { 3, STOP }, 0xa0,
		24, { REC(1, 0, 8), 0x08, 0x00, 0xa0 },
	}, {
		"one byte", 4096, { 4095, STOP }, 0xa0,
		32, { REC(0, 1, 16), 0xff, 0x0f, 0, 0, 0, 0, 0, 0, 0xa0 },
	}, {
		"an equal byte splits runs", 4096, { 0, 1, 3, STOP }, 0xa0,
		32, { REC(0, 2, 16), 0, 0, 1, 0, 3, 0, 0, 0, 0xa0, 0xa1, 0xa2 },
	}, {
		"a run crosses words and blocks", 4096, { 62, 63, 64, 65, STOP }, 0xa0,
		32, { REC(0, 1, 16), 62, 0, 3, 0, 0, 0, 0, 0, 0xa0, 0xa1, 0xa2, 0xa3 },
	}, {
		"three runs pad the table", 4096, { 1, 9, 300, STOP }, 0xa0,
		40, { REC(0, 3, 24), 1, 0, 0, 0, 9, 0, 0, 0, 0x2c, 1, 0, 0, 0, 0, 0, 0,
		      0xa0, 0xa1, 0xa2 },
	}, {
		"runs, if a bitmap is not shorter", 64, { 8, 9, 10, 11, 12, 13, 14, 15 }, 0xa0,
		32, { REC(0, 1, 16), 8, 0, 7, 0, 0, 0, 0, 0,
		      0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7 },
	}, {
		"bitmap of half a byte", 4, { 1, 3, STOP }, 0xa0,
		24, { REC(1, 0, 8), 0x0a, 0xa0, 0xa1 },
	}, {
		"bitmap is packed with the data", 12, { 0, 8, 11, STOP }, 0xa0,
		24, { REC(1, 0, 8), 0x01, 0x09, 0xa0, 0xa1, 0xa2 },
	}, {
		"every byte changed", 4, { 0, 1, 2, 3, STOP }, 0xa0,
		24, { REC(2, 0, 8), 0xa0, 0xa1, 0xa2, 0xa3 },
	},
};

static void diff_of_known_changes_is_this_record(void **state)
{
	const struct known *k;
	struct pair p;
	u32 i, n, idx;
	int len;

	for (k = known; k < known + ARRAY_SIZE(known); k++) {
		p = pair_new(k->page_bytes);
		memset(p.twin, 0x11, p.bytes);
		memset(p.page, 0x11, p.bytes);
		for (n = 0; n < ARRAY_SIZE(k->at) && k->at[n] != STOP; n++)
			p.page[k->at[n]] = k->to + n;
		len = dsm_diff_make(p.page, p.twin, p.bytes, 0x01020304, false, p.rec,
				    DSM_DIFF_RECORD_MAX(p.bytes));
		unit_require(len == (int)k->len, "%s: %d, not %u bytes", k->name, len, k->len);
		for (i = 0; i < k->len; i++)
			unit_require(p.rec[i] == k->rec[i], "%s: byte %u", k->name, i);
		assert_int_equal(dsm_diff_check(p.rec, k->len, p.bytes, &idx), len);
		assert_int_equal(idx, 0x01020304);
		pair_free(&p);
	}
}

static void full_and_zero_only_if_every_byte_changed(void **state)
{
	struct pair p;
	u32 bytes, i, hole;

	for_each_size(bytes, i) {
		p = pair_new(bytes);
		memset(p.twin, 0x11, bytes);

		memset(p.page, 0x22, bytes);
		assert_int_equal(pair_make(&p, false), HEAD + align8(bytes));
		assert_int_equal(head_of(p.rec).enc, DSM_DIFF_FULL);

		memset(p.page, 0, bytes);
		assert_int_equal(pair_make(&p, false), HEAD);
		assert_int_equal(head_of(p.rec).enc, DSM_DIFF_ZERO);
		p.page[bytes - 1] = 0x22;
		pair_make(&p, false);
		assert_int_equal(head_of(p.rec).enc, DSM_DIFF_FULL);

		/* A page of zeros is not ZERO if one of them is an old one. */
		for (hole = 0; hole < bytes; hole += 1 + bytes / 16) {
			memset(p.twin, 0x11, bytes);
			memset(p.page, 0, bytes);
			p.twin[hole] = 0;
			pair_make(&p, false);
			assert_true(head_of(p.rec).enc < DSM_DIFF_FULL);
			p.page[hole] = 0x11;
			p.twin[hole] = 0x11;
			pair_make(&p, false);
			assert_true(head_of(p.rec).enc < DSM_DIFF_FULL);
		}
		pair_free(&p);
	}
}

/* One random pair through everything; what it tells is counted by the caller. */
static void round_trip(struct pair *p, struct unit_random *r, u32 enc_seen[4])
{
	u8 *other = unit_alloc(p->bytes), *rec, *twin = unit_copy(p->twin, p->bytes);
	u8 *page = unit_copy(p->page, p->bytes);
	u32 idx = 0, want = model_length(p), i;
	struct dsm_wire_record h;
	int len;

	len = pair_make(p, false);
	unit_require(len == (int)want, "%u bytes: record of %d, not %u", p->bytes, len, want);
	assert_memory_equal(p->twin, twin, p->bytes);
	assert_memory_equal(p->page, page, p->bytes);
	h = head_of(p->rec);
	enc_seen[h.enc]++;
	assert_int_equal(h.nruns, h.enc == DSM_DIFF_RUNS ? model_of(p).runs : 0);

	/* Exactly the record's bytes may be looked at. */
	rec = unit_copy(p->rec, len);
	assert_int_equal(dsm_diff_check(rec, len, p->bytes, &idx), len);
	assert_int_equal(idx, 77);

	/* Another node's page keeps its bytes where this one did not write. */
	unit_random_fill(r, other, p->bytes);
	for (i = 0; i < p->bytes; i++)
		if (p->page[i] != p->twin[i])
			page[i] = p->page[i];
		else
			page[i] = other[i];
	dsm_diff_apply(rec, other, p->bytes);
	assert_memory_equal(other, page, p->bytes);
	dsm_diff_apply(rec, twin, p->bytes);
	assert_memory_equal(twin, p->page, p->bytes);

	free(rec);
	free(page);
	free(twin);
	free(other);
}

static void applied_diff_stores_exactly_the_changed_bytes(void **state)
{
	struct unit_random r = unit_random_init(2);
	u32 bytes, i, d, round, rounds, seen[4] = {};
	struct pair p;

	for_each_size(bytes, i) {
		rounds = bytes > 4096 ? 4 : 30;
		p = pair_new(bytes);
		for (d = 0; d < ARRAY_SIZE(densities); d++) {
			for (round = 0; round < rounds; round++) {
				pair_equal(&p, &r);
				if (round % 4 == 3)
					memset(p.page, 0, bytes);
				pair_mutate(&p, &r, densities[d], 1 + (round % 3) * 12);
				round_trip(&p, &r, seen);
			}
		}
		pair_free(&p);
	}
	/* The rule was tried on each encoding that changes can lead to. */
	assert_true(seen[DSM_DIFF_RUNS] && seen[DSM_DIFF_BITMAP] && seen[DSM_DIFF_FULL]);
}

static void record_is_never_longer_than_the_maximum(void **state)
{
	struct unit_random r = unit_random_init(3);
	u32 bytes, i, step, worst, at, seen[4] = {};
	struct pair p;

	for_each_size(bytes, i) {
		p = pair_new(bytes);
		worst = 0;
		/* Every step-th byte changed, then every step-th byte spared. */
		for (step = 2; step <= 64 && step <= bytes; step++) {
			pair_equal(&p, &r);
			for (at = 0; at < bytes; at += step)
				p.page[at] ^= 0xff;
			round_trip(&p, &r, seen);
			worst = max(worst, model_length(&p));
			for (at = 0; at < bytes; at++)
				p.page[at] ^= 0xff;
			round_trip(&p, &r, seen);
			worst = max(worst, model_length(&p));
		}
		unit_require(worst <= DSM_DIFF_RECORD_MAX(bytes), "%u", worst);
		unit_require(worst >= bytes, "the worst case of %u bytes was not met: %u", bytes, worst);
		pair_free(&p);
	}
	assert_true(DSM_HDR_BYTES + sizeof(struct dsm_wire_pack) + DSM_DIFF_RECORD_MAX(4096) <=
		    DSM_MSG_BYTES);
}

static void too_short_a_buffer_is_refused_and_nothing_changes(void **state)
{
	static const u32 sizes[] = { 4, 12, 64, 256, 4096 };
	struct unit_random r = unit_random_init(4);
	u8 *page, *twin, *dst, *none;
	u32 i, d, refresh, want, cap;
	struct pair p;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (d = 0; d < ARRAY_SIZE(densities); d += 2) {
			p = pair_new(sizes[i]);
			pair_equal(&p, &r);
			pair_mutate(&p, &r, densities[d], 8);
			page = unit_copy(p.page, p.bytes);
			twin = unit_copy(p.twin, p.bytes);
			want = model_length(&p);
			for (cap = 0; cap < want; cap += 1 + want / 100) {
				dst = unit_alloc(cap);
				memset(dst, 0xee, cap);
				none = unit_copy(dst, cap);
				for (refresh = 0; refresh < 2; refresh++)
					assert_int_equal(dsm_diff_make(p.page, p.twin, p.bytes, 1,
								       refresh, dst, cap), -ENOSPC);
				assert_memory_equal(dst, none, cap);
				free(none);
				free(dst);
			}
			assert_int_equal(dsm_diff_make(p.page, p.twin, p.bytes, 1, true, p.rec,
						       want - 1), -ENOSPC);
			assert_memory_equal(p.page, page, p.bytes);
			assert_memory_equal(p.twin, twin, p.bytes);
			dst = unit_alloc(want);
			assert_int_equal(dsm_diff_make(p.page, p.twin, p.bytes, 1, true, dst, want),
					 want);
			free(dst);
			free(page);
			free(twin);
			pair_free(&p);
		}
	}
}

static void refresh_leaves_nothing_to_send(void **state)
{
	struct unit_random r = unit_random_init(5);
	u32 bytes, i, d, round;
	struct pair p;
	u8 *page;
	int len;

	for_each_size(bytes, i) {
		p = pair_new(bytes);
		for (d = 0; d < ARRAY_SIZE(densities); d++) {
			for (round = 0; round < 3; round++) {
				pair_equal(&p, &r);
				if (round == 2)
					memset(p.page, 0, bytes);
				else
					pair_mutate(&p, &r, densities[d], 1 + round * 20);
				page = unit_copy(p.page, bytes);
				len = pair_make(&p, true);
				assert_true(len >= (int)HEAD);
				assert_memory_equal(p.page, page, bytes);
				assert_memory_equal(p.twin, page, bytes);
				assert_int_equal(pair_make(&p, true), 0);
				free(page);
			}
		}
		pair_free(&p);
	}
}

static void alignment_of_buffers_does_not_matter(void **state)
{
	struct unit_random r = unit_random_init(6);
	u8 *page, *twin, *rec, *target;
	u32 i, idx, shift;
	struct pair p;
	int len;

	p = pair_new(256);
	for (i = 0; i < 512; i++) {
		shift = i % 8;
		pair_equal(&p, &r);
		pair_mutate(&p, &r, densities[i % ARRAY_SIZE(densities)], 12);
		len = pair_make(&p, false);

		page = unit_alloc(256 + 24);
		twin = unit_alloc(256 + 24);
		rec = unit_alloc(DSM_DIFF_RECORD_MAX(256) + 24);
		target = unit_alloc(256 + 24);
		memcpy(page + shift, p.page, 256);
		memcpy(twin + (i / 8) % 8, p.twin, 256);
		memcpy(target + (i / 64) % 8, p.twin, 256);
		assert_int_equal(dsm_diff_make(page + shift, twin + (i / 8) % 8, 256, 77, true,
					       rec + shift, len), len);
		assert_memory_equal(rec + shift, p.rec, len);
		assert_memory_equal(twin + (i / 8) % 8, p.page, 256);
		assert_int_equal(dsm_diff_check(rec + shift, len, 256, &idx), len);
		dsm_diff_apply(rec + shift, target + (i / 64) % 8, 256);
		assert_memory_equal(target + (i / 64) % 8, p.page, 256);
		free(page);
		free(twin);
		free(rec);
		free(target);
	}
	pair_free(&p);
}

static void page_sizes_out_of_range_are_refused(void **state)
{
	u8 page[8] = { 1 }, twin[8] = {}, rec[64];

	assert_int_equal(dsm_diff_make(page, twin, 6, 0, false, rec, 64), -EINVAL);
	assert_int_equal(dsm_diff_make(page, twin, DSM_PAGE_BYTES + 4, 0, false, rec, 64), -EINVAL);
}

/* A record built by hand, then broken in one place. */
struct broken {
	const char *name;
	u32 page_bytes;
	u32 len;
	u8 rec[48];
};

#define RAW(enc, grain, runs, bytes, base) 9, 0, 0, 0, enc, grain, runs, 0, bytes, 0, 0, 0, base, 0, 0, 0

static const struct broken broken[] = {
	{ "nothing at all", 64, 0, {} },
	{ "unknown encoding", 64, 16, { RAW(4, 0, 0, 0, 0) } },
	{ "grain of 2", 64, 16, { RAW(3, 1, 0, 0, 0) } },
	{ "base_seq set", 64, 16, { RAW(3, 0, 0, 0, 1) } },
	{ "zero with payload", 64, 24, { RAW(3, 0, 0, 8, 0) } },
	{ "zero with runs", 64, 16, { RAW(3, 0, 1, 0, 0) } },
	{ "full with runs", 8, 24, { RAW(2, 0, 1, 8, 0) } },
	{ "full too short", 16, 24, { RAW(2, 0, 0, 8, 0) } },
	{ "full too long", 8, 32, { RAW(2, 0, 0, 16, 0) } },
	{ "full with dirty padding", 4, 24, { RAW(2, 0, 0, 8, 0), 1, 1, 1, 1, 1 } },
	{ "full without payload", 8, 16, { RAW(2, 0, 0, 0, 0) } },
	{ "payload not padded", 64, 28, { RAW(0, 0, 1, 12, 0) } },
	{ "no runs", 64, 16, { RAW(0, 0, 0, 0, 0) } },
	{ "no runs but payload", 64, 24, { RAW(0, 0, 0, 8, 0) } },
	{ "more runs than payload", 64, 24, { RAW(0, 0, 3, 8, 0) } },
	{ "run table without data", 64, 24, { RAW(0, 0, 1, 8, 0), 1 } },
	{ "run table's padding dirty", 64, 32, { RAW(0, 0, 1, 16, 0), 1, 0, 0, 0, 1 } },
	{ "run behind the end", 64, 32, { RAW(0, 0, 1, 16, 0), 64 } },
	{ "run over the end", 64, 32, { RAW(0, 0, 1, 16, 0), 63, 0, 1 } },
	{ "run over the end by wrap", 64, 32, { RAW(0, 0, 1, 16, 0), 0xff, 0xff, 0xff, 0xff } },
	{ "touching runs", 64, 32, { RAW(0, 0, 2, 16, 0), 0, 0, 0, 0, 1 } },
	{ "overlapping runs", 64, 32, { RAW(0, 0, 2, 16, 0), 0, 0, 3, 0, 2 } },
	{ "the same run twice", 64, 32, { RAW(0, 0, 2, 16, 0), 5, 0, 0, 0, 5 } },
	{ "descending runs", 64, 32, { RAW(0, 0, 2, 16, 0), 9, 0, 0, 0, 2 } },
	{ "runs longer than data", 64, 32, { RAW(0, 0, 1, 16, 0), 0, 0, 8 } },
	{ "data longer than runs", 64, 40, { RAW(0, 0, 1, 24, 0), 0, 0, 7 } },
	{ "run data's padding dirty", 64, 32, { RAW(0, 0, 1, 16, 0), 0, 0, 0, 0, 0, 0, 0, 0, 1, 1 } },
	{ "bitmap with runs", 64, 32, { RAW(1, 0, 1, 16, 0), 1 } },
	{ "bitmap cut off", 128, 24, { RAW(1, 0, 0, 8, 0), 1 } },
	{ "bitmap of nothing", 16, 24, { RAW(1, 0, 0, 8, 0) } },
	{ "bitmap behind the end", 4, 24, { RAW(1, 0, 0, 8, 0), 0x10 } },
	{ "bitmap behind the end of 12", 12, 24, { RAW(1, 0, 0, 8, 0), 1, 0x80 } },
	{ "bitmap without data", 64, 24, { RAW(1, 0, 0, 8, 0), 1 } },
	{ "more data than bits", 16, 32, { RAW(1, 0, 0, 16, 0), 1 } },
	{ "bitmap's padding dirty", 16, 24, { RAW(1, 0, 0, 8, 0), 1, 0, 5, 5 } },
};

/* The same, whole: what the table above breaks is accepted unbroken. */
static const struct broken whole[] = {
	{ "zero", 64, 16, { RAW(3, 0, 0, 0, 0) } },
	{ "full", 8, 24, { RAW(2, 0, 0, 8, 0) } },
	{ "full of 4", 4, 24, { RAW(2, 0, 0, 8, 0), 1, 1, 1, 1 } },
	{ "last byte", 64, 32, { RAW(0, 0, 1, 16, 0), 63 } },
	{ "two runs", 64, 32, { RAW(0, 0, 2, 16, 0), 0, 0, 0, 0, 2 } },
	{ "run of a word", 64, 32, { RAW(0, 0, 1, 16, 0), 0, 0, 7 } },
	{ "bitmap", 64, 32, { RAW(1, 0, 0, 16, 0), 1 } },
	{ "bitmap of 4", 4, 24, { RAW(1, 0, 0, 8, 0), 0x08 } },
	{ "bitmap of 12", 12, 24, { RAW(1, 0, 0, 8, 0), 1, 0x08 } },
	{ "bitmap and data", 16, 24, { RAW(1, 0, 0, 8, 0), 1, 0, 5 } },
};

static void malformed_records_are_refused(void **state)
{
	const struct broken *b;
	u32 idx;
	u8 *rec;
	int ret;

	for (b = broken; b < broken + ARRAY_SIZE(broken); b++) {
		rec = unit_copy(b->rec, b->len);
		idx = 1234;
		ret = dsm_diff_check(rec, b->len, b->page_bytes, &idx);
		unit_require(ret == -EPROTO, "%s: %d", b->name, ret);
		unit_require(idx == 1234, "%s", b->name);
		free(rec);
	}
	for (b = whole; b < whole + ARRAY_SIZE(whole); b++) {
		rec = unit_copy(b->rec, b->len);
		ret = dsm_diff_check(rec, b->len, b->page_bytes, &idx);
		unit_require(ret == (int)b->len && idx == 9, "%s: %d", b->name, ret);
		free(rec);
	}
}

static void every_truncation_is_refused(void **state)
{
	static const u32 sizes[] = { 4, 12, 64, 4096 };
	struct unit_random r = unit_random_init(7);
	u32 i, d, idx, cut;
	struct pair p;
	u8 *part;
	int len;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (d = 0; d < ARRAY_SIZE(densities); d++) {
			p = pair_new(sizes[i]);
			pair_equal(&p, &r);
			pair_mutate(&p, &r, densities[d], 8);
			len = pair_make(&p, false);
			for (cut = 0; (int)cut < len; cut++) {
				part = unit_copy(p.rec, cut);
				assert_int_equal(dsm_diff_check(part, cut, p.bytes, &idx), -EPROTO);
				free(part);
			}
			/* What follows a record is another one's. */
			part = unit_alloc(len + 5);
			memcpy(part, p.rec, len);
			memset(part + len, 0xff, 5);
			assert_int_equal(dsm_diff_check(part, len + 5, p.bytes, &idx), len);
			free(part);
			pair_free(&p);
		}
	}
}

/*
 * Check a damaged record in a block of its exact size; if it passes, apply it to a
 * page of exact size. ASan ends the program at the first byte out of bounds.
 */
static bool survives(const u8 *rec, u32 len, u32 page_bytes)
{
	u8 *copy = unit_copy(rec, len), *page = calloc(1, page_bytes);
	u32 idx;
	int ret = dsm_diff_check(copy, len, page_bytes, &idx);

	assert_non_null(page);
	unit_require(ret == -EPROTO || (ret >= (int)HEAD && ret <= (int)len && ret % 8 == 0),
		     "%d of %u", ret, len);
	if (ret > 0)
		dsm_diff_apply(copy, page, page_bytes);
	free(page);
	free(copy);
	return ret > 0;
}

static void damaged_records_are_refused_or_stay_in_bounds(void **state)
{
	static const u32 sizes[] = { 4, 8, 12, 16, 64, 100, 256, 1024, 4096 };
	struct unit_random r = unit_random_init(8);
	u32 round, flips, at, span, passed = 0, refused = 0;
	struct pair p;
	int len;

	for (round = 0; round < 60000; round++) {
		p = pair_new(sizes[unit_random_below(&r, ARRAY_SIZE(sizes))]);
		pair_equal(&p, &r);
		pair_mutate(&p, &r, densities[unit_random_below(&r, ARRAY_SIZE(densities))], 8);
		len = pair_make(&p, false);
		/* Half of the damage goes to the header and the first of the table. */
		span = round % 2 ? min_t(u32, len, 40) : (u32)len;
		for (flips = 1 + unit_random_below(&r, 4); flips; flips--) {
			at = unit_random_below(&r, span);
			if (unit_random_below(&r, 2))
				p.rec[at] ^= 1u << unit_random_below(&r, 8);
			else
				p.rec[at] = (u8)unit_random_next(&r);
		}
		if (unit_random_below(&r, 8) == 0)
			len = unit_random_below(&r, len + 1);
		if (survives(p.rec, len, p.bytes))
			passed++;
		else
			refused++;
		pair_free(&p);
	}
	/* Neither side of the rule was tried too seldom to mean anything. */
	assert_true(passed > 5000 && refused > 5000);
}

static void noise_is_refused_or_stays_in_bounds(void **state)
{
	struct unit_random r = unit_random_init(9);
	struct dsm_wire_record h;
	u32 round, len;
	u8 rec[96];

	for (round = 0; round < 100000; round++) {
		unit_random_fill(&r, rec, sizeof(rec));
		len = unit_random_below(&r, sizeof(rec) + 1);
		/* Past the first hurdles, or noise is refused for its header alone. */
		h = head_of(rec);
		h.enc &= 3;
		h.grain_log2 = 0;
		h.base_seq = 0;
		h.nruns = cpu_to_le16(h.enc ? 0 : unit_random_below(&r, 12));
		h.bytes = cpu_to_le32(8 * unit_random_below(&r, 12));
		memcpy(rec, &h, sizeof(h));
		survives(rec, len, 4 * (1 + unit_random_below(&r, 24)));
	}
}

/* protocol.md 3.3, byte by byte. */
static void coarse_grain_takes_whole_words_and_no_others(void **state)
{
	static const u32 sizes[] = { 4, 12, 64, 100, 4096 };
	u8 page[4096], twin[4096], out[4096], rec[DSM_DIFF_RECORD_MAX(4096)];
	struct unit_random r = unit_random_init(5);
	u32 n, i, k, idx, grain;
	int len;

	for (n = 0; n < 3000; n++) {
		u32 bytes = sizes[n % ARRAY_SIZE(sizes)], log2 = 2 + n / 7 % 2;
		bool refresh = n & 1;

		grain = 1u << log2;
		for (i = 0; i < bytes; i++)
			page[i] = twin[i] = out[i] = unit_random_next(&r);
		for (k = unit_random_below(&r, 9); k; k--)
			page[unit_random_below(&r, bytes)] ^= 1 + unit_random_below(&r, 255);
		/* What only the receiver has. */
		for (i = 0; i < bytes; i++)
			out[i] = ~page[i];
		len = dsm_diff_make_grain(page, twin, bytes, 3, log2, false, rec, sizeof(rec));
		assert_true(len >= 0);
		if (len) {
			assert_int_equal(dsm_diff_check(rec, len, bytes, &idx), len);
			dsm_diff_apply(rec, out, bytes);
		}
		for (i = 0; i < bytes; i++) {
			u32 from = i & -grain, end = min(from + grain, bytes);

			assert_int_equal(out[i] == page[i], !!memcmp(page + from, twin + from, end - from));
		}
		if (refresh && len) {
			assert_int_equal(dsm_diff_make_grain(page, twin, bytes, 3, log2, true, rec, sizeof(rec)), len);
			assert_memory_equal(page, twin, bytes);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(diff_of_equal_pages_is_empty),
		cmocka_unit_test(diff_of_known_changes_is_this_record),
		cmocka_unit_test(full_and_zero_only_if_every_byte_changed),
		cmocka_unit_test(applied_diff_stores_exactly_the_changed_bytes),
		cmocka_unit_test(record_is_never_longer_than_the_maximum),
		cmocka_unit_test(too_short_a_buffer_is_refused_and_nothing_changes),
		cmocka_unit_test(refresh_leaves_nothing_to_send),
		cmocka_unit_test(alignment_of_buffers_does_not_matter),
		cmocka_unit_test(page_sizes_out_of_range_are_refused),
		cmocka_unit_test(coarse_grain_takes_whole_words_and_no_others),
		cmocka_unit_test(malformed_records_are_refused),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(damaged_records_are_refused_or_stay_in_bounds),
		cmocka_unit_test(noise_is_refused_or_stays_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
