# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests in which the module says no: to a node of another protocol version, to a user with too
many locks, or who is not a region's owner. They see that it says why, and that all works as before afterwards."""
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from scene import CALL_SECONDS, Actor, actors, expect, join_anew, name_of, ranks, region, status
from vm import clock, image, kernels
from vm.leaks import after_unload, held_by_module

OTHER_VERSION = 999
TRAFFIC = ("qp", "cq", "mr", "pd", "cm_id")

# How long joining may try: who does not take the refusal for an answer goes on for longer than any command may take.
ASK_SECONDS = 600


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
    left = after_unload(node)
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


def handles_say_what_is_wrong(c):
    """dsm_open() and calls on a handle give the errno that their manual pages name."""
    node, made = c.nodes[0], "handles-made"
    with region(c, "1M", "heap=on") as name:
        node.check(["/work/handles", name, made])
    node.check(["dsmctl", "region", "destroy", made])


# Words behind "dsmctl join" of a node that has left, and what is said of them. 10.9.0.77 is nobody's.
WRONG_JOINS = (
    ("--listen 10.9.0.77", "no RDMA device has this address"),
    ("--listen {own}:18600 --seed {own}:18600 --timeout 2", "cannot connect to the seed"),
    ("--listen {own} --seed 10.9.0.77 --timeout 2", "is dsm joined there"),
    ("--listen {own} --seed {seed}:18700 --timeout 2", "is dsm joined there"),
    ("--listen {own} --seed {seed} --node 0", "node id is taken"),
    ("--listen {own} --seed {seed} --node 64", "ids are 0 to 63"),
    ("--listen {own} --seed {seed} --nodes 9 --timeout 2", "of 9 nodes"),
)


def joins_that_fail_say_why(c):
    """A wrong join is refused with words, leaves nothing, and does not keep the next one; who is in no cluster is told so."""
    seed, node = c.nodes[0], c.nodes[-1]
    r = node.run(["dsmctl", "join", "--listen", node.address])
    expect(r.status == 1 and "joined" in r.err, f"joined twice: {r}")
    text = node.check(["dsmctl", "status"]).out
    expect("INSECURE" in text and node.address in text, f"status: {text}")
    expect(re.search(r"^barriers passed +\d+$", node.check(["dsmctl", "stats"]).out, re.M), "stats without barriers")
    node.check(["dsmctl", "leave", "--force"])
    for words, says in WRONG_JOINS:
        r = node.run(["dsmctl", "join", *words.format(own=node.address, seed=seed.address).split()])
        expect(r.status in (1, 2) and says in r.err and r.err.startswith("dsmctl"), f"join {words}: {r}")
        expect(node.read("/sys/class/dsm/dsm/state").strip() == "none", f"join {words}: a member all the same")
    node.check(["/work/handles", "alone"])
    for words in (["dd", "if=/dev/dsm", "bs=1", "count=1"], ["dsmctl", "region", "create", "a", "1M"], ["dsmctl", "leave"]):
        r = node.run(words)
        expect(r.status and (os.strerror(errno.ENOTCONN) in r.err or "not joined" in r.err), f"{words} in no cluster: {r}")
    for words in (["dsmctl"], ["dsmctl", "nonsense"], ["dsmctl", "join"], ["dsmrun"], ["dsmrun", "-n", "0", "true"]):
        expect(node.run(words).status == 2, f"{words}: status {node.run(words).status}, not 2")
    join_anew(c, node)


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
        r = joiner.run(["dsmctl", "join", "--listen", joiner.address, "--seed", seed.address, "--timeout", str(ASK_SECONDS)])
        expect(r.status, f"version {here} joined a cluster of version {there}")
        expect(f"{seed.address}:18515 speaks protocol version {there}, this node {here}; load the "
               "same dsm.ko on both" in r.err, f"join says: {r.err}")
        expect(os.strerror(errno.EPROTONOSUPPORT) in r.err, f"another errno: {r.err}")
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


WRONG_SIZE = "dsm: default_mib and heap_mib must be 1 to"


def by_user(script):
    """The words of a shell script that a user without rights runs."""
    return ["su", "-s", "/bin/sh", "user", "-c", script.replace("dsmctl ", "/usr/local/bin/dsmctl ")]


