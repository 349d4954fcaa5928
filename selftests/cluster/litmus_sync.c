// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Litmus tests of what synchronisation brings, with every consistency. The numbers are those of the model
 * (selftests/model/litmus.c), which plays such programs in all orders on a smaller machine.
 */
#include <errno.h>

#include "litmus.h"

static void x_under_l(const struct round *r)
{
	put(r, &r->l, r->x, 1);
}

static void saw0_x_after_l(const struct round *r)
{
	r->saw[0] = get_at(r, &r->l, 1, r->x);
}

static void set_flag(const struct round *r)
{
	*r->x = 1;
	must(dsm_flag_set(r->d, r->flag), "flag set");
}

static void await_flag(const struct round *r, uint64_t key)
{
	int ret;

	do {
		ret = dsm_flag_wait(r->d, key);
	} while (ret == -EINTR);
	must(ret, "flag wait");
}

static uint64_t x_after_flag(const struct round *r)
{
	await_flag(r, r->flag);
	return *r->x;
}

static void l3_b(const struct round *r)
{
	r->saw[0] = x_after_flag(r);
}

static void l3_c(const struct round *r)
{
	r->saw[1] = x_after_flag(r);
}

static void p0_under_l(const struct round *r)
{
	put(r, &r->l, &r->p[0], 1);
}

static void p1_under_m(const struct round *r)
{
	put(r, &r->m, &r->p[1], 1);
}

static void l9_c(const struct round *r)
{
	r->saw[0] = get_at(r, &r->m, 1, &r->p[1]);
}

static void l10_b(const struct round *r)
{
	r->saw[0] = get_at(r, &r->l, 1, &r->p[0]);
}

static void l10_c(const struct round *r)
{
	r->saw[1] = get_at(r, &r->m, 1, &r->p[1]);
}

static void l11_b(const struct round *r)
{
	begin(r, &r->l);
	begin(r, &r->m);
	*r->x = 1;
	*r->l.turn = 1;
	*r->m.turn = 1;
	end(r, &r->m);
	end(r, &r->l);
}

static void l11_a2(const struct round *r)
{
	r->saw[1] = get_at(r, &r->m, 1, r->x);
}

static void l12_b(const struct round *r)
{
	begin_at(r, &r->l, 1);
	*r->y = 1;
	end(r, &r->l);
	begin(r, &r->m);
	*r->m.turn = 1;
	end(r, &r->m);
}

static void xy_after_m(const struct round *r)
{
	begin_at(r, &r->m, 1);
	r->saw[0] = *r->y;
	r->saw[1] = *r->x;
	end(r, &r->m);
}

static void l13_a2(const struct round *r)
{
	begin_at(r, &r->l, 1);
	end(r, &r->l);
	put(r, &r->m, r->y, 1);
}

/* A page stays dirty while a byte of it goes to and fro. */
static void l14_dirty(const struct round *r)
{
	int i;

	for (i = 0; i < 50; i++)
		r->p[8 + i % 8]++;
}

static void l14_a1(const struct round *r)
{
	begin_at(r, &r->l, 1);
	r->p[0] = 0;
	*r->l.turn = 2;
	end(r, &r->l);
}

static void l14_c(const struct round *r)
{
	r->saw[0] = get_at(r, &r->l, 2, &r->p[0]);
}

static bool l14_bad(const uint64_t *v)
{
	return v[0] != 0;
}

static void l15_store(const struct round *r)
{
	unsigned int turn, i;

	for (turn = 1; turn <= 100; turn++)
		for (i = 8; i < 16; i++)
			r->p[i] = (uint8_t)turn;
}

static void l15_look(const struct round *r, uint64_t *v)
{
	unsigned int i;

	v[0] = r->p[0];
	v[1] = 1;
	for (i = 8; i < 16; i++)
		v[1] &= r->p[i] == 100;
}

static void l16_b2(const struct round *r)
{
	r->saw[1] = r->p[0];
}

static void l17_a(const struct round *r)
{
	p0_under_l(r);
	begin_at(r, &r->l, 2);
	r->saw[0] = r->p[0];
	r->saw[1] = r->p[1];
	end(r, &r->l);
}

static void l17_b(const struct round *r)
{
	begin_at(r, &r->l, 1);
	r->p[1] = 1;
	*r->l.turn = 2;
	end(r, &r->l);
}

static void l18_a(const struct round *r)
{
	*r->x = 1;
	begin(r, &r->l);
	*r->x = 2;
	*r->l.turn = 1;
	end(r, &r->l);
}

static void l18_b(const struct round *r)
{
	r->saw[1] = *r->x;
	saw0_x_after_l(r);
}

static bool l18_bad(const uint64_t *v)
{
	return v[0] != 2 || v[1] > 2;
}

