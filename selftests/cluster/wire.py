# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of the transport below the protocol: transfers, a device that goes away, a link that is cut for a while.

transfers_* use the transfer test of debug builds of the module (kmod/xfertest.c).
"""
import contextlib
import re
import signal
import time

from ahead import PAGE, show
from scene import (CALL_SECONDS, actors, again, again_on_failure, counters, cut_off, drop_region, expect, join_anew,
                   join_ranks, killed_on_failure, living, make_region, peer, put_device_back, ranks, region, remove_device,
                   start_ranks, status, sums, until, without_device)
from vm import ready
from vm.channel import GuestError

XFER = "/sys/kernel/debug/dsm/xfer"
CUT_SECONDS = 2.0
FLOW = 20	# messages that show that they flow
STARTS = 5
CUTS = 4
FETCHED = 4096	# pages, more than come before a cut
# Pages by READ: what answers them is what cannot be sent when the network is gone.
READS = "home=rr,fetch=read"
# Locks by atomics; pages whose directory is changed by atomics, with such locks and without.
ATOMIC_POLICIES = ("home=rr,sync=rdma", "preset=csm-ms,home=rr", "preset=csm-ms,home=rr,sync=msg")
PULLED_SECONDS = 1.0
READY_TO_USE = 0x14	# attribute id of the connection manager's last packet
CONNECTIONS = 4	# of two nodes
WRONG_MAC = "02:00:00:00:99:99"	# nobody's


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
    try:
        outcome = xfer(a, f"bad {ids[1]} {offer(b, a, 16)}")
        expect(outcome.startswith("status -112, 1 of 1"), f"READ beyond the offer: {outcome}")
        for one, other in ((a, ids[1]), (b, ids[0])):
            until(lambda one=one, other=other: peer(one, other)["state"] == "lost",
                  f"{one.name} still has node {other}")
        xfer(b, "free")
    finally:
        again(c, b)


def check_no_rnr(c):
    """Credits see to it that a receive slot is always posted."""
    for node in living(c):
        expect(not ready.missed(node), f"{node.name} met {ready.missed(node)} receivers that were not ready")


def check_cm(c):
    """Queue pair 1, over which connections are made, is in order."""
    for node in living(c):
        said = node.check(["rdma", "res", "show", "qp"]).out
        states = [line for line in said.splitlines() if " type GSI " in line]
        expect(states and all(" state RTS " in line for line in states), f"{node.name}: {states or said}")


def wait_busy(c, jobs):
    """Wait until messages flow again everywhere, or all programs have ended."""
    before = {n: counters(n)["msgs_received"] for n in living(c)}
    until(lambda: all(j.done() for j in jobs) or
          all(counters(n)["msgs_received"] >= count + FLOW for n, count in before.items()),
          "no messages flow")


def a_link_cut_for_two_seconds(c):
    """Programs on both sides of the cut go on afterwards, with all that they wrote."""
    through_a_cut(c, living(c)[-1].cut, living(c)[-1].join, CUT_SECONDS)


def a_cable_pulled_for_a_second(c):
    """The device fails at once instead of trying again: connections are made anew."""
    pull_and_put_back(c, living(c)[-1])


def the_other_cable_pulled_for_a_second(c):
    """The same at the node that was connected to: it cannot connect, and has to remind the other."""
    pull_and_put_back(c, living(c)[0])


def last_words_of_connections_are_lost(c):
    """Of each connection the packet by which the node that was connected to learns that it stands: messages say as much."""
    def lose(count):
        c.switch_command(f"lose {READY_TO_USE:#x} {count}")

    try:
        lose(CONNECTIONS)
        again(c, living(c)[-1])
        expect(c.switch_ask("left") == "0", "no such packets when a node joins")
        lose(CONNECTIONS)
        change_neighbour(c, living(c)[-1], living(c)[0])
        expect(c.switch_ask("left") == "0", "no such packets when connections are made anew")
    finally:
        lose(0)


def set_neighbour(node, other, mac, state):
    """What the kernel of a node takes for the hardware address of another one, and how sure it is."""
    node.check(["ip", "neigh", "replace", other.address, "dev", "eth0", "nud", state, "lladdr", mac])


def mac_of(node):
    """Hardware address."""
    return node.read("/sys/class/net/eth0/address").strip()


@contextlib.contextmanager
def sending_fails_without_carrier(c, node):
    """While the cable of a node is out, sending fails: its neighbours are entered by hand, and the kernel keeps them.

    Otherwise it forgets them some 15 ms later, and what is sent then is lost in silence: it is chance whether anybody sends
    in time, and connections may outlive the pull. Yields no steps for a pull.
    """
    others = [other for other in living(c) if other is not node]
    for other in others:
        set_neighbour(node, other, mac_of(other), "permanent")
    try:
        yield ()
    finally:
        for other in others:
            set_neighbour(node, other, mac_of(other), "reachable")


@contextlib.contextmanager
def neighbour_that_changes(node, other):
    """Yields (down, up): the kernel of a node takes another hardware address for another node's, and then the right one."""
    mac = mac_of(other)
    try:
        yield (lambda: set_neighbour(node, other, WRONG_MAC, "reachable"),
               lambda: set_neighbour(node, other, mac, "reachable"))
    finally:
        set_neighbour(node, other, mac, "reachable")


