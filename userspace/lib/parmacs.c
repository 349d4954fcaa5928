// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The calls of the PARMACS macros (parmacs/dsm.m4). Rank 0 runs main(). The other ranks never
 * come there: they wait for commands, and run each worker that they are given as a thread.
 *
 * Every rank holds the lock HEAP_KEY_ALIVE + rank all its life. Rank 0 waits for those of the
 * others and they for that of rank 0, so that whoever ends or is lost ends the program on all
 * nodes. Never retries anything but a call that a signal interrupted: a program of this kind has no
 * place for errors.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "parmacs.h"

#define KEY_START HEAP_KEY_ALIVE	/* barrier: all ranks are there */
#define OTHERS_SECONDS 5		/* for the end of a program in the same region */
#define START_SECONDS 120		/* for all ranks to be there */

_Static_assert(sizeof(dsm_parmacs_cond) == sizeof(struct dsm_cond) &&
	       sizeof(dsm_parmacs_sem) == sizeof(struct dsm_sem), "the same by another name");

static struct dsm *d;
static const struct dsm_parmacs_program *program;
static struct parmacs_root *root;
static int rank, ranks;
static pid_t process;
static uint64_t published;		/* rank 0: commands since the start */
static uint64_t published_before_wait;	/* of these: by the last WAIT_FOR_END */
static uint64_t created;		/* rank 0: one by one since the last WAIT_FOR_END */
static bool started;			/* atomic; all ranks were there */
static bool waiting;			/* atomic; of rank 0: main() is in WAIT_FOR_END */
static bool ending;			/* atomic; of rank 0: the others may leave, of others: this one does */
static pthread_t watchers[PARMACS_RANKS_MAX];

/* Workers of this process that nobody has joined yet, by the thread that takes commands. */
static struct {
	pthread_t *thread;
	size_t used, room;
	size_t running;			/* atomic */
} jobs;

/* Blocks that G_MALLOC gave to this process. */
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	void **block;
	size_t used, room;
} blocks;

void dsm_parmacs_die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "parmacs: rank %d: ", rank);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	/* Not exit(): other threads are at work. */
	_exit(1);
}

static void must(int ret)
{
	if (ret)
		dsm_parmacs_die("%s", dsm_error());
}

static void *grown(void *array, size_t used, size_t *room, size_t bytes)
{
	if (used < *room)
		return array;
	*room = *room ? *room * 2 : 64;
	array = realloc(array, *room * bytes);
	if (!array)
		dsm_parmacs_die("no memory for %zu things of %zu bytes", *room, bytes);
	return array;
}

/* ---- locks, barriers, condition variables, semaphores ---- */

void dsm_parmacs_take_lock(uint64_t key)
{
	int ret;

	do {
		ret = dsm_lock(d, key);
	} while (ret == -EINTR);
	/* Of a program before: who watches the ranks ends this one when a holder of its own dies. */
	if (ret == -EOWNERDEAD)
		ret = dsm_lock_consistent(d, key);
	must(ret);
}

static void lock(dsm_parmacs_lock *l)
{
	dsm_parmacs_take_lock((uintptr_t)l);
}

static void unlock(dsm_parmacs_lock *l)
{
	must(dsm_unlock(d, (uintptr_t)l));
}

static void barrier(dsm_parmacs_barrier *b, unsigned int parties)
{
	must(dsm_barrier(d, (uintptr_t)b, parties));
}

static void cond_init(dsm_parmacs_cond *c)
{
	must(dsm_cond_init(d, (struct dsm_cond *)c));
}

/* Each process would wait at its own. */
static void must_be_shared(const void *at, const char *what)
{
	if (ranks == 1 || (uintptr_t)at - (uintptr_t)d->base < d->bytes || dsm_parmacs_statics_hold(at))
		return;
	dsm_parmacs_die("the %s at %p is not in shared memory: take it from G_MALLOC, or set DSM_STATICS=shared", what, at);
}

static void cond_wait(dsm_parmacs_cond *c, dsm_parmacs_lock *l)
{
	must_be_shared(c, "condition variable");
	must(dsm_cond_wait(d, (struct dsm_cond *)c, (uintptr_t)l));
}

static void cond_signal(dsm_parmacs_cond *c)
{
	must(dsm_cond_signal(d, (struct dsm_cond *)c));
}

static void cond_broadcast(dsm_parmacs_cond *c)
{
	must(dsm_cond_broadcast(d, (struct dsm_cond *)c));
}

