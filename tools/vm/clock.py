# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""A clock that stands still while others have this machine's processors.

A virtual machine's host may give its processors to somebody else; /proc/stat counts for how long, while there was
something to run. Bounds that tests put on guests are of this clock: what nobody could have done in time is no fault
of theirs. On a machine that nobody else uses it is time.monotonic().
"""
import os
import time

_TICKS = os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
_latest = 0.0


def stolen():
    """Seconds that others had the processors since this machine began, by processor on average."""
    with open("/proc/stat", encoding="ascii") as f:
        words = f.readline().split()
    # cpu user nice system idle iowait irq softirq steal
    return int(words[8]) / _TICKS if len(words) > 8 else 0.0


def now():
    """Seconds; only differences mean anything, and none is negative."""
    global _latest
    _latest = max(_latest, time.monotonic() - stolen())
    return _latest
