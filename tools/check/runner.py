# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Runs a group of tests and counts its lines. Knows nothing of what the tests test."""
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tools"))

from vm import clock  # noqa: E402

LOGS = os.path.join(TOP, "build/logs")
LINE = re.compile(r"^(ok|not ok|skip) (\S+)(?: - (.*))?$")
# Of the `# text` lines behind a failed test, so many are shown; all are in the log.
MOST_LINES = 12


class Tally:
    """Counts of a whole run."""

    def __init__(self):
        self.begin = time.monotonic()
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def clock(self):
        """Time since the start, for a person who watches."""
        seconds = int(time.monotonic() - self.begin)
        return f"{seconds // 60:2d}:{seconds % 60:02d}"

    def say(self, word, text):
        """One line of the report."""
        print(f"{self.clock()} {word:4} {text}", flush=True)

    def skip(self, name, reason):
        """Count and show a test that is left out."""
        self.skipped += 1
        self.say("skip", f"{name}: {reason or 'no reason given'}")

    def fail(self, name, reason):
        """Count and show a failed test."""
        self.failed += 1
        self.failures.append(f"{name}: {reason or 'no reason given'}")
        self.say("FAIL", self.failures[-1])

    def explain(self, text):
        """A line behind a failed test. Not for the list at the end, of which somebody may see only the last lines."""
        print(f"           {text}", flush=True)


def _end(process):
    """End a group's whole process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Watch(threading.Thread):
    """Ends a group that is late by its own limit, or when the time of the whole run is over."""

    def __init__(self, process, limit, seconds):
        super().__init__(daemon=True)
        self.process, self.limit = process, clock.now() + limit
        self.end = time.monotonic() + seconds
        self.done = threading.Event()
        self.late = self.over = False

    def run(self):
        while not self.done.wait(1):
            self.late = clock.now() > self.limit
            self.over = time.monotonic() > self.end
            if self.late or self.over:
                _end(self.process)
                return

    def stop(self):
        """The group has ended."""
        self.done.set()
        self.join()


def run_group(group, tally, seconds=math.inf):
    """Run one group to its end and count its lines; False if it had to end since those seconds were over."""
    limit = int(group.limit_seconds)
    path = os.path.join(LOGS, f"{group.name}.log")
    env = {**os.environ, "O": os.path.join(TOP, "build/user"), **group.env}
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL"):
        env.pop(name, None)
    if not os.access(os.path.join(TOP, group.argv[0]), os.X_OK):
        tally.fail(group.name, f"{group.argv[0]} is not there")
        return True
    judged = failed = more = 0
    last = time.monotonic()
    with open(path, "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [os.path.join(TOP, group.argv[0]), *group.argv[1:]], cwd=TOP, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True)
        watch = Watch(process, limit, seconds)
        watch.start()
        try:
            for line in process.stdout:
                log.write(line)
                log.flush()
                m = LINE.match(line.rstrip("\n"))
                if not m:
                    if more and line.startswith("# "):
                        more -= 1
                        tally.explain(line[2:].rstrip("\n"))
                    continue
                more = 0
                judged += m[1] != "skip"
                now = time.monotonic()
                name = f"{group.name}: {m[2]}"
                if m[1] == "ok":
                    tally.passed += 1
                    tally.say("ok", f"{name} ({now - last:.1f} s)")
                elif m[1] == "skip":
                    tally.skip(name, m[3])
                else:
                    failed += 1
                    tally.fail(name, m[3])
                    more = MOST_LINES
                last = now
            status = process.wait()
        finally:
            watch.stop()
            _end(process)
    if watch.over and not watch.late:
        tally.skip(group.name, f"the rest of it: no time left; see {path}")
        return False
    if watch.late:
        tally.fail(group.name, f"not done after {limit} s; see {path}")
    elif status and not failed:
        tally.fail(group.name, f"ended with status {status}; see {path}")
    elif not judged:
        tally.fail(group.name, f"ran no test, or skipped all; see {path}")
    elif failed:
        print(f"      see {os.path.relpath(path, TOP)}", flush=True)
    return True
