// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * A node's copies of pages with consistency=cashmere: the exclusive ones, and those not used any more
 * (protocol.md 3.2).
 *
 * An exclusive copy has no twin and is in no list; releases pass it by, since nobody else can have bytes
 * that are older. When another node wants the page it is write-protected as for a release, and its bytes
 * go home as a whole. A break is sent once and answered once; the home grants nothing before it has the
 * answer, and gets nothing about the page from here before it has acknowledged that; so nothing needs a
 * number. Never knows who else has a copy.
 */
#include "csm.h"
#include "dir.h"
#include "fetch.h"
#include "pipe.h"
#include "release.h"

/* Messages of one step: a page for whose home there is none stays in the sharing set, which is allowed. */
#define DROP_MSGS DSM_STEP_MSGS

static struct dsm_msgbuf *message(struct dsm_engine *e, const struct dsm_page *p, u8 class, u8 type, u32 xid)
{
	const struct dsm_wire_csm body = { .idx = cpu_to_le32(p->idx), .ver = cpu_to_le64(p->ver) };
	struct dsm_msgbuf *m = dsm_msg_new(e, p->home, class, type, p->space->id, xid);

	dsm_wire_put(m, &body, sizeof(body));
	return m;
}

/* ---- exclusive copies ---- */

/**
 * dsm_csm_upgrade() - ask whether a copy may be the only one
 * @e:    engine
 * @p:    page in RD without an unacknowledged diff
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: true if the answer comes, to a page in UPG; false: it cannot be.
 */
bool dsm_csm_upgrade(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	dsm_assert(!(p->flags & DSM_PF_UNACKED));
	if (dsm_page_has_word(p) && !dsm_page_moves(p))
		return dsm_dir_upgrade(e, p, acts);
	dsm_page_set_state(p, DSM_PAGE_UPG);
	p->xid = dsm_xid_next(e);
	dsm_count_many(e, p->space, migration_attempts, dsm_page_moves(p));
	dsm_act_send(acts, message(e, p, DSM_CLASS_REQ, DSM_MSG_CSM_UPGRADE, p->xid));
	return true;
}

static void list_break(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	struct dsm_csm *c = &e->csm;

	p->csm |= DSM_CSM_BREAK;
	p->next = NULL;
	if (c->breaks)
		c->breaks_end->next = p;
	else
		c->breaks = p;
	c->breaks_end = p;
	acts->flush = true;
}

/**
 * dsm_csm_exclusive() - the only copy is here
 * @e:    engine
 * @p:    page in FET or UPG, its bytes in the frame; its label is the home's version
 * @acts: actions
 *
 * It may be wanted already: the home's two connections are not ordered.
 *
 * Context: engine lock held; the caller wakes who waits.
 */
void dsm_csm_exclusive(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	dsm_page_set_state(p, DSM_PAGE_EX);
	p->csm &= ~(DSM_CSM_SOLE | DSM_CSM_STALE);
	dsm_count(e, p->space, excl_enters);
	if (p->csm & DSM_CSM_BREAK)
		list_break(e, p, acts);
}

/**
 * dsm_csm_break() - another node wants a page that only this one has
 * @e:    engine
 * @p:    page in EX or HX
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_csm_break(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (!(p->csm & DSM_CSM_BREAK))
		list_break(e, p, acts);
}

/**
 * dsm_csm_take() - next page that another node wants
 * @e: engine
 *
 * Context: engine lock held.
 * Return: page, marked FLUSH: to be write-protected and given to dsm_rel_downgraded(), which makes no
 * diff of it; NULL if there is none, or if flushers have as many as one step can send home.
 */
struct dsm_page *dsm_csm_take(struct dsm_engine *e)
{
	struct dsm_page *p = e->csm.breaks;

	if (!p || (p->state == DSM_PAGE_EX && e->csm.breaking == DSM_STEP_OTHERS))
		return NULL;
	e->csm.breaks = p->next;
	p->next = NULL;
	p->flags |= DSM_PF_FLUSH;
	e->csm.breaking += p->state == DSM_PAGE_EX;
	return p;
}

