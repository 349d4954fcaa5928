// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Page-table work of the shell for regions with consistency=sc: takes rights that are recalled out
 * of the page tables, when their hold is over, and lets the core tell the home. Decides nothing about
 * who gets a page.
 */
#include "core/page.h"
#include "core/sc.h"
#include "shell.h"

static void give_up(struct dsm_region *r, struct dsm_page *p, struct dsm_request *q)
{
	struct dsm_node *n = r->node;
	const struct dsm_run run = { .first = p->idx, .count = 1 };
	struct dsm_actions acts;
	bool pinned, keep;

	spin_lock(&n->lock);
	keep = dsm_sc_keeps(p);
	spin_unlock(&n->lock);
	if (keep)
		dsm_mm_wrprotect(r->mm, &run, 1, dsm_shell_frame_of, r);
	else
		dsm_mm_zap(r->mm, &run, 1, dsm_shell_frame_of, r);
	/* After the walk: a reference that comes later came through no entry that may be written. */
	pinned = dsm_mm_frame_pinned(p->frame);
	dsm_step_begin(n, &acts);
	dsm_sc_lowered(n->engine, p, q, pinned, &acts);
	dsm_step_end(n, &acts);
}

static void work_fn(struct work_struct *work)
{
	struct dsm_node *n = container_of(work, struct dsm_node, recall.work);
	struct dsm_request *q;
	struct dsm_region *r;
	struct dsm_page *p;
	u64 next_ns;

	for (;;) {
		spin_lock(&n->lock);
		n->engine->now_ns = dsm_now_ns();
		q = dsm_sc_take(n->engine, &p, &next_ns);
		spin_unlock(&n->lock);
		if (!q)
			break;
		/* Being removed: then nobody asks for its pages any more. */
		r = dsm_node_region_get(n, q->region, false);
		if (IS_ERR(r)) {
			spin_lock(&n->lock);
			dsm_pool_give(n->engine, DSM_POOL_REQUEST, q);
			spin_unlock(&n->lock);
			continue;
		}
		give_up(r, p, q);
		dsm_node_region_put(r);
		cond_resched();
	}
	if (next_ns)
		dsm_alarm_set(&n->recall, next_ns);
}

/**
 * dsm_recall_run() - give up the pages that a step has found to be recalled
 * @n:    node
 * @acts: actions of the step
 *
 * Context: any.
 */
void dsm_recall_run(struct dsm_node *n, const struct dsm_actions *acts)
{
	if (acts->recall)
		queue_work(n->flush_wq, &n->recall.work);
}

/**
 * dsm_recall_waiting() - a thread begins or ends to wait for a page
 * @p:   page, of any region
 * @add: 1 or -1
 *
 * Who waits for one page may need others that are here, and not be able to go on without them.
 *
 * Context: any.
 */
void dsm_recall_waiting(struct dsm_page *p, int add)
{
	struct dsm_node *n = dsm_page_node(p);

	if (!dsm_page_is_sc(p))
		return;
	spin_lock(&n->lock);
	n->engine->sc_waiting += add;
	spin_unlock(&n->lock);
}

/**
 * dsm_recall_lost() - say how many pages a node took with it
 * @n:    node
 * @node: its id
 *
 * Context: process, when all pages have heard of the loss.
 */
void dsm_recall_lost(struct dsm_node *n, u16 node)
{
	u64 lost;

	spin_lock(&n->lock);
	lost = n->engine->stats.pages_lost;
	swap(lost, n->told_lost);
	lost = n->told_lost - lost;
	spin_unlock(&n->lock);
	if (lost)
		pr_err("dsm: node %u had the only copy, or was the home, of %llu pages of regions with consistency=sc or cashmere: they are lost\n",
		       node, lost);
}

/**
 * dsm_recall_init() - a node appears
 * @n: node, with its queues
 *
 * Context: process, module load.
 */
void dsm_recall_init(struct dsm_node *n)
{
	dsm_alarm_init(&n->recall, n->flush_wq, work_fn);
}

/**
 * dsm_recall_stop() - nothing is given up any more
 * @n: node
 *
 * Context: process; no peer and no region any more.
 */
void dsm_recall_stop(struct dsm_node *n)
{
	dsm_alarm_stop(&n->recall);
}
