# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests in which the module says no: to a node of another protocol version, to a user with too
many locks. They see that it says why, and that all works as before afterwards."""
import errno
import os
import subprocess
import sys
import tempfile
import time

from scene import CALL_SECONDS, Actor, actors, expect, name_of, ranks, region, status
from vm import clock, image, kernels
from vm.cluster import held_by_module

OTHER_VERSION = 999
TRAFFIC = ("qp", "cq", "mr", "pd", "cm_id")

# Well below the 30 s that joining tries for.
REFUSED_SECONDS = 15


def build_other_version(kernel):
    """Build the module with another protocol version, in a build directory of its own."""
    out = os.path.join(kernels.TOP, "build/other-version")
    release = kernels.find(kernel)
    subprocess.run([os.path.join(kernels.TOP, "tools/setup/build-module"),
                    f"KCFLAGS=-DDSM_WIRE_VERSION={OTHER_VERSION}u"],
                   env={**os.environ, "OUT": out, "KVER": kernel}, check=True, stdout=sys.stderr)
    return os.path.join(out, release.release, "dsm.ko")


def other_module(c):
    """Where build_other_version() put it."""
    return os.path.join(kernels.TOP, "build/other-version", c.kernel.release, "dsm.ko")


def exchange_module(c, node, command):
    """Unload dsm, look for what it left, replace the file by a shell command, load."""
    node.check(["rmmod", "dsm"])
    left = c.leaks(node)
    expect(not left, "\n".join(left))
    node.sh(command)
    c.load([node])


def rdma_objects(node):
    """How many RDMA objects the module holds."""
    return sum(len(held_by_module(node.check(["rdma", "resource", "show", what]).out)) for what in TRAFFIC)


def joining_without_a_word_on_authentication(c):
    """Who loads the module has to say that the network is trusted."""
    node = c.nodes[0]
    r = node.run(["dsmctl", "join", "--listen", node.address])
    expect(r.status and "insecure=1" in r.err, f"joined: {r}")
    expect(node.read("/sys/class/dsm/dsm/state").strip() == "none", "a member all the same")


def protocol(node):
    """The protocol version that the module loaded speaks."""
    words = node.check(["dsmctl", "version"]).out.split()
    return int(words[words.index("protocol") + 1].rstrip(","))


def refused_join(joiner, seed):
    """joiner asks seed, which speaks another version: both say so, neither keeps anything."""
    here, there = protocol(joiner), protocol(seed)
    expect(here != there, f"both speak version {here}")
    held = rdma_objects(seed)
    for turn in (1, 2):		# the second finds all as the first did
        begin = clock.now()
        r = joiner.run(["dsmctl", "join", "--listen", joiner.address, "--seed", seed.address])
        took = clock.now() - begin
        expect(r.status, f"version {here} joined a cluster of version {there}")
        expect(f"{seed.address}:18515 speaks protocol version {there}, this node {here}; load the "
               "same dsm.ko on both" in r.err, f"join says: {r.err}")
        expect(os.strerror(errno.EPROTONOSUPPORT) in r.err, f"another errno: {r.err}")
        expect(took < REFUSED_SECONDS, f"the refusal took {took:.1f} s")
        said = [s for s in joiner.dmesg().splitlines() if
                f"{seed.address}:18515 speaks protocol version {there}, this node {here}: not "
                "connected; load the same dsm.ko on both" in s]
        expect(len(said) == turn, f"the log of {joiner.name}:\n{joiner.dmesg()[-1000:]}")
        said = [s for s in seed.dmesg().splitlines() if f"dsm: {joiner.address}:" in s and
                f" speaks protocol version {here}, this node {there}: refused; load the same "
                "dsm.ko on both" in s]
        expect(len(said) == turn, f"the log of {seed.name}:\n{seed.dmesg()[-1000:]}")
    expect(status(seed)["members"] == 1, f"{seed.name} counts the refused node as a member")
    end = clock.now() + CALL_SECONDS
    while rdma_objects(seed) != held:
        expect(clock.now() < end, f"{seed.name} has {rdma_objects(seed)} RDMA objects, before "
                                  f"the refusal {held}")
        time.sleep(0.1)


def other_protocol_version(c):
    """A node with another version asks, and is asked; with the right one it is welcome."""
    seed, node = c.nodes[:2]
    for one in c.nodes:
        one.check(["dsmctl", "leave", "--force"])
    with tempfile.TemporaryDirectory() as tmp:
        node.put(image.stripped(other_module(c), tmp), "/work/other.ko", 0o644)
    node.sh("cp /modules/dsm.ko /work/right.ko")
    exchange_module(c, node, "cp /work/other.ko /modules/dsm.ko")
    expect(protocol(node) == OTHER_VERSION, f"the module speaks version {protocol(node)}")
    for first, second in ((seed, node), (node, seed)):
        first.check(["dsmctl", "join", "--listen", first.address])
        refused_join(second, first)
        first.check(["dsmctl", "leave"])
    for one in (seed, node):
        exchange_module(c, one, "[ ! -e /work/right.ko ] || mv /work/right.ko /modules/dsm.ko")
    c.join_all()
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 20, 3], timeout=60)


LIMIT = 5
KNOB = "/sys/module/dsm/parameters/locks_per_user"


def locks_per_user(c):
    """A user at the limit is told so, others are not; what it gives up it can have again."""
    node, other = c.nodes[:2]
    usual = node.read(KNOB).strip()
    with region(c, "1M", "mode=0666") as name, actors(name, node, other) as (root, far):
        # Locks in slots do not count.
        users = [Actor(n, name, user="user", fast=False) for n in (node, node, node, other)]
        one, two, three, elsewhere = users
        try:
            node.sh(f"echo {LIMIT} >{KNOB}")
            far.want(0, "lock", 20)
            for key in range(LIMIT - 1):
                one.want(0, "lock", key)
            # Who waits counts as well, and so do all processes of the user.
            waiting = two.begin_blocked("dsm_node_lock", "lock", 20)
            for actor in (one, three):
                refused(actor, "lock", 50)
                refused(actor, "trylock", 50)
                refused(actor, "timedlock", 50, 100)
            for actor in (root, elsewhere):
                actor.want(0, "trylock", 50)
                actor.want(0, "unlock", 50)
            one.want(0, "unlock", 0)
            three.want(0, "lock", 50)
            refused(one, "lock", 0)
            far.want(0, "unlock", 20)
            two.finish(waiting, 0, "lock that it waited for at the limit")
            refused(three, "lock", 0)
            two.want(0, "unlock", 20)
            three.want(0, "lock", 0)
            # A wait that ends without the lock, and processes that end with locks.
            one.want(0, "unlock", 1)
            far.want(0, "lock", 21)
            waiting = two.begin_blocked("dsm_node_lock", "lock", 21)
            refused(three, "lock", 1)
            expect(two.interrupt(waiting) == -errno.EINTR, "an interrupted lock call")
            three.want(0, "lock", 1)
            three.kill()
            for key in range(60, 63):
                two.want(0, "lock", key)
            refused(two, "lock", 63)
            node.sh(f"echo {usual} >{KNOB}")
            two.want(0, "lock", 63)
        finally:
            node.sh(f"echo {usual} >{KNOB}")
            for actor in users:
                actor.leave()


def refused(actor, what, *args):
    """A call must fail because of the limit, and say what to do."""
    number = actor.begin(what, *args)
    got = actor.end(number)[0]
    expect(got == -errno.EDQUOT, f"{what} {args} beyond the limit: {name_of(got)}")
    said = actor.why(number)
    expect("too many locks" in said and "unlock some" in said and "locks_per_user" in said,
           f"the library says: {said}")
