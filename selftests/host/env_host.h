/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the core gets from its surroundings when it is built as a host program:
 * unit tests, the explorer, the simulator. Included by kmod/core/env.h only.
 *
 * Provides the few kernel types and helpers that the core uses, with the
 * kernel's names, argument types and results. Stricter than the kernel where
 * that finds mistakes: a deleted list entry has no neighbours. Never takes a
 * lock, allocates or keeps time.
 */
#ifndef DSM_HOST_ENV_HOST_H
#define DSM_HOST_ENV_HOST_H

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
#include <linux/types.h>

#include "list_host.h"

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define U8_MAX ((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX ((u32)~0U)
#define U64_MAX ((u64)~0ULL)

/* The message is optional, as in the kernel; C11 insists on one. */
#undef static_assert
#define static_assert(expr, ...) _Static_assert(expr, #expr)

#ifndef fallthrough
#define fallthrough __attribute__((__fallthrough__))
#endif
#ifndef __force
#define __force
#endif
#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() __asm__ __volatile__("" : : : "memory")

/* One load, one store: only for scalars of at most eight bytes. */
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, val) (*(volatile __typeof__(x) *)&(x) = (val))

/* Between threads, or with processes that share memory. */
#define xchg(ptr, val) __atomic_exchange_n(ptr, val, __ATOMIC_SEQ_CST)
#define smp_store_release(ptr, val) __atomic_store_n(ptr, val, __ATOMIC_RELEASE)

/* Byte order. */
#define cpu_to_le16(x) ((__le16)htole16(x))
#define cpu_to_le32(x) ((__le32)htole32(x))
#define cpu_to_le64(x) ((__le64)htole64(x))
#define le16_to_cpu(x) ((u16)le16toh(x))
#define le32_to_cpu(x) ((u32)le32toh(x))
#define le64_to_cpu(x) ((u64)le64toh(x))

/* Both sides have one type, as the older kernel's min() demands. */
#define dsm_host_pick(x, y, op) ({				\
	__typeof__(x) pick_x = (x);				\
	__typeof__(y) pick_y = (y);				\
								\
	(void)(&pick_x == &pick_y);				\
	pick_x op pick_y ? pick_x : pick_y; })
#define min(x, y) dsm_host_pick(x, y, <)
#define max(x, y) dsm_host_pick(x, y, >)
#define min_t(type, x, y) ({					\
	type min_x = (x);					\
	type min_y = (y);					\
								\
	min_x < min_y ? min_x : min_y; })
#define max_t(type, x, y) ({					\
	type max_x = (x);					\
	type max_y = (y);					\
								\
	max_x > max_y ? max_x : max_y; })
#define swap(a, b) do {						\
	__typeof__(a) swap_tmp = (a);				\
								\
	(a) = (b);						\
	(b) = swap_tmp;						\
} while (0)

/* Host programs have one thread in the core at a time. */
#define smp_mb() __sync_synchronize()
#define smp_rmb() __sync_synchronize()

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define ALIGN(x, a) (((x) + (__typeof__(x))(a) - 1) & ~((__typeof__(x))(a) - 1))
#define IS_ALIGNED(x, a) (((x) & ((__typeof__(x))(a) - 1)) == 0)

static inline unsigned int hweight8(unsigned int w)
{
	return __builtin_popcount(w & 0xff);
}

static inline unsigned int hweight32(unsigned int w)
{
	return __builtin_popcount(w);
}

static inline unsigned long hweight64(u64 w)
{
	return __builtin_popcountll(w);
}

/* Number of the lowest set bit; undefined for 0. */
static inline unsigned int __ffs64(u64 w)
{
	return __builtin_ctzll(w);
}

/* Number of the highest set bit counted from 1; 0 for 0. */
static inline int fls64(u64 w)
{
	return w ? 64 - __builtin_clzll(w) : 0;
}

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* Multiplicative hashes with the golden ratio; the highest bits are the best. */
static inline u32 hash_64(u64 val, unsigned int bits)
{
	return (u32)((val * 0x9e3779b97f4a7c15ULL) >> (64 - bits));
}

static inline u32 hash_32(u32 val, unsigned int bits)
{
	return (val * 0x9e3779b9U) >> (32 - bits);
}

/* Nobody here chooses keys that collide; runs have to be the same each time. */
static inline u32 dsm_env_keyed_hash(const u64 secret[2], u64 a, u64 b)
{
	return hash_64(b * 0x9e3779b97f4a7c15ull + a + secret[0] + secret[1], 32);
}

/*
 * Small pages keep the explorer's state small: -DDSM_PAGE_BYTES=8.
 */
#ifndef DSM_PAGE_BYTES
#define DSM_PAGE_BYTES 4096U
#endif

/**
 * dsm_env_bytes() - address of a frame's bytes
 * @frame: a plain pointer to DSM_PAGE_BYTES bytes
 *
 * Return: @frame.
 */
static inline u8 *dsm_env_bytes(void *frame)
{
	return frame;
}

/* Memory of transfers that is only virtually contiguous: here every address is a page of its own. */
static inline void *dsm_env_vpage(void *at)
{
	return at;
}

static inline u32 dsm_env_voff(const void *at)
{
	(void)at;
	return 0;
}

/*
 * Set by a program that counts references of frames in messages; NULL (the
 * default) counts nothing. Weak, so that each file may hold a copy.
 */
__attribute__((weak)) void (*dsm_host_frame_get)(void *frame);

static inline void dsm_env_frame_get(void *frame)
{
	if (dsm_host_frame_get)
		dsm_host_frame_get(frame);
}

/*
 * Called for a broken assertion; NULL (the default) prints it and aborts. If
 * it returns, the program goes on behind the assertion.
 */
__attribute__((weak)) void (*dsm_host_assert_handler)(const char *cond, const char *file, int line);

/**
 * dsm_host_assert() - what dsm_assert() does in a host program
 * @holds: value of the condition
 * @cond:  its text
 * @file:  where it is
 * @line:  where it is
 */
static inline void dsm_host_assert(bool holds, const char *cond, const char *file, int line)
{
	if (likely(holds))
		return;
	if (!dsm_host_assert_handler) {
		fprintf(stderr, "dsm: broken invariant: %s at %s:%d\n", cond, file, line);
		abort();
	}
	dsm_host_assert_handler(cond, file, line);
}

#endif
