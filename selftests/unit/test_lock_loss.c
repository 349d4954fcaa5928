// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/lock_loss.c and core/lock_manager.c when a node is lost, and when a peer breaks rules.
 */
#include "lock_world.h"

/* ---- loss of a node ---- */

static void token_at_a_survivor_outlives_the_loss_of_the_tail(void **state)
{
	struct dsm_waiter b;

	world_lock(C, K, 30);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_lose(B);
	world_run();
	assert_int_equal(lock_at(C)->next, DSM_NO_NODE);
	assert_int_equal(lock_at(A)->tail, C);
	assert_int_equal(world_unlock(C, K, 30), 0);
	world_run();
	assert_int_equal(world_lock(A, K, 10), 0);
	world_unlock(A, K, 10);
	assert_int_equal(world_lock(C, K, 30), 0);
}

static void waiters_behind_a_lost_node_close_the_gap(void **state)
{
	struct dsm_waiter b, a;

	world_lock(C, K, 30);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_lock_begin(A, K, &a, 10, false);
	world_run();
	world_lose(B);
	world_run();
	assert_false(a.done);
	world_unlock(C, K, 30);
	world_run();
	assert_true(a.done);
	assert_int_equal(a.status, 0);
}

static void token_on_a_lost_node_fails_every_request(void **state)
{
	struct dsm_waiter a, c;

	world_lock(B, K, 20);
	world_lock_begin(C, K, &c, 30, false);
	world_lock_begin(A, K, &a, 10, false);
	world_run();
	world_lose(B);
	world_run();
	assert_true(a.done);
	assert_int_equal(a.status, -EHOSTDOWN);
	assert_true(c.done);
	assert_int_equal(c.status, -EHOSTDOWN);
	assert_int_equal(world_lock(C, K, 30), -EHOSTDOWN);
	assert_int_equal(world_lock(A, K, 10), -EHOSTDOWN);
	assert_int_equal(world_try(C, K, 30), -EHOSTDOWN);
	/* No second token was made. */
	assert_int_not_equal(world_lock_state(A, K), DSM_LOCK_CACHED);
	/* Other keys are not touched. */
	assert_int_equal(world_lock(C, world_key(DSM_MSG_LOCK_REQ, A, 1), 30), 0);
}

static void token_cached_on_a_lost_node_is_lost_too(void **state)
{
	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	world_lose(B);
	world_run();
	assert_int_equal(world_lock(C, K, 30), -EHOSTDOWN);
}

/* Before it leaves in good order, that is; one whose manager is lost has nowhere to go. */
static void reg_tokens_go_home_before_their_node_leaves(void **state)
{
	bool more = true;
	u32 steps = 0;

	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	world_lock(B, K + 1, 20);
	world_unlock(B, K + 1, 20);
	assert_int_not_equal(world_engine(B)->n_cached, 0);
	while (more) {
		assert_true(++steps < 4);
		more = dsm_lock_send_home(world_engine(B), world_begin(B));
		world_end(B);
	}
	assert_false(dsm_lock_all_home(world_engine(B)));
	world_run();
	assert_true(dsm_lock_all_home(world_engine(B)));
	dsm_engine_peer_left(world_engine(A), B);
	dsm_engine_peer_left(world_engine(C), B);
	world_lose(B);
	world_run();
	assert_int_equal(world_lock(C, K, 30), 0);
}

/* Also those behind more whose manager is lost than a step looks at to keep to the cap. */
static void reg_tokens_behind_those_of_a_lost_manager_go_home(void **state)
{
	u64 key = world_key(DSM_MSG_LOCK_REQ, C, 0);
	u32 i, steps = 0;
	bool more = true;

	for (i = 0; i < 40; i++) {
		world_lock(B, world_key(DSM_MSG_LOCK_REQ, A, i), 20);
		world_unlock(B, world_key(DSM_MSG_LOCK_REQ, A, i), 20);
	}
	world_lock(B, key, 20);
	world_unlock(B, key, 20);
	world_lose(A);
	world_run();
	while (more) {
		assert_true(++steps < 4);
		more = dsm_lock_send_home(world_engine(B), world_begin(B));
		world_end(B);
	}
	world_run();
	assert_true(dsm_lock_all_home(world_engine(B)));
	dsm_engine_peer_left(world_engine(C), B);
	world_lose(B);
	world_run();
	assert_int_equal(world_lock(C, key, 30), 0);
}

