// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/fetch.c: by READ, into the frame, ahead, or not at all.
 */
#include "page_world.h"

#include "fetch.h"

/* Regions whose pages are homed in blocks of 32 and may be read. */
static int start_read(void **state)
{
	u32 i;

	world_start(2);
	for (i = 0; i < 2; i++) {
		w.node[i].space.policy.fetch = DSM_FETCH_READ;
		w.node[i].space.policy.block_pages = 32;
		w.node[i].registered = true;
	}
	return 0;
}

static int start_untold(void **state)
{
	u32 i;

	world_start(3);
	for (i = 0; i < 3; i++)
		w.node[i].space.all_told = true;
	return 0;
}

/* B learns A's key by its first fetch. */
static void learn_key(void)
{
	world_load(B, 31, 0);
	assert_int_equal(w.node[B].keys, 1 << A);
	assert_int_equal(w.node[B].reads, 0);
}

static void fault_reads_without_the_home(void **state)
{
	u64 served;

	world_store(A, 0, 5, 77);
	world_release(A);
	learn_key();
	served = world_engine(A)->stats.fetches_served;
	assert_int_equal(world_load(B, 0, 5), 77);
	assert_int_equal(w.node[B].reads, 1);
	assert_int_equal(world_engine(A)->stats.fetches_served, served);
	assert_int_equal(world_engine(B)->stats.page_reads, 1);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_RD);
	assert_int_equal(world_page(B, 0)->ver, 0);
}

static void other_fetches_ask_the_home(void **state)
{
	learn_key();
	w.node[B].space.policy.fetch = DSM_FETCH_NOCOPY;
	world_load(B, 0, 5);
	assert_int_equal(w.node[B].reads, 0);
	w.node[B].space.policy.fetch = DSM_FETCH_READ;
	w.node[B].keys = 0;
	world_load(B, 1, 5);
	assert_int_equal(w.node[B].reads, 0);
}

static void label_is_what_was_needed_at_the_start(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	learn_key();
	assert_false(dsm_page_notice(world_engine(B), p, 3));
	world_load(B, 0, 0);
	assert_int_equal(p->ver, 3);
	assert_false(dsm_page_notice(world_engine(B), p, 3));
	assert_true(dsm_page_notice(world_engine(B), p, 4));
}

static void read_that_began_before_a_notice_is_thrown_away(void **state)
{
	struct dsm_page *p = world_page(B, 0);
	struct dsm_engine *e = world_engine(B);

	learn_key();
	w.hold_xfer = true;
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	assert_false(dsm_page_notice(e, p, 1));
	e->stats.stale_replies = 0;
	w.node[B].woken_pages = 0;
	world_xfer();
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(e->stats.stale_replies, 1);
	assert_true(w.node[B].woken_pages & 1ull << dsm_page_bucket(p));
	/* The same for a notice that changes nothing, and for missed ones. */
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	assert_false(dsm_page_notice(e, p, 1));
	assert_false(dsm_page_invalidate(e, p));
	world_xfer();
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	world_xfer();
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_int_equal(p->ver, 1);
}

static void merge_reads_beside_the_frame(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	learn_key();
	world_store(B, 0, 0, 1);
	world_store(A, 0, 9, 9);
	world_release(A);
	assert_true(dsm_page_notice(world_engine(B), p, p->ver + 1));
	assert_int_equal(p->state, DSM_PAGE_WRS);
	w.hold_xfer = true;
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	assert_int_equal(p->state, DSM_PAGE_WRF);
	assert_int_equal(w.xfer->kind, DSM_XFER_KIND_MERGE);
	assert_ptr_not_equal(w.xfer->seg[0].page, p->frame);
	world_xfer();
	assert_int_equal(p->state, DSM_PAGE_WR);
	assert_int_equal(((u8 *)p->frame)[0], 1);
	assert_int_equal(((u8 *)p->frame)[9], 9);
	assert_int_equal(((u8 *)p->twin)[9], 9);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_load(A, 0, 0), 1);
}

static void lost_home_ends_a_read(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	learn_key();
	w.hold_xfer = true;
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	/* Back before the loss is told: still waiting. */
	world_crash(A);
	world_xfer_done(-EHOSTDOWN);
	assert_int_equal(p->state, DSM_PAGE_FET);
	world_learn_loss(B, A);
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(world_fault(B, 0, false), -EHOSTDOWN);
}

