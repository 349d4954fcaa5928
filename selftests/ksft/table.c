// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* The lock table: what may be mapped, taking locks in it, owners that end, and processes that write nonsense. */
#include <pthread.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "harness.h"
#include "ksft.h"
#include "../../userspace/lib/fast.h"

#define KEY 77
#define TABLE DSM_LOCK_TABLE_BYTES

FIXTURE(table) {
	struct region r;
	struct dsm_lock_slot *t;
	uint64_t me;
	volatile int *shared;
};

FIXTURE_SETUP(table)
{
	ASSERT_EQ(0, make_region(&self->r, 16 * PAGE));
	self->shared = shared_bytes(PAGE);
}

FIXTURE_TEARDOWN_PARENT(table)
{
	EXPECT_EQ(0, end_region(&self->r));
}

static int owner(int fd)
{
	struct dsm_ioc_lock_table a = { .size = sizeof(a) };

	return ioctl(fd, DSM_IOC_LOCK_TABLE, &a) ? -errno : (int)a.owner;
}

static uint64_t word_of(int fd)
{
	return dsm_fast_word(owner(fd), syscall(SYS_gettid));
}

static void *map_table(int fd, size_t bytes, uint64_t from, int prot, int flags)
{
	return mmap(NULL, bytes, prot, flags, fd, DSM_LOCK_TABLE_OFFSET + from);
}

/* The ioctl, the mapping, and the caller's word. */
#define OPEN_TABLE() do {									\
	ASSERT_GT(owner(self->r.fd), 0);							\
	self->t = map_table(self->r.fd, TABLE, 0, PROT_READ | PROT_WRITE, MAP_SHARED);		\
	ASSERT_NE(MAP_FAILED, (void *)self->t);							\
	self->me = word_of(self->r.fd);								\
} while (0)

static int call(int fd, unsigned long cmd, uint64_t key, uint32_t flags)
{
	struct dsm_ioc_lock a = { .size = sizeof(a), .key = key, .flags = flags };

	return ioctl(fd, cmd, &a) ? -errno : 0;
}

static int lock(int fd, uint64_t key)
{
	return call(fd, DSM_IOC_LOCK, key, 0);
}

static int try(int fd, uint64_t key)
{
	return call(fd, DSM_IOC_LOCK, key, DSM_LOCK_TRY);
}

static int unlock(int fd, uint64_t key)
{
	return call(fd, DSM_IOC_UNLOCK, key, 0);
}

static int consistent(int fd, uint64_t key)
{
	return call(fd, DSM_IOC_LOCK_CONSISTENT, key, 0);
}

/* Once by calls: then it is in its slot. */
#define OFFER(key) do {									\
	ASSERT_EQ(0, lock(self->r.fd, key));						\
	ASSERT_EQ(0, unlock(self->r.fd, key));						\
} while (0)

TEST_F(table, mapping_rules)
{
	const int both = PROT_READ | PROT_WRITE;
	struct dsm_lock_slot *part;
	void *p;
	int fd;

	EXPECT_EQ(MAP_FAILED, map_table(self->r.fd, TABLE, 0, both, MAP_SHARED));
	EXPECT_EQ(ENXIO, errno);
	OPEN_TABLE();
	EXPECT_EQ(MAP_FAILED, map_table(self->r.fd, TABLE, 0, both, MAP_PRIVATE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, map_table(self->r.fd, TABLE, 0, both | PROT_EXEC, MAP_SHARED));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, map_table(self->r.fd, TABLE + 1, 0, both, MAP_SHARED));
	EXPECT_EQ(ENXIO, errno);
	EXPECT_EQ(MAP_FAILED, map_table(self->r.fd, PAGE, TABLE, both, MAP_SHARED));
	EXPECT_EQ(ENXIO, errno);
	EXPECT_EQ(MAP_FAILED, map_table(self->r.fd, PAGE, 1ull << 40, both, MAP_SHARED));
	EXPECT_EQ(ENXIO, errno);
	EXPECT_ERRNO(EACCES, mprotect(self->t, TABLE, both | PROT_EXEC));
	EXPECT_ERRNO(EFAULT, (long)mremap(self->t, TABLE, TABLE + PAGE, MREMAP_MAYMOVE));
	/* All mappings show the same bytes, also after the entries were dropped and as part of the table. */
	part = map_table(self->r.fd, PAGE, PAGE, both, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, (void *)part);
	part[3].reserved = 5;
	EXPECT_EQ(5u, self->t[PAGE / sizeof(*part) + 3].reserved);
	EXPECT_EQ(0, madvise(self->t, TABLE, MADV_DONTNEED));
	EXPECT_EQ(5u, self->t[PAGE / sizeof(*part) + 3].reserved);
	EXPECT_EQ(0, munmap(part, PAGE));
	/* The region itself is as before. */
	p = map_region(&self->r, 16, 0, both);
	ASSERT_NE(MAP_FAILED, p);
	*(volatile int *)p = 1;
	EXPECT_EQ(0, fsync(self->r.fd));
	fd = open(self->r.path, O_RDONLY);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EACCES, owner(fd));
	EXPECT_EQ(MAP_FAILED, map_table(fd, TABLE, 0, PROT_READ, MAP_SHARED));
	EXPECT_EQ(EACCES, errno);
	close(fd);
}

