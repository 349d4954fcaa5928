# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Measures on a cluster of guests: perftest, plain verbs, and dsm-bench on regions of each setting."""
import contextlib
import json
import os
import re
import signal
import statistics
import threading
import time

from vm.channel import GuestError
from vm.cluster import ClusterError

from .plan import ANYWHERE, ELSEWHERE, READ_WHEN_JOINING

BANDWIDTHS = ("ib_send_bw", "ib_write_bw", "ib_read_bw")
# As ib_write_lat, ib_write_bw has none.
EVENT_BANDWIDTHS = ("ib_send_bw", "ib_read_bw")
PERFTEST = ("ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_lat", *BANDWIDTHS)
PERFTEST_SECONDS = 30
QUICK_LATENCIES = (("ib_send_lat", 64, []), ("ib_write_lat", 64, []), ("ib_write_lat", 4096, []),
                   ("ib_read_lat", 4096, []), ("ib_atomic_lat", 0, []), ("ib_send_lat", 64, ["-e"]))
# ib_write_lat has no events: its target sees no completion.
LATENCIES = (*QUICK_LATENCIES, ("ib_read_lat", 64, []), ("ib_read_lat", 4096, ["-e"]),
             ("ib_atomic_lat", 0, ["-e"]))
REGION_BYTES = "64M"
PROGRAM_SECONDS = 120
TEST_PORT = 18700
# "around=off" keeps prefetching out of the times of single pages.
PLAIN_FETCH = "around=off"
REGION_TRIES = 8
TRACING = "/sys/kernel/tracing"
TUNABLES = "/sys/class/dsm/dsm/tunables"
CHUNKS = 12


class Refused(Exception):
    """The module does not have a setting; the text is its own."""


