// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers after a party has ended: what is left of an old program, and programs that begin later.
 */
#include "unit.h"
#include "barrier_world.h"

static int start(void **state)
{
	u16 n;

	start_nodes(3);
	for (n = A; n <= C; n++) {
		w.node[n].space.users = 7;
		w.node[n].space.opens = 1;
	}
	opened = 1;
	return 0;
}

/* As many files are opened on each node. */
static void program_begins(void)
{
	u16 n;

	opened++;
	for (n = A; n <= C; n++)
		w.node[n].space.opens = opened;
}

/* Two of three have come, and one of them ends. */
static void program_breaks(u16 other, u16 ends)
{
	struct dsm_waiter one, two;

	arrive(other, 3, &one);
	arrive(ends, 3, &two);
	world_run();
	assert_true(abort_at(ends, &two));
	world_run();
	require_status(one, -EOWNERDEAD);
	assert_false(two.done);
}

static void come_all(u32 rounds)
{
	struct dsm_waiter come[3];
	u16 n;

	while (rounds--) {
		for (n = A; n <= C; n++)
			arrive(n, 3, &come[n]);
		world_run();
		for (n = A; n <= C; n++)
			require_status(come[n], 0);
	}
}

static void key_is_of_use_to_the_next_program(void **state)
{
	static const struct {
		u16 other, ends;
	} rows[] = { { A, B }, { B, A }, { B, C }, { C, B }, { A, C }, { C, A } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		come_all(i % 3);
		program_breaks(rows[i].other, rows[i].ends);
		program_begins();
		come_all(4);
		program_begins();
	}
}

