/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/* Walks over the page tables of all mappings of a region; see pte.c. */
#ifndef DSM_MM_PTE_H
#define DSM_MM_PTE_H

#include <linux/mm.h>
#include <linux/pgtable.h>

struct dsm_mm;

/* Does the fault find an entry, of which it lacks a right? Else this is part of a fault that found none. */
static inline bool dsm_pte_was_there(const struct vm_fault *vmf)
{
	return pte_present(vmf->orig_pte);
}

void dsm_pte_unmap(struct dsm_mm *mm, pgoff_t first, pgoff_t count);
int dsm_pte_mprotect(struct vm_area_struct *vma, unsigned long start,
		     unsigned long end, unsigned long newflags);

#endif
