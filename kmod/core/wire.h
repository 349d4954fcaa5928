/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The wire format: every struct that crosses the network, and the checked readers and writers
 * of message bodies. All fields are little-endian; reserved fields are sent as 0 and refused
 * otherwise.
 *
 * Header and numbers follow messaging.md 1.2 and 1.3, names follow protocol.md; numbers
 * from 130 are messages that the catalogue lacks.
 */
#ifndef DSM_CORE_WIRE_H
#define DSM_CORE_WIRE_H

#include "types.h"

#define DSM_WIRE_MAGIC 0x314d5344u	/* "DSM1", in HELLO only */

/* In HELLO only. A test builds the module with another one (selftests/cluster). */
#ifndef DSM_WIRE_VERSION
#define DSM_WIRE_VERSION 23u
#endif

/**
 * enum dsm_msg_type - message numbers, after each its class: REQ, FWD, RSP or CTL
 * @DSM_MSG_JOIN_DONE:       CTL: reserved for AUTH
 * @DSM_MSG_RING:            REQ: where the receiver may write requests; net's own
 * @DSM_MSG_FETCH:           REQ: page wanted
 * @DSM_MSG_PAGE:            RSP: page, zero, "you are home" or NACK
 * @DSM_MSG_DIFF:            REQ: packed diff records
 * @DSM_MSG_DIFF_ACK:        RSP: versions that a DIFF's records or a DIFF_DIRECT's pages got
 * @DSM_MSG_DIFF_BACK:       RSP: a DIFF's only record, of a page whose home is another by now
 * @DSM_MSG_DIFF_DIRECT:     REQ: pages whose changed bytes were written into their frames
 * @DSM_MSG_INTERVALS:       RSP: answer to a pull
 * @DSM_MSG_CSM_NOTICE:      REQ: to who may have copies: pages that were written
 * @DSM_MSG_CSM_NOTICE_ACK:  RSP: they are in the inbox; metadata=rdma: how much of a ring was taken
 * @DSM_MSG_CSM_DROP:        REQ: to the home: no copy here any more
 * @DSM_MSG_CSM_DROP_ACK:    RSP: nobody will be told to tell us
 * @DSM_MSG_CSM_WHERE:       REQ: to the manager: where are the words of its pages?
 * @DSM_MSG_CSM_HERE:        RSP: there
 * @DSM_MSG_CSM_UPGRADE:     REQ: to the home: may this copy be the only one?
 * @DSM_MSG_CSM_GRANT:       RSP: it is, or not
 * @DSM_MSG_CSM_BREAK:       FWD: home to who has the only copy: it is wanted
 * @DSM_MSG_CSM_BACK:        RSP: to the home: its bytes
 * @DSM_MSG_CSM_BACK_ACK:    RSP: they are in the home's frame
 * @DSM_MSG_LOCK_REQ:        REQ: to the manager
 * @DSM_MSG_LOCK_PASS:       FWD: manager to the last in the queue
 * @DSM_MSG_LOCK_GRANT:      RSP: token and notices
 * @DSM_MSG_LOCK_RETURN:     REQ: idle token back to the manager
 * @DSM_MSG_BAR_ARRIVE:      REQ: threads arrived at a barrier
 * @DSM_MSG_BAR_DEPART:      RSP: a barrier opens or fails, for all threads of a node
 * @DSM_MSG_FLAG_OP:         REQ: set, wait, clear, cancel a wait
 * @DSM_MSG_FLAG_REPLY:      RSP: the flag operation is done, or why not
 * @DSM_MSG_HEARTBEAT:       CTL: the sender is alive
 * @DSM_MSG_BYE:             CTL: the sender closes in good order
 * @DSM_MSG_CONTROL:         REQ: membership and regions; the body belongs to the shell
 * @DSM_MSG_CONTROL_REPLY:   RSP: answer to CONTROL
 * @DSM_MSG_PING:            REQ or RSP: means nothing; answered on demand, by net itself
 * @DSM_MSG_CREDIT:          any: header only
 * @DSM_MSG_PONG:            FWD or RSP: answer to a PING
 * @DSM_MSG_INTERVAL_PULL:   REQ: intervals above a vector time wanted
 * @DSM_MSG_LOCK_TRY:        REQ: to the manager
 * @DSM_MSG_LOCK_TRY_PASS:   FWD: manager to the last in the queue
 * @DSM_MSG_LOCK_TRY_DONE:   RSP: to the manager: granted or not
 * @DSM_MSG_LOCK_REFUSED:    RSP: to the requester: busy, lost
 * @DSM_MSG_LOCK_RETURN_ACK: RSP: taken, or "a pass is on its way to you"
 * @DSM_MSG_LOCK_PROBE:      REQ: manager asks after a loss
 * @DSM_MSG_LOCK_STATE:      RSP: answer to a probe
 * @DSM_MSG_LOCK_APART:      RSP: to the manager: the sender has lost a node of the queue
 * @DSM_MSG_BAR_ABORT:       REQ: an arrived thread is gone
 * @DSM_MSG_SYNC_PUSH:       REQ: bare release
 * @DSM_MSG_SYNC_PULL:       REQ: bare acquire
 * @DSM_MSG_SYNC_REPLY:      RSP: to both
 * @DSM_MSG_BAR_ASK:         FWD: report arrivals at once, not when they are as many as last time
 * @DSM_MSG_RLOCK:           REQ: sync=rdma: to a lock's manager: its word is wanted, or its queue broke; to others: whom do they wait for
 * @DSM_MSG_RLOCK_REPLY:     RSP: where the word is, that its queue is void, or who is waited for
 * @DSM_MSG_RSYNC_KEY:       REQ: sync=rdma: registration of the sender's mail
 * @DSM_MSG_SC_GET:          REQ: to the home: a copy to read, or the only one
 * @DSM_MSG_SC_RECALL:       FWD: home to who has a copy: give it up
 * @DSM_MSG_SC_BACK:         RSP: to the home: given up, with the bytes if they may have changed
 * @DSM_MSG_SC_GRANT:        RSP: home to the asker
 * @DSM_MSG_SC_DONE:         RSP: to the home: the grant was taken, the next one may be served
 * @DSM_MSG_TYPE_END:        one past the highest number
 */
