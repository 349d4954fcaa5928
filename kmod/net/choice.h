/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Which of several ways to send is faster, by times of trials that took turns.
 */
#ifndef DSM_NET_CHOICE_H
#define DSM_NET_CHOICE_H

#include "../core/types.h"

#define DSM_CHOICE_TRIALS 5

/**
 * struct dsm_choice - a search for the limit up to which one way is used in the place of another
 * @steps:   values of the limit that are tried, one after the other
 * @n:       their number
 * @usual:   the default
 * @falling: they fall, and the default and those above it are taken for good until they are slower; otherwise
 *           they grow, and the default and those below it are. A falling search whose default is 0 takes none
 * @time:    times of both ways at a step, DSM_CHOICE_TRIALS each; 0 or what ends the search
 */
struct dsm_choice {
	const u32 *steps;
	u32 n;
	u32 usual;
	bool falling;
	int (*time)(void *ctx, u32 step, u64 *way, u64 *other);
};

int dsm_choice_search(const struct dsm_choice *c, void *ctx, u32 *best);
u32 dsm_choice_first(u64 times[][DSM_CHOICE_TRIALS], u32 n);

#endif