static void loss_of_a_node_that_gave_the_token_back_does_no_harm(void **state)
{
	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	assert_int_equal(world_lock(C, K, 30), 0);
	world_lose(B);
	world_run();
	assert_int_equal(world_unlock(C, K, 30), 0);
	assert_int_equal(world_lock(A, K, 10), 0);
}

static void lost_manager_fails_waiters_and_leaves_the_holder(void **state)
{
	struct dsm_waiter b;

	world_lock(C, K, 30);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_lose(A);
	world_run();
	assert_true(b.done);
	assert_int_equal(b.status, -EHOSTDOWN);
	assert_int_equal(world_lock(B, K, 20), -EHOSTDOWN);
	assert_int_equal(world_lock_state(B, K), -1);
	/* C was told who comes next; the token goes there and back to nobody's harm. */
	assert_int_equal(world_unlock(C, K, 30), 0);
	world_run();
	assert_true(world_lock_state(B, K) == DSM_LOCK_CACHED || world_lock_state(C, K) == DSM_LOCK_CACHED);
	assert_true(world_lock_state(B, K) == -1 || world_lock_state(C, K) == -1);
}

static void grant_after_the_loss_of_the_manager_is_kept(void **state)
{
	struct dsm_waiter c;

	world_lock(B, K, 20);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_unlock(B, K, 20);
	world_run();
	world_lose(A);
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, -EHOSTDOWN);
	assert_int_equal(world_lock_state(C, K), -1);
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_CACHED);
	assert_int_equal(world_lock(C, K, 30), 0);
}

static void return_to_a_lost_manager_is_kept_or_forgotten(void **state)
{
	world_engine(C)->lock_cap = 0;
	world_lock(C, K, 30);
	w.held[DSM_MSG_LOCK_RETURN] = true;
	world_unlock(C, K, 30);
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_RETURNING);
	world_lose(A);
	world_run();
	assert_int_equal(world_lock_state(C, K), -1);
	assert_int_equal(world_lock(C, K, 30), -EHOSTDOWN);
}

static void token_that_a_probe_missed_turns_up(void **state)
{
	struct dsm_waiter c;

	/* B granted to C and died; C answers the probe before the token reaches it. */
	world_lock(B, K, 20);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_unlock(B, K, 20);
	world_run();
	w.node[B].dead = true;
	world_learn_loss(A, B);
	w.held[DSM_MSG_LOCK_REFUSED] = true;
	world_run();
	assert_true(lock_at(A)->flags & DSM_LOCKF_LOST);
	assert_int_equal(world_count(DSM_MSG_LOCK_REFUSED), 1);
	world_deliver(DSM_MSG_LOCK_GRANT);
	/* It goes to the manager, so that all know where it is; C asks once more. */
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_GRANTING);
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_false(c.done);
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_WAITING);
	w.held[DSM_MSG_LOCK_REFUSED] = false;
	world_run();
	world_learn_loss(C, B);
	assert_true(c.done);
	assert_int_equal(c.status, 0);
	assert_false(lock_at(A)->flags & DSM_LOCKF_LOST);
	assert_int_equal(world_unlock(C, K, 30), 0);
	assert_int_equal(world_lock(A, K, 10), 0);
	world_unlock(A, K, 10);
	assert_int_equal(world_lock(C, K, 30), 0);
}

/*
 * C was granted the token by B, which died; C's newer request, sent for the probe, is still on
 * its way. Were the token used, the request would wait in the queue for nobody.
 */
