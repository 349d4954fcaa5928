/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The shell's own header: a node, and what the files of the shell (node, region, flush, sync,
 * member) share. ctl sees node.h only. All state is a node's, but for what is the machine's: slab caches
 * (node.c, pages.c), how long waits took and who spins (spin.c), what users hold (quota.c), whose processes have
 * which region (process.c), operations without a thread (async.c), debug commands (xfertest.c); in net the limits of
 * mechanisms (tune.c), the list of transports (net.c) and a workqueue (cq.c); in ctl the minor numbers and directories.
 *
 * Locks, outermost first: dsm_node.making (mutex), dsm_node.net_lock (rwsem), dsm_node.regions_lock (mutex), page lock
 * (kernel's), dsm_node.lock (the engine lock, a spinlock). None is held across a send, a
 * network wait or a copy to user.
 */
#ifndef DSM_SHELL_H
#define DSM_SHELL_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "core/engine.h"
#include "net/transport.h"
#include "node.h"

#define DSM_PAGE_QUEUES 64	/* as many as dsm_page_bucket() gives */

enum dsm_membership { DSM_MEMBER_NONE, DSM_MEMBER_JOINING, DSM_MEMBER_JOINED, DSM_MEMBER_LEAVING };

/* What the shell counts itself; the core has its own. */
struct dsm_shell_stats {
	atomic64_t diff_bytes, acquires, ns_protocol, ns_wait_lock, ns_wait_barrier, ns_wait_flag,
		ns_wait_page, ns_wait_page_lock;
	atomic64_t ns_wait_release, ns_message, ns_message_wait, invalid_msgs, requests_refused, chunks,
		direct_pages, direct_runs;
	/* Fault counts of regions that are gone. */
	atomic64_t old_faults_read, old_faults_write, old_sigbus, old_wrprotect_runs, old_zap_runs;
};

/* Count for a region and for its node. */
#define dsm_shell_count(region, what, many) do {				\
	struct dsm_region *_r = (region);					\
	u64 _n = (many);							\
										\
	atomic64_add(_n, &_r->node->stats.what);				\
	atomic64_add(_n, &_r->counts.what);					\
} while (0)

/**
 * struct dsm_peer_record - what is remembered of a node
 * @state:  enum dsm_node_state
 * @addr:   listening address
 * @reason: why it was lost
 */
struct dsm_peer_record {
	u16 state;
	struct sockaddr_in addr;
	char reason[64];
};

/**
 * struct dsm_calls - control.c: this node's requests to others, and theirs to it
 * @lock:     guards @list
 * @list:     calls that were not answered yet
 * @next_xid: id of the last one
 * @waiting:  requests of each node that this one has not answered yet
 */
struct dsm_calls {
	spinlock_t lock;
	struct list_head list;
	atomic_t next_xid;
	atomic_t waiting[DSM_MAX_NODES];
};

/**
 * struct dsm_turns - turns.c: who joins; touched on the ordered workqueue and when a peer is lost
 * @lock:    guards the rest
 * @joiner:  whose turn it is, or DSM_NO_NODE
 * @joiners: requests of those who wait for a turn
 * @held:    requests that wait for the end of this one
 * @over:    ends a turn that takes too long
 */
struct dsm_turns {
	spinlock_t lock;
	u16 joiner;
	struct list_head joiners;
	struct list_head held;
	struct delayed_work over;
};

/**
 * struct dsm_alarm - work at some time
 * @timer: queues @work
 * @work:  does it
 * @queue: runs @work
 */
struct dsm_alarm {
	struct hrtimer timer;
	struct work_struct work;
	struct workqueue_struct *queue;
};