/*
 * So many were refused as the counter is above the maximum; with the last of them it begins anew. The counter's
 * address is a lock and a barrier.
 */
static long get_sub(long *counter, long max, unsigned int parties)
{
	long sub;

	must_be_shared(counter, "counter");
	dsm_parmacs_take_lock((uintptr_t)counter);
	sub = *counter <= max ? *counter : -1;
	*counter = *counter == max + (long)parties ? 0 : *counter + 1;
	must(dsm_unlock(d, (uintptr_t)counter));
	if (sub < 0)
		must(dsm_barrier(d, (uintptr_t)counter, parties));
	return sub;
}

static void sem_init(dsm_parmacs_sem *s)
{
	must(dsm_sem_init(d, (struct dsm_sem *)s, 0));
}

static void sem_wait(dsm_parmacs_sem *s)
{
	must_be_shared(s, "semaphore");
	must(dsm_sem_wait(d, (struct dsm_sem *)s));
}

static void sem_post(dsm_parmacs_sem *s)
{
	must(dsm_sem_post(d, (struct dsm_sem *)s));
}

/* ---- memory ---- */

void *dsm_parmacs_take(size_t bytes)
{
	void *p = dsm_calloc(d, 1, bytes);

	if (!p)
		dsm_parmacs_die("%s", dsm_error());
	return p;
}

static void *g_malloc(size_t bytes)
{
	void *p = dsm_parmacs_take(bytes);

	pthread_mutex_lock(&blocks_lock);
	blocks.block = grown(blocks.block, blocks.used, &blocks.room, sizeof(*blocks.block));
	blocks.block[blocks.used++] = p;
	pthread_mutex_unlock(&blocks_lock);
	return p;
}

/* Another process's block stays until that one ends: it would be freed twice otherwise. */
static void g_free(void *p)
{
	size_t i;

	pthread_mutex_lock(&blocks_lock);
	for (i = blocks.used; i > 0 && blocks.block[i - 1] != p; i--)
		;
	if (i)
		blocks.block[i - 1] = blocks.block[--blocks.used];
	pthread_mutex_unlock(&blocks_lock);
	if (i)
		must(dsm_free(d, p));
}

/* The region outlives the program. */
static void free_blocks(void)
{
	while (blocks.used)
		must(dsm_free(d, blocks.block[--blocks.used]));
}

/* ---- time ---- */

static unsigned long clock_us(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return (unsigned long)now.tv_sec * 1000000ul + (unsigned long)now.tv_usec;
}

/* ---- workers ---- */

