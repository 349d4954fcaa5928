// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Fetching pages ahead of their use: on request, and where a thread's faults are evenly spaced.
 *
 * Three faults of a thread on neighbours, or four at another distance, make a stream: the pages
 * that it will come to are fetched, in a window that doubles while it goes on. The fault at a page
 * inside the window, the trigger, asks for the next ones, so that what is under way never runs dry.
 * What was gained and lost is compared all the time: where more is lost the windows of the region
 * shrink, and where next to nothing is gained it pauses. With around=again a page that was used
 * between each two notices that took it away is asked for again with the next one. Only ever hints:
 * rights are the core's.
 *
 * Whether what was fetched ahead is used shows by the fault at it. Pages that a program asked for, or that were used
 * again and again, are trusted: the fault at a page in front of them maps them along, and they count as used.
 */
#include <linux/math64.h>
#include <linux/slab.h>
#include "core/fetch.h"
#include "core/page.h"
#include "shell.h"

#define STREAMS 16u		/* of a region */
#define CANDIDATES 2u		/* of a thread: distances that it may be keeping */
#define STRIDE_MAX 64		/* pages; further apart is no pattern */
#define WINDOW_FIRST 4u
#define WINDOW_MAX 64u		/* four transfers of 64 KiB, or by message four slots of the ring */
#define WINDOW_MAX_STRIDE 16u
#define JUDGE_PAGES 64u		/* pages after which gain and loss are compared */
#define HARM 8u			/* that much more loss than gain: pause */
#define PAUSE_FAULTS 1024u
#define AGAIN_SLOTS 1024u	/* of a region */
#define AGAIN_SURE 2u		/* used so often between two notices: it will be again */
#define AGAIN_TRUST 8u		/* one time of so many it must fault: who maps it along does not know that it is used */
#define REQUEST_PAGES 1024u	/* of one request of a program, and of a region under way */
#define TRUSTED XA_MARK_1	/* of the region's table: may be mapped along */
#define MUST_FAULT XA_MARK_2	/* likewise: may not, although a stream leads there */

/**
 * struct stream - evenly spaced faults of a thread, or what may become that
 * @task:    thread id
 * @used:    when it went on, by the region's clock; 0: never
 * @last:    page of the last fault
 * @stride:  distance of the last two; 0: there was one only
 * @run:     how often in a row it was that
 * @window:  pages asked for ahead; 0: none yet
 * @next:    first page of the pattern that was not asked for
 * @trigger: fault at which the next ones are asked for
 * @mapped:  first page behind @last that was not mapped along with it
 */
struct stream {
	pid_t task;
	u32 used;
	s64 last;
	s64 stride;
	u32 run;
	u32 window;
	s64 next;
	s64 trigger;
	s64 mapped;
};

/**
 * struct again - a page of this node that notices take away
 * @idx:   page; another one with the same place takes it over
 * @times: between how many notices in a row it was used
 * @trust: how often in a row it was trusted
 * @used:  since the last one
 */
struct again {
	u32 idx;
	u8 times;
	u8 trust;
	bool used;
};

/**
 * struct dsm_ahead - what is known of a region's faults
 * @lock:   guards all below; innermost
 * @stream: the last ones
 * @clock:  faults
 * @cap:    window at most
 * @pause:  faults left without fetching ahead
 * @left:   pages that were asked for and not come to when their stream ended or had passed them
 * @hits:   pages used when gain and loss were compared last
 * @lost:   likewise
 * @again:  pages by the end of their number, if that is asked for
 */
struct dsm_ahead {
	spinlock_t lock;
	struct stream stream[STREAMS];
	u32 clock;
	u32 cap;
	u32 pause;
	u32 left;
	u32 hits;
	u32 lost;
	struct again again[AGAIN_SLOTS];
};

/* What a fault leads to. */
struct plan {
	s64 first, stride;	/* ask for @n pages from @first on */
	u32 n;
	s64 passed;		/* @n_passed pages from here on lie behind the stream */
	u32 n_passed;
	s64 mapped;		/* of these: below this they were mapped along */
};

/**
 * dsm_ahead_new() - for a region that appears
 *
 * Context: process.
 * Return: it, or NULL: no memory.
 */
struct dsm_ahead *dsm_ahead_new(void)
{
	struct dsm_ahead *a = kvzalloc(sizeof(*a), GFP_KERNEL);

	if (a) {
		spin_lock_init(&a->lock);
		a->cap = WINDOW_MAX;
	}
	return a;
}

/* ---- asking ---- */

