// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Synchronisation without a thread that waits: the calls of sync.c as operations that end with a
 * callback.
 *
 * An operation is a struct of a few hundred bytes. It asks the engine, and when the engine wakes
 * its waiter a work item takes the next step: first the release, then the request itself, then
 * the acquire. One party at a time works on an operation (@busy): the caller who starts it, later
 * its work item. All others (the engine's wake, a timer, whoever cancels) leave a note and kick.
 * Never blocks for the network itself, but perhaps for a thread whose acquire has pages merged (merge=live); never knows
 * who asked: that is ctl's business.
 */
#include <linux/slab.h>
#include "core/barrier.h"
#include "core/flag.h"
#include "core/interval.h"
#include "core/rlock.h"
#include "core/release.h"
#include "ctl/trace.h"
#include "shell.h"

/* How often owners of pending operations are looked at, where nobody tells of their end. */
#define REAP_MS 100
#define REAP_MOST 1024	/* operations in a look */

enum phase { PHASE_RELEASE, PHASE_ASK, PHASE_ACQUIRE };

/**
 * struct dsm_async - one operation
 * @link:    in @pending once it could not end at once; guarded by pending_lock
 * @arg:     what is asked; fixed
 * @region:  with a reference once it is in @pending
 * @phase:   what is under way; of the party that is busy with it
 * @waiting: the engine has @wait; likewise
 * @taken:   -EOWNERDEAD to be told after the acquire, else 0; likewise
 * @result:  0 or negative errno, once it ended
 * @wait:    its waiter
 * @work:    runs the next step
 * @expiry:  deadline of a timed lock
 * @lock:    guards the rest
 * @busy:    somebody works on it
 * @kicked:  there is news: @woken or @why
 * @woken:   the engine is through with @wait
 * @why:     negative errno to end with, 0: nobody wants its end
 */
struct dsm_async {
	struct list_head link;
	struct dsm_async_arg arg;
	struct dsm_region *region;
	enum phase phase;
	bool waiting;
	int taken;
	int result;
	struct dsm_wait wait;
	struct work_struct work;
	struct delayed_work expiry;
	spinlock_t lock;
	bool busy;
	bool kicked;
	bool woken;
	int why;
};

/**
 * struct kind_row - what an operation consists of
 * @release: begins with a release
 * @acquire: ends with an acquire
 * @ask:     a step of the engine: 0 done, -EINPROGRESS a->wait is queued, or a negative errno
 * @give_up: take the request back: true if the engine has forgotten a->wait
 */
struct kind_row {
	bool release;
	bool acquire;
	int (*ask)(struct dsm_async *a, struct dsm_actions *acts);
	bool (*give_up)(struct dsm_async *a);
};

/* Of all nodes: operations of all are the users', and none waits for another. */
static LIST_HEAD(pending);
static DEFINE_SPINLOCK(pending_lock);
static DECLARE_WAIT_QUEUE_HEAD(ended);
static struct workqueue_struct *async_wq;

static void reap(struct work_struct *work);
static DECLARE_DELAYED_WORK(reaper, reap);

/* ---- kinds ---- */

static bool forget(struct dsm_async *a)
{
	struct dsm_node *n = a->region->node;
	bool forgotten;

	spin_lock(&n->lock);
	forgotten = dsm_waiter_cancel(n->engine, &a->wait.w);
	spin_unlock(&n->lock);
	return forgotten;
}

static int ask_lock(struct dsm_async *a, struct dsm_actions *acts)
{
	struct dsm_node *n = a->region->node;
	const struct dsm_owner *o = &a->arg.owner;

	a->wait.w.owner = (struct dsm_lock_owner){ .file = o->file, .tgid = o->tgid, .tid = o->tid };
	a->wait.w.try_only = a->arg.kind == DSM_ASYNC_TRYLOCK;
	return dsm_anylock_acquire(n->engine, a->region->space, a->arg.key, &a->wait.w, acts);
}

static bool give_up_lock(struct dsm_async *a)
{
	struct dsm_node *n = a->region->node;
	bool forgotten;

	spin_lock(&n->lock);
	forgotten = dsm_lock_cancel(n->engine, &a->wait.w);
	spin_unlock(&n->lock);
	return forgotten;
}

static int ask_barrier(struct dsm_async *a, struct dsm_actions *acts)
{
	struct dsm_node *n = a->region->node;
	int ret;

	a->wait.w.told = dsm_node_told(a->region, READ_ONCE(*a->arg.heard));
	a->wait.w.opened = a->arg.owner.opened;
	ret = dsm_barrier_arrive(n->engine, a->region->space, a->arg.key, a->arg.value,
				 &a->wait.w, acts);
	return ret ? ret : -EINPROGRESS;
}

static bool give_up_barrier(struct dsm_async *a)
{
	struct dsm_node *n = a->region->node;
	struct dsm_actions acts;
	bool forgotten;

	dsm_step_begin(n, &acts);
	forgotten = dsm_barrier_abort(n->engine, a->region->space, a->arg.key, &a->wait.w,
				      &acts);
	dsm_step_end(n, &acts);
	return forgotten;
}

static int ask_flag(struct dsm_async *a, struct dsm_actions *acts)
{
	struct dsm_node *n = a->region->node;
	u8 op = a->arg.kind == DSM_ASYNC_FLAG_SET ? DSM_FLAG_SET :
		a->arg.kind == DSM_ASYNC_FLAG_WAIT ? DSM_FLAG_WAIT : DSM_FLAG_CLEAR;
	int ret;

	a->wait.w.told = dsm_node_told(a->region, READ_ONCE(*a->arg.heard));
	ret = dsm_flag_start(n->engine, a->region->space, a->arg.key, op, &a->wait.w, acts);
	return ret ? ret : -EINPROGRESS;
}

static bool give_up_flag(struct dsm_async *a)
{
	struct dsm_node *n = a->region->node;
	struct dsm_actions acts;
	bool forgotten;

	dsm_step_begin(n, &acts);
	forgotten = dsm_flag_cancel(n->engine, a->region->space, a->arg.key, &a->wait.w,
				    &acts);
	dsm_step_end(n, &acts);
	return forgotten;
}

static int ask_push(struct dsm_async *a, struct dsm_actions *acts)
{
	struct dsm_node *n = a->region->node;

	return dsm_sync_push(n->engine, a->region->space, &a->wait.w, acts);
}

static int ask_pull(struct dsm_async *a, struct dsm_actions *acts)
{
	struct dsm_node *n = a->region->node;

	return dsm_sync_pull(n->engine, a->region->space, &a->wait.w, acts);
}

static const struct kind_row kinds[] = {
	[DSM_ASYNC_LOCK] = { .acquire = true, .ask = ask_lock, .give_up = give_up_lock },
	[DSM_ASYNC_TRYLOCK] = { .acquire = true, .ask = ask_lock, .give_up = give_up_lock },
	[DSM_ASYNC_TIMEDLOCK] = { .acquire = true, .ask = ask_lock, .give_up = give_up_lock },
	[DSM_ASYNC_BARRIER] = { .release = true, .acquire = true, .ask = ask_barrier,
				.give_up = give_up_barrier },
	[DSM_ASYNC_FLAG_SET] = { .release = true, .ask = ask_flag, .give_up = forget },
	[DSM_ASYNC_FLAG_WAIT] = { .acquire = true, .ask = ask_flag, .give_up = give_up_flag },
	[DSM_ASYNC_FLAG_CLEAR] = { .ask = ask_flag, .give_up = forget },
	[DSM_ASYNC_RELEASE] = { .release = true, .ask = ask_push, .give_up = forget },
	[DSM_ASYNC_ACQUIRE] = { .acquire = true, .ask = ask_pull, .give_up = forget },
	/* Has no steps: see begin(). */
	[DSM_ASYNC_PREFETCH] = {},
};

static bool is_lock(const struct dsm_async *a)
{
	return a->arg.kind == DSM_ASYNC_LOCK || a->arg.kind == DSM_ASYNC_TRYLOCK ||
	       a->arg.kind == DSM_ASYNC_TIMEDLOCK;
}

/* ---- steps ---- */

/*
 * Run its steps, for what was noted below its lock. Without the lock it may be gone at once, but for whoever starts the
 * work item: nobody else can end it before that has run.
 */
static void unlock_and_kick(struct dsm_async *a) __releases(&a->lock)
{
	bool start = !a->busy;

	a->kicked = true;
	a->busy = true;
	spin_unlock(&a->lock);
	if (start)
		queue_work(async_wq, &a->work);
}

static void woken(struct dsm_wait *wait)
{
	struct dsm_async *a = container_of(wait, struct dsm_async, wait);

	spin_lock(&a->lock);
	a->woken = true;
	unlock_and_kick(a);
}

/* The first reason counts. */
static void end_with(struct dsm_async *a, int why)
{
	spin_lock(&a->lock);
	if (!a->why)
		a->why = why;
	unlock_and_kick(a);
}

static void expired(struct work_struct *work)
{
	end_with(container_of(to_delayed_work(work), struct dsm_async, expiry), -ETIMEDOUT);
}

static void prepare_wait(struct dsm_async *a)
{
	dsm_wait_init(&a->wait);
	a->wait.wake = woken;
}

static int start_release(struct dsm_async *a)
{
	struct dsm_node *n = a->region->node;
	struct dsm_engine *e = n->engine;
	struct dsm_actions acts;
	int status = 0;
	bool done;

	prepare_wait(a);
	dsm_step_begin(n, &acts);
	done = dsm_rel_wait(e, dsm_rel_request(e, &acts), &a->wait.w, &status);
	dsm_step_end(n, &acts);
	a->waiting = !done;
	return done ? status : -EINPROGRESS;
}

static int start_request(struct dsm_async *a)
{
	struct dsm_node *n = a->region->node;
	struct dsm_actions acts;
	int ret;

	prepare_wait(a);
	dsm_step_begin(n, &acts);
	ret = kinds[a->arg.kind].ask(a, &acts);
	dsm_step_end(n, &acts);
	a->waiting = ret == -EINPROGRESS;
	return ret;
}

static bool acquire_is_idle(struct dsm_node *n)
{
	bool idle;

	spin_lock(&n->lock);
	idle = !dsm_acq_needed(n->engine);
	spin_unlock(&n->lock);
	return idle;
}

/*
 * Go on from a finished wait with @ret, or from the start of @phase. With @submitting only what is
 * short. Return: -EINPROGRESS the engine has the waiter, -EAGAIN the rest is the work item's, else
 * the result.
 */
static int advance(struct dsm_async *a, int ret, bool submitting)
{
	const struct kind_row *kind = &kinds[a->arg.kind];

	if (a->phase == PHASE_RELEASE) {
		if (ret)
			return ret;
		a->phase = PHASE_ASK;
		ret = start_request(a);
		if (ret == -EINPROGRESS)
			return ret;
	}
	if (a->phase == PHASE_ASK) {
		if (!kind->acquire || (ret && !(is_lock(a) && ret == -EOWNERDEAD)))
			return ret;
		a->taken = ret;
		a->phase = PHASE_ACQUIRE;
	}
	/* Walks page tables and may wait for another thread that does. */
	if (submitting && !acquire_is_idle(a->region->node))
		return -EAGAIN;
	dsm_acquire_apply(a->region->node, false);
	return a->taken;
}

static int begin(struct dsm_async *a)
{
	int ret;

	/* Waits for nothing; and its memory is charged to who asks. */
	if (a->arg.kind == DSM_ASYNC_PREFETCH)
		return dsm_node_prefetch(a->region, &(struct dsm_pieces){ .offset = a->arg.key, .len = a->arg.value });
	if (kinds[a->arg.kind].release) {
		a->phase = PHASE_RELEASE;
		ret = start_release(a);
	} else {
		a->phase = PHASE_ASK;
		ret = start_request(a);
	}
	return ret == -EINPROGRESS ? ret : advance(a, ret, true);
}

/* As above; -EINPROGRESS: there is nothing to do until the next kick. */
static int go_on(struct dsm_async *a)
{
	bool was_woken;
	int why;

	spin_lock(&a->lock);
	was_woken = a->woken;
	a->woken = false;
	why = a->why;
	spin_unlock(&a->lock);

	if (!a->waiting)
		return advance(a, 0, false);
	if (was_woken) {
		a->waiting = false;
		/* Nothing was asked yet; and who wants its end does not come again. */
		if (why && a->phase == PHASE_RELEASE)
			return a->wait.w.status ?: why;
		return advance(a, a->wait.w.status, false);
	}
	if (!why)
		return -EINPROGRESS;
	/* Too late to give up: the wake is on its way, and what it brings counts. */
	if (!(a->phase == PHASE_RELEASE ? forget(a) : kinds[a->arg.kind].give_up(a)))
		return -EINPROGRESS;
	return why;
}

static void settle(struct dsm_async *a, int ret)
{
	a->result = ret;
	if (is_lock(a) && (!ret || ret == -EOWNERDEAD))
		trace_dsm_lock(a->region->id, a->arg.key, DSM_TRACE_LOCK_TAKEN, DSM_NO_NODE);
	else
		dsm_quota_uncharge(a->arg.owner.uid);
}

static void finish(struct dsm_async *a, int ret)
{
	if (a->arg.kind == DSM_ASYNC_TIMEDLOCK)
		cancel_delayed_work_sync(&a->expiry);
	settle(a, ret);
	spin_lock(&pending_lock);
	list_del(&a->link);
	spin_unlock(&pending_lock);
	wake_up_all(&ended);
	a->arg.ops->done(a->arg.ctx);
}

static void run(struct work_struct *work)
{
	struct dsm_async *a = container_of(work, struct dsm_async, work);
	int ret;

	for (;;) {
		spin_lock(&a->lock);
		if (!a->kicked) {
			a->busy = false;
			spin_unlock(&a->lock);
			return;
		}
		a->kicked = false;
		spin_unlock(&a->lock);
		ret = go_on(a);
		if (ret != -EINPROGRESS)
			break;
	}
	/* It stays busy: whoever kicks it now finds nothing to do. */
	finish(a, ret);
}

/* ---- for ctl ---- */

static void arm_expiry(struct dsm_async *a)
{
	u64 now = dsm_now_ns(), left = 0;

	if (a->arg.value > now)
		left = nsecs_to_jiffies(min_t(u64, a->arg.value - now, 1ull << 60)) + 1;
	queue_delayed_work(async_wq, &a->expiry, left);
}

/**
 * dsm_async_start() - begin an operation
 * @r:   region, attached
 * @arg: what to do and for whom; copied
 * @out: the operation, if -EIOCBQUEUED
 *
 * Context: process; does not wait for the network.
 * Return: 0 done; -EIOCBQUEUED: not yet. Then the caller calls dsm_async_go(), after that ops->done
 * is called once, and dsm_async_free() may be called. Else a negative errno as of the call in sync.c
 * that does the same, nothing is pending; -ENOMEM, -EDQUOT.
 */
int dsm_async_start(struct dsm_region *r, const struct dsm_async_arg *arg, struct dsm_async **out)
{
	struct dsm_async *a;
	int ret;

	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return -ENOMEM;
	a->arg = *arg;
	a->region = r;
	a->busy = true;
	spin_lock_init(&a->lock);
	INIT_WORK(&a->work, run);
	INIT_DELAYED_WORK(&a->expiry, expired);
	/* What a thread can wait for is bounded by the user's threads; this is not. */
	ret = dsm_quota_charge(arg->owner.uid);
	if (ret)
		goto out_free;
	ret = begin(a);
	if (ret != -EINPROGRESS && ret != -EAGAIN) {
		settle(a, ret);
		if (arg->kind == DSM_ASYNC_BARRIER || arg->kind == DSM_ASYNC_FLAG_WAIT)
			dsm_node_tell(r, arg->heard, ret);
		goto out_free;
	}
	if (ret == -EAGAIN)
		a->kicked = true;
	kref_get(&r->ref);
	spin_lock(&pending_lock);
	list_add_tail(&a->link, &pending);
	spin_unlock(&pending_lock);
	queue_delayed_work(async_wq, &reaper, msecs_to_jiffies(REAP_MS));
	if (arg->kind == DSM_ASYNC_TIMEDLOCK)
		arm_expiry(a);
	*out = a;
	return -EIOCBQUEUED;

out_free:
	kfree(a);
	return ret;
}

/**
 * dsm_async_go() - the caller of dsm_async_start() is through with its preparations
 * @a: pending operation; may have ended on return
 *
 * Context: any but interrupts.
 */
void dsm_async_go(struct dsm_async *a)
{
	bool more;

	spin_lock(&a->lock);
	more = a->kicked;
	a->busy = more;
	spin_unlock(&a->lock);
	if (more)
		queue_work(async_wq, &a->work);
}

/**
 * dsm_async_cancel() - end an operation early
 * @a: operation, not freed
 *
 * It ends with -ECANCELED unless it is too late for that. A barrier that the operation arrived at
 * fails for the other parties.
 *
 * Context: any but interrupts.
 */
void dsm_async_cancel(struct dsm_async *a)
{
	end_with(a, -ECANCELED);
}

/**
 * dsm_async_cancel_if() - end the operations that @match picks
 * @match: under a spinlock, with the operation's @ctx and @key
 * @key:   for @match
 *
 * Context: any but interrupts.
 * Return: how many.
 */
unsigned int dsm_async_cancel_if(bool (*match)(void *ctx, const void *key), const void *key)
{
	struct dsm_async *a;
	unsigned int count = 0;

	spin_lock(&pending_lock);
	list_for_each_entry(a, &pending, link)
		if (match(a->arg.ctx, key)) {
			end_with(a, -ECANCELED);
			count++;
		}
	spin_unlock(&pending_lock);
	return count;
}

static bool owned(const struct dsm_async *a, const struct dsm_region *r, u64 file, pid_t tgid)
{
	return a->region == r && a->arg.owner.file == file && (!tgid || a->arg.owner.tgid == tgid);
}

/* @all: not only the first of them. False: there are none. */
static bool cancel_owned(const struct dsm_region *r, u64 file, pid_t tgid, bool all)
{
	struct dsm_async *a;
	bool found = false;

	spin_lock(&pending_lock);
	list_for_each_entry(a, &pending, link) {
		if (!owned(a, r, file, tgid))
			continue;
		end_with(a, -ECANCELED);
		found = true;
		if (!all)
			break;
	}
	/* The next look begins with it: those of others before it are not looked at again for each that ends. */
	if (found && !all)
		list_move_tail(&pending, &a->link);
	spin_unlock(&pending_lock);
	return found;
}

/**
 * dsm_async_owner_gone() - end all operations of a process that ends
 * @r:    region
 * @file: open file
 * @tgid: process; 0: all that use the file
 *
 * On return none of them can take a lock any more.
 *
 * Context: process; waits for the work items, never for the network.
 */
void dsm_async_owner_gone(struct dsm_region *r, u64 file, pid_t tgid)
{
	if (cancel_owned(r, file, tgid, true))
		wait_event(ended, !cancel_owned(r, file, tgid, false));
}

/* Ends operations whose owner went without a word; see dsm_async_ops.gone. A look is at some of them, as others wait for the lock. */
static void reap(struct work_struct *work)
{
	struct dsm_async *a, *first = NULL;
	unsigned int left;
	bool more;

	spin_lock(&pending_lock);
	for (left = REAP_MOST; left; left--) {
		a = list_first_entry_or_null(&pending, struct dsm_async, link);
		if (!a || a == first)
			break;
		if (!first)
			first = a;
		list_move_tail(&a->link, &pending);
		if (a->arg.ops->gone(a->arg.ctx))
			end_with(a, -ECANCELED);
	}
	more = !list_empty(&pending);
	spin_unlock(&pending_lock);
	if (more)
		queue_delayed_work(async_wq, &reaper, left ? msecs_to_jiffies(REAP_MS) : 1);
}

/**
 * dsm_async_collect() - how an operation ended, at the moment when its owner is told
 * @a: operation whose ops->done was called
 *
 * A lock that nobody will hear of any more is given back.
 *
 * Context: process; does not wait.
 * Return: 0 or negative errno.
 */
int dsm_async_collect(struct dsm_async *a)
{
	if (a->arg.kind == DSM_ASYNC_BARRIER || a->arg.kind == DSM_ASYNC_FLAG_WAIT)
		return dsm_node_tell(a->region, a->arg.heard, a->result);
	if (!is_lock(a) || (a->result && a->result != -EOWNERDEAD) ||
	    !a->arg.ops->gone(a->arg.ctx))
		return a->result;
	/* Not held any more: its process has ended, and dsm_node_owner_gone() was faster. */
	dsm_node_unlock_now(a->region, a->arg.key, &a->arg.owner);
	return -ECANCELED;
}

/**
 * dsm_async_free() - forget an operation
 * @a: operation whose ops->done was called
 *
 * Context: process.
 */
void dsm_async_free(struct dsm_async *a)
{
	dsm_node_region_put(a->region);
	kfree(a);
}

/**
 * dsm_async_init() - at module load
 *
 * Context: process.
 * Return: 0, -ENOMEM.
 */
int dsm_async_init(void)
{
	async_wq = alloc_workqueue("dsm_async", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	return async_wq ? 0 : -ENOMEM;
}

/**
 * dsm_async_exit() - at module unload: no file is open, so nothing is pending
 *
 * Context: process.
 */
void dsm_async_exit(void)
{
	cancel_delayed_work_sync(&reaper);
	destroy_workqueue(async_wq);
}
