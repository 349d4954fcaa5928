/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Tracepoints of the normal course, system "dsm". They take plain numbers, so that any layer's
 * caller in the shell can fire them; none changes anything.
 *
 * Pages are indexes within their region. Errors and results are 0 or a negative errno.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dsm

#if !defined(DSM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DSM_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

#ifndef DSM_TRACE_ENUMS
#define DSM_TRACE_ENUMS
enum dsm_trace_lock {
	DSM_TRACE_LOCK_REQUEST,		/* asked for, @peer: the manager */
	DSM_TRACE_LOCK_PASS,		/* the manager tells the holder, @peer: who is next */
	DSM_TRACE_LOCK_GRANT,		/* token arrived, @peer: from */
	DSM_TRACE_LOCK_TAKEN,		/* a thread has it, @peer: unused */
	DSM_TRACE_LOCK_RELEASED,	/* a thread gave it up, @peer: unused */
};

enum dsm_trace_barrier {
	DSM_TRACE_BARRIER_ARRIVE,	/* a thread is in, ticket: its arrival */
	DSM_TRACE_BARRIER_REPORT,	/* the manager hears of arrivals */
	DSM_TRACE_BARRIER_DEPART,	/* all are in */
	DSM_TRACE_BARRIER_ABORT,	/* an arrival was taken back */
};
#endif

TRACE_DEFINE_ENUM(DSM_TRACE_LOCK_REQUEST);
TRACE_DEFINE_ENUM(DSM_TRACE_LOCK_PASS);
TRACE_DEFINE_ENUM(DSM_TRACE_LOCK_GRANT);
TRACE_DEFINE_ENUM(DSM_TRACE_LOCK_TAKEN);
TRACE_DEFINE_ENUM(DSM_TRACE_LOCK_RELEASED);
TRACE_DEFINE_ENUM(DSM_TRACE_BARRIER_ARRIVE);
TRACE_DEFINE_ENUM(DSM_TRACE_BARRIER_REPORT);
TRACE_DEFINE_ENUM(DSM_TRACE_BARRIER_DEPART);
TRACE_DEFINE_ENUM(DSM_TRACE_BARRIER_ABORT);

#define dsm_show_lock(what) __print_symbolic(what,		\
	{ DSM_TRACE_LOCK_REQUEST, "request" },			\
	{ DSM_TRACE_LOCK_PASS, "pass" },			\
	{ DSM_TRACE_LOCK_GRANT, "grant" },			\
	{ DSM_TRACE_LOCK_TAKEN, "taken" },			\
	{ DSM_TRACE_LOCK_RELEASED, "released" })

#define dsm_show_barrier(what) __print_symbolic(what,		\
	{ DSM_TRACE_BARRIER_ARRIVE, "arrive" },			\
	{ DSM_TRACE_BARRIER_REPORT, "report" },			\
	{ DSM_TRACE_BARRIER_DEPART, "depart" },			\
	{ DSM_TRACE_BARRIER_ABORT, "abort" })

/* A fault was answered: result 0 = wait, 1 = read, 2 = write (enum dsm_right), or an errno. */
TRACE_EVENT(dsm_fault,
	TP_PROTO(u32 region, u32 idx, bool write, int result),
	TP_ARGS(region, idx, write, result),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, idx)
		__field(bool, write)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->idx = idx;
		__entry->write = write;
		__entry->result = result;
	),
	TP_printk("region=%u page=%u %s result=%d", __entry->region, __entry->idx,
		  __entry->write ? "write" : "read", __entry->result)
);

/* A page is asked for at its home. */
TRACE_EVENT(dsm_fetch,
	TP_PROTO(u32 region, u32 idx, u16 home),
	TP_ARGS(region, idx, home),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, idx)
		__field(u16, home)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->idx = idx;
		__entry->home = home;
	),
	TP_printk("region=%u page=%u home=%u", __entry->region, __entry->idx, __entry->home)
);

/* The home's answer arrived. */
TRACE_EVENT(dsm_page_reply,
	TP_PROTO(u32 region, u32 idx, u64 ver, int status),
	TP_ARGS(region, idx, ver, status),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, idx)
		__field(u64, ver)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->idx = idx;
		__entry->ver = ver;
		__entry->status = status;
	),
	TP_printk("region=%u page=%u ver=%llu status=%d", __entry->region, __entry->idx,
		  __entry->ver, __entry->status)
);

/* What a page's writers changed goes to its home. */
TRACE_EVENT(dsm_diff,
	TP_PROTO(u32 region, u32 idx, u32 bytes, u16 home),
	TP_ARGS(region, idx, bytes, home),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, idx)
		__field(u32, bytes)
		__field(u16, home)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->idx = idx;
		__entry->bytes = bytes;
		__entry->home = home;
	),
	TP_printk("region=%u page=%u bytes=%u home=%u", __entry->region, __entry->idx,
		  __entry->bytes, __entry->home)
);

