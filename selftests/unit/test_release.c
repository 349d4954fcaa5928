// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/release.c: what a release takes along, when it is done, in which order, and who is told of a failure.
 */
#include "unit.h"
#include "world.h"

#define A 0
#define B 1
#define C 2

static int start2(void **state)
{
	world_start(2);
	return 0;
}

static int start3(void **state)
{
	world_start(3);
	return 0;
}

static int stop(void **state)
{
	world_stop();
	return 0;
}

static bool wait_for(u16 node, u64 target, struct dsm_waiter *waiter, int *status)
{
	dsm_waiter_init(waiter);
	return dsm_rel_wait(world_engine(node), target, waiter, status);
}

static void release_of_nothing_opens_nothing(void **state)
{
	assert_int_equal(world_release_begin(B), 0);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->stats.releases, 0);
	assert_int_equal(w.n_fly, 0);
}

static void release_of_nothing_waits_for_a_siblings(void **state)
{
	struct dsm_waiter waiter;
	int status = 1;
	u64 first;

	world_store(B, 0, 0, 1);
	w.hold_flush = true;
	first = world_release_begin(B);
	assert_int_equal(world_release_begin(B), first);
	assert_false(wait_for(B, first, &waiter, &status));
	w.hold_flush = false;
	world_run();
	assert_true(waiter.done);
	assert_int_equal(waiter.status, 0);
}

static void release_takes_every_dirty_page_once(void **state)
{
	u32 i;

	for (i = 0; i < 20; i++) {
		world_store(B, i, i, i + 1);
		world_store(B, i, i, i + 2);
	}
	assert_int_equal(world_engine(B)->n_dirty, 20);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->n_dirty, 0);
	assert_int_equal(world_engine(B)->twins, 0);
	for (i = 0; i < 20; i++) {
		assert_int_equal(((u8 *)world_page(i % 2, i)->frame)[i], i + 2);
		assert_int_equal(world_page(i % 2, i)->ver, 1);
	}
	/* 20 notices in records of six. */
	assert_int_equal(world_engine(B)->known[B], 4);
	assert_int_equal(world_engine(B)->stats.intervals, 4);
}

static void page_stored_without_a_change_makes_no_notice(void **state)
{
	world_store(B, 0, 0, 0);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->known[B], 0);
	assert_int_equal(world_page(A, 0)->ver, 0);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_RD);
}

static void home_page_closes_without_a_diff(void **state)
{
	world_store(A, 0, 0, 1);
	w.hold_flush = true;
	world_release_begin(A);
	assert_int_equal(world_page(A, 0)->state, DSM_PAGE_HOMEW);
	w.hold_flush = false;
	world_run();
	assert_int_equal(world_page(A, 0)->state, DSM_PAGE_HOME);
	assert_int_equal(world_page(A, 0)->ver, 1);
	assert_int_equal(world_engine(A)->known[A], 1);
	assert_int_equal(w.n_fly, 0);
	assert_int_equal(world_engine(A)->stats.diffs, 0);
}

static void interval_closes_only_when_every_home_has_acknowledged(void **state)
{
	u64 target;

	world_store(C, 0, 0, 1);
	world_store(C, 1, 0, 1);
	w.held[DSM_MSG_DIFF_ACK] = true;
	target = world_release_begin(C);
	world_run();
	assert_int_equal(world_count(DSM_MSG_DIFF_ACK), 2);
	world_deliver(DSM_MSG_DIFF_ACK);
	assert_int_equal(world_engine(C)->known[C], 0);
	assert_int_not_equal(world_engine(C)->rel_done, target);
	world_deliver(DSM_MSG_DIFF_ACK);
	assert_int_equal(world_engine(C)->known[C], 1);
	assert_int_equal(world_engine(C)->rel_done, target);
}

static void writer_waits_for_the_flusher_and_is_woken(void **state)
{
	struct dsm_page *p = world_page(B, 0);
	bool keep;

	world_store(B, 0, 0, 1);
	world_release_begin(B);
	assert_ptr_equal(dsm_rel_take(world_engine(B)), p);
	assert_null(dsm_rel_take(world_engine(B)));
	assert_int_equal(world_fault(B, 0, true), DSM_PAGE_NONE);
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_READABLE);
	assert_true(dsm_page_busy(world_engine(B), p));
	assert_true(world_downgrade(B, p, &keep));
	assert_false(keep);
	w.node[B].woken_pages = 0;
	assert_true(world_diff(B, p, keep));
	assert_true(w.node[B].woken_pages & 1ull << dsm_page_bucket(p));
	assert_false(dsm_page_busy(world_engine(B), p));
	/* Its acknowledgement is not awaited by the next writer, only by the next flush. */
	assert_int_equal(world_fault(B, 0, true), DSM_PAGE_WRITABLE);
	world_run();
}

