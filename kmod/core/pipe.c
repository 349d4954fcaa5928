// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Packs of diffs and how many of them a home has to acknowledge before it gets more.
 *
 * A pack is what seed 002 calls a buffer: it goes out as a whole, and is acknowledged when all its
 * messages are. diff=orig is a pack for each record and one of them under way in the whole region
 * at a time. Nothing here waits: packs that may not go yet stay at their home's list, and the
 * acknowledgement that makes room sends them.
 */
#include "pipe.h"
#include "direct.h"

static u32 limit_of(const struct dsm_pack *k)
{
	return k->space->policy.diff == DSM_DIFF_MODE_ORIG ? 0 : k->space->policy.pipe_bytes;
}

/**
 * dsm_pack_add() - one more message for records
 * @k:    pack
 * @m:    empty message, consumed
 * @self: this node
 *
 * Context: any.
 */
void dsm_pack_add(struct dsm_pack *k, struct dsm_msgbuf *m, u16 self)
{
	struct dsm_wire_pack head = {
		.magic = cpu_to_le32(DSM_DIFF_MAGIC),
		.hdr_len = cpu_to_le16(sizeof(head)),
		.region = cpu_to_le32(k->space->id),
		.writer = cpu_to_le32(self),
	};

	m->next = NULL;
	m->dst = k->home;
	m->class = DSM_CLASS_REQ;
	dsm_wire_begin(m, DSM_MSG_DIFF, k->space->id, 0);
	dsm_wire_put(m, &head, sizeof(head));
	if (k->last) {
		dsm_pack_close(k);
		k->last->next = m;
	} else {
		k->first = m;
	}
	k->last = m;
	k->records = 0;
	k->bytes += m->len;
}

/**
 * dsm_pack_room() - how long may the next record be?
 * @k: pack
 *
 * The first record may always have a whole message.
 *
 * Context: any.
 * Return: bytes; 0 if there is no message or no room.
 */
u32 dsm_pack_room(const struct dsm_pack *k)
{
	u32 room;

	if (!k->last || k->records == DSM_PACK_RECORDS_MAX)
		return 0;
	room = dsm_wire_room(k->last);
	if (!k->filled)
		return room;
	return min(room, limit_of(k) - min(limit_of(k), k->bytes));
}

/**
 * dsm_pack_put() - a record was written at dsm_pack_at()
 * @k:     pack
 * @bytes: its length, at most dsm_pack_room()
 *
 * Context: any.
 */
void dsm_pack_put(struct dsm_pack *k, u32 bytes)
{
	dsm_assert(dsm_wire_room(k->last) >= bytes);
	k->last->len += bytes;
	k->bytes += bytes;
	k->records++;
	k->filled = k->bytes;
}

/**
 * dsm_pack_is_full() - is another pack needed for what did not fit into the last message?
 * @k: pack
 *
 * Context: any.
 * Return: true: send it and start another; false: dsm_pack_add() makes room.
 */
bool dsm_pack_is_full(const struct dsm_pack *k)
{
	if (!k->last)
		return false;
	/* A new message did not help either. */
	if (!k->records)
		return true;
	return k->bytes + DSM_PACK_GROW_MIN > limit_of(k);
}

/* Are so many more records, if they are as those of the last message, too few for a message? */
static bool is_tail(const struct dsm_pack *k, u32 left)
{
	return k->last->len * left < k->records * DSM_PACK_TAIL_BYTES;
}

/**
 * dsm_pack_is_due() - should the pack go out before more is packed?
 * @k:    pack, with a record in its last message, or nothing at all
 * @e:    engine; read without its lock, as it is only about when
 * @left: records that may still come, at most
 *
 * Context: any.
 * Return: true if it has all that its region allows, or its home has nothing to do, and both the
 *         pack and what will be left are worth a message.
 */
bool dsm_pack_is_due(const struct dsm_pack *k, const struct dsm_engine *e, u32 left)
{
	if (!k->filled)
		return false;
	if (k->bytes >= limit_of(k))
		return true;
	return k->bytes >= DSM_PACK_EARLY_BYTES && !READ_ONCE(e->pipe[k->home].under_way) &&
	       !is_tail(k, left);
}

/**
 * dsm_pack_close() - finish the last message
 * @k: pack
 *
 * Context: any.
 * Return: NULL; or the last message, taken out because there is no record in it.
 */
struct dsm_msgbuf *dsm_pack_close(struct dsm_pack *k)
{
	struct dsm_msgbuf *m = k->last, *before;
	__le32 bytes;

