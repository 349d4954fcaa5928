// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Condition variables: a queue in shared memory that the lock of its waiters guards. A signal that
 * nobody waits for costs no message beyond those that bring the page.
 */
#include <errno.h>

#include "queue.h"

static int failed(struct dsm *d, int ret, const char *who, const struct dsm_cond *c)
{
	return dsm_error_of(d, -ret, "%s: %p of %s", who, (const void *)c, d->path);
}

static int check(struct dsm *d, const char *who, const struct dsm_cond *c)
{
	if (!c || (uintptr_t)c % _Alignof(struct dsm_cond))
		return dsm_error_set(EINVAL, "%s: %p of %s is no address of a condition variable",
				     who, (const void *)c, d->path);
	return 0;
}

int dsm_cond_init(struct dsm *d, struct dsm_cond *c)
{
	int ret = check(d, "dsm_cond_init", c);

	if (ret)
		return ret;
	c->lock = 0;
	dsm_queue_init(c->queue);
	return 0;
}

int dsm_cond_wait(struct dsm *d, struct dsm_cond *c, uint64_t lock_key)
{
	uint64_t ticket;
	int woken, lost, ret;
	bool mine;

	ret = check(d, "dsm_cond_wait", c);
	if (ret)
		return ret;
	if (!dsm_queue_is_empty(c->queue) && c->lock != lock_key)
		return dsm_error_set(EINVAL, "dsm_cond_wait: others wait for %p with another lock",
				     (void *)c);
	c->lock = lock_key;
	ticket = dsm_queue_join(c->queue);
	lost = dsm_unlock(d, lock_key);
	if (lost && lost != -EHOSTDOWN) {
		/* Not the holder's: what was written here is as little to be relied on as before. */
		c->queue[QUEUE_NEXT]--;
		return lost;
	}
	woken = dsm_queue_sleep(d, c->queue, ticket);
	ret = dsm_queue_lock(d, lock_key, &mine);
	if (ret && ret != -EOWNERDEAD)
		return ret;
	/* Else this thread might wait below, with the lock, for who ended in the middle of waking it. */
	if (ret)
		dsm_queue_repair(d, c->queue);
	/* That who held the lock has died goes before why the wait failed. */
	if (woken && !dsm_queue_leave(d, c->queue, ticket) && !ret)
		return failed(d, woken, "dsm_cond_wait", c);
	return ret || !lost ? ret : failed(d, lost, "dsm_cond_wait", c);
}

/* Whoever has seen what a waiter did under the lock sees that it waits, and with which lock. */
static int wake(struct dsm *d, const char *who, struct dsm_cond *c, bool all)
{
	int ret, err = 0;
	uint64_t key;
	bool mine;

	ret = check(d, who, c);
	if (ret || dsm_queue_is_empty(c->queue))
		return ret;
	key = c->lock;
	ret = dsm_queue_lock(d, key, &mine);
	if (ret && ret != -EOWNERDEAD)
		return ret;
	if (ret)
		dsm_queue_repair(d, c->queue);
	while (dsm_queue_wake(d, c->queue, &err) && all)
		;
	if (mine)
		dsm_unlock_own(d, key);
	return err ? failed(d, err, who, c) : 0;
}

int dsm_cond_signal(struct dsm *d, struct dsm_cond *c)
{
	return wake(d, "dsm_cond_signal", c, false);
}

int dsm_cond_broadcast(struct dsm *d, struct dsm_cond *c)
{
	return wake(d, "dsm_cond_broadcast", c, true);
}
