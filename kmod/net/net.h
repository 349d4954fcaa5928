/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Private to kmod/net: the structures behind transport.h and what its files
 * call of each other. Nothing outside this directory includes it.
 *
 * Lock order, outermost first:
 *   nets_mutex (net.c)            list of transports; device removal and start/stop
 *   mcast_lock (mcast.c)          making and leaving the multicast group
 *   handler mutex of a cm_id      rdma_cm calls cm.c with it held
 *   dsm_peer.setup                building queue pairs against tearing them down
 *   dsm_cq.polling                one thread at a time takes completions off a queue
 *   dsm_net.mr_lock               list of registrations
 *   dsm_resume.old_lock           list of connections that were replaced
 *   dsm_net.lock                  peer list, slots, own identity
 *   dsm_peer.lock (BH)            credits, queues, posting, peer state
 * The first seven may sleep; none but dsm_cq.polling is held across a call of dsm_net_ops, none at
 * all across a wait for the network.
 */
#ifndef DSM_NET_NET_H
#define DSM_NET_NET_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "bulk.h"
#include "credit.h"
#include "transport.h"
#include "../core/wire.h"

/* C carries one beat per eighth of the bound and one farewell. */
#define DSM_SLOTS_CTL 16
#define DSM_CTL_BYTES 512

/* Beats that may be unanswered: two slots stay free for the farewell. */
#define DSM_BEATS_UNACKED (DSM_SLOTS_CTL - 2)

/*
 * Send queue depth: a credit may come back before the completion of the send that used it is seen,
 * so twice the credits of the queue pair.
 */
#define DSM_SQ_DEPTH (2 * (DSM_SLOTS_REQ + DSM_SLOTS_FWD))
#define DSM_SQ_DEPTH_CTL DSM_SLOTS_CTL

/* Work requests of one message: its own, and one that its sink needs. */
#define DSM_SQ_PER_MESSAGE 2u

/* At most so many sends, and a quarter of the send queue, go by without a completion. */
#define DSM_SIGNAL_INTERVAL 16

/* Longest message that a work request is asked to hold: most are below 256 bytes, and soft-RoCE takes no more. */
#define DSM_INLINE_BYTES 512

/* PINGs of a peer that may be unanswered. */
#define DSM_PINGS_MAX 32

/* Most messages that one doorbell may post; what a chain holds comes back with its last one. */
#define DSM_BATCH_MAX 32

/* Frames of one sink: as many as requests go together by the ring. */
#define DSM_SINK_FRAMES 16u
static_assert(DSM_SINK_FRAMES >= DSM_BULK_MESSAGES);

/* Transfers posted at once; 128 of 64 KiB are more than any round trip holds. */
#define DSM_SQ_DEPTH_B 128
/* READs and atomics of B that the devices of both sides are to have under way at most. */
#define DSM_READS 16

/* Completions taken off a queue at once. */
#define DSM_CQ_BATCH 16

/* Beats per bound on a peer's silence. */
#define DSM_BEATS_PER_TIMEOUT 8

/**
 * struct dsm_cq - a completion queue and who takes completions off it
 * @cq:      the queue; NULL: not made, or destroyed. Under @polling
 * @peer:    owner
 * @spun:    a waiting thread may serve it instead of the work item
 * @pooled:  the device core serves it, in softirq
 * @fired:   it told of completions and was not looked at since
 * @broken:  what the device said when it gave the queue up, or NULL
 * @polling: held by the one thread that serves it, so handlers of a queue pair are serial
 * @work:    serves it when nobody spins
 * @wc:      completions being handled; under @polling
 */
struct dsm_cq {
	struct ib_cq *cq;
	struct dsm_peer *peer;
	bool spun;
	bool pooled;
	bool fired;
	const char *broken;
	struct mutex polling;
	struct work_struct work;
	struct ib_wc wc[DSM_CQ_BATCH];
};

/**
 * enum dsm_peer_state - life of a peer; only ever moves down the list
 * @DSM_PEER_SETUP: connections are being made
 * @DSM_PEER_UP: all three stand; messages may be posted
 * @DSM_PEER_CLOSING: first cause of loss recorded, close_work runs or will
 * @DSM_PEER_GONE: drained, told to the shell, out of its slot
 */
