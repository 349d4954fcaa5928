# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of what sysfs shows, and of what a region's maker says of its owner, rights and address."""
import json
import os
import re

from scene import CALL_SECONDS, actors, counters, drop_region, expect, join_anew, leave, make_region, region, status
from vm import kernels

CLASS = "/sys/class/dsm"
# What the kernel itself puts into each device's directory.
KERNELS = re.compile(r"/(uevent|dev|power/\w+)$")
# An attribute's text, by its name.
TEXTS = {
    "abi": r"\d+", "insecure": "1", "state": "joined|up", "node_id": r"\d", "cluster": "[0-9a-f]{16}", "members": r"\d",
    "rdma_device": r"\w+", "peer_timeout_ms": r"\d+", "resume_ms": r"\d+", "poll": "direct|workqueue|softirq",
    "poll_us": r"\d+", "spin": r"(\w+ slept \d+ spun \d+: (spin|sleep|measuring)\n?)+", "inline_max": r"\d+", "batch_max": r"\d+",
    "bulk_min": r"\d+", "silent_ms": r"\d+", "reason": "", "id": r"\d+", "size": r"\d+", "flags": "0x[01]",
    "policy": r"\w+=[\w:@-]+(,\w+=[\w:@-]+)*", "opens": r"\d+", "touched_pages": r"\d+", "homed_pages": r"\d+",
}
NEEDS_A_CLUSTER = ("node_id", "cluster", "rdma_device", "region/id")
# Far from where regions are put that have no address.
ADDRESS = 0x123456000000


def documented():
    """The paths of Documentation/ABI, each as a pattern."""
    with open(os.path.join(kernels.TOP, "Documentation/ABI/testing/sysfs-class-dsm"), encoding="utf-8") as f:
        paths = re.findall(r"^What:\s+(\S+)$", f.read(), re.M)
    parts = {"<counter>": r"\w+", "<id>": r"\d+", "<name>": r"[\w-]+"}
    return {path: re.compile("".join(parts.get(part, re.escape(part)) for part in re.split("(<.*?>)", path)) + "$")
            for path in paths if not path.endswith("<K>")}


def names_of_counters():
    """enum dsm_stat, as sysfs spells it."""
    with open(os.path.join(kernels.TOP, "uapi/dsm.h"), encoding="utf-8") as f:
        return {name.lower() for name in re.findall(r"^\tDSM_STAT_(\w+),", f.read(), re.M)}


def attributes(node):
    """Of each attribute that is there, by its path: its mode and its text."""
    found = {}
    for line in node.sh(f'find {CLASS}/*/ -type f -exec stat -c "%a %n" {{}} +').out.splitlines():
        mode, path = line.split()
        found[path] = [int(mode, 8), ""]
    # Some cannot be read, as the kernel's own uevent of a directory.
    for line in node.run(["sh", "-c", f'grep -r "" {CLASS}/*/']).out.splitlines():
        path, text = line.split(":", maxsplit=1)
        found[path][1] += text + "\n"
    return {path.replace("//", "/"): (mode, text.strip()) for path, (mode, text) in found.items() if not KERNELS.search(path)}


def text_of(path):
    """What an attribute says, as a pattern."""
    *_, where, last = path.split("/")
    if where == "stats":
        return r"\d+"
    if last == "addr":
        return r"[\d.]+:\d+" if "/peers/" in path else "0x[0-9a-f]+"
    if last == "members" and path != f"{CLASS}/dsm/members":
        return "0x[0-9a-f]+"
    return TEXTS[last]


def attributes_are_those_of_the_abi(c):
    """All of them are documented, all that is documented is there, and each says what dsmctl says."""
    patterns = documented()
    with region(c, "1M", "home=block:4") as name, actors(name, *c.nodes) as made:
        made[0].want(0, "write", 0, 7)
        made[1].want(0, "write", 4096, 7)
        for node in c.nodes:
            found = attributes(node)
            unknown = [path for path in found if not any(p.match(path) for p in patterns.values())]
            expect(not unknown, f"not documented: {unknown}")
            absent = [what for what, p in patterns.items() if not any(p.match(path) for path in found)]
            expect(not absent, f"documented, and not there: {absent}")
            for path, (mode, text) in found.items():
                expect(re.fullmatch(text_of(path), text), f"{path} of {node.name} is {text!r}, not {text_of(path)}")
                expect(mode == (0o644 if "/tunables/" in path else 0o444), f"{path} has mode {mode:o}")
            say_the_same(node, name, {path: text for path, (_, text) in found.items()})


