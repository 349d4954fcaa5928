// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * ioctl.c: the ioctls of uapi/dsm.h: sizes, rights and arguments are checked here, the work is
 * done by the shell.
 *
 * One table row per ioctl. The argument is copied once, into a buffer that is zero where the
 * caller's struct is shorter; handlers see only that copy. The size bits of the ioctl number
 * are ignored: the struct's own size counts, so that a program built with a newer header works
 * here as long as it uses nothing new.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "../core/wire.h"
#include "ctl.h"
#include "ioctl.h"

/* Any struct is far smaller; bounds the check for a zero tail. */
#define ARG_MAX_BYTES 4096

#define DEFAULT_MODE 0660

enum row_flags {
	ROW_REGION = 1,		/* needs the file's region */
	ROW_CONTROL = 2,	/* on /dev/dsm only */
	ROW_ADMIN = 4,		/* needs CAP_SYS_ADMIN */
};

/**
 * dsm_errtxt_set() - one line for the user
 * @err: where to, or NULL
 * @fmt: printf format
 *
 * Context: any.
 */
void dsm_errtxt_set(struct dsm_errtxt *err, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
}

/**
 * struct ioctl_row - what is known of one ioctl
 * @run:        handler; 0 or a negative errno
 * @cmd:        number, without meaning in its size bits
 * @min:        bytes of the struct in ABI 1, all of which are mandatory
 * @max:        bytes of the struct that this module knows
 * @errtxt:     offset of its errtxt, 0 = none
 * @errtxt_len: offset of its errtxt_len
 * @flags:      enum row_flags
 */
struct ioctl_row {
	int (*run)(struct dsm_ioctl_call *c);
	unsigned int cmd;
	u16 min;
	u16 max;
	u16 errtxt;
	u16 errtxt_len;
	u16 flags;
};

/* ABI 1 as released: a change here breaks programs. */
static_assert(sizeof(struct dsm_ioc_version) == 16);
static_assert(sizeof(struct dsm_ioc_join) == 40);
static_assert(sizeof(struct dsm_ioc_leave) == 24);
static_assert(sizeof(struct dsm_ioc_region) == 96);
static_assert(sizeof(struct dsm_ioc_region_destroy) == 56);
static_assert(sizeof(struct dsm_ioc_region_info) == 360);
static_assert(sizeof(struct dsm_ioc_node_info) == 128);
static_assert(sizeof(struct dsm_ioc_stats) == 24);
static_assert(sizeof(struct dsm_ioc_lock) == 24);
static_assert(sizeof(struct dsm_ioc_barrier) == 24);
static_assert(sizeof(struct dsm_ioc_flag) == 16);
static_assert(sizeof(struct dsm_ioc_range) == 40);
static_assert(sizeof(struct dsm_ioc_plain) == 8);
static_assert(sizeof(struct dsm_ioc_lock_table) == 16);
static_assert(sizeof(struct dsm_ioc_homes) == 536);
static_assert(DSM_NAME_MAX == DSM_NAME_BYTES);

__printf(3, 4)
static int refuse(struct dsm_ioctl_call *c, int ret, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vscnprintf(c->err.text, sizeof(c->err.text), fmt, args);
	va_end(args);
	return ret;
}

static int check_flags(struct dsm_ioctl_call *c, u32 flags, u32 known)
{
	if (flags & ~known)
		return refuse(c, -EINVAL,
			      "unknown flags 0x%x: the module is older than the program",
			      flags & ~known);
	return 0;
}

static struct dsm_node *node_of(const struct dsm_ioctl_call *c)
{
	const struct dsm_file *f = c->file->private_data;

	return f->node;
}

/* ---- control ---- */

static int run_version(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_version *a = &c->arg.version;

	a->abi = DSM_ABI;
	a->protocol = DSM_WIRE_VERSION;
	a->page_bytes = PAGE_SIZE;
	return 0;
}

