/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * State of regions with consistency=cashmere: flags of a page, and what one engine keeps for all of them. Never
 * a rule.
 */
#ifndef DSM_CORE_CSM_ENGINE_H
#define DSM_CORE_CSM_ENGINE_H

#include "types.h"

struct dsm_page;

/* dsm_page.csm: regions with consistency=cashmere. */
#define DSM_CSM_TOLD 0x01u	/* a notice is in the inbox, not applied yet */
#define DSM_CSM_IDLE 0x02u	/* lost its copy, and no thread has wanted it since */
#define DSM_CSM_DROPPING 0x04u	/* the home was asked to tell us no more; not fetched meanwhile */
#define DSM_CSM_WRITER 0x08u	/* the fetch under way is for a thread that writes */
#define DSM_CSM_SOLE 0x10u	/* the home said that nobody else has a copy; hlrc, at the home: of this version */
#define DSM_CSM_STALE 0x20u	/* UPG: a notice was applied: not readable */
/*
 * Another node wants it: EX and HX end. RD, WR, WRS, INV: it was given back, and the home has not said so. HOME, HOMEW,
 * with metadata=rdma: the word still names who had the only copy.
 */
#define DSM_CSM_BREAK 0x40u
#define DSM_CSM_USED 0x80u	/* home: its own threads have used the page */

/* dsm_page.dir: metadata=rdma; IN also without; and one of predict=on, or of bcast=adaptive, which exclude each other. */
#define DSM_DIR_MIGRATORY 0x8u	/* was read here, then written */
#define DSM_DIR_IN 0x1u		/* this node is in the sharing set, as far as it knows where that is */
#define DSM_DIR_OWNED 0x2u	/* IN: when it came in, another had the only copy: look before fetching; else BUSY: it asks */
#define DSM_DIR_BUSY 0x4u	/* an atomic at the word, or the question where it is, is under way */
#define DSM_CAST_NOT 0x8u	/* the fetch under way wants the bytes themselves, and no multicast */

/**
 * struct dsm_dir - a region with metadata=rdma at this node (dir.h)
 * @word:   by page: its word, if it is managed here; NULL: the region has none. The shell's; changed by
 *          atomics only
 * @own:    registration of @word; rkey 0: this node cannot reach it any more
 * @key:    by node: of its words; rkey 0: not told yet
 * @late:   others used the region before this node came: whoever had its number may be in sharing sets; set by
 *          the shell
 * @ending: the region may go: nothing is changed at other nodes that need not be; set by the shell
 */
struct dsm_dir {
	u64 *word;
	struct dsm_key own;
	struct dsm_key key[DSM_MAX_NODES];
	bool late;
	bool ending;
};

/**
 * struct dsm_ring_out - notices for one node that go into its ring (ring.h)
 * @put:    all that were ever given out to it, from the first on
 * @posted: of these, those under way and before
 * @taken:  of these, it said that it has taken so many
 * @xid:    of the transfer under way, or 0
 * @now:    bitmap of the release slots that wait for what is under way
 * @next:   and for what is behind it
 */
struct dsm_ring_out {
	u64 put;
	u64 posted;
	u64 taken;
	u32 xid;
	u32 now;
	u32 next;
};

/* Pages of one generation that are remembered to be dropped; of more than that the home goes on to tell. */
#define DSM_CSM_IDLE_PAGES 128u

/**
 * struct dsm_csm - notices, and pages that others want
 * @open:    by receiver: notices that this step has for it, or NULL; between steps all are NULL
 * @opened:  bitmap of these
 * @sent:    by receiver: struct dsm_request of the notices that it has not acknowledged, the open one last
 * @inbox:   struct dsm_interval: pages that notices named and no acquire has looked at; each once
 * @breaks:  pages that another node wants, oldest first, linked by dsm_page.next
 * @breaks_end: the last of them, if there is one
 * @breaking: how many in EX are with a flusher
 * @idle:    pages that lost their copy after the last acquire but one, and before
 * @n_idle:  their numbers
 * @out:     by receiver: metadata=rdma
 * @put:     bitmap of those of @out that this step has put something into
 * @seen:    by sender: of its notices in our ring those that were taken
 * @dirs:    there was a region with metadata=rdma
 */
struct dsm_csm {
	struct dsm_msgbuf *open[DSM_MAX_NODES];
	u64 opened;
	struct list_head sent[DSM_MAX_NODES];
	struct list_head inbox;
	struct dsm_page *breaks;
	struct dsm_page *breaks_end;
	u32 breaking;
	struct dsm_page *idle[2][DSM_CSM_IDLE_PAGES];
	u32 n_idle[2];
	struct dsm_ring_out out[DSM_MAX_NODES];
	u64 put;
	u64 seen[DSM_MAX_NODES];
	bool dirs;
};

#endif