TEST_F(table, owner_is_the_same_until_the_process_or_the_file_changes)
{
	int fd = open(self->r.path, O_RDWR), mine = owner(self->r.fd);
	pid_t pid;

	EXPECT_GT(mine, 0);
	EXPECT_EQ(mine, owner(self->r.fd));
	EXPECT_NE(mine, owner(fd));
	pid = fork();
	if (!pid)
		_exit(owner(self->r.fd) == mine);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(mine, owner(self->r.fd));
	close(fd);
}

TEST_F(table, more_processes_than_numbers)
{
	const struct rlimit files = { 2048, 2048 };
	int fds[1100], i, n = 0;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	for (i = 0; i < 1100; i++) {
		fds[i] = open(self->r.path, O_RDWR);
		ASSERT_GE(fds[i], 0);
		if (owner(fds[i]) == -ENOSPC)
			n++;
	}
	EXPECT_EQ(1100 - 1023, n);
	for (i = 0; i < 1100; i++)
		close(fds[i]);
	EXPECT_GT(owner(self->r.fd), 0);
}

/* SECCOMP_MODE_STRICT kills at the first system call but read, write and exit. */
TEST_F(table, taking_and_giving_back_makes_no_system_call)
{
	uint64_t local, remote;
	int i, status;
	pid_t pid;

	OPEN_TABLE();
	OFFER(KEY);
	local = counter(DSM_STAT_LOCKS_LOCAL);
	remote = counter(DSM_STAT_LOCKS_REMOTE);
	pid = fork();
	if (!pid) {
		self->me = word_of(self->r.fd);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(3);
		for (i = 0; i < 10000; i++) {
			if (dsm_fast_take(self->t, KEY, self->me) != DSM_FAST_DONE)
				syscall(SYS_exit, 1);
			if (!dsm_fast_give(self->t, KEY, self->me))
				syscall(SYS_exit, 2);
		}
		syscall(SYS_exit, 0);
	}
	status = child_status(pid);
	/* Ours for debugging is one; Debian's are not. */
	if (status == 3 && prctl(PR_GET_SECCOMP) && errno == EINVAL)
		SKIP(return, "a kernel without seccomp");
	EXPECT_EQ(0, status);
	EXPECT_LE(local + 10000, counter(DSM_STAT_LOCKS_LOCAL));
	EXPECT_EQ(remote, counter(DSM_STAT_LOCKS_REMOTE));
	/* The counts survive the slot. */
	EXPECT_EQ(0, lock(self->r.fd, KEY));
	EXPECT_LE(local + 10001, counter(DSM_STAT_LOCKS_LOCAL));
}

TEST_F(table, calls_find_who_took_it_in_the_slot)
{
	pid_t pid;

	OPEN_TABLE();
	OFFER(KEY);
	ASSERT_EQ(DSM_FAST_DONE, dsm_fast_take(self->t, KEY, self->me));
	EXPECT_EQ(-EDEADLK, lock(self->r.fd, KEY));
	EXPECT_EQ(-EDEADLK, try(self->r.fd, KEY));
	pid = fork();
	if (!pid)
		_exit(-try(self->r.fd, KEY));
	EXPECT_EQ(EBUSY, child_status(pid));
	pid = fork();
	if (!pid)
		_exit(-unlock(self->r.fd, KEY));
	EXPECT_EQ(EPERM, child_status(pid));
	pid = fork();
	if (!pid)
		_exit(-lock(self->r.fd, KEY));
	ASSERT_TRUE(wait_asleep(pid));
	EXPECT_FALSE(dsm_fast_give(self->t, KEY, self->me));
	EXPECT_EQ(0, unlock(self->r.fd, KEY));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, KEY));
	EXPECT_EQ(0, consistent(self->r.fd, KEY));
	EXPECT_EQ(0, unlock(self->r.fd, KEY));
	EXPECT_EQ(DSM_FAST_DONE, dsm_fast_take(self->t, KEY, self->me));
	EXPECT_TRUE(dsm_fast_give(self->t, KEY, self->me));
}

