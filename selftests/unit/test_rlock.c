// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks by atomics: words, boards, and what peers may not do. How nodes play together is for the explorer (selftests/model).
 */
#include "rlock_world.h"

#define KEY_RKEY 77u

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
