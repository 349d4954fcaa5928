// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* read, write and lseek of a region's file, at every place and with every kind of buffer. */
#include <sys/uio.h>
#include "harness.h"
#include "ksft.h"

#define GIB (1ull << 30)
#define BYTES (6 * GIB)		/* far beyond 32 bits, and beyond the guest's memory */
#define FAR ((off_t)(5 * GIB))

FIXTURE(rw) {
	struct region r;
	unsigned char *a, *b;
};

#define BUF 70000

FIXTURE_SETUP(rw)
{
	size_t i;

	ASSERT_EQ(0, make_region(&self->r, BYTES));
	self->a = malloc(BUF);
	self->b = calloc(1, BUF);
	for (i = 0; i < BUF; i++)
		self->a[i] = i * 7 + (i >> 8);
}

FIXTURE_TEARDOWN_PARENT(rw)
{
	EXPECT_EQ(0, end_region(&self->r));
}

TEST_F(rw, position_follows_seek_read_and_write)
{
	int fd = self->r.fd;

	EXPECT_EQ((off_t)BYTES, lseek(fd, 0, SEEK_END));
	EXPECT_EQ(FAR + 1, lseek(fd, FAR + 1, SEEK_SET));
	EXPECT_EQ(10000, write(fd, self->a, 10000));
	EXPECT_EQ(FAR + 10001, lseek(fd, 0, SEEK_CUR));
	EXPECT_EQ(FAR + 5001, lseek(fd, -5000, SEEK_CUR));
	EXPECT_EQ(5000, read(fd, self->b, 5000));
	EXPECT_EQ(0, memcmp(self->a + 5000, self->b, 5000));
	EXPECT_EQ(FAR + 10001, lseek(fd, 0, SEEK_CUR));
}

TEST_F(rw, bad_positions_are_refused)
{
	int fd = self->r.fd;

	EXPECT_ERRNO(EINVAL, lseek(fd, -1, SEEK_SET));
	EXPECT_ERRNO(EINVAL, lseek(fd, 1, SEEK_END));
	EXPECT_ERRNO(EINVAL, lseek(fd, 0, 77));
	EXPECT_ERRNO(EINVAL, pread(fd, self->b, 1, -1));
	EXPECT_ERRNO(EINVAL, pwrite(fd, self->b, 1, -1));
}

TEST_F(rw, unaligned_data_at_5_gib_comes_back)
{
	EXPECT_EQ(BUF, pwrite(self->r.fd, self->a, BUF, FAR + 123));
	EXPECT_EQ(BUF, pread(self->r.fd, self->b, BUF, FAR + 123));
	EXPECT_EQ(0, memcmp(self->a, self->b, BUF));
	EXPECT_EQ(1, pread(self->r.fd, self->b, 1, FAR + 122));
	EXPECT_EQ(0, self->b[0]);
	EXPECT_EQ(1, pread(self->r.fd, self->b, 1, (FAR + 123) & 0xffffffff));
	EXPECT_EQ(0, self->b[0]);
}

TEST_F(rw, mapping_at_5_gib_shows_the_same_bytes)
{
	char *p = map_region(&self->r, 16, FAR / PAGE, PROT_READ | PROT_WRITE);

	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(10000, pwrite(self->r.fd, self->a, 10000, FAR + 50));
	EXPECT_EQ(0, memcmp(self->a, p + 50, 10000));
	memset(p + 20000, 0x3c, 5000);
	EXPECT_EQ(5000, pread(self->r.fd, self->b, 5000, FAR + 20000));
	EXPECT_EQ(0, memcmp(p + 20000, self->b, 5000));
}

TEST_F(rw, whole_region_maps_at_once)
{
	char *p = map_region(&self->r, BYTES / PAGE, 0, PROT_READ | PROT_WRITE);

	ASSERT_NE(MAP_FAILED, p);
	p[FAR + 7] = 3;
	p[BYTES - 1] = 4;
	EXPECT_EQ(1, pread(self->r.fd, self->b, 1, FAR + 7));
	EXPECT_EQ(3, self->b[0]);
	EXPECT_EQ(1, pread(self->r.fd, self->b, 1, BYTES - 1));
	EXPECT_EQ(4, self->b[0]);
}

TEST_F(rw, calls_end_at_the_regions_end)
{
	int fd = self->r.fd;

	EXPECT_EQ(10, pwrite(fd, self->a, 100, BYTES - 10));
	EXPECT_EQ(10, pread(fd, self->b, 100, BYTES - 10));
	EXPECT_EQ(0, memcmp(self->a, self->b, 10));
	EXPECT_EQ(0, pread(fd, self->b, 100, BYTES));
	EXPECT_EQ(0, pread(fd, self->b, 100, BYTES + GIB));
	EXPECT_ERRNO(ENOSPC, pwrite(fd, self->a, 100, BYTES));
	EXPECT_ERRNO(ENOSPC, pwrite(fd, self->a, 1, BYTES + GIB));
	EXPECT_EQ(0, pwrite(fd, self->a, 0, BYTES));
	EXPECT_EQ(0, pread(fd, self->b, 0, 0));
}

