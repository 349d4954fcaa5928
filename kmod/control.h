/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Control requests between members: who is a member, which regions exist.
 */
#ifndef DSM_CONTROL_H
#define DSM_CONTROL_H

#include <linux/workqueue.h>
#include "core/wire.h"

/**
 * struct dsm_control_request - a request of a member or of this node itself, until it is answered
 * @node:  this node
 * @work:  serves it, on one of the two workqueues
 * @link:  in a list of turns.c while it waits for a node to have joined
 * @from:  node that asks; this one: for a call of its own
 * @xid:   its request id
 * @msg:   body; becomes the answer
 */
struct dsm_control_request {
	struct dsm_node *node;
	struct work_struct work;
	struct list_head link;
	u16 from;
	u32 xid;
	struct dsm_wire_control msg;
};

/*
 * Ask @node (self included) and wait for the answer, which replaces @msg. Waits killably; ends with
 * the peer's death. 0 or the negative errno of the answer; -EHOSTDOWN, -EINTR, -ENOMEM.
 */
int dsm_control_call(struct dsm_node *n, u16 node, struct dsm_wire_control *msg);

/* place.c: address for a region of @pages that overlaps no other; 0: none left. */
u64 dsm_place_find(struct dsm_node *n, u64 pages);
bool dsm_place_is_free(struct dsm_node *n, u64 addr, u64 pages);
bool dsm_place_has_too_many(struct dsm_node *n, kuid_t owner);
bool dsm_place_is_sound(const char *name, u64 addr, u64 pages);

/* Answer and free; free without one. */
void dsm_control_answer(struct dsm_control_request *q, int status);
void dsm_control_forget(struct dsm_control_request *q);

/* Coordinator: have every member apply @op. 0 or the first refusal; @done: who applied it. */
int dsm_control_broadcast(struct dsm_node *n, struct dsm_wire_control *request, u8 op, u64 *done);
void dsm_control_put_members(struct dsm_node *n, struct dsm_wire_control *msg);

/* turns.c: one node joins at a time, and what concerns regions waits for it. */
void dsm_turns_init(struct dsm_node *n);
void dsm_turn_begin(struct dsm_control_request *q);
void dsm_turn_end(struct dsm_control_request *q);
bool dsm_turn_hold(struct dsm_control_request *q);
void dsm_turn_peer_lost(struct dsm_node *n, u16 node);
void dsm_turn_drain(struct dsm_node *n);

/* homes.c: HOMES, TOUCH and CLAIM; FORGET. */
int dsm_homes_serve(struct dsm_node *n, struct dsm_wire_control *msg);
int dsm_homes_forget(struct dsm_node *n, u16 home, struct dsm_wire_control *msg);

/* Leaving: no request is being served any more on return. */
void dsm_control_drain(struct dsm_node *n);

#endif
