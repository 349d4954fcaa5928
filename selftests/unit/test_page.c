// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/page.c: the state table of a page at a node and at its home.
 */
#include "page_world.h"

static const struct row faults[] = {
	{ DSM_PAGE_INV, false, DSM_PAGE_FET, DSM_PAGE_NONE, 1 },
	{ DSM_PAGE_INV, true, DSM_PAGE_FET, DSM_PAGE_NONE, 1 },
	{ DSM_PAGE_FET, false, DSM_PAGE_FET, DSM_PAGE_NONE, 1 },
	{ DSM_PAGE_FET, true, DSM_PAGE_FET, DSM_PAGE_NONE, 1 },
	{ DSM_PAGE_RD, false, DSM_PAGE_RD, DSM_PAGE_READABLE, 0 },
	{ DSM_PAGE_RD, true, DSM_PAGE_WR, DSM_PAGE_WRITABLE, 0 },
	{ DSM_PAGE_WR, false, DSM_PAGE_WR, DSM_PAGE_READABLE, 0 },
	{ DSM_PAGE_WR, true, DSM_PAGE_WR, DSM_PAGE_WRITABLE, 0 },
	{ DSM_PAGE_WRS, false, DSM_PAGE_WRF, DSM_PAGE_NONE, 1 },
	{ DSM_PAGE_WRS, true, DSM_PAGE_WRF, DSM_PAGE_NONE, 1 },
	{ DSM_PAGE_WRF, false, DSM_PAGE_WRF, DSM_PAGE_NONE, 1 },
	{ DSM_PAGE_WRF, true, DSM_PAGE_WRF, DSM_PAGE_NONE, 1 },
};

static void fault_takes_its_row(void **state)
{
	const struct row *r;

	for (r = faults; r < faults + ARRAY_SIZE(faults); r++) {
		struct dsm_page *p;
		int right;

		world_start(2);
		p = enter(r->from);
		right = world_fault(B, 0, r->write);
		unit_require(right == r->right && p->state == r->to && world_count(DSM_MSG_FETCH) == r->fetches,
			     "state %u write %d: state %u right %d fetches %u", r->from, r->write, p->state, right,
			     world_count(DSM_MSG_FETCH));
		/* A second time it changes nothing. */
		assert_int_equal(world_fault(B, 0, r->write), r->right);
		assert_int_equal(p->state, r->to);
		assert_int_equal(world_count(DSM_MSG_FETCH), r->fetches);
		assert_int_equal(world_engine(B)->n_dirty, !!p->twin);
		assert_int_equal(world_engine(B)->twins, !!p->twin);
		world_stop();
	}
}

static void fault_at_the_home_takes_its_row(void **state)
{
	struct dsm_page *p = world_page(A, 0);

	assert_int_equal(p->state, DSM_PAGE_HOME);
	assert_int_equal(world_fault(A, 0, false), DSM_PAGE_READABLE);
	assert_int_equal(p->state, DSM_PAGE_HOME);
	assert_int_equal(world_fault(A, 0, true), DSM_PAGE_WRITABLE);
	assert_int_equal(p->state, DSM_PAGE_HOMEW);
	assert_int_equal(world_fault(A, 0, true), DSM_PAGE_WRITABLE);
	assert_int_equal(world_fault(A, 0, false), DSM_PAGE_READABLE);
	assert_int_equal(world_engine(A)->n_dirty, 1);
	assert_null(p->twin);
	assert_int_equal(w.n_fly, 0);
}

