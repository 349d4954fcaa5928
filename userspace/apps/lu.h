/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What LU (lu.c) and CLU (clu.c) have in common, which is in lu_tiles.c: all but the place of
 * tiles.
 */
#ifndef APP_LU_H
#define APP_LU_H

#include "app.h"

struct lu {
	double *a;
};

extern struct lu lu;
extern long lu_n, lu_tile, lu_scatter, lu_rows, lu_pad;

/* Each tile is contiguous in memory; else the matrix is one array of columns, or with --rows 1 of rows. */
bool lu_contiguous(void);

void lu_layout(void);
void lu_fill(const struct app_worker *w);
void lu_work(const struct app_worker *w);
const char *lu_right(void);
const char *lu_same(const void *shared);
uint64_t lu_sum(void);

/* With rows and columns for each --size. */
#define LU_OPTIONS(tiny, small, paper)								\
	{ "n", "rows and columns", &lu_n, 1, 32768, { tiny, small, paper } },			\
	{ "tile", "rows and columns of a tile", &lu_tile, 1, 256, { 16, 16, 16 } },		\
	{ "scatter", "1: tiles are dealt out in two dimensions; 0: columns of tiles",		\
	  &lu_scatter, 0, 1, { 0, 0, 0 } }

#define LU_PROGRAM						\
	.options = options,					\
	.state = &lu,						\
	.state_bytes = sizeof(lu),				\
	.agrees = "equal to the sequential run, bit for bit",	\
	.layout = lu_layout,					\
	.fill = lu_fill,					\
	.work = lu_work,					\
	.right = lu_right,					\
	.same = lu_same,					\
	.sum = lu_sum

#endif
