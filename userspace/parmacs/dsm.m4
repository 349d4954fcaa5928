dnl SPDX-License-Identifier: LGPL-2.1-only
dnl Copyright (C) 2026 The dsm authors
dnl
dnl The PARMACS macros on dsm: make MACROS=.../dsm.m4. See dsm-parmacs(7). What they expand to is
dnl declared in dsm_parmacs.h beside this file; nothing here knows more than the names of the calls.
dnl
dnl Each output begins with these declarations: headers of programs declare condition variables and locks
dnl above the first EXTERN_ENV, or have none. They bring no system's header but stddef.h, so that what the program
dnl defines for those still comes in time.
divert(-1)

dnl It expands to its name in quotes, in which there may be a comma or the name of a macro.
define(`dsm_parmacs_dir',
	esyscmd(changequote([,])[cd "$(dirname "]__file__[")" && printf "\`\`%s''" "$PWD"]changequote(`,')))

define(`EXTERN_ENV', `#include "'dsm_parmacs_dir`/dsm_parmacs_env.h"
')
define(`MAIN_ENV', `#include "'dsm_parmacs_dir`/dsm_parmacs_main.h"
')
define(`INCLUDES', `EXTERN_ENV')
define(`NEWPROC', `')

define(`MAIN_INITENV', `dsm_parmacs()->init();')
define(`MAIN_END', `dsm_parmacs()->end();')

dnl Two arguments: workers 1 to P - 1, if any, and the caller is worker 0. One: one more worker, for which the
dnl library's word is 0.
define(`CREATE', `ifelse(`$#', `1',
	`dsm_parmacs()->create((dsm_parmacs_function *)($1), 0);',
	`{ long dsm_parmacs_parties = ($2); 'dnl
`dsm_parmacs()->create((dsm_parmacs_function *)($1), dsm_parmacs_parties ? dsm_parmacs_parties : 1); ($1)(); }')')
define(`WAIT_FOR_END', `dsm_parmacs()->wait_for_end();')

define(`LOCKDEC', `dsm_parmacs_lock $1;')
define(`LOCKINIT', `{ (void)&($1); }')
define(`LOCK', `{ dsm_parmacs()->lock(&($1)); }')
define(`UNLOCK', `{ dsm_parmacs()->unlock(&($1)); }')

define(`ALOCKDEC', `dsm_parmacs_lock $1[$2];')
define(`ALOCKINIT', `{ (void)&($1); }')
define(`ALOCK', `{ dsm_parmacs()->lock(&($1)[$2]); }')
define(`AULOCK', `{ dsm_parmacs()->unlock(&($1)[$2]); }')
define(`AGETL', `(($1)[$2])')

dnl Those that Splash-3's file has for locks that its programs do not need: they lock here.
define(`NLOCKDEC', `LOCKDEC($1)')
define(`NLOCKINIT', `LOCKINIT($1)')
define(`NLOCK', `LOCK($1)')
define(`NUNLOCK', `UNLOCK($1)')

define(`BARDEC', `dsm_parmacs_barrier $1;')
define(`BARINIT', `{ (void)&($1); }')
define(`BARRIER', `{ dsm_parmacs()->barrier(&($1), $2); }')

define(`CONDVARDEC', `dsm_parmacs_cond $1;')
define(`CONDVARINIT', `{ dsm_parmacs()->cond_init(&($1)); }')
define(`CONDVARWAIT', `{ dsm_parmacs()->cond_wait(&($1), &($2)); }')
define(`CONDVARSIGNAL', `{ dsm_parmacs()->cond_signal(&($1)); }')
define(`CONDVARBCAST', `{ dsm_parmacs()->cond_broadcast(&($1)); }')

define(`PAUSEDEC', `dsm_parmacs_sem $1;')
define(`PAUSEINIT', `{ dsm_parmacs()->sem_init(&($1)); }')
define(`SETPAUSE', `{ dsm_parmacs()->sem_post(&($1)); }')
define(`WAITPAUSE', `{ dsm_parmacs()->sem_wait(&($1)); }')
define(`CLEARPAUSE', `{ (void)&($1); }')

define(`GSDEC', `long $1;')
define(`GSINIT', `{ ($1) = 0; }')
define(`GETSUB', `{ ($2) = dsm_parmacs()->get_sub(&($1), $3, $4); }')
define(`NU_GSDEC', `GSDEC($1)')
define(`NU_GSINIT', `GSINIT($1)')
define(`NU_GETSUB', `GETSUB($1, $2, $3, $4)')

dnl What a critical section wrote goes out with its unlock; here only the processor needs to know.
define(`ACQUIRE_FENCE', `{ __atomic_thread_fence(__ATOMIC_ACQUIRE); }')
define(`RELEASE_FENCE', `{ __atomic_thread_fence(__ATOMIC_RELEASE); }')
define(`FULL_FENCE', `{ __atomic_thread_fence(__ATOMIC_SEQ_CST); }')

dnl With the semicolon that some programs leave out. Where the memory is homed is the region's policy.
define(`G_MALLOC', `dsm_parmacs()->malloc($1);')
define(`NU_MALLOC', `dsm_parmacs()->malloc($1);')
define(`G_FREE', `dsm_parmacs()->free($1);')

define(`CLOCK', `{ ($1) = dsm_parmacs()->clock(); }')

define(`SPLASH3_ROI_BEGIN', `{ dsm_parmacs()->roi_begin(); }')
define(`SPLASH3_ROI_END', `{ dsm_parmacs()->roi_end(); }')

divert(0)dnl
`#include "'dsm_parmacs_dir`/dsm_parmacs.h"'
`#line' 1
