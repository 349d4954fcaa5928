// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * litmus REGION CONSISTENCY ROUNDS SEED: small programs on three nodes, of two threads each, again and again at changing
 * places, from changing copies and with changing delays. Counts what was seen. The first round that sees what is forbidden
 * is named; in the end any such round is a failure.
 *
 * CONSISTENCY is hlrc, cashmere or sc: what is forbidden. Rank 0 prints the outcomes of each test. Nothing here
 * orders a round's threads but what the tests themselves call; barriers lie before and after a series of 1 to SERIES
 * rounds only, which share pages or do not, each with bytes, locks, flags and barriers of its own.
 */
#include <time.h>

#include "litmus.h"

#define RANKS 3
#define BARRIER_KEY 1
#define SERIES 16
#define FLAGS 1000000		/* a key for each round: nobody clears them */
#define FLAGS_BACK (1ull << 40)
#define KEYS 1000		/* those of rounds: managers change with them */
#define PLACES 12		/* pages of a round's bytes; the first two are the reports' */
#define SLOTS 15		/* of 16 bytes, from which a round chooses on each page */
#define SLOTS_AT 128		/* below: bytes of locks */
#define FRESH 512		/* the first page that no round has used: that of the next chunk */
#define OUTCOMES 24

struct outcome {
	uint64_t values[LITMUS_VALUES];
	unsigned long times;
	bool forbidden;
};

/* Rounds between two barriers. */
struct series {
	long number, first;	/* the latter is a round */
	unsigned int count;
	struct round round[SERIES];
};

static struct dsm *d, *outside;
static unsigned char *base;
static enum consistency consistency;
static long rounds, number_of_round;	/* the latter counts over all tests */
static uint32_t first_seed;
static const struct litmus *test;
static struct outcome outcomes[OUTCOMES];
static unsigned int known;
static unsigned long forbidden;	/* rounds, of all tests */

/* The reports of a series: for each round what threads saw, then what each rank sees at the end. */
static volatile uint64_t *report(const struct series *s, unsigned int i)
{
	return (volatile uint64_t *)(base + (s->number & 1) * PAGE_BYTES) + i * LITMUS_VALUES * (1 + RANKS);
}

static volatile uint64_t *look_of(const struct series *s, unsigned int i, long rank)
{
	return report(s, i) + LITMUS_VALUES * (1 + rank);
}

static uint32_t seed_of(long round, uint32_t who)
{
	uint32_t seed = (first_seed + (uint32_t)round * 64 + who) * 2654435761u | 1;

	next_random(&seed);
	next_random(&seed);
	return seed;
}

static volatile uint8_t *slot_of(volatile uint8_t *page, unsigned int i, uint32_t *seed)
{
	return page + SLOTS_AT + (i * SLOTS + next_random(seed) % SLOTS) * 16;
}

/* The same at all threads: pages in the order of round @like, places within them by the round itself. */
static struct round lay_out(const struct series *s, unsigned int i, long like)
{
	volatile uint8_t *page[PLACES];
	long number = s->first + i;
	uint32_t seed = seed_of(number, 0), order = seed_of(like, 8), keys;
	unsigned int k, other;
	volatile uint8_t *swap;

	for (k = 0; k < PLACES; k++)
		page[k] = base + (2 + k) * PAGE_BYTES;
	for (k = PLACES - 1; k; k--) {
		other = next_random(&order) % (k + 1);
		swap = page[k];
		page[k] = page[other];
		page[other] = swap;
	}
	keys = next_random(&seed) % 8 * SERIES + i;
	return (struct round){
		.d = d,
		.x = slot_of(page[0], i, &seed),
		.y = slot_of(page[1], i, &seed),
		.p = slot_of(page[2], i, &seed),
		.l = { KEYS + keys, page[3] + 64 + i },
		.m = { 2 * KEYS + keys, page[4] + 64 + SERIES + i },
		.edge = base + (3 + number % (PLACES - 2)) * PAGE_BYTES - 4,
		.fresh = base + (FRESH + number) * PAGE_BYTES,
		.flag = FLAGS + (uint64_t)number,
		.back = FLAGS_BACK + (uint64_t)number,
		.barrier = 3 * KEYS + keys,
		.other = 4 * KEYS + keys,
		.outside = (volatile uint32_t *)dsm_base(outside) + number % 1024,
		.saw = report(s, i),
	};
}

