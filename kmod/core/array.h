/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks with algo=array: how a node gets a lock, and gives it back, by writing to all others. All else
 * is rlock.h's.
 */
#ifndef DSM_CORE_ARRAY_H
#define DSM_CORE_ARRAY_H

#include "engine.h"

struct dsm_rlock;

/* Nodes of such a region, by id; locks that each of them manages at most. The model has less. */
#define DSM_ARRAY_NODES 8u
#ifndef DSM_ARRAYS
#define DSM_ARRAYS 1024u
#endif

void dsm_array_try(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_array_pause(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_array_on_read(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
		       struct dsm_actions *acts);
void dsm_array_give(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts);
void dsm_array_peer_lost(struct dsm_engine *e, struct dsm_rlock *l, u16 node,
			 struct dsm_actions *acts);
/* The time of dsm_actions.alarm_ns has come. */
void dsm_array_retry(struct dsm_engine *e, struct dsm_actions *acts);

#endif
