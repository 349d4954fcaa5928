// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of net/credit.c: no message is ever sent without a slot for it, counts stay exact however
 * messages are put together in chains and however connections overtake each other, both sides can
 * always go on, and no lie of a peer changes a count.
 */
#include "unit.h"
#include "../../kmod/net/credit.h"

#define CHAIN_MAX 32
#define QUEUE_MAX 1024

static const u16 window[DSM_CREDIT_COUNT] = {
	[DSM_CLASS_REQ] = DSM_SLOTS_REQ,
	[DSM_CLASS_FWD] = DSM_SLOTS_FWD,
	[DSM_CLASS_RSP] = DSM_SLOTS_RSP,
	[DSM_CREDIT_SIGNAL] = DSM_SLOTS_SIGNAL,
};

struct message {
	enum dsm_class class;
	bool is_credit;
	bool brief;		/* an answer without a header: @word is what dsm_credit_brief() said */
	u64 word;
};

/* What one side has sent on one connection and the other has not received. */
struct wire {
	struct message message[QUEUE_MAX];
	u32 head;
	u32 tail;
};

/**
 * struct side - one of the two nodes
 * @c:       the counts under test
 * @out:     connections to the other side
 * @posted:  receive slots with the device
 * @handled: messages whose handler still runs, whose slots are not posted again
 * @sent:    messages of all classes
 */
struct side {
	struct dsm_credits c;
	struct wire out[DSM_VC_COUNT];
	u32 posted[DSM_CREDIT_COUNT];
	u32 handled[DSM_CREDIT_COUNT];
	u64 sent[DSM_CREDIT_COUNT];
};

static struct side side[2];
static struct unit_random rnd;

static int start(void **state)
{
	int s, i;

	memset(side, 0, sizeof(side));
	rnd = unit_random_init(21);
	for (s = 0; s < 2; s++) {
		dsm_credit_init(&side[s].c);
		for (i = 0; i < DSM_CREDIT_COUNT; i++)
			side[s].posted[i] = window[i];
	}
	return 0;
}

static enum dsm_vc vc_of(enum dsm_class class)
{
	if (class == DSM_CREDIT_SIGNAL)
		return DSM_VC_B;
	return class == DSM_CLASS_RSP ? DSM_VC_P : DSM_VC_Q;
}

/* There is a credit: count, fill the header. */
static void stage_one(struct side *s, struct message *chain, u32 *n, enum dsm_class class)
{
	dsm_credit_use(&s->c, class);
	chain[*n] = (struct message){ .class = class };
	if (class == DSM_CLASS_RSP && unit_random_below(&rnd, 2)) {
		int brief = dsm_credit_brief(&s->c);

		chain[*n].brief = brief >= 0;
		chain[*n].word = brief;
	}
	/* A signal has no header. */
	if (!chain[*n].brief && class != DSM_CREDIT_SIGNAL)
		chain[*n].word = dsm_credit_word(&s->c, vc_of(class));
	s->sent[class]++;
	(*n)++;
}

/* As dsm_send_push() does it; the doorbell comes later. */
static bool stage(struct side *s, struct message *chain, u32 *n, enum dsm_class class)
{
	if (!dsm_credit_may_send(&s->c, class))
		return false;
	stage_one(s, chain, n, class);
	return true;
}

static void doorbell(struct side *s, enum dsm_vc vc, const struct message *chain, u32 n)
{
	struct wire *w = &s->out[vc];
	u32 i;

	for (i = 0; i < n; i++) {
		unit_require(w->tail - w->head < QUEUE_MAX, "more under way than all windows");
		w->message[w->tail++ % QUEUE_MAX] = chain[i];
	}
}

static void send_chain(struct side *s, enum dsm_vc vc, u32 most)
{
	struct message chain[CHAIN_MAX];
	u32 n = 0;

	if (vc == DSM_VC_Q)
		while (n < most && stage(s, chain, &n, unit_random_below(&rnd, 4) ? DSM_CLASS_REQ :
									    DSM_CLASS_FWD))
			;
	else
		while (n < most && stage(s, chain, &n, vc == DSM_VC_P ? DSM_CLASS_RSP :
									DSM_CREDIT_SIGNAL))
			;
	doorbell(s, vc, chain, n);
}

