# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""What a bench run measures: which test, on how many nodes, under which settings of a region."""

DEPTHS = (1, 2, 4, 8)
BUFFERS = (4096, 8192, 16384, 32768, 65536)


# Where the node is that hears of every bare release of a region.
ANYWHERE, AT_WRITER, ELSEWHERE = "anywhere", "at the writer", "elsewhere"


class Case:
    """A word for --only, a group for the table, numbers of nodes, settings, dsm-bench tests."""

    def __init__(self, word, group, tests, settings, nodes=(2,), full_settings=(), around=True,
                 manager=ANYWHERE):
        self.manager = manager
        self.word, self.group, self.tests, self.nodes = word, group, tests, nodes
        self.settings, self.full_settings, self.around = settings, full_settings, around

    def chosen(self, full):
        """The settings of a plain run, or of a full one."""
        return [*self.settings, *(self.full_settings if full else ())]


PIPE = [f"diff=pipe:16384:{d}" for d in DEPTHS] + [f"diff=pipe:{b}:2" for b in BUFFERS
                                                  if b != 16384]
PIPE_REST = [f"diff=pipe:{b}:{d}" for b in BUFFERS for d in DEPTHS
             if b != 16384 and d != 2]

CASES = (
    Case("fetch", "page fetch", ["fetch"],
         ["", "fetch=copy", "fetch=nocopy", "fetch=read"], around=False),
    Case("sequential", "page fetch", ["sequential"],
         ["fetch=copy,around=off", "fetch=copy", "fetch=read"],
         full_settings=["fetch=nocopy", "fetch=read,around=off"]),
    Case("lock", "locks", ["lock"], ["", "sync=rdma", "sync=rdma,algo=array"]),
    Case("barrier", "barriers", ["barrier"], ["", "sync=rdma,algo=array"], nodes=(2, 4, 8)),
    Case("release", "releases", ["release"],
         ["", "diff=orig", "diffpath=msg", "diffpath=write"], manager=AT_WRITER),
    Case("release", "releases, with the word to a sync manager elsewhere", ["release"],
         [""], manager=ELSEWHERE),
    Case("diff", "diffs by size", ["diff"], ["diffpath=msg", "diffpath=write"],
         manager=AT_WRITER),
    Case("runs", "diffs by number of runs", ["runs"], ["diffpath=msg", "diffpath=write"],
         manager=AT_WRITER),
    Case("logp", "messages", ["logp"], [""]),
    Case("pipe", "ORIG and PIPE", ["release"],
         ["diff=orig", *(s + ",diffpath=msg" for s in PIPE)],
         full_settings=["diff=orig,diffpath=write", *(s + ",diffpath=msg" for s in PIPE_REST),
                        *(s + ",diffpath=write" for s in PIPE)], manager=AT_WRITER),
)

# Rows of the plan for which the module offers nothing that a program could measure.
NOT_OFFERED = (
    ("REG_MR and LOCAL_INV in the kernel",
     "not measured: only the module could; window_bind_invalidate is what a program reaches"),
)

WORDS = ["floors", *(c.word for c in CASES)]


def cases(words, nodes):
    """The cases of a cluster of so many nodes."""
    return [c for c in CASES if c.word in words and nodes in c.nodes]