/* A page that only its writer has is read elsewhere: at its home, or anywhere. */
static void l19_a(const struct round *r)
{
	put(r, &r->l, &r->fresh[0], 1);
	r->fresh[1] = 1;
}

static void l19_b(const struct round *r)
{
	r->saw[0] = get_at(r, &r->l, 1, &r->fresh[0]);
}

static void l19_c(const struct round *r)
{
	r->saw[1] = get_at(r, &r->l, 1, &r->fresh[0]);
}

static void l19_look(const struct round *r, uint64_t *v)
{
	v[0] = r->fresh[1];
}

/* Who was home goes on reading, and is told by the next one; meanwhile a third writes the same page. */
static void l21_h(const struct round *r)
{
	put(r, &r->l, &r->fresh[2], 1);
	(void)r->fresh[0];
	r->saw[0] = get_at(r, &r->l, 2, &r->fresh[0]);
	r->saw[1] = get_at(r, &r->l, 3, &r->fresh[0]);
	r->saw[2] = get_at(r, &r->m, 2, &r->fresh[1]);
}

static void l21_write(const struct round *r, const struct guarded *g, unsigned int at, uint8_t value, uint8_t turn)
{
	begin_at(r, g, turn - 1);
	r->fresh[at] = value;
	*g->turn = turn;
	end(r, g);
}

static void l21_a(const struct round *r)
{
	r->saw[3] = get_at(r, &r->l, 1, &r->fresh[2]);
	l21_write(r, &r->l, 0, 5, 2);
	l21_write(r, &r->l, 0, 6, 3);
}

static void l21_c(const struct round *r)
{
	(void)r->fresh[3];
	l21_write(r, &r->m, 1, 3, 1);
	l21_write(r, &r->m, 1, 4, 2);
}

static bool l21_bad(const uint64_t *v)
{
	return (v[0] != 5 && v[0] != 6) || v[1] != 6 || v[2] != 4 || v[3] != 1;
}

/* A word is written whole while its page's other half is read under another lock. */
static void l24_write(const struct round *r)
{
	unsigned int i;

	begin(r, &r->l);
	for (i = 0; i < 8; i++)
		r->p[i] = 1;
	*r->l.turn = 1;
	end(r, &r->l);
}

static void l24_read(const struct round *r)
{
	unsigned int i;

	begin(r, &r->m);
	r->saw[1] = r->p[12];
	end(r, &r->m);
	begin_at(r, &r->l, 1);
	r->saw[0] = 1;
	for (i = 0; i < 8; i++)
		r->saw[0] &= r->p[i];
	end(r, &r->l);
}

static bool l24_bad(const uint64_t *v)
{
	return v[0] != 1 || v[1] != 0;
}

static void l28_a(const struct round *r)
{
	begin(r, &r->m);
	*r->x = 1;
	*r->y = 1;
	*r->m.turn = 1;
	end(r, &r->m);
}

static void l37_a(const struct round *r)
{
	r->p[0] = 1;
	must(dsm_release(r->d), "release");
	r->saw[0] = get_at(r, &r->m, 1, &r->p[1]);
}

static void l37_look(const struct round *r, uint64_t *v)
{
	v[0] = r->p[0];
}

/* Who has an old copy, and is the only one that is left, becomes exclusive; not with the old bytes. */
static void l39_a(const struct round *r)
{
	(void)r->fresh[0];
	must(dsm_flag_set(r->d, r->back), "flag set");
	r->fresh[0] = 5;
	await_flag(r, r->flag);
	r->saw[0] = r->fresh[1];
	r->saw[1] = r->fresh[0];
}

static void l39_b(const struct round *r)
{
	await_flag(r, r->back);
	r->fresh[1] = 7;
	must(dsm_flag_set(r->d, r->flag), "flag set");
	r->saw[2] = r->fresh[1];
}

/* May be the first, and so the home. */
static void l39_c(const struct round *r)
{
	(void)r->fresh[3];
}

static void l39_look(const struct round *r, uint64_t *v)
{
	v[0] = r->fresh[0];
	v[1] = r->fresh[1];
}

static bool l39_bad(const uint64_t *v)
{
	return v[0] != 7 || v[1] != 5 || v[2] != 7 || v[3] != 5 || v[4] != 7;
}

/* What a node learned reaches another by a barrier, and by a lock after one. */
static void l40_a(const struct round *r)
{
	begin_at(r, &r->l, 1);
	end(r, &r->l);
	barrier(r->d, r->barrier, 2);
}

static void l40_b(const struct round *r)
{
	barrier(r->d, r->barrier, 2);
	r->saw[0] = *r->x;
}

