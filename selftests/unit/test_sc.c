// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/sc.c and core/sc_home.c that depend on time, on devices, or on peers that break them; the
 * orders of messages are the model's.
 */
#include "unit.h"
#include "world.h"

#define A 0
#define B 1
#define C 2

#define MS 1000000ull

static int start(void **state)
{
	u16 i;

	world_start(3);
	for (i = 0; i < 3; i++) {
		w.node[i].space.policy.consistency = DSM_CONSISTENCY_SC;
		world_engine(i)->now_ns = 1000 * MS;
	}
	return 0;
}

static int stop(void **state)
{
	world_stop();
	return 0;
}

static int fault(u16 node, u32 idx, bool write)
{
	int right;

	right = dsm_page_fault(world_engine(node), world_page(node, idx), write, world_begin(node));
	world_end(node);
	return right;
}

/* What the shell does when it is time: true: something was given up. */
static bool recall_one(u16 node)
{
	struct dsm_request *q;
	struct dsm_page *p;
	u64 next;

	q = dsm_sc_take(world_engine(node), &p, &next);
	if (!q)
		return false;
	dsm_sc_lowered(world_engine(node), p, q, w.node[node].pinned[p->idx], world_begin(node));
	world_end(node);
	return true;
}

static u64 next_recall(u16 node)
{
	struct dsm_page *p;
	u64 next;

	assert_null(dsm_sc_take(world_engine(node), &p, &next));
	return next;
}

static void pass(u64 ns)
{
	u16 i;

	for (i = 0; i < 3; i++)
		world_engine(i)->now_ns += ns;
}

/* Everything that can happen without anybody else's doing; holds are over. */
static void settle(void)
{
	bool more = true;
	u16 i;

	while (more) {
		world_run();
		pass(250 * MS);
		for (i = 0, more = false; i < 3; i++)
			more |= !w.node[i].dead && recall_one(i);
	}
}

static void get(u16 node, u32 idx, bool write)
{
	fault(node, idx, write);
	settle();
	assert_int_equal(fault(node, idx, write), write ? DSM_PAGE_WRITABLE : DSM_PAGE_READABLE);
	dsm_sc_used(world_engine(node), world_page(node, idx));
}

static u8 *bytes(u16 node, u32 idx)
{
	return world_page(node, idx)->frame;
}

static void one_writer_or_many_readers(void **state)
{
	get(A, 0, true);
	bytes(A, 0)[0] = 1;
	get(B, 0, false);
	get(C, 0, false);
	assert_int_equal(bytes(B, 0)[0], 1);
	assert_int_equal(bytes(C, 0)[0], 1);
	assert_int_equal(world_page(A, 0)->state, DSM_SC_S);
	get(B, 0, true);
	assert_int_equal(world_page(A, 0)->state, DSM_SC_I);
	assert_int_equal(world_page(C, 0)->state, DSM_SC_I);
	bytes(B, 0)[0] = 2;
	get(C, 0, true);
	assert_int_equal(bytes(C, 0)[0], 2);
	assert_int_equal(world_page(B, 0)->state, DSM_SC_I);
	get(A, 0, false);
	assert_int_equal(bytes(A, 0)[0], 2);
	assert_int_equal(world_page(C, 0)->state, DSM_SC_S);
}

static void pages_never_written_do_not_travel(void **state)
{
	fault(B, 0, false);
	world_run();
	assert_int_equal(world_page(B, 0)->state, DSM_SC_S);
	assert_int_equal(world_engine(B)->stats.zero_replies, 1);
	assert_int_equal(world_engine(B)->stats.page_transfers, 0);
	/* An upgrade carries no bytes either. */
	get(B, 0, true);
	assert_int_equal(world_engine(B)->stats.page_transfers, 0);
}

/* B has page 0 to write, and A wants it. */
static void wanted(void)
{
	fault(B, 0, true);
	world_run();
	assert_int_equal(world_page(B, 0)->state, DSM_SC_M);
	fault(A, 0, true);
	world_run();
}

