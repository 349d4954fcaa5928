/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Litmus tests on real nodes: what a round's threads share, and what a test is.
 */
#ifndef DSM_CLUSTER_LITMUS_H
#define DSM_CLUSTER_LITMUS_H

#include <sched.h>

#include "common.h"

#define LITMUS_THREADS 2		/* of each rank */
#define LITMUS_VALUES 8			/* that a round reports */
#define LITMUS_ROLES 6

/* Each forbids what those before it forbid, and more. */
enum consistency { HLRC, CASHMERE, SC };

/* A lock, and a byte that is only touched under it: whose turn it is. */
struct guarded {
	uint64_t key;
	volatile uint8_t *turn;
};

/**
 * struct round - what the threads of one round use; all of memory is 0 when it begins
 * @d:       region
 * @x, @y:   bytes on two pages
 * @p:       16 bytes, aligned, on a third page
 * @fresh:   page that no round has used before
 * @edge:    last 4 bytes of a page, followed by the first 4 of the next
 * @l, @m:   locks; their bytes lie on further pages
 * @flag:    key of a flag that is not set
 * @back:    key of another
 * @barrier: key of a barrier that only the test uses
 * @other:   key of another
 * @outside: word in /dev/dsm, a sequentially consistent region: orders nothing elsewhere
 * @saw:     what the threads report, LITMUS_VALUES words
 */
struct round {
	struct dsm *d;
	volatile uint8_t *x, *y, *p, *fresh, *edge;
	struct guarded l, m;
	uint64_t flag, back, barrier, other;
	volatile uint32_t *outside;
	volatile uint64_t *saw;
};

/**
 * struct litmus - a test
 * @name:   as in Documentation/memory-model.rst and the model
 * @values: how many of @saw its threads report
 * @looks:  how many more look() gives
 * @since:  consistency from which on bad() holds
 * @role:   which thread of which node (0: A, 1: B, 2: C; nodes take turns in being A) does what
 * @look:   what every node sees after the round's last barrier; all must see the same
 * @bad:    whether values (of threads, then of look()) are forbidden, from @since on
 */
struct litmus {
	const char *name;
	unsigned int values, looks;
	enum consistency since;
	struct {
		int node, thread;
		void (*play)(const struct round *r);
	} role[LITMUS_ROLES];
	void (*look)(const struct round *r, uint64_t *values);
	bool (*bad)(const uint64_t *values);
};

/* Each ends with a test without a name. */
extern const struct litmus litmus_sync[], litmus_races[];

#define A 0
#define B 1
#define C 2

/* ---- words of the programs ---- */

static inline void begin(const struct round *r, const struct guarded *g)
{
	lock(r->d, g->key);
}

static inline void end(const struct round *r, const struct guarded *g)
{
	unlock(r->d, g->key);
}

/* The critical section after the one that set the turn. */
static inline void begin_at(const struct round *r, const struct guarded *g, uint8_t turn)
{
	for (;;) {
		begin(r, g);
		if (*g->turn >= turn)
			return;
		end(r, g);
		sched_yield();
	}
}

/* One store in a critical section that gives the turn to the next. */
static inline void put(const struct round *r, const struct guarded *g, volatile uint8_t *at, uint8_t turn)
{
	begin(r, g);
	*at = 1;
	*g->turn = turn;
	end(r, g);
}

static inline uint64_t get_at(const struct round *r, const struct guarded *g, uint8_t turn,
		       const volatile uint8_t *at)
{
	uint64_t value;

	begin_at(r, g, turn);
	value = *at;
	end(r, g);
	return value;
}

static inline void tell_outside(const struct round *r)
{
	__atomic_store_n(r->outside, 1, __ATOMIC_SEQ_CST);
}

static inline void wait_outside(const struct round *r)
{
	while (!__atomic_load_n(r->outside, __ATOMIC_SEQ_CST))
		sched_yield();
}

/* ---- forbidden outcomes that several have ---- */

static inline bool first_is_0(const uint64_t *v)
{
	return !v[0];
}

static inline bool one_of_two_is_0(const uint64_t *v)
{
	return !v[0] || !v[1];
}

static inline bool one_of_three_is_0(const uint64_t *v)
{
	return !v[0] || !v[1] || !v[2];
}

#endif
