# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of settings together: combinations of how pages, diffs and locks travel.

A combination is a test: the programs of the suite run on a region with it, and the counters
must show that what was asked for is what happened.
"""
import hashlib
import itertools
import os

from scene import expect, policy_of, ranks, region, region_agrees, sums, sums_agree, sums_at_rest

AXES = (("fetch", ("copy", "nocopy", "read")),
        ("diffpath", ("msg", "write", "auto")),
        ("diff", ("orig", "pipe:4096:1", "pipe:32768:4,merge=live")),
        ("sync", ("msg", "rdma", "rdma,algo=array")),
        ("grain", ("1,around=again", "4", "8")))
# And below the other way to know who has copies.
CASHMERE = (("consistency", ("cashmere",)),
            ("home", ("rr", "first-touch", "migrate", "migrate@barrier")),
            ("metadata", ("msg", "rdma")),
            ("notices", ("eager", "lazy")),
            ("fetch", ("copy", "nocopy,merge=live", "read")),
            ("diff", ("orig", "pipe:32768:4")),
            ("diffpath", ("msg", "write", "auto")),
            ("sync", ("msg", "rdma")),
            ("bcast", ("off", "adaptive")),
            ("predict", ("off", "on")))
# What a list of regions does not say.
UNSAID = {"metadata": "msg", "notices": "eager", "bcast": "off", "predict": "off"}
REGION = "1M"
NAME = object()		# in a program's arguments: its region's name
# More than half of the pages: only then diffpath=auto has a chunk registered.
FILE_BYTES = 200 * 4096 + 100
FILES_MOST = 20


def file_passes(c, name, turn):
    """Whole pages, written by write() on a node, and read by read() on the next; all bytes change."""
    source, sink = c.nodes[turn % c.count], c.nodes[(turn + 1) % c.count]
    data = bytes(b & 0x7f | 1 | turn % 2 << 7 for b in os.urandom(FILE_BYTES))
    source.write(data, "/work/data")
    source.sh(f"dd if=/work/data of=/dev/dsm-{name} bs=64k conv=notrunc 2>/dev/null")
    got = sink.sh(f"head -c {FILE_BYTES} /dev/dsm-{name} | md5sum").out.split()[0]
    expect(got == hashlib.md5(data).hexdigest(), f"turn {turn}: other bytes on {sink.name}")


def _files(c, name, direct):
    """Each node in turn; direct: until pages were written directly, for which keys must have come."""
    before = sums(c)["direct_pages"]
    for turn in range(FILES_MOST):
        file_passes(c, name, turn)
        if turn + 1 >= c.count and (not direct or sums(c)["direct_pages"] > before):
            return
    raise AssertionError(f"no page was written directly in {FILES_MOST} turns")


def run_programs(c, policy, much):
    """Locks, barriers, flags, false sharing, io_uring, files; `much` as in the suite itself."""
    ppn = 2 if much else 1
    runs = [(["exchange", 50, 4096, NAME], ppn),
            (["counter", NAME, *((8, 100) if much else (2, 30)), 6], ppn),
            (["barriers", NAME, *((4, 40) if much else (2, 10))], ppn)]
    # It counts threads; with eager notices an unlock waits, for which io_uring takes one of its own.
    eager = any(word.startswith("preset=csm") or word == "consistency=cashmere" for word in policy)
    if not eager or "notices=lazy" in policy:
        runs.append((["overlap", NAME, (4 if much else 1) * c.count], 1))
    # It stores to neighbouring bytes: only the finest grain has those of two nodes apart.
    if not {"grain=4", "grain=8"} & set(policy):
        runs.append((["sharing", NAME, 4, 25 if much else 6], ppn))
    for argv, processes in runs:
        with region(c, REGION, "home=rr", *policy) as name:
            ranks(c, [name if word is NAME else word for word in argv], processes, 180)
            region_agrees(c, name)
    with region(c, REGION, "home=rr", *policy) as name:
        _files(c, name, policy_of(c, name)["diffpath"] != "msg")


def _check_paths(settings, grown):
    """What was asked for is what was used, and nothing else was."""
    def used(name, wanted):
        expect((grown[name] > 0) == wanted, f"{name} grew by {grown[name]}")

    used("page_reads", settings["fetch"] == "read")
    if settings["fetch"] != "read":
        used("page_writes", settings["fetch"] == "nocopy")
    used("direct_pages", settings["diffpath"] != "msg")
    # Locks by arrays are made of WRITEs and READs.
    used("xfer_atomics", settings["sync"] == "rdma" and settings.get("algo") != "array")
    if settings.get("algo") == "array":
        used("xfer_writes", True)
    expect(grown["diffs"] > 0, "no diff was made")


def _check_cashmere(settings, grown):
    """The same; what is written directly, multicast, or moves after a barrier depends on who writes and reads what."""
    wanted = {"dir_changes": settings["metadata"] == "rdma", "letters": settings["sync"] == "rdma"}
    if settings["home"] != "migrate@barrier":
        wanted["migration_attempts"] = settings["home"] == "migrate"
    # Only pages that a node has had before.
    if settings["fetch"] != "read":
        wanted["page_reads"] = False
    for name, grows in wanted.items():
        expect((grown[name] > 0) == grows, f"{name} grew by {grown[name]}")
    expect(grown["notices_sent"] > 0, "nobody was told of a change")


def _is_legal(settings):
    """What is not is refused: selftests/unit/test_policy.c."""
    home, bcast = settings["home"], settings["bcast"] == "adaptive"
    return not (home == "migrate" and (settings["diff"], settings["diffpath"]) != ("orig", "msg") or
                home == "migrate" and settings["fetch"] == "read" or
                settings["metadata"] == "rdma" and (home == "migrate@barrier" or settings["notices"] == "lazy") or
                bcast and (settings["fetch"] != "copy" or home.startswith("migrate")) or
                settings["predict"] == "on" and home != "migrate")


class Combination:
    """One value for each axis, on all nodes."""

    def __init__(self, settings, much):
        self.settings = settings
        self.much = much
        self.__name__ = "with." + ",".join(f"{k}={v}" for k, v in self.settings.items())

    def __call__(self, c):
        policy = [f"{k}={v}" for k, v in self.settings.items()]
        # One value may hold a second setting.
        asked = dict(word.split("=") for word in ",".join(policy).split(","))
        with region(c, REGION, *policy) as name:
            said = policy_of(c, name)
        for key, value in asked.items():
            expect(said.get(key, UNSAID.get(key)) == value, f"{key} is {said.get(key)}, not {value}")
        before = sums_at_rest(c)
        run_programs(c, policy, self.much)
        check = _check_cashmere if asked.get("consistency") == "cashmere" else _check_paths
        check(asked, sums_agree(c, before))


def _pairs_of(settings):
    return set(itertools.combinations(settings.items(), 2))


def _every(axes):
    """All combinations of one value for each axis."""
    names = [axis for axis, _ in axes]
    return [dict(zip(names, values)) for values in itertools.product(*(values for _, values in axes))]


def covering(axes=AXES):
    """Few combinations that hold every pair of values of two axes that go together; always the same ones."""
    every = [settings for settings in _every(axes) if axes is AXES or _is_legal(settings)]
    missing = set().union(*map(_pairs_of, every))
    chosen = []
    while missing:
        best = max(every, key=lambda settings: len(_pairs_of(settings) & missing))
        chosen.append(best)
        missing -= _pairs_of(best)
    return chosen


def share(part):
    """Of all combinations those of part "k/n"."""
    number, parts = map(int, part.split("/"))
    return _every(AXES)[number - 1::parts]


def tests(chosen, much):
    """The tests of combinations."""
    return tuple(Combination(settings, much) for settings in chosen)
