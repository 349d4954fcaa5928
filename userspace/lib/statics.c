// SPDX-License-Identifier: LGPL-2.1-only
/* Copyright (C) 2026 The dsm authors */
/*
 * A PARMACS program's writable statics, .data and .bss, on all ranks: copied to the workers at each
 * CREATE, or with DSM_STATICS=shared placed in the region at the first one.
 *
 * Only pages that are not zero are sent. What the dynamic linker put among the statics, copies of the
 * libraries' variables such as stdout, each process keeps.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "parmacs.h"

#define KEPT_MAX 64
#define MOVED "DSM_PARMACS_FIXED"	/* in the environment of the program that this one became */

struct range {
	char *at;
	size_t bytes;
	char *value;
};

static struct {
	struct range range[KEPT_MAX];
	unsigned int used;
	size_t bytes;	/* of all */
} kept;

/* Of rank 0: the last statics given, and all blocks that later ones may refer to. */
static struct parmacs_statics *last;
static struct {
	void **block;
	size_t used, room;
} given;
/* Of rank 0: where the statics are one for all, or NULL. */
static struct parmacs_statics *placed;
/* Of any rank: the same. */
static const struct parmacs_statics *mapped;

static const char zero[HEAP_PAGE];

static bool is_zero(const char *p, size_t bytes)
{
	return !bytes || (!*p && !memcmp(p, p + 1, bytes - 1));
}

/* ---- what each process keeps ---- */

static void keep(char *at, size_t bytes)
{
	char *value = malloc(bytes);

	if (kept.used == KEPT_MAX || !value)
		dsm_parmacs_die("too many variables of libraries among the program's");
	kept.range[kept.used++] = (struct range){ .at = at, .bytes = bytes, .value = value };
	kept.bytes += bytes;
}

/* The main program comes first. What a library cannot write lies outside of the statics: nothing is done with it. */
static int find_kept(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	const struct dsm_parmacs_program *program = arg;
	const Elf64_Dyn *dyn = NULL;
	const Elf64_Rela *rela = NULL;
	const Elf64_Sym *symbols = NULL;
	size_t i, count = 0;

	(void)bytes;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_RELA)
			rela = (const void *)dyn->d_un.d_ptr;
		else if (dyn->d_tag == DT_RELASZ)
			count = dyn->d_un.d_val / sizeof(*rela);
		else if (dyn->d_tag == DT_SYMTAB)
			symbols = (const void *)dyn->d_un.d_ptr;
	}
	for (i = 0; rela && symbols && i < count; i++) {
		char *at = (char *)info->dlpi_addr + rela[i].r_offset;

		if (ELF64_R_TYPE(rela[i].r_info) == R_X86_64_COPY && at >= (char *)program->data &&
		    at < (char *)program->end)
			keep(at, symbols[ELF64_R_SYM(rela[i].r_info)].st_size);
	}
	return 1;
}

static void remember_kept(void)
{
	unsigned int i;

	for (i = 0; i < kept.used; i++)
		memcpy(kept.range[i].value, kept.range[i].at, kept.range[i].bytes);
}

static void restore_kept(void)
{
	unsigned int i;

	for (i = 0; i < kept.used; i++)
		memcpy(kept.range[i].at, kept.range[i].value, kept.range[i].bytes);
}

static bool is_kept(const char *at)
{
	unsigned int i;

	for (i = 0; i < kept.used; i++)
		if (at >= kept.range[i].at && at < kept.range[i].at + kept.range[i].bytes)
			return true;
	return false;
}

/* ---- the same addresses on all nodes ---- */

/*
 * Statics hold addresses of other statics and of functions, so that these must be the same
 * everywhere: the program is begun again without random addresses. Then libraries are at the same
 * places too, if the nodes have the same ones, and their addresses are looked up at once, so that the
 * linker's table, which lies before the statics, does not change any more.
 */
void dsm_parmacs_statics_fix(char **argv, const struct dsm_parmacs_program *program)
{
	int persona = personality(0xffffffff);
	char path[4096];
	ssize_t len;

	const char *moved = getenv(MOVED);
	const char *keeps = persona & ADDR_NO_RANDOMIZE ? "fixed" : "random";

	if (moved) {
		if (strcmp(moved, "fixed"))
			personality((unsigned long)persona & ~(unsigned long)ADDR_NO_RANDOMIZE);
		unsetenv(MOVED);
		unsetenv("LD_BIND_NOW");
		dl_iterate_phdr(find_kept, (void *)program);
		remember_kept();
		return;
	}
	len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (len < 0)
		dsm_parmacs_die("/proc/self/exe: %s", strerror(errno));
	path[len] = '\0';
	if (personality((unsigned long)persona | ADDR_NO_RANDOMIZE) < 0)
		dsm_parmacs_die("no program without random addresses: %s", strerror(errno));
	if (setenv(MOVED, keeps, 1) || setenv("LD_BIND_NOW", "1", 1))
		dsm_parmacs_die("no room in the environment");
	execv(path, argv);
	dsm_parmacs_die("%s: %s", path, strerror(errno));
}

