# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Condition variables and semaphores of libdsm: nobody is forgotten, and waits end with a reason.

All waits are counted as what they are.
"""
import errno
import re

from loss import work_goes_on
from scene import (actors, bound, counters, expect, join_ranks, living, peer, region, stands_still, start_ranks,
                   until)
from vm import clock

COND, SEM = 0, 4096	# offsets
KEY = 7
WAITING = "dsm_node_flag_wait"
PAGE = 4096
HELD_MS = 300	# a peer is held back until the clock of who waits for it has gone on so far
WRITERS = 2	# as a guest of their group has processors
WAITS = ("lock", "barrier", "flag", "page", "page_lock", "release")


def conditions_and_semaphores(c, rounds=50):
    """Threads of all nodes."""
    with region(c, "4M") as name:
        join_ranks(c, start_ranks(c, ["waits", name, 2, rounds]), 120)


def waits_end_with_what_they_wait_for(c):
    """One by one in their order; a killed waiter keeps nobody from going on."""
    with region(c, "1M") as name, actors(name, *living(c)) as (a, b, *_), \
            actors(name, c.nodes[0]) as (k,):
        a.want(0, "sem_init", SEM, 1)
        a.want(0, "cond_init", COND)
        for x in (a, b, k):
            x.want(0, "lock", KEY)
            x.want(0, "unlock", KEY)
        a.want(-errno.EDEADLK, "sem_post_inside", SEM)
        b.want(0, "sem_wait", SEM)
        b.want(-errno.EAGAIN, "sem_trywait", SEM)
        first = a.begin_blocked(WAITING, "sem_wait", SEM)
        second = b.begin_blocked(WAITING, "sem_wait", SEM)
        a.want(0, "sem_post", SEM, thread=1)
        a.finish(first, 0, "the first wait")
        expect(b.pending(second), "both waits ended with one post")
        b.want(0, "sem_post", SEM, thread=1)
        b.finish(second, 0, "the second wait")
        k.want(0, "lock", KEY)
        k.begin_blocked(WAITING, "cond_wait", COND, KEY)
        a.want(0, "lock", KEY)
        number = a.begin_blocked(WAITING, "cond_wait", COND, KEY)
        k.kill()
        b.want(0, "lock", KEY)
        b.want(-errno.EINVAL, "cond_wait", COND, KEY + 1)
        b.want(0, "cond_broadcast", COND)
        b.want(0, "unlock", KEY)
        a.finish(number, 0, "a wait beside one that was killed")
        a.want(0, "unlock", KEY)


def uptime_ms(node):
    """The node's clock, in steps of 10 ms."""
    return round(float(node.read("/proc/uptime").split()[0]) * 1000)


def waited_ns(node):
    """The node's counters of waits, by kind."""
    counted = counters(node)
    return {kind: counted[f"ns_wait_{kind}"] for kind in WAITS}


class Held:
    """A call of an actor that waits until the test has somebody else do something, and the counter that is to show it."""

    def __init__(self, actor, kind, where, *call):
        self.actor, self.kind, self.what = actor, kind, " ".join(map(str, call))
        self.before = waited_ns(actor.node)
        self.number = actor.begin_blocked(where, *call)
        self.since = uptime_ms(actor.node)

    def for_some_time(self):
        """It has waited so long already."""
        until(lambda: uptime_ms(self.actor.node) - self.since >= HELD_MS, "a clock stands still")
        self.until = uptime_ms(self.actor.node)

    def judge(self):
        """The time is in the counter of its kind, and in no other."""
        result, _, ms = self.actor.end(self.number)
        expect(result == 0, f"{self.what}: {result}")
        least = self.until - self.since - 10
        grown = {kind: ns - self.before[kind] for kind, ns in waited_ns(self.actor.node).items()}
        mine = grown.pop(self.kind) / 1e6
        print(f"# {self.what}: waited {mine:.1f} ms of {ms} ms, of these {least} ms for certain", flush=True)
        expect(least <= mine <= ms + 1, f"{self.what}: {mine} ms in ns_wait_{self.kind}, not {least} to {ms + 1}")
        expect(not any(grown.values()), f"{self.what}: {grown} ns of other kinds")


