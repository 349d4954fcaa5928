// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * switch - an Ethernet switch between guests: switch PATH...
 *
 * Listens on one unix socket per port, which QEMU's stream netdev connects to (frames with a
 * 4-byte big-endian length before each). It learns addresses and sends a frame only where it
 * must go, so that a guest is not woken for its neighbours' traffic. A port whose reader is
 * slow loses frames above a bound, as on a real switch. Lines on standard input cut a port
 * (`cut N`) and join it again (`join N`); `part N M` loses what goes between two ports, until `meet N M`; `lose ATTRIBUTE
 * N` lets the next N packets of RDMA's connection manager with this attribute id be lost. Each is answered by `ok`; `left`
 * by how many are still to be lost. The end of standard input ends the switch. It needs no privilege and touches no network
 * of the host.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PORTS_MAX 16
#define ADDRS_MAX 64
#define FRAME_MAX_BYTES 65536
#define QUEUE_BYTES (4 << 20)
#define SOCKET_BYTES (1 << 20)

/* A port's unread input and unsent output. */
struct port {
	int listener;
	int fd; /* -1 = nobody connected */
	bool cut;
	uint32_t apart; /* bits: other ports that nothing comes from */
	uint8_t in[4 + FRAME_MAX_BYTES];
	size_t in_len;
	uint8_t *out; /* QUEUE_BYTES */
	size_t out_at;
	size_t out_len;
};

static struct port *ports;
static int ports_count;

/* Where each address was seen last; reused in turn when full. */
static struct {
	uint8_t mac[6];
	int port;
} addrs[ADDRS_MAX];
static int addrs_count;

static void learn(const uint8_t *mac, int port)
{
	static int victim;
	int i;

	if (mac[0] & 1)
		return;
	for (i = 0; i < addrs_count; i++)
		if (!memcmp(addrs[i].mac, mac, 6))
			break;
	if (i == addrs_count) {
		if (addrs_count < ADDRS_MAX)
			addrs_count++;
		else
			i = victim++ % ADDRS_MAX;
		memcpy(addrs[i].mac, mac, 6);
	}
	addrs[i].port = port;
}

static int lookup(const uint8_t *mac)
{
	int i;

	for (i = 0; i < addrs_count; i++)
		if (!memcmp(addrs[i].mac, mac, 6))
			return addrs[i].port;
	return -1;
}

/* @why: NULL if the guest went. Otherwise it goes on without a link, and somebody will wonder. */
static void port_close(struct port *p, const char *why)
{
	if (why)
		fprintf(stderr, "switch: port %td: %s: closed\n", p - ports, why);
	close(p->fd);
	p->fd = -1;
	p->in_len = 0;
	p->out_at = 0;
	p->out_len = 0;
}

static void flush(struct port *p)
{
	while (p->out_len) {
		ssize_t n = send(p->fd, p->out + p->out_at, p->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);

		/* The host may be short of memory for a while. */
		if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM))
			return;
		if (n < 0) {
			port_close(p, errno == EPIPE || errno == ECONNRESET ? NULL : strerror(errno));
			return;
		}
		p->out_at += n;
		p->out_len -= n;
	}
	p->out_at = 0;
}

static void queue(struct port *p, int from, const uint8_t *frame, size_t len)
{
	if (p->fd < 0 || p->cut || p->apart & 1u << from || p->out_len + len > QUEUE_BYTES)
		return;
	if (p->out_at + p->out_len + len > QUEUE_BYTES) {
		memmove(p->out, p->out + p->out_at, p->out_len);
		p->out_at = 0;
	}
	memcpy(p->out + p->out_at + p->out_len, frame, len);
	p->out_len += len;
}

/* Packets of the connection manager that are to be lost. */
static struct {
	unsigned int attribute;
	unsigned int left;
} doomed;

/* A datagram of RoCEv2 to queue pair 1, of class "communication management"; IPv4 without options. */
static bool is_doomed(const uint8_t *frame, size_t len)
{
	enum { IP = 14, UDP = IP + 20, BTH = UDP + 8, MAD = BTH + 12 + 8, MAD_BYTES = 24 };
	static const uint8_t roce[] = { 4791 >> 8, 4791 & 0xff }, gsi[] = { 0, 0, 1 };

	if (!doomed.left || len < MAD + MAD_BYTES)
		return false;
	if (frame[12] != 8 || frame[13] || frame[IP] != 0x45 || frame[IP + 9] != 17 ||
	    memcmp(frame + UDP + 2, roce, sizeof(roce)) || memcmp(frame + BTH + 5, gsi, sizeof(gsi)) ||
	    frame[MAD + 1] != 7 || (frame[MAD + 16] << 8 | frame[MAD + 17]) != (int)doomed.attribute)
		return false;
	doomed.left--;
	return true;
}

