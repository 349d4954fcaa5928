/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/*
 * What the units of mm share: the mm side of one region. Outside kmod/mm only
 * region.h is seen.
 *
 * Lock order (mm.md 2.2): mmap_lock or VMA lock, page lock of a frame,
 * i_mmap_rwsem, page-table lock. The shell's locks nest inside all of them:
 * dsm_mm_ops.fault and .right are called under mmap_lock and page lock.
 */
#ifndef DSM_MM_MM_H
#define DSM_MM_MM_H

#include <linux/percpu.h>
#include "region.h"

/* Counters of the fault path, one set per CPU; see struct dsm_mm_stats. */
struct dsm_mm_counters {
	u64 faults_read;
	u64 faults_write;
	u64 sigbus;
	u64 wrprotect_runs;
	u64 zap_runs;
	u64 ns_page_lock;
};

/**
 * struct dsm_mm - mm side of one region
 * @ops:           questions to the shell; fixed at creation
 * @ctx:           first argument of @ops; fixed at creation
 * @pages:         length of the region; fixed at creation
 * @inode:         owns the frames, and the address_space in which all mappings of files that are open
 *                 for writing hang, whichever device file they came through; fixed at creation
 * @views:         owns the address_space of mappings of files opened read-only, which never become
 *                 writable; fixed at creation
 * @counters:      summed by dsm_mm_stats()
 * @mprotect_used: somebody has added write permission to a mapping of this region;
 *                 never cleared. Written before the dirty bits are cleaned, read after a
 *                 write-protecting walk: see dsm_pte_mprotect() and protect_pages()
 * @exact:         read() copies under the page lock; fixed at creation
 * @own:           children do not inherit mappings; fixed at creation
 * @table:         lock table, or NULL; set once
 * @table_pages:   its length; set before @table
 */
struct dsm_mm {
	const struct dsm_mm_ops *ops;
	void *ctx;
	u64 pages;
	struct inode *inode;
	struct inode *views;
	struct dsm_mm_counters __percpu *counters;
	bool mprotect_used;
	bool exact;
	bool own;
	void *table;
	u32 table_pages;
};

#define dsm_mm_count(mm, what) this_cpu_inc((mm)->counters->what)

#endif
