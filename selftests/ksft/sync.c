// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* Locks, barriers and flags as one node sees them; signals and deaths of the processes that use them. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/time.h>
#include <time.h>
#include "harness.h"
#include "ksft.h"

FIXTURE(sync) {
	struct region r;
	volatile uint64_t *p;
	volatile int *shared;
};

FIXTURE_SETUP(sync)
{
	ASSERT_EQ(0, make_region(&self->r, 16 * PAGE));
	self->p = (uint64_t *)map_region(&self->r, 16, 0, PROT_READ | PROT_WRITE);
	self->shared = shared_bytes(PAGE);
}

FIXTURE_TEARDOWN_PARENT(sync)
{
	EXPECT_EQ(0, end_region(&self->r));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int lock_call(int fd, unsigned long cmd, uint64_t key, uint32_t flags, uint64_t deadline)
{
	struct dsm_ioc_lock a = {
		.size = sizeof(a), .flags = flags, .key = key, .deadline_ns = deadline,
	};

	return ioctl(fd, cmd, &a) ? -errno : 0;
}

static int lock(int fd, uint64_t key)
{
	return lock_call(fd, DSM_IOC_LOCK, key, 0, 0);
}

static int unlock(int fd, uint64_t key)
{
	return lock_call(fd, DSM_IOC_UNLOCK, key, 0, 0);
}

static int barrier(int fd, uint64_t key, uint32_t parties)
{
	struct dsm_ioc_barrier a = { .size = sizeof(a), .key = key, .parties = parties };

	return ioctl(fd, DSM_IOC_BARRIER, &a) ? -errno : 0;
}

static int flag(int fd, unsigned long cmd, uint64_t key)
{
	struct dsm_ioc_flag a = { .size = sizeof(a), .key = key };

	return ioctl(fd, cmd, &a) ? -errno : 0;
}

static void handler(int sig)
{
}

/* Starts a child that makes one call; the parent returns when it sleeps in it. */
#define START_WAITER(pid, call) do {					\
	*self->shared = 0;						\
	(pid) = fork();							\
	if (!(pid)) {							\
		struct sigaction sa = { .sa_handler = handler };	\
									\
		sigaction(SIGUSR1, &sa, NULL);				\
		*self->shared = 1;					\
		_exit(-(call));						\
	}								\
	ASSERT_TRUE(wait_word(self->shared, 1));			\
	ASSERT_TRUE(wait_asleep(pid));					\
} while (0)

TEST_F(sync, lock_excludes_processes_and_carries_writes)
{
	pid_t pids[4];
	int i, k;

	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			for (k = 0; k < 200; k++) {
				if (lock(self->r.fd, 1))
					_exit(1);
				*self->p += 1;
				if (unlock(self->r.fd, 1))
					_exit(2);
			}
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, child_status(pids[i]));
	EXPECT_EQ(800u, *self->p);
}

TEST_F(sync, any_64_bit_key_is_a_lock)
{
	uint64_t keys[] = { 0, 1, 0xffffffffull, 1ull << 32, 1ull << 63, ~0ull };
	size_t i;

	for (i = 0; i < 6; i++)
		EXPECT_EQ(0, lock(self->r.fd, keys[i]));
	for (i = 0; i < 6; i++)
		EXPECT_EQ(0, unlock(self->r.fd, keys[i]));
}

TEST_F(sync, locking_twice_is_refused)
{
	ASSERT_EQ(0, lock(self->r.fd, 2));
	EXPECT_EQ(-EDEADLK, lock(self->r.fd, 2));
	EXPECT_EQ(0, unlock(self->r.fd, 2));
	EXPECT_EQ(-EPERM, unlock(self->r.fd, 2));
}

TEST_F(sync, only_the_holder_may_unlock)
{
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, 3));
	pid = fork();
	if (!pid)
		_exit(-unlock(self->r.fd, 3));
	EXPECT_EQ(EPERM, child_status(pid));
	EXPECT_EQ(0, unlock(self->r.fd, 3));
}

TEST_F(sync, held_lock_is_busy_to_those_who_only_try)
{
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, 4));
	pid = fork();
	if (!pid)
		_exit(-lock_call(self->r.fd, DSM_IOC_LOCK, 4, DSM_LOCK_TRY, 0));
	EXPECT_EQ(EBUSY, child_status(pid));
	EXPECT_EQ(0, unlock(self->r.fd, 4));
	EXPECT_EQ(0, lock_call(self->r.fd, DSM_IOC_LOCK, 4, DSM_LOCK_TRY, 0));
	EXPECT_EQ(0, unlock(self->r.fd, 4));
}

