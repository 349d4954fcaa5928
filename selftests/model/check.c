// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Invariants of protocol.md 5.1, looked at from outside the engines: after
 * each step, at the end of an acquire, and when nothing can happen any more.
 */
#include "model.h"
#include "barrier.h"
#include "diff.h"
#include "flag.h"
#include "interval.h"
#include "rlock.h"

static void check_page(struct node *n, u32 k)
{
	const struct dsm_page *p = &n->page[k];
	const char name = 'A' + node_id(n);
	u32 on_lists = !!(p->flags & DSM_PF_DIRTY) + !!(p->flags & (DSM_PF_PENDING | DSM_PF_TODO)) +
		       !!(p->flags & DSM_PF_FLUSH);
	bool twin = p->state == DSM_PAGE_WR || p->state == DSM_PAGE_WRS || p->state == DSM_PAGE_WRF;
	u32 mm;

	if (!!p->twin != twin)
		fail("I9: p%u at %c in %s, twin %d", k, name, page_state_name(p->state), !!p->twin);
	if ((twin || p->state == DSM_PAGE_HOMEW) && !on_lists)
		fail("I9: p%u at %c in %s is on no list", k, name, page_state_name(p->state));
	if (!dsm_page_is_csm(p) || p->home != node_id(n)) {
		if (p->need < n->last_need[k])
			fail("I14: need of p%u at %c falls", k, name);
		n->last_need[k] = p->need;
	} else if (p->ver < n->last_need[k]) {
		fail("I14: home %c of p%u is older than what it was told of", name, k);
	}
	if ((p->state == DSM_PAGE_RD || p->state == DSM_PAGE_WR) && p->ver < p->need && !(p->csm & DSM_CSM_TOLD))
		fail("I14: p%u at %c readable at version %llu, needs %llu", k, name, (unsigned long long)p->ver,
		     (unsigned long long)p->need);
	if (p->state == DSM_PAGE_HX && !dsm_page_is_csm(p) && on_lists)
		fail("I9: p%u at %c in HX is on a list", k, name);
	if (dsm_page_is_home(p)) {
		if (p->ver < n->last_ver[k])
			fail("I13: version of p%u falls", k);
		n->last_ver[k] = p->ver;
	}
	if (n->walks[k])
		return;
	for (mm = 0; mm < 2; mm++) {
		if (n->pte[mm][k] == DSM_PAGE_WRITABLE && p->state != DSM_PAGE_WR && p->state != DSM_PAGE_HOMEW &&
		    p->state != DSM_PAGE_EX && p->state != DSM_PAGE_HX)
			fail("I10: p%u at %c is mapped writable in %s", k, name, page_state_name(p->state));
		if (n->pte[mm][k] == DSM_PAGE_WRITABLE && p->flags & DSM_PF_FLUSH && !(p->flags & DSM_PF_KEPT))
			fail("I11: p%u at %c is mapped writable while it is flushed", k, name);
		if (n->pte[mm][k] != DSM_PAGE_NONE &&
		    (p->state == DSM_PAGE_INV || p->state == DSM_PAGE_FET || p->state == DSM_PAGE_WRS ||
		     p->state == DSM_PAGE_WRF || p->state == DSM_PAGE_FREE || p->state == DSM_PAGE_HO ||
		     p->state == DSM_PAGE_HB || p->state == DSM_PAGE_LOST ||
		     (p->state == DSM_PAGE_UPG && p->csm & DSM_CSM_STALE)))
			fail("I10: p%u at %c is mapped in %s", k, name, page_state_name(p->state));
	}
}

