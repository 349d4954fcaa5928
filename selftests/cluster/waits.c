// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * waits REGION THREADS ROUNDS: condition variables and semaphores among the threads of all ranks.
 *
 * Items through a short buffer (signals with and without the lock); meetings of all by broadcasts;
 * tokens that go round and are never more or fewer; thousands of condition variables that
 * another worker makes anew each round. A wake-up that is lost is a run that does not end, one too
 * many is a wrong count. All the while each rank's threads are interrupted by signals.
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "common.h"

#define KEY_BUFFER 1
#define KEY_MEETING 2
#define KEY_MANY 100
#define BARRIER_KEY 1
#define SLOTS 3
#define MANY 25000
#define MANY_LOCKS 7
#define TURNS 2
#define THREADS_MAX 8
#define INTERRUPT_US 5000

struct buffer {
	struct dsm_cond room, items;
	uint64_t first, used, sum, got;
	uint64_t slot[SLOTS];
};

struct meeting {
	struct dsm_cond all;
	uint64_t came, number;
};

struct ring {
	struct dsm_sem token, mutex;
	uint64_t inside, passes;
};

struct shared {
	struct buffer buffer;
	char page_1[PAGE_BYTES];
	struct meeting meeting;
	char page_2[PAGE_BYTES];
	struct ring ring;
	char page_3[PAGE_BYTES];
	struct {
		struct dsm_cond cond;
		uint64_t done;
	} many[MANY];
};

static struct dsm *d;
static struct shared *s;
static long threads, rounds, workers;

static void on_signal(int number)
{
	(void)number;
}

static void meet_at_barrier(void)
{
	barrier(d, BARRIER_KEY, (unsigned int)workers);
}

/* With or without the lock that its waiters have: both must reach them. */
static void tell(struct dsm_cond *c, uint64_t key, bool locked)
{
	if (!locked)
		unlock(d, key);
	must(dsm_cond_signal(d, c), "signal");
	if (locked)
		unlock(d, key);
}

static void put(uint64_t item)
{
	struct buffer *b = &s->buffer;

	lock(d, KEY_BUFFER);
	while (b->used == SLOTS)
		must(dsm_cond_wait(d, &b->room, KEY_BUFFER), "wait for room");
	b->slot[(b->first + b->used++) % SLOTS] = item;
	tell(&b->items, KEY_BUFFER, item % 2);
}

static void get(void)
{
	struct buffer *b = &s->buffer;

	lock(d, KEY_BUFFER);
	while (!b->used)
		must(dsm_cond_wait(d, &b->items, KEY_BUFFER), "wait for an item");
	b->sum += b->slot[b->first++ % SLOTS];
	b->used--;
	tell(&b->room, KEY_BUFFER, ++b->got % 2);
}

static void pass_items(long worker)
{
	long i;

	for (i = 1; i <= rounds; i++) {
		if (worker % 2)
			put((uint64_t)i);
		else
			get();
	}
}

static void meet(void)
{
	struct meeting *m = &s->meeting;
	uint64_t number;

	lock(d, KEY_MEETING);
	number = m->number;
	if (++m->came == (uint64_t)workers) {
		m->came = 0;
		m->number++;
		must(dsm_cond_broadcast(d, &m->all), "broadcast");
	}
	while (m->number == number)
		must(dsm_cond_wait(d, &m->all, KEY_MEETING), "wait for all");
	CHECK(m->number == number + 1, "meeting %lu went on without this worker", number);
	unlock(d, KEY_MEETING);
}

/* Half as many tokens as workers; who has one is counted under a semaphore of value 1. */
static void pass_tokens(void)
{
	struct ring *r = &s->ring;
	long i;

	for (i = 0; i < rounds; i++) {
		must(dsm_sem_wait(d, &r->token), "wait for a token");
		must(dsm_sem_wait(d, &r->mutex), "enter");
		CHECK(++r->inside <= (uint64_t)workers / 2, "%lu tokens", r->inside);
		must(dsm_sem_post(d, &r->mutex), "leave");
		must(dsm_sem_wait(d, &r->mutex), "enter");
		r->inside--;
		r->passes++;
		must(dsm_sem_post(d, &r->mutex), "leave");
		must(dsm_sem_post(d, &r->token), "give a token");
	}
}

