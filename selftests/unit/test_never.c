// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * What a node is told and is not true: who knows better says so, and no wait goes on for ever (core/never.c, interval.c, fetch.c).
 */
#include "unit.h"
#include "rsync.h"
#include "world.h"

#define A 0
#define B 1
#define C 2

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

/* @n intervals of one notice, on page @node, which is homed there. */
static void write_intervals(u16 node, u32 n)
{
	while (n--) {
		((u8 *)world_page(node, node)->frame)[0]++;
		world_store(node, node, 1, n);
		assert_int_equal(world_release(node), 0);
	}
}

/* A tail: a vector time, and with @seq a record of that number of node @of that names version @ver of page @idx. */
static struct dsm_msgbuf *tail(u8 type, u64 a, u64 b, u64 c, u16 of, u64 seq, u32 idx, u64 ver)
{
	struct dsm_wire_know head = { .nodes = cpu_to_le16(3), .count = cpu_to_le16(!!seq) };
	__le64 times[3] = { cpu_to_le64(a), cpu_to_le64(b), cpu_to_le64(c) };
	struct dsm_wire_interval rec = { .node = cpu_to_le16(of), .count = cpu_to_le16(1), .seq = cpu_to_le64(seq) };
	struct dsm_wire_notice notice = { .region = cpu_to_le32(WORLD_REGION), .idx = cpu_to_le32(idx),
					  .ver = cpu_to_le64(ver) };
	struct dsm_msgbuf *m = world_forge(type, 0, 0);

	dsm_wire_put(m, &head, sizeof(head));
	dsm_wire_put(m, times, sizeof(times));
	if (seq) {
		dsm_wire_put(m, &rec, sizeof(rec));
		dsm_wire_put(m, &notice, sizeof(notice));
	}
	return m;
}

/* As a tail of a grant or an answer would be taken. */
static bool take(u16 to, u16 from, struct dsm_msgbuf *m, u8 flags)
{
	u32 len = m->len - DSM_HDR_BYTES;
	u8 *exact = unit_copy(m->data + DSM_HDR_BYTES, len);
	struct dsm_reader r = dsm_reader_init(exact, len);
	bool complete = dsm_know_take(world_engine(to), from, from, flags, &r, world_begin(to));

	world_end(to);
	free(exact);
	world_msg_free(m);
	return complete;
}

static bool believes(u16 node, u16 of, u64 seq)
{
	return world_engine(node)->known[of] == seq;
}

static void start_pull(u16 node, u16 from, struct dsm_waiter *waiter)
{
	dsm_waiter_init(waiter);
	dsm_pull(world_engine(node), from, &waiter->cont, DSM_CONT_WAITER, world_begin(node));
	world_end(node);
}

static void pull(u16 node, u16 from)
{
	struct dsm_waiter waiter;

	start_pull(node, from, &waiter);
	world_run();
	assert_true(waiter.done);
}

static int never(u16 to, u16 from, u64 last, u64 claimed)
{
	const struct dsm_wire_never body = { .last = cpu_to_le64(last), .claimed = cpu_to_le64(claimed) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_NEVER, 0, 0);

	dsm_wire_put(m, &body, sizeof(body));
	return world_inject(to, from, m);
}

/* ---- what a peer is believed to have ---- */

/* One wrong byte in one message, and A could never again get from B what it lacks. */
static void reg_false_time_ends_with_the_next_pull(void **state)
{
	write_intervals(C, 2);
	pull(B, C);
	/* A knows much of C, it is said. B cannot tell, and asks A. */
	assert_false(take(B, A, tail(0, 0, 0, 99, 0, 0, 0, 0), 0));
	assert_int_equal(world_engine(B)->peer_known[A][C], 99);
	pull(B, A);
	/* What B then tells A lacks the records, so A asks for them. */
	pull(A, B);
	assert_true(believes(A, C, 2));
}

static void word_of_a_node_about_itself_takes_the_place_of_what_was_said(void **state)
{
	write_intervals(C, 2);
	pull(B, C);
	take(B, A, tail(0, 0, 0, 99, 0, 0, 0, 0), 0);
	assert_false(dsm_know_ahead_of(world_engine(B), A));
	take(B, A, tail(0, 0, 0, 0, 0, 0, 0, 0), 0);
	assert_true(dsm_know_ahead_of(world_engine(B), A));
}

