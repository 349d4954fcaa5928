// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Flow control: counts which messages each side may send, so that a receive
 * slot is always posted for one that arrives. Never posts or sends itself.
 *
 * One credit is one receive slot of a class. Counts are cumulative and 16 bits
 * wide, so a header that repeats an old count does no harm. Every header
 * carries the counts of all classes, but a receiver believes a class's count
 * only on one connection: requests and forwards on P, where their replies
 * travel, and replies on Q. Two connections have no common order, and an old
 * count that came late by half the number range would look new.
 *
 * The last credit for requests and the last one for replies may be used only
 * by a CREDIT, which returns many the other way: both sides cannot run dry
 * with credits owed to each other, since whoever sent last gave the other some.
 * That holds also while a side withholds the credits of requests, since too many
 * answers wait already: of a CREDIT it withholds none.
 */
#include "credit.h"

/**
 * dsm_credit_carrier() - the connection whose headers return credits of a class
 * @class: REQ, FWD or RSP, or DSM_CREDIT_SIGNAL
 *
 * Context: any.
 * Return: Q or P.
 */
enum dsm_vc dsm_credit_carrier(enum dsm_class class)
{
	return class == DSM_CLASS_RSP ? DSM_VC_Q : DSM_VC_P;
}

static u16 owed(const struct dsm_credits *c, enum dsm_class class)
{
	return c->of[class].granted - c->of[class].advertised;
}

/**
 * dsm_credit_init() - set a new peer's windows
 * @c: counts of a peer, zero
 *
 * Both sides know each other's number of slots from the protocol version.
 *
 * Context: any.
 */
void dsm_credit_init(struct dsm_credits *c)
{
	static const u16 slots[DSM_CREDIT_COUNT] = {
		[DSM_CLASS_REQ] = DSM_SLOTS_REQ,
		[DSM_CLASS_FWD] = DSM_SLOTS_FWD,
		[DSM_CLASS_RSP] = DSM_SLOTS_RSP,
		[DSM_CREDIT_SIGNAL] = DSM_SLOTS_SIGNAL,
	};
	int i;

	for (i = 0; i < DSM_CREDIT_COUNT; i++) {
		c->of[i].slots = slots[i];
		c->of[i].limit = slots[i];
		c->of[i].granted = slots[i];
		c->of[i].advertised = slots[i];
	}
}

static u16 left(const struct dsm_credits *c, enum dsm_class class)
{
	return c->of[class].limit - c->of[class].sent;
}

/**
 * dsm_credit_may_send() - is there a credit for one more message that is no CREDIT
 * @c:     counts of a peer
 * @class: REQ, FWD or RSP, or DSM_CREDIT_SIGNAL
 *
 * Context: peer lock held.
 * Return: true if a message of @class may be posted now.
 */
bool dsm_credit_may_send(const struct dsm_credits *c, enum dsm_class class)
{
	return left(c, class) > (class == DSM_CLASS_REQ || class == DSM_CLASS_RSP);
}

/**
 * dsm_credit_use() - count a message that is going to be posted
 * @c:     counts of a peer; dsm_credit_may_send() said yes
 * @class: REQ, FWD or RSP, or DSM_CREDIT_SIGNAL
 *
 * Context: peer lock held.
 */
void dsm_credit_use(struct dsm_credits *c, enum dsm_class class)
{
	c->of[class].sent++;
}

/**
 * dsm_credit_return_due() - should a CREDIT message go out
 * @c:    counts of a peer
 * @vc:   Q or P
 * @idle: nothing has been sent for a while: a quarter of the window is enough, else half of it
 *
 * A quarter and not one: the CREDIT itself takes a slot that is owed back, and
 * two idle nodes must fall silent. Of the few slots of a ring two are enough: a CREDIT takes none.
 *
 * Context: peer lock held.
 * Return: true if so.
 */
bool dsm_credit_return_due(const struct dsm_credits *c, enum dsm_vc vc, bool idle)
{
	u16 share = idle ? 4 : 2;
	int i;

	if (dsm_credit_carrier(DSM_CLASS_REQ) == vc && c->bulks >= DSM_BULK_SLOTS / 2)
		return true;
	for (i = 0; i < DSM_CREDIT_COUNT; i++)
		if (dsm_credit_carrier(i) == vc && owed(c, i) >= c->of[i].slots / share)
			return true;
	return false;
}

/**
 * dsm_credit_may_return() - may a CREDIT go out, and should it
 * @c:    counts of a peer
 * @vc:   Q, where it is a request, or P, where it is a reply
 * @idle: see dsm_credit_return_due()
 *
 * Context: peer lock held.
 * Return: true if so; then dsm_credit_use().
 */
bool dsm_credit_may_return(const struct dsm_credits *c, enum dsm_vc vc, bool idle)
{
	return dsm_credit_return_due(c, vc, idle) && left(c, vc == DSM_VC_Q ? DSM_CLASS_REQ : DSM_CLASS_RSP) > 0;
}

/**
 * dsm_credit_word() - the header's credit word, at the moment of posting
 * @c:    counts of a peer
 * @vc:   connection the header goes out on
 *
 * Context: peer lock held. What @vc returns counts as returned afterwards.
 * Return: the four counts, requests lowest.
 */
