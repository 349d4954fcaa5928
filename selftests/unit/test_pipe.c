// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/pipe.c: what makes a pack, and how many of them a home may have to acknowledge.
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

static void set_pipe(u16 node, u8 mode, u32 bytes, u8 depth)
{
	struct dsm_policy *p = &w.node[node].space.policy;

	p->diff = mode;
	p->pipe_bytes = bytes;
	p->pipe_depth = depth;
}

/* A record of @bytes, header included. */
static void put(struct dsm_pack *k, u32 bytes)
{
	memset(dsm_pack_at(k), 0, bytes);
	dsm_pack_put(k, bytes);
}

static struct dsm_msgbuf *add(struct dsm_pack *k)
{
	struct dsm_msgbuf *m = world_msg_new();

	dsm_pack_add(k, m, B);
	return m;
}

static void drop(struct dsm_pack *k)
{
	struct dsm_msgbuf *m = k->first, *next;

	for (; m; m = next) {
		next = m->next;
		world_msg_free(m);
	}
}

static void first_record_may_have_a_whole_message(void **state)
{
	struct dsm_pack k;

	set_pipe(B, DSM_DIFF_MODE_PIPE, DSM_PIPE_BYTES_MIN, 1);
	dsm_pack_init(&k, &w.node[B].space, A);
	assert_int_equal(dsm_pack_room(&k), 0);
	assert_false(dsm_pack_is_full(&k));
	add(&k);
	assert_true(dsm_pack_room(&k) >= DSM_DIFF_RECORD_MAX(DSM_PAGE_BYTES));
	assert_false(dsm_pack_is_due(&k, world_engine(B), 100));
	put(&k, DSM_DIFF_RECORD_MAX(DSM_PAGE_BYTES));
	assert_int_equal(dsm_pack_room(&k), 0);
	assert_true(dsm_pack_is_full(&k));
	assert_true(dsm_pack_is_due(&k, world_engine(B), 100));
	assert_null(dsm_pack_close(&k));
	drop(&k);
}

static void pack_has_at_most_the_bytes_of_its_region(void **state)
{
	struct dsm_pack k;
	u32 bytes, room, packs;

	for (bytes = DSM_PIPE_BYTES_MIN; bytes <= DSM_PIPE_BYTES_MAX; bytes += 4096) {
		u32 messages = 0, sum = 0;
		struct dsm_msgbuf *m;

		set_pipe(B, DSM_DIFF_MODE_PIPE, bytes, 1);
		dsm_pack_init(&k, &w.node[B].space, A);
		for (packs = 0; packs < 10000; packs++) {
			room = dsm_pack_room(&k);
			if (room < 512) {
				if (dsm_pack_is_full(&k))
					break;
				add(&k);
				continue;
			}
			put(&k, 512);
		}
		assert_null(dsm_pack_close(&k));
		for (m = k.first; m; m = m->next) {
			messages++;
			sum += m->len;
			assert_true(m->len <= DSM_MSG_BYTES);
		}
		assert_int_equal(sum, k.bytes);
		assert_true(sum <= bytes);
		assert_true(sum + 2 * 512 > bytes);
		assert_true(messages <= bytes / DSM_MSG_BYTES + 1);
		drop(&k);
	}
}

static void message_has_no_more_records_than_one_acknowledgement_names(void **state)
{
	struct dsm_pack k;
	u32 i;

	dsm_pack_init(&k, &w.node[B].space, A);
	add(&k);
	for (i = 0; i < DSM_PACK_RECORDS_MAX; i++) {
		assert_true(dsm_pack_room(&k) > 0);
		put(&k, 16);
	}
	assert_int_equal(dsm_pack_room(&k), 0);
	assert_null(dsm_pack_close(&k));
	drop(&k);
}

static void message_without_a_record_is_given_back(void **state)
{
	struct dsm_msgbuf *first, *second;
	struct dsm_pack k;

	set_pipe(B, DSM_DIFF_MODE_PIPE, DSM_PIPE_BYTES_MAX, 1);
	dsm_pack_init(&k, &w.node[B].space, A);
	assert_null(dsm_pack_close(&k));
	first = add(&k);
	assert_ptr_equal(dsm_pack_close(&k), first);
	assert_null(k.first);
	assert_int_equal(k.bytes, 0);
	dsm_pack_add(&k, first, B);
	put(&k, 5000);
	second = add(&k);
	assert_ptr_equal(dsm_pack_close(&k), second);
	assert_ptr_equal(k.first, first);
	assert_null(first->next);
	assert_int_equal(k.bytes, first->len);
	world_msg_free(second);
	drop(&k);
}

