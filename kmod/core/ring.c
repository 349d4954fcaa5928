// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Write notices by remote writes (protocol.md 3.5).
 *
 * One pair of WRITEs to a node is under way at a time: the notices, then how many there are by now, which the device
 * stores after them. What comes meanwhile goes with the next pair. A release waits until its notices are there; so
 * whoever is ordered after it finds them in the ring when it acquires (mutants M107, M108).
 *
 * A ring that is full is left alone: its notices go by message, whose receiver takes what is in the ring as well, and
 * says so with the acknowledgement. So nobody waits for a node that does not acquire, and what it keeps is bounded.
 * Never believes a ring more than that a page may have changed.
 */
#include "ring.h"
#include "csm.h"
#include "release.h"
#include "rsync.h"

/* ---- telling ---- */

/**
 * dsm_ring_put() - a notice for a node
 * @e:   engine
 * @to:  who is to be told
 * @p:   page; p->rel_cur is the release that waits until it is
 * @ver: version
 *
 * Context: engine lock held, in a step that ends with dsm_csm_post().
 * Return: false if @to's ring is not known here, or full.
 */
bool dsm_ring_put(struct dsm_engine *e, u16 to, const struct dsm_page *p, u64 ver)
{
	struct dsm_ring_out *o = &e->csm.out[to];

	if (!e->rsync || !e->mail_key[to].rkey || o->put - o->taken == DSM_RING_NOTICES)
		return false;
	e->rsync->ring[to].ring.notice[o->put++ % DSM_RING_NOTICES] = (struct dsm_wire_notice){
		.region = cpu_to_le32(p->space->id),
		.idx = cpu_to_le32(p->idx),
		.ver = cpu_to_le64(ver),
	};
	if (!(o->next & 1u << p->rel_cur)) {
		o->next |= 1u << p->rel_cur;
		e->rel[p->rel_cur].pending++;
	}
	e->csm.put |= 1ull << to;
	dsm_count(e, p->space, notices_written);
	return true;
}

static struct dsm_xfer *write_to(struct dsm_engine *e, u16 to, u8 kind, void *at, u32 len)
{
	struct dsm_xfer *x = dsm_rsync_xfer(e, DSM_XFER_WRITE, kind, to, 0);
	const u8 *ring = (const u8 *)&e->rsync->ring[to];

	x->rkey = e->mail_key[to].rkey;
	x->remote = e->mail_key[to].addr + offsetof(struct dsm_mail, ring) +
		    e->self * sizeof(union dsm_ring_slot) + ((const u8 *)at - ring);
	dsm_rsync_seg(x, at, len);
	return x;
}

/* What there is, up to the ring's end. */
static void start(struct dsm_engine *e, u16 to, struct dsm_actions *acts)
{
	struct dsm_ring *ring = &e->rsync->ring[to].ring;
	struct dsm_ring_out *o = &e->csm.out[to];
	u32 at = o->posted % DSM_RING_NOTICES;
	u32 n = min_t(u64, o->put - o->posted, DSM_RING_NOTICES - at);
	struct dsm_xfer *x;

	dsm_act_xfer(acts, write_to(e, to, DSM_XFER_KIND_NONE, &ring->notice[at], n * sizeof(ring->notice[0])));
	o->posted += n;
	ring->tail = cpu_to_le64(o->posted);
	x = write_to(e, to, DSM_XFER_KIND_RING, &ring->tail, sizeof(ring->tail));
	o->xid = x->xid;
	if (o->posted == o->put) {
		o->now = o->next;
		o->next = 0;
	}
	dsm_act_xfer(acts, x);
}

/**
 * dsm_ring_post() - what this step has put goes out
 * @e:    engine
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_ring_post(struct dsm_engine *e, struct dsm_actions *acts)
{
	u16 to;

	for (; e->csm.put; e->csm.put &= e->csm.put - 1) {
		to = __ffs64(e->csm.put);
		if (!e->csm.out[to].xid)
			start(e, to, acts);
	}
}

static void tell(struct dsm_engine *e, u32 slots, struct dsm_actions *acts)
{
	u32 slot;

	for (slot = 0; slots >> slot; slot++)
		if (slots & 1u << slot)
			dsm_rel_told(e, slot, acts);
}

/**
 * dsm_ring_done() - notices are in the receiver's ring, or it is lost
 * @e:    engine
 * @x:    transfer of kind RING; the shell keeps it
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_ring_done(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts)
{
	struct dsm_ring_out *o = &e->csm.out[x->dst];
	u32 slots = o->now;

	/* The loss was worked on already. */
	if (o->xid != x->xid)
		return;
	o->xid = 0;
	o->now = 0;
	if (!x->status && o->posted != o->put)
		start(e, x->dst, acts);
	tell(e, slots, acts);
}

/**
 * dsm_ring_taken() - a receiver says what it has taken
 * @e:     engine
 * @to:    receiver
 * @taken: so many, all from the first on
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if so many were never written.
 */
int dsm_ring_taken(struct dsm_engine *e, u16 to, u64 taken)
{
	struct dsm_ring_out *o = &e->csm.out[to];

	if (taken > o->posted)
		return -EPROTO;
	/* Two acknowledgements may come in another order. */
	o->taken = max(o->taken, taken);
	return 0;
}

/* ---- being told ---- */

static const struct dsm_ring *ring_of(const struct dsm_engine *e, u16 from)
{
	return &e->rsync->mail->ring[from].ring;
}

