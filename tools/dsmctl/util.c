// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Words and numbers for the subcommands: parsing, messages, opening the control device.
 * Never exits; a subcommand returns its status.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dsmctl.h"

int fail(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("dsmctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return EXIT_FAILURE;
}

int usage(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "dsmctl %s: ", command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nTry: dsmctl %s --help\n", command);
	return EXIT_USAGE;
}

const char *region_name(const char *text)
{
	const char *name;
	char node[12];

	if (strncmp(text, "/dev/dsm", 8))
		return text;
	name = text + 8;
	if (*name == '.') {
		snprintf(node, sizeof(node), "%.*s", (int)strcspn(name + 1, "-"), name + 1);
		setenv("DSM_LOCAL_NODE", node, 1);
		name += strcspn(name, "-");
	}
	return *name == '-' ? name + 1 : name;
}

int open_control(void)
{
	const char *path = control_path();
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (strchr(path, '?'))
		fail("DSM_LOCAL_NODE is \"%.32s\": a machine's nodes are 0 to %d", getenv("DSM_LOCAL_NODE"),
		     DSM_LOCAL_NODES_MAX - 1);
	else if (errno == ENOENT || errno == ENXIO)
		fail("%s is missing: load the module first (modprobe dsm insecure=1%s)", path,
		     strchr(path, '.') ? " nodes=N" : "");
	else
		fail("%s: %s%s", path, strerror(errno),
		     errno == EACCES ? " (are you root, or in the device's group?)" : "");
	return -1;
}

int report(const char *what, int err, const struct errtxt *errtxt)
{
	if (errtxt && errtxt->text[0])
		return fail("%s: %.*s (%s)", what, (int)sizeof(errtxt->text), errtxt->text,
			    strerror(err));
	switch (err) {
	case ENOTCONN:
		return fail("%s: this node is in no cluster; join one with dsmctl join", what);
	case ENOTTY:
		return fail("%s: the module loaded does not know this command; "
			    "it is of another version than dsmctl", what);
	case EPERM:
	case EACCES:
		return fail("%s: %s (this needs root)", what, strerror(err));
	default:
		return fail("%s: %s", what, strerror(err));
	}
}

bool option(int argc, char **argv, int *i, const char *name, const char **value)
{
	const char *word = argv[*i];
	size_t len = strlen(name);

	if (strncmp(word, name, len))
		return false;
	if (word[len] == '=') {
		*value = word + len + 1;
		return true;
	}
	if (word[len] || *i + 1 >= argc)
		return false;
	*value = argv[++*i];
	return true;
}

bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
	unsigned long long v;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v > max)
		return false;
	*value = v;
	return true;
}

bool parse_size(const char *text, uint64_t *bytes)
{
	unsigned int shift = 0;
	unsigned long long v;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	switch (*end) {
	case 'K':
	case 'k':
		shift = 10;
		break;
	case 'M':
	case 'm':
		shift = 20;
		break;
	case 'G':
	case 'g':
		shift = 30;
		break;
	case 'T':
	case 't':
		shift = 40;
		break;
	}
	if (shift)
		end++;
	if (errno || *end || v > UINT64_MAX >> shift)
		return false;
	*bytes = (uint64_t)v << shift;
	return true;
}

const char *format_size(uint64_t bytes, char *buf, size_t len)
{
	static const char units[] = "BKMGTPE";
	unsigned int unit = 0;

	while (units[unit + 1] && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	if (unit)
		snprintf(buf, len, "%llu%c", (unsigned long long)bytes, units[unit]);
	else
		snprintf(buf, len, "%llu", (unsigned long long)bytes);
	return buf;
}

static volatile sig_atomic_t stopped;

static void note(int number)
{
	stopped = number;
}

void on_stop(void (*what)(int))
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = what };
	struct sigaction old;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &act, NULL);
}

void note_stops(void)
{
	on_stop(note);
}

int stopped_by(void)
{
	return stopped;
}
