// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/csm.c, csm_home.c and csm_copy.c that depend on numbers, on devices, or on peers that break them; the
 * orders of messages are the model's.
 */
#include "unit.h"
#include "world.h"

#include "fetch.h"

#define A 0
#define B 1
#define C 2

/* Page i is homed at node i % 3. */
static int start(void **state)
{
	u16 i;

	world_start(3);
	for (i = 0; i < 3; i++)
		w.node[i].space.policy.consistency = DSM_CONSISTENCY_CASHMERE;
	return 0;
}

static int stop(void **state)
{
	world_stop();
	return 0;
}

static u8 state_of(u16 node, u32 idx)
{
	return world_page(node, idx)->state;
}

static u64 sharers(u32 idx)
{
	return world_page(idx % 3, idx)->sharers;
}

/* B and C have read page 0, so that B's next write makes a twin. */
static void share(u32 idx)
{
	world_load(B, idx, 0);
	world_load(C, idx, 0);
}

static void a_release_waits_until_all_copies_are_told_of(void **state)
{
	u64 target;

	share(0);
	world_store(B, 0, 0, 1);
	w.held[DSM_MSG_CSM_NOTICE_ACK] = true;
	target = world_release_begin(B);
	world_run();
	assert_int_equal(world_count(DSM_MSG_CSM_NOTICE_ACK), 1);
	assert_true(world_engine(B)->rel_done < target);
	/* The copy stays what it was until an acquire looks. */
	assert_int_equal(state_of(C, 0), DSM_PAGE_RD);
	assert_true(dsm_acq_needed(world_engine(C)));
	w.held[DSM_MSG_CSM_NOTICE_ACK] = false;
	world_run();
	assert_int_equal(world_engine(B)->rel_done, target);
	assert_int_equal(world_acquire(C), 1);
	assert_int_equal(world_load(C, 0, 0), 1);
	/* hlrc's log knows nothing of it. */
	assert_int_equal(world_engine(B)->log_records, 0);
}

static void be_lazy(void)
{
	u16 i;

	for (i = 0; i < 3; i++)
		w.node[i].space.policy.notices = DSM_NOTICES_LAZY;
}

static void lazy_notices_go_with_a_lock(void **state)
{
	u64 key = world_key(DSM_MSG_LOCK_REQ, A, 0);

	be_lazy();
	share(0);
	w.held[DSM_MSG_CSM_NOTICE] = true;
	assert_int_equal(world_lock(B, key, 1), 0);
	world_store(B, 0, 0, 1);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_count(DSM_MSG_CSM_NOTICE), 0);
	assert_int_equal(world_engine(B)->log_records, 1);
	/* Nothing is said to who acquires something else. */
	assert_false(dsm_acq_needed(world_engine(C)));
	assert_int_equal(world_unlock(B, key, 1), 0);
	assert_int_equal(state_of(C, 0), DSM_PAGE_RD);
	assert_int_equal(world_lock(C, key, 2), 0);
	assert_int_equal(state_of(C, 0), DSM_PAGE_INV);
	assert_int_equal(world_load(C, 0, 0), 1);
	assert_int_equal(world_unlock(C, key, 2), 0);
	/* A page that nobody else has is in no interval. */
	world_store(B, 3, 0, 1);
	assert_int_equal(state_of(B, 3), DSM_PAGE_EX);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->stats.intervals, 1);
	/* Nor is one whose home alone has it, as soon as who had a copy has dropped it. */
	world_load(C, 1, 0);
	world_store(B, 1, 0, 1);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->stats.intervals, 2);
	assert_int_equal(world_lock(B, key, 1), 0);
	assert_int_equal(world_unlock(B, key, 1), 0);
	assert_int_equal(world_lock(C, key, 2), 0);
	world_acquire(C);
	world_run();
	assert_int_equal(sharers(1), 0);
	world_store(B, 1, 0, 2);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->stats.intervals, 2);
}

static void lazy_notices_name_a_lost_node_once_more(void **state)
{
	be_lazy();
	world_load(C, 1, 0);
	world_lose(C);
	world_run();
	assert_int_equal(sharers(1), 1u << C);
	world_store(B, 1, 0, 1);
	assert_int_equal(state_of(B, 1), DSM_PAGE_HOMEW);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->stats.intervals, 1);
	assert_int_equal(sharers(1), 0);
	world_store(B, 1, 0, 2);
	assert_int_equal(state_of(B, 1), DSM_PAGE_HX);
}

