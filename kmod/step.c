// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Steps: how the shell runs the engine, and carries out its actions.
 *
 * A step takes the engine lock with full pools, runs one function of the core, drops the lock
 * and then sends, wakes and starts flush work. Allocation, sending and waiting happen outside
 * the lock, always in process context. Never looks into a message or a page.
 */
#include <linux/slab.h>
#include "core/dir.h"
#include "core/release.h"
#include "ctl/trace.h"
#include "shell.h"

/* Of all nodes. NULL for messages and twins, which are the net's and whole pages. */
static struct kmem_cache *object_cache[DSM_POOL_COUNT];

/*
 * A step must find its objects, whatever the memory situation: they are
 * small (order 1 at most), and failing here would leave peers waiting.
 */
#define STEP_GFP (GFP_KERNEL | __GFP_NOFAIL)

/* What dsm_engine_wants() may say at most. */
static_assert(DSM_STEP_MSGS + DSM_MAX_NODES < DSM_NET_MSGS_KEPT);
static_assert(DSM_STEP_XFERS + DSM_STEP_DIR + 3 * DSM_MAX_NODES < DSM_NET_XFERS_KEPT);

/* Steps in a row whose messages are sent together: answers that bring neighbouring pages go as one work request then. */
#define STEPS_TOGETHER 16u

/**
 * dsm_pools_exit() - at module unload, after the last node
 *
 * Context: process.
 */
void dsm_pools_exit(void)
{
	u32 kind;

	for (kind = 0; kind < DSM_POOL_COUNT; kind++)
		kmem_cache_destroy(object_cache[kind]);
}

/**
 * dsm_pools_init() - at module load, before the first node
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int dsm_pools_init(void)
{
	static const char * const names[DSM_POOL_COUNT] = {
		[DSM_POOL_INTERVAL] = "dsm_interval", [DSM_POOL_LOCK] = "dsm_lock",
		[DSM_POOL_BARRIER] = "dsm_barrier", [DSM_POOL_FLAG] = "dsm_flag",
		[DSM_POOL_REQUEST] = "dsm_request", [DSM_POOL_RLOCK] = "dsm_rlock",
	};
	u32 kind;

	for (kind = 0; kind < DSM_POOL_COUNT; kind++) {
		if (!names[kind])
			continue;
		object_cache[kind] =
			kmem_cache_create(names[kind], dsm_pool_object_bytes(kind), 0, 0, NULL);
		if (!object_cache[kind]) {
			dsm_pools_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * dsm_wait_init() - prepare to wait for the engine
 * @wait: on the caller's stack
 *
 * Context: any.
 */
void dsm_wait_init(struct dsm_wait *wait)
{
	dsm_waiter_init(&wait->w);
	init_completion(&wait->done);
	wait->wake = NULL;
}

static void *object_alloc(struct dsm_node *n, enum dsm_pool_kind kind, gfp_t gfp)
{
	switch (kind) {
	case DSM_POOL_MSG:
		return dsm_net_msg_alloc(n->net, gfp);
	case DSM_POOL_TWIN:
		return alloc_page(gfp);
	case DSM_POOL_XFER:
		return dsm_net_xfer_alloc(n->net, gfp);
	default:
		return kmem_cache_alloc(object_cache[kind], gfp);
	}
}

static void object_free(struct dsm_node *n, enum dsm_pool_kind kind, void *obj)
{
	switch (kind) {
	case DSM_POOL_MSG:
		dsm_net_msg_free(n->net, obj);
		break;
	case DSM_POOL_TWIN:
		__free_page(obj);
		break;
	case DSM_POOL_XFER:
		dsm_net_xfer_free(n->net, obj);
		break;
	default:
		kmem_cache_free(object_cache[kind], obj);
	}
}

static bool refill(struct dsm_node *n, const u32 *wants, gfp_t gfp)
{
	u32 kind, i;

	for (kind = 0; kind < DSM_POOL_COUNT; kind++)
		for (i = 0; i < wants[kind]; i++) {
			void *obj = object_alloc(n, kind, gfp);

			if (!obj)
				return false;
			spin_lock(&n->lock);
			dsm_pool_give(n->engine, kind, obj);
			spin_unlock(&n->lock);
		}
	return true;
}