/* Messages are not in order: what all had when it was trimmed is not missed because an old one says so. */
static void old_word_does_not_make_a_trimmed_record_missed(void **state)
{
	struct dsm_msgbuf *m;

	write_intervals(A, 2);
	pull(B, A);
	pull(C, A);
	take(A, B, tail(0, 2, 0, 0, 0, 0, 0, 0), 0);
	take(A, C, tail(0, 2, 0, 0, 0, 0, 0, 0), 0);
	assert_int_equal(world_engine(A)->floor[A], 2);
	take(A, B, tail(0, 0, 0, 0, 0, 0, 0, 0), 0);
	write_intervals(A, 1);
	m = world_forge(DSM_MSG_INTERVALS, 0, 0);
	dsm_know_put(world_engine(A), m, B);
	assert_int_equal(m->data[1], 0);
	assert_true(take(B, A, m, 0));
	assert_true(believes(B, A, 3));
}

/* ---- answers to pulls ---- */

static void answer_that_brings_nothing_new_and_is_not_all_breaks_the_protocol(void **state)
{
	static const struct { u64 c; u64 seq; u8 flags; int err; } rows[] = {
		{ 0, 0, 0, 0 },					/* all */
		{ 5, 0, 0, -EPROTO },				/* five of C, none here */
		{ 5, 0, DSM_HDR_MORE, -EPROTO },		/* the first of them would be here */
		{ 5, 2, DSM_HDR_MORE, -EPROTO },		/* behind a gap */
		{ 5, 1, DSM_HDR_MORE, 0 },			/* the rest is asked for */
		{ 1, 1, 0, 0 },
		{ 5, 0, DSM_HDR_INVAL_ALL, 0 },			/* they were trimmed */
		{ ~0ull, 0, DSM_HDR_INVAL_ALL | DSM_HDR_MORE, 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dsm_waiter waiter;
		struct dsm_msgbuf *m;
		int err;

		world_start(3);
		start_pull(B, A, &waiter);
		world_drop_at(0);
		m = tail(DSM_MSG_INTERVALS, 0, 0, rows[i].c, C, rows[i].seq, C, 1);
		m->data[1] = rows[i].flags;
		err = world_inject(B, A, m);
		unit_require(err == rows[i].err, "row %u: %d", i, err);
		/* Else A is dropped, and that ends the wait. */
		if (err)
			world_lose(A);
		world_run();
		unit_require(waiter.done || rows[i].flags == DSM_HDR_MORE, "row %u waits", i);
		if (!waiter.done)
			dsm_waiter_cancel(world_engine(B), &waiter);
		world_stop();
	}
	world_start(3);
}

static void answer_that_is_old_by_now_is_no_lie(void **state)
{
	struct dsm_waiter waiter;
	struct dsm_msgbuf *m;

	start_pull(B, A, &waiter);
	world_drop_at(0);
	/* Meanwhile B learned the same record from elsewhere; the message was full. */
	take(B, C, tail(0, 0, 0, 1, C, 1, C, 1), 0);
	m = tail(DSM_MSG_INTERVALS, 0, 0, 2, C, 1, C, 1);
	m->data[1] = DSM_HDR_MORE;
	assert_int_equal(world_inject(B, A, m), 0);
	assert_int_equal(world_count(DSM_MSG_INTERVAL_PULL), 1);
	assert_false(waiter.done);
	assert_true(dsm_waiter_cancel(world_engine(B), &waiter));
	while (w.n_fly)
		world_drop_at(0);
}

/* ---- own intervals ---- */

static void who_claims_intervals_of_ours_that_never_were_is_told(void **state)
{
	static const u8 types[] = { DSM_MSG_INTERVAL_PULL, DSM_MSG_INTERVALS };
	u32 i;

	write_intervals(A, 1);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct dsm_waiter waiter;

		if (types[i] == DSM_MSG_INTERVALS) {
			start_pull(A, B, &waiter);
			world_drop_at(0);
		}
		assert_int_equal(world_inject(A, B, tail(types[i], 2, 0, 0, 0, 0, 0, 0)), 0);
		assert_int_equal(world_count(DSM_MSG_NEVER), 1);
		assert_int_equal(le64_to_cpu(*(__le64 *)world_body(DSM_MSG_NEVER)), 1);
		assert_int_equal(world_engine(A)->peer_known[B][A], 1);
		/* B does not believe it: it was said in its name. */
		if (types[i] == DSM_MSG_INTERVAL_PULL)
			world_drop_at(world_find(DSM_MSG_INTERVALS));
		world_run();
		assert_true(believes(B, A, 0));
		assert_int_equal(world_engine(B)->stats.false_news, 0);
	}
}

