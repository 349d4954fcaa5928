// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * home=migrate@barrier: which pages may move, and when (moves.h).
 *
 * A page that another node alone has written for some releases is proposed by its home, with its next report to a
 * barrier of the region. The manager names it to all if all are quiet. Its home marks it UNCLAIMED, and gives it to
 * the proposed node when that one asks; everybody else forgets that the home has ever answered (HOMED). A proposal is only a
 * hint: whoever is home by then decides, and what is lost of proposals comes again. Never moves a page itself.
 */
#include "moves.h"
#include "page.h"

/* At the home, in dsm_page.xid: who wrote the last versions, and how many. */
#define WRITER(xid) ((u16)((xid) >> 16))
#define WRITTEN(xid) ((xid) & 0xffffu)

/* ---- nodes ---- */

/**
 * dsm_moves_quiet() - a report to a barrier leaves
 * @e:    engine
 * @s:    region of the barrier
 * @root: its manager, who gets the report itself
 * @xid:  request id of the report
 *
 * One report at a time: the next one's answer may come first (mutant M115). Diffs under way belong to a release
 * under way. Pages under way do no harm: what a READ takes is at least as new as what was known when it
 * began, and what is told of meanwhile throws it away.
 *
 * Context: engine lock held.
 * Return: 0, or DSM_TICKET_QUIET: until the answer nothing is read or written remotely.
 */
u16 dsm_moves_quiet(struct dsm_engine *e, struct dsm_space *s, u16 root, u32 xid)
{
	if (!dsm_policy_moves_at_barriers(&s->policy) || s->moves.quiet || e->rel_seq != e->rel_done)
		return 0;
	s->moves.quiet = xid;
	s->moves.root = root;
	return DSM_TICKET_QUIET;
}

/* What is under way may be an answer of before. */
static void forget_home(struct dsm_page *p)
{
	p->flags &= ~DSM_PF_HOMED;
	if (dsm_page_fetching(p))
		p->flags |= DSM_PF_LOOSE;
}

/* It would be flushed without a fault, and a page that is never faulted in is never asked for. */
static void expect(struct dsm_page *p)
{
	p->csm |= DSM_CSM_SOLE;
	if (!(p->flags & DSM_PF_FLUSH))
		p->flags &= ~(DSM_PF_KEPT | DSM_PF_STREAK);
}

static void may_move(struct dsm_engine *e, struct dsm_page *p, u16 to)
{
	if (p->home == e->self) {
		if (p->state == DSM_PAGE_HOME && WRITER(p->xid) == to && WRITTEN(p->xid))
			p->flags |= DSM_PF_UNCLAIMED;
		return;
	}
	forget_home(p);
	if (to == e->self && (p->state == DSM_PAGE_RD || p->state == DSM_PAGE_WR))
		expect(p);
}

/**
 * dsm_moves_depart() - a report is answered
 * @e:    engine
 * @s:    region
 * @from: who answers; nobody but the manager can
 * @xid:  request id of the report
 * @at:   pages that may move
 * @n:    their number; 0 also if the barrier failed
 *
 * Nobody reads or writes these pages remotely while they may: that is known here before this node is not quiet
 * any more (mutant M117).
 *
 * Context: engine lock held.
 */
void dsm_moves_depart(struct dsm_engine *e, struct dsm_space *s, u16 from, u32 xid, const struct dsm_wire_move *at,
		      u32 n)
{
	struct dsm_page *p;
	u32 i;

	/* Not quiet, or its manager was lost, and all pages are as if they were named. */
	if (!s->moves.quiet || s->moves.quiet != xid || s->moves.root != from)
		return;
	for (i = 0; i < n; i++) {
		p = dsm_page_find(e, s->id, le32_to_cpu(at[i].idx));
		if (p)
			may_move(e, p, le16_to_cpu(at[i].to));
	}
	s->moves.quiet = 0;
}

/**
 * dsm_moves_page_lost() - a node is lost: nobody will say which pages may move
 * @p:    page
 * @node: the lost node
 *
 * If it was the manager that this node has promised to be quiet: it may have answered others.
 *
 * Context: engine lock held.
 */
void dsm_moves_page_lost(struct dsm_page *p, u16 node)
{
	if (p->space->moves.quiet && p->space->moves.root == node)
		forget_home(p);
}

/**
 * dsm_moves_peer_lost() - a node is lost, and all pages have been told
 * @e:    engine
 * @node: the lost node
 *
 * Context: engine lock held.
 */
void dsm_moves_peer_lost(struct dsm_engine *e, u16 node)
{
	struct dsm_space *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(e->spaces); i++)
		hlist_for_each_entry(s, &e->spaces[i], link)
			if (s->moves.root == node)
				s->moves.quiet = 0;
}

