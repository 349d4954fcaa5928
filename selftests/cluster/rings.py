# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests in which who has asked other nodes for something goes before the answer: rings and regions that are closed with
commands pending, threads and processes that end while they open a region; and in which the node goes that was asked."""
import errno
import signal

from loss import work_goes_on
from scene import (CALL_SECONDS, actors, bound, check_loss_is_reported, dying, expect, living, name_of, peer, region,
                   stands_still, status)
from vm import clock

KEY = 5
PARTIES = 9	# more than ever come
LONG_MS = 600000
OPENS = "dsm_member_activate"	# where an open waits for the coordinator


def ended(actor, wanted):
    """The next command of an actor's ring that ends, its number from 1 on; its result must be as wanted."""
    result, number, _ = actor.end(actor.begin("ring_next"))
    expect(result == wanted, f"command {number} on {actor.node.name}: {name_of(result)}, not {name_of(wanted)}")
    return number


def closed_with_commands_pending(c):
    """dsm_close() leaves them pending; with the last one the file goes, and with it the lock that it brought."""
    a, b = c.nodes[:2]
    with region(c, "1M", "home=rr") as name:
        for key in range(KEY, KEY + 4):	# with managers on all nodes
            with actors(name, a, b) as (x, y):
                x.want(0, "lock", key)
                y.want(0, "ring_await", key)
                y.want(0, "ring_lock", key)
                y.settle()
                y.want(0, "close")
                x.want(0, "set", key)
                expect(ended(y, 0) == 1, "the lock came, and not the flag")
                x.want(0, "unlock", key)
                expect(ended(y, 0) == 2, "the flag came twice")
                x.want(-errno.EOWNERDEAD, "lock", key)
                x.want(0, "consistent", key)
                x.want(0, "unlock", key)
                x.want(0, "clear", key)


def begin_opening(node, name):
    """A program whose thread has begun to open a region, and waits for the coordinator."""
    job = node.start(["/work/opens", name], stdin=True)
    thread = job.wait_line(r"^opening (\d+)$", CALL_SECONDS)[1]
    node.wait_for(["grep", "-q", f" {OPENS}+", f"/proc/{thread}/stack"], CALL_SECONDS)
    return job


def cancelled_while_it_opens(c):
    """pthread_cancel() of a thread inside dsm_open(): it opens the region first, and takes nothing of the library's along."""
    first, other = c.nodes[:2]
    with region(c, "1M", "home=rr") as name:
        with stands_still(first):
            job = begin_opening(other, name)
            job.write(b"\n")
            job.wait_line("^cancelled$", CALL_SECONDS)
        r = job.wait(CALL_SECONDS)
        expect(not r.status, f"a thread was cancelled while it opened a region: {r}")


def killed_while_it_opens(c):
    """It does not wait for the coordinator, and has not opened the region: that can go."""
    first, other = c.nodes[:2]
    ident = status(first)["node"]
    with region(c, "1M", "home=rr") as name:
        with stands_still(first):
            job = begin_opening(other, name)
            job.signal(signal.SIGKILL)
            job.wait(CALL_SECONDS)
            state = peer(other, ident)["state"]
            expect(state == "up", f"{first.name} is {state}: it was its loss that ended the wait")
        with actors(name, other) as (a,):
            a.want(0, "lock", KEY)
            a.want(0, "unlock", KEY)


def killed_while_commands_wait(c):
    """They end in time, like calls; who closes its ring and its region, or is killed, before it is known waits for nobody."""
    *rest, victim = living(c)
    first = rest[0]
    with region(c, "1M", "home=rr") as name, actors(name, *rest) as told, \
            actors(name, first, first, victim) as (closing, killed, v):
        v.want(0, "lock", KEY)
        for number, x in enumerate((*told, closing, killed)):
            x.want(0, "ring_lock", KEY)
            x.want(0, "ring_timedlock", KEY, LONG_MS)
            x.want(0, "ring_barrier", KEY + number, PARTIES)	# one that is given up ends with an error for all
            x.want(0, "ring_await", KEY)
            x.settle()
        closing.want(0, "release")	# so that its close has nothing to tell anybody
        since = clock.now()
        with dying(victim):
            closing.want(0, "ring_exit")
            closing.want(0, "close")
            closing.kill()
            killed.kill()
            state = peer(first, v.id)["state"]
            expect(state == "up", f"{victim.name} is {state}: it was its loss that ended the commands")
        for x in told:
            left = {1, 2, 3, 4}
            for _ in range(len(left)):
                number = x.begin("ring_next")
                left.discard(x.finish(number, -errno.EHOSTDOWN, "a command that waits for a dead node", bound(c, since)))
            expect(not left, f"commands {left} on {x.node.name} did not end")
        check_loss_is_reported(c, rest, v.id)
    work_goes_on(c)
