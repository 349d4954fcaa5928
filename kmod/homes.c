// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The pages that a node homes, as a whole: which they are, and that they are claimed, or claimed anew.
 * Never decides where one goes.
 */
#include <linux/bitops.h>
#include <linux/slab.h>
#include "control.h"
#include "core/move.h"
#include "core/moves.h"
#include "core/page.h"
#include "shell.h"

#define RUNS 64u
#define HOMES_PAGES (DSM_HOMES_WORDS * 64)

/**
 * dsm_homes_forget() - a member wants to give pages away that it homes
 * @n:    node
 * @home: member
 * @msg:  FORGET
 *
 * On return nothing is on its way that is written to one of them without its processor, nor will be until it has
 * answered anew. Also what is dirty here is flushed.
 *
 * Context: process; waits for the homes of what this node has written, but not for ever.
 * Return: 0, also if the region is not used here; -EBUSY a home lives and does not acknowledge.
 */
int dsm_homes_forget(struct dsm_node *n, u16 home, struct dsm_wire_control *msg)
{
	struct dsm_region *r = dsm_node_region_get(n, le32_to_cpu(msg->region.id), false);
	struct dsm_page *p;
	unsigned long idx;

	if (IS_ERR(r))
		return 0;
	xa_for_each(&r->table, idx, p) {
		spin_lock(&n->lock);
		dsm_moves_forget(p, home);
		spin_unlock(&n->lock);
		cond_resched();
	}
	dsm_node_region_put(r);
	return dsm_regions_settle_within(n, DSM_LAST_DIFFS) ? -EBUSY : 0;
}

static int all_forget(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	/* Not only who is known to have joined: it may use the region already. */
	u64 others = READ_ONCE(n->engine->alive) & ~BIT_ULL(n->engine->self);
	struct dsm_wire_control *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret = 0;

	if (!msg)
		return -ENOMEM;
	for (; others && !ret; others &= others - 1) {
		*msg = (struct dsm_wire_control){ .op = DSM_CONTROL_FORGET, .region.id = cpu_to_le32(r->id) };
		ret = dsm_control_call(n, __ffs64(others), msg);
		/* A lost node writes no more. */
		if (ret == -EHOSTDOWN)
			ret = 0;
	}
	kfree(msg);
	return ret;
}

static void mark_unclaimed(struct dsm_region *r)
{
	struct dsm_run run[RUNS];
	struct dsm_page *p;
	unsigned long idx;
	u32 n = 0;
	bool mine;

	xa_for_each(&r->table, idx, p) {
		spin_lock(&r->node->lock);
		mine = dsm_move_unclaim(r->node->engine, p);
		spin_unlock(&r->node->lock);
		cond_resched();
		if (!mine)
			continue;
		if (n && run[n - 1].first + run[n - 1].count == p->idx) {
			run[n - 1].count++;
			continue;
		}
		if (n == RUNS) {
			dsm_mm_zap(r->mm, run, n, dsm_shell_frame_of, r);
			n = 0;
		}
		run[n++] = (struct dsm_run){ .first = p->idx, .count = 1 };
	}
	if (n)
		dsm_mm_zap(r->mm, run, n, dsm_shell_frame_of, r);
}

static void count_unclaiming(struct dsm_region *r, int more)
{
	spin_lock(&r->node->lock);
	r->space->moves.unclaiming += more;
	spin_unlock(&r->node->lock);
}

/**
 * dsm_node_unclaim() - the pages homed here go to the next nodes that touch them
 * @r: region
 *
 * Threads of this node claim a page by touching it too, so what is mapped of them is unmapped.
 *
 * Context: process; waits killably for all nodes, if they write or read pages remotely.
 * Return: 0; -EOPNOTSUPP homes of this region do not move, or were named; -EBUSY, -EDQUOT another node is not done
 * with what it writes, or has too much to do; -EINTR; -ENOMEM.
 */
