/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The home of a page moves: with home=migrate to a node that writes it, with home=migrate@barrier if that may be (moves.h),
 * and to the next node that touches it after pages are to be claimed anew. Never decides who may use a page.
 */
#ifndef DSM_CORE_MOVE_H
#define DSM_CORE_MOVE_H

#include "csm.h"

/* After so many moves in a row a page stays until its home has served another node in place. */
#ifndef DSM_MOVES_MAX
#define DSM_MOVES_MAX 15u
#endif

/* At the home: shall who asks for this become home? */
static inline bool dsm_move_may(const struct dsm_engine *e, const struct dsm_page *p, u16 node, u8 want)
{
	/* UNACKED: its last version is being told of from here. */
	if (p->state != DSM_PAGE_HOME || p->flags & DSM_PF_UNACKED)
		return false;
	/* The word names who gave it back, and only this node knows that it is here. */
	if (dsm_csm_has_back(e, p))
		return false;
	if (dsm_policy_moves_at_barriers(&p->space->policy))
		return want == DSM_WANT_EXCLUSIVE && dsm_moves_to(p, node) && dsm_page_may_home(p->space, node);
	if (p->flags & DSM_PF_UNCLAIMED)
		return (want == DSM_WANT_COPY || want == DSM_WANT_EXCLUSIVE) && dsm_page_may_home(p->space, node);
	return dsm_page_moves(p) && want == DSM_WANT_EXCLUSIVE && p->nacks < DSM_MOVES_MAX &&
	       dsm_page_may_home(p->space, node);
}

/* predict=on: a thread faults on a page that has to be fetched. True: its home is asked for although it only reads. */
bool dsm_move_predict(struct dsm_engine *e, struct dsm_page *p, bool write);
/* The same: a page is written; was the move that brought it foreseen? */
void dsm_move_wrote(struct dsm_engine *e, struct dsm_page *p);
/* It was not, if no thread has written it. */
void dsm_move_wrong(struct dsm_page *p);

/* A page homed here is to be claimed anew. True: what is mapped of it is to be unmapped, so that threads here claim too. */
bool dsm_move_unclaim(struct dsm_engine *e, struct dsm_page *p);

/* The page in HOME goes to @to; @same: its copy has the bytes of this version. */
void dsm_move_give(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to, bool same,
		   struct dsm_actions *acts);
/* It is not homed here: ask whom we take for its home. */
void dsm_move_elsewhere(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to,
			struct dsm_actions *acts);
/* Others may be told of this node as home before it has heard of it itself. */
bool dsm_move_is_coming(const struct dsm_engine *e, const struct dsm_page *p);
/* A PAGE with status MOVED; @r is behind its body. */
int dsm_move_take(struct dsm_engine *e, struct dsm_page *p, u64 ver, struct dsm_reader *r,
		  struct dsm_actions *acts);
/* A DIFF of a page that moved on: its writer gets it back. */
int dsm_move_back(struct dsm_engine *e, const struct dsm_page *p, u16 from,
		  const struct dsm_wire_hdr *hdr, struct dsm_reader *r, struct dsm_actions *acts);
int dsm_move_on_back(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts);

#endif
