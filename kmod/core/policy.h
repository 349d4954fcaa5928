/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Settings of a region: parsing of "key=value,..." and presets, legality,
 * and where pages live. Knows no state.
 */
#ifndef DSM_CORE_POLICY_H
#define DSM_CORE_POLICY_H

#include "types.h"

enum dsm_consistency { DSM_CONSISTENCY_HLRC };
enum dsm_home_policy { DSM_HOME_BLOCK, DSM_HOME_RR, DSM_HOME_FIRST_TOUCH };

/**
 * struct dsm_policy - effective settings
 * @consistency: enum dsm_consistency
 * @home:        enum dsm_home_policy
 * @block_pages: for block: pages per block; 0 = the region in as many equal blocks as members
 */
struct dsm_policy {
	u8 consistency;
	u8 home;
	u32 block_pages;
};

/*
 * Parse @text ("" = all defaults). On refusal -EINVAL (unknown word) or -EOPNOTSUPP (known, not
 * in this version) and one line in @why.
 */
int dsm_policy_parse(const char *text, struct dsm_policy *out, char *why, u32 why_bytes);
/* The settings as text that parses back to the same. */
void dsm_policy_format(const struct dsm_policy *p, char *out, u32 bytes);
/*
 * Home, or for first touch the manager, of page @idx of
 * @pages among @n members: an index below @n.
 */
u16 dsm_policy_home(const struct dsm_policy *p, u64 pages, u16 n, u32 idx);

#endif
