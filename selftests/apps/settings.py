# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Under which preset, on how many nodes and with how many threads each of them a program runs."""
import itertools
from collections import Counter, namedtuple

import presets

PRESETS = tuple(presets.PRESETS)
FEW, MANY = (1, 2), 4
NODES = (*FEW, MANY)
THREADS = (1, 2)
# In the rotation one of so many runs is on four nodes: four guests on two processors take their time.
MANY_OF = 7

# words: the program's arguments; policy: of the region, as `dsmctl region create` takes it.
Run = namedtuple("Run", "program words policy nodes threads")


def _run(way, preset, nodes, threads):
    return Run(*way, (f"preset={preset}",), nodes, threads)


def _least_used(used, nodes, threads):
    return min(PRESETS, key=lambda preset: (used[preset, "nodes", nodes], used[preset, "threads", threads],
                                            used[preset]))


def rotation(ways):
    """Each way of each program on two nodes, or some on four, and on one; ways: (program, words).

    Its two runs have different numbers of threads and, by turns, the presets that were least used with so many
    nodes and threads: of all runs together each preset meets one node and two, one thread and two.
    """
    runs, used = [], Counter()
    for i, way in enumerate(ways):
        several = MANY if i % MANY_OF == MANY_OF // 2 else 2
        for nodes, threads in zip((several, 1), (THREADS[i % 2], THREADS[1 - i % 2])):
            preset = _least_used(used, nodes, threads)
            used.update([preset, (preset, "nodes", nodes), (preset, "threads", threads)])
            runs.append(_run(way, preset, nodes, threads))
    return runs


def product(ways, part):
    """Each program under each preset on one and on two nodes, with one thread and with two, and on four nodes with
    one or the other, in each of its ways by turns; of these part "k/n".

    The way changes from run to run of a preset, and from where it begins from preset to preset, so that each meets
    all presets, numbers of nodes and of threads.
    """
    number, parts = map(int, part.split("/"))
    of_program = {}
    for way in ways:
        of_program.setdefault(way[0], []).append(way)
    every = []
    for mine in of_program.values():
        values = (*itertools.product(FEW, THREADS), (MANY, None))
        every += [_run(mine[(i + j) % len(mine)], preset, nodes, threads or THREADS[i // len(mine) % len(THREADS)])
                  for j, (nodes, threads) in enumerate(values) for i, preset in enumerate(PRESETS)]
    return every[number - 1::parts]


def _pairs(run):
    """Each two settings of a run."""
    return set(itertools.combinations(run, 2))


def _missing(wanted, runs):
    """Pairs of these values, by Run's fields, that no run has."""
    have = set().union(*(_pairs((tuple(run.words), *run[2:])) for run in runs))
    return [pair for values in itertools.combinations(wanted, 2) for pair in itertools.product(*values)
            if pair not in have]


def gaps(ways):
    """What does not occur, or None.

    product(): all pairs, for each program with its ways. rotation(): each way with every number of threads, on one node
    and on more, under two presets; each preset with every number of threads, on one node and on two.
    """
    policies = [(f"preset={preset}",) for preset in PRESETS]
    everything, turns = product(ways, "1/1"), rotation(ways)
    for program in dict.fromkeys(name for name, _ in ways):
        mine = [run for run in everything if run.program == program]
        missing = _missing([[tuple(words) for name, words in ways if name == program], policies, NODES, THREADS], mine)
        if missing:
            return f"product, {program}: {missing}"
    for program, words in ways:
        mine = [run for run in turns if (run.program, run.words) == (program, words)]
        if {run.threads for run in mine} != set(THREADS) or len({run.nodes == 1 for run in mine}) != 2 or \
                len({run.policy for run in mine}) != len(mine):
            return f"rotation: {mine}"
    missing = [pair for values in ((policies, FEW), (policies, THREADS), (NODES, THREADS)) for pair in
               itertools.product(*values) if not any(pair in _pairs(run[2:]) for run in turns)]
    return f"rotation: {missing}" if missing else None
