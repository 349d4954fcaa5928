// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * How many locks the processes of one user hold or wait for at once, with all that they have
 * pending without a thread. Idle keys cost nothing and do not count. Knows no lock.
 */
#include <linux/cred.h>
#include "shell.h"

/* uid -> count, as value entries; a user without locks has no entry. */
static DEFINE_XARRAY(counts);

static unsigned long index_of(kuid_t uid)
{
	return __kuid_val(uid);
}

/**
 * dsm_quota_charge() - one lock more for a user
 * @uid: user who opened the file
 *
 * Context: process; sleeps.
 * Return: 0; -EDQUOT the user is at the limit; -ENOMEM.
 */
int dsm_quota_charge(kuid_t uid)
{
	/* It may be changed at any time. */
	unsigned long limit = READ_ONCE(dsm_param_locks_per_user), n;
	void *old;

	/* A slot must be there before the count is changed under the lock. */
	old = xa_cmpxchg(&counts, index_of(uid), NULL, xa_mk_value(0), GFP_KERNEL);
	if (xa_is_err(old))
		return xa_err(old);
	xa_lock(&counts);
	old = xa_load(&counts, index_of(uid));
	n = old ? xa_to_value(old) : 0;
	if (n < limit)
		old = __xa_store(&counts, index_of(uid), xa_mk_value(n + 1), GFP_ATOMIC);
	else if (!n)
		__xa_erase(&counts, index_of(uid));
	xa_unlock(&counts);
	if (n >= limit)
		return -EDQUOT;
	return xa_is_err(old) ? xa_err(old) : 0;
}

/**
 * dsm_quota_uncharge() - one lock less
 * @uid: user it was charged to
 *
 * Context: process.
 */
void dsm_quota_uncharge(kuid_t uid)
{
	unsigned long n;
	void *old;

	xa_lock(&counts);
	old = xa_load(&counts, index_of(uid));
	n = old ? xa_to_value(old) : 0;
	/* Storing over or erasing a present entry allocates nothing. */
	if (n > 1)
		__xa_store(&counts, index_of(uid), xa_mk_value(n - 1), GFP_ATOMIC);
	else
		__xa_erase(&counts, index_of(uid));
	xa_unlock(&counts);
}
