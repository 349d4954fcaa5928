// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Letters: places, their order, and what a hostile peer may write into them. How barriers and flags go on with
 * them is the explorer's matter (selftests/model).
 */
#include "unit.h"

#include "world.h"

#include "rsync.h"

#define MAIL(node) (((node) + 1) * 0x1000000ull)
#define RKEY(node) (40u + (node))

static struct dsm_rsync memory[2];
static struct dsm_waiter waiting[64];
static u32 n_waiting;

/* Two nodes that know each other's mail; the region has sync=rdma. */
static void start(void)
{
	u32 n;

	world_start(2);
	n_waiting = 0;
	for (n = 0; n < 2; n++) {
		memory[n] = (struct dsm_rsync){
			.word = calloc(DSM_RSYNC_WORDS, sizeof(u64)),
			.mail = calloc(1, sizeof(struct dsm_mail)),
			.landing = calloc(DSM_MAX_NODES, sizeof(union dsm_board_slot)),
			.letter = calloc(DSM_MAX_NODES, DSM_LETTER_BYTES),
			.mail_key = { .addr = MAIL(n), .rkey = RKEY(n) },
		};
		assert_true(memory[n].word && memory[n].mail && memory[n].landing && memory[n].letter);
		dsm_rsync_set(world_engine(n), &memory[n]);
		w.node[n].space.policy.sync = DSM_SYNC_RDMA;
		world_engine(n)->mail_key[!n] = (struct dsm_key){ .addr = MAIL(!n), .rkey = RKEY(!n) };
	}
}

static void stop(void)
{
	u32 n;

	world_stop();
	for (n = 0; n < 2; n++) {
		free(memory[n].word);
		free(memory[n].mail);
		free(memory[n].landing);
		free(memory[n].letter);
	}
}

/* A flag that node @manager manages. */
static u64 flag_of(u16 manager, u64 from)
{
	while (dsm_manager(&w.node[0].space, DSM_MSG_FLAG_OP, from) != manager)
		from++;
	return from;
}

/* The only transfer that the step wants, taken off it; NULL: none. */
static struct dsm_xfer *transfer(void)
{
	struct dsm_xfer *x = w.acts.xfer;

	if (x) {
		assert_null(x->next);
		assert_int_equal(x->op, DSM_XFER_SIGNAL);
		assert_int_equal(x->kind, DSM_XFER_KIND_LETTER);
	}
	w.acts.xfer = NULL;
	w.acts.xfer_last = &w.acts.xfer;
	return x;
}

/* Node 1 sends node 0 a record; its letter, or NULL: it was a message. */
static struct dsm_xfer *record(void)
{
	struct dsm_waiter *waiter = &waiting[n_waiting++];
	struct dsm_xfer *x;

	dsm_waiter_init(waiter);
	assert_int_equal(dsm_flag_start(world_engine(1), &w.node[1].space, flag_of(0, 0), DSM_FLAG_TEST, waiter,
					world_begin(1)), 0);
	x = transfer();
	world_end(1);
	return x;
}

/* The device's part. */
static void write_letter(const struct dsm_xfer *x)
{
	u64 at = x->remote - MAIL(x->dst);

	assert_int_equal(x->rkey, RKEY(x->dst));
	unit_require(at >= offsetof(struct dsm_mail, letter) && at + x->seg[0].len <= sizeof(struct dsm_mail),
		     "%u bytes at %llu of the mail", x->seg[0].len, (unsigned long long)at);
	memcpy((u8 *)memory[x->dst].mail + at, x->seg[0].page, x->seg[0].len);
}

static void forget(struct dsm_xfer *x)
{
	if (x->then)
		world_msg_free(x->then);
	free(x);
}

/* The signal of a letter from node 1 at node 0; what goes back is handed out. */
static int signal_of(u32 imm, const char **why, struct dsm_xfer **back)
{
	int len = dsm_letter_take(world_engine(0), 1, imm, why, world_begin(0));

	*back = transfer();
	world_end(0);
	return len;
}

static int deliver(struct dsm_xfer *x, struct dsm_xfer **back)
{
	const char *why = NULL;
	int len;

	write_letter(x);
	len = signal_of(x->imm, &why, back);
	unit_require(len > 0, "letter %x: %s", x->imm, why ? why : "nothing");
	assert_int_equal(len, x->seg[0].len);
	assert_memory_equal(memory[0].letter[1], x->seg[0].page, len);
	return len;
}

