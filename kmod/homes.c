// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The pages that this node homes, as a whole: to be claimed anew. Never says where one goes.
 */
#include "core/move.h"
#include "shell.h"

#define RUNS 64u

/**
 * dsm_node_unclaim() - the pages homed here go to the next nodes that touch them
 * @r: region
 *
 * Threads of this node claim a page by touching it too, so what is mapped of them is unmapped.
 *
 * Context: process; sleeps, not for other nodes.
 * Return: 0, -EOPNOTSUPP homes of this region do not move.
 */
int dsm_node_unclaim(struct dsm_region *r)
{
	struct dsm_run run[RUNS];
	struct dsm_page *p;
	unsigned long idx;
	u32 n = 0;
	bool mine;

	if (!dsm_policy_may_move(&r->space->policy))
		return -EOPNOTSUPP;
	xa_for_each(&r->table, idx, p) {
		spin_lock(&dsm_node.lock);
		mine = dsm_move_unclaim(dsm_node.engine, p);
		spin_unlock(&dsm_node.lock);
		if (!mine)
			continue;
		if (n && run[n - 1].first + run[n - 1].count == p->idx) {
			run[n - 1].count++;
			continue;
		}
		if (n == RUNS) {
			dsm_mm_zap(r->mm, run, n, dsm_shell_frame_of, r);
			n = 0;
		}
		run[n++] = (struct dsm_run){ .first = p->idx, .count = 1 };
	}
	if (n)
		dsm_mm_zap(r->mm, run, n, dsm_shell_frame_of, r);
	return 0;
}
