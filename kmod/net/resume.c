// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Reconnecting: when a connection to a peer breaks that may well be alive, new ones are made and
 * everything goes on where it stopped. Decides nothing about a peer that is really gone: the
 * watchdog counts its silence all the while, and what cannot be mended within resume_ms, or until
 * that count is full, is a loss as it always was.
 *
 *   break:  some connection of a peer that is up fails. Nothing is posted from here on; what the
 *           shell sends waits in the backlogs.
 *   drain:  each side takes all four connections apart. What was received is handled, so the
 *           number of the last message received is final; what was posted and not acknowledged
 *           is still in the send queues' rings and in xfer_posted.
 *   anew:   the side that connected first does so again, with the session's number, and both tell
 *           those numbers for each connection. They are checked before anything is believed.
 *   resume: each side posts again what the other one lacks, then what has waited.
 *
 * Queue pairs and ids are new; completion queues, receive slots, credits, registrations and
 * everything that is known of the peer stay.
 *
 * What must not be posted twice has a rule of its own: WRITEs (core/seq.h), atomics (DSM_XFER_IN_DOUBT), registrations
 * (dsm_xfer_register()), and requests that name a frame (dsm_sq_take_sinks()). A work request that
 * brings several messages at once, by a WRITE into memory that the peer keeps for them, goes again as it
 * was and to the same place: before its number is final the receiver has handled all of them or none,
 * and the credit that frees the place comes only afterwards. So it need only say how many messages
 * it is (messages_of() in sq.c). Memory that was announced stays announced; an announcement that was
 * not received goes again with key 0, as a request does that names a frame.
 */
#include <linux/slab.h>

#include "fault.h"
#include "link.h"
#include "net.h"
#include "sq.h"
#include "xfer.h"
#include "../core/seq.h"

/* Pause before the other side is asked again. */
#define RETRY_MS 20

/* How long to wait for the other side to connect again before it is reminded. */
#define REMIND_MS 100

/* A part of the bound is given to each connection, so that a lost packet does not cost all of it. */
#define ATTEMPTS 5

/**
 * struct dsm_old - a drained connection; see DSM_COMPAT_QP_MUST_SETTLE
 * @link: in dsm_resume.old, oldest first
 * @id:   with its queue pair
 * @due:  when it may be destroyed
 */
struct dsm_old {
	struct list_head link;
	struct rdma_cm_id *id;
	unsigned long due;
};

/* dsm_resume.received when none has succeeded yet. */
#define NEVER U32_MAX

static bool may_resume(const struct dsm_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	return peer->state == DSM_PEER_UP && peer->up_done && !peer->bye &&
	       peer->net->cfg.resume_ms;
}

/* Changes whenever something is received. */
static u32 received(const struct dsm_peer *peer)
{
	u32 i, sum = 0;

	for (i = 0; i < DSM_VC_COUNT; i++)
		sum += READ_ONCE(peer->qp[i].rx_seq);
	return sum;
}

/* A link that is lost may break a connection at once: the peer is not given up before its silence says so. */
static unsigned long last_moment(const struct dsm_peer *peer)
{
	const struct dsm_net_config *cfg = &peer->net->cfg;
	unsigned long end = jiffies + msecs_to_jiffies(cfg->resume_ms);
	unsigned long silent = READ_ONCE(peer->last_rx) + msecs_to_jiffies(cfg->peer_timeout_ms);

	return time_after(silent, end) ? silent : end;
}

static void blame(struct dsm_resume *r, enum dsm_why why, int err, const char *reason)
{
	r->why = why;
	r->err = err;
	r->reason = reason;
}

/**
 * dsm_resume_break_locked() - a connection failed, but the peer may be alive
 * @peer:   peer, in any state
 * @why:    how much this says
 * @err:    what peer_lost will be told if it cannot be mended
 * @reason: likewise; static text
 *
 * Context: peer lock held; any.
 */
void dsm_resume_break_locked(struct dsm_peer *peer, enum dsm_why why, int err, const char *reason)
{
	struct dsm_resume *r = &peer->resume;

	if (!may_resume(peer)) {
		dsm_peer_fail_locked(peer, why, err, reason);
		return;
	}
	if (!r->broken) {
		r->broken = true;
		/* One that breaks again at once is not mended: the time goes on. */
		if (received(peer) != r->received)
			r->end = last_moment(peer);
		blame(r, why, err, reason);
		queue_work(peer->net->slow_wq, &r->work);
	} else if (why > r->why) {
		blame(r, why, err, reason);
	}
	r->ready = false;
	r->again = true;
	wake_up(&peer->wait);
}

