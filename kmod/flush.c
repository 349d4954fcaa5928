// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Page-table work of the shell: writing dirty pages back for releases, and
 * unmapping noticed pages for acquires.
 *
 * Both work in batches: pages are sorted, coalesced to runs, and each run is
 * walked once with one TLB flush (mm.md 1.4). The core says which pages and what
 * became of them; diffs are packed per home. Waits for the network only for what is merged within an acquire.
 */
#include <linux/sort.h>
#include "core/csm.h"
#include "core/diff.h"
#include "core/direct.h"
#include "core/interval.h"
#include "core/live.h"
#include "core/page.h"
#include "core/pipe.h"
#include "core/release.h"
#include "ctl/trace.h"
#include "shell.h"

/* Pages in a batch: a waiting writer is not held up for the whole list (mm.md 1.4). */
#define BATCH 256u

/* What is to be done with a page of a batch. */
enum todo { TODO_NOTHING, TODO_DIFF, TODO_REFRESH };

/**
 * struct batch - pages that are written back or unmapped together
 * @node:    whose; fixed
 * @page:    pages, sorted
 * @run:     runs of them, for the walk
 * @todo:    write-back: enum todo of each
 * @changed: write-back: a record of it is in @pack, or its bytes are in @direct
 * @lent:    write-back: its twin is one of @direct's transfers'
 * @alone:   write-back: its diff may come back, alone
 * @pack:    diffs under construction
 * @direct:  remote writes under construction, of the region and to the home of @pack
 * @piece:   changed runs of one page
 * @key:     registration of @chunk at the home of @pack; rkey 0: none
 * @chunk:   chunk of the page looked at last
 * @end:     first page behind those that may come into @pack
 * @n:       pages
 * @told:    pages that the core was told of: up to here
 */
struct batch {
	struct dsm_node *node;
	struct dsm_page *page[BATCH];
	struct dsm_run run[BATCH];
	u8 todo[BATCH];
	bool changed[BATCH];
	bool lent[BATCH];
	bool alone[BATCH];
	struct dsm_pack pack;
	struct dsm_direct direct;
	struct dsm_piece piece[DSM_DIRECT_RUNS_MAX];
	struct dsm_key key;
	u32 chunk;
	u32 end;
	u32 n;
	u32 told;
};

static int by_place(const void *a, const void *b)
{
	const struct dsm_page *p = *(const struct dsm_page * const *)a;
	const struct dsm_page *q = *(const struct dsm_page * const *)b;

	if (p->space->id != q->space->id)
		return p->space->id < q->space->id ? -1 : 1;
	return p->idx < q->idx ? -1 : p->idx > q->idx;
}

/**
 * dsm_shell_frame_of() - frame of a page, for the walks
 * @region: struct dsm_region
 * @idx:    page index
 *
 * Context: any.
 * Return: frame or NULL.
 */
struct page *dsm_shell_frame_of(void *region, u32 idx)
{
	struct dsm_page *p = xa_load(&((struct dsm_region *)region)->table, idx);

	return p ? READ_ONCE(p->frame) : NULL;
}

/*
 * Runs of the region that page[from] belongs to, without pages that have a flag of @skip; returns
 * one past its last page.
 */
static u32 make_runs(struct batch *b, u32 from, u16 skip, u32 *runs)
{
	u32 i, n = 0;

	for (i = from; i < b->n && b->page[i]->space == b->page[from]->space; i++) {
		/* Only the flusher that took a page ends its being kept. */
		if (READ_ONCE(b->page[i]->flags) & skip)
			continue;
		if (n && b->run[n - 1].first + b->run[n - 1].count == b->page[i]->idx)
			b->run[n - 1].count++;
		else
			b->run[n++] = (struct dsm_run){ .first = b->page[i]->idx, .count = 1 };
	}
	*runs = n;
	return i;
}

typedef void walk_fn(struct dsm_mm *mm, const struct dsm_run *runs, u32 n,
		     struct page *(*frame_of)(void *ctx, u32 idx), void *ctx);

