// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/engine.c, check.c and pool.c: set-up, pools, and what messages may do to a node, whatever they hold.
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

/* ---- pools, regions, waiters ---- */

static void pools_are_filled_to_what_a_step_may_take(void **state)
{
	struct dsm_engine *e = world_engine(A);
	void *obj;
	u32 k;

	for (k = 0; k < DSM_POOL_COUNT; k++)
		assert_int_equal(dsm_engine_wants(e, k), k == DSM_POOL_MSG ? DSM_STEP_MSGS + 3u :
				 k == DSM_POOL_INTERVAL ? DSM_STEP_INTERVALS :
				 k == DSM_POOL_XFER ? DSM_STEP_XFERS :
				 k == DSM_POOL_REQUEST ? DSM_STEP_OTHERS + 3u : DSM_STEP_OTHERS);
	world_begin(A);
	for (k = 0; k < DSM_POOL_COUNT; k++) {
		assert_int_equal(dsm_engine_wants(e, k), 0);
		obj = dsm_pool_take(e, k);
		assert_int_equal(dsm_engine_wants(e, k), 1);
		dsm_pool_give(e, k, obj);
		assert_ptr_equal(dsm_pool_take(e, k), obj);
		dsm_pool_give(e, k, obj);
	}
	assert_int_equal(dsm_pool_object_bytes(DSM_POOL_LOCK), sizeof(struct dsm_lock));
	assert_int_equal(dsm_pool_object_bytes(DSM_POOL_MSG), 0);
	assert_int_equal(dsm_pool_object_bytes(DSM_POOL_TWIN), 0);
}

static void region_is_found_by_its_id_only(void **state)
{
	struct dsm_space same_bucket = { .id = WORLD_REGION + 64 };
	struct dsm_engine *e = world_engine(A);

	assert_ptr_equal(dsm_space_find(e, WORLD_REGION), &w.node[A].space);
	assert_null(dsm_space_find(e, WORLD_REGION + 64));
	dsm_space_add(e, &same_bucket);
	assert_ptr_equal(dsm_space_find(e, WORLD_REGION + 64), &same_bucket);
	assert_ptr_equal(dsm_space_find(e, WORLD_REGION), &w.node[A].space);
	dsm_space_del(e, &same_bucket);
	assert_null(dsm_space_find(e, WORLD_REGION + 64));
}

static void reg_peer_that_comes_up_leaves_this_node_a_user(void **state)
{
	struct dsm_engine *e = world_engine(A);
	u64 users = w.node[A].space.users;

	assert_true(users & 1u << A);
	dsm_engine_set_self(e, A);
	dsm_engine_peer_up(e, B);
	assert_int_equal(w.node[A].space.users, users & ~(1u << B));
}

static void request_ids_are_never_zero(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_waiter one, two;

	dsm_waiter_init(&one);
	dsm_waiter_init(&two);
	e->next_xid = 0xfffffffe;
	dsm_request_add(e, &one, B);
	dsm_request_add(e, &two, B);
	assert_int_equal(one.xid, 0xffffffff);
	assert_int_equal(two.xid, 1);
	assert_ptr_equal(dsm_request_find(e, 1), &two);
	assert_null(dsm_request_find(e, 0));
	assert_true(dsm_waiter_cancel(e, &two));
	assert_null(dsm_request_find(e, 1));
	assert_true(dsm_waiter_cancel(e, &two));
	/* The loss of the node that was asked wakes, once. */
	world_lose(B);
	assert_true(one.done);
	assert_int_equal(one.status, -EHOSTDOWN);
	assert_false(dsm_waiter_cancel(e, &one));
	e->next_xid = 0xffffffff;
	assert_int_equal(dsm_xid_next(e), 1);
}

static void managers_of_locks_barriers_and_flags_are_spread_apart(void **state)
{
	u32 count[3] = {}, differ = 0;
	u64 key;

	for (key = 0; key < 300; key++) {
		u16 lock = dsm_manager(&w.node[A].space, DSM_MSG_LOCK_REQ, key);

		assert_int_equal(lock, dsm_manager(&w.node[B].space, DSM_MSG_LOCK_REQ, key));
		count[lock]++;
		differ += lock != dsm_manager(&w.node[A].space, DSM_MSG_BAR_ARRIVE, key);
	}
	assert_true(count[0] > 50 && count[1] > 50 && count[2] > 50 && differ > 50);
}

