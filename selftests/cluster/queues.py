# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The order in which a lock by atomics goes around, and pages that are written into their homes' frames by the run."""
import itertools

from scene import actors, counters, expect, living, region, sums_at_rest, until

PAGE = 4096
PAGES = 24
REGION = "192K"			# half of its pages are in use: then its home registers them with any diffpath
RUNS_MOST = 64
WARM_UP = 20
LAST_WORD = PAGE - 8		# of no run
EACH_BYTE = 0x0101010101010101
LOCAL_RUN = 16			# DSM_LOCK_LOCAL_RUN
DIRECT_RUNS = "/sys/module/dsm/parameters/direct_runs"
WR_RUNS_MAX = "/sys/module/dsm/parameters/wr_runs_max"


def queue_up(actor, key):
    """Begin to lock and wait until the node is in the lock's queue: then it has told the one before it."""
    told = counters(actor.node)["signals_sent"]
    number = actor.begin_blocked("dsm_node_lock", "lock", key)
    until(lambda: counters(actor.node)["signals_sent"] > told, f"{actor.node.name} does not queue for lock {key}")
    return number


def rdma_locks_are_fifo_among_nodes(c):
    """The holder, who unlocks and locks again, comes behind all that waited; words on all nodes."""
    with region(c, "1M", "sync=rdma") as name, actors(name, *c.nodes[:3]) as players:
        for key in range(6):
            holder, *others = players[key % 3:] + players[:key % 3]
            holder.want(0, "lock", key)
            queue = [(actor, queue_up(actor, key)) for actor in others]
            for turn in range(4):
                actor, number = queue.pop(0)
                holder.want(0, "unlock", key)
                actor.finish(number, 0, "lock in its turn")
                if turn < 3:
                    queue.append((holder, queue_up(holder, key)))
                early = [x.node.name for x, waiting in queue if not x.pending(waiting)]
                expect(not early, f"{early} got lock {key} before its turn")
                holder = actor
            for actor, number in queue:
                holder.want(0, "unlock", key)
                actor.finish(number, 0, "lock in its turn")
                holder = actor
            holder.want(0, "unlock", key)


class Turns:
    """Processes that lock one key again and again, one at a time by word of the test; two on each node or more, so that
    whenever one has the lock another one of its node waits."""

    def __init__(self, c, players, key):
        self.c, self.key = c, key
        self.holder, *others = players
        self.holder.want(0, "lock", key)
        self.waiting = {}
        for actor in others:
            self.queue(actor)

    def queue(self, actor):
        """Begin to lock; if it is the first one of a node without the lock, all others have been told when this ends."""
        number = actor.begin_blocked("dsm_node_lock", "lock", self.key)
        if actor.node is not self.holder.node:
            sums_at_rest(self.c)
        self.waiting[actor] = number

    def _came(self):
        """Who got the lock, and its holder does not know yet."""
        return [actor for actor, number in self.waiting.items() if not actor.pending(number)]

    def _pass_on(self):
        """The holder unlocks; one that waits is the holder then."""
        self.holder.want(0, "unlock", self.key)
        until(self._came, "nobody gets the lock")
        came = self._came()
        expect(len(came) == 1, f"{[actor.node.name for actor in came]} have one lock")
        self.holder = came[0]
        self.holder.finish(self.waiting.pop(self.holder), 0, "lock in its turn")

    def turn(self):
        """The holder unlocks, and locks again when the lock is with another one; the node that has it."""
        before = self.holder
        self._pass_on()
        self.queue(before)
        return self.holder.node

    def end(self):
        """All get it once more."""
        while self.waiting:
            self._pass_on()
        self.holder.want(0, "unlock", self.key)


