/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/* Runs and searches; see explore.c. */
#ifndef DSM_MODEL_EXPLORE_H
#define DSM_MODEL_EXPLORE_H

#include "model.h"

#define PRIORITIES 512
#define CHANGES 4

/**
 * struct record - one run
 * @length:  steps
 * @choice:  number of the action chosen
 * @n:       actions there were
 * @n_env:   things that could have gone wrong, numbered behind the actions
 * @ended:   until nothing could happen any more
 */
struct record {
	u32 length;
	bool ended;
	u16 choice[MAX_STEPS];
	u16 n[MAX_STEPS];
	u16 n_env[MAX_STEPS];
};

enum chooser_kind { CHOOSE_FIRST, CHOOSE_ANY, CHOOSE_STICKY, CHOOSE_PRIORITY };

struct chooser {
	u8 kind;
	const u16 *fixed;
	u32 n_fixed;
	u64 random;
	u32 last;
	u32 priority[PRIORITIES];
	u32 change[CHANGES];
};

struct search {
	u64 runs;
	u64 steps;
	bool complete;
	bool (*expired)(void);
};

void explore_init(void);
void states_reset(void);
void states_see(void);
u64 states_seen(void);
u32 random_below(u64 *state, u32 n);
void chooser_random(struct chooser *c, u64 seed, u32 length);
bool chooser_is_fair(const struct chooser *c);
bool run(const struct litmus *l, const struct setting *s, struct chooser *c, struct record *rec);
bool replay(const struct litmus *l, const struct setting *s, const struct record *rec, struct record *out);
void simplify(const struct litmus *l, const struct setting *s, struct record *rec);
bool search(const struct litmus *l, const struct setting *s, u32 bound, struct search *search, struct record *rec);

#endif
