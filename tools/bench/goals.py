# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The goals: ratios of medians within one run. Reports them all; that one is missed is no failure."""
import re

from .plan import BARRIERS, FETCH, LOCKS, ORIG_PIPE, SLEEPING, SPINNING
from .results import figure

MIB = 1 << 20
RELEASES = "releases"
# Settings with which neighbours of a page that faults are fetched as well.
AROUND = ("", "fetch=copy", "fetch=nocopy", "fetch=read")
TOLD = "releases, with the word to a sync manager elsewhere"


class Goal:
    """A name, what it may cost, and two functions of a Numbers: value and floor (or None)."""

    def __init__(self, name, goal, value, floor, unit="us", kernels=True):
        self.name, self.goal, self.value, self.floor = name, goal, value, floor
        self.unit, self.kernels = unit, kernels


class Numbers:
    """Looks up medians of one kernel in the results; a missing one is raised as KeyError."""

    def __init__(self, results, kernel):
        self.results, self.kernel = results, kernel

    def row(self, name, setting=None, nodes=None, group=None):
        """A row that must be there."""
        row = self.results.find(self.kernel, name, setting, nodes, group)
        if not row:
            raise KeyError(name + (f" with {setting}" if setting else ""))
        return row

    def of(self, name, setting=None, nodes=None, group=None):
        """The median of a row."""
        return self.row(name, setting, nodes, group).median

    def count(self, name, setting=None, nodes=None, group=None):
        """The messages of one trial."""
        value = self.row(name, setting, nodes, group).messages
        if value is None:
            raise KeyError(f"messages of {name}")
        return value

    def least(self, *names, settings=None):
        """The smallest median of those names (and settings) that were measured."""
        row = self.results.best(self.kernel, names, settings)
        if not row:
            raise KeyError(" or ".join(names))
        return row.median

    def round_trip(self):
        """2 x ib_send_lat of 64 B, polling."""
        return 2 * self.of("ib_send_lat_64")

    def transfer(self, name, size):
        """Time in us for so many bytes at a bandwidth that was measured in MiB/s."""
        return size / MIB / self.of(name) * 1e6


def _exchange(nodes):
    return lambda n: n.least(f"exchange_{nodes}_polling", f"exchange_{nodes}_events")


def _barrier(nodes):
    return lambda n: n.of(f"barrier_{nodes}", "", nodes, BARRIERS)


GOALS = (
    Goal("cold page fetch, fetch=read, against ib_read_lat 4 KiB polling", 1.25,
         lambda n: n.of("fetch_cold", "fetch=read", None, FETCH),
         lambda n: n.of("ib_read_lat_4096")),
    Goal("cold page fetch, fetch=read, waiters always spin (poll_always), against the same", 1.25,
         lambda n: n.of("fetch_cold", "fetch=read", None, SPINNING),
         lambda n: n.of("ib_read_lat_4096")),
    Goal("cold page fetch, fetch=read, waiters sleep, against the chained READs with events", 1.25,
         lambda n: n.of("fetch_cold", "fetch=read", None, SLEEPING),
         lambda n: n.of("chained_read_events")),
    Goal("cold page fetch, fetch=nocopy, against ib_send_lat 64 B + ib_write_lat 4 KiB", 1.3,
         lambda n: n.of("fetch_cold", "fetch=nocopy", None, FETCH),
         lambda n: n.of("ib_send_lat_64") + n.of("ib_write_lat_4096")),
    Goal("sequential read of 16 MiB, fault-around, best fetch, against ib_read_bw", 1.25,
         lambda n: n.least("sequential_16MiB", settings=AROUND),
         lambda n: n.transfer("ib_read_bw_65536", 16 * MIB)),
    Goal("the same with default settings", 1.25,
         lambda n: n.of("sequential_16MiB", "", None, FETCH),
         lambda n: n.transfer("ib_read_bw_65536", 16 * MIB)),
    Goal("lock, token free at a remote manager, against a round trip", 1.3,
         lambda n: n.of("lock_remote", "", None, LOCKS), Numbers.round_trip),
    Goal("lock, hand-over between two nodes, against one way", 1.5,
         lambda n: n.of("lock_handover", "", None, LOCKS), lambda n: n.of("ib_send_lat_64")),
    Goal("lock, hand-over between two nodes, against one way with events", 1.5,
         lambda n: n.of("lock_handover", "", None, LOCKS), lambda n: n.of("ib_send_lat_64_events")),
    Goal("lock, hand-over after 4 ms in which all sleep, against one way with events", 1.5,
         lambda n: n.of("lock_handover_idle", "", None, LOCKS), lambda n: n.of("ib_send_lat_64_events")),
    Goal("lock and unlock, token cached, against a pthread mutex", 3,
         lambda n: n.of("lock_unlock_cached", "", None, LOCKS), lambda n: n.of("mutex_lock_unlock"), "ns"),
    Goal("lock and unlock, token cached: messages", 0,
         lambda n: n.count("lock_unlock_cached", "", None, LOCKS), None, "count"),
    Goal("lock and unlock, token cached: system calls", 0,
         lambda n: n.of("lock_unlock_cached_syscalls", "", None, LOCKS), None, "count"),
    Goal("barrier of 2, against a round trip", 1.15, _barrier(2), Numbers.round_trip),
    Goal("barrier of 4, against the raw exchange", 1.3, _barrier(4), _exchange(4)),
    Goal("barrier of 8, against the raw exchange", 1.3, _barrier(8), _exchange(8)),
    Goal("release of 128 pages with one word each, against a round trip", 3,
         lambda n: n.of("release_128_words", "", None, RELEASES), Numbers.round_trip),
    Goal("the same, with the word to a sync manager elsewhere", 3,
         lambda n: n.of("release_128_words", "", None, TOLD), Numbers.round_trip),
    Goal("release of 128 pages with one word each, against diff=orig", 0.1,
         lambda n: n.of("release_128_words", "", None, RELEASES),
         lambda n: n.of("release_128_words", "diff=orig,diffpath=msg", None, ORIG_PIPE)),
    Goal("release of 256 whole pages, against ib_write_bw 64 KiB", 1.25,
         lambda n: n.of("release_256_pages", "", None, RELEASES),
         lambda n: n.transfer("ib_write_bw_65536", MIB)),
    Goal("diff of an unchanged page, against a 64-bit compare loop (host)", 1.5,
         lambda n: n.of("diff_unchanged"), lambda n: n.of("compare_loop"), "ns", False),
    Goal("application of a run of 4 KiB, against memcpy (host)", 1.5,
         lambda n: n.of("apply_page"), lambda n: n.of("memcpy_page"), "ns", False),
    Goal("messages of a remote acquire (2 or 3)", 3,
         lambda n: n.count("lock_remote", "", None, LOCKS), None, "count"),
    Goal("handlers at the home of a fetch, fetch=read", 0,
         lambda n: n.of("fetch_again_home_handlers", "fetch=read", None, FETCH), None, "count"),
    Goal("messages of a barrier of 2", 2, lambda n: n.count("barrier_2", "", 2, BARRIERS), None, "count"),
    Goal("messages of a barrier of 4", 6, lambda n: n.count("barrier_4", "", 4, BARRIERS), None, "count"),
    Goal("messages of a barrier of 8", 14, lambda n: n.count("barrier_8", "", 8, BARRIERS), None, "count"),
    Goal("metadata, bytes of protocol state per touched page", 64,
         lambda n: n.of("metadata_page"), None, "bytes"),
)


