// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Starts one rank, here or over ssh. Never reads its output.
 *
 * A remote program is kept by a few lines of shell that read signal names from ssh's standard input: a
 * name is sent on to the program, and the end of the input (dsmrun or the connection is gone) ends it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "dsmrun.h"

static const char keeper[] =
	"exec 3<&0; \"$@\" </dev/null 3<&- & p=$!; "
	"{ while read -r s <&3; do kill -s \"$s\" $p; done; kill -s TERM $p; } 2>/dev/null & w=$!; "
	"wait $p; r=$?; "
	"while [ $r -gt 128 ] && kill -0 $p 2>/dev/null; do wait $p; r=$?; done; "
	"kill $w 2>/dev/null; exit $r";

static const struct host *host_of(const struct plan *plan, int rank)
{
	int at = plan->ppn ? rank / plan->ppn : rank;

	return &plan->hosts[at % plan->host_count];
}

/* Appends @text to @to so that a shell reads it as one word. */
static void quote(FILE *to, const char *text)
{
	fputs(" '", to);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", to);
		else
			fputc(*text, to);
	}
	fputc('\'', to);
}

static char *remote_command(const struct plan *plan, int rank)
{
	char number[64];
	char *cwd = getcwd(NULL, 0);
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	int i;

	if (!to)
		return NULL;
	fputs("cd", to);
	quote(to, cwd ? cwd : "/");
	fputs(" && exec sh -c", to);
	quote(to, keeper);
	fputs(" dsmrun env", to);
	snprintf(number, sizeof(number), "DSM_RANK=%d", rank);
	quote(to, number);
	snprintf(number, sizeof(number), "DSM_RANKS=%d", plan->ranks);
	quote(to, number);
	for (i = 0; plan->argv[i]; i++)
		quote(to, plan->argv[i]);
	free(cwd);
	if (fclose(to)) {
		free(text);
		return NULL;
	}
	return text;
}

static void exec_remote(const struct plan *plan, int rank, const struct host *host)
{
	const char *ssh = getenv("DSM_SSH") ? getenv("DSM_SSH") : "ssh";
	char *command = remote_command(plan, rank);

	if (!command)
		_exit(126);
	execlp(ssh, ssh, host->name, command, (char *)NULL);
	fprintf(stderr, "dsmrun: %s: %s\n", ssh, strerror(errno));
	_exit(127);
}

static void exec_local(const struct plan *plan, int rank)
{
	char number[32];

	/* A group of its own: the terminal's Ctrl-C goes to dsmrun, which forwards it once. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(number, sizeof(number), "%d", rank);
	setenv("DSM_RANK", number, 1);
	snprintf(number, sizeof(number), "%d", plan->ranks);
	setenv("DSM_RANKS", number, 1);
	execvp(plan->argv[0], plan->argv);
	fprintf(stderr, "dsmrun: %s: %s\n", plan->argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void run_child(const struct plan *plan, int rank, const struct host *host, int in, int out,
		      int err)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (in >= 0)
		dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (host->local)
		exec_local(plan, rank);
	setpgid(0, 0);
	exec_remote(plan, rank, host);
}

/* What a rank reads: rank 0 of this machine the terminal or file of dsmrun, the others nothing. */
static int input_of(int rank, bool remote, int *control)
{
	int pair[2];

	*control = -1;
	if (!remote)
		return rank ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	if (pipe2(pair, O_CLOEXEC))
		return -2;
	*control = pair[1];
	return pair[0];
}

int spawn(const struct plan *plan, int rank, struct child *child)
{
	const struct host *host = host_of(plan, rank);
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int in;

	child->rank = rank;
	child->remote = !host->local;
	in = input_of(rank, child->remote, &child->control);
	if (in < -1 || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
		fprintf(stderr, "dsmrun: pipe: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	child->pid = fork();
	if (child->pid < 0) {
		fprintf(stderr, "dsmrun: fork: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	if (!child->pid)
		run_child(plan, rank, host, in, out[1], err[1]);
	if (in >= 0)
		close(in);
	close(out[1]);
	close(err[1]);
	child->out = out[0];
	child->err = err[0];
	return 0;
}

void child_signal(const struct child *child, int sig)
{
	const char *name = sig == SIGINT ? "INT\n" : "TERM\n";

	if (child->pid <= 0)
		return;
	if (!child->remote)
		kill(-child->pid, sig);
	else if (write(child->control, name, strlen(name)) < 0)
		kill(child->pid, sig);
}
