# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of regions with consistency=cashmere: releases that tell, pages that only one node has."""
from scene import actors, counters, expect, living, ranks, region

PAGE = 4096
SETTINGS = (("preset=csm-none",), ("preset=csm-s", "home=rr"), ("consistency=cashmere", "home=rr", "diffpath=write"))


MIGRATING = (("preset=csm-none-mg",), ("preset=csm-none-mg", "fetch=copy"))


def totals(c):
    """Sums over all nodes, in which what was sent was received."""
    sums = {}
    for node in living(c):
        for kind, count in counters(node).items():
            sums[kind] = sums.get(kind, 0) + count
    expect(sums["notices_sent"] == sums["notices_received"],
           f"{sums['notices_sent']} notices sent, {sums['notices_received']} received")
    expect(sums["diffs"] == sums["diffs_applied"],
           f"{sums['diffs']} diffs made, {sums['diffs_applied']} applied")
    expect(sums["migrations"] <= sums["migration_attempts"], "more homes moved than were asked for")
    return sums


STAY = ("notices_sent", "diffs", "excl_enters", "excl_breaks")
MOVE = ("notices_sent", "migrations", "migration_attempts")


def under_each(c, argv, ppn=2, timeout=100, kinds=SETTINGS, grown=STAY):
    """A program in a region of each kind; what the counters say grew."""
    for settings in kinds:
        before = totals(c)
        with region(c, "1M", *settings) as name:
            ranks(c, [name if a == "REGION" else a for a in argv], ppn=ppn, timeout=timeout)
        after = totals(c)
        for kind in grown:
            expect(after[kind] > before[kind], f"{kind} did not grow with {settings}")
        expect(after["race_conflicts"] == before["race_conflicts"], "conflicts without a race")


def csm_counters_under_locks(c):
    under_each(c, ["counter", "REGION", 4, 40, 6])


def csm_false_sharing(c):
    under_each(c, ["sharing", "REGION", 4, 15], timeout=120)


def csm_barriers(c):
    under_each(c, ["barriers", "REGION", 4, 20], timeout=120)


def csm_exchange(c):
    under_each(c, ["exchange", 60, 4 * PAGE, "REGION"])


def csm_released_is_told(c):
    """L36: a completed release is seen by whoever acquires next, whatever it acquires."""
    for settings in SETTINGS:
        with region(c, "1M", *settings) as name, actors(name, c.nodes[0], c.nodes[1]) as (a, b):
            for turn in range(1, 20):
                for page in range(3):
                    at = page * PAGE + 8 * turn
                    b.read(at, 0)
                    a.want(0, "lock", 1)
                    a.want(0, "write", at, turn)
                    a.want(0, "unlock", 1)
                    b.want(0, "lock", 2)
                    b.read(at, turn)
                    b.want(0, "unlock", 2)


def csm_only_one_has_it(c):
    """A page that nobody else has costs no diff, no twin and no notice, however often it is released."""
    last = c.nodes[-1]
    for settings in SETTINGS[:1] + (("preset=csm-none", "home=block:1"),):
        # Of two neighbours one is homed elsewhere.
        with region(c, "1M", *settings) as name, actors(name, c.nodes[0], last) as (a, b):
            for page in range(2):
                a.want(0, "write", page * PAGE, 1)
            before = totals(c)
            for turn in range(2, 30):
                for page in range(2):
                    a.want(0, "lock", 1)
                    a.want(0, "write", page * PAGE, turn)
                    a.want(0, "unlock", 1)
            after = totals(c)
            for kind in ("diffs", "twins", "notices_sent", "excl_breaks", "page_transfers"):
                expect(after[kind] == before[kind], f"{kind} grew with {settings}")
            for page in range(2):
                b.want(0, "lock", 1)
                b.read(page * PAGE, 29)
                b.want(0, "unlock", 1)
            after = totals(c)
            expect(after["excl_breaks"] == before["excl_breaks"] + 2, "not each page was given back once")
            a.want(0, "lock", 1)
            a.want(0, "write", 0, 77)
            a.want(0, "unlock", 1)
            b.want(0, "lock", 1)
            b.read(0, 77)
            b.want(0, "unlock", 1)


def mg_counters_under_locks(c):
    under_each(c, ["counter", "REGION", 4, 40, 6], kinds=MIGRATING, grown=MOVE)


def mg_false_sharing(c):
    under_each(c, ["sharing", "REGION", 4, 15], timeout=120, kinds=MIGRATING, grown=MOVE)


def mg_barriers(c):
    under_each(c, ["barriers", "REGION", 4, 20], timeout=120, kinds=MIGRATING, grown=MOVE)


def mg_exchange(c):
    under_each(c, ["exchange", 60, 4 * PAGE, "REGION"], kinds=MIGRATING, grown=MOVE)


def mg_follows_the_writer(c):
    """Who writes in turns becomes home in turns, and no twin or diff is made."""
    turns = 34
    for settings in MIGRATING:
        with region(c, "1M", *settings) as name, actors(name, c.nodes[0], c.nodes[-1]) as both:
            for a in both:
                a.want(0, "lock", 1)
                a.want(0, "write", PAGE, 1)
                a.want(0, "unlock", 1)
            before = totals(c)
            for turn in range(2, turns + 2):
                a = both[turn % 2]
                a.want(0, "lock", 1)
                a.read(PAGE, turn - 1)
                a.want(0, "write", PAGE, turn)
                a.want(0, "unlock", 1)
            after = totals(c)
            moves, twins = (after[kind] - before[kind] for kind in ("migrations", "twins"))
            expect(moves == turns and not twins, f"{moves} moves and {twins} twins in {turns} turns")
            mine = [counters(node, name) for node in c.nodes]
            for kind in ("migrations", "migration_attempts"):
                count = sum(n[kind] for n in mine)
                expect(count >= turns, f"{kind} of the region: {count} in {turns} turns")


def roi_homes(c):
    """First touch counts anew: pages go to who uses them from then on, where homes move."""
    for settings, moves in (("preset=csm-none",), 1), (("preset=csm-none-mg",), 1), (("home=first-touch",), 0):
        with region(c, "1M", *settings) as name:
            ranks(c, ["roi", name, 20, moves], ppn=1)
