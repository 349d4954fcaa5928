// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * How a copy of a page comes to this node.
 *
 * By message, asking the home: the reply carries the bytes, or the home writes them into the frame
 * first. By READ, without the home: the label is then what this node has been told of the page when
 * the READ starts, see dsm_fetch_on_read(). Or not at all: a page that nobody told of is zero.
 * Never walks page tables.
 */
#include "fetch.h"
#include "bcast.h"
#include "csm.h"
#include "diff.h"
#include "move.h"
#include "release.h"

#define MAX_NACKS 4
/*
 * Stale answers in a row, each to a request that a notice has overtaken. A notice of a version that never was would
 * make two nodes exchange the page for ever.
 */
#define MAX_STALE 15

/* ---- asking ---- */

static enum dsm_fetch_want want_of(const struct dsm_page *p)
{
	if (p->state == DSM_PAGE_WRF)
		return DSM_WANT_MERGE;
	if (p->csm & DSM_CSM_WRITER)
		return DSM_WANT_EXCLUSIVE;
	return p->flags & DSM_PF_AHEAD ? DSM_WANT_LOOK : DSM_WANT_COPY;
}

static void send_fetch(struct dsm_engine *e, struct dsm_page *p, u16 owner, struct dsm_actions *acts)
{
	struct dsm_wire_fetch body = {
		.idx = cpu_to_le32(p->idx),
		.want = want_of(p),
		.owner = owner == DSM_NO_NODE ? 0 : owner + 1,
		.cast = dsm_bcast_takes(e, p),
		.need = cpu_to_le64(p->need),
	};
	struct dsm_msgbuf *m;
	struct dsm_key key;

	if (body.cast)
		body.have = cpu_to_le32(dsm_bcast_have(e, p));
	/* I8: no fetch while an own diff is unacknowledged (L17). */
	dsm_assert(!(p->flags & DSM_PF_UNACKED));
	p->flags &= ~DSM_PF_READ;
	p->xid = dsm_xid_next(e);
	m = dsm_msg_new(e, p->home, DSM_CLASS_REQ, DSM_MSG_FETCH, p->space->id, p->xid);
	/* A merge needs the bytes beside the frame, not in it. */
	if (p->space->policy.fetch != DSM_FETCH_COPY && p->state == DSM_PAGE_FET) {
		m->sink = p->frame;
		if (dsm_env_key_find(p->space, p->idx, p->home, &key))
			body.sink.chunk = cpu_to_le32(key.rkey);
	}
	dsm_wire_put(m, &body, sizeof(body));
	dsm_act_send(acts, m);
}

/* With metadata=rdma from within the sharing set only, and knowing who had the only copy (L38, mutant M105). */
static bool must_enter(const struct dsm_page *p)
{
	return dsm_page_has_word(p) && (!(p->dir & DSM_DIR_IN) || p->dir & DSM_DIR_OWNED);
}

static bool ask(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if (must_enter(p))
		return dsm_dir_enter(e, p, acts);
	send_fetch(e, p, DSM_NO_NODE, acts);
	return true;
}

/* The home's registration, if the page may be read: then @key is that of its chunk. */
static bool can_read(const struct dsm_engine *e, const struct dsm_page *p, struct dsm_key *key)
{
	struct dsm_space *s = p->space;

	/* A first-touch manager that is asked first may have a frame, but no bytes. */
	return s->policy.fetch == DSM_FETCH_READ && dsm_csm_may_read(p) &&
	       (!dsm_policy_claims(&s->policy) || dsm_moves_settled(p)) &&
	       dsm_env_key_find(s, p->idx, p->home, key);
}

static void add_seg(struct dsm_xfer *x, struct dsm_page *p, void *target)
{
	dsm_assert(!(p->flags & (DSM_PF_UNACKED | DSM_PF_READ)));
	x->seg[x->n_segs++] = (struct dsm_seg){ .page = target, .len = DSM_PAGE_BYTES };
	p->xid = x->xid;
	p->flags |= DSM_PF_READ;
}

