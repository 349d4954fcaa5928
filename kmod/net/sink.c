// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Sinks: frames that wait for a page, into which the peer that was asked for it may write. Knows
 * nothing of pages but their frames, and never lets a peer reach more than the one it was asked for.
 *
 * A peer has a pool of registrations, made when it comes up. A request that names a frame takes one, those that go
 * together by the ring share one; the work request that makes it valid is chained in front of the requests' own,
 * so that it is valid before they leave:
 *
 *   asker:  REG_MR, SEND (address and key)               on Q, one doorbell
 *   asked:  WRITE (the page), SEND_WITH_INV (the answer)  on P, one doorbell
 *
 * The answer takes the key away from its sender: its receiver's device does, before it tells of
 * the answer. Every answer does it, also one without a page, but not where requests share a key: that the asker takes
 * away when all are answered. Keys belong to the protection domain and
 * not to a queue pair, so one that was made valid on Q is good for P. Without a free registration
 * the request says so, and the answer brings the bytes.
 *
 * An answer that needs not say more than a few bits goes with its page, and with those behind it that say the same:
 *
 *   asked:  WRITE_WITH_IMM (pages, struct brief)          on P
 *   asker:  LOCAL_INV                                     on Q
 *
 * Each is a message like others, numbered, but for its header and body: the asker
 * makes them up from the request. They have one credit. Such a sender loses the key a little after its answer came, with those of
 * others that it answers meanwhile, at the next beat at the latest, and one that is shared when all are answered: until
 * then it could write the frame of a page that it homes once more.
 *
 * Devices of software may carry out a REG_MR once more, which makes a key valid that its answer has taken away: with the
 * sends before it, of which they do not know yet whether they have come. Not after a LOCAL_INV behind it, which waits
 * for all these. There each key is taken away so, also after SEND_WITH_INV.
 *
 * A peer that takes a key away that is not due, or one that is shared, or answers without doing so, is dropped. A frame
 * keeps a reference for as long as its key may be valid: until the answer, or the completion of what
 * takes it away, or until the registration is destroyed: with the peer, or after a break with the
 * request not received or the key not known to be taken away. Such a request goes again without a frame.
 */
#include <linux/slab.h>

#include "fault.h"
#include "net.h"
#include "sq.h"

/* Frames whose keys are taken away together while other answers are awaited: one doorbell and one completion for all. */
#define END_TOGETHER 8u

/* As many as a program's largest hint needs by the ring; what is beyond is copied. */
#define SINKS 64

/* The low bits of a key are the sink's number; those above, up to 8, change each time it is lent. */
#define NUMBER_BITS 6
static_assert(SINKS <= 1 << NUMBER_BITS);

/* The immediate of a brief answer, lowest first: the key's low bits, credits, the first frame, frames less one, the number. */
#define BRIEF_KEY_BITS 8
#define BRIEF_CREDIT_BITS 6
#define BRIEF_FRAME_BITS 4
#define CREDIT_SHIFT BRIEF_KEY_BITS
#define FIRST_SHIFT (CREDIT_SHIFT + BRIEF_CREDIT_BITS)
#define MORE_SHIFT (FIRST_SHIFT + BRIEF_FRAME_BITS)
#define NUMBER_SHIFT (MORE_SHIFT + BRIEF_FRAME_BITS)
#define KEY_MASK ((1u << BRIEF_KEY_BITS) - 1)
#define FRAME_MASK (DSM_SINK_FRAMES - 1)
static_assert(DSM_SINK_FRAMES == 1 << BRIEF_FRAME_BITS);
static_assert(DSM_CREDIT_BRIEF_MAX < 1 << BRIEF_CREDIT_BITS);
static_assert(DSM_BRIEF_MAX <= U32_MAX >> NUMBER_SHIFT);

/*
 * Below the address of a frame, which is a page's: whether its key is shared, and which of those that share it this is.
 * Only net looks at these.
 */
#define ADDR_SHARED 1u
#define ADDR_FRAME_SHIFT 1

/**
 * struct sink_request - what one frame waits for
 * @region: of the request
 * @xid:    of the request
 * @len:    length of the request in bytes
 * @bytes:  the request; its first bytes, if it is longer
 */
struct sink_request {
	u32 region;
	u32 xid;
	u32 len;
	u8 bytes[DSM_BRIEF_BYTES];
};