	if (!m)
		return NULL;
	if (!k->records) {
		k->bytes -= m->len;
		k->last = NULL;
		if (k->first == m) {
			k->first = NULL;
			return m;
		}
		for (before = k->first; before->next != m; before = before->next)
			;
		before->next = NULL;
		k->last = before;
		return m;
	}
	bytes = cpu_to_le32(m->len - DSM_HDR_BYTES - sizeof(struct dsm_wire_pack));
	memcpy(m->data + DSM_HDR_BYTES + offsetof(struct dsm_wire_pack, bytes), &bytes,
	       sizeof(bytes));
	return NULL;
}

/* ---- sending ---- */

static u32 xid_of(const struct dsm_msgbuf *m)
{
	struct dsm_wire_hdr hdr;

	memcpy(&hdr, m->data, sizeof(hdr));
	return le32_to_cpu(hdr.xid);
}

static void set_xid(struct dsm_msgbuf *m, u32 xid)
{
	__le32 wire = cpu_to_le32(xid);

	memcpy(m->data + offsetof(struct dsm_wire_hdr, xid), &wire, sizeof(wire));
}

static const struct dsm_policy *policy_of(struct dsm_engine *e, const struct dsm_msgbuf *m)
{
	struct dsm_space *s = dsm_space_find(e, dsm_msg_region(m));

	dsm_assert(s);
	return s ? &s->policy : NULL;
}

static struct dsm_pipe_slot *slot_of(struct dsm_pipe *p, u32 xid)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p->slot); i++)
		if (p->slot[i].xid == xid)
			return &p->slot[i];
	return NULL;
}

/* The transfers go, and the last of them brings the message, which is its pack's only one. */
static void send_after(struct dsm_msgbuf *m, struct dsm_actions *acts)
{
	struct dsm_xfer *x, *next;

	for (x = m->before; x; x = next) {
		next = x->next;
		x->next = NULL;
		if (!next)
			x->then = m;
		dsm_act_xfer(acts, x);
	}
	m->before = NULL;
}

/* The pack at the head of a home's list goes out, if it may. */
static bool send_one(struct dsm_engine *e, struct dsm_pipe *p, struct dsm_actions *acts)
{
	struct dsm_msgbuf *m = p->ready;
	const struct dsm_policy *policy;
	struct dsm_pipe_slot *slot;
	bool alone;
	u32 xid;

	if (!m)
		return false;
	policy = policy_of(e, m);
	alone = policy && policy->diff == DSM_DIFF_MODE_ORIG;
	if (alone ? e->pipe_alone : policy && p->under_way >= policy->pipe_depth)
		return false;
	/* 0 is nobody's: a free slot. Depth and the lone one never need more than there are. */
	slot = slot_of(p, 0);
	if (!slot)
		return false;
	xid = xid_of(m);
	*slot = (struct dsm_pipe_slot){ .xid = xid, .alone = alone };
	e->pipe_alone |= alone;
	p->under_way++;
	while (m && xid_of(m) == xid) {
		p->ready = m->next;
		m->next = NULL;
		e->pipe_ready--;
		if (m->before) {
			send_after(m, acts);
		} else {
			slot->left++;
			dsm_act_send(acts, m);
		}
		m = p->ready;
	}
	return true;
}

static void send_home(struct dsm_engine *e, u16 home, struct dsm_actions *acts)
{
	while (send_one(e, &e->pipe[home], acts))
		;
}

static void go_on(struct dsm_engine *e, struct dsm_actions *acts)
{
	if (e->pipe_stalled && e->pipe_ready <= DSM_PIPE_READY_MAX / 2) {
		e->pipe_stalled = false;
		acts->flush = true;
	}
}

/* What waited for the lone pack: homes in order from the next one, so that none is always last. */
static void send_lone(struct dsm_engine *e, struct dsm_actions *acts)
{
	u32 i;

	for (i = 1; i <= e->n_nodes && !e->pipe_alone; i++)
		send_home(e, (e->self + i) % e->n_nodes, acts);
}

/**
 * dsm_pipe_send() - hand over a closed pack
 * @e:    engine
 * @k:    pack with at least one message; empty on return
 * @acts: actions
 *
 * Context: engine lock held, in the step that marks the pack's pages UNACKED or after it. A pack
 * for a lost home goes nowhere.
 */
