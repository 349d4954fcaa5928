/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the programs in this directory share: options, memory, workers, synchronisation, timing,
 * verification. Never knows what a program computes.
 *
 * A program describes itself in app_program. It is linked twice: with shared.c, where ranks times
 * threads workers compute in a region of dsm, and with -DAPP_PLAIN and plain.c as an ordinary
 * sequential program without libdsm, the baseline of all speedups. What a program shares it gets
 * from app_alloc() in its layout(), which every rank runs alike, so that all have the same
 * addresses.
 *
 * After the shared run, rank 0 does the same once more alone in private memory: layout(), tables(),
 * fill(), work() with one worker. Then same() compares, and right() looks at the result by itself.
 */
#ifndef APP_H
#define APP_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define APP_PAGE_BYTES 4096ul
#define APP_CACHE_LINE 64

enum app_size { APP_TINY, APP_SMALL, APP_PAPER, APP_SIZES };

/**
 * struct app_option - a number that the user may choose
 * @name:  as in --name
 * @what:  for --help
 * @value: where it goes
 * @min:   least value allowed
 * @max:   largest value allowed
 * @size:  its value for each --size
 */
struct app_option {
	const char *name;
	const char *what;
	long *value;
	long min, max;
	long size[APP_SIZES];
};

/**
 * struct app_worker - one of the threads that compute
 * @id:      0 to @count - 1; the workers of a rank have neighbouring numbers
 * @count:   all workers
 * @rank:    its process
 * @ranks:   all processes, usually one a node
 * @thread:  its number in its process
 * @threads: of each process
 * @alone:   it computes the reference in private memory
 */
struct app_worker {
	unsigned int id, count;
	unsigned int rank, ranks;
	unsigned int thread, threads;
	bool alone;
};

/**
 * struct app_program - what a program is
 * @name:     its name
 * @what:     one line for --help
 * @options:  its numbers; the last has no name
 * @state:    the program's pointers and whatever else layout() sets
 * @state_bytes: their size
 * @agrees:   what is known of a result that passed, in words
 * @check:    NULL, or the reason why the options do not fit together; @workers will compute
 * @layout:   gets all memory and sets @state; no work yet, the memory may prove too small
 * @tables:   NULL, or makes what each process has for itself
 * @fill:     makes the input; each worker its part; not timed
 * @work:     the computation, timed
 * @right:    looks at the result of @state; NULL, or what is wrong with it
 * @same:     compares @state (of one worker alone) with another's; NULL, or the difference. A program
 *            whose right() is enough has none
 * @sum:      a checksum of the whole result, the same for any number of workers, by app_sum()
 * @mean:     in place of @sum, where the order of work changes the last digits: a number of which every
 *            part of the result is a part, and in @within how far apart two good runs may be
 * @tell:     NULL, or what to print of the result, as NAME=VALUE with spaces between
 */
struct app_program {
	const char *name;
	const char *what;
	const struct app_option *options;
	void *state;
	size_t state_bytes;
	const char *agrees;
	const char *(*check)(unsigned int workers);
	void (*layout)(void);
	void (*tables)(void);
	void (*fill)(const struct app_worker *w);
	void (*work)(const struct app_worker *w);
	const char *(*right)(void);
	const char *(*same)(const void *shared);
	uint64_t (*sum)(void);
	double (*mean)(double *within);
	const char *(*tell)(void);
};

extern const struct app_program app_program;

/* Ends the program with a line on stderr. */
_Noreturn void app_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Likewise for wrong arguments, which --help tells more of. */
_Noreturn void app_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A line for check(), right(), same() and tell() to return; valid until the next call. */
const char *app_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* From layout() on: this process prints the result. */
bool app_is_first(void);

/* In layout() only: memory for @count things of @bytes each, from a new page on; never cleared. */
void *app_alloc(size_t count, size_t bytes);
/* Memory of this worker alone; ends the program if there is none. */
void *app_private(size_t count, size_t bytes);

/* Part @id of @count equal parts of @total things: [*@first, *@end). */
void app_share(size_t total, unsigned int id, unsigned int count, size_t *first, size_t *end);

/*
 * This worker will soon read @bytes from @at on, which others have written before what it last waited for. Without
 * --hints it will find out itself.
 */
void app_hint(const struct app_worker *w, const void *at, size_t bytes);
/* The same of each of @rows, the first at @at, each @stride bytes behind the one before. */
void app_hint_rows(const struct app_worker *w, const void *at, size_t bytes, size_t stride, size_t rows);

/*
 * Says how far fill() or work() is (@total 0: nobody knows), every some seconds; any worker may call it,
 * the first one's words count. @w NULL: right(), which has no worker.
 */
void app_progress(const struct app_worker *w, long done, long total);
#define APP_INPUT_STEP 4096ul	/* who makes small things calls it after so many */

/* Number @i of sequence @seed, always the same: 64 bits, or evenly from [0, 1). */
uint64_t app_random_bits(uint64_t seed, uint64_t i);
double app_random(uint64_t seed, uint64_t i);

/* |@a - @b| relative to the larger of both and @scale. */
double app_distance(double a, double b, double scale);

/* The larger of @worst and |@value|. What is no number stays, unlike with fmax(), and is within no bound. */
static inline double app_worst(double worst, double value)
{
	if (isnan(worst) || fabs(value) <= worst)
		return worst;
	return fabs(value);
}

/* Checksum @sum of what came before, with @bytes more from @at on; begin with 0. */
uint64_t app_sum(uint64_t sum, const void *at, size_t bytes);

#ifdef APP_PLAIN

static inline void app_barrier(const struct app_worker *w)
{
	(void)w;
}

static inline void app_lock(const struct app_worker *w, uint64_t key)
{
	(void)w;
	(void)key;
}

static inline void app_unlock(const struct app_worker *w, uint64_t key)
{
	(void)w;
	(void)key;
}

static inline void app_flags(size_t count)
{
	(void)count;
}

static inline void app_flag_set(const struct app_worker *w, size_t flag)
{
	(void)w;
	(void)flag;
}

static inline void app_flag_wait(const struct app_worker *w, size_t flag)
{
	(void)w;
	(void)flag;
}

#else

/* All workers have come here, and each sees what the others wrote before. */
void app_barrier(const struct app_worker *w);
void app_lock(const struct app_worker *w, uint64_t key);
void app_unlock(const struct app_worker *w, uint64_t key);
/* In layout(): the program uses flags 0 to @count - 1; none is set when work() begins. */
void app_flags(size_t count);
/* Once in a run for each flag. */
void app_flag_set(const struct app_worker *w, size_t flag);
void app_flag_wait(const struct app_worker *w, size_t flag);

#endif

#endif
