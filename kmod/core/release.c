// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Release transactions.
 *
 * A release takes the node's whole dirty list, has every page write-protected and diffed, and
 * waits until each diff is applied at its home and acknowledged. Only then is its interval
 * closed, and only in order of the release numbers (L10): a thread is released when all
 * releases opened before or by it are done. Never walks page tables and makes no diff: the
 * shell does, between dsm_rel_take(), dsm_rel_downgraded() and dsm_rel_diffed().
 */
#include "release.h"
#include "bcast.h"
#include "csm.h"
#include "dir.h"
#include "interval.h"
#include "page.h"
#include "pipe.h"

static struct dsm_rel *slot_of(struct dsm_engine *e, u64 seq)
{
	return &e->rel[seq % DSM_REL_SLOTS];
}

/**
 * dsm_dirty_add() - put a page on the dirty list
 * @e: engine
 * @p: page
 *
 * Context: engine lock held, in the page's own step and before the right to write is given: a
 * release that opens a moment later must find it (decisions.md P8, mutants M23, M24).
 */
void dsm_dirty_add(struct dsm_engine *e, struct dsm_page *p)
{
	/* A region that goes has settled: what is written now is read by nobody, and the page is about to be freed. */
	if (p->flags & (DSM_PF_DIRTY | DSM_PF_TODO) || p->space->closing)
		return;
	p->flags |= DSM_PF_DIRTY;
	p->next = e->dirty;
	e->dirty = p;
	e->n_dirty++;
}

/**
 * dsm_rel_alone() - may the home write its page without telling anybody?
 * @p: page in HOME
 *
 * Nobody else has a copy; or all copies are older than this version, whose notice every acquire
 * after this node's next release brings (mutants M102 to M104).
 *
 * Context: engine lock held.
 * Return: true if it may, until dsm_rel_shared().
 */
bool dsm_rel_alone(const struct dsm_page *p)
{
	if (dsm_page_has_word(p))
		return false;
	return dsm_page_is_csm(p) ? !p->sharers : p->csm & DSM_CSM_SOLE;
}

/**
 * dsm_rel_shared() - the home gives a copy of its page out, not in regions with cashmere
 * @e: engine
 * @p: page in HOME, HOMEW or HX
 *
 * What is written from now on is told of, before the bytes of the copy are read (mutant M101).
 *
 * Context: engine lock held.
 */
void dsm_rel_shared(struct dsm_engine *e, struct dsm_page *p)
{
	p->csm &= ~DSM_CSM_SOLE;
	if (p->state != DSM_PAGE_HX)
		return;
	dsm_count(e, p->space, excl_breaks);
	dsm_dirty_add(e, p);
	dsm_page_set_state(p, DSM_PAGE_HOMEW);
}

static void push_todo(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	struct dsm_rel *rel = &e->rel[p->rel_next];

	p->flags |= DSM_PF_TODO;
	p->next = rel->todo;
	rel->todo = p;
	acts->flush = true;
}

/*
 * At most one unacknowledged diff per page, none before a page that was given back has arrived, and no
 * flush between a merge's fetch and its reply (I8).
 */
static bool can_flush(const struct dsm_page *p)
{
	return !(p->flags & (DSM_PF_UNACKED | DSM_PF_FLUSH)) && !(p->csm & DSM_CSM_BREAK) &&
	       p->state != DSM_PAGE_WRF;
}

static void open_release(struct dsm_engine *e, struct dsm_actions *acts)
{
	struct dsm_page *p = e->dirty, *next;
	u64 seq = ++e->rel_seq;
	struct dsm_rel *rel = slot_of(e, seq);

	rel->seq = seq;
	rel->pending = e->n_dirty;
	rel->err = 0;
	rel->todo = NULL;
	INIT_LIST_HEAD(&rel->notes);
	e->dirty = NULL;
	e->n_dirty = e->n_dirty_again = 0;
	e->stats.releases++;
	for (; p; p = next) {
		next = p->next;
		p->flags &= ~DSM_PF_DIRTY;
		p->flags |= DSM_PF_PENDING;
		p->rel_next = seq % DSM_REL_SLOTS;
		if (can_flush(p))
			push_todo(e, p, acts);
	}
}

