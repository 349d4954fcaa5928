// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/policy.c: settings from text and back, every refusal, and where pages live.
 */
#include "unit.h"

#include "policy.h"

struct good {
	const char *text;
	struct dsm_policy want;
	const char *back;
};

#define BLOCK(n) { DSM_CONSISTENCY_HLRC, DSM_HOME_BLOCK, n }
static const struct good goods[] = {
	{ "", BLOCK(0), "consistency=hlrc,home=block" },
	{ "hlrc", BLOCK(0), "consistency=hlrc,home=block" },
	{ "preset=hlrc", BLOCK(0), "consistency=hlrc,home=block" },
	{ "consistency=hlrc", BLOCK(0), "consistency=hlrc,home=block" },
	{ "home=block", BLOCK(0), "consistency=hlrc,home=block" },
	{ "home=block:1", BLOCK(1), "consistency=hlrc,home=block:1" },
	{ "home=block:4294967295", BLOCK(4294967295u), "consistency=hlrc,home=block:4294967295" },
	{ "home=block:8,home=block", BLOCK(0), "consistency=hlrc,home=block" },
	{ "home=rr", { DSM_CONSISTENCY_HLRC, DSM_HOME_RR, 0 }, "consistency=hlrc,home=rr" },
	{ "home=block:8,home=rr", { DSM_CONSISTENCY_HLRC, DSM_HOME_RR, 0 }, "consistency=hlrc,home=rr" },
	{ "home=first-touch", { DSM_CONSISTENCY_HLRC, DSM_HOME_FIRST_TOUCH, 0 }, "consistency=hlrc,home=first-touch" },
	{ "hlrc,home=rr", { DSM_CONSISTENCY_HLRC, DSM_HOME_RR, 0 }, "consistency=hlrc,home=rr" },
	/* A preset resets what stands before it. */
	{ "home=rr,preset=hlrc", BLOCK(0), "consistency=hlrc,home=block" },
	{ "home=rr,", { DSM_CONSISTENCY_HLRC, DSM_HOME_RR, 0 }, "consistency=hlrc,home=rr" },
};

static void settings_survive_text_and_back(void **state)
{
	const struct good *g;

	for (g = goods; g < goods + ARRAY_SIZE(goods); g++) {
		struct dsm_policy p, again;
		char why[128] = "", text[128];

		unit_require(!dsm_policy_parse(g->text, &p, why, sizeof(why)), "'%s': %s", g->text, why);
		unit_require(p.consistency == g->want.consistency && p.home == g->want.home &&
			     p.block_pages == g->want.block_pages, "'%s'", g->text);
		dsm_policy_format(&p, text, sizeof(text));
		assert_string_equal(text, g->back);
		assert_int_equal(dsm_policy_parse(text, &again, why, sizeof(why)), 0);
		assert_true(again.home == p.home && again.block_pages == p.block_pages);
		assert_string_equal(why, "");
	}
}

struct refused {
	const char *text;
	int err;
	const char *why;
};

#define LATER(key) { key "=x", -EOPNOTSUPP, "setting '" key "' is not in this version" }
#define PRESET(name) { name, -EOPNOTSUPP, "preset=" name " is not in this version; use preset=hlrc" }
#define HOME(v) { "home=" v, -EINVAL, "home=" v ": use block, block:PAGES, rr or first-touch" }
static const struct refused refusals[] = {
	LATER("data"), LATER("fetch"), LATER("diffpath"), LATER("metadata"), LATER("diff"), LATER("bcast"), LATER("sync"),
	PRESET("csm-dms"), PRESET("csm-ms"), PRESET("csm-s"), PRESET("csm-none"), PRESET("csm-ms-mg"),
	PRESET("csm-none-mg"), PRESET("csm-adb"), PRESET("hlrc-copy"), PRESET("hlrc-nocopy"), PRESET("hlrc-orig"),
	PRESET("hlrc-pipe"), PRESET("hlrc-rdma"), PRESET("sc"), PRESET("auto"),
	HOME(""), HOME("blocks"), HOME("block:"), HOME("block:0"), HOME("block:-1"), HOME("block:1x"),
	HOME("block:4294967296"), HOME("block:99999999999999999999999"), HOME("r"), HOME("first"),
	{ "home=migrate", -EOPNOTSUPP,
	  "home=migrate is not in this version; use block, block:PAGES, rr or first-touch" },
	{ "home=migrate@barrier", -EOPNOTSUPP,
	  "home=migrate@barrier is not in this version; use block, block:PAGES, rr or first-touch" },
	{ "consistency=sc", -EOPNOTSUPP, "consistency=sc is not in this version; use hlrc" },
	{ "consistency=cashmere", -EOPNOTSUPP, "consistency=cashmere is not in this version; use hlrc" },
	{ "consistency=", -EINVAL, "unknown consistency ''; use hlrc" },
	{ "preset=", -EINVAL, "unknown preset ''; use preset=hlrc" },
	{ "hlr", -EINVAL, "unknown preset 'hlr'; use preset=hlrc" },
	{ "hlrcc", -EINVAL, "unknown preset 'hlrcc'; use preset=hlrc" },
	{ ",", -EINVAL, "unknown preset ''; use preset=hlrc" },
	{ "=", -EINVAL, "unknown setting ''; known: preset, home, consistency" },
	{ "homes=rr", -EINVAL, "unknown setting 'homes'; known: preset, home, consistency" },
	{ "home=rr,colour=red", -EINVAL, "unknown setting 'colour'; known: preset, home, consistency" },
	{ "home=rr,diff=orig", -EOPNOTSUPP, "setting 'diff' is not in this version" },
};

