/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Commands of io_uring, one at a time, for programs that check what they do.
 */
#ifndef DSM_CLUSTER_RING_H
#define DSM_CLUSTER_RING_H

#include <dsm_uring.h>

#include "common.h"

static struct io_uring ring;

static inline struct io_uring_sqe *entry(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	CHECK(sqe, "no entry in the ring");
	return sqe;
}

static inline void submit(struct io_uring_sqe *sqe, uint64_t user_data)
{
	int ret;

	io_uring_sqe_set_data64(sqe, user_data);
	ret = io_uring_submit(&ring);
	CHECK(ret == 1, "submit: %s", strerror(-ret));
}

#endif
