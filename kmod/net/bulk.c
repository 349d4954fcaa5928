// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Bulk: several requests to one peer as one WRITE into a ring that the peer keeps for them. Knows
 * what a message's length is and nothing else of it, and never waits.
 *
 * Each node keeps a ring of a few slots for every peer, registered for the peer to write, and tells
 * it where by its first message. Requests that wait together are gathered into the next free slot
 * by one WRITE_WITH_IMM on Q: it costs one work request, one acknowledgement and one receive slot
 * (so one credit) for all of them. They stay in order with what else goes on Q, and replies, which
 * go on P, are never behind them.
 *
 * Requests are handled in order, and a credit comes back when one was: the credit that brings back
 * the WRITE's own says that its slot is free. Without a free slot they wait for one.
 *
 * The peer may write into its slots at any time, so each message is copied out of its slot before
 * anything of it is believed. With the last one copied the slot is free, so that the answer to that
 * message can already say so.
 */
#include <linux/slab.h>

#include "net.h"
#include "tune.h"

#define SLOT_PAGES (DSM_BULK_BYTES / PAGE_SIZE)
#define RING_PAGES (DSM_BULK_SLOTS * SLOT_PAGES)

#define LEAST_WITH_FRAMES 2u

/* Value of a WRITE_WITH_IMM on Q: what it is, and its slot. */
#define IMM_BULK 0xb1000000u

/* ---- the ring ---- */

static void page_free(struct ib_device *dev, struct scatterlist *sg)
{
	if (!sg_page(sg))
		return;
	ib_dma_unmap_page(dev, sg_dma_address(sg), PAGE_SIZE, DMA_FROM_DEVICE);
	__free_page(sg_page(sg));
}

static int page_alloc(struct ib_device *dev, struct scatterlist *sg)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	u64 dma;

	if (!page)
		return -ENOMEM;
	dma = ib_dma_map_page(dev, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, dma)) {
		__free_page(page);
		return -ENOMEM;
	}
	sg_set_page(sg, page, PAGE_SIZE, 0);
	sg_dma_address(sg) = dma;
	sg_dma_len(sg) = PAGE_SIZE;
	return 0;
}

static void ring_free(struct dsm_peer *peer)
{
	struct dsm_bulk *b = &peer->bulk;
	u32 i;

	if (b->tell)
		dsm_send_tx_free(b->tell);
	b->tell = NULL;
	if (b->mr)
		ib_dereg_mr(b->mr);
	b->mr = NULL;
	for (i = 0; b->sg && i < RING_PAGES; i++)
		page_free(peer->net->dev, &b->sg[i]);
	kfree(b->sg);
	b->sg = NULL;
	kfree(b->message);
	b->message = NULL;
}

static int ring_register(struct dsm_peer *peer)
{
	struct dsm_bulk *b = &peer->bulk;
	struct ib_mr *mr = ib_alloc_mr(peer->net->pd_data, IB_MR_TYPE_MEM_REG, RING_PAGES);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	b->mr = mr;
	if (ib_map_mr_sg(mr, b->sg, RING_PAGES, NULL, PAGE_SIZE) != RING_PAGES)
		return -EOPNOTSUPP;
	/* A device may remember the key that the memory region was made with. */
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return 0;
}

static int ring_alloc(struct dsm_peer *peer)
{
	struct dsm_bulk *b = &peer->bulk;
	int err = 0;
	u32 i;

	b->message = kmalloc(DSM_MSG_BYTES, GFP_KERNEL);
	b->sg = kcalloc(RING_PAGES, sizeof(*b->sg), GFP_KERNEL);
	if (!b->message || !b->sg)
		return -ENOMEM;
	sg_init_table(b->sg, RING_PAGES);
	for (i = 0; !err && i < RING_PAGES; i++)
		err = page_alloc(peer->net->dev, &b->sg[i]);
	return err ?: ring_register(peer);
}

