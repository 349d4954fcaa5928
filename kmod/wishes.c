// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * What this node wants of the coordinator for its programs: regions made, removed, and used for the first time.
 * Decides nothing itself; see control.c.
 */
#include <linux/slab.h>
#include "control.h"
#include "core/policy.h"
#include "shell.h"

static u16 coordinator(struct dsm_node *n)
{
	u64 joined = READ_ONCE(n->joined);

	return joined ? __ffs64(joined) : DSM_NO_NODE;
}

/**
 * dsm_member_activate() - fix the members of a region on its first use in the cluster
 * @r: region
 *
 * Context: process; waits killably.
 * Return: 0, -EHOSTDOWN the coordinator was lost (try again), -EINTR, -ENOMEM.
 */
int dsm_member_activate(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	struct dsm_wire_control *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int err;

	if (!msg)
		return -ENOMEM;
	msg->op = DSM_CONTROL_ACTIVATE;
	msg->region.id = cpu_to_le32(r->id);
	err = dsm_control_call(n, coordinator(n), msg);
	if (!err && !r->space->n_members)
		err = -EHOSTDOWN;
	kfree(msg);
	return err;
}

static void wish_end(struct dsm_node *n)
{
	if (atomic_dec_and_test(&n->wishing))
		wake_up_all(&n->changed);
}

/* Until wish_end() this node does not leave: no region that is opened keeps it. */
static int wish_begin(struct dsm_node *n, struct dsm_errtxt *err)
{
	atomic_inc(&n->wishing);
	/* Pairs with dsm_wishes_drain(). */
	smp_mb__after_atomic();
	if (dsm_node_joined(n))
		return 0;
	wish_end(n);
	dsm_errtxt_set(err, "this node has not joined a cluster; use dsmctl join");
	return -ENOTCONN;
}

/**
 * dsm_wishes_drain() - wait until nobody wants anything any more
 * @n: node that leaves, and has left its peers
 *
 * Context: process; bounded: peers are gone, and what this node decides itself asks none.
 */
void dsm_wishes_drain(struct dsm_node *n)
{
	/* The state says that it leaves: pairs with wish_begin(). */
	smp_mb();
	wait_event(n->changed, !atomic_read(&n->wishing));
}

static int ask_for(struct dsm_node *n, u8 op, struct dsm_wire_region *desc, struct dsm_errtxt *err)
{
	struct dsm_wire_control *msg = kzalloc(sizeof(*msg), GFP_KERNEL);
	int ret;

	if (!msg)
		return -ENOMEM;
	msg->op = op;
	msg->region = *desc;
	ret = dsm_control_call(n, coordinator(n), msg);
	if (ret && msg->text[0])
		dsm_errtxt_set(err, "%.*s", (int)sizeof(msg->text), msg->text);
	*desc = msg->region;
	kfree(msg);
	return ret;
}

static int region_op(struct dsm_node *n, u8 op, struct dsm_wire_region *desc,
		     struct dsm_errtxt *err)
{
	int ret = wish_begin(n, err);

	if (ret)
		return ret;
	ret = ask_for(n, op, desc, err);
	wish_end(n);
	return ret;
}

/**
 * dsm_node_region_create() - make a region on all members
 * @n:      node
 * @arg:    ioctl argument, checked; id and addr are filled
 * @policy: settings text, "" for the defaults
 * @uid:    owner
 * @gid:    group
 * @err:    text
 *
 * Context: process; waits killably.
 * Return: 0; -EEXIST; -EINVAL, -EOPNOTSUPP settings; -EADDRINUSE; -ENOSPC; -ENOTCONN;
 * -EHOSTDOWN; -ENOMEM; -EINTR.
 */
int dsm_node_region_create(struct dsm_node *n, struct dsm_ioc_region *arg, const char *policy,
			   kuid_t uid, kgid_t gid, struct dsm_errtxt *err)
{
	struct dsm_wire_region desc = {
		.flags = cpu_to_le32(arg->flags),
		.pages = cpu_to_le64(arg->bytes >> PAGE_SHIFT),
		.addr = cpu_to_le64(arg->addr),
		.uid = cpu_to_le32(from_kuid(&init_user_ns, uid)),
		.gid = cpu_to_le32(from_kgid(&init_user_ns, gid)),
		.mode = cpu_to_le32(arg->mode ? arg->mode : 0660),
	};
	struct dsm_policy p;
	int ret;

	ret = dsm_policy_parse(policy, &p, err->text, sizeof(err->text));
	if (!ret)
		ret = dsm_policy_suits(&p, READ_ONCE(n->joined), arg->bytes >> PAGE_SHIFT,
				       err->text, sizeof(err->text));
	if (ret)
		return ret;
	if (dsm_policy_wants_atomics(&p) && !dsm_rsync_possible(n)) {
		dsm_errtxt_set(err, "%s=rdma needs atomics, which the RDMA device of this node lacks; use %s=msg",
			       p.sync == DSM_SYNC_RDMA ? "sync" : "metadata",
			       p.sync == DSM_SYNC_RDMA ? "sync" : "metadata");
		return -EOPNOTSUPP;
	}
	if (p.bcast == DSM_BCAST_ADAPTIVE && !dsm_bcast_possible(n)) {
		dsm_errtxt_set(err, "bcast=adaptive needs datagrams and multicast, which the RDMA device of this node lacks; use bcast=off");
		return -EOPNOTSUPP;
	}
	strscpy((char *)desc.name, arg->name, sizeof(desc.name));
	dsm_policy_format(&p, (char *)desc.policy, sizeof(desc.policy));
	ret = region_op(n, DSM_CONTROL_CREATE, &desc, err);
	if (ret)
		return ret;
	arg->id = le32_to_cpu(desc.id);
	arg->addr = le64_to_cpu(desc.addr);
	return 0;
}

/**
 * dsm_node_region_destroy() - remove a region from all members
 * @n:    node
 * @name: its name
 * @id:   its id, or 0: whichever has this name
 * @err:  text
 *
 * Context: process; waits killably.
 * Return: 0; -ENOENT; -EBUSY open on the node that @err names; -ENOTCONN; -EHOSTDOWN; -ENOMEM;
 * -EINTR.
 */
int dsm_node_region_destroy(struct dsm_node *n, const char *name, u32 id, struct dsm_errtxt *err)
{
	struct dsm_wire_region desc = { .id = cpu_to_le32(id) };

	strscpy((char *)desc.name, name, sizeof(desc.name));
	return region_op(n, DSM_CONTROL_DESTROY, &desc, err);
}
