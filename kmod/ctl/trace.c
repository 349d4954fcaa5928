// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * trace.c: the one place where the tracepoints of trace.h are defined.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
