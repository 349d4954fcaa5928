// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The part of a program that is measured: where its pages are homed is decided by who uses them in it, and its
 * counters are those of it alone. Never measures time.
 */
#include <errno.h>

#include "internal.h"

static int read_counters(const struct dsm *d, uint64_t *values)
{
	struct dsm_ioc_stats arg = { .size = sizeof(arg), .count = DSM_STAT_COUNT, .values = (uintptr_t)values };

	return dsm_ioctl(d, DSM_IOC_STATS, &arg);
}

static int unclaim(const struct dsm *d)
{
	struct dsm_ioc_plain arg = { .size = sizeof(arg) };
	int ret = dsm_ioctl(d, DSM_IOC_UNCLAIM, &arg);

	/* Homes of other regions stay. */
	return ret == -EOPNOTSUPP ? 0 : ret;
}

int dsm_roi_begin(struct dsm *d, unsigned int parties)
{
	uint64_t values[DSM_STAT_COUNT] = { 0 };
	unsigned int i;
	int ret, counted, end;

	if (d->flags & DSM_RDONLY)
		return dsm_error_set(EACCES, "dsm_roi_begin: %s is open for reading only", d->path);
	/* Nobody uses a page between the two, so nobody claims one too early. */
	ret = dsm_barrier(d, DSM_KEY_ROI, parties);
	if (ret)
		return ret;
	ret = unclaim(d);
	/* A caller may go on although homes stay where they were. */
	counted = read_counters(d, values);
	if (!ret)
		ret = counted;
	for (i = 0; i < DSM_STAT_COUNT; i++)
		d->roi[i] = values[i];
	d->roi_parties = parties;
	/* Where the others wait, whatever went wrong here. */
	end = dsm_barrier(d, DSM_KEY_ROI, parties);
	return ret ? dsm_error_set(-ret, "dsm_roi_begin: %s", d->path) : end;
}

int dsm_roi_end(struct dsm *d)
{
	uint64_t values[DSM_STAT_COUNT] = { 0 };
	unsigned int i, parties = d->roi_parties;
	int ret, end;

	if (!parties)
		return dsm_error_set(EINVAL, "dsm_roi_end: %s: dsm_roi_begin() was not called", d->path);
	d->roi_parties = 0;
	ret = dsm_barrier(d, DSM_KEY_ROI, parties);
	if (ret) {
		for (i = 0; i < DSM_STAT_COUNT; i++)
			d->roi[i] = 0;
		return ret;
	}
	ret = read_counters(d, values);
	for (i = 0; i < DSM_STAT_COUNT; i++)
		d->roi[i] = ret ? 0 : values[i] - d->roi[i];
	/* What others do after it is not to be in the counters of this node. */
	end = dsm_barrier(d, DSM_KEY_ROI, parties);
	return ret ? dsm_error_set(-ret, "dsm_roi_end: %s", d->path) : end;
}

uint64_t dsm_roi_count(const struct dsm *d, unsigned int counter)
{
	return counter < DSM_STAT_COUNT && !d->roi_parties ? d->roi[counter] : 0;
}
