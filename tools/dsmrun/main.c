// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmrun: starts a program on the nodes. This file reads the command line and decides how many
 * ranks go where; under Slurm, PMIx, PMI or Open MPI it only passes their ranks on.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dsmrun.h"

#define EXIT_USAGE 2

static const char help[] =
	"usage: dsmrun [-n N] [--ppn K] [--hosts A,B,... | --hostfile F | --local] PROGRAM [ARG]...\n"
	"Starts N processes of PROGRAM on the nodes, one after the other round robin; each finds\n"
	"its rank in DSM_RANK and N in DSM_RANKS. Lines of output begin with \"RANK| \".\n"
	"  -n N           processes (one for each node, or K for each with --ppn)\n"
	"  --ppn K        fill each node with K before the next\n"
	"  --hosts LIST   host names for ssh, separated by commas\n"
	"  --hostfile F   the same from a file, one a line (as for dsmctl up)\n"
	"  --local        this machine only\n"
	"Without a list of hosts: the nodes of this machine's cluster, at their addresses.\n"
	"DSM_SSH is the ssh command. If Slurm, PMIx, PMI or Open MPI started dsmrun, it becomes\n"
	"the program, with their rank. The exit status is the highest of all processes.\n";

static int usage(const char *text, const char *word)
{
	fprintf(stderr, "dsmrun: %s%s\nTry: dsmrun --help\n", text, word);
	return EXIT_USAGE;
}

static int number(const char *text, int max)
{
	char *end;
	long v = strtol(text, &end, 10);

	return end == text || *end || v < 1 || v > max ? -1 : (int)v;
}

/* Rank and size from the environment of a process manager, or of an outer dsmrun or dsmvm. */
static bool started_by(int *rank, int *ranks)
{
	static const char *const names[][2] = {
		{ "PMIX_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMIX_RANK", "PMI_SIZE" },
		{ "PMIX_RANK", "SLURM_STEP_NUM_TASKS" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
		{ "DSM_RANK", "DSM_RANKS" },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *r = getenv(names[i][0]);
		const char *n = getenv(names[i][1]);

		if (!r || !n)
			continue;
		*rank = atoi(r);
		*ranks = atoi(n);
		return *rank >= 0 && *rank < *ranks;
	}
	return false;
}

static int become_program(struct plan *plan, int rank)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", rank);
	setenv("DSM_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", plan->ranks);
	setenv("DSM_RANKS", text, 1);
	execvp(plan->argv[0], plan->argv);
	fprintf(stderr, "dsmrun: %s: %s\n", plan->argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

struct options {
	int n, ppn;
	const char *hosts, *hostfile;
	bool local;
};

/* Returns the index of the program's name, or -(exit status) - 1. */
static int parse(int argc, char **argv, struct options *o)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		const char *word = argv[i];
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (!strcmp(word, "--")) {
			i++;
			break;
		}
		if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
			fputs(help, stdout);
			return -1;
		}
		if (!strcmp(word, "--local")) {
			o->local = true;
			continue;
		}
		if (!value)
			return -usage("unknown or incomplete option ", word) - 1;
		i++;
		if (!strcmp(word, "-n"))
			o->n = number(value, RANKS_MAX);
		else if (!strcmp(word, "--ppn"))
			o->ppn = number(value, RANKS_MAX);
		else if (!strcmp(word, "--hosts"))
			o->hosts = value;
		else if (!strcmp(word, "--hostfile"))
			o->hostfile = value;
		else
			return -usage("unknown option ", word) - 1;
		if (o->n < 0 || o->ppn < 0)
			return -usage("a number from 1 to 1024 is needed after ", word) - 1;
	}
	if (i >= argc)
		return -usage("no program is named", "") - 1;
	if (!!o->hosts + !!o->hostfile + o->local > 1)
		return -usage("only one of --hosts, --hostfile, --local", "") - 1;
	return i;
}

static int choose_hosts(struct plan *plan, const struct options *o)
{
	if (o->hosts)
		return hosts_from_list(plan, o->hosts);
	if (o->hostfile)
		return hosts_from_file(plan, o->hostfile);
	if (o->local)
		return hosts_from_list(plan, "localhost");
	return hosts_from_cluster(plan);
}

int main(int argc, char **argv)
{
	static struct plan plan;
	struct options o = { 0 };
	int rank, ranks, ret;
	int at = parse(argc, argv, &o);

	if (at < 0)
		return -at - 1;
	plan.argv = argv + at;
	plan.step = 1;
	if (!o.hosts && !o.hostfile && !o.local && started_by(&rank, &ranks)) {
		plan.ranks = o.n ? o.n : o.ppn ? o.ppn * ranks : ranks;
		if (plan.ranks == ranks)
			return become_program(&plan, rank);
		/* One dsmrun on each node: each starts its share of the ranks. */
		plan.first = rank;
		plan.step = ranks;
		if (hosts_from_list(&plan, "localhost"))
			return EXIT_FAILURE;
		return run_all(&plan);
	}
	ret = choose_hosts(&plan, &o);
	if (ret)
		return ret;
	plan.ppn = o.ppn;
	plan.ranks = o.n ? o.n : plan.host_count * (o.ppn ? o.ppn : 1);
	return run_all(&plan);
}
