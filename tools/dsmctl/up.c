// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmctl up: runs dsmctl join on each machine of a host file, one after the other, so that
 * node numbers follow the file; all join, or none, also if somebody stops it. dsmctl down: runs dsmctl leave there. A machine that is named again
 * joins with its next node (nodes=N of the module). Never installs or loads anything there.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../hostfile.h"
#include "dsmctl.h"

#define HOSTS_MAX 64
#define SSH_WORDS_MAX 32

struct host {
	struct host_line line;
	int node;		/* which of that machine's: how often its address came before */
	bool here;		/* the address is one of this machine's: no ssh */
};

static int named_before(const struct host *hosts, int count)
{
	int i, times = 0;

	for (i = 0; i < count; i++)
		times += hosts[i].line.addr == hosts[count].line.addr;
	return times;
}

static int read_hosts(const char *path, struct host *hosts, int *count)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int number = 0;
	int ret = 0;

	if (!f)
		return fail("%s: %s", path, strerror(errno));
	*count = 0;
	while (!ret && getline(&line, &room, f) > 0) {
		struct host *h = &hosts[*count];
		struct host_line words;
		int found = parse_host_line(line, &words);

		number++;
		if (!found)
			continue;
		if (found < 0 || !words.addr) {
			ret = fail("%s:%d: \"%s\" is no [USER@]HOST [ADDR[:PORT]] with the IPv4 address of the RDMA interface", path,
				   number, line);
			break;
		}
		if (*count == HOSTS_MAX) {
			ret = fail("%s: more than %d hosts", path, HOSTS_MAX);
			break;
		}
		h->line = words;
		h->here = is_own_address(h->line.addr);
		h->node = named_before(hosts, *count);
		if (h->node >= DSM_LOCAL_NODES_MAX) {
			ret = fail("%s:%d: a machine is %d nodes at most", path, number, DSM_LOCAL_NODES_MAX);
			break;
		}
		(*count)++;
	}
	if (!ret && ferror(f))
		ret = fail("%s: %s", path, strerror(errno));
	free(line);
	fclose(f);
	if (!ret && !*count)
		ret = fail("%s: no hosts", path);
	return ret;
}

static void become_ssh(const struct host *host, char *command)
{
	/* A machine that is off, or dies, is noticed. */
	char *words[SSH_WORDS_MAX + 3] = { "ssh", "-n", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=3",
					   "-o", "ServerAliveCountMax=3" };
	char *own = getenv("DSM_SSH");
	char *save = NULL;
	int count = 8;
	char *word;

	if (own && own[strspn(own, " ")]) {
		count = 0;
		for (word = strtok_r(own, " ", &save); word && count < SSH_WORDS_MAX;
		     word = strtok_r(NULL, " ", &save))
			words[count++] = word;
	}
	words[count++] = (char *)host->line.name;
	words[count++] = command;
	words[count] = NULL;
	execvp(words[0], words);
	fprintf(stderr, "dsmctl: %s: %s\n", words[0], strerror(errno));
	_exit(127);
}

