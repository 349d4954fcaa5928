// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * agent - process 1 of a guest: runs commands for the host over virtio-serial ports.
 *
 * Each port (named in PORTS) carries frames: a 12-byte header and a payload. The host
 * numbers its commands; output, errors and the exit status come back under that number, so
 * any number of commands run at the same time. A command is a session of its own and is
 * killed when the host closes the port. The agent never interprets what it runs and never
 * exits: the end of process 1 is a kernel panic, which ends the guest.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORTS 2
#define CHUNK_BYTES 16384
#define PAYLOAD_MAX_BYTES (1 << 20)
#define INPUT_HIGH_BYTES (1 << 20)
#define JOBS_MAX 256

enum frame_type {
	FRAME_EXEC = 1,
	FRAME_INPUT = 2,
	FRAME_SIGNAL = 3,
	FRAME_PING = 4,
	FRAME_HELLO = 16,
	FRAME_OUT = 17,
	FRAME_ERR = 18,
	FRAME_STARTED = 19,
	FRAME_EXIT = 20,
};

#define EXEC_PTY 1

struct frame {
	uint32_t len; /* of the payload, bytes */
	uint32_t type;
	uint32_t id;
};

/* One port. @buf holds bytes of frames not yet complete. */
struct port {
	const char *name;
	int fd;
	bool connected;
	uint8_t *buf;
	size_t len;
};

/* One command, from its start until it has exited and its output has ended. */
struct job {
	struct job *next;
	struct port *port;
	uint32_t id;
	pid_t pid; /* 0 once it was waited for */
	int in;	   /* -1 = closed */
	int out;
	int err;
	bool in_eof;
	uint8_t *input;
	size_t input_len;
};

static struct port ports[PORTS] = {
	{ .name = "dsm.control", .fd = -1 },
	{ .name = "dsm.shell", .fd = -1 },
};

static struct job *jobs;
static sigset_t no_signals;

static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("agent: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

static void *alloc(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p) {
		say("out of memory");
		exit(1);
	}
	return p;
}

static bool write_all(struct port *port, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		struct pollfd pfd = { .fd = port->fd, .events = POLLOUT };
		ssize_t n = write(port->fd, p, len);

		if (n > 0) {
			p += n;
			len -= n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (poll(&pfd, 1, 1000) > 0 && (pfd.revents & POLLHUP))
			return false;
	}
	return true;
}

static void send_frame(struct port *port, uint32_t type, uint32_t id, const void *data, size_t len)
{
	struct frame f = { htole32(len), htole32(type), htole32(id) };
	uint8_t *whole;

	if (!port->connected)
		return;
	/* One write, so that a frame is one transfer of the port. */
	whole = alloc(NULL, sizeof(f) + len);
	memcpy(whole, &f, sizeof(f));
	if (len)
		memcpy(whole + sizeof(f), data, len);
	write_all(port, whole, sizeof(f) + len);
	free(whole);
}

static void send_u32(struct port *port, uint32_t type, uint32_t id, uint32_t value)
{
	value = htole32(value);
	send_frame(port, type, id, &value, sizeof(value));
}

static struct job *job_find(const struct port *port, uint32_t id)
{
	struct job *j;

