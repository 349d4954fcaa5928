// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Starts one rank, here or over ssh, and signals it. Never reads its output.
 *
 * A remote program is kept by a dsmrun --keep, which gets the program's words and then the names of
 * signals over ssh's standard input; see keep.c.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "dsmrun.h"

#define SSH_WORDS_MAX 32
#define FAMILY_MAX 1024

/*
 * Many ssh at once cannot ask, and are in no group that may: BatchMode. A machine that is off or dies
 * must be noticed: ConnectTimeout, ServerAlive. A shared connection bounds the sessions, and its master
 * would keep our pipes open: ControlPath.
 */
static char *const ssh_default[] = {
	"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=3",
	"-o", "ServerAliveCountMax=3", "-o", "ControlPath=none", NULL
};

/* The command for the other machine's shell: our own path there, quoted. */
static char *keeper_command(void)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *text = NULL;
	size_t size;
	FILE *to;
	char *c;

	if (len <= 0)
		return NULL;
	path[len] = '\0';
	to = open_memstream(&text, &size);
	if (!to)
		return NULL;
	fputs("exec '", to);
	for (c = path; *c; c++) {
		if (*c == '\'')
			fputs("'\\''", to);
		else
			fputc(*c, to);
	}
	fputs("' --keep", to);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

static void become_ssh(const struct host *host, int in, int out, int err)
{
	char *words[SSH_WORDS_MAX + 3];
	char *own = getenv("DSM_SSH");
	char *save = NULL;
	sigset_t none;
	int count = 0;
	char *word;

	if (own && own[strspn(own, " ")]) {
		for (word = strtok_r(own, " ", &save); word && count < SSH_WORDS_MAX;
		     word = strtok_r(NULL, " ", &save))
			words[count++] = word;
	} else {
		while (ssh_default[count]) {
			words[count] = ssh_default[count];
			count++;
		}
	}
	words[count++] = (char *)host->name;
	words[count] = keeper_command();
	if (!words[count++])
		_exit(EXIT_NOT_RUN);
	words[count] = NULL;
	/* A group of its own: Ctrl-C must not cut the connection, over which it is passed on. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	files_restore();
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	execvp(words[0], words);
	fprintf(stderr, "dsmrun: %s: %s\n", words[0], strerror(errno));
	_exit(EXIT_NOT_FOUND);
}

/* What the keeper reads first. The length, or 0 after a message. */
static size_t keeper_input(const struct plan *plan, const struct child *child, char **text)
{
	char *cwd = getcwd(NULL, 0);
	char *strings = NULL;
	size_t len = 0, size = 0;
	FILE *to = open_memstream(&strings, &len);
	int i;

	*text = NULL;
	if (!to || !cwd) {
		fprintf(stderr, "dsmrun: %s\n", strerror(errno));
		goto out;
	}
	fprintf(to, "%s%c%d%c%d%c%s%c", cwd, 0, child->rank, 0, plan->ranks, 0, child->host->node, 0);
	for (i = 0; plan->argv[i]; i++)
		fprintf(to, "%s%c", plan->argv[i], 0);
	if (fclose(to) || len > KEEPER_INPUT_MAX - 64) {
		to = NULL;
		fprintf(stderr, "dsmrun: more arguments than %d bytes\n", KEEPER_INPUT_MAX - 64);
		goto out;
	}
	to = open_memstream(text, &size);
	if (to) {
		fprintf(to, "%s %zu\n", KEEPER_MAGIC, len);
		fwrite(strings, 1, len, to);
		if (fclose(to))
			size = 0;
		to = NULL;
	}
out:
	if (to)
		fclose(to);
	free(cwd);
	free(strings);
	return size;
}

/* A pipe that holds all of the keeper's first input, so that writing it never waits for ssh. */
static int make_control(const struct plan *plan, const struct child *child, int pair[2])
{
	char *text;
	size_t len = keeper_input(plan, child, &text);
	ssize_t put = -1;

	if (!len || pipe2(pair, O_CLOEXEC | O_NONBLOCK)) {
		free(text);
		return -1;
	}
	/* ssh expects an end that blocks. */
	fcntl(pair[0], F_SETFL, 0);
	if (len <= 32768 || fcntl(pair[1], F_SETPIPE_SZ, KEEPER_INPUT_MAX) >= 0)
		put = write(pair[1], text, len);
	free(text);
	if (put == (ssize_t)len)
		return 0;
	fprintf(stderr, "dsmrun: no room for the arguments in a pipe: %s\n", strerror(errno));
	close(pair[0]);
	close(pair[1]);
	return -1;
}

static int spawn_ssh(const struct plan *plan, struct child *child, int out, int err)
{
	int control[2];

	if (make_control(plan, child, control))
		return EXIT_NOT_RUN;
	child->pid = fork();
	if (!child->pid)
		become_ssh(child->host, control[0], out, err);
	close(control[0]);
	if (child->pid < 0) {
		fprintf(stderr, "dsmrun: fork: %s\n", strerror(errno));
		child->pid = 0;
		close(control[1]);
		return EXIT_NOT_RUN;
	}
	child->control = control[1];
	++*child->host->pending;
	return 0;
}

/* Rank 0 reads what dsmrun reads, the others nothing. */
static int spawn_here(const struct plan *plan, struct child *child, int out, int err)
{
	char rank[16], ranks[16];
	struct start start = { .argv = plan->argv, .rank = rank, .ranks = ranks,
			       .node = child->host->node, .out = out, .err = err };
	int ret;

	/* A group of its own, but for who reads the terminal: only its foreground group may. */
	child->in_our_group = !child->rank && isatty(STDIN_FILENO);
	start.own_group = !child->in_our_group;
	start.in = child->rank ? open("/dev/null", O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	snprintf(rank, sizeof(rank), "%d", child->rank);
	snprintf(ranks, sizeof(ranks), "%d", plan->ranks);
	ret = program_start(&start, &child->pid);
	if (child->rank)
		close(start.in);
	child->ready = true;
	child->failed = !!ret;
	return ret;
}

int spawn(const struct plan *plan, struct child *child)
{
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };

	child->begun = true;
	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		fprintf(stderr, "dsmrun: pipe: %s\n", strerror(errno));
		child->status = EXIT_NOT_RUN;
	} else if (child->host->local) {
		child->status = spawn_here(plan, child, out[1], err[1]);
	} else {
		child->status = spawn_ssh(plan, child, out[1], err[1]);
	}
	close(out[1]);
	close(err[1]);
	if (child->status) {
		close(out[0]);
		close(err[0]);
		child->failed = true;
		return child->status;
	}
	child->out = out[0];
	child->err = err[0];
	return 0;
}

