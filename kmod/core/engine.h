/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The protocol engine of one node: its state and the events that the shell feeds it.
 *
 * Every function below is one step: it runs under the shell's engine lock, changes the engine,
 * and leaves what must happen outside in struct dsm_actions: messages, wakes, "there is flush
 * work". A step never sleeps, sends, maps or allocates; objects come from pools that the shell
 * fills before each step (dsm_engine_wants()). Page-table work is pulled by the shell:
 * dsm_rel_take() and dsm_acq_next() name the pages, the shell walks, and reports back.
 *
 * Protocol: HLRC with one scalar version per page (protocol.md 2.1, 3.1 to 3.4, 3.8 to 3.10 with
 * decisions.md). No rule relies on the order of messages, not even within a class.
 */
#ifndef DSM_CORE_ENGINE_H
#define DSM_CORE_ENGINE_H

#include "wire.h"
#include "csm_engine.h"
#include "moves.h"
#include "policy.h"
#include "stats.h"
#include "waiter.h"

struct dsm_bcast;
struct dsm_engine;
struct dsm_page;
struct dsm_rsync;
struct dsm_slots;

/**
 * enum dsm_page_state - protocol.md 3.2 and 3.4; from DSM_PAGE_UPG on, but for HX, only with cashmere
 * @DSM_PAGE_INV:   no valid copy; no twin
 * @DSM_PAGE_FET:   fetch outstanding
 * @DSM_PAGE_RD:    valid copy, read-only
 * @DSM_PAGE_WR:    writable, twin, on the dirty list or in a release
 * @DSM_PAGE_WRS:   notice applied while dirty: twin kept, not readable
 * @DSM_PAGE_WRF:   WRS with a fetch outstanding, to be merged
 * @DSM_PAGE_HOME:  home here, not written in this interval
 * @DSM_PAGE_HOMEW: home here, on the dirty list or in a release; never a twin
 * @DSM_PAGE_FREE:  first-touch manager here, not claimed by anyone
 * @DSM_PAGE_UPG:   as RD; asked to be the only node that has a copy
 * @DSM_PAGE_EX:    exclusive: the only copy, writable, no twin, in no list
 * @DSM_PAGE_HX:    home here, nobody else has a copy, or only older ones: writable, in no list
 * @DSM_PAGE_HO:    home here, exclusive at the one node of dsm_page.sharers
 * @DSM_PAGE_HB:    HO, and that node was asked to give it up
 * @DSM_PAGE_LOST:  the only copy was lost with its node
 */
enum dsm_page_state {
	DSM_PAGE_INV,
	DSM_PAGE_FET,
	DSM_PAGE_RD,
	DSM_PAGE_WR,
	DSM_PAGE_WRS,
	DSM_PAGE_WRF,
	DSM_PAGE_HOME,
	DSM_PAGE_HOMEW,
	DSM_PAGE_FREE,
	DSM_PAGE_UPG,
	DSM_PAGE_EX,
	DSM_PAGE_HX,
	DSM_PAGE_HO,
	DSM_PAGE_HB,
	DSM_PAGE_LOST,
};

/**
 * enum dsm_sc_state - a page of a region with consistency=sc at this node (sc.c)
 * @DSM_SC_I:    no copy
 * @DSM_SC_IS:   no copy, asked for one to read
 * @DSM_SC_S:    copy to read; others may have one too
 * @DSM_SC_IM:   no copy, asked for the only one
 * @DSM_SC_SM:   copy to read, asked to be its only owner
 * @DSM_SC_M:    the only copy, may be written
 * @DSM_SC_LOST: its home, or the only copy, was lost with a node
 *
 * Values of dsm_page.state too, so that no rule of the other states takes one for its own.
 */
enum dsm_sc_state {
	DSM_SC_I = 32,
	DSM_SC_IS,
	DSM_SC_S,
	DSM_SC_IM,
	DSM_SC_SM,
	DSM_SC_M,
	DSM_SC_LOST,
};

