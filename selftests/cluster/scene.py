# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What the cluster's tests share: regions, programs on all nodes, and actors that play scenes.

Every wait has a bound and says what it waited for. Nothing here knows what a test wants to see.
"""
import contextlib
import errno
import itertools
import json
import re
import signal
import statistics
import time

from vm import clock
from vm.channel import GuestError, wait_jobs

SIGBUS = -7
# Seconds for one call in a guest that need not wait for anything but other guests. Only a hang takes so long, also
# on a host that is many times as slow as usual.
CALL_SECONDS = 60
# How many times as long as usual programs may take for the same reason.
PATIENCE = 4
# First of some flags that nobody sets, and their number: that a node of four manages none of them is as good as impossible.
SETTLE_FLAGS = 900000, 64
# How much later than the bound on a peer's silence a survivor may get its error.
LATE_SECONDS = 1.0
TUNABLES = "/sys/class/dsm/dsm/tunables"

_numbers = itertools.count(1)


def expect(condition, text):
    """Fail the running test with a text unless the condition holds."""
    if not condition:
        raise AssertionError(text)


def name_of(result):
    """A result of an actor in words."""
    if result == 0:
        return "0"
    return "SIGBUS" if result == SIGBUS else "-" + errno.errorcode.get(-result, str(-result))


class Silence:
    """A node that is silent since a moment: who needs it must hear of that within `limit` seconds.

    The moment is taken on the host just before the signal or the order that silences it, so that
    its last word can only be later. The end is when the host has read the line that the
    survivor's process wrote after its call: the guest's scheduling and the way out of it are in
    these seconds, which are never too short; what others took of the host's processors is not.
    """
    heard = {}	# by moment: seconds of the errors; all since summary()

    def __init__(self, c, since):
        self.since = since
        self.limit = c.peer_timeout_ms / 1000 + LATE_SECONDS

    def judge(self, at, what):
        """An error came at a time."""
        seconds = at - self.since
        self.heard.setdefault(self.since, []).append(seconds)
        expect(seconds <= self.limit,
               f"{what} after {seconds:.2f} s of silence; the bound is {self.limit:g} s")

    @classmethod
    def summary(cls, c):
        """All that was heard in words; forgets it."""
        last = sorted(max(seconds) for seconds in cls.heard.values())
        count = sum(map(len, cls.heard.values()))
        cls.heard.clear()
        if not last:
            return ""
        return (f"{len(last)} times a node fell silent, the last error (of {count}) came after "
                f"{last[0]:.2f} s to {last[-1]:.2f} s, median {statistics.median(last):.2f} s; "
                f"bound {cls(c, 0).limit:g} s")


class Actor:
    """A process on a node that has opened a region and does what it is told; see actor.c."""

    def __init__(self, node, region, user=None, fast=True):
        self.node = node
        self.calls = itertools.count(1)
        self.threads = {}	# of calls whose end nobody has heard of: who executes it, as the kernel numbers threads
        words = ["/work/actor", region] if fast else ["env", "DSM_NO_FAST_LOCK=1", "/work/actor", region]
        if user:
            words = ["su", "-s", "/bin/sh", user, "-c", "exec " + " ".join(words)]
        self.job = node.start(words, stdin=True)
        self.id = int(self.job.wait_line(r"^ready (\d+)$", CALL_SECONDS)[1])

    def begin(self, what, *args, thread=0):
        """Let a thread begin a call; returns its number at once."""
        number = next(self.calls)
        words = " ".join(str(a) for a in (thread, number, what, *args))
        self.job.write(words.encode() + b"\n")
        self.threads[number] = self.job.wait_line(rf"^> {number} (\d+)$", CALL_SECONDS)[1]
        return number

    def end(self, number, timeout=CALL_SECONDS):
        """Wait for a call; (result, value, milliseconds)."""
        m = self._ended(number, timeout)
        return int(m[1]), int(m[2]), int(m[3])

    def _ended(self, number, timeout):
        m = self.job.wait_line(rf"^< {number} (\S+) (\d+) (\d+)$", timeout)
        self.threads.pop(number, None)
        return m

    def why(self, number):
        """What the library said of a call that failed."""
        return self.job.wait_line(rf"^! {number} (.*)$", CALL_SECONDS)[1]

    def pending(self, number):
        """True while the call has not returned."""
        return f"< {number} " not in self.job.out

    def call(self, what, *args, thread=0, timeout=CALL_SECONDS):
        """A call to its end; its result."""
        return self.end(self.begin(what, *args, thread=thread), timeout)[0]

    def want(self, result, what, *args, thread=0, timeout=CALL_SECONDS):
        """A call that must give a result; its (value, milliseconds)."""
        got, value, ms = self.end(self.begin(what, *args, thread=thread), timeout)
        expect(got == result, f"{what} {args} on {self.node.name}: {name_of(got)}, not "
                              f"{name_of(result)} (value {value})")
        return value, ms

    def finish(self, number, result, what, silence=None):
        """The end of a call that must give a result; its value. silence: of whom it waits for."""
        m = self._ended(number, CALL_SECONDS + (silence.limit if silence else 0))
        expect(int(m[1]) == result,
               f"{what} on {self.node.name}: {name_of(int(m[1]))}, not {name_of(result)}")
        if silence:
            silence.judge(self.job.when(m), f"{what} on {self.node.name}: {name_of(result)}")
        return int(m[2])

    def read(self, offset, want):
        """A word of the region must have a value."""
        value, _ = self.want(0, "read", offset)
        expect(value == want, f"word at {offset} on {self.node.name}: {value}, not {want}")

    def blocked(self, function, *numbers):
        """Wait until each of these calls, or of all that are pending, sleeps inside a function of the module."""
        numbers = numbers or [n for n in self.threads if self.pending(n)]
        expect(numbers, f"no call of the actor on {self.node.name} is pending")
        # A thread's stack can be read only while it does not run.
        look = ["sh", "-c", 'for thread do grep -q " $0+" /proc/$thread/stack || exit; done', function]
        look += [self.threads[n] for n in numbers]
        expect(comes(lambda: not self.node.run(look).status),
               f"not all of calls {numbers} of the actor on {self.node.name} came to wait in {function}; "
               f"its output:\n{self.job.out[-500:]}")

    def begin_blocked(self, function, what, *args, thread=0):
        """Begin a call and wait until it sleeps; its number."""
        number = self.begin(what, *args, thread=thread)
        self.blocked(function, number)
        return number

    def settle(self, thread=15):
        """All that this node asked others before has arrived: messages overtake nothing, and each node manages some of these flags."""
        self.want(0, "clear_many", *SETTLE_FLAGS, thread=thread)

    def interrupt(self, number, thread=0, timeout=CALL_SECONDS):
        """Send signals to a thread until its call ends; its result."""
        end = clock.now() + timeout
        while self.pending(number):
            self.job.write(f"{thread}\n".encode())
            expect(clock.now() < end, f"signals did not end a call on {self.node.name}")
            time.sleep(0.05)
        return self.end(number)[0]

    def kill(self):
        """kill -9, and wait until the process is gone."""
        self.job.signal(signal.SIGKILL)
        self.job.wait(CALL_SECONDS)

    def leave(self):
        """End the process, whatever it does; no matter if its node is gone."""
        if not self.node.alive() or self.job.done():
            return
        try:
            self.kill()
        except GuestError:
            if self.node.alive():
                raise


@contextlib.contextmanager
def actors(region, *nodes):
    """An Actor on each of the nodes, ended at the end of the block."""
    made = []
    try:
        for node in nodes:
            made.append(Actor(node, region))
        yield made
    finally:
        for actor in made:
            actor.leave()


@contextlib.contextmanager
def slow_disk(node, bytes_per_second):
    """Reads from a node's disk take long in the block; those that are under way at its end do not any more."""
    limits = dict.fromkeys(("bps", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
    node.qmp("block_set_io_throttle", device="disk0", bps_rd=bytes_per_second, **limits)
    try:
        yield
    finally:
        node.qmp("block_set_io_throttle", device="disk0", bps_rd=0, **limits)


def begin_from_disk(actor, offset, size, thread=0):
    """An actor reads its disk into pages, which the device has from now on; the number of the call."""
    number = actor.begin_blocked("blkdev_read_iter", "from_disk", offset, size, thread=thread)
    # It may have slept for its pages.
    until(lambda: any(map(int, actor.node.read("/sys/block/vda/inflight").split())), "the disk is asked for nothing")
    return number


@contextlib.contextmanager
def stands_still(node):
    """Its processors do in the block."""
    node.stop()
    try:
        yield
    finally:
        node.cont()


@contextlib.contextmanager
def dying(node):
    """Its processors stand still in the block, and it is gone at the end."""
    node.stop()
    try:
        yield
    finally:
        node.kill()


@contextlib.contextmanager
def cut_off(node):
    """The switch drops all frames to and from a node in the block."""
    node.cut()
    try:
        yield
    finally:
        node.join()


@contextlib.contextmanager
def impaired(node, *how):
    """What a node sends is late, or lost in part, in the block, as the words for tc's netem say: a list, of how many frames were lost at its end."""
    netem = ["dev", "eth0", "root", "netem", "limit", "100000", *how]
    lost = []
    node.run(["insmod", "/modules/sch_netem.ko"])	# may be there
    node.check(["tc", "qdisc", "add", *netem])
    try:
        yield lost
    finally:
        said = node.run(["tc", "-s", "qdisc", "show", *netem[:2]]).out
        node.check(["tc", "qdisc", "del", *netem[:3]])
    lost.append(sum(map(int, re.findall(r"\(dropped (\d+),", said))))


def living(c):
    """The nodes that run, in order."""
    return [n for n in c.nodes if n.alive()]


def leave(node):
    """By force, if it has not left before."""
    node.sh("grep -q none /sys/class/dsm/dsm/state || dsmctl leave --force")


def join_anew(c, node):
    """Let a node join, whether it is a member or has left."""
    seed = next(n for n in living(c) if n is not node)
    leave(node)
    node.check(["dsmctl", "join", "--listen", node.address, "--seed", seed.address])


def again(c, node):
    """Let a node leave by force and join again."""
    node.check(["dsmctl", "leave", "--force"])
    join_anew(c, node)


@contextlib.contextmanager
def again_on_failure(c, node):
    """If the block fails, the tests that come after it have a node that all others know."""
    try:
        yield
    except BaseException:
        join_anew(c, node)
        raise


# Settings of regions that name none but homes: tests are run under each preset by these.
_usual = ()


@contextlib.contextmanager
def under(*policy):
    """Regions of the block have these settings, if their makers name no others but homes and a heap.

    And those of 1M have 64K: so few pages are registered as soon as two are in use, and then read and written from elsewhere.
    """
    global _usual
    _usual = policy
    try:
        yield
    finally:
        _usual = ()


def make_region(c, size, *policy, nodes=None):
    """Create a region from the first of the nodes (default: the living ones); its name."""
    name = f"t{next(_numbers)}"
    if _usual and all(word.startswith(("home=", "heap=")) for word in policy):
        policy = [*_usual, *(word for word in policy if word.startswith("heap="))]
        size = "64K" if size == "1M" else size
    first, *others = nodes or living(c)
    first.check(["dsmctl", "region", "create", name, size, *policy])
    for node in others:
        node.wait_for(["test", "-e", f"/dev/dsm-{name}"], CALL_SECONDS)
    return name


def drop_region(c, name):
    """Destroy a region as soon as nobody has it open."""
    living(c)[0].wait_for(["dsmctl", "region", "destroy", name], CALL_SECONDS)


@contextlib.contextmanager
def region(c, size, *policy, nodes=None):
    """A region for the time of the block. Left over if the block fails."""
    name = make_region(c, size, *policy, nodes=nodes)
    yield name
    drop_region(c, name)


def start_ranks(c, argv, ppn=1, nodes=None, **env):
    """The program on all living nodes, `ppn` processes each; the jobs in rank order."""
    chosen = nodes or living(c)
    ranks = len(chosen) * ppn
    return [chosen[r % len(chosen)].start(["/work/" + argv[0], *map(str, argv[1:])],
                                          env={"DSM_RANK": r, "DSM_RANKS": ranks, **env})
            for r in range(ranks)]


def comes(reached, timeout=CALL_SECONDS):
    """Look again and again until a state is reached; False if it never is."""
    end = clock.now() + timeout
    while not reached():
        if clock.now() >= end:
            return False
        time.sleep(0.02)
    return True


def until(reached, what, timeout=CALL_SECONDS):
    """Wait for a state; what says what is wrong if it is never reached."""
    expect(comes(reached, timeout), what)


def kill_all(jobs):
    """kill -9, and see them go; what was wrong with those that do not."""
    stuck = []
    for job in jobs:
        if not job.done():
            job.signal(signal.SIGKILL)
    for job in jobs:
        try:
            job.wait(CALL_SECONDS)
        except GuestError as e:
            stuck.append(e)
    return stuck


def remove_device(node):
    """A node has no RDMA device any more."""
    node.check(["rdma", "link", "delete", "rxe0"], timeout=60 * node.cluster.slowness)


def put_device_back(node):
    """A node has an RDMA device, another one if its last is gone."""
    if node.run(["test", "-e", "/sys/class/infiniband/rxe0"]).status:
        node.check(["rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0"])
        node.unsent = 0	# its counters are new


@contextlib.contextmanager
def device_removed(node):
    """A node has no RDMA device in the block; at its end it leaves, and has one again."""
    try:
        # If that is too late it may be done all the same.
        remove_device(node)
        yield
    finally:
        node.check(["dsmctl", "leave", "--force"])
        put_device_back(node)


@contextlib.contextmanager
def without_device(node, seed):
    """The same, and then it joins anew."""
    try:
        with device_removed(node):
            yield
    finally:
        node.check(["dsmctl", "join", "--listen", node.address, "--seed", seed.address])


@contextlib.contextmanager
def killed_on_failure(jobs):
    """If the block fails, no other test has these programs beside it."""
    try:
        yield jobs
    except BaseException:
        kill_all(jobs)
        raise


def join_ranks(c, jobs, timeout):
    """Wait for all; one that fails or is late ends all, and its words are the reason."""
    timeout *= PATIENCE * c.slowness
    in_time = wait_jobs(jobs, timeout)
    left = [j for j in jobs if not j.done()]
    wrong = [j for j in jobs if j.status] or [j for j in left if j.channel.gone] or left
    bad = wrong[0] if wrong else None
    if not bad:
        return
    text = (f"{bad.name()} (rank {jobs.index(bad)} of {len(jobs)}): " +
            (f"status {bad.status}" if bad.done() else
             "a guest is gone" if in_time else f"not done after {timeout} s") +
            f": {bad.err.strip() or bad.out.strip()[-300:]}")
    for e in kill_all(jobs):
        text += f"\nand after kill -9: {str(e).splitlines()[0]}"
    raise AssertionError(text)


def ranks(c, argv, ppn=1, timeout=60, nodes=None, **env):
    """The program on all living nodes to its end."""
    join_ranks(c, start_ranks(c, argv, ppn, nodes, **env), timeout)


def status(node):
    """`dsmctl status --json` of a node."""
    return json.loads(node.check(["dsmctl", "status", "--json"]).out)


def counters(node, *region):
    """`dsmctl stats --json` of a node, or of a region at it."""
    return json.loads(node.check(["dsmctl", "stats", "--json", *region]).out)["counters"]


def sums(c, *region_name):
    """Counters of the living nodes, or of a region at them, together."""
    total = {}
    for node in living(c):
        for kind, value in counters(node, *region_name).items():
            total[kind] = total.get(kind, 0) + value
    return total


TRAFFIC = ("msgs_sent", "msgs_received", "signals_sent", "signals_received")


def sums_at_rest(c):
    """sums() of all nodes, as soon as nothing is on its way from one to another: what was sent then is no part of later."""
    last = {}

    def same():
        before = [last.get(kind) for kind in TRAFFIC]
        last.update(sums(c))
        return before == [last[kind] for kind in TRAFFIC]

    expect(comes(same), "messages go on although no program runs")
    return last


def policy_of(c, name):
    """The settings of a region, as the module says them."""
    listed = json.loads(c.nodes[0].check(["dsmctl", "region", "list", "--json"]).out)
    text = next(r["policy"] for r in listed if r["name"] == name)
    return dict(word.split("=") for word in text.split(","))


def _pages_disagree(grown):
    """What is wrong with the sums over nodes of what pages and diffs did, in all regions or in one."""
    # What was read by the asker, or multicast, nobody sent to anybody.
    had = grown["page_transfers"] + grown["zero_replies"] - grown["page_reads"] - grown["bcast_hits"]
    rules = (
        (grown["diffs"] == grown["diffs_applied"],
         f"{grown['diffs']} diffs sent, {grown['diffs_applied']} applied"),
        (grown["pages_sent"] == had + grown["pages_dropped"],
         f"{grown['pages_sent']} pages sent, {had} had and {grown['pages_dropped']} dropped"),
        (grown["migrations"] <= grown["migration_attempts"],
         f"{grown['migrations']} homes moved, {grown['migration_attempts']} were to"),
        (grown["prefetch_hits"] + grown["prefetch_wasted"] <= grown["prefetch_issued"],
         f"{grown['prefetch_issued']} pages asked for ahead, {grown['prefetch_hits']} used, "
         f"{grown['prefetch_wasted']} wasted"),
    )
    return [text for holds, text in rules if not holds]


def _disagree(grown):
    """What is wrong with the sums; an empty list if nothing is."""
    notices = grown["notices_sent"] + grown["notices_read"], grown["notices_received"] + grown["notices_dropped"]
    rules = (
        (notices[0] == notices[1], f"{notices[0]} notices sent and read, {notices[1]} received and dropped"),
        (grown["signals_sent"] == grown["signals_received"],
         f"{grown['signals_sent']} signals sent, {grown['signals_received']} received"),
        (grown["msgs_sent"] == grown["msgs_received"],
         f"{grown['msgs_sent']} messages sent, {grown['msgs_received']} received"),
    )
    return _pages_disagree(grown) + [text for holds, text in rules if not holds]


def promises(policy):
    """The consistency whose promises hold: where notices are lazy a release has told nobody, as with hlrc."""
    return "hlrc" if policy.get("notices") == "lazy" else policy.get("consistency")


def region_agrees(c, name):
    """Over all nodes together, what a region did since it was made: what was sent was received.

    Notices too where they are eager; others go with intervals, which are of all regions.
    """
    total, eager = {}, promises(policy_of(c, name)) == "cashmere"

    def wrong():
        notices = total["notices_sent"], total["notices_received"]
        return _pages_disagree(total) + (["{} notices sent, {} received".format(*notices)]
                                         if eager and notices[0] != notices[1] else [])

    def agree():
        total.update(sums(c, name))
        return not wrong()

    expect(comes(agree), f"region {name}: {'; '.join(wrong())}")


def sums_agree(c, before=None):
    """Over all nodes together, what was sent since `before` (of sums_at_rest(); None: ever) was received; how they grew.

    As soon as nothing is under way any more: the programs have ended, and all nodes that were counted then live.
    """
    grown = {}

    def agree():
        grown.update(sums(c))
        for kind, value in (before or {}).items():
            grown[kind] -= value
        return not _disagree(grown)

    expect(comes(agree), "; ".join(_disagree(grown)))
    return grown


@contextlib.contextmanager
def agreeing(c):
    """At the end of the block the sums agree on what it did."""
    before = sums_at_rest(c)
    yield
    sums_agree(c, before)


def sent(nodes):
    """Messages that each of them sent so far."""
    return [counters(n)["msgs_sent"] for n in nodes]


def peer(node, ident):
    """What a node knows of another."""
    return next((n for n in status(node)["nodes"] if n["node"] == ident), {"state": "none"})


def bound(c, since):
    """For finish(): whoever waits for a node silent since then must hear of it in time."""
    return Silence(c, since)


def check_loss_is_reported(c, nodes, ident):
    """All of the nodes say in status and, once, in the log that a node was lost, and why."""
    for node in nodes:
        node.wait_for(["sh", "-c", f"dsmctl status --json | grep -q '\"node\": {ident}, "
                       "\"state\": \"lost\"'"], Silence(c, 0).limit)
        expect(peer(node, ident)["reason"], f"{node.name} gives no reason for the loss of {ident}")
        said = node.dmesg().count(f"dsm: node {ident} is lost: ")
        expect(said == 1, f"the log of {node.name} names the loss of node {ident} {said} times")


@contextlib.contextmanager
def tuned(node, **limits):
    """Tunables of a node for the time of the block."""
    usual = {name: node.read(f"{TUNABLES}/{name}").strip() for name in limits}
    try:
        for name, value in limits.items():
            node.check(["sh", "-c", f"echo {value} > {TUNABLES}/{name}"])
        yield
    finally:
        for name, value in usual.items() if node.alive() else ():
            node.check(["sh", "-c", f"echo {value} > {TUNABLES}/{name}"])
