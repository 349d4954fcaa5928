/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Up to eight engines on the host: pools, pages, messages under way, the flusher. Include after unit.h.
 *
 * Every message is checked and delivered from a block of exactly its length. All objects are counted: what an engine
 * loses, the leak checker finds. Never chooses an order: a test holds back types, or delivers one by one.
 */
#ifndef DSM_SELFTESTS_WORLD_H
#define DSM_SELFTESTS_WORLD_H

#include "barrier.h"
#include "bcast.h"
#include "csm.h"
#include "diff.h"
#include "direct.h"
#include "engine.h"
#include "fetch.h"
#include "flag.h"
#include "interval.h"
#include "lock.h"
#include "move.h"
#include "page.h"
#include "pipe.h"
#include "release.h"
#include "sc.h"

#define WORLD_NODES 8
#define WORLD_PAGES 64
#define WORLD_FLYING 2048
#define WORLD_REGION 7

struct world_node {
	struct dsm_engine e;
	struct dsm_space space;
	struct hlist_head *tables;
	struct dsm_page *page[WORLD_PAGES];
	bool pinned[WORLD_PAGES];
	bool flush;
	bool run;
	bool dead;
	u64 woken_pages;
	bool registered;	/* all its pages may be read */
	u32 keys;		/* bitmap of nodes that told of their registration */
	u32 reads;		/* transfers handed over */
};

struct world_msg {
	struct dsm_msgbuf *m;
	u16 src;
};

static struct world {
	struct world_node node[WORLD_NODES];
	u32 nodes;
	struct world_msg fly[WORLD_FLYING];
	u32 n_fly;
	struct dsm_xfer *xfer;	/* under way, oldest first; imm: node that reads */
	bool hold_xfer;
	bool sinks;		/* requests get the registration that they want */
	u32 lent;		/* of these, not given back by an answer */
	u8 asked[WORLD_NODES][DSM_HDR_BYTES + sizeof(struct dsm_wire_fetch)];	/* the last of them */
	u32 briefs;		/* answers that a number stood for */
	bool held[256];		/* types that world_run() does not deliver */
	bool hold_flush;
	bool hold_run;
	struct dsm_msgbuf *cast;	/* multicasts under way, newest first */
	bool hold_cast;
	bool alone;		/* nobody has a copy; else somebody may, and each interval of a home is told of */
	struct dsm_actions acts;
} w;

static inline struct dsm_engine *world_engine(u16 n)
{
	return &w.node[n].e;
}

/* ---- pages ---- */

struct dsm_page *dsm_env_page_find(struct dsm_space *s, u32 idx)
{
	struct world_node *n = s->shell;

	return idx < WORLD_PAGES ? n->page[idx] : NULL;
}

bool dsm_env_key_find(struct dsm_space *s, u32 idx, u16 home, struct dsm_key *key)
{
	struct world_node *n = s->shell;

	if (!(home == n->e.self ? n->registered : n->keys >> home & 1))
		return false;
	*key = (struct dsm_key){ .addr = (home + 1) * 0x10000000ull, .rkey = 100 + home };
	return true;
}

static inline struct dsm_page *world_touch(u16 node, u32 idx, bool frame)
{
	struct world_node *n = &w.node[node];

	if (!n->page[idx]) {
		n->page[idx] = memset(unit_alloc(sizeof(struct dsm_page)), 0, sizeof(struct dsm_page));
		dsm_page_init(&n->e, &n->space, n->page[idx], idx);
	}
	if (frame && !n->page[idx]->frame)
		n->page[idx]->frame = memset(unit_alloc(DSM_PAGE_BYTES), 0, DSM_PAGE_BYTES);
	return n->page[idx];
}

static inline struct dsm_page *world_page(u16 node, u32 idx)
{
	return world_touch(node, idx, true);
}

/* ---- pools and steps ---- */

static inline struct dsm_msgbuf *world_msg_new(void)
{
	struct dsm_msgbuf *m = memset(unit_alloc(sizeof(*m)), 0, sizeof(*m));

	m->data = unit_alloc(DSM_MSG_BYTES);
	return m;
}

