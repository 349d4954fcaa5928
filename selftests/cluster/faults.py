# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests in which a connection breaks between nodes that live, or one node breaks the rules.

What goes wrong is done by debug builds of the module (kmod/net/fault.c).
"""
import contextlib
import errno
import time

import sinks
from ahead import show
from scene import (CALL_SECONDS, actors, again, counters, cut_off, expect, join_ranks, kill_all, killed_on_failure,
                   living, peer, ranks, region, start_ranks, status, until)
from vm.channel import GuestError
from wire import check_no_rnr, xfer

BREAKS = 20
CONNECTIONS = {"C": 0, "Q": 1, "P": 2, "B": 3}
COUNTER = ("counter", "REGION", 2, 300, 3)
SHARING = ("sharing", "REGION", 4, 25)
BARRIERS = ("barriers", "REGION", 2, 40)
RING = ("plain", "ring", "/dev/dsm-REGION", 20)
TICKET = ("plain", "ticket", "/dev/dsm-REGION", 300)
FEW_BREAKS = 8
TRIES = 5
ROUNDS = 3	# of each of two outcomes
THREADS = 12	# of an actor, each with a flag of its own
STILL = "transfers stand still"
MESSAGES_STILL = "messages stand still"
MANY = 4096	# pages, for which more is sent than a queue holds
PAGE = 4096
RESUME_SECONDS = 2.0	# parameter resume_ms
RESUME_MS = "/sys/module/dsm/parameters/resume_ms"

# Byte and bits of a header that are changed, and what the receiver says of it.
LIES = (
    (0, 0xff, "malformed message: type"),
    (2, 0x01, "malformed message: length"),
    (4, 0x01, "malformed message: epoch"),
    (8, 0x01, "malformed message: sender"),
    (20, 0x40, "malformed message: sequence"),
    (25, 0x80, "malformed message: credits"),	# of requests, which come back over P
    (29, 0x80, "malformed message: credits"),	# of replies, over Q
)


def fault(node, other, words):
    """Let something go wrong between a node and another one."""
    xfer(node, f"fault {status(other)['node']} {words}")


def resumes(node):
    return counters(node)["resumes"]


def break_one(node, other, connection):
    """A connection breaks; both sides must get over it in time."""
    slow = node.cluster.slowness
    before = [resumes(n) for n in (node, other)]
    fault(node, other, f"break {CONNECTIONS[connection]}")
    for n, count in zip((node, other), before):
        until(lambda n=n, count=count: resumes(n) > count,
              f"{n.name} did not resume after {connection} broke on {node.name}",
              RESUME_SECONDS * slow)


@contextlib.contextmanager
def withheld(node, other):
    """A node gives the other no credits back in the block."""
    fault(node, other, "withhold 1")
    try:
        yield
    finally:
        fault(node, other, "withhold 0")


@contextlib.contextmanager
def few_answers_wait(node, other):
    """A node gives the other no credits for requests in the block while more than some answers to it wait."""
    fault(node, other, "few 1")
    try:
        yield
    finally:
        fault(node, other, "few 0")


@contextlib.contextmanager
def ignoring(node, other, words, connection):
    """A node ignores acknowledgements ("repeat", "deaf N") until connections are made anew; at the end of a block that fails they are."""
    fault(node, other, words)
    try:
        yield
    except BaseException:
        # What has failed is to be told, whatever becomes of this.
        with contextlib.suppress(Exception):
            break_one(node, other, connection)
        raise


@contextlib.contextmanager
def unknown_outcome(a, b, connection, arrives):
    """A connection breaks at the end of the block: b does not know what became of what it posted within it.

    It has arrived, and b is not told, or nothing of it has.
    """
    before = [resumes(n) for n in (a, b)]
    with ignoring(b, a, "repeat", connection) if arrives else cut_off(b):
        yield
        fault(b, a, f"break {CONNECTIONS[connection]}")
    for n, count in zip((a, b), before):
        until(lambda n=n, count=count: resumes(n) > count,
              f"{n.name} did not resume after {connection} broke with unknown outcomes",
              RESUME_SECONDS * a.cluster.slowness)


def check_both_know(a, b):
    for one, other in ((a, b), (b, a)):
        state = peer(one, status(other)["node"])["state"]
        expect(state == "up", f"{one.name}: {other.name} is {state}")


class Load:
    """Programs that check all they write, each on all nodes and in a region of its own; none is left if the block fails."""

    def __init__(self, c, *plans, flow="msgs_received"):
        """plans: (words with REGION in them, settings of the region); flow: counter that tells of work"""
        self.c = c
        self.flow = flow
        self.runs = [None] * len(plans)
        self.plans = plans

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            kill_all([job for run in self.runs if run for job in run[1]])

    def _start(self, i):
        words, settings = self.plans[i]
        stack = contextlib.ExitStack()
        # So small that few pages in use are enough for its registration.
        name = stack.enter_context(region(self.c, "64K", *settings.split(",")))
        words = [str(w).replace("REGION", name) for w in words]
        self.runs[i] = stack, start_ranks(self.c, words)

    def _join(self, i):
        stack, jobs = self.runs[i]
        with stack:
            join_ranks(self.c, jobs, 120)

    def _restart(self):
        """Start those anew that have ended."""
        for i, run in enumerate(self.runs):
            if run and any(j.done() for j in run[1]):
                self._join(i)
                run = None
            if not run:
                self._start(i)

    def keep(self):
        """Wait until work is done on every node."""
        before = {n: counters(n)[self.flow] for n in living(self.c)}

        def flows():
            self._restart()
            return all(counters(n)[self.flow] > count + 50 for n, count in before.items())

        until(flows, f"{self.flow} stands still", CALL_SECONDS * self.c.slowness)

    def join(self):
        for i in range(len(self.runs)):
            self._join(i)


def breaks(c, times):
    """Fewer where all is slow."""
    return times // 2 if c.kernel.debug else times


def break_many(c, load, times, names):
    """Each connection in its turn, on either side, with work under way each time."""
    a, b = living(c)[:2]
    with load:
        for i in range(breaks(c, times)):
            load.keep()
            break_one(*((a, b) if i % 2 else (b, a)), names[i // 2 % len(names)])
        load.join()
    check_both_know(a, b)
    check_no_rnr(c)


def connections_broken_under_load(c):
    """Every connection, on either side; what programs wrote by messages and transfers is there."""
    transfers = "home=rr,fetch=read,diffpath=write"
    used = ("page_reads", "direct_pages", "page_transfers")
    before = [[counters(n)[word] for word in used] for n in living(c)]
    break_many(c, Load(c, (COUNTER, "home=rr,fetch=copy"), (COUNTER, transfers),
                       (SHARING, transfers)), BREAKS, list(CONNECTIONS))
    for n, counts in zip(living(c), before):
        for word, count in zip(used, counts):
            expect(counters(n)[word] > count, f"{n.name}: {word} stands still")


def frames_lent_when_connections_break(c):
    """Requests that name frames, and pages on their way into these; all registrations are back then."""
    settings = "home=rr,fetch=nocopy,around=off"
    break_many(c, Load(c, (COUNTER, settings), (SHARING, settings)), FEW_BREAKS, ["Q", "P", "B"])
    sinks.pages_are_written_into_their_frames(c)


def sc_pages_recalled_when_connections_break(c):
    """Pages that move between writers, which know of no messages."""
    settings = "consistency=sc,home=rr"
    break_many(c, Load(c, (RING, settings), (TICKET, settings)), FEW_BREAKS, ["Q", "P"])


def atomics_when_connections_break(c):
    """Words of locks and of pages say afterwards what became of those that were under way."""
    settings = "home=rr,sync=rdma"
    before = doubted(c)
    break_many(c, Load(c, (COUNTER, settings), (COUNTER, "preset=csm-ms,home=rr"), flow="xfer_atomics"), FEW_BREAKS,
               ["B", "Q"])
    print(f"# {doubted(c) - before} atomics were under way", flush=True)


def doubted(c):
    return sum(counters(n)["atomics_doubted"] for n in living(c))


def keys_managed_by_other(node, actor, count):
    """Keys whose word is at another node, known by now; the locks are free."""
    keys, key = [], 0
    while len(keys) < count:
        before = counters(node)["locks_remote"]
        actor.want(0, "lock", key)
        actor.want(0, "unlock", key)
        if counters(node)["locks_remote"] > before:
            keys.append(key)
        key += 1
    return keys


def atomics_of_unknown_outcome(c):
    """A lock is asked for, or given back, by an atomic that took place or did not; the other node wants it too, or not."""
    a, b = living(c)[:2]
    with region(c, "64K", "home=rr,sync=rdma") as name, actors(name, a, b) as (x, y):
        for i, key in enumerate(keys_managed_by_other(b, y, 4 * ROUNDS)):
            atomic = Atomic(a, b, arrives=i % 2)
            rival = i // 2 % 2
            with atomic.unknown():
                asked = y.begin("lock", key)
                atomic.wait()
                wanted = x.begin("lock", key) if rival else None
            if rival:
                until(lambda: not x.pending(wanted) or not y.pending(asked), "nobody gets the lock")
                first, later = ((y, asked), (x, wanted)) if x.pending(wanted) else ((x, wanted), (y, asked))
                first[0].finish(first[1], 0, "lock")
                first[0].settle()
                expect(later[0].pending(later[1]), "both have the lock")
                first[0].want(0, "unlock", key)
                later[0].finish(later[1], 0, "lock")
                later[0].want(0, "unlock", key)
                y.want(0, "lock", key)
            else:
                y.finish(asked, 0, "lock")
                x.want(-errno.EBUSY, "trylock", key)
            with atomic.unknown():
                y.want(0, "unlock", key)
                atomic.wait()
                wanted = x.begin("lock", key) if rival else None
            x.finish(wanted if rival else x.begin("lock", key), 0, "lock")
            y.want(-errno.EBUSY, "trylock", key)
            x.want(0, "unlock", key)
            y.want(0, "lock", key)
            y.want(0, "unlock", key)
    check_both_know(a, b)


class Atomic:
    """One of b at a, with a break of which b does not know whether it came before."""

    def __init__(self, a, b, arrives):
        self.a, self.b, self.arrives = a, b, arrives
        self.before = 0

    @contextlib.contextmanager
    def unknown(self):
        self.before = counters(self.b)["xfer_atomics"]
        doubts = counters(self.b)["atomics_doubted"]
        with unknown_outcome(self.a, self.b, "B", self.arrives):
            yield
        until(lambda: counters(self.b)["atomics_doubted"] > doubts, "the outcome of the atomic was known")

    def wait(self):
        """Until it is posted."""
        until(lambda: counters(self.b)["xfer_atomics"] > self.before, "no atomic was posted")


def letters_when_connections_break(c):
    """Each is taken once, and none is lost: a repeated one would find its place taken."""
    a, b = living(c)[:2]
    settings = "home=rr,sync=rdma"
    break_many(c, Load(c, (SHARING, settings), (BARRIERS, settings), flow="letters"), FEW_BREAKS, ["B", "Q"])
    keys = range(THREADS)
    with region(c, "64K", settings) as name, actors(name, a, b) as (x, y):
        for i in range(2 * ROUNDS):
            before = counters(b)["letters"]
            with unknown_outcome(a, b, "B", arrives=i % 2):
                calls = [y.begin("set", key, thread=key) for key in keys]
                until(lambda before=before: counters(b)["letters"] > before, "no letter was written")
            for number in calls:
                y.finish(number, 0, "set")
            for key in keys:
                x.want(0, "await", key)
                x.want(0, "clear", key)
    check_both_know(a, b)


def array_locks_when_connections_break(c):
    """Entries are written again as they are then, and nobody takes the lock before its own is there."""
    a, b = living(c)[:2]
    settings = "home=rr,sync=rdma,algo=array"
    break_many(c, Load(c, (COUNTER, settings), flow="xfer_writes"), FEW_BREAKS, ["B", "Q"])
    with region(c, "64K", settings) as name, actors(name, a, b) as (x, y):
        for key in range(2 * ROUNDS):
            # The lock's place is known, and the lock is not here.
            for actor in (y, x):
                actor.want(0, "lock", key)
                actor.want(0, "unlock", key)
            before = counters(b)["xfer_writes"]
            with unknown_outcome(a, b, "B", arrives=key % 2):
                number = y.begin("lock", key)
                until(lambda before=before: counters(b)["xfer_writes"] > before, "no entry was written")
            y.finish(number, 0, "lock")
            x.want(-errno.EBUSY, "trylock", key)
            before = counters(b)["xfer_writes"]
            with unknown_outcome(a, b, "B", arrives=key % 2):
                y.want(0, "unlock", key)
                until(lambda before=before: counters(b)["xfer_writes"] > before, "no entry was written")
            x.want(0, "timedlock", key, CALL_SECONDS * 1000)
            x.want(0, "unlock", key)
    check_both_know(a, b)


def transfers_over_broken_connections(c):
    """READs that are under way come back with their bytes."""
    a, b = living(c)[:2]
    xfer(b, f"reg {status(a)['node']} 16")
    key = b.read("/sys/kernel/debug/dsm/xfer").split()[1:]
    begun = counters(a)["xfer_reads"]
    job = a.start(["sh", "-c", f"echo 'burst {status(b)['node']} {' '.join(key)} 400' > "
                   "/sys/kernel/debug/dsm/xfer"])
    until(lambda: counters(a)["xfer_reads"] > begun, "no READ begins")
    for _ in range(3):
        # The transfer test takes one command at a time; the other node's is free.
        before = resumes(a)
        fault(b, a, "break 3")
        until(lambda before=before: resumes(a) > before, "B was not made anew",
              RESUME_SECONDS * c.slowness)
    expect(job.wait(CALL_SECONDS * c.slowness).status == 0, "the command of the transfer test failed")
    text = a.read("/sys/kernel/debug/dsm/xfer")
    expect(text.startswith("status 0, 0 of 400 failed"), f"burst: {text}")
    xfer(b, "free")


def messages_that_come_again_are_dropped(c):
    """The sender believes that some messages were lost with the connection."""
    a, b = living(c)[:2]
    with Load(c, (COUNTER, "home=rr,fetch=copy"), (SHARING, "home=rr,fetch=copy")) as load:
        for one, other in ((a, b), (b, a)):
            before = counters(other)["duplicates"]
            load.keep()
            # Between the two orders it may be that nothing is sent.
            for _ in range(TRIES):
                with ignoring(one, other, "repeat", "Q"):
                    break_one(one, other, "Q")
                load.keep()	# what comes again comes before
                if counters(other)["duplicates"] > before:
                    break
            expect(counters(other)["duplicates"] > before, f"nothing came to {other.name} twice, with {TRIES} breaks")
        load.join()
    check_both_know(a, b)


def credits_run_out(c):
    """A node that gives no credits back stops the other one, which goes on once it does."""
    a, b = living(c)[:2]
    with region(c, "1M", "home=rr") as name:
        before = counters(a)["credit_stalls"]
        with killed_on_failure([]) as jobs, withheld(b, a):
            jobs += start_ranks(c, ["sharing", name, 16, 30 if c.kernel.debug else 100])
            until(lambda: counters(a)["credit_stalls"] > before, "credits did not run out",
                  CALL_SECONDS * c.slowness)
            expect(not any(j.done() for j in jobs), "the programs ended without credits")
        join_ranks(c, jobs, 120)
    check_both_know(a, b)


def who_takes_no_answers_asks_for_less(c):
    """A node that asks for more pages than may wait, and gives no credits back, is given none either; then all come."""
    a, b = living(c)[:2]
    pages = 600
    with region(c, "4M", "home=first-touch,around=off") as name, actors(name, a, b) as (at_home, reader):
        show(at_home, reader, pages, 1)
        before = counters(a)["credits_held"]
        with few_answers_wait(a, b):
            with withheld(b, a):
                asking = reader.begin("prefetch", 0, pages * PAGE)
                until(lambda: counters(a)["credits_held"] > before, "all requests were taken", CALL_SECONDS * c.slowness)
            # Those that wait are still more than may: it goes on by the credits that it returns by CREDITs.
            reader.finish(asking, 0, "prefetch")
            reader.want(0, "verify", 0, pages, PAGE, 1)
    check_both_know(a, b)


def answers_go_before_pages(c):
    """Without credit, a node's answers wait; when there is some, grants go before the pages that came first."""
    a, b = living(c)[:2]
    pages = 400
    with region(c, "4M", "home=first-touch,around=off") as name, actors(name, a, b, b) as (at_home, reader, locker):
        show(at_home, reader, pages, 1)
        stalls, first = (counters(a)[word] for word in ("credit_stalls", "answers_first"))
        with withheld(b, a):
            reading = reader.begin("verify", 0, pages, PAGE, 1)
            until(lambda: counters(a)["credit_stalls"] > stalls, "credits did not run out", CALL_SECONDS * c.slowness)
            stalls = counters(a)["credit_stalls"]
            # Some of their tokens are at the other node, as it manages them.
            locking = [locker.begin("lock", key, thread=key) for key in range(1, THREADS)]
            until(lambda: counters(a)["credit_stalls"] > stalls, "no grant waits", CALL_SECONDS * c.slowness)
            expect(reader.pending(reading), "a page came without credit")
        for number in locking:
            locker.finish(number, 0, "lock")
        reader.finish(reading, 0, "verify")
        expect(counters(a)["answers_first"] > first, "no answer went before a page that waited")
    check_both_know(a, b)


