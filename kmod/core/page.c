// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * One page at this node: faults, notices, and its life at the home. How a copy comes here is
 * fetch.c's.
 *
 * Tables: protocol.md 3.2 to 3.4 for hlrc. Bytes are
 * copied inside the step by the pure functions of diff.c: a page is in
 * exactly one state whenever the engine lock is free. Never walks page tables.
 */
#include "page.h"
#include "bcast.h"
#include "csm.h"
#include "diff.h"
#include "dir.h"
#include "fetch.h"
#include "move.h"
#include "pipe.h"
#include "release.h"
#include "sc.h"

/**
 * dsm_page_init() - state of a page that this node touches for the first time
 * @e:   engine
 * @s:   region, its members fixed
 * @p:   zeroed structure
 * @idx: page index
 *
 * Context: engine lock held.
 */
void dsm_page_init(struct dsm_engine *e, struct dsm_space *s, struct dsm_page *p, u32 idx)
{
	p->space = s;
	p->idx = idx;
	p->home = dsm_page_manager(s, idx);
	if (s->policy.consistency == DSM_CONSISTENCY_SC)
		p->state = DSM_SC_I;
	else if (p->home != e->self)
		p->state = DSM_PAGE_INV;
	else if (dsm_policy_claims(&s->policy))
		p->state = DSM_PAGE_FREE;
	else
		p->state = DSM_PAGE_HOME;
}

static int write_fault(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (p->state == DSM_PAGE_RD || p->state == DSM_PAGE_HOME)
		dsm_move_wrote(e, p);
	if (p->state == DSM_PAGE_RD && p->csm & DSM_CSM_SOLE && !dsm_fetch_must_wait(p) &&
	    dsm_engine_alive(e, p->home) && dsm_csm_upgrade(e, p, acts))
		return DSM_PAGE_NONE;
	if (p->state == DSM_PAGE_HOME && dsm_page_has_word(p) && p->csm & DSM_CSM_SOLE &&
	    !dsm_fetch_must_wait(p) && dsm_dir_upgrade(e, p, acts))
		return DSM_PAGE_NONE;
	if (p->state == DSM_PAGE_RD) {
		p->twin = dsm_pool_take(e, DSM_POOL_TWIN);
		memcpy(dsm_env_bytes(p->twin), dsm_env_bytes(p->frame), DSM_PAGE_BYTES);
		e->twins++;
		dsm_count(e, p->space, twins);
		dsm_dirty_add(e, p);
		dsm_rel_written(e, p);
		dsm_page_set_state(p, DSM_PAGE_WR);
	} else if (p->state == DSM_PAGE_HOME && dsm_rel_alone(p)) {
		dsm_count(e, p->space, excl_enters);
		dsm_page_set_state(p, DSM_PAGE_HX);
	} else if (p->state == DSM_PAGE_HOME) {
		dsm_dirty_add(e, p);
		dsm_page_set_state(p, DSM_PAGE_HOMEW);
	}
	/*
	 * New writers wait for a flush: a value stored now
	 * could leak half an interval (mm.md 3).
	 */
	if (p->flags & DSM_PF_FLUSH)
		return DSM_PAGE_NONE;
	return DSM_PAGE_WRITABLE;
}

/**
 * dsm_page_fault() - a thread of this node wants to read or write
 * @e:     engine
 * @p:     page, its frame present
 * @write: write wanted
 * @acts:  actions
 *
 * Context: engine lock held. Idempotent: a right that is already there changes nothing.
 * Return: right now held, DSM_PAGE_NONE to wait and ask again, -EHOSTDOWN if the home is lost.
 */
