// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmctl homes: which node homes which pages of a region, to a file and back, so that runs can be
 * compared on the same homes (seed 000, footnote 4). Never moves a page that has a home.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dsmctl.h"

#define WINDOW (DSM_HOMES_WORDS * 64ull)	/* pages that a question tells of */

/* Consecutive pages with one home; @line of the file. */
struct run {
	uint64_t first, count;
	uint32_t node;
	uint32_t line;
};

struct runs {
	struct run *run;
	size_t n, room;
};

/* False: no memory. */
static bool add(struct runs *all, const struct run *new)
{
	struct run *last = all->n ? &all->run[all->n - 1] : NULL;

	if (last && last->node == new->node && last->first + last->count == new->first &&
	    last->line == new->line) {
		last->count += new->count;
		return true;
	}
	if (all->n == all->room) {
		size_t room = all->room ? 2 * all->room : 256;
		struct run *more = realloc(all->run, room * sizeof(*more));

		if (!more)
			return false;
		all->run = more;
		all->room = room;
	}
	all->run[all->n++] = *new;
	return true;
}

static int by_page(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int by_node(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return by_page(a, b);
}

static void sort(struct runs *all, int (*order)(const void *, const void *))
{
	if (all->n)
		qsort(all->run, all->n, sizeof(*all->run), order);
}

/* The region's file, with facts of it and of this node; -1 with a message. */
static int open_region(const char *name, struct dsm_ioc_region_info *info,
		       struct dsm_ioc_node_info *self)
{
	char path[sizeof("/dev/dsm.K-") + DSM_NAME_MAX];
	int fd;

	name = region_name(name);
	if (strlen(name) >= DSM_NAME_MAX) {
		fail("%s: no region has a name of more than %d characters", name, DSM_NAME_MAX - 1);
		return -1;
	}
	snprintf(path, sizeof(path), "%s%s%s", control_path(), *name ? "-" : "", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		fail("%s: %s%s", path, strerror(errno),
		     errno == ENOENT ? "; see dsmctl region list" : "");
		return -1;
	}
	*info = (struct dsm_ioc_region_info){ .size = sizeof(*info) };
	*self = (struct dsm_ioc_node_info){ .size = sizeof(*self), .node = DSM_NODE_ANY };
	if (ioctl(fd, DSM_IOC_REGION_INFO, info) < 0 || ioctl(fd, DSM_IOC_NODE_INFO, self) < 0) {
		report("homes", errno, NULL);
		close(fd);
		return -1;
	}
	info->policy[sizeof(info->policy) - 1] = '\0';
	return fd;
}

/* ---- save ---- */

static bool add_window(struct runs *all, const struct dsm_ioc_homes *a)
{
	bool room = true;
	unsigned int i;

	for (i = 0; i < WINDOW && room; i++)
		if (a->pages[i / 64] >> i % 64 & 1)
			room = add(all, &(struct run){ .first = a->first + i, .count = 1, .node = a->node });
	return room;
}

/* 0 or a negative errno. */
static int ask_node(int fd, uint16_t node, struct runs *all)
{
	uint64_t next = 0;

	for (;;) {
		struct dsm_ioc_homes a = { .size = sizeof(a), .node = node, .first = next };

		if (ioctl(fd, DSM_IOC_HOMES, &a) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (!add_window(all, &a))
			return -ENOMEM;
		next = a.first + WINDOW;
	}
}

static int ask_all(int fd, const struct dsm_ioc_node_info *self, struct runs *all)
{
	unsigned int node;

	for (node = 0; node <= self->max_id; node++) {
		struct dsm_ioc_node_info info = { .size = sizeof(info), .node = (uint16_t)node };
		int err;

		if (ioctl(fd, DSM_IOC_NODE_INFO, &info) < 0)
			continue;
		if (info.state == DSM_NODE_LOST)
			fprintf(stderr, "dsmctl: homes save: node %u is lost; its pages are left out\n", node);
		if (info.state != DSM_NODE_SELF && info.state != DSM_NODE_UP)
			continue;
		err = ask_node(fd, (uint16_t)node, all);
		if (err)
			return fail("homes save: node %u: %s", node, strerror(-err));
	}
	return 0;
}

static void print_runs(FILE *f, const struct dsm_ioc_region_info *info, const struct runs *all)
{
	size_t i;

	fprintf(f, "# dsm homes of region %s, %llu pages: NODE FIRST-PAGE PAGES\n",
		*info->name ? info->name : control_path(),
		(unsigned long long)(info->bytes / (unsigned long)sysconf(_SC_PAGESIZE)));
	for (i = 0; i < all->n; i++)
		fprintf(f, "%u %llu %llu\n", all->run[i].node, (unsigned long long)all->run[i].first,
			(unsigned long long)all->run[i].count);
}

/* 0, or an errno. What could not be written once is gone, even if there is room again. */
static int flushed(FILE *f)
{
	if (fflush(f))
		return errno;
	return ferror(f) ? ENOSPC : 0;
}

/* A device or a pipe is written to. */
static int write_through(const char *path, const struct dsm_ioc_region_info *info, const struct runs *all)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;
	int err;

	if (!f)
		return fail("homes save: %s: %s", path, strerror(errno));
	print_runs(f, info, all);
	err = flushed(f);
	return err ? fail("homes save: %s: %s", path, strerror(err)) : 0;
}

/* A file that was not there before, by a template for mkostemp(); @mode of the one that it replaces, or 0. */
static FILE *open_new(char *name, mode_t mode)
{
	int fd = mkostemp(name, O_CLOEXEC), err;
	mode_t mask;
	FILE *f;

	if (fd < 0)
		return NULL;
	if (!mode) {
		mask = umask(0);
		umask(mask);
		mode = 0666 & ~mask;
	}
	f = fchmod(fd, mode & 07777) ? NULL : fdopen(fd, "w");
	if (!f) {
		err = errno;
		unlink(name);
		close(fd);
		errno = err;
	}
	return f;
}

/* A file of that name, or that a link of that name leads to, is replaced whole, or left as it was. */
static int write_file(const char *name, const struct dsm_ioc_region_info *info, const struct runs *all)
{
	char *path, *new;
	struct stat st;
	FILE *f;
	int err;

	if (!strcmp(name, "-") || (!stat(name, &st) && !S_ISREG(st.st_mode)))
		return write_through(name, info, all);
	path = realpath(name, NULL);
	err = asprintf(&new, "%s.XXXXXX", path ? path : name);
	if (err < 0) {
		free(path);
		return fail("homes save: %s", strerror(ENOMEM));
	}
	f = open_new(new, path ? st.st_mode : 0);
	if (!f) {
		err = errno;
		goto out;
	}
	print_runs(f, info, all);
	err = flushed(f);
	if (!err && fsync(fileno(f)))
		err = errno;
	if (fclose(f) && !err)
		err = errno;
	if (!err && rename(new, path ? path : name))
		err = errno;
	if (err)
		unlink(new);
out:
	if (err)
		fail("homes save: %s: %s", new, strerror(err));
	free(path);
	free(new);
	return err ? EXIT_FAILURE : 0;
}

static int save(const char *name, const char *path)
{
	struct dsm_ioc_region_info info;
	struct dsm_ioc_node_info self;
	struct runs all = { NULL };
	int fd = open_region(name, &info, &self);
	int ret;

	if (fd < 0)
		return EXIT_FAILURE;
	ret = ask_all(fd, &self, &all);
	close(fd);
	if (!ret) {
		sort(&all, by_page);
		ret = write_file(path, &info, &all);
	}
	free(all.run);
	return ret;
}

/* ---- load ---- */

static int wrong(const char *path, uint32_t line, const char *what)
{
	return fail("homes load: %s, line %u: %s", path, line, what);
}

static int parse_line(const char *path, char *text, uint32_t line, uint64_t pages, struct runs *all)
{
	struct run r = { .line = line };
	uint64_t node = 0;
	char *word[4], *save = NULL;
	int n = 0;

	text[strcspn(text, "#")] = '\0';
	for (word[0] = strtok_r(text, " \t\n", &save); n < 3 && word[n];
	     word[n] = strtok_r(NULL, " \t\n", &save))
		n++;
	if (!n)
		return 0;
	if (n != 3 || word[3] || !parse_number(word[0], DSM_NODE_ANY - 1, &node) ||
	    !parse_number(word[1], UINT64_MAX, &r.first) || !parse_number(word[2], UINT64_MAX, &r.count))
		return wrong(path, line, "a line is NODE FIRST-PAGE PAGES");
	if (!r.count || r.first >= pages || r.count > pages - r.first)
		return wrong(path, line, "these pages are not in the region");
	r.node = (uint32_t)node;
	return add(all, &r) ? 0 : fail("homes load: %s", strerror(ENOMEM));
}

static int read_file(const char *path, uint64_t pages, struct runs *all)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	char *text = NULL;
	uint32_t line = 0;
	size_t i, room = 0;
	ssize_t len;
	int ret = 0;

	if (!f)
		return fail("homes load: %s: %s", path, strerror(errno));
	while (!ret && !stopped_by() && (len = getline(&text, &room, f)) > 0) {
		line++;
		if (strlen(text) != (size_t)len)
			ret = wrong(path, line, "a line is text, this one has a byte of 0");
		else if (text[len - 1] != '\n')
			ret = wrong(path, line, "no newline follows, so that the file may have been cut");
		else
			ret = parse_line(path, text, line, pages, all);
	}
	if (!ret && stopped_by())
		ret = fail("homes load: %s: a signal ended it after %u lines", path, line);
	else if (!ret && ferror(f))
		ret = fail("homes load: %s: %s", path, strerror(errno));
	free(text);
	if (f != stdin)
		fclose(f);
	sort(all, by_page);
	for (i = 1; !ret && i < all->n; i++)
		if (all->run[i].first < all->run[i - 1].first + all->run[i - 1].count)
			ret = wrong(path, all->run[i].line, "some of these pages are in another line, too");
	return ret;
}

