# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Puts a run's numbers into Documentation/performance.rst: between its marks, and nowhere else."""
import os
import re
import shutil

from . import goals, plots
from .plan import PIPE_WAYS, POLLS, SLEEPING, SPINNING
from .results import TOP, Results, heading

PATH = os.path.join(TOP, "Documentation/performance.rst")
PLOTS = os.path.join(TOP, "Documentation/performance")
# Groups that are shown row by row; the others have tables of their own, or only plots.
GROUPS = ("page fetch", SLEEPING, SPINNING, "locks", "barriers", "releases",
          "releases, with the word to a sync manager elsewhere", "releases, no twin is kept",
          "diffs by size", "diffs by number of runs")
PIPED = ("release_8_words", "release_128_words", "release_64_pages")
SIGNATURE = ("o_s", "o_r", "L", "g")
PACKS = "packs of diffs, sent and by the ring"
# Columns of who handles completions, where the parameter's value says too much: answers are a work item's there.
POLL_TITLES = {"softirq": "sends in softirq"}
COUNTS = ("doorbells", "work_requests", "completions")
# The file has the plots of one kernel; those of the other are in build/bench.
PICTURES = re.compile(r"(goals|fetch|(.*)-6\.12)\.svg")


def figure(value):
    """A number as a person reads it."""
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def listed(head, rows):
    """A table, one line a row."""
    out = [".. csv-table::", "   :header-rows: 1", ""]
    for row in (head, *rows):
        out.append("   " + ",".join('"' + str(cell).replace('"', '""') + '"' for cell in row))
    return "\n".join(out) + "\n"


def _measured(row):
    """Median, and least and most of the repetitions if there are several."""
    if not row:
        return ""
    text = figure(row.median)
    if len(row.repetitions) > 1:
        text += f" ({figure(row.over('median', min))} to {figure(row.over('median', max))})"
    return text


