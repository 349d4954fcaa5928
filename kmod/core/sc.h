/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Pages of regions with consistency=sc: one writer or many readers, whoever has a copy gives it up
 * before another one writes. sc.c is the node that uses a page, sc_home.c its home, which uses it
 * in the same way. Never knows of releases, notices or twins.
 */
#ifndef DSM_CORE_SC_H
#define DSM_CORE_SC_H

#include "page.h"

/* dsm_page.flags in regions with consistency=sc. */
#define DSM_SCF_FRESH 0x01u	/* granted, and not used by any thread yet */
#define DSM_SCF_EXTENDED 0x02u	/* its hold was extended already */
#define DSM_SCF_RECALLED 0x04u	/* to be given up: a request in dsm_engine.sc_recalls, or with the shell */
#define DSM_SCF_LOWER 0x08u	/* that has begun: what may not stay is no right any more */
#define DSM_SCF_KEEP 0x10u	/* RECALLED: the right to read stays */
#define DSM_SCF_REFUSED 0x20u	/* the owner could not give it up: the next thread hears of it */
#define DSM_SCF_OWNED 0x40u	/* home: who is in dsm_sc.set may write */
#define DSM_SCF_BUSY 0x80u	/* home: a request is being served */
#define DSM_SCF_WRITE 0x100u	/* home: it is one to write */
#define DSM_SCF_GRANTED 0x200u	/* home: it is granted, and not yet taken */
#define DSM_SCF_QUEUED 0x400u	/* home: it had to wait for its turn */

/* ---- for page.c: what dsm_page_fault(), _right(), _busy(), _peer_lost() are for such a page ---- */
int dsm_sc_fault(struct dsm_engine *e, struct dsm_page *p, bool write, struct dsm_actions *acts);
enum dsm_page_right dsm_sc_right(const struct dsm_page *p);
bool dsm_sc_busy(const struct dsm_engine *e, const struct dsm_page *p);
void dsm_sc_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node, struct dsm_actions *acts);

/* ---- for the shell ---- */
/* The right is about to be used by a thread: its hold begins. */
void dsm_sc_used(struct dsm_engine *e, struct dsm_page *p);
/*
 * A page to be given up now: its right is what may stay; take the rest out of the page tables, then call
 * dsm_sc_lowered(). NULL: none, and *@next_ns says when to ask again (0: when acts->recall says so).
 */
struct dsm_request *dsm_sc_take(struct dsm_engine *e, struct dsm_page **p, u64 *next_ns);
void dsm_sc_lowered(struct dsm_engine *e, struct dsm_page *p, struct dsm_request *q, bool pinned,
		    struct dsm_actions *acts);
static inline bool dsm_sc_keeps(const struct dsm_page *p)
{
	return p->flags & DSM_SCF_KEEP;
}

/* Give what a page, or (0: all) a region, has of requests to the pools. */
void dsm_sc_forget_page(struct dsm_engine *e, struct dsm_page *p);
void dsm_sc_forget(struct dsm_engine *e, u32 region);

/* ---- messages (called by the dispatcher) ---- */
int dsm_sc_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		      struct dsm_reader *r, struct dsm_actions *acts);
int dsm_sc_home_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			   struct dsm_reader *r, struct dsm_actions *acts);

/* ---- between the two ---- */
int dsm_sc_home_ask(struct dsm_engine *e, struct dsm_page *p, u16 from, bool write,
		    struct dsm_actions *acts);
int dsm_sc_home_back(struct dsm_engine *e, struct dsm_page *p, u16 from,
		     const struct dsm_wire_sc *body, const u8 *data, struct dsm_actions *acts);
void dsm_sc_home_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node,
			   struct dsm_actions *acts);
void dsm_sc_recall(struct dsm_engine *e, struct dsm_page *p, bool keep, struct dsm_actions *acts);
void dsm_sc_granted(struct dsm_engine *e, struct dsm_page *p, bool write, u32 held_us,
		    struct dsm_actions *acts);
void dsm_sc_refused(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
void dsm_sc_lost(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
void dsm_sc_send(struct dsm_engine *e, struct dsm_page *p, u16 to, u8 type,
		 const struct dsm_wire_sc *body, struct dsm_actions *acts);

#endif
