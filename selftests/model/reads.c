// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * READs and WRITEs under way: the device takes the home's bytes, or stores to them, in pieces, in any order, while
 * programs and engines go on there; then the transfer comes back. One to a node that is gone never moves anything more.
 */
#include "model.h"
#include "ring.h"
#include "rlock.h"

static struct dsm_xfer xfer_pool[2 * MAX_XFERS * MAX_NODES];
static struct dsm_xfer *xfer_free;

void xfers_reset(void)
{
	u32 i;

	xfer_free = NULL;
	for (i = 0; i < ARRAY_SIZE(xfer_pool); i++) {
		xfer_pool[i].next = xfer_free;
		xfer_free = &xfer_pool[i];
	}
	w.n_reading = 0;
}

struct dsm_xfer *xfer_alloc(struct node *n)
{
	struct dsm_xfer *x = xfer_free;

	if (!x)
		fail("model: out of transfers");
	xfer_free = x->next;
	world_gives(n, DSM_POOL_XFER, 1);
	return x;
}

static void give_back(struct node *n, struct dsm_xfer *x)
{
	world_gives(n, DSM_POOL_XFER, -1);
	x->next = xfer_free;
	xfer_free = x;
}

#define KEY_ADDR(home) (((home) + 1) * 0x10000ull)

bool dsm_env_key_find(struct dsm_space *s, u32 idx, u16 home, struct dsm_key *key)
{
	struct node *n = s->shell;

	(void)idx;
	if (!(home == node_id(n) ? n->registered : n->keys >> home & 1))
		return false;
	*key = (struct dsm_key){ .addr = KEY_ADDR(home), .rkey = 100 + home };
	return true;
}

/* The home registers: from now on every page it may be asked for has a frame. */
void register_pages(struct node *n)
{
	u32 p;

	say("%c registers its pages", 'A' + node_id(n));
	for (p = 0; p < MAX_PAGES; p++)
		if (w.set.first_touch || w.set.home[p] == node_id(n))
			touch_page(n, p, true);
	n->registered = true;
}

static void step_done(struct node *n, struct dsm_xfer *x, int status)
{
	struct dsm_actions acts;

	x->status = status;
	if (x->kind == DSM_XFER_KIND_LETTER || x->kind == DSM_XFER_KIND_NONE) {
		if (x->then)
			flying_free(x->then, node_id(n));
		give_back(n, x);
		return;
	}
	step_begin(n, &acts);
	if (x->kind == DSM_XFER_KIND_DIFF)
		dsm_direct_done(&n->e, x, &acts);
	else if (x->kind == DSM_XFER_KIND_RLOCK)
		dsm_rlock_on_xfer(&n->e, x, &acts);
	else if (x->kind == DSM_XFER_KIND_DIR)
		dsm_dir_on_xfer(&n->e, x, &acts);
	else if (x->kind == DSM_XFER_KIND_RING)
		dsm_ring_done(&n->e, x, &acts);
	else
		dsm_fetch_on_read(&n->e, x, &acts);
	step_end(n, &acts);
	give_back(n, x);
}

void xfer_post(struct node *n, struct dsm_xfer *x)
{
	struct reading *r;
	u32 i;

	if ((n->lost | n->gone) & 1u << x->dst) {
		say("%c cannot read from %c", 'A' + node_id(n), 'A' + x->dst);
		step_done(n, x, -EHOSTDOWN);
		return;
	}
	if (w.n_reading == MAX_XFERS)
		fail("model: more than %d transfers", MAX_XFERS);
	r = &w.reading[w.n_reading++];
	*r = (struct reading){ .x = x, .id = w.next_msg++, .node = node_id(n), .again = x->op == DSM_XFER_READ,
			       .halved = w.l->flags & LITMUS_HALVES && w.pipe[2], .stamp = ++w.next_stamp, .done_stamp = ++w.next_stamp };
	if (atomics_do(x)) {
		atomics_post(r);
		return;
	}
	if (x->op == DSM_XFER_READ)
		check_asked(n);
	if ((x->op == DSM_XFER_WRITE) != (x->kind == DSM_XFER_KIND_DIFF) || !w.node[x->dst].registered || x->rkey != 100u + x->dst)
		fail("I24: %c reads with key %u at %c", 'A' + node_id(n), x->rkey, 'A' + x->dst);
	for (i = 0; i < x->n_segs; i++)
		r->left |= ((1u << PIECES) - 1) << i * PIECES;
	say("       %s #%u %c, %c page index %u, %u segments", x->op == DSM_XFER_READ ? "read" : "write", r->id,
	    'A' + r->node, 'A' + x->dst, x->idx, x->n_segs);
}

