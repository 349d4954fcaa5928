/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * merge=live: a page that a notice names while it is dirty is merged by the acquire, and threads of the node go on
 * using it meanwhile. Its state is WRF, as when a fault has it merged; its entries stay.
 */
#ifndef DSM_CORE_LIVE_H
#define DSM_CORE_LIVE_H

#include "engine.h"

/*
 * A notice took the right to @p. True: its bytes are asked for, and it stays mapped; who acquires waits as long as
 * dsm_page_busy(), and then unmaps it unless dsm_live_merged(). False: unmap it.
 */
bool dsm_live_merge(struct dsm_engine *e, struct dsm_page *p, struct dsm_actions *acts);
bool dsm_live_merged(const struct dsm_page *p);

#endif
