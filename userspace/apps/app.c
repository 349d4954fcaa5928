// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The frame of every program in this directory: options, the order of a run, verification, the
 * line with the result. See app.h.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app.h"
#include "memory.h"

#define THREADS_MAX 64
#define OPTIONS_MAX 16	/* of a program */

static const char *const size_names[APP_SIZES] = { "tiny", "small", "paper" };

static const struct app_program *const program = &app_program;
static struct app_worker first = { .count = 1, .ranks = 1, .threads = 1 };
static const char *region;
static bool no_verify, no_check;
static long space_workers;	/* asked for: how much memory do so many need */
static long progress_s = 5;	/* between lines about it */
static long hints = 1;		/* 0: app_hint() asks for nothing */

static size_t shared_bytes;	/* asked for in layout() */
static bool alone;		/* the reference is being computed */
static bool filling;		/* by the first worker */
static double time_s;		/* of the shared run */
static uint64_t sum;		/* of its result, or mean and within */
static double mean, within;

void app_die(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

const char *app_text(const char *fmt, ...)
{
	static char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return text;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool app_is_first(void)
{
	return !first.rank;
}

void *app_private(size_t count, size_t bytes)
{
	void *p;

	if (__builtin_mul_overflow(count, bytes, &bytes) || bytes > SIZE_MAX / 2)
		app_die("this is too large for any machine");
	bytes = (bytes + APP_PAGE_BYTES) / APP_PAGE_BYTES * APP_PAGE_BYTES;
	p = aligned_alloc(APP_PAGE_BYTES, bytes);
	if (!p)
		app_die("no memory for %zu bytes", bytes);
	return p;
}

void *app_alloc(size_t count, size_t bytes)
{
	size_t at = shared_bytes;

	if (alone)
		return app_private(count, bytes);
	if (__builtin_mul_overflow(count, bytes, &bytes) || bytes > SIZE_MAX / 4 - at)
		app_die("this is too large for any machine");
	bytes = (bytes + APP_PAGE_BYTES - 1) / APP_PAGE_BYTES * APP_PAGE_BYTES;
	shared_bytes += bytes;
	return memory_at(at, bytes);
}

void app_share(size_t total, unsigned int id, unsigned int count, size_t *begin, size_t *end)
{
	*begin = total * id / count;
	*end = total * (id + 1) / count;
}

void app_hint(const struct app_worker *w, const void *at, size_t bytes)
{
	app_hint_rows(w, at, bytes, 0, 1);
}

void app_hint_rows(const struct app_worker *w, const void *at, size_t bytes, size_t stride, size_t rows)
{
	if (hints && !w->alone)
		memory_hint(at, bytes, stride, rows);
}

void app_progress(const struct app_worker *w, long done, long total)
{
	static double last_s;
	double now;

	if (w && w->id)
		return;
	now = now_s();
	if (last_s == 0)
		last_s = now;
	if (now - last_s < (double)progress_s)
		return;
	last_s = now;
	fprintf(stderr, "%s: %s%s%ld", program->name, !w || w->alone ? "verifying, " : "",
		filling ? "input, " : "", done);
	if (total)
		fprintf(stderr, " of %ld", total);
	fputs(" done\n", stderr);
}

/*
 * A counter, well mixed: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014. Each worker makes its part of the input.
 */
uint64_t app_random_bits(uint64_t seed, uint64_t i)
{
	uint64_t z = (seed << 40) + (i + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

double app_random(uint64_t seed, uint64_t i)
{
	return (double)(app_random_bits(seed, i) >> 11) * 0x1p-53;
}

double app_distance(double a, double b, double scale)
{
	return fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), scale);
}

uint64_t app_sum(uint64_t before, const void *at, size_t bytes)
{
	const unsigned char *from = at;
	uint64_t word;
	size_t i, count;

	for (i = 0; i < bytes; i += count) {
		count = bytes - i < sizeof(word) ? bytes - i : sizeof(word);
		word = 0;
		memcpy(&word, from + i, count);
		/* Both steps can be undone, so that one word that differs is seen for certain. */
		before = (before ^ word) * 0x9e3779b97f4a7c15ull;
		before ^= before >> 29;
	}
	return before;
}

static void print_help(void)
{
	const struct app_option *o;

	printf("usage: %s [OPTION...]\n\n%s\n\n", program->name, program->what);
	printf("  --size SIZE        tiny (default), small or paper\n");
	for (o = program->options; o->name; o++)
		printf("  --%-12s N   %s; %ld to %ld (%ld, %ld, %ld)\n", o->name, o->what, o->min, o->max,
		       o->size[APP_TINY], o->size[APP_SMALL], o->size[APP_PAPER]);
	printf("  -t THREADS         of each process, 1 to %d\n"
	       "  -r REGION          region, else $DSM_REGION, else the default one\n"
	       "  --no-verify        do not compute the result again in one thread\n"
	       "  --no-check         nor look at it in any way: for runs that are compared by their sums\n"
	       "  --space WORKERS    print how many bytes of shared memory so many need, and end\n"
	       "  --progress     N   seconds between lines that say how far it is, 0: at each step (5)\n"
	       "  --hints        N   1: it asks ahead for what it will read, 0: it does not (1)\n"
	       "  --help             this text\n\n"
	       "In brackets: the values of the three sizes.\n", THREADS_MAX);
}

void app_usage(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "; --help tells more\n");
	exit(2);
}

static long number(const char *name, const char *text, long min, long max)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		app_usage("%s: '%s' is no number from %ld to %ld", name, text, min, max);
	return v;
}

