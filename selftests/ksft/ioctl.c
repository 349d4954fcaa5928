// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/* Length and flag rules, the same for every ioctl; one variant per ioctl. */
#include "harness.h"
#include "ksft.h"

#define BAD_FLAG 0x40000000u

FIXTURE(ioctl) {
	struct region r;
	uint32_t arg[2048];
	int fd;
};

/* @flags: second word of a valid call; @error: result of a call that is zero otherwise. */
FIXTURE_VARIANT(ioctl) {
	unsigned long cmd;
	uint32_t size;
	uint32_t flags;
	int error;
	bool has_flags;
	bool control;
};

#define VARIANT(_name, _cmd, _struct, _flags, _error, _has_flags, _control)	\
	FIXTURE_VARIANT_ADD(ioctl, _name) {					\
		.cmd = (_cmd), .size = sizeof(struct _struct), .flags = (_flags),	\
		.error = (_error), .has_flags = (_has_flags), .control = (_control),	\
	}

VARIANT(version, DSM_IOC_VERSION, dsm_ioc_version, 0, 0, false, true);
VARIANT(join, DSM_IOC_JOIN, dsm_ioc_join, 0, EINVAL, true, true);
/* With a bad flag, or the test's node would be gone. */
VARIANT(leave, DSM_IOC_LEAVE, dsm_ioc_leave, BAD_FLAG, EINVAL, true, true);
VARIANT(region_create, DSM_IOC_REGION_CREATE, dsm_ioc_region, 0, EINVAL, true, true);
VARIANT(region_destroy, DSM_IOC_REGION_DESTROY, dsm_ioc_region_destroy, 0, EINVAL, true, true);
VARIANT(region_info, DSM_IOC_REGION_INFO, dsm_ioc_region_info, 0, 0, true, true);
VARIANT(node_info, DSM_IOC_NODE_INFO, dsm_ioc_node_info, DSM_NODE_ANY, 0, false, true);
VARIANT(stats, DSM_IOC_STATS, dsm_ioc_stats, 0, 0, true, true);
VARIANT(logp, DSM_IOC_LOGP, dsm_ioc_logp, 0, EINVAL, true, true);
VARIANT(lock, DSM_IOC_LOCK, dsm_ioc_lock, DSM_LOCK_TRY | DSM_LOCK_TIMED, EINVAL, true, false);
VARIANT(unlock, DSM_IOC_UNLOCK, dsm_ioc_lock, 0, EPERM, true, false);
VARIANT(unlock_silent, DSM_IOC_UNLOCK, dsm_ioc_lock, DSM_UNLOCK_SILENT, EPERM, true, false);
VARIANT(unlock_try, DSM_IOC_UNLOCK, dsm_ioc_lock, DSM_LOCK_TRY, EINVAL, true, false);
VARIANT(lock_consistent, DSM_IOC_LOCK_CONSISTENT, dsm_ioc_lock, BAD_FLAG, EINVAL, true, false);
VARIANT(barrier, DSM_IOC_BARRIER, dsm_ioc_barrier, 0, EINVAL, true, false);
VARIANT(flag_set, DSM_IOC_FLAG_SET, dsm_ioc_flag, BAD_FLAG, EINVAL, true, false);
VARIANT(flag_wait, DSM_IOC_FLAG_WAIT, dsm_ioc_flag, BAD_FLAG, EINVAL, true, false);
VARIANT(flag_clear, DSM_IOC_FLAG_CLEAR, dsm_ioc_flag, BAD_FLAG, EINVAL, true, false);
VARIANT(acquire, DSM_IOC_ACQUIRE, dsm_ioc_plain, 0, 0, true, false);
VARIANT(release, DSM_IOC_RELEASE, dsm_ioc_plain, 0, 0, true, false);
VARIANT(prefetch, DSM_IOC_PREFETCH, dsm_ioc_range, 0, 0, true, false);
VARIANT(unclaim, DSM_IOC_UNCLAIM, dsm_ioc_plain, 0, EOPNOTSUPP, true, false);
/* No page is homed yet. */
VARIANT(homes, DSM_IOC_HOMES, dsm_ioc_homes, 0, ENOENT, true, false);
VARIANT(force_raw, DSM_IOC_FORCE_RAW, dsm_ioc_plain, 0, 0, true, false);
VARIANT(lock_table, DSM_IOC_LOCK_TABLE, dsm_ioc_lock_table, 0, 0, true, false);

