// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Memory for synchronisation by one-sided transfers: giving out words, keeping the board, telling
 * peers where the mail is. Knows no lock, and never changes a word that was given out.
 */
#include "rsync.h"
#include "interval.h"

/**
 * dsm_rsync_set() - the memory is made and registered
 * @e:   engine
 * @mem: memory; stays until the engine is started anew
 *
 * Context: engine lock held.
 */
void dsm_rsync_set(struct dsm_engine *e, struct dsm_rsync *mem)
{
	e->rsync = mem;
}

/**
 * dsm_rsync_announce() - tell a peer how to reach our mail
 * @e:    engine
 * @node: any node
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_rsync_announce(struct dsm_engine *e, u16 node, struct dsm_actions *acts)
{
	struct dsm_wire_rsync_key body = {};
	struct dsm_msgbuf *m;

	if (!e->rsync || node == e->self || !dsm_engine_alive(e, node))
		return;
	body.addr = cpu_to_le64(e->rsync->mail_key.addr);
	body.rkey = cpu_to_le32(e->rsync->mail_key.rkey);
	m = dsm_msg_new(e, node, DSM_CLASS_REQ, DSM_MSG_RSYNC_KEY, 0, dsm_xid_next(e));
	dsm_wire_put(m, &body, sizeof(body));
	dsm_act_send(acts, m);
}

/**
 * dsm_rsync_on_key() - message RSYNC_KEY
 * @e:    engine
 * @from: sender
 * @r:    body, checked
 *
 * Context: engine lock held. The key is forgotten when the peer is lost.
 * Return: 0, -EPROTO no key, or another than before.
 */
int dsm_rsync_on_key(struct dsm_engine *e, u16 from, struct dsm_reader *r)
{
	struct dsm_wire_rsync_key body;
	struct dsm_key key, *known = &e->mail_key[from];

	dsm_reader_take(r, &body, sizeof(body));
	key = (struct dsm_key){ .addr = le64_to_cpu(body.addr), .rkey = le32_to_cpu(body.rkey) };
	if (!key.rkey || (known->rkey && (known->rkey != key.rkey || known->addr != key.addr)))
		return -EPROTO;
	*known = key;
	return 0;
}

/**
 * dsm_rsync_xfer() - begin a transfer
 * @e:      engine
 * @op:     enum dsm_xfer_op
 * @kind:   enum dsm_xfer_kind
 * @dst:    node; this one too
 * @region: region that it belongs to
 *
 * Context: engine lock held.
 * Return: the transfer, not handed over yet; never NULL.
 */
struct dsm_xfer *dsm_rsync_xfer(struct dsm_engine *e, u8 op, u8 kind, u16 dst, u32 region)
{
	struct dsm_xfer *x = dsm_pool_take(e, DSM_POOL_XFER);

	x->op = op;
	x->kind = kind;
	x->fence = false;
	x->yields = false;
	x->n_segs = 0;
	x->dst = dst;
	x->rkey = 0;
	x->remote = 0;
	x->imm = 0;
	x->status = 0;
	x->region = region;
	x->idx = 0;
	x->xid = dsm_xid_next(e);
	x->owned = 0;
	x->then = NULL;
	return x;
}

/**
 * dsm_rsync_seg() - add local memory to a transfer
 * @x:   transfer
 * @at:  address of kernel memory, contiguous or within a page
 * @len: bytes
 *
 * Context: any.
 */
void dsm_rsync_seg(struct dsm_xfer *x, void *at, u32 len)
{
	x->seg[x->n_segs++] = (struct dsm_seg){
		.page = dsm_env_vpage(at), .off = dsm_env_voff(at), .len = len,
	};
}

/* Of 64-bit words; whatever is torn between two boards changes it. */
static u64 sum_of(const struct dsm_board *b)
{
	const __le64 *word = &b->count, *end = (const __le64 *)(b + 1);
	u64 sum = 0x9e3779b97f4a7c15ull;

	for (; word < end; word++)
		sum = (sum ^ le64_to_cpu(*word)) * 0xff51afd7ed558ccdull + (sum >> 29);
	return sum;
}

/**
 * dsm_rsync_note() - a record came into our log
 * @e:   engine
 * @rec: record
 *
 * Context: engine lock held.
 */
void dsm_rsync_note(struct dsm_engine *e, const struct dsm_interval *rec)
{
	struct dsm_board_record *r;
	struct dsm_board *b;
	u64 count;
	u16 i;

	if (!e->rsync)
		return;
	b = &e->rsync->next;
	count = le64_to_cpu(b->count);
	if (count == DSM_BOARD_RECORDS)
		memmove(&b->record[0], &b->record[1], --count * sizeof(*r));
	r = &b->record[count];
	b->count = cpu_to_le64(count + 1);
	memset(r, 0, sizeof(*r));
	r->head.node = cpu_to_le16(rec->node);
	r->head.count = cpu_to_le16(rec->count);
	r->head.seq = cpu_to_le64(rec->seq);
	for (i = 0; i < rec->count; i++) {
		r->notice[i].region = cpu_to_le32(rec->notice[i].region);
		r->notice[i].idx = cpu_to_le32(rec->notice[i].idx);
		r->notice[i].ver = cpu_to_le64(rec->notice[i].ver);
	}
}

