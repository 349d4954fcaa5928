// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Barriers, central form: the manager.
 *
 * It collects arrivals (node, ticket, number of threads) until as many have come as the callers
 * say, then sends each node one departure with its tickets and the knowledge it lacks. A party
 * that ends inside makes the episode fail for all others, those who come later included.
 *
 * Nobody knows how many threads will come from where. A node that departs is told how many it
 * were, and may hold the next arrivals back until it has as many. While every holder reports
 * exactly that number, no thread is missing; with the first report that differs, all holders are
 * asked to report what they have. Never relies on the nodes' behaving as last time.
 */
#include "barrier.h"
#include "interval.h"
#include "letter.h"

/* The nodes of @nodes shall report at once what they hold, and one by one what comes; and remember what has failed. */
static void ask(struct dsm_engine *e, struct dsm_barrier *b, u64 nodes, struct dsm_actions *acts)
{
	struct dsm_wire_arrive body = {
		.key = cpu_to_le64(b->key),
		.episode = cpu_to_le64(b->episode),
		.broken = cpu_to_le32(b->broken),
	};
	struct dsm_msgbuf *m;
	u16 node;

	for (node = 0; node < e->n_nodes; node++) {
		if (!(nodes & 1ull << node) || !dsm_engine_alive(e, node))
			continue;
		m = dsm_msg_new(e, node, DSM_CLASS_FWD, DSM_MSG_BAR_ASK, b->region, 0);
		dsm_wire_put(m, &body, sizeof(body));
		dsm_letter_send(e, m, acts);
	}
	b->holders &= ~nodes;
}

/* ---- departures ---- */

/*
 * One departure for all arrivals of @list that are to be answered by node @hop, as many as fit.
 * @b: the episode is over and the nodes may hold the next arrivals back; NULL: they may not.
 * @broken: failed episode that they shall remember, or 0
 */
static void depart_node(struct dsm_engine *e, struct list_head *list, u16 hop, u32 region, u64 key,
			const struct dsm_barrier *b, int status, u32 broken, struct dsm_actions *acts)
{
	struct dsm_wire_depart body = {
		.key = cpu_to_le64(key),
		.status = cpu_to_le32(-status),
		.about = cpu_to_le16(e->self),
		.broken = cpu_to_le32(broken),
	};
	const struct dsm_space *moving = b && b->moving ? dsm_space_find(e, region) : NULL;
	struct dsm_request *q, *tmp;
	struct dsm_msgbuf *m;
	u32 pages_bytes = moving ? sizeof(moving->moves.at) : 0;
	u32 head_at, count = 0;

	if (moving)
		body.moves = cpu_to_le32(moving->moves.n);
	if (b) {
		body.episode = cpu_to_le64(b->episode);
		body.parties = cpu_to_le32(b->last_parties);
		body.tree = cpu_to_le64(b->tree.nodes);
		body.fanout = cpu_to_le16(b->tree.fanout);
	}
	m = dsm_msg_new(e, hop, DSM_CLASS_RSP, DSM_MSG_BAR_DEPART, region, 0);
	head_at = m->len;
	dsm_wire_put(m, &body, sizeof(body));
	list_for_each_entry_safe(q, tmp, list, cont.link) {
		struct dsm_wire_ticket ticket = {
			.node = cpu_to_le16(q->node),
			.up = cpu_to_le16(q->up),
			.xid = cpu_to_le32(q->xid),
			.count = cpu_to_le32(q->count),
		};

		/* Vector time and pages must fit behind the tickets. */
		if (q->via != hop || dsm_wire_room(m) < DSM_MAX_NODES * 8 + pages_bytes + 64)
			continue;
		if (b && b->holders & 1ull << q->node)
			ticket.hold = cpu_to_le16(b->last[q->node]);
		dsm_wire_put(m, &ticket, sizeof(ticket));
		count++;
		list_del(&q->cont.link);
		dsm_served_free(e, q);
	}
	((struct dsm_wire_depart *)(m->data + head_at))->count = cpu_to_le32(count);
	if (moving)
		dsm_moves_put(m, moving);
	dsm_letter_prefer(e, m);
	dsm_know_put(e, m, hop);
	dsm_letter_send(e, m, acts);
}

