// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Red-black successive over-relaxation: sor [-r REGION] [-n SIDE] [-i ITERATIONS]. A block of rows per
 * rank, a barrier after each colour. Rank 0 repeats it alone in private memory and compares every bit.
 */
#include <string.h>
#include <unistd.h>

#include "demo.h"

#define BARRIER_KEY 1
#define OMEGA 1.25

static size_t side = 1024;

/* The points of one colour in rows [@first, @end); they depend on the other colour only. */
static void sweep(double *grid, size_t first, size_t end, size_t colour)
{
	size_t row, col;

	for (row = first; row < end; row++) {
		double *at = grid + row * side;

		for (col = 1 + (row + colour + 1) % 2; col < side - 1; col += 2)
			at[col] += OMEGA * (0.25 * (at[col - 1] + at[col + 1] +
						    (at - side)[col] + (at + side)[col]) - at[col]);
	}
}

static void fill(double *grid, size_t first, size_t end)
{
	size_t row, col;

	for (row = first; row < end; row++)
		for (col = 0; col < side; col++)
			grid[row * side + col] = (double)((row * 31 + col * 17) % 1000) / 7.0;
}

static int verify(const double *result, int iterations, double shared_s)
{
	size_t bytes = side * side * sizeof(*result);
	double *grid = malloc(bytes);
	double start, alone_s;
	int i, same;

	if (!grid)
		die("out of memory");
	start = now_s();
	fill(grid, 0, side);
	for (i = 0; i < iterations; i++) {
		sweep(grid, 1, side - 1, 0);
		sweep(grid, 1, side - 1, 1);
	}
	alone_s = now_s() - start;
	same = !memcmp(result, grid, bytes);
	free(grid);
	printf("shared %.1f s, sequential %.1f s: results %s\n", shared_s, alone_s,
	       same ? "equal bit for bit" : "DIFFER");
	return same ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *region = NULL;
	size_t rank, ranks, first, end;
	struct dsm *d;
	double *grid;
	double start;
	int iterations = 20;
	int ret = 0;
	int opt, i;

	while ((opt = getopt(argc, argv, "r:n:i:")) != -1) {
		if (opt == 'r')
			region = optarg;
		else if (opt == 'n')
			side = strtoul(optarg, NULL, 10);
		else if (opt == 'i')
			iterations = atoi(optarg);
		else
			side = 0;
	}
	if (side < 3 || side > 32768 || iterations < 0)
		die("usage: sor [-r REGION] [-n SIDE] [-i ITERATIONS]");
	setvbuf(stdout, NULL, _IOLBF, 0);
	d = open_region(region);
	if (side * side * sizeof(*grid) > dsm_size(d))
		die("sor: %zu x %zu doubles do not fit into the region", side, side);
	grid = dsm_base(d);
	rank = (size_t)dsm_rank(d);
	ranks = (size_t)dsm_ranks(d);
	first = side * rank / ranks;
	end = side * (rank + 1) / ranks;
	fill(grid, first, end);
	first = first ? first : 1;
	end = end < side - 1 ? end : side - 1;
	barrier(d, BARRIER_KEY);
	start = now_s();
	for (i = 0; i < iterations; i++) {
		sweep(grid, first, end, 0);
		barrier(d, BARRIER_KEY);
		sweep(grid, first, end, 1);
		barrier(d, BARRIER_KEY);
		if (!rank && (i + 1) % 5 == 0)
			printf("iteration %d of %d\n", i + 1, iterations);
	}
	if (!rank)
		ret = verify(grid, iterations, now_s() - start);
	barrier(d, BARRIER_KEY);
	if (dsm_close(d))
		die("%s", dsm_error());
	return ret;
}
