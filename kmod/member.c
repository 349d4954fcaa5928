// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Joining and leaving. What the members then decide together is in control.c. Knows no pages.
 *
 * A joiner connects to its seed, asks the coordinator (the member with the lowest id) for its
 * turn, connects to every member, takes over the regions, and says that it is done: one joiner
 * at a time.
 */
#include <linux/inet.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "control.h"
#include "core/lock.h"
#include "shell.h"

#define JOIN_TIMEOUT_MS 30000u
#define CONNECT_TIMEOUT_MS 3000u
#define RETRY_MS 100u
#define LAST_LOCKS (10 * HZ)	/* a manager that lives takes a token back at once */
#define LAST_PAGES (10 * HZ)

static const struct dsm_net_ops net_ops = {
	.admit = dsm_member_admit,
	.peer_up = dsm_node_peer_up,
	.peer_lost = dsm_node_peer_lost,
	.recv = dsm_node_recv,
	.xfer_done = dsm_shell_xfer_done,
	.datagram = dsm_bcast_datagram,
	.signal = dsm_shell_signal,
	.expand = dsm_shell_expand,
};

/**
 * dsm_node_joined() - is this node a member of a cluster?
 * @n: node
 *
 * Context: any.
 * Return: true between a join that succeeded and the begin of leaving.
 */
bool dsm_node_joined(struct dsm_node *n)
{
	return atomic_read(&n->state) == DSM_MEMBER_JOINED;
}

/*
 * An id that a region counts on must not come back empty: its pages are lost, not zero. Nor may one
 * whose intervals the members know: a newcomer would start to count them again.
 */
static bool is_counted_on(struct dsm_node *n, u16 id)
{
	bool used = n->engine->known[id];
	struct dsm_region *r;
	unsigned long at;
	u16 i;

	xa_for_each(&n->regions, at, r)
		for (i = 0; i < r->space->n_members; i++)
			used |= r->space->members[i] == id;
	return used;
}

/*
 * @given: another node has given it out, and knows of whom it saw come and go before this one joined; but whose intervals
 * came here, perhaps by others, it need not know.
 */
static bool id_is_free(struct dsm_node *n, u16 id, bool given)
{
	switch (n->peers[id].state) {
	case DSM_NODE_NONE:
		return given ? !n->engine->known[id] : !is_counted_on(n, id);
	case DSM_NODE_LOST:
	case DSM_NODE_LEFT:
		return !is_counted_on(n, id);
	default:
		return false;
	}
}

/**
 * dsm_member_admit() - a node wants to connect
 * @ctx:      struct dsm_node
 * @hello:    what it says of itself
 * @assigned: out: its id
 *
 * Context: process.
 * Return: 0; -EBUSY this node is not ready; -EEXIST the id is taken, or is counted on by a region;
 * -ENOSPC no id left.
 */
int dsm_member_admit(void *ctx, const struct dsm_net_hello *hello, u16 *assigned)
{
	struct dsm_node *n = ctx;
	int state = atomic_read(&n->state), err = -ENOSPC;
	u64 ids[2];
	u16 i, id;

	/* Who is no member yet does not know which ids are taken, nor whom to name as members. */
	if ((state != DSM_MEMBER_JOINED && state != DSM_MEMBER_JOINING) ||
	    n->engine->self == DSM_NO_NODE || !READ_ONCE(n->joined))
		return -EBUSY;
	mutex_lock(&n->regions_lock);
	if (hello->node != DSM_NO_NODE) {
		*assigned = hello->node;
		err = hello->node < DSM_MAX_NODES && id_is_free(n, hello->node, true) ? 0 : -EEXIST;
	} else {
		ids[0] = ~READ_ONCE(n->unlucky);
		ids[1] = ~ids[0];
		for (i = 0; err && i < 2 * DSM_MAX_NODES; i++) {
			id = i % DSM_MAX_NODES;
			if (!(ids[i / DSM_MAX_NODES] & BIT_ULL(id)) || !id_is_free(n, id, false))
				continue;
			*assigned = id;
			err = 0;
		}
	}
	mutex_unlock(&n->regions_lock);
	return err;
}

