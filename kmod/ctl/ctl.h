/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the files of ctl share: an open file, and what each unit gives to the others.
 */
#ifndef DSM_CTL_H
#define DSM_CTL_H

#include <linux/device.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include "../node.h"

struct io_uring_cmd;

/* The region behind /dev/dsm, made by the first join. */
#define DSM_CTL_DEFAULT_REGION 1

/**
 * struct dsm_file - one open file of /dev/dsm or /dev/dsm-NAME
 * @id:        unique since the module was loaded; part of the owner of locks
 * @heard:     the last loss of which the program knows, so that this file's waits do not wait for who was lost: see dsm_node_tell();
 *             written by any thread, an error told twice does no harm
 * @opened:    see dsm_node_region_opened(); set before @region
 * @node:      whose device it is; fixed
 * @control:   of /dev/dsm, not of a region's; fixed
 * @force_raw: read() and write() are allowed on a heap region; set once by DSM_IOC_FORCE_RAW
 * @attaching: guards the step of @region from NULL; never held across a wait for the network
 * @region:    NULL until the file is attached, then constant until release; the file holds a
 *             reference and counts as one open of the region
 * @opener:    who opened it, set by the release
 * @closing:   does the release where the last reference was dropped by a kernel thread, which must not wait
 */
struct dsm_file {
	u64 id;
	u64 heard;
	u64 opened;
	struct dsm_node *node;
	bool control;
	bool force_raw;
	struct mutex attaching;
	struct dsm_region *region;
	kuid_t opener;
	struct work_struct closing;
};

/* chardev.c */
int dsm_chardev_init(void);
void dsm_chardev_exit(void);
extern const struct file_operations dsm_chardev_fops;
struct dsm_region *dsm_chardev_attached(struct file *file);
struct dsm_region *dsm_chardev_attach(struct file *file);

/* ioctl.c */
long dsm_ioctl_dispatch(struct file *file, unsigned int cmd, unsigned long uarg);

/* uring.c */
int dsm_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

/* sysfs.c */
extern const struct attribute_group *dsm_sysfs_control_groups[];
extern const struct attribute_group *dsm_sysfs_region_groups[];
void dsm_sysfs_init(void);

/* device.c: the region of a device node; for /dev/dsm a reference or an ERR_PTR, see there. */
struct dsm_region *dsm_device_region_get(struct device *dev);
void dsm_device_region_put(struct device *dev, struct dsm_region *r);
struct dsm_node *dsm_device_node(struct device *dev);
struct device *dsm_device_control(const struct dsm_node *n);
/* What an inode's minor number stands for: see there. */
struct dsm_node *dsm_device_lookup(int minor, struct dsm_region **r);

/* A deadline of the caller, by the machine's clock (ioctl_sync.c). */
u64 dsm_ctl_deadline(u64 ns);

#endif
