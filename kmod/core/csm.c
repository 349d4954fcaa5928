// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Write notices of regions with consistency=cashmere (protocol.md 3.1, 3.4).
 *
 * The home says with each new version who may have a copy, and the writer tells those: one message per
 * receiver and step, acknowledged when it is in the receiver's inbox. The release is done after the last
 * acknowledgement, so whoever is ordered after it finds the notice in the inbox (L9, L36, mutant M11),
 * and its acquire looks at the inbox as a whole. With metadata=rdma a writer reads the set itself (dir.c), and
 * notices go into rings (ring.c); messages take what does not fit there. With notices=lazy what would be told goes into the
 * interval, and with that to whoever acquires (interval.c). Never touches page bytes.
 */
#include "csm.h"
#include "dir.h"
#include "release.h"
#include "ring.h"

static_assert(DSM_MSG_BYTES < 8192u ||
	      DSM_HDR_BYTES + sizeof(struct dsm_wire_direct) +
	      DSM_PACK_RECORDS_MAX * sizeof(struct dsm_wire_notice) <= DSM_MSG_BYTES);

/**
 * dsm_csm_init() - nothing told, nothing to tell
 * @e: engine, being set up
 *
 * Context: any; nobody else uses @e yet.
 */
void dsm_csm_init(struct dsm_engine *e)
{
	u32 i;

	for (i = 0; i < DSM_MAX_NODES; i++)
		INIT_LIST_HEAD(&e->csm.sent[i]);
	INIT_LIST_HEAD(&e->csm.inbox);
}

/* ---- telling ---- */

static struct dsm_msgbuf *open_to(struct dsm_engine *e, u16 to)
{
	struct dsm_request *q = dsm_pool_take(e, DSM_POOL_REQUEST);
	const struct dsm_wire_direct head = {};
	struct dsm_msgbuf *m;

	*q = (struct dsm_request){ .type = DSM_MSG_CSM_NOTICE, .node = to, .xid = dsm_xid_next(e) };
	list_add_tail(&q->cont.link, &e->csm.sent[to]);
	m = dsm_msg_new(e, to, DSM_CLASS_REQ, DSM_MSG_CSM_NOTICE, 0, q->xid);
	dsm_wire_put(m, &head, sizeof(head));
	e->csm.open[to] = m;
	e->csm.opened |= 1ull << to;
	return m;
}

static void post_to(struct dsm_engine *e, u16 to, struct dsm_actions *acts)
{
	struct dsm_msgbuf *m = e->csm.open[to];
	struct dsm_wire_direct head = {};

	head.count = cpu_to_le32((m->len - DSM_HDR_BYTES - sizeof(head)) /
				 sizeof(struct dsm_wire_notice));
	memcpy(m->data + DSM_HDR_BYTES, &head, sizeof(head));
	e->csm.open[to] = NULL;
	e->csm.opened &= ~(1ull << to);
	dsm_act_send(acts, m);
}

static void tell_one(struct dsm_engine *e, u16 to, const struct dsm_page *p, u64 ver,
		     struct dsm_actions *acts)
{
	const struct dsm_wire_notice notice = {
		.region = cpu_to_le32(p->space->id),
		.idx = cpu_to_le32(p->idx),
		.ver = cpu_to_le64(ver),
	};
	struct dsm_msgbuf *m = e->csm.open[to];
	struct dsm_request *q;

	dsm_count(e, p->space, notices_sent);
	if (dsm_page_has_word(p) && dsm_ring_put(e, to, p, ver))
		return;
	if (m && dsm_wire_room(m) < sizeof(notice)) {
		post_to(e, to, acts);
		m = NULL;
	}
	if (!m)
		m = open_to(e, to);
	q = list_last_entry(&e->csm.sent[to], struct dsm_request, cont.link);
	if (!(q->value & 1u << p->rel_cur)) {
		q->value |= 1u << p->rel_cur;
		e->rel[p->rel_cur].pending++;
	}
	dsm_wire_put(m, &notice, sizeof(notice));
}

