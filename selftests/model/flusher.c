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
		return f->kept[f->i] || !n->lock_of[page_number(f->page[f->i])];
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
		/* Written all the time: not walked. */
		f->kept[f->n] = p->flags & DSM_PF_KEPT;
		if (!f->kept[f->n])
			n->walks[page_number(p)]++;
		f->page[f->n++] = p;
	}
	say("%c.flush takes %u pages", 'A' + node_id(n), f->n);
	if (f->n)
		f->state = FS_LOCK;
	else
		n->flush = false;
}

/* More references than the page tables hold: a device's, or only a fault's under way. */
bool is_pinned(struct node *n, u32 p)
{
	u32 i;

	for (i = 0; i < w.l->threads; i++) {
		const struct thread *t = &w.thread[i];

		if (t->node == node_id(n) && t->at == p && t->mkwrite &&
		    (t->state == TS_FAULT || t->state == TS_PAGE_LOCK))
			return true;
	}
	return n->pins[p];
}

/* One step for all pages: nobody can write them any more. */
static void down(struct node *n, struct flusher *f)
{
	struct dsm_actions acts;

	step_begin(n, &acts);
	for (f->i = 0; f->i < f->n; f->i++) {
		struct dsm_page *p = f->page[f->i];

		f->diff[f->i] = dsm_rel_downgraded(&n->e, p, is_pinned(n, page_number(p)), &f->keep[f->i], &acts);
		f->alone[f->i] = dsm_moves_alone(p);
		say("%c.flush page %u downgraded%s, now %s", 'A' + node_id(n), page_number(p),
		    f->keep[f->i] ? " (pinned)" : "", page_state_name(p->state));
	}
	dsm_csm_post(&n->e, &acts);
	step_end(n, &acts);
	dsm_pack_init(&f->pack, NULL, DSM_NO_NODE);
	f->direct = (struct dsm_direct){};
	f->told = 0;
	f->i = 0;
	f->state = FS_DIFF;
}

/* The changed bytes straight into the home's frame. False: they are to be packed. */
static bool write_direct(struct node *n, struct flusher *f)
{
	struct dsm_page *p = f->page[f->i];
	struct dsm_piece piece[DSM_PAGE_BYTES];
	int max = dsm_direct_runs(&n->e, &n->space), runs, i;
	struct dsm_key key;

	f->lent[f->i] = false;
	if (max < 0 || f->alone[f->i] || !dsm_direct_key(&n->e, p, &key))
		return false;
	runs = dsm_diff_take(p->frame, p->twin, DSM_PAGE_BYTES, 0, piece, min_t(u32, max, DSM_PAGE_BYTES));
	if (runs < 0)
		return false;
	say("%c.flush page %u has %d runs to be written", 'A' + node_id(n), page_number(p), runs);
	if (runs && !f->direct.m)
		dsm_direct_begin(&f->direct, msg_alloc(n), p->space, p->home);
	for (i = 0; i < runs; i++) {
		f->lent[f->i] = i == runs - 1 && !f->keep[f->i];
		if (dsm_direct_put(&f->direct, p, &piece[i], &key, f->lent[f->i]))
			continue;
		dsm_direct_add(&f->direct, xfer_alloc(n));
		dsm_direct_put(&f->direct, p, &piece[i], &key, f->lent[f->i]);
	}
	f->changed[f->i] = runs;
	if (runs)
		dsm_direct_name(&f->direct, p->idx);
	return true;
}

/* The record of one page, if the pack has room for it. */
static bool put_record(struct node *n, struct flusher *f)
{
	struct dsm_page *p = f->page[f->i];
	u8 twin[DSM_PAGE_BYTES];
	int bytes = -ENOSPC;
	u32 room;

	if (f->pack.space && (f->pack.home != p->home || f->alone[f->i]) && f->told < f->i)
		return false;
	if (f->pack.home != p->home || f->alone[f->i])
		dsm_pack_init(&f->pack, p->space, p->home);
	if (write_direct(n, f))
		return true;
	memcpy(twin, p->twin, DSM_PAGE_BYTES);
	for (;;) {
		room = dsm_pack_room(&f->pack);
		if (room)
			bytes = dsm_diff_make(p->frame, p->twin, DSM_PAGE_BYTES, p->idx, f->keep[f->i],
					      dsm_pack_at(&f->pack), room);
		if (bytes != -ENOSPC)
			break;
		if (dsm_pack_is_full(&f->pack))
			return false;
		dsm_pack_add(&f->pack, msg_alloc(n), node_id(n));
	}
	say("%c.flush page %u diff of %d bytes", 'A' + node_id(n), page_number(p), bytes);
	check_diff(n, p, dsm_pack_at(&f->pack), bytes, f->keep[f->i], twin);
	f->changed[f->i] = bytes > 0;
	if (bytes > 0)
		dsm_pack_put(&f->pack, bytes);
	return true;
}

static void make_diff(struct node *n, struct flusher *f)
{
	while (f->i < f->n && !f->diff[f->i])
		f->i++;
	if (f->i < f->n && put_record(n, f)) {
		f->i++;
		if (f->i < f->n && !f->alone[f->i - 1] && !dsm_pack_is_due(&f->pack, &n->e, f->n - f->i) && !(f->direct.m && w.set.lone_records))
			return;
	}
	f->state = FS_TELL;
}

static void tell(struct node *n, struct flusher *f)
{
	struct dsm_msgbuf *empty = dsm_pack_close(&f->pack);
	struct dsm_actions acts;
	struct dsm_pack direct;

	say("%c.flush tells and sends", 'A' + node_id(n));
	if (empty)
		flying_free(empty, node_id(n));
	step_begin(n, &acts);
	for (; f->told < f->i; f->told++)
		if (f->diff[f->told]) {
			if (f->lent[f->told])
				dsm_rel_lend(f->page[f->told]);
			dsm_rel_diffed(&n->e, f->page[f->told], f->changed[f->told], &acts);
			say("%c.flush page %u diffed, now %s", 'A' + node_id(n), page_number(f->page[f->told]),
			    page_state_name(f->page[f->told]->state));
		}
	if (f->pack.first)
		dsm_pipe_send(&n->e, &f->pack, &acts);
	if (f->direct.m) {
		dsm_direct_close(&f->direct, &direct, f->pack.space, f->pack.home);
		dsm_pipe_send(&n->e, &direct, &acts);
	}
	step_end(n, &acts);
	f->state = f->i == f->n ? FS_IDLE : FS_DIFF;
}

static void walk(struct node *n, struct flusher *f)
{
	u32 p = page_number(f->page[f->i]);

	if (!f->kept[f->i]) {
		say("%c.flush page %u write-protected", 'A' + node_id(n), p);
		wrprotect(n, p);
		n->walks[p]--;
	}
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
	default:
		tell(n, f);
	}
}