static void message_of_a_lost_node_is_not_looked_at(void **state)
{
	struct dsm_wire_lock body = { .key = cpu_to_le64(world_key(DSM_MSG_LOCK_REQ, A, 0)) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_LOCK_REQ, WORLD_REGION, 1);

	world_lose(B);
	dsm_wire_put(m, &body, sizeof(body));
	world_put_times(m, 3, 0);
	assert_int_equal(world_inject(A, B, m), 0);
	assert_int_equal(w.n_fly, 0);
	m = world_forge(DSM_MSG_LOCK_REQ, WORLD_REGION, 1);
	dsm_wire_put(m, &body, sizeof(body));
	world_put_times(m, 3, 0);
	assert_int_equal(world_inject(A, A, m), 0);
	assert_int_equal(w.n_fly, 0);
}

/* ---- one true message of each type ---- */

struct sample {
	u8 type;
	u16 from;
	u16 to;
	struct dsm_msgbuf *m;
};

static u64 lock_key(u16 manager)
{
	return world_key(DSM_MSG_LOCK_REQ, manager, 0);
}

static struct dsm_waiter waiters[8];

/* Lead a world of three to the moment where a message of @type is under way. */
static void lead_to(u8 type)
{
	struct dsm_engine *c = world_engine(C);
	struct dsm_space *s = &w.node[C].space;
	u64 flag = world_key(DSM_MSG_FLAG_OP, A, 0), barrier = world_key(DSM_MSG_BAR_ARRIVE, A, 0);
	u32 i;

	/* Something to know: pages with bytes, and records. */
	for (i = 0; i < 9; i++)
		world_store(C, i, 5 * i, i + 1);
	world_store(B, 0, 100, 1);
	if (type == DSM_MSG_DIFF || type == DSM_MSG_DIFF_ACK) {
		w.held[type] = true;
		world_release_begin(C);
		world_run();
		return;
	}
	world_release(B);
	world_release(C);
	w.held[type] = true;
	for (i = 0; i < ARRAY_SIZE(waiters); i++)
		dsm_waiter_init(&waiters[i]);
	switch (type) {
	case DSM_MSG_FETCH:
	case DSM_MSG_PAGE:
		dsm_page_notice(c, world_page(C, 0), 9);
		world_fault(C, 0, false);
		break;
	case DSM_MSG_INTERVAL_PULL:
	case DSM_MSG_INTERVALS:
		world_waiter(&waiters[0], 30);
		dsm_pull(world_engine(A), C, &waiters[0].cont, DSM_CONT_WAITER, world_begin(A));
		world_end(A);
		break;
	case DSM_MSG_LOCK_REQ:
	case DSM_MSG_LOCK_GRANT:
		world_lock_begin(C, lock_key(A), &waiters[0], 30, false);
		break;
	case DSM_MSG_LOCK_PASS:
		world_lock(B, lock_key(A), 20);
		world_lock_begin(C, lock_key(A), &waiters[0], 30, false);
		break;
	case DSM_MSG_LOCK_RETURN:
	case DSM_MSG_LOCK_RETURN_ACK:
		c->lock_cap = 0;
		world_lock(C, lock_key(A), 30);
		world_unlock(C, lock_key(A), 30);
		break;
	case DSM_MSG_LOCK_TRY:
	case DSM_MSG_LOCK_TRY_PASS:
	case DSM_MSG_LOCK_TRY_DONE:
	case DSM_MSG_LOCK_REFUSED:
		world_lock(B, lock_key(A), 20);
		world_lock_begin(C, lock_key(A), &waiters[0], 30, true);
		break;
	case DSM_MSG_LOCK_APART:
		world_lock(B, lock_key(A), 20);
		world_lock_begin(C, lock_key(A), &waiters[0], 30, false);
		world_run();
		world_learn_loss(B, C);
		break;
	case DSM_MSG_LOCK_PROBE:
	case DSM_MSG_LOCK_STATE:
		world_lock(B, lock_key(A), 20);
		world_lock_begin(C, lock_key(A), &waiters[0], 30, false);
		world_run();
		world_lose(B);
		break;
	case DSM_MSG_BAR_ARRIVE:
		dsm_barrier_arrive(c, s, barrier, 2, &waiters[0], world_begin(C));
		world_end(C);
		break;
	case DSM_MSG_BAR_ABORT:
		dsm_barrier_arrive(c, s, barrier, 2, &waiters[0], world_begin(C));
		world_end(C);
		world_run();
		assert_true(dsm_barrier_abort(c, s, barrier, &waiters[0], world_begin(C)));
		world_end(C);
		break;
	case DSM_MSG_BAR_DEPART:
		for (i = 0; i < 3; i++) {
			dsm_barrier_arrive(c, s, barrier, 3, &waiters[i], world_begin(C));
			world_end(C);
		}
		break;
	case DSM_MSG_BAR_ASK:
		/* C comes with fewer threads than last time, A with more. */
		for (i = 0; i < 3; i++) {
			u16 n = i == 2 ? A : C;

			dsm_barrier_arrive(world_engine(n), &w.node[n].space, barrier, 3, &waiters[i], world_begin(n));
			world_end(n);
		}
		world_run();
		for (i = 3; i < 5; i++) {
			dsm_barrier_arrive(world_engine(A), &w.node[A].space, barrier, 3, &waiters[i], world_begin(A));
			world_end(A);
		}
		break;
	case DSM_MSG_FLAG_OP:
	case DSM_MSG_FLAG_REPLY:
		dsm_flag_start(c, s, flag, DSM_FLAG_SET, &waiters[0], world_begin(C));
		world_end(C);
		break;
	case DSM_MSG_SYNC_PUSH:
	case DSM_MSG_SYNC_REPLY:
		for (i = 0; i < 3 && world_find(type) < 0; i++) {
			dsm_sync_push(world_engine(i), &w.node[i].space, &waiters[i], world_begin(i));
			world_end(i);
			world_run();
		}
		break;
	}
	world_run();
}

