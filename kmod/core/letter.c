// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Letters: which place a letter gets, and when a place is free again. Knows nothing of barriers and
 * flags but the numbers of their messages.
 *
 * Two threads may hand letters over in another order than that of their numbers. So the receiver
 * acknowledges only the unbroken beginning of those it took: in the header of each of its own
 * letters, and by a signal when half of the places wait for that.
 */
#include "letter.h"
#include "rsync.h"

/**
 * dsm_letter_class() - may a message be a letter?
 * @type: any number
 *
 * Context: any.
 * Return: enum dsm_class of the type, or -1.
 */
int dsm_letter_class(u8 type)
{
	switch (type) {
	case DSM_MSG_BAR_ARRIVE:
	case DSM_MSG_BAR_ABORT:
	case DSM_MSG_FLAG_OP:
	case DSM_MSG_SYNC_PUSH:
		return DSM_CLASS_REQ;
	case DSM_MSG_BAR_ASK:
		return DSM_CLASS_FWD;
	case DSM_MSG_BAR_DEPART:
	case DSM_MSG_FLAG_REPLY:
	case DSM_MSG_SYNC_REPLY:
		return DSM_CLASS_RSP;
	default:
		return -1;
	}
}

/* The region that it belongs to, if its records are letters; NULL. */
static struct dsm_space *wants_letters(struct dsm_engine *e, const struct dsm_msgbuf *m)
{
	const struct dsm_wire_hdr *hdr = (const struct dsm_wire_hdr *)m->data;
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));

	return s && s->policy.sync == DSM_SYNC_RDMA ? s : NULL;
}

/* Is there a place for one more letter to @node? */
static bool is_open(const struct dsm_engine *e, u16 node)
{
	const struct dsm_letters *l = &e->letters[node];

	return e->rsync && e->mail_key[node].rkey && l->sent - l->acked < DSM_LETTERS;
}

/**
 * dsm_letter_prefer() - let what is known fit into a letter, if the rest does
 * @e: engine
 * @m: message, complete but for the knowledge at its end
 *
 * Context: engine lock held.
 */
void dsm_letter_prefer(struct dsm_engine *e, struct dsm_msgbuf *m)
{
	u32 time_bytes = sizeof(struct dsm_wire_know) + e->n_nodes * sizeof(__le64);

	if (wants_letters(e, m) && is_open(e, m->dst) && m->len + time_bytes <= DSM_LETTER_BYTES)
		m->limit = DSM_LETTER_BYTES;
}

static struct dsm_xfer *signal_new(struct dsm_engine *e, u16 dst, u32 what, u32 number)
{
	struct dsm_xfer *x = dsm_rsync_xfer(e, DSM_XFER_SIGNAL, DSM_XFER_KIND_LETTER, dst, 0);

	x->imm = what << 24 | (number & DSM_LETTER_NUMBER);
	return x;
}

/**
 * dsm_letter_send() - send a record of a barrier or a flag
 * @e:    engine
 * @m:    message; consumed
 * @acts: actions
 *
 * The bytes stay where they are until the transfer is back (@m is its dsm_xfer.then).
 *
 * Context: engine lock held.
 */
void dsm_letter_send(struct dsm_engine *e, struct dsm_msgbuf *m, struct dsm_actions *acts)
{
	struct dsm_wire_hdr *hdr = (struct dsm_wire_hdr *)m->data;
	struct dsm_space *s = wants_letters(e, m);
	struct dsm_letters *l = &e->letters[m->dst];
	u32 place = l->sent % DSM_LETTERS;
	struct dsm_xfer *x;

	if (!s) {
		dsm_act_send(acts, m);
		return;
	}
	if (!is_open(e, m->dst) || m->len > DSM_LETTER_BYTES) {
		dsm_count(e, s, letters_by_message);
		dsm_act_send(acts, m);
		return;
	}
	hdr->len = cpu_to_le16(m->len);
	hdr->src = cpu_to_le32(e->self);
	hdr->seq = cpu_to_le32(l->sent);
	hdr->credit = cpu_to_le64(l->taken);
	l->told = l->taken;
	x = signal_new(e, m->dst, DSM_SIGNAL_LETTER, l->sent++);
	x->rkey = e->mail_key[m->dst].rkey;
	x->remote = e->mail_key[m->dst].addr + offsetof(struct dsm_mail, letter) +
		    (e->self * DSM_LETTERS + place) * DSM_LETTER_BYTES;
	x->then = m;
	dsm_rsync_seg(x, m->data, m->len);
	dsm_act_xfer(acts, x);
	dsm_count(e, s, letters);
}