/**
 * struct dsm_node - a participant of the protocol; mostly the one of this machine
 * @number:    which of this module's nodes it is; not its id in the cluster
 * @suffix:    what its devices and queues have behind "dsm"
 * @lock:      the engine lock: guards @engine and every struct dsm_page
 * @engine:    protocol state
 * @tables:    its hash heads
 * @net:       valid from joining to leaving; who is not part of the membership (status,
 *             counters) reads it under @net_lock
 * @net_lock:  writers set or clear @net, or change @counted; readers keep @net alive
 * @counted:   bitmap of peers whose traffic is read off the transport; that of all others
 *             is in @old_traffic; guarded by @net_lock
 * @old_traffic: what peers counted that are gone, by enum dsm_stat; guarded by @net_lock
 * @state:     enum dsm_membership; changed by compare-and-exchange
 * @membership: how many have ended, or came to nothing; changed while leaving
 * @last_region: highest region id ever seen; guarded by @regions_lock
 * @joined:    bitmap of members that finished joining; guarded by @lock
 * @unlucky:   numbers with which the last who had them did not get in: given out when no other is left; under @lock
 * @listed:    members by the coordinator's latest list, also those not up here yet; under @lock
 * @inviter:   coordinator of the cluster that is being joined; DSM_NO_NODE before
 * @peers:     by id; guarded by @lock
 * @regions:   struct dsm_region by id
 * @regions_lock: serialises changes of @regions and the making of lock tables, and a region's counters' move to @stats
 * @making:    held while a region appears, and while its device file goes
 * @losing:    held while locks, barriers and flags are told that a peer is lost: of one peer after the other
 * @page_queues: threads waiting for a page, by dsm_page_bucket()
 * @room:      threads that need a twin more than there may be
 * @changed:   woken when membership changes, or @wishing is 0
 * @wishing:   callers that make regions or remove them
 * @flush_wq:  runs @flush_work
 * @control_wq: control requests that only look and apply
 * @register_wq: registers chunks
 * @coordinator_wq: ordered: control requests that decide
 * @flush_work: writes back what releases that no thread drives have to flush
 * @calls:     see there
 * @turns:     see there
 * @arrivals:  threads inside barriers, struct arrival of sync.c
 * @arrivals_lock: guards @arrivals
 * @recall:    gives up pages that are recalled, when their hold is over
 * @loss: number of the last node that was lost or has left
 * @lost_at: by node: its last such number; under @lock
 * @told_lost: pages of which dsm_recall_lost() told, which runs for one peer at a time
 * @rsync:     memory of rsync.c, set once while the node is a member; guarded by @rsync_lock
 * @rsync_lock: see there
 * @rsync_retry: of pauses between attempts to get locks with algo=array; armed while there is @rsync
 * @bcast:     memory of bcast.c, likewise; guarded by @bcast_lock
 * @bcast_lock: see there
 * @bcast_expire: looks who has waited long enough; armed while there is @bcast
 * @hole:      an empty page that stands for other nodes' pages in a registered chunk
 * @pinned_pages: pages in registered chunks
 * @stats:     counters of the shell, since the module was loaded
 */
struct dsm_node {
	u32 number;
	char suffix[12];
	spinlock_t lock;
	struct dsm_engine *engine;
	struct hlist_head *tables;
	struct dsm_net *net;
	struct rw_semaphore net_lock;
	u64 counted;
	u64 old_traffic[DSM_STAT_COUNT];
	atomic_t state;
	u32 membership;
	u32 last_region;
	u64 joined;
	u64 unlucky;
	u64 listed;
	u16 inviter;
	struct dsm_peer_record peers[DSM_MAX_NODES];
	struct xarray regions;
	struct mutex regions_lock;
	struct mutex making;
	struct mutex losing;
	wait_queue_head_t page_queues[DSM_PAGE_QUEUES];
	wait_queue_head_t room;
	wait_queue_head_t changed;
	atomic_t wishing;
	struct workqueue_struct *flush_wq;
	struct workqueue_struct *control_wq;
	struct workqueue_struct *register_wq;
	struct workqueue_struct *coordinator_wq;
	struct work_struct flush_work;
	struct dsm_calls calls;
	struct dsm_turns turns;
	struct list_head arrivals;
	spinlock_t arrivals_lock;
	struct dsm_alarm recall;
	u64 loss, lost_at[DSM_MAX_NODES];
	u64 told_lost;
	struct dsm_rsync_area *rsync;
	struct mutex rsync_lock;
	struct dsm_alarm rsync_retry;
	struct dsm_bcast *bcast;
	struct mutex bcast_lock;
	struct dsm_alarm bcast_expire;
	struct page *hole;
	atomic_long_t pinned_pages;
	struct dsm_shell_stats stats;
};

