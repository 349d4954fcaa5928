// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Transfers of sync=rdma and metadata=rdma: atomics at a word, notices into a ring, READs of a board and WRITEs of one into an inbox, each in pieces, and the
 * signals that are handed to the receiver some time after their bytes are there, in any order.
 */
#include "model.h"
#include "rlock.h"

#define WORD_ADDR(node) (((node) + 1) * 0x1000000ull)
#define MAIL_ADDR(node) (((node) + 1) * 0x2000000ull)
#define WORD_KEY(node) (500u + (node))
#define MAIL_KEY(node) (600u + (node))

#define DIR_ADDR(node) (((node) + 1) * 0x4000000ull)
#define DIR_KEY(node) (700u + (node))
#define DIR_WORDS 64u

static u64 dirs[MAX_NODES][DIR_WORDS];
/* I23: the words as transfers have left them. */
static u64 known_dirs[MAX_NODES][DIR_WORDS];
static u64 known_words[MAX_NODES][DSM_RSYNC_WORDS];
static union dsm_ring_slot rings[MAX_NODES][DSM_MAX_NODES];
static u64 words[MAX_NODES][DSM_RSYNC_WORDS];
static struct dsm_mail mails[MAX_NODES];
static union dsm_board_slot landings[MAX_NODES][DSM_MAX_NODES];
static u64 flushed[MAX_NODES][DSM_MAX_NODES];
static u8 letters[MAX_NODES][DSM_MAX_NODES][DSM_LETTER_BYTES];
static struct dsm_rsync memory[MAX_NODES];

/* Its memory is registered; peers hear of it some time. */
void atomics_start(struct node *n)
{
	u32 id = node_id(n), k;
	struct dsm_actions acts;

	memset(&mails[id].own.board, 0, sizeof(struct dsm_board));
	memset(mails[id].array, 0, sizeof(mails[id].array));
	for (k = 0; k < MAX_NODES; k++) {
		memset(&mails[id].inbox[k].board, 0, sizeof(struct dsm_board));
		memset(&landings[id][k].board, 0, sizeof(struct dsm_board));
		memset(&mails[id].ring[k].ring, 0, sizeof(struct dsm_ring));
	}
	if (w.l->flags & LITMUS_DIR) {
		memset(dirs[id], 0, sizeof(dirs[id]));
		memset(known_dirs[id], 0, sizeof(known_dirs[id]));
		n->space.dir.word = dirs[id];
		n->space.dir.own = (struct dsm_key){ .addr = DIR_ADDR(id), .rkey = DIR_KEY(id) };
	}
	memset(words[id], 0, sizeof(words[id]));
	memset(known_words[id], 0, sizeof(known_words[id]));
	memory[id] = (struct dsm_rsync){
		.word = words[id], .mail = &mails[id], .landing = landings[id], .letter = letters[id],
		.flushed = flushed[id], .ring = rings[id],
		.word_key = { .addr = WORD_ADDR(id), .rkey = WORD_KEY(id) },
		.mail_key = { .addr = MAIL_ADDR(id), .rkey = MAIL_KEY(id) },
	};
	dsm_rsync_set(&n->e, &memory[id]);
	step_begin(n, &acts);
	for (k = 0; k < w.l->nodes; k++)
		dsm_rsync_announce(&n->e, k, &acts);
	step_end(n, &acts);
}

/* Is it one of these? */
bool atomics_do(const struct dsm_xfer *x)
{
	return x->kind == DSM_XFER_KIND_RLOCK || x->kind == DSM_XFER_KIND_LETTER || x->kind == DSM_XFER_KIND_DIR ||
	       x->kind == DSM_XFER_KIND_RING || x->kind == DSM_XFER_KIND_NONE;
}

u64 atomics_dir_word(u32 manager, u32 idx)
{
	return dirs[manager][idx];
}

static u32 key_of(const struct dsm_xfer *x)
{
	if (x->kind == DSM_XFER_KIND_DIR)
		return DIR_KEY(x->dst);
	if (x->op == DSM_XFER_CAS)
		return WORD_KEY(x->dst);
	return x->n_segs ? MAIL_KEY(x->dst) : x->rkey;
}

static const char *op_name(u8 op)
{
	return op == DSM_XFER_ADD ? "add" : op == DSM_XFER_CAS ? "swap" : op == DSM_XFER_WRITE ? "entry" : op == DSM_XFER_READ ? "read" : "signal";
}

void atomics_post(struct reading *r)
{
	struct dsm_xfer *x = r->x;

	r->again = false;
	/* An entry, or a look behind it, is one word. */
	r->left = x->n_segs && x->seg[0].len > sizeof(u64) ? 3 : 1;
	if (x->op == DSM_XFER_SIGNAL && !x->n_segs)
		r->left = 0;
	if (x->rkey != key_of(x))
		fail("I24: %c uses key %u at %c", 'A' + r->node, x->rkey, 'A' + x->dst);
	say("       %s #%u %c, %c word %u", op_name(x->op), r->id, 'A' + r->node, 'A' + x->dst,
	    x->idx % DSM_RSYNC_WORDS);
	if (x->op == DSM_XFER_SIGNAL && !r->left)
		atomics_signal(r);
}

