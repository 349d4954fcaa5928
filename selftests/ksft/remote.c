// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * Every kind of access to pages whose contents are at another node: before each access
 * the partner there has written all pages, so that the copies here are gone.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "harness.h"
#include "ksft.h"
#include "remote.h"

#define BYTES (REMOTE_PAGES * PAGE)
#define DISK "/dev/vda"
/* Of who waits for a child that was just made: one that fails must not be waited for. */
#define MANY_YIELDS 10000000

/**
 * struct remote - the region shared with the partner
 * @r:    region, opened
 * @p:    mapping of its REMOTE_PAGES pages, and of the orders behind them
 * @o:    the orders
 * @seed: of the pattern that the partner wrote last
 */
struct remote {
	struct region r;
	unsigned char *p;
	struct orders *o;
	uint64_t seed;
};

FIXTURE(remote) {
	struct remote t;
};

static int flag(int fd, unsigned long cmd, uint64_t key)
{
	struct dsm_ioc_flag a = { .size = sizeof(a), .key = key };

	return ioctl(fd, cmd, &a) ? -errno : 0;
}

/* Starts a round; finish() waits for its end. */
static int start(struct remote *t, enum order what, uint64_t times, uint64_t *round)
{
	*round = t->o->last + 1;
	t->o->order = what;
	t->o->seed = t->seed;
	t->o->times = times;
	return flag(t->r.fd, DSM_IOC_FLAG_SET, 2 * *round);
}

static int finish(struct remote *t, uint64_t round)
{
	return flag(t->r.fd, DSM_IOC_FLAG_WAIT, 2 * round + 1);
}

/* All pages get the pattern of a new seed, at the partner's. */
static int refill(struct remote *t)
{
	uint64_t round;
	int err;

	t->seed = t->o->last * 7 + 1;
	err = start(t, ORDER_FILL, 0, &round);
	return err ? err : finish(t, round);
}

/* Bytes of @p that are not those at @first of the region. */
static size_t wrong_bytes(struct remote *t, const unsigned char *p, size_t first, size_t n)
{
	size_t i, wrong = 0;

	for (i = 0; i < n; i++)
		wrong += p[i] != pattern(t->seed, first + i);
	return wrong;
}

FIXTURE_SETUP(remote)
{
	snprintf(self->t.r.path, sizeof(self->t.r.path), "%s", REMOTE_REGION);
	self->t.r.fd = open(self->t.r.path, O_RDWR);
	/* Only this node: then this program is not run at all. */
	ASSERT_GE(self->t.r.fd, 0) {
		TH_LOG("%s: %s", REMOTE_REGION, strerror(errno));
	}
	self->t.p = (unsigned char *)map_region(&self->t.r, REMOTE_PAGES + 1, 0, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, (void *)self->t.p);
	self->t.o = (struct orders *)(self->t.p + BYTES);
	ASSERT_EQ(0, refill(&self->t));
}

FIXTURE_TEARDOWN(remote)
{
	munmap(self->t.p, (REMOTE_PAGES + 1) * PAGE);
	EXPECT_EQ(0, close(self->t.r.fd));
}

TEST_F(remote, load)
{
	uint64_t before = counter(DSM_STAT_PAGE_TRANSFERS);

	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p, 0, BYTES));
	/* Half of the pages are homed here; the others came. */
	EXPECT_LE(before + REMOTE_PAGES / 2, counter(DSM_STAT_PAGE_TRANSFERS));
}

TEST_F(remote, store_keeps_the_rest_of_the_page)
{
	size_t i;

	for (i = 0; i < REMOTE_PAGES; i++)
		self->t.p[i * PAGE + 7] = i;
	for (i = 0; i < REMOTE_PAGES; i++) {
		EXPECT_EQ(i, self->t.p[i * PAGE + 7]);
		EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + i * PAGE, i * PAGE, 7));
		EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + i * PAGE + 8, i * PAGE + 8, PAGE - 8));
	}
}

TEST_F(remote, device_is_read)
{
	unsigned char *buf = malloc(BYTES);

	EXPECT_EQ((ssize_t)BYTES, pread(self->t.r.fd, buf, BYTES, 0));
	EXPECT_EQ(0u, wrong_bytes(&self->t, buf, 0, BYTES));
}

