// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * How many different states of the world were seen: of pages, page tables, locks, knowledge, releases, flushers, threads,
 * words of atomics, and what is under way. Which request number or object something has makes no difference.
 *
 * A state is a number of 64 bits, put together from parts of which a step changes few; the different numbers are
 * counted by HyperLogLog, in fixed space, within some 2 percent. Never changes the world.
 */
#include <math.h>
#include "explore.h"
#include "lock.h"
#include "rlock.h"

#define REGISTERS_LOG2 12
#define REGISTERS (1u << REGISTERS_LOG2)
#define STEP 0x9e3779b97f4a7c15ull

static u8 highest[REGISTERS];
static u64 digest_of[MAX_NODES];

static inline u64 add(u64 h, u64 value)
{
	return ((h << 5 | h >> 59) ^ value) * STEP;
}

static u64 mixed(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

u64 states_hash(const void *bytes, u32 len, u64 h)
{
	const u8 *at = bytes;
	u64 value;

	for (; len >= sizeof(value); at += sizeof(value), len -= sizeof(value)) {
		memcpy(&value, at, sizeof(value));
		h = add(h, value);
	}
	for (value = len; len--;)
		value = value << 8 | *at++;
	return add(h, value);
}

/* ---- parts ---- */

static u64 page_digest(const struct node *n, u32 k, u64 h)
{
	const struct dsm_page *p = &n->page[k];

	if (!n->exists[k])
		return add(h, n->walks[k]);
	/* With sc these two are set and acks. */
	h = add(h, p->ver);
	h = add(h, p->need);
	h = add(h, p->state | p->flags << 8 | (u64)p->csm << 24 | (u64)(p->home & 15) << 32 | (u64)p->nacks << 36 |
		(u64)p->dir << 40 | (u64)n->pte[0][k] << 44 | (u64)n->pte[1][k] << 46 | (u64)n->lock_of[k] << 48 |
		(u64)n->walks[k] << 52 | (u64)n->pins[k] << 56);
	if (n->frame[k])
		h = states_hash(n->frame[k], DSM_PAGE_BYTES, h);
	if (!dsm_page_is_sc(p) && p->twin)
		h = states_hash(p->twin, DSM_PAGE_BYTES, h);
	return h;
}

static u64 lock_digest(struct node *n, u32 k, u64 h)
{
	if (w.set.rdma) {
		const struct dsm_rlock *l = dsm_rlock_find(&n->e, n->space.id, w.lock_key[k]);

		return l ? add(h, l->state | l->flags << 8 | (u64)l->next << 24 | (u64)list_empty(&l->waiters) << 40) : h;
	}
	const struct dsm_lock *l = dsm_lock_find(&n->e, n->space.id, w.lock_key[k]);

	return l ? add(h, l->state | l->flags << 8 | (u64)l->next << 16 | (u64)l->tail << 32 |
		       (u64)list_empty(&l->waiters) << 48) : h;
}

static u64 thread_digest(const struct thread *t, u64 h)
{
	u32 regs;

	memcpy(&regs, t->reg, sizeof(regs));
	h = add(h, regs | (u64)t->episode[0] << 32 | (u64)t->episode[1] << 40 | (u64)t->n_out << 48 | (u64)t->i_out << 56);
	return add(h, t->pc | (u64)t->state << 16 | (u64)t->block << 24 | (u64)t->at << 32 | (u64)t->want << 36 |
		   (u64)t->loops << 40 | (u64)t->woken << 48 | (u64)t->killed << 49 | (u64)t->looping << 50 |
		   (u64)t->mkwrite << 51 | (u64)t->more << 52);
}

static u64 node_digest(struct node *n)
{
	u64 h = node_id(n) + 1, known = 0, applied = 0;
	u32 i;

	if (n->dead)
		return mixed(h);
	for (i = 0; i < MAX_PAGES; i++)
		h = page_digest(n, i, h);
	for (i = 0; i < MAX_KEYS; i++)
		h = lock_digest(n, i, h);
	for (i = 0; i < w.l->nodes; i++) {
		known = known << 16 | (u16)n->e.known[i];
		applied = applied << 16 | (u16)n->e.applied[i];
	}
	h = add(add(h, known), applied);
	h = add(h, (u16)n->e.rel_seq | (u64)(u16)n->e.rel_done << 16 | (u64)n->e.rel_wanted << 32 | (u64)n->e.acq_busy << 33 |
		(u64)n->e.inval_all << 34 | (u64)n->e.n_dirty << 36 | (u64)n->flush << 40 | (u64)n->run << 41 |
		(u64)n->registered << 42 | (u64)n->keys << 44 | (u64)n->lost << 48 | (u64)(u8)n->losing << 56);
	for (i = 0; i < w.set.flushers; i++) {
		const struct flusher *f = &n->flusher[i];

		h = add(h, f->state | f->n << 8 | f->i << 16 | (u64)f->told << 24 |
			(f->n ? (u64)page_number(f->page[0]) + 1 : 0) << 32);
	}
	h = add(h, n->recaller.state | n->goes << 8 | (u64)n->gone << 32);
	for (i = 0; i < w.l->threads; i++)
		if (w.thread[i].node == node_id(n))
			h = thread_digest(&w.thread[i], h);
	return mixed(h);
}

static u64 message_digest(const struct flying *f)
{
	const struct dsm_wire_hdr *hdr = (const struct dsm_wire_hdr *)f->m->data;
	u64 h = hdr->type | hdr->flags << 8 | f->src << 16 | (u64)f->m->dst << 24 | (u64)f->posted << 32;

	return mixed(states_hash(f->m->data + DSM_HDR_BYTES, f->m->len - DSM_HDR_BYTES, h));
}

/* Registered memory is going to have other bytes. */
void states_word(const void *at, const void *bytes, u32 len)
{
	w.words_digest += mixed(states_hash(bytes, len, (uintptr_t)at)) - mixed(states_hash(at, len, (uintptr_t)at));
}

/* What is under way has no order. */
static u64 under_way(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < w.n_flying; i++) {
		if (!w.flying[i].digest)
			w.flying[i].digest = message_digest(&w.flying[i]);
		sum += w.flying[i].digest;
	}
	for (i = 0; i < w.n_reading; i++) {
		const struct reading *r = &w.reading[i];

		sum += mixed(add(r->x->kind | r->x->op << 8 | r->node << 16 | (u64)r->x->dst << 20 | (u64)r->left << 24 |
				 (u64)r->again << 32, r->x->idx));
	}
	for (i = 0; i < w.n_signals; i++)
		sum += mixed(add(w.signal[i].from << 4 | w.signal[i].to, w.signal[i].imm));
	for (i = 0; i < w.n_grams; i++)
		sum += mixed(states_hash(w.gram[i].data, w.gram[i].len, w.gram[i].to << 1 | w.gram[i].again));
	for (i = 0; i < ARRAY_SIZE(w.pipe); i++)
		sum += (u64)w.pipe[i] << i;
	return sum;
}

