// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * The mm side of a region: its address_space, what may be mapped, and which
 * handlers a mapping has.
 *
 * Anonymous inodes on a file system of our own give all files and processes
 * the region's address_spaces, so that a walk finds every mapping. Those of files
 * opened read-only are apart: a walk of the kernel's that takes write permission
 * away ends at the first mapping that never has it (walk_page_mapping()).
 * A mapping keeps its file, the file keeps the region. Never holds
 * protocol state.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/printk.h>
#include <linux/pseudo_fs.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "../compat.h"
#include "fault.h"
#include "mm.h"
#include "pte.h"
#include "table.h"

#define DSM_FS_MAGIC 0x64736d66	/* "dsmf" */

static struct vfsmount *mount;

static int fs_init(struct fs_context *fc)
{
	return init_pseudo(fc, DSM_FS_MAGIC) ? 0 : -ENOMEM;
}

/* No .owner: our own mount would hold the module for ever. */
static struct file_system_type fs_type = {
	.name = "dsm",
	.init_fs_context = fs_init,
	.kill_sb = kill_anon_super,
};

/*
 * Frames are written back by nobody. The flag itself is no more than a hint: dirty
 * entries at a zap and device writes at their end set it, a plain downgrade leaves it behind.
 */
static const struct address_space_operations region_aops = {
	.dirty_folio = noop_dirty_folio,
};

static const struct vm_operations_struct region_vm_ops = {
	.fault = dsm_fault_page,
	.page_mkwrite = dsm_fault_mkwrite,
	.mprotect = dsm_pte_mprotect,
#if DSM_COMPAT_VMA_LOCK
	.map_pages = dsm_fault_around,
#endif
};

/**
 * dsm_mm_init() - prepare for regions
 *
 * Context: process, module load.
 * Return: 0; -ENOMEM.
 */
int dsm_mm_init(void)
{
	struct vfsmount *mnt = kern_mount(&fs_type);

	if (IS_ERR(mnt))
		return PTR_ERR(mnt);
	mount = mnt;
	return 0;
}

/**
 * dsm_mm_exit() - undo dsm_mm_init()
 *
 * Context: process, module unload; all regions are destroyed.
 */
void dsm_mm_exit(void)
{
	kern_unmount(mount);
}

/* An address_space of @bytes in which mappings hang. */
static struct inode *address_space_new(u64 bytes)
{
	struct inode *inode = alloc_anon_inode(mount->mnt_sb);

	if (IS_ERR(inode))
		return inode;
	inode->i_mapping->a_ops = &region_aops;
	i_size_write(inode, bytes);
	return inode;
}

/**
 * dsm_mm_create() - make the mm side of a region
 * @ops:   the shell's answers
 * @ctx:   first argument of @ops
 * @pages: length of the region, 1 .. DSM_REGION_MAX_PAGES
 *
 * Context: process. Sleeps.
 * Return: the region's mm side; ERR_PTR(-ENOMEM); ERR_PTR(-EINVAL): bad length.
 */
struct dsm_mm *dsm_mm_create(const struct dsm_mm_ops *ops, void *ctx, u64 pages)
{
	struct dsm_mm *mm;
	int err;

	if (!pages || pages > DSM_REGION_MAX_PAGES)
		return ERR_PTR(-EINVAL);
	mm = kzalloc(sizeof(*mm), GFP_KERNEL);
	if (!mm)
		return ERR_PTR(-ENOMEM);
	mm->counters = alloc_percpu(struct dsm_mm_counters);
	if (!mm->counters) {
		err = -ENOMEM;
		goto err_free;
	}
	mm->inode = address_space_new(pages << PAGE_SHIFT);
	if (IS_ERR(mm->inode)) {
		err = PTR_ERR(mm->inode);
		goto err_free_counters;
	}
	mm->views = address_space_new(pages << PAGE_SHIFT);
	if (IS_ERR(mm->views)) {
		err = PTR_ERR(mm->views);
		goto err_put_inode;
	}
	mm->ops = ops;
	mm->ctx = ctx;
	mm->pages = pages;
	return mm;

err_put_inode:
	iput(mm->inode);
err_free_counters:
	free_percpu(mm->counters);
err_free:
	kfree(mm);
	return ERR_PTR(err);
}

