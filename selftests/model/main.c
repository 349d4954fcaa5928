// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Command line of the explorer: which programs, for how many milliseconds of the processor, and how a failure is shown.
 *
 *   model [--litmus NAME] [--walk-ms N] [--search-ms N] [--seed N] [--prefix TEXT] [--brief] [--data-only]
 *   model --litmus NAME --setting TEXT --choices TEXT      show one run
 *   model --list                                           names of the programs that are always run
 *   model --list-more                                      of the others
 */
#include <getopt.h>
#include <time.h>
#include "explore.h"

/* Of this process: what it looks at does not depend on what else the machine does. */
static u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

static u64 deadline_ms;

static bool expired(void)
{
	static u32 calls;

	return !(++calls & 15) && now_ms() >= deadline_ms;
}

/* ---- settings ---- */

static void random_setting(struct setting *s, const struct litmus *l, u64 *random)
{
	static const u32 log_caps[] = { 65536, 65536, 65536, 0, 1, 2 };
	static const u32 lock_caps[] = { 65536, 0, 1 };
	u32 i;

	for (i = 0; i < MAX_PAGES; i++)
		s->home[i] = random_below(random, l->nodes);
	for (i = 0; i < MAX_KEYS; i++) {
		s->lock_at[i] = random_below(random, l->nodes);
		s->barrier_at[i] = random_below(random, l->nodes);
		s->flag_at[i] = random_below(random, l->nodes);
	}
	s->sync_at = random_below(random, l->nodes);
	s->log_cap = log_caps[random_below(random, l->flags & LITMUS_SMALL_LOG ? 3 : 6) +
			      (l->flags & LITMUS_SMALL_LOG ? 3 : 0)];
	s->lock_cap = lock_caps[random_below(random, 3)];
	s->late_dma = random_below(random, 2);
	s->own_mm = random_below(random, 2);
	s->batch = 1 + random_below(random, MAX_PAGES);
	s->flushers = 1 + random_below(random, MAX_FLUSHERS);
	s->first_touch = l->flags & LITMUS_FIRST_TOUCH || (!random_below(random, 6) && !(l->flags & LITMUS_PART));
	s->pipe = random_below(random, 3);
	s->lone_records = random_below(random, 2);
	s->fast = random_below(random, 2);
	s->diffpath = random_below(random, 3);
	s->keep = random_below(random, 3);
	s->fetch = l->flags & LITMUS_READ || random_below(random, 2) ? DSM_FETCH_READ :
		   random_below(random, 2) ? DSM_FETCH_NOCOPY : DSM_FETCH_COPY;
	s->untold = l->flags & LITMUS_UNTOLD || random_below(random, 2);
	s->rdma = l->flags & (LITMUS_RDMA | LITMUS_ARRAY) || !random_below(random, 4);
	s->fast &= !s->rdma && (!(l->flags & LITMUS_CSM) || l->flags & LITMUS_LAZY);
	if (l->flags & LITMUS_BCAST) {
		s->fetch = DSM_FETCH_COPY;
		s->late_dma = true;
		s->untold = l->flags & LITMUS_UNTOLD;
	}
	if (l->flags & LITMUS_AT_BARRIER)
		s->first_touch = true;
	if (l->flags & LITMUS_MOVES)
		s->first_touch = true;
	if (l->flags & LITMUS_MIGRATE) {
		s->first_touch = true;
		s->pipe = 0;
		s->diffpath = DSM_DIFFPATH_MSG;
		if (s->fetch == DSM_FETCH_READ)
			s->fetch = DSM_FETCH_NOCOPY;
	}
	s->hasty = l->flags & LITMUS_SC ? random_below(random, 5) : 0;
	if (l->flags & LITMUS_SC)
		s->first_touch = false;
	s->fanout = 1 + random_below(random, 2);
	s->predict = l->flags & LITMUS_MIGRATE && !(l->flags & LITMUS_BCAST) && random_below(random, 2);
	s->live = l->flags & LITMUS_SC ? 0 : random_below(random, 3);
}

