# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of programs over a network that loses some frames all the time and delays the rest: it takes them longer, and nothing else.

Frames are lost on their way out of each node (tc's netem), below RDMA: acknowledgements, answers, one-sided transfers
and the connection manager's packets as well as messages.
"""
import contextlib

from scene import counters, expect, impaired, living, peer, ranks, region, sums
from vm import ready
from wire import check_cm, check_no_rnr, pairs_of

PAGE = 4096
NETWORK = ("delay", "2ms", "loss", "1%")
# 300 increments among three nodes, 60 pages that all write to and read: some thousands of frames, of which one in a hundred is lost.
PROGRAMS = (("counter", "REGION", 2, 50, 3), ("exchange", 60, PAGE, "REGION"))
SIZE = "256K"	# not much more, so that it is registered


def _sent_again(c):
    return sum(map(ready.sent_again, living(c)))


def _over_a_lossy_network(c, *policy):
    """Programs that check all they have written, and what their regions' coming and going needs."""
    nodes, pairs = living(c), pairs_of(c)
    before, again = sums(c), _sent_again(c)
    with contextlib.ExitStack() as network:
        lost = [network.enter_context(impaired(node, *NETWORK)) for node in nodes]
        for words in PROGRAMS:
            with region(c, SIZE, *policy) as name:
                ranks(c, [name if word == "REGION" else word for word in words], timeout=120)
    lost, again = sum(map(sum, lost)), _sent_again(c) - again
    resumes = sums(c)["resumes"] - before["resumes"]
    print(f"# {' '.join(policy)}: {lost} frames were lost, {again} times something was sent again, {resumes} times "
          "connections were made anew", flush=True)
    expect(lost, "no frame was lost")
    expect(again, "nothing was sent again")
    for node, ident in pairs:
        now = peer(node, ident)
        expect(now["state"] == "up", f"{node.name}: node {ident}: {now}")
    for node in nodes:
        expect(counters(node)["invalid_msgs"] == 0, f"{node.name} saw malformed messages")
    check_no_rnr(c)
    check_cm(c)


def messages_over_a_lossy_network(c):
    """Pages, diffs, locks and barriers by message."""
    _over_a_lossy_network(c, "home=rr")


def transfers_over_a_lossy_network(c):
    """Pages by READ, locks by atomics, barriers by letters."""
    before = sums(c)
    _over_a_lossy_network(c, "home=rr", "sync=rdma", "fetch=read")
    after = sums(c)
    for kind in ("xfer_atomics", "page_reads", "letters"):
        expect(after[kind] > before[kind], f"{kind} did not grow")


def sequential_consistency_over_a_lossy_network(c):
    """Pages that move from writer to writer, each recalled from who has it."""
    before = sums(c)["sc_recalls"]
    _over_a_lossy_network(c, "preset=sc", "home=rr")
    expect(sums(c)["sc_recalls"] > before, "no page was recalled")
