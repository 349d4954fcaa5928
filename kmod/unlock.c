// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Giving locks back. Where notices are eager that is a release, which tells all who have copies
 * before it returns; otherwise the release happens when the token leaves the node. Never takes a lock.
 */
#include "core/lock.h"
#include "core/release.h"
#include "core/rlock.h"
#include "ctl/trace.h"
#include "shell.h"

/**
 * dsm_node_unlock_waits() - does giving back a lock of a region wait for other nodes?
 * @r: region
 *
 * Context: any.
 * Return: true if it does.
 */
bool dsm_node_unlock_waits(const struct dsm_region *r)
{
	return dsm_policy_tells(&r->space->policy);
}

/**
 * dsm_node_unlock_now() - give a lock up; the release happens when the token leaves the node
 * @r:   region
 * @key: key
 * @o:   caller
 *
 * Context: process; does not wait.
 * Return: 0, -EPERM not held by this process.
 */
int dsm_node_unlock_now(struct dsm_region *r, u64 key, const struct dsm_owner *o)
{
	struct dsm_node *n = r->node;
	struct dsm_lock_owner owner = dsm_shell_owner(o);
	struct dsm_net *net = n->net;
	struct dsm_actions acts;
	bool leaves;
	int ret;

	dsm_step_begin(n, &acts);
	ret = dsm_anylock_release(n->engine, r->space, key, &owner, &acts);
	/* The token goes, at once or after what has to be written back before. */
	leaves = acts.run || acts.flush || acts.xfer;
	dsm_step_end_flushing(n, &acts);
	if (leaves && net)
		dsm_net_give_way(net);
	if (ret == DSM_LOCK_COUNTED)
		dsm_quota_uncharge(o->uid);
	trace_dsm_lock(r->id, key, DSM_TRACE_LOCK_RELEASED, DSM_NO_NODE);
	return min(ret, 0);
}

/**
 * dsm_node_unlock() - give a lock up after what eager notices promise: a release
 * @r:      region
 * @key:    key
 * @silent: what is lost is left to be told by a later release
 * @o:      caller
 *
 * Context: process; waits killably if dsm_node_unlock_waits().
 * Return: 0, -EPERM not held by this process; otherwise it is given up. -EHOSTDOWN some of what was
 * written is lost; -EINTR it was not waited for, and is released when the token leaves the node.
 */
int dsm_node_unlock(struct dsm_region *r, u64 key, bool silent, const struct dsm_owner *o)
{
	struct dsm_node *n = r->node;
	int status = dsm_node_unlock_waits(r) ? dsm_release_wait(n, silent) : 0, ret;

	ret = dsm_node_unlock_now(r, key, o);
	return ret ? ret : status;
}

/**
 * dsm_node_lock_consistent() - the data of a lock taken with -EOWNERDEAD is repaired
 * @r:   region
 * @key: key
 * @o:   caller
 *
 * Context: process.
 * Return: 0, -EPERM not held by this process, -EINVAL it was not in that state.
 */
int dsm_node_lock_consistent(struct dsm_region *r, u64 key, const struct dsm_owner *o)
{
	struct dsm_node *n = r->node;
	struct dsm_lock_owner owner = dsm_shell_owner(o);
	int ret;

	spin_lock(&n->lock);
	ret = dsm_anylock_consistent(n->engine, r->space, key, &owner);
	spin_unlock(&n->lock);
	return ret;
}