static void home_that_nobody_has_a_copy_of_is_written_without_notice(void **state)
{
	struct dsm_page *p = world_page(A, 0);

	w.alone = true;
	world_store(A, 0, 0, 1);
	assert_int_equal(world_release(A), 0);
	world_store(A, 0, 0, 2);
	assert_int_equal(p->state, DSM_PAGE_HX);
	assert_int_equal(world_engine(A)->n_dirty, 0);
	assert_int_equal(world_release(A), 0);
	assert_int_equal(p->state, DSM_PAGE_HX);
	assert_int_equal(p->ver, 1);
	assert_int_equal(world_engine(A)->known[A], 1);
	/* Whoever wants it gets what is there, and is told of what comes. */
	assert_int_equal(world_load(B, 0, 0), 2);
	assert_int_equal(world_page(B, 0)->ver, 1);
	assert_int_equal(p->state, DSM_PAGE_HOMEW);
	assert_int_equal(world_release(A), 0);
	assert_int_equal(p->state, DSM_PAGE_HOME);
	assert_int_equal(p->ver, 2);
	assert_int_equal(world_engine(A)->known[A], 2);
	assert_int_equal(world_engine(A)->stats.excl_enters, 1);
	assert_int_equal(world_engine(A)->stats.excl_breaks, 1);
}

static void home_that_gave_a_copy_out_tells_of_what_it_writes(void **state)
{
	struct dsm_page *p = world_page(A, 0);

	w.alone = true;
	world_store(A, 0, 0, 1);
	assert_int_equal(world_release(A), 0);
	assert_int_equal(world_load(B, 0, 0), 1);
	world_store(A, 0, 0, 2);
	assert_int_equal(p->state, DSM_PAGE_HOMEW);
	assert_int_equal(world_release(A), 0);
	world_store(A, 0, 0, 3);
	assert_int_equal(p->state, DSM_PAGE_HX);
	/* The diff of an older copy makes no newer one. */
	world_store(B, 0, 1, 1);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(p->ver, 3);
	assert_int_equal(world_page(B, 0)->ver, 1);
	assert_int_equal(p->state, DSM_PAGE_HX);
	assert_int_equal(world_lock(A, 5, 10), 0);
	assert_int_equal(world_unlock(A, 5, 10), 0);
	assert_int_equal(world_lock(B, 5, 20), 0);
	assert_int_equal(world_load(B, 0, 0), 3);
	assert_int_equal(p->state, DSM_PAGE_HOMEW);
	assert_int_equal(world_release(A), 0);
	assert_int_equal(p->ver, 4);
}

static void home_that_others_read_from_tells_of_what_it_writes(void **state)
{
	w.alone = true;
	w.node[A].space.policy.fetch = DSM_FETCH_READ;
	world_store(A, 0, 0, 1);
	assert_int_equal(world_release(A), 0);
	world_store(A, 0, 0, 2);
	assert_int_equal(world_page(A, 0)->state, DSM_PAGE_HOMEW);
}

static void right_follows_state(void **state)
{
	static const u8 right[] = {
		[DSM_PAGE_INV] = DSM_PAGE_NONE, [DSM_PAGE_FET] = DSM_PAGE_NONE, [DSM_PAGE_RD] = DSM_PAGE_READABLE,
		[DSM_PAGE_WR] = DSM_PAGE_WRITABLE, [DSM_PAGE_WRS] = DSM_PAGE_NONE, [DSM_PAGE_WRF] = DSM_PAGE_NONE,
		[DSM_PAGE_HOME] = DSM_PAGE_READABLE, [DSM_PAGE_HOMEW] = DSM_PAGE_WRITABLE,
		[DSM_PAGE_FREE] = DSM_PAGE_NONE, [DSM_PAGE_UPG] = DSM_PAGE_READABLE,
		[DSM_PAGE_EX] = DSM_PAGE_WRITABLE, [DSM_PAGE_HX] = DSM_PAGE_WRITABLE,
	};
	struct dsm_space space = {};
	struct dsm_page p = { .space = &space };
	u32 s;

	for (s = 0; s < ARRAY_SIZE(right); s++) {
		p.state = s;
		p.flags = 0;
		assert_int_equal(dsm_page_right(&p), right[s]);
		/* While a flusher works on it nobody writes. */
		p.flags = DSM_PF_FLUSH;
		assert_int_equal(dsm_page_right(&p), min_t(u8, right[s], DSM_PAGE_READABLE));
	}
}

