# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of regions that are about to go while a device still writes into a page, which nobody has open any more."""
import contextlib

from loss import asks_all
from plain import DISK_SECONDS, FIRST_OF_DISK
from scene import (CALL_SECONDS, Actor, actors, again_on_failure, begin_from_disk, counters, drop_region, expect,
                   make_region, region, slow_disk, stands_still, until)

PAGE = 4096
MANY = 500	# pages: a frame that was given back too early is among as many that are taken next


@contextlib.contextmanager
def _written_by_a_disk(first, name, there):
    """A disk is about to write FIRST_OF_DISK into a page of a region that the program which asked for it has closed.

    It has done so when the function that the block gets returns, or at its end.
    """
    reader = Actor(first, name)
    try:
        with contextlib.ExitStack() as disk:
            disk.enter_context(slow_disk(first, PAGE // DISK_SECONDS))
            # What a disk has not used for some time it may use at once.
            reader.want(0, "from_disk", 0, PAGE)
            reading = begin_from_disk(reader, there, PAGE, thread=1)
            reader.want(0, "close")

            def end():
                expect(reader.pending(reading), "the device was done too soon for this test")
                disk.close()
                reader.finish(reading, 0, "read from a disk")

            yield end
    finally:
        reader.leave()


def _has_settled(node):
    """It has sent home all it had to, and waits for another node to have done so."""
    settles = "grep -qs dsm_region_settle_last $(grep -ls '^kworker' /proc/[0-9]*/comm | sed s/comm/stack/)"
    return asks_all(node) and node.run(["sh", "-c", settles]).status


def written_while_a_region_may_go(c):
    """It stays, as a program elsewhere has it open: what the device wrote meanwhile gets home like all that is written."""
    first, other = c.nodes[:2]
    first.check(["/work/direct", "prepare"])
    with region(c, "64K") as apart, region(c, "64K", "home=rr") as name, actors(apart, first) as (worker,), \
            actors(name, other) as (user,):
        there = user.id * PAGE
        with _written_by_a_disk(first, name, there) as end:
            r = first.run(["dsmctl", "region", "destroy", name])
            expect(r.status and f"node {user.id}" in r.err and "in use" in r.err, f"destroyed while open: {r}")
            user.read(there, 0)
            end()
        # Of all that the node wrote, in whatever region.
        worker.want(0, "release")
        user.read(there, FIRST_OF_DISK)
        with actors(name, first) as (a,):
            a.read(there, FIRST_OF_DISK)
            a.want(0, "write", there, 7)
            a.want(0, "release")
        user.read(there, 7)


def written_when_all_was_sent_home(c):
    """A region goes: what the device writes from then on is not sent to a home that may have forgotten the region."""
    first, other = c.nodes[:2]
    first.check(["/work/direct", "prepare"])
    with again_on_failure(c, other), region(c, "64K") as apart, actors(apart, first, other) as (worker, user):
        name = make_region(c, "64K", "home=rr")
        with _written_by_a_disk(first, name, user.id * PAGE) as end:
            worker.want(0, "release")	# the next one has nothing more to tell
            with stands_still(other):
                going = first.start(["dsmctl", "region", "destroy", name])
                until(lambda: _has_settled(first), "nobody is asked whether the region can go")
                before = counters(first)["diffs"]
                end()
                worker.want(0, "release")
                sent = counters(first)["diffs"] - before
                expect(not sent, "what a device wrote into a page of a region that goes was sent home")
            r = going.wait(CALL_SECONDS * c.slowness)
            expect(not r.status, f"destroyed when a device had written: {r}")
        for node in (first, other):
            node.wait_for(["test", "!", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
        user.want(0, "lock", 1)
        user.want(0, "unlock", 1)


def written_when_a_region_is_gone(c):
    """The page's memory is nobody else's until the device is done."""
    first, other = c.nodes[:2]
    first.check(["/work/direct", "prepare"])
    with region(c, "4M", "home=block") as apart, actors(apart, first) as (worker,):
        for place in (0, 1):	# homed here, and there
            name = make_region(c, "64K", "home=rr")
            with _written_by_a_disk(first, name, place * PAGE) as end:
                drop_region(c, name)
                other.wait_for(["test", "!", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
                first_page = place * MANY // 2
                worker.want(0, "fill", first_page * PAGE, MANY // 2, PAGE, 1)
                end()
                worker.want(0, "verify", first_page * PAGE, MANY // 2, PAGE, 1)
