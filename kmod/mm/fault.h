/* SPDX-License-Identifier: GPL-2.0-only */
/* Copyright (C) 2026 The dsm authors */
/* The handlers of a fault in a mapping of a region; see fault.c. */
#ifndef DSM_MM_FAULT_H
#define DSM_MM_FAULT_H

#include <linux/mm.h>

vm_fault_t dsm_fault_page(struct vm_fault *vmf);
vm_fault_t dsm_fault_mkwrite(struct vm_fault *vmf);
vm_fault_t dsm_fault_around(struct vm_fault *vmf, pgoff_t first, pgoff_t last);

#endif