/* May a fetch of it be of use? The core looks again. */
static bool is_missing(struct dsm_region *r, u32 idx)
{
	struct dsm_node *n = r->node;
	struct dsm_page *p = xa_load(&r->table, idx);

	if (p)
		return READ_ONCE(p->state) == DSM_PAGE_INV;
	return dsm_page_manager(r->space, idx) != n->engine->self;
}

/* Ascending, of one region, at most DSM_FETCH_AHEAD_MAX. */
static void fetch(struct dsm_node *node, struct dsm_page **page, u32 n)
{
	struct dsm_actions acts;

	if (!n)
		return;
	dsm_step_begin(node, &acts);
	dsm_fetch_ahead(node->engine, page, n, &acts);
	dsm_step_end(node, &acts);
}

static void mark(struct dsm_region *r, u32 idx, xa_mark_t what, bool on)
{
	if (on)
		xa_set_mark(&r->table, idx, what);
	else if (xa_get_mark(&r->table, idx, what))
		xa_clear_mark(&r->table, idx, what);
}

/* May a page that is asked for be mapped along with another one when it is here? */
static void trust(struct dsm_region *r, u32 idx, bool trusted, bool must_fault)
{
	mark(r, idx, TRUSTED, trusted);
	mark(r, idx, MUST_FAULT, must_fault);
}

/* Pages of a region that are asked for together, ascending. */
struct gather {
	struct dsm_region *r;
	struct dsm_page *page[DSM_FETCH_AHEAD_MAX];
	u32 n;
};

static void gather_end(struct gather *g)
{
	fetch(g->r->node, g->page, g->n);
	g->n = 0;
}

/* False: memory is short. */
static bool gather(struct gather *g, s64 idx, bool trusted)
{
	struct dsm_region *r = g->r;
	struct dsm_page *p;

	if (idx < 0 || idx >= r->pages || !is_missing(r, idx))
		return true;
	p = dsm_shell_page_spare(r, idx);
	if (IS_ERR(p))
		return false;
	trust(r, idx, trusted, false);
	g->page[g->n++] = p;
	if (g->n == DSM_FETCH_AHEAD_MAX)
		gather_end(g);
	return true;
}

/* Starts fetching @n pages @first, @first + @stride, ...; fewer if memory is short. */
static void ask(struct dsm_region *r, s64 first, s64 stride, u32 n, bool trusted)
{
	struct gather g = { .r = r };
	u32 i;

	/* Ascending, whatever the direction. */
	for (i = 0; i < n; i++)
		if (!gather(&g, first + (stride < 0 ? n - 1 - i : i) * stride, trusted))
			break;
	gather_end(&g);
}

/*
 * Whole transfers: of neighbours up to a multiple of 16. What somebody waits for, pages and locks,
 * queues behind these requests, so there is a limit to how many are under way.
 */
static void ask_all(struct dsm_region *r, s64 first, s64 stride, u32 n, bool trusted)
{
	while (n && READ_ONCE(r->space->fetching) < REQUEST_PAGES) {
		u32 now = DSM_FETCH_AHEAD_MAX;

		if (stride == 1)
			now -= first % DSM_FETCH_AHEAD_MAX;
		now = min(now, n);
		ask(r, first, stride, now, trusted);
		first += now * stride;
		n -= now;
	}
}

/* Do pages around this one come by READ? First touch: only if the home of each has answered. */
static bool is_registered(struct dsm_region *r, u32 idx)
{
	struct dsm_node *n = r->node;
	struct dsm_space *s = r->space;
	struct dsm_key key;
	bool found;

	if (s->policy.fetch != DSM_FETCH_READ || dsm_policy_claims(&s->policy))
		return false;
	spin_lock(&n->lock);
	found = dsm_env_key_find(s, idx, dsm_page_manager(s, idx), &key);
	spin_unlock(&n->lock);
	return found;
}

/*
 * Keys come with answers. So one page of the chunk that follows is asked for by message in time:
 * else a whole window of it would be.
 */
static void scout(struct dsm_region *r, s64 end, s64 stride)
{
	s64 idx = round_up(end, DSM_CHUNK_PAGES);

	/* With cashmere a page that is new here is asked for by message anyway. */
	if (r->space->policy.fetch != DSM_FETCH_READ || r->space->policy.consistency == DSM_CONSISTENCY_CASHMERE ||
	    stride < 0 || idx - end > DSM_CHUNK_PAGES / 2)
		return;
	idx = end + (idx - end + stride - 1) / stride * stride;
	if (idx < r->pages && !is_registered(r, idx))
		ask(r, idx, stride, 1, false);
}

