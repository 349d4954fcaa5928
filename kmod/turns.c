// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Coordinator: whose turn it is to join.
 *
 * One node joins at a time: it connects to all members and takes over the list of regions, and is
 * a member when it says that it is done. What makes, removes or opens regions waits until then: a
 * region made in between would be unknown to the joiner. A turn is bounded, and ends with the loss
 * of the joiner. Decides nothing about regions itself.
 */
#include "control.h"
#include "shell.h"

/* How long a node may take to join once it is its turn: connections to all, list of regions. */
#define TURN_MS 20000

/* Under the lock of turns. */
static void end_turn(struct dsm_node *n, u16 node)
{
	struct dsm_control_request *q, *tmp;

	if (n->turns.joiner != node)
		return;
	n->turns.joiner = DSM_NO_NODE;
	list_for_each_entry_safe(q, tmp, &n->turns.held, link) {
		list_del_init(&q->link);
		queue_work(n->coordinator_wq, &q->work);
	}
}

/* Under the lock of turns; DSM_NO_NODE: of all. */
static void forget(struct list_head *queue, u16 node)
{
	struct dsm_control_request *q, *tmp;

	list_for_each_entry_safe(q, tmp, queue, link)
		if (node == DSM_NO_NODE || q->from == node) {
			list_del(&q->link);
			dsm_control_forget(q);
		}
}

static void next_turn(struct dsm_node *n)
{
	struct dsm_control_request *q = NULL;

	spin_lock(&n->turns.lock);
	if (n->turns.joiner == DSM_NO_NODE && !list_empty(&n->turns.joiners)) {
		q = list_first_entry(&n->turns.joiners, struct dsm_control_request, link);
		list_del_init(&q->link);
		n->turns.joiner = q->from;
		mod_delayed_work(n->coordinator_wq, &n->turns.over, msecs_to_jiffies(TURN_MS));
	}
	spin_unlock(&n->turns.lock);
	if (!q)
		return;
	dsm_control_put_members(n, &q->msg);
	dsm_control_answer(q, 0);
}

/* Its JOIN_END will be refused: others want to join, and to use regions. */
static void turn_over(struct work_struct *work)
{
	struct dsm_node *n = container_of(to_delayed_work(work), struct dsm_node, turns.over);

	spin_lock(&n->turns.lock);
	if (n->turns.joiner != DSM_NO_NODE)
		pr_notice("dsm: node %u took too long to join\n", n->turns.joiner);
	end_turn(n, n->turns.joiner);
	spin_unlock(&n->turns.lock);
	next_turn(n);
}

/**
 * dsm_turns_init() - a node appears
 * @n: node
 *
 * Context: process, module load.
 */
void dsm_turns_init(struct dsm_node *n)
{
	spin_lock_init(&n->turns.lock);
	n->turns.joiner = DSM_NO_NODE;
	INIT_LIST_HEAD(&n->turns.joiners);
	INIT_LIST_HEAD(&n->turns.held);
	INIT_DELAYED_WORK(&n->turns.over, turn_over);
}

/**
 * dsm_turn_begin() - a node wants to join
 * @q: JOIN_BEGIN; answered when it is the node's turn
 *
 * Context: process, on the coordinator's workqueue.
 */
void dsm_turn_begin(struct dsm_control_request *q)
{
	struct dsm_node *n = q->node;

	spin_lock(&n->turns.lock);
	list_add_tail(&q->link, &n->turns.joiners);
	/* Its loss may have been told while this waited to be served. */
	if (dsm_node_is_gone(n, q->from))
		forget(&n->turns.joiners, q->from);
	spin_unlock(&n->turns.lock);
	next_turn(n);
}

/**
 * dsm_turn_end() - the joiner is done, or has given up
 * @q: JOIN_END; answered when all know the new member, -EINVAL: it is not its turn (any more)
 *
 * Context: process, on the coordinator's workqueue.
 */
void dsm_turn_end(struct dsm_control_request *q)
{
	struct dsm_node *n = q->node;
	u16 node = q->from;
	bool its_turn;
	u64 done;

	spin_lock(&n->turns.lock);
	its_turn = n->turns.joiner == node;
	/* Under the lock, as it is armed: not that of who is next. */
	if (its_turn)
		cancel_delayed_work(&n->turns.over);
	spin_unlock(&n->turns.lock);
	if (!its_turn) {
		dsm_control_answer(q, -EINVAL);
		return;
	}
	if (!q->msg.status) {
		spin_lock(&n->lock);
		if (dsm_engine_alive(n->engine, node))
			n->joined |= BIT_ULL(node);
		spin_unlock(&n->lock);
		wake_up_all(&n->changed);
		dsm_control_broadcast(n, &q->msg, DSM_CONTROL_MEMBERS, &done);
	}
	dsm_control_answer(q, 0);
	spin_lock(&n->turns.lock);
	end_turn(n, node);
	spin_unlock(&n->turns.lock);
	next_turn(n);
}

/**
 * dsm_turn_hold() - keep a request until no node is joining
 * @q: request about regions
 *
 * Context: process, on the coordinator's workqueue.
 * Return: true: kept, it will be served again; false: serve it now.
 */
bool dsm_turn_hold(struct dsm_control_request *q)
{
	struct dsm_node *n = q->node;
	bool joining;

	spin_lock(&n->turns.lock);
	joining = n->turns.joiner != DSM_NO_NODE;
	if (joining)
		list_add_tail(&q->link, &n->turns.held);
	spin_unlock(&n->turns.lock);
	return joining;
}

/**
 * dsm_turn_peer_lost() - it joins no more and wants nothing of regions
 * @n:    node
 * @node: lost node
 *
 * Context: process.
 */
void dsm_turn_peer_lost(struct dsm_node *n, u16 node)
{
	spin_lock(&n->turns.lock);
	forget(&n->turns.joiners, node);
	forget(&n->turns.held, node);
	end_turn(n, node);
	spin_unlock(&n->turns.lock);
	next_turn(n);
}

/**
 * dsm_turn_drain() - nobody joins any more; what was held back is served
 * @n: node
 *
 * Context: process; all peers are gone, and the coordinator's workqueue is empty.
 */
void dsm_turn_drain(struct dsm_node *n)
{
	cancel_delayed_work_sync(&n->turns.over);
	spin_lock(&n->turns.lock);
	forget(&n->turns.joiners, DSM_NO_NODE);
	end_turn(n, n->turns.joiner);
	spin_unlock(&n->turns.lock);
}
