// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/page.c when a home is lost, and for pages that nobody has claimed yet.
 */
#include "page_world.h"

/* ---- loss of the home ---- */

static void home_lost_takes_its_row(void **state)
{
	static const struct { u8 from, to; int read, write; } rows[] = {
		{ DSM_PAGE_INV, DSM_PAGE_INV, -EHOSTDOWN, -EHOSTDOWN },
		{ DSM_PAGE_FET, DSM_PAGE_INV, -EHOSTDOWN, -EHOSTDOWN },
		{ DSM_PAGE_RD, DSM_PAGE_RD, DSM_PAGE_READABLE, DSM_PAGE_WRITABLE },
		{ DSM_PAGE_WR, DSM_PAGE_WR, DSM_PAGE_READABLE, DSM_PAGE_WRITABLE },
		{ DSM_PAGE_WRS, DSM_PAGE_WRS, -EHOSTDOWN, -EHOSTDOWN },
		{ DSM_PAGE_WRF, DSM_PAGE_WRS, -EHOSTDOWN, -EHOSTDOWN },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dsm_page *p;
		bool dirty;

		world_start(2);
		p = enter(rows[i].from);
		world_lose(A);
		unit_require(p->state == rows[i].to, "row %u: state %u", i, p->state);
		assert_false(dsm_page_busy(world_engine(B), p));
		assert_int_equal(world_fault(B, 0, false), rows[i].read);
		assert_int_equal(world_fault(B, 0, true), rows[i].write);
		/* A release of what can't be written back says so, once, and ends. */
		dirty = p->twin;
		assert_int_equal(world_release(B), dirty ? -EHOSTDOWN : 0);
		assert_int_equal(world_release(B), 0);
		assert_null(p->twin);
		world_stop();
	}
}

static void home_lost_between_step_and_page_ends_the_wait(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_FET);

	world_crash(A);
	dsm_engine_peer_lost(world_engine(B), A, world_begin(B));
	world_end(B);
	/* The page's own step has not come yet. */
	assert_false(dsm_page_busy(world_engine(B), p));
	assert_int_equal(world_fault(B, 0, false), -EHOSTDOWN);
}

static void loss_of_another_node_leaves_the_page(void **state)
{
	struct dsm_page *p = enter(DSM_PAGE_FET);

	world_lose(C);
	assert_int_equal(p->state, DSM_PAGE_FET);
	world_run();
	assert_int_equal(p->state, DSM_PAGE_RD);
}

/* ---- first touch: page 0 is managed by A ---- */

static void first_fault_at_the_manager_claims(void **state)
{
	struct dsm_page *p = world_page(A, 0);

	assert_int_equal(p->state, DSM_PAGE_FREE);
	assert_int_equal(dsm_page_right(p), DSM_PAGE_NONE);
	assert_int_equal(world_fault(A, 0, true), DSM_PAGE_WRITABLE);
	assert_int_equal(p->state, DSM_PAGE_HOMEW);
	world_load(B, 0, 0);
	assert_int_equal(world_page(B, 0)->home, A);
}

static void first_fault_elsewhere_claims(void **state)
{
	struct dsm_page *p = world_page(B, 0);

	memset(p->frame, 0xaa, DSM_PAGE_BYTES);
	assert_int_equal(world_load(B, 0, 0), 0);
	assert_int_equal(p->state, DSM_PAGE_HOME);
	assert_int_equal(p->home, B);
	assert_int_equal(world_page(A, 0)->home, B);
	assert_int_equal(world_page(A, 0)->state, DSM_PAGE_INV);
	/* The manager itself asks the winner. */
	world_store(B, 0, 3, 33);
	assert_int_equal(world_load(A, 0, 3), 33);
}

/* Its number may be another node's later, when pages still name it. */
static void reg_node_that_is_no_member_homes_nothing(void **state)
{
	u16 n;

	for (n = A; n <= C; n++)
		w.node[n].space.n_members = 2;
	world_store(C, 0, 3, 33);
	assert_int_equal(world_page(A, 0)->state, DSM_PAGE_HOME);
	assert_int_equal(world_page(C, 0)->home, A);
	assert_int_equal(world_release(C), 0);
	world_lose(C);
	assert_int_equal(world_load(B, 0, 3), 33);
	/* Nor does one move there. */
	world_page(A, 0)->flags |= DSM_PF_UNCLAIMED;
	assert_true(dsm_move_may(world_engine(A), world_page(A, 0), B, DSM_WANT_COPY));
	assert_false(dsm_move_may(world_engine(A), world_page(A, 0), C, DSM_WANT_COPY));
}

