/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Plain types and limits that every layer shares. Holds no state and no function that could
 * sleep, send or allocate.
 */
#ifndef DSM_CORE_TYPES_H
#define DSM_CORE_TYPES_H

#include "env.h"

/*
 * A sharing or liveness set is one 64-bit word and a vector time fits into a
 * fraction of one message. The virtual clusters use at most 8.
 */
#define DSM_MAX_NODES 64

/* "No such node": unknown, unclaimed or not applicable. */
#define DSM_NO_NODE 0xffffu

/*
 * One message, header included: a page reply (4096) or the longest diff record
 * of a page (4624) plus headers fit, and two such buffers make 16 KiB.
 */
#define DSM_MSG_BYTES 8192u

/* Length of a region's name, terminating NUL included. */
#define DSM_NAME_BYTES 32

/* 16 TiB of 4 KiB pages: page indexes fit into 32 bits. */
#define DSM_REGION_MAX_PAGES (1ull << 32)

/**
 * enum dsm_class - message classes, lowest first
 * @DSM_CLASS_REQ: requests; the handler may emit FWD and RSP
 * @DSM_CLASS_FWD: requests passed on by a manager; the handler may emit RSP
 * @DSM_CLASS_RSP: replies and grants; always drained by the receiver
 * @DSM_CLASS_CTL: connection set-up and heartbeats, handled inside net
 * @DSM_CLASS_COUNT: number of classes
 *
 * protocol.md section 0: each class has credits and receive buffers of its own, so that replies
 * never wait for requests.
 */
enum dsm_class {
	DSM_CLASS_REQ,
	DSM_CLASS_FWD,
	DSM_CLASS_RSP,
	DSM_CLASS_CTL,
	DSM_CLASS_COUNT,
};

/**
 * struct dsm_msgbuf - one outgoing message
 * @next:  list link; owned by whoever holds the message
 * @data:  DSM_MSG_BYTES bytes; the first 32 are the header (struct dsm_wire_hdr)
 * @len:   bytes used in @data, header included
 * @page:  frame sent after @data as a second segment of DSM_PAGE_BYTES, or NULL;
 *         the holder of the message owns one reference to it
 * @dst:   destination node
 * @class: enum dsm_class
 *
 * Allocated by the shell and filled by the core; net embeds it in its own
 * structure. A message has one owner at a time.
 */
struct dsm_msgbuf {
	struct dsm_msgbuf *next;
	u8 *data;
	u32 len;
	void *page;
	u16 dst;
	u8 class;
};

#endif
