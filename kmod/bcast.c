// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The memory of bcast=adaptive on this node, made with the first such region and taken back when this node leaves; the
 * group that multicasts go to; and the clock of those who wait for one. What is in the memory is the core's business.
 */
#include <linux/hrtimer.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "core/bcast.h"
#include "shell.h"

#define SLOTS_MAX 4096u

/* Set once while the node is a member; guarded by bcast_lock. */
static struct dsm_bcast *bcast;
static DEFINE_MUTEX(bcast_lock);

/* Armed while there is @bcast. */
static struct hrtimer alarm;

static void expire_work(struct work_struct *work)
{
	struct dsm_actions acts;

	dsm_step_begin(&acts);
	dsm_bcast_expire(dsm_node.engine, &acts);
	dsm_step_end(&acts);
}

static DECLARE_WORK(expire, expire_work);

static enum hrtimer_restart on_alarm(struct hrtimer *timer)
{
	queue_work(system_highpri_wq, &expire);
	return HRTIMER_NORESTART;
}

/**
 * dsm_bcast_alarm() - look at some time who has waited long enough
 * @at_ns: the time; what was asked for before is asked for again then
 *
 * Context: any; only while a region has bcast=adaptive.
 */
void dsm_bcast_alarm(u64 at_ns)
{
	hrtimer_start(&alarm, ns_to_ktime(at_ns), HRTIMER_MODE_ABS);
}

static void destroy(struct dsm_bcast *b)
{
	if (b->hint && b->hints)
		vfree(b->hint[0].bytes);
	kvfree(b->hint);
	kvfree(b->heat);
	kfree(b);
}

static struct dsm_bcast *make(void)
{
	u32 i, slots = min(READ_ONCE(dsm_param_bcast_slots), SLOTS_MAX);
	struct dsm_bcast *b = kzalloc(sizeof(*b), GFP_KERNEL);
	u8 *bytes;

	if (!b)
		return NULL;
	b->cluster = dsm_net_cluster(dsm_node.net);
	b->wait_ns = (u64)READ_ONCE(dsm_param_bcast_wait_us) * NSEC_PER_USEC;
	b->secret = get_random_u64();
	b->heat = kvcalloc(DSM_BCAST_HEAT, sizeof(*b->heat), GFP_KERNEL);
	b->hint = kvcalloc(max(slots, 1u), sizeof(*b->hint), GFP_KERNEL);
	bytes = slots ? vzalloc(slots * PAGE_SIZE) : NULL;
	if (!b->heat || !b->hint || (slots && !bytes)) {
		vfree(bytes);
		destroy(b);
		return NULL;
	}
	for (i = 0; i < slots; i++)
		b->hint[i].bytes = bytes + i * PAGE_SIZE;
	b->hints = slots;
	return b;
}

static void set(struct dsm_bcast *b)
{
	spin_lock(&dsm_node.lock);
	dsm_bcast_set(dsm_node.engine, b);
	spin_unlock(&dsm_node.lock);
}

/**
 * dsm_bcast_possible() - can this node have regions with bcast=adaptive?
 *
 * Context: process, a member.
 * Return: true if its device does multicast.
 */
bool dsm_bcast_possible(void)
{
	bool can;

	down_read(&dsm_node.net_lock);
	can = dsm_node.net && dsm_net_has_mcast(dsm_node.net);
	up_read(&dsm_node.net_lock);
	return can;
}

/**
 * dsm_bcast_need() - a region with bcast=adaptive appears: memory and group must be there
 *
 * Context: process; sleeps until the group is joined. Not from a function that net calls.
 * Return: 0; -EOPNOTSUPP the device has no multicast; -ENOMEM; or what dsm_net_mcast_open() says.
 */
int dsm_bcast_need(void)
{
	int err = 0;

	if (!dsm_bcast_possible())
		return -EOPNOTSUPP;
	mutex_lock(&bcast_lock);
	if (!bcast) {
		struct dsm_bcast *b = make();

		/* Datagrams that come before the memory is known are of no concern yet. */
		err = b ? dsm_net_mcast_open(dsm_node.net) : -ENOMEM;
		if (!err) {
			hrtimer_init(&alarm, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
			alarm.function = on_alarm;
			bcast = b;
			set(b);
		} else if (b) {
			destroy(b);
		}
	}
	mutex_unlock(&bcast_lock);
	return err;
}

/**
 * dsm_bcast_free() - this node leaves: leave the group, take the memory back
 *
 * Context: process; no peer and no region is left, the transport is still there.
 */
void dsm_bcast_free(void)
{
	mutex_lock(&bcast_lock);
	if (bcast) {
		dsm_net_mcast_close(dsm_node.net);
		/* No page waits any more, so nobody arms it. */
		hrtimer_cancel(&alarm);
		cancel_work_sync(&expire);
		set(NULL);
		destroy(bcast);
	}
	bcast = NULL;
	mutex_unlock(&bcast_lock);
}

/**
 * dsm_bcast_datagram() - a datagram of the group
 * @ctx:  unused
 * @data: datagram
 * @len:  its length in bytes
 *
 * Anybody may send one, so what is wrong with it is nobody's fault, and is only counted.
 *
 * Context: process, no lock held; sleeps, never for the network.
 */
void dsm_bcast_datagram(void *ctx, const u8 *data, u32 len)
{
	struct dsm_actions acts;
	int err;

	dsm_step_begin(&acts);
	err = dsm_bcast_on_datagram(dsm_node.engine, data, len, &acts);
	dsm_step_end(&acts);
	if (err == -EPROTO)
		atomic64_inc(&dsm_node.stats.invalid_msgs);
}