TEST_F(remote, device_is_written_in_part)
{
	unsigned char buf[100], back[4096];

	memset(buf, 0xaa, sizeof(buf));
	EXPECT_EQ(100, pwrite(self->t.r.fd, buf, 100, 5 * PAGE + 50));
	EXPECT_EQ(100, pwrite(self->t.r.fd, buf, 100, 8 * PAGE - 50));
	EXPECT_EQ((ssize_t)PAGE, pread(self->t.r.fd, back, PAGE, 5 * PAGE));
	EXPECT_EQ(0u, wrong_bytes(&self->t, back, 5 * PAGE, 50));
	EXPECT_EQ(0u, wrong_bytes(&self->t, back + 150, 5 * PAGE + 150, PAGE - 150));
	EXPECT_EQ(0, memcmp(buf, self->t.p + 8 * PAGE - 50, 100));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 8 * PAGE + 50, 8 * PAGE + 50, PAGE - 50));
}

/* Source and destination are both elsewhere when the call starts. */
TEST_F(remote, device_calls_take_region_buffers)
{
	EXPECT_EQ(3 * (ssize_t)PAGE, pread(self->t.r.fd, self->t.p + 20 * PAGE + 9, 3 * PAGE, 2 * PAGE));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 20 * PAGE + 9, 2 * PAGE, 3 * PAGE));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 20 * PAGE, 20 * PAGE, 9));
	ASSERT_EQ(0, refill(&self->t));
	EXPECT_EQ(3 * (ssize_t)PAGE, pwrite(self->t.r.fd, self->t.p + 30 * PAGE, 3 * PAGE, 40 * PAGE + 1));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 40 * PAGE + 1, 30 * PAGE, 3 * PAGE));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 40 * PAGE, 40 * PAGE, 1));
	ASSERT_EQ(0, refill(&self->t));
	EXPECT_EQ((ssize_t)PAGE, pread(self->t.r.fd, self->t.p + PAGE, PAGE, PAGE));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + PAGE, PAGE, PAGE));
}

static int temporary_file(void)
{
	char path[] = "/tmp/ksft.XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	return fd;
}

TEST_F(remote, file_is_written_and_read)
{
	unsigned char *buf = malloc(BYTES);
	int fd = temporary_file();

	EXPECT_EQ((ssize_t)BYTES, pwrite(fd, self->t.p, BYTES, 0));
	EXPECT_EQ((ssize_t)BYTES, pread(fd, buf, BYTES, 0));
	EXPECT_EQ(0u, wrong_bytes(&self->t, buf, 0, BYTES));
	ASSERT_EQ(0, refill(&self->t));
	/* Into the middle of pages that are not here. */
	EXPECT_EQ(5000, pread(fd, self->t.p + 3 * PAGE + 100, 5000, 0));
	EXPECT_EQ(0, memcmp(buf, self->t.p + 3 * PAGE + 100, 5000));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 3 * PAGE, 3 * PAGE, 100));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 3 * PAGE + 5100, 3 * PAGE + 5100, 2 * PAGE - 5100));
}

TEST_F(remote, direct_io_writes_and_reads)
{
	int fd = open(DISK, O_RDWR | O_DIRECT);
	unsigned char *buf = malloc(BYTES);

	ASSERT_GE(fd, 0) {
		TH_LOG("%s: %s", DISK, strerror(errno));
	}
	EXPECT_EQ((ssize_t)BYTES, pwrite(fd, self->t.p, BYTES, 0));
	memcpy(buf, self->t.p, BYTES);
	ASSERT_EQ(0, refill(&self->t));
	/* Sectors within pages that are not here; the rest of those pages must come, and stay. */
	EXPECT_EQ(1024, pread(fd, self->t.p + 6 * PAGE + 512, 1024, 0));
	EXPECT_EQ(8192, pread(fd, self->t.p + 11 * PAGE - 1024, 8192, 8192));
	EXPECT_EQ(0, memcmp(buf, self->t.p + 6 * PAGE + 512, 1024));
	EXPECT_EQ(0, memcmp(buf + 8192, self->t.p + 11 * PAGE - 1024, 8192));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 6 * PAGE, 6 * PAGE, 512));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 6 * PAGE + 1536, 6 * PAGE + 1536, PAGE - 1536));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 10 * PAGE, 10 * PAGE, PAGE - 1024));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 13 * PAGE - 1024, 13 * PAGE - 1024, 1024));
}

