// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Semaphores: a value and a queue in shared memory, guarded by the lock whose key is the
 * semaphore's address. A post goes to who waits longest, past those who come later.
 */
#include <errno.h>

#include "queue.h"

static void leave(struct dsm *d, struct dsm_sem *s)
{
	dsm_unlock_own(d, (uintptr_t)s);
}

/* A holder that was killed inside left one store out at most, and each leaves a good state. */
static int enter(struct dsm *d, const char *who, struct dsm_sem *s)
{
	bool mine;
	int ret;

	if (!s || (uintptr_t)s % _Alignof(struct dsm_sem))
		return dsm_error_set(EINVAL, "%s: %p of %s is no address of a semaphore", who,
				     (void *)s, d->path);
	ret = dsm_queue_lock(d, (uintptr_t)s, &mine);
	/* A signal handler that came between, or a program that uses the address as a key of its own. */
	if (!mine)
		return dsm_error_set(EDEADLK, "%s: %p of %s: this thread is inside of a call for it", who,
				     (void *)s, d->path);
	if (ret == -EOWNERDEAD) {
		dsm_queue_repair(d, s->queue);
		ret = dsm_lock_consistent(d, (uintptr_t)s);
		if (ret)
			leave(d, s);
	}
	return ret;
}

int dsm_sem_init(struct dsm *d, struct dsm_sem *s, uint64_t value)
{
	if (!s || (uintptr_t)s % _Alignof(struct dsm_sem))
		return dsm_error_set(EINVAL, "dsm_sem_init: %p of %s is no address of a semaphore",
				     (void *)s, d->path);
	s->value = value;
	dsm_queue_init(s->queue);
	return 0;
}

int dsm_sem_wait(struct dsm *d, struct dsm_sem *s)
{
	uint64_t ticket;
	int ret, again;

	ret = enter(d, "dsm_sem_wait", s);
	if (ret)
		return ret;
	if (s->value) {
		s->value--;
		leave(d, s);
		return 0;
	}
	ticket = dsm_queue_join(s->queue);
	leave(d, s);
	ret = dsm_queue_sleep(d, s->queue, ticket);
	if (!ret)
		return 0;
	again = enter(d, "dsm_sem_wait", s);
	if (again)
		return again;
	if (dsm_queue_leave(d, s->queue, ticket))
		ret = 0;
	leave(d, s);
	return ret ? dsm_error_of(d, -ret, "dsm_sem_wait: %p of %s", (void *)s, d->path) : 0;
}

int dsm_sem_trywait(struct dsm *d, struct dsm_sem *s)
{
	bool took;
	int ret = enter(d, "dsm_sem_trywait", s);

	if (ret)
		return ret;
	took = s->value;
	if (took)
		s->value--;
	leave(d, s);
	return took ? 0 : dsm_error_set(EAGAIN, "dsm_sem_trywait: %p of %s", (void *)s, d->path);
}

int dsm_sem_post(struct dsm *d, struct dsm_sem *s)
{
	int ret = enter(d, "dsm_sem_post", s), lost;
	bool woken;

	if (ret)
		return ret;
	/* The waking tells what was written before; without it the unlock does. */
	woken = dsm_queue_wake(d, s->queue, &ret);
	if (woken || (ret && ret != -EHOSTDOWN)) {
		leave(d, s);
	} else {
		s->value++;
		lost = dsm_unlock(d, (uintptr_t)s);
		ret = ret ? ret : lost;
	}
	return ret ? dsm_error_of(d, -ret, "dsm_sem_post: %p of %s", (void *)s, d->path) : 0;
}
