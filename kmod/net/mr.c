// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Registrations: lets peers reach given pages, with given rights, under a key. Knows nothing of
 * what is in the pages, and never hands out a key to more than them.
 *
 * Registered by a work request on the queue pair to some peer, but owned by the protection domain
 * of Q, P and B: it outlives that peer. Freed by its owner, or with the transport or the device.
 */
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "net.h"
#include "xfer.h"

/* A registration is made anew so often, while its connection breaks under it and stands again. */
#define TRIES 4

/**
 * struct dsm_mr - a registration
 * @net:  transport
 * @link: in its list
 * @mr:   the device's part; NULL once it is gone. Guarded by the transport's mr_lock
 * @sgt:  the pages, DMA mapped as long as @mr is there
 * @dir:  how they are mapped
 * @addr: remote address of the first byte
 * @rkey: key
 */
struct dsm_mr {
	struct dsm_net *net;
	struct list_head link;
	struct ib_mr *mr;
	struct sg_table sgt;
	enum dma_data_direction dir;
	u64 addr;
	u32 rkey;
};

static u32 ib_access(u32 access)
{
	u32 flags = 0;

	if (access & DSM_MR_READ)
		flags |= IB_ACCESS_REMOTE_READ;
	if (access & DSM_MR_WRITE)
		flags |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	if (access & DSM_MR_ATOMIC)
		flags |= IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE;
	return flags;
}

/* Take the device's part apart, as far as it was made. */
static void release(struct dsm_mr *mr)
{
	struct ib_device *dev = mr->net->dev;

	if (mr->mr)
		ib_dereg_mr(mr->mr);
	mr->mr = NULL;
	if (mr->sgt.nents)
		ib_dma_unmap_sg(dev, mr->sgt.sgl, mr->sgt.orig_nents, mr->dir);
	if (mr->sgt.sgl)
		sg_free_table(&mr->sgt);
	mr->sgt = (struct sg_table){};
}

static int map_pages(struct dsm_mr *mr, struct page **pages, u32 n)
{
	struct ib_device *dev = mr->net->dev;
	int err;

	err = sg_alloc_table_from_pages_segment(&mr->sgt, pages, n, 0, (unsigned long)n << PAGE_SHIFT,
						ib_dma_max_seg_size(dev), GFP_KERNEL);
	if (err)
		return err;
	mr->sgt.nents = ib_dma_map_sg(dev, mr->sgt.sgl, mr->sgt.orig_nents, mr->dir);
	return mr->sgt.nents ? 0 : -ENOMEM;
}

/* Or copies of them, which both sides would have to keep up to date: who accesses them does not know when. */
static bool reaches_pages(const struct dsm_mr *mr)
{
	struct ib_device *dev = mr->net->dev;
	struct scatterlist *sg;
	int i;

	if (mr->net->software)
		return true;
	for_each_sgtable_dma_sg(&mr->sgt, sg, i)
		if (dma_need_sync(dev->dma_device, sg_dma_address(sg)))
			return false;
	return true;
}

static int make(struct dsm_mr *mr, struct dsm_peer *via, struct page **pages, u32 n, u32 access)
{
	struct ib_mr *ib;
	int err;

	err = map_pages(mr, pages, n);
	if (err)
		return err;
	if (!reaches_pages(mr)) {
		pr_warn_once("dsm: %s needs bounce buffers or a cache flushed: pages are not registered, they go by message\n",
			     mr->net->dev_name);
		return -EOPNOTSUPP;
	}
	ib = ib_alloc_mr(mr->net->pd_data, IB_MR_TYPE_MEM_REG, n);
	if (IS_ERR(ib))
		return PTR_ERR(ib);
	mr->mr = ib;
	if (ib_map_mr_sg(ib, mr->sgt.sgl, mr->sgt.nents, NULL, PAGE_SIZE) != mr->sgt.nents)
		return -EOPNOTSUPP;
	/* A device may remember the key that the memory region was made with. */
	ib_update_fast_reg_key(ib, ib_inc_rkey(ib->rkey));
	err = dsm_xfer_register(via, ib, ib_access(access));
	mr->addr = ib->iova;
	mr->rkey = ib->rkey;
	return err;
}