static void reg_request_sent_for_a_probe_is_answered_once(void **state)
{
	struct dsm_waiter c, a;

	world_lock(B, K, 20);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_unlock(B, K, 20);
	world_run();
	w.node[B].dead = true;
	world_learn_loss(A, B);
	w.held[DSM_MSG_LOCK_REQ] = true;
	world_run();
	world_deliver(DSM_MSG_LOCK_GRANT);
	world_learn_loss(C, B);
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_false(c.done);
	assert_int_equal(world_count(DSM_MSG_LOCK_REQ), 1);
	w.held[DSM_MSG_LOCK_REQ] = false;
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
	assert_int_equal(lock_at(A)->n_order, 2);
	/* Who comes next gets it, and the one after. */
	world_lock_begin(A, K, &a, 10, false);
	world_run();
	assert_int_equal(world_unlock(C, K, 30), 0);
	world_run();
	assert_true(a.done);
	assert_int_equal(world_unlock(A, K, 10), 0);
	assert_int_equal(world_lock(C, K, 30), 0);
}

static void token_that_comes_late_for_a_try(void **state)
{
	struct dsm_waiter c, other;

	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_lock_begin(C, K, &c, 30, true);
	world_run();
	w.node[B].dead = true;
	world_learn_loss(A, B);
	w.held[DSM_MSG_LOCK_TRY] = true;
	world_run();
	world_lock_begin(C, K, &other, 31, false);
	world_deliver(DSM_MSG_LOCK_GRANT);
	world_learn_loss(C, B);
	memset(w.held, 0, sizeof(w.held));
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
	assert_false(other.done);
	assert_int_equal(world_unlock(C, K, 30), 0);
	assert_true(other.done);
}

static void reg_token_that_comes_during_the_managers_own_probe(void **state)
{
	struct dsm_waiter a, c;

	world_lock(C, K, 30);
	world_lock_begin(A, K, &a, 10, false);
	world_lock_begin(B, K, &(struct dsm_waiter){}, 20, false);
	world_run();
	w.held[DSM_MSG_LOCK_GRANT] = true;
	w.held[DSM_MSG_LOCK_STATE] = true;
	world_unlock(C, K, 30);
	world_run();
	world_lose(B);
	world_run();
	assert_true(lock_at(A)->flags & DSM_LOCKF_PROBING);
	world_deliver(DSM_MSG_LOCK_GRANT);
	assert_true(a.done);
	memset(w.held, 0, sizeof(w.held));
	world_run();
	assert_false(lock_at(A)->flags & DSM_LOCKF_LOST);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	assert_int_equal(world_unlock(A, K, 10), 0);
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
}

static void stray_token_goes_home(void **state)
{
	struct dsm_waiter c;

	world_lock(B, K, 20);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_unlock(B, K, 20);
	world_run();
	w.node[B].dead = true;
	world_learn_loss(A, B);
	world_run();
	assert_int_equal(c.status, -EHOSTDOWN);
	world_deliver(DSM_MSG_LOCK_GRANT);
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_RETURNING);
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_false(lock_at(A)->flags & DSM_LOCKF_LOST);
	assert_int_equal(world_lock(C, K, 30), 0);
}

static void loss_of_a_node_whose_try_is_out(void **state)
{
	struct dsm_waiter b, a;
	u32 late;

	for (late = 0; late < 2; late++) {
		world_start(3);
		world_lock(C, K, 30);
		world_unlock(C, K, 30);
		w.held[DSM_MSG_LOCK_TRY_PASS] = !late;
		w.held[DSM_MSG_LOCK_TRY_DONE] = late;
		w.held[DSM_MSG_LOCK_GRANT] = late;
		world_lock_begin(B, K, &b, 20, true);
		world_run();
		world_lock_begin(A, K, &a, 10, false);
		world_lose(B);
		memset(w.held, 0, sizeof(w.held));
		world_run();
		/* Before the token left it is still there; after, it went down with B. */
		assert_true(a.done);
		assert_int_equal(a.status, late ? -EHOSTDOWN : 0);
		world_stop();
	}
}