class Document:
    """The numbers of one or more runs, one kernel or several."""

    def __init__(self, runs):
        self.runs, self.results, self.goals = runs, Results(), []
        for data in runs:
            self.results.load(data["results"])
            self.goals += data["goals"]
        self.kernels = []
        for g in self.goals:
            if g["kernel"] not in (*self.kernels, "host"):
                self.kernels.append(g["kernel"])

    def block(self, name):
        """The text of a block of the file; None: it stays as it is."""
        return {"run": self._run, "goals": self._goals, "floors": self._floors,
                "operations": self._operations, "pipe": self._pipe, "messages": self._messages,
                "plots": self._plots, "completions": self._completions}[name]()

    def _run(self):
        text = "\n".join(heading(data) for data in self.runs)
        lines = "\n".join(f"   {line}".rstrip() for line in text.splitlines())
        refused = sorted({f"{e['setting']}: {e['why']}" for d in self.runs for e in d["refused"]})
        failed = [f"{e['group']}, {e['nodes']} nodes, kernel {e['kernel']}, {e['setting']}: "
                  f"{e['why']}" for d in self.runs for e in d["failed"]]
        for title, entries in (("Refused by the module", refused), ("Did not end well", failed)):
            if entries:
                lines += f"\n   {title}:\n" + "\n".join(f"     {e}" for e in entries)
        return f"::\n\n{lines}\n"

    def _goals(self):
        head = ["Operation", "At most"] + [f"{k}: {w}" for k in self.kernels
                                           for w in ("value", "floor", "ratio")]
        by_name = {}
        for g in self.goals:
            by_kernel = by_name.setdefault(goals.operation(g), {})
            # The first run that measured it; one that measured something else does not know.
            if by_kernel.get(g["kernel"], {"note": True})["note"]:
                by_kernel[g["kernel"]] = g
        rows = []
        for name, by_kernel in by_name.items():
            row = [name, figure(next(iter(by_kernel.values()))["goal"])]
            for kernel in self.kernels:
                row += self._goal(by_kernel.get(kernel) or by_kernel.get("host"))
            rows.append(row)
        return listed(head, rows)

    @staticmethod
    def _goal(g):
        if not g or g["note"]:
            return ["", "", "not measured"]
        missed = ", missed" if g["ratio"] > g["goal"] else ""
        floor = f"{figure(g['floor'])} {g['unit']}" if g["floor"] else ""
        return [f"{figure(g['value'])} {g['unit']}", floor, figure(g["ratio"]) + missed]

    def _rows(self, group):
        """{(name, setting, nodes): {kernel: row}}, in the order measured."""
        out = {}
        for r in self.results.rows.values():
            if r.group == group:
                out.setdefault((r.name, r.setting, r.nodes), {})[r.kernel] = r
        return out

    def _floors(self):
        rows = [[f"{name}", next(iter(by.values())).unit,
                 *(_measured(by.get(k) or by.get("host")) for k in self.kernels)]
                for group in ("floors", "host")
                for (name, _, _), by in self._rows(group).items()]
        return listed(["Floor", "Unit", *self.kernels], rows)

    def _operations(self):
        rows = []
        for group in GROUPS:
            for (name, setting, nodes), by in self._rows(group).items():
                any_row = next(iter(by.values()))
                rows.append([group, f"``{name}``" + (f", {nodes} nodes" if nodes > 2 else ""),
                             setting or "default", any_row.unit,
                             *(_measured(by.get(k)) for k in self.kernels),
                             figure(any_row.messages), figure(any_row.over("transfers")),
                             figure(any_row.over("bytes"))])
        return listed(["Group", "Operation", "Setting", "Unit", *self.kernels, "Messages", "One-sided",
                       "Bytes"], rows)

    def _completions(self):
        by_operation = {}
        for who, group in POLLS.items():
            for (name, setting, _), by in self._rows(group).items():
                for kernel, row in by.items():
                    if row.unit == "us":
                        by_operation.setdefault((name, setting), {})[kernel, who] = row
        if not by_operation:
            return None
        columns = [(k, who) for k in self.kernels for who in POLLS]
        rows = [[f"``{name}``", setting or "default", *(_measured(by.get(c)) for c in columns)]
                for (name, setting), by in by_operation.items()]
        runs = [f"dsm {d['commit']}, {d['date']}" for d in self.runs
                if any(r["group"] in POLLS.values() for r in d["results"])]
        return (listed(["Operation, us", "Setting", *(f"{k}: {POLL_TITLES.get(who, who)}" for k, who in columns)],
                       rows) +
                f"\n{'; '.join(runs)}.\n")

    def _pipe(self):
        rows = []
        for group, _, tunables in PIPE_WAYS:
            by_way = ", ".join([group.split(", ")[1], *(f"``{name}`` {value}" for name, value in tunables.items())])
            for setting in dict.fromkeys(setting for _, setting, _ in self._rows(group)):
                found = [self.results.find(k, name, setting, 2, group)
                         for name in PIPED for k in self.kernels]
                rows.append([by_way, setting, *(f"{figure(r.median)}, {figure(r.messages)}" if r else ""
                                                for r in found)])
        evens = [e for d in self.runs for e in d["break_even"]]
        measured = [e for e in evens if e["note"] != goals.NOT_MEASURED]
        evens = [goals.break_even_line(e) for e in measured or evens]
        head = ["Diffs", "Setting", *(f"{what}: {k}" for what in
                                      ("8 pages, a word each", "128 pages, a word each", "64 whole pages")
                                      for k in self.kernels)]
        return (listed(head, rows) + "\nMedian in us, messages. " + ". ".join(evens) + ".\n")

    def _messages(self):
        signatures = {}
        for r in self.results.rows.values():
            m = re.fullmatch(r"logp_(\w+?)_(\w+?)_(\d+)_(o_s|o_r|g|L)", r.name)
            if m:
                signatures.setdefault((m[1], m[2], m[3]), {})[r.kernel, m[4]] = r.median
        rows = [[*key, *(figure(by.get((k, p))) for k in self.kernels for p in SIGNATURE)]
                for key, by in signatures.items()]
        text = listed(["Mechanism", "Priority", "Bytes",
                       *(f"{k}: {p}" for k in self.kernels for p in SIGNATURE)], rows)
        calls = [[name, *(_measured(by.get(k)) for k in self.kernels)]
                 for (name, _, _), by in self._rows("messages").items()
                 if name.startswith("call_")]
        trains = [[name, *(_measured(by.get(k)) for k in self.kernels)]
                  for (name, _, _), by in self._rows("messages").items()
                  if name.startswith(("train_", "break_even_bulk_"))]
        return (text + "\nA call without arguments, us:\n\n" + listed(["Call", *self.kernels], calls) +
                "\nSo many messages of so many bytes behind their headers, handed over together, until "
                "the last is answered, us; and\nthe number from which on the ring is not slower "
                "than a chain, 0: never:\n\n" + listed(["Train", *self.kernels], trains) +
                "\nReleases in packs, by ``bulk_min``: us, and doorbells, work requests, completions "
                "of the writer's node:\n\n" + self._packs())

    def _packs(self):
        rows = {}
        for (name, _, _), by in self._rows(PACKS).items():
            m = re.fullmatch(r"packs_(\w+)_bulk_min_(\d+)(?:_(\w+))?", name)
            if m:
                rows.setdefault((m[1].replace("_", " "), m[2]), {})[m[3]] = by
        cells = [[*key, *(", ".join(figure(found[what][k].median) if k in found.get(what, {}) else "-"
                                    for what in (None, *COUNTS)) for k in self.kernels)]
                 for key, found in rows.items()]
        return listed(["Pages", "bulk_min", *self.kernels], cells)

    def _plots(self):
        shutil.rmtree(PLOTS, ignore_errors=True)
        made = plots.draw(self.results, self.goals, self.kernels, PLOTS, plots.TERMINALS[:1])
        text = ""
        for path in sorted(made):
            if not PICTURES.fullmatch(os.path.basename(path)):
                os.unlink(path)
                continue
            text += f".. image:: performance/{os.path.basename(path)}\n"
        return text or "(none drawn)\n"


def fill(text, document):
    """The text with every marked block replaced."""
    def block(m):
        made = document.block(m[2])
        return m[0] if made is None else f"{m[1]}\n{made}\n{m[3]}"

    return re.sub(r"(\.\. begin (\w+)\n).*?^(\.\. end \2$)", block, text,
                  flags=re.DOTALL | re.MULTILINE)


def write(runs):
    """Fill the file's blocks from what `make bench JSON=FILE` wrote, and draw its plots."""
    with open(PATH, encoding="utf-8") as f:
        text = f.read()
    text = fill(text, Document(runs))
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(text)
