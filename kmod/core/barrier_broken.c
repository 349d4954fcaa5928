// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers: an episode that fails since a party ended, and programs that begin after it.
 *
 * Those of its parties that have not come yet must get the error too, and nobody knows how long that takes: often they have
 * ended as well. So that the key is of use to who comes later, the manager tells all users' nodes, and each remembers
 * which files were open by then. A caller by a file that was opened later is no party of what failed: it begins an episode of
 * its own, with any number of parties. What is not known to be later counts for the one that failed: a party must not wait
 * for those that were told.
 */
#include "barrier.h"
#include "letter.h"

/**
 * dsm_barrier_broken_learn() - which files are open now that this is known here?
 * @e:      engine
 * @b:      barrier
 * @number: of the episode that failed
 *
 * Context: engine lock held.
 */
void dsm_barrier_broken_learn(struct dsm_engine *e, struct dsm_barrier *b, u32 number)
{
	const struct dsm_space *s = dsm_space_find(e, b->region);

	b->broken = number;
	b->broken_opens = s ? s->opens : 0;
}

/* Not all of its parties have come. */
static void tell_users(struct dsm_engine *e, struct dsm_barrier *b, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, b->region);
	struct dsm_wire_arrive body = {
		.key = cpu_to_le64(b->key),
		.episode = cpu_to_le64(b->episode),
	};
	struct dsm_msgbuf *m;
	u32 number;
	u16 node;

	/* 0 is none. */
	do {
		number = ++e->barrier_episodes;
	} while (!number);
	dsm_barrier_broken_learn(e, b, number);
	body.broken = cpu_to_le32(b->broken);
	b->broken_told = s ? s->users : 0;
	b->broken_told |= b->members | b->last_members | 1ull << e->self;
	for (node = 0; node < e->n_nodes; node++) {
		if (!(b->broken_told & 1ull << node) || node == e->self || !dsm_engine_alive(e, node))
			continue;
		m = dsm_msg_new(e, node, DSM_CLASS_FWD, DSM_MSG_BAR_ASK, b->region, 0);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_letter_send(e, m, acts);
	}
}

/**
 * dsm_barrier_fail() - the episode under way fails
 * @e:      engine
 * @b:      barrier managed here
 * @status: -EOWNERDEAD or -EHOSTDOWN
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_fail(struct dsm_engine *e, struct dsm_barrier *b, int status, struct dsm_actions *acts)
{
	bool broken = status == -EOWNERDEAD && b->status != status && b->seen < b->parties;

	b->status = status;
	if (broken)
		tell_users(e, b, acts);
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
	return b && opened > b->broken_opens ? b->broken : 0;
}

/**
 * dsm_barrier_is_later() - are these callers none of those that the failed episode waits for?
 * @b: barrier managed here
 * @q: arrival
 *
 * Context: engine lock held.
 * Return: true if all of them use files that were opened since, false if that is not known.
 */
bool dsm_barrier_is_later(const struct dsm_barrier *b, const struct dsm_request *q)
{
	/* A node that was not told had not opened the region. */
	return q->chunk == b->broken || !(b->broken_told & 1ull << q->node);
}

/**
 * dsm_barrier_abandon() - another episode begins before the parties of a failed one have come
 * @e: engine
 * @b: barrier managed here, whose episode failed since a party ended
 *
 * Those who come yet are refused one by one, until an episode has gone well.
 *
 * Context: engine lock held.
 */
void dsm_barrier_abandon(struct dsm_engine *e, struct dsm_barrier *b)
{
	b->owed = b->parties - b->seen;
	b->status = 0;
	b->strays = false;
	b->members = 0;
	b->last_parties = 0;
	memset(b->count, 0, sizeof(b->count));
	dsm_barrier_idle(e, b);
}
