/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Bodies and the octree of the Barnes-Hut method. barnes_tree.c builds the tree, barnes.c uses it.
 *
 * A cube that holds more than one body is a cell; a body alone in its octant is its cell's child
 * itself. So there is one tree for given bodies, whoever builds it, and sums over children in the
 * order of octants are the same to the last bit.
 */
#ifndef APP_BARNES_H
#define APP_BARNES_H

#include "app.h"

#define BARNES_LEVELS 64
#define BARNES_NONE 0			/* an empty octant; cell 0 is the root, nobody's child */
#define BARNES_BODY(i) (-1 - (int)(i))	/* as a child; its own inverse */
#define BARNES_IS_BODY(child) ((child) < 0)
#define BARNES_IS_CELL(child) ((child) > 0)

struct body {
	double at[3], speed[3], pull[3];
	double mass;
	long cost;		/* interactions in the last step */
};

struct cell {
	double mass, at[3];	/* of all bodies in it, and their centre */
	long cost;		/* of all bodies in it */
	int child[8];		/* cell, BARNES_BODY or BARNES_NONE */
};

struct barnes {
	struct body *body;
	struct cell *cell;	/* a part for each worker, the root first of all */
	int *levels;		/* by worker: levels with cells of its own */
	double *reach;		/* by worker: largest coordinate of its bodies */
	int *top;		/* spatial: what is in each piece of space */
	size_t *count;		/* spatial: bodies by worker and piece */
	unsigned int *order;	/* spatial: bodies by piece */
};

extern struct barnes barnes;
extern long barnes_bodies;

/**
 * struct builder - what a worker knows of the tree, in private memory
 * @w:        the worker
 * @own:      its bodies
 * @owned:    their number
 * @used:     its cells in use, of those from @first on
 * @first:    its first cell
 * @end:      one past its last cell
 * @level:    levels of its cells, by order of making
 * @known:    children of cells that are cells, as far as this worker saw them under a lock: they
 *            stay, so that nobody needs the lock again to go down there
 * @reach:    half the side of the root, whose centre is 0
 */
struct builder {
	const struct app_worker *w;
	unsigned int *own;
	size_t owned;
	int used, first, end;
	unsigned char *level;
	int (*known)[8];
	double reach;
};

void barnes_tree_layout(unsigned int workers);
void barnes_builder_init(struct builder *b, const struct app_worker *w, unsigned int workers);
void barnes_builder_end(struct builder *b);
/* By all workers: a tree of all bodies where they are now, with masses and costs. */
void barnes_tree_build(struct builder *b, bool spatial);
/* The tree and the bodies of the others will be read: of each worker about as many cells as this one made. */
void barnes_tree_hint(const struct builder *b, unsigned int workers);

#endif