def another_users_region(c):
    """A region is its owner's on each node, wherever it was made; who may use /dev/dsm has no rights to it by that."""
    here, there = c.nodes[:2]
    with region(c, "1M") as name:
        for node in (here, there):
            node.check(["chgrp", "user", "/dev/dsm"])
        try:
            for node in (here, there):
                r = node.run(by_user(f": </dev/dsm-{name}"))
                expect(r.status and "ermission denied" in r.err, f"opened by another user on {node.name}: {r}")
                r = node.run(by_user(f"dsmctl region destroy {name}"))
                expect(r.status and f"region {name} belongs to another user" in r.err,
                       f"destroyed by another user on {node.name}: {r}")
            here.check(by_user("dsmctl region create theirs 1M"))
            there.wait_for(["test", "-e", "/dev/dsm-theirs"], CALL_SECONDS)
            there.check(by_user("echo 1 >/dev/dsm-theirs"))
            there.wait_for(by_user("dsmctl region destroy theirs"), CALL_SECONDS)
        finally:
            for node in (here, there):
                node.check(["chgrp", "root", "/dev/dsm"])


MOST_REGIONS = "/sys/module/dsm/parameters/regions_per_user"


def regions_per_user(c):
    """A user at the limit of the node that decides is told so, wherever it asks; root is not held to it."""
    decides, other = c.nodes[:2]
    usual = decides.read(MOST_REGIONS).strip()
    for node in (decides, other):
        node.check(["chgrp", "user", "/dev/dsm"])
    try:
        decides.sh(f"echo 2 >{MOST_REGIONS}")
        for node, name in ((decides, "own-1"), (other, "own-2")):
            node.check(by_user(f"dsmctl region create {name} 1M"))
        for node in (decides, other):
            r = node.run(by_user("dsmctl region create own-3 1M"))
            expect(r.status == 1 and "destroy some" in r.err and "regions_per_user" in r.err, f"a third: {r}")
        with region(c, "1M"):
            pass
        # What it gives up it can have again.
        other.check(by_user("dsmctl region destroy own-1"))
        other.check(by_user("dsmctl region create own-3 1M"))
    finally:
        decides.sh(f"echo {usual} >{MOST_REGIONS}")
        for node in (decides, other):
            node.check(["chgrp", "root", "/dev/dsm"])
    for name in ("own-2", "own-3"):
        decides.check(["dsmctl", "region", "destroy", name])


def default_sizes(node):
    """MiB of /dev/dsm and of /dev/dsm-heap, as a node lists them."""
    listed = json.loads(node.check(["dsmctl", "region", "list", "--json"]).out)
    sizes = {r["name"]: r["bytes"] >> 20 for r in listed}
    return sizes[""], sizes["heap"]


def sizes_of_the_default_regions(c):
    """What the node was loaded with that starts the cluster; nonsense is refused when loading."""
    first, *others = c.nodes
    usual, c.module_args = c.module_args, [*c.module_args, "default_mib=3", "heap_mib=5"]
    there = default_sizes(first)
    for node in c.nodes:
        node.check(["dsmctl", "leave", "--force"])
    try:
        first.check(["rmmod", "dsm"])
        for words in ("default_mib=0", "heap_mib=0", f"default_mib={1 << 24 | 1}"):
            said = first.dmesg().count(WRONG_SIZE)
            r = first.run(["insmod", "/modules/dsm.ko", words])
            expect(r.status and "\ndsm " not in "\n" + first.read("/proc/modules"), f"loaded with {words}: {r}")
            expect(first.dmesg().count(WRONG_SIZE) > said, f"the log does not say why not with {words}")
        c.load([first])
        c.join_all()
        for node in c.nodes:
            expect(default_sizes(node) == (3, 5), f"sizes on {node.name}: {default_sizes(node)}")
            out = node.sh("dd if=/dev/dsm bs=4096 skip=767 2>/dev/null | wc -c").out
            expect(out.split() == ["4096"], f"{out} bytes from the last page on, on {node.name}")
    finally:
        c.module_args = usual
        for node in c.nodes:
            node.run(["dsmctl", "leave", "--force"])
        first.run(["rmmod", "dsm"])
        c.load([first])
        c.join_all()
    expect(default_sizes(others[-1]) == there, f"sizes are {default_sizes(others[-1])}, before {there}")