/* ---- counting ---- */

void states_reset(void)
{
	memset(highest, 0, sizeof(highest));
}

void states_see(void)
{
	u64 sum = w.words_digest + under_way();
	u32 i, zeroes;

	for (i = 0; i < w.l->nodes; i++) {
		if (w.changed >> i & 1)
			digest_of[i] = node_digest(&w.node[i]);
		sum += digest_of[i];
	}
	w.changed = 0;
	sum = mixed(sum);
	i = sum >> (64 - REGISTERS_LOG2);
	zeroes = 1 + __builtin_ctzll(sum | 1ull << 62);
	if (highest[i] < zeroes)
		highest[i] = zeroes;
}

/* Flajolet et al. 2007; few are told from the registers that are still empty. */
u64 states_seen(void)
{
	double sum = 0, m = REGISTERS, found, unit = 1;
	u32 i, empty = 0;

	for (i = 0; i < REGISTERS; i++) {
		sum += 1.0 / (double)(1ull << highest[i]);
		empty += !highest[i];
	}
	found = 0.7213 / (1 + 1.079 / m) * m * m / sum;
	if (found <= 2.5 * m && empty)
		found = m * log(m / empty);
	/* Three digits: more are not known. */
	while (found / unit >= 1000)
		unit *= 10;
	return (u64)(found / unit + 0.5) * (u64)unit;
}
