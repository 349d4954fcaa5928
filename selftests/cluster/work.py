# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests in which all nodes live: what programs on several machines may rely on."""
import errno
import json
import hashlib
import os
import time

from scene import (CALL_SECONDS, actors, agreeing, counters, expect, join_anew, join_ranks, leave, living, make_region,
                   ranks, region, region_agrees, slow_disk, start_ranks, sums, until)
from vm import clock

PAGE = 4096
JOINS = 8
STARTS = 4	# until programs last as long as others come and go beside them
USED_SECONDS = 20	# for a program to open a region before a join has waited long enough
GIB = 1 << 30


def counters_under_locks(c):
    """8 threads in each of 2 processes per node."""
    # The pages of one lock are near those of the others, and homed everywhere.
    with agreeing(c), region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 8, 100, 6], ppn=2, timeout=120)


def counters_under_one_lock(c):
    with agreeing(c), region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 100, 1], ppn=1, timeout=120)


def false_sharing(c):
    """Neighbouring bytes, stored to by different nodes and processes at the same time."""
    with agreeing(c), region(c, "1M", "home=rr") as name:
        ranks(c, ["sharing", name, 4, 25], ppn=2, timeout=120)


def barriers_whole_subsets_several_keys(c, policy="home=rr"):
    with agreeing(c), region(c, "1M", policy) as name:
        ranks(c, ["barriers", name, 4, 40], ppn=2, timeout=120)


def barriers_with_wrong_party_counts(c, *policy):
    with region(c, "1M", *policy) as name, actors(name, c.nodes[0], c.nodes[1]) as (a, b):
        for key in range(4):
            a.want(-errno.EINVAL, "barrier", key, 0)
            waiting = a.begin_blocked("dsm_node_barrier", "barrier", key, 2)
            a.settle()
            b.want(-errno.EINVAL, "barrier", key, 3)
            expect(a.pending(waiting), "a wrong count ended the barrier")
            b.want(0, "barrier", key, 2)
            a.finish(waiting, 0, "barrier")


def a_signal_does_not_end_a_barrier(c, *policy):
    with region(c, "1M", *policy) as name, actors(name, c.nodes[0], c.nodes[1]) as (a, b):
        waiting = a.begin_blocked("dsm_node_barrier", "barrier", 1, 2)
        for _ in range(3):
            a.job.write(b"0\n")
            a.want(0, "nodes", thread=1)
        expect(a.pending(waiting), "a signal ended the barrier")
        b.want(0, "barrier", 1, 2)
        a.finish(waiting, 0, "barrier")


def a_thread_computes_while_a_lock_comes(c):
    """Through io_uring; the holder gives the lock up only after the waiting thread has computed."""
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["overlap", name, 12 * c.count], timeout=120)


def data_passes_by_commands_of_a_ring(c):
    """By each of dsm_uring.h's, from every node to the next; nothing but the command brings it."""
    for settings in (("home=rr",), ("home=rr", "sync=rdma"), ("preset=csm-none", "home=rr")):
        with region(c, "1M", *settings) as name:
            ranks(c, ["commands", name, 4 * c.count], timeout=60)


def flags(c, *policy):
    last = c.nodes[-1]
    with region(c, "1M", *policy) as name, actors(name, c.nodes[0], c.nodes[1], last) as (a, b, z):
        for key in range(4):
            waits = [(x, x.begin_blocked("dsm_node_flag_wait", "await", key)) for x in (b, z)]
            a.want(0, "write", 64 * key, 1000 + key)
            a.want(0, "set", key)
            for actor, number in waits:
                actor.finish(number, 0, "flag wait")
                actor.read(64 * key, 1000 + key)
            b.want(-errno.EALREADY, "set", key)
            z.want(0, "await", key)
            z.want(0, "clear", key)
            b.want(0, "clear", key)
            number = a.begin_blocked("dsm_node_flag_wait", "await", key)
            expect(a.interrupt(number) == -errno.EINTR, "an interrupted wait for a flag")
            b.want(0, "set", key)
            a.want(0, "await", key)