static struct dsm_xfer *start_read(struct dsm_engine *e, struct dsm_page *p,
				   const struct dsm_key *key, struct dsm_actions *acts)
{
	struct dsm_xfer *x = dsm_pool_take(e, DSM_POOL_XFER);
	bool merge = p->state == DSM_PAGE_WRF;

	x->op = DSM_XFER_READ;
	x->kind = merge ? DSM_XFER_KIND_MERGE : DSM_XFER_KIND_FETCH;
	x->fence = false;
	x->yields = true;
	x->n_segs = 0;
	x->dst = p->home;
	x->rkey = key->rkey;
	x->remote = key->addr + (u64)(p->idx % DSM_CHUNK_PAGES) * DSM_PAGE_BYTES;
	x->status = 0;
	x->region = p->space->id;
	x->idx = p->idx;
	x->xid = dsm_xid_next(e);
	add_seg(x, p, merge ? dsm_pool_take(e, DSM_POOL_TWIN) : p->frame);
	dsm_act_xfer(acts, x);
	return x;
}

/*
 * Is the page zero as far as anybody here can tell? Never written before anything that this node
 * has acquired, and never here: whoever wrote it is concurrent with all that runs here.
 */
static bool is_untold(const struct dsm_engine *e, const struct dsm_page *p)
{
	const struct dsm_space *s = p->space;
	u32 bit = DSM_TOLD_BIT(p->idx);

	/* A copy that nobody knows of would not be told of. */
	if (dsm_page_is_csm(p))
		return false;
	return p->state == DSM_PAGE_INV && !p->need && !p->ver && s->all_told && !e->inval_all &&
	       !dsm_policy_claims(&s->policy) && !(s->told[bit / 64] & 1ull << bit % 64);
}

/**
 * dsm_fetch_start() - get a copy
 * @e:     engine
 * @p:     page in INV or WRS, its frame present and, unless written or fetched before, zero
 * @write: it is to be written
 * @acts:  actions
 *
 * Context: engine lock held.
 * Return: DSM_PAGE_NONE: wait and ask again; DSM_PAGE_READABLE: it is here; -EHOSTDOWN if the home
 * is lost.
 */
int dsm_fetch_start(struct dsm_engine *e, struct dsm_page *p, bool write, struct dsm_actions *acts)
{
	struct dsm_key key;

	if (!dsm_engine_alive(e, p->home) ||
	    (must_enter(p) && !dsm_dir_is_there(e, p)))
		return -EHOSTDOWN;
	if (dsm_fetch_must_wait(p))
		return DSM_PAGE_NONE;
	if (is_untold(e, p)) {
		dsm_count(e, p->space, zero_local);
		dsm_page_set_state(p, DSM_PAGE_RD);
		return DSM_PAGE_READABLE;
	}
	dsm_page_set_state(p, p->state == DSM_PAGE_WRS ? DSM_PAGE_WRF : DSM_PAGE_FET);
	p->csm &= ~DSM_CSM_IDLE;
	if (p->state == DSM_PAGE_FET && (dsm_page_is_csm(p) || dsm_page_may_move(p)) &&
	    (dsm_move_predict(e, p, write) || write)) {
		p->csm |= DSM_CSM_WRITER;
		dsm_count_many(e, p->space, migration_attempts, dsm_page_moves(p));
	}
	if (can_read(e, p, &key))
		start_read(e, p, &key, acts);
	else
		ask(e, p, acts);
	return DSM_PAGE_NONE;
}

/**
 * dsm_fetch_ahead() - start fetching pages that nobody waits for
 * @e:     engine
 * @pages: ascending, of one region, frames present
 * @n:     their number, at most DSM_FETCH_AHEAD_MAX
 * @acts:  actions
 *
 * Neighbours that can be read from one registration are read by one transfer.
 *
 * Context: engine lock held.
 */