/* ---- notices ---- */

static void notice_takes_its_row(void **state)
{
	static const struct { u8 from, to; bool lost; } rows[] = {
		{ DSM_PAGE_INV, DSM_PAGE_INV, false }, { DSM_PAGE_FET, DSM_PAGE_FET, false },
		{ DSM_PAGE_RD, DSM_PAGE_INV, true }, { DSM_PAGE_WR, DSM_PAGE_WRS, true },
		{ DSM_PAGE_WRS, DSM_PAGE_WRS, false }, { DSM_PAGE_WRF, DSM_PAGE_WRF, false },
	};
	u32 i, all;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		for (all = 0; all < 2; all++) {
			struct dsm_page *p;
			u64 need;
			bool lost;

			world_start(2);
			p = enter(rows[i].from);
			need = p->need;
			lost = all ? dsm_page_invalidate(world_engine(B), p) : dsm_page_notice(world_engine(B), p, 5);
			unit_require(lost == rows[i].lost && p->state == rows[i].to, "row %u, all %u: %u", i, all, p->state);
			/* "Invalidate all" names no version; what it can't reach is thrown away on arrival. */
			assert_int_equal(p->need, all ? need : 5);
			assert_int_equal(!!(p->flags & DSM_PF_DISCARD),
					 all && (p->state == DSM_PAGE_FET || p->state == DSM_PAGE_WRF));
			world_stop();
		}
}

static void notice_not_above_the_label_changes_nothing(void **state)
{
	struct dsm_page *p;

	world_store(A, 0, 0, 1);
	world_release(A);
	p = enter(DSM_PAGE_RD);
	assert_int_equal(p->ver, 1);
	assert_false(dsm_page_notice(world_engine(B), p, 1));
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_false(dsm_page_notice(world_engine(B), p, 0));
	assert_int_equal(p->need, 1);
	assert_true(dsm_page_notice(world_engine(B), p, 2));
}

static void notice_never_lowers_need(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_INV);

	dsm_page_notice(world_engine(B), p, 9);
	dsm_page_notice(world_engine(B), p, 3);
	assert_int_equal(p->need, 9);
}

static void notice_does_not_reach_the_home(void **state)
{
	world_store(A, 0, 0, 1);
	assert_false(dsm_page_notice(world_engine(A), world_page(A, 0), 100));
	assert_false(dsm_page_invalidate(world_engine(A), world_page(A, 0)));
	assert_int_equal(world_page(A, 0)->state, DSM_PAGE_HOMEW);
	assert_int_equal(world_page(A, 0)->need, 0);
}

/* ---- replies ---- */

static void reply_older_than_notice_is_fetched_again(void **state)
{
	struct dsm_page *p;

	world_store(A, 0, 0, 1);
	world_release(A);
	p = enter(DSM_PAGE_FET);
	world_deliver(DSM_MSG_FETCH);
	dsm_page_notice(world_engine(B), p, 2);
	world_deliver(DSM_MSG_PAGE);
	assert_int_equal(p->state, DSM_PAGE_FET);
	assert_int_equal(world_count(DSM_MSG_FETCH), 1);
	w.held[DSM_MSG_FETCH] = true;
	world_store(A, 0, 0, 2);
	world_release(A);
	w.held[DSM_MSG_FETCH] = false;
	assert_int_equal(world_load(B, 0, 0), 2);
	assert_int_equal(p->ver, 2);
	assert_int_equal(world_engine(B)->stats.stale_replies, 1);
}

/* Told of by nobody honest: it is not asked for without end. */
static void reg_version_that_never_was(void **state)
{
	struct dsm_page *p = world_page(B, 0);
	u32 i;

	world_store(A, 0, 0, 1);
	world_release(A);
	dsm_page_notice(world_engine(B), p, ~0ull);
	for (i = 0; i < 3; i++) {
		world_engine(B)->stats.stale_replies = 0;
		w.node[B].woken_pages = 0;
		assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
		world_run();
		assert_int_equal(p->state, DSM_PAGE_INV);
		assert_int_equal(p->space->fetching, 0);
		assert_int_equal(world_engine(B)->stats.stale_replies, 16);
		assert_true(w.node[B].woken_pages & 1ull << dsm_page_bucket(p));
	}
}

