# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of presets: that each is in force, by what a region says of itself and by what the counters see, under whole
programs, and that a node which is cut off harms nobody more than it must.

The settings are written down here once more, so that a preset which quietly became another fails.
"""
import errno

import loss
import pairs
import work
from moves import meet
from scene import (SIGBUS, actors, bound, counters, expect, peer, policy_of, promises, region, region_agrees, status, sums_agree,
                   sums_at_rest, until)
from vm import clock

PAGE = 4096
SETTINGS = ("consistency", "home", "diff", "fetch", "diffpath", "metadata", "sync", "bcast", "around", "notices")
# Settings in this order, as `dsmctl region list` shows them; where it shows none, the usual one.
USUAL = {"metadata": "msg", "bcast": "off", "notices": "eager"}
PRESETS = {name: USUAL | dict(zip(SETTINGS, words.split())) for name, words in {
    "hlrc": "hlrc block pipe:32768:4 nocopy auto msg msg off on",
    "hlrc-copy": "hlrc block orig copy msg msg msg off off",
    "hlrc-nocopy": "hlrc block orig nocopy msg msg msg off off",
    "hlrc-orig": "hlrc block orig nocopy msg msg msg off off",
    "hlrc-pipe": "hlrc block pipe:32768:2 nocopy msg msg msg off off",
    "hlrc-rdma": "hlrc block pipe:32768:4 read write msg rdma off off",
    "csm-s": "cashmere first-touch orig nocopy msg msg rdma off off",
    "csm-none": "cashmere first-touch orig nocopy msg msg msg off off",
    "csm-none-mg": "cashmere migrate orig nocopy msg msg msg off off",
    "csm-ms": "cashmere first-touch orig nocopy msg rdma rdma off off",
    "csm-dms": "cashmere first-touch pipe:32768:4 nocopy write rdma rdma off off",
    "csm-adb": "cashmere first-touch pipe:32768:4 copy write rdma rdma adaptive off",
    "csm-ms-mg": "cashmere migrate orig nocopy msg rdma rdma off off",
    "auto": "cashmere migrate@barrier pipe:32768:4 read auto msg msg off again lazy",
    "sc": "sc block orig copy msg msg msg off off",
}.items()}

ROUNDS = 10		# more than a home needs to see that another node alone writes
PACKED = 64		# pages of a release whose messages are counted
PACK_ENOUGH = 24	# fewer messages than that, others' included, only if diffs were packed


def words_of(preset):
    """A preset as the tests use it: homes in blocks would leave the programs' few pages at one node."""
    return [f"preset={preset}"] + ["home=rr"] * (PRESETS[preset]["home"] == "block")


def _rounds(c, policy):
    """What each mechanism needs to see: all write in turns, others read; the last alone writes a page of another."""
    with region(c, "1M", *policy) as name, actors(name, *c.nodes) as group:
        group[0].want(0, "fill", 8, 2, PAGE, 1)
        meet(group)
        for turn in range(1, ROUNDS + 1):
            writer = group[turn % len(group)]
            writer.want(0, "write", 0, turn)
            group[-1].want(0, "write", PAGE, turn)
            meet(group)
            for a in group:
                a.read(0, turn)
                a.read(PAGE, turn)
            meet(group)
        region_agrees(c, name)


def _messages_of_a_release(c, policy):
    """So many messages a node sends when it releases PACKED changed pages of one home."""
    home, writer = c.nodes[:2]
    with region(c, "1M", *policy, "home=block") as name, actors(name, home, writer) as (a, b):
        a.want(0, "fill", 0, PACKED, PAGE, 1)
        a.want(0, "release")
        b.want(0, "acquire")
        b.want(0, "fill", 8, PACKED, PAGE, 1)
        before = counters(writer)["msgs_sent"]
        b.want(0, "release")
        sent = counters(writer)["msgs_sent"] - before
        a.want(0, "acquire")
        a.want(0, "verify", 8, PACKED, PAGE, 1)
    return sent


def _used(settings):
    """Which settings ask for a mechanism, and the counters of its use, if it is used without a history of the pages."""
    sc = settings["consistency"] == "sc"
    rules = [
        (sc, "sc_grants sc_recalls"),
        (not sc, "notices_sent"),
        # Where notices are eager those with copies are told, and intervals tell of nothing.
        (promises(settings) == "hlrc", "intervals"),
        (settings["metadata"] == "rdma", "dir_changes dir_looks notices_written"),
        (settings["sync"] == "rdma", "letters xfer_atomics"),
        (settings["bcast"] == "adaptive", "bcast_pages"),
        (False, "predictions sc_refusals invalid_msgs"),
    ]
    # With cashmere pages are read only by who has had them before.
    if (settings["consistency"], settings["fetch"]) != ("cashmere", "read"):
        rules.append((settings["fetch"] == "read", "page_reads"))
    if settings["diffpath"] != "auto":
        rules.append((settings["diffpath"] == "write", "direct_pages direct_runs"))
    if settings["home"] != "migrate@barrier":
        rules.append((settings["home"] == "migrate", "migrations migration_attempts"))
    return rules


