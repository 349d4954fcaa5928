// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Rules of core/wire.h: layout of what crosses the network, and readers and
 * writers of message bodies at their bounds.
 */
#include "unit.h"

#include "bcast.h"
#include "wire.h"

struct layout {
	const char *name;
	size_t is;
	size_t want;
};

#define SIZE(type, bytes) { #type, sizeof(struct type), bytes }
#define FIELD(type, field, at) { #type "." #field, offsetof(struct type, field), at }

/* Written out a second time on purpose: a change of the wire format must not go unnoticed. */
static const struct layout layouts[] = {
	SIZE(dsm_wire_hdr, 32), FIELD(dsm_wire_hdr, flags, 1), FIELD(dsm_wire_hdr, len, 2),
	FIELD(dsm_wire_hdr, epoch, 4), FIELD(dsm_wire_hdr, src, 8), FIELD(dsm_wire_hdr, region, 12),
	FIELD(dsm_wire_hdr, xid, 16), FIELD(dsm_wire_hdr, seq, 20), FIELD(dsm_wire_hdr, credit, 24),
	SIZE(dsm_wire_sink, 16), FIELD(dsm_wire_sink, rkey, 8), FIELD(dsm_wire_sink, chunk, 12),
	SIZE(dsm_wire_fetch, 40), FIELD(dsm_wire_fetch, want, 4), FIELD(dsm_wire_fetch, need, 8),
	FIELD(dsm_wire_fetch, have, 16), FIELD(dsm_wire_fetch, sink, 24),
	SIZE(dsm_wire_page, 32), FIELD(dsm_wire_page, home, 6), FIELD(dsm_wire_page, ver, 8),
	FIELD(dsm_wire_page, chunk_addr, 16), FIELD(dsm_wire_page, chunk_rkey, 24),
	SIZE(dsm_wire_told, 24), FIELD(dsm_wire_told, sum, 8), FIELD(dsm_wire_told, number, 16),
	SIZE(dsm_wire_cast, 40), FIELD(dsm_wire_cast, version, 4), FIELD(dsm_wire_cast, src, 6),
	FIELD(dsm_wire_cast, cluster, 8), FIELD(dsm_wire_cast, region, 16), FIELD(dsm_wire_cast, idx, 20),
	FIELD(dsm_wire_cast, ver, 24), FIELD(dsm_wire_cast, number, 32), FIELD(dsm_wire_cast, off, 36),
	FIELD(dsm_wire_cast, len, 38),
	SIZE(dsm_wire_pack, 32), FIELD(dsm_wire_pack, region, 8), FIELD(dsm_wire_pack, writer, 12),
	FIELD(dsm_wire_pack, bytes, 24),
	SIZE(dsm_wire_record, 16), FIELD(dsm_wire_record, enc, 4), FIELD(dsm_wire_record, nruns, 6),
	FIELD(dsm_wire_record, bytes, 8), FIELD(dsm_wire_record, base_seq, 12),
	SIZE(dsm_wire_run, 4), FIELD(dsm_wire_run, len_minus_1, 2),
	SIZE(dsm_wire_ack, 24), FIELD(dsm_wire_ack, prev, 8), FIELD(dsm_wire_ack, ver, 16),
	SIZE(dsm_wire_know, 8), FIELD(dsm_wire_know, count, 2),
	SIZE(dsm_wire_notice, 16), FIELD(dsm_wire_notice, ver, 8),
	SIZE(dsm_wire_interval, 16), FIELD(dsm_wire_interval, seq, 8),
	SIZE(dsm_wire_lock, 32), FIELD(dsm_wire_lock, node, 8), FIELD(dsm_wire_lock, status, 12),
	FIELD(dsm_wire_lock, serial, 16), FIELD(dsm_wire_lock, lost, 24),
	SIZE(dsm_wire_arrive, 40), FIELD(dsm_wire_arrive, parties, 8), FIELD(dsm_wire_arrive, episode, 24),
	FIELD(dsm_wire_arrive, moves, 32),
	SIZE(dsm_wire_depart, 48), FIELD(dsm_wire_depart, count, 12), FIELD(dsm_wire_depart, parties, 24),
	FIELD(dsm_wire_depart, tree, 32), FIELD(dsm_wire_depart, moves, 40),
	SIZE(dsm_wire_ticket, 16), FIELD(dsm_wire_ticket, count, 8), FIELD(dsm_wire_ticket, hold, 12),
	FIELD(dsm_wire_ticket, flags, 14), SIZE(dsm_wire_move, 8), FIELD(dsm_wire_move, to, 4),
	FIELD(dsm_wire_page, loose, 28),
	SIZE(dsm_wire_flag, 24), FIELD(dsm_wire_flag, op, 8), FIELD(dsm_wire_flag, status, 12),
};