def transfers_that_stand_still(c):
    """What is not done for four bounds although the other node is heard is done over connections made anew."""
    a, b = living(c)[:2]
    pages = 40
    with region(c, "1M", "fetch=read,around=off") as name, \
            actors(name, a, b) as (at_home, reader):
        chunks = counters(a)["chunks"]
        show(at_home, reader, pages, 1)
        until(lambda: counters(a)["chunks"] > chunks, "the home registers nothing", CALL_SECONDS * c.slowness)
        reader.read(0, 1)	# by message: its answer has the key
        said, before = b.dmesg().count(STILL), resumes(b)
        with ignoring(b, a, f"deaf {CONNECTIONS['B']}", "B"):
            reader.want(0, "verify", 0, pages, PAGE, 1, timeout=2 * CALL_SECONDS * c.slowness)
            expect(resumes(b) > before, "nothing was connected anew")
        expect(b.dmesg().count(STILL) > said, f"{b.name} does not say \"{STILL}\"")
    check_both_know(a, b)


def messages_that_stand_still(c):
    """A node is not told that its requests, or its answers, have gone: connections are made anew, and all come."""
    a, b = living(c)[:2]
    for deaf, other, connection in ((b, a, "Q"), (a, b, "P")):
        with region(c, "16M", "home=first-touch") as name, actors(name, a, b) as (at_home, reader):
            show(at_home, reader, MANY, 1)
            said, before = deaf.dmesg().count(MESSAGES_STILL), resumes(deaf)
            with ignoring(deaf, other, f"deaf {CONNECTIONS[connection]}", connection):
                reader.want(0, "verify", 0, MANY, PAGE, 1, timeout=2 * CALL_SECONDS * c.slowness)
                expect(resumes(deaf) > before, f"{connection}: nothing was connected anew")
            expect(deaf.dmesg().count(MESSAGES_STILL) > said, f"{deaf.name} does not say \"{MESSAGES_STILL}\"")
    check_both_know(a, b)


