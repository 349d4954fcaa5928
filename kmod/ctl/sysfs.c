// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * sysfs.c: the attributes below /sys/class/dsm/, one value per file, as Documentation/ABI says.
 *
 * Everything is asked of the shell when it is read, and only tunables can be written; nothing is
 * kept here but the directories of the peers.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>
#include "../net/transport.h"
#include "ctl.h"

/* ---- the node ---- */

static const char * const state_names[] = {
	[DSM_NODE_NONE] = "none",
	[DSM_NODE_SELF] = "self",
	[DSM_NODE_UP] = "up",
	[DSM_NODE_LOST] = "lost",
	[DSM_NODE_LEFT] = "left",
};

/*
 * 0, or -ENOTCONN when this node has not joined, or what the shell says of an id that it does
 * not know.
 */
static int node_info(struct dsm_node *n, u16 node, struct dsm_ioc_node_info *info)
{
	if (!dsm_node_joined(n))
		return -ENOTCONN;
	*info = (struct dsm_ioc_node_info){ .size = sizeof(*info), .node = node };
	return dsm_node_info(n, info);
}

static ssize_t node_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dsm_ioc_node_info info;
	int ret = node_info(dsm_device_node(dev), DSM_NODE_ANY, &info);

	return ret ? ret : sysfs_emit(buf, "%u\n", info.node);
}
static DEVICE_ATTR_RO(node_id);

static ssize_t cluster_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dsm_ioc_node_info info;
	int ret = node_info(dsm_device_node(dev), DSM_NODE_ANY, &info);

	return ret ? ret : sysfs_emit(buf, "%016llx\n", info.cluster);
}
static DEVICE_ATTR_RO(cluster);

static ssize_t members_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dsm_ioc_node_info info;
	int ret = node_info(dsm_device_node(dev), DSM_NODE_ANY, &info);

	if (ret && ret != -ENOTCONN)
		return ret;
	return sysfs_emit(buf, "%u\n", ret ? 0 : info.members);
}
static DEVICE_ATTR_RO(members);

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", dsm_node_joined(dsm_device_node(dev)) ? "joined" : "none");
}
static DEVICE_ATTR_RO(state);

static ssize_t device_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dsm_ioc_node_info info;
	int ret = node_info(dsm_device_node(dev), DSM_NODE_ANY, &info);

	return ret ? ret : sysfs_emit(buf, "%.*s\n", (int)sizeof(info.device), info.device);
}

/* Not DEVICE_ATTR_RO: "device" is a link of the driver core in other classes. */
static struct device_attribute dev_attr_rdma_device = __ATTR(rdma_device, 0444, device_show, NULL);

static ssize_t abi_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", DSM_ABI);
}
static DEVICE_ATTR_RO(abi);

static ssize_t insecure_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", dsm_param_insecure);
}
static DEVICE_ATTR_RO(insecure);

static ssize_t peer_timeout_ms_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(dsm_param_peer_timeout_ms));
}
static DEVICE_ATTR_RO(peer_timeout_ms);

static ssize_t resume_ms_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(dsm_param_resume_ms));
}
static DEVICE_ATTR_RO(resume_ms);

static ssize_t poll_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return dsm_param_poll_show(buf);
}
static DEVICE_ATTR_RO(poll);

static ssize_t poll_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(dsm_param_poll_us));
}
static DEVICE_ATTR_RO(poll_us);

static ssize_t spin_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return dsm_spin_show(buf);
}
static DEVICE_ATTR_RO(spin);

static struct attribute *node_attrs[] = {
	&dev_attr_node_id.attr,
	&dev_attr_cluster.attr,
	&dev_attr_members.attr,
	&dev_attr_state.attr,
	&dev_attr_rdma_device.attr,
	&dev_attr_abi.attr,
	&dev_attr_insecure.attr,
	&dev_attr_peer_timeout_ms.attr,
	&dev_attr_resume_ms.attr,
	&dev_attr_poll.attr,
	&dev_attr_poll_us.attr,
	&dev_attr_spin.attr,
	NULL
};

static const struct attribute_group node_group = {
	.attrs = node_attrs,
};

/* ---- counters ---- */

