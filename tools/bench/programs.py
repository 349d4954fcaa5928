# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Runs of the papers' programs on guests: without dsm, and on several nodes in a region of their own."""
import os
import re
import shutil
import statistics

from vm.cluster import Cluster, GuestError

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
APPS = os.path.join(TOP, "build/user/apps")
PROGRAMS = ("sor", "matmul", "tsp", "water-nsquared", "gauss", "clu", "lu", "water-spatial", "barnes", "fft",
            "ocean", "em3d", "ilink", "is", "radix")
# Smaller runs of the same kind: fewer steps of the size small, and smaller matrices where there are none.
SHORT = {
    "sor": "--iterations 20", "matmul": "--n 960", "tsp": "", "water-nsquared": "--steps 1",
    "gauss": "--n 1280", "clu": "--n 1280", "lu": "--n 1280", "water-spatial": "--steps 3",
    "barnes": "--steps 2", "fft": "--transforms 2", "ocean": "--steps 2", "em3d": "--iterations 40",
    "ilink": "", "is": "--iterations 40", "radix": "--rounds 15",
}
SECONDS = 600
# What computes gives way to whatever else wants to run: soft-RoCE's threads, which stand for an adapter.
IDLE = ("chrt", "--idle", "0")
# A computing guest may let its peers wait for long on a busy host.
PEER_TIMEOUT_MS = 20000


def known(p, names):
    """The programs asked for, default all; an error of the command line if there is none of that name."""
    for name in names:
        if name not in PROGRAMS:
            p.error(f"{name} is none of {' '.join(PROGRAMS)}")
    return names or list(PROGRAMS)


class Refused(Exception):
    """A region with these settings cannot be made; the reason."""


def cluster(nodes, kernel, names, folder, cpus=1):
    """Guests with the programs."""
    return Cluster(nodes=nodes, cpus=cpus, kernel=kernel, add=files(names, folder), programs=["chrt"],
                   peer_timeout_ms=PEER_TIMEOUT_MS)


def words_of(name, size, short):
    """Its arguments."""
    return ["--size", size, *(SHORT[name].split() if short else [])]


def files(names, folder):
    """The programs, with and without dsm, for the guests' /work."""
    plain = [shutil.copy(os.path.join(APPS, "plain", name), os.path.join(folder, f"plain-{name}"))
             for name in names]
    return [os.path.join(APPS, name) for name in names] + plain


def parse(text):
    """What a program printed: seconds, and the counters of all nodes."""
    seconds = re.search(r" time_s=([\d.]+)", text)
    counters = re.search(r"^\S+: counters: (.*)$", text, re.M)
    return (float(seconds[1]) if seconds else None,
            {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", counters[1])} if counters else {})


def adapters(c):
    """How processors are shared, in words."""
    return ("programs give way to the kernel's threads, " +
            ("adapters go first" if c.adapters_first else "adapters wait for a turn like all others"))


def alone(c, name, words):
    """Seconds of the program without dsm."""
    return parse(c.nodes[0].check([*IDLE, f"/work/plain-{name}", *words], timeout=SECONDS).out)[0]


def shared(c, name, words, count, policy, homes=None, keep_homes=None):
    """Seconds and counters on so many nodes, in a region of its own; Refused if there is none.

    homes, keep_homes: files in the first guest, with homes for the pages, and for those that the run makes.
    """
    made = c.nodes[0].run(["dsmctl", "region", "create", "papers", "256M", *policy.split(",")])
    if made.status:
        raise Refused(made.err.strip().removeprefix("dsmctl: region create: "))
    if homes:
        c.nodes[0].check(["dsmctl", "homes", "load", "papers", homes])
    jobs = [node.start([*IDLE, f"/work/{name}", "-r", "papers", "--no-verify", *words],
                       env={"DSM_RANK": node.index, "DSM_RANKS": count}) for node in c.nodes[:count]]
    results = [job.wait(SECONDS) for job in jobs]
    if keep_homes:
        c.nodes[0].check(["dsmctl", "homes", "save", "papers", keep_homes])
    c.nodes[0].check(["dsmctl", "region", "destroy", "papers"])
    if any(r.status for r in results):
        raise GuestError(f"{name}, {policy}: " + "".join(r.out + r.err for r in results))
    return parse(results[0].out)


def whole_ns(run):
    """Time of all its workers."""
    return run["seconds"] * run["nodes"] * run.get("threads", 1) * 1e9


class Bench:
    """Runs of one cluster, each the median of some, and what they were without dsm."""

    def __init__(self, c, size, short, repetitions, nodes=(2,), policies=("home=first-touch",)):
        self.c, self.size, self.short, self.repetitions = c, size, short, repetitions
        self.nodes, self.policies = nodes, policies
        self.before = {}

    def words(self, name, more):
        """Arguments of a program; more: further ones by name."""
        return [*words_of(name, self.size, self.short), *more.get(name, ())]

    def alone(self, name, words=None):
        """Without dsm; measured once."""
        words = words or self.words(name, {})
        key = (name, *words)
        if key not in self.before:
            seconds = statistics.median(alone(self.c, name, words) for _ in range(self.repetitions))
            self.before[key] = {"program": name, "words": words, "nodes": 0, "seconds": seconds}
        return self.before[key]

    def run(self, name, count, policy, words=None, threads=1, repetitions=None, **homes):
        """A run, the one with the median time; or Refused, as a value. homes: as shared() takes them."""
        words = words or self.words(name, {})
        before = self.alone(name, words)["seconds"]
        all_words = [*words, *(["-t", str(threads)] if threads > 1 else [])]
        try:
            runs = sorted((shared(self.c, name, all_words, count, policy, **homes)
                           for _ in range(repetitions or self.repetitions)),
                          key=lambda run: run[0])
        except Refused as e:
            return e
        seconds, counters = runs[len(runs) // 2]
        return {"program": name, "words": words, "nodes": count, "threads": threads, "policy": policy,
                "seconds": seconds, "fastest": runs[0][0], "slowest": runs[-1][0], "speedup": before / seconds,
                "counters": counters}
