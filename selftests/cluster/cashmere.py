# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of regions with consistency=cashmere: releases that tell, pages that only one node has."""
import errno

import loss
import moves
from scene import (CALL_SECONDS, SIGBUS, actors, bound, counters, dying, expect, living, ranks, region, region_agrees,
                   sums, until)
from vm import clock

PAGE = 4096
SETTINGS = (("preset=csm-none",), ("preset=csm-s", "home=rr"), ("consistency=cashmere", "home=rr", "diffpath=write"))


MIGRATING = (("preset=csm-none-mg",), ("preset=csm-none-mg", "fetch=copy"))


DIRECTORIES = (("preset=csm-ms",), ("preset=csm-dms", "home=rr"), ("preset=csm-ms-mg",))


def totals(c):
    """Sums over all nodes, in which what was sent was received."""
    total = moves.totals(c)
    expect(total["notices_sent"] == total["notices_received"],
           f"{total['notices_sent']} notices sent, {total['notices_received']} received")
    return total


STAY = ("notices_sent", "diffs", "excl_enters", "excl_breaks")
WORDS = ("dir_changes", "dir_looks", "notices_written")
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


# Under locks a node may do all its work before the other begins: what that needs is not certain.
def csm_counters_under_locks(c):
    under_each(c, ["counter", "REGION", 4, 40, 6], grown=())


def csm_false_sharing(c):
    under_each(c, ["sharing", "REGION", 4, 15], timeout=120)


def csm_barriers(c):
    under_each(c, ["barriers", "REGION", 4, 20], timeout=120)


def csm_exchange(c):
    under_each(c, ["exchange", 60, 4 * PAGE, "REGION"])


def csm_released_is_told(c):
    """L36: a completed release is seen by whoever acquires next, whatever it acquires."""
    for settings in SETTINGS + DIRECTORIES:
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


READ_PAGES = 100	# more than an eighth of a home's, so that they are registered, and one message has them all when they are given up
LEAVES = 8	# pages whose words a node leaves at the end of an acquire


def csm_pages_are_read_by_who_is_told(c):
    """fetch=read: who has a page for the first time asks for it, and then reads it, until it has given it up."""
    home, asker = c.nodes[:2]

    def show(a, b, value):
        a.want(0, "fill", 0, READ_PAGES, PAGE, value)
        a.want(0, "release")
        b.want(0, "acquire")

    def come(b, value):
        before = counters(asker)["page_reads"], counters(home)["fetches_served"]
        b.want(0, "verify", 0, READ_PAGES, PAGE, value)
        return counters(asker)["page_reads"] - before[0], counters(home)["fetches_served"] - before[1]

    for settings in (("consistency=cashmere",), ("preset=auto",), ("preset=csm-ms",)):
        chunks = counters(home)["chunks"]
        with region(c, "1M", *settings, "home=block", "fetch=read", "around=off") as name, actors(name, home, asker) as (a, b):
            show(a, b, 1000)
            until(lambda chunks=chunks: counters(home)["chunks"] > chunks, "the home registers nothing")
            expect(come(b, 1000) == (0, READ_PAGES), f"{settings}: pages came otherwise than asked for the first time")
            show(a, b, 2000)
            expect(come(b, 2000) == (READ_PAGES, 0), f"{settings}: pages were asked for whose news this node is told")
            show(a, b, 3000)
            b.want(0, "acquire")
            b.want(0, "acquire")
            show(a, b, 4000)
            reads, asked = come(b, 4000)
            expect(reads + asked == READ_PAGES and asked >= LEAVES, f"{settings}: {reads} pages were read, {asked} asked for")
            if settings != ("preset=csm-ms",):
                expect(asked == READ_PAGES, f"{settings}: {reads} pages were read that had been given up")


def csm_only_one_has_it(c):
    """A page that nobody else has costs no diff, no twin and no notice, however often it is released."""
    last = c.nodes[-1]
    for settings in SETTINGS[:1] + (("preset=csm-none", "home=block:1"), ("preset=csm-ms",),
                                    ("preset=csm-dms", "home=block:1")):
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


def dir_counters_under_locks(c):
    under_each(c, ["counter", "REGION", 4, 40, 6], kinds=DIRECTORIES, grown=WORDS[:1])


def dir_false_sharing(c):
    under_each(c, ["sharing", "REGION", 4, 15], timeout=120, kinds=DIRECTORIES, grown=WORDS)


def dir_exchange(c):
    under_each(c, ["exchange", 60, 4 * PAGE, "REGION"], kinds=DIRECTORIES, grown=WORDS)


def dir_sets_without_the_home(c):
    """metadata=rdma: who has copies, and has the only one, is changed in words, and told by remote writes."""
    pages = 8
    for preset in ("csm-ms", "csm-dms"):
        # Odd pages are homed at the second node.
        with region(c, "1M", f"preset={preset}", "home=rr") as name, \
             actors(name, c.nodes[0], c.nodes[1]) as (a, b):
            at = [len(c.nodes) * PAGE * k + PAGE for k in range(pages)]
            before = totals(c)
            for where in at:
                a.read(where, 0)
            for turn in range(1, 9):
                for where in at:
                    a.want(0, "lock", 1)
                    a.want(0, "write", where, turn)
                    a.want(0, "unlock", 1)
            alone = totals(c)
            grew = {kind: alone[kind] - before[kind] for kind in alone}
            expect(grew["excl_enters"] == pages, f"{grew['excl_enters']} of {pages} pages were exclusive")
            expect(grew["dir_changes"] == 2 * pages, f"{grew['dir_changes']} changes of words, not {2 * pages}")
            for kind in ("diffs", "twins", "notices_sent", "excl_breaks", "dir_looks"):
                expect(not grew[kind], f"{kind} grew by {grew[kind]}")
            for where in at:
                b.want(0, "lock", 1)
                b.read(where, 8)
                b.want(0, "write", where + 8, 9)
                b.want(0, "unlock", 1)
            for where in at:
                a.want(0, "lock", 2)
                a.read(where + 8, 9)
                a.want(0, "unlock", 2)
            after = totals(c)
            grew = {kind: after[kind] - alone[kind] for kind in after}
            expect(grew["excl_breaks"] == pages, f"{grew['excl_breaks']} of {pages} pages were given back")
            expect(grew["notices_sent"] == grew["notices_written"] == pages,
                   f"{grew['notices_sent']} notices, {grew['notices_written']} written, not {pages}")


