// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* Device files and regions: opening, permissions, creating, destroying, refusals with their text. */
#include <arpa/inet.h>
#include "harness.h"
#include "ksft.h"

#define TIB (1ull << 40)

FIXTURE(device) {
	struct region r;
	char err[200];
};

FIXTURE_SETUP(device)
{
	ASSERT_EQ(0, make_region(&self->r, 16 * PAGE));
}

FIXTURE_TEARDOWN_PARENT(device)
{
	/* Some tests let a group use it. */
	EXPECT_EQ(0, chown("/dev/dsm", -1, 0));
	EXPECT_EQ(0, end_region(&self->r));
}

/* Opens as a user without rights; 0 or the errno. */
static int nobody_opens(const char *path, int flags)
{
	pid_t pid = fork();

	if (!pid) {
		become_nobody();
		_exit(open(path, flags) < 0 ? errno : 0);
	}
	return child_status(pid);
}

/* As that user, who may use /dev/dsm; 0 or the errno. */
static int nobody_creates(struct dsm_ioc_region *arg)
{
	pid_t pid = fork();

	if (!pid) {
		become_nobody();
		_exit(-create_region(arg, NULL, NULL));
	}
	return child_status(pid);
}

static int nobody_destroys(const char *name)
{
	pid_t pid = fork();

	if (!pid) {
		become_nobody();
		_exit(-destroy_region(name, NULL));
	}
	return child_status(pid);
}

static int info(int fd, struct dsm_ioc_region_info *arg, uint32_t id, uint32_t flags)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	arg->id = id;
	arg->flags = flags;
	return ioctl(fd, DSM_IOC_REGION_INFO, arg) ? -errno : 0;
}

TEST(control_file_opens_in_every_mode)
{
	int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };
	size_t i;
	int fd;

	for (i = 0; i < 3; i++) {
		fd = open("/dev/dsm", modes[i]);
		EXPECT_GE(fd, 0);
		EXPECT_EQ(0, close(fd));
	}
}

TEST(default_and_heap_regions_exist)
{
	struct dsm_ioc_region_info i;
	int fd = open("/dev/dsm", O_RDWR);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, info(fd, &i, 0, 0));
	EXPECT_STREQ("", i.name);
	EXPECT_EQ((off_t)i.bytes, lseek(fd, 0, SEEK_END));
	EXPECT_EQ(0u, i.region_flags & DSM_REGION_HEAP);
	/* A program that just maps it is correct. */
	EXPECT_NE(NULL, strstr(i.policy, "consistency=sc"));
	close(fd);

	fd = open("/dev/dsm-heap", O_RDWR);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, info(fd, &i, 0, 0));
	EXPECT_STREQ("heap", i.name);
	EXPECT_EQ(DSM_REGION_HEAP, i.region_flags & DSM_REGION_HEAP);
	EXPECT_NE(NULL, strstr(i.policy, "consistency=hlrc"));
	close(fd);
}

