// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * One-sided transfers: READs, WRITEs, atomics and signals on a peer's connection B, and the
 * registrations that go the same way. Never waits for room and never looks at what it moves.
 *
 * A transfer is in one of three lists of its peer, each in order: it waits for room (or, a signal, for
 * credit), in one list if it moves pages and yields to others, in another if it is a step of a lock, a barrier or
 * the directory; or the device has it. What may go is posted as one chain. READs and atomics are told of
 * one by one, since somebody waits for each; of WRITEs and signals the last of a chain and every
 * sixteenth. A completion returns all that was posted before it.
 *
 * The device holds back READs and atomics beyond the depth that both sides agreed on when they connected, and
 * all that is behind them. So of what yields it is given less than that, and no more bytes than keep it busy.
 *
 * An error may be told on any work request, signalled or not, and says only that the connection
 * is over. What is left then is posted again when the connection is made anew, but for what must
 * not take place twice: that is settled, and comes back when all before it has. If the peer is
 * lost, all comes back once the queue pair is drained.
 */
#include <linux/mempool.h>
#include <linux/slab.h>

#include "fault.h"
#include "link.h"
#include "xfer.h"
#include "../core/seq.h"

#define SIGNAL_INTERVAL 16

/* Of what yields the device has so many bytes at most, and leaves so much of its queue and of its READs to others. */
#define YIELDING_BYTES (256u << 10)
#define LEFT_IN_QUEUE 16u
#define LEFT_OF_READS 4u

/* Beyond enum dsm_xfer_op, not for callers: make a registration valid. */
#define OP_REGISTER DSM_XFER_OPS

static struct kmem_cache *xfer_cache;

static void *pool_alloc(gfp_t gfp, void *unused)
{
	return kmem_cache_alloc(xfer_cache, gfp);
}

static void pool_free(void *element, void *unused)
{
	kmem_cache_free(xfer_cache, element);
}

/* Keeps the cache from being merged with others of its size: a leak shows under our name. */
static void construct(void *xfer)
{
	memset(xfer, 0, sizeof(struct net_xfer));
}

/**
 * dsm_xfer_init() - make the cache of transfers
 *
 * Context: process.
 * Return: 0, or -ENOMEM.
 */
int dsm_xfer_init(void)
{
	dsm_xfer_map_init();
	xfer_cache = kmem_cache_create("dsm_net_xfer", sizeof(struct net_xfer), 0,
				       SLAB_HWCACHE_ALIGN, construct);
	return xfer_cache ? 0 : -ENOMEM;
}

/**
 * dsm_xfer_pool() - a transport's transfers
 *
 * Context: process.
 * Return: pool, or NULL; for mempool_destroy() when every transfer has been given back.
 */
mempool_t *dsm_xfer_pool(void)
{
	return mempool_create(DSM_NET_XFERS_KEPT, pool_alloc, pool_free, NULL);
}

/**
 * dsm_xfer_exit() - free the cache; every transfer has been given back
 *
 * Context: process.
 */
void dsm_xfer_exit(void)
{
	kmem_cache_destroy(xfer_cache);
}

static struct net_xfer *to_net(struct dsm_xfer *x)
{
	return container_of(x, struct net_xfer, x);
}

static void done(struct ib_cq *cq, struct ib_wc *wc);

/**
 * dsm_net_xfer_alloc() - get a transfer
 * @net: transport
 * @gfp: how hard to try; with __GFP_DIRECT_RECLAIM it sleeps until it has one
 *
 * Context: as @gfp.
 * Return: an empty transfer, or NULL if there is no memory.
 */
struct dsm_xfer *dsm_net_xfer_alloc(struct dsm_net *net, gfp_t gfp)
{
	/* The pool sees to it itself, and tries without reclaim first. */
	struct net_xfer *t = mempool_alloc(net->xfers, gfp & ~__GFP_NOFAIL);

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->x.dst = DSM_NO_NODE;
	t->cqe.done = done;
	return &t->x;
}

