// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Looks after the processes: whole lines with the rank before them, signals passed on, exit statuses
 * gathered. Never kills the others when one fails; the module tells them what they lost.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dsmrun.h"

#define LINE_MAX_BYTES 4096

/* One of a child's two outputs, with the beginning of a line not yet ended. */
struct stream {
	int *fd;
	int rank;
	FILE *to;
	size_t used;
	char line[LINE_MAX_BYTES];
};

static void print_line(struct stream *s)
{
	if (s->used)
		fprintf(s->to, "%d| %.*s\n", s->rank, (int)s->used, s->line);
	s->used = 0;
}

static void read_stream(struct stream *s)
{
	char buf[8192];
	ssize_t got = read(*s->fd, buf, sizeof(buf));
	ssize_t i;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	for (i = 0; i < got; i++) {
		if (buf[i] != '\n') {
			s->line[s->used++] = buf[i];
			if (s->used < sizeof(s->line))
				continue;
		} else if (!s->used) {
			fprintf(s->to, "%d|\n", s->rank);
		}
		print_line(s);
	}
	if (got <= 0) {
		print_line(s);
		close(*s->fd);
		*s->fd = -1;
	}
	fflush(s->to);
}

static int reap(struct child *children, int count, int worst)
{
	int status;
	pid_t pid;
	int i;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

		for (i = 0; i < count; i++) {
			if (children[i].pid != pid)
				continue;
			children[i].pid = 0;
			if (code)
				fprintf(stderr, "dsmrun: rank %d ended with status %d\n",
					children[i].rank, code);
			if (code > worst)
				worst = code;
		}
	}
	return worst;
}

static bool any_left(const struct child *children, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (children[i].pid > 0 || children[i].out >= 0 || children[i].err >= 0)
			return true;
	return false;
}

static int handle_signal(int sigfd, struct child *children, int count, int worst)
{
	struct signalfd_siginfo info;
	int i;

	if (read(sigfd, &info, sizeof(info)) != sizeof(info))
		return worst;
	if (info.ssi_signo != SIGCHLD)
		for (i = 0; i < count; i++)
			child_signal(&children[i], (int)info.ssi_signo);
	return reap(children, count, worst);
}

static int attend(struct child *children, struct stream *streams, struct pollfd *fds, int count,
		  int sigfd)
{
	int worst = 0;
	int i;

	while (any_left(children, count)) {
		for (i = 0; i < 2 * count; i++) {
			fds[i].fd = *streams[i].fd;
			fds[i].events = POLLIN;
		}
		fds[2 * count].fd = sigfd;
		fds[2 * count].events = POLLIN;
		if (poll(fds, (nfds_t)(2 * count + 1), -1) < 0)
			continue;
		for (i = 0; i < 2 * count; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				read_stream(&streams[i]);
		if (fds[2 * count].revents)
			worst = handle_signal(sigfd, children, count, worst);
	}
	return worst;
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

int run_all(const struct plan *plan)
{
	int room = (plan->ranks - plan->first + plan->step - 1) / plan->step;
	struct child *children;
	struct stream *streams;
	struct pollfd *fds;
	int ret = EXIT_FAILURE;
	int count = 0;
	int sigfd, rank;

	if (room <= 0)
		return 0;
	children = calloc((size_t)room, sizeof(*children));
	streams = calloc((size_t)room * 2, sizeof(*streams));
	fds = calloc((size_t)room * 2 + 1, sizeof(*fds));
	sigfd = watch_signals();
	if (!children || !streams || !fds || sigfd < 0) {
		fprintf(stderr, "dsmrun: out of memory or of files\n");
		goto out;
	}
	for (rank = plan->first; rank < plan->ranks; rank += plan->step) {
		struct child *c = &children[count];

		if (spawn(plan, rank, c))
			break;
		streams[2 * count] = (struct stream){ .fd = &c->out, .rank = rank, .to = stdout };
		streams[2 * count + 1] = (struct stream){ .fd = &c->err, .rank = rank, .to = stderr };
		count++;
	}
	if (count == room) {
		ret = attend(children, streams, fds, count, sigfd);
	} else {
		while (count--)
			child_signal(&children[count], SIGTERM);
	}
out:
	free(fds);
	free(streams);
	free(children);
	return ret;
}
