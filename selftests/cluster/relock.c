// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * relock REGION: a lock whose token is at this node is taken and given back without a system call, by dsm_lock() and
 * dsm_unlock() as any program calls them.
 *
 * A child does it where the first system call but read, write and exit is the last thing that it does. Never looks at
 * the lock table itself: how the library does it is the library's business.
 */
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "common.h"

#define KEYS 6
#define ROUNDS 2000

/* How the child ended. */
enum { GOOD, REFUSED, NO_SECCOMP };

static struct dsm *d;

static void use_all(void)
{
	uint64_t key;

	for (key = 0; key < KEYS; key++) {
		lock(d, key);
		unlock(d, key);
	}
}

/* Without a reason: to print one is a system call that is not allowed here. */
static long relock(const struct timespec *end)
{
	uint64_t i;
	int ret;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return NO_SECCOMP;
	for (i = 0; i < ROUNDS * KEYS; i++) {
		ret = i % 3 ? dsm_lock(d, i % KEYS) : i & 1 ? dsm_trylock(d, i % KEYS) :
			dsm_timedlock(d, i % KEYS, end);
		if (ret || dsm_unlock(d, i % KEYS))
			return REFUSED;
	}
	return GOOD;
}

int main(int argc, char **argv)
{
	struct timespec end;
	int status;
	pid_t pid;

	CHECK(argc == 2, "usage: relock REGION");
	d = open_region(argv[1]);
	use_all();
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 3600;
	pid = fork();
	CHECK(pid >= 0, "no child");
	if (!pid) {
		/* It has a number of its own in the table, which the first lock asks for. */
		use_all();
		syscall(SYS_exit, relock(&end));
	}
	CHECK(waitpid(pid, &status, 0) == pid, "no child to wait for");
	CHECK(!WIFSIGNALED(status), "a lock that is here made a system call: signal %d", WTERMSIG(status));
	CHECK(WEXITSTATUS(status) != NO_SECCOMP, "a kernel without seccomp");
	CHECK(WEXITSTATUS(status) == GOOD, "a lock that is here was refused");
	must(dsm_close(d), "close");
	return 0;
}
