// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * A page of a region with consistency=sc at a node that uses it (protocol.md 3.7).
 *
 * A thread that lacks a right asks the home. A recall takes rights away: the page is held for a
 * while first, so that whoever waited for it gets to use it; then its right is lowered, the shell
 * walks the page tables, and only then does the home hear of it. Nothing here is decided by
 * time but how long that takes. Never knows who else has a copy.
 */
#include "sc.h"

/*
 * How long a page is held from its first use on: long enough for an access that needs several pages
 * to get the others, which takes a fetch each, and not equally long everywhere, so that two nodes
 * that need each other's pages do not go on exchanging them (decisions.md P13).
 */
#define HOLD_MIN_NS 100000ull
/* A network as slow as this is too slow for more: a page is held for four times as long at most, and once again. */
#define HOLD_FETCH_NS 50000000ull
/* A thread that was woken comes to use it within this time, or the page waits for it no longer. */
#define GRACE_NS 20000000ull

/* A page with a device's references: how often it is looked at, and for how long (P9). */
#define PIN_RETRY_NS 1000000ull
#define PIN_BOUND_NS 10000000000ull

static u64 hold_ns(struct dsm_engine *e)
{
	u64 fetch = min_t(u64, e->sc_fetch_ns, HOLD_FETCH_NS);

	e->sc_random = e->sc_random * 1664525u + 1013904223u;
	return max_t(u64, 2 * fetch, HOLD_MIN_NS) + (2 * fetch * (e->sc_random >> 16) >> 16);
}

/**
 * dsm_sc_send() - a message about a page
 * @e:    engine
 * @p:    page
 * @to:   receiver, not this node
 * @type: DSM_MSG_SC_*
 * @body: body; idx is filled in; with DSM_SC_DATA the bytes of the frame follow
 * @acts: actions
 *
 * The bytes are copied here: a frame that a message still refers to would look pinned.
 *
 * Context: engine lock held.
 */
void dsm_sc_send(struct dsm_engine *e, struct dsm_page *p, u16 to, u8 type,
		 const struct dsm_wire_sc *body, struct dsm_actions *acts)
{
	struct dsm_wire_sc out = *body;
	struct dsm_msgbuf *m;
	u8 class;

	class = type == DSM_MSG_SC_GET ? DSM_CLASS_REQ :
		type == DSM_MSG_SC_RECALL ? DSM_CLASS_FWD : DSM_CLASS_RSP;
	out.idx = cpu_to_le32(p->idx);
	m = dsm_msg_new(e, to, class, type, p->space->id, 0);
	dsm_wire_put(m, &out, sizeof(out));
	if (out.status == DSM_SC_DATA)
		dsm_wire_put(m, dsm_env_bytes(p->frame), DSM_PAGE_BYTES);
	dsm_act_send(acts, m);
}

/* ---- faults ---- */

/**
 * dsm_sc_right() - what the node may do with its frame right now
 * @p: page of a region with consistency=sc
 *
 * Context: engine lock held.
 * Return: DSM_PAGE_NONE, DSM_PAGE_READABLE or DSM_PAGE_WRITABLE.
 */
enum dsm_page_right dsm_sc_right(const struct dsm_page *p)
{
	if (p->flags & DSM_SCF_LOWER)
		return p->state == DSM_SC_M && p->flags & DSM_SCF_KEEP ? DSM_PAGE_READABLE :
									 DSM_PAGE_NONE;
	if (p->state == DSM_SC_M)
		return DSM_PAGE_WRITABLE;
	return p->state == DSM_SC_S || p->state == DSM_SC_SM ? DSM_PAGE_READABLE : DSM_PAGE_NONE;
}

/**
 * dsm_sc_busy() - does a thread that was told to wait still have to?
 * @e: engine
 * @p: page of a region with consistency=sc
 *
 * Context: engine lock held.
 * Return: false if dsm_sc_fault() would get on (or fail) now.
 */
bool dsm_sc_busy(const struct dsm_engine *e, const struct dsm_page *p)
{
	bool asked = p->state == DSM_SC_IS || p->state == DSM_SC_IM || p->state == DSM_SC_SM;

	if (p->state == DSM_SC_LOST || !dsm_engine_alive(e, p->home))
		return false;
	return asked || p->flags & DSM_SCF_LOWER;
}

