// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Sinks: frames that wait for a page, into which the peer that was asked for it may write. Knows
 * nothing of pages but their frames, and never lets a peer reach more than the one it was asked for.
 *
 * A peer has a pool of registrations of one page, made when it comes up. A request that names a
 * frame takes one; the work request that makes it valid is chained in front of the request's own,
 * so that it is valid before the request leaves:
 *
 *   asker:  REG_MR, SEND (address and key)               on Q, one doorbell
 *   asked:  WRITE (the page), SEND_WITH_INV (the answer)  on P, one doorbell
 *
 * The answer takes the key away from its sender: its receiver's device does, before it tells of
 * the answer. Every answer does it, also one without a page. Keys belong to the protection domain and
 * not to a queue pair, so one that was made valid on Q is good for P. Without a free registration
 * the request says so, and the answer brings the bytes.
 *
 * An answer that needs not say more than a few bits goes in one packet:
 *
 *   asked:  WRITE_WITH_IMM (the page, struct brief)       on P
 *   asker:  LOCAL_INV                                     on Q
 *
 * It is a message like others, numbered and with credit, but for its header and body: the asker
 * makes them up from the request. Such a sender loses the key a little after its answer came, with those of
 * others that it answers meanwhile, at the next beat at the latest: until then it could write the frame of a page
 * that it homes once more.
 *
 * A peer that takes a key away that is not due, or answers without doing so, is dropped. A frame
 * keeps a reference for as long as its key may be valid: until the answer, or the completion of what
 * takes it away, or until the registration is destroyed: with the peer, or after a break with the
 * request not received or the key not known to be taken away. Such a request goes again without a frame.
 */
#include <linux/slab.h>

#include "fault.h"
#include "net.h"
#include "sq.h"

/* Keys that are taken away together while other answers are awaited: one doorbell and one completion for all. */
#define END_TOGETHER 8u

/* More pages than one fault and its fault-around ask one home for; what is beyond is copied. */
#define SINKS 32

/* The low bits of a key are the sink's number; those above, up to 8, change each time it is lent. */
#define NUMBER_BITS 5
static_assert(SINKS <= 1 << NUMBER_BITS);

/* The immediate of a brief answer, lowest first: the key's low bits, credits, the number. */
#define BRIEF_KEY_BITS 8
#define KEY_MASK ((1u << BRIEF_KEY_BITS) - 1)
#define BRIEF_CREDIT_BITS 6
static_assert(DSM_CREDIT_BRIEF_MAX < 1 << BRIEF_CREDIT_BITS);
static_assert(DSM_BRIEF_MAX <= U32_MAX >> (BRIEF_KEY_BITS + BRIEF_CREDIT_BITS));

/**
 * struct dsm_sink - a registration of one page
 * @link:   in the peer's list of free, of lent or of answered ones; peer lock
 * @number: which of the peer's it is
 * @used:   it was answered briefly: the processor has what the device wrote
 * @posted: the work request that takes the key away was posted
 * @mr:     the device's part, with the key that it was lent under last
 * @sg:     the frame, mapped while it is lent
 * @region: of the request
 * @xid:    of the request
 * @len:    length of the request in bytes
 * @request: the request; its first bytes, if it is longer
 */
struct dsm_sink {
	struct list_head link;
	u8 number;
	bool used;
	bool posted;
	struct ib_mr *mr;
	struct scatterlist sg;
	u32 region;
	u32 xid;
	u32 len;
	u8 request[DSM_BRIEF_BYTES];
};

/**
 * dsm_sink_init() - a new peer's lists
 * @peer: peer, not yet visible to anyone
 *
 * Context: any.
 */
void dsm_sink_init(struct dsm_peer *peer)
{
	INIT_LIST_HEAD(&peer->sinks_free);
	INIT_LIST_HEAD(&peer->sinks_lent);
	INIT_LIST_HEAD(&peer->sinks_answered);
}

static bool mr_alloc(struct dsm_sink *s, struct ib_pd *pd)
{
	struct ib_mr *mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1);

	s->mr = IS_ERR(mr) ? NULL : mr;
	return s->mr;
}

static void add_free(struct dsm_peer *peer, struct dsm_sink *s)
{
	spin_lock_bh(&peer->lock);
	list_add(&s->link, &peer->sinks_free);
	spin_unlock_bh(&peer->lock);
}

