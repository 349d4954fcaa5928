// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Control requests between members.
 *
 * The coordinator (lowest id of the members) decides, one request at a time on an ordered
 * workqueue, and has every member apply the decision before it answers. Members apply on a
 * workqueue of their own, so a coordinator that waits for others never blocks what they ask of
 * it. Every member knows all regions: the next one in line can take over. Never touches pages.
 */
#include <linux/slab.h>
#include "control.h"
#include "core/admit.h"
#include "core/policy.h"
#include "shell.h"

/**
 * struct dsm_control_call - a thread waiting for an answer; lives on its stack
 * @link:   in the list of calls until it is answered; guarded by dsm_calls.lock
 * @done:   completed by whoever takes it off the list
 * @reply:  filled by the answer before @done
 * @xid:    request id, echoed by the answer; fixed
 * @node:   node that is asked; fixed
 * @status: result, 0 or negative errno; valid once @done
 */
struct dsm_control_call {
	struct list_head link;
	struct completion done;
	struct dsm_wire_control *reply;
	u32 xid;
	u16 node;
	int status;
};

/* The report of a loss: goodbyes are said and queue pairs drained before it. */
#define LOSS_TOLD (10 * HZ)
/* Between two attempts at a member that has yet to hear of it. */
#define ASK_AGAIN (HZ / 20)
/* A newcomer's connections stand, and each side makes its own of them. */
#define NEWCOMER_UP (5 * HZ)
/* For the last answers to fetches of a region that is to go. */
#define LAST_FETCH (10 * HZ)

static void serve(struct work_struct *work);

/* ---- calls and answers ---- */

/**
 * dsm_control_init() - a node appears
 * @n: node
 *
 * Context: process, module load.
 */
void dsm_control_init(struct dsm_node *n)
{
	spin_lock_init(&n->calls.lock);
	INIT_LIST_HEAD(&n->calls.list);
	dsm_turns_init(n);
}

static int send_control(struct dsm_node *n, u16 node, u8 type, u32 xid,
			const struct dsm_wire_control *msg)
{
	struct dsm_msgbuf *m = dsm_net_msg_alloc(n->net, GFP_KERNEL);

	if (!m)
		return -ENOMEM;
	m->next = NULL;
	m->dst = node;
	m->class = type == DSM_MSG_CONTROL ? DSM_CLASS_REQ : DSM_CLASS_RSP;
	dsm_wire_begin(m, type, 0, xid);
	dsm_wire_put(m, msg, sizeof(*msg));
	return dsm_net_send(n->net, m);
}

static void complete_call(struct dsm_control_call *c, const struct dsm_wire_control *reply,
			  int status)
{
	if (reply)
		*c->reply = *reply;
	c->status = status;
	list_del_init(&c->link);
	complete(&c->done);
}

/* Who asked may have been killed meanwhile. */
static void answer_call(struct dsm_node *n, u16 from, u32 xid, const struct dsm_wire_control *reply, int status)
{
	struct dsm_control_call *c;

	spin_lock(&n->calls.lock);
	list_for_each_entry(c, &n->calls.list, link)
		if (c->xid == xid && c->node == from) {
			complete_call(c, reply, status);
			break;
		}
	spin_unlock(&n->calls.lock);
}

/* Also for a peer, whose fault a lack of memory here is not. */
static void queue_request(struct dsm_node *n, u16 from, u32 xid,
			  const struct dsm_wire_control *msg)
{
	struct dsm_control_request *q = kzalloc(sizeof(*q), GFP_KERNEL | __GFP_NOFAIL);

	INIT_WORK(&q->work, serve);
	INIT_LIST_HEAD(&q->link);
	q->node = n;
	q->from = from;
	q->xid = xid;
	q->msg = *msg;
	atomic_inc(&n->calls.waiting[from]);
	queue_work(dsm_control_decides(msg->op) ? n->coordinator_wq : n->control_wq,
		   &q->work);
}

static int say(struct dsm_wire_control *msg, int err, const char *text)
{
	strscpy((char *)msg->text, text, sizeof(msg->text));
	return err;
}

/*
 * Queued, or refused at once if its sender has too many here: also this node itself, whose users may be killed and ask again
 * faster than requests are served.
 */