/* I24: what a READ writes to is nobody's, and its source stays. */
static void check_reading(const struct reading *r)
{
	struct node *n = &w.node[r->node];
	u32 i, p;

	if (r->x->kind == DSM_XFER_KIND_DIFF) {
		for (p = 0; p < MAX_PAGES && w.idx_of[p] != r->x->idx; p++)
			;
		if (p == MAX_PAGES || (!(n->page[p].flags & DSM_PF_UNACKED) && !is_cut(n, r->x->dst)))
			fail("I24: write #%u of %c outlives its diff", r->id, 'A' + r->node);
		return;
	}
	for (i = 0; i < r->x->n_segs; i++) {
		for (p = 0; p < MAX_PAGES && w.idx_of[p] != r->x->idx + i; p++)
			;
		if (p == MAX_PAGES || !(n->page[p].flags & DSM_PF_READ) || n->page[p].xid != r->x->xid)
			fail("I24: read #%u of %c has lost its page", r->id, 'A' + r->node);
		if (r->x->kind == DSM_XFER_KIND_MERGE && r->x->seg[i].page == n->frame[p])
			fail("I24: read #%u of %c merges into the frame", r->id, 'A' + r->node);
		if (r->x->kind == DSM_XFER_KIND_FETCH && n->page[p].state != DSM_PAGE_FET && !is_cut(n, r->x->dst))
			fail("I24: p%u at %c is in %s while read #%u writes its frame", p, 'A' + r->node,
			     page_state_name(n->page[p].state), r->id);
	}
}

/* I13, I29: what a release tells of is told once. */
static void check_own_log(struct node *n)
{
	const struct dsm_interval *rec;
	u32 i;

	if (n->e.floor[n->e.self] > n->last_known)
		w.o.log_trimmed = true;
	list_for_each_entry(rec, &n->e.log[n->e.self], link) {
		if (rec->seq <= n->last_known)
			continue;
		for (i = 0; i < rec->count; i++) {
			u32 p;

			for (p = 0; p < MAX_PAGES; p++)
				if (w.idx_of[p] == rec->notice[i].idx && rec->notice[i].ver < 256 &&
				    w.o.noticed[p][rec->notice[i].ver]++)
					fail("I13: version %llu of p%u is told of twice",
					     (unsigned long long)rec->notice[i].ver, p);
		}
	}
	n->last_known = n->e.known[n->e.self];
}

static void check_knowledge(struct node *n)
{
	u32 k;

	for (k = 0; k < w.l->nodes; k++) {
		if (n->e.known[k] > w.node[k].e.known[k])
			fail("I16: %c knows more of %c than %c itself", 'A' + node_id(n), 'A' + k, 'A' + k);
		if (n->e.applied[k] > n->e.known[k])
			fail("I16: %c applied more of %c than it knows", 'A' + node_id(n), 'A' + k);
	}
	if (n->e.known[n->e.self] != n->last_known)
		check_own_log(n);
}

/* ---- I17 ---- */

bool message_in_flight(u32 src, u32 dst, u8 type, u64 key, int state)
{
	struct dsm_wire_lock body;
	u32 i;

	for (i = 0; i < w.n_flying; i++) {
		const struct flying *f = &w.flying[i];

		if ((src < MAX_NODES && f->src != src) || (dst < MAX_NODES && f->m->dst != dst) || f->m->data[0] != type)
			continue;
		memcpy(&body, f->m->data + DSM_HDR_BYTES, sizeof(body));
		if (le64_to_cpu(body.key) == key && (state < 0 || body.state == state))
			return true;
	}
	return false;
}

static u32 tokens_at(struct node *n, u64 key)
{
	struct dsm_lock *l = dsm_lock_find(&n->e, n->space.id, key);
	u32 manager = dsm_manager(&n->space, DSM_MSG_LOCK_REQ, key);

	if (!l)
		return manager == node_id(n);
	switch (l->state) {
	case DSM_LOCK_NONE:
		return 0;
	case DSM_LOCK_WAITING:
		return !list_empty(&l->cont.link);	/* the token is here, its notices are not */
	case DSM_LOCK_RETURNING:
		return !(l->flags & DSM_LOCKF_SENT) || message_in_flight(node_id(n), manager, DSM_MSG_LOCK_RETURN, key, -1) ||
		       message_in_flight(manager, node_id(n), DSM_MSG_LOCK_RETURN_ACK, key, 0);
	default:
		return 1;
	}
}

/* Whose turn comes after @n's, if @n has the lock. With algo=array nobody knows. */
static u16 next_of(struct node *n, u64 key)
{
	const struct dsm_rlock *rl = dsm_rlock_find(&n->e, n->space.id, key);
	const struct dsm_lock *l = dsm_lock_find(&n->e, n->space.id, key);

	if (w.set.rdma)
		return rl && rl->state >= DSM_RLOCK_LEARNING ? rl->next : DSM_NO_NODE;
	return l && l->state != DSM_LOCK_WAITING ? l->next : DSM_NO_NODE;
}

