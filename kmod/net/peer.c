// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Life of a peer: made, brought up, closed, freed. Knows nothing of messages
 * and never talks to rdma_cm but to close.
 *
 *   SETUP --all four stand---> UP --fail--> CLOSING --drained, told--> GONE
 *   SETUP --fail--------------------------> CLOSING
 *
 * A peer whose connections break stays UP while resume.c tries to make new ones.
 *
 * dsm_peer_fail() may be called from anywhere, any number of times; the first
 * call queues close_work, which alone takes the peer apart:
 *   1. refuse: from CLOSING on nothing is posted and no queue pair is made;
 *   2. wait: queue pairs in error and drained, so no handler runs or will run;
 *   3. tell the shell, free the slot, and later (see DSM_COMPAT_QP_MUST_SETTLE)
 *      destroy the queue pairs in free_work.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "link.h"
#include "net.h"
#include "tune.h"
#include "xfer.h"

/* How long an orderly close waits for what was accepted to be acknowledged. */
#define LEAVE_MS 1000

static void state_set(struct dsm_peer *peer, enum dsm_peer_state state)
{
	lockdep_assert_held(&peer->lock);
	WARN_ON_ONCE(state <= peer->state);
	peer->state = state;
	wake_up(&peer->wait);
}

/**
 * dsm_peer_put() - drop a reference
 * @peer: peer; not to be touched afterwards
 *
 * Context: process. The last one lets dsm_net_stop() go on.
 */
void dsm_peer_put(struct dsm_peer *peer)
{
	struct dsm_net *net = peer->net;

	if (!refcount_dec_and_test(&peer->ref))
		return;
	kfree_rcu(peer, rcu);
	dsm_net_release(net);
}

/**
 * dsm_peer_find_any() - look up a peer by its id, or the connection of this node with itself
 * @net:  transport
 * @node: id, any value
 *
 * Context: any.
 * Return: the peer with a reference, or NULL. It may have no connection but B.
 */
struct dsm_peer *dsm_peer_find_any(struct dsm_net *net, u16 node)
{
	struct dsm_peer *peer;

	if (node >= DSM_MAX_NODES)
		return NULL;
	rcu_read_lock();
	peer = rcu_dereference(net->slot[node]);
	if (peer && !refcount_inc_not_zero(&peer->ref))
		peer = NULL;
	rcu_read_unlock();
	return peer;
}

/**
 * dsm_peer_find() - look up a peer by its id
 * @net:  transport
 * @node: id, any value
 *
 * Context: process.
 * Return: the peer with a reference, or NULL.
 */
struct dsm_peer *dsm_peer_find(struct dsm_net *net, u16 node)
{
	struct dsm_peer *peer = dsm_peer_find_any(net, node);

	if (!peer || !dsm_peer_is_self(peer))
		return peer;
	dsm_peer_put(peer);
	return NULL;
}

/**
 * dsm_peer_claim() - give a peer its id
 * @peer: peer in set-up
 * @node: its id
 *
 * Context: process.
 * Return: 0; -EPROTO if @node is no id or our own; -EAGAIN if another peer of that id is
 *         being closed, -EEXIST if one stands; -ESHUTDOWN if @peer itself is being closed.
 */
int dsm_peer_claim(struct dsm_peer *peer, u16 node)
{
	struct dsm_net *net = peer->net;
	struct dsm_peer *other;
	int err = 0;

	if (node >= DSM_MAX_NODES || node == peer->self)
		return -EPROTO;
	spin_lock(&net->lock);
	other = rcu_dereference_protected(net->slot[node], lockdep_is_held(&net->lock));
	if (READ_ONCE(peer->state) != DSM_PEER_SETUP) {
		/* Else close_work, which sets the state first, will find it in unclaim(). */
		err = -ESHUTDOWN;
	} else if (other) {
		err = READ_ONCE(other->state) >= DSM_PEER_CLOSING ? -EAGAIN : -EEXIST;
	} else {
		peer->node = node;
		/* Pairs with rcu_dereference() in dsm_peer_find_any(). */
		rcu_assign_pointer(net->slot[node], peer);
	}
	spin_unlock(&net->lock);
	return err;
}