def each_wait_has_its_counter(c):
    """Who waits for a peer that is held back: with what the peer does later, or with its processors."""
    first, *_, last = living(c)
    there = PAGE * (len(living(c)) - 1)		# a page homed at the last one, as all that are as many pages apart
    with region(c, "1M", "home=rr") as name, actors(name, first, last) as (a, z):
        z.want(0, "write", there, 7)
        z.want(0, "lock", KEY)
        held = Held(a, "lock", "dsm_node_lock", "lock", KEY)
        held.for_some_time()
        z.want(0, "unlock", KEY)
        held.judge()
        a.want(0, "unlock", KEY)
        for kind, where, call, later in (("barrier", "dsm_node_barrier", ("barrier", 1, 2), ("barrier", 1, 2)),
                                         ("flag", WAITING, ("await", 1), ("set", 1))):
            held = Held(a, kind, where, *call)
            held.for_some_time()
            z.want(0, *later)
            held.judge()
        with stands_still(last):
            held = Held(a, "page", "dsm_fault_page", "read", there)
            held.for_some_time()
        held.judge()
        a.read(there, 7)
        a.want(0, "write", there, 8)
        with stands_still(last):
            held = Held(a, "release", "dsm_node_release", "release")
            held.for_some_time()
        held.judge()
        z.want(0, "acquire")
        z.read(there, 8)


def faults_meet_at_the_nodes_lock(c, pages=512, most=20):
    """Two threads' faults on different pages, on two processors, while nobody releases: they have nothing else to wait for but answers."""
    home, other = c.nodes
    with region(c, "8M", "home=block", "around=off") as name, actors(name, home, other) as (a, b):
        half = pages // 2
        for turn in range(1, most + 1):
            a.want(0, "fill", 0, pages, PAGE, turn)
            a.want(0, "release")
            b.want(0, "acquire")
            calls = [b.begin("verify", first * PAGE, half, PAGE, turn + first, thread=thread)
                     for thread, first in enumerate((0, half))]
            for call in calls:
                result, at, _ = b.end(call)
                expect(result == 0, f"turn {turn}: {result} at word {at}")
            met = waited_ns(other)["page_lock"]
            if met:
                print(f"# {met} ns in {turn * pages} faults", flush=True)
                return
    expect(False, f"{most * pages} faults of two threads never met")


def diffs_meet_faults_at_the_nodes_lock(c, pages=512, most=300):
    """Threads of a home write its pages, of which others have copies, while diffs of its other pages arrive: each waits for the other.

    As many threads as processors: what handles messages would never meet one that it has only interrupted. It is a matter of
    chance: both had waited after 4 to 39 turns, and once not after 40.
    """
    home, other = c.nodes
    with region(c, "8M", "home=block", "around=off") as name, actors(name, home, other) as (a, b):
        half = pages // 2
        each = half // WRITERS
        there = half * PAGE
        met = dict.fromkeys(("ns_wait_page_lock", "ns_message_wait"), 0)
        a.want(0, "fill", 0, half, PAGE, 0)
        a.want(0, "release")
        for turn in range(1, most + 1):
            b.want(0, "acquire")
            b.want(0, "verify", 0, half, PAGE, turn - 1)
            b.want(0, "fill", there, half, PAGE, turn)
            before = counters(home)
            calls = [(b, b.begin("release"))]
            calls += [(a, a.begin("fill", thread * each * PAGE, each, PAGE, turn + thread * each, thread=thread))
                      for thread in range(WRITERS)]
            for actor, call in calls:
                actor.finish(call, 0, f"turn {turn}")
            grown = {kind: value - before[kind] for kind, value in counters(home).items()}
            expect(grown["diffs_applied"] == half, f"turn {turn}: {grown['diffs_applied']} diffs arrived")
            expect(grown["write_faults"] == half, f"turn {turn}: {grown['write_faults']} pages took a fault")
            a.want(0, "release")
            met = {kind: ns + grown[kind] for kind, ns in met.items()}
            if all(met.values()):
                print(f"# {met} in {turn} turns of {half} faults and {half} diffs", flush=True)
                return
    expect(False, f"{most * half} faults and as many diffs: {met}")


