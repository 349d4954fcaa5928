/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What parmacs.c, parmacs_roi.c and statics.c share: what rank 0 tells the other ranks, in a heap region. Never
 * installed.
 */
#ifndef DSM_LIB_PARMACS_H
#define DSM_LIB_PARMACS_H

#include <pthread.h>

#include "../parmacs/dsm_parmacs.h"
#include "heap.h"

#define PARMACS_RANKS_MAX 64
#define PARMACS_COMMANDS 1024	/* until the next WAIT_FOR_END */

enum parmacs_kind { PARMACS_CREATE, PARMACS_WAIT, PARMACS_END };

/* Addresses are the same for all ranks. */
struct parmacs_command {
	uint64_t kind;		/* enum parmacs_kind */
	uint64_t function;
	uint64_t first, last;	/* workers; number % ranks is the rank of each */
	uint64_t statics;	/* struct parmacs_statics, or 0 */
};

/**
 * struct parmacs_root - at HEAP_ROOT_OFFSET of the region while a program runs; written by rank 0
 * @program:  where its statics are: with all ranks the same
 * @commands: address of PARMACS_COMMANDS commands, used round and round
 * @roi:      address of a struct parmacs_roi
 * @posted:   by rank: commands that it has not begun
 * @done:     ranks whose workers have come to their end
 */
struct parmacs_root {
	uint64_t program_data, program_end;
	uint64_t commands, roi;
	struct dsm_sem done;
	struct dsm_sem posted[PARMACS_RANKS_MAX];
};

_Static_assert(HEAP_ROOT_OFFSET >= sizeof(struct heap_head), "layout");
_Static_assert(HEAP_ROOT_OFFSET + sizeof(struct parmacs_root) <= HEAP_PAGE, "layout");

struct parmacs_page {
	uint64_t number;	/* from @base */
	uint64_t copy;		/* address of a page */
};

/**
 * struct parmacs_statics - the program's statics as rank 0 has them when it creates workers
 * @base:   address of the first page
 * @pages:  their number
 * @shared: 0, or the pages' address in the region: they are to be mapped from there
 * @kept:   address of what all variables of libraries among them began with, one behind the other; with @shared
 * @kept_bytes: of all of these
 * @before: statics of the CREATE before, if its workers may still run; else 0
 * @used:   entries in @page: all pages that are not zero, in ascending order
 */
struct parmacs_statics {
	uint64_t base, pages, shared, kept, kept_bytes, before, used;
	struct parmacs_page page[];
};

/* Ends the process with a line on stderr. */
DSM_HIDDEN _Noreturn void dsm_parmacs_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* From the region, zeroed; never NULL. */
DSM_HIDDEN void *dsm_parmacs_take(size_t bytes);
/* Takes a lock, whatever signals come. */
DSM_HIDDEN void dsm_parmacs_take_lock(uint64_t key);
/* Starts a thread that gets no signals; @what it is for, in words. */
DSM_HIDDEN void dsm_parmacs_start_thread(pthread_t *thread, void *(*run)(void *), void *argument, const char *what);

/* parmacs_roi.c: rank 0: what all ranks need for it, in shared memory; its address. */
DSM_HIDDEN uint64_t dsm_parmacs_roi_make(struct dsm *d, int ranks);
/* Each rank, once. */
DSM_HIDDEN void dsm_parmacs_roi_join(struct dsm *d, uint64_t made, int rank, int ranks);
/* Rank 0, at the end: nobody begins or ends it any more. */
DSM_HIDDEN void dsm_parmacs_roi_free(void);
/* Any thread of any rank; if many come, the first of each does it for all. The end prints the counters. */
DSM_HIDDEN void dsm_parmacs_roi_begin(void);
DSM_HIDDEN void dsm_parmacs_roi_end(void);

/* statics.c: before main(): let the program and its libraries be where they are on all nodes, and remember what the latter began with. */
DSM_HIDDEN void dsm_parmacs_statics_fix(char **argv, const struct dsm_parmacs_program *program);
/* Rank 0: what the next CREATE gives to the workers; 0: nothing. */
DSM_HIDDEN uint64_t dsm_parmacs_statics_give(struct dsm *d, const struct dsm_parmacs_program *program);
/* Are statics, of which this is one, in shared memory, or will they be? */
DSM_HIDDEN bool dsm_parmacs_statics_hold(const void *at);
/* Rank 0: no worker of an earlier CREATE runs. */
DSM_HIDDEN void dsm_parmacs_statics_forget(struct dsm *d);
/* Other ranks: take them. @running: workers of an earlier CREATE may run here. */
DSM_HIDDEN void dsm_parmacs_statics_take(struct dsm *d, const struct dsm_parmacs_program *program,
					 const struct parmacs_statics *s, bool running);
/* Rank 0, at the end: out of the region again. */
DSM_HIDDEN void dsm_parmacs_statics_end(struct dsm *d);

#endif
