// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Knowledge: the log of interval records, vector times, pulls.
 *
 * Records enter the log of their node only in order and without gaps, so a number per node
 * (known[]) describes the log. A message whose vector time is ahead of the log is followed by a
 * pull; what had to wait for it is a struct dsm_cont. The log is trimmed below what every
 * living node is known to have; over its cap it is trimmed anyway and whoever falls behind
 * invalidates everything (protocol.md 2.3). Never touches page bytes.
 */
#include "interval.h"
#include "csm.h"
#include "ring.h"
#include "rsync.h"

/* A number beyond it is no interval's: the log goes by differences, and a number that wraps would have no end. */
#define MOST_EVER (~0ull >> 1)

static u32 record_bytes(u32 count)
{
	return sizeof(struct dsm_wire_interval) + count * sizeof(struct dsm_wire_notice);
}

static void put_times(struct dsm_msgbuf *m, const u64 *times, u16 nodes, u16 count)
{
	struct dsm_wire_know head = { .nodes = cpu_to_le16(nodes), .count = cpu_to_le16(count) };
	u16 i;

	dsm_wire_put(m, &head, sizeof(head));
	for (i = 0; i < nodes; i++) {
		__le64 t = cpu_to_le64(times[i]);

		dsm_wire_put(m, &t, sizeof(t));
	}
}

static void put_record(struct dsm_msgbuf *m, const struct dsm_interval *rec)
{
	struct dsm_wire_interval head = {
		.node = cpu_to_le16(rec->node),
		.count = cpu_to_le16(rec->count),
		.seq = cpu_to_le64(rec->seq),
	};
	u16 i;

	dsm_wire_put(m, &head, sizeof(head));
	for (i = 0; i < rec->count; i++) {
		struct dsm_wire_notice n = {
			.region = cpu_to_le32(rec->notice[i].region),
			.idx = cpu_to_le32(rec->notice[i].idx),
			.ver = cpu_to_le64(rec->notice[i].ver),
		};

		dsm_wire_put(m, &n, sizeof(n));
	}
}

/**
 * dsm_log_above() - first record of a node's log above a number
 * @e:    engine
 * @node: whose
 * @seq:  number
 *
 * Context: engine lock held.
 * Return: the record or NULL.
 */
struct dsm_interval *dsm_log_above(struct dsm_engine *e, u16 node, u64 seq)
{
	struct dsm_interval *found = NULL, *rec;

	/* What is wanted is near the tail. */
	list_for_each_entry_reverse(rec, &e->log[node], link) {
		if (rec->seq <= seq)
			break;
		found = rec;
	}
	return found;
}

/* By runs of one region: a record names few regions. */
static void count_notices(struct dsm_engine *e, const struct dsm_interval *rec, bool sent)
{
	u32 i, end;

	for (i = 0; i < rec->count; i = end) {
		u32 region = rec->notice[i].region;
		struct dsm_space *s = dsm_space_find(e, region);

		for (end = i + 1; end < rec->count && rec->notice[end].region == region; end++)
			;
		if (sent)
			dsm_count_many(e, s, notices_sent, end - i);
		else
			dsm_count_many(e, s, notices_received, end - i);
	}
}

/**
 * dsm_know_put() - append all knowledge that a peer lacks
 * @e:    engine
 * @m:    message under construction
 * @peer: its receiver
 *
 * Context: engine lock held. Sets DSM_HDR_MORE if not all records fitted, and
 * DSM_HDR_INVAL_ALL if the log does not reach back to the peer any more.
 */
void dsm_know_put(struct dsm_engine *e, struct dsm_msgbuf *m, u16 peer)
{
	u32 head_at = m->len;
	u16 count = 0, k;

	put_times(m, e->known, e->n_nodes, 0);
	for (k = 0; k < e->n_nodes; k++) {
		u64 have = e->peer_known[peer][k];
		struct dsm_interval *rec;

		if (k == peer || have >= e->known[k])
			continue;
		if (have < e->floor[k]) {
			dsm_wire_set_flag(m, DSM_HDR_INVAL_ALL);
			continue;
		}
		rec = dsm_log_above(e, k, have);
		if (!rec)
			continue;
		list_for_each_entry_from(rec, &e->log[k], link) {
			if (dsm_wire_room(m) < record_bytes(rec->count)) {
				dsm_wire_set_flag(m, DSM_HDR_MORE);
				break;
			}
			put_record(m, rec);
			count_notices(e, rec, true);
			count++;
		}
	}
	((struct dsm_wire_know *)(m->data + head_at))->count = cpu_to_le16(count);
}

