// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Floors that perftest does not measure, by plain verbs between programs: a chained READ of 8 B
 * and 4 KiB, an exchange from all to one and back over N nodes, posting, registering, and a TCP
 * round trip. Knows nothing of dsm. Rank 0 serves: verbs RANK RANKS ADDRESS TRIALS [poll].
 * "poll" is for guests that have a processor each: spinning ones starve each other.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/tcp.h>
#include <rdma/rdma_cma.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT "18600"
#define TCP_PORT 18601
#define NODES_MOST 8
#define MESSAGE_BYTES 64
#define PAGE_BYTES 4096
#define CHUNK_BYTES (2u << 20)
#define DEPTH 64
#define CONNECT_TRIES 200
#define PHASE_NS 5e9	/* an exchange of spinning guests may starve on few processors */

/* What each side tells the other when it connects. */
struct hello {
	uint64_t addr;
	uint32_t rkey;
	uint32_t rank;
};

struct link {
	struct rdma_cm_id *id;
	struct hello peer;
};

static struct link links[NODES_MOST];
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static char *memory;
static int rank, ranks;
static long trials;
static bool events, leaving;
static double *values;

static void fail(const char *what)
{
	fprintf(stderr, "verbs: rank %d: %s: %s\n", rank, what, strerror(errno));
	exit(EXIT_FAILURE);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(const char *name, const char *unit, long n)
{
	if (!n)
		return;
	qsort(values, (size_t)n, sizeof(*values), compare);
	printf("{\"name\":\"%s\",\"rank\":%d,\"unit\":\"%s\",\"n\":%ld,\"median\":%.3f,"
	       "\"p10\":%.3f,\"p90\":%.3f,\"min\":%.3f,\"max\":%.3f}\n",
	       name, rank, unit, n, values[n / 2], values[n / 10], values[n * 9 / 10], values[0],
	       values[n - 1]);
	fflush(stdout);
}

/* One completion, waited for by polling or by an event. */
static void complete(struct ibv_wc *wc)
{
	for (;;) {
		struct ibv_cq *which;
		void *context;
		int n = ibv_poll_cq(cq, 1, wc);

		if (n > 0)
			break;
		if (n < 0)
			fail("poll");
		if (!events) {
			/* The driver's own threads may need this processor. */
			sched_yield();
			continue;
		}
		if (ibv_req_notify_cq(cq, 0))
			fail("notify");
		n = ibv_poll_cq(cq, 1, wc);
		if (n > 0)
			break;
		if (ibv_get_cq_event(channel, &which, &context))
			fail("event");
		ibv_ack_cq_events(which, 1);
	}
	/* Who has heard the last word goes, and may take the acknowledgement along. */
	if (wc->status && !leaving) {
		fprintf(stderr, "verbs: rank %d: %s\n", rank, ibv_wc_status_str(wc->status));
		exit(EXIT_FAILURE);
	}
}

/*
 * Completions until @sends sends and @receives receives have been seen. A receive may come early:
 * who was answered first begins the next round while others are still being answered.
 */
static void await(int sends, int receives)
{
	static int early;
	struct ibv_wc wc;

	receives -= early;
	while (sends > 0 || receives > 0) {
		complete(&wc);
		if (wc.opcode & IBV_WC_RECV)
			receives--;
		else
			sends--;
	}
	early = -receives;
}

static void post_receive(struct link *l)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)memory + CHUNK_BYTES - MESSAGE_BYTES,
		.length = MESSAGE_BYTES,
		.lkey = mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(l->id->qp, &wr, &bad))
		fail("post receive");
}

static void post_send(struct link *l)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = MESSAGE_BYTES };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	}, *bad;

	if (ibv_post_send(l->id->qp, &wr, &bad))
		fail("post send");
}

/* Connection */

static void make_objects(struct rdma_cm_id *id)
{
	if (pd)
		return;
	pd = ibv_alloc_pd(id->verbs);
	channel = ibv_create_comp_channel(id->verbs);
	cq = channel ? ibv_create_cq(id->verbs, NODES_MOST * DEPTH * 2, NULL, channel, 0) : NULL;
	memory = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (!pd || !cq || memory == MAP_FAILED)
		fail("protection domain or completion queue");
	mr = ibv_reg_mr(pd, memory, CHUNK_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	if (!mr)
		fail("register");
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = MESSAGE_BYTES,
		},
	};

	make_objects(id);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	if (rdma_create_qp(id, pd, &attr))
		fail("queue pair");
}

static struct rdma_conn_param parameters(struct hello *h)
{
	*h = (struct hello){
		.addr = (uintptr_t)memory,
		.rkey = mr->rkey,
		.rank = (uint32_t)rank,
	};
	return (struct rdma_conn_param){
		.private_data = h,
		.private_data_len = sizeof(*h),
		.responder_resources = 4,
		.initiator_depth = 4,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static struct rdma_addrinfo *resolve(const char *address, int flags)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = flags }, *info;

	if (rdma_getaddrinfo(address, PORT, &hints, &info))
		fail("address");
	return info;
}

