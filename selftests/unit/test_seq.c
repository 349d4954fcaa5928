// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/seq.h: connections that break at any point, with any part of what was under way
 * received and any part of that acknowledged, deliver every message once and in order, and every
 * transfer takes effect as if nothing had broken.
 */
#include "unit.h"

#include "seq.h"

#define ROUNDS 2000
#define STEPS 400
#define WINDOW 64u

/* One direction of a connection; messages carry their number only. */
struct pipe {
	u32 sent, acked, received;	/* numbers of the last ones */
	u32 told, again;		/* see dsm_seq_judge() */
};

/* A message arrives; true if it is delivered. */
static bool arrive(struct pipe *p, u32 seq)
{
	switch (dsm_seq_judge(seq, p->received, p->told, p->again)) {
	case DSM_SEQ_NEXT:
		p->received = seq;
		return true;
	case DSM_SEQ_AGAIN:
		return false;
	default:
		unit_require(false, "number %u after %u is refused", seq, p->received);
		return false;
	}
}

/* The connection breaks and is made anew; up to @extra messages more than missing go out. */
static void reconnect(struct pipe *p, u32 extra)
{
	s64 missing = dsm_seq_missing(p->sent, p->sent - p->acked, p->received);
	u32 seq, first;

	unit_require(missing >= 0, "honest numbers are refused");
	p->told = p->received;
	p->again = WINDOW;
	first = p->sent - (u32)missing;
	unit_require(first == p->received, "%u goes out again, %u was received", first + 1, p->received);
	first -= min(extra, first - p->acked);
	for (seq = first + 1; seq != p->sent + 1; seq++)
		arrive(p, seq);
	unit_require(p->received == p->sent, "%u of %u arrived", p->received, p->sent);
}

static void breaks_lose_and_repeat_nothing(void **state)
{
	u32 round, step;

	for (round = 0; round < ROUNDS; round++) {
		struct unit_random r = unit_random_init(round);
		/* Some wrap. */
		u32 start = round % 2 ? 0 - unit_random_below(&r, STEPS) : 0;
		struct pipe p = { start, start, start, 0, 0 };

		for (step = 0; step < STEPS; step++) {
			u32 what = unit_random_below(&r, 16);

			if (what < 6 && p.sent - p.acked < WINDOW)
				p.sent++;
			else if (what < 11 && p.received != p.sent)
				unit_require(arrive(&p, p.received + 1), "a new message is dropped");
			else if (what < 15 && p.acked != p.received)
				p.acked++;
			else if (what == 15)
				reconnect(&p, unit_random_below(&r, 5));
		}
	}
}

static void a_first_connection_has_no_duplicates(void **state)
{
	assert_int_equal(dsm_seq_judge(1, 0, 0, 0), DSM_SEQ_NEXT);
	assert_int_equal(dsm_seq_judge(0, 0, 0, 0), DSM_SEQ_WRONG);
	assert_int_equal(dsm_seq_judge(5, 5, 0, 0), DSM_SEQ_WRONG);
	assert_int_equal(dsm_seq_judge(7, 5, 0, 0), DSM_SEQ_WRONG);
}

static void only_what_was_told_of_may_come_again(void **state)
{
	assert_int_equal(dsm_seq_judge(100, 100, 100, WINDOW), DSM_SEQ_AGAIN);
	assert_int_equal(dsm_seq_judge(100 - WINDOW + 1, 100, 100, WINDOW), DSM_SEQ_AGAIN);
	assert_int_equal(dsm_seq_judge(100 - WINDOW, 100, 100, WINDOW), DSM_SEQ_WRONG);
	/* What came on the new connection was not under way when the old one broke. */
	assert_int_equal(dsm_seq_judge(101, 102, 100, WINDOW), DSM_SEQ_WRONG);
	assert_int_equal(dsm_seq_judge(104, 102, 100, WINDOW), DSM_SEQ_WRONG);
	assert_int_equal(dsm_seq_judge(103, 102, 100, WINDOW), DSM_SEQ_NEXT);
}