enum dsm_peer_state { DSM_PEER_SETUP, DSM_PEER_UP, DSM_PEER_CLOSING, DSM_PEER_GONE };

/**
 * enum dsm_why - how much a cause of loss explains; a later one that explains more replaces it
 * @DSM_WHY_FLUSH: a queue pair went into error, the cause was not seen yet
 * @DSM_WHY_DISCONNECT: the connection manager says that it was closed
 * @DSM_WHY_CAUSE: found or decided here, or announced by the peer
 */
enum dsm_why { DSM_WHY_FLUSH, DSM_WHY_DISCONNECT, DSM_WHY_CAUSE };

/**
 * struct dsm_net_tx - a message with what its send needs
 * @msg:   what the shell sees
 * @sge:   data and page as the device sees them, from post to completion
 * @mech:  enum dsm_net_mech
 * @keep:  belongs to the peer and is used again: not freed when it was sent
 * @busy:  @keep only: the device may still read it; peer lock
 * @pool:  where it came from
 * @frame: msg.sink, referenced until it is lent: the region may go while a peer that withholds credits keeps the request here
 */
struct dsm_net_tx {
	struct dsm_msgbuf msg;
	mempool_t *pool;
	struct page *frame;
	struct ib_sge sge[2];
	u8 mech;
	bool keep;
	bool busy;
};

/**
 * struct dsm_sq_entry - one work request in the send queue of C, Q or P
 * @cqe:  completion entry; lives as long as the queue pair, whatever becomes of the message
 * @qp:   its connection
 * @tx:   message that the device reads from its buffer, ours again with the completion, and, by
 *        its msg.next, those that go with it; NULL: an inline one or a flush
 * @wr:   the work request; the others begin with it
 * @rdma: of a flush, of an answer for a sink: writes the page, or is the answer, and of bulk
 * @reg:  of a request with a sink: makes the sink valid
 * @pages: how many it brings
 * @sge:  of an inline message
 * @bytes: that message: its buffer is given back when it is posted, but it may have to go again
 * @frames: of brief answers that go together: their pages
 */
struct dsm_sq_entry {
	struct ib_cqe cqe;
	struct dsm_qp *qp;
	struct dsm_net_tx *tx;
	u8 pages;
	union {
		struct ib_send_wr wr;
		struct ib_rdma_wr rdma;
		struct ib_reg_wr reg;
	};
	struct ib_sge sge;
	union {
		u8 bytes[DSM_INLINE_BYTES];
		struct ib_sge frames[DSM_SINK_FRAMES];
	};
};

/**
 * struct dsm_briefly - what a brief answer says
 * @sink:   whose requests it answers
 * @first:  first of its frames that it brings
 * @n:      how many
 * @number: in the place of each one's answer, see struct dsm_msgbuf; not checked
 */
struct dsm_briefly {
	struct dsm_sink *sink;
	u32 first;
	u32 n;
	u32 number;
};

/**
 * struct dsm_rx - a receive slot
 * @cqe:  completion entry
 * @qp:   queue pair it is posted on
 * @buf:  slot bytes
 * @dma:  mapped address of @buf
 * @len:  bytes received; valid while parked
 * @imm:  likewise, of a signal or of bulk
 * @bulk: it came by way of the ring; valid while parked
 * @brief: it is an immediate only, a brief answer; valid while parked
 * @invalidated: it took away the key @rkey; valid while parked
 * @rkey: likewise
 * @park: in dsm_qp.parked while the shell has not been told of the peer
 */
struct dsm_rx {
	struct ib_cqe cqe;
	struct dsm_qp *qp;
	u8 *buf;
	u64 dma;
	u32 len;
	u32 imm;
	bool bulk;
	bool brief;
	bool invalidated;
	u32 rkey;
	struct list_head park;
};

