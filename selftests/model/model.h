/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The protocol explorer: N real engines, a model of the kernel shell around each, messages in any order.
 *
 * Everything that can happen next is an action; a scheduler picks one after the other. One run is
 * named completely by litmus, settings and list of choices, and can be replayed from it.
 * Never runs two things at once and never reads a clock inside a run.
 */
#ifndef DSM_MODEL_H
#define DSM_MODEL_H

#include "engine.h"
#include "csm.h"
#include "dir.h"
#include "direct.h"
#include "fetch.h"
#include "move.h"
#include "page.h"
#include "pipe.h"
#include "sc.h"
#include "slot.h"

#define MAX_NODES 4
#define MAX_THREADS 6		/* in all */
#define MAX_PAGES 2
#define MAX_KEYS 2		/* of each kind */
#define MAX_FLUSHERS 2		/* per node */
#define MAX_FLYING 64		/* messages under way */
#define MAX_XFERS 48		/* transfers under way */
#define MAX_SIGNALS 32		/* signals under way */
#define MAX_GRAMS 64		/* parts of multicasts under way */
#define MAX_STEPS 6000		/* of one run; more counts as "goes on for ever" */
#define MAX_WRITES 160		/* remembered per byte */
#define MAX_EPISODES 40
#define REGS 4

/* ---- programs ---- */

enum op_kind {
	OP_END,
	OP_LOAD,	/* r[v] = byte b of page a */
	OP_STORE,	/* byte b of page a = v */
	OP_STORE_REG,	/* byte b of page a = r[0] + v */
	OP_LOCK,	/* lock a */
	OP_TRY,		/* trylock a; on failure skip v operations */
	OP_TIMED,	/* lock a with a time limit; on failure skip v operations */
	OP_UNLOCK,
	OP_BARRIER,	/* barrier a, b parties */
	OP_SET,		/* flag a */
	OP_WAIT,
	OP_CLEAR,
	OP_RELEASE,	/* bare release */
	OP_ACQUIRE,	/* bare acquire */
	OP_EARLY,	/* start a release, do not wait (twin pool low) */
	OP_PREFETCH,	/* fault page a for reading without waiting */
	OP_AHEAD,	/* fetch all pages ahead */
	OP_AROUND,	/* map what is readable, as a fault does along */
	OP_UNCLAIM,	/* what this node homes is to be claimed anew */
	OP_TELL,	/* through pipe a, outside dsm */
	OP_HEAR,
	OP_PIN,		/* page a becomes the target of a DMA */
	OP_DMA,		/* the DMA stores v to byte b of page a */
	OP_UNPIN,
	OP_STILL,	/* this node has all pages: nobody is to be asked for one any more */
	OP_MISS,	/* an episode of barrier a without this thread */
	OP_LOOP,	/* a more times: back to operation b */
	OP_ADD,		/* r[v] = byte b of page a, which becomes one more, in one atomic access */
	OP_ACROSS,	/* one store of v to the last byte of page 0 and the first of page 1 */
	OP_IF,		/* if r[a] == v: on to operation b */
	OP_IF_REGS,	/* if r[a] == r[v]: on to operation b */
	OP_LOOK,	/* begin of a spin loop */
	OP_SPIN,	/* back to operation b, once anything that this node sees is another since OP_LOOK */
};

struct op {
	u8 kind;
	u8 a;
	u8 b;
	s8 v;
};

