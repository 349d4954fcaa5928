// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Starts a program on this machine, for a rank here and for one that is kept for another machine.
 * Never waits for its end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dsmrun.h"

/* As they were before files_raise(). */
static struct rlimit files;

void files_raise(void)
{
	struct rlimit all;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	all = files;
	all.rlim_cur = all.rlim_max;
	setrlimit(RLIMIT_NOFILE, &all);
}

void files_restore(void)
{
	if (files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &files);
}

static void become(const struct start *start, int report)
{
	sigset_t none;
	int err;

	if (start->own_group)
		setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	files_restore();
	if (dup2(start->in, 0) >= 0 && dup2(start->out, 1) >= 0 && dup2(start->err, 2) >= 0 &&
	    !setenv("DSM_RANK", start->rank, 1) && !setenv("DSM_RANKS", start->ranks, 1) &&
	    (!start->node || !*start->node || !setenv("DSM_LOCAL_NODE", start->node, 1)))
		execvp(start->argv[0], start->argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		err = EIO;
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

int program_start(const struct start *start, pid_t *pid)
{
	int report[2];
	int err = 0;
	ssize_t got;

	*pid = 0;
	if (pipe2(report, O_CLOEXEC)) {
		fprintf(stderr, "dsmrun: pipe: %s\n", strerror(errno));
		return EXIT_NOT_RUN;
	}
	*pid = fork();
	if (*pid < 0) {
		fprintf(stderr, "dsmrun: fork: %s\n", strerror(errno));
		close(report[0]);
		close(report[1]);
		*pid = 0;
		return EXIT_NOT_RUN;
	}
	if (!*pid)
		become(start, report[1]);
	/* Also here, so that a signal to the group finds it as soon as we return. */
	if (start->own_group)
		setpgid(*pid, *pid);
	close(report[1]);
	do {
		got = read(report[0], &err, sizeof(err));
	} while (got < 0 && errno == EINTR);
	close(report[0]);
	if (got <= 0)
		return 0;	/* closed by execve() */
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
	fprintf(stderr, "dsmrun: %s: %s\n", start->argv[0], strerror(err));
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}