static const u8 types[] = {
	DSM_MSG_FETCH, DSM_MSG_PAGE, DSM_MSG_DIFF, DSM_MSG_DIFF_ACK, DSM_MSG_INTERVALS, DSM_MSG_INTERVAL_PULL,
	DSM_MSG_LOCK_REQ, DSM_MSG_LOCK_PASS, DSM_MSG_LOCK_GRANT, DSM_MSG_LOCK_RETURN, DSM_MSG_LOCK_TRY,
	DSM_MSG_LOCK_TRY_PASS, DSM_MSG_LOCK_TRY_DONE, DSM_MSG_LOCK_REFUSED, DSM_MSG_LOCK_RETURN_ACK,
	DSM_MSG_LOCK_PROBE, DSM_MSG_LOCK_STATE, DSM_MSG_LOCK_APART, DSM_MSG_BAR_ARRIVE, DSM_MSG_BAR_DEPART, DSM_MSG_BAR_ABORT,
	DSM_MSG_BAR_ASK,
	DSM_MSG_FLAG_OP, DSM_MSG_FLAG_REPLY, DSM_MSG_SYNC_PUSH, DSM_MSG_SYNC_REPLY,
};

static struct sample lead_and_take(u8 type)
{
	struct sample s = { .type = type };
	int i;

	world_start(3);
	lead_to(type);
	i = world_find(type);
	unit_require(i >= 0, "no message of type %u came about", type);
	s.from = w.fly[i].src;
	s.to = w.fly[i].m->dst;
	s.m = world_msg_new();
	s.m->len = w.fly[i].m->len;
	memcpy(s.m->data, w.fly[i].m->data, s.m->len);
	world_drop_at(i);
	return s;
}

static void truncated_message_is_refused_at_every_length(void **state)
{
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct sample s = lead_and_take(types[i]);

		for (len = 0; len < s.m->len; len++) {
			int err = world_recv(s.to, s.from, s.m->data, len);

			/* A shorter list of whole acknowledgements is a message of its own. */
			if (s.type == DSM_MSG_DIFF_ACK && len > DSM_HDR_BYTES && (len - DSM_HDR_BYTES) % 24 == 0)
				continue;
			unit_require(err == -EPROTO, "type %u cut to %u bytes gives %d", s.type, len, err);
		}
		world_msg_free(s.m);
		world_stop();
	}
}

static void message_with_bytes_behind_its_end_is_refused(void **state)
{
	u32 i, more;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct sample s = lead_and_take(types[i]);

		memset(s.m->data + s.m->len, 0, 24);
		for (more = 1; more <= 24; more++)
			if (s.type != DSM_MSG_DIFF_ACK || more % 24)
				assert_int_equal(world_recv(s.to, s.from, s.m->data, s.m->len + more), -EPROTO);
		assert_int_equal(world_recv(s.to, s.from, s.m->data, s.m->len), 0);
		world_msg_free(s.m);
		world_stop();
	}
}