/* L33: local hand-overs do not keep the lock from a node whose turn has come. */
static void check_turns(struct node *n, u32 k)
{
	u32 *from = &w.o.overdue_from[k][node_id(n)], now = w.o.node_sections[k][node_id(n)];
	u16 next = next_of(n, w.lock_key[k]);

	if (next == DSM_NO_NODE)
		*from = 0;
	else if (!*from)
		*from = now + 1;
	else if (now >= *from)
		reach(REACH_TURN);
	if (*from && now + 1 - *from > DSM_LOCK_LOCAL_RUN + 1)
		fail("L33: %c keeps lock %u for %u sections although %c waits", 'A' + node_id(n), k, now + 1 - *from,
		     'A' + next);
}

static void check_tokens(void)
{
	u32 k, i;

	for (k = 0; k < MAX_KEYS; k++)
		for (i = 0; i < w.l->nodes; i++)
			if (!w.node[i].dead)
				check_turns(&w.node[i], k);
	/* The oracle knows who holds a lock. */
	if (w.set.rdma)
		return;
	for (k = 0; k < MAX_KEYS; k++) {
		u32 tokens = 0;

		for (i = 0; i < w.l->nodes; i++)
			if (!w.node[i].dead)
				tokens += tokens_at(&w.node[i], w.lock_key[k]);
		for (i = 0; i < w.l->nodes; i++)
			tokens += message_in_flight(MAX_NODES, i, DSM_MSG_LOCK_GRANT, w.lock_key[k], -1);
		if (tokens > 1 || (!tokens && !w.loss))
			fail("I17: lock %u has %u tokens", k, tokens);
	}
}

/* I31: what is in a slot is cached here and nobody but the processes may have it. */
static void check_slots(struct node *n)
{
	u32 k, in_slots = 0;

	for (k = 0; k < MAX_KEYS; k++) {
		const struct dsm_lock *l = dsm_lock_find(&n->e, n->space.id, w.lock_key[k]);

		if (!l || !l->slots)
			continue;
		in_slots++;
		if (l->state != DSM_LOCK_CACHED || l->next != DSM_NO_NODE || !list_empty(&l->waiters) ||
		    l->flags & DSM_LOCKF_DEAD || n->slots.lock[l->slot] != l)
			fail("I31: lock %u at %c is in a slot in state %u, flags %x", k, 'A' + node_id(n), l->state,
			     l->flags);
	}
	for (k = 0; k < DSM_SLOTS; k++)
		if (n->slots.lock[k])
			in_slots--;
	if (in_slots)
		fail("I31: locks in slots of %c are not those that it thinks", 'A' + node_id(n));
}

/* I26: once all is told, who gave up waiting for a flag is forgotten at its manager. */
static void check_given_up(struct node *n)
{
	const struct dsm_request *q;
	const struct dsm_flag *f;
	u32 i;

	for (i = 0; i < MAX_KEYS; i++)
		hlist_for_each_entry(f, dsm_key_bucket(&n->e, n->e.flags, n->space.id, w.flag_key[i]), by_key)
			list_for_each_entry(q, &f->waiters, cont.link)
				if (!w.node[q->node].dead && !dsm_request_find(&w.node[q->node].e, q->xid))
					fail("I26: %c keeps a wait for a flag of a thread of %c that gave up",
					     'A' + node_id(n), 'A' + q->node);
}

void check_step(void)
{
	u32 i, p;

	if (w.data_only)
		return;
	for (i = 0; i < w.l->nodes; i++) {
		struct node *n = &w.node[i];

		if (n->dead)
			continue;
		for (p = 0; p < MAX_PAGES; p++)
			if (n->exists[p] && !dsm_page_is_sc(&n->page[p]))
				check_page(n, p);
		check_knowledge(n);
		check_slots(n);
		if (w.killed && !w.n_flying && !w.n_signals && !w.n_reading)
			check_given_up(n);
	}
	for (i = 0; i < w.n_reading; i++)
		if (!w.node[w.reading[i].node].dead && !atomics_do(w.reading[i].x))
			check_reading(&w.reading[i]);
	check_tokens();
	check_homes();
	if (w.l->flags & LITMUS_SC)
		check_sc_step();
	if (w.l->flags & LITMUS_CSM)
		check_csm_step();
}