static bool patience_left(unsigned long deadline)
{
	return time_before(jiffies, deadline) && !signal_pending(current);
}

static u32 left_ms(unsigned long deadline)
{
	return time_before(jiffies, deadline) ? jiffies_to_msecs(deadline - jiffies) : 0;
}

/* The other side may be booting, or slow: go on until it answers or time is up. */
static int connect_patiently(struct dsm_node *n, const struct sockaddr_in *addr,
			     unsigned long deadline, u16 *peer, u16 *version)
{
	u32 bound = CONNECT_TIMEOUT_MS;
	int err;

	for (;;) {
		bound = min(bound, max(left_ms(deadline), CONNECT_TIMEOUT_MS));
		err = dsm_net_connect(n->net, addr, bound, peer, version);
		if (err != -ECONNREFUSED && err != -ETIMEDOUT && err != -EBUSY &&
		    err != -EHOSTUNREACH && err != -ENETUNREACH && err != -ECONNRESET)
			return err;
		if (!patience_left(deadline))
			return signal_pending(current) ? -EINTR : err;
		schedule_timeout_interruptible(msecs_to_jiffies(RETRY_MS));
		if (err == -ETIMEDOUT)
			bound *= 2;
	}
}

static void say_versions(struct dsm_errtxt *err, const struct sockaddr_in *addr, u16 version)
{
	dsm_errtxt_set(err, "%pI4:%u speaks protocol version %u, this node %u; load the same dsm.ko on both",
		       &addr->sin_addr, ntohs(addr->sin_port), version, DSM_WIRE_VERSION);
}

static int connect_members(struct dsm_node *n, const struct dsm_wire_control *msg,
			   unsigned long deadline, struct dsm_errtxt *err)
{
	u64 members = le64_to_cpu(msg->members);
	int ret;

	for (; members; members &= members - 1) {
		u16 id = __ffs64(members), peer, version;
		struct sockaddr_in addr = { .sin_family = AF_INET };

		if (id == n->engine->self || n->engine->alive & BIT_ULL(id))
			continue;
		addr.sin_addr.s_addr = msg->nodes[id].addr;
		addr.sin_port = msg->nodes[id].port;
		if (!msg->nodes[id].known)
			return -EPROTO;
		ret = connect_patiently(n, &addr, deadline, &peer, &version);
		if (ret == -EPROTONOSUPPORT) {
			say_versions(err, &addr, version);
			return ret;
		}
		if (ret) {
			dsm_errtxt_set(err, "cannot connect to node %u at %pI4: error %d%s", id, &addr.sin_addr, -ret,
				       ret == -EEXIST ? " (it counts on another node of this one's number)" : "");
			return ret;
		}
	}
	return 0;
}

static int take_regions(struct dsm_node *n, u16 coordinator, struct dsm_wire_control *msg)
{
	u32 id = 0;
	int ret;

	for (;;) {
		memset(msg, 0, sizeof(*msg));
		msg->op = DSM_CONTROL_REGION_GET;
		msg->region.id = cpu_to_le32(id);
		ret = dsm_control_call(n, coordinator, msg);
		if (ret == -ENOENT) {
			/* Of regions that are gone too: no id is used again. */
			mutex_lock(&n->regions_lock);
			n->last_region = max(n->last_region, le32_to_cpu(msg->region.id));
			mutex_unlock(&n->regions_lock);
			return 0;
		}
		if (!ret)
			ret = dsm_region_add(n, &msg->region, false);
		if (ret)
			return ret;
		id = le32_to_cpu(msg->region.id);
	}
}