static int admit(struct dsm_node *n, u16 from, u32 xid, struct dsm_wire_control *msg)
{
	if (atomic_read(&n->calls.waiting[from]) < dsm_control_limit(msg->op, le64_to_cpu(msg->members))) {
		queue_request(n, from, xid, msg);
		return 0;
	}
	atomic64_inc(&n->stats.requests_refused);
	return say(msg, -EDQUOT, "this node has too many control requests under way; try again");
}

/**
 * dsm_control_call() - ask a member and wait for its answer
 * @n:    node
 * @node: member, or this node
 * @msg:  request; replaced by the answer
 *
 * Context: process; waits killably, bounded by the detection of the peer's death.
 * Return: 0; what the other side, or this node, refused with; -EHOSTDOWN; -EINTR; -ENOMEM.
 */
int dsm_control_call(struct dsm_node *n, u16 node, struct dsm_wire_control *msg)
{
	struct dsm_control_call c = { .node = node, .reply = msg };
	int err = 0;

	if (node == DSM_NO_NODE)
		return -EHOSTDOWN;
	init_completion(&c.done);
	c.xid = atomic_inc_return(&n->calls.next_xid);
	spin_lock(&n->calls.lock);
	list_add_tail(&c.link, &n->calls.list);
	spin_unlock(&n->calls.lock);
	if (node == n->engine->self)
		err = admit(n, node, c.xid, msg);
	else
		err = send_control(n, node, DSM_MSG_CONTROL, c.xid, msg);
	if (!err && wait_for_completion_killable(&c.done))
		err = -EINTR;
	/* Off the list, so that no answer finds this frame gone. */
	spin_lock(&n->calls.lock);
	if (!list_empty(&c.link))
		list_del_init(&c.link);
	else
		err = 0;
	spin_unlock(&n->calls.lock);
	return err ? err : c.status;
}

/**
 * dsm_control_forget() - free a request without an answer
 * @q: request of a node that is lost
 *
 * Context: any.
 */
void dsm_control_forget(struct dsm_control_request *q)
{
	atomic_dec(&q->node->calls.waiting[q->from]);
	kfree(q);
}

/**
 * dsm_control_answer() - answer a request and free it
 * @q:      request; its message is the answer's
 * @status: 0 or negative errno
 *
 * Context: process.
 */
void dsm_control_answer(struct dsm_control_request *q, int status)
{
	struct dsm_node *n = q->node;

	q->msg.status = cpu_to_le32(-status);
	if (q->from == n->engine->self)
		answer_call(n, q->from, q->xid, &q->msg, status);
	else if (send_control(n, q->from, DSM_MSG_CONTROL_REPLY, q->xid, &q->msg))
		pr_debug("dsm: control answer to node %u not sent\n", q->from);
	dsm_control_forget(q);
}

/* A request of a peer. */
static void take_request(struct dsm_node *n, u16 from, u32 xid, struct dsm_wire_control *msg)
{
	int err = admit(n, from, xid, msg);

	if (!err)
		return;
	msg->status = cpu_to_le32(-err);
	if (send_control(n, from, DSM_MSG_CONTROL_REPLY, xid, msg))
		pr_debug("dsm: control answer to node %u not sent\n", from);
}

/**
 * dsm_member_recv() - CONTROL or CONTROL_REPLY
 * @n:    node
 * @from: sender
 * @msg:  message
 * @len:  its length in bytes
 *
 * Context: process.
 * Return: 0, -EPROTO malformed.
 */
int dsm_member_recv(struct dsm_node *n, u16 from, const u8 *msg, u32 len)
{
	struct dsm_reader r = dsm_reader_init(msg, len);
	struct dsm_wire_control *body;
	struct dsm_wire_hdr hdr;
	int err = -EPROTO, status;

	body = kmalloc(sizeof(*body), GFP_KERNEL | __GFP_NOFAIL);
	dsm_reader_take(&r, &hdr, sizeof(hdr));
	dsm_reader_take(&r, body, sizeof(*body));
	if (!dsm_reader_done(&r) || !body->op || body->op >= DSM_CONTROL_OP_END ||
	    body->text[sizeof(body->text) - 1])
		goto out;
	err = 0;
	if (hdr.type == DSM_MSG_CONTROL) {
		take_request(n, from, le32_to_cpu(hdr.xid), body);
		goto out;
	}
	status = -(int)min(le32_to_cpu(body->status), (u32)MAX_ERRNO);
	answer_call(n, from, le32_to_cpu(hdr.xid), body, status);
out:
	kfree(body);
	return err;
}