void dsm_fetch_ahead(struct dsm_engine *e, struct dsm_page **pages, u32 n, struct dsm_actions *acts)
{
	struct dsm_xfer *x = NULL;
	u32 i;

	static_assert(DSM_FETCH_AHEAD_MAX <= DSM_STEP_MSGS && DSM_FETCH_AHEAD_MAX <= DSM_STEP_XFERS);
	for (i = 0; i < n; i++) {
		struct dsm_page *p = pages[i];
		struct dsm_key key;
		bool read;

		if (dsm_fetch_is_over(p))
			continue;
		if (p->state != DSM_PAGE_INV || dsm_fetch_must_wait(p) ||
		    !dsm_engine_alive(e, p->home) ||
		    (must_enter(p) && !dsm_dir_is_there(e, p)))
			continue;
		if (is_untold(e, p)) {
			dsm_count(e, p->space, zero_local);
			dsm_page_set_state(p, DSM_PAGE_RD);
			continue;
		}
		read = can_read(e, p, &key);
		dsm_page_set_state(p, DSM_PAGE_FET);
		p->csm &= ~DSM_CSM_IDLE;
		p->flags |= DSM_PF_AHEAD;
		dsm_count(e, p->space, ahead_issued);
		if (!read)
			ask(e, p, acts);
		else if (x && x->dst == p->home && x->rkey == key.rkey &&
			 x->idx + x->n_segs == p->idx && p->idx % DSM_CHUNK_PAGES)
			add_seg(x, p, p->frame);
		else
			x = start_read(e, p, &key, acts);
	}
}

/* ---- answers ---- */

static void install(struct dsm_engine *e, struct dsm_page *p, u64 ver, const u8 *data, bool zero,
		    struct dsm_actions *acts)
{
	u8 *frame = dsm_env_bytes(p->frame);

	p->ver = ver;
	if (p->state == DSM_PAGE_FET) {
		if (zero)
			memset(frame, 0, DSM_PAGE_BYTES);
		else if (data)
			memcpy(frame, data, DSM_PAGE_BYTES);
		dsm_page_set_state(p, DSM_PAGE_RD);
	} else {
		if (data)
			dsm_count_many(e, p->space, race_conflicts,
				       dsm_diff_merge(frame, dsm_env_bytes(p->twin), data, DSM_PAGE_BYTES));
		dsm_count(e, p->space, merges);
		dsm_page_set_state(p, DSM_PAGE_WR);
		dsm_rel_replay(e, p, acts);
	}
}

static void answered(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	p->nacks = 0;
	p->flags &= ~DSM_PF_DISCARD;
	if (p->home != e->self)
		p->flags &= ~DSM_PF_LOOSE;
	p->csm &= ~DSM_CSM_WRITER;
	dsm_bcast_ended(p);
	dsm_page_replay(e, p, acts);
	dsm_page_wake(p, acts);
}

/* Back to where it was before the fetch. */
static void give_up(struct dsm_engine *e, struct dsm_page *p)
{
	dsm_bcast_ended(p);
	if (p->state == DSM_PAGE_FET) {
		dsm_fetch_wasted(e, p);
		dsm_page_set_state(p, DSM_PAGE_INV);
		dsm_csm_given_up(e, p);
	} else if (p->state == DSM_PAGE_WRF) {
		dsm_page_set_state(p, DSM_PAGE_WRS);
	}
}

/* Who waits asks again, and finds out what is wrong. */
static void unanswered(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	give_up(e, p);
	dsm_rel_replay(e, p, acts);
	answered(e, p, acts);
}

static int retry_at(struct dsm_engine *e, struct dsm_page *p, u16 home, struct dsm_actions *acts)
{
	u16 manager = dsm_page_manager(p->space, p->idx);

	/* Nobody has touched it yet. */
	if (home == DSM_NO_NODE && p->flags & DSM_PF_AHEAD) {
		unanswered(e, p, acts);
		return 0;
	}
	/* A hint of a page that moves leads to its home; the manager's is older. */
	if (dsm_page_may_move(p) && home >= DSM_MAX_NODES)
		return -EPROTO;
	if (!dsm_page_may_move(p) && (home >= e->n_nodes || ++p->nacks > MAX_NACKS))
		home = manager;
	/* Only the manager itself may have nobody else to ask; then the page can't be had. */
	if (home == e->self)
		return -EPROTO;
	p->home = home;
	p->flags &= ~DSM_PF_HOMED;
	if (!dsm_engine_alive(e, home) || !ask(e, p, acts))
		unanswered(e, p, acts);
	return 0;
}

