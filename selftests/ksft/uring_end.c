// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* The ends of rings, threads, files and processes with commands of io_uring pending. */
#include <pthread.h>
#include <sched.h>
#include "uring.h"

/* Pending: a lock that somebody holds, a barrier of three, a flag, each on several managers. */
static void leave_pending(struct io_uring *ring, int fd)
{
	uint64_t i;

	for (i = 0; i < 4; i++) {
		prep(ring, fd, DSM_URING_LOCK, K, 0, 1);
		prep(ring, fd, DSM_URING_TIMEDLOCK, K, ~0ull, 2);
		prep(ring, fd, DSM_URING_BARRIER, K + i, 3, 3);
		prep(ring, fd, DSM_URING_FLAG_WAIT, K + i, 0, 4);
		prep(ring, fd, DSM_URING_FLAG_WAIT, K + i, 0, 5)->flags = IOSQE_ASYNC;
	}
	io_uring_submit(ring);
}

/* What leave_pending() left is over: the barriers failed, the lock goes on to those who live. */
#define EXPECT_OVER(r) do {							\
	uint64_t over;								\
										\
	for (over = 0; over < 4; over++)					\
		EXPECT_EQ(-EOWNERDEAD, barrier((r)->fd, K + over, 3));		\
	EXPECT_EQ(0, unlock((r)->fd, K));					\
	EXPECT_EQ(0, lock((r)->fd, K));						\
	EXPECT_EQ(0, unlock((r)->fd, K));					\
} while (0)

TEST_F(uring, killed_with_commands_pending)
{
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, K));
	*self->shared = 0;
	pid = fork();
	if (!pid) {
		struct io_uring ring;

		if (io_uring_queue_init(64, &ring, 0))
			_exit(1);
		leave_pending(&ring, self->r.fd);
		*self->shared = quiet(&ring) ? 1 : 3;
		for (;;)
			pause();
	}
	ASSERT_TRUE(wait_word(self->shared, 1));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, child_status(pid));
	EXPECT_OVER(&self->r);
}

TEST_F(uring, killed_waiting_for_a_completion)
{
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, K));
	*self->shared = 0;
	pid = fork();
	if (!pid) {
		struct io_uring_cqe *cqe;
		struct io_uring ring;

		if (io_uring_queue_init(64, &ring, IORING_SETUP_SINGLE_ISSUER |
						   IORING_SETUP_DEFER_TASKRUN))
			_exit(1);
		leave_pending(&ring, self->r.fd);
		*self->shared = quiet(&ring) ? 1 : 3;
		io_uring_wait_cqe(&ring, &cqe);
		_exit(2);
	}
	ASSERT_TRUE(wait_word(self->shared, 1));
	ASSERT_TRUE(wait_asleep(pid));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, child_status(pid));
	EXPECT_OVER(&self->r);
}

TEST_F(uring, ring_closed_with_commands_pending)
{
	uint64_t limit = now_ns() + WAIT_SECONDS * 1000000000ull;
	struct io_uring ring;
	pid_t pid;
	int ret;

	pid = start_holder(&self->r, self->shared, K);
	ASSERT_EQ(0, io_uring_queue_init(64, &ring, 0));
	leave_pending(&ring, self->r.fd);
	EXPECT_TRUE(quiet(&ring));
	io_uring_queue_exit(&ring);
	/* This process lives on, and so do its files. */
	EXPECT_EQ(-EOWNERDEAD, barrier(self->r.fd, K, 3));
	EXPECT_EQ(-EOWNERDEAD, barrier(self->r.fd, K + 3, 3));
	*self->shared = 2;
	EXPECT_EQ(0, child_status(pid));
	/* One that got the lock at the last moment gives it back; until then it is this thread's. */
	do {
		ret = lock(self->r.fd, K);
	} while (ret == -EDEADLK && now_ns() < limit);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, unlock(self->r.fd, K));
}

