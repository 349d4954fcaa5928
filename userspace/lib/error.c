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

static void set_text(int err, const char *hint, const char *fmt, va_list ap)
{
	char reason[64];
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	size_t used = n < 0 ? 0 : (size_t)n;

	if (used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, ": %s%s%s",
			 strerror_r(err, reason, sizeof(reason)) ? "error" : reason,
			 *hint ? ": " : "", hint);
}

int dsm_error_set(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(err, dsm_error_hint(err), fmt, ap);
	va_end(ap);
	return -err;
}

#define SILENT_MS 1000

/*
 * "node 2 is lost: REASON, ..." into @list; false: none is. Another node may have found a third one
 * lost that this one has only not heard from for some time.
 */
static bool name_lost(const struct dsm *d, char *list, size_t room)
{
	struct dsm_ioc_node_info info = { .size = sizeof(info), .node = DSM_NODE_ANY };
	size_t used = 0;
	int node, last, n;

	if (dsm_ioctl(d, DSM_IOC_NODE_INFO, &info))
		return false;
	last = info.max_id;
	for (node = 0; node <= last && used < room; node++) {
		info = (struct dsm_ioc_node_info){ .size = sizeof(info), .node = (uint16_t)node };
		n = 0;
		if (dsm_ioctl(d, DSM_IOC_NODE_INFO, &info))
			continue;
		if (info.state == DSM_NODE_LOST)
			n = snprintf(list + used, room - used, "%snode %d is lost: %.63s",
				     used ? ", " : "", node, info.reason);
		else if (info.state == DSM_NODE_UP && info.silent_ms > SILENT_MS)
			n = snprintf(list + used, room - used, "%snode %d is silent for %u ms",
				     used ? ", " : "", node, info.silent_ms);
		used += n > 0 ? (size_t)n : 0;
	}
	return used;
}

int dsm_error_of(const struct dsm *d, int err, const char *fmt, ...)
{
	const char *hint = dsm_error_hint(err);
	char lost[256];
	va_list ap;

	if (err == EHOSTDOWN && name_lost(d, lost, sizeof(lost)))
		hint = lost;
	va_start(ap, fmt);
	set_text(err, hint, fmt, ap);
	va_end(ap);
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
		return "too many requests of this kind are under way on this node; try again "
		       "(too many locks that this user holds or waits for here: unlock some, or raise locks_per_user of dsm.ko)";
	case EINTR:
		return "a signal came first; call again";
	case EDEADLK:
		return "this thread holds it already";
	case EALREADY:
		return "the flag is set; dsm_flag_clear() makes it unset";
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
