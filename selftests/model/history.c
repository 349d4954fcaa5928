// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The history of a run with consistency=sc: what each thread read and wrote, in its order, and whether
 * there is one order of all accesses that keeps that and lets each load return the last store before it. Knows
 * nothing of the engines.
 *
 * The order in which things happened is tried first. If it does not do, all orders are: depth first,
 * each combination of positions and memory once.
 */
#include "model.h"

#define MAX_ACCESSES 120	/* of one thread */
#define TABLE (1u << 18)

enum access_kind { ACCESS_LOAD, ACCESS_STORE, ACCESS_ADD };

struct access {
	u8 kind;
	u8 p;
	u8 byte;
	s8 value;		/* read, or written */
};

static struct access list[MAX_THREADS][MAX_ACCESSES];
static u8 count[MAX_THREADS];
static s8 now[MAX_PAGES][DSM_PAGE_BYTES];
static bool in_order;

struct point {
	u8 pos[MAX_THREADS];
	s8 mem[MAX_PAGES][DSM_PAGE_BYTES];
};

static u64 seen[TABLE];
static u32 n_seen;

void history_reset(void)
{
	memset(count, 0, sizeof(count));
	memset(now, 0, sizeof(now));
	in_order = true;
}

static bool apply(s8 mem[MAX_PAGES][DSM_PAGE_BYTES], const struct access *a)
{
	s8 *at = &mem[a->p][a->byte];

	if (a->kind == ACCESS_STORE) {
		*at = a->value;
		return true;
	}
	if (*at != a->value)
		return false;
	*at += a->kind == ACCESS_ADD;
	return true;
}

static void record(struct thread *t, u8 kind, u32 p, u32 byte, s8 value)
{
	struct access *a = &list[t->id][count[t->id]];

	if (count[t->id] == MAX_ACCESSES)
		fail("model: too many accesses");
	count[t->id]++;
	*a = (struct access){ .kind = kind, .p = p, .byte = byte, .value = value };
	in_order &= apply(now, a);
}

void history_load(struct thread *t, u32 p, u32 byte, s8 value)
{
	record(t, ACCESS_LOAD, p, byte, value);
}

void history_store(struct thread *t, u32 p, u32 byte, s8 value)
{
	record(t, ACCESS_STORE, p, byte, value);
}

void history_add(struct thread *t, u32 p, u32 byte, s8 value)
{
	record(t, ACCESS_ADD, p, byte, value);
}

/* True: this point was not seen before. */
static bool is_new(const struct point *x)
{
	const u8 *bytes = (const u8 *)x;
	u64 hash = 0xcbf29ce484222325ull;
	u32 i, at;

	for (i = 0; i < sizeof(*x); i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	hash |= !hash;
	for (at = hash % TABLE; seen[at]; at = (at + 1) % TABLE)
		if (seen[at] == hash)
			return false;
	if (++n_seen > TABLE / 2)
		fail("model: history too long to decide");
	seen[at] = hash;
	return true;
}

static bool can_end(const struct point *x)
{
	bool end = true;
	u32 i;

	if (!is_new(x))
		return false;
	for (i = 0; i < w.l->threads; i++) {
		struct point next = *x;

		if (x->pos[i] == count[i])
			continue;
		end = false;
		if (!apply(next.mem, &list[i][next.pos[i]++]))
			continue;
		if (can_end(&next))
			return true;
	}
	return end;
}

void history_check(void)
{
	struct point start = {};
	char text[200] = "";
	u32 i, k, n = 0;

	if (in_order)
		return;
	memset(seen, 0, sizeof(seen));
	n_seen = 0;
	if (can_end(&start))
		return;
	for (i = 0; i < w.l->threads; i++) {
		for (k = 0; k < count[i] && n < sizeof(text) - 24; k++)
			n += snprintf(text + n, sizeof(text) - n, " %s%c%u[%u]=%d", k ? "" : thread_name(&w.thread[i]),
				      "rwa"[list[i][k].kind], list[i][k].p, list[i][k].byte, list[i][k].value);
		if (n < sizeof(text) - 24)
			n += snprintf(text + n, sizeof(text) - n, ";");
	}
	fail("no order of all accesses explains what was read:%s", text);
}
