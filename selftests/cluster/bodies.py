# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""A node whose messages have a wrong byte somewhere in their bodies.

Each is refused with a reason that says what is wrong, or it does no harm beyond the programs that share
memory with that node: they end when they are killed, the nodes part and join again, and no kernel complains. The bytes
are chosen by the module (kmod/net/fault.c) from a seed: environment SEED, default 1.
"""
import os
import re

from faults import fault
from scene import (CALL_SECONDS, again, comes, drop_region, expect, kill_all, living, make_region, peer,
                   ranks, region, start_ranks, status)
from vm.channel import GuestError
from wire import XFER

SEED = int(os.environ.get("SEED", "1"))
ROUND_SECONDS = 3.0
RESTARTS = 60

# What the programs below send in any case; enum dsm_msg_type has the numbers, and 0 is an answer without a body.
SURE = {0: "brief PAGE", 10: "FETCH", 11: "PAGE", 20: "DIFF", 21: "DIFF_ACK", 22: "DIFF_DIRECT", 50: "LOCK_REQ",
        52: "LOCK_GRANT", 60: "BAR_ARRIVE", 61: "BAR_DEPART", 65: "FLAG_OP", 66: "FLAG_REPLY",
        131: "LOCK_TRY", 143: "SC_GET", 144: "SC_RECALL", 145: "SC_BACK", 146: "SC_GRANT",
        147: "SC_DONE", 150: "RLOCK", 151: "RLOCK_REPLY"}
OTHERS = {30: "INTERVALS", 51: "LOCK_PASS", 53: "LOCK_RETURN", 130: "INTERVAL_PULL",
          132: "LOCK_TRY_PASS", 133: "LOCK_TRY_DONE", 134: "LOCK_REFUSED",
          135: "LOCK_RETURN_ACK", 138: "BAR_ABORT", 139: "SYNC_PUSH", 140: "SYNC_PULL",
          141: "SYNC_REPLY", 142: "BAR_ASK", 152: "RSYNC_KEY", 23: "DIFF_BACK",
          31: "CSM_NOTICE", 32: "CSM_NOTICE_ACK", 33: "CSM_DROP", 34: "CSM_DROP_ACK",
          40: "CSM_UPGRADE", 41: "CSM_GRANT", 42: "CSM_BREAK", 43: "CSM_BACK", 44: "CSM_BACK_ACK"}
CONTROL = {100: "CONTROL", 101: "CONTROL_REPLY"}
# Words that explain nothing: one side at least must know better.
VAGUE = ("connection failed", "connection closed", "no heartbeat", "messages are not acknowledged")

# Programs that go on until they are killed, and the settings of their regions. Their number is odd: who manages
# a key follows from the region's number, and of every fourth region it is the same node for long.
PROGRAMS = (
    (("counter", "REGION", 2, 100000, 3), "home=rr,fetch=nocopy,diffpath=write"),
    (("sharing", "REGION", 4, 10000), "home=rr,fetch=read"),
    (("counter", "REGION", 2, 100000, 3), "home=rr,sync=rdma"),
    (("plain", "ring", "/dev/dsm-REGION", 100000), "consistency=sc,home=rr"),
    (("counter", "REGION", 1, 100000, 1), "preset=csm-none,home=rr"),
)
CALLS = (("trylock", 1), ("set", 1), ("acquire", 0), ("release", 0), ("clear", 1),
         ("timedlock", 1, 50))


def changed(node):
    """Types of messages whose bodies were changed so far on a node, in order."""
    return [int(t) for t in re.findall(r"fault: to node \d+: type (\d+), byte", node.dmesg())]


def arm(node, ident, types):
    """Change the first message of each of these types to a node."""
    node.check(["sh", "-ec", f'for t in "$@"; do echo "fault {ident} body $t {SEED}" > {XFER}; done',
                "sh", *map(str, types)])


def stacks(jobs):
    """Where those that run are in the kernel."""
    show = 'for t in /proc/$0/task/*; do cat $t/stat $t/stack | cut -c1-60; done'
    return "\n".join(f"{job.name()}\n{job.channel.run(['sh', '-c', show, str(job.pid)]).out}"
                     for job in jobs if not job.done())


def end(jobs):
    """Kill all, and see them go."""
    stuck = kill_all(jobs)
    expect(not stuck, f"killed, but {stuck}\n{stacks(jobs) if stuck else ''}")


def is_lost(a, b, idents):
    return any(peer(x, i)["state"] == "lost" for x, i in zip((a, b), idents))


def all_anew(a, b):
    """Also the node whose messages were changed: it may believe what the other one made of them."""
    for node in (b, a):
        node.check(["dsmctl", "leave", "--force"])
    a.check(["dsmctl", "join", "--listen", a.address])
    b.check(["dsmctl", "join", "--listen", b.address, "--seed", a.address])


def say_calls(actors, keys):
    """Calls that nobody waits for, on locks and flags managed everywhere; see actor.c."""
    for actor in actors:
        actor.wait_line(r"^ready (\d+)$", CALL_SECONDS)
        for thread, (what, number, *rest) in enumerate(CALLS):
            for key in range(keys):
                words = " ".join(map(str, (thread, key, what, *[key][:number], *rest)))
                actor.write(words.encode() + b"\n")


def one_round(c, a, b, types):
    """Programs run while the first message of each type is changed; reasons of losses."""
    idents = [status(b)["node"], status(a)["node"]]
    names, jobs, actors = [], [], []
    before = len(changed(a))
    try:
        for words, settings in PROGRAMS:
            # So small that few pages in use are enough for its registration.
            name = make_region(c, "64K", *settings.split(","))
            names.append(name)
        # Some messages are sent only when programs begin.
        arm(a, idents[0], types)
        for (words, _), name in zip(PROGRAMS, names):
            jobs += start_ranks(c, [str(w).replace("REGION", name) for w in words])
        # Any of them may fail to begin, and those before it must still be ended.
        for node in (a, b):
            jobs.append(node.start(["/work/actor", names[0]], stdin=True))
            actors.append(jobs[-1])
        say_calls(actors, 6)
        # Not every round sends all of them.
        comes(lambda: is_lost(a, b, idents) or len(changed(a)) - before == len(types),
              ROUND_SECONDS * c.slowness)
    except (GuestError, AssertionError) as e:
        # The word of a region, or of a fault, was among the victims.
        if len(changed(a)) == before:
            raise AssertionError(f"nothing was changed, but {e}\n{stacks(jobs)}") from e
    finally:
        end(jobs)
    reasons = [peer(x, i) for x, i in zip((a, b), idents)]
    again(c, b)
    for name in names:
        drop_region(c, name)
    all_anew(a, b)
    lost = [r.get("reason", "") for r in reasons if r["state"] == "lost"]
    expect(not lost or any(r and not r.startswith(VAGUE) for r in lost),
           f"lost without a reason: {lost} after {changed(a)[before:]}")
    return lost


def changed_bodies_do_no_harm(c):
    """A byte in the body of every type of message that two nodes send each other."""
    a, b = living(c)[:2]
    left = {**SURE, **OTHERS}
    refused = rounds = idle = 0
    # Who manages a barrier or lock, and so which messages a node sends, is another one in each round.
    while left and rounds < RESTARTS and idle < (8 if set(left) & set(SURE) else 2):
        done = len(changed(a))
        refused += bool(one_round(c, a, b, left))
        new = changed(a)[done:]
        idle = 0 if new else idle + 1
        rounds += 1
        for number in new:
            left.pop(number, None)
    print(f"# bodies: seed {SEED}: {len(SURE) + len(OTHERS) - len(left)} types changed in {rounds} rounds, "
          f"{refused} times refused; not sent: {', '.join(left.values()) or 'none'}", flush=True)
    missed = set(left) & set(SURE)
    expect(not missed, f"never sent: {[SURE[t] for t in missed]}")
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 20, 4])


def changed_control_does_no_harm(c):
    """The same for what nodes tell each other of regions."""
    a, b = living(c)[:2]
    for seed in range(SEED, SEED + 4):
        for number in CONTROL:
            done = len(changed(a))
            name = f"bad{number}x{seed}"
            try:
                fault(a, b, f"body {number} {seed}")
                # Who asks is b for a reply by a; the outcome is nobody's business.
                (a if number == 100 else b).run(["dsmctl", "region", "create", name, "64K"])
                for n in (a, b):
                    n.run(["dsmctl", "region", "destroy", name])
                expect(len(changed(a)) > done, f"no {CONTROL[number]} was sent")
            finally:
                again(c, b)
            a.run(["dsmctl", "region", "destroy", name])
    with region(c, "1M", "home=rr") as name:
        ranks(c, ["counter", name, 2, 20, 4])
