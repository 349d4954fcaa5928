# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of regions with sync=rdma: locks by atomics, all nodes living, and one lost at the end."""
import contextlib
import errno

import work
from ahead import show
from loss import killed_during_a_barrier, work_goes_on
from scene import (CALL_SECONDS, SIGBUS, actors, bound, check_loss_is_reported, counters, drop_region, expect, living,
                   make_region, name_of, ranks, region, sent, sums, until, without_device)
from tree import meet, parties_of_a_chain_change
from vm import clock

EPISODES = 200
PAGE, CHUNK = 4096, 512		# the latter in pages
KEYS_BESIDE = 8		# some have their word at the node whose pages come
KILLED_KEYS = 6		# of each region, whose words are among the next one's first


def rdma_counters_under_locks(c):
    """8 threads in each of 2 processes per node."""
    before = [counters(n) for n in c.nodes]
    with region(c, "1M", "sync=rdma,home=rr") as name:
        ranks(c, ["counter", name, 8, 100, 6], ppn=2, timeout=120)
    with region(c, "1M", "preset=hlrc-rdma") as name:
        ranks(c, ["counter", name, 2, 100, 1], ppn=1, timeout=120)
    for x, y in zip(before, [counters(n) for n in c.nodes]):
        expect(y["locks_remote"] > x["locks_remote"], "no lock came from elsewhere")


def rdma_locks_send_no_message(c):
    """A lock that is free takes atomics only, from each key's second time on."""
    nodes, rounds = living(c), 50
    with region(c, "1M", "sync=rdma") as name, actors(name, *nodes[:2]) as (a, b):
        for _ in range(2):
            for key in range(4):
                for x in (a, b):
                    x.want(0, "lock", key)
                    x.want(0, "unlock", key)
        before, messages = sums(c)["xfer_atomics"], sum(sent(nodes))
        for _ in range(rounds):
            for x in (a, b):
                for key in range(4):
                    x.want(0, "lock", key)
                    x.want(0, "unlock", key)
        locks = 2 * 4 * rounds
        more, atomics = sum(sent(nodes)) - messages, sums(c)["xfer_atomics"] - before
        expect(not more, f"{more} messages for {locks} locks")
        expect(atomics >= locks, f"{atomics} atomics for {locks} locks")


def rdma_lock_calls(c, policy="sync=rdma"):
    """Try, timed, interrupted, and all refusals; keys with managers on all sides."""
    two = (c.nodes[0], c.nodes[1], c.nodes[0])
    with region(c, "1M", policy) as name, actors(name, *two) as (a, b, sibling):
        for key in range(6):
            a.want(0, "lock", key)
            b.want(-errno.EBUSY, "trylock", key)
            sibling.want(-errno.EBUSY, "trylock", key)
            _, ms = b.want(-errno.ETIMEDOUT, "timedlock", key, 200)
            expect(ms >= 195, f"a timed lock of 200 ms was given up after {ms} ms")
            a.want(-errno.EDEADLK, "lock", key)
            b.want(-errno.EPERM, "unlock", key)
            sibling.want(-errno.EPERM, "unlock", key)
            a.want(-errno.EINVAL, "consistent", key)
            number = b.begin_blocked("dsm_node_lock", "lock", key)
            expect(b.interrupt(number) == -errno.EINTR, "an interrupted lock call")
            a.want(0, "unlock", key)
            a.want(-errno.EPERM, "unlock", key)
            # It went to b's node, where nobody waits any more: that node lets it go.
            a.want(0, "timedlock", key, 20000)
            a.want(0, "unlock", key)
            b.want(0, "timedlock", key, 20000)
            sibling.want(-errno.EBUSY, "trylock", key)
            b.want(0, "unlock", key)
            sibling.want(0, "timedlock", key, 20000)
            sibling.want(0, "unlock", key)
            sibling.want(0, "trylock", key)
            sibling.want(0, "unlock", key)


