// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/slot.c, and of core/lock.c about locks in slots, with libdsm's own code on the other side. The key
 * of these tests is managed by A; the table is at the node that a test uses.
 */
#include <pthread.h>
#include <sched.h>
#include "lock_world.h"
#include "slot.h"
#include "../../userspace/lib/fast.h"

static struct dsm_slots *slots[3];

static inline struct dsm_lock_slot *table(u16 node)
{
	return (struct dsm_lock_slot *)slots[node]->shared;
}

static int start_with_tables(void **state)
{
	u16 n;

	start3(state);
	for (n = A; n <= C; n++) {
		slots[n] = memset(unit_alloc(sizeof(*slots[n])), 0, sizeof(*slots[n]));
		dsm_slots_init(slots[n], memset(unit_alloc(DSM_LOCK_TABLE_BYTES), 0, DSM_LOCK_TABLE_BYTES));
		w.node[n].space.slots = slots[n];
	}
	return 0;
}

static int stop_with_tables(void **state)
{
	u16 n;

	stop(state);
	for (n = A; n <= C; n++) {
		free(slots[n]->shared);
		free(slots[n]);
	}
	return 0;
}

/* The word of a thread; its process gets a number as by the ioctl. */
static u64 self(u16 node, s32 tid)
{
	int owner = dsm_slots_register(slots[node], 1, tid / 10);

	assert_true(owner > 0);
	return dsm_fast_word(owner, tid);
}

static enum dsm_fast take(u16 node, u64 key, s32 tid)
{
	return dsm_fast_take(table(node), key, self(node, tid));
}

static bool give(u16 node, u64 key, s32 tid)
{
	return dsm_fast_give(table(node), key, self(node, tid));
}

/* Once the slow way, after which it lies in a slot. */
static void offer(u16 node, u64 key, s32 tid)
{
	assert_int_equal(world_lock(node, key, tid), 0);
	assert_int_equal(take(node, key, tid + 1), DSM_FAST_ASK);
	assert_int_equal(world_unlock(node, key, tid), 0);
}

static struct dsm_lock_slot *slot_of(u16 node, u64 key)
{
	uint64_t word;
	struct dsm_lock_slot *slot = dsm_fast_find(table(node), key, &word);

	unit_require(slot, "key %llu is in no slot of node %u", key, node);
	return slot;
}

static void lock_given_back_is_taken_without_the_engine(void **state)
{
	u32 i;

	offer(C, K, 30);
	for (i = 0; i < 3; i++) {
		assert_int_equal(take(C, K, 30 + i), DSM_FAST_DONE);
		assert_int_equal(take(C, K, 30 + i), DSM_FAST_ASK);	/* deadlock: the engine says so */
		assert_int_equal(take(C, K, 35), DSM_FAST_BUSY);
		assert_int_equal(take(C, K, 45), DSM_FAST_BUSY);
		assert_false(give(C, K, 45));
		assert_true(give(C, K, 35));		/* any thread of the process */
		assert_false(give(C, K, 30 + i));
	}
	assert_int_equal(world_lock_state(C, K), DSM_LOCK_CACHED);
	assert_int_equal(dsm_slots_uses(slots[C]), 3);
	assert_int_equal(w.n_fly, 0);
}

static void engine_finds_the_holder_in_the_slot(void **state)
{
	struct dsm_waiter waiter;

	offer(C, K, 30);
	assert_int_equal(take(C, K, 31), DSM_FAST_DONE);
	assert_int_equal(world_lock_begin(C, K, &waiter, 31, false), -EDEADLK);
	assert_int_equal(lock_at(C)->owner.tid, 31);
	assert_int_equal(world_unlock(C, K, 40), -EPERM);
	assert_int_equal(world_lock_begin(C, K, &waiter, 40, true), -EBUSY);
	assert_int_equal(world_lock_begin(C, K, &waiter, 40, false), -EINPROGRESS);
	assert_false(give(C, K, 31));
	assert_int_equal(world_unlock(C, K, 32), 0);
	assert_true(waiter.done);
	assert_int_equal(world_unlock(C, K, 40), 0);
	/* Nobody waits any more. */
	assert_int_equal(take(C, K, 40), DSM_FAST_DONE);
	assert_int_equal(world_engine(C)->stats.locks_local, 2);
	assert_true(give(C, K, 40));
}

