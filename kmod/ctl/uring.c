// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * uring.c: the commands of uapi/dsm.h that come through io_uring.
 *
 * A command starts an operation of the shell, which no thread waits in. When the operation has
 * ended, and an acquire has been applied, the completion is posted in the task that submitted.
 * What is pending ends by itself as soon as nobody can collect it: the kernel asks for it (ring
 * closed, execve), the process closes its files at exit, or the reaper finds the submitting thread
 * gone. Never decides what a command does.
 */
#include <linux/err.h>
#include <linux/sched.h>
#include "../compat.h"
#include "ctl.h"

static_assert(sizeof(struct dsm_uring_arg) == 16);

/* What a command keeps while it is pending. */
struct pending {
	struct dsm_async *op;
};

static struct pending *pending_of(struct io_uring_cmd *cmd)
{
	static_assert(sizeof(struct pending) <= sizeof(cmd->pdu));
	return (struct pending *)cmd->pdu;
}

static void post(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct dsm_async *op = pending_of(cmd)->op;

	io_uring_cmd_done(cmd, dsm_async_collect(op), 0, issue_flags);
	/* Not earlier: until it is done, the ring may ask to cancel it. */
	dsm_async_free(op);
}

static void op_done(void *ctx)
{
	io_uring_cmd_complete_in_task(ctx, post);
}

/* A lock or an arrival belongs to the thread that asked, so it must not outlive it. */
static bool op_gone(void *ctx)
{
	return READ_ONCE(dsm_compat_uring_task(ctx)->flags) & PF_EXITING ||
	       dsm_compat_uring_exec(ctx) || dsm_compat_uring_closed(ctx);
}

static const struct dsm_async_ops uring_ops = {
	.done = op_done,
	.gone = op_gone,
};

/* ---- cancelling ---- */

struct victim {
	const struct io_kiocb *by;
	u64 user_data;
};

static bool is_victim(void *ctx, const void *key)
{
	const struct io_kiocb *req = cmd_to_io_kiocb(ctx);
	const struct victim *v = key;

	return req->ctx == v->by->ctx && req->cqe.user_data == v->user_data;
}

static int cancel_by_user_data(struct io_uring_cmd *cmd, u64 user_data)
{
	struct victim v = { .by = cmd_to_io_kiocb(cmd), .user_data = user_data };

	return dsm_async_cancel_if(is_victim, &v) ? 0 : -ENOENT;
}

/* ---- table and dispatch ---- */

enum row_uses { USES_KEY = 1, USES_VALUE = 2 };

static const struct {
	u32 op;
	enum dsm_async_kind kind;
	u32 uses;
} rows[] = {
	{ DSM_URING_LOCK, DSM_ASYNC_LOCK, USES_KEY },
	{ DSM_URING_TRYLOCK, DSM_ASYNC_TRYLOCK, USES_KEY },
	{ DSM_URING_TIMEDLOCK, DSM_ASYNC_TIMEDLOCK, USES_KEY | USES_VALUE },
	{ DSM_URING_BARRIER, DSM_ASYNC_BARRIER, USES_KEY | USES_VALUE },
	{ DSM_URING_FLAG_SET, DSM_ASYNC_FLAG_SET, USES_KEY },
	{ DSM_URING_FLAG_WAIT, DSM_ASYNC_FLAG_WAIT, USES_KEY },
	{ DSM_URING_FLAG_CLEAR, DSM_ASYNC_FLAG_CLEAR, USES_KEY },
	{ DSM_URING_ACQUIRE, DSM_ASYNC_ACQUIRE, 0 },
	{ DSM_URING_RELEASE, DSM_ASYNC_RELEASE, 0 },
	{ DSM_URING_PREFETCH, DSM_ASYNC_PREFETCH, USES_KEY | USES_VALUE },
};

static int check(const struct dsm_region *r, const struct dsm_async_arg *arg)
{
	const u64 bytes = r->pages << PAGE_SHIFT;

	switch (arg->kind) {
	case DSM_ASYNC_BARRIER:
		return arg->value && arg->value <= U32_MAX ? 0 : -EINVAL;
	case DSM_ASYNC_PREFETCH:
		return arg->key <= bytes && arg->value <= bytes - arg->key ? 0 : -EINVAL;
	default:
		return 0;
	}
}