void dsm_pipe_send(struct dsm_engine *e, struct dsm_pack *k, struct dsm_actions *acts)
{
	struct dsm_pipe *p = &e->pipe[k->home];
	struct dsm_msgbuf *m = k->first, *next;
	u32 xid = dsm_xid_next(e);

	for (; m; m = next) {
		next = m->next;
		m->next = NULL;
		if (!dsm_engine_alive(e, k->home)) {
			dsm_direct_drop(e, m);
			continue;
		}
		set_xid(m, xid);
		if (p->ready)
			p->ready_end->next = m;
		else
			p->ready = m;
		p->ready_end = m;
		e->pipe_ready++;
	}
	dsm_pack_init(k, k->space, k->home);
	send_home(e, p - e->pipe, acts);
}

/**
 * dsm_pipe_follow() - the transfers before a message are back
 * @e:    engine
 * @m:    the message, consumed
 * @acts: actions
 *
 * Only now may its pack be acknowledged: until here the device read the pages' twins.
 *
 * Context: engine lock held. The message goes nowhere if its home was lost meanwhile.
 */
void dsm_pipe_follow(struct dsm_engine *e, struct dsm_msgbuf *m, struct dsm_actions *acts)
{
	struct dsm_pipe_slot *slot = slot_of(&e->pipe[m->dst], xid_of(m));

	if (!slot) {
		dsm_pool_give(e, DSM_POOL_MSG, m);
		return;
	}
	dsm_assert(!slot->left);
	slot->left = 1;
	dsm_act_send(acts, m);
}

/**
 * dsm_pipe_stalled() - shall the flushers stop for now?
 * @e: engine
 *
 * What is packed and may not go yet takes memory; when half of it is gone, acts->flush is set.
 *
 * Context: engine lock held.
 * Return: true: take no more pages.
 */
bool dsm_pipe_stalled(struct dsm_engine *e)
{
	if (e->pipe_ready >= DSM_PIPE_READY_MAX)
		e->pipe_stalled = true;
	return e->pipe_stalled;
}

/**
 * dsm_pipe_holds() - do packs of a region wait to be sent?
 * @e:      engine
 * @region: its number
 *
 * Of a region whose diffs are all acknowledged there are none, unless a home has acknowledged what it was not sent.
 *
 * Context: engine lock held.
 * Return: true: the region's twins and keys are wanted still.
 */
bool dsm_pipe_holds(const struct dsm_engine *e, u32 region)
{
	const struct dsm_msgbuf *m;
	u32 home;

	for (home = 0; e->pipe_ready && home < e->n_nodes; home++)
		for (m = e->pipe[home].ready; m; m = m->next)
			if (dsm_msg_region(m) == region)
				return true;
	return false;
}

/**
 * dsm_pipe_awaits() - is an acknowledgement of this pack awaited?
 * @e:    engine
 * @home: by whom
 * @xid:  any number
 *
 * Context: engine lock held.
 * Return: true if such a pack is under way there, and not only the transfers before its message.
 */
bool dsm_pipe_awaits(struct dsm_engine *e, u16 home, u32 xid)
{
	struct dsm_pipe_slot *slot = xid ? slot_of(&e->pipe[home], xid) : NULL;

	return slot && slot->left;
}

/**
 * dsm_pipe_acked() - one message of a pack is acknowledged
 * @e:    engine
 * @home: by whom
 * @xid:  its pack, awaited
 * @acts: actions: what may go now
 *
 * Context: engine lock held.
 */
void dsm_pipe_acked(struct dsm_engine *e, u16 home, u32 xid, struct dsm_actions *acts)
{
	struct dsm_pipe *p = &e->pipe[home];
	struct dsm_pipe_slot *slot = slot_of(p, xid);

	if (--slot->left)
		return;
	slot->xid = 0;
	p->under_way--;
	if (slot->alone) {
		e->pipe_alone = false;
		send_lone(e, acts);
	}
	send_home(e, home, acts);
	go_on(e, acts);
}

/**
 * dsm_pipe_peer_lost() - a home is gone
 * @e:    engine
 * @node: the lost node, not alive any more
 * @acts: actions
 *
 * Context: engine lock held. The pages fail in dsm_page_peer_lost().
 */
void dsm_pipe_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts)
{
	struct dsm_pipe *p = &e->pipe[node];
	struct dsm_msgbuf *m, *next;
	bool lone = false;
	u32 i;

	for (m = p->ready; m; m = next) {
		next = m->next;
		e->pipe_ready--;
		dsm_direct_drop(e, m);
	}
	for (i = 0; i < ARRAY_SIZE(p->slot); i++)
		lone |= p->slot[i].xid && p->slot[i].alone;
	memset(p, 0, sizeof(*p));
	if (lone) {
		e->pipe_alone = false;
		send_lone(e, acts);
	}
	go_on(e, acts);
}
