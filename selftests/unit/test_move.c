// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/move.c that depend on numbers, or on peers that break them; the orders of messages are the model's.
 */
#include "unit.h"
#include "world.h"

#define A 0
#define B 1
#define C 2

/* Who knows where page 0 lives is A. */
static int start(void **state)
{
	u16 i;

	world_start_with(3, DSM_HOME_MIGRATE);
	for (i = 0; i < 3; i++) {
		struct dsm_policy *policy = &w.node[i].space.policy;

		policy->consistency = DSM_CONSISTENCY_CASHMERE;
		policy->diff = DSM_DIFF_MODE_ORIG;
		policy->diffpath = DSM_DIFFPATH_MSG;
	}
	return 0;
}

static int stop(void **state)
{
	world_stop();
	return 0;
}

static u8 state_of(u16 node)
{
	return world_page(node, 0)->state;
}

static bool is_home(u16 node)
{
	return world_page(node, 0)->home == node;
}

static u64 migrations(void)
{
	return world_engine(A)->stats.migrations + world_engine(B)->stats.migrations + world_engine(C)->stats.migrations;
}

static void the_home_moves_to_who_writes(void **state)
{
	world_store(A, 0, 0, 1);
	assert_int_equal(state_of(A), DSM_PAGE_HX);
	world_store(B, 0, 1, 2);
	assert_true(is_home(B));
	assert_int_equal(state_of(B), DSM_PAGE_HOMEW);
	assert_int_equal(state_of(A), DSM_PAGE_RD);
	/* Who was home has a copy and is told of what is written. */
	assert_int_equal(world_page(B, 0)->sharers, 1u << A);
	assert_int_equal(world_release(B), 0);
	world_acquire(A);
	assert_int_equal(state_of(A), DSM_PAGE_INV);
	assert_int_equal(world_load(A, 0, 0), 1);
	assert_int_equal(world_load(A, 0, 1), 2);
	assert_int_equal(migrations(), 1);
	assert_int_equal(world_engine(B)->stats.twins + world_engine(B)->stats.diffs, 0);
}

static void a_home_that_writes_stays(void **state)
{
	world_store(B, 0, 0, 1);
	world_load(C, 0, 0);
	world_store(B, 0, 0, 2);
	assert_int_equal(state_of(B), DSM_PAGE_HOMEW);
	/* Not asked, since nothing said that the home does not write; then asked, and refused. */
	world_page(C, 0)->csm &= ~DSM_CSM_SOLE;
	world_store(C, 0, 1, 3);
	assert_int_equal(state_of(C), DSM_PAGE_WR);
	assert_int_equal(world_engine(C)->stats.migration_attempts, 0);
	assert_int_equal(world_release(C), 0);
	world_page(C, 0)->csm |= DSM_CSM_SOLE;
	world_store(C, 0, 1, 4);
	assert_int_equal(state_of(C), DSM_PAGE_WR);
	assert_int_equal(world_engine(C)->stats.migration_attempts, 1);
	assert_int_equal(migrations(), 0);
	/* The acknowledgement says that it has ended; the next write takes the home. */
	assert_int_equal(world_release(B), 0);
	assert_int_equal(world_release(C), 0);
	assert_true(world_page(C, 0)->csm & DSM_CSM_SOLE);
	world_store(C, 0, 1, 5);
	assert_true(is_home(C));
	assert_int_equal(world_page(C, 0)->sharers, 1u << B);
	assert_int_equal(world_load(C, 0, 0), 2);
}

static void bytes_travel_only_if_the_copy_lacks_them(void **state)
{
	world_load(B, 0, 0);
	world_store(B, 0, 0, 1);
	world_load(C, 0, 0);
	world_release(B);
	world_acquire(C);
	world_load(C, 0, 0);
	w.held[DSM_MSG_PAGE] = true;
	world_fault(C, 0, true);
	world_run();
	assert_int_equal(((struct dsm_wire_moved *)(world_body(DSM_MSG_PAGE) + sizeof(struct dsm_wire_page)))->bytes,
			 world_page(C, 0)->ver == world_page(B, 0)->ver ? DSM_MOVED_NONE : DSM_MOVED_DATA);
	w.held[DSM_MSG_PAGE] = false;
	world_run();
	assert_true(is_home(C));
	assert_int_equal(world_load(C, 0, 0), 1);
}

