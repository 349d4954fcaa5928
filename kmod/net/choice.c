// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Decides between ways to send by measured times. Measures nothing and knows no peer.
 *
 * A default stays unless another value is better by a quarter, by the median and by the fastest
 * trial: what disturbs a trial only ever makes it longer, and in emulated guests medians of so few differ by
 * more than that without a cause. Whatever would change a default is looked at twice.
 */
#include "choice.h"
#include "../core/sort.h"

static bool is_longer(u64 a, u64 b)
{
	return a > b + b / 4;
}

/* Is the first one slower? Sorts both. */
static bool is_slower(u64 *a, u64 *b)
{
	dsm_sort(a, DSM_CHOICE_TRIALS);
	dsm_sort(b, DSM_CHOICE_TRIALS);
	return is_longer(a[0], b[0]) && is_longer(a[DSM_CHOICE_TRIALS / 2], b[DSM_CHOICE_TRIALS / 2]);
}

/* Is the way good at this step until it is found to be slower? */
static bool is_trusted(const struct dsm_choice *c, u32 step)
{
	return c->falling ? c->usual && step >= c->usual : step <= c->usual;
}

static int look(const struct dsm_choice *c, void *ctx, u32 step, bool *good)
{
	u64 way[DSM_CHOICE_TRIALS], other[DSM_CHOICE_TRIALS];
	int err = c->time(ctx, step, way, other);

	*good = !err && (is_trusted(c, step) ? !is_slower(way, other) : is_slower(other, way));
	return err;
}

/**
 * dsm_choice_search() - find a limit
 * @c:    what to look at
 * @ctx:  for @c->time
 * @best: out: the last step before the first one at which the way is no good; 0 if that is the first of all
 *
 * Context: as @c->time.
 * Return: 0, or what @c->time returned; @best holds what was found until then.
 */
int dsm_choice_search(const struct dsm_choice *c, void *ctx, u32 *best)
{
	bool good;
	u32 i;
	int err;

	*best = 0;
	for (i = 0; i < c->n; i++) {
		err = look(c, ctx, c->steps[i], &good);
		/* A disturbance may last for all trials, but hardly for those of a second look. */
		if (!err && good != is_trusted(c, c->steps[i]))
			err = look(c, ctx, c->steps[i], &good);
		if (err || !good)
			return err;
		*best = c->steps[i];
	}
	return 0;
}

/**
 * dsm_choice_first() - the first of several ways that is better than the usual one
 * @times: of each way, the usual one first; sorted afterwards
 * @n:     their number
 *
 * Context: any.
 * Return: its place, 0 if there is none.
 */
u32 dsm_choice_first(u64 times[][DSM_CHOICE_TRIALS], u32 n)
{
	u32 i;

	for (i = 1; i < n; i++)
		if (is_slower(times[0], times[i]))
			return i;
	return 0;
}