/**
 * dsm_rsync_publish() - write what this node knows on its board
 * @e: engine with its memory
 *
 * Context: engine lock held, which makes the writers one.
 */
void dsm_rsync_publish(struct dsm_engine *e)
{
	struct dsm_board *b = &e->rsync->mail->own.board;
	bool same = b->sum;
	u16 i;

	for (i = 0; i < e->n_nodes && same; i++)
		same = b->time[i] == cpu_to_le64(e->known[i]);
	if (same)
		return;
	for (i = 0; i < e->n_nodes; i++)
		b->time[i] = cpu_to_le64(e->known[i]);
	b->count = e->rsync->next.count;
	memcpy(b->record, e->rsync->next.record, sizeof(b->record));
	b->sum = cpu_to_le64(sum_of(b));
}

/**
 * dsm_rsync_read() - prepare a READ of a peer's board
 * @e:      engine with its memory
 * @from:   the peer
 * @kind:   enum dsm_xfer_kind
 * @region: region that it is for
 *
 * Context: engine lock held.
 * Return: the transfer, not handed over yet; NULL if its mail is not known here.
 */
struct dsm_xfer *dsm_rsync_read(struct dsm_engine *e, u16 from, u8 kind, u32 region)
{
	struct dsm_xfer *x;

	/* What a word says may be no node at all. */
	if (!dsm_engine_alive(e, from) || !e->mail_key[from].rkey)
		return NULL;
	x = dsm_rsync_xfer(e, DSM_XFER_READ, kind, from, region);
	x->rkey = e->mail_key[from].rkey;
	x->remote = e->mail_key[from].addr + offsetof(struct dsm_mail, own);
	dsm_rsync_seg(x, &e->rsync->landing[from], sizeof(struct dsm_board));
	return x;
}

/**
 * dsm_rsync_enclose() - send our board along with a signal
 * @e: engine with its memory
 * @x: SIGNAL without bytes
 *
 * Context: engine lock held. What the device sends may be newer than what is on the board now.
 * Return: false if the receiver's mail is not known here: the signal brings nothing.
 */
bool dsm_rsync_enclose(struct dsm_engine *e, struct dsm_xfer *x)
{
	const struct dsm_key *key = &e->mail_key[x->dst];

	if (!key->rkey)
		return false;
	x->rkey = key->rkey;
	x->remote = key->addr + offsetof(struct dsm_mail, inbox) +
		    e->self * sizeof(union dsm_board_slot);
	dsm_rsync_seg(x, &e->rsync->mail->own, sizeof(struct dsm_board));
	return true;
}

/**
 * dsm_rsync_take() - learn from a board
 * @e:    engine
 * @from: whose it is
 * @slot: the board, or what is left of it by transfers that overlap: not to be trusted
 *
 * Context: engine lock held.
 * Return: true if our log holds all that the board names; false if not, or if it says nothing:
 * pull from @from.
 */
bool dsm_rsync_take(struct dsm_engine *e, u16 from, const union dsm_board_slot *slot)
{
	struct dsm_board *b = &e->rsync->copy;
	u64 times[DSM_MAX_NODES];
	u16 i;

	memcpy(b, &slot->board, sizeof(*b));
	if (le64_to_cpu(b->sum) != sum_of(b) || le64_to_cpu(b->count) > DSM_BOARD_RECORDS)
		return false;
	for (i = 0; i < DSM_MAX_NODES; i++)
		times[i] = le64_to_cpu(b->time[i]);
	for (i = 0; i < le64_to_cpu(b->count); i++)
		if (!dsm_know_board_record(e, &b->record[i]))
			return false;
	return dsm_know_board_time(e, from, times);
}

/**
 * dsm_rsync_word_get() - give out a word
 * @e: engine with its memory
 *
 * Context: engine lock held.
 * Return: its number; -ENOSPC all are in use.
 */
int dsm_rsync_word_get(struct dsm_engine *e)
{
	u32 i, bit;

	for (i = 0; i < ARRAY_SIZE(e->rsync_used); i++) {
		if (!~e->rsync_used[i])
			continue;
		bit = __ffs64(~e->rsync_used[i]);
		e->rsync_used[i] |= 1ull << bit;
		/* Nobody knows it, so nobody changes it. */
		WRITE_ONCE(e->rsync->word[i * 64 + bit], 0);
		return i * 64 + bit;
	}
	return -ENOSPC;
}

/**
 * dsm_rsync_word_put() - take a word back
 * @e:      engine
 * @number: of the word; no node has a transfer to it under way or will start one
 *
 * Context: engine lock held.
 */
void dsm_rsync_word_put(struct dsm_engine *e, u32 number)
{
	e->rsync_used[number / 64] &= ~(1ull << number % 64);
}