static struct dsm_mr *mr_new(struct dsm_net *net, struct dsm_peer *via, struct page **pages, u32 n,
			     u32 access)
{
	struct dsm_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	int err, tries = TRIES;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->net = net;
	mr->dir = access & (DSM_MR_WRITE | DSM_MR_ATOMIC) ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	do {
		err = make(mr, via, pages, n, access);
		if (err)
			release(mr);
	} while (err == -EAGAIN && --tries);
	if (err) {
		kfree(mr);
		return ERR_PTR(err == -EAGAIN ? -EHOSTDOWN : err);
	}
	mutex_lock(&net->mr_lock);
	list_add_tail(&mr->link, &net->mrs);
	mutex_unlock(&net->mr_lock);
	return mr;
}

/**
 * dsm_net_mr_new() - register pages
 * @net:    transport
 * @via:    peer that is up; who it is has no influence on the result
 * @pages:  pages; they stay the caller's
 * @n:      their number, 1 to DSM_MR_PAGES
 * @access: DSM_MR_* bits
 *
 * Context: process; sleeps, at most until @via is lost. Not from one of the shell's functions.
 * Return: the registration, or an ERR_PTR: -EHOSTDOWN (@via lost or not up, or broken again and again), -ENETDOWN, -ENOMEM, -EOPNOTSUPP
 *         (device), -ENODEV (device removed), -ESHUTDOWN (stopping).
 */
struct dsm_mr *dsm_net_mr_new(struct dsm_net *net, u16 via, struct page **pages, u32 n, u32 access)
{
	struct dsm_peer *peer;
	struct dsm_mr *mr;
	int err;

	if (WARN_ON_ONCE(!n || n > DSM_MR_PAGES || !access))
		return ERR_PTR(-EOPNOTSUPP);
	/* Keeps the device. */
	err = dsm_net_hold(net);
	if (err)
		return ERR_PTR(err);
	peer = dsm_peer_find_any(net, via);
	if (!net->one_sided || (access & DSM_MR_ATOMIC && !net->atomics))
		mr = ERR_PTR(-EOPNOTSUPP);
	else
		mr = peer ? mr_new(net, peer, pages, n, access) : ERR_PTR(-EHOSTDOWN);
	if (peer)
		dsm_peer_put(peer);
	dsm_net_release(net);
	return mr;
}

/**
 * dsm_net_mr_addr() - where peers find it
 * @mr: registration
 *
 * Context: any.
 * Return: remote address of its first byte.
 */
u64 dsm_net_mr_addr(const struct dsm_mr *mr)
{
	return mr->addr;
}

/**
 * dsm_net_mr_rkey() - what peers reach it with
 * @mr: registration
 *
 * Context: any.
 * Return: the key.
 */
u32 dsm_net_mr_rkey(const struct dsm_mr *mr)
{
	return mr->rkey;
}

/**
 * dsm_net_mr_free() - take the pages out of the peers' reach
 * @mr: registration; NULL and ERR_PTR are allowed. No peer may use the key any more: its connection
 *      would break. The transport has not been stopped
 *
 * Context: process, sleeps.
 */
void dsm_net_mr_free(struct dsm_mr *mr)
{
	struct dsm_net *net;

	if (IS_ERR_OR_NULL(mr))
		return;
	net = mr->net;
	mutex_lock(&net->mr_lock);
	list_del(&mr->link);
	/* Else the device is gone, and what was its went with it. */
	if (mr->mr)
		release(mr);
	mutex_unlock(&net->mr_lock);
	kfree(mr);
}

/**
 * dsm_mr_forget_all() - free what the owners left when the transport was stopped
 * @net: transport without a device
 *
 * Context: process.
 */
void dsm_mr_forget_all(struct dsm_net *net)
{
	struct dsm_mr *mr, *next;

	list_for_each_entry_safe(mr, next, &net->mrs, link)
		kfree(mr);
}

/**
 * dsm_mr_release_all() - before the protection domains go
 * @net: transport without peers: no key is in use
 *
 * Context: process, sleeps.
 */
void dsm_mr_release_all(struct dsm_net *net)
{
	struct dsm_mr *mr;

	mutex_lock(&net->mr_lock);
	list_for_each_entry(mr, &net->mrs, link)
		if (mr->mr)
			release(mr);
	mutex_unlock(&net->mr_lock);
}
