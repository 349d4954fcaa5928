// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Regions on this node: the table, making and removing, opening and closing.
 * What the cluster decides about regions comes from member.c; nothing is decided here.
 */
#include <linux/slab.h>
#include "core/csm.h"
#include "core/fetch.h"
#include "core/page.h"
#include "core/pipe.h"
#include "core/sc.h"
#include "control.h"
#include "shell.h"

static void region_release(struct kref *ref)
{
	struct dsm_region *r = container_of(ref, struct dsm_region, ref);

	if (r->space) {
		dsm_slots_free(r);
		dsm_dir_free(r);
	}
	kvfree(r->ahead);
	kfree(r->space);
	kfree(r);
}

/**
 * dsm_node_region_put() - drop a reference
 * @r: region
 *
 * Context: any.
 */
void dsm_node_region_put(struct dsm_region *r)
{
	struct dsm_node *n = r->node;

	/* dsm_region_remove() waits for all references but its own. */
	if (!kref_put(&r->ref, region_release))
		wake_up_all(&n->changed);
}

/**
 * dsm_node_region_get() - region by id
 * @n:    node
 * @id:   id
 * @next: the first one with a higher id instead
 *
 * Context: any.
 * Return: region with a reference, or ERR_PTR(-ENOENT).
 */
struct dsm_region *dsm_node_region_get(struct dsm_node *n, u32 id, bool next)
{
	struct dsm_region *r;
	unsigned long at = id;

	xa_lock(&n->regions);
	if (next)
		r = xa_find_after(&n->regions, &at, ULONG_MAX, XA_PRESENT);
	else
		r = xa_load(&n->regions, at);
	if (r)
		kref_get(&r->ref);
	xa_unlock(&n->regions);
	return r ? r : ERR_PTR(-ENOENT);
}

typedef bool match_fn(const struct dsm_region *r, const void *what);

static struct dsm_region *region_find(struct dsm_node *n, match_fn *match, const void *what)
{
	struct dsm_region *r, *found = NULL;
	unsigned long id;

	xa_lock(&n->regions);
	xa_for_each(&n->regions, id, r) {
		if (!match(r, what))
			continue;
		kref_get(&r->ref);
		found = r;
		break;
	}
	xa_unlock(&n->regions);
	return found ? found : ERR_PTR(-ENOENT);
}

static bool has_minor(const struct dsm_region *r, const void *what)
{
	return r->minor == *(const int *)what;
}

static bool has_name(const struct dsm_region *r, const void *what)
{
	return !strcmp(r->name, what);
}

/**
 * dsm_node_region_by_minor() - region of a device file
 * @n:     node
 * @minor: minor number
 *
 * Context: any.
 * Return: region with a reference, or ERR_PTR(-ENOENT).
 */
struct dsm_region *dsm_node_region_by_minor(struct dsm_node *n, int minor)
{
	return region_find(n, has_minor, &minor);
}

/**
 * dsm_node_region_by_name() - region by name
 * @n:    node
 * @name: "" is /dev/dsm
 *
 * Context: any.
 * Return: region with a reference, or ERR_PTR(-ENOENT).
 */
struct dsm_region *dsm_node_region_by_name(struct dsm_node *n, const char *name)
{
	return region_find(n, has_name, name);
}

static void space_members(struct dsm_space *s, u64 members)
{
	u16 n = 0;

	for (; members; members &= members - 1)
		s->members[n++] = __ffs64(members);
	/*
	 * Last: whoever sees a count finds the list. Pairs
	 * with nothing: set before any open succeeds.
	 */
	s->n_members = n;
}

/**
 * dsm_region_set_members() - fix which nodes home a region's pages and serve its keys
 * @r:       region
 * @members: bitmap, not 0
 * @users:   bitmap: nodes that have opened it or are about to; added to those known
 *
 * Context: process.
 * Return: 0, -EEXIST they are fixed already, to others.
 */
