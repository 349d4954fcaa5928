// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/diff.c for merges, and with a sibling that stores meanwhile.
 */
#include "diff_pairs.h"

static u32 model_merge(u8 *frame, u8 *twin, const u8 *in, u32 bytes)
{
	u32 conflicts = 0, b;

	for (b = 0; b < bytes; b++) {
		if (in[b] == twin[b])
			continue;
		if (frame[b] != twin[b])
			conflicts++;
		else
			frame[b] = in[b];
		twin[b] = in[b];
	}
	return conflicts;
}

static void merge_takes_their_bytes_and_keeps_ours(void **state)
{
	struct unit_random r = unit_random_init(10);
	u8 *frame, *twin, *want_frame, *want_twin;
	u32 bytes, i, d, round, both = 0;
	struct pair ours, theirs;

	for_each_size(bytes, i) {
		for (d = 0; d < ARRAY_SIZE(densities); d++) {
			for (round = 0; round < 6; round++) {
				ours = pair_new(bytes);
				theirs = pair_new(bytes);
				pair_equal(&ours, &r);
				memcpy(theirs.page, ours.twin, bytes);
				memcpy(theirs.twin, ours.twin, bytes);
				pair_mutate(&ours, &r, densities[unit_random_below(&r, 9)], 12);
				pair_mutate(&theirs, &r, densities[d], 1 + 12 * (round % 2));
				frame = unit_copy(ours.page, bytes);
				twin = unit_copy(ours.twin, bytes);
				want_frame = unit_copy(ours.page, bytes);
				want_twin = unit_copy(ours.twin, bytes);
				both += model_merge(want_frame, want_twin, theirs.page, bytes);
				assert_int_equal(dsm_diff_merge(frame, twin, theirs.page, bytes),
						 model_merge(ours.page, ours.twin, theirs.page, bytes));
				assert_memory_equal(frame, want_frame, bytes);
				assert_memory_equal(twin, want_twin, bytes);
				assert_memory_equal(twin, theirs.page, bytes);
				free(frame);
				free(twin);
				free(want_frame);
				free(want_twin);
				pair_free(&ours);
				pair_free(&theirs);
			}
		}
	}
	assert_true(both);
}

/* Litmus L14. */
static void value_written_back_after_a_merge_is_a_change(void **state)
{
	u8 frame[64] = { [5] = 1 }, twin[64] = { [5] = 1 }, in[64] = { [5] = 2 };
	u8 rec[DSM_DIFF_RECORD_MAX(64)];

	assert_int_equal(dsm_diff_merge(frame, twin, in, 64), 0);
	assert_int_equal(frame[5], 2);
	frame[5] = 1;
	assert_true(dsm_diff_make(frame, twin, 64, 0, false, rec, sizeof(rec)) > 0);
	dsm_diff_apply(rec, in, 64);
	assert_int_equal(in[5], 1);
}

static void byte_written_on_both_sides_counts_as_a_conflict(void **state)
{
	u8 frame[16] = { 7, 8, 9 }, twin[16] = { 1, 1, 1 }, in[16] = { 5, 8, 1, 4 };

	/* Byte 0 got different values, byte 1 the same, byte 2 is ours, byte 3 theirs. */
	assert_int_equal(dsm_diff_merge(frame, twin, in, 16), 2);
	assert_int_equal(frame[0], 7);
	assert_int_equal(frame[1], 8);
	assert_int_equal(frame[2], 9);
	assert_int_equal(frame[3], 4);
	assert_memory_equal(twin, in, 16);
}

/*
 * ASan can forbid the tail of each word. So if every word of a page has changes at
 * its front only, it tells about any load or store of what did not change, even one
 * that puts back the same value.
 */
static void change_fronts(struct pair *p, struct unit_random *r, u32 words_of_8)
{
	u32 off, n;

	pair_equal(p, r);
	for (off = 0; off < p->bytes; off += 8) {
		if (unit_random_below(r, 8) >= words_of_8)
			continue;
		for (n = unit_random_below(r, 10); n; n--)
			if (n <= 8 && off + n <= p->bytes)
				p->page[off + n - 1] ^= 1 + unit_random_below(r, 255);
	}
}

