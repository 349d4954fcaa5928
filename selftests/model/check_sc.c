// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/* Invariants of pages with consistency=sc, looked at from outside the engines. */
#include "model.h"

static u8 mapped(const struct node *n, u32 p)
{
	return max(n->pte[0][p], n->pte[1][p]);
}

/* I22: one writer or many readers, and all readers see the same. */
static void check_mappings(u32 p)
{
	const struct node *reader = NULL;
	u32 i, writers = 0, users = 0;

	for (i = 0; i < w.l->nodes; i++) {
		const struct node *n = &w.node[i];

		if (n->dead || !mapped(n, p) || n->page[p].state == DSM_SC_LOST)
			continue;
		users++;
		writers += mapped(n, p) == DSM_PAGE_WRITABLE;
		if (reader && memcmp(reader->frame[p], n->frame[p], DSM_PAGE_BYTES))
			fail("I22: p%u differs at %c and %c", p, 'A' + node_id(reader), 'A' + i);
		reader = n;
	}
	if (writers && users > 1)
		fail("I22: p%u is mapped at %u nodes, at %u of them to be written", p, users, writers);
}

static void check_rights(const struct node *n, u32 p)
{
	const struct dsm_page *page = &n->page[p];

	if (!(page->flags & DSM_SCF_RECALLED) && mapped(n, p) > dsm_page_right(page))
		fail("I10: p%u at %c is mapped with right %u in %s", p, 'A' + node_id(n), mapped(n, p),
		     page_state_name(page->state));
}

void check_sc_step(void)
{
	u32 i, p;

	for (i = 0; i < w.l->nodes; i++)
		goes_check(&w.node[i]);
	for (p = 0; p < MAX_PAGES; p++) {
		if (!page_is_sc(p))
			continue;
		check_mappings(p);
		for (i = 0; i < w.l->nodes; i++)
			if (!w.node[i].dead && w.node[i].exists[p])
				check_rights(&w.node[i], p);
	}
}

/* I26, when nothing can happen any more. */
void check_sc_end(struct node *n, u32 p)
{
	const struct dsm_page *page = &n->page[p];
	bool asks = page->state == DSM_SC_IS || page->state == DSM_SC_IM || page->state == DSM_SC_SM;

	if (asks || page->flags & (DSM_SCF_RECALLED | DSM_SCF_LOWER | DSM_SCF_BUSY) ||
	    (page->home == node_id(n) && page->sc.queue))
		fail("I26: p%u at %c is left in %s, flags %x", p, 'A' + node_id(n), page_state_name(page->state),
		     page->flags);
}

u32 check_sc_requests(const struct node *n)
{
	const struct dsm_request *q;
	u32 p, found = 0;

	list_for_each_entry(q, &n->e.sc_recalls, cont.link)
		found++;
	for (p = 0; p < MAX_PAGES; p++) {
		if (!n->exists[p] || !dsm_page_is_sc(&n->page[p]) || !n->page[p].sc.queue)
			continue;
		q = n->page[p].sc.queue;
		do {
			found++;
			q = list_entry(q->cont.link.next, struct dsm_request, cont.link);
		} while (q != n->page[p].sc.queue);
	}
	return found;
}