/* ---- members ---- */

/**
 * dsm_control_put_members() - who is a member, and at which address
 * @n:   node
 * @msg: filled
 *
 * Context: process.
 */
void dsm_control_put_members(struct dsm_node *n, struct dsm_wire_control *msg)
{
	int i;

	spin_lock(&n->lock);
	msg->members = cpu_to_le64(n->joined);
	for (i = 0; i < DSM_MAX_NODES; i++)
		if (n->joined & BIT_ULL(i)) {
			msg->nodes[i].addr = n->peers[i].addr.sin_addr.s_addr;
			msg->nodes[i].port = n->peers[i].addr.sin_port;
			msg->nodes[i].known = cpu_to_le16(1);
		}
	spin_unlock(&n->lock);
}

static bool is_member(struct dsm_node *n, u16 node)
{
	return READ_ONCE(n->joined) & BIT_ULL(node);
}

/* A member may not have heard yet that the coordinator before this one is lost: it is asked until it has. */
static int have_applied(struct dsm_node *n, u16 node, const struct dsm_wire_control *request, u8 op,
			struct dsm_wire_control *msg)
{
	unsigned long until = jiffies + LOSS_TOLD;
	int err;

	do {
		*msg = *request;
		msg->op = op;
		msg->members = op == DSM_CONTROL_MEMBERS ? cpu_to_le64(READ_ONCE(n->joined)) : 0;
		err = dsm_control_call(n, node, msg);
	} while (err == -EAGAIN && time_before(jiffies, until) &&
		 !wait_event_timeout(n->changed, !is_member(n, node), ASK_AGAIN));
	/*
	 * A member that is lost meanwhile has nothing to apply any more. The
	 * transport knows of a loss first: the rest of us is about to be told.
	 */
	if (err == -EHOSTDOWN)
		wait_event_timeout(n->changed, !is_member(n, node), LOSS_TOLD);
	if ((err == -EHOSTDOWN || err == -EAGAIN) && !is_member(n, node))
		return 0;
	return err;
}

/**
 * dsm_control_broadcast() - have every member apply a decision
 * @n:       node
 * @request: what was decided; on a refusal gets its text
 * @op:      enum dsm_control_op
 * @done:    on return: mask of the members that applied it
 *
 * Context: process, on the coordinator; waits for every member's answer.
 * Return: 0, or the first refusal, which ends it, unless @op is a list of members.
 */
int dsm_control_broadcast(struct dsm_node *n, struct dsm_wire_control *request, u8 op, u64 *done)
{
	struct dsm_wire_control *msg = kmalloc(sizeof(*msg), GFP_KERNEL | __GFP_NOFAIL);
	u64 members = READ_ONCE(n->joined);
	int err = 0;

	for (*done = 0; members && (!err || op == DSM_CONTROL_MEMBERS); members &= members - 1) {
		u16 node = __ffs64(members);
		int refusal = have_applied(n, node, request, op, msg);

		if (!refusal) {
			*done |= BIT_ULL(node);
			continue;
		}
		err = err ?: refusal;
		snprintf(request->text, sizeof(request->text), "node %u: %.*s", node,
			 (int)(sizeof(request->text) - sizeof("node 65535: ")),
			 msg->text[0] ? (char *)msg->text : "refused");
	}
	kfree(msg);
	return err;
}

/*
 * Highest id first: if this node is lost meanwhile, the next coordinator still knows the region, and does the rest
 * (finish_destroys()).
 */
static void undo_broadcast(struct dsm_node *n, const struct dsm_wire_control *request, u8 op,
			   u64 done)
{
	struct dsm_wire_control *msg = kmalloc(sizeof(*msg), GFP_KERNEL | __GFP_NOFAIL);

	while (done) {
		u16 node = fls64(done) - 1;

		have_applied(n, node, request, op, msg);
		done &= ~BIT_ULL(node);
	}
	kfree(msg);
}

/* Peers that were members and are not any more. Under the node's lock. */
static u64 gone(struct dsm_node *n)
{
	u64 nodes = 0;
	u16 i;

	for (i = 0; i < DSM_MAX_NODES; i++)
		if (dsm_node_is_gone(n, i))
			nodes |= BIT_ULL(i);
	return nodes;
}

