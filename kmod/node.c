// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The shell: owns the engine and feeds it events (step.c: how). Decides nothing about coherence.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include "core/page.h"
#include "core/release.h"
#include "ctl/trace.h"
#include "shell.h"

/* ---- messages ---- */

struct touch_ctx {
	struct dsm_region *region;
};

static int touch(void *ctx, u32 region, u32 idx, bool frame)
{
	struct dsm_region *r = ((struct touch_ctx *)ctx)->region;

	if (!r || !r->space->n_members || idx >= r->pages)
		return -EPROTO;
	return PTR_ERR_OR_ZERO(dsm_shell_page_served(r, idx, frame));
}

static int step_message(struct dsm_node *n, u16 node, const u8 *msg, u32 len,
			struct dsm_region *r)
{
	struct touch_ctx ctx = { .region = r };
	struct dsm_actions acts;
	u64 waited_ns;
	int err;

	err = dsm_engine_check(msg, len, touch, &ctx);
	if (err)
		return err;
	if ((msg[0] == DSM_MSG_PAGE || msg[0] == DSM_MSG_DIFF_ACK) && r)
		dsm_chunk_learn(r, node, msg, len);
	waited_ns = dsm_step_begin(n, &acts);
	err = dsm_engine_recv(n->engine, node, msg, len, &acts);
	dsm_step_end(n, &acts);
	if (waited_ns)
		atomic64_add(waited_ns, &n->stats.ns_message_wait);
	/* Who destroys the region waits for the last answer, who leaves for locks to go; has a barrier after the step. */
	if ((msg[0] == DSM_MSG_PAGE || msg[0] == DSM_MSG_LOCK_RETURN_ACK || msg[0] == DSM_MSG_LOCK_PASS) && wq_has_sleeper(&n->changed))
		wake_up_all(&n->changed);
	if (msg[0] == DSM_MSG_FETCH && !err)
		dsm_chunk_asked(r, le32_to_cpu(*(const __le32 *)(msg + DSM_HDR_BYTES)));
	return err;
}

/* For a region that was destroyed while this was under way: nobody waits for it any more. */
static int late_message(struct dsm_node *n, u16 node, const u8 *msg, u32 len)
{
	struct dsm_actions acts;
	int err;

	if (msg[0] != DSM_MSG_FETCH)
		return 0;
	dsm_step_begin(n, &acts);
	err = dsm_page_on_late_fetch(n->engine, node, msg, len, &acts);
	dsm_step_end(n, &acts);
	return err;
}

/**
 * dsm_node_recv() - a message arrived
 * @ctx:   receiver, struct dsm_node
 * @node:  sender
 * @class: class
 * @msg:   message, header checked by net
 * @len:   its length in bytes
 *
 * Context: process; sleeps, never for the network.
 * Return: 0, -EPROTO: the sender broke a rule and is to be dropped.
 */
int dsm_node_recv(void *ctx, u16 node, enum dsm_class class, const u8 *msg, u32 len)
{
	const struct dsm_wire_hdr *hdr = (const struct dsm_wire_hdr *)msg;
	u32 region = le32_to_cpu(hdr->region);
	u64 start = dsm_now_ns();
	struct dsm_region *r = NULL;
	struct dsm_node *n = ctx;
	int err;

	trace_dsm_msg_rx(node, class, hdr->type, len, le32_to_cpu(hdr->xid));
	dsm_observe_message(node, msg, len);
	if (hdr->type == DSM_MSG_CONTROL || hdr->type == DSM_MSG_CONTROL_REPLY)
		return dsm_member_recv(n, node, msg, len);
	if (region) {
		r = dsm_node_region_get(n, region, false);
		if (IS_ERR(r))
			return late_message(n, node, msg, len);
	}
	err = step_message(n, node, msg, len, r);
	/* Taken out of the engine since it was found: the sender has broken no rule. */
	if (err == -ENOENT)
		err = late_message(n, node, msg, len);
	if (r)
		dsm_node_region_put(r);
	if (err == -EPROTO)
		atomic64_inc(&n->stats.invalid_msgs);
	atomic64_add(dsm_now_ns() - start, &n->stats.ns_message);
	return err;
}

/* ---- peers ---- */

static void forget_loss(struct dsm_node *n, u16 node)
{
	u32 bucket;

	for (bucket = 0; bucket < DSM_KEY_BUCKETS; bucket++) {
		spin_lock(&n->lock);
		dsm_engine_forget_loss(n->engine, node, bucket);
		spin_unlock(&n->lock);
	}
}

