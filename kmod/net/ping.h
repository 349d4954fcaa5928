/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/* PINGs, for who receives messages. Never sends one. */
#ifndef DSM_NET_PING_H
#define DSM_NET_PING_H

#include "net.h"

const char *dsm_ping_recv(struct dsm_qp *qp, const u8 *msg, u32 len, u32 xid);
const char *dsm_ping_answered(struct dsm_qp *qp, const u8 *msg, u32 len, u32 xid);
void dsm_ping_received(struct dsm_peer *peer, u64 ns);

#endif