/**
 * dsm_net_xfer_free() - give a transfer up that net does not hold
 * @net:  transport
 * @xfer: transfer; NULL is allowed
 *
 * Context: any.
 */
void dsm_net_xfer_free(struct dsm_net *net, struct dsm_xfer *xfer)
{
	if (xfer)
		mempool_free(to_net(xfer), net->xfers);
}

static void list_init(struct dsm_xfer_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static void list_add_xfer(struct dsm_xfer_list *l, struct dsm_xfer *x)
{
	x->next = NULL;
	*l->tail = x;
	l->tail = &x->next;
}

static void list_push(struct dsm_xfer_list *l, struct dsm_xfer *x)
{
	x->next = l->head;
	l->head = x;
	if (!x->next)
		l->tail = &x->next;
}

static void take_all(struct dsm_xfer_list *to, struct dsm_xfer_list *from)
{
	list_init(to);
	if (!from->head)
		return;
	*to = *from;
	list_init(from);
}

static struct dsm_xfer *list_take(struct dsm_xfer_list *l)
{
	struct dsm_xfer *x = l->head;

	l->head = x->next;
	if (!l->head)
		l->tail = &l->head;
	x->next = NULL;
	return x;
}

/**
 * dsm_xfer_peer_init() - a new peer's lists
 * @peer: peer, not yet visible to anyone
 *
 * Context: any.
 */
void dsm_xfer_peer_init(struct dsm_peer *peer)
{
	list_init(&peer->xfer_wait);
	list_init(&peer->xfer_yields);
	list_init(&peer->xfer_posted);
}

/* ---- posting ---- */

static u32 bytes_of(const struct net_xfer *t)
{
	u32 i, bytes = dsm_xfer_is_atomic(t) ? sizeof(t->old) : 0;

	for (i = 0; i < t->x.n_segs; i++)
		bytes += t->x.seg[i].len;
	return bytes;
}

static void fill_rdma(struct net_xfer *t, enum ib_wr_opcode opcode)
{
	t->wr.opcode = opcode;
	t->rdma.remote_addr = t->x.remote;
	t->rdma.rkey = t->x.rkey;
}

static void fill_atomic(struct net_xfer *t, enum ib_wr_opcode opcode, u64 compare_add, u64 swap)
{
	t->wr.opcode = opcode;
	t->atomic.remote_addr = t->x.remote;
	t->atomic.rkey = t->x.rkey;
	t->atomic.compare_add = compare_add;
	t->atomic.swap = swap;
}

/* The registration's work request was filled by its caller. */
static void fill(struct net_xfer *t)
{
	switch (t->x.op) {
	case DSM_XFER_READ:
		fill_rdma(t, IB_WR_RDMA_READ);
		break;
	case DSM_XFER_WRITE:
		fill_rdma(t, IB_WR_RDMA_WRITE);
		break;
	case DSM_XFER_SIGNAL:
		fill_rdma(t, IB_WR_RDMA_WRITE_WITH_IMM);
		t->wr.ex.imm_data = cpu_to_be32(t->x.imm);
		break;
	case DSM_XFER_CAS:
		fill_atomic(t, IB_WR_ATOMIC_CMP_AND_SWP, t->x.compare, t->x.operand);
		break;
	case DSM_XFER_ADD:
		fill_atomic(t, IB_WR_ATOMIC_FETCH_AND_ADD, t->x.operand, 0);
		break;
	}
	t->wr.wr_cqe = &t->cqe;
	t->wr.sg_list = t->sge;
	t->wr.num_sge = t->mapped;
	/*
	 * Devices of software execute what comes over a connection in its order. And soft-RoCE of Linux 6.12 never sends
	 * again what has a fence and is lost: a READ itself counts among those that it would have to wait for.
	 */
	t->wr.send_flags = t->x.fence && !t->peer->net->software ? IB_SEND_FENCE : 0;
}

static bool wants_completion(struct dsm_peer *peer, const struct net_xfer *t)
{
	if (t->x.op != DSM_XFER_WRITE && t->x.op != DSM_XFER_SIGNAL)
		return true;
	return ++peer->unsignalled >= SIGNAL_INTERVAL;
}

static void ask_completion(struct dsm_peer *peer, struct net_xfer *t)
{
	peer->unsignalled = 0;
	if (t->wr.send_flags & IB_SEND_SIGNALED)
		return;
	t->wr.send_flags |= IB_SEND_SIGNALED;
	peer->stats.signalled++;
}

/* Would what comes next and does not yield still go soon? */
static bool may_yielding_post(const struct dsm_peer *peer, const struct net_xfer *t)
{
	const struct dsm_qp *b = &peer->qp[DSM_VC_B];

	if (!peer->yielding.bytes)
		return true;
	if (t->x.op == DSM_XFER_READ && peer->yielding.reads + LEFT_OF_READS >= dsm_xfer_reads(peer->net))
		return false;
	return b->sq_used + LEFT_IN_QUEUE < b->sq_room && peer->yielding.bytes + bytes_of(t) <= YIELDING_BYTES;
}

static bool may_post(struct dsm_peer *peer, const struct net_xfer *t)
{
	const struct dsm_qp *b = &peer->qp[DSM_VC_B];

	/* soft-RoCE registers anew, which fails, if it has to send again what was posted before. */
	if (t->x.op == OP_REGISTER && peer->net->software && b->sq_used)
		return false;
	if (t->x.yields && !may_yielding_post(peer, t))
		return false;
	return b->sq_used < b->sq_room &&
	       (t->x.op != DSM_XFER_SIGNAL || dsm_credit_may_send(&peer->credit, DSM_CREDIT_SIGNAL));
}

static void count(struct dsm_peer *peer, const struct net_xfer *t)
{
	peer->qp[DSM_VC_B].sq_used++;
	peer->stats.wrs++;
	if (t->x.yields) {
		peer->yielding.bytes += bytes_of(t);
		peer->yielding.reads += t->x.op == DSM_XFER_READ;
	} else if (peer->xfer_yields.head) {
		peer->stats.xfers_first++;
	}
	if (t->x.op == OP_REGISTER)
		return;
	peer->stats.xfers[t->x.op]++;
	peer->stats.xfer_bytes += bytes_of(t);
	if (t->x.op == DSM_XFER_SIGNAL) {
		dsm_credit_use(&peer->credit, DSM_CREDIT_SIGNAL);
		peer->qp[DSM_VC_B].tx_seq++;
	}
}

/* The device does not have it any more. */
static void uncount(struct dsm_peer *peer, const struct net_xfer *t)
{
	peer->qp[DSM_VC_B].sq_used--;
	if (t->x.yields) {
		peer->yielding.bytes -= bytes_of(t);
		peer->yielding.reads -= t->x.op == DSM_XFER_READ;
	}
}

/* The list whose first transfer goes next, or NULL: none may. What yields overtakes nothing. */
static struct dsm_xfer_list *next_list(struct dsm_peer *peer)
{
	struct dsm_xfer_list *l = peer->xfer_wait.head ? &peer->xfer_wait : &peer->xfer_yields;

	return l->head && may_post(peer, to_net(l->head)) ? l : NULL;
}

/* Hand a chain of transfers to the device; the last one's completion is told. */
static void ring(struct dsm_peer *peer, struct ib_send_wr *first, struct net_xfer *last)
{
	if (!first)
		return;
	ask_completion(peer, last);
	peer->stats.doorbells++;
	/* What was not taken stays in the list, and comes back with the rest. */
	if (ib_post_send(peer->qp[DSM_VC_B].id->qp, first, NULL))
		dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ECONNRESET, "cannot post a transfer");
}