/* The one place of the counters' names; userspace reads them here. */
static const char * const stat_names[] = {
	[DSM_STAT_READ_FAULTS] = "read_faults",
	[DSM_STAT_WRITE_FAULTS] = "write_faults",
	[DSM_STAT_PAGE_TRANSFERS] = "page_transfers",
	[DSM_STAT_ZERO_REPLIES] = "zero_replies",
	[DSM_STAT_FETCHES_SERVED] = "fetches_served",
	[DSM_STAT_INVALIDATIONS] = "invalidations",
	[DSM_STAT_TWINS] = "twins",
	[DSM_STAT_DIFFS] = "diffs",
	[DSM_STAT_DIFF_BYTES] = "diff_bytes",
	[DSM_STAT_DIFFS_APPLIED] = "diffs_applied",
	[DSM_STAT_MERGES] = "merges",
	[DSM_STAT_RACE_CONFLICTS] = "race_conflicts",
	[DSM_STAT_INTERVALS] = "intervals",
	[DSM_STAT_NOTICES_SENT] = "notices_sent",
	[DSM_STAT_NOTICES_RECEIVED] = "notices_received",
	[DSM_STAT_INVAL_ALL] = "inval_all",
	[DSM_STAT_RELEASES] = "releases",
	[DSM_STAT_ACQUIRES] = "acquires",
	[DSM_STAT_LOCKS_LOCAL] = "locks_local",
	[DSM_STAT_LOCKS_REMOTE] = "locks_remote",
	[DSM_STAT_BARRIERS] = "barriers",
	[DSM_STAT_FLAGS] = "flags",
	[DSM_STAT_MSGS_SENT] = "msgs_sent",
	[DSM_STAT_MSGS_RECEIVED] = "msgs_received",
	[DSM_STAT_BYTES_SENT] = "bytes_sent",
	[DSM_STAT_BYTES_RECEIVED] = "bytes_received",
	[DSM_STAT_CREDIT_STALLS] = "credit_stalls",
	[DSM_STAT_INVALID_MSGS] = "invalid_msgs",
	[DSM_STAT_SIGBUS] = "sigbus",
	[DSM_STAT_NS_PROTOCOL] = "ns_protocol",
	[DSM_STAT_NS_WAIT_LOCK] = "ns_wait_lock",
	[DSM_STAT_NS_WAIT_BARRIER] = "ns_wait_barrier",
	[DSM_STAT_NS_WAIT_FLAG] = "ns_wait_flag",
	[DSM_STAT_NS_WAIT_PAGE] = "ns_wait_page",
	[DSM_STAT_NS_WAIT_PAGE_LOCK] = "ns_wait_page_lock",
	[DSM_STAT_NS_WAIT_RELEASE] = "ns_wait_release",
	[DSM_STAT_NS_MESSAGE] = "ns_message",
	[DSM_STAT_REQUESTS_REFUSED] = "requests_refused",
	[DSM_STAT_ZERO_LOCAL] = "zero_local",
	[DSM_STAT_PAGE_READS] = "page_reads",
	[DSM_STAT_PAGE_WRITES] = "page_writes",
	[DSM_STAT_CHUNKS] = "chunks",
	[DSM_STAT_PREFETCH_ISSUED] = "prefetch_issued",
	[DSM_STAT_PREFETCH_HITS] = "prefetch_hits",
	[DSM_STAT_PREFETCH_WASTED] = "prefetch_wasted",
	[DSM_STAT_DIRECT_PAGES] = "direct_pages",
	[DSM_STAT_DIRECT_RUNS] = "direct_runs",
	[DSM_STAT_XFER_READS] = "xfer_reads",
	[DSM_STAT_XFER_WRITES] = "xfer_writes",
	[DSM_STAT_XFER_ATOMICS] = "xfer_atomics",
	[DSM_STAT_SIGNALS_SENT] = "signals_sent",
	[DSM_STAT_SIGNALS_RECEIVED] = "signals_received",
	[DSM_STAT_XFER_BYTES] = "xfer_bytes",
	[DSM_STAT_DOORBELLS] = "doorbells",
	[DSM_STAT_WORK_REQUESTS] = "work_requests",
	[DSM_STAT_SIGNALLED] = "signalled",
	[DSM_STAT_SENDS_INLINE] = "sends_inline",
	[DSM_STAT_SENDS_BATCHED] = "sends_batched",
	[DSM_STAT_SENDS_SIGNALLED] = "sends_signalled",
	[DSM_STAT_BULKS] = "bulks",
	[DSM_STAT_SENDS_BULK] = "sends_bulk",
	[DSM_STAT_SENDS_BRIEF] = "sends_brief",
	[DSM_STAT_SINKS_LENT] = "sinks_lent",
	[DSM_STAT_SINK_MISSES] = "sink_misses",
	[DSM_STAT_SC_GRANTS] = "sc_grants",
	[DSM_STAT_SC_RECALLS] = "sc_recalls",
	[DSM_STAT_SC_REFUSALS] = "sc_refusals",
	[DSM_STAT_PAGES_LOST] = "pages_lost",
	[DSM_STAT_LETTERS] = "letters",
	[DSM_STAT_LETTERS_BY_MESSAGE] = "letters_by_message",
	[DSM_STAT_EXCL_ENTERS] = "excl_enters",
	[DSM_STAT_EXCL_BREAKS] = "excl_breaks",
	[DSM_STAT_MIGRATIONS] = "migrations",
	[DSM_STAT_MIGRATION_ATTEMPTS] = "migration_attempts",
	[DSM_STAT_RESUMES] = "resumes",
	[DSM_STAT_DUPLICATES] = "duplicates",
	[DSM_STAT_DIR_CHANGES] = "dir_changes",
	[DSM_STAT_DIR_LOOKS] = "dir_looks",
	[DSM_STAT_NOTICES_WRITTEN] = "notices_written",
	[DSM_STAT_PREDICTIONS] = "predictions",
	[DSM_STAT_PREDICTION_HITS] = "prediction_hits",
	[DSM_STAT_MSGS_BELOW_256] = "msgs_below_256",
	[DSM_STAT_MSGS_BELOW_1K] = "msgs_below_1k",
	[DSM_STAT_MSGS_BELOW_4K] = "msgs_below_4k",
	[DSM_STAT_MSGS_LARGER] = "msgs_larger",
	[DSM_STAT_BCAST_PAGES] = "bcast_pages",
	[DSM_STAT_BCAST_HITS] = "bcast_hits",
	[DSM_STAT_BCAST_LOST] = "bcast_lost",
	[DSM_STAT_HEARTBEATS] = "heartbeats",
	[DSM_STAT_CREDITS] = "credits",
	[DSM_STAT_ANSWERS_FIRST] = "answers_first",
	[DSM_STAT_XFERS_FIRST] = "xfers_first",
	[DSM_STAT_PAGES_SENT] = "pages_sent",
	[DSM_STAT_PAGES_DROPPED] = "pages_dropped",
	[DSM_STAT_NOTICES_READ] = "notices_read",
	[DSM_STAT_NOTICES_DROPPED] = "notices_dropped",
	[DSM_STAT_MERGES_LIVE] = "merges_live",
	[DSM_STAT_ATOMICS_DOUBTED] = "atomics_doubted",
	[DSM_STAT_WRPROTECT_RUNS] = "wrprotect_runs",
	[DSM_STAT_ZAP_RUNS] = "zap_runs",
	[DSM_STAT_NS_MESSAGE_WAIT] = "ns_message_wait",
	[DSM_STAT_CREDITS_HELD] = "credits_held",
};

