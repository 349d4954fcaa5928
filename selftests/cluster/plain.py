# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of regions with consistency=sc: programs that have never heard of dsm."""
import errno
import hashlib
import os
import subprocess

from scene import (SIGBUS, actors, agreeing, begin_from_disk, bound, counters, dying, expect, join_ranks, living,
                   ranks, region, region_agrees, slow_disk)
from vm import clock
from work import RELEASE_CONSISTENT

PAGE = 4096
SC = ("consistency=sc", "home=rr")
PIN_BOUND_MS = 10000		# PIN_BOUND_NS of kmod/core/sc.c
DISK_SECONDS = 40		# for a page: more than two bounds
FIRST_OF_DISK = 0x9e3779b97f4a7c15	# direct.c
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
DD, HEAD, MD5SUM, CMP = (f"/usr/bin/{tool}" for tool in ("dd", "head", "md5sum", "cmp"))
# Debian's own, and all that Python's start and the module mmap read, at their places.


def _python_files():
    words = "import mmap, sys; print(*(getattr(m, '__file__', None) for m in sys.modules.values()))"
    out = subprocess.run([PYTHON, "-I", "-c", words], check=True, capture_output=True, text=True)
    return sorted({f"{path}:{path}" for path in out.stdout.split()
                   if os.path.realpath(path).startswith("/usr/lib/python3.")})


TOOLS = [f"{path}:{path}" for path in (PYTHON, DD, HEAD, MD5SUM, CMP)] + _python_files()


def plain(c, test, rounds, ppn=1, more=()):
    """One of plain.c's tests on all nodes, in a region of its own."""
    before = [counters(n) for n in living(c)]
    with region(c, "64K", *SC) as name:
        ranks(c, ["plain", test, f"/dev/dsm-{name}", rounds, *more], ppn=ppn, timeout=100)
    after = [counters(n) for n in living(c)]
    for kind in ("sc_grants", "sc_recalls"):
        expect(sum(a[kind] - b[kind] for a, b in zip(after, before)) > 0, f"{kind} did not grow")
    for kind in ("releases", "diffs", "twins", "race_conflicts", "sc_refusals", "pages_lost"):
        grown = sum(a[kind] - b[kind] for a, b in zip(after, before))
        expect(not grown, f"{kind} grew by {grown}: nothing of that belongs here")


