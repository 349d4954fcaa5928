// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * metadata=rdma: rings that are full, what a hostile peer may write into one or say of one, answers about words
 * that nobody asked for, and who has the only copy when it is lost. Orders of transfers are the explorer's matter
 * (selftests/model).
 */
#include "unit.h"
#include "dir_world.h"

#include "release.h"
#include "ring.h"

/* The home was told by another node that the only copy is here, where nobody has touched the page. */
static void reg_break_of_a_page_never_touched(void **state)
{
	struct dsm_wire_csm body = { .idx = cpu_to_le32(1) };
	struct dsm_msgbuf *m = world_forge(DSM_MSG_CSM_BREAK, WORLD_REGION, 7);

	w.held[DSM_MSG_CSM_BACK] = true;
	dsm_wire_put(m, &body, sizeof(body));
	assert_int_equal(world_inject(A, B, m), 0);
	world_run();
	assert_int_equal(world_count(DSM_MSG_CSM_BACK), 1);
	assert_int_equal(((struct dsm_wire_csm *)world_body(DSM_MSG_CSM_BACK))->granted, 1);
	world_drop_at(0);
}

/* B has written @n notices of page 1, of ascending versions, and says so. */
static void written(u64 from, u32 n, u64 says)
{
	struct dsm_ring *ring = &memory[A].mail->ring[B].ring;
	u32 i;

	for (i = 0; i < n; i++)
		ring->notice[(from + i) % DSM_RING_NOTICES] = (struct dsm_wire_notice){
			.region = cpu_to_le32(WORLD_REGION), .idx = cpu_to_le32(1), .ver = cpu_to_le64(from + i + 1),
		};
	ring->tail = cpu_to_le64(says);
}

static u32 apply(void)
{
	struct dsm_page *out[8];
	bool more = false;
	u32 n = dsm_ring_apply(world_engine(A), out, 8, &more);

	assert_false(more && !world_engine(A)->inval_all);
	return n;
}

static void an_acquire_finds_what_is_in_the_ring(void **state)
{
	struct dsm_page *p = copy();

	assert_false(dsm_acq_needed(world_engine(A)));
	written(0, 3, 3);
	assert_true(dsm_acq_needed(world_engine(A)));
	assert_int_equal(dsm_ring_waiting(world_engine(A), NULL), 3);
	assert_true(dsm_ring_names(world_engine(A), p));
	assert_int_equal(apply(), 1);
	assert_int_equal(p->state, DSM_PAGE_INV);
	assert_int_equal(p->need, 3);
	assert_int_equal(world_engine(A)->stats.notices_received, 3);
	assert_false(dsm_acq_needed(world_engine(A)));
	/* Around the end of the ring. */
	written(3, DSM_RING_NOTICES, 3 + DSM_RING_NOTICES);
	assert_int_equal(dsm_ring_waiting(world_engine(A), NULL), DSM_RING_NOTICES);
	apply();
	assert_int_equal(p->need, 3 + DSM_RING_NOTICES);
}

/* Who comes with a lost node's number writes its ring from the beginning, whatever regions there were meanwhile. */
static void a_ring_begins_anew_when_its_writer_is_lost(void **state)
{
	struct dsm_engine *e = world_engine(A);
	struct dsm_page *p = copy();
	u32 regions = e->csm.dirs;

	written(0, 3, 3);
	assert_int_equal(apply(), 1);
	e->csm.dirs = 0;
	dsm_ring_peer_lost(e, B, world_begin(A));
	world_end(A);
	e->csm.dirs = regions;
	assert_false(dsm_ring_waits(e));
	dsm_page_set_state(p, DSM_PAGE_RD);
	/* As many as of the other one. */
	written(3, 3, 3);
	memmove(memory[A].mail->ring[B].ring.notice, memory[A].mail->ring[B].ring.notice + 3,
		3 * sizeof(struct dsm_wire_notice));
	assert_int_equal(apply(), 1);
	assert_int_equal(p->need, 6);
}

static void a_count_that_cannot_be_means_anything(void **state)
{
	static const u64 lies[] = { DSM_RING_NOTICES + 6, 5, U64_MAX, 0 };
	u32 i;

	copy();
	written(0, 5, 5);
	apply();
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		world_engine(A)->inval_all = false;
		memory[A].mail->ring[B].ring.tail = cpu_to_le64(lies[i]);
		apply();
		/* The last is one more than the one before. */
		assert_int_equal(world_engine(A)->inval_all, i < 3);
		assert_false(dsm_ring_waits(world_engine(A)));
	}
}