TEST_F(sync, timed_lock_gives_up_at_its_deadline)
{
	uint64_t begin = now_ns();
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, 5));
	pid = fork();
	if (!pid)
		_exit(-lock_call(self->r.fd, DSM_IOC_LOCK, 5, DSM_LOCK_TIMED, begin + 300000000));
	EXPECT_EQ(ETIMEDOUT, child_status(pid));
	EXPECT_GE(now_ns(), begin + 300000000);
	EXPECT_EQ(0, unlock(self->r.fd, 5));
	EXPECT_EQ(0, lock_call(self->r.fd, DSM_IOC_LOCK, 5, DSM_LOCK_TIMED, now_ns() + 5000000000));
	EXPECT_EQ(0, unlock(self->r.fd, 5));
}

/* A child's monotonic clock is @s seconds ahead; false: not with this kernel. */
static bool shift_clock(long s)
{
	FILE *f;

	if (unshare(CLONE_NEWTIME))
		return false;
	f = fopen("/proc/self/timens_offsets", "w");
	return f && fprintf(f, "monotonic %ld 0\n", s) > 0 && !fclose(f);
}

/* As in a container that was moved here: a clock ahead of the machine's makes no wait longer, one behind none shorter. */
TEST_F(sync, deadlines_are_by_the_clock_of_the_caller)
{
	uint64_t begin = now_ns();
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (!shift_clock(100000))
			_exit(77);
		ASSERT_EQ(0, lock(self->r.fd, 5));
		pid = fork();
		if (!pid)
			_exit(-lock_call(self->r.fd, DSM_IOC_LOCK, 5, DSM_LOCK_TIMED, now_ns() + 300000000));
		_exit(child_status(pid));
	}
	status = child_status(pid);
	if (status == 77)
		SKIP(return, "this kernel has no time namespaces");
	EXPECT_EQ(ETIMEDOUT, status);
	EXPECT_GE(now_ns(), begin + 300000000);
}

TEST_F(sync, waiter_gets_the_lock_when_it_is_free)
{
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, 6));
	START_WAITER(pid, lock(self->r.fd, 6));
	EXPECT_EQ(0, unlock(self->r.fd, 6));
	EXPECT_EQ(0, child_status(pid));
	/* It ended without unlocking. */
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, 6));
	EXPECT_EQ(0, lock_call(self->r.fd, DSM_IOC_LOCK_CONSISTENT, 6, 0, 0));
	EXPECT_EQ(0, unlock(self->r.fd, 6));
	EXPECT_EQ(0, lock(self->r.fd, 6));
	EXPECT_EQ(0, unlock(self->r.fd, 6));
}

TEST_F(sync, signal_ends_the_wait_for_a_lock)
{
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, 7));
	START_WAITER(pid, lock(self->r.fd, 7));
	kill(pid, SIGUSR1);
	EXPECT_EQ(EINTR, child_status(pid));
	EXPECT_EQ(0, unlock(self->r.fd, 7));
	EXPECT_EQ(0, lock(self->r.fd, 7));
	EXPECT_EQ(0, unlock(self->r.fd, 7));
}

TEST_F(sync, killed_waiter_does_not_keep_the_lock)
{
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, 8));
	START_WAITER(pid, lock(self->r.fd, 8));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, child_status(pid));
	EXPECT_EQ(0, unlock(self->r.fd, 8));
	EXPECT_EQ(0, lock(self->r.fd, 8));
	EXPECT_EQ(0, unlock(self->r.fd, 8));
}

TEST_F(sync, next_taker_learns_that_the_holder_was_killed)
{
	pid_t pid = fork();

	if (!pid) {
		if (lock(self->r.fd, 9))
			_exit(1);
		self->p[0] = 99;
		kill(getpid(), SIGKILL);
	}
	EXPECT_EQ(128 + SIGKILL, child_status(pid));
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, 9));
	EXPECT_EQ(99u, self->p[0]);
	EXPECT_EQ(0, lock_call(self->r.fd, DSM_IOC_LOCK_CONSISTENT, 9, 0, 0));
	EXPECT_EQ(0, unlock(self->r.fd, 9));
}

TEST_F(sync, many_keys_in_a_row)
{
	uint64_t k;

	for (k = 0; k < 2000; k++) {
		ASSERT_EQ(0, lock(self->r.fd, k * 0x9e3779b97f4a7c15ull));
		ASSERT_EQ(0, unlock(self->r.fd, k * 0x9e3779b97f4a7c15ull));
	}
}

#define PARTIES 5

struct party {
	pthread_t thread;
	int fd, me, wrong;
	volatile uint64_t *p;
};

static void *meet(void *arg)
{
	struct party *t = arg;
	int round, i;

	for (round = 1; round <= 30; round++) {
		t->p[t->me * 64] = round;
		t->wrong += barrier(t->fd, 1, PARTIES) != 0;
		for (i = 0; i < PARTIES; i++)
			t->wrong += t->p[i * 64] != (uint64_t)round;
		t->wrong += barrier(t->fd, 1, PARTIES) != 0;
	}
	return NULL;
}

