// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks with algo=array at one node: what it writes and reads, when it takes the lock, when it pauses. How nodes
 * play together is the explorer's matter (selftests/model).
 */
#include "unit.h"

#include "world.h"
#include "world_threads.h"

#include "rlock.h"

#define MAIL(node) (((node) + 1) * 0x1000000ull)
#define RKEY(node) (40u + (node))
#define WANTED 1ull

static struct dsm_rsync memory;
static struct dsm_waiter waiter;
static u64 key;

/* Node 0 of three, which manages the key and knows the others' mail. */
static void start(void)
{
	u32 n;

	world_start(3);
	memory = (struct dsm_rsync){
		.word = calloc(DSM_RSYNC_WORDS, sizeof(u64)),
		.mail = calloc(1, sizeof(struct dsm_mail)),
		.landing = calloc(DSM_MAX_NODES, sizeof(union dsm_board_slot)),
		.letter = calloc(DSM_MAX_NODES, DSM_LETTER_BYTES),
		.flushed = calloc(DSM_MAX_NODES, sizeof(u64)),
		.mail_key = { .addr = MAIL(0), .rkey = RKEY(0) },
	};
	assert_true(memory.word && memory.mail && memory.landing && memory.letter && memory.flushed);
	dsm_rsync_set(world_engine(0), &memory);
	w.node[0].space.policy.sync = DSM_SYNC_RDMA;
	w.node[0].space.policy.algo = DSM_ALGO_ARRAY;
	for (n = 1; n < 3; n++)
		world_engine(0)->mail_key[n] = (struct dsm_key){ .addr = MAIL(n), .rkey = RKEY(n) };
	for (key = 0; dsm_manager(&w.node[0].space, DSM_MSG_LOCK_REQ, key) != 0; key++)
		;
}

static void stop(void)
{
	world_stop();
	free(memory.word);
	free(memory.mail);
	free(memory.landing);
	free(memory.letter);
	free(memory.flushed);
}

/* Our copy of the first lock's entry of a node. */
static __le64 *copy_of(u16 node)
{
	return &memory.mail->array[0][0][node];
}

static u64 value(u32 number, u64 bits)
{
	return bits | (u64)WORLD_REGION << 2 | (u64)number << 32;
}

static struct dsm_xfer *take_off(void)
{
	struct dsm_xfer *x = w.acts.xfer;

	w.acts.xfer = NULL;
	w.acts.xfer_last = &w.acts.xfer;
	return x;
}

/* A step's transfers: a WRITE of our entry to each node of @nodes, with a READ behind each if @ask; freed. READs are kept. */
static u32 expect_entries(struct dsm_xfer *x, u64 nodes, u64 want, bool ask, struct dsm_xfer **reads)
{
	u64 at = offsetof(struct dsm_mail, array);
	struct dsm_xfer *next;
	u32 n = 0;
	u16 node;

	assert_int_equal(le64_to_cpu(*copy_of(0)), want);
	for (node = 0; node < 3; node++) {
		if (!(nodes & 1ull << node))
			continue;
		assert_non_null(x);
		assert_int_equal(x->op, DSM_XFER_WRITE);
		assert_int_equal(x->dst, node);
		assert_int_equal(x->rkey, RKEY(node));
		assert_int_equal(x->remote, MAIL(node) + at);
		assert_ptr_equal(x->seg[0].page, copy_of(0));
		assert_int_equal(x->seg[0].len, 8);
		next = x->next;
		free(x);
		x = next;
		if (!ask)
			continue;
		assert_non_null(x);
		assert_int_equal(x->op, DSM_XFER_READ);
		assert_int_equal(x->dst, node);
		assert_int_equal(x->remote, MAIL(node) + at);
		reads[n++] = x;
		x = x->next;
	}
	assert_null(x);
	return n;
}

static int acquire(bool try_only)
{
	int err;

	world_waiter(&waiter, 10);
	waiter.try_only = try_only;
	err = dsm_rlock_acquire(world_engine(0), &w.node[0].space, key, &waiter, world_begin(0));
	return err;
}

/* The READs come back; what the last one's step transfers. */
static struct dsm_xfer *reads_back(struct dsm_xfer **reads, u32 n, int status)
{
	struct dsm_xfer *x = NULL;
	u32 i;

	for (i = 0; i < n; i++) {
		unit_require(!waiter.done && !x, "taken after %u of %u READs", i, n);
		reads[i]->status = status;
		dsm_rlock_on_xfer(world_engine(0), reads[i], world_begin(0));
		x = take_off();
		free(reads[i]);
		if (i < n - 1)
			world_end(0);
	}
	return x;
}