def relocking_sends_nothing(c):
    """A token that is here is taken and given back again: no message, and here no call either."""
    two = (c.nodes[0], c.nodes[1], c.nodes[0])
    with region(c, "1M") as name, actors(name, *two) as (a, b, sibling):
        for key in range(6):
            for actor in (a, b):
                actor.want(0, "lock", key)
                actor.want(0, "unlock", key)
        before = [counters(n) for n in c.nodes[:2]]
        for key in range(6):
            for _ in range(50):
                b.want(0, "lock", key)
                b.want(-errno.EBUSY, "trylock", key, thread=1)
                b.want(0, "unlock", key)
        after = [counters(n) for n in c.nodes[:2]]
        grown = after[1]["locks_local"] - before[1]["locks_local"]
        expect(grown == 300, f"{grown} local locks for 300 calls")
        for x, y in zip(before, after):
            expect(x["locks_remote"] == y["locks_remote"], "a lock was taken from elsewhere")
        a.want(0, "lock", 0)
        sibling.want(-errno.EBUSY, "trylock", 0)
        a.want(0, "unlock", 0)


def relocking_makes_no_system_call(c):
    """By the library's calls; and whoever forbids it the lock table sees that this would be noticed."""
    with region(c, "1M") as name:
        for node in c.nodes[:2]:
            ranks(c, ["relock", name], nodes=[node])
        job, = start_ranks(c, ["relock", name], nodes=c.nodes[1:2], DSM_NO_FAST_LOCK=1)
        job.wait(CALL_SECONDS)
        expect(job.status == 1 and "made a system call" in job.err,
               f"without the lock table: status {job.status}, {job.err.strip()}")


def lock_calls(c):
    """Try, timed, interrupted, and all refusals; keys with managers on both sides."""
    two = (c.nodes[0], c.nodes[1], c.nodes[0])
    with region(c, "1M") as name, actors(name, *two) as (a, b, sibling):
        for key in range(4):
            a.want(0, "lock", key)
            b.want(-errno.EBUSY, "trylock", key)
            sibling.want(-errno.EBUSY, "trylock", key)
            _, ms = b.want(-errno.ETIMEDOUT, "timedlock", key, 200)
            expect(ms >= 195, f"a timed lock of 200 ms was given up after {ms} ms")
            a.want(-errno.EDEADLK, "lock", key)
            b.want(-errno.EPERM, "unlock", key)
            sibling.want(-errno.EPERM, "unlock", key)
            a.want(-errno.EINVAL, "consistent", key)
            b.want(-errno.EPERM, "consistent", key)
            number = b.begin_blocked("dsm_node_lock", "lock", key)
            expect(b.interrupt(number) == -errno.EINTR, "an interrupted lock call")
            a.want(0, "unlock", key)
            a.want(-errno.EPERM, "unlock", key)
            # The token went to b's node, where nobody waits any more (P5).
            a.want(0, "timedlock", key, 20000)
            a.want(0, "unlock", key)
            b.want(0, "timedlock", key, 20000)
            sibling.want(-errno.EBUSY, "trylock", key)
            b.want(0, "unlock", key)
            sibling.want(0, "trylock", key)
            sibling.want(0, "unlock", key)


def locks_are_fifo_among_nodes(c):
    with region(c, "1M") as name, actors(name, *c.nodes[:3]) as (x, y, z):
        for key in range(3):
            holder, *queue = (x, y, z) if key % 2 else (z, x, y)
            holder.want(0, "lock", key)
            numbers = []
            for actor in queue:
                numbers.append((actor, actor.begin_blocked("dsm_node_lock", "lock", key)))
                actor.settle()
            for actor, number in numbers:
                holder.want(0, "unlock", key)
                actor.finish(number, 0, "lock in its turn")
                # The former holder is now the last.
                again = holder.begin_blocked("dsm_node_lock", "lock", key)
                holder.settle()
                expect(all(n.pending(i) for n, i in numbers[numbers.index((actor, number)) + 1:]),
                       "a later node got the lock first")
                numbers.append((holder, again))
                holder = actor
                if len(numbers) > 5:
                    break
            for actor, number in numbers:
                if actor.pending(number):
                    holder.want(0, "unlock", key)
                    actor.finish(number, 0, "lock in its turn")
                    holder = actor
            holder.want(0, "unlock", key)


def allocator_from_all_nodes(c):
    with agreeing(c), region(c, "4M", "heap=on") as heap, region(c, "1M") as raw:
        ranks(c, ["heap", heap, raw, 150], ppn=2, timeout=120)