static void many_pages_are_told_of_in_one_message(void **state)
{
	u32 i;

	for (i = 0; i < 30; i += 3) {
		share(i);
		world_store(B, i, 0, 1);
	}
	w.held[DSM_MSG_CSM_NOTICE] = true;
	w.held[DSM_MSG_DIFF_ACK] = true;
	world_release_begin(B);
	world_run();
	w.held[DSM_MSG_DIFF_ACK] = false;
	world_run();
	/* Those acknowledged by one message of the home. */
	assert_int_equal(world_count(DSM_MSG_CSM_NOTICE), world_engine(B)->stats.notices_sent);
	w.held[DSM_MSG_CSM_NOTICE] = false;
	world_run();
	assert_int_equal(world_engine(C)->stats.notices_received, 10);
	assert_int_equal(world_acquire(C), 10);
	/* The home's own pages, written back in one step. */
	for (i = 1; i < 31; i += 3) {
		world_load(C, i, 0);
		world_store(B, i, 0, 2);
	}
	w.held[DSM_MSG_CSM_NOTICE] = true;
	world_release_begin(B);
	world_run();
	assert_true(world_count(DSM_MSG_CSM_NOTICE) >= 1);
	w.held[DSM_MSG_CSM_NOTICE] = false;
	world_run();
	assert_int_equal(world_engine(C)->stats.notices_received, 20);
}

static void a_fetch_that_had_to_wait_is_answered_briefly(void **state)
{
	w.sinks = true;
	/* Its home writes it without notice, and gives that up before it answers. */
	world_store(A, 0, 7, 70);
	world_release(A);
	assert_int_equal(state_of(A, 0), DSM_PAGE_HX);
	assert_int_equal(world_load(B, 0, 7), 70);
	assert_int_equal(world_engine(A)->stats.excl_breaks, 1);
	assert_int_equal(w.briefs, 1);
	assert_int_equal(world_page(B, 0)->ver, world_page(A, 0)->ver);
	/* The registration has to be told of, once. */
	w.node[A].registered = true;
	world_store(A, 3, 7, 71);
	world_release(A);
	assert_int_equal(world_load(B, 3, 7), 71);
	assert_int_equal(w.briefs, 1);
	world_store(A, 6, 7, 72);
	world_release(A);
	assert_int_equal(world_load(B, 6, 7), 72);
	assert_int_equal(w.briefs, 2);
}

static void a_page_is_in_the_inbox_once(void **state)
{
	u32 i, before;

	share(0);
	world_store(B, 0, 0, 1);
	world_release(B);
	before = world_engine(C)->pool[DSM_POOL_INTERVAL].count;
	for (i = 2; i < 100; i++) {
		world_store(B, 0, 0, i);
		world_release(B);
	}
	assert_true(world_engine(C)->stats.notices_received >= 99);
	assert_true(world_engine(C)->pool[DSM_POOL_INTERVAL].count >= before);
	assert_int_equal(world_acquire(C), 1);
	assert_false(dsm_acq_needed(world_engine(C)));
	assert_int_equal(world_load(C, 0, 0), 99);
}

static void an_exclusive_page_is_passed_by(void **state)
{
	u32 i;

	world_store(B, 0, 0, 1);
	assert_int_equal(state_of(B, 0), DSM_PAGE_EX);
	assert_int_equal(state_of(A, 0), DSM_PAGE_HO);
	for (i = 2; i < 10; i++) {
		world_store(B, 0, 0, i);
		assert_int_equal(world_release(B), 0);
	}
	assert_int_equal(world_engine(B)->stats.diffs + world_engine(B)->stats.twins, 0);
	assert_int_equal(world_load(C, 0, 0), 9);
	assert_int_equal(state_of(B, 0), DSM_PAGE_RD);
	assert_int_equal(state_of(A, 0), DSM_PAGE_HOME);
	assert_int_equal(sharers(0), 1u << B | 1u << C);
	assert_int_equal(world_page(B, 0)->ver, world_page(A, 0)->ver);
	assert_int_equal(world_engine(B)->stats.excl_breaks, 1);
	/* And at its home. */
	world_store(A, 3, 0, 7);
	assert_int_equal(state_of(A, 3), DSM_PAGE_HX);
	assert_int_equal(world_load(B, 3, 0), 7);
	assert_int_equal(state_of(A, 3), DSM_PAGE_HOME);
	world_store(A, 3, 0, 8);
	assert_int_equal(state_of(A, 3), DSM_PAGE_HOMEW);
}

