// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Diffs by remote writes (protocol.md 4.4).
 *
 * The twin is the source: making the diff brings it up to the page's bytes where they differ, each
 * loaded once, and nobody changes it before the acknowledgement. A page that is not pinned needs no
 * twin any more, so the transfer owns it. Neighbours that changed wholly are one transfer.
 *
 * The message DIFF_DIRECT leaves when the last write is back, and gives the pages their versions;
 * the acknowledgement is that of any diff. So a label never names bytes that are not in the home's
 * frame, whatever the order of the two connections. Until then a reader at the home may see some of
 * the bytes, as with packed diffs: they are not released yet, and only a race can tell.
 */
#include "direct.h"
#include "page.h"
#include "pipe.h"

/**
 * dsm_direct_begin() - start a message
 * @d:    pages under construction
 * @m:    empty message, consumed
 * @s:    region
 * @home: receiver
 *
 * Context: any.
 */
void dsm_direct_begin(struct dsm_direct *d, struct dsm_msgbuf *m, const struct dsm_space *s,
		      u16 home)
{
	struct dsm_wire_direct body = {};

	m->next = NULL;
	m->dst = home;
	m->class = DSM_CLASS_REQ;
	dsm_wire_begin(m, DSM_MSG_DIFF_DIRECT, s->id, 0);
	dsm_wire_put(m, &body, sizeof(body));
	*d = (struct dsm_direct){ .m = m, .tail = &m->before };
}

/**
 * dsm_direct_add() - room for segments
 * @d: pages under construction, begun
 * @x: transfer, contents undefined; consumed
 *
 * Context: any.
 */
void dsm_direct_add(struct dsm_direct *d, struct dsm_xfer *x)
{
	x->next = NULL;
	x->n_segs = 0;
	*d->tail = x;
	d->tail = &x->next;
	d->last = x;
}

static void fill(struct dsm_direct *d, const struct dsm_page *p, u64 remote, u32 rkey)
{
	struct dsm_xfer *x = d->last;

	x->op = DSM_XFER_WRITE;
	x->kind = DSM_XFER_KIND_DIFF;
	x->fence = false;
	x->yields = true;
	x->dst = d->m->dst;
	x->rkey = rkey;
	x->remote = remote;
	x->status = 0;
	x->region = p->space->id;
	x->idx = p->idx;
	x->xid = 0;
	x->owned = 0;
	x->then = NULL;
}

static u64 end_of(const struct dsm_xfer *x)
{
	u64 end = x->remote;
	u32 i;

	for (i = 0; i < x->n_segs; i++)
		end += x->seg[i].len;
	return end;
}

/**
 * dsm_direct_put() - write a piece of a page
 * @d:     pages under construction, begun
 * @p:     page, its twin holds the bytes
 * @piece: which
 * @key:   the home's registration of the page's chunk
 * @owned: the transfer gives the twin back: it is the page's last piece, and the twin lent
 *
 * Context: any; the page is being flushed.
 * Return: false if there is no transfer that it could be added to.
 */
bool dsm_direct_put(struct dsm_direct *d, const struct dsm_page *p, const struct dsm_piece *piece,
		    const struct dsm_key *key, bool owned)
{
	u64 remote = key->addr + (u64)(p->idx % DSM_CHUNK_PAGES) * DSM_PAGE_BYTES + piece->off;
	struct dsm_xfer *x = d->last;

	if (!x)
		return false;
	if (!x->n_segs)
		fill(d, p, remote, key->rkey);
	else if (x->n_segs == DSM_XFER_SEGS || x->rkey != key->rkey || end_of(x) != remote)
		return false;
	x->owned |= owned << x->n_segs;
	x->seg[x->n_segs++] =
		(struct dsm_seg){ .page = p->twin, .off = piece->off, .len = piece->len };
	return true;
}

/**
 * dsm_direct_name() - all pieces of a page are there
 * @d:   pages under construction
 * @idx: page
 *
 * Context: any.
 */
void dsm_direct_name(struct dsm_direct *d, u32 idx)
{
	__le32 wire = cpu_to_le32(idx);

	dsm_wire_put(d->m, &wire, sizeof(wire));
	d->pages++;
}

/**
 * dsm_direct_close() - finish the message
 * @d:    pages under construction, at least one; empty on return
 * @k:    filled
 * @s:    region
 * @home: receiver
 *
 * Context: any.
 */
void dsm_direct_close(struct dsm_direct *d, struct dsm_pack *k, struct dsm_space *s, u16 home)
{
	struct dsm_wire_direct body = { .count = cpu_to_le32(d->pages) };

	dsm_pack_init(k, s, home);
	memcpy(d->m->data + DSM_HDR_BYTES, &body, sizeof(body));
	k->first = d->m;
	k->last = d->m;
	*d = (struct dsm_direct){};
}

/* ---- steps ---- */

/**
 * dsm_direct_runs() - which pages of a region are written directly?
 * @e: engine
 * @s: region
 *
 * Context: any; what is read is set by users at any time.
 * Return: with at most so many runs; 0: only those that changed wholly; -1: none.
 */
