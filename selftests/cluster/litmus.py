# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Litmus tests on real nodes, under each preset: what litmus.c counts, and that nothing of it is forbidden.

L34 is here: what it forbids is seen by the counters, and other rounds beside it would be, too.
"""
import collections
import random

import presets
from moves import meet
from scene import (actors, expect, join_ranks, promises, region, region_agrees, start_ranks, sums, sums_agree,
                   sums_at_rest)

PAGE = 4096
SECONDS_PER_ROUND = 6.0	# of all tests together, at the very most
# L34: all pages of its region, so that nothing is fetched ahead; how often each node reads them; rounds at most.
PAGES = 16
READS = 3
ROUNDS_MOST = 50
# What a copy that is there costs nothing of.
NOTHING = ("page_transfers", "page_reads", "zero_replies", "fetches_served", "invalidations", "read_faults", "diffs",
           "sc_grants", "sc_recalls", "excl_breaks", "migrations", "dir_changes", "bcast_pages")


def read_only_phases(c, preset, rounds):
    """L34: after a barrier and a first fetch, nodes read without a message, a fault or a page, under any preset."""
    pages, messages = collections.Counter(), collections.Counter()
    with region(c, "64K", *presets.words_of(preset)) as name, actors(name, *c.nodes) as group:
        for number in range(rounds):
            def read(actor, value=100 * number):
                actor.want(0, "verify", 0, PAGES, PAGE, value)

            group[number % len(group)].want(0, "fill", 0, PAGES, PAGE, 100 * number)
            meet(group)
            # Who was first is looked at again: the others' first fetches may have taken rights from it.
            for a in group * 2:
                read(a)
            sent, before = sums_at_rest(c)["msgs_sent"], sums(c, name)
            for a in group * READS:
                read(a)
            sent, after = sums(c)["msgs_sent"] - sent, sums(c, name)
            grown = {kind: after[kind] - before[kind] for kind in NOTHING}
            pages[grown["page_transfers"] + grown["zero_replies"]] += 1
            messages[sent] += 1
            expect(not any(grown.values()), f"L34, round {number}: reads of copies cost {grown}")
    print(f"# {preset}: L34  {rounds} rounds: " + "  ".join(f"{v} x {n}" for v, n in sorted(pages.items())) +
          "; messages " + "  ".join(f"{v} x {n}" for v, n in sorted(messages.items())), flush=True)
    expect(messages[0] == rounds, f"L34: messages of reads of copies, by rounds: {dict(messages)}")


class Litmus:
    """All litmus tests in a region with a preset."""

    def __init__(self, preset, rounds):
        self.preset, self.rounds = preset, rounds
        self.__name__ = f"litmus.{preset}"

    def __call__(self, c):
        seed = random.randrange(1000000)
        timeout = 60 + SECONDS_PER_ROUND * self.rounds
        settings = presets.check_says(c, self.preset)
        before = sums_at_rest(c)
        with region(c, "512M", *presets.words_of(self.preset)) as name:
            jobs = start_ranks(c, ["litmus", name, promises(settings), self.rounds, seed])
            join_ranks(c, jobs, timeout)
            region_agrees(c, name)
        for line in jobs[0].out.splitlines():
            print(f"# {self.preset}: {line}", flush=True)
        presets.check_used(settings, sums_agree(c, before))
        read_only_phases(c, self.preset, min(self.rounds, ROUNDS_MOST))
        sums_agree(c, before)


def share(part):
    """Of all presets those of part "k/n"."""
    number, parts = map(int, part.split("/"))
    return tuple(presets.PRESETS)[number - 1::parts]


def tests(rounds, chosen):
    """A test for each of the presets."""
    return tuple(Litmus(preset, rounds) for preset in chosen)