/* I4: at the end of an acquire nothing is mapped that a notice named. */
void check_acquired(struct node *n)
{
	u32 p;

	for (p = 0; p < MAX_PAGES && !w.data_only; p++) {
		const struct dsm_page *page = &n->page[p];

		if (!n->exists[p] || page->home == node_id(n))
			continue;
		if ((n->pte[0][p] || n->pte[1][p]) && page->ver < page->need && !(page->csm & DSM_CSM_TOLD))
			fail("I4: p%u at %c is mapped at version %llu after an acquire of %llu", p, 'A' + node_id(n),
			     (unsigned long long)page->ver, (unsigned long long)page->need);
	}
}

/* I11, I12: made from a frame nobody writes, and exact. */
void check_diff(struct node *n, struct dsm_page *p, const u8 *record, int bytes, bool keep, const u8 *twin)
{
	const u8 *frame = p->frame;
	u8 out[DSM_PAGE_BYTES];
	u32 k = page_number(p), i, idx;

	if (w.data_only)
		return;
	if (bytes < 0)
		fail("I12: diff of p%u does not fit", k);
	if (!keep && (n->pte[0][k] == DSM_PAGE_WRITABLE || n->pte[1][k] == DSM_PAGE_WRITABLE))
		fail("I11: diff of p%u at %c while it is mapped writable", k, 'A' + node_id(n));
	if (bytes && dsm_diff_check(record, bytes, DSM_PAGE_BYTES, &idx) != bytes)
		fail("I12: diff of p%u fails its own check", k);
	for (i = 0; i < DSM_PAGE_BYTES; i++)
		out[i] = ~frame[i];
	if (bytes)
		dsm_diff_apply(record, out, DSM_PAGE_BYTES);
	for (i = 0; i < DSM_PAGE_BYTES; i++)
		if ((out[i] == frame[i]) != (frame[i] != twin[i]))
			fail("I12: diff of p%u is wrong at byte %u", k, i);
}

/* ---- the end ---- */

u32 list_length(const struct list_head *head)
{
	const struct list_head *pos;
	u32 n = 0;

	for (pos = head->next; pos != head; pos = pos->next)
		n++;
	return n;
}

/* All objects that a node was given are in use, or free. */
static void check_pool(const struct node *n, enum dsm_pool_kind kind, u32 used)
{
	static const char * const name[DSM_POOL_COUNT] = {
		[DSM_POOL_MSG] = "messages", [DSM_POOL_TWIN] = "twins", [DSM_POOL_INTERVAL] = "interval records",
		[DSM_POOL_LOCK] = "locks", [DSM_POOL_BARRIER] = "barriers", [DSM_POOL_FLAG] = "flags",
		[DSM_POOL_REQUEST] = "requests", [DSM_POOL_XFER] = "transfers", [DSM_POOL_RLOCK] = "locks by atomics",
	};

	if (n->e.pool[kind].count + used != world_given(n, kind))
		fail("%s leak at %c: of %u there are %u free, %u in use", name[kind], 'A' + node_id(n), world_given(n, kind),
		     n->e.pool[kind].count, used);
}

/* Return: requests kept there. */
static u32 check_barriers(struct node *n)
{
	u32 i, found = 0, idle = 0, requests = 0;
	const struct dsm_barrier *b;

	for (i = 0; i < MAX_KEYS; i++) {
		b = dsm_barrier_find(&n->e, n->space.id, w.barrier_key[i]);
		if (!b)
			continue;
		found++;
		idle += !list_empty(&b->idle);
		requests += list_length(&b->arrivals);
		if (list_empty(&b->idle) && !w.killed && !w.loss)
			fail("I26: somebody is in barrier %u at %c for ever", i, 'A' + node_id(n));
	}
	check_pool(n, DSM_POOL_BARRIER, found);
	if (n->e.n_idle_barriers[0] + n->e.n_idle_barriers[1] != idle ||
	    list_length(&n->e.idle_barriers[0]) != n->e.n_idle_barriers[0] ||
	    list_length(&n->e.idle_barriers[1]) != n->e.n_idle_barriers[1])
		fail("%u barriers of %c are idle, it counts %u and %u", idle, 'A' + node_id(n), n->e.n_idle_barriers[0],
		     n->e.n_idle_barriers[1]);
	return requests;
}