enum dsm_msg_type {
	DSM_MSG_JOIN_DONE = 3,
	DSM_MSG_RING = 5,
	DSM_MSG_FETCH = 10,
	DSM_MSG_PAGE = 11,
	DSM_MSG_DIFF = 20,
	DSM_MSG_DIFF_ACK = 21,
	DSM_MSG_DIFF_DIRECT = 22,
	DSM_MSG_DIFF_BACK = 23,
	DSM_MSG_INTERVALS = 30,
	DSM_MSG_CSM_NOTICE = 31,
	DSM_MSG_CSM_NOTICE_ACK = 32,
	DSM_MSG_CSM_DROP = 33,
	DSM_MSG_CSM_DROP_ACK = 34,
	DSM_MSG_CSM_WHERE = 35,
	DSM_MSG_CSM_HERE = 36,
	DSM_MSG_CSM_UPGRADE = 40,
	DSM_MSG_CSM_GRANT = 41,
	DSM_MSG_CSM_BREAK = 42,
	DSM_MSG_CSM_BACK = 43,
	DSM_MSG_CSM_BACK_ACK = 44,
	DSM_MSG_LOCK_REQ = 50,
	DSM_MSG_LOCK_PASS = 51,
	DSM_MSG_LOCK_GRANT = 52,
	DSM_MSG_LOCK_RETURN = 53,
	DSM_MSG_BAR_ARRIVE = 60,
	DSM_MSG_BAR_DEPART = 61,
	DSM_MSG_FLAG_OP = 65,
	DSM_MSG_FLAG_REPLY = 66,
	DSM_MSG_HEARTBEAT = 90,
	DSM_MSG_BYE = 93,
	DSM_MSG_CONTROL = 100,
	DSM_MSG_CONTROL_REPLY = 101,
	DSM_MSG_PING = 120,
	DSM_MSG_CREDIT = 121,
	DSM_MSG_PONG = 122,
	DSM_MSG_INTERVAL_PULL = 130,
	DSM_MSG_LOCK_TRY = 131,
	DSM_MSG_LOCK_TRY_PASS = 132,
	DSM_MSG_LOCK_TRY_DONE = 133,
	DSM_MSG_LOCK_REFUSED = 134,
	DSM_MSG_LOCK_RETURN_ACK = 135,
	DSM_MSG_LOCK_PROBE = 136,
	DSM_MSG_LOCK_STATE = 137,
	DSM_MSG_BAR_ABORT = 138,
	DSM_MSG_SYNC_PUSH = 139,
	DSM_MSG_SYNC_PULL = 140,
	DSM_MSG_SYNC_REPLY = 141,
	DSM_MSG_BAR_ASK = 142,
	DSM_MSG_SC_GET = 143,
	DSM_MSG_SC_RECALL = 144,
	DSM_MSG_SC_BACK = 145,
	DSM_MSG_SC_GRANT = 146,
	DSM_MSG_SC_DONE = 147,
	DSM_MSG_LOCK_APART = 148,
	DSM_MSG_RLOCK = 150,
	DSM_MSG_RLOCK_REPLY = 151,
	DSM_MSG_RSYNC_KEY = 152,
	DSM_MSG_TYPE_END
};