TEST_F(sync, barrier_waits_for_all_and_carries_writes)
{
	struct party parties[PARTIES];
	int i;

	for (i = 0; i < PARTIES; i++) {
		parties[i] = (struct party){ .fd = self->r.fd, .me = i, .p = self->p };
		ASSERT_EQ(0, pthread_create(&parties[i].thread, NULL, meet, &parties[i]));
	}
	for (i = 0; i < PARTIES; i++) {
		pthread_join(parties[i].thread, NULL);
		EXPECT_EQ(0, parties[i].wrong);
	}
}

TEST_F(sync, barrier_of_one_does_not_wait)
{
	EXPECT_EQ(0, barrier(self->r.fd, 7, 1));
	EXPECT_EQ(0, barrier(self->r.fd, 7, 1));
	EXPECT_EQ(0, barrier(self->r.fd, ~0ull, 1));
}

TEST_F(sync, barrier_goes_on_after_a_signal)
{
	pid_t pid;

	START_WAITER(pid, barrier(self->r.fd, 2, 2));
	kill(pid, SIGUSR1);
	EXPECT_EQ(0, barrier(self->r.fd, 2, 2));
	EXPECT_EQ(0, child_status(pid));
}

TEST_F(sync, barrier_fails_if_a_party_was_killed_inside)
{
	pid_t killed, other;

	START_WAITER(killed, barrier(self->r.fd, 3, 3));
	START_WAITER(other, barrier(self->r.fd, 3, 3));
	kill(killed, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, child_status(killed));
	EXPECT_EQ(EOWNERDEAD, child_status(other));
}

TEST_F(sync, barrier_refuses_another_number_of_parties)
{
	pid_t pid;

	START_WAITER(pid, barrier(self->r.fd, 4, 2));
	EXPECT_EQ(-EINVAL, barrier(self->r.fd, 4, 3));
	EXPECT_EQ(0, barrier(self->r.fd, 4, 2));
	EXPECT_EQ(0, child_status(pid));
}

static void *end_with_files_of_its_own(void *unused)
{
	return (void *)(long)unshare(CLONE_FILES);
}

static void *wait_at_barrier(void *arg)
{
	return (void *)(long)barrier(*(int *)arg, 5, 2);
}

/* Its last close is not its process's. */
TEST_F(sync, thread_that_ends_takes_nothing_from_its_siblings)
{
	pthread_t waiter, other;
	void *got;
	int i;

	ASSERT_EQ(0, lock(self->r.fd, 1));
	ASSERT_EQ(0, pthread_create(&waiter, NULL, wait_at_barrier, &self->r.fd));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, pthread_create(&other, NULL, end_with_files_of_its_own, NULL));
		ASSERT_EQ(0, pthread_join(other, &got));
		ASSERT_EQ(NULL, got);
	}
	EXPECT_EQ(0, barrier(self->r.fd, 5, 2));
	ASSERT_EQ(0, pthread_join(waiter, &got));
	EXPECT_EQ(NULL, got);
	EXPECT_EQ(0, unlock(self->r.fd, 1));
}

static sigjmp_buf interrupted;
static volatile sig_atomic_t jumps;

static void jump(int sig)
{
	if (jumps)
		siglongjmp(interrupted, 1);
}

/* A barrier whose wait is left in a signal handler, unless that fails. */
static int leave_barrier(int fd, uint64_t key, bool jumping)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 20000 } };

	jumps = jumping;
	if (sigsetjmp(interrupted, 1))
		return 0;
	setitimer(ITIMER_REAL, &soon, NULL);
	return barrier(fd, key, 2);
}

static int limit_locks(unsigned int most)
{
	FILE *f = fopen("/sys/module/dsm/parameters/locks_per_user", "w");

	return f && fprintf(f, "%u\n", most) > 0 && !fclose(f) ? 0 : -errno;
}

/* They are there until the process ends. */
TEST_F(sync, barriers_that_are_left_count_to_the_limit_of_locks)
{
	struct sigaction sa = { .sa_handler = jump };
	pid_t pid;

	ASSERT_EQ(0, limit_locks(2));
	pid = fork();
	if (!pid) {
		sigaction(SIGALRM, &sa, NULL);
		if (leave_barrier(self->r.fd, 1, true) || leave_barrier(self->r.fd, 2, true))
			_exit(1);
		_exit(-leave_barrier(self->r.fd, 3, false));
	}
	EXPECT_EQ(EDQUOT, child_status(pid));
	EXPECT_EQ(0, lock(self->r.fd, 1));
	EXPECT_EQ(0, lock(self->r.fd, 2));
	EXPECT_EQ(-EDQUOT, lock(self->r.fd, 3));
	EXPECT_EQ(0, unlock(self->r.fd, 1));
	EXPECT_EQ(0, unlock(self->r.fd, 2));
	EXPECT_EQ(0, limit_locks(1u << 20));
}

