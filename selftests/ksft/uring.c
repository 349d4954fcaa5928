// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* Commands through io_uring: results, owners, wrong arguments, cancelling. */
#include "uring.h"

static int threads_of(pid_t pid)
{
	char path[64], line[128];
	int n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	if (f)
		fclose(f);
	return n;
}

/* ---- results ---- */

TEST_F(uring, lock_and_unlock)
{
	uint64_t i;

	for (i = 0; i < 8; i++) {
		EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_LOCK, K + i, 0));
		*self->p += 1;
		EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_UNLOCK, K + i, 0));
		EXPECT_EQ(-EPERM, call(&self->ring, self->r.fd, DSM_URING_UNLOCK, K + i, 0));
	}
	EXPECT_EQ(8u, *self->p);
}

TEST_F(uring, linked_commands_run_in_order)
{
	prep(&self->ring, self->r.fd, DSM_URING_LOCK, K, 0, 1)->flags = IOSQE_IO_LINK;
	prep(&self->ring, self->r.fd, DSM_URING_UNLOCK, K, 0, 2)->flags = IOSQE_IO_LINK;
	prep(&self->ring, self->r.fd, DSM_URING_UNLOCK, K, 0, 3)->flags = IOSQE_IO_LINK;
	prep(&self->ring, self->r.fd, DSM_URING_LOCK, K, 0, 4);
	io_uring_submit(&self->ring);
	EXPECT_EQ(0, next(&self->ring, NULL));
	EXPECT_EQ(0, next(&self->ring, NULL));
	EXPECT_EQ(-EPERM, next(&self->ring, NULL));
	EXPECT_EQ(-ECANCELED, next(&self->ring, NULL));
}

TEST_F(uring, pending_lock_needs_no_thread_and_comes_when_free)
{
	uint64_t i;
	pid_t pid;

	for (i = 0; i < 4; i++) {
		pid = start_holder(&self->r, self->shared, K + i);
		ASSERT_EQ(1, *self->shared);
		submit(&self->ring, self->r.fd, DSM_URING_LOCK, K + i, 0, 0);
		EXPECT_TRUE(quiet(&self->ring));
		EXPECT_EQ(1, threads_of(getpid()));
		*self->shared = 2;
		EXPECT_EQ(0, next(&self->ring, NULL));
		EXPECT_EQ(0, child_status(pid));
		EXPECT_EQ(0, unlock(self->r.fd, K + i));
	}
}

TEST_F(uring, lock_belongs_to_the_submitter)
{
	pid_t pid;

	EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_LOCK, K, 0));
	EXPECT_EQ(-EDEADLK, call(&self->ring, self->r.fd, DSM_URING_LOCK, K, 0));
	EXPECT_EQ(-EDEADLK, lock(self->r.fd, K));
	pid = fork();
	if (!pid)
		_exit(-unlock(self->r.fd, K));
	EXPECT_EQ(EPERM, child_status(pid));
	/* A child that uses its parent's ring is a submitter of its own. */
	pid = fork();
	if (!pid)
		_exit(-call(&self->ring, self->r.fd, DSM_URING_TRYLOCK, K, 0));
	EXPECT_EQ(EBUSY, child_status(pid));
	EXPECT_EQ(0, unlock(self->r.fd, K));
	EXPECT_EQ(0, lock(self->r.fd, K));
	/* Workers of the ring act for the submitter. */
	prep(&self->ring, self->r.fd, DSM_URING_UNLOCK, K, 0, 0)->flags = IOSQE_ASYNC;
	io_uring_submit(&self->ring);
	EXPECT_EQ(0, next(&self->ring, NULL));
}

TEST_F(uring, timed_lock_gives_up_at_its_deadline)
{
	pid_t pid = start_holder(&self->r, self->shared, K);
	uint64_t begin = now_ns();

	EXPECT_EQ(-ETIMEDOUT, call(&self->ring, self->r.fd, DSM_URING_TIMEDLOCK, K, begin + 200000000));
	EXPECT_GE(now_ns(), begin + 200000000);
	EXPECT_EQ(-ETIMEDOUT, call(&self->ring, self->r.fd, DSM_URING_TIMEDLOCK, K, 0));
	EXPECT_EQ(-EBUSY, call(&self->ring, self->r.fd, DSM_URING_TRYLOCK, K, 0));
	submit(&self->ring, self->r.fd, DSM_URING_TIMEDLOCK, K, now_ns() + 15000000000, 0);
	*self->shared = 2;
	EXPECT_EQ(0, next(&self->ring, NULL));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, unlock(self->r.fd, K));
}