/* The peer has taken all below @number, of which the low bits are known. False: they were never sent. */
static bool acknowledge(struct dsm_letters *l, u32 number)
{
	u32 more = (number - l->acked) & DSM_LETTER_NUMBER;

	/* Told before: two of its letters, or signals, came in another order. */
	if (more > DSM_LETTER_NUMBER / 2)
		return true;
	if (more > l->sent - l->acked)
		return false;
	l->acked += more;
	return true;
}

/* Which rule a letter breaks; NULL if none. */
static const char *check(const u8 *letter, u16 from, u32 number)
{
	struct dsm_wire_hdr hdr;

	memcpy(&hdr, letter, sizeof(hdr));
	if (le32_to_cpu(hdr.seq) != number)
		return "another letter is in its place";
	if (le16_to_cpu(hdr.len) < DSM_HDR_BYTES || le16_to_cpu(hdr.len) > DSM_LETTER_BYTES)
		return "length";
	if (le32_to_cpu(hdr.src) != from)
		return "sender";
	if (hdr.epoch)
		return "epoch";
	if (dsm_letter_class(hdr.type) < 0)
		return "type";
	return NULL;
}

/**
 * dsm_letter_take() - a letter has come
 * @e:    engine
 * @from: sender
 * @imm:  value of its signal
 * @why:  set to the rule that was broken
 * @acts: actions
 *
 * Copies it out of the sender's reach, and only then believes what it says of itself.
 *
 * Context: engine lock held; one call at a time for each @from, until the copy was looked at.
 * Return: its length; 0 if @from is lost; -EPROTO if it broke a rule.
 */
int dsm_letter_take(struct dsm_engine *e, u16 from, u32 imm, const char **why,
		    struct dsm_actions *acts)
{
	struct dsm_letters *l = &e->letters[from];
	u32 ahead = (imm - l->taken) & DSM_LETTER_NUMBER, number = l->taken + ahead;
	struct dsm_wire_hdr hdr;
	u8 *letter;

	if (!dsm_engine_alive(e, from))
		return 0;
	*why = "there is no such place";
	if (!e->rsync || ahead >= DSM_LETTERS || l->ahead & 1u << ahead)
		return -EPROTO;
	letter = e->rsync->letter[from];
	memcpy(letter, e->rsync->mail->letter[from][number % DSM_LETTERS], DSM_LETTER_BYTES);
	*why = check(letter, from, number);
	if (*why)
		return -EPROTO;
	memcpy(&hdr, letter, sizeof(hdr));
	*why = "letters are acknowledged that were not sent";
	if (!acknowledge(l, le64_to_cpu(hdr.credit)))
		return -EPROTO;
	for (l->ahead |= 1u << ahead; l->ahead & 1; l->ahead >>= 1)
		l->taken++;
	if (l->taken - l->told > DSM_LETTERS / 2) {
		l->told = l->taken;
		dsm_act_xfer(acts, signal_new(e, from, DSM_SIGNAL_TAKEN, l->taken));
	}
	return le16_to_cpu(hdr.len);
}

/**
 * dsm_letter_on_taken() - a peer has taken letters of ours
 * @e:    engine
 * @from: the peer
 * @imm:  value of its signal
 * @why:  set to the rule that was broken
 *
 * Context: engine lock held.
 * Return: 0; -EPROTO if they were never sent.
 */
int dsm_letter_on_taken(struct dsm_engine *e, u16 from, u32 imm, const char **why)
{
	*why = "letters are acknowledged that were not sent";
	if (!dsm_engine_alive(e, from) || acknowledge(&e->letters[from], imm))
		return 0;
	return -EPROTO;
}
