/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Taking and giving back a lock in the lock table (uapi/dsm.h): no system call. Never waits and
 * never gives a reason: what is not possible here is left to the module.
 */
#ifndef DSM_FAST_H
#define DSM_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../uapi/dsm.h"

/* Of a thread: its bits in a word that says HELD. */
static inline uint64_t dsm_fast_word(uint32_t owner, uint32_t tid)
{
	return (uint64_t)owner << DSM_LOCK_OWNER_SHIFT | (uint64_t)tid << DSM_LOCK_TID_SHIFT |
	       DSM_LOCK_WORD_HELD;
}

/* The slot of a key and its word, or NULL. */
static inline struct dsm_lock_slot *dsm_fast_find(struct dsm_lock_slot *table, uint64_t key,
						  uint64_t *word)
{
	struct dsm_lock_slot *slot = table + DSM_LOCK_SET(key) * DSM_LOCK_WAYS;
	struct dsm_lock_slot *end = slot + DSM_LOCK_WAYS;

	for (; slot < end; slot++) {
		*word = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&slot->key, __ATOMIC_RELAXED) == key &&
		    *word & DSM_LOCK_WORD_STATE)
			return slot;
	}
	return NULL;
}

enum dsm_fast { DSM_FAST_DONE, DSM_FAST_ASK, DSM_FAST_BUSY };

/* DONE: taken. BUSY: another thread of this node has it. ASK: the module knows more. */
static inline enum dsm_fast dsm_fast_take(struct dsm_lock_slot *table, uint64_t key, uint64_t self)
{
	uint64_t word;
	struct dsm_lock_slot *slot = dsm_fast_find(table, key, &word);

	if (!slot)
		return DSM_FAST_ASK;
	if ((word & DSM_LOCK_WORD_STATE) != DSM_LOCK_WORD_FREE)
		return (word & ~DSM_LOCK_GEN_MASK) == self ? DSM_FAST_ASK : DSM_FAST_BUSY;
	if (!__atomic_compare_exchange_n(&slot->word, &word, (word & DSM_LOCK_GEN_MASK) | self,
					 false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return DSM_FAST_ASK;
	__atomic_store_n(&slot->uses, slot->uses + 1, __ATOMIC_RELAXED);
	return DSM_FAST_DONE;
}

/* Any thread of the process may: @self is the word of one of them. */
static inline bool dsm_fast_give(struct dsm_lock_slot *table, uint64_t key, uint64_t self)
{
	const uint64_t who = DSM_LOCK_OWNER_MASK | DSM_LOCK_WORD_STATE;
	uint64_t word;
	struct dsm_lock_slot *slot = dsm_fast_find(table, key, &word);

	if (!slot || (word & who) != (self & who))
		return false;
	return __atomic_compare_exchange_n(&slot->word, &word,
					   (word & DSM_LOCK_GEN_MASK) | DSM_LOCK_WORD_FREE, false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

#endif
