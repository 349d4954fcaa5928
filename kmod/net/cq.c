// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Completion queues: one thread at a time takes completions off a queue and runs their handlers,
 * a work item or a thread that waits for an answer. Knows no message.
 *
 * A queue fires once and is then silent until it is armed again, which whoever serves it does
 * after emptying it. When a queue fires while somebody spins, no work item is queued: it is marked
 * instead (@fired, and the node's bit in the transport's), and a spinning thread serves it. The
 * last one that stops spinning queues work for what is still marked. The marks are set before the
 * number of spinning threads is read, and read after it was lowered, so none is missed.
 *
 * A thread that sleeps for an answer may be woken to serve a marked queue (dsm_net_nap()); then it counts
 * as one that spins until it has.
 *
 * Whoever spins or is woken is a user's thread, and may not get a processor for long: of low priority, throttled, stopped. So what
 * was left to one is looked at after a while, and work is queued if it is still there.
 */
#include <linux/sched.h>
#include <linux/sched/stat.h>

#include "net.h"

static struct workqueue_struct *cq_wq;

/* After so many the thread looks whether its own answer was among them. */
#define NAP_BATCHES 4
/* So long may what is left to a thread wait for that. */
#define LEFT_JIFFIES (HZ / 50 ?: 1)

/* A thread that sleeps for an answer; in the list until it is woken to serve, or wakes. */
struct napper {
	struct list_head link;
	struct task_struct *task;
};

/**
 * dsm_cq_init() - once, when the module is loaded
 *
 * Context: process.
 * Return: 0, or -ENOMEM.
 */