int dsm_node_unclaim(struct dsm_region *r)
{
	bool settles = dsm_policy_settles(&r->space->policy);
	int ret = 0;

	if (!dsm_policy_unclaims(&r->space->policy) || READ_ONCE(r->named))
		return -EOPNOTSUPP;
	if (settles) {
		count_unclaiming(r, 1);
		ret = all_forget(r);
	}
	if (!ret)
		mark_unclaimed(r);
	if (settles)
		count_unclaiming(r, -1);
	return ret;
}

static_assert(sizeof_field(struct dsm_ioc_homes, pages) == DSM_HOMES_WORDS * sizeof(u64));

static void set_bit_of(__le64 *map, u32 bit)
{
	map[bit / 64] |= cpu_to_le64(BIT_ULL(bit % 64));
}

static bool has_bit(const __le64 *map, u32 bit)
{
	return le64_to_cpu(map[bit / 64]) & BIT_ULL(bit % 64);
}

/*
 * From *@next on, up to 4096 pages for the answer or question: @wanted says which, of @node. *@next is behind them.
 * False: there are none.
 */
static bool collect(struct dsm_region *r, bool (*wanted)(const struct dsm_page *p, u16 node), u16 node, u64 *next,
		    struct dsm_wire_control *msg)
{
	u64 first = *next;
	struct dsm_page *p;
	bool found = false;
	unsigned long idx;

	memset(msg->homes, 0, sizeof(msg->homes));
	xa_for_each_start(&r->table, idx, p, *next) {
		cond_resched();
		if (!wanted(p, node))
			continue;
		if (!found)
			first = idx;
		if (idx - first >= HOMES_PAGES)
			break;
		set_bit_of(msg->homes, idx - first);
		found = true;
	}
	msg->first = cpu_to_le64(first);
	*next = first + HOMES_PAGES;
	return found;
}

/* As a thread that reads it would. Right now held, DSM_PAGE_NONE to wait, or a negative errno. */
static int touch(struct dsm_region *r, u32 idx)
{
	struct dsm_node *n = r->node;
	struct dsm_page *p = dsm_shell_page(r, idx, true);
	struct dsm_actions acts;
	int ret;

	if (IS_ERR(p))
		return PTR_ERR(p);
	dsm_step_begin(n, &acts);
	ret = dsm_page_fault(n->engine, p, false, &acts);
	dsm_step_end(n, &acts);
	return ret;
}

/* Ends with the answer, or with the node that should give it. */
static int touch_and_wait(struct dsm_region *r, u32 idx)
{
	int ret;

	while ((ret = touch(r, idx)) == DSM_PAGE_NONE)
		dsm_shell_mm_ops.wait(r, idx, false, true);
	return ret < 0 ? ret : 0;
}

/* The requests of a word's pages are under way together. */
static int touch_word(struct dsm_region *r, u64 first, __le64 *word)
{
	struct dsm_node *n = r->node;
	u64 wanted = le64_to_cpu(*word), left, mine = 0;
	int ret;

	for (left = wanted; left; left &= left - 1) {
		ret = touch(r, first + __ffs64(left));
		if (ret < 0)
			return ret;
	}
	for (left = wanted; left; left &= left - 1) {
		ret = touch_and_wait(r, first + __ffs64(left));
		if (ret)
			return ret;
		if (dsm_shell_is_homed(xa_load(&r->table, first + __ffs64(left)), n->engine->self))
			mine |= left & -left;
	}
	*word = cpu_to_le64(mine);
	return 0;
}

static int touch_all(struct dsm_region *r, struct dsm_wire_control *msg)
{
	u64 first = le64_to_cpu(msg->first);
	int ret = 0;
	u32 i;

	for (i = HOMES_PAGES; i && !has_bit(msg->homes, i - 1); i--)
		;
	if (first >= r->pages || i > r->pages - first)
		return -EINVAL;
	/* The page is made for an open region: whoever asks has it open. */
	if (!READ_ONCE(r->space->n_members) || !atomic_inc_unless_negative(&r->opens))
		return -ENXIO;
	if (msg->op == DSM_CONTROL_CLAIM)
		WRITE_ONCE(r->named, true);
	for (i = 0; i < DSM_HOMES_WORDS && !ret; i++) {
		ret = touch_word(r, first + i * 64, &msg->homes[i]);
		cond_resched();
	}
	dsm_node_region_close(r);
	return ret;
}

