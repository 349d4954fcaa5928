// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The memory of sync=rdma and metadata=rdma on this node: made and registered with the first region that needs it,
 * announced to every peer, taken back when this node leaves. So no peer ever has a key that is
 * not valid. What is in it is the core's business.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "core/rlock.h"
#include "shell.h"

#define WORD_BYTES PAGE_ALIGN(DSM_RSYNC_WORDS * sizeof(u64))
#define MAIL_BYTES PAGE_ALIGN(sizeof(struct dsm_mail))
#define LANDING_BYTES PAGE_ALIGN(DSM_MAX_NODES * sizeof(union dsm_board_slot))
#define RING_BYTES (DSM_MAX_NODES * sizeof(union dsm_ring_slot))
#define LETTER_BYTES (DSM_MAX_NODES * DSM_LETTER_BYTES)

/* One registration each. */
static_assert(WORD_BYTES / PAGE_SIZE <= DSM_MR_PAGES && MAIL_BYTES / PAGE_SIZE <= DSM_MR_PAGES);

#define FLUSHED_BYTES (DSM_MAX_NODES * sizeof(u64))

/* Some round trips, also under emulation. */
#define SETTLE_MS 2000

/**
 * struct dsm_rsync_area - what this file made
 * @mem:   for the core
 * @words: registration of its words
 * @mail:  and of its mail
 */
struct dsm_rsync_area {
	struct dsm_rsync mem;
	struct dsm_mr *words;
	struct dsm_mr *mail;
};

/**
 * dsm_rsync_offer() - let peers reach memory of the kernel
 * @n:      node
 * @at:     from vmalloc()
 * @bytes:  whole pages, at most DSM_MR_PAGES
 * @access: DSM_MR_*
 * @key:    out: how they do
 *
 * Context: process; sleeps until the device has registered it. Not from a function that net calls.
 * Return: registration, for dsm_net_mr_free(); -ENOMEM, or what dsm_net_mr_new() returns.
 */
struct dsm_mr *dsm_rsync_offer(struct dsm_node *n, void *at, size_t bytes, u32 access,
			       struct dsm_key *key)
{
	struct dsm_net *net = n->net;
	u32 i, count = bytes >> PAGE_SHIFT;
	struct page **pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	struct dsm_mr *mr;

	if (!pages)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < count; i++)
		pages[i] = vmalloc_to_page(at + i * PAGE_SIZE);
	mr = dsm_net_mr_new(net, dsm_net_self(net), pages, count, access);
	kvfree(pages);
	if (!IS_ERR(mr))
		*key = (struct dsm_key){ .addr = dsm_net_mr_addr(mr), .rkey = dsm_net_mr_rkey(mr) };
	return mr;
}

static void destroy(struct dsm_rsync_area *a)
{
	dsm_net_mr_free(a->words);
	dsm_net_mr_free(a->mail);
	vfree(a->mem.word);
	vfree(a->mem.mail);
	vfree(a->mem.landing);
	vfree(a->mem.letter);
	vfree(a->mem.flushed);
	vfree(a->mem.ring);
	kfree(a);
}

static int fill(struct dsm_node *n, struct dsm_rsync_area *a)
{
	a->mem.word = vzalloc(WORD_BYTES);
	a->mem.mail = vzalloc(MAIL_BYTES);
	a->mem.landing = vzalloc(LANDING_BYTES);
	a->mem.letter = vzalloc(LETTER_BYTES);
	a->mem.flushed = vzalloc(FLUSHED_BYTES);
	a->mem.ring = vzalloc(RING_BYTES);
	if (!a->mem.word || !a->mem.mail || !a->mem.landing || !a->mem.letter || !a->mem.flushed ||
	    !a->mem.ring)
		return -ENOMEM;
	a->words = dsm_rsync_offer(n, a->mem.word, WORD_BYTES, DSM_MR_ATOMIC, &a->mem.word_key);
	if (IS_ERR(a->words))
		return PTR_ERR(a->words);
	a->mail = dsm_rsync_offer(n, a->mem.mail, MAIL_BYTES, DSM_MR_READ | DSM_MR_WRITE,
				  &a->mem.mail_key);
	return PTR_ERR_OR_ZERO(a->mail);
}

static void retry_work(struct work_struct *work)
{
	struct dsm_node *n = container_of(work, struct dsm_node, rsync_retry.work);
	struct dsm_actions acts;

	dsm_step_begin(n, &acts);
	dsm_array_retry(n->engine, &acts);
	dsm_step_end(n, &acts);
	/* Perhaps nobody wants that lock any more: see dsm_rsync_settle(). */
	wake_up_all(&n->changed);
}

/**
 * dsm_rsync_init() - a node appears
 * @n: node
 *
 * Context: process, module load.
 */
void dsm_rsync_init(struct dsm_node *n)
{
	mutex_init(&n->rsync_lock);
	dsm_alarm_init(&n->rsync_retry, system_highpri_wq, retry_work);
}

/**
 * dsm_rsync_alarm() - try to get a lock again at some time
 * @n:     node
 * @at_ns: the time; what was asked for before is asked for again then
 *
 * Context: any; only while a region has such locks.
 */
void dsm_rsync_alarm(struct dsm_node *n, u64 at_ns)
{
	dsm_alarm_set(&n->rsync_retry, at_ns);
}

static struct dsm_rsync_area *make(struct dsm_node *n)
{
	struct dsm_rsync_area *a;
	int err;

	err = dsm_net_self_open(n->net);
	/* Open since an earlier attempt that failed later. */
	if (err && err != -EEXIST)
		return ERR_PTR(err);
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return ERR_PTR(-ENOMEM);
	err = fill(n, a);
	if (err) {
		destroy(a);
		return ERR_PTR(err);
	}
	return a;
}