#define DSM_PF_UNACKED 0x01u	/* own diff not acknowledged yet (U) */
#define DSM_PF_FLUSH 0x02u	/* a flusher works on it: being write-protected and diffed */
#define DSM_PF_DIRTY 0x04u	/* on the dirty list */
#define DSM_PF_PENDING 0x08u	/* a release waits for it to be flushed (@rel_next) */
#define DSM_PF_TODO 0x10u	/* PENDING and on that release's todo list */
#define DSM_PF_DISCARD 0x20u	/* throw the next reply away once and ask again */
#define DSM_PF_KEEP 0x40u	/* pinned: this flush refreshes the twin and keeps it */
#define DSM_PF_DEFERRED 0x80u	/* requests wait for this page's reply */
#define DSM_PF_READ 0x100u	/* the fetch is a READ: frame or bounce page are its target (I24) */
#define DSM_PF_HOMED 0x200u	/* @home is not a hint: it has answered as home */
#define DSM_PF_AHEAD 0x400u	/* fetched ahead, not used yet */
#define DSM_PF_LENT 0x800u	/* the twin is a transfer's: dropping it does not free it */
#define DSM_PF_KEPT 0x1000u	/* written all the time: flushed without being write-protected */
#define DSM_PF_UNCLAIMED 0x8000u	/* home: it moves to the next node that touches it, or shall (moves.h) */
#define DSM_PF_LOOSE 0x8000u	/* elsewhere: the answer under way does not say where the home is */
/* Not KEPT: intervals in a row that wrote it, less one. KEPT: flushes in a row that found nothing. */
#define DSM_PF_STREAK 0x6000u
#define DSM_PF_STREAK_ONE 0x2000u
#define DSM_PF_PREDICTED 0x4000u	/* home: it came at a read, and no thread has written it since */

/**
 * struct dsm_sc - a page of a region with consistency=sc
 * @set:   home: bitmap of the nodes that have a copy, this one included
 * @acks:  home: bitmap of the nodes that shall give theirs up for the request being served
 * @queue: home: struct dsm_request that wait for their turn; the first, in a ring
 * @until: not before then is the copy given up; while it is asked for: since when
 */
struct dsm_sc {
	u64 set;
	u64 acks;
	u64 until;
	struct dsm_request *queue;
};

/**
 * struct dsm_page - protocol state of one touched page at this node
 * @ver:      label of the copy: it contains every diff numbered <= @ver; at the home: the
 *            last number given out
 * @need:     highest version that a notice named; a reply below it is stale
 * @sharers:  in its place, at the home with consistency=cashmere: bitmap of the nodes that may
 *            have a copy; never this one
 * @frame:    the shell's handle of the bytes; NULL until needed, then fixed
 * @twin:     copy taken at the first write; valid in WR, WRS, WRF
 * @next:     link of the dirty list or of a release's todo list
 * @space:    region it belongs to
 * @idx:      page index within the region; fixed
 * @xid:      request id of the outstanding fetch; migrate@barrier, at the home: who wrote (moves.c)
 * @home:     home node; at a first-touch manager authoritative, elsewhere, and with home=migrate also there, a hint that a NACK corrects
 * @state:    enum dsm_page_state; changed only by set_state() in page.c
 * @flags:    DSM_PF_* or DSM_SCF_*
 * @rel_cur:  release slot that gets this flush or unacked diff
 * @dir:      DSM_DIR_*
 * @asker:    sc: in their place: at the home: who is being served
 * @rel_next: release slot that waits (PENDING)
 * @nacks:    NACKs in a row; home=migrate, at the home: moves in a row
 * @csm:      DSM_CSM_*
 *
 * @sc:       pages of regions with consistency=sc: takes the place of the first four
 *
 * Guarded by the engine lock. Lives as long as its region.
 */