#define LOAD(p, byte, reg) { OP_LOAD, p, byte, reg }
#define STORE(p, byte, val) { OP_STORE, p, byte, val }
#define INC(p, byte) { OP_LOAD, p, byte, 0 }, { OP_STORE_REG, p, byte, 1 }
#define LOCK(l) { OP_LOCK, l, 0, 0 }
#define TRY(l, skip) { OP_TRY, l, 0, skip }
#define TIMED(l, skip) { OP_TIMED, l, 0, skip }
#define UNLOCK(l) { OP_UNLOCK, l, 0, 0 }
#define BARRIER(k, parties) { OP_BARRIER, k, parties, 0 }
#define SET(f) { OP_SET, f, 0, 0 }
#define WAIT(f) { OP_WAIT, f, 0, 0 }
#define CLEAR(f) { OP_CLEAR, f, 0, 0 }
#define RELEASE { OP_RELEASE, 0, 0, 0 }
#define ACQUIRE { OP_ACQUIRE, 0, 0, 0 }
#define EARLY { OP_EARLY, 0, 0, 0 }
#define PREFETCH(p) { OP_PREFETCH, p, 0, 0 }
#define AHEAD { OP_AHEAD, 0, 0, 0 }
#define AROUND { OP_AROUND, 0, 0, 0 }
#define UNCLAIM { OP_UNCLAIM, 0, 0, 0 }
#define TELL(k) { OP_TELL, k, 0, 0 }
#define HEAR(k) { OP_HEAR, k, 0, 0 }
#define PIN(p) { OP_PIN, p, 0, 0 }
#define DMA(p, byte, val) { OP_DMA, p, byte, val }
#define UNPIN(p) { OP_UNPIN, p, 0, 0 }
#define STILL { OP_STILL, 0, 0, 0 }
#define MISS(k) { OP_MISS, k, 0, 0 }
#define LOOP(more, to) { OP_LOOP, more, to, 0 }
#define ADD(p, byte, reg) { OP_ADD, p, byte, reg }
#define ACROSS(val) { OP_ACROSS, 0, DSM_PAGE_BYTES - 1, val }
#define IF(reg, val, to) { OP_IF, reg, to, val }
#define IF_REGS(reg, other, to) { OP_IF_REGS, reg, to, other }
#define LOOK { OP_LOOK, 0, 0, 0 }
#define SPIN(to) { OP_SPIN, 0, to, 0 }

#define LITMUS_FIRST_TOUCH 0x01u	/* home=first-touch */
#define LITMUS_KILL 0x02u		/* one thread may be killed at any point */
#define LITMUS_QUIET 0x04u		/* ends in a barrier of all: I28 holds at the end */
#define LITMUS_ERRORS 0x08u		/* calls may fail (a thread is killed, a node is lost) */
#define LITMUS_CRASH 0x10u		/* one node may be lost at any point */
#define LITMUS_WALK_ONLY 0x20u		/* too long for the systematic search */
#define LITMUS_INSIDE 0x80u		/* kills only hit threads that wait in a barrier or for a flag */
#define LITMUS_LAST 0x400u		/* kills only hit threads in their last operation */
#define LITMUS_SMALL_LOG 0x40u		/* always with a tiny log */
#define LITMUS_READ 0x100u		/* fetch=read */
#define LITMUS_RDMA 0x800u		/* sync=rdma */
#define LITMUS_ARRAY 0x4000u		/* sync=rdma,algo=array */
#define LITMUS_UNTOLD 0x200u		/* pages that nobody told of are zero */
#define LITMUS_SC 0x2000u		/* consistency=sc: the history of all accesses is to be sequentially consistent */
#define LITMUS_CSM 0x10000u		/* consistency=cashmere */
#define LITMUS_MIGRATE 0x20000u		/* and home=migrate */
#define LITMUS_MOVES 0x40000u		/* homes may move */
#define LITMUS_DIR 0x80000u		/* and metadata=rdma */
#define LITMUS_AT_BARRIER 0x100000u	/* home=migrate@barrier */
#define LITMUS_BCAST 0x200000u		/* bcast=adaptive */
#define LITMUS_HOLD 0x400000u		/* the bytes of pages leave their homes once pipe 3 was told */
#define LITMUS_HALVES 0x8000u		/* READs that begin after pipe 2 was told take their second halves once pipe 3 was */
#define LITMUS_MORE 0x800000u		/* only in deep runs, and when its turn has come */
#define LITMUS_ORDERED 0x1000000u	/* consistency=sc: what is synchronised is in that order too */
#define LITMUS_MIXED 0x2000000u		/* with LITMUS_SC: that is page 1 only, in a region of its own */
#define LITMUS_GOES 0x4000000u		/* at the end the region is removed */
#define LITMUS_PART 0x8000000u		/* two nodes may lose each other at any point, and be reached by the others */
#define LITMUS_PARTS 0x10000000u	/* with LITMUS_PART: twice, and both times not the manager of lock 0 */
#define LITMUS_PULLED 0x20000000u	/* with LITMUS_CRASH: only who is just asked for what it knows */
#define LITMUS_LAZY 0x40000000u		/* with LITMUS_CSM: notices=lazy */
#define LITMUS_FAIR 0x1000u		/* ends only if the scheduler is fair, and by chance: most runs have to; with LITMUS_WALK_ONLY */

