// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * A counter under a lock: counter [-t THREADS] [-n ITERATIONS]. All ranks add to it; each checks
 * the total in the end, so a lost update on any machine is seen. Exit status 1 on a mismatch.
 */
#include <dsm.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOCK_KEY 1
#define BARRIER_KEY 2
#define THREADS_MAX 64

static struct dsm *d;
static uint64_t *counter;
static long iterations = 1000;

static int add(void)
{
	int ret;

	do {
		ret = dsm_lock(d, LOCK_KEY);
	} while (ret == -EINTR);
	if (ret)
		return ret;
	++*counter;
	return dsm_unlock(d, LOCK_KEY);
}

static void *work(void *unused)
{
	long i;

	(void)unused;
	for (i = 0; i < iterations; i++) {
		if (add()) {
			fprintf(stderr, "counter: %s\n", dsm_error());
			exit(1);
		}
	}
	return NULL;
}

static void barrier(void)
{
	if (dsm_barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d))) {
		fprintf(stderr, "counter: %s\n", dsm_error());
		exit(1);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	int threads = 1;
	uint64_t before, total, want;
	int i, opt, err;

	while ((opt = getopt(argc, argv, "t:n:")) != -1) {
		if (opt == 't')
			threads = atoi(optarg);
		else if (opt == 'n')
			iterations = atol(optarg);
		else
			iterations = -1;
	}
	if (optind < argc || threads < 1 || threads > THREADS_MAX || iterations < 0) {
		fprintf(stderr, "usage: counter [-t THREADS] [-n ITERATIONS]\n");
		return 2;
	}
	d = dsm_open(NULL, 0);
	if (!d) {
		fprintf(stderr, "counter: %s\n", dsm_error());
		return 1;
	}
	counter = dsm_base(d);
	barrier();	/* nobody counts before everybody has read what was there */
	before = *counter;
	barrier();
	for (i = 0; i < threads; i++) {
		err = pthread_create(&thread[i], NULL, work, NULL);
		if (err) {
			fprintf(stderr, "counter: thread: %s\n", strerror(err));
			return 1;
		}
	}
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	barrier();
	total = *counter - before;
	want = (uint64_t)dsm_ranks(d) * (uint64_t)threads * (uint64_t)iterations;
	printf("rank %d of %d: total %llu, expected %llu: %s\n", dsm_rank(d), dsm_ranks(d),
	       (unsigned long long)total, (unsigned long long)want,
	       total == want ? "ok" : "MISMATCH");
	barrier();	/* or the next run's first rank could count before we have read */
	if (dsm_close(d)) {
		fprintf(stderr, "counter: %s\n", dsm_error());
		return 1;
	}
	return total == want ? 0 : 1;
}
