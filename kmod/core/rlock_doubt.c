// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks by atomics: did an exchange take place whose answer a broken connection has lost?
 *
 * The word often tells: nobody else puts there what we do. So does a signal NEXT: its sender displaced us. If the word
 * names another node as the end of our epoch's queue, that node is asked whom it waits for, then that one, and so on.
 * Were we in the queue, then all behind us would stand still until we act, so the way from its end leads to us; where it
 * leads past us, in a circle, or to a node that does not wait, we are not. So "queued" and "not freed" follow from
 * meeting ourselves, and the contrary from anything else.
 *
 * Who is asked while an exchange of its own is under way, or in doubt, answers when that is known. Nobody waits in a
 * circle: the end of a queue finds itself in the word, and each other one depends on those behind it only. Where the
 * way leads to a lost node, or to one that has lost the manager and so forgot where it was, the manager makes the queue void
 * first.
 *
 * Looking is an exchange that changes nothing, so it may itself be repeated. Nothing of the old connection takes place
 * any more when net tells that an exchange is in doubt.
 */
#include "rlock.h"

static void look(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	l->witness = DSM_NO_NODE;
	l->asked_of = 0;
	dsm_rlock_cas(e, l, l->put, l->put, &l->xid, acts);
}

/**
 * dsm_rlock_doubt() - nobody knows whether the local part's atomic took place
 * @e:    engine
 * @l:    lock, QUEUEING or FREEING
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_doubt(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	dsm_count(e, dsm_space_find(e, l->region), atomics_doubted);
	if (l->expect == l->put) {
		dsm_rlock_swap(e, l, l->expect, l->put, acts);	/* it only looked */
		return;
	}
	l->flags |= DSM_RLOCKF_DOUBT;
	look(e, l, acts);
}

/* It took place, or it did not: then the word says @l->seen. */
static void settle(struct dsm_engine *e, struct dsm_rlock *l, bool done, int status, struct dsm_actions *acts)
{
	const struct dsm_xfer x = { .result = done ? l->expect : l->seen, .status = status };

	l->flags &= ~DSM_RLOCKF_DOUBT;
	dsm_rlock_swapped(e, l, &x, acts);
}

/* Nobody can tell but the manager, when it has made the queue void. */
static void have_judged(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	l->witness = e->self;
	dsm_rlock_report_broken(e, l, acts);
}

static void ask(struct dsm_engine *e, struct dsm_rlock *l, u16 node, struct dsm_actions *acts)
{
	struct dsm_wire_rlock body = {
		.key = cpu_to_le64(l->key),
		.op = DSM_RLOCK_BEFORE,
		.word = cpu_to_le32(l->epoch),
	};
	struct dsm_msgbuf *m;

	if (!dsm_engine_alive(e, node) || node == e->self) {
		have_judged(e, l, acts);
		return;
	}
	if (l->asked_of & 1ull << node) {
		/* They have had the lock, and wait anew: we are not among them. */
		settle(e, l, l->state == DSM_RLOCK_FREEING, 0, acts);
		return;
	}
	l->asked_of |= 1ull << node;
	l->witness = node;
	m = dsm_msg_new(e, node, DSM_CLASS_REQ, DSM_MSG_RLOCK, l->region, dsm_xid_next(e));
	dsm_wire_put(m, &body, sizeof(body));
	dsm_act_send(acts, m);
}

/*
 * The word is neither of ours, and no queue of our epoch. QUEUEING: we are in no queue, but if what is void names us.
 * FREEING: nobody but us frees what we have, and who had it after us got it from a word that we made free. If our epoch
 * was made void meanwhile this cannot be told, unless the word names us, or somebody displaced us; then it stays void,
 * for nobody may have the lock twice.
 */
static bool took_place(const struct dsm_rlock *l, bool is_void)
{
	bool names_us = is_void && dsm_rword_node(l->seen) == dsm_rword_node(l->put);

	if (l->state == DSM_RLOCK_QUEUEING)
		return names_us;
	return !is_void || (dsm_rword_state(l->expect) == DSM_RWORD_HELD && !names_us);
}

