// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The far end of ssh, dsmrun --keep: reads what to start, then names of signals to pass on, and ends
 * the program when its input ends, as dsmrun or the connection is gone then. Never touches the
 * program's output.
 *
 * The input is "KEEPER_MAGIC BYTES\n", so many bytes of strings that end in NUL (directory, rank,
 * number of ranks, DSM_LOCAL_NODE or "", program, arguments), then lines. So no shell reads any argument.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dsmrun.h"

/* From SIGTERM to SIGKILL for a program that nobody waits for any more. */
#define GRACE_MS 5000
#define FIXED_STRINGS 4

static void say_line(const char *line)
{
	/* Before the program has the descriptor: nothing of its own can come between. */
	if (dprintf(STDOUT_FILENO, "%s\n", line) < 0)
		exit(EXIT_FAILURE);
}

static int not_started(int status)
{
	say_line(KEEPER_FAILED);
	return status;
}

static bool read_exactly(char *to, size_t len)
{
	while (len) {
		ssize_t got = read(STDIN_FILENO, to, len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		len -= (size_t)got;
	}
	return true;
}

/* The first line, byte by byte, since what follows is not for us to buffer. */
static bool read_head(size_t *len)
{
	char line[64];
	size_t used = 0;
	char *end;

	do {
		if (used == sizeof(line) || !read_exactly(&line[used], 1))
			return false;
	} while (line[used++] != '\n');
	line[used - 1] = '\0';
	if (strncmp(line, KEEPER_MAGIC " ", sizeof(KEEPER_MAGIC)))
		return false;
	*len = strtoul(line + sizeof(KEEPER_MAGIC), &end, 10);
	return !*end && *len && *len <= KEEPER_INPUT_MAX;
}

/* All strings as an array that ends with NULL, or NULL. */
static char **read_strings(void)
{
	char **strings = NULL;
	char *block = NULL;
	size_t len, at, count = 0;

	if (read_head(&len))
		block = malloc(len);
	if (!block || !read_exactly(block, len) || block[len - 1])
		return NULL;
	for (at = 0; at < len; at++)
		count += !block[at];
	if (count <= FIXED_STRINGS)
		return NULL;
	strings = calloc(count + 1, sizeof(*strings));
	if (!strings)
		return NULL;
	for (at = 0, count = 0; at < len; at += strlen(block + at) + 1)
		strings[count++] = block + at;
	return strings;
}

static void forward(pid_t pid, const char *text, ssize_t len)
{
	static char line[8];
	static size_t used;

	for (; len > 0; len--, text++) {
		if (*text != '\n') {
			if (used < sizeof(line) - 1)
				line[used++] = *text;
			continue;
		}
		line[used] = '\0';
		used = 0;
		if (!strcmp(line, "INT"))
			kill(-pid, SIGINT);
		else if (!strcmp(line, "TERM"))
			kill(-pid, SIGTERM);
		else if (!strcmp(line, "HUP"))
			kill(-pid, SIGHUP);
	}
}

/*
 * Has the program ended? It is not waited for yet, so its number, which is that of the group, still is its own. Those that it
 * left behind are ours (PR_SET_CHILD_SUBREAPER).
 */
static bool has_ended(pid_t pid)
{
	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
			return false;
		if (info.si_pid == pid)
			return true;
		waitpid(info.si_pid, NULL, 0);
	}
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int in_shell_words(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int take_status(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? in_shell_words(status) : EXIT_FAILURE;
}

/* A signal for us, or the end of a child: true if that is the program's. */
static bool handle_signal(pid_t pid, int sigfd)
{
	struct signalfd_siginfo info;

	if (read(sigfd, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo != SIGCHLD)
		kill(-pid, (int)info.ssi_signo);
	return has_ended(pid);
}

/* Nobody waits for the program any more: all of its group ends, what does not within some time is killed. Returns its status. */
static int end(pid_t pid, int sigfd)
{
	struct pollfd child = { .fd = sigfd, .events = POLLIN };
	long until = now_ms() + GRACE_MS, left;
	int status, ended = EXIT_FAILURE;
	struct signalfd_siginfo info;
	pid_t who;

	kill(-pid, SIGTERM);
	for (;;) {
		while ((who = waitpid(-pid, &status, WNOHANG)) > 0)
			if (who == pid)
				ended = in_shell_words(status);
		/* As long as one is left the group's number is its own. */
		if (who < 0)
			return ended;
		left = until - now_ms();
		if (left <= 0)
			kill(-pid, SIGKILL);
		if (poll(&child, 1, left > 0 ? (int)left : -1) > 0 && read(sigfd, &info, sizeof(info)) < 0)
			return ended;
	}
}

static int say_ended(int status)
{
	dprintf(STDERR_FILENO, KEEPER_ENDED "%d\n", status);
	dprintf(STDOUT_FILENO, KEEPER_ENDED "%d\n", status);
	return status;
}

/* Returns the program's exit status. */
static int look_after(pid_t pid, int sigfd)
{
	struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
				 { .fd = sigfd, .events = POLLIN } };

	for (;;) {
		char text[64];
		ssize_t got;

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents && handle_signal(pid, sigfd))
			return say_ended(take_status(pid));
		if (!fds[0].revents)
			continue;
		got = read(STDIN_FILENO, text, sizeof(text));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return end(pid, sigfd);
		forward(pid, text, got);
	}
}

int keep(void)
{
	struct start start = { .out = STDOUT_FILENO, .err = STDERR_FILENO, .own_group = true };
	char **strings = read_strings();
	sigset_t set;
	int sigfd, ret;
	pid_t pid;

	if (!strings) {
		fprintf(stderr, "dsmrun: --keep is for dsmrun itself, of the same version\n");
		return EXIT_FAILURE;
	}
	say_line(KEEPER_READY);
	if (chdir(strings[0])) {
		fprintf(stderr, "dsmrun: cannot enter %s: %s\n", strings[0], strerror(errno));
		return not_started(EXIT_NOT_RUN);
	}
	start.rank = strings[1];
	start.ranks = strings[2];
	start.node = strings[3];
	start.argv = strings + FIXED_STRINGS;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigfd = signalfd(-1, &set, SFD_CLOEXEC);
	start.in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (sigfd < 0 || start.in < 0) {
		fprintf(stderr, "dsmrun: %s\n", strerror(errno));
		return not_started(EXIT_NOT_RUN);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	ret = program_start(&start, &pid);
	if (ret)
		return not_started(ret);
	return look_after(pid, sigfd);
}