def rdma_locks_bring_data(c, policy="sync=rdma"):
    """Each node in turn, without and with somebody waiting, sees what the last one wrote."""
    with region(c, "1M", policy) as name, actors(name, *c.nodes) as players:
        value = 0
        for turn in range(4 * len(players)):
            x, y = players[turn % len(players)], players[(turn + 1) % len(players)]
            for key in range(3):
                x.want(0, "lock", key)
                x.read(4096 * key, value)
                waiting = y.begin_blocked("dsm_node_lock", "lock", key) if turn % 2 else None
                x.want(0, "write", 4096 * key, value + 1)
                x.want(0, "unlock", key)
                if waiting:
                    y.finish(waiting, 0, "lock in its turn")
                    y.read(4096 * key, value + 1)
                    y.want(0, "unlock", key)
            value += 1


def rdma_killed_holding_a_lock(c, policy="sync=rdma"):
    """The next taker gets EOWNERDEAD, and what the dead process wrote."""
    with region(c, "1M", policy) as name:
        for key in range(4):
            with actors(name, c.nodes[0], c.nodes[1], c.nodes[-1], c.nodes[0]) as (a, b, z, s):
                b.want(0, "lock", key)
                b.want(0, "write", 64, 500 + key)
                if key % 2:
                    b.kill()
                    a.want(-errno.EOWNERDEAD, "lock", key)
                else:
                    waiting = a.begin_blocked("dsm_node_lock", "lock", key)
                    b.kill()
                    a.finish(waiting, -errno.EOWNERDEAD, "lock of a killed process")
                a.read(64, 500 + key)
                a.want(0, "unlock", key)
                # Not marked consistent: the next one is told too.
                z.want(-errno.EOWNERDEAD, "lock", key)
                z.want(0, "unlock", key)
                s.want(-errno.EOWNERDEAD, "lock", key)
                s.want(0, "consistent", key)
                s.want(-errno.EINVAL, "consistent", key)
                s.want(0, "unlock", key)
                a.want(0, "lock", key)
                a.want(0, "unlock", key)


