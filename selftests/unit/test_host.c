// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of the host shim (selftests/host): where it differed from the kernel,
 * tests of the core would prove nothing about the module.
 */
#include "unit.h"

struct item {
	u32 value;
	struct list_head link;
	struct hlist_node hash;
};

#define ITEMS 8u

/* The list holds exactly these values, read in both directions. */
static void require_list(struct list_head *head, const u32 *want, u32 n)
{
	struct item *pos;
	u32 i = 0;

	list_for_each_entry(pos, head, link) {
		assert_true(i < n);
		assert_int_equal(pos->value, want[i++]);
	}
	assert_int_equal(i, n);
	list_for_each_entry_reverse(pos, head, link)
		assert_int_equal(pos->value, want[--i]);
	assert_int_equal(i, 0);
	assert_int_equal(list_empty(head), n == 0);
	assert_int_equal(list_is_singular(head), n == 1);
	if (n) {
		assert_int_equal(list_first_entry(head, struct item, link)->value, want[0]);
		assert_int_equal(list_last_entry(head, struct item, link)->value, want[n - 1]);
	} else {
		assert_null(list_first_entry_or_null(head, struct item, link));
	}
}

static void lists_keep_their_order(void **state)
{
	struct item items[ITEMS], *pos, *n;
	LIST_HEAD(a);
	LIST_HEAD(b);
	u32 i;

	require_list(&a, NULL, 0);
	for (i = 0; i < ITEMS; i++) {
		items[i].value = i;
		if (i % 2)
			list_add(&items[i].link, &a);
		else
			list_add_tail(&items[i].link, &b);
	}
	require_list(&a, (u32[]){ 7, 5, 3, 1 }, 4);
	require_list(&b, (u32[]){ 0, 2, 4, 6 }, 4);

	list_move(&items[4].link, &a);
	list_move_tail(&items[7].link, &a);
	require_list(&a, (u32[]){ 4, 5, 3, 1, 7 }, 5);
	list_splice_tail_init(&a, &b);
	require_list(&a, NULL, 0);
	require_list(&b, (u32[]){ 0, 2, 6, 4, 5, 3, 1, 7 }, 8);
	list_splice_tail_init(&a, &b);
	require_list(&b, (u32[]){ 0, 2, 6, 4, 5, 3, 1, 7 }, 8);

	list_for_each_entry_safe(pos, n, &b, link)
		if (pos->value < 4)
			list_del(&pos->link);
	require_list(&b, (u32[]){ 6, 4, 5, 7 }, 4);
	list_del_init(&items[5].link);
	assert_true(list_empty(&items[5].link));
	list_add(&items[5].link, &a);
	list_splice_init(&a, &b);
	require_list(&a, NULL, 0);
	require_list(&b, (u32[]){ 5, 6, 4, 7 }, 4);

	i = 0;
	pos = &items[4];
	list_for_each_entry_from(pos, &b, link)
		i = i * 10 + pos->value;
	assert_int_equal(i, 47);
	i = 0;
	pos = &items[6];
	list_for_each_entry_continue(pos, &b, link)
		i = i * 10 + pos->value;
	assert_int_equal(i, 47);
}

static u32 chain(struct hlist_head *head)
{
	struct item *pos;
	u32 digits = 0;

	hlist_for_each_entry(pos, head, hash)
		digits = digits * 10 + pos->value;
	return digits;
}

static void hash_chains_lose_only_what_is_deleted(void **state)
{
	struct hlist_head head = HLIST_HEAD_INIT;
	struct item items[ITEMS], *pos;
	struct hlist_node *n;
	u32 i;

	assert_true(hlist_empty(&head));
	for (i = 1; i < ITEMS; i++) {
		items[i].value = i;
		INIT_HLIST_NODE(&items[i].hash);
		assert_true(hlist_unhashed(&items[i].hash));
		hlist_add_head(&items[i].hash, &head);
		assert_false(hlist_unhashed(&items[i].hash));
	}
	assert_int_equal(chain(&head), 7654321);
	hlist_del(&items[7].hash);
	hlist_del_init(&items[4].hash);
	hlist_del_init(&items[4].hash);
	assert_true(hlist_unhashed(&items[4].hash));
	hlist_del(&items[1].hash);
	assert_int_equal(chain(&head), 6532);
	hlist_for_each_entry_safe(pos, n, &head, hash)
		if (pos->value % 2)
			hlist_del(&pos->hash);
	assert_int_equal(chain(&head), 62);
	hlist_for_each_entry_safe(pos, n, &head, hash)
		hlist_del(&pos->hash);
	assert_true(hlist_empty(&head));
}

