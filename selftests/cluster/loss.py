# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests in which a node is killed, stopped or cut off.

The victim is the last living node. Whoever needs it must hear of its loss within the cluster's
peer_timeout_ms + 1 s; class Silence of scene.py says how that is measured.
"""
import contextlib
import errno
import os
import signal
import time

from scene import (CALL_SECONDS, SIGBUS, Actor, actors, again, again_on_failure, bound, check_loss_is_reported, counters,
                   cut_off, drop_region, dying, expect, impaired, living, make_region, name_of, peer, ranks, region,
                   stands_still, status, until)
from vm import clock
from vm.channel import GuestError

PAGE = 4096
MANY = 40	# regions, which a joiner takes over one by one
LATE_MS = 50	# of what it sends meanwhile, so that it takes its time
FEW_SAMPLES = 10	# of counters, in the seconds that a loss takes; thousands are usual


def work_goes_on(c, nodes=None, *policy):
    """A new region of those that live works."""
    with region(c, "1M", *(policy or ("home=rr",)), nodes=nodes) as name:
        ranks(c, ["counter", name, 2, 20, 4], timeout=60, nodes=nodes)


def check_lost_page(actor, offset):
    """The signal says where; what the kernel does with the page itself fails as a bad pointer, or as the device's."""
    for what, at in (("read", offset + 24), ("write", offset + 4088)):
        said, _ = actor.want(SIGBUS, what, at)
        expect(said == at, f"SIGBUS of a {what} at {at} says {said}")
    for what in ("call_read", "call_write"):
        actor.want(-errno.EFAULT, what, offset, 8)
    for what in ("call_pread", "call_pwrite"):
        actor.want(-errno.EHOSTDOWN, what, offset, 8)


def killed_during_a_fault(c):
    *rest, victim = living(c)
    pages = len(rest) + 1
    with_home_there = len(rest) * PAGE	# the victim is the last of the members
    with region(c, "1M", "home=rr") as name, actors(name, *rest) as all_actors, \
            actors(name, victim) as (v,):
        a, b, z = all_actors[0], all_actors[1], all_actors[-1]
        # All are told of both pages: else they would be known to be zero without asking.
        v.want(0, "write", with_home_there, 7)
        v.want(0, "write", with_home_there + pages * PAGE, 8)
        v.want(0, "release")
        for actor in all_actors:
            actor.want(0, "acquire")
        z.read(with_home_there, 7)
        since = clock.now()
        with dying(victim):
            reader = a.begin_blocked("dsm_fault_page", "read", with_home_there)
            writer = b.begin_blocked("dsm_fault_page", "write", with_home_there + pages * PAGE, 1)
        # Pages of other homes need nobody who is gone.
        z.want(0, "write", z.id * PAGE, 5)
        a.finish(reader, SIGBUS, "read of a page of the dead", bound(c, since))
        b.finish(writer, SIGBUS, "write to a page of the dead", bound(c, since))
        check_loss_is_reported(c, rest, v.id)
        z.read(with_home_there, 7)
        for actor in all_actors:
            actor.want(0, "write", actor.id * PAGE + 8, 1)
        a.want(SIGBUS, "write", with_home_there, 1)
        check_lost_page(a, with_home_there)
        for what in ("call_read", "call_write", "call_pread", "call_pwrite"):
            a.want(0, what, a.id * PAGE, 8)
    work_goes_on(c)


def killed_during_a_lock_wait(c):
    """It held what others wait for; it waited for what others hold; it stood between two others."""
    *rest, victim = living(c)
    with region(c, "1M") as name, actors(name, *rest) as others, actors(name, victim) as (v,):
        a, b = others[0], others[-1]
        keys = range(4)
        for key in keys:
            v.want(0, "lock", key)
        waits = [(x, x.begin("lock", key, thread=key)) for x in others for key in keys]
        for x in others:
            x.blocked("dsm_node_lock")
            x.settle()
        # Held by a; the victim waits, then b (on the same node if only one is left).
        between = range(10, 14)
        behind = []
        for key in between:
            a.want(0, "lock", key, thread=9)
        for key in between:
            v.begin("lock", key, thread=key - 9)
        v.blocked("dsm_node_lock")
        v.settle()
        if b is not a:
            behind = [(b.begin("lock", key, thread=key - 5), key) for key in between]
            b.blocked("dsm_node_lock")
            b.settle()
        since = clock.now()
        victim.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "lock held by a dead node", bound(c, since))
        check_loss_is_reported(c, rest, v.id)
        for key in between:
            a.want(0, "unlock", key, thread=9)
        for number, key in behind:
            # Unless its manager died: then nobody can say who comes next.
            got = b.end(number)[0]
            expect(got in (0, -errno.EHOSTDOWN), f"lock {key} behind the dead: {name_of(got)}")
        if behind:
            good = sum(b.end(number)[0] == 0 for number, _ in behind)
            expect(good, "no lock at all was passed over the dead node")
    work_goes_on(c)


