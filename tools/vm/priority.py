# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Who waits for whom on the host: what stands for adapters and cables goes before processors.

A real adapter and the cable behind it take no time from the processors of the machines. Here QEMU's
main thread is the adapter and the switch's process the cable, on the processors that the guests
compute on; without this, a frame waits until a computing guest has used up its time slice.
"""
import os

PRIORITY = 1


def _go_first(thread):
    try:
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except ProcessLookupError:
        pass


def adapters_go_first(machines, switch):
    """Give all threads but the virtual processors real-time priority, and the switch.

    machines: (QEMU's pid, thread ids of its virtual processors) of each guest. Returns False, and
    leaves the rest as it is, if this user may not.
    """
    try:
        _go_first(switch)
        for pid, processors in machines:
            for thread in map(int, os.listdir(f"/proc/{pid}/task")):
                if thread not in processors:
                    _go_first(thread)
    except PermissionError:
        return False
    return True
