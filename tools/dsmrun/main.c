// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmrun: starts a program on the nodes. This file reads the command line and decides how many
 * ranks go where; under Slurm, PMIx, PMI or Open MPI it only passes their ranks on.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../output.h"
#include "dsmrun.h"

#define EXIT_USAGE 2

static const char help[] =
	"usage: dsmrun [-K] [-n N] [--ppn K] [--hosts A,B,... | --hostfile F | --local] PROGRAM [ARG]...\n"
	"Starts N processes of PROGRAM on the nodes, one after the other round robin; each finds\n"
	"its rank in DSM_RANK and N in DSM_RANKS. Lines of output begin with \"RANK| \".\n"
	"  -n N           processes (one for each node, or K for each with --ppn)\n"
	"  --ppn K        fill each node with K before the next\n"
	"  --hosts LIST   host names for ssh, separated by commas\n"
	"  --hostfile F   the same from a file, one a line (that of dsmctl up will do)\n"
	"  --local        this machine only\n"
	"  -K, --kill-on-bad-exit\n"
	"                 end all once one has failed; else they may go on without it\n"
	"Without a list of hosts: the nodes of this machine's cluster, at their addresses, or this\n"
	"machine alone if it is in none.\n"
	"DSM_SSH is the ssh command. If Slurm, PMIx, PMI or Open MPI started dsmrun, it just becomes\n"
	"the program, with their rank; from an interactive shell of theirs it starts all by itself.\n"
	"The exit status is the highest of all processes; with -K that of the one that failed.\n";

static int usage(const char *text, const char *word)
{
	fprintf(stderr, "dsmrun: %s%s\nTry: dsmrun --help\n", text, word);
	return EXIT_USAGE;
}

struct options {
	int n, ppn;
	const char *hosts, *hostfile;
	bool local, keep, together;
};

static int to_number(const char *text)
{
	char *end;
	long v = strtol(text, &end, 10);

	return end == text || *end || v < 0 || v > 1 << 20 ? -1 : (int)v;
}

/*
 * Rank and size from the environment of an outer dsmrun or dsmvm, or of a process manager; the order is
 * that of libdsm. 0 if there is none, 1 if there is, -1 after a message if they make no sense: to start
 * all ranks then would start them once for each of the process manager's own. A manager's only process is a
 * shell if it has a terminal, as srun --pty gives one, or wants more processes: these are started as from any other.
 */
static int started_by(const struct options *o, int *rank, int *ranks)
{
	static const char *const names[][2] = {
		{ "DSM_RANK", "DSM_RANKS" },
		{ "PMIX_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMIX_RANK", "PMI_SIZE" },
		{ "PMIX_RANK", "SLURM_STEP_NUM_TASKS" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS" },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *r = getenv(names[i][0]);
		const char *n = getenv(names[i][1]);

		if (!r || !n)
			continue;
		*rank = to_number(r);
		*ranks = to_number(n);
		if (*rank >= 0 && *rank < *ranks)
			return !i || *ranks > 1 || (o->n <= 1 && o->ppn <= 1 && !isatty(STDIN_FILENO));
		fprintf(stderr, "dsmrun: %s=%s and %s=%s name no rank\n", names[i][0], r, names[i][1], n);
		return -1;
	}
	if (!getenv("PMIX_RANK") && !getenv("DSM_RANK") && !getenv("DSM_RANKS"))
		return 0;
	fprintf(stderr, "dsmrun: %s is set, but not both of DSM_RANK and DSM_RANKS, nor what a process manager sets;\n"
		"set both, or name the hosts with --hosts or --hostfile\n",
		getenv("PMIX_RANK") ? "PMIX_RANK" : getenv("DSM_RANK") ? "DSM_RANK" : "DSM_RANKS");
	return -1;
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
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

/* Returns the index of the program's name, or -(exit status) - 1. */
static int parse(int argc, char **argv, struct options *o)
{
	static const struct option names[] = {
		{ "ppn", required_argument, NULL, 'p' },
		{ "hosts", required_argument, NULL, 'H' },
		{ "hostfile", required_argument, NULL, 'f' },
		{ "local", no_argument, NULL, 'l' },
		{ "kill-on-bad-exit", no_argument, NULL, 'K' },
		{ "keep", no_argument, NULL, 'k' },	/* keep.c; for dsmrun itself */
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int opt;

	/* "+": what follows the program's name is the program's. */
	while ((opt = getopt_long(argc, argv, "+n:hK", names, NULL)) != -1) {
		int *number = opt == 'n' ? &o->n : &o->ppn;

		switch (opt) {
		case 'n':
		case 'p':
			*number = to_number(optarg);
			if (*number < 1 || *number > RANKS_MAX)
				return -usage("a number from 1 to 1024 is needed, not ", optarg) - 1;
			break;
		case 'H':
			o->hosts = optarg;
			break;
		case 'f':
			o->hostfile = optarg;
			break;
		case 'l':
			o->local = true;
			break;
		case 'K':
			o->together = true;
			break;
		case 'k':
			o->keep = true;
			return argc;
		case 'h':
			fputs(help, stdout);
			return -output_end("dsmrun", 0) - 1;
		default:
			fputs("Try: dsmrun --help\n", stderr);
			return -EXIT_USAGE - 1;
		}
	}
	if (optind >= argc)
		return -usage("no program is named", "") - 1;
	if (!!o->hosts + !!o->hostfile + o->local > 1)
		return -usage("only one of --hosts, --hostfile, --local", "") - 1;
	return optind;
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
	if (o.keep)
		return keep();
	plan.argv = argv + at;
	plan.ppn = o.ppn;
	plan.together = o.together;
	plan.shares = 1;
	ret = o.hosts || o.hostfile || o.local ? 0 : started_by(&o, &rank, &ranks);
	if (ret < 0)
		return EXIT_FAILURE;
	if (ret) {
		plan.ranks = o.n ? o.n : o.ppn ? o.ppn * ranks : ranks;
		if (plan.ranks == ranks)
			return become_program(&plan, rank);
		/* One dsmrun on each node: each starts its share of the ranks. */
		plan.shares = ranks;
		plan.share = rank;
		ret = hosts_from_list(&plan, "localhost");
	} else {
		ret = choose_hosts(&plan, &o);
		plan.ranks = o.n ? o.n : plan.host_count * (o.ppn ? o.ppn : 1);
	}
	if (!ret && plan.ranks > RANKS_MAX)
		ret = usage("more than 1024 processes in all", "");
	return ret ? ret : output_end("dsmrun", run_all(&plan));
}