def killed_during_a_barrier(c, *policy):
    *rest, victim = living(c)
    parties = len(rest) + 1
    with region(c, "1M", *policy) as name, actors(name, *rest) as others, actors(name, victim) as (v,):
        waits = []
        for key in range(3):		# the victim has arrived, one is missing
            v.begin("barrier", key, parties + 1, thread=key)
            waits += [(x, x.begin("barrier", key, parties + 1, thread=key)) for x in others]
        for key in range(3, 6):		# the victim is the one that is missing
            waits += [(x, x.begin("barrier", key, parties, thread=key)) for x in others]
        for x in (*others, v):
            x.blocked("dsm_node_barrier")
            x.settle()
        since = clock.now()
        victim.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "barrier with a dead node", bound(c, since))
        check_loss_is_reported(c, rest, v.id)
    work_goes_on(c)


def killed_before_it_sets_or_arrives(c):
    """Waits that nobody else could end, begun before the loss and after it. Who has heard of the
    loss can use what is left; who does not use the lost node's region hears nothing."""
    *rest, victim = living(c)
    with region(c, "1M") as name, region(c, "1M", nodes=rest) as apart, \
            actors(name, *rest) as others, actors(name, *rest) as late, \
            actors(apart, *rest) as strangers, actors(name, victim) as (v,):
        waits = [(x, x.begin("await", key, thread=key)) for x in others for key in range(4)]
        calm = [(x, x.begin("await", key, thread=key), key) for x in strangers for key in range(4)]
        for x in (*others, *strangers):
            x.blocked("flag_op")
            x.settle()
        v.settle()
        since = clock.now()
        victim.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "flag that the dead would have set",
                     bound(c, since))
        check_loss_is_reported(c, rest, v.id)
        # Opened before the loss, and not told of it yet: once by a barrier, once by a flag.
        for x in late:
            x.want(-errno.EHOSTDOWN, *(("barrier", 50, len(rest) + 1) if x is late[0] else
                                       ("await", 50)))
        survivors_use_what_is_left([*others, *late])
        strangers_hear_nothing(calm, strangers[0])
    work_goes_on(c)


def survivors_use_what_is_left(told):
    """Flags and first barriers of a region with a lost user, but for keys that it managed."""
    good = 0
    for key in range(60, 66):
        waits = [(x, x.begin("await", key)) for x in told]
        got = told[0].call("set", key, thread=1)
        expect(got in (0, -errno.EHOSTDOWN), f"flag {key}: {name_of(got)}")
        for x, number in waits:
            x.finish(number, got, f"flag {key} of the survivors")
        waits = [(x, x.begin("barrier", key, len(told))) for x in told]
        results = {x.end(number)[0] for x, number in waits}
        expect(results in ({0}, {-errno.EHOSTDOWN}), f"barrier {key}: {results}")
        good += (got == 0) + (results == {0})
    expect(good, "the survivors could use no key at all")


def strangers_hear_nothing(calm, setter):
    """Waits in a region that the lost node never opened; it may have managed their keys."""
    kept = 0
    for key in range(4):
        got = setter.call("set", key, thread=7)
        expect(got in (0, -errno.EHOSTDOWN), f"flag {key}: {name_of(got)}")
        for x, number, which in calm:
            if which == key:
                x.finish(number, got, "flag of a region that the dead never opened")
        kept += got == 0
    expect(kept, "all keys of the region apart were lost with their manager")


