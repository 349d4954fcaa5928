// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/lock.c and lock_manager.c: where the token is, who gets it next, and what a loss does to it.
 * The key of these tests is managed by A.
 */
#include "lock_world.h"

/* ---- one node ---- */

static void manager_takes_an_idle_lock_without_a_message(void **state)
{
	assert_int_equal(world_lock(A, K, 10), 0);
	assert_int_equal(world_lock_state(A, K), DSM_LOCK_HELD);
	assert_int_equal(world_unlock(A, K, 10), 0);
	assert_int_equal(w.n_fly, 0);
	/* An idle key costs nothing. */
	assert_int_equal(world_lock_state(A, K), -1);
	assert_int_equal(world_engine(A)->n_locks, 0);
}

static void holder_thread_asking_again_is_told_deadlock(void **state)
{
	struct dsm_waiter waiter;
	u16 n;

	for (n = A; n <= C; n++) {
		assert_int_equal(world_lock(n, K, 10), 0);
		assert_int_equal(world_lock_begin(n, K, &waiter, 10, false), -EDEADLK);
		assert_int_equal(world_lock_begin(n, K, &waiter, 10, true), -EDEADLK);
		/* Another thread of the process waits. */
		assert_int_equal(world_lock_begin(n, K, &waiter, 11, false), -EINPROGRESS);
		assert_true(cancel(n, &waiter));
		assert_int_equal(world_unlock(n, K, 10), 0);
		world_run();
	}
}

static void only_the_holding_process_unlocks(void **state)
{
	struct dsm_lock_owner other_file = { .file = 2, .tgid = 1, .tid = 10 };

	assert_int_equal(world_unlock(A, K, 10), -EPERM);
	assert_int_equal(world_lock(A, K, 10), 0);
	assert_int_equal(world_unlock(A, K, 20), -EPERM);
	assert_int_equal(world_unlock(B, K, 10), -EPERM);
	assert_int_equal(dsm_lock_release(world_engine(A), &w.node[A].space, K, &other_file, world_begin(A)), -EPERM);
	world_end(A);
	assert_int_equal(world_unlock(A, K, 15), 0);	/* any thread of it */
	assert_int_equal(world_unlock(A, K, 10), -EPERM);
}

static void local_waiters_get_it_in_order(void **state)
{
	struct dsm_waiter waiter[5];
	u32 i;

	assert_int_equal(world_lock(B, K, 20), 0);
	for (i = 0; i < 5; i++)
		assert_int_equal(world_lock_begin(B, K, &waiter[i], 21 + i, false), -EINPROGRESS);
	for (i = 0; i < 5; i++) {
		assert_false(waiter[i].done);
		assert_int_equal(world_unlock(B, K, 20 + i), 0);
		assert_true(waiter[i].done);
		assert_int_equal(waiter[i].status, 0);
	}
	assert_int_equal(w.n_fly, 0);
}

/* ---- between nodes ---- */

static void peers_get_tokens_of_only_so_many_keys(void **state)
{
	u64 more = world_key(DSM_MSG_LOCK_REQ, A, 1);

	world_engine(A)->lock_max = 1;
	assert_int_equal(world_lock(B, K, 20), 0);
	assert_int_equal(world_lock(C, more, 30), -EDQUOT);
	assert_int_equal(world_lock_state(C, more), -1);
	assert_int_equal(world_lock_state(A, more), -1);
	/* Its own, and those that it knows already. */
	assert_int_equal(world_lock(A, more, 10), 0);
	assert_int_equal(world_unlock(A, more, 10), 0);
	assert_int_equal(world_unlock(B, K, 20), 0);
	assert_int_equal(world_lock(C, K, 30), 0);
}

static void token_stays_where_it_was_used_last(void **state)
{
	assert_int_equal(world_lock(C, K, 30), 0);
	assert_int_equal(world_unlock(C, K, 30), 0);
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_CACHED);
	assert_int_equal(world_engine(C)->n_cached, 1);
	w.held[DSM_MSG_LOCK_REQ] = true;
	assert_int_equal(world_lock(C, K, 31), 0);
	assert_int_equal(world_engine(C)->n_cached, 0);
	assert_int_equal(world_engine(C)->stats.locks_local, 1);
	assert_int_equal(world_engine(C)->stats.locks_remote, 1);
}

