// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The transport as a whole: start, stop, removal of its device, and the calls
 * of transport.h that are about peers. Never touches a message.
 */
#include <linux/slab.h>

#include "net.h"
#include "tune.h"
#include "xfer.h"

/* Bounds on the silence of a peer: several beats must fit, and people wait for it. */
#define TIMEOUT_MIN_MS 200
#define TIMEOUT_MAX_MS 600000

/*
 * Soft-RoCE does not restart its timer on progress; under emulation anything
 * below 268 ms (4.096 us << 16) sends duplicates instead of waiting.
 */
#define ACK_TIMEOUT_MIN 16
#define ACK_TIMEOUT_MAX 30
#define RETRIES_MAX 6

/* Pause before a connection that met the remains of the last one is tried again. */
#define RETRY_MS 50

/*
 * Bound of the first attempt to connect, twice as much for each further one:
 * rdma_cm itself asks again only after four seconds when a packet is lost.
 */
#define ATTEMPT_MS 1500

static LIST_HEAD(nets);
static DEFINE_MUTEX(nets_mutex);

/**
 * dsm_net_hold() - keep a transport from being freed
 * @net: transport
 *
 * Context: any but interrupts.
 * Return: 0; -ESHUTDOWN if it is stopping, -ENODEV if its device was removed.
 */
int dsm_net_hold(struct dsm_net *net)
{
	int err;

	spin_lock(&net->lock);
	err = net->stopping;
	if (!err)
		net->users++;
	spin_unlock(&net->lock);
	return err;
}

/**
 * dsm_net_release() - undo dsm_net_hold()
 * @net: transport; not to be touched afterwards
 *
 * Context: any but interrupts.
 */
void dsm_net_release(struct dsm_net *net)
{
	spin_lock(&net->lock);
	if (!--net->users)
		/* Under the lock, since dsm_net_stop() frees @net once it sees 0 there. */
		wake_up_all(&net->idle);
	spin_unlock(&net->lock);
}

static bool is_unused(struct dsm_net *net)
{
	bool unused;

	spin_lock(&net->lock);
	unused = !net->users;
	spin_unlock(&net->lock);
	return unused;
}

/**
 * dsm_net_fail_peers() - this node cannot go on with anybody
 * @net:    transport
 * @reason: static text, for the log
 *
 * They hear of it as of any loss.
 *
 * Context: process.
 */
void dsm_net_fail_peers(struct dsm_net *net, const char *reason)
{
	struct dsm_peer *peer;

	spin_lock(&net->lock);
	list_for_each_entry(peer, &net->peers, link)
		dsm_peer_fail(peer, DSM_WHY_CAUSE, -ECONNRESET, reason);
	spin_unlock(&net->lock);
}

/* Refuse new peers and close those there are; under nets_mutex. */
static void begin_close(struct dsm_net *net, int err, const char *reason)
{
	struct dsm_peer *peer;

	spin_lock(&net->lock);
	net->stopping = err;
	spin_unlock(&net->lock);
	dsm_cm_unlisten(net);
	if (err == -ESHUTDOWN) {
		spin_lock(&net->lock);
		list_for_each_entry(peer, &net->peers, link)
			dsm_peer_leave(peer, reason);
		spin_unlock(&net->lock);
	} else {
		dsm_net_fail_peers(net, reason);
	}
	wake_up_all(&net->idle);
}

static void device_put(struct dsm_net *net)
{
	dsm_mr_release_all(net);
	if (net->pd_data)
		ib_dealloc_pd(net->pd_data);
	if (net->pd_ctl)
		ib_dealloc_pd(net->pd_ctl);
	net->pd_data = NULL;
	net->pd_ctl = NULL;
	net->dev = NULL;
}

static struct ib_client client;

/*
 * Called before rdma_cm tells its ids, since it registered
 * first: peers go while all still works.
 */
