// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Pages that are multicast (seed 000, 2.3.6; protocol.md 1.4).
 *
 * The home counts who asks for a page. If several do it multicasts the page, once per version, and answers with
 * the multicast's number, version and a keyed sum of its bytes. Who has received it by then, or does so in time,
 * has the page; who does not asks again for the bytes by themselves.
 *
 * Why that is as good as bytes in the answer. The home puts the asker into the sharing set, or makes its page
 * shared, before it answers, as for any copy (L38). The bytes were read from the frame when the page's version was
 * that of the answer, in one step, so the copy has every diff up to its label (I2); and the home answers so only
 * while that is the page's version (L29, mutants M125, M126). A frame's bytes only get newer, and whatever a home
 * sends of such a page, by multicast or by itself, is read in the step that labels it. So a multicast
 * of a higher label than a node's last copy is also newer than that, and one of the same label may not be: it is
 * not used (L6, mutants M127, M128).
 *
 * A datagram may come from anybody. Its bytes are used only if their sum, at a point that was kept secret until
 * the answer, is what the home says over its connection (mutant M129): 2^-51 for whoever has to guess. Who has seen
 * an answer need not: a home's points follow from each other. Against listeners only the network helps, as everywhere.
 */
#include "bcast.h"
#include "fetch.h"

/* Sums are taken modulo this prime, 2^61 - 1. */
#define PRIME ((1ull << 61) - 1)

static u64 bit(u16 node)
{
	return 1ull << node;
}

static u64 hash_of(u32 region, u32 idx)
{
	return hash_64((u64)region << 32 ^ idx, 32);
}

/**
 * dsm_bcast_set() - there are regions with bcast=adaptive from now on
 * @e: engine
 * @b: memory, zeroed but for what the shell sets; NULL: there are none any more
 *
 * Context: engine lock held.
 */
void dsm_bcast_set(struct dsm_engine *e, struct dsm_bcast *b)
{
	e->bcast = b;
}

/* ---- sums ---- */

static u64 reduce(u64 x)
{
	x = (x & PRIME) + (x >> 61);
	return x >= PRIME ? x - PRIME : x;
}

/* Both below PRIME; by halves, since a machine need not have 128 bits. */
static u64 times(u64 a, u64 b)
{
	u64 lo = (a & 0xffffffff) * (b & 0xffffffff), hi = (a >> 32) * (b >> 32);
	u64 mid = (a >> 32) * (b & 0xffffffff) + (a & 0xffffffff) * (b >> 32);

	/* hi * 2^64 + mid * 2^32 + lo, where 2^61 is 1: 2^64 is 8, and mid is below 2^62. */
	return reduce(reduce(hi << 3) + reduce(mid >> 29) + reduce((mid & ((1ull << 29) - 1)) << 32) + reduce(lo));
}

/* The polynomial whose coefficients are the page's words of 32 bits, at @key. */
static u64 sum_of(const u8 *bytes, u64 key)
{
	__le32 word;
	u64 sum = 1;
	u32 at;

	for (at = 0; at < DSM_PAGE_BYTES; at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		sum = reduce(times(sum, key) + le32_to_cpu(word));
	}
	return sum;
}

static u64 next_key(struct dsm_bcast *b)
{
	u64 x = b->secret = b->secret * 0xd1342543de82ef95ull + 0x2545f4914f6cdd1dull;

	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15ull;
	return reduce(x ^ x >> 29);
}

/* ---- at the home ---- */

/* The page's entry, in the present interval. */
static struct dsm_heat *heat_of(struct dsm_engine *e, const struct dsm_page *p)
{
	struct dsm_heat *h = &e->bcast->heat[hash_of(p->space->id, p->idx) % DSM_BCAST_HEAT];

	if (h->region != p->space->id || h->idx != p->idx)
		*h = (struct dsm_heat){ .region = p->space->id, .idx = p->idx };
	if (h->interval != e->bcast->interval || h->ver != p->ver) {
		/* An interval in which nobody asks is no news. */
		if (h->cur)
			h->prev = h->cur;
		h->cur = 0;
		h->interval = e->bcast->interval;
		h->ver = p->ver;
	}
	return h;
}

