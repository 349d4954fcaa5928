// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * What the test programs share that call libdsm. Never decides what is right.
 */
#include <errno.h>

#include "common.h"

void must(int ret, const char *what)
{
	CHECK(!ret, "%s: %s (%s)", what, strerror(-ret), dsm_error());
}

struct dsm *open_region(const char *name)
{
	struct dsm *d = dsm_open(name, 0);

	CHECK(d, "%s", dsm_error());
	return d;
}

void lock(struct dsm *d, uint64_t key)
{
	int ret;

	do {
		ret = dsm_lock(d, key);
	} while (ret == -EINTR);
	must(ret, "lock");
}

void unlock(struct dsm *d, uint64_t key)
{
	must(dsm_unlock(d, key), "unlock");
}

void barrier(struct dsm *d, uint64_t key, unsigned int parties)
{
	must(dsm_barrier(d, key, parties), "barrier");
}

void run_threads(long count, void *(*work)(void *number))
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));
	long i;

	CHECK(threads, "no memory");
	for (i = 0; i < count; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, (void *)i), "no thread %ld", i);
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}
