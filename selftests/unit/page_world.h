/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the tests of pages share: worlds of two and three nodes, and a page in any state.
 */
#ifndef PAGE_WORLD_H
#define PAGE_WORLD_H

#include "unit.h"
#include "world.h"


#define A 0
#define B 1
#define C 2

static inline int start2(void **state)
{
	world_start(2);
	return 0;
}

static inline int start3(void **state)
{
	world_start(3);
	return 0;
}

static inline int start_touch(void **state)
{
	world_start_with(3, DSM_HOME_FIRST_TOUCH);
	return 0;
}

static inline int stop(void **state)
{
	world_stop();
	return 0;
}

/* Bring page 0 (home A) into @want at B by real events. */
static inline struct dsm_page *enter(u8 want)
{
	struct dsm_page *p = world_page(B, 0);

	switch (want) {
	case DSM_PAGE_INV:
		break;
	case DSM_PAGE_FET:
		world_fault(B, 0, false);
		break;
	case DSM_PAGE_RD:
		world_load(B, 0, 0);
		break;
	case DSM_PAGE_WR:
		world_store(B, 0, 0, 1);
		break;
	case DSM_PAGE_WRS:
	case DSM_PAGE_WRF:
		world_store(A, 0, 9, 9);
		world_release(A);
		world_store(B, 0, 0, 1);
		assert_true(dsm_page_notice(world_engine(B), p, p->ver + 1));
		world_store(A, 0, 10, 9);
		world_release(A);
		if (want == DSM_PAGE_WRF)
			world_fault(B, 0, false);
		break;
	}
	assert_int_equal(p->state, want);
	return p;
}

struct row {
	u8 from;
	bool write;
	u8 to;
	int right;
	u32 fetches;
};

/* Protocol table: what a fault does in every state of a page that is not homed here. */

/* A test with its world. */
#define T(start, name) cmocka_unit_test_setup_teardown(name, start, stop)

#endif