/*
 * A stream has passed these pages. Those mapped along were used, if the first one behind them was not
 * jumped over as well: that would have faulted. The others were asked for in vain as far as is
 * known; they stay undecided, another thread may come to them. Return: their number.
 */
static u32 tell_passed(struct dsm_region *r, const struct plan *plan)
{
	struct dsm_node *n = r->node;
	struct dsm_page *p;
	u32 i, left = 0;

	spin_lock(&n->lock);
	for (i = plan->n_passed; i--; ) {
		p = xa_load(&r->table, plan->passed + i);
		if (!p || !(p->flags & DSM_PF_AHEAD))
			continue;
		if (left || plan->passed + i >= plan->mapped || dsm_page_fetching(p))
			left++;
		else
			dsm_fetch_used(n->engine, p);
	}
	spin_unlock(&n->lock);
	return left;
}

/* ---- gain and loss ---- */

static void judge(struct dsm_ahead *a, const struct dsm_space *s)
{
	u32 hits = READ_ONCE(s->stats.ahead_hits) - a->hits;
	u32 lost = READ_ONCE(s->stats.ahead_wasted) + a->left - a->lost;

	if (hits + lost < JUDGE_PAGES)
		return;
	a->hits += hits;
	a->lost += lost;
	if (lost > hits)
		a->cap /= 2;
	else if (lost < hits / HARM)
		a->cap = min(a->cap * 2, WINDOW_MAX);
	if (a->cap >= WINDOW_FIRST && lost / HARM <= hits)
		return;
	a->cap = WINDOW_FIRST;
	a->pause = PAUSE_FAULTS;
	memset(a->stream, 0, sizeof(a->stream));
}

static u32 window_max(const struct dsm_ahead *a, s64 stride)
{
	return stride == 1 || stride == -1 ? a->cap : min(a->cap, WINDOW_MAX_STRIDE);
}

/* ---- streams ---- */

/* By chance neighbours come in a row as rarely as pages at some distance twice. */
static bool is_stream(const struct stream *s)
{
	return s->run >= (s->stride == 1 || s->stride == -1 ? 2 : 3);
}

/* A fault here goes on with it. Pages mapped along with the last one do not fault. */
static bool goes_on(const struct stream *s, s64 idx)
{
	if (!s->stride)
		return false;
	if (idx == s->last + s->stride)
		return true;
	return s->window && s->stride == 1 && idx > s->last && idx <= s->next;
}

static bool is_of(const struct stream *s, pid_t task)
{
	return s->used && s->task == task;
}

static s64 distance(const struct stream *s, s64 idx)
{
	return idx > s->last ? idx - s->last : s->last - idx;
}

/* Pages that were asked for in vain, as far as is known. */
static void end_stream(struct dsm_ahead *a, const struct stream *s)
{
	s64 n = s->window ? (s->next - s->last) / s->stride - 1 : 0;

	if (n > 0)
		a->left += n;
}

/* Its first fault, or one that is no part of any stream: another distance to a recent one. */
static void learn(struct dsm_ahead *a, pid_t task, s64 idx)
{
	struct stream *s, *near = NULL, *oldest = a->stream, *candidate = NULL;
	u32 candidates = 0;

	for (s = a->stream; s < a->stream + STREAMS; s++) {
		if (s->used < oldest->used)
			oldest = s;
		if (!is_of(s, task) || is_stream(s))
			continue;
		candidates++;
		if (!candidate || s->used < candidate->used)
			candidate = s;
		if (distance(s, idx) <= STRIDE_MAX &&
		    (!near || distance(s, idx) < distance(near, idx)))
			near = s;
	}
	if (near) {
		near->stride = idx - near->last;
		near->run = 1;
		near->last = idx;
		near->used = a->clock;
		return;
	}
	s = candidates < CANDIDATES ? oldest : candidate;
	end_stream(a, s);
	*s = (struct stream){ .task = task, .used = a->clock, .last = idx };
}

static struct stream *find(struct dsm_ahead *a, pid_t task, s64 idx)
{
	struct stream *s;

	for (s = a->stream; s < a->stream + STREAMS; s++)
		if (is_of(s, task) && (s->last == idx || goes_on(s, idx)))
			return s;
	return NULL;
}