def a_lock_leaves_nodes_that_want_it_again(c, *policy):
    """L33: processes of a node pass a lock on among themselves, but only so often while another node waits."""
    nodes = living(c)[:3]
    with region(c, "1M", *policy) as name, actors(name, *nodes, *nodes) as players:
        turns = Turns(c, players, 7)
        had = [turns.holder.node] + [turns.turn() for _ in range(len(nodes) * (LOCAL_RUN + 1) * 2)]
        turns.end()
    runs = [len(list(same)) for _, same in itertools.groupby(had)]
    print("#", *policy, "turns of a node one after the other:", *runs, flush=True)
    expect(max(runs) <= LOCAL_RUN + 1, f"{policy}: a node had the lock {max(runs)} times while others waited")
    expect(max(runs) > 1, f"{policy}: no process passed the lock on to another one of its node")
    bound = len(nodes) * (LOCAL_RUN + 1)
    for first in range(len(had) - bound + 1):
        left = [n.name for n in nodes if n not in had[first:first + bound]]
        expect(not left, f"{policy}: {left} did not have the lock once in {bound} times")


def locks_leave_nodes_that_want_them_again(c):
    for policy in ("sync=msg", "sync=rdma"):
        a_lock_leaves_nodes_that_want_it_again(c, policy)


class Release:
    """A writer changes words of PAGES pages of a home and releases; the home must have them then."""

    def __init__(self, writer, home):
        self.writer, self.home, self.turn = writer, home, 0

    def __call__(self, runs):
        """direct_pages and direct_runs of pages with so many changed words each."""
        for actor in (self.writer, self.home):
            actor.want(0, "acquire")
        before = counters(self.writer.node)
        self.turn += 1
        # Every byte of a word differs from all it had before: a word is a run. fill adds less than RUNS_MOST.
        expect(self.turn + RUNS_MOST < 256, "too many releases")
        words = (runs, PAGE // RUNS_MOST, EACH_BYTE * self.turn)
        for page in range(PAGES):
            self.writer.want(0, "fill", page * PAGE, *words)
        self.writer.want(0, "release")
        after = counters(self.writer.node)
        self.home.want(0, "acquire")
        for page in range(PAGES):
            self.home.want(0, "verify", page * PAGE, *words)
        return tuple(after[k] - before[k] for k in ("direct_pages", "direct_runs"))

    def warm_up(self):
        """Until the writer knows the key of the home's frames: it comes with a page, once enough of them are in use."""
        for turn in range(WARM_UP):
            for page in range(PAGES):
                self.home.want(0, "write", page * PAGE + LAST_WORD, 1 + turn)
            self.home.want(0, "release")
            self.writer.want(0, "acquire")
            self.writer.read(LAST_WORD, 1 + turn)
            got = self(1)
            if got == (PAGES, PAGES):
                return
        raise AssertionError(f"{got} pages and runs are written directly after {WARM_UP} releases, not {PAGES} each")


def runs_are_written_into_their_frames(c):
    """diffpath=write writes every run; diffpath=auto those of pages with at most direct_runs of them."""
    a, b = c.nodes[:2]
    with region(c, REGION, "home=block", "diffpath=write") as name, actors(name, b, a) as players:
        release = Release(*players)
        release.warm_up()
        for runs in (1, 3, RUNS_MOST):
            got = release(runs)
            expect(got == (PAGES, PAGES * runs), f"diffpath=write, {runs} runs a page: {got}")
        usual = b.read(WR_RUNS_MAX).strip()
        try:
            b.write(b"4", WR_RUNS_MAX)
            for runs in (4, 5):
                got = release(runs)
                expect(got == ((PAGES, PAGES * runs) if runs <= 4 else (0, 0)),
                       f"diffpath=write, wr_runs_max=4, {runs} runs a page: {got}")
        finally:
            b.write(usual.encode(), WR_RUNS_MAX)
    usual = b.read(DIRECT_RUNS).strip()
    with region(c, REGION, "home=block", "diffpath=auto") as name, actors(name, b, a) as players:
        release = Release(*players)
        try:
            b.write(str(RUNS_MOST).encode(), DIRECT_RUNS)
            release.warm_up()
            for most in (4, 0):
                b.write(str(most).encode(), DIRECT_RUNS)
                for runs in (1, 4, 5):
                    got = release(runs)
                    want = (PAGES, PAGES * runs) if runs <= most else (0, 0)
                    expect(got == want, f"diffpath=auto, direct_runs={most}, {runs} runs a page: {got}, not {want}")
        finally:
            b.write(usual.encode(), DIRECT_RUNS)