static void read_back_after_its_home_was_lost_changes_nothing(void **state)
{
	struct dsm_page *p = world_page(B, 0);
	struct dsm_xfer *x;

	learn_key();
	w.hold_xfer = true;
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	x = w.xfer;
	w.xfer = NULL;
	world_lose(A);
	assert_int_equal(p->state, DSM_PAGE_INV);
	w.xfer = x;
	world_xfer_done(-EHOSTDOWN);
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_false(p->flags & DSM_PF_READ);
}

static void acknowledgement_without_a_copy_labels_the_next_read(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	learn_key();
	world_store(B, 0, 0, 1);
	world_store(A, 0, 9, 9);
	world_release(A);
	assert_true(dsm_page_notice(world_engine(B), p, 1));
	/* Flushed in WRS: the copy goes, the home has version 2. */
	assert_int_equal(world_release(B), 0);
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(p->ver, 2);
	assert_int_equal(world_load(B, 0, 9), 9);
	assert_int_equal(p->ver, 2);
}

/* ---- ahead ---- */

static void ahead(u32 first, u32 n)
{
	struct dsm_page *page[DSM_FETCH_AHEAD_MAX];
	u32 i;

	for (i = 0; i < n; i++)
		page[i] = world_page(B, first + i);
	dsm_fetch_ahead(world_engine(B), page, n, world_begin(B));
	world_end(B);
}

static void neighbours_are_read_together(void **state)
{
	struct dsm_engine *e = world_engine(B);
	u32 i;

	learn_key();
	for (i = 0; i < 16; i++)
		((u8 *)world_page(A, i)->frame)[i] = 100 + i;
	w.hold_xfer = true;
	ahead(0, 16);
	assert_int_equal(w.node[B].reads, 1);
	assert_int_equal(w.xfer->n_segs, 16);
	/* What is on its way is not asked for again. */
	ahead(0, 16);
	assert_int_equal(w.node[B].reads, 1);
	world_xfer();
	for (i = 0; i < 16; i++)
		assert_int_equal(((u8 *)world_page(B, i)->frame)[i], 100 + i);
	assert_int_equal(e->stats.ahead_issued, 16);
	assert_int_equal(world_load(B, 3, 3), 103);
	assert_int_equal(world_load(B, 3, 3), 103);
	assert_int_equal(e->stats.ahead_hits, 1);
	assert_true(dsm_page_notice(e, world_page(B, 4), 1));
	assert_true(dsm_page_notice(e, world_page(B, 3), 1));
	assert_int_equal(e->stats.ahead_wasted, 1);
}

static void a_gap_ends_a_transfer(void **state)
{
	learn_key();
	world_load(B, 5, 0);
	w.node[B].reads = 0;
	ahead(0, 16);
	assert_int_equal(w.node[B].reads, 2);
	/* Another home's pages and our own. */
	ahead(24, 16);
	assert_int_equal(w.node[B].reads, 3);
	world_run();
	assert_int_equal(world_page(B, 30)->state, DSM_PAGE_RD);
	assert_int_equal(world_page(B, 32)->state, DSM_PAGE_HOME);
}

static void without_a_key_each_is_asked_for_in_one_step(void **state)
{
	w.node[A].registered = false;
	ahead(0, DSM_FETCH_AHEAD_MAX);
	assert_int_equal(world_count(DSM_MSG_FETCH), DSM_FETCH_AHEAD_MAX);
	world_run();
	ahead(0, DSM_FETCH_AHEAD_MAX);
	assert_int_equal(world_count(DSM_MSG_FETCH), 0);
	assert_int_equal(world_engine(B)->stats.ahead_issued, 16);
}

static void discarded_page_fetched_ahead_counts_as_wasted(void **state)
{
	learn_key();
	w.hold_xfer = true;
	ahead(0, 2);
	dsm_page_notice(world_engine(B), world_page(B, 1), 1);
	world_xfer();
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_RD);
	assert_int_equal(world_page(B, 1)->state, DSM_PAGE_INV);
	assert_int_equal(world_engine(B)->stats.ahead_wasted, 1);
}