static void ask(struct dsm_engine *e, struct dsm_page *p, bool write, struct dsm_actions *acts)
{
	const struct dsm_wire_sc body = { .right = write ? DSM_SC_MAY_WRITE : DSM_SC_MAY_READ };

	p->state = p->state == DSM_SC_S ? DSM_SC_SM : write ? DSM_SC_IM : DSM_SC_IS;
	p->flags &= ~DSM_SCF_FRESH;
	p->sc.until = e->now_ns;
	if (p->home == e->self)
		dsm_sc_home_ask(e, p, e->self, write, acts);
	else
		dsm_sc_send(e, p, p->home, DSM_MSG_SC_GET, &body, acts);
}

/**
 * dsm_sc_fault() - a thread of this node wants to read or write
 * @e:     engine
 * @p:     page of a region with consistency=sc, its frame present
 * @write: write wanted
 * @acts:  actions
 *
 * Context: engine lock held. Idempotent: a right that is already there changes nothing.
 * Return: right now held; less than wanted: wait and ask again; -EHOSTDOWN the page is lost;
 * -EBUSY its owner could not give it up, because a device was using it all the time.
 */
int dsm_sc_fault(struct dsm_engine *e, struct dsm_page *p, bool write, struct dsm_actions *acts)
{
	if (p->state == DSM_SC_LOST || !dsm_engine_alive(e, p->home))
		return -EHOSTDOWN;
	if (p->flags & DSM_SCF_REFUSED) {
		p->flags &= ~DSM_SCF_REFUSED;
		if (dsm_sc_right(p) < (write ? DSM_PAGE_WRITABLE : DSM_PAGE_READABLE))
			return -EBUSY;
	}
	if (!(p->flags & DSM_SCF_LOWER) &&
	    (p->state == DSM_SC_I || (p->state == DSM_SC_S && write)))
		ask(e, p, write, acts);
	return dsm_sc_right(p);
}

/**
 * dsm_sc_used() - a thread is about to use its right
 * @e: engine
 * @p: page, dsm_page_right() not DSM_PAGE_NONE
 *
 * From now on it is held: to be written for some time, to be read only if somebody here
 * waits for another page (dsm_sc_take()).
 *
 * Context: engine lock held, e->now_ns just set.
 */
void dsm_sc_used(struct dsm_engine *e, struct dsm_page *p)
{
	if (!(p->flags & DSM_SCF_FRESH))
		return;
	p->flags &= ~DSM_SCF_FRESH;
	p->sc.until = e->now_ns + (p->state == DSM_SC_M ? hold_ns(e) : 0);
}

/* ---- grants ---- */

static void measure(struct dsm_engine *e, u64 since, u32 held_us)
{
	u64 took = e->now_ns - min_t(u64, since, e->now_ns), held = held_us * 1000ull;

	/* Otherwise it says how long others held it, and that depends on what is measured here. */
	if (held_us == U32_MAX || took < held)
		return;
	e->sc_fetch_ns += (took - held) / 8 - e->sc_fetch_ns / 8;
}

/**
 * dsm_sc_granted() - what was asked for is here
 * @e:       engine
 * @p:       page in IS, IM or SM; its bytes are in the frame
 * @write:   to write
 * @held_us: for how long others held it; U32_MAX: unknown
 * @acts:    actions
 *
 * Context: engine lock held.
 */
void dsm_sc_granted(struct dsm_engine *e, struct dsm_page *p, bool write, u32 held_us,
		    struct dsm_actions *acts)
{
	measure(e, p->sc.until, held_us);
	p->state = write ? DSM_SC_M : DSM_SC_S;
	p->flags &= ~(DSM_SCF_EXTENDED | DSM_SCF_REFUSED);
	p->flags |= DSM_SCF_FRESH;
	p->sc.until = e->now_ns + GRACE_NS;
	dsm_count(e, p->space, sc_grants);
	dsm_page_wake(p, acts);
}

/**
 * dsm_sc_refused() - what was asked for cannot be had
 * @e:    engine
 * @p:    page in IS, IM or SM
 * @acts: actions
 *
 * One thread hears of it; others ask again.
 *
 * Context: engine lock held.
 */
