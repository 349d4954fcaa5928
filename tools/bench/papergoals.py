# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What the papers' programs are to reach, and how far they come in the runs of one invocation.

A goal evaluated is a dict: goal, program, ratio (None: not measured), over (True: it is more than that), bound, most
(True: the ratio is at most the bound), reached (None: not known, or nothing is asked for) and note. Never prints,
never judges more than that.

A run that did not end within its limit is slower than that: it is not the best, and what it is compared with is faster
by more than a known ratio. A run that failed otherwise tells nothing.
"""
from bench import programs, tables
from bench.tables import Table, before, ours, percent

AUTO = "preset=auto"
FIXED = tuple(f"preset={name}" for name in programs.FIXED_PRESETS)
POLICIES = (*FIXED, AUTO)	# all but sc
OLD = ("preset=csm-none", "preset=hlrc-orig")
FAST = ("sor", "matmul", "tsp", "water-nsquared", "gauss", "clu")
SHARED = ("lu", "water-spatial", "barnes", "fft", "ocean", "em3d", "ilink")
NODES, LU_NODES = 2, 4
ONE = "home=first-touch"
LU_WORDS = ("--pad", "0")	# columns of tiles have owners, two of whom share a page where they meet
LU_OLD, LU_MOVES = "preset=csm-none,home=first-touch", "preset=csm-none-mg"
WANTED = 5	# runs behind a median
LEADING = 3	# fixed presets that were fastest in a run of each: the best is taken to be one of them, and their medians are wanted
NO_TIME = "not known: a time is missing, or none that could be told"


class Goals(Table):
    """The runs that the goals need."""

    key, title = "goals", "Goals: the best preset, auto, and one thread on one node"
    programs = programs.PROGRAMS
    repetitions = WANTED
    columns = ("seconds", "speedup", "fastest", "slowest", "diffs", "computing", "page", "lock", "barrier", "diff wait",
               "overhead", "handlers")
    differs = ("goals are of size small, 2 guests of one processor, medians of 5, presets as they are, so that "
               "csm-none has homes by first touch and hlrc-orig, as all of hlrc, in blocks; each preset runs once, then, by turns, the "
               "program without dsm, the same on both guests at once, auto and the three fixed ones that were fastest as often as is wanted; "
               "with huge pages always one run; LU's diffs are of 4 guests, by rows and with homes dealt out of one run")

    @staticmethod
    def cells(run):
        """Behind seconds and speedup."""
        return [f"{run['fastest']:.2f}", f"{run['slowest']:.2f}", tables.count(run["counters"].get("diffs", 0)),
                *map(percent, tables.breakdown(run, tables.HLRC_PARTS).values()), percent(tables.handlers(run))]

    def rows(self, bench, name):
        """Of one program."""
        words = self.words(bench, name)
        first = self._first(bench, name, words) if max(bench.nodes) >= NODES else {}
        leading = self._leading(first)
        bench.by_turns(name, [(NODES, policy) for policy in leading], words, guests=NODES if first else None)
        yield before(bench.alone(name, words), words)
        if first:
            together = bench.at_once(name, NODES, words)
            yield {**before(together, words), "label": f"without dsm, on {NODES} guests at once"}
        for policy, run in first.items():
            once = ", once" if bench.repetitions > 1 and policy not in leading else ""
            run = bench.run(name, NODES, policy, words) if policy in leading else run
            yield ours(f"{NODES}, {policy}{once}", run, self.cells, tables.HLRC_PARTS)
        for thp, repetitions in (("never", bench.repetitions), ("always", 1)):
            bench.by_turns(name, [(1, ONE)], words, thp, repetitions)
            row = before(bench.alone(name, words, thp, repetitions))
            yield {**row, "label": f"without dsm, huge pages {thp}"}
            run = bench.run(name, 1, ONE, words, thp=thp, repetitions=repetitions)
            yield ours(f"1, {ONE}, huge pages {thp}", run, self.cells, tables.HLRC_PARTS)
        if name == "lu" and max(bench.nodes) >= LU_NODES:
            for policy in (LU_OLD, LU_MOVES):
                run = bench.run(name, LU_NODES, policy, [*words, *LU_WORDS])
                yield ours(f"{LU_NODES}, {policy}, pad=0", run, self.cells, tables.HLRC_PARTS)
            words = tables.lu_by_rows(bench)
            yield from self._lu_once(bench, words, "pad=0 rows=1")
            words = tables.lu_dealt(bench)
            homes = dealt(programs.space_mib(name, words, LU_NODES), LU_NODES)
            yield from self._lu_once(bench, words, "pad=1, homes dealt", homes=homes)

    @staticmethod
    def _first(bench, name, words):
        """Of each preset a run."""
        bench.alone(name, words, repetitions=1)
        return {policy: bench.run(name, NODES, policy, words, repetitions=1) for policy in bench.presets}

    @staticmethod
    def _leading(first):
        """Those of which a goal asks for the median: auto, and which may be the best of the fixed."""
        fixed = sorted((policy for policy, run in first.items() if policy != AUTO and not isinstance(run, Exception)),
                       key=lambda policy: first[policy]["seconds"])
        return [policy for policy in first if policy in (AUTO, *fixed[:LEADING])]

    def _lu_once(self, bench, words, way, **homes):
        """LU's diffs with homes that stay and that move, one run each."""
        yield {**before(bench.alone("lu", words), words), "label": f"without dsm, {' '.join(words)}"}
        for policy in (LU_OLD, LU_MOVES):
            run = bench.run("lu", LU_NODES, policy, words, repetitions=1, **homes)
            yield ours(f"{LU_NODES}, {policy}, {way}", run, self.cells, tables.HLRC_PARTS)


