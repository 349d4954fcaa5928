// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Accesses of this node's threads: the answers to the fault path's questions, and its waits.
 *
 * A fault is one step that starts a fetch if one is needed, then perhaps fetches ahead; the wait
 * for the page ends with the answer or with the death of who should give it. Knows no page tables
 * and no messages.
 */
#include "core/csm.h"
#include "core/fetch.h"
#include "core/page.h"
#include "core/release.h"
#include "core/sc.h"
#include "ctl/trace.h"
#include "shell.h"

/* Every copy of an sc page may hold up a writer: none is fetched or mapped unasked. */
static bool looks_around(const struct dsm_region *r)
{
	return r->space->policy.around && r->space->policy.consistency != DSM_CONSISTENCY_SC;
}

/* Nobody may have touched the page yet: its home has never answered. */
static bool may_claim(const struct dsm_page *p)
{
	return dsm_policy_claims(&p->space->policy) && !dsm_page_moves(p) && !(p->flags & DSM_PF_HOMED);
}

/* A process that ends writes very little, and may not wait. */
static bool must_wait(const struct dsm_engine *e, const struct dsm_page *p)
{
	return !(current->flags & PF_EXITING) && dsm_rel_must_wait(e, p);
}

static bool has_room(struct dsm_page *p)
{
	struct dsm_node *n = dsm_page_node(p);
	bool room;

	spin_lock(&n->lock);
	room = !must_wait(n->engine, p);
	spin_unlock(&n->lock);
	return room;
}

/* By itself, so that a thread's stack says what it waits for. */
static noinline int wait_room(struct dsm_node *n, struct dsm_page *p, bool killable)
{
	u64 start = dsm_now_ns();
	int ret;

	if (killable)
		ret = wait_event_killable(n->room, has_room(p));
	else
		ret = wait_event_interruptible(n->room, has_room(p));
	atomic64_add(dsm_now_ns() - start, &n->stats.ns_wait_release);
	return ret;
}

/* @waited_ns: for how long message handlers, or other threads' faults, had the node's lock. */
static int ask(struct dsm_region *r, u32 idx, bool write, struct page **frame, u64 *waited_ns)
{
	struct dsm_node *n = r->node;
	struct dsm_actions acts;
	struct dsm_page *p;
	bool ahead, fetching;
	int ret;

	*waited_ns = 0;
	p = dsm_shell_page(r, idx, true);
	if (IS_ERR(p))
		return PTR_ERR(p);
	*waited_ns = dsm_step_begin(n, &acts);
	if (write && must_wait(n->engine, p)) {
		dsm_step_end(n, &acts);
		return DSM_PAGE_NONE;
	}
	ahead = looks_around(r) && p->flags & DSM_PF_AHEAD;
	ret = dsm_page_fault(n->engine, p, write, &acts);
	fetching = looks_around(r) && dsm_page_fetching(p) && !(write && may_claim(p));
	if (dsm_rel_is_due(n->engine))
		dsm_rel_request(n->engine, &acts);
	dsm_step_end(n, &acts);
	trace_dsm_fault(r->id, idx, write, ret);
	if (ret == DSM_PAGE_NONE)
		trace_dsm_fetch(r->id, idx, READ_ONCE(p->home));
	*frame = p->frame;
	/*
	 * Only pages that come from elsewhere make a pattern. After the page itself: nothing
	 * delays what somebody waits for. Of pages that are written for the first time
	 * there is nothing ahead, and looking there in vain would stop looking for long.
	 */
	if (ahead || fetching)
		dsm_ahead_fault(r, idx);
	return ret;
}

/* Twins are made here, and requests leave; who waits for a page does so later, and elsewhere. */
static int fault(void *ctx, u32 idx, bool write, struct page **frame)
{
	struct dsm_region *r = ctx;
	u64 start = dsm_now_ns(), waited_ns;
	int ret = ask(r, idx, write, frame, &waited_ns);

	if (waited_ns)
		dsm_shell_count(r, ns_wait_page_lock, waited_ns);
	atomic64_add(dsm_now_ns() - start - waited_ns, &r->node->stats.ns_protocol);
	return ret;
}