static void second_flush_of_a_page_waits_for_the_first_ack(void **state)
{
	struct dsm_page *p = world_page(B, 0);
	u64 first, second;

	w.held[DSM_MSG_DIFF_ACK] = true;
	world_store(B, 0, 0, 1);
	first = world_release_begin(B);
	world_run();
	world_store(B, 0, 1, 2);
	second = world_release_begin(B);
	assert_int_equal(second, first + 1);
	world_run();
	assert_int_equal(p->flags & (DSM_PF_PENDING | DSM_PF_TODO | DSM_PF_UNACKED), DSM_PF_PENDING | DSM_PF_UNACKED);
	assert_int_equal(world_count(DSM_MSG_DIFF_ACK), 1);
	world_deliver(DSM_MSG_DIFF_ACK);
	assert_int_equal(world_engine(B)->rel_done, first);
	world_run();
	world_deliver(DSM_MSG_DIFF_ACK);
	assert_int_equal(world_engine(B)->rel_done, second);
	assert_int_equal(p->ver, 2);
}

static void releases_are_done_in_the_order_of_their_numbers(void **state)
{
	struct dsm_waiter one, two;
	int status;
	u64 first, second;

	w.held[DSM_MSG_DIFF_ACK] = true;
	world_store(B, 0, 0, 1);
	first = world_release_begin(B);
	world_run();
	world_store(B, 1, 0, 1);	/* home here: nothing to wait for */
	second = world_release_begin(B);
	assert_false(wait_for(B, first, &one, &status));
	assert_false(wait_for(B, second, &two, &status));
	world_run();
	assert_false(one.done);
	assert_false(two.done);
	assert_int_equal(world_engine(B)->known[B], 0);
	world_deliver(DSM_MSG_DIFF_ACK);
	assert_true(one.done);
	assert_true(two.done);
	assert_int_equal(world_engine(B)->known[B], 2);
}

static void seventeenth_release_waits_for_a_slot(void **state)
{
	struct dsm_waiter last;
	int status;
	u32 i;

	w.held[DSM_MSG_DIFF_ACK] = true;
	for (i = 1; i <= DSM_REL_SLOTS; i++) {
		world_store(B, 2 * (i - 1), 0, 1);
		assert_int_equal(world_release_begin(B), i);
		world_run();
	}
	world_store(B, 40, 0, 1);
	assert_int_equal(world_release_begin(B), DSM_REL_SLOTS + 1);
	world_store(B, 42, 0, 1);
	/* Everybody who comes now shares it. */
	assert_int_equal(world_release_begin(B), DSM_REL_SLOTS + 1);
	assert_int_equal(world_engine(B)->rel_seq, DSM_REL_SLOTS);
	assert_int_equal(world_engine(B)->n_dirty, 2);
	assert_false(wait_for(B, DSM_REL_SLOTS + 1, &last, &status));
	world_deliver(DSM_MSG_DIFF_ACK);
	assert_int_equal(world_engine(B)->rel_seq, DSM_REL_SLOTS + 1);
	assert_int_equal(world_engine(B)->n_dirty, 0);
	assert_false(last.done);
	w.held[DSM_MSG_DIFF_ACK] = false;
	world_run();
	assert_true(last.done);
	assert_int_equal(world_engine(B)->rel_done, DSM_REL_SLOTS + 1);
	assert_int_equal(((u8 *)world_page(A, 42)->frame)[0], 1);
}

static void slot_is_used_again_after_all_sixteen(void **state)
{
	u32 i;

	for (i = 1; i <= 3 * DSM_REL_SLOTS; i++) {
		world_store(B, i % 4, 0, i);
		assert_int_equal(world_release(B), 0);
		assert_int_equal(world_engine(B)->rel_done, i);
	}
}

/* ---- pinned ---- */

static void pinned_page_keeps_its_twin_and_stays_dirty(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	world_store(B, 0, 0, 1);
	w.node[B].pinned[0] = true;
	assert_int_equal(world_release(B), 0);
	assert_int_equal(p->state, DSM_PAGE_WR);
	assert_int_equal(p->flags & ~DSM_PF_HOMED, DSM_PF_DIRTY);
	assert_int_equal(((u8 *)p->twin)[0], 1);
	/* A store by DMA that nobody announces. */
	((u8 *)p->frame)[1] = 2;
	assert_int_equal(world_release(B), 0);
	assert_int_equal(((u8 *)world_page(A, 0)->frame)[1], 2);
	w.node[B].pinned[0] = false;
	((u8 *)p->frame)[2] = 3;
	assert_int_equal(world_release(B), 0);
	assert_int_equal(((u8 *)world_page(A, 0)->frame)[2], 3);
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_int_equal(p->flags & ~DSM_PF_HOMED, 0);
	assert_null(p->twin);
}