/**
 * dsm_bcast_queued() - a request has to wait
 * @e:    engine
 * @p:    page
 * @node: who asks
 *
 * Context: engine lock held.
 */
void dsm_bcast_queued(struct dsm_engine *e, const struct dsm_page *p, u16 node)
{
	if (e->bcast && dsm_page_is_bcast(p))
		heat_of(e, p)->queued |= bit(node);
}

/**
 * dsm_bcast_unqueued() - a request does not have to wait any longer
 * @e:    engine
 * @p:    page
 * @node: who asks
 *
 * Context: engine lock held.
 */
void dsm_bcast_unqueued(struct dsm_engine *e, const struct dsm_page *p, u16 node)
{
	if (e->bcast && dsm_page_is_bcast(p))
		heat_of(e, p)->queued &= ~bit(node);
}

/* Requests that wait together, nodes that ask in one interval, and those that did in the last one. */
static bool is_wide(const struct dsm_engine *e, const struct dsm_heat *h)
{
	return hweight64(h->queued & e->alive) >= DSM_BCAST_MANY || hweight64(h->cur) >= DSM_BCAST_MANY ||
	       hweight64(h->prev) > DSM_BCAST_MANY;
}

static void cast(struct dsm_engine *e, struct dsm_page *p, struct dsm_heat *h, struct dsm_actions *acts)
{
	struct dsm_bcast *b = e->bcast;
	struct dsm_msgbuf *m = dsm_pool_take(e, DSM_POOL_MSG);
	u8 *bytes = m->data + sizeof(struct dsm_wire_cast);
	struct dsm_wire_cast head = {
		.magic = cpu_to_le32(DSM_CAST_MAGIC),
		.version = cpu_to_le16(DSM_WIRE_VERSION),
		.src = cpu_to_le16(e->self),
		.cluster = cpu_to_le64(b->cluster),
		.region = cpu_to_le32(p->space->id),
		.idx = cpu_to_le32(p->idx),
		.ver = cpu_to_le64(p->ver),
		.len = cpu_to_le16(DSM_PAGE_BYTES),
	};

	if (!++b->number)
		b->number++;
	head.number = cpu_to_le32(b->number);
	memcpy(m->data, &head, sizeof(head));
	memcpy(bytes, dsm_env_bytes(p->frame), DSM_PAGE_BYTES);
	m->next = NULL;
	m->dst = DSM_NO_NODE;
	m->len = sizeof(head) + DSM_PAGE_BYTES;
	h->number = b->number;
	h->cast_ver = p->ver;
	h->at = e->now_ns;
	h->key = next_key(b);
	h->sum = sum_of(bytes, h->key);
	dsm_count(e, p->space, bcast_pages);
	acts->cast = m;
}

static void tell(struct dsm_engine *e, const struct dsm_page *p, const struct dsm_heat *h,
		 const struct dsm_asker *to, struct dsm_actions *acts)
{
	const struct dsm_wire_page body = {
		.idx = cpu_to_le32(p->idx),
		.status = DSM_PAGE_STATUS_CAST,
		.home = cpu_to_le16(e->self),
		.ver = cpu_to_le64(h->cast_ver),
	};
	const struct dsm_wire_told told = {
		.key = cpu_to_le64(h->key),
		.sum = cpu_to_le64(h->sum),
		.number = cpu_to_le32(h->number),
	};
	struct dsm_msgbuf *m = dsm_msg_new(e, to->node, DSM_CLASS_RSP, DSM_MSG_PAGE, p->space->id, to->xid);

	dsm_wire_put(m, &body, sizeof(body));
	dsm_wire_put(m, &told, sizeof(told));
	dsm_act_send(acts, m);
}

