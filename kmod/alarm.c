// SPDX-License-Identifier: GPL-2.0-only
/* Copyright (C) 2026 The dsm authors */
/*
 * Work at some time, to the microsecond: what a step of the core has asked to be reminded of.
 */
#include "shell.h"

static enum hrtimer_restart on_time(struct hrtimer *timer)
{
	struct dsm_alarm *a = container_of(timer, struct dsm_alarm, timer);

	queue_work(a->queue, &a->work);
	return HRTIMER_NORESTART;
}

/**
 * dsm_alarm_init() - not set yet
 * @a:     alarm
 * @queue: which runs the work
 * @work:  what is done
 *
 * Context: process.
 */
void dsm_alarm_init(struct dsm_alarm *a, struct workqueue_struct *queue, work_func_t work)
{
	a->queue = queue;
	INIT_WORK(&a->work, work);
	hrtimer_init(&a->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	a->timer.function = on_time;
}

/**
 * dsm_alarm_set() - do the work at some time
 * @a:     alarm
 * @at_ns: the time, of ktime_get_ns(); what it was set to before no longer holds
 *
 * Context: any.
 */
void dsm_alarm_set(struct dsm_alarm *a, u64 at_ns)
{
	hrtimer_start(&a->timer, ns_to_ktime(at_ns), HRTIMER_MODE_ABS);
}

/**
 * dsm_alarm_stop() - the work does not run any more, and is not going to
 * @a: alarm; nothing is left that would need it
 *
 * Context: process; waits for the work.
 */
void dsm_alarm_stop(struct dsm_alarm *a)
{
	/* Work that began before there was nothing left to do may set it once more. */
	hrtimer_cancel(&a->timer);
	cancel_work_sync(&a->work);
	hrtimer_cancel(&a->timer);
	cancel_work_sync(&a->work);
}
