# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Under which preset, on how many nodes and with how many threads each of them a program runs."""
import itertools
from collections import namedtuple

import presets

PRESETS = tuple(presets.PRESETS)
NODES = (1, 2, 3)
THREADS = (1, 2)
# In the rotation one of so many runs is on three nodes: three guests on two processors take their time.
THREE_OF = 7

# words: the program's arguments; policy: of the region, as `dsmctl region create` takes it.
Run = namedtuple("Run", "program words policy nodes threads")


def _run(way, preset, nodes, threads):
    return Run(*way, (f"preset={preset}",), nodes, threads)


def rotation(ways):
    """Each way of each program on two nodes, some on three, then all on one; ways: (program, words).

    Preset and threads change from way to way; on one node it is another preset, so that each meets several.
    """
    runs = []
    for i, way in enumerate(ways):
        threads = THREADS[(i + i // len(PRESETS)) % len(THREADS)]
        runs.append(_run(way, PRESETS[i % len(PRESETS)], 3 if i % THREE_OF == THREE_OF // 2 else 2, threads))
        runs.append(_run(way, PRESETS[(i + len(PRESETS) // 2) % len(PRESETS)], 1, threads))
    return runs


def product(ways, part):
    """Each program with all combinations of settings, by turns in each of its ways; of these part "k/n"."""
    number, parts = map(int, part.split("/"))
    of_program = {}
    for way in ways:
        of_program.setdefault(way[0], []).append(way)
    every = [_run(mine[i % len(mine)], *values) for mine in of_program.values()
             for i, values in enumerate(itertools.product(PRESETS, NODES, THREADS))]
    return every[number - 1::parts]
