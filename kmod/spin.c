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
#include "shell.h"

/* A processor that others use this long at a time is not ours to spin on. */
#define CROWDED_NS NSEC_PER_MSEC
#define CROWDED_JIFFIES (HZ / 50)

/*
 * A spin that finds its answer gains the wake-up, one that does not loses all its time, which is
 * many times that: one miss outweighs this many hits. While misses prevail, only now and then a
 * wait spins, to see whether things have changed.
 */
#define MISS_WEIGHT 16
#define SCORE_MAX (8 * MISS_WEIGHT)
#define SCORE_POOR (2 * MISS_WEIGHT)
#define PROBE_INTERVAL 16

/* Answers rarely take longer than this many times the usual. */
#define PATIENCE 2
#define SLACK_NS (50 * NSEC_PER_USEC)

/*
 * What is known of waits of one kind. Updated without a lock: a lost update does not matter.
 * usual_ns: running mean of spins that found their answer, 0: none yet.
 */
static struct {
	int score;
	u32 skipped;
	u64 usual_ns;
} kinds[DSM_SPIN_KINDS];

static atomic_t spinning = ATOMIC_INIT(0);
static unsigned long crowded_until;

static bool is_promising(enum dsm_spin_kind kind)
{
	if (time_before(jiffies, READ_ONCE(crowded_until)))
		return false;
	if (READ_ONCE(kinds[kind].score) < SCORE_POOR)
		return true;
	WRITE_ONCE(kinds[kind].skipped, READ_ONCE(kinds[kind].skipped) + 1);
	return READ_ONCE(kinds[kind].skipped) % PROBE_INTERVAL == 0;
}

static void learn(enum dsm_spin_kind kind, bool hit, u64 took_ns)
{
	u64 usual_ns = READ_ONCE(kinds[kind].usual_ns);
	int score = READ_ONCE(kinds[kind].score);

	score = hit ? max(score - 1, 0) : min(score + MISS_WEIGHT, SCORE_MAX);
	WRITE_ONCE(kinds[kind].score, score);
	/* A limit that has become too short grows again by its misses. */
	if (!hit)
		took_ns = usual_ns + usual_ns / 2;
	if (usual_ns || hit)
		usual_ns = usual_ns ? usual_ns - usual_ns / 8 + took_ns / 8 : took_ns;
	WRITE_ONCE(kinds[kind].usual_ns, usual_ns);
}

static u64 limit_of(enum dsm_spin_kind kind)
{
	u64 usual_ns = READ_ONCE(kinds[kind].usual_ns);
	u64 limit_ns = (u64)READ_ONCE(dsm_param_poll_us) * NSEC_PER_USEC;

	return usual_ns ? min(limit_ns, PATIENCE * usual_ns + SLACK_NS) : limit_ns;
}

/* Let others run. False: they took so long that sleeping is cheaper for all. */
static bool give_way(void)
{
	u64 start = dsm_now_ns();

	yield();
	if (dsm_now_ns() - start < CROWDED_NS)
		return true;
	WRITE_ONCE(crowded_until, jiffies + CROWDED_JIFFIES);
	return false;
}

static void spin(struct dsm_net *net, enum dsm_spin_kind kind, u16 node,
		 bool (*is_over)(void *arg), void *arg)
{
	u64 start = dsm_now_ns(), end = start + limit_of(kind), now = start;
	bool hit;

	for (;;) {
		hit = is_over(arg);
		if (hit || signal_pending(current) || now >= end)
			break;
		if (!dsm_net_poll(net, node) && !give_way())
			end = 0;
		now = dsm_now_ns();
	}
	if (hit || !signal_pending(current))
		learn(kind, hit, now - start);
}

/**
 * dsm_spin() - spin until a condition holds, for poll_us at most
 * @kind:    what is waited for; how such waits went decides whether spinning is worth it
 * @node:    whose answer it is, DSM_NO_NODE: anybody's
 * @is_over: condition; takes no sleeping lock
 * @arg:     its argument
 *
 * Context: process, no lock held; sleeps as handlers of messages do. Returns early when a
 *          signal is pending.
 */
void dsm_spin(enum dsm_spin_kind kind, u16 node, bool (*is_over)(void *arg), void *arg)
{
	struct dsm_net *net = dsm_node.net;

	if (!READ_ONCE(dsm_param_poll_us) || !net || is_over(arg) || !is_promising(kind))
		return;
	if (atomic_inc_return(&spinning) <= (int)num_online_cpus()) {
		dsm_net_spin_begin(net);
		spin(net, kind, node, is_over, arg);
		dsm_net_spin_end(net);
	}
	atomic_dec(&spinning);
}

static bool is_completed(void *arg)
{
	return completion_done(arg);
}

/**
 * dsm_spin_wait() - spin until a waiter of the engine is told its result, for poll_us at most
 * @kind: what is waited for
 * @wait: waiter; the caller waits for it afterwards in any case
 *
 * Context: as dsm_spin().
 */
void dsm_spin_wait(enum dsm_spin_kind kind, struct dsm_wait *wait)
{
	dsm_spin(kind, DSM_NO_NODE, is_completed, &wait->done);
}
