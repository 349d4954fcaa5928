/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/* Loops built with the kernel's flags, for diffspeed. */
#ifndef DSM_BENCH_HOSTLOOPS_H
#define DSM_BENCH_HOSTLOOPS_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
/* 1 if the @n bytes differ, word by word; @n is a multiple of 8. */
int loop_compare(const void *a, const void *b, size_t n);

#endif