/**
 * struct dsm_resume - what a peer needs to get over broken connections
 * @broken: they broke, and nothing is posted until all stand again; peer lock
 * @ready:  the broken ones are drained, new ones may be made; peer lock
 * @again:  they broke again meanwhile; peer lock
 * @why:    cause, for when it does not succeed; peer lock, as the next three
 * @err:    likewise
 * @reason: likewise
 * @end:    jiffies until when it may be tried
 * @received: sum of the numbers of the messages received when it succeeded last
 * @refusal: what the other side, or the way there, has against it; peer lock
 * @work:   takes broken connections apart, and sees that there are new ones
 * @old_lock: guards @old
 * @old:    connections that were drained, and wait to be destroyed
 * @bury:   destroys them
 */
struct dsm_resume {
	bool broken;
	bool ready;
	bool again;
	enum dsm_why why;
	int err;
	const char *reason;
	unsigned long end;
	u32 received;
	int refusal;
	struct work_struct work;
	struct mutex old_lock;
	struct list_head old;
	struct delayed_work bury;
};

/**
 * struct dsm_faults - debug builds: what is to go wrong; see fault.c
 * @set:      bitmap of enum dsm_fault
 * @at:       byte of a message that is to be changed
 * @mask:     bits of it
 * @bodies:   types of messages of which the next one's body is to be changed; peer lock
 * @seed:     says where and how
 * @deaf:     connections on which completions of what we send are ignored
 * @withheld: credits that were not given back, per class; peer lock
 */
struct dsm_faults {
	unsigned long set;
	u32 at;
	u8 mask;
	DECLARE_BITMAP(bodies, 256);
	u32 seed;
	unsigned long deaf;
	u16 withheld[DSM_CREDIT_COUNT];
};

/**
 * struct dsm_qp - one of a peer's four connections
 * @peer:    owner
 * @vc:      which one
 * @id:      connection id; its queue pair is @id->qp. Set under dsm_peer.setup, destroyed by the
 *           peer's free work
 * @rx_cq:   completions of receives, which run the handlers one after the other; B: of all
 * @rx:      receive slots
 * @slots:   their number
 * @slot_bytes: and size
 * @reads_out: READs and atomics that the other side serves at once, as it asked (passive)
 * @reads_in: and that it will have under way
 * @inline_bytes: longest message that a work request itself may hold
 * @sq:      work requests, a ring; C, Q and P only, transfers bring their own
 * @sq_next: next free entry; peer lock
 * @sq_done: oldest one in use; whoever serves completions of sends
 * @sq_used: work requests that are not known to be done, @staged included; peer lock
 * @sq_room: most of them
 * @staged:  the last of them, which make up the chain that is being built; 0 but in dsm_send_push()
 *           and what it calls; peer lock
 * @staged_inline: messages of the chain that need no buffer once it is posted; likewise
 * @unsignalled: work requests since one whose completion is told; peer lock
 * @moved:   jiffies when one was done last, or the first posted, or the first whose completion is due; C, Q and P; peer lock
 * @held:    of these, messages that the device reads from their buffers, and LOCAL_INVs; peer lock
 * @pages:   of those that are not known to be done, answers that bring a page; peer lock
 * @tx_seq:  sequence number of the last message posted, B: of the last signal; peer lock
 * @rx_seq:  of the last one received; receive path only
 * @rx_told: @rx_seq when the connection was made, as the peer was told
 * @rx_again: messages up to @rx_told that may still come again; 0 on a first connection
 * @tx_told: last message or signal of ours that the peer had received then, as it says
 * @established: rdma_cm said so; peer lock
 * @distrusted: B: a transfer was told as done that was not, so nothing that is told counts until it is made anew; peer lock
 * @rx_open: handlers may run; until then messages are parked; peer lock
 * @parked:  messages that came first; peer lock
 */
struct dsm_qp {
	struct dsm_peer *peer;
	enum dsm_vc vc;
	struct rdma_cm_id *id;
	struct dsm_cq rx_cq;
	struct dsm_rx *rx;
	u32 slots;
	u32 slot_bytes;
	u8 reads_out;
	u8 reads_in;
	u32 inline_bytes;
	struct dsm_sq_entry *sq;
	u32 sq_next;
	u32 sq_done;
	u32 sq_used;
	u32 sq_room;
	u32 staged;
	struct dsm_msgbuf *staged_inline;
	u32 unsignalled;
	unsigned long moved;
	u32 held;
	u32 pages;
	u32 tx_seq;
	u32 rx_seq;
	u32 rx_told;
	u32 rx_again;
	u32 tx_told;
	bool established;
	bool distrusted;
	bool rx_open;
	struct list_head parked;
};