static void notices_of_what_is_not_here_are_nothing(void **state)
{
	struct dsm_ring *ring = &memory[A].mail->ring[B].ring;
	static const struct { u32 region, idx; } not_here[] = {
		{ 0, 1 }, { ~0u, 1 }, { WORLD_REGION, 0 }, { WORLD_REGION, WORLD_PAGES }, { WORLD_REGION, ~0u }, { WORLD_REGION, 3 },
	};
	u32 i;

	world_page(A, 0);
	for (i = 0; i < ARRAY_SIZE(not_here); i++)
		ring->notice[i] = (struct dsm_wire_notice){ .region = cpu_to_le32(not_here[i].region),
							    .idx = cpu_to_le32(not_here[i].idx),
							    .ver = cpu_to_le64(U64_MAX) };
	ring->tail = cpu_to_le64(i);
	assert_int_equal(apply(), 0);
	assert_false(world_engine(A)->inval_all);
}

/* B's page 1 got version after version; what is written to A, given back to the pool. */
static u32 put(u32 n)
{
	struct dsm_engine *e = world_engine(B);
	struct dsm_page *p = world_page(B, 1);
	u32 i, done = 0;

	world_begin(B);
	for (i = 0; i < n; i++)
		done += dsm_ring_put(e, A, p, i + 1);
	world_end(B);
	return done;
}

static void a_full_ring_takes_no_more_until_it_is_taken_from(void **state)
{
	struct dsm_ring_out *o = &world_engine(B)->csm.out[A];

	world_engine(B)->rel[0].pending = 1;
	assert_int_equal(put(DSM_RING_NOTICES + 3), DSM_RING_NOTICES);
	/* Once for the release, however many they are. */
	assert_int_equal(world_engine(B)->rel[0].pending, 2);
	o->posted = o->put;
	assert_int_equal(dsm_ring_taken(world_engine(B), A, DSM_RING_NOTICES + 1), -EPROTO);
	assert_int_equal(dsm_ring_taken(world_engine(B), A, 7), 0);
	/* Older than that. */
	assert_int_equal(dsm_ring_taken(world_engine(B), A, 2), 0);
	assert_int_equal(put(9), 7);
	o->next = 0;
	world_engine(B)->csm.put = 0;
	world_engine(B)->rel[0].pending = 0;
}

static void without_a_place_to_write_to_it_is_a_message(void **state)
{
	world_engine(B)->mail_key[A] = (struct dsm_key){};
	assert_int_equal(put(1), 0);
}

static int here_at(u16 from, u32 idx, u32 xid, u32 rkey, u64 addr)
{
	u8 msg[DSM_HDR_BYTES + sizeof(struct dsm_wire_dir)] = {};
	const struct dsm_wire_hdr hdr = {
		.type = DSM_MSG_CSM_HERE, .len = cpu_to_le16(sizeof(msg)), .src = cpu_to_le32(from),
		.region = cpu_to_le32(WORLD_REGION), .xid = cpu_to_le32(xid),
	};
	const struct dsm_wire_dir body = { .idx = cpu_to_le32(idx), .rkey = cpu_to_le32(rkey), .addr = cpu_to_le64(addr) };

	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + DSM_HDR_BYTES, &body, sizeof(body));
	return world_recv(A, from, msg, sizeof(msg));
}

static int here(u16 from, u32 idx, u32 xid, u32 rkey)
{
	return here_at(from, idx, xid, rkey, 0x5000);
}

static void words_are_where_their_manager_says_once(void **state)
{
	struct dsm_page *p = world_page(A, 1);

	assert_int_equal(here(B, 1, 1, 51), -EPROTO);
	assert_int_equal(dsm_page_fault(world_engine(A), p, false, world_begin(A)), DSM_PAGE_NONE);
	world_end(A);
	assert_int_equal(world_count(DSM_MSG_CSM_WHERE), 1);
	assert_int_equal(here(B, 1, p->xid + 1, 51), -EPROTO);
	assert_int_equal(here(B, 1, p->xid, 0), -EPROTO);
	assert_int_equal(here(B, 3, p->xid, 51), -EPROTO);
	/* No device would change a word there. */
	assert_int_equal(here_at(B, 1, p->xid, 51, 0x5004), -EPROTO);
	world_deliver(DSM_MSG_CSM_WHERE);
	world_deliver(DSM_MSG_CSM_HERE);
	assert_int_equal(w.node[A].space.dir.key[B].rkey, 51);
	/* It goes on with an atomic; nothing is fetched before that is back. */
	assert_int_equal(p->state, DSM_PAGE_FET);
	assert_true(p->dir & DSM_DIR_BUSY);
	assert_non_null(w.xfer);
	assert_int_equal(w.xfer->kind, DSM_XFER_KIND_DIR);
	assert_int_equal(w.xfer->remote, 0x5000 + 8);
	assert_int_equal(world_count(DSM_MSG_FETCH), 0);
	/* Nobody is asked now: the atomic is not over because its manager says so. */
	assert_int_equal(here(B, 1, p->xid, 51), -EPROTO);
	free(w.xfer);
	w.xfer = NULL;
	/* Not asked for any more. */
	assert_int_equal(here(B, 1, p->xid + 5, 51), -EPROTO);
}

