// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The words of a region with metadata=rdma (protocol.md 3.5).
 *
 * A node is in the set before it asks for the bytes, and a writer reads the set after its bytes are at home. So for
 * any two of them either the copy has the bytes or the writer finds the node in the set (L38, mutants M105, M106, and
 * M148, where the set is read too early).
 * A node leaves only when it has no copy, no release under way and all it told is told: so whoever is alone in the
 * set by then has, if not in its copy then among its notices, all that anybody wrote; it looks there before it uses
 * a copy as the only one (L39, decisions.md P2, mutant M109). While a node is in the set nobody gets the only copy;
 * who had it before says so in the word, and whoever finds that there names it to the home, which has the bytes
 * brought. The word names an owner until these are at home, so one that is lost is noticed; then the home, which
 * knows that they are, takes it out (mutant M130).
 *
 * Of an atomic whose answer a broken connection has lost the word itself tells whether it took place: each bit, and each
 * owner's number while we wait, is changed by one node alone. So we look, and do it again if it did not (mutants M136, M137).
 *
 * One atomic of a page at a time; the words of a lost manager are not replaced: who has copies is not known any
 * more, so all are told, and nobody gets a first copy.
 */
#include "dir.h"
#include "csm.h"
#include "fetch.h"
#include "release.h"
#include "ring.h"
#include "rsync.h"

enum what {
	ENTER,		/* +own bit */
	LOOK,		/* +0 */
	LEAVE,		/* -own bit */
	OWN,		/* own bit alone -> that, and owner */
	DISOWN,		/* -owner, after OWN that may not be used, or that was left in the word */
	SHARED,		/* -owner: the home's page is exclusive no more */
	GIVEN_BACK,	/* -owner of another node, whose bytes are here */
	TELL,		/* +0, who is to be told */
};

#define DOUBT 0x80u	/* of one of these: +0, did it take place? */

static u64 own_bit(const struct dsm_engine *e)
{
	return 1ull << e->self;
}

static u64 as_owner(u16 node)
{
	return (node + 1ull) << DSM_DIR_OWNER_SHIFT;
}

static u64 own_owner(const struct dsm_engine *e)
{
	return as_owner(e->self);
}

static u16 manager_of(const struct dsm_page *p)
{
	return dsm_page_manager(p->space, p->idx);
}

static const struct dsm_key *key_of(const struct dsm_engine *e, const struct dsm_page *p)
{
	const struct dsm_dir *d = &p->space->dir;
	u16 manager = manager_of(p);

	return manager == e->self ? &d->own : &d->key[manager];
}

/**
 * dsm_dir_is_there() - can the page's word be reached?
 * @e: engine
 * @p: page of a region with words
 *
 * Context: engine lock held.
 * Return: true if its manager is alive, and where that is this node, its connection with itself too.
 */
bool dsm_dir_is_there(const struct dsm_engine *e, const struct dsm_page *p)
{
	return dsm_engine_alive(e, manager_of(p)) && (manager_of(p) != e->self || p->space->dir.own.rkey);
}

static bool is_known(const struct dsm_engine *e, const struct dsm_page *p)
{
	return dsm_engine_alive(e, manager_of(p)) && key_of(e, p)->rkey;
}

static u64 operand_of(const struct dsm_engine *e, u32 what, u64 compare)
{
	switch (what) {
	case ENTER:
		return own_bit(e);
	case LEAVE:
		return -own_bit(e);
	case OWN:
		return own_bit(e) | own_owner(e);
	case DISOWN:
	case SHARED:
		return -own_owner(e);
	case GIVEN_BACK:
		return -compare;
	default:
		return 0;
	}
}

/*
 * The word is known, and nothing of the page is under way to it. @compare: OWN: the word as it should be; GIVEN_BACK: the
 * owner's number as it is there; TELL: the version.
 */
static void begin(struct dsm_engine *e, struct dsm_page *p, u32 what, u64 compare, struct dsm_actions *acts)
{
	struct dsm_xfer *x = dsm_rsync_xfer(e, what == OWN ? DSM_XFER_CAS : DSM_XFER_ADD, DSM_XFER_KIND_DIR,
					    manager_of(p), p->space->id);

	dsm_assert(!(p->dir & DSM_DIR_BUSY));
	x->rkey = key_of(e, p)->rkey;
	x->remote = key_of(e, p)->addr + (u64)p->idx * sizeof(u64);
	x->compare = compare;
	x->operand = operand_of(e, what, compare);
	x->idx = p->idx;
	x->imm = what;
	p->xid = x->xid;
	p->dir |= DSM_DIR_BUSY;
	if (x->operand)
		dsm_count(e, p->space, dir_changes);
	else
		dsm_count(e, p->space, dir_looks);
	dsm_act_xfer(acts, x);
}

