// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers: an episode that fails since a party ended, and programs that begin after it.
 *
 * Those of its parties that have not come yet must get the error too, and nobody knows how long that takes: often they have
 * ended as well. So that the key is of use to who comes later, the manager tells all users' nodes, and each remembers
 * which files were open by then. A caller by a file that was opened later is no party of what failed: it begins an episode of
 * its own, with any number of parties. What is not known to be later counts for the one that failed: a party that had the
 * region open must not wait for those that were told.
 */
#include "barrier.h"

/**
 * dsm_barrier_broken_learn() - which files are open now that this is known here?
 * @e:      engine
 * @b:      barrier
 * @number: of the episode that failed, 0: none; what is known already says nothing
 *
 * Context: engine lock held.
 */
void dsm_barrier_broken_learn(struct dsm_engine *e, struct dsm_barrier *b, u32 number)
{
	const struct dsm_space *s = dsm_space_find(e, b->region);
	bool idle = !list_empty(&b->idle);

	if (number <= b->broken)
		return;
	if (idle)
		dsm_barrier_busy(e, b);
	b->broken_before = b->broken;
	b->broken_before_opens = b->broken_opens;
	b->broken = number;
	b->broken_opens = s ? s->opens : 0;
	if (idle)
		dsm_barrier_idle(e, b);
}

/**
 * dsm_barrier_fail() - the episode under way fails
 * @e:      engine
 * @b:      barrier managed here; its episode is to be ended in this step
 * @status: -EOWNERDEAD or -EHOSTDOWN
 *
 * If not all of its parties have come, departures and questions take the news along.
 *
 * Context: engine lock held.
 */
void dsm_barrier_fail(struct dsm_engine *e, struct dsm_barrier *b, int status)
{
	const struct dsm_space *s = dsm_space_find(e, b->region);
	bool broken = status == -EOWNERDEAD && b->status != status && b->seen < b->parties;

	b->status = status;
	if (!broken)
		return;
	dsm_barrier_broken_learn(e, b, ++e->barrier_failures);
	b->broken_told = (s ? s->users : 0) | b->members | b->last_members | 1ull << e->self;
	b->broken_news = b->broken_told & ~(1ull << e->self);
}

/**
 * dsm_barrier_broken_before() - the episode that had failed before a file was opened
 * @b:      barrier, or NULL
 * @opened: of the file: see struct dsm_waiter
 *
 * Context: engine lock held.
 * Return: its number, 0: none, or one that the caller may be a party of.
 */
u32 dsm_barrier_broken_before(const struct dsm_barrier *b, u64 opened)
{
	if (!b)
		return 0;
	if (opened > b->broken_opens)
		return b->broken;
	return opened > b->broken_before_opens ? b->broken_before : 0;
}

/* A node that was not told had not opened the region. */
static bool is_later_than(const struct dsm_request *q, u32 broken, u64 told)
{
	return q->chunk >= broken || !(told & 1ull << q->node);
}

/**
 * dsm_barrier_is_later() - are these callers none of those that the last failed episode waits for?
 * @b: barrier managed here
 * @q: arrival
 *
 * Context: engine lock held.
 * Return: true if all of them use files that were opened since, false if that is not known.
 */
bool dsm_barrier_is_later(const struct dsm_barrier *b, const struct dsm_request *q)
{
	return is_later_than(q, b->broken, b->broken_told);
}

/**
 * dsm_barrier_is_owed() - are they such that a failed episode has waited for, before another one began?
 * @b: barrier managed here
 * @q: arrival
 *
 * Context: engine lock held.
 * Return: true if they are to be told that it failed, and are no parties of what is under way.
 */
bool dsm_barrier_is_owed(const struct dsm_barrier *b, const struct dsm_request *q)
{
	return b->owed && !is_later_than(q, b->owed_broken, b->owed_told);
}

/**
 * dsm_barrier_abandon() - another episode begins before the parties of a failed one have come
 * @e: engine
 * @b: barrier managed here, whose episode failed since a party ended
 *
 * Those who come yet are refused one by one.
 *
 * Context: engine lock held.
 */
void dsm_barrier_abandon(struct dsm_engine *e, struct dsm_barrier *b)
{
	b->owed_told = (b->owed ? b->owed_told : 0) | b->broken_told;
	b->owed += b->parties - b->seen;
	b->owed_broken = b->broken;
	b->status = 0;
	b->strays = false;
	b->members = 0;
	b->last_parties = 0;
	memset(b->count, 0, sizeof(b->count));
	dsm_barrier_idle(e, b);
}

/**
 * dsm_barrier_broken_forget() - a node is lost
 * @b:    barrier managed here
 * @node: lost node; who has its number later has other files
 *
 * Context: engine lock held.
 */
void dsm_barrier_broken_forget(struct dsm_barrier *b, u16 node)
{
	b->broken_told &= ~(1ull << node);
	b->owed_told &= ~(1ull << node);
}
