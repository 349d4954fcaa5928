// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Calls that wait: locks, barriers, flags, releases, acquires.
 *
 * Each is: step the engine, wait, step again. A wait for a machine's answer is bounded by the
 * detection of its death; a wait for another thread's action is killable and ends when what it
 * depends on is gone (decisions.md, waits). Knows no page tables and no messages.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "core/barrier.h"
#include "core/flag.h"
#include "core/interval.h"
#include "core/rlock.h"
#include "core/release.h"
#include "ctl/trace.h"
#include "shell.h"

/* ---- releases and acquires ---- */

/* Beyond this many pages the answers come too late, and need the processor to be made. */
#define SPIN_PAGES 16

/* How long answers to the release of a process that was killed are waited for. */
#define EXIT_LOOK_MS 100

/*
 * A process that ends takes no signals any more, so it looks itself whether it was killed, or is to be killed now. Then
 * it goes although its writes may still be under way, so that no peer that never answers can hold it. To one that ends by
 * itself 6.12 delivers no signal at all, not even for later: it goes after a time. So does the work item that ends a file whose
 * last reference a ring of io_uring had.
 */
static bool takes_no_signals(void)
{
	return current->flags & (PF_EXITING | PF_KTHREAD);
}

static int wait_at_exit(struct completion *done)
{
	struct signal_struct *s = current->signal;
	unsigned long end = jiffies + DSM_LAST_DIFFS;

	while (!wait_for_completion_timeout(done, msecs_to_jiffies(EXIT_LOOK_MS))) {
		if (READ_ONCE(s->group_exit_code) & 0x7f || sigismember(&s->shared_pending.signal, SIGKILL) ||
		    time_after(jiffies, end))
			return -EINTR;
	}
	return 0;
}

/* Done with a wait that was interrupted: the engine forgets it, unless its wake is on the way. */
static bool forget(struct dsm_node *n, struct dsm_wait *wait)
{
	bool done;

	spin_lock(&n->lock);
	done = dsm_waiter_cancel(n->engine, &wait->w);
	spin_unlock(&n->lock);
	if (!done)
		wait_for_completion(&wait->done);
	return done;
}

/**
 * dsm_release_wait() - all that this node wrote so far is applied at its homes, and told, on return
 * @n:      node
 * @silent: what is lost is left to be told to who waits for a release next
 *
 * Context: process; waits killably, also in a process that ends.
 * Return: 0, -EINTR, -EHOSTDOWN some of it is lost.
 */
int dsm_release_wait(struct dsm_node *n, bool silent)
{
	struct dsm_actions acts;
	struct dsm_wait wait;
	int status = 0, ret;
	u64 start, target;
	bool done;
	u32 dirty;

	dsm_wait_init(&wait);
	dsm_step_begin(n, &acts);
	dirty = n->engine->n_dirty;
	target = dsm_rel_request(n->engine, &acts);
	done = dsm_rel_wait(n->engine, target, &wait.w, silent ? NULL : &status);
	dsm_step_end_flushing(n, &acts);
	if (done)
		return status;
	start = dsm_now_ns();
	trace_dsm_release(target, 0);
	if (takes_no_signals())
		ret = wait_at_exit(&wait.done);
	else if (dirty < SPIN_PAGES)
		ret = dsm_spin_sleep(n, DSM_SPIN_RELEASE, &wait, true);
	else
		ret = wait_for_completion_killable(&wait.done);
	if (ret && forget(n, &wait))
		return -EINTR;
	atomic64_add(dsm_now_ns() - start, &n->stats.ns_wait_release);
	return wait.w.status;
}

static bool settle_begin(struct dsm_node *n, struct dsm_wait *wait)
{
	struct dsm_actions acts;
	bool done;

	dsm_wait_init(wait);
	dsm_step_begin(n, &acts);
	done = dsm_rel_wait(n->engine, dsm_rel_request(n->engine, &acts), &wait->w, NULL);
	dsm_step_end_flushing(n, &acts);
	return done;
}

/**
 * dsm_regions_settle() - no release holds a page any more
 * @n: node
 *
 * Context: process; waits for homes, bounded by the detection of their death and by this node's leaving.
 */
void dsm_regions_settle(struct dsm_node *n)
{
	struct dsm_wait wait;

	/* What of the region that goes is lost is nobody's (dsm_rel_page_done()). */
	if (!settle_begin(n, &wait))
		wait_for_completion(&wait.done);
}

/**
 * dsm_regions_settle_within() - the same, but not for ever
 * @n:     node
 * @limit: to wait at most, in jiffies: a home may live and not answer
 *
 * Context: process; waits killably.
 * Return: 0; -ETIMEDOUT, -EINTR releases go on.
 */
