// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Where the bytes of a one-sided transfer go, and whether they came. Never posts one.
 *
 * soft-RoCE tells of a READ or an atomic whose answer was lost as done, and has put nothing where the answer belongs, if
 * it finds that a later request was asked for again, or if the answer is out of order (Documentation/testing.rst). The
 * last bytes of an answer come last, so they say whether it came. A READ's come beside the frame, whose bytes a
 * thread may be looking at: nothing is stored there but what is read.
 */
#include <linux/highmem.h>
#include <linux/random.h>

#include "xfer.h"

/* Stands where a READ or an atomic is to put what it brings. By chance, so that no program can store it. */
static u64 nothing __ro_after_init;

/**
 * dsm_xfer_map_init() - at module load
 *
 * Context: process.
 */
void dsm_xfer_map_init(void)
{
	get_random_bytes(&nothing, sizeof(nothing));
}

/* Where the last bytes of what a READ brings belong, if whether they came is looked at. */
static const struct dsm_seg *last_to_come(const struct net_xfer *t)
{
	const struct dsm_seg *seg = &t->x.seg[0] + t->x.n_segs - 1;

	return t->peer->net->software && t->x.op == DSM_XFER_READ && seg->len >= sizeof(u64) ? seg : NULL;
}

/* Does the device put something beside the segments? */
static bool awaits_old(const struct net_xfer *t)
{
	return dsm_xfer_is_atomic(t) || last_to_come(t);
}

/* Which way the bytes go; an atomic's old value comes to us. */
static enum dma_data_direction direction(const struct net_xfer *t)
{
	return t->x.op == DSM_XFER_WRITE || t->x.op == DSM_XFER_SIGNAL ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/**
 * dsm_xfer_unmap() - the device has done with a transfer's memory
 * @t: transfer
 *
 * Context: any.
 */
void dsm_xfer_unmap(struct net_xfer *t)
{
	struct ib_device *dev = t->peer->net->dev;
	u32 i;

	for (i = 0; i < t->mapped; i++)
		ib_dma_unmap_page(dev, t->sge[i].addr, t->sge[i].length, direction(t));
	t->mapped = 0;
}

static int map_one(struct net_xfer *t, struct page *page, u32 off, u32 len)
{
	struct dsm_net *net = t->peer->net;
	u64 addr = ib_dma_map_page(net->dev, page, off, len, direction(t));

	if (ib_dma_mapping_error(net->dev, addr)) {
		dsm_xfer_unmap(t);
		return -ENOMEM;
	}
	t->sge[t->mapped++] = (struct ib_sge){
		.addr = addr, .length = len, .lkey = net->pd_data->local_dma_lkey,
	};
	return 0;
}

/**
 * dsm_xfer_map() - give a transfer's memory to the device
 * @t: transfer with its peer
 *
 * Context: any.
 * Return: 0, or -ENOMEM: nothing is mapped.
 */
int dsm_xfer_map(struct net_xfer *t)
{
	const struct dsm_seg *last = last_to_come(t);
	int err = 0;
	u32 i;

	for (i = 0; i < t->x.n_segs && !err; i++) {
		const struct dsm_seg *seg = &t->x.seg[i];
		u32 len = seg->len - (seg == last ? sizeof(t->old) : 0);

		if (len)
			err = map_one(t, seg->page, seg->off, len);
	}
	if (!err && awaits_old(t))
		err = map_one(t, virt_to_page(&t->old), offset_in_page(&t->old), sizeof(t->old));
	return err;
}

/**
 * dsm_xfer_expect() - prepare to see whether something came
 * @t: transfer that is handed over
 *
 * Context: any.
 */
void dsm_xfer_expect(struct net_xfer *t)
{
	if (awaits_old(t))
		t->old = nothing;
}

/**
 * dsm_xfer_brought_nothing() - is a transfer that the device told of as done not done?
 * @t: transfer; of other devices than those of software it is not asked, whose memory is theirs until it is unmapped
 *
 * Context: any.
 * Return: true if its answer never came.
 */
bool dsm_xfer_brought_nothing(const struct net_xfer *t)
{
	return t->peer->net->software && awaits_old(t) && t->old == nothing;
}

/**
 * dsm_xfer_land() - the last bytes of what a READ brought go where they belong
 * @t: transfer that is done
 *
 * Context: any.
 */
void dsm_xfer_land(struct net_xfer *t)
{
	const struct dsm_seg *seg = last_to_come(t);

	if (seg)
		memcpy_to_page(seg->page, seg->off + seg->len - sizeof(t->old), (const char *)&t->old, sizeof(t->old));
}
