// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The presets, in one table; Documentation/presets.rst says where each comes from and departs from it. Which
 * settings go together is policy.c's to decide.
 */
#include "presets.h"

static const struct dsm_preset presets[] = {
	/* What is best here: hlrc-nocopy, diffs packed or written, as each page is best served. */
	{ .name = "hlrc",
	  .policy = { .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_PIPE,
		      .pipe_bytes = DSM_PIPE_BYTES, .pipe_depth = DSM_PIPE_DEPTH,
		      .diffpath = DSM_DIFFPATH_AUTO, .around = DSM_AROUND_ON } },
	/* Seed 004, its two ways of fetching a page; one diff and its acknowledgement at a time. */
	{ .name = "hlrc-copy",
	  .policy = { .fetch = DSM_FETCH_COPY, .diff = DSM_DIFF_MODE_ORIG,
		      .diffpath = DSM_DIFFPATH_MSG } },
	{ .name = "hlrc-nocopy",
	  .policy = { .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
		      .diffpath = DSM_DIFFPATH_MSG } },
	/* Seed 002: ORIG and PIPE. */
	{ .name = "hlrc-orig",
	  .policy = { .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
		      .diffpath = DSM_DIFFPATH_MSG } },
	{ .name = "hlrc-pipe",
	  .policy = { .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_PIPE,
		      .pipe_bytes = DSM_PIPE_BYTES, .pipe_depth = 2,
		      .diffpath = DSM_DIFFPATH_MSG } },
	/* Seed 004, section 6: data and synchronisation without the other side's processor. */
	{ .name = "hlrc-rdma",
	  .policy = { .fetch = DSM_FETCH_READ, .diff = DSM_DIFF_MODE_PIPE,
		      .pipe_bytes = DSM_PIPE_BYTES, .pipe_depth = DSM_PIPE_DEPTH,
		      .diffpath = DSM_DIFFPATH_WRITE, .sync = DSM_SYNC_RDMA } },
	/* Seed 000, 2.3: from all of the network's features to none; homes that migrate; broadcast. */
	{ .name = "csm-dms",
	  .policy = { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH,
		      .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_PIPE,
		      .pipe_bytes = DSM_PIPE_BYTES, .pipe_depth = DSM_PIPE_DEPTH,
		      .diffpath = DSM_DIFFPATH_WRITE, .metadata = DSM_METADATA_RDMA,
		      .sync = DSM_SYNC_RDMA } },
	{ .name = "csm-ms",
	  .policy = { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH,
		      .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
		      .diffpath = DSM_DIFFPATH_MSG, .metadata = DSM_METADATA_RDMA,
		      .sync = DSM_SYNC_RDMA } },
	{ .name = "csm-s",
	  .policy = { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH,
		      .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
		      .diffpath = DSM_DIFFPATH_MSG, .sync = DSM_SYNC_RDMA } },
	{ .name = "csm-none",
	  .policy = { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH,
		      .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
		      .diffpath = DSM_DIFFPATH_MSG } },
	{ .name = "csm-ms-mg",
	  .policy = { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_MIGRATE,
		      .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
		      .diffpath = DSM_DIFFPATH_MSG, .metadata = DSM_METADATA_RDMA,
		      .sync = DSM_SYNC_RDMA } },
	{ .name = "csm-none-mg",
	  .policy = { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_MIGRATE,
		      .fetch = DSM_FETCH_NOCOPY, .diff = DSM_DIFF_MODE_ORIG,
		      .diffpath = DSM_DIFFPATH_MSG } },
	{ .name = "csm-adb",
	  .policy = { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_FIRST_TOUCH,
		      .fetch = DSM_FETCH_COPY, .diff = DSM_DIFF_MODE_PIPE,
		      .pipe_bytes = DSM_PIPE_BYTES, .pipe_depth = DSM_PIPE_DEPTH,
		      .diffpath = DSM_DIFFPATH_WRITE, .metadata = DSM_METADATA_RDMA,
		      .sync = DSM_SYNC_RDMA, .bcast = DSM_BCAST_ADAPTIVE } },
	/* No seed has it: one writer or many readers, and the page comes with the right. */
	{ .name = "sc",
	  .policy = { .consistency = DSM_CONSISTENCY_SC, .fetch = DSM_FETCH_COPY,
		      .diff = DSM_DIFF_MODE_ORIG, .diffpath = DSM_DIFFPATH_MSG } },
	/* Nor this: what suits each page by its own history. */
	{ .name = "auto",
	  .policy = { .consistency = DSM_CONSISTENCY_CASHMERE, .home = DSM_HOME_MIGRATE_BARRIER,
		      .notices = DSM_NOTICES_LAZY, .fetch = DSM_FETCH_READ, .diff = DSM_DIFF_MODE_PIPE,
		      .pipe_bytes = DSM_PIPE_BYTES, .pipe_depth = DSM_PIPE_DEPTH,
		      .diffpath = DSM_DIFFPATH_AUTO, .around = DSM_AROUND_AGAIN } },
};

/**
 * dsm_preset_find() - preset by name
 * @name: its first byte
 * @len:  length in bytes
 *
 * Context: any.
 * Return: the preset or NULL.
 */
const struct dsm_preset *dsm_preset_find(const char *name, u32 len)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(presets); i++)
		if (strlen(presets[i].name) == len && !memcmp(name, presets[i].name, len))
			return &presets[i];
	return NULL;
}
