/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What two nodes tell each other in rdma_cm's private data while they connect.
 * Pure encoding and checking; knows no connection.
 */
#ifndef DSM_NET_HELLO_H
#define DSM_NET_HELLO_H

#include <rdma/ib_cm.h>
#include "net.h"

/*
 * Magic and version come first in all three and never change place, so that
 * nodes of different versions can at least say so. rdma_cm leaves 56 bytes of
 * private data to a request.
 */
struct dsm_hello {
	__le32 magic;
	__le16 version;
	u8 vc;				/* enum dsm_vc */
	u8 reserved;
	__le32 session;			/* from the first answer on C; 0: there was none yet */
	__le32 addr;			/* IPv4, listening */
	__le16 port;
	__le16 node;			/* the connecting node, DSM_NO_NODE: assign me one */
	__le32 received;		/* number of the last message, B: signal; 0: none yet */
	__le64 cluster;			/* 0: not known yet */
};
static_assert(sizeof(struct dsm_hello) == 32);

struct dsm_answer {
	__le32 magic;
	__le16 version;
	__le16 reserved;
	__le32 session;
	__le16 node;			/* the answering node */
	__le16 assigned;		/* the connecting node */
	__le64 cluster;
	__le32 received;		/* as in the request */
	__le32 reserved2;
};
static_assert(sizeof(struct dsm_answer) == 32);

struct dsm_refusal {
	__le32 magic;
	__le16 version;
	__le16 code;			/* enum in hello.c */
};
static_assert(sizeof(struct dsm_refusal) == 8);

void dsm_hello_fill(struct dsm_hello *hello, const struct dsm_qp *qp);
int dsm_hello_check(const void *data, u32 len, struct dsm_hello *hello, u16 *version);

void dsm_answer_fill(struct dsm_answer *answer, const struct dsm_qp *qp);
int dsm_answer_check(const void *data, u32 len, struct dsm_peer *peer, struct dsm_answer *answer);
void dsm_answer_take(const struct dsm_answer *answer, struct dsm_peer *peer);

void dsm_refusal_fill(struct dsm_refusal *refusal, int err);
int dsm_refusal_read(const void *data, u32 len, u16 *version);
/*
 * Without a reason of dsm's: the far end's rdma_cm refused by itself, since there was no route back for a moment, or its
 * answer could not be sent. Only if nobody listens there would the next request end the same way.
 */
static inline bool dsm_refusal_is_bare(int err, const struct rdma_cm_event *event)
{
	return err == -ECONNREFUSED && event->status != IB_CM_REJ_INVALID_SERVICE_ID;
}

#endif
