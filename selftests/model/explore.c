// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Runs: what can happen next, who chooses, replay, making a failing run simpler, the systematic search.
 *
 * Actions are sorted by age. Choosing number n puts the n older ones behind all others, at the price of n
 * delays; always choosing number 0 is the run without any surprise. The search
 * visits all runs up to a number of delays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include "explore.h"

char fail_reason[400];
static jmp_buf on_fail;

void fail(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(fail_reason, sizeof(fail_reason), fmt, args);
	va_end(args);
	longjmp(on_fail, 1);
}

static void assert_handler(const char *cond, const char *file, int line)
{
	const char *base = strrchr(file, '/');

	if (w.data_only)
		return;
	fail("assertion %s (%s:%d)", cond, base ? base + 1 : file, line);
}

void explore_init(void)
{
	dsm_host_assert_handler = assert_handler;
}

/* ---- what can happen ---- */

static u32 add(struct act *acts, u32 n, u8 kind, u8 a, u8 b, u32 id, u32 *stamp)
{
	acts[n] = (struct act){ .kind = kind, .a = a, .b = b, .id = id, .stamp = stamp };
	return n + 1;
}

static u32 node_actions(struct act *acts, u32 n, u32 i)
{
	struct node *node = &w.node[i];
	u32 k;

	if (node->dead)
		return n;
	if (node->run)
		n = add(acts, n, ACT_RUN, i, 0, 16 + i, &node->run_stamp);
	/* A pause may be long: what was written before need not pile up. */
	if (!list_empty(&node->e.arrays_pausing) && w.n_reading < MAX_XFERS / 2)
		n = add(acts, n, ACT_RETRY, i, 0, 12 + i, &node->retry_stamp);
	if (bcast_waits(node))
		n = add(acts, n, ACT_EXPIRE, i, 0, 4 + i, &node->expire_stamp);
	for (k = 0; k < w.l->nodes; k++)
		if (lose_enabled(node, k))
			n = add(acts, n, ACT_LOSE, i, k, 20 + i, &node->lose_stamp);
	if ((w.set.fetch == DSM_FETCH_READ || w.set.diffpath != DSM_DIFFPATH_MSG) && !node->registered && !node->goes)
		n = add(acts, n, ACT_REGISTER, i, 0, 24 + i, &node->register_stamp);
	for (k = 0; k < MAX_PAGES && w.l->flags & LITMUS_SC; k++)
		if (recaller_enabled(node, k))
			n = add(acts, n, ACT_RECALL, i, k, 28 + i, &node->recaller.stamp);
	if (goes_enabled(node))
		n = add(acts, n, ACT_GOES, i, 0, 12 + i, &node->goes_stamp);
	for (k = 0; k < w.set.flushers; k++)
		if (flusher_enabled(node, &node->flusher[k]))
			n = add(acts, n, ACT_FLUSHER, i, k, 8 + i * MAX_FLUSHERS + k, &node->flusher[k].stamp);
	return n;
}

static u32 reading_actions(struct act *acts, u32 n, u32 i)
{
	struct reading *r = &w.reading[i];
	u32 piece, pieces = r->x->n_segs * PIECES;

	if (w.node[r->node].dead || w.node[r->x->dst].dead || w.node[r->x->dst].lost & 1u << r->node)
		return n;
	if (atomics_do(r->x))
		pieces = PIECES;
	for (piece = 0; piece < pieces; piece++)
		if (atomics_do(r->x) && r->x->kind != DSM_XFER_KIND_LETTER && !atomics_enabled(i))
			continue;
		else if (r->halved && r->x->op == DSM_XFER_READ && !atomics_do(r->x) && piece % PIECES && !w.pipe[3])
			continue;
		else if (r->left & 1u << piece || r->again)
			n = add(acts, n, ACT_PIECE, i, piece, 32 + r->id, &r->stamp);
	/* The last of several writes comes back last; so do those of one lock. */
	for (piece = 0; piece < i; piece++)
		if (w.reading[piece].node == r->node && w.reading[piece].x->dst == r->x->dst &&
		    ((r->x->op == DSM_XFER_WRITE && w.reading[piece].x->op == DSM_XFER_WRITE) ||
		     (r->x->kind == DSM_XFER_KIND_RLOCK && w.reading[piece].x->kind == DSM_XFER_KIND_RLOCK)))
			return n;
	if (!r->left)
		n = add(acts, n, ACT_XFER_DONE, i, 0, 32 + r->id, &r->done_stamp);
	return n;
}