static void give_back(struct dsm_engine *e, struct dsm_page *p, bool pinned, struct dsm_actions *acts)
{
	struct dsm_msgbuf *m;

	if (dsm_engine_alive(e, p->home)) {
		m = message(e, p, DSM_CLASS_RSP, DSM_MSG_CSM_BACK, 0);
		/* Copied: a frame that a message refers to looks pinned, and twin and home must agree. */
		dsm_wire_put(m, dsm_env_bytes(p->frame), DSM_PAGE_BYTES);
		if (pinned) {
			p->twin = dsm_pool_take(e, DSM_POOL_TWIN);
			memcpy(dsm_env_bytes(p->twin), m->data + m->len - DSM_PAGE_BYTES, DSM_PAGE_BYTES);
		}
		dsm_act_send(acts, m);
		/* The home counts it, too. */
		p->ver++;
		dsm_count(e, p->space, excl_breaks);
		dsm_count(e, p->space, pages_sent);
	} else {
		p->csm &= ~DSM_CSM_BREAK;
	}
	if (!p->twin) {
		dsm_page_set_state(p, DSM_PAGE_RD);
		return;
	}
	e->twins++;
	dsm_count(e, p->space, twins);
	dsm_dirty_add(e, p);
	dsm_page_set_state(p, DSM_PAGE_WR);
}

/**
 * dsm_csm_broken() - a page that another node wants is write-protected everywhere
 * @e:      engine
 * @p:      page from dsm_csm_take()
 * @pinned: a device may still write its frame (decisions.md P9)
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_csm_broken(struct dsm_engine *e, struct dsm_page *p, bool pinned, struct dsm_actions *acts)
{
	if (p->state == DSM_PAGE_HX) {
		dsm_csm_shared(e, p, pinned, acts);
		return;
	}
	e->csm.breaking--;
	if (e->csm.breaks)
		acts->flush = true;
	p->flags &= ~DSM_PF_FLUSH;
	give_back(e, p, pinned && !p->space->closing, acts);
	dsm_page_wake(p, acts);
}

/**
 * dsm_csm_nothing_back() - the home has the bytes that it wants from here
 * @e:    engine
 * @p:    page that is not exclusive here
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_csm_nothing_back(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	const struct dsm_wire_csm body = { .idx = cpu_to_le32(p->idx), .granted = true };
	struct dsm_msgbuf *m;

	if (!dsm_engine_alive(e, p->home))
		return;
	m = dsm_msg_new(e, p->home, DSM_CLASS_RSP, DSM_MSG_CSM_BACK, p->space->id, 0);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_act_send(acts, m);
}

/* Who has asked may have read the word before the page was given back, or before it was known to be had. */
static int on_break_of_word(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (p->state == DSM_PAGE_EX && p->csm & DSM_CSM_BREAK)
		return -EPROTO;
	if (p->state == DSM_PAGE_EX)
		list_break(e, p, acts);
	else if (p->state == DSM_PAGE_UPG && dsm_dir_busy(p))
		p->csm |= DSM_CSM_BREAK;
	else
		dsm_csm_nothing_back(e, p, acts);
	return 0;
}

static int on_break(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (dsm_page_has_word(p))
		return on_break_of_word(e, p, acts);
	if (p->csm & DSM_CSM_BREAK)
		return -EPROTO;
	if (p->state == DSM_PAGE_EX)
		list_break(e, p, acts);
	else if (p->state == DSM_PAGE_FET || p->state == DSM_PAGE_UPG)
		p->csm |= DSM_CSM_BREAK;
	else
		return -EPROTO;
	return 0;
}

static int on_grant(struct dsm_engine *e, struct dsm_page *p, const struct dsm_wire_csm *body, u32 xid,
		    struct dsm_actions *acts)
{
	if (p->state != DSM_PAGE_UPG || p->xid != xid || (!body->granted && p->csm & DSM_CSM_BREAK) ||
	    (body->granted && !dsm_page_is_csm(p)))
		return -EPROTO;
	if (body->granted) {
		/* Stale only because everything was assumed to be: the home compared versions, and there is no other. */
		p->need = min(p->need, p->ver);
		dsm_csm_exclusive(e, p, acts);
	} else {
		/* An acquire may have come by meanwhile (decisions.md P7, mutants M146, M147). */
		dsm_page_set_state(p, p->csm & DSM_CSM_STALE ? DSM_PAGE_INV : DSM_PAGE_RD);
		p->csm &= ~(DSM_CSM_SOLE | DSM_CSM_STALE);
	}
	dsm_page_replay(e, p, acts);
	dsm_page_wake(p, acts);
	return 0;
}

