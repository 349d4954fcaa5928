/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * How a tool ends: what it printed must have got to where it was to go.
 */
#ifndef DSM_OUTPUT_H
#define DSM_OUTPUT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* @status, or a failure if standard output is not all written. Who does not read it any more needs no message. */
static inline int output_end(const char *who, int status)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "%s: not all of the output could be written: is the disk full?\n", who);
	return status ? status : EXIT_FAILURE;
}

#endif
