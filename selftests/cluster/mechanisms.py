# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""By which mechanism messages go, seen by the counters, and messages that mean nothing."""
import errno
import re

import bulk
from scene import TUNABLES, actors, counters, expect, ranks, region, tuned, until
from wire import check_no_rnr

LOCKS = 400
BATCHED_PAGES = 64
BATCHED_WORDS = BATCHED_PAGES * 4096 // bulk.STEP
# A region's own key each, whose token is free at its manager when it is first asked for.
FIRST_KEY = 5000


def every_mechanism_on_every_connection(c):
    """Bounds, refusals, floods in all directions with locks beside; nothing malformed, no RNR."""
    with region(c, "1M") as name:
        ranks(c, ["pings", name, 3], timeout=120)
    for node in c.nodes:
        expect(counters(node)["invalid_msgs"] == 0, f"node {node.index} saw malformed messages")
    check_no_rnr(c)


def _set(node, name, value):
    return node.run(["sh", "-c", f"echo {value} >{TUNABLES}/{name}"]).status == 0


def _get(node, name):
    return int(node.check(["cat", f"{TUNABLES}/{name}"]).out)


def _lock_fresh(actor, first):
    for key in range(first, first + LOCKS):
        actor.want(0, "lock", key)
        actor.want(0, "unlock", key)


def limits_take_effect(c):
    """Bounds are checked; inline messages need few completions, others each its own."""
    a, b = c.nodes[:2]
    for name, good, bad in (("inline_max", (0, 512), (513, -1, "x")),
                            ("batch_max", (1, 32), (0, 33, ""))):
        before = _get(a, name)
        for value in bad:
            expect(not _set(a, name, value), f"{name} took '{value}'")
            expect(_get(a, name) == before, f"{name} changed to '{value}'")
        for value in (*good, before):
            expect(_set(a, name, value) and _get(a, name) == value, f"{name} refused {value}")
    spent = {}
    with region(c, "1M") as name, actors(name, b) as (actor,):
        for number, inline_max in enumerate((256, 0)):
            with tuned(b, inline_max=inline_max):
                old = counters(b)
                _lock_fresh(actor, FIRST_KEY + number * LOCKS)
                new = counters(b)
            spent[inline_max] = {k: new[k] - old[k] for k in
                                 ("locks_remote", "sends_inline", "sends_signalled", "doorbells")}
    inline, gathered = spent[256], spent[0]
    expect(inline["locks_remote"] > LOCKS / 8, f"hardly any lock was remote: {inline}")
    expect(inline["sends_inline"] >= inline["locks_remote"], f"not inline: {inline}")
    expect(inline["sends_signalled"] <= inline["doorbells"] / 4, f"many completions: {inline}")
    expect(gathered["sends_inline"] == 0, f"inline although it is off: {gathered}")
    expect(gathered["sends_signalled"] >= gathered["locks_remote"],
           f"buffers without completions: {gathered}")


def batches_take_few_doorbells(c):
    """A release of many diffs, each a SEND: several to a doorbell, or one if batch_max says so."""
    a, b = c.nodes[:2]
    spent = {}
    for most in (16, 1):
        with tuned(b, bulk_min=0, batch_max=most), region(c, "1M", bulk.PACKS) as name, \
                actors(name, a, b) as (home, writer):
            # The first one has the pages fetched.
            for value in (most, most + 1):
                writer.want(0, "fill", 0, BATCHED_WORDS, bulk.STEP, value * bulk.EACH_BYTE)
                before = counters(b)
                writer.want(0, "release")
                after = counters(b)
            home.want(0, "acquire")
            home.want(0, "verify", 0, BATCHED_WORDS, bulk.STEP, value * bulk.EACH_BYTE)
            spent[most] = {k: after[k] - before[k] for k in ("doorbells", "work_requests", "sends_batched", "bulks")}
    many, one = spent[16], spent[1]
    print(f"# {many}, with batch_max=1 {one}", flush=True)
    for what in spent.values():
        expect(what["work_requests"] >= BATCHED_PAGES / 4 and not what["bulks"], f"not one SEND for each: {what}")
    expect(many["doorbells"] <= many["work_requests"] / 2, f"many doorbells: {many}")
    expect(many["sends_batched"] >= many["work_requests"] / 2, f"few went together: {many}")
    expect(one["doorbells"] == one["work_requests"], f"several to a doorbell with batch_max=1: {one}")
    expect(not one["sends_batched"], f"some went together with batch_max=1: {one}")