static inline void world_msg_free(struct dsm_msgbuf *m)
{
	free(m->data);
	free(m);
}

static inline struct dsm_actions *world_begin(u16 node)
{
	struct dsm_engine *e = world_engine(node);
	u32 kind, want;

	for (kind = 0; kind < DSM_POOL_COUNT; kind++)
		for (want = dsm_engine_wants(e, kind); want; want--)
			dsm_pool_give(e, kind, kind == DSM_POOL_MSG ? (void *)world_msg_new() :
				      unit_alloc(kind == DSM_POOL_TWIN ? DSM_PAGE_BYTES :
						 kind == DSM_POOL_XFER ? sizeof(struct dsm_xfer) :
						 dsm_pool_object_bytes(kind)));
	dsm_actions_init(&w.acts);
	return &w.acts;
}

static inline void world_post(u16 src, struct dsm_msgbuf *m)
{
	__le16 len;

	unit_require(m->dst < w.nodes && m->dst != src, "message to node %u from %u", m->dst, src);
	if (m->sink && w.sinks) {
		struct dsm_wire_sink sink = { .addr = cpu_to_le64((uintptr_t)m->sink), .rkey = cpu_to_le32(7) };

		memcpy(&sink.chunk, m->data + m->len - sizeof(sink.chunk), sizeof(sink.chunk));
		memcpy(m->data + m->len - sizeof(sink), &sink, sizeof(sink));
		memcpy(w.asked[src], m->data, m->len);
		w.lent++;
	}
	if (m->brief && w.sinks) {
		u8 full[DSM_HDR_BYTES + sizeof(struct dsm_wire_page)];

		/* Type and answer, but for what net fills in, and the registration that the asker knows. */
		unit_require(dsm_fetch_expand(w.asked[m->dst], sizeof(w.asked[0]), src, m->brief, full) == (int)m->len &&
			     full[0] == m->data[0] && !memcmp(full + 12, m->data + 12, 8) &&
			     !memcmp(full + DSM_HDR_BYTES, m->data + DSM_HDR_BYTES, 16),
			     "brief answer %u says something else", m->brief);
		memcpy(m->data + DSM_HDR_BYTES, full + DSM_HDR_BYTES, sizeof(struct dsm_wire_page));
		w.briefs++;
	}
	if (m->rkey && w.sinks)
		w.lent--;
	if (m->page && m->rkey) {
		/* A device refuses keys that it did not give. */
		if (w.sinks && m->rkey == 7)
			memcpy((void *)(uintptr_t)m->raddr, m->page, DSM_PAGE_BYTES);
	} else if (m->page) {
		memcpy(m->data + m->len, m->page, DSM_PAGE_BYTES);
		m->len += DSM_PAGE_BYTES;
	}
	m->page = NULL;
	len = cpu_to_le16(m->len);
	memcpy(m->data + offsetof(struct dsm_wire_hdr, len), &len, sizeof(len));
	if (w.node[m->dst].dead || w.node[src].dead) {
		world_msg_free(m);
		return;
	}
	unit_require(w.n_fly < WORLD_FLYING, "%u messages under way", w.n_fly);
	w.fly[w.n_fly++] = (struct world_msg){ m, src };
}

static inline void world_end(u16 node)
{
	struct dsm_msgbuf *m = w.acts.send, *next;
	struct dsm_xfer *x, **last = &w.xfer;

	while (*last)
		last = &(*last)->next;
	*last = w.acts.xfer;
	for (x = *last; x; x = x->next) {
		x->imm = node;
		w.node[node].reads++;
	}

	for (; m; m = next) {
		next = m->next;
		world_post(node, m);
	}
	if (w.acts.cast) {
		w.acts.cast->next = w.cast;
		w.cast = w.acts.cast;
	}
	w.node[node].flush |= w.acts.flush;
	w.node[node].run |= w.acts.run;
	w.node[node].woken_pages |= w.acts.wake_pages;
}