def evaluate(results, kernels):
    """
    A dict for every goal and kernel, each with a name of its own; without its numbers a ratio of None and
    the reason.
    """
    out = []
    for goal in GOALS:
        for kernel in kernels if goal.kernels else ("host",):
            entry = {"name": goal.name + (f", kernel {kernel}" if goal.kernels else ""),
                     "ratio": None, "goal": goal.goal, "kernel": kernel, "value": None, "floor": None,
                     "unit": goal.unit, "note": ""}
            numbers = Numbers(results, kernel)
            try:
                entry["value"] = goal.value(numbers)
                if goal.floor:
                    entry["floor"] = goal.floor(numbers)
                    entry["ratio"] = entry["value"] / entry["floor"]
                else:
                    entry["ratio"] = entry["value"]
            except KeyError as e:
                entry["note"] = f"{NOT_MEASURED}: {e.args[0]}"
            out.append(entry)
    return out


def operation(entry):
    """What a goal is of: its name without the kernel."""
    return entry["name"].removesuffix(f", kernel {entry['kernel']}")


NOT_MEASURED = "not measured"


def break_even(results, kernel):
    """
    Up to how many runs in a page writing each of them into the master copy is not slower than
    packing them: {"kernel", "runs", "note"}, by straight lines between the numbers measured.
    """
    times = {"write": {}, "msg": {}}
    for row in results.rows.values():
        m = re.fullmatch(r"runs_(\d+)", row.name)
        path = row.setting.removeprefix("diffpath=")
        if m and row.kernel == kernel and path in times:
            times[path][int(m[1])] = row.median
    lead = {n: times["msg"][n] - times["write"][n] for n in sorted(times["msg"])
            if n in times["write"]}
    out = {"kernel": kernel, "runs": None, "note": ""}
    won = [n for n, us in lead.items() if us >= 0]
    if not lead:
        out["note"] = NOT_MEASURED
    elif not won:
        out["note"] = f"packed is faster from {min(lead)} run on"
    elif won[-1] == max(lead):
        out["note"] = f"direct is not slower up to {max(lead)} runs"
    else:
        low = won[-1]
        high = min(n for n in lead if n > low)
        out["runs"] = round(low + (high - low) * lead[low] / (lead[low] - lead[high]), 1)
    return out


def break_even_line(entry):
    """The break-even of a kernel as text."""
    said = entry["note"] or f"break-even at {entry['runs']:g} runs"
    return (f"Direct writes against packed diffs, 8 bytes a run, kernel {entry['kernel']}: {said}")


def table(entries):
    """The goals as text."""
    out = ["", "Goals (ratios of medians of this run; counts where the floor is empty)",
           f"  {'goal':76} {'kernel':8} {'value':>9} {'floor':>9} {'unit':5} {'ratio':>7} {'at most':>7}"]
    for e in entries:
        ratio = figure(e["ratio"]) if not e["note"] else e["note"]
        out.append(f"  {operation(e):76} {e['kernel']:8} {figure(e['value']):>9} "
                   f"{figure(e['floor']):>9} {e['unit']:5} {ratio:>7} {figure(e['goal']):>7}")
    return "\n".join(out)