static void stale_answer_to_a_guess_is_not_asked_for_again(void **state)
{
	struct dsm_page *p = world_page(B, 0);
	struct dsm_engine *e = world_engine(B);

	w.node[A].registered = false;
	ahead(0, 1);
	assert_false(dsm_page_notice(e, p, 1));
	assert_int_equal(e->stats.ahead_wasted, 0);
	w.node[B].woken_pages = 0;
	world_run();
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(e->stats.ahead_wasted, 1);
	assert_int_equal(world_engine(A)->stats.fetches_served, 1);
	assert_true(w.node[B].woken_pages & 1ull << dsm_page_bucket(p));
}

static void looking_ahead_claims_no_page(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	ahead(0, 1);
	/* Who needs it meanwhile waits, and then asks for itself. */
	assert_int_equal(world_fault(B, 0, true), DSM_PAGE_NONE);
	world_run();
	assert_int_equal(world_page(A, 0)->state, DSM_PAGE_FREE);
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_true(w.node[B].woken_pages & 1ull << dsm_page_bucket(p));
	assert_int_equal(world_fault(B, 0, true), DSM_PAGE_NONE);
	world_run();
	assert_int_equal(p->state, DSM_PAGE_HOME);
	/* It has a home now, and can be had. */
	p = world_page(C, 0);
	dsm_fetch_ahead(world_engine(C), &p, 1, world_begin(C));
	world_end(C);
	world_run();
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_int_equal(p->home, B);
}

static void home_that_was_not_asked_for_is_refused(void **state)
{
	struct dsm_wire_page body = { .status = DSM_PAGE_STATUS_HOME };
	struct dsm_msgbuf *m;

	ahead(0, 1);
	m = world_forge(DSM_MSG_PAGE, WORLD_REGION, world_page(B, 0)->xid);
	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
}

static void fetch_sent_on_to_a_lost_home_is_over(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	world_fault(C, 0, true);
	world_run();
	assert_int_equal(world_page(C, 0)->state, DSM_PAGE_HOME);
	world_crash(C);
	world_learn_loss(B, C);
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	assert_int_equal(w.node[B].space.fetching, 1);
	world_run();
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(w.node[B].space.fetching, 0);
	assert_int_equal(world_fault(B, 0, false), -EHOSTDOWN);
}

static void unknown_wish_is_refused(void **state)
{
	struct dsm_wire_fetch body = { .want = DSM_WANT_EXCLUSIVE + 1 };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_FETCH, WORLD_REGION, 1);

	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(A, B, m), -EPROTO);
}

/* ---- into the frame ---- */

static void home_writes_into_the_frame_that_waits(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	w.sinks = true;
	world_store(A, 0, 7, 70);
	world_release(A);
	assert_int_equal(world_load(B, 0, 7), 70);
	assert_int_equal(world_engine(B)->stats.page_writes, 1);
	assert_int_equal(p->ver, 1);
	/* A merge wants the bytes in the reply. */
	world_store(B, 0, 0, 1);
	world_store(A, 0, 9, 9);
	world_release(A);
	assert_true(dsm_page_notice(world_engine(B), p, 2));
	assert_int_equal(world_load(B, 0, 9), 9);
	assert_int_equal(world_load(B, 0, 0), 1);
	assert_int_equal(world_engine(B)->stats.page_writes, 1);
}

static void answers_are_brief_if_they_say_nothing_new(void **state)
{
	w.sinks = true;
	world_store(A, 0, 7, 70);
	world_release(A);
	/* Two versions at once. */
	world_store(A, 0, 8, 80);
	world_release(A);
	assert_int_equal(world_load(B, 0, 7), 70);
	assert_int_equal(w.briefs, 1);
	assert_int_equal(world_page(B, 0)->ver, 2);
	/* The registration has to be told of, once. */
	w.node[A].registered = true;
	world_store(A, 2, 7, 71);
	world_release(A);
	assert_int_equal(world_load(B, 2, 7), 71);
	assert_int_equal(w.briefs, 1);
	world_store(A, 4, 7, 72);
	world_release(A);
	assert_int_equal(world_load(B, 4, 7), 72);
	assert_int_equal(w.briefs, 2);
}