/* ---- transfers ---- */

/* The device's part of the oldest one: bytes, one segment after the other. */
static inline void world_read(struct dsm_xfer *x)
{
	u64 at = x->remote - (x->dst + 1) * 0x10000000ull;
	u32 first = at / DSM_PAGE_BYTES, i;

	if (x->op == DSM_XFER_WRITE) {
		unit_require(x->kind == DSM_XFER_KIND_DIFF && x->rkey == 100u + x->dst && w.node[x->dst].registered,
			     "write of kind %u to node %u with key %u", x->kind, x->dst, x->rkey);
		for (i = 0; i < x->n_segs; at += x->seg[i++].len) {
			const struct dsm_seg *seg = &x->seg[i];

			unit_require(at % DSM_PAGE_BYTES == seg->off && seg->off + seg->len <= DSM_PAGE_BYTES,
				     "bytes from %u on are written to %llu", seg->off, (unsigned long long)at);
			memcpy((u8 *)world_touch(x->dst, at / DSM_PAGE_BYTES, true)->frame + seg->off,
			       (u8 *)seg->page + seg->off, seg->len);
		}
		return;
	}
	unit_require(x->op == DSM_XFER_READ && x->rkey == 100u + x->dst && w.node[x->dst].registered,
		     "transfer %u to node %u with key %u", x->op, x->dst, x->rkey);
	unit_require(first == x->idx % DSM_CHUNK_PAGES, "page %u reads from page %u", x->idx, first);
	for (i = 0; i < x->n_segs; i++)
		memcpy((u8 *)x->seg[i].page + x->seg[i].off, world_touch(x->dst, x->idx + i, true)->frame,
		       x->seg[i].len);
}

/* The oldest transfer is back. */
static inline void world_xfer_done(int status)
{
	struct dsm_xfer *x = w.xfer;
	u16 node = x->imm;

	w.xfer = x->next;
	x->status = status;
	if (x->kind == DSM_XFER_KIND_DIFF)
		dsm_direct_done(world_engine(node), x, world_begin(node));
	else
		dsm_fetch_on_read(world_engine(node), x, world_begin(node));
	world_end(node);
	free(x);
}

static inline void world_xfer(void)
{
	world_read(w.xfer);
	world_xfer_done(0);
}

/* ---- messages ---- */

static inline int world_touch_checked(void *ctx, u32 region, u32 idx, bool frame)
{
	struct world_node *n = ctx;

	if (region != n->space.id)
		return -ENOENT;
	if (idx >= WORLD_PAGES)
		return -EPROTO;
	world_touch(n - w.node, idx, frame);
	return 0;
}

/* Check and deliver; the result of the first that refuses. */
static inline int world_recv(u16 to, u16 from, const void *msg, u32 len)
{
	u8 *exact = unit_copy(msg, len);
	int err = dsm_engine_check(exact, len, world_touch_checked, &w.node[to]);
	struct dsm_key key;
	u32 idx;

	if (!err) {
		struct dsm_actions *acts = world_begin(to);

		err = dsm_engine_recv(world_engine(to), from, exact, len, acts);
		if (!err && dsm_fetch_key(exact, len, &idx, &key))
			w.node[to].keys |= 1u << from;
		world_end(to);
	}
	free(exact);
	return err;
}

static inline int world_deliver_at(u32 i)
{
	struct world_msg f = w.fly[i];
	int err;

	memmove(&w.fly[i], &w.fly[i + 1], (--w.n_fly - i) * sizeof(w.fly[0]));
	err = world_recv(f.m->dst, f.src, f.m->data, f.m->len);
	world_msg_free(f.m);
	return err;
}

static inline int world_find(u8 type)
{
	u32 i;

	for (i = 0; i < w.n_fly; i++)
		if (w.fly[i].m->data[0] == type)
			return i;
	return -1;
}