int dsm_regions_settle_within(struct dsm_node *n, unsigned long limit)
{
	struct dsm_wait wait;
	long left;

	/* Whoever wrote what is lost is told at its next release. */
	if (settle_begin(n, &wait))
		return 0;
	left = wait_for_completion_killable_timeout(&wait.done, limit);
	if (left > 0)
		return 0;
	if (forget(n, &wait))
		return left ? -EINTR : -ETIMEDOUT;
	return 0;
}

/* For an answer of another machine: its death ends it too. */
static int wait_answer(struct dsm_node *n, struct dsm_wait *wait)
{
	int err;

	if (takes_no_signals())
		err = wait_at_exit(&wait->done);
	else
		err = dsm_spin_sleep(n, DSM_SPIN_ANSWER, wait, true);
	if (err && forget(n, wait))
		return -EINTR;
	return wait->w.status;
}

/**
 * dsm_node_release() - bare release: what this node wrote is at its homes, and the region's
 *                      sync manager knows it
 * @r:      region
 * @silent: as for dsm_release_wait()
 *
 * Context: process; waits killably.
 * Return: 0, -EINTR, -EHOSTDOWN, -ENOTCONN.
 */
int dsm_node_release(struct dsm_region *r, bool silent)
{
	struct dsm_node *n = r->node;
	struct dsm_actions acts;
	struct dsm_wait wait;
	int ret;

	if (!r->space->n_members)
		return 0;
	ret = dsm_release_wait(n, silent);
	if (ret)
		return ret;
	dsm_wait_init(&wait);
	dsm_step_begin(n, &acts);
	ret = dsm_sync_push(n->engine, r->space, &wait.w, &acts);
	dsm_step_end(n, &acts);
	return ret == -EINPROGRESS ? wait_answer(n, &wait) : ret;
}

/**
 * dsm_node_acquire() - bare acquire: see all that was released to the region's sync manager
 * @r:     region
 * @merge: as for dsm_acquire_apply()
 *
 * Context: process; waits killably.
 * Return: 0, -EINTR, -EHOSTDOWN.
 */
int dsm_node_acquire(struct dsm_region *r, bool merge)
{
	struct dsm_node *n = r->node;
	struct dsm_actions acts;
	struct dsm_wait wait;
	int ret;

	if (!r->space->n_members)
		return 0;
	dsm_wait_init(&wait);
	dsm_step_begin(n, &acts);
	ret = dsm_sync_pull(n->engine, r->space, &wait.w, &acts);
	dsm_step_end(n, &acts);
	if (ret == -EINPROGRESS)
		ret = wait_answer(n, &wait);
	if (!ret)
		dsm_acquire_apply(n, merge);
	return ret;
}

/* ---- locks ---- */

/*
 * How an interrupted call ends: with EINTR if a handler ran. Work of the kernel for this thread, such as a completion of
 * io_uring, interrupts a wait too, and so does a stop; the program sees nothing of those.
 */
static int interrupted(void)
{
	return task_sigpending(current) ? -ERESTARTNOHAND : -ERESTARTNOINTR;
}

static int lock_wait(struct dsm_node *n, struct dsm_wait *wait, u32 flags, u64 deadline_ns)
{
	bool forgotten;
	long left;
	u64 now;

	if (flags & DSM_LOCK_TIMED) {
		now = dsm_now_ns();
		left = 0;
		if (deadline_ns > now)
			left = nsecs_to_jiffies(min_t(u64, deadline_ns - now, 1ull << 60)) + 1;
		left = left ? wait_for_completion_interruptible_timeout(&wait->done, left) : 0;
		if (left > 0)
			return wait->w.status;
		left = left ? interrupted() : -ETIMEDOUT;
	} else {
		if (!dsm_spin_sleep(n, DSM_SPIN_LOCK, wait, false))
			return wait->w.status;
		left = interrupted();
	}
	spin_lock(&n->lock);
	forgotten = dsm_lock_cancel(n->engine, &wait->w);
	spin_unlock(&n->lock);
	if (forgotten)
		return left;
	/* Too late to give up: it is ours, or failed for another reason. */
	wait_for_completion(&wait->done);
	return wait->w.status;
}

/**
 * dsm_node_lock() - take a lock and acquire
 * @r:           region
 * @key:         any
 * @flags:       DSM_LOCK_TRY, DSM_LOCK_TIMED
 * @deadline_ns: CLOCK_MONOTONIC, for DSM_LOCK_TIMED
 * @o:           caller
 *
 * Context: process; waits interruptibly.
 * Return: 0; -EOWNERDEAD taken, last holder died; -EBUSY, -ETIMEDOUT, -ERESTARTNOHAND, -ERESTARTNOINTR,
 * -EDEADLK, -EHOSTDOWN, -EDQUOT (the user has too many), -ENOMEM not taken.
 */