def wait_lost(c, nodes, seconds):
    for one, ident in nodes:
        until(lambda one=one, ident=ident: peer(one, ident)["state"] == "lost",
              f"{one.name} does not give node {ident} up", seconds)


def spoil(c, words, finder, reason, load=True):
    """Node a breaks a rule: b (or a) finds it and says so, nobody hangs, and both can go on."""
    a, b = living(c)[:2]
    pair = [(a, status(b)["node"]), (b, status(a)["node"])]
    said = [n.dmesg().count(reason) for n in (a, b)]
    try:
        with region(c, "1M", "home=rr") as name, \
                killed_on_failure(start_ranks(c, ["counter", name, 2, 100000, 3]) if load else []) as jobs:
            for line in words:
                fault(a, b, line)
            wait_lost(c, pair, (RESUME_SECONDS + 3) * c.slowness)
            for job in jobs:
                try:
                    job.wait(CALL_SECONDS * c.slowness)
                except GuestError as e:
                    raise AssertionError(f"a program hangs after {words}: {e}") from e
            expect(not jobs or any(job.status for job in jobs), f"all programs ended well: {words}")
        found = {"a": a, "b": b}[finder]
        expect(found.dmesg().count(reason) > said[0 if finder == "a" else 1],
               f"{found.name} does not say \"{reason}\"")
    finally:
        # With the connections goes what was ordered of them and did not happen.
        again(c, b)
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 20, 4])


