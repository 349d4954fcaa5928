// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * dsmctl region: create, list and destroy. Never judges a policy; the module does, with a reason.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dsmctl.h"

static int set_name(char *name, const char *text)
{
	if (strlen(text) >= DSM_NAME_MAX)
		return usage("region", "the name \"%s\" is longer than %d characters", text,
			     DSM_NAME_MAX - 1);
	strcpy(name, text);
	return 0;
}

static int set_uid(struct dsm_ioc_region *arg, const char *value)
{
	struct passwd *pw = getpwnam(value);
	uint64_t id;

	if (!pw && !parse_number(value, UINT32_MAX - 1, &id))
		return usage("region", "there is no user \"%s\"", value);
	arg->uid = pw ? pw->pw_uid : (uint32_t)id;
	return 0;
}

static int set_gid(struct dsm_ioc_region *arg, const char *value)
{
	struct group *gr = getgrnam(value);
	uint64_t id;

	if (!gr && !parse_number(value, UINT32_MAX - 1, &id))
		return usage("region", "there is no group \"%s\"", value);
	arg->gid = gr ? gr->gr_gid : (uint32_t)id;
	return 0;
}

static int set_number(const char *key, const char *value, int base, uint64_t max, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(value, &end, base);
	if (errno || end == value || *end || *number > max)
		return usage("region", "%s=%s is no %s number%s", key, value, base == 8 ? "octal" : "hexadecimal",
			     base == 8 ? " up to 777" : "");
	return 0;
}

/* A new region: what the module is asked for, and what is done with it then. */
struct creation {
	struct dsm_ioc_region arg;
	char policy[DSM_POLICY_MAX];
	const char *homes;	/* file, or NULL */
};

/* What the module does not need as text is taken out here; all other settings are its business. */
static int set_option(struct creation *new, const char *word)
{
	struct dsm_ioc_region *arg = &new->arg;
	char *policy = new->policy;
	const char *value = strchr(word, '=');
	size_t key_len = value ? (size_t)(value - word) : 0;
	size_t used = strlen(policy);
	uint64_t number;
	int ret;

	/* A word alone is a preset's name, as the module reads it. */
	if (value)
		value++;
	if (!strncmp(word, "heap=", 5)) {
		if (strcmp(value, "on") && strcmp(value, "off"))
			return usage("region", "heap is on or off");
		arg->flags = !strcmp(value, "on") ? DSM_REGION_HEAP : 0;
		return 0;
	}
	if (key_len == 3 && !strncmp(word, "uid", 3))
		return set_uid(arg, value);
	if (key_len == 3 && !strncmp(word, "gid", 3))
		return set_gid(arg, value);
	if (key_len == 4 && !strncmp(word, "mode", 4)) {
		ret = set_number("mode", value, 8, 0777, &number);
		if (!ret && !number)
			return usage("region", "mode=0 would let nobody use it");
		arg->mode = (uint32_t)number;
		return ret;
	}
	if (key_len == 4 && !strncmp(word, "addr", 4)) {
		ret = set_number("addr", value, 16, UINT64_MAX, &number);
		arg->addr = number;
		return ret;
	}
	if (!strncmp(word, "home=list:", 10)) {
		new->homes = word + 10;
		word = "home=first-touch";
	}
	if (used + 1 + strlen(word) >= DSM_POLICY_MAX)
		return usage("region", "the policy is longer than %d characters",
			     DSM_POLICY_MAX - 1);
	if (used)
		strcat(policy, ",");
	strcat(policy, word);
	return 0;
}

/* Words may be given apart or, as in a policy, with commas between them. */
static int set_options(struct creation *new, char *words)
{
	char *save = NULL;
	char *word;
	int ret = 0;

	for (word = strtok_r(words, ",", &save); word && !ret; word = strtok_r(NULL, ",", &save))
		ret = set_option(new, word);
	return ret;
}

static int destroy_named(const char *name)
{
	struct errtxt errtxt = { "" };
	struct dsm_ioc_region_destroy arg = {
		.size = sizeof(arg),
		.errtxt_len = sizeof(errtxt.text),
		.errtxt = (uintptr_t)errtxt.text,
	};
	int err = 0;
	int fd = open_control();

	if (fd < 0)
		return EXIT_FAILURE;
	strcpy(arg.name, name);
	if (ioctl(fd, DSM_IOC_REGION_DESTROY, &arg) < 0)
		err = errno;
	close(fd);
	return err ? report("region destroy", err, &errtxt) : 0;
}

static int create_as_told(struct creation *new)
{
	struct errtxt errtxt = { "" };
	int err = 0;
	int fd, ret;

	new->arg.policy_len = *new->policy ? (uint32_t)strlen(new->policy) + 1 : 0;
	new->arg.policy = *new->policy ? (uintptr_t)new->policy : 0;
	new->arg.errtxt_len = sizeof(errtxt.text);
	new->arg.errtxt = (uintptr_t)errtxt.text;
	fd = open_control();
	if (fd < 0)
		return EXIT_FAILURE;
	/* No signal leaves a region with some of its homes. */
	if (new->homes)
		note_stops();
	if (ioctl(fd, DSM_IOC_REGION_CREATE, &new->arg) < 0)
		err = errno;
	close(fd);
	ret = err ? report("region create", err, &errtxt) : 0;
	if (!err && new->homes) {
		ret = load_homes(new->arg.name, new->homes);
		if (ret)
			destroy_named(new->arg.name);
	}
	return ret && stopped_by() ? 128 + stopped_by() : ret;
}