/**
 * dsm_fetch_entered() - a page is in the sharing set, and may be fetched
 * @e:      engine
 * @p:      page in FET
 * @status: 0, or why it is not
 * @owner:  node that had the only copy, or DSM_NO_NODE
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_fetch_entered(struct dsm_engine *e, struct dsm_page *p, int status, u16 owner,
		       struct dsm_actions *acts)
{
	if (status || !dsm_engine_alive(e, p->home))
		unanswered(e, p, acts);
	else
		send_fetch(e, p, owner, acts);
}

static int take_home(struct dsm_engine *e, struct dsm_page *p, u64 ver)
{
	if (p->state != DSM_PAGE_FET || p->flags & DSM_PF_AHEAD ||
	    !dsm_policy_claims(&p->space->policy))
		return -EPROTO;
	memset(dsm_env_bytes(p->frame), 0, DSM_PAGE_BYTES);
	p->home = e->self;
	p->ver = ver;
	p->xid = 0;
	p->dir &= ~DSM_DIR_OWNED;
	p->flags &= ~DSM_PF_LOOSE;
	if (dsm_page_is_csm(p))
		p->sharers = 0;
	dsm_page_set_state(p, DSM_PAGE_HOME);
	return 0;
}

static bool may_grant(const struct dsm_page *p, u8 grant)
{
	if (grant == DSM_GRANT_EXCLUSIVE)
		return dsm_page_is_csm(p) && !dsm_page_has_word(p) && p->state == DSM_PAGE_FET &&
		       p->csm & DSM_CSM_WRITER;
	return grant == DSM_GRANT_NONE || dsm_page_is_csm(p) || dsm_page_may_move(p);
}

static int lose(struct dsm_engine *e, struct dsm_page *p)
{
	if (p->state != DSM_PAGE_FET || !dsm_page_is_csm(p))
		return -EPROTO;
	dsm_fetch_wasted(e, p);
	dsm_count(e, p->space, pages_lost);
	dsm_page_set_state(p, DSM_PAGE_LOST);
	return 0;
}

/* The reply predates a notice that was applied meanwhile (L16, mutant M19). */
static bool is_stale(const struct dsm_page *p, u64 ver)
{
	return ver < p->need || p->flags & DSM_PF_DISCARD;
}

static void ask_again(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	p->flags &= ~DSM_PF_DISCARD;
	e->stats.stale_replies++;
	/* Nobody may be waiting: a guess is not repeated. Nor is this without end: who waits may have been killed. */
	if (p->flags & DSM_PF_AHEAD || (p->nacks == MAX_STALE && dsm_page_fetching(p))) {
		unanswered(e, p, acts);
		return;
	}
	if (p->nacks < MAX_STALE)
		p->nacks++;
	send_fetch(e, p, DSM_NO_NODE, acts);
}

