# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of twins: there are few of them, and pages come into ones that threads of the node go on writing (merge=live).

Asks the counters which pages were merged by whom and how many faults there were, never how long it took.
"""
import presets
from scene import actors, counters, expect, ranks, region, stands_still, sums

PAGE = 4096
# Twins that a node has room for, so that fewer dirty pages than half of that stay, and more go home early.
ROOM = 96
OPTIONS = {"nodes": 3, "module_args": [f"twins_max={ROOM}"]}
PAGES = ROOM // 2 - 8
MANY = 2 * ROOM
TURNS = 6
FAULTS = ("read_faults", "write_faults")


def _grown(node, before):
    now = counters(node)
    return {name: now[name] - value for name, value in before.items()}


def _acquire_beside(c, merge, *policy):
    """A page written by both nodes: what the acquire of the one that is not its home, and its next stores, cost."""
    home, other = c.nodes[:2]
    with region(c, "1M", "home=block", "around=off", f"merge={merge}", *policy) as name, \
            actors(name, home, other) as (a, b):
        a.want(0, "fill", 16, PAGES, PAGE, 1000)
        a.want(0, "release")
        b.want(0, "acquire")
        b.want(0, "fill", 8, PAGES, PAGE, 5000)
        a.want(0, "fill", 16, PAGES, PAGE, 2000)
        a.want(0, "release")
        start = counters(other)
        b.want(0, "acquire")
        acquired = _grown(other, start)
        b.want(0, "fill", 8, PAGES, PAGE, 6000)
        b.want(0, "verify", 16, PAGES, PAGE, 2000)
        used = _grown(other, start)
        b.want(0, "release")
        a.want(0, "acquire")
        a.want(0, "verify", 8, PAGES, PAGE, 6000)
        a.want(0, "verify", 16, PAGES, PAGE, 2000)
    return acquired, used


def live_pages_stay_mapped(c):
    """With merge=live an acquire brings the bytes, and stores go on without a fault; with merge=fault each page has one."""
    for policy in ((), ("fetch=read",), ("consistency=cashmere",)):
        acquired, used = _acquire_beside(c, "fault", *policy)
        expect(not acquired["merges"] and not used["merges_live"], f"{policy}: merge=fault merged in an acquire")
        expect(used["merges"] == PAGES and sum(used[word] for word in FAULTS) >= PAGES,
               f"{policy}, merge=fault: {used['merges']} merges, {[used[word] for word in FAULTS]} faults")
        acquired, used = _acquire_beside(c, "live", *policy)
        expect(acquired["merges"] == acquired["merges_live"] == PAGES,
               f"{policy}: the acquire merged {acquired['merges']}, {acquired['merges_live']} of them live")
        expect(not any(used[word] for word in FAULTS) and used["merges"] == PAGES,
               f"{policy}, merge=live: {[used[word] for word in FAULTS]} faults, {used['merges']} merges")


def live_stores_are_kept(c):
    """A thread that never acquires stores into bytes of words whose others come from elsewhere."""
    for policy in (("fetch=copy",), ("fetch=read", "sync=rdma"), ("preset=csm-none",), ("preset=csm-ms",),
                   ("preset=auto",)):
        before = sums(c)
        with region(c, "1M", *policy, "merge=live") as name:
            ranks(c, ["beside", name, 4, 40], 1, 180)
        after = sums(c)
        expect(after["race_conflicts"] == before["race_conflicts"], f"{policy}: conflicts without a race")
        expect(after["merges_live"] > before["merges_live"], f"{policy}: nothing was merged live")


def _twins_go_home_early(c, *policy, certain=False, turns=TURNS):
    """L27: of more pages than there is room for some are flushed before the release, not written again, and still told of.

    certain: whoever is not their home has twins of them in every turn.
    """
    ever = 0
    with region(c, "4M", "around=off", *policy) as name, actors(name, *c.nodes) as group:
        for turn in range(turns):
            writer, value = group[turn % len(group)], 10000 * (turn + 1)
            node = c.nodes[turn % len(group)]
            before = counters(node)["diffs"]
            writer.want(0, "lock", 7)
            writer.want(0, "fill", 0, MANY, PAGE, value)
            early = counters(node)["diffs"] - before
            ever += early
            writer.want(0, "unlock", 7)
            for a in group:
                a.want(0, "lock", 7)
                a.want(0, "verify", 0, MANY, PAGE, value)
                a.want(0, "unlock", 7)
            expect(early or not certain or not turn % len(group),
                   f"{policy}, turn {turn}: nothing was written back before the release")
            all_of_it = counters(node)["diffs"] - before
            expect(all_of_it <= MANY, f"{policy}, turn {turn}: {all_of_it} diffs of {MANY} pages")
    return ever


def twins_go_home_early(c):
    for policy in (("home=block",), ("home=block", "fetch=read", "sync=rdma")):
        expect(_twins_go_home_early(c, *policy, certain=True), f"{policy}: nothing was ever written back before a release")
    for preset in ("csm-none", "csm-ms"):
        expect(_twins_go_home_early(c, f"preset={preset}"), f"{preset}: nothing was ever written back before a release")


def twins_are_bounded(c):
    """Beyond twice the room a writer waits for what is on its way: pages homed at a node that stands still, at no more than that."""
    home, writer = c.nodes[:2]
    words = 8 * ROOM * PAGE // 8	# more than fits into the packs that may be under way
    with region(c, "12M", "home=block", "around=off") as name, actors(name, writer) as (a,):
        before = counters(writer)
        with stands_still(home):
            number = a.begin_blocked("wait_room", "fill", 0, words, 8, 1000)
            grown = _grown(writer, before)
        a.finish(number, 0, "stores")
        a.want(0, "release")
        # A page that is flushed between its fault and its store has no diff, and a twin once more.
        again = _grown(writer, before)["twins"] - words * 8 // PAGE
        left = grown["twins"] - grown["diffs"]
        expect(2 * ROOM <= left <= 2 * ROOM + 1 + again,
               f"{grown['twins']} twins, {grown['diffs']} diffs, {again} made again, with room for {ROOM}")
        a.want(0, "verify", 0, words, 8, 1000)


def twins_under_each_preset(c):
    """The same; pages of some move to whoever writes them, who has no twin then."""
    for preset, settings in presets.PRESETS.items():
        if settings["consistency"] == "sc":
            continue
        early = _twins_go_home_early(c, f"preset={preset}", turns=len(c.nodes))
        print(f"# {preset}: {early} pages written back before a release", flush=True)
        expect(early or settings["home"] == "migrate", f"{preset}: nothing was ever written back before a release")