struct dsm_page {
	union {
		struct {
			u64 ver;
			union {
				u64 need;
				u64 sharers;
			};
			void *twin;
			struct dsm_page *next;
		};
		struct dsm_sc sc;
	};
	void *frame;
	struct dsm_space *space;
	u32 idx;
	u32 xid;
	u16 home;
	u16 flags;
	u8 state;
	union {
		struct {
			u8 rel_cur : 4;
			u8 dir : 4;
		};
		u8 asker;
	};
	u8 rel_next : 4;
	u8 nacks : 4;
	u8 csm;
};
/* decisions.md, metadata: at most 64 B of protocol state per touched page. */
static_assert(sizeof(struct dsm_page) <= 64);

/*
 * Notices of pages that have no structure here leave a mark per group of 16 pages, so that
 * "nobody told of this page" is known (dsm_fetch_start()). Groups 256 MiB apart share a mark.
 */
#define DSM_TOLD_WORDS 64u
#define DSM_TOLD_BIT(idx) ((idx) / 16 % (DSM_TOLD_WORDS * 64))

/**
 * struct dsm_space - the core's part of a region
 * @link:    in the engine's table
 * @id:      region id
 * @pages:   length
 * @members: nodes that home its pages and serve its keys, in order; fixed on first use
 * @n_members: 0 until then
 * @users:   bitmap: nodes that have opened it and did not leave in good order; a flag wait or a barrier may wait for a lost one
 * @gone:    bitmap: nodes that were lost since this node knows the region
 * @policy:  settings
 * @dir:     metadata=rdma
 * @moves:   home=migrate@barrier
 * @slots:   locks shared with processes, or NULL; set once
 * @still:   it may go, and may yet stay: meanwhile this node sends no diff or notice of it; set by the shell
 * @closing: the region goes and nobody uses it: no page stays dirty; set by the shell
 * @led_on:  a page's home moved from this node to another: who asks here for it is told where it is now
 * @all_told: every notice of this region that this node had to apply, it has applied; set by the
 *           shell for a region that this node knows from before its first use
 * @told:    bit by DSM_TOLD_BIT(): a notice named a page of this group that was never touched here
 * @busy:    sync=rdma: locks that this node has, wants or is giving back
 * @fetching: its pages in FET and WRF; the shell waits for none before the region goes
 * @flags_set: flags that are set, of those kept here
 * @opens:   files of it that were opened at this node, so far
 * @stats:   counters of the region at this node
 * @shell:   the shell's region
 */
struct dsm_space {
	struct hlist_node link;
	u32 id;
	u64 pages;
	u16 members[DSM_MAX_NODES];
	u16 n_members;
	u64 users;
	u64 gone;
	struct dsm_policy policy;
	struct dsm_dir dir;
	struct dsm_moves moves;
	struct dsm_slots *slots;
	bool still, closing, led_on;
	bool all_told;
	u64 told[DSM_TOLD_WORDS];
	u32 busy, fetching, flags_set;
	u64 opens;
	struct dsm_core_stats stats;
	void *shell;
};

/**
 * struct dsm_notice - one write notice
 * @region: region id
 * @idx:    page index
 * @ver:    version that the write got at its home
 */
struct dsm_notice {
	u32 region;
	u32 idx;
	u64 ver;
};

/**
 * struct dsm_interval - one interval record: up to six notices
 * @link:  in the log of @node, ascending; or in the notes of an open release
 * @seq:   interval number at @node, from 1
 * @node:  node that wrote
 * @count: entries of @notice in use
 * @reserved: 0
 * @notice: what it wrote
 *
 * A release with more dirty pages makes several consecutive records, so that all have one size.
 */
struct dsm_interval {
	struct list_head link;
	u64 seq;
	u16 node;
	u16 count;
	u32 reserved;
	struct dsm_notice notice[DSM_NOTICES_PER_RECORD];
};