u64 dsm_credit_word(struct dsm_credits *c, enum dsm_vc vc)
{
	u64 word = 0;
	int i;

	for (i = 0; i < DSM_CREDIT_COUNT; i++) {
		word |= (u64)c->of[i].granted << (16 * i);
		if (dsm_credit_carrier(i) == vc)
			c->of[i].advertised = c->of[i].granted;
	}
	if (dsm_credit_carrier(DSM_CLASS_REQ) == vc)
		c->bulks = 0;
	return word;
}

/**
 * dsm_credit_brief() - credits that something without a header returns, at the moment of posting
 * @c: counts of a peer
 *
 * Context: peer lock held. What is returned counts as such afterwards.
 * Return: requests that the peer may send in addition, -1: a header on P is needed, to return others.
 */
int dsm_credit_brief(struct dsm_credits *c)
{
	u16 requests = owed(c, DSM_CLASS_REQ);

	if (owed(c, DSM_CLASS_FWD) || owed(c, DSM_CREDIT_SIGNAL) || requests > DSM_CREDIT_BRIEF_MAX)
		return -1;
	/* A slot of the ring is free when the request that took it has come back. */
	c->bulks = 0;
	c->of[DSM_CLASS_REQ].advertised = c->of[DSM_CLASS_REQ].granted;
	return requests;
}

/**
 * dsm_credit_brief_word() - the credit word of a header on P that says the same
 * @c:        counts of a peer
 * @requests: what the peer's dsm_credit_brief() returned
 *
 * Context: peer lock held.
 * Return: word for dsm_credit_take().
 */
u64 dsm_credit_brief_word(const struct dsm_credits *c, u32 requests)
{
	u64 word = 0;
	int i;

	for (i = 0; i < DSM_CREDIT_COUNT; i++)
		word |= (u64)(u16)(c->of[i].limit + (i == DSM_CLASS_REQ ? requests : 0)) << (16 * i);
	return word;
}

/**
 * dsm_credit_take() - read a received header's credit word
 * @c:    counts of a peer
 * @vc:   connection it came on
 * @word: the counts
 *
 * Context: peer lock held.
 * Return: false if a count goes back or beyond what we have sent plus the
 *         window: nobody honest sends that. Then nothing has changed for that class.
 */
bool dsm_credit_take(struct dsm_credits *c, enum dsm_vc vc, u64 word)
{
	int i;

	for (i = 0; i < DSM_CREDIT_COUNT; i++) {
		struct dsm_credit *one = &c->of[i];
		u16 limit = word >> (16 * i);

		if (dsm_credit_carrier(i) != vc)
			continue;
		if ((u16)(limit - one->limit) > (u16)(one->sent + one->slots - one->limit))
			return false;
		one->limit = limit;
	}
	return true;
}

/**
 * dsm_credit_receive() - count a received message
 * @c:     counts of a peer
 * @class: REQ, FWD or RSP, or DSM_CREDIT_SIGNAL
 *
 * Context: peer lock held.
 * Return: false if the peer had no credit for it.
 */
bool dsm_credit_receive(struct dsm_credits *c, enum dsm_class class)
{
	struct dsm_credit *one = &c->of[class];

	if (one->advertised == one->received)
		return false;
	one->received++;
	return true;
}

/**
 * dsm_credit_repost() - a slot was posted again: the peer may send one more
 * @c:     counts of a peer
 * @class: class of the message that was in it
 *
 * Context: peer lock held.
 */
void dsm_credit_repost(struct dsm_credits *c, enum dsm_class class)
{
	c->of[class].granted++;
}

/**
 * dsm_credit_receive_bulk() - count requests that came by the ring, with one credit for all
 * @c: counts of a peer
 *
 * Slots are used in turn and handled in order, so those that the peer was not told of are all
 * that may not be written again.
 *
 * Context: peer lock held.
 * Return: false if the peer had no credit, or was not told that the slot is free.
 */
bool dsm_credit_receive_bulk(struct dsm_credits *c)
{
	return c->bulks < DSM_BULK_SLOTS && dsm_credit_receive(c, DSM_CLASS_REQ);
}

/**
 * dsm_credit_repost_bulk() - a slot of the ring is free: the peer may send one more request
 * @c: counts of a peer
 *
 * Context: peer lock held.
 */
void dsm_credit_repost_bulk(struct dsm_credits *c)
{
	dsm_credit_repost(c, DSM_CLASS_REQ);
	c->bulks++;
}

/**
 * dsm_credit_withhold() - a slot was posted again, but the peer is to send fewer requests for now
 * @c: counts of a peer; what was in the slot was a request, and no CREDIT: of these there is always one that it may send
 *
 * Context: peer lock held.
 */
void dsm_credit_withhold(struct dsm_credits *c)
{
	c->held++;
}

/**
 * dsm_credit_release() - grant what was withheld
 * @c: counts of a peer
 *
 * Context: peer lock held.
 */
void dsm_credit_release(struct dsm_credits *c)
{
	c->of[DSM_CLASS_REQ].granted += c->held;
	c->held = 0;
}
