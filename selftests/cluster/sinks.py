# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of fetch=nocopy: the home writes a page into the frame that waits for it; and of what keys are good for.

forged_* and rights_* need a module that was built with DEBUG=1 (kmod/xfertest.c).
"""
import contextlib
import errno
import json
import re

from scene import (SIGBUS, actors, bound, check_loss_is_reported, counters, dying, expect, living,
                   make_region, peer, region, status, tuned, until)
from ahead import show
from wire import check_no_rnr
from vm import clock

PAGE = 4096
PAGES = 64
TOGETHER = (32, 512)		# twice what a slot of the ring takes, and eight times what all four do
THREADS = 12
XFER = "/sys/kernel/debug/dsm/xfer"
# Settings, and what a peer may do with a chunk of such a region: no more than they need.
RIGHTS = (
    ("home=block,fetch=read,diffpath=msg", ("read",)),
    ("home=block,fetch=copy,diffpath=write", ("write",)),
    ("home=block,fetch=read,diffpath=write", ("read", "write")),
    ("home=block,fetch=nocopy,diffpath=auto", ("write",)),
)
TRANSFERS = ("read", "write", "add")


def pages_are_written_into_their_frames(c):
    """With a registration for each, and none of it with fetch=copy."""
    a, b = c.nodes[:2]
    for fetch, written in (("nocopy", PAGES), ("copy", 0)):
        with region(c, "1M", f"home=block,fetch={fetch},around=off") as name, \
                actors(name, a, b) as (home, reader):
            for i in range(PAGES):
                home.want(0, "write", i * PAGE + 8 * (i % 512), 100 + i)
            home.want(0, "release")
            reader.want(0, "acquire")
            before, told = counters(b), counters(a)["sends_brief"]
            for i in range(PAGES):
                reader.read(i * PAGE + 8 * (i % 512), 100 + i)
            after, told = counters(b), counters(a)["sends_brief"] - told
        got = {k: after[k] - before[k] for k in ("page_transfers", "page_writes", "sinks_lent",
                                                 "sink_misses")}
        want = {"page_transfers": PAGES, "page_writes": written, "sinks_lent": written,
                "sink_misses": 0}
        expect(got == want, f"fetch={fetch}: {got}, not {want}")
        # An answer is said in full to tell of a registration or to return other credits.
        expect(written * 3 // 4 <= told <= written, f"fetch={fetch}: {told} brief answers of {written}")


def pages_that_were_asked_for_together(c):
    """They come together: in fewer requests, registrations and answers than pages."""
    a, b = c.nodes[:2]
    with tuned(b, bulk_min=4), region(c, "4M", "home=block,fetch=nocopy,around=off") as name, \
            actors(name, a, b) as (home, reader):
        for value, pages in enumerate((*TOGETHER, *TOGETHER), 1):
            show(home, reader, pages, value)
            old = [counters(n) for n in (a, b)]
            reader.want(0, "prefetch", 0, pages * PAGE)
            reader.want(0, "verify", 0, pages, PAGE, value)
            new = [counters(n) for n in (a, b)]
            home_did, reader_did = ({word: after[word] - before[word] for word in after}
                                    for before, after in zip(old, new))
            expect(reader_did["page_transfers"] == pages, f"{reader_did['page_transfers']} pages came")
            expect(reader_did["page_writes"] == pages, f"{reader_did['page_writes']} of {pages} into their frames")
            expect(reader_did["sends_bulk"] > pages * 3 / 4, f"few of {pages} requests went together: {reader_did}")
            expect(reader_did["sends_bulk"] >= 4 * reader_did["bulks"], f"few requests went together: {reader_did}")
            # What was asked for before the home's registration was known is answered in full.
            if value <= len(TOGETHER):
                continue
            # A request, and what makes its sink valid and void, were three for each page.
            for did in (home_did, reader_did):
                expect(did["work_requests"] < pages, f"{pages} pages: {did}")
            expect(home_did["sends_brief"] > pages // 2, f"{home_did['sends_brief']} brief answers of {pages}")
    check_no_rnr(c)


def home_killed_while_it_may_write(c):
    """Who waits for a page hears of it, and what waited for it is used again."""
    *rest, victim = living(c)
    with region(c, "1M", "home=rr,fetch=nocopy,around=off") as name, \
            actors(name, *rest) as others, actors(name, victim) as (v,):
        at = [(i * c.count + c.count - 1) * PAGE for i in range(THREADS + 1)]
        for offset in at:
            v.want(0, "write", offset, 7)
        v.want(0, "release")
        for x in others:
            x.want(0, "acquire")
            x.read(at[-1], 7)
        before = [counters(n)["sinks_lent"] for n in rest]
        since = clock.now()
        with dying(victim):
            reads = [(x, x.begin("read", offset, thread=i)) for x in others
                     for i, offset in enumerate(at[:-1])]
            for node, was in zip(rest, before):
                until(lambda node=node, was=was: counters(node)["sinks_lent"] == was + THREADS,
                      f"{node.name} did not ask for all pages")
        for x, number in reads:
            x.finish(number, SIGBUS, "read of a page of the dead", bound(c, since))
        check_loss_is_reported(c, rest, v.id)
        for x in others:
            x.read(at[-1], 7)
            x.want(0, "write", x.id * PAGE, 5)
            x.read(x.id * PAGE, 5)


def xfer(node, command):
    """One command of the transfer test; its outcome."""
    node.check(["sh", "-c", f"echo '{command}' > {XFER}"], timeout=60 * node.cluster.slowness)
    return node.read(XFER).strip()


@contextlib.contextmanager
def armed(node, command):
    """A node's next answer or bulk breaks a rule ("spoil KEY", "forge WHAT"); at the end of the block none does any more."""
    xfer(node, command)
    try:
        yield
    finally:
        xfer(node, f"{command.split()[0]} none")


