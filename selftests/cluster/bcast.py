# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of bcast=adaptive: widely read pages are multicast, and whatever becomes of that, nobody reads anything old."""
import contextlib

from scene import (CALL_SECONDS, SIGBUS, actors, bound, counters, dying, expect, living, make_region, region, status,
                   until, without_device)
from vm import clock

PAGE = 4096
ROUNDS = 8
KEY = 5
# A multicast that comes at all comes within that, also where all guests share a busy processor.
PATIENT = {"module_args": ["bcast_wait_us=3000000"]}
KINDS = (("consistency=hlrc", "home=rr", "fetch=copy", "diff=orig"),
         ("preset=csm-none", "home=rr", "fetch=copy"), ("preset=csm-adb", "home=rr"))


def _grown(nodes, name, before):
    """What the counters of a region have grown by, on all of the nodes together."""
    after = [counters(n, name) for n in nodes]
    return {k: sum(a[k] - b[k] for a, b in zip(after, before)) for k in after[0]}


def _round(writer, readers, value, key=KEY):
    """One writes two words at both ends of page 0, all others read them."""
    writer.want(0, "lock", key)
    writer.want(0, "write", 0, value)
    writer.want(0, "write", PAGE - 8, value + 1000)
    writer.want(0, "unlock", key)
    for r in readers:
        r.want(0, "lock", key)
        r.read(0, value)
        r.read(PAGE - 8, value + 1000)
        r.want(0, "unlock", key)


def rounds(c, policy, nodes=None):
    """Rounds with the home of page 0 as writer; what the counters grew by."""
    nodes = nodes or living(c)
    with region(c, "1M", *policy) as name, actors(name, *nodes) as (home, *readers):
        before = [counters(n, name) for n in nodes]
        for value in range(1, ROUNDS + 1):
            _round(home, readers, value)
        return _grown(nodes, name, before)


def bcast_reaches_all(c):
    """The home sends a page once for all who read it, not once for each."""
    readers = len(living(c)) - 1
    for kind in KINDS:
        plain = rounds(c, (*kind, "bcast=off"))
        grown = rounds(c, (*kind, "bcast=adaptive"))
        wanted = readers * ROUNDS
        expect(plain["page_transfers"] == wanted and not plain["bcast_pages"],
               f"{kind}: without multicast {plain['page_transfers']} of {wanted} pages")
        # All of them read it in the first interval; what a busy host loses is asked for again.
        expect(grown["page_transfers"] == wanted, f"{kind}: {grown['page_transfers']} of {wanted} pages")
        expect(grown["bcast_pages"] <= ROUNDS, f"{kind}: {grown['bcast_pages']} multicasts")
        sent = grown["fetches_served"] + grown["bcast_pages"]
        expect(2 * sent < wanted, f"{kind}: {sent} times sent, to {readers} in {ROUNDS} rounds")
        alone = grown["page_transfers"] - grown["bcast_hits"]
        expect(alone <= 2 + grown["bcast_lost"],
               f"{kind}: {alone} pages by themselves, {grown['bcast_lost']} lost")


def bcast_single_reader(c):
    """A page that one node reads is not multicast, however often."""
    grown = rounds(c, (*KINDS[1], "bcast=adaptive"), nodes=living(c)[:2])
    expect(not grown["bcast_pages"] and grown["page_transfers"] == ROUNDS,
           f"{grown['bcast_pages']} multicasts, {grown['page_transfers']} pages")


