// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The lock table of a handle: mapping it, and this process's number in it. Without one every lock
 * is an ioctl, so nothing here ever fails.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "table.h"

__thread uint32_t dsm_table_tid;

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool fork_handled;

/* The only thread of a child is not the one that it was, and another may have been in the list of handles. */
static void forked(void)
{
	unsigned char there;
	struct dsm *d;

	dsm_table_tid = 0;
	for (d = dsm_handles(); d; d = d->next) {
		__atomic_store_n(&d->table_owner, 0, __ATOMIC_RELAXED);
		d->foreign |= mincore(d->base, 1, &there) && errno == ENOMEM;
	}
	dsm_handles_unlock();
}

static void handle_forks(void)
{
	fork_handled = !pthread_atfork(dsm_handles_lock, dsm_handles_unlock, forked);
}

bool dsm_table_handle_forks(void)
{
	pthread_once(&fork_once, handle_forks);
	return fork_handled;
}

uint64_t dsm_table_enter(struct dsm *d)
{
	struct dsm_ioc_lock_table arg = { .size = sizeof(arg) };
	uint32_t owner = __atomic_load_n(&d->table_owner, __ATOMIC_RELAXED);

	if (!d->table)
		return 0;
	if (!dsm_table_tid)
		dsm_table_tid = (uint32_t)syscall(SYS_gettid);
	if (!owner) {
		if (dsm_ioctl(d, DSM_IOC_LOCK_TABLE, &arg))
			return 0;
		owner = arg.owner;
		__atomic_store_n(&d->table_owner, owner, __ATOMIC_RELAXED);
	}
	return dsm_fast_word(owner, dsm_table_tid);
}

void dsm_table_open(struct dsm *d)
{
	struct dsm_ioc_lock_table arg = { .size = sizeof(arg) };
	const char *off = getenv("DSM_NO_FAST_LOCK");
	void *table;

	if (d->flags & DSM_RDONLY || (off && *off && *off != '0'))
		return;
	if (!dsm_table_handle_forks() || dsm_ioctl(d, DSM_IOC_LOCK_TABLE, &arg))
		return;
	table = mmap(NULL, DSM_LOCK_TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		     d->fd, DSM_LOCK_TABLE_OFFSET);
	if (table == MAP_FAILED)
		return;
	d->table = table;
	d->table_owner = arg.owner;
}

void dsm_table_close(struct dsm *d)
{
	if (d->table)
		munmap(d->table, DSM_LOCK_TABLE_BYTES);
}