static void a_copy_that_alone_is_left_is_upgraded(void **state)
{
	world_load(B, 0, 0);
	assert_true(world_page(B, 0)->csm & DSM_CSM_SOLE);
	world_store(B, 0, 0, 5);
	assert_int_equal(state_of(B, 0), DSM_PAGE_EX);
	assert_int_equal(world_engine(B)->stats.twins, 0);
	/* The hint may be wrong by now: a twin then. */
	world_load(B, 3, 0);
	world_load(C, 3, 0);
	world_store(B, 3, 0, 5);
	assert_int_equal(state_of(B, 3), DSM_PAGE_WR);
	/* Nor where the home's threads have it mapped. */
	world_load(A, 6, 0);
	world_load(B, 6, 0);
	assert_false(world_page(B, 6)->csm & DSM_CSM_SOLE);
	world_store(B, 6, 0, 5);
	assert_int_equal(state_of(B, 6), DSM_PAGE_WR);
}

/* A third node told of a version that never was: the home, which has all there is, is not dropped for that. */
static void reg_a_forged_version_does_not_part_a_node_from_its_home(void **state)
{
	world_load(B, 0, 0);
	world_page(B, 0)->need = 1000;
	dsm_page_invalidate(world_engine(B), world_page(B, 0));
	world_store(B, 0, 0, 5);
	assert_int_equal(state_of(B, 0), DSM_PAGE_EX);
	assert_int_equal(world_page(B, 0)->need, world_page(B, 0)->ver);
	assert_int_equal(world_load(C, 0, 0), 5);
	assert_int_equal(world_load(B, 0, 0), 5);
}

static void a_pinned_exclusive_page_gets_a_twin_when_it_is_given_back(void **state)
{
	world_store(B, 0, 0, 1);
	w.node[B].pinned[0] = true;
	assert_int_equal(world_load(C, 0, 0), 1);
	assert_int_equal(state_of(B, 0), DSM_PAGE_WR);
	/* The device goes on. */
	((u8 *)world_page(B, 0)->frame)[1] = 2;
	w.node[B].pinned[0] = false;
	assert_int_equal(world_release(B), 0);
	world_acquire(C);
	assert_int_equal(world_load(C, 0, 1), 2);
}

static void pages_wanted_at_once_are_given_back_a_few_at_a_time(void **state)
{
	u32 i;

	for (i = 0; i < 60; i += 3)
		world_store(B, i, 0, i);
	w.hold_flush = true;
	for (i = 0; i < 60; i += 3)
		world_fault(C, i, false);
	world_run();
	for (i = 0; i < DSM_STEP_OTHERS; i++)
		assert_non_null(dsm_rel_take(world_engine(B)));
	assert_null(dsm_rel_take(world_engine(B)));
	for (i = 0; i < DSM_STEP_OTHERS; i++) {
		bool keep;

		assert_false(world_downgrade(B, world_page(B, 3 * i), &keep));
	}
	w.hold_flush = false;
	world_run();
	for (i = 0; i < 60; i += 3)
		assert_int_equal(world_load(C, i, 0), i);
}

static void copies_not_used_any_more_are_dropped(void **state)
{
	share(0);
	share(3);
	world_store(B, 0, 0, 1);
	world_store(B, 3, 0, 1);
	world_release(B);
	world_acquire(C);
	assert_int_equal(sharers(0), 1u << B | 1u << C);
	/* Used again. */
	world_load(C, 3, 0);
	world_acquire(C);
	w.held[DSM_MSG_CSM_DROP_ACK] = true;
	world_run();
	assert_int_equal(sharers(0), 1u << B);
	assert_int_equal(sharers(3), 1u << B | 1u << C);
	/* Until that is known here, it is not fetched again. */
	assert_int_equal(world_fault(C, 0, false), DSM_PAGE_NONE);
	assert_true(dsm_page_busy(world_engine(C), world_page(C, 0)));
	assert_int_equal(world_count(DSM_MSG_FETCH), 0);
	w.held[DSM_MSG_CSM_DROP_ACK] = false;
	assert_int_equal(world_load(C, 0, 0), 1);
	assert_int_equal(sharers(0), 1u << B | 1u << C);
}

