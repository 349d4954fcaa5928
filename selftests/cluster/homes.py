# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Tests of homes: `dsmctl homes` writes to a file who homes a page, and makes it so elsewhere; in which order a release visits them."""
import errno
import os
import re
import signal

from poll import TRACING
from refused import by_user
from scene import CALL_SECONDS, actors, counters, drop_region, expect, make_region, region, status

PAGE = 4096
SIZE = "32M"	# 8192 pages: more than one question tells of
# A node's pages: alone, in rows, across the bounds of a word of the bitmap and of a question.
OWN = ([(0, 1), (60, 10), (4090, 20)], [(1, 3), (4110, 5)], [(70, 7), (8191, 1)])
DIFF = "events/dsm/dsm_diff/enable"
ROUNDS = 4
POLICIES = ("home=first-touch", "preset=csm-none", "preset=csm-none-mg")


def as_file(own):
    """The lines that `homes save` writes."""
    rows = sorted((first, count, node) for node, runs in enumerate(own) for first, count in runs)
    return [f"{node} {first} {count}" for first, count, node in rows]


def saved(node, name):
    """The homes of a region as a node writes them, without the comment."""
    return node.check(["dsmctl", "homes", "save", name]).out.splitlines()[1:]


def refused(node, words, *reasons):
    """A command that must fail, for a reason."""
    result = node.run(["dsmctl", *words])
    expect(result.status == 1 and all(r in result.err for r in reasons),
           f"{' '.join(words)}: status {result.status}, {result.err.strip()}")


def homes_are_saved_and_loaded(c):
    """First touch makes homes; a region made after the file has the same ones, whoever touches it then."""
    own = OWN[:len(c.nodes)]
    with region(c, SIZE, "home=first-touch") as name, actors(name, *c.nodes) as all_of_them:
        for actor, runs in zip(all_of_them, own):
            for first, count in runs:
                actor.want(0, "fill", first * PAGE, count, PAGE, 7)
        for node in c.nodes:
            expect(saved(node, name) == as_file(own), f"homes as {node.name} sees them: {saved(node, name)}")
        c.nodes[0].check(["dsmctl", "homes", "save", name, "/tmp/homes"])
    for policy in POLICIES:
        with region(c, SIZE, policy, "home=list:/tmp/homes") as name:
            expect(saved(c.nodes[-1], name) == as_file(own), f"{policy}: {saved(c.nodes[-1], name)}")
            with actors(name, *c.nodes) as all_of_them:
                for actor in all_of_them:
                    for page in (0, 1, 60, 65, 70, 76, 4100, 8191):
                        actor.read(page * PAGE, 0)
                # What no line named is still to be claimed.
                all_of_them[-1].want(0, "fill", 100 * PAGE, 1, PAGE, 7)
            expect(saved(c.nodes[0], name) == as_file(own[:-1] + (own[-1] + [(100, 1)],)),
                   f"{policy}, touched: {saved(c.nodes[0], name)}")
    # Into a region that there is: all nodes as they were told to, from any of them.
    last = c.nodes[-1]
    last.write(c.nodes[0].read("/tmp/homes").encode(), "/tmp/homes")
    with region(c, SIZE, "preset=csm-none-mg") as name:
        last.check(["dsmctl", "homes", "load", name, "/tmp/homes"])
        expect(saved(last, name) == as_file(own), f"loaded: {saved(last, name)}")
        last.check(["dsmctl", "homes", "load", f"/dev/dsm-{name}", "/tmp/homes"])


def _homes_of_diffs(actor):
    """A release, and the homes of the diffs that it made, in their order."""
    node = actor.node
    node.sh(f"cd {TRACING} && echo > trace && echo 1 > {DIFF}")
    actor.want(0, "release")
    node.sh(f"cd {TRACING} && echo 0 > {DIFF}")
    return [int(home) for home in re.findall(r"dsm_diff: .* home=(\d+)", node.read(f"{TRACING}/trace"))]