FIXTURE_SETUP(ioctl)
{
	ASSERT_EQ(0, make_region(&self->r, 4 * PAGE));
	self->fd = variant->control ? open("/dev/dsm", O_RDWR) : self->r.fd;
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN_PARENT(ioctl)
{
	EXPECT_EQ(0, end_region(&self->r));
}

/* The errno of a call whose argument says @size bytes, or 0. */
static int call(int fd, uint32_t *arg, unsigned long cmd, uint32_t flags, uint32_t size)
{
	arg[0] = size;
	arg[1] = flags;
	return ioctl(fd, cmd, arg) ? errno : 0;
}

TEST_F(ioctl, exact_length_is_accepted)
{
	EXPECT_EQ(variant->error, call(self->fd, self->arg, variant->cmd, variant->flags, variant->size));
}

TEST_F(ioctl, shorter_is_refused)
{
	EXPECT_EQ(EINVAL, call(self->fd, self->arg, variant->cmd, variant->flags, 0));
	EXPECT_EQ(EINVAL, call(self->fd, self->arg, variant->cmd, variant->flags, 4));
	EXPECT_EQ(EINVAL, call(self->fd, self->arg, variant->cmd, variant->flags, variant->size - 1));
}

TEST_F(ioctl, longer_with_zeros_is_accepted)
{
	EXPECT_EQ(variant->error, call(self->fd, self->arg, variant->cmd, variant->flags, variant->size + 8));
	memset(self->arg, 0, sizeof(self->arg));
	EXPECT_EQ(variant->error, call(self->fd, self->arg, variant->cmd, variant->flags, 4096));
}

TEST_F(ioctl, longer_with_unknown_content_is_refused)
{
	((char *)self->arg)[variant->size] = 1;
	EXPECT_EQ(E2BIG, call(self->fd, self->arg, variant->cmd, variant->flags, variant->size + 8));
	((char *)self->arg)[variant->size] = 0;
	((char *)self->arg)[4095] = 1;
	EXPECT_EQ(E2BIG, call(self->fd, self->arg, variant->cmd, variant->flags, 4096));
}

TEST_F(ioctl, absurd_length_is_refused)
{
	EXPECT_EQ(E2BIG, call(self->fd, self->arg, variant->cmd, variant->flags, 8192));
	EXPECT_EQ(E2BIG, call(self->fd, self->arg, variant->cmd, variant->flags, ~0u));
}

TEST_F(ioctl, size_bits_of_the_number_do_not_matter)
{
	unsigned long cmd = _IOC(_IOC_DIR(variant->cmd), _IOC_TYPE(variant->cmd),
				 _IOC_NR(variant->cmd), 4);

	EXPECT_EQ(variant->error, call(self->fd, self->arg, cmd, variant->flags, variant->size));
}

TEST_F(ioctl, unknown_flags_are_refused)
{
	uint32_t flags;

	if (!variant->has_flags)
		SKIP(return, "has no flags");
	for (flags = 0x80000000; flags >= 0x100; flags >>= 1)
		EXPECT_EQ(EINVAL, call(self->fd, self->arg, variant->cmd, flags, variant->size));
}

TEST_F(ioctl, bad_pointers_are_refused)
{
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t *arg = (uint32_t *)(page + PAGE - 8);

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + PAGE, PAGE));
	EXPECT_ERRNO(EFAULT, ioctl(self->fd, variant->cmd, NULL));
	EXPECT_ERRNO(EFAULT, ioctl(self->fd, variant->cmd, page + PAGE));
	/* The known part lies within the page, or does not. */
	arg[0] = variant->size + 8;
	EXPECT_ERRNO(EFAULT, ioctl(self->fd, variant->cmd, arg));
	munmap(page, PAGE);
}

TEST_F(ioctl, control_calls_need_the_control_file)
{
	switch (variant->cmd) {
	case DSM_IOC_JOIN:
	case DSM_IOC_LEAVE:
	case DSM_IOC_LOGP:
	case DSM_IOC_REGION_CREATE:
	case DSM_IOC_REGION_DESTROY:
		self->fd = self->r.fd;
		EXPECT_EQ(ENOTTY, call(self->fd, self->arg, variant->cmd, variant->flags, variant->size));
		break;
	default:
		SKIP(return, "is for any file");
	}
}

