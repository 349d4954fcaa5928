// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * A page of a region with consistency=cashmere at its home: who may have a copy, and exclusive mode
 * (protocol.md 3.4).
 *
 * A node is in the sharing set before its copy is read from the frame, and a writer gets the set after its
 * bytes are in the frame. So for any two of them either the copy has the bytes or the writer is told of the
 * node (L38, mutant M13). Only a node itself leaves the set (csm_copy.c): who was told of may not be
 * forgotten before it has looked (L9, mutant M1).
 */
#include "csm.h"
#include "dir.h"
#include "move.h"
#include "release.h"

static u64 bit(u16 node)
{
	return 1ull << node;
}

/**
 * dsm_csm_register() - a node gets a copy
 * @e:    engine
 * @p:    page in HOME or HOMEW
 * @from: node
 * @want: what for
 *
 * Exclusive only if no other node has a copy, and no thread here has one mapped.
 *
 * Context: engine lock held, in the step that makes the reply, before its bytes are read.
 * Return: what to grant; DSM_GRANT_EXCLUSIVE: @p is in HO.
 */
enum dsm_grant dsm_csm_register(struct dsm_engine *e, struct dsm_page *p, u16 from, enum dsm_fetch_want want)
{
	(void)e;
	if (!dsm_page_has_word(p))
		p->sharers |= bit(from);
	if (dsm_page_moves(p)) {
		p->nacks = 0;
		return want != DSM_WANT_EXCLUSIVE && p->state == DSM_PAGE_HOME ? DSM_GRANT_SOLE :
										 DSM_GRANT_NONE;
	}
	if (dsm_page_has_word(p) || p->sharers != bit(from) || p->csm & DSM_CSM_USED)
		return DSM_GRANT_NONE;
	if (want != DSM_WANT_EXCLUSIVE)
		return DSM_GRANT_SOLE;
	dsm_page_set_state(p, DSM_PAGE_HO);
	return DSM_GRANT_EXCLUSIVE;
}

/**
 * dsm_csm_sharers() - who may have a copy
 * @e: engine
 * @p: page homed here
 *
 * Context: engine lock held, after the bytes of the version that it is asked for are in the frame.
 * Return: bitmap; this node is in it if its threads have used the page. 0 if a word says it.
 */
u64 dsm_csm_sharers(const struct dsm_engine *e, const struct dsm_page *p)
{
	if (dsm_page_has_word(p))
		return 0;
	return p->sharers | (p->csm & DSM_CSM_USED ? bit(e->self) : 0);
}

static void lose(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	dsm_page_set_state(p, DSM_PAGE_LOST);
	dsm_count(e, p->space, pages_lost);
	dsm_page_replay(e, p, acts);
	dsm_page_wake(p, acts);
}

/*
 * A lost node is said to have the only copy. It may have given it back since the word was read: the home looks there
 * itself, and gets into the set for that, so that what it finds holds (mutant M131).
 */
static void doubt(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	dsm_page_set_state(p, DSM_PAGE_HB);
	/* What is under way may have seen the word before that. */
	if (dsm_dir_busy(p))
		return;
	p->sharers = 0;
	if (!dsm_dir_enter(e, p, acts))
		lose(e, p, acts);
}

static bool is_gone(const struct dsm_engine *e, const struct dsm_page *p, u16 owner)
{
	return owner == e->self || !dsm_engine_alive(e, owner) || p->space->gone & bit(owner);
}

/**
 * dsm_csm_want_from() - a word says that another node has the only copy
 * @e:     engine
 * @p:     page in HOME
 * @owner: who; if it has given it back already, it says so
 * @acts:  actions
 *
 * Context: engine lock held. Who asked is kept by the caller, and served when the page is in HOME again, or lost.
 */
void dsm_csm_want_from(struct dsm_engine *e, struct dsm_page *p, u16 owner, struct dsm_actions *acts)
{
	p->sharers = bit(owner);
	if (is_gone(e, p, owner)) {
		doubt(e, p, acts);
		return;
	}
	dsm_page_set_state(p, DSM_PAGE_HO);
	dsm_csm_want(e, p, acts);
}