static void second_loss_during_a_probe(void **state)
{
	world_lock(C, K, 30);
	world_lock_begin(B, K, &(struct dsm_waiter){}, 20, false);
	world_run();
	w.held[DSM_MSG_LOCK_STATE] = true;
	world_lose(B);
	world_run();
	assert_true(lock_at(A)->flags & DSM_LOCKF_PROBING);
	world_lose(C);
	world_run();
	assert_false(lock_at(A)->flags & DSM_LOCKF_PROBING);
	assert_int_equal(world_lock(A, K, 10), -EHOSTDOWN);
}

/* C, which is in the queue at the first loss and not at the second, has asked before the first one, and that comes last. */
static void reg_request_that_a_probe_made_void_stays_void_after_the_next(void **state)
{
	struct dsm_waiter b, c, d, e;

	world_start(5);
	K = world_key(DSM_MSG_LOCK_REQ, A, 0);
	world_lock(C, K, 30);
	world_lock_begin(B, K, &b, 20, false);
	world_run();
	world_lock_begin(3, K, &d, 40, false);
	world_run();
	world_lock_begin(4, K, &e, 50, false);
	world_run();
	w.held[DSM_MSG_LOCK_REQ] = true;
	world_unlock(C, K, 30);
	world_run();
	world_lock_begin(C, K, &c, 30, false);
	world_lose(3);
	world_run();
	deliver_request_of(4);
	world_lose(4);
	world_run();
	deliver_request_of(C);
	assert_int_equal(lock_at(A)->tail, B);
	memset(w.held, 0, sizeof(w.held));
	world_run();
	world_unlock(B, K, 20);
	world_run();
	assert_true(c.done);
	assert_int_equal(c.status, 0);
	world_stop();
}

/* Whose try was out is asked as well: so its own loss ends the probe. */
static void reg_try_that_is_lost_after_the_tail_ends_the_probe(void **state)
{
	struct dsm_waiter b;

	world_lock(C, K, 30);
	world_unlock(C, K, 30);
	w.held[DSM_MSG_LOCK_TRY_PASS] = true;
	world_lock_begin(B, K, &b, 20, true);
	world_run();
	w.held[DSM_MSG_LOCK_STATE] = true;
	world_lose(C);
	world_run();
	assert_true(lock_at(A)->flags & DSM_LOCKF_PROBING);
	world_lose(B);
	world_run();
	assert_false(lock_at(A)->flags & DSM_LOCKF_PROBING);
	assert_int_equal(world_lock(A, K, 10), -EHOSTDOWN);
}

static void reg_token_that_a_try_got_outlives_two_losses(void **state)
{
	struct dsm_waiter d;

	world_start(4);
	K = world_key(DSM_MSG_LOCK_REQ, A, 0);
	world_lock(B, K, 20);
	world_unlock(B, K, 20);
	world_lock(C, K, 30);
	world_unlock(C, K, 30);
	w.held[DSM_MSG_LOCK_TRY_DONE] = true;
	world_lock_begin(3, K, &d, 40, true);
	world_run();
	assert_true(d.done);
	assert_int_equal(d.status, 0);
	w.held[DSM_MSG_LOCK_STATE] = true;
	world_lose(B);
	world_run();
	world_lose(C);
	memset(w.held, 0, sizeof(w.held));
	world_run();
	assert_false(lock_at(A)->flags & (DSM_LOCKF_PROBING | DSM_LOCKF_LOST));
	assert_int_equal(lock_at(A)->tail, 3);
	world_unlock(3, K, 40);
	assert_int_equal(world_lock(A, K, 10), 0);
	world_stop();
}

/* It goes on, and is used, only with all that its last holder knew. */
static void reg_stray_token_waits_for_its_knowledge(void **state)
{
	struct dsm_waiter c, more;

	world_start(4);
	K = world_key(DSM_MSG_LOCK_REQ, A, 0);
	world_lock(3, K, 40);
	world_unlock(3, K, 40);
	world_lock(B, K, 20);
	world_lock_begin(C, K, &c, 30, false);
	world_run();
	write_much(B);
	w.held[DSM_MSG_LOCK_GRANT] = true;
	world_unlock(B, K, 20);
	world_run();
	world_lose(3);
	world_run();
	assert_true(lock_at(A)->flags & DSM_LOCKF_LOST);
	assert_int_equal(c.status, -EHOSTDOWN);
	w.held[DSM_MSG_INTERVALS] = true;
	w.held[DSM_MSG_LOCK_GRANT] = false;
	world_run();
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_RETURNING);
	world_lock_begin(C, K, &more, 31, false);
	world_run();
	assert_false(more.done);
	assert_true(lock_at(A)->flags & DSM_LOCKF_LOST);
	w.held[DSM_MSG_INTERVALS] = false;
	world_run();
	assert_true(more.done);
	assert_int_equal(more.status, 0);
	assert_int_equal(world_engine(C)->known[B], 300);
	world_stop();
}

