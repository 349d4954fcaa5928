// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/moves.c that depend on who reports what to a barrier; the orders of messages are the model's.
 */
#include "unit.h"
#include "barrier_world.h"
#include "world_threads.h"

#define AFTER 3

/* A knows where page 0 lives, and is home of it; it manages barrier K. */
static int start(void **state)
{
	u16 i;

	world_start_with(3, DSM_HOME_MIGRATE_BARRIER);
	told = 0;
	w.alone = true;
	for (i = 0; i < 3; i++)
		world_engine(i)->move_after = AFTER;
	K = world_key(DSM_MSG_BAR_ARRIVE, A, 0);
	world_store(A, 0, 0, 1);
	world_release(A);
	return 0;
}

static void write_at(u16 node, u32 times)
{
	while (times--) {
		world_store(node, 0, 1 + node, world_load(node, 0, 1 + node) + 1);
		assert_int_equal(world_release(node), 0);
	}
}

static u64 sum_of_migrations(void)
{
	return world_engine(A)->stats.migrations + world_engine(B)->stats.migrations + world_engine(C)->stats.migrations;
}

static void the_home_moves_after_a_barrier_of_all(void **state)
{
	const struct dsm_page *at_a = world_page(A, 0), *at_b, *at_c;

	assert_int_equal(world_load(C, 0, 0), 1);
	write_at(B, AFTER - 1);
	at_b = world_page(B, 0);
	at_c = world_page(C, 0);
	assert_int_equal(world_engine(A)->stats.migration_attempts, 0);
	write_at(B, 1);
	assert_int_equal(world_engine(A)->stats.migration_attempts, 1);
	assert_true(at_b->flags & DSM_PF_HOMED && at_c->flags & DSM_PF_HOMED);
	write_at(B, 1);
	assert_int_equal(at_a->home, A);
	episode(1, 1, 1);
	assert_true(at_a->flags & DSM_PF_UNCLAIMED);
	assert_false((at_b->flags | at_c->flags) & DSM_PF_HOMED);
	/* Who asks now does not hear that it stays. */
	world_acquire(C);
	world_load(C, 0, 0);
	assert_false(at_c->flags & DSM_PF_HOMED);
	/* C may not have it, B may. */
	write_at(C, 1);
	assert_int_equal(at_a->home, A);
	assert_int_equal(sum_of_migrations(), 0);
	write_at(B, AFTER);
	episode(1, 1, 1);
	write_at(B, 1);
	assert_int_equal(at_b->home, B);
	assert_int_equal(at_a->home, B);
	assert_int_equal(sum_of_migrations(), 1);
	/* Who asks the old one is sent on, and takes the new one for settled. */
	world_acquire(C);
	assert_int_equal(world_load(C, 0, 1 + B), world_load(B, 0, 1 + B));
	assert_int_equal(at_c->home, B);
	assert_true(at_c->flags & DSM_PF_HOMED);
	/* A has its copy, and is told. */
	write_at(B, 1);
	episode(1, 1, 1);
	world_acquire(A);
	assert_int_equal(world_load(A, 0, 1 + B), world_load(B, 0, 1 + B));
}

static void who_cannot_be_home_is_not_proposed(void **state)
{
	u16 i;

	for (i = 0; i < 3; i++)
		w.node[i].space.n_members = 2;
	write_at(C, AFTER);
	assert_int_equal(world_engine(A)->stats.migration_attempts, 0);
	write_at(B, AFTER);
	assert_int_equal(world_engine(A)->stats.migration_attempts, 1);
}

static void a_home_that_writes_keeps_its_page(void **state)
{
	write_at(B, AFTER);
	write_at(A, 1);
	episode(1, 1, 1);
	assert_false(world_page(A, 0)->flags & DSM_PF_UNCLAIMED);
	write_at(B, AFTER);
	episode(1, 1, 1);
	assert_true(world_page(A, 0)->flags & DSM_PF_UNCLAIMED);
	write_at(A, 1);
	assert_false(world_page(A, 0)->flags & DSM_PF_UNCLAIMED);
	write_at(B, 1);
	assert_int_equal(world_page(A, 0)->home, A);
}

