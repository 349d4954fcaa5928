// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks by atomics: exchanges of which nobody knows whether they took place, queues that are void, and who tells of both.
 */
#include "rlock_world.h"

/* Node 1 answers a question; what the step wants then, or NULL. */
static struct dsm_xfer *answer_to(u8 op, u64 key, u32 place, u32 before)
{
	struct dsm_wire_rlock body = {
		.key = cpu_to_le64(key), .op = op, .status = cpu_to_le32(place), .word = cpu_to_le32(before),
	};

	assert_int_equal(receive(DSM_MSG_RLOCK_REPLY, &body, sizeof(body)), 0);
	return wanted();
}

static struct dsm_xfer *answer(u64 key, u32 place, u32 before)
{
	return answer_to(DSM_RLOCK_BEFORE, key, place, before);
}

/* The last message that this node sent. */
static struct dsm_wire_rlock sent(u16 dst, u8 type, u8 op, u32 status)
{
	const struct dsm_msgbuf *m = w.fly[w.n_fly - 1].m;
	struct dsm_reader r = dsm_reader_init(m->data, m->len);
	struct dsm_wire_rlock body;
	struct dsm_wire_hdr hdr;

	dsm_reader_take(&r, &hdr, sizeof(hdr));
	dsm_reader_take(&r, &body, sizeof(body));
	assert_int_equal(m->dst, dst);
	assert_int_equal(hdr.type, type);
	assert_int_equal(body.op, op);
	assert_int_equal(le32_to_cpu(body.status), status);
	return body;
}

static void a_word_tells_whether_an_exchange_took_place(void **state)
{
	const u64 held = dsm_rword(DSM_RWORD_HELD, 0, 3), behind = dsm_rword(DSM_RWORD_HELD, 1, 3);
	const u64 none = dsm_rword(DSM_RWORD_FREE, 1, 3);
	struct dsm_waiter waiter;
	struct dsm_rlock *l;
	struct dsm_xfer *x;
	u64 key;

	start();
	key = key_of(1, 0);
	l = lock_of(key);
	/* It did not, as a look says that is itself in doubt once: done again. */
	x = back(ask(key, &waiter, behind), DSM_XFER_IN_DOUBT, 0);
	assert_int_equal(x->compare, held);
	assert_int_equal(x->operand, held);
	x = back(x, DSM_XFER_IN_DOUBT, 0);
	x = back(x, 0, behind);
	assert_int_equal(x->compare, behind);
	assert_int_equal(x->operand, held);
	/* It did: behind node 1, which is told. */
	x = back(back(x, DSM_XFER_IN_DOUBT, 0), 0, held);
	assert_int_equal(x->op, DSM_XFER_SIGNAL);
	free(x);
	assert_int_equal(l->state, DSM_RLOCK_WAITING);
	assert_int_equal(l->before, 1);
	assert_int_equal(world_engine(0)->stats.atomics_doubted, 3);

	/* Another queue by now: asked for anew. */
	dsm_rlock_set_state(world_engine(0), l, DSM_RLOCK_NONE);
	INIT_LIST_HEAD(&l->waiters);
	x = back(back(ask(key, &waiter, none), DSM_XFER_IN_DOUBT, 0), 0, dsm_rword(DSM_RWORD_FREE, 1, 4));
	assert_int_equal(x->compare, dsm_rword(DSM_RWORD_FREE, 1, 4));
	free(x);
	stop();
}

/* Not to whom has the number now, who never asked. */
static void reg_number_of_a_lost_next_node_is_another_ones(void **state)
{
	struct dsm_waiter waiter;
	struct dsm_rlock *l;

	start();
	l = lock_of(key_of(1, 0));
	assert_null(back(ask(l->key, &waiter, 0), 0, 0));
	l->next = 2;
	world_learn_loss(0, 2);
	dsm_engine_peer_up(world_engine(0), 2);
	dsm_rlock_released(world_engine(0), l, world_begin(0));
	free(transfer(DSM_XFER_CAS));
	stop();
}