/**
 * dsm_csm_entered() - the home has looked at the word, from within the set
 * @e:     engine
 * @p:     page homed here
 * @owner: who had the only copy then, or DSM_NO_NODE
 * @acts:  actions
 *
 * Context: engine lock held; the caller wakes who waits.
 */
void dsm_csm_entered(struct dsm_engine *e, struct dsm_page *p, u16 owner, struct dsm_actions *acts)
{
	bool doubted = p->state == DSM_PAGE_HB && !p->sharers;

	if (p->state == DSM_PAGE_HB && p->sharers && is_gone(e, p, __ffs64(p->sharers))) {
		doubt(e, p, acts);
		return;
	}
	if (doubted && owner != DSM_NO_NODE && is_gone(e, p, owner)) {
		lose(e, p, acts);
		return;
	}
	if (doubted)
		dsm_page_set_state(p, DSM_PAGE_HOME);
	if (p->state == DSM_PAGE_HOME && owner != DSM_NO_NODE && !dsm_csm_has_back(e, p))
		dsm_csm_want_from(e, p, owner, acts);
	else if (doubted)
		dsm_page_replay(e, p, acts);
}

/**
 * dsm_csm_not_entered() - the home could not look at the word, which is lost
 * @e:    engine
 * @p:    page homed here
 * @acts: actions
 *
 * Context: engine lock held; the caller wakes who waits.
 */
void dsm_csm_not_entered(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (p->state == DSM_PAGE_HB && (!p->sharers || is_gone(e, p, __ffs64(p->sharers))))
		lose(e, p, acts);
}

/**
 * dsm_csm_want() - the bytes of an exclusive page are wanted
 * @e:    engine
 * @p:    page in HX, HO or HB
 * @acts: actions
 *
 * Context: engine lock held. Who asked is kept by the caller, and served when the page is in HOME.
 */
void dsm_csm_want(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	const struct dsm_wire_csm body = { .idx = cpu_to_le32(p->idx) };
	struct dsm_msgbuf *m;

	if (p->state == DSM_PAGE_HX) {
		dsm_csm_break(e, p, acts);
	} else if (p->state == DSM_PAGE_HO) {
		dsm_page_set_state(p, DSM_PAGE_HB);
		m = dsm_msg_new(e, __ffs64(p->sharers), DSM_CLASS_FWD, DSM_MSG_CSM_BREAK,
				p->space->id, 0);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_act_send(acts, m);
	}
}

/**
 * dsm_csm_shared() - a page that only this node had is write-protected
 * @e:      engine
 * @p:      page in HX
 * @pinned: a device may still write its frame: it stays dirty, as any other (decisions.md P9)
 * @acts:   actions
 *
 * What was written here has been told to nobody, and nobody has a copy: a new version says that the
 * bytes are not those of the last one (I41, mutant M12).
 *
 * Context: engine lock held.
 */
void dsm_csm_shared(struct dsm_engine *e, struct dsm_page *p, bool pinned, struct dsm_actions *acts)
{
	p->flags &= ~DSM_PF_FLUSH;
	/* Until the word names no owner: the next version's set is read from it after that. */
	if (!dsm_page_has_word(p) || !dsm_dir_unown(e, p, acts))
		p->csm &= ~DSM_CSM_BREAK;
	p->ver++;
	dsm_count(e, p->space, excl_breaks);
	if (pinned && !p->space->closing) {
		dsm_dirty_add(e, p);
		dsm_page_set_state(p, DSM_PAGE_HOMEW);
	} else {
		dsm_page_set_state(p, DSM_PAGE_HOME);
	}
	dsm_page_replay(e, p, acts);
	dsm_page_wake(p, acts);
}

/* ---- messages ---- */

