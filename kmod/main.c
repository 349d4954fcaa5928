// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * main.c: module parameters, and the ladder that starts the layers and stops them again.
 *
 * Only wires: no decision is made here, and nothing but the ladder calls the init functions.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include "mm/region.h"
#include "net/transport.h"
#include "node.h"

/*
 * Below the least, a busy guest is taken for a dead one; above the most, retries of the queue
 * pairs cannot follow.
 */
#define PEER_TIMEOUT_MIN_MS 500
#define PEER_TIMEOUT_MAX_MS 600000

#define MIB_SHIFT 20
#define REGION_MAX_MIB (DSM_REGION_MAX_PAGES >> (MIB_SHIFT - PAGE_SHIFT))

/* A parameter of which values beyond its bounds are refused. */
#define PARAM_WITHIN(name, value, least, most, mode)						\
static int set_##name(const char *val, const struct kernel_param *kp)				\
{												\
	return param_set_uint_minmax(val, kp, least, most);					\
}												\
static const struct kernel_param_ops name##_ops = {						\
	.set = set_##name,									\
	.get = param_get_uint,									\
};												\
module_param_cb(name, &name##_ops, &value, mode);						\
__MODULE_PARM_TYPE(name, "uint")

bool dsm_param_insecure;
module_param_named(insecure, dsm_param_insecure, bool, 0444);
MODULE_PARM_DESC(insecure,
		 "join without authentication, which does not exist yet (default: refuse to join)");

unsigned int dsm_param_peer_timeout_ms = 3000;

PARAM_WITHIN(peer_timeout_ms, dsm_param_peer_timeout_ms, PEER_TIMEOUT_MIN_MS, PEER_TIMEOUT_MAX_MS, 0644);
MODULE_PARM_DESC(peer_timeout_ms,
		 "silence in ms after which a peer is lost, 500 to 600000, read when joining (default: 3000)");

unsigned int dsm_param_poll = DSM_NET_POLL_DIRECT;

static const char * const poll_names[] = {
	[DSM_NET_POLL_DIRECT] = "direct",
	[DSM_NET_POLL_WORKQUEUE] = "workqueue",
	[DSM_NET_POLL_SOFTIRQ] = "softirq",
};

static int set_poll(const char *val, const struct kernel_param *kp)
{
	int poll = sysfs_match_string(poll_names, val);

	if (poll < 0)
		return poll;
	WRITE_ONCE(dsm_param_poll, poll);
	return 0;
}

/**
 * dsm_param_poll_show() - the poll parameter in words
 * @buf: a page
 *
 * Context: process.
 * Return: bytes written.
 */
int dsm_param_poll_show(char *buf)
{
	return sysfs_emit(buf, "%s\n", poll_names[READ_ONCE(dsm_param_poll)]);
}

static int get_poll(char *buf, const struct kernel_param *kp)
{
	return dsm_param_poll_show(buf);
}

static const struct kernel_param_ops poll_ops = {
	.set = set_poll,
	.get = get_poll,
};
module_param_cb(poll, &poll_ops, NULL, 0644);
__MODULE_PARM_TYPE(poll, "charp");
MODULE_PARM_DESC(poll,
		 "who handles completions: direct (a spinning thread if there is one), workqueue, softirq (sends only); read when joining (default: direct)");

unsigned int dsm_param_poll_us = 1000;
module_param_named(poll_us, dsm_param_poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us,
		 "us that a thread spins for another machine's answer before it sleeps, 0: none (default: 1000)");

unsigned int dsm_param_resume_ms = 2000;
module_param_named(resume_ms, dsm_param_resume_ms, uint, 0644);
MODULE_PARM_DESC(resume_ms,
		 "ms within which broken connections to another machine are made anew before it counts as lost, but not before its silence says so, 0: at once; read when joining (default: 2000)");

bool dsm_param_poll_always;
module_param_named(poll_always, dsm_param_poll_always, bool, 0644);
MODULE_PARM_DESC(poll_always,
		 "spin in every wait, and not only where that has proved to be faster (default: off)");

unsigned int dsm_param_locks_per_user = 1u << 20;
module_param_named(locks_per_user, dsm_param_locks_per_user, uint, 0644);
MODULE_PARM_DESC(locks_per_user,
		 "locks one user may hold or wait for, and commands of io_uring pending, at once on this machine (default: 1048576)");

unsigned int dsm_param_regions_per_user = 1024;
module_param_named(regions_per_user, dsm_param_regions_per_user, uint, 0644);
MODULE_PARM_DESC(regions_per_user,
		 "regions one user may have in the cluster, root any number; that of the node that decides (default: 1024)");

static unsigned long default_mib = 256;
module_param(default_mib, ulong, 0444);
MODULE_PARM_DESC(default_mib,
		 "size of /dev/dsm in MiB, used by the node that starts a cluster (default: 256)");

static unsigned long heap_mib = 1024;
module_param(heap_mib, ulong, 0444);
MODULE_PARM_DESC(heap_mib,
		 "size of /dev/dsm-heap in MiB, used by the node that starts a cluster (default: 1024)");

unsigned int dsm_param_lock_cap = 65536;
module_param_named(lock_cap, dsm_param_lock_cap, uint, 0444);
MODULE_PARM_DESC(lock_cap,
		 "idle tokens of other nodes' lock keys that are kept here (default: 65536)");

unsigned int dsm_param_twins_max;
module_param_named(twins_max, dsm_param_twins_max, uint, 0444);
MODULE_PARM_DESC(twins_max,
		 "twins beyond which pages are written back early, and beyond twice of which writers wait for that; 0: an eighth of the memory (default: 0)");

unsigned int dsm_param_barrier_fanout = 8;
module_param_named(barrier_fanout, dsm_param_barrier_fanout, uint, 0444);
MODULE_PARM_DESC(barrier_fanout,
		 "nodes that report to one node at a barrier; more make a tree (default: 8)");

unsigned long dsm_param_pin_mib;
module_param_named(pin_mib, dsm_param_pin_mib, ulong, 0644);
MODULE_PARM_DESC(pin_mib,
		 "memory in MiB registered for remote reads and writes at most (default: a quarter of the memory)");

unsigned int dsm_param_bcast_slots = 256;
module_param_named(bcast_slots, dsm_param_bcast_slots, uint, 0644);
MODULE_PARM_DESC(bcast_slots,
		 "bcast=adaptive: multicast pages of others kept at most, up to 4096; 0: none is received; read when the first such region appears (default: 256)");

unsigned int dsm_param_bcast_wait_us = 10000;
module_param_named(bcast_wait_us, dsm_param_bcast_wait_us, uint, 0644);
MODULE_PARM_DESC(bcast_wait_us,
		 "bcast=adaptive: time in us to wait for a multicast before the page is asked for by itself; read when the first such region appears (default: 10000)");

unsigned int dsm_param_keep_after = 2;
module_param_named(keep_after, dsm_param_keep_after, uint, 0644);
MODULE_PARM_DESC(keep_after,
		 "intervals in a row that wrote a page before it stays writable and keeps its twin, 1 to 3; 0: never; read when joining (default: 2)");

unsigned int dsm_param_move_after = 3;
module_param_named(move_after, dsm_param_move_after, uint, 0644);
MODULE_PARM_DESC(move_after,
		 "home=migrate@barrier: versions in a row that one node wrote before the home shall move there; 0: never; read when joining (default: 3)");

unsigned int dsm_param_direct_runs;
module_param_named(direct_runs, dsm_param_direct_runs, uint, 0644);
MODULE_PARM_DESC(direct_runs,
		 "diffpath=auto: pages with at most so many changed runs are written into their homes' frames, up to 64; 0: only wholly changed pages (default: 0)");

unsigned int dsm_param_wr_runs_max = 64;
module_param_named(wr_runs_max, dsm_param_wr_runs_max, uint, 0644);
MODULE_PARM_DESC(wr_runs_max,
		 "diffpath=write: pages with more changed runs are packed all the same (default: 64, the most)");

unsigned int dsm_param_nodes = 1;
PARAM_WITHIN(nodes, dsm_param_nodes, 1, DSM_LOCAL_NODES_MAX, 0444);
MODULE_PARM_DESC(nodes,
		 "participants of the protocol that this machine has, 1 to 8: each with devices, a port and memory of its own (default: 1)");

unsigned long dsm_param_default_bytes;
unsigned long dsm_param_heap_bytes;

static int check_sizes(void)
{
	if (!default_mib || default_mib > REGION_MAX_MIB ||
	    !heap_mib || heap_mib > REGION_MAX_MIB) {
		pr_err("dsm: default_mib and heap_mib must be 1 to %llu\n", REGION_MAX_MIB);
		return -EINVAL;
	}
	dsm_param_default_bytes = default_mib << MIB_SHIFT;
	dsm_param_heap_bytes = heap_mib << MIB_SHIFT;
	return 0;
}

static struct dsm_node *nodes[DSM_LOCAL_NODES_MAX];

static void free_nodes(void)
{
	int i;

	for (i = 0; i < DSM_LOCAL_NODES_MAX; i++) {
		if (nodes[i])
			dsm_node_free(nodes[i]);
		nodes[i] = NULL;
	}
}

static int make_nodes(void)
{
	struct dsm_node *n;
	u32 i;

	for (i = 0; i < dsm_param_nodes; i++) {
		n = dsm_node_new(i);
		if (IS_ERR(n)) {
			free_nodes();
			return PTR_ERR(n);
		}
		nodes[i] = n;
	}
	return 0;
}

static int __init dsm_init(void)
{
	int ret = check_sizes();

	if (ret)
		return ret;
	ret = dsm_mm_init();
	if (ret)
		return ret;
	ret = dsm_net_init();
	if (ret)
		goto err_mm;
	ret = dsm_node_init();
	if (ret)
		goto err_net;
	ret = make_nodes();
	if (ret)
		goto err_node;
	ret = dsm_async_init();
	if (ret)
		goto err_new;
	ret = dsm_ctl_init(nodes, dsm_param_nodes);
	if (ret)
		goto err_async;
	return 0;

err_async:
	dsm_async_exit();
err_new:
	free_nodes();
err_node:
	dsm_node_exit();
err_net:
	dsm_net_exit();
err_mm:
	dsm_mm_exit();
	return ret;
}

/*
 * No file is open here: each holds the module. Leaving comes first because it removes
 * the regions' device nodes, which need the class.
 */
static void __exit dsm_exit(void)
{
	int i;

	for (i = DSM_LOCAL_NODES_MAX - 1; i >= 0; i--)
		if (nodes[i])
			dsm_node_end(nodes[i]);
	dsm_ctl_exit();
	dsm_async_exit();
	free_nodes();
	dsm_node_exit();
	dsm_net_exit();
	dsm_mm_exit();
}

module_init(dsm_init);
module_exit(dsm_exit);

MODULE_AUTHOR("The dsm authors");
MODULE_DESCRIPTION("Coherent distributed memory over RDMA");
MODULE_LICENSE("GPL");