def anew(c):
    """All leave, whatever they have open, and join again."""
    for node in c.nodes:
        node.check(["dsmctl", "leave", "--force"])
    for node in c.nodes:
        seed = [] if node is c.nodes[0] else ["--seed", c.nodes[0].address]
        node.check(["dsmctl", "join", "--listen", node.address, "--node", str(node.index), *seed])


def forged(c, key, reason, command="spoil"):
    """The home's answer to a fetch takes a key away that is not due, or is no answer: it is dropped."""
    a, b = c.nodes[:2]
    name = make_region(c, "1M", "home=block,fetch=nocopy,around=off")
    try:
        with actors(name, a, b) as (home, reader):
            home.want(0, "write", 0, 1)
            home.want(0, "release")
            reader.want(0, "acquire")
            with armed(a, f"{command} {key}"):
                reader.want(SIGBUS, "read", 0)
            said = peer(b, status(a)["node"])
            expect(said["state"] == "lost" and reason in said["reason"],
                   f"{b.name} says {said}, not '{reason}'")
    finally:
        xfer(b, "free")
        anew(c)


def forged_brief_answers(c):
    """They name a key that was not lent, or nothing that an answer can say."""
    forged(c, "key", "malformed brief answer: names no key that was lent", "forge")
    forged(c, "frame", "malformed brief answer: names no frame that was lent", "forge")
    forged(c, "more", "malformed brief answer: length", "forge")
    forged(c, "number", "malformed brief answer: number", "forge")


def forged_answer_that_takes_no_key_away(c):
    """The home could go on writing."""
    forged(c, "0", "keeps a key that it answers")


def forged_answer_that_takes_another_key_away(c):
    """One that this node made for another purpose."""
    a, b = c.nodes[:2]
    m = re.match(r"^key \S+ (\S+)$", xfer(b, f"reg {status(a)['node']} 16"))
    expect(m, f"registration failed on {b.name}")
    forged(c, m[1], "invalidates a key that it was not lent")


def _key_of_chunk(node, home, name):
    """What a home told a node of its first chunk of a region: "ADDR RKEY", or None."""
    listed = json.loads(node.check(["dsmctl", "region", "list", "--json"]).out)
    ident = next(r["id"] for r in listed if r["name"] == name)
    m = re.match(r"^key (\S+ \S+)$", xfer(node, f"key {status(home)['node']} {ident} 0"))
    return m and m[1]


def _learn_key(home, reader, name):
    """Pages come and go until the reader's node is told of the key; None: it is not."""
    for value in range(1, 50):
        show(home, reader, PAGES, value)
        reader.want(0, "verify", 0, PAGES, PAGE, value)
        key = _key_of_chunk(reader.node, home.node, name)
        if key:
            break
    return key


def rights_are_what_a_region_needs(c):
    """The home's device refuses a peer that knows the key of a chunk all that the region's settings do without."""
    a, b = c.nodes[:2]
    for policy, granted in RIGHTS:
        for what in TRANSFERS:
            name = make_region(c, "1M", policy)
            try:
                with actors(name, a, b) as (home, reader):
                    key = _learn_key(home, reader, name)
                    expect(key, f"{policy}: {b.name} was not told of a key")
                    said = xfer(b, f"try {what} {status(a)['node']} {key}")
                    wanted = "status 0" if what in granted else f"status -{errno.EHOSTDOWN}"
                    expect(said == wanted, f"{policy}: {what}: {said}, not {wanted}")
            finally:
                anew(c)
