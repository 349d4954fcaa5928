// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Messages under way: a bag, taken out in any order. A frame that a message carries, or
 * that is written into the asker's, is read either when the message is made or in a step of its own. An
 * answer that may be brief is made up from its request.
 */
#include "model.h"
#include "letter.h"

const char *message_name(u8 type)
{
	switch (type) {
	case DSM_MSG_FETCH: return "FETCH";
	case DSM_MSG_PAGE: return "PAGE";
	case DSM_MSG_DIFF: return "DIFF";
	case DSM_MSG_DIFF_ACK: return "DIFF_ACK";
	case DSM_MSG_DIFF_BACK: return "DIFF_BACK";
	case DSM_MSG_DIFF_DIRECT: return "DIFF_DIRECT";
	case DSM_MSG_INTERVALS: return "INTERVALS";
	case DSM_MSG_INTERVAL_PULL: return "INTERVAL_PULL";
	case DSM_MSG_LOCK_REQ: return "LOCK_REQ";
	case DSM_MSG_LOCK_PASS: return "LOCK_PASS";
	case DSM_MSG_LOCK_GRANT: return "LOCK_GRANT";
	case DSM_MSG_LOCK_RETURN: return "LOCK_RETURN";
	case DSM_MSG_LOCK_RETURN_ACK: return "LOCK_RETURN_ACK";
	case DSM_MSG_LOCK_TRY: return "LOCK_TRY";
	case DSM_MSG_LOCK_TRY_PASS: return "LOCK_TRY_PASS";
	case DSM_MSG_LOCK_TRY_DONE: return "LOCK_TRY_DONE";
	case DSM_MSG_LOCK_REFUSED: return "LOCK_REFUSED";
	case DSM_MSG_LOCK_PROBE: return "LOCK_PROBE";
	case DSM_MSG_LOCK_STATE: return "LOCK_STATE";
	case DSM_MSG_LOCK_APART: return "LOCK_APART";
	case DSM_MSG_BAR_ARRIVE: return "BAR_ARRIVE";
	case DSM_MSG_BAR_DEPART: return "BAR_DEPART";
	case DSM_MSG_BAR_ABORT: return "BAR_ABORT";
	case DSM_MSG_BAR_ASK: return "BAR_ASK";
	case DSM_MSG_FLAG_OP: return "FLAG_OP";
	case DSM_MSG_FLAG_REPLY: return "FLAG_REPLY";
	case DSM_MSG_SYNC_PUSH: return "SYNC_PUSH";
	case DSM_MSG_SYNC_REPLY: return "SYNC_REPLY";
	case DSM_MSG_RLOCK: return "RLOCK";
	case DSM_MSG_RLOCK_REPLY: return "RLOCK_REPLY";
	case DSM_MSG_RSYNC_KEY: return "RSYNC_KEY";
	case DSM_MSG_CSM_NOTICE: return "CSM_NOTICE";
	case DSM_MSG_CSM_NOTICE_ACK: return "CSM_NOTICE_ACK";
	case DSM_MSG_CSM_DROP: return "CSM_DROP";
	case DSM_MSG_CSM_DROP_ACK: return "CSM_DROP_ACK";
	case DSM_MSG_CSM_WHERE: return "CSM_WHERE";
	case DSM_MSG_CSM_HERE: return "CSM_HERE";
	case DSM_MSG_CSM_UPGRADE: return "CSM_UPGRADE";
	case DSM_MSG_CSM_GRANT: return "CSM_GRANT";
	case DSM_MSG_CSM_BREAK: return "CSM_BREAK";
	case DSM_MSG_CSM_BACK: return "CSM_BACK";
	case DSM_MSG_CSM_BACK_ACK: return "CSM_BACK_ACK";
	case DSM_MSG_SC_GET: return "SC_GET";
	case DSM_MSG_SC_RECALL: return "SC_RECALL";
	case DSM_MSG_SC_BACK: return "SC_BACK";
	case DSM_MSG_SC_GRANT: return "SC_GRANT";
	case DSM_MSG_SC_DONE: return "SC_DONE";
	default: return "?";
	}
}