/**
 * struct dsm_request - a request that waits: fetch, barrier arrival, flag wait, lock, sc page
 * @cont:   in the list of what it waits for; queued while knowledge is pulled
 * @type:   enum dsm_msg_type
 * @op:     flags: enum dsm_flag_op; fetches: enum dsm_fetch_want; barriers: DSM_TICKET_QUIET or 0
 * @node:   sender
 * @region: region id
 * @xid:    the sender's request id
 * @value:  page index or parties; a positive errno once a flag wait or arrival has failed; notices:
 *          bitmap of the release slots that wait for their acknowledgement
 * @key:    key of a lock, barrier or flag; fetches: address of the sink
 * @told:   lost nodes that the caller was told of before: see struct dsm_waiter; locks: that do not reach @node;
 *          fetches: multicast that the caller has; recalls of sc pages: not before then is the page given up, or looked at again
 * @up:     barriers: where @node sent its report: the manager, or a node that passed it on
 * @via:    barriers: who sent it to us
 * @count:  barriers: threads that arrived; fetches: registration of the sink
 * @gone:   barriers: how many of them have ended since; fetches: a multicast will do
 * @chunk:  fetches: registration of the page's chunk that the caller knows; barriers: the last failed episode that is older than the callers' files
 * @episode: barriers: the one that the sender believes in; fetches: version that is needed
 */
struct dsm_request {
	struct dsm_cont cont;
	u8 type;
	u8 op;
	u16 node;
	u32 region;
	u32 xid;
	u32 value;
	u64 key;
	u64 told;
	u16 up;
	u16 via;
	u32 count;
	u32 gone;
	u32 chunk;
	u64 episode;
};

/*
 * Flag waits and barrier arrivals of one node that a manager keeps at most; requests that are
 * only passing (a SET whose knowledge is being pulled) may be as many again.
 */
#define DSM_REQUESTS_PER_NODE 4096u

/**
 * struct dsm_actions - what a step leaves for the shell, to be done after the lock is dropped
 * @send:       messages, oldest first
 * @send_last:  end of @send
 * @wake:       threads to wake (each exactly once; their memory may vanish right after)
 * @wake_pages: bit dsm_page_bucket(page): threads that wait for such a page look again
 * @xfer:       one-sided transfers, oldest first; one that cannot be posted comes back with
 *              -EHOSTDOWN like any other
 * @xfer_last:  end of @xfer
 * @flush:      releases have pages to flush: some process context must call dsm_rel_take()
 * @recall:     pages are recalled: some process context must call dsm_sc_take()
 * @run:        the ready queue is not empty: call dsm_engine_run() again
 * @cast:       to be multicast: a struct dsm_wire_cast and a page; or NULL
 * @cast_ns:    call dsm_bcast_expire() at that time, or earlier; 0: no need
 * @alarm_ns:   call dsm_array_retry() at that time, or earlier; 0: no need
 */
struct dsm_actions {
	struct dsm_msgbuf *send;
	struct dsm_msgbuf **send_last;
	struct dsm_waiter *wake;
	u64 wake_pages;
	struct dsm_xfer *xfer;
	struct dsm_xfer **xfer_last;
	bool flush;
	bool recall;
	bool run;
	struct dsm_msgbuf *cast;
	u64 cast_ns;
	u64 alarm_ns;
};

#define DSM_CHUNK_PAGES 512u

void dsm_actions_init(struct dsm_actions *acts);

/* Pools: objects that a step may take; the shell refills them between steps. */
enum dsm_pool_kind {
	DSM_POOL_MSG,
	DSM_POOL_TWIN,
	DSM_POOL_INTERVAL,
	DSM_POOL_LOCK,
	DSM_POOL_BARRIER,
	DSM_POOL_FLAG,
	DSM_POOL_REQUEST,
	DSM_POOL_XFER,
	DSM_POOL_RLOCK,
	DSM_POOL_COUNT
};

/*
 * What one step may take at most; to the messages add one
 * per node; the interval count covers the fullest message.
 */
#define DSM_STEP_MSGS DSM_XFER_SEGS	/* what is fetched ahead in one step goes together */
#define DSM_STEP_INTERVALS 288
#define DSM_STEP_XFERS DSM_XFER_SEGS
#define DSM_STEP_OTHERS 4

