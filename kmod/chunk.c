// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Registrations per 2 MiB chunk: of this node's home frames for its peers, and the keys that peers
 * told of theirs; and the transfers that use them.
 *
 * A chunk is registered once enough of its pages are in use, by a work item: never on the path of a
 * fetch. Its key travels in the PAGE replies that are sent anyway. It stays registered until the
 * region goes, so no peer ever reads with a key that is not valid. Decides nothing about coherence.
 */
#include <linux/slab.h>
#include "core/dir.h"
#include "core/direct.h"
#include "core/fetch.h"
#include "core/page.h"
#include "core/ring.h"
#include "core/rlock.h"
#include "shell.h"

/* A chunk is registered when one page in so many is in use: memory grows by that factor at most. */
#define USED_IN 8u

enum chunk_state { CHUNK_IDLE, CHUNK_QUEUED, CHUNK_REGISTERED, CHUNK_REFUSED };

/**
 * struct dsm_chunk - the part of a 2 MiB chunk that is homed here
 * @work:   registers it
 * @region: region; the work holds a reference
 * @first:  its first page; fixed
 * @pages:  its length, less at the end of a region; fixed
 * @enough: frames that make it worth while; 0: no page can be homed here; fixed
 * @via:    a peer that is up
 * @frames: frames that it has
 * @state:  enum chunk_state, changed by compare-and-exchange
 * @key:    of @mr; guarded by the engine lock
 * @mr:     registration or NULL; set once, under the engine lock
 */
struct dsm_chunk {
	struct work_struct work;
	struct dsm_region *region;
	u32 first;
	u32 pages;
	u32 enough;
	u16 via;
	atomic_t frames;
	atomic_t state;
	struct dsm_key key;
	struct dsm_mr *mr;
};

static bool wants_chunks(const struct dsm_region *r)
{
	const struct dsm_policy *p = &r->space->policy;

	/* A peer's device may be able to do what this one is not. */
	return dsm_net_one_sided(r->node->net) && (p->fetch == DSM_FETCH_READ || p->diffpath != DSM_DIFFPATH_MSG);
}

static u32 access_of(const struct dsm_region *r)
{
	const struct dsm_policy *p = &r->space->policy;

	return (p->fetch == DSM_FETCH_READ ? DSM_MR_READ : 0) |
	       (p->diffpath != DSM_DIFFPATH_MSG ? DSM_MR_WRITE : 0);
}

/* May this node be home of the page? First touch: a member, of every page. */
static bool may_home(const struct dsm_region *r, u32 idx)
{
	struct dsm_node *n = r->node;
	const struct dsm_space *s = r->space;

	return dsm_policy_claims(&s->policy) ? dsm_page_may_home(s, n->engine->self) :
	       s->members[dsm_policy_home(&s->policy, s->pages, s->n_members, idx)] ==
	       n->engine->self;
}

/* ---- keys ---- */

/* Places in the table of keys: by chunk and node. */
static unsigned long key_index(u32 idx, u16 node)
{
	return (unsigned long)(idx / DSM_CHUNK_PAGES) * DSM_MAX_NODES + node;
}

/**
 * dsm_env_key_find() - the core asks how to reach a page at its home
 * @s:    region
 * @idx:  page index
 * @home: its home, perhaps this node
 * @key:  filled
 *
 * Context: engine lock held.
 * Return: true if there is a registration.
 */
bool dsm_env_key_find(struct dsm_space *s, u32 idx, u16 home, struct dsm_key *key)
{
	struct dsm_region *r = s->shell;
	struct dsm_chunk *c;
	struct dsm_key *k;

	if (home == r->node->engine->self) {
		c = xa_load(&r->chunks, idx / DSM_CHUNK_PAGES);
		k = c && c->mr ? &c->key : NULL;
	} else {
		k = xa_load(&r->keys, key_index(idx, home));
	}
	if (k)
		*key = *k;
	return k;
}