static bool send_credit(struct side *s, enum dsm_vc vc, bool idle)
{
	struct message one;
	u32 n = 0;

	if (!dsm_credit_may_return(&s->c, vc, idle))
		return false;
	stage_one(s, &one, &n, vc == DSM_VC_Q ? DSM_CLASS_REQ : DSM_CLASS_RSP);
	one.is_credit = true;
	doorbell(s, vc, &one, n);
	return true;
}

static bool receive(struct side *from, struct side *to, enum dsm_vc vc)
{
	struct wire *w = &from->out[vc];
	struct message *m;

	if (w->head == w->tail)
		return false;
	m = &w->message[w->head++ % QUEUE_MAX];
	unit_require(to->posted[m->class] > 0, "class %d", m->class);
	to->posted[m->class]--;
	to->handled[m->class]++;
	unit_require(dsm_credit_receive(&to->c, m->class), "class %d", m->class);
	if (vc != DSM_VC_B)
		unit_require(dsm_credit_take(&to->c, vc, m->brief ? dsm_credit_brief_word(&to->c, m->word) :
					     m->word), "vc %d", vc);
	return true;
}

static bool repost(struct side *s, enum dsm_class class)
{
	if (!s->handled[class])
		return false;
	s->handled[class]--;
	s->posted[class]++;
	dsm_credit_repost(&s->c, class);
	return true;
}

/* Everything arrives and is handled, and idle sides return what they owe. */
static void settle(void)
{
	bool moved = true;
	int s, i;

	while (moved) {
		moved = false;
		for (s = 0; s < 2; s++) {
			for (i = 0; i < DSM_VC_COUNT; i++)
				while (receive(&side[s], &side[!s], i))
					moved = true;
			for (i = 0; i < DSM_CREDIT_COUNT; i++)
				while (repost(&side[s], i))
					moved = true;
			moved |= send_credit(&side[s], DSM_VC_Q, true);
			moved |= send_credit(&side[s], DSM_VC_P, true);
		}
	}
}

/* With nothing under way each side's view of the other's slots is exact. */
static void check_exact(void)
{
	int s, i;

	for (s = 0; s < 2; s++)
		for (i = 0; i < DSM_CREDIT_COUNT; i++) {
			const struct dsm_credit *mine = &side[s].c.of[i], *its = &side[!s].c.of[i];

			unit_require(side[s].posted[i] == window[i], "class %d", i);
			unit_require((u16)(its->granted - mine->sent) == window[i], "class %d", i);
			unit_require(mine->limit == its->advertised, "class %d", i);
			unit_require(mine->sent == (u16)side[s].sent[i], "class %d", i);
			unit_require((u16)(its->granted - its->advertised) < window[i] / 4, "class %d", i);
			unit_require(dsm_credit_may_send(&side[s].c, i), "class %d", i);
		}
}

/* Long enough that every count wraps. */
static void chains_keep_counts_exact(void **state)
{
	u32 step;
	int i;

	for (step = 0; step < 800000; step++) {
		struct side *s = &side[unit_random_below(&rnd, 2)];
		struct side *other = s == &side[0] ? &side[1] : &side[0];

		switch (unit_random_below(&rnd, 4)) {
		case 0:
			send_chain(s, DSM_VC_Q + unit_random_below(&rnd, 3),
				   1 + unit_random_below(&rnd, CHAIN_MAX));
			send_credit(s, DSM_VC_Q, false);
			send_credit(s, DSM_VC_P, false);
			break;
		case 1:
		case 2:
			for (i = unit_random_below(&rnd, 40); i; i--)
				receive(s, other, DSM_VC_Q + unit_random_below(&rnd, 3));
			break;
		default:
			for (i = unit_random_below(&rnd, 40); i; i--)
				repost(s, unit_random_below(&rnd, DSM_CREDIT_COUNT));
		}
		if (step % 5000 == 0) {
			settle();
			check_exact();
		}
	}
	settle();
	check_exact();
	for (i = 0; i < DSM_CREDIT_COUNT; i++)
		unit_require(side[0].sent[i] > U16_MAX, "class %d: only %llu", i,
			     (unsigned long long)side[0].sent[i]);
}