/* Transfers in the order they were handed over, oldest first. */
struct dsm_xfer_list {
	struct dsm_xfer *head;
	struct dsm_xfer **tail;
};

/* Does it bring a page, in a frame of its own or in its body? */
static inline bool dsm_msg_brings_page(const struct dsm_msgbuf *msg)
{
	return msg->page || msg->len > DSM_PAGE_BYTES;
}

/* Where answers that bring a page wait, so that few are in front of a grant; the others wait by class. */
#define DSM_BACKLOG_PAGES DSM_CLASS_CTL
#define DSM_BACKLOGS (DSM_BACKLOG_PAGES + 1)

/* Messages that wait for credit or room, oldest first. */
struct dsm_backlog {
	struct dsm_msgbuf *head;
	struct dsm_msgbuf **tail;
	u32 n;
};

/**
 * struct dsm_peer - another node
 * @net:       transport
 * @link:      in dsm_net.peers from creation until its free work
 * @rcu:       frees it
 * @ref:       one for @link, one per caller that looked it up
 * @active:    we connected to it
 * @node:      its id; DSM_NO_NODE until known, then fixed
 * @self:      our id towards it, likewise
 * @cluster:   cluster id it told (active) or was told
 * @session:   number that ties Q and P to C
 * @addr:      its listening address
 * @hello:     what it said when it connected (passive)
 * @version:   protocol version it speaks, once it differs from ours (active)
 * @setup:     held while a queue pair is made; see lock order
 * @lock:      guards what follows down to @stats
 * @state:     changed by state_set() only
 * @why:       cause of loss, from DSM_PEER_CLOSING on
 * @err:       likewise, for peer_lost
 * @reason:    likewise
 * @announced: peer_up was or is being called: peer_lost must follow
 * @up_done:   peer_up has returned and parked messages were handled
 * @leaving:   we close in good order: what was accepted is still sent, handlers run no more
 * @bye:       the peer closes in good order: what it sent before is still handled
 * @credit:    flow control
 * @backlog:   what waits
 * @passed:    answers that went before pages that wait, since one of those went
 * @xfer_wait: transfers that wait for room
 * @xfer_yields: likewise, of those that yield to the former
 * @yielding:  of those that yield, and that the device has: bytes, and how many are READs
 * @xfer_posted: transfers that the device has, or whose completion is not seen yet
 * @xfer_moved: jiffies when the oldest of them became the oldest; read by the watchdog
 * @bulk:      rings for requests
 * @sinks_free: registrations for frames that wait for a page
 * @sinks_lent: those that the peer may use until it has answered
 * @sinks_answered: those that it has answered briefly, in this order, and whose keys may be valid
 * @sinks_due: frames of those of these whose keys are still to be taken away
 * @gathering: requests that came together are worked on: answers with pages wait for each other
 * @unsignalled: transfers posted since one whose completion is told
 * @credit_tx: CREDIT messages of Q and P; kept so that nothing allocates to make progress
 * @beat_tx:   heartbeat, likewise
 * @bye_tx:    farewell, likewise
 * @ping:      the run of PINGs that is going on, if @active: its number, PINGs handed over, the
 *             first not known to be answered, and time spent on what the peer sent meanwhile
 * @pongs:     PONGs that wait in the backlog
 * @beats_acked: messages on C that the peer says it received
 * @resume:  what follows a broken connection, while the state is still UP
 * @faults:  debug builds: what is to go wrong
 * @stats:     counters
 * @last_rx:   jiffies of the last message on any connection; plain stores, read by the watchdog
 * @deadline:  jiffies by which a passive set-up must be done
 * @reason_text: space for a reason with a number in it
 * @tx_cq:     completions of sends of C, Q and P
 * @qp:        the four
 * @wait:      woken at each step of set-up and when sends complete
 * @admit_work: steps of its life, in this order: the shell is asked (passive)
 * @up_work:   and told
 * @close_work: all is drained
 * @free_work: and destroyed
 * @idle_work: returns credits that no message carried
 */