/* What a program is about and has to happen in some of its walks: if it never does, that the program passes says nothing. */
#define REACH_GRANT 0x01u	/* a waiter gets a lock */
#define REACH_LATE 0x02u	/* a waiter gives up when what it waits for has happened */
#define REACH_DEAD 0x04u	/* a lock is given on whose holder was killed */
#define REACH_SLOT 0x08u	/* a lock is taken in its slot */
#define REACH_TRIED 0x10u	/* a try succeeds */
#define REACH_REFUSED 0x20u	/* a try is refused */
#define REACH_TURN 0x40u	/* a node hands a lock on within itself while another node waits */
#define REACH_MOVE 0x80u	/* a page gets another home */
#define REACH_NACK 0x100u	/* a node that is not home is asked for a page */
#define REACH_BACK 0x200u	/* a diff comes to a node that is not home any more */
#define REACH_DONE 0x400u	/* an atomic of unknown outcome has taken place */
#define REACH_UNDONE 0x800u	/* an atomic of unknown outcome has not taken place */
#define REACH_NEWER 0x1000u	/* a reader sees a location change */
#define REACH_FIRST 0x2000u	/* a reader sees the first writer's store alone */
#define REACH_SECOND 0x4000u	/* another reader sees the second writer's store alone */
#define REACH_BETWEEN 0x8000u	/* a page gets a new version between the halves of a READ */
#define REACH_ASUNDER 0x10000u	/* a lock's token is under way between two nodes that lose each other */

/**
 * struct litmus - one test program
 * @name:   as in protocol.md 5.2
 * @nodes:  machines
 * @thread: programs; node of thread i is @node_of[i]
 * @final:  NULL, or says what is wrong with the outcome
 * @reach:  REACH_*
 */
struct litmus {
	const char *name;
	u8 nodes;
	u8 threads;
	u8 node_of[MAX_THREADS];
	u32 flags;
	const struct op *thread[MAX_THREADS];
	const char *(*final)(void);
	u32 reach;
};
extern const struct litmus litmus_list[], litmus_sc_list[];
extern const u32 litmus_count, litmus_sc_count;
extern const struct litmus litmus_moves_list[];
extern const u32 litmus_moves_count;
extern struct litmus litmus_csm_list[];
extern u32 litmus_csm_count;
void litmus_csm_init(void);

/**
 * struct setting - what is the same during a run and is not chosen by the scheduler
 * @home:       home (or first-touch manager) of each page
 * @lock_at, @barrier_at, @flag_at, @sync_at: managers
 * @log_cap, @lock_cap: limits of the engine
 * @late_dma:   a page reply's bytes are read when the message leaves, not when it is made
 * @own_mm:     threads of a node have page tables of their own
 * @batch:      pages a flusher takes at once
 * @flushers:   per node
 * @first_touch: home policy
 * @pipe:       packs of diffs under way per home; 0: diff=orig
 * @lone_records: every record makes a pack
 * @fast:       threads take and give back locks in slots if they can
 * @keep:       intervals in a row that wrote a page before it keeps its twin, 0: never
 * @diffpath:   enum dsm_diffpath; written once the home has registered its pages
 * @fetch:      enum dsm_fetch; by READ once the home has registered its pages
 * @rdma:       sync=rdma
 * @untold:     regions are known from before their first use
 * @hasty:      recalls per node that do not wait until the page was used
 * @fanout:     of barriers
 * @predict:    home=migrate: predict=on
 * @live:       merge=live: 1; 2: and nobody has the patience to wait for it
 */
struct setting {
	u8 home[MAX_PAGES];
	u8 lock_at[MAX_KEYS];
	u8 barrier_at[MAX_KEYS];
	u8 flag_at[MAX_KEYS];
	u8 sync_at;
	u32 log_cap;
	u32 lock_cap;
	bool late_dma;
	bool own_mm;
	u8 batch;
	u8 flushers;
	bool first_touch;
	u8 pipe;
	bool lone_records;
	bool fast;
	u8 diffpath;
	u8 keep;
	u8 fetch;
	bool untold;
	bool rdma;
	u8 hasty;
	u8 fanout;
	bool predict;
	u8 live;
};

