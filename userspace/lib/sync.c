// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Locks, barriers, flags, bare acquire and release, prefetch: one ioctl each on the region's file,
 * or none for a lock whose token is at this node and free. Never caches anything: tokens and
 * queues are the module's business.
 */
#include <errno.h>
#include <inttypes.h>

#include "table.h"

static int lock_call(struct dsm *d, const char *who, unsigned long request, uint64_t key,
		     unsigned int flags, uint64_t deadline_ns)
{
	struct dsm_ioc_lock arg = {
		.size = sizeof(arg),
		.flags = flags,
		.key = key,
		.deadline_ns = deadline_ns,
	};
	int ret = dsm_ioctl(d, request, &arg);

	if (ret == -EPERM)
		return dsm_error_set(EPERM, "%s: key 0x%" PRIx64 " of %s: this process does not hold it, or the region has "
				     "level=1 and is another process's", who, key, d->path);
	if (ret == -ENOSPC)
		return dsm_error_set(ENOSPC, "%s: key 0x%" PRIx64 " of %s: with sync=rdma the key's node has as many keys "
				     "as it can; use fewer", who, key, d->path);
	if (ret == -EINVAL && request == DSM_IOC_LOCK_CONSISTENT)
		return dsm_error_set(EINVAL, "%s: key 0x%" PRIx64 " of %s: its last holder did not die", who, key, d->path);
	if (ret)
		return dsm_error_of(d, -ret, "%s: key 0x%" PRIx64 " of %s", who, key, d->path);
	return 0;
}

int dsm_lock(struct dsm *d, uint64_t key)
{
	if (dsm_table_take(d, key) == DSM_FAST_DONE)
		return 0;
	return lock_call(d, "dsm_lock", DSM_IOC_LOCK, key, 0, 0);
}

int dsm_trylock(struct dsm *d, uint64_t key)
{
	switch (dsm_table_take(d, key)) {
	case DSM_FAST_DONE:
		return 0;
	case DSM_FAST_BUSY:
		return dsm_error_set(EBUSY, "dsm_trylock: key 0x%" PRIx64 " of %s", key, d->path);
	default:
		return lock_call(d, "dsm_trylock", DSM_IOC_LOCK, key, DSM_LOCK_TRY, 0);
	}
}

int dsm_timedlock(struct dsm *d, uint64_t key, const struct timespec *abs_monotonic)
{
	uint64_t deadline_ns;

	if (!abs_monotonic || abs_monotonic->tv_sec < 0 || abs_monotonic->tv_nsec < 0 ||
	    abs_monotonic->tv_nsec >= 1000000000)
		return dsm_error_set(EINVAL, "dsm_timedlock: the time is no valid timespec");
	if (dsm_table_take(d, key) == DSM_FAST_DONE)
		return 0;
	deadline_ns = UINT64_MAX;
	if ((uint64_t)abs_monotonic->tv_sec < INT64_MAX / 1000000000ull)
		deadline_ns = (uint64_t)abs_monotonic->tv_sec * 1000000000ull +
			      (uint64_t)abs_monotonic->tv_nsec;
	return lock_call(d, "dsm_timedlock", DSM_IOC_LOCK, key, DSM_LOCK_TIMED, deadline_ns);
}

int dsm_unlock(struct dsm *d, uint64_t key)
{
	if (dsm_table_give(d, key))
		return 0;
	return lock_call(d, "dsm_unlock", DSM_IOC_UNLOCK, key, 0, 0);
}

void dsm_unlock_own(struct dsm *d, uint64_t key)
{
	if (!dsm_table_give(d, key))
		lock_call(d, "dsm_unlock", DSM_IOC_UNLOCK, key, DSM_UNLOCK_SILENT, 0);
}

int dsm_lock_consistent(struct dsm *d, uint64_t key)
{
	return lock_call(d, "dsm_lock_consistent", DSM_IOC_LOCK_CONSISTENT, key, 0, 0);
}

