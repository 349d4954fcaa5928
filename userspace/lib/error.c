// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * The text behind dsm_error(): one line per thread on what failed, where and what to do.
 * Never allocates, so that it works when memory is short.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

static __thread char text[640];

int dsm_error_set(int err, const char *fmt, ...)
{
	char reason[64];
	const char *hint = dsm_error_hint(err);
	size_t used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	used = n < 0 ? 0 : (size_t)n;
	if (used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, ": %s%s%s",
			 strerror_r(err, reason, sizeof(reason)) ? "error" : reason,
			 *hint ? ": " : "", hint);
	return -err;
}

const char *dsm_error_hint(int err)
{
	switch (err) {
	case ENOTCONN:
		return "this node is in no cluster (dsmctl join)";
	case EHOSTDOWN:
		return "a node that this needs is lost (dsmctl status names it)";
	case EOWNERDEAD:
		return "the last holder or another party ended inside; see dsm_lock_consistent(3)";
	case EDQUOT:
		return "this user holds or waits for too many locks on this node; "
		       "unlock some, or raise locks_per_user of dsm.ko "
		       "(barrier, flag: too many threads of this node wait)";
	case EINTR:
		return "a signal came first; call again";
	case EDEADLK:
		return "this thread holds it already";
	default:
		return "";
	}
}

int dsm_ioctl(const struct dsm *d, unsigned long request, void *arg)
{
	int saved = errno;
	int ret = 0;

	if (ioctl(d->fd, request, arg) < 0) {
		ret = -errno;
		errno = saved;
	}
	return ret;
}

const char *dsm_error(void)
{
	return text;
}