TEST_F(uring, barrier_with_a_blocking_party)
{
	uint64_t i;
	pid_t pid;

	for (i = 0; i < 8; i++) {
		pid = fork();
		if (!pid) {
			self->p[512] = 10 + i;
			_exit(-barrier(self->r.fd, K + i, 2));
		}
		self->p[1024] = i;
		EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_BARRIER, K + i, 2));
		EXPECT_EQ(10 + i, self->p[512]);
		EXPECT_EQ(0, child_status(pid));
	}
}

TEST_F(uring, one_thread_is_all_parties_of_a_barrier)
{
	int i;

	for (i = 0; i < 15; i++)
		submit(&self->ring, self->r.fd, DSM_URING_BARRIER, K, 16, i);
	EXPECT_TRUE(quiet(&self->ring));
	EXPECT_EQ(1, threads_of(getpid()));
	submit(&self->ring, self->r.fd, DSM_URING_BARRIER, K, 16, i);
	for (i = 0; i < 16; i++)
		EXPECT_EQ(0, next(&self->ring, NULL));
	submit(&self->ring, self->r.fd, DSM_URING_BARRIER, K, 3, 1);
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_BARRIER, K, 2));
	EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_CANCEL, 1, 0) +
		     next(&self->ring, NULL) + ECANCELED);
}

TEST_F(uring, flags)
{
	uint64_t i, which, first;

	for (i = 0; i < 8; i++) {
		submit(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K + i, 0, 1);
		EXPECT_TRUE(quiet(&self->ring));
		self->p[512 * i] = i + 1;
		submit(&self->ring, self->r.fd, DSM_URING_FLAG_SET, K + i, 0, 2);
		EXPECT_EQ(0, next(&self->ring, &first));
		EXPECT_EQ(0, next(&self->ring, &which));
		EXPECT_EQ(3u, first + which);
		EXPECT_EQ(-EALREADY, call(&self->ring, self->r.fd, DSM_URING_FLAG_SET, K + i, 0));
		EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K + i, 0));
		EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_FLAG_CLEAR, K + i, 0));
	}
}

TEST_F(uring, release_acquire_prefetch)
{
	uint64_t i;

	for (i = 0; i < 16; i++)
		self->p[512 * i] = i;
	EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_RELEASE, 0, 0));
	EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_ACQUIRE, 0, 0));
	EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_PREFETCH, 0, 16 * PAGE));
	EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_PREFETCH, 16 * PAGE, 0));
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_PREFETCH, 0, 16 * PAGE + 1));
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_PREFETCH, -PAGE, 2 * PAGE));
	for (i = 0; i < 16; i++)
		EXPECT_EQ(i, self->p[512 * i]);
}

TEST_F(uring, completion_does_not_disturb_a_blocking_call)
{
	pid_t pid = start_holder(&self->r, self->shared, K);
	pid_t parent = getpid(), other;

	submit(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K, 0, 0);
	other = fork();
	if (!other) {
		if (!wait_asleep(parent) || flag(self->r.fd, DSM_IOC_FLAG_SET, K))
			_exit(1);
		if (!wait_asleep(parent))
			_exit(2);
		*self->shared = 2;
		_exit(0);
	}
	EXPECT_EQ(0, lock(self->r.fd, K));
	EXPECT_EQ(0, child_status(other));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, next(&self->ring, NULL));
}

TEST_F(uring, device_file_is_attached_by_its_first_command)
{
	int fd = open("/dev/dsm", O_RDWR);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, call(&self->ring, fd, DSM_URING_LOCK, K, 0));
	EXPECT_EQ(0, call(&self->ring, fd, DSM_URING_UNLOCK, K, 0));
	close(fd);
}

TEST_F(uring, registered_file)
{
	ASSERT_EQ(0, io_uring_register_files(&self->ring, &self->r.fd, 1));
	prep(&self->ring, 0, DSM_URING_LOCK, K, 0, 0)->flags = IOSQE_FIXED_FILE;
	io_uring_submit(&self->ring);
	EXPECT_EQ(0, next(&self->ring, NULL));
	EXPECT_EQ(0, unlock(self->r.fd, K));
}

static int write_limit(const char *text)
{
	int fd = open("/sys/module/dsm/parameters/locks_per_user", O_WRONLY);
	int ret = write(fd, text, strlen(text));

	close(fd);
	return ret < 0 ? -errno : 0;
}