static int join_cluster(struct dsm_node *n, u16 seed, unsigned long deadline, struct dsm_errtxt *err)
{
	struct dsm_wire_control *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	u16 coordinator;
	int ret, status;

	if (!msg)
		return -ENOMEM;
	msg->op = DSM_CONTROL_MEMBERS;
	ret = dsm_control_call(n, seed, msg);
	if (!ret && !msg->members)
		ret = -EPROTO;
	if (ret) {
		dsm_errtxt_set(err, "the seed (node %u) did not say who is a member: error %d",
			       seed, -ret);
		goto out;
	}
	coordinator = __ffs64(le64_to_cpu(msg->members));
	WRITE_ONCE(n->inviter, coordinator);
	ret = connect_members(n, msg, deadline, err);
	if (ret)
		goto out;
	memset(msg, 0, sizeof(*msg));
	msg->op = DSM_CONTROL_JOIN_BEGIN;
	ret = dsm_control_call(n, coordinator, msg);
	if (ret) {
		dsm_errtxt_set(err, "the coordinator (node %u) did not let us join: error %d",
			       coordinator, -ret);
		goto out;
	}
	ret = connect_members(n, msg, deadline, err);
	if (!ret) {
		ret = take_regions(n, coordinator, msg);
		if (ret)
			dsm_errtxt_set(err, "could not take over the regions: error %d", -ret);
	}
	status = -ret;
	memset(msg, 0, sizeof(*msg));
	msg->op = DSM_CONTROL_JOIN_END;
	msg->status = cpu_to_le32(status);
	status = dsm_control_call(n, coordinator, msg);
	if (status && !ret) {
		ret = status == -EINVAL ? -ETIMEDOUT : -EHOSTDOWN;
		dsm_errtxt_set(err, status == -EINVAL ?
			       "the coordinator (node %u) waited too long for us to join; try again" :
			       "the coordinator (node %u) was lost while joining", coordinator);
	}
out:
	kfree(msg);
	return ret;
}

static int default_region(struct dsm_node *n, u32 id, const char *name, const char *policy,
			  u64 bytes, u32 flags)
{
	struct dsm_wire_region d = {
		.id = cpu_to_le32(id),
		.flags = cpu_to_le32(flags),
		.pages = cpu_to_le64(bytes >> PAGE_SHIFT),
		.mode = cpu_to_le32(0660),
	};

	strscpy((char *)d.name, name, sizeof(d.name));
	strscpy((char *)d.policy, policy, sizeof(d.policy));
	d.addr = cpu_to_le64(dsm_place_find(n, le64_to_cpu(d.pages)));
	return dsm_region_add(n, &d, true);
}

static int start_cluster(struct dsm_node *n, struct dsm_errtxt *err)
{
	int ret;

	/*
	 * A program that has never heard of dsm maps the first; the second needs libdsm anyhow. Blocks would put whatever
	 * is smaller than one to a single node.
	 */
	ret = default_region(n, 1, "", "preset=sc", dsm_param_default_bytes, 0);
	if (!ret)
		ret = default_region(n, 2, "heap", "home=first-touch", dsm_param_heap_bytes, DSM_REGION_HEAP);
	if (ret)
		dsm_errtxt_set(err, "could not make the default regions: error %d", -ret);
	spin_lock(&n->lock);
	n->joined = BIT_ULL(n->engine->self);
	spin_unlock(&n->lock);
	return ret;
}

static void be_somebody(struct dsm_node *n, const struct sockaddr_in *listen)
{
	u16 self = dsm_net_self(n->net);

	spin_lock(&n->lock);
	dsm_engine_set_self(n->engine, self);
	n->peers[self] = (struct dsm_peer_record){ .state = DSM_NODE_SELF, .addr = *listen };
	spin_unlock(&n->lock);
}

