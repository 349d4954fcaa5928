// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * storm REGION TIMES: processes that come, work and go, while others compute. Each opens and maps the region,
 * increments a counter under a lock, and ends in one of three ways: closes properly, exits with all open, or is killed
 * by a signal after its unlock. The counter must have counted all of them.
 */
#include <signal.h>
#include <sys/wait.h>

#include "common.h"

#define LOCK_KEY 77
#define BARRIER_KEY 78

static void visit(const char *name, long i)
{
	struct dsm *d = open_region(name);
	volatile uint64_t *counter = dsm_base(d);

	lock(d, LOCK_KEY);
	*counter = *counter + 1;
	unlock(d, LOCK_KEY);
	if (i % 3 == 0)
		must(dsm_close(d), "close");
	else if (i % 3 == 1)
		raise(SIGKILL);
	_exit(0);
}

int main(int argc, char **argv)
{
	long times, i;
	struct dsm *d;

	CHECK(argc == 3, "usage: storm REGION TIMES");
	times = number(argv[2], 1, 10000);
	for (i = 0; i < times; i++) {
		int status, want = i % 3 == 1 ? SIGKILL : 0;
		pid_t pid = fork();

		CHECK(pid >= 0, "no process");
		if (!pid)
			visit(argv[1], i);
		CHECK(waitpid(pid, &status, 0) == pid && status == want, "visit %ld: status %#x", i, status);
	}
	d = open_region(argv[1]);
	barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
	CHECK(*(uint64_t *)dsm_base(d) == (uint64_t)(times * dsm_ranks(d)), "%lu visits, not %ld",
	      *(uint64_t *)dsm_base(d), times * dsm_ranks(d));
	must(dsm_close(d), "close");
	return 0;
}