static void describe(const char *what, const struct flying *f)
{
	struct dsm_wire_page page;
	struct dsm_wire_lock lock;
	struct dsm_wire_ack ack;
	const u8 *body = f->m->data + DSM_HDR_BYTES;
	char more[80] = "";

	if (!w.verbose)
		return;
	memcpy(&page, body, sizeof(page));
	memcpy(&lock, body, sizeof(lock));
	memcpy(&ack, body, sizeof(ack));
	switch (f->m->data[0]) {
	case DSM_MSG_PAGE:
		snprintf(more, sizeof(more), " status %u version %llu", page.status, (unsigned long long)page.ver);
		break;
	case DSM_MSG_DIFF_ACK:
		snprintf(more, sizeof(more), " %llu->%llu", (unsigned long long)ack.prev, (unsigned long long)ack.ver);
		break;
	case DSM_MSG_SC_GET:
	case DSM_MSG_SC_RECALL:
	case DSM_MSG_SC_BACK:
	case DSM_MSG_SC_GRANT:
		snprintf(more, sizeof(more), " page index %u right %u status %u", body[0], body[4], body[5]);
		break;
	case DSM_MSG_LOCK_PASS:
	case DSM_MSG_LOCK_TRY_PASS:
		snprintf(more, sizeof(more), " for %c", 'A' + lock.node);
		break;
	}
	say("%s %c->%c %s #%u%s%s", what, 'A' + f->src, 'A' + f->m->dst, message_name(f->m->data[0]), f->id, more,
	    f->m->data[1] & DSM_HDR_INVAL_ALL ? " INVAL_ALL" : "");
}

static void read_frame(struct flying *f)
{
	struct dsm_msgbuf *m = f->m;

	/* Written into the asker's frame, or carried. */
	if (m->rkey) {
		memcpy((void *)(uintptr_t)m->raddr, m->page, DSM_PAGE_BYTES);
	} else {
		memcpy(m->data + m->len, m->page, DSM_PAGE_BYTES);
		m->len += DSM_PAGE_BYTES;
	}
	m->page = NULL;
	f->posted = false;
	f->digest = 0;
	w.changed |= 1u << m->dst;
}

static void lend(struct node *n, struct dsm_msgbuf *m)
{
	u8 *end = m->data + m->len - sizeof(struct dsm_wire_sink);
	struct dsm_wire_fetch fetch;
	struct dsm_wire_sink sink;

	memcpy(&sink, end, sizeof(sink));
	sink.addr = cpu_to_le64((uintptr_t)m->sink);
	sink.rkey = cpu_to_le32(1);
	memcpy(end, &sink, sizeof(sink));
	memcpy(&fetch, m->data + DSM_HDR_BYTES, sizeof(fetch));
	memcpy(n->asked[page_number(dsm_page_find(&n->e, n->space.id, le32_to_cpu(fetch.idx)))], m->data,
	       sizeof(n->asked[0]));
}

/* What the asker makes of a number. */
static void expand(struct node *n, struct dsm_msgbuf *m)
{
	struct node *asker = &w.node[m->dst];
	struct dsm_wire_page page;
	struct dsm_page *p;

	memcpy(&page, m->data + DSM_HDR_BYTES, sizeof(page));
	p = dsm_page_find(&asker->e, asker->space.id, le32_to_cpu(page.idx));
	if (dsm_fetch_expand(asker->asked[page_number(p)], sizeof(asker->asked[0]), node_id(n), m->brief,
			     m->data) != (int)m->len)
		fail("%c has no answer for %u", 'A' + m->dst, m->brief);
}

