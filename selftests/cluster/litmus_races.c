// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Litmus tests of bytes that share a page, and of races. The numbers are those of the model (selftests/model/litmus.c and
 * litmus_sc.c).
 */
#include <errno.h>
#include <time.h>

#include "litmus.h"

/* ---- bytes of one page ---- */

static void p0(const struct round *r)
{
	r->p[0] = 1;
}

static void p1(const struct round *r)
{
	r->p[1] = 1;
}

static void p2(const struct round *r)
{
	r->p[2] = 1;
}

static void three_bytes(const struct round *r, uint64_t *v)
{
	v[0] = r->p[0];
	v[1] = r->p[1];
	v[2] = r->p[2];
}

static void fresh0(const struct round *r)
{
	r->fresh[0] = 1;
}

static void fresh1(const struct round *r)
{
	r->fresh[1] = 1;
}

static void fresh2(const struct round *r)
{
	r->fresh[2] = 1;
}

static void three_fresh(const struct round *r, uint64_t *v)
{
	v[0] = r->fresh[0];
	v[1] = r->fresh[1];
	v[2] = r->fresh[2];
}

static void p0_is_2(const struct round *r)
{
	r->p[0] = 2;
}

static bool l35_bad(const uint64_t *v)
{
	return !v[0] || v[0] > 2 || !v[1];
}

/* C writes under a lock while A, by writing the same page, may become its home. */
static void p2_under_l(const struct round *r)
{
	put(r, &r->l, &r->p[2], 1);
}

static void l20_b(const struct round *r)
{
	r->saw[0] = get_at(r, &r->l, 1, &r->p[2]);
}

static void l20_look(const struct round *r, uint64_t *v)
{
	v[0] = r->p[1];
}

/* The writers of a page take turns, and a thread looks on. */
static void l22_next(const struct round *r, uint8_t turn)
{
	begin_at(r, &r->l, turn);
	r->p[turn]++;
	*r->l.turn = turn + 1;
	end(r, &r->l);
}

static void l22_a(const struct round *r)
{
	l22_next(r, 0);
}

static void l22_b(const struct round *r)
{
	l22_next(r, 1);
}

static void l22_c(const struct round *r)
{
	l22_next(r, 2);
}

static bool l22_bad(const uint64_t *v)
{
	return v[0] > 1 || v[1] != 1 || v[2] != 1 || v[3] != 1;
}

static void l22_onlooker(const struct round *r)
{
	r->saw[0] = r->p[0];
}

/* ---- counting ---- */

static void l8_add(const struct round *r)
{
	int i;

	for (i = 0; i < 3; i++) {
		begin(r, &r->l);
		(*r->x)++;
		end(r, &r->l);
	}
}

static void look_x(const struct round *r, uint64_t *v)
{
	v[0] = *r->x;
}

static bool not_all_counted(const uint64_t *v)
{
	return v[0] != 3 * LITMUS_ROLES;
}

/*
 * Deadlines that pass before, while and after a lock comes. What got it counts; each thread notes in a byte of its own how
 * often it did.
 */
static void l42_play(const struct round *r, unsigned int own)
{
	static const long waits_ns[] = { 0, 400000, 3000000 };
	struct timespec until;
	unsigned int i;
	int ret;

	for (i = 0; i < 3; i++) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += waits_ns[i] + until.tv_nsec % 300000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		ret = dsm_timedlock(r->d, r->l.key, &until);
		if (ret == -ETIMEDOUT || ret == -EINTR)
			continue;
		must(ret, "timedlock");
		(*r->x)++;
		end(r, &r->l);
		r->p[own]++;
	}
}

#define L42(own) static void l42_##own(const struct round *r) { l42_play(r, own); }
L42(0) L42(1) L42(2) L42(3) L42(4) L42(5)

static void l42_look(const struct round *r, uint64_t *v)
{
	unsigned int i, got = 0;

	for (i = 0; i < LITMUS_ROLES; i++)
		got += r->p[i];
	v[0] = *r->x == got;
	v[1] = got;
}

static void l31_add(const struct round *r)
{
	int i;

	for (i = 0; i < 3; i++)
		__atomic_fetch_add(r->x, 1, __ATOMIC_SEQ_CST);
}