static bool may_part(u32 one, u32 other)
{
	const u8 manager = w.set.lock_at[0];

	if (w.l->flags & LITMUS_PARTS ? w.parted == 2 || one == manager || other == manager : w.parted)
		return false;
	return !w.node[one].dead && !w.node[other].dead && !is_cut(&w.node[one], other);
}

static bool may_crash(u32 node)
{
	u32 i;

	if (!(w.l->flags & LITMUS_PULLED))
		return true;
	for (i = 0; i < w.n_flying; i++)
		if (w.flying[i].m->dst == node && w.flying[i].m->data[0] == DSM_MSG_INTERVAL_PULL)
			return true;
	return false;
}

static u32 env_actions(struct act *acts, u32 n)
{
	u32 i, k, end = n;

	for (i = 0; i < w.l->threads; i++) {
		struct thread *t = &w.thread[i];

		if (w.node[t->node].dead)
			continue;
		if (thread_can_time_out(t))
			end = add(acts, end, ACT_ENV_TIMEOUT, i, 0, 0, NULL);
		if (w.l->flags & LITMUS_KILL && thread_can_be_killed(t))
			end = add(acts, end, ACT_ENV_KILL, i, 0, 0, NULL);
	}
	for (i = 0; i < w.n_grams; i++)
		end = add(acts, end, ACT_ENV_DROP, i, 0, 0, NULL);
	for (i = 0; i < w.n_reading; i++)
		if (atomics_may_be_doubted(&w.reading[i]))
			end = add(acts, end, ACT_ENV_BREAK, i, 0, 0, NULL);
	if (w.l->flags & LITMUS_CRASH && w.crashed < 0)
		for (i = 0; i < w.l->nodes; i++)
			if (may_crash(i))
				end = add(acts, end, ACT_ENV_CRASH, i, 0, 0, NULL);
	for (i = 0; w.l->flags & LITMUS_PART && i < w.l->nodes; i++)
		for (k = 0; k < i; k++)
			if (may_part(i, k))
				end = add(acts, end, ACT_ENV_PART, i, k, 0, NULL);
	return end - n;
}

u32 world_actions(struct act *acts, u32 *n_env)
{
	u32 n = 0, i, k;

	for (i = 0; i < w.l->threads; i++)
		if (!w.node[w.thread[i].node].dead && thread_enabled(&w.thread[i]))
			n = add(acts, n, ACT_THREAD, i, 0, i, &w.thread[i].stamp);
	for (i = 0; i < w.l->nodes; i++)
		n = node_actions(acts, n, i);
	for (i = 0; i < w.n_flying; i++)
		if (!w.flying[i].posted || !(w.l->flags & LITMUS_HOLD) || w.pipe[3])
			n = add(acts, n, w.flying[i].posted ? ACT_READ : ACT_DELIVER, i, 0, 32 + w.flying[i].id,
				&w.flying[i].stamp);
	for (i = 0; i < w.n_reading; i++)
		n = reading_actions(acts, n, i);
	for (i = 0; i < w.n_signals; i++)
		if (!w.node[w.signal[i].to].dead)
			n = add(acts, n, ACT_SIGNAL, i, 0, 32 + w.signal[i].id, &w.signal[i].stamp);
	for (i = 0; i < w.n_grams; i++)
		if (!w.node[w.gram[i].to].dead)
			n = add(acts, n, ACT_GRAM, i, 0, 32 + w.gram[i].id, &w.gram[i].stamp);
	/* Nearly sorted, and short. */
	for (i = 1; i < n; i++) {
		struct act act = acts[i];

		for (k = i; k && *acts[k - 1].stamp > *act.stamp; k--)
			acts[k] = acts[k - 1];
		acts[k] = act;
	}
	*n_env = n ? env_actions(acts, n) : 0;
	return n;
}

static void run_step(struct node *n)
{
	struct dsm_actions acts;

	say("%c goes on with what became possible", 'A' + node_id(n));
	n->run = false;
	step_begin(n, &acts);
	dsm_engine_run(&n->e, &acts);
	step_end(n, &acts);
}

/* Nodes that an action changes by itself; those that take a step for it are known by that. */
static u32 changed_by(const struct act *act)
{
	switch (act->kind) {
	case ACT_THREAD:
	case ACT_ENV_TIMEOUT:
	case ACT_ENV_KILL:
		return 1u << w.thread[act->a].node;
	case ACT_READ:
	case ACT_DELIVER:
	case ACT_SIGNAL:
	case ACT_GRAM:
	case ACT_ENV_DROP:
		return 0;
	case ACT_PIECE:
	case ACT_XFER_DONE:
	case ACT_ENV_BREAK:
		return 1u << w.reading[act->a].node | 1u << w.reading[act->a].x->dst;
	case ACT_ENV_CRASH:
	case ACT_ENV_PART:
		return ~0u;
	default:
		return 1u << act->a;
	}
}