TEST_F(uring, pending_commands_count_for_the_user)
{
	int i, refused = 0;

	ASSERT_EQ(0, write_limit("5"));
	for (i = 0; i < 7; i++)
		submit(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K, 0, 0);
	while (!quiet(&self->ring)) {
		EXPECT_EQ(-EDQUOT, next(&self->ring, NULL));
		refused++;
	}
	EXPECT_EQ(2, refused);
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, K));
	for (i = 0; i < 5; i++)
		EXPECT_EQ(0, next(&self->ring, NULL));
	for (i = 0; i < 7; i++)
		EXPECT_EQ(0, call(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K, 0));
	EXPECT_EQ(0, write_limit("1048576"));
}

/* ---- wrong arguments ---- */

TEST_F(uring, wrong_arguments)
{
	const uint32_t with_key[] = { DSM_URING_LOCK, DSM_URING_TRYLOCK, DSM_URING_UNLOCK,
		DSM_URING_FLAG_SET, DSM_URING_FLAG_WAIT, DSM_URING_FLAG_CLEAR, DSM_URING_CANCEL };
	const uint32_t unknown[] = { 0, 1, DSM_URING_CANCEL + 1, DSM_URING_LOCK - 1, ~0u,
		DSM_IOC_LOCK, DSM_IOC_JOIN };
	struct io_uring_sqe *sqe;
	size_t i;

	for (i = 0; i < sizeof(with_key) / 4; i++)
		EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, with_key[i], K, 1));
	for (i = 0; i < sizeof(unknown) / 4; i++)
		EXPECT_EQ(-EOPNOTSUPP, call(&self->ring, self->r.fd, unknown[i], 0, 0));
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_ACQUIRE, 1, 0));
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_ACQUIRE, 0, 1));
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_RELEASE, 1, 0));
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_RELEASE, 0, 1));
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_BARRIER, K, 0));
	EXPECT_EQ(-EINVAL, call(&self->ring, self->r.fd, DSM_URING_BARRIER, K, 1ull << 32));
	EXPECT_EQ(-ENOENT, call(&self->ring, self->r.fd, DSM_URING_CANCEL, 77, 0));
	sqe = prep(&self->ring, self->r.fd, DSM_URING_LOCK, K, 0, 0);
	sqe->uring_cmd_flags = 1;	/* a registered buffer */
	io_uring_submit(&self->ring);
	EXPECT_GT(0, next(&self->ring, NULL));
	sqe = prep(&self->ring, self->r.fd, DSM_URING_LOCK, K, 0, 0);
	sqe->uring_cmd_flags = 1u << 30;
	io_uring_submit(&self->ring);
	EXPECT_EQ(-EINVAL, next(&self->ring, NULL));
	EXPECT_EQ(-EPERM, unlock(self->r.fd, K));
}

/* Pinned for as long as the ring likes, they would be written behind the module's back. */
TEST_F(uring, fixed_buffers_are_refused)
{
	struct iovec region = { (void *)self->p, 4 * PAGE };
	struct iovec own = { aligned_alloc(PAGE, 4 * PAGE), 4 * PAGE };
	int ret;

	/* By kernel 6.12 as any long-term pin, by 6.1 since io_uring itself looks for files. */
	ret = io_uring_register_buffers(&self->ring, &region, 1);
	EXPECT_TRUE(ret == -EFAULT || ret == -EOPNOTSUPP) {
		TH_LOG("untouched: %d", ret);
	}
	self->p[0] = 7;
	ret = io_uring_register_buffers(&self->ring, &region, 1);
	EXPECT_TRUE(ret == -EFAULT || ret == -EOPNOTSUPP) {
		TH_LOG("touched: %d", ret);
	}
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	EXPECT_EQ(7u, self->p[0]);
	/* The ring takes others. */
	EXPECT_EQ(0, io_uring_register_buffers(&self->ring, &own, 1));
}

TEST_F(uring, rings_that_are_refused)
{
	const unsigned int flags[] = { IORING_SETUP_IOPOLL, IORING_SETUP_SQPOLL };
	struct io_uring ring;
	size_t i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, io_uring_queue_init(8, &ring, flags[i]));
		EXPECT_EQ(-EOPNOTSUPP, call(&ring, self->r.fd, DSM_URING_LOCK, K, 0));
		io_uring_queue_exit(&ring);
	}
	EXPECT_EQ(-EPERM, unlock(self->r.fd, K));
}