static void only_locks_taken_by_a_call_count(void **state)
{
	struct dsm_lock_owner o = { .file = 1, .tgid = 3, .tid = 30 };

	offer(C, K, 30);
	assert_int_equal(take(C, K, 30), DSM_FAST_DONE);
	assert_int_equal(dsm_lock_release(world_engine(C), &w.node[C].space, K, &o, world_begin(C)),
			 DSM_LOCK_UNCOUNTED);
	world_end(C);
	assert_int_equal(world_lock(C, K, 30), 0);
	assert_int_equal(dsm_lock_release(world_engine(C), &w.node[C].space, K, &o, world_begin(C)), DSM_LOCK_COUNTED);
	world_end(C);
	assert_int_equal(take(C, K, 30), DSM_FAST_DONE);
	assert_int_equal(dsm_lock_owner_gone(world_engine(C), WORLD_REGION, 1, 3, world_begin(C)),
			 DSM_LOCK_UNCOUNTED);
	world_end(C);
}

static void token_leaves_its_slot_for_another_node(void **state)
{
	struct dsm_waiter b;

	offer(C, K, 30);
	assert_int_equal(take(C, K, 30), DSM_FAST_DONE);
	world_store(C, 0, 5, 77);
	assert_true(give(C, K, 30));
	assert_int_equal(world_lock(B, K, 20), 0);
	assert_int_equal(world_load(B, 0, 5), 77);
	assert_int_equal(take(C, K, 30), DSM_FAST_ASK);
	assert_int_equal(world_lock_state(C, K), -1);
	world_unlock(B, K, 20);
	/* While it is held in a slot the other node waits. */
	assert_int_equal(take(B, K, 21), DSM_FAST_DONE);
	assert_int_equal(world_lock_begin(C, K, &b, 30, false), -EINPROGRESS);
	world_run();
	assert_false(b.done);
	assert_false(give(B, K, 21));
	assert_int_equal(world_unlock(B, K, 21), 0);
	world_run();
	assert_true(b.done);
	assert_int_equal(world_unlock(C, K, 30), 0);
}

static void manager_keeps_its_own_free_locks_in_slots(void **state)
{
	offer(A, K, 10);
	assert_int_equal(world_lock_state(A, K), DSM_LOCK_CACHED);
	assert_int_equal(take(A, K, 10), DSM_FAST_DONE);
	assert_true(give(A, K, 10));
	assert_int_equal(world_lock(B, K, 20), 0);
	assert_int_equal(take(A, K, 10), DSM_FAST_ASK);
	assert_int_equal(world_unlock(B, K, 20), 0);
}

static void try_from_elsewhere_sees_the_holder_in_the_slot(void **state)
{
	offer(C, K, 30);
	assert_int_equal(take(C, K, 30), DSM_FAST_DONE);
	assert_int_equal(world_try(B, K, 20), -EBUSY);
	assert_false(give(C, K, 30));
	assert_int_equal(world_unlock(C, K, 30), 0);
	assert_int_equal(world_try(B, K, 20), 0);
	assert_int_equal(world_unlock(B, K, 20), 0);
}

static void word_read_before_the_slot_was_used_again_takes_nothing(void **state)
{
	u64 word, other = K;
	struct dsm_lock_slot *slot;

	offer(C, K, 30);
	slot = slot_of(C, K);
	word = slot->word;
	assert_int_equal(word & DSM_LOCK_WORD_STATE, DSM_LOCK_WORD_FREE);
	/* Out, and in again: with another key as well as with the same. */
	assert_int_equal(world_lock(C, K, 30), 0);
	assert_int_equal(world_unlock(C, K, 30), 0);
	assert_ptr_equal(slot_of(C, K), slot);
	assert_true(slot->word != word);
	while (DSM_LOCK_SET(++other) != DSM_LOCK_SET(K))
		;
	assert_int_equal(world_lock(B, K, 20), 0);
	offer(C, other, 30);
	assert_ptr_equal(slot_of(C, other), slot);
	assert_true(slot->word != word);
	assert_int_equal(slot->word & DSM_LOCK_WORD_STATE, DSM_LOCK_WORD_FREE);
	assert_int_equal(world_unlock(B, K, 20), 0);
}

static void full_set_gives_up_what_is_not_used(void **state)
{
	u64 key[DSM_SLOT_WAYS + 1] = { K };
	u32 i, left = 0;

	for (i = 1; i <= DSM_SLOT_WAYS; i++)
		for (key[i] = key[i - 1] + 1; DSM_LOCK_SET(key[i]) != DSM_LOCK_SET(K); key[i]++)
			;
	for (i = 0; i < DSM_SLOT_WAYS; i++)
		offer(C, key[i], 30);
	for (i = 0; i < DSM_SLOT_WAYS; i++) {
		if (i == 2)
			continue;
		assert_int_equal(take(C, key[i], 30), DSM_FAST_DONE);
		if (i)
			assert_true(give(C, key[i], 30));
	}
	offer(C, key[DSM_SLOT_WAYS], 40);
	assert_int_equal(take(C, key[2], 30), DSM_FAST_ASK);
	assert_int_equal(take(C, key[DSM_SLOT_WAYS], 40), DSM_FAST_DONE);
	/* All in use: one goes, also if it is held. */
	for (i = 0; i < DSM_SLOT_WAYS; i++)
		take(C, key[i], 31);
	offer(C, key[2], 41);
	for (i = 0; i <= DSM_SLOT_WAYS; i++)
		left += take(C, key[i], 50) != DSM_FAST_ASK;
	assert_int_equal(left, DSM_SLOT_WAYS);
	assert_int_equal(world_unlock(C, key[0], 30), 0);
}

