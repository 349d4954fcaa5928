// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/bcast.c that depend on numbers, and datagrams that nobody should have sent; the orders of messages are
 * the model's.
 */
#include "unit.h"
#include "world.h"

#define HOME 0
#define READERS 4
#define HINTS 4
#define CLUSTER 0x123456789abcdefull
#define WAIT_NS 1000

static struct dsm_bcast memory[READERS + 1];

static void start_with(u8 consistency)
{
	u32 i, k;

	world_start(READERS + 1);
	for (i = 0; i < w.nodes; i++) {
		struct dsm_policy *p = &w.node[i].space.policy;

		p->consistency = consistency;
		p->fetch = DSM_FETCH_COPY;
		p->bcast = DSM_BCAST_ADAPTIVE;
		memory[i] = (struct dsm_bcast){ .cluster = CLUSTER, .wait_ns = WAIT_NS, .secret = i + 1, .hints = HINTS };
		memory[i].heat = calloc(DSM_BCAST_HEAT, sizeof(struct dsm_heat));
		memory[i].hint = calloc(HINTS, sizeof(struct dsm_hint));
		for (k = 0; k < HINTS; k++)
			memory[i].hint[k].bytes = unit_alloc(DSM_PAGE_BYTES);
		dsm_bcast_set(world_engine(i), &memory[i]);
	}
}

static int start(void **state)
{
	start_with(DSM_CONSISTENCY_CASHMERE);
	return 0;
}

static int stop(void **state)
{
	u32 i, k, nodes = w.nodes;

	world_stop();
	for (i = 0; i < nodes; i++) {
		for (k = 0; k < HINTS; k++)
			free(memory[i].hint[k].bytes);
		free(memory[i].hint);
		free(memory[i].heat);
	}
	return 0;
}

static u64 sum(size_t offset)
{
	u64 total = 0;
	u32 i;

	for (i = 0; i < w.nodes; i++)
		total += *(u64 *)((u8 *)&world_engine(i)->stats + offset);
	return total;
}
#define SUM(what) sum(offsetof(struct dsm_core_stats, what))

/* The home writes page 0 and releases; all others hear of it. */
static void write_page(u8 value)
{
	u16 i;

	world_store(HOME, 0, 0, value);
	world_store(HOME, 0, DSM_PAGE_BYTES - 1, value + 1);
	assert_int_equal(world_release(HOME), 0);
	for (i = 1; i < w.nodes; i++)
		world_acquire(i);
}

static void read_page(u16 node, u8 value)
{
	assert_int_equal(world_load(node, 0, 0), value);
	assert_int_equal(world_load(node, 0, DSM_PAGE_BYTES - 1), (u8)(value + 1));
}

static void expire(u16 node)
{
	world_engine(node)->now_ns = ~0ull;
	dsm_bcast_expire(world_engine(node), world_begin(node));
	world_end(node);
	world_engine(node)->now_ns = 0;
}

/* Node 2 has been told of a multicast of page 0, whose datagram is w.cast and does not come by itself. */
static void await_multicast(u8 value)
{
	write_page(value);
	read_page(1, value);
	w.hold_cast = true;
	assert_int_equal(world_fault(2, 0, false), DSM_PAGE_NONE);
	world_run();
}

static void second_reader_of_an_interval_makes_it_wide(void **state)
{
	u16 i;

	write_page(1);
	read_page(1, 1);
	assert_int_equal(SUM(bcast_pages), 0);
	for (i = 2; i <= READERS; i++)
		read_page(i, 1);
	assert_int_equal(SUM(bcast_pages), 1);
	assert_int_equal(SUM(bcast_hits), READERS - 1);
	assert_int_equal(SUM(page_transfers), READERS);
	assert_int_equal(SUM(fetches_served), 1);
}

static void more_than_two_readers_last_time_make_it_wide(void **state)
{
	u8 round;
	u16 i;

	for (round = 1; round < 5; round++) {
		write_page(round * 10);
		for (i = 1; i <= READERS; i++)
			read_page(i, round * 10);
	}
	assert_int_equal(SUM(bcast_pages), 4);
	assert_int_equal(SUM(bcast_hits), 4 * READERS - 1);
	/* Two are not more than two: the first of them gets its own. */
	for (round = 5; round < 8; round++) {
		write_page(round * 10);
		read_page(1, round * 10);
		read_page(2, round * 10);
	}
	assert_int_equal(SUM(bcast_hits), 4 * READERS - 1 + 2 + 1 + 1);
}

