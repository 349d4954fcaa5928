// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * actor REGION: does what it is told on standard input, so that a driver can play a scene on several nodes.
 *
 * A line is "THREAD NUMBER COMMAND ARGUMENTS"; each THREAD is a thread of this process that executes its lines in order,
 * and "THREAD" alone interrupts it with a signal. It answers "> NUMBER TID" when it begins, TID the kernel's number of
 * that thread, and "< NUMBER RESULT VALUE MS" when it is done: RESULT is 0 or a negative errno, -7 (SIGBUS's number) for
 * an access that ended with SIGBUS, whose VALUE is where the signal says it was. "! NUMBER TEXT" before is what the
 * library said of a call that failed. Never decides anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "ring.h"

#define THREADS 16
#define LINE_BYTES 160
#define QUEUE 64

struct thread {
	pthread_t id;
	bool running;
	char line[QUEUE][LINE_BYTES];
	unsigned int head, tail;
	pthread_cond_t more;
};

static struct dsm *d;
static struct thread threads[THREADS];
static pthread_mutex_t queues = PTHREAD_MUTEX_INITIALIZER;
static __thread sigjmp_buf rescue;
static __thread volatile sig_atomic_t may_fault;
static __thread uintptr_t fault_at;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	fault_at = (uintptr_t)info->si_addr;
	if (may_fault)
		siglongjmp(rescue, 1);
	fail("SIGBUS where none was expected");
}