def _expected(settings):
    """The same, and of what the programs here are known to do."""
    sc = settings["consistency"] == "sc"
    rules = [*_used(settings), (False, "race_conflicts"), (settings["fetch"] == "read", "page_reads")]
    if settings["diffpath"] == "auto":
        rules.append((True, "direct_pages direct_runs"))
    if settings["home"] == "migrate@barrier":
        rules.append((True, "migrations migration_attempts"))
    # Of a READ no home hears, but one that tells who reads knows of it.
    rules.append((not sc and (settings["fetch"] != "read" or settings["consistency"] == "cashmere"), "excl_enters excl_breaks"))
    # read() asks for its pages ahead under any preset.
    if settings["around"] != "off":
        rules.append((True, "prefetch_issued prefetch_hits"))
    # Where homes move to who writes, diffs are made only while they are busy.
    if settings["home"] != "migrate":
        rules.append((not sc, "diffs twins"))
    # With fetch=read a page whose key is not known yet comes as with nocopy.
    if settings["fetch"] != "read":
        rules.append((settings["fetch"] == "nocopy", "page_writes"))
    return rules


def _check(rules, grown):
    wrong = [f"{kind} did not grow" for wanted, kinds in rules if wanted for kind in kinds.split() if not grown[kind]]
    wrong += [f"{kind} grew by {grown[kind]}" for wanted, kinds in rules if not wanted for kind in kinds.split()
              if grown[kind]]
    expect(not wrong, "; ".join(wrong))


def check_used(settings, grown):
    """What the settings ask for was used. Other regions may have used more."""
    _check([rule for rule in _used(settings) if rule[0]], grown)


def check_counters(settings, grown):
    """The same, and what else the programs of pairs.py and _rounds() do; and no other mechanism."""
    _check(_expected(settings), grown)


def check_says(c, preset):
    """A region with nothing but the preset says that it has its settings; returns these."""
    with region(c, "1M", f"preset={preset}") as name:
        said = {**USUAL, **policy_of(c, name)}
    wanted = {**PRESETS[preset], "grain": "1", "algo": "queue"}
    expect(said == wanted, f"a region says {said}, not {wanted}")
    return wanted


def _lose_last(c, policy):
    """The last node is cut off: who needs it hears so, who does not goes on."""
    *rest, victim = c.nodes
    ident, others = status(victim)["node"], [status(n)["node"] for n in rest]
    there = len(rest) * PAGE	# homed there, or touched there first

    def losses(node):
        return node.dmesg().count(f"dsm: node {ident} is lost: ")

    # A number that was lost may have been given out again.
    said = [losses(node) for node in rest]
    with region(c, "1M", *policy) as name, actors(name, *rest) as living, actors(name, victim) as (v,):
        a = living[0]
        v.want(0, "write", there, 7)
        v.want(0, "release")
        a.want(0, "write", 0, 5)
        a.want(0, "release")
        for x in living:
            x.want(0, "acquire")
        v.want(0, "lock", 1)
        waiting = [(x, x.begin_blocked("dsm_node_lock", "lock", 1)) for x in living]
        since = clock.now()
        victim.cut()
        for x, number in waiting:
            x.finish(number, -errno.EHOSTDOWN, "lock held behind a cut link", bound(c, since))
        for node, before in zip(rest, said):
            until(lambda node=node: peer(node, ident)["state"] == "lost",
                  f"{node.name} does not say that {ident} is lost")
            expect(peer(node, ident)["reason"], f"{node.name} gives no reason for the loss of {ident}")
            times = losses(node) - before
            expect(times == 1, f"the log of {node.name} names the loss of node {ident} {times} times")
        a.want(SIGBUS, "read", there)
        a.read(0, 5)
        for other in others:
            until(lambda ident=other: peer(victim, ident)["state"] == "lost", f"{victim.name} has not lost {other}")
        loss.work_goes_on(c, rest, *policy)


def _cut_off(c, policy):
    """As _lose_last(); then the node comes back as another."""
    first, *_, victim = c.nodes
    try:
        _lose_last(c, policy)
    finally:
        victim.join()
        victim.check(["dsmctl", "leave", "--force"])
        victim.check(["dsmctl", "join", "--listen", victim.address, "--seed", first.address])
    expect(status(first)["members"] == c.count, "the node that was cut off is no member again")


class Preset:
    """A preset, on all nodes."""

    def __init__(self, preset):
        self.preset = preset
        self.__name__ = f"preset.{preset}"

    def __call__(self, c):
        settings, policy = check_says(c, self.preset), words_of(self.preset)
        before = sums_at_rest(c)
        pairs.run_programs(c, policy, True)
        work.flags(c, *policy)
        _rounds(c, policy)
        check_counters(settings, sums_agree(c, before))
        if settings["consistency"] == "hlrc" and settings["diffpath"] == "msg":
            sent, packed = _messages_of_a_release(c, policy), settings["diff"] != "orig"
            expect(sent < PACK_ENOUGH if packed else sent >= PACKED,
                   f"{sent} messages for {PACKED} diffs with diff={settings['diff']}")
        _cut_off(c, policy)
