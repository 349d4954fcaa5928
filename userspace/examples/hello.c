// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The smallest program that shares memory: each process adds its greeting, rank 0 prints them all.
 */
#include <dsm.h>
#include <stdio.h>

int main(void)
{
	struct dsm *d = dsm_open(NULL, 0);	/* the same address on every machine */
	char (*line)[64];
	int i;

	if (!d)
		return fprintf(stderr, "%s\n", dsm_error()), 1;
	line = dsm_base(d);
	snprintf(line[dsm_rank(d)], 64, "hello from rank %d on node %d", dsm_rank(d), dsm_node(d));
	if (dsm_barrier(d, 0, dsm_ranks(d)))	/* all have written, all see it */
		return fprintf(stderr, "%s\n", dsm_error()), 1;
	for (i = 0; dsm_rank(d) == 0 && i < dsm_ranks(d); i++)
		puts(line[i]);
	return dsm_close(d) ? 1 : 0;
}