	for (j = jobs; j; j = j->next)
		if (j->port == port && j->id == id)
			return j;
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void job_reap_finished(void)
{
	struct job **link = &jobs;

	while (*link) {
		struct job *j = *link;

		if (j->pid || j->out >= 0 || j->err >= 0) {
			link = &j->next;
			continue;
		}
		*link = j->next;
		close_fd(&j->in);
		free(j->input);
		free(j);
	}
}

static void pump(struct job *j, int *fd, uint32_t type)
{
	uint8_t chunk[CHUNK_BYTES];
	ssize_t n;

	while (*fd >= 0) {
		n = read(*fd, chunk, sizeof(chunk));
		if (n > 0) {
			send_frame(j->port, type, j->id, chunk, n);
			/* A partial read has emptied the pipe, most often. */
			if ((size_t)n < sizeof(chunk))
				return;
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (*fd == j->in)
			j->in = -1;
		close_fd(fd);
	}
}

static void feed(struct job *j)
{
	ssize_t n;

	while (j->in >= 0 && j->input_len) {
		n = write(j->in, j->input, j->input_len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			if (j->in != j->out)
				close_fd(&j->in);
			j->input_len = 0;
			return;
		}
		j->input_len -= n;
		memmove(j->input, j->input + n, j->input_len);
	}
	if (j->in_eof && j->in != j->out)
		close_fd(&j->in);
}

static void child(char **argv, char **envp, const char *cwd, int in, int out, int err, bool tty)
{
	sigprocmask(SIG_SETMASK, &no_signals, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (tty)
		ioctl(0, TIOCSCTTY, 0);
	close_range(3, ~0U, 0);
	if (*cwd && chdir(cwd)) {
		fprintf(stderr, "cannot enter %s: %s\n", cwd, strerror(errno));
		_exit(126);
	}
	for (; *envp; envp++)
		putenv(*envp);
	execvp(argv[0], argv);
	fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* The strings of an EXEC payload, NUL-terminated each, as an argv; NULL if cut short. */
static char **strings(char **at, char *end, uint32_t count)
{
	char **v;
	uint32_t i;

	if (count > (uint32_t)(end - *at))
		return NULL;
	v = alloc(NULL, (count + 1) * sizeof(*v));
	for (i = 0; i < count; i++) {
		char *nul = memchr(*at, 0, end - *at);

		if (!nul) {
			free(v);
			return NULL;
		}
		v[i] = *at;
		*at = nul + 1;
	}
	v[count] = NULL;
	return v;
}

static void nonblocking(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int start_on_pty(struct job *j, char **argv, char **envp, const char *cwd)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL))
		return -errno;
	j->pid = fork();
	if (!j->pid)
		child(argv, envp, cwd, slave, slave, slave, true);
	close(slave);
	nonblocking(master);
	j->in = master;
	j->out = master;
	j->err = -1;
	return j->pid < 0 ? -EAGAIN : 0;
}

static int start_on_pipes(struct job *j, char **argv, char **envp, const char *cwd)
{
	int in[2], out[2], err[2];

	if (pipe(in) || pipe(out) || pipe(err))
		return -errno;
	j->pid = fork();
	if (!j->pid)
		child(argv, envp, cwd, in[0], out[1], err[1], false);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	nonblocking(in[1]);
	nonblocking(out[0]);
	nonblocking(err[0]);
	j->in = in[1];
	j->out = out[0];
	j->err = err[0];
	return j->pid < 0 ? -EAGAIN : 0;
}

static void do_exec(struct port *port, uint32_t id, char *at, size_t len)
{
	char *end = at + len;
	char **argv = NULL, **envp = NULL, **cwd = NULL;
	uint32_t head[3];
	struct job *j;
	int ret;

	if (len < sizeof(head))
		return;
	memcpy(head, at, sizeof(head));
	at += sizeof(head);
	cwd = strings(&at, end, 1);
	if (cwd)
		argv = strings(&at, end, le32toh(head[1]));
	if (argv)
		envp = strings(&at, end, le32toh(head[2]));
	if (envp && argv[0]) {
		j = alloc(NULL, sizeof(*j));
		*j = (struct job){ .port = port, .id = id, .in = -1, .out = -1, .err = -1 };
		ret = le32toh(head[0]) & EXEC_PTY ? start_on_pty(j, argv, envp, cwd[0]) :
						    start_on_pipes(j, argv, envp, cwd[0]);
		if (ret) {
			say("cannot start %s: %s", argv[0], strerror(-ret));
			send_u32(port, FRAME_EXIT, id, 126 << 8);
			free(j);
		} else {
			j->next = jobs;
			jobs = j;
			send_u32(port, FRAME_STARTED, id, j->pid);
		}
	}
	free(cwd);
	free(argv);
	free(envp);
}

static void do_frame(struct port *port, uint32_t type, uint32_t id, uint8_t *data, size_t len)
{
	struct job *j = job_find(port, id);
	struct utsname uts;

	switch (type) {
	case FRAME_PING:
		uname(&uts);
		send_frame(port, FRAME_HELLO, id, uts.release, strlen(uts.release));
		break;
	case FRAME_EXEC:
		do_exec(port, id, (char *)data, len);
		break;
	case FRAME_INPUT:
		if (!j)
			break;
		if (!len)
			j->in_eof = true;
		j->input = alloc(j->input, j->input_len + len + 1);
		memcpy(j->input + j->input_len, data, len);
		j->input_len += len;
		feed(j);
		break;
	case FRAME_SIGNAL:
		if (j && j->pid && len)
			kill(-j->pid, data[0]);
		break;
	default:
		say("unknown frame type %u", type);
	}
}

static void port_lost(struct port *port)
{
	struct job *j;

	port->connected = false;
	port->len = 0;
	for (j = jobs; j; j = j->next)
		if (j->port == port && j->pid)
			kill(-j->pid, SIGKILL);
}

static void port_read(struct port *port)
{
	size_t at = 0;
	ssize_t n;

	n = read(port->fd, port->buf + port->len, sizeof(struct frame) + PAYLOAD_MAX_BYTES - port->len);
	if (n <= 0)
		return;
	port->connected = true;
	port->len += n;
	while (port->len - at >= sizeof(struct frame)) {
		struct frame f;

		memcpy(&f, port->buf + at, sizeof(f));
		if (le32toh(f.len) > PAYLOAD_MAX_BYTES) {
			say("%s: frame of %u bytes, dropping the connection", port->name,
			    le32toh(f.len));
			port_lost(port);
			return;
		}
		if (port->len - at < sizeof(f) + le32toh(f.len))
			break;
		do_frame(port, le32toh(f.type), le32toh(f.id), port->buf + at + sizeof(f),
			 le32toh(f.len));
		at += sizeof(f) + le32toh(f.len);
	}
	port->len -= at;
	memmove(port->buf, port->buf + at, port->len);
}

static void ports_open(void)
{
	DIR *dir = opendir("/sys/class/virtio-ports");
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char path[300], name[64] = "";
		FILE *f;
		int i;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (!fgets(name, sizeof(name), f))
			name[0] = 0;
		fclose(f);
		name[strcspn(name, "\n")] = 0;
		snprintf(path, sizeof(path), "/dev/%s", e->d_name);
		for (i = 0; i < PORTS; i++)
			if (ports[i].fd < 0 && !strcmp(ports[i].name, name))
				ports[i].fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
}

static void reap(int sigfd)
{
	struct signalfd_siginfo si;
	struct job *j;
	pid_t pid;
	int status;

	while (read(sigfd, &si, sizeof(si)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (j = jobs; j && j->pid != pid; j = j->next)
			;
		if (!j)
			continue;
		/* All it has written goes before its exit status. */
		pump(j, &j->out, FRAME_OUT);
		pump(j, &j->err, FRAME_ERR);
		j->pid = 0;
		send_u32(j->port, FRAME_EXIT, j->id, status);
	}
}

static bool input_is_full(const struct port *port)
{
	struct job *j;

	for (j = jobs; j; j = j->next)
		if (j->port == port && j->input_len > INPUT_HIGH_BYTES)
			return true;
	return false;
}

static void serve(int sigfd)
{
	static struct pollfd pfd[1 + PORTS + 3 * JOBS_MAX];
	bool idle_port = false;
	struct job *j;
	int i, n = 0;

	pfd[n++] = (struct pollfd){ sigfd, POLLIN, 0 };
	for (i = 0; i < PORTS; i++) {
		/* A port whose host end is closed reports POLLHUP for ever: look now and then. */
		if (!ports[i].connected)
			idle_port = true;
		pfd[n++] = (struct pollfd){ ports[i].connected ? ports[i].fd : -1,
					    input_is_full(&ports[i]) ? 0 : POLLIN, 0 };
	}
	for (j = jobs; j && n + 3 < (int)(sizeof(pfd) / sizeof(pfd[0])); j = j->next) {
		pfd[n++] = (struct pollfd){ j->out, POLLIN, 0 };
		pfd[n++] = (struct pollfd){ j->err, POLLIN, 0 };
		pfd[n++] = (struct pollfd){ j->input_len ? j->in : -1, POLLOUT, 0 };
	}
	if (poll(pfd, n, !ports[0].connected ? 20 : idle_port ? 500 : -1) < 0)
		return;
	for (i = 0; i < PORTS; i++) {
		if (ports[i].fd < 0)
			continue;
		if (pfd[1 + i].revents & POLLHUP)
			port_lost(&ports[i]);
		else if (!ports[i].connected || pfd[1 + i].revents)
			port_read(&ports[i]);
	}
	for (j = jobs; j; j = j->next) {
		pump(j, &j->out, FRAME_OUT);
		pump(j, &j->err, FRAME_ERR);
		feed(j);
	}
	if (pfd[0].revents)
		reap(sigfd);
	job_reap_finished();
}

int main(void)
{
	sigset_t set;
	int sigfd, i;

	setenv("PATH", "/work:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/busybox", 1);
	setenv("HOME", "/root", 1);
	setenv("LD_LIBRARY_PATH", "/work:/usr/local/lib", 1);
	sigprocmask(SIG_SETMASK, NULL, &no_signals);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigfd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	ports_open();
	for (i = 0; i < PORTS; i++)
		ports[i].buf = alloc(NULL, sizeof(struct frame) + PAYLOAD_MAX_BYTES);
	if (ports[0].fd < 0) {
		say("no port %s", ports[0].name);
		return 1;
	}
	for (;;)
		serve(sigfd);
}