/* Phases: each thread writes a byte of its own, and sees that of the next. */
static void l23_phases(const struct round *r, unsigned int own)
{
	unsigned int next = (own + 1) % 3;
	uint64_t right = 1;
	uint8_t phase;

	for (phase = 1; phase <= 3; phase++) {
		r->p[own] = phase;
		barrier(r->d, r->barrier, 3);
		right &= r->p[next] == phase;
		barrier(r->d, r->barrier, 3);
	}
	r->saw[own] = right;
}

static void l23_a(const struct round *r)
{
	l23_phases(r, 0);
}

static void l23_b(const struct round *r)
{
	l23_phases(r, 1);
}

static void l23_c(const struct round *r)
{
	l23_phases(r, 2);
}

/* ---- races, for which only consistency=sc has a promise ---- */

static void l2_a(const struct round *r)
{
	*r->x = 1;
	*r->y = 1;
}

static void l2_b(const struct round *r)
{
	r->saw[0] = *r->y;
	r->saw[1] = *r->x;
}

static bool l2_bad(const uint64_t *v)
{
	return v[0] && !v[1];
}

static void l4_a(const struct round *r)
{
	*r->x = 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	r->saw[0] = *r->y;
}

static void l4_b(const struct round *r)
{
	*r->y = 1;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	r->saw[1] = *r->x;
}

static bool l4_bad(const uint64_t *v)
{
	return !v[0] && !v[1];
}

/* Without fences, which nodes need not, though the threads of one do. */
static void sb_a(const struct round *r)
{
	*r->x = 1;
	r->saw[0] = *r->y;
}

static void sb_b(const struct round *r)
{
	*r->y = 1;
	r->saw[1] = *r->x;
}

static void lb_a(const struct round *r)
{
	r->saw[0] = *r->x;
	*r->y = 1;
}

static void lb_b(const struct round *r)
{
	r->saw[1] = *r->y;
	*r->x = 1;
}

static bool lb_bad(const uint64_t *v)
{
	return v[0] && v[1];
}

static void two_writes_a(const struct round *r)
{
	*r->x = 1;
	*r->y = 2;
}

static void two_writes_b(const struct round *r)
{
	*r->y = 1;
	*r->x = 2;
}

static void look_x_y(const struct round *r, uint64_t *v)
{
	v[0] = *r->x;
	v[1] = *r->y;
}

static bool two_writes_bad(const uint64_t *v)
{
	return v[0] == 1 && v[1] == 1;
}

static void x_is_1(const struct round *r)
{
	*r->x = 1;
}

static void y_is_1(const struct round *r)
{
	*r->y = 1;
}

static void l5_c(const struct round *r)
{
	r->saw[0] = *r->x;
	r->saw[1] = *r->y;
}

static void l5_a2(const struct round *r)
{
	r->saw[2] = *r->y;
	r->saw[3] = *r->x;
}

static bool l5_bad(const uint64_t *v)
{
	return v[0] && !v[1] && v[2] && !v[3];
}

/* Copies of a byte never go back. */
static void l6_a(const struct round *r)
{
	uint8_t value;

	for (value = 1; value <= 3; value++) {
		*r->x = value;
		must(dsm_release(r->d), "release");
	}
}

static uint64_t never_back(const struct round *r)
{
	uint8_t last = 0, now;
	uint64_t good = 1;
	int i;

	for (i = 0; i < 6; i++) {
		now = *r->x;
		good &= now >= last;
		last = now;
		if (i % 2)
			must(dsm_acquire(r->d), "acquire");
	}
	return good;
}

static void l6_b(const struct round *r)
{
	r->saw[0] = never_back(r);
}

static void l6_c(const struct round *r)
{
	r->saw[1] = never_back(r);
}

/* What a store to a sequentially consistent region tells is no release of others. */
static void l26_a(const struct round *r)
{
	*r->y = 1;
	tell_outside(r);
}

static void l26_b(const struct round *r)
{
	wait_outside(r);
	r->saw[0] = *r->y;
}

static void l36_a(const struct round *r)
{
	put(r, &r->l, r->x, 1);
	tell_outside(r);
}

