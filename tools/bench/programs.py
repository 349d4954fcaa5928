# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Runs of the papers' programs on guests: without dsm, and on several nodes in a region of their own."""
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from vm.channel import wait_jobs
from vm.cluster import Cluster, ClusterError, GuestError

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
APPS = os.path.join(TOP, "build/user/apps")
PROGRAMS = ("sor", "matmul", "tsp", "water-nsquared", "gauss", "clu", "lu", "water-spatial", "barnes", "fft",
            "ocean", "em3d", "ilink", "is", "radix")
# All that a region may be made with; the last two are no fixed combination, and the baseline.
FIXED_PRESETS = ("csm-dms", "csm-ms", "csm-s", "csm-none", "csm-ms-mg", "csm-none-mg", "csm-adb", "hlrc-copy",
                 "hlrc-nocopy", "hlrc-orig", "hlrc-pipe", "hlrc-rdma", "hlrc")
PRESETS = (*FIXED_PRESETS, "auto", "sc")
# Smaller runs of the same kind: fewer steps of the size small, and smaller matrices where there are none.
SHORT = {
    "sor": "--iterations 20", "matmul": "--n 960", "tsp": "--seed 1", "water-nsquared": "--steps 1",
    "gauss": "--n 1280", "clu": "--n 1280", "lu": "--n 1300", "water-spatial": "--steps 3",
    "barnes": "--steps 2", "fft": "--transforms 2", "ocean": "--steps 2", "em3d": "--iterations 40",
    "ilink": "", "is": "--iterations 40", "radix": "--rounds 15",
}
# Of a run, by the clock of vm/clock.py; then how long a program that was killed may take to end.
SECONDS, END_SECONDS = 600, 60
REGION, REGION_MIB = "papers", 16	# its size is at least this
MEMBERS = f"/sys/class/dsm/dsm-{REGION}/members"	# a bitmap
HOMES = "/tmp/papers-homes"
MEM_MIB = 1024	# of a guest, at least
PAGE_BYTES = 4096
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
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
    """A region with these settings cannot be made; the reason. policy: the settings, of one in Bench.runs."""

    policy = None


class Failed(Exception):
    """A run did not end well, or too late; the reason in one line."""


class Late(Failed):
    """A run had not ended when its time was up. run: what it was, of one in Bench.runs, its time the one that it had."""

    run = None


class Machines:
    """Guests with the programs; others in their place after a run that left them in a state nobody knows.

    None has joined until a run needs it. What the kernel logs of guests that were given up say is in `faults`, and so
    are leaks.
    """

    def __init__(self, nodes, kernel, names, cpus=1, mem_mib=MEM_MIB):
        self.nodes, self.kernel, self.names, self.cpus, self.mem_mib = nodes, kernel, names, cpus, mem_mib
        self.folder = tempfile.TemporaryDirectory()
        self.faults = []
        self.joined = 0	# so many guests, the first ones; None: nobody knows
        self.now = self.huge_pages = self.never = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.give_up(None if kind is None else value)
        self.folder.cleanup()

    @property
    def c(self):
        """The cluster; boots it if there is none. ClusterError if it does not come up, now or the last time."""
        if self.never:
            raise ClusterError(self.never)
        if not self.now:
            c = Cluster(nodes=self.nodes, cpus=self.cpus, mem=f"{self.mem_mib}M", kernel=self.kernel,
                        add=files(self.names, self.folder.name), programs=["chrt"], join=False,
                        peer_timeout_ms=PEER_TIMEOUT_MS)
            try:
                c.__enter__()
            except (ClusterError, GuestError) as e:
                self.never = f"no guests: {e}"
                raise ClusterError(self.never) from e
            self.now, self.joined = c, 0
            self.huge_pages = huge_pages(c)
        return self.now

    def join(self, count):
        """Let the first `count` guests be the whole cluster, since all nodes of it become members of a region.

        All leave and begin another one: in the old one nobody gets a number again that a region counted on.
        """
        c = self.c
        if self.joined == count:
            return
        before, self.joined = self.joined, None
        for node in c.nodes[:before]:
            node.check(["dsmctl", "leave", "--force"])
        c.join_all(count)
        self.joined = count

    def give_up(self, error=None):
        """End the guests; error: why they are not fit for another run."""
        c, self.now = self.now, None
        if not c:
            return
        try:
            c.__exit__(type(error) if error else None, error, None)
        except (ClusterError, GuestError) as e:
            if e is not error:
                self.faults.append(str(e))

    def mend(self, error):
        """After a run that failed: no region is left, or the guests are not used any more."""
        try:
            if self.now and self.joined is not None and all(node.alive() for node in self.now.nodes):
                if not self.joined:
                    return
                gone = self.now.nodes[0].run(["dsmctl", "region", "destroy", REGION])
                if not gone.status or "no such region" in gone.err.lower():
                    return
        except (ClusterError, GuestError):
            pass
        self.give_up(error)


