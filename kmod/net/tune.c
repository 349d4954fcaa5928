// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * What decides by which mechanism messages go: limits that can be set while messages are under way,
 * and that are measured with the first peer of another machine that comes up. They are the machine's, not a
 * node's. Never changes what somebody has set.
 *
 * Each measurement takes its budget at most and runs beside whatever the node does. It is coarse: the
 * forms that are compared take turns, and choice.c decides. If time runs out or the peer is lost, the
 * default stays.
 */
#include "choice.h"
#include "tune.h"

/*
 * Enough for a whole search in guests that share two processors, where a message takes 0.4 to 1.6 ms. With less only
 * those come to an end that end early, for a disturbance that looked like a difference.
 */
#define INLINE_BUDGET_NS (100 * NSEC_PER_MSEC)
#define BATCH_BUDGET_NS (300 * NSEC_PER_MSEC)
#define BULK_BUDGET_NS (200 * NSEC_PER_MSEC)

/*
 * As long as the default's batches, which are the longest that are tried: from 16 to 32 a thirty-second of a doorbell
 * is gained per message, which is a quarter of no message.
 */
#define TRAIN 16
#define BATCHES 3

/* Length of a message with the diff of a whole page, and how many of them fill a slot of a ring. */
#define DIFF_BYTES (DSM_PAGE_BYTES + 128)
#define DIFFS_MOST (DSM_BULK_BYTES / DIFF_BYTES)
static_assert(DIFFS_MOST <= DSM_BULK_MESSAGES);

static struct {
	u32 value;
	u32 min;
	u32 max;
	bool fixed;
} tunables[DSM_NET_TUNABLES] = {
	[DSM_NET_INLINE_MAX] = { .value = 256, .max = DSM_INLINE_BYTES },
	[DSM_NET_BATCH_MAX] = { .value = 16, .min = 1, .max = DSM_BATCH_MAX },
	[DSM_NET_BULK_MIN] = { .value = 4, .max = DSM_BULK_MESSAGES },
};

/**
 * dsm_tune() - a limit as it is now
 * @which: limit
 *
 * Context: any.
 * Return: the value, within its bounds.
 */
u32 dsm_tune(enum dsm_net_tunable which)
{
	return READ_ONCE(tunables[which].value);
}

/**
 * dsm_net_tunable() - a limit as it is now, for the shell
 * @which: limit
 *
 * Context: any.
 * Return: the value.
 */
u32 dsm_net_tunable(enum dsm_net_tunable which)
{
	return dsm_tune(which);
}

/**
 * dsm_net_set_tunable() - change a limit
 * @which: limit
 * @value: new value; messages sent from now on obey it, and no measurement changes it any more
 *
 * Context: any.
 * Return: 0; -ERANGE: it is out of bounds, nothing was changed.
 */
int dsm_net_set_tunable(enum dsm_net_tunable which, u32 value)
{
	if (value < tunables[which].min || value > tunables[which].max)
		return -ERANGE;
	WRITE_ONCE(tunables[which].fixed, true);
	WRITE_ONCE(tunables[which].value, value);
	return 0;
}

/* ---- measuring ---- */

static void measured(enum dsm_net_tunable which, u32 value)
{
	if (!READ_ONCE(tunables[which].fixed))
		WRITE_ONCE(tunables[which].value, value);
}

static int one_run(struct dsm_net *net, struct dsm_net_ping *p, u64 end, u64 *time)
{
	int err;

	if (ktime_get_ns() >= end)
		return -ETIME;
	err = dsm_net_ping(net, p);
	*time = p->total_ns;
	return err;
}

/* A peer to measure with, and until when. */
struct with {
	struct dsm_net *net;
	u16 node;
	u64 end;
};

static int take_turns(struct with *w, struct dsm_net_ping *p, enum dsm_net_mech way, enum dsm_net_mech other,
		      u64 *way_ns, u64 *other_ns)
{
	int err = 0;
	u32 k;

	for (k = 0; !err && k < DSM_CHOICE_TRIALS; k++) {
		p->mech = way;
		err = one_run(w->net, p, w->end, &way_ns[k]);
		p->mech = other;
		err = err ?: one_run(w->net, p, w->end, &other_ns[k]);
	}
	return err;
}

/* Round trips of a request and its reply of a length, inline and gathered. */
static int time_inline(void *ctx, u32 bytes, u64 *inlined, u64 *gathered)
{
	struct with *w = ctx;
	struct dsm_net_ping p = {
		.node = w->node, .priority = DSM_NET_CALL, .count = 1, .window = 1, .batch = 1,
		.bytes = bytes - DSM_HDR_BYTES, .answer_bytes = bytes - DSM_HDR_BYTES,
	};

	return take_turns(w, &p, DSM_NET_INLINE, DSM_NET_GATHER, inlined, gathered);
}

static int measure_inline(struct dsm_net *net, u16 node, u64 end)
{
	static const u32 lengths[] = { 64, 128, 256, DSM_INLINE_BYTES };
	const struct dsm_choice c = {
		.steps = lengths, .n = ARRAY_SIZE(lengths), .usual = dsm_tune(DSM_NET_INLINE_MAX), .time = time_inline,
	};
	struct with w = { .net = net, .node = node, .end = end };
	u32 best;
	int err;

	err = dsm_choice_search(&c, &w, &best);
	/* The device does not take more. */
	if (err == -EMSGSIZE)
		err = 0;
	if (!err)
		measured(DSM_NET_INLINE_MAX, best);
	return err;
}