/**
 * dsm_rsync_possible() - can this node have regions with sync=rdma or metadata=rdma?
 * @n: node
 *
 * Context: process, a member.
 * Return: true if its device does atomics.
 */
bool dsm_rsync_possible(struct dsm_node *n)
{
	bool can;

	down_read(&n->net_lock);
	can = n->net && dsm_net_has_atomics(n->net);
	up_read(&n->net_lock);
	return can;
}

/**
 * dsm_rsync_tell() - tell a peer where our mail is, if there is any
 * @n:    node
 * @node: peer, or who was one
 *
 * Context: process.
 */
void dsm_rsync_tell(struct dsm_node *n, u16 node)
{
	struct dsm_actions acts;

	dsm_step_begin(n, &acts);
	dsm_rsync_announce(n->engine, node, &acts);
	dsm_step_end(n, &acts);
}

/**
 * dsm_rsync_need() - a region with sync=rdma or metadata=rdma appears: the memory must be there
 * @n: node
 *
 * Context: process; sleeps until the device has registered it. Not from a function that net calls.
 * Return: 0; -EOPNOTSUPP the device has no atomics; -ENOMEM; -ENETDOWN; -EHOSTDOWN, -ENODEV it is gone.
 */
int dsm_rsync_need(struct dsm_node *n)
{
	int err = 0;
	u16 node;

	if (!dsm_rsync_possible(n))
		return -EOPNOTSUPP;
	mutex_lock(&n->rsync_lock);
	if (!n->rsync) {
		struct dsm_rsync_area *a = make(n);

		err = PTR_ERR_OR_ZERO(a);
		if (!err) {
			n->rsync = a;
			spin_lock(&n->lock);
			dsm_rsync_set(n->engine, &a->mem);
			spin_unlock(&n->lock);
			/* Who comes up from now on is told then. */
			for (node = 0; node < DSM_MAX_NODES; node++)
				dsm_rsync_tell(n, node);
		}
	}
	mutex_unlock(&n->rsync_lock);
	return err;
}

/**
 * dsm_rsync_settle() - wait until no lock of a region is on its way through this node
 * @r: region that is not open here
 *
 * A place in a queue may outlive the thread that wanted it, until those before have had their turn;
 * elsewhere the region may still be open.
 *
 * Context: process; sleeps, bounded.
 * Return: false if a lock did not come, or go, in time.
 */
bool dsm_rsync_settle(struct dsm_region *r)
{
	struct dsm_node *n = r->node;

	return wait_event_timeout(n->changed, !READ_ONCE(r->space->busy),
				  msecs_to_jiffies(SETTLE_MS));
}

/**
 * dsm_rsync_free() - this node leaves: take the memory back
 * @n: node
 *
 * Context: process; no peer and no region is left, the engine is about to start anew.
 */
void dsm_rsync_free(struct dsm_node *n)
{
	spin_lock(&n->lock);
	dsm_rsync_set(n->engine, NULL);
	spin_unlock(&n->lock);
	mutex_lock(&n->rsync_lock);
	if (n->rsync) {
		/* No lock is wanted any more, so nobody sets it. */
		dsm_alarm_stop(&n->rsync_retry);
		destroy(n->rsync);
	}
	n->rsync = NULL;
	mutex_unlock(&n->rsync_lock);
}

static int refuse(struct dsm_node *n, u16 node, const char *why)
{
	pr_warn_ratelimited("dsm: node %u: malformed letter: %s\n", node, why);
	atomic64_inc(&n->stats.invalid_msgs);
	return -EPROTO;
}

/**
 * dsm_rsync_letter() - a peer's letter has come
 * @n:    node
 * @node: sender
 * @imm:  value, its kind checked
 *
 * Context: process, no lock held, one call at a time for each @node; sleeps, never for the network.
 * Return: 0, -EPROTO: the sender broke a rule and is to be dropped.
 */
int dsm_rsync_letter(struct dsm_node *n, u16 node, u32 imm)
{
	struct dsm_engine *e = n->engine;
	struct dsm_actions acts;
	const char *why;
	const u8 *msg;
	int len;

	dsm_step_begin(n, &acts);
	len = dsm_letter_take(e, node, imm, &why, &acts);
	msg = len > 0 ? e->rsync->letter[node] : NULL;
	dsm_step_end(n, &acts);
	if (len < 0)
		return refuse(n, node, why);
	return msg ? dsm_node_recv(n, node, dsm_letter_class(msg[0]), msg, len) : 0;
}

/**
 * dsm_rsync_taken() - a peer says which letters it took
 * @n:    node
 * @node: the peer
 * @imm:  value, its kind checked
 *
 * Context: process, no lock held.
 * Return: 0, -EPROTO: it broke a rule and is to be dropped.
 */
int dsm_rsync_taken(struct dsm_node *n, u16 node, u32 imm)
{
	const char *why;
	int err;

	spin_lock(&n->lock);
	err = dsm_letter_on_taken(n->engine, node, imm, &why);
	spin_unlock(&n->lock);
	return err ? refuse(n, node, why) : 0;
}

/**
 * dsm_rsync_signal() - a peer's signal about a lock
 * @n:    node
 * @node: sender
 * @imm:  value, its kind checked
 *
 * Context: process, no lock held; sleeps, never for the network.
 * Return: 0, -EPROTO: the sender broke a rule and is to be dropped.
 */
int dsm_rsync_signal(struct dsm_node *n, u16 node, u32 imm)
{
	struct dsm_actions acts;
	int err;

	dsm_step_begin(n, &acts);
	err = dsm_rlock_on_signal(n->engine, node, imm, &acts);
	dsm_step_end(n, &acts);
	return err;
}
