// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * LU: the matrix is one array of columns, so a page holds pieces of many tiles of one column of
 * tiles, with --pad 0 of two columns of tiles where they meet, and with --scatter 1 of many writers. With
 * --rows 1 it is one array of rows, so a page holds pieces of many columns of tiles, and of all their owners.
 */
#include "lu.h"

bool lu_contiguous(void)
{
	return false;
}

static const struct app_option options[] = {
	LU_OPTIONS(128, 1900, 2500),
	{ "rows", "1: rows are contiguous in memory, a page has many columns' owners; 0: columns are", &lu_rows, 0, 1,
	  { 0, 0, 0 } },
	{ "pad", "1: columns of tiles, with --rows 1 rows, begin at pages", &lu_pad, 0, 1, { 0, 1, 0 } },
	{ 0 }
};

const struct app_program app_program = {
	LU_PROGRAM,
	.name = "lu",
	.what = "Blocked LU factorisation; the matrix is one array of columns, or of rows.",
};