/**
 * dsm_resume_break() - as dsm_resume_break_locked()
 * @peer:   peer, in any state
 * @why:    how much this says
 * @err:    what peer_lost will be told if it cannot be mended
 * @reason: likewise; static text
 *
 * Context: any.
 */
void dsm_resume_break(struct dsm_peer *peer, enum dsm_why why, int err, const char *reason)
{
	spin_lock_bh(&peer->lock);
	dsm_resume_break_locked(peer, why, err, reason);
	spin_unlock_bh(&peer->lock);
}

/**
 * dsm_resume_refused() - an attempt to make a connection anew failed
 * @peer: peer
 * @err:  why
 *
 * Context: any.
 * Return: false if the peer is not being resumed: it fails.
 */
bool dsm_resume_refused(struct dsm_peer *peer, int err)
{
	struct dsm_resume *r = &peer->resume;
	bool broken;

	spin_lock_bh(&peer->lock);
	broken = peer->state == DSM_PEER_UP && r->broken;
	if (broken) {
		r->refusal = err;
		r->ready = false;
		r->again = true;
		wake_up(&peer->wait);
	}
	spin_unlock_bh(&peer->lock);
	return broken;
}

/**
 * dsm_resume_asked() - the peer wants a connection anew
 * @qp: which one
 *
 * Context: peer's setup mutex held.
 * Return: 0 if it may have it; -EAGAIN: ours are not drained yet, it is to ask again; -ESTALE: we
 *         know of nothing that could be resumed.
 */
int dsm_resume_asked(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	int err = 0;

	spin_lock_bh(&peer->lock);
	if (!may_resume(peer)) {
		err = -ESTALE;
	} else if (!peer->resume.ready || qp->id) {
		dsm_resume_break_locked(peer, DSM_WHY_DISCONNECT, -ECONNRESET,
					"the peer connects again");
		err = -EAGAIN;
	}
	spin_unlock_bh(&peer->lock);
	return err;
}

/**
 * dsm_resume_reminded() - the peer wants us to connect anew
 * @peer: active peer
 *
 * Context: any.
 * Return: -EAGAIN: we are about to; -ESTALE: we know of nothing that could be resumed.
 */
int dsm_resume_reminded(struct dsm_peer *peer)
{
	int err = -EAGAIN;

	spin_lock_bh(&peer->lock);
	if (!may_resume(peer))
		err = -ESTALE;
	else if (!peer->resume.broken)
		dsm_resume_break_locked(peer, DSM_WHY_DISCONNECT, -ECONNRESET,
					"the peer asks for new connections");
	spin_unlock_bh(&peer->lock);
	return err;
}

/**
 * dsm_resume_is_ready() - may connections be made anew
 * @peer: peer
 *
 * Context: any.
 * Return: true if the old ones are drained and the new ones do not stand yet.
 */
bool dsm_resume_is_ready(struct dsm_peer *peer)
{
	bool ready;

	spin_lock_bh(&peer->lock);
	ready = peer->state == DSM_PEER_UP && peer->resume.ready;
	spin_unlock_bh(&peer->lock);
	return ready;
}

/**
 * dsm_resume_take() - the peer told what it has received on a connection
 * @qp:       connection, which does not stand yet
 * @received: number of the last message, B: signal; 0 when it is made for the first time
 *
 * Context: any but with the peer's lock held.
 * Return: 0; -EPROTO if the peer lacks what it acknowledged, or has what was never sent.
 */
int dsm_resume_take(struct dsm_qp *qp, u32 received)
{
	struct dsm_peer *peer = qp->peer;
	u32 held;
	int err = 0;

	spin_lock_bh(&peer->lock);
	held = qp->vc == DSM_VC_B ? dsm_xfer_signals(peer) : dsm_sq_messages(qp);
	qp->tx_told = received;
	if (dsm_seq_missing(qp->tx_seq, held, received) < 0) {
		peer->stats.invalid_msgs++;
		err = -EPROTO;
	}
	spin_unlock_bh(&peer->lock);
	return err;
}

/* ---- the old connections ---- */

static void bury(struct dsm_peer *peer, bool all)
{
	struct dsm_resume *r = &peer->resume;
	unsigned long now = jiffies;
	struct dsm_old *old, *next;
	LIST_HEAD(dead);

	mutex_lock(&r->old_lock);
	list_for_each_entry_safe(old, next, &r->old, link) {
		if (!all && !dsm_link_carries(old->id, false))
			old->due = now + msecs_to_jiffies(DSM_LINK_LOOK_MS);
		if (!all && time_before(now, old->due)) {
			queue_delayed_work(peer->net->slow_wq, &r->bury, old->due - now);
			break;
		}
		list_move_tail(&old->link, &dead);
	}
	mutex_unlock(&r->old_lock);
	list_for_each_entry_safe(old, next, &dead, link) {
		if (old->id->qp)
			rdma_destroy_qp(old->id);
		rdma_destroy_id(old->id);
		kfree(old);
	}
}