static void dead_process_gives_up_what_it_held_in_slots(void **state)
{
	u64 other = world_key(DSM_MSG_LOCK_REQ, B, 0);

	offer(C, K, 30);
	offer(C, other, 30);
	assert_int_equal(take(C, K, 30), DSM_FAST_DONE);
	assert_int_equal(take(C, other, 40), DSM_FAST_DONE);
	assert_false(owner_gone(C, 1, 5));
	assert_false(owner_gone(C, 2, 0));
	assert_true(owner_gone(C, 1, 3));
	assert_false(owner_gone(C, 1, 3));
	assert_int_equal(take(C, K, 40), DSM_FAST_ASK);	/* who takes it has to be told */
	assert_int_equal(world_lock(B, K, 20), -EOWNERDEAD);
	assert_int_equal(world_unlock(B, K, 20), 0);
	assert_int_equal(take(B, K, 20), DSM_FAST_ASK);
	assert_int_equal(world_lock(A, K, 10), -EOWNERDEAD);
	assert_int_equal(consistent(A, 10), 0);
	assert_int_equal(world_unlock(A, K, 10), 0);
	assert_int_equal(take(A, K, 10), DSM_FAST_DONE);
	assert_true(give(A, K, 10));
	/* The other process has it still; then its file is closed. */
	assert_true(owner_gone(C, 1, 0));
	assert_int_equal(world_try(C, other, 30), -EOWNERDEAD);
}

static void numbers_of_owners(void **state)
{
	struct dsm_slots *s = slots[A];
	u32 i;
	int n;

	assert_int_equal(dsm_slots_register(s, 1, 5), 1);
	assert_int_equal(dsm_slots_register(s, 2, 5), 2);
	assert_int_equal(dsm_slots_register(s, 1, 6), 3);
	assert_int_equal(dsm_slots_register(s, 1, 5), 1);
	assert_false(owner_gone(A, 1, 5));
	assert_int_equal(dsm_slots_register(s, 1, 5), 4);	/* not at once again */
	for (i = 4; i < DSM_SLOT_OWNERS; i++)
		assert_true(dsm_slots_register(s, 1, 100 + i) > 0);
	assert_int_equal(dsm_slots_register(s, 1, 9), -ENOSPC);
	assert_false(owner_gone(A, 3, 0));
	assert_int_equal(dsm_slots_register(s, 1, 9), -ENOSPC);
	assert_false(owner_gone(A, 2, 0));
	n = dsm_slots_register(s, 1, 9);
	assert_int_equal(n, 2);
	assert_false(owner_gone(A, 1, 0));
	assert_int_equal(s->end_owner, 1);
}

/* Whatever a process writes, the engine goes on; the next holder may be told that the last one ended. */
static void garbage_in_the_table(void **state)
{
	struct unit_random r = unit_random_init(1);
	u32 i, told = 0;
	int err;

	for (i = 0; i < 4000; i++) {
		u16 node = unit_random_below(&r, 3);
		u64 key = K + unit_random_below(&r, 3);
		uint64_t word;
		struct dsm_lock_slot *slot = dsm_fast_find(table(node), key, &word);

		self(node, 10 * node + 10);
		if (slot && unit_random_below(&r, 2)) {
			slot->word = unit_random_next(&r);
			if (unit_random_below(&r, 2))
				slot->word = (slot->word & ~DSM_LOCK_GEN_MASK) | (word & DSM_LOCK_GEN_MASK);
			if (unit_random_below(&r, 2))
				slot->word = (slot->word & ~DSM_LOCK_OWNER_MASK) | 1ull << DSM_LOCK_OWNER_SHIFT;
			slot->key = unit_random_next(&r);
			slot->uses = unit_random_next(&r);
		}
		err = world_try(node, key, 10 * node + 15);
		unit_require(!err || err == -EOWNERDEAD || err == -EBUSY || err == -EDEADLK, "try gives %d", err);
		told += err == -EOWNERDEAD;
		if (err == -EOWNERDEAD && unit_random_below(&r, 2)) {
			struct dsm_lock_owner o = { .file = 1, .tgid = node + 1 };

			dsm_lock_consistent(world_engine(node), &w.node[node].space, key, &o);
		}
		if (err == -EBUSY)
			/* Somewhere a word named a process: it ends. */
			for (node = A; node <= C; node++)
				while (owner_gone(node, 1, node + 1))
					;
		else
			world_unlock(node, key, 10 * node + 15);
		world_run();
	}
	assert_true(told > 100);
}

