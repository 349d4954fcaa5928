/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * How a tool ends: what it printed must have got to where it was to go.
 */
#ifndef DSM_OUTPUT_H
#define DSM_OUTPUT_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Has who read standard output, a pipe or a socket, gone? */
static inline bool output_is_unread(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}

/* @status, or a failure if standard output is not all written. Who does not read it any more needs no message. */
static inline int output_end(const char *who, int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (!output_is_unread())
		fprintf(stderr, "%s: not all of the output could be written: is the disk full?\n", who);
	return status ? status : EXIT_FAILURE;
}

#endif
