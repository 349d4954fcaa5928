// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Moves of a page's home (seed 000, 2.3.5; protocol.md 3.6).
 *
 * With home=migrate who wants to write asks the home, unless it heard that the home is writing; if the home
 * is not, bytes, version and sharing set go to the asker in one message, and the old home stays in the set with
 * its copy. After dsm_move_unclaim() the first node that touches the page is such an asker (decisions.md P14b).
 * What still goes to an old home comes back with the name of the next one: a fetch or a question as a NACK,
 * a diff as it is, to be sent again. A node that was home points to the node that it made home, and that one
 * to a later one, so whoever follows these pointers gets to the home; the node that does not know yet that it
 * is keeps those who ask it until it has its own answer. Never moves a page whose home has a right to write.
 *
 * With predict=on a page that this node read and then wrote, when it had to ask for it last, is asked for as a whole
 * at the read already (seed 000, future work): one exchange in place of two. It goes on until such a page leaves
 * unwritten, another node writes it first, or it is written here without being read.
 */
#include "move.h"
#include "bcast.h"
#include "csm.h"
#include "diff.h"
#include "pipe.h"
#include "release.h"

/**
 * dsm_move_predict() - a page is to be fetched
 * @e:     engine
 * @p:     page in FET
 * @write: the thread writes
 *
 * Context: engine lock held.
 * Return: true: as for a writer, see dsm_move_take().
 */
bool dsm_move_predict(struct dsm_engine *e, struct dsm_page *p, bool write)
{
	if (!p->space->policy.predict)
		return false;
	if (write)
		p->dir &= ~DSM_DIR_MIGRATORY;
	if (!(p->dir & DSM_DIR_MIGRATORY))
		return false;
	dsm_count(e, p->space, predictions);
	return true;
}

/**
 * dsm_move_wrote() - a thread writes a page for the first time since it came, or was flushed
 * @e: engine
 * @p: page in RD or HOME
 *
 * Context: engine lock held.
 */
void dsm_move_wrote(struct dsm_engine *e, struct dsm_page *p)
{
	if (p->state == DSM_PAGE_HOME)
		dsm_moves_wrote(e, p, e->self);
	if (!p->space->policy.predict)
		return;
	if (p->state == DSM_PAGE_RD) {
		p->dir |= DSM_DIR_MIGRATORY;
	} else if (p->flags & DSM_PF_PREDICTED) {
		p->flags &= ~DSM_PF_PREDICTED;
		dsm_count(e, p->space, prediction_hits);
	}
}

/**
 * dsm_move_wrong() - a page leaves, or another node has written it
 * @p: page homed here
 *
 * Context: engine lock held.
 */
void dsm_move_wrong(struct dsm_page *p)
{
	if (p->space->policy.predict && p->flags & DSM_PF_PREDICTED) {
		p->flags &= ~DSM_PF_PREDICTED;
		p->dir &= ~DSM_DIR_MIGRATORY;
	}
}

static struct dsm_msgbuf *answer(struct dsm_engine *e, const struct dsm_page *p, u8 status, u16 home,
				 const struct dsm_asker *to)
{
	const struct dsm_wire_page body = {
		.idx = cpu_to_le32(p->idx),
		.status = status,
		.home = cpu_to_le16(home),
		.ver = cpu_to_le64(p->ver),
	};
	struct dsm_msgbuf *m = dsm_msg_new(e, to->node, DSM_CLASS_RSP, DSM_MSG_PAGE, p->space->id, to->xid);

	/* The asker gets its sink back with every answer. */
	m->raddr = to->raddr;
	m->rkey = to->rkey;
	dsm_wire_put(m, &body, sizeof(body));
	return m;
}

/**
 * dsm_move_give() - make another node home
 * @e:    engine
 * @p:    page in HOME: write-protected, and with nothing to release
 * @to:   who asked for it
 * @same: its copy has all bytes of this version
 * @acts: actions
 *
 * A copy that threads here have used stays, and is in the set: its writers are others from now on (L21,
 * mutant M33).
 *
 * Context: engine lock held.
 */
void dsm_move_give(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to, bool same,
		   struct dsm_actions *acts)
{
	struct dsm_msgbuf *m = answer(e, p, DSM_PAGE_STATUS_MOVED, to->node, to);
	bool zero = !p->frame || !p->ver, used = !dsm_page_is_csm(p) || p->csm & DSM_CSM_USED;
	const struct dsm_wire_moved moved = {
		.sharers = cpu_to_le64(dsm_csm_sharers(e, p) & ~(1ull << to->node)),
		.bytes = same ? DSM_MOVED_NONE : zero ? DSM_MOVED_ZERO : DSM_MOVED_DATA,
		/* Claimed anew, it moves after its last move too. */
		.moves = dsm_page_moves(p) ? min_t(u8, p->nacks + 1, DSM_MOVES_MAX) : 0,
	};