/**
 * dsm_know_put_time() - append a vector time without records
 * @e:    engine
 * @m:    message under construction
 * @node: whose: own, or what @node is known to have
 *
 * Context: engine lock held.
 */
void dsm_know_put_time(struct dsm_engine *e, struct dsm_msgbuf *m, u16 node)
{
	put_times(m, node == e->self ? e->known : e->peer_known[node], e->n_nodes, 0);
}

/**
 * dsm_know_check() - structure of a message's tail
 * @r: reader at the tail; stands behind it afterwards
 *
 * Context: any.
 * Return: true if counts, lengths and node numbers are sound.
 */
bool dsm_know_check(struct dsm_reader *r)
{
	struct dsm_wire_know head;
	u16 i;

	dsm_reader_take(r, &head, sizeof(head));
	if (r->bad || le16_to_cpu(head.nodes) > DSM_MAX_NODES || head.reserved)
		return false;
	dsm_reader_skip(r, le16_to_cpu(head.nodes) * sizeof(__le64));
	for (i = 0; i < le16_to_cpu(head.count) && !r->bad; i++) {
		struct dsm_wire_interval rec;

		dsm_reader_take(r, &rec, sizeof(rec));
		if (le16_to_cpu(rec.node) >= DSM_MAX_NODES || !rec.count ||
		    le16_to_cpu(rec.count) > DSM_NOTICES_PER_RECORD || rec.reserved)
			return false;
		dsm_reader_skip(r, le16_to_cpu(rec.count) * sizeof(struct dsm_wire_notice));
	}
	return !r->bad;
}

static void drop_log(struct dsm_engine *e, u16 node, u64 upto)
{
	while (!list_empty(&e->log[node])) {
		struct dsm_interval *rec =
			list_first_entry(&e->log[node], struct dsm_interval, link);

		if (rec->seq > upto)
			break;
		list_del(&rec->link);
		dsm_pool_give(e, DSM_POOL_INTERVAL, rec);
		e->log_records--;
	}
	e->floor[node] = max(e->floor[node], upto);
}

/* Records that every living node has, and that we applied, are of no use any more. */
static void trim(struct dsm_engine *e, u16 node)
{
	u64 low = e->applied[node];
	u16 k;

	for (k = 0; k < e->n_nodes; k++)
		if (k != e->self && k != node && dsm_engine_alive(e, k))
			low = min(low, e->peer_known[k][node]);
	if (low > e->floor[node])
		drop_log(e, node, low);
}

/* At the next acquire. */
static void invalidate_all(struct dsm_engine *e)
{
	e->inval_all = true;
	e->stats.inval_all++;
}

/*
 * Over the cap: forget the oldest half of the longest log, applied or not by others, nor here: who only manages keys may
 * never acquire anything. What is lost here is made good as what others have lost: by invalidating all.
 */
static void enforce_cap(struct dsm_engine *e)
{
	u16 k, longest = 0;
	u64 most = 0;

	if (e->log_records <= e->log_cap)
		return;
	for (k = 0; k < e->n_nodes; k++) {
		u64 len = e->known[k] - min(e->known[k], e->floor[k]);

		if (len > most) {
			most = len;
			longest = k;
		}
	}
	if (!most)
		return;
	drop_log(e, longest, e->floor[longest] + (most + 1) / 2);
	if (e->applied[longest] < e->floor[longest]) {
		e->applied[longest] = e->floor[longest];
		invalidate_all(e);
	}
}

/* A node that wrote may be one that this node never met: it left, and its id is above all others'. */
static void heard_of(struct dsm_engine *e, u16 node)
{
	e->n_nodes = max_t(u16, e->n_nodes, node + 1);
}