int dsm_direct_runs(const struct dsm_engine *e, const struct dsm_space *s)
{
	switch (s->policy.diffpath) {
	case DSM_DIFFPATH_WRITE:
		return min(READ_ONCE(e->wr_runs_max) ?: U32_MAX, DSM_DIRECT_RUNS_MAX);
	case DSM_DIFFPATH_AUTO:
		return min(READ_ONCE(e->direct_runs), DSM_DIRECT_RUNS_MAX);
	default:
		return -1;
	}
}

/**
 * dsm_direct_key() - may a page be written at its home?
 * @e:   engine
 * @p:   page that was written here and is being flushed
 * @key: filled
 *
 * Context: engine lock held.
 * Return: true if the home has told of a registration.
 */
bool dsm_direct_key(struct dsm_engine *e, const struct dsm_page *p, struct dsm_key *key)
{
	return dsm_engine_alive(e, p->home) &&
	       (!dsm_policy_claims(&p->space->policy) || dsm_moves_settled(p)) &&
	       dsm_env_key_find(p->space, p->idx, p->home, key);
}

static void give_twins(struct dsm_engine *e, const struct dsm_xfer *x)
{
	u32 i;

	for (i = 0; i < x->n_segs; i++)
		if (x->owned & 1u << i)
			dsm_pool_give(e, DSM_POOL_TWIN, x->seg[i].page);
}

/**
 * dsm_direct_done() - a write is back
 * @e:    engine
 * @x:    transfer; the shell keeps it
 * @acts: actions: the message, if it was the last before it
 *
 * Context: engine lock held. With an error the home is lost and the pages' release fails when
 * that is told.
 */
void dsm_direct_done(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts)
{
	struct dsm_msgbuf *m = x->then;

	give_twins(e, x);
	if (!m)
		return;
	x->then = NULL;
	if (x->status)
		dsm_pool_give(e, DSM_POOL_MSG, m);
	else
		dsm_pipe_follow(e, m, acts);
}

/**
 * dsm_direct_drop() - a message will not be sent, nor the transfers before it
 * @e: engine
 * @m: message, consumed
 *
 * Context: engine lock held.
 */
void dsm_direct_drop(struct dsm_engine *e, struct dsm_msgbuf *m)
{
	struct dsm_xfer *x, *next;

	for (x = m->before; x; x = next) {
		next = x->next;
		give_twins(e, x);
		dsm_pool_give(e, DSM_POOL_XFER, x);
	}
	m->before = NULL;
	dsm_pool_give(e, DSM_POOL_MSG, m);
}

/**
 * dsm_direct_on_message() - message DIFF_DIRECT
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * The bytes are there: the sender saw its writes complete before it sent this (protocol.md 4.2). As
 * a packed diff it gives every page a version and acknowledges (prev, new).
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if a page is not homed here or its region takes no writes (nothing was done).
 */
int dsm_direct_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			  struct dsm_reader *r, struct dsm_actions *acts)
{
	u32 region = le32_to_cpu(hdr->region);
	struct dsm_page *p = NULL;
	struct dsm_reader scan;
	struct dsm_msgbuf *m;
	__le32 idx;

	dsm_reader_skip(r, sizeof(struct dsm_wire_direct));
	for (scan = *r; dsm_reader_left(&scan);) {
		dsm_reader_take(&scan, &idx, sizeof(idx));
		p = dsm_page_find(e, region, le32_to_cpu(idx));
		if (!p || !p->frame || !dsm_page_takes_diffs(e, p) ||
		    p->space->policy.diffpath == DSM_DIFFPATH_MSG)
			return -EPROTO;
	}
	m = dsm_msg_new(e, from, DSM_CLASS_RSP, DSM_MSG_DIFF_ACK, region, le32_to_cpu(hdr->xid));
	while (dsm_reader_left(r)) {
		dsm_reader_take(r, &idx, sizeof(idx));
		p = dsm_page_find(e, region, le32_to_cpu(idx));
		dsm_page_count(e, p, from, m);
	}
	dsm_page_ack_key(e, p, m);
	dsm_act_send(acts, m);
	return 0;
}

/**
 * dsm_page_ack_key() - tell a writer of the registration of its last page's chunk
 * @e: engine
 * @p: page of the last entry
 * @m: DIFF_ACK with room for one more entry
 *
 * Who writes pages that it never had to fetch knows no key from a PAGE reply.
 *
 * Context: engine lock held.
 */
void dsm_page_ack_key(struct dsm_engine *e, const struct dsm_page *p, struct dsm_msgbuf *m)
{
	struct dsm_wire_ack ack = { .idx = cpu_to_le32(p->idx), .status = cpu_to_le32(DSM_ACK_KEY) };
	struct dsm_key key;

	if (p->space->policy.diffpath == DSM_DIFFPATH_MSG ||
	    !dsm_env_key_find(p->space, p->idx, e->self, &key))
		return;
	ack.prev = cpu_to_le64(key.addr);
	ack.ver = cpu_to_le64(key.rkey);
	dsm_wire_put(m, &ack, sizeof(ack));
}
