/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Threads that wait in shared memory in the order in which they came, for condition variables and
 * semaphores. Knows neither what they wait for nor the lock that guards a queue. Never installed.
 *
 * Who comes takes the next ticket, gives the lock up and waits for a flag whose key is made of the
 * queue's address and the ticket; who wakes sets the flag of the first ticket. Tickets of a queue
 * begin with the time at which it was made, so that no flag that was set is ever used again: one that
 * a killed process left wakes nobody, also where a new queue begins in the same place.
 *
 * Whoever gives up sets the flag of his own ticket, and who would wake him finds it set and goes
 * on to the next. A process that is killed while it waits cannot: a wake-up for it is lost.
 */
#ifndef DSM_QUEUE_H
#define DSM_QUEUE_H

#include "internal.h"

enum { QUEUE_FIRST, QUEUE_NEXT };	/* tickets: of who waits longest, of who comes next */

static inline bool dsm_queue_is_empty(const uint64_t *queue)
{
	return __atomic_load_n(&queue[QUEUE_FIRST], __ATOMIC_RELAXED) ==
	       __atomic_load_n(&queue[QUEUE_NEXT], __ATOMIC_RELAXED);
}

/* Nobody waits. Local. */
DSM_HIDDEN void dsm_queue_init(uint64_t *queue);

/* Under the lock: come to the end; the ticket. */
static inline uint64_t dsm_queue_join(uint64_t *queue)
{
	return queue[QUEUE_NEXT]++;
}

/* Without the lock: wait until woken, whatever signals come. 0, -EHOSTDOWN, -EDQUOT, -ENOTCONN. */
DSM_HIDDEN int dsm_queue_sleep(struct dsm *d, const uint64_t *queue, uint64_t ticket);
/* Under the lock, if that failed: give up. True: woken meanwhile. */
DSM_HIDDEN bool dsm_queue_leave(struct dsm *d, uint64_t *queue, uint64_t ticket);
/*
 * Under the lock: wake who waits longest. False: nobody waits, or the flag cannot be set and *@err says why. *@err
 * becomes -EHOSTDOWN if what was written before, or the flag, was on a node that is lost: that keeps nobody from being
 * woken.
 */
DSM_HIDDEN bool dsm_queue_wake(struct dsm *d, uint64_t *queue, int *err);

/* Under the lock, whose last holder was killed, perhaps within dsm_queue_wake(): who it was to wake is woken. */
DSM_HIDDEN void dsm_queue_repair(struct dsm *d, const uint64_t *queue);

/*
 * The lock, whatever signals come: 0; -EOWNERDEAD: taken, its last holder ended; else not taken.
 * *@mine: false if the calling thread held it before, which is as good.
 */
DSM_HIDDEN int dsm_queue_lock(struct dsm *d, uint64_t key, bool *mine);

#endif
