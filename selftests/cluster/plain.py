# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of regions with consistency=sc: programs that have never heard of dsm."""
import errno
import hashlib
import os
import tempfile
import time

from scene import SIGBUS, actors, bound, counters, expect, living, ranks, region

PAGE = 4096
SC = ("consistency=sc", "home=rr")


def plain(c, test, rounds, ppn=1):
    """One of plain.c's tests on all nodes, in a region of its own."""
    before = [counters(n) for n in living(c)]
    with region(c, "64K", *SC) as name:
        ranks(c, ["plain", test, f"/dev/dsm-{name}", rounds], ppn=ppn, timeout=100)
    after = [counters(n) for n in living(c)]
    for kind in ("sc_grants", "sc_recalls"):
        expect(sum(a[kind] - b[kind] for a, b in zip(after, before)) > 0, f"{kind} did not grow")
    for kind in ("releases", "diffs", "twins", "race_conflicts", "sc_refusals", "pages_lost"):
        grown = sum(a[kind] - b[kind] for a, b in zip(after, before))
        expect(not grown, f"{kind} grew by {grown}: nothing of that belongs here")


def sc_litmus(c):
    """What sequential consistency forbids is never seen; on two nodes two processes of each play."""
    plain(c, "litmus", 20 if c.count == 2 else 8, ppn=4 // c.count)


def sc_atomic_counter(c):
    plain(c, "counter", 50000, ppn=2)


def sc_ticket_lock(c):
    plain(c, "ticket", 300 if c.count == 2 else 60, ppn=4 // c.count)


def sc_peterson(c):
    plain(c, "peterson", 300)


def sc_ring(c):
    plain(c, "ring", 20)


def sc_stores_across_pages(c):
    plain(c, "across", 400 if c.count == 2 else 60)


def sc_direct_io(c):
    """O_DIRECT reads into pages that the other node looks at all the time."""
    c.nodes[0].check(["/work/direct", "prepare"])
    limits = dict.fromkeys(("bps", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
    c.nodes[0].qmp("block_set_io_throttle", device="disk0", bps_rd=48 << 10, **limits)
    plain(c, "device", 6)
    c.nodes[0].qmp("block_set_io_throttle", device="disk0", bps_rd=0, **limits)


def sc_files(c):
    """dd, md5sum and cmp, without a close or an open between one's write and the other's read."""
    size = 200000
    with region(c, "256K", *SC) as name, actors(name, c.nodes[0], c.nodes[-1]) as (a, z):
        for turn in range(4):
            source, sink = c.nodes[turn % c.count], c.nodes[(turn + 1) % c.count]
            with tempfile.NamedTemporaryFile() as f:
                data = os.urandom(size)
                f.write(data)
                f.flush()
                source.put(f.name, "/work/data", 0o644)
                sink.put(f.name, "/work/data", 0o644)
            source.sh(f"dd if=/work/data of=/dev/dsm-{name} bs=30k conv=notrunc 2>/dev/null")
            got = sink.sh(f"head -c {size} /dev/dsm-{name} | md5sum").out.split()[0]
            expect(got == hashlib.md5(data).hexdigest(), f"turn {turn}: other bytes on {sink.name}")
            sink.sh(f"cmp -n {size} /work/data /dev/dsm-{name}")
        for value in range(1, 20):
            (a if value % 2 else z).want(0, "write", 8, value)
            (z if value % 2 else a).read(8, value)


def sc_loss(c):
    """The only copy of a page, or its home, is lost with a node: SIGBUS, and the rest goes on."""
    *rest, victim = living(c)
    n = len(rest) + 1
    homed_there, homed_here = (n - 1) * PAGE, 0
    with region(c, "1M", *SC) as name, actors(name, *rest) as others, actors(name, victim) as (v,):
        a, b = others[0], others[-1]
        a.want(0, "write", homed_there, 7)
        b.read(homed_there, 7)
        v.want(0, "write", homed_here, 8)
        v.want(0, "write", homed_here + n * PAGE, 9)
        b.read(homed_here + n * PAGE, 9)
        a.want(0, "write", PAGE, 3)
        lost = [counters(x)["pages_lost"] for x in rest]
        since = time.monotonic()
        victim.stop()
        reader = a.begin_blocked("dsm_fault_page", "read", homed_here)
        victim.kill()
        a.finish(reader, SIGBUS, "read of a page whose only copy is lost", bound(c, since))
        b.want(SIGBUS, "read", homed_here)
        b.want(SIGBUS, "read", homed_there)
        a.want(SIGBUS, "write", homed_there, 1)
        # A reader was lost: nothing else is.
        b.read(homed_here + n * PAGE, 9)
        a.want(0, "write", homed_here + n * PAGE, 10)
        b.read(homed_here + n * PAGE, 10)
        b.read(PAGE, 3)
        for node, before in zip(rest, lost):
            grown = counters(node)["pages_lost"] - before
            expect(grown >= 1, f"{node.name} counts {grown} lost pages")
        r = rest[0].run(["dd", f"if=/dev/dsm-{name}", "of=/dev/null", "bs=4096", "count=1"])
        expect(r.status and os.strerror(errno.EHOSTDOWN) in r.err, f"dd of a lost page: {r}")
