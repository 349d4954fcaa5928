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
#include "dsmrun.h"

static int add_host(struct plan *plan, const char *name, bool local)
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
	h->local = local || !strcmp(name, "localhost") || !strcmp(name, own);
	plan->host_count++;
	return 0;
}

int hosts_from_list(struct plan *plan, const char *list)
{
	char *words = strdup(list);
	char *save = NULL;
	char *word;
	int ret = 0;

	for (word = strtok_r(words, ",", &save); word && !ret; word = strtok_r(NULL, ",", &save))
		ret = add_host(plan, word, false);
	free(words);
	if (!ret && !plan->host_count) {
		fprintf(stderr, "dsmrun: --hosts names none\n");
		ret = EXIT_FAILURE;
	}
	return ret;
}

/* One host a line; the address that dsmctl up reads behind it is skipped. */
int hosts_from_file(struct plan *plan, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];
	char name[128];
	int ret = 0;

	if (!f) {
		fprintf(stderr, "dsmrun: %s: %s\n", path, strerror(errno));
		return EXIT_FAILURE;
	}
	while (!ret && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "#\n")] = '\0';
		if (sscanf(line, "%127s", name) == 1)
			ret = add_host(plan, name, false);
	}
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

/* Every node that is up, by the address it gave for RDMA. Only this machine if there is no cluster. */
int hosts_from_cluster(struct plan *plan)
{
	struct dsm_ioc_node_info self, info;
	int fd = open("/dev/dsm", O_RDONLY | O_CLOEXEC);
	unsigned int node;
	int ret = 0;

	if (fd < 0 || node_info(fd, DSM_NODE_ANY, &self)) {
		if (fd >= 0)
			close(fd);
		return add_host(plan, "localhost", true);
	}
	for (node = 0; node <= self.max_id && !ret; node++) {
		char name[INET_ADDRSTRLEN];
		struct in_addr in;

		if (node_info(fd, node, &info))
			continue;
		in.s_addr = info.addr;
		inet_ntop(AF_INET, &in, name, sizeof(name));
		if (info.state == DSM_NODE_SELF)
			ret = add_host(plan, name, true);
		else if (info.state == DSM_NODE_UP)
			ret = add_host(plan, name, false);
	}
	close(fd);
	if (!ret && !plan->host_count)
		ret = add_host(plan, "localhost", true);
	return ret;
}