static void release(u64 nodes, u64 want)
{
	struct dsm_lock_owner o = waiter.owner;

	assert_int_equal(dsm_rlock_release(world_engine(0), &w.node[0].space, key, &o, world_begin(0)),
			 DSM_LOCK_COUNTED);
	assert_null(take_off());
	world_end(0);
	w.node[0].run = false;
	dsm_engine_run(world_engine(0), world_begin(0));
	expect_entries(take_off(), nodes, want, false, NULL);
	world_end(0);
}

static void an_entry_in_all_copies_then_a_look(void **state)
{
	struct dsm_xfer *reads[2], *x;
	u32 round;

	start();
	for (round = 0; round < 3; round++) {
		assert_int_equal(acquire(false), -EINPROGRESS);
		assert_int_equal(expect_entries(take_off(), 6, value(round, WANTED), true, reads), 2);
		world_end(0);
		x = reads_back(reads, 2, 0);
		world_end(0);
		assert_null(x);
		assert_true(waiter.done);
		assert_int_equal(waiter.status, 0);
		release(6, value(round + 1, 0));
	}
	stop();
}

static void who_had_it_last_is_asked(void **state)
{
	struct dsm_xfer *reads[2], *x;

	start();
	*copy_of(1) = cpu_to_le64(value(7, 0));
	*copy_of(2) = cpu_to_le64(value(9, 2));
	acquire(false);
	expect_entries(take_off(), 6, value(0, WANTED), true, reads);
	world_end(0);
	x = reads_back(reads, 2, 0);
	world_end(0);
	assert_false(waiter.done);
	assert_non_null(x);
	assert_int_equal(x->op, DSM_XFER_READ);
	assert_int_equal(x->dst, 2);
	assert_int_equal(x->remote, MAIL(2) + offsetof(struct dsm_mail, own));
	/* Its board says nothing: it is asked by message. */
	dsm_rlock_on_xfer(world_engine(0), x, world_begin(0));
	world_end(0);
	free(x);
	assert_int_equal(world_count(DSM_MSG_INTERVAL_PULL), 1);
	world_run();
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -EOWNERDEAD);
	assert_int_equal(dsm_rlock_consistent(world_engine(0), &w.node[0].space, key, &waiter.owner), 0);
	release(6, value(10, 0));
	stop();
}

static void another_entry_makes_a_pause(void **state)
{
	struct dsm_engine *e;
	struct dsm_xfer *reads[2];
	u64 alarm, longest = 0;
	u32 i;

	start();
	e = world_engine(0);
	e->now_ns = 1000;
	*copy_of(2) = cpu_to_le64(value(4, WANTED));
	assert_int_equal(acquire(true), -EINPROGRESS);
	expect_entries(take_off(), 6, value(0, WANTED), true, reads);
	world_end(0);
	expect_entries(reads_back(reads, 2, 0), 6, value(0, 0), false, NULL);
	assert_int_equal(w.acts.alarm_ns, 0);
	world_end(0);
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -EBUSY);
	assert_int_equal(acquire(false), -EINPROGRESS);
	for (i = 0; i < 50; i++) {
		expect_entries(take_off(), 6, value(0, WANTED), true, reads);
		world_end(0);
		expect_entries(reads_back(reads, 2, 0), 6, value(0, 0), false, NULL);
		alarm = w.acts.alarm_ns;
		world_end(0);
		assert_false(waiter.done);
		assert_true(alarm >= e->now_ns && alarm - e->now_ns < 50000u << 6);
		longest = max(longest, alarm - e->now_ns);
		/* Too early. */
		if (alarm > e->now_ns) {
			dsm_array_retry(e, world_begin(0));
			assert_int_equal(w.acts.alarm_ns, alarm);
			assert_null(take_off());
			world_end(0);
		}
		e->now_ns = alarm;
		dsm_array_retry(e, world_begin(0));
	}
	assert_true(longest > 50000);
	*copy_of(2) = cpu_to_le64(value(5, 0));
	expect_entries(take_off(), 6, value(0, WANTED), true, reads);
	world_end(0);
	free(reads_back(reads, 2, 0));
	world_end(0);
	/* The READ of the board was forgotten above: as if it had failed. */
	assert_int_equal(dsm_rlock_find(e, WORLD_REGION, key)->state, DSM_RLOCK_LEARNING);
	stop();
}

/* Who waited gives up during a pause: then nobody tries any more. */
static void nobody_waits_nobody_tries(void **state)
{
	struct dsm_engine *e;
	struct dsm_xfer *reads[2];

	start();
	e = world_engine(0);
	*copy_of(1) = cpu_to_le64(value(1, WANTED));
	acquire(false);
	expect_entries(take_off(), 6, value(0, WANTED), true, reads);
	world_end(0);
	expect_entries(reads_back(reads, 2, 0), 6, value(0, 0), false, NULL);
	world_end(0);
	assert_int_equal(w.node[0].space.busy, 1);
	assert_true(dsm_waiter_cancel(e, &waiter));
	e->now_ns = ~0ull;
	dsm_array_retry(e, world_begin(0));
	assert_int_equal(w.acts.alarm_ns, 0);
	assert_null(take_off());
	world_end(0);
	assert_int_equal(w.node[0].space.busy, 0);
	stop();
}