def homes_are_not_all_visited_at_once(c):
    """At a release each node begins with the node after it: no two begin with the same one."""
    ids = [status(node)["node"] for node in c.nodes]
    with region(c, "1M", "home=rr") as name, actors(name, *c.nodes) as all_of_them:
        for own, actor in zip(ids, all_of_them):
            others = sorted((i for i in ids if i != own), key=lambda i: (i <= own, i))
            actor.want(0, "acquire")
            actor.want(0, "fill", 0, ROUNDS * len(ids), PAGE, 10 * (own + 1))
            homes = _homes_of_diffs(actor)
            expect(homes == [i for i in others for _ in range(ROUNDS)], f"node {own} visits homes {homes}")


def homes_that_cannot_be_loaded(c):
    """A file that is wrong, a page that has a home: said, and a region made for it is gone again."""
    first, last = c.nodes[0], c.nodes[-1]
    for text, reason in (("0 1\n", "line 1: a line is"), ("# x\n\n0 0 1 1\n", "line 3: a line is"),
                         ("0 0 2\n1 1 1\n", "another line"), ("0 8192 1\n", "not in the region"),
                         ("1 8191 2\n", "not in the region"), ("1 0 0\n", "not in the region"),
                         ("63 0 1\n", "node 63"), ("0 18446744073709551615 2\n", "not in the region")):
        first.write(text.encode(), "/tmp/wrong")
        refused(first, ["region", "create", "wrong", SIZE, "home=list:/tmp/wrong"], reason)
    refused(first, ["region", "create", "wrong", SIZE, "home=list:/tmp/nowhere"], "No such file")
    # A file without end, and then a signal.
    first.sh("mkfifo /tmp/endless")
    writer = first.start(["sh", "-c", "exec yes 0 0 1 >/tmp/endless"])
    job = first.start(["dsmctl", "region", "create", "wrong", SIZE, "home=list:/tmp/endless"])
    first.wait_for(["test", "-e", "/dev/dsm-wrong"], CALL_SECONDS)
    job.signal(signal.SIGTERM)
    r = job.wait(CALL_SECONDS)
    expect(r.status == 128 + signal.SIGTERM and "signal" in r.err, f"a region that is stopped: {r}")
    writer.wait(CALL_SECONDS)
    regions = first.check(["dsmctl", "region", "list"]).out
    expect("wrong" not in regions, f"a region is left: {regions}")
    first.write(b"0 5 2\n", "/tmp/two")
    with region(c, SIZE, "home=first-touch") as name, actors(name, last) as (a,):
        a.want(0, "fill", 6 * PAGE, 1, PAGE, 7)
        refused(first, ["homes", "load", name, "/tmp/two"], "1 of 2 pages had another home")
    with region(c, SIZE, "home=rr") as name:
        refused(first, ["homes", "load", name, "/tmp/two"], "home=rr", "first-touch")
    refused(first, ["homes", "save", "nosuch"], "region list")
    with region(c, SIZE, "home=first-touch") as name:
        first.check(["dsmctl", "homes", "load", name, "/tmp/two"])
        # The file is not there, or whole.
        refused(first, ["homes", "save", name, "/proc/homes"], "/proc/homes")


# What umask leaves of the mode of a file that was not there.
MODES = (("022", "644"), ("027", "640"), ("077", "600"))


def _file(node, path):
    """Mode and contents."""
    return node.check(["stat", "-c", "%a", path]).out.strip(), node.read(path)


