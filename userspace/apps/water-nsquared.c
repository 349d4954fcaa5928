// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Water-nsquared: molecular dynamics of water, every pair of molecules looked at.
 *
 * S. Woo et al., "The SPLASH-2 programs", ISCA 1995, on Water-Nsquared: a worker owns a block of
 * molecules and pairs each with the half of all others that follows it. It sums forces in private
 * memory and then adds them to the shared molecules, one lock for each or for some, beginning with
 * its own block.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "water.h"

#define LOCK_ENERGY 0
#define LOCK_GROUP(i) (1 + (i))

#define PAIRS_UNTOLD 4096	/* about so many meet between two looks whether it is time to tell how far it is */

static long molecules, steps, group;

static struct state {
	struct water_box box;
	struct waters m;
	double *energy;		/* before each step, and after the last */
} s;

static const struct app_option options[] = {
	{ "molecules", "molecules", &molecules, 27, 1000000, { 125, 2197, 9261 } },
	{ "steps", "time steps", &steps, 1, 1000, { 3, 6, 5 } },
	{ "group", "molecules that have a lock in common", &group, 1, 1000000, { 2, 64, 1 } },
	{ 0 }
};

struct worker {
	const struct app_worker *w;
	size_t first, end;
	double (*force)[WATER_ATOMS][3];	/* sums of this worker, by molecule */
};

static void layout(void)
{
	water_box_init(&s.box, (size_t)molecules, 0, 0);
	water_layout(&s.m, s.box.count);
	s.energy = app_alloc((size_t)steps + 1, sizeof(*s.energy));
}

static void fill(const struct app_worker *w)
{
	size_t i, end;

	app_share(s.box.count, w->id, w->count, &i, &end);
	for (; i < end; i++) {
		water_init(&s.box, i, &s.m);
		app_progress(w, (long)i + 1, (long)end);
	}
	if (!w->id)
		memset(s.energy, 0, ((size_t)steps + 1) * sizeof(*s.energy));
}

/* The molecules that follow are wanted after one's own. */
static void hint_following(const struct worker *own)
{
	const size_t n = s.box.count, from = own->end % n, count = n / 2;
	const size_t rest = n - from;

	if (own->w->count == 1)
		return;
	app_hint(own->w, s.m.place + from, (count < rest ? count : rest) * sizeof(*s.m.place));
	if (count > rest)
		app_hint(own->w, s.m.place, (count - rest) * sizeof(*s.m.place));
}

/*
 * @done of this worker's molecules have met all others, in step @step. To ask what time it is takes as long as a
 * dozen pairs do.
 */
static void tell_progress(const struct worker *own, long step, size_t done)
{
	const size_t count = own->end - own->first, often = PAIRS_UNTOLD / (s.box.count / 2) + 1;

	if (done % often == 0 || done == count)
		app_progress(own->w, step * (long)count + (long)done, (steps + 1) * (long)count);
}

/* Nearly all of a step's time. */
static double sum_pairs(struct worker *own, long step)
{
	const size_t n = s.box.count;
	double energy = 0;
	size_t i, k;

	hint_following(own);
	memset(own->force, 0, n * sizeof(*own->force));
	for (i = own->first; i < own->end; i++) {
		/* With an even number, the opposite molecule is met from the lower half only. */
		size_t half = n % 2 ? n / 2 : n / 2 - (i >= n / 2);

		for (k = 1; k <= half; k++) {
			size_t j = (i + k) % n;

			energy += water_meet(&s.box, s.m.place[i], s.m.place[j], own->force[i], own->force[j]);
		}
		energy += water_bend(s.m.place[i], own->force[i]);
		tell_progress(own, step, i + 1 - own->first);
	}
	return energy;
}

static void add_forces(struct worker *own)
{
	const size_t groups = (s.box.count + (size_t)group - 1) / (size_t)group;
	size_t k, i, number, end;

	for (k = 0; k < groups; k++) {
		number = (own->first / (size_t)group + k) % groups;
		i = number * (size_t)group;
		end = i + (size_t)group < s.box.count ? i + (size_t)group : s.box.count;
		app_lock(own->w, LOCK_GROUP(number));
		for (; i < end; i++)
			water_add(s.m.force[i], own->force[i]);
		app_unlock(own->w, LOCK_GROUP(number));
	}
}

static void add_energy(struct worker *own, long step, double potential)
{
	size_t i;

	for (i = own->first; i < own->end; i++)
		potential += water_kinetic(&s.box, &s.m, i);
	app_lock(own->w, LOCK_ENERGY);
	s.energy[step] += potential;
	app_unlock(own->w, LOCK_ENERGY);
}

/* Forces on all molecules where they are now. */
static void find_forces(struct worker *own, long step)
{
	double potential = sum_pairs(own, step);

	add_forces(own);
	app_barrier(own->w);
	add_energy(own, step, potential);
}

static void work(const struct app_worker *w)
{
	struct worker own = { .w = w };
	long step;
	size_t i;

	app_share(s.box.count, w->id, w->count, &own.first, &own.end);
	own.force = app_private(s.box.count, sizeof(*own.force));
	find_forces(&own, 0);
	for (i = own.first; i < own.end; i++)
		water_start(&s.box, &s.m, i);
	for (step = 1; step <= steps; step++) {
		for (i = own.first; i < own.end; i++)
			water_predict(&s.m, i);
		app_barrier(w);
		find_forces(&own, step);
		for (i = own.first; i < own.end; i++)
			water_correct(&s.box, &s.m, i);
	}
	free(own.force);
}

static const char *right(void)
{
	const double energy[2] = { s.energy[0], s.energy[steps] };

	return water_judge(&s.box, &s.m, energy);
}

static const char *same(const void *shared)
{
	return water_compare(&s.box, &s.m, &((const struct state *)shared)->m);
}

static double mean(double *within)
{
	return water_mean(&s.box, &s.m, within);
}

const struct app_program app_program = {
	.name = "water-nsquared",
	.what = "Molecular dynamics of water; all pairs of molecules.",
	.options = options,
	.state = &s,
	.state_bytes = sizeof(s),
	.agrees = "energy and momentum kept, atoms within 1e-9 Angstrom of the sequential run",
	.layout = layout,
	.fill = fill,
	.work = work,
	.right = right,
	.same = same,
	.mean = mean,
};