static uint64_t count_bits(const struct dsm_ioc_homes *a)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < DSM_HOMES_WORDS; i++)
		n += (uint64_t)__builtin_popcountll(a->pages[i]);
	return n;
}

/* One question: pages of the node of run *@i, from its page *@skip on; both move on. */
static void fill(const struct runs *all, size_t *i, uint64_t *skip, struct dsm_ioc_homes *a)
{
	const struct run *r = &all->run[*i];

	*a = (struct dsm_ioc_homes){ .size = sizeof(*a), .flags = DSM_HOMES_CLAIM,
				     .node = (uint16_t)r->node, .first = r->first + *skip };
	while (*i < all->n && r->node == a->node && r->first + *skip < a->first + WINDOW) {
		uint64_t bit = r->first + *skip - a->first;

		a->pages[bit / 64] |= 1ull << bit % 64;
		if (++*skip == r->count) {
			*skip = 0;
			r = &all->run[++*i];
		}
	}
}

static int is_away(unsigned int node)
{
	return fail("homes load: node %u, or one that knows its homes, is not there; see dsmctl status", node);
}

/* Before the first page has a home: one node that is away would leave the others' pages claimed. */
static int check_nodes(int fd, const struct runs *all)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		struct dsm_ioc_node_info info = { .size = sizeof(info), .node = (uint16_t)all->run[i].node };

		if (i && all->run[i].node == all->run[i - 1].node)
			continue;
		if (ioctl(fd, DSM_IOC_NODE_INFO, &info) < 0 ||
		    (info.state != DSM_NODE_SELF && info.state != DSM_NODE_UP))
			return is_away(all->run[i].node);
	}
	return 0;
}

