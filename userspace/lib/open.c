// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Attaches a region: opens its file and maps all of it at the address that every node uses.
 * Never moves a mapping: pointers into a region are good on every node only at that address.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "table.h"

#define CREATE_BYTES (1ull << 30)
#define APPEAR_SECONDS 5	/* bound on the wait for a device file that was just created */
#define APPEAR_STEP_MS 10

static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dsm *handles;

void dsm_handles_lock(void)
{
	pthread_mutex_lock(&handles_lock);
}

void dsm_handles_unlock(void)
{
	pthread_mutex_unlock(&handles_lock);
}

struct dsm *dsm_handles(void)
{
	return handles;
}

static int set_path(struct dsm *d, const char *region)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	char control[DSM_CONTROL_BYTES];
	size_t len;
	int ret = dsm_control_from_env(control);

	if (ret)
		return ret;
	if (!region) {
		strcpy(d->path, control);
		strcpy(d->asked, control);
		return 0;
	}
	len = strlen(region);
	if (!len || len >= DSM_NAME_MAX || strspn(region, allowed) != len)
		return dsm_error_set(EINVAL,
				     "dsm_open: \"%.64s\" is no region name (1 to %d of A-Za-z0-9._-)",
				     region, DSM_NAME_MAX - 1);
	snprintf(d->path, sizeof(d->path), "%s-%s", control, region);
	strcpy(d->asked, d->path);
	return 0;
}

