// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: locks. A key that nobody has used yet has its token free at its manager, so fresh
 * keys give the remote acquire; the counters of the module say which they were. Writes nothing
 * under any lock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../uapi/dsm.h"
#include "bench.h"

#define FRESH_KEYS 0x10000000ull
#define PASSED_KEY 0xbe0002ull
#define OWN_KEY 0xbe0003ull
#define HOLD_NS 1.5e6
#define IDLE_NS 4e6
#define HOLD_MOST_NS 12e6
#define COMPUTE_NS 2e6
#define BATCH 100
#define HOLDS_OFFSET (48ul << 20)
#define OWN_OFFSET (50ul << 20)

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif

static void lock(const struct bench *b, uint64_t key)
{
	bench_check(dsm_lock(b->d, key), "lock");
}

static void unlock(const struct bench *b, uint64_t key)
{
	bench_check(dsm_unlock(b->d, key), "unlock");
}

/* Keys that were used before: with sync=rdma the lock is free, and where its word is, is known. */
static void used_keys(const struct bench *b, const uint64_t *keys, long n)
{
	struct series known;
	uint64_t before;
	double us;
	long i;

	series_init(&known, "lock_remote_known", "us", n, b);
	before = bench_stat(b, DSM_STAT_LOCKS_REMOTE);
	for (i = 0; i < n; i++) {
		uint64_t now;

		series_start(&known, b);
		lock(b, keys[i]);
		us = (bench_now_ns() - known.begin) / 1e3;
		now = bench_stat(b, DSM_STAT_LOCKS_REMOTE);
		/* With sync=msg its token has stayed here. */
		if (now != before)
			series_add(&known, us);
		before = now;
		unlock(b, keys[i]);
	}
	series_print(&known, b);
}

/*
 * A counter says afterwards where the key's manager is; a trial of the other kind is taken back.
 * A key is used once, so that its token is where it was born.
 */
static void free_tokens(const struct bench *b)
{
	static uint64_t next = FRESH_KEYS;
	long trials = bench_trials(b, 300), tries;
	struct series remote, local, gone;
	uint64_t before, keys[300];

	if (b->rank != 1)
		return;
	series_init(&remote, "lock_remote", "us", trials, b);
	series_init(&gone, "unlock_remote", "us", trials, NULL);
	series_init(&local, "lock_first_local", "us", trials, NULL);
	before = bench_stat(b, DSM_STAT_LOCKS_REMOTE);
	for (tries = 0; remote.n < trials && tries < 20 * trials; tries++) {
		uint64_t key = next++, now;
		double us;

		series_start(&remote, b);
		lock(b, key);
		us = (bench_now_ns() - remote.begin) / 1e3;
		now = bench_stat(b, DSM_STAT_LOCKS_REMOTE);
		if (now != before) {
			if (remote.n < 300)
				keys[remote.n] = key;
			series_add(&remote, us);
		} else {
			series_add(&local, us);
		}
		series_start(&gone, NULL);
		unlock(b, key);
		if (now != before)
			series_stop(&gone);
		before = now;
	}
	used_keys(b, keys, remote.n < 300 ? remote.n : 300);
	series_print(&remote, b);
	series_print(&gone, b);
	series_print(&local, b);
}

static void token_here(const struct bench *b)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	long trials = bench_trials(b, 200), i, k;
	struct series s, m;

	if (b->rank != 1)
		return;
	series_init(&s, "lock_unlock_cached", "ns", trials, b);
	series_init(&m, "mutex_lock_unlock", "ns", trials, NULL);
	lock(b, OWN_KEY);
	unlock(b, OWN_KEY);
	for (i = 0; i < trials; i++) {
		series_start(&s, b);
		for (k = 0; k < BATCH; k++) {
			lock(b, OWN_KEY);
			unlock(b, OWN_KEY);
		}
		series_add(&s, (bench_now_ns() - s.begin) / BATCH);
		series_start(&m, NULL);
		for (k = 0; k < BATCH; k++) {
			pthread_mutex_lock(&mutex);
			pthread_mutex_unlock(&mutex);
		}
		series_add(&m, (bench_now_ns() - m.begin) / BATCH);
	}
	series_print(&s, b);
	series_print(&m, b);
}

/* Syscall user dispatch: the kernel sends SIGSYS instead of doing a call while this is set. */
static volatile char dispatch;
static volatile sig_atomic_t calls;

static void on_call(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	greg_t *r = u->uc_mcontext.gregs;

	(void)number;
	dispatch = 0;
	calls++;
	r[REG_RAX] = syscall(info->si_syscall, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10],
			     r[REG_R8], r[REG_R9]);
	if (r[REG_RAX] == -1)
		r[REG_RAX] = -errno;
}

/* The first call is counted and let through with all that follow it. */
static int any_call(void (*op)(const struct bench *, uint64_t), const struct bench *b)
{
	calls = 0;
	dispatch = 1;
	op(b, OWN_KEY);
	dispatch = 0;
	return calls;
}