/* Everything that joining made, in reverse; also the second half of leaving. */
static void undo(struct dsm_node *n)
{
	struct dsm_net *net = n->net;

	atomic_set(&n->state, DSM_MEMBER_LEAVING);
	dsm_net_disconnect(net);
	dsm_wishes_drain(n);
	dsm_control_drain(n);
	dsm_ctl_peers_del(n);
	dsm_regions_drop_all(n);
	/* It may still be about to multicast. */
	cancel_work_sync(&n->flush_work);
	dsm_bcast_free(n);
	dsm_rsync_free(n);
	dsm_recall_stop(n);
	dsm_engine_stop(n);
	dsm_xfertest_forget(n);
	down_write(&n->net_lock);
	n->net = NULL;
	up_write(&n->net_lock);
	dsm_net_stop(net);
	dsm_engine_start(n);
	/* Pairs with is_over(). */
	WRITE_ONCE(n->membership, n->membership + 1);
	atomic_set(&n->state, DSM_MEMBER_NONE);
	wake_up_all(&n->changed);
}

/* A thread that was killed may have asked for a page that is still to come. False: it does not within the bound. */
static bool all_arrived(struct dsm_region *r)
{
	unsigned long until = jiffies + LAST_PAGES;

	while (dsm_region_awaits(r)) {
		if (time_after(jiffies, until))
			return false;
		schedule_timeout_uninterruptible(HZ / 50);
	}
	return true;
}

static int refuse_loss(struct dsm_region *r, struct dsm_errtxt *err)
{
	const char *suffix = r->node->suffix, *dash = *r->name ? "-" : "";

	/* Pages that are only here go home first; those homed here stay. */
	if (dsm_region_living_pages(r))
		dsm_homes_give_back(r);
	if (dsm_region_living_pages(r))
		dsm_errtxt_set(err, "%llu pages of region /dev/dsm%s%s%s live on this node; --force loses them",
			       dsm_region_living_pages(r), suffix, dash, r->name);
	else if (READ_ONCE(r->space->led_on))
		dsm_errtxt_set(err, "homes of /dev/dsm%s%s%s moved from this node to others, and some may know the way from it alone; --force loses it",
			       suffix, dash, r->name);
	else
		return 0;
	return -EBUSY;
}

static int refuse_losses(struct dsm_node *n, struct dsm_errtxt *err)
{
	struct dsm_region *r;
	int ret = 0;
	u32 id = 0;

	for (; !ret && !IS_ERR(r = dsm_node_region_get(n, id, true)); id = r->id, dsm_node_region_put(r))
		ret = refuse_loss(r, err);
	return ret;
}

/* Refuse new opens everywhere here, or say which region stands in the way. */
static int close_regions(struct dsm_node *n, u32 flags, struct dsm_errtxt *err)
{
	struct dsm_region *r;
	int ret = 0;
	u32 id = 0;

	while (!ret) {
		r = dsm_node_region_get(n, id, true);
		if (IS_ERR(r))
			return 0;
		id = r->id;
		if (atomic_cmpxchg(&r->opens, 0, DSM_OPENS_LEAVING) > 0) {
			dsm_errtxt_set(err, "region /dev/dsm%s%s%s is in use on this node; end the programs that use it",
				       n->suffix, *r->name ? "-" : "", r->name);
			ret = -EBUSY;
		} else if (!(flags & DSM_LEAVE_FORCE) && !all_arrived(r)) {
			dsm_errtxt_set(err, "pages of region /dev/dsm%s%s%s are still being fetched; try again",
				       n->suffix, *r->name ? "-" : "", r->name);
			ret = -EBUSY;
		} else if (!(flags & DSM_LEAVE_FORCE)) {
			ret = refuse_loss(r, err);
		}
		dsm_node_region_put(r);
	}
	return ret;
}

static void reopen_regions(struct dsm_node *n)
{
	struct dsm_region *r;
	u32 id = 0;

	for (;;) {
		r = dsm_node_region_get(n, id, true);
		if (IS_ERR(r))
			return;
		id = r->id;
		atomic_cmpxchg(&r->opens, DSM_OPENS_LEAVING, 0);
		dsm_node_region_put(r);
	}
}

