/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the shell sees of the network: nodes, connections and messages. Knows
 * nothing of pages, locks or regions; the shell knows nothing of verbs.
 *
 * Four RC connections per pair of nodes: C (set-up and heartbeats), Q (classes REQ and FWD,
 * separate credits), P (class RSP), B (one-sided transfers).
 */
#ifndef DSM_NET_TRANSPORT_H
#define DSM_NET_TRANSPORT_H

#include <linux/in.h>
#include "../core/types.h"

struct dsm_net;

/**
 * struct dsm_net_hello - what a connecting node says of itself
 * @node:       id it wants, or DSM_NO_NODE: "assign me one"
 * @cluster:    cluster id it believes in; 0 when it joins for the first time
 * @addr:       its listening address
 */
struct dsm_net_hello {
	u16 node;
	u64 cluster;
	struct sockaddr_in addr;
};

/**
 * struct dsm_net_ops - what net asks of and tells the shell; process context, may sleep, but
 *                      never wait for the network
 * @admit:     a node asks to connect. Fill @assigned with its id. Return 0 or a
 *             negative errno, which is delivered to it: -EEXIST (id taken), -ENOSPC (no id free),
 *             -ESTALE (other cluster), -EPERM (not allowed), -EBUSY (not a member yet).
 * @peer_up:   all four connections to @node stand; @self is this node's id, which the first peer may have assigned
 * @peer_lost: the peer is gone; called exactly once per @peer_up, after the last @recv from it
 *             returned and after its queue pairs are in error. reason: text for the log, valid
 *             until return; err: -EHOSTDOWN (died, cut off), -ECONNRESET (closed), -EPROTO
 *             (malformed message), -ESHUTDOWN (orderly, asked for by either side: no alarm)
 * @recv:      a message of @len bytes (header validated: length, src, seq, class, credits).
 *             @msg is valid until return. Calls for one (peer, queue pair) are serial; P and Q
 *             of a peer run concurrently. Return 0, or -EPROTO if the body is malformed: the
 *             peer is then dropped.
 * @xfer_done: a transfer is back; the callee owns it again. Exactly once per transfer accepted by
 *             dsm_net_xfer(), before peer_lost. Process context, no lock held
 * @datagram:  a datagram of dsm_net_mcast_open()'s group, of anybody, this node too: its header is not checked.
 *             Serial. Process context, no lock held
 * @signal:    a peer's DSM_XFER_SIGNAL has landed. Context as @recv; -EPROTO drops the peer
 * @expand:    the peer answered a request briefly, see struct dsm_msgbuf: fill in the message, for
 *             @recv. Return its length, at most DSM_BRIEF_BYTES, or -EPROTO, which drops the peer
 */
struct dsm_net_ops {
	int (*admit)(void *ctx, const struct dsm_net_hello *hello, u16 *assigned);
	void (*peer_up)(void *ctx, u16 self, u16 node, const struct sockaddr_in *addr);
	void (*peer_lost)(void *ctx, u16 node, const char *reason, int err);
	int (*recv)(void *ctx, u16 node, enum dsm_class class, const u8 *msg, u32 len);
	void (*xfer_done)(void *ctx, struct dsm_xfer *xfer);
	void (*datagram)(void *ctx, const u8 *data, u32 len);
	int (*signal)(void *ctx, u16 node, u32 imm);
	int (*expand)(void *ctx, u16 node, const u8 *request, u32 len, u32 brief, u8 *msg);
};

/**
 * enum dsm_net_poll - who handles completions
 * @DSM_NET_POLL_DIRECT:    a thread that spins, while there is one, else a work item
 * @DSM_NET_POLL_WORKQUEUE: a work item
 * @DSM_NET_POLL_SOFTIRQ:   a work item, and a softirq those of sends
 */
enum dsm_net_poll { DSM_NET_POLL_DIRECT, DSM_NET_POLL_WORKQUEUE, DSM_NET_POLL_SOFTIRQ };

/**
 * struct dsm_net_config - parameters of dsm_net_start()
 * @listen:          own address and port
 * @node:            own id, or DSM_NO_NODE until the seed assigned one
 * @cluster:         cluster id, 0 = learn it from the seed
 * @peer_timeout_ms: silence after which a peer is lost; the queue pairs' retries are sized to match
 * @resume_ms:       time within which broken connections to a peer are made anew before it is lost,
 *                   but not before @peer_timeout_ms of silence; 0: it is lost at once
 * @poll:            who handles completions
 */
struct dsm_net_config {
	struct sockaddr_in listen;
	u16 node;
	u64 cluster;
	u32 peer_timeout_ms;
	u32 resume_ms;
	enum dsm_net_poll poll;
};

