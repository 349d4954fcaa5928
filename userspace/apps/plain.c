// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * One process with one worker and memory of malloc: the programs as if there were no dsm.
 */
#include "memory.h"

bool memory_is_shared(void)
{
	return false;
}

void memory_open(const char *region, struct app_worker *first)
{
	(void)region;
	if (first->threads != 1)
		app_usage("this program was built without dsm: it has one thread");
}

void *memory_at(size_t offset, size_t bytes)
{
	(void)offset;
	return app_private(1, bytes);
}

void memory_need(size_t bytes)
{
	(void)bytes;
}

void memory_hint(const void *at, size_t bytes, size_t stride, size_t rows)
{
	(void)at;
	(void)bytes;
	(void)stride;
	(void)rows;
}

void memory_run(const struct app_worker *first, void (*body)(const struct app_worker *w))
{
	body(first);
}

void memory_roi_begin(const struct app_worker *w)
{
	(void)w;
}

void memory_roi_end(const struct app_worker *w)
{
	(void)w;
}

void memory_roi_print(const char *name, unsigned int ranks)
{
	(void)name;
	(void)ranks;
}

void memory_meet(const struct app_worker *first)
{
	(void)first;
}

void memory_close(void)
{
}
