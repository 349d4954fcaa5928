// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * overlap REGION ROUNDS: a thread computes while a lock comes from another node.
 *
 * In each round one rank holds a lock and gives it up only after the next rank, whose request for
 * the lock is pending all the time, has computed and has set a flag, all in one thread. What the
 * holder writes after that, when nothing but the lock is left to bring it, must be there when the
 * completion is, in the place of copies that the next rank has. Other ranks meet them at a barrier,
 * through the ring too. Never uses a second thread.
 */

#include "ring.h"

#define MEET_KEY 1
#define LOCK_KEY 1000
#define HELD_KEY 2000
#define FLAG_KEY 3000
#define SLICES 200
#define PAGES 16

/* What ended, as bits; the user data of the commands. */
enum { LOCKED = 1, TOLD = 2, MET = 4, FETCHED = 8, UNLOCKED = 16 };

static struct dsm *d;
static volatile uint64_t *data;
static uint64_t sum = 1;

/* What has ended, 0: nothing; it must have ended well. */
static uint64_t ended(void)
{
	struct io_uring_cqe *cqe;
	uint64_t what;

	if (io_uring_peek_cqe(&ring, &cqe))
		return 0;
	what = cqe->user_data;
	CHECK(!cqe->res, "command %lu: %s", what, strerror(-cqe->res));
	io_uring_cqe_seen(&ring, cqe);
	return what;
}

static void compute(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		sum = sum * 6364136223846793005ull + 1442695040888963407ull;
}

static void compute_until(uint64_t what)
{
	uint64_t got;

	while (what) {
		compute();
		got = ended();
		CHECK((got & what) == got, "command %lu ended unexpectedly", got);
		what &= ~got;
	}
}

static int threads(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int n = 0;

	CHECK(f, "no /proc/self/status");
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	fclose(f);
	return n;
}

/* The first word of a page after so many rounds. */
static uint64_t value(uint64_t rounds, size_t page)
{
	return rounds ? rounds * 100 + page : 0;
}

/* Has this rank all that these rounds wrote, and no more? */
static void look(uint64_t rounds, const char *when)
{
	uint64_t word;
	size_t i;

	for (i = 0; i < PAGES; i++) {
		word = data[i * PAGE_BYTES / 8];
		CHECK(word == value(rounds, i), "%s, after %lu rounds: page %zu is %lu, not %lu", when,
		      rounds, i, word, value(rounds, i));
	}
}

static void hold(uint64_t round)
{
	size_t i;

	lock(d, LOCK_KEY + round);
	must(dsm_flag_set(d, HELD_KEY + round), "flag");
	must(dsm_flag_wait(d, FLAG_KEY + round), "flag wait");
	/* No flag is set any more, so what is written now goes with the lock or not at all. */
	for (i = 0; i < PAGES; i++)
		data[i * PAGE_BYTES / 8] = value(round + 1, i);
	unlock(d, LOCK_KEY + round);
}

static void overlap(uint64_t round)
{
	struct io_uring_sqe *sqe;
	size_t i;

	must(dsm_flag_wait(d, HELD_KEY + round), "flag wait");
	/* These are copies from now on, which a lock without an acquire would leave in place. */
	look(round, "before the lock");
	sqe = entry();
	dsm_prep_lock(sqe, d, LOCK_KEY + round);
	submit(sqe, LOCKED);
	for (i = 0; i < SLICES; i++) {
		compute();
		CHECK(!ended(), "the lock came while another rank held it");
	}
	CHECK(threads() == 1, "%d threads while a lock is pending", threads());
	/* Only this lets the holder give the lock up. */
	sqe = entry();
	dsm_prep_flag_set(sqe, d, FLAG_KEY + round);
	submit(sqe, TOLD);
	compute_until(LOCKED | TOLD);
	sqe = entry();
	dsm_prep_prefetch(sqe, d, (void *)data, PAGES * PAGE_BYTES);
	submit(sqe, FETCHED);
	compute_until(FETCHED);
	look(round + 1, "with the lock");
	sqe = entry();
	dsm_prep_unlock(sqe, d, LOCK_KEY + round);
	submit(sqe, UNLOCKED);
	compute_until(UNLOCKED);
}

int main(int argc, char **argv)
{
	uint64_t rounds, round, ranks, rank;
	struct io_uring_sqe *sqe;
	int ret;

	CHECK(argc == 3, "usage: overlap REGION ROUNDS");
	rounds = (uint64_t)number(argv[2], 1, 10000);
	d = open_region(argv[1]);
	data = dsm_base(d);
	ranks = (uint64_t)dsm_ranks(d);
	rank = (uint64_t)dsm_rank(d);
	ret = io_uring_queue_init(8, &ring, 0);
	CHECK(!ret, "io_uring_queue_init: %s", strerror(-ret));
	for (round = 0; round < rounds; round++) {
		if (round % ranks == rank)
			hold(round);
		else if ((round + 1) % ranks == rank)
			overlap(round);
		sqe = entry();
		dsm_prep_barrier(sqe, d, MEET_KEY, (unsigned int)ranks);
		submit(sqe, MET);
		compute_until(MET);
	}
	CHECK(sum, "the computation came to nothing");
	io_uring_queue_exit(&ring);
	must(dsm_close(d), "close");
	return 0;
}