static void letters_find_places_until_none_is_free(void **state)
{
	struct dsm_xfer *x[DSM_LETTERS], *back;
	u32 i, k;

	start();
	for (i = 0; i < DSM_LETTERS; i++) {
		x[i] = record();
		assert_non_null(x[i]);
		for (k = 0; k < i; k++)
			assert_int_not_equal(x[k]->remote, x[i]->remote);
	}
	assert_int_equal(world_engine(1)->stats.letters, DSM_LETTERS);
	assert_null(record());
	assert_int_equal(world_count(DSM_MSG_FLAG_OP), 1);
	assert_int_equal(world_engine(1)->stats.letters_by_message, 1);
	/* Half of them taken: the other side is told without asking. */
	for (i = 0; i <= DSM_LETTERS / 2; i++) {
		deliver(x[i], &back);
		assert_true(!back == (i < DSM_LETTERS / 2));
	}
	assert_null(record());
	assert_int_equal(back->imm >> 24, DSM_SIGNAL_TAKEN);
	assert_int_equal(back->n_segs, 0);
	assert_int_equal(dsm_letter_on_taken(world_engine(1), 0, back->imm, &(const char *){ NULL }), 0);
	forget(back);
	back = record();
	assert_non_null(back);
	assert_int_equal(back->remote, x[0]->remote);
	forget(back);
	for (i = 0; i < DSM_LETTERS; i++)
		forget(x[i]);
	stop();
}

static void only_the_unbroken_beginning_is_acknowledged(void **state)
{
	struct dsm_letters *in, *out;
	struct dsm_xfer *x[4], *back;
	u32 i;

	start();
	in = &world_engine(0)->letters[1];
	out = &world_engine(1)->letters[0];
	for (i = 0; i < 4; i++)
		x[i] = record();
	deliver(x[2], &back);
	assert_null(back);
	deliver(x[1], &back);
	assert_null(back);
	assert_int_equal(in->taken, 0);
	deliver(x[0], &back);
	assert_null(back);
	assert_int_equal(in->taken, 3);
	deliver(x[3], &back);
	assert_int_equal(in->taken, 4);
	assert_int_equal(in->ahead, 0);
	/* An acknowledgement that was overtaken takes nothing back. */
	assert_int_equal(dsm_letter_on_taken(world_engine(1), 0, 4, &(const char *){ NULL }), 0);
	assert_int_equal(dsm_letter_on_taken(world_engine(1), 0, 1, &(const char *){ NULL }), 0);
	assert_int_equal(out->acked, 4);
	assert_int_equal(dsm_letter_on_taken(world_engine(1), 0, 5, &(const char *){ NULL }), -EPROTO);
	assert_int_equal(out->acked, 4);
	for (i = 0; i < 4; i++)
		forget(x[i]);
	stop();
}

static void numbers_go_round(void **state)
{
	struct dsm_xfer *x, *back;
	u32 i;

	start();
	world_engine(1)->letters[0] = (struct dsm_letters){ .sent = 0xfffffff8u, .acked = 0xfffffff8u };
	world_engine(0)->letters[1] = (struct dsm_letters){ .taken = 0xfffffff8u, .told = 0xfffffff8u };
	for (i = 0; i < 3 * DSM_LETTERS; i++) {
		x = record();
		unit_require(x, "letter %u", i);
		deliver(x, &back);
		forget(x);
		if (!back)
			continue;
		assert_int_equal(dsm_letter_on_taken(world_engine(1), 0, back->imm, &(const char *){ NULL }), 0);
		forget(back);
	}
	stop();
}

