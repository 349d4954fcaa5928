// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * direct prepare | direct REGION ROUNDS: O_DIRECT reads from /dev/vda into the region while a sibling
 * releases, and the other rank looks at what arrived (decisions.md P9).
 *
 * Rank 0 reads a part of the disk into the first half of the buffer pages and another into the
 * second, which the region homes at different nodes. The driver slows the disk down, so that each
 * read is in flight during many releases. Both are read again where a busy host had none; a round that never has any fails.
 */
#include <fcntl.h>
#include <stdatomic.h>

#include "common.h"

#define DISK "/dev/vda"
#define DISK_BYTES (8u << 20)
#define READ_BYTES (128u << 10)
#define BARRIER_KEY 3
#define TRIES 10

static struct dsm *d;
static atomic_bool reading;
static atomic_long releases;

static uint64_t word_of(uint64_t at)
{
	return (at + 1) * 0x9e3779b97f4a7c15ull;
}

static void prepare(void)
{
	uint64_t *buffer, at, i;
	int fd = open(DISK, O_WRONLY | O_DIRECT);

	CHECK(fd >= 0, "%s: %m", DISK);
	CHECK(!posix_memalign((void **)&buffer, PAGE_BYTES, READ_BYTES), "no memory");
	for (at = 0; at < DISK_BYTES; at += READ_BYTES) {
		for (i = 0; i < READ_BYTES / 8; i++)
			buffer[i] = word_of(at / 8 + i);
		CHECK(pwrite(fd, buffer, READ_BYTES, (off_t)at) == READ_BYTES, "write: %m");
	}
	CHECK(!fsync(fd) && !close(fd), "close: %m");
	free(buffer);
}

static void *releaser(void *unused)
{
	volatile uint64_t *own = dsm_base(d);

	(void)unused;
	/* Something to release each time: a page of our own, far from the buffers. */
	own += 4 * READ_BYTES / 8;
	while (atomic_load(&reading)) {
		++*own;
		must(dsm_release(d), "release");
		atomic_fetch_add(&releases, 1);
	}
	return NULL;
}

static void check(const uint64_t *buffer, uint64_t from, const char *which)
{
	uint64_t i;

	for (i = 0; i < READ_BYTES / 8; i++)
		CHECK(buffer[i] == word_of(from / 8 + i), "%s buffer, byte %lu of disk offset %lu: %#lx", which,
		      i * 8, from, buffer[i]);
}

/* Both buffers at once, in flight while the sibling releases. */
static void *read_far(void *arg)
{
	uint64_t from = (uint64_t)arg;
	int fd = open(DISK, O_RDONLY | O_DIRECT);

	CHECK(fd >= 0, "%s: %m", DISK);
	CHECK(pread(fd, (char *)dsm_base(d) + dsm_size(d) / 2, READ_BYTES, (off_t)from) == READ_BYTES, "read: %m");
	close(fd);
	return NULL;
}

/* How many releases there were meanwhile. */
static long read_both(uint64_t from)
{
	int fd = open(DISK, O_RDONLY | O_DIRECT);
	pthread_t sibling, far;

	CHECK(fd >= 0, "%s: %m", DISK);
	atomic_store(&releases, 0);
	atomic_store(&reading, true);
	CHECK(!pthread_create(&sibling, NULL, releaser, NULL), "no thread");
	CHECK(!pthread_create(&far, NULL, read_far, (void *)(from + READ_BYTES)), "no thread");
	CHECK(pread(fd, dsm_base(d), READ_BYTES, (off_t)from) == READ_BYTES, "read: %m");
	pthread_join(far, NULL);
	atomic_store(&reading, false);
	pthread_join(sibling, NULL);
	close(fd);
	printf("%ld releases during a read\n", atomic_load(&releases));
	return atomic_load(&releases);
}

static void read_among_releases(uint64_t from)
{
	int tries = 1;

	while (read_both(from) < 2)
		CHECK(tries++ < TRIES, "no release during %d reads: the disk is too fast", TRIES);
}

int main(int argc, char **argv)
{
	long rounds, round;
	char *base;

	if (argc == 2 && !strcmp(argv[1], "prepare")) {
		prepare();
		return 0;
	}
	CHECK(argc == 3, "usage: direct prepare | direct REGION ROUNDS");
	rounds = number(argv[2], 1, DISK_BYTES / READ_BYTES / 2);
	d = open_region(argv[1]);
	base = dsm_base(d);
	for (round = 0; round < rounds; round++) {
		uint64_t from = (uint64_t)round * 2 * READ_BYTES;

		if (!dsm_rank(d))
			read_among_releases(from);
		barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
		check((uint64_t *)base, from, "first");
		check((uint64_t *)(base + dsm_size(d) / 2), from + READ_BYTES, "second");
		barrier(d, BARRIER_KEY, (unsigned int)dsm_ranks(d));
	}
	must(dsm_close(d), "close");
	return 0;
}
