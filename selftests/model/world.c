// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The machines: engines, pools, frames and page tables, and how one step of an
 * engine is begun and ended, as the kernel's shell does it. Never chooses anything.
 */
#include <stdarg.h>
#include "model.h"
#include "barrier.h"
#include "flag.h"
#include "rlock.h"
#include "thread.h"

struct world w;

#define N_MSGS 256
#define N_TWINS 32
#define N_OTHERS 64
#define N_INTERVALS 640

static struct dsm_msgbuf msg_pool[N_MSGS];
static struct dsm_msgbuf *msg_free;
static u8 msg_bytes[N_MSGS][DSM_MSG_BYTES + 64];

/* Twins hold a link while they are free. */
static u64 twin_pool[MAX_NODES][N_TWINS][(DSM_PAGE_BYTES + 7) / 8];
static u64 frame_pool[MAX_NODES][MAX_PAGES][(DSM_PAGE_BYTES + 7) / 8];
static struct dsm_interval interval_pool[MAX_NODES][N_INTERVALS];
static struct dsm_lock lock_pool[MAX_NODES][N_OTHERS];
static struct dsm_rlock rlock_pool[MAX_NODES][N_OTHERS];
static struct dsm_barrier barrier_pool[MAX_NODES][N_OTHERS];
static struct dsm_flag flag_pool[MAX_NODES][N_OTHERS];
static struct dsm_request request_pool[MAX_NODES][N_OTHERS];
static u32 given[MAX_NODES][DSM_POOL_COUNT];