	dsm_wire_put(m, &moved, sizeof(moved));
	dsm_count_many(e, p->space, pages_sent, moved.bytes != DSM_MOVED_NONE);
	/* Copied: the next diff is another home's. */
	if (moved.bytes == DSM_MOVED_DATA)
		dsm_wire_put(m, dsm_env_bytes(p->frame), DSM_PAGE_BYTES);
	dsm_act_send(acts, m);
	p->space->led_on = true;
	p->home = to->node;
	p->need = p->ver;
	p->nacks = 0;
	p->csm &= ~(DSM_CSM_USED | DSM_CSM_SOLE);
	dsm_move_wrong(p);
	p->flags &= ~(DSM_PF_UNCLAIMED | DSM_PF_HOMED | DSM_PF_STREAK);
	dsm_page_set_state(p, used ? DSM_PAGE_RD : DSM_PAGE_INV);
}

/* Who waits for an answer that may make it home asks for patience; anybody else knows a later home. */
static u16 next_home(const struct dsm_engine *e, const struct dsm_page *p)
{
	return p->state == DSM_PAGE_FET || p->state == DSM_PAGE_UPG ? e->self : p->home;
}

/**
 * dsm_move_elsewhere() - a question about a page that is not homed here
 * @e:    engine
 * @p:    page
 * @to:   who asks
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_move_elsewhere(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to,
			struct dsm_actions *acts)
{
	dsm_act_send(acts, answer(e, p, DSM_PAGE_STATUS_NACK, next_home(e, p), to));
}

/**
 * dsm_move_is_coming() - may the answer that this node waits for make it home?
 * @e: engine
 * @p: page in FET or UPG
 *
 * Nobody waits for ever: who waits here was named this node later than it was named the node that it
 * waits for.
 *
 * Context: engine lock held.
 * Return: true if who asks has to wait for that.
 */
bool dsm_move_is_coming(const struct dsm_engine *e, const struct dsm_page *p)
{
	return dsm_page_may_move(p) || (p->space->policy.home == DSM_HOME_FIRST_TOUCH &&
				     p->state == DSM_PAGE_FET && dsm_page_manager(p->space, p->idx) != e->self);
}

static bool may_take(const struct dsm_page *p, const struct dsm_wire_moved *moved, u64 ver)
{
	bool asked = p->state == DSM_PAGE_UPG || (p->state == DSM_PAGE_FET && !(p->flags & DSM_PF_AHEAD));

	/* A home has all there is: a higher need is a third node's lie, and the home's word ends it. */
	if (!dsm_page_may_move(p) || !asked || moved->moves > DSM_MOVES_MAX || p->csm & DSM_CSM_BREAK)
		return false;
	return moved->bytes != DSM_MOVED_NONE || (p->state == DSM_PAGE_UPG && p->ver == ver);
}

/* Counted as an attempt already? Not so if it is claimed anew by who reads, or where homes stay else. */
static bool asked_for_home(const struct dsm_page *p)
{
	if (dsm_policy_moves_at_barriers(&p->space->policy))
		return true;
	return dsm_page_moves(p) && (p->state == DSM_PAGE_UPG || p->csm & DSM_CSM_WRITER);
}

/**
 * dsm_move_take() - this node is the page's home from now on
 * @e:    engine
 * @p:    page that an answer is awaited for
 * @ver:  its version
 * @r:    the rest of the answer, checked
 * @acts: actions
 *
 * If a thread waits to write, the right to comes with it: a home that writes is asked for nothing. One that only reads
 * has the home, and asks nobody when it writes.
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if this node has not asked for that.
 */
int dsm_move_take(struct dsm_engine *e, struct dsm_page *p, u64 ver, struct dsm_reader *r,
		  struct dsm_actions *acts)
{
	/* With bcast=adaptive the bit says something else. */
	bool foreseen = p->space->policy.predict && p->state == DSM_PAGE_FET && p->csm & DSM_CSM_WRITER &&
			p->dir & DSM_DIR_MIGRATORY;
	bool write = p->state == DSM_PAGE_UPG || (p->csm & DSM_CSM_WRITER && !foreseen);
	/* It found the set empty as it came in: nobody has used the page, and it can be the only one at once. */
	bool first = dsm_page_has_word(p) && p->state == DSM_PAGE_FET && p->csm & DSM_CSM_SOLE;
	struct dsm_wire_moved moved;

