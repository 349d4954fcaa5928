// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * own REGION: has a region with level=1, and a child that inherits its file, but neither its memory nor any use of it.
 *
 * The child stays after the parent has ended, with the file open, until it is killed; its number is the last line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <linux/dsm.h>

#include "common.h"

#define KEY 1u

static struct dsm *d;

#define REFUSED(call, with, what) do {								\
	errno = 0;										\
	CHECK((call) < 0 && errno == (with), "%s by a child: errno %d, not %d", what, errno, with);	\
} while (0)

static int map(void)
{
	return mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, dsm_fd(d), 0) == MAP_FAILED ? -1 : 0;
}

static void be_a_child(const char *region)
{
	struct dsm_ioc_lock lock = { .size = sizeof(lock), .key = KEY };
	struct dsm_ioc_plain plain = { .size = sizeof(plain) };
	unsigned char resident;
	char byte = 1, path[64];

	REFUSED(mincore(dsm_base(d), PAGE_BYTES, &resident), ENOMEM, "a look at the parent's mapping");
	REFUSED(map(), EPERM, "mmap");
	REFUSED(pread(dsm_fd(d), &byte, 1, 0), EPERM, "read");
	REFUSED(pwrite(dsm_fd(d), &byte, 1, 0), EPERM, "write");
	REFUSED(fsync(dsm_fd(d)), EPERM, "fsync");
	REFUSED(ioctl(dsm_fd(d), DSM_IOC_LOCK, &lock), EPERM, "a lock");
	REFUSED(ioctl(dsm_fd(d), DSM_IOC_ACQUIRE, &plain), EPERM, "an acquire");
	CHECK(dsm_trylock(d, KEY) == -EPERM, "the library's trylock by a child");
	snprintf(path, sizeof(path), "/dev/dsm-%s", region);
	REFUSED(open(path, O_RDONLY), EBUSY, "open");
}

/* Forks; the child ends, or stays for good. */
static pid_t child(const char *region, bool stays)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0, "fork: errno %d", errno);
	if (pid)
		return pid;
	if (!stays) {
		be_a_child(region);
		_exit(0);
	}
	/* The driver waits for the end of the parent's output, not of this process's. */
	fclose(stdout);
	fclose(stderr);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	volatile uint64_t *word;
	int status;
	pid_t pid;

	CHECK(argc == 2, "usage: own REGION");
	d = open_region(argv[1]);
	word = dsm_base(d);
	lock(d, KEY);
	++*word;
	pid = child(argv[1], false);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status), "the child failed");
	/* What the child was refused has taken nothing from the parent; another program may be started from here. */
	CHECK(!system("true"), "no program can be started");
	++*word;
	unlock(d, KEY);
	must(dsm_release(d), "release");
	printf("%d\n", child(argv[1], true));
	return 0;
}