static void false_record_is_forgotten_when_its_node_hears_of_it(void **state)
{
	struct dsm_engine *b = world_engine(B);
	struct dsm_rsync *mem = memset(unit_alloc(sizeof(*mem)), 0, sizeof(*mem));

	dsm_rsync_set(b, mem);
	write_intervals(C, 1);
	pull(B, C);
	world_load(B, C, 0);
	world_acquire(B);
	/* C wrote once more, says A. */
	assert_true(take(B, A, tail(0, 0, 0, 2, C, 2, C, 7), 0));
	assert_true(believes(B, C, 2));
	assert_int_equal(b->log_records, 1);	/* all have the first one */
	assert_int_equal(le64_to_cpu(mem->next.count), 2);
	/* Nobody is dropped, and what was to be done is done. */
	pull(B, C);
	assert_true(believes(B, C, 1));
	assert_int_equal(b->log_records, 0);
	assert_int_equal(le64_to_cpu(mem->next.count), 1);
	assert_int_equal(b->stats.false_news, 1);
	assert_true(b->inval_all);
	assert_int_equal(world_acquire(B), 1);
	/* The true one takes its place. */
	write_intervals(C, 1);
	pull(B, C);
	assert_true(believes(B, C, 2));
	assert_int_equal(list_last_entry(&b->log[C], struct dsm_interval, link)->notice[0].ver, 2);
	assert_int_equal(world_load(B, C, 0), 2);
	b->rsync = NULL;
	free(mem);
}

static void who_told_is_named(void **state)
{
	struct dsm_engine *b = world_engine(B);
	struct dsm_wire_never body = { .claimed = cpu_to_le64(1) };
	struct dsm_reader r = dsm_reader_init(&body, sizeof(body));

	take(B, A, tail(0, 0, 0, 1, C, 1, C, 1), 0);
	assert_int_equal(dsm_know_on_never(b, C, &r, world_begin(B)), 0);
	assert_true(w.acts.misled);
	assert_int_equal(w.acts.misled_of, C);
	assert_int_equal(w.acts.misled_by, 1 << A);
	world_end(B);
	assert_int_equal(b->log_records, 0);
}

static void adopted_time_that_is_false_is_forgotten_too(void **state)
{
	struct dsm_engine *b = world_engine(B);

	write_intervals(C, 3);
	assert_true(take(B, A, tail(0, 0, 0, 1000, 0, 0, 0, 0), DSM_HDR_INVAL_ALL));
	assert_true(believes(B, C, 1000));
	pull(B, C);
	assert_true(believes(B, C, 3));
	assert_int_equal(b->floor[C], 3);
	assert_int_equal(b->applied[C], 3);
	write_intervals(C, 1);
	pull(B, C);
	assert_true(believes(B, C, 4));
}

static void only_who_made_the_claim_forgets(void **state)
{
	static const struct { u64 last, claimed; u64 left; int err; } rows[] = {
		{ 3, 4, 3, 0 }, { 0, 4, 3, 0 }, { 0, ~0ull, 3, 0 },	/* B has never claimed that */
		{ 2, 3, 2, 0 }, { 0, 1, 0, 0 }, { 1, 3, 1, 0 },
		{ 0, 0, 3, -EPROTO }, { 3, 3, 3, -EPROTO }, { 9, 2, 3, -EPROTO },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		world_start(3);
		write_intervals(C, 3);
		pull(B, C);
		assert_int_equal(never(B, C, rows[i].last, rows[i].claimed), rows[i].err);
		unit_require(believes(B, C, rows[i].left), "row %u", i);
		assert_int_equal(world_engine(B)->stats.false_news, rows[i].left < 3);
		/* What was true of it, it gets again, although C believes that it has it. */
		world_run();
		assert_true(believes(B, C, 3));
		world_stop();
	}
	world_start(3);
}

static void pass_that_names_unborn_intervals_blames_not_the_manager(void **state)
{
	u64 key = world_key(DSM_MSG_LOCK_REQ, A, 0);
	struct dsm_wire_know head = { .nodes = cpu_to_le16(3) };
	struct dsm_wire_lock body = { .key = cpu_to_le64(key), .node = cpu_to_le16(C) };
	__le64 times[3] = { 0, cpu_to_le64(9), 0 };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_LOCK_PASS, WORLD_REGION, 0);

	assert_int_equal(world_lock(B, key, 20), 0);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_wire_put(m, &head, sizeof(head));
	dsm_wire_put(m, times, sizeof(times));
	assert_int_equal(world_inject(B, A, m), 0);
	assert_int_equal(world_engine(B)->peer_known[C][B], 0);
	assert_int_equal(world_count(DSM_MSG_NEVER), 1);
	assert_int_equal(world_unlock(B, key, 20), 0);
	world_run();
}

/* ---- versions of pages ---- */

