/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Send queues of C, Q and P: messages, what is staged beside them, and what is known of both after a break.
 */
#ifndef DSM_NET_SQ_H
#define DSM_NET_SQ_H

#include "net.h"

/* The entry @n before entry @i of a connection's ring. */
static inline u32 dsm_sq_before(const struct dsm_qp *qp, u32 i, u32 n)
{
	return i >= n ? i - n : i + qp->sq_room - n;
}

/* Is a completion due, be it of success? If not, what was posted last may be lost without a word. */
static inline bool dsm_sq_awaits(const struct dsm_qp *qp)
{
	return qp->sq_used > qp->unsignalled;
}

/* Does somebody wait until all that was posted is done, so that a completion has to follow it? */
static inline bool dsm_sq_is_awaited(const struct dsm_peer *peer)
{
	return !peer->resume.broken &&
	       (peer->leaving || (peer->state == DSM_PEER_UP && atomic_read(&peer->net->starved)));
}

/* sq.c */
int dsm_sq_alloc(struct dsm_qp *qp);
void dsm_sq_free(struct dsm_qp *qp);
bool dsm_sq_has_room(const struct dsm_qp *qp);
bool dsm_sq_stage(struct dsm_qp *qp, struct dsm_net_tx *tx);
bool dsm_sq_joins(struct dsm_qp *qp, const struct dsm_net_tx *tx);
bool dsm_sq_join(struct dsm_qp *qp, struct dsm_net_tx *tx);
void dsm_sq_post(struct dsm_qp *qp);
void dsm_sq_flush(struct dsm_qp *qp);
void dsm_sq_purge(struct dsm_qp *qp);
void dsm_sq_stage_inv(struct dsm_qp *qp, u32 rkey);
bool dsm_sq_stage_bulk(struct dsm_qp *qp, struct dsm_msgbuf *list);
struct dsm_sq_entry *dsm_sq_retire(struct dsm_qp *qp, struct dsm_msgbuf **list);
void dsm_sq_give_back(struct dsm_msgbuf *list);

/* again.c */
u32 dsm_sq_messages(const struct dsm_qp *qp);
void dsm_sq_take_sinks(struct dsm_qp *qp, struct list_head *doubtful);
void dsm_sq_again(struct dsm_qp *qp);

#endif