static void cap_passes_over_locks_in_use(void **state)
{
	u64 key[4];
	u32 i;

	for (i = 0; i < 4; i++)
		key[i] = world_key(DSM_MSG_LOCK_REQ, A, i);
	world_engine(C)->lock_cap = 3;
	for (i = 0; i < 3; i++)
		offer(C, key[i], 30);
	assert_int_equal(take(C, key[0], 30), DSM_FAST_DONE);
	assert_true(give(C, key[0], 30));
	offer(C, key[3], 30);
	world_run();
	assert_int_equal(world_engine(C)->n_cached, 3);
	assert_int_equal(take(C, key[0], 30), DSM_FAST_DONE);
	assert_int_equal(take(C, key[1], 30), DSM_FAST_ASK);
	/* One that is held leaves the list without going home. */
	world_engine(C)->lock_cap = 0;
	assert_int_equal(world_lock(C, key[3], 30), 0);
	assert_int_equal(world_unlock(C, key[3], 30), 0);
	world_run();
	assert_int_equal(world_unlock(C, key[0], 30), 0);
	world_run();
}

/* ---- threads ---- */

#define ROUNDS 20000

static u32 in_section, finished;

static void *hammer(void *arg)
{
	u64 me = *(u64 *)arg;
	u32 i;

	for (i = 0; i < ROUNDS;) {
		if (dsm_fast_take(table(C), K, me) != DSM_FAST_DONE)
			continue;
		i++;
		if (__atomic_add_fetch(&in_section, 1, __ATOMIC_RELAXED) != 1)
			abort();
		if (!(i % 16))
			sched_yield();	/* so that the engine finds it held */
		__atomic_sub_fetch(&in_section, 1, __ATOMIC_RELAXED);
		if (!dsm_fast_give(table(C), K, me)) {
			/* The engine has seen it and waits for a call, which the main thread makes. */
			__atomic_store_n((u64 *)arg, 0, __ATOMIC_RELEASE);
			while (!__atomic_load_n((u64 *)arg, __ATOMIC_ACQUIRE))
				;
		}
	}
	__atomic_add_fetch(&finished, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void recall_races_with_threads(void **state)
{
	u64 word[2] = { self(C, 30), self(C, 40) }, mine[2] = { word[0], word[1] };
	pthread_t thread[2];
	u32 i, held = 0;

	in_section = 0;
	finished = 0;
	offer(C, K, 50);
	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, hammer, &mine[i]);
	while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < 2) {
		int err = world_try(C, K, 50);

		if (!err) {
			if (__atomic_add_fetch(&in_section, 1, __ATOMIC_RELAXED) != 1)
				abort();
			__atomic_sub_fetch(&in_section, 1, __ATOMIC_RELAXED);
			assert_int_equal(world_unlock(C, K, 50), 0);
			continue;
		}
		assert_int_equal(err, -EBUSY);
		held++;
		/* Its holder calls as soon as it notices. */
		while (__atomic_load_n(&mine[0], __ATOMIC_ACQUIRE) && __atomic_load_n(&mine[1], __ATOMIC_ACQUIRE))
			;
		i = mine[0] ? 1 : 0;
		assert_int_equal(world_unlock(C, K, i ? 40 : 30), 0);
		__atomic_store_n(&mine[i], word[i], __ATOMIC_RELEASE);
	}
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_true(held > 0);
}

#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, start_with_tables, stop_with_tables)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(lock_given_back_is_taken_without_the_engine),
		T(engine_finds_the_holder_in_the_slot),
		T(only_locks_taken_by_a_call_count),
		T(token_leaves_its_slot_for_another_node),
		T(manager_keeps_its_own_free_locks_in_slots),
		T(try_from_elsewhere_sees_the_holder_in_the_slot),
		T(word_read_before_the_slot_was_used_again_takes_nothing),
		T(full_set_gives_up_what_is_not_used),
		T(dead_process_gives_up_what_it_held_in_slots),
		T(numbers_of_owners),
		T(garbage_in_the_table),
		T(cap_passes_over_locks_in_use),
		T(recall_races_with_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
