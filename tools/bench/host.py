# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What the host gives to whoever wants all of it: on one that shares its processors, or is a guest itself, not all."""
import os
import time

SECONDS = 1.0
GAP_S = 200e-6	# a spinning program that does not see the clock for so long did not run


def _spin(cpu, seconds):
    """The share of that time in which a program that spins on a processor did not run."""
    os.sched_setaffinity(0, {cpu})
    begin = last = time.monotonic()
    lost = 0.0
    while last - begin < seconds:
        now = time.monotonic()
        if now - last > GAP_S:
            lost += now - last
        last = now
    return lost / (last - begin)


def taken(seconds=SECONDS):
    """How much others take of all processors while a program spins on each, in percent.

    What a hypervisor gives to other machines is in no load average, and not always in its count of stolen time.
    """
    children = []
    for cpu in sorted(os.sched_getaffinity(0)):
        here, there = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.write(there, f"{_spin(cpu, seconds):.4f}".encode())
            finally:
                os._exit(0)	# nothing of the parent's is to be flushed or cleaned up here
        os.close(there)
        children.append((pid, here))
    shares = []
    for pid, here in children:
        with os.fdopen(here) as f:
            shares.append(float(f.read()))
        os.waitpid(pid, 0)
    return round(100 * sum(shares) / len(shares))
