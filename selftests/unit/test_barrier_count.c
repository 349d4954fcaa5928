// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/barrier.c and barrier_node.c: how many messages an episode takes, who holds arrivals back, who asks.
 * The key of these tests is managed by A.
 */
#include "unit.h"
#include "barrier_world.h"

static void stable_parties_cost_two_messages_a_node(void **state)
{
	u32 i;

	/* The first time each thread is a message. */
	assert_int_equal(episode(2, 3, 2), 5 + 2);
	for (i = 0; i < 20; i++)
		assert_int_equal(episode(2, 3, 2), 2 * (3 - 1));
	/* One node less. */
	assert_true(episode(2, 3, 0) > 2);
	for (i = 0; i < 5; i++)
		assert_int_equal(episode(2, 3, 0), 2);
	/* The manager's node alone, and without the manager's node. */
	episode(3, 0, 0);
	assert_int_equal(episode(3, 0, 0), 0);
	episode(0, 2, 2);
	assert_int_equal(episode(0, 2, 2), 4);
}

static void threads_may_come_from_anywhere_each_time(void **state)
{
	/* As many as before, elsewhere: nobody may wait for a report that does not come. */
	static const u8 spread[][3] = {
		{ 1, 2, 2 }, { 0, 3, 2 }, { 2, 1, 2 }, { 1, 2, 2 }, { 1, 2, 2 }, { 5, 0, 0 }, { 0, 0, 5 }, { 0, 5, 0 },
		{ 0, 4, 1 }, { 0, 4, 1 }, { 0, 1, 4 }, { 1, 1, 3 }, { 1, 1, 3 }, { 2, 2, 1 }, { 3, 2, 0 }, { 2, 0, 3 },
		{ 2, 0, 3 }, { 0, 0, 5 }, { 2, 3, 0 }, { 0, 5, 0 }, { 1, 2, 2 },
	};
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(spread); k++)
		for (i = 0; i < ARRAY_SIZE(spread); i++) {
			const u8 *s = spread[(i * (k + 1)) % ARRAY_SIZE(spread)];

			episode(s[0], s[1], s[2]);
			/* And then with another number. */
			if (!(i % 7))
				episode(s[0] + 1, s[1], s[2]);
		}
}

static void arrival_is_held_until_it_is_as_last_time(void **state)
{
	struct dsm_waiter one, two, other;

	episode(1, 2, 0);
	arrive(B, 3, &one);
	assert_int_equal(w.n_fly, 0);
	arrive(B, 3, &two);
	assert_int_equal(world_count(DSM_MSG_BAR_ARRIVE), 1);
	run_counting();
	assert_int_equal(at_manager()->seen, 2);
	arrive(A, 3, &other);
	run_counting();
	require_status(one, 0);
	require_status(two, 0);
	require_status(other, 0);
}

static void holder_is_asked_when_another_comes_with_more(void **state)
{
	struct dsm_waiter one, a[2];

	episode(1, 2, 0);
	arrive(B, 3, &one);
	arrive(A, 3, &a[0]);
	run_counting();
	assert_int_equal(at_manager()->seen, 1);
	arrive(A, 3, &a[1]);
	assert_int_equal(world_count(DSM_MSG_BAR_ASK), 1);
	assert_int_equal(run_counting(), 3);
	require_status(one, 0);
	require_status(a[0], 0);
	require_status(a[1], 0);
}

static void holder_is_asked_when_a_stranger_comes(void **state)
{
	struct dsm_waiter one, a, c;

	episode(1, 2, 0);
	arrive(B, 3, &one);
	arrive(C, 3, &c);
	arrive(A, 3, &a);
	run_counting();
	require_status(one, 0);
	require_status(a, 0);
	require_status(c, 0);
}