#define DSM_HDR_BYTES 32u

/* Header flags. */
#define DSM_HDR_MORE 0x04u		/* the answer continues: ask again */
#define DSM_HDR_INVAL_ALL 0x80u		/* the sender's log no longer reaches back to you */

/**
 * struct dsm_wire_hdr - head of every message
 * @type:   enum dsm_msg_type
 * @flags:  DSM_HDR_*
 * @len:    header and body in bytes; equals the received length
 * @epoch:  membership epoch; 0 in this version
 * @src:    sender's node id; equals the connection's
 * @region: region id, 0 = node scope
 * @xid:    request id, echoed in the reply
 * @seq:    count of messages on this queue pair from this sender, from 1; letters: number, from 0
 * @credit: four cumulative u16, lowest first: requests, forwards, replies, signals; letters: how
 *          many the sender took
 */
struct dsm_wire_hdr {
	u8 type;
	u8 flags;
	__le16 len;
	__le32 epoch;
	__le32 src;
	__le32 region;
	__le32 xid;
	__le32 seq;
	__le64 credit;
};
static_assert(sizeof(struct dsm_wire_hdr) == DSM_HDR_BYTES);

/*
 * End of a request: where the answer may be written, see struct dsm_msgbuf. rkey 0: nowhere. @addr: a page's, with
 * bits of net's below (kmod/net/sink.c). @chunk: the home's registration of the page's chunk that the asker knows,
 * 0: none.
 */
struct dsm_wire_sink {
	__le64 addr;
	__le32 rkey;
	__le32 chunk;
};
static_assert(sizeof(struct dsm_wire_sink) == 16);

/*
 * PING and PONG: xid names the run. @seq: number within it; @answer: enum dsm_ping_answer; @mech:
 * enum dsm_net_mech of the answer; @bytes: length of the answer's body, this included. A PONG
 * repeats its PING. Bytes up to the length of the message mean nothing.
 */
struct dsm_wire_ping {
	__le32 seq;
	__le16 bytes;
	u8 answer;
	u8 mech;
};
static_assert(sizeof(struct dsm_wire_ping) == 8);

/* Whether and on which connection a PING is answered: Q or P; Q only if it came there. */
enum dsm_ping_answer { DSM_PING_NONE, DSM_PING_LOW, DSM_PING_HIGH };

/* RING: the slots that the sender keeps for the receiver's requests. */
struct dsm_wire_ring {
	__le64 addr;
	__le32 rkey;
	__le32 reserved;
};
static_assert(sizeof(struct dsm_wire_ring) == 16);