TEST_F(device, node_goes_when_the_region_is_destroyed)
{
	struct dsm_ioc_region a = { .name = "short-lived", .bytes = PAGE, .uid = -1, .gid = -1 };
	struct stat st;

	ASSERT_EQ(0, create_region(&a, NULL, self->err)) {
		TH_LOG("%s", self->err);
	}
	EXPECT_EQ(0, stat("/dev/dsm-short-lived", &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0, destroy_region("short-lived", self->err));
	EXPECT_ERRNO(ENOENT, stat("/dev/dsm-short-lived", &st));
}

TEST_F(device, node_has_owner_group_and_mode_of_its_region)
{
	struct dsm_ioc_region a = {
		.name = "owned", .bytes = PAGE, .uid = NOBODY, .gid = NOBODY, .mode = 0640,
	};
	struct dsm_ioc_region_info i;
	struct stat st;

	ASSERT_EQ(0, create_region(&a, NULL, self->err));
	EXPECT_EQ(0, stat("/dev/dsm-owned", &st));
	EXPECT_EQ(NOBODY, (int)st.st_uid);
	EXPECT_EQ(NOBODY, (int)st.st_gid);
	EXPECT_EQ(0640, (int)(st.st_mode & 07777));
	EXPECT_EQ(0, nobody_opens("/dev/dsm-owned", O_RDWR));
	EXPECT_EQ(0, info(self->r.fd, &i, a.id, 0));
	EXPECT_EQ(NOBODY, (int)i.uid);
	EXPECT_EQ(0640, (int)i.mode);
	EXPECT_EQ(0, destroy_region("owned", self->err));
}

TEST_F(device, others_are_refused_by_mode_even_if_the_node_was_widened)
{
	EXPECT_EQ(EACCES, nobody_opens(self->r.path, O_RDONLY));
	EXPECT_EQ(0, chmod(self->r.path, 0666));
	EXPECT_EQ(EACCES, nobody_opens(self->r.path, O_RDONLY));
	EXPECT_EQ(EACCES, nobody_opens(self->r.path, O_RDWR));
}

TEST_F(device, read_only_for_others_means_no_writing)
{
	struct dsm_ioc_region a = {
		.name = "readable", .bytes = PAGE, .uid = -1, .gid = -1, .mode = 0644,
	};

	ASSERT_EQ(0, create_region(&a, NULL, self->err));
	EXPECT_EQ(0, nobody_opens("/dev/dsm-readable", O_RDONLY));
	EXPECT_EQ(EACCES, nobody_opens("/dev/dsm-readable", O_RDWR));
	EXPECT_EQ(EACCES, nobody_opens("/dev/dsm-readable", O_WRONLY));
	EXPECT_EQ(0, destroy_region("readable", self->err));
}

/* Owner, group and others each have their own bits, be they more or fewer than those of the next. */
TEST_F(device, group_and_owner_have_what_their_bits_say)
{
	static const struct {
		uint32_t uid, gid, mode;
		int error;
	} cases[] = {
		{ 0, NOBODY, 0660, 0 },
		{ 0, NOBODY, 0606, EACCES },
		{ NOBODY, NOBODY, 0066, EACCES },
		{ NOBODY, 0, 0600, 0 },
		{ 0, 0, 0660, EACCES },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dsm_ioc_region a = {
			.name = "bits", .bytes = PAGE,
			.uid = cases[i].uid, .gid = cases[i].gid, .mode = cases[i].mode,
		};

		ASSERT_EQ(0, create_region(&a, NULL, self->err));
		/* What is seen is the module's look at them, and not only the file system's. */
		ASSERT_EQ(0, chmod("/dev/dsm-bits", 0666));
		EXPECT_EQ(cases[i].error, nobody_opens("/dev/dsm-bits", O_RDWR)) {
			TH_LOG("case %zu", i);
		}
		EXPECT_EQ(0, destroy_region("bits", self->err));
	}
}

/* A group may use /dev/dsm by chgrp: that gives it no rights to others' regions. */
TEST_F(device, regions_are_destroyed_by_their_owner_or_root)
{
	struct dsm_ioc_region a = { .name = "own", .bytes = PAGE, .uid = -1, .gid = -1 };
	struct stat st;

	ASSERT_EQ(0, chown("/dev/dsm", -1, NOBODY));
	EXPECT_EQ(EPERM, nobody_destroys(self->r.name));
	EXPECT_EQ(0, stat(self->r.path, &st));
	EXPECT_EQ(0, nobody_creates(&a));
	EXPECT_EQ(0, stat("/dev/dsm-own", &st));
	EXPECT_EQ(NOBODY, (int)st.st_uid);
	EXPECT_EQ(NOBODY, (int)st.st_gid);
	EXPECT_EQ(0, nobody_destroys("own"));
	EXPECT_EQ(0, nobody_creates(&a));
	EXPECT_EQ(0, destroy_region("own", self->err));
}

TEST_F(device, nobody_makes_regions_in_the_name_of_others)
{
	struct dsm_ioc_region a = { .name = "theirs", .bytes = PAGE, .uid = 0, .gid = -1 };
	struct stat st;

	ASSERT_EQ(0, chown("/dev/dsm", -1, NOBODY));
	EXPECT_EQ(EPERM, nobody_creates(&a));
	a.uid = -1;
	a.gid = 0;
	EXPECT_EQ(EPERM, nobody_creates(&a));
	EXPECT_ERRNO(ENOENT, stat("/dev/dsm-theirs", &st));
}

/* Who may only read says nothing that changes something for others. */
TEST_F(device, changes_need_a_file_that_is_open_for_writing)
{
	struct dsm_ioc_homes homes = { .size = sizeof(homes), .flags = DSM_HOMES_CLAIM };
	struct dsm_ioc_region a = { .size = sizeof(a), .name = "unmade", .bytes = PAGE, .uid = -1, .gid = -1 };
	int fd = open("/dev/dsm", O_RDONLY);

	ASSERT_GE(fd, 0);
	EXPECT_ERRNO(EACCES, ioctl(fd, DSM_IOC_REGION_CREATE, &a));
	close(fd);
	fd = open(self->r.path, O_RDONLY);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EACCES, region_call(fd, DSM_IOC_UNCLAIM));
	EXPECT_ERRNO(EACCES, ioctl(fd, DSM_IOC_HOMES, &homes));
	close(fd);
	EXPECT_EQ(0, nobody_opens("/sys/class/dsm/dsm/tunables/batch_max", O_RDONLY));
	EXPECT_EQ(EACCES, nobody_opens("/sys/class/dsm/dsm/tunables/batch_max", O_WRONLY));
}

