/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * A few numbers in order, where the same code runs in the kernel and on the host: to find medians of measurements.
 */
#ifndef DSM_CORE_SORT_H
#define DSM_CORE_SORT_H

#include "types.h"

static inline void dsm_sort(u64 *a, u32 n)
{
	u32 i, k;
	u64 x;

	for (i = 1; i < n; i++) {
		x = a[i];
		for (k = i; k && a[k - 1] > x; k--)
			a[k] = a[k - 1];
		a[k] = x;
	}
}

#endif