/* @frame with its length field, @len bytes in all. */
static void forward(int from, const uint8_t *frame, size_t len)
{
	const uint8_t *dst = frame + 4, *src = frame + 10;
	int to, i;

	if (len < 4 + 14 || ports[from].cut || is_doomed(frame + 4, len - 4))
		return;
	learn(src, from);
	to = dst[0] & 1 ? -1 : lookup(dst);
	for (i = 0; i < ports_count; i++)
		if (i != from && (to < 0 || to == i))
			queue(&ports[i], from, frame, len);
}

static void receive(int index)
{
	struct port *p = &ports[index];
	size_t at = 0;
	ssize_t n;

	n = recv(p->fd, p->in + p->in_len, sizeof(p->in) - p->in_len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		port_close(p, n && errno != ECONNRESET ? strerror(errno) : NULL);
		return;
	}
	p->in_len += n;
	while (p->in_len - at >= 4) {
		uint32_t len;

		memcpy(&len, p->in + at, 4);
		len = ntohl(len);
		if (len > FRAME_MAX_BYTES) {
			port_close(p, "no frame");
			return;
		}
		if (p->in_len - at < 4 + len)
			break;
		forward(index, p->in + at, 4 + len);
		at += 4 + len;
	}
	p->in_len -= at;
	memmove(p->in, p->in + at, p->in_len);
}

static bool is_port(int number)
{
	return number >= 0 && number < ports_count;
}

static void set_apart(int port, int other, bool apart)
{
	uint32_t bit = 1u << other;

	ports[port].apart = apart ? ports[port].apart | bit : ports[port].apart & ~bit;
}

/* False: it is not about two ports. */
static bool part_or_meet(const char *line)
{
	char word[8];
	int a, b;

	if (sscanf(line, "%7s %d %d", word, &a, &b) != 3 || !is_port(a) || !is_port(b) ||
	    (strcmp(word, "part") && strcmp(word, "meet")))
		return false;
	set_apart(a, b, !strcmp(word, "part"));
	set_apart(b, a, !strcmp(word, "part"));
	return true;
}

static void command(void)
{
	static char line[128];
	static size_t len;
	char *nl;
	ssize_t n = read(0, line + len, sizeof(line) - 1 - len);
	int port;

	if (n <= 0)
		exit(0);
	len += n;
	line[len] = 0;
	while ((nl = strchr(line, '\n'))) {
		*nl = 0;
		if (sscanf(line, "cut %d", &port) == 1 && is_port(port))
			ports[port].cut = true;
		else if (sscanf(line, "join %d", &port) == 1 && is_port(port))
			ports[port].cut = false;
		else if (!part_or_meet(line) && strcmp(line, "left") &&
			 sscanf(line, "lose %i %u", (int *)&doomed.attribute, &doomed.left) != 2)
			exit(2);
		if (strcmp(line, "left"))
			puts("ok");
		else
			printf("%u\n", doomed.left);
		fflush(stdout);
		len -= nl + 1 - line;
		memmove(line, nl + 1, len + 1);
	}
	if (len == sizeof(line) - 1)
		exit(2);
}

static void open_port(struct port *p, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	p->fd = -1;
	p->out = malloc(QUEUE_BYTES);
	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!p->out || p->listener < 0 || strlen(path) >= sizeof(sa.sun_path)) {
		fprintf(stderr, "switch: cannot open a port at %s\n", path);
		exit(1);
	}
	strcpy(sa.sun_path, path);
	if (bind(p->listener, (struct sockaddr *)&sa, sizeof(sa)) || listen(p->listener, 1)) {
		perror(path);
		exit(1);
	}
}

static void serve(void)
{
	struct pollfd pfd[1 + PORTS_MAX];
	int i;

	pfd[0] = (struct pollfd){ 0, POLLIN, 0 };
	for (i = 0; i < ports_count; i++) {
		struct port *p = &ports[i];

		pfd[1 + i].fd = p->fd < 0 ? p->listener : p->fd;
		pfd[1 + i].events = POLLIN | (p->out_len ? POLLOUT : 0);
		pfd[1 + i].revents = 0;
	}
	if (poll(pfd, 1 + ports_count, -1) < 0)
		return;
	for (i = 0; i < ports_count; i++) {
		struct port *p = &ports[i];
		int bytes = SOCKET_BYTES;

		if (!(pfd[1 + i].revents & ~POLLOUT))
			continue;
		if (p->fd >= 0) {
			receive(i);
			continue;
		}
		p->fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
		if (p->fd >= 0)
			setsockopt(p->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	}
	for (i = 0; i < ports_count; i++)
		if (ports[i].fd >= 0)
			flush(&ports[i]);
	if (pfd[0].revents)
		command();
}

int main(int argc, char **argv)
{
	int i;

	ports_count = argc - 1;
	if (ports_count < 1 || ports_count > PORTS_MAX) {
		fprintf(stderr, "usage: switch PATH... (1 to %d)\n", PORTS_MAX);
		return 2;
	}
	signal(SIGINT, SIG_IGN);
	ports = calloc(ports_count, sizeof(*ports));
	if (!ports)
		return 1;
	for (i = 0; i < ports_count; i++)
		open_port(&ports[i], argv[1 + i]);
	puts("ready");
	fflush(stdout);
	for (;;)
		serve();
}