/* This node stays a member after all: who waits for others to join goes on. */
static void stay(struct dsm_node *n)
{
	atomic_set(&n->state, DSM_MEMBER_JOINED);
	wake_up_all(&n->changed);
}

/* Somebody else may end a membership, and even begin another. Pairs with undo(). */
static bool is_over(struct dsm_node *n, u32 membership)
{
	return READ_ONCE(n->membership) != membership;
}

/* Of that membership, if it is not over and nobody else ends it. */
static bool begin_leaving(struct dsm_node *n, u32 membership)
{
	if (atomic_cmpxchg(&n->state, DSM_MEMBER_JOINED, DSM_MEMBER_LEAVING) != DSM_MEMBER_JOINED)
		return false;
	if (!is_over(n, membership))
		return true;
	stay(n);
	return false;
}

/* Of that membership, which nobody ends at present, and so are the others. */
static bool are_all_here(struct dsm_node *n, u32 membership, u16 nodes)
{
	return dsm_node_joined(n) && !is_over(n, membership) && hweight64(READ_ONCE(n->joined)) >= nodes;
}

/* Joined, until all others are there too; or leave again, if that is possible. */
static int wait_members(struct dsm_node *n, u16 nodes, unsigned long deadline, struct dsm_errtxt *err)
{
	u32 membership = n->membership;
	long left = deadline - jiffies;
	int ret;

	atomic_set(&n->state, DSM_MEMBER_JOINED);
	ret = wait_event_interruptible_timeout(n->changed, is_over(n, membership) || are_all_here(n, membership, nodes),
					       max(left, 1L));
	if (ret > 0 && !is_over(n, membership))
		return 0;
	/* A leave that is under way may be refused; it is bounded. */
	if (wait_event_killable(n->changed, is_over(n, membership) || begin_leaving(n, membership))) {
		dsm_errtxt_set(err, "killed while another command made this node leave");
		return -EINTR;
	}
	if (is_over(n, membership)) {
		dsm_errtxt_set(err, "this node was told to leave before all nodes had joined");
		return -EINTR;
	}
	if (close_regions(n, DSM_LEAVE_FORCE, err)) {
		reopen_regions(n);
		stay(n);
		dsm_errtxt_set(err, "only %u of %u nodes joined in time; this node stays, since programs use its regions",
			       (u32)hweight64(READ_ONCE(n->joined)), nodes);
	} else {
		dsm_errtxt_set(err, "only %u of %u nodes joined in time; this node left again",
			       (u32)hweight64(READ_ONCE(n->joined)), nodes);
		undo(n);
	}
	return ret ? -EINTR : -ETIMEDOUT;
}

static int start_net(struct dsm_node *n, const struct sockaddr_in *listen, u16 node,
		     u64 cluster, struct dsm_errtxt *err)
{
	struct dsm_net_config cfg = {
		.listen = *listen,
		.cluster = cluster,
		.node = node == DSM_NODE_ANY ? DSM_NO_NODE : node,
		.peer_timeout_ms = dsm_param_peer_timeout_ms,
		.resume_ms = READ_ONCE(dsm_param_resume_ms),
		.poll = READ_ONCE(dsm_param_poll),
	};
	struct dsm_net *net = dsm_net_start(&cfg, &net_ops, n);
	const char *hint = "see the kernel log";

	if (IS_ERR(net)) {
		if (PTR_ERR(net) == -EADDRINUSE)
			hint = "the port is in use, by another of this machine's nodes or by another program";
		if (PTR_ERR(net) == -ENODEV || PTR_ERR(net) == -EADDRNOTAVAIL)
			hint = "no RDMA device has this address (for soft-RoCE: rdma link add)";
		dsm_errtxt_set(err, "cannot listen at %pI4:%u: %s", &listen->sin_addr,
			       ntohs(listen->sin_port), hint);
		return PTR_ERR(net);
	}
	down_write(&n->net_lock);
	n->net = net;
	up_write(&n->net_lock);
	return 0;
}

