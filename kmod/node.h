/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The shell as ctl sees it: nodes, their regions, and the calls behind the ioctls, the
 * device files and sysfs. All of these sleep; none is called with a lock held.
 */
#ifndef DSM_NODE_H
#define DSM_NODE_H

#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/fs.h>
#include <linux/in.h>
#include <linux/kref.h>
#include <linux/string.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>
#include "core/types.h"
#include "mm/region.h"
#include "../uapi/dsm.h"

struct dsm_node;
struct dsm_space;	/* core's part of a region */
struct dsm_ahead;	/* its threads' faults */

/* One line for the user; filled by whoever refuses. */
struct dsm_errtxt {
	char text[192];
};
__printf(2, 3) void dsm_errtxt_set(struct dsm_errtxt *err, const char *fmt, ...);

/* What the shell counts of a region; the core and the mm side have more. */
struct dsm_region_counts {
	atomic64_t diff_bytes, direct_pages, direct_runs;
	atomic64_t ns_wait_lock, ns_wait_barrier, ns_wait_flag, ns_wait_page, ns_wait_page_lock;
};

/* Of a region's name, which becomes that of a device node. */
static inline bool dsm_name_may_have(char c)
{
	return isascii(c) && (isalnum(c) || (c && strchr("._-", c)));
}

/* Instead of a number of open files. Each reason is taken back by who gave it. */
#define DSM_OPENS_ENDING (-1)	/* all members were asked whether it can be destroyed */
#define DSM_OPENS_GOING (-2)	/* is being removed */
#define DSM_OPENS_LEAVING (-3)	/* this node leaves */

/**
 * struct dsm_region - one region on a node
 * @node:   the node; fixed
 * @ref:    held by the region table, each open file, each operation in flight
 * @id:     cluster-wide id, > 0; /dev/dsm's is 1
 * @name:   "" for /dev/dsm itself
 * @pages:  length in pages
 * @addr:   mapping address on every node, chosen at creation
 * @flags:  DSM_REGION_HEAP
 * @owner:  user, checked at open and given to the device node
 * @group:  likewise
 * @mode:   likewise; read and write bits only
 * @policy: text of the effective settings
 * @minor:  minor number; set by ctl
 * @device: device node; set by ctl
 * @opens:  open files on this node, or why there can be none: DSM_OPENS_
 * @active: the coordinator confirmed that every member knows the region and its members
 * @late:   this node was not there when its members were fixed
 * @doomed: its creation failed elsewhere: see doomed.c
 * @going:  then removes it
 * @named:  somebody said which pages are homed here: they stay
 * @process: level=1: who may use it on this node, or NULL; see process.c
 * @mm:     mm side
 * @space:  core side
 * @table:  touched pages, struct dsm_page by index
 * @chunks: struct dsm_chunk by chunk: what of it is homed here
 * @keys:   struct dsm_key by chunk and node: registrations that peers told of
 * @ahead:  what is fetched ahead
 * @dir_mr: registration of its words, metadata=rdma, or NULL
 * @transfers: one-sided transfers of its pages that this node has under way
 * @counts: counters
 */
struct dsm_region {
	struct dsm_node *node;
	struct kref ref;
	u32 id;
	char name[DSM_NAME_MAX];
	u64 pages;
	u64 addr;
	u32 flags;
	kuid_t owner;
	kgid_t group;
	umode_t mode;
	char policy[DSM_POLICY_MAX];
	int minor;
	struct device *device;
	atomic_t opens;
	bool active;
	bool late;
	bool named;
	bool doomed;
	struct work_struct going;
	struct pid *process;
	struct dsm_mm *mm;
	struct dsm_space *space;
	struct xarray table;
	struct xarray chunks;
	struct xarray keys;
	struct dsm_ahead *ahead;
	struct dsm_mr *dir_mr;
	atomic_t transfers;
	struct dsm_region_counts counts;
};

/* ---- module life (main.c) ---- */
int dsm_node_init(void);
void dsm_node_exit(void);
struct dsm_node *dsm_node_new(u32 number);
void dsm_node_free(struct dsm_node *n);
u32 dsm_node_number(const struct dsm_node *n);
const char *dsm_node_suffix(const struct dsm_node *n);