static void bury_work(struct work_struct *work)
{
	bury(container_of(to_delayed_work(work), struct dsm_peer, resume.bury), false);
}

/* Drain a connection and put it aside. */
static void put_aside(struct dsm_qp *qp)
{
	struct dsm_peer *peer = qp->peer;
	struct dsm_resume *r = &peer->resume;
	struct rdma_cm_id *id = qp->id;
	struct dsm_old *old;

	if (!id)
		return;
	dsm_cm_retire(id);
	rdma_disconnect(id);
	if (id->qp)
		ib_drain_qp(id->qp);
	mutex_lock(&peer->setup);
	qp->id = NULL;
	mutex_unlock(&peer->setup);

	/* Small; and there would be nobody to tell. */
	old = kmalloc(sizeof(*old), GFP_KERNEL | __GFP_NOFAIL);
	old->id = id;
	old->due = jiffies + peer->net->settle;
	mutex_lock(&r->old_lock);
	list_add_tail(&old->link, &r->old);
	mutex_unlock(&r->old_lock);
	queue_delayed_work(peer->net->slow_wq, &r->bury, peer->net->settle);
}

/*
 * Afterwards no handler of this peer runs, and nothing of it is with the device. -ENETDOWN: nothing was done, since the
 * network carries nothing.
 */
static int take_down(struct dsm_peer *peer)
{
	struct dsm_resume *r = &peer->resume;
	int i;

	/* After a try that ended without a word it is still true, and its connection may stand on the other side. */
	spin_lock_bh(&peer->lock);
	r->ready = false;
	spin_unlock_bh(&peer->lock);
	/* Whoever makes a queue pair looks at @ready under this mutex. */
	mutex_lock(&peer->setup);
	mutex_unlock(&peer->setup);
	if (!dsm_link_await(peer, r->end))
		return -ENETDOWN;
	for (i = 0; i < DSM_VC_COUNT; i++)
		put_aside(&peer->qp[i]);
	spin_lock_bh(&peer->lock);
	for (i = 0; i < DSM_VC_COUNT; i++)
		peer->qp[i].established = false;
	/* What was told of the old ones meanwhile is no news. */
	r->again = false;
	r->refusal = 0;
	r->ready = true;
	spin_unlock_bh(&peer->lock);
	return 0;
}

/* ---- the new ones ---- */

static bool is_disturbed(const struct dsm_peer *peer)
{
	return READ_ONCE(peer->state) != DSM_PEER_UP || READ_ONCE(peer->resume.again);
}

static long left_until(unsigned long end)
{
	unsigned long now = jiffies;

	return time_before(now, end) ? end - now : 0;
}

/* Would another try end the same way? */
static bool is_final(int err)
{
	switch (err) {
	case -EPROTO:
	case -EPROTONOSUPPORT:
	/* The other side has dropped us, or runs anew, or runs no more. */
	case -ESTALE:
	case -ECONNREFUSED:
		return true;
	default:
		return false;
	}
}

/* Result of a wait. -EAGAIN: try it anew. */
static int outcome(struct dsm_peer *peer, bool stands)
{
	int err = -EAGAIN;

	spin_lock_bh(&peer->lock);
	if (peer->state != DSM_PEER_UP)
		err = -ESHUTDOWN;
	else if (peer->resume.again)
		err = peer->resume.refusal ?: -EAGAIN;
	else if (stands)
		err = 0;
	spin_unlock_bh(&peer->lock);
	return err;
}

static int connect_one(struct dsm_peer *peer, enum dsm_vc vc)
{
	struct dsm_qp *qp = &peer->qp[vc];
	long bound = msecs_to_jiffies(peer->net->cfg.resume_ms) / ATTEMPTS;
	int err;

	bound = min(bound, left_until(peer->resume.end));
	err = dsm_cm_start(peer, vc, jiffies_to_msecs(bound));
	if (err)
		return err;
	wait_event_timeout(peer->wait, READ_ONCE(qp->established) || is_disturbed(peer), bound);
	return outcome(peer, READ_ONCE(qp->established));
}

/* The side that connected first does it again, in the same order. */
static int connect_all(struct dsm_peer *peer)
{
	int vc, err = 0;

	for (vc = DSM_VC_C; !err && vc < DSM_VC_COUNT; vc++)
		err = connect_one(peer, vc);
	return err;
}

static bool all_stand(const struct dsm_peer *peer)
{
	bool all = true;
	int i;

	for (i = 0; i < DSM_VC_COUNT; i++)
		all &= READ_ONCE(peer->qp[i].established);
	return all;
}