/*
 * Local ones are woken, the others are answered by the node @via: of each one message's worth goes
 * now, a rest in later steps.
 * Returns the nodes that are sent one.
 */
static u64 depart_list(struct dsm_engine *e, struct list_head *list, u32 region, u64 key,
		       const struct dsm_barrier *b, int status, u32 broken, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, region);
	struct dsm_request *q, *tmp;
	u64 told = 0;

	list_for_each_entry_safe(q, tmp, list, cont.link) {
		if (q->node != e->self)
			continue;
		list_del(&q->cont.link);
		if (s)
			dsm_moves_depart(e, s, e->self, q->xid, s->moves.at, b && b->moving ? s->moves.n : 0);
		dsm_barrier_wake(e, e->self, q->xid, q->count, status, DSM_NO_NODE, acts);
		dsm_served_free(e, q);
	}
	while (!list_empty(list)) {
		u16 hop;

		q = list_first_entry(list, struct dsm_request, cont.link);
		hop = q->via;
		if (told & 1ull << hop || !dsm_engine_alive(e, hop)) {
			list_del(&q->cont.link);
			q->type = DSM_MSG_BAR_DEPART;
			q->value = -status;
			q->via = q->node;
			dsm_ready(e, acts, &q->cont, DSM_CONT_REQUEST);
			continue;
		}
		told |= 1ull << hop;
		depart_node(e, list, hop, region, key, b, status, broken, acts);
	}
	return told;
}

/* May the next reports go through other nodes? The parties came twice, each node's in one report. */
static bool is_stable(const struct dsm_barrier *b, const struct list_head *list, u16 self)
{
	const struct dsm_request *q;
	u64 once = 0;

	if (b->members != b->last_members || b->parties != b->last_parties)
		return false;
	list_for_each_entry(q, list, cont.link) {
		if (q->node == self)
			continue;
		if (once & 1ull << q->node)
			return false;
		once |= 1ull << q->node;
	}
	return true;
}

/*
 * Is every node quiet that uses the region (mutant M119)? Their tickets come first: they are in the messages that
 * name pages.
 */
static bool all_quiet(struct dsm_engine *e, const struct dsm_space *s, struct list_head *list)
{
	struct dsm_request *q, *tmp;
	u64 quiet = 0;

	list_for_each_entry_safe(q, tmp, list, cont.link) {
		if (!q->op)
			continue;
		list_move(&q->cont.link, list);
		if (q->via == q->node && dsm_engine_alive(e, q->node))
			quiet |= 1ull << q->node;
	}
	/* Also one that is lost here: others may have it still. Who left in good order is no user any more. */
	return s && s->moves.n && !(s->users & ~quiet);
}

