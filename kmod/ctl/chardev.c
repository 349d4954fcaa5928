// SPDX-License-Identifier: GPL-2.0-only
// Copyright (C) 2026 The dsm authors
/*
 * chardev.c: file operations of /dev/dsm and /dev/dsm-NAME: open is acquire, close and fsync
 * are release.
 *
 * A file of a region is attached to it by open. /dev/dsm can be opened before this node has
 * joined, and dsmctl opens it without wanting the memory, so it is attached to the default
 * region by the first call that needs it. Never decides about coherence, never touches a page:
 * that is asked of the shell and of mm.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fadvise.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "../compat.h"
#include "ctl.h"

static atomic64_t last_file_id;
static struct workqueue_struct *closing_wq;

static struct dsm_region *attached(const struct dsm_file *f)
{
	/* Pairs with the release in publish(): whoever sees the region sees f_mapping set. */
	return smp_load_acquire(&f->region);
}

/*
 * The node can have been given a wider mode by hand: what the region was created with holds. Access mode 3 opens for
 * ioctl alone, which needs both rights (open(2)).
 */
static int check_mode(const struct dsm_region *r, fmode_t fmode)
{
	umode_t want = (fmode & FMODE_READ ? 4 : 0) | (fmode & FMODE_WRITE ? 2 : 0) ?: 6;
	umode_t have = r->mode;

	if (uid_eq(current_fsuid(), r->owner))
		have >>= 6;
	else if (in_group_p(r->group))
		have >>= 3;
	if ((have & want) == want || capable(CAP_DAC_OVERRIDE))
		return 0;
	return -EACCES;
}

static void detach(struct dsm_region *r)
{
	dsm_node_region_close(r);
	dsm_node_region_put(r);
}

/*
 * Attach to an opened region, whose reference and open count go to the file, unless another
 * thread was faster.
 */
static void publish(struct file *file, struct dsm_region *r)
{
	struct dsm_file *f = file->private_data;
	bool lost;

	mutex_lock(&f->attaching);
	lost = f->region;
	if (!lost) {
		dsm_mm_open(r->mm, file);
		f->heard = dsm_node_losses(r);
		f->opened = dsm_node_region_opened(r);
		/* Pairs with the acquire in attached(). */
		smp_store_release(&f->region, r);
	}
	mutex_unlock(&f->attaching);
	if (lost)
		detach(r);
}

/* Consumes the reference. */
static int attach_to(struct file *file, struct dsm_region *r)
{
	int ret = dsm_node_region_open(r);

	if (ret) {
		dsm_node_region_put(r);
		return ret;
	}
	publish(file, r);
	return 0;
}

/**
 * dsm_chardev_attached() - region of a file, if it has one already
 * @file: an open file of ours
 *
 * Context: process.
 * Return: region, valid while the file is open, or NULL: dsm_chardev_attach() may wait; ERR_PTR(-EPERM) it has
 * level=1 and is another process's.
 */
struct dsm_region *dsm_chardev_attached(struct file *file)
{
	struct dsm_region *r = attached(file->private_data);
	int ret = r ? dsm_node_region_mine(r) : 0;

	return ret ? ERR_PTR(ret) : r;
}

/**
 * dsm_chardev_attach() - region of a file, attaching /dev/dsm to the default region if this is
 * its first use
 * @file: an open file of ours
 *
 * Context: process; sleeps, for the network the first time. The mmap lock may be held.
 * Return: region, valid while the file is open, or ERR_PTR: -ENOTCONN this node has not joined,
 *         -EHOSTDOWN the region's sync manager is lost, -EINTR, -ENOMEM, -EPERM it has level=1 and is another
 *         process's.
 */
struct dsm_region *dsm_chardev_attach(struct file *file)
{
	struct dsm_region *r = dsm_chardev_attached(file);
	struct dsm_file *f = file->private_data;
	int ret;