def words_of(name, size, short):
    """Its arguments."""
    return ["--size", size, *(SHORT[name].split() if short else [])]


def files(names, folder):
    """The programs, with and without dsm, for the guests' /work."""
    plain = [shutil.copy(os.path.join(APPS, "plain", name), os.path.join(folder, f"plain-{name}"))
             for name in names]
    return [os.path.join(APPS, name) for name in names] + plain


def space_mib(name, words, workers):
    """MiB of shared memory that the program needs, as it tells itself; Failed if it does not."""
    r = subprocess.run([os.path.join(APPS, name), *words, "--space", str(workers)], capture_output=True,
                       text=True, check=False)
    if r.returncode:
        raise Failed((r.stderr or r.stdout).strip())
    return max(REGION_MIB, -(-int(r.stdout) >> 20))


def guest_mib(space):
    """MiB of a guest: all pages of a region, as many again as twins, and what the check of a result takes."""
    return max(MEM_MIB, 640 + 3 * space)


def parse(text):
    """What a program printed: a dict of its options, seconds, checksum, and the counters of all nodes."""
    line = re.search(r"^\S+:((?: \w[\w-]*=\S+)*?) ranks=\d+ threads=\d+ time_s=([\d.]+)(.*)$", text, re.M)
    counters = re.search(r"^\S+: counters: (.*)$", text, re.M)
    if not line:
        return {}
    said = dict(re.findall(r"(\w+)=([^\s:]+)", line[3]))
    return {"options": dict(word.split("=") for word in line[1].split()), "seconds": float(line[2]),
            "sum": said.get("sum"), "mean": float(said["mean"]) if "mean" in said else None,
            "within": float(said.get("within", 0)),
            "counters": {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", counters[1])} if counters else {}}


def differs(before, after):
    """How the result of a run differs from that without dsm: words, or None. Both: of parse()."""
    if not before or not after:
        return "no line with a result"
    if before["options"] != after["options"]:
        return f"other options: {after['options']}, not {before['options']}"
    if before["sum"] or after["sum"]:
        return None if before["sum"] == after["sum"] else f"the checksum is {after['sum']}, without dsm {before['sum']}"
    if before["mean"] is None or after["mean"] is None:
        return "no checksum"
    # What is no number is within no bound.
    if abs(before["mean"] - after["mean"]) <= before["within"]:
        return None
    return f"the mean is {after['mean']!r}, without dsm {before['mean']!r}: more than {before['within']:g} apart"


def adapters(c):
    """How processors are shared, in words."""
    return ("programs give way to the kernel's threads, " +
            ("adapters go first" if c.adapters_first else "adapters wait for a turn like all others"))


def reason(name, results):
    """Why a run failed: what the first program that failed said last."""
    for rank, r in enumerate(results):
        if r.status:
            said = (r.err + r.out).strip().splitlines()
            return f"{name}, rank {rank}: status {r.status}: {' '.join(said[-1:])[-200:]}"
    return None


def wait_all(name, jobs, seconds):
    """The results of jobs that wait for each other; Failed if one fails, or not all have ended in time."""
    in_time = wait_jobs(jobs, seconds)
    ended = [job.wait(1) for job in jobs if job.done()]
    left = [job for job in jobs if not job.done()]
    for job in left:
        job.signal(signal.SIGKILL)
    for job in left:
        job.wait(END_SECONDS)
    wrong = reason(name, ended)
    if wrong or (left and in_time):
        raise Failed(wrong or f"{name}: a guest is gone")
    if left:
        raise Late(f"{name}: no end after {seconds} s")
    return ended


def alone(c, name, words, seconds, guests=1):
    """What the program without dsm printed; of several guests, on which it runs at once, the slowest's."""
    jobs = [node.start([*IDLE, f"/work/plain-{name}", *words]) for node in c.nodes[:guests]]
    return max(map(printed_by, wait_all(f"{name} without dsm", jobs, seconds)), key=lambda printed: printed["seconds"])


def printed_by(result):
    """parse() of what a job printed; Failed if there is nothing."""
    printed = parse(result.out)
    if not printed:
        raise Failed(f"no line with a result: {result.out[-200:]}")
    return printed


def shared(c, name, words, count, policy, seconds, mib, homes=None, keep_homes=False):
    """What the program printed on so many nodes, in a region of which they are the members; Refused if there is none.

    homes: for the pages, as another run with keep_homes left them under that name.
    """
    made = c.nodes[0].run(["dsmctl", "region", "create", REGION, f"{mib}M", *policy.split(",")])
    if made.status:
        # Is it the settings, or can no region be made?
        plain = c.nodes[0].run(["dsmctl", "region", "create", REGION, f"{mib}M"])
        if plain.status:
            raise Failed(f"{name}, {policy}: no region: {plain.err.strip()}")
        c.nodes[0].check(["dsmctl", "region", "destroy", REGION])
        raise Refused(made.err.strip().removeprefix("dsmctl: region create: "))
    members = int(c.nodes[0].read(MEMBERS), 16)
    if members != (1 << count) - 1:
        raise Failed(f"{name}, {policy}: the region's members are nodes {numbers(members)}, not {numbers((1 << count) - 1)}")
    if homes:
        c.nodes[0].write(homes.encode(), HOMES)
        c.nodes[0].check(["dsmctl", "homes", "load", REGION, HOMES])
    jobs = [node.start([*IDLE, f"/work/{name}", "-r", REGION, "--no-verify", *words],
                       env={"DSM_RANK": node.index, "DSM_RANKS": count}) for node in c.nodes[:count]]
    results = wait_all(f"{name}, {policy}", jobs, seconds)
    printed = printed_by(results[0])
    if keep_homes:
        c.nodes[0].check(["dsmctl", "homes", "save", REGION, HOMES])
        printed["homes"] = c.nodes[0].read(HOMES)
    c.nodes[0].check(["dsmctl", "region", "destroy", REGION])
    return printed


def numbers(bitmap):
    """The nodes of a bitmap, in words."""
    return " ".join(str(i) for i in range(bitmap.bit_length()) if bitmap >> i & 1) or "none"


def huge_pages(c, setting=None):
    """Set transparent huge pages in all guests; what they were, "none" in a kernel without."""
    found = re.search(r"\[(\w+)\]", c.nodes[0].run(["cat", HUGE_PAGES]).out)
    before = found[1] if found else "none"
    if setting and before != setting:
        for node in c.nodes:
            node.check(["sh", "-c", f"echo {setting} > {HUGE_PAGES}"])
    return before


def progress(text):
    """What runs now, on a terminal only, until the next line."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def ratio(time, other):
    """Of two times; None if one is none that could be told."""
    return time / other if time and other else None


def whole_ns(run):
    """Time of all its workers."""
    return run["seconds"] * run["nodes"] * run.get("threads", 1) * 1e9


class Bench:
    """Runs on guests, each the median of some, checked against and compared with what they were without dsm.

    A run that failed, or a region that was refused, is a value: Failed, Late of the first of some, or Refused.
    Everything that ran is in `runs`.
    """

    def __init__(self, machines, size, short, repetitions, nodes=(2,), policies=("home=first-touch",), seconds=SECONDS):
        self.machines, self.size, self.short, self.repetitions = machines, size, short, repetitions
        self.nodes, self.policies, self.seconds = nodes, policies, seconds
        self.runs = {}
        self.checked = {}

    def words(self, name, more=()):
        """Arguments of a program; more: further ones."""
        return [*words_of(name, self.size, self.short), *more]

    def _attempt(self, what, thp, before):
        """What it printed before, run by run, and once more. Failed, Late or Refused."""
        try:
            c = self.machines.c
            huge_pages(c, thp or self.machines.huge_pages)
            return [*before, what(c)]
        except Refused as e:
            return e
        except (Failed, ClusterError, GuestError) as e:
            self.machines.mend(e)
            # What ended once in time, and then not, is of no known time.
            kind = Late if isinstance(e, Late) and not before else Failed
            return kind(" ".join(str(e).split())[:300])

    def _measure(self, jobs, thp, repetitions):
        """Those of these that are not known yet, so many runs of each, by turns: a host is not as fast all the time.

        A job is its key, what runs once, and what makes a value of what that printed, by time, or of why one failed.
        """
        jobs = [job for job in jobs if job[0] not in self.runs]
        got = [[] for _ in jobs]
        for turn in range(repetitions):
            for i, (key, once, _) in enumerate(jobs):
                if isinstance(got[i], Exception):
                    continue
                progress(f"{key[0]}: run {turn * len(jobs) + i + 1} of {len(jobs) * repetitions}")
                got[i] = self._attempt(once, thp, got[i])
        progress("")
        for (key, _, made), printed in zip(jobs, got):
            if not isinstance(printed, Exception):
                printed.sort(key=lambda run: run["seconds"])
            self.runs[key] = made(printed)

    @staticmethod
    def _facts(printed):
        """Of runs in the order of their times: the median one's, of an even number the lower, and all their times."""
        middle = printed[(len(printed) - 1) // 2]
        times = [run["seconds"] for run in printed]
        return {**middle, "fastest": times[0], "slowest": times[-1], "times": times, "repetitions": len(printed)}

    def _alone(self, c, name, words, guests=1):
        """A run without dsm. The first one looks at its own result; those that follow must have the same sum."""
        seen = self.checked.get((name, *words))
        printed = alone(c, name, [*words, "--no-check"] if seen else words, self.seconds, guests)
        wrong = differs(seen, printed) if seen else None
        if wrong:
            raise Failed(f"{name} without dsm: WRONG, {wrong}")
        self.checked.setdefault((name, *words), printed)
        return printed

    def _shared(self, c, name, count, policy, words, threads, homes):
        """A run on so many guests."""
        checked = (name, *words) in self.checked
        all_words = [*words, *(["-t", str(threads)] if threads > 1 else []), *(["--no-check"] if checked else [])]
        mib = space_mib(name, words, count * threads)
        self.machines.join(count)
        return {**shared(c, name, all_words, count, policy, self.seconds, mib, **homes), "region_mib": mib}

    def _job_alone(self, name, words, thp, repetitions):
        def made(got):
            return got if isinstance(got, Exception) else \
                {"program": name, "words": words, "nodes": 0, "thp": thp, **self._facts(got)}

        return (name, *words, 0, thp, repetitions), lambda c: self._alone(c, name, words), made

    def alone(self, name, words=None, thp=None, repetitions=None):
        """Without dsm; measured once. thp: transparent huge pages are to be always or never there."""
        repetitions = repetitions or self.repetitions
        job = self._job_alone(name, words or self.words(name), thp, repetitions)
        self._measure([job], thp, repetitions)
        return self.runs[job[0]]

    def _job_at_once(self, name, guests, words):
        def made(got):
            return got if isinstance(got, Exception) else \
                {"program": name, "words": words, "nodes": 0, "thp": None, "at_once": guests, **self._facts(got)}

        return (name, *words, "at once", guests), lambda c: self._alone(c, name, words, guests), made

    def at_once(self, name, guests, words=None):
        """Without dsm on so many guests at the same time: what they take from each other on this host."""
        job = self._job_at_once(name, guests, words or self.words(name))
        self._measure([job], None, self.repetitions)
        return self.runs[job[0]]

    def by_turns(self, name, runs, words=None, thp=None, repetitions=None, guests=None):
        """alone(), at_once() if there are guests, and run() with each of these counts and policies, one after the other, again and again."""
        words, repetitions = words or self.words(name), repetitions or self.repetitions
        jobs = [self._job_alone(name, words, thp, repetitions)]
        if guests:
            jobs.append(self._job_at_once(name, guests, words))
        jobs += [self._job(name, count, policy, words, 1, thp, repetitions, {}) for count, policy in runs]
        self._measure(jobs, thp, repetitions)
        # Some were compared with fewer runs before.
        before = self._baseline(name, words, thp, repetitions)
        for run in self.runs.values():
            if not isinstance(run, Exception) and run["nodes"] and run["speedup"] and \
                    (run["program"], run["words"], run["thp"]) == (name, words, thp):
                run["speedup"] = ratio(before["seconds"], run["seconds"])

    def run(self, name, count, policy, words=None, threads=1, repetitions=None, thp=None, **homes):
        """A run, the one with the median time; its speedup is None if it has never run without dsm, or in no time.

        homes: as shared() takes them.
        """
        words = words or self.words(name)
        self._baseline(name, words, thp, repetitions)
        repetitions = repetitions or self.repetitions
        job = self._job(name, count, policy, words, threads, thp, repetitions, homes)
        self._measure([job], thp, repetitions)
        return self.runs[job[0]]

    def _baseline(self, name, words, thp, repetitions=None):
        """alone() of most repetitions, of those that are known."""
        known = [run for key, run in self.runs.items()
                 if key[:-1] == (name, *words, 0, thp) and not isinstance(run, Exception)]
        return max(known, key=lambda run: run["repetitions"]) if known else \
            self.alone(name, words, thp, repetitions if thp else None)

    def _job(self, name, count, policy, words, threads, thp, repetitions, homes):
        what = {"program": name, "words": words, "nodes": count, "threads": threads, "policy": policy, "thp": thp,
                "own_homes": "homes" not in homes}

        def made(got):
            if isinstance(got, Exception):
                if isinstance(got, Refused):
                    got.policy = policy
                if isinstance(got, Late):
                    got.run = {**what, "seconds": self.seconds, "late": True}
                return got
            checked = self.checked.get((name, *words))
            for printed in got if checked else ():
                wrong = differs(checked, printed)
                if wrong:
                    return Failed(f"{name}, {policy}: WRONG, {wrong}")
            before, facts = self._baseline(name, words, thp, repetitions), self._facts(got)
            return {**what, "verified": bool(checked), **facts,
                    "speedup": None if isinstance(before, Exception) else ratio(before["seconds"], facts["seconds"])}

        return (name, *words, count, policy, threads, thp, repetitions, *sorted(homes.items())), \
            lambda c: self._shared(c, name, count, policy, words, threads, homes), made