/**
 * struct dsm_pool - free objects of one kind
 * @head:  linked by their first word; in messages that is dsm_msgbuf.next
 * @count: how many
 */
struct dsm_pool {
	void *head;
	u32 count;
};

#define DSM_REL_SLOTS 16	/* releases under way at once; a power of two; dsm_page.rel_next has 4 bits */

/**
 * struct dsm_rel - one release transaction (protocol.md 3.1)
 * @seq:     its number; 0 = slot unused
 * @pending: pages not yet done
 * @err:     -EHOSTDOWN if a home was lost
 * @todo:    pages to flush, linked by dsm_page.next
 * @notes:   interval records under construction
 */
struct dsm_rel {
	u64 seq;
	u32 pending;
	int err;
	struct dsm_page *todo;
	struct list_head notes;
};

/**
 * struct dsm_pipe_slot - a pack of diffs that is not acknowledged yet
 * @xid:   its number; 0: unused
 * @left:  messages sent and not answered yet
 * @alone: diff=orig: nothing else of that kind goes out before
 */
struct dsm_pipe_slot {
	u32 xid;
	u32 left;
	bool alone;
};

/**
 * struct dsm_pipe - diffs on their way to one home (pipe.h)
 * @ready:     messages of packs that may not go yet; those of one pack have the same xid
 * @ready_end: the last of them, if there is one
 * @under_way: slots in use
 * @slot:      unacknowledged packs: as deep as any region's pipe, and one of diff=orig
 */
struct dsm_pipe {
	struct dsm_msgbuf *ready;
	struct dsm_msgbuf *ready_end;
	u32 under_way;
	struct dsm_pipe_slot slot[DSM_PIPE_DEPTH_MAX + 1];
};

/**
 * struct dsm_pull - pulls of intervals from one peer; at most one is under way
 * @busy: one is under way
 * @now:  struct dsm_cont: waiting for the one under way
 * @then: struct dsm_cont: waiting for the next one
 */
struct dsm_pull {
	bool busy;
	struct list_head now;
	struct list_head then;
};

/**
 * struct dsm_letters - letters to and from one peer (letter.h)
 * @sent:  letters to it
 * @acked: of these, it has taken so many, all from the first on
 * @taken: letters of it taken, all from the first on
 * @told:  of these, it was told of so many
 * @ahead: bitmap from @taken on: taken as well
 */
struct dsm_letters {
	u32 sent;
	u32 acked;
	u32 taken;
	u32 told;
	u32 ahead;
};

#define DSM_KEY_BUCKETS 4096
#define DSM_KEY_TABLES 4
#define DSM_WORD_BUCKETS 4096