DEFAULTS = {"inline_max": 256, "batch_max": 16, "bulk_min": 4}
# What a measurement can come to (kmod/net/tune.c), and values that none comes to.
OUTCOMES = {"inline_max": {0, 64, 128, 256, 512}, "batch_max": {1, 4, 16},
            "bulk_min": {0, 2, 4, 8, 15}}
ALONE = 6	# times that one node measures by itself, at most
# What each may take.
BUDGET_MS = {"inline_max": 100, "batch_max": 300, "bulk_min": 200}
WRITTEN = {"inline_max": 100, "batch_max": 7, "bulk_min": 5}
MEASURED = re.compile(r"dsm: inline_max (\d+): (-?\d+), batch_max (\d+): (-?\d+), bulk_min (\d+): (-?\d+); "
                      r"(\d+) (\d+) (\d+) us$", re.M)


def _told(node):
    """What measurements came to: a list of {limit: (value, error, us)}."""
    return [{name: (int(m[2 * i + 1]), int(m[2 * i + 2]), int(m[7 + i])) for i, name in enumerate(DEFAULTS)}
            for m in MEASURED.finditer(node.dmesg())]


def _tells(node, times):
    """Wait for so many measurements; each ended, or ran out of time."""
    until(lambda: len(_told(node)) >= times, f"{node.name} did not measure its limits {times} times")
    told = _told(node)
    expect(len(told) == times, f"{node.name} measured more often than {times} times: {told}")
    for name, (_, error, us) in told[-1].items():
        expect(not error or (error == -errno.ETIME and us >= 1000 * BUDGET_MS[name]),
               f"{node.name}: {name} ended with {error} after {us} us")
    return told[-1]


def _in_words(told):
    """Which limits a measurement found, and how long it took for each."""
    return ", ".join(f"{name} {'not ' if error else ''}measured in {us / 1000:.0f} ms (now {value})"
                     for name, (value, error, us) in told.items())


def _any_found(c):
    """Has a measurement of any node come to its end?"""
    return any(not error for node in c.nodes for limits in _told(node) for _, error, _ in limits.values())


def limits_are_measured_once_or_stay(c):
    """With the first peer, not with the others, and when joined anew; never over a value that somebody wrote."""
    faults = c.unload()
    expect(not faults, "\n".join(faults))
    c.load()
    for node in c.nodes:
        node.sh("echo 'module dsm file *tune.c +p' > /sys/kernel/debug/dynamic_debug/control")
        usual = {name: _get(node, name) for name in DEFAULTS}
        expect(usual == DEFAULTS, f"{node.name} begins with {usual}")
    free, fixed, mixed = c.nodes[:3]
    written = {free: {}, fixed: WRITTEN, mixed: {"batch_max": WRITTEN["batch_max"]}}
    for node, values in written.items():
        for name, value in values.items():
            expect(_set(node, name, value), f"{node.name}: {name} refused {value}")
    c.join_all()
    for turn in (1, 2):
        for node, values in written.items():
            for name, (value, error, _) in _tells(node, turn).items():
                now = _get(node, name)
                expect(now == value, f"{node.name}: {name} was {value} when measured, is {now}")
                if name in values:
                    expect(now == values[name], f"{node.name}: {name} is {now}, {values[name]} was written")
                else:
                    expect(now in OUTCOMES[name], f"{node.name}: {name} is {now}")
                    # A default stays unless the measurement came to an end, this one or the one before.
                    expect(turn > 1 or not error or now == DEFAULTS[name], f"{node.name}: {name} {now}, {error}")
        if turn == 1:
            for node in c.nodes:
                node.check(["dsmctl", "leave", "--force"])
            c.join_all()
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 50, 3])
    for node in c.nodes:
        _tells(node, 2)
    # All at once they may have too little of a slow host; one by itself has more.
    for turn in range(3, 3 + ALONE):
        if _any_found(c):
            break
        mixed.check(["dsmctl", "leave", "--force"])
        mixed.check(["dsmctl", "join", "--listen", mixed.address, "--seed", free.address])
        _tells(mixed, turn)
    for node in c.nodes:
        print(f"# {node.name}:", "; ".join(map(_in_words, _told(node))), flush=True)
    expect(_any_found(c), "nobody's time did for any limit")
    check_no_rnr(c)