/* ---- world ---- */

/* A vector clock over all threads: what happened before. */
struct clock {
	u16 at[MAX_THREADS];
};

enum thread_state {
	TS_OP,		/* at an operation, or about to access memory */
	TS_FAULT,	/* in the fault handler: ask for the right */
	TS_PAGE_WAIT,	/* the engine said wait */
	TS_PAGE_LOCK,	/* right granted: take the page lock, look again */
	TS_INSTALL,	/* page lock held: install the entry */
	TS_TAKE,	/* a slot's word was read: exchange it */
	TS_GIVE,
	TS_BLOCKED,	/* a struct dsm_waiter of this thread is with the engine */
	TS_REL_DONE,	/* release done, second half of the operation */
	TS_ACQ,		/* acquire: begin */
	TS_ACQ_NEXT,
	TS_ACQ_MERGE,	/* ask for pages that stay mapped while they are merged */
	TS_ACQ_INVAL,	/* invalidate all pages, one after the other */
	TS_ACQ_LOCK,	/* take and drop the page lock of each page */
	TS_ACQ_ZAP,	/* remove the entries */
	TS_ACQ_LIVE,	/* wait until they are merged */
	TS_ACQ_END,
	TS_FORGET,	/* ask one node after the other to forget that this one is a home */
	TS_FORGOTTEN,	/* until what they wrote before is acknowledged; then mark what is to be claimed anew */
	TS_DYING,	/* killed: locks held are given up */
	TS_DONE,
};

enum block_kind { BLOCK_LOCK, BLOCK_REL, BLOCK_BARRIER, BLOCK_FLAG, BLOCK_SYNC, BLOCK_TURN };

struct thread {
	struct dsm_waiter w;
	const struct op *prog;
	u16 pc;
	u8 id;
	u8 node;
	u8 mm;
	u8 state;
	u8 block;
	bool woken;
	bool killed;
	bool mkwrite;		/* the fault came from a read-only entry */
	u8 at;			/* page that is accessed, or missing */
	u64 seen;		/* what the node saw at OP_LOOK */
	bool looping;
	u8 loops;
	u8 want;
	s8 reg[REGS];
	u16 read[MAX_PAGES][DSM_PAGE_BYTES];	/* store that it read last, plus one */
	u64 bucket_seq;
	struct dsm_page *out[MAX_PAGES + DSM_NOTICES_PER_RECORD];
	struct dsm_page *live[MAX_PAGES + DSM_NOTICES_PER_RECORD];
	int n_out;
	int i_out;
	int n_live;
	u64 target[MAX_NODES];	/* releases of before, at each node that forgets */
	bool more;
	int status;
	u8 episode[MAX_KEYS];
	struct clock clock;
	u64 word;		/* as read from the slot */
	u64 self;		/* a word that says this thread holds it, without generation */
	u32 stamp;
};

enum flusher_state { FS_IDLE, FS_LOCK, FS_WALK, FS_DOWN, FS_DIFF, FS_TELL };

struct flusher {
	struct dsm_page *page[MAX_PAGES];
	struct dsm_pack pack;
	u8 n;
	u8 i;
	u8 told;
	u8 state;
	bool diff[MAX_PAGES];
	bool keep[MAX_PAGES];
	bool kept[MAX_PAGES];
	bool changed[MAX_PAGES];
	bool lent[MAX_PAGES];
	bool alone[MAX_PAGES];
	struct dsm_direct direct;
	u32 stamp;
};

enum recaller_state { RS_IDLE, RS_LOCK, RS_WALK, RS_DOWN };

struct recaller {
	struct dsm_page *page;
	struct dsm_request *q;
	u8 state;
	u8 hasty;		/* left of the setting's */
	u32 stamp;
};

enum goes_state { GS_OPEN, GS_CLOSING, GS_GONE, GS_FREED };

