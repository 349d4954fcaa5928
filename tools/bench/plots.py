# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Draws a run's results by gnuplot, each plot as SVG and PNG. Draws what is there, skips the rest."""
import os
import re
import shutil
import subprocess

from .goals import operation
from .plan import BARRIERS, FETCH, ORIG_PIPE, ORIG_PIPE_RING, ORIG_PIPE_RUNS, POLLS

HEAD = """set encoding utf8
set datafile missing "?"
set grid ytics lc rgb "#dddddd"
set key outside top center horizontal
set title {title}
set ylabel {ylabel}
set yrange [0:*]
"""
TERMINALS = (("svg", "svg size 900,520 dynamic enhanced background 'white' font 'sans,12'"),
             ("png", "pngcairo size 900,520 background 'white' font 'sans,11'"))


def _quoted(text):
    text = text.replace("\\", "").replace("'", "").replace("_", " ")
    return f"'{text}'"


class Plotter:
    """Writes plots to a directory."""

    def __init__(self, directory, terminals=TERMINALS):
        self.directory, self.terminals = directory, terminals
        self.made = []
        os.makedirs(directory, exist_ok=True)

    def _draw(self, name, body):
        for ending, terminal in self.terminals:
            path = os.path.join(self.directory, f"{name}.{ending}")
            script = f"set terminal {terminal}\nset output '{path}'\n{body}"
            subprocess.run(["gnuplot"], input=script, text=True, check=True,
                           stderr=subprocess.DEVNULL)
            self.made.append(path)

    @staticmethod
    def _block(series):
        """gnuplot's inline data: columns are x or label, then one per series."""
        keys = []
        for _, points in series:
            keys += [x for x in points if x not in keys]
        if keys and all(isinstance(k, (int, float)) for k in keys):
            keys.sort()
        rows = []
        for x in keys:
            cells = [str(points.get(x, "?")) for _, points in series]
            label = x if isinstance(x, (int, float)) else '"' + x.replace("_", " ") + '"'
            rows.append(f"{label} {' '.join(cells)}")
        return "$data << EOD\n" + "\n".join(rows) + "\nEOD\n"

    def bars(self, name, title, ylabel, series):
        """series: (label, {category: value}) pairs."""
        self._histogram(name, title, ylabel, series, "cluster gap 1")

    def stacked(self, name, title, ylabel, series):
        """The same, on top of each other."""
        self._histogram(name, title, ylabel, series, "rowstacked\nset boxwidth 0.75")

    def _histogram(self, name, title, ylabel, series, style):
        series = [(label, points) for label, points in series if points]
        if not series:
            return
        body = self._block(series) + HEAD.format(title=_quoted(title), ylabel=_quoted(ylabel))
        body += (f"set style data histogram\nset style histogram {style}\n"
                 "set style fill solid 0.8\nset xtics rotate by -25\n")
        body += "plot " + ", ".join(f"$data using {i + 2}:xtic(1) title {_quoted(label)}"
                                    for i, (label, _) in enumerate(series)) + "\n"
        self._draw(name, body)

    def lines(self, name, title, xlabel, ylabel, series, log=False, log_y=False):
        """series: (label, {x: value}) pairs, x a number."""
        series = [(label, points) for label, points in series if points]
        if not series:
            return
        body = self._block(series) + HEAD.format(title=_quoted(title), ylabel=_quoted(ylabel))
        body += f"set xlabel {_quoted(xlabel)}\n"
        body += "set logscale x 2\n" if log else ""
        body += "set yrange [*:*]\nset logscale y\n" if log_y else ""
        body += "plot " + ", ".join(f"$data using 1:{i + 2} with linespoints title {_quoted(label)}"
                                    for i, (label, _) in enumerate(series)) + "\n"
        self._draw(name, body)


# As dsm-bench names them; by the ring go requests only, and their answers as they are.
MECHANISMS = ("inline", "gather", "batch", "bulk")
POLLED = ("fetch_cold", "fetch_again", "lock_remote", "lock_handover", "barrier_2", "release_1_word",
          "release_128_words")
BURST_BYTES = (16, 64, 256, 1024)


def _by(results, kernel, name, group=None):
    """{setting: median} of one operation."""
    return {r.setting or "default": r.median for r in results.rows.values()
            if r.kernel == kernel and r.name == name and group in (None, r.group)}


def _numbered(results, kernel, pattern, setting=None, group=None):
    """{number in the name: median} of names that match."""
    out = {}
    for r in results.rows.values():
        m = re.fullmatch(pattern, r.name)
        if m and r.kernel == kernel and setting in (None, r.setting) and group in (None, r.group):
            out[int(m[1])] = r.median
    return out


def _settings(results, kernel, pattern, group=None):
    return sorted({r.setting for r in results.rows.values()
                   if r.kernel == kernel and re.fullmatch(pattern, r.name) and group in (None, r.group)})


# How diffs go, in a word.
PIPE_TITLES = {ORIG_PIPE: "SEND", ORIG_PIPE_RING: "ring", ORIG_PIPE_RUNS: "runs"}


