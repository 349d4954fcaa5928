// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/interval.c: what a node knows, how it passes it on, what it may forget, and the acquire.
 */
#include "unit.h"
#include "world.h"
#include "../../kmod/core/rsync.h"

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

/* @n intervals of one notice, on a page homed at @node. */
static void write_intervals(u16 node, u32 n)
{
	while (n--) {
		((u8 *)world_page(node, node)->frame)[0]++;
		world_store(node, node, 1, n);
		assert_int_equal(world_release(node), 0);
	}
}

/* What @from would tell @to, as the tail of a message; the header's flags. */
static struct dsm_msgbuf *tell(u16 from, u16 to)
{
	struct dsm_msgbuf *m = world_forge(DSM_MSG_INTERVALS, 0, 0);

	dsm_know_put(world_engine(from), m, to);
	return m;
}

static int take(u16 to, u16 from, const struct dsm_msgbuf *m)
{
	u32 len = m->len - DSM_HDR_BYTES;
	u8 *exact = unit_copy(m->data + DSM_HDR_BYTES, len);
	struct dsm_reader r = dsm_reader_init(exact, len);
	int got;

	assert_true(dsm_know_check(&r));
	assert_true(dsm_reader_done(&r));
	r = dsm_reader_init(exact, len);
	world_begin(to);
	got = dsm_know_take(world_engine(to), from, from, m->data[1], &r);
	world_end(to);
	free(exact);
	return got;
}

static u16 records(const struct dsm_msgbuf *m)
{
	return le16_to_cpu(((const struct dsm_wire_know *)(m->data + DSM_HDR_BYTES))->count);
}

static u32 log_length(u16 node, u16 of)
{
	struct dsm_interval *rec;
	u64 seq = 0;
	u32 n = 0;

	list_for_each_entry(rec, &world_engine(node)->log[of], link) {
		assert_true(!seq || rec->seq == seq + 1);
		seq = rec->seq;
		n++;
	}
	return n;
}

static void knowledge_survives_the_way(void **state)
{
	struct dsm_interval *a, *b;
	struct dsm_msgbuf *m;
	u32 i;

	for (i = 0; i < 9; i++)
		world_store(C, i, 0, 1);
	world_release(C);
	m = tell(C, B);
	assert_int_equal(records(m), 2);
	assert_int_equal(m->data[1], 0);
	assert_int_equal(take(B, C, m), 1);
	assert_int_equal(world_engine(B)->known[C], 2);
	assert_int_equal(world_engine(B)->applied[C], 0);
	assert_int_equal(world_engine(B)->stats.notices_received, 9);
	b = list_first_entry(&world_engine(B)->log[C], struct dsm_interval, link);
	list_for_each_entry(a, &world_engine(C)->log[C], link) {
		assert_int_equal(a->seq, b->seq);
		assert_int_equal(a->count, b->count);
		assert_int_equal(b->node, C);
		assert_memory_equal(a->notice, b->notice, a->count * sizeof(a->notice[0]));
		b = list_next_entry(b, link);
	}
	/* And on to a third node, from who learned it. */
	world_msg_free(m);
	m = tell(B, A);
	assert_int_equal(take(A, B, m), 1);
	assert_int_equal(world_engine(A)->known[C], 2);
	world_msg_free(m);
}

static void notices_are_counted_for_their_regions(void **state)
{
	struct dsm_interval *rec;
	struct dsm_msgbuf *m;
	u32 i;

	for (i = 0; i < 9; i++)
		world_store(C, i, 0, 1);
	world_release(C);
	/* Each second page is of a region that has gone. */
	list_for_each_entry(rec, &world_engine(C)->log[C], link)
		for (i = 1; i < rec->count; i += 2)
			rec->notice[i].region = WORLD_REGION + 1;
	m = tell(C, B);
	assert_int_equal(take(B, C, m), 1);
	assert_int_equal(world_engine(C)->stats.notices_sent, 9);
	assert_int_equal(world_engine(B)->stats.notices_received, 9);
	assert_int_equal(dsm_space_find(world_engine(C), WORLD_REGION)->stats.notices_sent, 5);
	assert_int_equal(dsm_space_find(world_engine(B), WORLD_REGION)->stats.notices_received, 5);
	world_msg_free(m);
}