static void question_overtakes_the_departure_before_it(void **state)
{
	struct dsm_waiter b[2], a[3], c;

	episode(1, 2, 0);
	/* The next is over at A, B does not know it yet; A goes on, and comes with more. */
	arrive(B, 3, &b[0]);
	arrive(B, 3, &b[1]);
	arrive(A, 3, &a[0]);
	w.held[DSM_MSG_BAR_DEPART] = true;
	world_run();
	require_status(a[0], 0);
	assert_false(b[0].done);
	arrive(A, 3, &a[1]);
	arrive(A, 3, &a[2]);
	world_run();
	assert_int_equal(world_count(DSM_MSG_BAR_ASK), 0);
	w.held[DSM_MSG_BAR_DEPART] = false;
	world_run();
	require_status(b[0], 0);
	require_status(b[1], 0);
	/* It knows that it may hold nothing back. */
	arrive(B, 3, &c);
	world_run();
	require_status(c, 0);
	require_status(a[1], 0);
	require_status(a[2], 0);
}

static void late_question_for_an_episode_that_is_over(void **state)
{
	struct dsm_waiter b[2], a[2];

	episode(1, 2, 0);
	w.held[DSM_MSG_BAR_ASK] = true;
	arrive(A, 3, &a[0]);
	arrive(A, 3, &a[1]);
	arrive(B, 3, &b[0]);
	world_run();
	assert_false(b[0].done);
	/* The other one comes as well: two of three are enough. */
	arrive(B, 3, &b[1]);
	world_run();
	assert_int_equal(b[0].done + b[1].done, 1);
	require_status(a[0], 0);
	w.held[DSM_MSG_BAR_ASK] = false;
	world_run();
	assert_int_equal(at_manager()->seen, 1);
	arrive(A, 3, &a[0]);
	arrive(A, 3, &a[1]);
	world_run();
	require_status(b[0], 0);
	require_status(b[1], 0);
	require_status(a[0], 0);
	require_status(a[1], 0);
}

static void report_that_is_too_long_goes_on_in_the_next_episode(void **state)
{
	struct dsm_waiter b[3], a[2], more[3];
	u32 i, done = 0;

	episode(1, 3, 0);
	w.held[DSM_MSG_BAR_ASK] = true;
	arrive(A, 4, &a[0]);
	arrive(A, 4, &a[1]);
	for (i = 0; i < 3; i++)
		arrive(B, 4, &b[i]);
	assert_int_equal(world_count(DSM_MSG_BAR_ARRIVE), 1);
	world_run();
	for (i = 0; i < 3; i++)
		done += b[i].done;
	assert_int_equal(done, 2);
	assert_int_equal(at_manager()->seen, 1);
	w.held[DSM_MSG_BAR_ASK] = false;
	for (i = 0; i < 3; i++)
		arrive(C, 4, &more[i]);
	world_run();
	for (i = 0; i < 3; i++) {
		require_status(b[i], 0);
		require_status(more[i], 0);
	}
}

static void other_number_than_last_time_is_not_held(void **state)
{
	struct dsm_waiter one, two, a;

	episode(1, 2, 0);
	arrive(B, 2, &one);
	run_counting();
	assert_int_equal(at_manager()->seen, 1);
	arrive(A, 2, &a);
	run_counting();
	require_status(one, 0);
	require_status(a, 0);
	/* One is held, and another says something else: both are heard of. */
	episode(1, 2, 0);
	episode(1, 2, 0);
	arrive(B, 3, &one);
	arrive(B, 5, &two);
	run_counting();
	assert_int_equal(one.done + two.done, 1);
	if (one.done)
		require_status(one, -EINVAL);
	else
		require_status(two, -EINVAL);
}