/**
 * dsm_mm_read_exactly() - a right may be taken away while read() copies, and that must not be seen
 * @mm: mm side, not used yet
 *
 * Otherwise read() may return bytes of a page that others write already.
 *
 * Context: any.
 */
void dsm_mm_read_exactly(struct dsm_mm *mm)
{
	mm->exact = true;
}

/**
 * dsm_mm_keep_own() - a process's mappings are not those of its children
 * @mm: mm side, not used yet
 *
 * Context: any.
 */
void dsm_mm_keep_own(struct dsm_mm *mm)
{
	mm->own = true;
}

/**
 * dsm_mm_destroy() - free the mm side of a region
 * @mm: mm side; no file is open, nothing is mapped, all frames are freed
 *
 * Context: process. Sleeps.
 */
void dsm_mm_destroy(struct dsm_mm *mm)
{
	iput(mm->views);
	iput(mm->inode);
	vfree(mm->table);
	free_percpu(mm->counters);
	kfree(mm);
}

/**
 * dsm_mm_open() - let a file's mappings be found through the region
 * @mm:   mm side of the region
 * @file: file being opened
 *
 * The file must keep the region until its release.
 *
 * Context: process, ->open of the file.
 */
void dsm_mm_open(struct dsm_mm *mm, struct file *file)
{
	file->f_mapping = (file->f_mode & FMODE_WRITE ? mm->inode : mm->views)->i_mapping;
}

/* mmap() returns no text, so the reason goes to the log. */
static int refuse(int err, const char *why)
{
	pr_info_ratelimited("dsm: mmap by %s[%d] refused: %s\n", current->comm,
			    task_tgid_nr(current), why);
	return err;
}

/**
 * dsm_mm_mmap() - ->mmap of a region's file
 * @mm:   mm side of the region
 * @file: file, after dsm_mm_open()
 * @vma:  the new mapping
 *
 * A shared mapping of a file opened read-only is fine; the core has cleared
 * VM_SHARED in it and it can never become writable.
 *
 * Context: process, mmap_lock held for write.
 * Return: 0; -EINVAL: MAP_PRIVATE; -EACCES: PROT_EXEC, or the lock table and the file is not
 *         open for writing; -ENXIO: part of the range lies behind the region's end, or there is
 *         no lock table.
 */
int dsm_mm_mmap(struct dsm_mm *mm, struct file *file, struct vm_area_struct *vma)
{
	if (is_cow_mapping(vma->vm_flags))
		return refuse(-EINVAL, "a private copy would not be shared, use MAP_SHARED");
	if (vma->vm_flags & VM_EXEC)
		return refuse(-EACCES, "code cannot run from shared regions, drop PROT_EXEC");
	if (vma->vm_pgoff >= DSM_TABLE_PGOFF)
		return dsm_table_mmap(mm, file, vma);
	if (vma->vm_pgoff > mm->pages || vma_pages(vma) > mm->pages - vma->vm_pgoff)
		return refuse(-ENXIO, "offset and length reach behind the region's end");
	/*
	 * MIXEDMAP keeps NUMA balancing away, which could make dirty entries writable.
	 * DONTDUMP: a core dump would fetch the region page by page.
	 */
	vm_flags_mod(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP | (mm->own ? VM_DONTCOPY : 0), VM_MAYEXEC);
	vma->vm_private_data = mm;
	vma->vm_ops = &region_vm_ops;
	return 0;
}

/**
 * dsm_mm_stats() - read the counters of a region
 * @mm:  mm side of the region
 * @out: filled
 *
 * Context: any.
 */
void dsm_mm_stats(struct dsm_mm *mm, struct dsm_mm_stats *out)
{
	const struct dsm_mm_counters *c;
	int cpu;

	memset(out, 0, sizeof(*out));
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(mm->counters, cpu);
		out->faults_read += c->faults_read;
		out->faults_write += c->faults_write;
		out->sigbus += c->sigbus;
		out->wrprotect_runs += c->wrprotect_runs;
		out->zap_runs += c->zap_runs;
		out->ns_page_lock += c->ns_page_lock;
	}
}