enum dsm_fetch_want {
	DSM_WANT_COPY,
	DSM_WANT_MERGE,			/* the bytes go beside the frame */
	DSM_WANT_LOOK,			/* ahead of its use: no claim where first touch decides */
	DSM_WANT_EXCLUSIVE,		/* to write; the copy may be the only one */
};

/* FETCH: xid names the fetch. */
struct dsm_wire_fetch {
	__le32 idx;
	u8 want;			/* enum dsm_fetch_want */
	u8 owner;			/* metadata=rdma: the node that has the only copy, plus one; or 0 */
	u8 cast;			/* bcast=adaptive: may be answered with CAST */
	u8 reserved;
	__le64 need;
	__le32 have;			/* number of the multicast of the page that is here, or 0 */
	__le32 reserved2;
	struct dsm_wire_sink sink;
};
static_assert(sizeof(struct dsm_wire_fetch) == 40);

enum dsm_page_status {
	DSM_PAGE_STATUS_DATA,		/* DSM_PAGE_BYTES follow */
	DSM_PAGE_STATUS_ZERO,		/* never written: all bytes 0 */
	DSM_PAGE_STATUS_HOME,		/* you are home now (first touch); all bytes 0 */
	DSM_PAGE_STATUS_NACK,		/* ask @home */
	DSM_PAGE_STATUS_WRITTEN,	/* the bytes are where the request's sink said */
	DSM_PAGE_STATUS_GONE,		/* lost with the node that had the only copy */
	DSM_PAGE_STATUS_MOVED,		/* you are home now: struct dsm_wire_moved follows */
	DSM_PAGE_STATUS_CAST,		/* it was multicast: struct dsm_wire_told follows */
};

/*
 * consistency=cashmere: nothing, the receiver alone has a copy now, or that and it is exclusive. home=migrate: SOLE
 * says that the home does not write.
 */
enum dsm_grant { DSM_GRANT_NONE, DSM_GRANT_SOLE, DSM_GRANT_EXCLUSIVE };

struct dsm_wire_page {
	__le32 idx;
	u8 status;
	u8 grant;			/* enum dsm_grant */
	__le16 home;
	__le64 ver;
	/* Registration of the page's chunk at the sender, rkey 0: none. */
	__le64 chunk_addr;
	__le32 chunk_rkey;
	u8 loose;			/* 1: it may move: nothing is read or written remotely, and diffs go alone */
	u8 reserved2[3];
};
static_assert(sizeof(struct dsm_wire_page) == 32);

/* The receiver's copy has them already, DSM_PAGE_BYTES follow, or all are 0. */
enum dsm_moved_bytes { DSM_MOVED_NONE, DSM_MOVED_DATA, DSM_MOVED_ZERO };

/* Behind a PAGE with status MOVED; its version is the page's. */
struct dsm_wire_moved {
	__le64 sharers;			/* bitmap: who may have a copy */
	u8 bytes;			/* enum dsm_moved_bytes */
	u8 moves;			/* in a row, this one included */
	u8 reserved[6];
};
static_assert(sizeof(struct dsm_wire_moved) == 16);

/* Behind a PAGE with status CAST; its version is the multicast's. See bcast.c. */
struct dsm_wire_told {
	__le64 key;			/* where the sum was taken */
	__le64 sum;			/* of the page's bytes */
	__le32 number;			/* of the multicast, from 1 */
	__le32 reserved;
};
static_assert(sizeof(struct dsm_wire_told) == 24);

/*
 * DIFF: messaging.md 2.2. One pack header, then page records, each 8-byte aligned.
 * The interval, epoch and checksum fields are reserved for the replicated mode.
 */
#define DSM_DIFF_MAGIC 0x314b5044u	/* "DPK1" */
struct dsm_wire_pack {
	__le32 magic;
	__le16 hdr_len;
	__le16 flags;
	__le32 region;
	__le32 writer;
	__le32 interval;
	__le32 epoch;
	__le32 bytes;			/* of all records */
	__le32 crc32c;			/* 0 = absent */
};
static_assert(sizeof(struct dsm_wire_pack) == 32);