/**
 * dsm_node_peer_up() - a peer can be reached
 * @ctx:  struct dsm_node
 * @self: this node's id: with the first peer it is known, and that peer may speak of it before the join goes on
 * @node: the peer's id
 * @addr: its listening address
 *
 * Context: process.
 */
void dsm_node_peer_up(void *ctx, u16 self, u16 node, const struct sockaddr_in *addr)
{
	struct dsm_node *n = ctx;

	/* Of the loss of this one nobody is told before all who wait have forgotten that of another one. */
	mutex_lock(&n->losing);
	spin_lock(&n->lock);
	dsm_engine_set_self(n->engine, self);
	n->peers[node] = (struct dsm_peer_record){ .state = DSM_NODE_UP, .addr = *addr };
	dsm_engine_peer_up(n->engine, node);
	n->joined |= n->listed & BIT_ULL(node);	/* the coordinator may have said so before */
	spin_unlock(&n->lock);
	forget_loss(n, node);
	mutex_unlock(&n->losing);
	down_write(&n->net_lock);
	n->counted |= BIT_ULL(node);
	up_write(&n->net_lock);
	trace_dsm_peer(node, true, "");
	dsm_ctl_peer_add(n, node);
	dsm_rsync_tell(n, node);
	wake_up_all(&n->changed);
}

static void lose_pages(struct dsm_node *n, u16 node)
{
	struct dsm_region *r;
	struct dsm_actions acts;
	unsigned long idx;
	struct dsm_page *p;
	u32 id = 0;

	for (;;) {
		r = dsm_node_region_get(n, id, true);
		if (IS_ERR(r))
			return;
		id = r->id;
		dsm_chunks_peer_lost(r, node);
		xa_for_each(&r->table, idx, p) {
			dsm_step_begin(n, &acts);
			dsm_page_peer_lost(n->engine, p, node, &acts);
			dsm_step_end(n, &acts);
		}
		dsm_node_region_put(r);
	}
}

static void lose_keys(struct dsm_node *n, u16 node)
{
	struct dsm_actions acts;
	u32 bucket, loss;
	bool more;

	/* One at a time: each object remembers only the last loss that it was told of. */
	mutex_lock(&n->losing);
	spin_lock(&n->lock);
	loss = ++n->engine->losses;
	spin_unlock(&n->lock);
	for (bucket = 0; bucket < DSM_KEY_BUCKETS; bucket++)
		do {
			dsm_step_begin(n, &acts);
			more = dsm_engine_lose_key(n->engine, node, loss, bucket, &acts);
			dsm_step_end(n, &acts);
		} while (more);
	mutex_unlock(&n->losing);
}

/*
 * Counters never run backwards: what a peer counted outlives it. The transport goes on to know the
 * peer for a while; a reader sees its traffic once, there or here.
 */
static void keep_traffic(struct dsm_node *n, u16 node)
{
	struct dsm_net_peer_stats peer;

	down_write(&n->net_lock);
	n->counted &= ~BIT_ULL(node);
	if (n->net && !dsm_net_peer_stats(n->net, node, &peer))
		dsm_shell_add_traffic(&peer, n->old_traffic);
	up_write(&n->net_lock);
}

/**
 * dsm_node_peer_lost() - a peer is gone
 * @ctx:    struct dsm_node
 * @node:   its id
 * @reason: for the log
 * @err:    -ESHUTDOWN: it said goodbye
 *
 * Context: process; sleeps.
 */
void dsm_node_peer_lost(void *ctx, u16 node, const char *reason, int err)
{
	struct dsm_node *n = ctx;
	struct dsm_actions acts;

	if (atomic_read(&n->state) == DSM_MEMBER_LEAVING)
		pr_debug("dsm: node %u: %s\n", node, reason);
	else if (err == -ESHUTDOWN)
		pr_info("dsm: node %u left: %s\n", node, reason);
	else
		pr_err("dsm: node %u is lost: %s; what needs it fails with EHOSTDOWN\n", node,
		       reason);
	trace_dsm_peer(node, false, reason);
	keep_traffic(n, node);
	dsm_step_begin(n, &acts);
	n->peers[node].state = err == -ESHUTDOWN ? DSM_NODE_LEFT : DSM_NODE_LOST;
	strscpy(n->peers[node].reason, reason, sizeof(n->peers[node].reason));
	if (n->joined & BIT_ULL(node))
		n->unlucky &= ~BIT_ULL(node);
	else
		n->unlucky |= BIT_ULL(node);
	n->joined &= ~BIT_ULL(node);
	n->lost_at[node] = n->loss + 1;
	WRITE_ONCE(n->loss, n->loss + 1);
	if (err == -ESHUTDOWN)
		dsm_engine_peer_left(n->engine, node);
	dsm_engine_peer_lost(n->engine, node, &acts);
	dsm_step_end(n, &acts);
	lose_keys(n, node);
	lose_pages(n, node);
	spin_lock(&n->lock);
	dsm_moves_peer_lost(n->engine, node);
	spin_unlock(&n->lock);
	dsm_recall_lost(n, node);
	dsm_member_peer_lost(n, node);
	wake_up_all(&n->changed);
}