static void forbid_unchanged(u8 *target, const struct pair *p, bool forbid)
{
	u32 off, n;

	for (off = 0; off < p->bytes; off += 8) {
		for (n = 0; n < 8 && off + n < p->bytes; n++)
			if (p->page[off + n] == p->twin[off + n])
				break;
		if (forbid)
			__asan_poison_memory_region(target + off + n, 8 - n);
		else
			__asan_unpoison_memory_region(target + off + n, 8 - n);
	}
}

static void unchanged_bytes_are_not_touched(void **state)
{
	static const u32 sizes[] = { 8, 16, 64, 256, 1024, 4096 };
	struct unit_random r = unit_random_init(14);
	u32 i, round, enc, seen[4] = {};
	struct pair p;
	u8 *target, *twin;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (round = 0; round < 200; round++) {
			p = pair_new(sizes[i]);
			change_fronts(&p, &r, round % 9);
			target = unit_copy(p.twin, p.bytes);
			if (pair_make(&p, false)) {
				enc = head_of(p.rec).enc;
				seen[enc]++;
				forbid_unchanged(target, &p, true);
				dsm_diff_apply(p.rec, target, p.bytes);
				forbid_unchanged(target, &p, false);
				assert_memory_equal(target, p.page, p.bytes);
				memcpy(target, p.twin, p.bytes);
			}
			twin = unit_copy(p.twin, p.bytes);
			forbid_unchanged(target, &p, true);
			dsm_diff_merge(target, twin, p.page, p.bytes);
			forbid_unchanged(target, &p, false);
			assert_memory_equal(target, p.page, p.bytes);
			free(twin);
			free(target);
			pair_free(&p);
		}
	}
	assert_true(seen[DSM_DIFF_RUNS] && seen[DSM_DIFF_BITMAP]);
}

#define LIVE_BYTES 256u

/**
 * struct sibling - a thread that stores to its bytes of a live page
 * @page:  the page; bytes with @mine set are its own, the others the test's
 * @mine:  per byte
 * @stop:  set by the test; no bool, because gcc's UBSan checks a bool by a load that is not volatile
 * @lost:  stores that it did not find again
 * @turns: passes over the page
 */
struct sibling {
	u8 page[LIVE_BYTES] __attribute__((__aligned__(64)));
	bool mine[LIVE_BYTES];
	u32 stop;
	u64 lost;
	u64 turns;
};

static void *sibling_run(void *arg)
{
	struct sibling *s = arg;
	u8 last[LIVE_BYTES];
	u32 i;

	for (i = 0; i < LIVE_BYTES; i++)
		last[i] = READ_ONCE(s->page[i]);
	while (!READ_ONCE(s->stop)) {
		for (i = 0; i < LIVE_BYTES; i++) {
			if (!s->mine[i])
				continue;
			if (READ_ONCE(s->page[i]) != last[i])
				s->lost++;
			/* Back to the twin's value every second time, where a merge may store. */
			last[i] ^= 1;
			WRITE_ONCE(s->page[i], last[i]);
		}
		WRITE_ONCE(s->turns, s->turns + 1);
	}
	return NULL;
}

/* Give the sibling one of @dense bytes in the one half of the page and few in the other. */
static void sibling_start(struct sibling *s, struct unit_random *r, u32 dense, pthread_t *thread)
{
	u32 i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < LIVE_BYTES; i++)
		s->mine[i] = unit_random_below(r, i < LIVE_BYTES / 2 ? dense : 24) == 0;
	assert_int_equal(pthread_create(thread, NULL, sibling_run, s), 0);
	while (!READ_ONCE(s->turns))
		;
}