/* ---- membership ---- */
int dsm_node_join(struct dsm_node *n, struct dsm_ioc_join *arg, struct dsm_errtxt *err);
int dsm_node_leave(struct dsm_node *n, u32 flags, struct dsm_errtxt *err);
void dsm_node_end(struct dsm_node *n);
bool dsm_node_joined(struct dsm_node *n);
int dsm_node_info(struct dsm_node *n, struct dsm_ioc_node_info *info);
int dsm_node_logp(struct dsm_node *n, struct dsm_ioc_logp *a);

/* ---- regions ---- */
int dsm_node_region_create(struct dsm_node *n, struct dsm_ioc_region *arg, const char *policy,
			   kuid_t uid, kgid_t gid, struct dsm_errtxt *err);
int dsm_node_region_destroy(struct dsm_node *n, const char *name, u32 id, struct dsm_errtxt *err);
/* Reference or ERR_PTR(-ENOENT). id 0 and next: the first. */
struct dsm_region *dsm_node_region_get(struct dsm_node *n, u32 id, bool next);
struct dsm_region *dsm_node_region_by_minor(struct dsm_node *n, int minor);
struct dsm_region *dsm_node_region_by_name(struct dsm_node *n, const char *name);
void dsm_node_region_put(struct dsm_region *r);
bool dsm_node_in_use(struct dsm_node *n);
void dsm_node_region_info(struct dsm_region *r, struct dsm_ioc_region_info *info);

/*
 * First and every open of a region: fixes its members on first use in the cluster, then acquires
 * (decisions.md, bare acquire). Counts @opens; close undoes it after a release of the
 * closing process's writes. -ENOTCONN, -EHOSTDOWN, -EINTR.
 */
int dsm_node_region_open(struct dsm_region *r);
void dsm_node_region_close(struct dsm_region *r);
/* May this process use a file of it that is open? 0 or -EPERM. */
int dsm_node_region_mine(const struct dsm_region *r);

/* ---- synchronisation; owner: one process through one open file ---- */
struct dsm_owner {
	u64 file;	/* unique per open file */
	pid_t tgid;
	pid_t tid;
	kuid_t uid;	/* who opened the file: locks count against this user */
	u64 opened;	/* of the file: see dsm_node_region_opened(); for barriers */
};
int dsm_node_lock(struct dsm_region *r, u64 key, u32 flags, u64 deadline_ns,
		  const struct dsm_owner *o);
int dsm_node_unlock(struct dsm_region *r, u64 key, bool silent, const struct dsm_owner *o);
int dsm_node_unlock_now(struct dsm_region *r, u64 key, const struct dsm_owner *o);
bool dsm_node_unlock_waits(const struct dsm_region *r);
int dsm_node_lock_consistent(struct dsm_region *r, u64 key, const struct dsm_owner *o);
/* Number > 0 for the words of the lock table, which exists from then on. */
int dsm_node_lock_table(struct dsm_region *r, const struct dsm_owner *o);
/*
 * @heard: of the open file: number of the last loss that its program was told of; nobody waits for who was lost by then.
 * Starts with dsm_node_region_lost() at open; a call that fails with -EHOSTDOWN adds to it.
 */
int dsm_node_barrier(struct dsm_region *r, u64 key, u32 parties, const struct dsm_owner *o,
		     u64 *heard);
int dsm_node_flag_set(struct dsm_region *r, u64 key);
int dsm_node_flag_wait(struct dsm_region *r, u64 key, u64 *heard);
/* The program hears of @ret: after -EHOSTDOWN it does not wait for who is lost. Returns @ret. */
int dsm_node_tell(struct dsm_region *r, u64 *heard, int ret);
/* The number of the last loss; files that are opened now do not count on who was lost. */
u64 dsm_node_losses(struct dsm_region *r);
/* A file of it was opened: its number, above those of all files before. */
u64 dsm_node_region_opened(struct dsm_region *r);
int dsm_node_flag_clear(struct dsm_region *r, u64 key);
int dsm_node_acquire(struct dsm_region *r, bool merge);
int dsm_node_release(struct dsm_region *r, bool silent);
int dsm_node_unclaim(struct dsm_region *r);
int dsm_node_homes(struct dsm_region *r, struct dsm_ioc_homes *a);
/* @count pieces of a region, of @len bytes each: the first at @offset, each @stride behind the one before; 0: one. */
struct dsm_pieces {
	u64 offset, len, stride, count;
};
int dsm_node_prefetch(struct dsm_region *r, const struct dsm_pieces *what);
/*
 * A process ends (tgid, at its last close or exit) or a file is gone (tgid 0): its locks become
 * OWNERDEAD, its interrupted barrier arrivals are aborted.
 */