struct dsm_peer {
	struct dsm_net *net;
	struct list_head link;
	struct rcu_head rcu;
	refcount_t ref;
	bool active;
	u16 node;
	u16 self;
	u64 cluster;
	u32 session;
	struct sockaddr_in addr;
	struct dsm_net_hello hello;
	u16 version;
	struct mutex setup;

	spinlock_t lock;
	enum dsm_peer_state state;
	enum dsm_why why;
	int err;
	const char *reason;
	bool announced;
	bool up_done;
	bool leaving;
	bool bye;
	struct dsm_credits credit;
	struct dsm_backlog backlog[DSM_BACKLOGS];
	u32 passed;
	struct dsm_xfer_list xfer_wait;
	struct dsm_xfer_list xfer_yields;
	struct {
		u32 bytes;
		u32 reads;
	} yielding;
	struct dsm_xfer_list xfer_posted;
	unsigned long xfer_moved;
	struct dsm_bulk bulk;
	struct list_head sinks_free;
	struct list_head sinks_lent;
	struct list_head sinks_answered;
	u32 sinks_due;
	bool gathering;
	u32 unsignalled;
	struct dsm_net_tx *credit_tx[DSM_VC_COUNT];
	struct dsm_net_tx *beat_tx;
	struct dsm_net_tx *bye_tx;
	struct {
		bool active;
		u32 xid;
		u32 sent;
		u32 answered;
		u64 recv_ns;
	} ping;
	u32 pongs;
	u32 beats_acked;
	struct dsm_resume resume;
#ifdef DSM_DEBUG
	struct dsm_faults faults;
#endif
	struct dsm_net_peer_stats stats;

	unsigned long last_rx;
	unsigned long deadline;
	char reason_text[96];
	struct dsm_cq tx_cq;
	struct dsm_qp qp[DSM_VC_COUNT];
	wait_queue_head_t wait;
	struct work_struct admit_work;
	struct work_struct up_work;
	struct work_struct close_work;
	struct delayed_work free_work;
	struct delayed_work idle_work;
};

/**
 * struct dsm_net - one transport
 * @cfg:       parameters; port filled in
 * @ops:       the shell
 * @ctx:       handed to it
 * @link:      in the list of transports; nets_mutex
 * @dev:       device of the listening address; NULL once it was removed
 * @pd_ctl:    protection domain of C, which never holds a registration
 * @pd_data:   of Q, P and B
 * @software:  the device is one of software
 * @one_sided: the device does all that transfers and registrations need
 * @atomics:   and atomics
 * @poll:      enum dsm_net_poll, chosen at the start
 * @vector:    completion vectors given out so far
 * @dev_name:  for status; outlives the device
 * @listen:    listening id
 * @mcast:     the cluster's group, or NULL (mcast.c)
 * @ack_timeout: how long a queue pair waits, 4.096 us << this; sized to the bound
 * @retries:   and how often it tries again
 * @settle:    jiffies between drain and destruction of a queue pair
 * @mr_lock:   guards @mrs
 * @mrs:       registrations
 * @spinners:  threads inside dsm_net_spin_begin() and dsm_net_spin_end()
 * @starved:   threads that wait for messages to come back
 * @fired:     bitmap of nodes with a queue that fired and was left to a waiting thread
 * @nappers:   threads inside dsm_net_nap() that nobody has woken to serve; guarded by @nappers_lock
 * @nappers_lock: taken last, in any context
 * @left_work: looks whether waiting threads have done what was left to them
 * @lock:      guards what follows
 * @stopping:  no new peers: what connect answers, 0 if not stopping
 * @self:      own id, once known
 * @cluster:   cluster id, once known
 * @slot:      peers that have an id, by it; read under RCU
 * @peers:     all of them
 * @announced: peers that the shell knows: peer_lost() has not returned yet
 * @messages:  message buffers (send.c)
 * @xfers:     transfers (xfer.c)
 * @users:     peers not freed and callers inside dsm_net_connect()
 * @idle:      woken when @users drops and when a slot becomes free
 * @wq:        peers that come up and go: waiters depend on it, so it works when memory is short
 * @slow_wq:   admission and destruction; rdma_cm's own work there needs memory
 * @beat_wq:   heartbeats and idle credits: must run when memory is short
 * @tuned:     limits are measured with a peer of this transport
 * @tune_node: with this peer
 * @tune_work: measures
 * @beat_work: watchdog
 * @beat_due:  when it was to run; these three are the watchdog's own
 * @beat_next: next beat
 * @judge_after: nobody is declared silent before
 */