/* What another peer of the same address means to @peer: see dsm_peer_claim_addr(). */
static int judge_namesake(struct dsm_peer *peer, struct dsm_peer *other)
{
	int err;

	spin_lock_bh(&other->lock);
	if (other->state == DSM_PEER_GONE) {
		err = 0;
	} else if (other->state == DSM_PEER_CLOSING) {
		err = -EAGAIN;
	} else if (peer->active || other->active) {
		err = -EEXIST;
	} else {
		dsm_peer_fail_locked(other, DSM_WHY_DISCONNECT, -ECONNRESET,
				     "the node connects anew");
		err = -EAGAIN;
	}
	spin_unlock_bh(&other->lock);
	return err;
}

/**
 * dsm_peer_stand_alone() - the connection of this node with itself stands
 * @peer: peer in set-up whose connection B works
 *
 * It takes this node's own id, and nobody is told.
 *
 * Context: process.
 * Return: 0; -EEXIST if there is one already, -ESHUTDOWN if @peer is being closed.
 */
int dsm_peer_stand_alone(struct dsm_peer *peer)
{
	struct dsm_net *net = peer->net;
	int err = -EEXIST;

	spin_lock(&net->lock);
	if (!rcu_access_pointer(net->slot[peer->self])) {
		spin_lock_bh(&peer->lock);
		err = -ESHUTDOWN;
		if (peer->state == DSM_PEER_SETUP) {
			peer->node = peer->self;
			peer->qp[DSM_VC_B].established = true;
			state_set(peer, DSM_PEER_UP);
			/* Pairs with rcu_dereference() in dsm_peer_find_any(). */
			rcu_assign_pointer(net->slot[peer->node], peer);
			err = 0;
		}
		spin_unlock_bh(&peer->lock);
	}
	spin_unlock(&net->lock);
	return err;
}

/**
 * dsm_peer_claim_addr() - give a peer its address
 * @peer: peer in set-up
 * @addr: the node's listening address
 *
 * A node that we believe to be connected to us, and that connects again, has lost the old
 * connection or was started anew: the old one is closed.
 *
 * Context: process.
 * Return: 0; -EAGAIN if a former connection to that address is being closed, -EEXIST
 *         if one stands or is being made.
 */
int dsm_peer_claim_addr(struct dsm_peer *peer, const struct sockaddr_in *addr)
{
	struct dsm_net *net = peer->net;
	struct dsm_peer *other;
	int err = 0;

	spin_lock(&net->lock);
	list_for_each_entry(other, &net->peers, link) {
		if (other == peer || other->addr.sin_port != addr->sin_port ||
		    other->addr.sin_addr.s_addr != addr->sin_addr.s_addr)
			continue;
		err = judge_namesake(peer, other);
		if (err)
			break;
	}
	if (!err)
		peer->addr = *addr;
	spin_unlock(&net->lock);
	return err;
}

static void unclaim(struct dsm_peer *peer)
{
	struct dsm_net *net = peer->net;

	spin_lock(&net->lock);
	if (peer->node < DSM_MAX_NODES && rcu_access_pointer(net->slot[peer->node]) == peer)
		RCU_INIT_POINTER(net->slot[peer->node], NULL);
	spin_unlock(&net->lock);
	wake_up_all(&net->idle);
}

/* What the node learned of itself becomes its identity with the first peer that stands. */
static void adopt_identity(struct dsm_peer *peer)
{
	struct dsm_net *net = peer->net;

	spin_lock(&net->lock);
	if (net->self == DSM_NO_NODE)
		net->self = peer->self;
	if (!net->cluster)
		net->cluster = peer->cluster;
	spin_unlock(&net->lock);
}