/**
 * dsm_chunk_learn() - remember what a message tells of its sender's registration
 * @r:    region of the message
 * @node: sender
 * @msg:  message that passed dsm_engine_check()
 * @len:  its length in bytes
 *
 * Without memory the key is not remembered, and the next page is asked for by message again.
 *
 * Context: process, in the handler of @node's messages: the loss of @node comes after it.
 */
void dsm_chunk_learn(struct dsm_region *r, u16 node, const u8 *msg, u32 len)
{
	struct dsm_key key, *k, *old;
	u32 idx;

	if (!wants_chunks(r) || !dsm_fetch_key(msg, len, &idx, &key) || idx >= r->pages)
		return;
	old = xa_load(&r->keys, key_index(idx, node));
	/* It stays for as long as the region and the peer do. */
	if (old)
		return;
	k = kmemdup(&key, sizeof(key), GFP_KERNEL);
	if (k && xa_insert(&r->keys, key_index(idx, node), k, GFP_KERNEL))
		kfree(k);
}

/**
 * dsm_chunks_peer_lost() - forget the keys of a peer
 * @r:    region
 * @node: peer; its handlers have returned
 *
 * Context: process.
 */
void dsm_chunks_peer_lost(struct dsm_region *r, u16 node)
{
	struct dsm_node *n = r->node;
	unsigned long at;
	struct dsm_key *k;

	xa_for_each(&r->keys, at, k) {
		cond_resched();
		if (at % DSM_MAX_NODES != node)
			continue;
		/* The core looks under this lock. */
		spin_lock(&n->lock);
		xa_erase(&r->keys, at);
		spin_unlock(&n->lock);
		kfree(k);
	}
}

/* ---- own chunks ---- */

static bool reserve_pins(struct dsm_node *n, u32 pages)
{
	unsigned long limit = dsm_param_pin_mib << (20 - PAGE_SHIFT);

	if (!limit)
		limit = totalram_pages() / 4;
	/* The machine's nodes share it, and each may have a chunk. */
	limit = max_t(unsigned long, limit / dsm_param_nodes, min_t(unsigned long, limit, DSM_CHUNK_PAGES));
	if (atomic_long_add_return(pages, &n->pinned_pages) <= limit)
		return true;
	atomic_long_sub(pages, &n->pinned_pages);
	return false;
}

/*
 * What a peer may ask for has its frame; other nodes' pages in the chunk show
 * an empty page, which nobody reads.
 */
static int collect(struct dsm_chunk *c, struct page **pages)
{
	struct dsm_node *n = c->region->node;
	struct dsm_region *r = c->region;
	struct dsm_page *p;
	u32 i;

	for (i = 0; i < c->pages; i++) {
		pages[i] = n->hole;
		if (!may_home(r, c->first + i))
			continue;
		p = dsm_shell_page(r, c->first + i, true);
		if (IS_ERR(p))
			return PTR_ERR(p);
		pages[i] = p->frame;
		cond_resched();
	}
	return 0;
}

static struct dsm_mr *make(struct dsm_chunk *c)
{
	struct dsm_node *n = c->region->node;
	struct page **pages;
	struct dsm_mr *mr;
	int err;

	if (!reserve_pins(n, c->pages))
		return ERR_PTR(-EDQUOT);
	pages = kvmalloc_array(c->pages, sizeof(*pages), GFP_KERNEL);
	err = pages ? collect(c, pages) : -ENOMEM;
	if (err)
		mr = ERR_PTR(err);
	else
		mr = dsm_net_mr_new(n->net, c->via, pages, c->pages, access_of(c->region));
	kvfree(pages);
	if (IS_ERR(mr))
		atomic_long_sub(c->pages, &n->pinned_pages);
	return mr;
}