/**
 * struct dsm_engine - all protocol state of one node
 * @self:        this node's id; DSM_NO_NODE until it is known
 * @n_nodes:     highest id ever seen + 1
 * @alive:       bitmap of the nodes that can be reached, @self included
 * @left:        bitmap of nodes that said goodbye before they went
 * @next_xid:    last request id given out
 * @losses:      losses of peers that key objects were told of
 * @apart:       by node: bitmap of nodes that it has lost and this one has not, as far as it said so of a lock managed here
 * @lock_cap:    cached tokens of other managers' locks before the oldest goes home; set by the shell
 * @lock_max:    lock objects from which on no peer gets a token of a further key
 * @flag_cap:    flags of a region that may be set, of those kept here
 * @log_cap:     interval records kept before old ones are trimmed
 * @pool:        objects for steps, filled by the shell
 * @twins:       in use
 * @spaces:      hash of struct dsm_space by id
 * @dirty:       pages written since the last release opened
 * @n_dirty:     their number
 * @n_dirty_again: of these: that their flush put back, pinned or kept
 * @rel:         releases under way, by number modulo DSM_REL_SLOTS
 * @rel_seq:     number of the release opened last
 * @rel_done:    all releases up to here are done
 * @rel_wanted:  one more shall open when a slot is free
 * @rel_err:     negative errno of a release that nobody was told yet, or 0
 * @rel_waiters: struct dsm_waiter: threads that wait for a release
 * @rel_conts:   struct dsm_lock or dsm_rlock: hand on or return the token after a release
 * @keep_after:  intervals in a row that wrote a page before it keeps its twin, 1 to 3; 0: never; set by the shell
 * @move_after:  versions in a row of one writer before its pages shall move there; 0: never; set by the shell
 * @twin_limit:  twins that there shall be: release.c; set by the shell
 * @direct_runs: diffpath=auto: pages with at most so many changed runs are written directly; 0: only those that changed
 *               wholly; set by the shell at any time, read without the lock
 * @wr_runs_max: diffpath=write: the same; 0: as many as there can be
 * @pipe:        by home
 * @pipe_ready:  messages in all of @pipe
 * @pipe_alone:  a pack of a diff=orig region is under way
 * @pipe_stalled: so many messages wait that no more pages are flushed
 * @log:         struct dsm_interval of each node, ascending
 * @known:       knowledge: the last interval of each node that is in the log
 * @applied:     the last interval of each node whose notices were applied to the pages
 * @floor:       records of each node up to here were trimmed
 * @peer_known:  by peer: the last interval of each node that it said it has
 * @log_records: records in the log
 * @inval_all:   a peer could not tell us all: the next acquire invalidates every page
 * @pull:        by peer
 * @acq_busy:    a thread is applying notices
 * @acq_all:     and has invalidated every page
 * @acq_waiters: struct dsm_waiter: threads whose turn to apply is next
 * @ready:       struct dsm_cont: can go on now, one per dsm_engine_run()
 * @requests:    hash of struct dsm_waiter by request id
 * @deferred:    struct dsm_request: fetches of pages whose claim is under way
 * @served:      by node: its flag and barrier requests that are kept here
 * @request_cap: limit of each @served, DSM_REQUESTS_PER_NODE
 * @hash_secret: of the hash chains of keys, which users choose; the shell's
 * @locks:       hash of struct dsm_lock, DSM_KEY_BUCKETS heads
 * @held:        struct dsm_lock in state HELD
 * @cached:      struct dsm_lock: tokens cached here for other managers, oldest first
 * @n_cached:    length of @cached
 * @n_locks:     objects in @locks
 * @rsync:       memory for sync=rdma and metadata=rdma, or NULL; the shell's
 * @rsync_used:  bitmap of the words in it that are given out
 * @mail_key:    by peer: registration of its mail; rkey 0: not told yet
 * @letters:     by peer
 * @rlocks:      hash of struct dsm_rlock by key, DSM_KEY_BUCKETS heads
 * @rlock_words: the same by number of the word
 * @rlocks_held: struct dsm_rlock in state HELD
 * @arrays_pausing: struct dsm_rlock in state PAUSING
 * @array_random: state of the random length of pauses
 * @barriers:    hash of struct dsm_barrier, DSM_KEY_BUCKETS heads
 * @idle_barriers: struct dsm_barrier without an episode, oldest first; [1]: those that remember one that failed
 * @n_idle_barriers: their lengths
 * @barrier_episodes: number of the episode begun last, of all keys managed here
 * @barrier_fanout: nodes that report directly to a barrier's manager, or to who passes reports on; set by the shell
 * @barrier_failures: likewise of the one that failed last since a party ended
 * @barriers_dropped: nodes that may hold arrivals of a key that was forgotten here
 * @flags:       hash of struct dsm_flag, DSM_KEY_BUCKETS heads
 * @early:       by peer
 * @sc_recalls:  struct dsm_request: pages of consistency=sc that are to be given up
 * @now_ns:      time as the shell told it last; how long a page is held depends on it, nothing else
 * @sc_fetch_ns: smoothed time of getting such a page that nobody holds
 * @sc_random:   state of the random part of holds
 * @sc_waiting:  threads of this node that wait for such a page; the shell's
 * @csm:         notices of regions with consistency=cashmere, and pages that others want
 * @bcast:       regions with bcast=adaptive, or NULL; the shell's
 * @stats:       counters since the engine started
 *
 * Everything here is guarded by the one engine lock of the shell.
 */
