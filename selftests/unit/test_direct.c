// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/direct.c: which pages are written into their homes' frames, in which pieces, when the home hears of
 * it, and what becomes of twins and messages when the home is lost.
 */
#include "unit.h"
#include "world.h"

#define A 0
#define B 1
#define C 2

static void set_path(u8 path)
{
	u32 i;

	for (i = 0; i < w.nodes; i++)
		w.node[i].space.policy.diffpath = path;
}

/* Every page of A is registered, and B knows. */
static int start(void **state)
{
	world_start(2);
	set_path(DSM_DIFFPATH_WRITE);
	w.node[A].registered = true;
	w.node[B].keys = 1u << A;
	return 0;
}

static int stop(void **state)
{
	world_stop();
	return 0;
}

static void fill(u32 idx, u8 value)
{
	world_store(B, idx, 0, value);
	memset(world_page(B, idx)->frame, value, DSM_PAGE_BYTES);
}

static u8 at_home(u32 idx, u32 at)
{
	return ((u8 *)world_page(A, idx)->frame)[at];
}

static void take_is_exact_or_changes_nothing(void **state)
{
	static const u32 sizes[] = { 4, 12, 64, 100, 4096 };
	struct dsm_piece piece[DSM_DIRECT_RUNS_MAX];
	u8 page[4096], twin[4096], old[4096], home[4096];
	struct unit_random r = unit_random_init(9);
	u32 n, i, k, max;
	int runs;

	for (n = 0; n < 5000; n++) {
		u32 bytes = sizes[n % ARRAY_SIZE(sizes)], end = 0;

		for (i = 0; i < bytes; i++) {
			page[i] = twin[i] = old[i] = unit_random_next(&r);
			home[i] = ~page[i];
		}
		for (k = unit_random_below(&r, 12); k; k--)
			page[unit_random_below(&r, bytes)] ^= 1 + unit_random_below(&r, 255);
		if (n % 97 == 0)
			for (i = 0; i < bytes; i++)
				page[i] = old[i] + 1;
		max = unit_random_below(&r, 10);
		runs = dsm_diff_take(page, twin, bytes, 0, piece, max);
		if (runs == -E2BIG) {
			assert_memory_equal(twin, old, bytes);
			runs = dsm_diff_take(page, twin, bytes, 0, piece, DSM_DIRECT_RUNS_MAX);
			assert_true(runs > (int)max || (!max && !runs));
			continue;
		}
		assert_int_equal(runs == 0, !memcmp(page, old, bytes));
		assert_true(runs <= (int)max || (runs == 1 && piece[0].len == bytes));
		assert_memory_equal(page, twin, bytes);
		for (i = 0; i < (u32)runs; i++) {
			assert_true(!i || piece[i].off > end);
			end = piece[i].off + piece[i].len;
			assert_true(end <= bytes);
			memcpy(home + piece[i].off, twin + piece[i].off, piece[i].len);
		}
		for (i = 0; i < bytes; i++)
			assert_int_equal(home[i] == page[i], page[i] != old[i]);
	}
}

static void page_that_became_zero_is_left_to_a_record(void **state)
{
	u8 page[4096] = {}, twin[4096];
	struct dsm_piece piece;

	memset(twin, 1, sizeof(twin));
	assert_int_equal(dsm_diff_take(page, twin, sizeof(page), 0, &piece, 1), -E2BIG);
	assert_int_equal(twin[0], 1);
}

static void home_hears_of_it_when_all_writes_are_back(void **state)
{
	w.hold_xfer = true;
	world_store(B, 0, 10, 1);
	world_store(B, 0, 20, 2);
	world_release_begin(B);
	world_run();
	assert_int_equal(w.n_fly, 0);
	assert_non_null(w.xfer);
	assert_non_null(w.xfer->next);
	assert_int_equal(at_home(0, 10), 0);
	world_xfer();
	assert_int_equal(at_home(0, 10), 1);
	assert_int_equal(w.n_fly, 0);
	world_xfer();
	assert_int_equal(at_home(0, 20), 2);
	assert_int_equal(world_count(DSM_MSG_DIFF_DIRECT), 1);
	assert_int_equal(world_page(A, 0)->ver, 0);
	assert_int_equal(world_engine(B)->rel_done, 0);
	world_run();
	assert_int_equal(world_page(A, 0)->ver, 1);
	assert_int_equal(world_page(B, 0)->ver, 1);
	assert_int_equal(world_engine(B)->rel_done, 1);
	assert_int_equal(world_engine(B)->known[B], 1);
	assert_int_equal(world_engine(B)->twins, 0);
}

static void page_may_be_written_again_while_its_bytes_are_under_way(void **state)
{
	w.hold_xfer = true;
	fill(0, 5);
	world_release_begin(B);
	world_run();
	world_store(B, 0, 7, 6);
	w.hold_xfer = false;
	world_run();
	assert_int_equal(at_home(0, 7), 5);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(at_home(0, 7), 6);
	assert_int_equal(world_page(A, 0)->ver, 2);
}