int dsm_region_set_members(struct dsm_region *r, u64 members, u64 users)
{
	struct dsm_node *n = r->node;
	u64 have = 0;
	u16 i;

	spin_lock(&n->lock);
	if (!r->space->n_members)
		space_members(r->space, members);
	r->space->users |= users;
	for (i = 0; i < r->space->n_members; i++)
		have |= BIT_ULL(r->space->members[i]);
	spin_unlock(&n->lock);
	return have == members ? 0 : -EEXIST;
}

static u64 members_of(const struct dsm_region *r)
{
	u64 members = 0;
	u16 i;

	for (i = 0; i < r->space->n_members; i++)
		members |= BIT_ULL(r->space->members[i]);
	return members;
}

static int fill(struct dsm_region *r, const struct dsm_wire_region *d, bool is_new)
{
	struct dsm_node *n = r->node;

	char why[128];
	int err;

	r->id = le32_to_cpu(d->id);
	r->pages = le64_to_cpu(d->pages);
	r->addr = le64_to_cpu(d->addr);
	r->flags = le32_to_cpu(d->flags);
	r->owner = make_kuid(&init_user_ns, le32_to_cpu(d->uid));
	r->group = make_kgid(&init_user_ns, le32_to_cpu(d->gid));
	r->mode = le32_to_cpu(d->mode) & 0666;
	r->minor = -1;
	if (!r->id || !r->pages || r->pages > DSM_REGION_MAX_PAGES || d->reserved ||
	    r->flags & ~DSM_REGION_HEAP || !uid_valid(r->owner) || !gid_valid(r->group) ||
	    d->name[sizeof(d->name) - 1] || d->policy[sizeof(d->policy) - 1] ||
	    !dsm_place_is_sound((const char *)d->name, r->addr, r->pages))
		return -EPROTO;
	strscpy(r->name, (const char *)d->name, sizeof(r->name));
	err = dsm_policy_parse((const char *)d->policy, &r->space->policy, why, sizeof(why));
	if (!err)
		err = dsm_policy_suits(&r->space->policy, le64_to_cpu(d->members), r->pages, why,
				       sizeof(why));
	if (err)
		return err;
	dsm_policy_format(&r->space->policy, r->policy, sizeof(r->policy));
	r->space->id = r->id;
	r->space->pages = r->pages;
	r->space->shell = r;
	r->space->users = le64_to_cpu(d->users);
	/* Nobody has used it yet, so this node will be told of all that anybody writes. */
	r->space->all_told = is_new || !d->members;
	space_members(r->space, le64_to_cpu(d->members));
	/* Or its number is among them, but it is another node now. */
	r->late = d->members && !dsm_node_joined(n);
	return 0;
}

/**
 * dsm_region_add() - a region appears
 * @n:    node
 * @desc: description from the coordinator
 * @is_new: it is being created, else this node joins
 *
 * Context: process; sleeps.
 * Return: 0; -EEXIST id or name taken; -EPROTO malformed; -ENOMEM; -ENOSPC no minor left; -EOPNOTSUPP
 * sync=rdma or metadata=rdma without atomics, bcast=adaptive without multicast, too many nodes or pages for the settings; -EHOSTDOWN its memory cannot be
 * registered any more; -ENETDOWN likewise, now.
 */