struct node {
	struct dsm_engine e;
	struct dsm_space space;
	struct dsm_space second;	/* LITMUS_MIXED: region of page 1 */
	struct hlist_head *tables;
	struct dsm_slots slots;
	struct dsm_slot slot[DSM_SLOTS];
	struct dsm_page page[MAX_PAGES];
	bool exists[MAX_PAGES];
	u8 *frame[MAX_PAGES];
	u8 pte[2][MAX_PAGES];		/* enum dsm_page_right, by page table */
	u8 lock_of[MAX_PAGES];		/* page lock: 0 or thread id + 1 */
	u8 walks[MAX_PAGES];		/* walks that will come over this page */
	u8 pins[MAX_PAGES];
	u64 bucket_seq[64];
	struct flusher flusher[MAX_FLUSHERS];
	struct recaller recaller;
	u8 goes;			/* enum goes_state */
	u32 goes_stamp;
	u32 zaps;
	bool flush;
	bool run;
	u32 run_stamp;
	u32 retry_stamp;
	u32 expire_stamp;
	bool dead;
	u8 cut;				/* bitmap: nodes that live, and that it loses */
	u8 lost;			/* bitmap: nodes it was told are lost */
	u8 gone;			/* that net has given up: nothing reaches them, whether it was told or not */
	u8 loses;			/* of these the one that it is being told of */
	int losing;			/* step of that, -1 none */
	u32 lose_stamp;
	bool registered;		/* peers may read its pages */
	u32 register_stamp;
	u8 keys;			/* bitmap: nodes that told of their registration */
	u64 last_need[MAX_PAGES];
	u64 last_ver[MAX_PAGES];
	u64 last_known;
	u8 asked[MAX_PAGES][DSM_HDR_BYTES + sizeof(struct dsm_wire_fetch)];	/* fetches with a sink */
};

/* A message under way. */
struct flying {
	struct dsm_msgbuf *m;
	u32 id;
	u8 src;
	bool posted;		/* the frame's bytes were not read yet */
	u32 stamp;
	u64 digest;		/* 0: not known */
};

#define PIECES 2

/* A READ under way: each segment is taken in pieces, in any order, some of them twice. */
struct reading {
	struct dsm_xfer *x;
	u32 id;
	u8 node;
	u8 left;		/* bitmap of pieces not taken yet: segment * PIECES + piece */
	bool again;		/* one piece may be taken again: a lost packet */
	bool halved;		/* LITMUS_HALVES */
	u64 ver[MAX_PAGES];	/* of the pages at their home when their first halves were read */
	u32 stamp;
	u32 done_stamp;
};

/* A signal whose bytes are there. */
struct signal {
	u32 imm;
	u32 id;
	u8 from;
	u8 to;
	u32 stamp;
};

#define GRAM_BYTES (40 + DSM_PAGE_BYTES)

/* A part of a multicast on its way to a node. */
struct gram {
	u32 id;
	u8 to;
	bool again;		/* it was there once */
	u32 len;
	u8 data[GRAM_BYTES];
	u32 stamp;
};

struct write {
	u8 thread;
	s8 value;
	u16 at;
	struct clock clock;
};

struct oracle {
	struct write write[MAX_PAGES][DSM_PAGE_BYTES][MAX_WRITES];
	u16 writes[MAX_PAGES][DSM_PAGE_BYTES];
	struct clock lock[MAX_KEYS], flag[MAX_KEYS], sync, barrier[MAX_KEYS][MAX_EPISODES];
	u8 arrived[MAX_KEYS][MAX_EPISODES];
	u8 holder[MAX_KEYS];		/* thread id + 1 */
	bool dead_holder[MAX_KEYS];
	bool set[MAX_KEYS];
	/* numbers given out by homes, as seen in acknowledgements, closes and interval records */
	u8 noticed[MAX_PAGES][256];
	bool log_trimmed;
	u32 sections[MAX_THREADS];
	u32 node_sections[MAX_KEYS][MAX_NODES];
	u32 overdue_from[MAX_KEYS][MAX_NODES];	/* sections + 1 when another node's turn came; 0: none waits */
	bool lost_page[MAX_PAGES];
	bool raced;			/* two stores to a byte, neither of which happened before the other */
	u8 has_all;			/* bitmap: nodes that have read all pages, see OP_STILL */
	bool asked_again;
	u8 home_at[MAX_PAGES];		/* node + 1 */
	/* home=migrate: see check_moves() */
	u8 moves_in_row[MAX_PAGES];
	u8 most_moves;
	u16 moves[MAX_PAGES];
	u16 moves_when_asked[MAX_NODES][MAX_PAGES];
	u8 nacks[MAX_NODES][MAX_PAGES];
	u8 most_nacks;			/* of one question, beyond the moves since it was asked */
};

