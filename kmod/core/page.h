/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * One page at this node: faults, notices, diffs at the home. Tables in protocol.md 3.2
 * to 3.4. Never walks page tables; the shell does.
 */
#ifndef DSM_CORE_PAGE_H
#define DSM_CORE_PAGE_H

#include "engine.h"

/* Values equal enum dsm_right of the mm side. */
enum dsm_page_right { DSM_PAGE_NONE, DSM_PAGE_READABLE, DSM_PAGE_WRITABLE };

void dsm_page_init(struct dsm_engine *e, struct dsm_space *s, struct dsm_page *p, u32 idx);

/*
 * A thread wants to read or write. The frame exists. Return: the right that is there now (>=
 * wanted), DSM_PAGE_NONE: a reply or flush is under way, wait for the page's bucket and ask
 * again; -EHOSTDOWN: the home is lost.
 */
int dsm_page_fault(struct dsm_engine *e, struct dsm_page *p, bool write, struct dsm_actions *acts);
enum dsm_page_right dsm_page_right(const struct dsm_page *p);

/* Must a thread that got DSM_PAGE_NONE still wait? */
bool dsm_page_busy(const struct dsm_engine *e, const struct dsm_page *p);

static inline u32 dsm_page_bucket(const struct dsm_page *p)
{
	return hash_64(((u64)p->space->id << 32) ^ p->idx, 6);
}

/* This node is told of a version: what a READ brings that began before may be older (L25, mutants M8, M166). */
static inline void dsm_page_needs(struct dsm_page *p, u64 ver)
{
	if (p->need >= ver)
		return;
	p->need = ver;
	if (p->flags & DSM_PF_READ)
		p->flags |= DSM_PF_DISCARD;
}

/* A notice or "invalidate all" reaches the page; true: the state lost a right, unmap it. */
bool dsm_page_notice(struct dsm_engine *e, struct dsm_page *p, u64 ver);
bool dsm_page_invalidate(struct dsm_engine *e, struct dsm_page *p);

/* Message steps (called by the dispatcher). */
int dsm_page_on_fetch(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		      struct dsm_reader *r, struct dsm_actions *acts);
int dsm_page_on_late_fetch(struct dsm_engine *e, u16 from, const u8 *msg, u32 len,
			   struct dsm_actions *acts);
/* For the shell, when a region goes: true: a fetch that waited here was answered, call again. */
bool dsm_page_end_fetch(struct dsm_engine *e, u32 region, struct dsm_actions *acts);
int dsm_page_on_diff(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts);
int dsm_page_on_diff_ack(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			 struct dsm_reader *r, struct dsm_actions *acts);

void dsm_page_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node,
			struct dsm_actions *acts);

/* ---- shared with fetch.c ---- */

void dsm_page_replay(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
void dsm_page_serve_deferred(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts);
void dsm_page_deferred_peer_lost(struct dsm_engine *e, u16 node);

static inline bool dsm_page_fetching(const struct dsm_page *p)
{
	return p->state == DSM_PAGE_FET || p->state == DSM_PAGE_WRF;
}

/* Only members home pages: a number of theirs is never another node's, so a home that is lost stays lost. */
static inline bool dsm_page_may_home(const struct dsm_space *s, u16 node)
{
	u16 i;

	for (i = 0; i < s->n_members; i++)
		if (s->members[i] == node)
			return true;
	return false;
}

static inline void dsm_page_set_state(struct dsm_page *p, enum dsm_page_state state)
{
	p->space->fetching -= dsm_page_fetching(p);
	p->state = state;
	p->space->fetching += dsm_page_fetching(p);
	/* I9: a twin exists exactly in these states. */
	dsm_assert(!!p->twin ==
		   (state == DSM_PAGE_WR || state == DSM_PAGE_WRS || state == DSM_PAGE_WRF));
}

/*
 * Where an answer goes: node, what it asked for, its request, and where it wants the bytes; so that it may be brief,
 * the registration that it knows and the version that it needs.
 */
struct dsm_asker {
	u16 node;
	u16 owner;		/* metadata=rdma: who had the only copy, or DSM_NO_NODE */
	u8 want;
	bool cast;		/* bcast=adaptive: a multicast will do; it has that of number @have */
	u32 have;
	u32 xid;
	u64 raddr;
	u32 rkey;
	u32 chunk;
	u64 need;
};
/* A fetch has to wait; false: one of this node does already. */
bool dsm_page_defer(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to);
/* Who asked, of a fetch that had to wait. */
struct dsm_asker dsm_page_asker(const struct dsm_request *q);
/* A fetch at the home, or at who is taken for it. */
void dsm_page_serve(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to,
		    struct dsm_actions *acts);
/* A diff of @from is in the frame: a new version, and what its acknowledgement says. */
void dsm_page_count(struct dsm_engine *e, struct dsm_page *p, u16 from, struct dsm_msgbuf *m);

static inline u16 dsm_page_manager(const struct dsm_space *s, u32 idx)
{
	return s->members[dsm_policy_home(&s->policy, s->pages, s->n_members, idx)];
}

static inline bool dsm_page_is_sc(const struct dsm_page *p)
{
	return p->state >= DSM_SC_I;
}

static inline bool dsm_page_is_csm(const struct dsm_page *p)
{
	return p->space->policy.consistency == DSM_CONSISTENCY_CASHMERE;
}

/* metadata=rdma: is who has copies said by a word that all nodes change by atomics (dir.h)? */
static inline bool dsm_page_has_word(const struct dsm_page *p)
{
	return p->space->policy.metadata == DSM_METADATA_RDMA;
}

/* May its home move at all? */
static inline bool dsm_page_may_move(const struct dsm_page *p)
{
	return dsm_policy_may_move(&p->space->policy);
}

/* Does its home move to who writes? */
static inline bool dsm_page_moves(const struct dsm_page *p)
{
	return p->space->policy.home == DSM_HOME_MIGRATE;
}

/* All others' diffs come here. With cashmere nobody else has anything in HX. */
static inline bool dsm_page_is_home(const struct dsm_page *p)
{
	return p->state == DSM_PAGE_HOME || p->state == DSM_PAGE_HOMEW ||
	       (p->state == DSM_PAGE_HX && !dsm_page_is_csm(p));
}

/*
 * With metadata=rdma also while it asks a node that may have given its only copy back already, or whether others have
 * copies.
 */
static inline bool dsm_page_takes_diffs(const struct dsm_engine *e, const struct dsm_page *p)
{
	return dsm_page_is_home(p) || (dsm_page_has_word(p) && p->home == e->self &&
				       (p->state == DSM_PAGE_HB || p->state == DSM_PAGE_UPG ||
					p->state == DSM_PAGE_LOST));
}

static inline void dsm_page_wake(const struct dsm_page *p, struct dsm_actions *acts)
{
	acts->wake_pages |= 1ull << dsm_page_bucket(p);
}

void dsm_page_ack_key(struct dsm_engine *e, const struct dsm_page *p, struct dsm_msgbuf *m);
static inline struct dsm_page *dsm_page_find(struct dsm_engine *e, u32 region, u32 idx)
{
	struct dsm_space *s = dsm_space_find(e, region);

	return s && idx < s->pages ? dsm_env_page_find(s, idx) : NULL;
}

#endif