static void a_page_is_held_until_it_was_used(void **state)
{
	u64 now, until;

	wanted();
	assert_false(recall_one(B));
	now = world_engine(B)->now_ns;
	assert_in_range(next_recall(B) - now, 1 * MS, 100 * MS);
	dsm_sc_used(world_engine(B), world_page(B, 0));
	until = next_recall(B);
	assert_in_range(until - now, 100000, 20 * MS);
	pass(until - now - 1);
	assert_false(recall_one(B));
	pass(1);
	assert_true(recall_one(B));
	world_run();
	assert_int_equal(world_page(A, 0)->state, DSM_SC_M);
}

static void a_page_nobody_comes_to_use_is_not_held_for_ever(void **state)
{
	wanted();
	pass(100 * MS);
	assert_true(recall_one(B));
}

static void the_hold_grows_with_the_time_of_a_fetch(void **state)
{
	u64 before;
	u32 i;

	for (i = 0; i < 40; i++) {
		fault(B, 3 * i % 60, false);
		pass(2 * MS);
		world_run();
		pass(50 * MS);
	}
	assert_in_range(world_engine(B)->sc_fetch_ns, 1500000, 2 * MS);
	fault(B, 0, true);
	world_run();
	before = world_engine(B)->now_ns;
	dsm_sc_used(world_engine(B), world_page(B, 0));
	assert_in_range(world_page(B, 0)->sc.until - before, 3 * MS, 8 * MS);
	/* What others held is not counted: else holds would feed holds. */
	fault(A, 0, true);
	world_run();
	for (i = 0; i < 30; i++)
		settle();
	assert_in_range(world_engine(A)->sc_fetch_ns, 0, 20 * MS);
}

/* Where a fetch takes 15 ms it must not be of one length: both of two nodes would have lost the first page with the second. */
static void the_hold_is_longer_than_a_slow_fetch_and_random(void **state)
{
	struct dsm_engine *e = world_engine(B);
	u64 percent, least = U64_MAX, most = 0;
	u32 i;

	for (i = 0; i < 50; i++) {
		e->sc_fetch_ns = 15 * MS;
		get(B, 0, true);
		percent = 100 * (world_page(B, 0)->sc.until - e->now_ns) / e->sc_fetch_ns;
		least = min(least, percent);
		most = max(most, percent);
		get(C, 0, true);
	}
	assert_in_range(least, 200, 250);
	assert_in_range(most, 350, 400);
	/* Of a network that is slower than any no more than that. */
	e->sc_fetch_ns = 1000 * MS;
	get(B, 0, true);
	assert_in_range(world_page(B, 0)->sc.until - e->now_ns, 100 * MS, 200 * MS);
}

static void the_hold_is_extended_once_while_somebody_waits(void **state)
{
	u64 first, second;

	wanted();
	dsm_sc_used(world_engine(B), world_page(B, 0));
	world_engine(B)->sc_waiting = 1;
	first = next_recall(B);
	pass(first - world_engine(B)->now_ns);
	second = next_recall(B);
	assert_true(second > first);
	pass(second - first);
	assert_true(recall_one(B));
}

/* Asked for to be written, and recalled for another: what is measured is the fetch, not the hold. */
static void reg_the_extension_leaves_the_time_of_the_question_alone(void **state)
{
	u64 asked, at;

	get(B, 0, false);
	fault(C, 0, true);
	world_deliver(DSM_MSG_SC_GET);
	asked = world_engine(B)->now_ns;
	fault(B, 0, true);
	world_deliver(DSM_MSG_SC_RECALL);
	assert_int_equal(world_page(B, 0)->state, DSM_SC_SM);
	pass(3 * MS);
	world_engine(B)->sc_waiting = 1;
	at = next_recall(B);
	assert_true(at > world_engine(B)->now_ns);
	assert_int_equal(world_page(B, 0)->sc.until, asked);
	/* Once, as any other. */
	pass(at - world_engine(B)->now_ns);
	assert_true(recall_one(B));
	assert_int_equal(world_page(B, 0)->state, DSM_SC_IM);
	assert_int_equal(world_page(B, 0)->sc.until, asked);
	world_engine(B)->sc_waiting = 0;
	settle();
	assert_int_equal(world_page(B, 0)->state, DSM_SC_M);
}