/* The same at all threads. */
static void begin_series(struct series *s, long number, long first, long left)
{
	uint32_t seed = seed_of(first, 7);
	bool shared = next_random(&seed) % 2;
	unsigned int i;

	s->number = number;
	s->first = first;
	s->count = 1u << next_random(&seed) % 5;
	if (s->count > left)
		s->count = (unsigned int)left;
	for (i = 0; i < s->count; i++)
		s->round[i] = lay_out(s, i, shared ? first : first + i);
}

static void clear(const struct series *s)
{
	const struct round *r;
	unsigned int i, k;

	for (i = 0; i < s->count; i++) {
		r = &s->round[i];
		*r->x = 0;
		*r->y = 0;
		for (k = 0; k < 16; k++)
			r->p[k] = 0;
		for (k = 0; k < 8; k++)
			r->edge[k] = 0;
		*r->l.turn = 0;
		*r->m.turn = 0;
		*r->outside = 0;
		for (k = 0; k < LITMUS_VALUES * (1 + RANKS); k++)
			report(s, i)[k] = 0;
	}
}

static void delay(uint32_t *seed)
{
	volatile uint32_t left = next_random(seed) % 3 ? next_random(seed) % 3000 : 0;

	if (next_random(seed) % 8 == 0)
		left += next_random(seed) % 60000;
	while (left)
		left--;
}

/* Copies of some pages lie here before the test begins. */
static void share(const struct round *r, uint32_t *seed)
{
	if (next_random(seed) & 1)
		(void)*r->x;
	if (next_random(seed) & 1)
		(void)*r->y;
	if (next_random(seed) & 1)
		(void)*r->p;
}

static void play(const struct round *r, long round, long thread)
{
	uint32_t seed = seed_of(round, 1 + (uint32_t)(dsm_rank(d) * LITMUS_THREADS + thread));
	unsigned int i;

	for (i = 0; i < LITMUS_ROLES && test->role[i].play; i++) {
		/* Nodes take turns in being A. */
		if ((test->role[i].node + round) % RANKS != dsm_rank(d) || test->role[i].thread != thread)
			continue;
		share(r, &seed);
		delay(&seed);
		test->role[i].play(r);
	}
}

static void look(const struct series *s, unsigned int i)
{
	uint64_t values[LITMUS_VALUES] = { 0 };
	unsigned int k;

	test->look(&s->round[i], values);
	for (k = 0; k < test->looks; k++)
		look_of(s, i, dsm_rank(d))[k] = values[k];
}

static void print_values(FILE *to, const uint64_t *values)
{
	unsigned int i;

	for (i = 0; i < test->values + test->looks; i++)
		fprintf(to, "%s%lu", i ? "," : "", values[i]);
}

static struct outcome *count(const uint64_t *values)
{
	unsigned int i;

	for (i = 0; i < known && memcmp(outcomes[i].values, values, sizeof(outcomes[i].values)); i++)
		;
	CHECK(i < OUTCOMES, "%s: more than %d different outcomes", test->name, OUTCOMES);
	if (i == known)
		memcpy(outcomes[known++].values, values, sizeof(outcomes[i].values));
	outcomes[i].times++;
	return &outcomes[i];
}