static int run_join(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_join *a = &c->arg.join;
	int ret = check_flags(c, a->flags, 0);

	if (ret)
		return ret;
	if (!dsm_param_insecure)
		return refuse(c, -EPERM,
			      "there is no authentication yet: load the module with insecure=1 on a network you trust");
	if (!a->listen_addr)
		return refuse(c, -EINVAL,
			      "no listening address: give an IPv4 address of an RDMA device of this machine");
	if (a->node != DSM_NODE_ANY && a->node >= DSM_MAX_NODES)
		return refuse(c, -EINVAL,
			      "node id %u: ids are 0 to %u", a->node, DSM_MAX_NODES - 1);
	if (a->nodes > DSM_MAX_NODES)
		return refuse(c, -EINVAL,
			      "%u nodes: a cluster has at most %u", a->nodes, DSM_MAX_NODES);
	return dsm_node_join(node_of(c), a, &c->err);
}

static int run_leave(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_leave *a = &c->arg.leave;
	int ret = check_flags(c, a->flags, DSM_LEAVE_FORCE);

	if (ret)
		return ret;
	if (a->reserved)
		return refuse(c, -EINVAL, "a reserved field is not zero");
	return dsm_node_leave(node_of(c), a->flags, &c->err);
}

/* ---- regions ---- */

static int check_name(struct dsm_ioctl_call *c, const char *name)
{
	size_t len = strnlen(name, DSM_NAME_MAX);
	size_t i;

	if (len == DSM_NAME_MAX)
		return refuse(c, -EINVAL,
			      "the region's name is longer than %u characters", DSM_NAME_MAX - 1);
	if (!len)
		return refuse(c, -EINVAL, "the region's name is empty");
	if (name[0] == '.')
		return refuse(c, -EINVAL, "the region's name begins with a dot");
	for (i = 0; i < len; i++) {
		if (dsm_name_may_have(name[i]))
			continue;
		return refuse(c, -EINVAL,
			      "the region's name has a character other than A-Z a-z 0-9 . _ - at position %zu",
			      i + 1);
	}
	return 0;
}

static int check_size(struct dsm_ioctl_call *c, const struct dsm_ioc_region *a)
{
	const u64 max_bytes = DSM_REGION_MAX_PAGES << PAGE_SHIFT;

	if (!a->bytes)
		return refuse(c, -EINVAL, "the region's size is 0");
	if (a->bytes > max_bytes)
		return refuse(c, -EFBIG,
			      "a region of %llu bytes: the largest has %llu (16 TiB)",
			      a->bytes, max_bytes);
	if (a->bytes & ~PAGE_MASK)
		return refuse(c, -EINVAL,
			      "the size of %llu bytes is no multiple of the page size, %lu",
			      a->bytes, PAGE_SIZE);
	if (a->addr & ~PAGE_MASK)
		return refuse(c, -EINVAL,
			      "the address 0x%llx is no multiple of the page size, %lu",
			      a->addr, PAGE_SIZE);
	if (a->addr && (a->addr >= TASK_SIZE_MAX || a->bytes > TASK_SIZE_MAX - a->addr))
		return refuse(c, -EINVAL,
			      "0x%llx and %llu bytes reach beyond the address space of a program",
			      a->addr, a->bytes);
	return 0;
}

/* Text without control characters, cut at its NUL; the NUL may be counted in policy_len or not. */
static int copy_policy(struct dsm_ioctl_call *c, const struct dsm_ioc_region *a, char policy[DSM_POLICY_MAX])
{
	size_t i;

	memset(policy, 0, DSM_POLICY_MAX);
	if (!a->policy_len)
		return 0;
	if (a->policy_len > DSM_POLICY_MAX)
		return refuse(c, -EINVAL,
			      "the policy is longer than %u characters", DSM_POLICY_MAX - 1);
	if (copy_from_user(policy, u64_to_user_ptr(a->policy), a->policy_len))
		return refuse(c, -EFAULT, "the pointer to the policy is bad");
	if (policy[DSM_POLICY_MAX - 1])
		return refuse(c, -EINVAL,
			      "the policy is longer than %u characters", DSM_POLICY_MAX - 1);
	for (i = 0; i < a->policy_len && policy[i]; i++) {
		if (!isascii(policy[i]) || !isprint(policy[i]))
			return refuse(c, -EINVAL,
				      "the policy has an unprintable character at position %zu",
				      i + 1);
	}
	return 0;
}

