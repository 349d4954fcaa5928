// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/flag.c: set, clear, test, wait, and the bare release and acquire.
 * The key of these tests is managed by A.
 */
#include "unit.h"
#include "flag_world.h"

static bool cancel(u16 node, struct dsm_waiter *waiter)
{
	bool gone = dsm_flag_cancel(world_engine(node), &w.node[node].space, K, waiter, world_begin(node));

	world_end(node);
	return gone;
}

struct row {
	bool set;
	u8 op;
	int want;
	bool set_after;
};

static const struct row rows[] = {
	{ false, DSM_FLAG_TEST, -EAGAIN, false }, { true, DSM_FLAG_TEST, 0, true },
	{ false, DSM_FLAG_SET, 0, true }, { true, DSM_FLAG_SET, -EALREADY, true },
	{ false, DSM_FLAG_CLEAR, 0, false }, { true, DSM_FLAG_CLEAR, 0, false },
	{ true, DSM_FLAG_WAIT, 0, true },
};

static void operation_takes_its_row_at_every_node(void **state)
{
	const struct row *r;
	u16 n;

	for (r = rows; r < rows + ARRAY_SIZE(rows); r++)
		for (n = A; n <= C; n++) {
			int got;

			flag(B, r->set ? DSM_FLAG_SET : DSM_FLAG_CLEAR);
			got = flag(n, r->op);
			unit_require(got == r->want, "set %d, operation %u at node %u: %d", r->set, r->op, n, got);
			assert_int_equal(flag(C, DSM_FLAG_TEST), r->set_after ? 0 : -EAGAIN);
			/* A clear flag that nobody waits for costs nothing. */
			assert_int_equal(exists(), r->set_after);
		}
}

static void set_wakes_every_waiter(void **state)
{
	struct dsm_waiter waiter[6];
	u32 i;

	for (i = 0; i < 6; i++) {
		assert_int_equal(begin(i % 3, DSM_FLAG_WAIT, &waiter[i]), 0);
		world_run();
		assert_false(waiter[i].done);
	}
	assert_int_equal(flag(B, DSM_FLAG_SET), 0);
	for (i = 0; i < 6; i++) {
		assert_true(waiter[i].done);
		assert_int_equal(waiter[i].status, 0);
	}
}

static void waiter_of_a_flag_that_is_cleared_at_once_is_woken(void **state)
{
	struct dsm_waiter wait, set, clear;

	begin(C, DSM_FLAG_WAIT, &wait);
	world_run();
	w.hold_run = true;
	begin(A, DSM_FLAG_SET, &set);
	begin(A, DSM_FLAG_CLEAR, &clear);
	w.hold_run = false;
	world_run();
	assert_true(wait.done);
	assert_int_equal(wait.status, 0);
	assert_int_equal(flag(A, DSM_FLAG_TEST), -EAGAIN);
}

static void only_so_many_flags_are_set(void **state)
{
	world_engine(A)->flag_cap = 1;
	assert_int_equal(flag(B, DSM_FLAG_SET), 0);
	assert_int_equal(flag(C, DSM_FLAG_SET), -EALREADY);
	K = world_key(DSM_MSG_FLAG_OP, A, 1);
	assert_int_equal(flag(B, DSM_FLAG_SET), -EDQUOT);
	assert_int_equal(flag(A, DSM_FLAG_SET), -EDQUOT);
	assert_false(exists());
	K = world_key(DSM_MSG_FLAG_OP, A, 0);
	assert_int_equal(flag(C, DSM_FLAG_CLEAR), 0);
	assert_int_equal(flag(C, DSM_FLAG_CLEAR), 0);
	K = world_key(DSM_MSG_FLAG_OP, A, 1);
	assert_int_equal(flag(C, DSM_FLAG_SET), 0);
}

static void what_the_setter_wrote_is_seen_by_who_waited(void **state)
{
	struct dsm_waiter wait;
	u16 from, to;

	for (from = A; from <= C; from++)
		for (to = A; to <= C; to++) {
			if (from == to)
				continue;
			flag(A, DSM_FLAG_CLEAR);
			world_load(to, 4, 0);
			begin(to, DSM_FLAG_WAIT, &wait);
			world_run();
			world_store(from, 4, 0, 16 * from + to + 1);
			assert_int_equal(world_release(from), 0);
			flag(from, DSM_FLAG_SET);
			assert_true(wait.done);
			world_acquire(to);
			assert_int_equal(world_load(to, 4, 0), 16 * from + to + 1);
		}
}

