// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Fetches of pages whose region goes: whoever asks gets its sink back. Never reads a page.
 */
#include "page.h"

/*
 * Nobody has the region open any more, so it does not matter what is read there; but the asker has to
 * get its sink back.
 */
static void reply_late(struct dsm_engine *e, u32 region, u32 idx, u64 need,
		       const struct dsm_asker *to, struct dsm_actions *acts)
{
	const struct dsm_wire_page body = {
		.idx = cpu_to_le32(idx),
		.status = DSM_PAGE_STATUS_ZERO,
		.ver = cpu_to_le64(need),
	};
	struct dsm_msgbuf *m;

	if (!to->rkey || !dsm_engine_alive(e, to->node))
		return;
	m = dsm_msg_new(e, to->node, DSM_CLASS_RSP, DSM_MSG_PAGE, region, to->xid);
	m->raddr = to->raddr;
	m->rkey = to->rkey;
	dsm_wire_put(m, &body, sizeof(body));
	dsm_count(e, NULL, pages_sent);
	dsm_act_send(acts, m);
}

/**
 * dsm_page_on_late_fetch() - message FETCH of a region that is gone
 * @e:    engine
 * @from: sender
 * @msg:  message
 * @len:  its length in bytes
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if it is no FETCH.
 */
int dsm_page_on_late_fetch(struct dsm_engine *e, u16 from, const u8 *msg, u32 len,
			   struct dsm_actions *acts)
{
	struct dsm_reader r = dsm_reader_init(msg, len);
	struct dsm_asker to = { .node = from };
	struct dsm_wire_fetch fetch;
	struct dsm_wire_hdr hdr;

	dsm_reader_take(&r, &hdr, sizeof(hdr));
	dsm_reader_take(&r, &fetch, sizeof(fetch));
	if (!dsm_reader_done(&r) || hdr.type != DSM_MSG_FETCH)
		return -EPROTO;
	to.xid = le32_to_cpu(hdr.xid);
	to.raddr = le64_to_cpu(fetch.sink.addr);
	to.rkey = le32_to_cpu(fetch.sink.rkey);
	reply_late(e, le32_to_cpu(hdr.region), le32_to_cpu(fetch.idx), le64_to_cpu(fetch.need), &to,
		   acts);
	return 0;
}

/**
 * dsm_page_end_fetch() - end a fetch that waits at a page of a region that goes
 * @e:      engine
 * @region: its id
 * @acts:   actions
 *
 * Context: engine lock held.
 * Return: true if there was one: call again.
 */
bool dsm_page_end_fetch(struct dsm_engine *e, u32 region, struct dsm_actions *acts)
{
	struct dsm_request *q;

	list_for_each_entry(q, &e->deferred, cont.link) {
		const struct dsm_asker to = dsm_page_asker(q);

		if (q->region != region)
			continue;
		reply_late(e, region, q->value, 0, &to, acts);
		list_del(&q->cont.link);
		dsm_pool_give(e, DSM_POOL_REQUEST, q);
		return true;
	}
	return false;
}
