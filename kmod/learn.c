// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Decides whether waits of a kind spin or sleep. Measures nothing and waits for nothing: spin.c does.
 *
 * What is chosen follows from comparing a block's median with that of the block before, if they went
 * different ways: how long waits take changes with all that happens in the two machines by more than
 * the ways differ, and a few very long ones say nothing.
 */
#include "core/sort.h"
#include "learn.h"

/**
 * dsm_learn_block() - a block is full: compare it with the one before, and choose the way of the next
 * @l: what was learned; its times are those of all waits of the block
 *
 * Context: any; one caller at a time. @l->score and @l->spins are read meanwhile, by waits that begin and by whoever
 *          shows them: either value of a moment is good.
 */
void dsm_learn_block(struct dsm_learn *l)
{
	bool spun = l->spins, better;
	u64 median_ns;
	int score;

	dsm_sort(l->took_ns, DSM_LEARN_BLOCK);
	median_ns = (l->took_ns[DSM_LEARN_BLOCK / 2 - 1] + l->took_ns[DSM_LEARN_BLOCK / 2]) / 2;
	if (l->before_ns && l->before_spun != spun) {
		score = l->score + ((median_ns < l->before_ns) == spun ? 1 : -1);
		WRITE_ONCE(l->score, max(min(score, DSM_LEARN_MOST_SURE), -DSM_LEARN_MOST_SURE));
	}
	l->before_ns = median_ns;
	l->before_spun = spun;
	l->blocks++;
	better = l->score > 0;
	WRITE_ONCE(l->spins, better !=
		   (spun == better && l->blocks % (dsm_learn_is_sure(l->score) ? DSM_LEARN_PROBE_INTERVAL : 1) == 0));
}