/*
 * Every byte of every message changed, several ways. The node refuses or digests it; it reads nothing beyond, breaks no
 * assertion, and whatever it sends in answer is digested too.
 */
static void corrupted_message_never_breaks_the_receiver(void **state)
{
	static const u8 flips[] = { 0x01, 0x80, 0xff };
	u32 i, at, f, refused = 0, taken = 0;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct sample s = lead_and_take(types[i]);
		u32 upto = min_t(u32, s.m->len, 600);

		for (at = 0; at < upto; at++) {
			/* Page bytes are all legal: a few of them are enough. */
			if (s.type == DSM_MSG_PAGE && at > 80)
				break;
			for (f = 0; f < ARRAY_SIZE(flips); f++) {
				int err;

				s.m->data[at] ^= flips[f];
				err = world_recv(s.to, s.from, s.m->data, s.m->len);
				s.m->data[at] ^= flips[f];
				unit_require(!err || err == -EPROTO || err == -ENOENT, "type %u byte %u gives %d",
					     s.type, at, err);
				refused += !!err;
				taken += !err;
				while (w.n_fly)
					world_drop_at(0);
			}
		}
		world_msg_free(s.m);
		world_stop();
	}
	assert_true(refused > 1000);
	assert_true(taken > 1000);
}

/* The same message from the same node three times: the second is refused or ignored. */
static void repeated_message_never_breaks_the_receiver(void **state)
{
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct sample s = lead_and_take(types[i]);

		for (n = 0; n < 40; n++) {
			int err = world_recv(s.to, s.from, s.m->data, s.m->len);

			unit_require(!err || (n && err == -EPROTO), "type %u, time %u: %d", s.type, n, err);
			while (w.n_fly)
				world_drop_at(0);
			if (w.node[s.to].run) {
				w.node[s.to].run = false;
				dsm_engine_run(world_engine(s.to), world_begin(s.to));
				world_end(s.to);
			}
		}
		world_msg_free(s.m);
		world_stop();
	}
}

/* A message in good form at a node that has nothing to do with it. */
static void message_at_the_wrong_node_is_refused_or_ignored(void **state)
{
	u32 i, to, from;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		for (to = 0; to < 3; to++)
			for (from = 0; from < 3; from++) {
				struct sample s = lead_and_take(types[i]);
				int err = 0;

				if (from != to && (from != s.from || to != s.to))
					err = world_recv(to, from, s.m->data, s.m->len);
				unit_require(!err || err == -EPROTO, "type %u from %u to %u: %d", s.type, from, to, err);
				world_msg_free(s.m);
				world_stop();
			}
}

static void message_of_an_unknown_region_is_refused_or_ignored(void **state)
{
	static const u32 regions[] = { 0, WORLD_REGION + 1, WORLD_REGION + 64, 0xffffffff };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct sample s = lead_and_take(types[i]);

		for (k = 0; k < ARRAY_SIZE(regions); k++) {
			struct dsm_wire_hdr *hdr = (struct dsm_wire_hdr *)s.m->data;
			int err;

			hdr->region = cpu_to_le32(regions[k]);
			if (s.type == DSM_MSG_DIFF)
				((struct dsm_wire_pack *)(hdr + 1))->region = hdr->region;
			err = world_recv(s.to, s.from, s.m->data, s.m->len);
			/* Perhaps it was there a moment ago. */
			if (k) {
				unit_require(err == -ENOENT, "type %u region %u: %d", s.type, regions[k], err);
				continue;
			}
			switch (s.type) {
			case DSM_MSG_FETCH:
			case DSM_MSG_DIFF:
				assert_int_equal(err, -ENOENT);
				break;
			case DSM_MSG_PAGE:
			case DSM_MSG_BAR_ASK:
			case DSM_MSG_BAR_DEPART:	/* tickets and request ids say who waits */
			case DSM_MSG_FLAG_REPLY:
			case DSM_MSG_SYNC_REPLY:
			case DSM_MSG_INTERVALS:		/* of the whole node */
			case DSM_MSG_INTERVAL_PULL:
				assert_int_equal(err, 0);
				break;
			default:
				unit_require(err == -EPROTO, "type %u region 0: %d", s.type, err);
			}
		}
		world_msg_free(s.m);
		world_stop();
	}
}