/* Those present go; the episode is over when all have come, or nobody can come any more. */
static void end_episode(struct dsm_engine *e, struct dsm_barrier *b, struct dsm_actions *acts)
{
	bool over = b->seen == b->parties;
	u64 remote = b->members & ~(1ull << e->self), told;
	struct dsm_space *s = dsm_space_find(e, b->region);
	int status = b->status;
	struct dsm_request *q;
	struct list_head list;
	u16 node;

	INIT_LIST_HEAD(&list);
	list_splice_tail_init(&b->arrivals, &list);
	if (!status)
		ask(e, b, b->holders & ~remote, acts);	/* this time they took no part */
	b->tree = (struct dsm_tree){};
	if (!status && hweight64(remote) > e->barrier_fanout && is_stable(b, &list, e->self))
		b->tree = (struct dsm_tree){ .nodes = remote, .fanout = e->barrier_fanout };
	if (over) {
		b->last_members = b->members;
		b->last_parties = b->parties;
		b->shut = false;
		b->status = 0;
		b->strays = false;
		b->members = 0;
		memcpy(b->last, b->count, sizeof(b->last));
		memset(b->count, 0, sizeof(b->count));
	}
	if (!status) {
		b->episode = ++e->barrier_episodes;
		b->holders = 0;
		for (node = 0; node < e->n_nodes; node++)
			if (remote & 1ull << node && b->last[node] <= DSM_BARRIER_HOLD_MAX)
				b->holders |= 1ull << node;
		if (b->holders != remote)
			b->tree = (struct dsm_tree){};	/* not all would wait for those below */
	}
	/* Back on the way that they came; a failure goes straight to each. */
	list_for_each_entry(q, &list, cont.link)
		if (status)
			q->via = q->node;
	b->moving = !status && all_quiet(e, s, &list);
	told = depart_list(e, &list, b->region, b->key, status ? NULL : b, status, b->broken_news ? b->broken : 0, acts);
	if (b->moving)
		s->moves.n = 0;
	b->moving = false;
	/* A departure without "hold" says as much as a question. */
	if (status) {
		ask(e, b, (b->holders | b->broken_news) & ~told, acts);
		b->holders = 0;
	}
	b->broken_news = 0;
	if (over)
		dsm_barrier_idle(e, b);
}

static void refuse(struct dsm_engine *e, struct dsm_request *q, int status,
		   struct dsm_actions *acts)
{
	struct list_head one;

	q->via = q->node;
	INIT_LIST_HEAD(&one);
	list_add_tail(&q->cont.link, &one);
	depart_list(e, &one, q->region, q->key, NULL, status, 0, acts);
}

/* A departure that did not fit into its message, and all the others like it. */
static void depart_rest(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts)
{
	struct dsm_request *other;
	struct dsm_cont *c, *tmp;
	struct list_head list;

	INIT_LIST_HEAD(&list);
	list_add_tail(&q->cont.link, &list);
	list_for_each_entry_safe(c, tmp, &e->ready, link) {
		if (c->kind != DSM_CONT_REQUEST)
			continue;
		other = container_of(c, struct dsm_request, cont);
		if (other->type != q->type || other->node != q->node || other->value != q->value ||
		    other->key != q->key || other->region != q->region)
			continue;
		list_del(&c->link);
		list_add_tail(&c->link, &list);
	}
	depart_list(e, &list, q->region, q->key, NULL, -(int)q->value, 0, acts);
}

/* Arrivals of one report that are too many for this episode: they belong to the next. */
static void split(struct dsm_engine *e, struct dsm_request *q, u32 room, struct dsm_actions *acts)
{
	struct dsm_request *rest = dsm_served_new(e, q);

	rest->count = q->count - room;
	rest->gone = q->gone - min(q->gone, room);
	rest->op = 0;
	q->count = room;
	q->gone -= rest->gone;
	dsm_ready(e, acts, &rest->cont, DSM_CONT_REQUEST);
}

/* Parties of an episode that failed before the present one began. */
static void refuse_owed(struct dsm_engine *e, struct dsm_barrier *b, struct dsm_request *q, struct dsm_actions *acts)
{
	if (q->count > b->owed)
		split(e, q, b->owed, acts);
	b->owed -= q->count;
	refuse(e, q, -EOWNERDEAD, acts);
}

static void begin(struct dsm_engine *e, struct dsm_barrier *b, u32 parties)
{
	struct dsm_space *s = dsm_space_find(e, b->region);

	dsm_barrier_busy(e, b);
	b->parties = parties;
	if (b->episode)
		return;
	b->episode = ++e->barrier_episodes;
	/* Forgotten, or never seen: whoever was forgotten with any key may hold arrivals of this. */
	if (s)
		b->holders = e->barriers_dropped & s->users & ~(1ull << e->self);
}

/* Reported where it was told to, and after it knew how the last episode ended? */
static bool is_usual(const struct dsm_engine *e, const struct dsm_barrier *b,
		     const struct dsm_request *q)
{
	return q->up == dsm_tree_parent(&b->tree, q->node, e->self) && q->episode == b->episode;
}

