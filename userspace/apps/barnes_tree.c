// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Building an octree by many workers, in two ways.
 *
 * Under locks: J. Singh et al., "Load balancing and data locality in adaptive hierarchical N-body
 * methods", JPDC 27, 1995. Each worker puts its bodies into one tree; who changes a cell holds its
 * lock. Nobody reads a child without that lock, but for children that it knows to be cells.
 *
 * Spatial: H. Shan, J. Singh, "Parallel tree building on a range of shared address space
 * multiprocessors", IPPS 1998. The top of the tree is cut into octants, and those with too many bodies
 * for one worker further, until none is; these pieces are dealt out by numbers of bodies. One worker
 * builds what is in a piece, without locks, whosever the bodies are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "barnes.h"

#define LOCKS 2048
#define TOP_LEVELS 3
#define TOP ((size_t)1 << 3 * TOP_LEVELS)	/* octants */
#define TOP_CELLS ((TOP - 1) / 7)		/* above them */
#define CUTS 448				/* of octants and their pieces, at most; see full() */
#define PIECES (TOP + 8 * CUTS)
#define WORKERS_FINE 64				/* of more workers, pieces are those of so many */
#define FEW 256

/* A cube of the tree. */
struct cube {
	double centre[3], half;
	int level;
};

/**
 * struct cut - space in pieces, the same for all workers
 * @pieces: their number; the first TOP are the octants of the top
 * @inner:  the first of the eight pieces into which one was cut; 0: it is whole
 * @bodies: how many are in it, those of all workers
 * @start:  the first of them in barnes.order; of pieces that are whole
 */