static void start_reading(void)
{
	u16 i;

	for (i = 0; i < 3; i++) {
		w.node[i].space.policy.fetch = DSM_FETCH_READ;
		w.node[i].registered = true;
	}
}

/* B has a version of page 0 to tell of, and C, which has a copy, hears of it and applies it. */
static void next_version(u8 val)
{
	world_store(B, 0, 0, val);
	world_release(B);
	world_acquire(C);
}

static void a_page_is_read_by_who_is_told_of_it(void **state)
{
	start_reading();
	share(0);
	assert_int_equal(w.node[C].reads, 0);
	next_version(1);
	assert_int_equal(world_load(C, 0, 0), 1);
	assert_int_equal(w.node[C].reads, 1);
	/* Given up: asked for again, and read from then on. */
	next_version(2);
	world_acquire(C);
	world_run();
	assert_int_equal(sharers(0), 1u << B);
	assert_int_equal(world_load(C, 0, 0), 2);
	assert_int_equal(w.node[C].reads, 1);
	next_version(3);
	assert_int_equal(world_load(C, 0, 0), 3);
	assert_int_equal(w.node[C].reads, 2);
	/* Who writes may be granted more than bytes. */
	next_version(4);
	world_store(C, 0, 1, 1);
	assert_int_equal(w.node[C].reads, 2);
	assert_int_equal(world_load(C, 0, 0), 4);
}

static void a_page_that_is_used_each_time_stays_in_the_set(void **state)
{
	u8 turn;

	start_reading();
	share(0);
	for (turn = 1; turn < 6; turn++) {
		next_version(turn);
		world_run();
		assert_int_equal(sharers(0), 1u << B | 1u << C);
		assert_int_equal(world_load(C, 0, 0), turn);
		assert_int_equal(w.node[C].reads, turn);
	}
}

static void a_read_ahead_that_comes_to_nothing_is_no_use(void **state)
{
	struct dsm_page *p = world_page(C, 0);

	start_reading();
	share(0);
	next_version(1);
	w.hold_xfer = true;
	dsm_fetch_ahead(world_engine(C), &p, 1, world_begin(C));
	world_end(C);
	assert_true(p->flags & DSM_PF_READ);
	world_store(B, 0, 0, 2);
	world_release(B);
	world_xfer();
	w.hold_xfer = false;
	assert_int_equal(p->state, DSM_PAGE_INV);
	/* Nobody asks again, so nobody is told for ever, and B has it alone. */
	next_version(3);
	next_version(4);
	world_run();
	assert_int_equal(sharers(0), 1u << B);
	assert_int_equal(world_load(C, 0, 0), 4);
}

static void a_notice_in_the_inbox_ends_a_read(void **state)
{
	start_reading();
	share(0);
	next_version(1);
	w.hold_xfer = true;
	assert_int_equal(world_fault(C, 0, false), DSM_PAGE_NONE);
	world_store(B, 0, 0, 2);
	world_release(B);
	/* It says what is needed, and nothing is acquired yet. */
	assert_int_equal(world_page(C, 0)->need, 2);
	world_xfer();
	assert_int_equal(state_of(C, 0), DSM_PAGE_INV);
	w.hold_xfer = false;
	assert_int_equal(world_load(C, 0, 0), 2);
	assert_int_equal(world_page(C, 0)->ver, 2);
}

static void who_is_lost_need_not_be_told(void **state)
{
	u64 target;

	share(0);
	world_store(B, 0, 0, 1);
	w.held[DSM_MSG_CSM_NOTICE] = true;
	target = world_release_begin(B);
	world_run();
	world_lose(C);
	world_run();
	assert_int_equal(world_engine(B)->rel_done, target);
	assert_int_equal(sharers(0), 1u << B);
	world_store(B, 0, 0, 2);
	assert_int_equal(world_release(B), 0);
}

static void the_only_copy_is_lost_with_its_node(void **state)
{
	world_store(B, 0, 0, 1);
	world_fault(C, 0, false);
	w.held[DSM_MSG_CSM_BREAK] = true;
	world_run();
	assert_int_equal(state_of(A, 0), DSM_PAGE_HB);
	world_lose(B);
	world_run();
	assert_int_equal(world_fault(C, 0, false), -EHOSTDOWN);
	assert_int_equal(world_fault(A, 0, true), -EHOSTDOWN);
	assert_int_equal(state_of(C, 0), DSM_PAGE_LOST);
	assert_false(world_page(A, 0)->flags & DSM_PF_DEFERRED);
}

