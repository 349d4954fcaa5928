/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/* Can the network device below a connection send? */
#ifndef DSM_NET_LINK_H
#define DSM_NET_LINK_H

#include "net.h"

/* How often the device is looked at while something waits for it. */
#define DSM_LINK_LOOK_MS 50

bool dsm_link_carries(const struct rdma_cm_id *id, bool here);
bool dsm_link_is_up(const struct dsm_peer *peer);
bool dsm_link_await(struct dsm_peer *peer, unsigned long end);

#endif