void dsm_sc_refused(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	(void)e;
	p->state = p->state == DSM_SC_SM ? DSM_SC_S : DSM_SC_I;
	p->flags |= DSM_SCF_REFUSED;
	dsm_page_wake(p, acts);
}

static void queue_recall(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	struct dsm_request *q = dsm_pool_take(e, DSM_POOL_REQUEST);

	*q = (struct dsm_request){
		.type = DSM_MSG_SC_RECALL,
		.node = p->home,
		.region = p->space->id,
		.value = p->idx,
		.key = e->now_ns,
	};
	list_add_tail(&q->cont.link, &e->sc_recalls);
	p->flags |= DSM_SCF_RECALLED;
	acts->recall = true;
}

/**
 * dsm_sc_lost() - the bytes of a page are lost with a node
 * @e:    engine
 * @p:    page of a region with consistency=sc
 * @acts: actions
 *
 * A copy to read would be right still, but never change again; who waits for that shall hear of it.
 *
 * Context: engine lock held.
 */
void dsm_sc_lost(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	bool mapped = p->state == DSM_SC_S || p->state == DSM_SC_SM || p->state == DSM_SC_M;

	if (p->state == DSM_SC_LOST)
		return;
	p->state = DSM_SC_LOST;
	dsm_count(e, p->space, pages_lost);
	if (mapped && !(p->flags & DSM_SCF_RECALLED))
		queue_recall(e, p, acts);
	acts->recall |= mapped;
	dsm_page_wake(p, acts);
}

static int on_grant(struct dsm_engine *e, struct dsm_page *p, const struct dsm_wire_sc *body,
		    struct dsm_reader *r, struct dsm_actions *acts)
{
	const struct dsm_wire_sc done = {};
	const u8 *data;

	/* Its home was thought lost, and this was under way. */
	if (p->state == DSM_SC_LOST)
		return 0;
	if (p->state != DSM_SC_IS && p->state != DSM_SC_IM && p->state != DSM_SC_SM)
		return -EPROTO;
	if (body->status == DSM_SC_GONE) {
		dsm_sc_lost(e, p, acts);
		return 0;
	}
	if (p->flags & DSM_SCF_RECALLED)
		return -EPROTO;
	if (body->status == DSM_SC_BUSY) {
		dsm_sc_refused(e, p, acts);
		return 0;
	}
	if (body->right != (p->state == DSM_SC_IS ? DSM_SC_MAY_READ : DSM_SC_MAY_WRITE) ||
	    (body->status == DSM_SC_PLAIN) != (p->state == DSM_SC_SM))
		return -EPROTO;
	if (body->status == DSM_SC_DATA) {
		data = dsm_reader_skip(r, DSM_PAGE_BYTES);
		if (!data)
			return -EPROTO;
		memcpy(dsm_env_bytes(p->frame), data, DSM_PAGE_BYTES);
		dsm_count(e, p->space, page_transfers);
	} else if (body->status == DSM_SC_ZERO) {
		memset(dsm_env_bytes(p->frame), 0, DSM_PAGE_BYTES);
		dsm_count(e, p->space, zero_replies);
	}
	dsm_sc_granted(e, p, body->right == DSM_SC_MAY_WRITE, le32_to_cpu(body->held_us), acts);
	/*
	 * A recall before the home has this would have to be told from one before the grant: the two
	 * connections are not ordered (mutant M15).
	 */
	dsm_sc_send(e, p, p->home, DSM_MSG_SC_DONE, &done, acts);
	return 0;
}

/* ---- recalls ---- */

