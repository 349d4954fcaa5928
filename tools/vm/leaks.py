# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What the module leaves behind in a guest: lists of lines, empty if there is nothing."""

# Of kmemleak's: younger objects are not reported.
YOUNG_SECONDS = 6


def held_by_module(shown):
    """The lines of `rdma resource show` that are the module's: rdma_cm makes its queue pairs, and nobody else's in guests."""
    return [line for line in shown.splitlines() if "[rdma_cm]" in line or "dsm" in line.replace("rdma", "")]


def after_unload(node):
    """Slab caches, RDMA objects, device files and attributes of a module that is unloaded."""
    faults = []
    slabs = [s.split()[0] for s in node.read("/proc/slabinfo").splitlines() if s.startswith("dsm")]
    if slabs:
        faults.append(f"{node.name}: slab caches left after rmmod: {' '.join(slabs)}")
    for what in ("qp", "cq", "mr", "pd", "cm_id"):
        held = held_by_module(node.check(["rdma", "resource", "show", what]).out)
        if held:
            faults.append(f"{node.name}: RDMA objects left after rmmod:\n" + "\n".join(held))
    files = node.sh("ls -d /dev/dsm* /sys/class/dsm /sys/module/dsm 2>/dev/null; true").out.split()
    if files:
        faults.append(f"{node.name}: files left after rmmod: {' '.join(files)}")
    return faults


def unreferenced(node, seconds):
    """What kmemleak finds on a debug kernel. Two scans: an object is reported once it was seen unreferenced twice."""
    found = node.run(["sh", "-ec", "f=/sys/kernel/debug/kmemleak; echo scan >$f; "
                      f"sleep {YOUNG_SECONDS}; echo scan >$f; cat $f"], timeout=seconds)
    if found.status:
        return [f"{node.name}: kmemleak cannot be asked: {found.err.strip()}"]
    return [f"{node.name}: kmemleak:\n{found.out}"] if "unreferenced object" in found.out else []
