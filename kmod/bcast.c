// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The memory of bcast=adaptive on this node, made with the first such region and taken back when this node leaves; the
 * group that multicasts go to; and the clock of those who wait for one. What is in the memory is the core's business.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "core/bcast.h"
#include "shell.h"

#define SLOTS_MAX 4096u

static void expire_work(struct work_struct *work)
{
	struct dsm_node *n = container_of(work, struct dsm_node, bcast_expire.work);
	struct dsm_actions acts;

	dsm_step_begin(n, &acts);
	dsm_bcast_expire(n->engine, &acts);
	dsm_step_end(n, &acts);
}

/**
 * dsm_bcast_init() - a node appears
 * @n: node
 *
 * Context: process, module load.
 */
void dsm_bcast_init(struct dsm_node *n)
{
	mutex_init(&n->bcast_lock);
	dsm_alarm_init(&n->bcast_expire, system_highpri_wq, expire_work);
}

/**
 * dsm_bcast_alarm() - look at some time who has waited long enough
 * @n:     node
 * @at_ns: the time; what was asked for before is asked for again then
 *
 * Context: any; only while a region has bcast=adaptive.
 */
void dsm_bcast_alarm(struct dsm_node *n, u64 at_ns)
{
	dsm_alarm_set(&n->bcast_expire, at_ns);
}

static void destroy(struct dsm_bcast *b)
{
	if (b->hint && b->hints)
		vfree(b->hint[0].bytes);
	kvfree(b->hint);
	kvfree(b->heat);
	kfree(b);
}

static struct dsm_bcast *make(struct dsm_node *n)
{
	u32 i, slots = min(READ_ONCE(dsm_param_bcast_slots), SLOTS_MAX);
	struct dsm_bcast *b = kzalloc(sizeof(*b), GFP_KERNEL);
	u8 *bytes;

	if (!b)
		return NULL;
	b->cluster = dsm_net_cluster(n->net);
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

static void set(struct dsm_node *n, struct dsm_bcast *b)
{
	spin_lock(&n->lock);
	dsm_bcast_set(n->engine, b);
	spin_unlock(&n->lock);
}

/**
 * dsm_bcast_possible() - can this node have regions with bcast=adaptive?
 * @n: node
 *
 * Context: process, a member.
 * Return: true if its device does multicast.
 */
bool dsm_bcast_possible(struct dsm_node *n)
{
	bool can;

	down_read(&n->net_lock);
	can = n->net && dsm_net_has_mcast(n->net);
	up_read(&n->net_lock);
	return can;
}

/**
 * dsm_bcast_need() - a region with bcast=adaptive appears: memory and group must be there
 * @n: node
 *
 * Context: process; sleeps until the group is joined. Not from a function that net calls.
 * Return: 0; -EOPNOTSUPP the device has no multicast; -ENOMEM; or what dsm_net_mcast_open() says.
 */
int dsm_bcast_need(struct dsm_node *n)
{
	int err = 0;

	if (!dsm_bcast_possible(n))
		return -EOPNOTSUPP;
	mutex_lock(&n->bcast_lock);
	if (!n->bcast) {
		struct dsm_bcast *b = make(n);

		/* Datagrams that come before the memory is known are of no concern yet. */
		err = b ? dsm_net_mcast_open(n->net) : -ENOMEM;
		if (!err) {
			n->bcast = b;
			set(n, b);
		} else if (b) {
			destroy(b);
		}
	}
	mutex_unlock(&n->bcast_lock);
	return err;
}

/**
 * dsm_bcast_free() - this node leaves: leave the group, take the memory back
 * @n: node
 *
 * Context: process; no peer and no region is left, the transport is still there.
 */
void dsm_bcast_free(struct dsm_node *n)
{
	mutex_lock(&n->bcast_lock);
	if (n->bcast) {
		dsm_net_mcast_close(n->net);
		/* No page waits any more, so nobody sets it. */
		dsm_alarm_stop(&n->bcast_expire);
		set(n, NULL);
		destroy(n->bcast);
	}
	n->bcast = NULL;
	mutex_unlock(&n->bcast_lock);
}

/**
 * dsm_bcast_datagram() - a datagram of the group
 * @ctx:  struct dsm_node
 * @data: datagram
 * @len:  its length in bytes
 *
 * Anybody may send one, so what is wrong with it is nobody's fault, and is only counted.
 *
 * Context: process, no lock held; sleeps, never for the network.
 */
void dsm_bcast_datagram(void *ctx, const u8 *data, u32 len)
{
	struct dsm_node *n = ctx;
	struct dsm_actions acts;
	int err;

	dsm_step_begin(n, &acts);
	err = dsm_bcast_on_datagram(n->engine, data, len, &acts);
	dsm_step_end(n, &acts);
	if (err == -EPROTO)
		atomic64_inc(&n->stats.invalid_msgs);
}