/* Widens the window and moves it on from the fault at @s->last. */
static void advance(const struct dsm_ahead *a, struct stream *s, struct plan *plan)
{
	s64 end, n;

	if (!s->window || (s->next - s->last) / s->stride < 1)
		s->next = s->last + s->stride;
	s->window = min(s->window ? s->window * 2 : WINDOW_FIRST, window_max(a, s->stride));
	end = s->last + s->stride * (1 + (s64)s->window);
	if (s->stride == 1 && s->window >= DSM_FETCH_AHEAD_MAX)
		end = round_up(end, DSM_FETCH_AHEAD_MAX);
	n = (end - s->next) / s->stride;
	if (n > 0) {
		plan->first = s->next;
		plan->stride = s->stride;
		plan->n = n;
		s->next = end;
	}
	/* When half of it is left. */
	s->trigger = s->next - s->stride * (s64)(s->window / 2 + 1);
}

/* ---- again ---- */

static void note_use(struct dsm_ahead *a, u32 idx)
{
	struct again *slot = &a->again[idx % AGAIN_SLOTS];

	if (slot->idx != idx)
		*slot = (struct again){ .idx = idx };
	slot->used = true;
}

/* A notice took it away. Will a thread come back to it, and if so, may it be mapped along then? */
static bool comes_again(struct dsm_ahead *a, u32 idx, bool *trusted)
{
	struct again *slot = &a->again[idx % AGAIN_SLOTS];
	bool sure;

	spin_lock(&a->lock);
	if (slot->idx != idx)
		slot = NULL;
	else if (!slot->used)
		slot->times = 0;
	else if (slot->times < AGAIN_SURE)
		slot->times++;
	sure = slot && slot->times == AGAIN_SURE;
	if (slot) {
		slot->used = false;
		slot->trust = sure ? (slot->trust + 1) % AGAIN_TRUST : 0;
	}
	*trusted = sure && slot->trust;
	spin_unlock(&a->lock);
	return sure;
}

/**
 * dsm_ahead_noticed() - an acquire has taken these pages away
 * @page: ascending by region and place; what is done with them ends before their regions go
 * @n:    their number
 *
 * Context: process, no lock held; sleeps, never for the network.
 * Return: how many of them are asked for again.
 */
u32 dsm_ahead_noticed(struct dsm_page **page, u32 n)
{
	struct dsm_page *again[DSM_FETCH_AHEAD_MAX];
	u32 i, got = 0, asked = 0;
	bool trusted;

	for (i = 0; i < n; i++) {
		struct dsm_region *r = page[i]->space->shell;

		if (r->space->policy.around != DSM_AROUND_AGAIN || !comes_again(r->ahead, page[i]->idx, &trusted) ||
		    READ_ONCE(r->space->fetching) >= REQUEST_PAGES)
			continue;
		if (got == DSM_FETCH_AHEAD_MAX || (got && again[0]->space != page[i]->space)) {
			fetch(dsm_page_node(again[0]), again, got);
			got = 0;
		}
		trust(r, page[i]->idx, trusted, !trusted);
		again[got++] = page[i];
		asked++;
	}
	if (got)
		fetch(dsm_page_node(again[0]), again, got);
	return asked;
}

/* What the fault at @idx leads to. */
static void note(struct dsm_ahead *a, pid_t task, s64 idx, struct plan *plan)
{
	struct stream *s = find(a, task, idx);

	a->clock++;
	if (!s) {
		learn(a, task, idx);
		return;
	}
	/* The same again, after the wait for it. */
	if (s->last == idx)
		return;
	if (s->window && s->stride == 1) {
		plan->passed = s->last + 1;
		plan->n_passed = idx - plan->passed;
		plan->mapped = s->mapped;
	}
	s->run++;
	s->last = idx;
	s->used = a->clock;
	s->mapped = 0;
	if (is_stream(s) && (!s->window || (idx - s->trigger) / s->stride >= 0))
		advance(a, s, plan);
}

/**
 * dsm_ahead_fault() - a thread faulted on a page that is not here, or that was fetched ahead
 * @r:   region
 * @idx: page; what it needs itself is under way
 *
 * Context: process, no lock held; sleeps, never for the network.
 */
void dsm_ahead_fault(struct dsm_region *r, u32 idx)
{
	struct dsm_ahead *a = r->ahead;
	struct plan plan = {};
	u32 left;

	spin_lock(&a->lock);
	note_use(a, idx);
	if (a->pause)
		a->pause--;
	else
		note(a, current->pid, idx, &plan);
	judge(a, r->space);
	spin_unlock(&a->lock);
	left = plan.n_passed ? tell_passed(r, &plan) : 0;
	if (left) {
		spin_lock(&a->lock);
		a->left += left;
		spin_unlock(&a->lock);
	}
	if (plan.n) {
		ask_all(r, plan.first, plan.stride, plan.n, false);
		scout(r, plan.first + plan.n * plan.stride, plan.stride);
	}
}

