# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of barriers whose reports go through other nodes: a chain, with barrier_fanout=1."""
import errno

from scene import (actors, bound, check_loss_is_reported, expect, living, name_of,
                   region, sent)
from vm import clock

KEYS = range(8)		# enough to have managers everywhere
EPISODES = 200


def meet(parties, key, episodes=1):
    """The actors come to a barrier that many times, all together."""
    waits = [(x, x.begin("barriers", key, len(parties), episodes)) for x in parties]
    for x, number in waits:
        x.finish(number, 0, f"{episodes} barriers of key {key}")


def a_chain_sends_as_many_messages(c):
    """One up and one down for each node but the manager's; nobody sends more than two."""
    nodes = living(c)
    with region(c, "1M") as name, actors(name, *nodes) as parties:
        for key in KEYS[:3]:
            meet(parties, key, 5)
            before = sent(nodes)
            meet(parties, key, EPISODES)
            more = [now - b for now, b in zip(sent(nodes), before)]
            want = [EPISODES, EPISODES] + [2 * EPISODES] * (len(nodes) - 2)
            expect(sorted(more) == want, f"messages of {EPISODES} episodes by node: {more}")


def parties_of_a_chain_change(c, *policy):
    """Other threads come instead, fewer nodes, all again; nobody waits for who does not come."""
    nodes = living(c)
    with region(c, "1M", *policy) as name, actors(name, *nodes) as parties:
        for key in KEYS:
            meet(parties, key, 5)
            stays = parties[key % len(parties)]
            twice = parties[(key + 1) % len(parties)]
            waits = [(x, x.begin("barrier", key, len(parties))) for x in parties if x is not stays]
            waits.append((twice, twice.begin("barrier", key, len(parties), thread=1)))
            for x, number in waits:
                x.finish(number, 0, f"barrier {key} with another party")
            meet(parties, key, 5)
            meet([x for x in parties if x is not stays], key, 5)
            meet(parties, key, 5)


def killed_in_the_middle(c):
    """Node 1 passes reports on; those behind it have reported, it has not, or somebody else has not."""
    nodes = living(c)
    victim = nodes[1]
    rest = [n for n in nodes if n is not victim]
    with region(c, "1M") as name, actors(name, *rest) as others, actors(name, victim) as (v,):
        everybody = [others[0], v, *others[1:]]
        for key in KEYS:
            meet(everybody, key, 5)
        waits = []
        for key in KEYS:
            absent = v if key % 2 else others[key // 2 % len(others)]
            for x in everybody:
                if x is v and x is not absent:
                    x.begin("barrier", key, len(everybody), thread=key)
                elif x is not absent:
                    waits.append((x, x.begin("barrier", key, len(everybody), thread=key)))
        for x in everybody:
            x.blocked("dsm_node_barrier")
        # A report may go through each of them.
        for x in len(everybody) * everybody:
            x.settle()
        since = clock.now()
        victim.kill()
        for x, number in waits:
            x.finish(number, -errno.EHOSTDOWN, "barrier behind a dead node", bound(c, since))
        check_loss_is_reported(c, rest, v.id)
        good = 0
        for key in KEYS:
            # Who was told by another node before its own knew is told once more.
            for _ in range(3):
                waits = [(x, x.begin("barrier", key, len(others))) for x in others]
                got = {x.end(number)[0] for x, number in waits}
                if got == {0}:
                    break
            expect(got in ({0}, {-errno.EHOSTDOWN}), f"barrier {key}: {sorted(map(name_of, got))}")
            if got == {0}:
                good += 1
                meet(others, key, 5)
        expect(good >= len(KEYS) // 2, f"the survivors could use {good} keys only")