def changed_headers_are_found(c):
    for at, mask, reason in LIES:
        spoil(c, [f"corrupt {at} {mask}"], "b", reason)


def messages_without_credit_are_found(c):
    a, b = living(c)[:2]
    with withheld(b, a):
        spoil(c, ["overrun 1"], "b", "malformed message: sent without credit")


def lies_about_what_was_received_are_found(c):
    spoil(c, ["lie", "break 1"], "b", "malformed request to resume", load=False)


def a_break_that_cannot_be_mended(c):
    """The link is gone too: the peer is lost after resume_ms or its silence's bound, whichever is later."""
    a, b = living(c)[:2]
    ident = status(b)["node"]
    try:
        with region(c, "1M", "home=rr") as name, actors(name, a) as (actor,):
            actor.want(0, "lock", 1)
            with cut_off(b):
                begin = time.monotonic()
                fault(a, b, "break 1")
                until(lambda: peer(a, ident)["state"] == "lost", "the peer is not lost",
                      c.peer_timeout_ms / 1000 + 1)
                # A beat may have come an eighth of the bound before the cut.
                least = max(RESUME_SECONDS, c.peer_timeout_ms / 1000 * 7 / 8) - 0.5
                took = time.monotonic() - begin
                expect(took > least, f"it was given up after {took:.1f} s, not {least:.1f}")
            wait_lost(c, [(b, status(a)["node"])], c.peer_timeout_ms / 1000 + 2)
    finally:
        again(c, b)