static void the_end_of_the_queue_tells_who_is_in_it(void **state)
{
	const u64 held = dsm_rword(DSM_RWORD_HELD, 0, 0), other = dsm_rword(DSM_RWORD_HELD, 1, 0);
	const u64 none = dsm_rword(DSM_RWORD_FREE, 0, 0);
	struct dsm_waiter waiter;
	struct dsm_rlock *l;
	struct dsm_xfer *x;
	u32 flying;
	u64 key;

	start();
	key = key_of(1, 0);
	l = lock_of(key);
	/* Node 1 is the end, and does not wait: this node is not in the queue. */
	flying = w.n_fly;
	assert_null(back(back(ask(key, &waiter, none), DSM_XFER_IN_DOUBT, 0), 0, other));
	assert_int_equal(w.n_fly, flying + 1);
	x = answer(key, DSM_RLOCK_PAST, 0);
	assert_int_equal(x->compare, other);
	assert_int_equal(x->operand, held);
	/* An answer that nobody asked for, and one that is none. */
	assert_null(answer(key, DSM_RLOCK_WAITS, 0));
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_BEFORE, 0, 0, 0, 3), -EPROTO);
	/* Now it waits, for this one, which has the lock, since it was free. */
	l->expect = none;
	assert_null(back(back(x, DSM_XFER_IN_DOUBT, 0), 0, other));
	assert_null(answer(key, DSM_RLOCK_WAITS, 0));
	assert_int_equal(l->state, DSM_RLOCK_HELD);
	assert_true(waiter.done);

	/* Given back: whoever waits for this node says that it still has the lock. */
	assert_null(back(back(give_back(l), DSM_XFER_IN_DOUBT, 0), 0, other));
	/* Who asks this one meanwhile is told that it does not wait. */
	flying = w.n_fly;
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, key, DSM_RLOCK_BEFORE, 0, 0, 0, 0), 0);
	assert_int_equal(w.n_fly, flying + 1);
	assert_null(answer(key, DSM_RLOCK_WAITS, 0));
	assert_int_equal(l->state, DSM_RLOCK_PASSING);

	/* Or that it has had it: then it is free, or somebody else's. */
	assert_null(back(back(give_back(l), DSM_XFER_IN_DOUBT, 0), 0, other));
	assert_null(answer(key, DSM_RLOCK_PAST, 0));
	assert_int_equal(l->state, DSM_RLOCK_NONE);

	/* Asked while its own exchange is under way it answers afterwards. */
	x = ask(key, &waiter, other);
	flying = w.n_fly;
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, key, DSM_RLOCK_BEFORE, 0, 0, 0, 0), 0);
	assert_int_equal(w.n_fly, flying);
	x = back(x, 0, other);
	free(x);
	dsm_engine_run(world_engine(0), world_begin(0));
	world_end(0);
	assert_int_equal(l->state, DSM_RLOCK_WAITING);
	assert_int_equal(w.n_fly, flying + 1);
	stop();
}

/* The word says LOST, because of another node: who is named in it has, or waits for, the lock. */
static void a_void_queue_tells_what_it_can(void **state)
{
	static const struct {
		u16 names;
		u16 next;
		bool give_back;
		u8 state;
	} cases[] = {
		{ 0, DSM_NO_NODE, false, DSM_RLOCK_HELD },	/* we have it, since it was free */
		{ 1, 1, false, DSM_RLOCK_HELD },		/* likewise: node 1 has displaced us */
		{ 1, DSM_NO_NODE, false, DSM_RLOCK_NONE },
		{ 0, DSM_NO_NODE, true, DSM_RLOCK_FREEING },	/* we still have it, and the word becomes free in a new epoch */
		{ 1, DSM_NO_NODE, true, DSM_RLOCK_NONE },
	};
	const u64 none = dsm_rword(DSM_RWORD_FREE, 0, 0);
	struct dsm_waiter waiter;
	struct dsm_rlock *l;
	struct dsm_xfer *x;
	u64 key;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		start();
		key = key_of(1, 0);
		x = ask(key, &waiter, none);
		l = lock_of(key);
		if (cases[i].give_back) {
			assert_null(back(x, 0, none));
			x = give_back(l);
		}
		x = back(x, DSM_XFER_IN_DOUBT, 0);
		l->next = cases[i].next;
		x = back(x, 0, dsm_rword(DSM_RWORD_LOST, cases[i].names, 0));
		assert_int_equal(l->state, cases[i].state);
		if (x) {
			assert_int_equal(x->operand, dsm_rword(DSM_RWORD_FREE, 0, 1));
			free(x);
		}
		stop();
	}
}

