// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks by atomics: words, boards, and what peers may not do. How nodes play together is for the explorer (selftests/model).
 */
#include "unit.h"
#include "rlock.h"
#include "world.h"
#include "world_threads.h"

#define KEY_RKEY 77u

static struct dsm_rsync memory;

/* Node 0 of two, with its memory; the region has sync=rdma. */
static void start(void)
{
	u32 n;

	world_start(2);
	memory = (struct dsm_rsync){
		.word = calloc(DSM_RSYNC_WORDS, sizeof(u64)),
		.mail = calloc(1, sizeof(struct dsm_mail)),
		.landing = calloc(DSM_MAX_NODES, sizeof(union dsm_board_slot)),
		.word_key = { .addr = 0x10000, .rkey = 5 },
		.mail_key = { .addr = 0x20000, .rkey = 6 },
	};
	assert_true(memory.word && memory.mail && memory.landing);
	dsm_rsync_set(world_engine(0), &memory);
	for (n = 0; n < 2; n++)
		w.node[n].space.policy.sync = DSM_SYNC_RDMA;
}

static void stop(void)
{
	world_stop();
	free(memory.word);
	free(memory.mail);
	free(memory.landing);
}

/* A key that node @manager manages. */
static u64 key_of(u16 manager, u64 from)
{
	while (dsm_manager(&w.node[0].space, DSM_MSG_LOCK_REQ, from) != manager)
		from++;
	return from;
}

/* What the step wants to transfer, taken off it. */
static struct dsm_xfer *transfer(u8 op)
{
	struct dsm_xfer *x = w.acts.xfer;

	assert_non_null(x);
	assert_int_equal(x->op, op);
	assert_null(x->next);
	w.acts.xfer = NULL;
	w.acts.xfer_last = &w.acts.xfer;
	return x;
}

/* Of node 1; the step is not ended. */
static int receive(u8 type, const void *body, u32 len)
{
	u8 msg[256] = {};
	struct dsm_wire_hdr hdr = {
		.type = type, .region = cpu_to_le32(type == DSM_MSG_RSYNC_KEY ? 0 : WORLD_REGION),
		.len = cpu_to_le16(sizeof(hdr) + len),
	};
	int err;

	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + sizeof(hdr), body, len);
	world_begin(0);
	err = dsm_engine_check(msg, sizeof(hdr) + len, NULL, NULL);
	return err ?: dsm_engine_recv(world_engine(0), 1, msg, sizeof(hdr) + len, &w.acts);
}

static int message(u8 type, const void *body, u32 len)
{
	int err = receive(type, body, len);

	world_end(0);
	return err;
}

static int rlock_message(u8 type, u64 key, u8 op, u64 addr, u32 rkey, u32 word, u32 status)
{
	struct dsm_wire_rlock body = {
		.key = cpu_to_le64(key), .op = op, .addr = cpu_to_le64(addr), .rkey = cpu_to_le32(rkey),
		.word = cpu_to_le32(word), .status = cpu_to_le32(status),
	};

	return message(type, &body, sizeof(body));
}

static void words_differ_and_run_out(void **state)
{
	struct dsm_engine *e;
	static bool seen[DSM_RSYNC_WORDS];
	struct dsm_waiter waiter;
	u64 key;
	u32 i;
	int n;

	start();
	e = world_engine(0);
	for (i = 0; i < DSM_RSYNC_WORDS; i++) {
		memory.word[i] = 1;
		n = dsm_rsync_word_get(e);
		assert_in_range(n, 0, DSM_RSYNC_WORDS - 1);
		assert_false(seen[n]);
		assert_int_equal(memory.word[n], 0);
		seen[n] = true;
	}
	assert_int_equal(dsm_rsync_word_get(e), -ENOSPC);
	key = key_of(0, 0);
	world_waiter(&waiter, 10);
	assert_int_equal(dsm_rlock_acquire(e, &w.node[0].space, key, &waiter, world_begin(0)), -ENOSPC);
	world_end(0);
	assert_null(dsm_rlock_find(e, WORLD_REGION, key));
	dsm_rsync_word_put(e, 4711);
	memory.word[4711] = 9;
	assert_int_equal(dsm_rsync_word_get(e), 4711);
	assert_int_equal(memory.word[4711], 0);
	stop();
}

