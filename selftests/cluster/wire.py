# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of the transport below the protocol: transfers, connections made and closed many times, a
device that goes away, a link that is cut for a while.

transfers_* use the transfer test of debug builds of the module (kmod/xfertest.c).
"""
import re
import time

from scene import (CALL_SECONDS, actors, counters, expect, join_ranks, living, peer, ranks,
                   region, start_ranks, status, until)
from vm.channel import GuestError

XFER = "/sys/kernel/debug/dsm/xfer"
VCS = 4		# connections per pair of nodes
SOAK_CONNECTIONS = 5000
SHORT_CONNECTIONS = 200
CUT_SECONDS = 2.0
PULLED_SECONDS = 1.0


def xfer(node, command, seconds=60):
    """One command of the transfer test; its outcome."""
    node.check(["sh", "-c", f"echo '{command}' > {XFER}"], timeout=seconds * node.cluster.slowness)
    return node.read(XFER).strip()


def offer(node, to, pages):
    """Let a node offer pages over its connection to another; "ADDR RKEY"."""
    m = re.match(r"^key (\S+ \S+)$", xfer(node, f"reg {status(to)['node']} {pages}"))
    expect(m, f"registration failed on {node.name}")
    return m[1]


def transfers_between_two_nodes(c):
    """READ, WRITE, atomics and signals, more than there are credits and room for."""
    a, b = c.nodes[:2]
    ids = [status(n)["node"] for n in (a, b)]
    told = signals(b)
    for pages in (512, 17):
        outcome = xfer(a, f"run {ids[1]} {offer(b, a, pages)} {pages}", 120)
        expect(outcome.startswith("ok "), f"{pages} pages: {outcome}")
    expect(signals(b) == told + 400, f"{signals(b) - told} signals arrived of 400")
    count = 300 if not c.kernel.debug else 60
    outcome = xfer(a, f"burst {ids[1]} {offer(b, a, 16)} {count}", 120)
    expect(outcome.startswith(f"status 0, 0 of {count}"), f"burst: {outcome}")
    xfer(b, "free")
    check_no_rnr(c)


def signals(node):
    """Signals that a node has received."""
    return int(xfer(node, "signals").split()[1])


def transfers_of_a_lost_peer_come_back(c):
    """A key that reaches too far breaks the connection, and what was handed over comes back."""
    a, b = c.nodes[:2]
    ids = [status(n)["node"] for n in (a, b)]
    outcome = xfer(a, f"bad {ids[1]} {offer(b, a, 16)}")
    expect(outcome.startswith("status -112, 1 of 1"), f"READ beyond the offer: {outcome}")
    for one, other in ((a, ids[1]), (b, ids[0])):
        until(lambda one=one, other=other: peer(one, other)["state"] == "lost",
              f"{one.name} still has node {other}")
    xfer(b, "free")
    again(c, b)


def again(c, node):
    """Let a node leave by force and join again."""
    seed = next(n for n in living(c) if n is not node)
    node.check(["dsmctl", "leave", "--force"])
    node.check(["dsmctl", "join", "--listen", node.address, "--seed", seed.address])


def check_no_rnr(c):
    """Credits see to it that a receive slot is always posted."""
    for node in living(c):
        expect(not c.not_ready(node),
               f"{node.name} met {c.not_ready(node)} receivers that were not ready")


def memory_kib(node):
    """Memory that is not available on a node."""
    text = node.read("/proc/meminfo")
    total, free = (int(re.search(rf"^{k}:\s+(\d+)", text, re.M)[1])
                   for k in ("MemTotal", "MemAvailable"))
    return total - free


def objects(node):
    """RDMA objects on a node, in words."""
    return node.check(["rdma", "resource", "show"]).out.strip()


def connect_and_disconnect(c, connections):
    """The last node leaves and joins again until so many connections were made and closed.

    Not after it used a region: its id, which others then count on, would not be given again.
    """
    node = living(c)[-1]
    others = living(c)[:-1]
    ident = status(node)["node"]
    cycle = ["sh", "-ec", "for i in $(seq $0); do dsmctl leave; dsmctl join --listen $1 --seed $2 "
             f"--node {ident} >/dev/null; done"]
    per_cycle = VCS * len(others)
    cycles = -(-connections // per_cycle)
    batch = 20
    node.check([*cycle, "2", node.address, others[0].address], timeout=120 * c.slowness)
    settle(c)
    before = {n: (memory_kib(n), objects(n)) for n in living(c)}
    for first in range(0, cycles, batch):
        node.check([*cycle, str(min(batch, cycles - first)), node.address, others[0].address],
                   timeout=240 * c.slowness)
    settle(c)
    for n, (kib, things) in before.items():
        expect(objects(n) == things, f"{n.name} had {things}, has {objects(n)}")
        more = memory_kib(n) - kib
        # What a cycle could leave behind at least is a queue pair: a page or more.
        expect(more < 4 * cycles + 8192, f"{more} KiB more in use on {n.name} after {cycles} cycles")
    check_no_rnr(c)


def queue_pairs(n):
    """How many there are on a node; -1 if it does not say."""
    m = re.search(r"qp (\d+)", objects(n))
    return int(m[1]) if m else -1


def settle(c):
    """Wait until what was closed last is destroyed too."""
    want = VCS * (len(living(c)) - 1)
    for n in living(c):
        # The connection manager has a queue pair of its own.
        until(lambda n=n: 0 <= queue_pairs(n) <= want + 1, f"{n.name} has more than {want} qp")


def connections_made_and_closed(c):
    """A few hundred."""
    connect_and_disconnect(c, SHORT_CONNECTIONS)


def five_thousand_connections_made_and_closed(c):
    """All that the specification asks for."""
    connect_and_disconnect(c, SOAK_CONNECTIONS)


def wait_busy(c, jobs):
    """Wait until messages flow again everywhere, more than beats, or all programs have ended."""
    before = {n: counters(n)["msgs_received"] for n in living(c)}
    until(lambda: all(j.done() for j in jobs) or
          all(counters(n)["msgs_received"] >= count + 100 for n, count in before.items()),
          "no messages flow")


def a_link_cut_for_two_seconds(c):
    """Programs on both sides of the cut go on afterwards, with all that they wrote."""
    through_a_cut(c, living(c)[-1].cut, living(c)[-1].join, CUT_SECONDS)


def a_cable_pulled_for_a_second(c):
    """The device fails at once instead of trying again: connections are made anew."""
    node = living(c)[-1]
    through_a_cut(c, lambda: node.carrier(False), lambda: node.carrier(True), PULLED_SECONDS)


def the_other_cable_pulled_for_a_second(c):
    """The same at the node that was connected to: it cannot connect, and has to remind the other."""
    node = living(c)[0]
    through_a_cut(c, lambda: node.carrier(False), lambda: node.carrier(True), PULLED_SECONDS)


def through_a_cut(c, down, up, seconds):
    """A node is without a link for a while; nobody is lost."""
    states = {n: status(n)["nodes"] for n in living(c)}
    with region(c, "1M", "home=rr") as name:
        jobs = start_ranks(c, ["counter", name, 2, 2000, 3])
        wait_busy(c, jobs)
        down()
        time.sleep(seconds)	# what is tested
        up()
        wait_busy(c, jobs)
        join_ranks(c, jobs, 120)
    for n in living(c):
        for was in states[n]:
            now = peer(n, was["node"])
            expect(now["state"] == was["state"],
                   f"{n.name}: node {was['node']} was {was['state']}, is {now['state']}")
    check_no_rnr(c)


def device_removed_under_load(c):
    """The RDMA device goes away below running programs: they fail, and all can be made anew."""
    *rest, node = living(c)
    with region(c, "1M", "home=rr") as name:
        with actors(name, node, rest[0]) as (a, b):
            a.want(0, "lock", 1)
            b.want(0, "write", 64, 5)
            jobs = start_ranks(c, ["counter", name, 2, 100000, 3])
            wait_busy(c, jobs)
            node.check(["rdma", "link", "delete", "rxe0"], timeout=60 * c.slowness)
            for job in jobs:
                try:
                    job.wait(CALL_SECONDS * c.slowness)
                except GuestError as e:
                    raise AssertionError(f"a program hangs without its device: {e}") from e
            expect(any(job.status for job in jobs), "all programs ended well without a device")
            expect(b.call("lock", 1) < 0, "a lock of a node without device was taken")
            expect("RDMA device rxe0 is removed" in node.dmesg(), "the log does not say it")
        node.check(["dsmctl", "leave", "--force"])
        node.check(["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0"])
        node.check(["dsmctl", "join", "--listen", node.address, "--seed", rest[0].address])
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 20, 4])