static void l36_b(const struct round *r)
{
	wait_outside(r);
	begin(r, &r->m);
	r->saw[0] = *r->x;
	end(r, &r->m);
}

/* Two nodes store across two pages. */
static void store_across(const struct round *r, uint64_t value)
{
	volatile uint64_t *at = (volatile uint64_t *)(uintptr_t)r->edge;
	int i;

	for (i = 0; i < 5; i++)
		*at = value;
}

static void l32_a(const struct round *r)
{
	store_across(r, 0x0101010101010101);
}

static void l32_b(const struct round *r)
{
	store_across(r, 0x0202020202020202);
}

static void l32_look(const struct round *r, uint64_t *v)
{
	unsigned int i;

	v[0] = 1;
	for (i = 0; i < 8; i++)
		v[0] &= r->edge[i] == 1 || r->edge[i] == 2;
}

#define SIX(play) { { A, 0, play }, { B, 0, play }, { C, 0, play }, { A, 1, play }, { B, 1, play }, { C, 1, play } }

const struct litmus litmus_races[] = {
	{ "L2", 2, 0, SC, { { A, 0, l2_a }, { B, 0, l2_b } }, NULL, l2_bad },
	{ "L4", 2, 0, SC, { { A, 0, l4_a }, { B, 0, l4_b } }, NULL, l4_bad },
	{ "SB", 2, 0, SC, { { A, 0, sb_a }, { B, 0, sb_b } }, NULL, l4_bad },
	{ "LB", 2, 0, SC, { { A, 0, lb_a }, { B, 0, lb_b } }, NULL, lb_bad },
	{ "2+2W", 0, 2, SC, { { A, 0, two_writes_a }, { B, 0, two_writes_b } }, look_x_y, two_writes_bad },
	{ "L5", 4, 0, SC, { { A, 0, x_is_1 }, { B, 0, y_is_1 }, { C, 0, l5_c }, { A, 1, l5_a2 } }, NULL, l5_bad },
	{ "L6", 2, 0, HLRC, { { A, 0, l6_a }, { B, 0, l6_b }, { C, 1, l6_c } }, NULL, one_of_two_is_0 },
	{ "L7", 0, 3, HLRC, { { A, 0, p0 }, { B, 0, p1 }, { C, 0, p2 } }, three_bytes, one_of_three_is_0 },
	{ "L8", 0, 1, HLRC, SIX(l8_add), look_x, not_all_counted },
	{ "L20", 1, 1, HLRC, { { C, 0, p2_under_l }, { A, 0, p1 }, { B, 0, l20_b } }, l20_look, one_of_two_is_0 },
	{ "L22", 1, 3, HLRC, { { A, 0, l22_a }, { B, 0, l22_b }, { C, 0, l22_c }, { B, 1, l22_onlooker } },
	  three_bytes, l22_bad },
	{ "L23", 3, 0, HLRC, { { A, 0, l23_a }, { B, 0, l23_b }, { C, 0, l23_c } }, NULL, one_of_three_is_0 },
	{ "L26", 1, 0, SC, { { A, 0, l26_a }, { B, 0, l26_b } }, NULL, first_is_0 },
	{ "L30", 0, 3, HLRC, { { A, 0, fresh0 }, { B, 0, fresh1 }, { C, 0, fresh2 } }, three_fresh, one_of_three_is_0 },
	{ "L31", 0, 1, SC, SIX(l31_add), look_x, not_all_counted },
	{ "L32", 0, 1, HLRC, { { A, 0, l32_a }, { B, 0, l32_b } }, l32_look, first_is_0 },
	{ "L35", 0, 2, HLRC, { { A, 0, p0 }, { B, 0, p0_is_2 }, { C, 0, p1 } }, three_bytes, l35_bad },
	{ "L36", 1, 0, CASHMERE, { { A, 0, l36_a }, { B, 0, l36_b } }, NULL, first_is_0 },
	{ "L42", 0, 2, HLRC, { { A, 0, l42_0 }, { B, 0, l42_1 }, { C, 0, l42_2 }, { A, 1, l42_3 }, { B, 1, l42_4 }, { C, 1, l42_5 } },
	  l42_look, first_is_0 },
	{ .name = NULL },
};