static void a_board_says_all_or_nothing(void **state)
{
	union dsm_board_slot *slot;
	struct dsm_engine *e;
	u32 i;

	start();
	e = world_engine(0);
	slot = &memory.mail->own;
	/* Never written. */
	assert_false(dsm_rsync_take(e, 1, slot));
	e->known[0] = 5;
	e->known[1] = 3;
	dsm_rsync_publish(e);
	assert_true(dsm_rsync_take(e, 1, slot));
	assert_int_equal(e->peer_known[1][0], 5);
	assert_int_equal(e->peer_known[1][1], 3);
	/* It knows more than we do. */
	e->known[1] = 2;
	assert_false(dsm_rsync_take(e, 1, slot));
	e->known[1] = 3;
	/* It is being written: any word of it differs. */
	for (i = 0; i < sizeof(slot->board) / sizeof(u64); i++) {
		((u64 *)&slot->board)[i] ^= 1ull << i % 64;
		assert_false(dsm_rsync_take(e, 1, slot));
		((u64 *)&slot->board)[i] ^= 1ull << i % 64;
	}
	assert_true(dsm_rsync_take(e, 1, slot));
	/* It knows more of us than we do: it cannot be right, and its times are not believed. */
	e->known[0] = 6;
	e->known[1] = 1000;
	dsm_rsync_publish(e);
	e->known[0] = 5;
	e->known[1] = 3;
	assert_false(dsm_rsync_take(e, 1, slot));
	assert_int_equal(e->peer_known[1][1], 3);
	stop();
}

static void note(u16 node, u64 seq, u16 count)
{
	struct dsm_interval rec = { .node = node, .seq = seq, .count = count };
	u16 i;

	for (i = 0; i < count; i++)
		rec.notice[i] = (struct dsm_notice){ .region = WORLD_REGION, .idx = i, .ver = seq };
	dsm_rsync_note(world_engine(0), &rec);
}

static void a_board_brings_the_last_records(void **state)
{
	union dsm_board_slot *slot;
	struct dsm_engine *e;
	u64 seq;

	start();
	e = world_engine(0);
	slot = &memory.mail->own;
	/* Five of node 1, of which the board keeps four. */
	for (seq = 1; seq <= 5; seq++)
		note(1, seq, 2);
	e->known[1] = 5;
	dsm_rsync_publish(e);
	e->known[1] = 0;
	world_begin(0);
	/* Nothing goes into the log behind a gap. */
	assert_false(dsm_rsync_take(e, 1, slot));
	assert_int_equal(e->known[1], 0);
	e->known[1] = 1;
	assert_true(dsm_rsync_take(e, 1, slot));
	assert_int_equal(e->known[1], 5);
	assert_int_equal(e->log_records, 4);
	/* Known already. */
	assert_true(dsm_rsync_take(e, 1, slot));
	assert_int_equal(e->log_records, 4);
	/* Peers cannot make us believe in records that make no sense. */
	note(DSM_MAX_NODES, 6, 1);
	e->known[1] = 6;
	dsm_rsync_publish(e);
	e->known[1] = 5;
	assert_false(dsm_rsync_take(e, 1, slot));
	assert_int_equal(e->known[1], 5);
	world_end(0);
	stop();
}

static void a_publication_without_news_writes_nothing(void **state)
{
	struct dsm_board *b;

	start();
	b = &memory.mail->own.board;
	dsm_rsync_publish(world_engine(0));
	assert_int_not_equal(b->sum, 0);
	memset(b->record, 5, sizeof(b->record));
	dsm_rsync_publish(world_engine(0));
	assert_int_equal(b->record[0].head.node, 0x505);
	world_engine(0)->known[0]++;
	dsm_rsync_publish(world_engine(0));
	assert_int_equal(b->record[0].head.node, 0);
	assert_int_equal(b->time[0], 1);
	stop();
}

static int key_message(u64 addr, u32 rkey, u32 reserved)
{
	struct dsm_wire_rsync_key body = {
		.addr = cpu_to_le64(addr), .rkey = cpu_to_le32(rkey), .reserved = cpu_to_le32(reserved),
	};

	return message(DSM_MSG_RSYNC_KEY, &body, sizeof(body));
}

static void a_key_stays_as_it_is(void **state)
{
	start();
	assert_int_equal(key_message(0x1000, 0, 0), -EPROTO);
	assert_int_equal(key_message(0x1000, KEY_RKEY, 1), -EPROTO);
	assert_int_equal(key_message(0x1000, KEY_RKEY, 0), 0);
	assert_int_equal(key_message(0x1000, KEY_RKEY, 0), 0);
	assert_int_equal(key_message(0x1000, KEY_RKEY + 1, 0), -EPROTO);
	assert_int_equal(key_message(0x2000, KEY_RKEY, 0), -EPROTO);
	assert_int_equal(world_engine(0)->mail_key[1].rkey, KEY_RKEY);
	world_lose(1);
	assert_int_equal(world_engine(0)->mail_key[1].rkey, 0);
	stop();
}