/* Node of a page's region. */
static inline struct dsm_node *dsm_page_node(const struct dsm_page *p)
{
	struct dsm_region *r = p->space->shell;

	return r->node;
}

/**
 * struct dsm_wait - somebody waiting for the engine
 * @w:    the engine's part
 * @done: completed when the engine is through with it, if @wake is NULL
 * @wake: called then, without a lock; @w may be gone on return
 */
struct dsm_wait {
	struct dsm_waiter w;
	struct completion done;
	void (*wake)(struct dsm_wait *wait);
};

static inline u64 dsm_now_ns(void)
{
	return ktime_get_ns();
}

/* ---- step.c ---- */
void dsm_wait_init(struct dsm_wait *wait);
/* What steps take their objects from; of all nodes. */
int dsm_pools_init(void);
void dsm_pools_exit(void);
/* Give back what lies idle beyond what steps need. */
void dsm_pools_trim(struct dsm_node *n);
/* There will be no more steps. */
void dsm_pools_drain(struct dsm_node *n);
/* Take the engine lock with full pools. */
u64 dsm_step_begin(struct dsm_node *n, struct dsm_actions *acts) __acquires(&n->lock);
/* Drop it and carry out the actions. */
void dsm_step_end(struct dsm_node *n, struct dsm_actions *acts) __releases(&n->lock);
/* The same, but flush work is left to the caller, who calls dsm_flush_run() at once. */
void dsm_step_end_flushing(struct dsm_node *n, struct dsm_actions *acts) __releases(&n->lock);
int dsm_node_recv(void *ctx, u16 node, enum dsm_class class, const u8 *msg, u32 len);
void dsm_node_peer_up(void *ctx, u16 self, u16 node, const struct sockaddr_in *addr);
void dsm_node_peer_lost(void *ctx, u16 node, const char *reason, int err);
void dsm_engine_start(struct dsm_node *n);
void dsm_engine_stop(struct dsm_node *n);

/* ---- recall.c: pages of regions with consistency=sc ---- */
void dsm_recall_run(struct dsm_node *n, const struct dsm_actions *acts);
void dsm_recall_lost(struct dsm_node *n, u16 node);
void dsm_recall_waiting(struct dsm_page *p, int add);
void dsm_recall_init(struct dsm_node *n);
void dsm_recall_stop(struct dsm_node *n);

/* ---- alarm.c ---- */
void dsm_alarm_init(struct dsm_alarm *a, struct workqueue_struct *queue, work_func_t work);
void dsm_alarm_set(struct dsm_alarm *a, u64 at_ns);
void dsm_alarm_stop(struct dsm_alarm *a);

/* ---- pages.c ---- */
int dsm_pages_init(void);
void dsm_pages_exit(void);
void dsm_shell_page_free(struct dsm_page *p);
struct dsm_page *dsm_shell_page(struct dsm_region *r, u32 idx, bool frame);
struct dsm_page *dsm_shell_page_served(struct dsm_region *r, u32 idx, bool frame);
struct dsm_page *dsm_shell_page_spare(struct dsm_region *r, u32 idx);

/* ---- process.c: regions with level=1 ---- */
int dsm_process_enter(struct dsm_region *r);
void dsm_process_leave(struct dsm_region *r);

/* ---- quota.c ---- */
int dsm_quota_charge(kuid_t uid);
void dsm_quota_uncharge(kuid_t uid);

/* ---- slots.c ---- */
void dsm_slots_free(struct dsm_region *r);
u64 dsm_slots_locks(const struct dsm_region *r);

/* ---- observe.c ---- */
void dsm_observe_message(u16 from, const u8 *msg, u32 len);

/* ---- spin.c ---- */
enum dsm_spin_kind {
	DSM_SPIN_PAGE,	/* by message */
	DSM_SPIN_READ,
	DSM_SPIN_AHEAD,
	DSM_SPIN_RELEASE,
	DSM_SPIN_ANSWER,
	DSM_SPIN_LOCK,
	DSM_SPIN_BARRIER,
	DSM_SPIN_FLAG,
	DSM_SPIN_KINDS,
};
bool dsm_spin(struct dsm_node *n, enum dsm_spin_kind kind, u16 node, bool (*is_over)(void *arg),
	      void *arg);