def a_region_larger_than_memory(c):
    """1 TiB, touched every 5 GB."""
    with region(c, "1T", "home=rr") as name:
        ranks(c, ["exchange", 200, 5 * 1000 * 1000 * 1024, name], timeout=120)


def many_regions(c):
    names = [f"many{i}" for i in range(32)]
    first, last = c.nodes[0], c.nodes[-1]
    first.sh("for i in $(seq 0 15); do dsmctl region create many$i 1M || exit; done")
    last.sh("for i in $(seq 16 31); do dsmctl region create many$i 64K home=rr || exit; done")
    r = last.run(["dsmctl", "region", "create", names[3], "1M"])
    expect(r.status and "exists" in r.err, f"a second {names[3]}: {r}")
    for node in c.nodes:
        listed = node.check(["dsmctl", "region", "list"]).out
        expect(all(f"/dev/dsm-{n} " in listed for n in names), f"{node.name} lists {listed}")
    ranks(c, ["exchange", 4, 2 * PAGE, *names], timeout=120)
    with actors(names[5], last):
        r = first.run(["dsmctl", "region", "destroy", names[5]])
        expect(r.status and f"node {c.count - 1}" in r.err, f"destroyed while open: {r}")
        with actors(names[5], first) as (a,):
            a.want(0, "write", 0, 1)
    last.wait_for(["dsmctl", "region", "destroy", names[5]], CALL_SECONDS)
    first.sh("for i in $(seq 0 31); do [ $i = 5 ] || dsmctl region destroy many$i || exit; done")
    for node in c.nodes:
        expect(node.run(["sh", "-c", "ls /dev/dsm-many*"]).status, f"devices left on {node.name}")
    r = first.run(["dsmctl", "region", "destroy", names[0]])
    expect(r.status and "no region" in r.err and names[0] in r.err, f"destroyed twice: {r}")


def attach_and_detach_under_load(c):
    """Programs come and go on a region while others work on another one all the time."""
    for start in range(STARTS):
        with region(c, "1M", "home=rr") as busy, region(c, "1M", "home=rr") as visited:
            before = sums(c)["msgs_received"]
            jobs = start_ranks(c, ["counter", busy, 4, 300 << start, 6])
            until(lambda before=before: sums(c)["msgs_received"] > before + 100, "the programs do not work")
            ranks(c, ["storm", visited, 24], timeout=120)
            beside = not any(j.done() for j in jobs)
            join_ranks(c, jobs, 120 << start)
        if beside:
            return
    expect(False, f"the programs ended before the others {STARTS} times")


def direct_io_across_releases(c):
    """O_DIRECT reads land in home and in remote pages while releases write these back."""
    c.nodes[0].check(["/work/direct", "prepare"])
    # Slow enough that both reads of 128 KiB are in flight for a second or two: a release sends all that has arrived, one by one with diff=orig.
    with slow_disk(c.nodes[0], 160 << 10), region(c, "2M") as name:
        ranks(c, ["direct", name, 4], timeout=120)


def home_policies(c):
    for policy in ("home=block", "home=block:1", "home=rr", "home=first-touch"):
        with agreeing(c), region(c, "1M", policy) as name:
            ranks(c, ["counter", name, 2, 20, 6], timeout=60)
        with agreeing(c), region(c, "1M", policy) as name:
            ranks(c, ["exchange", 60, 4 * PAGE, name], timeout=60)


def a_home_alone_tells_nobody(c):
    """Pages of which nobody has a copy are written by their home without notice, until somebody asks."""
    home, asker = c.nodes[0], c.nodes[1]
    pages = 64
    seen = counters(home)

    def write(value):
        a.want(0, "fill", 0, pages, PAGE, value)
        a.want(0, "release")

    def grown(name):
        return counters(home)[name] - seen[name]

    with region(c, "1M", "home=first-touch") as name, actors(name, home, asker) as (a, b):
        write(1000)
        write(2000)
        expect(grown("excl_enters") == pages, f"{grown('excl_enters')} pages are the home's alone")
        intervals = grown("intervals")
        write(3000)
        write(4000)
        expect(grown("intervals") == intervals, "the home told of what nobody had a copy of")
        b.want(0, "verify", 0, pages, PAGE, 4000)
        expect(grown("excl_breaks") == pages, f"{grown('excl_breaks')} pages are not any more")
        write(5000)
        b.want(0, "acquire")
        b.want(0, "verify", 0, pages, PAGE, 5000)
        # Both write, the home alone in between.
        write(6000)
        write(7000)
        b.want(0, "acquire")
        b.want(0, "fill", 8, pages, PAGE, 1)
        b.want(0, "release")
        a.want(0, "acquire")
        a.want(0, "verify", 8, pages, PAGE, 1)
        write(8000)
        b.want(0, "acquire")
        b.want(0, "verify", 0, pages, PAGE, 8000)
        b.want(0, "verify", 8, pages, PAGE, 1)


