// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * tsc - print the rate of this machine's time stamp counter in kHz.
 *
 * A guest under TCG sees the host's counter, but measures its rate against emulated timers: on a
 * busy host it can be wrong by a factor, and the guest's clock with it. So the host measures.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define SAMPLE_NS 100000000

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
	int64_t start = now_ns(), end;
	uint64_t first = __rdtsc(), last;

	do {
		end = now_ns();
		last = __rdtsc();
	} while (end - start < SAMPLE_NS);
	printf("%llu\n", (unsigned long long)((last - first) * 1000000.0 / (end - start)));
	return 0;
}
