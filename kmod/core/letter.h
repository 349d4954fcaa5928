/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Letters: how records of barriers and flags travel in regions with sync=rdma. A letter is a message
 * that its sender writes into the receiver's mail, and whose signal tells that it is there; no SEND,
 * no receive buffer. What the record says, and what is done with it, is the same as by message.
 *
 * Each node keeps a few places for every peer. Letters to one node are numbered; a letter's place is
 * its number modulo their count, and is used again when all letters up to it are known to be taken.
 * What finds no place, or is longer than one, goes by message. So nothing waits for a place.
 */
#ifndef DSM_CORE_LETTER_H
#define DSM_CORE_LETTER_H

#include "engine.h"

/* Places for one peer's letters, a power of two up to 32, and their length. The model has less. */
#ifndef DSM_LETTERS
#define DSM_LETTERS 16u
#endif
#ifndef DSM_LETTER_BYTES
#define DSM_LETTER_BYTES 1024u
#endif

/* Values of signals: in the highest byte what it is, then the low bits of a number. */
#define DSM_SIGNAL_LETTER 0x40u		/* the letter of this number has come */
#define DSM_SIGNAL_TAKEN 0x41u		/* the receiver's letters below this number were taken */
#define DSM_LETTER_NUMBER 0xffffffu

/*
 * Call before what the sender knows is put into @m: leaves out what would make it too long for a
 * letter. The receiver pulls the rest, as with any message.
 */
void dsm_letter_prefer(struct dsm_engine *e, struct dsm_msgbuf *m);
/* In place of dsm_act_send(), for records of barriers and flags: as a letter if it can be one. */
void dsm_letter_send(struct dsm_engine *e, struct dsm_msgbuf *m, struct dsm_actions *acts);
/*
 * A signal of kind LETTER. Return: length of the letter, which is in dsm_rsync.letter; 0 nothing to
 * be done; -EPROTO the sender broke a rule, @why says which.
 */
int dsm_letter_take(struct dsm_engine *e, u16 from, u32 imm, const char **why,
		    struct dsm_actions *acts);
/* A signal of kind TAKEN. 0 or -EPROTO. */
int dsm_letter_on_taken(struct dsm_engine *e, u16 from, u32 imm, const char **why);
/* Class that a message of this type has, if it may be a letter; else -1. */
int dsm_letter_class(u8 type);

#endif