static void lies_about_what_was_received_are_found(void **state)
{
	assert_int_equal(dsm_seq_missing(10, 4, 10), 0);
	assert_int_equal(dsm_seq_missing(10, 4, 6), 4);
	assert_int_equal(dsm_seq_missing(10, 4, 5), -1);	/* it acknowledged 6 */
	assert_int_equal(dsm_seq_missing(10, 4, 11), -1);	/* never sent */
	assert_int_equal(dsm_seq_missing(0, 0, 0), 0);
	assert_int_equal(dsm_seq_missing(0, 0, 1), -1);
	assert_int_equal(dsm_seq_missing(2, 5, 0xfffffffeu), 4);
	assert_int_equal(dsm_seq_missing(10, 0, 10), 0);
}

/*
 * Transfers to one word: WRITEs of rising numbers, each followed by a signal at times. When a
 * signal arrives, its receiver lets somebody else write there: what was written before must never
 * come back. @rule is dsm_seq_fate() or one that is wrong.
 */
struct word {
	u32 value;		/* what is there: of ours, or OTHERS */
	u32 signals;		/* received */
};

#define OTHERS 0xffffffffu

struct step {
	u8 op;
	u32 value;
};

static void take_place(struct word *w, const struct step *s)
{
	if (s->op == DSM_XFER_WRITE) {
		w->value = s->value;
	} else if (s->op == DSM_XFER_SIGNAL) {
		w->signals++;
		w->value = OTHERS;
	}
}

/* What the word and the signals are in the end if the connection breaks after @done steps. */
static struct word play(const struct step *plan, u32 n, u32 done, u32 acked,
			enum dsm_seq_fate (*rule)(u8 op, bool overtook),
			bool *atomics_told)
{
	struct word w = {};
	u32 i, later, posted = 0, missing = 0;

	for (i = 0; i < done; i++)
		take_place(&w, &plan[i]);
	for (i = acked; i < n; i++) {
		posted += plan[i].op == DSM_XFER_SIGNAL;
		missing += i >= done && plan[i].op == DSM_XFER_SIGNAL;
	}
	for (i = acked, later = posted; i < n; i++) {
		enum dsm_seq_fate fate = rule(plan[i].op, later > missing);

		if (fate == DSM_SEQ_REPEAT)
			take_place(&w, &plan[i]);
		if (plan[i].op == DSM_XFER_ADD)
			*atomics_told &= fate == DSM_SEQ_UNKNOWN;
		later -= plan[i].op == DSM_XFER_SIGNAL;
	}
	return w;
}

static enum dsm_seq_fate repeat_all(u8 op, bool overtook)
{
	return DSM_SEQ_REPEAT;
}

/* Plans whose end differs from what it is without a break. */
static u32 wrong_ends(enum dsm_seq_fate (*rule)(u8 op, bool overtook))
{
	u32 round, i, wrong = 0;

	for (round = 0; round < ROUNDS; round++) {
		static const u8 ops[] = { DSM_XFER_WRITE, DSM_XFER_WRITE, DSM_XFER_SIGNAL, DSM_XFER_READ,
					  DSM_XFER_ADD };
		struct unit_random r = unit_random_init(round);
		u32 n = 1 + unit_random_below(&r, 12), done, acked;
		struct word end, want = {};
		struct step plan[12] = {};
		bool atomics_told = true;

		for (i = 0; i < n; i++)
			plan[i] = (struct step){ ops[unit_random_below(&r, 5)], i + 1 };
		done = unit_random_below(&r, n + 1);
		acked = unit_random_below(&r, done + 1);
		for (i = 0; i < n; i++)
			take_place(&want, &plan[i]);
		end = play(plan, n, done, acked, rule, &atomics_told);
		wrong += end.value != want.value || end.signals != want.signals || !atomics_told;
	}
	return wrong;
}

static void transfers_take_effect_as_without_a_break(void **state)
{
	assert_int_equal(wrong_ends(dsm_seq_fate), 0);
	/* The test would see it. */
	assert_true(wrong_ends(repeat_all) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaks_lose_and_repeat_nothing),
		cmocka_unit_test(a_first_connection_has_no_duplicates),
		cmocka_unit_test(only_what_was_told_of_may_come_again),
		cmocka_unit_test(lies_about_what_was_received_are_found),
		cmocka_unit_test(transfers_take_effect_as_without_a_break),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