/*
 * Passed on, but not by the tree of this episode: @q's threads end if a node is lost by which they
 * reported, and which nodes these are is not known here.
 */
static bool is_stray(const struct dsm_engine *e, const struct dsm_barrier *b,
		     const struct dsm_request *q)
{
	return q->via != q->node && !is_usual(e, b, q);
}

/* Has @node reported something that leaves room for doubt whether others hold arrivals back? */
static bool differs(const struct dsm_engine *e, const struct dsm_barrier *b, u16 node, bool usual)
{
	if (b->parties != b->last_parties)
		return true;
	if (node == e->self)
		return b->count[node] > b->last[node];
	return b->count[node] != b->last[node] || !usual;
}

/**
 * dsm_barrier_serve() - an arrival whose knowledge is in our log, or a departure left over
 * @e:    engine
 * @q:    request, consumed
 * @acts: actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_serve(struct dsm_engine *e, struct dsm_request *q, struct dsm_actions *acts)
{
	struct dsm_barrier *b;
	struct dsm_space *s = dsm_space_find(e, q->region);
	u16 root = s ? dsm_manager(s, DSM_MSG_BAR_ARRIVE, q->key) : e->self;
	u16 node = q->node;
	bool stray, usual;
	u64 needed;

	if (q->type == DSM_MSG_BAR_DEPART) {
		if (dsm_engine_alive(e, q->node))
			depart_rest(e, q, acts);
		else
			dsm_served_free(e, q);
		return;
	}
	if (root != e->self) {
		dsm_barrier_relay(e, q, root, acts);
		return;
	}
	b = dsm_barrier_get(e, q->region, q->key);
	if (dsm_barrier_is_owed(b, q)) {
		refuse_owed(e, b, q, acts);
		return;
	}
	if (b->status == -EOWNERDEAD && dsm_barrier_is_later(b, q))
		dsm_barrier_abandon(e, b);
	if (!b->seen && b->last_parties == q->value && (b->shut || b->last_members & ~e->alive & ~e->left)) {
		refuse(e, q, -EHOSTDOWN, acts);	/* a party of last time will never come */
		return;
	}
	stray = is_stray(e, b, q);
	/* Of two nodes one knows of a loss and the other will. */
	needed = b->strays ? ~0ull : b->members | b->last_members;
	if ((q->told & e->alive & needed) ||
	    (stray && dsm_space_lost(e, q->region) & ~q->told)) {
		refuse(e, q, -EHOSTDOWN, acts);
		return;
	}
	if (b->seen && b->parties != q->value) {
		refuse(e, q, -EINVAL, acts);
		return;
	}
	if (!b->status && b->last_parties != q->value && dsm_space_lost(e, q->region) & ~q->told &&
	    !q->gone && dsm_engine_alive(e, q->node)) {
		refuse(e, q, -EHOSTDOWN, acts);	/* a lost user may be a party: nobody can say */
		return;
	}
	if (!b->seen)
		begin(e, b, q->value);
	if (q->count > b->parties - b->seen)
		split(e, q, b->parties - b->seen, acts);
	b->seen += q->count;
	b->members |= 1ull << node;
	b->count[node] = min_t(u32, b->count[node] + q->count, U16_MAX);
	/* Gone before its arrival was counted, or who passed it on, before all that it knew was told. */
	if (q->gone || !dsm_engine_alive(e, node) || !dsm_engine_alive(e, q->via))
		dsm_barrier_fail(e, b, q->gone ? -EOWNERDEAD : -EHOSTDOWN);
	q->gone = 0;
	b->strays |= stray;
	usual = is_usual(e, b, q);
	if (!usual)
		q->via = node;
	if (!dsm_engine_alive(e, node))
		dsm_served_free(e, q);
	else
		list_add_tail(&q->cont.link, &b->arrivals);
	if (b->status || b->seen == b->parties)
		end_episode(e, b, acts);
	else if (b->holders && differs(e, b, node, usual))
		ask(e, b, b->holders, acts);
}

