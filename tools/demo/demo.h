/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the demo's programs share: they end with the library's words when something fails.
 */
#ifndef DEMO_H
#define DEMO_H

#include <dsm.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noreturn, format(printf, 1, 2)))
static inline void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static inline struct dsm *open_region(const char *name)
{
	struct dsm *d = dsm_open(name, 0);

	if (!d)
		die("%s", dsm_error());
	return d;
}

static inline void barrier(struct dsm *d, uint64_t key)
{
	if (dsm_barrier(d, key, (unsigned int)dsm_ranks(d)))
		die("%s", dsm_error());
}

static inline double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