static void on_sigusr(int number)
{
	(void)number;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct timespec in_ms(uint64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	t.tv_sec += (time_t)(ms / 1000) + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static int access_word(uint64_t offset, bool store, uint64_t *value)
{
	volatile uint64_t *word = (volatile uint64_t *)((char *)dsm_base(d) + offset);

	if (offset > dsm_size(d) - 8)
		return -EINVAL;
	if (sigsetjmp(rescue, 1)) {
		may_fault = 0;
		*value = fault_at - (uintptr_t)dsm_base(d);
		return -SIGBUS;
	}
	may_fault = 1;
	if (store)
		*word = *value;
	else
		*value = *word;
	may_fault = 0;
	return 0;
}

/* First word that is another than @want in @count words, @step bytes apart: in *value its place. */
static int access_many(const char *what, uint64_t offset, uint64_t count, uint64_t step, uint64_t value, uint64_t *out)
{
	uint64_t i;
	int ret;

	for (i = 0; i < count; i++) {
		uint64_t v = value + i;

		ret = access_word(offset + i * step, !strcmp(what, "fill"), &v);
		*out = i;
		if (ret)
			return ret;
		if (v != value + i)
			return -EBADMSG;
	}
	return 0;
}

static int clear_flags(uint64_t first, uint64_t count)
{
	int ret = 0;

	while (count-- && !ret)
		ret = dsm_flag_clear(d, first++);
	return ret;
}

/* @count keys, @step apart, one after the other; *@key: the last one. */
static int lock_each(uint64_t first, uint64_t count, uint64_t step, uint64_t *key)
{
	uint64_t i;
	int ret = 0;

	for (i = 0; i < count && !ret; i++) {
		*key = first + i * step;
		ret = dsm_lock(d, *key);
		if (!ret)
			ret = dsm_unlock(d, *key);
	}
	return ret;
}

static int many_barriers(uint64_t key, unsigned int parties, uint64_t count)
{
	int ret = 0;

	while (count-- && !ret)
		ret = dsm_barrier(d, key, parties);
	return ret;
}

/* O_DIRECT: a device writes the first @bytes bytes of the disk to @offset. */
static int from_disk(uint64_t offset, uint64_t bytes)
{
	int fd = open("/dev/vda", O_RDONLY | O_DIRECT);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = pread(fd, (char *)dsm_base(d) + offset, bytes, 0);
	got = got < 0 ? -errno : (size_t)got == bytes ? 0 : -EIO;
	close(fd);
	return (int)got;
}

/* A system call that takes @bytes bytes at @offset to a file, or from one; or reads or writes them as the device's. */
static int system_call(const char *what, uint64_t offset, uint64_t bytes)
{
	char *at = (char *)dsm_base(d) + offset, own[64] = "";
	int fd = memfd_create("actor", 0);
	ssize_t done = -1;

	CHECK(bytes <= sizeof(own), "%lu bytes", bytes);
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return -errno;
	if (!strcmp(what, "call_write"))
		done = write(fd, at, bytes);
	else if (!strcmp(what, "call_read"))
		done = read(fd, at, bytes);
	else if (!strcmp(what, "call_pread"))
		done = pread(dsm_fd(d), own, bytes, (off_t)offset);
	else if (!strcmp(what, "call_pwrite"))
		done = pwrite(dsm_fd(d), own, bytes, (off_t)offset);
	else
		fail("no command %s", what);
	done = done < 0 ? -errno : (size_t)done == bytes ? 0 : -EIO;
	close(fd);
	return (int)done;
}

/* The same words, a power of two of them, each once and in no order that could be foreseen. */
static int scatter(uint64_t offset, uint64_t count, uint64_t step, uint64_t value, uint64_t *out)
{
	uint64_t i, at = 0, word;
	int ret;

	for (i = 0; i < count; i++) {
		at = (at * 1664525 + 1013904223) % count;
		*out = at;
		ret = access_word(offset + at * step, false, &word);
		if (ret)
			return ret;
		if (word != value + at)
			return -EBADMSG;
	}
	return 0;
}

/* Condition variables and semaphores at offset @a. */
static int execute_wait(const char *what, uint64_t a, uint64_t b)
{
	struct dsm_cond *cond = (struct dsm_cond *)((char *)dsm_base(d) + a);
	struct dsm_sem *sem = (struct dsm_sem *)cond;

	if (!strcmp(what, "cond_init"))
		return dsm_cond_init(d, cond);
	if (!strcmp(what, "cond_wait"))
		return dsm_cond_wait(d, cond, b);
	if (!strcmp(what, "cond_signal"))
		return dsm_cond_signal(d, cond);
	if (!strcmp(what, "cond_broadcast"))
		return dsm_cond_broadcast(d, cond);
	if (!strcmp(what, "sem_init"))
		return dsm_sem_init(d, sem, b);
	if (!strcmp(what, "sem_wait"))
		return dsm_sem_wait(d, sem);
	if (!strcmp(what, "sem_trywait"))
		return dsm_sem_trywait(d, sem);
	if (!strcmp(what, "sem_post"))
		return dsm_sem_post(d, sem);
	/* As a signal handler finds it that comes in the middle of another call. */
	if (!strcmp(what, "sem_post_inside")) {
		int ret = dsm_lock(d, (uintptr_t)sem);

		if (!ret) {
			ret = dsm_sem_post(d, sem);
			dsm_unlock(d, (uintptr_t)sem);
		}
		return ret;
	}
	fail("no command %s", what);
}

/* Waits for the next command of the ring that ends: its result, and in *@number which of those begun it is, from 1 on. */
static int ring_next(uint64_t *number)
{
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe(&ring, &cqe);

	CHECK(!ret, "wait: %s", strerror(-ret));
	ret = cqe->res;
	*number = cqe->user_data;
	io_uring_cqe_seen(&ring, cqe);
	return ret;
}

/* The process has a ring, which one of its threads uses: commands are begun, and awaited one by one. */
static int execute_ring(const char *what, uint64_t a, uint64_t b, uint64_t *value)
{
	static uint64_t begun;
	struct timespec t = in_ms(b);
	struct io_uring_sqe *sqe;

	if (!strcmp(what, "ring_next"))
		return ring_next(value);
	if (!strcmp(what, "ring_exit")) {
		io_uring_queue_exit(&ring);
		return 0;
	}
	CHECK(begun || !io_uring_queue_init(16, &ring, 0), "no ring");
	sqe = entry();
	if (!strcmp(what, "ring_lock"))
		dsm_prep_lock(sqe, d, a);
	else if (!strcmp(what, "ring_timedlock"))
		dsm_prep_timedlock(sqe, d, a, (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec);
	else if (!strcmp(what, "ring_barrier"))
		dsm_prep_barrier(sqe, d, a, (unsigned int)b);
	else if (!strcmp(what, "ring_await"))
		dsm_prep_flag_wait(sqe, d, a);
	else if (!strcmp(what, "ring_release"))
		dsm_prep_release(sqe, d);
	else
		fail("no command %s", what);
	submit(sqe, ++begun);
	return 0;
}

static int execute(const char *what, uint64_t a, uint64_t b, uint64_t c, uint64_t e, uint64_t *value)
{
	struct timespec until;

	if (!strcmp(what, "lock"))
		return dsm_lock(d, a);
	if (!strcmp(what, "trylock"))
		return dsm_trylock(d, a);
	if (!strcmp(what, "timedlock")) {
		until = in_ms(b);
		return dsm_timedlock(d, a, &until);
	}
	if (!strcmp(what, "unlock"))
		return dsm_unlock(d, a);
	if (!strcmp(what, "lock_each"))
		return lock_each(a, b, c, value);
	if (!strcmp(what, "consistent"))
		return dsm_lock_consistent(d, a);
	if (!strcmp(what, "barrier"))
		return dsm_barrier(d, a, (unsigned int)b);
	if (!strcmp(what, "barriers"))
		return many_barriers(a, (unsigned int)b, c);
	if (!strcmp(what, "set"))
		return dsm_flag_set(d, a);
	if (!strcmp(what, "await"))
		return dsm_flag_wait(d, a);
	if (!strcmp(what, "clear"))
		return dsm_flag_clear(d, a);
	if (!strcmp(what, "clear_many"))
		return clear_flags(a, b);
	if (!strcmp(what, "acquire"))
		return dsm_acquire(d);
	if (!strcmp(what, "release"))
		return dsm_release(d);
	if (!strcmp(what, "read"))
		return access_word(a, false, value);
	if (!strcmp(what, "prefetch"))
		return dsm_prefetch(d, (char *)dsm_base(d) + a, b);
	if (!strcmp(what, "prefetch_rows"))
		return dsm_prefetch_rows(d, (char *)dsm_base(d) + a, b, c, e);
	if (!strcmp(what, "willneed"))
		return madvise((char *)dsm_base(d) + a, b, MADV_WILLNEED) ? -errno : 0;
	if (!strcmp(what, "from_disk"))
		return from_disk(a, b);
	/* Its threads may be within a call that has begun, and begin no other one. */
	if (!strcmp(what, "close"))
		return dsm_close(d);
	if (!strcmp(what, "scatter"))
		return scatter(a, b, c, e, value);
	if (!strncmp(what, "call_", 5))
		return system_call(what, a, b);
	if (!strncmp(what, "ring_", 5))
		return execute_ring(what, a, b, value);
	if (!strncmp(what, "cond_", 5) || !strncmp(what, "sem_", 4))
		return execute_wait(what, a, b);
	*value = b;
	if (!strcmp(what, "write"))
		return access_word(a, true, value);
	if (!strcmp(what, "fill") || !strcmp(what, "verify"))
		return access_many(what, a, b, c, e, value);
	if (!strcmp(what, "nodes")) {
		*value = (uint64_t)dsm_nodes(d);
		return 0;
	}
	fail("no command %s", what);
}

static void perform(const char *line)
{
	char what[32] = "";
	unsigned long a = 0, b = 0, c = 0, e = 0;
	unsigned int number;
	uint64_t value = 0, start = now_ms();
	int ret;

	CHECK(sscanf(line, "%u %31s %lu %lu %lu %lu", &number, what, &a, &b, &c, &e) >= 2, "line %s", line);
	printf("> %u %d\n", number, (int)gettid());
	ret = execute(what, a, b, c, e, &value);
	if (ret < 0 && ret != -SIGBUS)
		printf("! %u %s\n", number, dsm_error());
	printf("< %u %d %lu %lu\n", number, ret, value, now_ms() - start);
}

static void *serve(void *arg)
{
	struct thread *t = arg;
	char line[LINE_BYTES];

	for (;;) {
		pthread_mutex_lock(&queues);
		while (t->head == t->tail)
			pthread_cond_wait(&t->more, &queues);
		strcpy(line, t->line[t->head++ % QUEUE]);
		pthread_mutex_unlock(&queues);
		perform(line);
	}
	return NULL;
}

static void hand_over(unsigned int number, const char *line)
{
	struct thread *t = &threads[number];

	if (!t->running) {
		pthread_cond_init(&t->more, NULL);
		t->running = true;
		CHECK(!pthread_create(&t->id, NULL, serve, t), "no thread");
	}
	pthread_mutex_lock(&queues);
	CHECK(t->tail - t->head < QUEUE, "too many lines");
	snprintf(t->line[t->tail++ % QUEUE], LINE_BYTES, "%s", line);
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&queues);
}

int main(int argc, char **argv)
{
	const struct sigaction bus = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };
	const struct sigaction usr = { .sa_handler = on_sigusr };
	char line[LINE_BYTES];

	CHECK(argc == 2, "usage: actor REGION");
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGBUS, &bus, NULL);
	sigaction(SIGUSR1, &usr, NULL);
	d = open_region(strcmp(argv[1], "-") ? argv[1] : NULL);
	printf("ready %d\n", dsm_node(d));
	while (fgets(line, sizeof(line), stdin)) {
		unsigned int number;
		int used;

		CHECK(sscanf(line, "%u %n", &number, &used) == 1 && number < THREADS, "line %s", line);
		/* A line without a command: a signal to the thread, whatever it waits for. */
		if (!line[used])
			pthread_kill(threads[number].id, SIGUSR1);
		else
			hand_over(number, line + used);
	}
	/* The end of the input: leave like a program that ends, with all open. */
	return 0;
}