/**
 * struct dsm_sink - a registration of frames
 * @link:   in the peer's list of free, of lent or of answered ones; peer lock
 * @number: which of the peer's it is
 * @posted: the work request that takes the key away was posted
 * @frames: how many it is lent for
 * @left:   of these, those whose answers are not worked on yet
 * @awaits: bitmap of those whose answers have not come
 * @mr:     the device's part, with the key that it was lent under last
 * @sg:     the frames, each mapped by itself while it is lent
 * @request: what each waits for
 */
struct dsm_sink {
	struct list_head link;
	u8 number;
	bool posted;
	u8 frames;
	u8 left;
	unsigned long awaits;
	struct ib_mr *mr;
	struct scatterlist sg[DSM_SINK_FRAMES];
	struct sink_request request[DSM_SINK_FRAMES];
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
	struct ib_mr *mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, DSM_SINK_FRAMES);

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
		add_free(peer, s);
	}
}

/* The frames are out of the peer's reach. What a thread may have changed by now is not overwritten. */
static void unmap(struct dsm_sink *s, struct ib_device *dev)
{
	u32 i;

	for (i = 0; i < s->frames; i++) {
		ib_dma_unmap_sg_attrs(dev, &s->sg[i], 1, DMA_FROM_DEVICE,
				      s->awaits & BIT(i) ? 0 : DMA_ATTR_SKIP_CPU_SYNC);
		put_page(sg_page(&s->sg[i]));
	}
	s->frames = 0;
}

/* Takes references to the frames, which unmap() drops. */
static int map(struct dsm_sink *s, struct ib_device *dev, struct dsm_msgbuf *const *msg, u32 n)
{
	s->frames = 0;
	s->awaits = 0;
	sg_init_table(s->sg, n);
	for (; s->frames < n; s->frames++) {
		struct scatterlist *sg = &s->sg[s->frames];

		sg_set_page(sg, msg[s->frames]->sink, DSM_PAGE_BYTES, 0);
		if (!ib_dma_map_sg(dev, sg, 1, DMA_FROM_DEVICE))
			break;
		get_page(sg_page(sg));
	}
	if (s->frames == n && ib_map_mr_sg(s->mr, s->sg, n, NULL, DSM_PAGE_BYTES) == n &&
	    !(s->mr->iova % DSM_PAGE_BYTES))
		return 0;
	unmap(s, dev);
	return -EOPNOTSUPP;
}

/* Low byte of the key that follows the one of last time. */
static u8 next_key(const struct dsm_sink *s)
{
	u8 times = s->mr->rkey >> NUMBER_BITS;

	return (u8)(times + 1) << NUMBER_BITS | s->number;
}

/* A request says which frame it names. */
static void fill(struct dsm_sink *s, u32 i, struct dsm_msgbuf *msg)
{
	u8 *end = msg->data + msg->len - sizeof(struct dsm_wire_sink);
	struct sink_request *q = &s->request[i];
	u64 addr = s->mr->iova + i * DSM_PAGE_BYTES;
	struct dsm_wire_sink wire;
	struct dsm_wire_hdr hdr;

	if (s->frames > 1)
		addr |= ADDR_SHARED | i << ADDR_FRAME_SHIFT;
	memcpy(&wire, end, sizeof(wire));
	wire.addr = cpu_to_le64(addr);
	wire.rkey = cpu_to_le32(s->mr->rkey);
	memcpy(end, &wire, sizeof(wire));
	memcpy(&hdr, msg->data, sizeof(hdr));
	q->region = le32_to_cpu(hdr.region);
	q->xid = le32_to_cpu(hdr.xid);
	q->len = msg->len;
	memcpy(q->bytes, msg->data, min(msg->len, DSM_BRIEF_BYTES));
}

/**
 * dsm_sink_lend() - let the receiver of requests write into frames
 * @peer: receiver
 * @msg:  requests that are about to be posted; their ends are filled, or say that nothing was lent
 * @n:    their number, 1 to DSM_SINK_FRAMES
 * @reg:  work request to be posted in front of them
 *
 * Context: peer lock held; any.
 * Return: true if @reg is to be posted.
 */