void dsm_node_owner_gone(struct dsm_region *r, u64 file, pid_t tgid, kuid_t uid);

/* ---- the same without a thread that waits (async.c) ---- */
enum dsm_async_kind {
	DSM_ASYNC_LOCK,
	DSM_ASYNC_TRYLOCK,
	DSM_ASYNC_TIMEDLOCK,
	DSM_ASYNC_BARRIER,
	DSM_ASYNC_FLAG_SET,
	DSM_ASYNC_FLAG_WAIT,
	DSM_ASYNC_FLAG_CLEAR,
	DSM_ASYNC_RELEASE,
	DSM_ASYNC_ACQUIRE,
	DSM_ASYNC_PREFETCH,
};

/**
 * struct dsm_async_ops - what a pending operation calls back
 * @done: it ended; in process context, once, as its last act: it may be freed from here on
 * @gone: nobody will hear of the result, so it shall end; polled, under a spinlock
 */
struct dsm_async_ops {
	void (*done)(void *ctx);
	bool (*gone)(void *ctx);
};

/**
 * struct dsm_async_arg - an operation
 * @kind:  what to do
 * @key:   lock, barrier or flag; prefetch: offset in bytes
 * @value: timed lock: deadline in ns of CLOCK_MONOTONIC; barrier: parties, at least 1;
 *         prefetch: length in bytes, within the region
 * @owner: for whom
 * @heard: of the open file, for barriers and flag waits: see dsm_node_barrier()
 * @ops:   of the caller
 * @ctx:   for them
 */
struct dsm_async_arg {
	enum dsm_async_kind kind;
	u64 key;
	u64 value;
	struct dsm_owner owner;
	u64 *heard;
	const struct dsm_async_ops *ops;
	void *ctx;
};

struct dsm_async;
int dsm_async_start(struct dsm_region *r, const struct dsm_async_arg *arg, struct dsm_async **out);
void dsm_async_go(struct dsm_async *a);
void dsm_async_cancel(struct dsm_async *a);
unsigned int dsm_async_cancel_if(bool (*match)(void *ctx, const void *key), const void *key);
void dsm_async_owner_gone(struct dsm_region *r, u64 file, pid_t tgid);
int dsm_async_collect(struct dsm_async *a);
void dsm_async_free(struct dsm_async *a);
int dsm_async_init(void);
void dsm_async_exit(void);

/* ---- counters ---- */
void dsm_node_stats(struct dsm_node *n, u64 out[DSM_STAT_COUNT]);
int dsm_region_stats(struct dsm_node *n, u32 id, u64 out[DSM_STAT_COUNT]);

/* ---- what ctl provides to the shell ---- */
/* Make or remove /dev/dsm-NAME (and the sysfs directory of the region). */
int dsm_ctl_region_add(struct dsm_region *r);
void dsm_ctl_region_del(struct dsm_region *r);
/* Make sysfs peers/<node>/ when a node comes up, remove peers/ when this node leaves. */
void dsm_ctl_peer_add(struct dsm_node *n, u16 node);
void dsm_ctl_peers_del(struct dsm_node *n);
int dsm_ctl_init(struct dsm_node * const *nodes, u32 count);
void dsm_ctl_exit(void);

/* Module parameters (main.c). */
extern unsigned int dsm_param_nodes;
extern bool dsm_param_insecure;
extern unsigned int dsm_param_peer_timeout_ms;
extern unsigned int dsm_param_poll_us;
extern unsigned int dsm_param_resume_ms;
extern bool dsm_param_poll_always;
extern unsigned int dsm_param_poll;	/* enum dsm_net_poll, read when joining */
/* Its name, newline included. */
int dsm_param_poll_show(char *buf);
/* Spinning against sleeping, as measured (spin.c). */
int dsm_spin_show(char *buf);
extern unsigned int dsm_param_locks_per_user;
extern unsigned int dsm_param_regions_per_user;
extern unsigned int dsm_param_lock_cap;
extern unsigned int dsm_param_barrier_fanout;
extern unsigned int dsm_param_twins_max;
extern unsigned long dsm_param_pin_mib;
extern unsigned int dsm_param_bcast_slots;
extern unsigned int dsm_param_bcast_wait_us;
extern unsigned int dsm_param_keep_after;
extern unsigned int dsm_param_move_after;
extern unsigned int dsm_param_direct_runs;
extern unsigned int dsm_param_wr_runs_max;
extern unsigned long dsm_param_default_bytes;
extern unsigned long dsm_param_heap_bytes;

#endif
