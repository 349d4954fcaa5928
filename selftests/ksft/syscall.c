// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * System calls with pointers into a region: file I/O, direct I/O, access from
 * other processes, futexes; signals, core dumps and ends of processes.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "harness.h"
#include "ksft.h"

#define PAGES 64
#define DISK "/dev/vda"

FIXTURE(syscall) {
	struct region r;
	char *p;
};

FIXTURE_SETUP(syscall)
{
	ASSERT_EQ(0, make_region(&self->r, PAGES * PAGE));
	self->p = map_region(&self->r, PAGES, 0, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->p);
}

FIXTURE_TEARDOWN_PARENT(syscall)
{
	EXPECT_EQ(0, end_region(&self->r));
}

/* A file of @bytes bytes with a pattern; its descriptor. */
static int pattern_file(size_t bytes)
{
	char path[] = "/tmp/ksft.XXXXXX";
	int fd = mkstemp(path);
	size_t i;
	char c;

	unlink(path);
	for (i = 0; i < bytes; i++) {
		c = i * 31 + i / 4096;
		if (write(fd, &c, 1) != 1)
			return -1;
	}
	return lseek(fd, 0, SEEK_SET) ? -1 : fd;
}

static size_t wrong_bytes(const char *p, size_t n)
{
	size_t i, wrong = 0;

	for (i = 0; i < n; i++)
		wrong += p[i] != (char)(i * 31 + i / 4096);
	return wrong;
}

TEST_F(syscall, file_is_read_into_untouched_pages)
{
	int fd = pattern_file(4 * PAGE);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(4 * (ssize_t)PAGE, read(fd, self->p + 8 * PAGE, 4 * PAGE));
	EXPECT_EQ(0u, wrong_bytes(self->p + 8 * PAGE, 4 * PAGE));
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	EXPECT_EQ(4 * (ssize_t)PAGE, pread(fd, self->p + 8 * PAGE, 4 * PAGE, 0));
	EXPECT_EQ(0u, wrong_bytes(self->p + 8 * PAGE, 4 * PAGE));
}

TEST_F(syscall, file_is_written_from_region_memory)
{
	int fd = pattern_file(0), other = pattern_file(3 * PAGE);
	char back[3 * 4096];

	ASSERT_EQ(3 * (ssize_t)PAGE, read(other, self->p, 3 * PAGE));
	EXPECT_EQ(3 * (ssize_t)PAGE, write(fd, self->p, 3 * PAGE));
	EXPECT_EQ(3 * (ssize_t)PAGE, pread(fd, back, 3 * PAGE, 0));
	EXPECT_EQ(0u, wrong_bytes(back, 3 * PAGE));
	/* Pages that nobody touched are zeros. */
	EXPECT_EQ((ssize_t)PAGE, pwrite(fd, self->p + 20 * PAGE, PAGE, 0));
	EXPECT_EQ((ssize_t)PAGE, pread(fd, back, PAGE, 0));
	EXPECT_EQ(0, back[0] | back[4095]);
}

TEST_F(syscall, pipe_carries_region_memory)
{
	int ends[2];

	ASSERT_EQ(0, pipe(ends));
	strcpy(self->p, "through a pipe");
	EXPECT_EQ(15, write(ends[1], self->p, 15));
	EXPECT_EQ(15, read(ends[0], self->p + 3 * PAGE - 5, 15));
	EXPECT_STREQ("through a pipe", self->p + 3 * PAGE - 5);
}

TEST_F(syscall, read_only_view_is_no_buffer_for_reading)
{
	int view = open(self->r.path, O_RDONLY), fd = pattern_file(PAGE);
	char *q = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, view, 0);

	ASSERT_NE(MAP_FAILED, q);
	EXPECT_ERRNO(EFAULT, read(fd, q, PAGE));
}

