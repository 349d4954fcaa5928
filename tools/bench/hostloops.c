// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Loops that diffspeed compares the core's diffs with, built with the kernel's flags (-O2, no
 * vector registers). memcpy() is what x86 kernels use, and takes the C library's place for
 * everything that is linked with it. Measures nothing.
 */
#include <stddef.h>
#include <stdint.h>

#include "hostloops.h"

void *memcpy(void *to, const void *from, size_t n)
{
	void *start = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return start;
}

int loop_compare(const void *a, const void *b, size_t n)
{
	const uint64_t *x = a, *y = b;
	size_t i;

	for (i = 0; i < n / sizeof(*x); i++)
		if (x[i] != y[i])
			return 1;
	return 0;
}