static void a_page_to_read_goes_at_once(void **state)
{
	get(B, 0, false);
	fault(A, 0, true);
	world_run();
	assert_true(recall_one(B));
	world_run();
	assert_int_equal(world_page(A, 0)->state, DSM_SC_M);
}

static void a_pinned_page_waits_for_its_device(void **state)
{
	u32 i;

	wanted();
	dsm_sc_used(world_engine(B), world_page(B, 0));
	w.node[B].pinned[0] = true;
	pass(50 * MS);
	for (i = 0; i < 5; i++) {
		assert_true(recall_one(B));
		assert_int_equal(world_page(B, 0)->state, DSM_SC_M);
		/* Nobody gets at it meanwhile. */
		assert_int_equal(dsm_page_right(world_page(B, 0)), DSM_PAGE_NONE);
		assert_true(dsm_page_busy(world_engine(B), world_page(B, 0)));
		assert_false(recall_one(B));
		pass(5 * MS);
	}
	bytes(B, 0)[7] = 9;
	w.node[B].pinned[0] = false;
	settle();
	assert_int_equal(world_page(A, 0)->state, DSM_SC_M);
	assert_int_equal(bytes(A, 0)[7], 9);
}

static void a_page_pinned_for_ever_is_refused_and_kept(void **state)
{
	wanted();
	fault(C, 0, false);
	world_run();
	w.node[B].pinned[0] = true;
	pass(50 * MS);
	assert_true(recall_one(B));
	pass(20000 * MS);
	assert_true(recall_one(B));
	assert_int_equal(world_page(B, 0)->state, DSM_SC_M);
	assert_int_equal(dsm_page_right(world_page(B, 0)), DSM_PAGE_WRITABLE);
	world_run();
	/* Who waited is told once; then it may ask again. The next in turn is served. */
	assert_false(dsm_page_busy(world_engine(A), world_page(A, 0)));
	assert_int_equal(fault(A, 0, true), -EBUSY);
	w.node[B].pinned[0] = false;
	settle();
	assert_int_equal(world_page(C, 0)->state, DSM_SC_S);
	get(A, 0, true);
	assert_int_equal(world_engine(B)->stats.sc_refusals, 1);
}

/* ---- losses ---- */

static void a_lost_owner_takes_the_page_along(void **state)
{
	get(B, 0, true);
	get(C, 3, true);
	fault(A, 0, false);
	fault(C, 0, true);
	world_run();
	world_lose(B);
	settle();
	assert_int_equal(world_page(A, 0)->state, DSM_SC_LOST);
	assert_int_equal(fault(A, 0, false), -EHOSTDOWN);
	assert_int_equal(world_page(C, 0)->state, DSM_SC_LOST);
	assert_int_equal(fault(C, 0, true), -EHOSTDOWN);
	/* Who asks later hears it too; other pages live. */
	get(A, 3, true);
}

static void a_lost_reader_is_left_out(void **state)
{
	get(B, 0, false);
	get(C, 0, false);
	fault(C, 0, true);
	world_run();
	world_lose(B);
	settle();
	assert_int_equal(world_page(C, 0)->state, DSM_SC_M);
	assert_int_equal(world_engine(A)->stats.pages_lost, 0);
}

static void a_lost_asker_stops_nothing(void **state)
{
	get(C, 0, true);
	fault(B, 0, true);
	world_run();
	fault(A, 0, false);
	world_lose(B);
	settle();
	assert_int_equal(world_page(A, 0)->state, DSM_SC_S);
	assert_int_equal(world_page(C, 0)->state, DSM_SC_I);
	get(C, 0, true);
}