static void second_claim_is_sent_to_the_winner(void **state)
{
	world_store(B, 0, 3, 33);
	assert_int_equal(world_load(C, 0, 3), 33);
	assert_int_equal(world_page(C, 0)->home, B);
	assert_int_equal(world_page(C, 0)->nacks, 0);
	assert_int_equal(world_page(C, 0)->state, DSM_PAGE_RD);
}

static void fetch_at_a_winner_whose_claim_is_under_way_is_deferred(void **state)
{
	w.sinks = true;
	world_fault(B, 0, true);
	world_deliver(DSM_MSG_FETCH);
	w.held[DSM_MSG_PAGE] = true;
	world_fault(C, 0, false);
	world_run();	/* C's claim reaches the manager */
	assert_int_equal(world_count(DSM_MSG_PAGE), 2);
	assert_int_equal(world_deliver_at(1), 0);	/* the NACK first: C asks B */
	world_run();
	assert_true(world_page(B, 0)->flags & DSM_PF_DEFERRED);
	assert_int_equal(world_count(DSM_MSG_PAGE), 1);
	/* And the manager's own fault. */
	world_fault(A, 0, false);
	world_run();
	assert_int_equal(world_count(DSM_MSG_PAGE), 1);
	world_deliver(DSM_MSG_PAGE);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_HOME);
	world_run();
	assert_int_equal(world_count(DSM_MSG_PAGE), 2);
	assert_true(list_empty(&world_engine(B)->deferred));
	w.held[DSM_MSG_PAGE] = false;
	world_run();
	assert_int_equal(world_page(A, 0)->state, DSM_PAGE_RD);
	assert_int_equal(world_page(C, 0)->state, DSM_PAGE_RD);
	assert_int_equal(w.lent, 0);
}

static void deferred_fetch_of_the_same_node_is_not_kept_twice(void **state)
{
	struct dsm_wire_fetch body = {};
	struct dsm_msgbuf *m;
	u32 i;

	world_fault(B, 0, true);
	for (i = 0; i < 3; i++) {
		m = world_forge(DSM_MSG_FETCH, WORLD_REGION, 100 + i);
		dsm_wire_put(m, &body, sizeof(body));
		assert_int_equal(world_inject(B, C, m), 0);
	}
	assert_true(list_is_singular(&world_engine(B)->deferred));
	assert_int_equal(world_count(DSM_MSG_PAGE), 2);
}

/* Who has its number later is not sent its answers; what is ready to be answered goes too. */
static void reg_fetch_of_a_lost_node_is_forgotten(void **state)
{
	struct dsm_wire_fetch body = {};
	struct dsm_msgbuf *m;
	u32 ready;

	for (ready = 0; ready < 2; ready++) {
		start_touch(state);
		w.held[DSM_MSG_PAGE] = true;
		w.hold_run = true;
		world_fault(B, 0, true);
		world_run();
		m = world_forge(DSM_MSG_FETCH, WORLD_REGION, 100);
		dsm_wire_put(m, &body, sizeof(body));
		assert_int_equal(world_inject(B, C, m), 0);
		if (ready)
			world_deliver(DSM_MSG_PAGE);
		assert_int_equal(list_empty(&world_engine(B)->deferred), ready);
		assert_int_equal(list_empty(&world_engine(B)->ready), !ready);
		world_lose(C);
		assert_true(list_empty(&world_engine(B)->deferred));
		assert_true(list_empty(&world_engine(B)->ready));
		dsm_engine_peer_up(world_engine(B), C);
		w.hold_run = false;
		w.held[DSM_MSG_PAGE] = false;
		world_run();
		assert_int_equal(world_page(B, 0)->state, DSM_PAGE_HOME);
		assert_int_equal(w.n_fly, 0);
		world_stop();
	}
}

