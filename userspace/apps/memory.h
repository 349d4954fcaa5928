/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What app.c asks of the machine below it: shared.c (a region of dsm) or plain.c (one process).
 */
#ifndef APP_MEMORY_H
#define APP_MEMORY_H

#include "app.h"

/* Several workers may share it: the result is compared with that of one. */
bool memory_is_shared(void);

/* Opens @region (NULL: the default one); sets the first worker's rank and ranks. */
void memory_open(const char *region, struct app_worker *first);
/* Bytes at @offset of the shared memory; address only, nothing is touched. */
void *memory_at(size_t offset, size_t bytes);
/* Ends the program if @bytes, all that layout() asked for, are not there. */
void memory_need(size_t bytes);
/*
 * Asks for @rows of @bytes, the first at @at, each @stride bytes behind the one before, which others have written and this
 * process will read; waits for nothing.
 */
void memory_hint(const void *at, size_t bytes, size_t stride, size_t rows);
/* Runs @body as each worker of this rank; returns when all have ended. */
void memory_run(const struct app_worker *first, void (*body)(const struct app_worker *w));

/* The region of interest, by one thread of each rank. */
void memory_roi_begin(const struct app_worker *w);
void memory_roi_end(const struct app_worker *w);
/* The counters of the region of interest, summed over the nodes, on stdout; rank 0. */
void memory_roi_print(const char *name, unsigned int ranks);

/* Waits for all ranks; then who has no more to do with the memory may go. */
void memory_meet(const struct app_worker *first);
void memory_close(void);

#endif
