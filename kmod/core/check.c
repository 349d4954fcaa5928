// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Every field of every message is checked here for structure, before its step and without the
 * lock. What depends on state (is that page homed here?) is the step's to check.
 */
#include "engine.h"
#include "diff.h"
#include "interval.h"

static int check_diff(struct dsm_reader *r, u32 region,
		      int (*touch)(void *ctx, u32 region, u32 idx, bool frame), void *ctx)
{
	struct dsm_wire_pack pack;
	u32 idx, records = 0;
	int len;

	dsm_reader_take(r, &pack, sizeof(pack));
	if (r->bad || le32_to_cpu(pack.magic) != DSM_DIFF_MAGIC ||
	    le16_to_cpu(pack.hdr_len) != sizeof(pack) || pack.flags || pack.crc32c || pack.epoch ||
	    pack.interval || le32_to_cpu(pack.region) != region ||
	    le32_to_cpu(pack.bytes) != dsm_reader_left(r) || !dsm_reader_left(r))
		return -EPROTO;
	while (dsm_reader_left(r)) {
		int err;

		len = dsm_diff_check(r->pos, dsm_reader_left(r), DSM_PAGE_BYTES, &idx);
		if (len <= 0 || ++records > DSM_PACK_RECORDS_MAX)
			return -EPROTO;
		err = touch(ctx, region, idx, true);
		if (err)
			return err;
		dsm_reader_skip(r, len);
	}
	return 0;
}

static int check_direct(struct dsm_reader *r, u32 region,
			int (*touch)(void *ctx, u32 region, u32 idx, bool frame), void *ctx)
{
	struct dsm_wire_direct body;
	__le32 idx;
	int err;

	dsm_reader_take(r, &body, sizeof(body));
	if (r->bad || body.reserved || !body.count ||
	    le32_to_cpu(body.count) > DSM_PACK_RECORDS_MAX ||
	    dsm_reader_left(r) != le32_to_cpu(body.count) * sizeof(idx))
		return -EPROTO;
	while (dsm_reader_left(r)) {
		dsm_reader_take(r, &idx, sizeof(idx));
		err = touch(ctx, region, le32_to_cpu(idx), true);
		if (err)
			return err;
	}
	return 0;
}

static int check_sc(struct dsm_reader *r, u8 type, u32 region,
		    int (*touch)(void *ctx, u32 region, u32 idx, bool frame), void *ctx)
{
	struct dsm_wire_sc body;

	dsm_reader_take(r, &body, sizeof(body));
	if (r->bad || body.right > DSM_SC_MAY_WRITE || body.status > DSM_SC_GONE || body.reserved ||
	    body.reserved2)
		return -EPROTO;
	if (type != DSM_MSG_SC_BACK && type != DSM_MSG_SC_GRANT && (body.status || body.held_us))
		return -EPROTO;
	if (body.status == DSM_SC_DATA)
		dsm_reader_skip(r, DSM_PAGE_BYTES);
	if (!dsm_reader_done(r))
		return -EPROTO;
	switch (type) {
	case DSM_MSG_SC_GET:
		return body.right ? touch(ctx, region, le32_to_cpu(body.idx), false) : -EPROTO;
	case DSM_MSG_SC_BACK:
		if (body.right > DSM_SC_MAY_READ || body.status == DSM_SC_ZERO ||
		    body.status == DSM_SC_GONE)
			return -EPROTO;
		return touch(ctx, region, le32_to_cpu(body.idx), body.status == DSM_SC_DATA);
	case DSM_MSG_SC_RECALL:
		return body.right > DSM_SC_MAY_READ ? -EPROTO : 0;
	default:
		return 0;
	}
}