/* A barrier of two of three, then one of two others; and a lock behind the first. */
static void l41_a(const struct round *r)
{
	*r->x = 1;
	barrier(r->d, r->barrier, 2);
	barrier(r->d, r->other, 2);
}

static void l41_b(const struct round *r)
{
	barrier(r->d, r->barrier, 2);
	r->saw[0] = *r->x;
	begin(r, &r->l);
	*r->l.turn = 1;
	end(r, &r->l);
}

static void l41_c(const struct round *r)
{
	barrier(r->d, r->other, 2);
	r->saw[1] = *r->x;
}

static void l41_c2(const struct round *r)
{
	r->saw[2] = get_at(r, &r->l, 1, r->x);
}

static void l43_a(const struct round *r)
{
	*r->x = 1;
	must(dsm_release(r->d), "release");
	tell_outside(r);
}

static void l43_b(const struct round *r)
{
	wait_outside(r);
	must(dsm_acquire(r->d), "acquire");
	r->saw[0] = *r->x;
}

const struct litmus litmus_sync[] = {
	{ "L1", 1, 0, HLRC, { { A, 0, x_under_l }, { B, 0, saw0_x_after_l } }, NULL, first_is_0 },
	{ "L3", 2, 0, HLRC, { { A, 0, set_flag }, { B, 0, l3_b }, { C, 0, l3_c } }, NULL, one_of_two_is_0 },
	{ "L9", 1, 0, HLRC, { { A, 0, p0_under_l }, { B, 0, p1_under_m }, { C, 0, l9_c } }, NULL, first_is_0 },
	{ "L10", 2, 0, HLRC, { { A, 0, p0_under_l }, { A, 1, p1_under_m }, { B, 0, l10_b }, { C, 0, l10_c } },
	  NULL, one_of_two_is_0 },
	{ "L11", 2, 0, HLRC, { { B, 0, l11_b }, { A, 0, saw0_x_after_l }, { A, 1, l11_a2 } }, NULL, one_of_two_is_0 },
	{ "L12", 2, 0, HLRC, { { A, 0, x_under_l }, { B, 0, l12_b }, { C, 0, xy_after_m } }, NULL, one_of_two_is_0 },
	{ "L13", 2, 0, HLRC, { { A, 0, x_under_l }, { A, 1, l13_a2 }, { B, 0, xy_after_m } }, NULL, one_of_two_is_0 },
	{ "L14", 1, 0, HLRC, { { A, 1, l14_dirty }, { B, 0, p0_under_l }, { A, 0, l14_a1 }, { C, 0, l14_c } },
	  NULL, l14_bad },
	{ "L15", 1, 2, HLRC, { { A, 1, l15_store }, { B, 0, p0_under_l }, { A, 0, l10_b } }, l15_look, one_of_three_is_0 },
	{ "L16", 2, 0, HLRC, { { A, 0, p0_under_l }, { B, 0, l10_b }, { B, 1, l16_b2 } }, NULL, first_is_0 },
	{ "L17", 2, 0, HLRC, { { A, 0, l17_a }, { B, 0, l17_b } }, NULL, one_of_two_is_0 },
	{ "L18", 2, 0, HLRC, { { A, 0, l18_a }, { B, 0, l18_b } }, NULL, l18_bad },
	{ "L19", 2, 1, HLRC, { { A, 0, l19_a }, { B, 0, l19_b }, { C, 0, l19_c } }, l19_look, one_of_three_is_0 },
	{ "L21", 4, 0, HLRC, { { B, 0, l21_h }, { A, 0, l21_a }, { C, 0, l21_c } }, NULL, l21_bad },
	{ "L24", 2, 0, HLRC, { { A, 0, l24_write }, { B, 0, l24_read } }, NULL, l24_bad },
	{ "L28", 2, 0, HLRC, { { A, 0, l28_a }, { B, 0, xy_after_m } }, NULL, one_of_two_is_0 },
	{ "L37", 1, 1, HLRC, { { A, 0, l37_a }, { C, 0, p1_under_m } }, l37_look, one_of_two_is_0 },
	{ "L39", 3, 2, HLRC, { { A, 0, l39_a }, { B, 0, l39_b }, { C, 0, l39_c } }, l39_look, l39_bad },
	{ "L40", 1, 0, HLRC, { { C, 0, x_under_l }, { A, 0, l40_a }, { B, 0, l40_b } }, NULL, first_is_0 },
	{ "L41", 3, 0, HLRC, { { A, 0, l41_a }, { B, 0, l41_b }, { C, 0, l41_c }, { C, 1, l41_c2 } }, NULL, one_of_three_is_0 },
	{ "L43", 1, 0, HLRC, { { A, 0, l43_a }, { B, 0, l43_b } }, NULL, first_is_0 },
	{ .name = NULL },
};
