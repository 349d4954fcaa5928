#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""unmodified.py FILE RANK RANKS ROUNDS: processes share a file's memory, and know of nothing else.

In each round each fills its part of a table, in place, once the one before it is done; then all
add up the whole and must get the same. Runs on any file of 64 KiB that can be mapped.
"""
import mmap
import os
import sys

BYTES = 65536
TABLE_AT = 4096		# behind the page in which each says how far it is
STEP = 7		# of the table's words, those that are used


def wait(done, rank, turn):
    """Until another process has come to a turn."""
    while done[rank] < turn:
        os.sched_yield()


def play(done, table, rank, ranks, turn):
    """One round; what the table adds up to, and what it should."""
    share = len(table) // ranks
    if rank:
        wait(done, rank - 1, turn)
    part = table[rank * share:(rank + 1) * share]
    for i in range(0, share, STEP):
        part[i] = turn * 1000 + rank
    part.release()
    done[rank] = turn
    for other in range(ranks):
        wait(done, other, turn)
    used = [(r, r * share + i) for r in range(ranks) for i in range(0, share, STEP)]
    return sum(table[i] for _, i in used), sum(turn * 1000 + r for r, _ in used)


def main():
    path, rank, ranks, rounds = sys.argv[1], *map(int, sys.argv[2:])
    with open(path, "r+b", buffering=0) as f, mmap.mmap(f.fileno(), BYTES) as memory, \
            memoryview(memory) as view, view[:TABLE_AT].cast("Q") as done, \
            view[TABLE_AT:].cast("I") as table:
        for turn in range(1, 2 * rounds, 2):
            seen, want = play(done, table, rank, ranks, turn)
            if seen != want:
                sys.exit(f"turn {turn}: rank {rank} sums {seen}, not {want}")
            done[rank] = turn + 1
            for other in range(ranks):
                wait(done, other, turn + 1)


main()