/* A diff was applied here, the home. */
TRACE_EVENT(dsm_apply,
	TP_PROTO(u32 region, u32 idx, u64 ver, u16 from),
	TP_ARGS(region, idx, ver, from),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, idx)
		__field(u64, ver)
		__field(u16, from)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->idx = idx;
		__entry->ver = ver;
		__entry->from = from;
	),
	TP_printk("region=%u page=%u ver=%llu from=%u", __entry->region, __entry->idx,
		  __entry->ver, __entry->from)
);

/* A write notice was applied: versions below @ver are stale. */
TRACE_EVENT(dsm_notice,
	TP_PROTO(u32 region, u32 idx, u64 ver),
	TP_ARGS(region, idx, ver),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u32, idx)
		__field(u64, ver)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->idx = idx;
		__entry->ver = ver;
	),
	TP_printk("region=%u page=%u ver=%llu", __entry->region, __entry->idx, __entry->ver)
);

/* A release of the node is complete: its interval, and the pages in it. */
TRACE_EVENT(dsm_release,
	TP_PROTO(u64 seq, u32 pages),
	TP_ARGS(seq, pages),
	TP_STRUCT__entry(
		__field(u64, seq)
		__field(u32, pages)
	),
	TP_fast_assign(
		__entry->seq = seq;
		__entry->pages = pages;
	),
	TP_printk("seq=%llu pages=%u", __entry->seq, __entry->pages)
);

/* An acquire of the node is complete: interval records applied, pages invalidated. */
TRACE_EVENT(dsm_acquire,
	TP_PROTO(u32 records, u32 zapped),
	TP_ARGS(records, zapped),
	TP_STRUCT__entry(
		__field(u32, records)
		__field(u32, zapped)
	),
	TP_fast_assign(
		__entry->records = records;
		__entry->zapped = zapped;
	),
	TP_printk("records=%u zapped=%u", __entry->records, __entry->zapped)
);

TRACE_EVENT(dsm_lock,
	TP_PROTO(u32 region, u64 key, enum dsm_trace_lock what, u16 peer),
	TP_ARGS(region, key, what, peer),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u64, key)
		__field(int, what)
		__field(u16, peer)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->key = key;
		__entry->what = what;
		__entry->peer = peer;
	),
	TP_printk("region=%u key=0x%llx %s peer=%u", __entry->region, __entry->key,
		  dsm_show_lock(__entry->what), __entry->peer)
);

TRACE_EVENT(dsm_barrier,
	TP_PROTO(u32 region, u64 key, enum dsm_trace_barrier what, u64 ticket),
	TP_ARGS(region, key, what, ticket),
	TP_STRUCT__entry(
		__field(u32, region)
		__field(u64, key)
		__field(int, what)
		__field(u64, ticket)
	),
	TP_fast_assign(
		__entry->region = region;
		__entry->key = key;
		__entry->what = what;
		__entry->ticket = ticket;
	),
	TP_printk("region=%u key=0x%llx %s ticket=%llu", __entry->region, __entry->key,
		  dsm_show_barrier(__entry->what), __entry->ticket)
);

/* One message; class is enum dsm_class, type enum dsm_msg_type, len in bytes with its header. */
DECLARE_EVENT_CLASS(dsm_msg,
	TP_PROTO(u16 node, u8 class, u8 type, u32 len, u32 xid),
	TP_ARGS(node, class, type, len, xid),
	TP_STRUCT__entry(
		__field(u16, node)
		__field(u8, class)
		__field(u8, type)
		__field(u32, len)
		__field(u32, xid)
	),
	TP_fast_assign(
		__entry->node = node;
		__entry->class = class;
		__entry->type = type;
		__entry->len = len;
		__entry->xid = xid;
	),
	TP_printk("node=%u class=%u type=%u len=%u xid=%u", __entry->node, __entry->class,
		  __entry->type, __entry->len, __entry->xid)
);

DEFINE_EVENT(dsm_msg, dsm_msg_tx,
	TP_PROTO(u16 node, u8 class, u8 type, u32 len, u32 xid),
	TP_ARGS(node, class, type, len, xid)
);

DEFINE_EVENT(dsm_msg, dsm_msg_rx,
	TP_PROTO(u16 node, u8 class, u8 type, u32 len, u32 xid),
	TP_ARGS(node, class, type, len, xid)
);

/* A peer came up or was lost; the reason is cut at the array's length. */
TRACE_EVENT(dsm_peer,
	TP_PROTO(u16 node, bool up, const char *reason),
	TP_ARGS(node, up, reason),
	TP_STRUCT__entry(
		__field(u16, node)
		__field(bool, up)
		__array(char, reason, 48)
	),
	TP_fast_assign(
		__entry->node = node;
		__entry->up = up;
		strscpy(__entry->reason, reason ? reason : "", sizeof(__entry->reason));
	),
	TP_printk("node=%u %s %s", __entry->node, __entry->up ? "up" : "lost", __entry->reason)
);

#endif

/* Found through -I kmod. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ctl
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