enum dsm_diff_enc { DSM_DIFF_RUNS, DSM_DIFF_BITMAP, DSM_DIFF_FULL, DSM_DIFF_ZERO };

struct dsm_wire_record {
	__le32 idx;
	u8 enc;
	u8 grain_log2;			/* 0: byte grain */
	__le16 nruns;
	__le32 bytes;			/* payload after this header, padding included */
	__le32 base_seq;		/* 0 in this version */
};
static_assert(sizeof(struct dsm_wire_record) == 16);

struct dsm_wire_run {
	__le16 off;
	__le16 len_minus_1;
};
static_assert(sizeof(struct dsm_wire_run) == 4);

/*
 * DIFF_ACK: an entry for each page. One more may tell of the sender's registration of the chunk of
 * page @idx: its address in @prev, its key in @ver. With consistency=cashmere @prev is a bitmap of
 * those who may have a copy, the home if its threads have used the page, and with metadata=rdma 0; the version
 * before was @ver - 1, as always.
 */
#define DSM_ACK_PAGE 0u
#define DSM_ACK_KEY 1u
#define DSM_ACK_SHARED 2u
#define DSM_ACK_QUIET 3u		/* home=migrate: as SHARED, and the home does not write */
struct dsm_wire_ack {
	__le32 idx;
	__le32 status;			/* DSM_ACK_* */
	__le64 prev;
	__le64 ver;
};
static_assert(sizeof(struct dsm_wire_ack) == 24);

/* DIFF_BACK: the record follows. */
struct dsm_wire_back {
	__le16 home;			/* to whom it is to be sent */
	__le16 reserved;
	__le32 reserved2;
};
static_assert(sizeof(struct dsm_wire_back) == 8);

/* Records of one pack: their acknowledgements must fit into one message. */
#define DSM_PACK_RECORDS_MAX 320u
static_assert(DSM_HDR_BYTES + (DSM_PACK_RECORDS_MAX + 1) * sizeof(struct dsm_wire_ack) <=
	      DSM_MSG_BYTES);

/*
 * DIFF_DIRECT, CSM_DROP, CSM_DROP_ACK: @count page indexes follow, __le32 each. CSM_NOTICE: @count
 * struct dsm_wire_notice.
 */
struct dsm_wire_direct {
	__le32 count;
	__le32 reserved;
};
static_assert(sizeof(struct dsm_wire_direct) == 8);

/*
 * CSM_UPGRADE: label of the copy; CSM_GRANT: yes or no; CSM_BREAK, CSM_BACK_ACK: only @idx; CSM_BACK: bytes
 * follow, or if @granted there is nothing to give back (metadata=rdma).
 */
struct dsm_wire_csm {
	__le32 idx;
	u8 granted;
	u8 reserved[3];
	__le64 ver;
};
static_assert(sizeof(struct dsm_wire_csm) == 16);

/* CSM_WHERE: only @idx. CSM_HERE: registration of the sender's words: that of page k is at addr + 8 k. */
struct dsm_wire_dir {
	__le32 idx;
	__le32 rkey;
	__le64 addr;
};
static_assert(sizeof(struct dsm_wire_dir) == 16);

/*
 * Vector time and intervals, the tail of every message that carries knowledge:
 * nodes x __le64 (vector time), then count x record.
 */
struct dsm_wire_know {
	__le16 nodes;
	__le16 count;
	__le32 reserved;
};
static_assert(sizeof(struct dsm_wire_know) == 8);

/* Notices of one interval record; a larger interval is several consecutive ones. */
#define DSM_NOTICES_PER_RECORD 6

struct dsm_wire_notice {
	__le32 region;
	__le32 idx;
	__le64 ver;
};
static_assert(sizeof(struct dsm_wire_notice) == 16);

struct dsm_wire_interval {
	__le16 node;
	__le16 count;
	__le32 reserved;
	__le64 seq;
	/* count x struct dsm_wire_notice */
};
static_assert(sizeof(struct dsm_wire_interval) == 16);