/**
 * dsm_node_info() - a node or a peer of it, for status
 * @n:    node
 * @info: in: node; out: the rest
 *
 * Context: process.
 * Return: 0, -EINVAL no such id.
 */
int dsm_node_info(struct dsm_node *n, struct dsm_ioc_node_info *info)
{
	struct dsm_net_peer_stats stats;
	struct dsm_peer_record *rec;
	u16 node = info->node;
	int i;

	spin_lock(&n->lock);
	if (node == DSM_NODE_ANY)
		node = n->engine->self;
	info->members = hweight64(n->joined);
	info->insecure = dsm_param_insecure;
	for (i = 0, info->max_id = 0; i < DSM_MAX_NODES; i++)
		if (n->peers[i].state != DSM_NODE_NONE)
			info->max_id = i;
	info->node = node;
	info->state = DSM_NODE_NONE;
	if (node < DSM_MAX_NODES) {
		rec = &n->peers[node];
		info->state = rec->state;
		info->addr = rec->addr.sin_addr.s_addr;
		info->port = ntohs(rec->addr.sin_port);
		strscpy(info->reason, rec->reason, sizeof(info->reason));
	}
	spin_unlock(&n->lock);
	if (node >= DSM_MAX_NODES)
		return dsm_node_joined(n) ? -EINVAL : 0;
	down_read(&n->net_lock);
	if (!n->net)
		goto out;
	info->cluster = dsm_net_cluster(n->net);
	if (info->state == DSM_NODE_SELF)
		strscpy(info->device, dsm_net_device(n->net), sizeof(info->device));
	else if (!dsm_net_peer_stats(n->net, node, &stats))
		info->silent_ms = stats.silent_ms;
out:
	up_read(&n->net_lock);
	return 0;
}

/* ---- life of the engine: from joining to leaving ---- */

/**
 * dsm_engine_start() - a fresh engine, before joining
 * @n: node
 *
 * Context: process, not joined.
 */
void dsm_engine_start(struct dsm_node *n)
{
	struct dsm_core_stats stats;

	memset(n->tables, 0, DSM_KEY_TABLES * DSM_KEY_BUCKETS * sizeof(*n->tables));
	spin_lock(&n->lock);
	/* Like all counters they count since the module was loaded. */
	stats = n->engine->stats;
	dsm_engine_init(n->engine, n->tables);
	n->engine->stats = stats;
	get_random_bytes(n->engine->hash_secret, sizeof(n->engine->hash_secret));
	n->engine->lock_cap = dsm_param_lock_cap;
	n->engine->keep_after = min(dsm_param_keep_after, 3u);
	n->engine->twin_limit = dsm_param_twins_max ?: min_t(unsigned long, totalram_pages() / 8 / dsm_param_nodes, U32_MAX);
	n->engine->move_after = dsm_param_move_after;
	n->engine->barrier_fanout = clamp(dsm_param_barrier_fanout, 1u, (u32)DSM_MAX_NODES);
	memset(n->peers, 0, sizeof(n->peers));
	n->joined = 0;
	n->unlucky = 0;
	n->inviter = DSM_NO_NODE;
	spin_unlock(&n->lock);
}

/**
 * dsm_engine_stop() - free all that the engine holds
 * @n: node
 *
 * Context: process; no peer, no region, no waiting thread any more, net still there for its
 * messages.
 */
void dsm_engine_stop(struct dsm_node *n)
{
	cancel_work_sync(&n->flush_work);
	n->engine->alive = 0;
	dsm_engine_forget(n->engine, 0);
	dsm_pools_drain(n);
}

