# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""By which mechanism messages go, seen by the counters, and messages that mean nothing."""
from scene import actors, counters, expect, ranks, region
from wire import check_no_rnr

TUNABLES = "/sys/class/dsm/dsm/tunables"
LOCKS = 400
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
            expect(_set(b, "inline_max", inline_max), "inline_max could not be set")
            old = counters(b)
            _lock_fresh(actor, FIRST_KEY + number * LOCKS)
            new = counters(b)
            spent[inline_max] = {k: new[k] - old[k] for k in
                                 ("locks_remote", "sends_inline", "sends_signalled", "doorbells")}
        expect(_set(b, "inline_max", 256), "inline_max could not be set back")
    inline, gathered = spent[256], spent[0]
    expect(inline["locks_remote"] > LOCKS / 8, f"hardly any lock was remote: {inline}")
    expect(inline["sends_inline"] >= inline["locks_remote"], f"not inline: {inline}")
    expect(inline["sends_signalled"] <= inline["doorbells"] / 4, f"many completions: {inline}")
    expect(gathered["sends_inline"] == 0, f"inline although it is off: {gathered}")
    expect(gathered["sends_signalled"] >= gathered["locks_remote"],
           f"buffers without completions: {gathered}")
