// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * What a load may return: per byte, any store that is not known to be overwritten.
 *
 * A store hides another if it happened after it, and the load cannot see what is hidden from it.
 * Without a race exactly one store is left, the last one before the load; with a race, one
 * of those that race, and none that happened before the one that the thread read last. Happens-before comes from the
 * programs' own synchronisation, never from what the engines did.
 */
#include "model.h"

void clock_join(struct clock *to, const struct clock *from)
{
	u32 i;

	for (i = 0; i < MAX_THREADS; i++)
		to->at[i] = max(to->at[i], from->at[i]);
}

void oracle_tick(struct thread *t)
{
	t->clock.at[t->id]++;
}

static bool before(const struct write *a, const struct clock *b)
{
	return b->at[a->thread] >= a->at;
}

bool oracle_wrote(u32 node, u32 p)
{
	u32 byte, i;

	for (byte = 0; byte < DSM_PAGE_BYTES; byte++)
		for (i = 0; i < w.o.writes[p][byte]; i++)
			if (w.thread[w.o.write[p][byte][i].thread].node == node)
				return true;
	return false;
}

void oracle_store(struct thread *t, u32 p, u32 byte, s8 value)
{
	u16 *n = &w.o.writes[p][byte];
	u32 i;

	w.o.lost_page[p] |= is_cut(&w.node[t->node], w.set.home[p]);
	if (*n == MAX_WRITES)
		fail("model: too many stores");
	for (i = 0; i < *n && !w.o.raced; i++)
		w.o.raced = !before(&w.o.write[p][byte][i], &t->clock);
	w.o.write[p][byte][(*n)++] = (struct write){ .thread = t->id, .value = value, .at = t->clock.at[t->id],
						     .clock = t->clock };
	oracle_tick(t);
}

/*
 * L6: a location does not go backwards for a thread, even with a race. May it see this store (its number, counted from
 * 1; 0: the initial value) after the one that it saw last?
 */
static bool is_forwards(const struct thread *t, u32 p, u32 byte, u32 store)
{
	const struct write *list = w.o.write[p][byte];
	u32 last = t->read[p][byte];

	return !last || store == last || (store && !before(&list[store - 1], &list[last - 1].clock));
}

void oracle_load(struct thread *t, u32 p, u32 byte, s8 value)
{
	const struct write *list = w.o.write[p][byte];
	u32 n = w.o.writes[p][byte], i, k, seen = 0, store = 0;
	bool initial = true, forwards = false;
	s8 wanted = 0;

	/* What a lost home had is lost; its copies are not kept up. */
	if (w.o.lost_page[p])
		return;
	for (i = n; i--;) {
		bool hidden = false;

		if (before(&list[i], &t->clock))
			initial = false;
		for (k = i + 1; k < n && !hidden; k++)
			hidden = before(&list[k], &t->clock) && before(&list[i], &list[k].clock);
		if (hidden)
			continue;
		if (list[i].value == value) {
			store = i + 1;
			seen++;
			forwards |= is_forwards(t, p, byte, store);
		} else {
			wanted = list[i].value;
		}
	}
	if (initial && value == 0) {
		store = 0;
		seen++;
		forwards |= is_forwards(t, p, byte, store);
	}
	if (!seen)
		fail("%s reads p%u[%u] = %d, which is overwritten or was never written (%d would be right)", thread_name(t), p,
		     byte, value, wanted);
	if (!forwards)
		fail("L6: %s reads p%u[%u] = %d after %d, which is newer", thread_name(t), p, byte, value,
		     list[t->read[p][byte] - 1].value);
	/* Which of several stores of one value it was nobody knows. */
	t->read[p][byte] = seen == 1 ? store : 0;
}
