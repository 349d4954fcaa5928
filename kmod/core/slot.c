// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Slots of locks in memory shared with processes: filling, clearing, and who the owners are.
 * Knows no state of a lock and no queue; never loops over what a process can change.
 */
#include "slot.h"
#include "lock.h"

static u32 first_of_set(u64 key)
{
	if (!DSM_SLOT_SETS_LOG2)
		return 0;
	return (u32)(key * 0x9e3779b97f4a7c15ull >> (64 - DSM_SLOT_SETS_LOG2) % 64) *
	       DSM_SLOT_WAYS;
}

static u64 next_gen(struct dsm_slots *s, u32 i)
{
	s->gen[i]++;
	return (u64)s->gen[i] << DSM_SLOT_GEN_SHIFT;
}

static u32 uses_of(const struct dsm_slots *s, u32 i)
{
	return (u32)READ_ONCE(s->shared[i].uses);
}

/**
 * dsm_slots_init() - slots of a region, all empty
 * @s:      memory of it, zeroed
 * @shared: DSM_SLOTS slots, zeroed
 *
 * Context: any; nobody else uses @s yet.
 */
void dsm_slots_init(struct dsm_slots *s, struct dsm_slot *shared)
{
	s->shared = shared;
	s->end_owner = 1;
}

/**
 * dsm_slots_register() - number of an owner
 * @s:    slots
 * @file: open file
 * @tgid: process, > 0
 *
 * Numbers are given out in turn, so that one is not soon used again.
 *
 * Context: engine lock held.
 * Return: 1 to DSM_SLOT_OWNERS - 1, the same for the same owner; -ENOSPC all are in use.
 */
int dsm_slots_register(struct dsm_slots *s, u64 file, s32 tgid)
{
	u32 i, n;

	for (i = 1; i < s->end_owner; i++)
		if (s->owner[i].tgid == tgid && s->owner[i].file == file)
			return i;
	for (n = 1; n < DSM_SLOT_OWNERS; n++) {
		i = (s->last_owner + n) % DSM_SLOT_OWNERS;
		if (!i || s->owner[i].tgid)
			continue;
		s->owner[i] = (struct dsm_slot_owner){ .file = file, .tgid = tgid };
		s->last_owner = i;
		s->end_owner = max(s->end_owner, i + 1);
		return i;
	}
	return -ENOSPC;
}

static bool is_owner(const struct dsm_slot_owner *o, u64 file, s32 tgid)
{
	return o->tgid && o->file == file && (!tgid || o->tgid == tgid);
}

static u32 owner_of(u64 word)
{
	return word >> DSM_SLOT_OWNER_SHIFT & DSM_SLOT_OWNER_MASK;
}

static bool held_by(const struct dsm_slots *s, u32 i, u64 file, s32 tgid)
{
	u64 word = READ_ONCE(s->shared[i].word);

	return (word & DSM_SLOT_STATE_MASK) == DSM_SLOT_HELD &&
	       owner_of(word) < DSM_SLOT_OWNERS &&
	       is_owner(&s->owner[owner_of(word)], file, tgid);
}

/**
 * dsm_slots_owner_gone() - a process or a file is gone
 * @e:    engine
 * @s:    slots of a region
 * @file: open file
 * @tgid: process, 0 = all of that file
 *
 * What it holds in slots becomes known to the engine; its numbers mean nobody from now on.
 *
 * Context: engine lock held.
 */
void dsm_slots_owner_gone(struct dsm_engine *e, struct dsm_slots *s, u64 file, s32 tgid)
{
	bool found = false;
	u32 i;

	for (i = 1; i < s->end_owner; i++)
		found |= is_owner(&s->owner[i], file, tgid);
	if (!found)
		return;
	for (i = 0; i < DSM_SLOTS; i++)
		if (s->lock[i] && held_by(s, i, file, tgid))
			dsm_lock_recall(e, s->lock[i]);
	for (i = 1; i < s->end_owner; i++)
		if (is_owner(&s->owner[i], file, tgid))
			s->owner[i].tgid = 0;
	while (s->end_owner > 1 && !s->owner[s->end_owner - 1].tgid)
		s->end_owner--;
}

