// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmctl join and leave: this machine's membership. Never touches another machine; see up.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../hostfile.h"
#include "dsmctl.h"

static int parse_join(int argc, char **argv, struct dsm_ioc_join *arg)
{
	uint64_t value;
	const char *v;
	int i;

	for (i = 1; i < argc; i++) {
		if (option(argc, argv, &i, "--listen", &v)) {
			if (!parse_address(v, &arg->listen_addr, &arg->listen_port))
				return usage("join", "\"%s\" is no ADDR[:PORT]", v);
		} else if (option(argc, argv, &i, "--seed", &v)) {
			if (!parse_address(v, &arg->seed_addr, &arg->seed_port))
				return usage("join", "\"%s\" is no ADDR[:PORT]", v);
		} else if (option(argc, argv, &i, "--node", &v)) {
			if (!parse_number(v, DSM_NODE_ANY - 1, &value))
				return usage("join", "\"%s\" is no node number", v);
			arg->node = (uint16_t)value;
		} else if (option(argc, argv, &i, "--nodes", &v)) {
			if (!parse_number(v, DSM_NODE_ANY - 1, &value))
				return usage("join", "\"%s\" is no number of nodes", v);
			arg->nodes = (uint16_t)value;
		} else if (option(argc, argv, &i, "--timeout", &v)) {
			if (!parse_number(v, 86400, &value) || !value)
				return usage("join", "\"%s\" is no number of seconds", v);
			arg->timeout_ms = (uint32_t)value * 1000;
		} else {
			return usage("join", "unknown or incomplete option \"%s\"", argv[i]);
		}
	}
	if (!arg->listen_addr)
		return usage("join", "--listen is missing");
	return 0;
}

int cmd_join(int argc, char **argv)
{
	struct errtxt errtxt = { "" };
	struct dsm_ioc_join arg = {
		.size = sizeof(arg),
		.node = DSM_NODE_ANY,
		.errtxt_len = sizeof(errtxt.text),
		.errtxt = (uintptr_t)errtxt.text,
	};
	int err = 0;
	int fd, ret;

	ret = parse_join(argc, argv, &arg);
	if (ret)
		return ret;
	fd = open_control();
	if (fd < 0)
		return EXIT_FAILURE;
	if (ioctl(fd, DSM_IOC_JOIN, &arg) < 0)
		err = errno;
	close(fd);
	if (err)
		return report("join", err, &errtxt);
	printf("node %u of %u joined\n", arg.node, arg.nodes);
	return 0;
}

int cmd_leave(int argc, char **argv)
{
	struct errtxt errtxt = { "" };
	struct dsm_ioc_leave arg = {
		.size = sizeof(arg),
		.errtxt_len = sizeof(errtxt.text),
		.errtxt = (uintptr_t)errtxt.text,
	};
	int err = 0;
	int i, fd;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--force"))
			return usage("leave", "unknown option \"%s\"", argv[i]);
		arg.flags |= DSM_LEAVE_FORCE;
	}
	fd = open_control();
	if (fd < 0)
		return EXIT_FAILURE;
	if (ioctl(fd, DSM_IOC_LEAVE, &arg) < 0)
		err = errno;
	close(fd);
	if (err) {
		report("leave", err, &errtxt);
		return err == ENOTCONN ? EXIT_NOT_JOINED : EXIT_FAILURE;
	}
	puts("left");
	return 0;
}