/* Pages are mostly written, and come, in ascending order. */
static void sort_pages(struct batch *b, int (*cmp)(const void *a, const void *b))
{
	u32 i;

	for (i = 1; i < b->n; i++)
		if (cmp(&b->page[i - 1], &b->page[i]) > 0) {
			sort(b->page, b->n, sizeof(b->page[0]), cmp, NULL);
			return;
		}
}

static void walk(struct batch *b, u16 skip, walk_fn *fn)
{
	u32 at = 0, runs;

	sort_pages(b, by_place);
	while (at < b->n) {
		struct dsm_region *r = b->page[at]->space->shell;

		at = make_runs(b, at, skip, &runs);
		if (runs)
			fn(r->mm, b->run, runs, dsm_shell_frame_of, r);
	}
}

/* ---- write-back ---- */

/* By home, the one after this node first: not everybody begins with node 0. */
static int by_home(const void *a, const void *b)
{
	const struct dsm_page *p = *(const struct dsm_page * const *)a;
	const struct dsm_page *q = *(const struct dsm_page * const *)b;
	u32 own = DSM_MAX_NODES - 1 - dsm_page_node(p)->engine->self;
	int i = (p->home + own) % DSM_MAX_NODES, j = (q->home + own) % DSM_MAX_NODES;

	return i != j ? i - j : by_place(a, b);
}

/*
 * One step for all pages since the last one, whose diffs are made: writers go on, and the pack goes
 * out.
 */
static void tell(struct batch *b, u32 end)
{
	struct dsm_node *n = b->node;
	struct dsm_msgbuf *empty = dsm_pack_close(&b->pack);
	struct dsm_engine *e = n->engine;
	struct dsm_actions acts;
	struct dsm_pack direct;

	dsm_net_msg_free(n->net, empty);
	if (b->told == end)
		return;
	dsm_step_begin(n, &acts);
	for (; b->told < end; b->told++) {
		if (b->todo[b->told] == TODO_NOTHING)
			continue;
		if (b->lent[b->told])
			dsm_rel_lend(b->page[b->told]);
		dsm_rel_diffed(e, b->page[b->told], b->changed[b->told], &acts);
	}
	if (b->pack.first)
		dsm_pipe_send(e, &b->pack, &acts);
	if (b->direct.m) {
		dsm_direct_close(&b->direct, &direct, b->pack.space, b->pack.home);
		dsm_pipe_send(e, &direct, &acts);
	}
	dsm_step_end(n, &acts);
}

/* Room for one record of at most what is asked for; sends what is in the way of it. */
static void make_room(struct batch *b, u32 i)
{
	struct dsm_node *n = b->node;
	struct dsm_msgbuf *m;

	if (dsm_pack_is_full(&b->pack)) {
		tell(b, i);
		return;
	}
	m = dsm_net_msg_alloc(n->net, GFP_KERNEL | __GFP_NOFAIL);
	dsm_pack_add(&b->pack, m, n->engine->self);
}

static void diff_made(struct batch *b, u32 i, u32 bytes)
{
	struct dsm_page *p = b->page[i];

	trace_dsm_diff(p->space->id, p->idx, bytes, p->home);
	b->changed[i] = bytes;
	dsm_shell_count(p->space->shell, diff_bytes, bytes);
}

static bool has_key(struct batch *b, struct dsm_page *p)
{
	struct dsm_node *n = b->node;

	if (b->chunk != p->idx / DSM_CHUNK_PAGES) {
		b->chunk = p->idx / DSM_CHUNK_PAGES;
		spin_lock(&n->lock);
		if (!dsm_direct_key(n->engine, p, &b->key))
			b->key.rkey = 0;
		spin_unlock(&n->lock);
	}
	return b->key.rkey;
}

static void put_piece(struct batch *b, u32 i, const struct dsm_piece *piece)
{
	struct dsm_node *n = b->node;

	if (dsm_direct_put(&b->direct, b->page[i], piece, &b->key, b->lent[i]))
		return;
	dsm_direct_add(&b->direct,
		       dsm_net_xfer_alloc(n->net, GFP_KERNEL | __GFP_NOFAIL));
	dsm_direct_put(&b->direct, b->page[i], piece, &b->key, b->lent[i]);
}

