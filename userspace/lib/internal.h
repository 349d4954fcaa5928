/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the files of libdsm share: the handle, error text and the raw lock call. Never installed.
 */
#ifndef DSM_INTERNAL_H
#define DSM_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "../include/dsm.h"
#include "../../uapi/dsm.h"

#define DSM_HIDDEN __attribute__((visibility("hidden")))

/*
 * Keys from here on belong to the library, in the lock space of each heap region: see heap.h.
 * Programs keep below. Of flags the upper half of all keys is the library's, in every region: see
 * queue.h. Of barriers only the last key is reserved.
 */
#define DSM_KEY_RESERVED 0xffffffff00000000ull
#define DSM_FLAG_RESERVED (1ull << 63)
#define DSM_KEY_ROI 0xffffffffffffffffull

#define DSM_CONTROL_BYTES sizeof("/dev/dsm.N")

struct dsm {
	struct dsm *next;	/* all handles of the process; under the list's mutex */
	unsigned int refs;	/* dsm_open calls that returned this handle; same mutex */
	int fd;
	void *base;
	size_t bytes;
	unsigned int flags;	/* DSM_RDONLY as opened */
	bool heap;		/* the region has heap=on */
	char path[DSM_CONTROL_BYTES + 1 + DSM_NAME_MAX];
	char asked[DSM_CONTROL_BYTES + 1 + DSM_NAME_MAX];	/* before a node of its own was looked for */
	int rank, ranks, node;
	bool foreign;		/* level=1: inherited from the parent, whose region it stays */
	int heap_ready;		/* atomic: the header was checked by this process */
	struct dsm_lock_slot *table;	/* lock table; see table.h */
	unsigned int roi_parties;	/* 0: not between dsm_roi_begin() and dsm_roi_end() */
	uint64_t roi[DSM_STAT_COUNT];	/* this node's counters at the begin; then what they grew by */
	uint32_t table_owner;	/* atomic: this process's number there; 0: none, or not known yet */
};

/* Keeps the line for dsm_error(); returns -err. */
DSM_HIDDEN int dsm_error_set(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, and says which nodes are lost if @err is EHOSTDOWN. */
DSM_HIDDEN int dsm_error_of(const struct dsm *d, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A short advice for an errno that the module gives in many places; "" if there is none. */
DSM_HIDDEN const char *dsm_error_hint(int err);

/* Path of /dev/dsm, or of what it is for the machine's node that DSM_LOCAL_NODE says. 0 or -EINVAL. */
DSM_HIDDEN int dsm_control_from_env(char path[DSM_CONTROL_BYTES]);

/* Rank and size as the program's starter set them; 0 of 1 without one. 0 or -EINVAL. */
DSM_HIDDEN int dsm_rank_from_env(int *rank, int *ranks);

/*
 * Gives back a lock of the library's own that the caller holds. That what the program wrote is lost, where it is a
 * release too, is told by the program's next release, as if this had not been one.
 */
DSM_HIDDEN void dsm_unlock_own(struct dsm *d, uint64_t key);

/* ioctl that gives a negative errno and leaves errno alone. */
DSM_HIDDEN int dsm_ioctl(const struct dsm *d, unsigned long request, void *arg);

#endif