static void home_says_when_a_version_never_was(void **state)
{
	static const struct { u64 need; u8 status; } rows[] = {
		{ 0, DSM_PAGE_STATUS_DATA }, { 1, DSM_PAGE_STATUS_DATA }, { 2, DSM_PAGE_STATUS_DATA },
		{ 3, DSM_PAGE_STATUS_NEVER }, { ~0ull, DSM_PAGE_STATUS_NEVER },
	};
	u32 i;

	write_intervals(A, 2);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dsm_wire_fetch fetch = { .idx = A, .need = cpu_to_le64(rows[i].need) };
		struct dsm_msgbuf *m = world_forge(DSM_MSG_FETCH, WORLD_REGION, 5);
		struct dsm_wire_page body;

		dsm_wire_put(m, &fetch, sizeof(fetch));
		assert_int_equal(world_inject(A, B, m), 0);
		memcpy(&body, world_body(DSM_MSG_PAGE), sizeof(body));
		unit_require(body.status == rows[i].status, "row %u: status %u", i, body.status);
		assert_int_equal(le64_to_cpu(body.ver), 2);
		world_drop_at(0);
	}
}

static void false_version_costs_a_fetch_and_no_more(void **state)
{
	struct dsm_page *p;

	write_intervals(A, 2);
	world_load(B, A, 0);
	take(B, C, tail(0, 0, 0, 1, C, 1, A, 77), 0);
	assert_int_equal(world_acquire(B), 1);
	assert_int_equal(world_load(B, A, 0), 2);
	p = world_page(B, A);
	assert_int_equal(p->state, DSM_PAGE_RD);
	assert_int_equal(p->ver, 2);
	assert_int_equal(p->need, 2);
	assert_int_equal(world_engine(B)->stats.false_news, 1);
	assert_int_equal(((u8 *)p->frame)[0], 2);
}

/* Told truly of a version while the home's answer to a false one is under way: the copy has that version. */
static void true_version_is_not_forgotten_with_a_false_one(void **state)
{
	struct dsm_page *p;

	write_intervals(A, 2);
	world_load(B, A, 0);
	take(B, C, tail(0, 0, 0, 1, C, 1, A, 77), 0);
	world_acquire(B);
	w.held[DSM_MSG_PAGE] = true;
	p = world_page(B, A);
	assert_int_equal(dsm_page_fault(world_engine(B), p, false, world_begin(B)), DSM_PAGE_NONE);
	world_end(B);
	world_run();
	assert_int_equal(world_body(DSM_MSG_PAGE)[4], DSM_PAGE_STATUS_NEVER);
	write_intervals(A, 1);
	pull(B, A);
	world_acquire(B);
	world_deliver(DSM_MSG_PAGE);
	w.held[DSM_MSG_PAGE] = false;
	world_run();
	assert_int_equal(p->ver, 3);
	assert_int_equal(((u8 *)p->frame)[0], 3);
}

static void never_of_what_is_not_needed_breaks_the_protocol(void **state)
{
	struct dsm_wire_page body = { .idx = A, .status = DSM_PAGE_STATUS_NEVER };
	struct dsm_page *p = world_page(B, A);
	struct dsm_msgbuf *m;

	p->ver = 1;
	assert_int_equal(dsm_page_fault(world_engine(B), p, false, world_begin(B)), DSM_PAGE_NONE);
	world_end(B);
	m = world_forge(DSM_MSG_PAGE, WORLD_REGION, p->xid);
	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
	world_run();
}

#define T(name) cmocka_unit_test_setup_teardown(name, start3, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(reg_false_time_ends_with_the_next_pull),
		T(word_of_a_node_about_itself_takes_the_place_of_what_was_said),
		T(old_word_does_not_make_a_trimmed_record_missed),
		cmocka_unit_test_setup_teardown(answer_that_brings_nothing_new_and_is_not_all_breaks_the_protocol, NULL, stop),
		T(answer_that_is_old_by_now_is_no_lie),
		T(who_claims_intervals_of_ours_that_never_were_is_told),
		T(false_record_is_forgotten_when_its_node_hears_of_it),
		T(who_told_is_named),
		T(adopted_time_that_is_false_is_forgotten_too),
		cmocka_unit_test_setup_teardown(only_who_made_the_claim_forgets, NULL, stop),
		T(pass_that_names_unborn_intervals_blames_not_the_manager),
		T(home_says_when_a_version_never_was),
		T(false_version_costs_a_fetch_and_no_more),
		T(true_version_is_not_forgotten_with_a_false_one),
		T(never_of_what_is_not_needed_breaks_the_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