static void perform(const struct act *act)
{
	w.changed |= changed_by(act);
	switch (act->kind) {
	case ACT_THREAD:
		thread_step(&w.thread[act->a]);
		break;
	case ACT_FLUSHER:
		flusher_step(&w.node[act->a], &w.node[act->a].flusher[act->b]);
		break;
	case ACT_RUN:
		run_step(&w.node[act->a]);
		break;
	case ACT_READ:
		flying_read(act->a);
		break;
	case ACT_DELIVER:
		flying_deliver(act->a);
		break;
	case ACT_LOSE:
		lose_step(&w.node[act->a], act->b);
		break;
	case ACT_REGISTER:
		register_pages(&w.node[act->a]);
		break;
	case ACT_PIECE:
		reading_piece(act->a, act->b);
		break;
	case ACT_XFER_DONE:
		reading_done(act->a, 0);
		break;
	case ACT_SIGNAL:
		signal_deliver(act->a);
		break;
	case ACT_RETRY:
		array_retry(&w.node[act->a]);
		break;
	case ACT_RECALL:
		recaller_step(&w.node[act->a], act->b);
		break;
	case ACT_GOES:
		goes_step(&w.node[act->a]);
		break;
	case ACT_GRAM:
		gram_deliver(act->a);
		break;
	case ACT_EXPIRE:
		bcast_expire(&w.node[act->a]);
		break;
	case ACT_ENV_DROP:
		gram_forget(act->a);
		break;
	case ACT_ENV_BREAK:
		reach(w.reading[act->a].left ? REACH_UNDONE : REACH_DONE);
		reading_done(act->a, DSM_XFER_IN_DOUBT);
		break;
	case ACT_ENV_TIMEOUT:
		thread_time_out(&w.thread[act->a]);
		break;
	case ACT_ENV_KILL:
		thread_kill(&w.thread[act->a]);
		break;
	case ACT_ENV_PART:
		part_nodes(act->a, act->b);
		break;
	default:
		crash_node(act->a);
	}
}

/* ---- who chooses ---- */

