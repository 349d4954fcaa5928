# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of bulk: requests that wait together go by one WRITE into the receiver's ring.

forged_bulks and broken_while_... need a module that was built with DEBUG=1 (kmod/net/forge.c,
kmod/net/fault.c).
"""
import contextlib
import errno

from scene import (CALL_SECONDS, TUNABLES, actors, bound, counters, device_removed, dying, expect, leave, living,
                   make_region, peer, region, status, tuned, until)
from ahead import show
from faults import check_both_know, unknown_outcome
from sinks import PAGE, anew, armed
import sinks
from wire import check_no_rnr
from vm import clock

PAGES = 96
STEP = 16			# bytes between changed words: records of more than half a page
WORDS = PAGES * 4096 // STEP
EACH_BYTE = 0x0101010101010101
BREAKS = 3
STREAM = 256			# pages
PACKS = "home=block,diff=pipe:65536:4,diffpath=msg"

# What one bulk gets wrong, and what its receiver says of it.
FORGERIES = (
    ("slot", "malformed bulk: no slot, or not the next one"),
    ("turn", "malformed bulk: no slot, or not the next one"),
    ("empty", "malformed bulk: length"),
    ("cut", "malformed bulk: length of a message"),
    ("class", "malformed bulk: class"),
    ("overlap", "malformed message: body"),
    # Its device refuses that.
    ("far", ""),
)


def a_release_flushes_neighbours_once(c):
    """Dirty pages that are neighbours become read-only in one walk, with one TLB flush; so are they unmapped by an acquire."""
    home, writer = living(c)[:2]
    with region(c, "4M", "home=block,around=off") as name, actors(name, home, writer) as (a, b):
        a.want(0, "fill", 0, PAGES, PAGE, 1)
        a.want(0, "release")
        b.want(0, "acquire")
        b.want(0, "fill", 8, PAGES, PAGE, 1)
        before = counters(writer)
        b.want(0, "release")
        grown = counters(writer)["wrprotect_runs"] - before["wrprotect_runs"]
        expect(grown == 1, f"{PAGES} neighbours were written: {grown} walks")
        a.want(0, "fill", 0, PAGES, PAGE, 1000)
        a.want(0, "release")
        b.want(0, "acquire")
        b.want(0, "verify", 0, PAGES, PAGE, 1000)
        grown = counters(writer)["zap_runs"] - before["zap_runs"]
        expect(grown == 1, f"{PAGES} neighbours were taken away: {grown} walks")


def packs_go_by_the_ring(c):
    """All that may, full slots, or none, by bulk_min; the home has the bytes in each case."""
    a, b = c.nodes[:2]
    for value in ("-1", "17", "x"):
        expect(b.run(["sh", "-c", f"echo {value} > {TUNABLES}/bulk_min"]).status, f"bulk_min took {value}")
    for least in (1, 4, 0):
        with tuned(b, bulk_min=least), region(c, "1M", PACKS) as name, \
                actors(name, a, b) as (home, writer):
            before = counters(b)
            for value in (0x1 * EACH_BYTE, 0x2 * EACH_BYTE):
                writer.want(0, "fill", 0, WORDS, STEP, value)
                writer.want(0, "release")
                home.want(0, "acquire")
                home.want(0, "verify", 0, WORDS, STEP, value)
            after = counters(b)
        bulks, sends = (after[k] - before[k] for k in ("bulks", "sends_bulk"))
        seen = f"{sends} requests in {bulks} bulks with bulk_min={least}"
        if not least:
            expect(not bulks and not sends, seen)
        else:
            expect(bulks and sends >= PAGES / 6, seen)
        if least:
            expect(sends >= least * bulks, seen)
    check_no_rnr(c)


def home_killed_while_it_is_written_to(c):
    """Who releases hears of it and goes on."""
    a, victim = living(c)
    ident = status(victim)["node"]
    with tuned(a, bulk_min=1), region(c, "1M", PACKS) as name, \
            actors(name, a) as (writer,):
        # The second half of the region is the victim's.
        first = 512 << 10
        writer.want(0, "fill", first, WORDS, STEP, EACH_BYTE)
        before = counters(a)["bulks"]
        since = clock.now()
        with dying(victim):
            releasing = writer.begin("release")
            until(lambda: counters(a)["bulks"] > before, "nothing was written to the ring")
        writer.finish(releasing, -errno.EHOSTDOWN, "release to a dead home", bound(c, since))
        until(lambda: peer(a, ident)["state"] == "lost", f"{a.name} still has {victim.name}")
        writer.want(0, "write", 0, 5)
        writer.read(0, 5)


def device_removed_while_it_is_written_to(c):
    """The device goes away on the side of the ring: all that wait fail, and all can be made anew."""
    a, b = c.nodes[:2]
    name = make_region(c, "1M", PACKS)
    try:
        with contextlib.ExitStack() as device, tuned(b, bulk_min=1), actors(name, b) as (writer,):
            before = counters(b)["bulks"]
            writer.want(0, "fill", 0, WORDS, STEP, EACH_BYTE)
            writer.want(0, "release")
            expect(counters(b)["bulks"] > before, "nothing was written to the ring")
            writer.want(0, "fill", 0, WORDS, STEP, 2 * EACH_BYTE)
            check_no_rnr(c)		# the device's counters go with it
            releasing = writer.begin("release")
            device.enter_context(device_removed(a))
            result = writer.end(releasing, CALL_SECONDS * c.slowness)[0]
            expect(result in (0, -errno.EHOSTDOWN), f"release: {result}")
            ident = status(a)["node"]
            until(lambda: peer(b, ident)["state"] == "lost", f"{b.name} still has {a.name}")
    finally:
        for node in (a, b):
            leave(node)
        c.join_all()


def forged_bulks(c):
    """A writer that breaks a rule is dropped, with the rule's name, and its home lives on."""
    for what, reason in FORGERIES:
        a, b = c.nodes[:2]
        name = make_region(c, "1M", PACKS)
        try:
            with tuned(b, bulk_min=4), actors(name, a, b) as (home, writer):
                home.want(0, "write", 8, 7)
                writer.want(0, "fill", 0, WORDS, STEP, EACH_BYTE)
                ident = status(b)["node"]
                with armed(b, f"forge {what}"):
                    writer.begin("release")
                    until(lambda a=a, ident=ident: peer(a, ident)["state"] == "lost",
                          f"{what}: {a.name} goes on")
                said = peer(a, ident)["reason"]
                expect(reason in said, f"{what}: {a.name} says '{said}', not '{reason}'")
                home.read(8, 7)
        finally:
            anew(c)


