/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Limits of the mechanisms by which messages go, and their measurement.
 */
#ifndef DSM_NET_TUNE_H
#define DSM_NET_TUNE_H

#include "net.h"

u32 dsm_tune(enum dsm_net_tunable which);
void dsm_tune_start(struct dsm_peer *peer);
void dsm_tune_stop(struct dsm_net *net);
void dsm_tune_work(struct work_struct *work);

#endif
