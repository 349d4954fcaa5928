// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * read() and write() of a region's file, through the frames.
 *
 * They ask for rights as a fault does, but need no mapping. The user's buffer may be memory of
 * this or another region, so it is touched only with no lock held: a read copies straight from
 * the frame, a write goes through a bounce page and takes the page lock for the last step
 * alone. A call is not atomic: it goes page by page.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uio.h>
#include "mm.h"

/*
 * Asks for a right until it is granted. Only fatal signals end the wait, as
 * for a file: programs do not expect read() of a file to be interrupted.
 */
static int get_right(struct dsm_mm *mm, struct kiocb *iocb, u32 idx, bool write,
		     struct page **frame)
{
	enum dsm_right want = write ? DSM_RIGHT_WRITE : DSM_RIGHT_READ;
	int got;

	for (;;) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = mm->ops->fault(mm->ctx, idx, write, frame);
		if (got < 0)
			return got;
		if (got >= (int)want)
			return PageHWPoison(*frame) ? -EIO : 0;
		if (iocb->ki_flags & IOCB_NOWAIT)
			return -EAGAIN;
		if (mm->ops->wait(mm->ctx, idx, write, true))
			return -EINTR;
	}
}

/* Bytes of the call that lie in the page at @pos. */
static size_t bytes_here(struct dsm_mm *mm, loff_t pos, struct iov_iter *iter)
{
	u64 left = (mm->pages << PAGE_SHIFT) - pos;

	return min3((u64)iov_iter_count(iter), left, (u64)PAGE_SIZE - offset_in_page(pos));
}

/* One page's bytes to the reader; -EFAULT with *@done bytes copied. */
static int load(struct dsm_mm *mm, struct kiocb *iocb, struct page *bounce, size_t want,
		struct iov_iter *to, size_t *done)
{
	u32 idx = iocb->ki_pos >> PAGE_SHIFT, off = offset_in_page(iocb->ki_pos);
	struct page *frame;
	bool may = true;
	int err;

	do {
		err = get_right(mm, iocb, idx, false, &frame);
		if (err)
			return err;
		if (!bounce)
			break;
		/* The buffer may be on a page of the region: no page lock is held while it is written. */
		lock_page(frame);
		may = mm->ops->right(mm->ctx, idx) >= DSM_RIGHT_READ;
		if (may)
			memcpy(page_address(bounce) + off, page_address(frame) + off, want);
		unlock_page(frame);
	} while (!may);
	*done = copy_page_to_iter(bounce ? bounce : frame, off, want, to);
	return *done < want ? -EFAULT : 0;
}

/**
 * dsm_mm_read_iter() - ->read_iter of a region's file
 * @mm:   mm side of the region
 * @iocb: position in bytes, advanced
 * @to:   destination
 *
 * Context: process, no lock held. Sleeps.
 * Return: bytes read, short at the region's end, after a fatal signal, a lost
 *         node or a bad address; 0 at or behind the end; if there are none:
 *         -EFAULT bad buffer, -EHOSTDOWN or -EBUSY from the shell, -EIO the frame's memory has failed, -ENOMEM, -EINTR
 *         killed, -EAGAIN with IOCB_NOWAIT.
 */
ssize_t dsm_mm_read_iter(struct dsm_mm *mm, struct kiocb *iocb, struct iov_iter *to)
{
	u64 size = mm->pages << PAGE_SHIFT;
	struct page *bounce = NULL;
	ssize_t done = 0;
	size_t want, n;
	int err = 0;

	if (mm->exact) {
		bounce = alloc_page(GFP_KERNEL);
		if (!bounce)
			return -ENOMEM;
	}
	while (iov_iter_count(to) && iocb->ki_pos < size && !err) {
		n = 0;
		want = bytes_here(mm, iocb->ki_pos, to);
		err = load(mm, iocb, bounce, want, to, &n);
		iocb->ki_pos += n;
		done += n;
		cond_resched();
	}
	if (bounce)
		__free_page(bounce);
	return done ? done : err;
}

/* Copies from the bounce page into the frame while the node may write the page. */
static int store(struct dsm_mm *mm, struct kiocb *iocb, const void *bounce, size_t n)
{
	u32 idx = iocb->ki_pos >> PAGE_SHIFT;
	struct page *frame;
	bool may;
	int err;

	do {
		err = get_right(mm, iocb, idx, true, &frame);
		if (err)
			return err;
		lock_page(frame);
		may = mm->ops->right(mm->ctx, idx) == DSM_RIGHT_WRITE;
		if (may)
			memcpy(page_address(frame) + offset_in_page(iocb->ki_pos), bounce, n);
		unlock_page(frame);
	} while (!may);
	return 0;
}

/**
 * dsm_mm_write_iter() - ->write_iter of a region's file
 * @mm:   mm side of the region
 * @iocb: position in bytes, advanced
 * @from: source
 *
 * Context: process, no lock held. Sleeps.
 * Return: bytes written, short as for dsm_mm_read_iter(); if there are none:
 *         -ENOSPC at or behind the region's end, and the errnos of dsm_mm_read_iter().
 */
ssize_t dsm_mm_write_iter(struct dsm_mm *mm, struct kiocb *iocb, struct iov_iter *from)
{
	u64 size = mm->pages << PAGE_SHIFT;
	struct page *bounce;
	ssize_t done = 0;
	size_t want, n;
	int err = 0;

	if (!iov_iter_count(from))
		return 0;
	if (iocb->ki_pos >= size)
		return -ENOSPC;
	bounce = alloc_page(GFP_KERNEL);
	if (!bounce)
		return -ENOMEM;
	while (iov_iter_count(from) && iocb->ki_pos < size) {
		want = bytes_here(mm, iocb->ki_pos, from);
		n = copy_page_from_iter(bounce, 0, want, from);
		if (n) {
			err = store(mm, iocb, page_address(bounce), n);
			if (err) {
				iov_iter_revert(from, n);
				break;
			}
		}
		iocb->ki_pos += n;
		done += n;
		if (n < want) {
			err = -EFAULT;
			break;
		}
		cond_resched();
	}
	__free_page(bounce);
	return done ? done : err;
}