bool dsm_sink_lend(struct dsm_peer *peer, struct dsm_msgbuf *const *msg, u32 n, struct ib_reg_wr *reg)
{
	struct dsm_sink *s;
	u32 i;

	lockdep_assert_held(&peer->lock);
	s = list_first_entry_or_null(&peer->sinks_free, struct dsm_sink, link);
	if (!s || map(s, peer->net->dev, msg, n)) {
		peer->stats.sink_misses += n;
		return false;
	}
	list_move_tail(&s->link, &peer->sinks_lent);
	s->left = n;
	s->awaits = BIT(n) - 1;
	/* Whoever knows the key of last time cannot use it. */
	ib_update_fast_reg_key(s->mr, next_key(s));
	for (i = 0; i < n; i++)
		fill(s, i, msg[i]);
	*reg = (struct ib_reg_wr){
		.wr.opcode = IB_WR_REG_MR,
		.mr = s->mr,
		.key = s->mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	peer->stats.sinks_lent += n;
	return true;
}

static struct dsm_sink *find_by_key(struct dsm_peer *peer, u32 rkey, u32 mask)
{
	struct dsm_sink *s;

	list_for_each_entry(s, &peer->sinks_lent, link)
		if ((s->mr->rkey & mask) == (rkey & mask))
			return s;
	return NULL;
}

/* The sink of a request that is not answered, and its frame there; or NULL. */
static struct dsm_sink *find_awaited(struct dsm_peer *peer, u32 region, u32 xid, u32 *frame)
{
	struct dsm_sink *s;
	u32 i;

	list_for_each_entry(s, &peer->sinks_lent, link) {
		for (i = 0; i < s->frames; i++) {
			if (s->awaits & BIT(i) && s->request[i].region == region && s->request[i].xid == xid) {
				*frame = i;
				return s;
			}
		}
	}
	return NULL;
}

/* An answer has come: the processor is to see what the device wrote. */
static void land(struct dsm_peer *peer, struct dsm_sink *s, u32 frame)
{
	s->awaits &= ~BIT(frame);
	ib_dma_sync_single_for_cpu(peer->net->dev, sg_dma_address(&s->sg[frame]), DSM_PAGE_BYTES,
				   DMA_FROM_DEVICE);
}

/* All are answered: the key is to be taken away. */
static void used(struct dsm_peer *peer, struct dsm_sink *s, u32 n)
{
	s->left -= n;
	if (s->left)
		return;
	s->posted = false;
	list_move_tail(&s->link, &peer->sinks_answered);
	peer->sinks_due += s->frames;
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
	u32 frame;

	lockdep_assert_held(&peer->lock);
	if (!rx->invalidated) {
		s = type == DSM_MSG_PAGE ? find_awaited(peer, region, xid, &frame) : NULL;
		if (!s)
			return NULL;
		if (s->frames == 1)
			return "malformed message: keeps a key that it answers";
		land(peer, s, frame);
		used(peer, s, 1);
		return NULL;
	}
	s = find_by_key(peer, rx->rkey, U32_MAX);
	if (!s || s->frames > 1 || !s->awaits)
		return "malformed message: invalidates a key that it was not lent";
	if (type != DSM_MSG_PAGE || s->request[0].region != region || s->request[0].xid != xid)
		return "malformed message: invalidates a key that it does not answer";
	land(peer, s, 0);
	if (peer->net->software) {
		used(peer, s, 1);
		return NULL;
	}
	unmap(s, peer->net->dev);
	list_move(&s->link, &peer->sinks_free);
	return NULL;
}

/* ---- brief answers ---- */

static u32 frame_of(const struct dsm_msgbuf *msg)
{
	return msg->raddr >> ADDR_FRAME_SHIFT & FRAME_MASK;
}

/**
 * dsm_sink_shares() - may an answer not take its key away?
 * @msg: answer with a key
 *
 * Context: any.
 * Return: true if others may need it.
 */
bool dsm_sink_shares(const struct dsm_msgbuf *msg)
{
	return msg->raddr & ADDR_SHARED;
}

/**
 * dsm_sink_address() - where the page of an answer is to be written
 * @msg: answer with a key
 *
 * Context: any.
 * Return: the address.
 */
u64 dsm_sink_address(const struct dsm_msgbuf *msg)
{
	return dsm_sink_shares(msg) ? round_down(msg->raddr, DSM_PAGE_BYTES) : msg->raddr;
}

static bool may_be_brief(struct dsm_peer *peer, const struct dsm_msgbuf *msg)
{
	return msg->brief && msg->rkey && msg->page && dsm_fault_allows_brief(peer, msg);
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
	if (!may_be_brief(peer, msg))
		return false;
	credits = dsm_credit_brief(&peer->credit);
	if (credits < 0)
		return false;
	*imm = (msg->rkey & KEY_MASK) | (u32)credits << CREDIT_SHIFT | msg->brief << NUMBER_SHIFT;
	if (dsm_sink_shares(msg))
		*imm |= frame_of(msg) << FIRST_SHIFT;
	dsm_fault_brief(peer, imm);
	return true;
}

/**
 * dsm_sink_joins() - may an answer go with the one in front of it?
 * @peer: receiver
 * @msg:  answer that is about to be posted
 * @rkey: key of the one in front, which is brief
 * @imm:  its immediate; if the answer may join, that of both
 *
 * Context: peer lock held; any.
 * Return: true if it may.
 */
bool dsm_sink_joins(struct dsm_peer *peer, const struct dsm_msgbuf *msg, u32 rkey, u32 *imm)
{
	u32 first = *imm >> FIRST_SHIFT & FRAME_MASK, more = *imm >> MORE_SHIFT & FRAME_MASK;

	lockdep_assert_held(&peer->lock);
	if (!may_be_brief(peer, msg) || !dsm_sink_shares(msg) || msg->rkey != rkey ||
	    frame_of(msg) != first + more + 1 || msg->brief != *imm >> NUMBER_SHIFT)
		return false;
	*imm += 1u << MORE_SHIFT;
	return true;
}

/**
 * dsm_sink_answered_briefly() - answers came that are only an immediate
 * @peer:  sender
 * @imm:   immediate, not checked
 * @bytes: that were written, as the device says
 * @b:     out: what is answered
 *
 * Context: peer lock held; receive path of P. If it returns NULL, dsm_sink_used() follows.
 * Return: NULL, or the rule that is broken.
 */
const char *dsm_sink_answered_briefly(struct dsm_peer *peer, u32 imm, u32 bytes, struct dsm_briefly *b)
{
	u32 i;

	lockdep_assert_held(&peer->lock);
	b->first = imm >> FIRST_SHIFT & FRAME_MASK;
	b->n = 1 + (imm >> MORE_SHIFT & FRAME_MASK);
	b->number = imm >> NUMBER_SHIFT;
	b->sink = find_by_key(peer, imm, KEY_MASK);
	if (!b->sink)
		return "malformed brief answer: names no key that was lent";
	if (bytes != b->n * DSM_PAGE_BYTES)
		return "malformed brief answer: length";
	for (i = b->first; i < b->first + b->n; i++)
		if (i >= b->sink->frames || !(b->sink->awaits & BIT(i)))
			return "malformed brief answer: names no frame that was lent";
	for (i = b->first; i < b->first + b->n; i++)
		land(peer, b->sink, i);
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
	return imm >> CREDIT_SHIFT & DSM_CREDIT_BRIEF_MAX;
}

/**
 * dsm_sink_expand() - make up a message that a brief answer stands for
 * @peer: sender
 * @b:    what is answered
 * @i:    which of these
 * @msg:  out: message, DSM_BRIEF_BYTES at most
 *
 * Context: receive path of P.
 * Return: length of the message in bytes, -EPROTO: there is no such answer to the request.
 */
int dsm_sink_expand(struct dsm_peer *peer, const struct dsm_briefly *b, u32 i, u8 *msg)
{
	const struct sink_request *q = &b->sink->request[b->first + i];
	struct dsm_net *net = peer->net;

	if (q->len > sizeof(q->bytes))
		return -EPROTO;
	return net->ops->expand(net->ctx, peer->node, q->bytes, q->len, b->number, msg);
}

/**
 * dsm_sink_used() - brief answers were worked on
 * @peer: sender
 * @b:    what was answered
 *
 * Whoever waited for the pages was woken before anything is done about the key.
 *
 * Context: peer lock held; receive path of P. dsm_send_push() follows, or the end of the peer.
 */
void dsm_sink_used(struct dsm_peer *peer, const struct dsm_briefly *b)
{
	lockdep_assert_held(&peer->lock);
	used(peer, b->sink, b->n);
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
		peer->sinks_due -= s->frames;
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
 * @mr:       registration of its sink, and of those of requests that went with it
 * @doubtful: list for dsm_sink_renew()
 *
 * The new P may bring answers already. One to a request that the peer says it lacks is a lie, and whoever works on it has
 * the sink: it stays where it is, and the peer is dropped.
 *
 * Context: peer lock held; any.
 */
void dsm_sink_doubt(struct dsm_peer *peer, const struct ib_mr *mr, struct list_head *doubtful)
{
	struct dsm_sink *s;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(s, &peer->sinks_lent, link) {
		if (s->mr != mr)
			continue;
		if (s->awaits == BIT(s->frames) - 1) {
			list_move(&s->link, doubtful);
		} else {
			peer->stats.invalid_msgs++;
			dsm_peer_fail_locked(peer, DSM_WHY_CAUSE, -EPROTO,
					     "malformed message: answers a request that it says it lacks");
		}
		return;
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
