// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Water-spatial: molecular dynamics of water, molecules kept in cells.
 *
 * S. Woo et al., "The SPLASH-2 programs", ISCA 1995, on Water-Spatial; cells and lists: M. Allen,
 * D. Tildesley, "Computer Simulation of Liquids", 1987, section 5.3.2. A cell is as wide as
 * molecules see, so that only neighbours meet. A worker owns a block of cells and whatever
 * molecules are in them; each pair of cells is the business of the owner of one of both. A molecule
 * that leaves its cell is put into the list of the next one, under that cell's lock; --group cells
 * have one in common.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "water.h"

#define REACH 6.2
/*
 * Sides of cells go between molecules at most sizes, and through some at "tiny", which soon leave their cells. If they
 * went through many, owners would give their neighbours half of the molecules there at once.
 */
#define FIRST (1.0 / 3)
#define NONE (-1)
#define NEIGHBOURS 13	/* half of the cells around one */

#define LOCK_ENERGY 0
#define LOCK_CELL(i) (1 + (i) / (size_t)group)

static long molecules, steps, group;
static size_t side;		/* cells in each direction */

static struct state {
	struct water_box box;
	struct waters m;
	int *next;		/* in the same cell, by molecule */
	int *head;		/* by cell */
	double *energy;		/* before the first step and after each */
} s;

static const struct app_option options[] = {
	{ "molecules", "molecules", &molecules, 216, 1000000, { 343, 13824, 9261 } },
	{ "steps", "time steps", &steps, 1, 1000, { 3, 24, 5 } },
	{ "group", "cells that have a lock in common", &group, 1, 1000000, { 1, 48, 1 } },
	{ 0 }
};

struct worker {
	const struct app_worker *w;
	size_t first, end;			/* cells */
	double (*force)[WATER_ATOMS][3];	/* sums of this worker, by molecule */
	bool *touched;				/* cells for whose molecules there are sums */
};

static size_t cells(void)
{
	return side * side * side;
}

static const char *check(unsigned int workers)
{
	struct water_box box;

	water_box_init(&box, (size_t)molecules, REACH, FIRST);
	side = (size_t)(box.side / REACH);
	return workers > cells() ? "there are more workers than cells" : NULL;
}

static void layout(void)
{
	water_box_init(&s.box, (size_t)molecules, REACH, FIRST);
	water_layout(&s.m, s.box.count);
	s.next = app_alloc(s.box.count, sizeof(*s.next));
	s.head = app_alloc(cells(), sizeof(*s.head));
	s.energy = app_alloc((size_t)steps + 1, sizeof(*s.energy));
}

static size_t cell_of(double place[WATER_ATOMS][3])
{
	size_t at[3];
	int k;

	for (k = 0; k < 3; k++) {
		at[k] = (size_t)(place[0][k] / s.box.side * (double)side);
		if (at[k] >= side)
			at[k] = side - 1;
	}
	return (at[2] * side + at[1]) * side + at[0];
}

static void put(size_t cell, int molecule)
{
	s.next[molecule] = s.head[cell];
	s.head[cell] = molecule;
}

static void fill(const struct app_worker *w)
{
	size_t first, end, i, cell;
	double place[WATER_ATOMS][3];

	app_share(cells(), w->id, w->count, &first, &end);
	for (cell = first; cell < end; cell++)
		s.head[cell] = NONE;
	for (i = s.box.count; i-- > 0;) {
		water_place(&s.box, i, place);
		app_progress(w, (long)(s.box.count - i), (long)s.box.count);
		cell = cell_of(place);
		if (cell < first || cell >= end)
			continue;
		water_init(&s.box, i, &s.m);
		put(cell, (int)i);
	}
	if (!w->id)
		memset(s.energy, 0, ((size_t)steps + 1) * sizeof(*s.energy));
}

/* Number @k of one half of a cell's neighbours: what is here for one is not for the other. */
static size_t neighbour(size_t cell, int k)
{
	const int code = k + 14;	/* of 27, of which number 13 is the cell itself */
	const size_t by[3] = { (size_t)(code % 3), (size_t)(code / 3 % 3), (size_t)(code / 9) };
	size_t x = (cell % side + by[0] + side - 1) % side;
	size_t y = (cell / side % side + by[1] + side - 1) % side;
	size_t z = (cell / side / side + by[2] + side - 1) % side;

	return (z * side + y) * side + x;
}