/*
 * The device writes one half of each page here while the partner writes and releases the
 * other half there, and this node releases and acquires all the time (decisions P9).
 */
TEST_F(remote, direct_io_meets_false_sharing_and_releases)
{
	struct iovec v[REMOTE_PAGES];
	int fd = open(DISK, O_RDWR | O_DIRECT), i, rounds = 0;
	const uint64_t times = 15;
	unsigned char *buf = aligned_alloc(PAGE, BYTES);
	uint64_t round, mine = 77;
	size_t wrong = 0, at;
	pid_t pid, waiter;
	bool waited = false;

	ASSERT_GE(fd, 0) {
		TH_LOG("%s: %s", DISK, strerror(errno));
	}
	/* On the disk: the lower halves, one behind the other. */
	for (i = 0; i < REMOTE_PAGES; i++) {
		for (at = 0; at < REMOTE_HALF; at++)
			buf[i * REMOTE_HALF + at] = pattern(mine, i * PAGE + at);
		v[i] = (struct iovec){ self->t.p + i * PAGE, REMOTE_HALF };
	}
	ASSERT_EQ((ssize_t)BYTES / 2, pwrite(fd, buf, BYTES / 2, 0));
	ASSERT_EQ(0, start(&self->t, ORDER_FALSE_SHARING, times, &round));
	pid = fork();
	if (!pid) {
		for (;;) {
			if (region_call(self->t.r.fd, DSM_IOC_RELEASE) ||
			    region_call(self->t.r.fd, DSM_IOC_ACQUIRE))
				_exit(1);
		}
	}
	waiter = fork();
	if (!waiter)
		_exit(-finish(&self->t, round));
	/* The first round meets the partner's; on a slow machine he may be through before the second. */
	for (; !waited || rounds < 2; rounds++) {
		if (!waited)
			waited = waitpid(waiter, NULL, WNOHANG) == waiter;
		for (i = 0; i < REMOTE_PAGES; i++)
			memset(self->t.p + i * PAGE, rounds, REMOTE_HALF);
		ASSERT_EQ((ssize_t)BYTES / 2, preadv(fd, v, REMOTE_PAGES, 0));
		for (i = 0; i < REMOTE_PAGES; i++)
			for (at = 0; at < REMOTE_HALF; at++)
				wrong += self->t.p[i * PAGE + at] != pattern(mine, i * PAGE + at);
	}
	EXPECT_EQ(0u, wrong);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, child_status(pid));
	ASSERT_EQ(0, finish(&self->t, round));
	/* Both halves, at both nodes. */
	self->t.seed += times - 1;
	for (i = 0; i < REMOTE_PAGES; i++) {
		at = i * PAGE + REMOTE_HALF;
		EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + at, at, PAGE - REMOTE_HALF));
	}
	self->t.seed = mine;
	ASSERT_EQ(0, start(&self->t, ORDER_CHECK, 0, &round));
	ASSERT_EQ(0, finish(&self->t, round));
	EXPECT_EQ(0u, self->t.o->wrong);
}

TEST_F(remote, other_process_reads_and_writes_through_process_vm)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		unsigned char *buf = malloc(BYTES);
		struct iovec local = { buf, BYTES }, remote = { self->t.p, BYTES };
		struct iovec few = { "xyz", 3 }, there = { self->t.p + 9 * PAGE + 1, 3 };

		if (process_vm_readv(parent, &local, 1, &remote, 1, 0) != (ssize_t)BYTES)
			_exit(1);
		if (wrong_bytes(&self->t, buf, 0, BYTES))
			_exit(2);
		if (refill(&self->t))
			_exit(3);
		_exit(process_vm_writev(parent, &few, 1, &there, 1, 0) == 3 ? 0 : 4);
	}
	EXPECT_EQ(0, child_status(pid));
	/* The child had the partner write the pages anew. */
	self->t.seed = self->t.o->seed;
	EXPECT_EQ(0, memcmp("xyz", self->t.p + 9 * PAGE + 1, 3));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p + 9 * PAGE + 4, 9 * PAGE + 4, PAGE - 4));
}