static int on_back_ack(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (!(p->csm & DSM_CSM_BREAK) || p->state == DSM_PAGE_EX || p->state == DSM_PAGE_FET ||
	    p->state == DSM_PAGE_UPG || dsm_dir_busy(p))
		return -EPROTO;
	p->csm &= ~DSM_CSM_BREAK;
	dsm_rel_replay(e, p, acts);
	dsm_page_wake(p, acts);
	return 0;
}

/* ---- copies that are not used any more ---- */

/**
 * dsm_csm_idle() - a copy has lost its right
 * @e: engine
 * @p: page in INV
 *
 * If nobody wants it until after the next acquire, the home is told that it need not be told of
 * any more: a page that two nodes write in turns is not to cost them a message more each time.
 *
 * Context: engine lock held.
 */
void dsm_csm_idle(struct dsm_engine *e, struct dsm_page *p)
{
	struct dsm_csm *c = &e->csm;

	p->csm &= ~DSM_CSM_SOLE;
	if (p->csm & DSM_CSM_IDLE || c->n_idle[1] == DSM_CSM_IDLE_PAGES)
		return;
	p->csm |= DSM_CSM_IDLE;
	c->idle[1][c->n_idle[1]++] = p;
}

static bool may_drop(const struct dsm_engine *e, const struct dsm_page *p)
{
	return p->state == DSM_PAGE_INV && p->csm & DSM_CSM_IDLE && !dsm_fetch_must_wait(p) &&
	       !(p->flags & DSM_PF_PENDING) && dsm_engine_alive(e, p->home);
}

static struct dsm_msgbuf *drop_message(struct dsm_engine *e, const struct dsm_page *p,
				       struct dsm_msgbuf **list, u32 *n)
{
	const struct dsm_wire_direct head = {};
	u32 i;

	for (i = 0; i < *n; i++)
		if (list[i]->dst == p->home && dsm_msg_region(list[i]) == p->space->id)
			return dsm_wire_room(list[i]) >= sizeof(__le32) ? list[i] : NULL;
	if (*n == DROP_MSGS)
		return NULL;
	list[*n] = dsm_msg_new(e, p->home, DSM_CLASS_REQ, DSM_MSG_CSM_DROP, p->space->id, dsm_xid_next(e));
	dsm_wire_put(list[*n], &head, sizeof(head));
	return list[(*n)++];
}

static void send_drops(struct dsm_msgbuf **list, u32 n, struct dsm_actions *acts)
{
	struct dsm_wire_direct head = {};
	u32 i;

	for (i = 0; i < n; i++) {
		head.count = cpu_to_le32((list[i]->len - DSM_HDR_BYTES - sizeof(head)) / sizeof(__le32));
		memcpy(list[i]->data + DSM_HDR_BYTES, &head, sizeof(head));
		dsm_act_send(acts, list[i]);
	}
}

/*
 * Of this acquire's pages those that nobody has wanted since, without their mark: who still has it among those of the last
 * acquire has not been used in between.
 */
static void set_apart(struct dsm_csm *c)
{
	u32 i, n = 0;

	for (i = 0; i < c->n_idle[1]; i++) {
		struct dsm_page *p = c->idle[1][i];

		if (p->csm & DSM_CSM_IDLE)
			c->idle[1][n++] = p;
		p->csm &= ~DSM_CSM_IDLE;
	}
	c->n_idle[1] = n;
}

/**
 * dsm_csm_drop() - tell homes of copies that are not used any more
 * @e:    engine
 * @acts: actions
 *
 * Until it is acknowledged the page is not fetched: the home could take the fetch for older than
 * this, and forget a copy that is used (mutant M20). With metadata=rdma they leave the set themselves.
 *
 * Context: engine lock held, at the end of an acquire.
 */