def killed_during_a_release(c):
    *rest, victim = living(c)
    with region(c, "1M", "home=rr") as name, actors(name, *rest) as others, \
            actors(name, victim) as (v,):
        a, z = others[0], others[-1]
        home = len(rest)		# place of the victim among the members
        with_home_there = home * PAGE, 3, (len(rest) + 1) * PAGE
        # Also by first touch.
        v.want(0, "fill", *with_home_there, 2)
        v.want(0, "release")
        a.want(0, "acquire")
        a.want(0, "fill", *with_home_there, 1)
        a.want(0, "write", 0, 6)
        since = clock.now()
        with dying(victim):
            releasing = a.begin_blocked("dsm_node_release", "release")
        z.want(0, "write", PAGE * (len(rest) - 1) + 64, 3, thread=1)
        a.finish(releasing, -errno.EHOSTDOWN, "release to a dead home", bound(c, since))
        check_loss_is_reported(c, rest, v.id)
        a.read(0, 6)
    work_goes_on(c)


def lost_behind_an_unlock(c):
    """What an unlock left to be written is lost while nobody waits: a process that ends in between is not who is told."""
    *rest, victim = living(c)
    keys = range(6)
    with region(c, "1M", "home=rr") as name, actors(name, *rest) as others, \
            actors(name, rest[0]) as (sibling,), actors(name, victim) as (v,):
        a, b = others[0], others[-1]
        for key in keys:
            a.want(0, "lock", key, thread=key)
        a.want(0, "write", len(rest) * PAGE, 7)
        for key in keys:
            a.want(0, "unlock", key, thread=key)
        with dying(victim):
            pass
        check_loss_is_reported(c, rest, v.id)
        # Of a key that the dead managed no token comes.
        expect(0 in [b.call("lock", key, thread=key) for key in keys], "no lock was handed over")
        sibling.leave()
        a.want(-errno.EHOSTDOWN, "release")
        a.want(0, "release")
    work_goes_on(c)


def check_sampled(watchers, letter, before):
    """Each has read the counters some times more; how often so far."""
    for watcher in watchers:
        watcher.write(letter.encode())
    now = [int(w.wait_line(rf"^{letter}: (\d+) samples$", CALL_SECONDS)[1]) for w in watchers]
    for watcher, old, new in zip(watchers, before, now):
        expect(new - old >= FEW_SAMPLES, f"{watcher.name()}: {new - old} samples")
    return now


def totals_outlive_a_node(c):
    """No counter runs backwards, also not for a moment, when a node is lost or one leaves."""
    *rest, victim = living(c)
    ident = status(victim)["node"]
    with region(c, "1M", "home=rr") as name:
        # Barriers need messages however the nodes are scheduled; a token may serve all its work at once.
        ranks(c, ["barriers", name, 2, 60], timeout=60)
        before = [counters(node) for node in rest]
        for node, seen in zip(rest, before):
            for what in TRAFFIC:
                expect(seen[what] > 100, f"{what} on {node.name} is {seen[what]}: no traffic")
        watchers = [node.start(["/work/totals"], stdin=True) for node in rest]
        for watcher in watchers:
            watcher.wait_line(r"^ready$", CALL_SECONDS)
        victim.kill()
        check_loss_is_reported(c, rest, ident)
        check_growth(rest, before)
        samples = check_sampled(watchers, "a", [0] * len(watchers))
    work_goes_on(c)
    # What a node itself counted outlives its membership.
    rest[-1].check(["dsmctl", "leave", "--force"])
    check_growth(rest, before)
    samples = check_sampled(watchers, "b", samples)
    print(f"# counters were read {' and '.join(map(str, samples))} times", flush=True)
    for watcher in watchers:
        watcher.close_input()
        r = watcher.wait(CALL_SECONDS)
        expect(not r.status, f"{watcher.name()}: {r.err.strip()}")


TRAFFIC = ("msgs_sent", "msgs_received", "bytes_sent", "bytes_received")


def check_growth(nodes, before):
    """No counter is below what it was."""
    for node, old in zip(nodes, before):
        new = counters(node)
        for what, value in old.items():
            expect(new[what] >= value, f"{what} on {node.name} fell from {value} to {new[what]}")


