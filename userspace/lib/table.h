/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks without system calls, as sync.c and open.c use them. Never installed.
 */
#ifndef DSM_TABLE_H
#define DSM_TABLE_H

#include "fast.h"
#include "internal.h"

/*
 * Thread id of the caller, 0 until it is needed. Looked at on every lock: a
 * call of the dynamic linker would cost more than the lock.
 */
DSM_HIDDEN extern __thread uint32_t dsm_table_tid __attribute__((tls_model("initial-exec")));

/* Map the lock table, if the module, the region and the environment allow it. */
DSM_HIDDEN void dsm_table_open(struct dsm *d);
DSM_HIDDEN void dsm_table_close(struct dsm *d);

/* First use by a thread or a process: its word, or 0 if the table cannot be used. */
DSM_HIDDEN uint64_t dsm_table_enter(struct dsm *d);

/* All open handles, for a forked child. */
DSM_HIDDEN struct dsm *dsm_handles(void);
/* Before the first handle: from then on forks know of handles. False: no memory. */
DSM_HIDDEN bool dsm_table_handle_forks(void);
/* Over a fork, so that the child finds the list whole, and the lock free. */
DSM_HIDDEN void dsm_handles_lock(void);
DSM_HIDDEN void dsm_handles_unlock(void);

/* Word of the caller in the table of @d, or 0: ask the module. */
static inline uint64_t dsm_table_self(struct dsm *d)
{
	uint32_t owner = __atomic_load_n(&d->table_owner, __ATOMIC_RELAXED);

	if (__builtin_expect(!owner || !dsm_table_tid, 0))
		return dsm_table_enter(d);
	return dsm_fast_word(owner, dsm_table_tid);
}

static inline enum dsm_fast dsm_table_take(struct dsm *d, uint64_t key)
{
	uint64_t self = dsm_table_self(d);

	return self ? dsm_fast_take(d->table, key, self) : DSM_FAST_ASK;
}

static inline bool dsm_table_give(struct dsm *d, uint64_t key)
{
	uint64_t self = dsm_table_self(d);

	return self && dsm_fast_give(d->table, key, self);
}

#endif