/* Of a region that had the array before, or of a node that is no member. */
static void old_entries_say_nothing(void **state)
{
	struct dsm_xfer *reads[2];

	start();
	*copy_of(1) = cpu_to_le64(value(99, WANTED) ^ 4);
	*copy_of(5) = cpu_to_le64(value(99, WANTED));
	acquire(false);
	expect_entries(take_off(), 6, value(0, WANTED), true, reads);
	world_end(0);
	assert_null(reads_back(reads, 2, 0));
	world_end(0);
	assert_true(waiter.done);
	release(6, value(1, 0));
	stop();
}

/* A lost node that wanted the lock may have had it; one that did not takes no part any more. */
static void lost_nodes(void **state)
{
	struct dsm_xfer *reads[2];

	start();
	acquire(false);
	expect_entries(take_off(), 6, value(0, WANTED), true, reads);
	world_end(0);
	world_learn_loss(0, 1);
	assert_null(reads_back(reads, 2, -EHOSTDOWN));
	world_end(0);
	assert_true(waiter.done);
	assert_int_equal(waiter.status, 0);
	release(4, value(1, 0));
	*copy_of(1) = cpu_to_le64(value(1, WANTED));
	acquire(false);
	expect_entries(take_off(), 4, value(1, WANTED), true, reads);
	world_end(0);
	expect_entries(reads_back(reads, 1, 0), 4, value(1, 0), false, NULL);
	world_end(0);
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -EHOSTDOWN);
	/* It comes again: another node under its number. */
	dsm_engine_peer_up(world_engine(0), 1);
	acquire(true);
	expect_entries(take_off(), 4, value(1, WANTED), true, reads);
	world_end(0);
	expect_entries(reads_back(reads, 1, 0), 4, value(1, 0), false, NULL);
	world_end(0);
	assert_int_equal(waiter.status, -EHOSTDOWN);
	stop();
}

static void a_node_whose_key_is_not_known_yet(void **state)
{
	start();
	world_engine(0)->mail_key[2].rkey = 0;
	acquire(false);
	assert_null(take_off());
	assert_true(w.acts.alarm_ns);
	world_end(0);
	assert_false(waiter.done);
	assert_true(dsm_waiter_cancel(world_engine(0), &waiter));
	stop();
}

/* Its loss was over when the region came here: nothing marks it but that it is not there. */
static void reg_member_that_was_lost_before_the_region_came(void **state)
{
	struct dsm_xfer *reads[1];

	start();
	world_engine(0)->alive &= ~(1ull << 2);
	world_engine(0)->mail_key[2] = (struct dsm_key){};
	acquire(false);
	expect_entries(take_off(), 1ull << 1, value(0, WANTED), true, reads);
	world_end(0);
	assert_null(reads_back(reads, 1, 0));
	world_end(0);
	assert_true(waiter.done);
	assert_int_equal(waiter.status, 0);
	stop();
}

static void keys_run_out(void **state)
{
	u32 i;

	start();
	for (i = 0; i < DSM_ARRAYS; i++)
		assert_int_equal(dsm_rsync_word_get(world_engine(0)), i);
	assert_int_equal(acquire(false), -ENOSPC);
	assert_null(take_off());
	world_end(0);
	assert_null(dsm_rlock_find(world_engine(0), WORLD_REGION, key));
	stop();
}

static void eight_nodes_and_no_more(void **state)
{
	struct dsm_policy p = { .sync = DSM_SYNC_RDMA, .algo = DSM_ALGO_ARRAY };
	char why[160];

	assert_int_equal(dsm_policy_suits(&p, 0xff, 1, why, sizeof(why)), 0);
	assert_int_equal(dsm_policy_suits(&p, 0x101, 1, why, sizeof(why)), -EOPNOTSUPP);
	assert_non_null(strstr(why, "algo=array"));
	p.algo = DSM_ALGO_QUEUE;
	assert_int_equal(dsm_policy_suits(&p, ~0ull, 1, why, sizeof(why)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_in_all_copies_then_a_look),
		cmocka_unit_test(who_had_it_last_is_asked),
		cmocka_unit_test(another_entry_makes_a_pause),
		cmocka_unit_test(nobody_waits_nobody_tries),
		cmocka_unit_test(old_entries_say_nothing),
		cmocka_unit_test(lost_nodes),
		cmocka_unit_test(a_node_whose_key_is_not_known_yet),
		cmocka_unit_test(reg_member_that_was_lost_before_the_region_came),
		cmocka_unit_test(keys_run_out),
		cmocka_unit_test(eight_nodes_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
