/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the tests of locks by atomics share.
 */
#ifndef RLOCK_WORLD_H
#define RLOCK_WORLD_H

#include "unit.h"
#include "rlock.h"
#include "world.h"
#include "world_threads.h"

#define NODES 3

static struct dsm_rsync memory;

/* Node 0 of three, with its memory; the region has sync=rdma. */
static inline void start(void)
{
	u32 n;

	world_start(NODES);
	memory = (struct dsm_rsync){
		.word = calloc(DSM_RSYNC_WORDS, sizeof(u64)),
		.mail = calloc(1, sizeof(struct dsm_mail)),
		.landing = calloc(DSM_MAX_NODES, sizeof(union dsm_board_slot)),
		.word_key = { .addr = 0x10000, .rkey = 5 },
		.mail_key = { .addr = 0x20000, .rkey = 6 },
	};
	assert_true(memory.word && memory.mail && memory.landing);
	dsm_rsync_set(world_engine(0), &memory);
	for (n = 0; n < NODES; n++)
		w.node[n].space.policy.sync = DSM_SYNC_RDMA;
}

static inline void stop(void)
{
	world_stop();
	free(memory.word);
	free(memory.mail);
	free(memory.landing);
}

/* A key that node @manager manages. */
static inline u64 key_of(u16 manager, u64 from)
{
	while (dsm_manager(&w.node[0].space, DSM_MSG_LOCK_REQ, from) != manager)
		from++;
	return from;
}

/* What the step wants to transfer, taken off it. */
static inline struct dsm_xfer *transfer(u8 op)
{
	struct dsm_xfer *x = w.acts.xfer;

	assert_non_null(x);
	assert_int_equal(x->op, op);
	assert_null(x->next);
	w.acts.xfer = NULL;
	w.acts.xfer_last = &w.acts.xfer;
	return x;
}

/* What the step wants to transfer, or NULL; it is ended. */
static inline struct dsm_xfer *wanted(void)
{
	struct dsm_xfer *x = w.acts.xfer ? transfer(w.acts.xfer->op) : NULL;

	world_end(0);
	return x;
}

/* The step is not ended. */
static inline int receive_of(u16 from, u8 type, const void *body, u32 len)
{
	u8 msg[256] = {};
	struct dsm_wire_hdr hdr = {
		.type = type, .region = cpu_to_le32(type == DSM_MSG_RSYNC_KEY ? 0 : WORLD_REGION),
		.len = cpu_to_le16(sizeof(hdr) + len),
	};
	int err;

	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + sizeof(hdr), body, len);
	world_begin(0);
	err = dsm_engine_check(msg, sizeof(hdr) + len, NULL, NULL);
	return err ?: dsm_engine_recv(world_engine(0), from, msg, sizeof(hdr) + len, &w.acts);
}

/* Of node 1. */
static inline int receive(u8 type, const void *body, u32 len)
{
	return receive_of(1, type, body, len);
}

static inline int message(u8 type, const void *body, u32 len)
{
	int err = receive(type, body, len);

	world_end(0);
	return err;
}

static inline int rlock_message(u8 type, u64 key, u8 op, u64 addr, u32 rkey, u32 word, u32 status)
{
	struct dsm_wire_rlock body = {
		.key = cpu_to_le64(key), .op = op, .addr = cpu_to_le64(addr), .rkey = cpu_to_le32(rkey),
		.word = cpu_to_le32(word), .status = cpu_to_le32(status),
	};

	return message(type, &body, sizeof(body));
}

/* The atomic of the lock comes back; what the step wants then, or NULL. */
static inline struct dsm_xfer *back(struct dsm_xfer *x, int status, u64 result)
{
	struct dsm_xfer *next;

	x->status = status;
	x->result = result;
	dsm_rlock_on_xfer(world_engine(0), x, world_begin(0));
	next = wanted();
	free(x);
	return next;
}

static inline struct dsm_rlock *lock_of(u64 key)
{
	struct dsm_rlock *l;

	world_begin(0);
	l = dsm_rlock_get(world_engine(0), &w.node[0].space, key);
	world_end(0);
	return l;
}

/* The word of a key that node 1 manages is known; this node asks for the lock. */
static inline struct dsm_xfer *ask(u64 key, struct dsm_waiter *waiter, u64 seen)
{
	struct dsm_engine *e = world_engine(0);
	struct dsm_rlock *l = lock_of(key);
	struct dsm_xfer *x;

	if (!(l->flags & DSM_RLOCKF_OPEN))
		dsm_rlock_opened(e, l, &(struct dsm_key){ .addr = 0x1000, .rkey = 9 }, dsm_rlock_handle(1, 0));
	l->seen = seen;
	world_waiter(waiter, 10);
	assert_int_equal(dsm_rlock_acquire(e, &w.node[0].space, key, waiter, world_begin(0)), -EINPROGRESS);
	x = transfer(DSM_XFER_CAS);
	world_end(0);
	return x;
}

/* The lock is here, and is to be free. */
static inline struct dsm_xfer *give_back(struct dsm_rlock *l)
{
	struct dsm_xfer *x;

	dsm_rlock_free_word(world_engine(0), l, dsm_rword(DSM_RWORD_HELD, 0, 0), world_begin(0));
	x = transfer(DSM_XFER_CAS);
	world_end(0);
	return x;
}

#endif
