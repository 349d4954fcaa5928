/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Slots: locks that the processes of this node take and give back without a system call, in
 * memory that they share with the module (layout: uapi/dsm.h). Only tokens that are here and
 * free are put into a slot; taking one out again never waits for a process.
 *
 * What is read from the shared memory is somebody's claim: it chooses the lock's next holder and
 * nothing else.
 */
#ifndef DSM_CORE_SLOT_H
#define DSM_CORE_SLOT_H

#include "engine.h"

/* As in uapi/dsm.h; the shell compares them. The explorer has one slot, to reuse it often. */
#ifndef DSM_SLOT_SETS_LOG2
#define DSM_SLOT_SETS_LOG2 9
#define DSM_SLOT_WAYS 4u
#define DSM_SLOT_OWNERS 1024u
#endif
#define DSM_SLOTS (DSM_SLOT_WAYS << DSM_SLOT_SETS_LOG2)

/**
 * struct dsm_slot - one slot, in shared memory
 * @key:  lock; written before the word that says FREE
 * @word: state, thread, owner and generation: DSM_SLOT_*
 * @uses: how often it was taken; counted by the holders
 * @reserved: 0
 */
struct dsm_slot {
	u64 key;
	u64 word;
	u64 uses;
	u64 reserved;
};

/*
 * The word: bits 0 and 1 state, 2 to 23 thread id, 24 to 33 owner, 34 to 63 generation, which
 * grows whenever the module writes the word. FREE has no thread and no owner.
 */
enum dsm_slot_state { DSM_SLOT_EMPTY, DSM_SLOT_FREE, DSM_SLOT_HELD };
#define DSM_SLOT_STATE_MASK 3ull
#define DSM_SLOT_TID_SHIFT 2
#define DSM_SLOT_TID_MASK 0x3fffffull
#define DSM_SLOT_OWNER_SHIFT 24
#define DSM_SLOT_OWNER_MASK 0x3ffull
#define DSM_SLOT_GEN_SHIFT 34
#define DSM_SLOT_GEN_MASK (~0ull << DSM_SLOT_GEN_SHIFT)

/* One process through one open file; @tgid 0: unused. */
struct dsm_slot_owner {
	u64 file;
	s32 tgid;
};

/**
 * struct dsm_slots - the slots of one region on this node
 * @shared: DSM_SLOTS slots that processes write
 * @hand:   where a full set loses its next lock
 * @last_owner: index given out last
 * @end_owner: one past the highest index in use
 * @lock:   which lock is in the slot, or NULL
 * @gen:    generation of the slot's word
 * @seen:   @uses when somebody last asked whether the slot is in use
 * @owner:  by the owner's number in the word; 0 is nobody
 *
 * All but @shared is guarded by the engine lock.
 */
struct dsm_slots {
	struct dsm_slot *shared;
	u32 hand;
	u32 last_owner;
	u32 end_owner;
	struct dsm_lock *lock[DSM_SLOTS];
	u32 gen[DSM_SLOTS];
	u32 seen[DSM_SLOTS];
	struct dsm_slot_owner owner[DSM_SLOT_OWNERS];
};

void dsm_slots_init(struct dsm_slots *s, struct dsm_slot *shared);
int dsm_slots_register(struct dsm_slots *s, u64 file, s32 tgid);
u64 dsm_slots_uses(const struct dsm_slots *s);

/* For lock.c. */
u32 dsm_slot_choose(struct dsm_slots *s, u64 key);
void dsm_slot_fill(struct dsm_slots *s, u32 i, u64 key, struct dsm_lock *l);
enum dsm_slot_state dsm_slot_clear(struct dsm_slots *s, u32 i, struct dsm_lock_owner *owner,
				   u32 *uses);
bool dsm_slot_used(struct dsm_slots *s, u32 i);
void dsm_slots_owner_gone(struct dsm_engine *e, struct dsm_slots *s, u64 file, s32 tgid);

#endif