def files_of_homes_are_new_or_as_they_were(c):
    """Without room, or the right to write there, the old file stays, and nothing beside it; a new one has the mode that umask leaves."""
    first = c.nodes[0]
    with region(c, "1M", "home=first-touch", "mode=0666") as name, actors(name, first) as (a,):
        a.want(0, "fill", 0, 1, PAGE, 7)
        text = first.check(["dsmctl", "homes", "save", name]).out
        first.sh("mkdir -p -m 755 /tmp/files /tmp/full && mount -t tmpfs -o size=64k none /tmp/full")
        try:
            for mask, mode in MODES:
                path = f"/tmp/files/{mask}"
                first.sh(f"umask {mask} && dsmctl homes save {name} {path}")
                expect(_file(first, path) == (mode, text), f"with umask {mask}: {_file(first, path)}")
            # The mode that somebody gave it stays, also behind a link.
            first.sh(f"cd /tmp/files && echo old > old && chmod 604 old && ln -s old link && umask 077 && "
                     f"dsmctl homes save {name} link && test -L link")
            expect(_file(first, "/tmp/files/old") == ("604", text), f"replaced: {_file(first, '/tmp/files/old')}")

            first.sh(f"cd /tmp/full && umask 022 && dsmctl homes save {name} homes")
            first.run(["dd", "if=/dev/zero", "of=/tmp/full/rest", "bs=4k"])	# until there is no room
            a.want(0, "fill", 2 * PAGE, 1, PAGE, 7)	# so that a new file would be another one
            refused(first, ["homes", "save", name, "/tmp/full/homes"], "/tmp/full/homes", os.strerror(errno.ENOSPC))
            first.check(["mount", "-t", "tmpfs", "-o", "remount,ro", "none", "/tmp/full"])
            refused(first, ["homes", "save", name, "/tmp/full/homes"], "/tmp/full/homes", os.strerror(errno.EROFS))
            expect(_file(first, "/tmp/full/homes") == ("644", text), f"it is now {_file(first, '/tmp/full/homes')}")
            there = first.check(["ls", "/tmp/full"]).out.split()
            expect(there == ["homes", "rest"], f"beside the old file: {there}")

            # A file that anybody may write, in a folder where not everybody may make one.
            first.sh("cp /tmp/full/homes /tmp/files/homes && chmod 666 /tmp/files/homes && ls /tmp/files > /tmp/before")
            r = first.run(by_user(f"dsmctl homes save {name} /tmp/files/homes"))
            expect(r.status == 1 and "/tmp/files/homes" in r.err and os.strerror(errno.EACCES) in r.err, f"by another user: {r}")
            expect(_file(first, "/tmp/files/homes") == ("666", text), f"it is now {_file(first, '/tmp/files/homes')}")
            first.sh("ls /tmp/files | cmp - /tmp/before")
        finally:
            first.sh("umount /tmp/full; rm -r /tmp/files /tmp/full")


def nothing_of_a_wrong_file_is_loaded(c):
    """Lines before the wrong one, and behind it, make no homes; the wrong one is named."""
    first = c.nodes[0]
    good = "# two nodes\n0 0 2\n1 10 3\n"
    with region(c, SIZE, "home=first-touch") as name, actors(name, first) as (a,):
        a.want(0, "fill", 100 * PAGE, 1, PAGE, 7)
        before = saved(first, name)
        expect(before == ["0 100 1"], f"homes: {before}")
        for text, line in ((good + "0 20", 4), (good + "0 20 1", 4), (good + "0 20 1\0 3\n", 4),
                           (good + "0 20 1 1\n1 30 1\n", 4), (good + "0 20 \n1 30 1\n", 4),
                           (good + "0 8191 2\n", 4), (good + "1 12 1\n", 4), ("no homes" * PAGE, 1), ("0 0 -1\n" + good, 1),
                           ("0x0 0 1\n" + good, 1)):
            first.write(text.encode(), "/tmp/wrong")
            refused(first, ["homes", "load", name, "/tmp/wrong"], f"/tmp/wrong, line {line}: ")
            expect(saved(first, name) == before, f"{text[:60]!r} made homes: {saved(first, name)}")
        first.write((good + "60 20 1\n").encode(), "/tmp/wrong")
        refused(first, ["homes", "load", name, "/tmp/wrong"], "node 60, or one that knows its homes, is not there")
        expect(saved(first, name) == before, f"a node that is not there: {saved(first, name)}")
        refused(first, ["homes", "load", name, "/tmp"], "/tmp: ")
        refused(first, ["homes", "load", name, "/tmp/nowhere"], "/tmp/nowhere", os.strerror(errno.ENOENT))
        # It is the files that are wrong.
        first.write(good.encode(), "/tmp/right")
        first.check(["dsmctl", "homes", "load", name, "/tmp/right"])
        expect(saved(first, name) == ["0 0 2", "1 10 3", "0 100 1"], f"loaded: {saved(first, name)}")


