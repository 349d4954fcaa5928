// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * TSP: the shortest round trip through some cities by branch and bound.
 *
 * H. Lu, S. Dwarkadas, A. Cox, W. Zwaenepoel, "Message passing versus distributed shared memory on
 * networks of workstations", Supercomputing 1995, on TSP (how the search is shared out): a priority
 * queue of partial tours, most promising first. Under its lock a worker takes the first one and
 * extends it by each city that is left, until the first one is long enough to be searched alone.
 * The bound of a partial tour is its length and, for each city yet to be left, the shortest way out
 * of it (J. Little et al., "An algorithm for the traveling salesman problem", 1963). The search
 * starts from a greedy tour without crossings (G. Croes, "A method for solving traveling-salesman problems", 1958: two ways
 * are exchanged for two shorter ones until there are none), so that it depends little on who finds what first.
 *
 * The best length is read without its lock: an old value only makes the search longer. So that it does not get old while a
 * long search goes on, its lock is taken every so often: that brings what others found.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "app.h"

#define CITIES_MAX 20
#define PATHS_MAX 32768
#define LOOK_EVERY (1u << 20)	/* steps of a search */

enum { LOCK_QUEUE, LOCK_BEST };

struct path {
	int bound, length, cities;
	signed char city[CITIES_MAX];
};

/* A heap of numbers of paths, the least bound first; and the paths that are not in it. */
struct queue {
	int count;
	int heap[PATHS_MAX];	/* the rest, from count on, is free */
	struct path path[PATHS_MAX];
};

struct searcher {
	const struct app_worker *w;
	unsigned int steps;
	long paths;
};

struct best {
	int length;
	signed char city[CITIES_MAX];
};

static long cities, alone_cities, seed;

static struct {
	struct queue *queue;
	struct best *best;
} s;

static int distance[CITIES_MAX][CITIES_MAX];
static int shortest[CITIES_MAX];			/* way out of a city */
static signed char nearest[CITIES_MAX][CITIES_MAX];	/* the others, nearest first */

static const struct app_option options[] = {
	{ "cities", "cities", &cities, 4, CITIES_MAX, { 11, 19, 17 } },
	{ "alone", "last cities of a tour that one worker permutes alone", &alone_cities, 1,
	  CITIES_MAX - 1, { 8, 16, 12 } },
	{ "seed", "which map", &seed, 0, 1000000, { 1, 32, 30 } },
	{ 0 }
};

static const char *check(unsigned int workers)
{
	(void)workers;
	return alone_cities >= cities ? "--alone must be less than --cities" : NULL;
}

/* Every rank makes the same map for itself. */
static void make_map(void)
{
	int n = (int)cities;
	int i, j, k;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			double x = app_random((uint64_t)seed, (uint64_t)(2 * i)) -
				   app_random((uint64_t)seed, (uint64_t)(2 * j));
			double y = app_random((uint64_t)seed, (uint64_t)(2 * i + 1)) -
				   app_random((uint64_t)seed, (uint64_t)(2 * j + 1));

			distance[i][j] = (int)(10000 * sqrt(x * x + y * y));
		}
	}
	for (i = 0; i < n; i++) {
		int known = 0;

		for (j = 0; j < n; j++) {
			if (j == i)
				continue;
			for (k = known++; k && distance[i][nearest[i][k - 1]] > distance[i][j]; k--)
				nearest[i][k] = nearest[i][k - 1];
			nearest[i][k] = (signed char)j;
		}
		shortest[i] = distance[i][nearest[i][0]];
	}
}

static void layout(void)
{
	s.queue = app_alloc(1, sizeof(*s.queue));
	s.best = app_alloc(1, sizeof(*s.best));
}

static int tour_length(const signed char *city)
{
	int length = 0;
	int i;

	for (i = 0; i < cities; i++)
		length += distance[city[i]][city[(i + 1) % cities]];
	return length;
}

static void find_greedy(struct best *best)
{
	unsigned int seen = 1;
	int i, k;

	best->city[0] = 0;
	for (i = 1; i < cities; i++) {
		for (k = 0; seen >> nearest[best->city[i - 1]][k] & 1;)
			k++;
		best->city[i] = nearest[best->city[i - 1]][k];
		seen |= 1u << best->city[i];
	}
	best->length = tour_length(best->city);
}

