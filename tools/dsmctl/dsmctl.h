/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the subcommands of dsmctl share. Never knows how a subcommand works.
 */
#ifndef DSMCTL_H
#define DSMCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../uapi/dsm.h"
#include "../local_node.h"

#define EXIT_USAGE 2
#define EXIT_NOT_JOINED 3	/* of leave: there is nothing to leave */

struct command {
	const char *name;
	const char *help;	/* usage and options; printed by --help */
	int (*run)(int argc, char **argv);	/* argv[0] is the subcommand; returns the exit status */
};

int cmd_join(int argc, char **argv);
int cmd_leave(int argc, char **argv);
int cmd_up(int argc, char **argv);
int cmd_down(int argc, char **argv);
int cmd_region(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_homes(int argc, char **argv);

/* Prints "dsmctl: ..." and returns the exit status for it: 1. */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for a wrong command line: names the help, returns EXIT_USAGE. */
int usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A region's name, from that or from its device as region list prints it; a device of another of this machine's nodes
 * than DSM_LOCAL_NODE or --node said makes the command about that one: to be called before open_control().
 */
const char *region_name(const char *text);
/* Opens control_path() or says why not and returns -1. */
int open_control(void);

/* Room for the module's own words on a failed control ioctl. */
struct errtxt {
	char text[256];
};

/* Reports a failed ioctl: what was tried, the module's text or that of errno. Returns 1. */
int report(const char *what, int err, const struct errtxt *errtxt);

/* From now on SIGINT, SIGTERM and SIGHUP end a wait and are noted, unless whoever started this ignores them. */
void note_stops(void);
/* The last one, or 0. */
int stopped_by(void);
/* Another way to deal with them. */
void on_stop(void (*what)(int));

/* Whether argv[*i] is the option @name, as "--name VALUE" (then *i moves on) or "--name=VALUE". */
bool option(int argc, char **argv, int *i, const char *name, const char **value);

bool parse_number(const char *text, uint64_t max, uint64_t *value);
/* Bytes with an optional K, M, G or T (powers of 1024). */
bool parse_size(const char *text, uint64_t *bytes);
/* Prints all regions: table or JSON array. 0 or an errno. */
int list_regions(int fd, bool json);
/* Homes of a new region's pages as a file says ("-": standard input); the exit status. */
int load_homes(const char *name, const char *path);
/* The id of a region; 0 or an errno. */
int find_region(int fd, const char *name, uint32_t *id);
/* Bytes as a short text with a binary unit. */
const char *format_size(uint64_t bytes, char *buf, size_t len);

#endif
