// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The part of the shell that removes a region (kmod/region.c): all programs have ended, but what they asked for is still
 * under way, and what they left to devices is still pinned. Each node at a time of its own, in the steps that recalls can
 * get between: say that it goes, take it out of the engine, wait for who has its pages and free them.
 */
#include "model.h"
#include "thread.h"

static bool all_have_ended(void)
{
	u32 i;

	for (i = 0; i < w.l->threads; i++)
		if (w.thread[i].state != TS_DONE)
			return false;
	return true;
}

bool goes_enabled(const struct node *n)
{
	if (!(w.l->flags & LITMUS_GOES) || n->goes == GS_FREED || !all_have_ended())
		return false;
	return n->goes != GS_GONE || n->recaller.state == RS_IDLE;
}

void goes_step(struct node *n)
{
	u32 p;

	n->goes++;
	say("%c: the region %s", 'A' + node_id(n),
	    n->goes == GS_CLOSING ? "goes" : n->goes == GS_GONE ? "is out of the engine" : "is freed");
	if (n->goes == GS_GONE) {
		dsm_space_del(&n->e, &n->space);
		dsm_engine_forget(&n->e, n->space.id);
	}
	if (n->goes == GS_CLOSING)
		n->space.closing = true;
	for (p = 0; p < MAX_PAGES; p++) {
		if (n->goes == GS_CLOSING)
			zap(n, p);
		if (n->goes == GS_FREED && n->exists[p])
			dsm_sc_forget_page(&n->e, &n->page[p]);
		n->exists[p] &= n->goes != GS_FREED;
	}
}

/* Nobody waits for what comes now. */
bool goes_too_late(const struct node *n, const struct dsm_msgbuf *m)
{
	struct dsm_wire_hdr hdr;

	memcpy(&hdr, m->data, sizeof(hdr));
	return n->goes >= GS_GONE && le32_to_cpu(hdr.region) == n->space.id;
}

/* I50: nothing that is kept names a page of a region that is gone. */
void goes_check(const struct node *n)
{
	if (n->goes >= GS_GONE && !list_empty(&n->e.sc_recalls))
		fail("I50: %c keeps a recall of a region that is gone", 'A' + node_id(n));
}