/* Trains of short messages, by the number in one doorbell; the default is the first. */
static int time_batches(const struct with *w, const u32 *batches, u32 n, u32 *first)
{
	struct dsm_net_ping p = {
		.node = w->node, .priority = DSM_NET_LOW, .mech = DSM_NET_GATHER, .one_way = true,
		.count = TRAIN, .window = DSM_PINGS_MAX, .bytes = 64 - DSM_HDR_BYTES,
	};
	u64 times[BATCHES][DSM_CHOICE_TRIALS];
	u32 i, k;
	int err = 0;

	for (k = 0; k < DSM_CHOICE_TRIALS; k++)
		for (i = 0; !err && i < n; i++) {
			p.batch = batches[i];
			err = one_run(w->net, &p, w->end, &times[i][k]);
		}
	*first = err ? 0 : dsm_choice_first(times, n);
	return err;
}

static int measure_batch(struct dsm_net *net, u16 node, u64 end)
{
	u32 batches[BATCHES] = { dsm_tune(DSM_NET_BATCH_MAX), 1, 4 };
	struct with w = { .net = net, .node = node, .end = end };
	u32 first;
	int err;

	err = time_batches(&w, batches, BATCHES, &first);
	/* As in a search: twice. */
	if (first) {
		batches[1] = batches[first];
		err = time_batches(&w, batches, 2, &first);
	}
	if (first)
		measured(DSM_NET_BATCH_MAX, batches[first]);
	return err;
}

/* So many messages as long as diffs of whole pages, written into the ring and sent in one chain. */
static int time_bulk(void *ctx, u32 number, u64 *written, u64 *sent)
{
	struct with *w = ctx;
	struct dsm_net_ping p = {
		.node = w->node, .priority = DSM_NET_LOW, .one_way = true, .count = number,
		.window = number, .batch = number, .bytes = DIFF_BYTES - DSM_HDR_BYTES,
	};

	return take_turns(w, &p, DSM_NET_BULK, DSM_NET_GATHER, written, sent);
}

/* If even most of them are slower, the ring is not used. */
static int measure_bulk(struct dsm_net *net, u16 node, u64 end)
{
	static const u32 numbers[] = { DIFFS_MOST, 8, 4, 2 };
	const struct dsm_choice c = {
		.steps = numbers, .n = ARRAY_SIZE(numbers), .usual = dsm_tune(DSM_NET_BULK_MIN), .falling = true,
		.time = time_bulk,
	};
	struct with w = { .net = net, .node = node, .end = end };
	u32 best;
	int err;

	err = dsm_choice_search(&c, &w, &best);
	if (!err)
		measured(DSM_NET_BULK_MIN, best);
	return err;
}

/**
 * dsm_tune_work() - measure with the first peer
 * @work: tune_work of a transport
 *
 * Context: process; sleeps for the answers of PINGs.
 */
void dsm_tune_work(struct work_struct *work)
{
	struct dsm_net *net = container_of(work, struct dsm_net, tune_work);
	u64 start = ktime_get_ns(), at[3];
	u16 node = net->tune_node;
	int err[3];

	err[0] = measure_inline(net, node, start + INLINE_BUDGET_NS);
	at[0] = ktime_get_ns();
	err[1] = measure_batch(net, node, at[0] + BATCH_BUDGET_NS);
	at[1] = ktime_get_ns();
	err[2] = measure_bulk(net, node, at[1] + BULK_BUDGET_NS);
	at[2] = ktime_get_ns();
	pr_debug("dsm: inline_max %u: %d, batch_max %u: %d, bulk_min %u: %d; %llu %llu %llu us\n",
		 dsm_tune(DSM_NET_INLINE_MAX), err[0], dsm_tune(DSM_NET_BATCH_MAX), err[1],
		 dsm_tune(DSM_NET_BULK_MIN), err[2], (at[0] - start) / NSEC_PER_USEC,
		 (at[1] - at[0]) / NSEC_PER_USEC, (at[2] - at[1]) / NSEC_PER_USEC);
}

/* A transport with whose peer the limits are or were measured. */
static atomic_t measuring = ATOMIC_INIT(0);

/**
 * dsm_tune_start() - a peer has come up: if it is the first one on another machine, measure
 * @peer: peer
 *
 * Context: process.
 */
void dsm_tune_start(struct dsm_peer *peer)
{
	struct dsm_net *net = peer->net;

	if (peer->addr.sin_addr.s_addr == net->cfg.listen.sin_addr.s_addr || atomic_xchg(&measuring, 1))
		return;
	net->tuned = true;
	net->tune_node = peer->node;
	queue_work(net->slow_wq, &net->tune_work);
}

/**
 * dsm_tune_stop() - a transport stops: if the limits were measured with a peer of it, the next may do so
 * @net: transport, without peers
 *
 * Context: process.
 */
void dsm_tune_stop(struct dsm_net *net)
{
	if (net->tuned)
		atomic_set(&measuring, 0);
}
