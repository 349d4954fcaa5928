// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * Calls whose first, second, ... allocation or copy from or to the caller fails: each such call fails with
 * ENOMEM or EFAULT or does without, and once nothing fails it works. Needs a kernel that injects such failures,
 * which the debug kernel does (Documentation/fault-injection of the kernel: /proc/self/fail-nth).
 */
#include "harness.h"
#include "ksft.h"

#define PAGES 16
#define FRESH 512		/* pages behind these, a few for each store */
#define AT_ONCE 4
#define MAX_FAILURES 2000	/* in one call; only a loop reaches it */
#define KEY 77
#define DEBUGFS "/sys/kernel/debug/"

struct scene {
	struct region r;
	char *p;
	int fd;
	int zero;
	int turn;
};

/* A call and what takes it back if it did not fail; both return 0 or a negative errno. */
struct step {
	int (*call)(struct scene *s);
	int (*undo)(struct scene *s);
};

static int on_region(struct scene *s, unsigned long cmd, void *arg)
{
	return ioctl(s->r.fd, cmd, arg) ? -errno : 0;
}

static int create(struct scene *s)
{
	struct dsm_ioc_region made = { .bytes = PAGES * PAGE, .uid = -1, .gid = -1, .name = "nomem" };

	return create_region(&made, "home=rr", NULL);
}

static int destroy(struct scene *s)
{
	return destroy_region("nomem", NULL);
}

static int open_region(struct scene *s)
{
	s->fd = open(s->r.path, O_RDWR);
	return s->fd < 0 ? -errno : 0;
}

static int close_region(struct scene *s)
{
	return close(s->fd) ? -errno : 0;
}

static int map(struct scene *s)
{
	s->p = map_region(&s->r, PAGES + FRESH, 0, PROT_READ | PROT_WRITE);
	return s->p == MAP_FAILED ? -errno : 0;
}

static int unmap(struct scene *s)
{
	return munmap(s->p, (PAGES + FRESH) * PAGE) ? -errno : 0;
}

/* Into pages that nobody has touched, and by the kernel: one that cannot be had does not end the program. */
static int store(struct scene *s)
{
	ssize_t n = read(s->zero, s->p + (PAGES + s->turn % (FRESH / AT_ONCE) * AT_ONCE) * PAGE, AT_ONCE * PAGE);

	if (n < 0)
		return -errno;
	return n == AT_ONCE * (ssize_t)PAGE ? 0 : -EFAULT;
}

static int read_raw(struct scene *s)
{
	static char buf[PAGES * PAGE];
	ssize_t n = pread(s->r.fd, buf, sizeof(buf), 0);

	if (n < 0)
		return -errno;
	return n == sizeof(buf) ? 0 : -EFAULT;
}

static int write_raw(struct scene *s)
{
	static char buf[PAGES * PAGE];
	ssize_t n = pwrite(s->r.fd, buf, sizeof(buf), 0);

	if (n < 0)
		return -errno;
	return n == sizeof(buf) ? 0 : -EFAULT;
}

static int on_lock(struct scene *s, unsigned long cmd)
{
	struct dsm_ioc_lock arg = { .size = sizeof(arg), .key = KEY };

	return on_region(s, cmd, &arg);
}

static int lock(struct scene *s)
{
	return on_lock(s, DSM_IOC_LOCK);
}

static int unlock(struct scene *s)
{
	return on_lock(s, DSM_IOC_UNLOCK);
}

static int barrier(struct scene *s)
{
	struct dsm_ioc_barrier arg = { .size = sizeof(arg), .key = KEY, .parties = 1 };

	return on_region(s, DSM_IOC_BARRIER, &arg);
}

static int on_flag(struct scene *s, unsigned long cmd)
{
	struct dsm_ioc_flag arg = { .size = sizeof(arg), .key = KEY };

	return on_region(s, cmd, &arg);
}

static int set_flag(struct scene *s)
{
	return on_flag(s, DSM_IOC_FLAG_SET);
}

static int clear_flag(struct scene *s)
{
	return on_flag(s, DSM_IOC_FLAG_CLEAR);
}

/* With something to send. */
static int release(struct scene *s)
{
	return region_call(s->r.fd, DSM_IOC_RELEASE);
}

static int acquire(struct scene *s)
{
	return region_call(s->r.fd, DSM_IOC_ACQUIRE);
}

static int prefetch(struct scene *s)
{
	struct dsm_ioc_range arg = { .size = sizeof(arg), .len = PAGES * PAGE };

	return on_region(s, DSM_IOC_PREFETCH, &arg);
}

static int lock_table(struct scene *s)
{
	struct dsm_ioc_lock_table arg = { .size = sizeof(arg) };

	return on_region(s, DSM_IOC_LOCK_TABLE, &arg);
}

