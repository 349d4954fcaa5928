// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/barrier.c and barrier_node.c with a tree: reports by other nodes, losses on the way. The key of these
 * tests is managed by A; with a fan-out of 1 the others are a chain, in which B reports to A, C to B, D to C.
 */
#include "unit.h"
#include "barrier_world.h"

static void set_fanout(u32 fanout)
{
	u32 i;

	for (i = 0; i < w.nodes; i++)
		world_engine(i)->barrier_fanout = fanout;
}

static void every_shape_takes_two_messages_a_node(void **state)
{
	u32 nodes, fanout, i;
	u8 threads[WORLD_NODES];

	for (nodes = 2; nodes <= WORLD_NODES; nodes++)
		for (fanout = 1; fanout <= nodes; fanout++) {
			start_nodes(nodes);
			set_fanout(fanout);
			for (i = 0; i < nodes; i++)
				threads[i] = 1 + i % 3;
			episode_of(threads);
			for (i = 0; i < 5; i++)
				assert_int_equal(episode_of(threads), 2 * (nodes - 1));
			/* More threads on one node, and fewer again. */
			for (i = 0; i < 2 * nodes; i++) {
				threads[i / 2] ^= 4;
				episode_of(threads);
				episode_of(threads);
				assert_int_equal(episode_of(threads), 2 * (nodes - 1));
			}
			world_stop();
		}
}

static void start_chain(void)
{
	u32 i;

	set_fanout(1);
	for (i = 0; i < 4; i++)
		episode(1, 2, 2);
}

static void chain_takes_as_many_messages_and_hides_nothing(void **state)
{
	struct dsm_waiter waiter[5];
	u32 i, n = 0;

	start_chain();
	assert_int_equal(episode(1, 2, 2), 4);
	/* C's report goes to B, and no further until B is complete. */
	arrive(C, 5, &waiter[n++]);
	arrive(C, 5, &waiter[n++]);
	assert_int_equal(w.n_fly, 1);
	assert_int_equal(w.fly[0].m->dst, B);
	world_run();
	assert_int_equal(at_manager()->seen, 0);
	arrive(B, 5, &waiter[n++]);
	assert_int_equal(w.n_fly, 0);
	arrive(B, 5, &waiter[n++]);
	assert_int_equal(w.n_fly, 1);
	world_run();
	assert_int_equal(at_manager()->seen, 4);
	arrive(A, 5, &waiter[n++]);
	/* One departure from A, to B, with C's in it. */
	assert_int_equal(w.n_fly, 1);
	assert_int_equal(w.fly[0].m->dst, B);
	world_deliver(DSM_MSG_BAR_DEPART);
	assert_int_equal(w.n_fly, 1);
	assert_int_equal(w.fly[0].m->dst, C);
	world_run();
	for (i = 0; i < n; i++)
		require_status(waiter[i], 0);
	for (i = 0; i < 10; i++)
		assert_int_equal(episode(1, 2, 2), 4);
}

static void chain_brings_what_all_know(void **state)
{
	struct dsm_waiter waiter[5];
	u32 i, k, round;

	start_chain();
	for (round = 1; round < 5; round++) {
		for (i = A; i <= C; i++) {
			world_store(i, i, 1, 0x10 * round + i);
			world_load(i, (i + 1) % 3, 1);
			/* More than fits into a message: what is missing is pulled. */
			for (k = 0; i == A && round > 2 && k < 400; k++) {
				world_store(A, 1, 9, k);
				world_release(A);
			}
			assert_int_equal(world_release(i), 0);
		}
		arrive(A, 5, &waiter[0]);
		for (i = 1; i < 5; i++)
			arrive(1 + i % 2, 5, &waiter[i]);
		world_run();
		for (i = 0; i < 5; i++)
			require_status(waiter[i], 0);
		for (i = A; i <= C; i++) {
			world_acquire(i);
			for (k = A; k <= C; k++)
				assert_int_equal(world_load(i, k, 1), 0x10 * round + k);
		}
	}
}

static void chain_gives_way_when_parties_move(void **state)
{
	u32 i, k;
	static const u8 spread[][3] = { { 1, 3, 1 }, { 2, 2, 1 }, { 1, 1, 3 }, { 5, 0, 0 }, { 0, 0, 5 }, { 1, 2, 2 }, { 0, 1, 4 } };

	for (k = 0; k < ARRAY_SIZE(spread); k++)
		for (i = 0; i < ARRAY_SIZE(spread); i++) {
			start_chain();
			episode(spread[k][0], spread[k][1], spread[k][2]);
			episode(spread[i][0], spread[i][1], spread[i][2]);
		}
}