static u32 around(void *ctx, u32 idx, u32 n, struct page **frames)
{
	struct dsm_region *r = ctx;
	u32 i, along, found = 0;
	struct dsm_page *p;

	if (!looks_around(r))
		return 0;
	along = dsm_ahead_along(r, idx, n);
	spin_lock(&r->node->lock);
	for (i = 0; i < n; i++) {
		p = xa_load(&r->table, idx + 1 + i);
		frames[i] = NULL;
		if (!p || !p->frame || dsm_page_right(p) < DSM_PAGE_READABLE)
			continue;
		/* What nobody is known to go towards shows by its own fault whether it is used. */
		if (p->flags & DSM_PF_AHEAD && !dsm_ahead_may_map(r, idx + 1 + i, i < along))
			continue;
		frames[i] = p->frame;
		found = i + 1;
	}
	spin_unlock(&r->node->lock);
	return found;
}

static void around_again(void *ctx, u32 idx, u32 n, struct page **frames)
{
	struct dsm_region *r = ctx;
	struct dsm_page *p;
	u32 i;

	spin_lock(&r->node->lock);
	for (i = 0; i < n; i++) {
		if (!frames[i])
			continue;
		p = xa_load(&r->table, idx + 1 + i);
		if (dsm_page_right(p) < DSM_PAGE_READABLE) {
			frames[i] = NULL;
			continue;
		}
		dsm_csm_mapped(r->node->engine, p);
		dsm_ahead_mapped(r, p);
	}
	spin_unlock(&r->node->lock);
}

static enum dsm_right right(void *ctx, u32 idx)
{
	struct dsm_region *r = ctx;
	struct dsm_node *n = r->node;
	struct dsm_page *p = xa_load(&r->table, idx);
	enum dsm_page_right ret = DSM_PAGE_NONE;

	if (p) {
		spin_lock(&n->lock);
		ret = dsm_page_right(p);
		if (ret != DSM_PAGE_NONE && dsm_page_is_sc(p)) {
			n->engine->now_ns = dsm_now_ns();
			dsm_sc_used(n->engine, p);
		}
		spin_unlock(&n->lock);
	}
	return (enum dsm_right)ret;
}

static bool page_settled(struct dsm_page *p)
{
	struct dsm_node *n = dsm_page_node(p);
	bool busy;

	spin_lock(&n->lock);
	busy = dsm_page_busy(n->engine, p);
	spin_unlock(&n->lock);
	return !busy;
}

/* Nothing has to come: a release of this node is reading the page, which a writer waits for. */
static bool is_held(const struct dsm_page *p)
{
	return !dsm_page_is_sc(p) && READ_ONCE(p->flags) & DSM_PF_FLUSH && !dsm_page_fetching(p);
}

static bool page_settled_arg(void *arg)
{
	return page_settled(arg);
}

/* How long it takes depends on how the page comes: waits of each kind learn for themselves. */
static enum dsm_spin_kind kind_of_wait(const struct dsm_page *p)
{
	u16 flags = dsm_page_is_sc(p) ? 0 : READ_ONCE(p->flags);

	if (flags & DSM_PF_AHEAD)
		return DSM_SPIN_AHEAD;
	return flags & DSM_PF_READ ? DSM_SPIN_READ : DSM_SPIN_PAGE;
}

static int wait_page(void *ctx, u32 idx, bool write, bool killable)
{
	struct dsm_region *r = ctx;
	struct dsm_node *n = r->node;
	struct dsm_page *p = xa_load(&r->table, idx);
	enum dsm_spin_kind kind;
	wait_queue_head_t *wq;
	u64 start = dsm_now_ns(), took_ns;
	bool spun, held;
	int ret;

	if (!p)
		return 0;
	if (page_settled(p))
		return write && !has_room(p) ? wait_room(n, p, killable) : 0;
	held = is_held(p);
	dsm_recall_waiting(p, 1);
	kind = kind_of_wait(p);
	spun = dsm_spin(n, kind, READ_ONCE(p->home), page_settled_arg, p);
	wq = &n->page_queues[dsm_page_bucket(p)];
	if (killable)
		ret = ___wait_event(*wq, page_settled(p), TASK_KILLABLE, 0, 0, dsm_spin_nap(n));
	else
		ret = ___wait_event(*wq, page_settled(p), TASK_INTERRUPTIBLE, 0, 0,
				    dsm_spin_nap(n));
	dsm_recall_waiting(p, -1);
	took_ns = dsm_now_ns() - start;
	if (held)
		dsm_shell_count(r, ns_wait_page_lock, took_ns);
	else
		dsm_shell_count(r, ns_wait_page, took_ns);
	if (!ret)
		dsm_spin_learn(kind, spun, took_ns);
	return ret;
}

const struct dsm_mm_ops dsm_shell_mm_ops = {
	.fault = fault,
	.right = right,
	.wait = wait_page,
	.around = around,
	.around_again = around_again,
};
