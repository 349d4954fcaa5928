/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * Mapping of a region's lock table, for region.c. The pages are in no
 * state of the protocol.
 */
#ifndef DSM_MM_TABLE_H
#define DSM_MM_TABLE_H

#include "mm.h"

/* Page offset of the table in the region's file: far behind the longest region. */
#define DSM_TABLE_PGOFF ((pgoff_t)(1ull << (62 - PAGE_SHIFT)))

int dsm_table_mmap(struct dsm_mm *mm, struct file *file, struct vm_area_struct *vma);

#endif