static void print_setting(const struct setting *s)
{
	printf("%u%u-%u%u-%u%u-%u%u-%u-%u-%u-%u%u-%u%u%u-%u%u-%u%u-%u%u%u%u-%u-%u%u%u", s->home[0], s->home[1], s->lock_at[0],
	       s->lock_at[1], s->barrier_at[0], s->barrier_at[1], s->flag_at[0], s->flag_at[1], s->sync_at, s->log_cap, s->lock_cap,
	       s->late_dma, s->own_mm, s->batch, s->flushers, s->first_touch, s->pipe, s->lone_records, s->fetch,
	       s->untold, s->fast, s->diffpath, s->rdma, s->keep,
	       s->hasty, s->fanout, s->predict, s->live);
}

static bool parse_setting(const char *text, struct setting *s)
{
	unsigned int a[28];
	u32 i;

	if (sscanf(text, "%1u%1u-%1u%1u-%1u%1u-%1u%1u-%1u-%u-%u-%1u%1u-%1u%1u%1u-%1u%1u-%1u%1u-%1u%1u%1u%1u-%1u-%1u%1u%1u", &a[0], &a[1], &a[2], &a[3],
		   &a[4], &a[5], &a[6], &a[7], &a[8], &a[9], &a[10], &a[11], &a[12], &a[13], &a[14], &a[15], &a[16], &a[17],
		   &a[18], &a[19], &a[20], &a[21], &a[22], &a[23], &a[24], &a[25], &a[26], &a[27]) != 28)
		return false;
	for (i = 0; i < 9; i++)
		if (a[i] >= MAX_NODES)
			return false;
	*s = (struct setting){
		.home = { a[0], a[1] }, .lock_at = { a[2], a[3] }, .barrier_at = { a[4], a[5] },
		.flag_at = { a[6], a[7] }, .sync_at = a[8], .log_cap = a[9], .lock_cap = a[10], .late_dma = a[11],
		.own_mm = a[12], .batch = a[13], .flushers = a[14], .first_touch = a[15],
		.pipe = a[16], .lone_records = a[17], .fetch = a[18], .untold = a[19],
		.fast = a[20], .diffpath = a[21], .rdma = a[22], .keep = a[23], .hasty = a[24], .fanout = a[25],
		.predict = a[26], .live = a[27],
	};
	return s->batch && s->batch <= MAX_PAGES && s->flushers && s->flushers <= MAX_FLUSHERS;
}

/* ---- a failure ---- */

static void print_choices(const struct record *rec)
{
	u32 i, n, last = rec->length;
	const char *comma = "";

	while (last && !rec->choice[last - 1])
		last--;
	if (!last)
		printf("0");
	for (i = 0; i < last; i += n) {
		for (n = 1; i + n < last && rec->choice[i + n] == rec->choice[i]; n++)
			;
		printf(n > 1 ? "%s%ux%u" : "%s%u", comma, rec->choice[i], n);
		comma = ",";
	}
}

static bool parse_choices(const char *text, struct record *rec)
{
	rec->length = 0;
	while (*text) {
		char *end;
		u32 value = strtoul(text, &end, 10), n = 1;

		if (*end == 'x')
			n = strtoul(end + 1, &end, 10);
		if (end == text || n > MAX_STEPS - rec->length)
			return false;
		while (n--)
			rec->choice[rec->length++] = value;
		text = *end == ',' ? end + 1 : end;
	}
	return true;
}

static bool show(const struct litmus *l, const struct setting *s, const struct record *rec)
{
	static struct record out;
	bool ok;

	w.verbose = true;
	ok = replay(l, s, rec, &out);
	w.verbose = false;
	printf("# %s\n", ok ? "nothing wrong" : fail_reason);
	return ok;
}

static void report(const char *prefix, const struct litmus *l, const struct setting *s, struct record *rec,
		   const char *how, bool trace)
{
	unsigned long long states = states_seen();
	char reason[sizeof(fail_reason)];

	simplify(l, s, rec);
	strcpy(reason, fail_reason);
	printf("not ok %s%s - %s\n# found by %s; about %llu states; replay: --litmus %s --setting ", prefix, l->name, reason, how,
	       states, l->name);
	print_setting(s);
	printf(" --choices ");
	print_choices(rec);
	putchar('\n');
	if (trace)
		show(l, s, rec);
	fflush(stdout);
}

/* ---- the two searches ---- */

