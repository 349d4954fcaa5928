// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* See ksft.h. */
#include <grp.h>
#include <sys/resource.h>
#include <time.h>
#include "ksft.h"

/* Bound of every wait for a state; guests are emulated, sometimes on a busy machine. */
#define WAIT_MS 60000

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

static void pause_ms(unsigned int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000l };

	nanosleep(&t, NULL);
}

static int on_control(unsigned long cmd, void *arg)
{
	int fd = open("/dev/dsm", O_RDWR | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = ioctl(fd, cmd, arg) ? -errno : 0;
	close(fd);
	return ret;
}

int create_region(struct dsm_ioc_region *arg, const char *policy, char *err)
{
	arg->size = sizeof(*arg);
	arg->policy = (uintptr_t)policy;
	arg->policy_len = policy ? strlen(policy) + 1 : 0;
	arg->errtxt = (uintptr_t)err;
	arg->errtxt_len = err ? 200 : 0;
	if (err)
		err[0] = '\0';
	return on_control(DSM_IOC_REGION_CREATE, arg);
}

int destroy_region(const char *name, char *err)
{
	struct dsm_ioc_region_destroy arg = { .size = sizeof(arg) };

	snprintf(arg.name, sizeof(arg.name), "%s", name);
	arg.errtxt = (uintptr_t)err;
	arg.errtxt_len = err ? 200 : 0;
	if (err)
		err[0] = '\0';
	return on_control(DSM_IOC_REGION_DESTROY, &arg);
}

int make_region(struct region *r, uint64_t bytes)
{
	return make_region_with(r, bytes, "home=rr");
}

int make_region_with(struct region *r, uint64_t bytes, const char *policy)
{
	struct dsm_ioc_region arg = { .bytes = bytes, .uid = -1, .gid = -1 };
	int ret;

	snprintf(r->name, sizeof(r->name), "t%d", getpid());
	snprintf(r->path, sizeof(r->path), "/dev/dsm-%s", r->name);
	memcpy(arg.name, r->name, sizeof(arg.name));
	ret = create_region(&arg, policy, NULL);
	if (ret)
		return ret;
	r->bytes = bytes;
	r->addr = arg.addr;
	r->id = arg.id;
	r->fd = open(r->path, O_RDWR);
	return r->fd < 0 ? -errno : 0;
}

int end_region(struct region *r)
{
	return destroy_region(r->name, NULL);
}

char *map_region(const struct region *r, size_t pages, size_t first, int prot)
{
	return mmap(NULL, pages * PAGE, prot, MAP_SHARED, r->fd, first * PAGE);
}

int region_call(int fd, unsigned long cmd)
{
	struct dsm_ioc_plain arg = { .size = sizeof(arg) };

	return ioctl(fd, cmd, &arg) ? -errno : 0;
}

uint64_t counter(enum dsm_stat which)
{
	uint64_t values[DSM_STAT_COUNT] = { 0 };
	struct dsm_ioc_stats arg = {
		.size = sizeof(arg), .count = DSM_STAT_COUNT, .values = (uintptr_t)values,
	};

	return on_control(DSM_IOC_STATS, &arg) ? (uint64_t)-1 : values[which];
}

int child_status(pid_t pid)
{
	uint64_t end = now_ms() + WAIT_MS;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (now_ms() > end) {
			kill(pid, SIGKILL);
			return -1;
		}
		pause_ms(1);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

_Noreturn void dump_core(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	int fd = open("/proc/self/coredump_filter", O_WRONLY);

	if (setrlimit(RLIMIT_CORE, &unlimited) || fd < 0 || write(fd, "0x7f", 4) != 4)
		_exit(1);
	signal(SIGABRT, SIG_DFL);
	abort();
}

int core_has_page_of(pid_t pid, unsigned char byte)
{
	unsigned char page[PAGE];
	char path[64];
	int fd, found = 0;

	snprintf(path, sizeof(path), "/tmp/core.%d", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	unlink(path);
	while (!found && read(fd, page, PAGE) == PAGE)
		found = page[0] == byte && !memcmp(page, page + 1, PAGE - 1);
	close(fd);
	return found;
}

bool wait_asleep(pid_t pid)
{
	uint64_t end = now_ms() + WAIT_MS;
	char path[64], state;
	bool asleep = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (!asleep && now_ms() < end) {
		f = fopen(path, "r");
		if (!f)
			return false;
		asleep = fscanf(f, "%*d (%*[^)]) %c", &state) == 1 &&
			 (state == 'S' || state == 'D');
		fclose(f);
		pause_ms(1);
	}
	return asleep;
}

void *shared_bytes(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

bool wait_word(volatile int *word, int value)
{
	uint64_t end = now_ms() + WAIT_MS;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
		if (now_ms() > end)
			return false;
		pause_ms(1);
	}
	return true;
}

void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(99);
}
