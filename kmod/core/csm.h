/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Pages of regions with consistency=cashmere: what differs from hlrc. csm.c has the notices, csm_home.c
 * who has copies, csm_copy.c a node's copies: exclusive ones, and those that it does not use any more. Faults,
 * fetches, twins, diffs and releases are those of page.c, fetch.c and release.c.
 */
#ifndef DSM_CORE_CSM_H
#define DSM_CORE_CSM_H

#include "page.h"

void dsm_csm_init(struct dsm_engine *e);
/* Give back what is kept of a region, 0: of all. */
void dsm_csm_forget(struct dsm_engine *e, u32 region);
/* A node is lost: what it has not acknowledged it need not know any more. */
void dsm_csm_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts);

/* ---- csm.c: notices ---- */
/* @p got version @ver in its current release: tell @sharers. Before dsm_rel_page_done(). */
void dsm_csm_tell(struct dsm_engine *e, struct dsm_page *p, u64 ver, u64 sharers,
		  struct dsm_actions *acts);
/* The notices of this step go out: at the end of a step that may have told. */
void dsm_csm_post(struct dsm_engine *e, struct dsm_actions *acts);
/* An acquire applies the inbox: pages that lost a right, to be unmapped. */
int dsm_csm_apply(struct dsm_engine *e, struct dsm_page **out, u32 max);
int dsm_csm_on_notice(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		      struct dsm_reader *r, struct dsm_actions *acts);
int dsm_csm_on_notice_ack(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			  struct dsm_reader *r, struct dsm_actions *acts);
/* A notice as it came: its page, if that may lose something; into the inbox with it. */
struct dsm_page *dsm_csm_named(struct dsm_engine *e, const struct dsm_wire_notice *notice);
void dsm_csm_heard(struct dsm_engine *e, const struct dsm_wire_notice *notice);

/* ---- csm_home.c ---- */
/* @from fetches: it may have a copy from now on. Before the bytes are read. */
enum dsm_grant dsm_csm_register(struct dsm_engine *e, struct dsm_page *p, u16 from, enum dsm_fetch_want want);
/* A thread of the home, or a node, wants a page in HX or HO. */
void dsm_csm_want(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/*
 * A page that is readable here is mapped without a fault of its own: at its home that is a use, or it could be
 * granted exclusively under the mapping (mutant M99).
 */
static inline void dsm_csm_mapped(const struct dsm_engine *e, struct dsm_page *p)
{
	if (dsm_page_is_csm(p) && p->home == e->self)
		p->csm |= DSM_CSM_USED;
}

/* metadata=rdma: as @owner has the only copy, its bytes are to come home. @p in HOME. */
void dsm_csm_want_from(struct dsm_engine *e, struct dsm_page *p, u16 owner, struct dsm_actions *acts);
/* The home is in the set, and @owner or nobody has the only copy. */
void dsm_csm_entered(struct dsm_engine *e, struct dsm_page *p, u16 owner, struct dsm_actions *acts);
/* It is not, as the word is lost. */
void dsm_csm_not_entered(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);

/* At the home: the node in @p->sharers has given its only copy back, and the word may still name it. */
static inline bool dsm_csm_has_back(const struct dsm_engine *e, const struct dsm_page *p)
{
	return dsm_page_has_word(p) && p->home == e->self && p->csm & DSM_CSM_BREAK && p->sharers;
}

/* It does not any more. */
void dsm_csm_back_done(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* A page in HX is write-protected. */
void dsm_csm_shared(struct dsm_engine *e, struct dsm_page *p, bool pinned, struct dsm_actions *acts);
/* Who may have a copy, as an acknowledgement tells it. */
u64 dsm_csm_sharers(const struct dsm_engine *e, const struct dsm_page *p);
/*
 * At the home, with lazy notices: a version of @p is about to name all who may have a copy. Who is lost has only older ones, and
 * gets no other; so it need not be named again.
 */
static inline void dsm_csm_told(const struct dsm_engine *e, struct dsm_page *p)
{
	if (!dsm_policy_tells(&p->space->policy))
		p->sharers &= e->alive;
}

/* Each fetch that waits for @p is answered in a step of its own. */
int dsm_csm_on_home_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			    struct dsm_reader *r, struct dsm_actions *acts);
void dsm_csm_home_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node,
			    struct dsm_actions *acts);

/* ---- csm_copy.c ---- */
/* The home has answered: it tells this node of the page until dsm_csm_drop(). With metadata=rdma a word said so before. */
static inline void dsm_csm_joined(struct dsm_page *p)
{
	if (dsm_page_is_csm(p) && !dsm_page_has_word(p))
		p->dir |= DSM_DIR_IN;
}

/*
 * May the home's bytes be taken without asking it? With cashmere only while it tells this node of new ones, as nobody else
 * has the page exclusively then either (mutant M165); and who writes asks for more than bytes.
 */
static inline bool dsm_csm_may_read(const struct dsm_page *p)
{
	return !dsm_page_is_csm(p) ||
	       ((p->dir & (DSM_DIR_IN | DSM_DIR_OWNED)) == DSM_DIR_IN && !(p->csm & DSM_CSM_WRITER));
}

/* A thread writes a copy in RD that may be the only one: ask. */
bool dsm_csm_upgrade(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* An exclusive copy came or was granted. */
void dsm_csm_exclusive(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* To the home: there is nothing to give back. */
void dsm_csm_nothing_back(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* A copy lost its right to a notice. */
void dsm_csm_idle(struct dsm_engine *e, struct dsm_page *p);
/* A fetch came to nothing. If nobody asks again, who has this node in its set is told that it need not be. */
static inline void dsm_csm_given_up(struct dsm_engine *e, struct dsm_page *p)
{
	if (dsm_page_is_csm(p) && p->dir & DSM_DIR_IN &&
	    (!dsm_policy_claims(&p->space->policy) || p->flags & DSM_PF_HOMED))
		dsm_csm_idle(e, p);
}

/* Tell homes of copies that are not used any more: at the end of an acquire. */
void dsm_csm_drop(struct dsm_engine *e, struct dsm_actions *acts);
/* For release.c: a page that another node wants, to be write-protected like one that is flushed. */
struct dsm_page *dsm_csm_take(struct dsm_engine *e);
/* Has a flusher such a page, or will have it? Until then it may not be freed. */
static inline bool dsm_csm_is_wanted(const struct dsm_page *p)
{
	return (p->state == DSM_PAGE_EX || p->state == DSM_PAGE_HX) && p->csm & DSM_CSM_BREAK;
}

void dsm_csm_break(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
void dsm_csm_broken(struct dsm_engine *e, struct dsm_page *p, bool pinned, struct dsm_actions *acts);
int dsm_csm_on_copy_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			    struct dsm_reader *r, struct dsm_actions *acts);
/* The page's home is lost. */
void dsm_csm_copy_peer_lost(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);

#endif
