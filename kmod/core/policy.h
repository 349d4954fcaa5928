/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Settings of a region: parsing of "key=value,..." and presets, legality,
 * and where pages live. Knows no state.
 */
#ifndef DSM_CORE_POLICY_H
#define DSM_CORE_POLICY_H

#include "types.h"

/*
 * Home-based lazy release consistency: what synchronises makes writes visible. Sequential consistency:
 * one writer or many readers of a page at any time, for programs that synchronise by loads and stores.
 * Cashmere: a release tells all who have copies of what was written, and is done when they know.
 */
enum dsm_consistency { DSM_CONSISTENCY_HLRC, DSM_CONSISTENCY_SC, DSM_CONSISTENCY_CASHMERE };
/*
 * Migrate: as first touch to begin with, then the home moves to who writes; or to who has written for a while, after
 * a barrier of all.
 */
enum dsm_home_policy {
	DSM_HOME_BLOCK,
	DSM_HOME_RR,
	DSM_HOME_FIRST_TOUCH,
	DSM_HOME_MIGRATE,
	DSM_HOME_MIGRATE_BARRIER,
};

/*
 * How a page comes from its home (seed 004): written by the home into the asker's frame, carried
 * in the reply and copied, or read by the asker without the home's help.
 */
enum dsm_fetch { DSM_FETCH_NOCOPY, DSM_FETCH_COPY, DSM_FETCH_READ };

/* Packed diffs with several buffers under way, or one diff and its ack at a time (seed 002). */
enum dsm_diff_mode { DSM_DIFF_MODE_PIPE, DSM_DIFF_MODE_ORIG };

/* Records to the home's CPU, each run straight into its frame, or what costs less. */
enum dsm_diffpath { DSM_DIFFPATH_AUTO, DSM_DIFFPATH_MSG, DSM_DIFFPATH_WRITE };

/* Who has copies and what was written: told by messages, or by atomics and remote writes. */
enum dsm_metadata { DSM_METADATA_MSG, DSM_METADATA_RDMA };

/*
 * With cashmere: a release tells who has copies, and waits until they know; or what it would tell goes with the intervals,
 * to whoever acquires, as hlrc's notices always do (lazy release consistency).
 */
enum dsm_notices { DSM_NOTICES_EAGER, DSM_NOTICES_LAZY };

enum dsm_sync { DSM_SYNC_MSG, DSM_SYNC_RDMA };

/* For sync=rdma: queue locks, or seed 000's array locks. Barriers of either have an entry per node and a sense. */
enum dsm_algo { DSM_ALGO_QUEUE, DSM_ALGO_ARRAY };

/* Pages that several nodes read are multicast by their home, or none is. */
enum dsm_bcast_policy { DSM_BCAST_OFF, DSM_BCAST_ADAPTIVE };

/* Who is a participant of the protocol: a node with all its processes, or one process, which has its node to itself. */
enum dsm_level { DSM_LEVEL_TWO, DSM_LEVEL_ONE };

#define DSM_PIPE_BYTES_MIN 4096u
#define DSM_PIPE_BYTES_MAX 65536u
#define DSM_PIPE_DEPTH_MAX 8u

/* A page that a notice names while it is dirty: merged when it is touched, or by the acquire, beside the node's stores. */
enum dsm_merge { DSM_MERGE_FAULT, DSM_MERGE_LIVE };

/* Which pages come unasked: none; along streams of faults; and those that were wanted after each notice. */
enum dsm_around { DSM_AROUND_OFF, DSM_AROUND_ON, DSM_AROUND_AGAIN };

