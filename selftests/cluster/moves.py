# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of home=migrate@barrier: homes move while pages are read and written remotely."""
import errno

import loss
from scene import SIGBUS, actors, bound, counters, expect, living, ranks, region, sums
from vm import clock

PAGE = 4096

AT_BARRIER = (("preset=hlrc-rdma", "home=migrate@barrier"), ("preset=csm-none", "home=migrate@barrier", "data=rdma-w"),
              ("home=migrate@barrier",))
ROUNDS = 12


def totals(c):
    """Sums over all nodes, none of which has anything under way."""
    total = sums(c)
    expect(total["diffs"] == total["diffs_applied"],
           f"{total['diffs']} diffs made, {total['diffs_applied']} applied")
    expect(total["migrations"] <= total["migration_attempts"], "more homes moved than were to")
    return total


def meet(group, key=7):
    """All come to a barrier."""
    calls = [(a, a.begin("barrier", key, len(group))) for a in group]
    for a, call in calls:
        a.finish(call, 0, "barrier")


def atb_follows_the_writer(c):
    """Pages written by one node only, between barriers of all, go there, and cost no diffs any more; who read or wrote
    them remotely before finds them."""
    pages = 40		# so many of a chunk that it is registered
    for settings in AT_BARRIER:
        with region(c, "1M", *settings) as name, actors(name, *living(c)) as group:
            home, writer, other = group[0], group[-1], group[len(group) // 2]
            home.want(0, "fill", 0, pages, PAGE, 1)
            meet(group)
            other.want(0, "verify", 0, pages, PAGE, 1)
            before = totals(c)
            for turn in range(ROUNDS):
                writer.want(0, "fill", 8, pages, PAGE, 1000 * turn)
                meet(group)
                other.want(0, "verify", 8, pages, PAGE, 1000 * turn)
                meet(group)
            grew = {kind: count - before[kind] for kind, count in totals(c).items()}
            expect(grew["migrations"] == pages, f"{grew['migrations']} of {pages} pages moved with {settings}")
            expect(grew["diffs"] <= 7 * pages, f"{grew['diffs']} diffs of {pages} pages with {settings}")
            if "preset=hlrc-rdma" in settings:
                expect(grew["page_reads"] + grew["direct_pages"] > pages, "hardly anything was read or written remotely")
            mine = [counters(node, name) for node in living(c)]
            expect(sum(n["migration_attempts"] for n in mine) >= pages, "moves without a proposal")
            # Who knew another home.
            other.want(0, "fill", 16, pages, PAGE, 2)
            home.want(0, "fill", 24, pages, PAGE, 3)
            meet(group)
            for a in group:
                for at, value in ((0, 1), (8, 1000 * (ROUNDS - 1)), (16, 2), (24, 3)):
                    a.want(0, "verify", at, pages, PAGE, value)


def atb_some_stay_away(c):
    """Nothing moves after barriers of some: who is not there may be writing remotely."""
    with region(c, "1M", *AT_BARRIER[0]) as name, actors(name, *living(c)) as group:
        writer = group[1]
        group[0].want(0, "write", 0, 1)
        meet(group)
        before = totals(c)
        for turn in range(ROUNDS):
            writer.want(0, "write", 8, turn)
            meet(group[:2], key=8)
            group[2].read(0, 1)
        expect(totals(c)["migrations"] == before["migrations"], "a page moved without the third node")
        for turn in range(ROUNDS):
            writer.want(0, "write", 8, 100 + turn)
            meet(group)
        expect(totals(c)["migrations"] == before["migrations"] + 1, "the page did not move when all came")
        for a in group:
            a.read(8, 100 + ROUNDS - 1)


def atb_programs(c):
    """Threads that are at no barrier, and bytes of one page written by all, meanwhile."""
    before = totals(c)
    for settings in AT_BARRIER[:2] + (("preset=auto",),):
        with region(c, "64K", *settings) as name:
            ranks(c, ["barriers", name, 4, 10], ppn=2, timeout=100)
            ranks(c, ["sharing", name, 4, 5], ppn=2, timeout=100)
    expect(totals(c)["race_conflicts"] == before["race_conflicts"], "conflicts without a race")


def moved_pages(group, pages):
    """Pages of the first node are written by the last between barriers, until their homes have moved there."""
    home, writer = group[0], group[-1]
    for page in range(pages):
        home.want(0, "write", page * PAGE, 1)
    meet(group)
    for turn in range(ROUNDS):
        for page in range(pages):
            writer.want(0, "write", page * PAGE + 8, turn)
        meet(group)


def hear_of_loss(group, c, victim):
    """Kill a node of the group, and wait until all others know."""
    since = clock.now()
    waits = [(a, a.begin("barrier", 7, len(group))) for a in group if a is not victim]
    victim.node.kill()
    for a, call in waits:
        a.finish(call, -errno.EHOSTDOWN, "barrier with a lost node", bound(c, since))


def a_lock_of_all(group):
    """A key that no lost node manages."""
    for key in range(100, 140):
        if not group[0].call("lock", key):
            group[0].want(0, "unlock", key)
            return key
    raise AssertionError("every key has a lost manager")


def write_under(key, actor, at, value):
    actor.want(0, "lock", key)
    actor.want(0, "write", at, value)
    actor.want(0, "unlock", key)


def read_under(key, actor, at, value):
    actor.want(0, "lock", key)
    actor.read(at, value)
    actor.want(0, "unlock", key)


def atb_old_home_killed(c):
    """A home is lost after its pages have gone: who has them, and who has heard of it, goes on."""
    *rest, victim = living(c)
    with region(c, "1M", "home=migrate@barrier", "data=rdma") as name, actors(name, victim, *rest) as group:
        moved_pages(group, 2)
        old, other, writer = group
        before = counters(writer.node, name)["migrations"]
        expect(before == 2, f"{before} of 2 pages moved")
        other.read(8, ROUNDS - 1)
        hear_of_loss(group, c, old)
        key = a_lock_of_all([writer])
        write_under(key, writer, 8, 77)
        read_under(key, other, 8, 77)
        write_under(key, other, 16, 5)
        read_under(key, writer, 16, 5)
    loss.work_goes_on(c)


def atb_new_home_killed(c):
    """A home is lost that pages have come to: they are, and nothing else."""
    *rest, victim = living(c)
    with region(c, "1M", "home=migrate@barrier", "data=rdma") as name, actors(name, *rest, victim) as group:
        old, new = group[0], group[-1]
        old.want(0, "write", 9 * PAGE, 3)
        moved_pages(group, 2)
        hear_of_loss(group, c, new)
        key = a_lock_of_all([old])
        write_under(key, old, 9 * PAGE + 8, 4)
        old.want(SIGBUS, "write", 8, 1)
        old.want(SIGBUS, "read", PAGE + 8)
        read_under(key, old, 9 * PAGE, 3)
