/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What uring.c and uring_end.c share: a fixture with a ring, and commands. Each program includes it
 * once. Never decides a test's result.
 */
#ifndef DSM_KSFT_URING_H
#define DSM_KSFT_URING_H

#include <liburing.h>
#include <time.h>
#include "harness.h"
#include "ksft.h"

/* Any key; key K + i has its manager on another node for some i. */
#define K 100ull

#define WAIT_SECONDS 60

FIXTURE(uring) {
	struct region r;
	struct io_uring ring;
	volatile uint64_t *p;
	volatile int *shared;
};

FIXTURE_SETUP(uring)
{
	ASSERT_EQ(0, make_region(&self->r, 16 * PAGE));
	ASSERT_EQ(0, io_uring_queue_init(64, &self->ring, 0));
	self->p = (uint64_t *)map_region(&self->r, 16, 0, PROT_READ | PROT_WRITE);
	self->shared = shared_bytes(PAGE);
}

/*
 * Rings end in the background, after the process: an open file that stays is a command that does.
 */
static inline int end_region_soon(struct region *r)
{
	struct timespec ms = { .tv_nsec = 5000000 };
	int ret, i;

	for (i = 0; i < WAIT_SECONDS * 200; i++) {
		ret = end_region(r);
		if (ret != -EBUSY)
			return ret;
		nanosleep(&ms, NULL);
	}
	return ret;
}

FIXTURE_TEARDOWN_PARENT(uring)
{
	EXPECT_EQ(0, end_region_soon(&self->r));
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static inline struct io_uring_sqe *prep(struct io_uring *ring, int fd, uint32_t op,
					uint64_t key, uint64_t value, uint64_t user_data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		abort();	/* a test submits less than a ring holds */
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = op;
	sqe->addr3 = key;
	sqe->__pad2[0] = value;
	sqe->user_data = user_data;
	return sqe;
}

static inline void submit(struct io_uring *ring, int fd, uint32_t op, uint64_t key,
			  uint64_t value, uint64_t user_data)
{
	prep(ring, fd, op, key, value, user_data);
	io_uring_submit(ring);
}

/* Result of the next command that ends; 1 if none does. */
static inline int next(struct io_uring *ring, uint64_t *user_data)
{
	struct __kernel_timespec limit = { .tv_sec = WAIT_SECONDS };
	struct io_uring_cqe *cqe;
	int ret;

	if (user_data)
		*user_data = 0;
	do {
		ret = io_uring_wait_cqe_timeout(ring, &cqe, &limit);
	} while (ret == -EINTR);
	if (ret)
		return 1;
	ret = cqe->res;
	if (user_data)
		*user_data = cqe->user_data;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static inline int call(struct io_uring *ring, int fd, uint32_t op, uint64_t key, uint64_t value)
{
	submit(ring, fd, op, key, value, 0);
	return next(ring, NULL);
}

/* Nothing has ended, after all that could have has been given the time to. */
static inline bool quiet(struct io_uring *ring)
{
	struct __kernel_timespec limit = { .tv_nsec = 50000000 };
	struct io_uring_cqe *cqe;

	return io_uring_wait_cqe_timeout(ring, &cqe, &limit) == -ETIME;
}

static inline int lock_call(int fd, unsigned long cmd, uint64_t key, uint32_t flags)
{
	struct dsm_ioc_lock a = { .size = sizeof(a), .flags = flags, .key = key };

	return ioctl(fd, cmd, &a) ? -errno : 0;
}

static inline int lock(int fd, uint64_t key)
{
	return lock_call(fd, DSM_IOC_LOCK, key, 0);
}

static inline int unlock(int fd, uint64_t key)
{
	return lock_call(fd, DSM_IOC_UNLOCK, key, 0);
}

static inline int barrier(int fd, uint64_t key, uint32_t parties)
{
	struct dsm_ioc_barrier a = { .size = sizeof(a), .key = key, .parties = parties };

	return ioctl(fd, DSM_IOC_BARRIER, &a) ? -errno : 0;
}

static inline int flag(int fd, unsigned long cmd, uint64_t key)
{
	struct dsm_ioc_flag a = { .size = sizeof(a), .key = key };

	return ioctl(fd, cmd, &a) ? -errno : 0;
}

/* A child that takes a lock, tells, and gives it back when told. Ends with 0. */
static inline pid_t start_holder(struct region *r, volatile int *word, uint64_t key)
{
	pid_t pid;

	*word = 0;
	pid = fork();
	if (!pid) {
		if (lock(r->fd, key))
			_exit(1);
		*word = 1;
		if (!wait_word(word, 2))
			_exit(2);
		_exit(-unlock(r->fd, key));
	}
	wait_word(word, 1);
	return pid;
}

#endif