def broken_while_it_is_written_to(c):
    """Connections break with bulks that nobody has acknowledged, here and there: nothing is lost."""
    a, b = c.nodes[:2]
    with tuned(b, bulk_min=1), region(c, "1M", PACKS) as name, actors(name, a, b) as (home, writer):
        for i in range(2 * BREAKS):
            value = (1 + i) * EACH_BYTE
            writer.want(0, "fill", 0, WORDS, STEP, value)
            before = counters(b)["bulks"]
            with unknown_outcome(a, b, "Q", arrives=i % 2):
                releasing = writer.begin("release")
                until(lambda before=before: counters(b)["bulks"] > before, "nothing was written to the ring")
            writer.finish(releasing, 0, "release over a broken connection")
            home.want(0, "acquire")
            home.want(0, "verify", 0, WORDS, STEP, value)
    check_both_know(a, b)
    check_no_rnr(c)


def broken_while_pages_are_asked_for(c):
    """Likewise, with requests that share a sink, and with answers that go as one."""
    a, b = c.nodes[:2]
    with region(c, "4M", "home=block") as name, actors(name, a, b) as (home, reader):
        for i in range(4 * BREAKS):
            show(home, reader, STREAM, 1 + i)
            before = counters(b)["bulks"]
            # The reader's requests, or the home's answers.
            sides = (a, b, "Q") if i % 4 < 2 else (b, a, "P")
            with unknown_outcome(*sides, arrives=i % 2):
                reader.want(0, "prefetch", 0, STREAM * PAGE)
                until(lambda before=before: counters(b)["bulks"] > before, "nothing was written to the ring")
            reader.want(0, "verify", 0, STREAM, PAGE, 1 + i)
    check_both_know(a, b)
    check_no_rnr(c)
    sinks.pages_are_written_into_their_frames(c)
