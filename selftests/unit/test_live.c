// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/* merge=live: pages that an acquire has merged while threads of the node go on storing into them. */
#include "page_world.h"
#include "live.h"

/* Page 0 (home A) at B, written by both; a notice has taken B's right. */
static struct dsm_page *noticed(void)
{
	struct dsm_page *p;

	world_store(A, 0, 9, 9);
	world_release(A);
	world_store(B, 0, 0, 1);
	p = world_page(B, 0);
	world_store(A, 0, 9, 10);
	world_release(A);
	w.node[B].space.policy.merge = DSM_MERGE_LIVE;
	assert_true(dsm_page_notice(world_engine(B), p, p->ver + 1));
	return p;
}

static bool begin(struct dsm_page *p)
{
	bool live = dsm_live_merge(world_engine(B), p, world_begin(B));

	world_end(B);
	return live;
}

static void stores_go_on_while_a_page_is_merged(void **state)
{
	struct dsm_page *p = noticed();
	u8 *frame = (u8 *)p->frame;

	assert_true(begin(p));
	assert_true(dsm_page_busy(world_engine(B), p));
	assert_false(dsm_live_merged(p));
	/* Through an entry that was never taken away: beside the byte that comes, and where nothing comes. */
	frame[8] = 4;
	frame[20] = 5;
	world_run();
	assert_false(dsm_page_busy(world_engine(B), p));
	assert_true(dsm_live_merged(p));
	assert_int_equal(dsm_page_right(p), DSM_PAGE_WRITABLE);
	assert_int_equal(frame[9], 10);
	assert_int_equal(frame[8], 4);
	assert_int_equal(world_engine(B)->stats.merges_live, 1);
	assert_int_equal(world_engine(B)->stats.race_conflicts, 0);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_load(A, 0, 0), 1);
	assert_int_equal(world_load(A, 0, 8), 4);
	assert_int_equal(world_load(A, 0, 9), 10);
	assert_int_equal(world_load(A, 0, 20), 5);
}

static void a_release_waits_for_the_merge(void **state)
{
	struct dsm_page *p = noticed();
	struct dsm_waiter waiter;
	int status = 1;
	u64 target;

	assert_true(begin(p));
	target = world_release_begin(B);
	dsm_waiter_init(&waiter);
	assert_int_equal(p->state, DSM_PAGE_WRF);
	assert_false(p->flags & (DSM_PF_TODO | DSM_PF_FLUSH));
	world_run();
	assert_true(dsm_rel_wait(world_engine(B), target, &waiter, &status));
	assert_int_equal(status, 0);
	assert_int_equal(world_load(A, 0, 0), 1);
	assert_int_equal(world_load(A, 0, 9), 10);
}

static void only_dirty_pages_of_such_regions(void **state)
{
	struct dsm_page *p = noticed();

	w.node[B].space.policy.merge = DSM_MERGE_FAULT;
	assert_false(begin(p));
	assert_int_equal(p->state, DSM_PAGE_WRS);
	w.node[B].space.policy.merge = DSM_MERGE_LIVE;
	world_load(B, 2, 0);
	p = world_page(B, 2);
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_false(begin(p));
	assert_true(dsm_page_notice(world_engine(B), p, p->ver + 1));
	assert_false(begin(p));
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(world_engine(B)->stats.merges_live, 0);
}

static void not_before_the_own_diff_is_acknowledged(void **state)
{
	struct dsm_page *p;

	world_store(B, 0, 0, 1);
	w.held[DSM_MSG_DIFF_ACK] = true;
	world_release_begin(B);
	world_run();
	world_store(B, 0, 1, 2);
	p = world_page(B, 0);
	w.node[B].space.policy.merge = DSM_MERGE_LIVE;
	assert_true(dsm_page_notice(world_engine(B), p, p->ver + 2));
	assert_int_equal(p->state, DSM_PAGE_WRS);
	assert_true(p->flags & DSM_PF_UNACKED);
	assert_false(begin(p));
	w.held[DSM_MSG_DIFF_ACK] = false;
	world_run();
}

static void with_its_home_lost_it_is_to_be_unmapped(void **state)
{
	struct dsm_page *p = noticed();

	assert_true(begin(p));
	world_lose(A);
	assert_false(dsm_page_busy(world_engine(B), p));
	assert_false(dsm_live_merged(p));
	assert_int_equal(world_fault(B, 0, false), -EHOSTDOWN);
	world_run();
}

static void who_waits_for_its_turn_can_give_up(void **state)
{
	struct dsm_waiter first, second, third;
	struct dsm_engine *e = world_engine(B);

	dsm_waiter_init(&first);
	dsm_waiter_init(&second);
	dsm_waiter_init(&third);
	assert_true(dsm_acq_begin(e, &first));
	assert_false(dsm_acq_begin(e, &second));
	assert_false(dsm_acq_begin(e, &third));
	assert_true(dsm_acq_cancel(&second));
	dsm_acq_end(e, world_begin(B));
	world_end(B);
	world_run();
	assert_false(second.done);
	assert_true(third.done);
	assert_false(dsm_acq_cancel(&third));
	dsm_acq_end(e, world_begin(B));
	world_end(B);
	assert_false(e->acq_busy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(start2, stores_go_on_while_a_page_is_merged),
		T(start2, a_release_waits_for_the_merge),
		T(start2, only_dirty_pages_of_such_regions),
		T(start2, not_before_the_own_diff_is_acknowledged),
		T(start2, with_its_home_lost_it_is_to_be_unmapped),
		T(start2, who_waits_for_its_turn_can_give_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