static void pinned_page_at_home_stays_dirty(void **state)
{
	struct dsm_page *p = world_page(A, 0);

	world_store(A, 0, 0, 1);
	w.node[A].pinned[0] = true;
	assert_int_equal(world_release(A), 0);
	assert_int_equal(p->state, DSM_PAGE_HOMEW);
	assert_int_equal(p->ver, 1);
	assert_true(p->flags & DSM_PF_DIRTY);
	w.node[A].pinned[0] = false;
	assert_int_equal(world_release(A), 0);
	assert_int_equal(p->state, DSM_PAGE_HOME);
	assert_int_equal(p->ver, 2);
}

/* Its home has forgotten the region: nobody would acknowledge a diff. */
static void reg_pinned_page_of_a_region_that_goes_is_not_sent(void **state)
{
	world_store(B, 0, 0, 1);
	world_store(B, 1, 0, 1);
	w.node[B].pinned[0] = true;
	w.node[B].pinned[1] = true;
	assert_int_equal(world_release(B), 0);
	world_store(B, 0, 0, 2);
	w.node[B].space.closing = true;
	world_release_begin(B);
	world_run();
	assert_int_equal(world_engine(B)->rel_done, world_engine(B)->rel_seq);
	assert_int_equal(world_engine(B)->n_dirty, 0);
	assert_null(world_page(B, 0)->twin);
	assert_int_equal(((u8 *)world_page(A, 0)->frame)[0], 1);
}

/* Some homes may have forgotten it already; it may also stay after all. */
static void reg_pinned_pages_of_a_region_about_to_go_wait(void **state)
{
	world_store(A, 0, 0, 1);
	world_store(B, 0, 1, 1);
	w.node[A].pinned[0] = true;
	w.node[B].pinned[0] = true;
	assert_int_equal(world_release(A), 0);
	assert_int_equal(world_release(B), 0);
	w.node[A].space.still = true;
	w.node[B].space.still = true;
	/* A device goes on. */
	((u8 *)world_page(B, 0)->frame)[2] = 2;
	assert_int_equal(world_release(A), 0);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->stats.diffs, 1);
	assert_int_equal(world_page(A, 0)->ver, 2);
	assert_int_equal(world_engine(B)->n_dirty, 1);
	w.node[A].space.still = false;
	w.node[B].space.still = false;
	w.node[B].pinned[0] = false;
	assert_int_equal(world_release(B), 0);
	assert_int_equal(((u8 *)world_page(A, 0)->frame)[2], 2);
	assert_null(world_page(B, 0)->twin);
}

static void pinned_page_is_on_the_list_before_its_diff_is_made(void **state)
{
	struct dsm_page *p = world_page(B, 0);
	u64 first, second;
	bool keep;

	world_store(B, 0, 0, 1);
	w.node[B].pinned[0] = true;
	first = world_release_begin(B);
	dsm_rel_take(world_engine(B));
	assert_true(world_downgrade(B, p, &keep));
	assert_true(keep);
	assert_int_equal(world_engine(B)->n_dirty, 1);
	second = world_release_begin(B);
	assert_int_equal(second, first + 1);
	assert_null(dsm_rel_take(world_engine(B)));
	world_diff(B, p, keep);
	assert_null(dsm_rel_take(world_engine(B)));
	((u8 *)p->frame)[1] = 2;
	w.node[B].pinned[0] = false;
	world_run();
	assert_int_equal(world_engine(B)->rel_done, second);
	assert_int_equal(((u8 *)world_page(A, 0)->frame)[1], 2);
}

static void pinned_page_under_a_notice_keeps_its_twin(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	world_store(B, 0, 0, 1);
	w.node[B].pinned[0] = true;
	assert_true(dsm_page_notice(world_engine(B), p, 0 + 1));
	assert_int_equal(p->state, DSM_PAGE_WRS);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(p->state, DSM_PAGE_WRS);
	assert_non_null(p->twin);
	w.node[B].pinned[0] = false;
	assert_int_equal(world_release(B), 0);
	assert_int_equal(p->state, DSM_PAGE_INV);
}

/* ---- a home is lost ---- */

enum phase { LISTED, TAKEN, DOWNGRADED, SENT, WAITS_FOR_SLOT };

