# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of nodes that get no memory for what they send: the reserves that they made when they joined must do.

Needs a kernel that injects failures of allocation (its Documentation/fault-injection), as the debug kernel does.
"""
import contextlib

import pairs
from scene import expect, living, ranks, region, region_agrees

FAILSLAB = "/sys/kernel/debug/failslab"
CACHES = ("dsm_net_tx", "dsm_net_buf", "dsm_net_xfer")
MANY = 1 << 30		# failures, of which the kernel counts what is left
# Messages with pages in them, pages into their frames, and transfers.
POLICIES = (("fetch=copy", "diff=pipe:4096:1", "diffpath=msg", "sync=msg"),
            ("fetch=nocopy", "diff=pipe:32768:4", "diffpath=msg", "sync=msg"),
            ("fetch=read", "diff=orig", "diffpath=write", "sync=rdma"))


def _say(node, name, value):
    node.sh(f"echo {value} > {FAILSLAB}/{name}")


@contextlib.contextmanager
def _no_memory(node):
    """Each allocation of a message or transfer fails, also where it may wait for memory."""
    for cache in CACHES:
        node.sh(f"echo 1 > /sys/kernel/slab/{cache}/failslab")
    for name, value in (("cache-filter", "Y"), ("ignore-gfp-wait", "N"), ("verbose", 0), ("interval", 1), ("space", 0),
                        ("times", MANY), ("probability", 100)):
        _say(node, name, value)
    try:
        yield
    finally:
        _say(node, "probability", 0)
        _say(node, "cache-filter", "N")
        for cache in CACHES:
            node.sh(f"echo 0 > /sys/kernel/slab/{cache}/failslab")


def _failures(node):
    return MANY - int(node.sh(f"cat {FAILSLAB}/times").out)


def reserves_are_enough(c):
    """Programs go on and find what they wrote while no node gets a message or a transfer from the system."""
    for policy in POLICIES:
        with contextlib.ExitStack() as stack:
            name = stack.enter_context(region(c, "1M", "home=rr", *policy))
            for node in living(c):
                stack.enter_context(_no_memory(node))
            ranks(c, ["counter", name, 2, 20, 3], timeout=180)
            for turn in range(2):
                pairs.file_passes(c, name, turn)
            failures = {node.name: _failures(node) for node in living(c)}
            region_agrees(c, name)
        print(f"# {' '.join(policy)}: allocations that failed: {failures}", flush=True)
        expect(all(failures.values()), "a node had memory")
