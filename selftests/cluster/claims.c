// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * claims REGION ROUNDS: homes are claimed anew while pages are written.
 *
 * Each rank adds to counters under locks, and stores into bytes of its own beside them; with each round that begins a
 * second thread has the pages that this node homes claimed anew, which nobody waits for. Nothing may be lost: no count,
 * no byte.
 */
#include <errno.h>
#include <linux/dsm.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

#include "common.h"

#define PAGES 6
#define LOCK_KEY 10
#define BARRIER_KEY 5
#define OWN_AT 1024		/* of each page: behind the counter */

static struct dsm *d;
static atomic_bool stop;
static sem_t begun;		/* rounds */

static volatile uint64_t *counter(long page)
{
	return (volatile uint64_t *)((volatile uint8_t *)dsm_base(d) + page * PAGE_BYTES);
}

/* Neighbouring bytes are of different ranks. */
static volatile uint8_t *own(long page, long rank, long i)
{
	return (volatile uint8_t *)counter(page) + OWN_AT + i * dsm_ranks(d) + rank;
}

static uint8_t value(long rank, long round)
{
	return (uint8_t)(1 + (rank * 71 + round * 13) % 255);
}

static void *claim(void *count)
{
	struct dsm_ioc_plain arg = { .size = sizeof(arg) };
	long *n = count;

	for (;;) {
		while (sem_wait(&begun))
			CHECK(errno == EINTR, "sem_wait: %s", strerror(errno));
		if (atomic_load(&stop))
			return NULL;
		if (ioctl(dsm_fd(d), DSM_IOC_UNCLAIM, &arg))
			fail("DSM_IOC_UNCLAIM: %s", strerror(errno));
		(*n)++;
	}
}

static void add(long round)
{
	long page = (round + dsm_rank(d)) % PAGES, i;

	lock(d, (uint64_t)(LOCK_KEY + page));
	(*counter(page))++;
	unlock(d, (uint64_t)(LOCK_KEY + page));
	for (i = 0; i < 8; i++)
		*own(page, dsm_rank(d), i * 17) = value(dsm_rank(d), round);
}

/* The last round in which a rank wrote that page. */
static long last(long page, long rank, long rounds)
{
	long round = rounds - 1;

	while ((round + rank) % PAGES != page)
		round--;
	return round;
}

static void check(long rounds)
{
	uint64_t total = 0;
	long page, rank, i;

	for (page = 0; page < PAGES; page++) {
		total += *counter(page);
		for (rank = 0; rank < dsm_ranks(d); rank++)
			for (i = 0; i < 8; i++)
				CHECK(*own(page, rank, i * 17) == value(rank, last(page, rank, rounds)),
				      "page %ld, byte %ld of rank %ld is %u, not %u", page, i, rank,
				      *own(page, rank, i * 17), value(rank, last(page, rank, rounds)));
	}
	CHECK(total == (uint64_t)(rounds * dsm_ranks(d)), "%lu additions, not %ld", total, rounds * dsm_ranks(d));
}

int main(int argc, char **argv)
{
	long rounds, round, claims = 0;
	pthread_t t;

	CHECK(argc == 3, "usage: claims REGION ROUNDS");
	rounds = number(argv[2], PAGES, 1000000);
	d = open_region(argv[1]);
	barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
	CHECK(!sem_init(&begun, 0, 0), "sem_init: %s", strerror(errno));
	CHECK(!pthread_create(&t, NULL, claim, &claims), "no thread");
	for (round = 0; round < rounds; round++) {
		CHECK(!sem_post(&begun), "sem_post: %s", strerror(errno));
		add(round);
	}
	barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
	atomic_store(&stop, true);
	CHECK(!sem_post(&begun), "sem_post: %s", strerror(errno));
	pthread_join(t, NULL);
	check(rounds);
	if (!dsm_rank(d))
		printf("claimed anew %ld times\n", claims);
	must(dsm_close(d), "close");
	return 0;
}