int dsm_page_fault(struct dsm_engine *e, struct dsm_page *p, bool write, struct dsm_actions *acts)
{
	int right;

	if (dsm_page_is_sc(p))
		return dsm_sc_fault(e, p, write, acts);
	switch (p->state) {
	case DSM_PAGE_FREE:
		dsm_page_set_state(p, DSM_PAGE_HOME);
		fallthrough;
	case DSM_PAGE_HOME:
	case DSM_PAGE_HOMEW:
	case DSM_PAGE_RD:
	case DSM_PAGE_WR:
	case DSM_PAGE_EX:
	case DSM_PAGE_HX:
		if (p->home == e->self && dsm_dir_bars(p))
			return dsm_dir_busy(p) || dsm_dir_enter(e, p, acts) ? DSM_PAGE_NONE : -EHOSTDOWN;
		dsm_fetch_used(e, p);
		if (p->home == e->self) {
			p->csm |= DSM_CSM_USED;
			if (!dsm_policy_moves_at_barriers(&p->space->policy))
				p->flags &= ~DSM_PF_UNCLAIMED;
		}
		return write ? write_fault(e, p, acts) : DSM_PAGE_READABLE;
	case DSM_PAGE_INV:
	case DSM_PAGE_WRS:
		right = dsm_fetch_start(e, p, write, acts);
		return write && right == DSM_PAGE_READABLE ? write_fault(e, p, acts) : right;
	case DSM_PAGE_UPG:
		return write ? DSM_PAGE_NONE : dsm_page_right(p);
	case DSM_PAGE_HO:
		dsm_csm_want(e, p, acts);
		return DSM_PAGE_NONE;
	case DSM_PAGE_HB:
		return DSM_PAGE_NONE;
	case DSM_PAGE_LOST:
		return -EHOSTDOWN;
	default:
		return dsm_engine_alive(e, p->home) ? DSM_PAGE_NONE : -EHOSTDOWN;
	}
}

/**
 * dsm_page_right() - what the node may do with its frame right now
 * @p: page
 *
 * Context: engine lock held; the fault path holds the page lock around it (decisions.md P10).
 * Return: DSM_PAGE_NONE, DSM_PAGE_READABLE or DSM_PAGE_WRITABLE.
 */
enum dsm_page_right dsm_page_right(const struct dsm_page *p)
{
	if (dsm_page_is_sc(p))
		return dsm_sc_right(p);
	switch (p->state) {
	case DSM_PAGE_RD:
		return DSM_PAGE_READABLE;
	case DSM_PAGE_HOME:
		return dsm_dir_bars(p) ? DSM_PAGE_NONE : DSM_PAGE_READABLE;
	case DSM_PAGE_UPG:
		return p->csm & DSM_CSM_STALE ? DSM_PAGE_NONE : DSM_PAGE_READABLE;
	case DSM_PAGE_WR:
	case DSM_PAGE_HOMEW:
	case DSM_PAGE_EX:
	case DSM_PAGE_HX:
		return p->flags & DSM_PF_FLUSH ? DSM_PAGE_READABLE : DSM_PAGE_WRITABLE;
	default:
		return DSM_PAGE_NONE;
	}
}

/**
 * dsm_page_busy() - does a thread that was told to wait still have to?
 * @e: engine
 * @p: page
 *
 * Context: engine lock held.
 * Return: false if dsm_page_fault() would get on (or fail) now.
 */
bool dsm_page_busy(const struct dsm_engine *e, const struct dsm_page *p)
{
	if (dsm_page_is_sc(p))
		return dsm_sc_busy(e, p);
	switch (p->state) {
	case DSM_PAGE_FET:
	case DSM_PAGE_WRF:
		return dsm_engine_alive(e, p->home);
	case DSM_PAGE_INV:
	case DSM_PAGE_WRS:
		return dsm_fetch_must_wait(p) && dsm_engine_alive(e, p->home);
	case DSM_PAGE_UPG:
	case DSM_PAGE_HB:
		return true;	/* its own answer, or the step of a loss, ends it */
	case DSM_PAGE_HOME:
		if (dsm_dir_bars(p))
			return dsm_dir_busy(p);
		fallthrough;
	default:
		return p->flags & DSM_PF_FLUSH;
	}
}

static bool drop_right(struct dsm_engine *e, struct dsm_page *p)
{
	if (p->state == DSM_PAGE_RD) {
		dsm_fetch_wasted(e, p);
		dsm_page_set_state(p, DSM_PAGE_INV);
		if (dsm_page_is_csm(p))
			dsm_csm_idle(e, p);
	} else if (p->state == DSM_PAGE_WR) {
		dsm_page_set_state(p, DSM_PAGE_WRS);
	} else if (p->state == DSM_PAGE_UPG && !(p->csm & DSM_CSM_STALE)) {
		p->csm |= DSM_CSM_STALE;
	} else {
		return false;
	}
	dsm_count(e, p->space, invalidations);
	return true;
}