/* What the user can do about an error of the first connection. */
static const char *seed_hint(int err)
{
	if (err == -EEXIST)
		return "the node id is taken, or its pages were lost; join without --node for a new id";
	if (err == -EINTR)
		return "a signal came first";
	return "is dsm joined there, is the address right, and does a firewall let UDP 4791 through?";
}

static int join_once(struct dsm_node *n, struct dsm_ioc_join *arg, unsigned long deadline, struct dsm_errtxt *err)
{
	struct sockaddr_in listen = { .sin_family = AF_INET }, seed = { .sin_family = AF_INET };
	u64 cluster;
	u16 seed_node, version;
	int ret;

	listen.sin_addr.s_addr = arg->listen_addr;
	/* One address, several nodes: each has its port. */
	listen.sin_port = htons(arg->listen_port ? arg->listen_port : DSM_PORT + n->number);
	seed.sin_addr.s_addr = arg->seed_addr;
	seed.sin_port = htons(arg->seed_port ? arg->seed_port : DSM_PORT);
	if (arg->node != DSM_NODE_ANY && arg->node >= DSM_MAX_NODES) {
		dsm_errtxt_set(err, "node ids are 0 to %u", DSM_MAX_NODES - 1);
		return -EINVAL;
	}
	if (atomic_cmpxchg(&n->state, DSM_MEMBER_NONE, DSM_MEMBER_JOINING) != DSM_MEMBER_NONE) {
		dsm_errtxt_set(err, "this node has joined (or is joining or leaving) already; see dsmctl status");
		return -EISCONN;
	}
	/* Anew, with the parameters as they are now. */
	dsm_engine_start(n);
	/* Who starts a cluster names it; a joiner learns the name from its seed. */
	cluster = arg->seed_addr ? 0 : get_random_u64() | 1;
	if (!arg->seed_addr && arg->node == DSM_NODE_ANY)
		arg->node = 0;
	ret = start_net(n, &listen, arg->node, cluster, err);
	if (ret) {
		atomic_set(&n->state, DSM_MEMBER_NONE);
		return ret;
	}
	if (arg->seed_addr) {
		ret = connect_patiently(n, &seed, deadline, &seed_node, &version);
		if (ret == -EPROTONOSUPPORT)
			say_versions(err, &seed, version);
		else if (ret)
			dsm_errtxt_set(err, "cannot connect to the seed %pI4:%u: %s",
				       &seed.sin_addr, ntohs(seed.sin_port), seed_hint(ret));
	}
	if (!ret) {
		be_somebody(n, &listen);
		ret = arg->seed_addr ? join_cluster(n, seed_node, deadline, err) :
				       start_cluster(n, err);
	}
	if (ret) {
		undo(n);
		return ret;
	}
	ret = wait_members(n, arg->nodes, deadline, err);
	if (ret)
		return ret;
	arg->node = n->engine->self;
	arg->nodes = hweight64(READ_ONCE(n->joined));
	pr_info("dsm: joined as node %u, %u members, %s\n", arg->node, arg->nodes, "no authentication (insecure=1)");
	return 0;
}

/**
 * dsm_node_join() - become a member
 * @n:   node
 * @arg: ioctl argument, checked; node and nodes are filled on success
 * @err: text
 *
 * Context: process; waits, bounded by the timeout and interruptible.
 * Return: 0; -EISCONN; -ENODEV, -EADDRNOTAVAIL no device has the address; -EPROTONOSUPPORT;
 * -EEXIST id taken; -ETIMEDOUT; -EINTR; -ENOMEM; -EHOSTDOWN.
 */
