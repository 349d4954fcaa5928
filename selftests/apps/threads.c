// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The programs of userspace/apps without a region: the workers of all ranks are threads of one
 * process, with pthreads' barriers and locks. On the host, under ThreadSanitizer, this tells
 * whether a program orders all its accesses, which is what it needs on any memory of dsm.
 *
 * $DSM_SPOIL is "input N OFFSET", "result N OFFSET" or "checked N OFFSET": before the work, after it, or after the
 * program has looked at its result by itself and before it compares it with that of one thread, eight bytes at this
 * offset of the Nth piece of memory that the program asked for become what is no number, as two floats or as a double.
 * With a number behind it the double there grows by so much instead, or, if "float" or "int" follows, what is named.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../userspace/apps/memory.h"

#define LOCKS 4096u	/* keys that share one are only slower, as long as a worker holds one lock */

static pthread_barrier_t barrier;
static pthread_mutex_t locks[LOCKS];
static pthread_mutex_t flags_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flags_changed = PTHREAD_COND_INITIALIZER;
static bool *flags;
static unsigned int hints;	/* atomic; how often something was asked for */

#define PIECES 64

static struct {
	char *at;
	size_t bytes;
} piece[PIECES];
static unsigned int pieces;

static void (*worker_body)(const struct app_worker *w);

/* $DSM_RANKS is how many ranks there would be. */
void memory_open(const char *region, struct app_worker *first)
{
	const char *ranks = getenv("DSM_RANKS");

	(void)region;
	first->ranks = ranks ? (unsigned int)atoi(ranks) : 1;
}

void *memory_at(size_t offset, size_t bytes)
{
	void *at = app_private(1, bytes);

	(void)offset;
	if (pieces < PIECES) {
		piece[pieces].at = at;
		piece[pieces++].bytes = bytes;
	}
	return at;
}

static void grow(char *at, double more, const char *type)
{
	double d;
	float f;
	int i;

	if (!strcmp(type, "float")) {
		memcpy(&f, at, sizeof(f));
		f += (float)more;
		memcpy(at, &f, sizeof(f));
	} else if (!strcmp(type, "int")) {
		memcpy(&i, at, sizeof(i));
		i += (int)more;
		memcpy(at, &i, sizeof(i));
	} else {
		memcpy(&d, at, sizeof(d));
		d += more;
		memcpy(at, &d, sizeof(d));
	}
}

static void spoil(const char *when)
{
	static const uint64_t no_number = 0x7ff800007ff80000;
	const char *text = getenv("DSM_SPOIL");
	char word[16], type[16] = "double";
	unsigned int number;
	size_t offset;
	double more;
	int words;

	if (!text)
		return;
	words = sscanf(text, "%15s %u %zu %lf %15s", word, &number, &offset, &more, type);
	if (words < 3 || number >= pieces || offset + sizeof(no_number) > piece[number].bytes)
		app_die("DSM_SPOIL: '%s' is nowhere", text);
	if (strcmp(word, when))
		return;
	if (words > 3)
		grow(piece[number].at + offset, more, type);
	else
		memcpy(piece[number].at + offset, &no_number, sizeof(no_number));
}

/* app.c asks between both checks. */
bool memory_is_shared(void)
{
	spoil("checked");
	return true;
}

void memory_need(size_t bytes)
{
	(void)bytes;
}

void memory_hint(const void *at, size_t bytes, size_t stride, size_t rows)
{
	(void)at;
	(void)bytes;
	(void)stride;
	(void)rows;
	__atomic_add_fetch(&hints, 1, __ATOMIC_RELAXED);
}

static void *run_worker(void *w)
{
	worker_body(w);
	return NULL;
}

void memory_run(const struct app_worker *first, void (*body)(const struct app_worker *w))
{
	struct app_worker *workers = app_private(first->count, sizeof(*workers));
	pthread_t *threads = app_private(first->count, sizeof(*threads));
	unsigned int i;

	worker_body = body;
	pthread_barrier_init(&barrier, NULL, first->count);
	for (i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (i = 0; i < first->count; i++) {
		workers[i] = *first;
		workers[i].id = i;
		workers[i].rank = i / first->threads;
		workers[i].thread = i % first->threads;
		if (pthread_create(&threads[i], NULL, run_worker, &workers[i]))
			app_die("no thread");
	}
	for (i = 0; i < first->count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(workers);
	spoil("result");
}

void memory_roi_begin(const struct app_worker *w)
{
	if (!w->rank)
		spoil("input");
}

void memory_roi_end(const struct app_worker *w)
{
	(void)w;
}

void memory_roi_print(const char *name, unsigned int ranks)
{
	(void)ranks;
	printf("%s: counters: hints=%u\n", name, hints);
}

void memory_meet(const struct app_worker *first)
{
	(void)first;
}

void memory_close(void)
{
}

void app_barrier(const struct app_worker *w)
{
	if (!w->alone)
		pthread_barrier_wait(&barrier);
}

void app_lock(const struct app_worker *w, uint64_t key)
{
	if (!w->alone)
		pthread_mutex_lock(&locks[key % LOCKS]);
}

void app_unlock(const struct app_worker *w, uint64_t key)
{
	if (!w->alone)
		pthread_mutex_unlock(&locks[key % LOCKS]);
}

/* Called again for the reference, which uses none. */
void app_flags(size_t count)
{
	if (!flags)
		flags = calloc(count, sizeof(*flags));
}

void app_flag_set(const struct app_worker *w, size_t flag)
{
	if (w->alone)
		return;
	pthread_mutex_lock(&flags_lock);
	flags[flag] = true;
	pthread_cond_broadcast(&flags_changed);
	pthread_mutex_unlock(&flags_lock);
}

void app_flag_wait(const struct app_worker *w, size_t flag)
{
	if (w->alone)
		return;
	pthread_mutex_lock(&flags_lock);
	while (!flags[flag])
		pthread_cond_wait(&flags_changed, &flags_lock);
	pthread_mutex_unlock(&flags_lock);
}