static void early_pack_goes_out_only_to_an_idle_home(void **state)
{
	struct dsm_pack k;

	set_pipe(B, DSM_DIFF_MODE_PIPE, DSM_PIPE_BYTES_MAX, 2);
	dsm_pack_init(&k, &w.node[B].space, A);
	add(&k);
	put(&k, 1024);
	assert_false(dsm_pack_is_due(&k, world_engine(B), 100));
	put(&k, 4096);
	assert_true(dsm_pack_is_due(&k, world_engine(B), 100));
	world_engine(B)->pipe[A].under_way = 1;
	assert_false(dsm_pack_is_due(&k, world_engine(B), 100));
	world_engine(B)->pipe[A].under_way = 0;
	assert_null(dsm_pack_close(&k));
	drop(&k);
}

static void early_pack_waits_for_a_tail_that_is_no_message(void **state)
{
	struct dsm_pack k;
	int i;

	set_pipe(B, DSM_DIFF_MODE_PIPE, DSM_PIPE_BYTES_MAX, 2);
	dsm_pack_init(&k, &w.node[B].space, A);
	add(&k);
	for (i = 0; i < 128; i++)
		put(&k, 32);
	assert_true(dsm_pack_is_due(&k, world_engine(B), 128));
	assert_false(dsm_pack_is_due(&k, world_engine(B), 2));
	assert_null(dsm_pack_close(&k));
	drop(&k);
	dsm_pack_init(&k, &w.node[B].space, A);
	add(&k);
	put(&k, 4096);
	assert_true(dsm_pack_is_due(&k, world_engine(B), 2));
	set_pipe(B, DSM_DIFF_MODE_PIPE, DSM_PIPE_BYTES_MIN, 2);
	assert_true(dsm_pack_is_due(&k, world_engine(B), 0));
	assert_null(dsm_pack_close(&k));
	drop(&k);
}

/* The world makes a pack of each record. */
static void no_more_packs_are_under_way_than_the_depth(void **state)
{
	u8 depth;
	u32 i;

	for (depth = 1; depth <= DSM_PIPE_DEPTH_MAX; depth++) {
		world_start(2);
		set_pipe(B, DSM_DIFF_MODE_PIPE, 4096, depth);
		for (i = 0; i < 40; i += 2)
			world_store(B, i, 0, 1);
		w.held[DSM_MSG_DIFF] = true;
		world_release_begin(B);
		world_run();
		for (i = 20; i; i--) {
			assert_int_equal(dsm_pipe_holds(world_engine(B), WORLD_REGION), i > depth);
			assert_false(dsm_pipe_holds(world_engine(B), WORLD_REGION + 1));
			assert_int_equal(world_count(DSM_MSG_DIFF), min_t(u32, i, depth));
			assert_int_equal(world_engine(B)->pipe[A].under_way, min_t(u32, i, depth));
			world_deliver(DSM_MSG_DIFF);
			world_run();
		}
		assert_int_equal(world_engine(B)->rel_done, 1);
		world_stop();
	}
}

static void one_home_that_is_full_does_not_hold_up_another(void **state)
{
	set_pipe(C, DSM_DIFF_MODE_PIPE, 4096, 1);
	world_store(C, 0, 0, 1);
	world_store(C, 3, 0, 1);
	world_store(C, 1, 0, 1);
	w.held[DSM_MSG_DIFF] = true;
	world_release_begin(C);
	world_run();
	assert_int_equal(world_count(DSM_MSG_DIFF), 2);
	assert_int_not_equal(w.fly[0].m->dst, w.fly[1].m->dst);
	w.held[DSM_MSG_DIFF] = false;
	world_run();
	assert_int_equal(world_engine(C)->rel_done, 1);
}