static void known_records_are_not_taken_twice(void **state)
{
	struct dsm_msgbuf *m;

	write_intervals(A, 3);
	m = tell(A, B);
	assert_int_equal(take(B, A, m), 1);
	assert_int_equal(take(B, A, m), 1);
	assert_int_equal(log_length(B, A), 3);
	assert_int_equal(world_engine(B)->log_records, 3);
	world_msg_free(m);
	/* And what a peer is known to have is not sent to it. */
	m = tell(B, A);
	assert_int_equal(records(m), 0);
	world_msg_free(m);
}

static void record_behind_a_gap_is_left_for_a_pull(void **state)
{
	struct dsm_msgbuf *first, *both, *second;

	write_intervals(A, 1);
	first = tell(A, B);
	write_intervals(A, 1);
	both = tell(A, B);
	/* The second record alone. */
	world_engine(A)->peer_known[B][A] = 1;
	second = tell(A, B);
	world_engine(A)->peer_known[B][A] = 0;
	assert_int_equal(records(second), 1);
	assert_int_equal(take(B, A, second), 0);
	assert_int_equal(world_engine(B)->known[A], 0);
	assert_int_equal(take(B, A, first), 1);
	assert_int_equal(world_engine(B)->known[A], 1);
	assert_int_equal(take(B, A, both), 1);
	assert_int_equal(world_engine(B)->known[A], 2);
	world_msg_free(first);
	world_msg_free(both);
	world_msg_free(second);
}

static void time_that_names_unborn_intervals_of_ours_breaks_the_protocol(void **state)
{
	struct dsm_wire_know head = { .nodes = cpu_to_le16(2) };
	static const u8 types[] = { DSM_MSG_INTERVAL_PULL, DSM_MSG_INTERVALS };
	__le64 times[2] = { cpu_to_le64(1), 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct dsm_msgbuf *m = world_forge(types[i], 0, 0);

		dsm_wire_put(m, &head, sizeof(head));
		dsm_wire_put(m, times, sizeof(times));
		assert_int_equal(world_inject(A, B, m), -EPROTO);
		assert_int_equal(world_engine(A)->peer_known[B][A], 0);
	}
	assert_int_equal(w.n_fly, 0);
}

static void intervals_nobody_asked_for_break_the_protocol(void **state)
{
	write_intervals(A, 1);
	assert_int_equal(world_inject(B, A, tell(A, B)), -EPROTO);
}

static void full_message_says_more_and_the_pull_goes_on(void **state)
{
	struct dsm_msgbuf *m;
	struct dsm_waiter waiter;

	write_intervals(A, 700);
	m = tell(A, B);
	assert_int_equal(m->data[1], DSM_HDR_MORE);
	assert_true(m->len <= DSM_MSG_BYTES);
	assert_true(DSM_MSG_BYTES - m->len < 32);
	assert_true(records(m) <= DSM_STEP_INTERVALS);
	assert_int_equal(take(B, A, m), 0);
	assert_int_equal(world_engine(B)->known[A], records(m));
	world_msg_free(m);
	dsm_waiter_init(&waiter);
	dsm_pull(world_engine(B), A, &waiter.cont, DSM_CONT_WAITER, world_begin(B));
	world_end(B);
	world_run();
	assert_true(waiter.done);
	assert_int_equal(world_engine(B)->known[A], 700);
	assert_int_equal(log_length(B, A), 700);
}

static void newcomer_waits_for_the_next_pull(void **state)
{
	struct dsm_waiter one, two, three;
	struct dsm_engine *b = world_engine(B);

	dsm_waiter_init(&one);
	dsm_waiter_init(&two);
	dsm_waiter_init(&three);
	dsm_pull(b, A, &one.cont, DSM_CONT_WAITER, world_begin(B));
	world_end(B);
	w.held[DSM_MSG_INTERVALS] = true;
	world_run();
	/* The answer is under way; what A learns now is not in it. */
	write_intervals(A, 1);
	dsm_pull(b, A, &two.cont, DSM_CONT_WAITER, world_begin(B));
	world_end(B);
	dsm_pull(b, A, &three.cont, DSM_CONT_WAITER, world_begin(B));
	world_end(B);
	assert_int_equal(world_count(DSM_MSG_INTERVAL_PULL), 0);
	assert_true(dsm_waiter_cancel(b, &three));
	world_deliver(DSM_MSG_INTERVALS);
	world_run();
	assert_true(one.done);
	assert_false(two.done);
	assert_int_equal(b->known[A], 0);
	w.held[DSM_MSG_INTERVALS] = false;
	world_run();
	assert_true(two.done);
	assert_false(three.done);
	assert_int_equal(b->known[A], 1);
	assert_false(b->pull[A].busy);
}

