// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * Turns a page fault into a right of this node and a frame with that right
 * into a page-table entry.
 *
 * The shell is asked for the right; where it has none yet, the fault lock is dropped and the
 * thread waits. What the shell granted is read again under the page lock, which the core
 * releases only after it has installed the entry: whoever takes the right away later takes the
 * page lock first and then finds the entry (P10). Both handlers may be called at any time for
 * any page, whatever the page tables hold. Never talks to another node, never looks at
 * contents.
 */
#include <linux/file.h>
#include <linux/ktime.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include "../compat.h"
#include "fault.h"
#include "mm.h"
#include "pte.h"

/* Pages mapped along with one that is read: 64 KiB in all. */
#define DSM_MM_AROUND 15u

static vm_fault_t fault_error(struct dsm_mm *mm, int err)
{
	if (err == -ENOMEM)
		return VM_FAULT_OOM;
	dsm_mm_count(mm, sigbus);
	return VM_FAULT_SIGBUS;
}

/* Locks @frame for the core if the right still is at least @want. */
static bool lock_with_right(struct dsm_mm *mm, u32 idx, struct page *frame,
			    enum dsm_right want)
{
	if (!trylock_page(frame)) {
		u64 start = ktime_get_ns();

		lock_page(frame);
		this_cpu_add(mm->counters->ns_page_lock, ktime_get_ns() - start);
	}
	if (mm->ops->right(mm->ctx, idx) >= want)
		return true;
	unlock_page(frame);
	return false;
}

/*
 * Waits for a right. Non-zero is the handler's result; 0 means: waited with
 * the fault lock held, ask again.
 *
 * A fault of kernel code must not wait interruptibly: only fatal
 * signals end its retries, so any other pending signal would make it spin.
 */
static vm_fault_t wait_for_right(struct vm_fault *vmf, struct dsm_mm *mm, u32 idx)
{
	const unsigned int user = FAULT_FLAG_INTERRUPTIBLE | FAULT_FLAG_USER;
	bool killable = (vmf->flags & user) != user, write = vmf->flags & FAULT_FLAG_WRITE;
	struct file *file;

	/* Such a task gets no more signals that could end the wait. */
	if (current->flags & (PF_EXITING | PF_DUMPCORE))
		return fault_error(mm, -EIO);

	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY)) {
		if (mm->ops->wait(mm->ctx, idx, write, true))
			return fault_error(mm, -EINTR);
		return 0;
	}

	/* With this flag the lock stays held and nobody may wait. */
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;

	/* Keeps the region. The VMA and its mm may go as soon as the lock is dropped. */
	file = get_file(vmf->vma->vm_file);
	release_fault_lock(vmf);
	/* Ended by a signal or not: the core looks for signals, then faults again. */
	mm->ops->wait(mm->ctx, idx, write, killable);
	fput(file);
	return VM_FAULT_RETRY;
}

/* Maps frames[0 .. n - 1] from @addr on; places that are NULL or mapped already are left out. */
static void insert_runs(struct vm_area_struct *vma, unsigned long addr, struct page **frames, u32 n)
{
	unsigned long left;
	u32 i = 0, end;

	while (i < n) {
		for (end = i; end < n && frames[end]; end++)
			;
		left = end - i;
		if (left && vm_insert_pages(vma, addr + i * PAGE_SIZE, frames + i, &left) == -ENOMEM)
			return;
		/* Behind what stopped it: an entry that is there, or a gap. */
		i = end - left + 1;
	}
}

/*
 * Maps neighbours that are here, which ->map_pages could not: it may not sleep for a page table.
 * The same rule holds for each as for the page itself: the right is read again under the
 * page lock. A page that somebody else has locked is left out.
 */
static void map_around(struct vm_fault *vmf, struct dsm_mm *mm, u32 idx)
{
	struct page *frames[DSM_MM_AROUND], *locked[DSM_MM_AROUND];
	struct vm_area_struct *vma = vmf->vma;
	unsigned long addr = vmf->address & PAGE_MASK;
	u64 n = DSM_MM_AROUND;
	u32 i;

	n = min(n, mm->pages - idx - 1);
	n = min_t(u64, n, (vma->vm_end - addr) / PAGE_SIZE - 1);
	n = n ? mm->ops->around(mm->ctx, idx, n, locked) : 0;
	if (!n)
		return;
	for (i = 0; i < n; i++) {
		if (locked[i] && (PageHWPoison(locked[i]) || !trylock_page(locked[i])))
			locked[i] = NULL;
		frames[i] = locked[i];
	}
	mm->ops->around_again(mm->ctx, idx, n, frames);
	insert_runs(vma, addr + PAGE_SIZE, frames, n);
	for (i = 0; i < n; i++)
		if (locked[i])
			unlock_page(locked[i]);
}