static enum app_size size_by_name(const char *name)
{
	int i;

	for (i = 0; i < APP_SIZES; i++)
		if (!strcmp(name, size_names[i]))
			return (enum app_size)i;
	app_usage("--size: '%s' is none of tiny, small, paper", name);
}

/* Sizes first, whatever the order of the words: what is given explicitly holds over them. */
static void parse(int argc, char **argv)
{
	enum { SIZE = 256, NO_VERIFY, NO_CHECK, SPACE, PROGRESS, HINTS, HELP, OWN, FRAMES = OWN - SIZE };
	struct option words[FRAMES + OPTIONS_MAX + 1] = {
		{ "size", required_argument, NULL, SIZE },
		{ "no-verify", no_argument, NULL, NO_VERIFY },
		{ "no-check", no_argument, NULL, NO_CHECK },
		{ "space", required_argument, NULL, SPACE },
		{ "progress", required_argument, NULL, PROGRESS },
		{ "hints", required_argument, NULL, HINTS },
		{ "help", no_argument, NULL, HELP },
	};
	bool given[OPTIONS_MAX] = { false };
	const struct app_option *o = program->options;
	enum app_size size = APP_TINY;
	int opt, i, count;

	for (count = 0; o[count].name; count++)
		words[FRAMES + count] = (struct option){ o[count].name, required_argument, NULL, OWN + count };
	region = getenv("DSM_REGION");
	while ((opt = getopt_long(argc, argv, "t:r:h", words, NULL)) != -1) {
		if (opt == SIZE) {
			size = size_by_name(optarg);
		} else if (opt == NO_VERIFY) {
			no_verify = true;
		} else if (opt == NO_CHECK) {
			no_verify = true;
			no_check = true;
		} else if (opt == SPACE) {
			space_workers = number("--space", optarg, 1, 4096);
		} else if (opt == PROGRESS) {
			progress_s = number("--progress", optarg, 0, 1000000);
		} else if (opt == HINTS) {
			hints = number("--hints", optarg, 0, 1);
		} else if (opt == HELP || opt == 'h') {
			print_help();
			exit(0);
		} else if (opt == 't') {
			first.threads = (unsigned int)number("-t", optarg, 1, THREADS_MAX);
		} else if (opt == 'r') {
			region = optarg;
		} else if (opt >= OWN) {
			i = opt - OWN;
			*o[i].value = number(o[i].name, optarg, o[i].min, o[i].max);
			given[i] = true;
		} else {
			exit(2);
		}
	}
	if (optind < argc)
		app_usage("'%s' is too much", argv[optind]);
	for (i = 0; i < count; i++)
		if (!given[i])
			*o[i].value = o[i].size[size];
}