/* A chain takes what there is and leaves the last credit to a message that returns others. */
static void last_credit_returns_others(void **state)
{
	struct message chain[DSM_SLOTS_REQ + 1];
	u32 n = 0, i;
	u64 word;

	while (stage(&side[0], chain, &n, DSM_CLASS_REQ))
		;
	assert_int_equal(n, DSM_SLOTS_REQ - 1);
	/* Replies were handled: their credits are owed, and go out on Q. */
	for (i = 1; i <= DSM_SLOTS_RSP / 4; i++) {
		assert_false(dsm_credit_may_return(&side[0].c, DSM_VC_Q, true));
		assert_true(dsm_credit_receive(&side[0].c, DSM_CLASS_RSP));
		dsm_credit_repost(&side[0].c, DSM_CLASS_RSP);
		assert_false(stage(&side[0], chain, &n, DSM_CLASS_REQ));
	}
	assert_true(send_credit(&side[0], DSM_VC_Q, true));
	word = side[0].out[DSM_VC_Q].message[0].word;
	assert_int_equal((u16)(word >> (16 * DSM_CLASS_RSP)), DSM_SLOTS_RSP + DSM_SLOTS_RSP / 4);
	assert_int_equal((u16)(side[0].c.of[DSM_CLASS_REQ].limit - side[0].c.of[DSM_CLASS_REQ].sent), 0);
}

#define FLOOD 100	/* as ANSWERS_MOST */

/*
 * Side 1 asks whenever it may, 16 at once as by a bulk, and takes answers only by and by. What waits for it stays within a
 * bound; when it takes them all, it can ask again.
 */
static void who_takes_no_answers_may_ask_no_more(void **state)
{
	struct side *at_home = &side[0], *asker = &side[1];
	u32 waits = 0, most = 0, step;
	struct message chain[1];

	for (step = 0; step < 100000; step++) {
		struct wire *w = &asker->out[DSM_VC_Q];
		u32 n = 0;

		if (stage(asker, chain, &n, unit_random_below(&rnd, 8) ? DSM_CLASS_REQ : DSM_CLASS_FWD))
			doorbell(asker, DSM_VC_Q, chain, n);
		send_credit(asker, DSM_VC_Q, true);
		while (w->head != w->tail) {
			struct message m = w->message[w->head % QUEUE_MAX];

			receive(asker, at_home, DSM_VC_Q);
			at_home->handled[m.class]--;
			at_home->posted[m.class]++;
			waits += m.is_credit ? 0 : m.class == DSM_CLASS_REQ ? 16 : 1;
			if (m.class == DSM_CLASS_REQ && !m.is_credit && waits >= FLOOD)
				dsm_credit_withhold(&at_home->c);
			else
				dsm_credit_repost(&at_home->c, m.class);
		}
		most = max(most, waits);
		for (n = 0; waits && stage(at_home, chain, &n, DSM_CLASS_RSP); n = 0, waits--)
			doorbell(at_home, DSM_VC_P, chain, n);
		if (waits <= FLOOD / 2)
			dsm_credit_release(&at_home->c);
		send_credit(at_home, DSM_VC_P, true);
		for (n = unit_random_below(&rnd, 3); n; n--) {
			receive(at_home, asker, DSM_VC_P);
			repost(asker, DSM_CLASS_RSP);
		}
		unit_require(waits <= FLOOD + 16 * DSM_SLOTS_REQ + DSM_SLOTS_FWD, "%u answers wait in step %u", waits, step);
	}
	assert_true(most > FLOOD);
	assert_true(asker->sent[DSM_CLASS_REQ] > 1000);
	while (waits) {
		u32 n = 0, before = waits;

		settle();
		while (waits && stage(at_home, chain, &n, DSM_CLASS_RSP)) {
			doorbell(at_home, DSM_VC_P, chain, n);
			n = 0;
			waits--;
		}
		if (waits <= FLOOD / 2)
			dsm_credit_release(&at_home->c);
		unit_require(waits < before, "%u answers wait for ever", waits);
	}
	assert_int_equal(at_home->c.held, 0);
	settle();
	check_exact();
}