def a_break_without_time_to_mend_it(c):
    """resume_ms=0, read when joining: a connection that fails is a peer that is lost, without silence; the peer hears so."""
    a, b = living(c)[:2]
    usual = b.read(RESUME_MS).strip()
    b.sh(f"echo 0 >{RESUME_MS}")
    try:
        again(c, b)
    finally:
        b.sh(f"echo {usual} >{RESUME_MS}")
    try:
        pairs = [(b, status(a)["node"]), (a, status(b)["node"])]
        before = [resumes(n) for n in (a, b)]
        with region(c, "1M", "home=rr") as name:
            with actors(name, a, b) as (holder, actor):
                holder.want(0, "lock", 1)
                waiting = actor.begin_blocked("dsm_node_lock", "lock", 1)
                fault(b, a, "break 1")
                actor.finish(waiting, -errno.EHOSTDOWN, "lock of a node whose connection failed")
                wait_lost(c, pairs, c.peer_timeout_ms / 1000 + 2)
            for one, ident in pairs:
                reason = peer(one, ident)["reason"]
                expect("no heartbeat" not in reason, f"{one.name} lost node {ident} by its silence: {reason}")
            expect([resumes(n) for n in (a, b)] == before, "connections were made anew")
    finally:
        again(c, b)
    check_both_know(a, b)