static void orig_has_one_diff_under_way_at_all(void **state)
{
	u32 i, before;

	set_pipe(C, DSM_DIFF_MODE_ORIG, 0, 0);
	for (i = 0; i < 12; i++)
		if (i % 3 != C)
			world_store(C, i, 0, 1);
	w.held[DSM_MSG_DIFF] = true;
	world_release_begin(C);
	world_run();
	for (i = 0; i < 8; i++) {
		assert_int_equal(world_count(DSM_MSG_DIFF), 1);
		before = world_engine(A)->stats.diffs_applied + world_engine(B)->stats.diffs_applied;
		world_deliver(DSM_MSG_DIFF);
		assert_int_equal(world_engine(A)->stats.diffs_applied + world_engine(B)->stats.diffs_applied,
				 before + 1);
		assert_int_equal(world_count(DSM_MSG_DIFF), 0);
		world_run();
	}
	assert_int_equal(world_engine(C)->rel_done, 1);
	assert_false(world_engine(C)->pipe_alone);
}

static void flushers_stop_while_too_much_is_packed_and_go_on(void **state)
{
	struct dsm_engine *e = world_engine(B);
	u32 i;

	set_pipe(B, DSM_DIFF_MODE_PIPE, 4096, 1);
	e->pipe_ready = DSM_PIPE_READY_MAX - 1;		/* others' */
	for (i = 0; i < 6; i += 2)
		world_store(B, i, 0, 1);
	w.held[DSM_MSG_DIFF_ACK] = true;
	world_release_begin(B);
	world_run();
	assert_true(e->pipe_stalled);
	assert_int_equal(e->pipe_ready, DSM_PIPE_READY_MAX);
	assert_int_equal(e->stats.diffs, 2);
	e->pipe_ready -= DSM_PIPE_READY_MAX - 1;
	w.held[DSM_MSG_DIFF_ACK] = false;
	world_run();
	assert_false(e->pipe_stalled);
	assert_int_equal(e->stats.diffs, 3);
	assert_int_equal(e->rel_done, 1);
	assert_int_equal(e->pipe_ready, 0);
}

static void lone_pack_of_a_lost_home_makes_room_for_the_next(void **state)
{
	set_pipe(C, DSM_DIFF_MODE_ORIG, 0, 0);
	world_store(C, 0, 0, 1);
	world_store(C, 3, 0, 1);
	world_store(C, 1, 0, 1);
	w.held[DSM_MSG_DIFF] = true;
	world_release_begin(C);
	world_run();
	world_lose(w.fly[0].m->dst);
	w.held[DSM_MSG_DIFF] = false;
	world_run();
	assert_int_equal(world_engine(C)->rel_done, 1);
	assert_int_equal(world_engine(C)->pipe_ready, 0);
	assert_false(world_engine(C)->pipe_alone);
}

static void acknowledgement_of_another_pack_is_refused(void **state)
{
	struct dsm_wire_ack ack = { .ver = cpu_to_le64(1) };
	struct dsm_msgbuf *m;
	u32 xid;

	world_store(B, 0, 0, 1);
	w.held[DSM_MSG_DIFF] = true;
	world_release_begin(B);
	world_run();
	xid = le32_to_cpu(world_hdr(DSM_MSG_DIFF)->xid);
	m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, xid + 1);
	dsm_wire_put(m, &ack, sizeof(ack));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
	m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, 0);
	dsm_wire_put(m, &ack, sizeof(ack));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
	m = world_forge(DSM_MSG_DIFF_ACK, WORLD_REGION, xid);
	dsm_wire_put(m, &ack, sizeof(ack));
	assert_int_equal(world_inject(B, A, m), 0);
	assert_int_equal(world_engine(B)->rel_done, 1);
}

#define T(start, name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(start2, first_record_may_have_a_whole_message),
		T(start2, pack_has_at_most_the_bytes_of_its_region),
		T(start2, message_has_no_more_records_than_one_acknowledgement_names),
		T(start2, message_without_a_record_is_given_back),
		T(start2, early_pack_goes_out_only_to_an_idle_home),
		T(start2, early_pack_waits_for_a_tail_that_is_no_message),
		cmocka_unit_test(no_more_packs_are_under_way_than_the_depth),
		T(start3, one_home_that_is_full_does_not_hold_up_another),
		T(start3, orig_has_one_diff_under_way_at_all),
		T(start2, flushers_stop_while_too_much_is_packed_and_go_on),
		T(start3, lone_pack_of_a_lost_home_makes_room_for_the_next),
		T(start2, acknowledgement_of_another_pack_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