TEST_F(table, next_taker_learns_that_the_holder_was_killed)
{
	pid_t pid;

	OPEN_TABLE();
	OFFER(KEY);
	pid = fork();
	if (!pid) {
		if (dsm_fast_take(self->t, KEY, word_of(self->r.fd)) != DSM_FAST_DONE)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	EXPECT_EQ(128 + SIGKILL, child_status(pid));
	EXPECT_EQ(DSM_FAST_ASK, dsm_fast_take(self->t, KEY, self->me));
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, KEY));
	/* Not repaired: never in a slot. */
	EXPECT_EQ(0, unlock(self->r.fd, KEY));
	EXPECT_EQ(DSM_FAST_ASK, dsm_fast_take(self->t, KEY, self->me));
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, KEY));
	EXPECT_EQ(0, consistent(self->r.fd, KEY));
	EXPECT_EQ(0, unlock(self->r.fd, KEY));
}

TEST_F(table, a_file_that_is_closed_gives_up_what_was_taken_through_it)
{
	struct dsm_lock_slot *t;
	int fd;

	OPEN_TABLE();
	OFFER(KEY);
	OFFER(KEY + 1);
	fd = open(self->r.path, O_RDWR);
	ASSERT_GE(fd, 0);
	t = map_table(fd, TABLE, 0, PROT_READ | PROT_WRITE, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, (void *)t);
	EXPECT_EQ(DSM_FAST_DONE, dsm_fast_take(t, KEY, word_of(fd)));
	EXPECT_EQ(DSM_FAST_DONE, dsm_fast_take(self->t, KEY + 1, self->me));
	/* One process, two files: two owners. */
	EXPECT_EQ(-EBUSY, try(self->r.fd, KEY));
	EXPECT_EQ(-EPERM, unlock(self->r.fd, KEY));
	munmap(t, TABLE);
	close(fd);
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, KEY));
	EXPECT_EQ(-EDEADLK, try(self->r.fd, KEY + 1));
}

/* The lock comes when the exec is done; the new program lives until the pipe is closed. */
#define RUNS_ON_WITHOUT_ITS_LOCK(pid, pipes) do {			\
	close((pipes)[0]);						\
	ASSERT_TRUE(wait_word(self->shared, 1));			\
	EXPECT_EQ(-EOWNERDEAD, lock(self->r.fd, KEY));			\
	EXPECT_EQ(0, kill(pid, 0));					\
	close((pipes)[1]);						\
	EXPECT_EQ(7, child_status(pid));				\
} while (0)

TEST_F(table, exec_gives_up_what_the_program_held)
{
	int pipes[2];
	pid_t pid;

	OPEN_TABLE();
	OFFER(KEY);
	ASSERT_EQ(0, pipe(pipes));
	pid = fork();
	if (!pid) {
		int fd = open(self->r.path, O_RDWR | O_CLOEXEC);
		struct dsm_lock_slot *t;

		close(self->r.fd);
		close(pipes[1]);
		dup2(pipes[0], 0);
		if (owner(fd) < 0)
			_exit(1);
		t = map_table(fd, TABLE, 0, PROT_READ | PROT_WRITE, MAP_SHARED);
		if (t == MAP_FAILED || dsm_fast_take(t, KEY, word_of(fd)) != DSM_FAST_DONE)
			_exit(2);
		*self->shared = 1;
		execl("/bin/sh", "sh", "-c", "read line; exit 7", NULL);
		_exit(3);
	}
	RUNS_ON_WITHOUT_ITS_LOCK(pid, pipes);
}

/* The file stays open: no last close tells of it. */
TEST_F(table, exec_gives_up_what_it_held_though_a_child_has_the_file)
{
	int pipes[2];
	pid_t pid;

	OPEN_TABLE();
	ASSERT_EQ(0, pipe(pipes));
	pid = fork();
	if (!pid) {
		int fd = open(self->r.path, O_RDWR | O_CLOEXEC);
		char c;

		close(self->r.fd);
		close(pipes[1]);
		if (fd < 0 || lock(fd, KEY))
			_exit(1);
		if (!fork()) {
			(void)!read(pipes[0], &c, 1);
			_exit(fcntl(fd, F_GETFD) < 0);
		}
		dup2(pipes[0], 0);
		*self->shared = 1;
		execl("/bin/sh", "sh", "-c", "read line; exit 7", NULL);
		_exit(3);
	}
	RUNS_ON_WITHOUT_ITS_LOCK(pid, pipes);
}

