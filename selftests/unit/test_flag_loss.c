// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/flag.c when a node is lost: whose wait ends, and how often.
 */
#include "unit.h"
#include "flag_world.h"

static void wait_that_begins_after_the_loss_fails_unless_the_flag_is_set(void **state)
{
	u16 n;

	world_lose(C);
	for (n = A; n <= B; n++) {
		assert_int_equal(flag(n, DSM_FLAG_WAIT), -EHOSTDOWN);
		assert_false(exists());
		assert_int_equal(flag(n, DSM_FLAG_SET), 0);
		assert_int_equal(flag(n, DSM_FLAG_WAIT), 0);
		assert_int_equal(flag(n, DSM_FLAG_CLEAR), 0);
	}
}

static void loss_that_the_waiter_has_heard_of_does_not_end_its_wait(void **state)
{
	struct dsm_waiter old, wait;

	begin(B, DSM_FLAG_WAIT, &old);
	world_crash(C);
	world_learn_loss(B, C);		/* before the manager */
	told = 1 << C;
	begin(B, DSM_FLAG_WAIT, &wait);
	world_run();
	assert_false(old.done);
	world_learn_loss(A, C);
	world_run();
	assert_true(old.done);
	assert_int_equal(old.status, -EHOSTDOWN);
	assert_false(wait.done);
	assert_int_equal(flag(A, DSM_FLAG_SET), 0);
	assert_true(wait.done);
	assert_int_equal(wait.status, 0);
}

static void loss_of_a_node_that_never_used_the_region_ends_no_wait(void **state)
{
	struct dsm_waiter wait, late;
	u32 left;

	for (left = 0; left < 2; left++) {
		start3(state);
		if (!left)
			world_stranger(C);
		begin(B, DSM_FLAG_WAIT, &wait);
		world_run();
		if (left)
			dsm_engine_peer_left(world_engine(A), C);
		world_lose(C);
		begin(A, DSM_FLAG_WAIT, &late);
		world_run();
		assert_false(wait.done || late.done);
		assert_int_equal(flag(A, DSM_FLAG_SET), 0);
		assert_true(wait.done && late.done);
		assert_int_equal(wait.status, 0);
		world_stop();
	}
}

/* Flags of one chain, of which each goes as soon as it was told. */
static void reg_flag_that_goes_meanwhile_hides_none_from_a_loss(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct hlist_head *chain = dsm_key_bucket(e, e->flags, WORLD_REGION, K);
	u32 bucket = chain - e->flags, n = 0, loss;
	struct dsm_waiter wait[3];
	u64 key = K;

	for (; n < 3; key++) {
		if (dsm_key_bucket(e, e->flags, WORLD_REGION, key) != chain ||
		    dsm_manager(&w.node[A].space, DSM_MSG_FLAG_OP, key) != A)
			continue;
		K = key;
		begin(B, DSM_FLAG_WAIT, &wait[n++]);
		world_run();
	}
	dsm_engine_peer_lost(e, C, world_begin(A));
	world_end(A);
	loss = ++e->losses;
	assert_true(dsm_engine_lose_key(e, C, loss, bucket, world_begin(A)));
	world_end(A);
	/* The chain's first is told, and another step frees it. */
	world_run();
	assert_true(wait[2].done);
	assert_true(dsm_engine_lose_key(e, C, loss, bucket, world_begin(A)));
	world_end(A);
	world_run();
	assert_true(dsm_engine_lose_key(e, C, loss, bucket, world_begin(A)));
	world_end(A);
	world_run();
	assert_false(dsm_engine_lose_key(e, C, loss, bucket, world_begin(A)));
	world_end(A);
	for (n = 0; n < 3; n++) {
		assert_true(wait[n].done);
		assert_int_equal(wait[n].status, -EHOSTDOWN);
	}
}

static void newcomer_with_the_id_of_a_lost_user_is_another(void **state)
{
	struct dsm_waiter wait;

	world_lose(C);
	assert_int_equal(flag(B, DSM_FLAG_WAIT), -EHOSTDOWN);
	dsm_engine_peer_up(world_engine(A), C);
	assert_int_equal(dsm_space_lost(world_engine(A), WORLD_REGION), 0);
	assert_int_equal(dsm_space_lost(world_engine(A), WORLD_REGION + 1), 0);
	begin(B, DSM_FLAG_WAIT, &wait);
	world_run();
	assert_false(wait.done);
}

/* C is lost and comes back; B waits for a flag, and again. @first: B learns of the loss before the manager. */
static void setter_comes_back(bool first, struct dsm_waiter *wait, struct dsm_waiter *late)
{
	u16 n;

	world_crash(C);
	world_learn_loss(B, C);
	if (!first)
		world_learn_loss(A, C);
	told = 1 << C;
	begin(B, DSM_FLAG_WAIT, wait);
	world_run();
	if (first)
		world_learn_loss(A, C);
	world_run();
	for (n = A; n <= B; n++)
		world_newcomer(n, C);
	begin(B, DSM_FLAG_WAIT, late);
	world_run();
	assert_false(wait->done || late->done);
}