/**
 * dsm_sc_recall() - the home wants this node's copy
 * @e:    engine
 * @p:    page in S, SM or M
 * @keep: it may stay to be read
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_sc_recall(struct dsm_engine *e, struct dsm_page *p, bool keep, struct dsm_actions *acts)
{
	if (keep)
		p->flags |= DSM_SCF_KEEP;
	else
		p->flags &= ~DSM_SCF_KEEP;
	queue_recall(e, p, acts);
}

static int on_recall(struct dsm_engine *e, struct dsm_page *p, const struct dsm_wire_sc *body,
		     struct dsm_actions *acts)
{
	bool keep = body->right == DSM_SC_MAY_READ;

	if (p->state == DSM_SC_LOST)
		return 0;
	if (p->flags & DSM_SCF_RECALLED ||
	    (p->state != DSM_SC_M && (keep || (p->state != DSM_SC_S && p->state != DSM_SC_SM))))
		return -EPROTO;
	dsm_sc_recall(e, p, keep, acts);
	return 0;
}

/*
 * Is it time? If not, *@at says when. An extension is the recall's, not the page's: in SM that has the time at which
 * the right was asked for, and measure() needs it.
 */
static bool is_due(struct dsm_engine *e, struct dsm_page *p, struct dsm_request *q, u64 *at)
{
	if (p->state == DSM_SC_LOST)
		return true;
	if (p->flags & DSM_SCF_LOWER) {
		*at = q->told;
		return e->now_ns >= q->told;
	}
	if (e->now_ns >= p->sc.until && e->sc_waiting && !(p->flags & DSM_SCF_EXTENDED)) {
		/* Somebody here needs another page, and perhaps this one with it. */
		p->flags |= DSM_SCF_EXTENDED;
		q->told = e->now_ns + hold_ns(e);
	}
	*at = max(p->sc.until, q->told);
	return e->now_ns >= *at;
}

/**
 * dsm_sc_take() - a page that is to be given up now
 * @e:       engine
 * @page:    out: the page
 * @next_ns: out, if there is none: when one will be due, 0: none is recalled
 *
 * Its right is what may stay, from now on. The shell takes the rest out of the page tables and
 * calls dsm_sc_lowered().
 *
 * Context: engine lock held, e->now_ns just set.
 * Return: the recall, for dsm_sc_lowered(), or to be given back to the pool if the region is gone
 * meanwhile; NULL: none.
 */
struct dsm_request *dsm_sc_take(struct dsm_engine *e, struct dsm_page **page, u64 *next_ns)
{
	struct dsm_request *q, *tmp;
	struct dsm_page *p;
	u64 at = 0;

	*next_ns = 0;
	list_for_each_entry_safe(q, tmp, &e->sc_recalls, cont.link) {
		p = dsm_page_find(e, q->region, q->value);
		if (!p) {
			/* Recalled because a node was lost, by who still had the region when it went. */
			list_del(&q->cont.link);
			dsm_pool_give(e, DSM_POOL_REQUEST, q);
			continue;
		}
		if (!is_due(e, p, q, &at)) {
			if (!*next_ns || at < *next_ns)
				*next_ns = at;
			continue;
		}
		list_del_init(&q->cont.link);
		if (p->state == DSM_SC_LOST)
			p->flags &= ~DSM_SCF_KEEP;
		else if (!(p->flags & DSM_SCF_LOWER))
			q->episode = e->now_ns;
		p->flags |= DSM_SCF_LOWER;
		*page = p;
		return q;
	}
	return NULL;
}

static void retry(struct dsm_engine *e, struct dsm_request *q, u64 at, struct dsm_actions *acts)
{
	q->told = at;
	list_add_tail(&q->cont.link, &e->sc_recalls);
	acts->recall = true;
}

static void give_back(struct dsm_engine *e, struct dsm_page *p, const struct dsm_request *q,
		      u8 status, struct dsm_actions *acts)
{
	u64 held_us = (q->episode - q->key) / 1000;
	const struct dsm_wire_sc body = {
		.right = status != DSM_SC_BUSY && p->flags & DSM_SCF_KEEP ? DSM_SC_MAY_READ :
									   DSM_SC_NOTHING,
		.status = status,
		.held_us = cpu_to_le32(min_t(u64, held_us, U32_MAX - 1)),
	};

	p->flags &= ~(DSM_SCF_LOWER | DSM_SCF_KEEP | DSM_SCF_RECALLED | DSM_SCF_FRESH);
	if (p->home == e->self)
		dsm_sc_home_back(e, p, e->self, &body, NULL, acts);
	else
		dsm_sc_send(e, p, p->home, DSM_MSG_SC_BACK, &body, acts);
}

