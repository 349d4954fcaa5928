// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Word frequencies: words [-r REGION] [-b BUCKETS] [-o OUTPUT] FILE... Rank 0 reads the files straight into
 * the region, each rank counts the words that begin in its part and merges them into one shared hash table,
 * bucket by bucket, each under its lock. Rank 0 writes them as `sort | uniq -c` does.
 * A word is a run of the letters A to Z in either case.
 *
 * Region: one page of struct shared, the text, then the buckets, each of a fixed size that holds its share of
 * the worst case many times over. Buckets of an earlier run are recognised by their run number.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demo.h"

#define PAGE 4096u
#define BUCKETS_MAX 4096u
#define BARRIER_KEY 1
#define LOCK_KEY 1000	/* the lock of bucket 0 */
#define TEXT_MAX (64u << 20)

struct shared {
	uint64_t run;		/* counts the runs in this region */
	uint64_t text_bytes;
	uint64_t buckets;
	uint64_t bucket_bytes;
	uint64_t table;		/* offset of bucket 0 */
};

struct bucket {
	uint64_t run;		/* in which it was last used; else it is empty */
	uint64_t used;		/* bytes of entries */
};

/* In a bucket, and in the private table of a rank; the letters follow, padded to a multiple of 4. */
struct entry {
	uint32_t count;
	uint32_t len;
	char word[];
};

/* Private counts: chained by bucket, so that a merge takes one bucket after the other. */
struct local {
	struct local *next;
	uint64_t hash;
	struct entry *entry;
};

static struct dsm *d;
static struct shared *shared;
static struct local **mine;
static size_t mine_count;

static bool is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static char *text(void)
{
	return (char *)shared + PAGE;
}

static struct bucket *bucket(uint64_t b)
{
	return (struct bucket *)((char *)shared + shared->table + b * shared->bucket_bytes);
}

static size_t entry_bytes(size_t len)
{
	return sizeof(struct entry) + (len + 3) / 4 * 4;
}

static size_t read_file(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got;

	if (fd < 0)
		die("words: %s: %s", path, strerror(errno));
	while (used < room) {
		got = read(fd, to + used, room - used);
		if (got < 0)
			die("words: reading %s into the region: %s", path, strerror(errno));
		if (!got)
			break;
		used += (size_t)got;
	}
	close(fd);
	return used;
}

/* Files follow each other with a line feed between, so that no word spans two. */
static void load(int files, char **paths, uint64_t buckets)
{
	size_t room = dsm_size(d) / 4 < TEXT_MAX ? dsm_size(d) / 4 : TEXT_MAX;
	uint64_t left;
	size_t used = 0;
	int i;

	for (i = 0; i < files; i++) {
		used += read_file(paths[i], text() + used, room - used - 1);
		text()[used++] = '\n';
		if (room - used <= 1)
			die("words: more than %zu bytes of text", room);
	}
	shared->run++;
	shared->text_bytes = used;
	shared->buckets = buckets;
	shared->table = (PAGE + used + PAGE - 1) / PAGE * PAGE;
	left = dsm_size(d) - shared->table;
	shared->bucket_bytes = left / buckets / PAGE * PAGE;
	if (!shared->bucket_bytes)
		die("words: no room for %llu buckets", (unsigned long long)buckets);
	printf("%zu bytes of %d files read into the region\n", used, files);
}

static void count_word(const char *word, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	struct local *l;
	uint64_t b;
	size_t i;

	for (i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)(word[i] | 0x20)) * 0x100000001b3ull;
	b = (hash >> 32) % shared->buckets;
	for (l = mine[b]; l; l = l->next) {
		if (l->hash != hash || l->entry->len != len)
			continue;
		for (i = 0; i < len && l->entry->word[i] == (word[i] | 0x20); i++)
			;
		if (i == len) {
			l->entry->count++;
			return;
		}
	}
	l = malloc(sizeof(*l));
	if (l)
		l->entry = calloc(1, entry_bytes(len));
	if (!l || !l->entry)
		die("words: out of memory");
	l->hash = hash;
	l->entry->count = 1;
	l->entry->len = (uint32_t)len;
	for (i = 0; i < len; i++)
		l->entry->word[i] = word[i] | 0x20;
	l->next = mine[b];
	mine[b] = l;
	mine_count++;
}

/* The words that begin in this rank's part of the text. */
static void count(void)
{
	const char *all = text();
	size_t bytes = shared->text_bytes;
	size_t at = bytes * (size_t)dsm_rank(d) / (size_t)dsm_ranks(d);
	size_t end = bytes * ((size_t)dsm_rank(d) + 1) / (size_t)dsm_ranks(d);
	size_t start;

	if (at && is_letter(all[at - 1]))
		while (at < bytes && is_letter(all[at]))
			at++;
	while (at < end) {
		if (!is_letter(all[at])) {
			at++;
			continue;
		}
		for (start = at; at < bytes && is_letter(all[at]); at++)
			;
		count_word(all + start, at - start);
	}
}