class Guests:
    """A running cluster and the results that come from it."""

    def __init__(self, cluster, kernel, results, say, quick=False):
        self.cluster, self.kernel, self.results = cluster, kernel, results
        self.say, self.quick = say, quick
        self.count = cluster.count
        self.regions, self.created = {}, 0
        self.port = TEST_PORT

    # Floors

    def _perftest_once(self, args):
        """One perftest program between nodes 0 and 1; what the client prints."""
        self.port += 1
        args = [args[0], "-p", str(self.port), "-F", *args[1:]]
        server = self.cluster.nodes[0].start(args)
        listening = f":{self.port:04X} 00000000:0000 0A"
        try:
            self.cluster.nodes[0].wait_for(["grep", "-q", listening, "/proc/net/tcp",
                                            "/proc/net/tcp6"], PERFTEST_SECONDS)
            client = self.cluster.nodes[1].check([*args, self.cluster.nodes[0].address],
                                                 timeout=PERFTEST_SECONDS)
            server.wait(PERFTEST_SECONDS)
            return client.out
        finally:
            if not server.done():
                server.signal(signal.SIGKILL)

    def _perftest(self, *args):
        """The figures of a perftest program, which is tried twice; None if it fails twice."""
        for last in (False, True):
            try:
                return _perftest_line(self._perftest_once(args))
            except GuestError as e:
                if not (self.cluster.nodes[0].alive() and self.cluster.nodes[1].alive()):
                    raise
                if last:
                    self.results.fail(self.kernel, self.count, "floors", " ".join(args),
                                      str(e).splitlines()[0])
        return None

    def perftest(self):
        """The vendor-neutral floors, polling and with events."""
        lines = []
        for tool, size, flags in (QUICK_LATENCIES if self.quick else LATENCIES):
            line = self._perftest(tool, *(["-s", str(size)] if size else []),
                                  "-n", "200" if self.quick else "400", *flags)
            if line:
                lines.append({"name": tool + (f"_{size}" if size else "") +
                              ("_events" if flags else ""), "rank": 1, "unit": "us",
                              "n": int(line[1]), "median": line[4], "min": line[2],
                              "max": line[3]})
        for tool in BANDWIDTHS:
            line = self._perftest(tool, "-s", "65536", "-n", "100" if self.quick else "300")
            if line:
                lines.append({"name": f"{tool}_65536", "rank": 1, "unit": "MiB/s",
                              "n": int(line[1]), "median": line[3], "max": line[2]})
        for tool in EVENT_BANDWIDTHS:
            line = self._perftest(tool, "-s", "65536", "-n", "100" if self.quick else "300", "-e")
            if line:
                lines.append({"name": f"{tool}_65536_events", "rank": 1, "unit": "MiB/s",
                              "n": int(line[1]), "median": line[3], "max": line[2]})
        self.results.add(self.kernel, self.count, "floors", "", lines)

    def verbs(self):
        """Our own floor program on all nodes."""
        trials = "100" if self.quick else "300"
        poll = ["poll"] if self.count * self.cluster.cpus <= (os.cpu_count() or 1) else []
        jobs = [node.start(["/work/verbs", str(node.index), str(self.count),
                            self.cluster.nodes[0].address, trials, *poll])
                for node in self.cluster.nodes]
        self._take("floors", "", jobs)

    def machine(self):
        """What one guest takes for faults, calls and copies."""
        job = self.cluster.nodes[0].start(["dsm-bench", *(["-q"] if self.quick else []), "floor"])
        self._take("floors", "", [job])

    # dsm

    def registrations(self):
        """REG_MR of chunks in the module, from posting to its completion, timed by the kernel."""
        home, asker = self.cluster.nodes[:2]
        name = self._create("fetch=read")
        at = f"for i in $(seq 0 {CHUNKS - 1}); do dd bs=2M count=1 conv=notrunc"
        r = home.run(["sh", "-c", f"cd {TRACING} && echo dsm_xfer_register > set_ftrace_filter && "
                      "echo function_graph > current_tracer"])
        if r.status:
            self.say("  no tracer of functions")
            return
        home.check(["sh", "-c", f"{at} if=/dev/zero of=/dev/dsm-{name} seek=$i || exit; done"])
        asker.check(["sh", "-c", f"{at} of=/dev/null if=/dev/dsm-{name} skip=$i || exit; done"])
        text = home.check(["sh", "-c", f"cd {TRACING} && cat trace && echo nop > current_tracer && "
                           "echo > set_ftrace_filter"]).out
        home.check(["dsmctl", "region", "destroy", name])
        times = sorted(float(us) for us in re.findall(r"([\d.]+) us +\|", text))
        if times:
            self.results.add(self.kernel, self.count, "floors", "", [
                {"name": "kernel_reg_mr_2MiB", "rank": 0, "unit": "us", "n": len(times),
                 "median": statistics.median(times), "min": times[0], "max": times[-1]}])

    def metadata(self):
        """Bytes of the module's object for a touched page."""
        r = self.cluster.nodes[0].run(["cat", "/sys/kernel/slab/dsm_page/object_size"])
        if r.status == 0:
            self.results.add(self.kernel, self.count, "pages", "", [
                {"name": "metadata_page", "rank": 0, "unit": "bytes", "n": 1,
                 "median": float(r.out)}])

    def _create(self, setting):
        self.created += 1
        name = f"bench{self.created}"
        r = self.cluster.nodes[0].run(["dsmctl", "region", "create", name, REGION_BYTES,
                                       *([setting] if setting else [])])
        if r.status:
            raise Refused((r.err or r.out).strip().splitlines()[-1])
        for node in self.cluster.nodes:
            node.wait_for(["test", "-e", f"/dev/dsm-{name}"], 10)
        return name

    def _create_managed(self, setting, manager):
        """A region whose synchronisation manager is here or elsewhere: tried until it is so."""
        for _ in range(REGION_TRIES):
            name = self._create(setting)
            if manager == ANYWHERE:
                return name
            lines = self._wait(self._start(["dsm-bench", "-r", name, "manager"]))
            elsewhere = [line["median"] for line in lines if line["name"] == "manager_elsewhere"]
            if elsewhere and bool(elsewhere[0]) == (manager == ELSEWHERE):
                return name
            self.cluster.nodes[0].check(["dsmctl", "region", "destroy", name])
        raise Refused(f"no region out of {REGION_TRIES} had its manager {manager}")

    def region(self, setting, manager=ANYWHERE):
        """Name of a region with that setting, made when first asked for; Refused with a reason."""
        key = (setting, manager)
        if key not in self.regions:
            try:
                self.regions[key] = self._create_managed(setting, manager)
            except Refused as e:
                self.regions[key] = e
        if isinstance(self.regions[key], Refused):
            raise self.regions[key]
        return self.regions[key]

    def region_without_around(self, setting, manager):
        """Like region(), with fault-around off where the module has it."""
        try:
            return self.region(",".join(filter(None, [setting, PLAIN_FETCH])), manager)
        except Refused:
            return self.region(setting, manager)

    def _rejoin(self):
        """All leave and join anew; regions are made again when they are asked for."""
        for node in self.cluster.nodes:
            node.check(["dsmctl", "leave", "--force"])
        self.cluster.join_all()
        self.regions.clear()

    def tunables(self):
        """By which mechanism messages go, as it is now on node 0."""
        out = self.cluster.nodes[0].check(["sh", "-c", f"cd {TUNABLES} && grep . *"]).out
        return dict(line.split(":") for line in out.split())

    @contextlib.contextmanager
    def _tuned(self, wanted):
        """Tunables on all nodes, as they were before on each at the end of the block."""
        before = [(node, f"{TUNABLES}/{name}", node.read(f"{TUNABLES}/{name}").strip())
                  for node in self.cluster.nodes for name in wanted]
        try:
            for name, value in wanted.items():
                self._write(f"{TUNABLES}/{name}", value)
            yield
        finally:
            # Of guests that died there is nothing to put back.
            with contextlib.suppress(GuestError, ClusterError):
                for node, path, value in before:
                    node.check(["sh", "-c", f"echo {value} > {path}"])

    @contextlib.contextmanager
    def _parameters(self, wanted):
        """Parameters of the module on all nodes, as they were before at the end of the block."""
        before = {}
        anew = any(name in READ_WHEN_JOINING for name in wanted)
        try:
            for name, value in wanted.items():
                path = f"/sys/module/dsm/parameters/{name}"
                before[path] = self.cluster.nodes[0].read(path).strip()
                self._write(path, value)
            if anew:
                self._rejoin()
            yield
        except BaseException:
            # What went wrong first is the reason, not that the nodes could not be put back then.
            with contextlib.suppress(GuestError, ClusterError):
                self._put_back(before, anew)
            raise
        self._put_back(before, anew)

    def _put_back(self, before, anew):
        for path, value in before.items():
            self._write(path, value)
        if anew:
            self._rejoin()

    def _write(self, path, value):
        for node in self.cluster.nodes:
            node.check(["sh", "-c", f"echo {value} > {path}"])

    def _start(self, argv):
        return [node.start(argv, env={"DSM_RANK": node.index, "DSM_RANKS": self.count})
                for node in self.cluster.nodes]

    def dsm(self, case, setting):
        """dsm-bench on every node, on a region with that setting."""
        with self._parameters(case.parameters), self._tuned(case.tunables):
            try:
                make = self.region if case.around else self.region_without_around
                name = make(setting, case.manager)
            except Refused as e:
                self.results.refuse(self.kernel, self.count, case.group, setting, str(e))
                return
            argv = ["dsm-bench", *(["-q"] if self.quick else []), "-r", name, *case.tests]
            self._take(case.group, setting, self._start(argv), case.tunables)

    def _take(self, group, setting, jobs, tunables=None):
        """Wait for the jobs of one measurement and keep what they printed."""
        faults = []
        lines = self._wait(jobs, faults)
        if faults:
            self.results.fail(self.kernel, self.count, group, setting, "; ".join(faults))
            self.say(f"  did not end well: {faults[0]}")
        # What was printed before the fault was measured all the same.
        self.results.add(self.kernel, self.count, group, setting, lines, tunables)

    @staticmethod
    def _wait(jobs, faults=None):
        """The lines that the jobs print; what went wrong is added to `faults`."""
        faults = [] if faults is None else faults
        end = time.monotonic() + PROGRAM_SECONDS
        lines = []
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
        return lines


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
