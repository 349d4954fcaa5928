/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * How the test on node 0 and its partner on node 1 talk, through the region
 * REMOTE_REGION itself: round R begins when flag 2R is set and is done when flag 2R+1 is.
 */
#ifndef DSM_KSFT_REMOTE_H
#define DSM_KSFT_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#define REMOTE_REGION "/dev/dsm-ksft"
#define REMOTE_PAGES 64		/* pages the partner writes; the orders are in the page after them */
#define REMOTE_HALF 2048	/* of each page, for FALSE_SHARING: below the test's, above the partner's */

enum order { ORDER_FILL = 1, ORDER_FALSE_SHARING, ORDER_CHECK, ORDER_QUIT };

/* In page REMOTE_PAGES. @last: last round done, written by the partner only; the rest by the test only. */
struct orders {
	uint64_t last;
	uint64_t wrong;		/* result of ORDER_CHECK, written by the partner */
	uint64_t padding[6];
	uint64_t order;
	uint64_t seed;
	uint64_t times;		/* of ORDER_FALSE_SHARING */
};

/* Byte @i of the region as filled with @seed. */
static inline unsigned char pattern(uint64_t seed, size_t i)
{
	return (i * 31 + i / 4096 + seed * 101) & 0xff;
}

#endif
