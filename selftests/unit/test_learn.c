// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of learn.c: the faster way to wait is taken, also when it changes, and neither a few long waits nor a host
 * that becomes slower count for one of the ways.
 */
#include "unit.h"
#include "../../kmod/learn.h"

/**
 * struct scene - what waits are like
 * @slept_ns:   what a wait takes that sleeps
 * @spun_ns:    one that spins first
 * @long_waits: so many of a block's waits that go the faster way take a hundred times as long
 * @slower:     each block's waits take longer than those of the block before by so many per cent of the first's
 */
struct scene {
	u64 slept_ns;
	u64 spun_ns;
	u32 long_waits;
	u32 slower;
};

/* So many blocks; how many of them spun. */
static u32 play(struct dsm_learn *l, struct scene s, u32 blocks)
{
	u32 i, k, spun = 0;
	u64 usual_ns;
	bool faster;

	for (i = 0; i < blocks; i++) {
		spun += l->spins;
		usual_ns = l->spins ? s.spun_ns : s.slept_ns;
		faster = usual_ns == (s.spun_ns < s.slept_ns ? s.spun_ns : s.slept_ns);
		usual_ns += usual_ns * s.slower * i / 100;
		for (k = 0; k < DSM_LEARN_BLOCK; k++)
			l->took_ns[k] = usual_ns + 10 * (k * 3 % DSM_LEARN_BLOCK);
		for (k = 0; faster && k < s.long_waits; k++)
			l->took_ns[(k * 5 + i) % DSM_LEARN_BLOCK] *= 100;
		dsm_learn_block(l);
	}
	return spun;
}

static const struct scene spinning_pays = { .slept_ns = 40000, .spun_ns = 30000 };
static const struct scene sleeping_pays = { .slept_ns = 40000, .spun_ns = 55000 };

/* What comes first is slept, then both in turn until it is clear. */
static void the_faster_way_is_taken(void **state)
{
	struct dsm_learn l = {};

	assert_true(!l.spins);
	assert_in_range(play(&l, spinning_pays, 160), 160 - 160 / DSM_LEARN_PROBE_INTERVAL - DSM_LEARN_SURE, 159);
	assert_int_equal(l.score, DSM_LEARN_MOST_SURE);
	l = (struct dsm_learn){};
	assert_in_range(play(&l, sleeping_pays, 160), 1, 160 / DSM_LEARN_PROBE_INTERVAL + DSM_LEARN_SURE);
	assert_int_equal(l.score, -DSM_LEARN_MOST_SURE);
}

/* A way is chosen after so few blocks that nobody notices the search. */
static void it_is_clear_soon(void **state)
{
	struct dsm_learn l = {};

	play(&l, spinning_pays, 2 * DSM_LEARN_SURE);
	assert_true(dsm_learn_is_sure(l.score) && l.score > 0);
	assert_true(l.spins);
}

/* One block in an interval goes the slower way, so that a change is seen. */
static void the_other_way_is_tried_now_and_then(void **state)
{
	struct dsm_learn l = {};
	u32 i, most = 2 * DSM_LEARN_MOST_SURE * DSM_LEARN_PROBE_INTERVAL;

	play(&l, spinning_pays, 160);
	assert_int_equal(play(&l, spinning_pays, 4 * DSM_LEARN_PROBE_INTERVAL), 4 * (DSM_LEARN_PROBE_INTERVAL - 1));
	for (i = 0; i < most && l.score > -DSM_LEARN_SURE; i++)
		play(&l, sleeping_pays, 1);
	assert_in_range(i, 1, most - 1);
	assert_in_range(play(&l, sleeping_pays, 160), 1, 160 / DSM_LEARN_PROBE_INTERVAL);
}

static void a_few_long_waits_say_nothing(void **state)
{
	struct scene s = spinning_pays;
	struct dsm_learn l = {};

	s.long_waits = DSM_LEARN_BLOCK / 2 - 1;
	play(&l, s, 64);
	assert_int_equal(l.score, DSM_LEARN_MOST_SURE);
}

/* Whichever way comes later takes longer then: that speaks for both in turn. */
static void what_slows_both_down_says_nothing(void **state)
{
	struct scene s = { .slept_ns = 40000, .spun_ns = 40000, .slower = 3 };
	u32 blocks;

	for (blocks = 1; blocks <= 200; blocks++) {
		struct dsm_learn l = {};

		play(&l, s, blocks);
		assert_false(dsm_learn_is_sure(l.score));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_faster_way_is_taken),
		cmocka_unit_test(it_is_clear_soon),
		cmocka_unit_test(the_other_way_is_tried_now_and_then),
		cmocka_unit_test(a_few_long_waits_say_nothing),
		cmocka_unit_test(what_slows_both_down_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