	if (r)
		return r;
	if (!dsm_node_joined(f->node))
		return ERR_PTR(-ENOTCONN);
	r = dsm_node_region_get(f->node, DSM_CTL_DEFAULT_REGION, false);
	if (IS_ERR(r))
		return ERR_PTR(-ENOTCONN);
	ret = attach_to(file, r);
	return ret ? ERR_PTR(ret) : attached(f);
}

static int chardev_open(struct inode *inode, struct file *file)
{
	struct dsm_region *r = NULL;
	struct dsm_file *f;
	int ret = 0;

	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	if (!f)
		return -ENOMEM;
	f->id = atomic64_inc_return(&last_file_id);
	f->node = dsm_device_lookup(iminor(inode), &r);
	if (!f->node) {
		ret = -ENXIO;
		goto err_free;
	}
	f->control = !r;
	mutex_init(&f->attaching);
	file->private_data = f;
	if (f->control)
		return 0;

	ret = check_mode(r, file->f_mode);
	if (ret) {
		dsm_node_region_put(r);
		goto err_free;
	}
	ret = attach_to(file, r);
	if (ret)
		goto err_free;
	return 0;

err_free:
	kfree(f);
	return ret;
}

/*
 * Every close of a descriptor, also at exit. A killed process has taken its signal by then, and waits
 * for answers hardly at all (wait_at_exit()); what it could not send stays dirty here and goes out with the next release.
 */
static int chardev_flush(struct file *file, fl_owner_t id)
{
	struct dsm_file *f = file->private_data;
	struct dsm_region *r = attached(f);
	bool hears;
	int ret;

	if (!r)
		return 0;
	/* Who exits or makes way for another program hears of no error: what was lost is told to others, if there are any. */
	hears = !(current->flags & PF_EXITING) && !current->in_execve;
	ret = dsm_node_release(r, !hears && (dsm_node_in_use(f->node) || file_count(file) > 1));
	/*
	 * Not for a thread that ends by itself, with a table of files of its own: others may be in a call. A program that
	 * makes way for another (O_CLOEXEC) has ended all its other threads.
	 */
	if (current->in_execve || (current->flags & PF_EXITING && !atomic_read(&current->signal->live)))
		dsm_node_owner_gone(r, f->id, current->tgid, file->f_cred->euid);
	return ret;
}

static void end_file(struct dsm_file *f)
{
	struct dsm_region *r = attached(f);

	if (r) {
		dsm_node_release(r, dsm_node_in_use(f->node));
		dsm_node_owner_gone(r, f->id, 0, f->opener);
		detach(r);
	}
	kfree(f);
}

/* Who unloads the module waits for the queue. */
static void closing(struct work_struct *work)
{
	end_file(container_of(work, struct dsm_file, closing));
	module_put(THIS_MODULE);
}

/*
 * The last reference, of descriptors and mappings; pages may have been written through a
 * mapping since the last flush. A ring of io_uring that ends drops it in a work item of the kernel that
 * ends files of all drivers: these are not to wait for our homes.
 */
static int chardev_release(struct inode *inode, struct file *file)
{
	struct dsm_file *f = file->private_data;

	f->opener = file->f_cred->euid;
	if (current->flags & PF_KTHREAD && attached(f)) {
		__module_get(THIS_MODULE);
		INIT_WORK(&f->closing, closing);
		queue_work(closing_wq, &f->closing);
	} else {
		end_file(f);
	}
	return 0;
}

static loff_t chardev_llseek(struct file *file, loff_t offset, int whence)
{
	struct dsm_region *r = dsm_chardev_attach(file);

	if (IS_ERR(r))
		return PTR_ERR(r);
	return fixed_size_llseek(file, offset, whence, (loff_t)r->pages << PAGE_SHIFT);
}

/* Bytes of a heap region are its allocator's: a stray dd must not destroy them. */
static struct dsm_region *attach_raw(struct file *file)
{
	struct dsm_file *f = file->private_data;
	struct dsm_region *r = dsm_chardev_attach(file);