/**
 * dsm_barrier_accept() - a ticket came: serve it, now or when all that its sender knew is known
 * @e:        engine
 * @init:     ticket; @init->via sent it
 * @complete: all is known
 * @alone:    no other ticket in this step; several are served in steps of their own
 * @acts:     actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_accept(struct dsm_engine *e, const struct dsm_request *init, bool complete,
			bool alone, struct dsm_actions *acts)
{
	struct dsm_barrier *b = dsm_barrier_find(e, init->region, init->key);
	struct dsm_request *q = dsm_served_new(e, init);

	if (b)
		q->gone = dsm_barrier_early_take(b, q);
	if (dsm_served_too_many(e, q)) {
		q->type = DSM_MSG_BAR_DEPART;
		q->value = EDQUOT;
		q->via = q->node;
		complete = true;
	}
	if (complete && alone)
		dsm_barrier_serve(e, q, acts);
	else if (complete)
		dsm_ready(e, acts, &q->cont, DSM_CONT_REQUEST);
	else
		dsm_pull(e, q->via, &q->cont, DSM_CONT_REQUEST, acts);
}

/**
 * dsm_barrier_abort_at_manager() - an arrived thread is gone
 * @e:      engine; we manage the key
 * @region: region id
 * @key:    key
 * @node:   its node
 * @xid:    its ticket
 * @acts:   actions
 *
 * Context: engine lock held.
 */
void dsm_barrier_abort_at_manager(struct dsm_engine *e, u32 region, u64 key, u16 node, u32 xid,
				  struct dsm_actions *acts)
{
	struct dsm_barrier *b = dsm_barrier_find(e, region, key);
	struct dsm_request *q;

	if (b) {
		list_for_each_entry(q, &b->arrivals, cont.link) {
			if (q->node != node || q->xid != xid)
				continue;
			/* It departs all the same: another node may have said this of threads that still wait. */
			dsm_barrier_fail(e, b, -EOWNERDEAD);
			end_episode(e, b, acts);
			return;
		}
	}
	if (!dsm_barrier_mark_gone(e, node, xid))
		dsm_barrier_early_note(dsm_barrier_get(e, region, key), node, xid);
}

static bool are_sound(const struct dsm_engine *e, const struct dsm_wire_arrive *body,
		      struct dsm_reader tickets)
{
	struct dsm_wire_ticket ticket;
	u32 i;

	if (le32_to_cpu(body->count) > e->n_nodes)
		return false;
	for (i = 0; i < le32_to_cpu(body->count); i++) {
		dsm_reader_take(&tickets, &ticket, sizeof(ticket));
		if (le16_to_cpu(ticket.node) == e->self || !ticket.count ||
		    le32_to_cpu(ticket.count) > le32_to_cpu(body->parties))
			return false;
	}
	return true;
}

/**
 * dsm_barrier_on_message() - BAR_ARRIVE, BAR_ABORT
 * @e:    engine
 * @from: sender
 * @hdr:  header
 * @r:    body, checked
 * @acts: actions
 *
 * Context: engine lock held.
 * Return: 0, -EPROTO if the peer broke a rule.
 */
