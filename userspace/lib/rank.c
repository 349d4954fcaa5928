// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Who this process is: rank and size from its starter, node number from the module, and which of the machine's nodes it
 * uses.
 * Never talks to a process manager; what it put into the environment is enough.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/*
 * First match wins. DSM_RANK comes from dsmrun and dsmvm. PMIx leaves the size to its host, which
 * is Open MPI, Slurm or a PMI of its own. SLURM_PROCID is also set in a batch script outside
 * any step, where the size of the step is missing, so that the script itself is alone.
 */
static const struct {
	const char *rank, *size;
} starters[] = {
	{ "DSM_RANK", "DSM_RANKS" },
	{ "PMIX_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "PMIX_RANK", "PMI_SIZE" },
	{ "PMIX_RANK", "SLURM_STEP_NUM_TASKS" },
	{ "PMI_RANK", "PMI_SIZE" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
};

static bool parse_count(const char *text, int *value)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < 0 || v > INT_MAX)
		return false;
	*value = (int)v;
	return true;
}

int dsm_rank_from_env(int *rank, int *ranks)
{
	size_t i;

	*rank = 0;
	*ranks = 1;
	for (i = 0; i < sizeof(starters) / sizeof(starters[0]); i++) {
		const char *r = getenv(starters[i].rank);
		const char *n = getenv(starters[i].size);

		if (!r || !n)
			continue;
		if (!parse_count(r, rank) || !parse_count(n, ranks) || *rank >= *ranks)
			return dsm_error_set(EINVAL, "dsm_open: %s=%s and %s=%s name no rank",
					     starters[i].rank, r, starters[i].size, n);
		return 0;
	}
	/* Else all of them would be rank 0 of 1. */
	if (getenv("PMIX_RANK"))
		return dsm_error_set(EINVAL, "dsm_open: PMIX_RANK is set, but no variable says how many ranks there are; set DSM_RANK and DSM_RANKS");
	if (getenv("DSM_RANK") || getenv("DSM_RANKS"))
		return dsm_error_set(EINVAL, "dsm_open: only one of DSM_RANK and DSM_RANKS is set; set both");
	return 0;
}

int dsm_rank(const struct dsm *d)
{
	return d->rank;
}

int dsm_ranks(const struct dsm *d)
{
	return d->ranks;
}

int dsm_node(const struct dsm *d)
{
	return d->node;
}

int dsm_nodes(const struct dsm *d)
{
	struct dsm_ioc_node_info info = { .size = sizeof(info), .node = DSM_NODE_ANY };
	int ret = dsm_ioctl(d, DSM_IOC_NODE_INFO, &info);

	if (ret)
		return dsm_error_set(-ret, "dsm_nodes: %s", d->path);
	return info.members;
}

int dsm_control_from_env(char path[DSM_CONTROL_BYTES])
{
	const char *text = getenv("DSM_LOCAL_NODE");

	strcpy(path, "/dev/dsm");
	if (!text || !*text || !strcmp(text, "0"))
		return 0;
	if (text[0] < '1' || text[0] >= '0' + DSM_LOCAL_NODES_MAX || text[1])
		return dsm_error_set(EINVAL, "dsm_open: DSM_LOCAL_NODE is \"%.32s\": a machine's nodes are 0 to %d",
				     text, DSM_LOCAL_NODES_MAX - 1);
	strcat(path, ".");
	strcat(path, text);
	return 0;
}