TEST_F(syscall, direct_io_reads_and_writes_region_memory)
{
	int fd = open(DISK, O_RDWR | O_DIRECT);
	int src = pattern_file(8 * PAGE);

	ASSERT_GE(fd, 0) {
		TH_LOG("%s: %s", DISK, strerror(errno));
	}
	ASSERT_EQ(8 * (ssize_t)PAGE, read(src, self->p, 8 * PAGE));
	EXPECT_EQ(8 * (ssize_t)PAGE, pwrite(fd, self->p, 8 * PAGE, 0));
	EXPECT_EQ(8 * (ssize_t)PAGE, pread(fd, self->p + 16 * PAGE, 8 * PAGE, 0));
	EXPECT_EQ(0u, wrong_bytes(self->p + 16 * PAGE, 8 * PAGE));
}

/* Home and remote pages: the device writes into frames while they are released and acquired. */
TEST_F(syscall, direct_io_crosses_releases)
{
	volatile int *stop = shared_bytes(PAGE);
	int fd = open(DISK, O_RDWR | O_DIRECT);
	int src = pattern_file(16 * PAGE), i;
	pid_t pid;

	ASSERT_GE(fd, 0) {
		TH_LOG("%s: %s", DISK, strerror(errno));
	}
	ASSERT_EQ(16 * (ssize_t)PAGE, read(src, self->p, 16 * PAGE));
	ASSERT_EQ(16 * (ssize_t)PAGE, pwrite(fd, self->p, 16 * PAGE, 0));
	pid = fork();
	if (!pid) {
		while (!*stop) {
			if (region_call(self->r.fd, DSM_IOC_RELEASE) ||
			    region_call(self->r.fd, DSM_IOC_ACQUIRE))
				_exit(1);
			stop[1] = 1;
		}
		_exit(0);
	}
	ASSERT_TRUE(wait_word(stop + 1, 1));
	for (i = 0; i < 50; i++) {
		char *at = self->p + 32 * PAGE;

		memset(at, i, 16 * PAGE);
		ASSERT_EQ(16 * (ssize_t)PAGE, pread(fd, at, 16 * PAGE, 0));
		ASSERT_EQ(0u, wrong_bytes(at, 16 * PAGE));
	}
	*stop = 1;
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	EXPECT_EQ(0u, wrong_bytes(self->p + 32 * PAGE, 16 * PAGE));
}