static int check_csm(struct dsm_reader *r, u8 type, u32 region,
		     int (*touch)(void *ctx, u32 region, u32 idx, bool frame), void *ctx)
{
	const bool back = type == DSM_MSG_CSM_BACK;
	struct dsm_wire_csm body;

	dsm_reader_take(r, &body, sizeof(body));
	if (back && !body.granted)
		dsm_reader_skip(r, DSM_PAGE_BYTES);
	if (!dsm_reader_done(r) || body.granted > (back || type == DSM_MSG_CSM_GRANT) || body.reserved[0] ||
	    body.reserved[1] || body.reserved[2])
		return -EPROTO;
	/* Of a page that was never touched here there is nothing to give back, and the home, which was told otherwise, hears so. */
	if (type == DSM_MSG_CSM_BREAK)
		return touch(ctx, region, le32_to_cpu(body.idx), false);
	return back && !body.granted ? touch(ctx, region, le32_to_cpu(body.idx), true) : 0;
}

/* @count entries of @each bytes, and no others. */
static bool check_list(struct dsm_reader *r, u32 each)
{
	struct dsm_wire_direct body;

	dsm_reader_take(r, &body, sizeof(body));
	return !r->bad && body.count && !body.reserved &&
	       le32_to_cpu(body.count) <= DSM_MSG_BYTES / each &&
	       dsm_reader_left(r) == le32_to_cpu(body.count) * each;
}

static bool check_page(struct dsm_reader *r)
{
	static const u8 zeros[sizeof(((struct dsm_wire_moved *)0)->reserved)];
	struct dsm_wire_moved moved = {};
	struct dsm_wire_told told = {};
	struct dsm_wire_page body;

	dsm_reader_take(r, &body, sizeof(body));
	if (r->bad || body.status > DSM_PAGE_STATUS_CAST || body.grant > DSM_GRANT_EXCLUSIVE ||
	    body.loose > 1 || body.reserved2[0] || body.reserved2[1] || body.reserved2[2])
		return false;
	if (body.status == DSM_PAGE_STATUS_MOVED)
		dsm_reader_take(r, &moved, sizeof(moved));
	if (body.status == DSM_PAGE_STATUS_CAST)
		dsm_reader_take(r, &told, sizeof(told));
	if (told.reserved || moved.bytes > DSM_MOVED_ZERO || memcmp(moved.reserved, zeros, sizeof(zeros)))
		return false;
	if (body.status == DSM_PAGE_STATUS_DATA || moved.bytes == DSM_MOVED_DATA)
		dsm_reader_skip(r, DSM_PAGE_BYTES);
	return dsm_reader_done(r);
}

static bool check_back(struct dsm_reader *r)
{
	struct dsm_wire_back body;
	u32 idx;

	dsm_reader_take(r, &body, sizeof(body));
	return !r->bad && !body.reserved && !body.reserved2 && dsm_reader_left(r) &&
	       dsm_diff_check(r->pos, dsm_reader_left(r), DSM_PAGE_BYTES, &idx) ==
		       (int)dsm_reader_left(r);
}

static bool check_lock(struct dsm_reader *r, u8 type)
{
	struct dsm_wire_lock body;
	const bool asks = type == DSM_MSG_LOCK_REQ || type == DSM_MSG_LOCK_TRY;
	const bool know = asks || type == DSM_MSG_LOCK_PASS || type == DSM_MSG_LOCK_TRY_PASS ||
			  type == DSM_MSG_LOCK_GRANT || type == DSM_MSG_LOCK_RETURN;

	dsm_reader_take(r, &body, sizeof(body));
	return !r->bad && !body.reserved && (asks || !body.lost) && (type != DSM_MSG_LOCK_PASS || body.state <= 1) &&
	       (!know || dsm_know_check(r)) && dsm_reader_done(r);
}

static bool check_tickets(struct dsm_reader *r, u32 count)
{
	struct dsm_wire_ticket ticket;

	if (count > DSM_MSG_BYTES / sizeof(ticket))
		return false;
	while (count--) {
		dsm_reader_take(r, &ticket, sizeof(ticket));
		if (r->bad || le16_to_cpu(ticket.node) >= DSM_MAX_NODES ||
		    le16_to_cpu(ticket.up) >= DSM_MAX_NODES ||
		    le16_to_cpu(ticket.flags) & ~DSM_TICKET_QUIET)
			return false;
	}
	return true;
}