/**
 * dsm_xfer_waits() - is there a transfer that the device does not have yet?
 * @peer: peer
 *
 * Context: peer lock held.
 * Return: true if so.
 */
bool dsm_xfer_waits(const struct dsm_peer *peer)
{
	lockdep_assert_held(&peer->lock);
	return peer->xfer_wait.head || peer->xfer_yields.head;
}

/**
 * dsm_xfer_push() - post all that room and credit allow, as one chain
 * @peer: peer
 *
 * Context: peer lock held; any.
 */
void dsm_xfer_push(struct dsm_peer *peer)
{
	struct ib_send_wr *first = NULL, **link = &first;
	struct net_xfer *t, *last = NULL;
	struct dsm_xfer_list *l;

	lockdep_assert_held(&peer->lock);
	if ((peer->state != DSM_PEER_UP && !peer->leaving) || peer->resume.broken)
		return;
	/* Else the connection with this node itself would end, which nobody makes anew; the watchdog looks again. */
	if (dsm_peer_is_self(peer) && !dsm_link_is_up(peer))
		return;
	while ((l = next_list(peer))) {
		t = to_net(l->head);
		if (dsm_xfer_map(t)) {
			dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -ECONNRESET, "cannot map a transfer");
			break;
		}
		list_take(l);
		if (!peer->xfer_posted.head)
			peer->xfer_moved = jiffies;
		list_add_xfer(&peer->xfer_posted, &t->x);
		fill(t);
		count(peer, t);
		if (wants_completion(peer, t))
			ask_completion(peer, t);
		*link = &t->wr;
		link = &t->wr.next;
		last = t;
	}
	*link = NULL;
	ring(peer, first, last);
}