/**
 * dsm_rel_request() - start a release of all that this node wrote
 * @e:    engine
 * @acts: actions
 *
 * With nothing dirty no release opens, but a sibling's may hold this thread's
 * bytes: the caller waits for it all the same (L10, mutant M2).
 *
 * Context: engine lock held.
 * Return: release number to wait for.
 */
u64 dsm_rel_request(struct dsm_engine *e, struct dsm_actions *acts)
{
	dsm_bcast_released(e);
	if (!e->dirty)
		return e->rel_seq;
	if (e->rel_seq - e->rel_done >= DSM_REL_SLOTS) {
		e->rel_wanted = true;
		return e->rel_seq + 1;
	}
	open_release(e, acts);
	return e->rel_seq;
}

/**
 * dsm_rel_wait() - wait for a release
 * @e:      engine
 * @target: number from dsm_rel_request()
 * @w:      waiter, queued if need be
 * @status: result if it is done already; NULL: what failed is left to be told to who waits next
 *
 * Context: engine lock held.
 * Return: true: done, *@status is 0 or -EHOSTDOWN; false: @w is queued.
 */
bool dsm_rel_wait(struct dsm_engine *e, u64 target, struct dsm_waiter *w, int *status)
{
	if (e->rel_done >= target) {
		/* An earlier release failed and had nobody to tell. */
		if (status) {
			*status = e->rel_err;
			e->rel_err = 0;
		}
		return true;
	}
	w->silent = !status;
	w->target = target;
	w->status = 0;
	list_add_tail(&w->link, &e->rel_waiters);
	return false;
}

/**
 * dsm_rel_is_due() - shall what is dirty go home before anybody releases it?
 * @e: engine
 *
 * Twins cost memory. Those of pages that their flush puts back, pinned or kept, stay whatever is released.
 *
 * Context: engine lock held.
 * Return: true: dsm_rel_request() (L27).
 */
bool dsm_rel_is_due(const struct dsm_engine *e)
{
	return e->twins > e->twin_limit && e->n_dirty > (u64)e->n_dirty_again + e->twin_limit / 2;
}

/**
 * dsm_rel_is_crowded() - are there so many twins that no more are to be made?
 * @e: engine
 *
 * A program makes them faster than diffs get home: of twice as many as there shall be the next one is not made while a release
 * is under way. Those that would stay do not count, as above.
 *
 * Context: engine lock held; without it for a hint.
 * Return: true if so.
 */
bool dsm_rel_is_crowded(const struct dsm_engine *e)
{
	return READ_ONCE(e->twins) > READ_ONCE(e->n_dirty_again) + 2ull * e->twin_limit &&
	       READ_ONCE(e->rel_done) != READ_ONCE(e->rel_seq);
}

/**
 * dsm_rel_must_wait() - has a store to a page to wait until there is room for its twin?
 * @e: engine
 * @p: page
 *
 * Context: engine lock held.
 * Return: true: until dsm_rel_is_crowded() is false.
 */
bool dsm_rel_must_wait(const struct dsm_engine *e, const struct dsm_page *p)
{
	return !dsm_page_is_sc(p) && p->home != e->self && (p->state == DSM_PAGE_RD || p->state == DSM_PAGE_INV) &&
	       dsm_rel_is_crowded(e);
}

static bool may_keep(const struct dsm_engine *e, const struct dsm_page *p)
{
	return (p->state == DSM_PAGE_WR || p->state == DSM_PAGE_RD) && !p->space->closing &&
	       e->keep_after && e->twins <= e->twin_limit / 4;
}

static void stop_keeping(struct dsm_page *p)
{
	p->flags &= ~(DSM_PF_KEPT | DSM_PF_STREAK);
}

/**
 * dsm_rel_take() - next page to write back
 * @e: engine
 *
 * Context: engine lock held.
 * Return: page, marked FLUSH: new writers wait from now on, and the shell write-protects it unless
 *         it is KEPT; NULL if there is none, or if so many diffs wait for their homes that
 *         acts->flush will say when to go on.
 */