struct dsm_net {
	struct dsm_net_config cfg;
	const struct dsm_net_ops *ops;
	void *ctx;
	struct list_head link;
	struct ib_device *dev;
	struct ib_pd *pd_ctl;
	struct ib_pd *pd_data;
	bool software;
	bool one_sided;
	bool atomics;
	enum dsm_net_poll poll;
	atomic_t vector;
	char dev_name[IB_DEVICE_NAME_MAX];
	struct rdma_cm_id *listen;
	struct dsm_mcast *mcast;
	u8 ack_timeout;
	u8 retries;
	unsigned long settle;
	struct mutex mr_lock;
	struct list_head mrs;
	atomic_t spinners, starved;
	DECLARE_BITMAP(fired, DSM_MAX_NODES);
	struct list_head nappers;
	spinlock_t nappers_lock;
	struct delayed_work left_work;

	spinlock_t lock;
	int stopping;
	u16 self;
	u64 cluster;
	struct dsm_peer __rcu *slot[DSM_MAX_NODES];
	struct list_head peers;
	atomic_t announced;
	mempool_t *messages;
	mempool_t *xfers;
	u32 users;

	wait_queue_head_t idle;
	struct workqueue_struct *wq;
	struct workqueue_struct *slow_wq;
	struct workqueue_struct *beat_wq;
	bool tuned;
	u16 tune_node;
	struct work_struct tune_work;
	struct delayed_work beat_work;
	unsigned long beat_due;
	unsigned long beat_next;
	unsigned long judge_after;
};

/* peer.c */
struct dsm_peer *dsm_peer_new(struct dsm_net *net, bool active);
void dsm_peer_put(struct dsm_peer *peer);
struct dsm_peer *dsm_peer_find_any(struct dsm_net *net, u16 node);
struct dsm_peer *dsm_peer_find(struct dsm_net *net, u16 node);
int dsm_peer_claim(struct dsm_peer *peer, u16 node);
int dsm_peer_stand_alone(struct dsm_peer *peer);
/* Is it the connection of this node with itself? */
static inline bool dsm_peer_is_self(const struct dsm_peer *peer)
{
	return peer->node != DSM_NO_NODE && peer->node == peer->self;
}
int dsm_peer_claim_addr(struct dsm_peer *peer, const struct sockaddr_in *addr);
void dsm_peer_established(struct dsm_qp *qp);
void dsm_peer_leave(struct dsm_peer *peer, const char *reason);
void dsm_peer_fail(struct dsm_peer *peer, enum dsm_why why, int err, const char *reason);
void dsm_peer_fail_locked(struct dsm_peer *peer, enum dsm_why why, int err, const char *reason);

/* cm.c */
int dsm_cm_listen(struct dsm_net *net);
int dsm_cm_serve(struct dsm_net *net);
void dsm_cm_unlisten(struct dsm_net *net);
int dsm_cm_start(struct dsm_peer *peer, enum dsm_vc vc, u32 timeout_ms);
void dsm_cm_retire(struct rdma_cm_id *id);
void dsm_cm_admit(struct work_struct *work);

/* resume.c */
void dsm_resume_init(struct dsm_peer *peer);
void dsm_resume_exit(struct dsm_peer *peer);
void dsm_resume_break_locked(struct dsm_peer *peer, enum dsm_why why, int err, const char *reason);
void dsm_resume_break(struct dsm_peer *peer, enum dsm_why why, int err, const char *reason);
bool dsm_resume_refused(struct dsm_peer *peer, int err);
int dsm_resume_asked(struct dsm_qp *qp);
int dsm_resume_reminded(struct dsm_peer *peer);
bool dsm_resume_is_ready(struct dsm_peer *peer);
int dsm_resume_take(struct dsm_qp *qp, u32 received);

