// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Spinning for an answer of another machine before sleeping: what a wake-up and a halted
 * processor cost is more than a short answer takes. While a thread spins it serves completions
 * itself. Only ever shortens a wait: whoever calls it sleeps afterwards as if it had not.
 *
 * It gives way with yield() and not with cond_resched(): work items that the answer needs (those
 * of soft-RoCE on newer kernels) do not run before a task that asks for rescheduling politely.
 */
#include <linux/cpumask.h>
#include <linux/sched/signal.h>
#include <linux/swait.h>
#include <linux/sysfs.h>
#include "learn.h"
#include "shell.h"

/*
 * A processor that others use this long at a time is not ours to spin on. Once says nothing: a host
 * takes a processor away from its guest now and then.
 */
#define CROWDED_NS NSEC_PER_MSEC
#define CROWDED_JIFFIES (HZ / 25)

/* Answers rarely take longer than this many times the usual: then the spin ends. */
#define PATIENCE 2
#define SLACK_NS (50 * NSEC_PER_USEC)

/* What other threads do makes some waits long: one counts at most so many times the mean. */
#define OUTLIER 2

/*
 * What was measured of waits of one kind: running means of the whole wait, of those that slept
 * at once and of those that spun first (whether or not that was enough), for users and for the
 * limit; 0: none yet. What is chosen is learn.c's. Updated without a lock: a lost update does not
 * matter, and who takes a block's last place ends it. Like all of this file it is the machine's, not
 * a node's: what is measured is processors and the network.
 *
 * @waits: of this block
 */
static struct {
	u64 mean_ns[2];
	atomic_t waits;
	struct dsm_learn learn;
} kinds[DSM_SPIN_KINDS];

static atomic_t spinning = ATOMIC_INIT(0);
static unsigned long crowded_until;
static bool last_was_crowded;

static const char * const kind_names[] = {
	[DSM_SPIN_PAGE] = "page", [DSM_SPIN_READ] = "read", [DSM_SPIN_AHEAD] = "ahead",
	[DSM_SPIN_RELEASE] = "release", [DSM_SPIN_ANSWER] = "answer", [DSM_SPIN_LOCK] = "lock",
	[DSM_SPIN_BARRIER] = "barrier", [DSM_SPIN_FLAG] = "flag",
};
static_assert(ARRAY_SIZE(kind_names) == DSM_SPIN_KINDS);

/**
 * dsm_spin_show() - what was measured and chosen, a line per kind of wait
 * @buf: a page
 *
 * "KIND slept NS spun NS: choice": means, 0 if there was none yet; the choice is the way that was
 * faster in most of the last comparisons. While that is not clear both ways are taken in turn.
 *
 * Context: process.
 * Return: bytes written.
 */
int dsm_spin_show(char *buf)
{
	int kind, at = 0;

	for (kind = 0; kind < DSM_SPIN_KINDS; kind++) {
		u64 slept_ns = READ_ONCE(kinds[kind].mean_ns[false]);
		u64 spun_ns = READ_ONCE(kinds[kind].mean_ns[true]);
		int score = READ_ONCE(kinds[kind].learn.score);
		const char *choice = score > 0 ? "spin" : "sleep";

		at += sysfs_emit_at(buf, at, "%s slept %llu spun %llu: %s\n", kind_names[kind],
				    slept_ns, spun_ns, dsm_learn_is_sure(score) ? choice : "measuring");
	}
	return at;
}

/* Should this wait spin? */
static bool is_promising(enum dsm_spin_kind kind)
{
	if (READ_ONCE(dsm_param_poll_always))
		return true;
	if (time_before(jiffies, READ_ONCE(crowded_until)))
		return false;
	return READ_ONCE(kinds[kind].learn.spins);
}

static u64 limit_of(enum dsm_spin_kind kind)
{
	u64 usual_ns = READ_ONCE(kinds[kind].mean_ns[true]);
	u64 limit_ns = (u64)READ_ONCE(dsm_param_poll_us) * NSEC_PER_USEC;

	return usual_ns ? min(limit_ns, PATIENCE * usual_ns + SLACK_NS) : limit_ns;
}

/* A wait that did not go its block's way says nothing. */
static void note(enum dsm_spin_kind kind, bool spun, u64 took_ns)
{
	u32 n;

	if (spun != READ_ONCE(kinds[kind].learn.spins))
		return;
	n = atomic_inc_return_acquire(&kinds[kind].waits) - 1;
	if (n < DSM_LEARN_BLOCK)
		WRITE_ONCE(kinds[kind].learn.took_ns[n], took_ns);
	if (n != DSM_LEARN_BLOCK - 1)
		return;
	dsm_learn_block(&kinds[kind].learn);
	/* Pairs with the increment above: the next block begins with this one's outcome. */
	atomic_set_release(&kinds[kind].waits, 0);
}

