/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * One ioctl on its way: ioctl.c checks and copies, the handlers of ioctl_sync.c call the shell.
 */
#ifndef DSM_CTL_IOCTL_H
#define DSM_CTL_IOCTL_H

#include "ctl.h"

union dsm_ioctl_arg {
	__u32 size;
	struct dsm_ioc_version version;
	struct dsm_ioc_join join;
	struct dsm_ioc_leave leave;
	struct dsm_ioc_region region;
	struct dsm_ioc_region_destroy destroy;
	struct dsm_ioc_region_info region_info;
	struct dsm_ioc_node_info node_info;
	struct dsm_ioc_stats stats;
	struct dsm_ioc_logp logp;
	struct dsm_ioc_lock lock;
	struct dsm_ioc_barrier barrier;
	struct dsm_ioc_flag flag;
	struct dsm_ioc_range range;
	struct dsm_ioc_plain plain;
	struct dsm_ioc_lock_table lock_table;
	struct dsm_ioc_homes homes;
};

/**
 * struct dsm_ioctl_call - one ioctl on its way
 * @file:   the open file
 * @region: its region; NULL unless the row says ROW_REGION
 * @arg:    argument, changed in place to the result
 * @err:    line for the user, if the row has errtxt
 */
struct dsm_ioctl_call {
	struct file *file;
	struct dsm_region *region;
	union dsm_ioctl_arg arg;
	struct dsm_errtxt err;
};

/*
 * Handlers of the calls that synchronise; Return: 0 or negative errno as in uapi/dsm.h.
 * Context: process, no lock held; @c->region is attached.
 */
int dsm_ioctl_lock(struct dsm_ioctl_call *c);
int dsm_ioctl_unlock(struct dsm_ioctl_call *c);
int dsm_ioctl_lock_consistent(struct dsm_ioctl_call *c);
int dsm_ioctl_lock_table(struct dsm_ioctl_call *c);
int dsm_ioctl_barrier(struct dsm_ioctl_call *c);
int dsm_ioctl_flag_set(struct dsm_ioctl_call *c);
int dsm_ioctl_flag_wait(struct dsm_ioctl_call *c);
int dsm_ioctl_flag_clear(struct dsm_ioctl_call *c);
int dsm_ioctl_acquire(struct dsm_ioctl_call *c);
int dsm_ioctl_release(struct dsm_ioctl_call *c);
int dsm_ioctl_prefetch(struct dsm_ioctl_call *c);
int dsm_ioctl_unclaim(struct dsm_ioctl_call *c);
int dsm_ioctl_homes(struct dsm_ioctl_call *c);

#endif