static void token_travels_directly_to_the_next_in_the_queue(void **state)
{
	struct dsm_waiter b, a;

	assert_int_equal(world_lock(C, K, 30), 0);
	assert_int_equal(world_lock_begin(B, K, &b, 20, false), -EINPROGRESS);
	world_run();
	assert_int_equal(world_lock_begin(A, K, &a, 10, false), -EINPROGRESS);
	world_run();
	assert_int_equal(lock_at(C)->next, B);
	assert_int_equal(lock_at(B)->next, A);
	world_unlock(C, K, 30);
	world_run();
	assert_true(b.done);
	assert_false(a.done);
	assert_int_equal(world_lock_state(C, K), -1);
	world_unlock(B, K, 20);
	world_run();
	assert_true(a.done);
	world_unlock(A, K, 10);
	assert_int_equal(world_lock_state(A, K), -1);
}

static void token_leaves_only_after_the_release_is_done(void **state)
{
	struct dsm_waiter c;

	assert_int_equal(world_lock(B, K, 20), 0);
	world_store(B, 0, 0, 1);
	w.held[DSM_MSG_DIFF_ACK] = true;
	world_unlock(B, K, 20);
	assert_int_equal(world_engine(B)->rel_seq, 0);	/* lazily: nobody wants it yet */
	assert_int_equal(world_lock_begin(C, K, &c, 30, false), -EINPROGRESS);
	world_run();
	assert_int_equal(world_lock_state(B, K), DSM_LOCK_GRANTING);
	assert_int_equal(world_count(DSM_MSG_LOCK_GRANT), 0);
	assert_false(c.done);
	world_deliver(DSM_MSG_DIFF_ACK);
	world_run();
	assert_true(c.done);
	world_acquire(C);
	assert_int_equal(world_load(C, 0, 0), 1);
}

static void counter_under_a_lock_loses_nothing(void **state)
{
	struct unit_random r = unit_random_init(3);
	u32 i;

	for (i = 0; i < 200; i++) {
		u16 n = unit_random_below(&r, 3);
		u8 v;

		assert_int_equal(world_lock(n, K, 10 * (n + 1)), 0);
		v = world_load(n, 1, 8);
		assert_int_equal(v, (u8)i);
		world_store(n, 1, 8, v + 1);
		assert_int_equal(world_unlock(n, K, 10 * (n + 1)), 0);
	}
}

static void grant_with_more_knowledge_than_fits_waits_for_the_rest(void **state)
{
	struct dsm_waiter c;

	write_much(A);
	world_lock_begin(C, K, &c, 30, false);
	world_deliver(DSM_MSG_LOCK_REQ);
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
	assert_int_equal(world_engine(C)->known[A], 300);
	assert_int_equal(world_engine(C)->stats.inval_all, 0);
}

static void node_runs_at_most_sixteen_hand_overs_while_another_waits(void **state)
{
	struct dsm_waiter waiter[20], c;
	u32 i, got = 0;

	assert_int_equal(world_lock(B, K, 200), 0);
	for (i = 0; i < 20; i++)
		world_lock_begin(B, K, &waiter[i], 201 + i, false);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	for (i = 0; i < 20 && !c.done; i++) {
		assert_int_equal(world_unlock(B, K, 200 + i), 0);
		world_run();
		got += waiter[i].done;
	}
	assert_true(c.done);
	/* The thread that got the token from the other node counts. */
	assert_int_equal(got, DSM_LOCK_LOCAL_RUN - 1);
	/* The rest is asked for anew. */
	assert_int_equal(world_lock_state(B, K), DSM_LOCK_WAITING);
	world_unlock(C, K, 30);
	world_run();
	for (; got < 20; got++) {
		assert_true(waiter[got].done);
		world_unlock(B, K, 201 + got);
	}
	assert_int_equal(world_lock_state(B, K), DSM_LOCK_CACHED);
}

/* ---- cancel ---- */

static void token_without_waiter_stays_cached(void **state)
{
	struct dsm_waiter c;

	world_lock_begin(C, K, &c, 30, false);
	world_deliver(DSM_MSG_LOCK_REQ);
	assert_true(cancel(C, &c));
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_WAITING);
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_CACHED);
	assert_false(c.done);
}

static void token_without_waiter_is_passed_on(void **state)
{
	struct dsm_waiter b, c;

	world_lock(A, K, 10);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	assert_true(cancel(B, &b));
	world_unlock(A, K, 10);
	world_run();
	assert_false(b.done);
	assert_true(c.done);
	assert_int_equal(world_lock_state(B, K), -1);
}