	if (!IS_ERR(r) && (r->flags & DSM_REGION_HEAP) && !READ_ONCE(f->force_raw))
		return ERR_PTR(-EPERM);
	return r;
}

static ssize_t chardev_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct dsm_region *r = attach_raw(iocb->ki_filp);

	return IS_ERR(r) ? PTR_ERR(r) : dsm_mm_read_iter(r->mm, iocb, to);
}

static ssize_t chardev_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct dsm_region *r = attach_raw(iocb->ki_filp);

	return IS_ERR(r) ? PTR_ERR(r) : dsm_mm_write_iter(r->mm, iocb, from);
}

/*
 * The first step of mmap(). The kernel counts the mapping as a writable one of file->f_mapping
 * before it calls the mmap method and takes it back afterwards, so f_mapping must be final
 * already here.
 */
static unsigned long chardev_get_unmapped_area(struct file *file, unsigned long addr,
					       unsigned long len, unsigned long pgoff,
					       unsigned long flags)
{
	struct dsm_region *r = dsm_chardev_attach(file);

	if (IS_ERR(r))
		return PTR_ERR(r);
	return dsm_compat_unmapped_area(file, addr, len, pgoff, flags);
}

static int chardev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct dsm_file *f = file->private_data;
	struct dsm_region *r = attached(f);

	if (!r)
		return -ENOTCONN;
	return dsm_mm_mmap(r->mm, file, vma);
}

/* Also msync(MS_SYNC). A release covers the whole node, so the range is of no use. */
static int chardev_fsync(struct file *file, loff_t start, loff_t last, int datasync)
{
	struct dsm_region *r = dsm_chardev_attach(file);

	return IS_ERR(r) ? PTR_ERR(r) : dsm_node_release(r, false);
}

/* posix_fadvise() and madvise(). WILLNEED is a prefetch; other advice changes nothing. */
static int chardev_fadvise(struct file *file, loff_t offset, loff_t len, int advice)
{
	struct dsm_pieces what = {};
	struct dsm_region *r;
	u64 bytes;

	if (len < 0 || advice < POSIX_FADV_NORMAL || advice > POSIX_FADV_NOREUSE)
		return -EINVAL;
	if (advice != POSIX_FADV_WILLNEED)
		return 0;
	r = dsm_chardev_attach(file);
	if (IS_ERR(r))
		return PTR_ERR(r);
	bytes = r->pages << PAGE_SHIFT;
	if (offset < 0 || offset >= bytes)
		return 0;
	what.offset = offset;
	/* No length: to the end. */
	what.len = len ? min_t(u64, len, bytes - offset) : bytes - offset;
	return dsm_node_prefetch(r, &what);
}

const struct file_operations dsm_chardev_fops = {
	.owner = THIS_MODULE,
	.open = chardev_open,
	.flush = chardev_flush,
	.release = chardev_release,
	.llseek = chardev_llseek,
	.read_iter = chardev_read_iter,
	.write_iter = chardev_write_iter,
	.get_unmapped_area = chardev_get_unmapped_area,
	.mmap = chardev_mmap,
	.fsync = chardev_fsync,
	.fadvise = chardev_fadvise,
	.unlocked_ioctl = dsm_ioctl_dispatch,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = dsm_uring_cmd,
};

/**
 * dsm_chardev_init() - before there are devices
 *
 * Context: module load.
 * Return: 0, or -ENOMEM.
 */
int dsm_chardev_init(void)
{
	closing_wq = alloc_workqueue("dsm_close", WQ_UNBOUND, 0);
	return closing_wq ? 0 : -ENOMEM;
}

/**
 * dsm_chardev_exit() - no file is open, nor any device left
 *
 * Context: module unload.
 */
void dsm_chardev_exit(void)
{
	destroy_workqueue(closing_wq);
}