static void wire_structs_keep_their_layout(void **state)
{
	const struct layout *l;

	for (l = layouts; l < layouts + ARRAY_SIZE(layouts); l++)
		unit_require(l->is == l->want, "%s is %zu, not %zu", l->name, l->is, l->want);
}

static void message_numbers_are_unique_and_bytes(void **state)
{
	assert_true(DSM_MSG_TYPE_END <= 256);
	assert_int_equal(DSM_MSG_FETCH, 10);
	assert_int_equal(DSM_MSG_DIFF, 20);
	assert_int_equal(DSM_MSG_LOCK_REQ, 50);
	assert_int_equal(DSM_MSG_BAR_ARRIVE, 60);
	assert_int_equal(DSM_MSG_HEARTBEAT, 90);
	assert_int_equal(DSM_MSG_CONTROL, 100);
	assert_int_equal(DSM_MSG_INTERVAL_PULL, 130);
}

/* How a handler reads: fields of different lengths, then a skipped part. */
static const u32 parts[] = { 1, 4, 8, 2, 16, 5 };
#define PARTS_BYTES 36u

static void reader_ends_at_every_truncation(void **state)
{
	u8 whole[PARTS_BYTES], *body, out[16], zeros[16] = {};
	struct dsm_reader r;
	u32 len, i, at;
	bool fits;

	for (i = 0; i < PARTS_BYTES; i++)
		whole[i] = 0x40 + i;
	for (len = 0; len <= PARTS_BYTES; len++) {
		body = unit_copy(whole, len);
		r = dsm_reader_init(body, len);
		at = 0;
		fits = true;
		for (i = 0; i < ARRAY_SIZE(parts); i++) {
			/* Once bad, a part that would fit is not read either. */
			fits = fits && at + parts[i] <= len;
			memset(out, 0xee, sizeof(out));
			dsm_reader_take(&r, out, parts[i]);
			assert_memory_equal(out, fits ? whole + at : zeros, parts[i]);
			if (parts[i] < sizeof(out))
				assert_int_equal(out[parts[i]], 0xee);
			assert_int_equal(r.bad, !fits);
			at += parts[i];
		}
		assert_int_equal(dsm_reader_done(&r), len == PARTS_BYTES);
		free(body);
	}
}

static void skip_ends_at_every_truncation(void **state)
{
	struct dsm_reader r;
	u32 len, first;
	u8 *body;

	for (len = 0; len < 24; len++) {
		for (first = 0; first < 24; first++) {
			body = unit_alloc(len);
			memset(body, 1, len);
			r = dsm_reader_init(body, len);
			if (first <= len) {
				assert_ptr_equal(dsm_reader_skip(&r, first), body);
				assert_int_equal(dsm_reader_left(&r), len - first);
				assert_int_equal(dsm_reader_done(&r), first == len);
				assert_null(dsm_reader_skip(&r, len - first + 1));
			} else {
				assert_null(dsm_reader_skip(&r, first));
			}
			/* Bad for good, whatever is asked for next. */
			assert_true(r.bad);
			assert_null(dsm_reader_skip(&r, 0));
			assert_false(dsm_reader_done(&r));
			free(body);
		}
	}
}