def stopped_for_half_the_bound(c):
    """It is not declared dead, and what waited for it goes on."""
    *rest, node = living(c)
    with region(c, "1M", "home=rr") as name, actors(name, rest[0], node) as (a, v):
        v.want(0, "lock", 1)
        waiting = a.begin_blocked("dsm_node_lock", "lock", 1)
        with stands_still(node):
            time.sleep(c.peer_timeout_ms / 2000)	# what is tested
        v.want(0, "unlock", 1)
        a.finish(waiting, 0, "lock of a node that stood still")
        a.want(0, "unlock", 1)
        for one, other in ((rest[0], v.id), (node, a.id)):
            state = peer(one, other)["state"]
            expect(state == "up", f"{one.name} says that node {other} is {state}")
    work_goes_on(c)


def killed_while_nobody_answers_its_release(c):
    """A process that is killed goes, although those who must answer its release are silent and not lost yet.

    One has pages to send home; the others have none, but have to tell their region's manager of what was released.
    """
    *rest, node = living(c)
    with contextlib.ExitStack() as stack:
        names = [stack.enter_context(region(c, "1M", "home=rr")) for _ in range(5)]
        all_actors = [Actor(rest[0], name) for name in names]
        all_actors[1].want(0, "fill", 0, len(rest) + 1, PAGE, 1)
        all_actors[1].want(0, "release")
        all_actors[0].want(0, "fill", 0, len(rest) + 1, PAGE, 1)
        with stands_still(node):
            for a in reversed(all_actors):
                a.job.signal(signal.SIGKILL)
                a.job.wait(c.peer_timeout_ms / 2000)
        state = peer(rest[0], status(node)["node"])["state"]
        expect(state == "up", f"{node.name} is {state}: it was not silence that ended the wait")
    work_goes_on(c)


def asks_all(coordinator):
    """Does it wait for a member's answer? The first three give theirs in less time than two looks are apart."""
    look = ["sh", "-c", "grep -qs dsm_control_call $(grep -ls '^kworker' /proc/[0-9]*/comm | sed s/comm/stack/)"]
    return coordinator.run(look).status == 0 and coordinator.run(look).status == 0


def opens(node, name):
    """Can the region be opened there, or does only a member that is lost stand in the way?"""
    err = node.run(["sh", "-c", f": </dev/dsm-{name}"]).err
    return not err or "Host is down" in err