static int region_info(struct scene *s)
{
	struct dsm_ioc_region_info arg = { .size = sizeof(arg) };

	return on_region(s, DSM_IOC_REGION_INFO, &arg);
}

static int stats(struct scene *s)
{
	uint64_t values[DSM_STAT_COUNT];
	struct dsm_ioc_stats arg = {
		.size = sizeof(arg), .region = s->r.id, .count = DSM_STAT_COUNT, .values = (uintptr_t)values,
	};

	return on_region(s, DSM_IOC_STATS, &arg);
}

static bool say(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, word, strlen(word)) == (ssize_t)strlen(word);

	close(fd);
	return ok;
}

/* Allocations fail that may wait, too, and each without a stack in the kernel's log. */
static bool can_inject(void)
{
	return say(DEBUGFS "failslab/ignore-gfp-wait", "N") && say(DEBUGFS "failslab/verbose", "0") &&
	       say(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N") &&
	       say(DEBUGFS "fail_page_alloc/min-order", "0") && say(DEBUGFS "fail_page_alloc/verbose", "0") &&
	       say(DEBUGFS "fail_usercopy/verbose", "0");
}

/* The call, in which what is counted by @nth fails; whether anything did. */
static bool fails_at(int nth_fd, unsigned int nth, int (*call)(struct scene *s), struct scene *s, int *ret)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);
	ssize_t n;

	if (pwrite(nth_fd, text, len, 0) != len) {
		*ret = -errno;
		return false;
	}
	*ret = call(s);
	/* If only one was left, it is this very copy that fails. */
	n = pread(nth_fd, text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = '\0';
	pwrite(nth_fd, "0", 1, 0);
	return n > 0 && !atoi(text);
}

FIXTURE(nomem) {
	struct scene s;
	int nth;
};

FIXTURE_VARIANT(nomem) {
	struct step step;
};

#define VARIANT(_name, _call, _undo)	\
	FIXTURE_VARIANT_ADD(nomem, _name) { .step = { .call = (_call), .undo = (_undo) } }

VARIANT(create, create, destroy);
VARIANT(open, open_region, close_region);
VARIANT(map, map, unmap);
VARIANT(store, store, NULL);
VARIANT(read_raw, read_raw, NULL);
VARIANT(write_raw, write_raw, NULL);
VARIANT(lock, lock, unlock);
VARIANT(barrier, barrier, NULL);
VARIANT(flag, set_flag, clear_flag);
VARIANT(release, release, NULL);
VARIANT(acquire, acquire, NULL);
VARIANT(prefetch, prefetch, NULL);
VARIANT(lock_table, lock_table, NULL);
VARIANT(region_info, region_info, NULL);
VARIANT(stats, stats, NULL);

FIXTURE_SETUP(nomem)
{
	self->nth = -1;
	/* A kernel that injects no failures is not given this program. */
	ASSERT_EQ(0, access("/proc/self/fail-nth", W_OK));
	ASSERT_TRUE(can_inject());
	ASSERT_EQ(0, make_region(&self->s.r, (PAGES + FRESH) * PAGE));
	self->s.zero = open("/dev/zero", O_RDONLY);
	self->nth = open("/proc/self/fail-nth", O_RDWR);
	ASSERT_GE(self->nth, 0);
}

FIXTURE_TEARDOWN_PARENT(nomem)
{
	if (self->nth >= 0)
		EXPECT_EQ(0, end_region(&self->s.r));
}

TEST_F(nomem, fails_or_works)
{
	const struct step *step = &variant->step;
	unsigned int nth, failed = 0, refused = 0;
	struct scene *s = &self->s;
	bool injected;
	int ret;

	for (nth = 1; nth < MAX_FAILURES; nth++) {
		if (step->call != map)
			ASSERT_EQ(0, map(s));
		/* Something that a release sends. */
		if (step->call == release)
			memset(s->p, nth, PAGES * PAGE);
		s->turn = nth;
		injected = fails_at(self->nth, nth, step->call, s, &ret);
		failed += injected;
		refused += injected && ret;
		EXPECT_TRUE(!ret || (injected && (ret == -ENOMEM || ret == -EFAULT))) {
			TH_LOG("failure %u: %s", nth, strerror(-ret));
		}
		if (!ret && step->undo)
			EXPECT_EQ(0, step->undo(s));
		if (step->call != map)
			ASSERT_EQ(0, unmap(s));
		if (!injected)
			break;
	}
	EXPECT_LT(nth, MAX_FAILURES);
	EXPECT_GT(failed, 0);
	TH_LOG("%u failures, %u calls refused", failed, refused);
}

TEST_HARNESS_MAIN