static void set_with_more_knowledge_than_fits_waits_for_the_pull(void **state)
{
	struct dsm_waiter wait, set;
	u32 i;

	begin(B, DSM_FLAG_WAIT, &wait);
	world_run();
	for (i = 0; i < 300; i++) {
		world_store(C, 2, 0, i);
		world_release(C);
	}
	w.held[DSM_MSG_INTERVALS] = true;
	begin(C, DSM_FLAG_SET, &set);
	world_run();
	assert_false(wait.done);
	assert_false(exists() && set.done);
	w.held[DSM_MSG_INTERVALS] = false;
	world_run();
	assert_true(set.done);
	assert_true(wait.done);
	assert_int_equal(world_engine(B)->known[C], 300);
}

static void reg_wait_cancelled_while_its_knowledge_is_pulled(void **state)
{
	struct dsm_waiter wait;
	u32 ready, i;

	for (ready = 0; ready < 2; ready++) {
		for (i = 0; i < 300; i++) {
			world_store(C, 2, 0, i);
			world_release(C);
		}
		w.held[DSM_MSG_INTERVALS] = true;
		begin(C, DSM_FLAG_WAIT, &wait);
		world_run();
		if (ready) {
			w.hold_run = true;
			w.held[DSM_MSG_INTERVALS] = false;
			world_run();
		}
		assert_true(cancel(C, &wait));
		world_run();
		w.hold_run = false;
		w.held[DSM_MSG_INTERVALS] = false;
		world_run();
		assert_false(exists());
		assert_int_equal(world_engine(A)->served[C], 0);
	}
}

static void cancelled_wait_is_forgotten_at_the_manager(void **state)
{
	struct dsm_waiter wait, other;
	u16 n;

	for (n = A; n <= C; n++) {
		begin(n, DSM_FLAG_WAIT, &wait);
		world_run();
		assert_true(exists());
		assert_true(cancel(n, &wait));
		world_run();
		assert_false(exists());
		/* Only that one. */
		begin(n, DSM_FLAG_WAIT, &other);
		begin(n, DSM_FLAG_WAIT, &wait);
		world_run();
		assert_true(cancel(n, &wait));
		world_run();
		assert_int_equal(flag(B, DSM_FLAG_SET), 0);
		assert_true(other.done);
		assert_false(wait.done);
		assert_false(cancel(n, &other));
		flag(B, DSM_FLAG_CLEAR);
	}
}

/* Messages come in any order. @late: of another thread with the same flag, behind it. */
static void reg_cancel_that_overtakes_its_wait_ends_it(void **state)
{
	struct dsm_waiter wait, late;

	begin(C, DSM_FLAG_WAIT, &wait);
	w.held[DSM_MSG_FLAG_OP] = true;
	assert_int_equal(world_count(DSM_MSG_FLAG_OP), 1);
	assert_true(cancel(C, &wait));
	begin(C, DSM_FLAG_WAIT, &late);
	assert_int_equal(world_count(DSM_MSG_FLAG_OP), 3);
	assert_int_equal(world_deliver_at(1), 0);
	assert_false(exists());
	assert_int_equal(world_deliver_at(0), 0);
	assert_false(exists());
	assert_int_equal(world_engine(A)->served[C], 0);
	w.held[DSM_MSG_FLAG_OP] = false;
	world_run();
	assert_true(exists());
	assert_int_equal(flag(B, DSM_FLAG_SET), 0);
	assert_true(late.done && !wait.done);
}

/* Who has its number later begins anew. */
static void early_cancels_of_a_lost_node_are_forgotten(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_waiter wait;

	begin(C, DSM_FLAG_WAIT, &wait);
	assert_int_equal(world_count(DSM_MSG_FLAG_OP), 1);
	assert_true(cancel(C, &wait));
	assert_int_equal(world_deliver_at(1), 0);
	assert_int_equal(e->early[C].n, 1);
	world_lose(C);
	assert_int_equal(e->early[C].n, 0);
	assert_int_equal(e->early[C].xid[0], 0);
}

static void cancel_that_crosses_the_answer_is_harmless(void **state)
{
	struct dsm_waiter wait;

	begin(C, DSM_FLAG_WAIT, &wait);
	world_run();
	w.held[DSM_MSG_FLAG_REPLY] = true;
	assert_int_equal(flag(A, DSM_FLAG_SET), 0);
	assert_int_equal(world_count(DSM_MSG_FLAG_REPLY), 1);
	assert_true(cancel(C, &wait));
	w.held[DSM_MSG_FLAG_REPLY] = false;
	world_run();
	assert_false(wait.done);
}

