// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * metadata=rdma: atomics at a page's word: those of which a broken connection did not tell, and how a home gets to be alone.
 */
#include "unit.h"
#include "dir_world.h"

#include "release.h"

/* What the step wants to do at a word; it comes back with @result, or in doubt. Return: what is wanted then, or NULL. */
static struct dsm_xfer *wanted_at_word(void)
{
	struct dsm_xfer *x = w.acts.xfer;

	w.acts.xfer = NULL;
	w.acts.xfer_last = &w.acts.xfer;
	assert_true(!x || (x->kind == DSM_XFER_KIND_DIR && x->dst == dsm_page_manager(&w.node[A].space, x->idx) && !x->next));
	return x;
}

static struct dsm_xfer *back(struct dsm_xfer *x, int status, u64 result)
{
	struct dsm_xfer *next;

	x->status = status;
	x->result = result;
	dsm_dir_on_xfer(world_engine(A), x, world_begin(A));
	next = wanted_at_word();
	world_end(A);
	free(x);
	return next;
}

static void a_bit_in_doubt_is_changed_once(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_page *p = copy();
	u32 took_place;
	struct dsm_xfer *x;

	p->space->dir.key[B] = (struct dsm_key){ .addr = 0x5000, .rkey = 51 };
	for (took_place = 0; took_place < 2; took_place++) {
		dsm_page_set_state(p, DSM_PAGE_INV);
		p->dir |= DSM_DIR_IN;
		assert_true(dsm_dir_leave(e, p, world_begin(A)));
		x = wanted_at_word();
		world_end(A);
		assert_int_equal(x->operand, -1ull);
		/* The look may be in doubt as well. */
		x = back(x, DSM_XFER_IN_DOUBT, 0);
		assert_int_equal(x->operand, 0);
		x = back(x, DSM_XFER_IN_DOUBT, 0);
		assert_int_equal(x->operand, 0);
		x = back(x, 0, took_place ? 2 : 3);
		if (!took_place) {
			assert_int_equal(x->operand, -1ull);
			x = back(x, 0, 3);
		}
		assert_null(x);
		assert_false(p->dir & DSM_DIR_IN);
	}
	assert_int_equal(e->stats.atomics_doubted, 4);
	/* To get in it looks first. */
	dsm_page_set_state(p, DSM_PAGE_FET);
	assert_true(dsm_dir_enter(e, p, world_begin(A)));
	x = wanted_at_word();
	world_end(A);
	assert_int_equal(x->operand, 1);
	x = back(x, DSM_XFER_IN_DOUBT, 0);
	assert_int_equal(x->operand, 0);
	x = back(x, 0, 2);
	assert_int_equal(x->operand, 1);
	free(x);
}

static void an_exchange_in_doubt_is_won_if_the_word_says_so(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_page *p = copy();
	struct dsm_xfer *x;
	u32 i;

	p->space->dir.key[B] = (struct dsm_key){ .addr = 0x5000, .rkey = 51 };
	/* Another one came in; nobody; it took place; and then another one came in. */
	for (i = 0; i < 4; i++) {
		static const u64 owner = 1ull << DSM_DIR_OWNER_SHIFT, word[] = { 3, 1, owner | 1, owner | 3 };

		dsm_page_set_state(p, DSM_PAGE_RD);
		assert_true(dsm_dir_upgrade(e, p, world_begin(A)));
		x = wanted_at_word();
		world_end(A);
		assert_int_equal(x->op, DSM_XFER_CAS);
		x = back(x, DSM_XFER_IN_DOUBT, 0);
		assert_int_equal(x->op, DSM_XFER_ADD);
		assert_int_equal(x->operand, 0);
		x = back(x, 0, word[i]);
		if (i == 1) {
			assert_int_equal(x->op, DSM_XFER_CAS);
			x = back(x, 0, 3);
		} else if (i == 3) {
			/* Or that was left there, and whoever else is in the set may be told of nothing. */
			assert_int_equal(x->operand, -owner);
			x = back(x, 0, owner | 3);
		}
		assert_null(x);
		assert_int_equal(p->state, i == 2 ? DSM_PAGE_EX : DSM_PAGE_RD);
	}
}