int dsm_spin_sleep(struct dsm_node *n, enum dsm_spin_kind kind, struct dsm_wait *wait,
		   bool killable);
void dsm_spin_nap(struct dsm_node *n);
void dsm_spin_learn(enum dsm_spin_kind kind, bool spun, u64 took_ns);

/* ---- rsync.c ---- */
void dsm_rsync_init(struct dsm_node *n);
bool dsm_rsync_possible(struct dsm_node *n);
int dsm_rsync_need(struct dsm_node *n);
void dsm_rsync_tell(struct dsm_node *n, u16 node);
bool dsm_rsync_settle(struct dsm_region *r);
void dsm_rsync_free(struct dsm_node *n);
int dsm_rsync_signal(struct dsm_node *n, u16 node, u32 imm);
void dsm_rsync_alarm(struct dsm_node *n, u64 at_ns);
int dsm_rsync_letter(struct dsm_node *n, u16 node, u32 imm);
int dsm_rsync_taken(struct dsm_node *n, u16 node, u32 imm);
struct dsm_mr *dsm_rsync_offer(struct dsm_node *n, void *at, size_t bytes, u32 access,
			       struct dsm_key *key);

/* ---- bcast.c ---- */
void dsm_bcast_init(struct dsm_node *n);
bool dsm_bcast_possible(struct dsm_node *n);
int dsm_bcast_need(struct dsm_node *n);
void dsm_bcast_free(struct dsm_node *n);
void dsm_bcast_alarm(struct dsm_node *n, u64 at_ns);
void dsm_bcast_datagram(void *ctx, const u8 *data, u32 len);

/* ---- dir.c ---- */
int dsm_dir_make(struct dsm_region *r);
void dsm_dir_free(struct dsm_region *r);

/* ---- xfer.c ---- */
void dsm_shell_xfer_done(void *ctx, struct dsm_xfer *xfer);
int dsm_shell_signal(void *ctx, u16 node, u32 imm);
int dsm_shell_expand(void *ctx, u16 node, const u8 *request, u32 len, u32 brief, u8 *msg);

/* ---- xfertest.c: debug builds ---- */
#ifdef DSM_DEBUG
void dsm_xfertest_init(struct dsm_node *n);
void dsm_xfertest_exit(void);
void dsm_xfertest_forget(struct dsm_node *n);
void dsm_xfertest_done(struct dsm_node *n, struct dsm_xfer *xfer);
int dsm_xfertest_signal(struct dsm_node *n, u16 node, u32 imm);
void dsm_xfertest_spoil(struct dsm_msgbuf *msg);
#else
static inline void dsm_xfertest_init(struct dsm_node *n) {}
static inline void dsm_xfertest_exit(void) {}
static inline void dsm_xfertest_forget(struct dsm_node *n) {}
static inline void dsm_xfertest_done(struct dsm_node *n, struct dsm_xfer *xfer) {}
static inline void dsm_xfertest_spoil(struct dsm_msgbuf *msg) {}
static inline int dsm_xfertest_signal(struct dsm_node *n, u16 node, u32 imm)
{
	return -EPROTO;
}
#endif

/* ---- chunk.c ---- */
void dsm_chunk_learn(struct dsm_region *r, u16 node, const u8 *msg, u32 len);
void dsm_chunks_peer_lost(struct dsm_region *r, u16 node);
void dsm_chunk_frame(struct dsm_region *r, u32 idx, gfp_t gfp);
void dsm_chunk_asked(struct dsm_region *r, u32 idx);
void dsm_chunks_free(struct dsm_region *r);
void dsm_chunk_hold(struct dsm_node *n, struct dsm_xfer *x);
void dsm_chunk_post(struct dsm_node *n, struct dsm_xfer *x);
void dsm_chunk_xfer_done(struct dsm_node *n, struct dsm_xfer *x);

