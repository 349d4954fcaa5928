/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Release transactions: the node's dirty pages are flushed to their homes,
 * and when all diffs are acknowledged the interval closes (protocol.md 3.1).
 * Makes no diffs itself: the shell does, page by page, as told.
 */
#ifndef DSM_CORE_RELEASE_H
#define DSM_CORE_RELEASE_H

#include "engine.h"

/*
 * Put @p on the dirty list (once). Inside the page's step,
 * before the right is given (decisions.md P8).
 */
void dsm_dirty_add(struct dsm_engine *e, struct dsm_page *p);

/* May the home write @p without telling anybody, and when that ends. */
bool dsm_rel_alone(const struct dsm_page *p);
void dsm_rel_shared(struct dsm_engine *e, struct dsm_page *p);

/* A copy got its twin: is it one to keep? */
void dsm_rel_written(struct dsm_engine *e, struct dsm_page *p);

/*
 * Open a release of all that is dirty. Return: number that
 * rel_done must reach before the caller is released.
 */
u64 dsm_rel_request(struct dsm_engine *e, struct dsm_actions *acts);

/* Wait for @target: true if done already (*status filled), else @w is queued. */
bool dsm_rel_wait(struct dsm_engine *e, u64 target, struct dsm_waiter *w, int *status);

/* Twins: is a release due that nobody asked for; are there too many; has a store to @p to wait for one less. */
bool dsm_rel_is_due(const struct dsm_engine *e);
bool dsm_rel_is_crowded(const struct dsm_engine *e);
bool dsm_rel_must_wait(const struct dsm_engine *e, const struct dsm_page *p);

/*
 * Next page to flush, or NULL. From here until dsm_rel_diffed()
 * (or a false from dsm_rel_downgraded()) writers wait.
 */
struct dsm_page *dsm_rel_take(struct dsm_engine *e);
/*
 * The page is write-protected on all CPUs. @pinned: somebody may still write the frame by DMA.
 * True: make the diff now (@keep: refresh the twin), then call dsm_rel_diffed(). False: nothing
 * more to do. A step that calls it ends with dsm_csm_post().
 */
bool dsm_rel_downgraded(struct dsm_engine *e, struct dsm_page *p, bool pinned, bool *keep,
			struct dsm_actions *acts);
/*
 * The diff was made; @changed: it will be sent to p->home
 * after this step. False: do not send it, the home is lost.
 */
bool dsm_rel_diffed(struct dsm_engine *e, struct dsm_page *p, bool changed,
		    struct dsm_actions *acts);

/* Under the engine lock, before dsm_rel_diffed(): the twin stays with who makes the diff. */
static inline void dsm_rel_lend(struct dsm_page *p)
{
	p->flags |= DSM_PF_LENT;
}

/*
 * For page.c: a page's flush ended; @ver: its new version,
 * 0 = nothing changed; @err: 0 or -EHOSTDOWN.
 */
void dsm_rel_page_done(struct dsm_engine *e, struct dsm_page *p, u64 ver, int err,
		       struct dsm_actions *acts);
/* For csm.c, before dsm_rel_page_done(): the interval of @p's release names its version @ver. */
void dsm_rel_note(struct dsm_engine *e, const struct dsm_page *p, u64 ver);
/* For csm.c: a notice that @slot waits for has reached its receiver's inbox. */
void dsm_rel_told(struct dsm_engine *e, u32 slot, struct dsm_actions *acts);
/* For page.c: what kept a PENDING page from being flushed may be gone. */
void dsm_rel_replay(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);

#endif
