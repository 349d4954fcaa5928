/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The kernel's test harness, with a limit for each test that only a hang reaches: its own 30 seconds are
 * not enough on a debug kernel whose processor is emulated on a busy host.
 */
#ifndef DSM_KSFT_HARNESS_H
#define DSM_KSFT_HARNESS_H

#include "kselftest_harness.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 200	/* seconds */

#endif
