/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the macros of dsm.m4 expand to: types, and the table of calls of libdsm. The library is found
 * when the program starts, so that no flag for the linker is needed. Compiles as any C since 1989.
 */
#ifndef DSM_PARMACS_H
#define DSM_PARMACS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Locks and barriers are their address: nothing is ever stored in one. */
typedef struct {
	unsigned int unused;
} dsm_parmacs_lock;

typedef struct {
	unsigned int unused;
} dsm_parmacs_barrier;

/* struct dsm_cond and struct dsm_sem */
typedef struct {
	unsigned long words[3];
} dsm_parmacs_cond;

typedef struct {
	unsigned long words[3];
} dsm_parmacs_sem;

typedef void dsm_parmacs_function(void);

/**
 * struct dsm_parmacs_program - where the program's writable statics are
 * @data: their beginning
 * @end:  their end
 */
struct dsm_parmacs_program {
	void *data;
	void *end;
};

/**
 * struct dsm_parmacs_calls - what libdsm does for the macros; none returns after a failure, end() never
 * @start:  before main(): ranks other than 0 become workers and do not return
 * @get_sub: 0 to @max, one to each call; then -1, once @parties have asked, and 0 again
 * @create: workers 1 to @parties - 1, or one more if @parties is 0
 */
struct dsm_parmacs_calls {
	void (*start)(const struct dsm_parmacs_program *program, char **argv);
	void (*init)(void);
	void (*end)(void);
	void (*create)(dsm_parmacs_function *function, long parties);
	void (*wait_for_end)(void);
	void (*lock)(dsm_parmacs_lock *lock);
	void (*unlock)(dsm_parmacs_lock *lock);
	void (*barrier)(dsm_parmacs_barrier *barrier, unsigned int parties);
	void (*cond_init)(dsm_parmacs_cond *cond);
	void (*cond_wait)(dsm_parmacs_cond *cond, dsm_parmacs_lock *lock);
	void (*cond_signal)(dsm_parmacs_cond *cond);
	void (*cond_broadcast)(dsm_parmacs_cond *cond);
	void (*sem_init)(dsm_parmacs_sem *sem);
	void (*sem_wait)(dsm_parmacs_sem *sem);
	void (*sem_post)(dsm_parmacs_sem *sem);
	void *(*malloc)(size_t bytes);
	void (*free)(void *p);
	unsigned long (*clock)(void);
	void (*roi_begin)(void);
	void (*roi_end)(void);
	/* Programs are built with a table that ends anywhere below: what is new comes last. */
	long (*get_sub)(long *counter, long max, unsigned int parties);
};

/* Of each thread, so that it is not among the statics that workers get from their creator. */
extern __thread const struct dsm_parmacs_calls *dsm_parmacs_found;
const struct dsm_parmacs_calls *dsm_parmacs_find(void);

#define dsm_parmacs() (dsm_parmacs_found ? dsm_parmacs_found : dsm_parmacs_find())

#ifdef __cplusplus
}
#endif

#endif