static void claim_whose_manager_is_lost_fails_and_answers_who_waited(void **state)
{
	struct dsm_wire_fetch body = {};
	struct dsm_msgbuf *m = world_forge(DSM_MSG_FETCH, WORLD_REGION, 100);

	world_fault(B, 0, true);
	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(B, C, m), 0);
	world_lose(A);
	assert_int_equal(world_page(B, 0)->state, DSM_PAGE_INV);
	w.held[DSM_MSG_PAGE] = true;
	world_run();
	assert_true(list_empty(&world_engine(B)->deferred));
	assert_int_equal(world_count(DSM_MSG_PAGE), 1);
	assert_int_equal(((struct dsm_wire_page *)world_body(DSM_MSG_PAGE))->status, DSM_PAGE_STATUS_NACK);
	assert_int_equal(world_fault(B, 0, true), -EHOSTDOWN);
}

static void nack_to_a_lost_winner_ends_the_wait(void **state)
{
	struct dsm_page *p = world_page(C, 0);

	world_load(B, 0, 0);
	w.held[DSM_MSG_PAGE] = true;
	world_fault(C, 0, false);
	world_run();
	world_lose(B);
	world_deliver(DSM_MSG_PAGE);
	assert_int_equal(world_fault(C, 0, false), -EHOSTDOWN);
	assert_false(dsm_page_busy(world_engine(C), p));
}

static void nack_naming_nobody_goes_back_to_the_manager(void **state)
{
	static const u16 homes[] = { DSM_NO_NODE, 3, 63, 64, 0x8000 };
	struct dsm_page *p = world_page(C, 0);
	u32 i;

	w.held[DSM_MSG_FETCH] = true;
	world_fault(C, 0, false);
	for (i = 0; i < ARRAY_SIZE(homes); i++) {
		struct dsm_wire_page body = { .status = DSM_PAGE_STATUS_NACK, .home = cpu_to_le16(homes[i]) };
		struct dsm_msgbuf *m = world_forge(DSM_MSG_PAGE, WORLD_REGION, p->xid);

		dsm_wire_put(m, &body, sizeof(body));
		assert_int_equal(world_inject(C, A, m), 0);
		assert_int_equal(p->home, A);
	}
}

static void nack_naming_the_asker_breaks_the_protocol(void **state)
{
	struct dsm_wire_page body = { .status = DSM_PAGE_STATUS_NACK, .home = cpu_to_le16(B) };
	struct dsm_page *p = world_page(B, 16 * B);
	struct dsm_msgbuf *m;

	assert_int_equal(p->state, DSM_PAGE_FREE);
	world_load(C, 16 * B, 0);
	world_fault(B, 16 * B, false);
	m = world_forge(DSM_MSG_PAGE, WORLD_REGION, p->xid);
	body.idx = cpu_to_le32(16 * B);
	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(B, C, m), -EPROTO);
}

static void nobody_is_made_home_of_a_page_with_a_fixed_home(void **state)
{
	struct dsm_wire_page body = { .status = DSM_PAGE_STATUS_HOME };
	struct dsm_page *p = enter(DSM_PAGE_FET);
	struct dsm_msgbuf *m = world_forge(DSM_MSG_PAGE, WORLD_REGION, p->xid);

	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(B, A, m), -EPROTO);
	assert_int_equal(p->home, A);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(home_lost_takes_its_row),
		T(start2, home_lost_between_step_and_page_ends_the_wait),
		T(start3, loss_of_another_node_leaves_the_page),
		T(start_touch, first_fault_at_the_manager_claims),
		T(start_touch, first_fault_elsewhere_claims),
		T(start_touch, reg_node_that_is_no_member_homes_nothing),
		T(start_touch, second_claim_is_sent_to_the_winner),
		T(start_touch, fetch_at_a_winner_whose_claim_is_under_way_is_deferred),
		T(start_touch, deferred_fetch_of_the_same_node_is_not_kept_twice),
		cmocka_unit_test(reg_fetch_of_a_lost_node_is_forgotten),
		T(start_touch, claim_whose_manager_is_lost_fails_and_answers_who_waited),
		T(start_touch, nack_to_a_lost_winner_ends_the_wait),
		T(start_touch, nack_naming_nobody_goes_back_to_the_manager),
		T(start_touch, nack_naming_the_asker_breaks_the_protocol),
		T(start2, nobody_is_made_home_of_a_page_with_a_fixed_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