/* May the device begin with it? */
bool atomics_enabled(u32 i)
{
	const struct reading *r = &w.reading[i], *before;

	for (before = w.reading; before < r; before++) {
		/* WRITEs are there in their order, and before what a READ behind them brings. */
		if (before->node == r->node && before->x->dst == r->x->dst && before->left &&
		    before->x->op == DSM_XFER_WRITE && before->x->kind != DSM_XFER_KIND_DIFF)
			return false;
		if (before->node == r->node && before->x->dst == r->x->dst && before->left &&
		    before->x->kind == DSM_XFER_KIND_RLOCK && before->x->op != DSM_XFER_SIGNAL && r->x->fence)
			return false;
	}
	return true;
}

/* Whether it took place or not: its connection may break and be made anew, and then nobody knows. A node's own does not. */
bool atomics_may_be_doubted(const struct reading *r)
{
	return (r->x->op == DSM_XFER_CAS || r->x->op == DSM_XFER_ADD) && r->node != r->x->dst && !w.node[r->node].dead &&
	       !w.node[r->x->dst].dead;
}

/* It is where it belongs: the receiver will be told. */
void atomics_signal(const struct reading *r)
{
	if (w.n_signals == MAX_SIGNALS)
		fail("model: more than %d signals", MAX_SIGNALS);
	w.signal[w.n_signals++] = (struct signal){ .imm = r->x->imm, .id = w.next_msg++, .from = r->node,
						   .to = r->x->dst, .stamp = ++w.next_stamp };
}

static void swap_word(struct reading *r)
{
	struct dsm_xfer *x = r->x;
	u32 number = (x->remote - WORD_ADDR(x->dst)) / sizeof(u64);
	u64 *word = &words[x->dst][number];

	say("swap #%u: word %llx, expects %llx, puts %llx", r->id, (unsigned long long)*word,
	    (unsigned long long)x->compare, (unsigned long long)x->operand);
	/* A word that is given out anew begins with 0. */
	if (*word && *word != known_words[x->dst][number] && !w.data_only)
		fail("I23: %c has changed a word of locks by itself", 'A' + x->dst);
	x->result = *word;
	if (*word == x->compare) {
		states_word(word, &x->operand, sizeof(*word));
		*word = x->operand;
	}
	known_words[x->dst][number] = *word;
}

/* I23: only transfers change a word; a node changes no bit but its own, so that it enters and leaves by turns; an owner is a node. */
static void check_dir_change(const struct reading *r, u64 word, u64 next)
{
	u64 others = ((1ull << DSM_DIR_NODES) - 1) & ~(1ull << r->node);

	if (w.data_only)
		return;
	if (next >> DSM_DIR_OWNER_SHIFT > w.l->nodes)
		fail("I23: %c makes the word of page index %u %llx, which names no node", 'A' + r->node, r->x->idx,
		     (unsigned long long)next);
	if (word != known_dirs[r->x->dst][r->x->idx])
		fail("I23: %c has changed the word of page index %u by itself", 'A' + r->x->dst, r->x->idx);
	if ((word ^ next) & others && !w.loss)
		fail("I23: %c makes the word of page index %u %llx, which was %llx", 'A' + r->node, r->x->idx,
		     (unsigned long long)next, (unsigned long long)word);
}

static void change_dir(struct reading *r)
{
	struct dsm_xfer *x = r->x;
	u64 *word = &dirs[x->dst][(x->remote - DIR_ADDR(x->dst)) / sizeof(u64)];
	u64 next = x->op == DSM_XFER_ADD ? *word + x->operand : *word == x->compare ? x->operand : *word;

	if (x->remote != DIR_ADDR(x->dst) + x->idx * sizeof(u64))
		fail("I24: another page's word is changed for %u", x->idx);
	check_dir_change(r, *word, next);
	x->result = *word;
	states_word(word, &next, sizeof(next));
	*word = next;
	known_dirs[x->dst][x->idx] = next;
	say("%s #%u: word of page index %u at %c: %llx, then %llx", op_name(x->op), r->id, x->idx, 'A' + x->dst,
	    (unsigned long long)x->result, (unsigned long long)*word);
}

void atomics_piece(u32 i, u32 piece)
{
	struct reading *r = &w.reading[i];
	struct dsm_xfer *x = r->x;
	u32 half, at, len;
	u8 *remote, *local;

	r->left &= ~(1u << piece);
	if (x->kind == DSM_XFER_KIND_DIR) {
		change_dir(r);
		return;
	}
	if (x->op == DSM_XFER_CAS) {
		swap_word(r);
		return;
	}
	half = x->seg[0].len > sizeof(u64) ? x->seg[0].len / PIECES : x->seg[0].len;
	at = piece * half;
	len = piece ? x->seg[0].len - half : half;
	local = (u8 *)x->seg[0].page + x->seg[0].off + at;
	remote = (u8 *)&mails[x->dst] + (x->remote - MAIL_ADDR(x->dst)) + at;
	say("piece %u of %s #%u", piece, op_name(x->op), r->id);
	if (x->op == DSM_XFER_READ)
		swap(local, remote);
	states_word(remote, local, len);
	memcpy(remote, local, len);
	if (x->op == DSM_XFER_SIGNAL && !r->left)
		atomics_signal(r);
}