/* A message leaves an engine. */
void post(struct node *n, struct dsm_msgbuf *m)
{
	struct flying *f;
	__le16 len;

	if (m->dst >= w.l->nodes || m->dst == node_id(n))
		fail("message %s from %c to node %u", message_name(m->data[0]), 'A' + node_id(n), m->dst);
	if (w.node[m->dst].dead || (n->lost | n->gone) & 1u << m->dst || w.node[m->dst].lost & 1u << node_id(n)) {
		flying_free(m, node_id(n));
		return;
	}
	check_sent(n, m);
	if (w.n_flying == MAX_FLYING)
		fail("more than %d messages under way", MAX_FLYING);
	f = &w.flying[w.n_flying++];
	*f = (struct flying){ .m = m, .id = w.next_msg++, .src = node_id(n), .posted = m->page,
			      .stamp = ++w.next_stamp };
	if (m->page && !w.set.late_dma)
		read_frame(f);
	if (m->sink)
		lend(n, m);
	if (m->brief && m->rkey)
		expand(n, m);
	len = cpu_to_le16(m->len + (m->page && !m->rkey ? DSM_PAGE_BYTES : 0));
	memcpy(m->data + offsetof(struct dsm_wire_hdr, len), &len, sizeof(len));
	describe("       send", f);
}

void flying_read(u32 i)
{
	describe("read frame", &w.flying[i]);
	read_frame(&w.flying[i]);
}

static struct flying take(u32 i)
{
	struct flying f = w.flying[i];

	memmove(&w.flying[i], &w.flying[i + 1], (--w.n_flying - i) * sizeof(w.flying[0]));
	return f;
}

void flying_forget(u32 i)
{
	struct flying f = take(i);

	describe("lose", &f);
	flying_free(f.m, f.src);
}

static int touch(void *ctx, u32 region, u32 idx, bool frame)
{
	struct node *n = ctx;
	u32 p;

	for (p = 0; p < MAX_PAGES; p++)
		if (page_has(n, p, region, idx)) {
			touch_page(n, p, frame);
			return 0;
		}
	return -EPROTO;
}

/* A message that came as a letter. */
void letter_open(struct node *n, u32 from, const u8 *letter, u32 len)
{
	struct dsm_actions acts;
	int err;

	say("%c opens a letter of %c: %s", 'A' + node_id(n), 'A' + from, message_name(letter[0]));
	err = dsm_engine_check(letter, len, touch, n);
	if (err)
		fail("letter %s is refused by the check: %d", message_name(letter[0]), err);
	step_begin(n, &acts);
	err = dsm_engine_recv(&n->e, from, letter, len, &acts);
	if (err)
		fail("letter %s breaks the protocol: %d", message_name(letter[0]), err);
	w.handled = letter[0];
	w.handled_class = dsm_letter_class(letter[0]);
	step_end(n, &acts);
	w.handled = 0;
}

void flying_deliver(u32 i)
{
	struct flying f = take(i);
	struct node *n = &w.node[f.m->dst];
	struct dsm_actions acts;
	struct dsm_key key;
	u32 idx;
	int err;

	describe("deliver", &f);
	if (goes_too_late(n, f.m)) {
		flying_free(f.m, f.src);
		return;
	}
	err = dsm_engine_check(f.m->data, f.m->len, touch, n);
	if (err)
		fail("message %s #%u is refused by the check: %d", message_name(f.m->data[0]), f.id, err);
	if (dsm_fetch_key(f.m->data, f.m->len, &idx, &key)) {
		say("%c learns the key of %c", 'A' + node_id(n), 'A' + f.src);
		n->keys |= 1u << f.src;
	}
	step_begin(n, &acts);
	err = dsm_engine_recv(&n->e, f.src, f.m->data, f.m->len, &acts);
	if (err)
		fail("message %s #%u breaks the protocol: %d", message_name(f.m->data[0]), f.id, err);
	w.handled = f.m->data[0];
	w.handled_class = f.m->class;
	step_end(n, &acts);
	w.handled = 0;
	flying_free(f.m, f.src);
}
