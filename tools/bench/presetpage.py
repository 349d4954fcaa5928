# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The table and the picture of `dsm-bench variants`, and Documentation/variants.rst, which is filled between its marks."""
import os
import shutil

from . import document, plots, tables
from .programs import Failed

COUNTS = ("page_transfers", "invalidations", "diffs", "migrations", "migration_attempts")
COLUMNS = ("preset", "seconds", "speedup", "transfers", "invalid.", "diffs", "migrations", "(attempts)",
           "computing", "protocol", "page locks", "wait", "message", "handlers")
PATH = os.path.join(document.TOP, "Documentation/variants.rst")
PICTURES = os.path.join(document.TOP, "Documentation/variants")
# Before anything was measured for the file.
EMPTY = """.. SPDX-License-Identifier: GPL-2.0-only
.. Copyright (C) 2026 The dsm authors

==========================
Programs under each preset
==========================

The columns of the Cashmere paper's table 4 and the breakdown of its figure 1, for programs of `apps <apps.rst>`__ under every
`preset <presets.rst>`__. Between the marks this page is written by ``tools/bench/rst``, from what was measured with::

    dsm-bench variants --short --same-homes --repetitions N --json FILE PROGRAM...

*page locks* (``ns_wait_page_lock``) is what faults waited for a release of their own node that was just reading the page, for the page's
lock in the kernel, which another thread had, or for the node's lock, one for all pages, below which the diffs that arrive are applied:
faults and diffs meet there, as they do at the locks of pages in the paper. What the diffs' handlers wait is ``ns_message_wait``, and no thread's
time. With one processor to a guest nobody ever waits for that lock.

.. begin run
.. end run

.. begin tables
.. end tables
"""


def alone(run):
    """What ran, and how long without dsm, in words."""
    return " ".join([run["program"], *run["words"]]) + f", without dsm {run['seconds']:.2f} s"


def cells(run):
    """Of a run under a preset, by COLUMNS."""
    spread = f" {run['fastest']:.2f}-{run['slowest']:.2f}" if run["slowest"] > run["fastest"] else ""
    found = [run["preset"], f"{run['seconds']:.2f}{spread}", f"{run['speedup']:.2f}" if run["speedup"] else "-",
             *(str(run["counters"].get(key, 0)) for key in COUNTS),
             *(tables.percent(share) for share in (*run["breakdown"].values(), run["handlers"]))]
    found[7] = f"({found[7]})"
    return found


def row(run, widths):
    """A line of the table."""
    if isinstance(run, Failed):
        return f"  failed: {run}"
    if not run["nodes"]:
        return alone(run)
    name, *others = cells(run)
    return "  ".join(f"{cell:{width}}" for cell, width in zip([f"  {name}", *others], widths)).rstrip()


def draw(directory, runs, kernel, terminals=plots.TERMINALS):
    """Bars of the time of a program, the first preset's is 100, stacked by where it goes; False without gnuplot."""
    if not plots.drawable():
        return False
    runs = [run for run in runs if run["seconds"]]
    if not runs:
        return True	# nothing that could be drawn
    first, name = runs[0]["seconds"], runs[0]["program"]
    series = [(part, {run["preset"]: 100 * run["breakdown"][part] * run["seconds"] / first for run in runs})
              for part in runs[0]["breakdown"]]
    plots.Plotter(directory, terminals).stacked(
        f"variants-{name}-{kernel}", f"{name}, {runs[0]['nodes']} nodes, kernel {kernel}", f"time, % of {runs[0]['preset']}",
        series)
    return True


class Page:
    """The blocks of the file, from what `dsm-bench variants --json` wrote."""

    def __init__(self, measured, pictures):
        self.measured, self.pictures = measured, pictures

    def block(self, name):
        """The text of a block of the file."""
        return {"run": self._run, "tables": self._tables}[name]()

    def _run(self):
        lines = []
        for data in self.measured:
            lines += [f"dsm {data['commit']}, {data['date']}", *data["head"], ""]
        return "::\n\n" + "\n".join(f"   {line}".rstrip() for line in lines[:-1]) + "\n"

    def _tables(self):
        return "\n".join(self._program(data, name) for data in self.measured
                         for name in dict.fromkeys(run["program"] for run in data["runs"]))

    def _program(self, data, name):
        plain, runs = ([run for run in data["runs"] if run["program"] == name and bool(run["nodes"]) == shared]
                       for shared in (False, True))
        title = f"{name}, kernel {data['kernel']}"
        text = "\n".join([title, "-" * len(title), "", *map(alone, plain), "", document.listed(COLUMNS, map(cells, runs))])
        for refused in data["refused"]:
            if refused["program"] == name:
                text += f"\nNot here: {refused['preset']}, {refused['why']}\n"
        picture = f"variants-{name}-{data['kernel']}"
        if runs and draw(self.pictures, runs, data["kernel"], plots.TERMINALS[:1]):
            text += f"\n.. image:: {os.path.basename(self.pictures)}/{picture}.svg\n"
        return text


def current():
    """The text of the file as it is."""
    if not os.path.exists(PATH):
        return EMPTY
    with open(PATH, encoding="utf-8") as f:
        return f.read()


def write(measured):
    """Fill the file's blocks, and draw its pictures anew."""
    text = current()
    shutil.rmtree(PICTURES, ignore_errors=True)
    text = document.fill(text, Page(measured, PICTURES))
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(text)
