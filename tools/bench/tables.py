# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The papers' tables: the runs that each needs, its rows, and what the papers have in their place.

A row is a dict: label, cells under the table's columns, and of ours also run (what programs.Bench.run()
gives), parts (shares of all nodes' time) and speedup, or failed (the reason). Never prints.

Each table runs the programs as its paper did, as far as they go: its words, at any size, and its paper's sizes at
`paper`. In what they differ all the same is said in its head.
"""
from bench import programs, seeds
from bench.programs import Failed, Refused

# The tree under locks, a lock for each molecule or cell, tiles of two owners in a page.
CASHMERE_WORDS = {"barnes": ("--spatial", "0"), "lu": ("--pad", "0"), "water-nsquared": ("--group", "1"),
                  "water-spatial": ("--group", "1")}
# The tree by regions of space; LU and Ocean with one writer for each page, as the text has it.
HLRC_WORDS = {"barnes": ("--spatial", "1"), "lu": ("--pad", "1"), "ocean": ("--strips", "1"),
              "water-nsquared": ("--group", "1"), "water-spatial": ("--group", "1")}
HLRC_PAPER = {"barnes": ("--bodies", "262144"), "lu": ("--n", "2048"), "water-nsquared": ("--molecules", "32768"),
              "water-spatial": ("--molecules", "262144")}
# LU by rows: a page has pieces of many columns of tiles, and so of all owners.
LU_BY_ROWS = ("--pad", "0", "--rows", "1")
# LU whose pages have one writer each, and homes that know nothing of it, as the paper's seem to: 5.5 of its 6.1 thousand
# pages moved.
LU_DEALT = ("--pad", "1")
LU_SLOW_SIZE = ("--n", "800")	# both take long for their size
# Barnes has 13 intervals there, so no tree under locks; both others not contiguous; LU's tiles in two dimensions, whose
# rows two nodes share too.
DIFFS_WORDS = {"barnes": ("--spatial", "1"), "lu": (*LU_BY_ROWS, "--scatter", "1"), "ocean": ("--strips", "0")}
# What the paper's averages tell: 129 intervals are two for each of 64 steps, of tiles of 16; 7680 diffs in 16 intervals are 480
# pages, as of 512 a node of 16 has 32 itself: 2^19 counts of 4 bytes.
DIFFS_LARGER = {"lu": ("--n", "1024"), "is": ("--log2-buckets", "19", "--iterations", "16")}
# In what programs of this tree differ from those of all papers, in all tables that do not name them as `unchanged`.
CHANGED = (
    (("lu", "clu"), "looking one step ahead, with one barrier a step"),
    (("barnes", "clu", "em3d", "fft", "gauss", "lu", "water-nsquared", "water-spatial"),
     "asking for pages ahead, under all presets"),
    (("tsp",), "looking at the bound every 2^20 steps of a search"),
    (("ocean",), "grids of up to 128 intervals, at size small, by each worker for itself, and grids that begin where pages do"),
    (("em3d",), "no page of values with two owners"),
    (("barnes",), "bodies numbered along the tree"),
    (("radix",), "workers' counts added up by all between barriers, not along a tree with flags"),
    (("water-nsquared", "water-spatial"), "places, forces and the rest of molecules in arrays of their own"),
    (("fft",), "rows in pieces of a page"),
    (("gauss",), "blocks of 32 rows at size small, each row from a new page"),
    (("tsp",), "a first tour without crossings"),
)
# Parts of all nodes' time, as the papers have them; what is left is the program's own.
CASHMERE_PARTS = (("protocol", ("ns_protocol",)), ("page locks", ("ns_wait_page_lock",)),
                  ("wait", ("ns_wait_lock", "ns_wait_barrier", "ns_wait_flag")),
                  ("message", ("ns_wait_page", "ns_wait_release")))
HLRC_PARTS = (("page", ("ns_wait_page",)), ("lock", ("ns_wait_lock", "ns_wait_flag")), ("barrier", ("ns_wait_barrier",)),
              ("diffs", ("ns_wait_release", "ns_wait_page_lock")), ("overhead", ("ns_protocol",)))
UNKNOWN = "-"	# of a program that ran in no time that its clock could tell
SIZES = {"< 256 B": "msgs_below_256", "< 1 KiB": "msgs_below_1k", "< 4 KiB": "msgs_below_4k", "larger": "msgs_larger"}


def breakdown(run, parts):
    """Shares of all nodes' time: the program's own first; None each of no time."""
    if not programs.whole_ns(run):
        return dict.fromkeys(("computing", *(part for part, _ in parts)))
    shares = {part: sum(run["counters"].get(key, 0) for key in keys) / programs.whole_ns(run) for part, keys in parts}
    return {"computing": max(0.0, 1 - sum(shares.values())), **shares}


def handlers(run):
    """Share of the time that message handlers ran, during all else; None of no time."""
    whole = programs.whole_ns(run)
    return run["counters"].get("ns_message", 0) / whole if whole else None


def message_sizes(run):
    """How many messages, and the share of each size; None each if there were none."""
    sizes = {size: run["counters"].get(key, 0) for size, key in SIZES.items()}
    whole = sum(sizes.values())
    return whole, {size: n / whole if whole else None for size, n in sizes.items()}


def count(n):
    """A count as the papers print it, in thousands."""
    return f"{n / 1000:.1f} K" if n >= 100 else f"{n:g}"


def percent(share):
    """A share; None: nobody knows."""
    return UNKNOWN if share is None else f"{100 * share:.1f} %"


def ours(label, run, cells, parts=None):
    """A row of a run, or of one that was refused or failed."""
    if isinstance(run, Refused):
        return {"label": label, "cells": [f"not here: {run}"], "refused": str(run)}
    if isinstance(run, Failed):
        return {"label": label, "cells": [f"failed: {run}"], "failed": str(run)}
    speedup = "no time without dsm"
    if run["verified"]:
        speedup = UNKNOWN if run["speedup"] is None else f"{run['speedup']:.2f}"
    return {"label": label, "cells": [f"{run['seconds']:.2f}", speedup, *cells(run)], "run": run,
            "speedup": run["speedup"], "parts": breakdown(run, parts) if parts and programs.whole_ns(run) else None}


def before(run, words=()):
    """The row of the sequential program with these arguments."""
    if isinstance(run, Exception):
        return {**ours("without dsm", run, None), "words": words}
    return {"label": "without dsm", "cells": [f"{run['seconds']:.2f}"], "run": run}


def heading(name, rows):
    """A program with all its options, as it printed them; the arguments of its first row, if it never ran."""
    shared = {row["run"]["region_mib"] for row in rows if row.get("run", {}).get("region_mib")}
    for row in rows:
        if "run" in row:
            return " ".join([name, *(f"{key}={value}" for key, value in row["run"]["options"].items()),
                             *([f"in up to {max(shared)} MiB of shared memory"] if shared else [])])
    return " ".join([name, *rows[0].get("words", ())]) if rows else name


class Table:
    """What all tables have."""

    papers, programs, columns = (), (), ()
    cpus = repetitions = 1
    sized = False	# how large messages are is a picture of its own
    more, larger, at_paper = {}, {}, {}	# words of programs: at any size, at all but `tiny`, at `paper` only
    differs = ""	# in what the runs differ from the papers', beside machines and what is CHANGED
    unchanged = ()	# programs that these words run without what is CHANGED

    def words(self, bench, name):
        """Arguments of a program in this table."""
        larger = self.larger.get(name, ()) if bench.size != "tiny" else ()
        paper = self.at_paper.get(name, ()) if bench.size == "paper" else ()
        return bench.words(name, (*self.more.get(name, ()), *larger, *paper))

    def largest(self, bench, name):
        """Arguments of its runs that need most memory."""
        return self.words(bench, name)


def differences(table):
    """All in what its runs differ from the papers', beside machines."""
    yield table.differs
    for names, words in CHANGED:
        here = [name for name in names if name in table.programs and name not in table.unchanged]
        if here:
            yield f"{', '.join(here)}: {words}"


def lu_by_rows(bench):
    """Arguments of LU whose rows are contiguous."""
    return bench.words("lu", (*LU_BY_ROWS, *(LU_SLOW_SIZE if bench.size != "tiny" else ())))


def lu_dealt(bench):
    """Arguments of LU whose homes are dealt out, which makes most diffs that homes that move can save."""
    return bench.words("lu", (*LU_DEALT, *(LU_SLOW_SIZE if bench.size != "tiny" else ())))


class Speedups(Table):
    """Time, speedup and traffic on each number of nodes."""

    key, title = "speedups", "Speedups and traffic, beside the Cashmere and HLRC papers' tables"
    papers = ("Cashmere", "HLRC")
    programs = programs.PROGRAMS
    columns = ("seconds", "speedup", "transfers", "invalid.", "diffs", "messages", "page", "lock", "barrier", "diff wait",
               "overhead", "handlers")
    differs = "programs as this tree has them by default, not as either paper"

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        parts = breakdown(run, HLRC_PARTS)
        return [*(count(run["counters"].get(key, 0)) for key in ("page_transfers", "invalidations", "diffs", "messages")),
                *(percent(parts[part]) for part, _ in HLRC_PARTS), percent(handlers(run))]

    def rows(self, bench, name):
        """Of one program."""
        words = self.words(bench, name)
        yield before(bench.alone(name, words), words)
        for policy in bench.policies:
            for nodes in bench.nodes:
                yield ours(f"{nodes}, {policy}", bench.run(name, nodes, policy, words), self.cells, HLRC_PARTS)
        yield from cashmere_rows(name, "csm-none", 3)
        yield from hlrc_rows(name)


def cashmere_rows(name, preset, columns=4):
    """What tables 3 to 6 have of a preset, with so many counts; nothing if they have not this program."""
    if name not in seeds.TABLE4:
        return
    i = seeds.CASHMERE_PRESETS.index(preset)
    size, space, *seconds = seeds.CASHMERE_SIZES[name]
    for processors, table, one in ((32, seeds.TABLE4, seconds[0]), (16, seeds.TABLE6, seconds[1])):
        speedup, *counts = (column[i] for column in table[name])
        figure = seeds.FIGURE1.get((name, preset)) if processors == 32 else None
        yield {"label": f"  Cashmere, {preset}: {size}, {space}, {processors} processors",
               "cells": [f"{one:g} on 1", speedup, *(f"{n} K" for n in counts[:columns]), *([figure] if figure else ())]}


def hlrc_rows(name, *words):
    """What tables 1 and 5 have of it, and words of the figures."""
    if name in seeds.TABLE5:
        size, space, seconds = seeds.HLRC_SIZES[name]
        yield {"label": f"  HLRC: {size}, {space}, 8 machines",
               "cells": [f"{seconds:g} on 1", f"{seeds.TABLE5[name]:g}", *words]}


class Cashmere(Table):
    """Table 4 and figure 1: all presets on the same homes."""

    key, title = "cashmere", "Cashmere, tables 3 to 6 and figure 1: each preset on the homes of one run"
    papers = ("Cashmere",)
    programs = tuple(seeds.TABLE4)
    columns = ("seconds", "speedup", "transfers", "invalid.", "diffs", "migrations", "computing", "protocol", "page locks",
               "wait", "message", "handlers")
    more = CASHMERE_WORDS
    differs = ("LU deals columns of tiles out to nodes, as the paper's; how its matrix lies in memory is "
               f"{seeds.UNTOLD}: here by columns, where few pages have two writers, and, smaller, by rows, where "
               "all do; Ilink's tree is generated, of 14 MB at size paper, not CLP of 15 MB; nothing of one level; of two guests "
               "only one asks a home, so that csm-adb multicasts nothing there; "
               f"figure 1's numbers {seeds.UNTOLD}, but for EM3D's")

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        n = run["counters"]
        parts = breakdown(run, CASHMERE_PARTS)
        return [*(count(n.get(key, 0)) for key in ("page_transfers", "invalidations", "diffs")),
                f"{count(n.get('migrations', 0))} ({count(n.get('migration_attempts', 0))})",
                *map(percent, parts.values()), percent(handlers(run))]

    def rows(self, bench, name):
        """Of one program: what the paper has stands below each preset."""
        yield from self._presets(bench, name, self.words(bench, name))
        if name == "lu":
            yield from self._presets(bench, name, lu_by_rows(bench), ", rows=1")

    def _presets(self, bench, name, words, way=""):
        """way: if it is not the paper's program, how it differs."""
        nodes = max(bench.nodes)
        row = before(bench.alone(name, words), words)
        yield {**row, "label": row["label"] + (f", {' '.join(words)}" if way else "")}
        first = bench.run(name, nodes, "preset=csm-dms", words, repetitions=1, keep_homes=True)
        if isinstance(first, Exception):
            yield ours(f"{nodes}, csm-dms, for homes{way}", first, self.cells)
        homes = {} if isinstance(first, Exception) else {"homes": first["homes"]}
        for preset in (*seeds.CASHMERE_PRESETS, "csm-adb"):
            policy = f"preset={preset}" + ("" if "-mg" in preset else ",home=first-touch")
            label = f"{nodes}, {preset}{way}" + ("" if homes else ", homes its own")
            yield ours(label, bench.run(name, nodes, policy, words, **homes), self.cells, CASHMERE_PARTS)
            if preset in seeds.CASHMERE_PRESETS:
                yield from () if way else cashmere_rows(name, preset)
            elif not way:
                yield {"label": "  Cashmere, csm-adb", "cells": [seeds.ADB]}


class Hlrc(Table):
    """Table 5, figures 2 and 3: speedups, copies, sizes of messages."""

    key, title = "hlrc", "HLRC over VIA, tables 1 and 5, figures 2 and 3: no copy against copy, sizes of messages"
    papers = ("HLRC",)
    programs = tuple(seeds.TABLE5)
    columns = ("seconds", "speedup", "computing", "page", "lock", "barrier", "diff wait", "overhead", "handlers", *SIZES)
    sized = True
    more, at_paper = HLRC_WORDS, HLRC_PAPER
    differs = ("LU and Ocean have one writer for each page, as the text says of the paper's; Ocean has 513 x 513 "
               f"points, not 514 x 514, at size paper; the steps of the paper's Water-spatial are {seeds.UNTOLD}; "
               "pages written one-sided are no messages of ours, and are among the paper's")

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        return [*map(percent, breakdown(run, HLRC_PARTS).values()), percent(handlers(run)),
                *map(percent, message_sizes(run)[1].values())]

    def rows(self, bench, name):
        """Of one program."""
        words = self.words(bench, name)
        yield before(bench.alone(name, words), words)
        for nodes in bench.nodes:
            run = bench.run(name, nodes, "preset=hlrc-nocopy,home=first-touch", words)
            yield ours(f"{nodes}, no copy", run, self.cells, HLRC_PARTS)
        nodes = max(bench.nodes)
        run = bench.run(name, nodes, "preset=hlrc-copy,home=first-touch", words)
        yield ours(f"{nodes}, copy", run, self.cells, HLRC_PARTS)
        yield from hlrc_rows(name, f"{seeds.FIGURE2}; {seeds.FIGURE3}; {seeds.HANDLERS}")


class Diffs(Table):
    """ORIG against PIPE."""

    key, title = "diffs", "ORIG against PIPE: one diff and its acknowledgement, or packed and pipelined"
    papers = ("ORIG and PIPE",)
    programs = tuple(seeds.AVERAGES)
    columns = ("seconds", "speedup", "barrier", "diffs", "mean bytes", "intervals", "per interval", "diff MB", "all MB")
    more, larger = DIFFS_WORDS, DIFFS_LARGER
    unchanged = ("lu",)	# --scatter 1: two barriers a step, and nothing asked for ahead
    differs = ("averages of a node, ours and the paper's; intervals are releases with something written; homes in blocks and by first touch, when few diffs are left; "
               "LU has 1024 rows and IS 2^19 counts, which its averages tell, Barnes builds its tree by regions of space, as 13 "
               "intervals tell; LU's rows are contiguous, so that two nodes share pages too")

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        n, nodes = run["counters"], run["nodes"]
        # An interval of the paper's ends at a synchronisation: a release of ours that had something to say.
        diffs, intervals, size = (n.get(key, 0) for key in ("diffs", "releases", "diff_bytes"))
        # Pages that their home writes into the frame that waits are in neither.
        whole = n.get("message_bytes", 0) + n.get("transfer_bytes", 0) + n.get("page_writes", 0) * programs.PAGE_BYTES
        return [percent(breakdown(run, HLRC_PARTS)["barrier"]), count(diffs / nodes), f"{size / max(1, diffs):.0f}",
                count(intervals / nodes), f"{diffs / max(1, intervals):.1f}", f"{size / nodes / 1e6:.1f}",
                f"{whole / nodes / 1e6:.1f}"]

    def rows(self, bench, name):
        """Of one program."""
        nodes = max(bench.nodes)
        words = self.words(bench, name)
        yield before(bench.alone(name, words), words)
        for preset in ("hlrc-orig", "hlrc-pipe"):
            for homes in ("block:16", "first-touch"):
                run = bench.run(name, nodes, f"preset={preset},home={homes}", words)
                yield ours(f"{nodes}, {preset}, home={homes}", run, self.cells, HLRC_PARTS)
        diff_mb, diffs, size, intervals, each, all_mb = seeds.AVERAGES[name]
        yield {"label": "  ORIG and PIPE, 16 machines",
               "cells": ["", "", "", diffs, size, intervals, each, diff_mb, all_mb]}
        yield {"label": "", "cells": [seeds.DIFF_WORDS[name]]}


class Startx(Table):
    """Matrix multiplication, by machines and processors of each."""

    key, title = "startx", "StarT-X, table 2: P = processors of each machine, + between machines"
    papers = ("StarT-X",)
    programs = ("matmul",)
    columns = ("seconds", "speedup", "StarT-X, rows", "its seconds", "its ratio to 1+1")
    cpus = 2
    differs = "shared memory in place of messages; matrices of 2048 and 4096 rows at size paper only"

    @staticmethod
    def sizes(bench):
        """Of the matrices, by size: rows, and the paper's column."""
        if bench.size == "paper":
            return list(zip(seeds.STARTX_SIZES, range(3)))
        return [(160 if bench.size == "tiny" else 1024, 0)]

    def largest(self, bench, name):
        return bench.words(name, ("--n", str(self.sizes(bench)[-1][0])))

    def rows(self, bench, name):
        """The only program."""
        for rows, column in self.sizes(bench):
            words = bench.words(name, ("--n", str(rows)))
            yield before(bench.alone(name, words), words)
            for machines, theirs in seeds.STARTX.items():
                cells = [str(seeds.STARTX_SIZES[column]), *self.theirs(theirs[column], seeds.STARTX[1, 1][column])]
                here = len(machines) <= max(bench.nodes) and machines[0] <= self.cpus
                label = f"P = {'+'.join(map(str, machines))}, {rows} rows"
                if here:
                    yield ours(label, bench.run(name, len(machines), "home=first-touch", words, machines[0]),
                               lambda _, cells=cells: cells)
                else:
                    yield {"label": label, "cells": ["", "", *cells]}

    @staticmethod
    def theirs(seconds, base):
        """The paper's cells; NA is its own word."""
        return [seconds, f"{float(base) / float(seconds):.2f}" if "NA" not in (seconds, base) else "NA"]
