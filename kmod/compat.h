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

/* ---- io_uring ---- */
#include <linux/io_uring_types.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#include <linux/io_uring.h>
#else
#include <linux/io_uring/cmd.h>
#endif

/* The 16 bytes of a submission that are the driver's; valid until the command is queued. */
static inline const void *dsm_compat_uring_payload(const struct io_uring_cmd *cmd)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return cmd->cmd;
#else
	return io_uring_sqe_cmd(cmd->sqe);
#endif
}

/* Who submitted; the request holds a reference. */
static inline struct task_struct *dsm_compat_uring_task(struct io_uring_cmd *cmd)
{
	return cmd_to_io_kiocb(cmd)->task;
}

/*
 * Since 6.7 a ring that closes and a task in execve() call uring_cmd() with IO_URING_F_CANCEL.
 * Before, they wait for the command without a word, but it can be seen that they do.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define IO_URING_F_CANCEL 0
static inline void dsm_compat_uring_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
}

static inline bool dsm_compat_uring_exec(struct io_uring_cmd *cmd)
{
	return atomic_read(&cmd_to_io_kiocb(cmd)->task->io_uring->in_idle);
}
#else
static inline void dsm_compat_uring_cancelable(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
}

static inline bool dsm_compat_uring_exec(struct io_uring_cmd *cmd)
{
	return false;
}
#endif

/* The ring is closed: nobody sees its completions any more. */
static inline bool dsm_compat_uring_closed(struct io_uring_cmd *cmd)
{
	return percpu_ref_is_dying(&cmd_to_io_kiocb(cmd)->ctx->refs);
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