/* The atomic that a step of B has begun; world_end() would take it for a READ. */
static struct dsm_xfer *begun(void)
{
	struct dsm_xfer *x = w.acts.xfer;

	w.acts.xfer = NULL;
	world_end(B);
	assert_non_null(x);
	assert_null(x->next);
	assert_int_equal(x->kind, DSM_XFER_KIND_DIR);
	assert_int_equal(x->remote, 0x5000 + 8);
	return x;
}

static void is_back(struct dsm_xfer *x, u64 word)
{
	x->result = word;
	dsm_dir_on_xfer(world_engine(B), x, world_begin(B));
	free(x);
}

/* A has page 1 exclusively, as far as B knows, and is asked for it. */
static struct dsm_page *wanted(void)
{
	struct dsm_page *p = world_page(B, 1);

	dsm_csm_want_from(world_engine(B), p, A, world_begin(B));
	world_end(B);
	assert_int_equal(world_count(DSM_MSG_CSM_BREAK), 1);
	assert_int_equal(p->state, DSM_PAGE_HB);
	return p;
}

static void lose_a(struct dsm_page *p)
{
	world_crash(A);
	dsm_engine_peer_lost(world_engine(B), A, world_begin(B));
	world_end(B);
	dsm_page_peer_lost(world_engine(B), p, A, world_begin(B));
}

#define NAMES_A (1ull << DSM_DIR_OWNER_SHIFT)

static void what_came_home_is_not_lost_with_who_had_it(void **state)
{
	const struct dsm_wire_csm body = { .idx = cpu_to_le32(1) };
	struct dsm_page *p = wanted();
	struct dsm_xfer *x;
	u32 lost;

	for (lost = 0; lost < 2; lost++) {
		struct dsm_msgbuf *m = world_forge(DSM_MSG_CSM_BACK, WORLD_REGION, 0);
		__le16 len;

		if (lost)
			p = wanted();
		dsm_wire_put(m, &body, sizeof(body));
		dsm_wire_put(m, world_page(A, 1)->frame, DSM_PAGE_BYTES);
		len = cpu_to_le16(m->len);
		memcpy(m->data + offsetof(struct dsm_wire_hdr, len), &len, sizeof(len));
		assert_int_equal(dsm_engine_recv(world_engine(B), A, m->data, m->len, world_begin(B)), 0);
		world_msg_free(m);
		x = begun();
		assert_int_equal(p->state, DSM_PAGE_HOME);
		/* The word names A until this is back; then A may go on. */
		assert_int_equal(x->operand, -NAMES_A);
		assert_int_equal(world_count(DSM_MSG_CSM_BACK_ACK), 0);
		assert_true(dsm_csm_has_back(world_engine(B), p));
		if (lost) {
			lose_a(p);
			world_end(B);
			assert_int_equal(p->state, DSM_PAGE_HOME);
		}
		is_back(x, NAMES_A | 1);
		world_end(B);
		assert_false(dsm_csm_has_back(world_engine(B), p));
		assert_int_equal(world_count(DSM_MSG_CSM_BACK_ACK), !lost);
		while (w.n_fly)
			world_drop_at(0);
	}
}

static void the_word_says_whether_a_page_is_lost(void **state)
{
	static const struct { u64 word; u8 state; } rows[] = {
		{ NAMES_A | 1, DSM_PAGE_LOST }, { 1, DSM_PAGE_HOME }, { 0, DSM_PAGE_HOME },
	};
	struct dsm_xfer *x;
	struct dsm_page *p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i)
			start(state);
		p = wanted();
		lose_a(p);
		x = begun();
		/* It gets in, so that nobody else can be alone after that. */
		assert_int_equal(x->operand, 1 << B);
		assert_int_equal(p->state, DSM_PAGE_HB);
		is_back(x, rows[i].word);
		world_end(B);
		assert_int_equal(p->state, rows[i].state);
		assert_true(p->dir & DSM_DIR_IN);
		if (i + 1 < ARRAY_SIZE(rows))
			stop(state);
	}
}