/* ---- peers that break rules ---- */

static int inject(u16 to, u16 from, u8 type, u16 node, u8 flags)
{
	struct dsm_wire_lock body = { .key = cpu_to_le64(K), .node = cpu_to_le16(node), .state = flags };
	struct dsm_msgbuf *m = world_forge(type, WORLD_REGION, 1);

	dsm_wire_put(m, &body, sizeof(body));
	if (type == DSM_MSG_LOCK_REQ || type == DSM_MSG_LOCK_TRY || type == DSM_MSG_LOCK_GRANT ||
	    type == DSM_MSG_LOCK_RETURN || type == DSM_MSG_LOCK_PASS || type == DSM_MSG_LOCK_TRY_PASS)
		world_put_times(m, 3, 0);
	return world_inject(to, from, m);
}

static void second_token_is_refused(void **state)
{
	world_lock(C, K, 30);
	assert_int_equal(inject(C, B, DSM_MSG_LOCK_GRANT, 0, 0), -EPROTO);
	world_unlock(C, K, 30);
	assert_int_equal(inject(C, B, DSM_MSG_LOCK_GRANT, 0, 0), -EPROTO);
	assert_int_equal(inject(A, B, DSM_MSG_LOCK_RETURN_ACK, 0, 0), -EPROTO);
	assert_int_equal(inject(C, A, DSM_MSG_LOCK_RETURN_ACK, 0, 0), -EPROTO);
}

/* What belongs to the first is still being pulled. */
static void reg_second_token_before_all_that_came_with_the_first(void **state)
{
	const struct dsm_wire_lock body = { .key = cpu_to_le64(K) };
	const struct dsm_wire_know head = { .nodes = cpu_to_le16(3) };
	const __le64 times[3] = { [B] = cpu_to_le64(1) };
	struct dsm_waiter wait;
	u32 i;

	w.held[DSM_MSG_LOCK_REQ] = true;
	world_lock_begin(C, K, &wait, 30, false);
	w.held[DSM_MSG_INTERVAL_PULL] = true;
	for (i = 0; i < 3; i++) {
		struct dsm_msgbuf *m = world_forge(DSM_MSG_LOCK_GRANT, WORLD_REGION, 1);

		dsm_wire_put(m, &body, sizeof(body));
		if (i < 2) {
			dsm_wire_put(m, &head, sizeof(head));
			dsm_wire_put(m, times, sizeof(times));
		} else {
			world_put_times(m, 3, 0);
		}
		assert_int_equal(world_inject(C, B, m), i ? -EPROTO : 0);
		assert_false(wait.done);
	}
	assert_true(list_is_singular(&world_engine(C)->pull[B].now));
	assert_true(list_empty(&world_engine(C)->pull[B].then));
}

static void return_of_a_token_one_does_not_have_is_refused(void **state)
{
	world_lock(C, K, 30);
	assert_int_equal(inject(A, B, DSM_MSG_LOCK_RETURN, 0, 0), 0);
	assert_int_equal(((struct dsm_wire_lock *)world_body(DSM_MSG_LOCK_RETURN_ACK))->state, 0);
	assert_int_equal(lock_at(A)->tail, C);
	world_drop_at(0);
	world_lock(A, world_key(DSM_MSG_LOCK_REQ, A, 1), 10);
}

