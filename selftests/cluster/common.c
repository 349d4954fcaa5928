// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * What the test programs share. Never decides what is right.
 */
#include <errno.h>
#include <stdarg.h>

#include "common.h"

void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("failed: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	/* Not exit(): other threads may be inside the library. */
	fflush(NULL);
	_exit(1);
}

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

long number(const char *text, long least, long most)
{
	char *end;
	long value;

	CHECK(text, "an argument is missing");
	errno = 0;
	value = strtol(text, &end, 0);
	CHECK(!errno && end != text && !*end && value >= least && value <= most,
	      "%s is no number from %ld to %ld", text, least, most);
	return value;
}

uint32_t next_random(uint32_t *state)
{
	/* xorshift32; the state is never 0. */
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
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