/* ---- nonsense ---- */

struct scribbler {
	struct dsm_lock_slot *t;
	volatile int stop;
	unsigned int seed;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	unsigned int i;

	for (i = 0; !s->stop; i++) {
		struct dsm_lock_slot *slot = &s->t[DSM_LOCK_SET(KEY + i % 8) * DSM_LOCK_WAYS + i / 8 % DSM_LOCK_WAYS];
		uint64_t old = slot->word, noise = (uint64_t)rand_r(&s->seed) << 32 ^ rand_r(&s->seed);

		switch (noise % 4) {
		case 0:
			slot->word = noise * 0x9e3779b97f4a7c15ull;
			break;
		case 1:
			slot->word = (old & DSM_LOCK_GEN_MASK) | (noise & ~DSM_LOCK_GEN_MASK);
			break;
		case 2:
			slot->key = noise;
			break;
		default:
			slot->uses = ~noise;
		}
	}
	return NULL;
}

TEST_F(table, nonsense_in_the_table_hurts_nobody_but_its_locks)
{
	struct scribbler s = { .seed = 1 };
	unsigned int told = 0;
	pthread_t thread;
	pid_t pid;
	int i, ret;

	OPEN_TABLE();
	s.t = self->t;
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &s));
	for (i = 0; i < 3000; i++) {
		ret = try(self->r.fd, KEY + i % 8);
		ASSERT_TRUE(!ret || ret == -EOWNERDEAD || ret == -EBUSY || ret == -EDEADLK) {
			TH_LOG("try gives %d", ret);
		}
		told += ret == -EOWNERDEAD;
		if (ret == -EOWNERDEAD)
			EXPECT_EQ(0, consistent(self->r.fd, KEY + i % 8));
		ret = unlock(self->r.fd, KEY + i % 8);
		ASSERT_TRUE(!ret || ret == -EPERM);
	}
	s.stop = 1;
	pthread_join(thread, NULL);
	TH_LOG("%u times told that the holder died", told);
	/* A lock that was not touched, and one that was, work for others. */
	pid = fork();
	if (!pid)
		_exit(lock(self->r.fd, KEY + 9) || unlock(self->r.fd, KEY + 9));
	EXPECT_EQ(0, child_status(pid));
	pid = fork();
	if (!pid) {
		ret = lock(self->r.fd, KEY);
		if (ret == -EOWNERDEAD)
			ret = consistent(self->r.fd, KEY);
		_exit(ret || unlock(self->r.fd, KEY));
	}
	EXPECT_EQ(0, child_status(pid));
}

/* ---- load ---- */

#define PROCESSES 2
#define THREADS 4
#define ROUNDS 400
#define KEYS 12

struct load {
	struct region *r;
	struct dsm_lock_slot *t;
	volatile uint64_t *count;
	int first, wrong;
};

static void *add(void *arg)
{
	struct load *l = arg;
	uint64_t me = word_of(l->r->fd);
	int i;

	for (i = 0; i < ROUNDS; i++) {
		int k = (l->first + i) % KEYS;

		if (dsm_fast_take(l->t, k, me) != DSM_FAST_DONE && lock(l->r->fd, k))
			l->wrong++;
		l->count[k * 8]++;
		if (!dsm_fast_give(l->t, k, me) && unlock(l->r->fd, k))
			l->wrong++;
	}
	return NULL;
}

static int run_load(struct region *r, struct dsm_lock_slot *t, volatile uint64_t *count)
{
	struct load loads[THREADS];
	pthread_t threads[THREADS];
	int i, wrong = 0;

	for (i = 0; i < THREADS; i++) {
		loads[i] = (struct load){ .r = r, .t = t, .count = count, .first = i };
		pthread_create(&threads[i], NULL, add, &loads[i]);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		wrong += loads[i].wrong;
	}
	return wrong;
}

TEST_F(table, threads_and_processes_exclude_each_other)
{
	volatile uint64_t *count = (uint64_t *)map_region(&self->r, 16, 0, PROT_READ | PROT_WRITE);
	uint64_t sum = 0;
	pid_t pids[PROCESSES];
	int i;

	OPEN_TABLE();
	for (i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(run_load(&self->r, self->t, count) != 0);
	}
	for (i = 0; i < PROCESSES; i++)
		EXPECT_EQ(0, child_status(pids[i]));
	for (i = 0; i < KEYS; i++)
		sum += count[i * 8];
	EXPECT_EQ((uint64_t)PROCESSES * THREADS * ROUNDS, sum);
}

TEST_HARNESS_MAIN