def counters_of_regions(c):
    """Regions in use at once: each counts its own, and over all nodes the sums agree."""
    def total(name):
        nodes = [counters(node, name) for node in c.nodes]
        return {kind: sum(n[kind] for n in nodes) for kind in nodes[0]}

    with region(c, "1M", "home=rr", "around=off") as a, region(c, "1M", "preset=sc") as b, \
            region(c, "1M", "preset=csm-none") as told:
        jobs = [start_ranks(c, ["exchange", 30, PAGE, name]) for name in (a, b, told)]
        for job in jobs:
            join_ranks(c, job, 60)
        mine, other, told = total(a), total(b), total(told)
        for kind in ("write_faults", "invalidations", "barriers"):
            expect(mine[kind] and other[kind], f"no {kind}: {mine[kind]}, {other[kind]}")
        expect(mine["diffs"] and mine["diffs"] == mine["diffs_applied"],
               f"{mine['diffs']} diffs made, {mine['diffs_applied']} applied")
        expect(not other["diffs"] and other["sc_grants"], f"of an sc region: {other}")
        expect(mine["notices_sent"] >= mine["notices_received"] > 0, f"notices of an hlrc region: {mine}")
        expect(not other["notices_sent"] and not other["notices_received"], f"notices of an sc region: {other}")
        expect(told["notices_sent"] == told["notices_received"] > 0, f"notices of a cashmere region: {told}")
        got = mine["page_transfers"] + mine["zero_replies"]
        expect(got == mine["fetches_served"], f"{got} pages received, {mine['fetches_served']} sent")
        ranks(c, ["exchange", 10, PAGE, a])
        later = total(b)
        expect(other == later, f"the other region's counters moved: {other}, {later}")
    gone = c.nodes[0].run(["dsmctl", "stats", a])
    expect(gone.status == 1 and f"no region {a}" in gone.err, f"of a region that is gone: {gone}")


# Release consistent regions of each kind: with and without a home that tells, and with one that moves.
RELEASE_CONSISTENT = (("home=rr",), ("preset=csm-none",), ("preset=csm-ms",), ("preset=auto",))


def _dd_and_md5sum(c, name):
    """What dd wrote on one node before it ended is what md5sum reads on another after."""
    size = 300000
    path = f"/dev/dsm-{name}"
    for turn in range(6):
        source, sink = c.nodes[turn % c.count], c.nodes[(turn + 1) % c.count]
        data = os.urandom(size)
        source.write(data, "/work/data")
        source.sh(f"dd if=/work/data of={path} bs=64k conv=notrunc 2>/dev/null")
        got = sink.sh(f"dd if={path} bs={size // 4} count=4 2>/dev/null | md5sum").out.split()[0]
        expect(got == hashlib.md5(data).hexdigest(), f"turn {turn}: other bytes on {sink.name}")
    # Without a close: a release, then an open elsewhere; and an acquire of who has it open.
    with actors(name, c.nodes[0]) as (a,):
        with actors(name, c.nodes[1]) as (b,):
            for value in range(1, 6):
                a.want(0, "write", 8, value)
                a.want(0, "release")
                b.want(0, "acquire")
                b.read(8, value)
        a.want(0, "write", 8, 99)
        a.want(0, "release")
        out = c.nodes[1].sh(f"dd if={path} bs=8 skip=1 count=1 2>/dev/null | od -An -tu8").out
        expect(out.split() == ["99"], f"od shows {out}")


def close_to_open(c):
    """L43, with each consistency that has releases."""
    for policy in RELEASE_CONSISTENT:
        print(f"# {' '.join(policy)}", flush=True)
        with agreeing(c), region(c, "1M", *policy) as name:
            _dd_and_md5sum(c, name)
            region_agrees(c, name)


