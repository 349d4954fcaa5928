// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Which control requests a member takes, and from whom. Decides by numbers alone; keeps no state
 * and carries nothing out.
 */
#include "admit.h"

/**
 * dsm_control_decides() - is it for the coordinator to decide?
 * @op: enum dsm_control_op
 *
 * Context: any.
 * Return: true for joins, and for what makes, removes or opens regions.
 */
bool dsm_control_decides(u8 op)
{
	return op == DSM_CONTROL_JOIN_BEGIN || op == DSM_CONTROL_JOIN_END ||
	       dsm_control_about_regions(op);
}

/**
 * dsm_control_about_regions() - does the decision change what regions there are, or who uses them?
 * @op: enum dsm_control_op
 *
 * Such a decision waits while a node joins, which would miss it: it has taken over some regions,
 * and is in no list of members yet.
 *
 * Context: any.
 * Return: true if so.
 */
bool dsm_control_about_regions(u8 op)
{
	return op == DSM_CONTROL_CREATE || op == DSM_CONTROL_DESTROY || op == DSM_CONTROL_ACTIVATE;
}

/* A decision of the coordinator that every member carries out. */
static bool is_applied(u8 op, u64 list)
{
	switch (op) {
	case DSM_CONTROL_APPLY_CREATE:
	case DSM_CONTROL_APPLY_MEMBERS:
	case DSM_CONTROL_PREPARE_DESTROY:
	case DSM_CONTROL_APPLY_DESTROY:
	case DSM_CONTROL_CANCEL_DESTROY:
		return true;
	case DSM_CONTROL_MEMBERS:
		return list;	/* without a list it only asks */
	default:
		return false;
	}
}

/**
 * dsm_control_limit() - so many requests of one node may be under way for this one to be taken
 * @op:   enum dsm_control_op
 * @list: the members it names
 *
 * What is decided has to be carried out however many questions the coordinator's users have under way; it comes one at a time.
 *
 * Context: any.
 * Return: a number.
 */
u32 dsm_control_limit(u8 op, u64 list)
{
	return DSM_CONTROL_PER_NODE + (is_applied(op, list) ? DSM_CONTROL_DECISIONS : 0);
}

static u16 lowest(u64 nodes)
{
	u16 n = 0;

	while (!(nodes & 1ull << n))
		n++;
	return n;
}

/**
 * dsm_control_admit() - may a peer have this member do something?
 * @op:      enum dsm_control_op
 * @list:    the message's members
 * @from:    who asks
 * @self:    this node
 * @joined:  members as known here, 0 while joining
 * @inviter: who coordinates while @joined is 0, or DSM_NO_NODE
 *
 * What this node asks of itself was decided here. A coordinator that has just taken over may be
 * refused by a member that has not noticed the loss of its predecessor: the caller tries again.
 *
 * Context: any.
 * Return: 0; -EAGAIN it is for the coordinator, which @from or this node is not.
 */
int dsm_control_admit(u8 op, u64 list, u16 from, u16 self, u64 joined, u16 inviter)
{
	u16 coordinator = joined ? lowest(joined) : DSM_NO_NODE;

	if (dsm_control_decides(op))
		return coordinator == self ? 0 : -EAGAIN;
	if (!is_applied(op, list) || from == self)
		return 0;
	if (!joined)
		coordinator = inviter;
	return from == coordinator ? 0 : -EAGAIN;
}