/**
 * dsm_sc_lowered() - what may not stay is out of all page tables
 * @e:      engine
 * @p:      page from dsm_sc_take()
 * @q:      likewise
 * @pinned: something other than page tables refers to its frame
 * @acts:   actions
 *
 * A device may still write into a frame that was writable (decisions.md P9): it is looked at again
 * until that ends. If it does not, the asker is told, and the page stays here with all that
 * the device writes. In a region that goes nobody asks any more, and nothing is put back: it may be out
 * of the engine, so that nobody would take it.
 *
 * Context: engine lock held.
 */
void dsm_sc_lowered(struct dsm_engine *e, struct dsm_page *p, struct dsm_request *q, bool pinned,
		    struct dsm_actions *acts)
{
	bool keep = p->flags & DSM_SCF_KEEP, goes = p->space->closing;

	pinned &= !goes;
	if (p->state == DSM_SC_LOST && keep && !goes) {
		/* Lost while it was only being write-protected. */
		retry(e, q, e->now_ns, acts);
		return;
	}
	if (p->state == DSM_SC_M && pinned && e->now_ns - q->episode < PIN_BOUND_NS) {
		retry(e, q, e->now_ns + PIN_RETRY_NS, acts);
		return;
	}
	dsm_page_wake(p, acts);
	if (p->state == DSM_SC_LOST) {
		p->flags &= ~(DSM_SCF_LOWER | DSM_SCF_KEEP | DSM_SCF_RECALLED);
	} else if (p->state == DSM_SC_M && pinned) {
		dsm_count(e, p->space, sc_refusals);
		give_back(e, p, q, DSM_SC_BUSY, acts);
	} else if (p->state == DSM_SC_M) {
		p->state = keep ? DSM_SC_S : DSM_SC_I;
		dsm_count(e, p->space, sc_recalls);
		if (!keep)
			dsm_count(e, p->space, invalidations);
		give_back(e, p, q, DSM_SC_DATA, acts);
	} else {
		p->state = p->state == DSM_SC_SM ? DSM_SC_IM : DSM_SC_I;
		dsm_count(e, p->space, sc_recalls);
		dsm_count(e, p->space, invalidations);
		give_back(e, p, q, DSM_SC_PLAIN, acts);
	}
	dsm_pool_give(e, DSM_POOL_REQUEST, q);
}

/**
 * dsm_sc_forget() - drop the recalls of a region's pages
 * @e:      engine
 * @region: id, 0 = all
 *
 * Context: engine lock held; nobody uses the region any more.
 */
void dsm_sc_forget(struct dsm_engine *e, u32 region)
{
	struct dsm_request *q, *tmp;

	list_for_each_entry_safe(q, tmp, &e->sc_recalls, cont.link) {
		if (region && q->region != region)
			continue;
		list_del(&q->cont.link);
		dsm_pool_give(e, DSM_POOL_REQUEST, q);
	}
}

/* ---- messages, losses ---- */

/**
 * dsm_sc_on_message() - messages SC_GRANT and SC_RECALL
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the sender is not the page's home or may not send this now.
 */
int dsm_sc_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		      struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_sc body;
	struct dsm_page *p;

	dsm_reader_take(r, &body, sizeof(body));
	p = dsm_page_find(e, le32_to_cpu(hdr->region), le32_to_cpu(body.idx));
	if (!p || !dsm_page_is_sc(p) || p->home != from)
		return -EPROTO;
	if (hdr->type == DSM_MSG_SC_GRANT)
		return on_grant(e, p, &body, r, acts);
	return on_recall(e, p, &body, acts);
}

/**
 * dsm_sc_peer_lost() - a node is gone; what of this page depended on it
 * @e:    engine
 * @p:    page of a region with consistency=sc
 * @node: the lost node
 * @acts: actions
 *
 * Context: engine lock held; once per page after dsm_engine_peer_lost().
 */
void dsm_sc_peer_lost(struct dsm_engine *e, struct dsm_page *p, u16 node, struct dsm_actions *acts)
{
	if (p->home == node)
		dsm_sc_lost(e, p, acts);
	else if (p->home == e->self)
		dsm_sc_home_peer_lost(e, p, node, acts);
}