static void result_of_a_reply_is_one_of_the_known(void **state)
{
	static const struct { u32 wire; int want; } table[] = {
		{ 0, 0 }, { EALREADY, -EALREADY }, { EAGAIN, -EAGAIN }, { EDQUOT, -EDQUOT }, { 1, -EHOSTDOWN }, { 0xffffffff, -EHOSTDOWN },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct dsm_wire_flag body = { .key = cpu_to_le64(K), .status = cpu_to_le32(table[i].wire) };
		struct dsm_waiter wait;
		struct dsm_msgbuf *m;
		u16 from;

		begin(B, DSM_FLAG_WAIT, &wait);
		/* Only the manager's answer counts. */
		for (from = C; from != B; from = from == C ? A : B) {
			m = world_forge(DSM_MSG_FLAG_REPLY, WORLD_REGION, wait.xid);
			dsm_wire_put(m, &body, sizeof(body));
			world_put_times(m, 3, 0);
			assert_int_equal(world_inject(B, from, m), 0);
			assert_int_equal(wait.done, from == A);
		}
		assert_int_equal(wait.status, table[i].want);
		world_drop_at(0);
	}
}

static void loss_of_the_manager_fails_those_who_wait(void **state)
{
	struct dsm_waiter wait;

	begin(C, DSM_FLAG_WAIT, &wait);
	world_run();
	world_lose(A);
	assert_true(wait.done);
	assert_int_equal(wait.status, -EHOSTDOWN);
	assert_int_equal(flag(C, DSM_FLAG_SET), -EHOSTDOWN);
}

static void loss_of_who_may_be_the_setter_fails_all_waits(void **state)
{
	enum { MANY = 100 };
	struct dsm_waiter wait[MANY];
	u32 i;

	for (i = 0; i < MANY; i++)
		begin(i % 2 ? A : B, DSM_FLAG_WAIT, &wait[i]);
	world_run();
	world_lose(C);
	world_run();
	for (i = 0; i < MANY; i++) {
		assert_true(wait[i].done);
		assert_int_equal(wait[i].status, -EHOSTDOWN);
	}
	assert_false(exists());
	/* Once: who has heard of it may wait for the others. */
	told = 1 << C;
	for (i = 0; i < 2; i++)
		begin(i, DSM_FLAG_WAIT, &wait[i]);
	world_run();
	assert_false(wait[A].done || wait[B].done);
	assert_int_equal(flag(B, DSM_FLAG_SET), 0);
	assert_int_equal(wait[A].status, 0);
	assert_true(wait[A].done && wait[B].done);
}

static void waits_of_a_node_above_the_limit_are_refused(void **state)
{
	enum { CAP = 10 };
	struct dsm_engine *e = world_engine(A);
	struct dsm_waiter wait[CAP], other;
	u16 n;
	u32 i;

	e->request_cap = CAP;
	for (n = A; n <= C; n++) {
		e->stats.requests_refused = 0;
		for (i = 0; i < CAP; i++)
			begin(n, DSM_FLAG_WAIT, &wait[i]);
		world_run();
		assert_int_equal(flag(n, DSM_FLAG_WAIT), -EDQUOT);
		assert_int_equal(flag(n, DSM_FLAG_WAIT), -EDQUOT);
		assert_int_equal(e->stats.requests_refused, 2);
		assert_int_equal(e->served[n], CAP);
		/* Another node waits as before; a node whose threads all wait can still set. */
		begin((n + 1) % 3, DSM_FLAG_WAIT, &other);
		assert_int_equal(flag(n, DSM_FLAG_TEST), -EAGAIN);
		assert_int_equal(flag(n, DSM_FLAG_SET), 0);
		for (i = 0; i < CAP; i++)
			assert_int_equal(wait[i].status, 0);
		assert_true(other.done);
		assert_int_equal(e->served[n], 0);
		flag(n, DSM_FLAG_CLEAR);
	}
}

static void requests_that_pass_are_limited_too(void **state)
{
	enum { CAP = 3 };
	struct dsm_engine *e = world_engine(A);
	struct dsm_waiter set[2 * CAP + 2];
	u32 i, refused = 0;

	e->request_cap = CAP;
	for (i = 0; i < 300; i++) {
		world_store(C, 2, 0, i);
		world_release(C);
	}
	/* Knowledge that does not fit is pulled first, and meanwhile more come. */
	w.held[DSM_MSG_INTERVALS] = true;
	for (i = 0; i < ARRAY_SIZE(set); i++)
		begin(C, DSM_FLAG_CLEAR, &set[i]);
	world_run();
	assert_int_equal(e->served[C], 2 * CAP);
	w.held[DSM_MSG_INTERVALS] = false;
	world_run();
	for (i = 0; i < ARRAY_SIZE(set); i++) {
		assert_true(set[i].done);
		refused += set[i].status == -EDQUOT;
	}
	assert_int_equal(refused, 2);
	assert_int_equal(e->served[C], 0);
}

/* ---- bare release and acquire ---- */