static int on_upgrade(struct dsm_engine *e, struct dsm_page *p, u16 from,
		      const struct dsm_wire_csm *body, u32 xid, struct dsm_actions *acts)
{
	const struct dsm_asker to = { .node = from, .want = DSM_WANT_EXCLUSIVE, .xid = xid };
	struct dsm_wire_csm out = { .idx = body->idx };
	struct dsm_msgbuf *m;

	if (dsm_page_may_move(p) && p->home != e->self) {
		dsm_move_elsewhere(e, p, &to, acts);
		return 0;
	}
	/* Who has a copy is in the set, so it is exclusive nowhere. */
	if (dsm_page_is_csm(p) && (dsm_page_has_word(p) ? !dsm_page_moves(p) : !(p->sharers & bit(from))))
		return -EPROTO;
	/* In UPG it is to find that others have copies: who asks is one of them (mutant M150). */
	if (!dsm_page_is_home(p) && !(p->state == DSM_PAGE_UPG && dsm_page_has_word(p) && dsm_page_moves(p)))
		return -EPROTO;
	if (dsm_move_may(e, p, from, to.want)) {
		dsm_move_give(e, p, &to, p->ver == le64_to_cpu(body->ver), acts);
		return 0;
	}
	/* A copy that lacks a version would bring its old bytes back (decisions.md P2, mutant M22). */
	out.granted = dsm_page_is_csm(p) && p->state == DSM_PAGE_HOME && p->sharers == bit(from) &&
		      !(p->csm & DSM_CSM_USED) && p->ver == le64_to_cpu(body->ver);
	if (dsm_page_moves(p)) {
		p->nacks = 0;
		out.granted = false;
	}
	if (out.granted)
		dsm_page_set_state(p, DSM_PAGE_HO);
	m = dsm_msg_new(e, from, DSM_CLASS_RSP, DSM_MSG_CSM_GRANT, p->space->id, xid);
	dsm_wire_put(m, &out, sizeof(out));
	dsm_act_send(acts, m);
	return 0;
}

/* Its next diff could come before the bytes; the two connections are not ordered (mutant M85). */
static void ack_back(struct dsm_engine *e, const struct dsm_page *p, u16 to, struct dsm_actions *acts)
{
	const struct dsm_wire_csm body = { .idx = cpu_to_le32(p->idx) };
	struct dsm_msgbuf *m = dsm_msg_new(e, to, DSM_CLASS_RSP, DSM_MSG_CSM_BACK_ACK, p->space->id, 0);

	dsm_wire_put(m, &body, sizeof(body));
	dsm_act_send(acts, m);
}

/**
 * dsm_csm_back_done() - the word does not name any more who has given its only copy back
 * @e:    engine
 * @p:    page for which dsm_csm_has_back() was true
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_csm_back_done(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	u16 from = __ffs64(p->sharers);

	p->sharers = 0;
	p->csm &= ~DSM_CSM_BREAK;
	if (dsm_engine_alive(e, from))
		ack_back(e, p, from, acts);
	dsm_rel_replay(e, p, acts);
	dsm_page_wake(p, acts);
}

/* @data: NULL: the bytes are here already. */
static int on_back(struct dsm_engine *e, struct dsm_page *p, u16 from, const u8 *data,
		   struct dsm_actions *acts)
{
	if (p->state == DSM_PAGE_LOST)
		return 0;
	if (p->state != DSM_PAGE_HB || p->home != e->self || p->sharers != bit(from) ||
	    (!data && !dsm_page_has_word(p)))
		return -EPROTO;
	if (!data) {
		p->sharers = 0;
		dsm_page_set_state(p, DSM_PAGE_HOME);
		dsm_page_replay(e, p, acts);
		dsm_page_wake(p, acts);
		return 0;
	}
	memcpy(dsm_env_bytes(p->frame), data, DSM_PAGE_BYTES);
	p->ver++;
	dsm_moves_wrote(e, p, from);
	dsm_count(e, p->space, page_transfers);
	dsm_page_set_state(p, DSM_PAGE_HOME);
	if (dsm_page_has_word(p)) {
		p->csm |= DSM_CSM_BREAK;
		dsm_dir_given_back(e, p, acts);
	} else {
		ack_back(e, p, from, acts);
	}
	dsm_page_replay(e, p, acts);
	dsm_page_wake(p, acts);
	return 0;
}

/* Or was, so that nobody who asks it here is wrong. */
static bool is_home(const struct dsm_engine *e, const struct dsm_page *p)
{
	return ((dsm_page_is_csm(p) && p->home == e->self) || dsm_page_may_move(p)) && p->state != DSM_PAGE_FREE;
}