/* Nodes that are in the way twice have had the lock: this one is not among them. And a manager that cannot look says so. */
static void no_question_is_asked_twice(void **state)
{
	const u64 other = dsm_rword(DSM_RWORD_HELD, 1, 0), none = dsm_rword(DSM_RWORD_FREE, 0, 0);
	struct dsm_waiter waiter;
	struct dsm_rlock *l;
	struct dsm_xfer *x;
	u64 key;

	start();
	key = key_of(1, 0);
	x = ask(key, &waiter, none);
	l = lock_of(key);
	assert_null(back(back(x, DSM_XFER_IN_DOUBT, 0), 0, other));
	x = answer(key, DSM_RLOCK_WAITS, 1);
	assert_int_equal(x->compare, other);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_BEFORE, 0, 0, DSM_MAX_NODES, 1), -EPROTO);
	l->expect = none;
	assert_null(back(back(x, DSM_XFER_IN_DOUBT, 0), 0, dsm_rword(DSM_RWORD_HELD, 5, 0)));
	assert_null(answer_to(DSM_RLOCK_BROKEN, key, EHOSTDOWN, 0));
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -EHOSTDOWN);
	stop();
}

static void a_lost_witness_is_not_waited_for(void **state)
{
	const u64 held = dsm_rword(DSM_RWORD_HELD, 0, 0), gone = dsm_rword(DSM_RWORD_HELD, 5, 0);
	struct dsm_waiter waiter;
	struct dsm_xfer *x;
	u32 flying;
	u64 key;

	start();
	key = key_of(1, 0);
	/* The word names a node that is not there: the manager is asked to judge, and answers. */
	flying = w.n_fly;
	assert_null(back(back(ask(key, &waiter, dsm_rword(DSM_RWORD_FREE, 1, 0)), DSM_XFER_IN_DOUBT, 0), 0, gone));
	assert_int_equal(w.n_fly, flying + 1);
	assert_null(answer(key, DSM_RLOCK_WAITS, 0));
	x = answer_to(DSM_RLOCK_BROKEN, key, 0, 0);
	assert_int_equal(x->compare, held);
	assert_int_equal(x->operand, held);
	assert_null(back(x, 0, dsm_rword(DSM_RWORD_LOST, 5, 0)));
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -EHOSTDOWN);
	stop();
}

/* Who has lost the manager has left the queue, and says so: then it is the manager who can tell, when it is void. */
static void who_has_lost_the_manager_says_nothing_of_the_queue(void **state)
{
	const u64 held = dsm_rword(DSM_RWORD_HELD, 0, 0), other = dsm_rword(DSM_RWORD_HELD, 2, 0);
	struct dsm_wire_rlock body = { .op = DSM_RLOCK_BEFORE };
	struct dsm_waiter waiter;
	struct dsm_xfer *x;
	u64 key;

	start();
	key = key_of(1, 0);
	assert_null(back(back(ask(key, &waiter, dsm_rword(DSM_RWORD_FREE, 1, 0)), DSM_XFER_IN_DOUBT, 0), 0, other));
	sent(2, DSM_MSG_RLOCK, DSM_RLOCK_BEFORE, 0);
	body.key = cpu_to_le64(key);
	body.status = cpu_to_le32(DSM_RLOCK_AWAY);
	assert_int_equal(receive_of(2, DSM_MSG_RLOCK_REPLY, &body, sizeof(body)), 0);
	world_end(0);
	sent(1, DSM_MSG_RLOCK, DSM_RLOCK_BROKEN, 0);
	x = answer_to(DSM_RLOCK_BROKEN, key, 0, 0);
	assert_int_equal(x->compare, held);
	assert_null(back(x, 0, dsm_rword(DSM_RWORD_LOST, 2, 0)));
	assert_int_equal(waiter.status, -EHOSTDOWN);
	stop();

	start();
	lock_of(key);
	world_lose(1);
	body.status = 0;
	assert_int_equal(receive_of(2, DSM_MSG_RLOCK, &body, sizeof(body)), 0);
	world_end(0);
	sent(2, DSM_MSG_RLOCK_REPLY, DSM_RLOCK_BEFORE, DSM_RLOCK_AWAY);
	stop();
}

/* The exchange has been under way for long: a later queue is void, and nobody knows that this node is in the first. */
static void who_comes_into_a_queue_that_was_void_gives_up(void **state)
{
	const u64 held = dsm_rword(DSM_RWORD_HELD, 1, 0);
	struct dsm_waiter waiter;
	struct dsm_xfer *x;
	u64 key;
	u32 epoch;

	for (epoch = 0; epoch < 2; epoch++) {
		start();
		key = key_of(1, 0);
		x = ask(key, &waiter, held);
		assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_LOST, dsm_rword(DSM_RWORD_LOST, 1, epoch), 0, 0, 0), 0);
		assert_null(back(x, 0, held));
		assert_true(waiter.done);
		assert_int_equal(waiter.status, -EHOSTDOWN);
		stop();
	}
}