int dsm_region_add(struct dsm_node *n, const struct dsm_wire_region *desc, bool is_new)
{
	struct dsm_region *r, *other;
	int err;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	r->node = n;
	kref_init(&r->ref);
	xa_init(&r->table);
	xa_init(&r->chunks);
	xa_init(&r->keys);
	r->space = kzalloc(sizeof(*r->space), GFP_KERNEL);
	r->ahead = dsm_ahead_new();
	err = r->space && r->ahead ? fill(r, desc, is_new) : -ENOMEM;
	if (!err && dsm_policy_wants_atomics(&r->space->policy))
		err = dsm_rsync_need(n);
	if (!err && r->space->policy.bcast == DSM_BCAST_ADAPTIVE)
		err = dsm_bcast_need(n);
	if (!err && r->space->policy.metadata == DSM_METADATA_RDMA)
		err = dsm_dir_make(r);
	if (err)
		goto err_put;
	r->mm = dsm_mm_create(&dsm_shell_mm_ops, r, r->pages);
	if (IS_ERR(r->mm)) {
		err = PTR_ERR(r->mm);
		goto err_put;
	}
	if (r->space->policy.consistency == DSM_CONSISTENCY_SC)
		dsm_mm_read_exactly(r->mm);
	if (r->space->policy.level == DSM_LEVEL_ONE)
		dsm_mm_keep_own(r->mm);
	/* Found from here on: who removes it waits until it is all there. */
	mutex_lock(&n->making);
	mutex_lock(&n->regions_lock);
	other = dsm_node_region_by_name(n, r->name);
	if (!IS_ERR(other)) {
		dsm_node_region_put(other);
		err = -EEXIST;
		goto err_unlock;
	}
	err = xa_insert(&n->regions, r->id, r, GFP_KERNEL);
	if (err) {
		err = err == -EBUSY ? -EEXIST : err;
		goto err_unlock;
	}
	n->last_region = max(n->last_region, r->id);
	spin_lock(&n->lock);
	dsm_space_add(n->engine, r->space);
	spin_unlock(&n->lock);
	mutex_unlock(&n->regions_lock);
	err = dsm_ctl_region_add(r);
	mutex_unlock(&n->making);
	if (err) {
		dsm_region_remove(r);
		return err;
	}
	return 0;

err_unlock:
	mutex_unlock(&n->regions_lock);
	mutex_unlock(&n->making);
	dsm_mm_destroy(r->mm);
err_put:
	dsm_node_region_put(r);
	return err;
}

static void free_pages_of(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	struct dsm_page *p;
	unsigned long idx;

	xa_for_each(&r->table, idx, p) {
		if (!dsm_page_is_sc(p) && p->flags & DSM_PF_AHEAD) {
			spin_lock(&n->lock);
			dsm_fetch_wasted(n->engine, p);
			spin_unlock(&n->lock);
		}
		if (p->frame)
			dsm_mm_frame_free(p->frame);
		if (dsm_page_is_sc(p)) {
			spin_lock(&n->lock);
			dsm_sc_forget_page(n->engine, p);
			spin_unlock(&n->lock);
		} else if (p->twin) {
			spin_lock(&n->lock);
			dsm_pool_give(n->engine, DSM_POOL_TWIN, p->twin);
			n->engine->twins--;
			spin_unlock(&n->lock);
		}
		xa_erase(&r->table, idx);
		dsm_shell_page_free(p);
		cond_resched();
	}
}

static bool page_wanted(const struct dsm_page *p)
{
	struct dsm_node *n = dsm_page_node(p);
	bool wanted;

	spin_lock(&n->lock);
	wanted = !dsm_page_is_sc(p) && dsm_csm_is_wanted(p);
	spin_unlock(&n->lock);
	return wanted;
}

/* Fetches that waited for a page end, and no flusher holds one any more. */
static void end_pages_of(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	struct dsm_actions acts;
	struct dsm_page *p;
	unsigned long idx;
	bool more = true;

	while (more) {
		dsm_step_begin(n, &acts);
		more = dsm_page_end_fetch(n->engine, r->id, &acts);
		dsm_step_end(n, &acts);
	}
	xa_for_each(&r->table, idx, p)
		wait_event(n->page_queues[dsm_page_bucket(p)], !page_wanted(p));
}