/* The message that tells the peer where the ring is. */
static struct dsm_net_tx *ring_message(struct dsm_peer *peer)
{
	struct dsm_net_tx *tx = dsm_send_tx_new(peer->net, GFP_KERNEL);
	struct dsm_wire_ring body = {
		.addr = cpu_to_le64(peer->bulk.mr->iova),
		.rkey = cpu_to_le32(peer->bulk.mr->rkey),
	};

	tx->msg.class = DSM_CLASS_REQ;
	/* It asks for a completion: the registration in front of it is soon known to be done. */
	tx->mech = DSM_NET_GATHER;
	dsm_wire_begin(&tx->msg, DSM_MSG_RING, 0, 0);
	dsm_wire_put(&tx->msg, &body, sizeof(body));
	return tx;
}

/**
 * dsm_bulk_reserve() - make the ring that the peer writes into
 * @peer: peer whose connections stand, before any message is sent
 *
 * Without memory there is none, and the peer sends its requests one by one.
 *
 * Context: process, sleeps.
 */
void dsm_bulk_reserve(struct dsm_peer *peer)
{
	if (!peer->net->one_sided)
		return;
	if (ring_alloc(peer))
		ring_free(peer);
	else
		peer->bulk.tell = ring_message(peer);
}

/**
 * dsm_bulk_announce() - tell the peer of the ring
 * @peer: peer that comes up, before any other message is sent
 *
 * Context: peer lock held.
 */
void dsm_bulk_announce(struct dsm_peer *peer)
{
	struct dsm_bulk *b = &peer->bulk;

	lockdep_assert_held(&peer->lock);
	if (!b->tell)
		return;
	dsm_send_queue(peer, b->tell);
	b->tell = NULL;
	dsm_send_push(peer, false);
}

/**
 * dsm_bulk_offer() - what makes the ring valid, in front of the message that tells of it
 * @peer: receiver of that message
 * @reg:  work request to be posted in front of it
 *
 * Context: peer lock held.
 */