/* See the same of test_csm.c: a home that comes has all there is, whatever a third node said. */
static void reg_a_forged_version_does_not_part_a_node_from_its_home(void **state)
{
	world_store(B, 0, 0, 1);
	assert_int_equal(world_release(B), 0);
	world_page(C, 0)->need = 1000;
	world_store(C, 0, 1, 2);
	assert_true(is_home(C));
	assert_int_equal(world_load(C, 0, 0), 1);
	assert_int_equal(world_load(B, 0, 0), 1);
}

static void turn(u16 node, bool read, bool write)
{
	world_acquire(node);
	if (read)
		world_load(node, 0, 0);
	if (write)
		world_store(node, 0, node, world_load(node, 0, node) + 1);
	assert_int_equal(world_release(node), 0);
}

static u64 predictions(u16 node)
{
	return world_engine(node)->stats.predictions;
}

static u64 hits(u16 node)
{
	return world_engine(node)->stats.prediction_hits;
}

static void what_was_read_and_written_moves_at_the_read(void **state)
{
	u16 i;

	for (i = 0; i < 3; i++)
		w.node[i].space.policy.predict = 1;
	world_store(A, 0, 0, 1);
	assert_int_equal(world_release(A), 0);
	/* Once to learn it, each. */
	turn(B, true, true);
	turn(A, true, true);
	assert_int_equal(predictions(A) + predictions(B), 0);
	assert_true(is_home(A));
	world_acquire(B);
	world_load(B, 0, 0);
	assert_true(is_home(B));
	/* It has the home, and has written nothing: nobody is to be told of that. */
	assert_int_equal(state_of(B), DSM_PAGE_HOME);
	assert_int_equal(predictions(B), 1);
	assert_int_equal(hits(B), 0);
	turn(B, false, true);
	assert_int_equal(hits(B), 1);
	turn(A, true, true);
	assert_int_equal(predictions(A), 1);
	assert_int_equal(hits(A), 1);
	/* B only reads from now on: wrong once, and then it asks for a copy. */
	turn(B, true, false);
	assert_true(is_home(B));
	turn(A, false, true);
	turn(A, false, true);
	assert_true(is_home(A));
	turn(B, true, false);
	assert_true(is_home(A));
	assert_int_equal(predictions(B), 2);
	assert_int_equal(hits(B), 1);
}

static void who_writes_at_once_foresees_nothing(void **state)
{
	u16 i;

	for (i = 0; i < 3; i++)
		w.node[i].space.policy.predict = 1;
	world_store(A, 0, 0, 1);
	assert_int_equal(world_release(A), 0);
	turn(B, true, true);
	turn(A, true, true);
	world_acquire(B);
	world_store(B, 0, 0, 9);
	assert_int_equal(state_of(B), DSM_PAGE_HOMEW);
	assert_int_equal(world_release(B), 0);
	turn(A, true, true);
	turn(B, true, false);
	assert_int_equal(predictions(B), 0);
}

/* To and fro as often as it may; it ends at B. */
static void move_often(void)
{
	u32 i, turn;

	world_store(A, 0, 0, 1);
	for (i = 1; i <= DSM_MOVES_MAX; i++) {
		turn = i % 2 ? B : A;
		world_release(turn == B ? A : B);
		world_acquire(turn);
		world_store(turn, 0, 0, i);
		assert_true(is_home(turn));
		assert_int_equal(world_page(turn, 0)->nacks, i);
	}
}

static void after_many_moves_a_page_stays_for_once(void **state)
{
	move_often();
	world_release(B);
	world_acquire(A);
	world_store(A, 0, 0, 77);
	assert_true(is_home(B));
	assert_int_equal(migrations(), DSM_MOVES_MAX);
	assert_int_equal(world_page(B, 0)->nacks, 0);
	world_release(A);
	world_acquire(B);
	assert_int_equal(world_load(B, 0, 0), 77);
}