static void hostile_letters_are_refused(void **state)
{
	struct dsm_wire_hdr *hdr, good;
	struct dsm_xfer *x, *back;
	const char *why;

	start();
	x = record();
	write_letter(x);
	hdr = (struct dsm_wire_hdr *)memory[0].mail->letter[1][0];
	good = *hdr;
#define REFUSED(imm, text) do { \
	assert_int_equal(signal_of(imm, &why, &back), -EPROTO); \
	assert_non_null(strstr(why, text)); \
	assert_int_equal(world_engine(0)->letters[1].taken, 0); \
	*hdr = good; \
} while (0)
	REFUSED(x->imm + DSM_LETTERS, "no such place");
	REFUSED(x->imm - 1, "no such place");
	REFUSED(x->imm + 1, "another letter");
	hdr->seq = cpu_to_le32(DSM_LETTERS);
	REFUSED(x->imm, "another letter");
	hdr->len = cpu_to_le16(DSM_HDR_BYTES - 1);
	REFUSED(x->imm, "length");
	hdr->len = cpu_to_le16(DSM_LETTER_BYTES + 1);
	REFUSED(x->imm, "length");
	hdr->src = 0;
	REFUSED(x->imm, "sender");
	hdr->epoch = cpu_to_le32(1);
	REFUSED(x->imm, "epoch");
	hdr->type = DSM_MSG_FETCH;
	REFUSED(x->imm, "type");
	hdr->type = DSM_MSG_CONTROL;
	REFUSED(x->imm, "type");
	hdr->credit = cpu_to_le64(1);
	REFUSED(x->imm, "not sent");
	assert_true(signal_of(x->imm, &why, &back) > 0);
	assert_int_equal(signal_of(x->imm, &why, &back), -EPROTO);
	/* Of a peer that was lost meanwhile nothing is looked at. */
	world_learn_loss(0, 1);
	assert_int_equal(signal_of(x->imm, &why, &back), 0);
	assert_int_equal(dsm_letter_on_taken(world_engine(0), 1, 9, &why), 0);
	forget(x);
	stop();
}

/* A node that has no such memory, and one that has not told of it. */
static void without_mail_there_are_messages(void **state)
{
	struct dsm_xfer *back;
	const char *why;

	start();
	world_engine(1)->mail_key[0].rkey = 0;
	assert_null(record());
	world_engine(1)->mail_key[0].rkey = RKEY(0);
	w.node[1].space.policy.sync = DSM_SYNC_MSG;
	assert_null(record());
	assert_int_equal(world_count(DSM_MSG_FLAG_OP), 2);
	assert_int_equal(world_engine(1)->stats.letters_by_message, 1);
	dsm_rsync_set(world_engine(0), NULL);
	assert_int_equal(signal_of(DSM_SIGNAL_LETTER << 24, &why, &back), -EPROTO);
	stop();
}

static void who_comes_again_begins_anew(void **state)
{
	struct dsm_xfer *x, *back;

	start();
	x = record();
	deliver(x, &back);
	forget(x);
	world_learn_loss(0, 1);
	world_learn_loss(1, 0);
	dsm_engine_peer_up(world_engine(0), 1);
	dsm_engine_peer_up(world_engine(1), 0);
	w.node[0].space.users = w.node[1].space.users = 3;
	assert_null(record());
	world_engine(1)->mail_key[0] = (struct dsm_key){ .addr = MAIL(0), .rkey = RKEY(0) };
	x = record();
	assert_int_equal(x->imm & DSM_LETTER_NUMBER, 0);
	deliver(x, &back);
	forget(x);
	stop();
}

/* What a letter has no room for is left out, and pulled. */
static void much_knowledge_is_pulled(void **state)
{
	struct dsm_engine *e;
	struct dsm_xfer *x, *back;
	struct dsm_interval *rec;
	struct list_head notes;
	u32 i, len;

	start();
	e = world_engine(1);
	INIT_LIST_HEAD(&notes);
	for (i = 0; i < 40; i++) {
		world_begin(1);
		rec = dsm_pool_take(e, DSM_POOL_INTERVAL);
		*rec = (struct dsm_interval){ .node = 1, .count = DSM_NOTICES_PER_RECORD };
		list_add_tail(&rec->link, &notes);
	}
	dsm_log_append_own(e, &notes);
	x = record();
	len = x->seg[0].len;
	assert_in_range(len, DSM_LETTER_BYTES - 128, DSM_LETTER_BYTES);
	assert_int_equal(x->then->data[1], DSM_HDR_MORE);
	deliver(x, &back);
	assert_int_equal(dsm_engine_check(memory[0].letter[1], len, NULL, NULL), 0);
	assert_int_equal(dsm_engine_recv(world_engine(0), 1, memory[0].letter[1], len, world_begin(0)), 0);
	world_end(0);
	assert_int_equal(world_count(DSM_MSG_INTERVAL_PULL), 1);
	forget(x);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_find_places_until_none_is_free),
		cmocka_unit_test(only_the_unbroken_beginning_is_acknowledged),
		cmocka_unit_test(numbers_go_round),
		cmocka_unit_test(hostile_letters_are_refused),
		cmocka_unit_test(without_mail_there_are_messages),
		cmocka_unit_test(who_comes_again_begins_anew),
		cmocka_unit_test(much_knowledge_is_pulled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