TEST_F(device, file_does_only_what_it_was_opened_for)
{
	char c = 1;
	int fd = open(self->r.path, O_RDONLY);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(1, read(fd, &c, 1));
	EXPECT_ERRNO(EBADF, write(fd, &c, 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	EXPECT_EQ(EACCES, errno);
	close(fd);
	fd = open(self->r.path, O_WRONLY);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(1, write(fd, &c, 1));
	EXPECT_ERRNO(EBADF, read(fd, &c, 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, fd, 0));
	EXPECT_EQ(EACCES, errno);
	close(fd);
}

TEST_F(device, info_by_file_by_id_and_by_iteration_agree)
{
	struct dsm_ioc_region_info i;
	uint32_t id = 0;
	int seen = 0;

	ASSERT_EQ(0, info(self->r.fd, &i, 0, 0));
	EXPECT_STREQ(self->r.name, i.name);
	EXPECT_EQ(self->r.id, i.id);
	EXPECT_EQ(self->r.bytes, i.bytes);
	EXPECT_EQ(self->r.addr, i.addr);
	EXPECT_EQ(1u, i.opens);
	EXPECT_NE(NULL, strstr(i.policy, "home=rr"));
	ASSERT_EQ(0, info(self->r.fd, &i, self->r.id, 0));
	EXPECT_STREQ(self->r.name, i.name);
	while (!info(self->r.fd, &i, id, DSM_INFO_NEXT)) {
		EXPECT_GT(i.id, id);
		id = i.id;
		seen += !strcmp(i.name, self->r.name);
	}
	EXPECT_EQ(1, seen);
	EXPECT_EQ(-ENOENT, info(self->r.fd, &i, 0x7fffffff, 0));
}

TEST_F(device, touched_pages_are_counted)
{
	struct dsm_ioc_region_info i;
	char c = 1;

	ASSERT_EQ(0, info(self->r.fd, &i, 0, 0));
	EXPECT_EQ(0u, i.touched_pages);
	ASSERT_EQ(1, pwrite(self->r.fd, &c, 1, 0));
	ASSERT_EQ(1, pwrite(self->r.fd, &c, 1, 5 * PAGE));
	ASSERT_EQ(0, info(self->r.fd, &i, 0, 0));
	EXPECT_EQ(2u, i.touched_pages);
}

/* Every refusal has its errno and a text. */
TEST_F(device, bad_regions_are_refused_with_a_reason)
{
	static const struct {
		const char *name, *policy;
		uint64_t bytes, addr;
		uint32_t flags, mode;
		int error;
	} bad[] = {
		{ "x", NULL, 0, 0, 0, 0, -EINVAL },
		{ "x", NULL, PAGE + 1, 0, 0, 0, -EINVAL },
		{ "x", NULL, 16 * TIB + PAGE, 0, 0, 0, -EFBIG },
		{ "x", NULL, ~0ull - PAGE + 1, 0, 0, 0, -EFBIG },
		{ "x", NULL, PAGE, 1, 0, 0, -EINVAL },
		{ "x", NULL, PAGE, ~0ull - PAGE + 1, 0, 0, -EINVAL },
		{ "x", NULL, PAGE, 0, 0x80000000, 0, -EINVAL },
		{ "x", NULL, PAGE, 0, DSM_REGION_RAW_OK, 0, -EINVAL },
		{ "x", NULL, PAGE, 0, 0, 01777, -EINVAL },
		{ "", NULL, PAGE, 0, 0, 0, -EINVAL },
		{ ".x", NULL, PAGE, 0, 0, 0, -EINVAL },
		{ "a/b", NULL, PAGE, 0, 0, 0, -EINVAL },
		{ "a b", NULL, PAGE, 0, 0, 0, -EINVAL },
		{ "x", "preset=nonsense", PAGE, 0, 0, 0, -EINVAL },
		{ "x", "home=nowhere", PAGE, 0, 0, 0, -EINVAL },
		{ "x", "colour=red", PAGE, 0, 0, 0, -EINVAL },
		{ "x", "home=\n", PAGE, 0, 0, 0, -EINVAL },
		{ "heap", NULL, PAGE, 0, 0, 0, -EEXIST },
	};
	struct stat st;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dsm_ioc_region a = {
			.bytes = bad[i].bytes, .addr = bad[i].addr, .flags = bad[i].flags,
			.mode = bad[i].mode, .uid = -1, .gid = -1,
		};

		strcpy(a.name, bad[i].name);
		EXPECT_EQ(bad[i].error, create_region(&a, bad[i].policy, self->err)) {
			TH_LOG("case %zu: %s", i, self->err);
		}
		EXPECT_NE('\0', self->err[0]) {
			TH_LOG("case %zu has no text", i);
		}
	}
	EXPECT_ERRNO(ENOENT, stat("/dev/dsm-x", &st));
}

/* Settings that exclude each other: the text is the rule. */
TEST_F(device, combinations_that_a_rule_forbids_are_refused_with_it)
{
	static const struct {
		const char *policy, *rule;
	} bad[] = {
		{ "preset=sc,home=first-touch", "consistency=sc needs home=block or rr" },
		{ "preset=sc,fetch=read", "consistency=sc has no fetch" },
		{ "metadata=rdma", "metadata=rdma needs consistency=cashmere" },
		{ "home=migrate", "home=migrate needs consistency=cashmere" },
		{ "preset=csm-dms,home=migrate", "home=migrate needs diff=orig and diffpath=msg" },
		{ "preset=csm-none-mg,fetch=read", "home=migrate needs fetch=nocopy or copy" },
		{ "preset=sc,bcast=adaptive", "bcast=adaptive needs consistency=hlrc or cashmere" },
		{ "bcast=adaptive,fetch=nocopy", "bcast=adaptive needs fetch=copy" },
		{ "bcast=adaptive,fetch=copy,home=migrate@barrier", "bcast=adaptive needs another home" },
		{ "preset=csm-none,predict=on", "predict=on needs home=migrate" },
		{ "preset=csm-ms,home=migrate@barrier", "home=migrate@barrier needs metadata=msg" },
		{ "algo=array", "algo=array needs sync=rdma" },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dsm_ioc_region a = { .name = "x", .bytes = PAGE, .uid = -1, .gid = -1 };

		EXPECT_EQ(-EINVAL, create_region(&a, bad[i].policy, self->err));
		EXPECT_EQ(0, strncmp(self->err, bad[i].rule, strlen(bad[i].rule))) {
			TH_LOG("%s: %s", bad[i].policy, self->err);
		}
	}
}

TEST_F(device, name_without_end_is_refused)
{
	struct dsm_ioc_region a = { .bytes = PAGE, .uid = -1, .gid = -1 };

	memset(a.name, 'a', sizeof(a.name));
	EXPECT_EQ(-EINVAL, create_region(&a, NULL, self->err));
	EXPECT_NE('\0', self->err[0]);
}

TEST_F(device, name_in_use_is_refused_and_the_region_stays)
{
	struct dsm_ioc_region a = { .bytes = PAGE, .uid = -1, .gid = -1 };
	struct dsm_ioc_region_info i;

	memcpy(a.name, self->r.name, sizeof(a.name));
	EXPECT_EQ(-EEXIST, create_region(&a, NULL, self->err));
	EXPECT_NE('\0', self->err[0]);
	EXPECT_EQ(0, info(self->r.fd, &i, 0, 0));
	EXPECT_EQ(self->r.bytes, i.bytes);
}

TEST_F(device, overlapping_address_is_refused)
{
	struct dsm_ioc_region a = {
		.name = "overlap", .bytes = 2 * PAGE, .addr = self->r.addr + PAGE, .uid = -1, .gid = -1,
	};

	EXPECT_NE(0u, self->r.addr);
	EXPECT_EQ(-EADDRINUSE, create_region(&a, NULL, self->err));
	EXPECT_NE('\0', self->err[0]);
}

TEST_F(device, largest_region_can_be_created_and_used_at_its_end)
{
	struct dsm_ioc_region a = { .name = "largest", .bytes = 16 * TIB, .uid = -1, .gid = -1 };
	char c = 42;
	int fd;

	ASSERT_EQ(0, create_region(&a, NULL, self->err)) {
		TH_LOG("%s", self->err);
	}
	fd = open("/dev/dsm-largest", O_RDWR);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(1, pwrite(fd, &c, 1, 16 * TIB - 1));
	c = 0;
	EXPECT_EQ(1, pread(fd, &c, 1, 16 * TIB - 1));
	EXPECT_EQ(42, c);
	EXPECT_EQ(0, pread(fd, &c, 1, 16 * TIB));
	close(fd);
	EXPECT_EQ(0, destroy_region("largest", self->err));
}

TEST_F(device, open_region_cannot_be_destroyed)
{
	EXPECT_EQ(-EBUSY, destroy_region(self->r.name, self->err));
	EXPECT_NE('\0', self->err[0]);
}

TEST_F(device, mapped_region_cannot_be_destroyed)
{
	char *p = map_region(&self->r, 1, 0, PROT_READ);

	ASSERT_NE(MAP_FAILED, p);
	close(self->r.fd);
	EXPECT_EQ(-EBUSY, destroy_region(self->r.name, self->err));
	EXPECT_EQ(0, p[0]);
}

TEST_F(device, unknown_region_cannot_be_destroyed)
{
	EXPECT_EQ(-ENOENT, destroy_region("no-such-region", self->err));
	EXPECT_NE(NULL, strstr(self->err, "no-such-region"));
}

TEST_F(device, contents_do_not_outlive_their_region)
{
	struct dsm_ioc_region a = { .name = "reborn", .bytes = 4 * PAGE, .uid = -1, .gid = -1 };
	char buf[64];
	int fd, round;

	for (round = 0; round < 3; round++) {
		a.addr = 0;
		ASSERT_EQ(0, create_region(&a, "home=rr", self->err));
		fd = open("/dev/dsm-reborn", O_RDWR);
		ASSERT_GE(fd, 0);
		EXPECT_EQ((int)sizeof(buf), pread(fd, buf, sizeof(buf), PAGE));
		EXPECT_EQ(0, buf[0] | buf[63]);
		memset(buf, 7, sizeof(buf));
		EXPECT_EQ((int)sizeof(buf), pwrite(fd, buf, sizeof(buf), PAGE));
		close(fd);
		EXPECT_EQ(0, destroy_region("reborn", self->err));
	}
}

TEST_F(device, many_regions_exist_at_once)
{
	struct dsm_ioc_region a = { .bytes = PAGE, .uid = -1, .gid = -1 };
	char path[64], c;
	int i, fd;

	for (i = 0; i < 20; i++) {
		a.addr = 0;
		snprintf(a.name, sizeof(a.name), "many%d", i);
		EXPECT_EQ(0, create_region(&a, NULL, self->err)) {
			TH_LOG("%s", self->err);
		}
	}
	for (i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "/dev/dsm-many%d", i);
		fd = open(path, O_RDWR);
		EXPECT_GE(fd, 0);
		c = i;
		EXPECT_EQ(1, pwrite(fd, &c, 1, 100));
		close(fd);
	}
	for (i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "/dev/dsm-many%d", i);
		fd = open(path, O_RDONLY);
		EXPECT_EQ(1, pread(fd, &c, 1, 100));
		EXPECT_EQ(i, c);
		close(fd);
		snprintf(path, sizeof(path), "many%d", i);
		EXPECT_EQ(0, destroy_region(path, self->err));
	}
}