static_assert(ARRAY_SIZE(stat_names) == DSM_STAT_COUNT);

/* Filled by dsm_sysfs_init(); @var is the index. */
static struct dev_ext_attribute stat_attr[DSM_STAT_COUNT];
static struct attribute *stat_attrs[DSM_STAT_COUNT + 1];

static ssize_t stat_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct dev_ext_attribute *ea = container_of(attr, struct dev_ext_attribute, attr);
	u64 values[DSM_STAT_COUNT] = {};

	dsm_node_stats(dsm_device_node(dev), values);
	return sysfs_emit(buf, "%llu\n", values[(unsigned long)ea->var]);
}

static void stat_attrs_init(void)
{
	unsigned long i;

	for (i = 0; i < DSM_STAT_COUNT; i++) {
		stat_attr[i] = (struct dev_ext_attribute){
			.attr = {
				.attr = { .name = stat_names[i], .mode = 0444 },
				.show = stat_show,
			},
			.var = (void *)i,
		};
		stat_attrs[i] = &stat_attr[i].attr.attr;
	}
}

static const struct attribute_group stats_group = {
	.name = "stats",
	.attrs = stat_attrs,
};

/* ---- tunables: by which mechanism messages go ---- */

static ssize_t tunable_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct dev_ext_attribute *ea = container_of(attr, struct dev_ext_attribute, attr);

	return sysfs_emit(buf, "%u\n", dsm_net_tunable((unsigned long)ea->var));
}