void dsm_bulk_offer(struct dsm_peer *peer, struct ib_reg_wr *reg)
{
	*reg = (struct ib_reg_wr){
		.wr.opcode = IB_WR_REG_MR,
		.mr = peer->bulk.mr,
		.key = peer->bulk.mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
}

/**
 * dsm_bulk_purge() - destroy the ring
 * @peer: peer, not up any more and drained: no handler runs
 *
 * Context: process, sleeps.
 */
void dsm_bulk_purge(struct dsm_peer *peer)
{
	ring_free(peer);
}

/* ---- sending ---- */

/**
 * dsm_bulk_learn() - the peer told of its ring
 * @peer: peer
 * @body: of its message
 * @len:  length of that
 *
 * Context: any but with the peer's lock held.
 * Return: NULL, or the rule that it breaks.
 */
const char *dsm_bulk_learn(struct dsm_peer *peer, const u8 *body, u32 len)
{
	struct dsm_bulk *b = &peer->bulk;
	const char *rule = NULL;
	struct dsm_wire_ring ring;

	if (len != sizeof(ring))
		return "malformed message: length of a ring";
	memcpy(&ring, body, sizeof(ring));
	if (ring.reserved)
		return "malformed message: ring";
	spin_lock_bh(&peer->lock);
	if (b->told) {
		rule = "malformed message: another ring";
	} else {
		b->told = true;
		b->addr = le64_to_cpu(ring.addr);
		WRITE_ONCE(b->rkey, le32_to_cpu(ring.rkey));
	}
	spin_unlock_bh(&peer->lock);
	return rule;
}

/**
 * dsm_bulk_refresh() - see which slots are free again
 * @peer: peer
 *
 * Context: peer lock held; whenever credits may have come, since the counts wrap.
 */
void dsm_bulk_refresh(struct dsm_peer *peer)
{
	const struct dsm_credit *c = &peer->credit.of[DSM_CLASS_REQ];
	struct dsm_bulk *b = &peer->bulk;
	u16 handled = c->limit - c->slots;
	int i;

	lockdep_assert_held(&peer->lock);
	for (i = 0; b->busy && i < DSM_BULK_SLOTS; i++)
		if (b->busy & BIT(i) && (s16)(handled - b->sent[i]) >= 0)
			b->busy &= ~BIT(i);
}

static const struct dsm_net_tx *to_tx(const struct dsm_msgbuf *msg)
{
	return container_of(msg, struct dsm_net_tx, msg);
}

/* Is a message nothing but its bytes, and free to go by the ring? */
static bool may_join(const struct dsm_net_tx *tx)
{
	return !tx->msg.page && !tx->keep &&
	       (tx->mech == DSM_NET_AUTO || tx->mech == DSM_NET_BULK);
}

/* How many must there be? 0: none may. Two that name frames save a registration as well, and so do their answers. */
static u32 least_of(const struct dsm_msgbuf *msg)
{
	if (!msg)
		return 0;
	if (to_tx(msg)->mech == DSM_NET_BULK)
		return 1;
	return msg->sink ? min(dsm_tune(DSM_NET_BULK_MIN), LEAST_WITH_FRAMES) : dsm_tune(DSM_NET_BULK_MIN);
}

/* How many of those that wait fit into one slot; 0: too few for that. */
static u32 joining(const struct dsm_peer *peer, const struct dsm_msgbuf *msg)
{
	u32 n = 0, bytes = 0, least = least_of(msg);

	/* Without transfers our queue pairs take two elements each; the peer may keep a ring all the same. */
	if (!least || !peer->bulk.rkey || !peer->net->one_sided)
		return 0;
	for (; msg && n < DSM_BULK_MESSAGES && bytes + msg->len <= DSM_BULK_BYTES; msg = msg->next) {
		if (!may_join(to_tx(msg)))
			break;
		bytes += msg->len;
		n++;
	}
	return n >= least ? n : 0;
}

static bool is_full(const struct dsm_peer *peer)
{
	return peer->bulk.busy & BIT(peer->bulk.next_out);
}

/**
 * dsm_bulk_count() - how many requests may go into the next slot
 * @peer: peer
 * @msg:  first one that waits, or NULL
 *
 * Context: peer lock held.
 * Return: 0: none.
 */
u32 dsm_bulk_count(const struct dsm_peer *peer, const struct dsm_msgbuf *msg)
{
	lockdep_assert_held(&peer->lock);
	return is_full(peer) ? 0 : joining(peer, msg);
}

/**
 * dsm_bulk_waits() - should requests wait until a slot is free?
 * @peer: peer
 * @msg:  first one that waits, or NULL
 *
 * The peer has as many before them as all slots hold, and by themselves each would take a work request, a credit and,
 * if it names a frame, a registration.
 *
 * Context: peer lock held.
 * Return: true if so; then a credit comes that makes one free.
 */
bool dsm_bulk_waits(const struct dsm_peer *peer, const struct dsm_msgbuf *msg)
{
	lockdep_assert_held(&peer->lock);
	return is_full(peer) && joining(peer, msg);
}

/**
 * dsm_bulk_take_slot() - use the next slot
 * @peer: peer whose next slot is free; the credit of the WRITE was just used
 * @rdma: filled with where it goes
 *
 * Context: peer lock held.
 * Return: DSM_BULK_MESSAGES elements to describe the messages with; they stay until the slot is
 *         free again.
 */
struct ib_sge *dsm_bulk_take_slot(struct dsm_peer *peer, struct ib_rdma_wr *rdma)
{
	struct dsm_bulk *b = &peer->bulk;
	u32 slot = b->next_out;

	lockdep_assert_held(&peer->lock);
	b->next_out = (slot + 1) % DSM_BULK_SLOTS;
	b->busy |= BIT(slot);
	b->sent[slot] = peer->credit.of[DSM_CLASS_REQ].sent;
	rdma->wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	rdma->wr.ex.imm_data = cpu_to_be32(IMM_BULK | slot);
	rdma->wr.sg_list = b->sge[slot];
	rdma->remote_addr = b->addr + (u64)slot * DSM_BULK_BYTES;
	rdma->rkey = b->rkey;
	return b->sge[slot];
}

/* ---- receiving ---- */

static struct scatterlist *slot_of(const struct dsm_bulk *b)
{
	return &b->sg[b->slot * SLOT_PAGES];
}

/**
 * dsm_bulk_begin() - a slot was written
 * @peer: writer
 * @imm:  value that it sent
 * @len:  bytes that it says it wrote
 *
 * Context: handler of Q; peer lock held.
 * Return: NULL, or the rule that this breaks.
 */
const char *dsm_bulk_begin(struct dsm_peer *peer, u32 imm, u32 len)
{
	struct dsm_bulk *b = &peer->bulk;
	u32 i;

	lockdep_assert_held(&peer->lock);
	if (!b->mr)
		return "malformed bulk: there is no ring";
	if (imm != (IMM_BULK | b->slot))
		return "malformed bulk: no slot, or not the next one";
	if (!len || len > DSM_BULK_BYTES)
		return "malformed bulk: length";
	if (!dsm_credit_receive_bulk(&peer->credit))
		return "malformed bulk: sent without credit or free slot";
	b->at = 0;
	b->len = len;
	b->count = 0;
	for (i = 0; i < SLOT_PAGES; i++)
		ib_dma_sync_single_for_cpu(peer->net->dev, sg_dma_address(&slot_of(b)[i]), PAGE_SIZE,
					   DMA_FROM_DEVICE);
	return NULL;
}

/* Nothing of it is looked at any more. */
static void finish(struct dsm_peer *peer)
{
	struct dsm_bulk *b = &peer->bulk;
	u32 i;

	for (i = 0; i < SLOT_PAGES; i++)
		ib_dma_sync_single_for_device(peer->net->dev, sg_dma_address(&slot_of(b)[i]),
					      PAGE_SIZE, DMA_FROM_DEVICE);
	b->slot = (b->slot + 1) % DSM_BULK_SLOTS;
}

/**
 * dsm_bulk_next() - take the next message out of the slot
 * @peer: writer
 * @one:  its bytes, which are good until the next one, and length are put here
 * @last: set if the slot is free now
 *
 * Context: handler of Q, as long as @last was not set.
 * Return: NULL, or the rule that the message breaks.
 */
const char *dsm_bulk_next(struct dsm_peer *peer, struct dsm_rx *one, bool *last)
{
	struct dsm_bulk *b = &peer->bulk;
	struct scatterlist *sg = slot_of(b);
	struct dsm_wire_hdr hdr;
	u32 len;

	if (b->len - b->at < sizeof(hdr))
		return "malformed bulk: part of a message";
	if (b->count++ == DSM_BULK_MESSAGES)
		return "malformed bulk: too many messages";
	sg_pcopy_to_buffer(sg, SLOT_PAGES, &hdr, sizeof(hdr), b->at);
	len = le16_to_cpu(hdr.len);
	if (len < sizeof(hdr) || len > b->len - b->at || len > DSM_MSG_BYTES)
		return "malformed bulk: length of a message";
	/* The header that was looked at, not what may be there now. */
	memcpy(b->message, &hdr, sizeof(hdr));
	sg_pcopy_to_buffer(sg, SLOT_PAGES, b->message + sizeof(hdr), len - sizeof(hdr),
			   b->at + sizeof(hdr));
	b->at += len;
	one->buf = b->message;
	one->len = len;
	*last = b->at == b->len;
	if (*last)
		finish(peer);
	return NULL;
}