void say(const char *fmt, ...)
{
	va_list args;

	if (!w.verbose)
		return;
	printf("# %4u  ", w.steps);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

const char *page_state_name(u8 state)
{
	static const char * const name[] = { "INV", "FET", "RD", "WR", "WRS", "WRF", "HOME", "HOMEW", "FREE",
					     "UPG", "EX", "HX", "HO", "HB", "LOST" };

	static const char * const sc_name[] = { "I", "IS", "S", "IM", "SM", "M", "LOST" };

	if (state >= DSM_SC_I && state - DSM_SC_I < (int)ARRAY_SIZE(sc_name))
		return sc_name[state - DSM_SC_I];
	return state < ARRAY_SIZE(name) ? name[state] : "?";
}

/* ---- pools ---- */

/* Objects that a node has, in its pools or in use. Only messages and transfers come back. */
void world_gives(const struct node *n, enum dsm_pool_kind kind, int more)
{
	given[node_id(n)][kind] += more;
}

u32 world_given(const struct node *n, enum dsm_pool_kind kind)
{
	return given[node_id(n)][kind];
}

struct dsm_msgbuf *msg_alloc(struct node *n)
{
	struct dsm_msgbuf *m = msg_free;

	if (!m)
		fail("model: out of message buffers");
	msg_free = m->next;
	m->next = NULL;
	world_gives(n, DSM_POOL_MSG, 1);
	return m;
}

void flying_free(struct dsm_msgbuf *m, u32 src)
{
	world_gives(&w.node[src], DSM_POOL_MSG, -1);
	m->next = msg_free;
	msg_free = m;
}

static void *object(struct node *n, enum dsm_pool_kind kind)
{
	u32 id = node_id(n), at;

	if (kind == DSM_POOL_MSG)
		return msg_alloc(n);
	if (kind == DSM_POOL_XFER)
		return xfer_alloc(n);
	at = given[id][kind]++;
	if (at >= (kind == DSM_POOL_TWIN ? N_TWINS : kind == DSM_POOL_INTERVAL ? N_INTERVALS : N_OTHERS))
		fail("model: pool %d of node %c grows for ever", kind, 'A' + id);
	switch (kind) {
	case DSM_POOL_TWIN:
		return twin_pool[id][at];
	case DSM_POOL_INTERVAL:
		return &interval_pool[id][at];
	case DSM_POOL_LOCK:
		return &lock_pool[id][at];
	case DSM_POOL_RLOCK:
		return &rlock_pool[id][at];
	case DSM_POOL_BARRIER:
		return &barrier_pool[id][at];
	case DSM_POOL_FLAG:
		return &flag_pool[id][at];
	default:
		return &request_pool[id][at];
	}
}

/* Full pools, as the shell provides them. */
void step_begin(struct node *n, struct dsm_actions *acts)
{
	u32 kind, want;

	for (kind = 0; kind < DSM_POOL_COUNT; kind++)
		for (want = dsm_engine_wants(&n->e, kind); want; want--)
			dsm_pool_give(&n->e, kind, object(n, kind));
	dsm_actions_init(acts);
	w.changed |= 1u << node_id(n);
	/* Time passes for multicasts; what else depends on it is told. */
	if (w.l->flags & LITMUS_BCAST)
		n->e.now_ns = w.steps;
}

void step_end(struct node *n, struct dsm_actions *acts)
{
	struct dsm_waiter *waiter = acts->wake;
	struct dsm_msgbuf *m = acts->send;
	struct dsm_xfer *x = acts->xfer;
	u64 pages = acts->wake_pages;

	while (m) {
		struct dsm_msgbuf *next = m->next;

		post(n, m);
		m = next;
	}
	if (acts->cast)
		bcast_post(n, acts->cast);
	while (waiter) {
		struct dsm_waiter *next = waiter->wake;

		container_of(waiter, struct thread, w)->woken = true;
		waiter = next;
	}
	for (; pages; pages &= pages - 1)
		n->bucket_seq[__ffs64(pages)]++;
	while (x) {
		struct dsm_xfer *next = x->next;

		xfer_post(n, x);
		x = next;
	}
	n->flush |= acts->flush;
	if (acts->run && !n->run) {
		n->run = true;
		n->run_stamp = ++w.next_stamp;
	}
}

/* ---- pages ---- */

static struct dsm_space *space_of(struct node *n, u32 p)
{
	return w.l->flags & LITMUS_MIXED && p == 1 ? &n->second : &n->space;
}

bool page_is_sc(u32 p)
{
	return w.l->flags & LITMUS_SC && (!(w.l->flags & LITMUS_MIXED) || p == 1);
}

bool page_has(struct node *n, u32 p, u32 region, u32 idx)
{
	return w.idx_of[p] == idx && space_of(n, p)->id == region;
}

struct dsm_page *dsm_env_page_find(struct dsm_space *s, u32 idx)
{
	struct node *n = s->shell;
	u32 p;

	for (p = 0; p < MAX_PAGES; p++)
		if (w.idx_of[p] == idx && space_of(n, p) == s)
			return n->exists[p] ? &n->page[p] : NULL;
	return NULL;
}

u32 page_number(const struct dsm_page *p)
{
	u32 i;

	for (i = 0; i < MAX_PAGES; i++)
		if (w.idx_of[i] == p->idx)
			return i;
	fail("model: page %u does not exist", p->idx);
}

struct dsm_page *touch_page(struct node *n, u32 p, bool frame)
{
	if (!n->exists[p]) {
		memset(&n->page[p], 0, sizeof(n->page[p]));
		dsm_page_init(&n->e, space_of(n, p), &n->page[p], w.idx_of[p]);
		n->exists[p] = true;
	}
	if (frame && !n->page[p].frame) {
		n->page[p].frame = frame_pool[node_id(n)][p];
		memset(n->page[p].frame, 0, DSM_PAGE_BYTES);
		n->frame[p] = n->page[p].frame;
	}
	return &n->page[p];
}

/* One walk over all page tables; every processor is past its flush afterwards. */
void zap(struct node *n, u32 p)
{
	n->pte[0][p] = DSM_PAGE_NONE;
	n->pte[1][p] = DSM_PAGE_NONE;
	n->zaps++;
}

void wrprotect(struct node *n, u32 p)
{
	u32 mm;

	for (mm = 0; mm < 2; mm++)
		if (n->pte[mm][p] == DSM_PAGE_WRITABLE)
			n->pte[mm][p] = DSM_PAGE_READABLE;
}

/* ---- set-up ---- */

static u64 key_at(struct node *n, u8 kind, u8 manager, u64 from)
{
	u64 key;

	for (key = from; dsm_manager(&n->space, kind, key) != manager; key++)
		;
	return key;
}

static void clear_tables(struct node *n)
{
	u32 k;

	for (k = 0; k < MAX_KEYS; k++) {
		dsm_key_bucket(&n->e, n->tables, n->space.id, w.lock_key[k])->first = NULL;
		dsm_key_bucket(&n->e, n->tables + DSM_KEY_BUCKETS, n->space.id, w.barrier_key[k])->first = NULL;
		dsm_key_bucket(&n->e, n->tables + 2 * DSM_KEY_BUCKETS, n->space.id, w.flag_key[k])->first = NULL;
		dsm_key_bucket(&n->e, n->tables + 3 * DSM_KEY_BUCKETS, n->space.id, w.lock_key[k])->first = NULL;
	}
}

static void make_space(struct node *n, struct dsm_space *space, u32 nodes, bool sc)
{
	/* LITMUS_MIXED: the others are settings of the first region. */
	u32 flags = sc ? w.l->flags & ~(LITMUS_CSM | LITMUS_LAZY | LITMUS_DIR | LITMUS_MIGRATE | LITMUS_AT_BARRIER | LITMUS_BCAST) : w.l->flags;
	const struct setting *s = &w.set;
	u32 i;

	memset(space, 0, sizeof(*space));
	space->shell = n;
	space->pages = 64;
	space->n_members = nodes;
	space->users = (1ull << nodes) - 1;
	for (i = 0; i < nodes; i++)
		space->members[i] = i;
	if (sc)
		space->policy.consistency = DSM_CONSISTENCY_SC;
	else if (flags & LITMUS_CSM)
		space->policy.consistency = DSM_CONSISTENCY_CASHMERE;
	space->policy.home = s->first_touch ? DSM_HOME_FIRST_TOUCH : DSM_HOME_BLOCK;
	if (flags & LITMUS_LAZY)
		space->policy.notices = DSM_NOTICES_LAZY;
	if (flags & LITMUS_DIR)
		space->policy.metadata = DSM_METADATA_RDMA;
	if (flags & LITMUS_MIGRATE)
		space->policy.home = DSM_HOME_MIGRATE;
	space->policy.predict = s->predict;
	space->policy.merge = s->live ? DSM_MERGE_LIVE : DSM_MERGE_FAULT;
	if (flags & LITMUS_AT_BARRIER)
		space->policy.home = DSM_HOME_MIGRATE_BARRIER;
	space->policy.block_pages = 1;
	space->policy.diff = s->pipe ? DSM_DIFF_MODE_PIPE : DSM_DIFF_MODE_ORIG;
	space->policy.pipe_depth = s->pipe;
	space->policy.pipe_bytes = s->lone_records ? 1 : DSM_MSG_BYTES;
	space->policy.fetch = s->fetch;
	if (flags & LITMUS_BCAST)
		space->policy.bcast = DSM_BCAST_ADAPTIVE;
	space->policy.diffpath = s->diffpath;
	space->policy.sync = s->rdma ? DSM_SYNC_RDMA : DSM_SYNC_MSG;
	space->policy.algo = w.l->flags & LITMUS_ARRAY ? DSM_ALGO_ARRAY : DSM_ALGO_QUEUE;
	space->all_told = s->untold;
	for (space->id = 1; dsm_manager(space, DSM_MSG_SYNC_PUSH, 0) != s->sync_at; space->id++)
		;
}

static void start_threads(const struct litmus *l)
{
	u8 count[MAX_NODES] = {};
	u32 i;

	for (i = 0; i < l->threads; i++) {
		struct thread *t = &w.thread[i];

		t->id = i;
		t->node = l->node_of[i];
		t->mm = w.set.own_mm ? count[t->node]++ & 1 : 0;
		t->prog = l->thread[i];
		t->state = TS_OP;
		t->clock.at[i] = 1;
		t->stamp = ++w.next_stamp;
		dsm_waiter_init(&t->w);
		t->self = DSM_SLOT_HELD | (u64)owner_of(t).tid << DSM_SLOT_TID_SHIFT;
		if (w.set.fast)
			t->self |= (u64)dsm_slots_register(&node_of(t)->slots, owner_of(t).file, owner_of(t).tgid) <<
				   DSM_SLOT_OWNER_SHIFT;
	}
}

static void forget_world(void)
{
	struct hlist_head *tables;
	u32 i;

	for (i = 0; i < MAX_NODES; i++) {
		struct node *n = &w.node[i];

		if (!n->space.n_members)
			continue;
		tables = n->tables;
		clear_tables(n);
		memset(n, 0, sizeof(*n));
		n->tables = tables;
	}
	memset(&w.o.writes, 0, sizeof(w.o) - offsetof(struct oracle, writes));
	memset(w.thread, 0, sizeof(w.thread));
	history_reset();
	memset(w.pipe, 0, sizeof(w.pipe));
	memset(given, 0, sizeof(given));
	msg_free = NULL;
	for (i = 0; i < N_MSGS; i++) {
		msg_pool[i].data = msg_bytes[i];
		msg_pool[i].next = msg_free;
		msg_free = &msg_pool[i];
	}
	xfers_reset();
	w.n_flying = 0;
	w.n_signals = 0;
	w.n_grams = 0;
	w.next_msg = 0;
	w.next_stamp = 0;
	w.killed = false;
	w.crashed = -1;
	w.parted = 0;
	w.loss = false;
	w.handled = 0;
	w.steps = 0;
	w.changed = ~0u;
	w.words_digest = 0;
}

/* Once per program. */
void world_init(void)
{
	u32 i;

	for (i = 0; i < MAX_NODES; i++) {
		w.node[i].tables = calloc(DSM_KEY_TABLES * DSM_KEY_BUCKETS, sizeof(struct hlist_head));
		if (!w.node[i].tables)
			abort();
	}
}

void world_start(const struct litmus *l, const struct setting *s)
{
	u32 i, k;

	forget_world();
	w.l = l;
	w.set = *s;
	for (i = 0; i < MAX_PAGES; i++)
		w.idx_of[i] = s->first_touch ? s->home[i] * 16 + i : s->home[i] + i * l->nodes;
	for (i = 0; i < l->nodes; i++) {
		struct node *n = &w.node[i];

		make_space(n, &n->space, l->nodes, page_is_sc(0));
		dsm_engine_init(&n->e, n->tables);
		dsm_engine_set_self(&n->e, i);
		for (k = 0; k < l->nodes; k++)
			dsm_engine_peer_up(&n->e, k);
		n->e.log_cap = s->log_cap;
		n->e.lock_cap = s->lock_cap;
		n->e.keep_after = s->keep;
		n->e.move_after = 1;
		n->e.twin_limit = 4 * MAX_PAGES;
		n->e.barrier_fanout = s->fanout;
		n->losing = -1;
		n->register_stamp = ++w.next_stamp;
		n->retry_stamp = ++w.next_stamp;
		n->expire_stamp = ++w.next_stamp;
		if (l->flags & LITMUS_BCAST)
			bcast_start(n);
		dsm_space_add(&n->e, &n->space);
		if (l->flags & LITMUS_MIXED) {
			make_space(n, &n->second, l->nodes, true);
			n->second.id = n->space.id + 100;
			dsm_space_add(&n->e, &n->second);
		}
		dsm_slots_init(&n->slots, n->slot);
		if (s->fast)
			n->space.slots = &n->slots;
		n->recaller.hasty = s->hasty;
		n->recaller.stamp = ++w.next_stamp;
		n->goes_stamp = ++w.next_stamp;
		for (k = 0; k < s->flushers; k++)
			n->flusher[k].stamp = ++w.next_stamp;
	}
	for (k = 0; k < MAX_KEYS; k++) {
		struct node *n = &w.node[0];

		w.lock_key[k] = key_at(n, DSM_MSG_LOCK_REQ, s->lock_at[k], 1000 * k);
		w.barrier_key[k] = key_at(n, DSM_MSG_BAR_ARRIVE, s->barrier_at[k], 1000 * k);
		w.flag_key[k] = key_at(n, DSM_MSG_FLAG_OP, s->flag_at[k], 1000 * k);
	}
	for (i = 0; i < l->nodes && (s->rdma || l->flags & LITMUS_DIR); i++)
		atomics_start(&w.node[i]);
	start_threads(l);
}