def closed_here_and_opened_there(c):
    """L43, with whatever settings the test is run; the file is larger than what under() makes of 1M."""
    with agreeing(c), region(c, "2M") as name:
        _dd_and_md5sum(c, name)
        region_agrees(c, name)


SLOTS = 2048     # DSM_LOCK_WAYS << DSM_LOCK_SETS_LOG2


def a_million_lock_keys(c):
    """Alone on its node, which manages all keys: an idle key leaves nothing but perhaps a slot."""
    node = c.nodes[0]
    before = lock_objects(node)
    node.check(["/work/keys", "-", "0", "1000000", "2"], timeout=240 * c.slowness)
    left = lock_objects(node) - before
    expect(left <= SLOTS + 200, f"{left} lock objects after a million keys")


def lock_objects(node):
    """Lock objects in use, as the slab allocator counts them."""
    lines = [s.split() for s in node.read("/proc/slabinfo").splitlines()]
    return sum(int(s[1]) for s in lines if s and s[0] == "dsm_lock")


def more_lock_keys_than_tokens_are_kept(c):
    """Two nodes use the same keys; the module keeps 500 tokens of other managers' keys."""
    with region(c, "1M") as name:
        before = [counters(n)["locks_remote"] for n in c.nodes[:2]]
        others = [lock_objects(n) for n in c.nodes[:2]]
        ranks(c, ["keys", name, 0, 6000, 8], timeout=120, nodes=c.nodes[:2])
        remote = sum(counters(n)["locks_remote"] - b for n, b in zip(c.nodes, before))
        expect(remote >= 6000, f"only {remote} locks were taken from elsewhere")
        for node, there in zip(c.nodes, others):
            end = clock.now() + CALL_SECONDS
            # Managed here and held elsewhere: one object each. A slab holds some free ones too.
            while lock_objects(node) - there > 500 + 500 + SLOTS + 300:
                expect(clock.now() < end,
                       f"{lock_objects(node)} lock objects on {node.name}")
                time.sleep(0.1)


def killed_holding_a_lock(c):
    """The next taker gets EOWNERDEAD, and what the dead process wrote."""
    with region(c, "1M") as name:
        for key in range(3):
            with actors(name, c.nodes[0], c.nodes[1], c.nodes[-1], c.nodes[0]) as (a, b, z, s):
                b.want(0, "lock", key)
                b.want(0, "write", 64, 500 + key)
                waiting = a.begin_blocked("dsm_node_lock", "lock", key)
                b.kill()
                a.finish(waiting, -errno.EOWNERDEAD, "lock of a killed process")
                a.read(64, 500 + key)
                a.want(0, "unlock", key)
                # Not marked consistent: the next one is told too, also on the same node.
                z.want(-errno.EOWNERDEAD, "lock", key)
                z.want(0, "unlock", key)
                s.want(-errno.EOWNERDEAD, "trylock" if key == 2 else "lock", key)
                s.want(0, "consistent", key)
                s.want(-errno.EINVAL, "consistent", key)
                s.want(0, "unlock", key)
                a.want(0, "lock", key)
                a.want(0, "unlock", key)


def killed_holding_a_lock_in_a_slot(c):
    """As before, but no call told the module who took it; with and without somebody waiting."""
    with region(c, "1M") as name:
        for key in range(4):
            with actors(name, c.nodes[0], c.nodes[1], c.nodes[-1]) as (a, b, z):
                b.want(0, "lock", key)
                b.want(0, "unlock", key)
                b.want(0, "lock", key)
                b.want(0, "write", 64, 700 + key)
                if key % 2:
                    waiting = a.begin_blocked("dsm_node_lock", "lock", key)
                    b.kill()
                    a.finish(waiting, -errno.EOWNERDEAD, "lock of a killed process")
                else:
                    b.kill()
                    a.want(-errno.EOWNERDEAD, "lock", key)
                a.read(64, 700 + key)
                a.want(0, "consistent", key)
                a.want(0, "unlock", key)
                z.want(0, "lock", key)
                z.want(0, "unlock", key)


