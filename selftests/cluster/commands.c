// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * commands REGION ROUNDS: data that goes from one node to another by what a ring's commands promise.
 *
 * In each round one rank writes pages and the next one, which has old copies of them, must see what was written, once
 * by every way there is in dsm_uring.h. Nothing but the way itself lies between: ranks meet before it, by calls that
 * are no commands, and whoever has to be told of something is told by a flag before the pages are written or after
 * they are read. So a command that leaves out its release or its acquire leaves the old copy in place. Never waits
 * without a bound for a value to come.
 */
#include <errno.h>
#include <time.h>

#include "ring.h"

#define MEET_KEY 1
#define PAIR_KEY 1000
#define LOCK_KEY 2000
#define FLAG_KEY 3000
#define HELD_KEY 4000
#define READY_KEY 5000
#define PAGES 16
#define LONG_NS 60000000000ull

/* User data of the command that is waited for, and of what ends it. */
enum { COMMAND = 1, CANCEL = 2 };

static struct dsm *d;
static volatile uint64_t *data;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- commands ---- */

static bool nothing_ended(void)
{
	struct io_uring_cqe *cqe;

	return io_uring_peek_cqe(&ring, &cqe) == -EAGAIN;
}

/* Result of the next command that ends, and which it is. */
static int next(uint64_t *user_data)
{
	struct io_uring_cqe *cqe;
	int ret;

	ret = io_uring_wait_cqe(&ring, &cqe);
	CHECK(!ret, "wait: %s", strerror(-ret));
	ret = cqe->res;
	*user_data = cqe->user_data;
	io_uring_cqe_seen(&ring, cqe);
	return ret;
}

static int finish(void)
{
	uint64_t which;
	int ret = next(&which);

	CHECK(which == COMMAND, "command %lu ended", which);
	return ret;
}

static int run(struct io_uring_sqe *sqe)
{
	submit(sqe, COMMAND);
	return finish();
}

static void want(int result, int ret, const char *what)
{
	CHECK(ret == result, "%s: %d, not %d", what, ret, result);
}

/* What is pending must end because of this and nothing else. */
static void cancel_pending(const char *what)
{
	struct io_uring_sqe *sqe = entry();
	uint64_t which;
	int i, ret;

	CHECK(nothing_ended(), "%s did not wait", what);
	dsm_prep_cancel(sqe, d, COMMAND);
	submit(sqe, CANCEL);
	for (i = 0; i < 2; i++) {
		ret = next(&which);
		want(which == CANCEL ? 0 : -ECANCELED, ret, what);
	}
	sqe = entry();
	dsm_prep_cancel(sqe, d, COMMAND);
	want(-ENOENT, run(sqe), "cancelling what has ended");
}

/* ---- what goes from one to the other ---- */

static void put(uint64_t turn)
{
	size_t i;

	for (i = 0; i < PAGES; i++)
		data[i * PAGE_BYTES / 8] = turn * 100 + i;
}

static bool is_there(uint64_t turn, size_t i)
{
	return data[i * PAGE_BYTES / 8] == turn * 100 + i;
}

static void get(uint64_t turn, const char *way)
{
	struct io_uring_sqe *sqe = entry();
	size_t i;

	dsm_prep_prefetch(sqe, d, (void *)data, PAGES * PAGE_BYTES);
	want(0, run(sqe), "prefetch");
	for (i = 0; i < PAGES; i++)
		CHECK(is_there(turn, i), "%s brought no data: turn %lu, page %zu: %lu", way, turn, i,
		      data[i * PAGE_BYTES / 8]);
}

/* ---- ways ---- */

static void give_by_release(uint64_t turn)
{
	struct io_uring_sqe *sqe = entry();

	put(turn);
	dsm_prep_release(sqe, d);
	want(0, run(sqe), "release");
	/* Whatever this rank releases next must not be what brings it. */
	must(dsm_flag_wait(d, READY_KEY + turn), "wait until it was seen");
}

/* Nothing says when the release was; the pages do, as long as each acquire looks again. */
static void take_by_acquire(uint64_t turn)
{
	uint64_t end = now_ns() + LONG_NS;
	struct io_uring_sqe *sqe;
	size_t i = 0;

	while (i < PAGES) {
		sqe = entry();
		dsm_prep_acquire(sqe, d);
		want(0, run(sqe), "acquire");
		while (i < PAGES && is_there(turn, i))
			i++;
		CHECK(i == PAGES || now_ns() < end,
		      "turn %lu: acquires do not bring what was released: page %zu", turn, i);
	}
	get(turn, "acquire");
	must(dsm_flag_set(d, READY_KEY + turn), "tell that it was seen");
}

static void meet_as_two(void)
{
	struct io_uring_sqe *sqe = entry();

	dsm_prep_barrier(sqe, d, PAIR_KEY, 2);
	want(0, run(sqe), "barrier");
}

static void give_by_barrier(uint64_t turn)
{
	put(turn);
	meet_as_two();
}

static void take_by_barrier(uint64_t turn)
{
	meet_as_two();
	get(turn, "barrier");
}

static void give_by_flag(uint64_t turn)
{
	struct io_uring_sqe *sqe;

	/* In some rounds the flag may be there before anybody waits. */
	if (turn & 16)
		must(dsm_flag_wait(d, READY_KEY + turn), "wait for who waits");
	put(turn);
	sqe = entry();
	dsm_prep_flag_set(sqe, d, FLAG_KEY);
	want(0, run(sqe), "flag set");
}