static void log_add(struct dsm_engine *e, struct dsm_interval *rec)
{
	heard_of(e, rec->node);
	list_add_tail(&rec->link, &e->log[rec->node]);
	e->known[rec->node] = rec->seq;
	e->log_records++;
	dsm_rsync_note(e, rec);
}

/**
 * dsm_log_append_own() - number and log the records of a release that is done
 * @e:     engine
 * @notes: records; emptied
 *
 * Context: engine lock held.
 */
void dsm_log_append_own(struct dsm_engine *e, struct list_head *notes)
{
	struct dsm_interval *rec, *tmp;

	list_for_each_entry_safe(rec, tmp, notes, link) {
		list_del(&rec->link);
		rec->seq = e->known[e->self] + 1;
		log_add(e, rec);
		e->applied[e->self] = rec->seq;
		e->stats.intervals++;
	}
	trim(e, e->self);
	enforce_cap(e);
}

static void take_record(struct dsm_engine *e, const struct dsm_wire_interval *head,
			struct dsm_reader *r)
{
	u16 node = le16_to_cpu(head->node), count = le16_to_cpu(head->count), i;
	u64 seq = le64_to_cpu(head->seq);
	struct dsm_interval *rec;

	/* Known already, or a gap before it: the vector time tells what to pull. Nobody counts as far as MOST_EVER. */
	if (node == e->self || seq != e->known[node] + 1 || seq > MOST_EVER) {
		dsm_count_many(e, NULL, notices_dropped, count);
		dsm_reader_skip(r, count * sizeof(struct dsm_wire_notice));
		return;
	}
	rec = dsm_pool_take(e, DSM_POOL_INTERVAL);
	rec->node = node;
	rec->count = count;
	rec->seq = seq;
	for (i = 0; i < count; i++) {
		struct dsm_wire_notice n;

		dsm_reader_take(r, &n, sizeof(n));
		rec->notice[i] = (struct dsm_notice){ .region = le32_to_cpu(n.region),
						      .idx = le32_to_cpu(n.idx),
						      .ver = le64_to_cpu(n.ver) };
	}
	count_notices(e, rec, false);
	log_add(e, rec);
}

/*
 * The sender trimmed what we lack: take its time as ours
 * and invalidate everything at the next acquire.
 */
static void adopt_time(struct dsm_engine *e, const u64 *times)
{
	u16 k;

	for (k = 0; k < e->n_nodes; k++) {
		if (k == e->self || times[k] <= e->known[k])
			continue;
		drop_log(e, k, e->known[k]);
		e->floor[k] = times[k];
		e->known[k] = times[k];
		e->applied[k] = times[k];
	}
	invalidate_all(e);
}

/**
 * dsm_know_lacks() - this node goes on without something that it should know
 * @e: engine
 *
 * It invalidates everything, and so does whoever hears of it, directly or not: as by an interval of its own whose notices
 * nobody has any more.
 *
 * Context: engine lock held.
 */
void dsm_know_lacks(struct dsm_engine *e)
{
	u64 seq = ++e->known[e->self];

	drop_log(e, e->self, seq);
	e->applied[e->self] = seq;
	invalidate_all(e);
}

/**
 * dsm_know_take() - take the knowledge at the end of a message
 * @e:     engine
 * @peer:  sender
 * @about: node whose vector time it is
 * @flags: header flags
 * @r:     reader at the tail, checked
 *
 * Context: engine lock held.
 * Return: 1 our log holds all that the vector time names, 0 it does not, -EPROTO if it names
 * intervals that never were: of ours, or more than anybody makes.
 */