/* A flag is there while it is set or waited for. Return: requests kept there. */
static u32 check_flags(struct node *n)
{
	u32 i, found = 0, set = 0, requests = 0;
	const struct dsm_flag *f;

	for (i = 0; i < MAX_KEYS; i++)
		hlist_for_each_entry(f, dsm_key_bucket(&n->e, n->e.flags, n->space.id, w.flag_key[i]), by_key) {
			if (f->key != w.flag_key[i])
				continue;
			found++;
			set += f->set;
			requests += list_length(&f->waiters);
			if (!f->set && list_empty(&f->waiters))
				fail("flag %u at %c is neither set nor waited for", i, 'A' + node_id(n));
		}
	check_pool(n, DSM_POOL_FLAG, found);
	if (n->space.flags_set != set)
		fail("%u flags of %c are set, it counts %u", set, 'A' + node_id(n), n->space.flags_set);
	return requests;
}

/* Return: requests kept there. */
static u32 check_locks(struct node *n)
{
	u32 i, locks = 0, rlocks = 0, requests = 0;
	const struct dsm_lock *l;

	for (i = 0; i < MAX_KEYS; i++) {
		rlocks += !!dsm_rlock_find(&n->e, n->space.id, w.lock_key[i]);
		l = dsm_lock_find(&n->e, n->space.id, w.lock_key[i]);
		if (l) {
			locks++;
			requests += list_length(&l->queued);
		}
	}
	if (n->e.n_locks != locks)
		fail("%c has %u locks, it counts %u", 'A' + node_id(n), locks, n->e.n_locks);
	check_pool(n, DSM_POOL_LOCK, locks);
	check_pool(n, DSM_POOL_RLOCK, rlocks);
	return requests;
}

/* What is under way is in use too: what a node sent to one that is gone, or what is held on purpose. */
static void check_sending(const struct node *n)
{
	u32 i, messages = 0, xfers = 0;

	for (i = 0; i < w.n_flying; i++)
		messages += w.flying[i].src == node_id(n);
	for (i = 0; i < w.n_reading; i++)
		if (w.reading[i].node == node_id(n)) {
			xfers++;
			messages += !!w.reading[i].x->then;
		}
	check_pool(n, DSM_POOL_MSG, messages);
	check_pool(n, DSM_POOL_XFER, xfers);
}

/* I30 */
static void check_pools(struct node *n)
{
	u32 requests = list_length(&n->e.deferred), records = list_length(&n->e.csm.inbox), twins = 0, i;

	for (i = 0; i < MAX_PAGES; i++)
		twins += n->exists[i] && !dsm_page_is_sc(&n->page[i]) && n->page[i].twin;
	if (n->e.twins != twins)
		fail("%c has %u twins, it counts %u", 'A' + node_id(n), twins, n->e.twins);
	check_pool(n, DSM_POOL_TWIN, twins);
	for (i = 0; i < DSM_MAX_NODES; i++)
		records += list_length(&n->e.log[i]);
	if (n->e.log_records + list_length(&n->e.csm.inbox) != records)
		fail("%c has %u interval records, it counts %u in its log", 'A' + node_id(n), records, n->e.log_records);
	check_pool(n, DSM_POOL_INTERVAL, records);
	requests += check_sc_requests(n) + check_csm_requests(n) + check_barriers(n) + check_flags(n) + check_locks(n);
	check_pool(n, DSM_POOL_REQUEST, requests);
	check_sending(n);
}

