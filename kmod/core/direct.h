/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Diffs that need no work at their homes: the bytes are written into the home's frames, and a
 * message names the pages. Never chooses which pages those are, and never allocates.
 */
#ifndef DSM_CORE_DIRECT_H
#define DSM_CORE_DIRECT_H

#include "diff.h"
#include "pipe.h"

/* Pages of one message: 256 KiB of whole pages are on the wire while the next ones are compared. */
#define DSM_DIRECT_PAGES 64u
/* Runs of a page at most, whatever the settings say. */
#define DSM_DIRECT_RUNS_MAX 64u

/**
 * struct dsm_direct - pages under construction
 * @m:     message that names them, or NULL: none yet
 * @last:  transfer that segments are added to now, or NULL
 * @tail:  end of m->before
 * @pages: number
 */
struct dsm_direct {
	struct dsm_msgbuf *m;
	struct dsm_xfer *last;
	struct dsm_xfer **tail;
	u32 pages;
};

/* ---- building: needs no lock ---- */
/* Begin with an empty message. */
void dsm_direct_begin(struct dsm_direct *d, struct dsm_msgbuf *m, const struct dsm_space *s,
		      u16 home);
/* Room for segments. */
void dsm_direct_add(struct dsm_direct *d, struct dsm_xfer *x);
/*
 * Write @piece of @p, which @twin holds, to @key. @owned: the transfer keeps the twin; with the last
 * piece of a page. False: dsm_direct_add() first.
 */
bool dsm_direct_put(struct dsm_direct *d, const struct dsm_page *p, const struct dsm_piece *piece,
		    const struct dsm_key *key, bool owned);
/* Name the page: all its pieces are there. */
void dsm_direct_name(struct dsm_direct *d, u32 idx);
/* The finished message as a pack for dsm_pipe_send(). */
void dsm_direct_close(struct dsm_direct *d, struct dsm_pack *k, struct dsm_space *s, u16 home);

/* ---- steps ---- */
/* Runs of a page up to which it is written directly; 0: only wholly changed pages; -1: never. */
int dsm_direct_runs(const struct dsm_engine *e, const struct dsm_space *s);
/* The home's registration of a page that was written here. */
bool dsm_direct_key(struct dsm_engine *e, const struct dsm_page *p, struct dsm_key *key);
/* A transfer is back; the shell keeps @x. */
void dsm_direct_done(struct dsm_engine *e, struct dsm_xfer *x, struct dsm_actions *acts);
/* Message DIFF_DIRECT at the home. */
int dsm_direct_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			  struct dsm_reader *r, struct dsm_actions *acts);
/* A message that will not be sent, with all that was to come before it. */
void dsm_direct_drop(struct dsm_engine *e, struct dsm_msgbuf *m);

#endif