static void reply_after_invalidate_all_is_thrown_away_once(void **state)
{
	struct dsm_page *p;

	world_store(A, 0, 0, 1);
	world_release(A);
	p = enter(DSM_PAGE_FET);
	world_deliver(DSM_MSG_FETCH);
	dsm_page_invalidate(world_engine(B), p);
	world_deliver(DSM_MSG_PAGE);
	assert_int_equal(p->state, DSM_PAGE_FET);
	world_deliver(DSM_MSG_FETCH);
	world_deliver(DSM_MSG_PAGE);
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_false(p->flags & DSM_PF_DISCARD);
}

static void page_never_written_is_answered_with_zero(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	memset(p->frame, 0xaa, DSM_PAGE_BYTES);
	world_fault(B, 0, false);
	world_deliver(DSM_MSG_FETCH);
	assert_int_equal(((struct dsm_wire_page *)world_body(DSM_MSG_PAGE))->status, DSM_PAGE_STATUS_ZERO);
	world_run();
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_int_equal(((u8 *)p->frame)[4095], 0);
	assert_int_equal(world_engine(B)->stats.zero_replies, 1);
}

static void page_being_written_at_home_is_answered_with_data(void **state)
{
	world_store(A, 0, 7, 77);
	world_fault(B, 0, false);
	world_deliver(DSM_MSG_FETCH);
	assert_int_equal(((struct dsm_wire_page *)world_body(DSM_MSG_PAGE))->status, DSM_PAGE_STATUS_DATA);
	/* The label names what is closed: nothing yet. */
	assert_int_equal(((struct dsm_wire_page *)world_body(DSM_MSG_PAGE))->ver, 0);
	world_run();
	assert_int_equal(world_load(B, 0, 7), 77);
}

static void reply_with_another_request_id_is_ignored(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_FET);

	world_deliver(DSM_MSG_FETCH);
	world_hdr(DSM_MSG_PAGE)->xid++;
	world_deliver(DSM_MSG_PAGE);
	assert_int_equal(p->state, DSM_PAGE_FET);
	assert_int_equal(world_engine(B)->stats.stale_replies, 1);
}

static void reply_from_another_node_is_ignored(void **state)
{
	struct dsm_page *p;

	p = enter(DSM_PAGE_FET);
	world_deliver(DSM_MSG_FETCH);
	w.fly[0].src = C;
	world_deliver(DSM_MSG_PAGE);
	assert_int_equal(p->state, DSM_PAGE_FET);
}

static void reply_nobody_waits_for_is_ignored_in_every_state(void **state)
{
	static const u8 states[] = { DSM_PAGE_INV, DSM_PAGE_RD, DSM_PAGE_WR, DSM_PAGE_WRS };
	u32 i, status;

	for (i = 0; i < ARRAY_SIZE(states); i++)
		for (status = DSM_PAGE_STATUS_DATA; status <= DSM_PAGE_STATUS_NACK; status++) {
			struct dsm_wire_page body = { .status = status };
			u8 data[DSM_PAGE_BYTES] = { 0xee };
			struct dsm_msgbuf *m;
			struct dsm_page *p;

			world_start(2);
			p = enter(states[i]);
			m = world_forge(DSM_MSG_PAGE, WORLD_REGION, p->xid);
			dsm_wire_put(m, &body, sizeof(body));
			if (status == DSM_PAGE_STATUS_DATA)
				dsm_wire_put(m, data, sizeof(data));
			assert_int_equal(world_inject(B, A, m), 0);
			assert_int_equal(p->state, states[i]);
			assert_int_not_equal(((u8 *)p->frame)[0], 0xee);
			world_stop();
		}
}

