// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmctl: the administrator's command. This file finds the subcommand and prints help; it never
 * talks to the module but for its version.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../output.h"
#include "dsmctl.h"

#define DSMCTL_VERSION "0.1.0"

static int cmd_version(int argc, char **argv)
{
	struct dsm_ioc_version v = { .size = sizeof(v) };
	int fd;

	(void)argv;
	if (argc > 1)
		return usage("version", "no arguments are known");
	printf("dsmctl %s, ABI %d\n", DSMCTL_VERSION, DSM_ABI);
	if (access(control_path(), F_OK)) {
		puts("module: not loaded");
		return 0;
	}
	fd = open_control();
	if (fd < 0)
		return EXIT_FAILURE;
	if (ioctl(fd, DSM_IOC_VERSION, &v) < 0) {
		int err = errno;

		close(fd);
		return report("version", err, NULL);
	}
	close(fd);
	printf("module: ABI %u, wire protocol %u, pages of %u bytes\n", v.abi,
	       v.protocol, v.page_bytes);
	return 0;
}

static const struct command commands[] = {
	{ "join",
	  "usage: dsmctl join --listen ADDR[:PORT] [--seed ADDR[:PORT]] [--node ID] [--nodes N]\n"
	  "                   [--timeout SECONDS]\n"
	  "Joins this machine to a cluster; prints \"node ID of N joined\".\n"
	  "  --listen ADDR   IPv4 address of this machine's RDMA interface\n"
	  "  --seed ADDR     address of a member; without it this machine starts a cluster\n"
	  "  --node ID       wanted number in the cluster, else the lowest that is free (not to be\n"
	  "                  confused with --node K before the command: which of a machine's nodes)\n"
	  "  --nodes N       wait until N nodes are up\n"
	  "  --timeout S     give up after S seconds (30)\n",
	  cmd_join },
	{ "leave",
	  "usage: dsmctl leave [--force]\n"
	  "Leaves the cluster. Refused while programs have a region open or while pages in use\n"
	  "have their home here; --force loses those pages.\n",
	  cmd_leave },
	{ "up",
	  "usage: dsmctl up HOSTFILE\n"
	  "Joins the machines of a host file over ssh, the first one as seed; all, or none. A line is\n"
	  "  [USER@]HOST [ADDR[:PORT]]   name for ssh, address of its RDMA interface if HOST is not\n"
	  "A # begins a comment. This machine needs no ssh. DSM_SSH is the ssh command.\n"
	  "An address that comes again is the next node of its machine (module parameter nodes).\n",
	  cmd_up },
	{ "down",
	  "usage: dsmctl down [--force] HOSTFILE\n"
	  "Leaves on the machines of a host file over ssh, the first one last. The first refusal ends it\n"
	  "(see leave); with --force all leave that can, and what is in the memory is lost.\n",
	  cmd_down },
	{ "region",
	  "usage: dsmctl region create NAME SIZE[K|M|G|T] [KEY=VALUE]...\n"
	  "       dsmctl region list [--json]\n"
	  "       dsmctl region destroy NAME\n"
	  "A region is memory that all nodes share, as /dev/dsm-NAME on each.\n"
	  "  heap=on               dsm_malloc works in it; raw read and write are refused\n"
	  "  uid=U gid=G mode=M    owner and mode of the device file (the caller, 0660)\n"
	  "  addr=HEX              address at which programs map it (else one is chosen)\n"
	  "  preset=P, home=H ...  policy; see dsmctl(8). A word alone is a preset: csm-ms,home=rr\n",
	  cmd_region },
	{ "status",
	  "usage: dsmctl status [--json]\n"
	  "Shows this node, the other nodes and the regions.\n",
	  cmd_status },
	{ "stats",
	  "usage: dsmctl stats [--json] [REGION]\n"
	  "Shows this node's counters, or those of a region at it; times are in nanoseconds in\n"
	  "--json.\n",
	  cmd_stats },
	{ "homes",
	  "usage: dsmctl homes save REGION [FILE]\n"
	  "       dsmctl homes load REGION [FILE]\n"
	  "Writes which node homes which of the region's pages, or gives the pages of a new region\n"
	  "with home=first-touch, migrate or migrate@barrier those homes. A line is NODE FIRST-PAGE\n"
	  "PAGES; a # begins a comment.\n"
	  "Without FILE, or with -, standard output or input. home=list:FILE in region create is\n"
	  "home=first-touch and then homes load.\n",
	  cmd_homes },
	{ "version",
	  "usage: dsmctl version\n"
	  "Shows the versions of this command and of the module.\n",
	  cmd_version },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* The lines of a help text that say how to call it, without what is in front of them. */
static void print_usage(const char *text)
{
	const size_t front = strlen("usage: ");
	size_t len;

	while (!strncmp(text, "usage: ", front) || !strncmp(text, "       ", front)) {
		len = strcspn(text, "\n");
		printf("  %.*s\n", (int)(len - front), text + front);
		text += len + 1;
	}
}

static int help(void)
{
	size_t i;

	puts("usage: dsmctl [--node K] COMMAND [ARGUMENTS]\n"
	     "Controls the dsm module of this machine, or its node K if it was loaded with nodes=N (as\n"
	     "DSM_LOCAL_NODE=K does). COMMAND --help says more.\n");
	for (i = 0; i < COMMANDS; i++)
		print_usage(commands[i].help);
	return 0;
}

static bool wants_help(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

/* Which of the machine's nodes is meant; the number of words that said so, or -1. */
static int choose_node(int argc, char **argv)
{
	const char *text;
	char number[12];
	uint64_t k;
	int i = 1;

	if (argc == 2 && !strcmp(argv[1], "--node")) {
		fprintf(stderr, "dsmctl: --node needs a number, 0 to %d\n", DSM_LOCAL_NODES_MAX - 1);
		return -1;
	}
	if (argc < 2 || strncmp(argv[1], "--node", 6) || !option(argc, argv, &i, "--node", &text))
		return 0;
	if (!parse_number(text, DSM_LOCAL_NODES_MAX - 1, &k)) {
		fprintf(stderr, "dsmctl: --node %s: the nodes of a machine are 0 to %d\n", text, DSM_LOCAL_NODES_MAX - 1);
		return -1;
	}
	snprintf(number, sizeof(number), "%d", (int)k);
	setenv("DSM_LOCAL_NODE", number, 1);
	return i;
}

int main(int argc, char **argv)
{
	int skip = choose_node(argc, argv);
	const char *name;
	size_t i;

	if (skip < 0)
		return EXIT_USAGE;
	argc -= skip;
	argv += skip;
	name = argc > 1 ? argv[1] : "";

	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		return output_end("dsmctl", help());
	if (!strcmp(name, "--version"))
		name = "version";
	for (i = 0; i < COMMANDS; i++) {
		if (strcmp(name, commands[i].name))
			continue;
		if (wants_help(argc - 1, argv + 1)) {
			fputs(commands[i].help, stdout);
			return output_end("dsmctl", 0);
		}
		return output_end("dsmctl", commands[i].run(argc - 1, argv + 1));
	}
	if (*name)
		fprintf(stderr, "dsmctl: there is no command \"%s\"\n", name);
	fprintf(stderr, "Try: dsmctl --help\n");
	return EXIT_USAGE;
}