static void pull_from_oneself_or_a_lost_node_is_over_at_once(void **state)
{
	struct dsm_waiter waiter;
	u16 peer;

	world_lose(A);
	for (peer = A; peer <= B; peer++) {
		dsm_waiter_init(&waiter);
		dsm_pull(world_engine(B), peer, &waiter.cont, DSM_CONT_WAITER, world_begin(B));
		world_end(B);
		world_run();
		assert_true(waiter.done);
	}
}

static void loss_ends_the_pulls_and_invalidates_everything(void **state)
{
	struct dsm_waiter one, two;

	world_load(B, 0, 0);
	dsm_waiter_init(&one);
	dsm_waiter_init(&two);
	dsm_pull(world_engine(B), C, &one.cont, DSM_CONT_WAITER, world_begin(B));
	world_end(B);
	dsm_pull(world_engine(B), C, &two.cont, DSM_CONT_WAITER, world_begin(B));
	world_end(B);
	world_lose(C);
	world_run();
	assert_true(one.done);
	assert_true(two.done);
	assert_true(dsm_acq_needed(world_engine(B)));
	assert_int_equal(world_acquire(B), 1);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_INV);
	assert_false(dsm_acq_needed(world_engine(B)));
}

/* ---- the log ---- */

static void record_that_all_have_and_have_applied_is_forgotten(void **state)
{
	struct dsm_msgbuf *m;

	write_intervals(A, 2);
	assert_int_equal(log_length(A, A), 2);
	m = tell(A, B);
	take(B, A, m);
	world_msg_free(m);
	m = tell(B, A);
	take(A, B, m);
	world_msg_free(m);
	assert_int_equal(log_length(A, A), 2);	/* C lacks them */
	m = tell(A, C);
	take(C, A, m);
	world_msg_free(m);
	m = tell(C, A);
	take(A, C, m);
	world_msg_free(m);
	assert_int_equal(log_length(A, A), 0);
	assert_int_equal(world_engine(A)->floor[A], 2);
	/* Not applied yet: it stays, whoever has it. */
	assert_int_equal(log_length(B, A), 2);
	world_acquire(B);
	m = tell(C, B);
	take(B, C, m);
	world_msg_free(m);
	assert_int_equal(log_length(B, A), 0);
}

static void lost_node_is_not_waited_for_in_the_log(void **state)
{
	struct dsm_msgbuf *m;

	write_intervals(A, 2);
	world_lose(C);
	m = tell(A, B);
	take(B, A, m);
	world_msg_free(m);
	m = tell(B, A);
	take(A, B, m);
	world_msg_free(m);
	assert_int_equal(log_length(A, A), 0);
}

static void log_over_its_cap_forgets_and_who_lacks_it_invalidates(void **state)
{
	struct dsm_engine *b = world_engine(B);
	struct dsm_msgbuf *m;

	world_load(B, 0, 1);
	world_engine(A)->log_cap = 8;
	write_intervals(A, 40);
	assert_true(world_engine(A)->log_records <= 8);
	m = tell(A, B);
	assert_int_equal(m->data[1] & DSM_HDR_INVAL_ALL, DSM_HDR_INVAL_ALL);
	assert_int_equal(records(m), 0);
	assert_int_equal(take(B, A, m), 1);
	world_msg_free(m);
	/* It takes A's time for its own, and throws away what it has. */
	assert_int_equal(b->known[A], 40);
	assert_int_equal(b->applied[A], 40);
	assert_int_equal(b->floor[A], 40);
	assert_true(b->inval_all);
	assert_int_equal(b->stats.inval_all, 1);
	assert_int_equal(world_acquire(B), 1);
	assert_int_equal(world_load(B, 0, 1), 0);
	assert_int_equal(((u8 *)world_page(B, 0)->frame)[0], 40);
	/* The next one follows without a gap. */
	write_intervals(A, 1);
	m = tell(A, B);
	take(B, A, m);
	world_msg_free(m);
	assert_int_equal(b->known[A], 41);
	/* What it adopted it can't hand on. */
	m = tell(B, C);
	assert_int_equal(m->data[1] & DSM_HDR_INVAL_ALL, DSM_HDR_INVAL_ALL);
	world_msg_free(m);
}