/* Asks the control device for a new heap region; one that is there already is as good. */
static int create_region(const char *region)
{
	static const char policy[] = "home=first-touch";	/* as of the default heap */
	char why[256] = "";
	struct dsm_ioc_region arg = {
		.size = sizeof(arg),
		.flags = DSM_REGION_HEAP,
		.bytes = CREATE_BYTES,
		.uid = (uint32_t)-1,
		.gid = (uint32_t)-1,
		.errtxt_len = sizeof(why),
		.errtxt = (uintptr_t)why,
		.policy_len = sizeof(policy),
		.policy = (uintptr_t)policy,
	};
	char control[DSM_CONTROL_BYTES];
	int err = dsm_control_from_env(control);
	int fd;

	if (err)
		return err;
	fd = open(control, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return dsm_error_set(errno, "dsm_open: cannot create region %s: %s", region, control);
	memcpy(arg.name, region, strlen(region) + 1);
	if (ioctl(fd, DSM_IOC_REGION_CREATE, &arg) < 0 && errno != EEXIST)
		err = errno;
	close(fd);
	why[sizeof(why) - 1] = '\0';
	if (err)
		return dsm_error_set(err, "dsm_open: cannot create region %s%s%s", region,
				     *why ? ": " : "", why);
	return 0;
}

static bool is_chosen(void)
{
	const char *node = getenv("DSM_LOCAL_NODE");

	return node && *node;
}

/* What a node says of itself; false if this user may not ask it, or there is none. Leaves errno alone. */
static bool ask_control(const char *control, struct dsm_ioc_node_info *info)
{
	int saved = errno;
	int fd = open(control, O_RDWR | O_CLOEXEC);
	bool answered;

	*info = (struct dsm_ioc_node_info){ .size = sizeof(*info), .node = DSM_NODE_ANY };
	answered = fd >= 0 && !ioctl(fd, DSM_IOC_NODE_INFO, info);
	if (fd >= 0)
		close(fd);
	errno = saved;
	return answered;
}

static int open_failed(const struct dsm *d, int err)
{
	char control[DSM_CONTROL_BYTES];
	struct dsm_ioc_node_info info;

	if (err == EBUSY)
		return dsm_error_set(err, "dsm_open: %s has level=1, and another process of this node has it open: each is a "
				     "participant of its own, which needs a node of its own (nodes=N of the module), %s", d->path,
				     is_chosen() ? "and DSM_LOCAL_NODE says that it is to be this one" :
				     access("/dev/dsm", R_OK | W_OK) ? "for which this user may not look: no access to /dev/dsm" :
				     "of which none is free");
	if (err == EACCES)
		return dsm_error_set(err, "dsm_open: this user may not %s %s: be root, or let the administrator give a group "
				     "access (gid= and mode= of dsmctl region create; chgrp for /dev/dsm)",
				     d->flags & DSM_RDONLY ? "read" : "read and write", d->path);
	if (err != ENOENT && err != ENXIO)
		return dsm_error_set(err, "dsm_open: %s", d->path);
	if (!dsm_control_from_env(control) && access(control, F_OK))
		return dsm_error_set(err, "dsm_open: %s is missing; load the module "
				     "(modprobe dsm insecure=1%s) and dsmctl join: %s", control,
				     strchr(control, '.') ? " nodes=N" : "", d->path);
	/* Without a cluster there are no regions either, not even the one called heap. */
	if (ask_control(control, &info) && info.state == DSM_NODE_NONE)
		return dsm_error_set(ENOTCONN, "dsm_open: %s", d->path);
	return dsm_error_set(err, "dsm_open: there is no region %s: see dsmctl region list",
			     d->path);
}

/*
 * With level=1 a process needs one of the machine's nodes for itself: the first that is free, unless the environment says
 * which. The file, or -1 with errno.
 */
static int try_open(struct dsm *d, const char *region, int mode)
{
	struct dsm_ioc_node_info first, other;
	char control[DSM_CONTROL_BYTES];
	int fd = open(d->path, mode), k;

	if (fd >= 0 || errno != EBUSY || !region || is_chosen() || !ask_control("/dev/dsm", &first))
		return fd;
	for (k = 1; k < DSM_LOCAL_NODES_MAX && fd < 0; k++) {
		snprintf(control, sizeof(control), "/dev/dsm.%d", k);
		/* A machine's nodes may be in different clusters. */
		if (!ask_control(control, &other) || other.cluster != first.cluster)
			continue;
		snprintf(d->path, sizeof(d->path), "%s-%s", control, region);
		fd = open(d->path, mode);
	}
	if (fd < 0)
		strcpy(d->path, d->asked);
	errno = EBUSY;
	return fd;
}

static int open_file(struct dsm *d, const char *region, unsigned int flags)
{
	int mode = (flags & DSM_RDONLY ? O_RDONLY : O_RDWR) | O_CLOEXEC;
	const struct timespec step = { .tv_nsec = APPEAR_STEP_MS * 1000000 };
	struct timespec now, end;
	int ret;

	d->fd = try_open(d, region, mode);
	if (d->fd >= 0)
		return 0;
	if ((errno != ENOENT && errno != ENXIO) || !region || !(flags & DSM_CREATE))
		return open_failed(d, errno);
	ret = create_region(region);
	if (ret)
		return ret;
	/* If another node created it, its announcement may still be on its way to this one. */
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += APPEAR_SECONDS;
	do {
		d->fd = try_open(d, region, mode);
		if (d->fd >= 0)
			return 0;
		ret = errno;
		if (ret != ENOENT && ret != ENXIO && ret != EACCES && ret != EINTR)
			break;
		nanosleep(&step, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	return open_failed(d, ret);
}

/* Says which mapping of this process is in the way of [@start, @end). */
static int report_clash(const struct dsm *d, uintptr_t start, uintptr_t end)
{
	char line[512] = "";
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		uintptr_t lo, hi;

		line[strcspn(line, "\n")] = '\0';
		found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &lo, &hi) == 2 &&
			lo < end && hi > start;
	}
	if (maps)
		fclose(maps);
	return dsm_error_set(EEXIST,
			     "dsm_open: %s must be mapped at %#" PRIxPTR "-%#" PRIxPTR
			     " on every node, where this process has \"%s\"; dsmctl region create ... addr= chooses another address",
			     d->path, start, end, found ? line : "another mapping");
}

static int map_region(struct dsm *d)
{
	struct dsm_ioc_region_info info = { .size = sizeof(info) };
	int prot = d->flags & DSM_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE;
	void *want;
	int ret;

	ret = dsm_ioctl(d, DSM_IOC_REGION_INFO, &info);
	if (ret)
		return dsm_error_set(-ret, "dsm_open: %s", d->path);
	/* The first use of /dev/dsm asks another node: better here than inside of mmap. */
	if (lseek(d->fd, 0, SEEK_SET) < 0)
		return dsm_error_set(errno, "dsm_open: %s", d->path);
	want = (void *)(uintptr_t)info.addr;
	d->bytes = info.bytes;
	d->heap = info.region_flags & DSM_REGION_HEAP;
	d->base = mmap(want, d->bytes, prot, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
		       d->fd, 0);
	if (d->base == MAP_FAILED && errno == EEXIST)
		return report_clash(d, (uintptr_t)want, (uintptr_t)want + d->bytes);
	if (d->base == MAP_FAILED)
		return dsm_error_set(errno, "dsm_open: mapping %zu bytes of %s at %p", d->bytes,
				     d->path, want);
	if (d->base != want) {
		/* A kernel before 4.17 takes the address for a wish. */
		munmap(d->base, d->bytes);
		return report_clash(d, (uintptr_t)want, (uintptr_t)want + d->bytes);
	}
	return 0;
}

static int ask_node(struct dsm *d)
{
	struct dsm_ioc_node_info info = { .size = sizeof(info), .node = DSM_NODE_ANY };
	int ret = dsm_ioctl(d, DSM_IOC_NODE_INFO, &info);

	if (ret)
		return dsm_error_set(-ret, "dsm_open: %s", d->path);
	d->node = info.node;
	return 0;
}

static int attach(struct dsm *d, const char *region, unsigned int flags)
{
	int ret;

	ret = dsm_rank_from_env(&d->rank, &d->ranks);
	if (ret)
		return ret;
	ret = open_file(d, region, flags);
	if (ret)
		return ret;
	ret = ask_node(d);
	if (!ret)
		ret = map_region(d);
	if (ret)
		close(d->fd);
	else
		dsm_table_open(d);
	return ret;
}

/* A region has one address, so a process that opens it again gets the same handle. */
static struct dsm *find_open(const struct dsm *wanted, int *ret)
{
	struct dsm *d;

	*ret = 0;
	for (d = handles; d; d = d->next)
		if (!d->foreign && !strcmp(d->asked, wanted->asked))
			break;
	if (d && d->flags != wanted->flags) {
		*ret = dsm_error_set(EBUSY, "dsm_open: %s is open in this process, %s", d->path,
				     d->flags ? "read-only" : "for writing");
		return NULL;
	}
	return d;
}

struct dsm *dsm_open(const char *region, unsigned int flags)
{
	struct dsm *wanted;
	struct dsm *d = NULL;
	int ret, cancel;

	if (flags & ~(DSM_RDONLY | DSM_CREATE)) {
		errno = -dsm_error_set(EINVAL, "dsm_open: unknown flags %#x", flags);
		return NULL;
	}
	wanted = calloc(1, sizeof(*wanted));
	if (!wanted) {
		errno = -dsm_error_set(ENOMEM, "dsm_open: no memory for a handle");
		return NULL;
	}
	wanted->flags = flags & DSM_RDONLY;
	wanted->refs = 1;
	ret = set_path(wanted, region);
	if (ret)
		goto out;
	dsm_table_handle_forks();
	/* A thread that is cancelled inside would take the lock with it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&handles_lock);
	d = find_open(wanted, &ret);
	if (d) {
		d->refs++;
	} else if (!ret) {
		ret = attach(wanted, region, flags);
		if (!ret) {
			wanted->next = handles;
			handles = wanted;
			d = wanted;
			wanted = NULL;
		}
	}
	pthread_mutex_unlock(&handles_lock);
	pthread_setcancelstate(cancel, NULL);
out:
	free(wanted);
	if (ret)
		errno = -ret;
	return d;
}

static int close_handle(struct dsm *d)
{
	struct dsm **at;
	int ret = 0;

	for (at = &handles; *at && *at != d; at = &(*at)->next)
		;
	if (!*at)
		return dsm_error_set(EINVAL, "dsm_close: %p is no open handle", (void *)d);
	if (--d->refs)
		return 0;
	*at = d->next;
	if (!d->foreign) {
		dsm_table_close(d);
		munmap(d->base, d->bytes);
	}
	/* close is a release: it tells whether what was written has reached its homes. */
	if (close(d->fd))
		ret = dsm_error_set(errno, "dsm_close: %s", d->path);
	free(d);
	return ret;
}

int dsm_close(struct dsm *d)
{
	int ret, cancel;

	if (!d)
		return 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&handles_lock);
	ret = close_handle(d);
	pthread_mutex_unlock(&handles_lock);
	pthread_setcancelstate(cancel, NULL);
	return ret;
}

void *dsm_base(const struct dsm *d)
{
	return d->base;
}

size_t dsm_size(const struct dsm *d)
{
	return d->bytes;
}

int dsm_fd(const struct dsm *d)
{
	return d->fd;
}

int dsm_has_heap(const struct dsm *d)
{
	return d->heap;
}
