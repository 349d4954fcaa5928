// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks by atomics, the part of a key's manager: gives out the word, and makes the queue void when
 * a node that may be in it is lost.
 *
 * Only the nodes of a queue know it, each its neighbours. So a queue that may have lost a node is
 * given up as a whole: the word says LOST, and all who wait are told. Whoever has the lock is not
 * disturbed; when he gives it back, the word becomes free, in a new epoch. If the lost node had
 * it, the word stays LOST: every request fails. Never hands a lock on.
 */
#include "rlock.h"

/**
 * dsm_rlockman_open() - this node's own use of a word
 * @e: engine with its memory
 * @l: lock managed here
 *
 * Context: engine lock held.
 * Return: 0; -ENOSPC no word is left.
 */
int dsm_rlockman_open(struct dsm_engine *e, struct dsm_rlock *l)
{
	struct dsm_key word = e->rsync->word_key;
	int number;

	if (l->flags & DSM_RLOCKF_OPEN)
		return 0;
	number = dsm_rsync_word_get(e);
	if (number < 0)
		return number;
	if (l->flags & DSM_RLOCKF_ARRAY && number >= (int)DSM_ARRAYS) {
		dsm_rsync_word_put(e, number);
		return -ENOSPC;
	}
	word.addr += number * sizeof(u64);
	dsm_rlock_opened(e, l, &word, dsm_rlock_handle(e->self, number));
	return 0;
}

/**
 * dsm_rlock_reply() - message RLOCK_REPLY
 * @e:    engine
 * @l:    lock
 * @dst:  node
 * @xid:  of the request, or 0
 * @body: all but the key
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlock_reply(struct dsm_engine *e, struct dsm_rlock *l, u16 dst, u32 xid, struct dsm_wire_rlock *body,
		     struct dsm_actions *acts)
{
	struct dsm_msgbuf *m =
		dsm_msg_new(e, dst, DSM_CLASS_RSP, DSM_MSG_RLOCK_REPLY, l->region, xid);

	body->key = cpu_to_le64(l->key);
	dsm_wire_put(m, body, sizeof(*body));
	dsm_act_send(acts, m);
}

static void answer_open(struct dsm_engine *e, struct dsm_rlock *l, u16 from, u32 xid,
			struct dsm_actions *acts)
{
	struct dsm_wire_rlock body = { .op = DSM_RLOCK_OPEN };
	int err = dsm_rlockman_open(e, l);

	if (!err) {
		l->users |= 1ull << from;
		body.addr = cpu_to_le64(l->word.addr);
		body.rkey = cpu_to_le32(l->word.rkey);
		body.word = cpu_to_le32(l->handle % DSM_RSYNC_WORDS);
	}
	body.status = cpu_to_le32(-err);
	dsm_rlock_reply(e, l, from, xid, &body, acts);
	dsm_rlock_put(e, l);
}

/* ---- a queue that may have lost a node ---- */

static void look(struct dsm_engine *e, struct dsm_rlock *l, u64 put, struct dsm_actions *acts)
{
	l->judge_put = put;
	dsm_rlock_cas(e, l, l->judged, put, &l->judge_xid, acts);
}

/**
 * dsm_rlockman_judge() - if there is a queue that lost a node, make it void
 * @e:      engine
 * @l:      lock managed here
 * @broken: any queue may have; else only one whose end is lost
 * @acts:   actions
 *
 * Context: engine lock held. The lost node's own transfers are over.
 */
void dsm_rlockman_judge(struct dsm_engine *e, struct dsm_rlock *l, bool broken, struct dsm_actions *acts)
{
	bool was = dsm_rlock_is_busy(l);

	if (broken)
		l->flags |= DSM_RLOCKF_BROKEN;
	if (l->flags & DSM_RLOCKF_JUDGING) {
		l->flags |= DSM_RLOCKF_AGAIN;
		return;
	}
	l->flags |= DSM_RLOCKF_JUDGING;
	dsm_rlock_busy(e, l, was);
	look(e, l, l->judged, acts);
}

