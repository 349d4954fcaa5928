// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/admit.c: from whom a member takes which control request.
 */
#include "unit.h"
#include "admit.h"

#define SELF 4
#define NODES(...) nodes((const u8[]){ __VA_ARGS__, 99 })

static u64 nodes(const u8 *list)
{
	u64 map = 0;

	for (; *list != 99; list++)
		map |= 1ull << *list;
	return map;
}

static const u8 decided[] = {
	DSM_CONTROL_JOIN_BEGIN, DSM_CONTROL_JOIN_END, DSM_CONTROL_CREATE, DSM_CONTROL_DESTROY, DSM_CONTROL_ACTIVATE,
};
static const u8 applied[] = {
	DSM_CONTROL_APPLY_CREATE, DSM_CONTROL_APPLY_MEMBERS, DSM_CONTROL_PREPARE_DESTROY, DSM_CONTROL_APPLY_DESTROY,
	DSM_CONTROL_CANCEL_DESTROY, DSM_CONTROL_MEMBERS,
};

static int admit(u8 op, u16 from, u64 joined, u16 inviter)
{
	return dsm_control_admit(op, joined ? joined : 1, from, SELF, joined, inviter);
}

static void every_request_is_decided_or_applied_or_only_asks(void **state)
{
	u8 op, i;

	for (op = 1; op < DSM_CONTROL_OP_END; op++) {
		const bool asks = op == DSM_CONTROL_REGION_GET || op == DSM_CONTROL_HOMES ||
				  op == DSM_CONTROL_TOUCH || op == DSM_CONTROL_CLAIM ||
				  op == DSM_CONTROL_FORGET;
		u32 found = asks;

		for (i = 0; i < ARRAY_SIZE(decided); i++)
			found += decided[i] == op;
		assert_int_equal(dsm_control_decides(op), found && !asks);
		/* What waits for a joiner must not be what the joiner does. */
		assert_int_equal(dsm_control_about_regions(op), dsm_control_decides(op) &&
				 op != DSM_CONTROL_JOIN_BEGIN && op != DSM_CONTROL_JOIN_END);
		for (i = 0; i < ARRAY_SIZE(applied); i++)
			found += applied[i] == op;
		unit_require(found == 1, "operation %u is in %u lists", op, found);
	}
}

static void decisions_are_asked_of_the_coordinator_only(void **state)
{
	u8 i;

	for (i = 0; i < ARRAY_SIZE(decided); i++) {
		/* We are, whoever asks; we are not; nobody is yet. */
		assert_int_equal(admit(decided[i], 9, NODES(SELF, 9, 63), DSM_NO_NODE), 0);
		assert_int_equal(admit(decided[i], SELF, NODES(SELF, 9), DSM_NO_NODE), 0);
		assert_int_equal(admit(decided[i], 9, NODES(3, SELF, 9), DSM_NO_NODE), -EAGAIN);
		assert_int_equal(admit(decided[i], 9, 0, 9), -EAGAIN);
	}
}

static void orders_are_taken_from_the_coordinator_only(void **state)
{
	u16 from;
	u8 i;

	for (i = 0; i < ARRAY_SIZE(applied); i++)
		for (from = 0; from < DSM_MAX_NODES; from++) {
			bool ours = from == SELF;

			assert_int_equal(admit(applied[i], from, NODES(2, SELF, 9), 9), from == 2 || ours ? 0 : -EAGAIN);
			assert_int_equal(admit(applied[i], from, NODES(63), 0), from == 63 || ours ? 0 : -EAGAIN);
			/* While joining: from who lets us in, then from nobody. */
			assert_int_equal(admit(applied[i], from, 0, 7), from == 7 || ours ? 0 : -EAGAIN);
			assert_int_equal(admit(applied[i], from, 0, DSM_NO_NODE), ours ? 0 : -EAGAIN);
		}
}

/* However many questions a coordinator's users have under way. */
static void reg_decisions_are_taken_beyond_the_limit(void **state)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(applied); i++)
		assert_true(dsm_control_limit(applied[i], NODES(2)) > DSM_CONTROL_PER_NODE);
	assert_int_equal(dsm_control_limit(DSM_CONTROL_MEMBERS, 0), DSM_CONTROL_PER_NODE);
	assert_int_equal(dsm_control_limit(DSM_CONTROL_CLAIM, 0), DSM_CONTROL_PER_NODE);
	assert_int_equal(dsm_control_limit(DSM_CONTROL_CREATE, 0), DSM_CONTROL_PER_NODE);
}

static void questions_are_answered_to_anyone(void **state)
{
	u16 from;

	for (from = 0; from < DSM_MAX_NODES; from++) {
		assert_int_equal(admit(DSM_CONTROL_REGION_GET, from, NODES(2, SELF), DSM_NO_NODE), 0);
		assert_int_equal(dsm_control_admit(DSM_CONTROL_MEMBERS, 0, from, SELF, NODES(2, SELF), DSM_NO_NODE), 0);
		assert_int_equal(dsm_control_admit(DSM_CONTROL_MEMBERS, 0, from, SELF, 0, DSM_NO_NODE), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_is_decided_or_applied_or_only_asks),
		cmocka_unit_test(decisions_are_asked_of_the_coordinator_only),
		cmocka_unit_test(orders_are_taken_from_the_coordinator_only),
		cmocka_unit_test(reg_decisions_are_taken_beyond_the_limit),
		cmocka_unit_test(questions_are_answered_to_anyone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
