# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of how pages come: by READ, ahead of their use, or not at all.

Asks the counters how many pages were asked for and used, never how long it took.
"""
import contextlib
import errno

from loss import asks_all
from scene import (CALL_SECONDS, SIGBUS, actors, bound, check_loss_is_reported, counters, dying, expect, make_region,
                   ranks, region, stands_still, status, sums, tuned, until)
from vm import clock

PAGE = 4096


def show(a, b, pages, value, first=0):
    """One writes the first word of pages, value and up, and the other knows of it."""
    a.want(0, "fill", first * PAGE, pages, PAGE, value)
    a.want(0, "release")
    b.want(0, "acquire")


def pages_are_read_without_the_home(c):
    """fetch=read: once a chunk's key is known its pages cost the home no message; merges too."""
    home, asker = c.nodes[0], c.nodes[1]
    pages = 200
    with region(c, "4M", "fetch=read,around=off") as name, actors(name, home, asker) as (a, b):
        chunks = counters(home)["chunks"]
        a.want(0, "fill", 0, pages, PAGE, 1000)
        a.want(0, "release")
        until(lambda: counters(home)["chunks"] > chunks, "the home registers nothing")
        b.want(0, "acquire")
        b.read(0, 1000)	# by message: its answer has the key
        before = [counters(n) for n in (home, asker)]
        b.want(0, "verify", PAGE, pages - 1, PAGE, 1001)
        after = [counters(n) for n in (home, asker)]
        grown = [{k: y[k] - x[k] for k in x} for x, y in zip(before, after)]
        expect(grown[1]["page_reads"] == pages - 1, f"{grown[1]['page_reads']} pages were read")
        expect(grown[0]["fetches_served"] == 0, "the home served fetches")
        # Written by both; what the other wrote comes by a READ beside the own bytes.
        b.want(0, "fill", 8, pages, PAGE, 5000)
        a.want(0, "fill", 16, pages, PAGE, 9000)
        a.want(0, "release")
        reads = counters(asker)["page_reads"]
        b.want(0, "acquire")
        b.want(0, "verify", 16, pages, PAGE, 9000)
        expect(counters(asker)["page_reads"] - reads == pages, "merges were not read")
        b.want(0, "release")
        a.want(0, "acquire")
        a.want(0, "verify", 8, pages, PAGE, 5000)
        a.want(0, "verify", 16, pages, PAGE, 9000)


PIN_MIB = "/sys/module/dsm/parameters/pin_mib"
UNPINNED = f"stay unregistered ({-errno.EDQUOT})"


def pages_beyond_pin_mib_come_by_message(c):
    """A home that may register less than a chunk has its pages asked for, and says so; with more room others are read."""
    home, asker = c.nodes[0], c.nodes[1]
    pages = 200
    said, usual = home.dmesg().count(UNPINNED), home.read(PIN_MIB).strip()
    home.sh(f"echo 1 >{PIN_MIB}")
    try:
        with region(c, "4M", "fetch=read,around=off") as name, actors(name, home, asker) as (a, b):
            show(a, b, pages, 1000)
            until(lambda: home.dmesg().count(UNPINNED) > said, f"{home.name} does not say \"{UNPINNED}\"")
            before = [counters(n) for n in (home, asker)]
            b.want(0, "verify", 0, pages, PAGE, 1000)
            after = [counters(n) for n in (home, asker)]
            expect(after[1]["page_reads"] == before[1]["page_reads"], "pages were read that are not registered")
            served = after[0]["fetches_served"] - before[0]["fetches_served"]
            expect(served >= pages, f"{served} of {pages} pages came by message")
            expect(after[0]["chunks"] == before[0]["chunks"], "a chunk was registered that is larger than pin_mib")
    finally:
        home.sh(f"echo {usual} >{PIN_MIB}")
    pages_are_read_without_the_home(c)


FETCHES = ("fetch=read", "fetch=nocopy", "fetch=copy")
AHEAD = ("prefetch_issued", "prefetch_hits", "prefetch_wasted", "read_faults")