/**
 * dsm_sink_reserve() - make the registrations
 * @peer: peer whose connections stand, before any message is sent
 *
 * With less memory there are fewer, or none.
 *
 * Context: process, sleeps.
 */
void dsm_sink_reserve(struct dsm_peer *peer)
{
	struct dsm_net *net = peer->net;
	struct dsm_sink *s;
	int i;

	for (i = 0; net->one_sided && i < SINKS; i++) {
		s = kzalloc(sizeof(*s), GFP_KERNEL);
		if (!s)
			return;
		if (!mr_alloc(s, net->pd_data)) {
			kfree(s);
			return;
		}
		s->number = i;
		sg_init_table(&s->sg, 1);
		add_free(peer, s);
	}
}

static int map(struct dsm_sink *s, struct ib_device *dev, struct page *frame)
{
	sg_set_page(&s->sg, frame, DSM_PAGE_BYTES, 0);
	if (!ib_dma_map_sg(dev, &s->sg, 1, DMA_FROM_DEVICE))
		return -ENOMEM;
	if (ib_map_mr_sg(s->mr, &s->sg, 1, NULL, DSM_PAGE_BYTES) == 1)
		return 0;
	ib_dma_unmap_sg(dev, &s->sg, 1, DMA_FROM_DEVICE);
	return -EOPNOTSUPP;
}

/* The frame is out of the peer's reach. What a thread may have changed by now is not overwritten. */
static void unmap(struct dsm_sink *s, struct ib_device *dev)
{
	ib_dma_unmap_sg_attrs(dev, &s->sg, 1, DMA_FROM_DEVICE, s->used ? DMA_ATTR_SKIP_CPU_SYNC : 0);
	put_page(sg_page(&s->sg));
}

/* Low byte of the key that follows the one of last time. */
static u8 next_key(const struct dsm_sink *s)
{
	u8 times = s->mr->rkey >> NUMBER_BITS;

	return (u8)(times + 1) << NUMBER_BITS | s->number;
}

/**
 * dsm_sink_lend() - let the receiver of a request write into a frame
 * @peer: receiver
 * @msg:  request that is about to be posted; its end is filled, or says that nothing was lent
 * @reg:  work request to be posted in front of it
 *
 * Context: peer lock held; any.
 * Return: true if @reg is to be posted.
 */
