// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Looks after the processes: whole lines with the rank before them, signals passed on, exit statuses
 * gathered. A rank that cannot be started ends all, as the others would wait for it. One that fails later does so
 * only if that is wished for: the module tells the others what they lost, and they may go on.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../output.h"
#include "dsmrun.h"

#define LINE_MAX_BYTES 4096
#define PREFIX_BYTES 16		/* of a line, and its end */
/* sshd refuses some connections at random once 10 have not authenticated yet (MaxStartups). */
#define PENDING_MAX 8
#define SSH_FAILED 255

/* One of a child's two outputs, with the beginning of a line not yet ended. */
struct stream {
	struct child *child;
	int *fd;
	FILE *to;
	size_t used;
	char line[LINE_MAX_BYTES];
};

struct run {
	struct plan *plan;
	struct child *children;
	struct stream *streams;
	struct pollfd *fds;
	int count;
	int sigfd;
	int signals;		/* so many were passed on */
	bool ending;		/* start no more */
	bool incomplete;	/* since a rank could not be started, or failed; what the others say does not count */
	int worst;
};

static void handle_signal(struct run *run);

/*
 * Nothing may be reading, as a pager that waits for a key, and what ends us must be heard then. Who asks a second time for an end
 * does not wait for who reads.
 */
static bool wait_for_room(struct run *run, int fd)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLOUT }, { .fd = run->sigfd, .events = POLLIN } };

	for (;;) {
		if (run->signals > 1)
			return false;
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			return true;
		handle_signal(run);
	}
}

/* A pipe that has room takes PIPE_BUF without waiting. */
static void put(struct run *run, FILE *to, const char *text, size_t len)
{
	while (len && wait_for_room(run, fileno(to))) {
		size_t piece = len < PIPE_BUF ? len : PIPE_BUF;

		fwrite(text, 1, piece, to);
		fflush(to);
		text += piece;
		len -= piece;
	}
}

