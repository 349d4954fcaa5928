// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * The lock table of a region: a few pages of this node's own memory that processes map beside the
 * region, far behind its end. Never coherent between nodes and never touched by a walk.
 */
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "../compat.h"
#include "mm.h"
#include "table.h"

/**
 * dsm_mm_table_make() - make the table of a region
 * @mm:    mm side of the region, without a table
 * @bytes: length, a multiple of the page size
 *
 * It lives as long as @mm.
 *
 * Context: process. Sleeps. One caller at a time.
 * Return: address of zeroed memory; NULL: no memory.
 */
void *dsm_mm_table_make(struct dsm_mm *mm, u32 bytes)
{
	void *table = vmalloc_user(bytes);

	if (!table)
		return NULL;
	mm->table_pages = bytes >> PAGE_SHIFT;
	/* Pairs with the acquire in dsm_table_mmap(). */
	smp_store_release(&mm->table, table);
	return table;
}

/* A page stays until its last mapping is gone, whatever becomes of the region. */
static vm_fault_t table_fault(struct vm_fault *vmf)
{
	struct dsm_mm *mm = vmf->vma->vm_private_data;
	pgoff_t idx = vmf->pgoff - DSM_TABLE_PGOFF;

	if (idx >= mm->table_pages)
		return VM_FAULT_SIGBUS;
	vmf->page = vmalloc_to_page(mm->table + (idx << PAGE_SHIFT));
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct table_vm_ops = {
	.fault = table_fault,
};

/**
 * dsm_table_mmap() - ->mmap of a region's file at DSM_TABLE_PGOFF or behind
 * @mm:   mm side of the region
 * @file: the file
 * @vma:  the new mapping, shared and not executable
 *
 * Context: process, mmap_lock held for write.
 * Return: 0; -EACCES: the file is not open for writing; -ENXIO: there is no table yet, or the
 *         range reaches behind its end.
 */
int dsm_table_mmap(struct dsm_mm *mm, struct file *file, struct vm_area_struct *vma)
{
	if (!(file->f_mode & FMODE_WRITE))
		return -EACCES;
	/* Pairs with the release in dsm_mm_table_make(). */
	if (!smp_load_acquire(&mm->table))
		return -ENXIO;
	if (vma->vm_pgoff - DSM_TABLE_PGOFF > mm->table_pages ||
	    vma_pages(vma) > mm->table_pages - (vma->vm_pgoff - DSM_TABLE_PGOFF))
		return -ENXIO;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | (mm->own ? VM_DONTCOPY : 0), VM_MAYEXEC);
	vma->vm_private_data = mm;
	vma->vm_ops = &table_vm_ops;
	return 0;
}