/* remind.c */
int dsm_remind(struct dsm_peer *peer);

/* qp.c */
int dsm_qp_create(struct dsm_qp *qp);
void dsm_qp_destroy(struct dsm_qp *qp);
int dsm_qp_post_recv(struct dsm_qp *qp, struct dsm_rx *rx);
void dsm_qp_error(struct dsm_qp *qp, enum ib_wc_status status);

/* cq.c */
int dsm_cq_init(void);
void dsm_cq_exit(void);
void dsm_cq_prepare(struct dsm_cq *q, struct dsm_peer *peer);
void dsm_cq_short_begin(struct dsm_net *net);
void dsm_cq_short_end(struct dsm_net *net);
void dsm_cq_left_work(struct work_struct *work);
int dsm_cq_create(struct dsm_cq *q, int cqes, bool spun, bool quick);
void dsm_cq_destroy(struct dsm_cq *q);

/* sink.c */
void dsm_sink_init(struct dsm_peer *peer);
void dsm_sink_reserve(struct dsm_peer *peer);
bool dsm_sink_lend(struct dsm_peer *peer, struct dsm_msgbuf *const *msg, u32 n, struct ib_reg_wr *reg);
const char *dsm_sink_answered(struct dsm_peer *peer, const struct dsm_rx *rx, u8 type, u32 region, u32 xid);
void dsm_sink_doubt(struct dsm_peer *peer, const struct ib_mr *mr, struct list_head *doubtful);
void dsm_sink_renew(struct dsm_peer *peer, struct list_head *doubtful);
bool dsm_sink_shares(const struct dsm_msgbuf *msg);
u64 dsm_sink_address(const struct dsm_msgbuf *msg);
bool dsm_sink_brief(struct dsm_peer *peer, const struct dsm_msgbuf *msg, u32 *imm);
bool dsm_sink_joins(struct dsm_peer *peer, const struct dsm_msgbuf *msg, u32 rkey, u32 *imm);
const char *dsm_sink_answered_briefly(struct dsm_peer *peer, u32 imm, u32 bytes, struct dsm_briefly *b);
u32 dsm_sink_brief_credits(u32 imm);
int dsm_sink_expand(struct dsm_peer *peer, const struct dsm_briefly *b, u32 i, u8 *msg);
void dsm_sink_used(struct dsm_peer *peer, const struct dsm_briefly *b);
void dsm_sink_end(struct dsm_peer *peer, bool all);
void dsm_sink_ended(struct dsm_peer *peer, u32 n);
void dsm_sink_purge(struct dsm_peer *peer);

/* send.c */
int dsm_send_init(void);
void dsm_send_exit(void);
mempool_t *dsm_send_pool(void);
struct dsm_net_tx *dsm_send_tx_new(struct dsm_net *net, gfp_t gfp);
struct dsm_net_tx *dsm_send_tx_keep(struct dsm_net *net, u8 type);
void dsm_send_frame_put(struct dsm_net_tx *tx);
void dsm_send_tx_free(struct dsm_net_tx *tx);
void dsm_send_beat(struct dsm_peer *peer);
void dsm_send_ctl(struct dsm_peer *peer, struct dsm_net_tx *tx, u32 xid);
void dsm_send_queue(struct dsm_peer *peer, struct dsm_net_tx *tx);
void dsm_send_push(struct dsm_peer *peer, bool idle);
bool dsm_send_is_flooded(const struct dsm_peer *peer);
void dsm_send_flush(struct dsm_peer *peer);
void dsm_send_idle_credits(struct work_struct *work);
bool dsm_send_is_idle(struct dsm_peer *peer);
void dsm_send_purge(struct dsm_peer *peer);

/* recv.c */
int dsm_recv_class(u8 type);
void dsm_recv_done(struct ib_cq *cq, struct ib_wc *wc);
void dsm_recv_open(struct dsm_qp *qp);

/* beat.c */
void dsm_beat_start(struct dsm_net *net);
void dsm_beat_stop(struct dsm_net *net);

#endif