int dsm_node_join(struct dsm_node *n, struct dsm_ioc_join *arg, struct dsm_errtxt *err)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(arg->timeout_ms ? arg->timeout_ms : JOIN_TIMEOUT_MS);
	u32 tries = DSM_MAX_NODES;
	int ret;

	/* A number that some member counts on and the seed does not: the seed gives another one next time. */
	do
		ret = join_once(n, arg, deadline, err);
	while (ret == -EEXIST && arg->node == DSM_NODE_ANY && --tries && patience_left(deadline));
	return ret;
}

/* What was written and not released yet; a home that lives and does not answer keeps nobody who is forced to go. */
static int send_home(struct dsm_node *n, u32 flags, struct dsm_errtxt *err)
{
	int ret = dsm_regions_settle_within(n, DSM_LAST_DIFFS);

	if (ret != -ETIMEDOUT)
		return ret;
	dsm_errtxt_set(err, "homes do not acknowledge what this node wrote; --force leaves all the same");
	return flags & DSM_LEAVE_FORCE ? 0 : -EBUSY;
}

static bool locks_are_home(struct dsm_node *n)
{
	bool home;

	spin_lock(&n->lock);
	home = dsm_lock_all_home(n->engine);
	spin_unlock(&n->lock);
	return home;
}

/* Whoever wants a lock next finds it. What does not go in time is lost with this node, as if it had died. */
static void give_locks_back(struct dsm_node *n)
{
	struct dsm_actions acts;
	struct dsm_region *r;
	bool more = true;
	u32 id = 0;

	while (more) {
		dsm_step_begin(n, &acts);
		more = dsm_lock_send_home(n->engine, &acts);
		dsm_step_end_flushing(n, &acts);
	}
	wait_event_killable_timeout(n->changed, locks_are_home(n), LAST_LOCKS);
	for (r = dsm_node_region_get(n, id, true); !IS_ERR(r); r = dsm_node_region_get(n, id, true)) {
		dsm_rsync_settle(r);
		id = r->id;
		dsm_node_region_put(r);
	}
}

/**
 * dsm_node_leave() - end the membership
 * @n:     node
 * @flags: DSM_LEAVE_FORCE
 * @err:   text
 *
 * Context: process; waits for peers' answers, killably and bounded.
 * Return: 0; -ENOTCONN; -EBUSY a region is open, or pages homed here would be lost, or a home does not answer; -EINTR.
 */
int dsm_node_leave(struct dsm_node *n, u32 flags, struct dsm_errtxt *err)
{
	int ret;

	if (atomic_cmpxchg(&n->state, DSM_MEMBER_JOINED, DSM_MEMBER_LEAVING) != DSM_MEMBER_JOINED) {
		dsm_errtxt_set(err, "this node has not joined");
		return -ENOTCONN;
	}
	ret = close_regions(n, flags, err);
	if (!ret)
		ret = send_home(n, flags, err);
	if (!ret) {
		give_locks_back(n);	/* others go on meanwhile */
		ret = flags & DSM_LEAVE_FORCE ? 0 : refuse_losses(n, err);
	}
	if (ret) {
		reopen_regions(n);
		stay(n);
		return ret;
	}
	undo(n);
	return 0;
}

/**
 * dsm_node_end() - the module goes: end the membership, if there is one
 * @n: node, of which no file is open
 *
 * What peers ask of its regions does not keep them: that ends with the connections.
 *
 * Context: process; waits for peers' answers, bounded.
 */
void dsm_node_end(struct dsm_node *n)
{
	struct dsm_errtxt err;

	if (atomic_cmpxchg(&n->state, DSM_MEMBER_JOINED, DSM_MEMBER_LEAVING) != DSM_MEMBER_JOINED)
		return;
	close_regions(n, DSM_LEAVE_FORCE, &err);
	send_home(n, DSM_LEAVE_FORCE, &err);
	give_locks_back(n);
	undo(n);
}
