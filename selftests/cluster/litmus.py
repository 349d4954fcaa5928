# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Litmus tests on real nodes, under each preset: what litmus.c counts, and that nothing of it is forbidden."""
import random

import presets
from scene import join_ranks, region, start_ranks, sums, sums_agree

SECONDS_PER_ROUND = 6.0	# of all tests together, at the very most


class Litmus:
    """All litmus tests in a region with a preset; with sc a round takes eight times as long."""

    def __init__(self, preset, rounds):
        self.preset, self.rounds = preset, -(-rounds // 3) if preset == "sc" else rounds
        self.__name__ = f"litmus.{preset}"

    def __call__(self, c):
        seed = random.randrange(1000000)
        timeout = 60 + SECONDS_PER_ROUND * self.rounds
        settings = presets.check_says(c, self.preset)
        before = sums(c)
        with region(c, "512M", *presets.words_of(self.preset)) as name:
            jobs = start_ranks(c, ["litmus", name, settings["consistency"], self.rounds, seed])
            join_ranks(c, jobs, timeout)
        sums_agree(c, before, settings["consistency"])
        for line in jobs[0].out.splitlines():
            print(f"# {self.preset}: {line}", flush=True)


def share(part):
    """Of all presets those of part "k/n"."""
    number, parts = map(int, part.split("/"))
    return tuple(presets.PRESETS)[number - 1::parts]


def tests(rounds, chosen):
    """A test for each of the presets."""
    return tuple(Litmus(preset, rounds) for preset in chosen)