/* Turn the cities from i to j round: then two of the ways are others. How much shorter that is. */
static int gain(const signed char *city, int i, int j)
{
	int before = city[i - 1], after = city[(j + 1) % cities];

	return distance[before][city[i]] + distance[city[j]][after] - distance[before][city[j]] - distance[city[i]][after];
}

static void turn(signed char *city, int i, int j)
{
	for (; i < j; i++, j--) {
		signed char c = city[i];

		city[i] = city[j];
		city[j] = c;
	}
}

static void improve(struct best *best)
{
	bool better = true;
	int i, j;

	while (better) {
		better = false;
		for (i = 1; i < cities; i++) {
			for (j = i + 1; j < cities; j++) {
				if (gain(best->city, i, j) <= 0)
					continue;
				turn(best->city, i, j);
				better = true;
			}
		}
	}
	best->length = tour_length(best->city);
}

static void fill(const struct app_worker *w)
{
	struct queue *q = s.queue;
	struct path *start = &q->path[0];
	int i;

	if (w->id)
		return;
	find_greedy(s.best);
	improve(s.best);
	for (i = 0; i < PATHS_MAX; i++)
		q->heap[i] = i;
	memset(start, 0, sizeof(*start));
	start->cities = 1;
	for (i = 0; i < cities; i++)
		start->bound += shortest[i];
	q->count = 1;
}

static int best_length(void)
{
	return __atomic_load_n(&s.best->length, __ATOMIC_RELAXED);
}

static bool is_before(const struct queue *q, int a, int b)
{
	const struct path *x = &q->path[q->heap[a]], *y = &q->path[q->heap[b]];

	return x->bound != y->bound ? x->bound < y->bound : x->cities > y->cities;
}

static void swap(struct queue *q, int a, int b)
{
	int number = q->heap[a];

	q->heap[a] = q->heap[b];
	q->heap[b] = number;
}

