// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * How fast the core makes and applies diffs on this machine, beside a plain loop and copying. The
 * core's part and the loops are built with the kernel's flags. Prints as dsm-bench does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../kmod/core/diff.h"
#include "hostloops.h"

#define TRIALS 400
#define CALLS 500
#define BARRIER __asm__ volatile("" ::: "memory")

static u8 page[DSM_PAGE_BYTES] __attribute__((aligned(4096)));
static u8 twin[DSM_PAGE_BYTES] __attribute__((aligned(4096)));
static u8 record[DSM_DIFF_RECORD_MAX(DSM_PAGE_BYTES)] __attribute__((aligned(4096)));
static u8 home[DSM_PAGE_BYTES] __attribute__((aligned(4096)));
static void *(*libc_memcpy)(void *to, const void *from, size_t n);
static int (*libc_memcmp)(const void *a, const void *b, size_t n);
static volatile int seen;

static void make(void)
{
	seen = dsm_diff_make(page, twin, DSM_PAGE_BYTES, 0, false, record, sizeof(record));
}

static void compare_loop(void)
{
	seen = loop_compare(page, twin, DSM_PAGE_BYTES);
}

static void compare_libc(void)
{
	seen = libc_memcmp(page, twin, DSM_PAGE_BYTES);
}

static void apply(void)
{
	dsm_diff_apply(record, home, DSM_PAGE_BYTES);
}

static void copy_kernel(void)
{
	memcpy(home, page, DSM_PAGE_BYTES);
}

static void copy_libc(void)
{
	libc_memcpy(home, page, DSM_PAGE_BYTES);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(const char *name, void (*op)(void))
{
	static double v[TRIALS];
	int i, k;

	for (i = -10; i < TRIALS; i++) {
		double begin = now_ns();

		for (k = 0; k < CALLS; k++) {
			op();
			BARRIER;
		}
		if (i >= 0)
			v[i] = (now_ns() - begin) / CALLS;
	}
	qsort(v, TRIALS, sizeof(v[0]), compare);
	printf("{\"name\":\"%s\",\"rank\":0,\"unit\":\"ns\",\"n\":%d,\"median\":%.1f,\"p10\":%.1f,"
	       "\"p90\":%.1f,\"min\":%.1f,\"max\":%.1f}\n",
	       name, TRIALS, v[TRIALS / 2], v[TRIALS / 10], v[TRIALS * 9 / 10], v[0], v[TRIALS - 1]);
}

static void change(u32 runs, u32 bytes)
{
	u32 i;

	memset(twin, 0x5a, sizeof(twin));
	libc_memcpy(page, twin, sizeof(page));
	for (i = 0; i < runs; i++)
		memset(page + i * (DSM_PAGE_BYTES / runs), 0xa5, bytes);
}

int main(void)
{
	libc_memcpy = (void *(*)(void *, const void *, size_t))dlsym(RTLD_NEXT, "memcpy");
	libc_memcmp = (int (*)(const void *, const void *, size_t))dlsym(RTLD_NEXT, "memcmp");
	if (!libc_memcpy || !libc_memcmp)
		return EXIT_FAILURE;
	change(0, 0);
	measure("diff_unchanged", make);
	measure("compare_loop", compare_loop);
	measure("memcmp_page_glibc", compare_libc);
	change(1, DSM_PAGE_BYTES);
	measure("diff_whole_page", make);
	make();
	if (seen <= 0 || dsm_diff_check(record, (u32)seen, DSM_PAGE_BYTES, &(u32){ 0 }) < 0)
		return EXIT_FAILURE;
	measure("apply_page", apply);
	if (memcmp(home, page, DSM_PAGE_BYTES))
		return EXIT_FAILURE;
	measure("memcpy_page", copy_kernel);
	measure("memcpy_page_glibc", copy_libc);
	change(1, 8);
	measure("diff_1_word", make);
	change(32, 8);
	measure("diff_32_words", make);
	make();
	measure("apply_32_words", apply);
	return EXIT_SUCCESS;
}