struct cut {
	size_t pieces;
	size_t inner[PIECES], bodies[PIECES], start[PIECES];
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Most bodies of a piece: half a worker's share. A level of the tree has at most 2 * WORKERS_FINE pieces with more. */
static size_t full(unsigned int workers)
{
	return (size_t)barnes_bodies / (2 * least(workers, WORKERS_FINE)) + FEW;
}

/* A worker gets less than its share and a piece more; a tree has fewer cells than bodies, but for small ones. */
static size_t cells_each(unsigned int workers)
{
	return larger(2 * (size_t)barnes_bodies / workers, 3 * full(workers)) + 1024;
}

void barnes_tree_layout(unsigned int workers)
{
	barnes.cell = app_alloc(workers, cells_each(workers) * sizeof(*barnes.cell));
	barnes.levels = app_alloc(workers, sizeof(*barnes.levels));
	barnes.reach = app_alloc(workers, sizeof(*barnes.reach));
	barnes.top = app_alloc(PIECES, sizeof(*barnes.top));
	barnes.count = app_alloc(workers, PIECES * sizeof(*barnes.count));
	barnes.order = app_alloc((size_t)barnes_bodies, sizeof(*barnes.order));
}

void barnes_builder_init(struct builder *b, const struct app_worker *w, unsigned int workers)
{
	size_t each = cells_each(workers);

	b->w = w;
	b->own = app_private((size_t)barnes_bodies, sizeof(*b->own));
	b->first = (int)(w->id * each);
	b->end = (int)((w->id == w->count - 1 ? workers : w->id + 1) * each);
	b->level = app_private((size_t)(b->end - b->first), sizeof(*b->level));
	b->known = app_private(workers * each, sizeof(*b->known));
}

void barnes_builder_end(struct builder *b)
{
	free(b->known);
	free(b->level);
	free(b->own);
}

/* Half the side of a cube around all bodies; the same whoever owns which. */
static void find_reach(struct builder *b)
{
	double reach = 0;
	unsigned int id;
	size_t i;
	int k;

	for (i = 0; i < b->owned; i++)
		for (k = 0; k < 3; k++)
			reach = fmax(reach, fabs(barnes.body[b->own[i]].at[k]));
	barnes.reach[b->w->id] = reach;
	app_barrier(b->w);
	for (id = 0; id < b->w->count; id++)
		reach = fmax(reach, barnes.reach[id]);
	b->reach = reach * 1.001;
}

static struct cube root_cube(const struct builder *b)
{
	return (struct cube){ .half = b->reach };
}

/* Goes down into the octant that a point is in; its number. */
static int enter(struct cube *c, const double at[3])
{
	int octant = 0;
	int k;

	c->half /= 2;
	if (++c->level >= BARNES_LEVELS)
		app_die("two bodies are at the same place");
	for (k = 0; k < 3; k++) {
		bool high = at[k] >= c->centre[k];

		octant = 2 * octant + high;
		c->centre[k] += high ? c->half : -c->half;
	}
	return octant;
}

static int new_cell(struct builder *b, int level)
{
	int number = b->first + b->used;

	if (number == b->end)
		app_die("there are more than %d cells", b->end - b->first);
	memset(barnes.cell[number].child, 0, sizeof(barnes.cell[number].child));
	memset(b->known[number], 0, sizeof(b->known[number]));
	b->level[b->used++] = (unsigned char)level;
	return number;
}

/* A cell of cube @c for two bodies, with as many cells inside as it takes to part them. */
static int part(struct builder *b, struct cube c, int one, int other)
{
	struct cube inside = c;
	int number = new_cell(b, c.level);
	int octant = enter(&inside, barnes.body[BARNES_BODY(one)].at);
	int second = enter(&c, barnes.body[BARNES_BODY(other)].at);

	if (octant != second) {
		barnes.cell[number].child[octant] = one;
		barnes.cell[number].child[second] = other;
	} else {
		barnes.cell[number].child[octant] = part(b, inside, one, other);
		b->known[number][octant] = barnes.cell[number].child[octant];
	}
	return number;
}

/*
 * Puts a body into the tree from a cell on. A child that is known to be a cell stays one. What else
 * it is may change until its cell is locked; then a cell that another worker put there is complete.
 */
static void insert(struct builder *b, unsigned int body, int number, struct cube c, bool locked)
{
	const double *at = barnes.body[body].at;

	for (;;) {
		int octant = enter(&c, at);
		int *known = &b->known[number][octant];
		int *child = &barnes.cell[number].child[octant];
		bool done = false;

		if (!*known) {
			if (locked)
				app_lock(b->w, (uint64_t)number % LOCKS);
			if (*child == BARNES_NONE) {
				*child = BARNES_BODY(body);
				done = true;
			} else if (BARNES_IS_BODY(*child)) {
				*child = part(b, c, *child, BARNES_BODY(body));
				done = true;
			}
			if (BARNES_IS_CELL(*child)) {
				*known = *child;
				if (!done)	/* made by another: nothing in it is known yet */
					memset(b->known[*child], 0, sizeof(b->known[*child]));
			}
			if (locked)
				app_unlock(b->w, (uint64_t)number % LOCKS);
		}
		if (done)
			return;
		number = *known;
	}
}

static void build_locked(struct builder *b)
{
	size_t i;

	if (!b->w->id)
		new_cell(b, 0);
	else
		memset(b->known[0], 0, sizeof(b->known[0]));
	app_barrier(b->w);
	for (i = 0; i < b->owned; i++)
		insert(b, b->own[i], 0, root_cube(b), true);
}

/* The octant of the top that a point is in, and its cube. */
static size_t enter_top(const struct builder *b, const double at[3], struct cube *c)
{
	size_t octant = 0;
	int i;

	*c = root_cube(b);
	for (i = 0; i < TOP_LEVELS; i++)
		octant = 8 * octant + (size_t)enter(c, at);
	return octant;
}

/* The piece that a point is in, and its cube. */
static size_t enter_piece(const struct builder *b, const struct cut *cut, const double at[3], struct cube *c)
{
	size_t piece = enter_top(b, at, c);

	while (cut->inner[piece])
		piece = cut->inner[piece] + (size_t)enter(c, at);
	return piece;
}

/* Of pieces from @first on. */
static void count_bodies(struct builder *b, struct cut *cut, size_t first)
{
	size_t *count = barnes.count + b->w->id * PIECES;
	size_t piece, i;
	unsigned int id;
	struct cube c;

	memset(count + first, 0, (cut->pieces - first) * sizeof(*count));
	for (i = 0; i < b->owned; i++) {
		piece = enter_piece(b, cut, barnes.body[b->own[i]].at, &c);
		if (piece >= first)
			count[piece]++;
	}
	app_barrier(b->w);
	for (piece = first; piece < cut->pieces; piece++) {
		cut->bodies[piece] = 0;
		for (id = 0; id < b->w->count; id++)
			cut->bodies[piece] += barnes.count[id * PIECES + piece];
	}
}

/* Cuts whatever is too full, until nothing is. */
static void make_cut(struct builder *b, struct cut *cut)
{
	size_t most = full(b->w->count);
	size_t piece, first = 0, end = 0;

	memset(cut->inner, 0, sizeof(cut->inner));
	for (cut->pieces = TOP; cut->pieces > end; first = end) {
		count_bodies(b, cut, first);
		end = cut->pieces;
		for (piece = first; piece < end && cut->pieces < PIECES; piece++) {
			if (cut->bodies[piece] <= most)
				continue;
			cut->inner[piece] = cut->pieces;
			cut->pieces += 8;
		}
	}
}

/* Places of a piece's bodies, or of its pieces', behind @sum others; how many there are up to there. */
static size_t order_piece(struct cut *cut, size_t piece, size_t sum)
{
	size_t i;

	if (cut->inner[piece]) {
		for (i = 0; i < 8; i++)
			sum = order_piece(cut, cut->inner[piece] + i, sum);
		return sum;
	}
	cut->start[piece] = sum;
	return sum + cut->bodies[piece];
}

/* Bodies of each piece together in barnes.order, pieces in the order of the tree. */
static void sort_by_piece(struct builder *b, struct cut *cut)
{
	size_t *place = app_private(PIECES, sizeof(*place));
	size_t piece, i, sum = 0;
	unsigned int id;
	struct cube c;

	for (piece = 0; piece < TOP; piece++)
		sum = order_piece(cut, piece, sum);
	for (piece = 0; piece < cut->pieces; piece++) {
		place[piece] = cut->start[piece];
		for (id = 0; id < b->w->id; id++)
			place[piece] += barnes.count[id * PIECES + piece];
	}
	for (i = 0; i < b->owned; i++) {
		piece = enter_piece(b, cut, barnes.body[b->own[i]].at, &c);
		barnes.order[place[piece]++] = b->own[i];
	}
	app_barrier(b->w);
	free(place);
}

/* What is in a piece that has bodies: a body, or a cell that this worker makes. */
static int build_piece(struct builder *b, const struct cut *cut, size_t piece)
{
	const unsigned int *bodies = barnes.order + cut->start[piece];
	struct cube c;
	size_t i;
	int number;

	if (cut->bodies[piece] == 1)
		return BARNES_BODY(bodies[0]);
	enter_piece(b, cut, barnes.body[bodies[0]].at, &c);
	number = new_cell(b, c.level);
	for (i = 0; i < cut->bodies[piece]; i++)
		insert(b, bodies[i], number, c, false);
	return number;
}

/* What stands for a piece in the tree; cells of those that were cut, for the first worker. */
static int join_piece(struct builder *b, const struct cut *cut, size_t piece, int level)
{
	int number, octant;

	if (!cut->inner[piece])
		return cut->bodies[piece] ? barnes.top[piece] : BARNES_NONE;
	number = new_cell(b, level);
	for (octant = 0; octant < 8; octant++)
		barnes.cell[number].child[octant] =
			join_piece(b, cut, cut->inner[piece] + (size_t)octant, level + 1);
	return number;
}

/* Likewise cells above @count octants of the top. */
static int join_top(struct builder *b, const struct cut *cut, size_t octants, size_t count, int level)
{
	int number, octant;

	if (count == 1)
		return join_piece(b, cut, octants, level);
	number = new_cell(b, level);
	for (octant = 0; octant < 8; octant++)
		barnes.cell[number].child[octant] =
			join_top(b, cut, octants + (size_t)octant * count / 8, count / 8, level + 1);
	return number;
}

static void build_spatial(struct builder *b)
{
	struct cut *cut = app_private(1, sizeof(*cut));
	size_t piece, first, end;
	int used;

	make_cut(b, cut);
	sort_by_piece(b, cut);
	if (!b->w->id)	/* the first cells are those of join_top(), the root before all */
		b->used = (int)(TOP_CELLS + (cut->pieces - TOP) / 8);
	app_share((size_t)barnes_bodies, b->w->id, b->w->count, &first, &end);
	for (piece = 0; piece < cut->pieces; piece++)
		if (!cut->inner[piece] && cut->bodies[piece] && cut->start[piece] >= first && cut->start[piece] < end)
			barnes.top[piece] = build_piece(b, cut, piece);
	app_barrier(b->w);
	if (!b->w->id) {
		used = b->used;
		b->used = 0;
		join_top(b, cut, 0, TOP, 0);
		b->used = used;
	}
	free(cut);
}

/* Mass, centre and cost of a cell, from those of its children. */
static void sum_cell(struct cell *cell)
{
	int octant, k;

	cell->mass = 0;
	cell->cost = 0;
	memset(cell->at, 0, sizeof(cell->at));
	for (octant = 0; octant < 8; octant++) {
		int child = cell->child[octant];
		const struct body *body = &barnes.body[BARNES_BODY(child)];
		const struct cell *inner = &barnes.cell[child];
		bool is_body = BARNES_IS_BODY(child);
		double mass;

		if (child == BARNES_NONE)
			continue;
		mass = is_body ? body->mass : inner->mass;
		cell->mass += mass;
		cell->cost += is_body ? body->cost : inner->cost;
		for (k = 0; k < 3; k++)
			cell->at[k] += mass * (is_body ? body->at[k] : inner->at[k]);
	}
	for (k = 0; cell->mass > 0 && k < 3; k++)
		cell->at[k] /= cell->mass;
}

/* Level by level from the deepest on, each worker the cells that it made. */
static void sum_up(struct builder *b)
{
	int level, levels = 0, i;
	unsigned int id;

	for (i = 0; i < b->used; i++)
		levels = b->level[i] >= levels ? b->level[i] + 1 : levels;
	barnes.levels[b->w->id] = levels;
	app_barrier(b->w);
	for (id = 0; id < b->w->count; id++)
		levels = barnes.levels[id] > levels ? barnes.levels[id] : levels;
	for (level = levels - 1; level >= 0; level--) {
		for (i = 0; i < b->used; i++)
			if (b->level[i] == level)
				sum_cell(&barnes.cell[b->first + i]);
		app_barrier(b->w);
	}
}

void barnes_tree_build(struct builder *b, bool spatial)
{
	find_reach(b);
	b->used = 0;
	if (spatial)
		build_spatial(b);
	else
		build_locked(b);
	sum_up(b);
}

void barnes_tree_hint(const struct builder *b, unsigned int workers)
{
	const size_t each = cells_each(workers);
	size_t first, end;
	unsigned int id;

	for (id = 0; id < b->w->count; id++) {
		if (id == b->w->id)
			continue;
		app_hint(b->w, barnes.cell + id * each, least((size_t)b->used, each) * sizeof(*barnes.cell));
		app_share((size_t)barnes_bodies, id, b->w->count, &first, &end);
		app_hint(b->w, barnes.body + first, (end - first) * sizeof(*barnes.body));
	}
}