/* The last message that this node sent, to node 1, is a judgement of the key. */
static void assert_judged(u64 key, u32 flying, u32 err)
{
	const struct dsm_wire_rlock body = sent(1, DSM_MSG_RLOCK_REPLY, DSM_RLOCK_BROKEN, err);

	assert_int_equal(w.n_fly, flying + 1);
	assert_int_equal(le64_to_cpu(body.key), key);
}

/* Node 1 reports a node of a queue that this one manages; what is wanted then, or NULL. */
static struct dsm_xfer *report(u64 key)
{
	const struct dsm_wire_rlock body = { .key = cpu_to_le64(key), .op = DSM_RLOCK_BROKEN };

	assert_int_equal(receive(DSM_MSG_RLOCK, &body, sizeof(body)), 0);
	return wanted();
}

/* Who reports is answered when the word was looked at after the report, and not before. */
static void a_report_is_answered_when_judged(void **state)
{
	const u64 queue = dsm_rword(DSM_RWORD_HELD, 5, 0), lost = dsm_rword(DSM_RWORD_LOST, 5, 0);
	const u64 none = dsm_rword(DSM_RWORD_FREE, 0, 1);
	struct dsm_xfer *x;
	u32 flying;
	u64 key;

	start();
	key = key_of(0, 0);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, key, DSM_RLOCK_OPEN, 0, 0, 0, 0), 0);
	flying = w.n_fly;
	/* A queue is made void: node 1 hears that first, and the answer in a later step. */
	x = back(report(key), 0, queue);
	assert_int_equal(x->compare, queue);
	assert_int_equal(x->operand, lost);
	assert_int_equal(w.n_fly, flying);
	x = back(x, 0, queue);
	assert_int_equal(w.n_fly, flying + 1);
	assert_int_equal(x->operand, x->compare);
	assert_null(back(x, 0, lost));
	assert_judged(key, flying + 1, 0);
	/* Reported again while the manager looks: it looks once more. */
	x = report(key);
	assert_null(report(key));
	flying = w.n_fly;
	x = back(x, 0, none);
	assert_non_null(x);
	assert_int_equal(w.n_fly, flying);
	assert_null(back(x, 0, none));
	assert_judged(key, flying, 0);
	/* Nobody can look. */
	flying = w.n_fly;
	assert_null(back(report(key), -EHOSTDOWN, 0));
	assert_judged(key, flying, EHOSTDOWN);
	/* Who is gone meanwhile is not answered. */
	x = report(key);
	world_lose(1);
	flying = w.n_fly;
	x = back(x, 0, none);
	while (x)
		x = back(x, 0, none);
	assert_int_equal(w.n_fly, flying);
	stop();
}

/* Who comes into the queue of the next epoch before the manager hears that it made the last one void has lost nobody. */
static void a_queue_after_the_one_that_is_void_is_whole(void **state)
{
	const u64 queue = dsm_rword(DSM_RWORD_HELD, 5, 0), next = dsm_rword(DSM_RWORD_HELD, 2, 1);
	struct dsm_xfer *x;
	u32 flying, twice;
	u64 key;

	for (twice = 0; twice < 2; twice++) {
		start();
		key = key_of(0, 0);
		assert_int_equal(rlock_message(DSM_MSG_RLOCK, key, DSM_RLOCK_OPEN, 0, 0, 0, 0), 0);
		x = back(report(key), 0, queue);
		/* Unless another report came meanwhile, which may be of it. */
		if (twice)
			assert_null(report(key));
		x = back(x, 0, queue);
		assert_int_equal(x->operand, x->compare);
		flying = w.n_fly;
		x = back(x, 0, next);
		assert_int_equal(x != NULL, twice);
		if (twice) {
			assert_int_equal(x->operand, dsm_rword(DSM_RWORD_LOST, 2, 1));
			free(x);
		} else {
			assert_judged(key, flying, 0);
		}
		stop();
	}
}

/* Whoever is before it may give up without a word: the manager cannot reach its own words any more. */
static void a_manager_that_cannot_judge_does_not_wait_either(void **state)
{
	const u64 queue = dsm_rword(DSM_RWORD_HELD, 1, 0);
	struct dsm_waiter waiter;
	struct dsm_rlock *l;
	struct dsm_xfer *x;
	u64 key;

	start();
	key = key_of(0, 0);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, key, DSM_RLOCK_OPEN, 0, 0, 0, 0), 0);
	l = lock_of(key);
	x = back(ask(key, &waiter, queue), 0, queue);
	assert_int_equal(x->op, DSM_XFER_SIGNAL);
	free(x);
	assert_int_equal(l->state, DSM_RLOCK_WAITING);
	assert_null(back(report(key), -EHOSTDOWN, 0));
	assert_int_equal(l->state, DSM_RLOCK_NONE);
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -EHOSTDOWN);
	stop();
}