/**
 * dsm_moves_forget() - a page's home is about to give pages away
 * @p:    page
 * @home: node
 *
 * What is written remotely is so by releases that are open: who calls this waits for these, and tells @home then
 * (mutants M122, M134).
 *
 * Context: engine lock held.
 */
void dsm_moves_forget(struct dsm_page *p, u16 home)
{
	if (p->home == home && !dsm_page_is_sc(p))
		forget_home(p);
}

/**
 * dsm_moves_settled() - does a page stay where it is until what is begun now has ended?
 * @p: page homed elsewhere, in a region with first touch
 *
 * Context: engine lock held, in the step that makes the page FET or WRF, or while a release has it.
 * Return: true: it may be read and written at its home, and diffs of it sent with those of others.
 */
bool dsm_moves_settled(const struct dsm_page *p)
{
	return p->flags & DSM_PF_HOMED && !p->space->moves.quiet;
}

/**
 * dsm_moves_alone() - may a diff come back?
 * @p: page homed elsewhere that a release has
 *
 * Context: engine lock held.
 * Return: true: no other page's diff is to be in the same message (mutant M120).
 */
bool dsm_moves_alone(const struct dsm_page *p)
{
	return dsm_policy_settles(&p->space->policy) && !dsm_moves_settled(p);
}

/**
 * dsm_moves_loose() - is what the home says about itself in doubt?
 * @p: page homed here
 *
 * Others, who have departed already, know that the page may move; this node does not yet, or waits for who shall
 * have it (mutant M118).
 *
 * Context: engine lock held.
 * Return: true: who hears the answer shall not take the page for settled.
 */
bool dsm_moves_loose(const struct dsm_page *p)
{
	return dsm_policy_settles(&p->space->policy) &&
	       (p->space->moves.quiet || p->space->moves.unclaiming || p->flags & DSM_PF_UNCLAIMED);
}

/* ---- homes ---- */

/**
 * dsm_moves_wrote() - a page at its home has a new version, or will have
 * @e:    engine
 * @p:    page homed here
 * @from: who wrote it
 *
 * Context: engine lock held.
 */
void dsm_moves_wrote(struct dsm_engine *e, struct dsm_page *p, u16 from)
{
	struct dsm_moves *m = &p->space->moves;
	u32 n;

	if (!dsm_policy_moves_at_barriers(&p->space->policy))
		return;
	if (from == e->self) {
		p->xid = 0;
		p->flags &= ~DSM_PF_UNCLAIMED;
		return;
	}
	if (WRITER(p->xid) != from) {
		p->xid = 0;
		p->flags &= ~DSM_PF_UNCLAIMED;
	}
	n = min(WRITTEN(p->xid) + 1, 0xffffu);
	p->xid = (u32)from << 16 | n;
	if (p->flags & DSM_PF_UNCLAIMED || !e->move_after || n % e->move_after || m->n == DSM_MOVES_TOLD)
		return;
	if (!dsm_page_may_home(p->space, from))
		return;
	m->at[m->n++] = (struct dsm_wire_move){ .idx = cpu_to_le32(p->idx), .to = cpu_to_le16(from) };
	dsm_count(e, p->space, migration_attempts);
}

/**
 * dsm_moves_to() - who may have the page
 * @p:    page homed here
 * @node: node
 *
 * Context: engine lock held.
 * Return: true if @node becomes home when it asks to write.
 */
bool dsm_moves_to(const struct dsm_page *p, u16 node)
{
	return dsm_policy_moves_at_barriers(&p->space->policy) && p->flags & DSM_PF_UNCLAIMED &&
	       p->state == DSM_PAGE_HOME && WRITTEN(p->xid) && WRITER(p->xid) == node;
}

/* ---- messages, managers ---- */

/**
 * dsm_moves_put() - name all pages that are proposed
 * @m: message with room for them
 * @s: region
 *
 * Context: engine lock held.
 */
void dsm_moves_put(struct dsm_msgbuf *m, const struct dsm_space *s)
{
	dsm_wire_put(m, s->moves.at, s->moves.n * sizeof(s->moves.at[0]));
}

/**
 * dsm_moves_hear() - another node proposes
 * @s: region
 * @r: where its proposals begin, checked
 * @n: their number; those that are too many are forgotten
 *
 * Context: engine lock held, at the manager of a barrier.
 */
void dsm_moves_hear(struct dsm_space *s, struct dsm_reader *r, u32 n)
{
	struct dsm_wire_move move;

	while (n--) {
		dsm_reader_take(r, &move, sizeof(move));
		if (s->moves.n < DSM_MOVES_TOLD)
			s->moves.at[s->moves.n++] = move;
	}
}
