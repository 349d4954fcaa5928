# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What a bench run measures: which test, on how many nodes, under which settings of a region."""

DEPTHS = (1, 2, 4, 8)
BUFFERS = (4096, 8192, 16384, 32768, 65536)


# Where the node is that hears of every bare release of a region.
ANYWHERE, AT_WRITER, ELSEWHERE = "anywhere", "at the writer", "elsewhere"

# Parameters of the module that hold from the next join on.
READ_WHEN_JOINING = ("keep_after", "move_after", "peer_timeout_ms", "poll", "resume_ms")

# Groups that others ask for by name.
FETCH = "page fetch"
LOCKS = "locks"
BARRIERS = "barriers"
SLEEPING = "page fetch, waiters sleep"
SPINNING = "page fetch, waiters always spin"
# How diffs go: packed by SEND, packed into the home's ring, or each run into the master copy.
ORIG_PIPE = "ORIG and PIPE, by SEND"
ORIG_PIPE_RING = "ORIG and PIPE, packed buffers by RDMA WRITE"
ORIG_PIPE_RUNS = "ORIG and PIPE, each run by RDMA WRITE"


class Case:
    """A word for --only, a group for the table, numbers of nodes, settings, dsm-bench tests."""

    def __init__(self, word, group, tests, settings, nodes=(2,), full_settings=(), around=True,
                 manager=ANYWHERE, parameters=None, tunables=None):
        self.manager = manager
        # Of the module, on all nodes, for the time of the case; those of READ_WHEN_JOINING let all join anew.
        self.parameters = parameters or {}
        # Likewise, of /sys/class/dsm/dsm/tunables; the rows say them.
        self.tunables = tunables or {}
        self.word, self.group, self.tests, self.nodes = word, group, tests, nodes
        self.settings, self.full_settings, self.around = settings, full_settings, around

    def chosen(self, full, named=False):
        """The settings of a plain run, or of a full one, or of a case that is named and has none in a plain run."""
        return [*self.settings, *(self.full_settings if full or (named and not self.settings) else ())]


# The two axes of ORIG and PIPE cross at these; a full run takes every pair.
DEPTH, BUFFER = 2, 16384
AXES = [(BUFFER, d) for d in DEPTHS] + [(b, DEPTH) for b in BUFFERS if b != BUFFER]
PAIRS = [(b, d) for b in BUFFERS for d in DEPTHS]
# Group, path of diffs, tunables. With bulk_min the default some messages go by SEND and some by the ring.
PIPE_WAYS = ((ORIG_PIPE, "msg", {"bulk_min": 0}), (ORIG_PIPE_RING, "msg", {"bulk_min": 1}),
             (ORIG_PIPE_RUNS, "write", {}))

# Who handles completions, and the group of its numbers; all in one run, side by side.
POLLS = {who: f"completions, poll={who}" for who in ("direct", "workqueue", "softirq")}


def pipes(pairs, path):
    """ORIG's competitors: packed buffers of so many bytes, so many under way."""
    return [f"diff=pipe:{b}:{d},diffpath={path}" for b, d in pairs]


CASES = (
    Case("fetch", FETCH, ["fetch"],
         ["", "fetch=copy", "fetch=nocopy", "fetch=read"], around=False),
    Case("fetch", SLEEPING, ["fetch"], ["fetch=read"],
         full_settings=["fetch=copy", "fetch=nocopy"], around=False, parameters={"poll_us": 0}),
    Case("fetch", SPINNING, ["fetch"], ["fetch=read"], full_settings=["fetch=copy", "fetch=nocopy"],
         around=False, parameters={"poll_always": "Y"}),
    Case("sequential", FETCH, ["sequential"],
         ["", "fetch=copy,around=off", "fetch=copy", "fetch=read"],
         full_settings=["fetch=nocopy", "fetch=read,around=off"]),
    Case("lock", LOCKS, ["lock"], ["", "sync=rdma", "sync=rdma,algo=array"]),
    Case("ring", LOCKS, ["ring"], [""]),
    Case("barrier", BARRIERS, ["barrier"], ["", "sync=rdma", "sync=rdma,algo=array"],
         nodes=(2, 4, 8)),
    Case("release", "releases", ["release"], ["", "diffpath=msg", "diffpath=write"],
         manager=AT_WRITER),
    Case("release", "releases, with the word to a sync manager elsewhere", ["release"],
         [""], manager=ELSEWHERE),
    Case("release", "releases, no twin is kept", ["release"], [""], manager=AT_WRITER,
         parameters={"keep_after": 0}),
    Case("diff", "diffs by size", ["diff"], ["diffpath=msg", "diffpath=write"],
         manager=AT_WRITER),
    Case("runs", "diffs by number of runs", ["runs"], ["diffpath=msg", "diffpath=write"],
         manager=AT_WRITER),
    Case("together", "releases by all nodes at once", ["together"], ["", "diffpath=msg"], nodes=(4,)),
    Case("logp", "messages", ["logp"], [""]),
    Case("curves", "messages, bursts of longer ones", ["curves"], [], full_settings=[""]),
    Case("packs", "packs of diffs, sent and by the ring", ["packs"],
         ["diff=pipe:65536:4,diffpath=msg"], manager=AT_WRITER),
    *(Case("pipe", group, ["release"], [f"diff=orig,diffpath={path}", *pipes(AXES, path)],
           full_settings=pipes([p for p in PAIRS if p not in AXES], path), manager=AT_WRITER, tunables=tunables)
      for group, path, tunables in PIPE_WAYS),
    *(Case("poll", group, ["fetch", "lock", "barrier", "release"], [],
           full_settings=["", "fetch=read,sync=rdma"], around=False, manager=AT_WRITER,
           parameters={"poll": who}) for who, group in POLLS.items()),
)

# Rows of the plan for which the module offers nothing that a program could measure.
NOT_OFFERED = (
    ("LOCAL_INV of a registration in the kernel", "the module posts it in one chain "
     "with others and waits for the last; window_local_inv is a program's, of a memory window, and kernel_reg_mr_2MiB "
     "the module's REG_MR"),
    ("messages of 1024 B inline", "a work request of the module holds 512 bytes at most (inline_max)"),
    ("transfers of 1 MiB inline", "both ways that is more messages of 480 bytes than a run may have (4096); 256 KiB are "
     "measured"),
    ("bulk at high priority", "the ring is for requests: a slot may hold many, and would be in front of grants and "
     "replies"),
    ("ib_write_bw with events", "perftest has none for a WRITE, as for ib_write_lat"),
)

WORDS = ["floors", *dict.fromkeys(c.word for c in CASES)]


def cases(words, nodes):
    """The cases of a cluster of so many nodes."""
    return [c for c in CASES if c.word in words and nodes in c.nodes]