/* -1 stands for the caller; somebody else's ids need what chown(2) would need. */
static int region_ids(struct dsm_ioctl_call *c, const struct dsm_ioc_region *a, kuid_t *uid, kgid_t *gid)
{
	*uid = current_fsuid();
	*gid = current_fsgid();
	if (a->uid != (__u32)-1)
		*uid = make_kuid(current_user_ns(), a->uid);
	if (a->gid != (__u32)-1)
		*gid = make_kgid(current_user_ns(), a->gid);
	if (!uid_valid(*uid) || !gid_valid(*gid))
		return refuse(c, -EINVAL, "uid %u or gid %u does not exist here", a->uid, a->gid);
	if (!uid_eq(*uid, current_fsuid()) && !capable(CAP_CHOWN))
		return refuse(c, -EPERM, "only root can create a region for another user");
	if (!in_group_p(*gid) && !capable(CAP_CHOWN))
		return refuse(c, -EPERM, "only root can create a region for a group it is not in");
	return 0;
}

static int run_region_create(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_region *a = &c->arg.region;
	char policy[DSM_POLICY_MAX];
	kuid_t uid;
	kgid_t gid;
	int ret;

	if ((c->file->f_mode & (FMODE_READ | FMODE_WRITE)) != (FMODE_READ | FMODE_WRITE))
		return refuse(c, -EACCES,
			      "creating a region needs /dev/dsm opened for reading and writing");
	ret = check_flags(c, a->flags, DSM_REGION_HEAP);
	if (!ret)
		ret = check_name(c, a->name);
	if (!ret)
		ret = check_size(c, a);
	if (ret)
		return ret;
	if (a->mode & ~0777u)
		return refuse(c, -EINVAL,
			      "mode 0%o has more than the nine permission bits", a->mode);
	if (!a->mode)
		a->mode = DEFAULT_MODE;
	ret = region_ids(c, a, &uid, &gid);
	if (!ret)
		ret = copy_policy(c, a, policy);
	if (ret)
		return ret;
	return dsm_node_region_create(node_of(c), a, policy, uid, gid, &c->err);
}

static int run_region_destroy(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_region_destroy *a = &c->arg.destroy;
	struct dsm_region *r;
	bool allowed;
	u32 id;
	int ret = check_flags(c, a->flags, 0);

	if (ret)
		return ret;
	if (a->reserved)
		return refuse(c, -EINVAL, "a reserved field is not zero");
	ret = check_name(c, a->name);
	if (ret)
		return ret;
	if (!dsm_node_joined(node_of(c)))
		return -ENOTCONN;
	r = dsm_node_region_by_name(node_of(c), a->name);
	if (IS_ERR(r))
		return refuse(c, -ENOENT, "there is no region %s: see dsmctl region list", a->name);
	allowed = uid_eq(current_fsuid(), r->owner) || capable(CAP_SYS_ADMIN);
	id = r->id;
	dsm_node_region_put(r);
	if (!allowed)
		return refuse(c, -EPERM, "region %s belongs to another user", a->name);
	return dsm_node_region_destroy(node_of(c), a->name, id, &c->err);
}

/* Which region is meant; 0 means the file's own, and does not attach /dev/dsm. */
static u32 wanted_region(const struct dsm_file *f, u32 id, bool next)
{
	const struct dsm_region *own = READ_ONCE(f->region);

	if (id || next)
		return id;
	return own ? own->id : DSM_CTL_DEFAULT_REGION;
}