def coordinator_killed_while_a_region_goes(c):
    """The next one asks all anew: the region goes, or stays where somebody has it open."""
    last = c.nodes[-1]
    for used in (True, False):
        coordinator, *others = living(c)
        name = make_region(c, "1M", "home=rr")
        with contextlib.ExitStack() as stack:
            if used:
                (user,) = stack.enter_context(actors(name, last))
                user.want(0, "acquire")
            with stands_still(last):
                coordinator.start(["dsmctl", "region", "destroy", name])
                until(lambda: asks_all(coordinator), "nobody is asked whether the region can go")
                coordinator.kill()
            if used:
                for node in others:
                    until(lambda node=node: opens(node, name), f"{name} is open on {last.name}, but not on {node.name}")
                user.want(0, "write", user.id * PAGE, 1)
        if used:
            drop_region(c, name)
        for node in others:
            node.wait_for(["test", "!", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
    work_goes_on(c)


def two_killed_at_once(c):
    """The coordinator and another one, of whom each holds what others wait for, and both are missing at a barrier."""
    first, *rest, last = living(c)
    with region(c, "1M", "home=rr") as name, actors(name, *rest) as others, actors(name, first, last) as (v, w):
        v.want(0, "lock", 1)
        w.want(0, "lock", 2)
        waits = []
        for x in others:
            locks = [x.begin("lock", key, thread=key) for key in (1, 2)]
            barrier = x.begin("barrier", 5, c.count, thread=3)
            x.blocked("dsm_node_lock", *locks)
            x.blocked("dsm_node_barrier", barrier)
            x.settle()
            waits += [(x, number) for number in (*locks, barrier)]
        since = clock.now()
        for node in (first, last):
            node.stop()
        for node in (first, last):
            node.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "a wait for two dead nodes", bound(c, since))
        for lost in (v.id, w.id):
            check_loss_is_reported(c, rest, lost)
    work_goes_on(c)


def cut_off_and_joined_again(c):
    """Both sides report the loss; the node leaves by force and comes back with a new id."""
    *rest, node = living(c)
    before = status(node)["node"]
    others = [status(n)["node"] for n in rest]
    with region(c, "1M", "home=rr") as name, again_on_failure(c, node), contextlib.ExitStack() as link:
        with actors(name, rest[0], node) as (a, v):
            a.want(0, "write", 0, 5)
            a.want(0, "release")
            v.want(0, "acquire")
            v.want(0, "lock", 1)
            waiting = a.begin_blocked("dsm_node_lock", "lock", 1)
            since = clock.now()
            link.enter_context(cut_off(node))
            # The other side: a page whose home it cannot reach any more.
            reading = v.begin("read", 0)
            a.finish(waiting, -errno.EHOSTDOWN, "lock held behind a cut link", bound(c, since))
            v.finish(reading, SIGBUS, "fault of the cut-off node", bound(c, since))
            check_loss_is_reported(c, rest, before)
            for other in others:
                check_loss_is_reported(c, [node], other)
        work_goes_on(c, rest)
        link.close()
        join = ["dsmctl", "join", "--listen", node.address, "--seed", rest[0].address]
        r = node.run(join)
        expect(r.status and "already" in r.err, f"joined while it still is a member: {r}")
        node.check(["dsmctl", "leave", "--force"])
        # The region counts on the pages that its old id homed.
        r = node.run([*join, "--node", str(before)])
        expect(r.status and "without --node" in r.err, f"took its lost id again: {r}")
        node.check(join)
        ident = status(node)["node"]
        expect(ident != before, f"it has its old id {ident} again")
        for one in rest:
            expect(peer(one, ident)["state"] == "up", f"{one.name} does not know node {ident}")
        check_old_region(name, node, len(rest) * PAGE)
    work_goes_on(c)


def check_old_region(name, node, lost):
    """What was homed at the lost id is lost; all the rest can be read, unless the region
    cannot be opened at all because the lost id answered for its opens and closes."""
    try:
        with actors(name, node) as (v,):
            v.read(0, 5)
            v.want(SIGBUS, "read", lost)
    except GuestError as e:
        expect("Host is down" in str(e), f"opening a region with lost pages: {e}")


def carried(setter, waiter, keys):
    """How many flags the third one, which reaches both, carries between them with what was written; all others fail."""
    good = 0
    for key in keys:
        setter.want(0, "write", 0, 100 + key)
        results = [setter.call("set", key)]
        if not results[0]:
            results.append(waiter.call("await", key))
        expect(set(results) <= {0, -errno.EHOSTDOWN}, f"flag {key}: {[name_of(r) for r in results]}")
        if results == [0, 0]:
            waiter.read(0, 100 + key)
            good += 1
    return good


def lose_each_other(c, one, other, pairs):
    """What waits for the other one fails, whoever of the three manages the key. pairs: an actor at each, of a region each."""
    keys = range(10)	# of so many the third one manages some
    behind = []
    for a, b in pairs:
        for key in keys:
            a.want(0, "lock", key)
        behind += [(b, b.begin("lock", key, thread=4 + key)) for key in keys]
        b.blocked("dsm_node_lock")
        b.settle()
    a, b = pairs[0]
    since = clock.now()
    one.part(other)
    reading = [(a, a.begin("read", 2 * PAGE)), (b, b.begin("read", PAGE))]
    for x, number in reading:
        x.finish(number, SIGBUS, "read of a page of the node that is apart", bound(c, since))
    for x, number in behind:
        x.finish(number, -errno.EHOSTDOWN, "lock that the node has which is apart", bound(c, since))
    for node, ident in ((one, b.id), (other, a.id)):
        until(lambda node=node, ident=ident: peer(node, ident)["state"] == "lost",
              f"{node.name} still has node {ident}", bound(c, since).limit)
    return keys


def parted_from_one_of_two(c):
    """Two nodes lose each other, a third one neither: what one has fails for the other, what the third has goes on."""
    third, one, other = c.nodes
    with region(c, "1M", "home=rr", "around=off") as name, region(c, "1M", "home=rr", "sync=rdma") as by_atomics:
        try:
            with actors(name, third, one, other) as (t, a, b), actors(by_atomics, one, other) as (d, e):
                # All know that these pages are not zero.
                for x, page in ((a, 1), (b, 2)):
                    x.want(0, "write", page * PAGE, page)
                    x.want(0, "release")
                for x in (t, a, b):
                    x.want(0, "acquire")
                keys = lose_each_other(c, one, other, ((a, b), (d, e)))
                for x in (a, b):
                    expect(peer(third, x.id)["state"] == "up", f"{third.name} lost node {x.id}, which it reaches")
                t.read(PAGE, 1)
                t.read(2 * PAGE, 2)
                expect(carried(a, b, range(50, 70)), "nothing went from one to the other by the third")
                expect(carried(b, a, range(70, 90)), "nothing went back by the third")
                # A page of each node, of which only the third's can be had: fetched after the loss, and what makes it old is not told.
                pages = [PAGE * n for n in range(c.count)]
                e.want(0, "acquire")
                for page in pages:
                    e.call("read", page)
                    d.call("write", page, 7)
                for key in keys:
                    a.want(0, "unlock", key)
                    d.want(0, "unlock", key)
                good = 0
                for key in keys:
                    for x in (t, e):
                        got = x.call("lock", key)
                        expect(got in (0, -errno.EHOSTDOWN), f"lock {key}: {name_of(got)}")
                    if not got:
                        seen = [e.end(e.begin("read", page))[:2] for page in pages]
                        expect((0, 7) in seen, f"lock {key} without what was written under it: {seen}")
                        good += 1
                expect(good, "no lock that the other one had last, and whose manager is there")
        finally:
            one.meet(other)
            again(c, other)
        for node in c.nodes:
            until(lambda node=node: status(node)["members"] == c.count, f"{node.name} does not know all members")
    work_goes_on(c)


@contextlib.contextmanager
def many_regions(node):
    """Regions many1 and so on for the time of the block."""
    try:
        node.sh(f"for i in $(seq {MANY}); do dsmctl region create many$i 64K || exit; done")
        yield
    finally:
        node.sh("for path in /dev/dsm-many*; do [ ! -e $path ] || dsmctl region destroy ${path#/dev/dsm-} || exit; done")


def stalls_while_it_joins(c):
    """A node that falls silent while it joins is lost like any other: it is told so, and the others have what they waited for."""
    *rest, node = c.nodes
    first = rest[0]
    join = ["dsmctl", "join", "--listen", node.address, "--seed", first.address]
    with many_regions(first), again_on_failure(c, node):
        for silence, end in ((node.stop, node.cont), (node.cut, node.join)):
            node.check(["dsmctl", "leave", "--force"])
            with region(c, "1M", "home=rr", nodes=rest) as name, actors(name, *rest) as others, \
                    impaired(node, "delay", f"{LATE_MS}ms"):
                joining = node.start(join)
                node.wait_for(["test", "-e", "/dev/dsm-many1"])
                since = clock.now()
                silence()
                try:
                    expect(status(first)["members"] == len(rest), "it had joined when it fell silent")
                    # What makes regions waits for who joins, and so for its loss; who has them open for nobody.
                    made = first.start(["dsmctl", "region", "create", "meanwhile", "64K"])
                    for turn in range(10):
                        for i, x in enumerate(others, turn * len(others)):
                            x.want(0, "lock", 1)
                            x.read(0, i)
                            x.want(0, "write", 0, i + 1)
                            x.want(0, "unlock", 1)
                    r = made.wait(bound(c, since).limit + CALL_SECONDS)
                    expect(not r.status, f"a region that was made while a node joined: {r}")
                finally:
                    end()
                r = joining.wait(bound(c, since).limit + CALL_SECONDS)
                expect(r.status and os.strerror(errno.EHOSTDOWN) in r.err, f"joined, after it was silent: {r}")
                expect(node.run(["sh", "-c", "ls /dev/dsm-many*"]).status, "regions are left where nobody joined")
            node.check(join)
            expect(status(first)["members"] == c.count, "it is no member")
            first.check(["dsmctl", "region", "destroy", "meanwhile"])
    work_goes_on(c)
