// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsm-bench: what the machine takes for the things that every operation is made of. Uses neither
 * the module nor the network.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define PAGES 256u
#define CALLS 100

static char *fresh(void)
{
	char *p = mmap(NULL, PAGES * BENCH_PAGE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("dsm-bench: mmap");
		exit(EXIT_FAILURE);
	}
	madvise(p, PAGES * BENCH_PAGE_BYTES, MADV_NOHUGEPAGE);
	return p;
}

static void touch(char *p)
{
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		*(volatile char *)(p + i * BENCH_PAGE_BYTES) = 1;
}

static int null_ioctl(struct bench *b)
{
	long trials = bench_trials(b, 100), i, k;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct series s;

	if (fd < 0)
		return -1;
	series_init(&s, "null_ioctl", "ns", trials, NULL);
	for (i = 0; i < trials; i++) {
		series_start(&s, b);
		for (k = 0; k < CALLS; k++)
			(void)ioctl(fd, 0, 0);
		series_add(&s, (bench_now_ns() - s.begin) / CALLS);
	}
	series_print(&s, b);
	close(fd);
	return 0;
}

static void faults(struct bench *b)
{
	long trials = bench_trials(b, 50), i;
	struct series fault, page, run;

	series_init(&fault, "minor_fault", "ns", trials, NULL);
	series_init(&page, "write_protect_per_page", "ns", trials, NULL);
	series_init(&run, "write_protect_run_of_256", "ns", trials, NULL);
	for (i = 0; i < trials; i++) {
		char *p = fresh();
		unsigned int k;

		series_start(&fault, b);
		touch(p);
		series_add(&fault, (bench_now_ns() - fault.begin) / PAGES);
		series_start(&run, b);
		mprotect(p, PAGES * BENCH_PAGE_BYTES, PROT_READ);
		series_stop(&run);
		mprotect(p, PAGES * BENCH_PAGE_BYTES, PROT_READ | PROT_WRITE);
		touch(p);
		series_start(&page, b);
		for (k = 0; k < PAGES; k += 2)
			mprotect(p + k * BENCH_PAGE_BYTES, BENCH_PAGE_BYTES, PROT_READ);
		series_add(&page, (bench_now_ns() - page.begin) / (PAGES / 2));
		munmap(p, PAGES * BENCH_PAGE_BYTES);
	}
	series_print(&fault, b);
	series_print(&page, b);
	series_print(&run, b);
}

static void copies(struct bench *b)
{
	long trials = bench_trials(b, 200), i, k;
	volatile int differ = 0;
	char *from = fresh(), *to = fresh();
	struct series copy, compare;

	touch(from);
	touch(to);
	series_init(&copy, "memcpy_4096", "ns", trials, NULL);
	series_init(&compare, "memcmp_4096_equal", "ns", trials, NULL);
	for (i = 0; i < trials; i++) {
		series_start(&copy, b);
		for (k = 0; k < CALLS; k++) {
			memcpy(to, from, BENCH_PAGE_BYTES);
			__asm__ volatile("" ::: "memory");
		}
		series_add(&copy, (bench_now_ns() - copy.begin) / CALLS);
		series_start(&compare, b);
		for (k = 0; k < CALLS; k++) {
			differ |= memcmp(to, from, BENCH_PAGE_BYTES);
			__asm__ volatile("" ::: "memory");
		}
		series_add(&compare, (bench_now_ns() - compare.begin) / CALLS);
	}
	series_print(&copy, b);
	series_print(&compare, b);
	munmap(from, PAGES * BENCH_PAGE_BYTES);
	munmap(to, PAGES * BENCH_PAGE_BYTES);
}

int test_floor(struct bench *b)
{
	if (null_ioctl(b))
		return -1;
	faults(b);
	copies(b);
	return 0;
}
