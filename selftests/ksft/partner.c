// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* On node 1: writes what remote.c asks for, so that its pages have to be fetched. No test by itself. */
#include "ksft.h"
#include "remote.h"

static int flag(int fd, unsigned long cmd, uint64_t key)
{
	struct dsm_ioc_flag a = { .size = sizeof(a), .key = key };

	return ioctl(fd, cmd, &a);
}

static void fill(unsigned char *p, uint64_t seed)
{
	size_t i;

	for (i = 0; i < REMOTE_PAGES * PAGE; i++)
		p[i] = pattern(seed, i);
}

/* Own halves change again and again, each time released. */
static int share_falsely(int fd, unsigned char *p, uint64_t seed, uint64_t times)
{
	uint64_t t;
	size_t i;

	for (t = 0; t < times; t++) {
		for (i = 0; i < REMOTE_PAGES * PAGE; i++) {
			if (i % PAGE >= REMOTE_HALF)
				p[i] = pattern(seed + t, i);
		}
		if (region_call(fd, DSM_IOC_RELEASE) || region_call(fd, DSM_IOC_ACQUIRE))
			return 1;
	}
	return 0;
}

static uint64_t check(const unsigned char *p, uint64_t seed)
{
	uint64_t wrong = 0;
	size_t i;

	for (i = 0; i < REMOTE_PAGES * PAGE; i++) {
		if (i % PAGE < REMOTE_HALF)
			wrong += p[i] != pattern(seed, i);
	}
	return wrong;
}

int main(void)
{
	int fd = open(REMOTE_REGION, O_RDWR);
	unsigned char *p;
	struct orders *o;
	uint64_t round;
	bool quit = false;

	if (fd < 0) {
		perror(REMOTE_REGION);
		return 1;
	}
	p = mmap(NULL, (REMOTE_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	o = (struct orders *)(p + REMOTE_PAGES * PAGE);
	for (round = 1; !quit; round++) {
		if (flag(fd, DSM_IOC_FLAG_WAIT, 2 * round)) {
			perror("waiting for an order");
			return 1;
		}
		switch (o->order) {
		case ORDER_FILL:
			fill(p, o->seed);
			break;
		case ORDER_FALSE_SHARING:
			if (share_falsely(fd, p, o->seed, o->times))
				return 1;
			break;
		case ORDER_CHECK:
			o->wrong = check(p, o->seed);
			break;
		case ORDER_QUIT:
			quit = true;
			break;
		default:
			fprintf(stderr, "order %ju\n", (uintmax_t)o->order);
			return 1;
		}
		o->last = round;
		if (flag(fd, DSM_IOC_FLAG_SET, 2 * round + 1)) {
			perror("reporting");
			return 1;
		}
	}
	return 0;
}