enum act_kind { ACT_THREAD, ACT_FLUSHER, ACT_RUN, ACT_READ, ACT_DELIVER, ACT_LOSE, ACT_REGISTER, ACT_PIECE,
		ACT_XFER_DONE, ACT_SIGNAL, ACT_RETRY, ACT_RECALL, ACT_GOES, ACT_GRAM, ACT_EXPIRE, ACT_ENV_TIMEOUT, ACT_ENV_KILL, ACT_ENV_CRASH, ACT_ENV_PART,
		ACT_ENV_DROP, ACT_ENV_BREAK };

struct act {
	u8 kind;
	u8 a;
	u8 b;
	u32 id;			/* the same for the same agent during a run */
	u32 *stamp;
};

#define MAX_ACTS (MAX_THREADS + MAX_NODES * (MAX_FLUSHERS + 6 + 2 * MAX_NODES + MAX_PAGES) + MAX_FLYING * 2 + 2 * MAX_GRAMS + 2 * MAX_THREADS + MAX_NODES + \
		  MAX_XFERS * (MAX_PAGES * PIECES + 2) + MAX_SIGNALS)

struct world {
	const struct litmus *l;
	struct setting set;
	struct node node[MAX_NODES];
	struct thread thread[MAX_THREADS];
	struct flying flying[MAX_FLYING];
	u32 n_flying;
	struct reading reading[MAX_XFERS];
	u32 n_reading;
	struct signal signal[MAX_SIGNALS];
	u32 n_signals;
	struct gram gram[MAX_GRAMS];
	u32 n_grams;
	u32 next_msg;
	u32 next_stamp;
	u32 idx_of[MAX_PAGES];		/* page index within the region */
	u64 lock_key[MAX_KEYS], barrier_key[MAX_KEYS], flag_key[MAX_KEYS];
	bool pipe[4];
	bool killed;			/* the one kill of this run has happened */
	int crashed;			/* node that crashed, -1 none */
	u8 parted;			/* pairs of nodes that lose each other */
	bool loss;			/* any of these */
	u8 handled;			/* type of the message being handled, 0: none */
	u8 handled_class;
	u32 steps;
	u32 changed;			/* bitmap: nodes that may have another state than when it was seen last */
	u64 words_digest;		/* of all that atomics and transfers of records have changed */
	bool verbose;
	bool data_only;			/* look at what programs read, not at invariants */
	u32 reached;			/* REACH_*, of all runs so far */
	struct oracle o;
};
extern struct world w;

static inline void reach(u32 what)
{
	w.reached |= what;
}

extern char fail_reason[400];
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);
const char *thread_name(const struct thread *t);
const char *page_state_name(u8 state);

/* world.c */
void world_init(void);
void world_start(const struct litmus *l, const struct setting *s);
void world_gives(const struct node *n, enum dsm_pool_kind kind, int more);
u32 world_given(const struct node *n, enum dsm_pool_kind kind);
void step_begin(struct node *n, struct dsm_actions *acts);
void step_end(struct node *n, struct dsm_actions *acts);
bool page_is_sc(u32 p);
bool page_has(struct node *n, u32 p, u32 region, u32 idx);
struct dsm_page *touch_page(struct node *n, u32 p, bool frame);
u32 page_number(const struct dsm_page *p);
void zap(struct node *n, u32 p);
void wrprotect(struct node *n, u32 p);
static inline u32 node_id(const struct node *n)
{
	return n - w.node;
}

/* What @n sends to @node, or reads there, need not arrive. */
static inline bool is_cut(const struct node *n, u32 node)
{
	return w.crashed == (int)node || n->cut >> node & 1;
}