int dsm_node_lock(struct dsm_region *r, u64 key, u32 flags, u64 deadline_ns,
		  const struct dsm_owner *o)
{
	struct dsm_node *n = r->node;
	u64 start = dsm_now_ns();
	struct dsm_actions acts;
	struct dsm_wait wait;
	int ret;

	ret = dsm_quota_charge(o->uid);
	if (ret)
		return ret;
	dsm_wait_init(&wait);
	wait.w.owner = dsm_shell_owner(o);
	wait.w.try_only = flags & DSM_LOCK_TRY;
	dsm_step_begin(n, &acts);
	ret = dsm_anylock_acquire(n->engine, r->space, key, &wait.w, &acts);
	dsm_step_end(n, &acts);
	if (ret == -EINPROGRESS) {
		trace_dsm_lock(r->id, key, DSM_TRACE_LOCK_REQUEST, DSM_NO_NODE);
		ret = lock_wait(n, &wait, flags, deadline_ns);
		dsm_shell_count(r, ns_wait_lock, dsm_now_ns() - start);
	}
	if (!ret || ret == -EOWNERDEAD) {
		dsm_acquire_apply(n, true);
		trace_dsm_lock(r->id, key, DSM_TRACE_LOCK_TAKEN, DSM_NO_NODE);
	} else {
		dsm_quota_uncharge(o->uid);
	}
	return ret;
}

/* ---- barriers ---- */

/**
 * struct arrival - a thread inside a barrier
 * @link:    in the list of arrivals; guarded by dsm_node.arrivals_lock
 * @r:       region, with a reference
 * @key:     barrier; fixed
 * @parties: count that the call gave; fixed
 * @owner:   thread, and the open file that it came through; fixed
 * @charged: to the user's account; the thread's, or of whoever frees it
 * @wait:    completed when the barrier opens or fails
 *
 * Survives an interrupted call: the thread runs its signal handler, calls again and goes on
 * waiting. Until then it is charged like a lock that is waited for: the thread may never call again.
 */
struct arrival {
	struct list_head link;
	struct dsm_region *r;
	u64 key;
	u32 parties;
	struct dsm_owner owner;
	bool charged;
	struct dsm_wait wait;
};

static struct arrival *arrival_find(struct dsm_region *r, u64 key, const struct dsm_owner *o)
{
	struct arrival *a, *found = NULL;
	struct dsm_node *n = r->node;

	spin_lock(&n->arrivals_lock);
	list_for_each_entry(a, &n->arrivals, link)
		if (a->r == r && a->key == key && a->owner.file == o->file &&
		    a->owner.tid == o->tid && a->owner.tgid == o->tgid)
			found = a;
	spin_unlock(&n->arrivals_lock);
	return found;
}

static void arrival_free(struct arrival *a)
{
	struct dsm_node *n = a->r->node;

	spin_lock(&n->arrivals_lock);
	list_del(&a->link);
	spin_unlock(&n->arrivals_lock);
	if (a->charged)
		dsm_quota_uncharge(a->owner.uid);
	dsm_node_region_put(a->r);
	kfree(a);
}

static int arrive(struct dsm_region *r, u64 key, u32 parties, const struct dsm_owner *o, u64 heard,
		  struct arrival **out)
{
	struct dsm_node *n = r->node;
	struct dsm_actions acts;
	struct arrival *a;
	int ret;

	ret = dsm_release_wait(n, false);
	if (ret)
		return ret == -EINTR ? -ERESTARTNOINTR : ret;
	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	kref_get(&r->ref);
	a->r = r;
	a->key = key;
	a->parties = parties;
	a->owner = *o;
	dsm_wait_init(&a->wait);
	a->wait.w.opened = o->opened;
	spin_lock(&n->arrivals_lock);
	list_add_tail(&a->link, &n->arrivals);
	spin_unlock(&n->arrivals_lock);
	dsm_step_begin(n, &acts);
	a->wait.w.told = dsm_node_told(r, heard);
	ret = dsm_barrier_arrive(n->engine, r->space, key, parties, &a->wait.w, &acts);
	dsm_step_end(n, &acts);
	trace_dsm_barrier(r->id, key, DSM_TRACE_BARRIER_ARRIVE, a->wait.w.xid);
	if (ret)
		arrival_free(a);
	else
		*out = a;
	return ret;
}

