// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of net/choice.c: a default gives way only to what is better by a quarter in the median and in the
 * fastest trial, a search stops where its way is no good any more, and an error leaves what was found.
 */
#include "unit.h"
#include "../../kmod/net/choice.h"

/**
 * struct device - what a search measures
 * @worse_at: from this step on, and a falling one down from it, the way takes half as long again
 * @better_at: at and beyond this step it takes half the time; between both it takes as long as the other
 * @noise:    one trial of either takes ten times as long
 * @fails_at: the step at which measuring fails
 * @falling:  as of the search
 * @disturbed: in the look of this number, counted from 1, the way takes ten times as long
 * @flattered: likewise, the other way
 * @looked:   looks so far
 */
struct device {
	u32 worse_at;
	u32 better_at;
	bool noise;
	u32 fails_at;
	bool falling;
	u32 disturbed;
	u32 flattered;
	u32 looked;
};

static bool beyond(const struct device *d, u32 step, u32 mark)
{
	return mark && (d->falling ? step <= mark : step >= mark);
}

static int time_of(void *ctx, u32 step, u64 *way, u64 *other)
{
	struct device *d = ctx;
	u32 k;

	d->looked++;
	if (step == d->fails_at)
		return -EMSGSIZE;
	for (k = 0; k < DSM_CHOICE_TRIALS; k++) {
		other[k] = 1000 + 20 * ((k * 3) % DSM_CHOICE_TRIALS);
		way[k] = other[k];
		if (beyond(d, step, d->worse_at))
			way[k] += way[k] / 2;
		else if (beyond(d, step, d->better_at))
			way[k] /= 2;
		if (d->looked == d->disturbed)
			way[k] *= 10;
		if (d->looked == d->flattered)
			other[k] *= 10;
	}
	if (d->noise) {
		way[step % DSM_CHOICE_TRIALS] *= 10;
		other[(step + 2) % DSM_CHOICE_TRIALS] *= 10;
	}
	return 0;
}

static const u32 growing[] = { 64, 128, 256, 512 };
static const u32 falling[] = { 64000, 32000, 16000, 8000 };

static u32 find(struct device d, u32 usual, u32 *looked)
{
	const struct dsm_choice c = {
		.steps = d.falling ? falling : growing, .n = 4, .usual = usual, .falling = d.falling, .time = time_of,
	};
	u32 best;

	assert_int_equal(dsm_choice_search(&c, &d, &best), 0);
	if (looked)
		*looked = d.looked;
	return best;
}

/* No difference: up to the default it stays, and what lies beyond has to be better. */
static void a_default_stays(void **state)
{
	bool noise;
	int i;

	for (i = 0; i < 2; i++) {
		noise = i;
		assert_int_equal(find((struct device){ .noise = noise }, 256, NULL), 256);
		assert_int_equal(find((struct device){ .noise = noise, .falling = true }, 16000, NULL), 16000);
	}
}

static void what_is_slower_goes(void **state)
{
	u32 looked;

	assert_int_equal(find((struct device){ .worse_at = 128 }, 256, &looked), 64);
	assert_int_equal(looked, 3);
	assert_int_equal(find((struct device){ .worse_at = 64 }, 256, NULL), 0);
	assert_int_equal(find((struct device){ .worse_at = 32000, .falling = true, .noise = true }, 16000, &looked),
			 64000);
	assert_int_equal(looked, 3);
	/* Not used at all if even the longest is slower. */
	assert_int_equal(find((struct device){ .worse_at = 64000, .falling = true }, 16000, NULL), 0);
}

/* Whichever look it is that is disturbed. */
static void one_disturbed_look_ends_nothing(void **state)
{
	u32 looked, k;

	for (k = 1; k <= 4; k++) {
		assert_int_equal(find((struct device){ .disturbed = k }, 256, &looked), 256);
		/* Three up to the default, one of them twice, and one beyond; or that beyond is the fourth. */
		assert_int_equal(looked, k < 4 ? 5 : 4);
		assert_int_equal(find((struct device){ .disturbed = k, .falling = true }, 16000, NULL), 16000);
		assert_int_equal(find((struct device){ .flattered = k }, 256, &looked), 256);
		assert_int_equal(looked, k < 4 ? 4 : 5);
		assert_int_equal(find((struct device){ .flattered = k, .falling = true }, 16000, NULL), 16000);
	}
}

static void what_is_faster_comes(void **state)
{
	assert_int_equal(find((struct device){ .better_at = 512 }, 256, NULL), 512);
	assert_int_equal(find((struct device){ .better_at = 64, .noise = true }, 64, NULL), 512);
	assert_int_equal(find((struct device){ .better_at = 8000, .falling = true }, 16000, NULL), 8000);
	/* A default of none: each has to be better. */
	assert_int_equal(find((struct device){ .falling = true }, 0, NULL), 0);
	assert_int_equal(find((struct device){ .falling = true, .better_at = 64000 }, 0, NULL), 8000);
}

static void an_error_leaves_what_was_found(void **state)
{
	struct device d = { .fails_at = 512, .better_at = 512 };
	const struct dsm_choice c = { .steps = growing, .n = 4, .usual = 256, .time = time_of };
	u32 best = 1;

	assert_int_equal(dsm_choice_search(&c, &d, &best), -EMSGSIZE);
	assert_int_equal(best, 256);
	d.fails_at = 64;
	assert_int_equal(dsm_choice_search(&c, &d, &best), -EMSGSIZE);
	assert_int_equal(best, 0);
}

static void fill(u64 *times, u64 fastest, u64 usual)
{
	u32 k;

	for (k = 0; k < DSM_CHOICE_TRIALS; k++)
		times[k] = k == 3 ? fastest : usual + k;
}

/* The first that is better counts, and only by the fastest trial and the median both. */
static void ways_are_compared_with_the_first(void **state)
{
	u64 times[4][DSM_CHOICE_TRIALS];

	fill(times[0], 800, 1100);
	fill(times[1], 500, 1000);	/* the median is not */
	fill(times[2], 750, 760);	/* the fastest is not */
	fill(times[3], 700, 1000);
	assert_int_equal(dsm_choice_first(times, 4), 0);
	fill(times[3], 600, 850);
	assert_int_equal(dsm_choice_first(times, 4), 3);
	fill(times[1], 600, 800);
	assert_int_equal(dsm_choice_first(times, 4), 1);
	assert_int_equal(dsm_choice_first(times, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_default_stays),
		cmocka_unit_test(what_is_slower_goes),
		cmocka_unit_test(one_disturbed_look_ends_nothing),
		cmocka_unit_test(what_is_faster_comes),
		cmocka_unit_test(an_error_leaves_what_was_found),
		cmocka_unit_test(ways_are_compared_with_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
