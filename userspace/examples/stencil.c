// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Heat on a plate: stencil [-s SIDE] [-n STEPS]. Jacobi iteration over two grids, a block of rows per
 * rank, a barrier per step. Rank 0 then does the same alone; exit status 1 if one bit differs.
 */
#include <dsm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BARRIER_KEY 3

static struct dsm *d;
static int side = 256;
static int steps = 10;

static void barrier(void)
{
	if (dsm_barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d))) {
		fprintf(stderr, "stencil: %s\n", dsm_error());
		exit(1);
	}
}

/* Rows [@first, @end) of @to; the edge keeps its values. */
static void sweep(const double *from, double *to, int first, int end)
{
	int row, col;

	for (row = first; row < end; row++) {
		for (col = 1; col < side - 1; col++) {
			size_t at = (size_t)row * (size_t)side + (size_t)col;

			to[at] = 0.25 * (from[at - 1] + from[at + 1] + from[at - (size_t)side] +
					 from[at + (size_t)side]);
		}
	}
}

/* One edge is hot, the rest cold. */
static void fill(double *grid)
{
	int col;

	memset(grid, 0, (size_t)side * (size_t)side * sizeof(*grid));
	for (col = 0; col < side; col++)
		grid[col] = 100.0 + col % 7;
}

static int verify(const double *result)
{
	size_t bytes = (size_t)side * (size_t)side * sizeof(double);
	double *a = malloc(bytes);
	double *b = malloc(bytes);
	int i, same;

	if (!a || !b) {
		fprintf(stderr, "stencil: out of memory\n");
		return 1;
	}
	fill(a);
	fill(b);
	for (i = 0; i < steps; i++)
		sweep(i % 2 ? b : a, i % 2 ? a : b, 1, side - 1);
	same = !memcmp(result, steps % 2 ? b : a, bytes);
	printf("%d x %d, %d steps on %d ranks: %s\n", side, side, steps, dsm_ranks(d),
	       same ? "equal to the sequential run" : "DIFFERENT from the sequential run");
	free(a);
	free(b);
	return same ? 0 : 1;
}

int main(int argc, char **argv)
{
	double *grid[2];
	size_t bytes;
	int first, end, inner, opt, i;
	int ret = 0;

	while ((opt = getopt(argc, argv, "s:n:")) != -1) {
		if (opt == 's')
			side = atoi(optarg);
		else if (opt == 'n')
			steps = atoi(optarg);
		else
			side = 0;
	}
	if (optind < argc || side < 3 || side > 16384 || steps < 0) {
		fprintf(stderr, "usage: stencil [-s SIDE] [-n STEPS]\n");
		return 2;
	}
	d = dsm_open(NULL, 0);
	if (!d) {
		fprintf(stderr, "stencil: %s\n", dsm_error());
		return 1;
	}
	bytes = (size_t)side * (size_t)side * sizeof(double);
	bytes = (bytes + 4095) / 4096 * 4096;
	if (2 * bytes > dsm_size(d)) {
		fprintf(stderr, "stencil: %zu bytes do not fit into the region\n", 2 * bytes);
		return 1;
	}
	grid[0] = dsm_base(d);
	grid[1] = (double *)((char *)dsm_base(d) + bytes);
	if (!dsm_rank(d)) {
		fill(grid[0]);
		fill(grid[1]);
	}
	barrier();
	inner = side - 2;
	first = 1 + inner * dsm_rank(d) / dsm_ranks(d);
	end = 1 + inner * (dsm_rank(d) + 1) / dsm_ranks(d);
	for (i = 0; i < steps; i++) {
		sweep(grid[i % 2], grid[(i + 1) % 2], first, end);
		barrier();
	}
	if (!dsm_rank(d))
		ret = verify(grid[steps % 2]);
	barrier();
	if (dsm_close(d)) {
		fprintf(stderr, "stencil: %s\n", dsm_error());
		return 1;
	}
	return ret;
}