static void merge_keeps_own_bytes_and_takes_the_others(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_WRF);

	world_run();
	assert_int_equal(p->state, DSM_PAGE_WR);
	assert_int_equal(p->ver, 2);
	assert_int_equal(((u8 *)p->frame)[0], 1);
	assert_int_equal(((u8 *)p->frame)[9], 9);
	assert_int_equal(((u8 *)p->frame)[10], 9);
	/* The twin has the others' bytes only: they are not sent back. */
	assert_int_equal(((u8 *)p->twin)[0], 0);
	assert_int_equal(((u8 *)p->twin)[10], 9);
	assert_int_equal(world_engine(B)->stats.merges, 1);
	assert_int_equal(world_engine(B)->stats.race_conflicts, 0);
}

/* ---- labels ---- */

static void acknowledged_diff_raises_the_label_without_a_gap(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_WR);

	assert_int_equal(world_release(B), 0);
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_int_equal(p->ver, 1);
	assert_int_equal(world_page(A, 0)->ver, 1);
}

static void acknowledged_diff_behind_anothers_leaves_the_label(void **state)
{
	struct dsm_page *p;

	world_store(B, 0, 0, 1);
	world_store(C, 0, 1, 2);
	assert_int_equal(world_release(C), 0);
	assert_int_equal(world_release(B), 0);
	p = world_page(B, 0);
	/* C's bytes are missing here: the copy must not be called version 2. */
	assert_int_equal(p->ver, 0);
	assert_int_equal(world_page(C, 0)->ver, 1);
	assert_true(dsm_page_notice(world_engine(B), p, 1));
	assert_int_equal(world_load(B, 0, 1), 2);
}

static void acknowledgement_of_nothing_breaks_the_protocol(void **state)
{
	static const u8 states[] = { DSM_PAGE_INV, DSM_PAGE_FET, DSM_PAGE_RD, DSM_PAGE_WR, DSM_PAGE_WRS, DSM_PAGE_WRF };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		struct dsm_wire_ack ack = { .ver = 1 };
		struct dsm_msgbuf *m;

		world_start(2);
		enter(states[i]);
		m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, 0);
		dsm_wire_put(m, &ack, sizeof(ack));
		assert_int_equal(world_inject(B, A, m), -EPROTO);
		world_stop();
	}
}

static void acknowledgement_must_be_one_step_and_from_the_home(void **state)
{
	struct dsm_wire_ack ack = { .prev = cpu_to_le64(3), .ver = cpu_to_le64(5) };
	struct dsm_msgbuf *m;
	u32 xid;

	enter(DSM_PAGE_WR);
	w.held[DSM_MSG_DIFF_ACK] = true;
	world_release_begin(B);
	world_run();
	xid = le32_to_cpu(world_hdr(DSM_MSG_DIFF_ACK)->xid);
	m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, xid);
	dsm_wire_put(m, &ack, sizeof(ack));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
	ack.ver = cpu_to_le64(4);
	m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, xid);
	dsm_wire_put(m, &ack, sizeof(ack));
	assert_int_equal(world_inject(B, C, m), -EPROTO);
	ack.idx = cpu_to_le32(WORLD_PAGES);
	m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, xid);
	dsm_wire_put(m, &ack, sizeof(ack));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
	assert_true(world_page(B, 0)->flags & DSM_PF_UNACKED);
}

static void diff_at_a_node_that_is_not_the_home_is_refused(void **state)
{
	struct dsm_wire_record rec = { .idx = 0, .enc = DSM_DIFF_ZERO };
	struct dsm_wire_record both[] = { { .idx = cpu_to_le32(1), .enc = DSM_DIFF_ZERO }, rec };

	world_load(B, 0, 0);
	world_send_diff(C, B, (u8 *)&rec, sizeof(rec));
	assert_int_equal(world_deliver_at(0), -EPROTO);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_RD);
	/* One bad record refuses the whole pack. */
	world_store(B, 1, 0, 5);
	world_send_diff(C, B, (u8 *)both, sizeof(both));
	assert_int_equal(world_deliver_at(0), -EPROTO);
	assert_int_equal(world_load(B, 1, 0), 5);
}

