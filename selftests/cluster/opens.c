// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * opens REGION: a thread that is cancelled while it opens a region, at the first line of standard input.
 *
 * It ends when it may be cancelled again, with the region open; what another thread opens then is the same handle, and
 * no lock of the library's is held by who has gone. Prints "opening TID", TID the kernel's number of the thread, and
 * "cancelled". Never waits for anything but the thread.
 */
#include "common.h"

#define KEY 1

static struct dsm *opened;

static void *opens(void *name)
{
	printf("opening %d\n", (int)gettid());
	opened = open_region(name);
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	struct dsm *d;
	void *end;

	CHECK(argc == 2, "usage: opens REGION");
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(!pthread_create(&thread, NULL, opens, argv[1]), "no thread");
	CHECK(getchar() != EOF, "nobody says when");
	CHECK(!pthread_cancel(thread), "the thread is gone");
	puts("cancelled");
	CHECK(!pthread_join(thread, &end) && end == PTHREAD_CANCELED, "the thread was not cancelled");
	CHECK(opened, "it was cancelled within the library");
	d = open_region(argv[1]);
	CHECK(d == opened, "a second handle");
	lock(d, KEY);
	unlock(d, KEY);
	must(dsm_close(d), "close");
	must(dsm_close(opened), "the other close");
	return 0;
}