/*
 * May a node say that it does not use this page any more? Where homes move, what a third node said may have led it here, also
 * if nobody here has touched the page. Whoever has the only copy has one; and who has a word leaves the set by itself.
 */
static bool takes_drop(const struct dsm_engine *e, struct dsm_space *s, u32 idx, u16 from)
{
	const struct dsm_page *p;

	if (idx >= s->pages || s->policy.consistency != DSM_CONSISTENCY_CASHMERE ||
	    s->policy.metadata == DSM_METADATA_RDMA)
		return false;
	p = dsm_env_page_find(s, idx);
	if (!p || p->state == DSM_PAGE_FREE)
		return dsm_policy_may_move(&s->policy);
	return is_home(e, p) && !((p->state == DSM_PAGE_HO || p->state == DSM_PAGE_HB) && p->sharers == bit(from));
}

static int on_drop(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		   struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));
	struct dsm_wire_direct head;
	struct dsm_reader scan;
	struct dsm_msgbuf *m;
	struct dsm_page *p;
	__le32 idx;

	dsm_reader_take(r, &head, sizeof(head));
	for (scan = *r; dsm_reader_left(&scan);) {
		dsm_reader_take(&scan, &idx, sizeof(idx));
		if (!s || !takes_drop(e, s, le32_to_cpu(idx), from))
			return -EPROTO;
	}
	m = dsm_msg_new(e, from, DSM_CLASS_RSP, DSM_MSG_CSM_DROP_ACK, le32_to_cpu(hdr->region), le32_to_cpu(hdr->xid));
	dsm_wire_put(m, &head, sizeof(head));
	while (dsm_reader_left(r)) {
		dsm_reader_take(r, &idx, sizeof(idx));
		p = dsm_env_page_find(s, le32_to_cpu(idx));
		/* Who is home by now goes on telling it, which is allowed. */
		if (p && p->home == e->self)
			p->sharers &= ~bit(from);
		dsm_wire_put(m, &idx, sizeof(idx));
	}
	dsm_act_send(acts, m);
	return 0;
}

/**
 * dsm_csm_on_home_message() - messages CSM_UPGRADE, CSM_BACK and CSM_DROP
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if this is not the page's home or the sender may not send this now.
 */
int dsm_csm_on_home_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			    struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_csm body;
	struct dsm_page *p;

	if (hdr->type == DSM_MSG_CSM_DROP)
		return on_drop(e, from, hdr, r, acts);
	dsm_reader_take(r, &body, sizeof(body));
	p = dsm_page_find(e, le32_to_cpu(hdr->region), le32_to_cpu(body.idx));
	if (!p || !is_home(e, p))
		return -EPROTO;
	if (hdr->type == DSM_MSG_CSM_UPGRADE)
		return on_upgrade(e, p, from, &body, le32_to_cpu(hdr->xid), acts);
	return on_back(e, p, from, body.granted ? NULL : dsm_reader_skip(r, DSM_PAGE_BYTES), acts);
}

/**
 * dsm_csm_home_peer_lost() - a node is gone that may have a copy
 * @e:    engine
 * @p:    page homed here
 * @node: the lost node
 * @acts: actions
 *
 * With an exclusive copy goes what it released: nobody may read the home's older bytes in its place. But one that was
 * given back before is not. Who is lost here may live, and read what it has: with lazy notices the next version names it once
 * more, and it hears of that from others (dsm_csm_told(); mutant M172).
 *
 * Context: engine lock held.
 */
void dsm_csm_home_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node,
			    struct dsm_actions *acts)
{
	bool owned = p->state == DSM_PAGE_HO || p->state == DSM_PAGE_HB;

	if (dsm_csm_has_back(e, p))
		return;
	if (owned && p->sharers == bit(node) && dsm_page_has_word(p)) {
		doubt(e, p, acts);
		return;
	}
	if (owned && p->sharers == bit(node))
		lose(e, p, acts);
	if (owned || dsm_policy_tells(&p->space->policy))
		p->sharers &= ~bit(node);
}