static inline u32 world_count(u8 type)
{
	u32 i, n = 0;

	for (i = 0; i < w.n_fly; i++)
		n += w.fly[i].m->data[0] == type;
	return n;
}

/* The oldest message of @type under way, and nothing else. */
static inline void world_deliver(u8 type)
{
	int i = world_find(type);

	unit_require(i >= 0, "no message of type %u is under way", type);
	assert_int_equal(world_deliver_at(i), 0);
}

static inline void world_drop_at(u32 i)
{
	world_msg_free(w.fly[i].m);
	memmove(&w.fly[i], &w.fly[i + 1], (--w.n_fly - i) * sizeof(w.fly[0]));
}

/* Body of the oldest message of @type. */
static inline u8 *world_body(u8 type)
{
	int i = world_find(type);

	unit_require(i >= 0, "no message of type %u is under way", type);
	return w.fly[i].m->data + DSM_HDR_BYTES;
}

static inline struct dsm_wire_hdr *world_hdr(u8 type)
{
	return (struct dsm_wire_hdr *)(world_body(type) - DSM_HDR_BYTES);
}

/* A message made by hand. */
static inline struct dsm_msgbuf *world_forge(u8 type, u32 region, u32 xid)
{
	struct dsm_msgbuf *m = world_msg_new();

	dsm_wire_begin(m, type, region, xid);
	return m;
}

static inline int world_inject(u16 to, u16 from, struct dsm_msgbuf *m)
{
	int err = world_recv(to, from, m->data, m->len);

	world_msg_free(m);
	return err;
}

/* A vector time of @nodes zeros. */
static inline void world_put_times(struct dsm_msgbuf *m, u16 nodes, u16 count)
{
	struct dsm_wire_know head = { .nodes = cpu_to_le16(nodes), .count = cpu_to_le16(count) };
	__le64 zero = 0;

	dsm_wire_put(m, &head, sizeof(head));
	while (nodes--)
		dsm_wire_put(m, &zero, sizeof(zero));
}

#include "world_cast.h"

/* ---- flusher ---- */

/* A pack of its own for one record. */
static inline void world_send_diff(u16 node, u16 home, const u8 *record, u32 bytes)
{
	struct dsm_pack k;

	dsm_pack_init(&k, &w.node[node].space, home);
	dsm_pack_add(&k, world_msg_new(), node);
	assert_true(dsm_pack_room(&k) >= bytes);
	memcpy(dsm_pack_at(&k), record, bytes);
	dsm_pack_put(&k, bytes);
	assert_null(dsm_pack_close(&k));
	dsm_pipe_send(world_engine(node), &k, world_begin(node));
	world_end(node);
}

/* The same by remote writes; -1: the page is to be packed. */
static inline int world_direct(u16 node, struct dsm_page *p, bool keep)
{
	struct dsm_engine *e = world_engine(node);
	int max = dsm_direct_runs(e, p->space), runs, i;
	struct dsm_piece piece[DSM_DIRECT_RUNS_MAX];
	struct dsm_direct d;
	struct dsm_key key;
	struct dsm_pack k;

	if (max < 0 || !dsm_direct_key(e, p, &key))
		return -1;
	runs = dsm_diff_take(p->frame, p->twin, DSM_PAGE_BYTES, 0, piece, max);
	if (runs < 0)
		return -1;
	if (runs)
		dsm_direct_begin(&d, world_msg_new(), p->space, p->home);
	for (i = 0; i < runs; i++) {
		bool owned = i == runs - 1 && !keep;

		if (!i || !dsm_direct_put(&d, p, &piece[i], &key, owned)) {
			dsm_direct_add(&d, unit_alloc(sizeof(struct dsm_xfer)));
			assert_true(dsm_direct_put(&d, p, &piece[i], &key, owned));
		}
	}
	if (runs && !keep)
		dsm_rel_lend(p);
	if (runs) {
		dsm_direct_name(&d, p->idx);
		dsm_direct_close(&d, &k, p->space, p->home);
	}
	dsm_rel_diffed(e, p, runs, world_begin(node));
	if (runs)
		dsm_pipe_send(e, &k, &w.acts);
	world_end(node);
	return runs;
}

