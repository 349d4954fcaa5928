// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Multicasts under way: each node gets a multicast in two parts, in any order, at any time, each lost, once or twice. Of
 * every other one somebody forges a part. A page's wait for one may end at any time.
 */
#include "model.h"
#include "bcast.h"

#define PARTS 2
#define HINTS 2		/* fewer than pages and homes may need */
#define WAIT_STEPS 60

static struct dsm_heat heats[MAX_NODES][DSM_BCAST_HEAT];
static struct dsm_hint hints[MAX_NODES][HINTS];
static u8 bytes[MAX_NODES][HINTS][DSM_PAGE_BYTES];
static struct dsm_bcast memory[MAX_NODES];

void bcast_start(struct node *n)
{
	u32 id = node_id(n), k;

	memset(heats[id], 0, sizeof(heats[id]));
	memset(hints[id], 0, sizeof(hints[id]));
	for (k = 0; k < HINTS; k++)
		hints[id][k].bytes = bytes[id][k];
	memory[id] = (struct dsm_bcast){ .cluster = 77, .wait_ns = WAIT_STEPS, .secret = id, .hints = HINTS,
					 .hint = hints[id], .heat = heats[id] };
	dsm_bcast_set(&n->e, &memory[id]);
}

/* What does not fit is lost. */
static void send(u32 to, struct dsm_wire_cast head, u32 part, const u8 *page)
{
	u32 half = DSM_PAGE_BYTES / PARTS;
	struct gram *g;

	if (w.n_grams == MAX_GRAMS)
		return;
	g = &w.gram[w.n_grams++];
	*g = (struct gram){ .to = to, .len = sizeof(head) + half, .id = w.next_msg++, .stamp = ++w.next_stamp };
	head.off = cpu_to_le16(part * half);
	head.len = cpu_to_le16(half);
	memcpy(g->data, &head, sizeof(head));
	memcpy(g->data + sizeof(head), page + part * half, half);
}

void bcast_post(struct node *n, struct dsm_msgbuf *m)
{
	static const u8 forged[DSM_PAGE_BYTES] = { [0 ... DSM_PAGE_BYTES - 1] = 99 };
	struct dsm_wire_cast head;
	u32 to, part;

	memcpy(&head, m->data, sizeof(head));
	say("       multicast %c of page index %u, number %u, version %llu", 'A' + node_id(n), le32_to_cpu(head.idx),
	    le32_to_cpu(head.number), (unsigned long long)le64_to_cpu(head.ver));
	for (to = 0; to < w.l->nodes; to++) {
		if (to == node_id(n))
			continue;
		for (part = 0; part < PARTS; part++)
			send(to, head, part, m->data + sizeof(head));
		if (le32_to_cpu(head.number) & 1)
			send(to, head, 0, forged);
	}
	flying_free(m, node_id(n));
}

void gram_forget(u32 i)
{
	say("lose part #%u of a multicast to %c", w.gram[i].id, 'A' + w.gram[i].to);
	memmove(&w.gram[i], &w.gram[i + 1], (--w.n_grams - i) * sizeof(w.gram[0]));
}

void gram_deliver(u32 i)
{
	struct gram g = w.gram[i];
	struct node *n = &w.node[g.to];
	struct dsm_actions acts;

	say("deliver part #%u of a multicast to %c", g.id, 'A' + g.to);
	if (g.again)
		memmove(&w.gram[i], &w.gram[i + 1], (--w.n_grams - i) * sizeof(w.gram[0]));
	else
		w.gram[i].again = true;
	w.gram[i].stamp = ++w.next_stamp;
	step_begin(n, &acts);
	if (dsm_bcast_on_datagram(&n->e, g.data, g.len, &acts) == -EPROTO)
		fail("part #%u of a multicast is refused", g.id);
	step_end(n, &acts);
}

bool bcast_waits(const struct node *n)
{
	u32 i;

	for (i = 0; n->e.bcast && i < DSM_BCAST_WAITS; i++)
		if (n->e.bcast->wait[i].page)
			return true;
	return false;
}

void bcast_expire(struct node *n)
{
	struct dsm_actions acts;

	say("%c waits for no multicast any more", 'A' + node_id(n));
	step_begin(n, &acts);
	n->e.now_ns = ~0ull;
	dsm_bcast_expire(&n->e, &acts);
	step_end(n, &acts);
}