struct dsm_page *dsm_rel_take(struct dsm_engine *e)
{
	struct dsm_page *wanted = dsm_csm_take(e);
	u64 seq;

	if (wanted)
		return wanted;
	if (dsm_pipe_stalled(e))
		return NULL;
	for (seq = e->rel_done + 1; seq <= e->rel_seq; seq++) {
		struct dsm_rel *rel = slot_of(e, seq);
		struct dsm_page *p = rel->todo;

		if (!p)
			continue;
		rel->todo = p->next;
		p->next = NULL;
		p->flags &= ~(DSM_PF_TODO | DSM_PF_PENDING);
		p->flags |= DSM_PF_FLUSH;
		if (p->flags & DSM_PF_KEPT && !may_keep(e, p))
			stop_keeping(p);
		p->rel_cur = p->rel_next;
		return p;
	}
	return NULL;
}

/* At the first write of an interval: was the last one the interval before? */
static void count_interval(struct dsm_engine *e, struct dsm_page *p)
{
	if (p->rel_cur != e->rel_seq % DSM_REL_SLOTS)
		p->flags &= ~DSM_PF_STREAK;
	else if ((p->flags & DSM_PF_STREAK) != DSM_PF_STREAK)
		p->flags += DSM_PF_STREAK_ONE;
}

/**
 * dsm_rel_written() - a copy becomes writable for the first time since its last flush
 * @e: engine
 * @p: page, its twin just made
 *
 * A page that every interval writes is cheaper to compare than to protect, to fault in and to
 * copy again: it keeps its twin and its entries (protocol.md 3.2, keep). That needs no
 * write-protection, since each byte of the diff is loaded once and given to the twin as well, and
 * a store that is missed differs from the twin and is found by its own release, for which the
 * page is on the dirty list before the diff is begun.
 *
 * Context: engine lock held.
 */
void dsm_rel_written(struct dsm_engine *e, struct dsm_page *p)
{
	if (!e->keep_after)
		return;
	count_interval(e, p);
	if ((p->flags & DSM_PF_STREAK) / DSM_PF_STREAK_ONE < e->keep_after || !may_keep(e, p))
		return;
	p->flags &= ~DSM_PF_STREAK;
	p->flags |= DSM_PF_KEPT;
}

/* A flush of a kept page: two in vain, and it is protected again. */
static void count_flush(struct dsm_page *p, bool changed)
{
	if (changed)
		p->flags &= ~DSM_PF_STREAK;
	else if (p->flags & DSM_PF_STREAK)
		stop_keeping(p);
	else
		p->flags += DSM_PF_STREAK_ONE;
}

static void drop_twin(struct dsm_engine *e, struct dsm_page *p)
{
	if (!(p->flags & DSM_PF_LENT))
		dsm_pool_give(e, DSM_POOL_TWIN, p->twin);
	p->flags &= ~DSM_PF_LENT;
	p->twin = NULL;
	e->twins--;
	p->state = p->state == DSM_PAGE_WR ? DSM_PAGE_RD : DSM_PAGE_INV;
}

/* It may be written while it is flushed, or after that without a fault. */
static void dirty_again(struct dsm_engine *e, struct dsm_page *p)
{
	u32 before = e->n_dirty;

	dsm_dirty_add(e, p);
	e->n_dirty_again += e->n_dirty - before;
}

static void wake_writers(const struct dsm_page *p, struct dsm_actions *acts)
{
	acts->wake_pages |= 1ull << dsm_page_bucket(p);
}

/**
 * dsm_rel_downgraded() - a page is write-protected everywhere
 * @e:      engine
 * @p:      page from dsm_rel_take()
 * @pinned: its frame may still be written by DMA (mm.md 1.8)
 * @keep:   out: make the diff with refreshing the twin
 * @acts:   actions
 *
 * A pinned page stays on the dirty list, and goes there before the
 * first word of the diff is read (decisions.md P8, P9).
 *
 * Context: engine lock held. A step that calls it ends with dsm_csm_post().
 * Return: true if a diff is to be made.
 */