def killed_while_others_wait(c):
    """Those who wait for what a lost node may have done hear of it, by its name, and can go on."""
    *rest, victim = living(c)
    with region(c, "1M", "home=rr") as name, actors(name, *rest) as others, \
            actors(name, victim) as (v,):
        a, b = others[0], others[-1]
        a.want(0, "cond_init", COND)
        b.want(0, "sem_init", SEM, 0)
        a.want(0, "lock", KEY)
        waits = [(a, a.begin_blocked(WAITING, "cond_wait", COND, KEY)),
                 (b, b.begin_blocked(WAITING, "sem_wait", SEM))]
        for x in (a, b, v):
            x.settle()
        since = clock.now()
        victim.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "a wait for a lost node", bound(c, since))
            why = x.why(number)
            expect(re.search(rf"\bnode {v.id} is (lost|silent)\b", why), why)
        # Told of the loss; the lock of a semaphore may have been managed there.
        good = 0
        for offset in range(SEM + 64, SEM + 64 * 8, 64):
            a.want(0, "sem_init", offset, 1)
            results = [x.call(what, offset) for x, what in
                       ((a, "sem_wait"), (b, "sem_post"), (a, "sem_wait"), (a, "sem_trywait"))]
            good += results == [0, 0, 0, -errno.EAGAIN]
            expect(good or set(results) == {-errno.EHOSTDOWN}, f"results {results}")
        expect(good, "the survivors could use no semaphore at all")
    work_goes_on(c)


def what_is_lost_is_told_to_the_program(c):
    """Where an unlock is a release: the library's own locks leave it to the program's to tell that bytes are lost."""
    *rest, victim = living(c)
    there = len(rest) * PAGE	# homed at the victim
    with region(c, "1M", "consistency=cashmere", "home=rr") as name, actors(name, *rest) as others, \
            actors(name, victim) as (v,):
        a, b = others[0], others[-1]
        pages = (there, there + (len(rest) + 1) * PAGE)
        # Shared, so that none is exclusive where it is written.
        for x in (a, b):
            for page in pages:
                x.read(page, 0)
        for x, page in zip((a, b), pages):
            x.want(0, "write", page, 7)
        b.want(0, "cond_init", COND)
        for x in (a, b, v):
            x.settle()
        victim.kill()
        for node in rest:
            until(lambda node=node: peer(node, v.id)["state"] == "lost", "the loss is not noticed")
        # The first whose lock was not managed there: its wait ends with a release of all that the node wrote.
        for offset in range(SEM, SEM + 64 * 16, 64):
            a.want(0, "sem_init", offset, 1)
            if a.call("sem_trywait", offset) == 0:
                break
        else:
            expect(False, "the survivors could use no semaphore at all")
        # A bare release tells of a lost sync manager as well.
        key = next(k for k in range(KEY, KEY + 64) if a.call("lock", k) == 0)
        a.want(-errno.EHOSTDOWN, "unlock", key)
        a.want(0, "lock", key)
        a.want(0, "unlock", key)
        # Told of the loss once, so that waits for flags begin.
        b.want(-errno.EHOSTDOWN, "await", key)
        b.want(0, "lock", key)
        number = b.begin("cond_wait", COND, key)

        def signalled():
            # Its flag may be the lost node's to keep: then it ends by itself, with the lock.
            if a.call("trylock", key) == 0:
                a.call("cond_signal", COND)
                a.want(0, "unlock", key)
            return not b.pending(number)

        until(signalled, "nobody could end the wait")
        b.finish(number, -errno.EHOSTDOWN, "a wait whose unlock told of lost bytes")
        b.want(0, "unlock", key)	# held again
    work_goes_on(c)
