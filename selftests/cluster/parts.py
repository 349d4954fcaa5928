# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Several nodes of one kernel (nodes=N): what clusters of guests do, with three nodes in one guest.

A Part is one of a guest's nodes. Tests that were written for clusters run with the parts as nodes: programs are told
by DSM_LOCAL_NODE, and device files named in their words are those of the part.
"""
import re

import bcast
import litmus
import level
import plain
import work
from scene import CALL_SECONDS, actors, counters, expect, region, status
from vm.cluster import Node

COUNT = 3
OPTIONS = {"nodes": 1, "cpus": 2, "mem": "1536M", "join": False, "peer_timeout_ms": 6000,
           "module_args": [f"nodes={COUNT}", *bcast.PATIENT["module_args"]]}


class Part:
    """A node of a guest, in the place of a guest with one node."""

    def __init__(self, node, index):
        self.node, self.index = node, index
        self.name = f"{node.name}, its node {index}"

    def __getattr__(self, what):
        return getattr(self.node, what)

    def path(self, text):
        """The same with its device files."""
        return re.sub(r"/dev/dsm\b(?!\.)", f"/dev/dsm.{self.index}", text) if self.index else text

    def start(self, argv, env=None, **kw):
        """As a guest's, but for this node."""
        return self.node.start([self.path(str(word)) for word in argv],
                               env={**(env or {}), "DSM_LOCAL_NODE": self.index}, **kw)

    run, check, sh, wait_for = Node.run, Node.check, Node.sh, Node.wait_for


class Parts:
    """A guest's nodes as a cluster."""

    def __init__(self, c, count=COUNT):
        self.whole = c
        self.nodes = [Part(c.nodes[0], k) for k in range(count)]
        self.count = count

    def __getattr__(self, what):
        return getattr(self.whole, what)


def over(test):
    """A cluster's test, over the nodes of one kernel."""
    def run(c):
        test(Parts(c))
    run.__name__ = f"parts_{test.__name__}"
    return run


def all_join(c):
    """Those that have not joined yet."""
    for part in Parts(c).nodes:
        seed = ["--seed", part.address] if part.index else []
        r = part.run(["dsmctl", "join", "--listen", part.address, "--node", str(part.index), *seed])
        expect(not r.status or "already" in r.err, f"{part.name}: {r.err}")


def parts_join(c):
    """A host file that names the machine thrice; then names, numbers and ports are what is promised."""
    node = c.nodes[0]
    node.write(f"{node.address}\n{node.address}\n{node.address}\n".encode(), "/work/hosts")
    said = node.check(["dsmctl", "up", "/work/hosts"]).out
    expect("3 nodes are up" in said, said)
    for k, part in enumerate(Parts(c).nodes):
        mine = status(part)
        expect(mine["members"] == COUNT, f"{part.name}: {mine['members']} members")
        node.check(["test", "-c", part.path("/dev/dsm"), "-a", "-c", part.path("/dev/dsm-heap")])
        where = f"/sys/class/dsm/{part.path('/dev/dsm')[5:]}"
        expect(node.read(f"{where}/node_id").split() == [str(k)], f"{where}/node_id")
        port = node.read(f"{where}/peers/{(k + 1) % COUNT}/addr").split(":")[1]
        expect(int(port) == 18515 + (k + 1) % COUNT, f"node {(k + 1) % COUNT} listens at port {port}")
    said = node.check(["dsmrun", "-n", str(COUNT), "sh", "-c", "echo is $DSM_LOCAL_NODE"]).out
    expect(sorted(re.findall(r"is (\d)", said)) == ["0", "1", "2"], f"dsmrun: {said}")
    refused = node.run(["dsmctl", "--node", "3", "status"])
    expect(refused.status and "/dev/dsm.3" in refused.err, f"a fourth node: {refused.err}")
    refused = node.run(["/work/actor", "heap"], env={"DSM_LOCAL_NODE": "8"})
    expect(refused.status and "DSM_LOCAL_NODE" in refused.err, f"a ninth node: {refused.err}")