def dealt(mib, nodes):
    """Homes of a region's pages, one after the other, as `dsmctl homes load` reads them: whoever writes them."""
    return "".join(f"{page % nodes} {page} 1\n" for page in range((mib << 20) // programs.PAGE_BYTES))


def evaluated(goal, program, ratio, bound, most, note, miss=None, above=False, over=False):
    """One goal. miss: counts as one, where the ratio alone does not tell; above: the bound itself is not enough.

    over: the ratio is more than that, so that a bound from above can only be missed, and one from below only reached.
    """
    reached = None
    if ratio is not None and bound is not None:
        reached = ratio <= bound if most else ratio > bound if above else ratio >= bound
        if not reached and miss is not None:
            reached = not miss
        if over and reached == most:
            reached = None
    return {"goal": goal, "program": program, "ratio": ratio, "over": over and ratio is not None, "bound": bound,
            "most": most, "reached": reached, "note": note}


def compared(goal, program, run, other, bound, most, note, miss=None):
    """A goal of the times of two runs, of which the first may be late."""
    ratio = programs.ratio(run["seconds"], other["seconds"])
    return evaluated(goal, program, ratio, bound, most, NO_TIME if ratio is None else note, miss, over=is_late(run))


def well_known(runs):
    """Those of which as many runs are known as of any: one run of a preset is compared with no median of another's."""
    most = max((run["repetitions"] for run in runs), default=0)
    return [run for run in runs if run["repetitions"] == most]


def is_late(run):
    """It did not end within its limit, which is its time here."""
    return run.get("late", False)


def where(run):
    """Where the time of all its nodes goes, in words."""
    parts = {**tables.breakdown(run, tables.HLRC_PARTS), "handlers": tables.handlers(run)}
    return ", ".join(f"{part} {percent(share)}" for part, share in parts.items() if share and share >= 0.01)


def medians(run):
    """How many runs are behind a time, if fewer than are asked for."""
    return "" if run["repetitions"] >= WANTED else f"; {run['repetitions']} of {WANTED} runs"


def stated(run):
    """A preset and its time, in words."""
    if is_late(run):
        return f"{run['policy']} no end after {run['seconds']} s"
    return f"{run['policy']} {run['seconds']:.2f} s{medians(run)}"


def ceiling(runs):
    """What two guests could reach if memory were shared for nothing: they compute slower beside each other. None: not measured."""
    together = [run for run in runs if run.get("at_once") == NODES]
    alone = [run for run in runs if not run["nodes"] and not run["thp"] and "at_once" not in run]
    return programs.ratio(NODES * alone[0]["seconds"], together[0]["seconds"]) if alone and together else None


def speedup(program, runs, bound, most=None):
    """The best preset's, on two guests. most: of ceiling()."""
    goal = "speedup of the best preset"
    known = [run for run in runs if run["speedup"]]
    if not known:
        return evaluated(goal, program, None, bound, False, NO_TIME if runs else "not measured")
    best = max(well_known(known), key=lambda run: run["speedup"])
    beside = f"; {most:.2f} if sharing cost nothing" if most else ""
    return evaluated(goal, program, best["speedup"], bound, False,
                     f"{best['policy']}: {where(best)}{beside}{medians(best)}", above=program in SHARED)


def against_old(program, runs, late=()):
    """The best preset against the worse of the two that use nothing of the network's. late: did not end."""
    goal = "best preset against the worse of csm-none and hlrc-orig"
    old = [run for run in (*runs, *late) if run["policy"] in OLD]
    if len(old) < len(OLD):
        return evaluated(goal, program, None, 1.1, False, "not measured: both are needed")
    if not runs:
        return evaluated(goal, program, None, 1.1, False, "not measured: no preset ended within the limit")
    worse = max(old, key=lambda run: (is_late(run), run["seconds"]))
    best = min(well_known(runs), key=lambda run: run["seconds"])
    return compared(goal, program, worse, best, 1.1, False, f"{stated(best)}, {stated(worse)}")


def spread(run):
    """The times between which a run's median lies: without the fastest and the slowest, if there are enough."""
    edge = 1 if run["repetitions"] >= WANTED else 0
    return run["times"][edge], run["times"][-1 - edge]


def within(run):
    """Its time and the spread of it, in words."""
    if is_late(run):
        return f"no end after {run['seconds']} s"
    return f"{run['seconds']:.2f} s ({'-'.join(f'{time:.2f}' for time in spread(run))})"


def auto(program, runs, refused, late=()):
    """auto against the best preset that is fixed; a miss counts beyond the spread of both. late: did not end."""
    goal = "auto against the best fixed preset"
    own = [run for run in (*runs, *late) if run["policy"] == AUTO]
    fixed = [run for run in runs if run["policy"] in FIXED]
    slower = [run["policy"] for run in late if run["policy"] in FIXED]
    missing = [policy for policy in (*FIXED, AUTO)
               if policy not in refused and policy not in (run["policy"] for run in (*runs, *late))]
    if missing or not own or not fixed:
        why = " ".join(missing) or ("no fixed preset ended within the limit" if own and slower else "all are refused")
        return evaluated(goal, program, None, 1.1, True, f"not measured: {why}")
    best = min(well_known(fixed), key=lambda run: run["seconds"])
    note = f"{within(own[0])} against {best['policy']} {within(best)}, of {len(fixed) + len(slower)} fixed"
    if slower:
        note += f", of which {' '.join(slower)} did not end within the limit"
    if is_late(own[0]):
        return compared(goal, program, own[0], best, 1.1, True, note)
    few = min(own[0], best, key=lambda run: run["repetitions"])
    return compared(goal, program, own[0], best, 1.1, True, note + medians(few),
                    spread(own[0])[0] > 1.1 * spread(best)[1])


def one_thread(program, runs):
    """On a node alone against the plain build, huge pages off for both; beside it with them."""
    goal = "one thread on one node against the plain build, huge pages off"
    pairs = {}
    for thp in ("never", "always"):
        plain = [run for run in runs if run["thp"] == thp and not run["nodes"] and "at_once" not in run]
        dsm = [run for run in runs if run["thp"] == thp and run["nodes"] == 1 and run["threads"] == 1]
        pairs[thp] = (dsm[0], plain[0]) if plain and dsm else None
    if not pairs["never"]:
        return evaluated(goal, program, None, 1.05, True, "not measured")
    beside = programs.ratio(*(run["seconds"] for run in pairs["always"])) if pairs["always"] else None
    beside = "huge pages always: " + ("not measured" if beside is None else f"{beside:.3f}")
    return compared(goal, program, *pairs["never"], 1.05, True, beside + medians(pairs["never"][0]))


def lu_diffs(runs, words, way, own_homes=True):
    """Of homes that move against homes that stay, tiles with owners by columns. way: how the matrix lies."""
    goal = f"LU's diffs on {LU_NODES} guests, csm-none-mg against csm-none, {way}"
    found = {run["policy"]: run for run in runs if run["nodes"] == LU_NODES and run["words"] == list(words)
             and run["own_homes"] == own_homes}
    old, moves = found.get(LU_OLD), found.get(LU_MOVES)
    if not old or not moves:
        return evaluated(goal, "lu", None, 0.01, True, f"not measured: --nodes with {LU_NODES} is needed")
    before_, after = old["counters"].get("diffs", 0), moves["counters"].get("diffs", 0)
    stated = f"{old['options'].get('n')} rows, tiles of {old['options'].get('tile')}: {after} against {before_} diffs"
    if not before_:
        return evaluated(goal, "lu", None, 0.01, True, stated)
    return evaluated(goal, "lu", after / before_, 0.01, True, stated)


def latest(runs):
    """Of runs of the same kind the one behind which are most."""
    kept = {}
    for run in runs:
        key = (run["program"], *run["words"], run["nodes"], run.get("threads"), run.get("policy"), run["thp"],
               run.get("own_homes"), run.get("at_once"))
        if key not in kept or kept[key]["repetitions"] < run["repetitions"]:
            kept[key] = run
    return list(kept.values())


def of_presets(runs, name, words):
    """Those of the program with these arguments under presets as they are, on as many nodes as the goals are of: compared, or late."""
    return [run for run in runs if run["program"] == name and run["words"] == words and run["nodes"] == NODES
            and run["threads"] == 1 and not run["thp"] and run["policy"] in POLICIES and run["own_homes"]
            and run.get("verified", True)]


def evaluate(runs, names, words_of, refused, by_rows, dealt_words, late=()):
    """All goals of the programs named, from the runs that are as those of the table of goals.

    runs: of programs.Bench; words_of: programs' arguments in that table; refused: policies; by_rows, dealt_words:
    arguments of LU; late: of programs.Late.
    """
    runs, result = latest(runs), []
    for name in names:
        words = list(words_of(name))
        own = [run for run in runs if run["program"] == name]
        usual = [run for run in own if run["words"] == words]
        pair = of_presets(usual, name, words)
        ended = {run["policy"] for run in pair}
        overdue = list({run["policy"]: run for run in of_presets(late, name, words)
                        if run["policy"] not in ended}.values())
        result.append(speedup(name, pair, 1.7 if name in FAST else 1.2 if name in SHARED else None, ceiling(usual)))
        if name in SHARED:
            result.append(against_old(name, pair, overdue))
        result += [auto(name, pair, refused, overdue), one_thread(name, usual)]
        if name == "lu":
            result += [lu_diffs(own, [*words, *LU_WORDS], "columns contiguous"),
                       lu_diffs(own, by_rows, "rows contiguous"),
                       lu_diffs(own, dealt_words, "homes dealt out", own_homes=False)]
    return result


def lines(goals):
    """One line for each: how far, what was asked for, and whether that is reached."""
    for g in goals:
        ratio = "-" if g["ratio"] is None else f"{'over ' if g['over'] else ''}{g['ratio']:.3f}"
        bound = "reported" if g["bound"] is None else f"at {'most' if g['most'] else 'least'} {g['bound']:g}"
        verdict = "" if g["reached"] is None else "reached" if g["reached"] else "missed"
        yield [g["program"], g["goal"], ratio, bound, verdict, g["note"]]