/**
 * dsm_csm_tell() - a page got a new version: who may have a copy is to know
 * @e:       engine
 * @p:       page; p->rel_cur is the release that waits until they do
 * @ver:     its version
 * @sharers: bitmap from the home, taken after the version's bytes were in its frame
 * @acts:    actions
 *
 * Context: engine lock held, before dsm_rel_page_done() of the page, in a step that ends with
 * dsm_csm_post().
 */
void dsm_csm_tell(struct dsm_engine *e, struct dsm_page *p, u64 ver, u64 sharers,
		  struct dsm_actions *acts)
{
	sharers &= ~(1ull << e->self) & ~(1ull << p->home);
	if (sharers && !dsm_policy_tells(&p->space->policy)) {
		dsm_rel_note(e, p, ver);
		return;
	}
	for (sharers &= e->alive; sharers; sharers &= sharers - 1)
		tell_one(e, __ffs64(sharers), p, ver, acts);
}

/**
 * dsm_csm_post() - the notices that this step has collected go out
 * @e:    engine
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_csm_post(struct dsm_engine *e, struct dsm_actions *acts)
{
	while (e->csm.opened)
		post_to(e, __ffs64(e->csm.opened), acts);
	dsm_ring_post(e, acts);
}

static void acked(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts)
{
	u32 slot, slots = q->value;

	list_del(&q->cont.link);
	dsm_pool_give(e, DSM_POOL_REQUEST, q);
	for (slot = 0; slots >> slot; slot++)
		if (slots & 1u << slot)
			dsm_rel_told(e, slot, acts);
}

/**
 * dsm_csm_on_notice_ack() - message CSM_NOTICE_ACK
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if it acknowledges what was not sent to @from.
 */
int dsm_csm_on_notice_ack(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			  struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_request *q;
	__le64 taken;

	dsm_reader_take(r, &taken, sizeof(taken));
	if (dsm_ring_taken(e, from, le64_to_cpu(taken)))
		return -EPROTO;
	list_for_each_entry(q, &e->csm.sent[from], cont.link) {
		if (q->xid != le32_to_cpu(hdr->xid))
			continue;
		acked(e, q, acts);
		return 0;
	}
	return -EPROTO;
}

/**
 * dsm_csm_peer_lost() - a node is gone: nobody there looks at copies any more
 * @e:    engine
 * @node: the lost node
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_csm_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts)
{
	while (!list_empty(&e->csm.sent[node]))
		acked(e, list_first_entry(&e->csm.sent[node], struct dsm_request, cont.link), acts);
	dsm_ring_peer_lost(e, node, acts);
}

/* ---- being told ---- */

static void put_inbox(struct dsm_engine *e, const struct dsm_page *p)
{
	struct dsm_interval *rec = NULL;

	if (!list_empty(&e->csm.inbox))
		rec = list_last_entry(&e->csm.inbox, struct dsm_interval, link);
	if (!rec || rec->count == DSM_NOTICES_PER_RECORD) {
		rec = dsm_pool_take(e, DSM_POOL_INTERVAL);
		rec->seq = 0;
		rec->node = e->self;
		rec->count = 0;
		list_add_tail(&rec->link, &e->csm.inbox);
	}
	rec->notice[rec->count++] =
		(struct dsm_notice){ .region = p->space->id, .idx = p->idx };
}

/**
 * dsm_csm_named() - the page of a notice
 * @e:      engine
 * @notice: as it came
 *
 * Context: engine lock held.
 * Return: page; NULL if there is nothing to lose: it was never touched here, or the home has every acknowledged
 * diff, or it is no such page.
 */
struct dsm_page *dsm_csm_named(struct dsm_engine *e, const struct dsm_wire_notice *notice)
{
	struct dsm_page *p = dsm_page_find(e, le32_to_cpu(notice->region), le32_to_cpu(notice->idx));

	return p && dsm_page_is_csm(p) && p->home != e->self ? p : NULL;
}

/**
 * dsm_csm_heard() - a notice goes into the inbox
 * @e:      engine
 * @notice: as it came
 *
 * Context: engine lock held.
 */
