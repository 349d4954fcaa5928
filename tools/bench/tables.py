# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The papers' tables: the runs that each needs, its rows, and what the papers have in their place.

A row is a dict: label, cells under the table's columns, and of ours also run (what programs.Bench.run()
gives), parts (shares of all nodes' time) and speedup. Never prints.
"""
from bench import programs, seeds
from bench.programs import Refused

HOMES = "/tmp/papers-homes"
# As the papers had it: tiles of two owners in a page.
FALSE_SHARING = {"lu": ("--pad", "0")}
# Parts of all nodes' time, as the papers have them; what is left is the program's own.
CASHMERE_PARTS = (("protocol", ("ns_protocol",)), ("page locks", ("ns_wait_page_lock",)),
                  ("wait", ("ns_wait_lock", "ns_wait_barrier", "ns_wait_flag")),
                  ("message", ("ns_wait_page", "ns_wait_release")))
HLRC_PARTS = (("page", ("ns_wait_page",)), ("lock", ("ns_wait_lock", "ns_wait_flag")), ("barrier", ("ns_wait_barrier",)),
              ("diffs", ("ns_wait_release", "ns_wait_page_lock")), ("overhead", ("ns_protocol",)))
SIZES = ("msgs_below_256", "msgs_below_1k", "msgs_below_4k", "msgs_larger")


def breakdown(run, parts):
    """Shares of all nodes' time: the program's own first."""
    shares = {part: sum(run["counters"].get(key, 0) for key in keys) / programs.whole_ns(run) for part, keys in parts}
    return {"computing": max(0.0, 1 - sum(shares.values())), **shares}


def handlers(run):
    """Share of the time that message handlers ran, during all else."""
    return run["counters"].get("ns_message", 0) / programs.whole_ns(run)


def count(n):
    """A count as the papers print it, in thousands."""
    return "-" if n is None else f"{n / 1000:.1f} K" if n >= 100 else str(n)


def percent(share):
    """A share."""
    return f"{100 * share:.1f} %"


def ours(label, run, cells, parts=None):
    """A row of a run, or of one that was refused."""
    if isinstance(run, Refused):
        return {"label": label, "cells": [f"not here: {run}"]}
    return {"label": label, "cells": [f"{run['seconds']:.2f}", f"{run['speedup']:.2f}", *cells(run)], "run": run,
            "speedup": run["speedup"], "parts": breakdown(run, parts) if parts else None}


def before(run):
    """The row of the sequential program."""
    return {"label": "without dsm", "cells": [f"{run['seconds']:.2f}"], "run": run}


class Speedups:
    """Time, speedup and traffic on each number of nodes."""

    key, title = "speedups", "Speedups and traffic, beside the Cashmere and HLRC papers' tables"
    papers = ("Cashmere", "HLRC")
    programs = programs.PROGRAMS
    columns = ("seconds", "speedup", "transfers", "invalid.", "diffs", "messages", "page", "lock", "barrier", "diffs",
               "overhead", "handlers")
    cpus = 1

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        parts = breakdown(run, HLRC_PARTS)
        return [*(count(run["counters"].get(key, 0)) for key in ("page_transfers", "invalidations", "diffs", "messages")),
                *(percent(parts[part]) for part, _ in HLRC_PARTS), percent(handlers(run))]

    def rows(self, bench, name):
        """Of one program."""
        yield before(bench.alone(name))
        for policy in bench.policies:
            for nodes in bench.nodes:
                yield ours(f"{nodes}, {policy}", bench.run(name, nodes, policy), self.cells, HLRC_PARTS)
        if name in seeds.FIGURES:
            paper, size, seconds, processors, speedup, *counts = seeds.FIGURES[name]
            yield {"label": f"{paper}: {size}, {processors} processors", "cells":
                   [f"{seconds:g} on 1", f"{speedup:g}", *(count(None if n is None else int(1000 * n)) for n in counts)]}


class Cashmere:
    """Table 4 and figure 1: all presets on the same homes."""

    key, title = "cashmere", "Cashmere, table 4 and figure 1: each preset on the homes of one run"
    papers = ("Cashmere",)
    programs = tuple(seeds.TABLE4)
    columns = ("seconds", "speedup", "transfers", "invalid.", "diffs", "migrations", "protocol", "page locks", "wait",
               "message", "handlers")
    cpus = 1

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        n = run["counters"]
        parts = breakdown(run, CASHMERE_PARTS)
        return [*(count(n.get(key, 0)) for key in ("page_transfers", "invalidations", "diffs")),
                f"{count(n.get('migrations', 0))} ({count(n.get('migration_attempts', 0))})",
                *(percent(parts[part]) for part, _ in CASHMERE_PARTS), percent(handlers(run))]

    def rows(self, bench, name):
        """Of one program: what the paper has stands below each preset."""
        nodes = max(bench.nodes)
        words = bench.words(name, FALSE_SHARING)
        yield before(bench.alone(name, words))
        bench.run(name, nodes, "preset=csm-dms", words, repetitions=1, keep_homes=HOMES)
        for i, preset in enumerate((*seeds.CASHMERE_PRESETS, "csm-adb")):
            policy = f"preset={preset}" + ("" if "-mg" in preset else ",home=first-touch")
            yield ours(f"{nodes}, {preset}", bench.run(name, nodes, policy, words, homes=HOMES), self.cells, CASHMERE_PARTS)
            if i < len(seeds.CASHMERE_PRESETS):
                speedup, *counts = (column[i] for column in seeds.TABLE4[name])
                yield {"label": "  Cashmere, 32 processors", "cells": ["", speedup, *(f"{n} K" for n in counts)]}


class Hlrc:
    """Table 5, figures 2 and 3: speedups, copies, sizes of messages."""

    key, title = "hlrc", "HLRC over VIA, table 5, figures 2 and 3: no copy against copy, sizes of messages"
    papers = ("HLRC",)
    programs = tuple(seeds.TABLE5)
    columns = ("seconds", "speedup", "computing", "page", "lock", "barrier", "diffs", "overhead", "handlers", "< 256 B",
               "< 1 KiB", "< 4 KiB", "larger")
    cpus = 1

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        sizes = [run["counters"].get(key, 0) for key in SIZES]
        return [*map(percent, breakdown(run, HLRC_PARTS).values()), percent(handlers(run)),
                *(percent(n / max(1, sum(sizes))) for n in sizes)]

    def rows(self, bench, name):
        """Of one program."""
        yield before(bench.alone(name))
        for nodes in bench.nodes:
            yield ours(f"{nodes}, no copy", bench.run(name, nodes, "preset=hlrc-nocopy,home=first-touch"), self.cells,
                       HLRC_PARTS)
        nodes = max(bench.nodes)
        yield ours(f"{nodes}, copy", bench.run(name, nodes, "preset=hlrc-copy,home=first-touch"), self.cells, HLRC_PARTS)
        yield {"label": "HLRC, 8 machines", "cells": ["", f"{seeds.TABLE5[name]:g}",
                                                      f"{seeds.FIGURE2}; {seeds.FIGURE3}"]}


class Diffs:
    """ORIG against PIPE."""

    key, title = "diffs", "ORIG against PIPE: one diff and its acknowledgement, or packed and pipelined"
    papers = ("ORIG and PIPE",)
    programs = tuple(seeds.DIFFS)
    columns = ("seconds", "speedup", "barrier", "diffs", "mean bytes", "intervals", "per interval", "diff MB", "all MB")
    cpus = 1

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        n = run["counters"]
        diffs, intervals, size = (n.get(key, 0) for key in ("diffs", "intervals", "diff_bytes"))
        whole = n.get("message_bytes", 0) + n.get("transfer_bytes", 0)
        return [percent(breakdown(run, HLRC_PARTS)["barrier"]), count(diffs), f"{size / max(1, diffs):.0f}", count(intervals),
                f"{diffs / max(1, intervals):.1f}", f"{size / 1e6:.1f}", f"{whole / 1e6:.1f}"]

    def rows(self, bench, name):
        """Of one program."""
        nodes = max(bench.nodes)
        words = bench.words(name, FALSE_SHARING)
        yield before(bench.alone(name, words))
        for preset in ("hlrc-orig", "hlrc-pipe"):
            # Homes in blocks, as there: with first touch the programs hardly make diffs.
            for homes in ("block:16", "first-touch"):
                yield ours(f"{nodes}, {preset}, home={homes}", bench.run(name, nodes, f"preset={preset},home={homes}", words),
                           self.cells, HLRC_PARTS)
        yield {"label": "ORIG and PIPE", "cells": ["", "", seeds.DIFFS[name]]}


class Startx:
    """Matrix multiplication, by machines and processors of each."""

    key, title = "startx", "StarT-X, table 2: matrices of 1024 rows, P = processors of each machine, + between machines"
    papers = ("StarT-X",)
    programs = ("matmul",)
    columns = ("seconds", "speedup", "StarT-X, s", "its ratio to 1+1")
    cpus = 2

    def rows(self, bench, name):
        """The only program."""
        words = ["--n", "1024"]
        yield before(bench.alone(name, words))
        for (machines, processors), seconds in seeds.STARTX.items():
            if machines > max(bench.nodes) or processors > self.cpus:
                continue
            theirs = [f"{seconds:g}", f"{seeds.STARTX[2, 1] / seconds:.2f}"]
            yield ours("P = " + "+".join([str(processors)] * machines),
                       bench.run(name, machines, "home=first-touch", words=words, threads=processors),
                       lambda _, theirs=theirs: theirs)


TABLES = {table.key: table for table in (Speedups(), Cashmere(), Hlrc(), Diffs(), Startx())}
