// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Forgetting: the objects of a region that goes, or all when the node leaves, go back to their
 * pools; and what is remembered of a lost node whose number another one has. Never tells anybody.
 */
#include "engine.h"
#include "barrier.h"
#include "csm.h"
#include "flag.h"
#include "lock.h"
#include "rlock.h"
#include "sc.h"

static void forget_requests(struct dsm_engine *e, struct list_head *list)
{
	struct dsm_request *q, *tmp;

	list_for_each_entry_safe(q, tmp, list, cont.link) {
		list_del(&q->cont.link);
		dsm_served_free(e, q);
	}
}

/*
 * Remote requests that wait for a pull or are ready; what
 * else is in such a list belongs to others.
 */
static void forget_conts(struct dsm_engine *e, struct list_head *list, u32 region)
{
	struct dsm_request *q;
	struct dsm_cont *c, *tmp;

	list_for_each_entry_safe(c, tmp, list, link) {
		if (c->kind != DSM_CONT_REQUEST)
			continue;
		q = container_of(c, struct dsm_request, cont);
		if (region && q->region != region)
			continue;
		list_del(&c->link);
		dsm_served_free(e, q);
	}
}

static void forget_told(struct list_head *list, u64 bit)
{
	struct dsm_request *q;

	list_for_each_entry(q, list, cont.link)
		q->told &= ~bit;
}

static void forget_told_conts(struct list_head *list, u64 bit)
{
	struct dsm_request *q;
	struct dsm_cont *c;

	list_for_each_entry(c, list, link) {
		if (c->kind != DSM_CONT_REQUEST)
			continue;
		q = container_of(c, struct dsm_request, cont);
		if (q->type == DSM_MSG_FLAG_OP || q->type == DSM_MSG_BAR_ARRIVE)
			q->told &= ~bit;
	}
}

/**
 * dsm_engine_forget_loss() - the number of a lost node is another's: one hash chain
 * @e:      engine
 * @node:   number
 * @bucket: 0 to DSM_KEY_BUCKETS - 1; with 0 also what is in no chain
 *
 * Who waits for a flag or at a barrier, and has heard of that loss before, has heard of none of the other. Of who comes
 * later see dsm_engine_told().
 *
 * Context: engine lock held, after dsm_engine_peer_up().
 */
void dsm_engine_forget_loss(struct dsm_engine *e, u16 node, u32 bucket)
{
	const u64 bit = 1ull << node;
	struct dsm_barrier *b;
	struct dsm_flag *f;
	u32 i;

	hlist_for_each_entry(b, &e->barriers[bucket], by_key) {
		forget_told(&b->arrivals, bit);
		b->told &= ~bit;
	}
	hlist_for_each_entry(f, &e->flags[bucket], by_key)
		forget_told(&f->waiters, bit);
	if (bucket)
		return;
	forget_told_conts(&e->ready, bit);
	for (i = 0; i < DSM_MAX_NODES; i++) {
		forget_told_conts(&e->pull[i].now, bit);
		forget_told_conts(&e->pull[i].then, bit);
	}
}

/**
 * dsm_engine_forget() - drop the objects of a region's keys
 * @e:      engine
 * @region: id, 0 = all, and the log with it
 *
 * Context: engine lock held; no thread waits for any of them.
 */
void dsm_engine_forget(struct dsm_engine *e, u32 region)
{
	struct hlist_node *tmp;
	struct dsm_barrier *b;
	struct dsm_rlock *rl;
	struct dsm_lock *l;
	struct dsm_flag *f;
	u32 i;

	for (i = 0; i < DSM_KEY_BUCKETS; i++) {
		hlist_for_each_entry_safe(rl, tmp, &e->rlocks[i], by_key)
			if (!region || rl->region == region)
				dsm_rlock_forget(e, rl);
		hlist_for_each_entry_safe(l, tmp, &e->locks[i], by_key) {
			if (region && l->region != region)
				continue;
			dsm_lock_recall(e, l);
			if (l->state == DSM_LOCK_CACHED && !list_empty(&l->list))
				e->n_cached--;
			hlist_del(&l->by_key);
			list_del_init(&l->list);
			list_del_init(&l->cont.link);
			forget_requests(e, &l->queued);
			e->n_locks--;
			dsm_pool_give(e, DSM_POOL_LOCK, l);
		}
		hlist_for_each_entry_safe(b, tmp, &e->barriers[i], by_key) {
			if (region && b->region != region)
				continue;
			if (!list_empty(&b->idle))
				dsm_barrier_busy(e, b);
			forget_requests(e, &b->arrivals);
			hlist_del(&b->by_key);
			dsm_pool_give(e, DSM_POOL_BARRIER, b);
		}
		hlist_for_each_entry_safe(f, tmp, &e->flags[i], by_key) {
			if (region && f->region != region)
				continue;
			forget_requests(e, &f->waiters);
			hlist_del(&f->by_key);
			dsm_pool_give(e, DSM_POOL_FLAG, f);
		}
	}
	dsm_sc_forget(e, region);
	dsm_csm_forget(e, region);
	forget_conts(e, &e->ready, region);
	for (i = 0; i < DSM_MAX_NODES; i++) {
		forget_conts(e, &e->pull[i].now, region);
		forget_conts(e, &e->pull[i].then, region);
	}
	if (region)
		return;
	forget_requests(e, &e->deferred);
	for (i = 0; i < DSM_MAX_NODES; i++) {
		struct dsm_interval *rec, *next;

		list_for_each_entry_safe(rec, next, &e->log[i], link) {
			list_del(&rec->link);
			dsm_pool_give(e, DSM_POOL_INTERVAL, rec);
		}
	}
	for (i = 0; i < DSM_REL_SLOTS; i++) {
		struct dsm_interval *rec, *next;

		list_for_each_entry_safe(rec, next, &e->rel[i].notes, link) {
			list_del(&rec->link);
			dsm_pool_give(e, DSM_POOL_INTERVAL, rec);
		}
	}
}