static void cancel_before_the_request_is_answered_leaves_it_to_the_next_thread(void **state)
{
	struct dsm_waiter one, two;

	world_lock_begin(C, K, &one, 30, false);
	assert_true(cancel(C, &one));
	assert_int_equal(world_lock_begin(C, K, &two, 31, false), -EINPROGRESS);
	assert_int_equal(world_count(DSM_MSG_LOCK_REQ), 1);
	world_run();
	assert_true(two.done);
}

static void cancel_in_each_state(void **state)
{
	struct dsm_waiter c, d;

	/* Behind a local holder. */
	world_lock(C, K, 30);
	world_lock_begin(C, K, &d, 31, false);
	assert_true(cancel(C, &d));
	/* Behind a hand-over that waits for its release. */
	world_store(C, 0, 0, 1);
	w.held[DSM_MSG_DIFF_ACK] = true;
	world_lock_begin(B, K, &c, 20, false);
	world_run();
	world_unlock(C, K, 30);
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_GRANTING);
	world_lock_begin(C, K, &d, 31, false);
	assert_true(cancel(C, &d));
	w.held[DSM_MSG_DIFF_ACK] = false;
	world_run();
	assert_true(c.done);
	assert_false(cancel(B, &c));
	assert_int_equal(world_lock_state(C, K), -1);
	world_unlock(B, K, 20);
	world_run();
	/* While the notices are pulled. */
	write_much(B);
	w.held[DSM_MSG_INTERVALS] = true;
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	assert_int_equal(world_count(DSM_MSG_INTERVALS), 1);
	assert_true(dsm_lock_has_token(lock_at(C)));
	assert_true(cancel(C, &c));
	w.held[DSM_MSG_INTERVALS] = false;
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_CACHED);
	/* While the token is on its way home. */
	w.held[DSM_MSG_LOCK_RETURN] = true;
	world_engine(C)->lock_cap = 0;
	world_lock(C, K, 30);
	world_unlock(C, K, 30);
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_RETURNING);
	world_lock_begin(C, K, &c, 31, false);
	assert_true(cancel(C, &c));
	w.held[DSM_MSG_LOCK_RETURN] = false;
	world_run();
	assert_int_equal(world_lock_state(C, K), -1);
	assert_int_equal(world_lock_state(A, K), -1);
}

/* ---- try ---- */

static void try_takes_what_is_free_and_nothing_else(void **state)
{
	struct dsm_waiter b;
	u16 n;

	/* Free, from everywhere to everywhere: the token may be anywhere in the queue's end. */
	for (n = 0; n < 12; n++) {
		assert_int_equal(world_try(n * 2 % 3, K, 10), 0);
		assert_int_equal(world_unlock(n * 2 % 3, K, 10), 0);
	}
	/* Held here, at the manager, at a third node. */
	for (n = 0; n < 9; n++) {
		assert_int_equal(world_lock(n % 3, K, 10), 0);
		assert_int_equal(world_try(n / 3, K, 20), -EBUSY);
		assert_int_equal(world_unlock(n % 3, K, 10), 0);
	}
	/* Another thread of the node waits. */
	world_lock(C, K, 30);
	world_lock_begin(B, K, &b, 20, false);
	assert_int_equal(world_try(B, K, 21), -EBUSY);
	world_run();
	world_unlock(C, K, 30);
	world_run();
	assert_true(b.done);
}

static void try_at_a_node_that_hands_over_is_busy(void **state)
{
	struct dsm_waiter b;

	world_lock(C, K, 30);
	world_store(C, 0, 0, 1);
	w.held[DSM_MSG_DIFF_ACK] = true;
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_unlock(C, K, 30);
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_GRANTING);
	assert_int_equal(world_try(C, K, 30), -EBUSY);
	w.held[DSM_MSG_DIFF_ACK] = false;
	world_run();
}

static void waiter_behind_a_failed_try_asks_anew(void **state)
{
	struct dsm_waiter try, wait;

	world_lock(B, K, 20);
	world_lock_begin(C, K, &try, 30, true);
	assert_int_equal(world_lock_begin(C, K, &wait, 31, false), -EINPROGRESS);
	world_run();
	assert_true(try.done);
	assert_int_equal(try.status, -EBUSY);
	assert_false(wait.done);
	world_unlock(B, K, 20);
	world_run();
	assert_true(wait.done);
	assert_int_equal(wait.status, 0);
}