static int run_region_info(struct dsm_ioctl_call *c)
{
	const struct dsm_file *f = c->file->private_data;
	struct dsm_ioc_region_info *a = &c->arg.region_info;
	const u32 size = a->size, flags = a->flags;
	const bool next = flags & DSM_INFO_NEXT;
	struct dsm_region *r;
	int ret = check_flags(c, flags, DSM_INFO_NEXT);

	if (ret)
		return ret;
	if (!dsm_node_joined(node_of(c)))
		return -ENOTCONN;
	r = dsm_node_region_get(f->node, wanted_region(f, a->id, next), next);
	if (IS_ERR(r))
		return -ENOENT;
	memset(a, 0, sizeof(*a));
	dsm_node_region_info(r, a);
	a->size = size;
	a->flags = flags;
	if (READ_ONCE(f->region) == r && READ_ONCE(f->force_raw))
		a->region_flags |= DSM_REGION_RAW_OK;
	dsm_node_region_put(r);
	return 0;
}

static int run_node_info(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_node_info *a = &c->arg.node_info;
	u32 size = a->size;
	u16 node = a->node;

	if (node != DSM_NODE_ANY && node >= DSM_MAX_NODES)
		return -EINVAL;
	memset(a, 0, sizeof(*a));
	a->size = size;
	a->node = node;
	return dsm_node_info(node_of(c), a);
}

static int run_stats(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_stats *a = &c->arg.stats;
	u64 values[DSM_STAT_COUNT];
	int ret = 0;

	if (a->flags)
		return -EINVAL;
	if (a->region)
		ret = dsm_region_stats(node_of(c), a->region, values);
	else
		dsm_node_stats(node_of(c), values);
	if (ret)
		return ret;
	a->count = min_t(u32, a->count, DSM_STAT_COUNT);
	if (copy_to_user(u64_to_user_ptr(a->values), values, a->count * sizeof(values[0])))
		return -EFAULT;
	return 0;
}

static int run_logp(struct dsm_ioctl_call *c)
{
	struct dsm_ioc_logp *a = &c->arg.logp;
	int ret = check_flags(c, a->flags, DSM_LOGP_ONE_WAY | DSM_LOGP_SPIN);

	if (ret)
		return ret;
	if (a->reserved || (a->flags & DSM_LOGP_ONE_WAY && a->answer_bytes))
		return -EINVAL;
	return dsm_node_logp(node_of(c), a);
}

static int run_force_raw(struct dsm_ioctl_call *c)
{
	struct dsm_file *f = c->file->private_data;

	if (c->arg.plain.flags)
		return -EINVAL;
	WRITE_ONCE(f->force_raw, true);
	return 0;
}

/* ---- table and dispatch ---- */

#define ROW(_cmd, _run, _struct, _flags) {				\
	.run = (_run),							\
	.cmd = (_cmd),							\
	.min = sizeof(struct _struct),					\
	.max = sizeof(struct _struct),					\
	.flags = (_flags),						\
}
#define ROW_ERRTXT(_cmd, _run, _struct, _flags) {			\
	.run = (_run),							\
	.cmd = (_cmd),							\
	.min = sizeof(struct _struct),					\
	.max = sizeof(struct _struct),					\
	.errtxt = offsetof(struct _struct, errtxt),			\
	.errtxt_len = offsetof(struct _struct, errtxt_len),		\
	.flags = (_flags),						\
}

