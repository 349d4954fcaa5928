/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/* What the files share that make up a thread: thread.c, access.c, acquire.c, kill.c. */
#ifndef DSM_MODEL_THREAD_H
#define DSM_MODEL_THREAD_H

#include "model.h"

static inline struct node *node_of(const struct thread *t)
{
	return &w.node[t->node];
}

static inline const struct op *op_of(const struct thread *t)
{
	return &t->prog[t->pc];
}

static inline struct dsm_lock_owner owner_of(const struct thread *t)
{
	return (struct dsm_lock_owner){ .file = 100 + t->id, .tgid = 200 + t->id, .tid = 300 + t->id };
}

void thread_next_op(struct thread *t);
/* The call failed: the program ends here, as one would that gets SIGBUS or checks results. */
void thread_give_up(struct thread *t, int status);
void thread_begin_wait(struct thread *t);
void thread_block(struct thread *t, enum block_kind kind);
void thread_lock_result(struct thread *t, int ret);
void thread_die(struct thread *t);

void access_start(struct thread *t);
void access_fault(struct thread *t);
void access_wait(struct thread *t);
void access_page_lock(struct thread *t);
void access_install(struct thread *t);

bool unclaim_begin(struct thread *t);
void unclaim_forget(struct thread *t);
bool unclaim_have_forgotten(const struct thread *t);
void unclaim_forgotten(struct thread *t);

void acquire_begin(struct thread *t);
void acquire_next(struct thread *t);
void acquire_merge(struct thread *t);
void acquire_invalidate(struct thread *t);
void acquire_zap(struct thread *t);
void acquire_live(struct thread *t);
void acquire_end(struct thread *t);

#endif