struct dsm_engine {
	u16 self;
	u16 n_nodes;
	u64 alive;
	u64 left;
	u32 next_xid;
	u32 losses;
	u64 apart[DSM_MAX_NODES];
	u32 lock_cap, lock_max;
	u32 flag_cap;
	u32 log_cap;

	struct dsm_pool pool[DSM_POOL_COUNT];
	u32 twins;
	struct hlist_head spaces[64];

	struct dsm_page *dirty;
	u32 n_dirty, n_dirty_again;

	struct dsm_rel rel[DSM_REL_SLOTS];
	u64 rel_seq;
	u64 rel_done;
	bool rel_wanted;
	int rel_err;
	struct list_head rel_waiters;
	struct list_head rel_conts;

	u32 keep_after;
	u32 move_after;
	u32 twin_limit;
	u32 direct_runs;
	u32 wr_runs_max;
	struct dsm_pipe pipe[DSM_MAX_NODES];
	u32 pipe_ready;
	bool pipe_alone, pipe_stalled;

	struct list_head log[DSM_MAX_NODES];
	u64 known[DSM_MAX_NODES];
	u64 applied[DSM_MAX_NODES];
	u64 floor[DSM_MAX_NODES];
	u64 peer_known[DSM_MAX_NODES][DSM_MAX_NODES];
	u32 log_records;
	bool inval_all;
	struct dsm_pull pull[DSM_MAX_NODES];

	bool acq_busy, acq_all;
	struct list_head acq_waiters;

	struct list_head ready;
	struct hlist_head requests[256];
	struct list_head deferred;
	u32 served[DSM_MAX_NODES];
	u32 request_cap;

	u64 hash_secret[2];
	struct hlist_head *locks;
	struct list_head held, cached;
	u32 n_cached;
	u32 n_locks;
	struct dsm_rsync *rsync;
	u64 rsync_used[DSM_RSYNC_WORDS / 64];
	struct dsm_key mail_key[DSM_MAX_NODES];
	struct dsm_letters letters[DSM_MAX_NODES];
	struct hlist_head *rlocks;
	struct hlist_head rlock_words[DSM_WORD_BUCKETS];
	struct list_head rlocks_held;
	struct list_head arrays_pausing;
	u32 array_random;
	struct hlist_head *barriers;
	struct list_head idle_barriers[2];
	u32 n_idle_barriers[2];
	u64 barrier_episodes;
	u64 barriers_dropped;
	u32 barrier_fanout, barrier_failures;
	struct hlist_head *flags;
	struct dsm_early_cancels early[DSM_MAX_NODES];

	struct list_head sc_recalls;
	u64 now_ns;
	u64 sc_fetch_ns;
	u32 sc_random;
	u32 sc_waiting;

	struct dsm_csm csm;
	struct dsm_bcast *bcast;

	struct dsm_core_stats stats;
};

/* ---- set-up ---- */
/* tables: DSM_KEY_TABLES * DSM_KEY_BUCKETS hlist heads, zeroed, owned by the shell. */
void dsm_engine_init(struct dsm_engine *e, struct hlist_head *tables);
void dsm_engine_set_self(struct dsm_engine *e, u16 self);
void dsm_engine_peer_up(struct dsm_engine *e, u16 node);
/* A peer says goodbye: nothing runs there any more that others could wait for. */
void dsm_engine_peer_left(struct dsm_engine *e, u16 node);
void dsm_space_add(struct dsm_engine *e, struct dsm_space *s);
void dsm_space_del(struct dsm_engine *e, struct dsm_space *s);
struct dsm_space *dsm_space_find(struct dsm_engine *e, u32 region);
/* Drop the objects of a region's keys (region 0: all) and give them to the pools. */
void dsm_engine_forget(struct dsm_engine *e, u32 region);
void dsm_engine_forget_loss(struct dsm_engine *e, u16 node, u32 bucket);
u64 dsm_engine_told(struct dsm_engine *e, u32 region, u64 told);