def sc_litmus(c):
    """What sequential consistency forbids is never seen; on two nodes two processes of each play."""
    plain(c, "litmus", 20 if c.count == 2 else 8, ppn=4 // c.count)


def sc_beside_a_view(c):
    """The right to write is taken away behind a mapping that never had it, too."""
    plain(c, "litmus", 8, ppn=4 // c.count, more=["view"])
    plain(c, "peterson", 100, more=["view"])


def sc_atomic_counter(c):
    plain(c, "counter", 50000, ppn=2)


def sc_ticket_lock(c):
    plain(c, "ticket", 300 if c.count == 2 and not c.kernel.debug else 60, ppn=4 // c.count)


def sc_peterson(c):
    plain(c, "peterson", 300)


def sc_ring(c):
    plain(c, "ring", 20)


def sc_stores_across_pages(c):
    plain(c, "across", 400 if c.count == 2 else 60)


def sc_direct_io(c):
    """O_DIRECT reads into pages that the other node looks at all the time."""
    c.nodes[0].check(["/work/direct", "prepare"])
    with slow_disk(c.nodes[0], 48 << 10):
        plain(c, "device", 6)


def sc_direct_io_without_end(c):
    """Who waits for a page that a device writes is told after 10 s; then it may ask again, and nothing is lost."""
    a, z = c.nodes[:2]
    a.check(["/work/direct", "prepare"])
    with region(c, "64K", *SC) as name, actors(name, a, z) as (reader, other):
        other.want(0, "write", 0, 1)
        before = counters(a, name)["sc_refusals"]
        with slow_disk(a, PAGE // DISK_SECONDS):
            # What a disk has not used for some time it may use at once.
            reader.want(0, "from_disk", PAGE, PAGE)
            reading = begin_from_disk(reader, 0, PAGE, thread=1)
            _, ms = other.want(SIGBUS, "read", 0)
            expect(ms >= PIN_BOUND_MS, f"SIGBUS after {ms} ms")
            got = z.run([DD, f"if=/dev/dsm-{name}", "of=/dev/null", "bs=8", "count=1"])
            expect(got.status and "busy" in got.err, f"read(2) of a page that a device writes: {got}")
            expect(reader.pending(reading), "the device was done too soon for this test")
        reader.finish(reading, 0, "read from a disk")
        expect(counters(a, name)["sc_refusals"] == before + 2, "not refused twice")
        for actor in (other, reader):
            actor.read(0, FIRST_OF_DISK)
        other.want(0, "write", 0, 7)
        reader.read(0, 7)


def sc_files(c):
    """dd, md5sum and cmp, without a close or an open between one's write and the other's read."""
    size = 200000
    with region(c, "256K", *SC) as name, actors(name, c.nodes[0], c.nodes[-1]) as (a, z):
        for turn in range(4):
            source, sink = c.nodes[turn % c.count], c.nodes[(turn + 1) % c.count]
            data = os.urandom(size)
            for node in (source, sink):
                node.write(data, "/work/data")
            source.sh(f"{DD} if=/work/data of=/dev/dsm-{name} bs=30k conv=notrunc 2>/dev/null")
            got = sink.sh(f"{HEAD} -c {size} /dev/dsm-{name} | {MD5SUM}").out.split()[0]
            expect(got == hashlib.md5(data).hexdigest(), f"turn {turn}: other bytes on {sink.name}")
            sink.sh(f"{CMP} -n {size} /work/data /dev/dsm-{name}")
        for value in range(1, 20):
            (a if value % 2 else z).want(0, "write", 8, value)
            (z if value % 2 else a).read(8, value)


def sc_python(c):
    """A Python program, in place in /dev/dsm as it is, on all nodes."""
    c.nodes[0].sh(f"{DD} if=/dev/zero of=/dev/dsm bs=64k count=1 2>/dev/null")
    for node in c.nodes:
        node.put(f"{HERE}/unmodified.py", "/work/unmodified.py")
    jobs = [node.start([PYTHON, "/work/unmodified.py", "/dev/dsm", str(rank), str(c.count), "5"])
            for rank, node in enumerate(c.nodes)]
    join_ranks(c, jobs, 60)


def _published(c, policy, how):
    """publish.py on two nodes in turns; what one has published is read on the other."""
    a, z = c.nodes[0], c.nodes[-1]
    with region(c, "64K", *policy) as name:
        jobs = {node: node.start([PYTHON, "/work/publish.py", f"/dev/dsm-{name}", how], stdin=True)
                for node in (a, z)}
        for number in range(10):
            source, sink = ((a, z), (z, a))[number % 2]
            text = f"{how} {number}"
            jobs[source].write(text.encode() + b"\n")
            jobs[source].wait_line(f"^published {text}$", 30)
            got = sink.sh(f"{HEAD} -c {len(text)} /dev/dsm-{name}").out
            expect(got == text, f"{policy}: {sink.name} reads {got!r} after {text!r} was published")
        for job in jobs.values():
            job.close_input()
            expect(job.wait(30).status == 0, f"{policy}: publish.py {how} failed")
        region_agrees(c, name)


def published(c, *policy):
    """Release consistency for who knows open, fsync and msync only (L43): no close is needed."""
    for node in c.nodes:
        node.put(f"{HERE}/publish.py", "/work/publish.py")
    with agreeing(c):
        for how in ("msync", "fsync", "write"):
            _published(c, policy, how)


def published_by_msync_and_fsync(c):
    for policy in RELEASE_CONSISTENT:
        published(c, *policy)


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
        since = clock.now()
        with dying(victim):
            reader = a.begin_blocked("dsm_fault_page", "read", homed_here)
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