/**
 * dsm_page_notice() - apply a write notice
 * @e:   engine
 * @p:   page
 * @ver: version that the notice names
 *
 * Context: engine lock held, inside an acquire.
 * Return: true if the page lost a right and must be unmapped.
 */
bool dsm_page_notice(struct dsm_engine *e, struct dsm_page *p, u64 ver)
{
	/* The home has every acknowledged diff by definition. Of an sc page nobody tells honestly. */
	if (p->home == e->self || dsm_page_is_sc(p))
		return false;
	dsm_page_needs(p, ver);
	return p->ver < ver && drop_right(e, p);
}

/**
 * dsm_page_invalidate() - the log was trimmed: assume that everything changed
 * @e: engine
 * @p: page
 *
 * Does not raise @need (that would refetch for ever); a reply under way is thrown away once
 * instead (decisions.md P7).
 *
 * Context: engine lock held, inside an acquire.
 * Return: true if the page lost a right and must be unmapped.
 */
bool dsm_page_invalidate(struct dsm_engine *e, struct dsm_page *p)
{
	if (p->home == e->self || dsm_page_is_sc(p))
		return false;
	if (p->state == DSM_PAGE_FET || p->state == DSM_PAGE_WRF)
		p->flags |= DSM_PF_DISCARD;
	return drop_right(e, p);
}

/* ---- home side ---- */

/*
 * What may stand for an answer with bytes, besides them, if there is nothing to say but how much newer
 * they are than what was needed; see dsm_fetch_expand(). 0: it must be said in full.
 */
static u32 brief_of(const struct dsm_page *p, const struct dsm_asker *to,
		    const struct dsm_wire_page *body)
{
	u64 newer = p->ver - to->need;
	u32 chunk = le32_to_cpu(body->chunk_rkey);

	if (body->grant != DSM_GRANT_NONE || body->loose || (chunk && chunk != to->chunk))
		return 0;
	return newer < DSM_BRIEF_MAX ? newer + 1 : 0;
}

static void reply_page(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to,
		       u8 status, u8 grant, u16 home, struct dsm_actions *acts)
{
	struct dsm_wire_page body = {
		.idx = cpu_to_le32(p->idx),
		.status = status,
		.grant = grant,
		.home = cpu_to_le16(home),
		.ver = cpu_to_le64(p->ver),
	};
	struct dsm_msgbuf *m = dsm_msg_new(e, to->node, DSM_CLASS_RSP, DSM_MSG_PAGE, p->space->id,
					   to->xid);
	struct dsm_key key;

	/* The asker gets its sink back with every answer. */
	m->raddr = to->raddr;
	m->rkey = to->rkey;
	body.loose = home == e->self && dsm_moves_loose(p);
	if (home == e->self && dsm_env_key_find(p->space, p->idx, e->self, &key)) {
		body.chunk_addr = cpu_to_le64(key.addr);
		body.chunk_rkey = cpu_to_le32(key.rkey);
	}
	if (status == DSM_PAGE_STATUS_DATA && !dsm_page_is_bcast(p)) {
		/* They leave later, from the live frame: newer than the label perhaps, never older (2.1). */
		dsm_env_frame_get(p->frame);
		m->page = p->frame;
		if (to->rkey) {
			body.status = DSM_PAGE_STATUS_WRITTEN;
			m->brief = brief_of(p, to, &body);
		}
	}
	dsm_wire_put(m, &body, sizeof(body));
	/* A multicast of the label is to be neither older nor newer (mutant M127). */
	if (status == DSM_PAGE_STATUS_DATA && dsm_page_is_bcast(p))
		dsm_wire_put(m, dsm_env_bytes(p->frame), DSM_PAGE_BYTES);
	dsm_act_send(acts, m);
}