/* Second half of writing a page back. */
static inline bool world_diff(u16 node, struct dsm_page *p, bool keep)
{
	u8 record[DSM_DIFF_RECORD_MAX(DSM_PAGE_BYTES)];
	int bytes = world_direct(node, p, keep);
	u16 home = p->home;
	bool send;

	if (bytes >= 0)
		return bytes > 0;
	bytes = dsm_diff_make(p->frame, p->twin, DSM_PAGE_BYTES, p->idx, keep, record, sizeof(record));
	assert_true(bytes >= 0);
	send = dsm_rel_diffed(world_engine(node), p, bytes > 0, world_begin(node));
	world_end(node);
	if (bytes > 0 && send)
		world_send_diff(node, home, record, bytes);
	return bytes > 0 && send;
}

/* First half: true if a diff is to be made. */
static inline bool world_downgrade(u16 node, struct dsm_page *p, bool *keep)
{
	bool diff = dsm_rel_downgraded(world_engine(node), p, w.node[node].pinned[p->idx], keep, world_begin(node));

	dsm_csm_post(world_engine(node), &w.acts);
	world_end(node);
	return diff;
}

static inline void world_flush(u16 node)
{
	struct dsm_page *p;
	bool keep;

	w.node[node].flush = false;
	while ((p = dsm_rel_take(world_engine(node))))
		if (world_downgrade(node, p, &keep))
			world_diff(node, p, keep);
}

/* ---- everything that can go on ---- */

static inline bool world_one(void)
{
	u32 i;

	if (w.xfer && !w.hold_xfer) {
		world_xfer();
		return true;
	}
	if (w.cast && !w.hold_cast) {
		world_cast();
		return true;
	}
	for (i = 0; i < w.n_fly; i++) {
		u8 type = w.fly[i].m->data[0];
		int err;

		if (w.held[type])
			continue;
		err = world_deliver_at(i);
		unit_require(!err, "message of type %u gives %d", type, err);
		return true;
	}
	for (i = 0; i < w.nodes; i++) {
		struct world_node *n = &w.node[i];

		if (n->dead)
			continue;
		if (n->run && !w.hold_run) {
			n->run = false;
			dsm_engine_run(&n->e, world_begin(i));
			world_end(i);
			return true;
		}
		if (n->flush && !w.hold_flush) {
			world_flush(i);
			return true;
		}
	}
	return false;
}

static inline void world_run(void)
{
	u32 steps = 0;

	while (world_one())
		unit_require(++steps < 100000, "goes on for ever");
}

#include "world_threads.h"

/* ---- loss ---- */

/* Some of its keys, by their chains, are told of the loss of @node. */
static inline void world_lose_keys(u16 at, u16 node, u32 loss, u32 from, u32 end)
{
	bool more;
	u32 i;

	for (i = from; i < end; i++)
		do {
			more = dsm_engine_lose_key(world_engine(at), node, loss, i, world_begin(at));
			world_end(at);
		} while (more);
}

/* One survivor learns of the loss of @node. */
static inline void world_learn_loss(u16 at, u16 node)
{
	u32 i;

	for (i = w.n_fly; i--;)
		if (w.fly[i].m->dst == at && w.fly[i].src == node)
			world_drop_at(i);
	while (w.xfer && w.xfer->imm == at && w.xfer->dst == node)
		world_xfer_done(-EHOSTDOWN);
	w.node[at].keys &= ~(1u << node);
	dsm_engine_peer_lost(world_engine(at), node, world_begin(at));
	world_end(at);
	for (i = 0; i < WORLD_PAGES; i++)
		if (w.node[at].page[i]) {
			dsm_page_peer_lost(world_engine(at), w.node[at].page[i], node, world_begin(at));
			world_end(at);
		}
	world_lose_keys(at, node, ++world_engine(at)->losses, 0, DSM_KEY_BUCKETS);
	dsm_moves_peer_lost(world_engine(at), node);
}