static void what_is_no_brief_answer_is_refused(void **state)
{
	struct dsm_wire_fetch body = { .need = cpu_to_le64(9) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_FETCH, WORLD_REGION, 1);
	u8 full[DSM_HDR_BYTES + sizeof(struct dsm_wire_page)];

	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(dsm_fetch_expand(m->data, m->len, A, DSM_BRIEF_MAX, full), sizeof(full));
	assert_int_equal(dsm_fetch_expand(m->data, m->len, A, 0, full), -EPROTO);
	assert_int_equal(dsm_fetch_expand(m->data, m->len - 1, A, 1, full), -EPROTO);
	m->data[0] = DSM_MSG_DIFF;
	assert_int_equal(dsm_fetch_expand(m->data, m->len, A, 1, full), -EPROTO);
	world_msg_free(m);
}

static void fetch_by_copy_offers_no_frame(void **state)
{
	w.sinks = true;
	w.node[B].space.policy.fetch = DSM_FETCH_COPY;
	world_store(A, 0, 7, 70);
	world_release(A);
	assert_int_equal(world_load(B, 0, 7), 70);
	assert_int_equal(world_engine(B)->stats.page_writes, 0);
}

static void written_page_is_refused_where_no_frame_was_offered(void **state)
{
	struct dsm_wire_page body = { .status = DSM_PAGE_STATUS_WRITTEN };
	struct dsm_page *p = enter(DSM_PAGE_WRF);
	struct dsm_msgbuf *m = world_forge(DSM_MSG_PAGE, WORLD_REGION, p->xid);

	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
}

static void every_answer_gives_the_sink_back(void **state)
{
	w.sinks = true;
	/* Zero, you are home, ask somebody else, the page. */
	assert_int_equal(world_fault(B, 0, true), DSM_PAGE_NONE);
	assert_int_equal(w.lent, 1);
	world_run();
	assert_int_equal(w.lent, 0);
	world_store(B, 0, 3, 33);
	world_release(B);
	assert_int_equal(world_load(C, 0, 3), 33);
	assert_int_equal(world_load(C, 3, 3), 0);
	assert_int_equal(world_engine(C)->stats.page_writes, 1);
	assert_int_equal(w.lent, 0);
}

static void fetch_of_a_region_that_is_gone_gives_the_sink_back(void **state)
{
	struct dsm_wire_fetch body = { .need = cpu_to_le64(9), .sink = { cpu_to_le64(0x3001), cpu_to_le32(7) } };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_FETCH, 77, 5);
	struct dsm_wire_page *answer;

	assert_int_equal(dsm_page_on_late_fetch(world_engine(A), B, m->data, m->len, world_begin(A)), -EPROTO);
	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(dsm_page_on_late_fetch(world_engine(A), B, m->data, m->len, &w.acts), 0);
	world_end(A);
	assert_int_equal(world_count(DSM_MSG_PAGE), 1);
	answer = (struct dsm_wire_page *)world_body(DSM_MSG_PAGE);
	assert_int_equal(answer->status, DSM_PAGE_STATUS_ZERO);
	assert_int_equal(le64_to_cpu(answer->ver), 9);
	assert_int_equal(w.fly[0].m->rkey, 7);
	/* Which says, too, whether others share the key. */
	assert_int_equal(w.fly[0].m->raddr, 0x3001);
	/* Nobody waits where nothing was lent. */
	memset(m->data + m->len - sizeof(body.sink), 0, sizeof(body.sink));
	assert_int_equal(dsm_page_on_late_fetch(world_engine(A), B, m->data, m->len, world_begin(A)), 0);
	world_end(A);
	assert_int_equal(world_count(DSM_MSG_PAGE), 1);
	world_msg_free(m);
}

/* ---- not at all ---- */

static void page_nobody_told_of_is_zero(void **state)
{
	struct dsm_engine *e = world_engine(B);

	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_READABLE);
	assert_int_equal(world_fault(B, 3, true), DSM_PAGE_WRITABLE);
	assert_int_equal(w.n_fly, 0);
	assert_int_equal(e->stats.zero_local, 2);
	assert_int_equal(world_page(B, 3)->state, DSM_PAGE_WR);
}