static void reader_refuses_lengths_that_wrap(void **state)
{
	static const u32 lengths[] = { 9, 0x7fffffffu, 0x80000000u, 0xfffffff0u, 0xffffffffu };
	u8 body[8] = { 1 };
	struct dsm_reader r;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		r = dsm_reader_init(body, sizeof(body));
		assert_null(dsm_reader_skip(&r, lengths[i]));
		assert_true(r.bad);
		r = dsm_reader_init(body, sizeof(body));
		assert_non_null(dsm_reader_skip(&r, 4));
		assert_null(dsm_reader_skip(&r, lengths[i]));
	}
}

static void bytes_left_over_are_not_done(void **state)
{
	u8 body[8] = {}, out[8];
	struct dsm_reader r = dsm_reader_init(body, sizeof(body));

	dsm_reader_take(&r, out, 7);
	assert_false(r.bad);
	assert_false(dsm_reader_done(&r));
	dsm_reader_take(&r, out, 1);
	assert_true(dsm_reader_done(&r));
	dsm_reader_take(&r, out, 0);
	assert_true(dsm_reader_done(&r));
}

static void message_begins_with_its_header_and_zeros(void **state)
{
	static const u8 want[DSM_HDR_BYTES] = {
		10, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0x44, 0x33, 0x22, 0x11,
		0x88, 0x77, 0x66, 0x55,
	};
	u8 *data = unit_alloc(DSM_MSG_BYTES);
	struct dsm_msgbuf m = { .data = data, .len = 999, .page = data };

	memset(data, 0xee, DSM_MSG_BYTES);
	dsm_wire_begin(&m, DSM_MSG_FETCH, 0x11223344, 0x55667788);
	assert_memory_equal(data, want, DSM_HDR_BYTES);
	assert_int_equal(data[DSM_HDR_BYTES], 0xee);
	assert_int_equal(m.len, DSM_HDR_BYTES);
	assert_null(m.page);

	dsm_wire_set_flag(&m, DSM_HDR_MORE);
	dsm_wire_set_flag(&m, DSM_HDR_INVAL_ALL);
	assert_int_equal(data[1], DSM_HDR_MORE | DSM_HDR_INVAL_ALL);
	assert_int_equal(data[0], DSM_MSG_FETCH);
	free(data);
}

static jmp_buf broken_assertion;

static void on_broken_assertion(const char *cond, const char *file, int line)
{
	longjmp(broken_assertion, 1);
}

static void room_is_used_to_the_last_byte_and_no_further(void **state)
{
	u8 *data = unit_alloc(DSM_MSG_BYTES), *volatile body = unit_alloc(DSM_MSG_BYTES);
	struct dsm_msgbuf m = { .data = data };
	u32 room = DSM_MSG_BYTES - DSM_HDR_BYTES;

	memset(body, 0x5a, DSM_MSG_BYTES);
	dsm_wire_begin(&m, DSM_MSG_CONTROL, 0, 0);
	assert_int_equal(dsm_wire_room(&m), room);
	m.page = body;
	assert_int_equal(dsm_wire_room(&m), room - DSM_PAGE_BYTES);
	m.page = NULL;

	dsm_wire_put(&m, body, 100);
	dsm_wire_put(&m, body, 0);
	assert_int_equal(dsm_wire_room(&m), room - 100);
	dsm_wire_put(&m, body, room - 100);
	assert_int_equal(dsm_wire_room(&m), 0);
	assert_int_equal(m.len, DSM_MSG_BYTES);
	assert_memory_equal(data + DSM_HDR_BYTES, body, room);

	dsm_host_assert_handler = on_broken_assertion;
	if (!setjmp(broken_assertion)) {
		dsm_wire_put(&m, body, 1);
		unit_require(false, "a byte too many was put");
	}
	dsm_host_assert_handler = NULL;
	free(data);
	free(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wire_structs_keep_their_layout),
		cmocka_unit_test(message_numbers_are_unique_and_bytes),
		cmocka_unit_test(reader_ends_at_every_truncation),
		cmocka_unit_test(skip_ends_at_every_truncation),
		cmocka_unit_test(reader_refuses_lengths_that_wrap),
		cmocka_unit_test(bytes_left_over_are_not_done),
		cmocka_unit_test(message_begins_with_its_header_and_zeros),
		cmocka_unit_test(room_is_used_to_the_last_byte_and_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