/* The engine knows of the loss before each page does. */
static void who_is_lost_is_granted_nothing(void **state)
{
	static const bool queued[] = { false, true };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(queued); i++) {
		stop(state);
		start(state);
		get(C, 0, true);
		if (queued[i])
			fault(A, 0, false);
		fault(B, 0, true);
		world_run();
		world_crash(B);
		dsm_engine_peer_lost(world_engine(A), B, world_begin(A));
		world_end(A);
		pass(50 * MS);
		assert_true(recall_one(C));
		world_run();
		if (queued[i])
			assert_int_equal(world_page(A, 0)->state, DSM_SC_S);
		world_learn_loss(A, B);
		world_learn_loss(C, B);
		settle();
		assert_int_equal(world_engine(A)->stats.pages_lost, 0);
		get(A, 0, false);
		get(C, 0, true);
	}
}

static void a_lost_home_takes_all_its_pages_along(void **state)
{
	static const struct { bool first, write; } rows[] = {
		{ false, false }, { false, true }, { true, false }, { true, true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		stop(state);
		start(state);
		if (rows[i].first)
			get(B, 0, rows[i].write);
		else
			fault(B, 0, rows[i].write);
		world_lose(A);
		assert_int_equal(world_page(B, 0)->state, DSM_SC_LOST);
		assert_int_equal(dsm_page_right(world_page(B, 0)), DSM_PAGE_NONE);
		assert_int_equal(fault(B, 0, false), -EHOSTDOWN);
		/* What was mapped is unmapped. */
		assert_int_equal(recall_one(B), rows[i].first);
		assert_false(recall_one(B));
	}
}

static int send(u16 to, u16 from, u8 type, u32 idx, u8 right, u8 status)
{
	const struct dsm_wire_sc body = { .idx = cpu_to_le32(idx), .right = right, .status = status };
	struct dsm_msgbuf *m = world_forge(type, WORLD_REGION, 0);
	static const u8 data[DSM_PAGE_BYTES];

	dsm_wire_put(m, &body, sizeof(body));
	if (status == DSM_SC_DATA)
		dsm_wire_put(m, data, sizeof(data));
	return world_inject(to, from, m);
}

/* ---- a region that goes ---- */

/* What dsm_region_remove() does while the shell has a page that is being given up. */
static void remove_region(u16 node)
{
	w.node[node].space.closing = true;
	dsm_space_del(world_engine(node), &w.node[node].space);
	dsm_engine_forget(world_engine(node), WORLD_REGION);
}

static void lowered(u16 node, struct dsm_page *p, struct dsm_request *q, bool pinned)
{
	dsm_sc_lowered(world_engine(node), p, q, pinned, world_begin(node));
	world_end(node);
}

static void nothing_is_left(u16 node)
{
	assert_true(list_empty(&world_engine(node)->sc_recalls));
	assert_int_equal(next_recall(node), 0);
}

static void reg_a_pinned_page_is_not_put_back_when_its_region_is_gone(void **state)
{
	struct dsm_request *q;
	struct dsm_page *p;
	u64 next;

	wanted();
	pass(50 * MS);
	q = dsm_sc_take(world_engine(B), &p, &next);
	assert_non_null(q);
	remove_region(B);
	lowered(B, p, q, true);
	nothing_is_left(B);
	assert_int_equal(p->state, DSM_SC_I);
	assert_int_equal(world_engine(B)->stats.sc_refusals, 0);
}

/* Before that, too: nothing may be under way when the region leaves the engine. */
static void a_pinned_page_of_a_region_that_goes_is_given_up_at_once(void **state)
{
	wanted();
	pass(50 * MS);
	w.node[B].pinned[0] = true;
	assert_true(recall_one(B));
	assert_int_equal(world_page(B, 0)->state, DSM_SC_M);
	w.node[B].space.closing = true;
	pass(5 * MS);
	assert_true(recall_one(B));
	nothing_is_left(B);
	world_run();
	assert_int_equal(world_page(A, 0)->state, DSM_SC_M);
}

static void reg_a_page_lost_while_its_region_goes_is_not_put_back(void **state)
{
	struct dsm_request *q;
	struct dsm_page *p;
	u64 next;

	fault(B, 0, true);
	world_run();
	fault(A, 0, false);
	world_run();
	pass(50 * MS);
	q = dsm_sc_take(world_engine(B), &p, &next);
	assert_non_null(q);
	assert_true(dsm_sc_keeps(p));
	world_lose(A);
	remove_region(B);
	lowered(B, p, q, false);
	nothing_is_left(B);
	assert_int_equal(p->state, DSM_SC_LOST);
}

/* Who tells the pages of a loss may still have the region when it is out of the engine. */
static void reg_a_page_lost_after_its_region_went_is_passed_by(void **state)
{
	get(B, 0, true);
	get(B, 3, false);
	remove_region(B);
	world_lose(A);
	assert_false(list_empty(&world_engine(B)->sc_recalls));
	assert_int_equal(next_recall(B), 0);
	nothing_is_left(B);
}

/* The shell finds the region, then it goes, then the message has its step. */
static void reg_a_message_that_its_region_did_not_wait_for_breaks_no_rule(void **state)
{
	static const struct {
		u16 to, from;
		u8 type, right, status;
	} rows[] = {
		{ A, B, DSM_MSG_SC_GET, 2, 0 }, { A, C, DSM_MSG_SC_BACK, 0, DSM_SC_DATA }, { A, B, DSM_MSG_SC_DONE, 0, 0 },
		{ B, A, DSM_MSG_SC_GRANT, 2, DSM_SC_DATA }, { C, A, DSM_MSG_SC_RECALL, 0, 0 },
	};
	u32 i;

	get(C, 0, true);
	fault(B, 0, true);
	world_run();
	for (i = 0; i < 3; i++)
		remove_region(i);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		unit_require(send(rows[i].to, rows[i].from, rows[i].type, 0, rows[i].right, rows[i].status) == -ENOENT,
			     "row %u", i);
	assert_int_equal(w.n_fly, 0);
	assert_int_equal(world_page(C, 0)->state, DSM_SC_M);
}

/* ---- peers that break the rules ---- */

static void messages_out_of_place_are_refused(void **state)
{
	static const struct {
		u16 to, from;
		u8 type, right, status;
	} rows[] = {
		/* Nobody asked, nobody has it, nothing is granted. */
		{ A, B, DSM_MSG_SC_BACK, 0, DSM_SC_DATA }, { A, B, DSM_MSG_SC_BACK, 0, DSM_SC_PLAIN },
		{ A, B, DSM_MSG_SC_DONE, 0, 0 }, { B, A, DSM_MSG_SC_GRANT, 2, DSM_SC_DATA },
		{ B, A, DSM_MSG_SC_RECALL, 0, 0 }, { B, A, DSM_MSG_SC_RECALL, 1, 0 },
		/* Not the home. */
		{ B, C, DSM_MSG_SC_GRANT, 1, DSM_SC_ZERO }, { B, C, DSM_MSG_SC_RECALL, 0, 0 },
		{ B, C, DSM_MSG_SC_GET, 1, 0 },
		/* Senseless. */
		{ A, B, DSM_MSG_SC_GET, 0, 0 }, { A, B, DSM_MSG_SC_GET, 3, 0 }, { A, B, DSM_MSG_SC_GET, 1, 1 },
		{ A, B, DSM_MSG_SC_BACK, 2, DSM_SC_DATA }, { A, B, DSM_MSG_SC_BACK, 0, DSM_SC_ZERO },
		{ A, B, DSM_MSG_SC_BACK, 0, DSM_SC_GONE + 1 }, { B, A, DSM_MSG_SC_RECALL, 2, 0 },
	};
	u32 i;

	world_page(A, 0);
	world_page(B, 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		unit_require(send(rows[i].to, rows[i].from, rows[i].type, 0, rows[i].right, rows[i].status) == -EPROTO,
			     "row %u", i);
	/* A second request, and one for what is there. */
	get(C, 0, true);
	fault(B, 0, false);
	world_run();
	assert_int_equal(send(A, B, DSM_MSG_SC_GET, 0, DSM_SC_MAY_READ, 0), -EPROTO);
	/* From who was not asked, without the bytes, with a right that was not left. */
	assert_int_equal(send(A, B, DSM_MSG_SC_BACK, 0, DSM_SC_MAY_READ, DSM_SC_DATA), -EPROTO);
	assert_int_equal(send(A, C, DSM_MSG_SC_BACK, 0, DSM_SC_MAY_READ, DSM_SC_PLAIN), -EPROTO);
	assert_int_equal(send(A, C, DSM_MSG_SC_BACK, 0, DSM_SC_NOTHING, DSM_SC_DATA), -EPROTO);
	/* A recall while one is on, and a grant of something else. */
	assert_int_equal(send(C, A, DSM_MSG_SC_RECALL, 0, 0, 0), -EPROTO);
	assert_int_equal(send(B, A, DSM_MSG_SC_GRANT, 0, DSM_SC_MAY_WRITE, DSM_SC_DATA), -EPROTO);
	assert_int_equal(send(B, A, DSM_MSG_SC_GRANT, 0, DSM_SC_MAY_READ, DSM_SC_PLAIN), -EPROTO);
	settle();
	assert_int_equal(world_page(B, 0)->state, DSM_SC_S);
	assert_int_equal(send(A, B, DSM_MSG_SC_GET, 0, DSM_SC_MAY_READ, 0), -EPROTO);
}

/* Of the other consistency's messages none applies, and the other way round. */
static void other_regions_messages_are_refused(void **state)
{
	const struct dsm_wire_fetch fetch = {};
	const struct dsm_wire_ack ack = { .ver = cpu_to_le64(1) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_FETCH, WORLD_REGION, 1);

	dsm_wire_put(m, &fetch, sizeof(fetch));
	assert_int_equal(world_inject(A, B, m), -EPROTO);
	m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, 1);
	dsm_wire_put(m, &ack, sizeof(ack));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
	assert_false(dsm_page_notice(world_engine(B), world_page(B, 0), 5));
	assert_false(dsm_page_invalidate(world_engine(B), world_page(B, 0)));
	stop(state);
	world_start(3);
	world_page(B, 0);
	assert_int_equal(send(A, B, DSM_MSG_SC_GET, 0, DSM_SC_MAY_READ, 0), -EPROTO);
	assert_int_equal(send(B, A, DSM_MSG_SC_GRANT, 0, DSM_SC_MAY_READ, DSM_SC_ZERO), -EPROTO);
}

static void a_release_leaves_the_pages_alone(void **state)
{
	get(B, 0, true);
	assert_int_equal(world_engine(B)->n_dirty, 0);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_page(B, 0)->state, DSM_SC_M);
	assert_int_equal(world_engine(B)->twins, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_writer_or_many_readers),
		T(pages_never_written_do_not_travel),
		T(a_page_is_held_until_it_was_used),
		T(a_page_nobody_comes_to_use_is_not_held_for_ever),
		T(the_hold_grows_with_the_time_of_a_fetch),
		T(the_hold_is_longer_than_a_slow_fetch_and_random),
		T(the_hold_is_extended_once_while_somebody_waits),
		T(reg_the_extension_leaves_the_time_of_the_question_alone),
		T(a_page_to_read_goes_at_once),
		T(a_pinned_page_waits_for_its_device),
		T(a_page_pinned_for_ever_is_refused_and_kept),
		T(a_lost_owner_takes_the_page_along),
		T(a_lost_reader_is_left_out),
		T(a_lost_asker_stops_nothing),
		T(who_is_lost_is_granted_nothing),
		T(a_lost_home_takes_all_its_pages_along),
		T(reg_a_pinned_page_is_not_put_back_when_its_region_is_gone),
		T(a_pinned_page_of_a_region_that_goes_is_given_up_at_once),
		T(reg_a_page_lost_while_its_region_goes_is_not_put_back),
		T(reg_a_page_lost_after_its_region_went_is_passed_by),
		T(reg_a_message_that_its_region_did_not_wait_for_breaks_no_rule),
		T(messages_out_of_place_are_refused),
		T(other_regions_messages_are_refused),
		T(a_release_leaves_the_pages_alone),
	};

	return cmocka_run_group_tests_name("sc", tests, NULL, NULL);
}
