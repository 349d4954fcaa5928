// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * plain TEST DEVICE ROUNDS [view]: programs for regions with consistency=sc that know of nothing but open(), mmap() and C11 atomics.
 * Ranks are given by the environment; all meet in the mapping itself. Linked with the C library alone, without threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "words.h"

#define PAGES 16
#define RESULTS 4		/* values that a rank reports of a round */
#define SLOTS 64u		/* of the ring */

/* Page 0: where all meet; 1: what they saw; 2, 3: the two locations; 4 and up: the test's own. */
struct meeting {
	_Atomic uint32_t arrived, episode;
};

static unsigned char *map;
static long rank, ranks, rounds;
static uint32_t seed;

static void *page(unsigned int number)
{
	return map + number * PAGE_BYTES;
}

static void meet(void)
{
	struct meeting *m = page(0);
	uint32_t episode = atomic_load(&m->episode);

	if (atomic_fetch_add(&m->arrived, 1) + 1 == (uint32_t)ranks) {
		atomic_store(&m->arrived, 0);
		atomic_store(&m->episode, episode + 1);
		return;
	}
	while (atomic_load(&m->episode) == episode)
		sched_yield();
}

static void delay(void)
{
	volatile uint32_t left = next_random(&seed) % 3 ? next_random(&seed) % 2000 : 0;

	while (left)
		left--;
}

static void report(unsigned int what, uint32_t value)
{
	((volatile uint32_t *)page(1))[rank * RESULTS + what] = value;
}

static uint32_t reported(long of, unsigned int what)
{
	return ((volatile uint32_t *)page(1))[of * RESULTS + what];
}

/* ---- litmus tests: each rank plays a role, rank 0 looks at what was seen ---- */

static volatile uint32_t *x, *y;

static void store_buffering(long role)
{
	if (role == 0) {
		*x = 1;
		report(0, *y);
	} else if (role == 1) {
		*y = 1;
		report(0, *x);
	}
}

static bool store_buffering_bad(void)
{
	return !reported(0, 0) && !reported(1, 0);
}

static void message_passing(long role)
{
	if (role == 0) {
		*x = 1;
		*y = 1;
	} else {
		uint32_t flag = *y;

		report(0, flag);
		report(1, *x);
	}
}

static bool message_passing_bad(void)
{
	long r;

	for (r = 1; r < ranks; r++)
		if (reported(r, 0) && !reported(r, 1))
			return true;
	return false;
}

static void load_buffering(long role)
{
	if (role == 0) {
		report(0, *x);
		*y = 1;
	} else if (role == 1) {
		report(0, *y);
		*x = 1;
	}
}

static bool load_buffering_bad(void)
{
	return reported(0, 0) && reported(1, 0);
}

static void coherence(long role)
{
	unsigned int i;

	if (role == 0) {
		*x = 1;
		*x = 2;
		*x = 3;
		return;
	}
	for (i = 0; i < RESULTS; i++)
		report(i, *x);
}

static bool coherence_bad(void)
{
	long r;
	unsigned int i;

	for (r = 1; r < ranks; r++)
		for (i = 1; i < RESULTS; i++)
			if (reported(r, i - 1) > reported(r, i))
				return true;
	return false;
}

static void two_writes(long role)
{
	if (role == 0) {
		*x = 1;
		*y = 2;
	} else if (role == 1) {
		*y = 1;
		*x = 2;
	}
}

static bool two_writes_bad(void)
{
	return *x == 1 && *y == 1;
}

/* Two more readers on the nodes of the writers, if there are no others. */
static void iriw(long role)
{
	uint32_t first;

	switch (role) {
	case 0:
		*x = 1;
		break;
	case 1:
		*y = 1;
		break;
	case 2:
		first = *x;
		report(0, first);
		report(1, *y);
		break;
	case 3:
		first = *y;
		report(0, first);
		report(1, *x);
	}
}

static bool iriw_bad(void)
{
	return ranks >= 4 && reported(2, 0) && !reported(2, 1) && reported(3, 0) && !reported(3, 1);
}