TEST(bytes_of_a_heap_are_protected_until_forced)
{
	struct dsm_ioc_region a = {
		.name = "myheap", .bytes = 64 * PAGE, .flags = DSM_REGION_HEAP, .uid = -1, .gid = -1,
	};
	struct dsm_ioc_region_info i;
	char err[200], c = 1;
	int fd, other;

	ASSERT_EQ(0, create_region(&a, NULL, err));
	fd = open("/dev/dsm-myheap", O_RDWR);
	other = open("/dev/dsm-myheap", O_RDWR);
	ASSERT_GE(fd, 0);
	ASSERT_GE(other, 0);
	EXPECT_ERRNO(EPERM, read(fd, &c, 1));
	EXPECT_ERRNO(EPERM, write(fd, &c, 1));
	EXPECT_EQ(0, region_call(fd, DSM_IOC_FORCE_RAW));
	EXPECT_EQ(0, info(fd, &i, 0, 0));
	EXPECT_EQ(DSM_REGION_HEAP | DSM_REGION_RAW_OK, i.region_flags);
	EXPECT_EQ(1, pread(fd, &c, 1, 0));
	EXPECT_ERRNO(EPERM, read(other, &c, 1));
	close(fd);
	close(other);
	EXPECT_EQ(0, destroy_region("myheap", err));
}

