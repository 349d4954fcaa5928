// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Radix: integers sorted digit by digit.
 *
 * G. Blelloch et al., "A comparison of sorting algorithms for the connection machine CM-2", SPAA
 * 1991 (counting sort of each digit); S. Woo et al., "The SPLASH-2 programs", ISCA 1995, on Radix.
 * For each digit, a worker counts its block of keys; workers share the digits to turn counts into
 * the places where each worker's keys go; then each writes its keys there, all over the other
 * array.
 */
#include <stdlib.h>
#include <string.h>

#include "app.h"

static long keys, key_bits, digit_bits, rounds;
static unsigned int workers;	/* of the shared run */

static struct state {
	uint32_t *key[2];	/* from one to the other and back */
	uint32_t *count;	/* by worker and digit */
	uint32_t *before;	/* likewise: keys of that digit of the workers before */
	uint32_t *total;	/* by digit */
} s;

static const struct app_option options[] = {
	{ "keys", "keys", &keys, 1, 1l << 31, { 1 << 16, 1 << 22, 45l << 20 } },
	{ "key-bits", "bits of a key", &key_bits, 1, 32, { 20, 20, 20 } },
	{ "digit-bits", "bits of a digit", &digit_bits, 1, 16, { 10, 10, 10 } },
	{ "rounds", "times that the keys are changed and sorted", &rounds, 1, 100000, { 1, 150, 1 } },
	{ 0 }
};

static size_t digits(void)
{
	return (size_t)1 << digit_bits;
}

static long passes(void)
{
	return (key_bits + digit_bits - 1) / digit_bits;
}

static const char *check(unsigned int count)
{
	workers = count;
	return NULL;
}

static void layout(void)
{
	s.key[0] = app_alloc((size_t)keys, sizeof(uint32_t));
	s.key[1] = app_alloc((size_t)keys, sizeof(uint32_t));
	s.count = app_alloc(workers, digits() * sizeof(uint32_t));
	s.before = app_alloc(workers, digits() * sizeof(uint32_t));
	s.total = app_alloc(digits(), sizeof(uint32_t));
}

static uint32_t initial(size_t i)
{
	return (uint32_t)(app_random_bits(1, i) >> (64 - key_bits));
}

/* What a key becomes before a further round: an odd factor makes different keys of different ones. */
static uint32_t change(uint32_t key)
{
	return key * 0x9e3779b1u & (uint32_t)((1ull << key_bits) - 1);
}

static void fill(const struct app_worker *w)
{
	size_t i, end;

	app_share((size_t)keys, w->id, w->count, &i, &end);
	for (; i < end; i++) {
		s.key[0][i] = initial(i);
		if ((i + 1) % APP_INPUT_STEP == 0)
			app_progress(w, (long)i + 1, (long)end);
	}
}

struct pass {
	const struct app_worker *w;
	const uint32_t *from;
	uint32_t *to;
	long shift;
	size_t first, end;	/* this worker's keys */
	uint32_t *place;	/* of its next key, by digit; private */
};

static size_t digit(const struct pass *p, uint32_t key)
{
	return key >> p->shift & (digits() - 1);
}

static void count_keys(struct pass *p)
{
	size_t i;

	memset(p->place, 0, digits() * sizeof(*p->place));
	for (i = p->first; i < p->end; i++)
		p->place[digit(p, p->from[i])]++;
	memcpy(s.count + p->w->id * digits(), p->place, digits() * sizeof(*p->place));
}

/* Each worker for its share of the digits. */
static void sum_workers(const struct pass *p)
{
	size_t d, end;
	unsigned int i;

	app_share(digits(), p->w->id, p->w->count, &d, &end);
	for (; d < end; d++) {
		uint32_t sum = 0;

		for (i = 0; i < p->w->count; i++) {
			s.before[i * digits() + d] = sum;
			sum += s.count[i * digits() + d];
		}
		s.total[d] = sum;
	}
}

static void find_places(struct pass *p)
{
	uint32_t sum = 0;
	size_t d;

	for (d = 0; d < digits(); d++) {
		p->place[d] = sum + s.before[p->w->id * digits() + d];
		sum += s.total[d];
	}
}

static void permute(const struct pass *p)
{
	size_t i;

	for (i = p->first; i < p->end; i++)
		p->to[p->place[digit(p, p->from[i])]++] = p->from[i];
}

static void work(const struct app_worker *w)
{
	struct pass p = { .w = w, .place = app_private(digits(), sizeof(*p.place)) };
	size_t k;
	long i;

	app_share((size_t)keys, w->id, w->count, &p.first, &p.end);
	for (i = 0; i < rounds * passes(); i++) {
		for (k = p.first; i && i % passes() == 0 && k < p.end; k++)
			s.key[i % 2][k] = change(s.key[i % 2][k]);
		p.from = s.key[i % 2];
		p.to = s.key[(i + 1) % 2];
		p.shift = i % passes() * digit_bits;
		count_keys(&p);
		app_barrier(w);
		sum_workers(&p);
		app_barrier(w);
		find_places(&p);
		permute(&p);
		app_barrier(w);
		app_progress(w, i + 1, rounds * passes());
	}
	free(p.place);
}

static const uint32_t *result(const struct state *state)
{
	return state->key[rounds * passes() % 2];
}

/* In order, and the same keys as before: two sums over a function of each key tell. */
static const char *right(void)
{
	uint64_t before[2] = { 0 }, after[2] = { 0 };
	const uint32_t *key = result(&s);
	size_t i;
	long k;

	for (i = 0; i < (size_t)keys; i++) {
		uint32_t wanted = initial(i);

		for (k = 1; k < rounds; k++)
			wanted = change(wanted);
		if (i && key[i] < key[i - 1])
			return app_text("key %zu is less than the one before", i);
		before[0] += app_random_bits(2, wanted);
		after[0] += app_random_bits(2, key[i]);
		before[1] += app_random_bits(3, wanted);
		after[1] += app_random_bits(3, key[i]);
	}
	return before[0] == after[0] && before[1] == after[1] ? NULL : "keys were lost";
}

static const char *same(const void *shared)
{
	return memcmp(result(shared), result(&s), (size_t)keys * sizeof(uint32_t)) ?
	       "a key differs" : NULL;
}

static uint64_t sum(void)
{
	return app_sum(0, result(&s), (size_t)keys * sizeof(uint32_t));
}

const struct app_program app_program = {
	.name = "radix",
	.what = "Radix sort of integers.",
	.options = options,
	.state = &s,
	.state_bytes = sizeof(s),
	.agrees = "sorted, equal to the sequential run",
	.check = check,
	.layout = layout,
	.fill = fill,
	.work = work,
	.right = right,
	.same = same,
	.sum = sum,
};