static void refusal_says_what_is_wrong(void **state)
{
	const struct refused *f;

	for (f = refusals; f < refusals + ARRAY_SIZE(refusals); f++) {
		struct dsm_policy p;
		char why[128] = "", *exact = unit_copy(f->text, strlen(f->text) + 1);
		int err = dsm_policy_parse(exact, &p, why, sizeof(why));

		unit_require(err == f->err, "'%s' gives %d, '%s'", f->text, err, why);
		assert_string_equal(why, f->why);
		free(exact);
	}
}

static void refusal_fits_any_room(void **state)
{
	const struct refused *f;
	struct dsm_policy p;
	u32 room;

	for (f = refusals; f < refusals + ARRAY_SIZE(refusals); f++)
		for (room = 1; room < 40; room += 13) {
			char *why = unit_alloc(room);

			assert_int_equal(dsm_policy_parse(f->text, &p, why, room), f->err);
			assert_true(strlen(why) < room);
			free(why);
		}
}

static void home_is_always_a_member(void **state)
{
	static const u64 lengths[] = { 1, 2, 63, 64, 65, 1000, DSM_REGION_MAX_PAGES };
	static const u32 blocks[] = { 0, 1, 7, 4294967295u };
	u32 l, b, home;
	u16 n;

	for (l = 0; l < ARRAY_SIZE(lengths); l++)
		for (b = 0; b < ARRAY_SIZE(blocks); b++)
			for (home = DSM_HOME_BLOCK; home <= DSM_HOME_FIRST_TOUCH; home++)
				for (n = 1; n <= DSM_MAX_NODES; n++) {
					struct dsm_policy p = { .home = home, .block_pages = blocks[b] };

					assert_true(dsm_policy_home(&p, lengths[l], n, 0) < n);
					assert_true(dsm_policy_home(&p, lengths[l], n, lengths[l] / 2) < n);
					assert_true(dsm_policy_home(&p, lengths[l], n, lengths[l] - 1) < n);
				}
}

static void blocks_and_round_robin_spread_as_named(void **state)
{
	struct dsm_policy block = { .home = DSM_HOME_BLOCK }, two = { .home = DSM_HOME_BLOCK, .block_pages = 2 };
	struct dsm_policy rr = { .home = DSM_HOME_RR }, touch = { .home = DSM_HOME_FIRST_TOUCH };
	u32 i;

	for (i = 0; i < 10; i++) {
		assert_int_equal(dsm_policy_home(&block, 10, 3, i), i / 4);
		assert_int_equal(dsm_policy_home(&two, 10, 3, i), i / 2 % 3);
		assert_int_equal(dsm_policy_home(&rr, 10, 3, i), i % 3);
		assert_int_equal(dsm_policy_home(&touch, 1000, 3, i * 16), i % 3);
		assert_int_equal(dsm_policy_home(&touch, 1000, 3, i * 16 + 15), i % 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_survive_text_and_back),
		cmocka_unit_test(refusal_says_what_is_wrong),
		cmocka_unit_test(refusal_fits_any_room),
		cmocka_unit_test(home_is_always_a_member),
		cmocka_unit_test(blocks_and_round_robin_spread_as_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