/* The page's changed bytes straight into its home's frame. False: they are to be packed. */
static bool write_direct(struct batch *b, u32 i)
{
	struct dsm_node *n = b->node;
	int max = dsm_direct_runs(n->engine, b->page[i]->space), runs, k;
	struct dsm_page *p = b->page[i];
	u32 bytes = 0;

	if (max < 0 || b->alone[i] || !has_key(b, p))
		return false;
	runs = dsm_diff_take(page_address((struct page *)p->frame),
			     page_address((struct page *)p->twin), DSM_PAGE_BYTES,
			     p->space->policy.grain_log2, b->piece, max);
	if (runs < 0)
		return false;
	if (runs && !b->direct.m)
		dsm_direct_begin(&b->direct,
				 dsm_net_msg_alloc(n->net, GFP_KERNEL | __GFP_NOFAIL),
				 p->space, p->home);
	for (k = 0; k < runs; k++) {
		/* With the last piece, and if the page does not go on using it. */
		b->lent[i] = k == runs - 1 && b->todo[i] == TODO_DIFF;
		put_piece(b, i, &b->piece[k]);
		bytes += b->piece[k].len;
	}
	diff_made(b, i, bytes);
	if (!runs)
		return true;
	dsm_direct_name(&b->direct, p->idx);
	dsm_shell_count(p->space->shell, direct_pages, 1);
	dsm_shell_count(p->space->shell, direct_runs, runs);
	if (b->direct.pages == DSM_DIRECT_PAGES || p->space->policy.diff == DSM_DIFF_MODE_ORIG)
		tell(b, i + 1);
	return true;
}

/* A page that nothing is to be done with may be gone. */
static bool goes_with(const struct batch *b, const struct dsm_page *p, u32 i)
{
	return b->todo[i] == TODO_NOTHING || (p->space == b->page[i]->space && p->home == b->page[i]->home);
}

static void make_diff(struct batch *b, u32 i)
{
	struct dsm_node *n = b->node;
	struct dsm_page *p = b->page[i];
	int bytes = -ENOSPC;
	u32 room;

	b->lent[i] = false;
	if (b->pack.space != p->space || b->pack.home != p->home || b->alone[i]) {
		tell(b, i);
		dsm_pack_init(&b->pack, p->space, p->home);
		b->chunk = U32_MAX;
		for (b->end = i + 1; b->end < b->n && goes_with(b, p, b->end); b->end++)
			;
	}
	if (write_direct(b, i))
		return;
	for (;;) {
		room = dsm_pack_room(&b->pack);
		if (room)
			bytes = dsm_diff_make_grain(page_address((struct page *)p->frame),
						    page_address((struct page *)p->twin),
						    DSM_PAGE_BYTES, p->idx,
						    p->space->policy.grain_log2,
						    b->todo[i] == TODO_REFRESH,
						    dsm_pack_at(&b->pack), room);
		if (bytes != -ENOSPC)
			break;
		make_room(b, i);
	}
	dsm_assert(bytes >= 0);
	diff_made(b, i, bytes);
	if (!bytes)
		return;
	dsm_pack_put(&b->pack, bytes);
	if (b->alone[i] || dsm_pack_is_due(&b->pack, n->engine, b->end - i - 1))
		tell(b, i + 1);
}

/*
 * Pages that nobody can write any more, except by DMA or because they are kept: one step says what
 * they need.
 */
static void downgrade(struct batch *b)
{
	struct dsm_node *n = b->node;
	struct dsm_actions acts;
	bool keep, diff;
	u32 i;

	/* Asked without the lock, before the step: a reference that comes later writes later. */
	for (i = 0; i < b->n; i++)
		b->todo[i] = dsm_mm_frame_pinned(b->page[i]->frame);
	dsm_step_begin(n, &acts);
	for (i = 0; i < b->n; i++) {
		diff = dsm_rel_downgraded(n->engine, b->page[i], b->todo[i], &keep, &acts);
		b->todo[i] = !diff ? TODO_NOTHING : keep ? TODO_REFRESH : TODO_DIFF;
		b->alone[i] = dsm_moves_alone(b->page[i]);
	}
	dsm_csm_post(n->engine, &acts);
	dsm_step_end(n, &acts);
}

static void write_back(struct batch *b)
{
	struct dsm_node *n = b->node;
	u32 i;

	walk(b, DSM_PF_KEPT, dsm_mm_wrprotect);
	sort_pages(b, by_home);
	downgrade(b);
	b->told = 0;
	b->direct = (struct dsm_direct){};
	WRITE_ONCE(n->engine->direct_runs, dsm_param_direct_runs);
	WRITE_ONCE(n->engine->wr_runs_max, dsm_param_wr_runs_max);
	dsm_pack_init(&b->pack, NULL, DSM_NO_NODE);
	for (i = 0; i < b->n; i++)
		if (b->todo[i] != TODO_NOTHING)
			make_diff(b, i);
	tell(b, b->n);
}

static void take_batch(struct batch *b)
{
	struct dsm_node *n = b->node;
	struct dsm_page *p;

	b->n = 0;
	spin_lock(&n->lock);
	while (b->n < BATCH) {
		p = dsm_rel_take(n->engine);
		if (!p)
			break;
		b->page[b->n++] = p;
	}
	spin_unlock(&n->lock);
}

/**
 * dsm_flush_run() - write back all that open releases have to flush
 * @n: node
 *
 * Context: process, no lock held; sleeps, never for the network. Any number of threads may do
 * so at once.
 */
void dsm_flush_run(struct dsm_node *n)
{
	u64 start = dsm_now_ns();
	struct batch *b;

	b = kmalloc(sizeof(*b), GFP_KERNEL | __GFP_NOFAIL);
	b->node = n;
	for (;;) {
		take_batch(b);
		if (!b->n)
			break;
		write_back(b);
	}
	kfree(b);
	dsm_pools_trim(n);
	atomic64_add(dsm_now_ns() - start, &n->stats.ns_protocol);
}

/**
 * dsm_flush_worker() - writes back for releases that no thread drives
 * @work: dsm_node.flush_work
 *
 * Context: workqueue.
 */
void dsm_flush_worker(struct work_struct *work)
{
	dsm_flush_run(container_of(work, struct dsm_node, flush_work));
}

/* ---- acquire ---- */

static void zap_batch(struct batch *b)
{
	if (b->n)
		walk(b, 0, dsm_mm_zap);
	b->n = 0;
}

/*
 * Asks for the bytes of those pages that are merged while the node goes on using them, and puts them behind the others,
 * which remain to be unmapped. Return: their number.
 */
static u32 begin_merges(struct batch *b)
{
	struct dsm_node *n = b->node;
	struct dsm_actions acts;
	u32 i = 0, all = b->n;
	bool live;

	while (i < b->n) {
		live = b->page[i]->space->policy.merge == DSM_MERGE_LIVE;
		if (live) {
			dsm_step_begin(n, &acts);
			live = dsm_live_merge(n->engine, b->page[i], &acts);
			dsm_step_end(n, &acts);
		}
		if (!live) {
			i++;
			continue;
		}
		b->n--;
		swap(b->page[i], b->page[b->n]);
	}
	return all - b->n;
}

/* Until all are merged; what will not be is unmapped, and its home's loss found out by who touches it. */
static void end_merges(struct batch *b, u32 first, u32 count)
{
	struct dsm_node *n = b->node;
	struct dsm_page *p;
	bool merged;
	u32 i;

	for (i = first; i < first + count; i++) {
		p = b->page[i];
		dsm_shell_mm_ops.wait(p->space->shell, p->idx, false, true);
		spin_lock(&n->lock);
		merged = dsm_live_merged(p);
		spin_unlock(&n->lock);
		if (!merged)
			b->page[b->n++] = p;
	}
	zap_batch(b);
}