static void peers_that_break_rules_are_refused(void **state)
{
	u64 mine, theirs;

	start();
	mine = key_of(0, 0);
	theirs = key_of(1, 0);
	/* Not the manager; not a user; nothing asked for; no object is made. */
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, theirs, DSM_RLOCK_OPEN, 0, 0, 0, 0), -EPROTO);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, mine, DSM_RLOCK_BROKEN, 0, 0, 0, 0), -EPROTO);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, mine, DSM_RLOCK_LOST, 0, 0, 0, 0), -EPROTO);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, mine, DSM_RLOCK_OPEN, 8, 0, 0, 0), -EPROTO);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, theirs, DSM_RLOCK_OPEN, 8, 1, 0, 0), -EPROTO);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, theirs, DSM_RLOCK_LOST, 2, 0, 0, 0), -EPROTO);
	assert_null(dsm_rlock_find(world_engine(0), WORLD_REGION, theirs));
	/* Signals of words that nobody uses say nothing. */
	assert_int_equal(dsm_rlock_on_signal(world_engine(0), 1, DSM_SIGNAL_NEXT << DSM_SIGNAL_SHIFT | 5, world_begin(0)), 0);
	world_end(0);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, mine, DSM_RLOCK_OPEN, 0, 0, 0, 0), 0);
	assert_int_equal(w.n_fly, 1);
	/* With msg, there is no such message. */
	w.node[0].space.policy.sync = DSM_SYNC_MSG;
	assert_int_equal(rlock_message(DSM_MSG_RLOCK, mine, DSM_RLOCK_OPEN, 0, 0, 0, 0), -EPROTO);
	stop();
}

static void answers_of_a_manager_are_checked(void **state)
{
	struct dsm_waiter waiter;
	struct dsm_xfer *x;
	u64 key;

	start();
	key = key_of(1, 0);
	world_waiter(&waiter, 10);
	assert_int_equal(dsm_rlock_acquire(world_engine(0), &w.node[0].space, key, &waiter, world_begin(0)),
			 -EINPROGRESS);
	world_end(0);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_OPEN, 0x1000, 0, 0, 0), -EPROTO);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_OPEN, 0x1004, 9, 0, 0), -EPROTO);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_OPEN, 0x1000, 9, DSM_RSYNC_WORDS, 0),
			 -EPROTO);
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_LOST, 1, 0, 0, 0), -EPROTO);
	assert_false(waiter.done);
	/* No word is left there. */
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_OPEN, 0, 0, 0, ENOSPC), 0);
	assert_true(waiter.done);
	assert_int_equal(waiter.status, -ENOSPC);
	assert_null(dsm_rlock_find(world_engine(0), WORLD_REGION, key));
	/* The manager's own lock, free and never used: one atomic, at itself. */
	world_waiter(&waiter, 10);
	key = key_of(0, 0);
	assert_int_equal(dsm_rlock_acquire(world_engine(0), &w.node[0].space, key, &waiter, world_begin(0)),
			 -EINPROGRESS);
	x = transfer(DSM_XFER_CAS);
	world_end(0);
	assert_int_equal(x->dst, 0);
	assert_int_equal(x->compare, 0);
	assert_int_equal(x->operand, dsm_rword(DSM_RWORD_HELD, 0, 0));
	assert_int_equal(w.node[0].space.busy, 1);
	x->result = 0;
	dsm_rlock_on_xfer(world_engine(0), x, world_begin(0));
	world_end(0);
	assert_true(waiter.done);
	assert_int_equal(waiter.status, 0);
	free(x);
	stop();
}

/* The atomic of the lock comes back; what the step wants then, or NULL. */
static struct dsm_xfer *back(struct dsm_xfer *x, int status, u64 result)
{
	struct dsm_xfer *next;

	x->status = status;
	x->result = result;
	dsm_rlock_on_xfer(world_engine(0), x, world_begin(0));
	next = w.acts.xfer;
	if (next)
		next = transfer(next->op);
	world_end(0);
	free(x);
	return next;
}

static struct dsm_rlock *lock_of(u64 key)
{
	struct dsm_rlock *l;

	world_begin(0);
	l = dsm_rlock_get(world_engine(0), &w.node[0].space, key);
	world_end(0);
	return l;
}

