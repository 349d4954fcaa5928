// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * What decides by which mechanism messages go: limits that can be set while messages are under way.
 * Sends nothing.
 */
#include "net.h"

static struct {
	u32 value;
	u32 min;
	u32 max;
} tunables[DSM_NET_TUNABLES] = {
	[DSM_NET_INLINE_MAX] = { .value = 256, .max = DSM_INLINE_BYTES },
	[DSM_NET_BATCH_MAX] = { .value = 16, .min = 1, .max = DSM_BATCH_MAX },
};

/**
 * dsm_tune() - a limit as it is now
 * @which: limit
 *
 * Context: any.
 * Return: the value, within its bounds.
 */
u32 dsm_tune(enum dsm_net_tunable which)
{
	return READ_ONCE(tunables[which].value);
}

/**
 * dsm_net_tunable() - a limit as it is now, for the shell
 * @which: limit
 *
 * Context: any.
 * Return: the value.
 */
u32 dsm_net_tunable(enum dsm_net_tunable which)
{
	return dsm_tune(which);
}

/**
 * dsm_net_set_tunable() - change a limit
 * @which: limit
 * @value: new value; messages sent from now on obey it
 *
 * Context: any.
 * Return: 0; -ERANGE: it is out of bounds, nothing was changed.
 */
int dsm_net_set_tunable(enum dsm_net_tunable which, u32 value)
{
	if (value < tunables[which].min || value > tunables[which].max)
		return -ERANGE;
	WRITE_ONCE(tunables[which].value, value);
	return 0;
}