/* ---- completion ---- */

static void give_back(struct dsm_net *net, struct dsm_xfer_list *l, int status)
{
	while (l->head) {
		struct net_xfer *t = to_net(list_take(l));

		dsm_xfer_unmap(t);
		if (!t->settled || (status && t->x.status == DSM_XFER_IN_DOUBT))
			t->x.status = status;
		if (!t->x.status)
			dsm_xfer_land(t);
		t->x.result = t->old;
		if (t->tell)
			complete(t->tell);
		else
			net->ops->xfer_done(net->ctx, &t->x);
	}
}

/* What is settled at the head of those posted. */
static void take_settled(struct dsm_peer *peer, struct dsm_xfer_list *back)
{
	while (peer->xfer_posted.head && to_net(peer->xfer_posted.head)->settled)
		list_add_xfer(back, list_take(&peer->xfer_posted));
}

static void done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct net_xfer *t = container_of(wc->wr_cqe, struct net_xfer, cqe);
	struct dsm_peer *peer = t->peer;
	struct dsm_qp *b = &peer->qp[DSM_VC_B];
	struct dsm_xfer_list back;
	struct dsm_xfer *x;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		dsm_qp_error(b, wc->status);
		return;
	}
	if (dsm_fault_is_deaf(b))
		return;
	list_init(&back);
	spin_lock_bh(&peer->lock);
	/* From then on the device's word counts for nothing: what it has is settled when the connection stands again. */
	if (unlikely(!b->distrusted && dsm_xfer_brought_nothing(t))) {
		b->distrusted = true;
		dsm_resume_break_locked(peer, DSM_WHY_CAUSE, -EIO, "a transfer brought nothing");
	}
	if (unlikely(b->distrusted)) {
		spin_unlock_bh(&peer->lock);
		return;
	}
	do {
		x = list_take(&peer->xfer_posted);
		list_add_xfer(&back, x);
		if (!to_net(x)->settled)
			uncount(peer, to_net(x));
	} while (x != &t->x);
	take_settled(peer, &back);
	peer->xfer_moved = jiffies;
	dsm_xfer_push(peer);
	if (!b->sq_used)
		wake_up(&peer->wait);
	spin_unlock_bh(&peer->lock);
	give_back(peer->net, &back, 0);
}

/* ---- after a reconnection ---- */

/**
 * dsm_xfer_signals() - signals whose completion was not seen
 * @peer: peer
 *
 * Context: peer lock held.
 * Return: their number.
 */
u32 dsm_xfer_signals(const struct dsm_peer *peer)
{
	const struct dsm_xfer *x;
	u32 n = 0;

	lockdep_assert_held(&peer->lock);
	for (x = peer->xfer_posted.head; x; x = x->next)
		n += x->op == DSM_XFER_SIGNAL && !container_of(x, struct net_xfer, x)->settled;
	return n;
}