/* Most bytes of a message that a brief answer stands for, and of a request that is answered so. */
#define DSM_BRIEF_BYTES 72u

/*
 * Messages and transfers that each node keeps for when memory is short: more than a step of the shell's wants at once, as what
 * comes back beyond them is freed. A message in a backlog is given back at the latest when its peer is lost, so a wait for
 * one ends, but for others' a node must not wait. A transfer that is accepted always comes back.
 */
#define DSM_NET_MSGS_KEPT 128u
#define DSM_NET_XFERS_KEPT 640u

#define DSM_NET_SIZES 4		/* classes of messages' sizes, as counted */

/**
 * struct dsm_net_peer_stats - counters of one peer, since it came up
 * @tx_msgs:       messages sent, per class, without net's own (CREDIT, heartbeats, PING, PONG)
 * @rx_msgs:       messages received, likewise
 * @heartbeats:    heartbeats sent, which are in no other count of messages or bytes
 * @credit_msgs:   CREDITs sent, likewise
 * @tx_sized:      messages sent, by size: below 256 bytes, 1 KiB, 4 KiB, and larger
 * @tx_bytes:      bytes sent, headers included
 * @rx_bytes:      bytes received, likewise
 * @credit_stalls: sends that had to wait in the backlog
 * @answers_first: answers that went while ones with a page waited
 * @xfers_first: transfers that went while ones that move pages waited
 * @invalid_msgs:  messages that broke a rule; the first one ends the connection
 * @xfers:         transfers handed over, by enum dsm_xfer_op
 * @xfer_bytes:    bytes they moved
 * @doorbells:     calls that gave the device work to send, messages included
 * @wrs:           work requests they held
 * @signalled:     those whose completion was asked for
 * @rx_signals:    signals received
 * @sends_inline:  messages that their work request held
 * @sends_batched: work requests of messages posted together with others in one doorbell
 * @sends_signalled: posts of messages whose completion was asked for
 * @bulks:         WRITEs of requests into the peer's ring
 * @sends_bulk:    requests in them
 * @sends_brief:   answers that were a page and an immediate
 * @sinks_lent:    requests that named a frame to write the answer into
 * @sink_misses:   requests that could not, since no registration was free
 * @resumes:       times that broken connections were made anew
 * @duplicates:    messages that came again after that
 * @credits_held:  credits for requests that were not given back at once, since many answers waited
 * @credits:       messages of each class that may be sent now; CTL: 0
 * @silent_ms:     time since anything was received
 */
struct dsm_net_peer_stats {
	u64 tx_msgs[DSM_CLASS_COUNT];
	u64 rx_msgs[DSM_CLASS_COUNT];
	u64 heartbeats;
	u64 credit_msgs;
	u64 tx_sized[DSM_NET_SIZES];
	u64 tx_bytes;
	u64 rx_bytes;
	u64 credit_stalls;
	u64 answers_first;
	u64 xfers_first;
	u64 invalid_msgs;
	u64 xfers[DSM_XFER_OPS];
	u64 xfer_bytes;
	u64 doorbells;
	u64 wrs;
	u64 signalled;
	u64 rx_signals;
	u64 sends_inline;
	u64 sends_batched;
	u64 sends_signalled;
	u64 bulks;
	u64 sends_bulk;
	u64 sends_brief;
	u64 sinks_lent;
	u64 sink_misses;
	u64 resumes;
	u64 duplicates;
	u64 credits_held;
	u32 credits[DSM_CLASS_COUNT];
	u32 silent_ms;
};

/**
 * enum dsm_net_tunable - what decides by which mechanism messages go
 * @DSM_NET_INLINE_MAX: bytes up to which a message goes in its work request, as far as the device
 *                      takes it; 0: none does
 * @DSM_NET_BATCH_MAX:  most messages in one doorbell
 * @DSM_NET_BULK_MIN:   requests that wait together from which on they are written into the peer's
 *                      ring; 0: never
 * @DSM_NET_TUNABLES:   number of them
 */
enum dsm_net_tunable {
	DSM_NET_INLINE_MAX, DSM_NET_BATCH_MAX, DSM_NET_BULK_MIN, DSM_NET_TUNABLES
};

/**
 * enum dsm_net_mech - how a PING goes, and its answer
 * @DSM_NET_AUTO:   as any message of its length
 * @DSM_NET_INLINE: in its work request
 * @DSM_NET_GATHER: read from its buffer by the device
 * @DSM_NET_BULK:   written into the receiver's ring, alone or with those that wait behind it; its
 *                  answer as with @DSM_NET_AUTO
 */