static int start(struct dsm_region *r, const struct dsm_async_arg *arg, unsigned int issue_flags)
{
	struct io_uring_cmd *cmd = arg->ctx;
	struct dsm_async *op;
	int ret = check(r, arg);

	if (!ret)
		ret = dsm_async_start(r, arg, &op);
	if (ret != -EIOCBQUEUED)
		return ret;
	pending_of(cmd)->op = op;
	dsm_compat_uring_cancelable(cmd, issue_flags);
	/* From here on it can be completed, and @cmd be gone. */
	dsm_async_go(op);
	return -EIOCBQUEUED;
}

static int begin(struct io_uring_cmd *cmd, const struct dsm_uring_arg *a, unsigned int issue_flags)
{
	struct dsm_file *f = cmd->file->private_data;
	const struct task_struct *task = dsm_compat_uring_task(cmd);
	struct dsm_async_arg arg = {
		.key = a->key,
		.value = a->value,
		.owner = { .file = f->id, .tgid = task->tgid, .tid = task->pid,
			   .uid = cmd->file->f_cred->euid },
		.heard = &f->heard,
		.ops = &uring_ops,
		.ctx = cmd,
	};
	struct dsm_region *r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows) && rows[i].op != cmd->cmd_op; i++)
		;
	if (i == ARRAY_SIZE(rows) && cmd->cmd_op != DSM_URING_UNLOCK)
		return -EOPNOTSUPP;
	if (a->value && (i == ARRAY_SIZE(rows) || !(rows[i].uses & USES_VALUE)))
		return -EINVAL;
	if (a->key && i < ARRAY_SIZE(rows) && !(rows[i].uses & USES_KEY))
		return -EINVAL;
	if (cmd->cmd_op == DSM_URING_TIMEDLOCK)
		arg.value = dsm_ctl_deadline(a->value);
	r = dsm_chardev_attached(cmd->file);
	if (!r) {
		/* The first use of /dev/dsm may wait: in a worker of the ring. */
		if (issue_flags & IO_URING_F_NONBLOCK)
			return -EAGAIN;
		r = dsm_chardev_attach(cmd->file);
	}
	if (IS_ERR(r))
		return PTR_ERR(r);
	arg.owner.opened = f->opened;
	if (i == ARRAY_SIZE(rows)) {
		if (issue_flags & IO_URING_F_NONBLOCK && dsm_node_unlock_waits(r))
			return -EAGAIN;
		return dsm_node_unlock(r, a->key, false, &arg.owner);
	}
	arg.kind = rows[i].kind;
	return start(r, &arg, issue_flags);
}

/**
 * dsm_uring_cmd() - the uring_cmd method
 * @cmd:         command: an operation of uapi/dsm.h and its struct dsm_uring_arg
 * @issue_flags: of the kernel
 *
 * Context: process; does not wait for the network unless the ring's worker runs it.
 * Return: 0 or a negative errno, see uapi/dsm.h; -EIOCBQUEUED it goes on by itself; -EAGAIN again
 *         from a worker, please. Never positive: 6.1 would lose the command.
 */
int dsm_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct dsm_uring_arg a;

	if (issue_flags & IO_URING_F_CANCEL) {
		dsm_async_cancel(pending_of(cmd)->op);
		return 0;
	}
	/* Completion is no polling of a device; and who submits must be known, it becomes the owner. */
	if (issue_flags & IO_URING_F_IOPOLL || dsm_compat_uring_task(cmd)->flags & PF_IO_WORKER)
		return -EOPNOTSUPP;
	if (cmd->flags & IORING_URING_CMD_FIXED)
		return -EINVAL;
	/* Shared with the program, who may change it meanwhile: what is in the copy counts. */
	memcpy(&a, dsm_compat_uring_payload(cmd), sizeof(a));
	if (cmd->cmd_op == DSM_URING_CANCEL)
		return a.value ? -EINVAL : cancel_by_user_data(cmd, a.key);
	return begin(cmd, &a, issue_flags);
}