/* A mark of a region that may go; not if somebody has taken that back meanwhile, or it is going already. */
static int mark(struct dsm_region *r, bool *what)
{
	struct dsm_node *n = r->node;
	int opens;

	spin_lock(&n->lock);
	opens = atomic_read(&r->opens);
	*what |= opens == DSM_OPENS_ENDING;
	spin_unlock(&n->lock);
	return opens == DSM_OPENS_ENDING || opens == DSM_OPENS_GOING ? 0 : -EBUSY;
}

/**
 * dsm_region_settle_last() - a region may go: what this node wrote there is at its homes
 * @r: region that is not open here, and cannot be opened
 *
 * From now on nothing is changed in words elsewhere that may stay as it is; and once all is at home, what a device still writes
 * stays here, as the next node that is asked may forget the region.
 *
 * Context: process; waits for releases under way before that and after it, DSM_LAST_DIFFS each at most.
 * Return: 0; -EBUSY the region stays after all, or a home has acknowledged what was not sent to it yet; -ETIMEDOUT, -EINTR
 * releases go on.
 */
int dsm_region_settle_last(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	int err = mark(r, &r->space->dir.ending);

	err = err ?: dsm_regions_settle_within(n, DSM_LAST_DIFFS);
	err = err ?: mark(r, &r->space->still);
	err = err ?: dsm_regions_settle_within(n, DSM_LAST_DIFFS);
	spin_lock(&n->lock);
	if (!err && dsm_pipe_holds(n->engine, r->space->id))
		err = -EBUSY;
	spin_unlock(&n->lock);
	return err;
}

/**
 * dsm_region_stays() - a region that might go does not; one that goes already is as it is
 * @r: region
 *
 * Context: process.
 */
void dsm_region_stays(struct dsm_region *r)
{
	struct dsm_node *n = r->node;

	spin_lock(&n->lock);
	if (atomic_cmpxchg(&r->opens, DSM_OPENS_ENDING, 0) == DSM_OPENS_ENDING)
		r->space->still = r->space->dir.ending = false;
	spin_unlock(&n->lock);
	dsm_region_closed(r);
}

/**
 * dsm_region_remove() - a region goes
 * @r: region, not open on this node and refusing to be opened; the table's reference is consumed
 *
 * Context: process; sleeps.
 */
void dsm_region_remove(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	struct dsm_mm_stats stats;

	mutex_lock(&n->making);
	dsm_ctl_region_del(r);
	mutex_unlock(&n->making);
	/*
	 * What was written and never released is flushed or
	 * failed first: no release may hold its pages, and none may stay dirty.
	 */
	spin_lock(&n->lock);
	r->space->closing = true;
	spin_unlock(&n->lock);
	dsm_regions_settle(n);
	mutex_lock(&n->regions_lock);
	xa_erase(&n->regions, r->id);
	/* Nobody has it open, so these stand still; a reader sees them once, there or here. */
	dsm_mm_stats(r->mm, &stats);
	atomic64_add(stats.faults_read, &n->stats.old_faults_read);
	atomic64_add(stats.faults_write, &n->stats.old_faults_write);
	atomic64_add(stats.sigbus, &n->stats.old_sigbus);
	atomic64_add(stats.wrprotect_runs, &n->stats.old_wrprotect_runs);
	atomic64_add(stats.zap_runs, &n->stats.old_zap_runs);
	atomic64_add(stats.ns_page_lock, &n->stats.ns_wait_page_lock);
	spin_lock(&n->lock);
	dsm_space_del(n->engine, r->space);
	dsm_engine_forget(n->engine, r->id);
	spin_unlock(&n->lock);
	mutex_unlock(&n->regions_lock);
	/*
	 * Message handlers and readers of counters that found
	 * it before are the only others that can hold it.
	 */
	wait_event(n->changed, kref_read(&r->ref) == 1);
	/* And acquires, which have pages of all regions; one waits for the network with merge=live. */
	dsm_acquire_settle(n);
	end_pages_of(r);
	dsm_chunks_free(r);
	dsm_dir_free(r);
	free_pages_of(r);
	dsm_mm_destroy(r->mm);
	dsm_node_region_put(r);
	dsm_pools_trim(n);
}

