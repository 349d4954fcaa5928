# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Regions with level=1: a process is a participant of its own, and has its node to itself."""
from scene import Actor, CALL_SECONDS, counters, expect, ranks, region, start_ranks

PRESETS = ("hlrc", "csm-none-mg", "csm-adb", "sc")


def one_process_of_a_node(c):
    """Threads of one process per node play by the protocol; further processes are refused until the first is gone."""
    node, other = c.nodes[0], c.nodes[1]
    for preset in PRESETS:
        with region(c, "1M", f"preset={preset}", "level=1") as name:
            expect("level=1" in node.check(["dsmctl", "region", "list"]).out, "no region has level=1")
            ranks(c, ["counter", name, 2, 30, 2])
            first, far = Actor(node, name), Actor(other, name)
            second = node.start(["/work/actor", name], stdin=True)
            second.wait(CALL_SECONDS)
            expect(second.status == 1 and "level=1" in second.err, f"a second process on a node: {second.err}")
            # What one process writes the other gets as a page.
            before = counters(node)["fetches_served"]
            first.want(0, "lock", 7)
            first.want(0, "write", 0, 5)
            first.want(0, "unlock", 7)
            far.want(0, "lock", 7)
            far.read(0, 5)
            far.want(0, "unlock", 7)
            if preset == "hlrc":
                expect(counters(node)["fetches_served"] > before, "the page was not fetched")
            first.kill()
            third = Actor(node, name)
            third.want(0, "lock", 7)
            third.read(0, 5)
            third.want(0, "unlock", 7)
            third.leave()
            far.leave()


def children_have_no_part(c):
    """Of a process's region with level=1; one that keeps the file open is in nobody's way."""
    for preset in PRESETS:
        _children_have_no_part(c.nodes[0], c, preset)


def _children_have_no_part(node, c, preset):
    with region(c, "1M", f"preset={preset}", "level=1") as name:
        parent = start_ranks(c, ["own", name], nodes=[node])[0]
        parent.wait(CALL_SECONDS)
        expect(parent.status == 0, f"own: {parent.err}")
        child = parent.out.split()[-1]
        heir = Actor(node, name)
        heir.read(0, 2)
        heir.leave()
        refused = node.run(["dsmctl", "region", "destroy", name])
        expect(refused.status and "in use" in refused.err, f"the child has not kept the file open: {refused.err}")
        node.check(["kill", "-9", child])