/* ---- rank 0 ---- */

static void *take_block(size_t bytes)
{
	void *p = dsm_parmacs_take(bytes);

	if (given.used == given.room) {
		given.room = given.room ? 2 * given.room : 64;
		given.block = realloc(given.block, given.room * sizeof(*given.block));
		if (!given.block)
			dsm_parmacs_die("no memory for a list of %zu blocks", given.room);
	}
	given.block[given.used++] = p;
	return p;
}

void dsm_parmacs_statics_forget(struct dsm *d)
{
	while (given.used)
		if (dsm_free(d, given.block[--given.used]))
			dsm_parmacs_die("%s", dsm_error());
	last = NULL;
}

static char *page_at(const struct parmacs_statics *s, uint64_t number)
{
	return (char *)(uintptr_t)s->base + number * HEAP_PAGE;
}

/* Address of a page's copy, or 0: zero. *@at: where to look; for pages in ascending order. */
static uint64_t copy_of(const struct parmacs_statics *s, uint64_t number, uint64_t *at)
{
	if (!s)
		return 0;
	while (*at < s->used && s->page[*at].number < number)
		++*at;
	return *at < s->used && s->page[*at].number == number ? s->page[*at].copy : 0;
}

static const char *bytes_of(uint64_t copy)
{
	return copy ? (const char *)(uintptr_t)copy : zero;
}

/*
 * Pages that changed since the last time get new copies, so that workers can still read the old. A worker of this rank may
 * write them meanwhile, so each is looked at once: page[].copy 0 stands for one that is to be copied.
 */
static uint64_t give_copies(const struct parmacs_statics *head)
{
	struct parmacs_page *found = calloc(head->pages, sizeof(*found));
	uint64_t number, used = 0, changed = 0, at = 0, i;
	struct parmacs_statics *s;
	char *room;

	if (!found)
		dsm_parmacs_die("no memory for a list of %" PRIu64 " pages", head->pages);
	for (number = 0; number < head->pages; number++) {
		struct parmacs_page page = { .number = number };

		if (is_zero(page_at(head, number), HEAP_PAGE))
			continue;
		page.copy = copy_of(last, number, &at);
		if (page.copy && memcmp(bytes_of(page.copy), page_at(head, number), HEAP_PAGE))
			page.copy = 0;
		changed += !page.copy;
		found[used++] = page;
	}
	room = changed ? take_block(changed * HEAP_PAGE) : NULL;
	for (i = 0; i < used; i++) {
		if (found[i].copy)
			continue;
		memcpy(room, page_at(head, found[i].number), HEAP_PAGE);
		found[i].copy = (uintptr_t)room;
		room += HEAP_PAGE;
	}
	s = take_block(sizeof(*s) + used * sizeof(s->page[0]));
	*s = *head;
	s->before = (uintptr_t)last;
	s->used = used;
	memcpy(s->page, found, used * sizeof(*found));
	free(found);
	last = s;
	return (uintptr_t)s;
}

static void map_shared(struct dsm *d, const struct parmacs_statics *s)
{
	char *base = page_at(s, 0);

	if (mmap(base, s->pages * HEAP_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, d->fd,
		 (off_t)(s->shared - (uintptr_t)d->base)) != base)
		dsm_parmacs_die("the statics of %s: %s", d->path, strerror(errno));
	mapped = s;
}

/* From here on there is one of each, for all ranks. */
static uint64_t give_pages(struct dsm *d, const struct parmacs_statics *head)
{
	struct parmacs_statics *s = dsm_parmacs_take(sizeof(*s));
	char *room = dsm_parmacs_take(head->pages * HEAP_PAGE);
	char *value = kept.bytes ? dsm_parmacs_take(kept.bytes) : NULL;
	uint64_t number;
	unsigned int i;

	*s = *head;
	s->shared = (uintptr_t)room;
	s->kept = (uintptr_t)value;
	s->kept_bytes = kept.bytes;
	for (i = 0; i < kept.used; i++) {
		memcpy(value, kept.range[i].value, kept.range[i].bytes);
		value += kept.range[i].bytes;
	}
	for (number = 0; number < s->pages; number++)
		if (!is_zero(page_at(s, number), HEAP_PAGE))
			memcpy(room + number * HEAP_PAGE, page_at(s, number), HEAP_PAGE);
	map_shared(d, s);
	placed = s;
	return (uintptr_t)s;
}

static bool will_be_shared(void)
{
	const char *mode = getenv("DSM_STATICS");

	return mode && !strcmp(mode, "shared");
}

/* Before they are placed only rank 0 runs, whose environment says where they will be. */
bool dsm_parmacs_statics_hold(const void *at)
{
	return mapped ? (uintptr_t)at - (uintptr_t)page_at(mapped, 0) < mapped->pages * HEAP_PAGE : will_be_shared();
}

