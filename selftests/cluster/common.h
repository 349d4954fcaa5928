/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the test programs share that call libdsm: calls that must succeed. Never retries anything but a call that a
 * signal interrupted.
 */
#ifndef DSM_CLUSTER_COMMON_H
#define DSM_CLUSTER_COMMON_H

#include <dsm.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "words.h"

/* The value @ret of a call that must give 0. */
void must(int ret, const char *what);

/* dsm_open() that must succeed. */
struct dsm *open_region(const char *name);

void lock(struct dsm *d, uint64_t key);
void unlock(struct dsm *d, uint64_t key);
void barrier(struct dsm *d, uint64_t key, unsigned int parties);

/* Run @count threads of @work with their number as argument, and wait for their end. */
void run_threads(long count, void *(*work)(void *number));

#endif