static void requests_behind_a_try_are_served_after_it(void **state)
{
	struct dsm_waiter b, a, c;
	u32 busy;

	for (busy = 0; busy < 2; busy++) {
		world_lock(C, K, 30);
		if (!busy)
			world_unlock(C, K, 30);
		w.held[DSM_MSG_LOCK_TRY_PASS] = true;
		world_lock_begin(B, K, &b, 20, true);
		world_run();
		assert_true(lock_at(A)->flags & DSM_LOCKF_TRY_OUT);
		world_lock_begin(A, K, &a, 10, false);
		assert_true(list_is_singular(&lock_at(A)->queued));
		w.held[DSM_MSG_LOCK_TRY_PASS] = false;
		world_run();
		assert_true(b.done);
		assert_int_equal(b.status, busy ? -EBUSY : 0);
		assert_false(a.done);
		assert_int_equal(world_unlock(busy ? C : B, K, busy ? 30 : 20), 0);
		world_run();
		assert_true(a.done);
		assert_int_equal(a.status, 0);
		world_unlock(A, K, 10);
		assert_int_equal(world_lock_begin(C, K, &c, 30, false), -EINPROGRESS);
		world_run();
		assert_true(c.done);
		world_unlock(C, K, 30);
	}
}

static void cancelled_try_that_is_granted_is_cached(void **state)
{
	struct dsm_waiter c;

	world_lock_begin(C, K, &c, 30, true);
	assert_true(cancel(C, &c));
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_CACHED);
	world_lock(B, K, 20);
	world_lock_begin(C, K, &c, 30, true);
	assert_true(cancel(C, &c));
	world_run();
	assert_int_equal(world_lock_state(C, K), -1);
}

/* ---- tokens go home ---- */

static void token_used_longest_ago_goes_home_above_the_cap(void **state)
{
	u64 key[4];
	u32 i;

	world_engine(C)->lock_cap = 2;
	for (i = 0; i < 4; i++)
		key[i] = world_key(DSM_MSG_LOCK_REQ, i % 2, i / 2);
	for (i = 0; i < 2; i++) {
		world_lock(C, key[i], 30);
		world_unlock(C, key[i], 30);
	}
	world_lock(C, key[0], 30);	/* used again: key 1 is now the oldest */
	world_unlock(C, key[0], 30);
	world_lock(C, key[2], 30);
	world_unlock(C, key[2], 30);
	world_run();
	assert_int_equal(world_engine(C)->n_cached, 2);
	assert_int_equal(world_lock_state(C, key[0]), DSM_LOCK_CACHED);
	assert_int_equal(world_lock_state(C, key[1]), -1);
	assert_int_equal(world_lock_state(C, key[2]), DSM_LOCK_CACHED);
	assert_int_equal(world_lock_state(B, key[1]), -1);
	assert_int_equal(world_try(B, key[1], 20), 0);
}

/* The order in which the refusal of the return and the pass reach the node does not matter. */
static void return_refused_because_a_pass_is_on_its_way(void **state)
{
	struct dsm_waiter b;
	u32 pass_first, local;

	for (local = 0; local < 2; local++)
		for (pass_first = 0; pass_first < 2; pass_first++) {
			struct dsm_waiter c;

			world_start(3);
			world_lock(C, K, 30);
			w.held[DSM_MSG_LOCK_PASS] = true;
			world_lock_begin(B, K, &b, 20, false);
			world_run();
			world_engine(C)->lock_cap = 0;
			world_unlock(C, K, 30);
			w.held[DSM_MSG_LOCK_RETURN_ACK] = true;
			world_run();
			assert_int_equal(world_lock_state(C, K), DSM_LOCK_RETURNING);
			if (local)
				world_lock_begin(C, K, &c, 31, false);
			world_engine(C)->lock_cap = 9;
			world_deliver(pass_first ? DSM_MSG_LOCK_PASS : DSM_MSG_LOCK_RETURN_ACK);
			w.held[DSM_MSG_LOCK_PASS] = false;
			w.held[DSM_MSG_LOCK_RETURN_ACK] = false;
			world_run();
			if (local) {
				assert_true(c.done);
				world_unlock(C, K, 31);
				world_run();
			}
			assert_true(b.done);
			assert_int_equal(world_lock_state(C, K), -1);
			world_stop();
		}
}

static void local_request_behind_a_return_asks_anew(void **state)
{
	struct dsm_waiter c;

	w.held[DSM_MSG_LOCK_RETURN_ACK] = true;
	world_engine(C)->lock_cap = 0;
	world_lock(C, K, 30);
	world_unlock(C, K, 30);
	world_run();
	assert_int_equal(world_lock_begin(C, K, &c, 31, false), -EINPROGRESS);
	world_engine(C)->lock_cap = 9;
	w.held[DSM_MSG_LOCK_RETURN_ACK] = false;
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
	assert_int_equal(world_engine(C)->stats.locks_remote, 1);
}

