// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * litmus REGION CONSISTENCY ROUNDS SEED: small programs on three nodes, of two threads each, again and again at changing
 * places, from changing copies and with changing delays. Counts what was seen; a forbidden outcome is a failure.
 *
 * CONSISTENCY is hlrc, cashmere or sc: what is forbidden. Rank 0 prints the outcomes of each test. Nothing here
 * orders a round's threads but what the test itself calls; barriers lie before and after it only.
 */
#include "litmus.h"

#define RANKS 3
#define BARRIER_KEY 1
#define KEYS 1000		/* those of rounds: managers change with them */
#define PLACES 12		/* pages of a round's bytes; the first two are the reports' */
#define FRESH 16		/* the first page that no round has used */
#define OUTCOMES 24

struct outcome {
	uint64_t values[LITMUS_VALUES];
	unsigned long times;
};

static struct dsm *d, *outside;
static unsigned char *base;
static enum consistency consistency;
static long rounds, number_of_round;	/* the latter counts over all tests */
static uint32_t first_seed;
static const struct litmus *test;
static struct outcome outcomes[OUTCOMES];
static unsigned int known;

/* The reports of a round: what threads saw, then what each rank sees at the end. */
static volatile uint64_t *report(long round)
{
	return (volatile uint64_t *)(base + (round & 1) * PAGE_BYTES);
}

static volatile uint64_t *look_of(long round, long rank)
{
	return report(round) + LITMUS_VALUES * (1 + rank);
}

static uint32_t seed_of(long round, uint32_t who)
{
	uint32_t seed = (first_seed + (uint32_t)round * 64 + who) * 2654435761u | 1;

	next_random(&seed);
	next_random(&seed);
	return seed;
}

/* The same at all threads: pages in another order each time, places within them. */
static struct round lay_out(long round)
{
	volatile uint8_t *page[PLACES];
	uint32_t seed = seed_of(round, 0);
	unsigned int i, other;
	volatile uint8_t *swap;

	for (i = 0; i < PLACES; i++)
		page[i] = base + (2 + i) * PAGE_BYTES;
	for (i = PLACES - 1; i; i--) {
		other = next_random(&seed) % (i + 1);
		swap = page[i];
		page[i] = page[other];
		page[other] = swap;
	}
	return (struct round){
		.d = d,
		.x = page[0] + next_random(&seed) % (PAGE_BYTES - 16) / 16 * 16,
		.y = page[1] + next_random(&seed) % (PAGE_BYTES - 16) / 16 * 16,
		.p = page[2] + next_random(&seed) % (PAGE_BYTES - 16) / 16 * 16,
		.l = { KEYS + next_random(&seed) % 64, page[3] + 64 },
		.m = { 2 * KEYS + next_random(&seed) % 64, page[4] + 64 },
		.edge = base + (3 + next_random(&seed) % (PLACES - 2)) * PAGE_BYTES - 4,
		.fresh = base + (FRESH + round) * PAGE_BYTES,
		.flag = 3 * KEYS + next_random(&seed) % 64,
		.barrier = 4 * KEYS + next_random(&seed) % 64,
		.outside = (volatile uint32_t *)dsm_base(outside) + round % 1024,
		.saw = report(round),
	};
}

static void clear(const struct round *r, long round)
{
	unsigned int i;

	*r->x = 0;
	*r->y = 0;
	for (i = 0; i < 16; i++)
		r->p[i] = 0;
	for (i = 0; i < 8; i++)
		r->edge[i] = 0;
	*r->l.turn = 0;
	*r->m.turn = 0;
	*r->outside = 0;
	for (i = 0; i < LITMUS_VALUES * (1 + RANKS); i++)
		report(round)[i] = 0;
	must(dsm_flag_clear(d, r->flag), "flag clear");
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

static void look(const struct round *r, long round)
{
	uint64_t values[LITMUS_VALUES] = { 0 };
	unsigned int i;

	test->look(r, values);
	for (i = 0; i < test->looks; i++)
		look_of(round, dsm_rank(d))[i] = values[i];
}

static void print_values(FILE *to, const uint64_t *values)
{
	unsigned int i;

	for (i = 0; i < test->values + test->looks; i++)
		fprintf(to, "%s%lu", i ? "," : "", values[i]);
}

static void count(const uint64_t *values)
{
	unsigned int i;

	for (i = 0; i < known && memcmp(outcomes[i].values, values, sizeof(outcomes[i].values)); i++)
		;
	CHECK(i < OUTCOMES, "%s: more than %d different outcomes", test->name, OUTCOMES);
	if (i == known)
		memcpy(outcomes[known++].values, values, sizeof(outcomes[i].values));
	outcomes[i].times++;
}

/* Rank 0, thread 0: was that allowed? */
static void judge(long round)
{
	uint64_t values[LITMUS_VALUES] = { 0 };
	unsigned int i;
	long rank;

	for (i = 0; i < test->values; i++)
		values[i] = report(round)[i];
	for (i = 0; i < test->looks; i++) {
		values[test->values + i] = look_of(round, 0)[i];
		for (rank = 1; rank < RANKS; rank++)
			CHECK(look_of(round, rank)[i] == look_of(round, 0)[i],
			      "%s, round %ld, seed %u: value %u is %lu at node 0, %lu at rank %ld", test->name, round,
			      first_seed, i, look_of(round, 0)[i], look_of(round, rank)[i], rank);
	}
	count(values);
	if (consistency < test->since || !test->bad(values))
		return;
	fprintf(stderr, "%s, round %ld, seed %u: forbidden outcome ", test->name, round, first_seed);
	print_values(stderr, values);
	fail(" of %s", test->name);
}

static void meet(void)
{
	barrier(d, BARRIER_KEY, RANKS * LITMUS_THREADS);
}

static void *work(void *thread)
{
	bool first = !thread;
	struct round r;
	long i, round;

	for (i = 0; i < rounds; i++) {
		round = number_of_round + i;
		r = lay_out(round);
		if (first && round % RANKS == dsm_rank(d))
			clear(&r, round);
		meet();
		play(&r, round, (long)thread);
		meet();
		if (test->look) {
			if (first)
				look(&r, round);
			meet();
		}
		if (first && !dsm_rank(d))
			judge(round);
	}
	return NULL;
}

static void print_outcomes(void)
{
	unsigned int i;

	printf("%-4s %ld rounds:", test->name, rounds);
	for (i = 0; i < known; i++) {
		printf("  ");
		print_values(stdout, outcomes[i].values);
		printf(" x %lu", outcomes[i].times);
	}
	putchar('\n');
	fflush(stdout);
}

static void play_all(const struct litmus *tests)
{
	for (test = tests; test->name; test++) {
		CHECK(dsm_size(d) >= (size_t)(FRESH + number_of_round + rounds) * PAGE_BYTES,
		      "%ld rounds do not fit into the region", rounds);
		known = 0;
		memset(outcomes, 0, sizeof(outcomes));
		run_threads(LITMUS_THREADS, work);
		number_of_round += rounds;
		if (!dsm_rank(d))
			print_outcomes();
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
	play_all(litmus_sync);
	play_all(litmus_races);
	must(dsm_close(outside), "close");
	must(dsm_close(d), "close");
	return 0;
}