static void up_work(struct work_struct *work)
{
	struct dsm_peer *peer = container_of(work, struct dsm_peer, up_work);
	struct dsm_net *net = peer->net;

	dsm_sink_reserve(peer);
	dsm_bulk_reserve(peer);
	spin_lock_bh(&peer->lock);
	if (peer->state != DSM_PEER_SETUP) {
		spin_unlock_bh(&peer->lock);
		return;
	}
	WRITE_ONCE(peer->last_rx, jiffies);
	peer->announced = true;
	atomic_inc(&net->announced);
	state_set(peer, DSM_PEER_UP);
	dsm_bulk_announce(peer);
	spin_unlock_bh(&peer->lock);

	adopt_identity(peer);
	net->ops->peer_up(net->ctx, net->self, peer->node, &peer->addr);
	dsm_recv_open(&peer->qp[DSM_VC_C]);
	dsm_recv_open(&peer->qp[DSM_VC_P]);
	dsm_recv_open(&peer->qp[DSM_VC_Q]);
	dsm_recv_open(&peer->qp[DSM_VC_B]);

	spin_lock_bh(&peer->lock);
	peer->up_done = true;
	wake_up(&peer->wait);
	spin_unlock_bh(&peer->lock);
	dsm_tune_start(peer);
}

/**
 * dsm_peer_established() - a connection stands: bring the peer up if it was the last
 * @qp: the connection
 *
 * Context: any.
 */
void dsm_peer_established(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	bool all = true;
	int i;

	spin_lock_bh(&peer->lock);
	qp->established = true;
	for (i = 0; i < DSM_VC_COUNT; i++)
		all &= peer->qp[i].established;
	if (all && peer->state == DSM_PEER_SETUP)
		queue_work(peer->net->wq, &peer->up_work);
	wake_up(&peer->wait);
	spin_unlock_bh(&peer->lock);
}

/**
 * dsm_peer_fail_locked() - the peer is lost, or is to be closed
 * @peer:   peer, in any state
 * @why:    how much this says
 * @err:    what peer_lost will be told
 * @reason: likewise; static text, or @peer's own
 *
 * Context: peer lock held; any.
 */
void dsm_peer_fail_locked(struct dsm_peer *peer, enum dsm_why why, int err, const char *reason)
{
	lockdep_assert_held(&peer->lock);
	if (peer->state == DSM_PEER_GONE)
		return;
	if (peer->state == DSM_PEER_CLOSING) {
		/* There is nobody left to say goodbye to. */
		if (err != -ESHUTDOWN)
			peer->leaving = false;
		wake_up(&peer->wait);
		if (why <= peer->why)
			return;
	}
	peer->why = why;
	peer->err = err;
	peer->reason = reason;
	if (peer->state == DSM_PEER_CLOSING)
		return;
	state_set(peer, DSM_PEER_CLOSING);
	queue_work(peer->net->wq, &peer->close_work);
}

/**
 * dsm_peer_fail() - the peer is lost, or is to be closed
 * @peer:   peer, in any state
 * @why:    how much this says
 * @err:    what peer_lost will be told
 * @reason: likewise; static text, or @peer's own
 *
 * Context: any.
 */
void dsm_peer_fail(struct dsm_peer *peer, enum dsm_why why, int err, const char *reason)
{
	spin_lock_bh(&peer->lock);
	dsm_peer_fail_locked(peer, why, err, reason);
	spin_unlock_bh(&peer->lock);
}

/**
 * dsm_peer_leave() - close in good order
 * @peer:   peer
 * @reason: static text
 *
 * What was accepted for sending is sent, the peer is told, then all is closed.
 *
 * Context: any.
 */
void dsm_peer_leave(struct dsm_peer *peer, const char *reason)
{
	spin_lock_bh(&peer->lock);
	/* What is broken is not mended first: then the peer finds out by itself. */
	if (peer->state == DSM_PEER_UP && !peer->resume.broken && !dsm_peer_is_self(peer))
		peer->leaving = true;
	dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ESHUTDOWN, reason);
	spin_unlock_bh(&peer->lock);
}

static bool still_leaving(struct dsm_peer *peer)
{
	return READ_ONCE(peer->leaving) && !dsm_send_is_idle(peer);
}