/**
 * dsm_fault_page() - ->fault of a mapping: no page-table entry yet
 * @vmf: the fault
 *
 * A write comes here first and then to dsm_fault_mkwrite(), within one fault.
 *
 * Context: fault lock (mmap_lock or VMA lock) held; dropped on VM_FAULT_RETRY
 *          unless FAULT_FLAG_RETRY_NOWAIT. Sleeps.
 * Return: VM_FAULT_LOCKED with a reference in vmf->page; VM_FAULT_RETRY after a
 *         wait; VM_FAULT_OOM; VM_FAULT_SIGBUS outside the region, if the shell
 *         refused (its home is lost), or if the page is not here and the task is
 *         exiting, dumping core or killed; VM_FAULT_HWPOISON the frame's memory has failed.
 */
vm_fault_t dsm_fault_page(struct vm_fault *vmf)
{
	struct dsm_mm *mm = vmf->vma->vm_private_data;
	bool write = vmf->flags & FAULT_FLAG_WRITE;
	enum dsm_right want = write ? DSM_RIGHT_WRITE : DSM_RIGHT_READ;
	struct page *frame;
	vm_fault_t ret;
	u32 idx;
	int got;

	if (vmf->pgoff >= mm->pages)
		return fault_error(mm, -EINVAL);
	idx = vmf->pgoff;
	if (write)
		dsm_mm_count(mm, faults_write);
	else
		dsm_mm_count(mm, faults_read);

	for (;;) {
		got = mm->ops->fault(mm->ctx, idx, write, &frame);
		if (got < 0)
			return fault_error(mm, got);
		if (got >= (int)want) {
			if (lock_with_right(mm, idx, frame, want))
				break;
			/* Others take the page away as fast as we get it. */
			if (fatal_signal_pending(current))
				return fault_error(mm, -EINTR);
			continue;
		}
		ret = wait_for_right(vmf, mm, idx);
		if (ret)
			return ret;
	}
	/* The core would take it for a page of a page cache, and out of that: a reference too many would be dropped. */
	if (unlikely(PageHWPoison(frame))) {
		unlock_page(frame);
		return VM_FAULT_HWPOISON;
	}
	get_page(frame);
	vmf->page = frame;
	if (!write)
		map_around(vmf, mm, idx);
	return VM_FAULT_LOCKED;
}

/**
 * dsm_fault_mkwrite() - ->page_mkwrite of a mapping: the entry is read-only
 * @vmf: the fault; the core strips the flags that would allow to drop the lock
 *
 * May not wait for another node. If it would have to, it removes the entry, so
 * that the access comes back through dsm_fault_page(). It may not leave the entry
 * in place then: get_user_pages() would spin on it.
 *
 * Context: fault lock held, vmf->page referenced and not locked. Sleeps.
 * Return: VM_FAULT_LOCKED; VM_FAULT_NOPAGE: fault again; VM_FAULT_OOM;
 *         VM_FAULT_SIGBUS if the shell refused.
 */
vm_fault_t dsm_fault_mkwrite(struct vm_fault *vmf)
{
	struct dsm_mm *mm = vmf->vma->vm_private_data;
	u32 idx = vmf->page->index;
	struct page *frame;
	int got;

	/* Else it is the second half of a fault that dsm_fault_page() has counted. */
	if (dsm_pte_was_there(vmf))
		dsm_mm_count(mm, faults_write);
	got = mm->ops->fault(mm->ctx, idx, true, &frame);
	if (got < 0)
		return fault_error(mm, got);
	if (got == DSM_RIGHT_WRITE && frame == vmf->page &&
	    lock_with_right(mm, idx, frame, DSM_RIGHT_WRITE))
		return VM_FAULT_LOCKED;
	dsm_pte_unmap(mm, idx, 1);
	return VM_FAULT_NOPAGE;
}

/**
 * dsm_fault_around() - ->map_pages of a mapping: maps nothing
 * @vmf:   the fault
 * @first: first page offset that could be mapped along
 * @last:  last one
 *
 * Its presence is what makes the core call the other handlers under the lock
 * of the VMA instead of mmap_lock.
 *
 * Context: fault lock held, atomic.
 * Return: 0, no page was mapped.
 */
vm_fault_t dsm_fault_around(struct vm_fault *vmf, pgoff_t first, pgoff_t last)
{
	return 0;
}