static bool check_moves(struct dsm_reader *r, u32 count)
{
	struct dsm_wire_move move;

	if (count > DSM_MOVES_TOLD)
		return false;
	while (count--) {
		dsm_reader_take(r, &move, sizeof(move));
		if (r->bad || le16_to_cpu(move.to) >= DSM_MAX_NODES || move.reserved)
			return false;
	}
	return true;
}

static bool check_arrive(struct dsm_reader *r, u8 type)
{
	struct dsm_wire_arrive body;

	dsm_reader_take(r, &body, sizeof(body));
	if (r->bad || (type == DSM_MSG_BAR_ABORT && body.broken) || (type != DSM_MSG_BAR_ARRIVE && body.moves) ||
	    !check_tickets(r, le32_to_cpu(body.count)) || !check_moves(r, le32_to_cpu(body.moves)))
		return false;
	switch (type) {
	case DSM_MSG_BAR_ARRIVE:
		return body.count && le32_to_cpu(body.count) <= DSM_MAX_NODES && body.parties &&
		       dsm_know_check(r) && dsm_reader_done(r);
	case DSM_MSG_BAR_ABORT:
		return le32_to_cpu(body.count) == 1 && !body.parties && !body.told &&
		       dsm_reader_done(r);
	default:
		return !body.count && !body.parties && !body.told && dsm_reader_done(r);
	}
}

static bool check_depart(struct dsm_reader *r)
{
	struct dsm_wire_depart body;

	dsm_reader_take(r, &body, sizeof(body));
	return !r->bad && le16_to_cpu(body.about) < DSM_MAX_NODES && !body.fanout == !body.tree &&
	       check_tickets(r, le32_to_cpu(body.count)) &&
	       check_moves(r, le32_to_cpu(body.moves)) && dsm_know_check(r) && dsm_reader_done(r);
}

static bool check_flag(struct dsm_reader *r)
{
	struct dsm_wire_flag body;

	dsm_reader_take(r, &body, sizeof(body));
	return !r->bad && body.op <= DSM_FLAG_TEST && !body.reserved[0] && !body.reserved[1] &&
	       !body.reserved[2] && dsm_know_check(r) && dsm_reader_done(r);
}

static bool check_rlock(struct dsm_reader *r, u8 type)
{
	struct dsm_wire_rlock body;

	dsm_reader_take(r, &body, sizeof(body));
	if (body.reserved[0] || body.reserved[1] || body.reserved[2] || !dsm_reader_done(r))
		return false;
	if (type == DSM_MSG_RLOCK)
		return (body.op <= DSM_RLOCK_BROKEN || body.op == DSM_RLOCK_BEFORE) && !body.status && !body.addr &&
		       !body.rkey && (!body.word || body.op == DSM_RLOCK_BEFORE);
	if (body.op == DSM_RLOCK_BEFORE)
		return le32_to_cpu(body.status) <= DSM_RLOCK_AWAY && le32_to_cpu(body.word) < DSM_MAX_NODES &&
		       !body.addr && !body.rkey;
	if (body.op == DSM_RLOCK_BROKEN)
		return !body.addr && !body.rkey && !body.word;
	return body.op <= DSM_RLOCK_LOST;
}