static void unknown_type_is_refused(void **state)
{
	u32 type, i;

	for (type = 0; type < 256; type++) {
		struct dsm_msgbuf *m = world_forge(type, WORLD_REGION, 1);

		for (i = 0; i < ARRAY_SIZE(types) && types[i] != type; i++)
			;
		if (i == ARRAY_SIZE(types)) {
			world_put_times(m, 3, 0);
			assert_int_equal(world_recv(A, B, m->data, m->len), -EPROTO);
		}
		assert_int_equal(world_recv(A, B, m->data, DSM_HDR_BYTES), -EPROTO);
		world_msg_free(m);
	}
}

static void random_bodies_never_break_the_receiver(void **state)
{
	struct unit_random r = unit_random_init(0xd5);
	u32 n, i;

	for (n = 0; n < 20000; n++) {
		u8 msg[256];
		u32 len = DSM_HDR_BYTES + unit_random_below(&r, sizeof(msg) - DSM_HDR_BYTES);
		struct dsm_wire_hdr hdr = { .type = types[unit_random_below(&r, ARRAY_SIZE(types))],
					    .region = cpu_to_le32(WORLD_REGION) };

		/* Mostly zeros: more of them get past the check. */
		for (i = 0; i < sizeof(msg); i++)
			msg[i] = unit_random_below(&r, 4) ? 0 : unit_random_below(&r, 8) ? 1 : unit_random_next(&r);
		memcpy(msg, &hdr, sizeof(hdr));
		world_recv(A, 1 + n % 2, msg, len);
		while (w.n_fly)
			world_drop_at(0);
	}
}

/* ---- found here ---- */

static void reg_pack_with_more_records_than_one_ack_can_name_is_refused(void **state)
{
	const u32 room = DSM_PACK_RECORDS_MAX;
	struct dsm_wire_record rec[500] = {};
	u32 n;

	assert_true(DSM_HDR_BYTES + room * sizeof(struct dsm_wire_ack) <= DSM_MSG_BYTES);
	for (n = 0; n < ARRAY_SIZE(rec); n++)
		rec[n].enc = DSM_DIFF_ZERO;
	world_send_diff(B, A, (u8 *)rec, room * sizeof(rec[0]));
	assert_int_equal(world_deliver_at(0), 0);
	assert_int_equal(world_page(A, 0)->ver, room);
	assert_int_equal(w.fly[0].m->len, DSM_HDR_BYTES + room * sizeof(struct dsm_wire_ack));
	world_drop_at(0);
	for (n = room + 1; n <= ARRAY_SIZE(rec); n += 53) {
		world_send_diff(B, A, (u8 *)rec, n * sizeof(rec[0]));
		assert_int_equal(world_deliver_at(0), -EPROTO);
		assert_int_equal(world_page(A, 0)->ver, room);
	}
}

static void reg_flag_at_a_node_that_does_not_manage_it_is_refused(void **state)
{
	struct dsm_wire_flag body = { .key = cpu_to_le64(world_key(DSM_MSG_FLAG_OP, A, 0)) };
	u8 op;

	for (op = DSM_FLAG_SET; op <= DSM_FLAG_TEST; op++) {
		struct dsm_msgbuf *m = world_forge(DSM_MSG_FLAG_OP, WORLD_REGION, 1);

		body.op = op;
		dsm_wire_put(m, &body, sizeof(body));
		world_put_times(m, 3, 0);
		assert_int_equal(world_inject(B, C, m), -EPROTO);
	}
	assert_int_equal(w.n_fly, 0);
}

#define T(start, name) cmocka_unit_test_setup_teardown(name, start, stop)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(start3, pools_are_filled_to_what_a_step_may_take),
		T(start2, region_is_found_by_its_id_only),
		T(start2, reg_peer_that_comes_up_leaves_this_node_a_user),
		T(start2, request_ids_are_never_zero),
		T(start3, managers_of_locks_barriers_and_flags_are_spread_apart),
		T(start3, message_of_a_lost_node_is_not_looked_at),
		cmocka_unit_test(truncated_message_is_refused_at_every_length),
		cmocka_unit_test(message_with_bytes_behind_its_end_is_refused),
		cmocka_unit_test(corrupted_message_never_breaks_the_receiver),
		cmocka_unit_test(repeated_message_never_breaks_the_receiver),
		cmocka_unit_test(message_at_the_wrong_node_is_refused_or_ignored),
		cmocka_unit_test(message_of_an_unknown_region_is_refused_or_ignored),
		T(start2, unknown_type_is_refused),
		T(start3, random_bodies_never_break_the_receiver),
		T(start2, reg_pack_with_more_records_than_one_ack_can_name_is_refused),
		T(start3, reg_flag_at_a_node_that_does_not_manage_it_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