/* Rank 0, thread 0: was that allowed? */
static void judge(const struct series *s, unsigned int i)
{
	uint64_t values[LITMUS_VALUES] = { 0 };
	long rank, round = s->first + i;
	struct outcome *seen;
	unsigned int k;

	for (k = 0; k < test->values; k++)
		values[k] = report(s, i)[k];
	for (k = 0; k < test->looks; k++) {
		values[test->values + k] = look_of(s, i, 0)[k];
		for (rank = 1; rank < RANKS; rank++)
			CHECK(look_of(s, i, rank)[k] == look_of(s, i, 0)[k],
			      "%s, round %ld, seed %u: value %u is %lu at node 0, %lu at rank %ld", test->name, round,
			      first_seed, k, look_of(s, i, 0)[k], look_of(s, i, rank)[k], rank);
	}
	seen = count(values);
	if (consistency < test->since || !test->bad(values))
		return;
	forbidden++;
	if (seen->forbidden)
		return;
	seen->forbidden = true;
	fprintf(stderr, "%s, round %ld, seed %u: forbidden outcome ", test->name, round, first_seed);
	print_values(stderr, values);
	fputc('\n', stderr);
}

static void meet(void)
{
	barrier(d, BARRIER_KEY, RANKS * LITMUS_THREADS);
}

static void *work(void *thread)
{
	bool first = !thread;
	unsigned int i;
	struct series s;
	long number, done;

	for (number = 0, done = 0; done < rounds; number++, done += s.count) {
		begin_series(&s, number, number_of_round + done, rounds - done);
		if (first && number % RANKS == dsm_rank(d))
			clear(&s);
		meet();
		for (i = 0; i < s.count; i++)
			play(&s.round[i], s.first + i, (long)thread);
		meet();
		if (test->look) {
			for (i = 0; first && i < s.count; i++)
				look(&s, i);
			meet();
		}
		for (i = 0; first && !dsm_rank(d) && i < s.count; i++)
			judge(&s, i);
	}
	return NULL;
}

static void print_outcomes(double ms)
{
	unsigned int i;

	printf("%-4s %ld rounds of %.1f ms:", test->name, rounds, ms / (double)rounds);
	for (i = 0; i < known; i++) {
		printf("  ");
		print_values(stdout, outcomes[i].values);
		printf(" x %lu%s", outcomes[i].times, outcomes[i].forbidden ? " FORBIDDEN" : "");
	}
	putchar('\n');
	fflush(stdout);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/*
 * A chunk is registered, and then read and written from elsewhere, once enough of its pages are in use at their home; the
 * few that all rounds share would not do.
 */
static void use_chunk(void)
{
	size_t page;

	for (page = 2 + PLACES; page < FRESH; page++)
		if ((long)page % RANKS == dsm_rank(d))
			base[page * PAGE_BYTES] = 1;
	barrier(d, BARRIER_KEY, RANKS);
}

static void play_all(const struct litmus *tests)
{
	double begun;

	for (test = tests; test->name; test++) {
		CHECK(dsm_size(d) >= (size_t)(FRESH + number_of_round + rounds) * PAGE_BYTES,
		      "%ld rounds do not fit into the region", rounds);
		known = 0;
		memset(outcomes, 0, sizeof(outcomes));
		begun = now_ms();
		run_threads(LITMUS_THREADS, work);
		number_of_round += rounds;
		if (!dsm_rank(d))
			print_outcomes(now_ms() - begun);
	}
}

static enum consistency consistency_of(const char *word)
{
	static const char * const words[] = { "hlrc", "cashmere", "sc" };
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (!strcmp(word, words[i]))
			return (enum consistency)i;
	fail("%s is not hlrc, cashmere or sc", word);
}

int main(int argc, char **argv)
{
	CHECK(argc == 5, "usage: litmus REGION hlrc|cashmere|sc ROUNDS SEED");
	consistency = consistency_of(argv[2]);
	rounds = number(argv[3], 1, 100000);
	first_seed = (uint32_t)number(argv[4], 0, 1000000);
	d = open_region(argv[1]);
	outside = open_region(NULL);
	CHECK(dsm_ranks(d) == RANKS, "litmus runs on %d ranks", RANKS);
	base = dsm_base(d);
	use_chunk();
	play_all(litmus_sync);
	play_all(litmus_races);
	CHECK(!forbidden, "%lu forbidden outcomes", forbidden);
	must(dsm_close(outside), "close");
	must(dsm_close(d), "close");
	return 0;
}
