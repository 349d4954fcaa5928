// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks with algo=array (seed 000): every node of the region has a copy of each lock's array of
 * eight entries, one entry per node, which that node alone changes, in all copies.
 *
 * Who wants the lock writes its entry into every copy, reads eight bytes behind each WRITE, and
 * looks at its own copy when all are back. If no other entry is set, it has the lock: of two nodes
 * the one that looks last sees the other's, since each entry is in the other's copy before its
 * node looks (mutant M80: without the READs both have it). Otherwise it takes its entry back and
 * tries again some random time later. Nobody's processor but its own takes part.
 *
 * An entry also counts: who gives the lock back writes the highest number that it saw, plus one.
 * So who gets it knows who had it last, and learns from that node's board (mutant M81). What a
 * node does with a lock that is there is the same as with queue locks (rlock.c, rlock_give.c).
 */
#include "array.h"
#include "rlock.h"

/* Pauses are random between none and FIRST << attempts, LAST at most. */
#define PAUSE_FIRST_NS 50000u
#define PAUSE_DOUBLINGS 6u

#define WANTED 1ull	/* its node wants the lock, or has it */
#define DEAD 2ull	/* its node had it, and the holder ended */
#define REGION_SHIFT 2
#define NUMBER_SHIFT 32

static_assert(DSM_ARRAY_NODES == 8);

static u64 entry(u32 region, u32 number, u64 bits)
{
	return bits | (u64)(region & 0x3fffffffu) << REGION_SHIFT | (u64)number << NUMBER_SHIFT;
}

/* Of a region that had the array before, it says nothing. */
static u64 entry_read(const __le64 *at, u32 region)
{
	u64 v = le64_to_cpu(READ_ONCE(*at));

	return (v ^ entry(region, 0, 0)) >> REGION_SHIFT & 0x3fffffffu ? 0 : v;
}

static u32 number_of(u64 v)
{
	return v >> NUMBER_SHIFT;
}

static __le64 *own_copy(struct dsm_engine *e, const struct dsm_rlock *l)
{
	return e->rsync->mail->array[l->manager][l->handle % DSM_RSYNC_WORDS];
}

/* Members that have been there all the time, without this node. One that was lost before the region came here is not marked. */
static u64 others(const struct dsm_engine *e, const struct dsm_space *s)
{
	u64 nodes = 0;
	u16 i;

	for (i = 0; i < s->n_members; i++)
		nodes |= 1ull << s->members[i];
	return nodes & e->alive & ~s->gone & ~(1ull << e->self);
}

/* Can this node write to all of them? */
static bool can_reach(const struct dsm_engine *e, u64 nodes)
{
	for (; nodes; nodes &= nodes - 1)
		if (!e->mail_key[__ffs64(nodes)].rkey)
			return false;
	return true;
}

static struct dsm_xfer *transfer(struct dsm_engine *e, const struct dsm_rlock *l, u8 op, u16 dst)
{
	struct dsm_xfer *x = dsm_rsync_xfer(e, op, DSM_XFER_KIND_RLOCK, dst, l->region);

	x->idx = l->handle;
	x->rkey = e->mail_key[dst].rkey;
	x->remote = e->mail_key[dst].addr + offsetof(struct dsm_mail, array) +
		    (u8 *)&own_copy(e, l)[e->self] - (u8 *)e->rsync->mail->array;
	return x;
}

/*
 * Change our entry in all copies. @ask: and hear when it is there. A WRITE that leaves late may take
 * a newer value along, which is the next one's.
 */
static void write_entry(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_space *s,
			u64 value, bool ask, struct dsm_actions *acts)
{
	__le64 *own = &own_copy(e, l)[e->self];
	u64 nodes = others(e, s);
	struct dsm_xfer *x;

	WRITE_ONCE(*own, cpu_to_le64(value));
	for (; nodes; nodes &= nodes - 1) {
		u16 node = __ffs64(nodes);

		if (!e->mail_key[node].rkey)
			continue;
		x = transfer(e, l, DSM_XFER_WRITE, node);
		dsm_rsync_seg(x, own, sizeof(*own));
		dsm_act_xfer(acts, x);
		if (!ask)
			continue;
		x = transfer(e, l, DSM_XFER_READ, node);
		dsm_rsync_seg(x, &e->rsync->flushed[node], sizeof(e->rsync->flushed[node]));
		x->xid = l->xid;
		l->asked++;
		dsm_act_xfer(acts, x);
	}
}

static void set_alarm(struct dsm_engine *e, struct dsm_actions *acts)
{
	const struct dsm_rlock *l;

	list_for_each_entry(l, &e->arrays_pausing, list)
		if (!acts->alarm_ns || l->target < acts->alarm_ns)
			acts->alarm_ns = l->target;
}