TEST_F(uring, rings_of_all_other_kinds)
{
	const unsigned int flags[] = {
		IORING_SETUP_SQE128, IORING_SETUP_CQE32, IORING_SETUP_COOP_TASKRUN,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, IORING_SETUP_SINGLE_ISSUER,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
	};
	struct io_uring ring;
	pid_t pid;
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		ASSERT_EQ(0, io_uring_queue_init(8, &ring, flags[i]));
		pid = start_holder(&self->r, self->shared, K + i);
		submit(&ring, self->r.fd, DSM_URING_LOCK, K + i, 0, 0);
		EXPECT_TRUE(quiet(&ring));
		*self->shared = 2;
		EXPECT_EQ(0, next(&ring, NULL));
		EXPECT_EQ(0, child_status(pid));
		EXPECT_EQ(0, call(&ring, self->r.fd, DSM_URING_UNLOCK, K + i, 0));
		/* Left pending. */
		submit(&ring, self->r.fd, DSM_URING_FLAG_WAIT, K + i, 0, 0);
		io_uring_queue_exit(&ring);
	}
}

/* ---- cancelling ---- */

TEST_F(uring, cancel_what_is_pending)
{
	pid_t pid = start_holder(&self->r, self->shared, K);
	uint64_t which;
	int ret, i;

	submit(&self->ring, self->r.fd, DSM_URING_LOCK, K, 0, 1);
	submit(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K, 0, 2);
	submit(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K + 1, 0, 3);
	submit(&self->ring, self->r.fd, DSM_URING_TIMEDLOCK, K, ~0ull, 4);
	EXPECT_TRUE(quiet(&self->ring));
	for (i = 1; i <= 4; i++)
		submit(&self->ring, self->r.fd, DSM_URING_CANCEL, i, 0, 10);
	for (i = 0; i < 8; i++) {
		ret = next(&self->ring, &which);
		EXPECT_EQ(which == 10 ? 0 : -ECANCELED, ret);
	}
	*self->shared = 2;
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, lock(self->r.fd, K));
	EXPECT_EQ(0, unlock(self->r.fd, K));
}

/* What the kernel itself offers finds no command of a driver; that must leave it as it was. */
TEST_F(uring, the_kernels_cancel_has_no_effect)
{
	struct __kernel_timespec soon = { .tv_nsec = 1000000 };
	struct io_uring_sqe *sqe;
	uint64_t which;

	submit(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K, 0, 1);
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_cancel64(sqe, 1, 0);
	sqe->user_data = 2;
	io_uring_submit(&self->ring);
	EXPECT_GT(0, next(&self->ring, &which));
	EXPECT_EQ(2u, which);
	prep(&self->ring, self->r.fd, DSM_URING_FLAG_WAIT, K + 1, 0, 3)->flags = IOSQE_IO_LINK;
	sqe = io_uring_get_sqe(&self->ring);
	io_uring_prep_link_timeout(sqe, &soon, 0);
	sqe->user_data = 4;
	io_uring_submit(&self->ring);
	EXPECT_GT(0, next(&self->ring, &which));
	EXPECT_EQ(4u, which);
	EXPECT_TRUE(quiet(&self->ring));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, K));
	EXPECT_EQ(0, next(&self->ring, &which));
	EXPECT_EQ(1u, which);
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, K + 1));
	EXPECT_EQ(0, next(&self->ring, &which));
	EXPECT_EQ(3u, which);
}

TEST_F(uring, cancel_reaches_only_its_own_ring)
{
	struct io_uring other;

	ASSERT_EQ(0, io_uring_queue_init(8, &other, 0));
	submit(&other, self->r.fd, DSM_URING_FLAG_WAIT, K, 0, 1);
	EXPECT_EQ(-ENOENT, call(&self->ring, self->r.fd, DSM_URING_CANCEL, 1, 0));
	EXPECT_TRUE(quiet(&other));
	EXPECT_EQ(0, flag(self->r.fd, DSM_IOC_FLAG_SET, K));
	EXPECT_EQ(0, next(&other, NULL));
	io_uring_queue_exit(&other);
}

TEST_F(uring, cancelled_barrier_fails_for_the_others)
{
	uint64_t i, which;
	pid_t pid;
	int k;

	for (i = 0; i < 4; i++) {
		submit(&self->ring, self->r.fd, DSM_URING_BARRIER, K + i, 3, 1);
		pid = fork();
		if (!pid)
			_exit(-barrier(self->r.fd, K + i, 3));
		ASSERT_TRUE(wait_asleep(pid));
		submit(&self->ring, self->r.fd, DSM_URING_CANCEL, 1, 0, 2);
		for (k = 0; k < 2; k++) {
			int ret = next(&self->ring, &which);

			EXPECT_EQ(which == 2 ? 0 : -ECANCELED, ret);
		}
		EXPECT_EQ(EOWNERDEAD, child_status(pid));
		EXPECT_EQ(-EOWNERDEAD, call(&self->ring, self->r.fd, DSM_URING_BARRIER, K + i, 3));
	}
}

TEST_HARNESS_MAIN