static u32 written(u32 changes)
{
	u32 before = w.node[B].reads, i;

	for (i = 0; i < changes; i++)
		world_store(B, 0, 8 * i, at_home(0, 8 * i) + 1);
	assert_int_equal(world_release(B), 0);
	for (i = 0; i < changes; i++)
		assert_int_equal(at_home(0, 8 * i), ((u8 *)world_page(B, 0)->frame)[8 * i]);
	return w.node[B].reads - before;
}

static void auto_writes_pages_with_few_runs(void **state)
{
	u32 runs;

	set_path(DSM_DIFFPATH_AUTO);
	for (runs = 0; runs <= 3; runs++) {
		world_engine(B)->direct_runs = runs;
		assert_int_equal(written(runs), runs);
		assert_int_equal(written(runs + 1), 0);
	}
	world_engine(B)->direct_runs = 0;
	fill(0, 77);
	assert_int_equal(world_release(B), 0);
	assert_int_equal(w.node[B].reads, 1 + 2 + 3 + 1);
}

static void more_runs_than_the_limit_are_packed(void **state)
{
	world_engine(B)->wr_runs_max = 4;
	assert_int_equal(written(4), 4);
	assert_int_equal(written(5), 0);
	world_engine(B)->wr_runs_max = 100000;
	assert_int_equal(written(DSM_DIRECT_RUNS_MAX), DSM_DIRECT_RUNS_MAX);
	assert_int_equal(written(DSM_DIRECT_RUNS_MAX + 1), 0);
}

static void without_a_key_or_with_messages_nothing_is_written(void **state)
{
	w.node[A].registered = false;
	w.node[B].keys = 0;
	assert_int_equal(written(1), 0);
	w.node[A].registered = true;
	w.node[B].keys = 1u << A;
	set_path(DSM_DIFFPATH_MSG);
	assert_int_equal(written(1), 0);
}

static void whole_neighbours_are_one_transfer_of_sixteen(void **state)
{
	const struct dsm_key key = { .addr = 0x10000000, .rkey = 100 }, other = { .addr = 0x90000000, .rkey = 101 };
	const struct dsm_piece whole = { .len = DSM_PAGE_BYTES };
	struct dsm_space *s = &w.node[B].space;
	struct dsm_page page = { .space = s };
	struct dsm_xfer *x;
	struct dsm_direct d;
	struct dsm_pack k;
	u32 idx, n, total = 0;

	dsm_direct_begin(&d, world_msg_new(), s, A);
	assert_false(dsm_direct_put(&d, &page, &whole, &key, false));
	/* Chunk boundary at 512, a gap at 520. */
	for (idx = 490; idx < 530; idx++) {
		const struct dsm_key *at = idx < 512 ? &key : &other;

		page.idx = idx;
		if (idx == 520)
			continue;
		if (!dsm_direct_put(&d, &page, &whole, at, false)) {
			dsm_direct_add(&d, unit_alloc(sizeof(*x)));
			assert_true(dsm_direct_put(&d, &page, &whole, at, false));
		}
		dsm_direct_name(&d, idx);
	}
	dsm_direct_close(&d, &k, s, A);
	for (n = 0, x = k.first->before; x; x = x->next, n++) {
		assert_int_equal(x->op, DSM_XFER_WRITE);
		assert_int_equal(x->remote, x->idx < 512 ? key.addr + x->idx * DSM_PAGE_BYTES :
				 other.addr + (x->idx - 512) * DSM_PAGE_BYTES);
		total += x->n_segs;
	}
	/* 16 + 6, 8, 9 */
	assert_int_equal(n, 4);
	assert_int_equal(total, 39);
	dsm_direct_drop(world_engine(B), k.first);
}

static void pinned_page_keeps_its_twin(void **state)
{
	void *twin;

	w.node[B].pinned[0] = true;
	w.hold_xfer = true;
	world_store(B, 0, 3, 9);
	twin = world_page(B, 0)->twin;
	world_release_begin(B);
	world_run();
	assert_ptr_equal(world_page(B, 0)->twin, twin);
	assert_int_equal(w.xfer->owned, 0);
	w.hold_xfer = false;
	world_run();
	assert_int_equal(at_home(0, 3), 9);
	assert_ptr_equal(world_page(B, 0)->twin, twin);
	w.node[B].pinned[0] = false;
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_engine(B)->twins, 0);
}

static void orig_writes_one_page_at_a_time(void **state)
{
	u32 i;

	w.node[B].space.policy.diff = DSM_DIFF_MODE_ORIG;
	w.hold_xfer = true;
	for (i = 0; i < 5; i++)
		world_store(B, 2 * i, 0, 1);
	world_release_begin(B);
	for (i = 0; i < 5; i++) {
		world_run();
		assert_non_null(w.xfer);
		assert_null(w.xfer->next);
		world_xfer();
	}
	world_run();
	assert_int_equal(world_engine(B)->rel_done, 1);
}