static int letter_deliver(struct node *n, const struct signal *s)
{
	const char *why = NULL;
	struct dsm_actions acts;
	int len;

	step_begin(n, &acts);
	if (s->imm >> 24 == DSM_SIGNAL_TAKEN)
		len = dsm_letter_on_taken(&n->e, s->from, s->imm, &why);
	else
		len = dsm_letter_take(&n->e, s->from, s->imm, &why, &acts);
	if (len < 0)
		say("malformed letter: %s", why);
	step_end(n, &acts);
	if (len > 0)
		letter_open(n, s->from, letters[s->to][s->from], len);
	return min(len, 0);
}

void signal_deliver(u32 i)
{
	struct signal s = w.signal[i];
	struct node *n = &w.node[s.to];
	struct dsm_actions acts;
	int err;

	memmove(&w.signal[i], &w.signal[i + 1], (--w.n_signals - i) * sizeof(w.signal[0]));
	say("%c hears signal #%u of %c: %x", 'A' + s.to, s.id, 'A' + s.from, s.imm);
	if (s.imm >> 24 == DSM_SIGNAL_LETTER || s.imm >> 24 == DSM_SIGNAL_TAKEN) {
		err = letter_deliver(n, &s);
	} else {
		step_begin(n, &acts);
		err = dsm_rlock_on_signal(&n->e, s.from, s.imm, &acts);
		step_end(n, &acts);
	}
	if (err)
		fail("signal #%u breaks the protocol: %d", s.id, err);
}

/* Signals of or to a node that is gone: @to: its own are not looked at any more there. */
void signals_forget(int from, int to)
{
	u32 i;

	for (i = w.n_signals; i--;)
		if ((from < 0 || w.signal[i].from == from) && (to < 0 || w.signal[i].to == to))
			memmove(&w.signal[i], &w.signal[i + 1], (--w.n_signals - i) * sizeof(w.signal[0]));
}

/* Nobody wants it, in any copy; all copies say the same. */
static void array_check_idle(struct node *n, const struct dsm_rlock *l)
{
	u32 number = l->handle % DSM_RSYNC_WORDS, i;

	for (i = 0; i < w.l->nodes && !w.loss && l->flags & DSM_RLOCKF_OPEN; i++) {
		u64 here = le64_to_cpu(mails[node_id(n)].array[l->manager][number][i]);

		if (here & 1 || here != le64_to_cpu(mails[i].array[l->manager][number][i]))
			fail("I35: the entry of %c in the copy of %c is %llx in the end", 'A' + i,
			     'A' + node_id(n), (unsigned long long)here);
	}
}

/* A pause of one of its locks is over. */
void array_retry(struct node *n)
{
	struct dsm_actions acts;
	struct dsm_rlock *l;

	say("%c tries again to get a lock", 'A' + node_id(n));
	step_begin(n, &acts);
	n->e.now_ns = ~0ull;
	list_for_each_entry(l, &n->e.arrays_pausing, list)
		n->e.now_ns = min(n->e.now_ns, l->target);
	dsm_array_retry(&n->e, &acts);
	step_end(n, &acts);
}

/* Nobody waits, or holds on to the word. */
void atomics_check_idle(struct node *n)
{
	u32 id = node_id(n), k;
	struct dsm_rlock *l;

	for (k = 0; k < DSM_RSYNC_WORDS; k++)
		if (words[id][k] && words[id][k] != known_words[id][k])
			fail("I23: %c has changed a word of locks by itself", 'A' + id);
	for (k = 0; k < MAX_KEYS; k++) {
		l = dsm_rlock_find(&n->e, n->space.id, w.lock_key[k]);
		if (!l)
			continue;
		if (!list_empty(&l->waiters) || (l->state != DSM_RLOCK_NONE && l->state != DSM_RLOCK_HELD &&
						 !w.loss))
			fail("I26: lock %u at %c is left in state %u", k, 'A' + node_id(n), l->state);
	}
	for (k = 0; k < MAX_KEYS; k++) {
		l = dsm_rlock_find(&n->e, n->space.id, w.lock_key[k]);
		if (l && l->flags & DSM_RLOCKF_ARRAY) {
			array_check_idle(n, l);
			continue;
		}
		if (!w.loss && l && l->flags & DSM_RLOCKF_OPEN && l->manager == node_id(n) &&
		    dsm_rword_state(words[l->manager][l->handle % DSM_RSYNC_WORDS]) != DSM_RWORD_FREE)
			fail("I32: the word of lock %u says %llx in the end", k,
			     (unsigned long long)words[l->manager][l->handle % DSM_RSYNC_WORDS]);
	}
	if (n->space.busy && !w.loss)
		fail("I26: %u locks of %c are busy for ever", n->space.busy, 'A' + node_id(n));
}