struct options {
	const char *litmus;
	const char *prefix;
	u64 seed;
	u32 walk_ms;
	u32 search_ms;
	bool trace;
};

static struct record rec;

/* Runs of a program by random walks, and of them those whose scheduler was fair. */
struct walked {
	u64 runs;
	u64 steps;
	u64 fair;
	u64 fair_ended;
};

static void count(struct walked *n, const struct chooser *c, const struct record *r)
{
	n->runs++;
	n->steps += r->length;
	if (!chooser_is_fair(c))
		return;
	n->fair++;
	n->fair_ended += r->ended;
}

/* One run without end may have been bad luck, so most have to end. All other programs fail at once if they do not. */
static bool most_end(const struct litmus *l, const struct options *o, const struct walked *n)
{
	if (!(l->flags & LITMUS_FAIR) || !n->fair || 2 * n->fair_ended > n->fair)
		return true;
	printf("not ok %s%s - I26: of %llu runs with a fair scheduler %llu end\n# found by random walks, after %llu ms; seed %llu\n",
	       o->prefix, l->name, (unsigned long long)n->fair, (unsigned long long)n->fair_ended, (unsigned long long)now_ms(),
	       (unsigned long long)o->seed);
	fflush(stdout);
	return false;
}

/* The walks are long enough, or, if what the program is about was not seen, ten times as long. */
static bool is_over(const struct litmus *l, const struct options *o, u64 start)
{
	return expired() && (w.data_only || !(l->reach & ~w.reached) || now_ms() >= start + 10ull * o->walk_ms);
}

static bool all_reached(const struct litmus *l, const struct options *o)
{
	static const char * const what[] = {
		"a waiter gets a lock", "a waiter gives up when what it waits for has happened",
		"a lock is given on whose holder was killed", "a lock is taken in its slot", "a try succeeds", "a try is refused",
		"a node hands a lock on within itself while another node waits", "a page gets another home",
		"a node that is not home is asked for a page", "a diff comes to a node that is not home any more",
		"an atomic of unknown outcome has taken place", "an atomic of unknown outcome has not taken place",
		"a reader sees a location change", "a reader sees the first writer's store alone",
		"another reader sees the second writer's store alone", "a page gets a new version between the halves of a READ",
		"a lock's token is under way between two nodes that lose each other",
	};
	u32 missing = l->reach & ~w.reached;

	if (w.data_only || !missing)
		return true;
	printf("not ok %s%s - it never happens that %s\n# found by random walks, after %llu ms; seed %llu\n", o->prefix, l->name,
	       what[__builtin_ctz(missing)], (unsigned long long)now_ms(), (unsigned long long)o->seed);
	fflush(stdout);
	return false;
}

static bool walk(const struct litmus *l, const struct options *o)
{
	static struct chooser c;
	u64 start = now_ms(), random;
	struct setting s = {};
	struct walked n = {};
	u32 length = 100;
	char how[80];

	deadline_ms = start + o->walk_ms;
	w.reached = 0;
	states_reset();
	while (!is_over(l, o, start)) {
		random = o->seed + n.runs * 1000003;
		random_setting(&s, l, &random);
		chooser_random(&c, random, length);
		if (!run(l, &s, &c, &rec)) {
			snprintf(how, sizeof(how), "random walk %llu, after %llu ms", (unsigned long long)n.runs + 1,
				 (unsigned long long)now_ms());
			report(o->prefix, l, &s, &rec, how, o->trace);
			return false;
		}
		count(&n, &c, &rec);
		length = rec.length;
	}
	if (!most_end(l, o, &n) || !all_reached(l, o))
		return false;
	printf("ok %swalk.%s\n# about %llu states, %llu random runs, %llu steps, %llu ms of %u, seed %llu\n", o->prefix, l->name,
	       (unsigned long long)states_seen(), (unsigned long long)n.runs, (unsigned long long)n.steps,
	       (unsigned long long)(now_ms() - start), o->walk_ms, (unsigned long long)o->seed);
	if (l->flags & LITMUS_FAIR)
		printf("# of %llu runs with a fair scheduler %llu end\n", (unsigned long long)n.fair,
		       (unsigned long long)n.fair_ended);
	fflush(stdout);
	return true;
}

