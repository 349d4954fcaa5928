/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Diffs on their way to their homes: records are packed into messages, a few messages make a
 * pack, and at most so many packs of a home are unacknowledged (seed 002, messaging.md 2.4).
 * Looks into no record and never allocates.
 */
#ifndef DSM_CORE_PIPE_H
#define DSM_CORE_PIPE_H

#include "engine.h"

/* A pack with less room than this does not get another message for it. */
#define DSM_PACK_GROW_MIN 512u
/* A pack of this size goes out early if its home has nothing else to do. */
#define DSM_PACK_EARLY_BYTES 4096u
/* Unless what is left to pack is shorter than this: a message costs more than waiting for it. */
#define DSM_PACK_TAIL_BYTES 1024u
/* Messages that wait for a home's acknowledgements before the flushers take no more pages. */
#define DSM_PIPE_READY_MAX 64u

/**
 * struct dsm_pack - a pack under construction
 * @first:   its messages, linked by dsm_msgbuf.next
 * @last:    the one that records go to now; NULL: none yet
 * @space:   region
 * @home:    receiver
 * @records: records in @last
 * @bytes:   of all messages
 * @filled:  of them, in messages that hold a record
 */
struct dsm_pack {
	struct dsm_msgbuf *first;
	struct dsm_msgbuf *last;
	struct dsm_space *space;
	u16 home;
	u32 records;
	u32 bytes;
	u32 filled;
};

/* The region that a message is about. */
static inline u32 dsm_msg_region(const struct dsm_msgbuf *m)
{
	struct dsm_wire_hdr hdr;

	memcpy(&hdr, m->data, sizeof(hdr));
	return le32_to_cpu(hdr.region);
}

/* ---- building: needs no lock ---- */
static inline void dsm_pack_init(struct dsm_pack *k, struct dsm_space *s, u16 home)
{
	*k = (struct dsm_pack){ .space = s, .home = home };
}

/* One more message for records; @m is empty. */
void dsm_pack_add(struct dsm_pack *k, struct dsm_msgbuf *m, u16 self);
/* Bytes that the next record may have; 0: another message or another pack is needed. */
u32 dsm_pack_room(const struct dsm_pack *k);
/* The next record goes here. */
static inline u8 *dsm_pack_at(const struct dsm_pack *k)
{
	return k->last->data + k->last->len;
}

/* A record of @bytes was written there. */
void dsm_pack_put(struct dsm_pack *k, u32 bytes);
/* The pack has no room for a record that did not fit into its last message. */
bool dsm_pack_is_full(const struct dsm_pack *k);
/* It should go out: it has what its region allows, or its home is idle. */
bool dsm_pack_is_due(const struct dsm_pack *k, const struct dsm_engine *e, u32 left);
/* Finish the last message. Returns it instead if no record is in it: the caller frees it. */
struct dsm_msgbuf *dsm_pack_close(struct dsm_pack *k);

/* ---- sending: under the engine lock ---- */
/* A closed pack (or a DIFF_DIRECT in a pack of its own) goes out as soon as its home may have it. */
void dsm_pipe_send(struct dsm_engine *e, struct dsm_pack *k, struct dsm_actions *acts);
/* The transfers before a pack's message are back: it goes out, and its acknowledgement is awaited. */
void dsm_pipe_follow(struct dsm_engine *e, struct dsm_msgbuf *m, struct dsm_actions *acts);
/* No more pages are to be flushed for now; acts->flush comes when they are. */
bool dsm_pipe_stalled(struct dsm_engine *e);
/* Packs of this region wait to be sent, though all its diffs are acknowledged: by a home that was not sent them. */
bool dsm_pipe_holds(const struct dsm_engine *e, u32 region);
/* Is an acknowledgement of pack @xid (any number) awaited from there? */
bool dsm_pipe_awaits(struct dsm_engine *e, u16 home, u32 xid);
/* One message of it is acknowledged. */
void dsm_pipe_acked(struct dsm_engine *e, u16 home, u32 xid, struct dsm_actions *acts);
void dsm_pipe_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts);

#endif
