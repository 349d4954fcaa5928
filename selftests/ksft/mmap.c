// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* What can be mapped, and what the calls on mappings do: mprotect, mremap, munmap, madvise, fork. */
#include "harness.h"
#include "ksft.h"

#define PAGES 64

FIXTURE(mmap) {
	struct region r;
	char *p;
};

FIXTURE_SETUP(mmap)
{
	ASSERT_EQ(0, make_region(&self->r, PAGES * PAGE));
	self->p = map_region(&self->r, PAGES, 0, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->p);
}

FIXTURE_TEARDOWN_PARENT(mmap)
{
	EXPECT_EQ(0, end_region(&self->r));
}

/* A region whose homes tell of every write: with fetch=read they do not know who has a copy. */
FIXTURE(told) {
	struct region r;
	char *p;
};

FIXTURE_SETUP(told)
{
	ASSERT_EQ(0, make_region_with(&self->r, PAGES * PAGE, "home=rr,fetch=read"));
	self->p = map_region(&self->r, PAGES, 0, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->p);
}

FIXTURE_TEARDOWN_PARENT(told)
{
	EXPECT_EQ(0, end_region(&self->r));
}

/* mmap() of one page; 0 or the errno. */
static int try_map(int fd, int prot, int flags, off_t offset, size_t bytes)
{
	void *p = mmap(NULL, bytes, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, bytes);
	return 0;
}

/* Does an access end in this signal? In a child. */
static int access_signal(volatile char *p, bool write)
{
	pid_t pid = fork();

	if (!pid) {
		if (write)
			*p = 1;
		else
			(void)*p;
		_exit(0);
	}
	return child_status(pid);
}

TEST_F(mmap, private_mapping_is_refused)
{
	EXPECT_EQ(EINVAL, try_map(self->r.fd, PROT_READ, MAP_PRIVATE, 0, PAGE));
	EXPECT_EQ(EINVAL, try_map(self->r.fd, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, PAGE));
}

TEST_F(mmap, executable_mapping_is_refused)
{
	EXPECT_EQ(EACCES, try_map(self->r.fd, PROT_READ | PROT_EXEC, MAP_SHARED, 0, PAGE));
	EXPECT_ERRNO(EACCES, mprotect(self->p, PAGE, PROT_READ | PROT_EXEC));
}

TEST_F(mmap, range_behind_the_end_is_refused)
{
	EXPECT_EQ(0, try_map(self->r.fd, PROT_READ, MAP_SHARED, (PAGES - 1) * PAGE, PAGE));
	EXPECT_EQ(ENXIO, try_map(self->r.fd, PROT_READ, MAP_SHARED, (PAGES - 1) * PAGE, 2 * PAGE));
	EXPECT_EQ(ENXIO, try_map(self->r.fd, PROT_READ, MAP_SHARED, PAGES * PAGE, PAGE));
	EXPECT_EQ(ENXIO, try_map(self->r.fd, PROT_READ, MAP_SHARED, 1l << 50, PAGE));
	EXPECT_EQ(EINVAL, try_map(self->r.fd, PROT_READ, MAP_SHARED, 1, PAGE));
}

TEST_F(mmap, untouched_pages_are_zero)
{
	size_t i;

	for (i = 0; i < PAGES * PAGE; i++)
		ASSERT_EQ(0, self->p[i]);
}

TEST_F(mmap, part_at_an_offset_shows_the_same_bytes)
{
	char *q = map_region(&self->r, 3, 7, PROT_READ | PROT_WRITE);

	ASSERT_NE(MAP_FAILED, q);
	self->p[7 * PAGE + 5] = 11;
	q[2 * PAGE + 9] = 12;
	EXPECT_EQ(11, q[5]);
	EXPECT_EQ(12, self->p[9 * PAGE + 9]);
}

TEST_F(mmap, two_opens_share_their_memory)
{
	int fd = open(self->r.path, O_RDWR);
	char *q = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 3 * PAGE);

	ASSERT_NE(MAP_FAILED, q);
	q[1] = 55;
	EXPECT_EQ(55, self->p[3 * PAGE + 1]);
}