/* Who waits has heard of the loss before, its manager before or after the wait came; not of the one after it. */
static void reg_setter_with_the_id_of_a_lost_user_is_lost_too(void **state)
{
	struct dsm_waiter wait, late;
	u16 n, first;

	for (first = 0; first < 2; first++) {
		start3(state);
		setter_comes_back(first, &wait, &late);
		for (n = A; n <= B; n++)
			world_learn_loss(n, C);
		world_run();
		assert_true(wait.done && late.done);
		assert_int_equal(wait.status, -EHOSTDOWN);
		assert_int_equal(late.status, -EHOSTDOWN);
		world_stop();
	}
}

/* Its number is another node's at the manager already, and at the node that waits not yet. */
static void reg_wait_of_who_is_behind_with_a_newcomer(void **state)
{
	struct dsm_waiter wait;

	world_lose(C);
	world_newcomer(A, C);
	told = 1 << C;
	begin(B, DSM_FLAG_WAIT, &wait);
	world_run();
	assert_false(wait.done);
	world_newcomer(B, C);
	world_learn_loss(A, C);
	world_run();
	assert_true(wait.done);
	assert_int_equal(wait.status, -EHOSTDOWN);
}

/* Of the loss that its flag was told of just before it came, others being told still; and then the number is another's. */
static void reg_wait_that_comes_when_its_key_was_told(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_waiter wait;
	u32 loss;
	u16 n;

	begin(B, DSM_FLAG_WAIT, &(struct dsm_waiter){});
	world_crash(C);
	world_learn_loss(B, C);
	dsm_engine_peer_lost(e, C, world_begin(A));
	world_end(A);
	loss = ++e->losses;
	world_lose_keys(A, C, loss, 0, DSM_KEY_BUCKETS - 1);
	told = 1 << C;
	begin(B, DSM_FLAG_WAIT, &wait);
	world_run();
	world_lose_keys(A, C, loss, DSM_KEY_BUCKETS - 1, DSM_KEY_BUCKETS);
	assert_false(wait.done);
	for (n = A; n <= B; n++)
		world_newcomer(n, C);
	for (n = A; n <= B; n++)
		world_learn_loss(n, C);
	world_run();
	assert_true(wait.done);
	assert_int_equal(wait.status, -EHOSTDOWN);
}

/* The manager's keys are told of a loss one after the other: a wait that comes meanwhile has heard of it as well. */
static void reg_wait_that_comes_while_its_key_is_about_to_be_told(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_waiter wait;

	world_crash(C);
	world_learn_loss(B, C);
	dsm_engine_peer_lost(e, C, world_begin(A));
	world_end(A);
	told = 1 << C;
	begin(B, DSM_FLAG_WAIT, &wait);
	world_run();
	world_lose_keys(A, C, ++e->losses, 0, DSM_KEY_BUCKETS);
	world_run();
	assert_false(wait.done);
}

static void loss_of_a_waiter_is_forgotten_and_of_a_setter_changes_nothing(void **state)
{
	struct dsm_waiter wait, mine;

	begin(C, DSM_FLAG_WAIT, &wait);
	world_run();
	world_lose(C);
	told = 1 << C;
	begin(A, DSM_FLAG_WAIT, &mine);
	world_run();
	assert_false(mine.done);
	assert_int_equal(flag(B, DSM_FLAG_SET), 0);
	assert_true(mine.done);
	world_lose(B);
	assert_int_equal(flag(A, DSM_FLAG_TEST), 0);
	assert_int_equal(flag(A, DSM_FLAG_CLEAR), 0);
	assert_false(exists());
}

#define T(name) cmocka_unit_test_setup_teardown(name, start3, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(wait_that_begins_after_the_loss_fails_unless_the_flag_is_set),
		T(loss_that_the_waiter_has_heard_of_does_not_end_its_wait),
		cmocka_unit_test(loss_of_a_node_that_never_used_the_region_ends_no_wait),
		T(reg_flag_that_goes_meanwhile_hides_none_from_a_loss),
		T(newcomer_with_the_id_of_a_lost_user_is_another),
		cmocka_unit_test(reg_setter_with_the_id_of_a_lost_user_is_lost_too),
		T(reg_wait_of_who_is_behind_with_a_newcomer),
		T(reg_wait_that_comes_when_its_key_was_told),
		T(reg_wait_that_comes_while_its_key_is_about_to_be_told),
		T(loss_of_a_waiter_is_forgotten_and_of_a_setter_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
