// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* Page faults of many threads and processes at once, with releases and acquires between. */
#include <pthread.h>
#include <setjmp.h>
#include "harness.h"
#include "ksft.h"

#define PAGES 64
#define THREADS 8

FIXTURE(fault) {
	struct region r;
	char *p;
};

FIXTURE_SETUP(fault)
{
	ASSERT_EQ(0, make_region(&self->r, PAGES * PAGE));
	self->p = map_region(&self->r, PAGES, 0, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->p);
}

FIXTURE_TEARDOWN_PARENT(fault)
{
	EXPECT_EQ(0, end_region(&self->r));
}

struct job {
	volatile unsigned char *p;
	pthread_t thread;
	pthread_barrier_t *start;
	int me, of;
	int fd;
	unsigned int rounds;
	int wrong;
};

/* Runs @body in @n threads; their sum of wrong bytes. */
static int run_threads(struct job *jobs, int n, void *(*body)(void *))
{
	pthread_barrier_t start;
	int i, wrong = 0;

	pthread_barrier_init(&start, NULL, n);
	for (i = 0; i < n; i++) {
		jobs[i].start = &start;
		if (pthread_create(&jobs[i].thread, NULL, body, &jobs[i]))
			return -1;
	}
	for (i = 0; i < n; i++) {
		pthread_join(jobs[i].thread, NULL);
		wrong += jobs[i].wrong;
	}
	pthread_barrier_destroy(&start);
	return wrong;
}

/* Each thread owns every @of-th byte; writes and checks it. */
static void *own_bytes(void *arg)
{
	struct job *j = arg;
	unsigned int r;
	size_t i;

	pthread_barrier_wait(j->start);
	for (r = 1; r <= j->rounds; r++) {
		for (i = j->me; i < PAGES * PAGE; i += j->of)
			j->p[i] = r + j->me;
		for (i = j->me; i < PAGES * PAGE; i += j->of)
			j->wrong += j->p[i] != (unsigned char)(r + j->me);
	}
	return NULL;
}

/* All threads fault on the same page at the same time, page after page. */
static void *same_page(void *arg)
{
	struct job *j = arg;
	size_t page;

	for (page = 0; page < PAGES; page++) {
		pthread_barrier_wait(j->start);
		if (j->me & 1)
			j->p[page * PAGE + j->me] = j->me;
		else
			j->wrong += j->p[page * PAGE + 100] != 0;
		pthread_barrier_wait(j->start);
		j->wrong += j->p[page * PAGE + 1] != 1;
	}
	return NULL;
}

/* Stores each byte once; a store that a concurrent release loses stays lost. */
static void *write_once(void *arg)
{
	struct job *j = arg;
	size_t i;

	pthread_barrier_wait(j->start);
	for (i = j->me; i < PAGES * PAGE; i += j->of)
		j->p[i] = i * 7 + 1;
	return NULL;
}

static void *release_often(void *arg)
{
	struct job *j = arg;
	unsigned int r;

	pthread_barrier_wait(j->start);
	for (r = 0; r < j->rounds; r++) {
		j->wrong += region_call(j->fd, DSM_IOC_RELEASE) != 0;
		j->wrong += region_call(j->fd, DSM_IOC_ACQUIRE) != 0;
	}
	return NULL;
}

static void *write_or_release(void *arg)
{
	struct job *j = arg;

	return j->rounds ? release_often(arg) : write_once(arg);
}

static void *discard_and_check(void *arg)
{
	struct job *j = arg;
	unsigned int r;
	size_t page;

	pthread_barrier_wait(j->start);
	for (r = 1; r <= j->rounds; r++) {
		for (page = 0; page < PAGES; page++) {
			j->p[page * PAGE + j->me] = r;
			if ((page + j->me) % 5 == 0)
				madvise((char *)j->p + page * PAGE, PAGE, MADV_DONTNEED);
			j->wrong += j->p[page * PAGE + j->me] != (unsigned char)r;
		}
	}
	return NULL;
}