/* ---- deferral ---- */

static void fetch_waits_for_the_own_unacknowledged_diff(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_WR);

	w.held[DSM_MSG_DIFF_ACK] = true;
	world_release_begin(B);
	world_run();
	assert_true(p->flags & DSM_PF_UNACKED);
	assert_true(dsm_page_notice(world_engine(B), p, 7));
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	assert_int_equal(world_count(DSM_MSG_FETCH), 0);
	assert_true(dsm_page_busy(world_engine(B), p));
	w.node[B].woken_pages = 0;
	world_deliver(DSM_MSG_DIFF_ACK);
	assert_true(w.node[B].woken_pages & 1ull << dsm_page_bucket(p));
	assert_false(dsm_page_busy(world_engine(B), p));
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	assert_int_equal(world_count(DSM_MSG_FETCH), 1);
}

static void flush_waits_for_the_merge(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_WRF);
	u64 target;

	w.held[DSM_MSG_PAGE] = true;
	target = world_release_begin(B);
	world_run();
	assert_int_equal(p->state, DSM_PAGE_WRF);
	assert_int_equal(p->flags & (DSM_PF_PENDING | DSM_PF_TODO), DSM_PF_PENDING);
	assert_null(dsm_rel_take(world_engine(B)));
	world_deliver(DSM_MSG_PAGE);
	assert_true(p->flags & DSM_PF_TODO);
	world_run();
	assert_int_equal(world_engine(B)->rel_done, target);
	assert_int_equal(((u8 *)world_page(A, 0)->frame)[0], 1);
	assert_int_equal(((u8 *)world_page(A, 0)->frame)[9], 9);
}

static void merge_waits_for_the_flush(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_WRS);

	w.hold_flush = true;
	world_release_begin(B);
	assert_true(p->flags & DSM_PF_TODO);
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	assert_int_equal(p->state, DSM_PAGE_WRS);
	assert_true(dsm_page_busy(world_engine(B), p));
	w.hold_flush = false;
	world_run();
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(world_load(B, 0, 9), 9);
	assert_int_equal(world_load(B, 0, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fault_takes_its_row),
		T(start2, fault_at_the_home_takes_its_row),
		T(start2, home_that_nobody_has_a_copy_of_is_written_without_notice),
		T(start2, home_that_gave_a_copy_out_tells_of_what_it_writes),
		T(start2, home_that_others_read_from_tells_of_what_it_writes),
		cmocka_unit_test(right_follows_state),
		cmocka_unit_test(notice_takes_its_row),
		T(start2, notice_not_above_the_label_changes_nothing),
		T(start2, notice_never_lowers_need),
		T(start2, notice_does_not_reach_the_home),
		T(start2, reply_older_than_notice_is_fetched_again),
		T(start2, reg_version_that_never_was),
		T(start2, reply_after_invalidate_all_is_thrown_away_once),
		T(start2, page_never_written_is_answered_with_zero),
		T(start2, page_being_written_at_home_is_answered_with_data),
		T(start2, reply_with_another_request_id_is_ignored),
		T(start3, reply_from_another_node_is_ignored),
		cmocka_unit_test(reply_nobody_waits_for_is_ignored_in_every_state),
		T(start2, merge_keeps_own_bytes_and_takes_the_others),
		T(start2, acknowledged_diff_raises_the_label_without_a_gap),
		T(start3, acknowledged_diff_behind_anothers_leaves_the_label),
		cmocka_unit_test(acknowledgement_of_nothing_breaks_the_protocol),
		T(start3, acknowledgement_must_be_one_step_and_from_the_home),
		T(start3, diff_at_a_node_that_is_not_the_home_is_refused),
		T(start2, fetch_waits_for_the_own_unacknowledged_diff),
		T(start2, flush_waits_for_the_merge),
		T(start2, merge_waits_for_the_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