/**
 * dsm_ahead_along() - how many pages that were fetched ahead may a fault map along?
 * @r:   region
 * @idx: page of the fault
 * @n:   pages behind it that are looked at
 *
 * Those that the thread is going to come to. The trigger must fault.
 *
 * Context: process.
 * Return: at most @n; the caller maps those that are here.
 */
u32 dsm_ahead_along(struct dsm_region *r, u32 idx, u32 n)
{
	struct dsm_ahead *a = r->ahead;
	struct stream *s;
	u32 along = 0;

	spin_lock(&a->lock);
	for (s = a->stream; s < a->stream + STREAMS; s++) {
		if (!is_of(s, current->pid) || s->last != idx || !s->window || s->stride != 1)
			continue;
		along = clamp_t(s64, s->trigger - idx - 1, 0, n);
		s->mapped = (s64)idx + 1 + along;
	}
	spin_unlock(&a->lock);
	return along;
}

/**
 * dsm_ahead_may_map() - may a page that was fetched ahead be mapped along with another one?
 * @r:     region
 * @idx:   page
 * @along: the thread is going to come to it, see dsm_ahead_along()
 *
 * Context: any.
 * Return: true if so, or if a program asked for it, or if it was used each time so far.
 */
bool dsm_ahead_may_map(struct dsm_region *r, u32 idx, bool along)
{
	return xa_get_mark(&r->table, idx, TRUSTED) || (along && !xa_get_mark(&r->table, idx, MUST_FAULT));
}

/**
 * dsm_ahead_mapped() - a page is mapped along with another one
 * @r: region
 * @p: page, readable
 *
 * Of a trusted one that is its use.
 *
 * Context: engine lock held.
 */
void dsm_ahead_mapped(struct dsm_region *r, struct dsm_page *p)
{
	if (!(p->flags & DSM_PF_AHEAD) || !xa_get_mark(&r->table, p->idx, TRUSTED))
		return;
	dsm_fetch_used(r->node->engine, p);
	spin_lock(&r->ahead->lock);
	note_use(r->ahead, p->idx);
	spin_unlock(&r->ahead->lock);
}

static bool is_inside(const struct dsm_region *r, const struct dsm_pieces *what)
{
	u64 bytes = r->pages << PAGE_SHIFT, rest;

	if (what->offset > bytes || what->len > bytes - what->offset)
		return false;
	rest = bytes - what->offset - what->len;
	return what->count <= 1 || what->stride <= div64_u64(rest, what->count - 1);
}

/* Pieces with pages between them, so that each has a page that none before it had. */
static void ask_pieces(struct dsm_region *r, const struct dsm_pieces *what)
{
	struct gather g = { .r = r };
	u64 at = what->offset, idx = 0, end = 0;
	u32 left = REQUEST_PAGES;

	for (; left && READ_ONCE(r->space->fetching) < REQUEST_PAGES; idx++, left--) {
		if (idx == end) {
			if (at == what->offset + what->count * what->stride)
				break;
			idx = at >> PAGE_SHIFT;
			end = DIV_ROUND_UP_ULL(at + what->len, PAGE_SIZE);
			at += what->stride;
		}
		if (!gather(&g, idx, true))
			break;
	}
	gather_end(&g);
}

/**
 * dsm_node_prefetch() - start fetching pages without waiting
 * @r:    region
 * @what: of it
 *
 * A hint: at most 1024 pages are asked for, fewer where memory is short or as many are under way
 * already; none of a region with consistency=sc, where a copy that nobody uses holds up a writer.
 *
 * Context: process; sleeps, never for the network.
 * Return: 0, -EINVAL outside the region.
 */
int dsm_node_prefetch(struct dsm_region *r, const struct dsm_pieces *what)
{
	u64 first = what->offset >> PAGE_SHIFT, end = what->offset + what->len;
	struct dsm_net *net = r->node->net;

	if (!is_inside(r, what))
		return -EINVAL;
	if (!what->len || r->space->policy.consistency == DSM_CONSISTENCY_SC)
		return 0;
	if (what->count > 1 && what->stride >= what->len + PAGE_SIZE) {
		ask_pieces(r, what);
	} else {
		if (what->count > 1)
			end += (what->count - 1) * what->stride;
		end = min_t(u64, DIV_ROUND_UP_ULL(end, PAGE_SIZE), first + REQUEST_PAGES);
		ask_all(r, first, 1, end - first, true);
	}
	/* The caller goes on computing. */
	if (net)
		dsm_net_give_way(net);
	return 0;
}