static void system_calls(const struct bench *b)
{
	struct sigaction act = { .sa_sigaction = on_call, .sa_flags = SA_SIGINFO };
	int n;

	if (b->rank != 1 || sigaction(SIGSYS, &act, NULL) ||
	    prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &dispatch))
		return;
	n = any_call(lock, b);
	n += any_call(unlock, b);
	n += any_call(lock, b);
	n += any_call(unlock, b);
	prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
	signal(SIGSYS, SIG_DFL);
	bench_print_value("lock_unlock_cached_syscalls", "count", n / 2.0, b->rank);
}

/*
 * Gives way all the time, as a poller does, so that the other's request is taken; or sleeps, and
 * then the host may fall asleep as well.
 */
static void hold(double ns, bool idle)
{
	const struct timespec pause = { .tv_nsec = (long)ns };
	double end = bench_now_ns() + ns;

	if (idle)
		nanosleep(&pause, NULL);
	while (!idle && bench_now_ns() < end)
		sched_yield();
}

static uint64_t messages(const struct bench *b)
{
	return bench_stat(b, DSM_STAT_MSGS_SENT) + bench_stat(b, DSM_STAT_MSGS_RECEIVED);
}

/* Did the other hold the lock between both ranks' turns, but for a few? Else nobody was waiting. */
static bool were_passed(const struct bench *b, long alone, long turns)
{
	volatile long *own = (volatile long *)(b->base + OWN_OFFSET);
	bool good;

	if (b->rank < 2)
		own[b->rank] = alone;
	bench_barrier(b);
	good = own[0] + own[1] <= turns / 20;
	bench_barrier(b);
	return good;
}

/*
 * Ranks 0 and 1 take turns, each with its next request queued while the other holds. From an
 * unlock to the same rank's next lock there are two hand-overs and one hold, and the holder's
 * own clock says how long that was, so two clocks are never compared. Who gave it up asks again at
 * once, or computes first, for less than a hold. False: the hold is shorter than a request takes.
 */
static bool handed_over(const struct bench *b, const char *name, double hold_ns, bool idle,
			double compute_ns)
{
	volatile double *holds = (volatile double *)(b->base + HOLDS_OFFSET);
	long trials = bench_trials(b, 100), alone = 0, i;
	struct series mine, result;
	double gap, ended = 0;
	uint64_t sent;
	char text[64];
	bool good;

	series_init(&mine, "gap", "us", trials + 1, NULL);
	series_init(&result, name, "us", trials, NULL);
	sent = messages(b);
	for (i = 0; b->rank < 2 && i <= trials; i++) {
		double begun;

		lock(b, PASSED_KEY);
		begun = bench_now_ns();
		gap = begun - ended;
		alone += gap < hold_ns;
		hold(hold_ns, idle);
		ended = bench_now_ns();
		unlock(b, PASSED_KEY);
		series_add(&mine, b->rank ? gap / 1e3 : (ended - begun) / 1e3);
		while (bench_now_ns() < ended + compute_ns)
			;
	}
	sent = messages(b) - sent;
	for (i = 0; !b->rank && i < trials; i++)
		holds[i] = mine.value[i];
	good = were_passed(b, alone, trials);
	/* The first turn and the last are nobody's; whoever began, a hold lies in each gap. */
	for (i = 2; good && b->rank == 1 && i < trials; i++)
		series_add(&result, (mine.value[i] - holds[i]) / 2);
	series_print(&result, b);
	/* Of two nodes one sends or receives all there are; with sync=rdma signals take their place. */
	snprintf(text, sizeof(text), "%s_messages", name);
	if (good && b->rank == 1 && b->ranks == 2)
		bench_print_value(text, "count", (double)sent / (2 * (double)(trials + 1)), b->rank);
	mine.n = 0;
	series_print(&mine, b);
	bench_barrier(b);
	return good;
}

/* With the shortest hold that lets requests come in time; on a busy host none may do. */
static void take_turns(const struct bench *b, const char *name, bool idle, double compute_ns)
{
	double ns = idle ? IDLE_NS : HOLD_NS;

	while (!handed_over(b, name, ns, idle, compute_ns) && ns < HOLD_MOST_NS)
		ns *= 2;
}

int test_lock(struct bench *b)
{
	bench_barrier(b);
	free_tokens(b);
	bench_barrier(b);
	token_here(b);
	bench_barrier(b);
	system_calls(b);
	bench_barrier(b);
	take_turns(b, "lock_handover", false, 0);
	bench_barrier(b);
	take_turns(b, "lock_handover_idle", true, 0);
	bench_barrier(b);
	take_turns(b, "lock_handover_computing", true, COMPUTE_NS);
	return 0;
}

int test_barrier(struct bench *b)
{
	long trials = bench_trials(b, 300), i;
	char name[32];
	struct series s;

	snprintf(name, sizeof(name), "barrier_%d", b->ranks);
	series_init(&s, name, "us", trials, b);
	for (i = 0; i < 5; i++)
		bench_barrier(b);
	for (i = 0; i < trials; i++) {
		series_start(&s, b);
		bench_barrier(b);
		series_stop(&s);
	}
	series_print(&s, b);
	return 0;
}