static int take_copy(struct dsm_engine *e, struct dsm_page *p, const struct dsm_wire_page *body,
		     const u8 *data, struct dsm_actions *acts)
{
	u64 ver = le64_to_cpu(body->ver);

	if (body->status == DSM_PAGE_STATUS_WRITTEN &&
	    (p->state != DSM_PAGE_FET || p->space->policy.fetch == DSM_FETCH_COPY))
		return -EPROTO;
	if (!may_grant(p, body->grant))
		return -EPROTO;
	/* Neither its home nor this node must know that it may move (mutant M117). */
	if (!body->loose && !(p->flags & DSM_PF_LOOSE))
		p->flags |= DSM_PF_HOMED;
	p->dir &= ~DSM_DIR_OWNED;
	dsm_csm_joined(p);
	/* Of an exclusive page there is no newer version until it is given back. */
	if (body->grant != DSM_GRANT_EXCLUSIVE && is_stale(p, ver)) {
		dsm_count(e, p->space, pages_dropped);
		ask_again(e, p, acts);
		return -EAGAIN;
	}
	if (body->status == DSM_PAGE_STATUS_ZERO)
		dsm_count(e, p->space, zero_replies);
	else
		dsm_count(e, p->space, page_transfers);
	if (body->status == DSM_PAGE_STATUS_WRITTEN)
		dsm_count(e, p->space, page_writes);
	/* Nor is there one that a third node may have named. */
	if (body->grant == DSM_GRANT_EXCLUSIVE)
		p->need = min(p->need, ver);
	install(e, p, ver, data, body->status == DSM_PAGE_STATUS_ZERO, acts);
	/* Who had a copy before this node had one, it has seen itself. */
	if (!dsm_page_has_word(p) || dsm_page_moves(p))
		p->csm &= ~DSM_CSM_SOLE;
	if (body->grant == DSM_GRANT_EXCLUSIVE)
		dsm_csm_exclusive(e, p, acts);
	else if (body->grant == DSM_GRANT_SOLE)
		p->csm |= DSM_CSM_SOLE;
	return 0;
}

/* The question whether the home may come here was put to another node: write as others do. */
static int ask_no_more(struct dsm_engine *e, struct dsm_page *p, u16 home, struct dsm_actions *acts)
{
	if (!dsm_page_may_move(p) || home >= DSM_MAX_NODES || home == e->self)
		return -EPROTO;
	p->home = home;
	p->flags &= ~DSM_PF_HOMED;
	dsm_page_set_state(p, p->csm & DSM_CSM_STALE ? DSM_PAGE_INV : DSM_PAGE_RD);
	p->csm &= ~(DSM_CSM_SOLE | DSM_CSM_STALE);
	answered(e, p, acts);
	return 0;
}

static bool awaits(const struct dsm_engine *e, const struct dsm_page *p, u8 status)
{
	if (p->flags & DSM_PF_READ || dsm_dir_busy(p) || dsm_bcast_awaits(e, p))
		return false;
	if (p->state == DSM_PAGE_UPG)
		return status == DSM_PAGE_STATUS_NACK || status == DSM_PAGE_STATUS_MOVED;
	return dsm_page_fetching(p);
}

static bool has_page(u8 status)
{
	return status == DSM_PAGE_STATUS_DATA || status == DSM_PAGE_STATUS_WRITTEN || status == DSM_PAGE_STATUS_ZERO;
}

/**
 * dsm_fetch_on_reply() - message PAGE
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0 (also for a reply that nobody waits for any more), -EPROTO.
 */
int dsm_fetch_on_reply(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		       struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_page body;
	struct dsm_page *p;
	const u8 *data = NULL;
	int err;

	dsm_reader_take(r, &body, sizeof(body));
	p = dsm_page_find(e, le32_to_cpu(hdr->region), le32_to_cpu(body.idx));
	if (!p || p->home != from || p->xid != le32_to_cpu(hdr->xid) || !awaits(e, p, body.status)) {
		e->stats.stale_replies++;
		dsm_count_many(e, p ? p->space : NULL, pages_dropped, has_page(body.status));
		return 0;
	}
	/* A break is only sent to who was granted the page. */
	if (p->csm & DSM_CSM_BREAK && (body.grant != DSM_GRANT_EXCLUSIVE || !has_page(body.status)))
		return -EPROTO;
	switch (body.status) {
	case DSM_PAGE_STATUS_MOVED:
		return dsm_move_take(e, p, le64_to_cpu(body.ver), r, acts);
	case DSM_PAGE_STATUS_NACK:
		if (p->state == DSM_PAGE_UPG)
			return ask_no_more(e, p, le16_to_cpu(body.home), acts);
		return retry_at(e, p, le16_to_cpu(body.home), acts);
	case DSM_PAGE_STATUS_CAST:
		if (!dsm_bcast_takes(e, p) || body.grant != DSM_GRANT_NONE)
			return -EPROTO;
		if (!(p->flags & DSM_PF_LOOSE))
			p->flags |= DSM_PF_HOMED;
		return dsm_bcast_on_told(e, p, le64_to_cpu(body.ver), r, acts);
	case DSM_PAGE_STATUS_HOME:
		err = take_home(e, p, le64_to_cpu(body.ver));
		break;
	case DSM_PAGE_STATUS_GONE:
		err = lose(e, p);
		break;
	case DSM_PAGE_STATUS_DATA:
		data = dsm_reader_skip(r, DSM_PAGE_BYTES);
		if (!data)
			return -EPROTO;
		fallthrough;
	default:
		err = take_copy(e, p, &body, data, acts);
	}
	if (!err)
		answered(e, p, acts);
	return err == -EAGAIN ? 0 : err;
}