/* A process and all that descend from it, parents first. */
struct family {
	pid_t pid[FAMILY_MAX];
	int count;
};

static void find_children(struct family *all, const char *path)
{
	FILE *f = fopen(path, "re");
	int pid;

	while (f && all->count < FAMILY_MAX && fscanf(f, "%d", &pid) == 1)
		all->pid[all->count++] = pid;
	if (f)
		fclose(f);
}

static void find_family(struct family *all, pid_t first)
{
	char path[64];
	struct dirent *e;
	DIR *threads;
	int i;

	all->pid[0] = first;
	all->count = 1;
	for (i = 0; i < all->count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task", all->pid[i]);
		threads = opendir(path);
		while (threads && (e = readdir(threads))) {
			snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", all->pid[i], e->d_name);
			find_children(all, path);
		}
		if (threads)
			closedir(threads);
	}
}

/* In whose group others are, which are not to have the signal. All are found before any ends: then its children are another's. */
static void signal_family(pid_t first, int sig)
{
	struct family all;
	int i;

	find_family(&all, first);
	for (i = 0; i < all.count; i++)
		kill(all.pid[i], sig);
}

void child_signal(const struct child *child, int sig, bool from_terminal)
{
	const char *name = sig == SIGINT ? "INT\n" : sig == SIGHUP ? "HUP\n" : "TERM\n";

	if (child->pid <= 0)
		return;
	if (child->in_our_group) {
		if (!from_terminal)
			signal_family(child->pid, sig);
	} else if (child->host->local) {
		kill(-child->pid, sig);
	} else if (!child->ready || write(child->control, name, strlen(name)) < 0) {
		child_disconnect(child);
	}
}

void child_disconnect(const struct child *child)
{
	if (child->pid > 0 && !child->host->local)
		kill(child->pid, SIGTERM);
}