static void a_lost_home_ends_being_exclusive(void **state)
{
	world_store(B, 0, 0, 1);
	world_load(C, 3, 0);
	w.held[DSM_MSG_CSM_UPGRADE] = true;
	world_fault(C, 3, true);
	assert_int_equal(state_of(C, 3), DSM_PAGE_UPG);
	assert_true(world_page(C, 3)->dir & DSM_DIR_IN);
	world_lose(A);
	world_run();
	assert_int_equal(state_of(B, 0), DSM_PAGE_RD);
	assert_int_equal(state_of(C, 3), DSM_PAGE_RD);
	assert_false(world_page(C, 3)->dir & DSM_DIR_IN);
	world_store(B, 0, 0, 2);
	assert_int_equal(world_release(B), -EHOSTDOWN);
}

static void fetches_that_wait_end_with_their_region(void **state)
{
	world_store(B, 0, 0, 1);
	w.sinks = true;
	world_fault(C, 0, false);
	w.held[DSM_MSG_CSM_BREAK] = true;
	world_run();
	assert_int_equal(w.lent, 1);
	assert_true(dsm_page_end_fetch(world_engine(A), WORLD_REGION, world_begin(A)));
	world_end(A);
	assert_false(dsm_page_end_fetch(world_engine(A), WORLD_REGION, world_begin(A)));
	world_end(A);
	assert_int_equal(w.lent, 0);
}

static int send(u16 to, u16 from, u8 type, u32 idx, bool granted)
{
	const struct dsm_wire_csm body = { .idx = cpu_to_le32(idx), .granted = granted };
	struct dsm_msgbuf *m = world_forge(type, WORLD_REGION, 1);
	static const u8 bytes[DSM_PAGE_BYTES];

	dsm_wire_put(m, &body, sizeof(body));
	if (type == DSM_MSG_CSM_BACK)
		dsm_wire_put(m, bytes, sizeof(bytes));
	return world_inject(to, from, m);
}

static int send_list(u16 to, u16 from, u8 type, u32 count, u32 idx)
{
	const struct dsm_wire_direct head = { .count = cpu_to_le32(count) };
	struct dsm_msgbuf *m = world_forge(type, WORLD_REGION, 1);
	__le32 wire = cpu_to_le32(idx);

	dsm_wire_put(m, &head, sizeof(head));
	dsm_wire_put(m, &wire, sizeof(wire));
	return world_inject(to, from, m);
}

static void messages_out_of_place_are_refused(void **state)
{
	share(0);
	assert_int_equal(send(B, A, DSM_MSG_CSM_BREAK, 0, false), -EPROTO);
	assert_int_equal(send(B, A, DSM_MSG_CSM_BACK_ACK, 0, false), -EPROTO);
	assert_int_equal(send(B, A, DSM_MSG_CSM_GRANT, 0, true), -EPROTO);
	assert_int_equal(send(B, A, DSM_MSG_CSM_BREAK, 0, true), -EPROTO);
	assert_int_equal(send(A, B, DSM_MSG_CSM_BACK, 0, false), -EPROTO);
	assert_int_equal(send(C, B, DSM_MSG_CSM_UPGRADE, 0, false), -EPROTO);
	world_store(B, 3, 0, 1);
	assert_int_equal(send(A, B, DSM_MSG_CSM_UPGRADE, 3, false), -EPROTO);
	assert_int_equal(send(A, B, DSM_MSG_CSM_BACK, 3, false), -EPROTO);
	assert_int_equal(send_list(A, B, DSM_MSG_CSM_DROP, 1, 3), -EPROTO);
	assert_int_equal(send_list(A, B, DSM_MSG_CSM_DROP, 2, 0), -EPROTO);
	assert_int_equal(send_list(A, B, DSM_MSG_CSM_DROP, 0, 0), -EPROTO);
	assert_int_equal(send_list(B, A, DSM_MSG_CSM_DROP_ACK, 1, 0), -EPROTO);
	assert_int_equal(send_list(C, B, DSM_MSG_CSM_DROP, 1, 0), -EPROTO);
	assert_int_equal(world_inject(B, C, world_forge(DSM_MSG_CSM_NOTICE_ACK, 0, 77)), -EPROTO);
	/* From another than the home. */
	assert_int_equal(send(B, C, DSM_MSG_CSM_BREAK, 3, false), -EPROTO);
	assert_int_equal(state_of(B, 3), DSM_PAGE_EX);
	assert_int_equal(sharers(0), 1u << B | 1u << C);
}