static void check(unsigned int workers)
{
	const char *wrong = program->check ? program->check(workers) : NULL;

	if (wrong)
		app_usage("%s", wrong);
}

static void make_tables(void)
{
	if (program->tables)
		program->tables();
}

static void fill(const struct app_worker *w)
{
	if (!w->id)
		filling = true;
	program->fill(w);
	if (!w->id)
		filling = false;
}

static void run_shared(const struct app_worker *w)
{
	double start_s;

	fill(w);
	app_barrier(w);
	if (!w->thread)
		memory_roi_begin(w);
	app_barrier(w);
	start_s = now_s();
	program->work(w);
	app_barrier(w);
	if (!w->id)
		time_s = now_s() - start_s;
	if (!w->thread)
		memory_roi_end(w);
	app_barrier(w);
}

/* One worker in private memory; leaves its result in the program's state. */
static void run_alone(void)
{
	static const struct app_worker w = { .count = 1, .ranks = 1, .threads = 1, .alone = true };

	alone = true;
	program->layout();
	make_tables();
	fill(&w);
	program->work(&w);
}

static void sum_up(void)
{
	if (program->sum)
		sum = program->sum();
	else
		mean = program->mean(&within);
}

/* With the page that each of so many ranks has in shared.c. */
static void print_space(void)
{
	first.count = (unsigned int)space_workers;
	first.ranks = first.count;
	check(first.count);
	program->layout();
	printf("%zu\n", shared_bytes + (size_t)space_workers * APP_PAGE_BYTES);
}

static const char *verify(void)
{
	void *shared = app_private(1, program->state_bytes);
	const char *wrong = program->right && !no_check ? program->right() : NULL;

	if (!wrong && !no_verify && memory_is_shared() && program->same) {
		if ((double)progress_s <= time_s)
			fprintf(stderr, "%s: computed in %.3f s; verifying in one thread\n", program->name, time_s);
		memcpy(shared, program->state, program->state_bytes);
		run_alone();
		wrong = program->same(shared);
	}
	free(shared);
	return wrong;
}

static void print_result(const char *wrong)
{
	const struct app_option *o;
	const char *how = program->right && !no_check ? "right by itself" : "not verified";

	if (!no_check && (!program->same || (memory_is_shared() && !no_verify)))
		how = program->agrees;
	printf("%s:", program->name);
	for (o = program->options; o->name; o++)
		printf(" %s=%ld", o->name, *o->value);
	printf(" hints=%ld ranks=%u threads=%u time_s=%.6f", hints, first.ranks, first.threads, time_s);
	if (program->sum)
		printf(" sum=%016llx", (unsigned long long)sum);
	else
		printf(" mean=%.15g within=%g", mean, within);
	if (program->tell && !wrong)
		printf(" %s", program->tell());
	printf(": %s%s\n", wrong ? "WRONG, " : "", wrong ? wrong : how);
}

int main(int argc, char **argv)
{
	const char *wrong;
	int status = 0;

	parse(argc, argv);
	if (space_workers) {
		print_space();
		return 0;
	}
	check(first.threads);
	memory_open(region, &first);
	first.count = first.ranks * first.threads;
	first.id = first.rank * first.threads;
	check(first.count);
	program->layout();
	memory_need(shared_bytes);
	make_tables();
	memory_run(&first, run_shared);
	/* What follows may take long, or fail for want of memory: the others do not wait for it. */
	memory_meet(&first);
	if (!first.rank) {
		sum_up();
		wrong = verify();
		print_result(wrong);
		memory_roi_print(program->name, first.ranks);
		status = wrong ? 1 : 0;
		if (fflush(stdout) || ferror(stdout)) {
			fprintf(stderr, "%s: not all of the result could be written\n", program->name);
			status = 1;
		}
	}
	memory_close();
	return status;
}
