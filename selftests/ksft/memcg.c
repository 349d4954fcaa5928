// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* Memory of a region is charged to the memory cgroup of who touches it first, and limited by it. */
#include <sys/mount.h>
#include <time.h>
#include "harness.h"
#include "ksft.h"

#define PAGES 2048ul
#define BYTES (PAGES * PAGE)
/* More than a process has besides, or the kernel charges ahead; less than twins of the pages that are homed elsewhere. */
#define SLACK (BYTES / 4)
#define ROOT "/tmp/cgroup"
#define WAIT_MS 60000
#define FIRST "first"
#define SECOND "second"

static const char * const groups[] = { FIRST, SECOND };

FIXTURE(memcg) {
	struct region r;
	char *p;
};

static int put(const char *group, const char *file, const char *text)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), ROOT "/%s/%s", group, file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static uint64_t charged(const char *group)
{
	unsigned long long bytes = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), ROOT "/%s/memory.current", group);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &bytes) != 1)
		bytes = ~0ull;
	if (f)
		fclose(f);
	return bytes;
}

/* Is what was charged given back? Frames go in the background. */
static bool given_back(const char *group)
{
	struct timespec ms = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < WAIT_MS && charged(group) > SLACK; i++)
		nanosleep(&ms, NULL);
	return charged(group) <= SLACK;
}

static bool have_groups(void)
{
	mkdir(ROOT, 0755);
	if (access(ROOT "/cgroup.procs", F_OK) && mount("none", ROOT, "cgroup2", 0, NULL))
		return false;
	return !put("", "cgroup.subtree_control", "+memory");
}

FIXTURE_SETUP(memcg)
{
	char path[64];
	size_t i;

	ASSERT_TRUE(have_groups());
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		snprintf(path, sizeof(path), ROOT "/%s", groups[i]);
		/* A test before that failed has left it. */
		ASSERT_TRUE(!mkdir(path, 0755) || errno == EEXIST);
	}
	/* Each page has its frame from who touches it: no chunk of others along with it, and none ahead. */
	ASSERT_EQ(0, make_region_with(&self->r, BYTES, "home=rr,data=msg,around=off"));
	self->p = map_region(&self->r, PAGES, 0, PROT_READ | PROT_WRITE);
	ASSERT_NE(MAP_FAILED, self->p);
}

FIXTURE_TEARDOWN_PARENT(memcg)
{
	char path[64];
	size_t i;

	EXPECT_EQ(0, end_region(&self->r));
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		EXPECT_TRUE(given_back(groups[i])) {
			TH_LOG("%s has %ju bytes", groups[i], (uintmax_t)charged(groups[i]));
		}
		snprintf(path, sizeof(path), ROOT "/%s", groups[i]);
		EXPECT_EQ(0, rmdir(path));
	}
	EXPECT_EQ(0, umount(ROOT));
	EXPECT_EQ(0, rmdir(ROOT));
}

static void touch(volatile char *p, size_t pages)
{
	size_t i;

	for (i = 0; i < pages; i++)
		p[i * PAGE] = 1;
}

static int touches_in(const char *group, char *p)
{
	pid_t pid = fork();

	if (!pid) {
		if (put(group, "cgroup.procs", "0"))
			_exit(99);
		touch(p, PAGES);
		_exit(0);
	}
	return child_status(pid);
}

/* Twins of pages that are homed elsewhere are not charged; and what is charged stays for as long as the region does. */
TEST_F(memcg, frames_are_charged_to_who_touches_them_first)
{
	uint64_t first;

	ASSERT_EQ(0, touches_in(FIRST, self->p));
	first = charged(FIRST);
	EXPECT_LE(BYTES, first);
	EXPECT_GT(BYTES + SLACK, first);
	ASSERT_EQ(0, touches_in(SECOND, self->p));
	EXPECT_GT(SLACK, charged(SECOND));
	EXPECT_LE(BYTES, charged(FIRST));
}

TEST_F(memcg, who_faults_beyond_the_limit_is_ended_as_for_any_memory)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", BYTES / 2);
	ASSERT_EQ(0, put(FIRST, "memory.max", text));
	EXPECT_EQ(128 + SIGKILL, touches_in(FIRST, self->p));
	EXPECT_GT(BYTES / 2 + SLACK, charged(FIRST));
	/* Others go on, with what was touched there too. */
	touch(self->p, PAGES);
	EXPECT_EQ(1, self->p[(PAGES - 1) * PAGE]);
}

/* A process that the kernel must not end, and nobody else to be ended instead. */
TEST_F(memcg, a_call_beyond_the_limit_gets_its_error)
{
	char text[32];
	pid_t pid;

	snprintf(text, sizeof(text), "%lu", BYTES / 2);
	ASSERT_EQ(0, put(FIRST, "memory.max", text));
	pid = fork();
	if (!pid) {
		int fd = open("/proc/self/oom_score_adj", O_WRONLY);
		size_t i;

		if (write(fd, "-1000", 5) != 5 || put(FIRST, "cgroup.procs", "0"))
			_exit(99);
		for (i = 0; i < PAGES; i++)
			if (pwrite(self->r.fd, "x", 1, i * PAGE) != 1)
				_exit(errno);
		_exit(0);
	}
	EXPECT_EQ(ENOMEM, child_status(pid));
	touch(self->p, PAGES);
	EXPECT_EQ(1, self->p[(PAGES - 1) * PAGE]);
}

TEST_HARNESS_MAIN
