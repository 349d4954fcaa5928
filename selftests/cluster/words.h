/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What all test programs share, those that know nothing of dsm too: ends with a reason, numbers from arguments, numbers
 * by chance.
 */
#ifndef DSM_CLUSTER_WORDS_H
#define DSM_CLUSTER_WORDS_H

#include <stdint.h>

#define PAGE_BYTES 4096u

/* Print the reason and end the process with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *fmt, ...);

#define CHECK(condition, ...) do { if (!(condition)) fail(__VA_ARGS__); } while (0)

long number(const char *text, long least, long most);
uint32_t next_random(uint32_t *state);

#endif
