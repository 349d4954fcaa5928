/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the test programs share: regions of their own, children, and waiting
 * for a state. Needs a guest whose node has joined a cluster. Never decides a test's result.
 */
#ifndef DSM_KSFT_H
#define DSM_KSFT_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include "../../uapi/dsm.h"

#define PAGE 4096ul
#define NOBODY 1000	/* a user and group without rights */

/* A call that must fail, and how. */
#define EXPECT_ERRNO(error, call) do {					\
	errno = 0;							\
	EXPECT_LT((long)(call), 0) {					\
		TH_LOG("%s succeeded", #call);				\
	}								\
	EXPECT_EQ(error, errno) {					\
		TH_LOG("%s: %s", #call, strerror(errno));		\
	}								\
} while (0)

/* A region of a test; pages are homed on the nodes in turn, so both kinds of pages are tested. */
struct region {
	char name[DSM_NAME_MAX];
	char path[DSM_NAME_MAX + 16];
	uint64_t bytes;
	uint64_t addr;
	uint32_t id;
	int fd;
};

/* All: 0 or a negative errno. @err: room for 200 bytes, or NULL. */
int create_region(struct dsm_ioc_region *arg, const char *policy, char *err);
int destroy_region(const char *name, char *err);
/* Creates a region with a name no other test has and opens it for reading and writing. */
int make_region(struct region *r, uint64_t bytes);
int make_region_with(struct region *r, uint64_t bytes, const char *policy);
/* In the teardown of the parent: the test process is gone, so this also proves that it left nothing open. */
int end_region(struct region *r);

char *map_region(const struct region *r, size_t pages, size_t first, int prot);
int region_call(int fd, unsigned long cmd);	/* DSM_IOC_ACQUIRE, DSM_IOC_RELEASE ... */
uint64_t counter(enum dsm_stat which);

/* Exit status of a child, 128 + signal if one ended it; -1 if it is still there after the bound. */
int child_status(pid_t pid);
/* Ends the process with a core file of all that may be in one, shared mappings of files too. */
_Noreturn void dump_core(void);
/* Is there a page all of @byte in a process's core file, which goes: 1 or 0; -1 there is no such file. */
int core_has_page_of(pid_t pid, unsigned char byte);
/* Polls until a process sleeps in the kernel; false after the bound. */
bool wait_asleep(pid_t pid);
/* Memory that children share, zero. */
void *shared_bytes(size_t bytes);
/* Polls until *@word is @value; false after the bound. */
bool wait_word(volatile int *word, int value);
void become_nobody(void);

#endif