static void device_removed(struct ib_device *dev, void *data)
{
	struct dsm_net *net;

	mutex_lock(&nets_mutex);
	list_for_each_entry(net, &nets, link) {
		if (net->dev != dev)
			continue;
		pr_warn("dsm: RDMA device %s is removed: all peers are lost\n", net->dev_name);
		begin_close(net, -ENODEV, "RDMA device removed");
		wait_event(net->idle, is_unused(net));
		dsm_net_mcast_close(net);
		device_put(net);
	}
	ib_set_client_data(dev, &client, NULL);
	mutex_unlock(&nets_mutex);
}

/* Until it is told to be removed: a transport that begins between that and the end of rdma_cm's ids would be told nothing. */
static int device_added(struct ib_device *dev)
{
	ib_set_client_data(dev, &client, dev);
	return 0;
}

static struct ib_client client = {
	.name = "dsm",
	.add = device_added,
	.remove = device_removed,
};

/**
 * dsm_net_init() - once, when the module is loaded
 *
 * Context: process.
 * Return: 0, or -ENOMEM.
 */
int dsm_net_init(void)
{
	int err = dsm_send_init();

	if (err)
		return err;
	err = dsm_xfer_init();
	if (err)
		goto err_send;
	err = dsm_cq_init();
	if (err)
		goto err_xfer;
	err = ib_register_client(&client);
	if (err)
		goto err_cq;
	return 0;

err_cq:
	dsm_cq_exit();
err_xfer:
	dsm_xfer_exit();
err_send:
	dsm_send_exit();
	return err;
}

/**
 * dsm_net_exit() - once, when the module is unloaded; every transport was stopped
 *
 * Context: process.
 */
void dsm_net_exit(void)
{
	ib_unregister_client(&client);
	dsm_cq_exit();
	dsm_xfer_exit();
	dsm_send_exit();
}

/*
 * Choose time-out and retries so that a silent peer is given the whole bound. The first try
 * does not count: soft-RoCE's timer may have been running for an older packet.
 */
static void timing_init(struct dsm_net *net)
{
	u64 bound_ns = (u64)net->cfg.peer_timeout_ms * NSEC_PER_MSEC;
	u64 retries;

	net->ack_timeout = ACK_TIMEOUT_MIN;
	while (net->ack_timeout < ACK_TIMEOUT_MAX &&
	       (4096ull << net->ack_timeout) * RETRIES_MAX < bound_ns)
		net->ack_timeout++;
	retries = DIV64_U64_ROUND_UP(bound_ns, 4096ull << net->ack_timeout);
	net->retries = clamp_t(u64, retries, 1, RETRIES_MAX);
	if (DSM_COMPAT_QP_MUST_SETTLE)
		net->settle = nsecs_to_jiffies(4096ull << net->ack_timeout) + HZ / 10;
}

static bool is_one_sided(const struct dsm_net *net)
{
	const struct ib_device_attr *attrs = &net->dev->attrs;
	u32 segs = dsm_xfer_segs(net);

	return rdma_cap_ib_cm(net->dev, 1) && attrs->max_send_sge >= segs && attrs->max_sge_rd >= segs &&
	       attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS &&
	       attrs->max_fast_reg_page_list_len >= DSM_MR_PAGES;
}