/* It is in no queue, unless the word itself names it: who it kept behind it says so. */
static void who_leaves_in_good_order_breaks_no_queue(void **state)
{
	const u64 words[] = { dsm_rword(DSM_RWORD_HELD, 2, 0), dsm_rword(DSM_RWORD_HELD, 1, 0) };
	struct dsm_engine *e;
	struct dsm_rlock *l;
	struct dsm_xfer *x;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		start();
		e = world_engine(0);
		l = lock_of(key_of(0, 0));
		assert_int_equal(rlock_message(DSM_MSG_RLOCK, l->key, DSM_RLOCK_OPEN, 0, 0, 0, 0), 0);
		dsm_engine_peer_left(e, 1);
		e->alive &= ~(1ull << 1);
		dsm_rlock_peer_lost(e, l, 1, world_begin(0));
		x = wanted();
		assert_int_equal(x->operand, x->compare);
		x = back(x, 0, words[i]);
		assert_int_equal(x != NULL, i);
		assert_int_equal(!!(l->flags & DSM_RLOCKF_JUDGING), i);
		if (i)
			assert_int_equal(x->operand, dsm_rword(DSM_RWORD_LOST, 1, 0));
		free(x);
		stop();
	}
}

/* Who asks whether it is in the queue hears meanwhile from somebody who came after it: it is, and has it. */
static void who_comes_after_one_in_doubt_tells_it_where_it_is(void **state)
{
	const u64 none = dsm_rword(DSM_RWORD_FREE, 0, 0), other = dsm_rword(DSM_RWORD_HELD, 1, 0);
	struct dsm_waiter waiter;
	struct dsm_rlock *l;
	u64 key;

	start();
	key = key_of(1, 0);
	l = lock_of(key);
	assert_null(back(back(ask(key, &waiter, none), DSM_XFER_IN_DOUBT, 0), 0, other));
	assert_int_equal(l->state, DSM_RLOCK_QUEUEING);
	dsm_rlock_on_signal(world_engine(0), 1, DSM_SIGNAL_NEXT << DSM_SIGNAL_SHIFT | dsm_rlock_handle(1, 0), world_begin(0));
	assert_null(wanted());
	assert_int_equal(l->next, 1);
	/* The queue was made void before node 1 was asked: it does not wait any more. */
	assert_null(answer(key, DSM_RLOCK_PAST, 0));
	assert_int_equal(l->state, DSM_RLOCK_HELD);
	assert_true(waiter.done);
	stop();
}

/* Lost to this node alone: what it wrote others may know, but who hears of it from here invalidates everything. */
static void a_lock_whose_last_holder_is_lost_says_so_to_all(void **state)
{
	const u64 word = dsm_rword(DSM_RWORD_FREE, 2, 0);
	struct dsm_engine *e;
	struct dsm_waiter waiter;
	struct dsm_rlock *l;
	u64 key;

	start();
	e = world_engine(0);
	key = key_of(1, 0);
	free(back(ask(key, &waiter, word), 0, word));
	l = lock_of(key);
	assert_int_equal(l->state, DSM_RLOCK_LEARNING);
	world_lose(2);
	dsm_engine_run(e, world_begin(0));
	world_end(0);
	assert_true(waiter.done);
	assert_int_equal(waiter.status, 0);
	assert_true(e->inval_all);
	assert_int_equal(e->known[0], 1);
	assert_int_equal(e->floor[0], 1);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_tells_whether_an_exchange_took_place),
		cmocka_unit_test(reg_number_of_a_lost_next_node_is_another_ones),
		cmocka_unit_test(the_end_of_the_queue_tells_who_is_in_it),
		cmocka_unit_test(a_void_queue_tells_what_it_can),
		cmocka_unit_test(no_question_is_asked_twice),
		cmocka_unit_test(a_lost_witness_is_not_waited_for),
		cmocka_unit_test(who_has_lost_the_manager_says_nothing_of_the_queue),
		cmocka_unit_test(who_comes_into_a_queue_that_was_void_gives_up),
		cmocka_unit_test(a_report_is_answered_when_judged),
		cmocka_unit_test(a_queue_after_the_one_that_is_void_is_whole),
		cmocka_unit_test(a_manager_that_cannot_judge_does_not_wait_either),
		cmocka_unit_test(who_leaves_in_good_order_breaks_no_queue),
		cmocka_unit_test(who_comes_after_one_in_doubt_tells_it_where_it_is),
		cmocka_unit_test(a_lock_whose_last_holder_is_lost_says_so_to_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
