// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Computing while a lock is on its way: overlap [-n ROUNDS]. Each rank sums up slices of a series and
 * adds them to a common total. It asks for the lock through io_uring and goes on with the next slice,
 * in the same thread, until the lock is there. Exit status 1 if slices were lost.
 */
#include <dsm_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOCK_KEY 1
#define BARRIER_KEY 2

static struct {
	uint64_t slices;
	double sum;
	uint64_t by_rank[];
} *total;

static struct dsm *d;
static struct io_uring ring;

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "overlap: %s: %s\n", what, strerror(-ret));
	exit(1);
}

/* Of the series 4 - 4/3 + 4/5 - ... */
static double slice(uint64_t number)
{
	double sum = 0;
	uint64_t k;

	for (k = number * 1000; k < (number + 1) * 1000; k++)
		sum += (k % 2 ? -4.0 : 4.0) / (double)(2 * k + 1);
	return sum;
}

/* Computes until the lock is there; how many slices that were. */
static uint64_t lock_and_compute(uint64_t *number, double *sum)
{
	struct io_uring_cqe *cqe;
	uint64_t slices = 0;

	dsm_prep_lock(io_uring_get_sqe(&ring), d, LOCK_KEY);
	io_uring_submit(&ring);
	do {
		*sum += slice(*number);
		*number += (uint64_t)dsm_ranks(d);
		slices++;
	} while (io_uring_peek_cqe(&ring, &cqe));
	must(cqe->res, "lock");
	io_uring_cqe_seen(&ring, cqe);
	return slices;
}

int main(int argc, char **argv)
{
	uint64_t number, slices, done = 0, all = 0;
	int opt, i, rounds = 100;

	while ((opt = getopt(argc, argv, "n:")) != -1) {
		if (opt != 'n')
			return fprintf(stderr, "usage: overlap [-n ROUNDS]\n"), 2;
		rounds = atoi(optarg);
	}
	d = dsm_open(NULL, 0);
	if (!d)
		return fprintf(stderr, "%s\n", dsm_error()), 1;
	must(io_uring_queue_init(8, &ring, 0), "io_uring_queue_init");
	total = dsm_base(d);
	number = (uint64_t)dsm_rank(d);
	/* What an earlier run left is still there. */
	if (dsm_rank(d) == 0) {
		total->slices = 0;
		total->sum = 0;
	}
	must(dsm_barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d)), "barrier");

	while (rounds-- > 0) {
		double sum = 0;

		slices = lock_and_compute(&number, &sum);
		total->slices += slices;
		total->sum += sum;
		must(dsm_unlock(d, LOCK_KEY), "unlock");
		done += slices;
	}

	total->by_rank[dsm_rank(d)] = done;
	must(dsm_barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d)), "barrier");
	for (i = 0; i < dsm_ranks(d); i++)
		all += total->by_rank[i];
	printf("rank %d: %llu of %llu slices\n", dsm_rank(d), (unsigned long long)done,
	       (unsigned long long)all);
	if (dsm_rank(d) == 0)
		printf("their sum is %.6f\n", total->sum);
	if (all != total->slices)
		return fprintf(stderr, "overlap: the total has %llu slices\n",
			       (unsigned long long)total->slices), 1;
	io_uring_queue_exit(&ring);
	return dsm_close(d) ? 1 : 0;
}