/* The word of a key that node 1 manages is known; this node asks for the lock. */
static struct dsm_xfer *ask(u64 key, struct dsm_waiter *waiter, u64 seen)
{
	struct dsm_engine *e = world_engine(0);
	struct dsm_rlock *l = lock_of(key);
	struct dsm_xfer *x;

	if (!(l->flags & DSM_RLOCKF_OPEN))
		dsm_rlock_opened(e, l, &(struct dsm_key){ .addr = 0x1000, .rkey = 9 }, dsm_rlock_handle(1, 0));
	l->seen = seen;
	world_waiter(waiter, 10);
	assert_int_equal(dsm_rlock_acquire(e, &w.node[0].space, key, waiter, world_begin(0)), -EINPROGRESS);
	x = transfer(DSM_XFER_CAS);
	world_end(0);
	return x;
}

/* The lock is here, and is to be free. */
static struct dsm_xfer *give_back(struct dsm_rlock *l)
{
	struct dsm_xfer *x;

	dsm_rlock_free_word(world_engine(0), l, dsm_rword(DSM_RWORD_HELD, 0, 0), world_begin(0));
	x = transfer(DSM_XFER_CAS);
	world_end(0);
	return x;
}

/* Node 1 answers a question; what the step wants then, or NULL. */
static struct dsm_xfer *answer_to(u8 op, u64 key, u32 place, u32 before)
{
	struct dsm_wire_rlock body = {
		.key = cpu_to_le64(key), .op = op, .status = cpu_to_le32(place), .word = cpu_to_le32(before),
	};
	struct dsm_xfer *x;

	assert_int_equal(receive(DSM_MSG_RLOCK_REPLY, &body, sizeof(body)), 0);
	x = w.acts.xfer ? transfer(w.acts.xfer->op) : NULL;
	world_end(0);
	return x;
}

static struct dsm_xfer *answer(u64 key, u32 place, u32 before)
{
	return answer_to(DSM_RLOCK_BEFORE, key, place, before);
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
	assert_int_equal(rlock_message(DSM_MSG_RLOCK_REPLY, key, DSM_RLOCK_BEFORE, 0, 0, 0, 2), -EPROTO);
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

/* The last message that this node sent, to node 1, is a judgement of the key. */
static void assert_judged(u64 key, u32 flying, u32 err)
{
	const struct dsm_msgbuf *m = w.fly[w.n_fly - 1].m;
	struct dsm_reader r = dsm_reader_init(m->data, m->len);
	struct dsm_wire_rlock body;
	struct dsm_wire_hdr hdr;

	assert_int_equal(w.n_fly, flying + 1);
	dsm_reader_take(&r, &hdr, sizeof(hdr));
	dsm_reader_take(&r, &body, sizeof(body));
	assert_int_equal(hdr.type, DSM_MSG_RLOCK_REPLY);
	assert_int_equal(body.op, DSM_RLOCK_BROKEN);
	assert_int_equal(le64_to_cpu(body.key), key);
	assert_int_equal(le32_to_cpu(body.status), err);
}

/* Node 1 reports a node of a queue that this one manages; what is wanted then, or NULL. */
static struct dsm_xfer *report(u64 key)
{
	const struct dsm_wire_rlock body = { .key = cpu_to_le64(key), .op = DSM_RLOCK_BROKEN };
	struct dsm_xfer *x;

	assert_int_equal(receive(DSM_MSG_RLOCK, &body, sizeof(body)), 0);
	x = w.acts.xfer ? transfer(w.acts.xfer->op) : NULL;
	world_end(0);
	return x;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_differ_and_run_out),
		cmocka_unit_test(a_board_says_all_or_nothing),
		cmocka_unit_test(a_board_brings_the_last_records),
		cmocka_unit_test(a_publication_without_news_writes_nothing),
		cmocka_unit_test(a_key_stays_as_it_is),
		cmocka_unit_test(peers_that_break_rules_are_refused),
		cmocka_unit_test(answers_of_a_manager_are_checked),
		cmocka_unit_test(a_word_tells_whether_an_exchange_took_place),
		cmocka_unit_test(reg_number_of_a_lost_next_node_is_another_ones),
		cmocka_unit_test(the_end_of_the_queue_tells_who_is_in_it),
		cmocka_unit_test(a_void_queue_tells_what_it_can),
		cmocka_unit_test(no_question_is_asked_twice),
		cmocka_unit_test(a_lost_witness_is_not_waited_for),
		cmocka_unit_test(a_report_is_answered_when_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