bool dsm_rel_downgraded(struct dsm_engine *e, struct dsm_page *p, bool pinned, bool *keep,
			struct dsm_actions *acts)
{
	*keep = false;
	if (p->state == DSM_PAGE_EX || p->state == DSM_PAGE_HX) {
		dsm_csm_broken(e, p, pinned, acts);
		return false;
	}
	/* Nobody reads it any more, and others may have forgotten the region: a diff would not be acknowledged. */
	if (p->space->closing) {
		p->flags &= ~DSM_PF_FLUSH;
		if (p->state == DSM_PAGE_HOMEW) {
			p->state = DSM_PAGE_HOME;
		} else {
			stop_keeping(p);
			drop_twin(e, p);
		}
		dsm_rel_page_done(e, p, 0, 0, acts);
		wake_writers(p, acts);
		return false;
	}
	/* Some may have forgotten it, and it may stay: what a device writes there is for later. */
	if (p->space->still) {
		p->flags &= ~DSM_PF_FLUSH;
		dirty_again(e, p);
		dsm_rel_page_done(e, p, 0, 0, acts);
		wake_writers(p, acts);
		return false;
	}
	if (p->state == DSM_PAGE_HOMEW) {
		p->flags &= ~DSM_PF_FLUSH;
		if (pinned)
			dirty_again(e, p);
		else
			p->state = DSM_PAGE_HOME;
		p->ver++;
		if (dsm_page_has_word(p)) {
			dsm_dir_tell(e, p, p->ver, acts);
			wake_writers(p, acts);
			return false;
		}
		if (dsm_page_is_csm(p)) {
			dsm_csm_tell(e, p, p->ver, p->sharers, acts);
			dsm_csm_told(e, p);
		}
		/* Copies that were given out until now are older. Of a READ nobody hears. */
		else if (p->space->policy.fetch != DSM_FETCH_READ)
			p->csm |= DSM_CSM_SOLE;
		dsm_rel_page_done(e, p, p->ver, 0, acts);
		wake_writers(p, acts);
		return false;
	}
	dsm_assert(p->twin);
	if (!dsm_engine_alive(e, p->home)) {
		p->flags &= ~DSM_PF_FLUSH;
		/*
		 * It may be mapped read-only: it stays a readable
		 * copy, and goes with the others at the next acquire.
		 * One that is still writable is protected by the next release first.
		 */
		if (p->flags & DSM_PF_KEPT) {
			stop_keeping(p);
			dsm_dirty_add(e, p);
		} else {
			drop_twin(e, p);
		}
		dsm_rel_page_done(e, p, 0, -EHOSTDOWN, acts);
		wake_writers(p, acts);
		return false;
	}
	if (pinned || p->flags & DSM_PF_KEPT) {
		dirty_again(e, p);
		p->flags |= DSM_PF_KEEP;
		*keep = true;
	}
	return true;
}

/**
 * dsm_rel_diffed() - the diff of a page was made
 * @e:       engine
 * @p:       page
 * @changed: the diff is not empty
 * @acts:    actions
 *
 * Context: engine lock held. The shell sends the diff after this step only.
 * Return: true: send the diff (if @changed); false: the home was lost meanwhile.
 */
bool dsm_rel_diffed(struct dsm_engine *e, struct dsm_page *p, bool changed,
		    struct dsm_actions *acts)
{
	bool alive = dsm_engine_alive(e, p->home);

	if (!(p->flags & DSM_PF_KEEP))
		drop_twin(e, p);
	if (p->flags & DSM_PF_KEPT)
		count_flush(p, changed);
	p->flags &= ~(DSM_PF_FLUSH | DSM_PF_KEEP);
	if (changed && alive) {
		p->flags |= DSM_PF_UNACKED;
		dsm_count(e, p->space, diffs);
	} else {
		dsm_rel_page_done(e, p, 0, changed ? -EHOSTDOWN : 0, acts);
	}
	dsm_rel_replay(e, p, acts);
	wake_writers(p, acts);
	return alive;
}

