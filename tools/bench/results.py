# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Keeps what was measured, repetition by repetition, and prints it. Never says what is good."""
import os
import statistics
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
TAKEN_MUCH = 10	# percent of the processors


def commit():
    """The commit of this tree, with a mark if files differ from it."""
    out = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty"], capture_output=True, text=True,
                         check=False)
    return out.stdout.strip() or "unknown"


class Row:
    """One operation under one setting: a dict per repetition, as the programs print them."""

    def __init__(self, kernel, nodes, group, name, setting, unit):
        self.kernel, self.nodes, self.group = kernel, nodes, group
        self.name, self.setting, self.unit = name, setting, unit
        # What was set of the module's tunables for it.
        self.tunables = {}
        self.repetitions = []

    def _all(self, field):
        return [r[field] for r in self.repetitions if r.get(field) is not None]

    @property
    def median(self):
        """Median over the repetitions of their medians."""
        return statistics.median(self._all("median"))

    def over(self, field, how=statistics.median):
        """A number over the repetitions of one field, or None if no one has it."""
        values = self._all(field)
        return how(values) if values else None

    @property
    def messages(self):
        """Messages of one trial, sent and received by the measuring node, or sent by all."""
        return self.over("messages")

    @property
    def trials(self):
        """Trials of a repetition in words: least and most, if some have fewer."""
        least, most = self.over("n", min), self.over("n", max)
        return f"{most:.0f}" if least == most else f"{least:.0f}..{most:.0f}"

    def as_dict(self):
        """For JSON."""
        return {"kernel": self.kernel, "nodes": self.nodes, "group": self.group,
                "name": self.name, "setting": self.setting, "unit": self.unit,
                "tunables": self.tunables,
                "median": self.median, "min": self.over("median", min),
                "max": self.over("median", max), "p10": self.over("p10"), "p90": self.over("p90"),
                "messages": self.messages, "transfers": self.over("transfers"), "bytes": self.over("bytes"),
                "trials": self.over("n", max), "trials_least": self.over("n", min),
                "repetitions": self.repetitions}


class Results:
    """All rows of a run, and the settings that a module refused."""

    def __init__(self):
        self.rows = {}
        self.refused = []
        self.failed = []

    def add(self, kernel, nodes, group, setting, lines, tunables=None):
        """Take the lines of one run of a program; lines of one name from many ranks are one."""
        merged = {}
        for line in lines:
            merged.setdefault(line["name"], []).append(line)
        for name, same in merged.items():
            key = (kernel, nodes, group, name, setting)
            row = self.rows.setdefault(key, Row(kernel, nodes, group, name, setting,
                                                same[0]["unit"]))
            row.tunables = tunables or {}
            row.repetitions.append(_merge(same))

    def load(self, entries):
        """Take what as_dict() gave, from a file."""
        for e in entries:
            key = (e["kernel"], e["nodes"], e["group"], e["name"], e["setting"])
            row = self.rows.setdefault(key, Row(*key, e["unit"]))
            row.tunables = e.get("tunables", {})
            row.repetitions += e["repetitions"]

    def refuse(self, kernel, nodes, group, setting, why):
        """A setting that this module does not have: said in the table, once."""
        entry = {"kernel": kernel, "nodes": nodes, "group": group, "setting": setting,
                 "why": why}
        if entry not in self.refused:
            self.refused.append(entry)

    def fail(self, kernel, nodes, group, setting, why):
        """A program that did not end well: nothing was measured by it."""
        self.failed.append({"kernel": kernel, "nodes": nodes, "group": group,
                            "setting": setting, "why": why})

    def find(self, kernel, name, setting=None, nodes=None, group=None):
        """The row of a name (and setting, number of nodes, group), or None: the first of them."""
        for row in self.rows.values():
            if (row.kernel == kernel and row.name == name and group in (None, row.group) and
                    (setting is None or row.setting == setting) and
                    (nodes is None or row.nodes == nodes)):
                return row
        return None

    def best(self, kernel, names, settings=None):
        """The row with the least time among the names, under any or these settings, or None."""
        found = [r for r in self.rows.values() if r.kernel == kernel and r.name in names and
                 (settings is None or r.setting in settings)]
        return min(found, key=lambda r: r.median) if found else None


