/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm calls through io_uring: each function fills in a submission entry of liburing, which is the
 * only library this needs. Set its user_data and flags afterwards.
 * The completion's res is 0 or the negative errno of the call of the same name in dsm.h. See
 * dsm_uring(7).
 */
#ifndef DSM_URING_H
#define DSM_URING_H

#include <stdint.h>
#include <liburing.h>
#include <linux/dsm.h>
#include <dsm.h>

static inline void dsm_prep_cmd(struct io_uring_sqe *sqe, int fd, uint32_t op, uint64_t key,
				uint64_t value)
{
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = op;
	/* struct dsm_uring_arg; the same bytes as sqe->cmd, whose length the compiler takes for 0 */
	sqe->addr3 = key;
	sqe->__pad2[0] = value;
}

static inline void dsm_prep_lock(struct io_uring_sqe *sqe, const struct dsm *d, uint64_t key)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_LOCK, key, 0);
}

static inline void dsm_prep_trylock(struct io_uring_sqe *sqe, const struct dsm *d, uint64_t key)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_TRYLOCK, key, 0);
}

/* @deadline_ns: CLOCK_MONOTONIC */
static inline void dsm_prep_timedlock(struct io_uring_sqe *sqe, const struct dsm *d, uint64_t key,
				      uint64_t deadline_ns)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_TIMEDLOCK, key, deadline_ns);
}

static inline void dsm_prep_unlock(struct io_uring_sqe *sqe, const struct dsm *d, uint64_t key)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_UNLOCK, key, 0);
}

static inline void dsm_prep_barrier(struct io_uring_sqe *sqe, const struct dsm *d, uint64_t key,
				    unsigned int parties)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_BARRIER, key, parties);
}

static inline void dsm_prep_flag_set(struct io_uring_sqe *sqe, const struct dsm *d, uint64_t key)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_FLAG_SET, key, 0);
}

static inline void dsm_prep_flag_wait(struct io_uring_sqe *sqe, const struct dsm *d, uint64_t key)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_FLAG_WAIT, key, 0);
}

static inline void dsm_prep_flag_clear(struct io_uring_sqe *sqe, const struct dsm *d,
				       uint64_t key)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_FLAG_CLEAR, key, 0);
}

static inline void dsm_prep_acquire(struct io_uring_sqe *sqe, const struct dsm *d)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_ACQUIRE, 0, 0);
}

static inline void dsm_prep_release(struct io_uring_sqe *sqe, const struct dsm *d)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_RELEASE, 0, 0);
}

/* @addr and @len: within the region's memory, else the result is -EINVAL */
static inline void dsm_prep_prefetch(struct io_uring_sqe *sqe, const struct dsm *d,
				     const void *addr, size_t len)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_PREFETCH,
		     (uint64_t)((uintptr_t)addr - (uintptr_t)dsm_base(d)), len);
}

/* Cancels what this ring has pending with @user_data. */
static inline void dsm_prep_cancel(struct io_uring_sqe *sqe, const struct dsm *d,
				   uint64_t user_data)
{
	dsm_prep_cmd(sqe, dsm_fd(d), DSM_URING_CANCEL, user_data, 0);
}

#endif
