/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the test programs share: ends with a reason, and calls that must succeed. Never retries
 * anything but a call that a signal interrupted.
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

#define PAGE_BYTES 4096u

/* Print the reason and end the process with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *fmt, ...);

#define CHECK(condition, ...) do { if (!(condition)) fail(__VA_ARGS__); } while (0)

/* The value @ret of a call that must give 0. */
void must(int ret, const char *what);

/* dsm_open() that must succeed. */
struct dsm *open_region(const char *name);

void lock(struct dsm *d, uint64_t key);
void unlock(struct dsm *d, uint64_t key);
void barrier(struct dsm *d, uint64_t key, unsigned int parties);

long number(const char *text, long least, long most);
uint32_t next_random(uint32_t *state);

/* Run @count threads of @work with their number as argument, and wait for their end. */
void run_threads(long count, void *(*work)(void *number));

#endif