TEST_F(sync, flag_wakes_its_waiters)
{
	pid_t a, b;

	START_WAITER(a, flag(self->r.fd, DSM_IOC_FLAG_WAIT, 1));
	START_WAITER(b, flag(self->r.fd, DSM_IOC_FLAG_WAIT, 1));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, 1));
	EXPECT_EQ(0, child_status(a));
	EXPECT_EQ(0, child_status(b));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_WAIT, 1));
	EXPECT_EQ(-EALREADY, flag(self->r.fd, DSM_IOC_FLAG_SET, 1));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_CLEAR, 1));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, 1));
}

TEST_F(sync, signal_ends_the_wait_for_a_flag)
{
	pid_t pid;

	START_WAITER(pid, flag(self->r.fd, DSM_IOC_FLAG_WAIT, 2));
	kill(pid, SIGUSR1);
	EXPECT_EQ(EINTR, child_status(pid));
	START_WAITER(pid, flag(self->r.fd, DSM_IOC_FLAG_WAIT, 2));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, child_status(pid));
}

/* Stops a process and sees that it is. */
static bool stop(pid_t pid)
{
	int status;

	return !kill(pid, SIGSTOP) && waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
}

/* As by Ctrl-Z, a debugger or a checkpoint: what is waited for may come before or after it goes on. */
TEST_F(sync, processes_that_are_stopped_and_go_on_wait_on)
{
	pid_t early, late, locker;

	ASSERT_EQ(0, lock(self->r.fd, 6));
	START_WAITER(early, flag(self->r.fd, DSM_IOC_FLAG_WAIT, 6));
	START_WAITER(late, flag(self->r.fd, DSM_IOC_FLAG_WAIT, 7));
	START_WAITER(locker, lock(self->r.fd, 6));
	ASSERT_TRUE(stop(early));
	ASSERT_TRUE(stop(late));
	ASSERT_TRUE(stop(locker));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, 6));
	kill(early, SIGCONT);
	kill(late, SIGCONT);
	kill(locker, SIGCONT);
	EXPECT_EQ(0, child_status(early));
	EXPECT_TRUE(wait_asleep(late));
	EXPECT_TRUE(wait_asleep(locker));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, 7));
	EXPECT_EQ(0, unlock(self->r.fd, 6));
	EXPECT_EQ(0, child_status(late));
	EXPECT_EQ(0, child_status(locker));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_CLEAR, 6));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_CLEAR, 7));
	/* It took the lock and ended. */
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, 6));
}

TEST_F(sync, kinds_of_keys_are_separate)
{
	EXPECT_EQ(0, lock(self->r.fd, 10));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, 10));
	EXPECT_EQ(0, barrier(self->r.fd, 10, 1));
	EXPECT_EQ(0, unlock(self->r.fd, 10));
}

TEST_F(sync, regions_have_keys_of_their_own)
{
	int other = open("/dev/dsm", O_RDWR);

	EXPECT_EQ(0, lock(self->r.fd, 11));
	EXPECT_EQ(0, lock(other, 11));
	EXPECT_EQ(0, unlock(other, 11));
	EXPECT_EQ(0, unlock(self->r.fd, 11));
}

TEST_F(sync, prefetch_takes_any_range_inside)
{
	struct dsm_ioc_range a = { .size = sizeof(a), .len = self->r.bytes };

	EXPECT_EQ(0, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
	a.offset = self->r.bytes;
	EXPECT_ERRNO(EINVAL, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
	a.len = 0;
	EXPECT_EQ(0, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
	a.offset = ~0ull;
	EXPECT_ERRNO(EINVAL, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
}

TEST_F(sync, prefetch_takes_pieces_that_are_all_inside)
{
	struct dsm_ioc_range a = { .size = sizeof(a), .len = 8, .stride = 2 * PAGE, .count = self->r.bytes / (2 * PAGE) };

	EXPECT_EQ(0, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
	a.count++;
	EXPECT_ERRNO(EINVAL, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
	a.stride = 0;
	a.count = ~0ull;
	EXPECT_EQ(0, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
	a.stride = 1;
	EXPECT_ERRNO(EINVAL, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
	a.stride = 1ull << 63;
	a.count = 3;
	EXPECT_ERRNO(EINVAL, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
	a.len = self->r.bytes + 1;
	a.count = 1;
	EXPECT_ERRNO(EINVAL, ioctl(self->r.fd, DSM_IOC_PREFETCH, &a));
}

TEST_HARNESS_MAIN