/**
 * dsm_bcast_serve() - a request for a page that has bytes
 * @e:    engine
 * @p:    page homed here, readable; @to is in its sharing set, or the page is shared
 * @to:   who asks
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: true: it is answered; false: it gets the bytes by themselves.
 */
bool dsm_bcast_serve(struct dsm_engine *e, struct dsm_page *p, const struct dsm_asker *to,
		     struct dsm_actions *acts)
{
	bool again, loose = dsm_moves_loose(p);
	struct dsm_heat *h;

	if (!e->bcast || !dsm_page_is_bcast(p))
		return false;
	h = heat_of(e, p);
	again = h->number && h->cast_ver == p->ver;
	h->cur |= bit(to->node);
	h->queued |= bit(to->node);
	if (to->cast && !again && !loose && is_wide(e, h))
		cast(e, p, h, acts);
	h->queued &= ~bit(to->node);
	/* A multicast does not say that the page may move. What it could have by now and has not, it will not get. */
	if (loose || !to->cast || !h->number || h->cast_ver != p->ver ||
	    (to->have != h->number && e->now_ns - h->at >= e->bcast->wait_ns))
		return false;
	tell(e, p, h, to, acts);
	return true;
}

/* ---- at who asks ---- */

static struct dsm_hint *hint_of(const struct dsm_engine *e, u32 region, u32 idx)
{
	const struct dsm_bcast *b = e->bcast;

	return &b->hint[hash_of(region, idx) % b->hints];
}

static bool is_whole(const struct dsm_hint *h)
{
	return h->parts == ~0ull >> (64 - DSM_PAGE_BYTES / DSM_CAST_UNIT);
}

static bool is_of(const struct dsm_hint *h, const struct dsm_page *p)
{
	return h->region == p->space->id && h->idx == p->idx;
}

/**
 * dsm_bcast_takes() - may the fetch of a page be answered by a multicast?
 * @e: engine
 * @p: page
 *
 * Context: engine lock held.
 * Return: true if it may: this node receives any, and the page's bytes are to go into its frame.
 */
bool dsm_bcast_takes(const struct dsm_engine *e, const struct dsm_page *p)
{
	return dsm_page_is_bcast(p) && e->bcast && e->bcast->hints && p->state == DSM_PAGE_FET &&
	       !(p->dir & DSM_CAST_NOT);
}

/**
 * dsm_bcast_have() - which multicast of a page is here?
 * @e: engine
 * @p: page that dsm_bcast_takes()
 *
 * Context: engine lock held.
 * Return: its number, at the page's home; 0: none that may be of use.
 */
u32 dsm_bcast_have(const struct dsm_engine *e, const struct dsm_page *p)
{
	const struct dsm_hint *h = hint_of(e, p->space->id, p->idx);

	return is_of(h, p) && h->src == p->home && is_whole(h) && h->ver > p->ver && h->ver >= p->need ?
		       h->number : 0;
}

static void end_wait(struct dsm_cast_wait *w)
{
	w->hint->awaited = false;
	w->page = NULL;
}

/* It is whole: into the page, or, if it is not what the home sent, ask for the bytes. */
static void arrived(struct dsm_engine *e, struct dsm_page *p, struct dsm_hint *h, u64 key, u64 sum,
		    struct dsm_actions *acts)
{
	if (key && key < PRIME && sum_of(h->bytes, key) == sum) {
		dsm_fetch_cast(e, p, h->ver, h->bytes, acts);
		return;
	}
	h->region = 0;
	dsm_count(e, p->space, bcast_lost);
	dsm_fetch_plain(e, p, acts);
}

static struct dsm_cast_wait *free_wait(struct dsm_bcast *b)
{
	u32 i;

	for (i = 0; i < DSM_BCAST_WAITS; i++)
		if (!b->wait[i].page)
			return &b->wait[i];
	return NULL;
}

static void alarm(const struct dsm_engine *e, struct dsm_actions *acts)
{
	u64 first = 0;
	u32 i;

	for (i = 0; i < DSM_BCAST_WAITS; i++)
		if (e->bcast->wait[i].page && (!first || e->bcast->wait[i].until < first))
			first = e->bcast->wait[i].until;
	acts->cast_ns = first;
}

