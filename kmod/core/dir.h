/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Who has copies of the pages of a region with metadata=rdma. For each page its manager keeps one word, which every
 * node, the home and the manager too, changes by atomics of the device and by nothing else. No processor but the
 * one that wants something has a part in it.
 */
#ifndef DSM_CORE_DIR_H
#define DSM_CORE_DIR_H

#include "page.h"

/*
 * The word: bits 0 to 47: the nodes that may have a copy, the home too once its threads have used the page; each
 * node changes its own bit only, by adding or taking away. Bits 48 to 59: node that has the only copy, plus one, or
 * 0; it comes there by an exchange of the whole word. That node takes it away if it is not to be, else the home when
 * it has the bytes.
 */
#define DSM_DIR_NODES 48u
#define DSM_DIR_OWNER_SHIFT 48
#define DSM_DIR_OWNER_MASK 0xfffull

/* Pages of a region at most: a manager's words are one registration. */
#define DSM_DIR_PAGES 262144u

/* One step at most: a page of an acknowledgement or of a flusher's batch each. */
#ifndef DSM_STEP_DIR
#define DSM_STEP_DIR 344u
#endif

/* Pages that one acquire leaves. */
#define DSM_DIR_LEAVES 8u

static inline u64 dsm_dir_set_of(u64 word)
{
	return word & ((1ull << DSM_DIR_NODES) - 1);
}

/* DSM_NO_NODE: nobody. */
static inline u16 dsm_dir_owner_of(u64 word)
{
	u64 owner = word >> DSM_DIR_OWNER_SHIFT & DSM_DIR_OWNER_MASK;

	return owner && owner <= DSM_MAX_NODES ? owner - 1 : DSM_NO_NODE;
}

/* The home may not use its page before it is in the set (dsm_dir_enter()). */
static inline bool dsm_dir_bars(const struct dsm_page *p)
{
	return dsm_page_has_word(p) && !(p->dir & DSM_DIR_IN);
}

/* Is an atomic of this page under way, or the question where its word is? */
static inline bool dsm_dir_busy(const struct dsm_page *p)
{
	return dsm_page_has_word(p) && p->dir & DSM_DIR_BUSY;
}

/* Can the page's word be reached? */
bool dsm_dir_is_there(const struct dsm_engine *e, const struct dsm_page *p);
/*
 * Get into the set: the home before it uses its page, in HOME or HOMEW, others before they fetch it, in FET; also to
 * look again who has the only copy. False: it cannot.
 */
bool dsm_dir_enter(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* Leave it: a page in INV. False: not now. */
bool dsm_dir_leave(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* A copy in RD, or a home's page in HOME, is to be the only one. False: it cannot be. */
bool dsm_dir_upgrade(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* What this node alone had, and is home of, others may have. False: nothing is to be waited for. */
bool dsm_dir_unown(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* At the home: the word is to name no more who has given the only copy back; then dsm_csm_back_done(). */
void dsm_dir_given_back(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
/* The home has version @ver of @p, UNACKED until those who have copies are told of it. */
void dsm_dir_tell(struct dsm_engine *e, struct dsm_page *p, u64 ver, struct dsm_actions *acts);

/* A transfer of kind DIR is back; it stays the shell's. */
void dsm_dir_on_xfer(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts);
int dsm_dir_on_where(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts);
int dsm_dir_on_here(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		    struct dsm_reader *r, struct dsm_actions *acts);
/* A node is lost: its words are; then, page by page, who asked it where they are. */
void dsm_dir_peer_lost(struct dsm_engine *e, u16 node);
void dsm_dir_page_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node, struct dsm_actions *acts);

#endif