/* ---- ahead.c ---- */
struct dsm_ahead *dsm_ahead_new(void);
void dsm_ahead_fault(struct dsm_region *r, u32 idx);
u32 dsm_ahead_along(struct dsm_region *r, u32 idx, u32 n);
bool dsm_ahead_may_map(struct dsm_region *r, u32 idx, bool along);
void dsm_ahead_mapped(struct dsm_region *r, struct dsm_page *p);
u32 dsm_ahead_noticed(struct dsm_page **page, u32 n);

/* ---- flush.c ---- */
void dsm_flush_run(struct dsm_node *n);
void dsm_flush_worker(struct work_struct *work);
void dsm_acquire_apply(struct dsm_node *n, bool merge);
void dsm_acquire_settle(struct dsm_node *n);
struct page *dsm_shell_frame_of(void *region, u32 idx);

/* ---- sync.c ---- */
/* For homes to acknowledge what was written, when a region or this node is to go. */
#define DSM_LAST_DIFFS (60 * HZ)

void dsm_regions_settle(struct dsm_node *n);
int dsm_regions_settle_within(struct dsm_node *n, unsigned long limit);
int dsm_release_wait(struct dsm_node *n, bool silent);
static inline struct dsm_lock_owner dsm_shell_owner(const struct dsm_owner *o)
{
	return (struct dsm_lock_owner){ .file = o->file, .tgid = o->tgid, .tid = o->tid };
}

/* ---- region.c ---- */
void dsm_shell_add_traffic(const struct dsm_net_peer_stats *s, u64 *out);
extern const struct dsm_mm_ops dsm_shell_mm_ops;
int dsm_region_add(struct dsm_node *n, const struct dsm_wire_region *desc, bool is_new);
void dsm_region_remove(struct dsm_region *r);
void dsm_region_doom(struct dsm_region *r);
void dsm_region_closed(struct dsm_region *r);
bool dsm_region_claim(struct dsm_region *r);
/* sync.c */
u64 dsm_node_told(const struct dsm_region *r, u64 heard);
/* A region that is not open may go, or stays after all. */
int dsm_region_settle_last(struct dsm_region *r);
void dsm_region_stays(struct dsm_region *r);
void dsm_region_describe(struct dsm_region *r, struct dsm_wire_region *desc);
int dsm_region_set_members(struct dsm_region *r, u64 members, u64 users);
void dsm_regions_drop_all(struct dsm_node *n);
u64 dsm_region_homed_pages(struct dsm_region *r);
u64 dsm_region_living_pages(struct dsm_region *r);
bool dsm_region_awaits(struct dsm_region *r);
/* Was the node a peer, and is none any more? A look; under the lock it is exact. */
static inline bool dsm_node_is_gone(const struct dsm_node *n, u16 node)
{
	u8 state = READ_ONCE(n->peers[node].state);

	return state == DSM_NODE_LOST || state == DSM_NODE_LEFT;
}

/* Has nobody else the page's bytes, not even its home, if that is elsewhere? A look without the lock. */
static inline bool dsm_shell_only_copy(const struct dsm_page *p)
{
	return READ_ONCE(p->state) == DSM_SC_M || READ_ONCE(p->state) == DSM_PAGE_EX;
}

/* Does this node home a page that somebody uses? What is free has a frame only because it was asked for, or its chunk registered. */
static inline bool dsm_shell_is_homed(const struct dsm_page *p, u16 self)
{
	return READ_ONCE(p->home) == self && READ_ONCE(p->frame) && READ_ONCE(p->state) != DSM_PAGE_FREE;
}

void dsm_homes_give_back(struct dsm_region *r);

/* ---- member.c, control.c ---- */
void dsm_control_init(struct dsm_node *n);
int dsm_member_admit(void *ctx, const struct dsm_net_hello *hello, u16 *assigned);
int dsm_member_recv(struct dsm_node *n, u16 from, const u8 *msg, u32 len);
void dsm_member_peer_lost(struct dsm_node *n, u16 node);

/* ---- wishes.c ---- */
int dsm_member_activate(struct dsm_region *r);
void dsm_wishes_drain(struct dsm_node *n);

#endif
