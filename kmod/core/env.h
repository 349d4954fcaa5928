/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The core's one gate to its surroundings: kernel headers in the module, a
 * small shim in the host builds (unit tests, explorer, simulator). Nothing else
 * in core includes a header from outside core.
 */
#ifndef DSM_CORE_ENV_H
#define DSM_CORE_ENV_H

#ifdef __KERNEL__
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/siphash.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/vmalloc.h>
#include <asm/byteorder.h>
#include "../compat.h"

#define DSM_PAGE_BYTES ((u32)PAGE_SIZE)

/**
 * dsm_env_bytes() - address of a frame's bytes
 * @frame: what the shell stored in struct dsm_page, a struct page
 *
 * Context: any. Frames are never in high memory.
 * Return: address of DSM_PAGE_BYTES bytes.
 */
static inline u8 *dsm_env_bytes(void *frame)
{
	return page_address((struct page *)frame);
}

/**
 * dsm_env_vpage() - the page that holds a byte of the kernel's memory
 * @at: address, from vmalloc() too
 *
 * Context: any.
 * Return: page, as transfers take it; @at is dsm_env_voff(@at) bytes from its start.
 */
static inline void *dsm_env_vpage(void *at)
{
	return is_vmalloc_addr(at) ? vmalloc_to_page(at) : virt_to_page(at);
}

static inline u32 dsm_env_voff(const void *at)
{
	return offset_in_page(at);
}

/* A reference for a message that carries the frame; net drops it. */
static inline void dsm_env_frame_get(void *frame)
{
	get_page((struct page *)frame);
}

/**
 * dsm_env_keyed_hash() - hash that who chooses the values cannot foresee
 * @secret: random
 * @a:      value
 * @b:      value
 *
 * Context: any.
 * Return: all bits are as good.
 */
static inline u32 dsm_env_keyed_hash(const u64 secret[2], u64 a, u64 b)
{
	const siphash_key_t key = { { secret[0], secret[1] } };

	return siphash_2u64(a, b, &key);
}
#else
#include "env_host.h"
#endif

/**
 * dsm_env_copy_words() - copy words that others may load meanwhile
 * @to:    aligned to a word
 * @from:  any alignment
 * @words: 64-bit words
 *
 * As one store per word, so that nobody sees half of one, but as fast as copying without that
 * promise: the string instruction's elements are words. ASan cannot look into it.
 */
static inline void dsm_env_copy_words(u8 *to, const u8 *from, unsigned long words)
{
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
	asm volatile("rep movsq" : "+D" (to), "+S" (from), "+c" (words) : : "memory");
#else
	u64 word;

	for (; words; words--, to += sizeof(word), from += sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		WRITE_ONCE(*(u64 *)to, word);
	}
#endif
}

/*
 * Protocol assertions: numbered in Documentation/invariants.rst. In debug builds a broken one
 * is reported once; it is never caused by peer data, which is checked before.
 */
#ifdef DSM_DEBUG
#ifdef __KERNEL__
#include <linux/bug.h>
#define dsm_assert(cond) WARN_ONCE(!(cond), "dsm: broken invariant: %s\n", #cond)
#else
#define dsm_assert(cond) dsm_host_assert(!!(cond), #cond, __FILE__, __LINE__)
#endif
#else
#define dsm_assert(cond) do { if (0) (void)(cond); } while (0)
#endif

#endif