static bool all_listed_up(struct dsm_node *n)
{
	return !(READ_ONCE(n->listed) & ~READ_ONCE(n->engine->alive));
}

static int apply_member_list(struct dsm_control_request *q)
{
	struct dsm_node *n = q->node;
	u64 members = le64_to_cpu(q->msg.members);

	if (members) {
		spin_lock(&n->lock);
		/* A loss that we know of is newer than this list, a connection may be about to be. */
		n->listed = members & ~gone(n);
		n->joined = n->listed & n->engine->alive;
		spin_unlock(&n->lock);
		wake_up_all(&n->changed);
		/* What is said next of a newcomer, that it uses a region, is of the one whose connection is about to be here. */
		wait_event_timeout(n->changed, all_listed_up(n), NEWCOMER_UP);
	}
	dsm_control_put_members(n, &q->msg);
	return 0;
}

/*
 * A coordinator that is lost between asking all members whether a region can go and telling them leaves it ending: it is
 * asked anew, and goes or stays. Who is next in line was asked before all others, and is told after them.
 */
static void finish_destroys(struct dsm_node *n)
{
	struct dsm_wire_control *msg = kzalloc(sizeof(*msg), GFP_KERNEL | __GFP_NOFAIL);
	struct dsm_region *r;
	u32 id = 0;

	msg->op = DSM_CONTROL_DESTROY;
	for (;;) {
		r = dsm_node_region_get(n, id, true);
		if (IS_ERR(r))
			break;
		id = r->id;
		if (atomic_read(&r->opens) == DSM_OPENS_ENDING) {
			dsm_region_describe(r, &msg->region);
			queue_request(n, n->engine->self, 0, msg);
		}
		dsm_node_region_put(r);
	}
	kfree(msg);
}

/**
 * dsm_member_peer_lost() - calls to it fail, and what it asked is forgotten
 * @n:    node
 * @node: lost node
 *
 * Context: process.
 */
void dsm_member_peer_lost(struct dsm_node *n, u16 node)
{
	struct dsm_control_call *c, *next;

	spin_lock(&n->lock);
	n->listed &= ~BIT_ULL(node);
	spin_unlock(&n->lock);
	spin_lock(&n->calls.lock);
	list_for_each_entry_safe(c, next, &n->calls.list, link)
		if (c->node == node)
			complete_call(c, NULL, -EHOSTDOWN);
	spin_unlock(&n->calls.lock);
	dsm_turn_peer_lost(n, node);
	if (node < n->engine->self && !(READ_ONCE(n->joined) & (BIT_ULL(n->engine->self) - 1)))
		finish_destroys(n);
}

/* ---- regions ---- */

static int decide_create(struct dsm_node *n, struct dsm_wire_control *msg)
{
	struct dsm_wire_region *d = &msg->region;
	u64 pages = le64_to_cpu(d->pages), addr = le64_to_cpu(d->addr), done;
	struct dsm_region *r;
	int err;

	if (d->name[sizeof(d->name) - 1] || !d->name[0] || !pages || pages > DSM_REGION_MAX_PAGES ||
	    !dsm_place_is_sound((const char *)d->name, addr, pages))
		return -EINVAL;
	r = dsm_node_region_by_name(n, (const char *)d->name);
	if (!IS_ERR(r)) {
		dsm_node_region_put(r);
		return say(msg, -EEXIST, "a region of this name exists; see dsmctl region list");
	}
	if (dsm_place_has_too_many(n, make_kuid(&init_user_ns, le32_to_cpu(d->uid))))
		return say(msg, -EDQUOT, "this user has as many regions as one may have; destroy some, or raise regions_per_user of dsm.ko");
	if (!addr)
		addr = dsm_place_find(n, pages);
	else if (!dsm_place_is_free(n, addr, pages))
		return say(msg, -EADDRINUSE, "the address overlaps another region's; leave it out");
	if (!addr)
		return say(msg, -ENOSPC, "no address range of this size is left; destroy a region");
	d->addr = cpu_to_le64(addr);
	d->id = cpu_to_le32(n->last_region + 1);
	d->members = cpu_to_le64(READ_ONCE(n->joined));
	d->users = 0;
	err = dsm_control_broadcast(n, msg, DSM_CONTROL_APPLY_CREATE, &done);
	if (err)
		undo_broadcast(n, msg, DSM_CONTROL_APPLY_DESTROY, done);
	return err;
}