/* A releases what it has written of page 1, homed here: what it looks for at the word. */
static struct dsm_xfer *released(struct dsm_page *p)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_xfer *x;
	bool keep;

	dsm_rel_request(e, world_begin(A));
	world_end(A);
	assert_ptr_equal(dsm_rel_take(e), p);
	assert_false(dsm_rel_downgraded(e, p, false, &keep, world_begin(A)));
	dsm_csm_post(e, &w.acts);
	x = wanted_at_word();
	world_end(A);
	assert_int_equal(x->operand, 0);
	return x;
}

static struct dsm_xfer *written_here(struct dsm_page *p, int right, enum dsm_page_state state)
{
	struct dsm_xfer *x;

	assert_int_equal(dsm_page_fault(world_engine(A), p, true, world_begin(A)), right);
	x = wanted_at_word();
	world_end(A);
	assert_int_equal(p->state, state);
	return x;
}

/* Where homes move to who writes: page 1 has come to A, and B keeps its copy, or wants the home back. */
static void a_home_that_has_come_has_the_only_copy_once_others_have_left(void **state)
{
	struct dsm_wire_csm body = { .idx = cpu_to_le32(1) };
	struct dsm_engine *e = world_engine(A);
	struct dsm_page *p = copy();
	struct dsm_msgbuf *m;
	struct dsm_xfer *x;
	u32 turn;

	w.node[A].space.policy.home = DSM_HOME_MIGRATE;
	w.node[B].space.policy.home = DSM_HOME_MIGRATE;
	p->space->dir.key[B] = (struct dsm_key){ .addr = 0x5000, .rkey = 51 };
	e->mail_key[B] = (struct dsm_key){};
	p->home = A;
	dsm_page_set_state(p, DSM_PAGE_HOME);
	for (turn = 0; turn < 2; turn++) {
		assert_null(written_here(p, DSM_PAGE_WRITABLE, DSM_PAGE_HOMEW));
		assert_null(back(released(p), 0, turn ? 1 : 3));
		world_run();
	}
	x = written_here(p, DSM_PAGE_NONE, DSM_PAGE_UPG);
	assert_int_equal(x->op, DSM_XFER_CAS);
	m = world_forge(DSM_MSG_CSM_UPGRADE, WORLD_REGION, 7);
	dsm_wire_put(m, &body, sizeof(body));
	w.held[DSM_MSG_CSM_GRANT] = true;
	assert_int_equal(world_inject(A, B, m), 0);
	assert_false(((struct dsm_wire_csm *)world_body(DSM_MSG_CSM_GRANT))->granted);
	world_drop_at(0);
	/* B came into the set just before. */
	assert_null(back(x, 0, 3));
	assert_null(written_here(p, DSM_PAGE_WRITABLE, DSM_PAGE_HOMEW));
	assert_null(back(released(p), 0, 1));
	world_run();
	x = written_here(p, DSM_PAGE_NONE, DSM_PAGE_UPG);
	assert_null(back(x, 0, 1));
	assert_int_equal(p->state, DSM_PAGE_HX);
	assert_int_equal(e->stats.excl_enters, 1);
}

