// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/barrier.c: who is let go, with what result, and what a party that ends or is lost does to the others.
 * The key of these tests is managed by A.
 */
#include "unit.h"
#include "barrier_world.h"

static void barrier_of_one_is_passed_at_once(void **state)
{
	struct dsm_waiter one;
	u16 n;

	for (n = A; n <= C; n++) {
		arrive(n, 1, &one);
		world_run();
		require_status(one, 0);
	}
}

static void nobody_leaves_before_the_last_has_come(void **state)
{
	/* Any spread over the nodes; the count says nothing about threads per node. */
	static const u8 spread[][4] = { { A, B, C, A }, { A, A, A, A }, { B, B, B, B }, { C, B, C, B }, { B, A, A, C } };
	struct dsm_waiter waiter[4];
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(spread); i++) {
		for (k = 0; k < 4; k++) {
			u32 j;

			arrive(spread[i][k], 4, &waiter[k]);
			world_run();
			for (j = 0; j <= k; j++)
				assert_int_equal(waiter[j].done, k == 3);
		}
		for (k = 0; k < 4; k++)
			require_status(waiter[k], 0);
		assert_int_equal(at_manager()->seen, 0);
	}
}

static void each_node_is_sent_one_departure(void **state)
{
	struct dsm_waiter waiter[6];
	u32 i;

	w.held[DSM_MSG_BAR_DEPART] = true;
	for (i = 0; i < 6; i++)
		arrive(1 + i % 2, 6, &waiter[i]);
	world_run();
	assert_int_equal(w.n_fly, 2);
	assert_int_equal(world_count(DSM_MSG_BAR_DEPART), 2);
	world_deliver(DSM_MSG_BAR_DEPART);
	world_deliver(DSM_MSG_BAR_DEPART);
	for (i = 0; i < 6; i++)
		require_status(waiter[i], 0);
}

static void departure_of_more_than_one_message_lets_all_go(void **state)
{
	enum { MANY = 2500 };
	struct dsm_waiter *waiter = unit_alloc(MANY * sizeof(*waiter));
	u32 i;

	for (i = 0; i < MANY; i++) {
		arrive(B, MANY + 1, &waiter[i]);
		world_run();
	}
	w.held[DSM_MSG_BAR_DEPART] = true;
	arrive(A, MANY + 1, &(struct dsm_waiter){});
	world_run();
	assert_true(world_count(DSM_MSG_BAR_DEPART) > 1);
	w.held[DSM_MSG_BAR_DEPART] = false;
	world_run();
	for (i = 0; i < MANY; i++)
		require_status(waiter[i], 0);
	free(waiter);
}

static void everything_known_before_is_known_after(void **state)
{
	struct dsm_waiter waiter[3];
	u16 n;

	for (n = A; n <= C; n++) {
		world_store(n, n, 0, 0x10 + n);
		world_store(n, 4, n, 0x20 + n);
		world_load(n, 8, 0);
		assert_int_equal(world_release(n), 0);
		arrive(n, 3, &waiter[n]);
	}
	world_run();
	for (n = A; n <= C; n++) {
		u16 k;

		require_status(waiter[n], 0);
		world_acquire(n);
		for (k = A; k <= C; k++) {
			assert_int_equal(world_load(n, k, 0), 0x10 + k);
			assert_int_equal(world_load(n, 4, k), 0x20 + k);
		}
	}
}

static void subset_brings_what_was_learned_elsewhere(void **state)
{
	u64 lock = world_key(DSM_MSG_LOCK_REQ, A, 0);
	struct dsm_waiter one, two;

	/* C writes and unlocks, A learns it by the lock, B by a barrier with A only. */
	assert_int_equal(world_load(B, 2, 0), 0);
	world_lock(C, lock, 30);
	world_store(C, 2, 0, 7);
	world_unlock(C, lock, 30);
	world_lock(A, lock, 10);
	world_unlock(A, lock, 10);
	arrive(A, 2, &one);
	arrive(B, 2, &two);
	world_run();
	require_status(two, 0);
	world_acquire(B);
	assert_int_equal(world_load(B, 2, 0), 7);
}

