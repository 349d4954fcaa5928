/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Which of two ways to wait is faster, by the times of waits that went the one or the other.
 */
#ifndef DSM_LEARN_H
#define DSM_LEARN_H

#include "core/types.h"

/*
 * So many waits of a kind in a row go the same way. A spin among waits that sleep says little: to the
 * scheduler a thread that has slept may come before the workers that make its answer.
 */
#define DSM_LEARN_BLOCK 8

/*
 * Of so many blocks one goes the way that is slower at present, in case that changed; of every two,
 * until so many comparisons more speak for one way than for the other.
 */
#define DSM_LEARN_PROBE_INTERVAL 16
#define DSM_LEARN_SURE 2
#define DSM_LEARN_MOST_SURE 4

/**
 * struct dsm_learn - what was learned of waits of one kind; all 0: nothing yet
 * @took_ns:     how long the waits of this block took; sorted when it ends
 * @spins:       the way of this block
 * @before_spun: the way of the block before
 * @before_ns:   its median; 0: there was none
 * @score:       comparisons that spoke for spinning, less the others, within DSM_LEARN_MOST_SURE
 * @blocks:      that have ended
 */
struct dsm_learn {
	u64 took_ns[DSM_LEARN_BLOCK];
	bool spins;
	bool before_spun;
	u64 before_ns;
	int score;
	u32 blocks;
};

void dsm_learn_block(struct dsm_learn *l);

/* Do comparisons speak for one of the ways? */
static inline bool dsm_learn_is_sure(int score)
{
	return score >= DSM_LEARN_SURE || score <= -DSM_LEARN_SURE;
}

#endif
