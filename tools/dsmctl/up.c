// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmctl up: runs dsmctl join on each machine of a host file, one after the other, so that
 * node numbers follow the file. Never installs or loads anything there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dsmctl.h"

#define HOSTS_MAX 64

struct host {
	char name[128];		/* for ssh */
	char addr[32];		/* ADDR[:PORT], checked */
};

static int read_hosts(const char *path, struct host *hosts, int *count)
{
	FILE *f = fopen(path, "re");
	char line[512];
	int number = 0;
	int ret = 0;

	if (!f)
		return fail("%s: %s", path, strerror(errno));
	*count = 0;
	while (!ret && fgets(line, sizeof(line), f)) {
		struct host *h = &hosts[*count];
		uint16_t port;
		__be32 addr;
		int words;

		number++;
		line[strcspn(line, "#\n")] = '\0';
		if (!line[strspn(line, " \t\r")])
			continue;
		if (*count == HOSTS_MAX) {
			ret = fail("%s: more than %d hosts", path, HOSTS_MAX);
			break;
		}
		words = sscanf(line, "%127s %31s", h->name, h->addr);
		if (words == 1)
			snprintf(h->addr, sizeof(h->addr), "%.31s", h->name);
		if (h->name[0] == '-' || !parse_address(h->addr, &addr, &port))
			ret = fail("%s:%d: \"%s\" is no HOST ADDR[:PORT]", path, number, line);
		else
			++*count;
	}
	fclose(f);
	if (!ret && !*count)
		ret = fail("%s: no hosts", path);
	return ret;
}

/* Only checked addresses and numbers reach the other machine's shell. */
static int join_over_ssh(const struct host *hosts, int node)
{
	const char *ssh = getenv("DSM_SSH");
	char command[256];
	int status;
	pid_t pid;
	int used;

	used = snprintf(command, sizeof(command), "dsmctl join --listen %s --node %d",
			hosts[node].addr, node);
	if (node)
		snprintf(command + used, sizeof(command) - (size_t)used, " --seed %s --nodes %d",
			 hosts[0].addr, node + 1);
	printf("%s: ", hosts[node].name);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return fail("fork: %s", strerror(errno));
	if (!pid) {
		execlp(ssh ? ssh : "ssh", ssh ? ssh : "ssh", hosts[node].name, command,
		       (char *)NULL);
		fprintf(stderr, "%s: %s\n", ssh ? ssh : "ssh", strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail("waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return fail("%s did not join; see above. The hosts before it stay joined",
			    hosts[node].name);
	return 0;
}

int cmd_up(int argc, char **argv)
{
	struct host hosts[HOSTS_MAX];
	int count, ret, i;

	if (argc != 2)
		return usage("up", "one HOSTFILE is needed");
	ret = read_hosts(argv[1], hosts, &count);
	for (i = 0; !ret && i < count; i++)
		ret = join_over_ssh(hosts, i);
	if (!ret)
		printf("%d nodes are up\n", count);
	return ret;
}