static void arrival_with_more_knowledge_than_fits_is_counted_after_the_pull(void **state)
{
	struct dsm_waiter one, two;
	u32 i;

	for (i = 0; i < 300; i++) {
		world_store(C, 2, 0, i);
		world_release(C);
	}
	w.held[DSM_MSG_INTERVALS] = true;
	arrive(B, 2, &one);
	arrive(C, 2, &two);
	world_run();
	assert_false(one.done);
	assert_int_equal(at_manager()->seen, 1);
	w.held[DSM_MSG_INTERVALS] = false;
	world_run();
	require_status(one, 0);
	require_status(two, 0);
	assert_int_equal(world_engine(B)->known[C], 300);
}

static void keys_and_regions_do_not_mix(void **state)
{
	u64 other = world_key(DSM_MSG_BAR_ARRIVE, A, 1);
	struct dsm_waiter one, two;

	arrive(B, 2, &one);
	assert_int_equal(arrive_at(C, other, 2, &two), 0);
	world_run();
	assert_false(one.done);
	assert_false(two.done);
}

/* ---- refusals ---- */

static void arrive_with_other_party_count_is_refused(void **state)
{
	struct dsm_waiter one, wrong, two;
	u16 n;

	for (n = A; n <= C; n++) {
		arrive(B, 2, &one);
		world_run();
		arrive(n, 3, &wrong);
		world_run();
		require_status(wrong, -EINVAL);
		assert_false(one.done);
		arrive(C, 2, &two);
		world_run();
		require_status(one, 0);
		require_status(two, 0);
	}
	/* The next episode may have another number. */
	arrive(B, 1, &one);
	world_run();
	require_status(one, 0);
}

static void arrive_of_no_parties_breaks_the_protocol(void **state)
{
	struct dsm_wire_arrive body = { .key = cpu_to_le64(K) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_BAR_ARRIVE, WORLD_REGION, 5);

	dsm_wire_put(m, &body, sizeof(body));
	world_put_times(m, 3, 0);
	assert_int_equal(world_inject(A, B, m), -EPROTO);
	assert_null(at_manager());
}

static void departure_for_nobody_is_ignored(void **state)
{
	struct dsm_wire_depart body = { .key = cpu_to_le64(K), .count = cpu_to_le32(2) };
	struct dsm_waiter one;
	struct dsm_msgbuf *m;
	struct dsm_wire_ticket ticket[2];
	u16 from;

	arrive(B, 2, &one);
	world_run();
	ticket[0] = (struct dsm_wire_ticket){ .node = B, .xid = cpu_to_le32(one.xid + 100), .count = cpu_to_le32(1) };
	ticket[1] = (struct dsm_wire_ticket){ .node = B, .xid = cpu_to_le32(one.xid), .count = cpu_to_le32(1) };
	/* A ticket counts only from the manager that it was given to. */
	for (from = C; from != B; from = from == C ? A : B) {
		m = world_forge(DSM_MSG_BAR_DEPART, WORLD_REGION, 0);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_wire_put(m, ticket, sizeof(ticket));
		world_put_times(m, 3, 0);
		assert_int_equal(world_inject(B, from, m), 0);
		assert_int_equal(one.done, from == A);
	}
}

static void result_of_a_departure_is_one_of_the_known(void **state)
{
	static const struct { u32 wire; int want; } rows[] = {
		{ 0, 0 }, { EOWNERDEAD, -EOWNERDEAD }, { EINVAL, -EINVAL }, { EDQUOT, -EDQUOT }, { EHOSTDOWN, -EHOSTDOWN },
		{ 1, -EHOSTDOWN }, { 0xffffffff, -EHOSTDOWN }, { 0x80000000, -EHOSTDOWN },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dsm_wire_depart body = { .key = cpu_to_le64(K), .count = cpu_to_le32(1) };
		struct dsm_msgbuf *m = world_forge(DSM_MSG_BAR_DEPART, WORLD_REGION, 0);
		struct dsm_waiter one;
		struct dsm_wire_ticket ticket = { .node = B, .count = cpu_to_le32(1) };

		arrive(B, 2, &one);
		ticket.xid = cpu_to_le32(one.xid);
		body.status = cpu_to_le32(rows[i].wire);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_wire_put(m, &ticket, sizeof(ticket));
		world_put_times(m, 3, 0);
		assert_int_equal(world_inject(B, A, m), 0);
		require_status(one, rows[i].want);
		world_drop_at(0);
	}
}