/*
 * A message of A told part of what A knows, and A was lost before the rest came, or had been lost when it was to be asked.
 * What waited goes on; C, who hears of it from B, must not rely on its copies either.
 */
static void reg_who_lacks_what_a_lost_node_told_says_so(void **state)
{
	struct dsm_engine *b = world_engine(B);
	struct dsm_cont cont[2];
	struct dsm_msgbuf *m;
	u32 i, before;

	for (i = 0; i < 2; i++) {
		INIT_LIST_HEAD(&cont[i].link);
		before = b->known[B];
		b->inval_all = false;
		dsm_pull(b, A, &cont[i], DSM_CONT_WAITER, world_begin(B));
		world_end(B);
		if (!i)
			world_lose(A);
		assert_false(list_empty(&cont[i].link));
		list_del_init(&cont[i].link);	/* ready */
		assert_true(b->inval_all);
		assert_int_equal(b->known[B], before + 1);
		m = tell(B, C);
		assert_int_equal(m->data[1] & DSM_HDR_INVAL_ALL, DSM_HDR_INVAL_ALL);
		assert_int_equal(take(C, B, m), 1);
		world_msg_free(m);
		assert_true(world_engine(C)->inval_all);
		world_engine(C)->inval_all = false;
	}
}

/* Who manages keys and uses none never acquires. */
static void reg_log_of_a_node_that_never_acquires_has_its_cap_too(void **state)
{
	struct dsm_engine *b = world_engine(B);
	struct dsm_msgbuf *m;
	u32 i;

	world_load(B, 0, 1);
	b->log_cap = 8;
	for (i = 0; i < 40; i++) {
		write_intervals(A, 1);
		m = tell(A, B);
		take(B, A, m);
		world_msg_free(m);
		assert_true(b->log_records <= 8);
	}
	assert_int_equal(b->known[A], 40);
	assert_int_equal(b->applied[A], b->floor[A]);
	assert_true(b->inval_all);
	assert_int_equal(world_acquire(B), 1);
	assert_int_equal(b->applied[A], 40);
}

/* A peer that says again and again that everything may have changed keeps nobody here. */
static void reg_an_acquire_invalidates_all_pages_once(void **state)
{
	struct dsm_engine *b = world_engine(B);
	struct dsm_page *out[DSM_NOTICES_PER_RECORD];
	struct dsm_waiter waiter;
	u32 i;
	bool more;

	for (i = 0; i < 2; i++) {
		dsm_waiter_init(&waiter);
		b->inval_all = true;
		assert_true(dsm_acq_begin(b, &waiter));
		assert_int_equal(dsm_acq_next(b, out, ARRAY_SIZE(out), &more), -EUCLEAN);
		assert_true(more);
		b->inval_all = true;
		assert_int_equal(dsm_acq_next(b, out, ARRAY_SIZE(out), &more), 0);
		assert_false(more);
		/* The next one does. */
		assert_true(dsm_acq_needed(b));
		dsm_acq_end(b, world_begin(B));
		world_end(B);
	}
}

/* A number that wraps would have a log without end behind it. */
static void reg_times_beyond_any_interval_are_refused(void **state)
{
	static const u64 most = ~0ull >> 1;
	struct dsm_board_record record = { .head = { .node = cpu_to_le16(A), .count = cpu_to_le16(1) } };
	struct dsm_wire_know head = { .nodes = cpu_to_le16(2) };
	struct dsm_engine *b = world_engine(B);
	u64 board[DSM_MAX_NODES] = {};
	u32 i;

	for (i = 2; i--;) {
		struct dsm_msgbuf *m = world_forge(DSM_MSG_INTERVALS, 0, 0);
		__le64 times[2] = { [A] = cpu_to_le64(most + i) };

		dsm_wire_put(m, &head, sizeof(head));
		dsm_wire_put(m, times, sizeof(times));
		m->data[1] |= DSM_HDR_INVAL_ALL;
		assert_int_equal(take(B, A, m), i ? -EPROTO : 1);
		world_msg_free(m);
		assert_int_equal(b->known[A], i ? 0 : most);
	}
	record.head.seq = cpu_to_le64(most + 1);
	assert_true(dsm_know_board_record(b, &record));
	assert_int_equal(b->known[A], most);
	assert_int_equal(log_length(B, A), 0);
	board[A] = most + 1;
	assert_false(dsm_know_board_time(b, A, board));
	assert_int_equal(b->peer_known[A][A], most);
}