static void one_reader_never_does(void **state)
{
	u8 round;

	for (round = 1; round < 20; round++) {
		write_page(round);
		read_page(1, round);
	}
	assert_int_equal(SUM(bcast_pages), 0);
}

static void nodes_that_wait_together_make_it_wide(void **state)
{
	world_load(1, 0, 0);
	world_store(HOME, 0, 0, 1);
	assert_int_equal(world_release(HOME), 0);
	world_acquire(1);
	world_acquire(1);
	world_acquire(1);
	world_run();
	/* Nobody has a copy: the home writes as it likes, and has to stop that first. */
	world_store(HOME, 0, 0, 7);
	assert_int_equal(world_page(HOME, 0)->state, DSM_PAGE_HX);
	w.hold_flush = true;
	assert_int_equal(world_fault(1, 0, false), DSM_PAGE_NONE);
	assert_int_equal(world_fault(2, 0, false), DSM_PAGE_NONE);
	world_run();
	assert_int_equal(SUM(bcast_pages), 0);
	w.hold_flush = false;
	world_run();
	assert_int_equal(SUM(bcast_pages), 1);
	assert_int_equal(world_load(1, 0, 0), 7);
	assert_int_equal(world_load(2, 0, 0), 7);
	assert_int_equal(SUM(bcast_hits), 2);
}

static void lost_multicast_is_asked_for_by_itself(void **state)
{
	u64 transfers;

	await_multicast(1);
	assert_int_equal(SUM(bcast_pages), 1);
	assert_true(dsm_page_busy(world_engine(2), world_page(2, 0)));
	transfers = SUM(page_transfers);
	expire(2);
	read_page(2, 1);
	assert_int_equal(SUM(page_transfers), transfers + 1);
	assert_int_equal(SUM(bcast_lost), 1);
	/* It comes all the same, and changes nothing. */
	w.hold_cast = false;
	world_run();
	read_page(2, 1);
	assert_int_equal(SUM(bcast_hits), 0);
}

/* The home has said that the bytes come by multicast: whatever it sends besides answers nothing. */
static void no_message_answers_instead_of_the_multicast(void **state)
{
	struct dsm_core_stats *stats = &world_engine(2)->stats;
	struct dsm_wire_page body = { .status = DSM_PAGE_STATUS_DATA, .home = cpu_to_le16(DSM_NO_NODE) };
	u8 data[DSM_PAGE_BYTES] = { 0xee };
	struct dsm_msgbuf *multicast, *m;
	u64 stale;

	await_multicast(1);
	multicast = w.cast;
	stale = stats->stale_replies;
	m = world_forge(DSM_MSG_PAGE, WORLD_REGION, world_page(2, 0)->xid);
	body.ver = cpu_to_le64(world_page(HOME, 0)->ver);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_wire_put(m, data, sizeof(data));
	assert_int_equal(world_inject(2, HOME, m), 0);
	assert_int_equal(stats->stale_replies, stale + 1);
	assert_int_equal(world_page(2, 0)->state, DSM_PAGE_FET);
	assert_int_equal(world_part(2, multicast, 0, DSM_PAGE_BYTES), 0);
	assert_int_equal(world_page(2, 0)->state, DSM_PAGE_RD);
	read_page(2, 1);
}

static void incomplete_multicast_is_not_used(void **state)
{
	struct dsm_msgbuf *m;

	await_multicast(1);
	m = w.cast;
	/* The same part again and again is not the other one. */
	assert_int_equal(world_part(2, m, 0, DSM_PAGE_BYTES - DSM_CAST_UNIT), 0);
	assert_int_equal(world_part(2, m, 0, DSM_PAGE_BYTES - DSM_CAST_UNIT), 0);
	assert_int_equal(world_page(2, 0)->state, DSM_PAGE_FET);
	assert_int_equal(world_part(2, m, DSM_PAGE_BYTES - DSM_CAST_UNIT, DSM_CAST_UNIT), 0);
	assert_int_equal(world_page(2, 0)->state, DSM_PAGE_RD);
	read_page(2, 1);
}