def rdma_locks_go_before_pages(c):
    """What a hint asked for does not hold up a lock: atomics go before READs that wait for the device. All pages come."""
    home, asker = c.nodes[:2]
    pages, tries = 1024, 10
    with region(c, "24M", "home=block,fetch=read,sync=rdma,around=off") as name, actors(name, home, asker) as (a, b):
        for key in range(KEYS_BESIDE):
            b.want(0, "lock", key)
            b.want(0, "unlock", key)
        for turn in range(tries):
            chunks = counters(home)["chunks"]
            show(a, b, pages, 1000 * turn)
            if not turn:
                until(lambda: counters(home)["chunks"] >= chunks + pages // CHUNK, "the home registers nothing")
                for first in range(0, pages, CHUNK):
                    b.read(first * PAGE, first)	# by message: its answer has the key
            before = counters(asker)["xfers_first"]
            b.want(0, "prefetch", 0, pages * PAGE)
            for key in range(KEYS_BESIDE):
                b.want(0, "lock", key)
                b.want(0, "unlock", key)
            b.want(0, "verify", 0, pages, PAGE, 1000 * turn)
            if counters(asker)["xfers_first"] > before:
                return
    raise AssertionError(f"{tries} times no atomic of {KEYS_BESIDE} locks went before a READ")


def rdma_regions_come_and_go(c, policy="sync=rdma", keys=20, turns=6):
    """Words are given back: their next keys begin as new ones, also where the last one's holder was killed."""
    count = len(c.nodes)
    for turn in range(1, turns + 1):
        with region(c, "64K", policy) as name, actors(name, *c.nodes) as players:
            calls = [(x, x.begin("lock_each", first, keys // count, count)) for first, x in enumerate(players)]
            for x, number in calls:
                x.finish(number, 0, f"its share of {keys} locks of region {turn}")
            for key in range(KILLED_KEYS):
                one, other = (players[(key + turn + more) % count] for more in range(2))
                one.want(0, "lock", key)
                one.want(0, "write", 8 * key, turn)
                one.want(0, "unlock", key)
                # It is killed with it at the end of the block.
                other.want(0, "lock", key)
                other.read(8 * key, turn)


def _node_joins_later(c, policy):
    """It takes over a region of that kind, and has locks and data of it; then it leaves again, and they stay, also for who waits."""
    first, other, last = c.nodes[:3]
    last.check(["dsmctl", "leave", "--force"])
    with region(c, "1M", policy, nodes=[first, other]) as name:
        with actors(name, first, other) as (a, b):
            for key in range(6):
                a.want(0, "lock", key)
                a.want(0, "write", 4096 * key, 30 + key)
                a.want(0, "unlock", key)
            for turn in range(2):
                last.check(["dsmctl", "join", "--listen", last.address, "--seed", first.address])
                last.wait_for(["test", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
                with actors(name, last) as (z,):
                    for key in range(6):
                        b.want(0, "lock", key)
                        waiting = z.begin_blocked("dsm_node_lock", "lock", key)
                        b.want(0, "unlock", key)
                        z.finish(waiting, 0, "lock of a node that joined later")
                        z.read(4096 * key, 30 + key + turn)
                        z.want(0, "write", 4096 * key, 31 + key + turn)
                        z.want(0, "unlock", key)
                for key in range(6):
                    a.want(0, "lock", key, thread=key)
                waits = [b.begin_blocked("dsm_node_lock", "lock", key, thread=key) for key in range(6)]
                last.wait_for(["dsmctl", "leave"], CALL_SECONDS)
                for key, waiting in enumerate(waits):
                    a.want(0, "unlock", key, thread=key)
                    b.finish(waiting, 0, "lock that a node which left had used")
                    b.want(0, "unlock", key, thread=key)
            for key in range(6):
                b.want(0, "lock", key)
                b.read(4096 * key, 32 + key)
                b.want(0, "unlock", key)
    last.check(["dsmctl", "join", "--listen", last.address, "--seed", first.address])


def node_joins_later(c):
    _node_joins_later(c, "home=rr")


def rdma_node_joins_later(c):
    _node_joins_later(c, "sync=rdma,home=rr")


def rdma_device_removed(c):
    """Its connection with itself goes as well; what waits for its words fails, of pages too, and it can join anew."""
    *rest, node = living(c)
    words = "consistency=cashmere,metadata=rdma,home=rr"
    with region(c, "1M", "sync=rdma,home=rr") as name, region(c, "1M", words) as paged, contextlib.ExitStack() as device:
        with actors(name, node, rest[0]) as (a, b), actors(paged, node) as (p,):
            p.want(0, "write", 0, 1)
            for key in range(6):
                a.want(0, "lock", key)
            waits = [b.begin("lock", key, thread=key) for key in range(6)]
            b.blocked("dsm_node_lock")
            b.settle()
            since = clock.now()
            device.enter_context(without_device(node, rest[0]))
            for number in waits:
                b.finish(number, -errno.EHOSTDOWN, "lock of a node without device", bound(c, since))
            for key in range(6):
                a.want(0, "unlock", key)
                expect(a.call("lock", 10 + key) == -errno.EHOSTDOWN, "a lock without a device")
            got = {page: p.call("write", PAGE * page, 1) for page in range(1, 33)}
            expect(all(ret == SIGBUS for ret in got.values()), f"pages whose words nobody can reach: {got}")
    with region(c, "1M", "sync=rdma,home=rr") as name:
        ranks(c, ["counter", name, 2, 20, 4])


def rdma_node_killed_in_queues(c, policy="sync=rdma"):
    """It held what others wait for; it stood between two others; it was the last holder, or only a former one."""
    *rest, victim = living(c)
    name = make_region(c, "1M", policy)
    with actors(name, *rest) as others, actors(name, victim) as (v,):
        a, b = others[0], others[-1]
        held, between, former, last = range(4), range(10, 14), range(20, 24), range(30, 40)
        for key in (*former, *last):
            v.want(0, "lock", key)
            v.want(0, "unlock", key)
        for key in former:
            a.want(0, "lock", key)
            a.want(0, "unlock", key)
        for key in held:
            v.want(0, "lock", key)
        waits = [(x, x.begin("lock", key, thread=key)) for x in others for key in held]
        for key in between:
            a.want(0, "lock", key, thread=9)
            v.begin("lock", key, thread=key - 9)
        for x in (*others, v):
            x.blocked("dsm_node_lock")
            x.settle()
        behind = [b.begin("lock", key, thread=key - 5) for key in between] if b is not a else []
        b.blocked("dsm_node_lock")
        b.settle()
        since = clock.now()
        victim.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "lock held by a dead node", bound(c, since))
        for number in behind:
            b.finish(number, -errno.EHOSTDOWN, "lock behind a dead node", bound(c, since))
        check_loss_is_reported(c, rest, v.id)
        for key in between:
            a.want(0, "unlock", key, thread=9)

        def taken(keys):
            """How many of them, by two nodes, whose manager has not died: the others are at an end."""
            good = 0
            for key in keys:
                for x in (b, a):
                    got = x.call("lock", key)
                    expect(got in (0, -errno.EHOSTDOWN), f"lock {key} after the loss: {name_of(got)}")
                    if not got:
                        x.want(0, "unlock", key)
                        good += 1
            return good

        expect(taken((*between, *former)), "no lock at all survived")
        expect(taken(last), "no lock that the dead node had last")
    drop_region(c, name)
    work_goes_on(c)


def letters(nodes):
    """What was sent of barriers and flags of such regions: (letters, messages) in all."""
    all_of = [counters(n) for n in nodes]
    return sum(x["letters"] for x in all_of), sum(x["letters_by_message"] for x in all_of)


def rdma_barriers_send_no_message(c):
    """One letter up and one down for each node but the manager's, of any number of threads."""
    nodes = living(c)
    with region(c, "1M", "sync=rdma") as name, actors(name, *nodes) as parties:
        for key in range(4):
            meet(parties, key, 5)
            written, by_message = letters(nodes)
            messages = sent(nodes)
            meet(parties, key, EPISODES)
            more = [m - old for m, old in zip(sent(nodes), messages)]
            now = letters(nodes)
            want = 2 * (len(nodes) - 1) * EPISODES
            expect(now == (written + want, by_message),
                   f"{EPISODES} barriers: {now[0] - written} letters, not {want}, and "
                   f"{now[1] - by_message} messages")
            expect(not any(more), f"messages of {EPISODES} barriers by node: {more}")


def rdma_flags_send_no_message(c):
    """A letter asks and one answers; so many waiters that places run out go by message."""
    nodes = living(c)
    with region(c, "1M", "sync=rdma") as name, actors(name, *nodes) as players:
        written, by_message = letters(nodes)
        for key in range(12):
            for x in players:
                x.want(0, "clear", key)
        now = letters(nodes)
        expect(now[0] > written and now[1] == by_message,
               f"{now[0] - written} letters, {now[1] - by_message} messages")
        waits = [(x, x.begin("await", 70, thread=t)) for x in players for t in range(12)]
        for x in players:
            x.blocked("flag_op")
            x.settle()
        players[0].want(0, "write", 64, 4711, thread=14)
        players[0].want(0, "set", 70, thread=14)
        for x, number in waits:
            x.finish(number, 0, "flag wait")
            x.read(64, 4711)


def rdma_barriers_and_flags(c):
    """All that holds for messages."""
    work.barriers_whole_subsets_several_keys(c, "home=rr,sync=rdma")
    work.barriers_with_wrong_party_counts(c, "sync=rdma")
    work.a_signal_does_not_end_a_barrier(c, "sync=rdma")
    work.flags(c, "sync=rdma")
    work.killed_inside_a_barrier(c, "sync=rdma")


def rdma_parties_of_a_chain_change(c):
    """Reports go through other nodes, as letters."""
    parties_of_a_chain_change(c, "sync=rdma")


def rdma_killed_during_a_barrier(c):
    """A node that has arrived, and one that is missing."""
    killed_during_a_barrier(c, "sync=rdma")


ARRAY = "sync=rdma,algo=array,home=rr"
ARRAYS = 1024	# DSM_ARRAYS: locks of this kind that a node manages at most


def array_locks(c):
    """All that holds for queue locks, but for the order of turns; every node gets its turns."""
    with region(c, "1M", ARRAY) as name:
        ranks(c, ["counter", name, 4, 60, 3], ppn=2, timeout=180)
    rdma_lock_calls(c, ARRAY)
    rdma_locks_bring_data(c, ARRAY)
    rdma_killed_holding_a_lock(c, ARRAY)
    # More keys than there are arrays, of which a region has no more than a fifth.
    rdma_regions_come_and_go(c, ARRAY, keys=ARRAYS * len(c.nodes) // 5, turns=6)
    work.barriers_whole_subsets_several_keys(c, ARRAY)


def array_locks_send_no_message(c):
    """A lock that is free takes WRITEs and READs only, no atomics, and its return WRITEs."""
    nodes = living(c)
    with region(c, "1M", ARRAY) as name, actors(name, *nodes[:2]) as (a, b):
        for key in range(4):
            for x in (a, b):
                x.want(0, "lock", key)
                x.want(0, "unlock", key)
        before, messages = [counters(n) for n in nodes], sent(nodes)
        rounds = 50
        for _ in range(rounds):
            for x in (a, b):
                for key in range(4):
                    x.want(0, "lock", key)
                    x.want(0, "unlock", key)
        after = [counters(n) for n in nodes]

        def grown(word):
            return sum(y[word] - x[word] for x, y in zip(before, after))
        others = len(nodes) - 1
        locks = 2 * 4 * rounds
        expect(grown("xfer_atomics") == 0, f"{grown('xfer_atomics')} atomics")
        # Each lock comes from the other node, whose board is read. One whose return is still on
        # its way is tried again.
        for word, want in (("xfer_writes", 2 * others * locks), ("xfer_reads", (others + 1) * locks)):
            expect(want <= grown(word) < 1.5 * want, f"{word}: {grown(word)}, not {want}")
        more = sum(sent(nodes)) - sum(messages)
        expect(not more, f"{more} messages for {locks} locks")


def array_refusals(c):
    """By name and with the reason: without sync=rdma, and at a node that comes too late."""
    first, other, last = living(c)[:3]
    r = first.run(["dsmctl", "region", "create", "array", "1M", "algo=array"])
    expect(r.status and "algo=array needs sync=rdma" in r.err, f"algo=array with sync=msg: {r}")
    last.check(["dsmctl", "leave", "--force"])
    with region(c, "1M", ARRAY, nodes=[first, other]) as name:
        with actors(name, first, other) as (a, b):
            a.want(0, "lock", 1)
            last.check(["dsmctl", "join", "--listen", last.address, "--seed", first.address])
            last.wait_for(["test", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
            r = last.run(["sh", "-c", f"exec 3<>/dev/dsm-{name}"])
            expect(r.status, f"a node that came too late opened the region: {r}")
            expect("only nodes that were there when it was created" in last.dmesg(), "no reason in the log")
            b.want(-errno.EBUSY, "trylock", 1)
            a.want(0, "unlock", 1)
            b.want(0, "timedlock", 1, 20000)
            b.want(0, "unlock", 1)


def array_node_killed(c):
    """What a lost node had fails; what it did not want goes on; who pauses hears of it."""
    *rest, victim = living(c)
    with region(c, "1M", "sync=rdma,algo=array") as name, actors(name, *rest) as others, \
            actors(name, victim) as (v,):
        held, free = range(4), range(10, 14)
        for key in free:
            v.want(0, "lock", key)
            v.want(0, "write", 64 * key, key)
            v.want(0, "unlock", key)
            others[0].want(0, "lock", key)
            others[0].want(0, "unlock", key)
        for key in held:
            v.want(0, "lock", key)
        waits = [(x, x.begin("lock", key, thread=key)) for x in others for key in held]
        for x in others:
            x.blocked("dsm_node_lock")
        since = clock.now()
        victim.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "array lock held by a dead node", bound(c, since))
        check_loss_is_reported(c, rest, v.id)
        good = 0
        for key in free:
            for x in others:
                got = x.call("lock", key)
                expect(got in (0, -errno.EHOSTDOWN), f"lock {key} after the loss: {name_of(got)}")
                if not got:
                    x.want(0, "unlock", key)
                    good += 1
        expect(good, "no array lock at all survived")
    work_goes_on(c)