int dsm_barrier(struct dsm *d, uint64_t key, unsigned int parties)
{
	struct dsm_ioc_barrier arg = { .size = sizeof(arg), .key = key, .parties = parties };
	int ret;

	/* The module remembers the arrival, so after a signal handler the wait goes on. */
	do {
		ret = dsm_ioctl(d, DSM_IOC_BARRIER, &arg);
	} while (ret == -EINTR);
	if (ret == -EINVAL)
		return dsm_error_set(EINVAL, "dsm_barrier: key 0x%" PRIx64 " of %s: %u parties, where others wait with "
				     "another number, or 0", key, d->path, parties);
	if (ret)
		return dsm_error_of(d, -ret, "dsm_barrier: key 0x%" PRIx64 " of %s with %u parties",
				    key, d->path, parties);
	return 0;
}

static int flag_call(struct dsm *d, const char *who, unsigned long request, uint64_t key)
{
	struct dsm_ioc_flag arg = { .size = sizeof(arg), .key = key };
	int ret = dsm_ioctl(d, request, &arg);

	if (ret)
		return dsm_error_of(d, -ret, "%s: key 0x%" PRIx64 " of %s", who, key, d->path);
	return 0;
}

int dsm_flag_set(struct dsm *d, uint64_t key)
{
	return flag_call(d, "dsm_flag_set", DSM_IOC_FLAG_SET, key);
}

int dsm_flag_wait(struct dsm *d, uint64_t key)
{
	return flag_call(d, "dsm_flag_wait", DSM_IOC_FLAG_WAIT, key);
}

int dsm_flag_clear(struct dsm *d, uint64_t key)
{
	return flag_call(d, "dsm_flag_clear", DSM_IOC_FLAG_CLEAR, key);
}

static int plain_call(struct dsm *d, const char *who, unsigned long request)
{
	struct dsm_ioc_plain arg = { .size = sizeof(arg) };
	int ret = dsm_ioctl(d, request, &arg);

	if (ret)
		return dsm_error_set(-ret, "%s: %s", who, d->path);
	return 0;
}

int dsm_acquire(struct dsm *d)
{
	return plain_call(d, "dsm_acquire", DSM_IOC_ACQUIRE);
}

int dsm_release(struct dsm *d)
{
	return plain_call(d, "dsm_release", DSM_IOC_RELEASE);
}

static bool is_inside(const struct dsm *d, const void *addr, size_t len)
{
	uintptr_t base = (uintptr_t)d->base, at = (uintptr_t)addr;

	return at >= base && at - base <= d->bytes && len <= d->bytes - (at - base);
}

static int prefetch(struct dsm *d, const char *who, struct dsm_ioc_range *arg)
{
	int ret = dsm_ioctl(d, DSM_IOC_PREFETCH, arg);

	return ret ? dsm_error_set(-ret, "%s: %s", who, d->path) : 0;
}

int dsm_prefetch(struct dsm *d, const void *addr, size_t len)
{
	struct dsm_ioc_range arg = { .size = sizeof(arg), .len = len };

	if (!is_inside(d, addr, len))
		return dsm_error_set(EINVAL, "dsm_prefetch: %p with %zu bytes is not inside %s",
				     addr, len, d->path);
	arg.offset = (uintptr_t)addr - (uintptr_t)d->base;
	return prefetch(d, "dsm_prefetch", &arg);
}

int dsm_prefetch_rows(struct dsm *d, const void *addr, size_t len, size_t stride, size_t count)
{
	struct dsm_ioc_range arg = { .size = sizeof(arg), .len = len, .stride = stride, .count = count };
	size_t all;

	if (!count)
		return 0;
	if (__builtin_mul_overflow(stride, count - 1, &all) || __builtin_add_overflow(all, len, &all) ||
	    !is_inside(d, addr, all))
		return dsm_error_set(EINVAL, "dsm_prefetch_rows: %zu rows of %zu bytes, %zu apart, from %p on are not inside %s",
				     count, len, stride, addr, d->path);
	arg.offset = (uintptr_t)addr - (uintptr_t)d->base;
	return prefetch(d, "dsm_prefetch_rows", &arg);
}