/* LOCK_*: region in the header; LOCK_REQ, PASS, GRANT and RETURN carry knowledge behind it. */
struct dsm_wire_lock {
	__le64 key;
	__le16 node;			/* PASS: the requester; PROBE, APART: the lost node */
	/*
	 * GRANT: token flags; STATE: enum dsm_lock_state; TRY_DONE, RETURN_ACK: yes or no; APART: that is behind;
	 * PASS: the requester has lost the receiver
	 */
	u8 state;
	u8 reserved;
	__le32 status;			/* REFUSED, PROBE: positive errno, or 0 */
	__le64 serial;			/* of the last probe that the sender knows */
	__le64 lost;			/* REQ, TRY: bitmap of the nodes that cannot reach the sender; else 0 */
};
static_assert(sizeof(struct dsm_wire_lock) == 32);

enum dsm_rlock_op { DSM_RLOCK_OPEN, DSM_RLOCK_BROKEN, DSM_RLOCK_LOST, DSM_RLOCK_BEFORE };
/* PAST: it does not wait in that queue; WAITS for a node that is named; AWAY: it has lost the manager, and given up. */
enum dsm_rlock_place { DSM_RLOCK_PAST, DSM_RLOCK_WAITS, DSM_RLOCK_AWAY };

/*
 * RLOCK: key and op alone to the manager; BEFORE, with the queue's epoch, to a node of the queue. RLOCK_REPLY: to each of
 * them, or LOST with the word's new value.
 */
struct dsm_wire_rlock {
	__le64 key;
	u8 op;				/* enum dsm_rlock_op */
	u8 reserved[3];
	__le32 status;			/* to OPEN, BROKEN: 0 or positive errno; to BEFORE: enum dsm_rlock_place */
	__le64 addr;			/* to OPEN: of the word; LOST: its value */
	__le32 rkey;
	__le32 word;			/* its number; BEFORE: epoch; the node waited for */
};
static_assert(sizeof(struct dsm_wire_rlock) == 32);

struct dsm_wire_rsync_key {
	__le64 addr;
	__le32 rkey;
	__le32 reserved;
};
static_assert(sizeof(struct dsm_wire_rsync_key) == 16);

/*
 * BAR_ARRIVE: tickets, pages that shall move, then knowledge. BAR_ABORT: one ticket, of which one thread is gone; only
 * key and count. BAR_ASK: only key, episode, and @broken: an episode that failed, to be remembered.
 */
struct dsm_wire_arrive {
	__le64 key;
	__le32 parties;
	__le32 count;			/* tickets that follow */
	__le64 told;			/* bitmap: lost nodes that the caller has been told of */
	__le64 episode;			/* of the last departure; 0: none */
	__le32 moves;			/* pages that follow the tickets */
	__le32 broken;			/* ARRIVE: the last failed one older than the callers' files; see barrier_broken.c */
};
static_assert(sizeof(struct dsm_wire_arrive) == 40);

/*
 * BAR_DEPART: tickets of the receiver and of those whose reports it passed on, pages that may move, knowledge of
 * @about.
 */
struct dsm_wire_depart {
	__le64 key;
	__le32 status;			/* 0 or positive errno */
	__le32 count;			/* tickets that follow */
	__le64 episode;			/* that begins now; 0: arrivals may not be held back */
	__le32 parties;			/* of the episode that ends */
	__le16 about;
	__le16 fanout;
	__le64 tree;			/* bitmap: by which nodes to report next; see tree.h */
	__le32 moves;			/* pages that follow the tickets */
	__le32 broken;			/* failed episode, to be remembered; see barrier_broken.c */
};
static_assert(sizeof(struct dsm_wire_depart) == 48);

/* home=migrate@barrier: a page, and who shall be its home. At most so many in a report or departure. */
#ifndef DSM_MOVES_TOLD
#define DSM_MOVES_TOLD 64u
#endif
struct dsm_wire_move {
	__le32 idx;
	__le16 to;
	__le16 reserved;
};
static_assert(sizeof(struct dsm_wire_move) == 8);

