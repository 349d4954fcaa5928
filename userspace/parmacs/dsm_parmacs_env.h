/* SPDX-License-Identifier: LGPL-2.1-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * EXTERN_ENV: the declarations, and what programs expect to come with them and do not include or
 * define themselves.
 */
#include <assert.h>
#if __STDC_VERSION__ >= 201112L
#include <stdatomic.h>
#endif
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "dsm_parmacs.h"

#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif
