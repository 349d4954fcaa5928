// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * CLU: each tile of the matrix is contiguous, and so is each column of tiles.
 */
#include "lu.h"

bool lu_contiguous(void)
{
	return true;
}

static const struct app_option options[] = { LU_OPTIONS(128, 1920, 2048), { 0 } };

const struct app_program app_program = {
	LU_PROGRAM,
	.name = "clu",
	.what = "Blocked LU factorisation; tiles are contiguous in memory.",
};