/* The path at the end of the heap is in its place after this. */
static void sift_up(struct queue *q, int at)
{
	while (at && is_before(q, at, (at - 1) / 2)) {
		swap(q, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static void sift_down(struct queue *q)
{
	int at = 0;
	int child;

	while ((child = 2 * at + 1) < q->count) {
		if (child + 1 < q->count && is_before(q, child + 1, child))
			child++;
		if (!is_before(q, child, at))
			break;
		swap(q, at, child);
		at = child;
	}
}

/* The first path; what is left of it in the queue is free. */
static struct path take(struct queue *q)
{
	struct path first = q->path[q->heap[0]];

	swap(q, 0, --q->count);
	sift_down(q);
	return first;
}

static unsigned int seen_by(const struct path *p)
{
	unsigned int seen = 0;
	int i;

	for (i = 0; i < p->cities; i++)
		seen |= 1u << p->city[i];
	return seen;
}

static void extend(struct queue *q, const struct path *p)
{
	int last = p->city[p->cities - 1];
	unsigned int seen = seen_by(p);
	int next;

	for (next = 0; next < cities; next++) {
		struct path *child = &q->path[q->heap[q->count]];
		int bound = p->bound - shortest[last] + distance[last][next];

		if (seen >> next & 1 || bound >= best_length())
			continue;
		*child = *p;
		child->bound = bound;
		child->length += distance[last][next];
		child->city[child->cities++] = (signed char)next;
		sift_up(q, q->count++);
	}
}

/* The next partial tour to be searched alone; false: there will be none. */
static bool next_path(const struct app_worker *w, struct path *p)
{
	struct queue *q = s.queue;
	bool found = false;

	app_lock(w, LOCK_QUEUE);
	while (q->count && !found) {
		*p = take(q);
		if (p->bound >= best_length())
			q->count = 0;	/* so are all others */
		else if (p->cities + alone_cities >= cities || q->count + cities > PATHS_MAX)
			found = true;
		else
			extend(q, p);
	}
	app_unlock(w, LOCK_QUEUE);
	return found;
}

static void offer(const struct app_worker *w, const signed char *city, int length)
{
	app_lock(w, LOCK_BEST);
	if (length < s.best->length) {
		__atomic_store_n(&s.best->length, length, __ATOMIC_RELAXED);
		memcpy(s.best->city, city, (size_t)cities);
	}
	app_unlock(w, LOCK_BEST);
}

static void look_at_best(const struct app_worker *w)
{
	app_lock(w, LOCK_BEST);
	app_unlock(w, LOCK_BEST);
}

/* All ways to go on from @p, depth first; @p is as before afterwards. */
static void search(struct searcher *own, struct path *p, unsigned int seen)
{
	int last = p->city[p->cities - 1];
	int bound = p->bound - shortest[last];
	int i;

	if (++own->steps % LOOK_EVERY == 0) {
		look_at_best(own->w);
		app_progress(own->w, own->paths, 0);
	}
	if (p->cities == cities) {
		if (p->length + distance[last][0] < best_length())
			offer(own->w, p->city, p->length + distance[last][0]);
		return;
	}
	for (i = 0; i < cities - 1; i++) {
		int next = nearest[last][i];
		int step = distance[last][next];

		if (bound + step >= best_length())
			break;	/* the others are farther */
		if (seen >> next & 1)
			continue;
		p->bound = bound + step;
		p->length += step;
		p->city[p->cities++] = (signed char)next;
		search(own, p, seen | 1u << next);
		p->cities--;
		p->length -= step;
		p->bound = bound + shortest[last];
	}
}

static void work(const struct app_worker *w)
{
	struct searcher own = { .w = w };
	struct path p;

	while (next_path(w, &p)) {
		search(&own, &p, seen_by(&p));
		app_progress(w, ++own.paths, 0);
	}
}

/*
 * R. Bellman, "Dynamic programming treatment of the travelling salesman problem", 1962: the
 * shortest path from city 0 through a set of cities, by its last city, for all sets.
 */
static int optimum(void)
{
	size_t n = (size_t)cities - 1;	/* but city 0 */
	size_t sets = (size_t)1 << n;
	int *path = app_private(sets * n, sizeof(*path));
	int best = INT_MAX;
	size_t set, last, prev;

	for (set = 1; set < sets; set++) {
		for (last = 0; last < n; last++) {
			size_t rest = set & ~((size_t)1 << last);
			int least = rest ? INT_MAX / 2 : distance[0][last + 1];

			for (prev = 0; prev < n; prev++)
				if (rest >> prev & 1 &&
				    path[rest * n + prev] + distance[prev + 1][last + 1] < least)
					least = path[rest * n + prev] + distance[prev + 1][last + 1];
			path[set * n + last] = set >> last & 1 ? least : INT_MAX / 2;
			if (set == sets - 1 && least + distance[last + 1][0] < best)
				best = least + distance[last + 1][0];
		}
	}
	return best;
}

static const char *right(void)
{
	const struct best *best = s.best;
	unsigned int seen = 0;
	int i;

	for (i = 0; i < cities; i++) {
		if (best->city[i] < 0 || best->city[i] >= cities)
			return app_text("the best tour has a city %d", best->city[i]);
		seen |= 1u << best->city[i];
	}
	if (seen != (1u << cities) - 1)
		return "the best tour leaves out a city";
	if (tour_length(best->city) != best->length)
		return app_text("the best tour is %d long, not %d", tour_length(best->city),
				best->length);
	if (best->length != optimum())
		return app_text("the best tour is %d long, the optimum %d", best->length, optimum());
	return NULL;
}

static const char *tell(void)
{
	return app_text("length=%d", s.best->length);
}

static uint64_t sum(void)
{
	/* Of several tours as short, any may be found first. */
	return app_sum(0, &s.best->length, sizeof(s.best->length));
}

const struct app_program app_program = {
	.name = "tsp",
	.what = "The shortest round trip by branch and bound.",
	.options = options,
	.state = &s,
	.state_bytes = sizeof(s),
	.agrees = "the optimum, by dynamic programming",
	.check = check,
	.layout = layout,
	.tables = make_map,
	.fill = fill,
	.work = work,
	.right = right,
	.sum = sum,
	.tell = tell,
};
