/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * bcast=adaptive: pages that several nodes read are multicast by their home. A multicast moves bytes and decides
 * nothing: it may be lost, repeated, late or forged, and is used only when the home has said over its connection
 * which one, and what its bytes are. Never sends, and never reads a clock.
 */
#ifndef DSM_CORE_BCAST_H
#define DSM_CORE_BCAST_H

#include "page.h"

/* A page's nodes that make it widely read: in the present interval, and above this in the last one (seed 000, 2.3.6). */
#ifndef DSM_BCAST_MANY
#define DSM_BCAST_MANY 2u
#endif

/* Pages whose readers a home remembers; those of others are counted from the start. */
#ifndef DSM_BCAST_HEAT
#define DSM_BCAST_HEAT 1024u
#endif

/* Pages that wait for a multicast at a time; of others the bytes are asked for by themselves. */
#define DSM_BCAST_WAITS 8u

/* A multicast is received in parts that begin and end at multiples of this. */
#define DSM_CAST_UNIT (DSM_PAGE_BYTES >= 64u ? DSM_PAGE_BYTES / 64u : 1u)

#define DSM_CAST_MAGIC 0x3143534du	/* "MSC1" */

/*
 * A part of a multicast, in one datagram: @len bytes of the page follow. @number counts the sender's
 * multicasts, from 1.
 */
struct dsm_wire_cast {
	__le32 magic;
	__le16 version;			/* DSM_WIRE_VERSION */
	__le16 src;
	__le64 cluster;
	__le32 region;
	__le32 idx;
	__le64 ver;
	__le32 number;
	__le16 off;
	__le16 len;
};
static_assert(sizeof(struct dsm_wire_cast) == 40);

/**
 * struct dsm_heat - who reads a page that is homed here
 * @region:   region id; 0: not in use
 * @idx:      page index
 * @interval: of this node, as of the last request
 * @ver:      the page's version then
 * @cur:      bitmap: nodes that asked in that interval, for that version
 * @prev:     bitmap: nodes that asked in the last interval before, in which anybody did
 * @queued:   bitmap: nodes whose requests wait
 * @number:   of its last multicast; 0: none
 * @cast_ver: version that it had
 * @at:       when that was
 * @key:      secret point of its sum
 * @sum:      its sum
 */
struct dsm_heat {
	u32 region;
	u32 idx;
	u64 interval;
	u64 ver;
	u64 cur;
	u64 prev;
	u64 queued;
	u32 number;
	u64 cast_ver;
	u64 at;
	u64 key;
	u64 sum;
};

/**
 * struct dsm_hint - a multicast that was received, or is being received
 * @region:  region id; 0: none
 * @idx:     page index
 * @ver:     as the datagrams say
 * @number:  likewise
 * @src:     likewise
 * @awaited: a page waits for just this one
 * @parts:   bitmap: units received
 * @bytes:   DSM_PAGE_BYTES; the shell's
 */
struct dsm_hint {
	u32 region;
	u32 idx;
	u64 ver;
	u32 number;
	u16 src;
	bool awaited;
	u64 parts;
	u8 *bytes;
};

/**
 * struct dsm_cast_wait - a page that waits for a multicast
 * @page:  in FET; NULL: not in use
 * @hint:  where it arrives
 * @key:   as the home told
 * @sum:   likewise
 * @until: then the bytes are asked for by themselves
 */
struct dsm_cast_wait {
	struct dsm_page *page;
	struct dsm_hint *hint;
	u64 key;
	u64 sum;
	u64 until;
};

/**
 * struct dsm_bcast - what a node keeps for all regions with bcast=adaptive
 * @cluster:  cluster id
 * @wait_ns:  a multicast is under way for so long; who waits for one waits so long
 * @secret:   state of the keys; random at first
 * @number:   of the last multicast made here
 * @interval: releases of this node, those that had nothing to release too
 * @hints:    length of @hint; 0: nothing is received
 * @hint:     by page, direct mapped
 * @heat:     DSM_BCAST_HEAT, by page, direct mapped
 * @wait:     pages that wait
 *
 * The shell's memory, made with the first such region.
 */
struct dsm_bcast {
	u64 cluster;
	u64 wait_ns;
	u64 secret;
	u32 number;
	u64 interval;
	u32 hints;
	struct dsm_hint *hint;
	struct dsm_heat *heat;
	struct dsm_cast_wait wait[DSM_BCAST_WAITS];
};

/* From now on there are such regions; NULL: none any more. */
void dsm_bcast_set(struct dsm_engine *e, struct dsm_bcast *b);

static inline bool dsm_page_is_bcast(const struct dsm_page *p)
{
	return p->space->policy.bcast == DSM_BCAST_ADAPTIVE;
}

/* A new interval begins: seed 000 has one at each release. */
static inline void dsm_bcast_released(struct dsm_engine *e)
{
	if (e->bcast)
		e->bcast->interval++;
}

/* ---- at the home ---- */

/* A request of @node for the page has to wait; its answer follows by dsm_bcast_serve(). */
void dsm_bcast_queued(struct dsm_engine *e, const struct dsm_page *p, u16 node);
/* It waits no more, whatever its answer is. */
void dsm_bcast_unqueued(struct dsm_engine *e, const struct dsm_page *p, u16 node);
/* A request for the page, which has bytes: true: answered, its bytes are or were multicast. */
bool dsm_bcast_serve(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to,
		     struct dsm_actions *acts);

/* ---- at who asks ---- */

/* A fetch of the page has ended. The mark is another's in other regions. */
static inline void dsm_bcast_ended(struct dsm_page *p)
{
	if (dsm_page_is_bcast(p))
		p->dir &= ~DSM_CAST_NOT;
}

/* What a fetch of the page says: may it be answered by a multicast, and which one is here? */
bool dsm_bcast_takes(const struct dsm_engine *e, const struct dsm_page *p);
u32 dsm_bcast_have(const struct dsm_engine *e, const struct dsm_page *p);
/* A home's answer with status CAST: its end, checked, is at @r. */
int dsm_bcast_on_told(struct dsm_engine *e, struct dsm_page *p, u64 ver, struct dsm_reader *r,
		      struct dsm_actions *acts);
/* A datagram: -EPROTO malformed; -ESRCH of no concern to this node. */
int dsm_bcast_on_datagram(struct dsm_engine *e, const u8 *data, u32 len, struct dsm_actions *acts);
/* Pages that have waited until now wait no longer. */
void dsm_bcast_expire(struct dsm_engine *e, struct dsm_actions *acts);
/* Its fetch is answered, but for a multicast that is under way. */
bool dsm_bcast_awaits(const struct dsm_engine *e, const struct dsm_page *p);
/* The page's fetch ends without an answer. */
void dsm_bcast_forget(struct dsm_engine *e, const struct dsm_page *p);

#endif