def bcast_node_joins_later(c):
    """It gets what is multicast from then on, and has the right bytes before."""
    first, *others, last = living(c)
    last.check(["dsmctl", "leave", "--force"])
    with region(c, "1M", *KINDS[1], "bcast=adaptive", nodes=[first, *others]) as name, \
         actors(name, first, *others) as (home, *readers):
        for value in range(1, 4):
            _round(home, readers, value)
        last.check(["dsmctl", "join", "--listen", last.address, "--seed", first.address])
        last.wait_for(["test", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
        with actors(name, last) as (late,):
            late.want(0, "lock", KEY)
            late.read(0, 3)
            late.want(0, "unlock", KEY)
            for value in range(4, 10):
                _round(home, [*readers, late], value)
            expect(counters(last, name)["bcast_hits"] > 0, "it had no page by multicast")


def bcast_refusals(c):
    """What it does not go with is refused, and says why."""
    node = living(c)[0]
    for policy, why in ((["bcast=adaptive"], "fetch=copy"), (["fetch=read", "bcast=adaptive"], "fetch=copy"),
                        (["preset=sc", "bcast=adaptive"], "consistency=hlrc or cashmere")):
        said = node.run(["dsmctl", "region", "create", "never", "1M", *policy])
        expect(said.status and why in said.err, f"{policy}: {said.status}, {said.err}")


@contextlib.contextmanager
def _losing(node, other, of):
    """Of so many datagrams that come to a node one is lost, in a module with DEBUG=1."""
    ident = status(other)["node"]
    node.sh(f"echo 'fault {ident} datagrams {of}' > /sys/kernel/debug/dsm/xfer")
    try:
        yield
    finally:
        node.sh(f"echo 'fault {ident} datagrams 0' > /sys/kernel/debug/dsm/xfer")


def bcast_datagrams_lost(c):
    """A lost part is a lost page, and a lost page is asked for again: all of them, some, and none."""
    nodes = living(c)
    for kind in KINDS[1:]:
        with region(c, "1M", *kind, "bcast=adaptive") as name, actors(name, *nodes) as (home, *readers):
            value = 1
            _round(home, readers, value)
            for of in (1, 3):
                before = [counters(n, name) for n in nodes]
                with contextlib.ExitStack() as stack:
                    for node in nodes[1:]:
                        stack.enter_context(_losing(node, nodes[0], of))
                    for value in range(value + 1, value + 5):
                        _round(home, readers, value)
                grown = _grown(nodes, name, before)
                expect(grown["bcast_lost"] > 0, f"{kind}: nothing was lost, of {grown['bcast_pages']} pages")
                expect(of > 1 or not grown["bcast_hits"], f"{kind}: {grown['bcast_hits']} pages of nothing")


def bcast_device_removed(c):
    """A node without device is lost to the others, which go on; it can join anew."""
    *rest, node = living(c)
    with region(c, "1M", *KINDS[1], "bcast=adaptive") as name, contextlib.ExitStack() as device:
        with actors(name, *rest) as (home, *readers), actors(name, node) as (gone,):
            for value in range(1, 4):
                _round(home, [*readers, gone], value)
            device.enter_context(without_device(node, rest[0]))
            until(lambda: status(rest[0])["members"] == len(rest), "the node is not lost")
            # A lock whose manager lives, and that the lost node never had.
            key = next(k for k in range(KEY + 1, KEY + 50) if home.call("lock", k) == 0)
            home.want(0, "unlock", key)
            for value in range(4, 7):
                _round(home, readers, value, key)
    grown = rounds(c, (*KINDS[1], "bcast=adaptive"), nodes=[*rest, node])
    expect(grown["bcast_hits"] > 0, "no page was had by multicast any more")


def bcast_home_killed(c):
    """Who waits for a page of a lost home hears of that; copies and other pages stay."""
    *rest, victim = living(c)
    name = make_region(c, "1M", *KINDS[1], "bcast=adaptive")
    with actors(name, *rest) as others, actors(name, victim) as (home,):
        # Where a member's pages begin with home=rr.
        first = {a: i * PAGE for i, a in enumerate(sorted([home, *others], key=lambda a: a.id))}
        there, mine = first[home] + c.count * PAGE, first[others[0]]
        for value in range(1, 4):
            home.want(0, "write", first[home], value)
            home.want(0, "release")
            for o in others:
                o.want(0, "acquire")
                o.read(first[home], value)
        expect(counters(victim, name)["bcast_pages"] > 0, "no page was multicast")
        home.want(0, "write", there, 9)
        home.want(0, "release")
        since = clock.now()
        with dying(victim):
            waiting = [(o, o.begin_blocked("dsm_fault_page", "read", there)) for o in others]
        for o, number in waiting:
            o.finish(number, SIGBUS, "read of a page of a lost home", bound(c, since))
        for o in others:
            o.read(first[home], 3)
            o.read(mine, 0)