static void register_chunk(struct work_struct *work)
{
	struct dsm_chunk *c = container_of(work, struct dsm_chunk, work);
	struct dsm_region *r = c->region;
	struct dsm_node *n = r->node;
	struct dsm_mr *mr = make(c);

	if (!IS_ERR(mr)) {
		spin_lock(&n->lock);
		c->key = (struct dsm_key){ .addr = dsm_net_mr_addr(mr), .rkey = dsm_net_mr_rkey(mr) };
		c->mr = mr;
		spin_unlock(&n->lock);
		atomic_set(&c->state, CHUNK_REGISTERED);
		atomic64_inc(&n->stats.chunks);
	} else if (PTR_ERR(mr) == -EHOSTDOWN || PTR_ERR(mr) == -ENETDOWN) {
		/* The next request tries again. */
		atomic_set(&c->state, CHUNK_IDLE);
	} else {
		atomic_set(&c->state, CHUNK_REFUSED);
		pr_info_ratelimited("dsm: pages %u to %u of region %u stay unregistered (%ld): they are fetched by message\n",
				    c->first, c->first + c->pages - 1, r->id, PTR_ERR(mr));
	}
	dsm_node_region_put(r);
}

static struct dsm_chunk *chunk_add(struct dsm_region *r, u32 idx, gfp_t gfp)
{
	unsigned long at = idx / DSM_CHUNK_PAGES;
	struct dsm_chunk *c, *old;
	u32 i, homed = 0;

	c = kzalloc(sizeof(*c), gfp);
	if (!c)
		return NULL;
	INIT_WORK(&c->work, register_chunk);
	c->region = r;
	c->first = at * DSM_CHUNK_PAGES;
	c->pages = min_t(u64, DSM_CHUNK_PAGES, r->pages - c->first);
	for (i = 0; i < c->pages; i++)
		homed += may_home(r, c->first + i);
	/* Where only diffs would gain, and only full ones, less memory is spent on it. */
	c->enough = DIV_ROUND_UP(homed, r->space->policy.fetch == DSM_FETCH_READ ||
				 r->space->policy.diffpath == DSM_DIFFPATH_WRITE ? USED_IN : 2);
	old = xa_cmpxchg(&r->chunks, at, NULL, c, gfp);
	if (!old)
		return c;
	kfree(c);
	return xa_is_err(old) ? NULL : old;
}

static void consider(struct dsm_chunk *c)
{
	struct dsm_node *n = c->region->node;
	u64 peers = READ_ONCE(n->engine->alive) & ~BIT_ULL(n->engine->self);

	if (!peers || !c->enough || atomic_read(&c->frames) < c->enough ||
	    atomic_read(&c->state) != CHUNK_IDLE ||
	    atomic_cmpxchg(&c->state, CHUNK_IDLE, CHUNK_QUEUED) != CHUNK_IDLE)
		return;
	c->via = __ffs64(peers);
	kref_get(&c->region->ref);
	queue_work(n->register_wq, &c->work);
}

/**
 * dsm_chunk_frame() - a page of a region got its frame
 * @r:   region, its members fixed
 * @idx: page
 * @gfp: how hard to try; without memory the chunk is registered when a later page of it comes, or not at all
 *
 * Context: process; sleeps if @gfp says so.
 */
void dsm_chunk_frame(struct dsm_region *r, u32 idx, gfp_t gfp)
{
	struct dsm_chunk *c;

	if (!wants_chunks(r) || !may_home(r, idx))
		return;
	c = xa_load(&r->chunks, idx / DSM_CHUNK_PAGES);
	if (!c)
		c = chunk_add(r, idx, gfp);
	if (!c)
		return;
	atomic_inc(&c->frames);
	consider(c);
}

/**
 * dsm_chunk_asked() - a peer asked for a page by message
 * @r:   region
 * @idx: page
 *
 * Context: process.
 */
void dsm_chunk_asked(struct dsm_region *r, u32 idx)
{
	struct dsm_chunk *c = xa_load(&r->chunks, idx / DSM_CHUNK_PAGES);

	if (c)
		consider(c);
}