static void nothing_moves_while_a_user_is_elsewhere(void **state)
{
	struct dsm_waiter waiter[2];

	world_load(C, 0, 0);
	write_at(B, AFTER);
	arrive(A, 2, &waiter[0]);
	arrive(B, 2, &waiter[1]);
	world_run();
	require_status(waiter[0], 0);
	require_status(waiter[1], 0);
	assert_false(world_page(A, 0)->flags & DSM_PF_UNCLAIMED);
	assert_int_equal(w.node[A].space.moves.quiet | w.node[B].space.moves.quiet, 0);
	/* What was proposed is not forgotten. */
	episode(1, 1, 1);
	assert_true(world_page(A, 0)->flags & DSM_PF_UNCLAIMED);
}

static void nobody_is_quiet_whose_diff_is_under_way(void **state)
{
	struct dsm_waiter waiter[4];

	write_at(B, AFTER);
	world_store(C, 0, 5, 1);
	w.held[DSM_MSG_DIFF] = true;
	world_release_begin(C);
	world_flush(C);
	arrive(A, 3, &waiter[0]);
	arrive(B, 3, &waiter[1]);
	arrive(C, 3, &waiter[2]);
	assert_int_equal(w.node[C].space.moves.quiet, 0);
	assert_true(w.node[B].space.moves.quiet);
	world_run();
	require_status(waiter[2], 0);
	assert_false(world_page(A, 0)->flags & DSM_PF_UNCLAIMED);
	w.held[DSM_MSG_DIFF] = false;
	world_run();
}

static void who_is_quiet_stays_so_until_it_departs(void **state)
{
	struct dsm_waiter waiter[3];

	world_load(C, 0, 0);
	arrive(C, 3, &waiter[0]);
	assert_true(w.node[C].space.moves.quiet);
	assert_false(dsm_moves_settled(world_page(C, 0)));
	assert_true(dsm_moves_alone(world_page(C, 0)));
	/* Its thread ends; the barrier has to say so to the node all the same. */
	world_run();
	assert_true(abort_at(C, &waiter[0]));
	assert_true(w.node[C].space.moves.quiet);
	world_run();
	assert_int_equal(w.node[C].space.moves.quiet, 0);
	assert_true(dsm_moves_settled(world_page(C, 0)));
}

static void nobody_but_the_manager_ends_it(void **state)
{
	struct dsm_wire_move move = { .to = cpu_to_le16(B) };
	struct dsm_space *s = &w.node[C].space;
	struct dsm_waiter waiter;
	u32 xid;

	world_load(C, 0, 0);
	arrive(C, 3, &waiter);
	xid = s->moves.quiet;
	dsm_moves_depart(world_engine(C), s, B, xid, &move, 1);
	assert_int_equal(s->moves.quiet, xid);
	dsm_moves_depart(world_engine(C), s, A, xid + 1, &move, 1);
	assert_int_equal(s->moves.quiet, xid);
	assert_true(world_page(C, 0)->flags & DSM_PF_HOMED);
	dsm_moves_depart(world_engine(C), s, A, xid, &move, 1);
	assert_int_equal(s->moves.quiet, 0);
	assert_false(world_page(C, 0)->flags & DSM_PF_HOMED);
	world_run();
}

static void a_lost_manager_may_have_named_every_page(void **state)
{
	struct dsm_page *p = world_touch(C, 1, true);
	struct dsm_waiter waiter;

	p->home = B;
	p->flags |= DSM_PF_HOMED;
	arrive(C, 3, &waiter);
	world_learn_loss(C, B);
	assert_true(w.node[C].space.moves.quiet && p->flags & DSM_PF_HOMED);
	world_learn_loss(C, A);
	assert_int_equal(w.node[C].space.moves.quiet, 0);
	assert_false(p->flags & DSM_PF_HOMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_home_moves_after_a_barrier_of_all, start, stop),
		cmocka_unit_test_setup_teardown(who_cannot_be_home_is_not_proposed, start, stop),
		cmocka_unit_test_setup_teardown(a_home_that_writes_keeps_its_page, start, stop),
		cmocka_unit_test_setup_teardown(nothing_moves_while_a_user_is_elsewhere, start, stop),
		cmocka_unit_test_setup_teardown(nobody_is_quiet_whose_diff_is_under_way, start, stop),
		cmocka_unit_test_setup_teardown(who_is_quiet_stays_so_until_it_departs, start, stop),
		cmocka_unit_test_setup_teardown(nobody_but_the_manager_ends_it, start, stop),
		cmocka_unit_test_setup_teardown(a_lost_manager_may_have_named_every_page, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