def _pipe(results, kernel, name):
    """(curves over depth, curves over buffer size, ORIG's time) of one operation."""
    depth, size, orig = {}, {}, None
    for r in results.rows.values():
        if r.kernel != kernel or r.name != name or r.group not in PIPE_TITLES:
            continue
        m = re.match(r"diff=pipe:(\d+):(\d+),", r.setting)
        way = PIPE_TITLES[r.group]
        if m:
            depth.setdefault(f"{int(m[1]) // 1024} KiB, {way}", {})[int(m[2])] = r.median
            size.setdefault(f"depth {m[2]}, {way}", {})[int(m[1]) // 1024] = r.median
        elif r.group == ORIG_PIPE:
            orig = r.median
    return depth, size, orig


def _several(curves):
    return [(label, points) for label, points in sorted(curves.items()) if len(points) > 1]


def _pipes(plotter, results, kernel):
    for name, what in (("release_8_words", "8 pages, a word each"),
                       ("release_128_words", "128 pages, a word each"),
                       ("release_64_pages", "64 whole pages")):
        depth, size, orig = _pipe(results, kernel, name)
        for curves, word, xlabel in ((depth, "depth", "buffers under way per home"),
                                     (size, "buffer", "KiB of a buffer")):
            series = _several(curves)
            if series and orig:
                xs = sorted({x for _, points in series for x in points})
                series.append(("ORIG, SEND", {x: orig for x in xs}))
            plotter.lines(f"pipe-{word}-{name}-{kernel}", f"Release of {what}, kernel {kernel}",
                          xlabel, "us", series, log=True)


def _curves(plotter, results, kernel):
    plotter.lines(f"diff-size-{kernel}", f"Release of one page by bytes changed, kernel {kernel}",
                  "bytes", "us", [(s or "default", _numbered(results, kernel, r"diff_(\d+)_bytes", s))
                                  for s in _settings(results, kernel, r"diff_(\d+)_bytes")], log=True)
    plotter.lines(f"runs-{kernel}", f"Release of 16 pages by runs in each, kernel {kernel}",
                  "runs of 8 bytes a page", "us",
                  [(s or "default", _numbered(results, kernel, r"runs_(\d+)", s))
                   for s in _settings(results, kernel, r"runs_(\d+)")], log=True)
    for pause in (0, 1000):
        for size in BURST_BYTES:
            plotter.lines(f"logp-{pause}" + (f"-{size}" if size != BURST_BYTES[0] else "") + f"-{kernel}",
                          f"Time per message of {size} bytes, pause of {pause} us, kernel {kernel}",
                          "messages of a burst", "us",
                          [(m, _numbered(results, kernel, rf"burst_{m}_{size}_pause_{pause}_of_(\d+)"))
                           for m in MECHANISMS], log=True)
    for way in ("one_way", "exchange"):
        plotter.lines(f"bandwidth-{way}-{kernel}", f"Messages, {way.replace('_', ' ')}, kernel {kernel}",
                      "bytes", "MiB/s", [(m, _numbered(results, kernel, rf"bandwidth_{way}_{m}_(\d+)"))
                                         for m in MECHANISMS], log=True, log_y=True)
    barriers = [(s or "barrier", _numbered(results, kernel, r"barrier_(\d+)", s, BARRIERS))
                for s in _settings(results, kernel, r"barrier_(\d+)", BARRIERS)]
    for way in ("polling", "events"):
        barriers.append((f"raw exchange, {way}",
                         _numbered(results, kernel, r"exchange_(\d+)_" + way)))
    plotter.lines(f"barrier-{kernel}", f"Barrier, nothing written, kernel {kernel}", "nodes", "us",
                  barriers)


def _polls(plotter, results, kernel):
    """What takes how long, by who handles completions."""
    series = []
    for who, group in POLLS.items():
        series.append((who, {name: row.median for name in POLLED
                             if (row := results.find(kernel, name, "", None, group))}))
    plotter.bars(f"poll-{kernel}", f"By who handles completions, kernel {kernel}", "us", series)


def short_names(names):
    """Goals by name: what they are of, and what against only where that alone tells two apart."""
    short = [name.split(", against")[0] for name in names]
    return {name: word if short.count(word) == 1 else name for name, word in zip(names, short)}


def drawable():
    """True if gnuplot is on this machine."""
    return bool(shutil.which("gnuplot"))


def draw(results, goals, kernels, directory, terminals=TERMINALS):
    """All plots of a run; the paths written."""
    if not drawable():
        return []
    plotter = Plotter(directory, terminals)
    fetch = []
    for kernel in kernels:
        points = _by(results, kernel, "fetch_cold", FETCH)
        for name in ("ib_read_lat_4096", "chained_read_events"):
            row = results.find(kernel, name)
            if row and points:
                points[name] = row.median
        fetch.append((kernel, points))
    plotter.bars("fetch", "Cold fetch of a page, and floors", "us", fetch)
    short = short_names(list(dict.fromkeys(map(operation, goals))))
    plotter.bars("goals", "Ratio reached / ratio allowed (1 = reached)", "", [
        (kernel, {short[operation(g)]: round(g["ratio"] / g["goal"], 3)
                  for g in goals if g["kernel"] == kernel and g["ratio"] is not None and g["goal"]})
        for kernel in kernels])
    for kernel in kernels:
        _curves(plotter, results, kernel)
        _pipes(plotter, results, kernel)
        _polls(plotter, results, kernel)
    return plotter.made
