// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * ioctl_sync.c: the ioctls that synchronise: locks, barriers, flags, acquire, release, prefetch.
 * Arguments are checked here, the work is done by the shell. Never copies from or to the caller.
 */
#include <linux/cred.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/time_namespace.h>
#include "ctl.h"
#include "ioctl.h"

static struct dsm_owner owner_of(const struct dsm_ioctl_call *c)
{
	const struct dsm_file *f = c->file->private_data;

	return (struct dsm_owner){ .file = f->id, .tgid = current->tgid, .tid = current->pid,
				   .uid = c->file->f_cred->euid, .opened = f->opened };
}

/**
 * dsm_ctl_deadline() - a deadline by the machine's clock
 * @ns: CLOCK_MONOTONIC as the caller has it, which is another one in a time namespace; U64_MAX: none
 *
 * Context: process, the caller's or its worker.
 * Return: the same in the initial namespace.
 */
u64 dsm_ctl_deadline(u64 ns)
{
	struct timespec64 ahead = {};
	u64 host;
	s64 by;

	if (ns == U64_MAX || !current->nsproxy)
		return ns;
	timens_add_monotonic(&ahead);
	by = timespec64_to_ns(&ahead);
	if (by > 0)
		return ns > (u64)by ? ns - by : 0;
	return check_add_overflow(ns, (u64)-by, &host) ? U64_MAX : host;
}

/**
 * dsm_ioctl_lock() - take a lock
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_lock(struct dsm_ioctl_call *c)
{
	const struct dsm_ioc_lock *a = &c->arg.lock;
	const struct dsm_owner o = owner_of(c);

	if (a->flags & ~(DSM_LOCK_TRY | DSM_LOCK_TIMED))
		return -EINVAL;
	if (a->flags == (DSM_LOCK_TRY | DSM_LOCK_TIMED))
		return -EINVAL;
	return dsm_node_lock(c->region, a->key, a->flags, dsm_ctl_deadline(a->deadline_ns), &o);
}

/**
 * dsm_ioctl_unlock() - give a lock back
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_unlock(struct dsm_ioctl_call *c)
{
	const struct dsm_ioc_lock *a = &c->arg.lock;
	const struct dsm_owner o = owner_of(c);

	if (a->flags & ~DSM_UNLOCK_SILENT)
		return -EINVAL;
	return dsm_node_unlock(c->region, a->key, a->flags & DSM_UNLOCK_SILENT, &o);
}

/**
 * dsm_ioctl_lock_consistent() - clear what a dead holder left behind
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_lock_consistent(struct dsm_ioctl_call *c)
{
	const struct dsm_owner o = owner_of(c);

	if (c->arg.lock.flags)
		return -EINVAL;
	return dsm_node_lock_consistent(c->region, c->arg.lock.key, &o);
}

/**
 * dsm_ioctl_lock_table() - the calling process's number in the lock table
 * @c: call
 *
 * Thread ids in the table's words are those of the initial pid namespace, as in the module.
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_lock_table(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_lock_table *a = &c->arg.lock_table;
	const struct dsm_owner o = owner_of(c);
	int ret;

	if (a->flags || a->reserved)
		return -EINVAL;
	if (!(c->file->f_mode & FMODE_WRITE))
		return -EACCES;
	if (task_active_pid_ns(current) != &init_pid_ns)
		return -EOPNOTSUPP;
	ret = dsm_node_lock_table(c->region, &o);
	if (ret < 0)
		return ret;
	a->owner = ret;
	return 0;
}

/**
 * dsm_ioctl_barrier() - release, meet, acquire
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_barrier(struct dsm_ioctl_call *c)
{
	const struct dsm_ioc_barrier *a = &c->arg.barrier;
	struct dsm_file *f = c->file->private_data;
	const struct dsm_owner o = owner_of(c);

	if (a->flags || a->reserved || !a->parties)
		return -EINVAL;
	return dsm_node_barrier(c->region, a->key, a->parties, &o, &f->heard);
}

/**
 * dsm_ioctl_flag_set() - release, set a flag
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_flag_set(struct dsm_ioctl_call *c)
{
	return c->arg.flag.flags ? -EINVAL : dsm_node_flag_set(c->region, c->arg.flag.key);
}

/**
 * dsm_ioctl_flag_wait() - wait for a flag, acquire
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_flag_wait(struct dsm_ioctl_call *c)
{
	struct dsm_file *f = c->file->private_data;

	if (c->arg.flag.flags)
		return -EINVAL;
	return dsm_node_flag_wait(c->region, c->arg.flag.key, &f->heard);
}

/**
 * dsm_ioctl_flag_clear() - clear a flag
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_flag_clear(struct dsm_ioctl_call *c)
{
	return c->arg.flag.flags ? -EINVAL : dsm_node_flag_clear(c->region, c->arg.flag.key);
}

/**
 * dsm_ioctl_acquire() - bare acquire
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_acquire(struct dsm_ioctl_call *c)
{
	return c->arg.plain.flags ? -EINVAL : dsm_node_acquire(c->region, true);
}

/**
 * dsm_ioctl_release() - bare release
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_release(struct dsm_ioctl_call *c)
{
	return c->arg.plain.flags ? -EINVAL : dsm_node_release(c->region, false);
}

/**
 * dsm_ioctl_prefetch() - fetch pages ahead: a hint, only a wrong range is an error
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_prefetch(struct dsm_ioctl_call *c)
{
	const struct dsm_ioc_range *a = &c->arg.range;
	const struct dsm_pieces what = {
		.offset = a->offset, .len = a->len, .stride = a->stride, .count = a->count,
	};

	return a->flags ? -EINVAL : dsm_node_prefetch(c->region, &what);
}

/**
 * dsm_ioctl_unclaim() - the pages homed here are to be claimed anew
 * @c: call
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_unclaim(struct dsm_ioctl_call *c)
{
	if (c->arg.plain.flags)
		return -EINVAL;
	if (!(c->file->f_mode & FMODE_WRITE))
		return -EACCES;
	return dsm_node_unclaim(c->region);
}

/**
 * dsm_ioctl_homes() - which pages a node homes, or that it shall claim some
 * @c: call
 *
 * Context: process; waits killably for that node.
 * Return: 0, or a negative errno as in uapi/dsm.h.
 */
int dsm_ioctl_homes(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_homes *a = &c->arg.homes;

	if (a->flags & ~DSM_HOMES_CLAIM || a->node >= DSM_MAX_NODES ||
	    memchr_inv(a->reserved, 0, sizeof(a->reserved)))
		return -EINVAL;
	if (a->flags & DSM_HOMES_CLAIM && !(c->file->f_mode & FMODE_WRITE))
		return -EACCES;
	return dsm_node_homes(c->region, a);
}