/**
 * dsm_fetch_cast() - the bytes of a fetch have come by multicast
 * @e:     engine
 * @p:     page in FET whose home has said so
 * @ver:   their version
 * @bytes: DSM_PAGE_BYTES
 * @acts:  actions
 *
 * Context: engine lock held.
 */
void dsm_fetch_cast(struct dsm_engine *e, struct dsm_page *p, u64 ver, const u8 *bytes,
		    struct dsm_actions *acts)
{
	if (is_stale(p, ver)) {
		ask_again(e, p, acts);
		return;
	}
	dsm_count(e, p->space, page_transfers);
	dsm_count(e, p->space, bcast_hits);
	install(e, p, ver, bytes, false, acts);
	p->dir &= ~DSM_DIR_OWNED;
	if (!dsm_page_has_word(p) || dsm_page_moves(p))
		p->csm &= ~DSM_CSM_SOLE;
	answered(e, p, acts);
}

/**
 * dsm_fetch_plain() - they have not, or may not be used: ask for them by themselves
 * @e:    engine
 * @p:    page in FET, its last request answered
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_fetch_plain(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	p->dir |= DSM_CAST_NOT;
	/* What was thrown away once is not what is asked for now. */
	p->flags &= ~DSM_PF_DISCARD;
	send_fetch(e, p, DSM_NO_NODE, acts);
}

/**
 * dsm_fetch_key() - what a message tells of the sender's registration
 * @msg: message that passed dsm_engine_check()
 * @len: its length in bytes
 * @idx: out: a page of the chunk
 * @key: out: the registration
 *
 * The shell calls it before the step of every message of a peer, and remembers the key by region,
 * chunk and peer until one of them goes.
 *
 * Context: any.
 * Return: true if it tells of one.
 */
bool dsm_fetch_key(const u8 *msg, u32 len, u32 *idx, struct dsm_key *key)
{
	struct dsm_reader r = dsm_reader_init(msg, len);
	struct dsm_wire_page body;
	struct dsm_wire_hdr hdr;
	struct dsm_wire_ack ack;

	dsm_reader_take(&r, &hdr, sizeof(hdr));
	if (!r.bad && hdr.type == DSM_MSG_DIFF_ACK && dsm_reader_left(&r) >= sizeof(ack)) {
		dsm_reader_skip(&r, dsm_reader_left(&r) - sizeof(ack));
		dsm_reader_take(&r, &ack, sizeof(ack));
		*idx = le32_to_cpu(ack.idx);
		key->addr = le64_to_cpu(ack.prev);
		key->rkey = le64_to_cpu(ack.ver);
		return le32_to_cpu(ack.status) == DSM_ACK_KEY && key->rkey;
	}
	if (r.bad || hdr.type != DSM_MSG_PAGE)
		return false;
	dsm_reader_take(&r, &body, sizeof(body));
	*idx = le32_to_cpu(body.idx);
	key->addr = le64_to_cpu(body.chunk_addr);
	key->rkey = le32_to_cpu(body.chunk_rkey);
	return !r.bad && key->rkey;
}

/**
 * dsm_fetch_expand() - what a number in the place of an answer says
 * @request: request that is answered, as it was sent
 * @len:     its length in bytes
 * @from:    its receiver
 * @brief:   the number, not checked
 * @msg:     out: the answer, DSM_HDR_BYTES + sizeof(struct dsm_wire_page) bytes
 *
 * Of the header what the core reads. Undoes brief_of() in page.c.
 *
 * Context: any.
 * Return: length of the answer in bytes, -EPROTO: there is no such answer to it.
 */