/* It has left before this node came, with an id above all that came since. */
static void reg_time_of_a_node_never_met_is_taken(void **state)
{
	struct dsm_engine *b = world_engine(B);
	struct dsm_wire_know head = { .nodes = cpu_to_le16(6) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_INTERVALS, 0, 0);
	__le64 times[6] = { [5] = cpu_to_le64(3) };

	dsm_wire_put(m, &head, sizeof(head));
	dsm_wire_put(m, times, sizeof(times));
	m->data[1] |= DSM_HDR_INVAL_ALL;
	assert_int_equal(take(B, A, m), 1);
	world_msg_free(m);
	assert_int_equal(b->known[5], 3);
	/* And passed on. */
	m = tell(B, C);
	assert_int_equal(take(C, B, m), 1);
	world_msg_free(m);
	assert_int_equal(world_engine(C)->known[5], 3);
}

static void peer_that_comes_up_is_taken_to_know_nothing(void **state)
{
	struct dsm_msgbuf *m;

	write_intervals(A, 1);
	m = tell(A, B);
	take(B, A, m);
	world_msg_free(m);
	m = tell(B, A);
	take(A, B, m);
	world_msg_free(m);
	assert_false(dsm_know_ahead_of(world_engine(A), B));
	dsm_engine_peer_up(world_engine(A), B);
	assert_true(dsm_know_ahead_of(world_engine(A), B));
}

/* ---- acquire ---- */

static void acquire_unmaps_what_the_notices_name(void **state)
{
	struct dsm_msgbuf *m;
	u32 i;

	for (i = 0; i < 20; i++) {
		world_load(B, i, 0);
		if (i & 1)
			world_store(C, i, 0, 1);
	}
	world_store(C, 42, 0, 1);	/* never touched at B */
	world_release(C);
	assert_int_equal(world_acquire(B), 0);
	m = tell(C, B);
	take(B, C, m);
	world_msg_free(m);
	assert_true(dsm_acq_needed(world_engine(B)));
	/* Pages homed at B lose nothing: 1, 4, 7, ... */
	assert_int_equal(world_acquire(B), 6);
	for (i = 0; i < 20; i++)
		assert_int_equal(world_page(B, i)->state, i % 3 == B ? DSM_PAGE_HOME :
				 i & 1 ? DSM_PAGE_INV : DSM_PAGE_RD);
	assert_null(w.node[B].page[42]);
	assert_false(dsm_acq_needed(world_engine(B)));
	assert_int_equal(world_engine(B)->applied[C], world_engine(B)->known[C]);
}

static void notice_of_an_unknown_region_or_page_is_skipped(void **state)
{
	struct dsm_wire_know head = { .nodes = cpu_to_le16(2), .count = cpu_to_le16(1) };
	struct dsm_wire_interval rec = { .node = cpu_to_le16(A), .count = cpu_to_le16(3), .seq = cpu_to_le64(1) };
	struct dsm_wire_notice notice[3] = {
		{ .region = cpu_to_le32(99), .ver = cpu_to_le64(1) },
		{ .region = cpu_to_le32(WORLD_REGION), .idx = cpu_to_le32(0xffffffff), .ver = cpu_to_le64(1) },
		{ .region = cpu_to_le32(WORLD_REGION), .idx = 0, .ver = cpu_to_le64(1) },
	};
	struct dsm_msgbuf *m = world_forge(DSM_MSG_INTERVAL_PULL, 0, 0);
	__le64 times[2] = { cpu_to_le64(1), 0 };

	world_load(B, 0, 0);
	dsm_wire_put(m, &head, sizeof(head));
	dsm_wire_put(m, times, sizeof(times));
	dsm_wire_put(m, &rec, sizeof(rec));
	dsm_wire_put(m, notice, sizeof(notice));
	assert_int_equal(world_inject(B, A, m), 0);
	assert_int_equal(world_acquire(B), 1);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_INV);
}

/* B's number was another node's, whose last message came late. */
static void who_pulls_knows_best_what_it_has(void **state)
{
	struct dsm_waiter waiter;

	write_intervals(A, 2);
	world_engine(A)->peer_known[B][A] = 2;
	dsm_waiter_init(&waiter);
	dsm_pull(world_engine(B), A, &waiter.cont, DSM_CONT_WAITER, world_begin(B));
	world_end(B);
	world_run();
	assert_true(waiter.done);
	assert_int_equal(world_engine(B)->known[A], 2);
	assert_int_equal(log_length(B, A), 2);
}