static void check_node_idle(struct node *n)
{
	const char name = 'A' + node_id(n);
	u32 k;

	if (n->e.rel_done != n->e.rel_seq || n->e.rel_wanted)
		fail("I26: a release of %c never ends", name);
	if (n->e.acq_busy)
		fail("I26: an acquire of %c never ends", name);
	for (k = 0; k < w.l->nodes; k++)
		if (n->e.pull[k].busy)
			fail("I26: a pull of %c never ends", name);
	if (n->space.fetching)
		fail("I26: %c thinks that %u fetches are under way", name, n->space.fetching);
	if (w.l->flags & LITMUS_CSM)
		check_csm_end(n);
	for (k = 0; k < MAX_PAGES; k++)
		if (n->exists[k] && dsm_page_is_sc(&n->page[k]))
			check_sc_end(n, k);
		else if (n->exists[k] && (n->page[k].flags & (DSM_PF_UNACKED | DSM_PF_FLUSH | DSM_PF_PENDING | DSM_PF_TODO) ||
				     n->page[k].state == DSM_PAGE_FET || n->page[k].state == DSM_PAGE_WRF))
			fail("I26: p%u at %c is left in %s, flags %x", k, name, page_state_name(n->page[k].state),
			     n->page[k].flags);
	for (k = 0; k < MAX_KEYS; k++) {
		struct dsm_lock *l = dsm_lock_find(&n->e, n->space.id, w.lock_key[k]);

		if (l && (l->state == DSM_LOCK_WAITING || l->state == DSM_LOCK_GRANTING ||
			  l->state == DSM_LOCK_RETURNING || !list_empty(&l->waiters)))
			fail("I26: lock %u at %c is left in state %u", k, name, l->state);
	}
	if (w.set.rdma)
		atomics_check_idle(n);
	check_pools(n);
}

static struct node *home_node(u32 p)
{
	u32 i;

	for (i = 0; i < w.l->nodes; i++) {
		struct node *n = &w.node[i];

		if (n->exists[p] && dsm_page_is_home(&n->page[p]))
			return n;
	}
	return NULL;
}

/* I28, and I29: every version a home gave out was told of. */
static void check_copies(u32 p)
{
	struct node *h = home_node(p);
	u32 i, v;

	if (!h)
		return;
	if (!w.o.log_trimmed && !(w.l->flags & LITMUS_CSM))
		for (v = 1; v <= h->page[p].ver && v < 256; v++)
			if (!w.o.noticed[p][v])
				fail("I29: nobody tells of version %u of p%u", v, p);
	if (!(w.l->flags & LITMUS_QUIET))
		return;
	for (i = 0; i < w.l->nodes; i++) {
		struct node *n = &w.node[i];

		if (n != h && n->exists[p] && (n->page[p].state == DSM_PAGE_RD || n->page[p].state == DSM_PAGE_WR) &&
		    memcmp(n->frame[p], h->frame[p], DSM_PAGE_BYTES))
			fail("I28: copy of p%u at %c differs from its home", p, 'A' + i);
	}
}

/* I27, and what is counted at both ends is the same. */
static void check_counters(void)
{
	struct dsm_core_stats sum = {};
	u64 *to = (u64 *)&sum;
	u32 i, k;

	for (i = 0; i < w.l->nodes; i++)
		for (k = 0; k < sizeof(sum) / sizeof(u64); k++)
			to[k] += ((u64 *)&w.node[i].e.stats)[k];
	if (!w.o.raced && sum.race_conflicts)
		fail("I27: %llu conflicts without a race", (unsigned long long)sum.race_conflicts);
	if (sum.diffs != sum.diffs_applied)
		fail("I27: %llu diffs were made, %llu applied", (unsigned long long)sum.diffs,
		     (unsigned long long)sum.diffs_applied);
}

void check_end(void)
{
	const char *why;
	u32 i;

	for (i = 0; i < w.l->threads; i++) {
		const struct thread *t = &w.thread[i];

		if (t->state != TS_DONE && !w.node[t->node].dead)
			fail("I26: %s hangs in operation %u (state %u, waits for %u)", thread_name(t), t->pc, t->state,
			     t->block);
	}
	for (i = 0; i < w.l->nodes && !w.data_only; i++)
		if (!w.node[i].dead)
			check_node_idle(&w.node[i]);
	if (!w.loss && !w.data_only)
		for (i = 0; i < MAX_PAGES; i++)
			check_copies(i);
	if (!w.loss && !w.killed && !w.data_only)
		check_counters();
	if (w.l->flags & LITMUS_SC)
		history_check();
	why = w.l->final && !w.killed && !w.loss ? w.l->final() : NULL;
	if (why)
		fail("outcome: %s", why);
}