/**
 * dsm_rel_replay() - flush a page that had to wait, if nothing is in the way any more
 * @e:    engine
 * @p:    page
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rel_replay(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts)
{
	if ((p->flags & (DSM_PF_PENDING | DSM_PF_TODO)) == DSM_PF_PENDING && can_flush(p))
		push_todo(e, p, acts);
}

/**
 * dsm_rel_note() - a page's new version goes into the interval of its release
 * @e:   engine
 * @p:   page; p->rel_cur is its release
 * @ver: the version
 *
 * Context: engine lock held; the page is one that its release waits for.
 */
void dsm_rel_note(struct dsm_engine *e, const struct dsm_page *p, u64 ver)
{
	struct dsm_rel *rel = &e->rel[p->rel_cur];
	struct dsm_interval *rec = NULL;

	if (!list_empty(&rel->notes))
		rec = list_last_entry(&rel->notes, struct dsm_interval, link);
	if (!rec || rec->count == DSM_NOTICES_PER_RECORD) {
		rec = dsm_pool_take(e, DSM_POOL_INTERVAL);
		rec->node = e->self;
		rec->count = 0;
		rec->seq = 0;
		list_add_tail(&rec->link, &rel->notes);
	}
	rec->notice[rec->count++] =
		(struct dsm_notice){ .region = p->space->id, .idx = p->idx, .ver = ver };
}

static void wake_waiters(struct dsm_engine *e, const struct dsm_rel *rel, struct dsm_actions *acts)
{
	struct dsm_waiter *w, *tmp;
	bool told = false;

	list_for_each_entry_safe(w, tmp, &e->rel_waiters, link) {
		if (rel->err && w->target >= rel->seq && !w->silent) {
			w->status = rel->err;
			told = true;
		}
		if (w->target <= e->rel_done) {
			/*
			 * An earlier release failed before this
			 * one waited, and had nobody to tell.
			 */
			if (!w->silent) {
				w->status = w->status ?: e->rel_err;
				e->rel_err = 0;
			}
			list_del_init(&w->link);
			w->target = 0;
			dsm_act_wake(e, acts, w, w->status);
		}
	}
	if (rel->err && !told)
		e->rel_err = rel->err;
}

static void advance(struct dsm_engine *e, struct dsm_actions *acts)
{
	while (e->rel_done < e->rel_seq) {
		struct dsm_rel *rel = slot_of(e, e->rel_done + 1);

		if (rel->pending)
			break;
		/* I15: in order. The interval closes here and nowhere else. */
		dsm_assert(rel->seq == e->rel_done + 1 && !rel->todo);
		dsm_log_append_own(e, &rel->notes);
		e->rel_done++;
		wake_waiters(e, rel, acts);
		if (!list_empty(&e->rel_conts))
			acts->run = true;
		if (e->rel_wanted) {
			e->rel_wanted = false;
			/* Somebody waits for this number even if the list is empty by now. */
			open_release(e, acts);
		}
	}
}

/**
 * dsm_rel_page_done() - one page of a release needs nothing more
 * @e:    engine
 * @p:    page; p->rel_cur is its release
 * @ver:  its new version at the home, 0 if nothing changed
 * @err:  0, or -EHOSTDOWN if its home is lost
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rel_page_done(struct dsm_engine *e, struct dsm_page *p, u64 ver, int err,
		       struct dsm_actions *acts)
{
	struct dsm_rel *rel = &e->rel[p->rel_cur];

	dsm_assert(rel->pending);
	if (ver && !dsm_page_is_csm(p))
		dsm_rel_note(e, p, ver);
	/* A region that goes is nobody's: who else releases has lost nothing. */
	if (err && !p->space->closing)
		rel->err = err;
	if (!--rel->pending)
		advance(e, acts);
}

/**
 * dsm_rel_told() - one receiver of notices has them
 * @e:    engine
 * @slot: release that waits for that
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rel_told(struct dsm_engine *e, u32 slot, struct dsm_actions *acts)
{
	struct dsm_rel *rel = &e->rel[slot];

	dsm_assert(rel->pending);
	if (!--rel->pending)
		advance(e, acts);
}