static int push(u16 node)
{
	struct dsm_waiter waiter;
	int err;

	dsm_waiter_init(&waiter);
	err = dsm_sync_push(world_engine(node), &w.node[node].space, &waiter, world_begin(node));
	world_end(node);
	if (err != -EINPROGRESS)
		return err;
	world_run();
	assert_true(waiter.done);
	return waiter.status;
}

static int pull(u16 node)
{
	struct dsm_waiter waiter;
	int err;

	dsm_waiter_init(&waiter);
	err = dsm_sync_pull(world_engine(node), &w.node[node].space, &waiter, world_begin(node));
	world_end(node);
	if (err != -EINPROGRESS)
		return err;
	world_run();
	assert_true(waiter.done);
	return waiter.status;
}

static void bare_release_then_bare_acquire_shows_the_bytes(void **state)
{
	u16 from, to;

	for (from = A; from <= C; from++)
		for (to = A; to <= C; to++) {
			world_load(to, 5, 0);
			world_store(from, 5, 0, 16 * from + to + 1);
			assert_int_equal(world_release(from), 0);
			assert_int_equal(push(from), 0);
			assert_int_equal(pull(to), 0);
			world_acquire(to);
			assert_int_equal(world_load(to, 5, 0), 16 * from + to + 1);
		}
}

static void push_of_nothing_new_sends_nothing(void **state)
{
	u16 n;

	for (n = A; n <= C; n++) {
		world_store(n, n, 0, 1);
		world_release(n);
		assert_int_equal(push(n), 0);
	}
	for (n = A; n <= C; n++)
		pull(n);
	w.held[DSM_MSG_SYNC_PUSH] = true;
	for (n = A; n <= C; n++)
		assert_int_equal(push(n), 0);
	assert_int_equal(w.n_fly, 0);
}

static void push_of_more_than_one_message_is_answered_when_all_is_there(void **state)
{
	u16 manager = dsm_manager(&w.node[A].space, DSM_MSG_SYNC_PUSH, 0), n = (manager + 1) % 3;
	u32 i;

	for (i = 0; i < 300; i++) {
		world_store(n, n, 0, i);
		world_release(n);
	}
	assert_int_equal(push(n), 0);
	assert_int_equal(world_engine(manager)->known[n], 300);
	assert_int_equal(pull((n + 1) % 3), 0);
	assert_int_equal(pull((n + 2) % 3), 0);
}

static void lost_sync_manager_is_told(void **state)
{
	u16 manager = dsm_manager(&w.node[A].space, DSM_MSG_SYNC_PUSH, 0), n = (manager + 1) % 3;

	world_store(n, n, 0, 1);
	world_release(n);
	world_lose(manager);
	assert_int_equal(push(n), -EHOSTDOWN);
	assert_int_equal(pull(n), -EHOSTDOWN);
}

static void pull_that_the_loss_cuts_ends_with_everything_invalid(void **state)
{
	u16 manager = dsm_manager(&w.node[A].space, DSM_MSG_SYNC_PUSH, 0), n = (manager + 1) % 3;
	struct dsm_waiter waiter;

	dsm_waiter_init(&waiter);
	assert_int_equal(dsm_sync_pull(world_engine(n), &w.node[n].space, &waiter, world_begin(n)), -EINPROGRESS);
	world_end(n);
	world_lose(manager);
	world_run();
	assert_true(waiter.done);
	assert_true(world_engine(n)->inval_all);
}

#define T(name) cmocka_unit_test_setup_teardown(name, start3, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(operation_takes_its_row_at_every_node),
		T(set_wakes_every_waiter),
		T(only_so_many_flags_are_set),
		T(waiter_of_a_flag_that_is_cleared_at_once_is_woken),
		T(what_the_setter_wrote_is_seen_by_who_waited),
		T(set_with_more_knowledge_than_fits_waits_for_the_pull),
		T(reg_wait_cancelled_while_its_knowledge_is_pulled),
		T(cancelled_wait_is_forgotten_at_the_manager),
		T(reg_cancel_that_overtakes_its_wait_ends_it),
		T(early_cancels_of_a_lost_node_are_forgotten),
		T(cancel_that_crosses_the_answer_is_harmless),
		T(result_of_a_reply_is_one_of_the_known),
		T(loss_of_the_manager_fails_those_who_wait),
		T(loss_of_who_may_be_the_setter_fails_all_waits),
		T(waits_of_a_node_above_the_limit_are_refused),
		T(requests_that_pass_are_limited_too),
		T(bare_release_then_bare_acquire_shows_the_bytes),
		T(push_of_nothing_new_sends_nothing),
		T(push_of_more_than_one_message_is_answered_when_all_is_there),
		T(lost_sync_manager_is_told),
		T(pull_that_the_loss_cuts_ends_with_everything_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