static int decide_destroy(struct dsm_node *n, struct dsm_wire_control *msg)
{
	u32 id = le32_to_cpu(msg->region.id);
	struct dsm_region *r;
	u64 done;
	int err;

	if (msg->region.name[sizeof(msg->region.name) - 1])
		return -EINVAL;
	r = dsm_node_region_by_name(n, (const char *)msg->region.name);
	/* Another of this name may have come since somebody was found to own the one that is meant. */
	if (!IS_ERR(r) && id && id != r->id) {
		dsm_node_region_put(r);
		r = ERR_PTR(-ENOENT);
	}
	if (IS_ERR(r))
		return say(msg, -ENOENT, "no such region; see dsmctl region list");
	dsm_region_describe(r, &msg->region);
	dsm_node_region_put(r);
	err = dsm_control_broadcast(n, msg, DSM_CONTROL_PREPARE_DESTROY, &done);
	/* A predecessor that was lost may have asked others too. */
	if (err)
		done = READ_ONCE(n->joined);
	undo_broadcast(n, msg, err ? DSM_CONTROL_CANCEL_DESTROY : DSM_CONTROL_APPLY_DESTROY, done);
	return err;
}

/* Nodes that came later use the region too: it must have room for what it keeps by their numbers. */
static int suits(const struct dsm_region *r, struct dsm_wire_control *msg)
{
	return dsm_policy_suits(&r->space->policy, le64_to_cpu(msg->region.members) | le64_to_cpu(msg->region.users),
				r->pages, (char *)msg->text, sizeof(msg->text));
}

static int decide_activate(struct dsm_node *n, struct dsm_wire_control *msg, u16 from)
{
	struct dsm_region *r = dsm_node_region_get(n, le32_to_cpu(msg->region.id), false);
	u64 done;
	int err;

	if (IS_ERR(r))
		return -ENXIO;
	/* It has waited here, and who is gone uses nothing. */
	spin_lock(&n->lock);
	err = dsm_node_is_gone(n, from) ? -EHOSTDOWN : 0;
	spin_unlock(&n->lock);
	if (err) {
		dsm_node_region_put(r);
		return err;
	}
	/* All are told, whatever is known here: this node or its predecessor may not have told all last time. */
	dsm_region_describe(r, &msg->region);
	if (!msg->region.members)
		msg->region.members = cpu_to_le64(READ_ONCE(n->joined));
	msg->region.users |= cpu_to_le64(BIT_ULL(from));
	err = suits(r, msg);
	err = err ?: dsm_control_broadcast(n, msg, DSM_CONTROL_APPLY_MEMBERS, &done);
	dsm_region_describe(r, &msg->region);
	dsm_node_region_put(r);
	return err;
}

static int apply_to_region(struct dsm_node *n, struct dsm_wire_control *msg)
{
	struct dsm_region *r = dsm_node_region_get(n, le32_to_cpu(msg->region.id), false);
	int err = 0, opens;

	if (IS_ERR(r))
		return msg->op == DSM_CONTROL_APPLY_MEMBERS ? -ENXIO : 0;
	switch (msg->op) {
	case DSM_CONTROL_APPLY_MEMBERS:
		err = -EINVAL;
		if (msg->region.members)
			err = suits(r, msg);
		if (!err)
			err = dsm_region_set_members(r, le64_to_cpu(msg->region.members),
						     le64_to_cpu(msg->region.users));
		break;
	case DSM_CONTROL_PREPARE_DESTROY:
		opens = atomic_cmpxchg(&r->opens, 0, DSM_OPENS_ENDING);
		if (opens > 0 || opens == DSM_OPENS_LEAVING) {
			err = say(msg, -EBUSY, opens > 0 ? "the region is in use; end the programs that use it" :
							   "this node is about to leave; try again");
			break;
		}
		/*
		 * Peers unregister its frames in the next round: until then nothing of
		 * ours may be under way to them, nor may anything be that they were asked
		 * to write here. Ends with the transfer, the answer, or its peer, unless
		 * that lives and does not answer.
		 */
		err = dsm_region_settle_last(r);
		if (err)
			err = say(msg, -EBUSY, "what a node wrote is not at its homes yet; try again");
		else if (!dsm_rsync_settle(r))
			err = say(msg, -EBUSY, "a lock of the region is held; end the programs that use it");
		else if (!wait_event_timeout(n->changed,
					     !atomic_read(&r->transfers) && !READ_ONCE(r->space->fetching),
					     LAST_FETCH))
			err = say(msg, -EBUSY, "pages of the region are still being fetched; try again");
		if (err)
			dsm_region_stays(r);
		break;
	case DSM_CONTROL_CANCEL_DESTROY:
		dsm_region_stays(r);
		break;
	default:	/* DSM_CONTROL_APPLY_DESTROY, also of a creation that failed elsewhere */
		if (atomic_cmpxchg(&r->opens, 0, DSM_OPENS_ENDING) > 0) {
			dsm_region_doom(r);
			err = -EBUSY;
			break;
		}
		/* Requests run at once: a second one must not remove it too. */
		if (atomic_cmpxchg(&r->opens, DSM_OPENS_ENDING, DSM_OPENS_GOING) != DSM_OPENS_ENDING)
			break;
		dsm_node_region_put(r);
		dsm_region_remove(r);
		return 0;
	}
	dsm_node_region_put(r);
	return err;
}