def say_the_same(node, name, found):
    """Attributes of a node and of a region beside what dsmctl lists."""
    joined = status(node)
    expect(int(found[f"{CLASS}/dsm/node_id"]) == node.index, "another node's id")
    expect(int(found[f"{CLASS}/dsm/members"]) == joined["members"], f"members: {joined}")
    counted = {path.rsplit("/", 1)[1] for path in found if "/stats/" in path}
    expect(counted == set(counters(node)) == names_of_counters(), f"counters: {counted ^ names_of_counters()}")
    listed = {r["name"]: r for r in json.loads(node.check(["dsmctl", "region", "list", "--json"]).out)}
    for which, where in ((name, f"dsm-{name}"), ("heap", "dsm-heap"), ("", "dsm/region")):
        one = {key: found[f"{CLASS}/{where}/{key}"] for key in
               ("id", "size", "addr", "flags", "policy", "opens", "touched_pages", "homed_pages")}
        row = listed[which]
        expect((int(one["id"]), int(one["size"]), int(one["addr"], 16), one["flags"] == "0x1", int(one["opens"])) ==
               (row["id"], row["bytes"], row["addr"], row["heap"], row["opens"]), f"{which}: {one}, dsmctl has {row}")
        expect(one["policy"] == row["policy"], f"{which}: {one['policy']}, dsmctl has {row['policy']}")
    made = {key: int(found[f"{CLASS}/dsm-{name}/{key}"]) for key in ("opens", "touched_pages", "homed_pages")}
    expect(made["opens"] == 1 and made["touched_pages"] >= made["homed_pages"], f"{name} at {node.name}: {made}")


def attributes_out_of_a_cluster(c):
    """What only a member knows is ENOTCONN before it joins; a peer that left stays, with the reason."""
    stays, goes = c.nodes[:2]
    number = status(goes)["node"]
    leave(goes)
    try:
        for what in NEEDS_A_CLUSTER:
            r = goes.run(["cat", f"{CLASS}/dsm/{what}"])
            expect(r.status and "not connected" in r.err, f"{what} out of a cluster: {r}")
        expect(goes.read(f"{CLASS}/dsm/state").strip() == "none", "state")
        expect(goes.read(f"{CLASS}/dsm/members").strip() == "0", "members")
        stays.wait_for(["grep", "-q", "left", f"{CLASS}/dsm/peers/{number}/state"], CALL_SECONDS)
        expect(stays.read(f"{CLASS}/dsm/peers/{number}/reason").strip(), "no reason why it left")
    finally:
        join_anew(c, goes)


def makers_choose_owner_rights_and_address(c):
    """uid=, gid=, mode= and addr= of a region hold on every node."""
    name = make_region(c, "1M", "uid=user", "gid=user", "mode=0640", f"addr={ADDRESS:#x}")
    for node in c.nodes:
        expect(node.check(["stat", "-c", "%u %g %a", f"/dev/dsm-{name}"]).out.split() == ["1000", "1000", "640"],
               f"/dev/dsm-{name} of {node.name} is another's")
        expect(int(node.read(f"{CLASS}/dsm-{name}/addr"), 16) == ADDRESS, "another address")
    with actors(name, *c.nodes) as made:
        made[0].want(0, "write", 8, 77)
        made[0].want(0, "release")
        made[1].want(0, "acquire")
        made[1].read(8, 77)
        for actor in made:
            start = f"{ADDRESS:x}-"
            expect(start in actor.node.read(f"/proc/{actor.job.pid}/maps"), f"not mapped at {start}")
    drop_region(c, name)
    for word, said in ((f"addr={ADDRESS + 1:#x}", "addr"), ("addr=0x7fffffffffff0000", "addr"), ("addr=here", "hexadecimal"),
                       ("uid=nobody-has-this-name", "no user"), ("gid=4294967295", "no group"), ("mode=0", "nobody"),
                       ("mode=1777", "octal")):
        r = c.nodes[0].run(["dsmctl", "region", "create", "wrong", "1M", word])
        expect(r.status and said in r.err, f"{word}: {r}")