static void pass_must_name_another_node(void **state)
{
	world_lock(C, K, 30);
	assert_int_equal(inject(C, A, DSM_MSG_LOCK_PASS, C, 0), -EPROTO);
	assert_int_equal(inject(C, A, DSM_MSG_LOCK_PASS, 64, 0), -EPROTO);
	assert_int_equal(inject(C, A, DSM_MSG_LOCK_TRY_PASS, DSM_NO_NODE, 0), -EPROTO);
	/* A node that nobody knows gets nothing. */
	assert_int_equal(inject(C, A, DSM_MSG_LOCK_PASS, 50, 0), 0);
	assert_int_equal(lock_at(C)->next, DSM_NO_NODE);
}

static void reg_only_the_manager_speaks_for_the_queue(void **state)
{
	static const u8 types[] = { DSM_MSG_LOCK_PASS, DSM_MSG_LOCK_TRY_PASS, DSM_MSG_LOCK_REFUSED,
				    DSM_MSG_LOCK_RETURN_ACK, DSM_MSG_LOCK_PROBE };
	u32 i;

	world_lock(C, K, 30);
	for (i = 0; i < ARRAY_SIZE(types); i++)
		unit_require(inject(C, B, types[i], B, 0) == -EPROTO, "type %u", types[i]);
	assert_int_equal(w.n_fly, 0);
	assert_int_equal(lock_at(C)->next, DSM_NO_NODE);
}

static void reg_node_that_asks_many_times_is_queued_once(void **state)
{
	struct dsm_waiter b;
	u32 i;

	/* While a try is out. */
	world_lock(C, K, 30);
	w.held[DSM_MSG_LOCK_TRY_PASS] = true;
	world_lock_begin(B, K, &b, 20, true);
	world_run();
	for (i = 0; i < 40; i++) {
		assert_int_equal(inject(A, B, DSM_MSG_LOCK_REQ, 0, 0), 0);
		assert_int_equal(inject(A, C, DSM_MSG_LOCK_REQ, 0, 0), 0);
	}
	w.held[DSM_MSG_LOCK_TRY_PASS] = false;
	world_deliver(DSM_MSG_LOCK_TRY_PASS);
	/* All answers are one step: it must not need more messages than a step has. */
	world_deliver(DSM_MSG_LOCK_TRY_DONE);
	assert_true(world_count(DSM_MSG_LOCK_PASS) <= 2);
	while (w.n_fly)
		world_drop_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(token_at_a_survivor_outlives_the_loss_of_the_tail),
		T(waiters_behind_a_lost_node_close_the_gap),
		T(token_on_a_lost_node_fails_every_request),
		T(token_cached_on_a_lost_node_is_lost_too),
		T(reg_tokens_go_home_before_their_node_leaves),
		T(reg_tokens_behind_those_of_a_lost_manager_go_home),
		T(loss_of_a_node_that_gave_the_token_back_does_no_harm),
		T(lost_manager_fails_waiters_and_leaves_the_holder),
		T(grant_after_the_loss_of_the_manager_is_kept),
		T(return_to_a_lost_manager_is_kept_or_forgotten),
		T(token_that_a_probe_missed_turns_up),
		T(reg_request_sent_for_a_probe_is_answered_once),
		T(token_that_comes_late_for_a_try),
		T(reg_token_that_comes_during_the_managers_own_probe),
		T(stray_token_goes_home),
		cmocka_unit_test(loss_of_a_node_whose_try_is_out),
		T(second_loss_during_a_probe),
		T(reg_try_that_is_lost_after_the_tail_ends_the_probe),
		cmocka_unit_test(reg_request_that_a_probe_made_void_stays_void_after_the_next),
		cmocka_unit_test(reg_token_that_a_try_got_outlives_two_losses),
		cmocka_unit_test(reg_stray_token_waits_for_its_knowledge),
		T(second_token_is_refused),
		T(reg_second_token_before_all_that_came_with_the_first),
		T(return_of_a_token_one_does_not_have_is_refused),
		T(pass_must_name_another_node),
		T(reg_only_the_manager_speaks_for_the_queue),
		T(reg_node_that_asks_many_times_is_queued_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
