/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Presets: settings under one name, most of them those of a system that a paper describes. Only a table.
 */
#ifndef DSM_CORE_PRESETS_H
#define DSM_CORE_PRESETS_H

#include "policy.h"

/* diff=pipe without numbers. */
#define DSM_PIPE_BYTES 32768u
#define DSM_PIPE_DEPTH 4u

/**
 * struct dsm_preset - settings under one name
 * @name:   name
 * @policy: settings; a setting after the preset changes them
 */
struct dsm_preset {
	const char *name;
	struct dsm_policy policy;
};

/* The preset whose name are the @len bytes at @name, or NULL. */
const struct dsm_preset *dsm_preset_find(const char *name, u32 len);

#endif