/* The log was trimmed: every copy of every region goes. */
static void invalidate_all(struct batch *b)
{
	struct dsm_node *n = b->node;
	struct dsm_region *r;
	struct dsm_page *p;
	unsigned long idx;
	bool lost;
	u32 id = 0;

	for (;;) {
		r = dsm_node_region_get(n, id, true);
		if (IS_ERR(r))
			return;
		id = r->id;
		xa_for_each(&r->table, idx, p) {
			spin_lock(&n->lock);
			lost = dsm_page_invalidate(n->engine, p);
			spin_unlock(&n->lock);
			if (lost)
				b->page[b->n++] = p;
			if (b->n == BATCH)
				zap_batch(b);
			cond_resched();
		}
		zap_batch(b);
		dsm_node_region_put(r);
	}
}

/* Return: false if a fatal signal came first: what the thread would acquire nobody will read. */
static bool wait_turn(struct dsm_node *n, struct dsm_wait *wait)
{
	bool given_up;

	if (!wait_for_completion_killable(&wait->done))
		return true;
	spin_lock(&n->lock);
	given_up = dsm_acq_cancel(&wait->w);
	spin_unlock(&n->lock);
	if (!given_up)
		wait_for_completion(&wait->done);
	return !given_up;
}

/**
 * dsm_acquire_settle() - no acquire has pages that it found before
 * @n: node
 *
 * Context: process; sleeps until the acquires under way have ended.
 */
void dsm_acquire_settle(struct dsm_node *n)
{
	struct dsm_actions acts;
	struct dsm_wait wait;
	bool turn;

	dsm_wait_init(&wait);
	spin_lock(&n->lock);
	turn = dsm_acq_begin(n->engine, &wait.w);
	spin_unlock(&n->lock);
	if (!turn)
		wait_for_completion(&wait.done);
	dsm_step_begin(n, &acts);
	dsm_acq_end(n->engine, &acts);
	dsm_step_end(n, &acts);
}

/**
 * dsm_acquire_apply() - apply all knowledge of this node: the second half of every acquire
 * @n:     node
 * @merge: regions with merge=live have pages merged; else they are unmapped like others
 *
 * On return every page that a known notice names is unmapped or merged, also those that a
 * sibling's acquire took (L11).
 *
 * Context: process, no lock held; sleeps, with @merge killably for homes that are alive.
 */
void dsm_acquire_apply(struct dsm_node *n, bool merge)
{
	u64 start = dsm_now_ns();
	struct dsm_actions acts;
	struct dsm_wait wait;
	struct batch *b;
	bool more = true, turn;
	u32 zapped = 0, asked = 0, taken, live;
	u64 waited_ns = 0, at;
	int count;

	atomic64_inc(&n->stats.acquires);
	dsm_wait_init(&wait);
	spin_lock(&n->lock);
	if (!dsm_acq_needed(n->engine)) {
		spin_unlock(&n->lock);
		return;
	}
	turn = dsm_acq_begin(n->engine, &wait.w);
	spin_unlock(&n->lock);
	if (!turn && !wait_turn(n, &wait))
		return;
	b = kmalloc(sizeof(*b), GFP_KERNEL | __GFP_NOFAIL);
	b->node = n;
	while (more) {
		b->n = 0;
		spin_lock(&n->lock);
		count = dsm_acq_next(n->engine, b->page, BATCH, &more);
		spin_unlock(&n->lock);
		if (count == -EUCLEAN) {
			invalidate_all(b);
			continue;
		}
		b->n = count;
		zapped += count;
		if (trace_dsm_notice_enabled())
			for (count = 0; count < b->n; count++)
				trace_dsm_notice(b->page[count]->space->id, b->page[count]->idx,
						 b->page[count]->need);
		live = merge ? begin_merges(b) : 0;
		taken = b->n;
		zap_batch(b);
		asked += dsm_ahead_noticed(b->page, taken);
		at = dsm_now_ns();
		end_merges(b, taken, live);
		waited_ns += dsm_now_ns() - at;
	}
	kfree(b);
	dsm_step_begin(n, &acts);
	dsm_acq_end(n->engine, &acts);
	dsm_step_end(n, &acts);
	trace_dsm_acquire(0, zapped);
	atomic64_add(dsm_now_ns() - start - waited_ns, &n->stats.ns_protocol);
	/* The caller goes on computing. */
	if (asked && n->net)
		dsm_net_give_way(n->net);
}