/* Never written in any interval: zero pages do not travel. */
static void reply_copy(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to,
		       struct dsm_actions *acts)
{
	bool zero = !p->frame || (!p->ver && p->state == DSM_PAGE_HOME);
	u8 grant = DSM_GRANT_NONE;

	if (dsm_page_is_csm(p))
		grant = dsm_csm_register(e, p, to->node, to->want);
	else
		dsm_rel_shared(e, p);
	if (dsm_moves_to(p, to->node))
		grant = DSM_GRANT_SOLE;
	if (!zero && grant == DSM_GRANT_NONE && dsm_bcast_serve(e, p, to, acts))
		return;
	dsm_count(e, p->space, fetches_served);
	dsm_count(e, p->space, pages_sent);
	reply_page(e, p, to, zero ? DSM_PAGE_STATUS_ZERO : DSM_PAGE_STATUS_DATA, grant, e->self,
		   acts);
}

/**
 * dsm_page_serve() - answer a fetch
 * @e:    engine
 * @p:    page
 * @to:   who asks
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_page_serve(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to,
		    struct dsm_actions *acts)
{
	if (dsm_page_is_home(p)) {
		/* While this node is in the set, it has looked there and nobody else can be an owner. */
		if (to->owner != DSM_NO_NODE && dsm_dir_bars(p) && p->state == DSM_PAGE_HOME &&
		    !dsm_page_moves(p) && !dsm_csm_has_back(e, p)) {
			if (dsm_page_defer(e, p, to))
				dsm_csm_want_from(e, p, to->owner == to->node ? e->self : to->owner, acts);
			return;
		}
		if (dsm_move_may(e, p, to->node, to->want))
			dsm_move_give(e, p, to, false, acts);
		else
			reply_copy(e, p, to, acts);
		return;
	}
	switch (p->state) {
	case DSM_PAGE_FREE:
		/* A guess about the future is no touch (mutant M30). */
		if (to->want == DSM_WANT_LOOK) {
			reply_page(e, p, to, DSM_PAGE_STATUS_NACK, DSM_GRANT_NONE, DSM_NO_NODE, acts);
			return;
		}
		if (!dsm_page_may_home(p->space, to->node)) {
			p->home = e->self;
			dsm_page_set_state(p, DSM_PAGE_HOME);
			reply_copy(e, p, to, acts);
			return;
		}
		p->home = to->node;
		dsm_page_set_state(p, DSM_PAGE_INV);
		reply_page(e, p, to, DSM_PAGE_STATUS_HOME, DSM_GRANT_NONE, to->node, acts);
		return;
	case DSM_PAGE_UPG:
		if (p->home == e->self && dsm_page_has_word(p)) {
			dsm_page_defer(e, p, to);
			return;
		}
		fallthrough;
	case DSM_PAGE_FET:
		/*
		 * Perhaps our own claim is under way, and the
		 * manager knows already (decisions.md P14a).
		 */
		if (dsm_move_is_coming(e, p) && dsm_page_defer(e, p, to))
			return;
		break;
	case DSM_PAGE_HX:
	case DSM_PAGE_HO:
	case DSM_PAGE_HB:
		if (!dsm_page_defer(e, p, to))
			break;
		dsm_csm_want(e, p, acts);
		return;
	case DSM_PAGE_LOST:
		if (p->home != e->self)
			break;
		reply_page(e, p, to, DSM_PAGE_STATUS_GONE, DSM_GRANT_NONE, e->self, acts);
		return;
	}
	reply_page(e, p, to, DSM_PAGE_STATUS_NACK, DSM_GRANT_NONE, p->home, acts);
}

/**
 * dsm_page_on_fetch() - message FETCH
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if there is no such page.
 */