/* The release ends with -EHOSTDOWN wherever the loss hits it; what went elsewhere arrives. */
static void home_lost_at_each_step_of_a_flush(void **state)
{
	u32 phase, pinned;

	for (phase = LISTED; phase <= SENT; phase++)
		for (pinned = 0; pinned < 2; pinned++) {
			struct dsm_page *p, *other;
			struct dsm_waiter waiter;
			int status = 1;
			bool keep;

			world_start(3);
			p = world_page(C, 0);
			other = world_page(C, 1);
			world_store(C, 1, 0, 1);
			world_store(C, 0, 0, 1);
			w.node[C].pinned[0] = pinned;
			w.held[DSM_MSG_DIFF] = true;
			w.hold_flush = true;
			world_release_begin(C);
			assert_false(wait_for(C, 1, &waiter, &status));
			if (phase >= TAKEN) {
				assert_ptr_equal(dsm_rel_take(world_engine(C)), other);
				assert_ptr_equal(dsm_rel_take(world_engine(C)), p);
				assert_true(world_downgrade(C, other, &keep));
				world_diff(C, other, keep);
			}
			if (phase >= DOWNGRADED)
				assert_true(world_downgrade(C, p, &keep));
			if (phase >= SENT)
				assert_true(world_diff(C, p, keep));
			world_lose(A);
			if (phase == TAKEN)
				assert_false(world_downgrade(C, p, &keep));
			if (phase == DOWNGRADED)
				assert_false(world_diff(C, p, keep));
			w.held[DSM_MSG_DIFF] = false;
			w.hold_flush = false;
			world_run();
			unit_require(waiter.done && waiter.status == -EHOSTDOWN, "phase %u", phase);
			assert_int_equal(((u8 *)world_page(B, 1)->frame)[0], 1);
			assert_false(p->flags & (DSM_PF_FLUSH | DSM_PF_PENDING | DSM_PF_TODO | DSM_PF_UNACKED));
			/* A pinned page that was kept fails once more, then is let go. */
			w.node[C].pinned[0] = false;
			world_release(C);
			assert_int_equal(world_release(C), 0);
			assert_null(p->twin);
			world_stop();
		}
}

static void every_waiter_of_a_failed_release_is_told(void **state)
{
	struct dsm_waiter one, two, later;
	int status;

	world_store(B, 0, 0, 1);
	w.hold_flush = true;
	world_release_begin(B);
	assert_false(wait_for(B, 1, &one, &status));
	assert_false(wait_for(B, 1, &two, &status));
	world_store(B, 1, 0, 1);
	world_release_begin(B);
	assert_false(wait_for(B, 2, &later, &status));
	world_lose(A);
	w.hold_flush = false;
	world_run();
	assert_int_equal(one.status, -EHOSTDOWN);
	assert_int_equal(two.status, -EHOSTDOWN);
	/* It waited for release 1 too. */
	assert_int_equal(later.status, -EHOSTDOWN);
	assert_int_equal(world_release(B), 0);
}

static void who_asks_only_when_leaves_the_error_to_others(void **state)
{
	struct dsm_waiter silent;

	world_store(B, 0, 0, 1);
	w.hold_flush = true;
	world_release_begin(B);
	dsm_waiter_init(&silent);
	assert_false(dsm_rel_wait(world_engine(B), 1, &silent, NULL));
	world_lose(A);
	w.hold_flush = false;
	world_run();
	assert_true(silent.done);
	assert_int_equal(silent.status, 0);
	dsm_waiter_init(&silent);
	assert_true(dsm_rel_wait(world_engine(B), 1, &silent, NULL));
	assert_int_equal(world_release(B), -EHOSTDOWN);
	assert_int_equal(world_release(B), 0);
}

/* Who hears of one release's failure while it waits for a later one, and gives up, has told nobody. */
static void reg_who_gives_up_leaves_the_error_to_others(void **state)
{
	struct dsm_waiter waiter;
	int status = 1;

	world_store(B, 0, 0, 1);
	w.hold_flush = true;
	world_release_begin(B);
	world_store(B, 2, 0, 1);
	world_release_begin(B);
	assert_false(wait_for(B, 2, &waiter, &status));
	world_lose(A);
	w.hold_flush = false;
	w.held[DSM_MSG_DIFF] = true;
	world_run();
	assert_false(waiter.done);
	assert_true(dsm_waiter_cancel(world_engine(B), &waiter));
	w.held[DSM_MSG_DIFF] = false;
	world_run();
	assert_int_equal(world_release(B), -EHOSTDOWN);
	assert_int_equal(world_release(B), 0);
}

