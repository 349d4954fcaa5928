// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Ends with a reason, numbers from arguments, numbers by chance. Needs the C library alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "words.h"

void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("failed: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	/* Not exit(): other threads may be inside the library. */
	fflush(NULL);
	_exit(1);
}

long number(const char *text, long least, long most)
{
	char *end;
	long value;

	CHECK(text, "an argument is missing");
	errno = 0;
	value = strtol(text, &end, 0);
	CHECK(!errno && end != text && !*end && value >= least && value <= most,
	      "%s is no number from %ld to %ld", text, least, most);
	return value;
}

uint32_t next_random(uint32_t *state)
{
	/* xorshift32; the state is never 0. */
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}