int dsm_page_on_fetch(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		      struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_asker to = { .node = from, .xid = le32_to_cpu(hdr->xid), .owner = DSM_NO_NODE };
	struct dsm_wire_fetch body;
	struct dsm_page *p;

	dsm_reader_take(r, &body, sizeof(body));
	to.want = body.want;
	to.cast = body.cast;
	to.have = le32_to_cpu(body.have);
	if (body.owner)
		to.owner = body.owner - 1;
	to.raddr = le64_to_cpu(body.sink.addr);
	to.rkey = le32_to_cpu(body.sink.rkey);
	to.chunk = le32_to_cpu(body.sink.chunk);
	to.need = le64_to_cpu(body.need);
	p = dsm_page_find(e, le32_to_cpu(hdr->region), le32_to_cpu(body.idx));
	if (!p || dsm_page_is_sc(p) || (body.owner && !dsm_page_has_word(p)))
		return -EPROTO;
	dsm_page_serve(e, p, &to, acts);
	return 0;
}

/**
 * dsm_page_count() - a diff is in the frame: the page's next version
 * @e:    engine
 * @p:    page homed here
 * @from: writer
 * @m:    DIFF_ACK with room for one more entry
 *
 * Context: engine lock held.
 */
void dsm_page_count(struct dsm_engine *e, struct dsm_page *p, u16 from, struct dsm_msgbuf *m)
{
	struct dsm_wire_ack ack = { .idx = cpu_to_le32(p->idx), .prev = cpu_to_le64(p->ver) };

	ack.ver = cpu_to_le64(++p->ver);
	if (dsm_page_is_csm(p)) {
		ack.status = cpu_to_le32(DSM_ACK_SHARED);
		ack.prev = cpu_to_le64(dsm_csm_sharers(e, p) & ~(1ull << from));
		dsm_csm_told(e, p);
	}
	dsm_moves_wrote(e, p, from);
	dsm_move_wrong(p);
	if (dsm_page_moves(p)) {
		p->nacks = 0;
		ack.status = cpu_to_le32(p->state == DSM_PAGE_HOME ? DSM_ACK_QUIET : DSM_ACK_SHARED);
	} else if (dsm_page_is_csm(p) && dsm_moves_to(p, from)) {
		ack.status = cpu_to_le32(DSM_ACK_QUIET);
	}
	dsm_count(e, p->space, diffs_applied);
	dsm_wire_put(m, &ack, sizeof(ack));
}

/**
 * dsm_page_on_diff() - message DIFF: a pack of page records
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, every record checked by dsm_engine_check()
 * @acts: actions
 *
 * Applies all records, then acknowledges with (prev, new) per page: the
 * order that makes labels sound (V-ACK rule, protocol.md 2.1).
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if a page is not homed here (nothing was applied).
 */
int dsm_page_on_diff(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts)
{
	u32 region = le32_to_cpu(hdr->region);
	struct dsm_reader scan;
	struct dsm_page *p = NULL;
	struct dsm_msgbuf *m;

	dsm_reader_skip(r, sizeof(struct dsm_wire_pack));
	for (scan = *r; dsm_reader_left(&scan);) {
		struct dsm_wire_record rec;

		dsm_reader_take(&scan, &rec, sizeof(rec));
		dsm_reader_skip(&scan, le32_to_cpu(rec.bytes));
		p = dsm_page_find(e, region, le32_to_cpu(rec.idx));
		if (p && dsm_page_may_move(p) && p->home != e->self)
			return dsm_move_back(e, p, from, hdr, r, acts);
		if (!p || !p->frame || !dsm_page_takes_diffs(e, p))
			return -EPROTO;
	}
	m = dsm_msg_new(e, from, DSM_CLASS_RSP, DSM_MSG_DIFF_ACK, region, le32_to_cpu(hdr->xid));
	while (dsm_reader_left(r)) {
		const u8 *at = r->pos;
		struct dsm_wire_record rec;

		dsm_reader_take(r, &rec, sizeof(rec));
		dsm_reader_skip(r, le32_to_cpu(rec.bytes));
		p = dsm_page_find(e, region, le32_to_cpu(rec.idx));
		dsm_diff_apply(at, dsm_env_bytes(p->frame), DSM_PAGE_BYTES);
		dsm_page_count(e, p, from, m);
	}
	dsm_page_ack_key(e, p, m);
	dsm_act_send(acts, m);
	return 0;
}