int dsm_fetch_expand(const u8 *request, u32 len, u16 from, u32 brief, u8 *msg)
{
	struct dsm_reader r = dsm_reader_init(request, len);
	struct dsm_wire_fetch fetch;
	struct dsm_wire_page body;
	struct dsm_wire_hdr hdr;

	dsm_reader_take(&r, &hdr, sizeof(hdr));
	dsm_reader_take(&r, &fetch, sizeof(fetch));
	if (r.bad || hdr.type != DSM_MSG_FETCH || !brief)
		return -EPROTO;
	hdr = (struct dsm_wire_hdr){
		.type = DSM_MSG_PAGE,
		.len = cpu_to_le16(sizeof(hdr) + sizeof(body)),
		.src = cpu_to_le32(from),
		.region = hdr.region,
		.xid = hdr.xid,
	};
	body = (struct dsm_wire_page){
		.idx = fetch.idx,
		.status = DSM_PAGE_STATUS_WRITTEN,
		.grant = DSM_GRANT_NONE,
		.home = cpu_to_le16(from),
		.ver = cpu_to_le64(le64_to_cpu(fetch.need) + brief - 1),
	};
	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + sizeof(hdr), &body, sizeof(body));
	return sizeof(hdr) + sizeof(body);
}

static void read_done(struct dsm_engine *e, struct dsm_page *p, int status, const u8 *data,
		      struct dsm_actions *acts)
{
	p->flags &= ~DSM_PF_READ;
	if (!dsm_page_fetching(p))
		return;	/* the loss of the home was worked on already */
	if (status) {
		/* If not yet: dsm_page_peer_lost() will wake who waits. */
		if (dsm_engine_alive(e, p->home))
			return;
		give_up(e, p);
	} else if (p->flags & DSM_PF_DISCARD) {
		e->stats.stale_replies++;
		give_up(e, p);
	} else {
		dsm_count(e, p->space, page_transfers);
		dsm_count(e, p->space, page_reads);
		install(e, p, max(p->ver, p->need), data, false, acts);
	}
	dsm_rel_replay(e, p, acts);
	answered(e, p, acts);
}

/**
 * dsm_fetch_on_read() - a READ of pages is back
 * @e:    engine
 * @x:    transfer that a step of this unit made; stays the shell's
 * @acts: actions
 *
 * The label. A writer tells of version v after its home acknowledged it, and the home acknowledges
 * after the bytes are in its frame and gives out versions in order. So when a notice of v was
 * applied here, all up to v were in the home's frame, and a READ that starts later contains
 * them: its label is what is needed (or was known of the home) when it starts. What rises
 * meanwhile makes dsm_page_notice() throw the READ away. Bytes of later versions, torn ones
 * too, belong to writes that nobody here may look at before such a notice.
 *
 * Context: engine lock held.
 */
void dsm_fetch_on_read(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts)
{
	u8 i;

	for (i = 0; i < x->n_segs; i++) {
		struct dsm_page *p = dsm_page_find(e, x->region, x->idx + i);
		const u8 *data = NULL;

		if (x->kind == DSM_XFER_KIND_MERGE)
			data = dsm_env_bytes(x->seg[i].page);
		if (p && p->xid == x->xid && p->flags & DSM_PF_READ)
			read_done(e, p, x->status, data, acts);
	}
	if (x->kind == DSM_XFER_KIND_MERGE)
		dsm_pool_give(e, DSM_POOL_TWIN, x->seg[0].page);
}

/**
 * dsm_fetch_peer_lost() - the home is gone: a fetch under way will not be answered
 * @e: engine
 * @p: page
 *
 * A READ whose frame is still a target keeps its mark until it is back.
 *
 * Context: engine lock held; the caller wakes who waits.
 */
void dsm_fetch_peer_lost(struct dsm_engine *e, struct dsm_page *p)
{
	dsm_bcast_forget(e, p);
	give_up(e, p);
}