static void bits_are_counted_from_the_lowest(void **state)
{
	u32 i;

	for (i = 0; i < 64; i++) {
		assert_int_equal(__ffs64(~0ULL << i), i);
		assert_int_equal(fls64(BIT_ULL(i) | 1), i + 1);
		assert_int_equal(hweight64(~0ULL >> i), 64 - i);
	}
	assert_int_equal(fls64(0), 0);
	assert_int_equal(hweight8(0x1ff), 8);
}

static void wire_integers_are_little_endian(void **state)
{
	__le64 v64 = cpu_to_le64(0x0807060504030201ULL);
	__le32 v32 = cpu_to_le32(0x04030201);
	__le16 v16 = cpu_to_le16(0x0201);
	u8 want[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

	assert_memory_equal(&v64, want, 8);
	assert_memory_equal(&v32, want, 4);
	assert_memory_equal(&v16, want, 2);
	assert_true(le64_to_cpu(v64) == 0x0807060504030201ULL);
	assert_int_equal(le32_to_cpu(v32), 0x04030201);
	assert_int_equal(le16_to_cpu(v16), 0x0201);
}

static void alignment_rounds_up_to_powers_of_two(void **state)
{
	assert_int_equal(ALIGN(0u, 8), 0);
	assert_int_equal(ALIGN(1u, 8), 8);
	assert_int_equal(ALIGN(8u, 8), 8);
	assert_int_equal(ALIGN(9u, 8), 16);
	assert_true(IS_ALIGNED(16u, 8));
	assert_false(IS_ALIGNED(12u, 8));
}

static void hashes_stay_below_their_size(void **state)
{
	struct unit_random r = unit_random_init(20);
	u32 bits, i, hit[16] = {};

	for (bits = 1; bits <= 20; bits++)
		for (i = 0; i < 1000; i++) {
			assert_true(hash_64(unit_random_next(&r), bits) < BIT(bits));
			assert_true(hash_32((u32)unit_random_next(&r), bits) < BIT(bits));
		}
	/* Neighbouring keys do not crowd into one bucket. */
	for (i = 0; i < 1600; i++)
		hit[hash_64(i, 4)]++;
	for (i = 0; i < 16; i++)
		assert_in_range(hit[i], 50, 200);
}

static const char *broken_cond;

static void note_broken(const char *cond, const char *file, int line)
{
	broken_cond = cond;
}

static void broken_assertion_is_reported(void **state)
{
	dsm_host_assert_handler = note_broken;
	dsm_assert(1 + 1 == 2);
	assert_null(broken_cond);
	dsm_assert(1 + 1 == 3);
	assert_string_equal(broken_cond, "1 + 1 == 3");
	dsm_host_assert_handler = NULL;
}

static void *counted_frame;

static void count_frame(void *frame)
{
	counted_frame = frame;
}

static void frame_references_can_be_counted(void **state)
{
	u8 frame[4];

	dsm_env_frame_get(frame);
	assert_null(counted_frame);
	dsm_host_frame_get = count_frame;
	dsm_env_frame_get(frame);
	assert_ptr_equal(counted_frame, frame);
	assert_ptr_equal(dsm_env_bytes(frame), frame);
	dsm_host_frame_get = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_keep_their_order),
		cmocka_unit_test(hash_chains_lose_only_what_is_deleted),
		cmocka_unit_test(bits_are_counted_from_the_lowest),
		cmocka_unit_test(wire_integers_are_little_endian),
		cmocka_unit_test(alignment_rounds_up_to_powers_of_two),
		cmocka_unit_test(hashes_stay_below_their_size),
		cmocka_unit_test(broken_assertion_is_reported),
		cmocka_unit_test(frame_references_can_be_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
