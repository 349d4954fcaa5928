/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Which of this machine's nodes a tool is about, without libdsm: environment DSM_LOCAL_NODE.
 */
#ifndef DSM_LOCAL_NODE_H
#define DSM_LOCAL_NODE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* /dev/dsm, or what it is for that node; what is no number of a node, 0 to 7, is a device that does not exist. */
static inline const char *control_path(void)
{
	static char path[sizeof("/dev/dsm.K")];
	const char *text = getenv("DSM_LOCAL_NODE");

	strcpy(path, "/dev/dsm");
	if (text && *text && strcmp(text, "0"))
		snprintf(path, sizeof(path), "/dev/dsm.%c", text[1] || *text < '1' || *text > '7' ? '?' : *text);
	return path;
}

#endif
