// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/diff.c while siblings store to the page, with the worst of
 * siblings: one that stores between any two loads, not only when two
 * processors happen to meet. The loads of a live page are READ_ONCE(), so it
 * is called from there.
 */
#include "unit.h"

static void sibling_store(const volatile void *loaded, u32 bytes);

#undef READ_ONCE
#define READ_ONCE(x) ({							\
	__typeof__(x) once = *(const volatile __typeof__(x) *)&(x);	\
									\
	sibling_store(&(x), sizeof(x));					\
	once; })

#include "../../kmod/core/diff.c"

#define LIVE_BYTES 256u

/**
 * struct live - a page that a sibling stores to
 * @page:   contents; bytes whose @ours is set are left alone
 * @ours:   per byte
 * @random: what the sibling does next
 * @one_in: it stores after one in so many loads; 0: never
 * @stores: how often it did
 */
static struct live {
	u8 page[LIVE_BYTES] __attribute__((__aligned__(64)));
	bool ours[LIVE_BYTES];
	struct unit_random random;
	u32 one_in;
	u32 stores;
} live;

static void sibling_store(const volatile void *loaded, u32 bytes)
{
	u32 at;

	if (!live.one_in || unit_random_below(&live.random, live.one_in))
		return;
	/* To what was loaded just now, or anywhere. */
	at = (u32)((const volatile u8 *)loaded - live.page);
	if (unit_random_below(&live.random, 2))
		at += unit_random_below(&live.random, bytes);
	else
		at = unit_random_below(&live.random, LIVE_BYTES);
	assert_true(at < LIVE_BYTES);
	if (live.ours[at])
		return;
	/* Few values, so that it often puts back what the twin has. */
	live.page[at] = unit_random_below(&live.random, 3);
	live.stores++;
}

static void live_init(u64 stream, u32 one_in)
{
	memset(&live, 0, sizeof(live));
	live.random = unit_random_init(stream);
	live.one_in = one_in;
}

static void record_and_refreshed_twin_have_one_value(void **state)
{
	u8 rec[DSM_DIFF_RECORD_MAX(LIVE_BYTES)], twin[LIVE_BYTES] = {}, home[LIVE_BYTES] = {};
	u32 round, idx, i, made = 0, refused = 0;
	int len;

	for (round = 0; round < 20000; round++) {
		if (round % 4000 == 0)
			live_init(100 + round, 1 + round / 4000 * 8);
		if (round % 16 == 0)
			for (i = 0; i < LIVE_BYTES; i++)
				live.page[i] = unit_random_below(&live.random, 3);
		if (round % 64 == 0)
			memset(live.page, 0, LIVE_BYTES);
		if (round % 4000 == 0) {
			memcpy(twin, live.page, LIVE_BYTES);
			memcpy(home, live.page, LIVE_BYTES);
		}
		len = dsm_diff_make(live.page, twin, LIVE_BYTES, 0, true, rec,
				    round % 5 ? sizeof(rec) : 100);
		if (len > 0) {
			made++;
			assert_int_equal(dsm_diff_check(rec, len, LIVE_BYTES, &idx), len);
			dsm_diff_apply(rec, home, LIVE_BYTES);
		} else if (len) {
			refused++;
			assert_int_equal(len, -ENOSPC);
		}
		assert_memory_equal(home, twin, LIVE_BYTES);
	}
	assert_true(made > 1000 && refused > 100 && live.stores > 1000);

	/* What was missed is found as soon as the sibling rests. */
	live.one_in = 0;
	len = dsm_diff_make(live.page, twin, LIVE_BYTES, 0, true, rec, sizeof(rec));
	assert_true(len >= 0);
	if (len)
		dsm_diff_apply(rec, home, LIVE_BYTES);
	assert_memory_equal(home, live.page, LIVE_BYTES);
	assert_memory_equal(twin, live.page, LIVE_BYTES);
}

/* Every byte changes, some of them again between the look at them and the copy. */
static void zero_page_that_changes_meanwhile_is_not_lost(void **state)
{
	u8 rec[DSM_DIFF_RECORD_MAX(LIVE_BYTES)], twin[LIVE_BYTES], home[LIVE_BYTES];
	u32 round, seen[4] = {};
	int len;

	live_init(200, 0);
	for (round = 0; round < 2000; round++) {
		memset(twin, 9, LIVE_BYTES);
		memset(home, 9, LIVE_BYTES);
		memset(live.page, 0, LIVE_BYTES);
		live.one_in = 100;
		len = dsm_diff_make(live.page, twin, LIVE_BYTES, 0, true, rec, sizeof(rec));
		assert_true(len > 0);
		seen[rec[offsetof(struct dsm_wire_record, enc)]]++;
		dsm_diff_apply(rec, home, LIVE_BYTES);
		assert_memory_equal(home, twin, LIVE_BYTES);
		live.one_in = 0;
		len = dsm_diff_make(live.page, twin, LIVE_BYTES, 0, true, rec, sizeof(rec));
		if (len)
			dsm_diff_apply(rec, home, LIVE_BYTES);
		assert_memory_equal(home, live.page, LIVE_BYTES);
	}
	assert_true(seen[DSM_DIFF_FULL] && seen[DSM_DIFF_ZERO]);
}

static void merge_leaves_siblings_bytes_alone(void **state)
{
	u8 twin[LIVE_BYTES] = {}, in[LIVE_BYTES] = {}, want[LIVE_BYTES];
	u32 round, i;

	live_init(300, 2);
	for (i = 0; i < LIVE_BYTES; i++)
		live.ours[i] = i % 64 < 32 || unit_random_below(&live.random, 2);
	for (round = 0; round < 10000; round++) {
		for (i = 0; i < LIVE_BYTES; i++)
			if (live.ours[i] && unit_random_below(&live.random, 8))
				in[i] = (u8)unit_random_next(&live.random);
		assert_int_equal(dsm_diff_merge(live.page, twin, in, LIVE_BYTES), 0);
		assert_memory_equal(twin, in, LIVE_BYTES);
		for (i = 0; i < LIVE_BYTES; i++)
			want[i] = live.ours[i] ? in[i] : live.page[i];
		assert_memory_equal(live.page, want, LIVE_BYTES);
	}
	assert_true(live.stores > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_and_refreshed_twin_have_one_value),
		cmocka_unit_test(zero_page_that_changes_meanwhile_is_not_lost),
		cmocka_unit_test(merge_leaves_siblings_bytes_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