static void *run_job(void *function)
{
	((dsm_parmacs_function *)function)();
	__atomic_sub_fetch(&jobs.running, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Those of the workers that are this rank's. */
static void start_jobs(uint64_t function, uint64_t first, uint64_t last)
{
	uint64_t worker;
	int err;

	for (worker = first; worker <= last; worker++) {
		if (worker % (uint64_t)ranks != (uint64_t)rank)
			continue;
		jobs.thread = grown(jobs.thread, jobs.used, &jobs.room, sizeof(*jobs.thread));
		__atomic_add_fetch(&jobs.running, 1, __ATOMIC_RELAXED);
		err = pthread_create(&jobs.thread[jobs.used++], NULL, run_job,
				     (void *)(uintptr_t)function);
		if (err)
			dsm_parmacs_die("worker %" PRIu64 ": %s", worker, strerror(err));
	}
}

static void join_jobs(void)
{
	while (jobs.used)
		pthread_join(jobs.thread[--jobs.used], NULL);
}

/* ---- all ranks ---- */

/* Waits until a rank has ended. 0: in order. */
static int await_end(int other)
{
	uint64_t key = HEAP_KEY_ALIVE + (uint64_t)other;
	int ret;

	do {
		ret = dsm_lock(d, key);
	} while (ret == -EINTR);
	if (!ret || ret == -EOWNERDEAD)
		dsm_unlock(d, key);
	return ret;
}

static void *watch(void *number)
{
	int other = (int)(intptr_t)number;
	int ret = await_end(other);

	/* Rank 0 may end as soon as the others' locks are free, before they are gone themselves. */
	if (__atomic_load_n(&ending, __ATOMIC_ACQUIRE) && (rank || !ret))
		return NULL;
	if (ret && ret != -EOWNERDEAD)
		dsm_parmacs_die("%s", dsm_error());
	dsm_parmacs_die("rank %d has ended", other);
}

void dsm_parmacs_start_thread(pthread_t *thread, void *(*run)(void *), void *argument, const char *what)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		dsm_parmacs_die("a thread for %s: %s", what, strerror(err));
}

static void watch_rank(int other)
{
	dsm_parmacs_start_thread(&watchers[other], watch, (void *)(intptr_t)other, "another rank's end");
}

static void enter_region(void)
{
	uint64_t key = HEAP_KEY_ALIVE + (uint64_t)rank;
	const char *name = getenv("DSM_REGION");
	struct timespec until;
	int ret;

	d = dsm_open(name && *name ? name : "heap", DSM_CREATE);
	if (!d)
		dsm_parmacs_die("%s", dsm_error());
	if (!d->heap)
		dsm_parmacs_die("%s has no heap: dsmctl region create NAME SIZE heap=on", d->path);
	root = (struct parmacs_root *)((char *)d->base + HEAP_ROOT_OFFSET);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += OTHERS_SECONDS;
	do {
		ret = dsm_timedlock(d, key, &until);
	} while (ret == -EINTR);
	if (ret == -ETIMEDOUT)
		dsm_parmacs_die("another program of this kind uses %s; DSM_REGION names another region",
				d->path);
	if (ret == -EOWNERDEAD)
		ret = dsm_lock_consistent(d, key);
	must(ret);
}

static void prepare_root(void)
{
	int i;

	root->program_data = (uintptr_t)program->data;
	root->program_end = (uintptr_t)program->end;
	root->commands = (uintptr_t)dsm_parmacs_take(PARMACS_COMMANDS * sizeof(struct parmacs_command));
	root->roi = dsm_parmacs_roi_make(d, ranks);
	must(dsm_sem_init(d, &root->done, 0));
	for (i = 1; i < ranks; i++)
		must(dsm_sem_init(d, &root->posted[i], 0));
}

static struct parmacs_command *command(uint64_t number)
{
	return (struct parmacs_command *)(uintptr_t)root->commands + number % PARMACS_COMMANDS;
}

/* ---- rank 0 ---- */

static void publish(struct parmacs_command c)
{
	int i;

	if (ranks == 1)
		return;
	/* The last one is kept for the end. */
	if (published - published_before_wait >= PARMACS_COMMANDS - 1 && c.kind == PARMACS_CREATE)
		dsm_parmacs_die("more than %d times CREATE before WAIT_FOR_END", PARMACS_COMMANDS - 1);
	*command(published) = c;
	published++;
	for (i = 1; i < ranks; i++)
		must(dsm_sem_post(d, &root->posted[i]));
}

static void create(dsm_parmacs_function *function, long parties)
{
	struct parmacs_command c = { .kind = PARMACS_CREATE, .function = (uintptr_t)function };

	if (rank)
		dsm_parmacs_die("CREATE by a worker: only main() and what it calls can");
	if (parties < 0)
		dsm_parmacs_die("CREATE of %ld workers", parties);
	if (parties == 1)
		return;
	c.first = 1;
	c.last = (uint64_t)parties - 1;
	if (!parties)
		c.first = c.last = ++created;
	if (ranks > 1)
		c.statics = dsm_parmacs_statics_give(d, program);
	publish(c);
	start_jobs(c.function, c.first, c.last);
}

static void wait_for_end(void)
{
	int i;

	__atomic_store_n(&waiting, true, __ATOMIC_RELEASE);
	publish((struct parmacs_command){ .kind = PARMACS_WAIT });
	join_jobs();
	for (i = 1; i < ranks; i++)
		must(dsm_sem_wait(d, &root->done));
	__atomic_store_n(&waiting, false, __ATOMIC_RELEASE);
	published_before_wait = published;
	created = 0;
	if (ranks > 1)
		dsm_parmacs_statics_forget(d);
}

/* At exit(), wherever it is called; others leave whatever they do. */
static void leave(int status, void *unused)
{
	int i;

	(void)unused;
	/* A child that fork() made, and that has ended. */
	if (getpid() != process)
		return;
	fflush(stdout);
	/* The others wait for their workers, and hear of no end before these: they see that rank 0 is gone. */
	if (__atomic_load_n(&waiting, __ATOMIC_ACQUIRE)) {
		fprintf(stderr, "parmacs: rank 0: a worker called exit(%d) while main() waited for all\n", status);
		_exit(status ? status : 1);
	}
	__atomic_store_n(&ending, true, __ATOMIC_RELEASE);
	publish((struct parmacs_command){ .kind = PARMACS_END });
	for (i = 1; i < ranks; i++)
		pthread_join(watchers[i], NULL);
	if (ranks > 1) {
		dsm_parmacs_statics_forget(d);
		dsm_parmacs_statics_end(d);
		must(dsm_free(d, (void *)(uintptr_t)root->commands));
	}
	dsm_parmacs_roi_free();
	free_blocks();
	must(dsm_unlock(d, HEAP_KEY_ALIVE));
}

static _Noreturn void end(void)
{
	exit(0);
}

/* ---- the others ---- */

static _Noreturn void serve(void)
{
	uint64_t number;

	for (number = 0;; number++) {
		struct parmacs_command c;

		must(dsm_sem_wait(d, &root->posted[rank]));
		c = *command(number);
		switch (c.kind) {
		case PARMACS_CREATE:
			if (c.statics)
				dsm_parmacs_statics_take(d, program, (void *)(uintptr_t)c.statics,
							 __atomic_load_n(&jobs.running,
								     __ATOMIC_ACQUIRE));
			start_jobs(c.function, c.first, c.last);
			break;
		case PARMACS_WAIT:
			join_jobs();
			fflush(stdout);
			must(dsm_sem_post(d, &root->done));
			break;
		default:
			fflush(stdout);
			free_blocks();
			__atomic_store_n(&ending, true, __ATOMIC_RELEASE);
			must(dsm_unlock(d, HEAP_KEY_ALIVE + (uint64_t)rank));
			_exit(0);
		}
	}
}

/* ---- beginning ---- */

/* A rank that ended before it came here is missed by nobody: they wait for it at a barrier. */
static void *watch_start(void *unused)
{
	(void)unused;
	sleep(START_SECONDS);
	if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
		dsm_parmacs_die("not all of the %d ranks have come to %s within %d s", ranks, d->path, START_SECONDS);
	return NULL;
}

static void await_all(void)
{
	pthread_t watcher;

	dsm_parmacs_start_thread(&watcher, watch_start, NULL, "the other ranks' start");
	pthread_detach(watcher);
	must(dsm_barrier(d, KEY_START, (unsigned int)ranks));
	__atomic_store_n(&started, true, __ATOMIC_RELEASE);
}

static void join(void)
{
	int i;

	enter_region();
	process = getpid();
	if (!rank && on_exit(leave, NULL))
		dsm_parmacs_die("on_exit has no room");
	if (ranks == 1) {
		dsm_parmacs_roi_join(d, dsm_parmacs_roi_make(d, 1), 0, 1);
		return;
	}
	if (!rank)
		prepare_root();
	await_all();
	if (root->program_data != (uintptr_t)program->data ||
	    root->program_end != (uintptr_t)program->end)
		dsm_parmacs_die("this is not the program that rank 0 runs, or it is at another address");
	dsm_parmacs_roi_join(d, root->roi, rank, ranks);
	if (rank) {
		watch_rank(0);
		serve();
	}
	for (i = 1; i < ranks; i++)
		watch_rank(i);
}

static void start(const struct dsm_parmacs_program *p, char **argv)
{
	program = p;
	if (dsm_rank_from_env(&rank, &ranks))
		dsm_parmacs_die("%s", dsm_error());
	if (ranks > PARMACS_RANKS_MAX)
		dsm_parmacs_die("%d ranks: at most %d", ranks, PARMACS_RANKS_MAX);
	if (ranks == 1)
		return;
	dsm_parmacs_statics_fix(argv, program);
	join();
}

/* A program alone may end before it comes here without ever having been in a cluster. */
static void init(void)
{
	if (!d)
		join();
}

const struct dsm_parmacs_calls dsm_parmacs_calls = {
	.start = start,
	.init = init,
	.end = end,
	.create = create,
	.wait_for_end = wait_for_end,
	.lock = lock,
	.unlock = unlock,
	.barrier = barrier,
	.cond_init = cond_init,
	.cond_wait = cond_wait,
	.cond_signal = cond_signal,
	.cond_broadcast = cond_broadcast,
	.get_sub = get_sub,
	.sem_init = sem_init,
	.sem_wait = sem_wait,
	.sem_post = sem_post,
	.malloc = g_malloc,
	.free = g_free,
	.clock = clock_us,
	.roi_begin = dsm_parmacs_roi_begin,
	.roi_end = dsm_parmacs_roi_end,
};