static void forged_bytes_are_not_used(void **state)
{
	struct dsm_msgbuf *m;

	await_multicast(1);
	m = w.cast;
	m->data[sizeof(struct dsm_wire_cast) + 1000] ^= 1;
	assert_int_equal(world_part(2, m, 0, DSM_PAGE_BYTES), 0);
	m->data[sizeof(struct dsm_wire_cast) + 1000] ^= 1;
	assert_int_equal(SUM(bcast_lost), 1);
	read_page(2, 1);
	assert_int_equal(SUM(bcast_hits), 0);
}

static void every_bit_counts_in_the_sum(void **state)
{
	u32 at, bit, lost = 0;
	struct dsm_msgbuf *m;
	u8 round;

	for (round = 1; round < 60; round++) {
		await_multicast(round);
		m = w.cast;
		at = round * 69 % DSM_PAGE_BYTES;
		bit = round % 8;
		m->data[sizeof(struct dsm_wire_cast) + at] ^= 1u << bit;
		assert_int_equal(world_part(2, m, 0, DSM_PAGE_BYTES), 0);
		assert_int_equal(SUM(bcast_lost), ++lost);
		w.cast = m->next;
		world_msg_free(m);
		read_page(2, round);
	}
}

static void home_that_is_lost_ends_the_wait(void **state)
{
	await_multicast(1);
	world_lose(HOME);
	assert_int_equal(world_fault(2, 0, false), -EHOSTDOWN);
	expire(2);
	assert_int_equal(SUM(bcast_lost), 0);
	/* What was under way from it is of no concern. */
	assert_int_equal(world_part(2, w.cast, 0, DSM_PAGE_BYTES), -ESRCH);
}

static void more_pages_than_may_wait_are_asked_for(void **state)
{
	u32 i, n = DSM_BCAST_WAITS + 3;

	for (i = 0; i < n; i++)
		world_store(HOME, i * w.nodes, 0, i + 1);
	assert_int_equal(world_release(HOME), 0);
	w.hold_cast = true;
	for (i = 0; i < n; i++)
		assert_int_equal(world_load(1, i * w.nodes, 0), i + 1);
	for (i = 0; i < n; i++)
		world_fault(2, i * w.nodes, false);
	world_run();
	expire(2);
	for (i = 0; i < n; i++)
		assert_int_equal(world_load(2, i * w.nodes, 0), i + 1);
}

static struct dsm_wire_cast sound(void)
{
	return (struct dsm_wire_cast){
		.magic = cpu_to_le32(DSM_CAST_MAGIC), .version = cpu_to_le16(DSM_WIRE_VERSION),
		.src = cpu_to_le16(HOME), .cluster = cpu_to_le64(CLUSTER), .region = cpu_to_le32(WORLD_REGION),
		.ver = cpu_to_le64(1), .number = cpu_to_le32(1), .len = cpu_to_le16(DSM_CAST_UNIT),
	};
}

static int try(const struct dsm_wire_cast *head, u32 bytes)
{
	u8 gram[sizeof(*head) + 2 * DSM_PAGE_BYTES] = {};

	memcpy(gram, head, sizeof(*head));
	return world_datagram(1, gram, sizeof(*head) + bytes);
}

#define TRY(want, bytes, field, value) do {		\
	struct dsm_wire_cast _head = sound();		\
							\
	_head.field = value;				\
	assert_int_equal(try(&_head, bytes), want);	\
} while (0)