static int run_here(const struct host *host, const char *command)
{
	char node[12];
	char words[256];
	char *argv[16];
	char *save = NULL;
	char *word;
	int argc = 0;
	int ret;

	snprintf(node, sizeof(node), "%d", host->node);
	setenv("DSM_LOCAL_NODE", node, 1);
	snprintf(words, sizeof(words), "%s", command);
	for (word = strtok_r(words, " ", &save); word && argc < 15; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	ret = strcmp(argv[0], "join") ? cmd_leave(argc, argv) : cmd_join(argc, argv);
	fflush(stdout);
	return ret;
}

/* DOUBT: it may have been done all the same, as what did it was ended, or the connection to it was. ABSENT: from any cluster. */
enum end { DONE, REFUSED, DOUBT, ABSENT };

#define SSH_FAILED 255

/*
 * A subcommand of ours on a host; its words are checked addresses and numbers, as the other machine's
 * shell reads them.
 */
static enum end run_on(const struct host *host, const char *subcommand)
{
	char command[300];
	int status;
	pid_t pid;

	if (host->node) {
		printf("%s, its node %d: ", host->line.name, host->node);
		snprintf(command, sizeof(command), "dsmctl --node %d %s", host->node, subcommand);
	} else {
		printf("%s: ", host->line.name);
		snprintf(command, sizeof(command), "dsmctl %s", subcommand);
	}
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		fail("fork: %s", strerror(errno));
		return REFUSED;
	}
	if (!pid) {
		on_stop(SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		if (!host->here)
			become_ssh(host, command);
		_exit(run_here(host, subcommand));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR) {
			fail("waitpid: %s", strerror(errno));
			return DOUBT;
		}
	if (!WIFEXITED(status) || WEXITSTATUS(status) == SSH_FAILED)
		return DOUBT;
	if (WEXITSTATUS(status) == EXIT_NOT_JOINED)
		return ABSENT;
	return WEXITSTATUS(status) ? REFUSED : DONE;
}

static enum end join(const struct host *hosts, int node)
{
	char command[256];
	int used;

	used = snprintf(command, sizeof(command), "join --listen %s --node %d", hosts[node].line.address, node);
	if (node)
		snprintf(command + used, sizeof(command) - (size_t)used, " --seed %s --nodes %d",
			 hosts[0].line.address, node + 1);
	return run_on(&hosts[node], command);
}

int cmd_up(int argc, char **argv)
{
	struct host hosts[HOSTS_MAX];
	enum end end = DONE;
	int count = 0, up = 0;
	int ret;

	if (argc != 2)
		return usage("up", "one HOSTFILE is needed");
	ret = read_hosts(argv[1], hosts, &count);
	if (ret)
		return ret;
	/* Who started this may ignore it: then it could not be told how ssh ended. */
	signal(SIGCHLD, SIG_DFL);
	/* Who reads what this prints may go, but then those that joined leave again. */
	signal(SIGPIPE, SIG_IGN);
	note_stops();
	while (up < count && !stopped_by() && end == DONE && !ferror(stdout)) {
		end = join(hosts, up);
		up += end == DONE;
	}
	if (up == count && !stopped_by() && printf("%d nodes are up\n", count) > 0 && !fflush(stdout) && !ferror(stdout))
		return 0;
	if (stopped_by())
		fail("stopped by signal %d. Those that joined leave again", stopped_by());
	else if (end == DONE)
		fail("what this prints cannot be written. Those that joined leave again");
	else
		fail("%s did not join; see above%s", hosts[up].line.name, up ? ". Those that joined just now leave again" : "");
	ret = stopped_by() ? 128 + stopped_by() : EXIT_FAILURE;
	up += end == DOUBT;
	on_stop(SIG_IGN);
	while (up--)
		run_on(&hosts[up], "leave");
	return ret;
}

int cmd_down(int argc, char **argv)
{
	struct host hosts[HOSTS_MAX];
	const char *path = NULL;
	bool force = false;
	int count = 0, left = 0;
	int ret, i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--force")) {
			force = true;
			continue;
		}
		if (*argv[i] == '-' || path)
			return usage("down", *argv[i] == '-' ? "the only option is --force" : "one HOSTFILE is enough");
		path = argv[i];
	}
	if (!path)
		return usage("down", "one HOSTFILE is needed");
	ret = read_hosts(path, hosts, &count);
	if (ret)
		return ret;
	signal(SIGCHLD, SIG_DFL);	/* see cmd_up() */
	/* Who reads what this prints may go: half of a cluster is of less use. */
	signal(SIGPIPE, SIG_IGN);
	/* The first, which the others joined, last. What one refuses to lose, all keep. Some may have left the last time. */
	for (i = count; i--;) {
		enum end end = run_on(&hosts[i], force ? "leave --force" : "leave");

		if (end == DONE || end == ABSENT)
			left++;
		else if (!force)
			break;
	}
	printf("%d of %d nodes have left\n", left, count);
	return left == count ? 0 : EXIT_FAILURE;
}
