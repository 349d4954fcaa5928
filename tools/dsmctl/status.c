// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmctl status: this node, its links and the regions. Never changes anything.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dsmctl.h"

static const char *state_name(unsigned int state)
{
	switch (state) {
	case DSM_NODE_NONE:
		return "none";
	case DSM_NODE_SELF:
		return "self";
	case DSM_NODE_UP:
		return "up";
	case DSM_NODE_LOST:
		return "lost";
	case DSM_NODE_LEFT:
		return "left";
	default:
		return "unknown";
	}
}

static int node_info(int fd, uint16_t node, struct dsm_ioc_node_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->node = node;
	if (ioctl(fd, DSM_IOC_NODE_INFO, info) < 0)
		return errno;
	info->device[sizeof(info->device) - 1] = '\0';
	info->reason[sizeof(info->reason) - 1] = '\0';
	return 0;
}

static void print_node(const struct dsm_ioc_node_info *n, bool json, bool first)
{
	struct in_addr in = { .s_addr = n->addr };
	char addr[INET_ADDRSTRLEN];
	char place[INET_ADDRSTRLEN + 8];

	inet_ntop(AF_INET, &in, addr, sizeof(addr));
	if (json) {
		printf("%s\n  {\"node\": %u, \"state\": \"%s\", \"addr\": \"%s\", \"port\": %u, "
		       "\"silent_ms\": %u, \"device\": \"%s\", \"reason\": \"%s\"}",
		       first ? "" : ",", n->node, state_name(n->state), addr, n->port, n->silent_ms,
		       n->device, n->reason);
		return;
	}
	if (first)
		printf("%4s  %-5s  %-21s  %9s  %s\n", "NODE", "STATE", "ADDRESS", "SILENT ms",
		       "DEVICE OR REASON");
	snprintf(place, sizeof(place), "%s:%u", addr, n->port);
	printf("%4u  %-5s  %-21s  %9u  %s\n", n->node, state_name(n->state), place, n->silent_ms,
	       *n->reason ? n->reason : n->device);
}

static int print_nodes(int fd, const struct dsm_ioc_node_info *self, bool json)
{
	struct dsm_ioc_node_info info;
	bool first = true;
	unsigned int node;

	for (node = 0; node <= self->max_id; node++) {
		int err = node_info(fd, (uint16_t)node, &info);

		if (err && err != ENOENT)
			return err;
		if (err || info.state == DSM_NODE_NONE)
			continue;
		print_node(&info, json, first);
		first = false;
	}
	return 0;
}

static int show(int fd, bool json)
{
	struct dsm_ioc_node_info self;
	int err = node_info(fd, DSM_NODE_ANY, &self);

	if (err == ENOTCONN || (!err && self.state == DSM_NODE_NONE)) {
		puts(json ? "{\"joined\": false}" : "This node is in no cluster (dsmctl join).");
		return 0;
	}
	if (err)
		return report("status", err, NULL);
	if (json)
		printf("{\"joined\": true, \"node\": %u, \"members\": %u, \"cluster\": \"%016llx\", "
		       "\"insecure\": %s, \"nodes\": [", self.node, self.members,
		       (unsigned long long)self.cluster, self.insecure ? "true" : "false");
	else
		printf("node %u of %u in cluster %016llx\n%s\n", self.node, self.members,
		       (unsigned long long)self.cluster,
		       self.insecure ? "INSECURE: no authentication, any machine that reaches these "
				       "addresses can read and write all memory\n" : "");
	err = print_nodes(fd, &self, json);
	if (err)
		return report("status", err, NULL);
	fputs(json ? "], \"regions\": " : "\n", stdout);
	err = list_regions(fd, json);
	if (json)
		puts("}");
	return err ? report("status", err, NULL) : 0;
}

int cmd_status(int argc, char **argv)
{
	bool json = argc == 2 && !strcmp(argv[1], "--json");
	int fd, ret;

	if (argc > 1 && !json)
		return usage("status", "unknown option \"%s\"", argv[1]);
	fd = open_control();
	if (fd < 0)
		return EXIT_FAILURE;
	ret = show(fd, json);
	close(fd);
	return ret;
}
