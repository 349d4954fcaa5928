/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * libdsm: programs that share memory across machines through the dsm module.
 *
 * Functions return 0 or a negative errno unless said otherwise; dsm_error() has a line of text
 * for the calling thread's last failure. See dsm(7) and the page of each call.
 */
#ifndef DSM_H
#define DSM_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dsm;
struct timespec;	/* strict C99's <time.h> has none */

#define DSM_RDONLY 1u	/* map read-only */
#define DSM_CREATE 2u	/* create the region if it is missing: 1 GiB, heap=on */

struct dsm *dsm_open(const char *region, unsigned int flags);
int dsm_close(struct dsm *d);
void *dsm_base(const struct dsm *d);
size_t dsm_size(const struct dsm *d);
int dsm_fd(const struct dsm *d);
int dsm_has_heap(const struct dsm *d);

int dsm_rank(const struct dsm *d);
int dsm_ranks(const struct dsm *d);
int dsm_node(const struct dsm *d);
int dsm_nodes(const struct dsm *d);

int dsm_lock(struct dsm *d, uint64_t key);
int dsm_trylock(struct dsm *d, uint64_t key);
int dsm_timedlock(struct dsm *d, uint64_t key, const struct timespec *abs_monotonic);
int dsm_unlock(struct dsm *d, uint64_t key);
int dsm_lock_consistent(struct dsm *d, uint64_t key);

int dsm_barrier(struct dsm *d, uint64_t key, unsigned int parties);

int dsm_flag_set(struct dsm *d, uint64_t key);
int dsm_flag_wait(struct dsm *d, uint64_t key);
int dsm_flag_clear(struct dsm *d, uint64_t key);

/*
 * In memory that all who use them share; they are their address, so they are never copied or
 * moved. Made and used again without a message; there is no end to how many there are.
 */
struct dsm_cond {
	uint64_t lock;
	uint64_t queue[2];
};

struct dsm_sem {
	uint64_t value;
	uint64_t queue[2];
};

int dsm_cond_init(struct dsm *d, struct dsm_cond *c);
int dsm_cond_wait(struct dsm *d, struct dsm_cond *c, uint64_t lock_key);
int dsm_cond_signal(struct dsm *d, struct dsm_cond *c);
int dsm_cond_broadcast(struct dsm *d, struct dsm_cond *c);

int dsm_sem_init(struct dsm *d, struct dsm_sem *s, uint64_t value);
int dsm_sem_wait(struct dsm *d, struct dsm_sem *s);
int dsm_sem_trywait(struct dsm *d, struct dsm_sem *s);
int dsm_sem_post(struct dsm *d, struct dsm_sem *s);

int dsm_acquire(struct dsm *d);
int dsm_release(struct dsm *d);
int dsm_prefetch(struct dsm *d, const void *addr, size_t len);
int dsm_prefetch_rows(struct dsm *d, const void *addr, size_t len, size_t stride, size_t count);

int dsm_roi_begin(struct dsm *d, unsigned int parties);
int dsm_roi_end(struct dsm *d);
uint64_t dsm_roi_count(const struct dsm *d, unsigned int counter);

/* In a heap region, from any node. NULL and errno (ENOMEM full, EINVAL raw region) on failure. */
void *dsm_malloc(struct dsm *d, size_t n);
void *dsm_calloc(struct dsm *d, size_t n, size_t size);
void *dsm_aligned_alloc(struct dsm *d, size_t align, size_t n);
int dsm_free(struct dsm *d, void *p);

const char *dsm_error(void);

#ifdef __cplusplus
}
#endif

#endif