static void add_entry(struct bucket *b, const struct entry *e)
{
	char *data = (char *)(b + 1);
	size_t bytes = entry_bytes(e->len);
	size_t at;

	for (at = 0; at < b->used;) {
		struct entry *old = (struct entry *)(data + at);

		if (old->len == e->len && !memcmp(old->word, e->word, e->len)) {
			old->count += e->count;
			return;
		}
		at += entry_bytes(old->len);
	}
	if (sizeof(*b) + b->used + bytes > shared->bucket_bytes)
		die("words: a bucket is full; use a larger region");
	memcpy(data + b->used, e, bytes);
	b->used += bytes;
}

static void lock_bucket(uint64_t b)
{
	int ret;

	do {
		ret = dsm_lock(d, LOCK_KEY + b);
	} while (ret == -EINTR);
	if (ret)
		die("%s", dsm_error());
}

/* Each rank begins elsewhere, so that they seldom want the same bucket at the same time. */
static void merge(void)
{
	uint64_t buckets = shared->buckets;
	uint64_t first = buckets * (uint64_t)dsm_rank(d) / (uint64_t)dsm_ranks(d);
	const struct local *l;
	uint64_t i;

	for (i = 0; i < buckets; i++) {
		uint64_t at = (first + i) % buckets;
		struct bucket *b = bucket(at);

		if (!mine[at])
			continue;
		lock_bucket(at);
		if (b->run != shared->run) {
			b->run = shared->run;
			b->used = 0;
		}
		for (l = mine[at]; l; l = l->next)
			add_entry(b, l->entry);
		if (dsm_unlock(d, LOCK_KEY + at))
			die("%s", dsm_error());
	}
}

static int by_word(const void *a, const void *b)
{
	const struct entry *x = *(const struct entry *const *)a;
	const struct entry *y = *(const struct entry *const *)b;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->word, y->word, len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

static void write_result(const char *path)
{
	FILE *out = path ? fopen(path, "w") : stdout;
	struct entry **list = NULL;
	size_t count = 0, room = 0;
	uint64_t b, at;
	size_t i;

	if (!out)
		die("words: %s: %s", path, strerror(errno));
	for (b = 0; b < shared->buckets; b++) {
		struct bucket *bk = bucket(b);

		if (bk->run != shared->run)
			continue;
		for (at = 0; at < bk->used;) {
			struct entry *e = (struct entry *)((char *)(bk + 1) + at);

			if (count == room) {
				room = room ? 2 * room : 4096;
				list = realloc(list, room * sizeof(*list));
				if (!list)
					die("words: out of memory");
			}
			list[count++] = e;
			at += entry_bytes(e->len);
		}
	}
	if (count)
		qsort(list, count, sizeof(*list), by_word);
	for (i = 0; i < count; i++)
		fprintf(out, "%7u %.*s\n", list[i]->count, (int)list[i]->len, list[i]->word);
	if (fflush(out) || ferror(out))
		die("words: %s: %s", path ? path : "output", strerror(errno));
	if (path)
		fclose(out);
	free(list);
	if (path)
		printf("%zu different words written\n", count);
}

int main(int argc, char **argv)
{
	const char *region = NULL;
	const char *output = NULL;
	unsigned long buckets = 1024;
	int opt;

	while ((opt = getopt(argc, argv, "r:b:o:")) != -1) {
		if (opt == 'r')
			region = optarg;
		else if (opt == 'b')
			buckets = strtoul(optarg, NULL, 10);
		else if (opt == 'o')
			output = optarg;
		else
			buckets = 0;
	}
	if (optind == argc || !buckets || buckets > BUCKETS_MAX)
		die("usage: words [-r REGION] [-b BUCKETS] [-o OUTPUT] FILE...");
	setvbuf(stdout, NULL, _IOLBF, 0);
	d = open_region(region);
	shared = dsm_base(d);
	if (!dsm_rank(d))
		load(argc - optind, argv + optind, buckets);
	barrier(d, BARRIER_KEY);
	mine = calloc(shared->buckets, sizeof(*mine));
	if (!mine)
		die("words: out of memory");
	count();
	printf("rank %d: %zu different words in its part\n", dsm_rank(d), mine_count);
	merge();
	barrier(d, BARRIER_KEY);
	if (!dsm_rank(d)) {
		puts("merged by all ranks");
		write_result(output);
	}
	barrier(d, BARRIER_KEY);
	if (dsm_close(d))
		die("%s", dsm_error());
	return 0;
}
