// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Heartbeats and the watchdog: says to every peer that we live, and declares a
 * peer lost of which nothing was received for the bound. Any message counts;
 * beats see to it that there is one. A connection on which nothing ends for long
 * although the peer is heard has failed without an error, and is treated like one with an error (resume.c);
 * that of this node with itself ends. Never waits.
 */
#include "link.h"
#include "sq.h"
#include "xfer.h"

/* Beats to wait for after the watchdog itself ran late: one surely sent since, one on its way. */
#define GRACE_BEATS 2

/*
 * Bounds after which transfers stand still: a queue pair that sends again gives up after little more
 * than one, though devices may take up to four times as long for each time-out.
 */
#define STILL_BOUNDS 4

static unsigned long later(unsigned long a, unsigned long b)
{
	return time_after(a, b) ? a : b;
}

static unsigned long earlier(unsigned long a, unsigned long b)
{
	return time_before(a, b) ? a : b;
}

static void send_beat(struct dsm_peer *peer)
{
	struct dsm_qp *c = &peer->qp[DSM_VC_C];

	if (c->tx_seq - peer->beats_acked < DSM_BEATS_UNACKED)
		dsm_send_ctl(peer, peer->beat_tx, c->rx_seq);
}

static void declare_silent(struct dsm_peer *peer, unsigned long now)
{
	const struct dsm_resume *r = &peer->resume;

	snprintf(peer->reason_text, sizeof(peer->reason_text), "no heartbeat for %u ms%s%s",
		 jiffies_to_msecs(now - READ_ONCE(peer->last_rx)), r->broken ? ", after: " : "", r->broken ? r->reason : "");
	dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -EHOSTDOWN, peer->reason_text);
}

/* soft-RoCE has been seen to forget what it has to send again (Documentation/testing.rst); so for messages, below. */
static void look_at_transfers(struct dsm_peer *peer, unsigned long now, unsigned long bound)
{
	unsigned long end = later(peer->xfer_moved + STILL_BOUNDS * bound, peer->net->judge_after);

	if (peer->xfer_posted.head && !peer->resume.broken && time_after_eq(now, end))
		dsm_resume_break_locked(peer, DSM_WHY_CAUSE, -ETIMEDOUT, "transfers stand still");
}

/*
 * Of Q or P, with a peer that may be heard over others. Unless a completion is due nobody would be told of an end, so
 * one is asked for when nothing has gone for a while. One bound is less than a queue pair may take to give up by itself:
 * to make connections anew that would have got over it costs little, to wait for ones that never will, much. What is
 * completed, and only not looked at, does not stand still.
 */
static void look_at_messages(struct dsm_qp *qp, unsigned long now, unsigned long bound)
{
	struct dsm_peer *peer = qp->peer;
	bool heard = time_before(now, READ_ONCE(peer->last_rx) + bound / 2);
	unsigned long end = later(qp->moved + bound, peer->net->judge_after);

	if (peer->state != DSM_PEER_UP || peer->resume.broken || !qp->sq_used)
		return;
	if (dsm_sq_awaits(qp)) {
		if (heard && time_after_eq(now, end) && !READ_ONCE(peer->tx_cq.fired))
			dsm_resume_break_locked(peer, DSM_WHY_CAUSE, -ETIMEDOUT, "messages stand still");
	} else if (time_after_eq(now, qp->moved + bound / DSM_BEATS_PER_TIMEOUT)) {
		dsm_sq_flush(qp);
	}
}

/* Returns when this peer wants to be looked at again, at the latest. */
static unsigned long look_at(struct dsm_peer *peer, unsigned long now, bool beat)
{
	struct dsm_net *net = peer->net;
	unsigned long bound = msecs_to_jiffies(net->cfg.peer_timeout_ms);
	unsigned long due = net->beat_next;

	lockdep_assert_held(&peer->lock);
	if (peer->state == DSM_PEER_UP)
		look_at_transfers(peer, now, bound);
	if (dsm_peer_is_self(peer)) {
		/* Once it is not up its id may go at any time. */
		if (peer->state != DSM_PEER_UP)
			return due;
		/* What waited for the network device; a node that leaves cannot wait until somebody sets it up. */
		if (READ_ONCE(net->stopping) && !dsm_link_is_up(peer))
			dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ENETDOWN, "the network device is down");
		dsm_xfer_push(peer);
		return due;
	}
	if (peer->state == DSM_PEER_UP) {
		unsigned long end = later(READ_ONCE(peer->last_rx) + bound, net->judge_after);

		if (time_after_eq(now, end))
			declare_silent(peer, now);
		else
			due = earlier(due, end);
		if (beat && peer->state == DSM_PEER_UP) {
			look_at_messages(&peer->qp[DSM_VC_Q], now, bound);
			look_at_messages(&peer->qp[DSM_VC_P], now, bound);
		}
		if (beat && peer->state == DSM_PEER_UP) {
			dsm_send_beat(peer);
			send_beat(peer);
		}
	} else if (peer->state == DSM_PEER_SETUP && !peer->active &&
		   time_after_eq(now, peer->deadline)) {
		dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ETIMEDOUT, "connection not completed");
	}
	return due;
}

static void beat_work(struct work_struct *work)
{
	struct dsm_net *net = container_of(to_delayed_work(work), struct dsm_net, beat_work);
	unsigned long interval = msecs_to_jiffies(net->cfg.peer_timeout_ms / DSM_BEATS_PER_TIMEOUT);
	unsigned long now = jiffies, due;
	struct dsm_peer *peer;
	bool beat;

	/*
	 * This machine stood still, or had no time for us. What the peers sent
	 * meanwhile is not received yet: their silence is our own.
	 */
	if (time_after(now, net->beat_due + interval))
		net->judge_after = now + GRACE_BEATS * interval;
	beat = time_after_eq(now, net->beat_next);
	if (beat)
		net->beat_next = now + interval;
	due = net->beat_next;

	spin_lock(&net->lock);
	list_for_each_entry(peer, &net->peers, link) {
		spin_lock_bh(&peer->lock);
		due = earlier(due, look_at(peer, now, beat));
		spin_unlock_bh(&peer->lock);
	}
	spin_unlock(&net->lock);

	net->beat_due = due;
	now = jiffies;
	queue_delayed_work(net->beat_wq, &net->beat_work, time_after(due, now) ? due - now : 0);
}

/**
 * dsm_beat_start() - start the watchdog
 * @net: transport
 *
 * Context: process.
 */
void dsm_beat_start(struct dsm_net *net)
{
	INIT_DELAYED_WORK(&net->beat_work, beat_work);
	net->beat_due = jiffies;
	net->beat_next = jiffies;
	net->judge_after = jiffies;
	queue_delayed_work(net->beat_wq, &net->beat_work, 0);
}

/**
 * dsm_beat_stop() - stop the watchdog
 * @net: transport
 *
 * Context: process, sleeps.
 */
void dsm_beat_stop(struct dsm_net *net)
{
	cancel_delayed_work_sync(&net->beat_work);
}
