# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""The groups of tests: what is started, to which commands they belong, how long they may take.

The groups' environment: O (directory of built user programs), DSM_KERNEL (6.1, 6.12 or
debug, for those that boot guests), DSM_TESTS (how much to run, or what).
"""


class Group:
    """A name, a command, the sets it belongs to, minutes it takes, its environment.

    Minutes are those of a host with two processors that does nothing else; on a slower one all take longer, and a
    group is ended only where a host six times as slow would have been done.
    """

    def __init__(self, name, argv, sets, minutes, **env):
        self.name, self.argv, self.sets, self.minutes, self.env = name, argv, sets, minutes, env
        self.limit_seconds = 300 + 6 * 60 * minutes


def guests(name, directory, kernel, tests, sets, minutes, **env):
    """A group that boots guests of one kernel."""
    return Group(name, [f"selftests/{directory}/run"], sets, minutes, DSM_KERNEL=kernel, DSM_TESTS=tests, **env)


# Parts of the product of all settings, each by itself resumable.
MATRIX_PARTS = 4
MATRIX = tuple(
    guests(f"matrix-{kernel}-{part}", "cluster", kernel, "matrix", ("all",), 5,
           MATRIX=f"{part}/{MATRIX_PARTS}")
    for kernel in ("6.12", "6.1") for part in range(1, MATRIX_PARTS + 1))
# A preset each, the last one sc: 1000 rounds among nodes of a kernel and 100 among guests are as much as a part may take.
LITMUS_PARTS = 15
LITMUS = tuple(
    guests(f"litmus-{kernel}-{part}", "cluster", kernel, "litmus", ("all",), 38 if part == LITMUS_PARTS else 16,
           LITMUS=f"{part}/{LITMUS_PARTS}")
    for kernel in ("6.12", "6.1") for part in range(1, LITMUS_PARTS + 1))

# The tests of clusters that hold for any setting, under five presets each.
SUITE_PARTS = 3
SUITE = tuple(
    guests(f"suite-{kernel}-{part}", "cluster", kernel, "suite", ("all",), 13, SUITE=f"{part}/{SUITE_PARTS}")
    for kernel in ("6.12", "6.1") for part in range(1, SUITE_PARTS + 1))

# Parts of the papers' programs under all presets, on all numbers of nodes and with all numbers of threads.
APPS_PARTS = 5
APPS = tuple(
    guests(f"apps-{kernel}-{part}", "apps", kernel, "all", ("all",), 20, APPS=f"{part}/{APPS_PARTS}")
    for kernel in ("6.12", "6.1") for part in range(1, APPS_PARTS + 1))

# The first part is that of four machines; the others share 5,000 cycles of one, 2.3 a second on 6.12 and 0.55 on 6.1.
SOAK = tuple(
    guests(f"soak-{kernel}-{part}", "cluster", kernel, "soak", ("all",), minutes, SOAK=f"{part}/{parts}")
    for kernel, parts, minutes in (("6.12", 3, 19), ("6.1", 6, 31)) for part in range(1, parts + 1))

# In this order; on a slow host there may be no time for the last.
GROUPS = (
    Group("build", ["tools/check/build"], ("check", "quick"), 1, DSM_TESTS="full"),
    Group("unit", ["selftests/unit/run"], ("check", "quick", "unit", "all"), 1),
    Group("model-quick", ["selftests/model/run"], ("quick",), 3, DSM_TESTS="quick"),
    guests("ksft-6.12", "ksft", "6.12", "full", ("check", "quick", "all"), 1),
    Group("apps-words", ["selftests/apps/run"], ("quick",), 0.2, DSM_TESTS="words"),
    guests("cluster-quick", "cluster", "6.12", "quick", ("quick",), 1),
    Group("lint", ["tools/check/lint"], ("check", "lint", "all"), 2.5),
    Group("model", ["selftests/model/run"], ("check", "model"), 6, DSM_TESTS="full"),
    guests("cluster-6.12", "cluster", "6.12", "check", ("check",), 6),
    guests("ksft-6.1", "ksft", "6.1", "full", ("check", "all"), 1),
    guests("cluster-6.1", "cluster", "6.1", "quick", ("check",), 1.5),
    Group("guests", ["selftests/qemu/run"], ("check", "all"), 1),
    guests("faults", "cluster", "6.12", "few-faults", ("check",), 1.5),
    guests("parmacs-6.12", "parmacs", "6.12", "full", ("check", "all"), 1),
    guests("parmacs-6.1", "parmacs", "6.1", "full", ("all",), 1),
    guests("ssh", "ssh", "6.12", "full", ("check", "all"), 1.5),
    guests("pairs-6.12", "cluster", "6.12", "pairs", ("check",), 1),
    guests("pairs-6.1", "cluster", "6.1", "pairs", ("all",), 1),
    guests("apps", "apps", "6.12", "full", ("check", "all"), 2),
    Group("apps-few-6.1", ["selftests/apps/run", "-n", "2", "-t", "1", "--policy", "preset=auto"], ("check",), 1, DSM_KERNEL="6.1"),
    guests("examples", "examples", "6.12", "full", ("check", "all"), 1.5),
    Group("debug-build", ["tools/check/build"], ("check",), 7, DSM_TESTS="debug"),
    guests("cluster-debug", "cluster", "debug", "debug", ("check", "all"), 6),
    guests("bench", "bench", "6.12", "full", ("check", "all"), 4),
    guests("ksft-debug", "ksft", "debug", "debug", ("check", "all"), 3),
    # What `make check-all` runs besides, or instead of a part of it.
    Group("model-deep", ["selftests/model/run"], ("all",), 40, DSM_TESTS="deep"),
    guests("cluster-full-6.12", "cluster", "6.12", "full", ("all",), 20),
    guests("cluster-full-6.1", "cluster", "6.1", "full", ("all",), 20),
    guests("presets-6.12", "cluster", "6.12", "presets", ("all",), 14),
    guests("presets-6.1", "cluster", "6.1", "presets", ("all",), 14),
    guests("pairs-debug", "cluster", "debug", "pairs", ("all",), 8),
    guests("faults-6.12", "cluster", "6.12", "faults", ("all",), 4),
    guests("faults-6.1", "cluster", "6.1", "faults", ("all",), 4),
    guests("faults-debug", "cluster", "debug", "faults", ("all",), 30),
    guests("apps-6.1", "apps", "6.1", "guests", ("all",), 2),
    *APPS,
    *LITMUS,
    *SUITE,
    *SOAK,
    *MATRIX,
)
# Every shard of check-all begins with these.
FIRST = tuple(g for g in GROUPS if g.name in ("build", "debug-build"))
