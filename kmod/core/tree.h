/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The shape of a tree of nodes below one that is not in it, the root: who reports to whom. All
 * who know the set and the fan-out compute the same. Knows nothing of what is reported.
 */
#ifndef DSM_CORE_TREE_H
#define DSM_CORE_TREE_H

#include "types.h"

/**
 * struct dsm_tree - in order of their numbers the first @fanout nodes are below the root, the
 * next @fanout below the first of them, and so on
 * @nodes:  bitmap; 0: nobody passes anything on
 * @fanout: at least 1 if there are nodes
 */
struct dsm_tree {
	u64 nodes;
	u32 fanout;
};

/* The node right above @node; @root for those that are not in the tree. */
u16 dsm_tree_parent(const struct dsm_tree *t, u16 node, u16 root);
/* All between @node and the root, as a bitmap; without both. */
u64 dsm_tree_above(const struct dsm_tree *t, u16 node);
/* How many are anywhere below @node. */
u32 dsm_tree_below(const struct dsm_tree *t, u16 node);

#endif