static bool is_broken(const struct dsm_engine *e, const struct dsm_rlock *l)
{
	return dsm_rword_state(l->judged) == DSM_RWORD_HELD &&
	       (l->flags & DSM_RLOCKF_BROKEN || !dsm_engine_alive(e, dsm_rword_node(l->judged)));
}

static void answer_reporters(struct dsm_engine *e, struct dsm_rlock *l, int err, struct dsm_actions *acts)
{
	u64 nodes = l->reporters & e->alive;

	l->reporters = 0;
	for (; nodes; nodes &= nodes - 1) {
		struct dsm_wire_rlock body = { .op = DSM_RLOCK_BROKEN, .status = cpu_to_le32(-err) };

		dsm_rlock_reply(e, l, __ffs64(nodes), 0, &body, acts);
	}
}

static void tell(struct dsm_engine *e, struct dsm_rlock *l, u64 word, struct dsm_actions *acts)
{
	u64 nodes = l->users & e->alive & ~(1ull << e->self);

	for (; nodes; nodes &= nodes - 1) {
		struct dsm_wire_rlock body = { .op = DSM_RLOCK_LOST, .addr = cpu_to_le64(word) };

		dsm_rlock_reply(e, l, __ffs64(nodes), 0, &body, acts);
	}
	dsm_rlock_void(e, l, word, acts);
}

/**
 * dsm_rlockman_judged() - the word was looked at, or changed
 * @e:    engine
 * @l:    lock managed here
 * @x:    the atomic
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rlockman_judged(struct dsm_engine *e, struct dsm_rlock *l, const struct dsm_xfer *x,
			 struct dsm_actions *acts)
{
	bool changed = !x->status && x->result == l->judged && l->judge_put != l->judged;

	if (!x->status)
		l->judged = changed ? l->judge_put : x->result;
	/* Who is in a queue of the next epoch came after the loss. */
	if (changed && !(l->flags & DSM_RLOCKF_AGAIN))
		l->flags &= ~DSM_RLOCKF_BROKEN;
	if (!x->status && is_broken(e, l)) {
		look(e, l, dsm_rword(DSM_RWORD_LOST, dsm_rword_node(l->judged),
				     dsm_rword_epoch(l->judged)), acts);
		return;
	}
	if (changed)
		tell(e, l, l->judged, acts);
	/* Who reported is answered in a step of its own: memory for messages is for one to each node (pool.c). */
	if (!x->status && (changed || l->flags & DSM_RLOCKF_AGAIN)) {
		l->flags &= ~DSM_RLOCKF_AGAIN;
		look(e, l, l->judged, acts);
		return;
	}
	l->flags &= ~(DSM_RLOCKF_JUDGING | DSM_RLOCKF_AGAIN | DSM_RLOCKF_BROKEN);
	dsm_rlock_busy(e, l, true);
	answer_reporters(e, l, x->status, acts);
	/* This node cannot reach its own words any more, and who is before us might give up without a word to us. */
	if (x->status && (l->state == DSM_RLOCK_WAITING || l->state == DSM_RLOCK_PASSING))
		dsm_rlock_refused(e, l, -EHOSTDOWN, acts);
}

/* ---- messages ---- */

/* It is answered when the word has been judged. */
static void report(struct dsm_engine *e, struct dsm_rlock *l, u16 from, struct dsm_actions *acts)
{
	l->reporters |= 1ull << from;
	dsm_rlockman_judge(e, l, true, acts);
}

static struct dsm_space *region_of(struct dsm_engine *e, const struct dsm_wire_hdr *hdr)
{
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));

	return s && s->n_members && s->policy.sync == DSM_SYNC_RDMA && e->rsync ? s : NULL;
}