static const struct test {
	const char *name;
	void (*play)(long role);
	bool (*bad)(void);
} tests[] = {
	{ "SB", store_buffering, store_buffering_bad },
	{ "MP", message_passing, message_passing_bad },
	{ "LB", load_buffering, load_buffering_bad },
	{ "CoRR", coherence, coherence_bad },
	{ "2+2W", two_writes, two_writes_bad },
	{ "IRIW", iriw, iriw_bad },
};

/* The pages are wherever the round before left them, and sometimes here already. */
static void one_round(const struct test *t, long round)
{
	unsigned int place = (unsigned int)round % (PAGE_BYTES / 8);

	x = (uint32_t *)page(2) + 2 * place;
	y = (uint32_t *)page(3) + 2 * place;
	if (!rank) {
		*x = 0;
		*y = 0;
	}
	meet();
	if (next_random(&seed) & 1)
		(void)*x;
	if (next_random(&seed) & 1)
		(void)*y;
	delay();
	t->play(rank);
	meet();
	if (!rank)
		CHECK(!t->bad(), "%s: forbidden outcome in round %ld: %u %u %u %u", t->name, round,
		      reported(0, 0), reported(0, 1), reported(1, 0), reported(1, 1));
	meet();
}

static void litmus(void)
{
	unsigned int i;
	long round;

	for (round = 0; round < rounds; round++)
		for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
			one_round(&tests[i], round);
}

/* ---- locks and counters ---- */

static void check_sum(volatile uint32_t *sum, const char *what)
{
	meet();
	CHECK(*sum == (uint32_t)(ranks * rounds), "%s: %u of %ld", what, *sum, ranks * rounds);
	meet();
}

static void atomic_counter(void)
{
	_Atomic uint32_t *sum = page(4);
	long i;

	for (i = 0; i < rounds; i++)
		atomic_fetch_add(sum, 1);
	check_sum((volatile uint32_t *)sum, "atomic counter");
}

static void ticket_lock(void)
{
	_Atomic uint32_t *next = page(5), *serving = page(6);
	volatile uint32_t *sum = page(7);
	uint32_t mine;
	long i;

	for (i = 0; i < rounds; i++) {
		mine = atomic_fetch_add(next, 1);
		while (atomic_load(serving) != mine)
			sched_yield();
		*sum = *sum + 1;
		atomic_store(serving, mine + 1);
	}
	check_sum(sum, "ticket lock");
}

/* For two. */
static void peterson(void)
{
	volatile uint32_t *want[2] = { page(8), page(9) }, *turn = page(10), *sum = page(11);
	long i, other = 1 - rank;

	meet();
	for (i = 0; i < rounds && rank < 2; i++) {
		*want[rank] = 1;
		*turn = (uint32_t)other;
		atomic_thread_fence(memory_order_seq_cst);
		while (*want[other] && *turn == (uint32_t)other)
			sched_yield();
		*sum = *sum + 1;
		atomic_thread_fence(memory_order_seq_cst);
		*want[rank] = 0;
	}
	meet();
	CHECK(*sum == (uint32_t)(2 * rounds), "Peterson's lock: %u of %ld", *sum, 2 * rounds);
	meet();
}

/* Rank 0 produces, rank 1 consumes. */
static void ring(void)
{
	_Atomic uint32_t *head = page(12), *tail = page(13);
	volatile uint32_t *slot = page(14);
	uint32_t i, count = (uint32_t)rounds * SLOTS, value = 1, want = 1;

	meet();
	for (i = 0; i < count && rank == 0; i++) {
		while (i - atomic_load_explicit(tail, memory_order_acquire) == SLOTS)
			sched_yield();
		slot[i % SLOTS] = next_random(&value);
		atomic_store_explicit(head, i + 1, memory_order_release);
	}
	for (i = 0; i < count && rank == 1; i++) {
		while (atomic_load_explicit(head, memory_order_acquire) == i)
			sched_yield();
		CHECK(slot[i % SLOTS] == next_random(&want), "ring: wrong value %u", i);
		atomic_store_explicit(tail, i + 1, memory_order_release);
	}
	meet();
}