/* A owns the page and is lost while B, whose page it is, looks at the word; then the word is lost too. */
static void a_page_is_lost_with_its_owner_and_its_word(void **state)
{
	struct dsm_page *p = wanted();
	struct dsm_xfer *x;

	lose_a(p);
	x = begun();
	assert_int_equal(p->state, DSM_PAGE_HB);
	x->status = -EHOSTDOWN;
	is_back(x, 0);
	world_end(B);
	assert_int_equal(p->state, DSM_PAGE_LOST);
}

/* Nothing but the transfer that fails tells that a node's connection with itself has ended. */
static void who_cannot_reach_its_own_words_is_told(void **state)
{
	struct dsm_engine *e = world_engine(B);
	struct dsm_page *p = world_page(B, 1);
	struct dsm_xfer *x;

	assert_true(dsm_dir_is_there(e, p));
	assert_int_equal(dsm_page_fault(e, p, false, world_begin(B)), DSM_PAGE_NONE);
	x = begun();
	x->status = -EHOSTDOWN;
	is_back(x, 0);
	world_end(B);
	assert_false(dsm_dir_busy(p));
	assert_false(dsm_dir_is_there(e, p));
	assert_int_equal(dsm_page_fault(e, p, false, world_begin(B)), -EHOSTDOWN);
	world_end(B);
}

static void settings_need_few_nodes_and_pages(void **state)
{
	struct dsm_policy p = { .consistency = DSM_CONSISTENCY_CASHMERE, .metadata = DSM_METADATA_RDMA };
	char why[128];

	assert_int_equal(dsm_policy_suits(&p, (1ull << DSM_DIR_NODES) - 1, DSM_DIR_PAGES, why, sizeof(why)), 0);
	assert_int_equal(dsm_policy_suits(&p, 1ull << DSM_DIR_NODES, 1, why, sizeof(why)), -EOPNOTSUPP);
	assert_string_equal(why, "metadata=rdma has a bit for each of the nodes 0 to 47, and the cluster has others; use metadata=msg");
	assert_int_equal(dsm_policy_suits(&p, 1, DSM_DIR_PAGES + 1ull, why, sizeof(why)), -EOPNOTSUPP);
	assert_string_equal(why, "metadata=rdma has words for 262144 pages, and the region is longer; use metadata=msg");
	p.metadata = DSM_METADATA_MSG;
	assert_int_equal(dsm_policy_suits(&p, ~0ull, ~0ull, why, sizeof(why)), 0);
}

static void words_are_read_as_they_are_written(void **state)
{
	assert_int_equal(dsm_dir_owner_of(0xffffffffffffull), DSM_NO_NODE);
	assert_int_equal(dsm_dir_owner_of(1ull << DSM_DIR_OWNER_SHIFT), 0);
	assert_int_equal(dsm_dir_owner_of(48ull << DSM_DIR_OWNER_SHIFT | 5), 47);
	assert_int_equal(dsm_dir_owner_of(0xfffull << DSM_DIR_OWNER_SHIFT), DSM_NO_NODE);
	assert_int_equal(dsm_dir_set_of(48ull << DSM_DIR_OWNER_SHIFT | 5), 5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reg_break_of_a_page_never_touched, start, stop),
		cmocka_unit_test_setup_teardown(an_acquire_finds_what_is_in_the_ring, start, stop),
		cmocka_unit_test_setup_teardown(a_ring_begins_anew_when_its_writer_is_lost, start, stop),
		cmocka_unit_test_setup_teardown(a_count_that_cannot_be_means_anything, start, stop),
		cmocka_unit_test_setup_teardown(notices_of_what_is_not_here_are_nothing, start, stop),
		cmocka_unit_test_setup_teardown(a_full_ring_takes_no_more_until_it_is_taken_from, start, stop),
		cmocka_unit_test_setup_teardown(without_a_place_to_write_to_it_is_a_message, start, stop),
		cmocka_unit_test_setup_teardown(words_are_where_their_manager_says_once, start, stop),
		cmocka_unit_test_setup_teardown(what_came_home_is_not_lost_with_who_had_it, start, stop),
		cmocka_unit_test_setup_teardown(the_word_says_whether_a_page_is_lost, start, stop),
		cmocka_unit_test_setup_teardown(a_page_is_lost_with_its_owner_and_its_word, start, stop),
		cmocka_unit_test_setup_teardown(who_cannot_reach_its_own_words_is_told, start, stop),
		cmocka_unit_test(settings_need_few_nodes_and_pages),
		cmocka_unit_test(words_are_read_as_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