def pull_and_put_back(c, node, policy="home=rr"):
    """The cable of a node, below a program: as kernels are set up, and then so that connections break by it.

    soft-RoCE of 6.12 fails when it cannot send. That of 6.1 tries again, as if packets were lost on their way, until long after the
    peer is given up: there who connected is told of a neighbour that changes while the cable is out, and makes the connection anew.
    """
    def pull(also_down=lambda: None, also_up=lambda: None):
        def down():
            node.carrier(False)
            also_down()

        def up():
            node.carrier(True)
            also_up()

        through_a_cut(c, down, up, PULLED_SECONDS, policy, node)

    pull()
    before = sums(c)["resumes"]
    tries_again = c.kernel.release.startswith("6.1.")
    first, last = living(c)[0], living(c)[-1]
    with (neighbour_that_changes(last, first) if tries_again else sending_fails_without_carrier(c, node)) as steps:
        pull(*steps)
    expect(sums(c)["resumes"] > before, f"{policy}: a cable was pulled, and no connection was made anew")


@contextlib.contextmanager
def interface_down(node):
    """A node can send nothing at all in the block."""
    node.check(["ip", "link", "set", "eth0", "down"])
    try:
        yield
    finally:
        node.check(["ip", "link", "set", "eth0", "up"])


def an_interface_down_for_a_second(c):
    """Nothing can be sent at all, not even to the node itself."""
    def switch(node, how):
        node.check(["ip", "link", "set", "eth0", how])

    for policy in ("home=rr", READS, ATOMIC_POLICIES[0]):
        for node in (living(c)[0], living(c)[-1]):
            through_a_cut(c, lambda node=node: switch(node, "down"), lambda node=node: switch(node, "up"),
                          PULLED_SECONDS, policy, node)


def an_interface_down_for_long(c):
    """The nodes part, and can be connected again when it is up."""
    node = living(c)[-1]
    try:
        with region(c, "1M", "home=rr") as name, \
                killed_on_failure(start_ranks(c, ["counter", name, 2, 100000, 3])) as jobs:
            wait_busy(c, jobs)
            pairs = pairs_of(c)
            with unable_to_send(node, "home=rr"), interface_down(node):
                for n, ident in pairs:
                    until(lambda n=n, ident=ident: peer(n, ident)["state"] == "lost", f"{n.name} still has node {ident}")
                end_without(c, jobs, "peer")
    finally:
        again(c, node)
    check_cm(c)


def leaves_while_its_interface_is_down(c):
    """What changes words of its own by atomics cannot be sent then either, and keeps nobody who leaves."""
    node = living(c)[-1]
    try:
        with region(c, "1M", ATOMIC_POLICIES[0]) as name, \
                killed_on_failure(start_ranks(c, ["counter", name, 2, 100000, 3])) as jobs:
            wait_busy(c, jobs)
            pairs = pairs_of(c)
            with unable_to_send(node, ATOMIC_POLICIES[0]), interface_down(node):
                for n, ident in pairs:
                    until(lambda n=n, ident=ident: peer(n, ident)["state"] == "lost", f"{n.name} still has node {ident}")
                for job in jobs:
                    job.signal(signal.SIGKILL)
                    job.wait(CALL_SECONDS * c.slowness)
                node.check(["dsmctl", "leave", "--force"], timeout=CALL_SECONDS * c.slowness)
    finally:
        # soft-RoCE's queue pair 1 does not get over that (Documentation/testing.rst): the node needs another device.
        remove_device(node)
        put_device_back(node)
        join_anew(c, node)
    check_cm(c)


def change_neighbour(c, node, other):
    """A neighbour changes below a program."""
    with neighbour_that_changes(node, other) as (down, up):
        through_a_cut(c, down, up, 0)


def a_neighbour_that_changes(c):
    """Who connected is told, and does so again."""
    first, last = living(c)[0], living(c)[-1]
    resumed = sums(c)["resumes"]
    change_neighbour(c, last, first)
    expect(sums(c)["resumes"] > resumed, f"{last.name}: no connection was made anew")
    # rdma_cm tells those only who resolved the address.
    change_neighbour(c, first, last)