static void thread_that_ends_while_held_fails_the_others(void **state)
{
	struct dsm_waiter b[2], a, late;
	u32 k;

	for (k = 0; k < 2; k++) {
		episode(1, 2, 1);
		episode(1, 2, 1);
		arrive(A, 4, &a);
		arrive(B, 4, &b[0]);
		if (k)
			arrive(B, 4, &b[1]);
		assert_true(abort_at(B, &b[0]));
		run_counting();
		require_status(a, -EOWNERDEAD);
		if (k)
			require_status(b[1], -EOWNERDEAD);
		else
			arrive(B, 4, &b[1]);
		arrive(C, 4, &late);
		run_counting();
		require_status(b[1], -EOWNERDEAD);
		require_status(late, -EOWNERDEAD);
		assert_int_equal(at_manager()->seen, 0);
	}
}

static void failed_episode_is_not_held_for(void **state)
{
	struct dsm_waiter b[2], a, held;

	episode(1, 1, 2);
	/* C holds one of two when A's thread ends. */
	arrive(C, 4, &held);
	arrive(A, 4, &a);
	assert_true(abort_at(A, &a));
	run_counting();
	require_status(held, -EOWNERDEAD);
	arrive(B, 4, &b[0]);
	run_counting();
	require_status(b[0], -EOWNERDEAD);
	arrive(C, 4, &held);
	run_counting();
	require_status(held, -EOWNERDEAD);
	assert_int_equal(at_manager()->seen, 0);
	episode(1, 1, 2);
	assert_int_equal(episode(1, 1, 2), 4);
}

static void loss_of_another_lets_go_of_what_is_held(void **state)
{
	struct dsm_waiter one, two, three;

	episode(1, 2, 1);
	arrive(B, 4, &one);
	assert_int_equal(w.n_fly, 0);
	world_lose(C);
	world_run();
	require_status(one, -EHOSTDOWN);
	told = 1 << C;
	arrive(B, 3, &one);
	arrive(B, 3, &two);
	arrive(A, 3, &three);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
	require_status(three, 0);
}

static void reg_loss_before_the_departure_that_allows_to_hold(void **state)
{
	struct dsm_waiter a, b[2], c;

	episode(1, 2, 1);
	arrive(A, 4, &a);
	arrive(B, 4, &b[0]);
	arrive(B, 4, &b[1]);
	arrive(C, 4, &c);
	w.held[DSM_MSG_BAR_DEPART] = true;
	world_run();
	require_status(a, 0);
	/* C is lost after the episode, and B hears of the loss first. */
	world_crash(C);
	world_learn_loss(B, C);
	w.held[DSM_MSG_BAR_DEPART] = false;
	world_run();
	require_status(b[0], 0);
	arrive(B, 4, &b[0]);
	world_run();
	world_learn_loss(A, C);
	world_run();
	require_status(b[0], -EHOSTDOWN);
}

static void loss_of_the_manager_wakes_what_is_held(void **state)
{
	struct dsm_waiter one, two;

	episode(1, 2, 1);
	arrive(B, 4, &one);
	world_lose(A);
	world_run();
	require_status(one, -EHOSTDOWN);
	assert_int_equal(arrive_at(B, K, 4, &two), -EHOSTDOWN);
}

static void callers_told_of_different_losses_are_not_held_together(void **state)
{
	struct dsm_waiter b[2], a;

	episode(1, 2, 0);
	world_lose(C);
	episode(1, 2, 0);
	arrive(B, 3, &b[0]);
	assert_int_equal(world_count(DSM_MSG_BAR_ARRIVE), 0);
	told = 1 << C;
	arrive(B, 3, &b[1]);
	assert_int_equal(world_count(DSM_MSG_BAR_ARRIVE), 2);
	arrive(A, 3, &a);
	run_counting();
	require_status(b[0], 0);
	require_status(b[1], 0);
	require_status(a, 0);
}