/* messages.c */
const char *message_name(u8 type);
void post(struct node *n, struct dsm_msgbuf *m);
struct dsm_msgbuf *msg_alloc(struct node *n);
void flying_read(u32 i);
void flying_deliver(u32 i);
void flying_forget(u32 i);
void flying_free(struct dsm_msgbuf *m, u32 src);
void letter_open(struct node *n, u32 from, const u8 *letter, u32 len);

/* reads.c */
struct dsm_xfer *xfer_alloc(struct node *n);
void xfers_reset(void);
void xfer_post(struct node *n, struct dsm_xfer *x);
void reading_piece(u32 i, u32 piece);
void reading_done(u32 i, int status);
void register_pages(struct node *n);

/* atomics.c */
void atomics_start(struct node *n);
void atomics_post(struct reading *r);
bool atomics_do(const struct dsm_xfer *x);
u64 atomics_dir_word(u32 manager, u32 idx);
bool atomics_enabled(u32 i);
bool atomics_may_be_doubted(const struct reading *r);
void atomics_piece(u32 i, u32 piece);
void atomics_signal(const struct reading *r);
void atomics_check_idle(struct node *n);
void signal_deliver(u32 i);
void array_retry(struct node *n);
void signals_forget(int from, int to);

/* bcast.c */
void bcast_start(struct node *n);
void bcast_post(struct node *n, struct dsm_msgbuf *m);
void gram_deliver(u32 i);
void gram_forget(u32 i);
bool bcast_waits(const struct node *n);
void bcast_expire(struct node *n);

/* flusher.c */
bool flusher_enabled(const struct node *n, const struct flusher *f);
void flusher_step(struct node *n, struct flusher *f);

bool is_pinned(struct node *n, u32 p);

/* recaller.c */
bool recaller_enabled(struct node *n, u32 p);
void recaller_step(struct node *n, u32 p);
u64 recaller_view(const struct thread *t);

/* goes.c */
bool goes_enabled(const struct node *n);
void goes_step(struct node *n);
bool goes_too_late(const struct node *n, const struct dsm_msgbuf *m);
void goes_check(const struct node *n);

/* history.c */
void history_reset(void);
void history_load(struct thread *t, u32 p, u32 byte, s8 value);
void history_store(struct thread *t, u32 p, u32 byte, s8 value);
void history_add(struct thread *t, u32 p, u32 byte, s8 value);
void history_check(void);

/* thread.c */
bool thread_enabled(const struct thread *t);
void thread_step(struct thread *t);
bool thread_can_time_out(const struct thread *t);
void thread_time_out(struct thread *t);
bool thread_can_be_killed(const struct thread *t);
void thread_kill(struct thread *t);

/* crash.c */
void crash_node(u32 node);
void part_nodes(u32 one, u32 other);
bool lose_enabled(const struct node *n, u32 node);
void lose_step(struct node *n, u32 node);

/* oracle.c */
bool oracle_wrote(u32 node, u32 p);
void oracle_store(struct thread *t, u32 p, u32 byte, s8 value);
void oracle_load(struct thread *t, u32 p, u32 byte, s8 value);
void clock_join(struct clock *to, const struct clock *from);
void oracle_tick(struct thread *t);

/* check.c, check_sc.c, check_csm.c */
void check_homes(void);
void check_csm_step(void);
void check_csm_end(struct node *n);
u32 check_csm_requests(const struct node *n);
u32 list_length(const struct list_head *head);
void check_step(void);
void check_sc_step(void);
void check_sc_end(struct node *n, u32 p);
u32 check_sc_requests(const struct node *n);
void check_end(void);
void check_acquired(struct node *n);
bool message_in_flight(u32 src, u32 dst, u8 type, u64 key, int state);

/* check_sent.c */
void check_sent(const struct node *n, const struct dsm_msgbuf *m);
void check_asked(const struct node *n);
void check_diff(struct node *n, struct dsm_page *p, const u8 *record, int bytes, bool keep, const u8 *twin);

/* states.c */
u64 states_hash(const void *bytes, u32 len, u64 h);
void states_word(const void *at, const void *bytes, u32 len);

/* explore.c */
u32 world_actions(struct act *acts, u32 *n_env);

#endif