static void next_program_may_have_another_number_of_threads(void **state)
{
	struct dsm_waiter one, two;

	program_breaks(A, B);
	program_begins();
	arrive(B, 2, &one);
	arrive(C, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
}

static void one_program_after_the_other_breaks(void **state)
{
	struct dsm_waiter last;

	program_breaks(A, B);
	program_begins();
	program_breaks(B, C);
	/* Of the second, which is the one that failed last; and then it goes on. */
	arrive(A, 3, &last);
	world_run();
	require_status(last, -EOWNERDEAD);
	come_all(2);
	/* The one that the first had left. */
	opened--;
	arrive(C, 3, &last);
	opened++;
	world_run();
	require_status(last, -EOWNERDEAD);
	come_all(2);
	program_begins();
	come_all(2);
}

/* However many episodes of another have gone well. */
static void party_may_be_late_for_long(void **state)
{
	struct dsm_waiter late, come[3];

	program_breaks(A, B);
	program_begins();
	come_all(3);
	arrive(A, 3, &come[A]);
	arrive(B, 3, &come[B]);
	world_run();
	opened--;
	arrive(C, 3, &late);
	opened++;
	world_run();
	require_status(late, -EOWNERDEAD);
	assert_false(come[A].done || come[B].done);
	arrive(C, 3, &come[C]);
	world_run();
	require_status(come[A], 0);
	require_status(come[B], 0);
	require_status(come[C], 0);
}

/* A step has room for little more than a message to each node. */
static void each_node_is_told_by_one_message(void **state)
{
	struct dsm_waiter come[2], ends;
	u32 i;

	for (i = 0; i < 3; i++) {
		come_all(i);
		arrive(B, 5, &come[0]);
		if (i)
			arrive(C, 5, &come[1]);
		arrive(A, 5, &ends);
		world_run();
		assert_true(abort_at(A, &ends));
		assert_int_equal(w.n_fly, 2);
		world_run();
		require_status(come[0], -EOWNERDEAD);
		program_begins();
	}
	come_all(1);
}

/* Keys that come and go do not make it forgotten. */
static void what_has_failed_is_remembered_beside_many_other_keys(void **state)
{
	struct dsm_waiter waiter;
	u32 i;

	program_breaks(A, B);
	for (i = 1; i <= 2 * DSM_BARRIER_IDLE_MAX; i++) {
		assert_int_equal(arrive_at(B, world_key(DSM_MSG_BAR_ARRIVE, A, i), 1, &waiter), 0);
		world_run();
		require_status(waiter, 0);
	}
	program_begins();
	come_all(2);
}

static void party_that_was_late_is_told_and_not_counted(void **state)
{
	struct dsm_waiter late, come[3];
	u16 n;

	for (n = A; n <= C; n++) {
		program_breaks(n, (n + 1) % 3);
		program_begins();
		arrive(A, 3, &come[A]);
		world_run();
		opened--;
		arrive((n + 2) % 3, 3, &late);
		opened++;
		world_run();
		require_status(late, -EOWNERDEAD);
		assert_false(come[A].done);
		arrive(B, 3, &come[B]);
		arrive(C, 3, &come[C]);
		world_run();
		require_status(come[A], 0);
		require_status(come[B], 0);
		require_status(come[C], 0);
		program_begins();
	}
}

/* Of five only two had come; then one report has four. */
static void report_with_more_than_those_who_are_missed(void **state)
{
	struct dsm_wire_arrive body = { .key = cpu_to_le64(K), .parties = cpu_to_le32(5), .count = cpu_to_le32(1) };
	struct dsm_wire_ticket ticket = { .node = B, .count = cpu_to_le32(4) };
	struct dsm_waiter one, two, later;
	struct dsm_msgbuf *m;

	arrive(A, 5, &one);
	arrive(B, 5, &two);
	world_run();
	assert_true(abort_at(B, &two));
	world_run();
	program_begins();
	arrive(A, 5, &later);
	world_run();
	assert_int_equal(at_manager()->owed, 3);
	assert_int_equal(at_manager()->seen, 1);
	m = world_forge(DSM_MSG_BAR_ARRIVE, WORLD_REGION, 0);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_wire_put(m, &ticket, sizeof(ticket));
	world_put_times(m, 3, 0);
	assert_int_equal(world_inject(A, B, m), 0);
	world_run();
	/* Three get the error, the fourth is in the next episode. */
	assert_int_equal(at_manager()->owed, 0);
	assert_int_equal(at_manager()->seen, 2);
}

static void who_comes_before_the_news_is_of_the_old_program(void **state)
{
	struct dsm_waiter late;

	w.held[DSM_MSG_BAR_ASK] = true;
	program_breaks(A, B);
	program_begins();
	/* By a file that is new; but C does not know yet when it failed. */
	arrive(C, 3, &late);
	world_run();
	require_status(late, -EOWNERDEAD);
	w.held[DSM_MSG_BAR_ASK] = false;
	world_run();
	program_begins();
	come_all(2);
}

static void node_that_opens_later_is_not_told(void **state)
{
	struct dsm_waiter one, two, three;
	u16 n;

	for (n = A; n <= C; n++)
		w.node[n].space.users = 3;
	program_breaks(A, B);
	arrive(C, 1, &three);
	world_run();
	require_status(three, 0);
	program_begins();
	arrive(A, 2, &one);
	arrive(B, 2, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
}

static void program_that_goes_on_needs_nothing_new(void **state)
{
	struct dsm_waiter three;

	program_breaks(A, B);
	arrive(C, 3, &three);
	world_run();
	require_status(three, -EOWNERDEAD);
	come_all(3);
}

static void nobody_is_told_if_all_have_come(void **state)
{
	struct dsm_waiter one, two;

	arrive(B, 2, &one);
	w.held[DSM_MSG_BAR_ARRIVE] = true;
	arrive(C, 2, &two);
	world_run();
	assert_true(abort_at(C, &two));
	world_run();
	w.held[DSM_MSG_BAR_ARRIVE] = false;
	world_run();
	require_status(one, -EOWNERDEAD);
	assert_int_equal(at_manager()->broken, 0);
	come_all(1);
}

/* Threads of an old program and of a new one at one node are not reported as one. */
static void files_of_different_programs_are_not_held_together(void **state)
{
	struct dsm_waiter come[3], late;
	u32 i, k;

	program_breaks(A, B);
	program_begins();
	for (i = 0; i < 4; i++) {
		arrive(B, 3, &come[0]);
		if (i == 3) {
			/* As many as last time are held until all are here, but these say different things. */
			opened--;
			arrive(B, 3, &late);
			opened++;
			world_run();
			require_status(late, -EOWNERDEAD);
		}
		arrive(B, 3, &come[1]);
		arrive(C, 3, &come[2]);
		world_run();
		for (k = 0; k < 3; k++)
			require_status(come[k], 0);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(key_is_of_use_to_the_next_program),
		T(next_program_may_have_another_number_of_threads),
		T(one_program_after_the_other_breaks),
		T(party_may_be_late_for_long),
		T(each_node_is_told_by_one_message),
		T(what_has_failed_is_remembered_beside_many_other_keys),
		T(party_that_was_late_is_told_and_not_counted),
		T(report_with_more_than_those_who_are_missed),
		T(who_comes_before_the_news_is_of_the_old_program),
		T(node_that_opens_later_is_not_told),
		T(program_that_goes_on_needs_nothing_new),
		T(nobody_is_told_if_all_have_come),
		T(files_of_different_programs_are_not_held_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