static int region_get(struct dsm_node *n, struct dsm_wire_control *msg)
{
	struct dsm_region *r = dsm_node_region_get(n, le32_to_cpu(msg->region.id), true);

	if (IS_ERR(r)) {
		/* What is known of regions that are gone names them by their ids: none is used again. */
		msg->region.id = cpu_to_le32(READ_ONCE(n->last_region));
		return -ENOENT;
	}
	dsm_region_describe(r, &msg->region);
	dsm_node_region_put(r);
	return 0;
}

static void serve(struct work_struct *work)
{
	struct dsm_control_request *q = container_of(work, struct dsm_control_request, work);
	struct dsm_node *n = q->node;
	int err;

	err = dsm_control_admit(q->msg.op, le64_to_cpu(q->msg.members), q->from,
				n->engine->self, READ_ONCE(n->joined),
				READ_ONCE(n->inviter));
	if (err) {
		atomic64_inc(&n->stats.requests_refused);
		dsm_control_answer(q, say(&q->msg, err, "the coordinator has changed; try again"));
		return;
	}
	if (dsm_control_about_regions(q->msg.op) && dsm_turn_hold(q))
		return;
	switch (q->msg.op) {
	case DSM_CONTROL_JOIN_BEGIN:
		dsm_turn_begin(q);
		return;
	case DSM_CONTROL_JOIN_END:
		dsm_turn_end(q);
		return;
	case DSM_CONTROL_MEMBERS:
		err = apply_member_list(q);
		break;
	case DSM_CONTROL_REGION_GET:
		err = region_get(n, &q->msg);
		break;
	case DSM_CONTROL_HOMES:
	case DSM_CONTROL_TOUCH:
	case DSM_CONTROL_CLAIM:
		err = dsm_homes_serve(n, &q->msg);
		break;
	case DSM_CONTROL_FORGET:
		err = dsm_homes_forget(n, q->from, &q->msg);
		break;
	case DSM_CONTROL_CREATE:
		err = decide_create(n, &q->msg);
		break;
	case DSM_CONTROL_DESTROY:
		err = decide_destroy(n, &q->msg);
		break;
	case DSM_CONTROL_ACTIVATE:
		err = decide_activate(n, &q->msg, q->from);
		break;
	case DSM_CONTROL_APPLY_CREATE:
		err = dsm_region_add(n, &q->msg.region, true);
		if (err == -EOPNOTSUPP)
			say(&q->msg, err, "its RDMA device lacks atomics (sync=rdma, metadata=rdma) or multicast (bcast=adaptive)");
		break;
	default:
		err = apply_to_region(n, &q->msg);
	}
	dsm_control_answer(q, err);
}

/**
 * dsm_control_drain() - no request is being served any more
 * @n: node
 *
 * Context: process; all peers are gone, so every call has been answered.
 */
void dsm_control_drain(struct dsm_node *n)
{
	flush_workqueue(n->coordinator_wq);
	dsm_turn_drain(n);
	/* With them what was held back. */
	flush_workqueue(n->coordinator_wq);
	flush_workqueue(n->control_wq);
	n->listed = 0;
}