static const struct ioctl_row rows[] = {
	ROW(DSM_IOC_VERSION, run_version, dsm_ioc_version, 0),
	ROW_ERRTXT(DSM_IOC_JOIN, run_join, dsm_ioc_join, ROW_CONTROL | ROW_ADMIN),
	ROW_ERRTXT(DSM_IOC_LEAVE, run_leave, dsm_ioc_leave, ROW_CONTROL | ROW_ADMIN),
	ROW_ERRTXT(DSM_IOC_REGION_CREATE, run_region_create, dsm_ioc_region, ROW_CONTROL),
	ROW_ERRTXT(DSM_IOC_REGION_DESTROY, run_region_destroy, dsm_ioc_region_destroy, ROW_CONTROL),
	ROW(DSM_IOC_REGION_INFO, run_region_info, dsm_ioc_region_info, 0),
	ROW(DSM_IOC_NODE_INFO, run_node_info, dsm_ioc_node_info, 0),
	ROW(DSM_IOC_STATS, run_stats, dsm_ioc_stats, 0),
	ROW(DSM_IOC_LOGP, run_logp, dsm_ioc_logp, ROW_CONTROL | ROW_ADMIN),
	ROW(DSM_IOC_LOCK, dsm_ioctl_lock, dsm_ioc_lock, ROW_REGION),
	ROW(DSM_IOC_UNLOCK, dsm_ioctl_unlock, dsm_ioc_lock, ROW_REGION),
	ROW(DSM_IOC_LOCK_CONSISTENT, dsm_ioctl_lock_consistent, dsm_ioc_lock, ROW_REGION),
	ROW(DSM_IOC_LOCK_TABLE, dsm_ioctl_lock_table, dsm_ioc_lock_table, ROW_REGION),
	ROW(DSM_IOC_BARRIER, dsm_ioctl_barrier, dsm_ioc_barrier, ROW_REGION),
	ROW(DSM_IOC_FLAG_SET, dsm_ioctl_flag_set, dsm_ioc_flag, ROW_REGION),
	ROW(DSM_IOC_FLAG_WAIT, dsm_ioctl_flag_wait, dsm_ioc_flag, ROW_REGION),
	ROW(DSM_IOC_FLAG_CLEAR, dsm_ioctl_flag_clear, dsm_ioc_flag, ROW_REGION),
	ROW(DSM_IOC_ACQUIRE, dsm_ioctl_acquire, dsm_ioc_plain, ROW_REGION),
	ROW(DSM_IOC_RELEASE, dsm_ioctl_release, dsm_ioc_plain, ROW_REGION),
	ROW(DSM_IOC_PREFETCH, dsm_ioctl_prefetch, dsm_ioc_range, ROW_REGION),
	ROW(DSM_IOC_HOMES, dsm_ioctl_homes, dsm_ioc_homes, ROW_REGION),
	ROW(DSM_IOC_UNCLAIM, dsm_ioctl_unclaim, dsm_ioc_plain, ROW_REGION),
	ROW(DSM_IOC_FORCE_RAW, run_force_raw, dsm_ioc_plain, 0),
};

static const struct ioctl_row *find_row(unsigned int cmd)
{
	const unsigned int size_bits = _IOC_SIZEMASK << _IOC_SIZESHIFT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!((rows[i].cmd ^ cmd) & ~size_bits))
			return &rows[i];
	}
	return NULL;
}

/* On -E2BIG the known part has been copied, for errtxt. */
static int copy_arg(const struct ioctl_row *row, void __user *uarg, struct dsm_ioctl_call *c)
{
	u32 size;
	int ret;

	if (get_user(size, (u32 __user *)uarg))
		return -EFAULT;
	if (size < row->min)
		return -EINVAL;
	if (copy_from_user(&c->arg, uarg, min_t(u32, size, row->max)))
		return -EFAULT;
	/* Another thread may have changed it since; what was checked counts. */
	c->arg.size = size;
	if (size <= row->max)
		return 0;
	if (size > ARG_MAX_BYTES)
		return refuse(c, -E2BIG,
			      "an argument of %u bytes: the largest accepted has %u",
			      size, ARG_MAX_BYTES);
	ret = check_zeroed_user(uarg + row->max, size - row->max);
	if (ret < 0)
		return ret;
	if (!ret)
		return refuse(c, -E2BIG,
			      "the argument uses fields that this module does not know: it is older than the program");
	return 0;
}