/**
 * dsm_bcast_on_told() - the home says which multicast has the page
 * @e:    engine
 * @p:    page in FET, which dsm_bcast_takes()
 * @ver:  version of the multicast
 * @r:    rest of the answer, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0.
 */
int dsm_bcast_on_told(struct dsm_engine *e, struct dsm_page *p, u64 ver, struct dsm_reader *r,
		      struct dsm_actions *acts)
{
	struct dsm_hint *h = hint_of(e, p->space->id, p->idx);
	struct dsm_cast_wait *w;
	struct dsm_wire_told told;

	dsm_reader_take(r, &told, sizeof(told));
	/* What a copy here had could be newer (mutant M128). */
	if (ver <= p->ver) {
		dsm_fetch_plain(e, p, acts);
		return 0;
	}
	if (is_of(h, p) && h->src == p->home && h->number == le32_to_cpu(told.number) && h->ver == ver) {
		if (is_whole(h)) {
			arrived(e, p, h, le64_to_cpu(told.key), le64_to_cpu(told.sum), acts);
			return 0;
		}
	} else if (!h->awaited) {
		*h = (struct dsm_hint){ .region = p->space->id, .idx = p->idx, .ver = ver,
					.number = le32_to_cpu(told.number), .src = p->home, .bytes = h->bytes };
	}
	w = free_wait(e->bcast);
	if (!w || h->awaited) {
		dsm_fetch_plain(e, p, acts);
		return 0;
	}
	*w = (struct dsm_cast_wait){ .page = p, .hint = h, .key = le64_to_cpu(told.key),
				     .sum = le64_to_cpu(told.sum), .until = e->now_ns + e->bcast->wait_ns };
	h->awaited = true;
	/* This request is answered. */
	p->xid = dsm_xid_next(e);
	alarm(e, acts);
	return 0;
}

static bool is_sound(const struct dsm_wire_cast *head, u32 len)
{
	u32 off = le16_to_cpu(head->off), bytes = le16_to_cpu(head->len);

	return bytes && bytes == len && off + bytes <= DSM_PAGE_BYTES && off % DSM_CAST_UNIT == 0 &&
	       bytes % DSM_CAST_UNIT == 0 && head->number && le16_to_cpu(head->src) < DSM_MAX_NODES;
}

/* Another multicast than the one whose parts are there: may it take their place? */
static bool may_replace(const struct dsm_hint *h, const struct dsm_wire_cast *head)
{
	if (h->awaited)
		return false;
	if (h->region != le32_to_cpu(head->region) || h->idx != le32_to_cpu(head->idx))
		return true;
	return le64_to_cpu(head->ver) > h->ver || h->src != le16_to_cpu(head->src);
}

static bool is_part_of(const struct dsm_hint *h, const struct dsm_wire_cast *head)
{
	return h->region == le32_to_cpu(head->region) && h->idx == le32_to_cpu(head->idx) &&
	       h->src == le16_to_cpu(head->src) && h->number == le32_to_cpu(head->number) &&
	       h->ver == le64_to_cpu(head->ver);
}

static void take_part(struct dsm_hint *h, const struct dsm_wire_cast *head, const u8 *data)
{
	u32 first = le16_to_cpu(head->off) / DSM_CAST_UNIT, n = le16_to_cpu(head->len) / DSM_CAST_UNIT;

	memcpy(h->bytes + le16_to_cpu(head->off), data, le16_to_cpu(head->len));
	h->parts |= ~0ull >> (64 - n) << first;
}

/**
 * dsm_bcast_on_datagram() - a part of a multicast
 * @e:    engine
 * @data: datagram
 * @len:  its length in bytes
 * @acts: actions
 *
 * Whoever sent it: what it says is believed by nobody.
 *
 * Context: engine lock held.
 * Return: 0; -EPROTO malformed; -ESRCH it is not of a page that this node could want.
 */