static bool is_coming(const struct dsm_peer *peer)
{
	return READ_ONCE(peer->qp[DSM_VC_C].id) || is_disturbed(peer);
}

/* The other side does so by itself as soon as it knows; the word of the break may have been lost. */
static int await_all(struct dsm_peer *peer)
{
	const long patience = msecs_to_jiffies(REMIND_MS);
	int err;

	while (!is_coming(peer) && left_until(peer->resume.end)) {
		if (wait_event_timeout(peer->wait, is_coming(peer),
				       min(patience, left_until(peer->resume.end))))
			break;
		err = dsm_remind(peer);
		if (is_final(err) && !is_coming(peer))
			return err;
	}
	wait_event_timeout(peer->wait, all_stand(peer) || is_disturbed(peer),
			   left_until(peer->resume.end));
	return outcome(peer, all_stand(peer));
}

/*
 * Frames that the peer was never asked to write: nothing is posted yet, so what is done with them
 * is done before somebody uses them.
 */
static void take_frames_back(struct dsm_peer *peer)
{
	LIST_HEAD(doubtful);

	spin_lock_bh(&peer->lock);
	if (!peer->resume.again)
		dsm_sq_take_sinks(&peer->qp[DSM_VC_Q], &doubtful);
	spin_unlock_bh(&peer->lock);
	dsm_sink_renew(peer, &doubtful);
}

/* Post what the peer lacks, then what has waited. */
static int go_on(struct dsm_peer *peer)
{
	struct dsm_resume *r = &peer->resume;
	struct dsm_xfer_list back = { .tail = &back.head };
	int err = 0;

	take_frames_back(peer);
	spin_lock_bh(&peer->lock);
	if (peer->state != DSM_PEER_UP || r->again) {
		err = -EAGAIN;
	} else {
		r->broken = false;
		r->ready = false;
		r->received = received(peer);
		WRITE_ONCE(peer->last_rx, jiffies);
		peer->stats.resumes++;
		dsm_sq_again(&peer->qp[DSM_VC_C]);
		dsm_sq_again(&peer->qp[DSM_VC_P]);
		dsm_sq_again(&peer->qp[DSM_VC_Q]);
		dsm_fault_repeated(peer);
		dsm_xfer_again(peer, &back);
		dsm_send_push(peer, false);
	}
	spin_unlock_bh(&peer->lock);
	dsm_xfer_give_back(peer, &back);
	return err;
}

static bool is_worth_another_try(struct dsm_peer *peer, int err)
{
	if (is_final(err))
		return false;
	wait_event_timeout(peer->wait, READ_ONCE(peer->state) != DSM_PEER_UP,
			   msecs_to_jiffies(RETRY_MS));
	return READ_ONCE(peer->state) == DSM_PEER_UP && left_until(peer->resume.end);
}

static void give_up(struct dsm_peer *peer, int err)
{
	struct dsm_resume *r = &peer->resume;

	spin_lock_bh(&peer->lock);
	if (err == -EPROTO)
		blame(r, DSM_WHY_CAUSE, err, "malformed request to resume");
	dsm_peer_fail_locked(peer, r->why, r->err, r->reason);
	spin_unlock_bh(&peer->lock);
}

static void resume_work(struct work_struct *work)
{
	struct dsm_peer *peer = container_of(work, struct dsm_peer, resume.work);
	int err;

	do {
		err = take_down(peer);
		if (!err)
			err = peer->active ? connect_all(peer) : await_all(peer);
		if (!err)
			err = go_on(peer);
	} while (err && is_worth_another_try(peer, err));
	if (err)
		give_up(peer, err);
	else
		pr_info_ratelimited("dsm: node %u: %s: connected again, nothing is lost\n",
				    peer->node, READ_ONCE(peer->resume.reason));
}

/**
 * dsm_resume_init() - a new peer
 * @peer: peer, not yet visible to anyone
 *
 * Context: any.
 */
void dsm_resume_init(struct dsm_peer *peer)
{
	struct dsm_resume *r = &peer->resume;

	r->received = NEVER;
	INIT_WORK(&r->work, resume_work);
	INIT_DELAYED_WORK(&r->bury, bury_work);
	INIT_LIST_HEAD(&r->old);
	mutex_init(&r->old_lock);
}

/**
 * dsm_resume_exit() - destroy what is left of connections that broke
 * @peer: peer that is gone; its other connections settled
 *
 * Context: process, sleeps.
 */
void dsm_resume_exit(struct dsm_peer *peer)
{
	cancel_delayed_work_sync(&peer->resume.bury);
	bury(peer, true);
}