/* The page would be wanted back for ever, and no release of this node ended any more. */
static void reg_only_the_grant_follows_a_break(void **state)
{
	static const u8 status[] = { DSM_PAGE_STATUS_NACK, DSM_PAGE_STATUS_HOME, DSM_PAGE_STATUS_GONE, DSM_PAGE_STATUS_ZERO };
	struct dsm_wire_page body = { .home = cpu_to_le16(C) };
	struct dsm_msgbuf *m;
	u32 i;

	w.held[DSM_MSG_FETCH] = true;
	assert_int_equal(world_fault(B, 0, true), DSM_PAGE_NONE);
	assert_int_equal(send(B, A, DSM_MSG_CSM_BREAK, 0, false), 0);
	for (i = 0; i < ARRAY_SIZE(status); i++) {
		body.status = status[i];
		m = world_forge(DSM_MSG_PAGE, WORLD_REGION, world_page(B, 0)->xid);
		dsm_wire_put(m, &body, sizeof(body));
		assert_int_equal(world_inject(B, A, m), -EPROTO);
		assert_int_equal(state_of(B, 0), DSM_PAGE_FET);
	}
	world_drop_at(0);
}

/* What somebody said of a home that moves leads to a node that has not touched the page: it is nobody's fault there. */
static void reg_a_page_that_may_move_is_dropped_anywhere(void **state)
{
	u16 i;

	assert_int_equal(send_list(C, B, DSM_MSG_CSM_DROP, 1, 3), -EPROTO);
	for (i = 0; i < 3; i++)
		w.node[i].space.policy.home = DSM_HOME_MIGRATE;
	assert_int_equal(send_list(C, B, DSM_MSG_CSM_DROP, 1, WORLD_PAGES), -EPROTO);
	w.held[DSM_MSG_CSM_DROP_ACK] = true;
	assert_int_equal(send_list(C, B, DSM_MSG_CSM_DROP, 1, 3), 0);
	world_run();
	assert_int_equal(world_count(DSM_MSG_CSM_DROP_ACK), 1);
	world_drop_at(0);
}

static void other_regions_messages_are_refused(void **state)
{
	u16 i;

	for (i = 0; i < 3; i++)
		w.node[i].space.policy.consistency = DSM_CONSISTENCY_HLRC;
	share(0);
	assert_int_equal(send(A, B, DSM_MSG_CSM_UPGRADE, 0, false), -EPROTO);
	assert_int_equal(send(B, A, DSM_MSG_CSM_BREAK, 0, false), -EPROTO);
	assert_int_equal(send_list(A, B, DSM_MSG_CSM_DROP, 1, 0), -EPROTO);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_release_waits_until_all_copies_are_told_of),
		T(lazy_notices_go_with_a_lock),
		T(lazy_notices_name_a_lost_node_once_more),
		T(many_pages_are_told_of_in_one_message),
		T(a_fetch_that_had_to_wait_is_answered_briefly),
		T(a_page_is_in_the_inbox_once),
		T(an_exclusive_page_is_passed_by),
		T(a_copy_that_alone_is_left_is_upgraded),
		T(reg_a_forged_version_does_not_part_a_node_from_its_home),
		T(a_pinned_exclusive_page_gets_a_twin_when_it_is_given_back),
		T(pages_wanted_at_once_are_given_back_a_few_at_a_time),
		T(copies_not_used_any_more_are_dropped),
		T(a_page_is_read_by_who_is_told_of_it),
		T(a_page_that_is_used_each_time_stays_in_the_set),
		T(a_read_ahead_that_comes_to_nothing_is_no_use),
		T(a_notice_in_the_inbox_ends_a_read),
		T(who_is_lost_need_not_be_told),
		T(the_only_copy_is_lost_with_its_node),
		T(a_lost_home_ends_being_exclusive),
		T(fetches_that_wait_end_with_their_region),
		T(messages_out_of_place_are_refused),
		T(reg_only_the_grant_follows_a_break),
		T(reg_a_page_that_may_move_is_dropped_anywhere),
		T(other_regions_messages_are_refused),
	};

	return cmocka_run_group_tests_name("csm", tests, NULL, NULL);
}