/* Iterative: all settings of a small set with one delay, then with two, and so on until the time is over. */
static bool systematic(const struct litmus *l, const struct options *o)
{
	struct search total = { .expired = expired };
	u64 start = now_ms(), random;
	u32 bound, i, done = 0, last = 0;
	struct setting s = {};
	char how[80];

	if (l->flags & LITMUS_WALK_ONLY)
		return true;
	deadline_ms = start + o->search_ms;
	states_reset();
	for (bound = 0; now_ms() < deadline_ms; bound++) {
		for (i = 0; i < 8 && now_ms() < deadline_ms; i++) {
			random = i * 7919;
			random_setting(&s, l, &random);
			if (!search(l, &s, bound, &total, &rec)) {
				snprintf(how, sizeof(how), "search with %u delays, after %llu ms", bound,
					 (unsigned long long)now_ms());
				report(o->prefix, l, &s, &rec, how, o->trace);
				return false;
			}
			if (!total.complete)
				break;
			done = bound;
			last = i + 1;
		}
	}
	printf("ok %ssearch.%s\n# about %llu states, %llu runs, %llu new steps, all runs of %u settings with at most %u delays, "
	       "%llu ms of %u\n", o->prefix, l->name, (unsigned long long)states_seen(), (unsigned long long)total.runs,
	       (unsigned long long)total.steps, last, done, (unsigned long long)(now_ms() - start), o->search_ms);
	fflush(stdout);
	return true;
}

static const struct litmus *litmus_at(u32 i)
{
	if (i < litmus_count)
		return &litmus_list[i];
	i -= litmus_count;
	return i < litmus_sc_count ? &litmus_sc_list[i] : &litmus_csm_list[i - litmus_sc_count];
}

static bool wanted(const char *list, const char *name)
{
	size_t n = strlen(name);
	const char *at = list;

	if (!list)
		return true;
	while ((at = strstr(at, name))) {
		if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
			return true;
		at++;
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "litmus", required_argument, NULL, 'l' }, { "walk-ms", required_argument, NULL, 'w' },
		{ "search-ms", required_argument, NULL, 's' }, { "seed", required_argument, NULL, 'r' },
		{ "prefix", required_argument, NULL, 'p' }, { "setting", required_argument, NULL, 'S' },
		{ "choices", required_argument, NULL, 'c' }, { "brief", no_argument, NULL, 'b' },
		{ "data-only", no_argument, NULL, 'd' }, { "list", no_argument, NULL, 'L' },
		{ "list-more", no_argument, NULL, 'M' }, {}
	};
	struct options o = { .prefix = "", .walk_ms = 1000, .search_ms = 1000, .seed = 1, .trace = true };
	const char *setting = NULL, *choices = NULL;
	bool ok = true, list = false;
	u32 more = 0;
	struct setting s;
	u32 i;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 'l':
			o.litmus = optarg;
			break;
		case 'w':
			o.walk_ms = atoi(optarg);
			break;
		case 's':
			o.search_ms = atoi(optarg);
			break;
		case 'r':
			o.seed = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			o.prefix = optarg;
			break;
		case 'S':
			setting = optarg;
			break;
		case 'c':
			choices = optarg;
			break;
		case 'd':
			w.data_only = true;
			break;
		case 'L':
			list = true;
			break;
		case 'M':
			list = true;
			more = LITMUS_MORE;
			break;
		case 'b':
			o.trace = false;
			break;
		default:
			return 2;
		}
	world_init();
	explore_init();
	litmus_csm_init();
	for (i = 0; i < litmus_count + litmus_sc_count + litmus_csm_count; i++) {
		const struct litmus *l = litmus_at(i);

		if (!(o.litmus ? wanted(o.litmus, l->name) : (l->flags & LITMUS_MORE) == more))
			continue;
		if (list) {
			puts(l->name);
			continue;
		}
		if (setting && choices) {
			if (!parse_setting(setting, &s) || !parse_choices(choices, &rec)) {
				fprintf(stderr, "model: cannot read --setting or --choices\n");
				return 2;
			}
			return !show(l, &s, &rec);
		}
		if (o.walk_ms)
			ok &= walk(l, &o);
		if (o.search_ms)
			ok &= systematic(l, &o);
		/* A mutant: one is enough. */
		if (!ok && !o.trace)
			break;
	}
	return !ok;
}