TEST_F(mmap, mapping_outlives_its_file_descriptor)
{
	self->p[0] = 1;
	close(self->r.fd);
	self->p[1] = 2;
	EXPECT_EQ(1, self->p[0]);
	EXPECT_EQ(2, self->p[1]);
}

TEST_F(mmap, read_only_file_gives_a_view_that_never_becomes_writable)
{
	int fd = open(self->r.path, O_RDONLY);
	char *q = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	ASSERT_NE(MAP_FAILED, q);
	self->p[0] = 77;
	EXPECT_EQ(77, q[0]);
	EXPECT_ERRNO(EACCES, mprotect(q, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(128 + SIGSEGV, access_signal(q, true));
}

TEST_F(mmap, mapping_at_a_wanted_address)
{
	char *want = (char *)self->r.addr;
	char *q = mmap(want, PAGES * PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED_NOREPLACE, self->r.fd, 0);

	EXPECT_EQ(want, q);
	self->p[PAGE] = 9;
	EXPECT_EQ(9, q[PAGE]);
}

TEST_F(mmap, partial_unmapping_leaves_the_rest)
{
	self->p[0] = 1;
	self->p[5 * PAGE] = 2;
	ASSERT_EQ(0, munmap(self->p + 4 * PAGE, PAGE));
	EXPECT_EQ(1, self->p[0]);
	EXPECT_EQ(2, self->p[5 * PAGE]);
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	self->p[0] = 3;
	self->p[5 * PAGE] = 4;
	EXPECT_EQ(3, self->p[0]);
	EXPECT_EQ(4, self->p[5 * PAGE]);
	EXPECT_EQ(128 + SIGSEGV, access_signal(self->p + 4 * PAGE, false));
}

TEST_F(mmap, mprotect_takes_and_gives_rights)
{
	self->p[0] = 1;
	ASSERT_EQ(0, mprotect(self->p, PAGE, PROT_READ));
	EXPECT_EQ(128 + SIGSEGV, access_signal(self->p, true));
	EXPECT_EQ(1, self->p[0]);
	ASSERT_EQ(0, mprotect(self->p, PAGE, PROT_NONE));
	EXPECT_EQ(128 + SIGSEGV, access_signal(self->p, false));
	ASSERT_EQ(0, mprotect(self->p, PAGE, PROT_READ | PROT_WRITE));
	self->p[0] = 2;
	EXPECT_EQ(2, self->p[0]);
}

/*
 * A page that was written, released, and given its write permission again must
 * fault at the next store, or a store would escape the release after it.
 */
TEST_F(told, store_after_release_and_mprotect_is_seen)
{
	uint64_t before;
	int round;

	for (round = 0; round < 20; round++) {
		self->p[0] = round;
		self->p[PAGE] = round;
		ASSERT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
		ASSERT_EQ(0, mprotect(self->p, 2 * PAGE, PROT_READ));
		ASSERT_EQ(0, mprotect(self->p, 2 * PAGE, PROT_READ | PROT_WRITE));
		before = counter(DSM_STAT_INTERVALS);
		self->p[0] = round + 100;
		ASSERT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
		EXPECT_LT(before, counter(DSM_STAT_INTERVALS));
	}
}

/*
 * The kernel's walk that takes write permission away ends at the first mapping without it: a view
 * that comes before the writer, by its offset.
 */
TEST_F(told, store_after_release_behind_a_view_is_seen)
{
	int fd = open(self->r.path, O_RDONLY), round;
	uint64_t before;
	char *view, *q;

	ASSERT_EQ(0, munmap(self->p, PAGES * PAGE));
	view = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, view);
	q = map_region(&self->r, 2, 1, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, q);
	for (round = 0; round < 20; round++) {
		q[0] = round;
		q[PAGE] = round;
		ASSERT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
		before = counter(DSM_STAT_INTERVALS);
		q[0] = round + 100;
		EXPECT_EQ(round + 100, view[PAGE]);
		ASSERT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
		EXPECT_LT(before, counter(DSM_STAT_INTERVALS));
	}
}

TEST_F(mmap, mremap_moves_but_does_not_grow)
{
	char *q;

	self->p[PAGE] = 5;
	EXPECT_EQ(MAP_FAILED, mremap(self->p, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE));
	q = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(q, mremap(self->p, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q));
	EXPECT_EQ(5, q[PAGE]);
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	q[PAGE] = 6;
	EXPECT_EQ(6, q[PAGE]);
	ASSERT_EQ(q, mremap(q, PAGES * PAGE, PAGE * 2, 0));
	EXPECT_EQ(6, q[PAGE]);
}

TEST_F(mmap, madvise_never_loses_data)
{
	/* 20, 21: COLD, PAGEOUT; 22, 23: POPULATE_READ, POPULATE_WRITE. */
	int harmless[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED,
			   20, 21, 22, 23, MADV_DONTFORK, MADV_DOFORK };
	size_t i;

	for (i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		memset(self->p, i + 1, 4 * PAGE);
		EXPECT_EQ(0, madvise(self->p, 4 * PAGE, harmless[i])) {
			TH_LOG("advice %d: %s", harmless[i], strerror(errno));
		}
		EXPECT_EQ((int)i + 1, self->p[0]);
		EXPECT_EQ((int)i + 1, self->p[4 * PAGE - 1]);
	}
	EXPECT_LT(madvise(self->p, PAGE, MADV_REMOVE), 0);
	EXPECT_ERRNO(EINVAL, madvise(self->p, PAGE, MADV_DODUMP));
	EXPECT_EQ((int)i, self->p[0]);
}

TEST_F(mmap, mlock_is_accepted)
{
	self->p[0] = 3;
	EXPECT_EQ(0, mlock(self->p, 4 * PAGE));
	EXPECT_EQ(3, self->p[0]);
	EXPECT_EQ(0, munlock(self->p, 4 * PAGE));
}

TEST_F(mmap, fork_shares_the_memory)
{
	pid_t pid;

	self->p[0] = 1;
	pid = fork();
	if (!pid) {
		if (self->p[0] != 1)
			_exit(1);
		self->p[1] = 2;
		self->p[9 * PAGE] = 3;
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(2, self->p[1]);
	EXPECT_EQ(3, self->p[9 * PAGE]);
}

TEST_F(mmap, child_may_unmap_and_the_parent_goes_on)
{
	pid_t pid;

	self->p[0] = 1;
	pid = fork();
	if (!pid)
		_exit(munmap(self->p, PAGES * PAGE) || close(self->r.fd));
	EXPECT_EQ(0, child_status(pid));
	self->p[0]++;
	EXPECT_EQ(2, self->p[0]);
}

TEST_F(told, msync_and_fsync_are_releases)
{
	uint64_t before = counter(DSM_STAT_RELEASES);

	/* A release that finds nothing written is none, so each call has something. */
	self->p[0] = 1;
	EXPECT_EQ(0, msync(self->p, PAGE, MS_SYNC));
	EXPECT_LT(before, counter(DSM_STAT_RELEASES));
	before = counter(DSM_STAT_RELEASES);
	self->p[0] = 2;
	EXPECT_EQ(0, fsync(self->r.fd));
	EXPECT_LT(before, counter(DSM_STAT_RELEASES));
	EXPECT_EQ(0, msync(self->p, PAGE, MS_ASYNC));
}

TEST_F(mmap, default_region_maps_through_the_control_file)
{
	int fd = open("/dev/dsm", O_RDWR), other = open("/dev/dsm", O_RDWR);
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 5 * PAGE);
	char c = 0;

	ASSERT_NE(MAP_FAILED, p);
	p[3] = 21;
	EXPECT_EQ(1, pread(other, &c, 1, 5 * PAGE + 3));
	EXPECT_EQ(21, c);
}

TEST_HARNESS_MAIN
