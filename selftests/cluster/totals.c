// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * totals: reads this node's counters again and again until its input ends, and fails if one of them ever falls. A letter
 * on its input asks how often they were read so far: "LETTER: N samples". Never opens a region, so that a node can leave
 * meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "../../uapi/dsm.h"
#include "common.h"

static void sample(int fd, uint64_t values[DSM_STAT_COUNT])
{
	struct dsm_ioc_stats arg = {
		.size = sizeof(arg),
		.count = DSM_STAT_COUNT,
		.values = (uintptr_t)values,
	};

	CHECK(!ioctl(fd, DSM_IOC_STATS, &arg), "DSM_IOC_STATS: %s", strerror(errno));
}

/* There is input: answer it; false: it has ended. */
static bool answer(unsigned long samples)
{
	char letter;

	if (read(STDIN_FILENO, &letter, 1) != 1)
		return false;
	printf("%c: %lu samples\n", letter, samples);
	fflush(stdout);
	return true;
}

int main(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	uint64_t old[DSM_STAT_COUNT] = { 0 }, new[DSM_STAT_COUNT] = { 0 };
	int fd = open("/dev/dsm", O_RDWR | O_CLOEXEC);
	unsigned long samples = 0;
	unsigned int i;

	CHECK(fd >= 0, "/dev/dsm: %s", strerror(errno));
	sample(fd, old);
	puts("ready");
	fflush(stdout);
	while (!poll(&input, 1, 0) || answer(samples)) {
		sample(fd, new);
		samples++;
		for (i = 0; i < DSM_STAT_COUNT; i++)
			CHECK(new[i] >= old[i], "counter %u fell from %llu to %llu (sample %lu)", i,
			      (unsigned long long)old[i], (unsigned long long)new[i], samples);
		memcpy(old, new, sizeof(old));
	}
	CHECK(samples, "no sample was taken");
	return 0;
}