/**
 * dsm_regions_drop_all() - this node left: remove every region
 * @n: node
 *
 * Context: process; no region is open.
 */
void dsm_regions_drop_all(struct dsm_node *n)
{
	struct dsm_region *r;

	for (;;) {
		r = dsm_node_region_get(n, 0, true);
		if (IS_ERR(r))
			return;
		if (dsm_region_claim(r)) {
			dsm_node_region_put(r);	/* the table's stays */
			dsm_region_remove(r);
		} else {
			dsm_node_region_put(r);
			flush_workqueue(n->control_wq);
		}
	}
}

/**
 * dsm_region_describe() - a region as it travels
 * @r:    region
 * @desc: filled
 *
 * Context: any.
 */
void dsm_region_describe(struct dsm_region *r, struct dsm_wire_region *desc)
{
	memset(desc, 0, sizeof(*desc));
	desc->id = cpu_to_le32(r->id);
	desc->flags = cpu_to_le32(r->flags);
	strscpy((char *)desc->name, r->name, sizeof(desc->name));
	desc->pages = cpu_to_le64(r->pages);
	desc->addr = cpu_to_le64(r->addr);
	desc->uid = cpu_to_le32(from_kuid(&init_user_ns, r->owner));
	desc->gid = cpu_to_le32(from_kgid(&init_user_ns, r->group));
	desc->mode = cpu_to_le32(r->mode);
	desc->members = cpu_to_le64(members_of(r));
	desc->users = cpu_to_le64(READ_ONCE(r->space->users));
	strscpy((char *)desc->policy, r->policy, sizeof(desc->policy));
}

/**
 * dsm_node_region_open() - an open file more
 * @r: region
 *
 * The first open in the cluster fixes the members of a region that has none. Every open is an
 * acquire.
 *
 * Context: process; waits for other nodes.
 * Return: 0; -ENOTCONN; -ENXIO it is being destroyed, or this node leaves; -EHOSTDOWN; -EINTR; -EOPNOTSUPP algo=array, and
 * this node came too late, or there are more nodes than entries; -EBUSY level=1, and another process has it open.
 */
int dsm_node_region_open(struct dsm_region *r)
{
	int err;

	if (r->late && r->space->policy.algo == DSM_ALGO_ARRAY) {
		pr_warn_ratelimited("dsm: region %s has algo=array: only nodes that were there when it was created can open it\n",
				    r->name);
		return -EOPNOTSUPP;
	}
	/* Negative: being destroyed, or this node leaves. */
	if (!atomic_inc_unless_negative(&r->opens))
		return -ENXIO;
	/*
	 * A region that came after dsm_node_leave() had looked at all: what is counted here is seen there, or this is. And a join may fail
	 * yet.
	 */
	err = atomic_read(&r->node->state) != DSM_MEMBER_JOINED ? -ENOTCONN : READ_ONCE(r->doomed) ? -ENXIO : 0;
	if (err) {
		dsm_node_region_close(r);
		return err;
	}
	/*
	 * Knowing the members here does not mean that they know: a message
	 * to one that does not would be taken for a malformed one.
	 */
	err = dsm_process_enter(r);
	if (!err && !READ_ONCE(r->active))
		err = dsm_member_activate(r);
	if (!err) {
		WRITE_ONCE(r->active, true);
		/* Perhaps within mmap(): whoever faults meanwhile waits for it. */
		err = dsm_node_acquire(r, false);
	}
	if (err)
		dsm_node_region_close(r);
	return err;
}

/**
 * dsm_node_region_close() - an open file less
 * @r: region
 *
 * Context: process.
 */
void dsm_node_region_close(struct dsm_region *r)
{
	if (!atomic_dec_and_test(&r->opens))
		return;
	dsm_process_leave(r);
	dsm_region_closed(r);
}

