/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the tests of metadata=rdma share: two nodes with memory for it, and a copy of a page.
 */
#ifndef DSM_SELFTESTS_DIR_WORLD_H
#define DSM_SELFTESTS_DIR_WORLD_H

#include "world.h"

#include "csm.h"
#include "dir.h"
#include "rsync.h"

#define A 0
#define B 1
#define MAIL(node) (((node) + 1) * 0x1000000ull)
#define RKEY(node) (40u + (node))

static struct dsm_rsync memory[2];
static u64 words[2][WORLD_PAGES];

/* Page i is homed, and has its word, at node i % 2; who holds what is set by the tests. */
static inline int start(void **state)
{
	u32 n;

	world_start(2);
	for (n = 0; n < 2; n++) {
		struct dsm_space *s = &w.node[n].space;

		memory[n] = (struct dsm_rsync){
			.mail = calloc(1, sizeof(struct dsm_mail)),
			.ring = calloc(DSM_MAX_NODES, sizeof(union dsm_ring_slot)),
			.mail_key = { .addr = MAIL(n), .rkey = RKEY(n) },
		};
		assert_true(memory[n].mail && memory[n].ring);
		dsm_rsync_set(world_engine(n), &memory[n]);
		world_engine(n)->mail_key[!n] = (struct dsm_key){ .addr = MAIL(!n), .rkey = RKEY(!n) };
		world_engine(n)->csm.dirs = true;
		s->policy.consistency = DSM_CONSISTENCY_CASHMERE;
		s->policy.metadata = DSM_METADATA_RDMA;
		s->dir.word = words[n];
		s->dir.own = (struct dsm_key){ .addr = 0x5000, .rkey = 50 + n };
	}
	return 0;
}

static inline int stop(void **state)
{
	u32 n;

	world_stop();
	for (n = 0; n < 2; n++) {
		free(memory[n].mail);
		free(memory[n].ring);
	}
	return 0;
}

/* A copy of page 1 at A. */
static inline struct dsm_page *copy(void)
{
	struct dsm_page *p = world_page(A, 1);

	p->dir |= DSM_DIR_IN;
	dsm_page_set_state(p, DSM_PAGE_RD);
	return p;
}

#endif
