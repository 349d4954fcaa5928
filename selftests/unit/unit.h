/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What every unit test program needs: cmocka, the core's surroundings, random
 * numbers that can be repeated. Include it first.
 */
#ifndef DSM_SELFTESTS_UNIT_H
#define DSM_SELFTESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "env.h"

/* Finished tests stay reported if a later one crashes. */
__attribute__((constructor)) static void unit_line_buffered(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
}

/* Fail with what the rule was broken by; ./run takes the reason from this line. */
#define unit_require(cond, fmt, ...) do {				\
	if (!(cond)) {							\
		printf("# broken: %s: " fmt "\n", #cond, ##__VA_ARGS__);	\
		fail();							\
	}								\
} while (0)

/**
 * struct unit_random - a stream of random numbers (splitmix64)
 * @state: start it with any number; DSM_SEED in the environment is mixed in
 */
struct unit_random {
	u64 state;
};

static inline struct unit_random unit_random_init(u64 stream)
{
	const char *seed = getenv("DSM_SEED");

	return (struct unit_random){ stream + (seed ? strtoull(seed, NULL, 0) << 16 : 0) };
}

static inline u64 unit_random_next(struct unit_random *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* From 0 to @n - 1. */
static inline u32 unit_random_below(struct unit_random *r, u32 n)
{
	return (u32)((unit_random_next(r) >> 32) * n >> 32);
}

static inline void unit_random_fill(struct unit_random *r, void *p, size_t bytes)
{
	u8 *b = p;

	while (bytes--)
		*b++ = (u8)unit_random_next(r);
}

/* A heap block of exactly that size, so that ASan sees every step over its end. */
static inline void *unit_alloc(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p) {
		fputs("out of memory\n", stderr);
		abort();
	}
	return p;
}

static inline void *unit_copy(const void *from, size_t bytes)
{
	return memcpy(unit_alloc(bytes), from, bytes);
}

#endif
