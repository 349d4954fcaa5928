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

static void turn_over(struct work_struct *work);
static DECLARE_DELAYED_WORK(turn, turn_over);

/*
 * Touched on the ordered workqueue and when a peer is lost. @joiner: whose turn it is, or
 * DSM_NO_NODE; @joiners: who waits for a turn; @held: requests that wait for the end of this one.
 */
static DEFINE_SPINLOCK(turn_lock);
static u16 joiner = DSM_NO_NODE;
static LIST_HEAD(joiners);
static LIST_HEAD(held);

/* Under turn_lock. */
static void end_turn(u16 node)
{
	struct dsm_control_request *q, *tmp;

	if (joiner != node)
		return;
	joiner = DSM_NO_NODE;
	list_for_each_entry_safe(q, tmp, &held, link) {
		list_del_init(&q->link);
		queue_work(dsm_node.coordinator_wq, &q->work);
	}
}

static void next_turn(void)
{
	struct dsm_control_request *q = NULL;

	spin_lock(&turn_lock);
	if (joiner == DSM_NO_NODE && !list_empty(&joiners)) {
		q = list_first_entry(&joiners, struct dsm_control_request, link);
		list_del_init(&q->link);
		joiner = q->from;
	}
	spin_unlock(&turn_lock);
	if (!q)
		return;
	mod_delayed_work(dsm_node.coordinator_wq, &turn, msecs_to_jiffies(TURN_MS));
	dsm_control_put_members(&q->msg);
	dsm_control_answer(q, 0);
}

/* Its JOIN_END will be refused: others want to join, and to use regions. */
static void turn_over(struct work_struct *work)
{
	spin_lock(&turn_lock);
	if (joiner != DSM_NO_NODE)
		pr_notice("dsm: node %u took too long to join\n", joiner);
	end_turn(joiner);
	spin_unlock(&turn_lock);
	next_turn();
}

/**
 * dsm_turn_begin() - a node wants to join
 * @q: JOIN_BEGIN; answered when it is the node's turn
 *
 * Context: process, on the coordinator's workqueue.
 */
void dsm_turn_begin(struct dsm_control_request *q)
{
	spin_lock(&turn_lock);
	list_add_tail(&q->link, &joiners);
	spin_unlock(&turn_lock);
	next_turn();
}

/**
 * dsm_turn_end() - the joiner is done, or has given up
 * @q: JOIN_END; answered when all know the new member, -EINVAL: it is not its turn (any more)
 *
 * Context: process, on the coordinator's workqueue.
 */
void dsm_turn_end(struct dsm_control_request *q)
{
	struct dsm_node *n = &dsm_node;
	u16 node = q->from;
	bool its_turn;
	u64 done;

	spin_lock(&turn_lock);
	its_turn = joiner == node;
	spin_unlock(&turn_lock);
	if (!its_turn) {
		dsm_control_answer(q, -EINVAL);
		return;
	}
	cancel_delayed_work(&turn);
	if (!q->msg.status) {
		spin_lock(&n->lock);
		if (dsm_engine_alive(n->engine, node))
			n->joined |= BIT_ULL(node);
		spin_unlock(&n->lock);
		wake_up_all(&n->changed);
		dsm_control_broadcast(&q->msg, DSM_CONTROL_MEMBERS, &done);
	}
	dsm_control_answer(q, 0);
	spin_lock(&turn_lock);
	end_turn(node);
	spin_unlock(&turn_lock);
	next_turn();
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
	bool joining;

	spin_lock(&turn_lock);
	joining = joiner != DSM_NO_NODE;
	if (joining)
		list_add_tail(&q->link, &held);
	spin_unlock(&turn_lock);
	return joining;
}

/* Under turn_lock; DSM_NO_NODE: of all. */
static void forget(struct list_head *queue, u16 node)
{
	struct dsm_control_request *q, *tmp;

	list_for_each_entry_safe(q, tmp, queue, link)
		if (node == DSM_NO_NODE || q->from == node) {
			list_del(&q->link);
			dsm_control_forget(q);
		}
}

/**
 * dsm_turn_peer_lost() - it joins no more and wants nothing of regions
 * @node: lost node
 *
 * Context: process.
 */
void dsm_turn_peer_lost(u16 node)
{
	spin_lock(&turn_lock);
	forget(&joiners, node);
	forget(&held, node);
	end_turn(node);
	spin_unlock(&turn_lock);
	next_turn();
}

/**
 * dsm_turn_drain() - nobody joins any more; what was held back is served
 *
 * Context: process; all peers are gone, and the coordinator's workqueue is empty.
 */
void dsm_turn_drain(void)
{
	cancel_delayed_work_sync(&turn);
	spin_lock(&turn_lock);
	forget(&joiners, DSM_NO_NODE);
	end_turn(joiner);
	spin_unlock(&turn_lock);
}
