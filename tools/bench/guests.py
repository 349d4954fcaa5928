# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Measures on a cluster of guests: perftest, plain verbs, and dsm-bench on regions of each setting."""
import json
import os
import re
import threading
import time

from vm.channel import GuestError

PERFTEST = ("ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_lat", "ib_send_bw",
            "ib_write_bw", "ib_read_bw")
REGION_BYTES = "64M"
PROGRAM_SECONDS = 240
TEST_PORT = 18700
# "around=off" keeps prefetching out of the times of single pages.
PLAIN_FETCH = "around=off"


class Refused(Exception):
    """The module does not have a setting; the text is its own."""


class Guests:
    """A running cluster and the results that come from it."""

    def __init__(self, cluster, kernel, results, say, quick=False):
        self.cluster, self.kernel, self.results = cluster, kernel, results
        self.say, self.quick = say, quick
        self.count = cluster.count
        self.regions = {}
        self.port = TEST_PORT

    # Floors

    def _lat(self, tool, size, *flags):
        """One perftest program between nodes 0 and 1; its figures."""
        self.port += 1
        args = [tool, "-p", str(self.port), "-F", *flags]
        if size:
            args += ["-s", str(size)]
        server = self.cluster.nodes[0].start(args)
        listening = f":{self.port:04X} 00000000:0000 0A"
        self.cluster.nodes[0].wait_for(["grep", "-q", listening, "/proc/net/tcp",
                                        "/proc/net/tcp6"], 20)
        client = self.cluster.nodes[1].check([*args, self.cluster.nodes[0].address], timeout=120)
        server.wait(30)
        return _perftest_line(client.out)

    def perftest(self):
        """The vendor-neutral floors, polling and with events."""
        n = "200" if self.quick else "1000"
        few = "100" if self.quick else "300"
        plan = [("ib_send_lat", 64), ("ib_write_lat", 64), ("ib_write_lat", 4096),
                ("ib_read_lat", 4096), ("ib_atomic_lat", 0)]
        if not self.quick:
            plan += [("ib_send_lat", 4096), ("ib_read_lat", 64)]
        lines = []
        for tool, size in plan:
            for flags, ending in (((), ""), (("-e",), "_events")):
                if ending and self.quick:
                    continue
                if ending and tool == "ib_write_lat":
                    continue        # it has no events: the target sees no completion
                line = self._lat(tool, size, "-n", n, *flags)
                lines.append({"name": tool + (f"_{size}" if size else "") + ending, "rank": 1,
                              "unit": "us", "n": int(line[1]), "median": line[4],
                              "min": line[2], "max": line[3]})
        for tool, size in (("ib_write_bw", 65536), ("ib_read_bw", 65536), ("ib_send_bw", 65536)):
            if tool == "ib_send_bw" and self.quick:
                continue
            line = self._lat(tool, size, "-n", few)
            lines.append({"name": f"{tool}_{size}", "rank": 1, "unit": "MiB/s",
                          "n": int(line[1]), "median": line[3], "max": line[2]})
        self.results.add(self.kernel, self.count, "floors", "", lines)

    def verbs(self):
        """Our own floor program on all nodes."""
        trials = "100" if self.quick else "300"
        jobs = [node.start(["/work/verbs", str(node.index), str(self.count),
                            self.cluster.nodes[0].address, trials])
                for node in self.cluster.nodes]
        self._take("floors", "", jobs)

    def machine(self):
        """What one guest takes for faults, calls and copies."""
        job = self.cluster.nodes[0].start(["dsm-bench", *(["-q"] if self.quick else []), "floor"])
        self._take("floors", "", [job])

    # dsm

    def metadata(self):
        """Bytes of the module's object for a touched page."""
        r = self.cluster.nodes[0].run(["cat", "/sys/kernel/slab/dsm_page/object_size"])
        if r.status == 0:
            self.results.add(self.kernel, self.count, "pages", "", [
                {"name": "metadata_page", "rank": 0, "unit": "bytes", "n": 1,
                 "median": float(r.out)}])

    def region(self, setting):
        """Name of a region with that setting, made when first asked for; Refused with a reason."""
        if setting not in self.regions:
            name = f"bench{len(self.regions)}"
            r = self.cluster.nodes[0].run(["dsmctl", "region", "create", name, REGION_BYTES,
                                           *([setting] if setting else [])])
            if r.status:
                self.regions[setting] = Refused((r.err or r.out).strip().splitlines()[-1])
            else:
                for node in self.cluster.nodes:
                    node.wait_for(["test", "-e", f"/dev/dsm-{name}"], 10)
                self.regions[setting] = name
        if isinstance(self.regions[setting], Refused):
            raise self.regions[setting]
        return self.regions[setting]

    def region_without_around(self, setting):
        """Like region(), with fault-around off where the module has it."""
        try:
            return self.region(",".join(filter(None, [setting, PLAIN_FETCH])))
        except Refused:
            return self.region(setting)

    def dsm(self, group, tests, setting="", around=True):
        """dsm-bench on every node, on a region with that setting."""
        try:
            name = self.region(setting) if around else self.region_without_around(setting)
        except Refused as e:
            self.results.refuse(self.kernel, self.count, group, setting, str(e))
            return
        argv = ["dsm-bench", *(["-q"] if self.quick else []), "-r", name, *tests]
        jobs = [node.start(argv, env={"DSM_RANK": node.index, "DSM_RANKS": self.count})
                for node in self.cluster.nodes]
        self._take(group, setting, jobs)

    def _take(self, group, setting, jobs):
        """Wait for the jobs of one measurement and keep what they printed."""
        end = time.monotonic() + PROGRAM_SECONDS
        lines, faults = [], []
        for index, job in enumerate(jobs):
            try:
                r = job.wait(max(1, end - time.monotonic()))
            except GuestError as e:
                for other in jobs:
                    other.signal(9)
                faults.append(str(e).splitlines()[0])
                continue
            if r.status:
                faults.append(f"rank {index}: status {r.status}: {r.err.strip()[-300:]}")
            lines += [json.loads(line) for line in r.out.splitlines() if line.startswith("{")]
        if faults:
            self.results.fail(self.kernel, self.count, group, setting, "; ".join(faults))
            self.say(f"  did not end well: {faults[0]}")
        # What was printed before the fault was measured all the same.
        self.results.add(self.kernel, self.count, group, setting, lines)


def _perftest_line(text):
    """The numbers of perftest's one result line, the size first."""
    for line in reversed(text.splitlines()):
        if re.match(r"^\s*\d+\s+\d+\s+[\d.]+", line):
            return [float(w) for w in line.split()]
    raise GuestError(f"perftest printed no result:\n{text[-1000:]}")


class Clock:
    """Prints progress with the seconds since the start."""

    def __init__(self):
        self.begin = time.monotonic()
        self.lock = threading.Lock()

    def __call__(self, text):
        with self.lock:
            print(f"[{time.monotonic() - self.begin:6.1f} s] {text}", flush=True)

    def seconds(self):
        """Since the start."""
        return time.monotonic() - self.begin


def files(top):
    """What a bench run adds to the guests, for Cluster(add=..., programs=...)."""
    user = os.path.join(top, "build/user")
    return ([f"{user}/bin/dsm-bench:/usr/local/bin/dsm-bench", f"{user}/bench/verbs"],
            list(PERFTEST))
