/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Numbers of messages across a reconnection: what was here before, what has to go out again, and
 * what happens to the transfers that were under way. Decides only, knows no connection. Numbers
 * wrap.
 */
#ifndef DSM_CORE_SEQ_H
#define DSM_CORE_SEQ_H

#include "types.h"

enum dsm_seq_verdict { DSM_SEQ_NEXT, DSM_SEQ_AGAIN, DSM_SEQ_WRONG };

/**
 * dsm_seq_judge() - a message was received
 * @seq:    its number
 * @last:   number of the last one received
 * @told:   the last one received when the connection was made anew, as the sender was told
 * @window: messages that may have been under way then; 0: the connection is the first
 *
 * Return: the next message, one that was here before, or one that nobody honest sends.
 */
static inline enum dsm_seq_verdict dsm_seq_judge(u32 seq, u32 last, u32 told, u32 window)
{
	if (seq == last + 1)
		return DSM_SEQ_NEXT;
	return told - seq < window ? DSM_SEQ_AGAIN : DSM_SEQ_WRONG;
}

/**
 * dsm_seq_missing() - how many messages have to go out again
 * @sent:     number of the last one posted
 * @held:     posted ones that were not acknowledged, the last ones up to @sent
 * @received: number of the last one that the receiver has, as it says
 *
 * Return: the last so many of those held; -1 if the receiver lacks what it acknowledged or has
 *         what was never sent.
 */
static inline s64 dsm_seq_missing(u32 sent, u32 held, u32 received)
{
	u32 missing = sent - received;

	return missing <= held ? (s64)missing : -1;
}

enum dsm_seq_fate {
	DSM_SEQ_REPEAT,		/* do it again */
	DSM_SEQ_DONE,		/* it took place, and must not again */
	DSM_SEQ_UNKNOWN,	/* nobody knows, and it must not take place twice */
};

/**
 * dsm_seq_fate() - a transfer's completion was not seen before the connection broke
 * @op:       enum dsm_xfer_op
 * @overtook: a signal that was handed over after it, or itself, has reached the receiver
 *
 * Transfers take place in order, so a received signal tells that all before it did. Then a WRITE
 * must not be repeated: the receiver may have acted on the signal, and others may have written
 * there since. A READ only needs its bytes, which it gets later than asked, as any READ may.
 *
 * Return: what to do.
 */
static inline enum dsm_seq_fate dsm_seq_fate(u8 op, bool overtook)
{
	switch (op) {
	case DSM_XFER_READ:
		return DSM_SEQ_REPEAT;
	case DSM_XFER_WRITE:
	case DSM_XFER_SIGNAL:
		return overtook ? DSM_SEQ_DONE : DSM_SEQ_REPEAT;
	default:
		return DSM_SEQ_UNKNOWN;
	}
}

#endif
