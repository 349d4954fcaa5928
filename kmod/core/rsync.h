/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Memory for synchronisation and notices without the other side's processor (sync=rdma, metadata=rdma): words
 * that are changed by atomics only, and mail that peers read or write. One of each per node, made with the
 * first region that needs it, reachable until the node leaves.
 *
 * Words are reached with the key that their manager gives out with each word's number. The key
 * of the mail is announced to every peer (RSYNC_KEY); who has not heard of it yet does without.
 */
#ifndef DSM_CORE_RSYNC_H
#define DSM_CORE_RSYNC_H

#include "array.h"
#include "letter.h"
#include "ring.h"

/* Interval records on a board: those that its node learned or made last. */
#define DSM_BOARD_RECORDS 4u

struct dsm_board_record {
	struct dsm_wire_interval head;
	struct dsm_wire_notice notice[DSM_NOTICES_PER_RECORD];
};

/**
 * struct dsm_board - what a node knows, for others to read
 * @sum:    of all that follows; a board whose sum is wrong says nothing: it was never written, or
 *          a device looked at it while it was. Its reader asks by message
 * @count:  records in use
 * @time:   the node's vector time, struct dsm_engine.known
 * @record: what it learned last, oldest first: mostly what the next holder of a lock lacks
 */
struct dsm_board {
	__le64 sum;
	__le64 count;
	__le64 time[DSM_MAX_NODES];
	struct dsm_board_record record[DSM_BOARD_RECORDS];
};

/* A board with room to spare, so that none crosses a page. */
union dsm_board_slot {
	struct dsm_board board;
	u8 room[1024];
};
static_assert(sizeof(struct dsm_board) <= sizeof(union dsm_board_slot));

/**
 * struct dsm_mail - what peers may read and write
 * @own:   this node's board; read by peers, and copied to them with a grant
 * @inbox: by sender: the board that came with its last grant
 * @letter: by sender: its letters (letter.h)
 * @ring:  by sender: its notices (ring.c)
 * @array: by manager and number of a lock with algo=array, by node: its entry (array.c)
 */
struct dsm_mail {
	union dsm_board_slot own;
	union dsm_board_slot inbox[DSM_MAX_NODES];
	u8 letter[DSM_MAX_NODES][DSM_LETTERS][DSM_LETTER_BYTES];
	union dsm_ring_slot ring[DSM_MAX_NODES];
	__le64 array[DSM_ARRAY_NODES][DSM_ARRAYS][DSM_ARRAY_NODES];
};

/**
 * struct dsm_rsync - the memory of this node and how peers reach it
 * @word:     DSM_RSYNC_WORDS words; changed by atomics, also from here
 * @mail:     the mail
 * @landing:  by peer: where its board comes when it is read from here; not registered
 * @flushed:  by peer: where bytes come that are read only to hear that a WRITE is there; registered nowhere
 * @letter:   by peer: its letter that is being looked at, out of the reach of devices
 * @ring:     by peer: what goes into its ring, from here; not registered
 * @next:     our next board; its vector time is not kept
 * @copy:     a board being looked at, out of the reach of devices
 * @word_key: registration of @word: atomics only
 * @mail_key: of @mail: READ and WRITE
 *
 * Virtually contiguous. Owned by the shell; guarded by the engine lock, but for what devices do.
 */
struct dsm_rsync {
	u64 *word;
	struct dsm_mail *mail;
	union dsm_board_slot *landing;
	u64 *flushed;
	u8 (*letter)[DSM_LETTER_BYTES];
	union dsm_ring_slot *ring;
	struct dsm_board next;
	struct dsm_board copy;
	struct dsm_key word_key;
	struct dsm_key mail_key;
};

/* The memory is there: use it from now on. */
void dsm_rsync_set(struct dsm_engine *e, struct dsm_rsync *mem);
/* Tell a peer of the mail, if there is any: when it comes up, and when the memory is made. */
void dsm_rsync_announce(struct dsm_engine *e, u16 node, struct dsm_actions *acts);

/* ---- between the units ---- */
/* A transfer to @dst, empty but for that and a number of its own. */
struct dsm_xfer *dsm_rsync_xfer(struct dsm_engine *e, u8 op, u8 kind, u16 dst, u32 region);
/* Add local memory to a transfer. */
void dsm_rsync_seg(struct dsm_xfer *x, void *at, u32 len);
/* Bring the board up to date: before anybody can learn that he should read it. */
void dsm_rsync_publish(struct dsm_engine *e);
/* READ the board of @from into its landing place; false: not possible, ask by message. */
struct dsm_xfer *dsm_rsync_read(struct dsm_engine *e, u16 from, u8 kind, u32 region);
/* Let a SIGNAL to @x->dst carry our board into its inbox; false: its mail is not known here. */
bool dsm_rsync_enclose(struct dsm_engine *e, struct dsm_xfer *x);
/* A record came into our log. */
void dsm_rsync_note(struct dsm_engine *e, const struct dsm_interval *rec);
/* Take what a board of @from says: do we know all that it knew? */
bool dsm_rsync_take(struct dsm_engine *e, u16 from, const union dsm_board_slot *slot);
/* A free word of ours, or -ENOSPC. It is 0. */
int dsm_rsync_word_get(struct dsm_engine *e);
void dsm_rsync_word_put(struct dsm_engine *e, u32 number);
int dsm_rsync_on_key(struct dsm_engine *e, u16 from, struct dsm_reader *r);

#endif
