// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Tracepoints that are read off received messages: page replies, applied diffs, lock and
 * barrier traffic. Changes nothing, and costs one branch per message while tracing is off.
 */
#include "ctl/trace.h"
#include "shell.h"

static void page_reply(const struct dsm_wire_hdr *hdr, struct dsm_reader *r)
{
	struct dsm_wire_page body;

	dsm_reader_take(r, &body, sizeof(body));
	trace_dsm_page_reply(le32_to_cpu(hdr->region), le32_to_cpu(body.idx), le64_to_cpu(body.ver),
			     body.status);
}

static void diff_acks(u16 from, const struct dsm_wire_hdr *hdr, struct dsm_reader *r)
{
	struct dsm_wire_ack ack;

	while (dsm_reader_left(r) >= sizeof(ack)) {
		dsm_reader_take(r, &ack, sizeof(ack));
		trace_dsm_apply(le32_to_cpu(hdr->region), le32_to_cpu(ack.idx),
				le64_to_cpu(ack.ver), from);
	}
}

static void lock_message(u16 from, const struct dsm_wire_hdr *hdr, struct dsm_reader *r)
{
	struct dsm_wire_lock body;

	dsm_reader_take(r, &body, sizeof(body));
	if (hdr->type == DSM_MSG_LOCK_PASS)
		trace_dsm_lock(le32_to_cpu(hdr->region), le64_to_cpu(body.key), DSM_TRACE_LOCK_PASS,
			       le16_to_cpu(body.node));
	else if (hdr->type == DSM_MSG_LOCK_GRANT)
		trace_dsm_lock(le32_to_cpu(hdr->region), le64_to_cpu(body.key),
			       DSM_TRACE_LOCK_GRANT, from);
	else
		trace_dsm_lock(le32_to_cpu(hdr->region), le64_to_cpu(body.key),
			       DSM_TRACE_LOCK_REQUEST, from);
}

static void barrier_message(const struct dsm_wire_hdr *hdr, struct dsm_reader *r)
{
	u32 region = le32_to_cpu(hdr->region), ticket = le32_to_cpu(hdr->xid);
	__le64 key;	/* first field of every barrier message */

	dsm_reader_take(r, &key, sizeof(key));
	if (hdr->type == DSM_MSG_BAR_ARRIVE)
		trace_dsm_barrier(region, le64_to_cpu(key), DSM_TRACE_BARRIER_REPORT, ticket);
	else if (hdr->type == DSM_MSG_BAR_DEPART)
		trace_dsm_barrier(region, le64_to_cpu(key), DSM_TRACE_BARRIER_DEPART, ticket);
	else
		trace_dsm_barrier(region, le64_to_cpu(key), DSM_TRACE_BARRIER_ABORT, ticket);
}

/**
 * dsm_observe_message() - fire the tracepoints that a received message stands for
 * @from: sender
 * @msg:  message, header checked
 * @len:  its length in bytes
 *
 * Context: process.
 */
void dsm_observe_message(u16 from, const u8 *msg, u32 len)
{
	struct dsm_reader r = dsm_reader_init(msg, len);
	struct dsm_wire_hdr hdr;

	dsm_reader_take(&r, &hdr, sizeof(hdr));
	switch (hdr.type) {
	case DSM_MSG_PAGE:
		if (trace_dsm_page_reply_enabled())
			page_reply(&hdr, &r);
		break;
	case DSM_MSG_DIFF_ACK:
		if (trace_dsm_apply_enabled())
			diff_acks(from, &hdr, &r);
		break;
	case DSM_MSG_LOCK_REQ:
	case DSM_MSG_LOCK_PASS:
	case DSM_MSG_LOCK_GRANT:
		if (trace_dsm_lock_enabled())
			lock_message(from, &hdr, &r);
		break;
	case DSM_MSG_BAR_ARRIVE:
	case DSM_MSG_BAR_DEPART:
	case DSM_MSG_BAR_ABORT:
		if (trace_dsm_barrier_enabled())
			barrier_message(&hdr, &r);
		break;
	}
}