/* ---- a party ends ---- */

static void party_that_ends_inside_fails_all_others(void **state)
{
	struct dsm_waiter one, two, three, four;
	u16 n;

	for (n = A; n <= C; n++) {
		arrive(A, 4, &one);
		arrive(B, 4, &two);
		arrive(n, 4, &three);
		world_run();
		assert_true(abort_at(n, &three));
		world_run();
		require_status(one, -EOWNERDEAD);
		require_status(two, -EOWNERDEAD);
		assert_false(three.done);
		/* Who comes later too; then the episode is over. */
		arrive(C, 4, &four);
		world_run();
		require_status(four, -EOWNERDEAD);
		assert_int_equal(at_manager()->seen, 0);
		assert_int_equal(at_manager()->status, 0);
	}
}

static void abort_after_the_wake_is_too_late(void **state)
{
	struct dsm_waiter one, two;

	arrive(B, 2, &one);
	arrive(C, 2, &two);
	world_run();
	assert_false(abort_at(B, &one));
	require_status(one, 0);
	assert_int_equal(w.n_fly, 0);
}

static void abort_between_departure_and_its_arrival_is_harmless(void **state)
{
	struct dsm_waiter one, two, next[2];

	arrive(B, 2, &one);
	w.held[DSM_MSG_BAR_DEPART] = true;
	arrive(C, 2, &two);
	world_run();
	assert_true(abort_at(B, &one));
	w.held[DSM_MSG_BAR_DEPART] = false;
	world_run();
	assert_false(one.done);
	require_status(two, 0);
	arrive(B, 2, &next[0]);
	arrive(C, 2, &next[1]);
	world_run();
	require_status(next[0], 0);
	require_status(next[1], 0);
}

static void reg_abort_while_the_arrival_waits_for_its_knowledge(void **state)
{
	struct dsm_waiter one, two, three;
	u32 ready, i;

	for (ready = 0; ready < 2; ready++) {
		start3(state);
		for (i = 0; i < 300; i++) {
			world_store(C, 2, 0, i);
			world_release(C);
		}
		w.held[DSM_MSG_INTERVALS] = true;
		arrive(B, 3, &one);
		arrive(C, 3, &two);
		world_run();
		assert_int_equal(at_manager()->seen, 1);
		if (ready) {
			/* The knowledge has come, the arrival is about to be counted. */
			w.hold_run = true;
			w.held[DSM_MSG_INTERVALS] = false;
			world_run();
			assert_false(list_empty(&world_engine(A)->ready));
		}
		assert_true(abort_at(C, &two));
		world_run();
		w.hold_run = false;
		w.held[DSM_MSG_INTERVALS] = false;
		world_run();
		require_status(one, -EOWNERDEAD);
		arrive(A, 3, &three);
		world_run();
		require_status(three, -EOWNERDEAD);
		assert_int_equal(at_manager()->seen, 0);
		world_stop();
	}
}

static void reg_abort_that_is_there_before_its_arrival(void **state)
{
	struct dsm_waiter one, two, three;

	w.held[DSM_MSG_BAR_ARRIVE] = true;
	arrive(C, 3, &two);
	assert_true(abort_at(C, &two));
	world_run();
	assert_int_equal(at_manager()->seen, 0);
	w.held[DSM_MSG_BAR_ARRIVE] = false;
	world_run();
	arrive(A, 3, &one);
	arrive(B, 3, &three);
	world_run();
	require_status(one, -EOWNERDEAD);
	require_status(three, -EOWNERDEAD);
	assert_int_equal(at_manager()->seen, 0);
	/* Once only. */
	arrive(A, 3, &one);
	arrive(B, 3, &three);
	arrive(C, 3, &two);
	world_run();
	require_status(one, 0);
	require_status(two, 0);
	require_status(three, 0);
}