/* The lock is this thread's, whose ring has not been entered since; what nobody will hear of any more is given back. */
TEST_F(uring, ring_closed_with_a_completion_that_nobody_collects)
{
	uint64_t limit, i;
	struct io_uring ring;
	pid_t pid;
	int ret;

	for (i = 0; i < 4; i++) {
		pid = start_holder(&self->r, self->shared, K + i);
		ASSERT_EQ(1, *self->shared);
		ASSERT_EQ(0, io_uring_queue_init(8, &ring, IORING_SETUP_SINGLE_ISSUER |
				IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG));
		submit(&ring, self->r.fd, DSM_URING_LOCK, K + i, 0, 1);
		*self->shared = 2;
		EXPECT_EQ(0, child_status(pid));
		ASSERT_TRUE(wait_word((volatile int *)ring.sq.kflags, IORING_SQ_TASKRUN));
		EXPECT_EQ(-EDEADLK, lock(self->r.fd, K + i));
		io_uring_queue_exit(&ring);
		limit = now_ns() + WAIT_SECONDS * 1000000000ull;
		do {
			ret = lock(self->r.fd, K + i);
		} while (ret == -EDEADLK && now_ns() < limit);
		EXPECT_EQ(0, ret);
		EXPECT_EQ(0, unlock(self->r.fd, K + i));
	}
}

static void *submit_and_end(void *arg)
{
	struct io_uring *ring = ((void **)arg)[0];
	struct region *r = ((void **)arg)[1];

	leave_pending(ring, r->fd);
	return NULL;
}

TEST_F(uring, thread_ends_with_commands_pending)
{
	void *arg[2] = { &self->ring, &self->r };
	pthread_t thread;
	int i;

	ASSERT_EQ(0, lock(self->r.fd, K));
	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_and_end, arg));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	/* The ring is the process's: it tells. Workers of the ring cancel in their own way. */
	for (i = 0; i < 20; i++)
		EXPECT_EQ(-ECANCELED, next(&self->ring, NULL));
	EXPECT_OVER(&self->r);
}

TEST_F(uring, execve_with_commands_pending)
{
	pid_t pid;

	ASSERT_EQ(0, lock(self->r.fd, K));
	pid = fork();
	if (!pid) {
		struct io_uring ring;

		if (io_uring_queue_init(64, &ring, 0))
			_exit(1);
		leave_pending(&ring, self->r.fd);
		if (!quiet(&ring))
			_exit(2);
		execl("/bin/busybox", "true", NULL);
		_exit(3);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_OVER(&self->r);
}

TEST_F(uring, file_closed_with_commands_pending)
{
	int fd = open(self->r.path, O_RDWR);

	ASSERT_LE(0, fd);
	submit(&self->ring, fd, DSM_URING_FLAG_WAIT, K, 0, 1);
	submit(&self->ring, fd, DSM_URING_LOCK, K, 0, 2);
	EXPECT_EQ(0, next(&self->ring, NULL));
	close(fd);
	EXPECT_TRUE(quiet(&self->ring));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, K));
	EXPECT_EQ(0, next(&self->ring, NULL));
	/* Now the file is gone, and with it its lock. */
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, K));
}

/* Processes are killed anywhere between submission and completion; no lock is lost. */
TEST_F(uring, kill_storm_loses_no_lock)
{
	const int rounds = getenv("DSM_SHORT") ? 10 : 40;
	unsigned int seed = 1;
	pid_t pids[4];
	int i, k, ret;

	for (k = 0; k < rounds; k++) {
		*self->shared = 0;
		for (i = 0; i < 4; i++) {
			pids[i] = fork();
			if (pids[i])
				continue;
			struct io_uring ring;
			uint64_t key;

			if (io_uring_queue_init(64, &ring, 0))
				_exit(1);
			*self->shared = 1;
			for (key = 0;; key = (key + 1) % 3) {
				prep(&ring, self->r.fd, DSM_URING_LOCK, K + key, 0, 0);
				prep(&ring, self->r.fd, DSM_URING_RELEASE, 0, 0, 0);
				io_uring_submit(&ring);
				ret = next(&ring, NULL);
				next(&ring, NULL);
				call(&ring, self->r.fd, DSM_URING_UNLOCK, K + key, 0);
			}
		}
		ASSERT_TRUE(wait_word(self->shared, 1));
		for (i = rand_r(&seed) % 300; i > 0; i--)
			sched_yield();
		for (i = 0; i < 4; i++) {
			kill(pids[i], SIGKILL);
			EXPECT_EQ(128 + SIGKILL, child_status(pids[i]));
		}
		for (i = 0; i < 3; i++) {
			ret = call(&self->ring, self->r.fd, DSM_URING_LOCK, K + i, 0);
			EXPECT_TRUE(!ret || ret == -EOWNERDEAD) {
				TH_LOG("round %d, key %d: %d", k, i, ret);
			}
			if (ret)
				lock_call(self->r.fd, DSM_IOC_LOCK_CONSISTENT, K + i, 0);
			EXPECT_EQ(0, unlock(self->r.fd, K + i));
		}
	}
}

TEST_HARNESS_MAIN