def leaves_with_the_only_copy(c):
    """Pages that only a node has go home when it leaves; no --force, and nothing is lost."""
    first, last = c.nodes[0], c.nodes[-1]
    for settings in (("preset=sc", "home=block:1"), ("preset=csm-none", "home=block:1")):
        # Homed at the first node, and at the one between.
        pages = [len(c.nodes) * k + node for k in range(2) for node in range(len(c.nodes) - 1)]
        # Open before: the node that leaves may be the manager that an open asks.
        with region(c, "1M", *settings, nodes=c.nodes) as name, actors(name, first) as (reader,):
            before = counters(last, name)
            with actors(name, last) as (a,):
                for turn in range(1, 4):
                    for page in pages:
                        a.want(0, "lock", 1)
                        a.want(0, "write", page * PAGE, turn + page)
                        a.want(0, "unlock", 1)
            after = counters(last, name)
            grown = sum(after[kind] - before[kind] for kind in ("sc_grants", "excl_enters"))
            expect(grown >= len(pages), f"{grown} pages are the node's alone with {settings}")
            # The one between has touched none of those that it homes.
            refused(c.nodes[1], ["leave"], "live on this node")
            last.check(["dsmctl", "leave"])
            for page in pages:
                reader.read(page * PAGE, 3 + page)
            last.check(["dsmctl", "join", "--listen", last.address, "--seed", first.address])


def leaves_when_homes_have_moved_on(c):
    """Who led others to a page's next home does not leave before the region goes: they may know the way from it alone."""
    first, between, last = c.nodes[0], c.nodes[1], c.nodes[-1]
    with region(c, "1M", "preset=csm-none-mg", nodes=c.nodes) as name:
        with actors(name, last, between) as (a, b):
            for value, actor in enumerate((a, b), 1):
                actor.want(0, "lock", 1)
                actor.want(0, "write", 0, value)
                actor.want(0, "unlock", 1)
        expect(counters(between, name)["migrations"] == 1, "the page's home did not move")
        refused(last, ["leave"], "moved from this node to others")
        with actors(name, first) as (reader,):
            reader.want(0, "lock", 1)
            reader.read(0, 2)
            reader.want(0, "unlock", 1)
    last.check(["dsmctl", "leave"])
    last.check(["dsmctl", "join", "--listen", last.address, "--seed", first.address])


def homes_of_a_node_that_is_lost(c):
    """Who asks a lost node to claim is told; the others' homes are saved."""
    first, last = c.nodes[0], c.nodes[-1]
    ident = next(n["node"] for n in status(last)["nodes"] if n["state"] == "self")
    first.write(b"0 0 1\n1 1 1\n", "/tmp/both")
    first.write(f"0 5 1\n{ident} 6 1\n".encode(), "/tmp/lost")
    # Of some the lost node is the sync manager: those cannot be opened any more.
    names = [make_region(c, SIZE, "home=list:/tmp/both") for _ in range(5)]
    last.kill()
    first.wait_for(["sh", "-c", f"dsmctl status --json | grep -q '\"node\": {ident}, \"state\": \"lost\"'"], 30)
    results = {name: first.run(["dsmctl", "homes", "save", name]) for name in names}
    name = next((n for n in names if "Host is down" not in results[n].err), names[0])
    result = results[name]
    expect(result.status == 0 and f"node {ident} is lost" in result.err and "\n0 0 1\n" in result.out,
           f"save: {result}")
    refused(first, ["homes", "load", name, "/tmp/lost"], f"node {ident}")
    for name in names:
        drop_region(c, name)
