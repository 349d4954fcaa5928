// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The acquire: what is known (interval.c, and with cashmere inbox and rings) is applied to pages, by one thread of a
 * node at a time. Never unmaps; says what is to be.
 */
#include "csm.h"
#include "interval.h"
#include "ring.h"

static bool unapplied(const struct dsm_engine *e)
{
	u16 k;

	for (k = 0; k < e->n_nodes; k++)
		if (e->applied[k] < e->known[k])
			return true;
	return false;
}

/**
 * dsm_acq_needed() - is there anything to apply, or an acquire under way to wait for?
 * @e: engine
 *
 * Context: engine lock held.
 * Return: true if a thread that acquires has to call dsm_acq_begin().
 */
bool dsm_acq_needed(const struct dsm_engine *e)
{
	return e->acq_busy || e->inval_all || !list_empty(&e->csm.inbox) || dsm_ring_waits(e) || unapplied(e);
}

/**
 * dsm_acq_begin() - start an acquire
 * @e: engine
 * @w: waiter, queued if another acquire is under way
 *
 * Serial, because a thread may return from an acquire only when every notice
 * that was applied before it has reached the page tables (L11, mutant M18).
 *
 * Context: engine lock held.
 * Return: true: go on; false: wait, the turn is handed over by the wake.
 */
bool dsm_acq_begin(struct dsm_engine *e, struct dsm_waiter *w)
{
	if (e->acq_busy) {
		list_add_tail(&w->link, &e->acq_waiters);
		return false;
	}
	e->acq_busy = true;
	e->acq_all = false;
	return true;
}

/* Notices were missed: of no page can be said any more that nobody told of it. */
static void forget_told(struct dsm_engine *e)
{
	struct dsm_space *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(e->spaces); i++)
		hlist_for_each_entry(s, &e->spaces[i], link)
			s->all_told = false;
}

/**
 * dsm_acq_cancel() - a thread does not wait for its turn any longer
 * @w: waiter that dsm_acq_begin() kept
 *
 * Context: engine lock held.
 * Return: false if it has its turn: it must go on to dsm_acq_end().
 */
bool dsm_acq_cancel(struct dsm_waiter *w)
{
	if (list_empty(&w->link))
		return false;
	list_del_init(&w->link);
	return true;
}

/**
 * dsm_acq_next() - apply some of what is known
 * @e:    engine
 * @out:  pages to unmap
 * @max:  room in @out, at least DSM_NOTICES_PER_RECORD
 * @more: out: there is more
 *
 * Context: engine lock held, between begin and end.
 * Return: pages in @out, or -EUCLEAN: invalidate every page first.
 */
int dsm_acq_next(struct dsm_engine *e, struct dsm_page **out, u32 max, bool *more)
{
	u32 n = 0;
	u16 k, i;

	/* Once: what was known when this acquire began is covered then, and nobody keeps this node here. */
	if (e->inval_all && !e->acq_all) {
		e->inval_all = false;
		e->acq_all = true;
		forget_told(e);
		*more = true;
		return -EUCLEAN;
	}
	if (!list_empty(&e->csm.inbox)) {
		*more = true;
		return dsm_csm_apply(e, out, max);
	}
	*more = false;
	n = dsm_ring_apply(e, out, max, more);
	if (*more)
		return n;
	for (k = 0; k < e->n_nodes; k++) {
		struct dsm_interval *rec = dsm_log_above(e, k, e->applied[k]);

		if (!rec)
			continue;
		list_for_each_entry_from(rec, &e->log[k], link) {
			if (max - n < DSM_NOTICES_PER_RECORD) {
				*more = true;
				return n;
			}
			for (i = 0; i < rec->count; i++) {
				const struct dsm_notice *note = &rec->notice[i];
				struct dsm_space *s = dsm_space_find(e, note->region);
				struct dsm_page *p = NULL;

				if (s && note->idx < s->pages)
					p = dsm_env_page_find(s, note->idx);
				/* A page never touched here has no copy to lose. */
				if (!p && s)
					s->told[DSM_TOLD_BIT(note->idx) / 64] |=
						1ull << DSM_TOLD_BIT(note->idx) % 64;
				if (p && dsm_page_notice(e, p, note->ver))
					out[n++] = p;
			}
			e->applied[k] = rec->seq;
		}
	}
	*more = false;
	return n;
}

/**
 * dsm_acq_end() - all that was applied is unmapped
 * @e:    engine
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_acq_end(struct dsm_engine *e, struct dsm_actions *acts)
{
	struct dsm_waiter *w;

	dsm_csm_drop(e, acts);
	if (list_empty(&e->acq_waiters)) {
		e->acq_busy = false;
		return;
	}
	w = list_first_entry(&e->acq_waiters, struct dsm_waiter, link);
	list_del_init(&w->link);
	e->acq_all = false;
	dsm_act_wake(e, acts, w, 0);
}