int dsm_barrier_on_message(struct dsm_engine *e, u16 from, const struct dsm_wire_hdr *hdr,
			   struct dsm_reader *r, struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, le32_to_cpu(hdr->region));
	struct dsm_wire_ticket ticket;
	struct dsm_wire_arrive body;
	struct dsm_reader tickets;
	int complete;
	u16 root;
	u32 i;

	dsm_reader_take(r, &body, sizeof(body));
	if (!s || !s->n_members)
		return -EPROTO;
	root = dsm_manager(s, DSM_MSG_BAR_ARRIVE, le64_to_cpu(body.key));
	tickets = *r;
	dsm_reader_skip(r, le32_to_cpu(body.count) * sizeof(ticket));
	dsm_moves_hear(s, r, le32_to_cpu(body.moves));
	if (hdr->type == DSM_MSG_BAR_ABORT) {
		dsm_reader_take(&tickets, &ticket, sizeof(ticket));
		if (le16_to_cpu(ticket.node) == e->self)
			return -EPROTO;
		if (root != e->self)
			dsm_barrier_relay_abort(e, s->id, root, &body, &ticket, acts);
		else
			dsm_barrier_abort_at_manager(e, s->id, le64_to_cpu(body.key),
						     le16_to_cpu(ticket.node),
						     le32_to_cpu(ticket.xid), acts);
		return 0;
	}
	if (!are_sound(e, &body, tickets))
		return -EPROTO;
	complete = dsm_know_take(e, from, from, hdr->flags, r);
	if (complete < 0)
		return -EPROTO;
	for (i = 0; i < le32_to_cpu(body.count); i++) {
		dsm_reader_take(&tickets, &ticket, sizeof(ticket));
		dsm_barrier_accept(e, &(struct dsm_request){
			.type = DSM_MSG_BAR_ARRIVE,
			.node = le16_to_cpu(ticket.node),
			.up = le16_to_cpu(ticket.up),
			.via = from,
			.region = s->id,
			.xid = le32_to_cpu(ticket.xid),
			.value = le32_to_cpu(body.parties),
			.key = le64_to_cpu(body.key),
			.told = dsm_engine_told(e, s->id, le64_to_cpu(body.told)),
			.count = le32_to_cpu(ticket.count),
			.op = le16_to_cpu(ticket.flags),
			.episode = le64_to_cpu(body.episode),
			.chunk = le32_to_cpu(body.broken),
		}, complete, le32_to_cpu(body.count) == 1, acts);
	}
	return 0;
}

/**
 * dsm_barrier_peer_lost() - a node is lost: does the episode under way need it?
 * @e:    engine
 * @b:    barrier
 * @node: lost node
 * @acts: actions
 *
 * It does if it arrived, or if it took part the last time. If there was no last time to compare
 * with it may, provided that it used the region; those who were told of its loss before they came
 * do not count on it.
 *
 * Context: engine lock held.
 */
void dsm_barrier_peer_lost(struct dsm_engine *e, struct dsm_barrier *b, u16 node,
			   struct dsm_actions *acts)
{
	struct dsm_space *s = dsm_space_find(e, b->region);
	u64 bit = 1ull << node;
	struct dsm_request *q, *tmp;
	bool untold = b->status, guess, may;
	u16 root = s ? dsm_manager(s, DSM_MSG_BAR_ARRIVE, b->key) : e->self;

	if (root != e->self) {
		dsm_barrier_node_peer_lost(e, b, node, root, acts);
		return;
	}
	dsm_barrier_early_forget(b, node);
	dsm_barrier_broken_forget(b, node);
	b->holders &= ~bit;
	if (!b->seen) {
		if (!(b->last_members & bit))
			return;
		/* The next will be refused at the door: nobody may wait before it. */
		ask(e, b, b->holders, acts);
		b->shut |= !(e->left & bit);
		/* Who said goodbye had nobody left who could come: others may be as many without it. */
		if (!b->shut)
			b->last_parties = 0;
		return;
	}
	list_for_each_entry_safe(q, tmp, &b->arrivals, cont.link) {
		if (q->node == node) {
			list_del(&q->cont.link);
			dsm_served_free(e, q);
		} else if (!(q->told & bit)) {
			untold = true;
		}
	}
	may = untold && dsm_space_lost(e, b->region) & bit;
	guess = !(b->members & bit) && b->last_parties != b->parties;
	if (guess && !may)
		return;
	if (!guess && !((b->members | b->last_members) & bit) && !(b->strays && may))
		return;
	b->status = -EHOSTDOWN;
	b->seen = b->parties;	/* the rest of it is refused at the door, see dsm_barrier_serve() */
	b->members |= bit;
	end_episode(e, b, acts);
	/* Perhaps it was no party: who has heard of the loss may try again with as many. */
	if (guess)
		b->last_parties = 0;
	else
		b->shut = true;
}