/*
 * The page's bytes are here, or at another node alone, which has them from this home: also if it was never touched here. With
 * metadata=rdma the word of the page says so, and perhaps elsewhere; whatever was asked for here counts then.
 */
static bool lives_here(const struct dsm_page *p, u16 self)
{
	u8 state = READ_ONCE(p->state);

	if (READ_ONCE(p->home) != self)
		return dsm_shell_only_copy(p);
	if (dsm_shell_is_homed(p, self))
		return true;
	if (dsm_page_is_sc(p))
		return READ_ONCE(p->flags) & DSM_SCF_OWNED || READ_ONCE(p->sc.set) & ~BIT_ULL(self);
	return state == DSM_PAGE_HO || state == DSM_PAGE_HB ||
	       (state != DSM_PAGE_FREE && p->space->policy.metadata == DSM_METADATA_RDMA);
}

/**
 * dsm_region_homed_pages() - touched pages homed at this node
 * @r: region
 *
 * Context: process; walks all touched pages.
 * Return: count; a snapshot, pages may be touched meanwhile.
 */
u64 dsm_region_homed_pages(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	struct dsm_page *p;
	unsigned long idx;
	u64 homed = 0;

	xa_for_each(&r->table, idx, p) {
		homed += dsm_shell_is_homed(p, n->engine->self);
		cond_resched();
	}
	return homed;
}

/**
 * dsm_region_living_pages() - touched pages that would be lost with this node
 * @r: region
 *
 * Those homed here, also if another node has the only copy, and with consistency=sc or cashmere those of which this node has
 * the only copy.
 *
 * Context: process; walks all touched pages.
 * Return: count; a snapshot, pages may be touched meanwhile.
 */
u64 dsm_region_living_pages(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	u64 living = 0;
	struct dsm_page *p;
	unsigned long idx;

	xa_for_each(&r->table, idx, p) {
		living += lives_here(p, n->engine->self);
		cond_resched();
	}
	return living;
}

/**
 * dsm_region_awaits() - is anything on its way that no thread waits for any more?
 * @r: region
 *
 * It may be the only copy there is, or make this node a home.
 *
 * Context: process; walks touched pages.
 * Return: true if so; a snapshot: no more is asked for in a region that nobody can open.
 */
bool dsm_region_awaits(struct dsm_region *r)
{
	struct dsm_page *p;
	unsigned long idx;

	xa_for_each(&r->table, idx, p) {
		switch (READ_ONCE(p->state)) {
		case DSM_PAGE_FET:
		case DSM_PAGE_WRF:
		case DSM_PAGE_UPG:
		case DSM_SC_IS:
		case DSM_SC_IM:
		case DSM_SC_SM:
			return true;
		default:
			cond_resched();
		}
	}
	return false;
}

/**
 * dsm_node_region_info() - facts of a region
 * @r:    region
 * @info: filled, except size and flags
 *
 * Context: process.
 */
void dsm_node_region_info(struct dsm_region *r, struct dsm_ioc_region_info *info)
{
	struct dsm_page *p;
	unsigned long idx;

	info->id = r->id;
	info->region_flags = r->flags;
	strscpy(info->name, r->name, sizeof(info->name));
	info->bytes = r->pages << PAGE_SHIFT;
	info->addr = r->addr;
	info->uid = from_kuid_munged(current_user_ns(), r->owner);
	info->gid = from_kgid_munged(current_user_ns(), r->group);
	info->mode = r->mode;
	info->opens = max(atomic_read(&r->opens), 0);
	info->touched_pages = 0;
	xa_for_each(&r->table, idx, p) {
		info->touched_pages++;
		cond_resched();
	}
	info->homed_pages = dsm_region_homed_pages(r);
	info->members = members_of(r);
	strscpy(info->policy, r->policy, sizeof(info->policy));
}