/* A destruction is tried in vain while another node gets what A had alone: the word names A until A wants to be alone again. */
static void an_owner_left_in_the_word_is_taken_out_before_the_next(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_page *p = copy();
	struct dsm_xfer *x;

	p->space->dir.key[B] = (struct dsm_key){ .addr = 0x5000, .rkey = 51 };
	p->home = A;
	dsm_page_set_state(p, DSM_PAGE_HX);
	p->space->dir.ending = true;
	dsm_csm_shared(e, p, false, world_begin(A));
	assert_null(wanted_at_word());
	world_end(A);
	p->space->dir.ending = false;
	p->csm |= DSM_CSM_SOLE;
	x = written_here(p, DSM_PAGE_NONE, DSM_PAGE_UPG);
	assert_int_equal(x->op, DSM_XFER_CAS);
	x = back(x, 0, 1ull << DSM_DIR_OWNER_SHIFT | 1);
	assert_int_equal(x->op, DSM_XFER_ADD);
	assert_int_equal(x->operand, -(1ull << DSM_DIR_OWNER_SHIFT));
	assert_null(back(x, 0, 1ull << DSM_DIR_OWNER_SHIFT | 1));
	assert_int_equal(p->state, DSM_PAGE_HOME);
	p->csm |= DSM_CSM_SOLE;
	x = written_here(p, DSM_PAGE_NONE, DSM_PAGE_UPG);
	assert_int_equal(x->op, DSM_XFER_CAS);
	assert_null(back(x, 0, 1));
	assert_int_equal(p->state, DSM_PAGE_HX);
}

/*
 * Where homes move a thread of A writes a page that B manages, or is home of, and has not used. @word: as A finds it. Return:
 * what A, home by then, wants there, or NULL.
 */
static struct dsm_xfer *come(u32 idx, enum dsm_page_state at_b, u64 word)
{
	struct dsm_page *p;
	struct dsm_xfer *x;

	w.node[A].space.policy.home = DSM_HOME_MIGRATE;
	w.node[B].space.policy.home = DSM_HOME_MIGRATE;
	w.node[A].space.dir.key[B] = (struct dsm_key){ .addr = 0x5000, .rkey = 51 };
	dsm_page_set_state(world_page(B, idx), at_b);
	p = world_page(A, idx);
	assert_int_equal(p->home, B);
	x = written_here(p, DSM_PAGE_NONE, DSM_PAGE_FET);
	assert_int_equal(x->operand, 1);
	assert_null(back(x, 0, word));
	w.hold_xfer = true;
	world_run();
	assert_int_equal(p->home, A);
	x = w.xfer;
	w.xfer = NULL;
	return x;
}

static void who_claims_a_page_of_nobody_is_alone_with_its_first_write(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_xfer *x;

	assert_null(come(16, DSM_PAGE_FREE, 0));
	x = written_here(world_page(A, 16), DSM_PAGE_NONE, DSM_PAGE_UPG);
	assert_int_equal(x->op, DSM_XFER_CAS);
	assert_int_equal(x->compare, 1);
	assert_null(back(x, 0, 1));
	assert_int_equal(world_page(A, 16)->state, DSM_PAGE_HX);
	assert_int_equal(e->stats.dir_changes, 2);
	assert_int_equal(e->stats.dir_looks, 0);
}

static void who_becomes_home_of_an_unused_page_asks_to_be_alone_at_once(void **state)
{
	struct dsm_xfer *x = come(16, DSM_PAGE_HOME, 0);

	assert_non_null(x);
	assert_int_equal(x->op, DSM_XFER_CAS);
	assert_int_equal(x->compare, 1);
	assert_int_equal(world_page(A, 16)->state, DSM_PAGE_UPG);
	free(x);
}

static void who_finds_others_and_becomes_home_writes_as_one_of_them(void **state)
{
	assert_null(come(16, DSM_PAGE_HOME, 4));
	assert_int_equal(world_page(A, 16)->state, DSM_PAGE_HOMEW);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_bit_in_doubt_is_changed_once, start, stop),
		cmocka_unit_test_setup_teardown(an_exchange_in_doubt_is_won_if_the_word_says_so, start, stop),
		cmocka_unit_test_setup_teardown(a_home_that_has_come_has_the_only_copy_once_others_have_left, start, stop),
		cmocka_unit_test_setup_teardown(an_owner_left_in_the_word_is_taken_out_before_the_next, start, stop),
		cmocka_unit_test_setup_teardown(who_claims_a_page_of_nobody_is_alone_with_its_first_write, start, stop),
		cmocka_unit_test_setup_teardown(who_becomes_home_of_an_unused_page_asks_to_be_alone_at_once, start, stop),
		cmocka_unit_test_setup_teardown(who_finds_others_and_becomes_home_writes_as_one_of_them, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