def killed_inside_a_barrier(c, *policy):
    with region(c, "1M", *policy) as name:
        for key in range(3):
            with actors(name, c.nodes[0], c.nodes[1], c.nodes[-1]) as (a, b, z):
                there = a.begin_blocked("dsm_node_barrier", "barrier", key, 3)
                b.begin_blocked("dsm_node_barrier", "barrier", key, 3)
                b.settle()
                a.settle()
                b.kill()
                a.finish(there, -errno.EOWNERDEAD, "barrier with a killed process")
                # Who comes later is told as well; then the key is as new.
                z.want(-errno.EOWNERDEAD, "barrier", key, 3)
                there = a.begin("barrier", key, 2)
                z.want(0, "barrier", key, 2)
                a.finish(there, 0, "barrier of the others")
        programs_one_after_the_other(c, name)


def programs_one_after_the_other(c, name):
    """Each ends when one of three has not come to the barrier yet; the next one uses the same key, with more threads."""
    key = 7
    for parties in (3, 4):
        with actors(name, c.nodes[0], c.nodes[1], c.nodes[-1]) as (a, b, z):
            there = a.begin_blocked("dsm_node_barrier", "barrier", key, parties)
            b.begin_blocked("dsm_node_barrier", "barrier", key, parties)
            b.settle()
            a.settle()
            b.kill()
            a.finish(there, -errno.EOWNERDEAD, "barrier with a killed process")
            if parties == 3:
                continue	# z ends as well, without having come
            with actors(name, c.nodes[0], c.nodes[1]) as (other, another):
                there = other.begin_blocked("dsm_node_barrier", "barrier", key, 2)
                other.settle()
                z.want(-errno.EOWNERDEAD, "barrier", key, parties)
                another.want(0, "barrier", key, 2)
                other.finish(there, 0, "barrier of another program")
    with actors(name, c.nodes[0], c.nodes[1], c.nodes[-1]) as (a, b, z):
        for _ in range(3):
            there = [actor.begin("barrier", key, 3) for actor in (a, b)]
            z.want(0, "barrier", key, 3)
            for actor, begun in zip((a, b), there):
                actor.finish(begun, 0, "barrier of a program that came later")


def join_leave_and_unload_refusals(c):
    node, other = c.nodes[1], c.nodes[0]
    r = node.run(["dsmctl", "join", "--listen", node.address, "--seed", other.address])
    expect(r.status and "already" in r.err, f"joined twice: {r}")
    with region(c, "1M", "home=rr") as name:
        with actors(name, node) as (a,):
            a.want(0, "fill", 0, 4, PAGE, 1)
            r = node.run(["rmmod", "dsm"])
            expect(r.status and "dsm " in node.read("/proc/modules"), f"unloaded in use: {r}")
            r = node.run(["dsmctl", "leave", "--force"])
            expect(r.status and f"/dev/dsm-{name}" in r.err, f"left while in use: {r}")
            a.want(0, "release")
        r = node.run(["dsmctl", "leave"])
        expect(r.status and "--force" in r.err, f"left with pages that would be lost: {r}")
        with actors(name, other) as (a,):
            a.want(0, "verify", 0, 4, PAGE, 1)


