/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/* Walks over the page tables of all mappings of a region; see pte.c. */
#ifndef DSM_MM_PTE_H
#define DSM_MM_PTE_H

#include <linux/mm_types.h>

int dsm_pte_mprotect(struct vm_area_struct *vma, unsigned long start,
		     unsigned long end, unsigned long newflags);

#endif