uint64_t dsm_parmacs_statics_give(struct dsm *d, const struct dsm_parmacs_program *program)
{
	uintptr_t base = (uintptr_t)program->data & ~(HEAP_PAGE - 1);
	struct parmacs_statics head = {
		.base = base,
		.pages = ((uintptr_t)program->end - base + HEAP_PAGE - 1) / HEAP_PAGE,
	};
	const char *mode = getenv("DSM_STATICS");

	if (placed)
		return 0;
	if (!mode || !*mode || !strcmp(mode, "copied"))
		return give_copies(&head);
	if (strcmp(mode, "shared"))
		dsm_parmacs_die("DSM_STATICS=%s: it can be copied or shared", mode);
	return give_pages(d, &head);
}

/* The program's own exit code still writes statics, when the region's memory may be another's. */
void dsm_parmacs_statics_end(struct dsm *d)
{
	char *own, *base, *shared;
	size_t at, bytes;

	if (!placed)
		return;
	base = page_at(placed, 0);
	bytes = placed->pages * HEAP_PAGE;
	shared = (char *)(uintptr_t)placed->shared;
	own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own == MAP_FAILED)
		dsm_parmacs_die("no memory for %zu bytes of statics: %s", bytes, strerror(errno));
	for (at = 0; at < bytes; at += HEAP_PAGE)
		if (!is_zero(shared + at, HEAP_PAGE))
			memcpy(own + at, shared + at, HEAP_PAGE);
	if (mremap(own, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, base) != base)
		dsm_parmacs_die("%zu bytes of statics: %s", bytes, strerror(errno));
	if (dsm_free(d, shared) || dsm_free(d, (void *)(uintptr_t)placed->kept) || dsm_free(d, placed))
		dsm_parmacs_die("%s", dsm_error());
}

/* ---- the others ---- */

/* What of a page lies between the statics' ends. */
static char *clip(const struct parmacs_statics *s, const struct dsm_parmacs_program *program,
		  uint64_t number, size_t *bytes)
{
	char *from = page_at(s, number), *to = from + HEAP_PAGE;

	if (from < (char *)program->data)
		from = program->data;
	if (to > (char *)program->end)
		to = program->end;
	*bytes = (size_t)(to - from);
	return from;
}

/* Nobody else runs here. */
static void take_copies(const struct parmacs_statics *s, const struct dsm_parmacs_program *program)
{
	uint64_t number, at = 0;

	remember_kept();
	for (number = 0; number < s->pages; number++) {
		size_t bytes;
		char *to = clip(s, program, number, &bytes);
		const char *from = bytes_of(copy_of(s, number, &at)) + (to - page_at(s, number));

		if (memcmp(to, from, bytes))
			memcpy(to, from, bytes);
	}
	restore_kept();
}

/* Workers run: as if they shared memory with rank 0, only what rank 0 changed since is written. */
static void take_changes(const struct parmacs_statics *s, const struct dsm_parmacs_program *program)
{
	const struct parmacs_statics *before = (const void *)(uintptr_t)s->before;
	uint64_t number, at = 0, at_before = 0;

	for (number = 0; number < s->pages; number++) {
		uint64_t copy = copy_of(s, number, &at);
		uint64_t copy_before = copy_of(before, number, &at_before);
		size_t i, bytes;
		char *to = clip(s, program, number, &bytes);
		size_t skip = (size_t)(to - page_at(s, number));

		if (copy == copy_before)
			continue;
		for (i = 0; i < bytes; i++)
			if (bytes_of(copy)[skip + i] != bytes_of(copy_before)[skip + i] && !is_kept(to + i))
				to[i] = bytes_of(copy)[skip + i];
	}
}

/*
 * What is not the program's own must have begun the same in all ranks before it can be one for all: rank 0 has read its
 * arguments meanwhile, and with them changed optarg and optind.
 */
static void take_pages(struct dsm *d, const struct parmacs_statics *s,
		       const struct dsm_parmacs_program *program)
{
	const char *shared = (const char *)(uintptr_t)s->shared;
	const char *value = (const char *)(uintptr_t)s->kept;
	const char *base = page_at(s, 0);
	unsigned int i;
	bool same;

	same = s->kept_bytes == kept.bytes && !memcmp(base, shared, (size_t)((char *)program->data - base));
	for (i = 0; same && i < kept.used; i++) {
		same = !memcmp(kept.range[i].value, value, kept.range[i].bytes);
		value += kept.range[i].bytes;
	}
	if (!same)
		dsm_parmacs_die("DSM_STATICS=shared: libraries are at other addresses than in rank 0: "
				"all nodes need the same libraries and kernel");
	map_shared(d, s);
}

void dsm_parmacs_statics_take(struct dsm *d, const struct dsm_parmacs_program *program,
			      const struct parmacs_statics *s, bool running)
{
	if (s->shared)
		take_pages(d, s, program);
	else if (running)
		take_changes(s, program);
	else
		take_copies(s, program);
}