/* True: taken back; the other parties will hear of it. */
static bool arrival_abort(struct arrival *a)
{
	struct dsm_node *n = a->r->node;
	struct dsm_actions acts;
	bool aborted;

	dsm_step_begin(n, &acts);
	aborted = dsm_barrier_abort(n->engine, a->r->space, a->key, &a->wait.w, &acts);
	dsm_step_end(n, &acts);
	return aborted;
}

/* The thread is interrupted. 0: it will come back to its arrival, or never; -EINTR, -EDQUOT, -ENOMEM: that is not to be. */
static int arrival_leave(struct arrival *a)
{
	int ret;

	if (fatal_signal_pending(current))
		return -EINTR;
	if (a->charged)
		return 0;
	ret = dsm_quota_charge(a->owner.uid);
	a->charged = !ret;
	return ret;
}

/**
 * dsm_node_losses() - the number of the last loss
 * @r: region
 *
 * Context: any.
 * Return: number, rising.
 */
u64 dsm_node_losses(struct dsm_region *r)
{
	return READ_ONCE(r->node->loss);
}

/**
 * dsm_node_told() - whom a caller does not count on
 * @r:     region
 * @heard: number of the last loss that it was told of
 *
 * A number may be another node's by now, or have been, so that it is not the number that was heard of.
 *
 * Context: node's lock held.
 * Return: bitmap of lost users of the region.
 */
u64 dsm_node_told(const struct dsm_region *r, u64 heard)
{
	const struct dsm_node *n = r->node;
	u64 lost = r->space->users & ~n->engine->alive, told = 0;

	lockdep_assert_held(&n->lock);
	for (; lost; lost &= lost - 1)
		if (n->lost_at[__ffs64(lost)] <= heard)
			told |= lost & -lost;
	return told;
}

/**
 * dsm_node_tell() - the program hears how its wait ended
 * @r:    region
 * @heard: the last loss that it was told of before; updated
 * @ret:  result
 *
 * After a loss it does not wait for who is lost any more.
 *
 * Context: any.
 * Return: @ret.
 */
int dsm_node_tell(struct dsm_region *r, u64 *heard, int ret)
{
	if (ret == -EHOSTDOWN)
		WRITE_ONCE(*heard, dsm_node_losses(r));
	return ret;
}

/**
 * dsm_node_region_opened() - a file is open that was not a moment ago
 * @r: region
 *
 * Context: any.
 * Return: its number among the region's files at this node, counted from 1.
 */
u64 dsm_node_region_opened(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	u64 number;

	spin_lock(&n->lock);
	number = ++r->space->opens;
	spin_unlock(&n->lock);
	return number;
}

/**
 * dsm_node_barrier() - release, wait for all parties, acquire
 * @r:       region
 * @key:     any
 * @parties: callers in the whole cluster
 * @o:       caller
 * @heard:   the last loss that the caller knows of: it does not count on who was lost by then; updated
 *
 * Context: process; waits interruptibly.
 * Return: 0; -EINVAL other callers gave another count; -EOWNERDEAD a party ended inside;
 * -EHOSTDOWN a party, or who may be one, is lost; -EDQUOT too many threads of this node wait, or the user is at his
 * limit of locks and was interrupted;
 * -EINTR killed; -ERESTARTNOINTR: run the signal handler and call again.
 */
int dsm_node_barrier(struct dsm_region *r, u64 key, u32 parties, const struct dsm_owner *o,
		     u64 *heard)
{
	struct dsm_node *n = r->node;
	struct arrival *a = arrival_find(r, key, o);
	u64 start;
	int ret;

	if (!parties)
		return -EINVAL;
	if (!a) {
		ret = arrive(r, key, parties, o, READ_ONCE(*heard), &a);
		if (ret)
			return dsm_node_tell(r, heard, ret);
	} else if (a->parties != parties) {
		return -EINVAL;
	}
	start = dsm_now_ns();
	if (dsm_spin_sleep(n, DSM_SPIN_BARRIER, &a->wait, false)) {
		ret = arrival_leave(a);
		if (!ret)
			return -ERESTARTNOINTR;
		if (arrival_abort(a)) {
			arrival_free(a);
			return ret;
		}
		wait_for_completion(&a->wait.done);
	}
	ret = a->wait.w.status;
	arrival_free(a);
	dsm_shell_count(r, ns_wait_barrier, dsm_now_ns() - start);
	if (!ret)
		dsm_acquire_apply(n, true);
	return dsm_node_tell(r, heard, ret);
}