int dsm_bcast_on_datagram(struct dsm_engine *e, const u8 *data, u32 len, struct dsm_actions *acts)
{
	struct dsm_reader r = dsm_reader_init(data, len);
	struct dsm_wire_cast head;
	struct dsm_cast_wait *w;
	struct dsm_space *s;
	struct dsm_page *p;
	struct dsm_hint *h;

	dsm_reader_take(&r, &head, sizeof(head));
	if (r.bad || le32_to_cpu(head.magic) != DSM_CAST_MAGIC ||
	    le16_to_cpu(head.version) != DSM_WIRE_VERSION || !is_sound(&head, dsm_reader_left(&r)))
		return -EPROTO;
	s = dsm_space_find(e, le32_to_cpu(head.region));
	if (!e->bcast || !e->bcast->hints || le64_to_cpu(head.cluster) != e->bcast->cluster || !s ||
	    s->policy.bcast != DSM_BCAST_ADAPTIVE || le32_to_cpu(head.idx) >= s->pages ||
	    le16_to_cpu(head.src) == e->self || !dsm_engine_alive(e, le16_to_cpu(head.src)))
		return -ESRCH;
	h = hint_of(e, s->id, le32_to_cpu(head.idx));
	if (!is_part_of(h, &head)) {
		if (!may_replace(h, &head))
			return 0;
		*h = (struct dsm_hint){ .region = s->id, .idx = le32_to_cpu(head.idx),
					.ver = le64_to_cpu(head.ver), .number = le32_to_cpu(head.number),
					.src = le16_to_cpu(head.src), .bytes = h->bytes };
	}
	/* What is whole stays as it is. */
	if (is_whole(h))
		return 0;
	take_part(h, &head, r.pos);
	if (!h->awaited || !is_whole(h))
		return 0;
	for (w = e->bcast->wait; w->hint != h || !w->page;)
		w++;
	p = w->page;
	end_wait(w);
	arrived(e, p, h, w->key, w->sum, acts);
	return 0;
}

/**
 * dsm_bcast_awaits() - is the fetch of a page answered, but for a multicast that is under way?
 * @e: engine
 * @p: page
 *
 * Context: engine lock held.
 * Return: true if so: no message may answer it.
 */
bool dsm_bcast_awaits(const struct dsm_engine *e, const struct dsm_page *p)
{
	const struct dsm_cast_wait *w;

	if (!e->bcast || !dsm_page_is_bcast(p))
		return false;
	for (w = e->bcast->wait; w < e->bcast->wait + DSM_BCAST_WAITS; w++)
		if (w->page == p)
			return true;
	return false;
}

/**
 * dsm_bcast_expire() - the time of a wait may be over
 * @e:    engine, which was told the time
 * @acts: actions; @acts->cast_ns says when to call again, if at all
 *
 * Context: engine lock held.
 */
void dsm_bcast_expire(struct dsm_engine *e, struct dsm_actions *acts)
{
	struct dsm_cast_wait *w;
	struct dsm_page *p;

	if (!e->bcast)
		return;
	for (w = e->bcast->wait; w < e->bcast->wait + DSM_BCAST_WAITS; w++) {
		p = w->page;
		if (!p || w->until > e->now_ns)
			continue;
		end_wait(w);
		dsm_count(e, p->space, bcast_lost);
		dsm_fetch_plain(e, p, acts);
	}
	alarm(e, acts);
}

/**
 * dsm_bcast_forget() - a fetch has ended without an answer
 * @e: engine
 * @p: page
 *
 * Context: engine lock held.
 */
void dsm_bcast_forget(struct dsm_engine *e, const struct dsm_page *p)
{
	struct dsm_cast_wait *w;

	if (!e->bcast || !dsm_page_is_bcast(p))
		return;
	for (w = e->bcast->wait; w < e->bcast->wait + DSM_BCAST_WAITS; w++)
		if (w->page == p)
			end_wait(w);
}