enum dsm_net_mech { DSM_NET_AUTO, DSM_NET_INLINE, DSM_NET_GATHER, DSM_NET_BULK };

/**
 * enum dsm_net_priority - where a PING goes, and its answer
 * @DSM_NET_LOW:  both on Q
 * @DSM_NET_HIGH: both on P
 * @DSM_NET_CALL: on Q, answered on P, as a request and its reply
 */
enum dsm_net_priority { DSM_NET_LOW, DSM_NET_HIGH, DSM_NET_CALL };

/**
 * struct dsm_net_ping - a run of PINGs
 * @node:     receiver
 * @mech:     enum dsm_net_mech
 * @priority: enum dsm_net_priority
 * @one_way:  only every @window-th PING and the last one are answered, shortly
 * @spin:     spin for answers, else sleep
 * @bytes:    body of a PING, 8 to DSM_MSG_BYTES - DSM_HDR_BYTES
 * @answer_bytes: of an answer, likewise
 * @count:    PINGs, 1 to 4096
 * @window:   most that may be unanswered, 1 to 32
 * @batch:    PINGs handed over at once, 1 to @window
 * @gap_ns:   pause between handing over, up to 10 ms
 * @busy_ns:  out: time spent handing over
 * @recv_ns:  out: time that messages from the node took, from their completions to their slots' posting
 * @send_ns:  out: from the first PING until the last was handed over
 * @total_ns: out: until it was answered
 */
struct dsm_net_ping {
	u16 node;
	u8 mech;
	u8 priority;
	bool one_way;
	bool spin;
	u32 bytes;
	u32 answer_bytes;
	u32 count;
	u32 window;
	u32 batch;
	u32 gap_ns;
	u64 busy_ns;
	u64 recv_ns;
	u64 send_ns;
	u64 total_ns;
};

int dsm_net_init(void);
void dsm_net_exit(void);

/* Values of all transports; take effect at once. */
u32 dsm_net_tunable(enum dsm_net_tunable which);
/* -ERANGE: out of its bounds. */
int dsm_net_set_tunable(enum dsm_net_tunable which, u32 value);

/* Listen; -EADDRNOTAVAIL/-ENODEV when no RDMA device serves the address. */
struct dsm_net *dsm_net_start(const struct dsm_net_config *cfg, const struct dsm_net_ops *ops,
			      void *ctx);

/*
 * Stop in three steps: refuse new peers, close all (peer_lost with -ESHUTDOWN for each), free.
 * Leaves no QP, MR, CQ, PD.
 */
void dsm_net_stop(struct dsm_net *net);

/*
 * Connect to a node (C, then Q, P and B) and wait, killably and bounded by @timeout_ms, until it
 * is up. On success *@node is the peer's id; own id and the cluster id, if unknown before, are
 * taken from the answer and readable by dsm_net_self(), dsm_net_cluster(). -EPROTONOSUPPORT:
 * other protocol version, in *@version; -ETIMEDOUT, -ECONNREFUSED, -EHOSTUNREACH, -EINTR, or what admit
 * returned there; see net.c for the rest. Not from within dsm_net_ops.
 */
int dsm_net_connect(struct dsm_net *net, const struct sockaddr_in *addr, u32 timeout_ms, u16 *node,
		    u16 *version);
/* Close all in good order and refuse new ones; returns after the last peer_lost(). */
void dsm_net_disconnect(struct dsm_net *net);

u16 dsm_net_self(const struct dsm_net *net);
u64 dsm_net_cluster(const struct dsm_net *net);

/* A message buffer; may sleep unless gfp says otherwise. NULL: no memory. */
struct dsm_msgbuf *dsm_net_msg_alloc(struct dsm_net *net, gfp_t gfp);
/* Give an unsent message back (drops @page too). */
void dsm_net_msg_free(struct dsm_net *net, struct dsm_msgbuf *msg);

/*
 * Send; consumes the message in every case. Never sleeps on the network: without credit the
 * message waits in the peer's queue for its class, in order. Header fields type, flags, region,
 * xid are the caller's; len, src, seq, credit are filled here. Process context. 0, or
 * -EHOSTDOWN when the peer is not up (the message is freed).
 */
int dsm_net_send(struct dsm_net *net, struct dsm_msgbuf *msg);
/* The same for a list: those to one node go in order, and with one doorbell. How many did not. */
u32 dsm_net_send_list(struct dsm_net *net, struct dsm_msgbuf *list);

/* ---- one-sided transfers ---- */