def parts_share_by_the_protocol(c):
    """Two processes of one machine, each with a node: what one wrote the other gets by a message, and only then."""
    c = Parts(c)
    first, second = c.nodes[:2]
    with region(c, "1M", "level=1", "home=block", "around=off") as name:
        with actors(name, first, second) as (a, b):
            b.read(0, 0)
            before = [counters(first, name), counters(second, name)]
            for turn in range(1, 6):
                a.want(0, "lock", 7)
                a.want(0, "write", 0, turn)
                b.read(0, turn - 1)
                a.want(0, "unlock", 7)
                b.want(0, "lock", 7)
                b.read(0, turn)
                b.want(0, "unlock", 7)
            waiting = a.begin_blocked("dsm_node_barrier", "barrier", 1, 2)
            b.want(0, "barrier", 1, 2)
            a.finish(waiting, 0, "barrier")
            after = [counters(first, name), counters(second, name)]
            served, got = (after[0]["fetches_served"] - before[0]["fetches_served"],
                           after[1]["page_transfers"] + after[1]["page_reads"] -
                           before[1]["page_transfers"] - before[1]["page_reads"])
            expect(got >= 5, f"{got} pages came in 5 turns ({served} were served)")
            for part in (first, second):
                mine = counters(part)
                expect(mine["barriers"] and mine["locks_remote"] and mine["msgs_received"],
                       f"{part.name} met the other without the protocol")
            other = first.start(["/work/actor", name], stdin=True)
            other.wait(CALL_SECONDS)
            expect(other.status == 1 and "level=1" in other.err, f"a second process of a node: {other.err}")
            # Who is told of no node finds the one that is left.
            with actors(name, c.whole.nodes[0]) as (z,):
                a.want(0, "lock", 7)
                a.want(0, "write", 0, 6)
                a.want(0, "unlock", 7)
                z.want(0, "lock", 7)
                z.read(0, 6)
                z.want(0, "unlock", 7)
                expect(z.id == c.count - 1, f"it became node {z.id}")
                other = c.whole.nodes[0].start(["/work/actor", name], stdin=True)
                other.wait(CALL_SECONDS)
                expect(other.status == 1 and "none is free" in other.err, f"a process more than there are nodes: {other.err}")


def parts_multicast_to_processes(c):
    """csm-adb on one level, as in 000: processes of one machine get what their home multicasts."""
    grown = bcast.rounds(Parts(c), ("preset=csm-adb", "level=1", "home=rr"))
    wanted = (COUNT - 1) * bcast.ROUNDS
    expect(grown["page_transfers"] == wanted, f"{grown['page_transfers']} of {wanted} pages")
    # With two readers the first one's request is answered before anybody can know of the other.
    expect(grown["bcast_pages"] <= bcast.ROUNDS <= grown["bcast_hits"] + grown["bcast_lost"] + 1,
           f"{grown['bcast_hits']} of {grown['bcast_pages']} multicasts were used, {grown['bcast_lost']} lost")


def parts_leave_and_rejoin(c):
    """One of a machine's nodes leaves and comes again while the others go on with a region that it is no home of."""
    c = Parts(c)
    first, second, third = c.nodes
    second.check(["dsmctl", "leave", "--force"])
    with region(c, "1M", "home=block", nodes=[first, third]) as name, actors(name, first, third) as (a, z):
        expect(second.run(["test", "-e", "/dev/dsm-heap"]).status, "its regions are still there")
        for turn in range(3):
            # Other regions count on its former number, so it gets another.
            second.check(["dsmctl", "join", "--listen", second.address, "--seed", second.address])
            expect(status(first)["members"] == COUNT, "it is no member")
            with actors(name, second) as (b,):
                for who, value in ((b, 3 * turn), (a, 3 * turn + 1), (z, 3 * turn + 2)):
                    who.want(0, "lock", 1)
                    who.read(0, value)
                    who.want(0, "write", 0, value + 1)
                    who.want(0, "unlock", 1)
            second.check(["dsmctl", "leave", "--force"])
            first.wait_for(["sh", "-c", "dsmctl status --json | grep -q '\"members\": 2'"], CALL_SECONDS)
            for who in (a, z):
                who.want(0, "lock", 1)
                who.read(0, 3 * turn + 3)
                who.want(0, "unlock", 1)
    second.check(["dsmctl", "join", "--listen", second.address, "--seed", second.address])


def parts_refusals(c):
    """Nodes of a machine cannot share a port."""
    node = c.nodes[0]
    node.check(["dsmctl", "--node", "2", "leave", "--force"])
    refused = node.run(["dsmctl", "--node", "2", "join", "--listen", f"{node.address}:18515", "--seed",
                        node.address])
    expect(refused.status and "in use" in refused.err, f"two nodes listen at one port: {refused.err}")
    node.check(["dsmctl", "--node", "2", "join", "--listen", f"{node.address}:18600", "--seed", node.address])


FEW = (parts_join, all_join, parts_share_by_the_protocol, over(work.killed_holding_a_lock), over(plain.sc_ticket_lock),
       parts_leave_and_rejoin)
DEBUG = (parts_join, all_join, parts_share_by_the_protocol, parts_leave_and_rejoin)
MORE = (over(level.one_process_of_a_node), over(level.children_have_no_part), parts_multicast_to_processes,
        over(work.counters_under_locks), over(work.false_sharing),
        over(work.barriers_whole_subsets_several_keys),
        *(over(test) for test in litmus.tests(3, ("hlrc", "csm-adb", "sc"))),
        parts_refusals)