/* Threads of one node. */
struct dsm_wire_ticket {
	__le16 node;
	__le16 up;			/* where that node sent its report */
	__le32 xid;
	__le32 count;			/* threads that arrive or go */
	__le16 hold;			/* DEPART: hold arrivals until there are so many; 0: report each */
	__le16 flags;			/* ARRIVE: DSM_TICKET_QUIET */
};
/* Nothing of the region is read or written remotely from there until the departure (moves.h). */
#define DSM_TICKET_QUIET 1u
static_assert(sizeof(struct dsm_wire_ticket) == 16);

enum dsm_flag_op { DSM_FLAG_SET, DSM_FLAG_WAIT, DSM_FLAG_CLEAR, DSM_FLAG_CANCEL, DSM_FLAG_TEST };

struct dsm_wire_flag {
	__le64 key;
	u8 op;				/* enum dsm_flag_op */
	u8 reserved[3];
	__le32 status;			/* in the reply: 0 or positive errno */
	__le64 told;			/* in a wait: lost nodes that the caller has been told of */
};
static_assert(sizeof(struct dsm_wire_flag) == 24);

/* Rights to a page of a region with consistency=sc. */
enum dsm_sc_right { DSM_SC_NOTHING, DSM_SC_MAY_READ, DSM_SC_MAY_WRITE };

enum dsm_sc_status {
	DSM_SC_PLAIN,			/* no bytes: the receiver has them already */
	DSM_SC_DATA,			/* DSM_PAGE_BYTES follow */
	DSM_SC_ZERO,			/* GRANT: never written: all bytes 0 */
	DSM_SC_BUSY,			/* the owner cannot give it up */
	DSM_SC_GONE,			/* GRANT: the page is lost */
};

struct dsm_wire_sc {
	__le32 idx;
	u8 right;			/* GET: wanted; RECALL, BACK: what stays; GRANT: given */
	u8 status;			/* BACK, GRANT */
	__le16 reserved;
	/* BACK: how long it was held; GRANT: the longest of these; ~0: it waited for others too */
	__le32 held_us;
	__le32 reserved2;
};
static_assert(sizeof(struct dsm_wire_sc) == 16);

/* CONTROL, CONTROL_REPLY: membership and regions. */
enum dsm_control_op {
	/* to the coordinator: my turn? reply: members, then regions by index */
	DSM_CONTROL_JOIN_BEGIN = 1,
	DSM_CONTROL_JOIN_END,		/* to the coordinator: I am a member (or gave up) */
	/* to all: members (0: only asking); reply: members and their addresses */
	DSM_CONTROL_MEMBERS,
	DSM_CONTROL_REGION_GET,		/* to the coordinator: next region above id */
	DSM_CONTROL_CREATE,		/* to the coordinator */
	DSM_CONTROL_DESTROY,		/* to the coordinator */
	DSM_CONTROL_ACTIVATE,		/* to the coordinator: fix the members of a region */
	DSM_CONTROL_APPLY_CREATE,	/* to all */
	DSM_CONTROL_APPLY_MEMBERS,	/* to all: members, and who uses it */
	DSM_CONTROL_PREPARE_DESTROY,	/* to all: refuse new opens; -EBUSY if open */
	DSM_CONTROL_APPLY_DESTROY,	/* to all */
	DSM_CONTROL_CANCEL_DESTROY,	/* to all */
	DSM_CONTROL_HOMES,		/* to any: which pages from @first on have their home there? */
	DSM_CONTROL_TOUCH,		/* to any: read these; reply: those homed there then */
	DSM_CONTROL_CLAIM,		/* the same, and homes there are not to be claimed anew */
	DSM_CONTROL_FORGET,		/* to all: the sender's pages may move; reply: nothing is written to them remotely */
	DSM_CONTROL_OP_END
};