static void serve(const char *address)
{
	struct rdma_addrinfo *info = resolve(address, RAI_PASSIVE);
	struct rdma_cm_id *listener, *id;
	struct rdma_conn_param p;
	struct hello h;
	int i;

	if (rdma_create_ep(&listener, info, NULL, NULL) || rdma_listen(listener, NODES_MOST))
		fail("listen");
	for (i = 1; i < ranks; i++) {
		struct hello peer;

		if (rdma_get_request(listener, &id))
			fail("request");
		memcpy(&peer, id->event->param.conn.private_data, sizeof(peer));
		if (peer.rank < 1 || peer.rank >= (uint32_t)ranks || links[peer.rank].id)
			fail("unexpected rank");
		make_qp(id);
		links[peer.rank] = (struct link){ .id = id, .peer = peer };
		post_receive(&links[peer.rank]);
		p = parameters(&h);
		if (rdma_accept(id, &p))
			fail("accept");
	}
	rdma_freeaddrinfo(info);
}

/* The server may not be listening yet: it is asked again for up to 20 s. */
static void join_server(const char *address)
{
	const struct timespec pause = { .tv_nsec = 100000000 };
	struct rdma_addrinfo *info = resolve(address, 0);
	struct rdma_conn_param p;
	struct rdma_cm_id *id;
	struct ibv_wc flushed;
	struct hello h;
	int i;

	for (i = 0; i < CONNECT_TRIES; i++) {
		if (rdma_create_ep(&id, info, NULL, NULL))
			fail("endpoint");
		make_qp(id);
		links[0].id = id;
		post_receive(&links[0]);
		p = parameters(&h);
		if (!rdma_connect(id, &p))
			break;
		rdma_destroy_ep(id);
		while (ibv_poll_cq(cq, 1, &flushed) > 0)
			;
		nanosleep(&pause, NULL);
	}
	if (i == CONNECT_TRIES)
		fail("connect");
	memcpy(&links[0].peer, id->event->param.conn.private_data, sizeof(links[0].peer));
	rdma_freeaddrinfo(info);
}

/* Measurements */

/*
 * Everyone sends to rank 0, which answers all once it has heard of all.
 * Rank 0 says @stop; everyone returns what it said.
 */
static bool exchange_once(bool last, bool stop)
{
	int i;

	if (rank) {
		post_send(&links[0]);
		await(1, 1);
		stop = memory[CHUNK_BYTES - MESSAGE_BYTES];
		post_receive(&links[0]);
		return stop;
	}
	await(0, ranks - 1);
	leaving = last;
	memory[0] = stop;
	for (i = 1; i < ranks; i++) {
		post_receive(&links[i]);
		post_send(&links[i]);
	}
	await(ranks - 1, 0);
	return stop;
}

static void exchange(bool by_events)
{
	double end = now_ns() + PHASE_NS;
	char name[48];
	long i;

	events = by_events;
	for (i = -10; i < trials; i++) {
		double begin = now_ns();
		bool stop = exchange_once(false, i >= 10 && begin > end);

		if (i >= 0)
			values[i] = (now_ns() - begin) / 1e3;
		if (stop)
			break;
	}
	snprintf(name, sizeof(name), "exchange_%d_%s", ranks, events ? "events" : "polling");
	report(name, "us", i);
}

static void post_reads(const struct link *l)
{
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)memory, .length = 8, .lkey = mr->lkey },
		{ .addr = (uintptr_t)memory + PAGE_BYTES, .length = PAGE_BYTES, .lkey = mr->lkey },
	};
	struct ibv_send_wr wr[2] = {
		{
			.next = &wr[1],
			.sg_list = &sge[0],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.wr.rdma = { .remote_addr = l->peer.addr, .rkey = l->peer.rkey },
		}, {
			.sg_list = &sge[1],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = {
				.remote_addr = l->peer.addr + PAGE_BYTES,
				.rkey = l->peer.rkey,
			},
		},
	}, *bad;

	if (ibv_post_send(l->id->qp, wr, &bad))
		fail("post reads");
}

static void chained_reads(bool by_events)
{
	struct ibv_wc wc;
	long i;

	events = by_events;
	for (i = 0; rank == 1 && i < trials; i++) {
		double begin = now_ns();

		post_reads(&links[0]);
		complete(&wc);
		values[i] = (now_ns() - begin) / 1e3;
	}
	if (rank == 1)
		report(events ? "chained_read_events" : "chained_read_polling", "us", trials);
	events = true;
	exchange_once(false, false);
}

static void posting(void)
{
	struct ibv_wc wc;
	long i;

	for (i = 0; rank == 1 && i < trials; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = MESSAGE_BYTES };
		struct ibv_send_wr wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
			.wr.rdma = { .remote_addr = links[0].peer.addr,
				     .rkey = links[0].peer.rkey },
		}, *bad;
		double begin = now_ns();

		if (ibv_post_send(links[0].id->qp, &wr, &bad))
			fail("post write");
		values[i] = now_ns() - begin;
		complete(&wc);
	}
	if (rank == 1)
		report("post_write_64", "ns", trials);
	exchange_once(false, false);
}

