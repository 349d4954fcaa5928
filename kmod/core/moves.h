/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * home=migrate@barrier: homes that move although pages are read and written remotely (protocol.md 1.5).
 *
 * Who reads or writes a page without its home's processor asks nobody whether it still lives there. So a home gives
 * a page away only when nobody can do that: a node that reports to a barrier says whether diffs of it are under way,
 * and if not it asks by message from then on, until it departs ("quiet"). If all nodes that use
 * the region have said so, the departure names pages that may move; nobody reads or writes those remotely any more
 * before their home has said anew that they live there. From then on they are pages as with home=migrate: who was
 * proposed asks for them when it writes, and what comes too late goes back (move.h). Never delays a barrier.
 *
 * Pages that are to be claimed anew (DSM_IOC_UNCLAIM) are the same for who writes or reads them remotely: a home that
 * wants to give pages away says in each answer that it is in doubt ("unclaiming"), asks all nodes to forget that it has
 * ever answered, and marks its pages when all have done so and have no diffs of before under way.
 */
#ifndef DSM_CORE_MOVES_H
#define DSM_CORE_MOVES_H

#include "wire.h"

struct dsm_engine;
struct dsm_page;
struct dsm_space;

/**
 * struct dsm_moves - a region at this node
 * @at:    pages that shall move: proposed here, and at the manager of a barrier those of all
 * @n:     their number
 * @root:  who was told that this node is quiet
 * @quiet: by which report, its request id; 0: it is not
 * @unclaiming: threads that are asking others to forget that this node is a home
 */
struct dsm_moves {
	struct dsm_wire_move at[DSM_MOVES_TOLD];
	u16 n;
	u16 root;
	u32 quiet;
	u32 unclaiming;
};

/* ---- nodes ---- */
/* Report @xid goes to @root. Return: 0, or DSM_TICKET_QUIET: nothing is written remotely now, nor read or written until the answer. */
u16 dsm_moves_quiet(struct dsm_engine *e, struct dsm_space *s, u16 root, u32 xid);
/* Report @xid is answered by @from; @n pages may move. */
void dsm_moves_depart(struct dsm_engine *e, struct dsm_space *s, u16 from, u32 xid, const struct dsm_wire_move *at,
		      u32 n);
/* Step of a loss, the last of all: after that of every page. */
void dsm_moves_peer_lost(struct dsm_engine *e, u16 node);
/* The same for a page, within its own step. */
void dsm_moves_page_lost(struct dsm_page *p, u16 node);
/* @home wants to give its pages away: it has not answered yet. */
void dsm_moves_forget(struct dsm_page *p, u16 home);
/* Can nobody have made this page move, for as long as what is begun now is under way? Not only at its home. */
bool dsm_moves_settled(const struct dsm_page *p);
/* If not, its diff goes alone in a message, to come back if need be. */
bool dsm_moves_alone(const struct dsm_page *p);
/* An answer of the home says nothing about where the page lives: it may be about to move. */
bool dsm_moves_loose(const struct dsm_page *p);

/* ---- homes ---- */
/* @from, or this node, wrote a new version. */
void dsm_moves_wrote(struct dsm_engine *e, struct dsm_page *p, u16 from);
/* Shall @node become home of this page, once it writes? */
bool dsm_moves_to(const struct dsm_page *p, u16 node);

/* ---- messages, managers ---- */
void dsm_moves_put(struct dsm_msgbuf *m, const struct dsm_space *s);
void dsm_moves_hear(struct dsm_space *s, struct dsm_reader *r, u32 n);

#endif