/* Send what was accepted, then the farewell; give up when the peer does not take it. */
static void say_goodbye(struct dsm_peer *peer)
{
	if (!READ_ONCE(peer->leaving))
		return;
	dsm_send_flush(peer);
	wait_event_timeout(peer->wait, !still_leaving(peer), msecs_to_jiffies(LEAVE_MS));
	spin_lock_bh(&peer->lock);
	if (peer->leaving)
		dsm_send_ctl(peer, peer->bye_tx, 0);
	spin_unlock_bh(&peer->lock);
	wait_event_timeout(peer->wait, !still_leaving(peer), msecs_to_jiffies(LEAVE_MS));
	spin_lock_bh(&peer->lock);
	peer->leaving = false;
	spin_unlock_bh(&peer->lock);
}

/* No handler of this peer runs afterwards, and every message is ours again. */
static void drain(struct dsm_peer *peer)
{
	const bool up = dsm_link_is_up(peer);
	int i;

	for (i = 0; i < DSM_VC_COUNT; i++) {
		struct rdma_cm_id *id = peer->qp[i].id;

		if (!id || !id->qp)
			continue;
		/* Fails if the connection never stood; the drain puts it in error too. */
		if (up)
			rdma_disconnect(id);
		ib_drain_qp(id->qp);
	}
	dsm_send_purge(peer);
	dsm_sink_purge(peer);
	dsm_bulk_purge(peer);
	dsm_xfer_purge(peer);
}

static void close_work(struct work_struct *work)
{
	struct dsm_peer *peer = container_of(work, struct dsm_peer, close_work);
	struct dsm_net *net = peer->net;
	int err;

	/* Whoever builds a queue pair looks at the state under this mutex. */
	mutex_lock(&peer->setup);
	mutex_unlock(&peer->setup);
	cancel_work_sync(&peer->up_work);
	cancel_work_sync(&peer->resume.work);
	say_goodbye(peer);
	drain(peer);
	cancel_delayed_work_sync(&peer->idle_work);

	spin_lock_bh(&peer->lock);
	err = peer->err;
	state_set(peer, DSM_PEER_GONE);
	spin_unlock_bh(&peer->lock);
	if (peer->announced) {
		net->ops->peer_lost(net->ctx, peer->node, peer->reason, err);
		atomic_dec(&net->announced);
	} else if (dsm_peer_is_self(peer) && !READ_ONCE(net->stopping)) {
		/* Peers go on with words that this node cannot reach itself, and so not judge when one of them is lost. */
		pr_err("dsm: the connection of this node with itself failed (%s): sync=rdma and metadata=rdma need it; leave and join\n",
		       peer->reason);
		dsm_net_fail_peers(net, "this node's connection with itself failed");
	}
	unclaim(peer);
	queue_delayed_work(net->slow_wq, &peer->free_work, net->settle);
}

static void kept_free(struct dsm_net_tx *tx)
{
	if (tx)
		dsm_send_tx_free(tx);
}

static void free_work(struct work_struct *work)
{
	struct dsm_peer *peer = container_of(to_delayed_work(work), struct dsm_peer, free_work);
	struct dsm_net *net = peer->net;
	int i;

	/* Ids that were connected say so when they are destroyed. */
	if (!READ_ONCE(net->stopping) && !dsm_link_is_up(peer)) {
		queue_delayed_work(net->slow_wq, &peer->free_work, msecs_to_jiffies(DSM_LINK_LOOK_MS));
		return;
	}
	cancel_work_sync(&peer->admit_work);
	dsm_resume_exit(peer);
	for (i = 0; i < DSM_VC_COUNT; i++) {
		dsm_qp_destroy(&peer->qp[i]);
		kept_free(peer->credit_tx[i]);
	}
	dsm_cq_destroy(&peer->tx_cq);
	kept_free(peer->beat_tx);
	kept_free(peer->bye_tx);
	spin_lock(&net->lock);
	list_del(&peer->link);
	spin_unlock(&net->lock);
	dsm_peer_put(peer);
}