static void reg_what_is_lost_of_a_region_that_goes_is_nobodys(void **state)
{
	world_store(B, 0, 0, 1);
	w.held[DSM_MSG_DIFF] = true;
	world_release_begin(B);
	world_run();
	w.node[B].space.closing = true;
	world_lose(A);
	world_run();
	assert_int_equal(world_engine(B)->rel_done, 1);
	assert_int_equal(world_release(B), 0);
}

static void error_nobody_waited_for_is_told_once(void **state)
{
	struct dsm_waiter waiter;
	int status = 1;

	world_store(B, 0, 0, 1);
	world_release_begin(B);
	world_lose(A);
	world_run();
	assert_true(wait_for(B, 1, &waiter, &status));
	assert_int_equal(status, -EHOSTDOWN);
	assert_true(wait_for(B, 1, &waiter, &status));
	assert_int_equal(status, 0);
}

static void reg_error_nobody_waited_for_is_told_to_who_has_to_wait(void **state)
{
	struct dsm_waiter waiter;
	int status = 1;
	u64 target;

	world_store(B, 0, 0, 1);
	world_release_begin(B);
	world_lose(A);
	world_run();
	world_store(B, 1, 0, 1);
	w.hold_flush = true;
	target = world_release_begin(B);
	assert_false(wait_for(B, target, &waiter, &status));
	w.hold_flush = false;
	world_run();
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -EHOSTDOWN);
	assert_int_equal(world_release(B), 0);
}

/* What it has lost itself tells of all that was lost before. */
static void reg_errors_of_two_releases_are_told_once(void **state)
{
	struct dsm_waiter waiter;
	int status = 1;
	u64 target;

	world_store(B, 0, 0, 1);
	world_load(B, 2, 0);
	world_release_begin(B);
	world_store(B, 2, 0, 1);
	world_lose(A);
	world_run();
	assert_int_equal(world_engine(B)->rel_done, 1);
	w.hold_flush = true;
	target = world_release_begin(B);
	assert_false(wait_for(B, target, &waiter, &status));
	w.hold_flush = false;
	world_run();
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -EHOSTDOWN);
	assert_int_equal(world_engine(B)->rel_done, 2);
	assert_int_equal(world_release(B), 0);
}

static void cancelled_waiter_is_forgotten(void **state)
{
	struct dsm_waiter waiter;
	int status;

	world_store(B, 0, 0, 1);
	w.hold_flush = true;
	world_release_begin(B);
	assert_false(wait_for(B, 1, &waiter, &status));
	assert_true(dsm_waiter_cancel(world_engine(B), &waiter));
	w.hold_flush = false;
	world_run();
	assert_false(waiter.done);
	assert_int_equal(world_engine(B)->rel_done, 1);
	assert_false(wait_for(B, 2, &waiter, &status));
	assert_true(dsm_waiter_cancel(world_engine(B), &waiter));
}

#define T(start, name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(start2, release_of_nothing_opens_nothing),
		T(start2, release_of_nothing_waits_for_a_siblings),
		T(start2, release_takes_every_dirty_page_once),
		T(start2, page_stored_without_a_change_makes_no_notice),
		T(start2, home_page_closes_without_a_diff),
		T(start3, interval_closes_only_when_every_home_has_acknowledged),
		T(start2, writer_waits_for_the_flusher_and_is_woken),
		T(start2, second_flush_of_a_page_waits_for_the_first_ack),
		T(start2, releases_are_done_in_the_order_of_their_numbers),
		T(start2, seventeenth_release_waits_for_a_slot),
		T(start2, slot_is_used_again_after_all_sixteen),
		T(start2, pinned_page_keeps_its_twin_and_stays_dirty),
		T(start2, pinned_page_at_home_stays_dirty),
		T(start2, reg_pinned_page_of_a_region_that_goes_is_not_sent),
		T(start2, reg_pinned_pages_of_a_region_about_to_go_wait),
		T(start2, pinned_page_is_on_the_list_before_its_diff_is_made),
		T(start2, pinned_page_under_a_notice_keeps_its_twin),
		cmocka_unit_test(home_lost_at_each_step_of_a_flush),
		T(start2, every_waiter_of_a_failed_release_is_told),
		T(start2, who_asks_only_when_leaves_the_error_to_others),
		T(start3, reg_who_gives_up_leaves_the_error_to_others),
		T(start2, reg_what_is_lost_of_a_region_that_goes_is_nobodys),
		T(start2, error_nobody_waited_for_is_told_once),
		T(start2, reg_error_nobody_waited_for_is_told_to_who_has_to_wait),
		T(start2, reg_errors_of_two_releases_are_told_once),
		T(start2, cancelled_waiter_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