static int run_row(const struct ioctl_row *row, struct dsm_ioctl_call *c)
{
	const struct dsm_file *f = c->file->private_data;

	if ((row->flags & ROW_CONTROL) && !f->control)
		return refuse(c, -ENOTTY, "this is done on /dev/dsm, not on a region's file");
	if ((row->flags & ROW_ADMIN) && !capable(CAP_SYS_ADMIN))
		return refuse(c, -EPERM, "only root can do this (CAP_SYS_ADMIN)");
	if (row->flags & ROW_REGION) {
		c->region = dsm_chardev_attach(c->file);
		if (IS_ERR(c->region))
			return PTR_ERR(c->region);
	}
	return row->run(c);
}

/* For what came back without words. */
static const char *plain_text(int ret)
{
	switch (ret) {
	case -ENOTCONN:
		return "this node has not joined a cluster: use dsmctl join";
	case -EHOSTDOWN:
		return "a node that is needed for this is lost";
	case -ENOMEM:
		return "out of kernel memory";
	case -EINTR:
		return "interrupted by a signal";
	case -ETIMEDOUT:
		return "timed out";
	default:
		return "";
	}
}

/* The call's own error is what the caller needs: a bad pointer for the text does not hide it. */
static void put_errtxt(const struct ioctl_row *row, struct dsm_ioctl_call *c, int error)
{
	const char *text;
	u64 uptr;
	u32 room;
	size_t len;

	memcpy(&uptr, (char *)&c->arg + row->errtxt, sizeof(uptr));
	memcpy(&room, (char *)&c->arg + row->errtxt_len, sizeof(room));
	if (!uptr || !room)
		return;
	c->err.text[sizeof(c->err.text) - 1] = '\0';
	text = c->err.text[0] ? c->err.text : plain_text(error);
	len = min_t(size_t, strlen(text), room - 1);
	if (copy_to_user(u64_to_user_ptr(uptr), text, len) ||
	    put_user('\0', (char __user *)u64_to_user_ptr(uptr) + len))
		pr_debug("dsm: bad errtxt pointer\n");
}

/* Whoever cannot be told of it shall not have it. */
static void take_back(const struct ioctl_row *row, struct dsm_ioctl_call *c)
{
	if (row->run == run_region_create)
		dsm_node_region_destroy(node_of(c), c->arg.region.name, c->arg.region.id, &c->err);
	else if (row->run == run_join)
		dsm_node_leave(node_of(c), DSM_LEAVE_FORCE, &c->err);
}

/**
 * dsm_ioctl_dispatch() - the unlocked_ioctl method
 * @file: an open file of ours
 * @cmd:  number; its size bits are ignored
 * @uarg: user address of a struct of uapi/dsm.h, which begins with its size in bytes
 *
 * Results are written back only on success; errtxt only on failure. A region that was made and a membership that
 * was begun end again if the result cannot be written.
 *
 * Context: process; sleeps.
 * Return: 0; -ENOTTY unknown, or a control ioctl on a region's file; -EINVAL too short, unknown
 *         flag or reserved field; -E2BIG unknown non-zero tail; -EFAULT; -EPERM; or what the
 *         shell says, see uapi/dsm.h.
 */
long dsm_ioctl_dispatch(struct file *file, unsigned int cmd, unsigned long uarg)
{
	const struct ioctl_row *row = find_row(cmd);
	struct dsm_ioctl_call c = { .file = file };
	void __user *user = (void __user *)uarg;
	int ret;

	if (!row)
		return -ENOTTY;
	/* An initializer need not reach the union's longer members. */
	memset(&c.arg, 0, sizeof(c.arg));
	ret = copy_arg(row, user, &c);
	if (!ret)
		ret = run_row(row, &c);
	if (ret < 0) {
		if (row->errtxt)
			put_errtxt(row, &c, ret);
		return ret;
	}
	if ((_IOC_DIR(cmd) & _IOC_READ) &&
	    copy_to_user(user, &c.arg, min_t(u32, c.arg.size, row->max))) {
		take_back(row, &c);
		return -EFAULT;
	}
	return ret;
}