static ssize_t tunable_store(struct device *dev, struct device_attribute *attr, const char *buf,
			     size_t count)
{
	const struct dev_ext_attribute *ea = container_of(attr, struct dev_ext_attribute, attr);
	u32 value;
	int ret = kstrtou32(buf, 10, &value);

	if (!ret)
		ret = dsm_net_set_tunable((unsigned long)ea->var, value);
	return ret ? ret : count;
}

#define TUNABLE(_name, _which)							\
static struct dev_ext_attribute tunable_##_name = {				\
	.attr = __ATTR(_name, 0644, tunable_show, tunable_store),		\
	.var = (void *)(_which),						\
}

TUNABLE(inline_max, DSM_NET_INLINE_MAX);
TUNABLE(batch_max, DSM_NET_BATCH_MAX);
TUNABLE(bulk_min, DSM_NET_BULK_MIN);

static struct attribute *tunable_attrs[] = {
	&tunable_inline_max.attr.attr,
	&tunable_batch_max.attr.attr,
	&tunable_bulk_min.attr.attr,
	NULL
};

static const struct attribute_group tunables_group = {
	.name = "tunables",
	.attrs = tunable_attrs,
};

/* ---- regions: on /dev/dsm-NAME itself, and in region/ of /dev/dsm for the default one ---- */

static int region_info(struct device *dev, struct dsm_ioc_region_info *info)
{
	struct dsm_region *r = dsm_device_region_get(dev);

	if (IS_ERR(r))
		return PTR_ERR(r);
	*info = (struct dsm_ioc_region_info){ .size = sizeof(*info) };
	dsm_node_region_info(r, info);
	dsm_device_region_put(dev, r);
	return 0;
}

#define REGION_ATTR(_name, _fmt, ...)						\
static ssize_t region_##_name##_show(struct device *dev,			\
				     struct device_attribute *attr, char *buf)	\
{										\
	struct dsm_ioc_region_info info;					\
	int ret = region_info(dev, &info);					\
										\
	return ret ? ret : sysfs_emit(buf, _fmt "\n", __VA_ARGS__);		\
}										\
static struct device_attribute region_attr_##_name =				\
	__ATTR(_name, 0444, region_##_name##_show, NULL)

REGION_ATTR(id, "%u", info.id);
REGION_ATTR(size, "%llu", info.bytes);
REGION_ATTR(addr, "0x%llx", info.addr);
REGION_ATTR(flags, "0x%x", info.region_flags);
REGION_ATTR(policy, "%.*s", DSM_POLICY_MAX, info.policy);
REGION_ATTR(members, "0x%llx", info.members);
REGION_ATTR(opens, "%u", info.opens);
REGION_ATTR(touched_pages, "%llu", info.touched_pages);
REGION_ATTR(homed_pages, "%llu", info.homed_pages);

static struct attribute *region_attrs[] = {
	&region_attr_id.attr,
	&region_attr_size.attr,
	&region_attr_addr.attr,
	&region_attr_flags.attr,
	&region_attr_policy.attr,
	&region_attr_members.attr,
	&region_attr_opens.attr,
	&region_attr_touched_pages.attr,
	&region_attr_homed_pages.attr,
	NULL
};

static const struct attribute_group region_group = {
	.attrs = region_attrs,
};

static const struct attribute_group default_region_group = {
	.name = "region",
	.attrs = region_attrs,
};

const struct attribute_group *dsm_sysfs_control_groups[] = {
	&node_group,
	&stats_group,
	&tunables_group,
	&default_region_group,
	NULL
};

const struct attribute_group *dsm_sysfs_region_groups[] = {
	&region_group,
	NULL
};

/* ---- peers: a directory per node id that was ever up, named by the id ---- */

/**
 * struct peer_dirs - the directories below a node's peers/
 * @top:  peers/, made with the first peer; NULL before
 * @peer: directory by node id, or NULL
 */
struct peer_dirs {
	struct kobject *top;
	struct kobject *peer[DSM_MAX_NODES];
};

/* Guards the directories of all nodes; outermost here: readers of the files do not take it. */
static DEFINE_MUTEX(peers_lock);
static struct peer_dirs peer_dirs[DSM_LOCAL_NODES_MAX];

static int peer_info(struct kobject *kobj, struct dsm_ioc_node_info *info)
{
	u16 node;
	/* Below peers/ of a /dev/dsm. */
	struct device *dev = kobj_to_dev(kobj->parent->parent);
	int ret = kstrtou16(kobject_name(kobj), 10, &node);

	return ret ? ret : node_info(dsm_device_node(dev), node, info);
}

static ssize_t peer_state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct dsm_ioc_node_info info;
	int ret = peer_info(kobj, &info);

	if (ret)
		return ret;
	if (info.state >= ARRAY_SIZE(state_names))
		return -EIO;
	return sysfs_emit(buf, "%s\n", state_names[info.state]);
}