bool dsm_sink_lend(struct dsm_peer *peer, struct dsm_msgbuf *msg, struct ib_reg_wr *reg)
{
	u8 *end = msg->data + msg->len - sizeof(struct dsm_wire_sink);
	struct dsm_wire_sink wire;
	struct dsm_wire_hdr hdr;
	struct dsm_sink *s;

	lockdep_assert_held(&peer->lock);
	memcpy(&wire, end, sizeof(wire));
	s = list_first_entry_or_null(&peer->sinks_free, struct dsm_sink, link);
	if (!s || map(s, peer->net->dev, msg->sink)) {
		peer->stats.sink_misses++;
		return false;
	}
	/* Dropped by unmap(). */
	get_page(msg->sink);
	list_move_tail(&s->link, &peer->sinks_lent);
	s->used = false;
	/* Whoever knows the key of last time cannot use it. */
	ib_update_fast_reg_key(s->mr, next_key(s));
	memcpy(&hdr, msg->data, sizeof(hdr));
	s->region = le32_to_cpu(hdr.region);
	s->xid = le32_to_cpu(hdr.xid);
	wire.addr = cpu_to_le64(s->mr->iova);
	wire.rkey = cpu_to_le32(s->mr->rkey);
	memcpy(end, &wire, sizeof(wire));
	s->len = msg->len;
	memcpy(s->request, msg->data, min(msg->len, DSM_BRIEF_BYTES));
	*reg = (struct ib_reg_wr){
		.wr.opcode = IB_WR_REG_MR,
		.mr = s->mr,
		.key = s->mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	peer->stats.sinks_lent++;
	return true;
}

static struct dsm_sink *find_by_key(struct dsm_peer *peer, u32 rkey)
{
	struct dsm_sink *s;

	list_for_each_entry(s, &peer->sinks_lent, link)
		if (s->mr->rkey == rkey)
			return s;
	return NULL;
}

static bool is_awaited(struct dsm_peer *peer, u32 region, u32 xid)
{
	struct dsm_sink *s;

	list_for_each_entry(s, &peer->sinks_lent, link)
		if (s->region == region && s->xid == xid)
			return true;
	return false;
}

/**
 * dsm_sink_answered() - a message came: take back what it answers
 * @peer:   sender
 * @rx:     message as received
 * @type:   its type
 * @region: its region
 * @xid:    its request
 *
 * Context: peer lock held; the message is not handed on before.
 * Return: NULL, or the rule that it breaks.
 */
const char *dsm_sink_answered(struct dsm_peer *peer, const struct dsm_rx *rx, u8 type, u32 region,
			      u32 xid)
{
	struct dsm_sink *s;

	lockdep_assert_held(&peer->lock);
	if (!rx->invalidated) {
		if (type == DSM_MSG_PAGE && is_awaited(peer, region, xid))
			return "malformed message: keeps a key that it answers";
		return NULL;
	}
	s = find_by_key(peer, rx->rkey);
	if (!s)
		return "malformed message: invalidates a key that it was not lent";
	if (type != DSM_MSG_PAGE || s->region != region || s->xid != xid)
		return "malformed message: invalidates a key that it does not answer";
	unmap(s, peer->net->dev);
	list_move(&s->link, &peer->sinks_free);
	return NULL;
}

/**
 * dsm_sink_brief() - what goes with a page in the place of its answer
 * @peer: receiver
 * @msg:  answer that is about to be posted
 * @imm:  out: immediate, if it may go so
 *
 * Context: peer lock held; any. Credits that @imm returns count as returned.
 * Return: true if it may.
 */
bool dsm_sink_brief(struct dsm_peer *peer, const struct dsm_msgbuf *msg, u32 *imm)
{
	int credits;

	lockdep_assert_held(&peer->lock);
	if (!msg->brief || !msg->rkey || !msg->page || !dsm_fault_allows_brief(peer, msg))
		return false;
	credits = dsm_credit_brief(&peer->credit);
	if (credits < 0)
		return false;
	*imm = (msg->rkey & KEY_MASK) | (u32)credits << BRIEF_KEY_BITS |
	       msg->brief << (BRIEF_KEY_BITS + BRIEF_CREDIT_BITS);
	dsm_fault_brief(peer, imm);
	return true;
}

/**
 * dsm_sink_answered_briefly() - an answer came that is only an immediate
 * @peer: sender
 * @imm:  immediate, not checked
 *
 * Context: peer lock held; receive path of P. Unless it returns NULL, dsm_sink_used() follows.
 * Return: the sink that it names, or NULL if that was not lent.
 */
struct dsm_sink *dsm_sink_answered_briefly(struct dsm_peer *peer, u32 imm)
{
	struct dsm_sink *s;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(s, &peer->sinks_lent, link) {
		if ((s->mr->rkey & KEY_MASK) != (imm & KEY_MASK))
			continue;
		list_del_init(&s->link);
		ib_dma_sync_single_for_cpu(peer->net->dev, sg_dma_address(&s->sg), DSM_PAGE_BYTES,
					   DMA_FROM_DEVICE);
		s->used = true;
		return s;
	}
	return NULL;
}

/**
 * dsm_sink_brief_credits() - credits for requests that a brief answer returns
 * @imm: immediate, not checked
 *
 * Context: any.
 * Return: their number, to be checked.
 */
u32 dsm_sink_brief_credits(u32 imm)
{
	return imm >> BRIEF_KEY_BITS & DSM_CREDIT_BRIEF_MAX;
}

/**
 * dsm_sink_expand() - make up the message that a brief answer stands for
 * @peer: sender
 * @s:    sink that the answer names
 * @imm:  the answer, not checked
 * @msg:  out: message, DSM_BRIEF_BYTES at most
 *
 * Context: receive path of P.
 * Return: length of the message in bytes, -EPROTO: there is no such answer to the request.
 */
int dsm_sink_expand(struct dsm_peer *peer, const struct dsm_sink *s, u32 imm, u8 *msg)
{
	struct dsm_net *net = peer->net;

	if (s->len > sizeof(s->request))
		return -EPROTO;
	return net->ops->expand(net->ctx, peer->node, s->request, s->len,
				imm >> (BRIEF_KEY_BITS + BRIEF_CREDIT_BITS), msg);
}

/**
 * dsm_sink_used() - a brief answer was worked on
 * @peer: sender
 * @s:    sink that the answer names
 *
 * Whoever waited for the page was woken before anything is done about the key.
 *
 * Context: peer lock held; receive path of P. dsm_send_push() follows, or the end of the peer.
 */
void dsm_sink_used(struct dsm_peer *peer, struct dsm_sink *s)
{
	lockdep_assert_held(&peer->lock);
	s->posted = false;
	list_add_tail(&s->link, &peer->sinks_answered);
	peer->sinks_due++;
}

/* Is there no reason to wait for more of them? */
static bool is_time(const struct dsm_peer *peer)
{
	return peer->sinks_due >= END_TOGETHER || list_empty(&peer->sinks_lent) || list_empty(&peer->sinks_free) ||
	       peer->qp[DSM_VC_Q].staged;
}

/**
 * dsm_sink_end() - take keys away whose holders have answered briefly
 * @peer: peer
 * @all:  do not wait for more
 *
 * What there is no room for now goes when something was completed.
 *
 * Context: peer lock held; any. The caller posts what is staged on Q.
 */
void dsm_sink_end(struct dsm_peer *peer, bool all)
{
	struct dsm_qp *q = &peer->qp[DSM_VC_Q];
	struct dsm_sink *s;

	lockdep_assert_held(&peer->lock);
	if (!peer->sinks_due || !(all || is_time(peer)))
		return;
	list_for_each_entry(s, &peer->sinks_answered, link) {
		if (s->posted)
			continue;
		if (!dsm_sq_has_room(q))
			return;
		dsm_sq_stage_inv(q, s->mr->rkey);
		s->posted = true;
		peer->sinks_due--;
	}
}

/**
 * dsm_sink_ended() - keys were taken away
 * @peer: peer
 * @n:    their number, in the order of dsm_sink_end()
 *
 * Context: peer lock held; any.
 */
void dsm_sink_ended(struct dsm_peer *peer, u32 n)
{
	struct dsm_sink *s;

	lockdep_assert_held(&peer->lock);
	for (; n; n--) {
		s = list_first_entry(&peer->sinks_answered, struct dsm_sink, link);
		unmap(s, peer->net->dev);
		list_move(&s->link, &peer->sinks_free);
	}
}

/**
 * dsm_sink_doubt() - a request was not received: its key may be valid or not
 * @peer:     receiver, drained
 * @mr:       registration of the request's sink
 * @doubtful: list for dsm_sink_renew()
 *
 * Context: peer lock held; any.
 */
void dsm_sink_doubt(struct dsm_peer *peer, const struct ib_mr *mr, struct list_head *doubtful)
{
	struct dsm_sink *s;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(s, &peer->sinks_lent, link) {
		if (s->mr == mr) {
			list_move(&s->link, doubtful);
			return;
		}
	}
}

/**
 * dsm_sink_renew() - let go of frames whose keys are in doubt
 * @peer:     peer
 * @doubtful: sinks from dsm_sink_doubt(), whose requests have not gone again yet
 *
 * A registration that is valid cannot be made valid again, and one that is not cannot be taken
 * back by a work request. So they are destroyed and made anew; with less memory there are fewer.
 *
 * Context: process, sleeps.
 */
void dsm_sink_renew(struct dsm_peer *peer, struct list_head *doubtful)
{
	struct dsm_sink *s, *next;

	list_for_each_entry_safe(s, next, doubtful, link) {
		list_del(&s->link);
		ib_dereg_mr(s->mr);
		unmap(s, peer->net->dev);
		if (mr_alloc(s, peer->net->pd_data))
			add_free(peer, s);
		else
			kfree(s);
	}
}

/**
 * dsm_sink_purge() - destroy the registrations, then let go of the frames
 * @peer: peer, not up any more and drained: nothing is lent, no handler runs
 *
 * Context: process, sleeps.
 */
void dsm_sink_purge(struct dsm_peer *peer)
{
	struct dsm_sink *s, *next;

	list_splice_init(&peer->sinks_answered, &peer->sinks_lent);
	list_for_each_entry(s, &peer->sinks_lent, link) {
		/* Another peer may know the key. */
		ib_dereg_mr(s->mr);
		s->mr = NULL;
		unmap(s, peer->net->dev);
	}
	list_splice_init(&peer->sinks_lent, &peer->sinks_free);
	list_for_each_entry_safe(s, next, &peer->sinks_free, link) {
		if (s->mr)
			ib_dereg_mr(s->mr);
		list_del(&s->link);
		kfree(s);
	}
}
