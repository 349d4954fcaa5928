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

/* Of programs that could not be started, as a shell has it. */
#define EXIT_NOT_RUN 126
#define EXIT_NOT_FOUND 127

struct host {
	char name[128];		/* for ssh */
	char node[4];		/* DSM_LOCAL_NODE: which of the machine's; "": as it is set, or the first */
	bool local;		/* this machine: no ssh */
	int *pending;		/* connections to the machine that ssh has not made yet; its entries share @first_pending */
	int first_pending;
};

struct plan {
	struct host hosts[HOSTS_MAX];
	int host_count;
	int ranks;		/* of the whole program */
	bool together;		/* a rank that fails ends all */
	int ppn;		/* 0: round robin over the hosts; else so many in a row on each */
	int shares, share;	/* so many dsmruns start the ranks; this one is number share */
	char **argv;		/* the program */
};

/* hosts.c: fill plan->hosts. 0 or an exit status after a message. */
int hosts_from_list(struct plan *plan, const char *list);
int hosts_from_file(struct plan *plan, const char *path);
int hosts_from_cluster(struct plan *plan);

/* program.c: a process here that ends with its parent; *pid. 0 or an exit status after a message. */
struct start {
	char **argv;
	const char *rank, *ranks;	/* for the program's environment */
	const char *node;		/* likewise, unless "" */
	int in, out, err;
	bool own_group;
};

int program_start(const struct start *start, pid_t *pid);
/* Each rank has files here: as many as may be; and a program as many as its user gave it. */
void files_raise(void);
void files_restore(void);

/* keep.c: what dsmrun is at the other end of ssh. */
int keep(void);

/* Lines of a keeper on its output, before any of the program. */
#define KEEPER_READY "\001dsmrun: ready"
#define KEEPER_FAILED "\001dsmrun: not started"
/* After the program, on both outputs, with its exit status: others may hold them, and ssh waits for those. */
#define KEEPER_ENDED "\001dsmrun: ended "
/* The first word that a keeper reads; changes with what follows it. */
#define KEEPER_MAGIC "dsmrun-3"
#define KEEPER_INPUT_MAX (1 << 20)

/* spawn.c: one rank, here or over ssh; its output comes on out and err. */
struct child {
	int rank;
	struct host *host;
	pid_t pid;		/* 0 before the start and after the end */
	bool begun;		/* spawn() was called */
	bool ready;		/* the other machine was reached (or is this one) */
	bool failed;		/* the program could not be started there */
	bool in_our_group;	/* gets the signals of our terminal by itself */
	int told;		/* what the keeper says the exit status is, */
	int ends;		/* on so many of the two outputs */
	int status;		/* exit status once it has ended */
	int control;		/* to a remote rank's keeper; -1 if local */
	int out, err;		/* -1 before the start and once closed */
};

int spawn(const struct plan *plan, struct child *child);
void child_signal(const struct child *child, int sig, bool from_terminal);
/* Ends the connection of a remote child, which ends its program. */
void child_disconnect(const struct child *child);

/* run.c: starts all, prefixes their output, forwards signals. The worst exit status. */
int run_all(struct plan *plan);

#endif