static void told_page_is_fetched(void **state)
{
	/* Told of while it was not touched; its group is suspect, the next is not. */
	world_store(A, 0, 1, 7);
	world_release(A);
	assert_int_equal(world_lock(B, 5, 1), 0);
	world_unlock(B, 5, 1);
	world_store(A, 3, 1, 8);
	world_release(A);
	world_lock(A, 5, 2);
	world_unlock(A, 5, 2);
	world_lock(B, 5, 1);
	assert_int_equal(world_load(B, 3, 1), 8);
	assert_int_equal(world_load(B, 0, 1), 7);
	assert_int_equal(world_engine(B)->stats.zero_local, 0);
	assert_int_equal(world_fault(B, 18, false), DSM_PAGE_READABLE);
	world_unlock(B, 5, 1);
}

static void noticed_page_is_fetched(void **state)
{
	dsm_page_notice(world_engine(B), world_page(B, 0), 1);
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	assert_int_equal(world_count(DSM_MSG_FETCH), 1);
}

static void after_missed_notices_nothing_is_known_to_be_zero(void **state)
{
	world_lose(C);
	/* Known to be lost, not applied yet. */
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	world_acquire(B);
	assert_false(w.node[B].space.all_told);
	assert_int_equal(world_fault(B, 3, false), DSM_PAGE_NONE);
	assert_int_equal(world_fault(B, 2, false), -EHOSTDOWN);
	world_run();
}

static void first_touch_always_asks(void **state)
{
	w.node[B].space.all_told = true;
	assert_int_equal(world_fault(B, 0, false), DSM_PAGE_NONE);
	world_run();
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_HOME);
}

static void key_is_read_from_nothing_but_a_page_reply(void **state)
{
	struct dsm_wire_page body = { .idx = cpu_to_le32(9), .chunk_addr = cpu_to_le64(0x123), .status = 1 };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_PAGE, WORLD_REGION, 1);
	struct dsm_key key;
	u32 idx;

	dsm_wire_put(m, &body, sizeof(body));
	assert_false(dsm_fetch_key(m->data, m->len, &idx, &key));
	body.chunk_rkey = cpu_to_le32(44);
	memcpy(m->data + DSM_HDR_BYTES, &body, sizeof(body));
	assert_true(dsm_fetch_key(m->data, m->len, &idx, &key));
	assert_int_equal(idx, 9);
	assert_int_equal(key.addr, 0x123);
	assert_int_equal(key.rkey, 44);
	m->data[0] = DSM_MSG_FETCH;
	assert_false(dsm_fetch_key(m->data, m->len, &idx, &key));
	assert_false(dsm_fetch_key(m->data, 3, &idx, &key));
	world_msg_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(start_read, fault_reads_without_the_home),
		T(start_read, other_fetches_ask_the_home),
		T(start_read, label_is_what_was_needed_at_the_start),
		T(start_read, read_that_began_before_a_notice_is_thrown_away),
		T(start_read, merge_reads_beside_the_frame),
		T(start_read, lost_home_ends_a_read),
		T(start_read, read_back_after_its_home_was_lost_changes_nothing),
		T(start_read, acknowledgement_without_a_copy_labels_the_next_read),
		T(start_read, neighbours_are_read_together),
		T(start_read, a_gap_ends_a_transfer),
		T(start_read, without_a_key_each_is_asked_for_in_one_step),
		T(start_read, discarded_page_fetched_ahead_counts_as_wasted),
		T(start_read, stale_answer_to_a_guess_is_not_asked_for_again),
		T(start_touch, looking_ahead_claims_no_page),
		T(start_touch, home_that_was_not_asked_for_is_refused),
		T(start_touch, fetch_sent_on_to_a_lost_home_is_over),
		T(start2, unknown_wish_is_refused),
		T(start2, home_writes_into_the_frame_that_waits),
		T(start2, answers_are_brief_if_they_say_nothing_new),
		T(start2, what_is_no_brief_answer_is_refused),
		T(start2, fetch_by_copy_offers_no_frame),
		T(start2, written_page_is_refused_where_no_frame_was_offered),
		T(start_touch, every_answer_gives_the_sink_back),
		T(start2, fetch_of_a_region_that_is_gone_gives_the_sink_back),
		T(start_untold, page_nobody_told_of_is_zero),
		T(start_untold, told_page_is_fetched),
		T(start_untold, noticed_page_is_fetched),
		T(start_untold, after_missed_notices_nothing_is_known_to_be_zero),
		T(start_touch, first_touch_always_asks),
		T(start2, key_is_read_from_nothing_but_a_page_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