TEST_F(rw, random_places_and_lengths)
{
	char *p = map_region(&self->r, 128, 0, PROT_READ | PROT_WRITE);
	int i;

	ASSERT_NE(MAP_FAILED, p);
	srandom(1);
	for (i = 0; i < 200; i++) {
		size_t at = random() % (128 * PAGE), n = random() % BUF;

		ASSERT_EQ((ssize_t)n, pwrite(self->r.fd, self->a, n, at));
		ASSERT_EQ((ssize_t)n, pread(self->r.fd, self->b, n, at));
		ASSERT_EQ(0, memcmp(self->a, self->b, n));
		if (at + n <= 128 * PAGE)
			ASSERT_EQ(0, memcmp(self->a, p + at, n));
		if (i % 16 == 0)
			ASSERT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	}
}

TEST_F(rw, vectors)
{
	struct iovec v[3] = { { self->a, 5000 }, { self->a + 5000, 1 }, { self->a + 5001, 9000 } };
	struct iovec w[2] = { { self->b, 3 }, { self->b + 3, 13998 } };

	EXPECT_EQ(14001, pwritev(self->r.fd, v, 3, FAR + 777));
	EXPECT_EQ(14001, preadv(self->r.fd, w, 2, FAR + 777));
	EXPECT_EQ(0, memcmp(self->a, self->b, 14001));
}

TEST_F(rw, bad_buffers_are_refused)
{
	char *hole = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *volatile nowhere = (char *)8;
	ssize_t n;

	EXPECT_ERRNO(EFAULT, pread(self->r.fd, nowhere, 100, 0));
	EXPECT_ERRNO(EFAULT, pwrite(self->r.fd, nowhere, 100, 0));
	ASSERT_EQ(0, munmap(hole + PAGE, PAGE));
	/* What could be copied counts. */
	n = pwrite(self->r.fd, hole + PAGE - 96, PAGE, 100);
	EXPECT_EQ(96, n);
	n = pread(self->r.fd, hole + PAGE - 96, PAGE, 100);
	EXPECT_GT(n, 0);
	EXPECT_LE(n, 96);
}

/* The buffer is the region's own memory: pages not here yet, other pages, the same page. */
TEST_F(rw, buffer_may_be_region_memory)
{
	char *p = map_region(&self->r, 64, 0, PROT_READ | PROT_WRITE);
	int fd = self->r.fd;

	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(3 * (ssize_t)PAGE, pwrite(fd, self->a, 3 * PAGE, 0));
	EXPECT_EQ(2 * (ssize_t)PAGE, pread(fd, p + 20 * PAGE + 5, 2 * PAGE, 0));
	EXPECT_EQ(0, memcmp(self->a, p + 20 * PAGE + 5, 2 * PAGE));
	EXPECT_EQ(2 * (ssize_t)PAGE, pwrite(fd, p + 20 * PAGE + 5, 2 * PAGE, 30 * PAGE + 77));
	EXPECT_EQ(0, memcmp(self->a, p + 30 * PAGE + 77, 2 * PAGE));
	EXPECT_EQ((ssize_t)PAGE, pread(fd, p, PAGE, 0));
	EXPECT_EQ((ssize_t)PAGE, pwrite(fd, p, PAGE, 0));
	EXPECT_EQ(0, memcmp(self->a, p, PAGE));
	EXPECT_EQ((ssize_t)PAGE, pwrite(fd, p + 40 * PAGE, PAGE, 41 * PAGE));
	EXPECT_EQ(0, p[41 * PAGE]);
}

TEST_F(rw, buffer_may_be_another_regions_memory)
{
	char *p = map_region(&self->r, 4, 0, PROT_READ | PROT_WRITE);
	int other = open("/dev/dsm", O_RDWR);
	char *q = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, other, 64 * PAGE);

	ASSERT_NE(MAP_FAILED, q);
	memcpy(p, self->a, 2 * PAGE);
	EXPECT_EQ(2 * (ssize_t)PAGE, pwrite(other, p, 2 * PAGE, 64 * PAGE));
	EXPECT_EQ(0, memcmp(self->a, q, 2 * PAGE));
	EXPECT_EQ(2 * (ssize_t)PAGE, pread(self->r.fd, q + 2 * PAGE, 2 * PAGE, 0));
	EXPECT_EQ(0, memcmp(self->a, q + 2 * PAGE, 2 * PAGE));
}

TEST_F(rw, sparse_use_of_a_region_larger_than_memory)
{
	uint64_t i, n = 256, v;

	for (i = 0; i < n; i++) {
		v = i * 0x9e3779b97f4a7c15ull;
		ASSERT_EQ(8, pwrite(self->r.fd, &v, 8, i * (BYTES / n)));
	}
	for (i = 0; i < n; i++) {
		ASSERT_EQ(8, pread(self->r.fd, &v, 8, i * (BYTES / n)));
		ASSERT_EQ(i * 0x9e3779b97f4a7c15ull, v);
	}
}

TEST_F(rw, processes_write_neighbouring_bytes)
{
	pid_t pids[4];
	int i, k;

	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			for (k = i; k < 2000; k += 4) {
				unsigned char c = k;

				if (pwrite(self->r.fd, &c, 1, FAR + k * 11) != 1)
					_exit(1);
				if (k % 100 == i)
					region_call(self->r.fd, DSM_IOC_RELEASE);
			}
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, child_status(pids[i]));
	for (k = 0; k < 2000; k++) {
		ASSERT_EQ(1, pread(self->r.fd, self->b, 1, FAR + k * 11));
		ASSERT_EQ((unsigned char)k, self->b[0]);
	}
}

TEST_HARNESS_MAIN