static struct dsm_msgbuf *message(struct dsm_engine *e, u16 to, u8 class, u8 type, const struct dsm_page *p,
				  u32 xid, const struct dsm_key *key)
{
	const struct dsm_wire_dir body = {
		.idx = cpu_to_le32(p->idx),
		.rkey = cpu_to_le32(key->rkey),
		.addr = cpu_to_le64(key->addr),
	};
	struct dsm_msgbuf *m = dsm_msg_new(e, to, class, type, p->space->id, xid);

	dsm_wire_put(m, &body, sizeof(body));
	return m;
}

/* The question of dsm_dir_enter() is over. */
static void told_where(struct dsm_page *p)
{
	p->dir &= ~(DSM_DIR_BUSY | (p->dir & DSM_DIR_IN ? 0 : DSM_DIR_OWNED));
}

/**
 * dsm_dir_enter() - get into the sharing set
 * @e:    engine
 * @p:    page, not BUSY: homed here and not used yet, or in FET
 * @acts: actions
 *
 * A node that came later looks first: another one may have had its number, and its bit.
 *
 * Context: engine lock held.
 * Return: true if it goes on by itself; false: the manager is lost.
 */
bool dsm_dir_enter(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	static const struct dsm_key none;

	if (!dsm_dir_is_there(e, p))
		return false;
	if (!is_known(e, p)) {
		/* Not in the set, OWNED says that it is no atomic that is under way. */
		p->dir |= DSM_DIR_BUSY | DSM_DIR_OWNED;
		p->xid = dsm_xid_next(e);
		dsm_act_send(acts, message(e, manager_of(p), DSM_CLASS_REQ, DSM_MSG_CSM_WHERE, p, p->xid, &none));
	} else if (p->dir & DSM_DIR_IN || p->space->dir.late) {
		begin(e, p, LOOK, 0, acts);
	} else {
		begin(e, p, ENTER, 0, acts);
	}
	return true;
}

/**
 * dsm_dir_leave() - leave the sharing set
 * @e:    engine
 * @p:    page in INV, not BUSY, with nothing to release
 * @acts: actions
 *
 * Not while a release is under way: its notices may not all be there yet.
 *
 * Context: engine lock held.
 * Return: true if it does; it is not fetched meanwhile.
 */
bool dsm_dir_leave(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (!(p->dir & DSM_DIR_IN) || !is_known(e, p) || e->rel_done != e->rel_seq || p->space->dir.ending)
		return false;
	begin(e, p, LEAVE, 0, acts);
	p->csm |= DSM_CSM_DROPPING;
	return true;
}

/**
 * dsm_dir_upgrade() - have the only copy, if nobody else has one
 * @e:    engine
 * @p:    page in RD or, at its home, in HOME; not BUSY, nothing of it unacknowledged
 * @acts: actions
 *
 * The home's fetches wait meanwhile: who came in before makes this fail, who comes in after finds an owner.
 *
 * Context: engine lock held.
 * Return: true if the answer comes, to a page in UPG; false: write it as one that others have.
 */
bool dsm_dir_upgrade(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	p->csm &= ~DSM_CSM_SOLE;
	if (!is_known(e, p) || p->space->dir.late)
		return false;
	begin(e, p, OWN, own_bit(e), acts);
	dsm_page_set_state(p, DSM_PAGE_UPG);
	return true;
}

/**
 * dsm_dir_unown() - the home's page is exclusive no more
 * @e:    engine
 * @p:    page, not BUSY
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: true if the page has to wait until the word says so.
 */
bool dsm_dir_unown(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	/* If the region does not go after all, the next exchange finds that left in the word. */
	if (!is_known(e, p) || p->space->dir.ending)
		return false;
	begin(e, p, SHARED, 0, acts);
	return true;
}