/**
 * dsm_rlock_looked() - the word was looked at
 * @e:    engine
 * @l:    lock in DOUBT
 * @x:    the look
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_looked(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x, struct dsm_actions *acts)
{
	u64 word = x->result;
	bool queueing = l->state == DSM_RLOCK_QUEUEING, same = dsm_rword_epoch(word) == dsm_rword_epoch(l->expect);

	if (x->status) {
		settle(e, l, false, x->status, acts);
		return;
	}
	l->seen = word;
	if (word == l->expect) {
		l->flags &= ~DSM_RLOCKF_DOUBT;
		dsm_rlock_swap(e, l, l->expect, l->put, acts);
	} else if (word == l->put) {
		settle(e, l, true, 0, acts);
	} else if (l->next != DSM_NO_NODE && dsm_rword_state(l->expect) != DSM_RWORD_LOST) {
		settle(e, l, queueing, 0, acts);
	} else if (dsm_rword_state(word) == DSM_RWORD_HELD && same) {
		ask(e, l, dsm_rword_node(word), acts);
	} else {
		settle(e, l, took_place(l, dsm_rword_state(word) == DSM_RWORD_LOST && same), 0, acts);
	}
}

/**
 * dsm_rlock_on_place() - a node says where it is in the queue
 * @e:      engine
 * @l:      lock
 * @from:   the node
 * @place:  enum dsm_rlock_place
 * @before: with DSM_RLOCK_WAITS the node it waits for
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_on_place(struct dsm_engine *e, struct dsm_rlock *l, u16 from, u32 place, u16 before,
			struct dsm_actions *acts)
{
	bool queueing = l->state == DSM_RLOCK_QUEUEING;

	if (!(l->flags & DSM_RLOCKF_DOUBT) || l->witness != from)
		return;		/* we know by now */
	/* Since we asked somebody has come after us: as in dsm_rlock_looked(). */
	if (l->next != DSM_NO_NODE && dsm_rword_state(l->expect) != DSM_RWORD_LOST)
		settle(e, l, queueing, 0, acts);
	else if (place == DSM_RLOCK_AWAY)
		have_judged(e, l, acts);
	else if (place == DSM_RLOCK_WAITS && before == e->self)
		settle(e, l, queueing, 0, acts);
	else if (place == DSM_RLOCK_PAST ||
		 (queueing && dsm_rword_state(l->expect) == DSM_RWORD_HELD && before == dsm_rword_node(l->expect)))
		settle(e, l, !queueing, 0, acts);	/* another one is where we would be */
	else
		ask(e, l, before, acts);
}

/**
 * dsm_rlock_doubt_judged() - the manager has made a queue with a lost node void, or there is none
 * @e:    engine
 * @l:    lock
 * @err:  0, or why it could not look at the word
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_doubt_judged(struct dsm_engine *e, struct dsm_rlock *l, int err, struct dsm_actions *acts)
{
	if (!(l->flags & DSM_RLOCKF_DOUBT) || l->witness != e->self)
		return;
	if (err)
		settle(e, l, false, err, acts);
	else
		look(e, l, acts);
}

/**
 * dsm_rlock_doubt_lost() - a node is lost that may have been asked
 * @e:    engine
 * @l:    lock
 * @node: lost node
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_doubt_lost(struct dsm_engine *e, struct dsm_rlock *l, u16 node, struct dsm_actions *acts)
{
	if (l->flags & DSM_RLOCKF_DOUBT && l->witness != DSM_NO_NODE && (l->witness == node || l->manager == node))
		look(e, l, acts);
}

/* ---- who is asked ---- */

static void answer(struct dsm_engine *e, struct dsm_rlock *l, u16 to, bool waits, struct dsm_actions *acts)
{
	u32 place = waits ? DSM_RLOCK_WAITS : DSM_RLOCK_PAST;
	struct dsm_wire_rlock body = { .op = DSM_RLOCK_BEFORE };

	/* It gave up when it lost the manager, who need not know yet: others may wait behind it. */
	if (!dsm_engine_alive(e, l->manager))
		place = DSM_RLOCK_AWAY;
	body.status = cpu_to_le32(place);
	body.word = cpu_to_le32(place == DSM_RLOCK_WAITS ? l->before : 0);
	dsm_rlock_reply(e, l, to, 0, &body, acts);
}

/**
 * dsm_rlock_on_before() - a node that is in doubt wants to know whom this one waits for
 * @e:     engine
 * @l:     lock
 * @from:  the node
 * @epoch: of its queue
 * @acts:  actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_on_before(struct dsm_engine *e, struct dsm_rlock *l, u16 from, u32 epoch, struct dsm_actions *acts)
{
	if (l->epoch == epoch && l->state == DSM_RLOCK_QUEUEING)
		l->askers |= 1ull << from;
	else
		answer(e, l, from, l->epoch == epoch && l->state == DSM_RLOCK_WAITING, acts);
}

/**
 * dsm_rlock_sure() - this node knows where it is in the queue
 * @e:    engine
 * @l:    lock
 * @acts: actions
 *
 * The epoch may be another one by now. Then the one that they ask for is over, and the way leads to a node that is past it.
 *
 * Context: engine lock held.
 */
void dsm_rlock_sure(struct dsm_engine *e, struct dsm_rlock *l, struct dsm_actions *acts)
{
	u64 nodes = l->askers & e->alive;

	if (l->state == DSM_RLOCK_QUEUEING)
		return;		/* once more: they wait on */
	l->askers = 0;
	for (; nodes; nodes &= nodes - 1)
		answer(e, l, __ffs64(nodes), l->state == DSM_RLOCK_WAITING, acts);
}