static void manager_that_forgot_asks_first(void **state)
{
	struct dsm_waiter one, a[2];
	u32 i;

	episode(1, 2, 0);
	for (i = 1; i <= DSM_BARRIER_IDLE_MAX; i++) {
		assert_int_equal(arrive_at(A, world_key(DSM_MSG_BAR_ARRIVE, A, 0) + 1000 * i, 1, &one), 0);
		world_run();
	}
	while (at_manager()) {
		i++;
		assert_int_equal(arrive_at(A, world_key(DSM_MSG_BAR_ARRIVE, A, i % 50), 1, &one), 0);
		assert_int_equal(arrive_at(A, K + 1000 * i, 1, &one), 0);
		world_run();
	}
	/* B has not forgotten. */
	arrive(B, 3, &one);
	assert_int_equal(w.n_fly, 0);
	arrive(A, 3, &a[0]);
	arrive(A, 3, &a[1]);
	world_run();
	require_status(one, 0);
	require_status(a[0], 0);
	require_status(a[1], 0);
}

static void report_of_nobody_or_too_many_breaks_the_protocol(void **state)
{
	static const u32 bad[][2] = { { 3, 0 }, { 3, 4 }, { 0, 0 }, { 1, 0xffffffff } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct dsm_wire_arrive body = { .key = cpu_to_le64(K), .parties = cpu_to_le32(bad[i][0]),
						.count = cpu_to_le32(1) };
		struct dsm_wire_ticket ticket = { .node = cpu_to_le16(B), .xid = 5, .count = cpu_to_le32(bad[i][1]) };
		struct dsm_msgbuf *m = world_forge(DSM_MSG_BAR_ARRIVE, WORLD_REGION, 0);

		dsm_wire_put(m, &body, sizeof(body));
		dsm_wire_put(m, &ticket, sizeof(ticket));
		world_put_times(m, 3, 0);
		assert_int_equal(world_inject(A, B, m), -EPROTO);
		assert_null(at_manager());
	}
}

static void question_of_another_than_the_manager_breaks_the_protocol(void **state)
{
	struct dsm_wire_arrive body = { .key = cpu_to_le64(K), .episode = cpu_to_le64(9) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_BAR_ASK, WORLD_REGION, 0);

	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(B, C, m), -EPROTO);
}

/* Nor does it hold back what another says: that could be for ever. */
static void number_to_hold_of_another_than_the_manager_is_ignored(void **state)
{
	struct dsm_wire_depart body = { .key = cpu_to_le64(K), .count = cpu_to_le32(1), .parties = cpu_to_le32(2),
					.episode = cpu_to_le64(1ull << 60), .about = cpu_to_le16(C) };
	struct dsm_wire_ticket ticket = { .node = cpu_to_le16(B), .up = cpu_to_le16(A), .count = cpu_to_le32(1),
					  .hold = cpu_to_le16(4096) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_BAR_DEPART, WORLD_REGION, 0);
	struct dsm_waiter one, two;

	dsm_wire_put(m, &body, sizeof(body));
	dsm_wire_put(m, &ticket, sizeof(ticket));
	world_put_times(m, 3, 0);
	assert_int_equal(world_inject(B, C, m), 0);
	arrive(B, 2, &one);
	arrive(A, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start3, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(stable_parties_cost_two_messages_a_node),
		T(threads_may_come_from_anywhere_each_time),
		T(arrival_is_held_until_it_is_as_last_time),
		T(holder_is_asked_when_another_comes_with_more),
		T(holder_is_asked_when_a_stranger_comes),
		T(question_overtakes_the_departure_before_it),
		T(late_question_for_an_episode_that_is_over),
		T(report_that_is_too_long_goes_on_in_the_next_episode),
		T(other_number_than_last_time_is_not_held),
		T(thread_that_ends_while_held_fails_the_others),
		T(failed_episode_is_not_held_for),
		T(loss_of_another_lets_go_of_what_is_held),
		T(reg_loss_before_the_departure_that_allows_to_hold),
		T(loss_of_the_manager_wakes_what_is_held),
		T(callers_told_of_different_losses_are_not_held_together),
		T(manager_that_forgot_asks_first),
		T(report_of_nobody_or_too_many_breaks_the_protocol),
		T(question_of_another_than_the_manager_breaks_the_protocol),
		T(number_to_hold_of_another_than_the_manager_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