/**
 * struct dsm_policy - effective settings
 * @consistency: enum dsm_consistency
 * @home:        enum dsm_home_policy
 * @block_pages: for block: pages per block; 0 = the region in as many equal blocks as members
 * @fetch:       enum dsm_fetch
 * @diff:        enum dsm_diff_mode
 * @diffpath:    enum dsm_diffpath
 * @grain_log2:  grain of diffs, 1 << this bytes: 0 (exact), 2 or 3
 * @metadata:    enum dsm_metadata
 * @notices:     enum dsm_notices; without cashmere 0
 * @sync:        enum dsm_sync
 * @algo:        enum dsm_algo
 * @bcast:       enum dsm_bcast_policy
 * @predict:     1 = home=migrate: pages that are read, then written, by one node after the other move at the read
 * @around:      enum dsm_around
 * @level:       enum dsm_level
 * @merge:       enum dsm_merge
 * @pipe_depth:  pipe: buffers per home under way, 1 to DSM_PIPE_DEPTH_MAX; orig: 0
 * @pipe_bytes:  pipe: bytes of a buffer, DSM_PIPE_BYTES_MIN to _MAX; orig: 0
 */
struct dsm_policy {
	u8 consistency;
	u8 home;
	u32 block_pages;
	u8 fetch;
	u8 diff;
	u8 diffpath;
	u8 grain_log2;
	u8 metadata;
	u8 notices;
	u8 sync;
	u8 algo;
	u8 bcast;
	u8 predict;
	u8 around;
	u8 level;
	u8 merge;
	u8 pipe_depth;
	u32 pipe_bytes;
};

/* Is a page's home the node that touched it first, and its manager only who knows which? */
static inline bool dsm_policy_claims(const struct dsm_policy *p)
{
	return p->home == DSM_HOME_FIRST_TOUCH || p->home == DSM_HOME_MIGRATE ||
	       p->home == DSM_HOME_MIGRATE_BARRIER;
}

/* Do homes move after barriers only (moves.h)? */
static inline bool dsm_policy_moves_at_barriers(const struct dsm_policy *p)
{
	return p->home == DSM_HOME_MIGRATE_BARRIER;
}

/* May a page be claimed anew at any time (DSM_IOC_UNCLAIM)? The old home must know who has copies. */
static inline bool dsm_policy_unclaims(const struct dsm_policy *p)
{
	return dsm_policy_claims(p) && !dsm_policy_moves_at_barriers(p) && p->consistency == DSM_CONSISTENCY_CASHMERE;
}

/*
 * Are pages written or read at their homes, or their diffs packed with others'? Then others have to know that a home
 * stays (moves.h): what goes to an old one comes back only if it is a diff, and alone in its message.
 */
static inline bool dsm_policy_settles(const struct dsm_policy *p)
{
	return dsm_policy_moves_at_barriers(p) ||
	       (dsm_policy_unclaims(p) && (p->diff != DSM_DIFF_MODE_ORIG || p->diffpath != DSM_DIFFPATH_MSG ||
					   p->fetch == DSM_FETCH_READ));
}

/* May homes move at all? */
static inline bool dsm_policy_may_move(const struct dsm_policy *p)
{
	return dsm_policy_unclaims(p) || dsm_policy_moves_at_barriers(p);
}

/* Has a release told all who have copies when it is done? */
static inline bool dsm_policy_tells(const struct dsm_policy *p)
{
	return p->consistency == DSM_CONSISTENCY_CASHMERE && p->notices == DSM_NOTICES_EAGER;
}

/* Does it need atomics of the device, and memory for one-sided transfers? */
static inline bool dsm_policy_wants_atomics(const struct dsm_policy *p)
{
	return p->sync == DSM_SYNC_RDMA || p->metadata == DSM_METADATA_RDMA;
}

/*
 * Parse @text ("" = all defaults). On refusal, of an unknown word or of words that do not go together,
 * -EINVAL and one line in @why.
 */
int dsm_policy_parse(const char *text, struct dsm_policy *out, char *why, u32 why_bytes);
/* Can these nodes be members of a region of @pages? -EOPNOTSUPP and one line in @why if not. */
int dsm_policy_suits(const struct dsm_policy *p, u64 nodes, u64 pages, char *why, u32 why_bytes);
/* The settings as text that parses back to the same. */
void dsm_policy_format(const struct dsm_policy *p, char *out, u32 bytes);
/*
 * Home, or for first touch the manager, of page @idx of
 * @pages among @n members: an index below @n.
 */
u16 dsm_policy_home(const struct dsm_policy *p, u64 pages, u16 n, u32 idx);

#endif
