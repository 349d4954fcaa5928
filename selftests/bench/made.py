# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What stands in for programs, guests and runs where the papers' tables are tested without guests."""
import importlib.machinery
import importlib.util
import os
import sys
import types

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tools"))

from bench import programs  # noqa: E402
from vm import cluster as vm_cluster  # noqa: E402
from vm.channel import GuestError  # noqa: E402

COUNTERS = {"diffs": 7, "barriers": 3, "intervals": 5, "ns_wait_page": 10**8, "msgs_below_256": 1}


def script(name):
    """tools/bench/NAME as a module."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(TOP, "tools/bench", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def check(name, good, reason):
    """One line of result; True if good."""
    print(f"ok {name}" if good else f"not ok {name} - {reason}", flush=True)
    return bool(good)


def printed(result, time_s=1.5, options="n=3 pad=0"):
    """What a program prints."""
    return (f"lu: {options} ranks=2 threads=1 time_s={time_s} {result} length=7: right by itself\n"
            "lu: counters: diffs=4 barriers=2\n")


class Job:
    """A command in a guest that has ended, or never will unless it is killed."""

    def __init__(self, status=None, out="", gone=False):
        self.status, self.out, self.channel, self.killed = status, out, types.SimpleNamespace(gone=gone), False

    def done(self):
        """It has ended."""
        return self.status is not None

    def signal(self, _):
        """It ends."""
        self.killed, self.status = True, 137

    def wait(self, _):
        """What it left."""
        return types.SimpleNamespace(status=self.status, out=self.out, err="")


class Cluster:
    """Guests, of which the first answers to the removal of a region."""

    def __init__(self, status, alive=True):
        node = types.SimpleNamespace(alive=lambda: alive, run=self.run)
        self.nodes, self.status, self.ended = [node, node], status, None

    def run(self, _):
        """One command."""
        if self.status is None:
            raise GuestError("too slow")
        return types.SimpleNamespace(status=self.status, err="dsmctl: busy")

    def __exit__(self, kind, value, trace):
        self.ended = value


class Faked(programs.Bench):
    """Runs that print what they are told to; those of policies in `broken` fail, those of `spoilt` compute nonsense."""

    broken, spoilt, alone_fails = (), (), False
    seconds_of = (3.0, 2.0)	# without dsm, and with it
    times = types.MappingProxyType({})	# of policies that take another time

    def __init__(self, *args):
        super().__init__(*args)
        self.replayed = []	# homes that runs were given
        self.order = []		# policies of runs, None for those without dsm

    def _alone(self, c, name, words, guests=1):
        printed_now = self._printed(None)
        self.checked.setdefault((name, *words), printed_now)
        return printed_now

    def _shared(self, c, name, count, policy, words, threads, homes):
        self.replayed += [homes["homes"]] if "homes" in homes else []
        return self._printed(policy)

    def _printed(self, policy):
        self.order.append(policy)
        if policy in self.broken or (self.alone_fails and not policy):
            raise programs.Failed("no end after 9 s")
        said = "f00d" if policy in self.spoilt else "beef"
        text = printed(f"sum={said}", self.times.get(policy, self.seconds_of[bool(policy)]))
        return {**programs.parse(text), "counters": dict(COUNTERS), "homes": "h"}

    def _attempt(self, what, thp, before):
        try:
            return [*before, what(None)]
        except programs.Failed as e:
            return e


class Guest:
    """A guest where every command ends well, or joining does not; `said`: the commands, and what was written into files.

    joined: the nodes of the cluster, which all become members of a region.
    """

    def __init__(self, index, said, joined):
        self.index, self.said, self.joined, self.joins = index, said, joined, True
        self.name, self.address = f"node {index}", f"10.9.0.{index + 1}"

    def alive(self):
        """Always."""
        return True

    def run(self, argv):
        """One command."""
        self.said.append(" ".join(argv))
        if argv[:2] == ["dsmctl", "leave"]:
            self.joined.remove(self.index)
        return types.SimpleNamespace(status=0, out=printed("sum=00ff"), err="")

    check = run

    def start(self, argv, env=None):
        """A command that has ended."""
        self.said.append((f"{env['DSM_RANK']} of {env['DSM_RANKS']}: " if env else "") + " ".join(argv))
        if argv[:2] != ["dsmctl", "join"]:
            return Job(0, printed("sum=00ff"))
        if self.joins:
            self.joined.add(self.index)
        return Job(0 if self.joins else 1, "no answer")

    def write(self, text, path):
        """A file."""
        self.said.append((path, text))

    def read(self, path):
        """Of the region, or what dsmctl wrote into a file."""
        return f"{sum(1 << i for i in self.joined):#x}\n" if path == programs.MEMBERS else f"homes of {path}"


class Guests:
    """So many of them; all have joined, or those in `joined`."""

    command_seconds = 60
    join_all, join_command = vm_cluster.Cluster.join_all, vm_cluster.Cluster.join_command

    def __init__(self, count, said, joined=None):
        joined = set(range(count)) if joined is None else joined
        self.nodes, self.ended = [Guest(i, said, joined) for i in range(count)], None

    def __exit__(self, kind, value, trace):
        self.ended = value

    def say(self, text):
        """Nothing."""


def idle():
    """Machines that are there and do nothing."""
    return types.SimpleNamespace(c=Guests(2, []), huge_pages=None, join=lambda count: None, mend=lambda error: None)


def run_of(name, seconds, policy=None, **more):
    """A run for the goals; each further time is given, or as the others."""
    fastest, slowest = more.get("fastest", seconds), more.get("slowest", seconds)
    known = {"program": name, "words": ["w"], "nodes": 2 if policy else 0, "threads": 1, "policy": policy, "thp": None,
             "seconds": seconds, "fastest": seconds, "slowest": seconds, "repetitions": 5, "counters": dict(COUNTERS),
             "times": [fastest - 1, fastest, seconds, slowest, slowest + 1], "own_homes": True,
             "options": {"n": "400", "tile": "16"}, "speedup": 10 / seconds if policy else None}
    return {**known, **more}


def overdue(policy, **more):
    """A run for the goals that took longer than 600 s."""
    return {"program": "em3d", "words": ["w"], "nodes": 2, "threads": 1, "policy": policy, "thp": None,
            "own_homes": True, "seconds": 600, "late": True, **more}
