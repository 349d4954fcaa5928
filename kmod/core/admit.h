/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Which control requests a member takes, and from whom.
 */
#ifndef DSM_CORE_ADMIT_H
#define DSM_CORE_ADMIT_H

#include "wire.h"

/* Control requests of one peer that are kept at most: an open a thread, and some. */
#define DSM_CONTROL_PER_NODE 2048u
/* And what a coordinator has decided, beyond these. */
#define DSM_CONTROL_DECISIONS 16u
u32 dsm_control_limit(u8 op, u64 list);

/* Only the coordinator answers it; one at a time. */
bool dsm_control_decides(u8 op);
bool dsm_control_about_regions(u8 op);

/*
 * May @from have this member do @op? @list: the message's members; @joined: the members as known
 * here; @inviter: who coordinates while @joined is still 0. 0, or -EAGAIN: not the coordinator.
 */
int dsm_control_admit(u8 op, u64 list, u16 from, u16 self, u64 joined, u16 inviter);

#endif
