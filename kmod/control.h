/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Control requests between members: who is a member, which regions exist.
 */
#ifndef DSM_CONTROL_H
#define DSM_CONTROL_H

#include "core/wire.h"

/*
 * Ask @node (self included) and wait for the answer, which replaces @msg. Waits killably; ends with
 * the peer's death. 0 or the negative errno of the answer; -EHOSTDOWN, -EINTR, -ENOMEM.
 */
int dsm_control_call(u16 node, struct dsm_wire_control *msg);

/* place.c: address for a region of @pages that overlaps no other; 0: none left. */
u64 dsm_place_find(u64 pages);
bool dsm_place_is_free(u64 addr, u64 pages);

/* Leaving: no request is being served any more on return. */
void dsm_control_drain(void);

#endif
