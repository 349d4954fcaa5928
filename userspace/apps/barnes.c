// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Barnes: gravity among many bodies in three dimensions, by a tree.
 *
 * J. Barnes, P. Hut, "A hierarchical O(N log N) force-calculation algorithm", Nature 324, 1986; how
 * bodies are dealt out by cost: J. Singh et al., "Load balancing and data locality in adaptive
 * hierarchical N-body methods", JPDC 27, 1995 (costzones). In each step all move, build a tree of
 * the bodies (barnes_tree.c), cut it into zones of equal cost, and find the forces on the bodies of
 * their zone: a cell that is small for its distance acts as one body. Start: S. Aarseth, M. Henon,
 * R. Wielen, "A comparison of numerical methods for the study of star cluster dynamics", Astronomy
 * and Astrophysics 37, 1974 (Plummer's model).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "barnes.h"

#define OPEN 0.6	/* largest side of a cell, by its distance, that acts as one body; of few bodies that is too rough */
#define PARTS 100	/* of a step, for those who wait */
#define SOFT 0.025	/* softens the force between close bodies */
#define DT 0.0125
#define SAMPLES 64
#define CURVE_BITS 20
#define CURVE_REACH 64.0	/* of all bodies at the start */

struct barnes barnes;
long barnes_bodies;

static long steps, spatial;
static unsigned int workers;	/* of the shared run */

static struct start {
	uint64_t key;
	size_t i;		/* of the random numbers */
} *order;			/* of all bodies; each process has its own */

static const struct app_option options[] = {
	{ "bodies", "bodies", &barnes_bodies, 48, 1 << 24, { 1024, 16384, 131072 } },
	{ "steps", "time steps", &steps, 1, 100000, { 2, 10, 4 } },
	{ "spatial", "1: the tree is built by regions of space; 0: under locks", &spatial, 0, 1,
	  { 0, 1, 0 } },
	{ 0 }
};

static const char *check(unsigned int count)
{
	workers = count;
	return (long)count > barnes_bodies ? "there are more workers than bodies" : NULL;
}

static void on_sphere(uint64_t seed, size_t i, double radius, double v[3])
{
	double z = 2 * app_random(seed, 2 * i) - 1;
	double phi = 2 * M_PI * app_random(seed, 2 * i + 1);

	v[0] = radius * sqrt(1 - z * z) * cos(phi);
	v[1] = radius * sqrt(1 - z * z) * sin(phi);
	v[2] = radius * z;
}

static void start_at(size_t i, double *radius, double at[3])
{
	double inside = 0.999 * (1 - app_random(1, i));	/* the share of the mass further in */

	*radius = 1 / sqrt(pow(inside, -2.0 / 3) - 1);
	on_sphere(2, i, *radius, at);
}

/* Bits of the three coordinates in turn, as octants within octants are numbered. */
static uint64_t along_tree(size_t i)
{
	double radius, at[3];
	uint64_t key = 0;
	int bit, k;

	start_at(i, &radius, at);
	for (bit = CURVE_BITS - 1; bit >= 0; bit--)
		for (k = 0; k < 3; k++)
			key = 2 * key + ((uint64_t)((at[k] / CURVE_REACH + 1) / 2 * (1 << CURVE_BITS)) >> bit & 1);
	return key;
}

static int compare(const void *one, const void *other)
{
	const struct start *a = one, *b = other;

	return a->key < b->key ? -1 : a->key > b->key;
}

/* Bodies are numbered along the tree, so that one worker's have neighbouring numbers at first. */
static void number_bodies(void)
{
	size_t i;

	free(order);
	order = app_private((size_t)barnes_bodies, sizeof(*order));
	for (i = 0; i < (size_t)barnes_bodies; i++)
		order[i] = (struct start){ .key = along_tree(i), .i = i };
	qsort(order, (size_t)barnes_bodies, sizeof(*order), compare);
}

static void layout(void)
{
	barnes.body = app_alloc((size_t)barnes_bodies, sizeof(*barnes.body));
	barnes_tree_layout(workers);
}

/* The share of the escape velocity: x^2 (1 - x^2)^(7/2) is how many have it. */
static double speed_share(size_t i)
{
	uint64_t trial = 0;
	double x, y;

	do {
		x = app_random(4, 1000 * i + trial);
		y = 0.1 * app_random(5, 1000 * i + trial++);
	} while (y > x * x * pow(1 - x * x, 3.5));
	return x;
}

static void fill(const struct app_worker *w)
{
	size_t number, end, i;
	double radius;

	app_share((size_t)barnes_bodies, w->id, w->count, &number, &end);
	for (; number < end; number++) {
		struct body *b = &barnes.body[number];

		i = order[number].i;
		start_at(i, &radius, b->at);
		on_sphere(3, i, speed_share(i) * sqrt(2) * pow(1 + radius * radius, -0.25), b->speed);
		memset(b->pull, 0, sizeof(b->pull));
		b->mass = 1.0 / (double)barnes_bodies;
		b->cost = 1;
		app_progress(w, (long)number + 1, (long)end);
	}
}

/* What @mass adds to the pull on @b; @v leads there, @square is its length squared. */
static void pull(struct body *b, double mass, const double v[3], double square)
{
	double soft = square + SOFT * SOFT;
	double factor = mass / (soft * sqrt(soft));
	int k;

	for (k = 0; k < 3; k++)
		b->pull[k] += factor * v[k];
	b->cost++;
}

static double between(const double from[3], const double to[3], double v[3])
{
	int k;

	for (k = 0; k < 3; k++)
		v[k] = to[k] - from[k];
	return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

static void walk(struct body *b, int child, double side)
{
	double v[3], square;
	int octant;

	if (child == BARNES_NONE)
		return;
	if (BARNES_IS_BODY(child)) {
		const struct body *other = &barnes.body[BARNES_BODY(child)];

		if (other != b) {
			square = between(b->at, other->at, v);
			pull(b, other->mass, v, square);
		}
		return;
	}
	square = between(b->at, barnes.cell[child].at, v);
	if (square * OPEN * OPEN > side * side) {
		pull(b, barnes.cell[child].mass, v, square);
		return;
	}
	for (octant = 0; octant < 8; octant++)
		walk(b, barnes.cell[child].child[octant], side / 2);
}

static void find_pull(struct body *b, double reach)
{
	int octant;

	memset(b->pull, 0, sizeof(b->pull));
	b->cost = 0;
	for (octant = 0; octant < 8; octant++)
		walk(b, barnes.cell[0].child[octant], reach);
}

/* Bodies below a cell whose share of the costs, in the order of the tree, begins in [first, end). */
static void take_zone(struct builder *b, int number, long *before, long first, long end)
{
	const struct cell *cell = &barnes.cell[number];
	int octant;

	for (octant = 0; octant < 8; octant++) {
		int child = cell->child[octant];

		if (child == BARNES_NONE)
			continue;
		if (BARNES_IS_BODY(child)) {
			if (*before >= first && *before < end)
				b->own[b->owned++] = (unsigned int)BARNES_BODY(child);
			*before += barnes.body[BARNES_BODY(child)].cost;
		} else if (*before + barnes.cell[child].cost <= first || *before >= end) {
			*before += barnes.cell[child].cost;
		} else {
			take_zone(b, child, before, first, end);
		}
	}
}

static void take_bodies(struct builder *b)
{
	size_t first, end;
	long before = 0;

	app_share((size_t)barnes.cell[0].cost, b->w->id, b->w->count, &first, &end);
	b->owned = 0;
	take_zone(b, 0, &before, (long)first, (long)end);
}

/* Speeds belong to the middle of a step. */
static void move(struct builder *b)
{
	size_t i;
	int k;

	for (i = 0; i < b->owned; i++) {
		struct body *body = &barnes.body[b->own[i]];

		for (k = 0; k < 3; k++) {
			body->speed[k] += DT * body->pull[k];
			body->at[k] += DT * body->speed[k];
		}
	}
}

static void work(const struct app_worker *w)
{
	struct builder b;
	size_t i, first, end;
	long step;

	barnes_builder_init(&b, w, w->alone ? 1 : workers);
	app_share((size_t)barnes_bodies, w->id, w->count, &first, &end);
	for (i = first; i < end; i++)
		b.own[i - first] = (unsigned int)i;
	b.owned = end - first;
	for (step = 0; step < steps; step++) {
		move(&b);
		barnes_tree_build(&b, spatial);
		barnes_tree_hint(&b, workers);
		take_bodies(&b);
		app_barrier(w);	/* costs are read by all until here */
		for (i = 0; i < b.owned; i++) {
			find_pull(&barnes.body[b.own[i]], b.reach);
			app_progress(w, step * PARTS + (long)((PARTS * (i + 1) + b.owned - 1) / b.owned), steps * PARTS);
		}
		app_barrier(w);
	}
	barnes_builder_end(&b);
}

/* The root of the last tree has the mass of all bodies and their centre: they have not moved since. */
static const char *look_at_root(void)
{
	const struct cell *root = &barnes.cell[0];
	double centre[3] = { 0 };
	size_t i;
	int k;

	if (!(fabs(root->mass - 1) < 1e-9))
		return app_text("the tree has mass %g", root->mass);
	for (i = 0; i < (size_t)barnes_bodies; i++)
		for (k = 0; k < 3; k++)
			centre[k] += barnes.body[i].mass * barnes.body[i].at[k];
	for (k = 0; k < 3; k++)
		if (!(fabs(centre[k] - root->at[k]) < 1e-11))
			return app_text("the centre of the tree is %g away from the bodies'", centre[k] - root->at[k]);
	return NULL;
}

/* Pulls on some bodies, summed up over all others. */
static const char *right(void)
{
	const char *wrong = look_at_root();
	double error = 0, whole = 0;
	size_t trial, i;
	int k;

	if (wrong)
		return wrong;

	for (trial = 0; trial < SAMPLES; trial++) {
		const struct body *b = &barnes.body[app_random_bits(6, trial) % (uint64_t)barnes_bodies];
		struct body direct = *b;

		memset(direct.pull, 0, sizeof(direct.pull));
		for (i = 0; i < (size_t)barnes_bodies; i++) {
			double v[3], square = between(b->at, barnes.body[i].at, v);

			if (&barnes.body[i] != b)
				pull(&direct, barnes.body[i].mass, v, square);
		}
		for (k = 0; k < 3; k++) {
			error += (direct.pull[k] - b->pull[k]) * (direct.pull[k] - b->pull[k]);
			whole += direct.pull[k] * direct.pull[k];
		}
	}
	return error < 0.02 * 0.02 * whole ? NULL :
	       app_text("pulls are off by %g of their size", sqrt(error / whole));
}

static const char *same(const void *shared)
{
	const struct barnes *theirs = shared;
	size_t i;

	for (i = 0; i < (size_t)barnes_bodies; i++)
		if (memcmp(&theirs->body[i], &barnes.body[i], sizeof(struct body)))
			return app_text("body %zu differs", i);
	return NULL;
}

static uint64_t sum(void)
{
	return app_sum(0, barnes.body, (size_t)barnes_bodies * sizeof(struct body));
}

const struct app_program app_program = {
	.name = "barnes",
	.what = "Gravity among many bodies, by an octree.",
	.options = options,
	.state = &barnes,
	.state_bytes = sizeof(barnes),
	.agrees = "pulls within 2 % of direct sums, equal to the sequential run, bit for bit",
	.check = check,
	.layout = layout,
	.tables = number_bodies,
	.fill = fill,
	.work = work,
	.right = right,
	.same = same,
	.sum = sum,
};