static void make_jobs(struct job *jobs, int n, volatile char *p, int fd, unsigned int rounds)
{
	int i;

	for (i = 0; i < n; i++) {
		jobs[i] = (struct job){
			.p = (volatile unsigned char *)p, .me = i, .of = n, .fd = fd, .rounds = rounds,
		};
	}
}

TEST_F(fault, threads_write_neighbouring_bytes)
{
	struct job jobs[THREADS];

	make_jobs(jobs, THREADS, self->p, self->r.fd, 3);
	EXPECT_EQ(0, run_threads(jobs, THREADS, own_bytes));
}

TEST_F(fault, threads_fault_on_the_same_page_at_once)
{
	struct job jobs[THREADS];

	make_jobs(jobs, THREADS, self->p, self->r.fd, 1);
	EXPECT_EQ(0, run_threads(jobs, THREADS, same_page));
}

TEST_F(fault, threads_that_drop_their_page_tables_lose_nothing)
{
	struct job jobs[THREADS];

	make_jobs(jobs, THREADS, self->p, self->r.fd, 10);
	EXPECT_EQ(0, run_threads(jobs, THREADS, discard_and_check));
}

TEST_F(fault, no_store_is_lost_to_a_concurrent_release)
{
	struct job jobs[THREADS];
	int round;
	size_t i;

	for (round = 0; round < 3; round++) {
		make_jobs(jobs, THREADS, self->p, self->r.fd, 0);
		jobs[THREADS - 1].rounds = 20;
		for (i = 0; i < THREADS - 1; i++)
			jobs[i].of = THREADS - 1;
		memset(self->p, 0, PAGES * PAGE);
		EXPECT_EQ(0, run_threads(jobs, THREADS, write_or_release));
		EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
		EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_ACQUIRE));
		for (i = 0; i < PAGES * PAGE; i++)
			ASSERT_EQ((unsigned char)(i * 7 + 1), (unsigned char)self->p[i]);
	}
}

/* Processes with mappings of their own, two threads in each. */
TEST_F(fault, processes_share_every_page)
{
	pid_t pids[4];
	int i;

	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			int fd = open(self->r.path, O_RDWR);
			char *q = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			struct job jobs[2];

			if (q == MAP_FAILED)
				_exit(1);
			make_jobs(jobs, 2, q, fd, 2);
			jobs[0].me = i * 2;
			jobs[1].me = i * 2 + 1;
			jobs[0].of = jobs[1].of = 8;
			_exit(run_threads(jobs, 2, own_bytes) ? 2 : 0);
		}
	}
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, child_status(pids[i]));
	for (i = 0; i < (int)(PAGES * PAGE); i++)
		ASSERT_EQ(2 + i % 8, self->p[i]);
}

TEST_F(fault, read_then_write_are_two_faults_and_write_is_one)
{
	uint64_t reads, writes;
	volatile char *p = self->p;

	reads = counter(DSM_STAT_READ_FAULTS);
	writes = counter(DSM_STAT_WRITE_FAULTS);
	(void)p[3 * PAGE];
	EXPECT_LE(reads + 1, counter(DSM_STAT_READ_FAULTS));
	EXPECT_EQ(writes, counter(DSM_STAT_WRITE_FAULTS));
	p[4 * PAGE] = 1;
	EXPECT_LE(writes + 1, counter(DSM_STAT_WRITE_FAULTS));
	writes = counter(DSM_STAT_WRITE_FAULTS);
	reads = counter(DSM_STAT_READ_FAULTS);
	p[4 * PAGE] = 2;
	(void)p[3 * PAGE];
	EXPECT_EQ(writes, counter(DSM_STAT_WRITE_FAULTS));
	EXPECT_EQ(reads, counter(DSM_STAT_READ_FAULTS));
	p[3 * PAGE] = 3;
	EXPECT_EQ(writes + 1, counter(DSM_STAT_WRITE_FAULTS));
}