/**
 * dsm_chunks_free() - take a region's pages out of the peers' reach, forget their keys
 * @r: region; no node has a transfer of it under way or will start one, nobody else refers to it
 *
 * Context: process; sleeps.
 */
void dsm_chunks_free(struct dsm_region *r)
{
	struct dsm_node *n = r->node;
	struct dsm_chunk *c;
	struct dsm_key *k;
	unsigned long at;

	xa_for_each(&r->chunks, at, c) {
		if (c->mr) {
			dsm_net_mr_free(c->mr);
			atomic_long_sub(c->pages, &n->pinned_pages);
		}
		kfree(c);
		cond_resched();
	}
	xa_destroy(&r->chunks);
	xa_for_each(&r->keys, at, k) {
		kfree(k);
		cond_resched();
	}
	xa_destroy(&r->keys);
}

/* ---- transfers ---- */

/**
 * dsm_chunk_hold() - count the transfers of a step
 * @n: node
 * @x: list
 *
 * In the step itself: a region that goes waits for what is counted, also if it is not posted yet.
 *
 * Context: engine lock held.
 */
void dsm_chunk_hold(struct dsm_node *n, struct dsm_xfer *x)
{
	for (; x; x = x->next) {
		struct dsm_space *s = dsm_space_find(n->engine, x->region);
		struct dsm_region *r = s ? s->shell : NULL;

		/* Letters and notices belong to none. */
		x->shell = r;
		if (!r)
			continue;
		kref_get(&r->ref);
		atomic_inc(&r->transfers);
	}
}

static void post(struct dsm_node *n, struct dsm_xfer *list)
{
	struct dsm_xfer *x;

	if (!dsm_net_xfer(n->net, list))
		return;
	while (list) {
		x = list;
		list = x->next;
		x->status = -EHOSTDOWN;
		dsm_shell_xfer_done(n, x);
	}
}

/**
 * dsm_chunk_post() - hand over the transfers of a step
 * @n: node
 * @x: list, oldest first, held
 *
 * Context: process, no lock held; never waits for the network.
 */
void dsm_chunk_post(struct dsm_node *n, struct dsm_xfer *x)
{
	/* In one go per node. */
	while (x) {
		struct dsm_xfer *list = x, *last = x;

		while (last->next && last->next->dst == list->dst)
			last = last->next;
		x = last->next;
		last->next = NULL;
		post(n, list);
	}
}

/**
 * dsm_chunk_xfer_done() - a READ of pages is back
 * @n: node
 * @x: transfer
 *
 * Context: process, no lock held; sleeps, never for the network.
 */
void dsm_chunk_xfer_done(struct dsm_node *n, struct dsm_xfer *x)
{
	struct dsm_region *r = x->shell;
	struct dsm_actions acts;
	bool spare;

	dsm_step_begin(n, &acts);
	if (x->kind == DSM_XFER_KIND_DIFF)
		dsm_direct_done(n->engine, x, &acts);
	else if (x->kind == DSM_XFER_KIND_RLOCK)
		dsm_rlock_on_xfer(n->engine, x, &acts);
	else if (x->kind == DSM_XFER_KIND_DIR)
		dsm_dir_on_xfer(n->engine, x, &acts);
	else if (x->kind == DSM_XFER_KIND_RING)
		dsm_ring_done(n->engine, x, &acts);
	else
		dsm_fetch_on_read(n->engine, x, &acts);
	spare = !dsm_engine_wants(n->engine, DSM_POOL_XFER);
	if (!spare)
		dsm_pool_give(n->engine, DSM_POOL_XFER, x);
	dsm_step_end(n, &acts);
	if (spare)
		dsm_net_xfer_free(n->net, x);
	if (!r)
		return;
	if (atomic_dec_and_test(&r->transfers))
		wake_up_all(&n->changed);
	dsm_node_region_put(r);
}