TEST_F(remote, futex_sees_the_value_of_a_page_that_has_to_come)
{
	uint32_t want, word = 15 * PAGE / 4;
	size_t i;

	for (want = 0, i = 0; i < 4; i++)
		want |= (uint32_t)pattern(self->t.seed, 15 * PAGE + i) << (8 * i);
	EXPECT_ERRNO(EAGAIN, syscall(SYS_futex, (uint32_t *)self->t.p + word, FUTEX_WAIT, want + 1, NULL));
	EXPECT_EQ(want, ((uint32_t *)self->t.p)[word]);
}

TEST_F(remote, madvise_populates)
{
	uint64_t before;

	/* 22, 23: MADV_POPULATE_READ, MADV_POPULATE_WRITE. */
	EXPECT_EQ(0, madvise(self->t.p, BYTES, 22));
	before = counter(DSM_STAT_READ_FAULTS);
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p, 0, BYTES));
	EXPECT_EQ(before, counter(DSM_STAT_READ_FAULTS));
	ASSERT_EQ(0, refill(&self->t));
	EXPECT_EQ(0, madvise(self->t.p, BYTES, 23));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p, 0, BYTES));
}

struct reader {
	pthread_t thread;
	struct remote *t;
	size_t wrong;
};

static void *read_all(void *arg)
{
	struct reader *r = arg;

	r->wrong = wrong_bytes(r->t, r->t->p, 0, BYTES);
	return NULL;
}

TEST_F(remote, threads_fault_on_the_same_pages_at_once)
{
	struct reader readers[8];
	int i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < 8; i++) {
			readers[i].t = &self->t;
			ASSERT_EQ(0, pthread_create(&readers[i].thread, NULL, read_all, &readers[i]));
		}
		for (i = 0; i < 8; i++) {
			pthread_join(readers[i].thread, NULL);
			EXPECT_EQ(0u, readers[i].wrong);
		}
		ASSERT_EQ(0, refill(&self->t));
	}
}

struct writer {
	pthread_t thread;
	struct remote *t;
	int me, of;
	volatile bool *stop;
};

/* Each byte is stored once: what a release misses then stays missed. */
static void *store_once(void *arg)
{
	struct writer *w = arg;
	size_t i;

	for (i = w->me; i < BYTES; i += w->of) {
		if (i % PAGE < REMOTE_HALF)
			*(volatile unsigned char *)&w->t->p[i] = pattern(w->t->seed, i);
	}
	return NULL;
}

static void *release_always(void *arg)
{
	struct writer *w = arg;

	while (!*w->stop)
		region_call(w->t->r.fd, DSM_IOC_RELEASE);
	return NULL;
}

static void *toggle_always(void *arg)
{
	struct writer *w = arg;

	while (!*w->stop) {
		mprotect(w->t->p, BYTES, PROT_READ);
		mprotect(w->t->p, BYTES, PROT_READ | PROT_WRITE);
	}
	mprotect(w->t->p, BYTES, PROT_READ | PROT_WRITE);
	return NULL;
}

static void try_again(int sig)
{
}

/* The partner counts the bytes that it does not get. */
static uint64_t stores_lost(struct remote *t, bool toggle)
{
	struct sigaction sa = { .sa_handler = try_again };
	volatile bool stop = false;
	struct writer w[5];
	uint64_t round;
	int i, n = toggle ? 5 : 4;

	sigaction(SIGSEGV, &sa, NULL);
	for (i = 0; i < n; i++) {
		w[i] = (struct writer){ .t = t, .me = i, .of = 3, .stop = &stop };
		pthread_create(&w[i].thread, NULL, i < 3 ? store_once :
			       i == 3 ? release_always : toggle_always, &w[i]);
	}
	for (i = 0; i < n; i++) {
		if (i == 3)
			stop = true;
		pthread_join(w[i].thread, NULL);
	}
	if (start(t, ORDER_CHECK, 0, &round) || finish(t, round))
		return ~0ull;
	return t->o->wrong;
}