static void acquires_take_turns(void **state)
{
	struct dsm_engine *b = world_engine(B);
	struct dsm_waiter one, two, three;

	dsm_waiter_init(&one);
	dsm_waiter_init(&two);
	dsm_waiter_init(&three);
	assert_true(dsm_acq_begin(b, &one));
	assert_true(dsm_acq_needed(b));
	assert_false(dsm_acq_begin(b, &two));
	assert_false(dsm_acq_begin(b, &three));
	dsm_acq_end(b, world_begin(B));
	world_end(B);
	assert_true(two.done);
	assert_false(three.done);
	assert_true(b->acq_busy);
	dsm_acq_end(b, world_begin(B));
	world_end(B);
	assert_true(three.done);
	dsm_acq_end(b, world_begin(B));
	world_end(B);
	assert_false(b->acq_busy);
}

/* ---- structure ---- */

static void tail_is_checked_field_by_field(void **state)
{
	static const struct { u16 nodes, count, node, notices; u32 reserved, rec_reserved; bool good; } rows[] = {
		{ 3, 1, 2, 1, 0, 0, true }, { 0, 1, 63, 6, 0, 0, true }, { 64, 1, 0, 1, 0, 0, true },
		{ 65, 1, 0, 1, 0, 0, false }, { 0xffff, 1, 0, 1, 0, 0, false }, { 3, 2, 2, 1, 0, 0, false },
		{ 3, 0xffff, 2, 1, 0, 0, false }, { 3, 1, 64, 1, 0, 0, false }, { 3, 1, 0xffff, 1, 0, 0, false },
		{ 3, 1, 2, 0, 0, 0, false }, { 3, 1, 2, 7, 0, 0, false }, { 3, 1, 2, 1, 1, 0, false },
		{ 3, 1, 2, 1, 0, 1, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dsm_wire_know head = { .nodes = cpu_to_le16(rows[i].nodes), .count = cpu_to_le16(rows[i].count),
					      .reserved = cpu_to_le32(rows[i].reserved) };
		struct dsm_wire_interval rec = { .node = cpu_to_le16(rows[i].node),
						 .count = cpu_to_le16(rows[i].notices),
						 .reserved = cpu_to_le32(rows[i].rec_reserved) };
		u32 times = 8 * min_t(u16, rows[i].nodes, 64), len = 8 + times + 16 + 16 * rows[i].notices;
		u8 *tail = memset(unit_alloc(len), 0, len);
		struct dsm_reader r = dsm_reader_init(tail, len);

		memcpy(tail, &head, 8);
		memcpy(tail + 8 + times, &rec, 16);
		unit_require((dsm_know_check(&r) && dsm_reader_done(&r)) == rows[i].good, "row %u", i);
		free(tail);
	}
}

#define T(start, name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(start3, knowledge_survives_the_way),
		T(start3, notices_are_counted_for_their_regions),
		T(start3, known_records_are_not_taken_twice),
		T(start2, record_behind_a_gap_is_left_for_a_pull),
		T(start2, time_that_names_unborn_intervals_of_ours_breaks_the_protocol),
		T(start2, intervals_nobody_asked_for_break_the_protocol),
		T(start2, full_message_says_more_and_the_pull_goes_on),
		T(start2, newcomer_waits_for_the_next_pull),
		T(start2, pull_from_oneself_or_a_lost_node_is_over_at_once),
		T(start3, loss_ends_the_pulls_and_invalidates_everything),
		T(start3, record_that_all_have_and_have_applied_is_forgotten),
		T(start3, lost_node_is_not_waited_for_in_the_log),
		T(start3, log_over_its_cap_forgets_and_who_lacks_it_invalidates),
		T(start3, reg_who_lacks_what_a_lost_node_told_says_so),
		T(start2, reg_log_of_a_node_that_never_acquires_has_its_cap_too),
		T(start2, reg_an_acquire_invalidates_all_pages_once),
		T(start2, reg_times_beyond_any_interval_are_refused),
		T(start3, reg_time_of_a_node_never_met_is_taken),
		T(start2, peer_that_comes_up_is_taken_to_know_nothing),
		T(start3, acquire_unmaps_what_the_notices_name),
		T(start2, notice_of_an_unknown_region_or_page_is_skipped),
		T(start2, who_pulls_knows_best_what_it_has),
		T(start2, acquires_take_turns),
		cmocka_unit_test(tail_is_checked_field_by_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
