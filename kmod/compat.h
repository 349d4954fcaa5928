/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * The differences between the kernels the module is built for, and nothing
 * else: no other file looks at LINUX_VERSION_CODE. Each part gives the newer
 * kernel's interface to the older ones. In the order of the kernel's headers.
 */
#ifndef DSM_COMPAT_H
#define DSM_COMPAT_H

#include <linux/version.h>

/* ---- device class and device files ---- */
#include <linux/device.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

/* Argument of the devnode methods, const since 6.3. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define dsm_compat_devnode_arg struct device
#else
#define dsm_compat_devnode_arg const struct device
#endif

/* What mmap() does for a file without get_unmapped_area of its own. */
static inline unsigned long dsm_compat_unmapped_area(struct file *file, unsigned long addr,
						     unsigned long len, unsigned long pgoff,
						     unsigned long flags)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	return current->mm->get_unmapped_area(file, addr, len, pgoff, flags);
#else
	return mm_get_unmapped_area(current->mm, file, addr, len, pgoff, flags);
#endif
}

/* ---- mm ---- */
#include <linux/mm.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set,
				unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/*
 * Since 6.4 a fault may run under the lock of its VMA alone, but only if the
 * VMA has ->map_pages; since 6.6 release_fault_lock() drops whichever lock it is.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define DSM_COMPAT_VMA_LOCK 0
static inline void release_fault_lock(struct vm_fault *vmf)
{
	mmap_read_unlock(vmf->vma->vm_mm);
}
#else
#define DSM_COMPAT_VMA_LOCK 1
#endif

/* Page-table entries that map an order-0 page; folio_mapcount() is not exported in 6.1. */
static inline int dsm_compat_mapcount(struct page *page)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return page_mapcount(page);
#else
	return folio_mapcount(page_folio(page));
#endif
}

/* ---- net ---- */

/*
 * In 6.1 the soft-RoCE driver's retransmit timer holds no reference to its
 * queue pair: one that may have a timer pending must be left alone for longer
 * than an acknowledgement timeout before it is destroyed.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define DSM_COMPAT_QP_MUST_SETTLE true
#else
#define DSM_COMPAT_QP_MUST_SETTLE false
#endif

#endif