/* Both flood each other with everything; nobody may run dry for good. */
static void floods_never_stick(void **state)
{
	u64 before[2][DSM_CREDIT_COUNT];
	u32 round;
	int s, vc, i;

	for (round = 0; round < 2000; round++) {
		for (s = 0; s < 2; s++) {
			memcpy(before[s], side[s].sent, sizeof(before[s]));
			for (vc = DSM_VC_Q; vc <= DSM_VC_B; vc++)
				send_chain(&side[s], vc, CHAIN_MAX);
			send_credit(&side[s], DSM_VC_Q, false);
			send_credit(&side[s], DSM_VC_P, false);
		}
		for (s = 0; s < 2; s++) {
			for (vc = 0; vc < DSM_VC_COUNT; vc++)
				while (receive(&side[s], &side[!s], vc))
					;
			for (i = 0; i < DSM_CREDIT_COUNT; i++)
				while (repost(&side[!s], i))
					;
		}
		for (s = 0; s < 2; s++)
			unit_require(memcmp(before[s], side[s].sent, sizeof(before[s])),
				     "side %d stands still in round %u", s, round);
	}
	settle();
	check_exact();
}

static void lies_change_nothing(void **state)
{
	struct dsm_credits *c = &side[0].c, was;
	int i;

	/* Not yet sent, so nothing can have been handled: one more than the window is a lie. */
	was = *c;
	assert_false(dsm_credit_take(c, DSM_VC_P, DSM_SLOTS_REQ + 1));
	assert_memory_equal(&was, c, sizeof(was));
	/* A count that goes back. */
	assert_false(dsm_credit_take(c, DSM_VC_P, DSM_SLOTS_REQ - 1));
	assert_memory_equal(&was, c, sizeof(was));
	/* What another connection carries is not believed. */
	assert_true(dsm_credit_take(c, DSM_VC_Q, (u64)DSM_SLOTS_RSP << (16 * DSM_CLASS_RSP)));
	assert_memory_equal(&was, c, sizeof(was));
	/* As many as were granted, and not one more. */
	for (i = 0; i < DSM_SLOTS_FWD; i++)
		assert_true(dsm_credit_receive(c, DSM_CLASS_FWD));
	assert_false(dsm_credit_receive(c, DSM_CLASS_FWD));
	/* A slot posted again counts only once a header has told of it. */
	dsm_credit_repost(c, DSM_CLASS_FWD);
	assert_false(dsm_credit_receive(c, DSM_CLASS_FWD));
	dsm_credit_word(c, DSM_VC_P);
	assert_true(dsm_credit_receive(c, DSM_CLASS_FWD));
}

/* Few slots: they are owed before the credits that stand for them are, and are used but once. */
static void slots_of_a_ring_come_back(void **state)
{
	struct dsm_credits *c = &side[0].c;
	u32 round, i;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < DSM_BULK_SLOTS; i++) {
			assert_int_equal(dsm_credit_return_due(c, DSM_VC_P, false), i >= DSM_BULK_SLOTS / 2);
			assert_true(dsm_credit_receive_bulk(c));
			dsm_credit_repost_bulk(c);
		}
		/* There are credits left, but no slot. */
		assert_false(dsm_credit_receive_bulk(c));
		assert_true(dsm_credit_receive(c, DSM_CLASS_REQ));
		dsm_credit_repost(c, DSM_CLASS_REQ);
		/* Only the connection of replies tells of them. */
		assert_false(dsm_credit_return_due(c, DSM_VC_Q, true));
		dsm_credit_word(c, DSM_VC_Q);
		assert_false(dsm_credit_receive_bulk(c));
		/* With a header or without one. */
		if (round % 2)
			assert_int_equal(dsm_credit_brief(c), DSM_BULK_SLOTS + 1);
		else
			dsm_credit_word(c, DSM_VC_P);
		assert_false(dsm_credit_return_due(c, DSM_VC_P, true));
	}
	/* A slot without a credit is no slot. */
	for (i = 0; i < DSM_SLOTS_REQ; i++)
		assert_true(dsm_credit_receive(c, DSM_CLASS_REQ));
	assert_false(dsm_credit_receive_bulk(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(chains_keep_counts_exact, start),
		cmocka_unit_test_setup(last_credit_returns_others, start),
		cmocka_unit_test_setup(who_takes_no_answers_may_ask_no_more, start),
		cmocka_unit_test_setup(floods_never_stick, start),
		cmocka_unit_test_setup(lies_change_nothing, start),
		cmocka_unit_test_setup(slots_of_a_ring_come_back, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
