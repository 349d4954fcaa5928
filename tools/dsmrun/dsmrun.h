/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the files of dsmrun share.
 */
#ifndef DSMRUN_H
#define DSMRUN_H

#include <stdbool.h>
#include <sys/types.h>

#define HOSTS_MAX 64
#define RANKS_MAX 1024

struct host {
	char name[128];		/* for ssh */
	bool local;		/* this machine: no ssh */
};

struct plan {
	struct host hosts[HOSTS_MAX];
	int host_count;
	int ranks;		/* of the whole program */
	int ppn;		/* 0: round robin over the hosts; else so many in a row on each */
	int first, step;	/* ranks to start here: first, first + step, ... */
	char **argv;		/* the program */
};

/* hosts.c: fill plan->hosts. 0 or an exit status after a message. */
int hosts_from_list(struct plan *plan, const char *list);
int hosts_from_file(struct plan *plan, const char *path);
int hosts_from_cluster(struct plan *plan);

/* spawn.c: starts one rank; its output comes on *out and *err. */
struct child {
	int rank;
	pid_t pid;
	bool remote;
	int control;		/* to a remote rank's keeper: signal names; -1 if local */
	int out, err;		/* -1 once closed */
};

int spawn(const struct plan *plan, int rank, struct child *child);
void child_signal(const struct child *child, int sig);

/* run.c: starts all, prefixes their output, forwards signals. The worst exit status. */
int run_all(const struct plan *plan);

#endif