static double meet_cells(struct worker *own, size_t cell, size_t other)
{
	double energy = 0;
	int i, j;

	for (i = s.head[cell]; i != NONE; i = s.next[i])
		for (j = cell == other ? s.next[i] : s.head[other]; j != NONE; j = s.next[j])
			energy += water_meet(&s.box, s.m.place[i], s.m.place[j], own->force[i], own->force[j]);
	own->touched[cell] = true;
	own->touched[other] = true;
	return energy;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Most molecules of the cells that follow have the numbers that they had at first, in the same order. */
static void hint_following(const struct worker *own)
{
	const size_t n = s.box.count, from = own->end % cells() * n / cells();
	const size_t count = least(n, (side * side + side + 1) * n / cells()), rest = n - from;

	if (own->w->count == 1)
		return;
	app_hint(own->w, s.m.place + from, least(count, rest) * sizeof(*s.m.place));
	if (count > rest)
		app_hint(own->w, s.m.place, (count - rest) * sizeof(*s.m.place));
}

static double sum_pairs(struct worker *own)
{
	double energy = 0;
	size_t cell;
	int i, k;

	hint_following(own);
	memset(own->force, 0, s.box.count * sizeof(*own->force));
	memset(own->touched, 0, cells() * sizeof(*own->touched));
	for (cell = own->first; cell < own->end; cell++) {
		for (i = s.head[cell]; i != NONE; i = s.next[i])
			energy += water_bend(s.m.place[i], own->force[i]);
		energy += meet_cells(own, cell, cell);
		for (k = 0; k < NEIGHBOURS; k++)
			energy += meet_cells(own, cell, neighbour(cell, k));
	}
	return energy;
}

/* Is there a sum for any of these cells? */
static bool is_touched(const struct worker *own, size_t cell, size_t end)
{
	for (; cell < end; cell++)
		if (own->touched[cell])
			return true;
	return false;
}

static void add_forces(struct worker *own)
{
	const size_t each = (size_t)group, groups = (cells() + each - 1) / each;
	size_t k, cell, end;
	int i;

	for (k = 0; k < groups; k++) {
		cell = (own->first / each + k) % groups * each;
		end = least(cell + each, cells());
		if (!is_touched(own, cell, end))
			continue;
		app_lock(own->w, LOCK_CELL(cell));
		for (; cell < end; cell++)
			for (i = own->touched[cell] ? s.head[cell] : NONE; i != NONE; i = s.next[i])
				water_add(s.m.force[i], own->force[i]);
		app_unlock(own->w, LOCK_CELL(end - 1));
	}
}

/* Forces on all molecules where they are now. */
static void find_forces(struct worker *own, long step)
{
	double energy = sum_pairs(own);
	size_t cell;
	int i;

	add_forces(own);
	app_barrier(own->w);
	for (cell = own->first; cell < own->end; cell++)
		for (i = s.head[cell]; i != NONE; i = s.next[i])
			energy += water_kinetic(&s.box, &s.m, (size_t)i);
	app_lock(own->w, LOCK_ENERGY);
	s.energy[step] += energy;
	app_unlock(own->w, LOCK_ENERGY);
}

/* Takes the molecules that left a cell out of its list; they stay linked among themselves. */
static int take_leavers(const struct app_worker *w, size_t cell)
{
	int leavers = NONE;
	int *link = &s.head[cell];

	app_lock(w, LOCK_CELL(cell));
	while (*link != NONE) {
		int i = *link;

		if (cell_of(s.m.place[i]) == cell) {
			link = &s.next[i];
			continue;
		}
		*link = s.next[i];
		s.next[i] = leavers;
		leavers = i;
	}
	app_unlock(w, LOCK_CELL(cell));
	return leavers;
}

static void move(struct worker *own)
{
	size_t cell, to;
	int i, next;

	for (cell = own->first; cell < own->end; cell++) {
		for (i = take_leavers(own->w, cell); i != NONE; i = next) {
			next = s.next[i];
			to = cell_of(s.m.place[i]);
			app_lock(own->w, LOCK_CELL(to));
			put(to, i);
			app_unlock(own->w, LOCK_CELL(to));
		}
	}
}

static void each_own(struct worker *own, void (*act)(struct waters *m, size_t i))
{
	size_t cell;
	int i;

	for (cell = own->first; cell < own->end; cell++)
		for (i = s.head[cell]; i != NONE; i = s.next[i])
			act(&s.m, (size_t)i);
}

static void start(struct waters *m, size_t i)
{
	water_start(&s.box, m, i);
}

static void correct(struct waters *m, size_t i)
{
	water_correct(&s.box, m, i);
}

static void work(const struct app_worker *w)
{
	struct worker own = { .w = w };
	long step;

	app_share(cells(), w->id, w->count, &own.first, &own.end);
	own.force = app_private(s.box.count, sizeof(*own.force));
	own.touched = app_private(cells(), sizeof(*own.touched));
	find_forces(&own, 0);
	each_own(&own, start);
	for (step = 1; step <= steps; step++) {
		each_own(&own, water_predict);
		app_barrier(w);
		find_forces(&own, step);
		each_own(&own, correct);
		app_barrier(w);
		move(&own);
		app_barrier(w);
		app_progress(w, step, steps);
	}
	free(own.touched);
	free(own.force);
}

static const char *right(void)
{
	const double energy[2] = { s.energy[0], s.energy[steps] };
	size_t cell, count = 0;
	int i;

	for (cell = 0; cell < cells(); cell++) {
		for (i = s.head[cell]; i != NONE && count <= s.box.count; i = s.next[i], count++)
			if (cell_of(s.m.place[i]) != cell)
				return app_text("molecule %d is in the wrong cell", i);
	}
	if (count != s.box.count)
		return app_text("%zu molecules are in cells", count);
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
	.name = "water-spatial",
	.what = "Molecular dynamics of water; molecules in cells.",
	.options = options,
	.state = &s,
	.state_bytes = sizeof(s),
	.agrees = "energy and momentum kept, atoms within 1e-9 Angstrom of the sequential run",
	.check = check,
	.layout = layout,
	.fill = fill,
	.work = work,
	.right = right,
	.same = same,
	.mean = mean,
};