int dsm_know_take(struct dsm_engine *e, u16 peer, u16 about, u8 flags, struct dsm_reader *r)
{
	u64 times[DSM_MAX_NODES] = {};
	struct dsm_wire_know head;
	int complete = 1;
	u16 nodes, i;

	dsm_reader_take(r, &head, sizeof(head));
	nodes = min_t(u16, le16_to_cpu(head.nodes), DSM_MAX_NODES);
	for (i = 0; i < nodes; i++) {
		__le64 t;

		dsm_reader_take(r, &t, sizeof(t));
		times[i] = le64_to_cpu(t);
		if (times[i] > MOST_EVER)
			return -EPROTO;
		if (t)
			heard_of(e, i);
	}
	/* I16: nobody can know more of us than we do. */
	if (times[e->self] > e->known[e->self])
		return -EPROTO;
	for (i = 0; i < DSM_MAX_NODES; i++)
		e->peer_known[about][i] = max(e->peer_known[about][i], times[i]);
	for (i = 0; i < le16_to_cpu(head.count); i++) {
		struct dsm_wire_interval rec;

		dsm_reader_take(r, &rec, sizeof(rec));
		take_record(e, &rec, r);
	}
	if (about == peer) {
		if (flags & DSM_HDR_INVAL_ALL)
			adopt_time(e, times);
		for (i = 0; i < DSM_MAX_NODES; i++)
			if (times[i] > e->known[i])
				complete = 0;
	}
	for (i = 0; i < e->n_nodes; i++)
		trim(e, i);
	enforce_cap(e);
	return complete;
}

/**
 * dsm_know_board_record() - take a record that a peer's board shows
 * @e:   engine
 * @rec: the record, not to be trusted
 *
 * Context: engine lock held.
 * Return: false if it makes no sense.
 */
bool dsm_know_board_record(struct dsm_engine *e, const struct dsm_board_record *rec)
{
	u16 count = le16_to_cpu(rec->head.count);
	struct dsm_reader r = dsm_reader_init(rec->notice, sizeof(rec->notice));

	if (!count || count > DSM_NOTICES_PER_RECORD || rec->head.reserved ||
	    le16_to_cpu(rec->head.node) >= DSM_MAX_NODES)
		return false;
	dsm_count_many(e, NULL, notices_read, count);
	take_record(e, &rec->head, &r);
	return true;
}

/**
 * dsm_know_board_time() - take the vector time that a peer's board shows, after its records
 * @e:     engine
 * @peer:  whose board
 * @times: by node, not to be trusted
 *
 * Context: engine lock held.
 * Return: true if our log holds all that it names; false if not, or if it names intervals of ours
 * that never were (I16).
 */
bool dsm_know_board_time(struct dsm_engine *e, u16 peer, const u64 *times)
{
	bool complete = true;
	u16 i;

	if (times[e->self] > e->known[e->self])
		return false;
	for (i = 0; i < DSM_MAX_NODES; i++)
		if (times[i] > MOST_EVER)
			return false;
	for (i = 0; i < DSM_MAX_NODES; i++) {
		e->peer_known[peer][i] = max(e->peer_known[peer][i], times[i]);
		if (times[i])
			heard_of(e, i);
		if (times[i] > e->known[i])
			complete = false;
	}
	for (i = 0; i < e->n_nodes; i++)
		trim(e, i);
	enforce_cap(e);
	return complete;
}

/**
 * dsm_know_ahead_of() - does a peer lack anything we know?
 * @e:    engine
 * @peer: peer
 *
 * Context: engine lock held.
 * Return: true if an interval known here is not known to @peer, as far as it told.
 */
bool dsm_know_ahead_of(const struct dsm_engine *e, u16 peer)
{
	u16 k;

	for (k = 0; k < e->n_nodes; k++)
		if (k != peer && e->known[k] > e->peer_known[peer][k])
			return true;
	return false;
}

/* ---- pulls ---- */

static void send_pull(struct dsm_engine *e, u16 peer, struct dsm_actions *acts)
{
	struct dsm_msgbuf *m =
		dsm_msg_new(e, peer, DSM_CLASS_REQ, DSM_MSG_INTERVAL_PULL, 0, dsm_xid_next(e));

	dsm_know_put_time(e, m, e->self);
	dsm_act_send(acts, m);
}

/**
 * dsm_pull() - get all that a peer knows, then go on with something
 * @e:    engine
 * @peer: who knows
 * @c:    what waits for it
 * @kind: how to go on
 * @acts: actions
 *
 * A pull that is under way may have been answered before the peer learned what
 * we need: a newcomer waits for the next one.
 *
 * Context: engine lock held.
 */