static ssize_t peer_addr_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct dsm_ioc_node_info info;
	int ret = peer_info(kobj, &info);

	return ret ? ret : sysfs_emit(buf, "%pI4:%u\n", &info.addr, info.port);
}

static ssize_t peer_silent_ms_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct dsm_ioc_node_info info;
	int ret = peer_info(kobj, &info);

	return ret ? ret : sysfs_emit(buf, "%u\n", info.silent_ms);
}

static ssize_t peer_reason_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct dsm_ioc_node_info info;
	int ret = peer_info(kobj, &info);

	return ret ? ret : sysfs_emit(buf, "%.*s\n", (int)sizeof(info.reason), info.reason);
}

static struct kobj_attribute peer_attr_state = __ATTR(state, 0444, peer_state_show, NULL);
static struct kobj_attribute peer_attr_addr = __ATTR(addr, 0444, peer_addr_show, NULL);
static struct kobj_attribute peer_attr_silent_ms =
	__ATTR(silent_ms, 0444, peer_silent_ms_show, NULL);
static struct kobj_attribute peer_attr_reason = __ATTR(reason, 0444, peer_reason_show, NULL);

static const struct attribute *peer_attrs[] = {
	&peer_attr_state.attr,
	&peer_attr_addr.attr,
	&peer_attr_silent_ms.attr,
	&peer_attr_reason.attr,
	NULL
};

static struct kobject *peer_dir_new(struct kobject *top, u16 node)
{
	char name[8];
	struct kobject *dir;

	snprintf(name, sizeof(name), "%u", node);
	dir = kobject_create_and_add(name, top);
	if (!dir)
		return NULL;
	if (sysfs_create_files(dir, peer_attrs)) {
		kobject_put(dir);
		return NULL;
	}
	return dir;
}

static void dir_remove(struct kobject **dir)
{
	if (!*dir)
		return;
	kobject_del(*dir);
	kobject_put(*dir);
	*dir = NULL;
}

/**
 * dsm_sysfs_init() - prepare the attributes, before the first device is made
 *
 * Context: module load.
 */
void dsm_sysfs_init(void)
{
	stat_attrs_init();
}

/**
 * dsm_ctl_peer_add() - make peers/<node>/
 * @n:    node
 * @node: node id; nothing happens if it has its directory already or is out of range
 *
 * Without memory the directory is missing until the peer comes up again; nothing depends on it.
 *
 * Context: process; sleeps; the caller holds no lock that dsm_node_info() takes.
 */
void dsm_ctl_peer_add(struct dsm_node *n, u16 node)
{
	struct peer_dirs *d = &peer_dirs[dsm_node_number(n)];

	if (node >= DSM_MAX_NODES)
		return;
	mutex_lock(&peers_lock);
	if (!d->top)
		d->top = kobject_create_and_add("peers", &dsm_device_control(n)->kobj);
	if (d->top && !d->peer[node])
		d->peer[node] = peer_dir_new(d->top, node);
	mutex_unlock(&peers_lock);
}

/**
 * dsm_ctl_peers_del() - remove peers/, when this node leaves
 * @n: node
 *
 * Waits for readers of the files.
 *
 * Context: process; sleeps; the caller holds no lock that dsm_node_info() takes.
 */
void dsm_ctl_peers_del(struct dsm_node *n)
{
	struct peer_dirs *d = &peer_dirs[dsm_node_number(n)];
	int i;

	mutex_lock(&peers_lock);
	for (i = 0; i < DSM_MAX_NODES; i++)
		dir_remove(&d->peer[i]);
	dir_remove(&d->top);
	mutex_unlock(&peers_lock);
}