def dir_node_killed(c):
    """metadata=rdma: a lost node's words, ring and only copies hold nobody up."""
    *rest, victim = living(c)
    pages = len(rest) + 1
    there = len(rest) * PAGE	# homed, and its word kept, at the victim
    with region(c, "1M", "preset=csm-ms", "home=rr") as name, actors(name, rest[0]) as (a,), \
         actors(name, victim) as (v,):
        mine, only = a.id * PAGE, (pages + a.id) * PAGE
        a.read(there, 0)
        v.read(mine, 0)
        v.want(0, "write", only, 5)
        expect(counters(victim, name)["excl_enters"] == 1, "the page is not exclusive at the victim")
        a.want(0, "write", mine, 1)
        a.want(0, "release")
        expect(counters(rest[0], name)["dir_looks"] >= 1, "no word was looked at")
        since = clock.now()
        with dying(victim):
            a.want(0, "write", mine + 8, 2)
            release = a.begin("release", thread=1)
            reader = a.begin_blocked("dsm_fault_page", "read", there + pages * PAGE, thread=2)
        # Where the dead is the region's sync manager, too, a bare release says so; it ends in any case.
        ended = a.end(release, CALL_SECONDS + bound(c, since).limit)[0]
        expect(ended in (0, -errno.EHOSTDOWN), f"a release that tells the dead: {ended}")
        a.finish(reader, SIGBUS, "read of a page whose word is lost", bound(c, since))
        a.read(there, 0)
        a.want(SIGBUS, "read", only)
        a.read(mine + 8, 2)
        a.want(0, "write", mine + 16, 3)
    loss.work_goes_on(c)


def mg_counters_under_locks(c):
    under_each(c, ["counter", "REGION", 4, 40, 6], kinds=MIGRATING, grown=())


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


def mg_predicted(c):
    """predict=on: a counter that nodes read and increment in turns comes to each as a whole at its read: one exchange, not two."""
    turns, exchanges = 30, {}
    for predict in ("off", "on"):
        with region(c, "1M", "preset=csm-none-mg", f"predict={predict}") as name, \
                actors(name, c.nodes[0], c.nodes[-1]) as both:
            for turn in range(turns + 4):
                if turn == 4:
                    before = totals(c)
                a = both[turn % 2]
                a.want(0, "lock", 1)
                a.read(PAGE, turn)
                a.want(0, "write", PAGE, turn + 1)
                a.want(0, "unlock", 1)
            grew = {kind: count - before[kind] for kind, count in totals(c).items()}
            exchanges[predict] = grew["fetches_served"] + grew["migrations"]
            print(f"# predict={predict}: {turns} turns, {exchanges[predict]} exchanges, {grew['msgs_sent']} messages, "
                  f"{grew['migrations']} moves, {grew['prediction_hits']} of {grew['predictions']} predictions right",
                  flush=True)
            if predict == "off":
                expect(not grew["predictions"], f"{grew['predictions']} predictions with predict=off")
                continue
            # After 15 moves in a row a page is served in place once.
            expect(grew["prediction_hits"] >= turns - 4 and grew["prediction_hits"] <= grew["predictions"],
                   f"{grew['prediction_hits']} of {grew['predictions']} predictions hit in {turns} turns")
    expect(exchanges["off"] == 2 * turns, f"{exchanges['off']} exchanges in {turns} turns")
    expect(exchanges["on"] <= turns + 4, f"{exchanges['on']} exchanges in {turns} turns with predict=on")


def roi_homes(c):
    """First touch counts anew: pages go to who uses them from then on, where homes move."""
    for settings, moves in ((("preset=csm-none",), 1), (("preset=csm-none-mg",), 1), (("preset=csm-ms",), 1),
                            (("preset=csm-dms",), 1), (("preset=csm-adb",), 1),
                            (("preset=csm-none", "diff=pipe", "diffpath=auto"), 1), (("preset=csm-none", "fetch=read"), 1),
                            (("home=first-touch",), 0)):
        with region(c, "1M", *settings) as name:
            ranks(c, ["roi", name, 20, moves], ppn=1)
            region_agrees(c, name)
    # Named ones stay.
    c.nodes[0].write(b"0 0 256\n", "/tmp/roi-homes")
    with region(c, "1M", "preset=csm-none", "home=list:/tmp/roi-homes") as name:
        ranks(c, ["roi", name, 20, 0], ppn=1)


def homes_claimed_anew_under_load(c):
    """DSM_IOC_UNCLAIM again and again while pages are written, directly and packed, too: nothing is lost."""
    for settings in (("preset=csm-none",), ("preset=csm-dms",), ("preset=csm-adb",),
                     ("preset=csm-none", "diff=pipe", "diffpath=auto"), ("preset=csm-none", "fetch=read")):
        before = sums(c)["migrations"]
        with region(c, "1M", *settings) as name:
            ranks(c, ["claims", name, 120], ppn=1, timeout=120)
        expect(sums(c)["migrations"] > before, f"{settings}: no home moved")
