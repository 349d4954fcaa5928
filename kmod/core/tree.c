// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The shape of a tree of nodes. Those below the node of rank r have the ranks fanout * (r + 1) to
 * fanout * (r + 1) + fanout - 1, where ranks count the tree's nodes in order of their numbers.
 * Never looks at who is alive.
 */
#include "tree.h"

static bool is_in(const struct dsm_tree *t, u16 node)
{
	return node < DSM_MAX_NODES && t->nodes & 1ull << node;
}

static u32 rank_of(const struct dsm_tree *t, u16 node)
{
	return hweight64(t->nodes & ((1ull << node) - 1));
}

static u16 node_of(const struct dsm_tree *t, u32 rank)
{
	u64 nodes = t->nodes;

	while (rank--)
		nodes &= nodes - 1;
	return __ffs64(nodes);
}

/**
 * dsm_tree_parent() - whom does a node report to?
 * @t:    tree
 * @node: any number
 * @root: the root
 *
 * Context: any.
 * Return: the node right above it, @root if there is none or @node is not in the tree.
 */
u16 dsm_tree_parent(const struct dsm_tree *t, u16 node, u16 root)
{
	u32 rank;

	if (!is_in(t, node))
		return root;
	rank = rank_of(t, node);
	return rank < t->fanout ? root : node_of(t, rank / t->fanout - 1);
}

/**
 * dsm_tree_above() - nodes that pass on what a node reports
 * @t:    tree
 * @node: any number
 *
 * Context: any.
 * Return: bitmap, without the root; 0: it reports to the root.
 */
u64 dsm_tree_above(const struct dsm_tree *t, u16 node)
{
	u64 above = 0;
	u32 rank;

	if (!is_in(t, node))
		return 0;
	for (rank = rank_of(t, node); rank >= t->fanout;) {
		rank = rank / t->fanout - 1;
		above |= 1ull << node_of(t, rank);
	}
	return above;
}

/**
 * dsm_tree_below() - how many nodes' reports does a node pass on?
 * @t:    tree
 * @node: any number
 *
 * Context: any.
 * Return: nodes anywhere below it.
 */
u32 dsm_tree_below(const struct dsm_tree *t, u16 node)
{
	u32 nodes = hweight64(t->nodes), low, high, n = 0;

	if (!is_in(t, node))
		return 0;
	/* Level by level: what is below a run of ranks is a run of ranks. */
	low = t->fanout * (rank_of(t, node) + 1);
	high = low + t->fanout;
	while (low < nodes) {
		n += min(high, nodes) - low;
		low = t->fanout * (low + 1);
		high = t->fanout * (high + 1);
	}
	return n;
}
