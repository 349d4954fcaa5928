// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/tree.c: its three functions name the same tree, and everybody is in it once.
 */
#include "unit.h"
#include "tree.h"

#define ROOT 7

static void check_shape(u64 nodes, u32 fanout)
{
	const struct dsm_tree t = { nodes, fanout };
	u32 below[DSM_MAX_NODES + 1] = {}, children[DSM_MAX_NODES] = {};
	u16 node, up;
	u64 above;

	for (node = 0; node < DSM_MAX_NODES; node++) {
		if (!(nodes & 1ull << node)) {
			assert_int_equal(dsm_tree_parent(&t, node, ROOT), ROOT);
			assert_int_equal(dsm_tree_above(&t, node), 0);
			assert_int_equal(dsm_tree_below(&t, node), 0);
			continue;
		}
		above = 0;
		for (up = dsm_tree_parent(&t, node, ROOT); up != ROOT; up = dsm_tree_parent(&t, up, ROOT)) {
			/* Only to nodes with lower numbers: no circle. */
			assert_true(nodes & 1ull << up && up < node && !(above & 1ull << up));
			above |= 1ull << up;
			below[up]++;
		}
		assert_true(dsm_tree_above(&t, node) == above);
		children[dsm_tree_parent(&t, node, ROOT)]++;
	}
	for (node = 0; node < DSM_MAX_NODES; node++) {
		assert_int_equal(dsm_tree_below(&t, node), nodes & 1ull << node ? below[node] : 0);
		assert_true(children[node] <= fanout);
	}
}

static void everybody_reports_to_the_root_once(void **state)
{
	static const u64 sets[] = { 0, 1, 1ull << 63, 0x60, 0x8000000000000001, 0x5555555555555555, ~0ull };
	u32 fanout, i;

	for (fanout = 1; fanout <= DSM_MAX_NODES; fanout++)
		for (i = 0; i < ARRAY_SIZE(sets); i++)
			check_shape(sets[i] & ~(1ull << ROOT), fanout);
	/* What another node says may be anything. */
	check_shape(~(1ull << ROOT), U16_MAX);
}

static void shapes_are_as_drawn(void **state)
{
	/* 0 and 2 below the root; 3 and 5 below 0, 6 and 9 below 2, 10 below 3. */
	const struct dsm_tree t = { 0x66d, 2 };

	assert_int_equal(dsm_tree_parent(&t, 0, ROOT), ROOT);
	assert_int_equal(dsm_tree_parent(&t, 2, ROOT), ROOT);
	assert_int_equal(dsm_tree_parent(&t, 5, ROOT), 0);
	assert_int_equal(dsm_tree_parent(&t, 9, ROOT), 2);
	assert_int_equal(dsm_tree_parent(&t, 10, ROOT), 3);
	assert_int_equal(dsm_tree_above(&t, 10), 1 << 0 | 1 << 3);
	assert_int_equal(dsm_tree_below(&t, 0), 3);
	assert_int_equal(dsm_tree_below(&t, 2), 2);
	assert_int_equal(dsm_tree_parent(&t, DSM_NO_NODE, ROOT), ROOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_reports_to_the_root_once),
		cmocka_unit_test(shapes_are_as_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