void dsm_csm_drop(struct dsm_engine *e, struct dsm_actions *acts)
{
	struct dsm_msgbuf *list[DROP_MSGS], *m;
	struct dsm_csm *c = &e->csm;
	u32 i, n = 0, left = 0;

	set_apart(c);
	for (i = 0; i < c->n_idle[0]; i++) {
		struct dsm_page *p = c->idle[0][i];
		__le32 idx = cpu_to_le32(p->idx);
		bool may = may_drop(e, p);

		p->csm &= ~DSM_CSM_IDLE;
		if (dsm_page_has_word(p)) {
			left += may && left < DSM_DIR_LEAVES && dsm_dir_leave(e, p, acts);
			continue;
		}
		m = may ? drop_message(e, p, list, &n) : NULL;
		if (!m)
			continue;
		dsm_wire_put(m, &idx, sizeof(idx));
		p->csm |= DSM_CSM_DROPPING;
		p->dir &= ~DSM_DIR_IN;
	}
	send_drops(list, n, acts);
	for (i = 0; i < c->n_idle[1]; i++) {
		c->idle[0][i] = c->idle[1][i];
		c->idle[0][i]->csm |= DSM_CSM_IDLE;
	}
	c->n_idle[0] = c->n_idle[1];
	c->n_idle[1] = 0;
}

static int on_drop_ack(struct dsm_engine *e, u16 from, u32 region, struct dsm_reader *r,
		       struct dsm_actions *acts)
{
	struct dsm_page *p;
	__le32 idx;

	dsm_reader_skip(r, sizeof(struct dsm_wire_direct));
	while (dsm_reader_left(r)) {
		dsm_reader_take(r, &idx, sizeof(idx));
		p = dsm_page_find(e, region, le32_to_cpu(idx));
		if (!p || !dsm_page_is_csm(p) || p->home != from || !(p->csm & DSM_CSM_DROPPING))
			return -EPROTO;
		p->csm &= ~DSM_CSM_DROPPING;
		dsm_page_wake(p, acts);
	}
	return 0;
}

/* ---- messages, losses ---- */

/**
 * dsm_csm_on_copy_message() - messages CSM_BREAK, CSM_BACK_ACK, CSM_GRANT and CSM_DROP_ACK
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the sender is not the page's home or may not send this now.
 */
int dsm_csm_on_copy_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			    struct dsm_reader *r, struct dsm_actions *acts)
{
	u32 region = le32_to_cpu(hdr->region);
	struct dsm_wire_csm body;
	struct dsm_page *p;

	if (hdr->type == DSM_MSG_CSM_DROP_ACK)
		return on_drop_ack(e, from, region, r, acts);
	dsm_reader_take(r, &body, sizeof(body));
	p = dsm_page_find(e, region, le32_to_cpu(body.idx));
	if (!p || p->home != from ||
	    !(dsm_page_is_csm(p) || (hdr->type == DSM_MSG_CSM_GRANT && dsm_page_may_move(p))))
		return -EPROTO;
	if (hdr->type == DSM_MSG_CSM_GRANT)
		return on_grant(e, p, &body, le32_to_cpu(hdr->xid), acts);
	if (hdr->type == DSM_MSG_CSM_BACK_ACK)
		return on_back_ack(e, p, acts);
	return on_break(e, p, acts);
}

/**
 * dsm_csm_copy_peer_lost() - the home of a page is gone
 * @e:    engine
 * @p:    page
 * @acts: actions
 *
 * A copy stays readable. An exclusive one becomes like any other: what is written from now on
 * cannot be released, and a release that has it says so.
 *
 * Context: engine lock held; the caller wakes who waits.
 */
void dsm_csm_copy_peer_lost(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	p->csm &= ~(DSM_CSM_WRITER | DSM_CSM_SOLE);
	/* Who leaves a set by itself does so until the word says that it has. A home that comes back tells nobody. */
	if (!dsm_page_has_word(p)) {
		p->csm &= ~(DSM_CSM_DROPPING | DSM_CSM_IDLE);
		p->dir &= ~DSM_DIR_IN;
	}
	if (p->state == DSM_PAGE_EX) {
		dsm_csm_break(e, p, acts);
		return;
	}
	p->csm &= ~DSM_CSM_BREAK;
	if (p->state == DSM_PAGE_UPG)
		dsm_page_set_state(p, p->csm & DSM_CSM_STALE ? DSM_PAGE_INV : DSM_PAGE_RD);
	p->csm &= ~DSM_CSM_STALE;
}