static bool check_body(struct dsm_reader *r, u8 type)
{
	struct dsm_wire_rsync_key key;
	struct dsm_wire_dir dir;

	switch (type) {
	case DSM_MSG_PAGE:
		return check_page(r);
	case DSM_MSG_DIFF_BACK:
		return check_back(r);
	case DSM_MSG_DIFF_ACK:
		return dsm_reader_left(r) && dsm_reader_left(r) % sizeof(struct dsm_wire_ack) == 0;
	case DSM_MSG_INTERVALS:
	case DSM_MSG_INTERVAL_PULL:
		return dsm_know_check(r) && dsm_reader_done(r);
	case DSM_MSG_LOCK_REQ:
	case DSM_MSG_LOCK_PASS:
	case DSM_MSG_LOCK_GRANT:
	case DSM_MSG_LOCK_RETURN:
	case DSM_MSG_LOCK_TRY:
	case DSM_MSG_LOCK_TRY_PASS:
	case DSM_MSG_LOCK_TRY_DONE:
	case DSM_MSG_LOCK_REFUSED:
	case DSM_MSG_LOCK_RETURN_ACK:
	case DSM_MSG_LOCK_PROBE:
	case DSM_MSG_LOCK_STATE:
	case DSM_MSG_LOCK_APART:
		return check_lock(r, type);
	case DSM_MSG_BAR_ARRIVE:
	case DSM_MSG_BAR_ABORT:
	case DSM_MSG_BAR_ASK:
		return check_arrive(r, type);
	case DSM_MSG_BAR_DEPART:
		return check_depart(r);
	case DSM_MSG_FLAG_OP:
	case DSM_MSG_FLAG_REPLY:
	case DSM_MSG_SYNC_PUSH:
	case DSM_MSG_SYNC_REPLY:
		return check_flag(r);
	case DSM_MSG_CSM_NOTICE:
		return check_list(r, sizeof(struct dsm_wire_notice));
	case DSM_MSG_CSM_NOTICE_ACK:
		return dsm_reader_left(r) == sizeof(__le64);
	case DSM_MSG_CSM_WHERE:
	case DSM_MSG_CSM_HERE:
		dsm_reader_take(r, &dir, sizeof(dir));
		return dsm_reader_done(r) && (type == DSM_MSG_CSM_HERE || (!dir.rkey && !dir.addr));
	case DSM_MSG_CSM_DROP:
	case DSM_MSG_CSM_DROP_ACK:
		return check_list(r, sizeof(__le32));
	case DSM_MSG_RLOCK:
	case DSM_MSG_RLOCK_REPLY:
		return check_rlock(r, type);
	case DSM_MSG_RSYNC_KEY:
		dsm_reader_take(r, &key, sizeof(key));
		return !key.reserved && dsm_reader_done(r);
	default:
		return false;
	}
}

/**
 * dsm_engine_check() - check a message completely before its step
 * @msg:   message, header included
 * @len:   its length in bytes, at least DSM_HDR_BYTES
 * @touch: makes the structure of a page exist, and its frame if @frame; 0 or negative errno
 * @ctx:   for @touch
 *
 * Context: no lock held; sleeps if @touch does.
 * Return: 0; -EPROTO malformed or unknown; what @touch returned.
 */
int dsm_engine_check(const u8 *msg, u32 len,
		     int (*touch)(void *ctx, u32 region, u32 idx, bool frame), void *ctx)
{
	struct dsm_reader r = dsm_reader_init(msg, len);
	struct dsm_wire_fetch fetch;
	struct dsm_wire_hdr hdr;
	u32 region;

	dsm_reader_take(&r, &hdr, sizeof(hdr));
	if (r.bad)
		return -EPROTO;
	region = le32_to_cpu(hdr.region);
	switch (hdr.type) {
	case DSM_MSG_FETCH:
		dsm_reader_take(&r, &fetch, sizeof(fetch));
		if (!dsm_reader_done(&r) || fetch.want > DSM_WANT_EXCLUSIVE ||
		    fetch.owner > DSM_MAX_NODES || fetch.cast > 1 || (fetch.have && !fetch.cast) || fetch.reserved ||
		    fetch.reserved2)
			return -EPROTO;
		return touch(ctx, region, le32_to_cpu(fetch.idx), false);
	case DSM_MSG_DIFF_DIRECT:
		return check_direct(&r, region, touch, ctx);
	case DSM_MSG_DIFF:
		return check_diff(&r, region, touch, ctx);
	case DSM_MSG_CSM_UPGRADE:
	case DSM_MSG_CSM_GRANT:
	case DSM_MSG_CSM_BREAK:
	case DSM_MSG_CSM_BACK:
	case DSM_MSG_CSM_BACK_ACK:
		return check_csm(&r, hdr.type, region, touch, ctx);
	case DSM_MSG_SC_GET:
	case DSM_MSG_SC_RECALL:
	case DSM_MSG_SC_BACK:
	case DSM_MSG_SC_GRANT:
	case DSM_MSG_SC_DONE:
		return check_sc(&r, hdr.type, region, touch, ctx);
	default:
		return check_body(&r, hdr.type) ? 0 : -EPROTO;
	}
}