static void datagrams_are_checked(void **state)
{
	u8 none[sizeof(struct dsm_wire_cast)] = {};
	u32 len;

	TRY(0, DSM_CAST_UNIT, idx, 0);
	TRY(-EPROTO, DSM_CAST_UNIT, magic, 0);
	TRY(-EPROTO, DSM_CAST_UNIT, version, cpu_to_le16(DSM_WIRE_VERSION + 1));
	TRY(-EPROTO, DSM_CAST_UNIT, number, 0);
	TRY(-EPROTO, DSM_CAST_UNIT, src, cpu_to_le16(DSM_MAX_NODES));
	TRY(-EPROTO, DSM_CAST_UNIT, src, cpu_to_le16(0xffff));
	TRY(-EPROTO, DSM_CAST_UNIT, off, cpu_to_le16(1));
	TRY(-EPROTO, DSM_CAST_UNIT, off, cpu_to_le16(DSM_PAGE_BYTES));
	TRY(-EPROTO, DSM_CAST_UNIT, off, cpu_to_le16(0xffff));
	TRY(-EPROTO, 0, len, 0);
	TRY(-EPROTO, DSM_CAST_UNIT + 1, len, cpu_to_le16(DSM_CAST_UNIT));
	TRY(-EPROTO, DSM_CAST_UNIT - 1, len, cpu_to_le16(DSM_CAST_UNIT));
	TRY(-EPROTO, DSM_CAST_UNIT - 1, len, cpu_to_le16(DSM_CAST_UNIT - 1));
	TRY(-EPROTO, 2 * DSM_PAGE_BYTES, len, cpu_to_le16(2 * DSM_PAGE_BYTES));
	TRY(-ESRCH, DSM_CAST_UNIT, cluster, 0);
	TRY(-ESRCH, DSM_CAST_UNIT, region, 0);
	TRY(-ESRCH, DSM_CAST_UNIT, region, cpu_to_le32(WORLD_REGION + 1));
	TRY(-ESRCH, DSM_CAST_UNIT, idx, cpu_to_le32(WORLD_PAGES));
	TRY(-ESRCH, DSM_CAST_UNIT, src, cpu_to_le16(1));
	TRY(-ESRCH, DSM_CAST_UNIT, src, cpu_to_le16(READERS + 1));
	for (len = 0; len < sizeof(none); len++)
		assert_int_equal(world_datagram(1, none, len), -EPROTO);
}

static void regions_without_it_take_none(void **state)
{
	struct dsm_wire_cast head = sound();

	w.node[1].space.policy.bcast = DSM_BCAST_OFF;
	assert_int_equal(try(&head, DSM_CAST_UNIT), -ESRCH);
	w.node[1].space.policy.bcast = DSM_BCAST_ADAPTIVE;
	memory[1].hints = 0;
	assert_int_equal(try(&head, DSM_CAST_UNIT), -ESRCH);
	/* And who takes none gets its pages by themselves. */
	write_page(1);
	read_page(2, 1);
	read_page(1, 1);
	assert_int_equal(SUM(bcast_hits), 0);
	memory[1].hints = HINTS;
}

/* A request that waited, and was answered without bytes, is no reader that waits with the next one. */
static void reg_answered_by_other_means_is_not_waiting_any_more(void **state)
{
	const struct dsm_asker to = { .node = 1, .owner = DSM_NO_NODE, .cast = true, .xid = 1 };
	struct dsm_engine *e = world_engine(HOME);
	struct dsm_page *p = world_touch(HOME, 0, true);

	world_begin(HOME);
	assert_true(dsm_page_defer(e, p, &to));
	dsm_page_replay(e, p, &w.acts);
	world_end(HOME);
	world_run();
	write_page(1);
	read_page(2, 1);
	assert_int_equal(SUM(bcast_pages), 0);
}

static void answers_that_were_not_asked_for_are_refused(void **state)
{
	const struct dsm_wire_page body = { .status = DSM_PAGE_STATUS_CAST, .ver = cpu_to_le64(1) };
	const struct dsm_wire_told told = { .key = cpu_to_le64(5), .number = cpu_to_le32(1) };
	struct dsm_msgbuf *m;

	memory[1].hints = 0;
	w.held[DSM_MSG_FETCH] = true;
	assert_int_equal(world_fault(1, 0, false), DSM_PAGE_NONE);
	m = world_forge(DSM_MSG_PAGE, WORLD_REGION, world_page(1, 0)->xid);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_wire_put(m, &told, sizeof(told));
	assert_int_equal(world_inject(1, HOME, m), -EPROTO);
	memory[1].hints = HINTS;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(second_reader_of_an_interval_makes_it_wide),
		TEST(more_than_two_readers_last_time_make_it_wide),
		TEST(one_reader_never_does),
		TEST(reg_answered_by_other_means_is_not_waiting_any_more),
		TEST(nodes_that_wait_together_make_it_wide),
		TEST(lost_multicast_is_asked_for_by_itself),
		TEST(no_message_answers_instead_of_the_multicast),
		TEST(incomplete_multicast_is_not_used),
		TEST(forged_bytes_are_not_used),
		TEST(every_bit_counts_in_the_sum),
		TEST(home_that_is_lost_ends_the_wait),
		TEST(more_pages_than_may_wait_are_asked_for),
		TEST(datagrams_are_checked),
		TEST(regions_without_it_take_none),
		TEST(answers_that_were_not_asked_for_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