static int create(int argc, char **argv)
{
	struct creation new = { .arg = {
		.size = sizeof(new.arg),
		.uid = (uint32_t)-1,
		.gid = (uint32_t)-1,
	} };
	uint64_t bytes;
	char size[32];
	int i, ret;

	if (argc < 3)
		return usage("region", "create needs NAME and SIZE");
	ret = set_name(new.arg.name, argv[1]);
	if (ret)
		return ret;
	if (!parse_size(argv[2], &bytes) || !bytes)
		return usage("region", "\"%s\" is no size, such as 64M or 4G", argv[2]);
	new.arg.bytes = bytes;
	for (i = 3; i < argc; i++) {
		ret = set_options(&new, argv[i]);
		if (ret)
			return ret;
	}
	ret = create_as_told(&new);
	if (ret)
		return ret;
	printf("%s-%s: %s at 0x%llx\n", control_path(), new.arg.name, format_size(bytes, size, sizeof(size)),
	       (unsigned long long)new.arg.addr);
	return 0;
}

static int destroy(int argc, char **argv)
{
	char name[DSM_NAME_MAX];
	int ret;

	if (argc != 2)
		return usage("region", "destroy needs one NAME");
	ret = set_name(name, region_name(argv[1]));
	return ret ? ret : destroy_named(name);
}

static void print_region(const struct dsm_ioc_region_info *r, bool json, bool first)
{
	char size[32];

	if (json) {
		printf("%s\n  {\"id\": %u, \"name\": \"%s\", \"bytes\": %llu, \"addr\": %llu, "
		       "\"heap\": %s, \"uid\": %u, \"gid\": %u, \"mode\": \"%04o\", \"opens\": %u, "
		       "\"touched_pages\": %llu, \"homed_pages\": %llu, \"members\": %llu, "
		       "\"policy\": \"%s\"}",
		       first ? "" : ",", r->id, r->name, (unsigned long long)r->bytes,
		       (unsigned long long)r->addr,
		       r->region_flags & DSM_REGION_HEAP ? "true" : "false", r->uid, r->gid,
		       r->mode, r->opens, (unsigned long long)r->touched_pages,
		       (unsigned long long)r->homed_pages, (unsigned long long)r->members,
		       r->policy);
		return;
	}
	if (first)
		printf("%-20s %8s %-14s %4s %5s %9s %9s  %s\n", "REGION", "SIZE", "ADDRESS", "MODE",
		       "OPENS", "TOUCHED", "HOME", "POLICY");
	printf("%s%s%-*s %8s %-14llx %04o %5u %9llu %9llu  %s%s%s\n", control_path(), *r->name ? "-" : "",
	       *r->name ? 11 : 12, r->name, format_size(r->bytes, size, sizeof(size)),
	       (unsigned long long)r->addr, r->mode, r->opens,
	       (unsigned long long)r->touched_pages, (unsigned long long)r->homed_pages,
	       r->region_flags & DSM_REGION_HEAP ? "heap=on" : "raw", *r->policy ? "," : "",
	       r->policy);
}

/* The region after the one with this id; 0 or an errno, ENOENT after the last. */
static int next_region(int fd, uint32_t id, struct dsm_ioc_region_info *info)
{
	*info = (struct dsm_ioc_region_info){ .size = sizeof(*info), .flags = DSM_INFO_NEXT, .id = id };
	if (ioctl(fd, DSM_IOC_REGION_INFO, info) < 0)
		return errno;
	info->name[sizeof(info->name) - 1] = '\0';
	info->policy[sizeof(info->policy) - 1] = '\0';
	return 0;
}

int find_region(int fd, const char *name, uint32_t *id)
{
	struct dsm_ioc_region_info info = { .id = 0 };
	int err;

	do {
		err = next_region(fd, info.id, &info);
	} while (!err && strcmp(info.name, name));
	*id = info.id;
	return err;
}

/* All regions of the cluster; 0 or an errno. */
int list_regions(int fd, bool json)
{
	struct dsm_ioc_region_info info = { .id = 0 };
	bool first = true;
	int err;

	if (json)
		fputs("[", stdout);
	while (!(err = next_region(fd, info.id, &info))) {
		print_region(&info, json, first);
		first = false;
	}
	if (json)
		fputs("]", stdout);
	return err == ENOENT ? 0 : err;
}

static int list(int argc, char **argv)
{
	bool json = argc == 2 && !strcmp(argv[1], "--json");
	int fd, err;

	if (argc > 1 && !json)
		return usage("region", "list knows only --json");
	fd = open_control();
	if (fd < 0)
		return EXIT_FAILURE;
	err = list_regions(fd, json);
	close(fd);
	if (json)
		putchar('\n');
	return err ? report("region list", err, NULL) : 0;
}

int cmd_region(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "create"))
		return create(argc - 1, argv + 1);
	if (!strcmp(what, "destroy"))
		return destroy(argc - 1, argv + 1);
	if (!strcmp(what, "list"))
		return list(argc - 1, argv + 1);
	return usage("region", "create, list or destroy?");
}