/* Twins, messages and transfers are counted by the leak checker. */
static void home_lost_before_and_after_each_write(void **state)
{
	u32 done;

	for (done = 0; done < 6; done++) {
		start(state);
		w.node[B].space.policy.pipe_depth = 1;
		w.hold_xfer = true;
		world_store(B, 0, 0, 1);
		world_store(B, 0, 100, 1);
		fill(2, 1);
		world_release_begin(B);
		world_run();
		switch (done) {
		case 5:
			world_xfer();
			world_xfer();
			world_run();
			fallthrough;
		case 4:
		case 3:
			/* The second page's. */
			if (done == 4)
				w.held[DSM_MSG_DIFF_ACK] = true;
			if (done != 5) {
				world_xfer();
				world_xfer();
				world_run();
			} else {
				world_xfer();
			}
			break;
		case 2:
			world_xfer();
			fallthrough;
		case 1:
			world_xfer();
			break;
		}
		world_lose(A);
		w.hold_xfer = false;
		world_run();
		assert_int_equal(world_engine(B)->rel_done, 1);
		assert_int_equal(world_engine(B)->twins, 0);
		assert_int_equal(world_engine(B)->pipe_ready, 0);
		stop(state);
	}
}

static struct dsm_msgbuf *forge_ack(u32 xid)
{
	struct dsm_msgbuf *m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, xid);
	struct dsm_wire_ack ack = { .idx = cpu_to_le32(0), .ver = cpu_to_le64(1) };

	dsm_wire_put(m, &ack, sizeof(ack));
	return m;
}

/* The device reads the twin still, which an acknowledged page may write anew. */
static void acknowledgement_before_the_writes_are_back_is_refused(void **state)
{
	struct dsm_engine *e = world_engine(B);
	u32 xid;

	w.hold_xfer = true;
	world_store(B, 0, 10, 1);
	world_store(B, 0, 20, 2);
	world_release_begin(B);
	world_run();
	xid = e->pipe[A].slot[0].xid;
	assert_int_not_equal(xid, 0);
	assert_int_equal(world_inject(B, A, forge_ack(xid)), -EPROTO);
	world_xfer();
	assert_int_equal(world_inject(B, A, forge_ack(xid)), -EPROTO);
	assert_int_equal(e->pipe[A].under_way, 1);
	assert_int_equal(e->rel_done, 0);
	world_xfer();
	world_run();
	assert_int_equal(e->rel_done, 1);
	assert_int_equal(at_home(0, 20), 2);
	assert_int_equal(world_inject(B, A, forge_ack(xid)), -EPROTO);
}

static struct dsm_msgbuf *forge(u32 count, const u32 *idx, u32 n)
{
	struct dsm_msgbuf *m = world_forge(DSM_MSG_DIFF_DIRECT, WORLD_REGION, 5);
	struct dsm_wire_direct body = { .count = cpu_to_le32(count) };
	__le32 wire;

	dsm_wire_put(m, &body, sizeof(body));
	for (; n; n--) {
		wire = cpu_to_le32(*idx++);
		dsm_wire_put(m, &wire, sizeof(wire));
	}
	return m;
}

static void message_about_others_pages_is_refused(void **state)
{
	static const u32 mixed[] = { 0, 1 }, own[] = { 0, 2 }, far[] = { WORLD_PAGES };

	assert_int_equal(world_inject(A, B, forge(2, mixed, 2)), -EPROTO);
	assert_int_equal(world_page(A, 0)->ver, 0);
	assert_int_equal(world_inject(A, B, forge(1, far, 1)), -EPROTO);
	assert_int_equal(world_inject(A, B, forge(2, own, 1)), -EPROTO);
	assert_int_equal(world_inject(A, B, forge(1, own, 2)), -EPROTO);
	assert_int_equal(world_inject(A, B, forge(0, own, 0)), -EPROTO);
	assert_int_equal(world_inject(A, B, forge(2, own, 2)), 0);
	assert_int_equal(world_page(A, 2)->ver, 1);
	set_path(DSM_DIFFPATH_MSG);
	assert_int_equal(world_inject(A, B, forge(2, own, 2)), -EPROTO);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take_is_exact_or_changes_nothing),
		cmocka_unit_test(page_that_became_zero_is_left_to_a_record),
		T(home_hears_of_it_when_all_writes_are_back),
		T(page_may_be_written_again_while_its_bytes_are_under_way),
		T(auto_writes_pages_with_few_runs),
		T(more_runs_than_the_limit_are_packed),
		T(without_a_key_or_with_messages_nothing_is_written),
		T(whole_neighbours_are_one_transfer_of_sixteen),
		T(pinned_page_keeps_its_twin),
		T(orig_writes_one_page_at_a_time),
		cmocka_unit_test(home_lost_before_and_after_each_write),
		T(acknowledgement_before_the_writes_are_back_is_refused),
		T(message_about_others_pages_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