TEST(unknown_calls_are_refused)
{
	uint64_t arg[64] = { sizeof(arg) };
	int fd = open("/dev/dsm", O_RDWR);

	EXPECT_ERRNO(ENOTTY, ioctl(fd, _IOWR(DSM_IOC_MAGIC, 0x1f, arg), arg));
	EXPECT_ERRNO(ENOTTY, ioctl(fd, _IOWR(DSM_IOC_MAGIC, 0xff, arg), arg));
	EXPECT_ERRNO(ENOTTY, ioctl(fd, _IOWR('x', 0, struct dsm_ioc_version), arg));
	EXPECT_ERRNO(ENOTTY, ioctl(fd, _IOW(DSM_IOC_MAGIC, 0, struct dsm_ioc_version), arg));
}

TEST(version_is_told)
{
	struct dsm_ioc_version v = { .size = sizeof(v) };
	int fd = open("/dev/dsm", O_RDONLY);

	ASSERT_EQ(0, ioctl(fd, DSM_IOC_VERSION, &v));
	EXPECT_EQ(DSM_ABI, v.abi);
	EXPECT_GE(v.protocol, 1u);
	EXPECT_EQ(PAGE, v.page_bytes);
}

TEST(error_text_fits_its_buffer_and_never_hides_the_error)
{
	struct dsm_ioc_region_destroy a = { .size = sizeof(a), .name = "nowhere-to-be-found" };
	int fd = open("/dev/dsm", O_RDWR);
	char err[200];

	memset(err, 'z', sizeof(err));
	a.errtxt = (uintptr_t)err;
	a.errtxt_len = 8;
	EXPECT_ERRNO(ENOENT, ioctl(fd, DSM_IOC_REGION_DESTROY, &a));
	EXPECT_EQ(7, (int)strlen(err));
	EXPECT_EQ('z', err[8]);
	a.errtxt_len = 1;
	EXPECT_ERRNO(ENOENT, ioctl(fd, DSM_IOC_REGION_DESTROY, &a));
	EXPECT_EQ('\0', err[0]);
	a.errtxt_len = 0;
	EXPECT_ERRNO(ENOENT, ioctl(fd, DSM_IOC_REGION_DESTROY, &a));
	a.errtxt = 8;
	a.errtxt_len = 200;
	EXPECT_ERRNO(ENOENT, ioctl(fd, DSM_IOC_REGION_DESTROY, &a));
}

TEST(counters_come_in_the_room_given)
{
	uint64_t values[DSM_STAT_COUNT + 8];
	struct dsm_ioc_stats a = { .size = sizeof(a), .count = 2, .values = (uintptr_t)values };
	int fd = open("/dev/dsm", O_RDONLY);

	memset(values, 0xee, sizeof(values));
	ASSERT_EQ(0, ioctl(fd, DSM_IOC_STATS, &a));
	EXPECT_EQ(2u, a.count);
	EXPECT_EQ(0xeeeeeeeeeeeeeeeeull, values[2]);
	a.count = DSM_STAT_COUNT + 8;
	ASSERT_EQ(0, ioctl(fd, DSM_IOC_STATS, &a));
	EXPECT_EQ(DSM_STAT_COUNT, (int)a.count);
	EXPECT_EQ(0xeeeeeeeeeeeeeeeeull, values[DSM_STAT_COUNT]);
	a.values = 8;
	EXPECT_ERRNO(EFAULT, ioctl(fd, DSM_IOC_STATS, &a));
}

TEST(reserved_fields_must_be_zero)
{
	struct dsm_ioc_barrier b = { .size = sizeof(b), .parties = 1, .reserved = 1 };
	struct dsm_ioc_leave l = { .size = sizeof(l), .reserved = 1 };
	struct dsm_ioc_region_destroy d = { .size = sizeof(d), .name = "x", .reserved = 1 };
	int fd = open("/dev/dsm", O_RDWR);

	EXPECT_ERRNO(EINVAL, ioctl(fd, DSM_IOC_BARRIER, &b));
	EXPECT_ERRNO(EINVAL, ioctl(fd, DSM_IOC_LEAVE, &l));
	EXPECT_ERRNO(EINVAL, ioctl(fd, DSM_IOC_REGION_DESTROY, &d));
}

TEST_HARNESS_MAIN