void dsm_pull(struct dsm_engine *e, u16 peer, struct dsm_cont *c, u8 kind, struct dsm_actions *acts)
{
	struct dsm_pull *pull = &e->pull[peer];

	if (peer == e->self || !dsm_engine_alive(e, peer)) {
		if (peer != e->self)
			dsm_know_lacks(e);
		dsm_ready(e, acts, c, kind);
		return;
	}
	c->kind = kind;
	if (pull->busy) {
		list_add_tail(&c->link, &pull->then);
		return;
	}
	pull->busy = true;
	list_add_tail(&c->link, &pull->now);
	send_pull(e, peer, acts);
}

/**
 * dsm_know_on_pull() - message INTERVAL_PULL
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0 or -EPROTO.
 */
int dsm_know_on_pull(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_msgbuf *m;

	/* Who asks knows best. A late message may have told what the number's former owner knew. */
	memset(e->peer_known[from], 0, sizeof(e->peer_known[from]));
	if (dsm_know_take(e, from, from, 0, r) < 0)
		return -EPROTO;
	m = dsm_msg_new(e, from, DSM_CLASS_RSP, DSM_MSG_INTERVALS, 0, le32_to_cpu(hdr->xid));
	dsm_know_put(e, m, from);
	dsm_act_send(acts, m);
	return 0;
}

static void ready_all(struct dsm_engine *e, struct list_head *conts, struct dsm_actions *acts)
{
	struct dsm_cont *c, *tmp;

	list_for_each_entry_safe(c, tmp, conts, link) {
		list_del(&c->link);
		dsm_ready(e, acts, c, c->kind);
	}
}

/**
 * dsm_know_on_intervals() - message INTERVALS: the answer to a pull
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0 or -EPROTO.
 */
int dsm_know_on_intervals(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			  struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_pull *pull = &e->pull[from];
	int complete = dsm_know_take(e, from, from, hdr->flags, r);

	if (complete < 0 || !pull->busy)
		return -EPROTO;
	if (!complete) {
		send_pull(e, from, acts);
		return 0;
	}
	ready_all(e, &pull->now, acts);
	list_splice_tail_init(&pull->then, &pull->now);
	pull->busy = !list_empty(&pull->now);
	if (pull->busy)
		send_pull(e, from, acts);
	return 0;
}

static struct dsm_request *find_request(struct list_head *conts, u8 type, u16 node, u32 xid)
{
	struct dsm_request *q;
	struct dsm_cont *c;

	list_for_each_entry(c, conts, link) {
		if (c->kind != DSM_CONT_REQUEST)
			continue;
		q = container_of(c, struct dsm_request, cont);
		if (q->type == type && q->node == node && q->xid == xid)
			return q;
	}
	return NULL;
}

/**
 * dsm_pull_find() - a request that waits for the knowledge that belongs to it, or has just got it
 * @e:    engine
 * @type: its type
 * @node: who asked
 * @xid:  its number there
 *
 * Context: engine lock held.
 * Return: request, in a list by its cont, or NULL.
 */
struct dsm_request *dsm_pull_find(struct dsm_engine *e, u8 type, u16 node, u32 xid)
{
	struct dsm_request *q = find_request(&e->ready, type, node, xid);
	u16 via;

	for (via = 0; via < e->n_nodes && !q; via++) {
		q = find_request(&e->pull[via].now, type, node, xid);
		if (!q)
			q = find_request(&e->pull[via].then, type, node, xid);
	}
	return q;
}

/**
 * dsm_know_peer_lost() - what a lost node knew can't be had: invalidate everything instead
 * @e:    engine
 * @node: the lost node
 * @acts: actions
 *
 * Every diff it named was acknowledged by its home before, so refetching gives at least that. What waited for the rest of what it
 * told goes on; whoever hears of that must not rely on its copies either, for nobody names those pages any more.
 *
 * Context: engine lock held.
 */
void dsm_know_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts)
{
	if (e->pull[node].busy)
		dsm_know_lacks(e);
	e->inval_all = true;
	e->pull[node].busy = false;
	ready_all(e, &e->pull[node].now, acts);
	ready_all(e, &e->pull[node].then, acts);
}