static void registering(void)
{
	char *p = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	long i, n = trials / 4;

	if (p == MAP_FAILED)
		fail("memory");
	for (i = 0; rank == 1 && i < n; i++) {
		double begin = now_ns();
		struct ibv_mr *m = ibv_reg_mr(pd, p, CHUNK_BYTES, IBV_ACCESS_LOCAL_WRITE |
					      IBV_ACCESS_REMOTE_READ);

		if (!m || ibv_dereg_mr(m))
			fail("register");
		values[i] = (now_ns() - begin) / 1e3;
	}
	if (rank == 1)
		report("user_register_2MiB", "us", n);
	munmap(p, CHUNK_BYTES);
	exchange_once(false, false);
}

/* Work requests in one chain, only the last signalled, from posting to its completion; us. False if refused. */
static bool chain(struct ibv_send_wr *wr, double *us)
{
	struct ibv_send_wr *bad;
	double begin = now_ns();
	struct ibv_wc wc;
	int refused = ibv_post_send(links[0].id->qp, wr, &bad);

	if (refused) {
		fprintf(stderr, "verbs: windows: %s\n", strerror(refused));
		return false;
	}
	complete(&wc);
	*us = (now_ns() - begin) / 1e3;
	return true;
}

/*
 * What a program can reach of REG_MR + LOCAL_INV: a memory window bound and invalidated on the
 * send queue, in one chain, and the invalidation alone. Devices without windows of type 2, or that refuse
 * such a request, have no such lines.
 */
static void windows(bool alone)
{
	struct ibv_mw *mw = rank == 1 ? ibv_alloc_mw(pd, IBV_MW_TYPE_2) : NULL;
	long i;

	for (i = 0; mw && i < trials; i++) {
		uint32_t key = ibv_inc_rkey(mw->rkey);
		struct ibv_send_wr invalidate = {
			.opcode = IBV_WR_LOCAL_INV,
			.send_flags = IBV_SEND_SIGNALED,
			.invalidate_rkey = key,
		}, bind = {
			.next = alone ? NULL : &invalidate,
			.opcode = IBV_WR_BIND_MW,
			.send_flags = alone ? IBV_SEND_SIGNALED : 0,
			.bind_mw = {
				.mw = mw,
				.rkey = key,
				.bind_info = {
					.mr = mr,
					.addr = (uintptr_t)memory,
					.length = PAGE_BYTES,
					.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
				},
			},
		};

		if (!chain(&bind, &values[i]) || (alone && !chain(&invalidate, &values[i])))
			break;
		mw->rkey = key;
	}
	if (mw) {
		report(alone ? "window_local_inv" : "window_bind_invalidate", "us", i);
		ibv_dealloc_mw(mw);
	}
	exchange_once(false, false);
}

static void transfer(int fd, bool out)
{
	size_t done = 0;

	while (done < MESSAGE_BYTES) {
		ssize_t n = out ? write(fd, memory + done, MESSAGE_BYTES - done) :
				  read(fd, memory + done, MESSAGE_BYTES - done);

		if (n <= 0)
			fail("TCP");
		done += (size_t)n;
	}
}

static int tcp_socket(const char *address)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(TCP_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, peer;

	if (fd < 0 || inet_pton(AF_INET, address, &at.sin_addr) != 1)
		fail("socket");
	if (!rank) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))
			fail("TCP listen");
		exchange_once(false, false);
		peer = accept(fd, NULL, NULL);
		close(fd);
		fd = peer;
	} else {
		exchange_once(false, false);
		if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
			fail("TCP connect");
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void tcp(const char *address)
{
	long i;
	int fd;

	if (rank > 1) {
		exchange_once(false, false);
		exchange_once(false, false);
		return;
	}
	fd = tcp_socket(address);
	for (i = 0; i < trials; i++) {
		double begin = now_ns();

		transfer(fd, rank);
		transfer(fd, !rank);
		values[i] = (now_ns() - begin) / 1e3;
	}
	close(fd);
	if (rank)
		report("tcp_round_trip_64", "us", trials);
	exchange_once(false, false);
}

int main(int argc, char **argv)
{
	if (argc < 5) {
		fprintf(stderr, "usage: verbs RANK RANKS ADDRESS-OF-RANK-0 TRIALS [poll]\n");
		return EXIT_FAILURE;
	}
	rank = atoi(argv[1]);
	ranks = atoi(argv[2]);
	trials = atol(argv[4]);
	if (ranks < 2 || ranks > NODES_MOST || rank < 0 || rank >= ranks || trials < 10)
		return EXIT_FAILURE;
	values = calloc((size_t)trials, sizeof(*values));
	if (!values)
		fail("memory");
	if (rank)
		join_server(argv[3]);
	else
		serve(argv[3]);
	if (argc > 5)
		exchange(false);
	exchange(true);
	if (ranks == 2) {
		chained_reads(false);
		chained_reads(true);
		posting();
		registering();
		windows(false);
		windows(true);
		tcp(argv[3]);
	}
	exchange_once(true, false);
	return EXIT_SUCCESS;
}