/**
 * dsm_dir_given_back() - the bytes of another node's only copy are here
 * @e:    engine
 * @p:    page homed here, for which dsm_csm_has_back() is true
 * @acts: actions
 *
 * Whoever finds the node in the word until it is taken out is not to lose the page with it. Bytes are asked for by homes
 * that were not in the set only, which keep the word themselves.
 *
 * Context: engine lock held.
 */
void dsm_dir_given_back(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (!is_known(e, p))
		dsm_csm_back_done(e, p, acts);
	else if (!dsm_dir_busy(p))
		begin(e, p, GIVEN_BACK, as_owner(__ffs64(p->sharers)), acts);
}

static void told(struct dsm_engine *e, struct dsm_page *p, u64 ver, u64 sharers, struct dsm_actions *acts)
{
	p->flags &= ~DSM_PF_UNACKED;
	dsm_csm_tell(e, p, ver, sharers, acts);
	dsm_rel_page_done(e, p, ver, 0, acts);
	dsm_rel_replay(e, p, acts);
	dsm_page_wake(p, acts);
}

/**
 * dsm_dir_tell() - tell who has copies of a new version
 * @e:    engine
 * @p:    page of a release, not BUSY
 * @ver:  version, whose bytes are in the home's frame
 * @acts: actions
 *
 * Context: engine lock held, in a step that ends with dsm_csm_post().
 */
void dsm_dir_tell(struct dsm_engine *e, struct dsm_page *p, u64 ver, struct dsm_actions *acts)
{
	p->flags |= DSM_PF_UNACKED;
	/* A manager that has settled its part of a region that ends may have taken its words away: all are told. */
	if (is_known(e, p) && !p->space->dir.ending)
		begin(e, p, TELL, ver, acts);
	else
		told(e, p, ver, U64_MAX, acts);
}

/* ---- results ---- */

/* Where homes move to who writes, only a home has the only copy: others ask to be it. */
static bool may_own(const struct dsm_engine *e, const struct dsm_page *p)
{
	return !dsm_page_moves(p) || p->home == e->self;
}

static void entered(struct dsm_engine *e, struct dsm_page *p, const struct dsm_xfer *x,
		    struct dsm_actions *acts)
{
	u16 owner = dsm_dir_owner_of(x->result);

	if (x->imm == LOOK && !x->status && !(x->result & own_bit(e))) {
		begin(e, p, ENTER, 0, acts);
		return;
	}
	if (!x->status) {
		p->dir |= DSM_DIR_IN | (owner == DSM_NO_NODE || p->home == e->self ? 0 : DSM_DIR_OWNED);
		/* Said of a fetch too: its answer may make this node home (dsm_move_take()). */
		if (x->result == (x->imm == LOOK ? own_bit(e) : 0))
			p->csm |= DSM_CSM_SOLE;
	}
	if (p->state == DSM_PAGE_FET) {
		dsm_fetch_entered(e, p, x->status, owner, acts);
		return;
	}
	if (p->home == e->self && x->status)
		dsm_csm_not_entered(e, p, acts);
	else if (p->home == e->self)
		dsm_csm_entered(e, p, owner, acts);
	dsm_page_wake(p, acts);
}

/* It is not, or may not be, the only copy. */
static void refused(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (p->home == e->self)
		dsm_page_set_state(p, DSM_PAGE_HOME);
	else
		dsm_page_set_state(p, p->csm & DSM_CSM_STALE ? DSM_PAGE_INV : DSM_PAGE_RD);
	p->csm &= ~DSM_CSM_STALE;
	if (p->csm & DSM_CSM_BREAK) {
		p->csm &= ~DSM_CSM_BREAK;
		dsm_csm_nothing_back(e, p, acts);
	}
	dsm_page_replay(e, p, acts);
	dsm_page_wake(p, acts);
}