/* L32: one store into two pages, by everybody. */
static void across(void)
{
	volatile uint64_t *at = (volatile uint64_t *)(map + 5 * PAGE_BYTES - 4);
	uint64_t value;
	long i;

	meet();
	for (i = 0; i < rounds; i++)
		*at = (uint64_t)(rank + 1) << 32 | (uint64_t)(rank + 1);
	meet();
	value = *at;
	CHECK((uint32_t)value && (uint32_t)value <= (uint32_t)ranks && value >> 32 && value >> 32 <= (uint64_t)ranks,
	      "a store across two pages left %llx", (unsigned long long)value);
	report(0, (uint32_t)value);
	report(1, (uint32_t)(value >> 32));
	meet();
	for (i = 0; rank == 0 && i < ranks; i++)
		CHECK(reported(i, 0) == (uint32_t)value && reported(i, 1) == value >> 32,
		      "rank %ld sees another store across two pages than rank 0", i);
	meet();
}

/* ---- a device that writes into pages which others want (decisions.md, P9) ---- */

#define DISK "/dev/vda"
#define DISK_PAGES 8

/* As "direct prepare" has written it. */
static uint64_t word_on_disk(uint64_t at)
{
	return (at / 8 + 1) * 0x9e3779b97f4a7c15ull;
}

static void read_disk(long round, _Atomic uint32_t *reading)
{
	int fd = open(DISK, O_RDONLY | O_DIRECT);
	ssize_t got;

	CHECK(fd >= 0, "%s: %s", DISK, strerror(errno));
	atomic_store(reading, 2 * (uint32_t)round + 1);
	got = pread(fd, page(8), DISK_PAGES * PAGE_BYTES, round * DISK_PAGES * PAGE_BYTES);
	CHECK(got == DISK_PAGES * PAGE_BYTES, "read: %zd, %s", got, strerror(errno));
	atomic_store(reading, 2 * (uint32_t)round + 2);
	close(fd);
}

/* Returns how often it looked while the other node's device wrote. */
static long look_on(long round, _Atomic uint32_t *reading)
{
	const uint32_t on = 2 * (uint32_t)round + 1;
	volatile uint64_t *word = page(8);
	long looks = 0;

	while (atomic_load(reading) < on)
		sched_yield();
	while (atomic_load(reading) == on) {
		(void)word[next_random(&seed) % (DISK_PAGES * PAGE_BYTES / 8)];
		looks++;
	}
	return looks;
}

static void device(void)
{
	_Atomic uint32_t *reading = page(4);
	uint64_t *word = page(8), i, at;
	long round, looks = 0;

	for (round = 0; round < rounds; round++) {
		meet();
		if (rank)
			looks += look_on(round, reading);
		else
			read_disk(round, reading);
		for (i = 0; i < DISK_PAGES * PAGE_BYTES / 8; i++) {
			at = (uint64_t)round * DISK_PAGES * PAGE_BYTES + i * 8;
			CHECK(word[i] == word_on_disk(at), "round %ld, byte %lu: %lx", round, i * 8, word[i]);
		}
		meet();
	}
	/* The first reads may be through at once: a throttled disk saves up. */
	CHECK(!rank || looks, "nobody looked during any read: the disk is too fast");
}

static long from_environment(const char *name)
{
	return number(getenv(name), 0, 64);
}

/* Before the program maps anything: a mapping that never has the right to write. */
static void map_a_view(const char *device)
{
	int fd = open(device, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0, "%s: %s", device, strerror(errno));
	CHECK(mmap(NULL, PAGES * PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED, "mmap: %s",
	      strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} programs[] = {
		{ "litmus", litmus }, { "counter", atomic_counter }, { "ticket", ticket_lock },
		{ "peterson", peterson }, { "ring", ring }, { "across", across },
		{ "device", device },
	};
	unsigned int i;
	int fd;

	CHECK(argc == 4 || (argc == 5 && !strcmp(argv[4], "view")), "usage: plain TEST DEVICE ROUNDS [view]");
	rank = from_environment("DSM_RANK");
	ranks = from_environment("DSM_RANKS");
	rounds = number(argv[3], 1, 1000000);
	seed = (uint32_t)rank * 2654435761u + 1;
	if (argc == 5)
		map_a_view(argv[2]);
	fd = open(argv[2], O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0, "%s: %s", argv[2], strerror(errno));
	map = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED, "mmap: %s", strerror(errno));
	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (!strcmp(argv[1], programs[i].name)) {
			programs[i].run();
			return 0;
		}
	fail("no test %s", argv[1]);
}