/* Take the engine lock; for how many nanoseconds others had it. If nobody has, no clock is read. Sparse is told by the callers. */
static u64 lock_node(struct dsm_node *n)
{
	u64 start;

	if (spin_trylock(&n->lock)) {
		__release(&n->lock);
		return 0;
	}
	start = dsm_now_ns();
	spin_lock(&n->lock);
	__release(&n->lock);
	return dsm_now_ns() - start;
}

/* Take the engine lock, pools full; false: without it, as there is no memory. @waited_ns: what lock_node() took. */
static bool try_begin(struct dsm_node *n, struct dsm_actions *acts, gfp_t gfp, u64 *waited_ns)
{
	u32 wants[DSM_POOL_COUNT], kind, missing;

	dsm_actions_init(acts);
	*waited_ns = 0;
	for (;;) {
		*waited_ns += lock_node(n);
		__acquire(&n->lock);
		n->engine->now_ns = dsm_now_ns();
		for (kind = 0, missing = 0; kind < DSM_POOL_COUNT; kind++) {
			wants[kind] = dsm_engine_wants(n->engine, kind);
			missing += wants[kind];
		}
		if (!missing) {
			__release(&n->lock);
			return true;
		}
		spin_unlock(&n->lock);
		if (!refill(n, wants, gfp))
			return false;
	}
}

/**
 * dsm_step_begin() - take the engine lock, pools full
 * @n:    node
 * @acts: actions, initialised here
 *
 * Context: process; sleeps. Returns with the engine lock held.
 * Return: for how many nanoseconds others had the lock.
 */
u64 dsm_step_begin(struct dsm_node *n, struct dsm_actions *acts) __acquires(&n->lock)
{
	u64 waited_ns;

	might_sleep();
	try_begin(n, acts, STEP_GFP, &waited_ns);
	__acquire(&n->lock);
	return waited_ns;
}

static void send_all(struct dsm_node *n, struct dsm_msgbuf *list)
{
	struct dsm_msgbuf *m;

	for (m = list; m; m = m->next) {
		trace_dsm_msg_tx(m->dst, m->class, m->data[0], m->len,
				 le32_to_cpu(((struct dsm_wire_hdr *)m->data)->xid));
		dsm_xfertest_spoil(m);
	}
	/* A peer lost meanwhile takes its messages with it; the engine hears of the loss. */
	if (list)
		dsm_net_send_list(n->net, list);
}

static bool carry_out(struct dsm_node *n, struct dsm_actions *acts)
{
	struct dsm_waiter *w = acts->wake;
	u64 pages = acts->wake_pages;

	if (acts->xfer)
		dsm_chunk_post(n, acts->xfer);
	send_all(n, acts->send);
	while (w) {
		struct dsm_wait *wait = container_of(w, struct dsm_wait, w);

		w = w->wake;
		/* The waiter may be gone as soon as it is told. */
		if (wait->wake)
			wait->wake(wait);
		else
			complete(&wait->done);
	}
	while (pages) {
		wake_up_all(&n->page_queues[__ffs64(pages)]);
		pages &= pages - 1;
	}
	if (wq_has_sleeper(&n->room) && !dsm_rel_is_crowded(n->engine))
		wake_up_all(&n->room);
	dsm_recall_run(n, acts);
	if (acts->cast)
		dsm_net_cast(n->net, acts->cast);
	if (acts->cast_ns)
		dsm_bcast_alarm(n, acts->cast_ns);
	if (acts->alarm_ns)
		dsm_rsync_alarm(n, acts->alarm_ns);
	return acts->flush;
}

/* Is there nothing to do for it now, if its messages go with those of the next step? */
static bool only_sends(const struct dsm_actions *acts)
{
	return !acts->xfer && !acts->wake && !acts->wake_pages && !acts->recall && !acts->cast &&
	       !acts->cast_ns && !acts->alarm_ns && !acts->flush;
}