static void qp_init(struct dsm_peer *peer, enum dsm_vc vc, u32 slots, u32 slot_bytes, u32 sq_room)
{
	struct dsm_qp *qp = &peer->qp[vc];

	qp->peer = peer;
	qp->vc = vc;
	qp->slots = slots;
	qp->slot_bytes = slot_bytes;
	qp->sq_room = sq_room;
	INIT_LIST_HEAD(&qp->parked);
	dsm_cq_prepare(&qp->rx_cq, peer);
}

static int keep_messages(struct dsm_peer *peer)
{
	peer->credit_tx[DSM_VC_Q] = dsm_send_tx_keep(peer->net, DSM_MSG_CREDIT);
	peer->credit_tx[DSM_VC_P] = dsm_send_tx_keep(peer->net, DSM_MSG_CREDIT);
	peer->beat_tx = dsm_send_tx_keep(peer->net, DSM_MSG_HEARTBEAT);
	peer->bye_tx = dsm_send_tx_keep(peer->net, DSM_MSG_BYE);
	return peer->credit_tx[DSM_VC_Q] && peer->credit_tx[DSM_VC_P] && peer->beat_tx &&
	       peer->bye_tx ? 0 : -ENOMEM;
}

/**
 * dsm_peer_new() - make a peer
 * @net:    transport
 * @active: we connect to it
 *
 * Context: process, sleeps.
 * Return: the peer in state SETUP with one reference for the list and one for
 *         the caller, or an ERR_PTR: -ENOMEM, -ESHUTDOWN (stopping), -ENODEV (device removed).
 */
struct dsm_peer *dsm_peer_new(struct dsm_net *net, bool active)
{
	struct dsm_peer *peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	int i, err;

	if (!peer)
		return ERR_PTR(-ENOMEM);
	err = dsm_net_hold(net);
	if (err) {
		kfree(peer);
		return ERR_PTR(err);
	}
	peer->net = net;
	peer->active = active;
	peer->node = DSM_NO_NODE;
	peer->self = DSM_NO_NODE;
	peer->session = get_random_u32() ?: 1;
	peer->last_rx = jiffies;
	peer->deadline = jiffies + msecs_to_jiffies(2 * net->cfg.peer_timeout_ms);
	refcount_set(&peer->ref, 2);
	mutex_init(&peer->setup);
	spin_lock_init(&peer->lock);
	init_waitqueue_head(&peer->wait);
	INIT_WORK(&peer->admit_work, dsm_cm_admit);
	INIT_WORK(&peer->up_work, up_work);
	INIT_WORK(&peer->close_work, close_work);
	INIT_DELAYED_WORK(&peer->free_work, free_work);
	INIT_DELAYED_WORK(&peer->idle_work, dsm_send_idle_credits);
	for (i = 0; i < DSM_BACKLOGS; i++)
		peer->backlog[i].tail = &peer->backlog[i].head;
	dsm_credit_init(&peer->credit);
	dsm_xfer_peer_init(peer);
	dsm_sink_init(peer);
	dsm_resume_init(peer);
	dsm_cq_prepare(&peer->tx_cq, peer);
	qp_init(peer, DSM_VC_C, DSM_SLOTS_CTL, DSM_CTL_BYTES, DSM_SQ_DEPTH_CTL);
	qp_init(peer, DSM_VC_Q, DSM_SLOTS_REQ + DSM_SLOTS_FWD, DSM_MSG_BYTES, DSM_SQ_DEPTH);
	qp_init(peer, DSM_VC_P, DSM_SLOTS_RSP, DSM_MSG_BYTES, DSM_SQ_DEPTH);
	qp_init(peer, DSM_VC_B, DSM_SLOTS_SIGNAL, 0, DSM_SQ_DEPTH_B);
	err = keep_messages(peer);
	spin_lock(&net->lock);
	if (!err)
		err = net->stopping;
	list_add_tail(&peer->link, &net->peers);
	spin_unlock(&net->lock);
	if (!err)
		return peer;
	dsm_peer_fail(peer, DSM_WHY_CAUSE, err, "no memory or stopping");
	dsm_peer_put(peer);
	return ERR_PTR(err);
}