static void take_by_flag(uint64_t turn)
{
	struct io_uring_sqe *sqe = entry();

	dsm_prep_flag_wait(sqe, d, FLAG_KEY);
	submit(sqe, COMMAND);
	if (turn & 16)
		must(dsm_flag_set(d, READY_KEY + turn), "tell that this rank waits");
	want(0, finish(), "flag wait");
	get(turn, "flag");
	sqe = entry();
	dsm_prep_flag_clear(sqe, d, FLAG_KEY);
	want(0, run(sqe), "flag clear");
	sqe = entry();
	dsm_prep_flag_wait(sqe, d, FLAG_KEY);
	submit(sqe, COMMAND);
	cancel_pending("a wait for a flag that was cleared");
}

/* Holds the lock until the other rank has seen that it does, and writes only then. */
static void give_by_lock(uint64_t turn)
{
	struct io_uring_sqe *sqe = entry();

	dsm_prep_lock(sqe, d, LOCK_KEY);
	want(0, run(sqe), "lock");
	must(dsm_flag_set(d, HELD_KEY + turn), "tell that it is held");
	must(dsm_flag_wait(d, READY_KEY + turn), "wait until that was seen");
	put(turn);
	sqe = entry();
	dsm_prep_unlock(sqe, d, LOCK_KEY);
	want(0, run(sqe), "unlock");
}

static void give_back(void)
{
	struct io_uring_sqe *sqe = entry();

	dsm_prep_unlock(sqe, d, LOCK_KEY);
	want(0, run(sqe), "unlock");
}

static void take_by_lock(uint64_t turn)
{
	struct io_uring_sqe *sqe = entry();

	must(dsm_flag_wait(d, HELD_KEY + turn), "wait until it is held");
	dsm_prep_lock(sqe, d, LOCK_KEY);
	submit(sqe, COMMAND);
	cancel_pending("a lock that is held");
	sqe = entry();
	dsm_prep_lock(sqe, d, LOCK_KEY);
	submit(sqe, COMMAND);
	must(dsm_flag_set(d, READY_KEY + turn), "tell that this rank waits");
	want(0, finish(), "lock");
	get(turn, "lock");
	give_back();
}

static void take_by_trylock(uint64_t turn)
{
	uint64_t end = now_ns() + LONG_NS;
	struct io_uring_sqe *sqe = entry();
	int ret;

	must(dsm_flag_wait(d, HELD_KEY + turn), "wait until it is held");
	dsm_prep_trylock(sqe, d, LOCK_KEY);
	want(-EBUSY, run(sqe), "trylock of a lock that is held");
	must(dsm_flag_set(d, READY_KEY + turn), "tell that it was tried");
	do {
		sqe = entry();
		dsm_prep_trylock(sqe, d, LOCK_KEY);
		ret = run(sqe);
	} while (ret == -EBUSY && now_ns() < end);
	want(0, ret, "trylock");
	get(turn, "trylock");
	give_back();
}

static void take_by_timedlock(uint64_t turn)
{
	struct io_uring_sqe *sqe = entry();

	must(dsm_flag_wait(d, HELD_KEY + turn), "wait until it is held");
	dsm_prep_timedlock(sqe, d, LOCK_KEY, now_ns());
	want(-ETIMEDOUT, run(sqe), "timedlock of a lock that is held");
	sqe = entry();
	dsm_prep_timedlock(sqe, d, LOCK_KEY, now_ns() + LONG_NS);
	submit(sqe, COMMAND);
	must(dsm_flag_set(d, READY_KEY + turn), "tell that this rank waits");
	want(0, finish(), "timedlock");
	get(turn, "timedlock");
	give_back();
}

static const struct {
	void (*give)(uint64_t turn);
	void (*take)(uint64_t turn);
} ways[] = {
	{ give_by_release, take_by_acquire },
	{ give_by_barrier, take_by_barrier },
	{ give_by_flag, take_by_flag },
	{ give_by_lock, take_by_lock },
	{ give_by_lock, take_by_trylock },
	{ give_by_lock, take_by_timedlock },
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* So that there are copies that must not be used any more. */
static void have_copies(void)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < PAGES; i++)
		sum += data[i * PAGE_BYTES / 8];
	CHECK(sum + 1, "no sum");
}

int main(int argc, char **argv)
{
	uint64_t rounds, round, ranks, rank, way;
	int ret;

	CHECK(argc == 3, "usage: commands REGION ROUNDS");
	rounds = (uint64_t)number(argv[2], 1, 100);
	d = open_region(argv[1]);
	data = dsm_base(d);
	ranks = (uint64_t)dsm_ranks(d);
	rank = (uint64_t)dsm_rank(d);
	CHECK(ranks > 1, "one rank has nobody to give anything to");
	ret = io_uring_queue_init(8, &ring, 0);
	CHECK(!ret, "io_uring_queue_init: %s", strerror(-ret));
	for (round = 0; round < rounds; round++) {
		for (way = 0; way < WAYS; way++) {
			uint64_t turn = round * 8 + way + 1;

			have_copies();
			barrier(d, MEET_KEY, (unsigned int)ranks);
			if (round % ranks == rank)
				ways[way].give(turn);
			else if ((round + 1) % ranks == rank)
				ways[way].take(turn);
		}
	}
	CHECK(nothing_ended(), "a command ended that nobody had begun");
	io_uring_queue_exit(&ring);
	must(dsm_close(d), "close");
	return 0;
}