class Ahead:
    """How the counters of fetching ahead grow at a node."""

    def __init__(self, node):
        self.node, self.before = node, counters(node)

    def grown(self):
        """Pages asked for, used, used in vain, and read faults."""
        after = counters(self.node)
        return [after[k] - self.before[k] for k in AHEAD]

    def told(self, what):
        """The same, and printed for Documentation/performance.rst."""
        issued, hits, wasted, faults = self.grown()
        print(f"# {what}: asked for {issued} pages ahead, {hits} used, {wasted} wasted; "
              f"{faults} read faults", flush=True)
        return issued, hits, wasted, faults


def registered(home, chunks, policy):
    """Wait until it has registered so many chunks, if pages come by that."""
    if policy == "fetch=read":
        until(lambda: counters(home)["chunks"] >= chunks, "the home registers too little")


class InVain:
    """Pages are asked for whose home stands still: one by a thread, which waits for it, those behind it by a hint."""

    def __init__(self, b, first, pages):
        self.node, self.pages = b.node, pages
        self.before = counters(b.node)
        b.begin_blocked("dsm_fault_page", "read", first * PAGE, thread=1)
        b.want(0, "prefetch", (first + 1) * PAGE, (pages - 1) * PAGE)
        self.are_under_way()

    def are_under_way(self):
        after = counters(self.node)
        issued, came = (after[k] - self.before[k] for k in ("prefetch_issued", "page_transfers"))
        expect(issued > self.pages // 2 and not came, f"{issued} of {self.pages} pages asked for ahead, {came} are there")


def a_region_goes_while_its_pages_are_read_ahead(c):
    """Destroyed while pages are on their way: it goes when they are there, and no READ may find its pages unregistered."""
    # Of the members the first one decides what becomes of a region.
    asker, home = sorted(c.nodes[:2], key=lambda n: status(n)["node"])
    seen, first, pages = Ahead(asker), 512, 256	# the second half is the home's
    for policy in FETCHES:
        chunks = counters(home)["chunks"]
        name = make_region(c, "4M", policy)
        with actors(name, home, asker) as (a, b):
            show(a, b, pages, 1, first)
            registered(home, chunks + 1, policy)
            b.read(first * PAGE, 1)	# by message: its answer has the key
            a.kill()
            with stands_still(home):
                asked = InVain(b, first + 1, pages - 1)
                b.kill()
                going = asker.start(["dsmctl", "region", "destroy", name])
                until(lambda: asks_all(asker), "nobody is asked whether the region can go")
                asked.are_under_way()
            r = going.wait(CALL_SECONDS * c.slowness)
            expect(not r.status, f"{policy}: destroyed while pages come: {r}")
            home.wait_for(["test", "!", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
    issued, hits, wasted, _ = seen.grown()
    expect(issued == hits + wasted, f"{issued} pages asked for, {hits} used, {wasted} not: the "
                                    "regions are gone and some are not accounted for")
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 50, 2], timeout=120)


def neighbours_are_fetched_ahead(c):
    """Sequential reads: few pages are asked for in vain, and few faults are taken."""
    home, asker = c.nodes[0], c.nodes[1]
    pages = 256
    for policy in FETCHES:
        with region(c, "4M", policy) as name, actors(name, home, asker) as (a, b):
            show(a, b, pages, 1)
            seen = Ahead(asker)
            b.want(0, "verify", 0, pages, PAGE, 1)
            issued, hits, _, faults = seen.told(f"{policy}, {pages} pages in order")
            expect(issued >= pages * 9 // 10, f"{policy}: {issued} of {pages} pages were asked for")
            expect(hits >= issued * 9 // 10, f"{policy}: {hits} of {issued} pages were of use")
            # By READ sixteen pages come at once and are mapped at once; a message brings one page.
            most = pages // 4 if policy == "fetch=read" else pages * 5 // 2
            expect(faults <= most, f"{policy}: {faults} faults for {pages} pages")
    # Nobody looks ahead of who is the first to write, and that is no reason not to look later.
    with region(c, "4M", "home=first-touch") as name, actors(name, home, asker) as (a, b):
        seen = [Ahead(home), Ahead(asker)]
        show(a, b, pages, 1)
        b.want(0, "fill", pages * PAGE, pages, PAGE, 1)
        expect(not seen[0].grown()[0] and not seen[1].grown()[0], "pages were asked for that are nobody's")
        b.want(0, "verify", 0, pages, PAGE, 1)
        issued, hits, _, _ = seen[1].told(f"home=first-touch, {pages} pages in order")
        expect(issued >= pages * 9 // 10, f"home=first-touch: {issued} of {pages} pages were asked for")
        expect(hits >= issued * 9 // 10, f"home=first-touch: {hits} of {issued} pages were of use")
    with region(c, "4M", "around=off") as name, actors(name, home, asker) as (a, b):
        show(a, b, pages, 1)
        seen = Ahead(asker)
        b.want(0, "verify", 0, pages, PAGE, 1)
        issued, _, _, faults = seen.told(f"around=off, {pages} pages in order")
        expect(not issued, "around=off, and pages were fetched ahead")
        expect(faults >= pages, "around=off, and pages were mapped along")
        # A request is heard nevertheless.
        for turn, call in enumerate(("prefetch", "willneed"), 1):
            show(a, b, 64, turn)
            b.want(0, call, 0, 64 * PAGE)
            expect(seen.grown()[0] == 64 * turn, f"{call} did not ask for the pages")
            b.want(0, "verify", 0, 64, PAGE, turn)
            expect(seen.grown()[1] == 64 * turn, "pages asked for were of no use")


def rows_are_asked_for_together(c):
    """Eight rows of three pages, five apart: these pages and no others, by two writes into the ring; two requests are enough for one."""
    home, asker = c.nodes[0], c.nodes[1]
    rows, wide, apart = 8, 3, 5
    with tuned(asker, bulk_min=4), region(c, "1M", "around=off,fetch=nocopy") as name, \
            actors(name, home, asker) as (a, b):
        show(a, b, rows * apart + 4, 1)
        seen = Ahead(asker)

        def ask(bulks, *what):
            before = counters(asker)["bulks"]
            b.want(0, "prefetch_rows", *what)
            grown = counters(asker)["bulks"] - before
            expect(grown == bulks, f"{what}: {grown} writes into the ring")

        # From the middle of a page to the middle of another.
        ask(2, PAGE // 2, (wide - 1) * PAGE, apart * PAGE, rows)
        expect(seen.grown()[0] == rows * wide, f"{seen.grown()[0]} pages were asked for")
        for row in range(rows):
            b.want(0, "verify", row * apart * PAGE, wide, PAGE, 1 + row * apart)
        _, hits, wasted, _ = seen.grown()
        expect((hits, wasted) == (rows * wide, 0), f"{hits} of them were used, {wasted} not")
        ask(1, rows * apart * PAGE, 8, 2 * PAGE, 2)
        ask(0, (rows * apart + 1) * PAGE, 8, 0, 1)
        b.want(-errno.EINVAL, "prefetch_rows", 0, PAGE, PAGE, 257)
        b.want(0, "prefetch_rows", 0, PAGE, PAGE, 256)


def pages_come_again(c):
    """around=again: what is read after every acquire is asked for by it; what is not, no longer."""
    home, asker = c.nodes[0], c.nodes[1]
    places = (3, 40, 41, 119)	# no stream
    for policy in FETCHES:
        with region(c, "1M", f"{policy},around=again") as name, actors(name, home, asker) as (a, b):
            seen = Ahead(asker)

            def turn(value, read):
                for place in places:
                    a.want(0, "write", place * PAGE, value)
                a.want(0, "release")
                b.want(0, "acquire")
                for place in places if read else ():
                    b.read(place * PAGE, value)

            # The first turn's pages were not here; the next two turns' notices tell that they are read again.
            for value in (1, 2):
                turn(value, True)
            expect(not seen.grown()[0], f"{policy}: pages were asked for that nobody is known to want")
            for value in range(3, 9):
                turn(value, True)
            issued, hits, _, _ = seen.told(f"{policy},around=again, {len(places)} pages in each of 6 turns")
            expect(issued == 6 * len(places), f"{policy}: {issued} pages were asked for again")
            expect(hits == issued, f"{policy}: {hits} of {issued} pages were of use")
            # Asked for in vain once, and then, being away, told of no more.
            for value in range(9, 13):
                turn(value, False)
            expect(seen.grown()[0] == issued + len(places), f"{policy}: pages nobody reads were asked for")


def pages_that_will_be_used_are_mapped_along(c):
    """One fault does for what a program asked for; what comes again faults each by itself one time of eight."""
    home, asker = c.nodes[0], c.nodes[1]
    first, pages, trusted = 100, 8, 8
    for policy in FETCHES:
        with region(c, "1M", f"{policy},around=again") as name, actors(name, home, asker) as (a, b):
            show(a, b, 64, 1)
            seen = Ahead(asker)
            before = counters(asker)["page_transfers"]
            b.want(0, "prefetch", 0, 64 * PAGE)
            until(lambda before=before: counters(asker)["page_transfers"] == before + 64, "not all pages came")
            b.want(0, "verify", 0, 64, PAGE, 1)
            _, hits, _, faults = seen.told(f"{policy}, 64 pages that were asked for")
            expect(faults == 4, f"{policy}: {faults} faults at 64 pages that a program asked for")
            expect(hits == 64, f"{policy}: {hits} of 64 pages that were used count as such")

            def turn(value, read):
                a.want(0, "fill", first * PAGE, pages, PAGE, value)
                a.want(0, "release")
                came, mine = counters(asker)["page_transfers"], seen.grown()[0]
                b.want(0, "acquire")
                asked = seen.grown()[0] - mine
                until(lambda: counters(asker)["page_transfers"] >= came + asked, "not all pages came")
                b.want(0, "verify", first * PAGE, read, PAGE, value)
                return asked

            value = 1
            while turn(1000 * value, pages) < pages:
                value += 1
                expect(value < 20, f"{policy}: pages do not come again")
            seen = Ahead(asker)
            for value in range(20, 20 + 2 * trusted):
                turn(1000 * value, pages)
            issued, hits, _, faults = seen.told(f"{policy},around=again, {pages} pages in each of {2 * trusted} turns")
            expect(issued == hits == 2 * trusted * pages, f"{policy}: {hits} of {issued} pages were of use")
            # In each turn the first one, and in two of them every page by itself.
            expect(faults <= 2 * trusted + 2 * pages, f"{policy}: {faults} faults at pages that come again")
            # Only the first is read from now on. It is seen of the others when they must fault.
            for value in range(40, 40 + trusted + 1):
                asked = turn(1000 * value, 1)
            expect(asked == 1, f"{policy}: {asked} pages are asked for, of which one is used")


def strides_and_several_streams_are_recognised(c):
    home, asker = c.nodes[0], c.nodes[1]
    pages = 1024
    for policy in ("fetch=read", "fetch=nocopy"):
        with region(c, "8M", policy) as name, actors(name, home, asker) as (a, b):
            show(a, b, pages, 1)
            seen = Ahead(asker)
            for i in range(0, 480, 5):
                b.read(i * PAGE, 1 + i)
            issued, hits, _, _ = seen.told(f"{policy}, 96 pages, each fifth")
            expect(issued >= 72, f"{policy}: {issued} of 96 evenly spaced pages were asked for")
            expect(hits >= issued - 20, f"{policy}: {hits} of {issued} of these were of use")
            # One thread goes up in one place and down in another.
            seen = Ahead(asker)
            for i in range(64):
                b.read((600 + i) * PAGE, 601 + i)
                b.read((1000 - i) * PAGE, 1001 - i)
            issued, hits, _, _ = seen.told(f"{policy}, 64 pages up and 64 down")
            expect(issued >= 112, f"{policy}: {issued} pages of two streams were asked for")
            expect(hits >= 96, f"{policy}: {hits} of these were of use")


def fetching_ahead_stops_where_it_hurts(c):
    """Random reads ask for next to nothing; runs that end once they are recognised stop it."""
    home, asker = c.nodes[0], c.nodes[1]
    pages, far = 2048, 128
    for policy in ("fetch=read", "fetch=nocopy"):
        with region(c, "8M", policy) as name, actors(name, home, asker) as (a, b):
            show(a, b, pages, 1)
            seen = Ahead(asker)
            b.want(0, "scatter", 0, pages, PAGE, 1)
            issued = seen.told(f"{policy}, {pages} pages in no order")[0]
            expect(issued <= pages // 50, f"{policy}: {issued} pages for {pages} random reads")
            expect(b.call("read", 0) == 0, "read")
            seen = Ahead(asker)
            for turn in range(1, 7):
                show(a, b, pages, turn)
                for place in range(0, pages, far):
                    b.want(0, "verify", place * PAGE, 3, PAGE, turn + place)
            issued, hits, wasted, _ = seen.told(f"{policy}, 96 times 3 pages")
            expect(16 <= issued <= 128, f"{policy}: {issued} pages were asked for although hardly "
                                        "any was used")
            expect(wasted >= issued - hits - far, f"{policy}: of {issued} pages {hits} were used, "
                                                  f"and only {wasted} count as wasted")


def gaps_in_a_stream_stop_it(c):
    """Once it goes on with a page here and there, what lies between is not fetched for long."""
    home, asker = c.nodes[0], c.nodes[1]
    pages, ordered = 2000, 64
    for policy in FETCHES:
        with region(c, "16M", policy) as name, actors(name, home, asker) as (a, b):
            show(a, b, pages, 1)
            seen = Ahead(asker)
            b.want(0, "verify", 0, ordered, PAGE, 1)
            place, gap, places = ordered, 8, 0
            while place < pages:
                b.read(place * PAGE, 1 + place)
                gap = (gap * 5 + 3) % 16	# 0 to 15 in no order
                place += gap + 7
                places += 1
            issued, hits, _, _ = seen.told(f"{policy}, {ordered} pages in order, then {places} "
                                           f"of {pages - ordered}")
            expect(issued >= ordered * 3 // 4, f"{policy}: {issued} pages were asked for in all")
            expect(issued <= 400, f"{policy}: {issued} pages were asked for, {hits} used, where "
                                  f"{places} of {pages} are read after the first {ordered}")


def nothing_is_fetched_ahead_with_sc(c):
    """A copy that nobody uses would hold up a writer: neither when asked for nor by itself."""
    home, asker = c.nodes[0], c.nodes[1]
    pages = 64
    with region(c, "1M", "consistency=sc") as name, actors(name, home, asker) as (a, b):
        a.want(0, "fill", 0, pages, PAGE, 1)
        seen = Ahead(asker)
        b.want(0, "prefetch", 0, pages * PAGE)
        b.want(0, "willneed", 0, pages * PAGE)
        b.want(0, "verify", 0, pages, PAGE, 1)
        issued, _, _, faults = seen.grown()
        expect(not issued, f"{issued} pages were fetched ahead")
        expect(faults >= pages, f"{faults} faults for {pages} pages: some were mapped along")


def begin_leaving(node):
    """It is no member any more for its programs, whatever it waits for then."""
    job = node.start(["dsmctl", "leave", "--force"])
    node.wait_for(["grep", "-q", "none", "/sys/class/dsm/dsm/state"], CALL_SECONDS)
    return job


def leave_while_pages_come(home, asker, first, b, pages):
    """One of both leaves, having begun when pages were asked for and none of them was there."""
    with contextlib.ExitStack() as stack:
        with stands_still(home):
            InVain(b, 1, pages - 1)
            b.kill()
            # When the home goes on, its answers come only after it has begun to leave.
            if first is home:
                stack.enter_context(stands_still(asker))
            else:
                leaving = begin_leaving(asker)
        if first is home:
            leaving = begin_leaving(home)
    r = leaving.wait(CALL_SECONDS * home.cluster.slowness)
    expect(not r.status, f"left while pages come: {r}")


def unloaded_while_pages_come(c):
    """The home leaves first, then the asker does: nothing is left, and it works again."""
    home, asker = c.nodes[0], c.nodes[1]
    pages = 1000
    for policy in ("fetch=read", "fetch=nocopy"):
        for first in (home, asker):
            chunks = counters(home)["chunks"]
            name = make_region(c, "8M", policy)
            with actors(name, home, asker) as (a, b):
                show(a, b, pages, 1)
                registered(home, chunks + 2, policy)
                b.read(0, 1)
                a.kill()
                leave_while_pages_come(home, asker, first, b, pages)
            faults = c.unload()
            expect(not faults, "\n".join(faults))
            c.load()
            c.join_all()
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 50, 2], timeout=120)


UNDER_WAY = 1024 + 16


def home_killed_while_pages_are_fetched_ahead(c):
    """What is under way is bounded, ends with the home, and none of it is taken for a page."""
    asker, home = c.nodes[0], c.nodes[1]
    pages, part = 2000, 1000
    base = 2048 * PAGE	# the second half is the home's
    ident = status(home)["node"]
    chunks = counters(home)["chunks"]
    with region(c, "16M", "fetch=read,around=off") as read, \
            region(c, "16M", "fetch=copy,around=off") as copy, \
            actors(read, home, asker) as (a, b), actors(copy, home, asker) as (y, z):
        for at_home, reader in ((a, b), (y, z)):
            at_home.want(0, "fill", base, pages, PAGE, 1)
            at_home.want(0, "release")
        until(lambda: counters(home)["chunks"] >= chunks + 4, "the home registers too little")
        for reader in (b, z):
            reader.want(0, "acquire")
            for i in range(0, pages, 512):
                reader.read(base + i * PAGE, 1 + i)
        seen = Ahead(asker)
        since = clock.now()
        with dying(home):
            for reader in (b, z):
                for i in range(0, pages, part):
                    reader.want(0, "prefetch", base + i * PAGE, part * PAGE)
            waiting = z.begin_blocked("dsm_fault_page", "read", base + 5 * PAGE)
            issued = seen.grown()[0]
            expect(part < issued <= 2 * UNDER_WAY, f"{issued} pages of two regions are under way")
        z.finish(waiting, SIGBUS, "read of a page of the dead", bound(c, since))
        check_loss_is_reported(c, [asker], ident)
        for reader in (b, z):
            reader.read(base, 1)
            reader.want(SIGBUS, "read", base + 9 * PAGE)
            reader.want(0, "write", 0, 1)
        issued, hits, wasted, _ = seen.grown()
        expect(not hits and wasted == issued,
               f"{issued} pages were asked for, {hits} used, {wasted} given up")


def untouched_pages_cost_nothing(c):
    """A page that nobody told of is zero without asking; one that somebody told of is not."""
    home, asker = c.nodes[0], c.nodes[1]
    with region(c, "4M") as name, actors(name, home, asker) as (a, b):
        before = counters(asker)
        b.want(0, "fill", 0, 64, PAGE, 1)
        after = counters(asker)
        expect(after["zero_local"] - before["zero_local"] == 64, "pages were asked for")
        a.want(0, "write", 100 * PAGE, 7)
        a.want(0, "release")
        b.want(0, "release")
        b.want(0, "acquire")
        b.read(100 * PAGE, 7)
        a.want(0, "acquire")
        a.want(0, "verify", 0, 64, PAGE, 1)


def pages_by_read_under_locks(c):
    """In a region so small that few pages in use are enough for its registration."""
    for policy in ("home=rr,fetch=read", "home=first-touch,fetch=read"):
        before = sums(c)["page_reads"]
        with region(c, "64K", policy) as name:
            ranks(c, ["counter", name, 4, 60, 6], ppn=2, timeout=120)
            ranks(c, ["sharing", name, 4, 15], ppn=2, timeout=120)
        expect(sums(c)["page_reads"] > before, f"{policy}: no page was read")