static int claim_failed(unsigned int node, int err, const struct dsm_ioc_region_info *info)
{
	switch (err) {
	case EOPNOTSUPP:
		return fail("homes load: the region has %s; it takes home=first-touch, migrate or migrate@barrier",
			    info->policy);
	case EHOSTDOWN:
		return is_away(node);
	default:
		return fail("homes load: node %u: %s", node, strerror(err));
	}
}

static int claim(int fd, const struct dsm_ioc_region_info *info, const struct runs *all)
{
	uint64_t asked = 0, got = 0, skip = 0, total = 0;
	struct dsm_ioc_homes a;
	size_t i;

	for (i = 0; i < all->n; i++)
		total += all->run[i].count;
	for (i = 0; i < all->n; ) {
		if (stopped_by())
			return fail("homes load: a signal ended it after %llu of %llu pages", (unsigned long long)asked,
				    (unsigned long long)total);
		fill(all, &i, &skip, &a);
		asked += count_bits(&a);
		if (ioctl(fd, DSM_IOC_HOMES, &a) < 0)
			return claim_failed(a.node, errno, info);
		got += count_bits(&a);
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%llu of %llu pages%s", (unsigned long long)asked,
				(unsigned long long)total, asked == total ? "\n" : "");
	}
	if (got != total)
		return fail("homes load: %llu of %llu pages had another home already; load into a new region",
			    (unsigned long long)(total - got), (unsigned long long)total);
	return 0;
}

int load_homes(const char *name, const char *path)
{
	struct dsm_ioc_region_info info;
	struct dsm_ioc_node_info self;
	struct runs all = { NULL };
	int fd = open_region(name, &info, &self);
	int ret;

	if (fd < 0)
		return EXIT_FAILURE;
	ret = read_file(path, info.bytes / (uint64_t)sysconf(_SC_PAGESIZE), &all);
	if (!ret) {
		sort(&all, by_node);
		ret = check_nodes(fd, &all);
		ret = ret ? ret : claim(fd, &info, &all);
	}
	close(fd);
	free(all.run);
	return ret;
}

int cmd_homes(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *path = argc > 3 ? argv[3] : "-";

	if (strcmp(what, "save") && strcmp(what, "load"))
		return usage("homes", "save or load?");
	if (argc < 3 || argc > 4)
		return usage("homes", "%s needs REGION and perhaps FILE", what);
	return strcmp(what, "save") ? load_homes(argv[2], path) : save(argv[2], path);
}