static void loss_on_the_way_fails_those_behind(void **state)
{
	struct dsm_waiter c[2], a, b;
	u32 stage;

	for (stage = 0; stage < 4; stage++) {
		start3(state);
		start_chain();
		arrive(C, 5, &c[0]);
		arrive(C, 5, &c[1]);
		if (stage > 0)
			world_run();
		arrive(B, 5, &b);
		if (stage > 1)
			arrive(B, 5, &(struct dsm_waiter){});
		if (stage > 2)
			world_run();
		world_crash(B);
		/* C notices first, A only later. */
		world_learn_loss(C, B);
		world_run();
		require_status(c[0], -EHOSTDOWN);
		require_status(c[1], -EHOSTDOWN);
		arrive(A, 5, &a);
		world_run();
		world_learn_loss(A, B);
		world_run();
		if (!a.done || a.status)
			require_status(a, -EHOSTDOWN);
		else
			assert_int_equal(stage, 3);
		told = 1 << B;
		arrive(A, 2, &a);
		arrive(C, 2, &c[0]);
		world_run();
		require_status(a, 0);
		require_status(c[0], 0);
		world_stop();
	}
}

static void thread_behind_another_node_ends(void **state)
{
	struct dsm_waiter c[2], a, b[2];
	u32 stage;

	for (stage = 0; stage < 4; stage++) {
		start3(state);
		start_chain();
		arrive(A, 5, &a);
		arrive(C, 5, &c[0]);
		if (stage > 0)
			arrive(C, 5, &c[1]);
		if (stage > 1)
			world_run();
		if (stage > 2) {
			arrive(B, 5, &b[0]);
			arrive(B, 5, &b[1]);
			w.held[DSM_MSG_BAR_DEPART] = true;
			world_run();
			w.held[DSM_MSG_BAR_DEPART] = false;
			require_status(a, 0);
		}
		assert_true(abort_at(C, &c[0]));
		world_run();
		if (stage < 3)
			require_status(a, -EOWNERDEAD);
		if (stage > 0)
			require_status(c[1], stage < 3 ? -EOWNERDEAD : 0);
		world_stop();
	}
}

static void loss_of_the_manager_above_another_node(void **state)
{
	struct dsm_waiter c[2], b;

	start_chain();
	arrive(C, 5, &c[0]);
	arrive(C, 5, &c[1]);
	world_run();
	arrive(B, 5, &b);
	world_lose(A);
	world_run();
	require_status(b, -EHOSTDOWN);
	require_status(c[0], -EHOSTDOWN);
	require_status(c[1], -EHOSTDOWN);
}

/* ---- chain of B, C and D ---- */

static void start_chain_of_four(u16 manager)
{
	static const u8 ones[] = { 1, 1, 1, 1 };
	u32 i;

	start_nodes(4);
	K = world_key(DSM_MSG_BAR_ARRIVE, manager, 0);
	set_fanout(1);
	for (i = 0; i < 4; i++)
		episode_of(ones);
	assert_int_equal(episode_of(ones), 6);
}

static void loss_in_the_middle_fails_all_behind(void **state)
{
	struct dsm_waiter a, b, c, d;
	u32 stage;

	for (stage = 0; stage < 5; stage++) {
		start_chain_of_four(A);
		arrive(D, 4, &d);
		/* C learns of the loss before, or after, it has D's report. */
		if (stage > 0)
			world_run();
		arrive(C, 4, &c);
		if (stage > 1)
			world_run();
		if (stage > 2)
			arrive(B, 4, &b);
		if (stage > 3)
			world_run();
		world_crash(B);
		world_learn_loss(stage & 1 ? C : D, B);
		world_run();
		world_learn_loss(stage & 1 ? D : C, B);
		world_run();
		if (stage > 0)
			require_status(d, -EHOSTDOWN);
		if (stage > 1)
			require_status(c, -EHOSTDOWN);
		world_learn_loss(A, B);
		arrive(A, 4, &a);
		world_run();
		require_status(a, -EHOSTDOWN);
		require_status(c, -EHOSTDOWN);
		require_status(d, -EHOSTDOWN);
		told = 1 << B;
		arrive(A, 3, &a);
		arrive(C, 3, &c);
		arrive(D, 3, &d);
		world_run();
		require_status(a, 0);
		require_status(c, 0);
		require_status(d, 0);
		world_stop();
	}
}