/* How many there are that were not taken; more than fit: the sender breaks the rules. */
static u64 waiting(const struct dsm_engine *e, u16 from)
{
	return le64_to_cpu(READ_ONCE(ring_of(e, from)->tail)) - e->csm.seen[from];
}

/**
 * dsm_ring_waits() - is there anything that was not taken?
 * @e: engine
 *
 * Context: engine lock held.
 * Return: true if an acquire has to look.
 */
bool dsm_ring_waits(const struct dsm_engine *e)
{
	u16 from;

	for (from = 0; e->csm.dirs && e->rsync && from < e->n_nodes; from++)
		if (waiting(e, from))
			return true;
	return false;
}

/**
 * dsm_ring_waiting() - how many notices were not taken
 * @e:     engine
 * @space: of this region; NULL: of all
 *
 * Context: engine lock held.
 * Return: their number, for counters.
 */
u64 dsm_ring_waiting(const struct dsm_engine *e, const struct dsm_space *space)
{
	u64 sum = 0, n, i;
	u16 from;

	for (from = 0; e->csm.dirs && e->rsync && from < e->n_nodes; from++) {
		n = min_t(u64, waiting(e, from), DSM_RING_NOTICES);
		/* The tail was read first. */
		smp_rmb();
		for (i = 0; i < n; i++)
			sum += !space ||
			       le32_to_cpu(ring_of(e, from)->notice[(e->csm.seen[from] + i) % DSM_RING_NOTICES].region) ==
			       space->id;
	}
	return sum;
}

/*
 * How many to take now; what comes meanwhile can wait, so that no sender keeps this node here. What there is more than fits
 * is not known: then every page may have changed.
 */
static u64 ready(struct dsm_engine *e, u16 from)
{
	u64 n = waiting(e, from);

	if (n > DSM_RING_NOTICES) {
		e->csm.seen[from] += n;
		e->inval_all = true;
		return 0;
	}
	/* The tail was read first. */
	smp_rmb();
	return n;
}

/* Out of reach of its sender, before anything of it is believed. */
static void take(struct dsm_engine *e, u16 from, struct dsm_wire_notice *out)
{
	memcpy(out, &ring_of(e, from)->notice[e->csm.seen[from]++ % DSM_RING_NOTICES], sizeof(*out));
	dsm_count(e, dsm_space_find(e, le32_to_cpu(out->region)), notices_received);
}

/**
 * dsm_ring_apply() - an acquire takes what is in the rings
 * @e:    engine
 * @out:  pages to unmap
 * @max:  room in @out
 * @more: set if there is more
 *
 * Context: engine lock held, within an acquire.
 * Return: pages in @out.
 */
u32 dsm_ring_apply(struct dsm_engine *e, struct dsm_page **out, u32 max, bool *more)
{
	struct dsm_wire_notice notice;
	struct dsm_page *p;
	u64 left;
	u32 n = 0;
	u16 from;

	for (from = 0; e->csm.dirs && e->rsync && from < e->n_nodes; from++)
		for (left = n < max ? ready(e, from) : 0; left && n < max; left--) {
			take(e, from, &notice);
			p = dsm_csm_named(e, &notice);
			if (p && dsm_page_notice(e, p, le64_to_cpu(notice.ver)))
				out[n++] = p;
		}
	*more |= n == max || (e->inval_all && !e->acq_all);
	return n;
}

/**
 * dsm_ring_drain() - take what is in one ring, without applying it
 * @e:    engine
 * @from: sender
 *
 * Context: engine lock held.
 */
void dsm_ring_drain(struct dsm_engine *e, u16 from)
{
	struct dsm_wire_notice notice;
	u64 left = e->csm.dirs && e->rsync ? ready(e, from) : 0;

	for (; left; left--) {
		take(e, from, &notice);
		dsm_csm_heard(e, &notice);
	}
}

/**
 * dsm_ring_names() - has a page changed, as far as anybody could have told?
 * @e: engine
 * @p: page
 *
 * Context: engine lock held.
 * Return: true if a notice that was not taken names a newer version than its copy.
 */
bool dsm_ring_names(const struct dsm_engine *e, const struct dsm_page *p)
{
	const struct dsm_wire_notice *notice;
	u64 n, i;
	u16 from;

	for (from = 0; from < e->n_nodes; from++) {
		n = waiting(e, from);
		if (n > DSM_RING_NOTICES)
			return true;
		/* The tail was read first. */
		smp_rmb();
		for (i = 0; i < n; i++) {
			notice = &ring_of(e, from)->notice[(e->csm.seen[from] + i) % DSM_RING_NOTICES];
			if (le32_to_cpu(notice->region) == p->space->id && le32_to_cpu(notice->idx) == p->idx &&
			    le64_to_cpu(notice->ver) > p->ver)
				return true;
		}
	}
	return false;
}

/**
 * dsm_ring_peer_lost() - a node is gone
 * @e:    engine
 * @node: the lost node
 * @acts: actions
 *
 * What it has told before counts. Who has its number later begins anew.
 *
 * Context: engine lock held.
 */
void dsm_ring_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts)
{
	struct dsm_ring_out *o = &e->csm.out[node];
	u32 slots[2] = { o->now, o->next };

	*o = (struct dsm_ring_out){};
	tell(e, slots[0], acts);
	tell(e, slots[1], acts);
	dsm_ring_drain(e, node);
	/* Also while no region has words: the next one may have, and who has the number then counts from 0. */
	if (e->rsync)
		e->rsync->mail->ring[node].ring.tail = 0;
	e->csm.seen[node] = 0;
}