/* An empty transfer; as dsm_net_msg_alloc(). */
struct dsm_xfer *dsm_net_xfer_alloc(struct dsm_net *net, gfp_t gfp);
void dsm_net_xfer_free(struct dsm_net *net, struct dsm_xfer *xfer);
/*
 * Hand over a list of transfers to one node: one doorbell, in order, behind what was handed over
 * before. Never sleeps on the network; without room they wait. 0, or -EHOSTDOWN: the peer is not
 * up, the caller still owns the list.
 */
int dsm_net_xfer(struct dsm_net *net, struct dsm_xfer *xfer);
/*
 * Make transfers to the own id work, and registrations with @via the own id. Once, and before any
 * peer is needed; then they work until the transport is stopped. -EEXIST: done already.
 */
int dsm_net_self_open(struct dsm_net *net);
/* Does the device do atomics? (siw does not.) */
bool dsm_net_one_sided(const struct dsm_net *net);
bool dsm_net_has_atomics(const struct dsm_net *net);

/* ---- multicasts ---- */

/* Does the device have datagrams and multicast? (siw has not.) */
bool dsm_net_has_mcast(struct dsm_net *net);
/*
 * Join the cluster's group. -EOPNOTSUPP (device), -ENOMEM, -ETIMEDOUT, -ESHUTDOWN, or what rdma_cm says. Not from
 * within dsm_net_ops.
 */
int dsm_net_mcast_open(struct dsm_net *net);
/* No datagram is told of any more. If it is not open, nothing happens. */
void dsm_net_mcast_close(struct dsm_net *net);
/*
 * Multicast @msg, one struct dsm_wire_cast and a page, in parts; consumes it. What finds no room is lost, as it may
 * be anywhere on its way.
 */
void dsm_net_cast(struct dsm_net *net, struct dsm_msgbuf *msg);

#define DSM_MR_READ 1u
#define DSM_MR_WRITE 2u
#define DSM_MR_ATOMIC 4u
#define DSM_MR_PAGES 512u	/* a 2 MiB chunk */

/*
 * Let the peers reach @n whole pages (at most DSM_MR_PAGES; they stay the caller's and must stay
 * until dsm_net_mr_free()), with exactly the rights of @access. Registered with a fast-register
 * work request on the queue pair to @via, which must be up. Sleeps until the device has done it.
 * ERR_PTR: -EHOSTDOWN (@via lost), -ENOMEM, -EOPNOTSUPP (device), -ENODEV.
 */
struct dsm_mr *dsm_net_mr_new(struct dsm_net *net, u16 via, struct page **pages, u32 n,
			      u32 access);
u64 dsm_net_mr_addr(const struct dsm_mr *mr);	/* remote address of its first byte */
u32 dsm_net_mr_rkey(const struct dsm_mr *mr);
/* No peer may still use the key. */
void dsm_net_mr_free(struct dsm_mr *mr);

/*
 * For a thread that spins: between begin and end it serves the completions of transfers, sends,
 * replies and signals itself, so it must call dsm_net_poll() again and again. @node: whose
 * answer is awaited; its queues are looked at each time, those of others when they fire.
 * DSM_NO_NODE: anybody's. True: something was handled. With a poll context other than direct these
 * do nothing. Process context, no lock held.
 */
void dsm_net_spin_begin(struct dsm_net *net);
bool dsm_net_poll(struct dsm_net *net, u16 node);
void dsm_net_spin_end(struct dsm_net *net);
/* schedule() for a thread that waits for an answer: it may be woken to serve completions. */
void dsm_net_nap(struct dsm_net *net);
/* Before computing on after a send that somebody waits for: software devices need a processor. */
void dsm_net_give_way(const struct dsm_net *net);

/* Keep the transport from being freed, if it is not stopping; dsm_net_stop() waits for it. */
int dsm_net_hold(struct dsm_net *net);
void dsm_net_release(struct dsm_net *net);
/* No peer can go on with this node: all are lost. */
void dsm_net_fail_peers(struct dsm_net *net, const char *reason);
/* Send PINGs and wait for the answers; see ping.c. */
int dsm_net_ping(struct dsm_net *net, struct dsm_net_ping *p);
#ifdef DSM_DEBUG
int dsm_net_fault(struct dsm_net *net, u16 node, const char *what, u32 a, u32 b);
#endif

#ifdef DSM_DEBUG
/* What the next bulk is to get wrong; see forge.c. -EINVAL: no such word. */
int dsm_net_forge(const char *what);
#endif

int dsm_net_peer_stats(struct dsm_net *net, u16 node, struct dsm_net_peer_stats *out);
/* Name of the RDMA device that serves the listening address, for status. */
const char *dsm_net_device(const struct dsm_net *net);

#endif
