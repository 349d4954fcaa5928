// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/* Invariants of pages with consistency=cashmere, and of homes that move, looked at from outside the engines. */
#include "model.h"

/* Bytes that may be read, or will be given to others as a diff. */
static bool has_copy(const struct node *n, u32 p)
{
	const struct dsm_page *page = &n->page[p];

	if (n->dead || !n->exists[p] || page->home == node_id(n))
		return false;
	return page->state == DSM_PAGE_RD || page->state == DSM_PAGE_WR || page->state == DSM_PAGE_WRS ||
	       page->state == DSM_PAGE_WRF || page->state == DSM_PAGE_UPG || page->state == DSM_PAGE_EX ||
	       page->flags & DSM_PF_UNACKED;
}

static bool is_home(const struct node *h, u32 p)
{
	return !h->dead && h->exists[p] && h->page[p].home == node_id(h) && h->page[p].state != DSM_PAGE_FREE;
}

/* Where nodes may be wrong about it: looked for. None while it moves. */
static const struct dsm_page *home_of(const struct node *n, u32 p)
{
	const struct node *h = &w.node[n->page[p].home];
	u32 i;

	for (i = 0; w.l->flags & (LITMUS_MIGRATE | LITMUS_MOVES | LITMUS_AT_BARRIER) && i < w.l->nodes; i++)
		if (is_home(&w.node[i], p))
			h = &w.node[i];
	if (h->dead || !h->exists[p] || h->page[p].home != node_id(h) || h->page[p].state == DSM_PAGE_LOST)
		return NULL;
	return &h->page[p];
}

/* I49: what a home has lost was the only copy; who is home and not in the set keeps the word. */
static void check_lost(const struct node *n, u32 p)
{
	u16 at = n->page[p].home;
	const struct node *h = &w.node[at];

	if (is_home(n, p) && !(n->page[p].dir & DSM_DIR_IN) && dsm_page_manager(&n->space, n->page[p].idx) != node_id(n))
		fail("I49: %c is home of p%u, is not in its set and has not its word", 'A' + node_id(n), p);
	if (has_copy(n, p) && is_home(h, p) && h->page[p].state == DSM_PAGE_LOST && !(n->lost & 1u << at))
		fail("I49: p%u is lost at %c, and %c has it in %s", p, 'A' + at, 'A' + node_id(n), page_state_name(n->page[p].state));
}

/* Or takes one by itself. */
static bool uses(const struct node *n, u32 p)
{
	const struct dsm_page *page = &n->page[p];

	return has_copy(n, p) || (page->flags & DSM_PF_READ && dsm_page_fetching(page) && !(page->flags & DSM_PF_DISCARD) &&
				  !w.node[page->home].dead && !(n->lost & 1u << page->home));
}

/* The same where a word says it: I40: who has a copy is in the set; I42: who has the only one is, and nobody else uses any. */
static void check_word(const struct node *n, u32 p)
{
	const struct dsm_page *page = &n->page[p];
	u16 manager = dsm_page_manager(&n->space, page->idx);
	const char name = 'A' + node_id(n);
	const struct dsm_page *home;
	u64 word;
	u32 i;

	check_lost(n, p);
	if (w.node[manager].dead || n->lost & 1u << manager || (!uses(n, p) && !(page->dir & DSM_DIR_IN)))
		return;
	word = atomics_dir_word(manager, page->idx);
	if (!(word & 1ull << node_id(n)) && !(page->csm & DSM_CSM_DROPPING))
		fail("I40: %c has p%u in %s and is not in its set %llx", name, p, page_state_name(page->state),
		     (unsigned long long)word);
	if (page->state != DSM_PAGE_EX && page->state != DSM_PAGE_HX)
		return;
	if (dsm_dir_owner_of(word) != node_id(n))
		fail("I42: p%u is exclusive at %c, and its word is %llx", p, name, (unsigned long long)word);
	for (i = 0; i < w.l->nodes; i++)
		if (&w.node[i] != n && uses(&w.node[i], p))
			fail("I42: p%u is exclusive at %c, and %c has it", p, name, 'A' + i);
	home = page->state == DSM_PAGE_EX ? home_of(n, p) : NULL;
	if (home && home->dir & DSM_DIR_IN && home->state != DSM_PAGE_HB && home->state != DSM_PAGE_LOST)
		fail("I42: p%u is exclusive at %c, and its home uses it in %s", p, name, page_state_name(home->state));
}