/**
 * dsm_spin_learn() - a wait got its answer
 * @kind:    what was waited for
 * @spun:    what dsm_spin() returned
 * @took_ns: from before dsm_spin() to the end
 *
 * Context: any.
 */
void dsm_spin_learn(enum dsm_spin_kind kind, bool spun, u64 took_ns)
{
	u64 mean_ns = READ_ONCE(kinds[kind].mean_ns[spun]);

	note(kind, spun, took_ns);
	if (mean_ns)
		took_ns = mean_ns - mean_ns / 16 + min(took_ns, OUTLIER * mean_ns) / 16;
	WRITE_ONCE(kinds[kind].mean_ns[spun], max(took_ns, 1ull));
}

/* Let others run. False: they took so long that sleeping is cheaper for all. */
static bool give_way(void)
{
	u64 start = dsm_now_ns();

	yield();
	return dsm_now_ns() - start < CROWDED_NS;
}

/* False: others had the processor for too long. */
static bool spin(struct dsm_net *net, u16 node, u64 limit_ns, bool (*is_over)(void *arg), void *arg)
{
	u64 end = dsm_now_ns() + limit_ns;

	while (!is_over(arg) && !signal_pending(current) && dsm_now_ns() < end)
		if (!dsm_net_poll(net, node) && !give_way())
			return false;
	return true;
}

/* Two spins in a row say that it is so. */
static void learn_crowd(bool crowded)
{
	if (crowded && READ_ONCE(last_was_crowded))
		WRITE_ONCE(crowded_until, jiffies + CROWDED_JIFFIES);
	WRITE_ONCE(last_was_crowded, crowded);
}

/**
 * dsm_spin() - spin until a condition holds, for poll_us at most
 * @n:       node
 * @kind:    what is waited for; how such waits went decides whether this one spins
 * @node:    whose answer it is, DSM_NO_NODE: anybody's
 * @is_over: condition; takes no sleeping lock
 * @arg:     its argument
 *
 * The caller sleeps afterwards until the condition holds, as if this had not been called, and
 * then tells dsm_spin_learn() how long it took.
 *
 * Context: process, no lock held; sleeps as handlers of messages do. Returns early when a
 *          signal is pending.
 * Return: true if it did spin.
 */
bool dsm_spin(struct dsm_node *n, enum dsm_spin_kind kind, u16 node, bool (*is_over)(void *arg),
	      void *arg)
{
	struct dsm_net *net = n->net;
	bool spun = false;

	if (!READ_ONCE(dsm_param_poll_us) || !net || is_over(arg) || !is_promising(kind))
		return false;
	if (atomic_inc_return(&spinning) <= (int)num_online_cpus()) {
		dsm_net_spin_begin(net);
		learn_crowd(!spin(net, node, limit_of(kind), is_over, arg));
		dsm_net_spin_end(net);
		spun = true;
	}
	atomic_dec(&spinning);
	return spun;
}

/**
 * dsm_spin_nap() - what schedule() is to a thread that waits for another machine's answer
 * @n: node
 *
 * It may serve completions before it returns.
 *
 * Context: process, no lock held, state set to what it sleeps in; sleeps as dsm_spin().
 */
void dsm_spin_nap(struct dsm_node *n)
{
	if (n->net)
		dsm_net_nap(n->net);
	else
		schedule();
}

static bool is_completed(void *arg)
{
	return completion_done(arg);
}

/**
 * dsm_spin_sleep() - wait until a waiter of the engine is told its result
 * @n:        node
 * @kind:     what is waited for
 * @wait:     waiter
 * @killable: only fatal signals end it, else all do
 *
 * Spins first if that has proved to be worth it.
 *
 * Context: as dsm_spin().
 * Return: 0, -ERESTARTSYS a signal came first.
 */
int dsm_spin_sleep(struct dsm_node *n, enum dsm_spin_kind kind, struct dsm_wait *wait,
		   bool killable)
{
	u64 start = dsm_now_ns();
	bool spun;
	int ret;

	if (completion_done(&wait->done))
		return 0;
	spun = dsm_spin(n, kind, DSM_NO_NODE, is_completed, &wait->done);
	if (killable)
		ret = ___swait_event(wait->done.wait, completion_done(&wait->done), TASK_KILLABLE, 0,
				     dsm_spin_nap(n));
	else
		ret = ___swait_event(wait->done.wait, completion_done(&wait->done),
				     TASK_INTERRUPTIBLE, 0, dsm_spin_nap(n));
	if (!ret)
		dsm_spin_learn(kind, spun, dsm_now_ns() - start);
	return ret;
}
