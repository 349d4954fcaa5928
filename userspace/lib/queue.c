// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Threads that wait in shared memory: see queue.h. Never spins; each wait is the module's for a flag
 * or a lock, with all that ends those.
 */
#include <errno.h>
#include <time.h>

#include "queue.h"

#define SET_TRIES 8

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Two that wait at the same time would have to meet in 63 bits. */
static uint64_t flag_of(const uint64_t *queue, uint64_t ticket)
{
	return mix(mix((uintptr_t)queue) + ticket) | DSM_FLAG_RESERVED;
}

void dsm_queue_init(uint64_t *queue)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	queue[QUEUE_FIRST] = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	queue[QUEUE_NEXT] = queue[QUEUE_FIRST];
}

static int wait_flag(struct dsm *d, uint64_t flag)
{
	int ret;

	do {
		ret = dsm_flag_wait(d, flag);
	} while (ret == -EINTR);
	return ret;
}

int dsm_queue_sleep(struct dsm *d, const uint64_t *queue, uint64_t ticket)
{
	uint64_t flag = flag_of(queue, ticket);
	int ret = wait_flag(d, flag);

	/* Fails only if the node that kept the flag is lost, and with it the flag. */
	if (!ret)
		dsm_flag_clear(d, flag);
	return ret;
}

/*
 * If a home is lost the flag is not set at first, nor while what other threads wrote there, or what is written all the time, fails to
 * go there. If the flag's own node is, its waiter hears of that and finds that its turn has come.
 */
static int set_surely(struct dsm *d, uint64_t flag, int *err)
{
	int tries, ret;

	for (tries = 0; tries < SET_TRIES; tries++) {
		ret = dsm_flag_set(d, flag);
		if (ret != -EHOSTDOWN)
			return ret;
		*err = ret;
	}
	return 0;
}

bool dsm_queue_leave(struct dsm *d, uint64_t *queue, uint64_t ticket)
{
	int err;	/* the caller tells of one already */

	if (ticket - queue[QUEUE_FIRST] >= queue[QUEUE_NEXT] - queue[QUEUE_FIRST]) {
		dsm_queue_sleep(d, queue, ticket);
		return true;
	}
	if (ticket + 1 == queue[QUEUE_NEXT])
		queue[QUEUE_NEXT]--;
	else if (ticket == queue[QUEUE_FIRST])
		queue[QUEUE_FIRST]++;
	else
		set_surely(d, flag_of(queue, ticket), &err);
	return false;
}

/* Whose ticket it is has left if the flag was set before. */
bool dsm_queue_wake(struct dsm *d, uint64_t *queue, int *err)
{
	while (!dsm_queue_is_empty(queue)) {
		uint64_t flag = flag_of(queue, queue[QUEUE_FIRST]++);
		int ret = set_surely(d, flag, err);

		if (!ret)
			return true;
		if (ret != -EALREADY) {
			*err = ret;
			queue[QUEUE_FIRST]--;
			return false;
		}
		dsm_flag_clear(d, flag);
	}
	return false;
}

/*
 * It had left the flag for later. One that is set already, or whose waiter has gone, is never waited for again.
 */
void dsm_queue_repair(struct dsm *d, const uint64_t *queue)
{
	int err;

	set_surely(d, flag_of(queue, queue[QUEUE_FIRST] - 1), &err);
}

int dsm_queue_lock(struct dsm *d, uint64_t key, bool *mine)
{
	int ret;

	do {
		ret = dsm_lock(d, key);
	} while (ret == -EINTR);
	*mine = ret != -EDEADLK;
	return *mine ? ret : 0;
}