/* What becomes of a transfer. True: it is to be posted again. */
static bool decide(struct dsm_peer *peer, struct net_xfer *t, bool overtook)
{
	enum dsm_seq_fate fate = dsm_seq_fate(t->x.op, overtook);

	if (fate == DSM_SEQ_REPEAT)
		return true;
	t->settled = true;
	uncount(peer, t);
	/* An atomic, or a registration: whoever wants it has to find out. */
	t->x.status = fate == DSM_SEQ_DONE ? 0 : DSM_XFER_IN_DOUBT;
	return false;
}

/**
 * dsm_xfer_again() - post again what the peer lacks, on a new connection
 * @peer: peer; what it has was checked
 * @back: transfers that are back, for dsm_xfer_give_back()
 *
 * Context: peer lock held; any.
 */
void dsm_xfer_again(struct dsm_peer *peer, struct dsm_xfer_list *back)
{
	struct dsm_qp *b = &peer->qp[DSM_VC_B];
	u32 missing = b->tx_seq - b->tx_told, left = dsm_xfer_signals(peer);
	struct ib_send_wr *first = NULL, **link = &first;
	struct net_xfer *t, *last = NULL;
	struct dsm_xfer *x;

	lockdep_assert_held(&peer->lock);
	for (x = peer->xfer_posted.head; x; x = x->next) {
		t = to_net(x);
		if (t->settled)
			continue;
		/* While signals from here on are more than it lacks, it has one of them. */
		if (decide(peer, t, left > missing)) {
			*link = &t->wr;
			link = &t->wr.next;
			last = t;
			peer->stats.wrs++;
		}
		left -= x->op == DSM_XFER_SIGNAL;
	}
	*link = NULL;
	b->distrusted = false;
	peer->unsignalled = 0;
	peer->xfer_moved = jiffies;
	ring(peer, first, last);
	take_settled(peer, back);
}

/**
 * dsm_xfer_give_back() - tell the shell of transfers that are back
 * @peer: peer
 * @back: from dsm_xfer_again()
 *
 * Context: process, no lock held; calls the shell.
 */
void dsm_xfer_give_back(struct dsm_peer *peer, struct dsm_xfer_list *back)
{
	give_back(peer->net, back, 0);
}

/**
 * dsm_xfer_purge() - give back what a lost peer did not do
 * @peer: peer, not up any more and drained: nothing is added, the device has nothing. A registration may be withdrawn
 *
 * Context: process; calls the shell.
 */
void dsm_xfer_purge(struct dsm_peer *peer)
{
	struct dsm_xfer_list posted, wait, yields;

	spin_lock_bh(&peer->lock);
	take_all(&posted, &peer->xfer_posted);
	take_all(&wait, &peer->xfer_wait);
	take_all(&yields, &peer->xfer_yields);
	spin_unlock_bh(&peer->lock);
	give_back(peer->net, &posted, -EHOSTDOWN);
	give_back(peer->net, &wait, -EHOSTDOWN);
	give_back(peer->net, &yields, -EHOSTDOWN);
}

/* ---- handing over ---- */

/* Is this what our own shell may hand over to this node? */
static bool is_sane(const struct dsm_net *net, const struct dsm_xfer *x, u16 dst)
{
	if (x->dst != dst || x->op >= DSM_XFER_OPS || x->n_segs > DSM_XFER_SEGS)
		return false;
	if (x->op == DSM_XFER_CAS || x->op == DSM_XFER_ADD)
		return net->atomics && !x->n_segs && !(x->remote % sizeof(u64));
	return x->n_segs || x->op == DSM_XFER_SIGNAL;
}

/* A registration needs nothing of the peer, so no signal that waits for its credit is to be in front of one. */
static void enlist(struct dsm_peer *peer, struct dsm_xfer *x)
{
	if (x->op == OP_REGISTER)
		list_push(&peer->xfer_wait, x);
	else
		list_add_xfer(x->yields ? &peer->xfer_yields : &peer->xfer_wait, x);
}