struct dsm_wire_region {
	__le32 id;
	__le32 flags;
	u8 name[DSM_NAME_BYTES];
	__le64 pages;
	__le64 addr;
	__le32 uid;
	__le32 gid;
	__le32 mode;
	__le32 reserved;
	__le64 members;			/* bitmap; 0 until fixed */
	__le64 users;			/* bitmap: nodes that have opened it */
	u8 policy[DSM_POLICY_TEXT_BYTES];
};
static_assert(sizeof(struct dsm_wire_region) == 280);

struct dsm_wire_control {
	u8 op;				/* enum dsm_control_op */
	u8 reserved[3];
	__le32 status;			/* reply: 0 or positive errno */
	__le64 members;			/* bitmap */
	u8 text[128];			/* reply: what was wrong */
	struct dsm_wire_region region;
	__le64 first;			/* HOMES, TOUCH: page of the first bit */
	union {
		struct dsm_wire_addr {
			__be32 addr;
			__be16 port;
			__le16 known;	/* 1 = valid */
		} nodes[DSM_MAX_NODES];	/* reply to JOIN_BEGIN */
		__le64 homes[DSM_HOMES_WORDS];	/* HOMES, TOUCH: bitmap of pages */
	};
};
static_assert(sizeof(struct dsm_wire_control) == 24 + 128 + 280 + 64 * 8);

/**
 * struct dsm_reader - cursor over a received body
 * @pos: next byte
 * @end: one past the last byte
 * @bad: set by the first read that would pass @end; later reads return zeros
 */
struct dsm_reader {
	const u8 *pos;
	const u8 *end;
	bool bad;
};

static inline struct dsm_reader dsm_reader_init(const void *body, u32 len)
{
	return (struct dsm_reader){ .pos = body, .end = (const u8 *)body + len };
}

static inline u32 dsm_reader_left(const struct dsm_reader *r)
{
	return r->end - r->pos;
}

/**
 * dsm_reader_take() - take bytes off the front
 * @r:   reader
 * @out: where they are copied to; zeroed if fewer are left
 * @len: how many
 */
static inline void dsm_reader_take(struct dsm_reader *r, void *out, u32 len)
{
	if (r->bad || dsm_reader_left(r) < len) {
		r->bad = true;
		memset(out, 0, len);
		return;
	}
	memcpy(out, r->pos, len);
	r->pos += len;
}

/* Skip @len bytes and return where they begin; NULL if fewer are left. */
static inline const u8 *dsm_reader_skip(struct dsm_reader *r, u32 len)
{
	const u8 *at = r->pos;

	if (r->bad || dsm_reader_left(r) < len) {
		r->bad = true;
		return NULL;
	}
	r->pos += len;
	return at;
}

/* True if everything was read and nothing is left over. */
static inline bool dsm_reader_done(const struct dsm_reader *r)
{
	return !r->bad && r->pos == r->end;
}

/* Start a message: header with type, region and xid; net fills the rest. */
static inline void dsm_wire_begin(struct dsm_msgbuf *m, u8 type, u32 region, u32 xid)
{
	struct dsm_wire_hdr hdr = {
		.type = type,
		.region = cpu_to_le32(region),
		.xid = cpu_to_le32(xid),
	};

	memcpy(m->data, &hdr, sizeof(hdr));
	m->len = sizeof(hdr);
	m->limit = DSM_MSG_BYTES;
	m->page = NULL;
	m->before = NULL;
	m->sink = NULL;
	m->raddr = 0;
	m->rkey = 0;
	m->brief = 0;
}

static inline u32 dsm_wire_room(const struct dsm_msgbuf *m)
{
	return m->limit - m->len - (m->page && !m->rkey ? DSM_PAGE_BYTES : 0);
}

/* Append bytes; the caller knows that they fit (dsm_wire_room()). */
static inline void dsm_wire_put(struct dsm_msgbuf *m, const void *data, u32 len)
{
	dsm_assert(dsm_wire_room(m) >= len);
	memcpy(m->data + m->len, data, len);
	m->len += len;
}

static inline void dsm_wire_set_flag(struct dsm_msgbuf *m, u8 flag)
{
	m->data[1] |= flag;
}

#endif
