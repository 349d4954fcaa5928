// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Where to start: a list, a host file, or the nodes of the cluster that this machine is in.
 * Never resolves a name; that is ssh's part.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../uapi/dsm.h"
#include "../hostfile.h"
#include "../local_node.h"
#include "dsmrun.h"

/* The same name, or one of them with a domain behind it. */
static bool is_same_host(const char *a, const char *b)
{
	size_t len = strcspn(a, ".");

	if (len != strcspn(b, ".") || strncmp(a, b, len))
		return false;
	return !a[len] || !b[len] || !strcmp(a, b);
}

/* @addr: of the machine, or 0. */
static int add_host(struct plan *plan, const char *name, uint32_t addr)
{
	char own[128] = "";
	struct host *h;

	if (plan->host_count == HOSTS_MAX) {
		fprintf(stderr, "dsmrun: more than %d hosts\n", HOSTS_MAX);
		return EXIT_FAILURE;
	}
	h = &plan->hosts[plan->host_count];
	if (!*name || *name == '-' || strlen(name) >= sizeof(h->name)) {
		fprintf(stderr, "dsmrun: \"%s\" is no host name\n", name);
		return EXIT_FAILURE;
	}
	gethostname(own, sizeof(own) - 1);
	strcpy(h->name, name);
	/* Another user of this machine is reached over ssh. */
	h->local = !strchr(name, '@') &&
		   (!strcmp(name, "localhost") || (addr ? is_own_address(addr) : is_same_host(name, own)));
	plan->host_count++;
	return 0;
}

int hosts_from_list(struct plan *plan, const char *list)
{
	char *words = strdup(list);
	char *save = NULL;
	char *word;
	uint16_t port;
	int ret = 0;

	for (word = strtok_r(words, ",", &save); word && !ret; word = strtok_r(NULL, ",", &save)) {
		uint32_t addr = 0;

		parse_address(word, &addr, &port);
		ret = add_host(plan, word, addr);
	}
	free(words);
	if (!ret && !plan->host_count) {
		fprintf(stderr, "dsmrun: --hosts names none\n");
		ret = EXIT_FAILURE;
	}
	return ret;
}

/* One host a line, with the address that dsmctl up reads behind it, if it is not the name. */
int hosts_from_file(struct plan *plan, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int number = 0, found;
	int ret = 0;

	if (!f) {
		fprintf(stderr, "dsmrun: %s: %s\n", path, strerror(errno));
		return EXIT_FAILURE;
	}
	while (!ret && getline(&line, &room, f) > 0) {
		struct host_line h;

		number++;
		found = parse_host_line(line, &h);
		if (found > 0)
			ret = add_host(plan, h.name, h.addr);
		if (found >= 0)
			continue;
		fprintf(stderr, "dsmrun: %s:%d: \"%s\" is no [USER@]HOST [ADDR[:PORT]] with an IPv4 address\n", path,
			number, line);
		ret = EXIT_FAILURE;
	}
	if (!ret && ferror(f)) {
		fprintf(stderr, "dsmrun: %s: %s\n", path, strerror(errno));
		ret = EXIT_FAILURE;
	}
	free(line);
	fclose(f);
	if (!ret && !plan->host_count) {
		fprintf(stderr, "dsmrun: %s names no host\n", path);
		ret = EXIT_FAILURE;
	}
	return ret;
}

static int node_info(int fd, unsigned int node, struct dsm_ioc_node_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->node = (__u16)node;
	return ioctl(fd, DSM_IOC_NODE_INFO, info);
}

/*
 * Which of this machine's nodes it is; it may be the only one, without a number. Nodes of one machine may be in several
 * clusters. 0 or an exit status.
 */
static int find_node(const struct dsm_ioc_node_info *wanted, char name[4])
{
	struct dsm_ioc_node_info info;
	char path[] = "/dev/dsm.K";
	int k, fd;

	*name = '\0';
	if (access("/dev/dsm.1", F_OK))
		return 0;
	for (k = 0; k < DSM_LOCAL_NODES_MAX && !*name; k++) {
		snprintf(path + 8, sizeof(path) - 8, k ? ".%d" : "", k);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!node_info(fd, DSM_NODE_ANY, &info) && info.node == wanted->node &&
		    info.cluster == wanted->cluster)
			snprintf(name, 4, "%d", k);
		close(fd);
	}
	if (*name)
		return 0;
	fprintf(stderr, "dsmrun: node %u of the cluster is one of this machine's, but none that you may use\n", wanted->node);
	return EXIT_FAILURE;
}

/* Of another machine only the port is known: its node K has the usual one and K, or was given one. */
static int set_node(struct host *h, const struct dsm_ioc_node_info *info)
{
	int k = info->port - DSM_PORT;

	if (h->local)
		return find_node(info, h->node);
	if (k > 0 && k < DSM_LOCAL_NODES_MAX)
		snprintf(h->node, sizeof(h->node), "%d", k);
	return 0;
}

/* Every node that is up, by the address it gave for RDMA. Only this machine if there is no cluster. */
int hosts_from_cluster(struct plan *plan)
{
	struct dsm_ioc_node_info self, info;
	int fd = open(control_path(), O_RDONLY | O_CLOEXEC);
	unsigned int node;
	int ret = 0;

	if (fd < 0 && errno == EACCES) {
		fprintf(stderr, "dsmrun: %s says who the nodes are, but: %s\n"
			"Name them with --hostfile or --hosts, or say --local.\n", control_path(), strerror(errno));
		return EXIT_FAILURE;
	}
	if (fd < 0 || node_info(fd, DSM_NODE_ANY, &self)) {
		if (fd >= 0)
			close(fd);
		return add_host(plan, "localhost", 0);
	}
	for (node = 0; node <= self.max_id && !ret; node++) {
		char name[INET_ADDRSTRLEN];
		struct in_addr in;

		if (node_info(fd, node, &info))
			continue;
		in.s_addr = info.addr;
		inet_ntop(AF_INET, &in, name, sizeof(name));
		if (info.state != DSM_NODE_SELF && info.state != DSM_NODE_UP)
			continue;
		ret = add_host(plan, info.state == DSM_NODE_SELF ? "localhost" : name, info.addr);
		if (!ret)
			ret = set_node(&plan->hosts[plan->host_count - 1], &info);
	}
	close(fd);
	if (!ret && !plan->host_count)
		ret = add_host(plan, "localhost", 0);
	return ret;
}