static void sibling_end(struct sibling *s, pthread_t thread)
{
	WRITE_ONCE(s->stop, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	unit_require(!s->lost, "%llu stores of %llu turns", s->lost, s->turns);
}

/* Rounds until the sibling has run beside us for a while, bounded for a busy machine. */
static bool goes_on(struct sibling *s, u32 round)
{
	return round < 60000 || (READ_ONCE(s->turns) < 1000 && round < 20000000);
}

static void apply_never_undoes_a_siblings_store(void **state)
{
	u8 rec[DSM_DIFF_RECORD_MAX(LIVE_BYTES)], from[LIVE_BYTES], to[LIVE_BYTES];
	struct unit_random r = unit_random_init(11);
	static struct sibling s;
	pthread_t thread;
	u32 round, i;
	int len;

	sibling_start(&s, &r, 2, &thread);
	memset(from, 0, sizeof(from));
	for (round = 0; goes_on(&s, round); round++) {
		memcpy(to, from, sizeof(to));
		for (i = 0; i < LIVE_BYTES; i++)
			if (!s.mine[i] && (round % 2 || i % 3))
				to[i] += 1 + unit_random_below(&r, 255);
		len = dsm_diff_make(to, from, LIVE_BYTES, 0, false, rec, sizeof(rec));
		assert_true(len > 0);
		dsm_diff_apply(rec, s.page, LIVE_BYTES);
		memcpy(from, to, sizeof(from));
	}
	sibling_end(&s, thread);
	for (i = 0; i < LIVE_BYTES; i++)
		assert_true(s.mine[i] || s.page[i] == to[i]);
}

static void merge_never_undoes_a_siblings_store(void **state)
{
	u8 home[LIVE_BYTES] = {}, twin[LIVE_BYTES] = {};
	struct unit_random r = unit_random_init(12);
	static struct sibling s;
	pthread_t thread;
	u32 round, i;

	sibling_start(&s, &r, 2, &thread);
	for (round = 0; goes_on(&s, round); round++) {
		for (i = 0; i < LIVE_BYTES; i++)
			if (!s.mine[i])
				home[i] += 1 + unit_random_below(&r, 255);
		assert_int_equal(dsm_diff_merge(s.page, twin, home, LIVE_BYTES), 0);
		assert_memory_equal(twin, home, LIVE_BYTES);
	}
	sibling_end(&s, thread);
	for (i = 0; i < LIVE_BYTES; i++)
		assert_true(s.mine[i] || s.page[i] == home[i]);
}

/* Flush-update: whatever a sibling does meanwhile, twin and home agree after each diff. */
static void record_and_refreshed_twin_have_one_value(void **state)
{
	u8 rec[DSM_DIFF_RECORD_MAX(LIVE_BYTES)], twin[LIVE_BYTES] = {}, home[LIVE_BYTES] = {};
	struct unit_random r = unit_random_init(13);
	static struct sibling s;
	u32 round, idx, made = 0;
	pthread_t thread;
	int len;

	sibling_start(&s, &r, 1, &thread);
	for (round = 0; goes_on(&s, round); round++) {
		len = dsm_diff_make(s.page, twin, LIVE_BYTES, 0, true, rec, sizeof(rec));
		assert_true(len >= 0);
		if (!len)
			continue;
		made++;
		assert_int_equal(dsm_diff_check(rec, len, LIVE_BYTES, &idx), len);
		dsm_diff_apply(rec, home, LIVE_BYTES);
		assert_memory_equal(home, twin, LIVE_BYTES);
	}
	sibling_end(&s, thread);
	len = dsm_diff_make(s.page, twin, LIVE_BYTES, 0, true, rec, sizeof(rec));
	if (len)
		dsm_diff_apply(rec, home, LIVE_BYTES);
	assert_memory_equal(home, s.page, LIVE_BYTES);
	assert_true(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merge_takes_their_bytes_and_keeps_ours),
		cmocka_unit_test(value_written_back_after_a_merge_is_a_change),
		cmocka_unit_test(byte_written_on_both_sides_counts_as_a_conflict),
		cmocka_unit_test(unchanged_bytes_are_not_touched),
		cmocka_unit_test(apply_never_undoes_a_siblings_store),
		cmocka_unit_test(merge_never_undoes_a_siblings_store),
		cmocka_unit_test(record_and_refreshed_twin_have_one_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