/* One half of a segment of changed bytes. */
static void written_piece(struct reading *r, u32 piece)
{
	struct dsm_xfer *x = r->x;
	struct node *home = &w.node[x->dst];
	const struct dsm_seg *seg = &x->seg[piece / PIECES];
	u32 half = seg->len / PIECES, at = piece % PIECES ? half : 0, len = piece % PIECES ? seg->len - half : half;
	u64 remote = x->remote - KEY_ADDR(x->dst);
	const struct dsm_seg *before;
	u32 p;

	for (before = x->seg; before < seg; before++)
		remote += before->len;
	r->left &= ~(1u << piece);
	for (p = 0; p < MAX_PAGES && w.idx_of[p] != remote / DSM_PAGE_BYTES; p++)
		;
	if (p == MAX_PAGES || !home->frame[p] || remote % DSM_PAGE_BYTES != seg->off ||
	    seg->off + seg->len > DSM_PAGE_BYTES)
		fail("I24: %u bytes are written to %llu at %c", seg->len, (unsigned long long)remote, 'A' + x->dst);
	say("piece %u of write #%u: p%u at %c, bytes %u to %u", piece, r->id, p, 'A' + x->dst, seg->off + at,
	    seg->off + at + len);
	memcpy(home->frame[p] + seg->off + at, (u8 *)seg->page + seg->off + at, len);
}

void reading_piece(u32 i, u32 piece)
{
	struct reading *r = &w.reading[i];
	struct dsm_xfer *x = r->x;
	struct node *home = &w.node[x->dst];
	u32 seg = piece / PIECES, part = DSM_PAGE_BYTES / PIECES, at = piece % PIECES * part, p;
	u32 idx = (x->remote - KEY_ADDR(x->dst)) / DSM_PAGE_BYTES + seg;

	if (atomics_do(x)) {
		atomics_piece(i, piece);
		return;
	}
	if (x->op == DSM_XFER_WRITE) {
		written_piece(r, piece);
		return;
	}
	if (idx != x->idx + seg)
		fail("I24: page %u is read from the place of page %u", x->idx + seg, idx);
	if (!(r->left & 1u << piece))
		r->again = false;
	r->left &= ~(1u << piece);
	for (p = 0; p < MAX_PAGES && w.idx_of[p] != idx; p++)
		;
	if (p == MAX_PAGES || !home->frame[p])
		fail("I24: page %u has no frame at %c", idx, 'A' + x->dst);
	say("piece %u of read #%u: p%u from %c", piece, r->id, p, 'A' + x->dst);
	if (r->left & 1u << (piece ^ 1))
		r->ver[seg] = home->page[p].ver;
	else if (r->ver[seg] != home->page[p].ver)
		reach(REACH_BETWEEN);
	memcpy((u8 *)x->seg[seg].page + x->seg[seg].off + at, home->frame[p] + at, part);
}

void reading_done(u32 i, int status)
{
	struct reading r = w.reading[i];

	memmove(&w.reading[i], &w.reading[i + 1], (--w.n_reading - i) * sizeof(w.reading[0]));
	say("transfer #%u of %c is back: %d", r.id, 'A' + r.node, status);
	step_done(&w.node[r.node], r.x, status);
}
