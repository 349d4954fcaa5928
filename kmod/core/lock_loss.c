// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks, the part of every node after another node was lost: what the manager's probe makes void.
 *
 * A node has one request under way, and the manager answers it once. A probe makes the older
 * ones void; a node that waits asks anew. A token that comes for a void request is not used: it
 * goes on to the manager, which then serves the new one. Used, it would leave a request in the
 * queue that nobody waits for, and a pass to this node would find it without the token. Never
 * decides who has the token: the manager does.
 */
#include "lock.h"

/**
 * dsm_lock_probed() - the manager looks for the token after a loss
 * @e:     engine
 * @l:     lock, managed elsewhere
 * @epoch: number of the probe
 * @gone:  who has the token is lost for this node, and it does not get the lock
 * @acts:  actions
 *
 * The queue that the manager knew is void, and with it this node's place and its successor.
 *
 * Context: engine lock held.
 */
void dsm_lock_probed(struct dsm_engine *e, struct dsm_lock *l, u32 epoch, bool gone, struct dsm_actions *acts)
{
	if (epoch <= l->epoch)
		return;
	l->epoch = epoch;
	l->next = DSM_NO_NODE;
	l->flags &= ~DSM_LOCKF_LATE;
	dsm_lock_send(e, l->manager, DSM_CLASS_RSP, DSM_MSG_LOCK_STATE, l, DSM_NO_NODE,
		      dsm_lock_has_token(l) ? DSM_LOCK_HELD : DSM_LOCK_NONE, 0, acts);
	if (l->state != DSM_LOCK_WAITING || dsm_lock_has_token(l))
		return;
	if (gone)
		dsm_lock_refused(e, l, -EHOSTDOWN, acts);
	else
		dsm_lock_ask(e, l, l->flags & DSM_LOCKF_TRYING, acts);
}

/**
 * dsm_lock_came() - a token comes to a node that waits: is it meant for this request?
 * @e:     engine
 * @l:     lock, WAITING
 * @epoch: latest probe that the sender had heard of from the manager
 *
 * Context: engine lock held.
 */
void dsm_lock_came(struct dsm_engine *e, struct dsm_lock *l, u32 epoch)
{
	if (l->manager != e->self && epoch < l->epoch)
		l->flags |= DSM_LOCKF_LATE;
	else
		l->flags &= ~DSM_LOCKF_LATE;
}

/**
 * dsm_lock_answered() - the manager refused this node's request
 * @e:    engine
 * @l:    lock
 * @err:  -EBUSY, -EDQUOT or -EHOSTDOWN
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_lock_answered(struct dsm_engine *e, struct dsm_lock *l, int err, struct dsm_actions *acts)
{
	bool late = l->flags & DSM_LOCKF_LATE;

	l->flags &= ~DSM_LOCKF_LATE;
	if (l->state == DSM_LOCK_WAITING && !dsm_lock_has_token(l)) {
		/* The token was not lost: it was on its way from here to the manager. */
		if (late && err == -EHOSTDOWN)
			dsm_lock_ask(e, l, l->flags & DSM_LOCKF_TRYING, acts);
		else
			dsm_lock_refused(e, l, err, acts);
	} else if (late && err == -EBUSY) {
		dsm_lock_fail(e, l, err, true, acts);
	} else if (late && l->next == DSM_NO_NODE) {
		dsm_lock_pass(e, l, l->manager, false, acts);
	}
}

/**
 * dsm_lock_apart() - tell the manager of a node that is lost for this one
 * @e:      engine
 * @l:      lock, managed elsewhere or here
 * @node:   lost node; DSM_NO_NODE: there is nothing to tell
 * @behind: it comes after this one in the queue; else the token may have been on its way from there
 * @acts:   actions
 *
 * It may live, and the manager reach both: then it learns of no loss, and who waits behind a node that it cannot reach would
 * wait until one of them leaves. What is asked for after a loss says so itself (dsm_lock_send()).
 *
 * Context: engine lock held.
 */
void dsm_lock_apart(struct dsm_engine *e, struct dsm_lock *l, u16 node, bool behind, struct dsm_actions *acts)
{
	if (node != DSM_NO_NODE && node != l->manager && l->manager != e->self && dsm_engine_alive(e, l->manager))
		dsm_lock_send(e, l->manager, DSM_CLASS_RSP, DSM_MSG_LOCK_APART, l, node, behind, 0, acts);
}

/**
 * dsm_lock_peer_lost() - a node is lost: the local part
 * @e:    engine
 * @l:    lock
 * @node: lost node
 * @acts: actions
 *
 * Context: engine lock held; @l may be gone afterwards.
 */
void dsm_lock_peer_lost(struct dsm_engine *e, struct dsm_lock *l, u16 node,
			struct dsm_actions *acts)
{
	/* A request is under way, too, while a token goes on that came for an older one. */
	bool waits = l->flags & DSM_LOCKF_LATE || (l->state == DSM_LOCK_WAITING && !dsm_lock_has_token(l));
	bool behind = l->next == node;

	if (behind || waits)
		dsm_lock_apart(e, l, node, behind, acts);
	if (behind)
		l->next = DSM_NO_NODE;
	if (l->manager == e->self) {
		dsm_lockman_peer_lost(e, l, node, acts);
		return;
	}
	if (l->manager != node)
		return;
	l->flags &= ~DSM_LOCKF_LATE;
	if (l->state == DSM_LOCK_WAITING && list_empty(&l->cont.link))
		dsm_lock_refused(e, l, -EHOSTDOWN, acts);
	else if (l->state == DSM_LOCK_RETURNING && (l->flags & DSM_LOCKF_SENT))
		dsm_lock_return_acked(e, l, true, acts);
}
