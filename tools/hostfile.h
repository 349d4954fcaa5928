/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Host files of dsmctl up and dsmrun, and the addresses in them. Never resolves a name; that is ssh's part.
 */
#ifndef DSM_HOSTFILE_H
#define DSM_HOSTFILE_H

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "ADDR[:PORT]", IPv4, in the network's order; @port is 0 without one. */
static inline bool parse_address(const char *text, uint32_t *addr, uint16_t *port)
{
	size_t len = strcspn(text, ":");
	char host[INET_ADDRSTRLEN], *end;
	unsigned long number = 0;
	struct in_addr in;

	if (len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	if (text[len]) {
		text += len + 1;
		number = strtoul(text, &end, 10);
		if (*text < '0' || *text > '9' || *end || !number || number > UINT16_MAX)
			return false;
	}
	if (inet_pton(AF_INET, host, &in) != 1 || !in.s_addr)
		return false;
	*addr = in.s_addr;
	*port = (uint16_t)number;
	return true;
}

static inline bool is_own_address(uint32_t addr)
{
	struct ifaddrs *list, *at;
	bool found = false;

	if (getifaddrs(&list))
		return false;
	for (at = list; at; at = at->ifa_next)
		if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET &&
		    ((struct sockaddr_in *)at->ifa_addr)->sin_addr.s_addr == addr)
			found = true;
	freeifaddrs(list);
	return found;
}

/**
 * struct host_line - one host
 * @name:    for ssh
 * @address: ADDR[:PORT] of its RDMA interface, or "" if only a name is known
 * @addr:    the same, or 0
 */
struct host_line {
	char name[128];
	char address[32];
	uint32_t addr;
};

/* "[USER@]HOST [ADDR[:PORT]]", where HOST may be ADDR[:PORT] itself; # begins a comment. 1, 0: no host, -1: no such line. */
static inline int parse_host_line(char *line, struct host_line *h)
{
	char name[160], more[2];
	const char *host;
	uint16_t port;
	int words;

	memset(h, 0, sizeof(*h));
	line[strcspn(line, "#\n")] = '\0';
	words = sscanf(line, "%159s %31s %1s", name, h->address, more);
	if (words < 1)
		return 0;
	host = strchr(name, '@') ? strchr(name, '@') + 1 : name;
	if (words == 1 && strlen(host) < sizeof(h->address) && parse_address(host, &h->addr, &port)) {
		strcpy(h->address, host);
		name[host - name + (int)strcspn(host, ":")] = '\0';
	} else if (words > 2 || (words == 2 && !parse_address(h->address, &h->addr, &port))) {
		return -1;
	}
	if (*name == '-' || strlen(name) >= sizeof(h->name))
		return -1;
	strcpy(h->name, name);
	return 1;
}

#endif
