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

/* sync=rdma: words of one node; more keys than that are refused with -ENOSPC. The model has less. */
#ifndef DSM_RSYNC_WORDS_LOG2
#define DSM_RSYNC_WORDS_LOG2 17
#endif
#define DSM_RSYNC_WORDS (1u << DSM_RSYNC_WORDS_LOG2)

/* Length of a region's name, terminating NUL included. */
#define DSM_NAME_BYTES 32

/* Longest text of a region's settings, terminating NUL included. */
#define DSM_POLICY_TEXT_BYTES 192

/* Bitmap of pages in a question after homes; as in uapi/dsm.h. */
#define DSM_HOMES_WORDS 64u

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

/* A registration at some node; of pages: page i of its 2 MiB chunk is at addr + i pages. */
struct dsm_key {
	u64 addr;
	u32 rkey;
};

struct dsm_xfer;

#define DSM_BRIEF_MAX ((1u << 10) - 1)

/**
 * struct dsm_msgbuf - one outgoing message
 * @next:  list link; owned by whoever holds the message
 * @data:  DSM_MSG_BYTES bytes; the first 32 are the header (struct dsm_wire_hdr)
 * @len:   bytes used in @data, header included
 * @limit: the core's: bytes that it may use
 * @page:  frame sent after @data as a second segment of DSM_PAGE_BYTES, or NULL;
 *         the holder of the message owns one reference to it
 * @sink:  requests only: frame into which the receiver may write its answer until it has
 *         answered, or NULL. The last 16 bytes of @data are then a struct dsm_wire_sink, which
 *         net fills; without a free registration net clears it, and the answer carries the bytes
 * @raddr: replies only: with @rkey, @page, if any, is written there before the message is sent
 * @rkey:  registration that the asker's struct dsm_wire_sink named, or 0; the reply ends it
 * @brief: replies only: with @rkey and @page, a number that may go in the place of @data, as
 *         dsm_fetch_expand() can tell from it, and from the request, what @data says. 1 to
 *         DSM_BRIEF_MAX, or 0: nothing can
 * @before: the core's: transfers that must be back before the message leaves, or NULL
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
	u32 limit;
	void *page;
	void *sink;
	u64 raddr;
	u32 rkey;
	u32 brief;
	struct dsm_xfer *before;
	u16 dst;
	u8 class;
};

/*
 * The connection broke and stands again, and nobody knows whether the atomic took place; it will not any more.
 * All else is done again by net.
 */
#define DSM_XFER_IN_DOUBT (-EAGAIN)

/* Segments of one transfer: 64 KiB of 4 KiB pages; every device we know takes 30 at least. */
#define DSM_XFER_SEGS 16u

/**
 * enum dsm_xfer_op - one-sided transfers
 * @DSM_XFER_READ:   remote bytes into the segments
 * @DSM_XFER_WRITE:  the segments into remote memory
 * @DSM_XFER_SIGNAL: WRITE (of nothing too) that tells the receiver's shell @imm when it is there
 * @DSM_XFER_CAS:    64-bit compare and swap at @remote, old value in @result
 * @DSM_XFER_ADD:    64-bit fetch and add at @remote, old value in @result
 * @DSM_XFER_OPS:    number of operations
 */
enum dsm_xfer_op {
	DSM_XFER_READ,
	DSM_XFER_WRITE,
	DSM_XFER_SIGNAL,
	DSM_XFER_CAS,
	DSM_XFER_ADD,
	DSM_XFER_OPS,
};

/**
 * enum dsm_xfer_kind - whose transfer it is
 * @DSM_XFER_KIND_NONE:  nobody's: its end concerns nobody
 * @DSM_XFER_KIND_TEST:  the transfer test of debug builds
 * @DSM_XFER_KIND_FETCH: fetch.c: READ into the frames of the pages from @idx on
 * @DSM_XFER_KIND_MERGE: fetch.c: READ into a page of its own, for page @idx
 * @DSM_XFER_KIND_DIFF:  direct.c: WRITE of changed bytes, from page @idx on
 * @DSM_XFER_KIND_RLOCK: rlock.c: for the lock of word @idx
 * @DSM_XFER_KIND_LETTER: letter.c: of the bytes of message @then, or of none; the shell frees both
 * @DSM_XFER_KIND_DIR:   dir.c: at the word of page @idx; @imm says what for
 * @DSM_XFER_KIND_RING:  ring.c: last of those that bring notices to a node
 */
enum dsm_xfer_kind {
	DSM_XFER_KIND_NONE,
	DSM_XFER_KIND_TEST,
	DSM_XFER_KIND_FETCH,
	DSM_XFER_KIND_MERGE,
	DSM_XFER_KIND_DIFF,
	DSM_XFER_KIND_RLOCK,
	DSM_XFER_KIND_LETTER,
	DSM_XFER_KIND_DIR,
	DSM_XFER_KIND_RING,
};

/* Highest byte of a signal's value: whom it is for. */
#define DSM_SIGNAL_TEST 0xffu

/* A piece of local memory; what does not end in @page goes on in those that follow it. */
struct dsm_seg {
	void *page;
	u32 off;
	u32 len;
};

/**
 * struct dsm_xfer - one one-sided transfer
 * @next:    list link; transfers handed to net together are posted together, in order
 * @op:      enum dsm_xfer_op
 * @fence:   take effect at the target behind the READs and atomics before it; local memory must not depend on these
 * @yields:  of pages: may go later than what is handed over after it and does not yield
 * @n_segs:  segments in use; 0 for atomics
 * @dst:     node
 * @rkey:    its registration
 * @remote:  address within it; atomics: a multiple of 8
 * @imm:     SIGNAL: value; else the core's
 * @compare: CAS; else the core's
 * @operand: CAS: new value; ADD: addend
 * @result:  CAS, ADD: value before
 * @seg:     local memory; stays valid until the transfer is back
 * @status:  once it is back: 0; -EHOSTDOWN if the peer was lost first; atomics: DSM_XFER_IN_DOUBT
 * @kind:    enum dsm_xfer_kind
 * @region:  the core's: for what
 * @idx:     the core's: likewise
 * @xid:     the core's: likewise
 * @owned:   the core's: bitmap of segments whose page is a twin that nobody else uses any more
 * @then:    the core's: message that leaves when it is back, LETTER: that it carries; or NULL
 * @shell:   the shell's
 *
 * Allocated by the shell and filled by the core, as messages are. Transfers with one node that yield take
 * place and come back in the order they were handed over, likewise those that do not; none that yields overtakes one that
 * does not.
 */
struct dsm_xfer {
	struct dsm_xfer *next;
	u8 op;
	bool fence;
	bool yields;
	u8 n_segs;
	u8 kind;
	u16 dst;
	u32 rkey;
	u64 remote;
	u32 imm;
	u64 compare;
	u64 operand;
	u64 result;
	struct dsm_seg seg[DSM_XFER_SEGS];
	int status;
	u32 region;
	u32 idx;
	u32 xid;
	u32 owned;
	struct dsm_msgbuf *then;
	void *shell;
};

#endif
