# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Connections made and closed many times: nothing of them is left.

Four things are looked at, on every machine, before and after: RDMA objects and the areas of vmalloc() that modules
have, which must be the same; slab objects of every cache, of the module's own exactly as many; and pages that are
neither free nor of a kind that the kernel names. One of them left behind by each connection is more than what is
allowed for the rest of the kernel.
"""
import collections
import re

import parts
from scene import actors, comes, counters, expect, living, region, status, until
from wire import check_no_rnr

VCS = 4			# connections per pair of nodes
SHORT_CONNECTIONS = 200
SOAK = 5000
BATCH = 20
WARM_UP = 4
# Of /proc/meminfo: what a page can be, as the kernel counts it.
KINDS = ("MemFree", "Active", "Inactive", "Unevictable", "Slab", "PageTables", "KernelStack", "Percpu")
# Of pages: what sockets and the virtual adapter have begun to fill, 8 pages each.
FRAGMENTS = 64
# Areas of addresses that are free are kept until there are many.
LAZY = ("vmap_area",)
PAGE = 4096
IDLE = 1024	# twins that a node keeps for the next release
# Gives back what processors and caches keep for later. Without slabs of its own that are in part free, a processor
# has one that counts as full.
EMPTY = ("for f in /sys/kernel/slab/*/cpu_partial; do echo 0 > $f; done; sync; echo 3 > /proc/sys/vm/drop_caches; "
         "for f in /sys/kernel/slab/*/shrink; do echo 1 > $f; done")
Stock = collections.namedtuple("Stock", "objects areas slabs pages")


def objects(node):
    """RDMA objects on a machine, in words."""
    return node.check(["rdma", "resource", "show"]).out.strip()


def areas(node):
    """How many areas of vmalloc() each function of a module has."""
    return collections.Counter(re.findall(r" (\w+)\+0x\S+ \[\w+\] pages=", node.read("/proc/vmallocinfo")))


def slabs(node):
    """By slab cache: objects in use, and those of a slab."""
    lines = [line.split() for line in node.read("/proc/slabinfo").splitlines()[2:]]
    return {words[0]: (int(words[1]), int(words[4])) for words in lines if words[0] not in LAZY}


def pages(node):
    """Pages in use that the kernel does not say for what, as of alloc_page()."""
    text = node.read("/proc/meminfo")
    kib = {k: int(re.search(rf"^{k}:\s+(\d+)", text, re.M)[1]) for k in ("MemTotal", *KINDS)}
    # Free ones that a processor keeps count as used.
    kept = sum(map(int, re.findall(r"^\s+count:\s+(\d+)", node.read("/proc/zoneinfo"), re.M)))
    return (kib["MemTotal"] - sum(kib[k] for k in KINDS)) // 4 - kept


def take_stock(node):
    """With all caches emptied."""
    node.sh(EMPTY)
    return Stock(objects(node), areas(node), slabs(node), pages(node))


def left(before, now, most):
    """What is there that was not, in words; `most`: of slab objects and of pages, besides the module's own."""
    said = [] if before.objects == now.objects else [f"had {before.objects}, has {now.objects}"]
    said += [f"{count} more areas of {name}()" for name, count in (now.areas - before.areas).items()]
    for name, (count, of_slab) in now.slabs.items():
        more = count - before.slabs.get(name, (0, 0))[0]
        if more > (0 if name.startswith("dsm") else most + of_slab):
            said.append(f"{more} more objects of {name}")
    if now.pages - before.pages > most + FRAGMENTS:
        said.append(f"{now.pages - before.pages} more pages")
    return ", ".join(said)


def twins_go_back(c, many=6000):
    """Those of a large release, but for a few that the next ones take."""
    writer = c.nodes[1]
    before = take_stock(writer).pages
    with region(c, "64M", "home=block") as name, actors(name, writer) as (a,):
        a.want(0, "fill", 0, many, PAGE, 1)
        a.want(0, "release")
        expect(counters(writer, name)["twins"] >= many, f"{counters(writer, name)['twins']} twins of {many} pages")
    # Some is freed only after a grace period.
    expect(comes(lambda: take_stock(writer).pages - before <= IDLE + FRAGMENTS),
           f"{take_stock(writer).pages - before} more pages than before {many} twins")


def queue_pairs(node):
    """How many there are on a machine; -1 if it does not say."""
    m = re.search(r"qp (\d+)", objects(node))
    return int(m[1]) if m else -1


def settle(machines, want):
    """Wait until what was closed last is destroyed too."""
    for node in machines:
        # The connection manager has a queue pair of its own.
        until(lambda node=node: 0 <= queue_pairs(node) <= want + 1, f"{node.name} has more than {want} qp")


def join_and_leave(c, machines, cycles):
    """The last node leaves and joins again so often; `machines`: those that have nodes.

    Not after it used a region: its id, which others then count on, would not be given again.
    """
    nodes = living(c)
    *others, node = nodes
    # Both ends of a connection are counted where both are on one machine.
    want = VCS * len(others) * (2 if len(machines) == 1 else 1)
    cycle = ["sh", "-ec", "for i in $(seq $0); do dsmctl leave; dsmctl join --listen $1 --seed $2 "
             f"--node {status(node)['node']} >/dev/null; done"]
    words = (node.address, others[0].address)
    node.check([*cycle, str(WARM_UP), *words], timeout=120 * c.slowness)
    settle(machines, want)
    before = {m: take_stock(m) for m in machines}
    for first in range(0, cycles, BATCH):
        node.check([*cycle, str(min(BATCH, cycles - first)), *words], timeout=240 * c.slowness)
    settle(machines, want)
    for m, stock in before.items():
        # Less than one in two cycles.
        most = cycles // 2
        said = []

        def is_back(m=m, stock=stock, most=most, said=said):
            said[:] = left(stock, take_stock(m), most)
            return not said

        # Some is freed only after a grace period.
        expect(comes(is_back), f"{m.name} after {cycles} cycles: {said}")
    check_no_rnr(c)


def connections_made_and_closed(c):
    """A few hundred between machines."""
    join_and_leave(c, living(c), -(-SHORT_CONNECTIONS // VCS // (len(living(c)) - 1)))


def five_thousand_connections_made_and_closed(c):
    """Between four machines, three at a time."""
    join_and_leave(c, living(c), -(-SOAK // VCS // (len(living(c)) - 1)))


# Two nodes of one machine.
PARTS = {**parts.OPTIONS, "module_args": ["nodes=2"]}


def both_join(c):
    """The nodes of the machine."""
    for part in parts.Parts(c, 2).nodes:
        seed = ["--seed", part.address] if part.index else []
        part.check(["dsmctl", "join", "--listen", part.address, "--node", str(part.index), *seed])


def cycles(count):
    """A node of a machine leaves the other one and joins it again so often, each time by four connections."""
    def run(c):
        join_and_leave(parts.Parts(c, 2), c.nodes, count)
    run.__name__ = f"{count}_cycles"
    return run


def soak(part):
    """Groups of part "k/n". Of several parts the first is of four machines, and the others share the cycles of one."""
    number, count = map(int, part.split("/"))
    if number == 1:
        yield "wire", {"nodes": 4}, (five_thousand_connections_made_and_closed,)
    if number > 1 or count == 1:
        yield "cycles", PARTS, (both_join, cycles(-(-SOAK // max(count - 1, 1))))