TEST_F(fault, writes_of_an_ended_process_stay)
{
	pid_t pid = fork();

	if (!pid) {
		memset(self->p, 9, PAGES * PAGE);
		kill(getpid(), SIGKILL);
	}
	EXPECT_EQ(128 + SIGKILL, child_status(pid));
	EXPECT_EQ(9, self->p[0]);
	EXPECT_EQ(9, self->p[PAGES * PAGE - 1]);
}

/* Is there an entry in this process's page table? */
static bool is_mapped(const void *at)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;
	ssize_t got = pread(fd, &entry, sizeof(entry), (uintptr_t)at / PAGE * sizeof(entry));

	close(fd);
	return got == sizeof(entry) && entry >> 63;
}

TEST_F(fault, reading_maps_neighbours_that_are_here)
{
	char *q = map_region(&self->r, PAGES, 0, PROT_READ | PROT_WRITE);
	int i;

	ASSERT_NE(MAP_FAILED, q);
	memset(self->p, 1, 24 * PAGE);
	EXPECT_FALSE(is_mapped(q));
	EXPECT_EQ(1, *(volatile char *)(q + 2 * PAGE));
	EXPECT_FALSE(is_mapped(q + PAGE));
	for (i = 2; i < 18; i++)
		EXPECT_TRUE(is_mapped(q + i * PAGE));
	EXPECT_FALSE(is_mapped(q + 18 * PAGE));
	/* Over what is there already, and to the end of the mapping. */
	EXPECT_EQ(1, *(volatile char *)(q + 20 * PAGE));
	EXPECT_TRUE(is_mapped(q + 23 * PAGE));
	EXPECT_EQ(1, *(volatile char *)(q + PAGE));
	EXPECT_EQ(0, *(volatile char *)(q + (PAGES - 1) * PAGE));
	/* For reading only: the write is seen by the module, and a release takes it away again. */
	q[3 * PAGE] = 2;
	EXPECT_EQ(2, self->p[3 * PAGE]);
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	q[3 * PAGE] = 3;
	EXPECT_EQ(3, self->p[3 * PAGE]);
	EXPECT_EQ(0, munmap(q, PAGES * PAGE));
}

TEST_F(fault, readers_of_neighbours_beside_writers_and_releases)
{
	volatile int *reads = shared_bytes(PAGE);
	pid_t reader = fork();
	int i, k;

	if (!reader) {
		volatile char *q;
		char late, early;

		for (i = 0; i < 300; i++) {
			q = map_region(&self->r, PAGES, 0, PROT_READ);
			for (k = 0; k < PAGES; k++) {
				late = q[k * PAGE];
				early = q[k * PAGE + 8];
				if (late > early)
					_exit(1);
			}
			munmap((void *)q, PAGES * PAGE);
			*reads = 1;
		}
		_exit(0);
	}
	ASSERT_TRUE(wait_word(reads, 1));
	for (i = 0; i < 100; i++) {
		for (k = 0; k < PAGES; k++) {
			__atomic_store_n(self->p + k * PAGE + 8, i, __ATOMIC_RELEASE);
			__atomic_store_n(self->p + k * PAGE, i, __ATOMIC_RELEASE);
		}
		EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
		EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_ACQUIRE));
	}
	EXPECT_EQ(0, child_status(reader));
	for (k = 0; k < PAGES; k++)
		EXPECT_EQ(99, self->p[k * PAGE]);
}

