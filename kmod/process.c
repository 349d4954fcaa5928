// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * process.c: whose a region with level=1 is on this node.
 *
 * There a process is a participant of the protocol by itself, with copies, twins, notices and a place in vector times that
 * it shares with nobody. All of these are a node's, so the first process that opens the region has them, until no
 * file of it is open any more or the process has ended. Others are refused, also with files that they inherited or
 * were given, and mm lets no child inherit mappings. Never decides about coherence.
 */
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include "shell.h"

/* Guards dsm_region.process of all regions. */
static DEFINE_SPINLOCK(lock);

/**
 * dsm_process_enter() - this process opens a region
 * @r: region, with the open counted
 *
 * Context: process.
 * Return: 0; -EBUSY level=1, and another process that lives opened it.
 */
int dsm_process_enter(struct dsm_region *r)
{
	struct pid *me = task_tgid(current), *gone = NULL, *other = NULL;

	if (r->space->policy.level == DSM_LEVEL_TWO)
		return 0;
	spin_lock(&lock);
	if (r->process != me && r->process && pid_has_task(r->process, PIDTYPE_TGID)) {
		other = get_pid(r->process);
	} else if (r->process != me) {
		/* A child may have kept its files, which it cannot use. */
		gone = r->process;
		WRITE_ONCE(r->process, get_pid(me));
	}
	spin_unlock(&lock);
	put_pid(gone);
	if (!other)
		return 0;
	pr_info_ratelimited("dsm: %s[%d] cannot open region %s: it has level=1, so each process needs a node of its own, and process %d has this one (see nodes=)\n",
			    current->comm, task_tgid_nr(current), r->name, pid_nr(other));
	put_pid(other);
	return -EBUSY;
}

/**
 * dsm_process_leave() - no file of a region is open any more
 * @r: region; files may have been opened since
 *
 * Context: any.
 */
void dsm_process_leave(struct dsm_region *r)
{
	struct pid *gone = NULL;

	if (r->space->policy.level == DSM_LEVEL_TWO)
		return;
	spin_lock(&lock);
	/* Who opens counts first and enters then. */
	if (atomic_read(&r->opens) <= 0) {
		gone = r->process;
		WRITE_ONCE(r->process, NULL);
	}
	spin_unlock(&lock);
	put_pid(gone);
}

/**
 * dsm_node_region_mine() - may this process use a region's file?
 * @r: region with an open file
 *
 * Context: process.
 * Return: 0; -EPERM level=1, and another process opened it.
 */
int dsm_node_region_mine(const struct dsm_region *r)
{
	if (likely(r->space->policy.level == DSM_LEVEL_TWO))
		return 0;
	return READ_ONCE(r->process) == task_tgid(current) ? 0 : -EPERM;
}
