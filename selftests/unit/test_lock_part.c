// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/lock_loss.c and core/lock_manager.c when nodes lose each other that the manager reaches: nobody waits behind
 * one that it cannot have the token from.
 */
#include "lock_world.h"

/* The manager reaches both. */
static void part_nodes(u16 one, u16 other)
{
	world_learn_loss(one, other);
	world_learn_loss(other, one);
	world_run();
}

static void start_with(u32 nodes)
{
	world_start(nodes);
	K = world_key(DSM_MSG_LOCK_REQ, A, 0);
}

static void b_holds_c_waits(struct dsm_waiter *c)
{
	world_lock(B, K, 20);
	world_lock_begin(C, K, c, 30, false);
	world_run();
}

/* The token stays on its way. */
static void unlock_held_up(void)
{
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_unlock(B, K, 20);
}

static void reg_who_is_apart_from_the_holder_is_refused(void **state)
{
	struct dsm_waiter a, c;

	b_holds_c_waits(&c);
	part_nodes(B, C);
	assert_true(c.done);
	assert_int_equal(c.status, -EHOSTDOWN);
	/* And whenever it asks while the token is there. */
	assert_int_equal(world_lock(C, K, 30), -EHOSTDOWN);
	assert_int_equal(world_try(C, K, 30), -EBUSY);
	/* Behind the manager, which has it from the one and gives it to the other, it has its turn. */
	world_lock_begin(A, K, &a, 10, false);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	world_unlock(B, K, 20);
	world_run();
	assert_true(a.done);
	assert_int_equal(a.status, 0);
	world_unlock(A, K, 10);
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
	world_unlock(C, K, 30);
	assert_int_equal(world_lock(A, K, 10), 0);
	world_unlock(A, K, 10);
	assert_int_equal(world_lock(B, K, 20), 0);
}

static void reg_who_is_apart_from_a_free_token_is_refused(void **state)
{
	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	part_nodes(B, C);
	assert_int_equal(world_try(C, K, 30), -EBUSY);
	assert_int_equal(world_lock(C, K, 30), -EHOSTDOWN);
	assert_int_equal(world_lock(B, K, 20), 0);
}

static void reg_nodes_in_the_queue_that_are_apart_do_not_wait_for_one_another(void **state)
{
	struct dsm_waiter b, c;

	world_lock(A, K, 10);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	part_nodes(B, C);
	assert_true(c.done);
	assert_int_equal(c.status, -EHOSTDOWN);
	assert_false(b.done);
	world_unlock(A, K, 10);
	world_run();
	assert_true(b.done);
	assert_int_equal(b.status, 0);
}

static void who_waits_behind_one_that_is_apart_has_its_turn(void **state)
{
	struct dsm_waiter c, d;

	start_with(4);
	b_holds_c_waits(&c);
	world_lock_begin(3, K, &d, 40, false);
	world_run();
	part_nodes(B, C);
	assert_true(c.done);
	assert_false(d.done);
	world_unlock(B, K, 20);
	world_run();
	assert_true(d.done);
	assert_int_equal(d.status, 0);
	world_stop();
}

static void reg_token_between_nodes_that_are_apart_is_lost(void **state)
{
	struct dsm_waiter c;

	b_holds_c_waits(&c);
	unlock_held_up();
	world_run();
	part_nodes(B, C);
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, -EHOSTDOWN);
	assert_int_equal(world_lock(B, K, 20), -EHOSTDOWN);
}

/* That has not asked the one that waits, whose word is as good as its request. */
static void reg_token_is_missed_after_an_earlier_probe(void **state)
{
	struct dsm_waiter c, d;

	start_with(4);
	world_lock(B, K, 20);
	world_lock_begin(3, K, &d, 40, false);
	world_run();
	world_lose(3);
	world_run();
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	unlock_held_up();
	world_run();
	part_nodes(B, C);
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, -EHOSTDOWN);
	world_stop();
}

/* B, which has granted the lock to C and asked again, is behind it by now. */
static void reg_token_to_the_first_of_the_queue_is_missed(void **state)
{
	struct dsm_waiter b, c;

	b_holds_c_waits(&c);
	unlock_held_up();
	world_lock_begin(B, K, &b, 21, false);
	world_run();
	assert_int_equal(lock_at(A)->order[0], C);
	part_nodes(B, C);
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_int_equal(c.status, -EHOSTDOWN);
	assert_int_equal(b.status, -EHOSTDOWN);
}

static void loss_of_a_node_outside_the_queue_probes_nothing(void **state)
{
	struct dsm_waiter b, c;

	start_with(4);
	b_holds_c_waits(&c);
	unlock_held_up();
	world_lock_begin(B, K, &b, 21, false);
	world_run();
	part_nodes(C, 3);
	assert_int_equal(lock_at(A)->epoch, 0);
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_int_equal(c.status, 0);
	world_stop();
}

/* Its manager hears of the grant last. */
static void reg_token_that_a_try_got_is_missed(void **state)
{
	struct dsm_waiter c;

	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	w.held[DSM_MSG_LOCK_TRY_DONE] = true;
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_lock_begin(C, K, &c, 30, true);
	world_run();
	part_nodes(B, C);
	memset(w.held, 0, sizeof(w.held));
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, -EHOSTDOWN);
	assert_int_equal(world_lock(A, K, 10), -EHOSTDOWN);
}

/* The probe still waits for a node that is dead when the token is the manager's again, and nobody else in the queue. */
static void reg_loss_of_a_node_that_a_probe_waits_for_ends_it(void **state)
{
	struct dsm_waiter b, c;

	world_lock(A, K, 10);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_unlock(A, K, 10);
	world_run();
	world_learn_loss(B, C);
	w.held[DSM_MSG_LOCK_PROBE] = true;
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	world_crash(C);
	memset(w.held, 0, sizeof(w.held));
	world_deliver(DSM_MSG_LOCK_PROBE);
	world_run();
	assert_false(b.done);
	world_learn_loss(A, C);
	world_run();
	assert_true(b.done);
	assert_int_equal(b.status, 0);
}

/* Of the queue, that is: only the node right behind it waits for it. */
static void loss_of_a_node_further_on_probes_nothing(void **state)
{
	struct dsm_waiter c, d;

	start_with(4);
	b_holds_c_waits(&c);
	world_lock_begin(3, K, &d, 40, false);
	world_run();
	part_nodes(B, 3);
	assert_int_equal(lock_at(A)->epoch, 0);
	world_unlock(B, K, 20);
	world_run();
	assert_int_equal(c.status, 0);
	world_unlock(C, K, 30);
	world_run();
	assert_true(d.done);
	assert_int_equal(d.status, 0);
	world_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(reg_who_is_apart_from_the_holder_is_refused),
		T(reg_who_is_apart_from_a_free_token_is_refused),
		T(reg_nodes_in_the_queue_that_are_apart_do_not_wait_for_one_another),
		cmocka_unit_test(who_waits_behind_one_that_is_apart_has_its_turn),
		T(reg_token_between_nodes_that_are_apart_is_lost),
		cmocka_unit_test(reg_token_is_missed_after_an_earlier_probe),
		T(reg_loss_of_a_node_that_a_probe_waits_for_ends_it),
		cmocka_unit_test(loss_of_a_node_further_on_probes_nothing),
		T(reg_token_to_the_first_of_the_queue_is_missed),
		cmocka_unit_test(loss_of_a_node_outside_the_queue_probes_nothing),
		T(reg_token_that_a_try_got_is_missed),
	};

	return cmocka_run_group_tests_name("lock_part", tests, NULL, NULL);
}