static void say(struct run *run, const char *format, ...)
{
	char text[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(run, stderr, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

static bool cut_tail(struct stream *s, const char *tail)
{
	size_t len = strlen(tail);

	if (s->used < len || memcmp(s->line + s->used - len, tail, len))
		return false;
	s->used -= len;
	return true;
}

/* The keeper's last line, at the end of what the program had not ended with a new line. */
static bool says_end(struct stream *s)
{
	size_t len = strlen(KEEPER_ENDED), at = s->used, digit;

	while (at && s->line[at - 1] >= '0' && s->line[at - 1] <= '9')
		at--;
	if (at == s->used || s->used - at > 3 || at < len || memcmp(s->line + at - len, KEEPER_ENDED, len))
		return false;
	for (s->child->told = 0, digit = at; digit < s->used; digit++)
		s->child->told = 10 * s->child->told + s->line[digit] - '0';
	s->child->ends++;
	s->used = at - len;
	return true;
}

/* Takes the keeper's lines; a login script may have written something before them. */
static bool from_keeper(struct stream *s)
{
	struct child *c = s->child;

	if (c->host->local)
		return false;
	if (c->ready && !c->failed && says_end(s))
		return true;
	if (s->fd != &c->out)
		return false;
	if (!c->ready && cut_tail(s, KEEPER_READY)) {
		c->ready = true;
		--*c->host->pending;
		return true;
	}
	if (c->ready && !c->failed && cut_tail(s, KEEPER_FAILED)) {
		c->failed = true;
		return true;
	}
	return false;
}

/* Of one stream, on their way to where it goes. */
struct lines {
	size_t used;
	char text[4 * LINE_MAX_BYTES];
};

static void put_lines(struct run *run, struct stream *s, struct lines *lines)
{
	put(run, s->to, lines->text, lines->used);
	lines->used = 0;
}

/* Into @lines, which is printed before when it might not have the room. */
static void add_line(struct run *run, struct stream *s, struct lines *lines)
{
	if (from_keeper(s) && !s->used)
		return;
	if (lines->used > sizeof(lines->text) - sizeof(s->line) - PREFIX_BYTES)
		put_lines(run, s, lines);
	lines->used += (size_t)sprintf(lines->text + lines->used, s->used ? "%d| " : "%d|", s->child->rank);
	memcpy(lines->text + lines->used, s->line, s->used);
	lines->used += s->used;
	lines->text[lines->used++] = '\n';
	s->used = 0;
}

static ssize_t read_stream(struct run *run, struct stream *s)
{
	struct lines lines = { .used = 0 };
	char buf[8192];
	ssize_t got = read(*s->fd, buf, sizeof(buf));
	ssize_t i;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return got;
	for (i = 0; i < got; i++) {
		if (buf[i] == '\n') {
			add_line(run, s, &lines);
			continue;
		}
		if (s->used == sizeof(s->line))
			add_line(run, s, &lines);
		s->line[s->used++] = buf[i];
	}
	if (got <= 0) {
		if (s->used)
			add_line(run, s, &lines);
		close(*s->fd);
		*s->fd = -1;
	}
	put_lines(run, s, &lines);
	return got;
}

/* Do all end with it? */
static bool ends_all(const struct run *run, const struct child *c)
{
	return c->status && run->plan->together && c->ready && !c->failed && !run->ending;
}

/* After the last of its output, so that the lines that explain it are above. */
static void report_end(struct run *run, struct child *c)
{
	bool remote = !c->host->local;
	char where[160] = "";

	c->begun = false;
	if (remote)
		snprintf(where, sizeof(where), " on %s", c->host->name);
	if (remote && !c->ready)
		--*c->host->pending;
	if (run->incomplete)
		return;
	if (!c->ready || c->failed) {
		const char *why = c->ready || !remote ? "" : c->status == EXIT_NOT_FOUND ?
				  " (is dsmrun there, at the same path?)" : " over ssh";

		if (run->ending)
			return;		/* we ended its ssh */
		say(run, "dsmrun: rank %d%s could not be started%s; ending all ranks\n", c->rank,
			where, why);
		run->incomplete = true;
		run->ending = true;
		/* A login script may have ended well instead. */
		run->worst = c->status ? c->status : EXIT_FAILURE;
		return;
	}
	if (c->status)
		say(run, "dsmrun: rank %d%s ended with status %d%s\n", c->rank, where, c->status,
			remote && c->status == SSH_FAILED ? ", as ssh does if a connection is lost" : "");
	if (c->status > run->worst)
		run->worst = c->status;
	if (ends_all(run, c)) {
		say(run, "dsmrun: ending all ranks\n");
		run->incomplete = true;
		run->ending = true;
	}
}

static void signal_all(struct run *run, int sig, bool from_terminal)
{
	int i;

	for (i = 0; i < run->count; i++)
		child_signal(&run->children[i], sig, from_terminal);
}

/* What is in the pipe by now, and no more: somebody else may hold the other end. */
static void read_rest(struct run *run, struct stream *s)
{
	int bytes;
	ssize_t got;

	if (*s->fd < 0 || ioctl(*s->fd, FIONREAD, &bytes))
		return;
	for (; bytes > 0; bytes -= (int)got) {
		got = read_stream(run, s);
		if (got <= 0)
			return;
	}
}

/*
 * Reports those from whom nothing is to be expected any more. Their children may still hold the
 * output; who asks a second time for an end does not wait for these, nor do ranks that are to end with one.
 */
static void look_for_ends(struct run *run)
{
	int i, signals = run->signals;
	bool ending = run->ending;

	for (i = 0; i < run->count; i++) {
		struct child *c = &run->children[i];

		if (!c->begun || c->pid)
			continue;
		read_rest(run, &run->streams[2 * i]);
		read_rest(run, &run->streams[2 * i + 1]);
		if ((c->out < 0 && c->err < 0) || run->signals > 1 || run->incomplete || ends_all(run, c))
			report_end(run, c);
	}
	/* A signal that came meanwhile has been passed on. */
	if (run->ending && !ending && run->signals == signals)
		signal_all(run, SIGTERM, false);
}

static void start_more(struct run *run)
{
	int i;

	for (i = 0; i < run->count && !run->ending; i++) {
		struct child *c = &run->children[i];

		if (c->begun || c->ready || c->failed || *c->host->pending >= PENDING_MAX)
			continue;
		if (spawn(run->plan, c))
			look_for_ends(run);
	}
}

static void reap(struct run *run)
{
	int status;
	pid_t pid;
	int i;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (i = 0; i < run->count; i++) {
			struct child *c = &run->children[i];

			if (c->pid != pid)
				continue;
			c->pid = 0;
			c->status = c->ends == 2 ? c->told : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			if (c->control >= 0)
				close(c->control);
			c->control = -1;
		}
	}
}

static void handle_signal(struct run *run)
{
	struct signalfd_siginfo info;
	int sig, i;

	if (read(run->sigfd, &info, sizeof(info)) != sizeof(info))
		return;
	sig = (int)info.ssi_signo;
	if (sig == SIGCHLD) {
		reap(run);
		return;
	}
	for (i = 0; i < run->count; i++)
		if (!run->children[i].ready && 128 + sig > run->worst)
			run->worst = 128 + sig;
	run->ending = true;
	signal_all(run, sig, info.ssi_code == SI_KERNEL);
	/* Whoever asks again does not want to wait for the other machines. */
	if (run->signals++)
		for (i = 0; i < run->count; i++)
			child_disconnect(&run->children[i]);
}

/* Who is running, or ends without having been waited for: with run->ending nobody is begun any more. */
static bool any_left(const struct run *run)
{
	int i;

	for (i = 0; i < run->count; i++) {
		const struct child *c = &run->children[i];

		if (c->begun || (!run->ending && !c->ready && !c->failed))
			return true;
	}
	return false;
}

/* As a shell's pipe does to the one program before it. */
static void end_unread(struct run *run)
{
	if (run->ending || !ferror(stdout) || !output_is_unread())
		return;
	run->worst = 128 + SIGPIPE;
	run->incomplete = true;
	run->ending = true;
	signal_all(run, SIGTERM, false);
}

/* ssh goes on while somebody on the other machine holds the output of a program that has ended, though all are to end. */
static void let_go(struct run *run)
{
	int i;

	for (i = 0; i < run->count; i++) {
		struct child *c = &run->children[i];

		if (c->ends == 2 && (run->incomplete || (run->plan->together && c->told)))
			child_disconnect(c);
	}
}

static void attend(struct run *run)
{
	int streams = 2 * run->count;
	nfds_t open, at;
	int i;

	for (start_more(run); any_left(run); start_more(run)) {
		/* Those that are open alone: poll() takes no more than there may be files. */
		run->fds[0] = (struct pollfd){ .fd = run->sigfd, .events = POLLIN };
		for (i = 0, open = 1; i < streams; i++)
			if (*run->streams[i].fd >= 0)
				run->fds[open++] = (struct pollfd){ .fd = *run->streams[i].fd, .events = POLLIN };
		if (poll(run->fds, open, -1) < 0)
			continue;
		for (i = 0, at = 1; at < open; i++) {
			if (*run->streams[i].fd != run->fds[at].fd)
				continue;
			if (run->fds[at++].revents)
				read_stream(run, &run->streams[i]);
		}
		if (run->fds[0].revents)
			handle_signal(run);
		end_unread(run);
		let_go(run);
		look_for_ends(run);
	}
}

static int watch_signals(void)
{
	static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	/* Who started this may ignore it: then no child that ends would be told of. */
	signal(SIGCHLD, SIG_DFL);
	sigaddset(&set, SIGCHLD);
	/* What is ignored, as by nohup, is so on all machines. */
	for (i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		if (!sigaction(passed_on[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&set, passed_on[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* A child for each rank that is ours to start. */
static void assign(struct run *run)
{
	struct plan *plan = run->plan;
	int rank, i, same;

	for (i = 0; i < plan->host_count; i++) {
		for (same = 0; strcmp(plan->hosts[same].name, plan->hosts[i].name); same++)
			;
		plan->hosts[i].pending = &plan->hosts[same].first_pending;
	}
	for (rank = 0; rank < plan->ranks; rank++) {
		int slot = plan->ppn ? rank / plan->ppn : rank;
		struct child *c = &run->children[run->count];

		if (plan->shares > 1 && slot % plan->shares != plan->share)
			continue;
		*c = (struct child){ .rank = rank, .control = -1, .out = -1, .err = -1,
				     .host = &plan->hosts[slot % plan->host_count] };
		run->streams[2 * run->count] =
			(struct stream){ .child = c, .fd = &c->out, .to = stdout };
		run->streams[2 * run->count + 1] =
			(struct stream){ .child = c, .fd = &c->err, .to = stderr };
		run->count++;
	}
}

int run_all(struct plan *plan)
{
	struct run run = { .plan = plan };
	size_t room = (size_t)plan->ranks;

	run.children = calloc(room, sizeof(*run.children));
	run.streams = calloc(room * 2, sizeof(*run.streams));
	run.fds = calloc(room * 2 + 1, sizeof(*run.fds));
	files_raise();
	run.sigfd = watch_signals();
	if (!run.children || !run.streams || !run.fds || run.sigfd < 0) {
		fprintf(stderr, "dsmrun: out of memory or of files\n");
		run.worst = EXIT_FAILURE;
	} else {
		assign(&run);
		attend(&run);
	}
	free(run.fds);
	free(run.streams);
	free(run.children);
	return run.worst;
}