static void loss_of_who_is_waited_for(void **state)
{
	struct dsm_waiter waiter[4];
	u16 manager, n, first;

	for (manager = A; manager <= D; manager++)
		for (first = A; first <= D; first++) {
			if (first == B)
				continue;
			start_chain_of_four(manager);
			for (n = A; n <= D; n++)
				if (n != B)
					arrive(n, 4, &waiter[n]);
			world_run();
			world_crash(B);
			world_learn_loss(first, B);
			world_run();
			for (n = A; n <= D; n++)
				if (n != B && n != first)
					world_learn_loss(n, B);
			world_run();
			for (n = A; n <= D; n++)
				if (n != B)
					require_status(waiter[n], -EHOSTDOWN);
			world_stop();
		}
}

static void who_arrives_while_a_loss_is_being_told_reports_straight(void **state)
{
	struct dsm_waiter c, d;

	start_chain_of_four(A);
	/* D has heard of B's loss, C not yet: what D tells C would go on to B. */
	world_crash(B);
	dsm_engine_peer_lost(world_engine(D), B, world_begin(D));
	world_end(D);
	arrive(C, 4, &c);
	arrive(D, 4, &d);
	assert_int_equal(world_count(DSM_MSG_BAR_ARRIVE), 1);
	assert_int_equal(w.fly[world_find(DSM_MSG_BAR_ARRIVE)].m->dst, A);
	world_run();
	world_learn_loss(D, B);
	world_learn_loss(A, B);
	world_learn_loss(C, B);
	world_run();
	require_status(c, -EHOSTDOWN);
	require_status(d, -EHOSTDOWN);
}

/* The manager hears of a loss last: whoever heard of it before may not be counted twice, nor confuse the others. */
static void who_knows_more_than_the_manager_waits_for_it(void **state)
{
	struct dsm_waiter a, c, d, again;

	start_chain_of_four(A);
	arrive(D, 4, &d);
	arrive(C, 4, &c);
	world_run();
	arrive(A, 4, &a);
	world_crash(B);
	world_learn_loss(D, B);
	world_learn_loss(C, B);
	require_status(d, -EHOSTDOWN);
	told = 1 << B;
	arrive(D, 3, &again);
	world_run();
	require_status(again, -EHOSTDOWN);
	arrive(D, 4, &again);
	world_run();
	require_status(again, -EHOSTDOWN);
	assert_false(a.done);
	world_learn_loss(A, B);
	world_run();
	require_status(a, -EHOSTDOWN);
}

/* Of one node again and again: more tickets than leave room for what else a departure carries. */
static void reg_tickets_beyond_a_message_go_on_in_several(void **state)
{
	struct dsm_wire_depart body = { .key = cpu_to_le64(K), .episode = cpu_to_le64(1), .about = cpu_to_le16(C) };
	struct dsm_wire_ticket ticket = { .node = cpu_to_le16(C), .up = cpu_to_le16(B), .count = cpu_to_le32(1) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_BAR_DEPART, WORLD_REGION, 0);
	u32 i, count = (dsm_wire_room(m) - sizeof(body) - sizeof(struct dsm_wire_know)) / sizeof(ticket), on = 0;

	world_engine(B)->n_nodes = DSM_MAX_NODES;
	body.count = cpu_to_le32(count);
	dsm_wire_put(m, &body, sizeof(body));
	for (i = 0; i < count; i++)
		dsm_wire_put(m, &ticket, sizeof(ticket));
	world_put_times(m, 0, 0);
	assert_int_equal(world_inject(B, C, m), 0);
	assert_int_equal(world_count(DSM_MSG_BAR_DEPART), 2);
	for (i = 0; i < w.n_fly; i++) {
		assert_true(w.fly[i].m->len <= DSM_MSG_BYTES);
		assert_int_equal(w.fly[i].m->dst, C);
		on += le32_to_cpu(((struct dsm_wire_depart *)(w.fly[i].m->data + DSM_HDR_BYTES))->count);
	}
	assert_int_equal(on, count);
}

#define T(test) cmocka_unit_test_setup_teardown(test, start3, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape_takes_two_messages_a_node),
		T(chain_takes_as_many_messages_and_hides_nothing),
		T(chain_brings_what_all_know),
		T(chain_gives_way_when_parties_move),
		cmocka_unit_test(loss_on_the_way_fails_those_behind),
		cmocka_unit_test(thread_behind_another_node_ends),
		T(loss_of_the_manager_above_another_node),
		cmocka_unit_test(loss_in_the_middle_fails_all_behind),
		cmocka_unit_test(loss_of_who_is_waited_for),
		cmocka_unit_test_teardown(who_arrives_while_a_loss_is_being_told_reports_straight, stop),
		T(reg_tickets_beyond_a_message_go_on_in_several),
		cmocka_unit_test_teardown(who_knows_more_than_the_manager_waits_for_it, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