TEST_F(fault, advice_changes_nothing_that_can_be_seen)
{
	static const int advice[] = { POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL, POSIX_FADV_WILLNEED,
				      POSIX_FADV_DONTNEED, POSIX_FADV_NOREUSE };
	unsigned int i;

	self->p[5 * PAGE] = 5;
	for (i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
		EXPECT_EQ(0, posix_fadvise(self->r.fd, 0, 0, advice[i]));
		EXPECT_EQ(0, posix_fadvise(self->r.fd, PAGE, 1ll << 62, advice[i]));
		EXPECT_EQ(0, posix_fadvise(self->r.fd, 1ll << 62, 5, advice[i]));
	}
	EXPECT_EQ(0, madvise(self->p, PAGES * PAGE, MADV_WILLNEED));
	EXPECT_EQ(5, self->p[5 * PAGE]);
	EXPECT_EQ(0, self->p[6 * PAGE]);
}

static sigjmp_buf back;
static volatile int bus_code;

static void on_bus(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	bus_code = info->si_code;
	siglongjmp(back, 1);
}

/* si_code of the SIGBUS that a load gets, else 0. */
static int load_code(volatile char *at)
{
	bus_code = 0;
	if (!sigsetjmp(back, 1))
		(void)*at;
	return bus_code;
}

/* Simulated: the bytes are there, but the kernel has the frame for bad. */
TEST_F(fault, memory_that_has_failed_is_told_and_harms_nobody_else)
{
	struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	char *bad = self->p + 8 * PAGE, byte;
	int pipes[2];

	ASSERT_EQ(0, sigaction(SIGBUS, &action, NULL));
	ASSERT_EQ(0, pipe(pipes));
	memset(self->p, 4, PAGES * PAGE);
	/* What the kernel makes of a page that is in no page cache is no promise of ours; the mark stays on the frame. */
	if (madvise(bad, PAGE, MADV_HWPOISON) && (errno == EINVAL || errno == EPERM))
		SKIP(return, "this kernel lets no memory fail");
	ASSERT_EQ(0, madvise(self->p, PAGES * PAGE, MADV_DONTNEED));
	EXPECT_EQ(BUS_MCEERR_AR, load_code(bad));
	EXPECT_EQ(BUS_MCEERR_AR, load_code(bad + PAGE - 1));
	EXPECT_ERRNO(EFAULT, write(pipes[1], bad, 1));
	EXPECT_ERRNO(EIO, pread(self->r.fd, &byte, 1, 8 * PAGE));
	EXPECT_ERRNO(EIO, pwrite(self->r.fd, &byte, 1, 8 * PAGE));
	/* Its neighbours, which a fault before it would map along, and a release. */
	EXPECT_EQ(0, load_code(bad - PAGE));
	EXPECT_EQ(0, load_code(bad + PAGE));
	EXPECT_EQ(BUS_MCEERR_AR, load_code(bad));
	bad[PAGE] = 5;
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_ACQUIRE));
	EXPECT_EQ(5, bad[PAGE]);
	EXPECT_EQ(4, bad[-1]);
	close(pipes[0]);
	close(pipes[1]);
}

/* Processes come and go while others fault. */
TEST_F(fault, mapping_and_unmapping_under_load)
{
	volatile int *stop = shared_bytes(PAGE);
	pid_t worker = fork();
	int i;

	if (!worker) {
		unsigned char v = 0;

		while (!*stop) {
			v++;
			for (i = 0; i < PAGES; i++)
				self->p[i * PAGE + 8] = v;
			for (i = 0; i < PAGES; i++)
				if ((unsigned char)self->p[i * PAGE + 8] != v)
					_exit(1);
			stop[1] = 1;
		}
		_exit(0);
	}
	ASSERT_TRUE(wait_word(stop + 1, 1));
	for (i = 0; i < 100; i++) {
		int fd = open(self->r.path, O_RDWR);
		char *q = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		ASSERT_NE(MAP_FAILED, q);
		close(fd);
		q[(i % PAGES) * PAGE] = i;
		EXPECT_EQ(i, q[(i % PAGES) * PAGE]);
		EXPECT_EQ(0, munmap(q, PAGES * PAGE));
	}
	*stop = 1;
	EXPECT_EQ(0, child_status(worker));
}

TEST_HARNESS_MAIN