void dsm_csm_heard(struct dsm_engine *e, const struct dsm_wire_notice *notice)
{
	struct dsm_page *p = dsm_csm_named(e, notice);

	if (!p)
		return;
	dsm_page_needs(p, le64_to_cpu(notice->ver));
	if (p->csm & DSM_CSM_TOLD)
		return;
	p->csm |= DSM_CSM_TOLD;
	put_inbox(e, p);
}

/**
 * dsm_csm_on_notice() - message CSM_NOTICE
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * A reply under way that is older is refused from now on; a copy stays as it is until the next
 * acquire. A page is in the inbox once, however often it is told of, so a node that never acquires
 * keeps no more than a mark for each page that it has touched.
 *
 * Context: engine lock held.
 * Return: 0.
 */
int dsm_csm_on_notice(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		      struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_notice notice;
	struct dsm_msgbuf *m;
	__le64 taken;

	dsm_reader_skip(r, sizeof(struct dsm_wire_direct));
	while (dsm_reader_left(r)) {
		dsm_reader_take(r, &notice, sizeof(notice));
		dsm_count(e, dsm_space_find(e, le32_to_cpu(notice.region)), notices_received);
		dsm_csm_heard(e, &notice);
	}
	/* Its ring may be full. */
	dsm_ring_drain(e, from);
	taken = cpu_to_le64(e->csm.seen[from]);
	m = dsm_msg_new(e, from, DSM_CLASS_RSP, DSM_MSG_CSM_NOTICE_ACK, 0, le32_to_cpu(hdr->xid));
	dsm_wire_put(m, &taken, sizeof(taken));
	dsm_act_send(acts, m);
	return 0;
}

/**
 * dsm_csm_apply() - apply some of the inbox
 * @e:   engine
 * @out: pages to unmap
 * @max: room in @out, at least DSM_NOTICES_PER_RECORD
 *
 * Context: engine lock held, within an acquire.
 * Return: pages in @out.
 */
int dsm_csm_apply(struct dsm_engine *e, struct dsm_page **out, u32 max)
{
	struct dsm_interval *rec;
	struct dsm_page *p;
	u32 n = 0;
	u16 i;

	while (!list_empty(&e->csm.inbox) && max - n >= DSM_NOTICES_PER_RECORD) {
		rec = list_first_entry(&e->csm.inbox, struct dsm_interval, link);
		list_del(&rec->link);
		for (i = 0; i < rec->count; i++) {
			p = dsm_page_find(e, rec->notice[i].region, rec->notice[i].idx);
			/* The region is gone, or was made anew. */
			if (!p || !(p->csm & DSM_CSM_TOLD))
				continue;
			p->csm &= ~DSM_CSM_TOLD;
			if (dsm_page_notice(e, p, p->need))
				out[n++] = p;
		}
		dsm_pool_give(e, DSM_POOL_INTERVAL, rec);
	}
	return n;
}

/* ---- regions that go ---- */

static void forget_idle(struct dsm_engine *e, u32 gen, u32 region)
{
	u32 i, n = 0;

	for (i = 0; i < e->csm.n_idle[gen]; i++)
		if (region && e->csm.idle[gen][i]->space->id != region)
			e->csm.idle[gen][n++] = e->csm.idle[gen][i];
	e->csm.n_idle[gen] = n;
}

/**
 * dsm_csm_forget() - drop what is kept of a region's pages
 * @e:      engine
 * @region: id, 0 = all
 *
 * Context: engine lock held; nobody uses the region any more, and no release has its pages. Those that
 * others want are with a flusher, or will be: see dsm_csm_is_wanted().
 */
void dsm_csm_forget(struct dsm_engine *e, u32 region)
{
	struct dsm_interval *rec, *next;
	struct dsm_request *q, *tmp;
	u32 i;

	forget_idle(e, 0, region);
	forget_idle(e, 1, region);
	if (region)
		return;
	list_for_each_entry_safe(rec, next, &e->csm.inbox, link) {
		list_del(&rec->link);
		dsm_pool_give(e, DSM_POOL_INTERVAL, rec);
	}
	for (i = 0; i < DSM_MAX_NODES; i++)
		list_for_each_entry_safe(q, tmp, &e->csm.sent[i], cont.link) {
			list_del(&q->cont.link);
			dsm_pool_give(e, DSM_POOL_REQUEST, q);
		}
}
