# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Litmus tests on real nodes, under each preset: what litmus.c counts, and that nothing of it is forbidden."""
import random

import pairs
from scene import join_ranks, region, start_ranks

CONSISTENCY = {"sc": "sc", "csm-s": "cashmere", "csm-none": "cashmere", "csm-none-mg": "cashmere",
               "auto": "cashmere", "csm-ms": "cashmere", "csm-dms": "cashmere",
               "csm-adb": "cashmere", "csm-ms-mg": "cashmere"}
SECONDS_PER_ROUND = 6.0	# of all tests together, at the very most


class Litmus:
    """All litmus tests in a region with a preset; with sc a round takes eight times as long."""

    def __init__(self, preset, rounds):
        self.preset, self.rounds = preset, -(-rounds // 3) if preset == "sc" else rounds
        self.__name__ = f"litmus.{preset}"

    def __call__(self, c):
        seed = random.randrange(1000000)
        timeout = 60 + SECONDS_PER_ROUND * self.rounds
        with region(c, "512M", "home=rr", f"preset={self.preset}") as name:
            jobs = start_ranks(c, ["litmus", name, CONSISTENCY.get(self.preset, "hlrc"),
                                   self.rounds, seed])
            join_ranks(c, jobs, timeout)
        for line in jobs[0].out.splitlines():
            print(f"# {self.preset}: {line}", flush=True)


def share(part):
    """Of all presets those of part "k/n"."""
    number, parts = map(int, part.split("/"))
    return pairs.PRESETS[number - 1::parts]


def tests(rounds, presets=pairs.PRESETS):
    """A test for each preset."""
    return tuple(Litmus(preset, rounds) for preset in presets)
