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

/* ---- only who waits knows of the loss: a token that is sent to it is never seen again ---- */

/* B has the token, and hands it on as soon as somebody is next. */
static void b_has_it_and_c_has_lost_b(void)
{
	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	world_learn_loss(C, B);
}

static void token_is_still_at_b(void)
{
	assert_int_equal(world_lock_state(B, K), DSM_LOCK_CACHED);
	assert_int_equal(world_lock(A, K, 10), 0);
	world_unlock(A, K, 10);
	/* From there C can have it. */
	assert_int_equal(world_lock(C, K, 30), 0);
}

static void reg_token_is_not_sent_to_one_that_has_lost_its_holder(void **state)
{
	b_has_it_and_c_has_lost_b();
	assert_int_equal(world_lock(C, K, 30), -EHOSTDOWN);
	token_is_still_at_b();
}

static void reg_try_of_one_that_has_lost_the_holder_finds_it_busy(void **state)
{
	b_has_it_and_c_has_lost_b();
	assert_int_equal(world_try(C, K, 30), -EBUSY);
	assert_int_equal(world_count(DSM_MSG_LOCK_TRY_PASS), 0);
	token_is_still_at_b();
}

/* What C says of the loss overtakes its request, which was sent before. */
static void request_overtaken(bool try)
{
	struct dsm_waiter c;

	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	w.held[try ? DSM_MSG_LOCK_TRY : DSM_MSG_LOCK_REQ] = true;
	world_lock_begin(C, K, &c, 30, try);
	world_learn_loss(C, B);
	world_run();
	assert_false(c.done);
	memset(w.held, 0, sizeof(w.held));
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, try ? -EBUSY : -EHOSTDOWN);
	token_is_still_at_b();
}

static void reg_word_of_a_loss_that_overtakes_the_request_is_remembered(void **state)
{
	request_overtaken(false);
}

static void reg_word_of_a_loss_that_overtakes_the_try_is_remembered(void **state)
{
	request_overtaken(true);
}

/* It is not its turn to be put behind B when it asks. */
static void who_has_lost_whom_is_remembered_with_a_request_that_waits(void **state)
{
	struct dsm_waiter a, c;

	world_lock(B, K, 20);
	world_learn_loss(C, B);
	w.held[DSM_MSG_LOCK_TRY_PASS] = true;
	world_lock_begin(A, K, &a, 10, true);
	world_run();
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	assert_false(c.done);
	memset(w.held, 0, sizeof(w.held));
	world_run();
	assert_int_equal(a.status, -EBUSY);
	assert_int_equal(c.status, -EHOSTDOWN);
	world_unlock(B, K, 20);
	token_is_still_at_b();
}

/* The node that C has lost is dead and was only waiting: nobody is refused for it. */
static void who_comes_behind_a_dead_node_has_its_turn(void **state)
{
	struct dsm_waiter b, c;

	world_lock(A, K, 10);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_crash(B);
	world_learn_loss(C, B);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	assert_false(c.done);
	world_learn_loss(A, B);
	world_run();
	assert_false(c.done);
	world_unlock(A, K, 10);
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
}

/* B's request is under way while a token goes on to A that came for an older one: B is not waiting then. */
static void reg_loss_while_a_token_goes_on_is_told(void **state)
{
	struct dsm_waiter b, c, d;

	start_with(4);
	world_lock(A, K, 10);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	world_lock_begin(3, K, &d, 40, false);
	world_run();
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_unlock(A, K, 10);
	world_run();
	w.held[DSM_MSG_LOCK_REQ] = true;
	w.held[DSM_MSG_LOCK_STATE] = true;
	world_lose(3);
	world_run();
	w.hold_run = true;
	world_deliver(DSM_MSG_LOCK_GRANT);
	assert_int_equal(world_lock_state(B, K), DSM_LOCK_GRANTING);
	world_learn_loss(B, C);
	w.hold_run = false;
	world_run();
	world_deliver(DSM_MSG_LOCK_GRANT);
	world_run();
	deliver_request_of(C);
	deliver_request_of(B);
	memset(w.held, 0, sizeof(w.held));
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
	world_unlock(C, K, 30);
	world_run();
	assert_true(b.done);
	assert_int_equal(b.status, -EHOSTDOWN);
	world_stop();
}

/* Who has its number later is another. */
static void who_has_lost_whom_is_forgotten_when_one_comes_back(void **state)
{
	request_overtaken(false);
	assert_int_equal(world_engine(A)->apart[C], 1u << B);
	dsm_engine_peer_up(world_engine(A), B);
	assert_int_equal(world_engine(A)->apart[C], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(reg_token_is_not_sent_to_one_that_has_lost_its_holder),
		T(reg_try_of_one_that_has_lost_the_holder_finds_it_busy),
		T(reg_word_of_a_loss_that_overtakes_the_request_is_remembered),
		T(reg_word_of_a_loss_that_overtakes_the_try_is_remembered),
		T(who_has_lost_whom_is_remembered_with_a_request_that_waits),
		T(who_comes_behind_a_dead_node_has_its_turn),
		cmocka_unit_test(reg_loss_while_a_token_goes_on_is_told),
		T(who_has_lost_whom_is_forgotten_when_one_comes_back),
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