TEST_F(remote, no_store_escapes_a_concurrent_release)
{
	int round;

	for (round = 0; round < 5; round++) {
		self->t.seed += 13;
		EXPECT_EQ(0u, stores_lost(&self->t, false));
	}
}

TEST_F(remote, no_store_escapes_release_and_mprotect)
{
	int round;

	for (round = 0; round < 5; round++) {
		self->t.seed += 13;
		EXPECT_EQ(0u, stores_lost(&self->t, true));
	}
}

static volatile int handled;

static void handler(int sig)
{
	handled++;
}

TEST_F(remote, signals_interrupt_the_wait_and_the_access_completes)
{
	struct sigaction sa = { .sa_handler = handler };
	unsigned char *buf = malloc(BYTES);
	int round;

	sigaction(SIGALRM, &sa, NULL);
	for (round = 0; round < 5; round++) {
		ualarm(500, 500);
		EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p, 0, BYTES));
		ualarm(0, 0);
		ASSERT_EQ(0, refill(&self->t));
		ualarm(500, 500);
		EXPECT_EQ((ssize_t)BYTES, pread(self->t.r.fd, buf, BYTES, 0));
		ualarm(0, 0);
		EXPECT_EQ(0u, wrong_bytes(&self->t, buf, 0, BYTES));
		ASSERT_EQ(0, refill(&self->t));
	}
	EXPECT_GT(handled, 0);
}

/* All pages, in an order in which none is fetched ahead; says how many it has begun with. */
static void read_pages(const volatile unsigned char *p, volatile int *begun)
{
	size_t page = 1;

	_Static_assert(REMOTE_PAGES == 64, "each page once");
	for (*begun = 1; *begun <= REMOTE_PAGES; ++*begun) {
		(void)p[page * PAGE];
		page = (5 * page + 3) % REMOTE_PAGES;
	}
}

TEST_F(remote, killed_while_pages_come)
{
	volatile int *begun = shared_bytes(PAGE);
	int round, status, yields, midway = 0;
	pid_t pid;

	/* Some have read all pages before they are killed. */
	for (round = 0; round < 100 && (round < 10 || midway < 5); round++) {
		*begun = 0;
		pid = fork();
		if (!pid) {
			read_pages(self->t.p, begun);
			_exit(0);
		}
		for (yields = 0; !*begun && yields < MANY_YIELDS; yields++)
			sched_yield();
		kill(pid, SIGKILL);
		status = child_status(pid);
		EXPECT_LE(0, status);
		midway += status == 128 + SIGKILL && *begun < REMOTE_PAGES;
		EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p, 0, BYTES));
		ASSERT_EQ(0, refill(&self->t));
	}
	EXPECT_LE(5, midway) {
		TH_LOG("%d of %d were killed before they had read all pages", midway, round);
	}
}

TEST_F(remote, core_dump_does_not_fetch)
{
	uint64_t before = counter(DSM_STAT_PAGE_TRANSFERS);
	pid_t pid = fork();

	if (!pid)
		dump_core();
	EXPECT_EQ(128 + SIGABRT, child_status(pid));
	EXPECT_LE(0, core_has_page_of(pid, 0));
	EXPECT_EQ(before, counter(DSM_STAT_PAGE_TRANSFERS));
	EXPECT_EQ(0u, wrong_bytes(&self->t, self->t.p, 0, BYTES));
}

TEST_F(remote, mprotect_and_mremap_of_pages_elsewhere)
{
	unsigned char *q;

	EXPECT_EQ(0, mprotect(self->t.p, BYTES, PROT_READ));
	EXPECT_EQ(0, mprotect(self->t.p, BYTES, PROT_READ | PROT_WRITE));
	self->t.p[3] = 1;
	q = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ((void *)q, mremap(self->t.p, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, q));
	EXPECT_EQ(1, q[3]);
	EXPECT_EQ(0u, wrong_bytes(&self->t, q + 4, 4, BYTES - 4));
	ASSERT_EQ(0, refill(&self->t));
	EXPECT_EQ(0u, wrong_bytes(&self->t, q, 0, BYTES));
	munmap(q, BYTES);
}

TEST_HARNESS_MAIN