static int join(int fd, char *err)
{
	struct dsm_ioc_join arg = {
		.size = sizeof(arg), .listen_addr = htonl(0x0a090001), .node = DSM_NODE_ANY,
		.errtxt = (uintptr_t)err, .errtxt_len = 200,
	};

	err[0] = '\0';
	return ioctl(fd, DSM_IOC_JOIN, &arg) ? -errno : 0;
}

TEST(joining_twice_is_refused)
{
	char err[200];
	int fd = open("/dev/dsm", O_RDWR);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EISCONN, join(fd, err));
	EXPECT_NE('\0', err[0]);
}

TEST(joining_and_leaving_need_root)
{
	struct dsm_ioc_leave leave = { .size = sizeof(leave) };
	char err[200];
	int fd = open("/dev/dsm", O_RDWR);
	pid_t pid = fork();

	if (!pid) {
		become_nobody();
		if (join(fd, err) != -EPERM || !err[0])
			_exit(1);
		if (!ioctl(fd, DSM_IOC_LEAVE, &leave) || errno != EPERM)
			_exit(2);
		_exit(0);
	}
	EXPECT_EQ(0, child_status(pid));
}

TEST_F(device, leaving_with_an_open_region_is_refused)
{
	struct dsm_ioc_leave leave = {
		.size = sizeof(leave), .errtxt = (uintptr_t)self->err, .errtxt_len = 200,
	};
	int fd = open("/dev/dsm", O_RDWR);

	EXPECT_ERRNO(EBUSY, ioctl(fd, DSM_IOC_LEAVE, &leave));
	EXPECT_NE(NULL, strstr(self->err, self->r.name)) {
		TH_LOG("%s", self->err);
	}
}

TEST(own_node_is_known)
{
	struct dsm_ioc_node_info i = { .size = sizeof(i), .node = DSM_NODE_ANY };
	int fd = open("/dev/dsm", O_RDONLY);

	ASSERT_EQ(0, ioctl(fd, DSM_IOC_NODE_INFO, &i));
	EXPECT_EQ(DSM_NODE_SELF, i.state);
	EXPECT_GE(i.members, 1);
	EXPECT_EQ(1, i.insecure);
	EXPECT_NE('\0', i.device[0]);
	i = (struct dsm_ioc_node_info){ .size = sizeof(i), .node = 9999 };
	EXPECT_ERRNO(EINVAL, ioctl(fd, DSM_IOC_NODE_INFO, &i));
}

TEST_HARNESS_MAIN