	dsm_reader_take(r, &moved, sizeof(moved));
	if (!may_take(p, &moved, ver))
		return -EPROTO;
	if (moved.bytes == DSM_MOVED_DATA) {
		memcpy(dsm_env_bytes(p->frame), dsm_reader_skip(r, DSM_PAGE_BYTES), DSM_PAGE_BYTES);
		dsm_count(e, p->space, page_transfers);
	} else if (moved.bytes == DSM_MOVED_ZERO) {
		memset(dsm_env_bytes(p->frame), 0, DSM_PAGE_BYTES);
		dsm_count(e, p->space, zero_replies);
	}
	dsm_count(e, p->space, migrations);
	dsm_count_many(e, p->space, migration_attempts, !asked_for_home(p));
	p->home = e->self;
	p->ver = ver;
	p->need = min(p->need, ver);
	if (dsm_page_is_csm(p))
		p->sharers = le64_to_cpu(moved.sharers) & e->alive & ~(1ull << e->self);
	p->nacks = moved.moves;
	p->xid = 0;
	p->flags &= ~(DSM_PF_DISCARD | DSM_PF_LOOSE | DSM_PF_HOMED | DSM_PF_STREAK);
	if (foreseen)
		p->flags |= DSM_PF_PREDICTED;
	p->csm &= ~((first ? 0 : DSM_CSM_SOLE) | DSM_CSM_STALE | DSM_CSM_WRITER);
	p->dir &= ~DSM_DIR_OWNED;
	dsm_bcast_ended(p);
	dsm_page_set_state(p, DSM_PAGE_HOME);
	dsm_page_fault(e, p, write, acts);
	dsm_page_replay(e, p, acts);
	dsm_page_wake(p, acts);
	return 0;
}

/**
 * dsm_move_unclaim() - a page is to be claimed anew by the first node that touches it
 * @e: engine
 * @p: page
 *
 * Where it is written, or some node has it exclusively, that holds when this has ended.
 *
 * Context: engine lock held.
 * Return: true if it is homed here and homes may move: the shell unmaps it.
 */
bool dsm_move_unclaim(struct dsm_engine *e, struct dsm_page *p)
{
	if (!dsm_policy_unclaims(&p->space->policy) || p->home != e->self || p->state == DSM_PAGE_FREE)
		return false;
	p->flags |= DSM_PF_UNCLAIMED;
	return true;
}

/* ---- diffs ---- */

/**
 * dsm_move_back() - a diff came to a node that is not, or no longer, the page's home
 * @e:    engine
 * @p:    page
 * @from: writer
 * @hdr:  header of the DIFF
 * @r:    its records, checked: one
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if there are more.
 */
int dsm_move_back(struct dsm_engine *e, const struct dsm_page *p, u16 from,
		  const struct dsm_wire_hdr *hdr, struct dsm_reader *r, struct dsm_actions *acts)
{
	const struct dsm_wire_back body = { .home = cpu_to_le16(next_home(e, p)) };
	u32 len = dsm_reader_left(r);
	struct dsm_wire_record rec;
	struct dsm_msgbuf *m;

	memcpy(&rec, r->pos, sizeof(rec));
	if (sizeof(rec) + le32_to_cpu(rec.bytes) != len)
		return -EPROTO;
	m = dsm_msg_new(e, from, DSM_CLASS_RSP, DSM_MSG_DIFF_BACK, p->space->id, le32_to_cpu(hdr->xid));
	dsm_wire_put(m, &body, sizeof(body));
	dsm_wire_put(m, dsm_reader_skip(r, len), len);
	dsm_act_send(acts, m);
	return 0;
}

static void send_again(struct dsm_engine *e, struct dsm_page *p, struct dsm_pack *k, const u8 *record,
		       u32 len)
{
	dsm_pack_init(k, p->space, p->home);
	dsm_pack_add(k, dsm_pool_take(e, DSM_POOL_MSG), e->self);
	memcpy(dsm_pack_at(k), record, len);
	dsm_pack_put(k, len);
	dsm_pack_close(k);
}

/**
 * dsm_move_on_back() - message DIFF_BACK
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * The release goes on waiting, for the next home's acknowledgement.
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if no such diff was sent to @from.
 */
int dsm_move_on_back(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		     struct dsm_reader *r, struct dsm_actions *acts)
{
	u32 xid = le32_to_cpu(hdr->xid), len;
	struct dsm_wire_back body;
	struct dsm_wire_record rec;
	struct dsm_pack pack;
	struct dsm_page *p;
	u16 home;

	dsm_reader_take(r, &body, sizeof(body));
	home = le16_to_cpu(body.home);
	len = dsm_reader_left(r);
	memcpy(&rec, r->pos, sizeof(rec));
	p = dsm_page_find(e, le32_to_cpu(hdr->region), le32_to_cpu(rec.idx));
	if (!dsm_pipe_awaits(e, from, xid) || !p || !dsm_page_may_move(p) || p->home != from ||
	    !(p->flags & DSM_PF_UNACKED) || home >= DSM_MAX_NODES || home == e->self ||
	    len > DSM_DIFF_RECORD_MAX(DSM_PAGE_BYTES))	/* ours are never longer, nor has a pack room */
		return -EPROTO;
	p->home = home;
	p->flags &= ~DSM_PF_HOMED;
	p->csm &= ~DSM_CSM_SOLE;
	if (dsm_engine_alive(e, home)) {
		send_again(e, p, &pack, r->pos, len);
		dsm_pipe_acked(e, from, xid, acts);
		dsm_pipe_send(e, &pack, acts);
		return 0;
	}
	dsm_pipe_acked(e, from, xid, acts);
	p->flags &= ~DSM_PF_UNACKED;
	dsm_rel_page_done(e, p, 0, -EHOSTDOWN, acts);
	dsm_rel_replay(e, p, acts);
	dsm_page_wake(p, acts);
	return 0;
}
