// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Page-table work of the shell: writing dirty pages back for releases, and
 * unmapping noticed pages for acquires.
 *
 * Both work in batches: pages are sorted, coalesced to runs, and each run is
 * walked once with one TLB flush (mm.md 1.4). The core says which pages and what
 * became of them; diffs are packed per home. Never waits for the network.
 */
#include <linux/sort.h>
#include "core/diff.h"
#include "core/interval.h"
#include "core/page.h"
#include "core/release.h"
#include "ctl/trace.h"
#include "shell.h"

/* Pages in a batch: a waiting writer is not held up for the whole list (mm.md 1.4). */
#define BATCH 256u
static_assert(BATCH <= DSM_PACK_RECORDS_MAX);

#define PACKS 8u	/* homes that a batch packs for at once */

/**
 * struct pack - a DIFF message under construction
 * @m:    message, NULL: unused
 * @home: receiver
 */
struct pack {
	struct dsm_msgbuf *m;
	u16 home;
};

struct batch {
	struct dsm_page *page[BATCH];
	struct dsm_run run[BATCH];
	struct pack pack[PACKS];
	u32 n;
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

/* Runs of the region that page[from] belongs to; returns one past its last page. */
static u32 make_runs(struct batch *b, u32 from, u32 *runs)
{
	u32 i, n = 0;

	for (i = from; i < b->n && b->page[i]->space == b->page[from]->space; i++) {
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

static void walk(struct batch *b, walk_fn *fn)
{
	u32 at = 0, runs;

	sort(b->page, b->n, sizeof(b->page[0]), by_place, NULL);
	while (at < b->n) {
		struct dsm_region *r = b->page[at]->space->shell;

		at = make_runs(b, at, &runs);
		fn(r->mm, b->run, runs, dsm_shell_frame_of, r);
	}
}

/* ---- write-back ---- */

static void pack_send(struct pack *pk)
{
	struct dsm_wire_pack *head;
	u32 bytes;

	if (!pk->m)
		return;
	head = (struct dsm_wire_pack *)(pk->m->data + DSM_HDR_BYTES);
	bytes = pk->m->len - DSM_HDR_BYTES - sizeof(*head);
	head->bytes = cpu_to_le32(bytes);
	if (!bytes)
		dsm_net_msg_free(dsm_node.net, pk->m);
	else if (dsm_net_send(dsm_node.net, pk->m))
		atomic64_inc(&dsm_node.stats.msgs_lost);
	pk->m = NULL;
}

static void pack_start(struct pack *pk, const struct dsm_page *p)
{
	struct dsm_wire_pack head = {
		.magic = cpu_to_le32(DSM_DIFF_MAGIC),
		.hdr_len = cpu_to_le16(sizeof(head)),
		.region = cpu_to_le32(p->space->id),
		.writer = cpu_to_le32(dsm_node.engine->self),
	};

	pk->m = dsm_net_msg_alloc(dsm_node.net, GFP_KERNEL | __GFP_NOFAIL);
	pk->m->next = NULL;
	pk->m->dst = p->home;
	pk->m->class = DSM_CLASS_REQ;
	pk->home = p->home;
	dsm_wire_begin(pk->m, DSM_MSG_DIFF, p->space->id, 0);
	dsm_wire_put(pk->m, &head, sizeof(head));
}

/* The pack for the page's home and region with room for any record. */
static struct pack *pack_for(struct batch *b, const struct dsm_page *p)
{
	struct pack *pk = &b->pack[p->home % PACKS];
	const struct dsm_wire_hdr *hdr;

	if (pk->m) {
		hdr = (const struct dsm_wire_hdr *)pk->m->data;
		if (pk->home != p->home || le32_to_cpu(hdr->region) != p->space->id ||
		    dsm_wire_room(pk->m) < DSM_DIFF_RECORD_MAX(DSM_PAGE_BYTES))
			pack_send(pk);
	}
	if (!pk->m)
		pack_start(pk, p);
	return pk;
}

static void write_back(struct batch *b, struct dsm_page *p)
{
	struct dsm_node *n = &dsm_node;
	bool pinned = dsm_mm_frame_pinned(p->frame), keep, diff, send;
	struct dsm_actions acts;
	struct pack *pk;
	int bytes;

	dsm_step_begin(&acts);
	diff = dsm_rel_downgraded(n->engine, p, pinned, &keep, &acts);
	dsm_step_end(&acts);
	if (!diff)
		return;
	pk = pack_for(b, p);
	bytes = dsm_diff_make(page_address((struct page *)p->frame),
			      page_address((struct page *)p->twin), DSM_PAGE_BYTES, p->idx, keep,
			      pk->m->data + pk->m->len, dsm_wire_room(pk->m));
	dsm_assert(bytes >= 0);
	trace_dsm_diff(p->space->id, p->idx, bytes, p->home);
	dsm_step_begin(&acts);
	send = dsm_rel_diffed(n->engine, p, bytes > 0, &acts);
	dsm_step_end(&acts);
	if (bytes > 0 && send) {
		pk->m->len += bytes;
		atomic64_add(bytes, &n->stats.diff_bytes);
	}
}

static void take_batch(struct batch *b)
{
	struct dsm_page *p;

	b->n = 0;
	spin_lock(&dsm_node.lock);
	while (b->n < BATCH) {
		p = dsm_rel_take(dsm_node.engine);
		if (!p)
			break;
		b->page[b->n++] = p;
	}
	spin_unlock(&dsm_node.lock);
}

/**
 * dsm_flush_run() - write back all that open releases have to flush
 *
 * Context: process, no lock held; sleeps, never for the network. Any number of threads may do
 * so at once.
 */
void dsm_flush_run(void)
{
	u64 start = dsm_now_ns();
	struct batch *b;
	u32 i;

	b = kmalloc(sizeof(*b), GFP_KERNEL | __GFP_NOFAIL);
	for (i = 0; i < PACKS; i++)
		b->pack[i].m = NULL;
	for (;;) {
		take_batch(b);
		if (!b->n)
			break;
		walk(b, dsm_mm_wrprotect);
		for (i = 0; i < b->n; i++)
			write_back(b, b->page[i]);
		for (i = 0; i < PACKS; i++)
			pack_send(&b->pack[i]);
	}
	kfree(b);
	atomic64_add(dsm_now_ns() - start, &dsm_node.stats.ns_protocol);
}

/**
 * dsm_flush_worker() - writes back for releases that no thread drives
 * @work: dsm_node.flush_work
 *
 * Context: workqueue.
 */
void dsm_flush_worker(struct work_struct *work)
{
	dsm_flush_run();
}

/* ---- acquire ---- */

static void zap_batch(struct batch *b)
{
	if (b->n)
		walk(b, dsm_mm_zap);
	b->n = 0;
}

/* The log was trimmed: every copy of every region goes. */
static void invalidate_all(struct batch *b)
{
	struct dsm_region *r;
	struct dsm_page *p;
	unsigned long idx;
	bool lost;
	u32 id = 0;

	for (;;) {
		r = dsm_node_region_get(id, true);
		if (IS_ERR(r))
			return;
		id = r->id;
		xa_for_each(&r->table, idx, p) {
			spin_lock(&dsm_node.lock);
			lost = dsm_page_invalidate(dsm_node.engine, p);
			spin_unlock(&dsm_node.lock);
			if (lost)
				b->page[b->n++] = p;
			if (b->n == BATCH)
				zap_batch(b);
		}
		zap_batch(b);
		dsm_node_region_put(r);
	}
}

/**
 * dsm_acquire_apply() - apply all knowledge of this node: the second half of every acquire
 *
 * On return every page that a known notice names is unmapped, also those that a
 * sibling's acquire took (L11).
 *
 * Context: process, no lock held; sleeps, never for the network.
 */
void dsm_acquire_apply(void)
{
	struct dsm_node *n = &dsm_node;
	u64 start = dsm_now_ns();
	struct dsm_actions acts;
	struct dsm_wait wait;
	struct batch *b;
	bool more = true, turn;
	u32 zapped = 0;
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
	if (!turn)
		wait_for_completion(&wait.done);
	b = kmalloc(sizeof(*b), GFP_KERNEL | __GFP_NOFAIL);
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
		zap_batch(b);
	}
	kfree(b);
	dsm_step_begin(&acts);
	dsm_acq_end(n->engine, &acts);
	dsm_step_end(&acts);
	trace_dsm_acquire(0, zapped);
	atomic64_add(dsm_now_ns() - start, &n->stats.ns_protocol);
}