/* All or none of a list that is sane. */
static int hand_over(struct dsm_peer *peer, struct dsm_xfer *x)
{
	struct dsm_xfer *next;
	int err = -EHOSTDOWN;

	spin_lock_bh(&peer->lock);
	if (peer->state == DSM_PEER_UP) {
		for (; x; x = next) {
			next = x->next;
			to_net(x)->peer = peer;
			to_net(x)->settled = false;	/* the shell uses them again */
			dsm_xfer_expect(to_net(x));
			enlist(peer, x);
		}
		dsm_xfer_push(peer);
		err = 0;
	}
	spin_unlock_bh(&peer->lock);
	return err;
}

/**
 * dsm_net_xfer() - hand transfers over
 * @net:  transport
 * @xfer: list of them, all to one node
 *
 * Context: process; takes the peer's lock, never waits for the network.
 * Return: 0, then each comes back by xfer_done(); -EHOSTDOWN if the peer is not up, -EOPNOTSUPP if
 *         the device cannot, -EINVAL if one makes no sense, which is a bug of the caller: then all
 *         are still the caller's.
 */
int dsm_net_xfer(struct dsm_net *net, struct dsm_xfer *xfer)
{
	struct dsm_peer *peer;
	struct dsm_xfer *x;
	int err;

	if (!net->one_sided)
		return -EOPNOTSUPP;
	for (x = xfer; x; x = x->next)
		if (WARN_ON_ONCE(!is_sane(net, x, xfer->dst)))
			return -EINVAL;
	peer = dsm_peer_find_any(net, xfer->dst);
	if (!peer)
		return -EHOSTDOWN;
	err = hand_over(peer, xfer);
	dsm_peer_put(peer);
	return err;
}

/* If the network device is down. False: it is not, or the transfer was posted by now, or is back. */
static bool withdraw(struct dsm_peer *peer, struct net_xfer *t)
{
	struct dsm_xfer **link = &peer->xfer_wait.head;
	bool found;

	spin_lock_bh(&peer->lock);
	/* One that is not up any more gives it back, and its ids go. */
	found = peer->state == DSM_PEER_UP && !dsm_link_is_up(peer);
	while (found && *link && *link != &t->x)
		link = &(*link)->next;
	found = found && *link;
	if (found) {
		*link = t->x.next;
		if (!*link)
			peer->xfer_wait.tail = link;
	}
	spin_unlock_bh(&peer->lock);
	return found;
}

/* What goes to this node itself waits while the network device is down, and nobody declares this node lost. */
static int wait_registered(struct dsm_peer *peer, struct net_xfer *t)
{
	unsigned long patience = msecs_to_jiffies(peer->net->cfg.peer_timeout_ms);

	while (!wait_for_completion_timeout(t->tell, patience))
		if (dsm_peer_is_self(peer) && withdraw(peer, t))
			return -ENETDOWN;
	return t->x.status;
}

/**
 * dsm_xfer_register() - make a registration valid
 * @peer:   peer on whose connection B the work request goes
 * @mr:     mapped, with its new key
 * @access: enum ib_access_flags
 *
 * Context: process; sleeps until the device has done it or the peer is lost.
 * Return: 0; -EHOSTDOWN; -ENETDOWN the network device was down for peer_timeout_ms; -EAGAIN: the connection broke and stands again, but nobody knows whether
 *         the registration took place: it is to be made anew.
 */
int dsm_xfer_register(struct dsm_peer *peer, struct ib_mr *mr, u32 access)
{
	DECLARE_COMPLETION_ONSTACK(finished);
	struct net_xfer *t = to_net(dsm_net_xfer_alloc(peer->net, GFP_KERNEL));
	int err;

	t->x.op = OP_REGISTER;
	t->x.dst = peer->node;
	t->tell = &finished;
	t->reg.wr.opcode = IB_WR_REG_MR;
	t->reg.mr = mr;
	t->reg.key = mr->rkey;
	t->reg.access = access;
	err = hand_over(peer, &t->x);
	if (!err)
		err = wait_registered(peer, t);
	dsm_net_xfer_free(peer->net, &t->x);
	return err;
}