static void request_before_the_return_is_sent_keeps_the_token(void **state)
{
	struct dsm_waiter c;

	world_lock(C, K, 30);
	world_store(C, 0, 0, 1);
	world_engine(C)->lock_cap = 0;
	w.held[DSM_MSG_DIFF_ACK] = true;
	world_unlock(C, K, 30);
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_RETURNING);
	assert_int_equal(world_count(DSM_MSG_LOCK_RETURN), 0);
	world_lock_begin(C, K, &c, 31, false);
	w.held[DSM_MSG_DIFF_ACK] = false;
	world_run();
	assert_true(c.done);
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_HELD);
}

static void return_takes_the_notices_along(void **state)
{
	world_lock(C, K, 30);
	world_store(C, 1, 0, 5);
	world_engine(C)->lock_cap = 0;
	world_unlock(C, K, 30);
	world_run();
	assert_int_equal(world_engine(A)->known[C], 1);
}

/* ---- a holder that ends ---- */

static void lock_of_a_dead_holder_says_so_wherever_it_goes(void **state)
{
	struct dsm_waiter local;

	world_lock(C, K, 30);
	world_lock_begin(C, K, &local, 40, false);
	assert_true(owner_gone(C, 1, 3));
	assert_true(local.done);
	assert_int_equal(local.status, -EOWNERDEAD);
	/* Not repaired: the next is told again, at another node and at home. */
	world_unlock(C, K, 40);
	assert_int_equal(world_lock(B, K, 20), -EOWNERDEAD);
	world_engine(B)->lock_cap = 0;
	world_unlock(B, K, 20);
	world_run();
	assert_int_equal(world_lock_state(B, K), -1);
	assert_int_equal(world_lock(A, K, 10), -EOWNERDEAD);
	assert_int_equal(consistent(A, 10), 0);
	assert_int_equal(consistent(A, 10), -EINVAL);
	world_unlock(A, K, 10);
	assert_int_equal(world_lock(C, K, 30), 0);
}

static void only_what_the_dead_process_held_is_given_up(void **state)
{
	u64 other = world_key(DSM_MSG_LOCK_REQ, A, 1);

	world_lock(C, K, 30);
	world_lock(C, other, 40);
	assert_false(owner_gone(C, 1, 5));
	assert_false(owner_gone(C, 2, 3));
	assert_false(dsm_lock_owner_gone(world_engine(C), WORLD_REGION + 1, 1, 3, world_begin(C)));
	world_end(C);
	assert_true(owner_gone(C, 1, 3));
	assert_false(owner_gone(C, 1, 3));
	assert_int_equal(world_lock_state(C, other), DSM_LOCK_HELD);
	/* The file is closed: whoever it was. */
	assert_true(owner_gone(C, 1, 0));
	assert_false(owner_gone(C, 1, 0));
	assert_int_equal(consistent(C, 30), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(manager_takes_an_idle_lock_without_a_message),
		T(holder_thread_asking_again_is_told_deadlock),
		T(only_the_holding_process_unlocks),
		T(local_waiters_get_it_in_order),
		T(peers_get_tokens_of_only_so_many_keys),
		T(token_stays_where_it_was_used_last),
		T(token_travels_directly_to_the_next_in_the_queue),
		T(token_leaves_only_after_the_release_is_done),
		T(counter_under_a_lock_loses_nothing),
		T(grant_with_more_knowledge_than_fits_waits_for_the_rest),
		T(node_runs_at_most_sixteen_hand_overs_while_another_waits),
		T(token_without_waiter_stays_cached),
		T(token_without_waiter_is_passed_on),
		T(cancel_before_the_request_is_answered_leaves_it_to_the_next_thread),
		T(cancel_in_each_state),
		T(try_takes_what_is_free_and_nothing_else),
		T(try_at_a_node_that_hands_over_is_busy),
		T(waiter_behind_a_failed_try_asks_anew),
		T(requests_behind_a_try_are_served_after_it),
		T(cancelled_try_that_is_granted_is_cached),
		T(token_used_longest_ago_goes_home_above_the_cap),
		cmocka_unit_test(return_refused_because_a_pass_is_on_its_way),
		T(local_request_behind_a_return_asks_anew),
		T(request_before_the_return_is_sent_keeps_the_token),
		T(return_takes_the_notices_along),
		T(lock_of_a_dead_holder_says_so_wherever_it_goes),
		T(only_what_the_dead_process_held_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