static void destroy_queues(struct dsm_node *n)
{
	struct workqueue_struct *queues[] = {
		n->coordinator_wq, n->register_wq, n->control_wq, n->flush_wq,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		if (queues[i])
			destroy_workqueue(queues[i]);
}

static int create_queues(struct dsm_node *n)
{
	n->flush_wq = alloc_workqueue("dsm_flush%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 1, n->suffix);
	n->control_wq = alloc_workqueue("dsm_control%s", WQ_UNBOUND, 0, n->suffix);
	n->register_wq = alloc_workqueue("dsm_register%s", WQ_UNBOUND, 1, n->suffix);
	n->coordinator_wq = alloc_ordered_workqueue("dsm_coordinator%s", 0, n->suffix);
	return n->flush_wq && n->control_wq && n->register_wq && n->coordinator_wq ? 0 : -ENOMEM;
}

/**
 * dsm_node_init() - at module load, before the first node
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int dsm_node_init(void)
{
	int err = dsm_pages_init();

	if (err)
		return err;
	err = dsm_pools_init();
	if (err)
		dsm_pages_exit();
	return err;
}

/**
 * dsm_node_exit() - at module unload, after the last node
 *
 * Context: process.
 */
void dsm_node_exit(void)
{
	dsm_pools_exit();
	dsm_pages_exit();
}

static void init_locks(struct dsm_node *n)
{
	int i;

	spin_lock_init(&n->lock);
	mutex_init(&n->regions_lock);
	mutex_init(&n->making);
	mutex_init(&n->losing);
	init_rwsem(&n->net_lock);
	xa_init(&n->regions);
	init_waitqueue_head(&n->changed);
	for (i = 0; i < DSM_PAGE_QUEUES; i++)
		init_waitqueue_head(&n->page_queues[i]);
	init_waitqueue_head(&n->room);
	INIT_LIST_HEAD(&n->arrivals);
	spin_lock_init(&n->arrivals_lock);
}

/**
 * dsm_node_new() - a node, which is no member of a cluster yet
 * @number: 0 is the machine's first
 *
 * Context: process, module load.
 * Return: node, or ERR_PTR(-ENOMEM).
 */
struct dsm_node *dsm_node_new(u32 number)
{
	struct dsm_node *n = kvzalloc(sizeof(*n), GFP_KERNEL);

	if (!n)
		return ERR_PTR(-ENOMEM);
	n->number = number;
	if (number)
		snprintf(n->suffix, sizeof(n->suffix), ".%u", number);
	init_locks(n);
	INIT_WORK(&n->flush_work, dsm_flush_worker);
	dsm_control_init(n);
	dsm_rsync_init(n);
	dsm_bcast_init(n);
	n->tables = kvcalloc(DSM_KEY_TABLES * DSM_KEY_BUCKETS, sizeof(*n->tables), GFP_KERNEL);
	n->engine = kvzalloc(sizeof(*n->engine), GFP_KERNEL);
	n->hole = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!n->tables || !n->engine || !n->hole || create_queues(n)) {
		dsm_node_free(n);
		return ERR_PTR(-ENOMEM);
	}
	dsm_recall_init(n);
	dsm_engine_start(n);
	dsm_xfertest_init(n);
	return n;
}

/**
 * dsm_node_free() - a node goes
 * @n: no member of a cluster
 *
 * Context: process, module unload.
 */
void dsm_node_free(struct dsm_node *n)
{
	dsm_xfertest_exit();
	destroy_queues(n);
	if (n->hole)
		__free_page(n->hole);
	kvfree(n->tables);
	kvfree(n->engine);
	kvfree(n);
}

/**
 * dsm_node_number() - which of the machine's nodes is it?
 * @n: node
 *
 * Context: any.
 * Return: 0 for the first. Not its id in the cluster.
 */
u32 dsm_node_number(const struct dsm_node *n)
{
	return n->number;
}

/**
 * dsm_node_suffix() - what the names of a node's devices and queues have behind "dsm"
 * @n: node
 *
 * Context: any.
 * Return: "" for the first, ".K" for another; as long as the node.
 */
const char *dsm_node_suffix(const struct dsm_node *n)
{
	return n->suffix;
}

/**
 * dsm_node_in_use() - are other files of regions open here?
 * @n: node; the caller has one open
 *
 * A release is the node's: what is lost of it may be what any of them has written.
 *
 * Context: any.
 * Return: true: files besides the caller's, of whatever region.
 */
bool dsm_node_in_use(struct dsm_node *n)
{
	struct dsm_region *r;
	unsigned long id;
	u64 files = 0;

	xa_lock(&n->regions);
	xa_for_each(&n->regions, id, r)
		files += max(atomic_read(&r->opens), 0);
	xa_unlock(&n->regions);
	return files > 1;
}