/**
 * dsm_array_pause() - try again some time later
 * @e:    engine
 * @l:    lock that is not here
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_array_pause(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	u64 range = (u64)PAUSE_FIRST_NS << min_t(u32, l->attempts, PAUSE_DOUBLINGS);

	if (l->attempts < PAUSE_DOUBLINGS)
		l->attempts++;
	e->array_random = e->array_random * 1664525u + 1013904223u + e->self;
	dsm_rlock_set_state(e, l, DSM_RLOCK_PAUSING);
	l->target = e->now_ns + (range * (e->array_random >> 16) >> 16);
	list_add_tail(&l->list, &e->arrays_pausing);
	set_alarm(e, acts);
}

/* Another node wants it too, or has it. */
static void give_way(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	dsm_rlock_fail_waiters(e, l, -EBUSY, true, acts);
	if (list_empty(&l->waiters))
		dsm_rlock_set_state(e, l, DSM_RLOCK_NONE);
	else
		dsm_array_pause(e, l, acts);
}

/* What our copy says of the others. */
struct sight {
	bool wanted;
	bool lost;
	u64 last;
	u16 last_node;
};

static struct sight look(struct dsm_engine *e, const struct dsm_rlock *l, const struct dsm_space *s)
{
	struct sight seen = { .last = l->put, .last_node = e->self };
	const __le64 *copy = own_copy(e, l);
	u16 i;

	for (i = 0; i < s->n_members; i++) {
		u16 node = s->members[i];
		u64 v = entry_read(&copy[node], l->region);

		if (node == e->self || !v)
			continue;
		if (v & WANTED && (s->gone & 1ull << node || !dsm_engine_alive(e, node)))
			seen.lost = true;
		else if (v & WANTED)
			seen.wanted = true;
		if ((s32)(number_of(v) - number_of(seen.last)) > 0) {
			seen.last = v;
			seen.last_node = node;
		}
	}
	if (!number_of(seen.last))
		seen.last_node = DSM_NO_NODE;
	return seen;
}

/* Our entry is in all copies. */
static void look_and_take(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_space *s,
			  struct dsm_actions *acts)
{
	struct sight seen;

	/* The entry was stored before; pairs with the other node's, by way of the transfers. */
	smp_mb();
	seen = look(e, l, s);
	if (seen.lost || !dsm_engine_alive(e, l->manager)) {
		write_entry(e, l, s, l->put, false, acts);
		dsm_rlock_refused(e, l, -EHOSTDOWN, acts);
		return;
	}
	if (seen.wanted) {
		write_entry(e, l, s, l->put, false, acts);
		give_way(e, l, acts);
		return;
	}
	l->attempts = 0;
	l->before = seen.last_node;
	l->flags |= seen.last & DEAD ? DSM_RLOCKF_DEAD : 0;
	l->put = entry(l->region, number_of(seen.last) + 1, 0);
	dsm_rlock_learn(e, l, acts);
}

/**
 * dsm_array_try() - want the lock
 * @e:    engine
 * @l:    lock that is not here, its number known
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_array_try(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, l->region);

	if (!s)
		return;
	if (!l->put)
		l->put = entry(l->region, 0, 0);
	if (!can_reach(e, others(e, s))) {
		give_way(e, l, acts);	/* a node that came up a moment ago has not told us its key yet */
		return;
	}
	dsm_rlock_set_state(e, l, DSM_RLOCK_QUEUEING);
	l->xid = dsm_xid_next(e);
	l->asked = 0;
	write_entry(e, l, s, l->put | WANTED, true, acts);
	if (!l->asked)
		look_and_take(e, l, s, acts);
}

/**
 * dsm_array_on_read() - a READ behind our entry is back
 * @e:    engine
 * @l:    lock
 * @x:    the READ; with an error if its node is lost, whose copy nobody looks at any more
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_array_on_read(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
		       struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, l->region);

	if (x->xid != l->xid || l->state != DSM_RLOCK_QUEUEING || !s)
		return;
	if (!--l->asked)
		look_and_take(e, l, s, acts);
}

/**
 * dsm_array_give() - give the lock back
 * @e:    engine
 * @l:    lock that is here; all that was written is at its homes, and the board says so
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_array_give(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, l->region);

	l->put |= l->flags & DSM_RLOCKF_DEAD ? DEAD : 0;
	if (s)
		write_entry(e, l, s, l->put, false, acts);
}

/**
 * dsm_array_retry() - a pause may be over
 * @e:    engine
 * @acts: actions
 *
 * One lock per step, so that the pools suffice.
 *
 * Context: engine lock held, dsm_engine.now_ns set.
 */
void dsm_array_retry(struct dsm_engine *e, struct dsm_actions *acts)
{
	struct dsm_rlock *l;

	list_for_each_entry(l, &e->arrays_pausing, list) {
		if (l->target > e->now_ns)
			continue;
		if (list_empty(&l->waiters))
			dsm_rlock_set_state(e, l, DSM_RLOCK_NONE);
		else
			dsm_array_try(e, l, acts);
		break;
	}
	set_alarm(e, acts);
}

/**
 * dsm_array_peer_lost() - a node is lost
 * @e:    engine
 * @l:    lock
 * @node: lost node
 * @acts: actions
 *
 * Whoever tries finds out by itself whether the lost node wanted the lock.
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_array_peer_lost(struct dsm_engine *e, struct dsm_rlock *l, u16 node,
			 struct dsm_actions *acts)
{
	if (l->manager == node &&
	    (l->state == DSM_RLOCK_OPENING || l->state == DSM_RLOCK_PAUSING))
		dsm_rlock_refused(e, l, -EHOSTDOWN, acts);
}