/* C has a diff under way to A when B becomes home. */
static void diff_to_old_home(void)
{
	world_store(A, 0, 0, 1);
	world_load(C, 0, 0);
	world_page(C, 0)->csm &= ~DSM_CSM_SOLE;
	world_store(C, 0, 1, 2);
	w.held[DSM_MSG_DIFF] = true;
	world_release_begin(C);
	world_run();
	world_release(A);
	world_store(B, 0, 2, 3);
	assert_true(is_home(B));
	w.held[DSM_MSG_DIFF_BACK] = true;
	w.held[DSM_MSG_DIFF] = false;
	world_run();
	assert_int_equal(world_count(DSM_MSG_DIFF_BACK), 1);
	w.held[DSM_MSG_DIFF_BACK] = false;
}

static void a_diff_finds_the_new_home(void **state)
{
	u64 done;

	diff_to_old_home();
	done = world_engine(C)->rel_done;
	world_run();
	assert_true(world_engine(C)->rel_done > done);
	assert_int_equal(world_page(C, 0)->home, B);
	assert_int_equal(world_load(B, 0, 1), 2);
	assert_int_equal(world_load(B, 0, 2), 3);
	assert_int_equal(world_engine(C)->stats.diffs, 1);
	assert_int_equal(world_engine(A)->stats.diffs_applied + world_engine(B)->stats.diffs_applied, 1);
}

static void a_diff_whose_new_home_is_lost_fails(void **state)
{
	diff_to_old_home();
	w.held[DSM_MSG_DIFF_BACK] = true;
	world_lose(B);
	w.held[DSM_MSG_DIFF_BACK] = false;
	world_run();
	assert_int_equal(world_engine(C)->rel_done, world_engine(C)->rel_seq);
	assert_int_equal(world_release(C), -EHOSTDOWN);
	assert_false(world_page(C, 0)->flags & DSM_PF_UNACKED);
}

/* A copy of the oldest message of @type, changed by @edit, is refused. */
static void refused(u8 type, u16 to, u16 from, void (*edit)(struct dsm_wire_hdr *hdr, u8 *body))
{
	struct dsm_msgbuf *m = world_forge(type, WORLD_REGION, 0);
	struct dsm_wire_hdr *hdr = world_hdr(type);

	memcpy(m->data, hdr, le16_to_cpu(hdr->len));
	m->len = le16_to_cpu(hdr->len);
	edit((struct dsm_wire_hdr *)m->data, m->data + DSM_HDR_BYTES);
	assert_int_equal(world_inject(to, from, m), -EPROTO);
}

static void unknown_pack(struct dsm_wire_hdr *hdr, u8 *body)
{
	hdr->xid = cpu_to_le32(le32_to_cpu(hdr->xid) + 1000);
}

static void home_is_receiver(struct dsm_wire_hdr *hdr, u8 *body)
{
	((struct dsm_wire_back *)body)->home = cpu_to_le16(C);
}

static void home_is_nobody(struct dsm_wire_hdr *hdr, u8 *body)
{
	((struct dsm_wire_back *)body)->home = cpu_to_le16(DSM_MAX_NODES);
}

static void record_is_short(struct dsm_wire_hdr *hdr, u8 *body)
{
	((struct dsm_wire_record *)(body + sizeof(struct dsm_wire_back)))->bytes = cpu_to_le32(4);
}

static void no_change(struct dsm_wire_hdr *hdr, u8 *body)
{
}

static void diffs_given_back_by_liars_are_refused(void **state)
{
	diff_to_old_home();
	refused(DSM_MSG_DIFF_BACK, C, A, unknown_pack);
	refused(DSM_MSG_DIFF_BACK, C, A, home_is_receiver);
	refused(DSM_MSG_DIFF_BACK, C, A, home_is_nobody);
	refused(DSM_MSG_DIFF_BACK, C, A, record_is_short);
	refused(DSM_MSG_DIFF_BACK, C, B, no_change);
	world_run();
	assert_int_equal(world_engine(C)->rel_done, world_engine(C)->rel_seq);
}

