# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""A device without atomics, multicast and the connection manager of InfiniBand: soft-iWARP.

Debian's kernels have rxe, not siw; its driver is built from Debian's linux-source-6.12 for the kernel of that name,
once, in the cache.
"""
import fcntl
import os
import subprocess
import tempfile

from scene import expect, ranks, region
from vm import image, kernels

SOURCE = "/usr/src/linux-source-6.12.tar.xz"
TREE = "linux-source-6.12/drivers/infiniband/sw/siw"
KERNEL = "6.12"
NEEDED = ("crc32c_generic", "libcrc32c")
# What wants more than such a device has, and what is said of it.
WISHES = (
    (("sync=rdma",), "sync=rdma needs atomics, which the RDMA device of this node lacks; use sync=msg"),
    (("preset=hlrc-rdma",), "sync=rdma needs atomics"),
    (("preset=csm-ms", "sync=msg"), "metadata=rdma needs atomics, which the RDMA device of this node lacks; use "
     "metadata=msg"),
    (("bcast=adaptive", "fetch=copy"), "bcast=adaptive needs datagrams and multicast, which the RDMA device of this "
     "node lacks; use bcast=off"),
)


def driver(release):
    """Path of siw.ko for a kernel."""
    expect(os.path.exists(SOURCE), f"no {SOURCE}: install Debian's package linux-source-6.12")
    base = kernels.cache_dir("siw", f"{release}-{int(os.stat(SOURCE).st_mtime)}")
    path = os.path.join(base, TREE, "siw.ko")
    with open(os.path.join(base, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            subprocess.run(["tar", "-C", base, "-xJf", SOURCE, TREE], check=True)
            subprocess.run(["make", "-s", "-C", f"/lib/modules/{release}/build", f"M={os.path.join(base, TREE)}",
                            "CONFIG_RDMA_SIW=m", "modules"], check=True, stdout=subprocess.DEVNULL)
    return path


def siw_instead_of_rxe(c):
    """The nodes join by another device than the usual one; until the cluster ends."""
    for path in c.kernel.module_files(NEEDED):
        for node in c.nodes:
            name = image.module_name(path)
            node.write(image.read_module(path), f"/modules/{name}.ko")
            node.sh(f"grep -q '^{name} ' /proc/modules || insmod /modules/{name}.ko")
    with tempfile.TemporaryDirectory() as tmp:
        module = image.stripped(driver(c.kernel.release), tmp)
        for node in c.nodes:
            node.check(["rdma", "link", "delete", "rxe0"])
            node.put(module, "/modules/siw.ko")
            node.sh("insmod /modules/siw.ko && rdma link add siw0 type siw netdev eth0")
    c.join_all()


def siw_refusals(c):
    """Each wish is refused on every node, with the setting and what to use instead, and leaves no region behind."""
    for node in c.nodes:
        for settings, reason in WISHES:
            r = node.run(["dsmctl", "region", "create", "wish", "1M", *settings])
            expect(r.status and reason in r.err, f"{node.name}: {settings}: {r}")
            expect(node.run(["test", "-e", "/dev/dsm-wish"]).status, f"{node.name} made a region with {settings}")


def siw_does_without(c):
    """What can be asked for by message goes by message, also where transfers were chosen."""
    for policy in (("home=rr",), ("home=rr", "fetch=read", "diffpath=write"), ("preset=csm-none", "home=rr")):
        with region(c, "1M", *policy) as name:
            ranks(c, ["counter", name, 2, 50, 3])
        with region(c, "1M", *policy) as name:
            ranks(c, ["exchange", 20, 4096, name])