static void owned(struct dsm_engine *e, struct dsm_page *p, const struct dsm_xfer *x, struct dsm_actions *acts)
{
	bool won = !x->status && x->result == x->compare;
	/* Others came in after the exchange, of which a broken connection did not tell; or dsm_dir_unown() left it there. */
	bool names_us = !x->status && dsm_dir_owner_of(x->result) == e->self;

	/* Who has left has seen its bytes arrive here. */
	if (won && p->state == DSM_PAGE_UPG && p->home == e->self) {
		dsm_page_set_state(p, DSM_PAGE_HX);
		dsm_count(e, p->space, excl_enters);
		dsm_page_replay(e, p, acts);
		dsm_page_wake(p, acts);
		return;
	}
	/* A copy that lacks a version would bring its old bytes back (decisions.md P2, mutant M109). */
	if (won && p->state == DSM_PAGE_UPG && !(p->csm & DSM_CSM_STALE) && p->need <= p->ver &&
	    !dsm_ring_names(e, p)) {
		dsm_csm_exclusive(e, p, acts);
		dsm_page_replay(e, p, acts);
		dsm_page_wake(p, acts);
	} else if ((won || names_us) && is_known(e, p)) {
		begin(e, p, DISOWN, 0, acts);
	} else if (p->state == DSM_PAGE_UPG) {
		refused(e, p, acts);
	}
}

static void shared(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	p->csm &= ~DSM_CSM_BREAK;
	dsm_rel_replay(e, p, acts);
	dsm_page_wake(p, acts);
}

static void left(struct dsm_page *p, struct dsm_actions *acts)
{
	p->dir &= ~(DSM_DIR_IN | DSM_DIR_OWNED);
	p->csm &= ~DSM_CSM_DROPPING;
	dsm_page_wake(p, acts);
}

/* With the word is lost who has copies: then everybody may have one. */
static void looked(struct dsm_engine *e, struct dsm_page *p, const struct dsm_xfer *x, struct dsm_actions *acts)
{
	u64 sharers = x->status ? U64_MAX : dsm_dir_set_of(x->result);

	if (may_own(e, p)) {
		p->csm &= ~DSM_CSM_SOLE;
		p->csm |= sharers == own_bit(e) ? DSM_CSM_SOLE : 0;
	}
	told(e, p, x->compare, sharers, acts);
}

/* Nobody knows whether it took place. What changes nothing is done again, and who wants to get in looks anyway. */
static void doubt(struct dsm_engine *e, struct dsm_page *p, const struct dsm_xfer *x, struct dsm_actions *acts)
{
	u32 what = x->imm;

	dsm_count(e, p->space, atomics_doubted);
	if (what == ENTER)
		what = LOOK;
	else if (x->operand)
		what |= DOUBT;
	begin(e, p, what, x->compare, acts);
}

/* Did it, by the word that was looked at? */
static bool took_place(const struct dsm_engine *e, u32 what, const struct dsm_xfer *x)
{
	u64 owner = x->result & DSM_DIR_OWNER_MASK << DSM_DIR_OWNER_SHIFT;

	switch (what) {
	case LEAVE:
		return !(x->result & own_bit(e));
	case OWN:
		return owner == own_owner(e);
	case GIVEN_BACK:
		return owner != x->compare;
	default:
		return owner != own_owner(e);
	}
}

/* The word was looked at. True: @x is as if what was in doubt had just come back; false: it is done again. */
static bool is_clear(struct dsm_engine *e, struct dsm_page *p, struct dsm_xfer *x, struct dsm_actions *acts)
{
	u32 what = x->imm & ~DOUBT;
	bool done = !x->status && took_place(e, what, x);

	x->imm = what;
	if (done && what == OWN && dsm_dir_set_of(x->result) == own_bit(e))
		x->result = x->compare;
	/* An exchange that failed need not be tried again. */
	if (x->status || done || (what == OWN && x->result != x->compare))
		return true;
	begin(e, p, what, x->compare, acts);
	return false;
}

/**
 * dsm_dir_on_xfer() - an atomic is back
 * @e:    engine
 * @x:    transfer of kind DIR; the shell keeps it
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_dir_on_xfer(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts)
{
	struct dsm_page *p = dsm_page_find(e, x->region, x->idx);

	/* The region goes. */
	if (!p || p->xid != x->xid || !(p->dir & DSM_DIR_BUSY))
		return;
	p->dir &= ~DSM_DIR_BUSY;
	if (x->status == DSM_XFER_IN_DOUBT) {
		doubt(e, p, x, acts);
		return;
	}
	/* The end of this node's connection with itself is told by nothing else: its words are as a lost manager's. */
	if (x->status && x->dst == e->self)
		p->space->dir.own = (struct dsm_key){};
	if (x->imm & DOUBT && !is_clear(e, p, x, acts))
		return;
	switch ((enum what)x->imm) {
	case ENTER:
	case LOOK:
		/* Until the loss is told of: then dsm_dir_page_peer_lost() goes on. */
		if (x->status && x->dst != e->self && dsm_engine_alive(e, x->dst))
			p->dir |= DSM_DIR_BUSY;
		else
			entered(e, p, x, acts);
		break;
	case LEAVE:
		left(p, acts);
		break;
	case OWN:
		owned(e, p, x, acts);
		break;
	case DISOWN:
		if (p->state == DSM_PAGE_UPG)
			refused(e, p, acts);
		break;
	case SHARED:
		shared(e, p, acts);
		break;
	case GIVEN_BACK:
		dsm_csm_back_done(e, p, acts);
		break;
	case TELL:
		looked(e, p, x, acts);
		dsm_csm_post(e, acts);
		break;
	}
	if (dsm_csm_has_back(e, p))
		dsm_dir_given_back(e, p, acts);
}

