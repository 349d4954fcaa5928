// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/* What leaves an engine: classes of messages (I21), answers about pages that move (L22), pages asked for again (L34). */
#include "model.h"

/*
 * I21: what a handler emits is of a higher class than what it handles, but for these. A request or a message passed on
 * that waits for room is put aside, and an answer ends what its receiver waited for, so none of them keeps a buffer.
 */
static const struct {
	u8 handled;
	u8 emitted;
} also[] = {
	/* Up the tree of a barrier, and down. */
	{ DSM_MSG_BAR_ARRIVE, DSM_MSG_BAR_ARRIVE }, { DSM_MSG_BAR_ASK, DSM_MSG_BAR_ARRIVE },
	{ DSM_MSG_BAR_ABORT, DSM_MSG_BAR_ABORT }, { DSM_MSG_BAR_ABORT, DSM_MSG_BAR_ARRIVE },
	{ DSM_MSG_BAR_DEPART, DSM_MSG_BAR_DEPART },
	/* A loss has made a request void. */
	{ DSM_MSG_LOCK_PROBE, DSM_MSG_LOCK_REQ }, { DSM_MSG_LOCK_PROBE, DSM_MSG_LOCK_TRY },
	/* The manager knows again who has a token: those who wait for it have their turn. */
	{ DSM_MSG_LOCK_TRY_DONE, DSM_MSG_LOCK_REFUSED }, { DSM_MSG_LOCK_TRY_DONE, DSM_MSG_LOCK_GRANT },
	{ DSM_MSG_LOCK_STATE, DSM_MSG_LOCK_REFUSED }, { DSM_MSG_LOCK_STATE, DSM_MSG_LOCK_GRANT },
	/* Those who asked while the home was not known, or the bytes were elsewhere, which is acknowledged. */
	{ DSM_MSG_PAGE, DSM_MSG_PAGE }, { DSM_MSG_CSM_GRANT, DSM_MSG_PAGE },
	{ DSM_MSG_CSM_BACK, DSM_MSG_PAGE }, { DSM_MSG_CSM_BACK, DSM_MSG_CSM_BACK_ACK },
	/* consistency=sc: the next in the queue. */
	{ DSM_MSG_SC_BACK, DSM_MSG_SC_GRANT }, { DSM_MSG_SC_GRANT, DSM_MSG_SC_DONE }, { DSM_MSG_SC_DONE, DSM_MSG_SC_GRANT },
};

static void check_class(const struct node *n, const struct dsm_msgbuf *m)
{
	u32 i;

	if (!w.handled || m->class > w.handled_class || w.data_only)
		return;
	/* Records that are missing: what needs them is put aside until they are here. */
	if (m->data[0] == DSM_MSG_INTERVAL_PULL)
		return;
	/* What an answer was waited for is over; what its receiver asks for next keeps no buffer of answers. */
	if (w.handled_class == DSM_CLASS_RSP && m->class != DSM_CLASS_RSP)
		return;
	for (i = 0; i < ARRAY_SIZE(also); i++)
		if (also[i].handled == w.handled && also[i].emitted == m->data[0])
			return;
	fail("I21: %c handles %s and emits %s, of class %u", 'A' + node_id(n), message_name(w.handled), message_name(m->data[0]),
	     m->class);
}

/*
 * What L22 looks at: answers about a page that moves. Pointers lead to later and later homes, so a question is
 * turned away by no more nodes than have been home, and once for each move meanwhile; and after some moves in a row the
 * page stays.
 */
static void check_moves(const struct node *n, const struct dsm_msgbuf *m)
{
	struct oracle *o = &w.o;
	struct dsm_wire_page body;
	u32 p;

	if (m->data[0] != DSM_MSG_FETCH && m->data[0] != DSM_MSG_CSM_UPGRADE && m->data[0] != DSM_MSG_PAGE &&
	    m->data[0] != DSM_MSG_CSM_GRANT && m->data[0] != DSM_MSG_DIFF_ACK)
		return;
	/* All begin with the page's index. */
	memcpy(&body, m->data + DSM_HDR_BYTES, sizeof(body));
	for (p = 0; p < MAX_PAGES && w.idx_of[p] != le32_to_cpu(body.idx); p++)
		;
	if (p == MAX_PAGES)
		return;
	if (m->data[0] == DSM_MSG_FETCH || m->data[0] == DSM_MSG_CSM_UPGRADE) {
		if (!o->nacks[node_id(n)][p])
			o->moves_when_asked[node_id(n)][p] = o->moves[p];
		return;
	}
	if (m->data[0] == DSM_MSG_PAGE && body.status == DSM_PAGE_STATUS_NACK) {
		u32 moves = o->moves[p] - o->moves_when_asked[m->dst][p];

		reach(REACH_NACK);
		if (++o->nacks[m->dst][p] > moves)
			o->most_nacks = max_t(u8, o->most_nacks, o->nacks[m->dst][p] - moves);
		return;
	}
	if (m->data[0] == DSM_MSG_PAGE && body.status == DSM_PAGE_STATUS_MOVED) {
		o->moves[p]++;
		o->most_moves = max_t(u8, o->most_moves, ++o->moves_in_row[p]);
	} else {
		o->moves_in_row[p] = 0;
	}
	if (m->data[0] == DSM_MSG_DIFF_ACK)
		return;
	o->nacks[m->dst][p] = 0;
}

void check_sent(const struct node *n, const struct dsm_msgbuf *m)
{
	u8 type = m->data[0];

	check_class(n, m);
	if (w.l->flags & LITMUS_MIGRATE)
		check_moves(n, m);
	if (type == DSM_MSG_DIFF_BACK)
		reach(REACH_BACK);
	if (type == DSM_MSG_FETCH || type == DSM_MSG_SC_GET || type == DSM_MSG_CSM_UPGRADE)
		check_asked(n);
}

/* L34: a page is asked for, by a message or a READ. */
void check_asked(const struct node *n)
{
	w.o.asked_again |= w.o.has_all >> node_id(n) & 1;
}