static int device_get(struct dsm_net *net)
{
	struct ib_pd *pd;

	if (!ib_get_client_data(net->dev, &client))
		return -ENODEV;
	strscpy(net->dev_name, dev_name(&net->dev->dev), sizeof(net->dev_name));
	net->software = ib_uses_virt_dma(net->dev);
	net->one_sided = is_one_sided(net);
	net->atomics = net->dev->attrs.atomic_cap != IB_ATOMIC_NONE;
	pd = ib_alloc_pd(net->dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	net->pd_ctl = pd;
	pd = ib_alloc_pd(net->dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	net->pd_data = pd;
	return 0;
}

static struct dsm_net *net_alloc(const struct dsm_net_config *cfg, const struct dsm_net_ops *ops,
				 void *ctx)
{
	struct dsm_net *net = kzalloc(sizeof(*net), GFP_KERNEL);

	if (!net)
		return NULL;
	net->cfg = *cfg;
	net->ops = ops;
	net->ctx = ctx;
	net->self = cfg->node;
	net->cluster = cfg->cluster;
	spin_lock_init(&net->lock);
	mutex_init(&net->mr_lock);
	INIT_LIST_HEAD(&net->mrs);
	INIT_LIST_HEAD(&net->peers);
	INIT_LIST_HEAD(&net->nappers);
	spin_lock_init(&net->nappers_lock);
	INIT_DELAYED_WORK(&net->left_work, dsm_cq_left_work);
	INIT_WORK(&net->tune_work, dsm_tune_work);
	net->poll = cfg->poll;
	net->messages = dsm_send_pool();
	net->xfers = dsm_xfer_pool();
	init_waitqueue_head(&net->idle);
	timing_init(net);
	net->wq = alloc_workqueue("dsm_net", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	net->slow_wq = alloc_workqueue("dsm_net_slow", WQ_UNBOUND, 0);
	net->beat_wq = alloc_workqueue("dsm_beat", WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	return net;
}

static void net_free(struct dsm_net *net)
{
	dsm_cm_unlisten(net);
	device_put(net);
	dsm_mr_forget_all(net);
	/* No queue is left that could tell of anything. */
	cancel_delayed_work_sync(&net->left_work);
	if (net->beat_wq)
		destroy_workqueue(net->beat_wq);
	if (net->slow_wq)
		destroy_workqueue(net->slow_wq);
	if (net->wq)
		destroy_workqueue(net->wq);
	mempool_destroy(net->messages);
	mempool_destroy(net->xfers);
	kfree(net);
}

/**
 * dsm_net_start() - listen on an address
 * @cfg: parameters, copied
 * @ops: the shell's functions; stay valid until dsm_net_stop() returns
 * @ctx: handed to them
 *
 * Context: process, sleeps.
 * Return: the transport, or an ERR_PTR: -EINVAL (a node id or a bound out of range), -EADDRNOTAVAIL
 *         (not an address of this machine, or none in particular), -ENODEV (no RDMA
 *         device serves it), -EADDRINUSE, -ENOMEM.
 */
struct dsm_net *dsm_net_start(const struct dsm_net_config *cfg, const struct dsm_net_ops *ops,
			      void *ctx)
{
	struct dsm_net *net;
	int err;

	if ((cfg->node >= DSM_MAX_NODES && cfg->node != DSM_NO_NODE) ||
	    cfg->peer_timeout_ms < TIMEOUT_MIN_MS || cfg->peer_timeout_ms > TIMEOUT_MAX_MS)
		return ERR_PTR(-EINVAL);
	/* Peers are told this address: it has to be one. */
	if (cfg->listen.sin_family != AF_INET || cfg->listen.sin_addr.s_addr == htonl(INADDR_ANY))
		return ERR_PTR(-EADDRNOTAVAIL);
	net = net_alloc(cfg, ops, ctx);
	if (!net)
		return ERR_PTR(-ENOMEM);

	/* Held so that the device cannot be removed before the transport is in the list. */
	mutex_lock(&nets_mutex);
	if (!net->messages || !net->xfers || !net->wq || !net->slow_wq || !net->beat_wq)
		err = -ENOMEM;
	else
		err = dsm_cm_listen(net);
	if (!err)
		err = device_get(net);
	if (!err)
		err = dsm_cm_serve(net);
	if (err) {
		net_free(net);
		net = ERR_PTR(err);
	} else {
		list_add_tail(&net->link, &nets);
		dsm_beat_start(net);
	}
	mutex_unlock(&nets_mutex);
	return net;
}

/**
 * dsm_net_stop() - close all peers in good order and free the transport
 * @net: transport; no other call may be going on or follow, except
 *       dsm_net_connect(), which ends, and what the shell's functions call
 *
 * Context: process, sleeps; a peer that does not answer costs two seconds. Not
 * from one of the shell's functions.
 */
void dsm_net_stop(struct dsm_net *net)
{
	mutex_lock(&nets_mutex);
	begin_close(net, -ESHUTDOWN, "this node stops");
	mutex_unlock(&nets_mutex);
	/* Closed queue pairs have to settle: others join and leave meanwhile. */
	wait_event(net->idle, is_unused(net));
	mutex_lock(&nets_mutex);
	/* Until it has given everything back, the device's removal has to find it. */
	list_del(&net->link);
	dsm_net_mcast_close(net);
	device_put(net);
	mutex_unlock(&nets_mutex);
	dsm_tune_stop(net);
	dsm_beat_stop(net);
	net_free(net);
}

static bool is_over(struct dsm_peer *peer)
{
	return READ_ONCE(peer->state) >= DSM_PEER_CLOSING;
}

/* Result of a wait on a peer's way up: 0 to go on. */
static int waited(struct dsm_peer *peer, long left)
{
	int err = 0;

	if (left < 0)
		return -EINTR;
	spin_lock_bh(&peer->lock);
	if (is_over(peer))
		err = peer->err;
	else if (!left)
		err = -ETIMEDOUT;
	spin_unlock_bh(&peer->lock);
	return err;
}

static long left_until(unsigned long end)
{
	unsigned long now = jiffies;

	return time_before(now, end) ? end - now : 0;
}

static int connect_vc(struct dsm_peer *peer, enum dsm_vc vc, unsigned long end)
{
	struct dsm_qp *qp = &peer->qp[vc];
	long left = left_until(end);
	int err;

	err = dsm_cm_start(peer, vc, jiffies_to_msecs(left));
	if (err)
		return err;
	left = wait_event_killable_timeout(peer->wait, READ_ONCE(qp->established) || is_over(peer),
					   left);
	return waited(peer, left);
}

/* One attempt; -EAGAIN: the remains of a former connection are in the way. */
static int connect_once(struct dsm_net *net, const struct sockaddr_in *addr, unsigned long end,
			u16 *node, u16 *version)
{
	struct dsm_peer *peer = dsm_peer_new(net, true);
	int err = 0, vc;
	long left;

	if (IS_ERR(peer))
		return PTR_ERR(peer);
	spin_lock(&net->lock);
	peer->self = net->self;
	peer->cluster = net->cluster;
	spin_unlock(&net->lock);

	err = dsm_peer_claim_addr(peer, addr);
	for (vc = DSM_VC_C; !err && vc < DSM_VC_COUNT; vc++)
		err = connect_vc(peer, vc, end);
	if (!err) {
		left = wait_event_killable_timeout(peer->wait,
						   READ_ONCE(peer->up_done) || is_over(peer),
						   left_until(end));
		err = waited(peer, left);
	}
	if (err)
		dsm_peer_fail(peer, DSM_WHY_CAUSE, err, "connecting failed");
	else
		*node = peer->node;
	/* Written before the failure that was waited for. */
	if (err == -EPROTONOSUPPORT)
		*version = peer->version;
	dsm_peer_put(peer);
	return err;
}

/**
 * dsm_net_connect() - connect to a node and wait until it is up
 * @net:        transport
 * @addr:       the node's listening address
 * @timeout_ms: bound
 * @node:       its id, if 0 is returned
 * @version:    protocol version that it speaks, if -EPROTONOSUPPORT is returned
 *
 * An attempt that gets no answer, or meets what is left of a former connection, is
 * repeated within the bound.
 *
 * Context: process, sleeps, killable. Not from one of the shell's functions.
 * Return: 0; -ETIMEDOUT, -EINTR (killed); -ECONNREFUSED (nobody listens there), -EHOSTUNREACH or
 *         -ENETUNREACH (no way there), -EPROTONOSUPPORT (other protocol version), -EINVAL (own
 *         address or not IPv4), -ESTALE (other cluster), -EEXIST (connected already), -EPROTO
 *         (answer breaks a rule), -ESHUTDOWN (stopping), -ENODEV (device removed), -ENOMEM, or
 *         what admit returned there.
 */
int dsm_net_connect(struct dsm_net *net, const struct sockaddr_in *addr, u32 timeout_ms, u16 *node,
		    u16 *version)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	unsigned long bound = msecs_to_jiffies(ATTEMPT_MS);
	int err;

	if (addr->sin_family != AF_INET ||
	    (addr->sin_addr.s_addr == net->cfg.listen.sin_addr.s_addr &&
	     addr->sin_port == net->cfg.listen.sin_port))
		return -EINVAL;
	err = dsm_net_hold(net);
	if (err)
		return err;
	for (;;) {
		err = connect_once(net, addr, jiffies + min_t(long, bound, left_until(end)), node,
				   version);
		if ((err != -EAGAIN && err != -ETIMEDOUT) || !left_until(end))
			break;
		if (err == -ETIMEDOUT)
			bound *= 2;
		if (wait_event_killable_timeout(net->idle, READ_ONCE(net->stopping),
						msecs_to_jiffies(RETRY_MS)) < 0) {
			err = -EINTR;
			break;
		}
	}
	if (err == -EAGAIN)
		err = -ETIMEDOUT;
	dsm_net_release(net);
	return err;
}

/**
 * dsm_net_disconnect() - refuse new peers, and close those there are in good order
 * @net: transport
 *
 * What was accepted for sending is sent first, if a peer takes it within a second. This node's connection to itself
 * stays.
 *
 * Context: process, sleeps; not from one of the shell's functions. When it returns, peer_lost() has returned for
 *          every peer that peer_up() was called for, and no further one comes up.
 */
void dsm_net_disconnect(struct dsm_net *net)
{
	struct dsm_peer *peer;

	spin_lock(&net->lock);
	if (!net->stopping)
		net->stopping = -ESHUTDOWN;
	list_for_each_entry(peer, &net->peers, link)
		if (!dsm_peer_is_self(peer))
			dsm_peer_leave(peer, "this node closes");
	spin_unlock(&net->lock);
	wake_up_all(&net->idle);
	wait_event(net->idle, !atomic_read(&net->announced));
}

/**
 * dsm_net_self() - own node id
 * @net: transport
 *
 * Context: any.
 * Return: the id, DSM_NO_NODE as long as none was assigned.
 */
u16 dsm_net_self(const struct dsm_net *net)
{
	return READ_ONCE(net->self);
}

/**
 * dsm_net_cluster() - cluster id
 * @net: transport
 *
 * Context: any.
 * Return: the id, 0 as long as it is not known.
 */
u64 dsm_net_cluster(const struct dsm_net *net)
{
	return READ_ONCE(net->cluster);
}

/**
 * dsm_net_device() - name of the RDMA device
 * @net: transport
 *
 * Context: any.
 * Return: the name, also after the device was removed.
 */
const char *dsm_net_device(const struct dsm_net *net)
{
	return net->dev_name;
}

/**
 * dsm_net_one_sided() - can the device do all that transfers and registrations need
 * @net: transport
 *
 * Context: any.
 * Return: true if so.
 */
bool dsm_net_one_sided(const struct dsm_net *net)
{
	return net->one_sided;
}

/**
 * dsm_net_has_atomics() - can the device do compare-and-swap and fetch-and-add
 * @net: transport
 *
 * Context: any.
 * Return: true if so.
 */
bool dsm_net_has_atomics(const struct dsm_net *net)
{
	return net->one_sided && net->atomics;
}

/**
 * dsm_net_peer_stats() - counters of one peer
 * @net:  transport
 * @node: peer
 * @out:  filled completely
 *
 * Context: any but interrupts.
 * Return: 0, or -ENOENT if there is no such peer.
 */
int dsm_net_peer_stats(struct dsm_net *net, u16 node, struct dsm_net_peer_stats *out)
{
	struct dsm_peer *peer = dsm_peer_find(net, node);
	int i;

	if (!peer)
		return -ENOENT;
	spin_lock_bh(&peer->lock);
	*out = peer->stats;
	for (i = 0; i < DSM_CLASS_CTL; i++)
		out->credits[i] = (u16)(peer->credit.of[i].limit - peer->credit.of[i].sent);
	out->silent_ms = jiffies_to_msecs(jiffies - READ_ONCE(peer->last_rx));
	spin_unlock_bh(&peer->lock);
	dsm_peer_put(peer);
	return 0;
}