/* Sound, and too long for a pack with its own header. */
static void reg_diff_given_back_that_no_writer_makes_is_refused(void **state)
{
	const u32 runs = 1600, bytes = runs * (sizeof(struct dsm_wire_run) + 1);
	struct dsm_wire_record rec = { .enc = DSM_DIFF_RUNS, .nruns = cpu_to_le16(runs), .bytes = cpu_to_le32(bytes) };
	struct dsm_wire_back body = { .home = cpu_to_le16(B) };
	struct dsm_msgbuf *m;
	const u8 *record;
	u32 i, idx;

	diff_to_old_home();
	m = world_forge(DSM_MSG_DIFF_BACK, WORLD_REGION, le32_to_cpu(world_hdr(DSM_MSG_DIFF_BACK)->xid));
	dsm_wire_put(m, &body, sizeof(body));
	record = m->data + m->len;
	dsm_wire_put(m, &rec, sizeof(rec));
	for (i = 0; i < runs; i++) {
		const struct dsm_wire_run run = { .off = cpu_to_le16(2 * i) };

		dsm_wire_put(m, &run, sizeof(run));
	}
	for (i = 0; i < runs; i++)
		dsm_wire_put(m, "x", 1);
	assert_int_equal(dsm_diff_check(record, sizeof(rec) + bytes, DSM_PAGE_BYTES, &idx), sizeof(rec) + bytes);
	assert_int_equal(world_inject(C, A, m), -EPROTO);
	world_run();
}

static void too_many_moves(struct dsm_wire_hdr *hdr, u8 *body)
{
	((struct dsm_wire_moved *)(body + sizeof(struct dsm_wire_page)))->moves = DSM_MOVES_MAX + 1;
}

static void unknown_bytes(struct dsm_wire_hdr *hdr, u8 *body)
{
	((struct dsm_wire_moved *)(body + sizeof(struct dsm_wire_page)))->bytes = 3;
}

static void homes_that_nobody_asked_for_are_refused(void **state)
{
	world_store(A, 0, 0, 1);
	world_load(B, 0, 0);
	world_store(A, 0, 0, 2);
	world_release(A);
	world_acquire(B);
	w.held[DSM_MSG_PAGE] = true;
	world_fault(B, 0, true);
	world_run();
	assert_int_equal(state_of(B), DSM_PAGE_FET);
	refused(DSM_MSG_PAGE, B, A, too_many_moves);
	refused(DSM_MSG_PAGE, B, A, unknown_bytes);
	/* Who only looks ahead asked for no home. */
	world_page(B, 0)->flags |= DSM_PF_AHEAD;
	refused(DSM_MSG_PAGE, B, A, no_change);
	world_page(B, 0)->flags &= ~DSM_PF_AHEAD;
	w.held[DSM_MSG_PAGE] = false;
	world_run();
	assert_true(is_home(B));
}

static void unclaim(u16 node)
{
	world_begin(node);
	dsm_move_unclaim(world_engine(node), world_page(node, 0));
	world_end(node);
}

static void a_page_to_be_claimed_anew_goes_to_who_touches_it(void **state)
{
	u16 i;

	for (i = 0; i < 3; i++)
		w.node[i].space.policy.home = DSM_HOME_FIRST_TOUCH;
	world_store(A, 0, 0, 1);
	world_load(C, 0, 0);
	world_store(A, 0, 0, 2);
	world_release(A);
	/* Writing alone moves nothing here. */
	world_store(C, 0, 1, 1);
	world_release(C);
	assert_true(is_home(A));
	unclaim(A);
	unclaim(B);
	/* To look is not to touch. */
	world_page(B, 0);
	dsm_fetch_ahead(world_engine(B), &w.node[B].page[0], 1, world_begin(B));
	world_end(B);
	world_run();
	assert_int_equal(state_of(B), DSM_PAGE_RD);
	assert_true(is_home(A));
	world_acquire(C);
	world_page(B, 0)->flags &= ~DSM_PF_AHEAD;
	/* Its copy is gone, so it asks. */
	assert_true(dsm_page_notice(world_engine(B), world_page(B, 0), world_page(A, 0)->ver + 1));
	world_page(A, 0)->ver++;
	assert_int_equal(world_load(B, 0, 0), 2);
	assert_true(is_home(B));
	assert_int_equal(state_of(B), DSM_PAGE_HOME);
	assert_int_equal(world_page(B, 0)->sharers, 1u << A | 1u << C);
	assert_int_equal(world_page(B, 0)->ver, world_page(A, 0)->ver);
	/* Once. */
	world_store(A, 0, 0, 3);
	assert_true(is_home(B));
	world_release(A);
	/* The home's own thread may be the first. */
	unclaim(B);
	world_load(B, 0, 0);
	world_acquire(A);
	world_store(A, 0, 0, 4);
	assert_true(is_home(B));
}