/* How many objects of @kind the shell should add before the next step; 0 = enough. */
u32 dsm_engine_wants(const struct dsm_engine *e, enum dsm_pool_kind kind);
void dsm_pool_give(struct dsm_engine *e, enum dsm_pool_kind kind, void *obj);
void *dsm_pool_take(struct dsm_engine *e, enum dsm_pool_kind kind);
/* Size in bytes of one object of @kind (messages, twins, transfers: the shell's own). */
size_t dsm_pool_object_bytes(enum dsm_pool_kind kind);

/* ---- provided by the shell ---- */
/* The page's structure, or NULL if this node never touched it. Called under the engine lock. */
struct dsm_page *dsm_env_page_find(struct dsm_space *s, u32 idx);
/*
 * The registration of the chunk of page @idx at @home, as told by it in a PAGE reply; @home may be
 * this node. False: none. Called under the engine lock.
 */
bool dsm_env_key_find(struct dsm_space *s, u32 idx, u16 home, struct dsm_key *key);

/* ---- messages ---- */
/*
 * Check a message completely, without the lock, and name the pages that must exist before the
 * step: calls touch(ctx, region, idx, frame) for each. -EPROTO malformed, -ENOENT no such
 * region, or what touch returned.
 */
int dsm_engine_check(const u8 *msg, u32 len,
		     int (*touch)(void *ctx, u32 region, u32 idx, bool frame), void *ctx);
/* The step for a checked message. -EPROTO: the peer broke a rule; -ENOENT: its region is gone; nothing was changed. */
int dsm_engine_recv(struct dsm_engine *e, u16 from, const u8 *msg, u32 len, struct dsm_actions *acts);
/* One item of the ready queue. */
void dsm_engine_run(struct dsm_engine *e, struct dsm_actions *acts);
/*
 * A peer is lost: pulls and requests. The shell then feeds, in steps of their own, every page
 * (dsm_page_peer_lost()) and every key object (dsm_engine_lose_key()).
 */
void dsm_engine_peer_lost(struct dsm_engine *e, u16 node, struct dsm_actions *acts);
bool dsm_engine_lose_key(struct dsm_engine *e, u16 node, u32 loss, u32 bucket, struct dsm_actions *acts);

/* ---- internal helpers shared by the units ---- */
bool dsm_engine_alive(const struct dsm_engine *e, u16 node);
u32 dsm_xid_next(struct dsm_engine *e);
struct dsm_msgbuf *dsm_msg_new(struct dsm_engine *e, u16 dst, u8 class, u8 type, u32 region, u32 xid);
void dsm_act_send(struct dsm_actions *acts, struct dsm_msgbuf *m);
void dsm_act_xfer(struct dsm_actions *acts, struct dsm_xfer *x);
void dsm_act_wake(struct dsm_engine *e, struct dsm_actions *acts, struct dsm_waiter *w, int status);
void dsm_ready(struct dsm_engine *e, struct dsm_actions *acts, struct dsm_cont *c, u8 kind);
/* Requests for flags and barriers, counted by node. */
struct dsm_request *dsm_served_new(struct dsm_engine *e, const struct dsm_request *init);
void dsm_served_free(struct dsm_engine *e, struct dsm_request *q);
bool dsm_served_too_many(struct dsm_engine *e, const struct dsm_request *q);
u64 dsm_space_lost(struct dsm_engine *e, u32 region);
u16 dsm_manager(const struct dsm_space *s, u8 kind, u64 key);
struct hlist_head *dsm_key_bucket(const struct dsm_engine *e, struct hlist_head *table, u32 region, u64 key);

#endif