/* Begin the next step. Memory for it may be in the hands of who waits for @held, so these are sent before it is waited for. */
static struct dsm_msgbuf *next_step(struct dsm_node *n, struct dsm_actions *acts, struct dsm_msgbuf *held)
	__acquires(&n->lock)
{
	u64 waited_ns;

	if (held && try_begin(n, acts, GFP_NOWAIT | __GFP_NOWARN, &waited_ns)) {
		__acquire(&n->lock);
		return held;
	}
	send_all(n, held);
	dsm_step_begin(n, acts);
	return NULL;
}

static bool step_end(struct dsm_node *n, struct dsm_actions *acts) __releases(&n->lock)
{
	struct dsm_msgbuf *held = NULL, **last = &held;
	bool flush = false, run;
	u32 steps = 0;

	for (;;) {
		run = acts->run;
		if (acts->xfer)
			dsm_chunk_hold(n, acts->xfer);
		spin_unlock(&n->lock);
		*last = acts->send;
		if (run && ++steps < STEPS_TOGETHER && only_sends(acts)) {
			last = acts->send ? acts->send_last : last;
		} else {
			acts->send = held;
			flush |= carry_out(n, acts);
			held = NULL;
		}
		if (!run)
			return flush;
		held = next_step(n, acts, held);
		if (!held) {
			last = &held;
			steps = 0;
		}
		dsm_engine_run(n->engine, acts);
	}
}

/**
 * dsm_step_end() - drop the engine lock and carry out the actions
 * @n:    node
 * @acts: actions of the step
 *
 * Context: process, engine lock held; sleeps, never for the network.
 */
void dsm_step_end(struct dsm_node *n, struct dsm_actions *acts) __releases(&n->lock)
{
	if (step_end(n, acts))
		queue_work(n->flush_wq, &n->flush_work);
}

/**
 * dsm_step_end_flushing() - the same; the caller itself writes back what a release opened
 * @n:    node
 * @acts: actions of the step
 *
 * Context: process, engine lock held; sleeps.
 */
void dsm_step_end_flushing(struct dsm_node *n, struct dsm_actions *acts) __releases(&n->lock)
{
	if (step_end(n, acts))
		dsm_flush_run(n);
}

/* Of each kind so many may lie idle: more than any step takes, and 4 MiB of twins. */
#define IDLE_OBJECTS 1024
static_assert(IDLE_OBJECTS > DSM_STEP_DIR + DSM_STEP_MSGS + DSM_STEP_INTERVALS + 3 * DSM_MAX_NODES);

static void trim(struct dsm_node *n, enum dsm_pool_kind kind)
{
	const struct dsm_pool *pool = &n->engine->pool[kind];
	void *obj[64];
	u32 count = 0;

	spin_lock(&n->lock);
	while (pool->count > IDLE_OBJECTS && count < ARRAY_SIZE(obj))
		obj[count++] = dsm_pool_take(n->engine, kind);
	spin_unlock(&n->lock);
	while (count)
		object_free(n, kind, obj[--count]);
}

/**
 * dsm_pools_trim() - give back what lies idle beyond what steps need
 * @n: node
 *
 * What ends goes to its pool: the twins of a release, the locks of a region.
 *
 * Context: process, no lock held; sleeps.
 */
void dsm_pools_trim(struct dsm_node *n)
{
	u32 kind;

	for (kind = 0; kind < DSM_POOL_COUNT; kind++)
		while (READ_ONCE(n->engine->pool[kind].count) > IDLE_OBJECTS) {
			trim(n, kind);
			cond_resched();
		}
}

/**
 * dsm_pools_drain() - free what is left for the next step
 * @n: node; there will be none
 *
 * Context: process; net still there for its messages.
 */
void dsm_pools_drain(struct dsm_node *n)
{
	u32 kind;
	void *obj;

	for (kind = 0; kind < DSM_POOL_COUNT; kind++)
		while (n->engine->pool[kind].count) {
			obj = dsm_pool_take(n->engine, kind);
			object_free(n, kind, obj);
		}
}