static void arrivals_gone(struct dsm_region *r, u64 file, pid_t tgid)
{
	struct dsm_node *n = r->node;
	struct arrival *a, *next;
	LIST_HEAD(gone);

	/* Nobody looks for them any more. */
	spin_lock(&n->arrivals_lock);
	list_for_each_entry_safe(a, next, &n->arrivals, link)
		if (a->r == r && a->owner.file == file && (!tgid || a->owner.tgid == tgid))
			list_move(&a->link, &gone);
	spin_unlock(&n->arrivals_lock);
	list_for_each_entry_safe(a, next, &gone, link) {
		if (!arrival_abort(a))
			wait_for_completion(&a->wait.done);
		arrival_free(a);
		cond_resched();
	}
}

/**
 * dsm_node_owner_gone() - a process or a file ends
 * @r:    region
 * @file: open file
 * @tgid: process that ends, 0: all that used the file
 * @uid:  user who opened the file
 *
 * Its locks go to the next taker with -EOWNERDEAD, its arrivals make their barriers fail, what it
 * started and does not wait for is cancelled.
 *
 * Context: process, none of the process's threads is in a call any more.
 */
void dsm_node_owner_gone(struct dsm_region *r, u64 file, pid_t tgid, kuid_t uid)
{
	struct dsm_node *n = r->node;
	struct dsm_actions acts;
	int found;

	/* First: one of these could still take a lock. */
	dsm_async_owner_gone(r, file, tgid);
	arrivals_gone(r, file, tgid);
	do {
		dsm_step_begin(n, &acts);
		found = dsm_anylock_owner_gone(n->engine, r->space, file, tgid,
					       &acts);
		dsm_step_end(n, &acts);
		if (found == DSM_LOCK_COUNTED)
			dsm_quota_uncharge(uid);
	} while (found);
}

/* ---- flags ---- */

static int flag_op(struct dsm_region *r, u64 key, u8 op, u64 heard)
{
	struct dsm_node *n = r->node;
	struct dsm_actions acts;
	struct dsm_wait wait;
	bool forgotten;
	int ret;

	dsm_wait_init(&wait);
	dsm_step_begin(n, &acts);
	wait.w.told = dsm_node_told(r, heard);
	ret = dsm_flag_start(n->engine, r->space, key, op, &wait.w, &acts);
	dsm_step_end(n, &acts);
	if (ret)
		return ret;
	if (op != DSM_FLAG_WAIT)
		return wait_answer(n, &wait);
	if (!dsm_spin_sleep(n, DSM_SPIN_FLAG, &wait, false))
		return wait.w.status;
	dsm_step_begin(n, &acts);
	forgotten = dsm_flag_cancel(n->engine, r->space, key, &wait.w, &acts);
	dsm_step_end(n, &acts);
	if (forgotten)
		return interrupted();
	wait_for_completion(&wait.done);
	return wait.w.status;
}

/**
 * dsm_node_flag_set() - release, then set a flag
 * @r:   region
 * @key: any
 *
 * Context: process; waits killably.
 * Return: 0, -EALREADY it is set, -EINTR, -EHOSTDOWN.
 */
int dsm_node_flag_set(struct dsm_region *r, u64 key)
{
	struct dsm_node *n = r->node;
	int ret = dsm_release_wait(n, false);

	return ret ? ret : flag_op(r, key, DSM_FLAG_SET, 0);
}

/**
 * dsm_node_flag_wait() - wait until a flag is set, then acquire
 * @r:    region
 * @key:  any
 * @heard: as for dsm_node_barrier(); updated
 *
 * Context: process; waits interruptibly.
 * Return: 0, -ERESTARTNOHAND, -ERESTARTNOINTR, -EHOSTDOWN the manager, or who may be the setter, is lost;
 * -EDQUOT too many threads of this node wait.
 */
int dsm_node_flag_wait(struct dsm_region *r, u64 key, u64 *heard)
{
	struct dsm_node *n = r->node;
	u64 start = dsm_now_ns();
	int ret = flag_op(r, key, DSM_FLAG_WAIT, READ_ONCE(*heard));

	dsm_shell_count(r, ns_wait_flag, dsm_now_ns() - start);
	if (!ret)
		dsm_acquire_apply(n, true);
	return dsm_node_tell(r, heard, ret);
}

/**
 * dsm_node_flag_clear() - make a flag unset again
 * @r:   region
 * @key: any
 *
 * Context: process; waits killably.
 * Return: 0, -EINTR, -EHOSTDOWN.
 */
int dsm_node_flag_clear(struct dsm_region *r, u64 key)
{
	return flag_op(r, key, DSM_FLAG_CLEAR, 0);
}