static u64 next_random(u64 *state)
{
	u64 x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

u32 random_below(u64 *state, u32 n)
{
	return (next_random(state) >> 32) * n >> 32;
}

static u32 choose_env(struct chooser *c, u32 n, u32 n_env)
{
	/* Once in about fifty steps something goes wrong; more often where two things have to. */
	if (n_env && !random_below(&c->random, w.l->flags & LITMUS_PARTS || (w.l->flags & LITMUS_PART && w.set.rdma) ? 15 : 50))
		return n + random_below(&c->random, n_env);
	return U32_MAX;
}

static u32 choose_priority(struct chooser *c, const struct act *acts, u32 n)
{
	u32 i, best = 0;

	for (i = 1; i < n; i++)
		if (c->priority[acts[i].id % PRIORITIES] > c->priority[acts[best].id % PRIORITIES])
			best = i;
	for (i = 0; i < CHANGES; i++)
		if (c->change[i] == w.steps)
			c->priority[acts[best].id % PRIORITIES] = i;
	return best;
}

static u32 choose(struct chooser *c, const struct act *acts, u32 n, u32 n_env)
{
	u32 i, pick;

	if (w.steps < c->n_fixed)
		return min(c->fixed[w.steps], (u16)(n + n_env - 1));
	if (c->kind == CHOOSE_FIRST)
		return 0;
	pick = choose_env(c, n, n_env);
	if (pick != U32_MAX)
		return pick;
	if (c->kind == CHOOSE_PRIORITY)
		return choose_priority(c, acts, n);
	if (c->kind == CHOOSE_STICKY && random_below(&c->random, 4))
		for (i = 0; i < n; i++)
			if (acts[i].id == c->last)
				return i;
	pick = random_below(&c->random, n);
	c->last = acts[pick].id;
	return pick;
}

void chooser_random(struct chooser *c, u64 seed, u32 length)
{
	u32 i;

	c->n_fixed = 0;
	c->random = seed;
	c->last = U32_MAX;
	i = random_below(&c->random, 10);
	c->kind = i < 4 ? CHOOSE_ANY : i < 8 ? CHOOSE_PRIORITY : CHOOSE_STICKY;
	if (c->kind != CHOOSE_PRIORITY)
		return;
	for (i = 0; i < PRIORITIES; i++)
		c->priority[i] = CHANGES + (next_random(&c->random) >> 33);
	for (i = 0; i < CHANGES; i++)
		c->change[i] = random_below(&c->random, length + 1);
}

/* Whatever can happen will happen, but for luck. The oldest first is fair too, but goes round in circles where chance has to decide. */
bool chooser_is_fair(const struct chooser *c)
{
	return c->kind == CHOOSE_ANY || c->kind == CHOOSE_STICKY;
}

/* ---- one run ---- */

static void run_all(struct chooser *c, struct record *rec)
{
	struct act acts[MAX_ACTS];
	u32 n, n_env, pick, i;

	for (;;) {
		n = world_actions(acts, &n_env);
		if (!n)
			break;
		if (w.steps == MAX_STEPS && w.l->flags & LITMUS_FAIR)
			return;
		if (w.steps == MAX_STEPS)
			fail("I26: goes on for ever (%u steps)", MAX_STEPS);
		pick = choose(c, acts, n, n_env);
		rec->choice[w.steps] = pick;
		rec->n[w.steps] = n;
		rec->n_env[w.steps] = n_env;
		rec->length = ++w.steps;
		for (i = 0; i < pick && pick < n; i++)
			*acts[i].stamp = ++w.next_stamp;
		perform(&acts[pick]);
		check_step();
		if (w.steps >= c->n_fixed)
			states_see();
	}
	rec->ended = true;
	check_end();
}

/* True: nothing wrong. */
bool run(const struct litmus *l, const struct setting *s, struct chooser *c, struct record *rec)
{
	rec->length = 0;
	rec->ended = false;
	fail_reason[0] = 0;
	if (setjmp(on_fail))
		return false;
	world_start(l, s);
	run_all(c, rec);
	return true;
}

bool replay(const struct litmus *l, const struct setting *s, const struct record *rec, struct record *out)
{
	static struct chooser c;

	c.kind = CHOOSE_FIRST;
	c.fixed = rec->choice;
	c.n_fixed = rec->length;
	return run(l, s, &c, out);
}

/* ---- a simpler run that fails in the same way ---- */

static bool same_reason(const char *reason)
{
	/* Down to the first digit: the same kind of failure. */
	u32 n = strcspn(reason, "0123456789(");

	return !strncmp(reason, fail_reason, n);
}

void simplify(const struct litmus *l, const struct setting *s, struct record *rec)
{
	static struct record trial, out;
	char reason[sizeof(fail_reason)];
	u32 chunk, at, i;
	bool better = true;

	if (replay(l, s, rec, &out))
		return;
	strcpy(reason, fail_reason);
	for (chunk = rec->length; chunk; chunk = better ? chunk : chunk / 2) {
		better = false;
		for (at = 0; at < rec->length; at += chunk) {
			bool change = false;

			trial = *rec;
			for (i = at; i < at + chunk && i < trial.length; i++) {
				change |= trial.choice[i];
				trial.choice[i] = 0;
			}
			if (!change || replay(l, s, &trial, &out) || !same_reason(reason))
				continue;
			*rec = out;
			better = true;
		}
	}
	replay(l, s, rec, &out);
}

/* ---- systematic ---- */

static u32 price(const struct record *rec, u32 at, u32 choice)
{
	return choice < rec->n[at] ? choice : 2;
}

/*
 * All runs with at most @bound delays. Return: false: failed, see @rec. @search->complete: none is left out.
 */
bool search(const struct litmus *l, const struct setting *s, u32 bound, struct search *search, struct record *rec)
{
	static u16 fixed[MAX_STEPS];
	static struct chooser c;
	u32 at, cost;

	c = (struct chooser){ .kind = CHOOSE_FIRST, .fixed = fixed };
	search->complete = false;
	for (;;) {
		if (!run(l, s, &c, rec))
			return false;
		search->runs++;
		search->steps += rec->length - min(rec->length, c.n_fixed);
		cost = 0;
		for (at = 0; at < rec->length; at++)
			cost += price(rec, at, rec->choice[at]);
		for (;;) {
			u32 next;

			if (!at) {
				search->complete = true;
				return true;
			}
			at--;
			cost -= price(rec, at, rec->choice[at]);
			next = rec->choice[at] + 1;
			if (next < rec->n[at] && cost + next > bound)
				next = rec->n[at];	/* further ones are dearer still; what goes wrong has one price */
			if (next < (u32)rec->n[at] + rec->n_env[at] && cost + price(rec, at, next) <= bound) {
				memcpy(fixed, rec->choice, at * sizeof(fixed[0]));
				fixed[at] = next;
				c.n_fixed = at + 1;
				break;
			}
		}
		if (search->expired && search->expired())
			return true;
	}
}
