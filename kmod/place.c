// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Where regions are mapped: address ranges that no other region uses, the same on every node; what they may be called, and how
 * many a user may have.
 * Reserves nothing: the coordinator decides one request at a time.
 */
#include "control.h"
#include "shell.h"

/*
 * Regions are placed where neither heap, libraries, stacks
 * nor the shadow memory of sanitizers are.
 */
#define PLACE_FIRST 0x200000000000ull
#define PLACE_END 0x500000000000ull
#define PLACE_ALIGN 0x200000ull

/**
 * dsm_place_find() - an address range that no region uses
 * @n:     node
 * @pages: length
 *
 * Context: process.
 * Return: address, 0 if there is no room.
 */
u64 dsm_place_find(struct dsm_node *n, u64 pages)
{
	u64 bytes = ALIGN(pages << PAGE_SHIFT, PLACE_ALIGN), at = PLACE_FIRST;
	struct dsm_region *r;
	unsigned long id;
	bool moved = true;

	mutex_lock(&n->regions_lock);
	while (moved) {
		cond_resched();
		moved = false;
		xa_for_each(&n->regions, id, r) {
			u64 end = r->addr + ALIGN(r->pages << PAGE_SHIFT, PLACE_ALIGN);

			if (at < end && at + bytes > r->addr) {
				at = end;
				moved = true;
			}
		}
	}
	mutex_unlock(&n->regions_lock);
	return at + bytes <= PLACE_END ? at : 0;
}

/**
 * dsm_place_is_sound() - can a region be there, and be called so?
 * @name:  zero-terminated; "" is /dev/dsm, which no request makes
 * @addr:  its beginning, 0: none was left
 * @pages: length, at most DSM_REGION_MAX_PAGES
 *
 * A peer says it: the name becomes that of a device node here, and a directory's.
 *
 * Context: any.
 * Return: false if no node would have asked for that.
 */
bool dsm_place_is_sound(const char *name, u64 addr, u64 pages)
{
	size_t i;

	for (i = 0; name[i]; i++)
		if (!dsm_name_may_have(name[i]))
			return false;
	return name[0] != '.' && IS_ALIGNED(addr, PAGE_SIZE) && addr <= TASK_SIZE_MAX - (pages << PAGE_SHIFT);
}

/**
 * dsm_place_is_free() - does an address range overlap no region's?
 * @n:     node
 * @addr:  its beginning
 * @pages: length
 *
 * Context: process.
 * Return: true if a region can be there.
 */
bool dsm_place_is_free(struct dsm_node *n, u64 addr, u64 pages)
{
	struct dsm_region *r;
	unsigned long id;
	bool free = true;

	mutex_lock(&n->regions_lock);
	xa_for_each(&n->regions, id, r)
		if (addr < r->addr + (r->pages << PAGE_SHIFT) &&
		    addr + (pages << PAGE_SHIFT) > r->addr)
			free = false;
	mutex_unlock(&n->regions_lock);
	return free;
}

/**
 * dsm_place_has_too_many() - has a user as many regions as one may have?
 * @n:     node that decides
 * @owner: user
 *
 * Each takes memory on every node, which is charged to nobody.
 *
 * Context: process.
 * Return: false for root.
 */
bool dsm_place_has_too_many(struct dsm_node *n, kuid_t owner)
{
	struct dsm_region *r;
	unsigned long id;
	unsigned int count = 0;

	if (uid_eq(owner, GLOBAL_ROOT_UID))
		return false;
	mutex_lock(&n->regions_lock);
	xa_for_each(&n->regions, id, r)
		count += uid_eq(r->owner, owner);
	mutex_unlock(&n->regions_lock);
	return count >= READ_ONCE(dsm_param_regions_per_user);
}