/* I40: who has a copy is known to its home. I41, I42: exclusive copies are that. */
static void check_copy(const struct node *n, u32 p)
{
	const struct dsm_page *page = &n->page[p], *home = home_of(n, p);
	const char name = 'A' + node_id(n);

	/* Of a node that its home has lost, or will lose, nothing is known there. */
	if (!home || !uses(n, p) || is_cut(n, page->home))
		return;
	if (page->flags & DSM_PF_READ && dsm_page_fetching(page) && home->ver < page->need)
		fail("I40: %c reads p%u for version %llu, its home has %llu", name, p, (unsigned long long)page->need,
		     (unsigned long long)home->ver);
	if (!(home->sharers & 1ull << node_id(n)) && !(n->lost & 1u << page->home))
		fail("I40: the home of p%u does not know of the copy of %c in %s", p, name, page_state_name(page->state));
	if (home->state == DSM_PAGE_HX)
		fail("I41: p%u is exclusive at its home, and %c has it in %s", p, name, page_state_name(page->state));
	if ((home->state == DSM_PAGE_HO || home->state == DSM_PAGE_HB) && home->sharers != 1ull << node_id(n))
		fail("I42: p%u is exclusive elsewhere, and %c has it in %s", p, name, page_state_name(page->state));
	if (page->state == DSM_PAGE_EX && !(n->lost & 1u << page->home) &&
	    ((home->state != DSM_PAGE_HO && home->state != DSM_PAGE_HB) || page->ver != home->ver))
		fail("I42: p%u is exclusive at %c, and at home in %s", p, name, page_state_name(home->state));
}

/* I46: a page has one home, whether it may move or not. */
void check_homes(void)
{
	u32 i, p;

	for (p = 0; p < MAX_PAGES; p++) {
		u32 homes = 0;

		for (i = 0; i < w.l->nodes && !page_is_sc(p); i++) {
			if (!is_home(&w.node[i], p))
				continue;
			homes++;
			if (w.o.home_at[p] && w.o.home_at[p] != i + 1)
				reach(REACH_MOVE);
			w.o.home_at[p] = i + 1;
		}
		if (homes > 1)
			fail("I46: p%u has %u homes", p, homes);
	}
}

void check_csm_step(void)
{
	u32 i, p;

	for (i = 0; i < w.l->nodes; i++) {
		const struct node *n = &w.node[i];

		if (n->dead)
			continue;
		/* I43: notices leave with the step that has them. */
		if (n->e.csm.opened)
			fail("I43: notices of %c stay behind", 'A' + i);
		for (p = 0; p < MAX_PAGES; p++) {
			const struct dsm_page *page = &n->page[p];

			if (!n->exists[p] || page_is_sc(p))
				continue;
			if (dsm_page_has_word(page))
				check_word(n, p);
			else
				check_copy(n, p);
			if (page->home == i && page->sharers & 1ull << i)
				fail("I40: %c is told by itself", 'A' + i);
			if (page->home == i && page->state == DSM_PAGE_HX && page->sharers)
				fail("I41: p%u is exclusive at its home, and shared", p);
			if (page->csm & DSM_CSM_DROPPING && page->state != DSM_PAGE_INV)
				fail("I45: p%u at %c is in %s while it is dropped", p, 'A' + i, page_state_name(page->state));
		}
	}
}

/* I26, when nothing can happen any more. */
void check_csm_end(struct node *n)
{
	u32 p, i;

	for (p = 0; p < MAX_PAGES; p++) {
		const struct dsm_page *page = &n->page[p];
		bool asks = page->state == DSM_PAGE_UPG || page->state == DSM_PAGE_HB;

		if (n->exists[p] && dsm_dir_busy(page))
			fail("I26: an atomic of p%u at %c never comes back", p, 'A' + node_id(n));
		if (n->exists[p] && ((asks && !w.loss) || page->csm & (DSM_CSM_DROPPING | DSM_CSM_BREAK)))
			fail("I26: p%u at %c is left in %s, %x", p, 'A' + node_id(n), page_state_name(page->state), page->csm);
	}
	for (i = 0; i < w.l->nodes; i++)
		if (n->e.csm.out[i].xid || n->e.csm.out[i].now || n->e.csm.out[i].next || n->e.csm.put)
			fail("I26: notices of %c for %c are never there", 'A' + node_id(n), 'A' + i);
	for (i = 0; i < w.l->nodes; i++)
		if (!list_empty(&n->e.csm.sent[i]))
			fail("I26: %c never acknowledges a notice of %c", 'A' + i, 'A' + node_id(n));
	if (n->e.csm.breaks || n->e.csm.breaking)
		fail("I26: a page of %c is wanted for ever", 'A' + node_id(n));
}

u32 check_csm_requests(const struct node *n)
{
	u32 i, found = 0;

	for (i = 0; i < w.l->nodes; i++)
		found += list_length(&n->e.csm.sent[i]);
	return found;
}