int dsm_cq_init(void)
{
	cq_wq = alloc_workqueue("dsm_cq", WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	return cq_wq ? 0 : -ENOMEM;
}

/**
 * dsm_cq_exit() - undo dsm_cq_init(); every queue was destroyed
 *
 * Context: process.
 */
void dsm_cq_exit(void)
{
	destroy_workqueue(cq_wq);
}

/* Take off what is there, at most one batch. */
static int serve_batch(struct dsm_cq *q)
{
	int i, n;

	lockdep_assert_held(&q->polling);
	n = ib_poll_cq(q->cq, ARRAY_SIZE(q->wc), q->wc);
	for (i = 0; i < n; i++)
		q->wc[i].wr_cqe->done(q->cq, &q->wc[i]);
	return max(n, 0);
}

/* Let it fire again. True: completions came meanwhile that it will not tell of. */
static bool arm(struct dsm_cq *q)
{
	return ib_req_notify_cq(q->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

static void serve_work(struct work_struct *work)
{
	struct dsm_cq *q = container_of(work, struct dsm_cq, work);
	const char *broken = READ_ONCE(q->broken);

	if (broken)
		dsm_peer_fail(q->peer, DSM_WHY_CAUSE, -ECONNRESET, broken);
	mutex_lock(&q->polling);
	WRITE_ONCE(q->fired, false);
	do {
		while (q->cq && serve_batch(q))
			cond_resched();
	} while (q->cq && arm(q));
	mutex_unlock(&q->polling);
}

/* Only the queues of a peer that is up are surely found by its id until it is drained. */
static bool may_leave(const struct dsm_cq *q)
{
	return q->spun && READ_ONCE(q->peer->state) == DSM_PEER_UP;
}

static void mark(struct dsm_cq *q)
{
	WRITE_ONCE(q->fired, true);
	/* Who sees the node's mark must see the queue's: pairs with serve_peer(). */
	smp_mb__before_atomic();
	set_bit(q->peer->node, q->peer->net->fired);
}

/* Somebody spins, and will look at this queue. */
static bool leave_to_spinner(struct dsm_cq *q)
{
	mark(q);
	/* Pairs with the atomics in dsm_net_spin_end() and dsm_cq_short_begin(). */
	smp_mb__after_atomic();
	return atomic_read(&q->peer->net->spinners) > 0 && !atomic_read(&q->peer->net->starved);
}

/* Nothing else wants this processor, but for a worker of the device that has told of completions. */
static bool is_unused(void)
{
	return is_idle_task(current) || (current->flags & PF_KTHREAD && single_task_running());
}

/*
 * A thread that sleeps for an answer serves the marked queue: one switch less than a work item that
 * wakes it. Only if it runs as soon as a worker would, which has a higher priority.
 */
static bool leave_to_napper(struct dsm_net *net)
{
	struct napper *n;
	unsigned long flags;

	if (list_empty_careful(&net->nappers) || atomic_read(&net->starved) || !is_unused())
		return false;
	spin_lock_irqsave(&net->nappers_lock, flags);
	n = list_first_entry_or_null(&net->nappers, struct napper, link);
	if (n) {
		list_del_init(&n->link);
		wake_up_process(n->task);
	}
	spin_unlock_irqrestore(&net->nappers_lock, flags);
	return n;
}

/* The device tells of completions; any context, the device's own locks may be held. */
static void on_fire(struct ib_cq *cq, void *context)
{
	struct dsm_cq *q = context;

	if (may_leave(q) && (leave_to_spinner(q) || leave_to_napper(q->peer->net)))
		queue_delayed_work(cq_wq, &q->peer->net->left_work, LEFT_JIFFIES);
	else
		queue_work(cq_wq, &q->work);
}

/* The queue itself is broken: nothing more will be told. Any context: the peer's lock may be held here. */
static void on_event(struct ib_event *event, void *context)
{
	struct dsm_cq *q = context;

	WRITE_ONCE(q->broken, ib_event_msg(event->event));
	queue_work(cq_wq, &q->work);
}

/**
 * dsm_cq_prepare() - before anything else
 * @q:    zeroed
 * @peer: owner, not yet visible to anyone
 *
 * Context: any.
 */
void dsm_cq_prepare(struct dsm_cq *q, struct dsm_peer *peer)
{
	/* A handler of receives that is short of messages looks at the queue of sends, whose handlers wait for nothing. */
	static struct lock_class_key of_sends;

	q->peer = peer;
	mutex_init(&q->polling);
	if (q == &peer->tx_cq)
		lockdep_set_class(&q->polling, &of_sends);
	INIT_WORK(&q->work, serve_work);
}

/**
 * dsm_cq_create() - make a completion queue
 * @q:     prepared
 * @cqes:  completions it must hold
 * @spun:  a spinning thread may serve it
 * @quick: its handlers never sleep
 *
 * Context: process, sleeps.
 * Return: 0, -ENOMEM, or what the device says.
 */
int dsm_cq_create(struct dsm_cq *q, int cqes, bool spun, bool quick)
{
	struct dsm_net *net = q->peer->net;
	struct ib_cq_init_attr attr = {
		.cqe = cqes,
		.comp_vector = (u32)atomic_inc_return(&net->vector) % net->dev->num_comp_vectors,
	};
	struct ib_cq *cq;

	q->spun = spun && net->poll == DSM_NET_POLL_DIRECT;
	q->pooled = quick && net->poll == DSM_NET_POLL_SOFTIRQ;
	if (q->pooled)
		cq = ib_alloc_cq_any(net->dev, q, cqes, IB_POLL_SOFTIRQ);
	else
		cq = ib_create_cq(net->dev, on_fire, on_event, q, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	mutex_lock(&q->polling);
	q->cq = cq;
	mutex_unlock(&q->polling);
	if (!q->pooled && arm(q))
		queue_work(cq_wq, &q->work);
	return 0;
}

/**
 * dsm_cq_destroy() - free a completion queue
 * @q: queue; nothing happens if it was not made. Its queue pairs are destroyed
 *
 * Context: process, sleeps.
 */
void dsm_cq_destroy(struct dsm_cq *q)
{
	struct ib_cq *cq = q->cq;

	if (!cq)
		return;
	/* From here on nobody serves it, and nobody queues work for it. */
	mutex_lock(&q->polling);
	q->cq = NULL;
	mutex_unlock(&q->polling);
	cancel_work_sync(&q->work);
	if (q->pooled)
		ib_free_cq(cq);
	else
		ib_destroy_cq(cq);
	/* A device may have told of something until then. */
	cancel_work_sync(&q->work);
}

/* In a spinning thread. @look: even if it did not fire. Returns false if somebody else serves it. */
static bool serve_now(struct dsm_cq *q, bool look, bool *found)
{
	bool fired;

	if (!q->spun || (!look && !READ_ONCE(q->fired)))
		return true;
	if (!mutex_trylock(&q->polling))
		return false;
	if (q->cq) {
		fired = xchg(&q->fired, false);
		if (serve_batch(q))
			*found = true;
		/* Completions that it will not tell of are left to the next look. */
		if (fired && arm(q)) {
			mark(q);
			queue_delayed_work(cq_wq, &q->peer->net->left_work, LEFT_JIFFIES);
		}
	}
	mutex_unlock(&q->polling);
	return true;
}

static bool serve_peer(struct dsm_net *net, u16 node, bool look)
{
	bool found = false, all = true;
	struct dsm_peer *peer;

	/* Before the peer is looked up: one that comes after that and sets the mark has set it for good. */
	clear_bit(node, net->fired);
	/* The queues' marks are read after the node's: pairs with leave_to_spinner(). */
	smp_mb__after_atomic();
	peer = dsm_peer_find_any(net, node);
	if (!peer)
		return false;
	/* Sends first, and marked if they are not: a handler of the others that is short of memory looks for theirs. */
	if (!serve_now(&peer->tx_cq, false, &found))
		set_bit(node, net->fired);
	all &= serve_now(&peer->qp[DSM_VC_B].rx_cq, look, &found);
	all &= serve_now(&peer->qp[DSM_VC_P].rx_cq, look, &found);
	if (!all)
		set_bit(node, net->fired);
	dsm_peer_put(peer);
	return found;
}

/**
 * dsm_net_spin_begin() - this thread is going to spin
 * @net: transport
 *
 * Context: process.
 */
void dsm_net_spin_begin(struct dsm_net *net)
{
	if (net->poll == DSM_NET_POLL_DIRECT)
		atomic_inc(&net->spinners);
}

/**
 * dsm_net_poll() - serve completions in this thread
 * @net:  transport
 * @node: whose queues are looked at although they did not fire, or DSM_NO_NODE
 *
 * Context: process, between begin and end; sleeps as handlers do, never for the network. No lock
 *          may be held that a handler takes.
 * Return: true if something was handled.
 */
bool dsm_net_poll(struct dsm_net *net, u16 node)
{
	bool found = false;
	u32 other;

	if (net->poll != DSM_NET_POLL_DIRECT)
		return false;
	if (node < DSM_MAX_NODES)
		found = serve_peer(net, node, true);
	for_each_set_bit(other, net->fired, DSM_MAX_NODES)
		found |= serve_peer(net, other, false);
	return found;
}

/* @wait: for who serves it; else false if somebody does. */
static bool queue_if_fired(struct dsm_cq *q, bool wait)
{
	if (!READ_ONCE(q->fired))
		return true;
	if (wait)
		mutex_lock(&q->polling);
	else if (!mutex_trylock(&q->polling))
		return false;
	if (q->cq && q->fired)
		queue_work(cq_wq, &q->work);
	mutex_unlock(&q->polling);
	return true;
}

/* Work items for those of a node's queues that were left to a waiting thread. False: some are being served. */
static bool queue_left_of(struct dsm_net *net, u16 node)
{
	struct dsm_peer *peer = dsm_peer_find_any(net, node);
	bool all;

	if (!peer)
		return true;
	all = queue_if_fired(&peer->tx_cq, false);
	all &= queue_if_fired(&peer->qp[DSM_VC_P].rx_cq, false);
	all &= queue_if_fired(&peer->qp[DSM_VC_B].rx_cq, false);
	dsm_peer_put(peer);
	return all;
}

/**
 * dsm_cq_left_work() - look after what was left to waiting threads
 * @work: left_work of a transport
 *
 * Context: process.
 */
void dsm_cq_left_work(struct work_struct *work)
{
	struct dsm_net *net = container_of(to_delayed_work(work), struct dsm_net, left_work);
	bool all = true;
	u16 node;

	/*
	 * Who serves one may have been stopped in the middle of it, which is no reason to leave the others to it: also those of
	 * the same node, whose mark it has taken.
	 */
	for (node = 0; node < DSM_MAX_NODES; node++)
		all &= queue_left_of(net, node);
	if (!all)
		queue_delayed_work(cq_wq, &net->left_work, LEFT_JIFFIES);
}

/**
 * dsm_net_spin_end() - this thread spins no more
 * @net: transport
 *
 * Context: process.
 */
void dsm_net_spin_end(struct dsm_net *net)
{
	bool all = true;
	u32 node;

	if (net->poll != DSM_NET_POLL_DIRECT || !atomic_dec_and_test(&net->spinners))
		return;
	/* The atomic orders this after it; pairs with the second barrier in leave_to_spinner(). */
	for_each_set_bit(node, net->fired, DSM_MAX_NODES)
		all &= queue_left_of(net, node);
	/* Who serves one may do so for as long as its peer sends: this thread does not wait for that. */
	if (!all)
		mod_delayed_work(cq_wq, &net->left_work, 1);
}

/**
 * dsm_cq_short_begin() - there is no memory for a message: those sent must come back
 * @net: transport
 *
 * Whoever is short may be the one that spins, in a handler, and would be left what brings them back.
 *
 * Context: process; also in a handler, but none of a queue of sends.
 */
void dsm_cq_short_begin(struct dsm_net *net)
{
	struct dsm_peer *peer;
	u32 node;

	atomic_inc(&net->starved);
	/* Marks are read after this; pairs with leave_to_spinner(). */
	smp_mb__after_atomic();
	/* Of sends: their handlers never wait for anything. */
	for_each_set_bit(node, net->fired, DSM_MAX_NODES) {
		peer = dsm_peer_find_any(net, node);
		if (!peer)
			continue;
		queue_if_fired(&peer->tx_cq, true);
		dsm_peer_put(peer);
	}
}

/**
 * dsm_cq_short_end() - memory has been had
 * @net: transport
 *
 * Context: any.
 */
void dsm_cq_short_end(struct dsm_net *net)
{
	atomic_dec(&net->starved);
}

/**
 * dsm_net_nap() - sleep, and if woken for it serve completions
 * @net: transport
 *
 * What schedule() is to a thread that waits for an answer of another machine: it has set its state, and
 * checks its condition again afterwards.
 *
 * Context: process, as dsm_net_poll() afterwards.
 */
void dsm_net_nap(struct dsm_net *net)
{
	struct napper n = { .task = current };
	bool serve;
	int i;

	if (net->poll != DSM_NET_POLL_DIRECT) {
		schedule();
		return;
	}
	spin_lock_irq(&net->nappers_lock);
	list_add(&n.link, &net->nappers);
	spin_unlock_irq(&net->nappers_lock);
	schedule();
	spin_lock_irq(&net->nappers_lock);
	serve = list_empty(&n.link);
	list_del_init(&n.link);
	spin_unlock_irq(&net->nappers_lock);
	if (!serve)
		return;
	dsm_net_spin_begin(net);
	for (i = 0; i < NAP_BATCHES && dsm_net_poll(net, DSM_NO_NODE); i++)
		;
	dsm_net_spin_end(net);
}

/**
 * dsm_net_give_way() - let a device that is software do what was posted
 * @net: transport
 *
 * What such a device does runs on this machine's processors, on newer kernels in work items that do
 * not take one from the thread that posted. A thread that goes on computing calls this if
 * another machine waits for what it sent; one that is going to sleep need not. With other devices
 * nothing happens.
 *
 * Context: process, no lock held.
 */
void dsm_net_give_way(const struct dsm_net *net)
{
	if (net->software)
		yield();
}
