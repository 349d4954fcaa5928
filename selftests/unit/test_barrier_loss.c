// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/barrier.c: what the loss of a node does to an episode under way, to the next, and to the first.
 * The key of these tests is managed by A.
 */
#include "unit.h"
#include "barrier_world.h"

static void loss_of_a_member_that_arrived_fails_the_others(void **state)
{
	struct dsm_waiter one, two;

	arrive(A, 3, &one);
	arrive(B, 3, &(struct dsm_waiter){});
	world_run();
	world_lose(B);
	world_run();
	require_status(one, -EHOSTDOWN);
	/* It will never be complete: the door is shut for the same number. */
	arrive(C, 3, &two);
	world_run();
	require_status(two, -EHOSTDOWN);
	/* With another number the survivors, who have heard of it, go on. */
	told = 1 << B;
	arrive(A, 2, &one);
	arrive(C, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
}

static void loss_of_a_member_of_last_time_fails_the_others(void **state)
{
	struct dsm_waiter one, two, three;

	arrive(A, 3, &one);
	arrive(B, 3, &two);
	arrive(C, 3, &three);
	world_run();
	require_status(three, 0);
	arrive(A, 3, &one);
	world_run();
	world_lose(B);
	world_run();
	require_status(one, -EHOSTDOWN);
	arrive(C, 3, &three);
	world_run();
	require_status(three, -EHOSTDOWN);
}

/* An episode of two nodes comes and goes. */
static void meet(u16 a, u16 b)
{
	struct dsm_waiter one, two;

	arrive(a, 2, &one);
	arrive(b, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
}

static void loss_between_two_episodes_is_noticed_at_the_door(void **state)
{
	struct dsm_waiter one;

	meet(A, B);
	world_lose(B);
	arrive(A, 2, &one);
	world_run();
	require_status(one, -EHOSTDOWN);
}

/* Its number says nothing: the newcomer that has it is no party of last time. */
static void reg_number_of_a_lost_party_is_given_to_another(void **state)
{
	struct dsm_waiter one;

	meet(A, B);
	world_lose(B);
	dsm_engine_peer_up(world_engine(A), B);
	arrive(A, 2, &one);
	world_run();
	require_status(one, -EHOSTDOWN);
}

/* Nobody there could come any more, so as many others are another lot; who is lost after that shuts the door as ever. */
static void reg_party_of_last_time_says_goodbye(void **state)
{
	struct dsm_waiter one;

	meet(A, B);
	dsm_engine_peer_left(world_engine(A), B);
	dsm_engine_peer_left(world_engine(C), B);
	world_lose(B);
	world_run();
	meet(A, C);
	world_lose(C);
	arrive(A, 2, &one);
	world_run();
	require_status(one, -EHOSTDOWN);
}

static void loss_of_a_stranger_fails_nobody(void **state)
{
	struct dsm_waiter one, two;

	arrive(A, 2, &one);
	arrive(B, 2, &two);
	world_run();
	arrive(A, 2, &one);
	world_run();
	world_lose(C);
	world_run();
	assert_false(one.done);
	arrive(B, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
}

static void loss_of_who_may_be_a_party_fails_the_first_episode(void **state)
{
	struct dsm_waiter one, two, three;

	arrive(A, 3, &one);
	arrive(B, 3, &two);
	world_run();
	world_lose(C);
	world_run();
	require_status(one, -EHOSTDOWN);
	require_status(two, -EHOSTDOWN);
	/* It need not have been one: who has heard of the loss may try again with as many. */
	told = 1 << C;
	arrive(A, 3, &one);
	arrive(B, 3, &two);
	world_run();
	assert_false(one.done);
	arrive(B, 3, &three);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
	require_status(three, 0);
}

/* Who waits has heard of a loss; the number is another node's then, which is lost before it came. */
static void reg_party_with_the_number_of_a_lost_user_is_lost_too(void **state)
{
	struct dsm_waiter one, two;
	u16 n;

	world_lose(C);
	told = 1 << C;
	arrive(A, 3, &one);
	arrive(B, 3, &two);
	world_run();
	for (n = A; n <= B; n++)
		world_newcomer(n, C);
	assert_false(one.done || two.done);
	for (n = A; n <= B; n++)
		world_learn_loss(n, C);
	world_run();
	require_status(one, -EHOSTDOWN);
	require_status(two, -EHOSTDOWN);
}

static void loss_before_the_first_arrival_is_told_at_the_door(void **state)
{
	struct dsm_waiter one, two;
	u16 n;

	world_lose(C);
	for (n = A; n <= B; n++) {
		arrive(n, 2, &one);
		world_run();
		require_status(one, -EHOSTDOWN);
	}
	assert_int_equal(at_manager()->seen, 0);
	told = 1 << C;
	arrive(A, 2, &one);
	world_run();
	assert_false(one.done);
	/* Who has not heard of it is told; it does not count, and harms nobody. */
	told = 0;
	arrive(B, 2, &two);
	world_run();
	require_status(two, -EHOSTDOWN);
	assert_false(one.done);
	told = 1 << C;
	arrive(B, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
	/* From now on there is a last time to compare with. */
	told = 0;
	arrive(A, 2, &one);
	arrive(B, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
}

static void loss_that_all_present_have_heard_of_fails_nobody(void **state)
{
	struct dsm_waiter one, two, late;

	/* B noticed the loss of C before the manager did. */
	world_crash(C);
	world_learn_loss(B, C);
	told = 1 << C;
	arrive(B, 2, &one);
	world_run();
	world_learn_loss(A, C);
	world_run();
	assert_false(one.done);
	arrive(A, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
	/* One that has not suffices. */
	arrive(B, 3, &one);
	told = 0;
	w.hold_run = true;
	arrive(A, 3, &late);
	w.hold_run = false;
	world_run();
	require_status(late, -EHOSTDOWN);
	assert_false(one.done);
}

static void loss_of_a_node_that_never_used_the_region_fails_nobody(void **state)
{
	struct dsm_waiter one, two;
	u32 left;

	for (left = 0; left < 2; left++) {
		start3(state);
		if (!left)
			world_stranger(C);
		arrive(A, 2, &one);
		world_run();
		if (left) {
			dsm_engine_peer_left(world_engine(A), C);
			dsm_engine_peer_left(world_engine(B), C);
		}
		world_lose(C);
		world_run();
		assert_false(one.done);
		arrive(B, 2, &two);
		world_run();
		require_status(one, 0);
		require_status(two, 0);
		world_stop();
	}
}

static void loss_of_the_manager_fails_all(void **state)
{
	struct dsm_waiter one, two, three;

	arrive(B, 3, &one);
	arrive(C, 3, &two);
	world_run();
	world_lose(A);
	world_run();
	require_status(one, -EHOSTDOWN);
	require_status(two, -EHOSTDOWN);
	assert_int_equal(arrive_at(B, K, 3, &three), -EHOSTDOWN);
	assert_true(hlist_unhashed(&three.by_xid));
}

static void loss_while_departures_are_left_over(void **state)
{
	enum { MANY = 2100 };
	struct dsm_waiter *waiter = unit_alloc(MANY * sizeof(*waiter));
	u32 i;

	for (i = 0; i < MANY; i++) {
		arrive(B, MANY + 1, &waiter[i]);
		world_run();
	}
	w.hold_run = true;
	arrive(A, MANY + 1, &(struct dsm_waiter){});
	assert_false(list_empty(&world_engine(A)->ready));
	world_lose(B);
	w.hold_run = false;
	world_run();
	assert_true(list_empty(&world_engine(A)->ready));
	assert_int_equal(w.n_fly, 0);
	free(waiter);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start3, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(loss_of_a_member_that_arrived_fails_the_others),
		T(loss_of_a_member_of_last_time_fails_the_others),
		T(loss_between_two_episodes_is_noticed_at_the_door),
		T(reg_number_of_a_lost_party_is_given_to_another),
		T(reg_party_of_last_time_says_goodbye),
		T(loss_of_a_stranger_fails_nobody),
		T(loss_of_who_may_be_a_party_fails_the_first_episode),
		T(reg_party_with_the_number_of_a_lost_user_is_lost_too),
		T(loss_before_the_first_arrival_is_told_at_the_door),
		T(loss_that_all_present_have_heard_of_fails_nobody),
		cmocka_unit_test(loss_of_a_node_that_never_used_the_region_fails_nobody),
		T(loss_of_the_manager_fails_all),
		T(loss_while_departures_are_left_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