TEST_F(syscall, other_processes_read_and_write_through_process_vm)
{
	pid_t parent = getpid(), pid;

	strcpy(self->p, "hello");
	pid = fork();
	if (!pid) {
		char buf[8] = "world";
		struct iovec local = { buf, 6 }, remote = { self->p + 5 * PAGE, 6 };

		if (process_vm_writev(parent, &local, 1, &remote, 1, 0) != 6)
			_exit(1);
		remote.iov_base = self->p;
		if (process_vm_readv(parent, &local, 1, &remote, 1, 0) != 6)
			_exit(2);
		_exit(strcmp(buf, "hello") ? 3 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
	EXPECT_STREQ("world", self->p + 5 * PAGE);
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	EXPECT_STREQ("world", self->p + 5 * PAGE);
}

TEST_F(syscall, proc_mem_reads_and_writes_region_memory)
{
	int fd = open("/proc/self/mem", O_RDWR);
	char buf[8] = "";

	ASSERT_GE(fd, 0);
	EXPECT_EQ(5, pwrite(fd, "four", 5, (uintptr_t)self->p + 3 * PAGE));
	EXPECT_STREQ("four", self->p + 3 * PAGE);
	EXPECT_EQ(5, pread(fd, buf, 5, (uintptr_t)self->p + 3 * PAGE));
	EXPECT_STREQ("four", buf);
}

static long futex(uint32_t *word, int op, uint32_t val, const struct timespec *t)
{
	return syscall(SYS_futex, word, op, val, t, NULL, 0);
}

TEST_F(syscall, futex_works_between_processes_of_a_node)
{
	uint32_t *word = (uint32_t *)self->p;
	pid_t pid = fork();
	long woken = 0;

	if (!pid) {
		uint32_t *mine = (uint32_t *)map_region(&self->r, 1, 0, PROT_READ | PROT_WRITE);
		struct timespec t = { 20, 0 };

		_exit(futex(mine, FUTEX_WAIT, 0, &t) ? errno : 0);
	}
	while (!woken && waitpid(pid, NULL, WNOHANG) == 0)
		woken = futex(word, FUTEX_WAKE, 1, NULL);
	EXPECT_EQ(1, woken);
	EXPECT_EQ(0, child_status(pid));
	*word = 5;
	EXPECT_ERRNO(EAGAIN, futex(word, FUTEX_WAIT, 4, NULL));
}

static volatile int handled;

static void handler(int sig)
{
	handled++;
}

TEST_F(syscall, signals_between_faults_harm_nothing)
{
	struct sigaction sa = { .sa_handler = handler };
	int round;
	size_t i;

	sigaction(SIGALRM, &sa, NULL);
	ualarm(2000, 2000);
	for (round = 1; round <= 20; round++) {
		for (i = 0; i < PAGES; i++)
			self->p[i * PAGE] = round;
		for (i = 0; i < PAGES; i++)
			ASSERT_EQ(round, self->p[i * PAGE]);
		ASSERT_EQ(0, madvise(self->p, PAGES * PAGE, MADV_DONTNEED));
		while (region_call(self->r.fd, DSM_IOC_RELEASE) == -EINTR)
			;
	}
	while (!handled)
		for (i = 0; i < PAGES; i++)
			self->p[i * PAGE]++;
	ualarm(0, 0);
}

static uintptr_t stack_of_handler;

static void look_where(int sig)
{
	stack_of_handler = (uintptr_t)__builtin_frame_address(0);
	handled = sig;
}

/* The alternate stack and the frame of a handler lie in the region. */
TEST_F(syscall, signal_stack_may_be_in_the_region)
{
	stack_t st = { .ss_sp = self->p + 16 * PAGE, .ss_size = 16 * PAGE };
	struct sigaction sa = { .sa_handler = look_where, .sa_flags = SA_ONSTACK };

	ASSERT_EQ(0, sigaltstack(&st, NULL));
	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	handled = 0;
	ASSERT_EQ(0, raise(SIGUSR1));
	EXPECT_EQ(SIGUSR1, handled);
	EXPECT_LE((uintptr_t)st.ss_sp, stack_of_handler);
	EXPECT_GT((uintptr_t)st.ss_sp + st.ss_size, stack_of_handler);
}

TEST_F(syscall, core_dump_leaves_the_region_out_and_ends)
{
	pid_t pid;

	memset(self->p, 0x77, PAGES * PAGE);
	pid = fork();
	if (!pid)
		dump_core();
	EXPECT_EQ(128 + SIGABRT, child_status(pid));
	EXPECT_EQ(0, core_has_page_of(pid, 0x77));
	EXPECT_EQ(0x77, self->p[PAGES * PAGE - 1]);
}

TEST_F(syscall, process_exits_with_everything_open)
{
	int i;

	for (i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			int fd = open(self->r.path, O_RDWR);
			char *q = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

			q[i * PAGE] = i + 1;
			_exit(0);
		}
		EXPECT_EQ(0, child_status(pid));
		EXPECT_EQ(i + 1, self->p[i * PAGE]);
	}
}

TEST_F(syscall, killed_at_any_moment)
{
	int i;

	for (i = 0; i < 20; i++) {
		volatile int *going = shared_bytes(PAGE);
		pid_t pid = fork();

		if (!pid) {
			for (;;) {
				memset(self->p, i, PAGES * PAGE);
				*going = 1;
				region_call(self->r.fd, DSM_IOC_RELEASE);
				madvise(self->p, PAGES * PAGE, MADV_DONTNEED);
			}
		}
		EXPECT_TRUE(wait_word(going, 1));
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, child_status(pid));
	}
	EXPECT_EQ(0, region_call(self->r.fd, DSM_IOC_RELEASE));
	EXPECT_EQ(19, self->p[0]);
}

TEST_F(syscall, exec_drops_the_mapping)
{
	pid_t pid = fork();

	if (!pid) {
		char script[128];

		snprintf(script, sizeof(script), "grep -q %s /proc/self/maps; exit $((40 + $?))", self->r.path);
		fcntl(self->r.fd, F_SETFD, FD_CLOEXEC);
		self->p[0] = 1;
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(1);
	}
	/* grep found nothing. */
	EXPECT_EQ(41, child_status(pid));
	EXPECT_EQ(1, self->p[0]);
}

TEST_HARNESS_MAIN