/**
 * dsm_slot_used() - was a slot's lock taken since the last question?
 * @s: slots
 * @i: slot
 *
 * Context: engine lock held.
 * Return: true if it was.
 */
bool dsm_slot_used(struct dsm_slots *s, u32 i)
{
	u32 uses = uses_of(s, i);
	bool used = uses != s->seen[i];

	s->seen[i] = uses;
	return used;
}

/**
 * dsm_slot_choose() - where a key goes
 * @s:   slots
 * @key: lock
 *
 * An empty slot of its set; else one that nobody used since the last search, else the next in
 * turn. What is in it has to be taken out first.
 *
 * Context: engine lock held.
 * Return: slot.
 */
u32 dsm_slot_choose(struct dsm_slots *s, u64 key)
{
	u32 first = first_of_set(key), n, i;

	for (i = first; i < first + DSM_SLOT_WAYS; i++)
		if (!s->lock[i])
			return i;
	for (n = 0; n < DSM_SLOT_WAYS; n++) {
		i = first + s->hand++ % DSM_SLOT_WAYS;
		if (!dsm_slot_used(s, i))
			return i;
	}
	return first + s->hand++ % DSM_SLOT_WAYS;
}

/**
 * dsm_slot_fill() - offer a free lock to the processes
 * @s:   slots
 * @i:   empty slot of the key's set
 * @key: lock
 * @l:   its object
 *
 * Context: engine lock held.
 */
void dsm_slot_fill(struct dsm_slots *s, u32 i, u64 key, struct dsm_lock *l)
{
	struct dsm_slot *slot = &s->shared[i];

	s->lock[i] = l;
	s->seen[i] = 0;
	WRITE_ONCE(slot->uses, 0);
	WRITE_ONCE(slot->key, key);
	/* Who sees the word sees the key; it also has to see what the last holder wrote. */
	smp_store_release(&slot->word, next_gen(s, i) | DSM_SLOT_FREE);
}

/**
 * dsm_slot_clear() - take a lock back from the processes
 * @s:     slots
 * @i:     slot with a lock
 * @owner: filled if it is held
 * @uses:  how often it was taken, if nobody lied
 *
 * From here on whoever takes it or gives it back finds another word and asks the module.
 *
 * Context: engine lock held.
 * Return: DSM_SLOT_FREE; DSM_SLOT_HELD; DSM_SLOT_EMPTY the word was destroyed: nobody knows who
 * holds it.
 */
enum dsm_slot_state dsm_slot_clear(struct dsm_slots *s, u32 i, struct dsm_lock_owner *owner,
				   u32 *uses)
{
	u64 gen = (u64)s->gen[i] << DSM_SLOT_GEN_SHIFT;
	u64 word = xchg(&s->shared[i].word, next_gen(s, i) | DSM_SLOT_EMPTY);
	const struct dsm_slot_owner *o = &s->owner[owner_of(word) % DSM_SLOT_OWNERS];

	*uses = uses_of(s, i);
	s->lock[i] = NULL;
	if (word == (gen | DSM_SLOT_FREE))
		return DSM_SLOT_FREE;
	if ((word & (DSM_SLOT_GEN_MASK | DSM_SLOT_STATE_MASK)) != (gen | DSM_SLOT_HELD) ||
	    owner_of(word) >= DSM_SLOT_OWNERS || !o->tgid)
		return DSM_SLOT_EMPTY;
	*owner = (struct dsm_lock_owner){
		.file = o->file,
		.tgid = o->tgid,
		.tid = word >> DSM_SLOT_TID_SHIFT & DSM_SLOT_TID_MASK,
	};
	return DSM_SLOT_HELD;
}

/**
 * dsm_slots_uses() - how often the locks now in slots were taken there
 * @s: slots
 *
 * Context: engine lock held.
 * Return: sum of what the processes counted.
 */
u64 dsm_slots_uses(const struct dsm_slots *s)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < DSM_SLOTS; i++)
		if (s->lock[i])
			sum += uses_of(s, i);
	return sum;
}