/*
 * Every condition variable is made anew by the next worker in each turn. Of a few, one worker waits
 * for what another one does.
 */
static void make_many_anew(long worker)
{
	long turn, i;

	for (turn = 0; turn < TURNS; turn++) {
		long part = (worker + turn) % workers;

		for (i = part * MANY / workers; i < (part + 1) * MANY / workers; i++) {
			must(dsm_cond_init(d, &s->many[i].cond), "init");
			s->many[i].done = 0;
		}
		meet_at_barrier();
		for (i = 0; i < MANY; i += MANY / 15) {
			uint64_t key = KEY_MANY + (uint64_t)i % MANY_LOCKS;

			lock(d, key);
			if (i % workers == worker) {
				s->many[i].done = 1;
				must(dsm_cond_broadcast(d, &s->many[i].cond), "broadcast");
			}
			while (!s->many[i].done)
				must(dsm_cond_wait(d, &s->many[i].cond, key), "wait");
			unlock(d, key);
		}
		meet_at_barrier();
	}
}

static void *work(void *number)
{
	long worker = dsm_rank(d) * threads + (long)number, i;

	meet_at_barrier();
	pass_items(worker);
	meet_at_barrier();
	for (i = 0; i < rounds; i++)
		meet();
	pass_tokens();
	make_many_anew(worker);
	return NULL;
}

/* Signals of a timer, which the kernel gives to whichever thread does not block them. */
static void run(void)
{
	const struct itimerval often = { { 0, INTERRUPT_US }, { 0, INTERRUPT_US } };
	sigset_t alarms;

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	setitimer(ITIMER_REAL, &often, NULL);
	run_threads(threads, work);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
}

static void prepare(void)
{
	must(dsm_cond_init(d, &s->buffer.room), "init");
	must(dsm_cond_init(d, &s->buffer.items), "init");
	must(dsm_cond_init(d, &s->meeting.all), "init");
	must(dsm_sem_init(d, &s->ring.token, (uint64_t)workers / 2), "init");
	must(dsm_sem_init(d, &s->ring.mutex, 1), "init");
}

static void judge(void)
{
	uint64_t sum = (uint64_t)(workers / 2 * rounds * (rounds + 1) / 2);
	uint64_t i;

	CHECK(s->buffer.sum == sum && !s->buffer.used, "items with the sum %lu, not %lu, %lu left",
	      s->buffer.sum, sum, s->buffer.used);
	CHECK(s->meeting.number == (uint64_t)rounds, "%lu meetings", s->meeting.number);
	CHECK(s->ring.passes == (uint64_t)(workers * rounds), "%lu passes", s->ring.passes);
	for (i = 0; i < (uint64_t)workers / 2; i++)
		must(dsm_sem_trywait(d, &s->ring.token), "a token of those there were");
	CHECK(dsm_sem_trywait(d, &s->ring.token) == -EAGAIN, "a token too many");
	CHECK(dsm_cond_wait(d, &s->meeting.all, KEY_MEETING) == -EPERM, "waited without the lock");
	printf("%ld workers: %ld items, %ld meetings, %ld tokens passed\n", workers,
	       workers / 2 * rounds, rounds, workers * rounds);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };

	CHECK(argc == 4, "usage: waits REGION THREADS ROUNDS");
	d = open_region(argv[1]);
	s = dsm_base(d);
	threads = number(argv[2], 1, THREADS_MAX);
	rounds = number(argv[3], 1, 1000000);
	workers = dsm_ranks(d) * threads;
	CHECK(workers % 2 == 0, "an odd number of workers");
	CHECK(sizeof(*s) <= dsm_size(d), "the region is too small");
	sigaction(SIGALRM, &action, NULL);
	if (!dsm_rank(d))
		prepare();
	run();
	if (!dsm_rank(d))
		judge();
	must(dsm_close(d), "close");
	return 0;
}