def joins_that_wait_for_others(c):
    """Another command ends such a membership, if it is not refused; its time ends it too, unless a region is used."""
    other, node = c.nodes[:2]
    join = ["dsmctl", "join", "--listen", node.address, "--seed", other.address, "--nodes", "9"]
    node.check(["dsmctl", "leave", "--force"])
    waiting = node.start([*join, "--timeout", "600"])
    node.wait_for(["grep", "-q", "joined", "/sys/class/dsm/dsm/state"], CALL_SECONDS)
    node.check(["dsmctl", "leave"])
    r = waiting.wait(CALL_SECONDS)
    expect(r.status and "told to leave" in r.err, f"joined, and told to leave meanwhile: {r}")
    r = node.run([*join, "--timeout", "1"])
    expect(r.status and "left again" in r.err, f"joined, too few others came: {r}")
    with region(c, "1M", "home=rr", nodes=[other]) as name:
        waiting = node.start([*join, "--timeout", str(USED_SECONDS)])
        node.wait_for(["test", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
        with actors(name, node) as (a,):
            a.want(0, "write", 64, 4711)
            r = waiting.wait(CALL_SECONDS)
            expect(r.status and "this node stays" in r.err, f"joined, a program used a region: {r}")
            a.read(64, 4711)
    for n in (node, other):
        n.check(["dsmctl", "leave", "--force"])
    waiting = other.start(["dsmctl", "join", "--listen", other.address, "--node", "0", "--nodes", "2", "--timeout", "600"])
    other.wait_for(["grep", "-q", "joined", "/sys/class/dsm/dsm/state"], CALL_SECONDS)
    with region(c, "1M", "home=rr", nodes=[other]) as name, actors(name, other) as (a,):
        a.want(0, "write", 64, 4711)
        r = other.run(["dsmctl", "leave"])
        expect(r.status and "in use" in r.err, f"left, a program used a region: {r}")
    node.check(["dsmctl", "join", "--listen", node.address, "--seed", other.address, "--node", "1"])
    r = waiting.wait(CALL_SECONDS)
    expect(not r.status, f"joined, all others came after a leave that was refused: {r}")


def joins_by_way_of_who_joins(c):
    """Each is the seed of the next, all at once: who is no member yet lets nobody in, and who asks it goes on asking."""
    for _ in range(3):
        for node in c.nodes:
            node.check(["dsmctl", "leave", "--force"])
        joins = []
        for before, node in reversed(list(zip([None, *c.nodes], c.nodes))):
            words = ["dsmctl", "join", "--listen", node.address, "--nodes", str(len(c.nodes))]
            joins.append((node, node.start([*words, *(["--seed", before.address] if before else [])])))
        for node, job in joins:
            r = job.wait(CALL_SECONDS)
            expect(not r.status, f"{node.name}: {r}")
        numbers = sorted(int(node.read("/sys/class/dsm/dsm/node_id")) for node in c.nodes)
        expect(numbers == list(range(len(c.nodes))), f"nodes {numbers}")
    # The order of numbers is chance here, and tests go by it.
    for node in c.nodes:
        node.check(["dsmctl", "leave", "--force"])
    c.join_all(len(c.nodes))


def regions_made_while_a_node_joins(c):
    """It knows them all: none is made between the list that it takes over and its joining."""
    first, *_, node = c.nodes
    makers = [n.start(["sh", "-c", f"i=0; while ! [ -e enough ]; do dsmctl region create made{n.index}.$i 64K && "
                       "[ $i -lt 1000 ] || exit; i=$((i + 1)); done; rm enough"]) for n in c.nodes[:-1]]
    for _ in range(JOINS):
        node.check(["dsmctl", "leave"])
        node.check(["dsmctl", "join", "--listen", node.address, "--seed", first.address])
    for n, maker in zip(c.nodes, makers):
        n.sh("touch enough")
        r = maker.wait()
        expect(not r.status, f"a region was not made: {r}")
    here, there = ({r["name"] for r in json.loads(n.check(["dsmctl", "region", "list", "--json"]).out)}
                   for n in (first, node))
    expect(here == there, f"known on one node only: {sorted(here ^ there)}")
    made = [name for name in here if name.startswith("made")]
    expect(len(made) > 3, f"only {made} of {here} were made")
    # The last one: members of an earlier one are gone, and with them perhaps the manager that an open asks.
    newest = max((name for name in made if name.startswith(f"made{first.index}.")),
                 key=lambda name: int(name.rpartition(".")[2]))
    with actors(newest, node) as (a,):
        a.want(0, "write", 0, 1)
    node.sh(f"for name in {' '.join(made)}; do dsmctl region destroy $name || exit; done")


def ids_of_regions_are_not_used_again(c):
    """Also by a node that joined when a region was gone, and coordinates now: others may know of pages of that one."""
    first, second = living(c)

    def made_by(node):
        name = make_region(c, "1M", nodes=[node])
        listed = json.loads(node.check(["dsmctl", "region", "list", "--json"]).out)
        node.wait_for(["dsmctl", "region", "destroy", name], CALL_SECONDS)
        return next(r["id"] for r in listed if r["name"] == name)

    leave(second)
    before = made_by(first)
    join_anew(c, second)
    leave(first)
    after = made_by(second)
    join_anew(c, first)
    expect(after > before, f"region {before} is gone, and {after} was made then")


def unload_leaves_nothing_and_load_works_again(c):
    faults = c.unload()
    expect(not faults, "\n".join(faults))
    c.load()
    c.join_all()
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 20, 3], timeout=60)