static int acked(struct dsm_engine *e, struct dsm_page *p, u16 from, const struct dsm_wire_ack *ack,
		 struct dsm_actions *acts)
{
	u64 ver = le64_to_cpu(ack->ver), told = le64_to_cpu(ack->prev);
	bool quiet = le32_to_cpu(ack->status) == DSM_ACK_QUIET;
	bool shared = quiet || le32_to_cpu(ack->status) == DSM_ACK_SHARED;

	if (!p || dsm_page_is_sc(p) || p->home != from || !(p->flags & DSM_PF_UNACKED) ||
	    shared != dsm_page_is_csm(p) || (quiet && !dsm_page_may_move(p)) || (!shared && told + 1 != ver) ||
	    dsm_dir_busy(p))
		return -EPROTO;
	/*
	 * Others' diffs in between are missing from our
	 * copy: then the label stays (L37, mutant M3). Without a copy it only
	 * says what the home has, which labels the next READ.
	 */
	if (ver - 1 == p->ver)
		p->ver = ver;
	else if (p->state == DSM_PAGE_INV)
		p->ver = max(p->ver, ver);
	if (shared) {
		p->csm &= ~DSM_CSM_SOLE;
		p->csm |= quiet || (!told && !dsm_page_moves(p)) ? DSM_CSM_SOLE : 0;
	}
	/* The bytes are at home: who has a copy by now is told (mutant M106). */
	if (dsm_page_has_word(p)) {
		dsm_dir_tell(e, p, ver, acts);
		return 0;
	}
	p->flags &= ~DSM_PF_UNACKED;
	if (shared)
		dsm_csm_tell(e, p, ver, told, acts);
	dsm_rel_page_done(e, p, ver, 0, acts);
	dsm_rel_replay(e, p, acts);
	dsm_page_wake(p, acts);
	return 0;
}

/**
 * dsm_page_on_diff_ack() - message DIFF_ACK
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if it acknowledges what was not sent to @from.
 */
int dsm_page_on_diff_ack(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			 struct dsm_reader *r, struct dsm_actions *acts)
{
	int err = 0;

	if (!dsm_pipe_awaits(e, from, le32_to_cpu(hdr->xid)))
		return -EPROTO;
	while (dsm_reader_left(r) && !err) {
		struct dsm_wire_ack ack;

		dsm_reader_take(r, &ack, sizeof(ack));
		if (le32_to_cpu(ack.status) != DSM_ACK_KEY)
			err = acked(e, dsm_page_find(e, le32_to_cpu(hdr->region), le32_to_cpu(ack.idx)),
				    from, &ack, acts);
	}
	dsm_csm_post(e, acts);
	if (!err)
		dsm_pipe_acked(e, from, le32_to_cpu(hdr->xid), acts);
	return err;
}

/**
 * dsm_page_peer_lost() - a node is gone; what of this page depended on it
 * @e:    engine
 * @p:    page
 * @node: the lost node
 * @acts: actions
 *
 * A diff under way will not be acknowledged and a merge not be answered: the release goes on
 * with -EHOSTDOWN (decisions.md P11). Valid copies stay readable.
 *
 * Context: engine lock held; once per page after dsm_engine_peer_lost().
 */
void dsm_page_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node,
			struct dsm_actions *acts)
{
	if (dsm_page_is_sc(p)) {
		dsm_sc_peer_lost(e, p, node, acts);
		return;
	}
	if (p->home == e->self && dsm_page_is_csm(p))
		dsm_csm_home_peer_lost(e, p, node, acts);
	dsm_dir_page_peer_lost(e, p, node, acts);
	dsm_moves_page_lost(p, node);
	if (p->home != node)
		return;
	dsm_fetch_peer_lost(e, p);
	if (dsm_page_is_csm(p) || dsm_page_may_move(p))
		dsm_csm_copy_peer_lost(e, p, acts);
	/* If an atomic is under way, it was acknowledged. */
	if (p->flags & DSM_PF_UNACKED && !dsm_dir_busy(p)) {
		p->flags &= ~DSM_PF_UNACKED;
		dsm_rel_page_done(e, p, 0, -EHOSTDOWN, acts);
	}
	dsm_rel_replay(e, p, acts);
	dsm_page_replay(e, p, acts);
	dsm_page_wake(p, acts);
}