def _merge(same):
    """Lines of the ranks of one operation: the middle rank's times, and all messages sent."""
    if len(same) == 1:
        line = dict(same[0])
        if "sent" in line:
            line["messages"] = line["sent"] + line["received"]
        if "moved" in line:
            line["transfers"] += line["signals"]
            line["bytes"] += line["moved"]
        return line
    line = {"name": same[0]["name"], "unit": same[0]["unit"], "n": same[0]["n"],
            "ranks": [dict(s) for s in same]}
    for field in ("median", "p10", "p90", "min", "max"):
        values = [s[field] for s in same if field in s]
        if values:
            line[field] = statistics.median(values)
    if all("sent" in s for s in same):
        line["messages"] = sum(s["sent"] for s in same)
        line["bytes"] = sum(s["bytes"] for s in same) / 2
    # Whoever begins a transfer counts it, and nobody else.
    if all("moved" in s for s in same):
        line["transfers"] = sum(s["transfers"] for s in same)
        line["bytes"] += sum(s["moved"] for s in same)
    return line


def figure(value):
    """A number as a person reads it."""
    if value is None:
        return "-"
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}"


def heading(info):
    """What the numbers of a run depend on, as lines of text."""
    out = [f"dsm {info['commit']}, {info['date']}, host with {info['host']['processors']} "
           f"processors; module {info['module_flags']}, programs {info['program_flags']}"]
    for r in info["runs"]:
        out.append(f"  kernel {r.get('release', r['kernel'])}, {r['nodes']} guests of "
                   f"{r.get('cpus', '?')} CPU and {r.get('memory', '?')}, "
                   f"{r.get('accelerator', 'not started')}; {r['repetitions']} of "
                   f"{r['repetitions_wanted']} repetitions"
                   + (", not all trials" if r["reduced"] else "")
                   + f"; host load before {r['load_before']}"
                   + (f", {r['taken_before']} % of its processors taken" if "taken_before" in r else "")
                   + (f"; {' '.join(r['module_args'])}" if r["module_args"] else ""))
    if any(r["load_before"] > 1 for r in info["runs"]):
        out.append("  The host did other work too: polling floors suffer most by that.")
    if any(r.get("taken_before", 0) > TAKEN_MUCH for r in info["runs"]):
        out.append("  Others take processors from the host itself, for milliseconds at a time: no latency here says much.")
    return "\n".join(out)


def table(results):
    """All rows as text."""
    out = []
    group = None
    for row in sorted(results.rows.values(),
                      key=lambda r: (r.kernel, r.nodes, r.group)):
        if (row.kernel, row.nodes, row.group) != group:
            group = (row.kernel, row.nodes, row.group)
            out += ["", f"{row.group}, {row.nodes} nodes, kernel {row.kernel}",
                    f"  {'operation':34} {'setting':30} {'median':>9} {'min':>9} {'max':>9} "
                    f"{'unit':5} {'msgs':>5} {'1-sided':>7} {'bytes':>8} {'trials':>9}"]
        out.append(f"  {row.name:34} {row.setting or 'as it is':30} {figure(row.median):>9} "
                   f"{figure(row.over('median', min)):>9} {figure(row.over('median', max)):>9} "
                   f"{row.unit:5} {figure(row.messages):>5} {figure(row.over('transfers')):>7} "
                   f"{figure(row.over('bytes')):>8} "
                   f"{row.trials:>9}")
    for title, entries in (("Refused by the module:", results.refused),
                           ("Did not end well:", results.failed)):
        if entries:
            out += ["", title]
            out += [f"  {e['group']}, {e['nodes']} nodes, kernel {e['kernel']}, "
                    f"{e['setting'] or 'as it is'}: {e['why']}" for e in entries]
    return "\n".join(out)