/* ---- where the words are ---- */

/**
 * dsm_dir_on_where() - message CSM_WHERE at the manager
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the page has no word here.
 */
int dsm_dir_on_where(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));
	struct dsm_wire_dir body;
	struct dsm_msgbuf *m;

	dsm_reader_take(r, &body, sizeof(body));
	if (!s || !s->dir.word || !s->n_members || le32_to_cpu(body.idx) >= s->pages ||
	    dsm_page_manager(s, le32_to_cpu(body.idx)) != e->self)
		return -EPROTO;
	body.rkey = cpu_to_le32(s->dir.own.rkey);
	body.addr = cpu_to_le64(s->dir.own.addr);
	m = dsm_msg_new(e, from, DSM_CLASS_RSP, DSM_MSG_CSM_HERE, s->id, le32_to_cpu(hdr->xid));
	dsm_wire_put(m, &body, sizeof(body));
	dsm_act_send(acts, m);
	return 0;
}

/**
 * dsm_dir_on_here() - message CSM_HERE
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if this was not asked for, or it is another place than before.
 */
int dsm_dir_on_here(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		    struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_dir body;
	struct dsm_page *p;
	struct dsm_key *key;

	dsm_reader_take(r, &body, sizeof(body));
	p = dsm_page_find(e, le32_to_cpu(hdr->region), le32_to_cpu(body.idx));
	if (!p || !dsm_dir_busy(p) || !(p->dir & DSM_DIR_OWNED) || p->xid != le32_to_cpu(hdr->xid) ||
	    manager_of(p) != from || !body.rkey || le64_to_cpu(body.addr) % sizeof(u64))
		return -EPROTO;
	key = &p->space->dir.key[from];
	if (key->rkey && (key->rkey != le32_to_cpu(body.rkey) || key->addr != le64_to_cpu(body.addr)))
		return -EPROTO;
	*key = (struct dsm_key){ .addr = le64_to_cpu(body.addr), .rkey = le32_to_cpu(body.rkey) };
	told_where(p);
	dsm_dir_enter(e, p, acts);
	return 0;
}

/* ---- losses ---- */

/**
 * dsm_dir_peer_lost() - a node is gone, and the words that it kept
 * @e:    engine
 * @node: the lost node
 *
 * Context: engine lock held; pages follow.
 */
void dsm_dir_peer_lost(struct dsm_engine *e, u16 node)
{
	struct dsm_space *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(e->spaces); i++)
		hlist_for_each_entry(s, &e->spaces[i], link)
			s->dir.key[node] = (struct dsm_key){};
}

/**
 * dsm_dir_page_peer_lost() - a node is gone that this page's word may have been asked of
 * @e:    engine
 * @p:    page
 * @node: the lost node
 * @acts: actions
 *
 * An atomic that is under way to it comes back by itself, before this or after; what is asked by message does not,
 * and who wants to get into the set was not told of the failure.
 *
 * Context: engine lock held.
 */
void dsm_dir_page_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node, struct dsm_actions *acts)
{
	struct dsm_xfer failed = { .imm = ENTER, .status = -EHOSTDOWN };

	if (!dsm_dir_busy(p) || manager_of(p) != node || p->flags & DSM_PF_UNACKED ||
	    p->csm & (DSM_CSM_DROPPING | DSM_CSM_BREAK) || p->state == DSM_PAGE_UPG)
		return;
	told_where(p);
	entered(e, p, &failed, acts);
}
