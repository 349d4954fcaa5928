/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Once in a program, by MAIN_ENV: finds libdsm, and lets it take over before main().
 */
#ifndef DSM_PARMACS_MAIN_H
#define DSM_PARMACS_MAIN_H

#include <dlfcn.h>
#include <stdio.h>
#include <sys/auxv.h>

#include "dsm_parmacs_env.h"

extern char __data_start[], _end[];

__thread const struct dsm_parmacs_calls *dsm_parmacs_found;

/* Linked with -ldsm or not. */
const struct dsm_parmacs_calls *dsm_parmacs_find(void)
{
	void *library = NULL, *calls = NULL;

	/* Statics of the C library itself would be taken for the program's. */
	if (!getauxval(AT_BASE))
		fputs("parmacs: link this program dynamically, without -static\n", stderr);
	else
		library = dlopen(NULL, RTLD_NOW);
	if (library)
		calls = dlsym(library, "dsm_parmacs_calls");
	if (library && !calls) {
		library = dlopen("libdsm.so.0", RTLD_NOW | RTLD_GLOBAL);
		if (library)
			calls = dlsym(library, "dsm_parmacs_calls");
		if (!calls)
			fprintf(stderr, "parmacs: %s\n", dlerror());
	}
	if (!calls)
		_exit(1);
	dsm_parmacs_found = (const struct dsm_parmacs_calls *)calls;
	return dsm_parmacs_found;
}

__attribute__((__constructor__)) static void dsm_parmacs_before_main(int argc, char **argv)
{
	static const struct dsm_parmacs_program program = { __data_start, _end };

	(void)argc;
	dsm_parmacs_find()->start(&program, argv);
}

#endif