static void reg_a_page_is_claimed_anew_after_its_last_move(void **state)
{
	move_often();
	world_release(B);
	unclaim(B);
	assert_int_equal(world_load(C, 0, 0), DSM_MOVES_MAX);
	assert_true(is_home(C));
	assert_int_equal(world_page(C, 0)->nacks, DSM_MOVES_MAX);
	/* Who only read wanted it all the same. */
	assert_int_equal(world_engine(C)->stats.migrations, 1);
	assert_int_equal(world_engine(C)->stats.migration_attempts, 1);
}

static void homes_that_cannot_move_are_not_unclaimed(void **state)
{
	world_store(A, 0, 0, 1);
	assert_false(dsm_move_unclaim(world_engine(B), world_page(B, 0)));
	w.node[A].space.policy.home = DSM_HOME_MIGRATE_BARRIER;
	assert_false(dsm_move_unclaim(world_engine(A), world_page(A, 0)));
	w.node[A].space.policy.home = DSM_HOME_FIRST_TOUCH;
	assert_true(dsm_move_unclaim(world_engine(A), world_page(A, 0)));
}

static void who_is_lost_is_in_no_set(void **state)
{
	world_store(A, 0, 0, 1);
	world_load(C, 0, 0);
	w.held[DSM_MSG_PAGE] = true;
	world_fault(B, 0, true);
	world_run();
	world_crash(C);
	world_learn_loss(B, C);
	w.held[DSM_MSG_PAGE] = false;
	world_run();
	assert_true(is_home(B));
	assert_int_equal(world_page(B, 0)->sharers, 1u << A);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_home_moves_to_who_writes, start, stop),
		cmocka_unit_test_setup_teardown(a_home_that_writes_stays, start, stop),
		cmocka_unit_test_setup_teardown(bytes_travel_only_if_the_copy_lacks_them, start, stop),
		cmocka_unit_test_setup_teardown(reg_a_forged_version_does_not_part_a_node_from_its_home, start, stop),
		cmocka_unit_test_setup_teardown(what_was_read_and_written_moves_at_the_read, start, stop),
		cmocka_unit_test_setup_teardown(who_writes_at_once_foresees_nothing, start, stop),
		cmocka_unit_test_setup_teardown(after_many_moves_a_page_stays_for_once, start, stop),
		cmocka_unit_test_setup_teardown(a_diff_finds_the_new_home, start, stop),
		cmocka_unit_test_setup_teardown(a_diff_whose_new_home_is_lost_fails, start, stop),
		cmocka_unit_test_setup_teardown(diffs_given_back_by_liars_are_refused, start, stop),
		cmocka_unit_test_setup_teardown(reg_diff_given_back_that_no_writer_makes_is_refused, start, stop),
		cmocka_unit_test_setup_teardown(homes_that_nobody_asked_for_are_refused, start, stop),
		cmocka_unit_test_setup_teardown(a_page_to_be_claimed_anew_goes_to_who_touches_it, start, stop),
		cmocka_unit_test_setup_teardown(reg_a_page_is_claimed_anew_after_its_last_move, start, stop),
		cmocka_unit_test_setup_teardown(homes_that_cannot_move_are_not_unclaimed, start, stop),
		cmocka_unit_test_setup_teardown(who_is_lost_is_in_no_set, start, stop),
	};

	return cmocka_run_group_tests_name("move", tests, NULL, NULL);
}