/**
 * dsm_rlock_on_request() - message RLOCK, to the manager or to a node of the queue
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the peer broke a rule.
 */
int dsm_rlock_on_request(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			 struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = region_of(e, hdr);
	struct dsm_wire_rlock body;
	struct dsm_rlock *l;
	u64 key;

	dsm_reader_take(r, &body, sizeof(body));
	key = le64_to_cpu(body.key);
	if (!s || (body.op == DSM_RLOCK_BEFORE ? s->policy.algo == DSM_ALGO_ARRAY :
						 dsm_manager(s, DSM_MSG_LOCK_REQ, key) != e->self))
		return -EPROTO;
	/* What is asked without a word stays only if it is given one; a node may have the number of one that queued. */
	l = body.op == DSM_RLOCK_BROKEN ? dsm_rlock_find(e, s->id, key) : dsm_rlock_get(e, s, key);
	if (body.op == DSM_RLOCK_OPEN) {
		answer_open(e, l, from, le32_to_cpu(hdr->xid), acts);
	} else if (body.op == DSM_RLOCK_BEFORE) {
		dsm_rlock_on_before(e, l, from, le32_to_cpu(body.word), acts);
		dsm_rlock_put(e, l);
	} else {
		if (!l || l->flags & DSM_RLOCKF_ARRAY || !(l->users & 1ull << from))
			return -EPROTO;
		report(e, l, from, acts);
	}
	return 0;
}

static int opened(struct dsm_engine *e, struct dsm_rlock *l, u16 from, const struct dsm_wire_rlock *body,
		  struct dsm_actions *acts)
{
	const struct dsm_key word = { .addr = le64_to_cpu(body->addr), .rkey = le32_to_cpu(body->rkey) };
	u32 number = le32_to_cpu(body->word);

	if (l->state != DSM_RLOCK_OPENING)
		return -EPROTO;
	if (body->status) {
		dsm_rlock_refused(e, l, -ENOSPC, acts);
		return 0;
	}
	if (!word.rkey || word.addr % sizeof(u64) || number >= DSM_RSYNC_WORDS ||
	    (l->flags & DSM_RLOCKF_ARRAY && number >= DSM_ARRAYS))
		return -EPROTO;
	dsm_rlock_opened(e, l, &word, dsm_rlock_handle(from, number));
	if (list_empty(&l->waiters))
		dsm_rlock_refused(e, l, -EHOSTDOWN, acts);	/* they gave up: nobody hears it */
	else
		dsm_rlock_queue(e, l, acts);
	return 0;
}

/**
 * dsm_rlock_on_reply() - message RLOCK_REPLY, from the manager or a node of the queue
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the peer broke a rule.
 */
int dsm_rlock_on_reply(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
		       struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = region_of(e, hdr);
	struct dsm_wire_rlock body;
	struct dsm_rlock *l;

	dsm_reader_take(r, &body, sizeof(body));
	l = s ? dsm_rlock_find(e, s->id, le64_to_cpu(body.key)) : NULL;
	if (!l)
		return -EPROTO;
	if (body.op == DSM_RLOCK_BEFORE) {
		dsm_rlock_on_place(e, l, from, le32_to_cpu(body.status), le32_to_cpu(body.word), acts);
		return 0;
	}
	if (l->manager != from)
		return -EPROTO;
	if (body.op == DSM_RLOCK_OPEN)
		return opened(e, l, from, &body, acts);
	if (body.op == DSM_RLOCK_BROKEN) {
		dsm_rlock_doubt_judged(e, l, body.status ? -EHOSTDOWN : 0, acts);
		return 0;
	}
	/* It may come before the word that was asked for. */
	if (l->flags & DSM_RLOCKF_ARRAY || dsm_rword_state(le64_to_cpu(body.addr)) != DSM_RWORD_LOST)
		return -EPROTO;
	dsm_rlock_void(e, l, le64_to_cpu(body.addr), acts);
	return 0;
}