/**
 * dsm_homes_serve() - a member asks after the pages homed here, or wants some touched
 * @n:   node
 * @msg: HOMES, TOUCH or CLAIM; becomes the answer
 *
 * Context: process; but for HOMES waits as a fault does.
 * Return: 0; -ENOENT no such region, no further page; -EINVAL pages outside; -EHOSTDOWN; -ENXIO not in use;
 * -ENOMEM.
 */
int dsm_homes_serve(struct dsm_node *n, struct dsm_wire_control *msg)
{
	struct dsm_region *r = dsm_node_region_get(n, le32_to_cpu(msg->region.id), false);
	u64 first = le64_to_cpu(msg->first);
	int ret;

	if (IS_ERR(r))
		return -ENOENT;
	if (msg->op != DSM_CONTROL_HOMES)
		ret = touch_all(r, msg);
	else
		ret = collect(r, dsm_shell_is_homed, n->engine->self, &first, msg) ? 0 : -ENOENT;
	dsm_node_region_put(r);
	return ret;
}

/**
 * dsm_node_homes() - ask a member after the pages that it homes, or have it claim some
 * @r: region
 * @a: question; becomes the answer
 *
 * Context: process; waits killably.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_node_homes(struct dsm_region *r, struct dsm_ioc_homes *a)
{
	struct dsm_node *n = r->node;
	struct dsm_wire_control *msg;
	int ret;
	u32 i;

	if (a->flags & DSM_HOMES_CLAIM && !dsm_policy_claims(&r->space->policy))
		return -EOPNOTSUPP;
	if (!(READ_ONCE(n->joined) & BIT_ULL(a->node)))
		return -EHOSTDOWN;
	msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	if (!msg)
		return -ENOMEM;
	msg->op = a->flags & DSM_HOMES_CLAIM ? DSM_CONTROL_CLAIM : DSM_CONTROL_HOMES;
	msg->region.id = cpu_to_le32(r->id);
	msg->first = cpu_to_le64(a->first);
	if (msg->op == DSM_CONTROL_CLAIM)
		for (i = 0; i < DSM_HOMES_WORDS; i++)
			msg->homes[i] = cpu_to_le64(a->pages[i]);
	ret = dsm_control_call(n, a->node, msg);
	a->first = le64_to_cpu(msg->first);
	for (i = 0; i < DSM_HOMES_WORDS; i++)
		a->pages[i] = le64_to_cpu(msg->homes[i]);
	kfree(msg);
	return ret;
}

static bool is_only_here(const struct dsm_page *p, u16 home)
{
	return READ_ONCE(p->home) == home && dsm_shell_only_copy(p);
}

/**
 * dsm_homes_give_back() - the pages that only this node has get to their homes
 * @r: region that no thread of this node uses any more
 *
 * Their homes read them, so each gets a copy. What fails stays here.
 *
 * Context: process; waits killably for the homes.
 */
void dsm_homes_give_back(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	u64 others = READ_ONCE(n->joined) & ~BIT_ULL(n->engine->self);
	struct dsm_wire_control *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret = 0;
	u64 next;

	if (!msg)
		return;
	for (; others && !ret; others &= others - 1) {
		for (next = 0; !ret && collect(r, is_only_here, __ffs64(others), &next, msg); ) {
			msg->op = DSM_CONTROL_TOUCH;
			msg->region.id = cpu_to_le32(r->id);
			ret = dsm_control_call(n, __ffs64(others), msg);
		}
	}
	kfree(msg);
}
