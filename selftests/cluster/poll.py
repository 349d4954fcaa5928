# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Who handles completions, and whether waiters spin: parameters poll, poll_us and poll_always of the module.

Each way runs the same programs. That the parameter took effect is seen from outside: by the threads in which messages
are handled (event dsm_msg_rx), by where the RDMA core takes completions (cq_poll), and by what sysfs `spin` tells.
"""
import contextlib
import re

from scene import expect, ranks, region
from wire import check_no_rnr

PARAMETERS = "/sys/module/dsm/parameters"
DEVICE = "/sys/class/dsm/dsm"
TRACING = "/sys/kernel/tracing"
# Read when the module is loaded; the tests below set others.
LOADED = {"poll": "softirq", "poll_us": "0", "poll_always": "N"}
OPTIONS = {"nodes": 2, "module_args": [f"{name}={value}" for name, value in LOADED.items()]}
KINDS = ("page", "read", "ahead", "release", "answer", "lock", "barrier", "flag")
# What the programs below wait for in any case.
MET = {"page", "lock", "barrier"}
NAME = object()	# in words of programs: the region
HOUR_NS = 3600 * 10**9


def expect_parameters(node, **wanted):
    """The parameters as the module tells them, and what the joined node goes by."""
    told = {name: node.read(f"{PARAMETERS}/{name}").strip() for name in wanted}
    expect(told == wanted, f"{node.name} has {told}, not {wanted}")
    for name in ("poll", "poll_us"):
        told = node.read(f"{DEVICE}/{name}").strip()
        expect(told == wanted[name], f"{node.name}: sysfs {name} is {told}, not {wanted[name]}")


def set_parameters(c, **wanted):
    """On all nodes, which join anew: `poll` is read then. What was learned of waits is as after loading."""
    faults = c.unload()
    expect(not faults, "\n".join(faults))
    c.load()
    for node in c.nodes:
        for name, value in wanted.items():
            node.write(value.encode(), f"{PARAMETERS}/{name}")
    c.join_all()
    for node in c.nodes:
        expect_parameters(node, **wanted)


class Seen:
    """Of a node: names of the threads in which messages were handled; completions taken off in softirq, by the core."""

    def __init__(self, text):
        self.handlers = set(re.findall(r"^\s*(\S.*?)-\d+\s+\[\d+\].*\bdsm_msg_rx:", text, re.M))
        self.softirq = len(re.findall(r"^.*-\d+\s+\[\d+\]\s+\S\S[sH]\S*\s.*\bcq_poll:", text, re.M))


@contextlib.contextmanager
def traced(c):
    """What is done where within the block: {node: Seen}, filled at its end."""
    seen = {}
    events = "events/dsm/dsm_msg_rx/enable events/rdma_core/cq_poll/enable"
    for node in c.nodes:
        node.sh(f"cd {TRACING} && echo > trace && for e in {events}; do echo 1 > $e || exit; done")
    try:
        yield seen
    finally:
        for node in c.nodes:
            node.sh(f"cd {TRACING} && for e in {events}; do echo 0 > $e || exit; done")
    for node in c.nodes:
        text = node.read(f"{TRACING}/trace")
        seen[node] = Seen(text)
        expect(seen[node].handlers, f"{node.name}: no message was traced:\n{text[-1000:]}")


def waits(node):
    """What `spin` tells: {kind: (ns slept, ns spun, choice)}."""
    text = node.read(f"{DEVICE}/spin")
    found = {m[1]: (int(m[2]), int(m[3]), m[4]) for m in
             re.finditer(r"^(\w+) slept (\d+) spun (\d+): (spin|sleep|measuring)$", text, re.M)}
    expect(tuple(found) == KINDS and len(found) == len(text.splitlines()), f"{node.name} tells of waits:\n{text}")
    for kind, (slept, spun, choice) in found.items():
        expect(max(slept, spun) < HOUR_NS, f"{node.name}: a wait for {kind} took an hour:\n{text}")
        expect(choice == "measuring" or (slept and spun), f"{node.name} chose without comparing:\n{text}")
    return found


def programs(c):
    """Pages, diffs, locks, barriers by messages; locks and barriers by signals and atomics; a flood of messages."""
    for policy, argv in (("home=rr", ["counter", NAME, 2, 100, 3]), ("home=rr", ["exchange", 40, 4096, NAME]),
                         ("home=rr", ["barriers", NAME, 2, 20]), ("home=rr", ["pings", NAME, 1]),
                         ("preset=hlrc-rdma,home=rr", ["counter", NAME, 2, 50, 3]),
                         ("preset=hlrc-rdma,home=rr", ["barriers", NAME, 2, 10])):
        with region(c, "1M", *policy.split(",")) as name:
            ranks(c, [name if word is NAME else word for word in argv], timeout=120)
    check_no_rnr(c)


def expect_no_spin(c):
    """Nobody spun, and waits that sleep were measured."""
    for node in c.nodes:
        found = waits(node)
        expect(not any(spun for _, spun, _ in found.values()), f"{node.name} spun: {found}")
        met = {kind for kind, (slept, _, _) in found.items() if slept}
        expect(MET <= met, f"{node.name} waited for {met} only")


def expect_workers_only(seen, softirq):
    """No thread that waited handled a message, and the core took completions in softirq, or it did not."""
    for node, what in seen.items():
        expect(all(name.startswith("kworker") for name in what.handlers),
               f"{node.name}: messages were handled by {what.handlers}")
        expect((what.softirq > 0) == softirq, f"{node.name}: {what.softirq} completions were taken in softirq")


def poll_softirq(c):
    """By the parameters at loading: sends in softirq, the others by work items; nobody spins."""
    for node in c.nodes:
        expect_parameters(node, **LOADED)
    with traced(c) as seen:
        programs(c)
    expect_workers_only(seen, softirq=True)
    expect_no_spin(c)


def poll_is_read_when_joining(c):
    """A value written meanwhile changes nothing; what is none is refused."""
    for node in c.nodes:
        before = [node.read(f"{PARAMETERS}/{name}") for name in LOADED]
        for name, value in (("poll", "sometimes"), ("poll", ""), ("poll_us", "-1"), ("poll_always", "2")):
            r = node.run(["sh", "-c", f"echo '{value}' > {PARAMETERS}/{name}"])
            expect(r.status, f"{node.name}: {name} took '{value}'")
        after = [node.read(f"{PARAMETERS}/{name}") for name in LOADED]
        expect(before == after, f"{node.name}: {before} before refusals, {after} after them")
        node.write(b"direct", f"{PARAMETERS}/poll")
    try:
        with traced(c) as seen, region(c, "1M", "home=rr") as name:
            ranks(c, ["counter", name, 2, 50, 3])
        expect_workers_only(seen, softirq=True)
    finally:
        for node in c.nodes:
            node.write(LOADED["poll"].encode(), f"{PARAMETERS}/poll")


def poll_workqueue(c):
    """Every completion by a work item, while threads spin."""
    set_parameters(c, poll="workqueue", poll_us="1000", poll_always="Y")
    with traced(c) as seen:
        programs(c)
    expect_workers_only(seen, softirq=False)
    expect_spins(c)


def poll_direct_always(c):
    """Threads that spin handle messages themselves."""
    set_parameters(c, poll="direct", poll_us="1000", poll_always="Y")
    with traced(c) as seen:
        programs(c)
    for node, what in seen.items():
        expect(what.handlers & {"counter", "exchange", "barriers"},
               f"{node.name}: only {what.handlers} handled messages")
        expect(not what.softirq, f"{node.name}: {what.softirq} completions were taken in softirq")
    expect_spins(c)


def poll_direct_never(c):
    """poll_us=0: waiters sleep at once."""
    set_parameters(c, poll="direct", poll_us="0", poll_always="N")
    programs(c)
    expect_no_spin(c)


def poll_direct(c):
    """As it is without parameters: both ways are tried, and compared."""
    set_parameters(c, poll="direct", poll_us="1000", poll_always="N")
    programs(c)
    for node in c.nodes:
        found = waits(node)
        both = {kind for kind, (slept, spun, _) in found.items() if slept and spun}
        expect(both, f"{node.name} did not try both ways: {found}")


def expect_spins(c):
    """Waits of what the programs do were spun."""
    for node in c.nodes:
        found = waits(node)
        met = {kind for kind, (_, spun, _) in found.items() if spun}
        expect(MET <= met, f"{node.name} spun for {met} only: {found}")
