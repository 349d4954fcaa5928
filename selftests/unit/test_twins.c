// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Twins (kmod/core/release.c): pages that keep theirs from one interval to the next, and how many there may be.
 */
#include "unit.h"
#include "world.h"

#define A 0
#define B 1

static int start2(void **state)
{
	world_start(2);
	return 0;
}

static int stop(void **state)
{
	world_stop();
	return 0;
}

static void every_interval(u32 intervals)
{
	u32 i;

	for (i = 0; i < intervals; i++) {
		world_store(B, 0, 3, ((u8 *)world_page(B, 0)->frame)[3] + 1);
		assert_int_equal(world_release(B), 0);
		assert_int_equal(((u8 *)world_page(A, 0)->frame)[3], ((u8 *)world_page(B, 0)->frame)[3]);
	}
}

static void page_written_in_every_interval_keeps_its_twin(void **state)
{
	struct dsm_engine *e = world_engine(B);

	e->keep_after = 2;
	e->twin_limit = 40;
	world_store(B, 2, 0, 1);
	assert_int_equal(world_release(B), 0);
	every_interval(2);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_RD);
	assert_int_equal(e->twins, 0);
	every_interval(20);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_WR);
	assert_int_equal(e->stats.twins, 1 + 3);
	assert_int_equal(e->twins, 1);
	assert_int_equal(e->known[B], 1 + 22);
	assert_int_equal(world_page(A, 0)->ver, 22);
}

static void kept_page_that_is_not_written_is_protected_again(void **state)
{
	struct dsm_engine *e = world_engine(B);
	u64 told;

	e->keep_after = 1;
	e->twin_limit = 40;
	every_interval(4);
	told = e->known[B];
	assert_int_equal(world_release(B), 0);
	every_interval(1);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_WR);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_page(B, 0)->flags & DSM_PF_KEPT, 0);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_RD);
	assert_int_equal(e->twins, 0);
	assert_int_equal(e->n_dirty, 0);
	assert_int_equal(e->known[B], told + 1);
}

static void pages_written_now_and_then_are_not_kept(void **state)
{
	struct dsm_engine *e = world_engine(B);
	u32 i;

	e->keep_after = 2;
	e->twin_limit = 40;
	for (i = 0; i < 12; i++) {
		world_store(B, 0, 0, i + 1);
		assert_int_equal(world_release(B), 0);
		world_store(B, 2, 0, i + 1);
		assert_int_equal(world_release(B), 0);
	}
	assert_int_equal(e->twins, 0);
	assert_int_equal(e->stats.twins, 24);
}

static void no_twin_is_kept_beyond_the_limit_or_in_a_region_that_goes(void **state)
{
	struct dsm_engine *e = world_engine(B);

	e->keep_after = 1;
	every_interval(5);
	assert_int_equal(e->twins, 0);
	e->twin_limit = 40;
	every_interval(5);
	assert_int_equal(e->twins, 1);
	e->twin_limit = 0;
	every_interval(1);
	assert_int_equal(e->twins, 0);
	e->twin_limit = 40;
	every_interval(5);
	w.node[B].pinned[0] = true;
	assert_int_equal(e->twins, 1);
	w.node[B].space.closing = true;
	assert_int_equal(world_release(B), 0);
	assert_int_equal(e->twins, 0);
	assert_int_equal(e->n_dirty, 0);
	w.node[B].space.closing = false;
}

static void kept_page_of_a_lost_home_goes_with_the_second_release(void **state)
{
	struct dsm_engine *e = world_engine(B);

	e->keep_after = 1;
	e->twin_limit = 40;
	every_interval(5);
	world_lose(A);
	assert_int_equal(world_release(B), -EHOSTDOWN);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_WR);
	assert_int_equal(world_release(B), -EHOSTDOWN);
	assert_int_equal(e->twins, 0);
	assert_int_equal(world_release(B), 0);
}

static void stores_wait_beyond_twice_the_twins_that_there_shall_be(void **state)
{
	struct dsm_engine *e = world_engine(B);
	u32 i;

	e->twin_limit = 2;
	w.hold_flush = true;
	world_load(B, 12, 0);
	world_load(B, 1, 0);
	for (i = 0; i < 5; i++)
		world_store(B, 2 * i, 0, 1);
	assert_int_equal(e->twins, 5);
	assert_true(dsm_rel_is_due(e));
	assert_false(dsm_rel_must_wait(e, world_page(B, 12)));
	world_release_begin(B);
	assert_true(dsm_rel_must_wait(e, world_page(B, 12)));
	assert_false(dsm_rel_must_wait(e, world_page(B, 0)));
	assert_false(dsm_rel_must_wait(e, world_page(B, 1)));
	w.hold_flush = false;
	world_run();
	assert_false(dsm_rel_must_wait(e, world_page(B, 12)));
	assert_false(dsm_rel_is_due(e));
}

static void twins_of_pinned_pages_make_no_store_wait(void **state)
{
	struct dsm_engine *e = world_engine(B);
	u32 i;

	e->twin_limit = 2;
	world_load(B, 12, 0);
	for (i = 0; i < 5; i++) {
		world_store(B, 2 * i, 0, 1);
		w.node[B].pinned[2 * i] = true;
	}
	assert_int_equal(world_release(B), 0);
	assert_int_equal(e->twins, 5);
	assert_int_equal(e->n_dirty_again, 5);
	assert_false(dsm_rel_is_due(e));
	/* Until they are put back anew. */
	w.hold_flush = true;
	world_release_begin(B);
	assert_int_equal(e->n_dirty_again, 0);
	assert_true(dsm_rel_must_wait(e, world_page(B, 12)));
	w.hold_flush = false;
	world_run();
	assert_false(dsm_rel_is_crowded(e));
	assert_int_equal(e->n_dirty_again, 5);
}

#define T(start, name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(start2, page_written_in_every_interval_keeps_its_twin),
		T(start2, kept_page_that_is_not_written_is_protected_again),
		T(start2, pages_written_now_and_then_are_not_kept),
		T(start2, no_twin_is_kept_beyond_the_limit_or_in_a_region_that_goes),
		T(start2, kept_page_of_a_lost_home_goes_with_the_second_release),
		T(start2, stores_wait_beyond_twice_the_twins_that_there_shall_be),
		T(start2, twins_of_pinned_pages_make_no_store_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
