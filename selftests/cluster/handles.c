// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * handles REGION NEW: what dsm_open() and calls on its handle refuse, and with which errno, as their manual pages say.
 *
 * REGION is there and has a heap, NEW is not there and is made. With "alone" in place of both: the node is in no cluster.
 */
#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "common.h"

static void refused(const char *name, unsigned int flags, int err)
{
	struct dsm *d = dsm_open(name, flags);

	CHECK(!d, "dsm_open(%s, %u) succeeds", name ?: "NULL", flags);
	CHECK(errno == err, "dsm_open(%s, %u): %s, not %s: %s", name ?: "NULL", flags, strerrorname_np(errno),
	      strerrorname_np(err), dsm_error());
	CHECK(*dsm_error(), "no words about it");
}

static void gives(int ret, int err, const char *what)
{
	CHECK(ret == -err, "%s: %d, not -%s", what, ret, strerrorname_np(err));
}

static void in_no_cluster(void)
{
	refused(NULL, 0, ENOTCONN);
	refused("heap", 0, ENOTCONN);
	refused("heap", DSM_CREATE, ENOTCONN);
}

static void names_and_flags(const char *there)
{
	refused("not-there", 0, ENOENT);
	refused("a/b", DSM_CREATE, EINVAL);
	refused("", 0, EINVAL);
	refused("a-name-of-more-than-thirty-one-bytes", DSM_CREATE, EINVAL);
	refused(there, 1u << 30, EINVAL);
}

static void ranks(const char *there)
{
	static const char *const wrong[][2] = { { "3", "2" }, { "x", "2" }, { "1", NULL }, { NULL, "2" } };
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		unsetenv("DSM_RANK");
		unsetenv("DSM_RANKS");
		if (wrong[i][0])
			setenv("DSM_RANK", wrong[i][0], 1);
		if (wrong[i][1])
			setenv("DSM_RANKS", wrong[i][1], 1);
		refused(there, 0, EINVAL);
	}
	unsetenv("DSM_RANKS");
	setenv("PMIX_RANK", "0", 1);
	refused(there, 0, EINVAL);
	unsetenv("PMIX_RANK");
	setenv("DSM_LOCAL_NODE", "8", 1);
	refused(there, 0, EINVAL);
	setenv("DSM_LOCAL_NODE", "7", 1);
	refused(there, 0, ENOENT);
	unsetenv("DSM_LOCAL_NODE");
}

/* One handle of a region and access, and its times. */
static void *handles(const char *there)
{
	const struct timespec never = { .tv_nsec = 1000000000 };
	struct dsm *d = open_region(there);
	void *base = dsm_base(d);

	CHECK(dsm_open(there, 0) == d, "a second handle");
	refused(there, DSM_RDONLY, EBUSY);
	must(dsm_close(d), "close");
	gives(dsm_timedlock(d, 1, &never), EINVAL, "a time that is none");
	gives(dsm_timedlock(d, 1, NULL), EINVAL, "no time");
	gives(dsm_lock_consistent(d, 1), EPERM, "a lock that is not held");
	must(dsm_close(d), "the other close");
	must(dsm_close(NULL), "close of nothing");
	return base;
}

static void for_reading(const char *there)
{
	struct dsm *d = dsm_open(there, DSM_RDONLY);

	CHECK(d, "%s", dsm_error());
	CHECK(!dsm_malloc(d, 1) && errno == EACCES, "memory of a region that is open for reading only: %s", dsm_error());
	gives(dsm_roi_begin(d, 1), EACCES, "a region of interest without a word to write");
	CHECK(mprotect(dsm_base(d), 4096, PROT_READ | PROT_WRITE) && errno == EACCES, "it can be written");
	refused(there, 0, EBUSY);
	must(dsm_close(d), "close");
}

static void in_the_way(const char *there, void *base)
{
	void *p = mmap(base, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(p == base, "nothing can be mapped at %p", base);
	refused(there, 0, EEXIST);
	CHECK(strstr(dsm_error(), "addr="), "what to do about it: %s", dsm_error());
	munmap(p, 4096);
}

static void made(const char *name)
{
	struct dsm *d = dsm_open(name, DSM_CREATE);
	char *p;

	CHECK(d, "%s", dsm_error());
	CHECK(dsm_size(d) == 1ul << 30, "it has %zu bytes", dsm_size(d));
	p = dsm_malloc(d, 100);
	CHECK(p && p > (char *)dsm_base(d), "its heap: %s", dsm_error());
	p[99] = 1;
	must(dsm_free(d, p), "free");
	CHECK(!dsm_malloc(d, 1ul << 31) && errno == ENOMEM, "more than there is");
	CHECK(strstr(dsm_error(), "region create"), "what to do about it: %s", dsm_error());
	must(dsm_close(d), "close");
	/* That it is there by now is no error. */
	d = dsm_open(name, DSM_CREATE);
	CHECK(d, "%s", dsm_error());
	must(dsm_close(d), "close");
}

int main(int argc, char **argv)
{
	void *base;

	if (argc == 2 && !strcmp(argv[1], "alone")) {
		in_no_cluster();
		return 0;
	}
	CHECK(argc == 3, "usage: handles REGION NEW | alone");
	names_and_flags(argv[1]);
	ranks(argv[1]);
	base = handles(argv[1]);
	for_reading(argv[1]);
	in_the_way(argv[1], base);
	made(argv[2]);
	return 0;
}