/* Of threads that still wait: they go, with the others. */
static void reg_abort_that_another_node_sends(void **state)
{
	struct dsm_wire_arrive body = { .key = cpu_to_le64(K), .count = cpu_to_le32(1) };
	struct dsm_waiter one, two;
	u32 early;

	for (early = 0; early < 2; early++) {
		struct dsm_wire_ticket ticket = { .node = cpu_to_le16(B), .count = cpu_to_le32(1) };
		struct dsm_msgbuf *m = world_forge(DSM_MSG_BAR_ABORT, WORLD_REGION, 0);

		w.held[DSM_MSG_BAR_ARRIVE] = early;
		arrive(B, 2, &one);
		world_run();
		ticket.xid = cpu_to_le32(one.xid);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_wire_put(m, &ticket, sizeof(ticket));
		assert_int_equal(world_inject(A, C, m), 0);
		w.held[DSM_MSG_BAR_ARRIVE] = false;
		world_run();
		require_status(one, -EOWNERDEAD);
		arrive(C, 2, &two);
		world_run();
		require_status(two, -EOWNERDEAD);
		assert_int_equal(at_manager()->seen, 0);
		/* Of the manager's own nobody else can say so. */
		ticket.node = cpu_to_le16(A);
		m = world_forge(DSM_MSG_BAR_ABORT, WORLD_REGION, 0);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_wire_put(m, &ticket, sizeof(ticket));
		assert_int_equal(world_inject(A, C, m), -EPROTO);
	}
}

/* ---- limits ---- */

static void arrivals_of_a_node_above_the_limit_are_refused(void **state)
{
	enum { CAP = 20 };
	struct dsm_waiter waiter[CAP], more, last;
	u16 n;
	u32 i;

	for (n = A; n <= C; n++) {
		struct dsm_engine *e = world_engine(A);

		e->request_cap = CAP;
		e->stats.requests_refused = 0;
		for (i = 0; i < CAP; i++)
			arrive(n, CAP + 1, &waiter[i]);
		world_run();
		assert_int_equal(e->served[n], CAP);
		for (i = 0; i < 3; i++) {
			arrive(n, CAP + 1, &more);
			world_run();
			require_status(more, -EDQUOT);
		}
		assert_int_equal(e->stats.requests_refused, 3);
		assert_int_equal(e->served[n], CAP);
		/* What was refused does not count, and others are not concerned. */
		arrive((n + 1) % 3, CAP + 1, &last);
		world_run();
		require_status(last, 0);
		for (i = 0; i < CAP; i++)
			require_status(waiter[i], 0);
		assert_int_equal(e->served[n], 0);
	}
}

static void idle_barriers_are_forgotten_above_their_number(void **state)
{
	struct dsm_waiter one;
	u32 i;

	for (i = 0; i < DSM_BARRIER_IDLE_MAX + 50; i++) {
		assert_int_equal(arrive_at(A, world_key(DSM_MSG_BAR_ARRIVE, A, 0) + i, 1, &one), 0);
		world_run();
		require_status(one, 0);
	}
	assert_true(world_engine(A)->n_idle_barriers[0] <= DSM_BARRIER_IDLE_MAX);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start3, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(barrier_of_one_is_passed_at_once),
		T(nobody_leaves_before_the_last_has_come),
		T(each_node_is_sent_one_departure),
		T(departure_of_more_than_one_message_lets_all_go),
		T(everything_known_before_is_known_after),
		T(subset_brings_what_was_learned_elsewhere),
		T(arrival_with_more_knowledge_than_fits_is_counted_after_the_pull),
		T(keys_and_regions_do_not_mix),
		T(arrive_with_other_party_count_is_refused),
		T(arrive_of_no_parties_breaks_the_protocol),
		T(departure_for_nobody_is_ignored),
		T(result_of_a_departure_is_one_of_the_known),
		T(party_that_ends_inside_fails_all_others),
		T(abort_after_the_wake_is_too_late),
		T(abort_between_departure_and_its_arrival_is_harmless),
		cmocka_unit_test(reg_abort_while_the_arrival_waits_for_its_knowledge),
		T(reg_abort_that_is_there_before_its_arrival),
		T(reg_abort_that_another_node_sends),
		T(arrivals_of_a_node_above_the_limit_are_refused),
		T(idle_barriers_are_forgotten_above_their_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