def a_link_cut_below_fetches(c):
    """Pages and the requests behind them are under way when frames are lost: all come."""
    home, other = living(c)[0], living(c)[-1]
    pairs = pairs_of(c)
    for _ in range(CUTS):
        with again_on_failure(c, other), region(c, f"{FETCHED * PAGE}", "home=first-touch") as name, \
                actors(name, home, other) as (at_home, reader):
            show(at_home, reader, FETCHED, 1)
            flow = counters(other)["msgs_received"] + FLOW
            reading = reader.begin("verify", 0, FETCHED, PAGE, 1)
            until(lambda flow=flow: counters(other)["msgs_received"] >= flow, "no messages flow")
            expect(reader.pending(reading), "the pages came before the cut")
            with cut_off(other):
                time.sleep(CUT_SECONDS)	# what is tested
            reader.finish(reading, 0, "verify")
    for n, ident in pairs:
        now = peer(n, ident)["state"]
        expect(now == "up", f"{n.name}: node {ident} is {now}")
    check_no_rnr(c)


def a_link_cut_below_atomics(c):
    """Every atomic comes back."""
    for policy in ATOMIC_POLICIES:
        through_a_cut(c, living(c)[-1].cut, living(c)[-1].join, CUT_SECONDS, policy)


def a_cable_pulled_below_atomics(c):
    """What atomics that were under way did is found out when connections stand again."""
    for node in (living(c)[0], living(c)[-1]):
        for policy in ATOMIC_POLICIES:
            pull_and_put_back(c, node, policy)


def pairs_of(c):
    """(node, id of another one) for all."""
    idents = {n: status(n)["node"] for n in living(c)}
    return [(n, ident) for n in living(c) for other, ident in idents.items() if other is not n]


def end_without(c, jobs, what):
    """Programs that need something that is gone end, and not all of them well."""
    for job in jobs:
        try:
            job.wait(CALL_SECONDS * c.slowness)
        except GuestError as e:
            raise AssertionError(f"a program hangs without its {what}: {e}") from e
    expect(any(job.status for job in jobs), f"all programs ended well without a {what}")


@contextlib.contextmanager
def unable_to_send(node, policy):
    """The interface of a node takes no packets for a time; None: that of all nodes does."""
    if not node:
        yield
        return
    with ready.unable_to_send(node) as unsent:
        yield
    if unsent[0]:
        print(f"# {policy}: {node.name} could not send {unsent[0]} answers to READs", flush=True)


def through_a_cut(c, down, up, seconds, policy="home=rr", silent=None):
    """A node is without a link for a while; nobody is lost. silent: the node, if it knows that and cannot send."""
    with again_on_failure(c, living(c)[-1]):
        _work_through(c, down, up, seconds, policy, silent)


def _work_through(c, down, up, seconds, policy, silent):
    """Programs go on with all that they wrote."""
    pairs = pairs_of(c)
    # While a lock's token stays at one node the programs get far; then they are no use here, and others do more.
    for start in range(STARTS):
        before = sums(c)["xfer_atomics"]
        name = make_region(c, "1M", *policy.split(","))
        jobs = start_ranks(c, ["counter", name, 2, 2000 << start, 3])
        wait_busy(c, jobs)
        if policy in ATOMIC_POLICIES:
            until(lambda: sums(c)["xfer_atomics"] > before, f"{policy}: no atomics")
        if not any(j.done() for j in jobs):
            break
        join_ranks(c, jobs, 120)
        drop_region(c, name)
    expect(not any(j.done() for j in jobs), f"the programs ended before the cut {STARTS} times")
    with killed_on_failure(jobs), unable_to_send(silent, policy):
        try:
            down()
            time.sleep(seconds)	# what is tested
        finally:
            up()
        wait_busy(c, jobs)
    join_ranks(c, jobs, 120)
    for n, ident in pairs:
        now = peer(n, ident)["state"]
        expect(now == "up", f"{policy}: {n.name}: node {ident} is {now}")
    drop_region(c, name)
    check_no_rnr(c)
    check_cm(c)


def device_removed_under_load(c):
    """The RDMA device goes away below running programs: they fail, and all can be made anew."""
    *rest, node = living(c)
    with region(c, "1M", "home=rr") as name, contextlib.ExitStack() as device:
        with actors(name, node, rest[0]) as (a, b):
            a.want(0, "lock", 1)
            b.want(0, "write", 64, 5)
            with killed_on_failure(start_ranks(c, ["counter", name, 2, 100000, 3])) as jobs:
                wait_busy(c, jobs)
                check_no_rnr(c)	# its counters go as well
                device.enter_context(without_device(node, rest[0]))
                end_without(c, jobs, "device")
            expect(b.call("lock", 1) < 0, "a lock of a node without device was taken")
            expect("RDMA device rxe0 is removed" in node.dmesg(), "the log does not say it")
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 20, 4])
