// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Knowledge that is false: a node that believes in intervals of another that never were is told so, and forgets them.
 *
 * A node is the one that knows its own intervals. Whoever says that it knows more of them is mistaken, or was misled: it
 * gets NEVER with its claim and the number of the last one. What it has in between is false, and it forgets that, unless
 * it never made such a claim: then it was said in its name. In place of false records true ones were not taken, so it asks
 * for what is above at once, and invalidates everything. Nobody is told less than before by who forgot nothing:
 * true records that were learned after a claim that was changed on its way stay, since others rely on what was written
 * after them (the model's "lie", mutant M131). Never drops anybody: who is misled is not who misleads, and may have
 * told others in good faith.
 */
#include "interval.h"
#include "rsync.h"

/**
 * dsm_know_never() - a node believes in intervals of ours that never were
 * @e:       engine
 * @to:      the node
 * @claimed: number of the last one that it believes in
 * @acts:    actions
 *
 * Context: engine lock held.
 */
void dsm_know_never(struct dsm_engine *e, u16 to, u64 claimed, struct dsm_actions *acts)
{
	const struct dsm_wire_never body = {
		.last = cpu_to_le64(e->known[e->self]),
		.claimed = cpu_to_le64(claimed),
	};
	struct dsm_msgbuf *m;

	if (to == e->self || !dsm_engine_alive(e, to))
		return;
	m = dsm_msg_new(e, to, DSM_CLASS_REQ, DSM_MSG_NEVER, 0, ++e->next_xid);
	dsm_wire_put(m, &body, sizeof(body));
	dsm_act_send(acts, m);
}

/* Who told of them is named: one of them is the liar, or the one that it has misled. */
static void forget_above(struct dsm_engine *e, u16 node, u64 last, struct dsm_actions *acts)
{
	struct dsm_interval *rec;

	while (!list_empty(&e->log[node])) {
		rec = list_last_entry(&e->log[node], struct dsm_interval, link);
		if (rec->seq <= last)
			break;
		acts->misled_by |= 1ull << rec->from;
		list_del(&rec->link);
		dsm_pool_give(e, DSM_POOL_INTERVAL, rec);
		e->log_records--;
	}
	acts->misled = true;
	acts->misled_of = node;
}

/**
 * dsm_know_on_never() - message NEVER
 * @e:    engine
 * @from: sender, whose intervals they would be
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if it contradicts itself.
 */
int dsm_know_on_never(struct dsm_engine *e, u16 from, struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_wire_never body;
	u64 last, claimed;

	dsm_reader_take(r, &body, sizeof(body));
	last = le64_to_cpu(body.last);
	claimed = le64_to_cpu(body.claimed);
	if (last >= claimed)
		return -EPROTO;
	/* Forgotten already, or it was said in our name. */
	if (claimed > e->known[from])
		return 0;
	forget_above(e, from, last, acts);
	dsm_rsync_unnote(e, from, last);
	e->known[from] = last;
	e->applied[from] = min(e->applied[from], last);
	e->floor[from] = min(e->floor[from], last);
	e->learned++;
	e->inval_all = true;
	e->stats.false_news++;
	dsm_pull_ahead(e, from, acts);
	return 0;
}
