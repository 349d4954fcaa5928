// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The part of the shell that writes pages back, in the steps that others can get
 * between: take, wait out faults, walk, ask whether pinned, diff, report, send.
 */
#include "model.h"
#include "diff.h"
#include "release.h"

bool flusher_enabled(const struct node *n, const struct flusher *f)
{
	if (f->state == FS_IDLE)
		return n->flush;
	if (f->state == FS_LOCK)
		return !n->lock_of[page_number(f->page[f->i])];
	return true;
}

static void take(struct node *n, struct flusher *f)
{
	f->n = 0;
	f->i = 0;
	while (f->n < w.set.batch) {
		struct dsm_page *p = dsm_rel_take(&n->e);

		if (!p)
			break;
		f->page[f->n++] = p;
		n->walks[page_number(p)]++;
	}
	say("%c.flush takes %u pages", 'A' + node_id(n), f->n);
	if (f->n)
		f->state = FS_LOCK;
	else
		n->flush = false;
}

/* More references than the page tables hold: a device's, or only a fault's under way. */
static bool is_pinned(struct node *n, u32 p)
{
	u32 i;

	for (i = 0; i < w.l->threads; i++) {
		const struct thread *t = &w.thread[i];

		if (t->node == node_id(n) && t->prog[t->pc].a == p && t->mkwrite &&
		    (t->state == TS_FAULT || t->state == TS_PAGE_LOCK))
			return true;
	}
	return n->pins[p];
}

static void down(struct node *n, struct flusher *f)
{
	struct dsm_page *p = f->page[f->i];
	u32 k = page_number(p);
	struct dsm_actions acts;
	bool diff;

	step_begin(n, &acts);
	diff = dsm_rel_downgraded(&n->e, p, is_pinned(n, k), &f->keep, &acts);
	step_end(n, &acts);
	say("%c.flush page %u downgraded%s, now %s", 'A' + node_id(n), k, f->keep ? " (pinned)" : "",
	    page_state_name(p->state));
	if (diff)
		f->state = FS_DIFF;
	else if (++f->i == f->n)
		f->state = FS_SEND;
}

static void make_diff(struct node *n, struct flusher *f)
{
	struct dsm_page *p = f->page[f->i];
	u8 twin[DSM_PAGE_BYTES];

	memcpy(twin, p->twin, DSM_PAGE_BYTES);
	f->bytes = dsm_diff_make(p->frame, p->twin, DSM_PAGE_BYTES, p->idx, f->keep, f->record, sizeof(f->record));
	say("%c.flush page %u diff of %d bytes", 'A' + node_id(n), page_number(p), f->bytes);
	check_diff(n, p, f->record, f->bytes, f->keep, twin);
	f->state = FS_DIFFED;
}

static void put_record(struct node *n, struct flusher *f, u16 home)
{
	struct dsm_wire_pack head = {
		.magic = cpu_to_le32(DSM_DIFF_MAGIC),
		.hdr_len = cpu_to_le16(sizeof(head)),
		.region = cpu_to_le32(n->space.id),
		.writer = cpu_to_le32(node_id(n)),
	};
	struct dsm_msgbuf *m = f->pack[home];

	if (!m) {
		m = msg_alloc(n);
		m->dst = home;
		m->class = DSM_CLASS_REQ;
		dsm_wire_begin(m, DSM_MSG_DIFF, n->space.id, 0);
		dsm_wire_put(m, &head, sizeof(head));
		f->pack[home] = m;
	}
	dsm_wire_put(m, f->record, f->bytes);
}

static void diffed(struct node *n, struct flusher *f)
{
	struct dsm_page *p = f->page[f->i];
	struct dsm_actions acts;
	u16 home = p->home;
	bool send;

	step_begin(n, &acts);
	send = dsm_rel_diffed(&n->e, p, f->bytes > 0, &acts);
	step_end(n, &acts);
	say("%c.flush page %u diffed, now %s", 'A' + node_id(n), page_number(p), page_state_name(p->state));
	if (f->bytes > 0 && send)
		put_record(n, f, home);
	f->state = ++f->i == f->n ? FS_SEND : FS_DOWN;
}

static void send_packs(struct node *n, struct flusher *f)
{
	u32 home;

	say("%c.flush sends", 'A' + node_id(n));
	for (home = 0; home < MAX_NODES; home++) {
		struct dsm_msgbuf *m = f->pack[home];
		__le32 bytes;

		if (!m)
			continue;
		f->pack[home] = NULL;
		bytes = cpu_to_le32(m->len - DSM_HDR_BYTES - sizeof(struct dsm_wire_pack));
		memcpy(m->data + DSM_HDR_BYTES + offsetof(struct dsm_wire_pack, bytes), &bytes, sizeof(bytes));
		post(n, m);
	}
	f->state = FS_IDLE;
}

static void walk(struct node *n, struct flusher *f)
{
	u32 p = page_number(f->page[f->i]);

	say("%c.flush page %u write-protected", 'A' + node_id(n), p);
	wrprotect(n, p);
	n->walks[p]--;
	if (++f->i == f->n) {
		f->i = 0;
		f->state = FS_DOWN;
	}
}

void flusher_step(struct node *n, struct flusher *f)
{
	switch (f->state) {
	case FS_IDLE:
		take(n, f);
		break;
	case FS_LOCK:
		say("%c.flush page %u: faults waited out", 'A' + node_id(n), page_number(f->page[f->i]));
		if (++f->i == f->n) {
			f->i = 0;
			f->state = FS_WALK;
		}
		break;
	case FS_WALK:
		walk(n, f);
		break;
	case FS_DOWN:
		down(n, f);
		break;
	case FS_DIFF:
		make_diff(n, f);
		break;
	case FS_DIFFED:
		diffed(n, f);
		break;
	default:
		send_packs(n, f);
	}
}
