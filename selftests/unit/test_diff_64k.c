// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The rules of test_diff.c once more for pages of up to 64 KiB, where run
 * offsets and lengths use all of their 16 bits.
 */
#define DSM_PAGE_BYTES 65536u
#include "../../kmod/core/diff.c"
#include "test_diff.c"