/* Nobody on @node ever opened the region. */
static inline void world_stranger(u16 node)
{
	u32 i;

	for (i = 0; i < w.nodes; i++)
		w.node[i].space.users &= ~(1ull << node);
}

/* A node stops; what it sent is lost. */
static inline void world_crash(u16 node)
{
	u32 i;

	w.node[node].dead = true;
	for (i = w.n_fly; i--;)
		if (w.fly[i].m->dst == node || w.fly[i].src == node)
			world_drop_at(i);
}

static inline void world_lose(u16 node)
{
	u32 i;

	world_crash(node);
	for (i = 0; i < w.nodes; i++)
		if (!w.node[i].dead)
			world_learn_loss(i, node);
}

/* A number that was lost is another node's, which uses the region. */
static inline void world_newcomer(u16 at, u16 node)
{
	u32 i;

	dsm_engine_peer_up(world_engine(at), node);
	for (i = 0; i < DSM_KEY_BUCKETS; i++)
		dsm_engine_forget_loss(world_engine(at), node, i);
	w.node[at].space.users |= 1ull << node;
}

/* ---- set-up ---- */

static inline void world_start_with(u32 nodes, u8 home)
{
	u32 i, k;

	memset(&w, 0, sizeof(w));
	w.nodes = nodes;
	for (i = 0; i < nodes; i++) {
		struct world_node *n = &w.node[i];

		n->tables = calloc(DSM_KEY_TABLES * DSM_KEY_BUCKETS, sizeof(*n->tables));
		assert_non_null(n->tables);
		dsm_engine_init(&n->e, n->tables);
		dsm_engine_set_self(&n->e, i);
		for (k = 0; k < nodes; k++)
			dsm_engine_peer_up(&n->e, k);
		n->space = (struct dsm_space){ .id = WORLD_REGION, .pages = WORLD_PAGES, .n_members = nodes,
					       .users = (1ull << nodes) - 1,
					       .shell = n, .policy = { .home = home, .block_pages = 1,
								       .pipe_bytes = DSM_MSG_BYTES,
								       .pipe_depth = DSM_PIPE_DEPTH_MAX } };
		for (k = 0; k < nodes; k++)
			n->space.members[k] = k;
		dsm_space_add(&n->e, &n->space);
	}
}

/* Page i is homed at node i % @nodes. */
static inline void world_start(u32 nodes)
{
	world_start_with(nodes, DSM_HOME_BLOCK);
}

static inline void world_stop(void)
{
	u32 i, k;
	void *obj;

	while (w.n_fly)
		world_drop_at(0);
	while (w.xfer)
		world_xfer_done(-EHOSTDOWN);
	while (w.cast) {
		struct dsm_msgbuf *m = w.cast;

		w.cast = m->next;
		world_msg_free(m);
	}
	for (i = 0; i < w.nodes; i++) {
		struct world_node *n = &w.node[i];

		for (k = 0; k < w.nodes; k++)
			dsm_pipe_peer_lost(&n->e, k, world_begin(i));
		dsm_engine_forget(&n->e, 0);
		for (k = 0; k < DSM_MAX_NODES; k++)
			unit_require(!n->e.served[k], "%u requests of node %u stay counted", n->e.served[k], k);
		for (k = 0; k < WORLD_PAGES; k++) {
			if (!n->page[k])
				continue;
			free(n->page[k]->frame);
			dsm_sc_forget_page(&n->e, n->page[k]);
			if (!dsm_page_is_sc(n->page[k]))
				free(n->page[k]->twin);
			free(n->page[k]);
		}
		for (k = 0; k < DSM_POOL_COUNT; k++)
			while (n->e.pool[k].count) {
				obj = dsm_pool_take(&n->e, k);
				if (k == DSM_POOL_MSG)
					world_msg_free(obj);
				else
					free(obj);
			}
		free(n->tables);
	}
	w.nodes = 0;
}

#endif
