/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * How a copy of a page comes to this node: by message, by READ, ahead of its use, or not at all
 * because it is known to be zero. Never decides who may use it.
 */
#ifndef DSM_CORE_FETCH_H
#define DSM_CORE_FETCH_H

#include "dir.h"

/*
 * Start a fetch of a page in INV or WRS. DSM_PAGE_NONE: wait; DSM_PAGE_READABLE: no fetch was
 * needed; -EHOSTDOWN.
 */
int dsm_fetch_start(struct dsm_engine *e, struct dsm_page *p, bool write, struct dsm_actions *acts);

/*
 * Neither may a flush change the twin under a fetch, nor may old home bytes look like changes, nor a
 * home get a fetch before what it was told earlier.
 */
static inline bool dsm_fetch_must_wait(const struct dsm_page *p)
{
	return p->flags & (DSM_PF_UNACKED | DSM_PF_FLUSH | DSM_PF_TODO) ||
	       p->csm & (DSM_CSM_DROPPING | DSM_CSM_BREAK) || dsm_dir_busy(p);
}

/* Pages that one step of dsm_fetch_ahead() takes at most. */
#define DSM_FETCH_AHEAD_MAX DSM_XFER_SEGS
/* Start fetching @n pages, ascending, frames present, that nobody waits for; what is here or on its way already is left alone. */
void dsm_fetch_ahead(struct dsm_engine *e, struct dsm_page **pages, u32 n, struct dsm_actions *acts);

/* For dir.c: a page in FET is in the sharing set, and @owner has the only copy; or @status says why not. */
void dsm_fetch_entered(struct dsm_engine *e, struct dsm_page *p, int status, u16 owner,
		       struct dsm_actions *acts);
/* For bcast.c: the bytes have come by multicast, or are to be asked for by themselves. */
void dsm_fetch_cast(struct dsm_engine *e, struct dsm_page *p, u64 ver, const u8 *bytes,
		    struct dsm_actions *acts);
void dsm_fetch_plain(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* Step of a message PAGE (called by the dispatcher). */
int dsm_fetch_on_reply(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		       struct dsm_reader *r, struct dsm_actions *acts);
/* Does a checked message tell of the sender's registration of the chunk with page @idx? */
int dsm_fetch_expand(const u8 *request, u32 len, u16 from, u32 brief, u8 *msg);
bool dsm_fetch_key(const u8 *msg, u32 len, u32 *idx, struct dsm_key *key);
/* Step of a transfer that is back; the shell keeps @x. */
void dsm_fetch_on_read(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts);
/* The home is lost: a fetch of @p under way will not be answered. */
void dsm_fetch_peer_lost(struct dsm_engine *e, struct dsm_page *p);

/* A home that has settled its part of a region that ends is asked for nothing any more that no thread waits for. */
static inline bool dsm_fetch_is_over(const struct dsm_page *p)
{
	return p->space->closing || p->space->dir.ending;
}

/* A page that was fetched ahead is used, or lost before that. */
static inline void dsm_fetch_used(struct dsm_engine *e, struct dsm_page *p)
{
	if (p->flags & DSM_PF_AHEAD) {
		p->flags &= ~DSM_PF_AHEAD;
		dsm_count(e, p->space, ahead_hits);
	}
}

static inline void dsm_fetch_wasted(struct dsm_engine *e, struct dsm_page *p)
{
	if (p->flags & DSM_PF_AHEAD) {
		p->flags &= ~DSM_PF_AHEAD;
		dsm_count(e, p->space, ahead_wasted);
	}
}

#endif
